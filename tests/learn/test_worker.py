"""The worker: whatever the embedder does, nothing is lost and everything can be tried again."""

import threading
import time
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import holdfast
from holdfast.config import Config, Extraction, Jobs
from holdfast.errors import ModelError, ModelUnavailable, StoreBusy
from holdfast.learn.embed import Begun
from holdfast.memory.memory import Memory
from holdfast.models.base import Embedder
from holdfast.models.local import BASE, OWN
from holdfast.records.entries import index_row
from holdfast.store.protocols import QueueCounts
from holdfast.store.sqlite import SqliteStore
from holdfast.testing import HashEmbedder
from holdfast.types import Drained, Scope

START = datetime(2026, 1, 1, tzinfo=UTC)
DIM = 16


class Moody:
    """An embedder that answers with `mood(texts)` when it is set, else as it should."""

    model_id = f"hash-{DIM}"
    dim = DIM

    def __init__(self, mood: Callable[[list[str]], Any] | None = None) -> None:
        self.mood = mood
        self.calls: list[int] = []
        self._inner = HashEmbedder(DIM)

    def embed(self, texts: list[str]) -> NDArray[np.float32]:
        self.calls.append(len(texts))
        if self.mood is not None:
            answer: NDArray[np.float32] = self.mood(texts)
            return answer
        return self._inner.embed(texts)


def raising(error: BaseException) -> Callable[[list[str]], Any]:
    def mood(_: list[str]) -> Any:
        raise error

    return mood


def bad_word(word: str) -> Callable[[list[str]], Any]:
    """Fails as soon as one of the texts holds a word."""

    def mood(texts: list[str]) -> Any:
        if any(word in text for text in texts):
            raise ModelError(f"cannot read {word}")
        return HashEmbedder(DIM).embed(texts)

    return mood


class Clock:
    """A clock that is moved by hand."""

    def __init__(self) -> None:
        self.now = START

    def __call__(self) -> datetime:
        return self.now


def a_memory(
    path: Path,
    embedder: Embedder | None = None,
    *,
    config: Config | None = None,
    worker: bool = False,
    clock: Clock | None = None,
) -> Memory:
    """A memory that embeds and does nothing else: one job per turn."""
    return holdfast.open(
        path / "m.db",
        embedder=embedder or HashEmbedder(DIM),
        config=replace(config or Config(), extraction=Extraction(enabled=False)),
        worker=worker,
        clock=clock,
    )


def counts(memory: Memory) -> tuple[int, int, int]:
    now = memory.store.counts()
    return now.ready, now.running, now.dead


def unclean(memory: Memory) -> list[str]:
    return [
        f"{finding.check}: {finding.detail}"
        for finding in memory.store.check(index_row)
        if not finding.ok
    ]


NONSENSE: dict[str, Callable[[list[str]], Any]] = {
    "a model error": raising(ModelError("no idea")),
    "an odd exception": raising(KeyError("weights")),
    "a recursion error": raising(RecursionError("too deep")),
    "not finite": lambda texts: np.full((len(texts), DIM), np.nan, dtype=np.float32),
    "infinite": lambda texts: np.full((len(texts), DIM), np.inf, dtype=np.float32),
    "all zeros": lambda texts: np.zeros((len(texts), DIM), dtype=np.float32),
    "a wrong dimension": lambda texts: np.ones((len(texts), DIM + 1), dtype=np.float32),
    "too few rows": lambda texts: np.ones((len(texts) - 1, DIM), dtype=np.float32),
    "too many rows": lambda texts: np.ones((len(texts) + 1, DIM), dtype=np.float32),
    "a flat array": lambda texts: np.ones(DIM * len(texts), dtype=np.float32),
    "texts": lambda texts: np.full((len(texts), DIM), "x"),
    "nothing": lambda texts: None,
    "a ragged list": lambda texts: [[1.0] * i for i in range(len(texts) + 1)],
}


@pytest.mark.parametrize("kind", NONSENSE)
def test_nonsense_becomes_a_dead_letter_with_its_reason(tmp_path: Path, kind: str) -> None:
    embedder = Moody(NONSENSE[kind])
    with a_memory(tmp_path, embedder) as memory:
        event = memory.remember("a cat", user="ann").events[0]
        drained = memory.drain()
        assert (drained.done, drained.dead, drained.pending) == (0, 1, 0)
        status = memory.status(event, user="ann")
        assert (status.state, status.pending) == ("dead", ("embed",))
        assert status.error
        assert [hit.id for hit in memory.recall("cat", user="ann")] == [event]
        assert len(embedder.calls) - 1 == 5, "five attempts, and the query of recall"
        assert unclean(memory) == ["dead letters: 1 dead letters; see `holdfast jobs`"]


@pytest.mark.parametrize("kind", NONSENSE)
def test_recall_answers_by_keyword_and_says_so_when_the_embedder_fails(
    tmp_path: Path, kind: str
) -> None:
    with a_memory(tmp_path, Moody(NONSENSE[kind])) as memory:
        memory.remember("a cat", user="ann")
        hits = memory.recall("cat", user="ann")
        assert [hit.content for hit in hits] == ["a cat"]
        assert hits.degraded
        assert hits.degraded[0].startswith("vector: ")


def assert_drained(memory: Memory, *, done: int) -> None:
    drained = memory.drain()
    assert drained == Drained(done, 0, drained.seconds)
    assert 0 <= drained.seconds <= 60


def test_a_list_of_lists_is_as_good_as_an_array(tmp_path: Path) -> None:
    with a_memory(tmp_path, Moody(lambda texts: [[1.0] * DIM for _ in texts])) as memory:
        memory.remember("a cat", user="ann")
        assert_drained(memory, done=1)
        assert memory.recall("cat", user="ann").degraded == ()


def test_a_healthy_answer_is_not_degraded(tmp_path: Path) -> None:
    with a_memory(tmp_path) as memory:
        event = memory.remember("a cat", user="ann").events[0]
        assert memory.status(event, user="ann").state == "stored"
        memory.drain()
        status = memory.status(event, user="ann")
        assert (status.state, status.pending, status.error) == ("done", (), None)
        assert memory.recall("cat", user="ann").degraded == ()
        assert unclean(memory) == []


@pytest.mark.parametrize(
    "error", [ModelUnavailable("away"), ConnectionRefusedError("no"), TimeoutError("slow")]
)
def test_a_model_that_is_away_leaves_a_failed_job_for_later(
    tmp_path: Path, error: Exception
) -> None:
    clock, embedder = Clock(), Moody(raising(error))
    with a_memory(tmp_path, embedder, clock=clock) as memory:
        event = memory.remember("a cat", user="ann").events[0]
        assert memory.worker.step() == 1
        status = memory.status(event, user="ann")
        assert status.state == "failed"
        assert str(error) in str(status.error)
        (job,) = memory.store.jobs()
        assert (job.attempts, job.transient, job.state) == (1, True, "ready")
        assert job.due is not None
        assert START < job.due <= START + timedelta(seconds=1)
        assert memory.worker.step() == 0, "not before it is due"
        clock.now += timedelta(seconds=1)
        embedder.mood = None
        assert memory.worker.step() == 1
        assert memory.status(event, user="ann").state == "done"


def test_pauses_double_up_to_the_cap(tmp_path: Path) -> None:
    clock = Clock()
    config = Config(jobs=Jobs(max_attempts=20, backoff_seconds=1, backoff_cap_seconds=10))
    with a_memory(tmp_path, Moody(raising(ModelError("no"))), clock=clock, config=config) as memory:
        memory.remember("a cat", user="ann")
        for most in (1, 2, 4, 8, 10, 10):
            assert memory.worker.step() == 1
            due = memory.store.jobs()[0].due
            assert due is not None
            assert most / 2 <= (due - clock.now).total_seconds() <= most
            clock.now = due


def test_the_model_may_ask_for_a_longer_pause(tmp_path: Path) -> None:
    away = ModelUnavailable("busy", retry_after=120)
    with a_memory(tmp_path, Moody(raising(away)), clock=Clock()) as memory:
        memory.remember("a cat", user="ann")
        memory.worker.step()
        assert memory.store.jobs()[0].due == START + timedelta(seconds=120)


def test_the_background_never_gives_up_on_a_model_that_is_away(tmp_path: Path) -> None:
    clock, embedder = Clock(), Moody(raising(ModelUnavailable("away")))
    with a_memory(tmp_path, embedder, clock=clock) as memory:
        event = memory.remember("a cat", user="ann").events[0]
        for _ in range(12):
            memory.worker.step()
            clock.now += timedelta(hours=1)
        assert memory.status(event, user="ann").state == "failed"
        embedder.mood = None
        memory.worker.step()
        assert memory.status(event, user="ann").state == "done"


@pytest.mark.slow
def test_a_model_that_is_away_for_days_does_not_break_the_pause(tmp_path: Path) -> None:
    clock, embedder = Clock(), Moody(raising(ModelUnavailable("away")))
    config = Config(jobs=Jobs(max_attempts=100_000))
    with a_memory(tmp_path, embedder, clock=clock, config=config) as memory:
        memory.remember("a cat", user="ann")
        for _ in range(1_100):
            assert memory.worker.step() == 1
            clock.now += timedelta(hours=1)
        embedder.mood = None
        assert memory.worker.step() == 1
        assert counts(memory) == (0, 0, 0)


def test_a_broken_text_is_given_up_in_the_background_too(tmp_path: Path) -> None:
    clock = Clock()
    with a_memory(tmp_path, Moody(raising(ModelError("no"))), clock=clock) as memory:
        event = memory.remember("a cat", user="ann").events[0]
        for _ in range(5):
            assert memory.worker.step() == 1
            clock.now += timedelta(hours=1)
        assert memory.status(event, user="ann").state == "dead"
        assert memory.worker.step() == 0


def test_drain_counts_what_is_done_and_what_is_dead_and_does_not_raise(tmp_path: Path) -> None:
    with a_memory(tmp_path, Moody(bad_word("poison"))) as memory:
        memory.remember([{"content": f"cat {i}"} for i in range(10)], user="ann")
        memory.remember([{"content": f"poison {i}"} for i in range(3)], user="ann")
        drained = memory.drain()
        assert (drained.done, drained.dead, drained.pending) == (10, 3, 0)
        assert_drained(memory, done=0)


def test_drain_waits_for_no_backoff(tmp_path: Path) -> None:
    embedder = Moody(raising(ModelUnavailable("away", retry_after=3600)))
    with a_memory(tmp_path, embedder, clock=Clock()) as memory:
        memory.remember("a cat", user="ann")
        memory.worker.step()
        embedder.mood = None
        assert memory.drain().done == 1


def test_drain_gives_up_on_a_model_that_stays_away(tmp_path: Path) -> None:
    with a_memory(tmp_path, Moody(raising(ModelUnavailable("away")))) as memory:
        memory.remember("a cat", user="ann")
        drained = memory.drain()
        assert (drained.done, drained.dead) == (0, 1)
        assert memory.store.jobs()[0].transient


def test_drain_counts_one_that_the_background_tried_too_often(tmp_path: Path) -> None:
    clock = Clock()
    with a_memory(tmp_path, Moody(raising(ModelUnavailable("away"))), clock=clock) as memory:
        memory.remember("a cat", user="ann")
        for _ in range(5):
            memory.worker.step()
            clock.now += timedelta(hours=1)
        drained = memory.drain()
        assert (drained.done, drained.dead, drained.pending) == (0, 1, 0)


def test_drain_with_a_timeout_says_what_is_left(tmp_path: Path) -> None:
    with a_memory(tmp_path, config=Config(jobs=Jobs(batch=2))) as memory:
        memory.remember([{"content": f"cat {i}"} for i in range(10)], user="ann")
        drained = memory.drain(timeout=0)
        assert drained.pending == 10 - drained.done > 0
        assert memory.drain().done == drained.pending


def test_a_bad_text_does_not_fail_its_neighbours(tmp_path: Path) -> None:
    with a_memory(tmp_path, Moody(bad_word("poison"))) as memory:
        texts = ["cat one", "poison", "cat two"]
        events = memory.remember([{"content": text} for text in texts], user="ann").events
        memory.drain()
        states = [memory.status(event, user="ann").state for event in events]
        assert states == ["done", "dead", "done"]


def test_a_bad_text_does_not_fail_its_neighbours_at_the_only_attempt(tmp_path: Path) -> None:
    config = Config(jobs=Jobs(max_attempts=1))
    with a_memory(tmp_path, Moody(bad_word("poison")), config=config) as memory:
        texts = ["cat one", "poison", "cat two"]
        events = memory.remember([{"content": text} for text in texts], user="ann").events
        memory.drain()
        states = [memory.status(event, user="ann").state for event in events]
        assert states == ["done", "dead", "done"]


def test_dead_letters_are_replayed_after_recovery(tmp_path: Path) -> None:
    embedder = Moody(raising(ModelError("broken")))
    with a_memory(tmp_path, embedder) as memory:
        event = memory.remember("a cat", user="ann").events[0]
        memory.drain()
        embedder.mood = None
        assert memory.drain().done == 0, "a dead letter stays dead until it is replayed"
        assert memory.store.replay() == 1
        assert memory.drain().done == 1
        assert memory.status(event, user="ann").state == "done"
        assert "vector" in memory.recall("cat", user="ann")[0].why
        assert unclean(memory) == []


def test_only_what_died_for_want_of_the_model_is_replayed_at_the_next_open(tmp_path: Path) -> None:
    embedder = Moody(raising(ModelUnavailable("away")))
    with a_memory(tmp_path, embedder) as memory:
        away = memory.remember("cat away", user="ann").events[0]
        memory.drain()
        embedder.mood = raising(ModelError("broken"))
        broken = memory.remember("cat broken", user="ann").events[0]
        memory.drain()
        assert counts(memory) == (0, 0, 2)
    with a_memory(tmp_path) as memory:
        assert counts(memory) == (1, 0, 1)
        memory.drain()
        assert memory.status(away, user="ann").state == "done"
        assert memory.status(broken, user="ann").state == "dead"


def test_stopping_hands_back_what_was_not_tried(tmp_path: Path) -> None:
    embedder = Moody(raising(ModelError("no")))
    with a_memory(tmp_path, embedder, clock=Clock()) as memory:
        memory.remember([{"content": f"cat {i}"} for i in range(4)], user="ann")
        memory.worker.step()

        def stops(texts: list[str]) -> NDArray[np.float32]:
            memory.worker.stop()
            return HashEmbedder(DIM).embed(texts)

        # What failed once runs alone; the first of them is under way when the stop comes.
        embedder.mood = stops
        memory.worker.step(ignore_backoff=True)
        jobs = memory.store.jobs()
        assert [(job.state, job.attempts) for job in jobs] == [("ready", 1)] * 3
        assert memory.store.stats()["vectors"] == 1


def test_closing_in_the_middle_loses_nothing(tmp_path: Path) -> None:
    memory = a_memory(tmp_path, worker=True)
    events = memory.remember([{"content": f"cat {i}"} for i in range(300)], user="ann").events
    memory.close()
    with a_memory(tmp_path) as again:
        assert counts(again)[1:] == (0, 0), "nothing is left behind as running"
        again.drain()
        assert all(again.status(event, user="ann").state == "done" for event in events)
        assert again.store.stats()["vectors"] == 300
        assert unclean(again) == []


def test_the_background_thread_embeds_on_its_own(tmp_path: Path) -> None:
    with a_memory(tmp_path, worker=True) as memory:
        event = memory.remember("a cat", user="ann").events[0]
        memory.drain()  # Waits for what the thread holds.
        assert memory.status(event, user="ann").state == "done"


@pytest.mark.parametrize("kind", ["nothing", "an odd exception"])
def test_the_background_thread_survives_nonsense(tmp_path: Path, kind: str) -> None:
    embedder = Moody(NONSENSE[kind])
    with a_memory(tmp_path, embedder, worker=True) as memory:
        memory.remember("a cat", user="ann")
        assert memory.drain(timeout=60).pending == 0
        embedder.mood = None
        late = memory.remember("a dog", user="ann").events[0]
        memory.drain(timeout=60)
        assert memory.status(late, user="ann").state == "done"
        assert any(each.name == "holdfast-worker" for each in threads())


def threads() -> list[Any]:
    import threading

    return threading.enumerate()


def test_a_lease_that_ran_out_is_taken_over(tmp_path: Path) -> None:
    clock = Clock()
    with a_memory(tmp_path, clock=clock) as memory:
        event = memory.remember("a cat", user="ann").events[0]
        # A worker that was killed after it had claimed.
        claimed = memory.store.claim(
            memory.worker.steps, limit=9, now=clock.now, lease_s=60, max_attempts=5
        )
        assert memory.status(event, user="ann").state == "processing"
        assert memory.worker.step() == 0
        clock.now += timedelta(seconds=61)
        assert memory.worker.step() == 1
        assert memory.status(event, user="ann").state == "done"
        assert memory.store.finish(claimed) == 0, "the late one finds that it is no longer its"


def test_a_job_that_kills_its_workers_is_buried(tmp_path: Path) -> None:
    clock = Clock()
    with a_memory(tmp_path, clock=clock) as memory:
        event = memory.remember("a cat", user="ann").events[0]
        for attempt in range(1, 6):
            claimed = memory.store.claim(
                memory.worker.steps, limit=9, now=clock.now, lease_s=60, max_attempts=5
            )
            assert [job.attempts for job in claimed] == [attempt]
            clock.now += timedelta(seconds=61)
        assert memory.worker.step() == 0
        status = memory.status(event, user="ann")
        assert status.state == "dead"
        assert "the worker died" in str(status.error)
        assert "5 attempts" in str(status.error)


def test_a_long_text_is_embedded_in_parts_and_others_have_their_turn_between(
    tmp_path: Path,
) -> None:
    def slowly(texts: list[str]) -> Any:
        time.sleep(0.02 * len(texts))
        return HashEmbedder(DIM).embed(texts)

    embedder = Moody(slowly)
    with a_memory(tmp_path, embedder) as memory:
        long = "\n".join(f"Line {number} says what {number * 7} means." for number in range(3_000))
        (long_id,) = memory.remember(long, user="ann").events
        memory.worker.step()
        (short_id,) = memory.remember("a cat", user="bob").events
        memory.worker.step()
        memory.worker.step()
        assert memory.status(short_id, user="bob").state == "done"
        assert memory.status(long_id, user="ann").state == "stored"
        embedder.mood = None
        memory.drain()
        assert memory.status(long_id, user="ann").state == "done"
        assert sum(embedder.calls) == memory.store.stats()["vectors"]  # Nothing was made twice.
        assert len(embedder.calls) > 4
        assert unclean(memory) == []


def test_a_short_text_waits_for_no_long_one_that_came_before(tmp_path: Path) -> None:
    def slowly(texts: list[str]) -> Any:
        time.sleep(0.08 * len(texts))
        return HashEmbedder(DIM).embed(texts)

    embedder = Moody(slowly)
    with a_memory(tmp_path, embedder) as memory:
        lines = [f"Line {number} says what {number * 7} means." for number in range(1_000)]
        (first,) = memory.remember("\n".join(lines), user="ann").events
        (short,) = memory.remember("a cat", user="bob").events
        (second,) = memory.remember("\n".join(reversed(lines)), user="cid").events
        memory.worker.step()
        assert memory.status(short, user="bob").state == "done"
        memory.worker.step()
        embedder.mood = raising(ModelUnavailable("away"))
        memory.worker.step()
        embedder.mood = None
        memory.drain()
        assert memory.status(first, user="ann").state == "done"
        assert memory.status(second, user="cid").state == "done"
        made = memory.store.stats()["vectors"]
        assert made <= sum(embedder.calls) <= made + 8  # The part that failed was asked for twice.


def test_what_is_begun_is_kept_up_to_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    begun = Begun(2)
    assert begun.keep(1, {b"a": b"1", b"b": b"2"})
    assert not begun.keep(2, {b"c": b"3"})
    assert begun.take(1) == {b"a": b"1", b"b": b"2"}
    assert begun.take(1) == {}
    assert begun.keep(2, {b"c": b"3"})
    later = time.monotonic() + 601
    monkeypatch.setattr("holdfast.learn.embed.time.monotonic", lambda: later)
    assert begun.keep(3, {b"d": b"4", b"e": b"5"})  # What nobody came back for is let go.
    assert begun.take(2) == {}


def test_the_same_text_of_one_owner_is_embedded_once(tmp_path: Path) -> None:
    embedder = Moody()
    with a_memory(tmp_path, embedder, clock=Clock()) as memory:
        memory.remember([{"content": "a cat"}] * 5, user="ann")
        memory.drain()
        memory.remember("a cat", user="ann")
        memory.drain()
        assert embedder.calls == [1]
        memory.remember("a cat", user="bob")
        memory.drain()
        assert embedder.calls == [1, 1]
        assert memory.store.stats()["vectors"] == 7


def test_a_forgotten_memory_is_embedded_so_that_it_can_come_back(tmp_path: Path) -> None:
    with a_memory(tmp_path) as memory:
        event = memory.remember("a cat", user="ann").events[0]
        memory.forget(event, user="ann")
        assert memory.drain().done == 1
        memory.restore(event, user="ann")
        assert set(memory.recall("cat", user="ann")[0].why) == {"keyword", "vector", "who"}


def test_vectors_are_stored_though_who_hears_of_them_fails(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    memory = a_memory(tmp_path)
    with memory:
        memory.remember("the whale sings", user="ann")

        def heard(owners: object) -> None:
            raise StoreBusy(f"the whale {owners}")

        memory.worker.embedded = heard
        assert memory.drain().done == 1
        assert "StoreBusy" in caplog.text
        assert "whale" not in caplog.text


def test_one_wiped_before_its_turn_is_no_trouble(tmp_path: Path) -> None:
    with a_memory(tmp_path) as memory:
        event = memory.remember("a cat", user="ann").events[0]
        memory.forget(event, user="ann")
        memory.store.wipe(forgotten_before=datetime.now(UTC) + timedelta(days=1))
        assert memory.store.counts() == QueueCounts()
        assert memory.drain().done == 0
        assert unclean(memory) == []


# A change of model


def other_embedder() -> HashEmbedder:
    return HashEmbedder(24, "other")


def a_memory_that_knows_the_old(path: Path, new: Embedder, old: Embedder) -> Memory:
    return Memory(
        SqliteStore(path / "m.db"),
        new,
        config=Config(),
        worker=False,
        older_embedder=lambda model: old if model == old.model_id else None,
    )


def test_the_old_index_answers_while_the_new_one_is_built(tmp_path: Path) -> None:
    old = Moody()
    with a_memory(tmp_path, old) as memory:
        memory.remember([{"content": f"cat number{i}"} for i in range(5)], user="ann")
        memory.drain()
    new = Moody(raising(ModelUnavailable("still loading")))
    new.model_id = "new"
    with a_memory_that_knows_the_old(tmp_path, new, old) as memory:
        asked = len(old.calls)
        hits = memory.recall("cat number3", user="ann")
        assert hits.degraded == ()
        assert hits[0].content == "cat number3"
        assert set(hits[0].why) >= {"keyword", "vector"}
        assert old.calls[asked] == 1, "the old embedder was asked"
        late = memory.remember("dog number9", user="ann").events[0]
        assert memory.recall("dog number9", user="ann")[0].id == late
        new.mood = None
        assert memory.drain().done == 6
        states = {space.model: space.state for space in memory.store.spaces()}
        assert states == {old.model_id: "retired", "new": "active"}
        hits = memory.recall("cat number3", user="ann")
        assert set(hits[0].why) >= {"keyword", "vector"}
        assert "vector" in memory.recall("dog number9", user="ann")[0].why
        assert memory.store.stats()["vectors"] == 6
        assert unclean(memory) == []


def test_a_store_of_the_former_shipped_model_answers_while_ours_is_built(tmp_path: Path) -> None:
    told = [{"content": f"The key of locker {n} hangs beside door {n}."} for n in range(20)]
    with holdfast.open(tmp_path / "m.db", config={"embedding.provider": "minilm"}) as memory:
        memory.remember([*told, {"content": "Our cat is called Minka."}], user="ann")
        memory.drain()
    with holdfast.open(tmp_path / "m.db", worker=False) as memory:
        assert {space.model: space.state for space in memory.store.spaces()} == {BASE: "active"}
        hits = memory.recall("What is the name of our pet?", user="ann")
        assert hits[0].content == "Our cat is called Minka."
        assert "vector" in hits[0].why
        memory.drain()
        states = {space.model: space.state for space in memory.store.spaces()}
        assert states == {BASE: "retired", OWN: "active"}
        hits = memory.recall("What is the name of our pet?", user="ann")
        assert hits[0].content == "Our cat is called Minka."


def test_without_the_old_embedder_keywords_and_what_is_built_answer(tmp_path: Path) -> None:
    with a_memory(tmp_path) as memory:
        memory.remember([{"content": f"cat number{i}"} for i in range(5)], user="ann")
        memory.drain()
    with a_memory(tmp_path, other_embedder()) as memory:
        assert memory.recall("cat number3", user="ann")[0].content == "cat number3"
        memory.drain()
        assert "vector" in memory.recall("cat number3", user="ann")[0].why
        assert unclean(memory) == []


def test_the_background_thread_promotes_the_new_space(tmp_path: Path) -> None:
    with a_memory(tmp_path) as memory:
        memory.remember("a cat", user="ann")
        memory.drain()
    with a_memory(tmp_path, other_embedder(), worker=True) as memory:
        memory.drain()
        assert [space.state for space in memory.store.spaces()] == ["retired", "active"]


def test_drain_ends_though_jobs_of_the_old_model_were_left(tmp_path: Path) -> None:
    with a_memory(tmp_path) as memory:
        event = memory.remember("a cat", user="ann").events[0]
    with a_memory(tmp_path, other_embedder()) as memory:
        drained = memory.drain(timeout=60)
        assert (drained.done, drained.pending) == (1, 0)
        assert drained.seconds < 30
        assert memory.status(event, user="ann").state == "done"
        assert counts(memory) == (0, 0, 0)
        assert unclean(memory) == []


def test_going_back_to_the_old_model_embeds_what_came_in_between(tmp_path: Path) -> None:
    with a_memory(tmp_path) as memory:
        memory.remember("a cat", user="ann")
        memory.drain()
    with a_memory(tmp_path, other_embedder()) as memory:
        event = memory.remember("a dog", user="ann").events[0]
    with a_memory(tmp_path) as memory:
        assert memory.drain(timeout=60).pending == 0
        assert "vector" in memory.recall("dog", user="ann")[0].why
        assert memory.status(event, user="ann").state == "done"
        assert unclean(memory) == []


def test_going_back_to_the_old_model_after_the_change_builds_it_anew(tmp_path: Path) -> None:
    for embedder in (HashEmbedder(DIM), other_embedder(), HashEmbedder(DIM)):
        with a_memory(tmp_path, embedder) as memory:
            memory.remember(f"cat {embedder.dim}", user="ann")
            memory.drain(timeout=60)
            states = {space.model: space.state for space in memory.store.spaces()}
            assert states[embedder.model_id] == "active"
            assert list(states.values()).count("active") == 1
            assert unclean(memory) == []
    with a_memory(tmp_path) as memory:
        assert len(memory.recall("cat", user="ann")) == 3
        assert memory.store.stats()["vectors"] == 3


def test_a_process_that_still_uses_the_old_model_does_not_spoil_the_new_index(
    tmp_path: Path,
) -> None:
    with a_memory(tmp_path) as old:
        old.remember("a cat", user="ann")
        old.drain()
        with a_memory(tmp_path, other_embedder()) as new:
            new.drain(timeout=60)
            late = old.remember("a dog", user="ann").events[0]
            old.drain(timeout=60)
            new.drain(timeout=60)
            assert new.recall("dog", user="ann")[0].id == late
            assert unclean(new) == []
    with a_memory(tmp_path, other_embedder()) as new:
        new.drain(timeout=60)
        assert "vector" in new.recall("dog", user="ann")[0].why
        assert unclean(new) == []


def test_what_an_old_process_writes_while_the_new_index_is_built_is_in_it(tmp_path: Path) -> None:
    with a_memory(tmp_path) as old:
        old.remember("a cat", user="ann")
        old.drain()
        with a_memory(tmp_path, other_embedder()) as new:
            assert new.worker.space.state == "building"
            old.remember("a dog", user="ann")
            old.drain(timeout=60)
            new.drain(timeout=60)
            assert "vector" in new.recall("dog", user="ann")[0].why
            assert unclean(new) == []


def test_a_broken_text_does_not_keep_the_old_index_forever(tmp_path: Path) -> None:
    with a_memory(tmp_path) as memory:
        memory.remember([{"content": "a cat"}, {"content": "poison"}], user="ann")
        memory.drain()
    new = Moody(bad_word("poison"))
    new.model_id = "new"
    with a_memory(tmp_path, new) as memory:
        drained = memory.drain(timeout=60)
        assert (drained.done, drained.dead) == (1, 1)
        assert [space.state for space in memory.store.spaces()] == ["retired", "active"]


def test_a_thread_that_is_still_at_work_is_left_behind(tmp_path: Path) -> None:
    """Whoever leaves then must not leave in the ordinary way: it would abort a model at work."""
    busy, done = threading.Event(), threading.Event()

    def tell(owners: set[Scope]) -> None:
        busy.set()
        done.wait(20)

    with a_memory(tmp_path, worker=True) as memory:
        memory.worker.embedded = tell
        memory.remember("I drink tea.", user="ann")
        assert busy.wait(20)
        memory.worker.stop()
        assert memory.worker.left_behind
        done.set()
