"""The contract of a store: what `Feed` and `Queue` promise."""

from __future__ import annotations

import threading
from contextlib import suppress
from dataclasses import replace
from datetime import timedelta

import pytest

from holdfast.errors import Overtaken
from holdfast.records.entries import status_of
from holdfast.store.protocols import (
    FOREVER_US,
    KEPT_SKETCHES,
    Head,
    KeptIndex,
    Store,
    spans,
)
from holdfast.testing.store_builders import (
    ANN,
    BOB,
    DIM,
    EMBED,
    NOON,
    OTHER_ANN,
    a_fact,
    an_entry,
    claim,
    in_threads,
    learn,
    put,
    subjects,
    vector,
)


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
        store.forget(ANN, [a], at=NOON)
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
        assert (change.kind, change.order, change.origin) == ("turn", 1, "user")

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
        (known,) = store.vectors(ANN, space.id, digests=digests)
        assert (known.digest, known.data) == (vector(a).digest, vector(a).data)

    def test_changes_can_be_read_span_by_span(self, store: Store) -> None:
        put(store, ANN, *map(an_entry, range(1, 8)))
        learn(store, ANN, a_fact(50), a_fact(51))
        every = store.changes(ANN, after=0)
        for width in (1, 3, 100):
            cuts = spans(0, store.head(ANN).change, width)
            read = [store.changes(ANN, after=begin, until=end) for begin, end in cuts]
            assert [each for some in read for each in some] == every

    def test_vectors_come_one_after_another(self, store: Store) -> None:
        space = store.use_space("model", DIM, 1)
        put(store, ANN, *map(an_entry, range(1, 8)))
        (b,) = put(store, BOB, an_entry(9))
        jobs = claim(store)
        ids = [job.subject for job in jobs]
        made = [vector(id, passage) for id in ids for passage in (0, 1)]
        torn = vector(ids[0], 2)._replace(data=b"1234")
        store.finish(jobs, space=space.id, vectors=[*made, torn])
        end = store.head(ANN).change
        mine = [each for each in store.vectors(ANN, space.id) if each.passage < 2]
        assert len(mine) == 14
        for after, until in ((0, end), (mine[3].change, mine[8].change), (end, end)):
            rows = list(store.vector_rows(ANN, space.id, after=after, until=until))
            wanted = [each for each in mine if after < each.change <= until]
            assert b"".join(each.records for each in rows).hex() == "".join(
                each.record for each in wanted
            )
            assert b"".join(each.data for each in rows) == b"".join(each.data for each in wanted)
            assert rows[-1].until == until
        assert b not in {each.record for each in mine}

    def test_what_an_index_kept_is_there_until_something_is_removed(self, store: Store) -> None:
        assert store.kept_index(ANN) is None
        assert not store.keep_index(ANN, store.head(ANN), [b"of nobody"])
        (turn,) = put(store, ANN, an_entry(1))
        put(store, BOB, an_entry(2))
        head = store.head(ANN)
        assert store.keep_index(ANN, head, [b"", b"\0", b"two"])
        assert store.kept_index(ANN) == KeptIndex(head.change, [b"", b"\0", b"two"])
        assert (store.kept_index(BOB), store.kept_index(OTHER_ANN)) == (None, None)
        assert not store.keep_index(ANN, head, [b"no newer"])
        put(store, ANN, an_entry(3))
        store.forget(ANN, [turn], at=NOON)
        assert store.kept_index(ANN) == KeptIndex(head.change, [b"", b"\0", b"two"])
        newer = store.head(ANN)
        assert not store.keep_index(ANN, Head(newer.epoch, newer.change + 1), [b"not yet"])
        assert not store.keep_index(ANN, Head(newer.epoch + 1, newer.change), [b"elsewhere"])
        assert store.keep_index(ANN, newer, [b"one"])
        assert store.kept_index(ANN) == KeptIndex(newer.change, [b"one"])
        store.wipe(forgotten_before=NOON + timedelta(days=1))
        assert store.kept_index(ANN) is None
        assert not store.keep_index(ANN, newer, [b"one"]), "it may hold what was removed"
        assert store.keep_index(ANN, store.head(ANN), [b"new"])

    def test_sketches_are_kept_beside_the_feed(self, store: Store) -> None:
        learn(store, ANN, a_fact(50, content="tea"))
        head = store.head(ANN)
        many = [bytes([number]) for number in range(130)]
        for _ in range(2):
            assert store.keep_index(ANN, head, [b"feed"])
            assert store.keep_index(ANN, head, many, what=KEPT_SKETCHES)
            assert store.kept_index(ANN) == KeptIndex(head.change, [b"feed"])
            assert store.kept_index(ANN, what=KEPT_SKETCHES) == KeptIndex(head.change, many)
            assert not store.keep_index(ANN, head, [b"no newer"], what=KEPT_SKETCHES)
            put(store, ANN, an_entry(head.change))
            head, many = store.head(ANN), many[:3]
        learn(store, ANN, a_fact(50, content="coffee"))
        assert store.kept_index(ANN, what=KEPT_SKETCHES) is None, "they hold the words of before"
        assert store.kept_index(ANN) is not None
        assert store.keep_index(ANN, store.head(ANN), [b"new"], what=KEPT_SKETCHES)
        store.forget(ANN, [a_fact(50).id], at=NOON)
        assert store.kept_index(ANN, what=KEPT_SKETCHES) is not None
        store.wipe(forgotten_before=NOON + timedelta(days=1))
        assert store.kept_index(ANN, what=KEPT_SKETCHES) is None

    def test_what_an_index_kept_is_still_good_when_a_text_changes(self, store: Store) -> None:
        learn(store, ANN, a_fact(50, content="tea"))
        head = store.head(ANN)
        assert store.keep_index(ANN, head, [b"kept"])
        learn(store, ANN, a_fact(50, content="coffee"))
        assert store.head(ANN).epoch > head.epoch
        assert store.kept_index(ANN) == KeptIndex(head.change, [b"kept"])
        assert [each.id for each in store.changes(ANN, after=head.change)] == [a_fact(50).id]

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

    def test_what_is_to_stay_as_it_was_is_changed_by_one(self, store: Store) -> None:
        put(store, ANN, an_entry(1), an_entry(2))
        first, second = (change.id for change in store.changes(ANN, after=0))
        head = store.head(ANN)
        put(store, BOB, an_entry(3))  # Of somebody else.
        with store.unless_changed(ANN, head):
            assert store.forget(ANN, ["0" * 32], at=NOON) == []  # Nothing was done by this.
            assert store.forget(ANN, [first], at=NOON) == [first]
            assert store.forget(ANN, [second], at=NOON) == [second], "the first has changed it"
        with pytest.raises(Overtaken), store.unless_changed(ANN, head):
            store.forget(ANN, [first], at=NOON, undo=True)
        assert store.get(ANN, [first]) == []
        # Outside of the block nothing is compared.
        assert store.forget(ANN, [first], at=NOON, undo=True) == [first]

    def test_of_many_who_change_what_they_saw_one_does(self, store: Store) -> None:
        put(store, ANN, *(an_entry(number) for number in range(8)))
        ids = iter([change.id for change in store.changes(ANN, after=0)])
        head, done, start = store.head(ANN), list[str](), threading.Barrier(8)

        def forget() -> None:
            id = next(ids)
            start.wait()
            with suppress(Overtaken), store.unless_changed(ANN, head):
                done.extend(store.forget(ANN, [id], at=NOON))

        in_threads(forget, count=8)
        assert len(done) == 1


class QueueSuite:
    """What `Queue` promises."""

    def test_a_claim_counts_the_attempt_and_leases_the_job(self, store: Store) -> None:
        (event,) = put(store, ANN, an_entry(1))
        (job,) = claim(store)
        assert (job.subject, job.scope, job.attempts, job.state) == (event, ANN, 1, "running")
        assert claim(store) == []
        assert status_of(store, ANN, event).state == "processing"

    def test_owners_take_turns_however_much_one_of_them_waits_for(self, store: Store) -> None:
        put(store, ANN, *(an_entry(i) for i in range(100)))
        put(store, BOB, an_entry(200), an_entry(201))
        put(store, OTHER_ANN, an_entry(300))
        first, second = (subjects(claim(store, limit=4)) for _ in range(2))
        assert {0, 200, 300} < set(first), "of each one, of one of them two"
        assert sorted(first + second) == [0, 1, 2, 3, 4, 200, 201, 300]
        put(store, BOB, an_entry(202))
        assert sorted(subjects(claim(store, limit=2))) == [5, 202]

    def test_more_owners_than_a_claim_takes_are_all_served_in_turn(self, store: Store) -> None:
        owners = [replace(ANN, user=f"u{number}") for number in range(7)]
        for number, owner in enumerate(owners):
            put(store, owner, *(an_entry(100 * number + i) for i in range(3)))
        rounds = [subjects(claim(store, limit=2)) for _ in range(11)]
        whose = [number // 100 for jobs in rounds for number in jobs]
        assert sorted(whose[:7]) == [*range(7)]
        assert whose == whose[:7] * 3

    def test_an_owner_whose_jobs_are_not_due_is_passed_over(self, store: Store) -> None:
        put(store, ANN, an_entry(1))
        store.release(claim(store), due=NOON + timedelta(hours=1))
        put(store, BOB, an_entry(2))
        assert subjects(claim(store, limit=1)) == [2]
        assert claim(store, limit=1) == []

    def test_jobs_are_claimed_oldest_first_and_only_those_asked_for(self, store: Store) -> None:
        a, b, c = put(store, ANN, *(an_entry(i) for i in (3, 2, 1)))
        assert store.claim(["other:1"], limit=9, now=NOON, lease_s=1, max_attempts=3) == []
        assert [job.subject for job in claim(store, limit=2)] == [a, b]
        assert [job.subject for job in claim(store)] == [c]

    def test_a_job_is_not_due_before_its_time_unless_backoff_is_ignored(self, store: Store) -> None:
        put(store, ANN, an_entry(1))
        (job,) = claim(store)
        store.release([job], error="down", due=NOON + timedelta(minutes=5), transient=True)
        assert claim(store, now=NOON + timedelta(minutes=4)) == []
        (again,) = store.claim(
            [EMBED], limit=1, now=NOON, lease_s=60, max_attempts=3, ignore_backoff=True
        )
        assert again.attempts == 2

    def test_a_clock_that_ran_ahead_and_came_back_blocks_nothing(self, store: Store) -> None:
        ahead = NOON + timedelta(days=3650)
        for number, at in enumerate((ahead, NOON, ahead)):
            store.append(ANN, [an_entry(number)], known_at=at, steps=[EMBED])
        (taken,) = claim(store, now=ahead, limit=1)
        assert int(taken.subject, 16) == 1
        (again,) = claim(store)
        assert (again.id, again.attempts) == (taken.id, 2), "a lease of that time is no lease"
        assert [int(job.subject, 16) for job in claim(store)] == [0, 2]
        assert claim(store) == []

    def test_what_waits_for_tomorrow_or_failed_is_left_to_wait(self, store: Store) -> None:
        put(store, ANN, an_entry(1), an_entry(2))
        first, second = claim(store)
        store.release([first], due=NOON + timedelta(days=1))
        store.release([second], error="down", due=NOON + timedelta(days=9), transient=True)
        assert claim(store) == []
        assert [job.id for job in claim(store, now=NOON + timedelta(days=1))] == [first.id]

    def test_a_lease_that_ran_out_hands_the_job_over(self, store: Store) -> None:
        put(store, ANN, an_entry(1))
        (lost,) = claim(store)
        (taken,) = claim(store, now=NOON + timedelta(seconds=61))
        assert (taken.id, taken.attempts) == (lost.id, 2)
        assert store.finish([lost], space=1, vectors=[]) == 0
        store.release([lost])
        store.release([lost], error="late")
        assert store.counts().running == 1

    def test_attempts_used_up_without_an_answer_make_a_dead_letter(self, store: Store) -> None:
        (event,) = put(store, ANN, an_entry(1))
        for minute in (0, 2, 4):
            assert len(claim(store, now=NOON + timedelta(minutes=minute))) == 1
        assert claim(store, now=NOON + timedelta(minutes=6)) == []
        assert store.counts().dead == 1
        status = status_of(store, ANN, event)
        assert status.state == "dead"
        assert "died" in (status.error or "")

    def test_what_a_dying_worker_held_together_is_held_against_none(self, store: Store) -> None:
        put(store, ANN, *(an_entry(i) for i in range(3)))
        put(store, BOB, an_entry(7))
        assert len(claim(store)) == 4
        put(store, BOB, an_entry(8))
        at = NOON + timedelta(minutes=2)
        rounds = [claim(store, now=at) for _ in range(6)]
        found = [[(int(job.subject, 16), job.attempts) for job in jobs] for jobs in rounds]
        # One by one, and who never was with that worker does not wait for all of them.
        assert found == [[(0, 1)], [(8, 1)], [(1, 1)], [(2, 1)], [(7, 1)], []]
        assert store.counts().dead == 0

    def test_who_dies_again_and_again_buries_none_that_it_held_with_others(
        self, store: Store
    ) -> None:
        put(store, ANN, *(an_entry(i) for i in range(40)))
        for minute in range(0, 80, 2):
            assert claim(store, now=NOON + timedelta(minutes=minute), limit=9)
        assert store.counts().dead == 0

    def test_one_that_is_handed_back_to_be_alone_comes_alone(self, store: Store) -> None:
        put(store, ANN, *(an_entry(i) for i in range(4)))
        store.release(claim(store, limit=2), alone=True)
        rounds = [claim(store) for _ in range(4)]
        assert [subjects(jobs) for jobs in rounds] == [[0], [2, 3], [1], []]
        assert {job.attempts for jobs in rounds for job in jobs} == {1}

    def test_a_model_that_was_away_for_long_buries_none_whose_worker_died(
        self, store: Store
    ) -> None:
        put(store, ANN, an_entry(1))
        for _ in range(9):
            (job,) = claim(store)
            store.release([job], error="away", due=NOON, transient=True)
        assert len(claim(store)) == 1
        (job,) = claim(store, now=NOON + timedelta(minutes=2))
        assert job.attempts == 11

    def test_a_finished_job_is_gone_and_its_event_done(self, store: Store) -> None:
        space = store.use_space("model", DIM, 1)
        (event,) = put(store, ANN, an_entry(1))
        assert status_of(store, ANN, event).state == "stored"
        assert store.finish(claim(store), space=space.id, vectors=[vector(event)]) == 1
        assert status_of(store, ANN, event).state == "done"
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

    def test_who_handed_a_job_back_can_do_nothing_about_it_any_more(self, store: Store) -> None:
        put(store, ANN, an_entry(1))
        late = claim(store)
        store.release(late)
        (taken,) = claim(store)
        assert store.finish(late) == 0
        store.release([late[0]], error="late")
        assert store.counts().running == 1
        assert store.finish([taken]) == 1

    def test_dead_letters_are_listed_with_their_reason_and_replayed(self, store: Store) -> None:
        a, b = put(store, ANN, an_entry(1), an_entry(2))
        first, second = claim(store)
        store.release([first], error="bad text")
        store.release([second], error="no answer", transient=True)
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
        store.release([job], error="no answer", due=NOON, transient=True)
        status = status_of(store, ANN, event)
        assert (status.state, status.pending, status.error) == ("failed", ("embed",), "no answer")

    def test_a_worker_reads_forgotten_events_too(self, store: Store) -> None:
        (event,) = put(store, ANN, an_entry(1))
        store.forget(ANN, [event], at=NOON)
        (job,) = claim(store)
        (turn,) = store.get(ANN, [job.subject], hidden=True)
        assert (turn.content, turn.tier) == ("I drink tea.", "session")

    def test_a_worker_reads_derived_records(self, store: Store) -> None:
        (event,) = put(store, ANN, an_entry(1))
        learn(store, ANN, a_fact(50, event))
        store.forget(ANN, [event], at=NOON)
        turn, fact = claim(store)
        assert store.get(ANN, [turn.subject, fact.subject]) == []
        said, record = store.get(ANN, [turn.subject, fact.subject], hidden=True)
        assert said.tier == "session"
        assert (record.id, record.content) == (a_fact(50).id, "Ann drinks tea.")
        assert record.data == a_fact(50).data

    def test_jobs_of_one_event_leave_the_others_out(self, store: Store) -> None:
        a, _ = put(store, ANN, an_entry(1), an_entry(2))
        assert store.counts().ready == 2
        assert [job.subject for job in store.jobs(scope=ANN, subject=a)] == [a]
        assert store.jobs(scope=BOB, subject=a) == []

    def test_no_job_is_claimed_twice(self, store: Store) -> None:
        put(store, ANN, *(an_entry(i) for i in range(64)))
        taken: list[int] = []

        def work() -> None:
            while jobs := claim(store, limit=3):
                taken.extend(job.id for job in jobs)

        in_threads(work, 4)
        assert len(taken) == len(set(taken)) == 64
