"""Near duplicates: when several become one, and when never."""

import math
from datetime import timedelta
from typing import Any

import numpy as np
import pytest

from holdfast.types import Record
from holdfast.upkeep.consolidate import BATCH, affinity, plan
from tests.upkeep.living import DAY, NOON, a_record

SAME = ["The build runs on Linux", "The build runs on Linux.", "the build is running on Linux"]


def planned(records: list[Record], cosine: float = 1.0) -> list[tuple[str, ...]]:
    """What becomes one, where all are as near to each other as this."""
    away = math.sqrt(max(0.0, 1 - cosine))
    vectors = {}
    for place, each in enumerate(records):
        vector = np.zeros(len(records) + 1, dtype=np.float32)
        vector[-1], vector[place] = math.sqrt(cosine), away
        vectors[each.id] = vector
    return [act.ids for act in plan(records, vectors)]


def said(*texts: str, **given: Any) -> list[Record]:
    return [a_record(f"r{i}", content=text, **given) for i, text in enumerate(texts)]


def test_affinity_is_half_meaning_half_time() -> None:
    assert affinity(1.0, timedelta()) == 1.0
    assert affinity(0.8, timedelta(hours=10)) == pytest.approx(0.4 + 0.5 / math.e)
    assert affinity(0.8, timedelta(hours=-10)) == affinity(0.8, timedelta(hours=10))


def test_three_that_say_the_same_become_one_two_do_not() -> None:
    assert planned(said(*SAME)) == [("r0", "r1", "r2")]
    assert planned(said(*SAME[:2])) == []
    assert planned(said(*SAME), cosine=0.71) == [("r0", "r1", "r2")]
    assert planned(said(*SAME), cosine=0.69) == []


def test_far_apart_in_time_they_stay_apart() -> None:
    close = [
        a_record(f"r{i}", content=t, valid_from=NOON + i * DAY / 24) for i, t in enumerate(SAME)
    ]
    apart = [a_record(f"r{i}", content=t, valid_from=NOON + i * DAY) for i, t in enumerate(SAME)]
    assert len(planned(close)) == 1
    assert planned(apart) == []


def test_the_fullest_stands_for_all_with_all_their_sources() -> None:
    records = [
        a_record("r0", content="We chose Postgres", sources=("t1",), importance=0.9),
        a_record("r1", content="We chose Postgres now", sources=("t2", "t1"), confidence=0.6),
        a_record(
            "r2", content="We chose Postgres today", sources=("t3",), valid_from=NOON + DAY / 24,
            data={"headline": "Postgres", "claim": "first", "before": "Other words of its turn"},
        ),
    ]  # fmt: skip
    vectors = {each.id: np.ones(1, dtype=np.float32) for each in records}
    (act,) = plan(records, vectors)
    made = act.record
    assert made is not None
    assert made.content == "We chose Postgres today"
    assert set(made.sources) == {"t1", "t2", "t3"}
    assert (made.confidence, made.importance, made.origin) == (0.8, 0.9, "agent")
    assert made.valid_from == NOON + DAY / 24
    assert made.supersedes == act.ids == ("r0", "r1", "r2")
    assert made.data["consolidated_from"] == ["r0", "r1", "r2"]
    assert (made.data["headline"], made.data["claim"]) == ("Postgres", "first")
    assert "before" not in made.data
    # The same plan has the same id, whatever the order.
    (again,) = plan(records[::-1], vectors)
    assert again.record is not None
    assert again.record.id == made.id


@pytest.mark.parametrize(
    "texts",
    [
        ["I like red apples", "I like green apples", "I like sour apples"],
        ["The rent is 900", "The rent is 950", "The rent is 990"],
        ["The flat rent is 900 monthly", "The flat rent is monthly", "The flat rent monthly"],
        ['He said "go" at noon', "He said go at noon", "He said go at noon!"],
        ['He said "go" at noon', 'He said "stop" at noon', 'He said "go" at noon'],
        ["I drink coffee", "I do not drink coffee", "I never drink coffee"],
        ["Ann trusts him", "Ann trusts him and Bob and Carol and Dan and Eve", "Ann trusts him"],
        ["the", "the", "the"],
    ],
)
def test_what_would_lose_something_stays(texts: list[str]) -> None:
    assert planned(said(*texts)) == []


@pytest.mark.parametrize(
    "given",
    [
        {"kind": "correction"},
        {"kind": "identity"},
        {"kind": "constraint"},
        {"kind": "instruction"},
        {"data": {"pinned": True}},
        {"data": {"contradicts": ["x"]}},
        {"quiet": 2},
        {"valid_to": NOON + DAY},
        {"tier": "graph"},
        {"tier": "knowledge"},
        {"archived_at": NOON},
        {"known_to": NOON},
    ],
)
def test_what_is_never_put_together(given: dict[str, Any]) -> None:
    assert planned(said(*SAME, **given)) == []


@pytest.mark.parametrize(
    "other",
    [
        {"origin": "user"},
        {"agent": "b"},
        {"name": "Bob"},
        {"role": "user"},
        {"kind": "goal"},
        {"tier": "note"},
        {"visibility": "agent_only"},
        {"quiet": 1},
    ],
)
def test_the_words_of_different_people_stay_apart(other: dict[str, Any]) -> None:
    records = [*said(*SAME[:2]), a_record("r2", content=SAME[2], **other)]
    assert planned(records) == []


def test_one_night_looks_at_the_newest() -> None:
    old = said(*SAME)
    new = [
        a_record(f"n{i}", content=f"Number {i}", known_from=NOON + DAY) for i in range(BATCH - 2)
    ]
    assert planned(old + new[:-1]) == [("r0", "r1", "r2")]
    assert planned(old + new) == []


def test_without_vectors_nothing_is_alike() -> None:
    assert plan(said(*SAME), {}) == []
