"""Every metric on rankings one can judge by hand."""

import math

import pytest

from holdfast.bench.metrics import (
    NAMES,
    RANKING,
    Latest,
    ScoredHit,
    by_category,
    coverage,
    latest,
    newest_first,
    percentile,
    ranking_scores,
    turns_best_first,
    turns_that_fit,
)


def test_a_perfect_ranking_scores_one_everywhere() -> None:
    assert ranking_scores(["a", "b", "x"], ["b", "a"]) == dict.fromkeys(RANKING, 1.0)


def test_a_ranking_without_evidence_scores_zero_everywhere() -> None:
    assert ranking_scores(["x", "y"], ["a"]) == dict.fromkeys(RANKING, 0.0)
    assert ranking_scores([], ["a"]) == dict.fromkeys(RANKING, 0.0)


def test_evidence_on_rank_two_and_eleven() -> None:
    others = [f"x{number}" for number in range(9)]
    scores = ranking_scores(["x", "a", *others[:8], "b"], ["a", "b"])
    assert scores["recall@5"] == scores["recall@10"] == 0.5
    assert scores["recall@20"] == 1.0
    assert scores["all@10"] == 0.0
    assert scores["ndcg@10"] == pytest.approx((1 / math.log2(3)) / (1 + 1 / math.log2(3)))
    assert scores["mrr"] == 0.5


def test_what_comes_after_the_first_twenty_is_not_found() -> None:
    others = [f"x{number}" for number in range(19)]
    assert ranking_scores([*others, "a"], ["a"])["mrr"] == pytest.approx(1 / 20)
    assert ranking_scores(["x", *others, "a"], ["a"])["mrr"] == 0.0


def test_the_evidence_inside_a_budget_is_a_share_of_all_of_it() -> None:
    inside = {1000: {"a"}, 4000: frozenset({"a", "b", "x"}), 8000: ()}
    expected = {"tokens@1000": 0.5, "tokens@4000": 1.0, "tokens@8000": 0.0}
    assert coverage(inside, ["a", "b"]) == expected
    assert coverage({9: {"b"}}, ["a", "b"], name="full") == {"full@9": 0.5}


def test_the_best_ranking_of_more_evidence_than_ten_scores_one() -> None:
    turns = [f"a{number}" for number in range(12)]
    scores = ranking_scores(turns, turns)
    assert scores["ndcg@10"] == pytest.approx(1.0)
    assert scores["recall@10"] == pytest.approx(10 / 12)
    assert scores["all@10"] == 0.0


def test_a_hit_that_does_not_fit_is_skipped_and_the_next_may_fit() -> None:
    found = [
        ScoredHit(("a",), 600),
        ScoredHit(("b",), 500),
        ScoredHit(("c",), 400),
        ScoredHit(("d",), 1),
    ]
    assert turns_that_fit(found, budget_tokens=1000) == {"a", "c"}
    assert turns_that_fit(found, budget_tokens=0) == set()


def test_a_hit_of_several_turns_counts_for_each_of_them_once() -> None:
    turns = turns_best_first([("a", "b"), ("b",), (), ("c",)])
    assert turns == ("a", "b", "c")
    assert ranking_scores(turns, ["c"])["mrr"] == pytest.approx(1 / 3)


def test_the_whole_is_the_mean_of_questions_and_leaves_the_adversarial_out() -> None:
    good, bad = dict.fromkeys(NAMES, 1.0), dict.fromkeys(NAMES, 0.0)
    rows = by_category(
        [("time", good), ("fact", good), ("adversarial", bad), ("fact", bad), ("fact", bad)]
    )
    assert [(row.category, row.questions) for row in rows] == [
        ("all", 4),
        ("fact", 3),
        ("time", 1),
        ("adversarial", 1),
    ]
    assert rows[0].means["mrr"] == 0.5
    assert rows[1].means["mrr"] == pytest.approx(1 / 3)
    assert rows[3].means["mrr"] == 0.0


def test_no_questions_give_no_rows_and_only_adversarial_ones_no_whole() -> None:
    assert by_category([]) == []
    rows = by_category([("adversarial", dict.fromkeys(NAMES, 1.0))])
    assert [row.category for row in rows] == ["adversarial"]


@pytest.mark.parametrize(("percent", "value"), [(50, 2.0), (95, 4.0), (0, 1.0), (100, 4.0)])
def test_percentiles_are_values_that_were_measured(percent: float, value: float) -> None:
    assert percentile([4.0, 1.0, 3.0, 2.0], percent) == value


def test_a_percentile_of_nothing_is_zero() -> None:
    assert percentile([], 50) == 0.0


def test_the_newest_evidence_is_first_or_not_or_none_was_found() -> None:
    assert newest_first(["x", "b", "a"], ["a", "b"], "b") is True
    assert newest_first(["x", "a", "b"], ["a", "b"], "b") is False
    # What was not found counts as last.
    assert newest_first(["b"], ["a", "b"], "b") is True
    assert newest_first(["a"], ["a", "b"], "b") is False
    assert newest_first(["x", "y"], ["a", "b"], "b") is None
    others = [f"x{number}" for number in range(20)]
    assert newest_first([*others, "b"], ["a", "b"], "b") is None


def test_how_often_the_newest_is_first_by_category() -> None:
    judged = [("z", True), ("b", False), ("b", True), ("b", None), ("b", True), ("c", None)]
    assert latest(judged) == [
        Latest("b", questions=3, missed=1, share=2 / 3),
        Latest("c", questions=0, missed=1, share=0.0),
        Latest("z", questions=1, missed=0, share=1.0),
    ]
    assert latest([]) == []
