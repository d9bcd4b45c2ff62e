"""The sample conversation and its questions are well formed and fit together."""

import json
from collections import Counter
from datetime import datetime, timedelta
from importlib.resources import files
from itertools import pairwise

import pytest

from holdfast import sample

TURN_FIELDS = ["session", "role", "name", "content", "at", "metadata"]
NAMES = {"user": "Mara", "assistant": "Assistant"}
KINDS = {"fact", "time", "change", "instruction", "literal", "multi"}


@pytest.mark.parametrize("name", ["conversation.jsonl", "questions.jsonl"])
def test_every_line_is_one_json_object(name: str) -> None:
    text = files("holdfast.sample").joinpath(name).read_text(encoding="utf-8")
    assert text.endswith("\n")
    for line in text.removesuffix("\n").split("\n"):
        assert isinstance(json.loads(line), dict)


def test_turns_have_exactly_the_documented_fields() -> None:
    for turn in sample.turns():
        assert list(turn) == TURN_FIELDS
        assert turn["name"] == NAMES[turn["role"]]
        assert turn["content"].strip() == turn["content"] != ""
        assert list(turn["metadata"]) == ["turn"]


def test_times_are_aware_and_strictly_ordered() -> None:
    times = [datetime.fromisoformat(turn["at"]) for turn in sample.turns()]
    assert all(time.utcoffset() == timedelta(0) for time in times)
    assert all(a < b for a, b in pairwise(times))


def test_turn_ids_are_unique() -> None:
    ids = [turn["metadata"]["turn"] for turn in sample.turns()]
    assert len(set(ids)) == len(ids)


def test_three_sessions_of_about_sixty_turns() -> None:
    turns = sample.turns()
    assert 55 <= len(turns) <= 66
    sizes = Counter(turn["session"] for turn in turns)
    assert len(sizes) == 3
    assert min(sizes.values()) >= 15
    order = [turn["session"] for turn in turns]
    assert order == sorted(order), "a session is interleaved with another"


def test_questions_point_at_existing_turns() -> None:
    ids = {turn["metadata"]["turn"] for turn in sample.turns()}
    questions = sample.questions()
    assert len(questions) == 15
    assert {question["kind"] for question in questions} == KINDS
    for question in questions:
        assert list(question) == ["question", "evidence", "kind"]
        assert question["evidence"]
        assert len(set(question["evidence"])) == len(question["evidence"])
        assert set(question["evidence"]) <= ids


def test_each_call_returns_a_fresh_list() -> None:
    sample.turns().clear()
    assert sample.turns()
    sample.questions()[0]["evidence"].clear()
    assert sample.questions()[0]["evidence"]
