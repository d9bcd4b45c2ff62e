"""Reciprocal rank fusion: the formula, and what must follow from it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.recall.sources.rrf import fuse, highest

EVEN = {"keyword": 1.0, "vector": 1.0}
RANKING = st.lists(st.sampled_from("abcdefgh"), unique=True, max_size=8)
WEIGHT = st.floats(0.01, 100.0)


def scores(rankings: dict[str, list[str]], weights: dict[str, float]) -> dict[str, float]:
    return dict(fuse(rankings, k=60, weights=weights))


def test_the_score_is_the_formula() -> None:
    fused = fuse(
        {"keyword": ["a", "b"], "vector": ["b", "c"]}, k=60, weights={"keyword": 2.0, "vector": 3.0}
    )
    assert [name for name, _ in fused] == ["b", "c", "a"]
    assert [score for _, score in fused] == pytest.approx([2 / 62 + 3 / 61, 3 / 62, 2 / 61])


def test_agreement_beats_a_single_first_place() -> None:
    fused = fuse({"keyword": ["a", "b"], "vector": ["c", "b"]}, k=60, weights=EVEN)
    assert fused[0][0] == "b"


def test_a_first_place_beats_agreement_far_down() -> None:
    far = [f"x{i}" for i in range(100)]
    fused = fuse({"keyword": ["a", *far, "b"], "vector": ["c", *far[::-1], "b"]}, k=1, weights=EVEN)
    order = [document for document, _ in fused]
    assert order.index("a") < order.index("b")


@pytest.mark.parametrize(("keyword", "first"), [(0.9, "v"), (1.1, "k")])
def test_weight_tips_the_balance(keyword: float, first: str) -> None:
    weights = {"keyword": keyword, "vector": 1.0}
    assert fuse({"keyword": ["k"], "vector": ["v"]}, k=60, weights=weights)[0][0] == first


def test_a_small_k_favours_first_places() -> None:
    rankings = {"keyword": ["a", "b", "x"], "vector": ["y", "b", "z"]}
    assert fuse(rankings, k=60, weights=EVEN)[0][0] == "b"
    tight = dict(fuse(rankings, k=1, weights=EVEN))
    assert tight["b"] / tight["a"] < 1.5


def test_of_equals_the_one_seen_first_stays_first() -> None:
    fused = fuse({"keyword": ["a"], "vector": ["b"]}, k=60, weights=EVEN)
    assert [document for document, _ in fused] == ["a", "b"]


def test_empty_rankings_give_nothing() -> None:
    assert fuse({}, k=60, weights={}) == []
    assert fuse({"keyword": [], "vector": []}, k=60, weights=EVEN) == []


def test_nothing_scores_above_the_document_that_is_first_everywhere() -> None:
    fused = fuse({"keyword": ["a", "b"], "vector": ["a", "b"]}, k=60, weights=EVEN)
    assert fused[0][1] == pytest.approx(highest(60, EVEN))


@given(RANKING, RANKING, WEIGHT, WEIGHT)
def test_the_order_of_the_sources_does_not_matter(
    keyword: list[str], vector: list[str], v: float, w: float
) -> None:
    weights = {"keyword": v, "vector": w}
    one = scores({"keyword": keyword, "vector": vector}, weights)
    other = scores({"vector": vector, "keyword": keyword}, weights)
    assert one == other


@given(RANKING, RANKING, WEIGHT, WEIGHT)
def test_every_document_appears_once_and_the_best_is_first(
    keyword: list[str], vector: list[str], v: float, w: float
) -> None:
    weights = {"keyword": v, "vector": w}
    fused = fuse({"keyword": keyword, "vector": vector}, k=60, weights=weights)
    assert sorted(document for document, _ in fused) == sorted({*keyword, *vector})
    values = [score for _, score in fused]
    assert values == sorted(values, reverse=True)
    assert all(0 < value <= highest(60, weights) * (1 + 1e-12) for value in values)


@given(RANKING, RANKING, WEIGHT, st.floats(0.01, 10.0))
def test_a_heavier_source_never_costs_its_documents_a_place_among_the_others(
    keyword: list[str], vector: list[str], v: float, more: float
) -> None:
    rankings = {"keyword": keyword, "vector": vector}
    light = scores(rankings, {"keyword": v, "vector": 1.0})
    heavy = scores(rankings, {"keyword": v + more, "vector": 1.0})
    for document in keyword:
        assert heavy[document] > light[document]
        for other in set(vector) - set(keyword):
            assert heavy[other] == light[other]
            if light[document] > light[other]:
                assert heavy[document] > heavy[other]


@given(RANKING, RANKING)
def test_a_better_rank_never_lowers_a_score(keyword: list[str], vector: list[str]) -> None:
    before = scores({"keyword": keyword, "vector": vector}, EVEN)
    for place in range(1, len(keyword)):
        up = keyword.copy()
        up[place - 1], up[place] = up[place], up[place - 1]
        after = scores({"keyword": up, "vector": vector}, EVEN)
        assert after[keyword[place]] > before[keyword[place]]
