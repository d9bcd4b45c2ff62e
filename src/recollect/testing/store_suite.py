"""The contract of a store, executable: inherit, give a `store` fixture, pass all of it.

    class TestMyStore(StoreSuite):
        @pytest.fixture
        def store(self, tmp_path: Path) -> Iterator[Store]:
            with closing(MyStore(tmp_path / "my.db")) as store:
                yield store

Every promise in the docstrings of `recollect.store.base` has a test here; nothing may be skipped.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from recollect.errors import Conflict, NotFound
from recollect.index.postings import packed
from recollect.store.base import (
    FOREVER_US,
    ContextNote,
    Derived,
    DumpedEvent,
    DumpedRecord,
    DumpedVectors,
    Entry,
    Head,
    KeyUse,
    Made,
    Store,
    Vector,
)
from recollect.text import terms
from recollect.types import ApiKey, Event, Job, Record, Scope
from recollect.write.prepare import index_row

ANN = Scope("home", "ann")
BOB = Scope("home", "bob")
#: The same name in another workspace is another person.
OTHER_ANN = Scope("work", "ann")
NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
EMBED = "embed:1"
DIM = 4


def an_entry(number: int, content: str = "I drink tea.", **changes: object) -> Entry:
    """Entry `number`; only what a test is about needs to be named."""
    row, length = packed(terms(content))
    entry = Entry(f"{number:032x}", "user", content, NOON, "user", row, length)
    return replace(entry, **changes)  # type: ignore[arg-type]


def put(store: Store, scope: Scope, *entries: Entry, key: KeyUse | None = None) -> tuple[str, ...]:
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


def vector(record: str, passage: int = 0, first: float = 1.0) -> Vector:
    """A unit vector of a record's passage."""
    data = np.zeros(DIM, dtype="<f4")
    data[passage % DIM] = first
    return Vector(0, record, passage, f"digest-{record[-4:]}-{passage}".encode(), data.tobytes())


class LogSuite:
    """What `Log` promises."""

    def test_an_event_comes_back_as_it_was_said(self, store: Store) -> None:
        entry = an_entry(
            1, "Grüße, 世界\n\n", name="Ann", metadata={"turn": 1, "deep": {"x": [1, None, "é"]}}
        )
        store.append(
            replace(ANN, agent="a", session="s"), [entry], known_at=NOON, steps=[], key=None
        )
        (event,) = store.events(ANN, [entry.id])
        assert (event.content, event.name, event.role) == (entry.content, "Ann", "user")
        assert (event.at, event.known_at, event.origin) == (NOON, NOON, "user")
        assert (event.agent, event.session, event.metadata) == ("a", "s", entry.metadata)

    def test_microseconds_survive(self, store: Store) -> None:
        moment = datetime(1901, 2, 3, 4, 5, 6, 789_123, tzinfo=UTC)
        put(store, ANN, an_entry(1, at=moment))
        assert store.events(ANN, [an_entry(1).id])[0].at == moment

    def test_events_come_in_the_order_asked_for(self, store: Store) -> None:
        a, b, c = put(store, ANN, *(an_entry(i) for i in (1, 2, 3)))
        assert [event.id for event in store.events(ANN, [c, "f" * 32, a, "no id", b])] == [c, a, b]

    def test_scan_follows_arrival_not_time(self, store: Store) -> None:
        put(store, ANN, an_entry(5, at=NOON + timedelta(days=1)), an_entry(3))
        put(store, ANN, an_entry(4))
        seen = store.scan(ANN)
        assert [int(event.id, 16) for event in seen] == [5, 3, 4]
        assert [event.arrival for event in seen] == [1, 2, 3]
        assert [int(event.id, 16) for event in store.scan(ANN, after=1, limit=1)] == [3]

    def test_nothing_of_a_failed_append_stays(self, store: Store) -> None:
        put(store, ANN, an_entry(1))
        with pytest.raises(Exception, match=r"(?i)unique|constraint|duplicate"):
            put(store, ANN, an_entry(2), an_entry(1), key=KeyUse("k", b"x"))
        assert [int(event.id, 16) for event in store.scan(ANN)] == [1]
        assert len(store.jobs()) == 1
        assert len(put(store, ANN, an_entry(2), key=KeyUse("k", b"x"))) == 1

    def test_one_failed_append_leaves_its_neighbours_alone(self, store: Store) -> None:
        put(store, ANN, an_entry(0))
        outcomes: list[bool] = []

        def work(number: int) -> None:
            try:
                put(store, ANN, an_entry(number), *([an_entry(0)] if number % 2 else []))
                outcomes.append(True)
            except Exception:  # noqa: BLE001 (any error is a failed append here)
                outcomes.append(False)

        threads = [threading.Thread(target=work, args=(i,)) for i in range(1, 33)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert sorted(outcomes) == [False] * 16 + [True] * 16
        assert {int(event.id, 16) for event in store.scan(ANN)} == {0, *range(2, 33, 2)}

    def test_the_same_key_and_body_store_nothing_new(self, store: Store) -> None:
        first = put(store, ANN, an_entry(1), an_entry(2), key=KeyUse("k", b"body"))
        again = store.append(
            ANN, [an_entry(3)], known_at=NOON, steps=[EMBED], key=KeyUse("k", b"body")
        )
        assert (again.events, again.duplicate) == (first, True)
        assert len(store.scan(ANN)) == 2
        assert len(store.jobs()) == 2

    def test_the_same_key_with_another_body_is_a_conflict(self, store: Store) -> None:
        put(store, ANN, an_entry(1), key=KeyUse("k", b"body"))
        with pytest.raises(Conflict, match="'k'"):
            put(store, ANN, an_entry(2), key=KeyUse("k", b"other"))
        assert len(store.scan(ANN)) == 1

    def test_a_key_belongs_to_its_owner(self, store: Store) -> None:
        for number, scope in enumerate((ANN, BOB, OTHER_ANN), start=1):
            assert put(store, scope, an_entry(number), key=KeyUse("k", bytes([number])))

    def test_concurrent_uses_of_one_key_give_one_event(self, store: Store) -> None:
        seen: list[tuple[str, ...]] = []

        def work(number: int) -> None:
            seen.append(put(store, ANN, an_entry(number), key=KeyUse("k", b"body")))

        threads = [threading.Thread(target=work, args=(i,)) for i in range(16)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(set(seen)) == 1
        assert len(store.scan(ANN)) == 1

    def test_old_keys_can_be_dropped(self, store: Store) -> None:
        put(store, ANN, an_entry(1), key=KeyUse("k", b"body"))
        assert store.forget_keys(NOON) == 0
        assert store.forget_keys(NOON + timedelta(seconds=1)) == 1
        put(store, ANN, an_entry(2), key=KeyUse("k", b"other"))

    def test_no_log_read_crosses_a_scope(self, store: Store) -> None:
        (event,) = put(store, ANN, an_entry(1))
        for scope in (BOB, OTHER_ANN):
            assert store.events(scope, [event]) == []
            assert store.scan(scope) == []
            with pytest.raises(NotFound):
                store.status(scope, event)

    def test_two_owners_may_hold_the_same_id(self, store: Store) -> None:
        put(store, ANN, an_entry(1, "tea"))
        put(store, BOB, an_entry(1, "coffee"))
        assert store.events(ANN, [an_entry(1).id])[0].content == "tea"
        assert store.events(BOB, [an_entry(1).id])[0].content == "coffee"


class RecordSuite:
    """What `Records` promises."""

    def test_a_turn_is_a_record_with_its_event_as_source(self, store: Store) -> None:
        (event,) = put(store, ANN, an_entry(1, name="Ann", metadata={"turn": 7}))
        (record,) = store.get(ANN, [event])
        assert (record.id, record.tier, record.kind) == (event, "session", "turn")
        assert (record.sources, record.confidence) == ((event,), 1.0)
        assert (record.valid_from, record.valid_to) == (NOON, None)
        assert (record.known_from, record.known_to) == (NOON, None)
        assert (record.content, record.name, record.metadata) == (
            "I drink tea.",
            "Ann",
            {"turn": 7},
        )

    def test_records_come_in_the_order_asked_for(self, store: Store) -> None:
        a, b, c = put(store, ANN, *(an_entry(i) for i in (1, 2, 3)))
        assert [record.id for record in store.get(ANN, [b, "f" * 32, c, a])] == [b, c, a]

    def test_a_forgotten_record_is_gone_from_every_read(self, store: Store) -> None:
        kept, gone = put(store, ANN, an_entry(1), an_entry(2))
        assert store.forget(ANN, gone, at=NOON)
        assert [record.id for record in store.get(ANN, [kept, gone])] == [kept]
        assert [event.id for event in store.events(ANN, [kept, gone])] == [kept]
        assert [event.id for event in store.scan(ANN)] == [kept]
        assert [c.forgotten for c in store.changes(ANN, after=0)] == [False, True]
        assert all(version.content is None for version in store.history(ANN, gone))

    def test_forget_and_restore_undo_each_other(self, store: Store) -> None:
        (event,) = put(store, ANN, an_entry(1))
        assert store.forget(ANN, event, at=NOON)
        assert not store.forget(ANN, event, at=NOON)
        assert store.restore(ANN, event, at=NOON + timedelta(days=1))
        assert not store.restore(ANN, event, at=NOON)
        assert store.get(ANN, [event])[0].content == "I drink tea."
        assert [version.action for version in store.history(ANN, event)] == [
            "stored",
            "forgotten",
            "restored",
        ]

    def test_no_record_call_crosses_a_scope(self, store: Store) -> None:
        (event,) = put(store, ANN, an_entry(1))
        for scope in (BOB, OTHER_ANN):
            assert store.get(scope, [event]) == []
            for call in (store.forget, store.restore):
                with pytest.raises(NotFound):
                    call(scope, event, at=NOON)
            with pytest.raises(NotFound):
                store.history(scope, event)
        assert len(store.get(ANN, [event])) == 1

    def test_wiping_removes_what_was_forgotten_before_and_nothing_else(self, store: Store) -> None:
        space = store.use_space("model", DIM, 1)
        old, new, kept = put(store, ANN, an_entry(1), an_entry(2), an_entry(3))
        jobs = claim(store)
        store.finish(jobs, space=space.id, vectors=[vector(e) for e in (old, new, kept)])
        store.forget(ANN, old, at=NOON)
        store.forget(ANN, new, at=NOON + timedelta(days=2))
        epoch = store.head(ANN).epoch
        assert store.wipe(forgotten_before=NOON + timedelta(days=1)) == 1
        with pytest.raises(NotFound):
            store.restore(ANN, old, at=NOON)
        assert store.restore(ANN, new, at=NOON)
        assert {event.id for event in store.scan(ANN)} == {new, kept}
        assert {v.record for v in store.vectors(ANN, space.id, after=0)} == {new, kept}
        assert store.head(ANN).epoch > epoch


class DerivedSuite:
    """What `Log` and `Records` promise for records of the other tiers."""

    def test_what_is_derived_is_stored_with_its_turn(self, store: Store) -> None:
        fact = a_fact(50, an_entry(1).id, name="Ann", valid_from=NOON - timedelta(days=1))
        entry = replace(an_entry(1, metadata={"turn": 7}), derived=(fact,))
        scope = replace(ANN, agent="a", session="s")
        store.append(scope, [entry], known_at=NOON, steps=[EMBED])
        (record,) = store.get(ANN, [fact.id])
        assert (record.tier, record.kind, record.content) == ("fact", "fact", fact.content)
        assert (record.data, record.metadata) == (fact.data, {"turn": 7})
        assert (record.confidence, record.importance) == (0.8, 0.6)
        assert (record.role, record.name, record.agent, record.session) == ("user", "Ann", "a", "s")
        assert (record.valid_from, record.valid_to) == (fact.valid_from, None)
        assert (record.known_from, record.known_to, record.origin) == (NOON, None, "agent")
        assert record.sources == (entry.id,)
        assert [job.subject for job in store.jobs()] == [entry.id, fact.id]
        assert actions(store, fact.id) == ["stored"]

    def test_a_turn_has_no_fields_of_its_own(self, store: Store) -> None:
        (event,) = put(store, ANN, an_entry(1))
        (record,) = store.get(ANN, [event])
        assert (record.importance, record.data) == (0.5, {})

    def test_nothing_derived_stays_of_a_failed_append(self, store: Store) -> None:
        put(store, ANN, an_entry(1))
        bad = replace(an_entry(2), derived=(a_fact(50, an_entry(2).id, confidence=2.0),))
        with pytest.raises(Exception, match=r"(?i)check|constraint"):
            put(store, ANN, bad)
        assert [int(event.id, 16) for event in store.scan(ANN)] == [1]
        assert store.listed(ANN, tier="fact") == []

    def test_a_known_id_is_left_alone_by_a_turn(self, store: Store) -> None:
        put(store, ANN, replace(an_entry(1), derived=(a_fact(50, an_entry(1).id),)))
        again = a_fact(50, an_entry(2).id, content="other")
        put(store, ANN, replace(an_entry(2), derived=(again,)))
        (record,) = store.get(ANN, [again.id])
        assert (record.content, record.sources) == ("Ann drinks tea.", (an_entry(1).id,))

    def test_sources_that_are_not_this_owners_do_not_count(self, store: Store) -> None:
        (mine,) = put(store, ANN, an_entry(1))
        (other,) = put(store, BOB, an_entry(2))
        learn(store, ANN, a_fact(50, other, mine, "no id"), a_fact(51, other), a_fact(52))
        assert [record.sources for record in store.listed(ANN, tier="fact")] == [(mine,), ()]
        assert current_facts(store) == [a_fact(50).id, a_fact(52).id]

    def test_a_list_has_one_tier_and_kind_those_learned_first_first(self, store: Store) -> None:
        (event,) = put(store, ANN, an_entry(1))
        late, early = NOON + timedelta(hours=1), NOON - timedelta(hours=1)
        learn(store, ANN, a_fact(50, event), at=late)
        learn(store, ANN, a_fact(51, event, kind="plan"), a_fact(52, event), at=early)
        learn(store, ANN, a_fact(53, event, tier="note"))
        assert [int(each, 16) for each in current_facts(store)] == [51, 52, 50]
        assert [r.id for r in store.listed(ANN, tier="fact", kind="plan")] == [a_fact(51).id]
        assert [r.id for r in store.listed(ANN, tier="note")] == [a_fact(53).id]
        assert [r.id for r in store.listed(ANN, tier="session")] == [event]
        assert len(store.listed(ANN, tier="fact", limit=2)) == 2
        assert store.listed(ANN, tier="graph") == []

    def test_forgetting_a_turn_hides_what_came_from_it_alone(self, store: Store) -> None:
        a, b = put(store, ANN, an_entry(1), an_entry(2))
        learn(store, ANN, a_fact(50, a), a_fact(51, a, b), a_fact(52))
        store.forget(ANN, a, at=NOON)
        assert current_facts(store) == [a_fact(51).id, a_fact(52).id]
        assert store.get(ANN, [a_fact(50).id]) == []
        assert actions(store, a_fact(50).id) == ["stored", "forgotten"]
        assert all(version.content is None for version in store.history(ANN, a_fact(50).id))
        store.forget(ANN, b, at=NOON)
        assert current_facts(store) == [a_fact(52).id]
        store.restore(ANN, b, at=NOON)
        assert current_facts(store) == [a_fact(51).id, a_fact(52).id]
        store.restore(ANN, a, at=NOON)
        assert len(current_facts(store)) == 3
        assert actions(store, a_fact(50).id) == ["stored", "forgotten", "restored"]

    def test_what_was_forgotten_for_its_own_sake_does_not_come_back(self, store: Store) -> None:
        (event,) = put(store, ANN, an_entry(1))
        learn(store, ANN, a_fact(50, event), a_fact(51, event))
        assert store.forget(ANN, a_fact(50).id, at=NOON)
        assert not store.forget(ANN, a_fact(50).id, at=NOON)
        store.forget(ANN, event, at=NOON)
        store.restore(ANN, event, at=NOON)
        assert current_facts(store) == [a_fact(51).id]
        assert store.restore(ANN, a_fact(50).id, at=NOON)
        assert len(current_facts(store)) == 2

    def test_what_is_learned_from_a_forgotten_turn_is_hidden_with_it(self, store: Store) -> None:
        (event,) = put(store, ANN, an_entry(1))
        store.forget(ANN, event, at=NOON)
        learn(store, ANN, a_fact(50, event))
        assert current_facts(store) == []
        store.restore(ANN, event, at=NOON)
        assert current_facts(store) == [a_fact(50).id]

    def test_metadata_of_a_forgotten_source_is_not_told(self, store: Store) -> None:
        a, b = put(store, ANN, an_entry(1, metadata={"secret": 1}), an_entry(2))
        learn(store, ANN, a_fact(50, a, b))
        assert store.get(ANN, [a_fact(50).id])[0].metadata == {"secret": 1}
        store.forget(ANN, a, at=NOON)
        assert store.get(ANN, [a_fact(50).id])[0].metadata == {}

    def test_wiping_a_turn_takes_what_came_from_it_alone(self, store: Store) -> None:
        space = store.use_space("model", DIM, 1)
        a, b = put(store, ANN, an_entry(1), an_entry(2))
        learn(store, ANN, a_fact(50, a), a_fact(51, a, b))
        store.finish(claim(store), space=space.id, vectors=[vector(a_fact(50).id)])
        store.forget(ANN, a, at=NOON)
        assert store.wipe(forgotten_before=NOON + timedelta(days=1)) == 2
        (left,) = store.listed(ANN, tier="fact")
        assert (left.id, left.sources) == (a_fact(51).id, (b,))
        with pytest.raises(NotFound):
            store.history(ANN, a_fact(50).id)
        assert store.vectors(ANN, space.id, after=0) == []
        assert {change.id for change in store.changes(ANN, after=0)} == {b, left.id}

    def test_no_call_for_derived_records_crosses_a_scope(self, store: Store) -> None:
        (event,) = put(store, ANN, an_entry(1))
        learn(store, ANN, a_fact(50, event))
        for number, scope in enumerate((BOB, OTHER_ANN), 60):
            assert store.get(scope, [a_fact(50).id]) == []
            assert store.listed(scope, tier="fact", current=False) == []
            for call in (store.forget, store.restore):
                with pytest.raises(NotFound):
                    call(scope, a_fact(50).id, at=NOON)
            with pytest.raises(NotFound):
                store.history(scope, a_fact(50).id)
            learn(store, scope, a_fact(50, content="other"), a_fact(51, event))
            learn(store, scope, a_fact(number, supersedes=(a_fact(50).id,)))
            assert current_facts(store, scope) == [a_fact(number).id]
        (record,) = store.listed(ANN, tier="fact")
        assert (record.content, record.valid_to) == ("Ann drinks tea.", None)
        assert actions(store, record.id) == ["stored"]

    def test_a_turn_is_no_derived_record(self, store: Store) -> None:
        (event,) = put(store, ANN, an_entry(1))
        for wrong in (a_fact(1, event), a_fact(50, event, tier="session")):
            with pytest.raises(ValueError, match=r"turn|session"):
                learn(store, ANN, wrong)
        assert store.get(ANN, [event])[0].content == "I drink tea."


class VersionSuite:
    """What `Records` promises when a record is put again or superseded."""

    def test_the_same_again_is_confirmed_and_its_sources_add_up(self, store: Store) -> None:
        a, b = put(store, ANN, an_entry(1), an_entry(2))
        learn(store, ANN, a_fact(50, a))
        jobs = len(store.jobs())
        learn(store, ANN, a_fact(50, b, valid_from=NOON + timedelta(days=1)))
        (record,) = store.listed(ANN, tier="fact")
        assert (record.sources, record.valid_from) == ((a, b), NOON)
        assert actions(store, record.id) == ["stored", "confirmed"]
        assert len(store.jobs()) == jobs
        store.forget(ANN, a, at=NOON)
        assert current_facts(store) == [record.id]

    def test_another_confidence_is_a_change_of_the_same_text(self, store: Store) -> None:
        space = store.use_space("model", DIM, 1)
        (event,) = put(store, ANN, an_entry(1))
        learn(store, ANN, a_fact(50, event))
        store.finish(claim(store), space=space.id, vectors=[vector(a_fact(50).id)])
        head = store.head(ANN)
        learn(store, ANN, a_fact(50, event, confidence=0.3, data={"seen": 2}))
        (record,) = store.listed(ANN, tier="fact")
        assert (record.confidence, record.data) == (0.3, {"seen": 2})
        assert actions(store, record.id) == ["stored", "changed"]
        assert store.head(ANN).change > head.change

    def test_another_text_is_a_change_that_is_embedded_anew(self, store: Store) -> None:
        space = store.use_space("model", DIM, 1)
        (event,) = put(store, ANN, an_entry(1))
        learn(store, ANN, a_fact(50, event))
        jobs = claim(store)
        store.finish(jobs, space=space.id, vectors=[vector(event), vector(a_fact(50).id)])
        head = store.head(ANN)
        learn(store, ANN, a_fact(50, event, content="Ann drinks maté."), at=NOON)
        assert store.get(ANN, [a_fact(50).id])[0].content == "Ann drinks maté."
        assert [v.record for v in store.vectors(ANN, space.id, after=0)] == [event]
        assert [job.subject for job in store.jobs()] == [a_fact(50).id]
        assert store.head(ANN).epoch > head.epoch, "an index must not keep the old words"
        contents = [version.content for version in store.history(ANN, a_fact(50).id)]
        assert contents == [None, "Ann drinks maté."]

    def test_whoever_embeds_the_old_text_does_not_finish_the_new(self, store: Store) -> None:
        space = store.use_space("model", DIM, 1)
        learn(store, ANN, a_fact(50))
        old = claim(store)
        learn(store, ANN, a_fact(50, content="Ann drinks maté."))
        new = claim(store)
        assert store.finish(old, space=space.id, vectors=[vector(a_fact(50).id)]) == 0
        assert store.vectors(ANN, space.id, after=0) == []
        assert store.finish(new, space=space.id, vectors=[vector(a_fact(50).id)]) == 1

    def test_what_is_superseded_ends_with_the_beginning_of_the_new(self, store: Store) -> None:
        (old_turn, turn) = put(store, ANN, an_entry(1), an_entry(2))
        learn(store, ANN, a_fact(50, old_turn))
        began, learned = NOON + timedelta(days=1), NOON + timedelta(days=2)
        new = a_fact(51, turn, valid_from=began, supersedes=(a_fact(50).id, "f" * 32, "no id"))
        learn(store, ANN, new, at=learned)
        (old,) = store.get(ANN, [a_fact(50).id])
        assert (old.valid_to, old.known_to) == (began, learned)
        assert current_facts(store) == [new.id]
        assert len(store.listed(ANN, tier="fact", current=False)) == 2
        versions = store.history(ANN, old.id)
        assert [(version.action, version.at) for version in versions] == [
            ("stored", NOON),
            ("superseded", learned),
        ]
        third = a_fact(52, turn, valid_from=NOON, supersedes=(old.id,))
        learn(store, ANN, third, at=learned + timedelta(days=1))
        assert store.get(ANN, [old.id])[0].valid_to == began, "it ends once"

    def test_a_turn_can_supersede_what_was_said_before(self, store: Store) -> None:
        put(store, ANN, replace(an_entry(1), derived=(a_fact(50, an_entry(1).id),)))
        new = a_fact(51, an_entry(2).id, supersedes=(a_fact(50).id, an_entry(1).id))
        put(store, ANN, replace(an_entry(2), derived=(new,)))
        assert current_facts(store) == [new.id]
        changes = {change.id: change for change in store.changes(ANN, after=0)}
        assert changes[an_entry(1).id].known_until_us < FOREVER_US

    def test_an_ended_record_that_is_put_again_holds_again(self, store: Store) -> None:
        learn(store, ANN, a_fact(50))
        learn(store, ANN, a_fact(51, supersedes=(a_fact(50).id,)))
        learn(store, ANN, a_fact(50))
        assert len(current_facts(store)) == 2


class FeedSuite:
    """What `Feed` promises."""

    def test_an_unknown_owner_is_empty(self, store: Store) -> None:
        assert store.head(ANN) == Head(0, 0)
        assert store.changes(ANN, after=0) == []
        assert store.vectors(ANN, 1, after=0) == []

    def test_changes_come_oldest_first_and_only_what_is_new(self, store: Store) -> None:
        a, b = put(store, ANN, an_entry(2), an_entry(1))
        first = store.changes(ANN, after=0)
        assert [change.id for change in first] == [a, b]
        (c,) = put(store, ANN, an_entry(3))
        store.forget(ANN, a, at=NOON)
        more = store.changes(ANN, after=first[-1].change)
        assert [(change.id, change.forgotten) for change in more] == [(c, False), (a, True)]
        assert store.head(ANN).change == more[-1].change
        assert store.changes(ANN, after=more[-1].change) == []

    def test_a_change_tells_what_an_index_needs(self, store: Store) -> None:
        entry = an_entry(1, "green tea tea", name="Ann", at=NOON - timedelta(days=400))
        store.append(
            replace(ANN, agent="a", session="s"), [entry], known_at=NOON, steps=[], key=None
        )
        (change,) = store.changes(ANN, after=0)
        assert (change.terms, change.length) == (entry.terms, entry.length)
        assert (change.role, change.name, change.agent, change.session) == ("user", "Ann", "a", "s")
        assert change.known_us - change.at_us == 400 * 86_400_000_000
        assert (change.kind, change.order) == ("turn", 1)

    def test_a_derived_record_is_a_change_like_any_other(self, store: Store) -> None:
        scope = replace(ANN, agent="a", session="s")
        (event,) = store.append(scope, [an_entry(1)], known_at=NOON, steps=[]).events
        until = NOON + timedelta(days=9)
        fact = a_fact(50, event, name="Ann", valid_to=until)
        learn(store, scope, fact, at=NOON + timedelta(days=1))
        turn, change = store.changes(ANN, after=0)
        assert (turn.tier, turn.confidence, turn.source) == ("session", 1.0, None)
        assert (turn.until_us, turn.known_until_us) == (FOREVER_US, FOREVER_US)
        assert (change.tier, change.kind, change.source) == ("fact", "fact", event)
        assert (change.terms, change.length) == (fact.terms, fact.length)
        assert (change.role, change.name, change.agent, change.session) == ("user", "Ann", "a", "s")
        assert (change.order, change.confidence) == (turn.order, 0.8)
        assert change.until_us - change.at_us == 9 * 86_400_000_000
        assert change.known_us - turn.known_us == 86_400_000_000
        learn(store, ANN, a_fact(51, supersedes=(fact.id,)), at=until)
        more = store.changes(ANN, after=change.change)
        assert [(each.id, each.source) for each in more] == [
            (a_fact(51).id, None),
            (fact.id, event),
        ]
        assert (more[1].until_us, more[1].known_until_us) == (change.at_us, change.until_us)

    def test_one_owners_changes_do_not_move_anothers_head(self, store: Store) -> None:
        put(store, ANN, an_entry(1))
        head = store.head(ANN)
        put(store, BOB, an_entry(2))
        put(store, OTHER_ANN, an_entry(3))
        assert store.head(ANN) == head
        assert [int(change.id, 16) for change in store.changes(ANN, after=0)] == [1]

    def test_vectors_are_found_by_owner_space_and_digest(self, store: Store) -> None:
        space = store.use_space("model", DIM, 1)
        (a,) = put(store, ANN, an_entry(1))
        (b,) = put(store, BOB, an_entry(2))
        store.finish(claim(store), space=space.id, vectors=[vector(a), vector(a, 1), vector(b)])
        mine = store.vectors(ANN, space.id, after=0)
        assert [(v.record, v.passage) for v in mine] == [(a, 0), (a, 1)]
        assert mine[0].data == vector(a).data
        assert store.vectors(ANN, space.id, after=mine[-1].change) == []
        assert store.vectors(ANN, space.id + 1, after=0) == []
        digests = [vector(a).digest, vector(b).digest, b"unknown"]
        assert store.known_vectors(ANN, space.id, digests) == {vector(a).digest: vector(a).data}

    def test_the_first_space_is_active_and_the_same_call_gives_it_again(self, store: Store) -> None:
        space = store.use_space("model", DIM, 1)
        assert space.state == "active"
        assert store.use_space("model", DIM, 1) == space
        assert store.spaces() == [space]

    def test_a_new_model_is_built_beside_the_old_one(self, store: Store) -> None:
        old = store.use_space("old", DIM, 1)
        (event,) = put(store, ANN, an_entry(1))
        store.finish(claim(store), space=old.id, vectors=[vector(event)])
        new = store.use_space("new", 2 * DIM, 1)
        assert new.state == "building"
        assert not store.promote(new.id)
        assert [job.step for job in store.jobs()] == [f"embed:{new.id}"]
        jobs = store.claim([f"embed:{new.id}"], limit=9, now=NOON, lease_s=60, max_attempts=3)
        store.finish(jobs, space=new.id, vectors=[vector(event)])
        assert store.promote(new.id)
        assert {space.model: space.state for space in store.spaces()} == {
            "old": "retired",
            "new": "active",
        }
        assert store.vectors(ANN, old.id, after=0) == []
        assert len(store.vectors(ANN, new.id, after=0)) == 1


class QueueSuite:
    """What `Queue` promises."""

    def test_a_claim_counts_the_attempt_and_leases_the_job(self, store: Store) -> None:
        (event,) = put(store, ANN, an_entry(1))
        (job,) = claim(store)
        assert (job.subject, job.scope, job.attempts, job.state) == (event, ANN, 1, "running")
        assert claim(store) == []
        assert store.status(ANN, event).state == "processing"

    def test_jobs_are_claimed_oldest_first_and_only_those_asked_for(self, store: Store) -> None:
        a, b, c = put(store, ANN, *(an_entry(i) for i in (3, 2, 1)))
        assert store.claim(["other:1"], limit=9, now=NOON, lease_s=1, max_attempts=3) == []
        assert [job.subject for job in claim(store, limit=2)] == [a, b]
        assert [job.subject for job in claim(store)] == [c]

    def test_a_job_is_not_due_before_its_time_unless_backoff_is_ignored(self, store: Store) -> None:
        put(store, ANN, an_entry(1))
        (job,) = claim(store)
        store.fail(job, error="down", due=NOON + timedelta(minutes=5), transient=True)
        assert claim(store, now=NOON + timedelta(minutes=4)) == []
        (again,) = store.claim(
            [EMBED], limit=1, now=NOON, lease_s=60, max_attempts=3, ignore_backoff=True
        )
        assert again.attempts == 2

    def test_a_lease_that_ran_out_hands_the_job_over(self, store: Store) -> None:
        put(store, ANN, an_entry(1))
        (lost,) = claim(store)
        (taken,) = claim(store, now=NOON + timedelta(seconds=61))
        assert (taken.id, taken.attempts) == (lost.id, 2)
        assert store.finish([lost], space=1, vectors=[]) == 0
        store.release([lost])
        store.fail(lost, error="late", due=None)
        assert store.counts().running == 1

    def test_attempts_used_up_without_an_answer_make_a_dead_letter(self, store: Store) -> None:
        (event,) = put(store, ANN, an_entry(1))
        for minute in (0, 2, 4):
            assert len(claim(store, now=NOON + timedelta(minutes=minute))) == 1
        assert claim(store, now=NOON + timedelta(minutes=6)) == []
        assert store.counts().dead == 1
        status = store.status(ANN, event)
        assert status.state == "dead"
        assert "died" in (status.error or "")

    def test_a_finished_job_is_gone_and_its_event_done(self, store: Store) -> None:
        space = store.use_space("model", DIM, 1)
        (event,) = put(store, ANN, an_entry(1))
        assert store.status(ANN, event).state == "stored"
        assert store.finish(claim(store), space=space.id, vectors=[vector(event)]) == 1
        assert store.status(ANN, event).state == "done"
        assert store.jobs() == []

    def test_finishing_again_changes_nothing(self, store: Store) -> None:
        space = store.use_space("model", DIM, 1)
        (event,) = put(store, ANN, an_entry(1))
        jobs = claim(store)
        store.finish(jobs, space=space.id, vectors=[vector(event)])
        before = store.vectors(ANN, space.id, after=0)
        assert store.finish(jobs, space=space.id, vectors=[vector(event, first=-1.0)]) == 0
        assert store.vectors(ANN, space.id, after=0) == before

    def test_a_released_job_keeps_its_attempts(self, store: Store) -> None:
        put(store, ANN, an_entry(1))
        store.release(claim(store))
        (job,) = claim(store)
        assert job.attempts == 1

    def test_dead_letters_are_listed_with_their_reason_and_replayed(self, store: Store) -> None:
        a, b = put(store, ANN, an_entry(1), an_entry(2))
        first, second = claim(store)
        store.fail(first, error="bad text", due=None)
        store.fail(second, error="no answer", due=None, transient=True)
        dead = store.jobs(states=["dead"])
        assert [(job.subject, job.error, job.transient) for job in dead] == [
            (a, "bad text", False),
            (b, "no answer", True),
        ]
        assert store.replay(transient_only=True) == 1
        assert store.replay([first.id]) == 1
        assert store.replay() == 0
        assert [job.attempts for job in claim(store)] == [1, 1]

    def test_a_failed_try_shows_until_the_next(self, store: Store) -> None:
        (event,) = put(store, ANN, an_entry(1))
        (job,) = claim(store)
        store.fail(job, error="no answer", due=NOON, transient=True)
        status = store.status(ANN, event)
        assert (status.state, status.pending, status.error) == ("failed", ("embed",), "no answer")

    def test_a_worker_reads_forgotten_events_too(self, store: Store) -> None:
        (event,) = put(store, ANN, an_entry(1))
        store.forget(ANN, event, at=NOON)
        (job,) = claim(store)
        assert store.subjects([job])[job.id].content == "I drink tea."

    def test_a_worker_reads_derived_records(self, store: Store) -> None:
        (event,) = put(store, ANN, an_entry(1))
        learn(store, ANN, a_fact(50, event))
        store.forget(ANN, event, at=NOON)
        turn, fact = claim(store)
        subjects = store.subjects([turn, fact])
        assert isinstance(subjects[turn.id], Event)
        record = subjects[fact.id]
        assert isinstance(record, Record)
        assert (record.id, record.content) == (a_fact(50).id, "Ann drinks tea.")
        assert record.data == a_fact(50).data

    def test_counts_of_one_event_leave_the_others_out(self, store: Store) -> None:
        a, _ = put(store, ANN, an_entry(1), an_entry(2))
        assert store.counts().ready == 2
        assert store.counts(subject=(ANN, a)).ready == 1
        assert store.counts(subject=(BOB, a)).ready == 0

    def test_no_job_is_claimed_twice(self, store: Store) -> None:
        put(store, ANN, *(an_entry(i) for i in range(64)))
        taken: list[int] = []

        def work() -> None:
            while jobs := claim(store, limit=3):
                taken.extend(job.id for job in jobs)

        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(taken) == len(set(taken)) == 64


def a_note(number: int, at: datetime = NOON) -> ContextNote:
    """Note `number`."""
    return ContextNote(f"{number:032x}", at, f"question {number}", b"digest", b"body" * number)


class LedgerSuite:
    """What `Ledger` promises."""

    def test_a_note_is_read_as_it_was_written(self, store: Store) -> None:
        put(store, ANN, an_entry(1))
        note = a_note(0xABCDEF)
        store.note_context(ANN, note)
        found = store.context_note(ANN, note.id)
        assert (found, found.change) == (note, store.head(ANN).change)

    def test_the_end_of_an_id_will_do_if_it_is_the_only_one(self, store: Store) -> None:
        store.note_context(ANN, a_note(0x1ABCDEF))
        store.note_context(ANN, a_note(0x2ABCDEF))
        assert store.context_note(ANN, "1abcdef") == a_note(0x1ABCDEF)
        for end in ("abcdef", "bcdef", "3abcdef", "", "no id", "%", "0" * 33):
            with pytest.raises(NotFound):
                store.context_note(ANN, end)

    def test_notes_come_newest_first(self, store: Store) -> None:
        for hour in (2, 1, 3):
            store.note_context(ANN, a_note(hour, NOON + timedelta(hours=hour)))
        since = NOON + timedelta(hours=2)
        newest = [note.id for note in store.context_notes(ANN, since=since, limit=9)]
        assert newest == [a_note(3).id, a_note(2).id]
        assert [note.id for note in store.context_notes(ANN, since=NOON, limit=1)] == newest[:1]

    def test_old_notes_can_be_dropped(self, store: Store) -> None:
        store.note_context(ANN, a_note(1))
        store.note_context(BOB, a_note(2, NOON + timedelta(days=1)))
        assert store.forget_contexts(NOON) == 0
        assert store.forget_contexts(NOON + timedelta(hours=1)) == 1
        assert store.context_notes(ANN, since=NOON, limit=9) == []
        assert len(store.context_notes(BOB, since=NOON, limit=9)) == 1

    def test_no_note_crosses_a_scope(self, store: Store) -> None:
        store.note_context(ANN, a_note(0xABCDEF))
        for scope in (BOB, OTHER_ANN):
            assert store.context_notes(scope, since=NOON, limit=9) == []
            for end in (a_note(0xABCDEF).id, "abcdef"):
                with pytest.raises(NotFound):
                    store.context_note(scope, end)

    def test_a_note_that_cannot_be_written_is_logged_and_breaks_nothing(
        self, store: Store, caplog: pytest.LogCaptureFixture
    ) -> None:
        store.note_context(ANN, a_note(1))
        store.note_context(ANN, replace(a_note(1), query="the same id again"))
        assert store.context_note(ANN, a_note(1).id) == a_note(1)
        assert a_note(1).id in caplog.text
        put(store, ANN, an_entry(1))
        store.note_context(ANN, a_note(2))
        assert len(store.context_notes(ANN, since=NOON, limit=9)) == 2

    def test_notes_are_not_part_of_a_dump(self, store: Store) -> None:
        store.note_context(ANN, a_note(1))
        assert len(store.context_notes(ANN, since=NOON, limit=9)) == 1
        assert list(store.dump()) == []


class KeySuite:
    """What `Keys` promises."""

    def test_a_key_is_found_by_its_digest_alone(self, store: Store) -> None:
        key = ApiKey("k1", "home", None, "write", NOON, NOON + timedelta(days=1), None, "laptop")
        store.add_key(key, b"d" * 32)
        assert store.find_key(b"d" * 32) == key
        assert store.find_key(b"e" * 32) is None
        assert store.api_keys() == [key]

    def test_a_revoked_key_says_so(self, store: Store) -> None:
        store.add_key(ApiKey("k1", "home", "ann", "read", NOON), b"d" * 32)
        assert store.revoke_key("k1", at=NOON)
        assert not store.revoke_key("k1", at=NOON)
        assert not store.revoke_key("k2", at=NOON)
        found = store.find_key(b"d" * 32)
        assert found is not None
        assert found.revoked_at == NOON


class UpkeepSuite:
    """What `Upkeep` promises."""

    def test_a_healthy_store_passes_every_check(self, store: Store) -> None:
        fill(store)
        assert [finding for finding in store.check(index_row) if not finding.ok] == []

    def test_a_rebuild_of_a_healthy_store_changes_nothing(self, store: Store) -> None:
        fill(store)
        before = list(store.dump())
        assert store.rebuild(index_row, steps=[EMBED]) == 0
        assert list(store.dump()) == before

    def test_another_recipe_makes_index_rows_anew_once(self, store: Store) -> None:
        fill(store)
        assert store.use_terms(1, index_row) == 0
        assert store.use_terms(2, lambda each: Made(*packed([each.content]), "turn")) == 7
        assert store.use_terms(2, index_row) == 0
        changed = {int(change.id, 16): change for change in store.changes(ANN, after=0)}
        assert changed[1].terms == packed(["I drink tea."])[0]

    def test_a_backup_holds_everything_and_overwrites_nothing(
        self, store: Store, tmp_path: Path
    ) -> None:
        fill(store)
        target = tmp_path / "backup"
        store.backup(target)
        assert target.stat().st_size > 0
        with pytest.raises(Exception, match="exists"):
            store.backup(target)

    def test_what_is_dumped_can_be_loaded_again_without_effect(self, store: Store) -> None:
        fill(store)
        rows = list(store.dump())
        assert {type(row).__name__ for row in rows} == {
            "DumpedEvent",
            "DumpedRecord",
            "DumpedAct",
            "DumpedKey",
            "DumpedVectors",
        }
        assert store.load(rows, index_row, steps=[EMBED]) == [False] * len(rows)
        assert list(store.dump()) == rows

    def test_a_dump_without_vectors_has_none(self, store: Store) -> None:
        fill(store)
        rows = list(store.dump(vectors=False))
        assert not any(isinstance(row, DumpedVectors) for row in rows)
        assert any(isinstance(row, DumpedEvent) for row in rows)

    def test_stats_count_what_is_there(self, store: Store) -> None:
        fill(store)
        stats = store.stats()
        assert (stats["owners"], stats["events"], stats["forgotten"]) == (3, 5, 1)
        assert (stats["records"], stats["vectors"], stats["dead"]) == (2, 3, 0)
        assert stats["ready"] == 5

    def test_a_rebuild_brings_back_derived_records_that_are_missing(self, store: Store) -> None:
        store.use_space("model", DIM, 1)
        (event,) = put(store, ANN, an_entry(1))

        def derive(subject: Event | Record) -> Made:
            facts = (a_fact(50, event),) if isinstance(subject, Event) else ()
            return index_row(subject)._replace(derived=facts)

        (missing,) = [each for each in store.check(derive) if not each.ok]
        assert (missing.check, missing.repairable) == ("derived", True)
        assert store.rebuild(derive, steps=[EMBED]) == 1
        assert current_facts(store) == [a_fact(50).id]
        assert [each for each in store.check(derive) if not each.ok] == []
        assert store.rebuild(derive, steps=[EMBED]) == 0

    def test_what_was_forgotten_and_wiped_is_not_derived_again(self, store: Store) -> None:
        (event,) = put(store, ANN, replace(an_entry(1), derived=(a_fact(50, an_entry(1).id),)))
        store.forget(ANN, a_fact(50).id, at=NOON)
        assert store.wipe(forgotten_before=NOON + timedelta(days=1)) == 1

        def derive(subject: Event | Record) -> Made:
            facts = (a_fact(50, event),) if isinstance(subject, Event) else ()
            return index_row(subject)._replace(derived=facts)

        assert [each for each in store.check(derive) if not each.ok] == []
        assert store.rebuild(derive, steps=[EMBED]) == 0
        assert store.use_terms(9, derive) == 0
        assert store.listed(ANN, tier="fact", current=False) == []

    def test_what_an_event_gives_is_loaded_with_it(self, store: Store) -> None:
        event = Event(an_entry(1).id, 0, "user", "I drink tea.", NOON, NOON, "user", agent="a")

        def derive(subject: Event | Record) -> Made:
            facts = (a_fact(50, event.id),) if isinstance(subject, Event) else ()
            return index_row(subject)._replace(derived=facts)

        scope = replace(ANN, agent="a")
        rows = [DumpedEvent(scope, event, None), DumpedEvent(scope, event, None)]
        assert store.load(rows, derive, steps=[EMBED]) == [True, False]
        (fact,) = store.listed(ANN, tier="fact")
        assert (fact.sources, fact.agent, fact.known_from) == ((event.id,), "a", NOON)
        assert [each for each in store.check(derive) if not each.ok] == []

    def test_a_dumped_record_without_its_event_is_not_loaded(self, store: Store) -> None:
        (event,) = put(store, ANN, an_entry(1))
        learn(store, ANN, a_fact(50, event))
        (row,) = [row for row in store.dump() if isinstance(row, DumpedRecord)]
        elsewhere = replace(row, scope=BOB)
        assert store.load([elsewhere, row], index_row, steps=[EMBED]) == [False, False]
        assert store.listed(BOB, tier="fact") == []


class StoreSuite(
    LogSuite,
    RecordSuite,
    DerivedSuite,
    VersionSuite,
    FeedSuite,
    QueueSuite,
    LedgerSuite,
    KeySuite,
    UpkeepSuite,
):
    """The whole contract."""


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
    store.forget(ANN, events[1], at=NOON)
    put(store, BOB, an_entry(3))
    put(store, OTHER_ANN, an_entry(4))
    put(store, ANN, an_entry(5))
    return events
