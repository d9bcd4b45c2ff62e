"""The confidence floor: 0.50 stays, 0.49 goes, a turn is never asked."""

import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.recall.candidates import Candidate
from holdfast.recall.stages.small import confident

SESSION, NOTE = 0, 3


def kept(
    *pairs: tuple[int, float], least: float = 0.5, shuffled: list[Candidate] | None = None
) -> list[int]:
    """Documents 0, 1, ... of (tier, confidence): those that stay."""
    candidates = shuffled or [Candidate(doc, 1.0 - doc / 100) for doc in range(len(pairs))]
    found = confident(
        candidates,
        tiers=np.array([tier for tier, _ in pairs], dtype=np.int32),
        confidence=np.array([sure for _, sure in pairs], dtype=np.float32),
        session=SESSION,
        least=least,
    )
    return [each.doc for each in found]


def test_049_goes_and_050_stays() -> None:
    assert kept((NOTE, 0.49), (NOTE, 0.50), (NOTE, 0.51)) == [1, 2]


@pytest.mark.parametrize("least", [0.1, 0.3, 0.55, 0.6, 0.7, 0.9, 0.95, 1.0])
def test_at_the_floor_is_not_below_it_in_any_precision(least: float) -> None:
    assert kept((NOTE, least), (NOTE, least - 0.01), least=least) == [0]


def test_a_turn_stays_whatever_its_column_says() -> None:
    assert kept((SESSION, 0.0), (NOTE, 0.0), (SESSION, float("nan"))) == [0, 2]


def test_what_has_no_confidence_stays() -> None:
    assert kept((NOTE, float("nan")), (NOTE, 0.1)) == [0]


def test_all_may_go() -> None:
    assert kept((NOTE, 0.1), (NOTE, 0.2)) == []


def test_the_same_list_comes_back_where_nothing_goes() -> None:
    sure = np.array([0.9], dtype=np.float32)
    unsure = np.array([0.1], dtype=np.float32)
    tiers = np.array([NOTE], dtype=np.int32)
    one: list[Candidate] = [Candidate(0, 0.5)]
    none: list[Candidate] = []
    assert confident(one, tiers=tiers, confidence=sure, session=SESSION, least=0.5) is one
    assert confident(one, tiers=tiers, confidence=unsure, session=SESSION, least=0.0) is one
    assert confident(none, tiers=tiers, confidence=sure, session=SESSION, least=0.5) is none


ROWS = st.lists(st.tuples(st.sampled_from([SESSION, NOTE]), st.floats(0.0, 1.0, width=32)))


@given(ROWS, st.floats(0.0, 1.0), st.randoms())
def test_each_is_judged_by_itself(
    rows: list[tuple[int, float]], least: float, chance: random.Random
) -> None:
    stay = kept(*rows, least=least)
    assert stay == sorted(stay)
    shuffled = [Candidate(doc, 0.5) for doc in range(len(rows))]
    chance.shuffle(shuffled)
    assert set(kept(*rows, least=least, shuffled=shuffled)) == set(stay)


@given(ROWS, st.floats(0.0, 1.0), st.floats(0.0, 1.0))
def test_a_higher_floor_keeps_no_more(
    rows: list[tuple[int, float]], one: float, other: float
) -> None:
    assert set(kept(*rows, least=max(one, other))) <= set(kept(*rows, least=min(one, other)))
