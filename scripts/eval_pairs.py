"""Measure entity resolution: how well likeness tells whether two names of one text are one entity.

    python scripts/eval_pairs.py --data DIR

DIR holds `entity-pairs/dev.jsonl.gz`. Each pair is judged by itself, at every threshold of the
table in docs/howto/entity-resolution.md; in the last row a name that may mean two means none.
"""

from __future__ import annotations

import argparse
import gzip
import json
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from holdfast.language.names import Name, likeness

THRESHOLDS = (0.99, 0.95, 0.94, 0.92, 0.90, 0.86, 0.80)
#: The goal: a wrong merge is worse than a missed one.
PRECISION, RECALL = 0.97, 0.35
_PARTLY, _SURE = 0.80, 0.90
_TYPES = {"PER": "person", "LOC": "place", "ORG": "organization"}


class Judged(NamedTuple):
    """A pair, how alike its names are, and whether somebody else of the text is as well."""

    same: bool
    score: float
    alone: bool


def main() -> None:
    """Print precision and recall."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--data", type=Path, required=True, help="the folder of labelled sets")
    path = parser.parse_args().data / "entity-pairs" / "dev.jsonl.gz"
    if not path.is_file():
        parser.error(f"there is no {path}")
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        judged = judge([json.loads(line) for line in lines])
    print(f"{len(judged):,} pairs, {sum(each.same for each in judged):,} of them one entity")
    for threshold in THRESHOLDS:
        tell(f"{threshold:.2f}", judged, [each.score >= threshold for each in judged])
    certain = [e.score >= _SURE or (e.score >= _PARTLY and e.alone) for e in judged]
    tell("0.80, and nobody else in the text is called so", judged, certain)
    print(f"goal: precision {PRECISION} at a recall of {RECALL}")


def judge(pairs: Sequence[dict[str, object]]) -> list[Judged]:
    """Compare every pair, and see who else of its text each name may mean."""
    scores = [
        likeness(*(Name(str(pair[side]), _type(pair)) for side in ("a", "b"))).score
        for pair in pairs
    ]
    meant: dict[tuple[object, object], set[object]] = {}
    for pair, score in zip(pairs, scores, strict=True):
        if score >= _PARTLY:
            meant.setdefault((pair["doc_id"], pair["a"]), set()).add(pair["b"])
            meant.setdefault((pair["doc_id"], pair["b"]), set()).add(pair["a"])

    def alone(pair: dict[str, object]) -> bool:
        return all(len(meant.get((pair["doc_id"], pair[side]), ())) < 2 for side in ("a", "b"))

    return [
        Judged(bool(pair["same"]), score, alone(pair))
        for pair, score in zip(pairs, scores, strict=True)
    ]


def _type(pair: dict[str, object]) -> str:
    return _TYPES.get(str(pair["type"]), "concept")


def tell(name: str, judged: Sequence[Judged], merged: Sequence[bool]) -> None:
    """One line of the table."""
    right = sum(each.same for each, is_one in zip(judged, merged, strict=True) if is_one)
    total = sum(each.same for each in judged)
    precision = right / sum(merged) if any(merged) else 0.0
    print(f"{name:48} precision {precision:.3f}  recall {right / total:.3f}")


if __name__ == "__main__":
    main()
