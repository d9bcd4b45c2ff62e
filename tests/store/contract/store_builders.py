"""What the tests of the store's contract are made of: scopes, entries, facts, short calls."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np

from holdfast.index.view import packed
from holdfast.language.terms import terms
from holdfast.store.protocols import ContextNote, Derived, KeyUse, LogEntry, Store, Vector
from holdfast.types import Job, Scope

ANN = Scope("home", "ann")
BOB = Scope("home", "bob")
#: The same name in another workspace is another person.
OTHER_ANN = Scope("work", "ann")
NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
EMBED = "embed:1"
EXTRACT = "extract"
DIM = 4


def an_entry(number: int, content: str = "I drink tea.", **changes: object) -> LogEntry:
    """Entry `number`; only what a test is about needs to be named."""
    row, length = packed(terms(content))
    entry = LogEntry(f"{number:032x}", "user", content, NOON, "user", row, length)
    return replace(entry, **changes)  # type: ignore[arg-type]


def put(
    store: Store, scope: Scope, *entries: LogEntry, key: KeyUse | None = None
) -> tuple[str, ...]:
    """Append entries with one embed job each."""
    return store.append(scope, entries, known_at=NOON, steps=[EMBED], key=key).events


def a_fact(number: int, *sources: str, content: str = "Ann drinks tea.", **changes: Any) -> Derived:
    """Derived record `number` from these events."""
    row, length = packed(terms(content))
    fact = Derived(
        id=f"{number:032x}",
        tier="fact",
        kind="fact",
        content=content,
        data={"condition": "in the morning", "aliases": ["tea", "chai"]},
        confidence=0.8,
        importance=0.6,
        origin="agent",
        terms=row,
        length=length,
        valid_from=NOON,
        sources=sources,
        role="user",
    )
    return replace(fact, **changes)


def learn(store: Store, scope: Scope, *facts: Derived, at: datetime = NOON) -> None:
    """Put derived records with one embed job each."""
    store.put(scope, facts, known_at=at, steps=[EMBED])


def current_facts(store: Store, scope: Scope = ANN) -> list[str]:
    """Ids of the facts that hold."""
    return [record.id for record in store.listed(scope, tier="fact")]


def actions(store: Store, record: str, scope: Scope = ANN) -> list[str]:
    """What was done to a record."""
    return [version.action for version in store.history(scope, record)]


def claim(store: Store, *, now: datetime = NOON, limit: int = 10, tries: int = 3) -> list[Job]:
    """Claim embed jobs with a lease of a minute."""
    return store.claim([EMBED], limit=limit, now=now, lease_s=60, max_attempts=tries)


def say(store: Store, scope: Scope, *entries: LogEntry, at: datetime = NOON) -> tuple[str, ...]:
    """Append entries that wait to be embedded and to be understood."""
    return store.append(scope, entries, known_at=at, steps=[EMBED, EXTRACT]).events


def claim_group(
    store: Store,
    seconds: float = 60,
    *,
    most: int = 20,
    tries: int = 3,
    ignore_backoff: bool = False,
) -> list[Job]:
    """Claim a conversation so many seconds after noon, with a lease of a minute.

    It is due 10 seconds after its last turn, or a minute after its first.
    """
    return store.claim_group(
        EXTRACT,
        most=most,
        now=NOON + timedelta(seconds=seconds),
        lease_s=60,
        max_attempts=tries,
        quiet_s=10,
        wait_s=60,
        ignore_backoff=ignore_backoff,
    )


def subjects(jobs: Sequence[Job]) -> list[int]:
    """The numbers of the entries that jobs are about."""
    return [int(job.subject, 16) for job in jobs]


def a_name(number: int, *sources: str, name: str = "Lisbon", **changes: Any) -> Derived:
    """Entity `number`, heard of in these events."""
    fields = {"name": name, "type": "location", "aliases": [], "summary": "", "heard": True}
    usual: dict[str, Any] = {"tier": "graph", "kind": "entity", "terms": b"", "length": 0}
    made = a_fact(number, *sources, content=f"{name} (location)", data=fields)
    return replace(made, **usual | changes)


def told(record: Derived) -> Derived:
    """The same as an explicit write has it: a document of the search."""
    row, length = packed(terms(record.content))
    data = {name: value for name, value in record.data.items() if name != "heard"}
    return replace(record, data=data, terms=row, length=length)


def vector(record: str, passage: int = 0, first: float = 1.0) -> Vector:
    """A unit vector of a record's passage."""
    data = np.zeros(DIM, dtype="<f4")
    data[passage % DIM] = first
    return Vector(0, record, passage, f"digest-{record[-4:]}-{passage}".encode(), data.tobytes())


def a_note(number: int, at: datetime = NOON) -> ContextNote:
    """Note `number`."""
    body = b"body" * (1 + number % 9)
    return ContextNote(f"{number:032x}", at, f"question {number}", b"digest", body)


def fill(store: Store) -> Sequence[str]:
    """Three owners, five events and two facts, one of each forgotten, one key, three vectors, five
    jobs left."""
    space = store.use_space("model", DIM, 1)
    events = put(store, ANN, an_entry(1), an_entry(2, "green tea"), key=KeyUse("k", b"body"))
    jobs = claim(store)
    vectors = [vector(events[0]), vector(events[0], 1), vector(events[1])]
    store.finish(jobs, space=space.id, vectors=vectors)
    learn(store, ANN, a_fact(50, events[0]), a_fact(51, events[1]))
    learn(store, ANN, a_fact(50, events[0], supersedes=(a_fact(51).id,)))
    store.forget(ANN, [events[1]], at=NOON)
    put(store, BOB, an_entry(3))
    put(store, OTHER_ANN, an_entry(4))
    put(store, ANN, an_entry(5))
    return events


def in_threads(work: Callable[[], object], count: int) -> None:
    """Do the same in several threads at once."""
    threads = [threading.Thread(target=work) for _ in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
