"""The relevance floor: who goes, who stays, and for which questions."""

import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

import holdfast
from holdfast.recall.candidates import Candidate
from holdfast.recall.stages.small import STRONG, coverage, relevant
from holdfast.testing import HashEmbedder

SIZE = 100
NAN = float("nan")


def candidates(count: int) -> list[Candidate]:
    return [Candidate(doc, 1.0 - doc / 100) for doc in range(count)]


def holding(**words: list[int]) -> dict[str, NDArray[np.int32]]:
    return {word: np.array(docs, dtype=np.int32) for word, docs in words.items()}


def kept(
    *cosines: float,
    at: float = 0.3,
    holders: dict[str, NDArray[np.int32]] | None = None,
    protected: set[int] | frozenset[int] = frozenset(),
) -> list[int]:
    """Documents 0, 1, ... with these cosines: those that stay."""
    found = relevant(
        candidates(len(cosines)),
        cosines=np.array(cosines, dtype=np.float32),
        holders=holders or {},
        size=SIZE,
        bar=at,
        protected=protected,
    )
    return [each.doc for each in found]


def test_below_the_bar_goes_and_at_the_bar_stays() -> None:
    assert kept(0.31, 0.30, 0.29) == [0, 1]
    assert kept(0.7, 0.69, at=0.7) == [0]  # 0.7 as float32 is a little below 0.7.


def test_what_holds_a_literal_or_is_an_instruction_stays() -> None:
    assert kept(0.9, 0.0, 0.1, protected={1}) == [0, 1]


def test_what_holds_half_of_the_weight_of_the_words_stays() -> None:
    # Two words, each in one document: they weigh the same, so one of them is exactly half.
    assert kept(0.9, 0.1, 0.1, holders=holding(zebra=[1], barn=[7])) == [0, 1]
    # Three words: one of them is a third.
    assert kept(0.9, 0.1, 0.1, holders=holding(zebra=[1], barn=[7], oats=[8])) == [0]


def test_a_common_word_is_no_strong_match() -> None:
    everywhere = list(range(90))
    assert kept(0.9, 0.1, 0.1, holders=holding(day=everywhere, zebra=[2])) == [0, 2]


def test_a_word_that_no_memory_holds_weighs_the_most() -> None:
    assert kept(0.9, 0.1, holders=holding(day=[1, 2])) == [0, 1]
    assert kept(0.9, 0.1, holders=holding(day=[1, 2], zanzibar=[])) == [0]


def test_the_coverage_is_the_share_of_the_idf() -> None:
    held = coverage([0, 1, 2], holding(zebra=[1], day=list(range(1, 51))), SIZE)
    rare = math.log(1 + (SIZE - 1 + 0.5) / 1.5)
    common = math.log(1 + (SIZE - 50 + 0.5) / 50.5)
    assert held.tolist() == pytest.approx([0.0, 1.0, common / (rare + common)])
    assert common / (rare + common) < STRONG


def test_what_has_no_vector_yet_stays() -> None:
    assert kept(0.9, NAN, 0.1) == [0, 1]


class Opposed(HashEmbedder):
    """What tells of a brother points away from everything else."""

    def embed(self, texts: list[str]) -> NDArray[np.float32]:
        rows = np.zeros((len(texts), self.dim), dtype=np.float32)
        rows[:, 0] = [-1.0 if "brother" in text else 1.0 for text in texts]
        return rows


@pytest.mark.parametrize(
    ("question", "tiers", "goes"),
    [
        ("What do bees eat when honey is scarce?", None, True),
        ("What do bees eat when honey is scarce?", ["session"], False),  # who says what is wanted
        ("List everything that I said about bees when honey was scarce.", None, False),
    ],
)
def test_what_is_as_unlike_a_plain_question_as_can_be_goes(
    question: str, tiers: list[str] | None, goes: bool, tmp_path: Path
) -> None:
    with holdfast.open(
        tmp_path / "m.db", embedder=Opposed(), worker=False, config={"relevanceFloor": 0.3}
    ) as memory:
        for said in ("My sister keeps bees.", "Bees frighten my little brother."):
            memory.remember(said, user="ann")
        memory.drain()
        memory.remember("Bees sting.", user="ann")  # without a vector
        found = {hit.content for hit in memory.recall(question, user="ann", tiers=tiers)}
    assert {"My sister keeps bees.", "Bees sting."} <= found
    assert ("Bees frighten my little brother." in found) is not goes


def test_if_all_would_go_the_first_with_a_word_of_the_question_stays() -> None:
    words = holding(day=[1, 2], zebra=[50], barn=[51])
    assert kept(0.1, 0.1, 0.1, holders=words) == [1]
    assert kept(0.1, 0.1, 0.1, holders=holding(zebra=[50])) == []
    assert kept(0.1, holders=holding(day=[0], zebra=[], barn=[])) == [0]


def test_the_same_list_comes_back_where_nothing_goes() -> None:
    low = np.array([0.1, 0.1], dtype=np.float32)
    for listed, cosines, at in (
        (candidates(2), low, 0.0),
        (candidates(2), None, 0.3),
        (candidates(2), low + np.float32(0.5), 0.3),
        (candidates(0), low, 0.3),
    ):
        assert relevant(listed, cosines=cosines, holders={}, size=SIZE, bar=at) is listed
    strong = candidates(1)
    words = holding(zebra=[0])
    assert relevant(strong, cosines=low, holders=words, size=SIZE, bar=0.3) is strong


COSINES = st.lists(st.floats(-1.0, 1.0, width=32) | st.just(NAN), max_size=12)
WORDS = st.dictionaries(
    st.sampled_from("abcd"), st.lists(st.integers(0, 15), unique=True).map(sorted)
)


@given(COSINES, WORDS, st.sets(st.integers(0, 12)), st.floats(0.0, 1.0), st.floats(0.0, 1.0))
def test_a_higher_bar_keeps_no_more_and_the_order_stays(
    cosines: list[float], words: dict[str, list[int]], protected: set[int], one: float, other: float
) -> None:
    holders = holding(**words)
    low, high = (
        kept(*cosines, at=at, holders=holders, protected=protected) for at in sorted((one, other))
    )
    assert low == sorted(low)
    # Where the higher bar drops all, the first that holds a word stays; a lower one may drop it for
    # others that reach it.
    only = [doc for doc in high if cosines[doc] < max(one, other) and doc not in protected]
    assert set(high) <= set(low) or high == only[:1]
    assert protected & set(range(len(cosines))) <= set(high)
    if any(doc < len(cosines) for docs in words.values() for doc in docs):
        assert high
