"""Tiers weighed by the task under way: the formula, through the public door."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

import holdfast
from holdfast.errors import ConfigError, InvalidInput
from holdfast.memory.memory import Memory
from holdfast.testing import HashEmbedder

BOTH = ["session", "procedure"]


@contextmanager
def opened(path: Path, **weights: float) -> Iterator[Memory]:
    """A memory whose profile `zoology` weighs the tiers so; it has turns and a rule."""
    profile = {"zoology": {"weights": weights, "triggers": ["zebra"]}}
    config = {"boosting": {"profiles": profile}, "fusion": "rrf", "stages.similar": False}
    with holdfast.open(path, worker=False, embedder=HashEmbedder(), config=config) as memory:
        if not memory.store.stats()["events"]:
            memory.remember("Always draw the zebra when I ask about stripes.", user="ann")
            memory.remember([{"content": f"The zebra number {i} slept."} for i in range(6)],
                            user="ann")  # fmt: skip
            memory.drain()
        yield memory


def scores(memory: Memory, **more: object) -> dict[str, float]:
    hits = memory.recall("zebra", user="ann", tiers=BOTH, limit=20, **more)  # type: ignore[arg-type]
    return {f"{hit.tier} {hit.content}": hit.score for hit in hits}


def test_twice_the_multiplier_is_twice_the_contribution(tmp_path: Path) -> None:
    with opened(tmp_path / "m.db", session=1.0, procedure=1.0) as memory:
        even = scores(memory)
    with opened(tmp_path / "m.db", session=2.0, procedure=1.0) as memory:
        (weighed, turns) = (scores(memory), [key for key in even if key.startswith("session")])
        (rule,) = [key for key in even if key.startswith("procedure")]
        for turn in turns:
            before, after = even[turn] / even[rule], weighed[turn] / weighed[rule]
            assert after == pytest.approx(2 * before, rel=1e-4)
        hit = memory.recall("zebra", user="ann", tiers=BOTH)[0]
        assert hit.why["tier"] == {"name": "session", "weight": pytest.approx(4 / 3, abs=1e-3)}
        assert hit.why["profile"]["name"] == "zoology"


def test_equal_and_scaled_multipliers_change_nothing(tmp_path: Path) -> None:
    with opened(tmp_path / "m.db") as memory:
        plain = scores(memory, overrides={"boosting.enabled": False})
        assert scores(memory) == plain
    with opened(tmp_path / "m.db", session=3.0, procedure=3.0) as memory:
        assert scores(memory) == plain
    with opened(tmp_path / "m.db", session=1.0, procedure=2.0) as memory:
        once = scores(memory)
    with opened(tmp_path / "m.db", session=50.0, procedure=100.0) as memory:
        assert scores(memory) == pytest.approx(once)


def test_a_profile_is_chosen_named_or_switched_off(tmp_path: Path) -> None:
    with opened(tmp_path / "m.db", session=2.0) as memory:
        assert memory.recall("zebra", user="ann").task_profile == "zoology"
        assert memory.recall("number", user="ann").task_profile == "general"
        named = memory.recall("number", user="ann", task_profile="zoology")
        assert named.task_profile == "zoology"
        assert memory.context("zebra", user="ann").task_profile == "zoology"
        off = memory.recall("zebra", user="ann", overrides={"boosting.enabled": False})
        assert off.task_profile == "general"
        with pytest.raises(InvalidInput, match="task_profile must be one of"):
            memory.recall("zebra", user="ann", task_profile="cooking")


@pytest.mark.parametrize("weight", [0, -1, float("nan"), float("inf"), "much"])
def test_a_weight_that_is_none_is_refused(tmp_path: Path, weight: float) -> None:
    with (
        pytest.raises(ConfigError, match=r"boosting\.profiles"),
        opened(tmp_path / "m.db", session=weight),
    ):
        pass


def test_an_unknown_tier_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="attic"), opened(tmp_path / "m.db", attic=2.0):
        pass


def test_tiers_narrow_and_unknown_ones_are_named(tmp_path: Path) -> None:
    with opened(tmp_path / "m.db") as memory:
        assert {hit.tier for hit in memory.recall("zebra", user="ann", tiers=["session"])} == {
            "session"
        }
        assert memory.recall("zebra", user="ann", tiers=["note"]) == []
        with pytest.raises(InvalidInput, match="attic"):
            memory.recall("zebra", user="ann", tiers=["attic"])


class Overlap:
    """A reranker one can check by hand: how many letters a text has."""

    model_id = "letters"

    def __init__(self, answer: Sequence[float] | None = None) -> None:
        self.answer = answer
        self.asked = 0

    def rerank(self, query: str, texts: list[str]) -> Sequence[float]:
        self.asked += 1
        return [len(text) for text in texts] if self.answer is None else self.answer


def test_a_reranker_orders_the_first_and_its_failure_is_told(tmp_path: Path) -> None:
    def found(reranker: Overlap) -> holdfast.types.Hits:
        with holdfast.open(
            tmp_path / "m.db", worker=False, embedder=HashEmbedder(), reranker=reranker
        ) as memory:
            if not memory.store.stats()["events"]:
                memory.remember([{"content": "zebra" + "!" * i} for i in range(5)], user="ann")
            return memory.recall("zebra", user="ann", overrides={"stages.similar": False})

    by_length = found(Overlap())
    assert [len(hit.content) for hit in by_length] == [9, 8, 7, 6, 5]
    assert by_length.degraded == ()
    broken = found(Overlap(answer=[float("nan")] * 5))
    assert len(broken) == 5
    assert broken.degraded[0].startswith("rerank: ")


def test_without_a_limit_broad_questions_get_more(tmp_path: Path) -> None:
    with holdfast.open(tmp_path / "m.db", worker=False, embedder=HashEmbedder()) as memory:
        memory.remember([{"content": f"I saw zebra {i} at the zoo."} for i in range(40)],
                        user="ann")  # fmt: skip
        memory.drain()
        assert len(memory.recall("Where was the zebra?", user="ann")) == 10
        many = "List all the zebras that I saw at the zoo."
        assert len(memory.recall(many, user="ann")) == 25
        assert len(memory.recall(many, user="ann", limit=3)) == 3
        assert len(memory.recall(many, user="ann", overrides={"adaptiveLimits": False})) == 10


def test_the_seeds_boost_is_off_on_request_on_and_never_leaks(tmp_path: Path) -> None:
    with holdfast.open(tmp_path / "m.db", worker=False, embedder=HashEmbedder()) as memory:
        memory.remember("Always draw the zebra when I ask about stripes.", user="ann")
        memory.remember([{"content": f"The zebra number {i} slept."} for i in range(20)],
                        user="ann")  # fmt: skip
        memory.drain()
        before = memory.recall("zebra", user="ann")
        boost = {"instructionBoostEnabled": True, "instructionBoostWeight": 1.0}
        boosted = memory.recall("zebra", user="ann", overrides=boost)
        assert boosted[0].kind == "instruction"
        assert boosted[0].why["boost"]["added"] == 1.0
        none = {"instructionBoostEnabled": True, "instructionBoostWeight": 0.0}
        assert memory.recall("zebra", user="ann", overrides=none) == before
        assert memory.recall("zebra", user="ann") == before
