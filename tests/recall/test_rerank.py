"""Reranking: the model's order, where it is asked, and what it may not answer."""

from collections.abc import Mapping, Sequence
from copy import deepcopy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.errors import ModelError, ModelUnavailable
from holdfast.language.terms import terms
from holdfast.recall.candidates import Candidate, by_score
from holdfast.recall.stages.rerank import rerank, scores_by

TEXTS = {
    0: "We talked about the weather.",
    1: "The zebra lives in the barn.",
    2: "A barn.",
    3: "The zebra in the red barn eats oats.",
}
QUESTION = "What does the zebra in the red barn eat?"


class Overlap:
    """Scores a text by the terms it shares with the question."""

    model_id = "overlap"

    def __init__(self) -> None:
        self.asked: list[list[str]] = []

    def rerank(self, query: str, texts: list[str]) -> Sequence[float]:
        self.asked.append(texts)
        wanted = set(terms(query))
        return [float(len(wanted & set(terms(text)))) for text in texts]


class Failing:
    """Raises what it was made with."""

    model_id = "failing"

    def __init__(self, error: Exception) -> None:
        self.error = error

    def rerank(self, query: str, texts: list[str]) -> Sequence[float]:
        raise self.error


def read(docs: Sequence[int]) -> Mapping[int, str]:
    return {doc: TEXTS[doc] for doc in docs if doc in TEXTS}


def candidates(*scores: float) -> list[Candidate]:
    return [Candidate(doc, score) for doc, score in enumerate(scores)]


def test_the_models_order_counts() -> None:
    found = rerank(candidates(0.8, 0.7, 0.6, 0.5), scores_by(Overlap(), QUESTION, read), depth=4)
    # zebra, red, barn, eat: 0, 2, 1 and 4 of them.
    assert [each.doc for each in found] == [3, 1, 2, 0]
    assert [each.score for each in found] == [0.8, 0.7, 0.6, 0.5]
    assert found[0].notes == {"rerank": {"before": 4, "score": 4.0}}


def test_the_tail_stays_behind_and_is_not_read() -> None:
    model = Overlap()
    listed = candidates(0.8, 0.7, 0.6, 0.5)
    found = rerank(listed, scores_by(model, QUESTION, read), depth=2)
    assert [each.doc for each in found] == [1, 0, 2, 3]
    assert found[2:] == listed[2:]
    assert model.asked == [[TEXTS[0], TEXTS[1]]]


def test_equals_stay_as_they_were() -> None:
    found = rerank(candidates(0.8, 0.7, 0.6), lambda docs: [1.0, 2.0, 1.0], depth=3)
    assert [each.doc for each in found] == [1, 0, 2]
    many = candidates(*[0.5] * 60)
    found = rerank(many, lambda docs: [float(doc % 2) for doc in docs], depth=60)
    assert [each.doc for each in found] == [*range(1, 60, 2), *range(0, 60, 2)]


def test_a_clear_answer_is_not_asked_about() -> None:
    model = Overlap()
    asked = scores_by(model, QUESTION, read)
    for clear in (candidates(0.85, 0.80), candidates(0.99, 0.5, 0.4)):
        assert rerank(clear, asked, depth=10) is clear
    assert model.asked == []
    for unclear in (candidates(0.84, 0.1), candidates(0.90, 0.86)):
        assert rerank(unclear, asked, depth=10) is not unclear
    assert len(model.asked) == 2


def test_the_rule_can_be_changed_or_left_out() -> None:
    asked = scores_by(Overlap(), QUESTION, read)
    clear = candidates(0.9, 0.5)
    assert [each.doc for each in rerank(clear, asked, depth=2, sure=None)] == [1, 0]
    assert rerank(clear, asked, depth=2, sure=0.95) is not clear
    assert rerank(clear, asked, depth=2, lead=0.5) is not clear


@pytest.mark.parametrize(
    ("listed", "depth"), [(candidates(), 5), (candidates(0.5), 5), (candidates(0.5, 0.4), 1)]
)
def test_with_less_than_two_there_is_nothing_to_ask(listed: list[Candidate], depth: int) -> None:
    model = Overlap()
    assert rerank(listed, scores_by(model, QUESTION, read), depth=depth) is listed
    assert model.asked == []


@pytest.mark.parametrize(
    "answer",
    [
        [float("nan"), 1.0],
        [float("inf"), 1.0],
        [1.0],
        [1.0, 2.0, 3.0],
        [[1.0], [2.0]],
        [[1.0], [2.0, 3.0]],
        ["0.1", "0.2"],
        [None, 1.0],
        [True, False],
        None,
        0.5,
        (each for each in (1.0, 2.0)),
    ],
)
def test_nonsense_is_an_error_and_the_candidates_are_as_they_were(answer: Any) -> None:
    listed = candidates(0.6, 0.5)
    before = deepcopy(listed)
    with pytest.raises(ModelError, match="reranker gave"):
        rerank(listed, lambda docs: answer, depth=2)
    assert listed == before


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (ModelError("no weights"), ModelError),
        (ModelUnavailable("later"), ModelUnavailable),
        (TimeoutError("slow"), ModelUnavailable),
        (ConnectionResetError("gone"), ModelUnavailable),
        (ValueError("of its own"), ModelError),
    ],
)
def test_a_model_that_fails_fails_as_a_model(error: Exception, kind: type[ModelError]) -> None:
    with pytest.raises(kind, match=str(error)) as caught:
        rerank(candidates(0.6, 0.5), scores_by(Failing(error), QUESTION, read), depth=2)
    assert type(caught.value) is kind


def test_a_text_that_is_gone_reads_as_empty() -> None:
    model = Overlap()
    listed = [Candidate(99, 0.6), Candidate(3, 0.5)]
    found = rerank(listed, scores_by(model, QUESTION, read), depth=2)
    assert model.asked == [["", TEXTS[3]]]
    assert [each.doc for each in found] == [3, 99]


@given(
    st.lists(st.tuples(st.floats(0.0, 1.0), st.floats(-1e6, 1e6)), max_size=10), st.integers(0, 12)
)
def test_a_permutation_of_the_head_with_scores_in_order(
    pairs: list[tuple[float, float]], depth: int
) -> None:
    listed = by_score(candidates(*(score for score, _ in pairs)))
    said = {doc: raw for doc, (_, raw) in enumerate(pairs)}
    found = rerank(listed, lambda docs: [said[doc] for doc in docs], depth=depth, sure=None)
    assert {each.doc for each in found[:depth]} == {each.doc for each in listed[:depth]}
    assert found[depth:] == listed[depth:]
    assert [each.score for each in found] == [each.score for each in listed]
    head = [said[each.doc] for each in found[:depth]]
    assert head == sorted(head, reverse=True)
