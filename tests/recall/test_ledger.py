"""The ledger: what went into a context can be told later, and is not learned when it comes back."""

import time
import zlib
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from pathlib import Path
from typing import Any

import orjson
import pytest

import holdfast
from holdfast.errors import NotFound, ScopeError
from holdfast.learn.worker import Worker
from holdfast.memory.memory import Memory
from holdfast.recall.context.ledger import Packing, keep
from holdfast.recall.query import query
from holdfast.testing import HashEmbedder
from holdfast.types import Context, Hit, Hits, Scope
from tests.clock import Clock

START = datetime(2026, 3, 1, 12, tzinfo=UTC)
RULE = "Always cite sources when I ask about history."
NEW_RULE = "Never use tables in your answers to me."
SCOPE = Scope("default", "ann")


@pytest.fixture
def clock() -> Clock:
    return Clock(START)


@pytest.fixture
def memory(tmp_path: Path, clock: Clock) -> Iterator[Memory]:
    with holdfast.open(
        tmp_path / "m.db", embedder=HashEmbedder(64), worker=False, clock=clock
    ) as opened:
        yield opened


def told(memory: Memory, *texts: str, role: str = "user") -> None:
    memory.remember([{"role": role, "content": text} for text in texts], user="ann")
    memory.drain()


def rules(memory: Memory) -> list[str]:
    records = memory.store.listed(SCOPE, tier="procedure", kind="instruction")
    return [record.content for record in records]


def rule_id(memory: Memory, content: str) -> str:
    records = memory.store.listed(SCOPE, tier="procedure", kind="instruction")
    return next(record.id for record in records if record.content == content)


# What is kept


def test_a_context_is_explained_as_it_was_made(memory: Memory, clock: Clock) -> None:
    told(memory, RULE, "I moved to Lisbon.", "The history of Lisbon is long. " * 40)
    clock.now += timedelta(hours=1)
    context = memory.context(
        "history of Lisbon", user="ann", agent="guide", session="s1", budget_tokens=120,
        format="astra", packaging="full", now="2026-02-01T10:00:00+02:00",
        as_of=clock.now, known_at="2026-04-01T00:00:00Z", tiers=["session", "procedure"],
        filters={"role": "user"}, overrides={"rrf.k": 30}, limit=7, task_profile="research",
    )  # fmt: skip
    kept = memory.explain(context.id, user="ann")
    assert (kept.id, kept.at, kept.query) == (context.id, clock.now, "history of Lisbon")
    assert kept.digest == sha256(context.text.encode()).hexdigest()
    assert (kept.format, kept.packaging) == ("astra", "full")
    assert (kept.budget_tokens, kept.tokens) == (120, context.tokens)
    assert (kept.agent, kept.session, kept.limit) == ("guide", "s1", 7)
    assert (kept.tiers, kept.filters) == (("session", "procedure"), {"role": "user"})
    assert kept.now == datetime(2026, 2, 1, 8, tzinfo=UTC)
    assert (kept.as_of, kept.known_at) == (clock.now, datetime(2026, 4, 1, tzinfo=UTC))
    assert kept.overrides == {"rrf.k": 30}
    assert kept.task_profile == context.task_profile == "research"
    assert kept.degraded == ()


def test_every_hit_is_there_with_what_became_of_it(memory: Memory) -> None:
    told(memory, RULE, "I moved to Lisbon.", "The history of Lisbon is long. " * 40)
    context = memory.context("history of Lisbon", user="ann", budget_tokens=90, packaging="full")
    kept = memory.explain(context.id, user="ann")
    found = memory.recall("history of Lisbon", user="ann", limit=50)
    assert {each.id for each in kept.candidates} == {hit.id for hit in found}
    inside = [each for each in kept.candidates if each.level]
    assert [(each.id, each.level) for each in inside] == [
        (hit.id, level) for hit, level in zip(context.hits, context.levels, strict=True)
    ]
    for each, hit in zip(inside, context.hits, strict=True):
        assert (each.tier, each.kind, each.origin) == (hit.tier, hit.kind, hit.origin)
        assert each.score == hit.score
        assert each.why == hit.why
        assert (each.reason, each.tokens) == (None, None)
    left_out = [each for each in kept.candidates if not each.level]
    assert [(each.id, each.reason, each.tokens) for each in left_out] == [
        (each.id, each.reason, each.tokens) for each in context.dropped
    ]
    assert left_out


def test_a_note_that_kept_its_hits_by_position_is_still_read(memory: Memory) -> None:
    told(memory, "I moved to Lisbon.")
    context = memory.context("Lisbon", user="ann")
    (note,) = memory.store.contexts(SCOPE)
    body = orjson.loads(zlib.decompress(note.body))
    body["candidates"] = [list(each.values()) for each in body["candidates"]]
    id = "0" * 32
    old = replace(note, id=id, body=zlib.compress(orjson.dumps(body)))
    memory.store.note_context(SCOPE, old)
    kept, now = memory.explain(id, user="ann"), memory.explain(context.id, user="ann")
    assert kept.candidates == now.candidates
    assert len(kept.candidates) == 1


def test_a_context_over_nothing_is_recorded_too(memory: Memory) -> None:
    context = memory.context("anything", user="ann")
    kept = memory.explain(context.id, user="ann")
    assert (kept.candidates, kept.query, kept.as_of) == ((), "anything", None)
    assert kept.now == START


def test_the_end_of_an_id_is_enough(memory: Memory) -> None:
    context = memory.context("anything", user="ann")
    assert memory.explain(context.id[-6:], user="ann").id == context.id
    with pytest.raises(NotFound):
        memory.explain(context.id[-5:], user="ann")


def test_who_does_not_want_a_note_gets_none(memory: Memory) -> None:
    context = memory.context("anything", user="ann", record=False)
    with pytest.raises(NotFound):
        memory.explain(context.id, user="ann")


def test_a_context_is_its_users_own(memory: Memory) -> None:
    context = memory.context("anything", user="ann")
    with pytest.raises(NotFound):
        memory.explain(context.id, user="bob")
    with pytest.raises(NotFound):
        memory.explain(context.id, user="ann", workspace="other")
    with pytest.raises(ScopeError):
        memory.explain(context.id)
    with pytest.raises(NotFound, match="hex digits"):
        memory.explain("nonsense", user="ann")


def test_an_agent_is_told_of_its_own_questions_alone(memory: Memory) -> None:
    by_agent = {
        agent: memory.context(f"asked by {agent}", user="ann", agent=agent).id
        for agent in ("cook", "guide", None)
    }
    for agent, id in by_agent.items():
        kept = memory.explain(id, user="ann", agent=agent)
        assert (kept.agent, kept.query) == (agent, f"asked by {agent}")
        assert memory.explain(id, user="ann").id == id  # Without an agent: the user's own view.
        for other in {"cook", "guide"} - {agent}:
            with pytest.raises(NotFound):
                memory.explain(id, user="ann", agent=other)


def test_a_note_outlives_the_process_and_holds_no_memory(tmp_path: Path) -> None:
    path = tmp_path / "m.db"
    with holdfast.open(path, embedder=HashEmbedder(64), worker=False) as memory:
        told(memory, "Zanzibar is where the pelicans nest.")
        context = memory.context("Where do they nest?", user="ann", explain=True)
        assert "pelicans" in context.text
    with holdfast.open(path, embedder=HashEmbedder(64), worker=False) as memory:
        kept = memory.explain(context.id, user="ann")
        assert "sources" in kept.candidates[0].why
        assert "elicans" not in repr(kept)


def test_the_worker_lets_old_notes_go(memory: Memory, clock: Clock) -> None:
    old = memory.context("long ago", user="ann")
    keeper = Worker(memory.store, HashEmbedder(64), config=memory.config, clock=clock)
    for _ in range(32):  # House time does not jump: see learn/worker.py.
        keeper.house.round()
        clock.now += timedelta(days=1)
    new = memory.context("today", user="ann")
    keeper.house.round()
    assert memory.explain(new.id, user="ann").query == "today"
    with pytest.raises(NotFound):
        memory.explain(old.id, user="ann")


def test_a_note_that_cannot_be_made_costs_nothing_but_itself(
    memory: Memory, caplog: pytest.LogCaptureFixture
) -> None:
    asked = query(
        "a secret question", SCOPE, limit=1, now=START, as_of=None, known_at=None, filters=None
    )
    context = Context("0" * 32, "", 0, ())
    keep(
        memory.store, asked, Hits(), context, Packing("safe", "auto", 1, {"a": object()}), at=START
    )
    memory.store.close()
    keep(memory.store, asked, Hits(), context, Packing("safe", "auto", 1), at=START)
    assert caplog.text.count("was not recorded") == 2
    assert "secret" not in caplog.text


def test_a_note_of_fifty_hits_takes_no_time(memory: Memory) -> None:
    asked = query("tea", SCOPE, limit=50, now=START, as_of=None, known_at=None, filters=None)
    why = {
        "keyword": {"window": 0.8123, "people": 0.7431, "session": 0.1239, "cover": 0.5},
        "vector": {"vector": 0.4123, "around": 0.9131, "theme": 0.3317, "score": 0.712345},
        "who": {"role": 1.0},
    }
    hits = Hits(
        Hit(f"{n:032x}", "tea " * 300, "session", "turn", 1 / (n + 1), 1.0, START, why=why)
        for n in range(50)
    )
    levels = ("full",) * 50
    best = 1.0
    for n in range(20):
        context = Context(f"{n:032x}", "tea " * 8000, 8000, tuple(hits), levels=levels)
        began = time.perf_counter()
        keep(memory.store, asked, hits, context, Packing("safe", "auto", 8192), at=START)
        best = min(best, time.perf_counter() - began)
    assert best < 0.002  # 0.3 ms on an idle machine.


# What comes back


def test_a_rule_that_was_told_is_not_learned_twice(memory: Memory) -> None:
    told(memory, RULE)
    for question in ("history", "Tell me about the history of tea"):
        assert RULE in memory.context(question, user="ann").text
        told(memory, RULE, f'You said: "{RULE}"', f"> {RULE.lower()}")
    assert rules(memory) == [RULE]


@pytest.mark.parametrize("format", ["safe", "astra", "deerflow"])
def test_a_block_that_is_pasted_back_teaches_nothing(memory: Memory, format: str) -> None:
    told(memory, RULE)
    memory.forget(rule_id(memory, RULE), user="ann")
    told(memory, "Never answer in French, please.", role="assistant")
    block = memory.context("history French", user="ann", format=format).text
    assert "French" in block
    told(memory, f"Here is what you know:\n{block}\nIs that right?")
    assert rules(memory) == []


def test_what_is_new_in_the_same_turn_is_learned(memory: Memory) -> None:
    told(memory, RULE)
    block = memory.context("history", user="ann").text
    told(memory, f"{block}\n{NEW_RULE}")
    told(memory, f"{RULE} Always answer in English.")
    assert rules(memory) == [RULE, NEW_RULE, "Always answer in English."]


def test_what_another_said_is_no_rule_when_it_comes_back(memory: Memory, clock: Clock) -> None:
    suggestion = "Always wash the rice before you cook it."
    told(memory, suggestion, role="assistant")
    memory.context("How do I wash and cook rice?", user="ann")
    clock.now += timedelta(hours=23)
    told(memory, suggestion)
    assert rules(memory) == []
    clock.now += timedelta(hours=2)  # A day after it was told it is the user's own word.
    told(memory, suggestion)
    assert rules(memory) == [suggestion]


def test_what_was_left_out_of_a_context_was_not_told(memory: Memory) -> None:
    suggestion = "Always wash the rice before you cook it."
    told(memory, suggestion, role="assistant")
    assert memory.context("wash rice", user="ann", budget_tokens=5).dropped
    told(memory, suggestion)
    assert rules(memory) == [suggestion]


def test_a_forgotten_rule_can_be_given_anew(memory: Memory, clock: Clock) -> None:
    told(memory, f"I am writing a book about the sea, and I like it a lot. {RULE}")
    assert RULE in memory.context("history", user="ann").text
    memory.forget(rule_id(memory, RULE), user="ann")
    assert rules(memory) == []
    clock.now += timedelta(minutes=1)
    told(memory, RULE)
    assert rules(memory) == [RULE]


def test_an_ended_rule_can_be_given_anew(memory: Memory) -> None:
    french, english = "Always answer me in French.", "From now on, answer me in English."
    told(memory, french)
    told(memory, english)
    assert rules(memory) == [english]
    memory.context(french, user="ann")
    told(memory, french)
    assert rules(memory) == [french]


def test_contexts_of_others_do_not_count(memory: Memory) -> None:
    suggestion: dict[str, Any] = {"role": "assistant", "content": "Always wash the rice twice."}
    memory.remember([suggestion], user="bob")
    memory.drain()
    assert memory.context("wash rice", user="bob").hits
    told(memory, "Always wash the rice twice.")
    assert rules(memory) == ["Always wash the rice twice."]
