"""Whether text that is trained on stands in evaluation sets: runs of eight words in both.

    python -m training.overlap FOLDER...

Prints how many runs of eight words each file of the folders (JSON lines, packed or not) shares with
what our writers wrote (`data/`, `sets/`, `messages/`, `trust/`, `asked/`, `tests/trust`), and the
first of them: stock phrases are no copies. The open dialogue data of `embed_data.py` is not looked
at.
"""

from __future__ import annotations

import argparse
import gzip
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from training.prepare import TRUSTED

HERE = Path(__file__).parent
TRAINED = ("data", "sets", "lists", "messages", "trust", "asked")
_WORDS = 8
_WORD = re.compile(r"\w+")
#: Labels behind a line are no text.
_LABELS = re.compile(r"\s+##.*")


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folders", type=Path, nargs="+")
    folders = parser.parse_args().folders
    known = {run for text in trained() for run in runs(text)}
    print(f"{len(known):,} runs of {_WORDS} words are trained on")
    paths = [path for folder in folders for path in sorted(folder.rglob("*.jsonl*"))]
    for path in paths:
        of_file = {run for text in texts(path) for run in runs(text)}
        shared = sorted(of_file & known)
        example = f": {' '.join(shared[0])}" if shared else ""
        print(f"{path.parent.name}/{path.name}: {len(of_file):,}, shared {len(shared)}{example}")


def trained() -> Iterator[str]:
    """The lines that are trained on."""
    for path in (*TRUSTED, *(path for name in TRAINED for path in (HERE / name).rglob("*.*"))):
        for line in path.read_text(encoding="utf-8").splitlines():
            if path.suffix == ".jsonl":
                yield from _strings(json.loads(line))
            else:
                yield _LABELS.sub("", line)


def texts(path: Path) -> Iterator[str]:
    """All texts in a file of JSON lines."""
    with gzip.open(path, "rt", encoding="utf-8") if path.suffix == ".gz" else path.open() as file:
        for line in file:
            yield from _strings(json.loads(line))


def runs(text: str) -> Iterator[tuple[str, ...]]:
    """Its runs of words, in lower case."""
    words = [word.lower() for word in _WORD.findall(text)]
    yield from zip(*(words[n:] for n in range(_WORDS)), strict=False)


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for each in value.values() if isinstance(value, dict) else value:
            yield from _strings(each)


if __name__ == "__main__":
    main()
