"""What is printed of a shipped file: what it gets wrong, in words."""

from __future__ import annotations

from typing import Any

from holdfast.models.local import FOLDERS, OWN, WORDS, WordPiece
from holdfast.models.reader import RELATIONS, TAGS
from training.evaluate import Model, text_of, wrong
from training.prepare import units

WORD_PIECES = WordPiece.from_file(WORDS)


def ids(text: str) -> list[int]:
    return units(text, WORD_PIECES)[0]


def turn(text: str, **tags: int) -> dict[str, Any]:
    line = {"ids": ids(text), "tags": [tags.get(name, -1) for name in TAGS]}
    return {"lines": [line], "split": "dev", "lang": "en"}


def pair(old: str, new: str, relation: str) -> dict[str, Any]:
    return {
        "old": [[], ids(old)],
        "new": [[], ids(new)],
        "label": RELATIONS.index(relation),
        "split": "dev",
    }


def test_what_is_wrong_is_told_in_words() -> None:
    data = {
        "turns": [
            turn("I live in Ghent with my two cats", fact=1, filler=1),
            turn("thanks!", filler=1, fact=0),
            turn("ok bye", rule=1),
        ],
        "pairs": [
            pair("I live in Ghent.", "I moved from Ghent to Bruges last week.", "unrelated"),
            pair("I live in Ghent.", "My cat is called Otto.", "unrelated"),
        ],
    }
    told = sorted(wrong(Model(FOLDERS[OWN] / "model.onnx"), data, 3))
    assert told == [
        "ends, told: i live in ghent . -> i moved from ghent to bruges last week .",
        "filler, missed: i live in ghent with my two cats",
        "rule, missed: ok bye",
    ]
    assert len(list(wrong(Model(FOLDERS[OWN] / "model.onnx"), data, 1))) == 3


def test_words_of_token_ids() -> None:
    assert text_of(ids("unbelievably good")) == "unbelievably good"
