"""Strength decides between near equals, and nothing else."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.recall.candidates import Candidate
from holdfast.recall.stages.small import BAND, near_ties
from holdfast.upkeep.feedback import feedback, note_used
from tests.recall.moments import scored
from tests.upkeep.living import ANN, DAY, Living, derived, living


@pytest.fixture
def alive(tmp_path: Path) -> Iterator[Living]:
    with living(tmp_path / "m.db") as made:
        yield made


def docs(candidates: list[Candidate]) -> list[int]:
    return [each.doc for each in candidates]


def test_the_stronger_of_near_equals_comes_first() -> None:
    after = near_ties(scored(1.0, 0.99, 0.5), [0.0, 0.2, 0.5])
    assert docs(after) == [1, 0, 2]
    assert [each.score for each in after] == [1.0, 0.99, 0.5]
    assert after[0].notes == {"strength": 0.2}
    assert after[2].notes == {}


def test_what_fits_clearly_better_is_never_passed() -> None:
    given = scored(1.0, 0.97)
    assert near_ties(given, [-0.5, 0.5]) is given
    # Nor in steps: a group reaches as far below its best as the band, no further.
    assert docs(near_ties(scored(1.0, 0.985, 0.97), [0.0, 0.1, 0.5])) == [1, 0, 2]


def test_where_nothing_was_touched_the_very_same_list_comes_back() -> None:
    given = scored(1.0, 1.0, 0.99)
    assert near_ties(given, [0.0, 0.0, 0.0]) is given
    assert near_ties(given, [0.3, 0.2, 0.1]) is given
    assert near_ties([], []) == []


@given(st.lists(st.tuples(st.floats(0, 1), st.floats(-0.5, 0.5)), max_size=20))
def test_it_only_ever_swaps_near_equals(pairs: list[tuple[float, float]]) -> None:
    scores = sorted((score for score, _ in pairs), reverse=True)
    before = scored(*scores)
    after = near_ties(before, [lean for _, lean in pairs])
    assert sorted(docs(after)) == docs(before)
    assert [each.score for each in after] == scores
    for place, each in enumerate(after):
        own = scores[each.doc]
        assert all(scores[one.doc] <= own or own >= scores[one.doc] * (1 - BAND) - 1e-12
                   for one in after[place + 1 :])  # fmt: skip


def test_praise_and_use_break_ties_in_recall(alive: Living) -> None:
    first, second = alive.put(derived("The cat sleeps."), derived("The cat sleeps !"))
    overrides = {"stages.similar": False}

    def found() -> list[str]:
        hits = alive.memory.recall("does the cat sleep", user="ann", overrides=overrides)
        return [hit.id for hit in hits]

    last = found()[1]
    assert {last, found()[0]} == {first, second}
    alive.later(DAY)
    note_used(alive.store, ANN, [last], now=alive.now)
    assert found()[0] == last
    feedback(alive.store, ANN, last, -1, now=alive.now)
    assert found()[1] == last
    (hit, _) = alive.memory.recall("does the cat sleep", user="ann", overrides=overrides)
    assert "strength" not in hit.why


def test_a_reader_of_the_past_does_not_see_later_judgements(alive: Living) -> None:
    alive.put(derived("The cat sleeps."), derived("The cat sleeps !"))
    overrides = {"stages.similar": False}
    then = alive.now
    before = alive.memory.recall("cat", user="ann", known_at=then, overrides=overrides)
    feedback(alive.store, ANN, before[1].id, 1, now=alive.later())
    assert alive.memory.recall("cat", user="ann", known_at=then, overrides=overrides) == before
    now = alive.memory.recall("cat", user="ann", overrides=overrides)
    assert [hit.id for hit in now] == [before[1].id, before[0].id]


def test_a_note_that_was_used_leads_one_that_was_not(alive: Living) -> None:
    one, two = alive.put(
        derived("The cat sleeps.", tier="note"), derived("The cat sleeps !", tier="note")
    )
    alive.later(5 * DAY)
    overrides = {"stages.similar": False}
    first = alive.memory.recall("cat", user="ann", overrides=overrides)[0].id
    other = two if first == one else one
    feedback(alive.store, ANN, first, -1, now=alive.now)
    assert alive.memory.recall("cat", user="ann", overrides=overrides)[0].id == other
