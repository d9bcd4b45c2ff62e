"""Changes of one thing are seen, and nothing that only looks like one ends anything."""

from __future__ import annotations

from collections import Counter

import pytest

from holdfast.models.local import LocalEmbedder
from scripts.eval_facts import Judged, judged
from tests.records.facts.more_pairs import MORE_PAIRS


@pytest.fixture(scope="module")
def results() -> list[Judged]:
    return judged(MORE_PAIRS, LocalEmbedder().embed)


def test_half_of_them_are_changes_and_half_are_held_out() -> None:
    counted = Counter((pair.relation, pair.half) for pair in MORE_PAIRS)
    assert set(counted.values()) == {30}
    assert len(counted) == 4


@pytest.mark.parametrize("half", ["dev", "held"])
def test_most_changes_are_seen(results: list[Judged], half: str) -> None:
    right = [
        each.is_right
        for each in results
        if each.pair.half == half and each.pair.relation == "change"
    ]
    assert sum(right) / len(right) >= 0.8


def test_nothing_is_ended_that_still_holds(results: list[Judged]) -> None:
    wrong = [(each.pair.known, each.pair.said) for each in results if each.is_harmful]
    assert wrong == []
