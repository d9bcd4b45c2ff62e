"""Why a hit was found: with explain=True all of it, and in words."""

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

import holdfast
from holdfast.memory.memory import Memory
from holdfast.recall.candidates import Candidate
from holdfast.recall.explain import in_words
from holdfast.recall.trace import with_changes
from holdfast.testing import HashEmbedder
from holdfast.types import Hit

NOW = datetime(2026, 3, 1, tzinfo=UTC)
TURNS = (
    "I moved to Lisbon.",
    "The boat to Lisbon leaves at noon, said Ben.",
    "Invoice INV-7731 for the boat is due.",
    "Tea is better than coffee.",
    "We saw the boat in Porto.",
)
RULE = "Always name the harbour when I ask about a boat."


@pytest.fixture(params=[False, True], ids=["without a graph", "with a graph"])
def learns(request: pytest.FixtureRequest) -> bool:
    """Whether turns are read, so that the graph is one more source."""
    return bool(request.param)


@pytest.fixture
def memory(tmp_path: Path, learns: bool) -> Iterator[Memory]:
    with holdfast.open(
        tmp_path / "m.db",
        embedder=HashEmbedder(64),
        worker=False,
        clock=lambda: NOW,
        config={"extraction.enabled": learns},
    ) as opened:
        opened.remember([{"content": text} for text in (*TURNS, RULE)], user="ann")
        opened.drain()
        yield opened


def asked(memory: Memory, text: str, **more: Any) -> list[Hit]:
    return memory.recall(text, user="ann", explain=True, **more)


@pytest.mark.parametrize("fusion", ["blend", "rrf"])
@pytest.mark.parametrize("text", ["Which boat goes to Lisbon now?", "INV-7731", "boat rules"])
def test_asking_for_reasons_changes_no_answer(memory: Memory, text: str, fusion: str) -> None:
    overrides = {"fusion": fusion}
    plain = memory.recall(text, user="ann", overrides=overrides)
    told = asked(memory, text, overrides=overrides)
    assert [(hit.id, hit.score) for hit in told] == [(hit.id, hit.score) for hit in plain]
    for with_reasons, without in zip(told, plain, strict=True):
        assert "sources" not in without.why
        assert "stages" not in without.why
        assert without.why.items() <= with_reasons.why.items()


def test_every_hit_has_its_ranks_scores_and_terms(memory: Memory, learns: bool) -> None:
    votes = {"keyword": 0.5, "hybrid": 1.0, "vector": 2.0, "graph": 3.0}
    overrides = {"rrf.k": 10, **{f"rrf.weights.{name}": vote for name, vote in votes.items()}}
    hits = asked(memory, "Which boat goes to Lisbon?", overrides=overrides)
    assert len(hits) > 3
    assert any("graph" in hit.why["sources"] for hit in hits) == learns
    for hit in hits:
        assert "vector" in hit.why["sources"]
        for source, told in hit.why["sources"].items():
            assert told["rrf"] == pytest.approx(votes[source] / (10 + told["rank"]), abs=1e-6)
    for source in votes:
        ranked = sorted(
            (hit.why["sources"][source]["rank"], -hit.why["sources"][source]["score"])
            for hit in hits
            if source in hit.why["sources"]
        )
        assert [rank for rank, _ in ranked] == sorted({rank for rank, _ in ranked})
        scores = [score for _, score in ranked]
        assert scores == sorted(scores)


def test_the_terms_add_up_to_the_fused_score(memory: Memory, learns: bool) -> None:
    """RRF to the letter: the sum of the terms over that of a memory that is first everywhere."""
    overrides = {"fusion": "rrf", "rrf.weights.keyword": 0.5}
    hits = asked(memory, "Which boat goes to Lisbon?", overrides=overrides)
    assert {source for hit in hits for source in hit.why["sources"]} == (
        {"keyword", "hybrid", "vector"} | ({"graph"} if learns else set())
    )
    votes = 3.5 if learns else 2.5
    for hit in hits:
        terms = sum(told["rrf"] for told in hit.why["sources"].values())
        assert hit.why["score"]["fused"] == pytest.approx(terms / (votes / 61), abs=1e-4)


def test_a_rank_below_what_the_fusion_looked_at_counts_nothing(memory: Memory) -> None:
    overrides = {"fusion": "rrf", "searchTopK": 1, "stages.similar": False}
    hits = asked(memory, "boat in Porto, Lisbon", overrides=overrides)
    deeper = [
        told["rrf"] for hit in hits for told in hit.why["sources"].values() if told["rank"] > 1
    ]
    assert deeper
    assert not any(deeper)


def test_the_changes_lead_from_the_fused_score_to_the_final_one(memory: Memory) -> None:
    hits = asked(memory, 'Where is the "boat" now, INV-7731, since March?')
    assert any(hit.why["stages"] for hit in hits)
    for hit in hits:
        score, changes = hit.why["score"], list(hit.why["stages"].values())
        assert score["final"] == hit.score
        # Who was brought in by a stage begins there.
        at = score["fused"] if not changes or changes[0]["before"] is not None else None
        for change in changes:
            assert change["before"] == at or change["before"] is None
            at = change["after"]
        assert at == score["final"]


def test_the_stage_that_acted_is_named(memory: Memory) -> None:
    by_text = {hit.content: hit for hit in asked(memory, "INV-7731 boat")}
    held = by_text[TURNS[2]].why
    assert held["literal"] == ["INV-7731"]
    assert held["stages"]["literal"]["after"] > held["stages"]["literal"]["before"]
    rule = by_text[RULE].why
    assert rule["stages"]["lane"]["before"] is None


def test_the_weight_of_the_tier_is_told_also_when_it_is_one(memory: Memory) -> None:
    plain = asked(memory, "boat", task_profile="general")
    assert {(hit.why["tier"]["name"], hit.why["tier"]["weight"]) for hit in plain} == {
        ("session", 1.0),
        ("procedure", 1.0),
    }
    weighed = asked(memory, "boat", task_profile="debugging")
    weights = {hit.why["tier"]["name"]: hit.why["tier"]["weight"] for hit in weighed}
    assert weights["procedure"] != weights["session"]
    assert any("tier" in hit.why["stages"] for hit in weighed)


def test_a_candidate_made_anew_keeps_its_earlier_changes() -> None:
    first = with_changes("one", [Candidate(1, 0.5)], [Candidate(1, 0.6)])
    then = with_changes("two", first, [Candidate(1, 0.7), Candidate(2, 0.1)])
    assert then[0].notes["stages"] == {
        "one": {"before": 0.5, "after": 0.6},
        "two": {"before": 0.6, "after": 0.7},
    }
    assert then[1].notes["stages"] == {"two": {"before": None, "after": 0.1}}
    assert with_changes("three", then, then) == then


@pytest.mark.parametrize(
    ("why", "words"),
    [
        ({}, ""),
        ({"keyword": {"window": 1.0, "people": 0.8}}, "keyword window 1.00, people 0.80"),
        ({"vector": {"rank": 3, "score": 0.5, "rrf": 0.01}}, "vector #3"),
        ({"literal": ["INV-7"], "lane": "instruction"}, 'holds "INV-7"; lane instruction'),
        ({"temporal": {"named": ["last week"], "lift": 0.5}}, "near last week 0.50"),
        ({"tier": {"name": "fact", "weight": 1.2}}, "fact x 1.20"),
        ({"similar": {"also": 2}}, "stands for 2 more"),
        ({"similar": "copy"}, "copy"),
        ({"current": {"state": "now", "place": 1.0}}, "current state now, place 1.00"),
        ({"profile": {"name": "debate", "score": 0.5}}, "profile name debate, score 0.50"),
        ({"sources": {"graph": {"rank": 2, "rrf": 0.0161}}}, "ranks graph #2 (0.0161)"),
        ({"score": {"fused": 0.5, "final": 0.75}}, "score 0.50 to 0.75"),
        ({"stages": {"lane": {"before": None, "after": 0.5}}}, "lane new to 0.50"),
        ({"sources": {}, "stages": {}}, ""),
    ],
)  # fmt: skip
def test_a_reason_in_words(why: dict[str, Any], words: str) -> None:
    assert in_words(why) == words
