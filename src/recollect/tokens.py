"""Token counts as the large models count them: cl100k_base, exact and offline.

The count decides what fits a budget, so an estimate will not do (characters / 4 is 10 % off). The
table is loaded at the first count (30 ms, 34 MB); nothing is ever fetched.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache


def count_tokens(text: str) -> int:
    """How many tokens `text` is; names of special tokens in it are ordinary text."""
    try:
        return _counter()(text)
    except UnicodeEncodeError:
        # Half a surrogate pair, as broken JSON escapes leave it, has no UTF-8 form.
        whole = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        return _counter()(whole)


@cache
def _counter() -> Callable[[str], int]:
    # 49 MB of code and tables: only when needed. A binary module without type stubs.
    from rs_bpe.bpe import openai  # type: ignore[import-not-found]  # noqa: PLC0415

    count: Callable[[str], int] = openai.cl100k_base().count
    return count
