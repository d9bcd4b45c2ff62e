"""The contract of a store: jobs of one conversation are claimed together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import date, timedelta

import pytest

from holdfast.records.entries import index_row, status_of
from holdfast.store.protocols import ALL_KEYS, DumpedEvent, Spent, Store
from holdfast.testing.store_builders import (
    ANN,
    BOB,
    EMBED,
    EXTRACT,
    NOON,
    OTHER_ANN,
    a_fact,
    an_entry,
    claim,
    claim_group,
    in_threads,
    say,
    subjects,
)
from holdfast.types import Job, Scope

S1 = replace(ANN, session="s1")
#: Nobody but the first and the last speaks of the same.
APART = (
    S1,
    replace(ANN, session="s2"),
    replace(S1, agent="a"),
    replace(S1, agent="b"),
    ANN,
    replace(ANN, agent="a"),
    replace(BOB, session="s1"),
    replace(OTHER_ANN, session="s1"),
)


def later(seconds: float, scope: Scope, store: Store, *numbers: int) -> None:
    """Say entries so many seconds after noon."""
    at = NOON + timedelta(seconds=seconds)
    say(store, scope, *(an_entry(number, at=at) for number in numbers), at=at)


def claim_turns(store: Store, turns: Sequence[str]) -> list[Job]:
    """Ann's jobs of these turns, that somebody waits for."""
    return store.claim([EXTRACT], limit=9, now=NOON, lease_s=60, max_attempts=3, turns=(ANN, turns))


class GroupSuite:
    """What `Queue.claim_group` promises."""

    def test_a_conversation_is_claimed_as_it_was_said(self, store: Store) -> None:
        say(store, S1, an_entry(1, at=NOON + timedelta(days=1)), an_entry(9), an_entry(3))
        say(store, S1, an_entry(2))
        jobs = claim_group(store)
        assert subjects(jobs) == [9, 3, 2, 1]
        assert {(job.step, job.attempts, job.state) for job in jobs} == {(EXTRACT, 1, "running")}
        assert {job.scope for job in jobs} == {S1}
        assert claim_group(store) == []
        turns = store.events(ANN, [job.subject for job in jobs])
        assert [event.content for event in turns] == ["I drink tea."] * 4

    def test_turns_that_somebody_waits_for_are_claimed_at_once(self, store: Store) -> None:
        own = say(store, S1, an_entry(2, at=NOON + timedelta(days=1)), an_entry(1))
        say(store, S1, an_entry(3))
        say(store, replace(BOB, session="s1"), an_entry(4))
        wanted = [*own, an_entry(4).id, "no id"]

        def claimed() -> list[Job]:
            return claim_turns(store, wanted)

        jobs = claimed()
        assert subjects(jobs) == [1, 2], "as they were said, and of nobody else"
        assert {(job.step, job.attempts, job.state) for job in jobs} == {(EXTRACT, 1, "running")}
        assert claimed() == []
        assert sorted(subjects(claim_group(store)) for _ in range(2)) == [[3], [4]]
        assert store.learn(ANN, jobs, [a_fact(50, own[1])], known_at=NOON, steps=[EMBED]) == 2

    def test_conversations_are_never_mixed(self, store: Store) -> None:
        for number, scope in enumerate(APART):
            say(store, scope, an_entry(number), an_entry(100 + number))
        claimed = [claim_group(store) for _ in APART]
        assert sorted(map(subjects, claimed)) == [[n, 100 + n] for n in range(len(APART))]
        for jobs in claimed:
            assert {job.scope for job in jobs} == {APART[subjects(jobs)[0]]}
        assert claim_group(store) == []

    def test_what_is_still_going_on_is_waited_for(self, store: Store) -> None:
        later(0, S1, store, 1)
        assert claim_group(store, 9) == []
        later(9, S1, store, 2)
        assert claim_group(store, 18) == []
        assert subjects(claim_group(store, 19)) == [1, 2]

    def test_nothing_waits_too_long(self, store: Store) -> None:
        for number in range(8):
            later(8 * number, S1, store, number)
        assert claim_group(store, 59.9) == []
        assert subjects(claim_group(store, 60)) == list(range(8))

    def test_a_full_group_is_due_at_once_and_the_rest_is_not(self, store: Store) -> None:
        later(0, S1, store, 1, 2)
        later(0, BOB, store, 3, 4, 5, 6)
        assert subjects(claim_group(store, 1, most=3)) == [3, 4, 5]
        assert claim_group(store, 1, most=3) == []
        assert subjects(claim_group(store, 10, most=3)) == [1, 2]
        assert subjects(claim_group(store, 10, most=3)) == [6]

    def test_of_one_owner_what_has_waited_longest_comes_first(self, store: Store) -> None:
        later(5, S1, store, 1)
        later(0, replace(ANN, session="s2"), store, 2)
        assert subjects(claim_group(store, 70)) == [2]
        assert subjects(claim_group(store, 70)) == [1]

    def test_owners_take_turns_however_much_one_of_them_said(self, store: Store) -> None:
        for number in range(5):
            later(
                0, replace(ANN, session=f"s{number}"), store, *range(10 * number, 10 * number + 6)
            )
        later(30, BOB, store, 100)
        later(55, OTHER_ANN, store, 200)
        first = [subjects(claim_group(store, 66, most=3))[0] for _ in range(4)]
        assert sorted(first[:3]) == [0, 100, 200], "of each owner one"
        assert first[3] == 3, "and then the next of who has more"
        later(56, BOB, store, 101)
        again = [claim_group(store, 70, most=3) for _ in range(2)]
        assert sorted(jobs[0].scope.user for jobs in again) == ["ann", "bob"]

    def test_what_failed_waits_for_its_turn_like_the_rest(self, store: Store) -> None:
        later(0, S1, store, *range(8))
        for _ in range(4):
            for job in claim_group(store, 60, most=2):
                store.release([job], error="down", due=NOON + timedelta(seconds=70), transient=True)
        later(60, BOB, store, 100)
        taken = [subjects(claim_group(store, 71, most=2)) for _ in range(3)]
        assert [100] in taken

    def test_whoever_cannot_wait_gets_everything_now(self, store: Store) -> None:
        later(0, S1, store, 1)
        (job,) = claim_group(store, 0, ignore_backoff=True)
        store.release([job], error="down", due=NOON + timedelta(hours=1), transient=True)
        later(0, S1, store, 2)
        assert subjects(claim_group(store, 0, ignore_backoff=True)) == [1, 2]

    def test_what_somebody_waits_for_is_taken_at_once(self, store: Store) -> None:
        say(store, S1, an_entry(1), an_entry(2))
        say(store, replace(BOB, session="s1"), an_entry(3))
        assert claim_group(store, 5) == []
        assert store.hurry(BOB, [an_entry(2).id]) == 0  # Not Bob's.
        assert store.hurry(S1, [an_entry(2).id]) > 0
        assert store.hurry(S1, [an_entry(2).id]) == 0
        # The whole conversation comes with it, and no other one.
        assert subjects(claim_group(store, 5)) == [1, 2]
        assert claim_group(store, 5) == []

    def test_what_failed_is_taken_when_it_is_due_again(self, store: Store) -> None:
        later(0, S1, store, 1, 2)
        for job in claim_group(store, 10):
            store.release([job], error="down", due=NOON + timedelta(seconds=100), transient=True)
        later(80, S1, store, 3)
        assert subjects(claim_group(store, 90)) == [3], "what is not due stays where it is"
        later(95, S1, store, 4)
        assert claim_group(store, 99) == []
        again = claim_group(store, 100)
        assert [(int(job.subject, 16), job.attempts) for job in again] == [(1, 2), (2, 2), (4, 1)]

    def test_a_lost_group_comes_back_one_by_one_and_is_held_against_none(
        self, store: Store
    ) -> None:
        later(0, S1, store, *range(1, 4))
        first = claim_group(store, 60)
        later(61, S1, store, 4)
        assert claim_group(store, 65) == []
        again = [claim_group(store, 121) for _ in range(5)]
        assert [subjects(jobs) for jobs in again] == [[1], [2], [3], [4], []]
        assert {job.attempts for jobs in again for job in jobs} == {1}
        assert store.learn(S1, first, [], known_at=NOON, steps=[]) == 0, "it was taken over"

    def test_a_group_that_is_handed_back_to_be_apart_comes_one_by_one(self, store: Store) -> None:
        say(store, S1, an_entry(1), an_entry(2))
        store.release(claim_group(store), alone=True)
        say(store, S1, an_entry(3))
        assert claim_turns(store, [an_entry(1).id]) == []
        assert [subjects(claim_group(store)) for _ in range(3)] == [[1], [2], [3]]

    def test_attempts_used_up_leave_two_more_for_a_simpler_way(self, store: Store) -> None:
        (event,) = say(store, S1, an_entry(1))
        attempts = [[job.attempts for job in claim_group(store, 100 * n)] for n in range(1, 7)]
        assert attempts == [[1], [2], [3], [4], [5], []]
        dead = store.jobs(states=["dead"])
        assert [(job.subject, job.step) for job in dead] == [(event, EXTRACT)]
        assert "died" in (dead[0].error or "")

    def test_a_model_that_is_away_for_long_makes_no_dead_letter(self, store: Store) -> None:
        say(store, S1, an_entry(1))
        for attempt in range(1, 12):
            (job,) = claim_group(store, 100 * attempt)
            assert job.attempts == attempt
            due = NOON + timedelta(seconds=100 * attempt)
            store.release([job], error="away", due=due, transient=True)

    def test_a_released_group_keeps_its_attempts(self, store: Store) -> None:
        say(store, S1, an_entry(1), an_entry(2))
        store.release(claim_group(store))
        assert [job.attempts for job in claim_group(store)] == [1, 1]

    def test_a_group_can_be_handed_back_for_later(self, store: Store) -> None:
        say(store, S1, an_entry(1), an_entry(2))
        store.release(claim_group(store, 60), due=NOON + timedelta(seconds=500))
        assert claim_group(store, 499) == []
        assert claim_group(store, 509) == [], "what is due is waited for as if said just then"
        assert [job.attempts for job in claim_group(store, 510)] == [1, 1]

    def test_dead_letters_are_replayed_together(self, store: Store) -> None:
        events = say(store, S1, an_entry(2), an_entry(1))
        for job in claim_group(store):
            store.release([job], error="nonsense")
        store.finish(claim(store))
        status = status_of(store, ANN, events[0])
        assert (status.state, status.pending, status.error) == ("dead", (EXTRACT,), "nonsense")
        assert claim_group(store, 1000) == []
        assert store.replay() == 2
        jobs = claim_group(store)
        assert [(int(job.subject, 16), job.attempts) for job in jobs] == [(2, 1), (1, 1)]

    def test_turns_are_queued_again_in_the_order_they_came(self, store: Store) -> None:
        said = say(store, S1, an_entry(2), an_entry(1), an_entry(3))
        store.finish(claim_group(store)[1:])
        say(store, replace(OTHER_ANN, session="s1"), an_entry(4))
        store.forget(S1, [said[2]], at=NOON)
        elsewhere = OTHER_ANN.workspace
        assert store.queue_turns(EXTRACT, now=NOON, workspace="nobody's") == 0
        assert store.queue_turns(EXTRACT, now=NOON, workspace=elsewhere) == 0, "it waits"
        assert store.queue_turns(EXTRACT, now=NOON) == 1, "one is running, one is forgotten"
        assert store.queue_turns(EXTRACT, now=NOON) == 0
        jobs = [job for job in store.jobs(scope=ANN) if job.step == EXTRACT]
        assert [int(job.subject, 16) for job in jobs] == [2, 1]

    def test_a_turn_of_which_something_was_forgotten_is_not_queued_again(
        self, store: Store
    ) -> None:
        first, second = say(store, S1, an_entry(1), an_entry(2))
        store.finish(claim_group(store))
        fact = a_fact(7, sources=(first,))
        store.put(S1, [fact], known_at=NOON, steps=())
        store.forget(S1, [fact.id], at=NOON)
        assert store.queue_turns(EXTRACT, now=NOON) == 1
        jobs = [job for job in store.jobs(scope=ANN) if job.step == EXTRACT]
        assert [job.subject for job in jobs] == [second]

    def test_a_step_is_pending_until_it_is_done(self, store: Store) -> None:
        (event,) = say(store, S1, an_entry(1))
        assert status_of(store, ANN, event).pending == ("embed", EXTRACT)
        store.finish(claim(store))
        assert status_of(store, ANN, event).pending == (EXTRACT,)
        jobs = claim_group(store)
        assert status_of(store, ANN, event).state == "processing"
        assert store.learn(S1, jobs, [], known_at=NOON, steps=[]) == 1
        assert status_of(store, ANN, event).state == "done"

    def test_steps_do_not_stand_in_each_others_way(self, store: Store) -> None:
        events = say(store, S1, an_entry(1), an_entry(2))
        assert [(job.subject, job.step) for job in claim(store)] == [(e, EMBED) for e in events]
        assert [job.subject for job in claim_group(store)] == list(events)
        assert store.claim([EXTRACT], limit=9, now=NOON, lease_s=1, max_attempts=3) == []
        assert store.counts(steps=[EXTRACT]).running == 2

    def test_only_what_was_said_is_there_to_be_understood(self, store: Store) -> None:
        entry = replace(an_entry(1), derived=(a_fact(50, an_entry(1).id),))
        say(store, S1, entry)
        store.put(ANN, [a_fact(51)], known_at=NOON, steps=[EMBED, EXTRACT])
        store.rebuild(index_row, steps=[EMBED, EXTRACT])
        assert [(int(job.subject, 16), job.step) for job in store.jobs()] == [
            (1, EMBED),
            (1, EXTRACT),
            (50, EMBED),
            (51, EMBED),
        ]

    def test_what_is_loaded_is_understood_at_once(self, store: Store) -> None:
        later(0, S1, store, 2, 1)
        rows = [
            replace(row, scope=replace(row.scope, user="bob"))
            for row in store.dump()
            if isinstance(row, DumpedEvent)
        ]
        assert store.load(rows, index_row, steps=[EMBED, EXTRACT]) == [True, True]
        jobs = claim_group(store, 1)
        assert (subjects(jobs), jobs[0].scope) == ([2, 1], replace(BOB, session="s1"))

    def test_no_conversation_is_claimed_twice(self, store: Store) -> None:
        for number in range(16):
            scope = replace(ANN, session=f"s{number % 4}")
            say(store, scope, *(an_entry(100 * number + i) for i in range(4)))
        taken: list[int] = []

        def work() -> None:
            while jobs := claim_group(store, most=3):
                taken.extend(job.id for job in jobs)

        in_threads(work, 4)
        assert len(taken) == len(set(taken)) == 64

    def test_a_clock_that_ran_ahead_and_came_back_stops_no_conversation(self, store: Store) -> None:
        ahead = 3650 * 86_400
        later(ahead, S1, store, 1)
        later(ahead, replace(ANN, session="s2"), store, 3)
        assert subjects(claim_group(store, ahead + 30)) == [1]
        taken = [subjects(claim_group(store, 0)) for _ in range(2)]
        assert sorted(taken) == [[1], [3]], "a lease of that time is no lease"
        assert claim_group(store, 0) == []


class SpendingSuite:
    """What `Spending` promises."""

    def test_charges_add_up_by_owner_and_day(self, store: Store) -> None:
        today, tomorrow = date(2026, 3, 1), date(2026, 3, 2)
        store.charge(ANN, today, calls=1, prompt_tokens=1000, answer_tokens=50, cost=0.25)
        store.charge(replace(ANN, agent="a"), today, calls=2, prompt_tokens=10, cost=0.5)
        store.charge(ANN, tomorrow, calls=7)
        assert store.spent(ANN, today) == Spent(3, 1010, 50, 0.75)
        assert store.spent(ANN, tomorrow) == Spent(calls=7)
        for scope in (BOB, OTHER_ANN):
            assert store.spent(scope, today) == Spent()

    def test_what_was_reserved_is_settled_and_no_sum_falls_below_zero(self, store: Store) -> None:
        today = date(2026, 3, 1)
        store.charge(ANN, today, calls=1, prompt_tokens=1000, answer_tokens=500, cost=1.0)
        store.charge(ANN, today, prompt_tokens=-200, answer_tokens=-900, cost=-0.25)
        assert store.spent(ANN, today) == Spent(1, 800, 0, 0.75)
        store.charge(BOB, today, calls=-1, cost=-1.0)
        assert store.spent(BOB, today) == Spent()

    def test_no_charge_is_lost_between_threads(self, store: Store) -> None:
        def work() -> None:
            for _ in range(25):
                store.charge(ANN, date(2026, 3, 1), calls=1, cost=0.5)

        in_threads(work, 4)
        assert store.spent(ANN, date(2026, 3, 1)) == Spent(calls=100, cost=50.0)

    def test_charges_add_up_by_key_and_day(self, store: Store) -> None:
        today, tomorrow = date(2026, 3, 1), date(2026, 3, 2)
        assert store.spent(ALL_KEYS, today) == Spent()
        store.charge("k1", today, calls=1, prompt_tokens=1000, answer_tokens=50, cost=0.25)
        store.charge("k1", today, prompt_tokens=-200, answer_tokens=-90, cost=0.5)
        store.charge("k11", today, calls=2, prompt_tokens=-5)
        store.charge("k1", tomorrow, calls=7)
        assert store.spent(ALL_KEYS, today) == Spent(3, 800, 0, 0.75)
        assert store.spent("k1", today) == Spent(1, 800, 0, 0.75)
        assert store.spent("k11", today) == Spent(2)
        assert store.spent("k11", tomorrow) == Spent()
        assert store.spent(ANN, today) == Spent(), "a key is nobody's"

    def test_no_charge_to_a_key_is_lost_between_threads(self, store: Store) -> None:
        def work() -> None:
            for _ in range(25):
                store.charge("k1", date(2026, 3, 1), answer_tokens=3)

        in_threads(work, 4)
        assert store.spent("k1", date(2026, 3, 1)) == Spent(answer_tokens=300)

    def test_what_a_key_spent_long_ago_is_forgotten_and_the_rest_is_not(self, store: Store) -> None:
        for day in (date(2026, 1, 1), date(2026, 3, 1), date(2026, 3, 9)):
            store.charge("k1", day, calls=1)
        assert store.spent("k1", date(2026, 1, 1)) == Spent()
        assert store.spent("k1", date(2026, 3, 1)) == Spent(calls=1)

    def test_spending_is_not_part_of_a_dump(self, store: Store) -> None:
        store.charge(ANN, date(2026, 3, 1), calls=1)
        store.charge("k1", date(2026, 3, 1), calls=1)
        assert list(store.dump()) == []

    def test_a_charge_that_is_no_number_changes_nothing(self, store: Store) -> None:
        with pytest.raises(Exception, match=r"(?i)null|constraint|number"):
            store.charge(ANN, date(2026, 3, 1), calls=1, cost=float("nan"))
        assert store.spent(ANN, date(2026, 3, 1)) == Spent()
