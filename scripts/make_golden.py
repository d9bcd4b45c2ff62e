"""Make the golden store of the newest schema: tests/store/golden/NNNN.db, once and for all.

A golden store shows that files written by this version can be read by every later one. It is made
when a schema lands and never again: a file that exists is left alone.
"""

import sys
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from itertools import count
from pathlib import Path
from typing import Any

import holdfast
from holdfast.index.packed import keep, read_feed
from holdfast.index.view import packed
from holdfast.records.entries import indexed_terms
from holdfast.service.keys import create_key
from holdfast.store.protocols import Answered, AuditLine, ContextNote, Derived, LogEntry, Share
from holdfast.store.sql.engine import migrations
from holdfast.store.values import Webhook
from holdfast.testing import HashEmbedder
from holdfast.types import Scope

#: What extraction makes of the turns is no matter of the file: `hear` writes some of it.
CONFIG = {"extraction": {"enabled": False}}
FOLDER = Path(__file__).parents[1] / "tests" / "store" / "golden"


def ticks() -> Iterator[datetime]:
    """A clock that moves one minute each time it is read."""
    return (datetime(2026, 1, 1, tzinfo=UTC) + timedelta(minutes=i) for i in count())


def main(path: Path) -> None:
    clock = ticks()
    with holdfast.open(
        path, embedder=HashEmbedder(16), worker=False, clock=lambda: next(clock), config=CONFIG
    ) as memory:
        fill(memory)


def fill(memory: holdfast.Memory) -> None:
    """Something of everything that a store can hold."""
    memory.remember(
        [
            {
                "role": "user",
                "name": "Ann",
                "content": "I moved to Lisbon in March. My invoice is INV-2026-0417.",
                "at": "2026-01-01T10:00:00.000001Z",
                "metadata": {"turn": "D1:1", "nested": {"list": [1, 2.5, None, True]}},
            },
            {"role": "assistant", "content": "Café Ünïcode 東京 🚀 noted."},
            {"role": "tool", "content": "A long report. " * 200},
        ],
        user="ann", agent="helper", session="s1", key="turn-1",
    )  # fmt: skip
    memory.remember("Bob keeps bees.", user="bob", workspace="team")
    memory.remember("Ann of the team keeps cats.", user="ann", workspace="team")
    memory.drain()
    (forgotten,) = memory.remember("My password is xylophone.", user="ann").events
    memory.forget(forgotten, user="ann")
    (restored,) = memory.remember("I play the marimba.", user="ann").events
    memory.forget(restored, user="ann")
    memory.restore(restored, user="ann")
    memory.drain()
    learn(memory)
    memory.drain()
    hear(memory)
    live(memory)
    change(memory)
    memory.remember("Still waiting: okapi.", user="ann")
    create_key(memory.store, workspace="team", user="bob", role="read", label="golden")
    serve(memory)
    # As an index does that had much to read.
    bob = Scope("team", "bob")
    keep(memory.store, bob, read_feed(memory.store, bob, memory.store.head(bob)))


def learn(memory: holdfast.Memory) -> None:
    """Records of other tiers: one that holds, one superseded, one changed, one hidden with its
    turn; and a note of a context. In a workspace of their own."""
    scope = Scope("derived", "ann")
    said = [{"content": "Always cite sources."}, {"content": "I live in Porto."}]
    rule, home = memory.remember(said, user="ann", workspace="derived").events
    (gone,) = memory.remember("I used to smoke.", user="ann", workspace="derived").events
    steps, at = memory.worker.steps, datetime(2026, 1, 2, tzinfo=UTC)
    lisbon = a_record(2, "Ann lives in Lisbon.", home, tier="fact")
    porto = a_record(3, "Ann lives in Porto.", home, tier="fact")
    cites = a_record(1, "Cite sources.", rule, tier="procedure")
    memory.store.put(
        scope,
        [
            replace(cites, data={"condition": "in every answer", "fact_role": "instruction"}),
            lisbon,
            replace(porto, supersedes=(lisbon.id,)),
            a_record(4, "Ann smokes.", gone, tier="note"),
        ],
        known_at=at,
        steps=steps,
    )
    memory.store.put(scope, [replace(porto, confidence=0.9)], known_at=at, steps=steps)
    memory.forget(gone, user="ann", workspace="derived")
    note = ContextNote("c" * 32, at, "Where does Ann live?", b"digest", b"body")
    memory.store.note_context(scope, note)


def hear(memory: holdfast.Memory) -> None:
    """What was learned from a conversation: an entity heard in two turns, one told as well; two
    turns that still wait to be understood; and what it cost. In a workspace of their own."""
    scope = Scope("heard", "ann", "helper", "s1")
    store, embed, at = memory.store, memory.worker.steps, datetime(2026, 1, 2, tzinfo=UTC)
    porto = {"name": "Porto", "type": "location", "aliases": [], "summary": "", "heard": True}
    for number in (1, 2):
        moment = at + timedelta(days=number)
        turn = a_turn(number, moment)
        store.append(scope, [turn], known_at=moment, steps=[*embed, "extract"])
        jobs = store.claim_group(
            "extract", most=20, now=moment, lease_s=60, max_attempts=3, quiet_s=0, wait_s=0
        )
        heard = replace(a_record(11, "Porto (location)", turn.id, tier="graph"), data=porto)
        plain = a_record(12, "A visit (event)", turn.id, tier="graph")
        learned = [replace(each, kind="entity") for each in (heard, plain)]
        store.learn(scope, jobs, learned, known_at=moment, steps=embed)
    waiting = [a_turn(4, at + timedelta(days=4)), a_turn(3, at + timedelta(days=3))]
    store.append(scope, waiting, known_at=at, steps=[*embed, "extract"])
    store.charge(scope, date(2026, 1, 2), calls=3, prompt_tokens=1200, answer_tokens=80, cost=0.5)
    memory.drain()


def live(memory: holdfast.Memory) -> None:
    """What became of records: one used and praised, one put aside, one found to be wrong, one that
    is only listed, one for its agent alone, a turn that was blamed; a share, and trust in an agent.
    In a workspace of their own."""
    scope, store, at = (
        Scope("life", "ann", "helper"),
        memory.store,
        datetime(2026, 1, 5, tzinfo=UTC),
    )
    turn = a_turn(20, at)
    store.append(scope, [turn], known_at=at, steps=memory.worker.steps)
    facts = [a_record(number, f"Fact {number}.", turn.id, tier="fact") for number in range(21, 25)]
    own = replace(
        a_record(25, "Own.", "", tier="note"),
        sources=(),
        metadata={"page": 3},
        visibility="agent_only",
    )
    store.put(
        scope,
        [*facts[:3], replace(facts[3], quiet=2), own],
        known_at=at,
        steps=memory.worker.steps,
    )
    used, aside, wrong, _ = (fact.id for fact in facts)
    store.touch(scope, [used], at=at, action="used", strength=lambda _: 0.6)
    store.touch(scope, [used], at=at, action="praised", strength=lambda _: 0.8)
    store.touch(scope, [turn.id], at=at, action="blamed", strength=lambda _: 0.3)
    store.archive(scope, [aside], at=at, reason="nobody asked for it")
    store.end(scope, [wrong], at=at, valid_to=at, reason="it was another one")
    store.put_share(Share("s1", scope, "team", ("graph",), "read", at, at + timedelta(days=1)))
    store.set_agent_trust("life", "helper", 0.75, at=at)
    memory.drain()


def change(memory: holdfast.Memory) -> None:
    """Versions, one after another: an entry and a document of the knowledge base, a note, and a
    procedure. In a workspace of their own."""
    ann: dict[str, Any] = {"user": "ann", "workspace": "changed"}
    for number in ("one", "two", "three"):
        memory.knowledge.set("colour: sky", f"blue {number}", **ann)
        memory.knowledge.add(f"The sky is blue {number}.", name="sky.txt", **ann)
    note = memory.notes.add("The sky was blue.", **ann)
    memory.notes.update(note.id, "The sky was grey.", **ann)
    steps = memory.procedures.add("Look up", steps=["Go outside."], **ann)
    memory.procedures.update(steps.id, steps=["Open the window."], **ann)
    memory.drain()


def serve(memory: holdfast.Memory) -> None:
    """What the service keeps: a key with tools, an answer, two lines of audit, a webhook."""
    scope, store, at = Scope("served", "ann"), memory.store, datetime(2026, 1, 6, tzinfo=UTC)
    create_key(store, workspace="served", role="read", label="tools", tools=["recall"])
    store.answer(scope, "request-1", Answered(b"digest", 201, b'{"id":"1"}'), at=at)
    line = AuditLine(at, "served", "key-1", "facts.add", "done", owner="ab" * 32, subject="1")
    store.note_audit(line)
    store.note_audit(replace(line, outcome="refused", owner=None, subject=None))
    hook = Webhook("hook-1", "served", "ann", "https://example.org/", ("memory.stored",), at)
    hook = replace(hook, secret=b"secret")
    store.put_hook(hook)


def a_turn(number: int, at: datetime) -> LogEntry:
    content = f"Visit {number} to Porto."
    row = packed(indexed_terms(None, content))
    return LogEntry(f"{number:032x}", "user", content, at, "user", *row)


def a_record(number: int, content: str, source: str, *, tier: str) -> Derived:
    terms, length = packed(indexed_terms(None, content))
    return Derived(
        id=f"{number:032x}", tier=tier, kind=tier, content=content, data={}, confidence=0.8,
        importance=0.6, origin="agent", terms=terms, length=length, sources=(source,), role="user",
        valid_from=datetime(2026, 1, 1, 12, tzinfo=UTC),
    )  # fmt: skip


if __name__ == "__main__":
    target = FOLDER / f"{migrations('holdfast.store.sqlite')[-1][0]:04}.db"
    if target.exists():
        sys.exit(f"{target} exists: a golden store is made once, when its schema lands")
    target.parent.mkdir(parents=True, exist_ok=True)
    main(target)
    print(f"made {target} ({target.stat().st_size} bytes)")
