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

import numpy as np
import pytest

from recollect.errors import Conflict, NotFound
from recollect.index.postings import packed
from recollect.store.base import DumpedEvent, DumpedVectors, Entry, Head, KeyUse, Store, Vector
from recollect.text import terms
from recollect.types import ApiKey, Job, Scope
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
        assert store.use_terms(2, lambda event: (*packed([event.content]), "turn")) == 5
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
        assert (stats["vectors"], stats["ready"], stats["dead"]) == (3, 3, 0)


class StoreSuite(LogSuite, RecordSuite, FeedSuite, QueueSuite, KeySuite, UpkeepSuite):
    """The whole contract."""


def fill(store: Store) -> Sequence[str]:
    """Three owners, five events, one forgotten, one key, three vectors, three jobs left."""
    space = store.use_space("model", DIM, 1)
    events = put(store, ANN, an_entry(1), an_entry(2, "green tea"), key=KeyUse("k", b"body"))
    jobs = claim(store)
    vectors = [vector(events[0]), vector(events[0], 1), vector(events[1])]
    store.finish(jobs, space=space.id, vectors=vectors)
    store.forget(ANN, events[1], at=NOON)
    put(store, BOB, an_entry(3))
    put(store, OTHER_ANN, an_entry(4))
    put(store, ANN, an_entry(5))
    return events
