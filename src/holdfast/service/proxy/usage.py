"""How many tokens a call took: as the model says, or else estimated at four bytes a token.

Pictures and the like are taken for a thousand tokens each.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import orjson

from holdfast.service.proxy.shape import Json

_BYTES_PER_TOKEN = 4
_TOKENS_OF_A_FILE = 1000
#: Where a file stands that was written as text.
_FILES = ("data", "file_data", "url", "image_url")
#: Where the words of an answer stand, its calls of tools among them.
_WORDS = ("content", "reasoning", "reasoning_content", "refusal", "text", "arguments")
_NAMES = (("prompt_tokens", "input_tokens"), ("completion_tokens", "output_tokens"))
#: No call takes more: who says so errs or attacks.
_MOST_TOKENS = 100_000_000


class Told(NamedTuple):
    """What a model says that a call took; None: it does not say, or no number that can be."""

    prompt: int | None = None
    answer: int | None = None

    def then(self, later: Told) -> Told:
        """With what it says later."""
        prompt = self.prompt if later.prompt is None else later.prompt
        return Told(prompt, self.answer if later.answer is None else later.answer)


def usage_of(answer: Json) -> Told:
    """What a model says that a call took, in an answer or in an event of one."""
    inner = answer.get("response")
    usage = (inner if isinstance(inner, Mapping) else answer).get("usage")
    if not isinstance(usage, Mapping):
        return Told()
    told = [[usage.get(name) for name in names] for names in _NAMES]
    prompt, answered = (next((n for n in each if _is_count(n)), None) for each in told)
    return Told(prompt, answered)


def tokens_sent(raw: bytes) -> int:
    """What a body takes, about; at least 1."""
    try:
        body = orjson.loads(raw)
    except orjson.JSONDecodeError:  # For the model to refuse.
        body = None
    if not isinstance(body, Mapping):
        return 1 + len(raw) // _BYTES_PER_TOKEN
    return 1 + _size(body, of_all=True) // _BYTES_PER_TOKEN


def bytes_said(answer: object) -> int:
    """The size of the words in an answer, or in a part of one."""
    return _size(answer, of_all=False)


def tokens_of(size_bytes: int) -> int:
    """Bytes of words as tokens, about."""
    return -(-size_bytes // _BYTES_PER_TOKEN)


def _size(value: object, *, of_all: bool) -> int:
    """The bytes of the texts in a value: all of them, or the words of an answer."""
    total = 0
    left: list[tuple[str, object]] = [("", value)]
    while left:
        name, each = left.pop()
        if isinstance(each, Mapping):
            left.extend(each.items())
        elif isinstance(each, list):
            left.extend((name, item) for item in each)
        elif isinstance(each, str) and (of_all or name in _WORDS):
            is_file = of_all and name in _FILES and len(each) > _TOKENS_OF_A_FILE
            most = _TOKENS_OF_A_FILE * _BYTES_PER_TOKEN
            total += most if is_file else len(each.encode("utf-8", "replace"))
        elif of_all and type(each) is int:  # Embeddings may be asked of tokens.
            total += _BYTES_PER_TOKEN
    return total


def _is_count(value: object) -> bool:
    return type(value) is int and 0 <= value <= _MOST_TOKENS
