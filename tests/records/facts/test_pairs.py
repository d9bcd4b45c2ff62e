"""Reconciliation on pairs that were written before it: how often right, and never destructive."""

from __future__ import annotations

from collections import Counter

import pytest

from holdfast.models.local import LocalEmbedder
from scripts.eval_facts import Judged, judged
from tests.records.facts.pairs import PAIRS


@pytest.fixture(scope="module")
def results() -> list[Judged]:
    return judged(PAIRS, LocalEmbedder().embed)


def test_there_are_two_hundred_pairs_half_of_them_held_out() -> None:
    assert Counter(pair.half for pair in PAIRS) == {"dev": 100, "held": 100}
    assert min(Counter(pair.relation for pair in PAIRS).values()) >= 33


@pytest.mark.parametrize("half", ["dev", "held"])
def test_most_outcomes_are_right(results: list[Judged], half: str) -> None:
    right = [each.is_right for each in results if each.pair.half == half]
    assert sum(right) / len(right) >= 0.9


def test_nothing_is_ended_that_still_holds(results: list[Judged]) -> None:
    wrong = [(each.pair.known, each.pair.said) for each in results if each.is_harmful]
    assert wrong == []
