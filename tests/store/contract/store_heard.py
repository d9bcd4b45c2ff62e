"""The contract of a store: what was learned from conversations, and what was only heard."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from holdfast.records.entries import index_row, status_of
from holdfast.store.protocols import Change, DumpedRecord, Store
from holdfast.testing.store_builders import (
    ANN,
    BOB,
    DIM,
    EMBED,
    EXTRACT,
    NOON,
    OTHER_ANN,
    a_fact,
    a_name,
    actions,
    an_entry,
    claim,
    claim_group,
    learn,
    put,
    say,
    told,
    vector,
)
from holdfast.types import Job, Record

LATE = NOON + timedelta(days=3)


def ill(store: Store) -> list[str]:
    """What doctor finds."""
    return [finding.check for finding in store.check(index_row) if not finding.ok]


def the(store: Store, number: int) -> Record:
    """Ann's record `number`."""
    return store.get(ANN, [a_fact(number).id])[0]


def change_of(store: Store, number: int) -> Change:
    """The last change of Ann's record `number`."""
    (found,) = [c for c in store.changes(ANN, after=0) if c.id == a_fact(number).id]
    return found


def said(store: Store, *numbers: int) -> tuple[tuple[str, ...], list[Job]]:
    """Entries of one conversation, and their jobs, claimed."""
    events = say(store, ANN, *map(an_entry, numbers))
    return events, claim_group(store)


class LearnSuite:
    """What `Queue.learn` promises, and `Records` of what was seen again."""

    def test_what_is_learned_is_stored_and_its_jobs_are_gone(self, store: Store) -> None:
        events, jobs = said(store, 1, 2)
        scope = replace(ANN, agent="a", session="s")
        facts = [a_fact(50, *events), a_name(51, events[1])]
        assert store.learn(scope, jobs, facts, known_at=LATE, steps=[EMBED, EXTRACT]) == 2
        assert [job.step for job in store.jobs()] == [EMBED, EMBED, EMBED]
        (fact,) = store.listed(ANN, tier="fact")
        assert (fact.sources, fact.agent, fact.session) == (events, "a", "s")
        assert (fact.known_from, fact.seen_at) == (LATE, None)
        assert the(store, 51).data["name"] == "Lisbon"

    def test_nothing_is_stored_for_who_comes_too_late(self, store: Store) -> None:
        _, jobs = said(store, 1)
        again = claim_group(store, 1000)
        assert store.learn(ANN, jobs, [a_fact(50)], known_at=LATE, steps=[]) == 0
        assert store.listed(ANN, tier="fact") == []
        assert store.learn(ANN, again, [a_fact(50)], known_at=LATE, steps=[]) == 1
        assert store.learn(ANN, again, [a_fact(51)], known_at=LATE, steps=[]) == 0
        assert [record.id for record in store.listed(ANN, tier="fact")] == [a_fact(50).id]

    def test_one_job_that_is_still_ours_is_enough(self, store: Store) -> None:
        _, jobs = said(store, 1, 2)
        store.release([jobs[0]], error="odd")
        assert store.learn(ANN, jobs, [a_fact(50)], known_at=LATE, steps=[]) == 1
        assert [job.id for job in store.jobs() if job.step == EXTRACT] == [jobs[0].id]
        assert len(store.listed(ANN, tier="fact")) == 1

    def test_second_best_is_stored_and_the_dead_letter_says_why(self, store: Store) -> None:
        (event,), jobs = said(store, 1)
        store.finish(claim(store))
        name = a_name(51, event)
        assert store.learn(ANN, jobs, [name], known_at=LATE, steps=[], error="nonsense") == 1
        status = status_of(store, ANN, event)
        assert (status.state, status.pending, status.error) == ("dead", (EXTRACT,), "nonsense")
        assert the(store, 51).sources == (event,)
        assert store.replay(transient_only=True) == 0
        assert store.replay() == 1
        (again,) = claim_group(store)
        store.learn(ANN, [again], [], known_at=LATE, steps=[], error="away", transient=True)
        assert store.replay(transient_only=True) == 1

    def test_learning_the_same_again_changes_nothing(self, store: Store) -> None:
        events, jobs = said(store, 1, 2)
        facts = [a_fact(50, *events), a_name(51, *events), a_fact(52, supersedes=(a_fact(50).id,))]
        store.learn(ANN, jobs, facts, known_at=NOON, steps=[EMBED], error="again, please")
        before, head = list(store.dump()), store.head(ANN)
        store.replay()
        assert store.learn(ANN, claim_group(store), facts, known_at=LATE, steps=[EMBED]) == 2
        assert (list(store.dump()), store.head(ANN)) == (before, head)

    def test_what_is_learned_to_be_over_ends(self, store: Store) -> None:
        (event,), jobs = said(store, 1)
        learn(store, ANN, a_fact(50, event))
        over = a_fact(50, event, valid_to=LATE)
        store.learn(ANN, jobs, [over], known_at=LATE, steps=[])
        assert the(store, 50).valid_to == LATE
        assert store.listed(ANN, tier="fact") == []

    def test_another_turn_that_says_so_confirms(self, store: Store) -> None:
        (a,), jobs = said(store, 1)
        store.learn(ANN, jobs, [a_name(50, a)], known_at=NOON, steps=[])
        (b,), jobs = said(store, 2)
        head = store.head(ANN)
        store.learn(ANN, jobs, [a_name(50, a, b)], known_at=LATE, steps=[])
        name = the(store, 50)
        assert (name.sources, name.known_from, name.seen_at) == ((a, b), NOON, LATE)
        assert actions(store, name.id) == ["stored", "confirmed"]
        assert change_of(store, 50).change > head.change, "whoever follows must see it"

    def test_what_is_put_again_was_seen(self, store: Store) -> None:
        learn(store, ANN, a_fact(50), a_fact(51))
        assert the(store, 50).seen_at is None
        head = store.head(ANN)
        learn(store, ANN, a_fact(50), a_fact(51, confidence=0.1), at=LATE)
        assert {(the(store, n).seen_at, the(store, n).known_from) for n in (50, 51)} == {
            (LATE, NOON)
        }
        assert min(change_of(store, n).change for n in (50, 51)) > head.change
        learn(store, ANN, a_fact(50), at=NOON)
        assert the(store, 50).seen_at == LATE, "a clock that runs behind turns nothing back"

    def test_a_bad_record_leaves_everything_as_it_was(self, store: Store) -> None:
        (event,), jobs = said(store, 1)
        with pytest.raises(ValueError, match="turn"):
            store.learn(ANN, jobs, [a_fact(50), a_fact(1)], known_at=LATE, steps=[])
        assert store.listed(ANN, tier="fact") == []
        assert status_of(store, ANN, event).state == "processing"

    def test_no_learning_crosses_a_scope(self, store: Store) -> None:
        (event,), jobs = said(store, 1)
        for scope in (BOB, OTHER_ANN):
            put(store, scope, an_entry(7))
            assert store.learn(scope, jobs, [a_fact(50)], known_at=LATE, steps=[]) == 0
            assert store.listed(scope, tier="fact") == []
        assert store.learn(ANN, jobs, [a_fact(50)], known_at=LATE, steps=[]) == 1
        assert status_of(store, ANN, event).pending == ("embed",)

    def test_what_several_told_is_nobodys_own(self, store: Store) -> None:
        scope = replace(ANN, agent="a", session="s")
        _, jobs = said(store, 1)
        facts = [a_fact(50), a_fact(51, shared=True)]
        store.learn(scope, jobs, facts, known_at=LATE, steps=[])
        assert (the(store, 50).agent, the(store, 50).session) == ("a", "s")
        assert (the(store, 51).agent, the(store, 51).session) == (None, None)

    def test_a_turn_that_was_wiped_meanwhile_teaches_nothing(self, store: Store) -> None:
        (a, b), jobs = said(store, 1, 2)
        store.put(ANN, [a_name(51, b)], known_at=NOON, steps=[])
        store.forget(ANN, [a], at=NOON)
        store.wipe(forgotten_before=LATE)
        facts = [a_fact(50, a), a_name(51, a, name="Lissabon")]
        assert store.learn(ANN, jobs, facts, known_at=LATE, steps=[]) == 1
        assert store.listed(ANN, tier="fact") == []
        assert (the(store, 51).data["name"], the(store, 51).seen_at) == ("Lisbon", None)

    def test_the_forgotten_are_told_apart(self, store: Store) -> None:
        (event, other) = put(store, ANN, an_entry(1), an_entry(2))
        learn(store, ANN, *(a_fact(n, event) for n in (50, 51, 52)), a_fact(53), a_fact(54))
        for number in (51, 52, 53):
            store.forget(ANN, [a_fact(number).id], at=NOON + timedelta(hours=number))
        store.forget(ANN, [a_fact(52).id], at=NOON, undo=True)
        store.forget(ANN, [event], at=NOON)
        store.wipe(forgotten_before=NOON - timedelta(days=1))
        asked = [*(a_fact(n).id for n in (54, 53, 52, 51, 50)), event, other, "f" * 32, "no id"]
        expected = {a_fact(n).id: NOON + timedelta(hours=n) for n in (53, 51)} | {event: NOON}
        assert store.forgotten_times(ANN, asked) == expected
        assert list(store.forgotten_times(ANN, asked)) == [a_fact(53).id, a_fact(51).id, event]
        for scope in (BOB, OTHER_ANN):
            assert store.forgotten_times(scope, asked) == {}

    def test_what_nobody_wants_is_not_learned_again(self, store: Store) -> None:
        (event,), jobs = said(store, 1)
        fact = a_fact(50, event)
        learn(store, ANN, fact)
        store.forget(ANN, [fact.id], at=NOON)
        assert store.wipe(forgotten_before=LATE) == 1
        assert store.forgotten_times(ANN, [fact.id]) == {fact.id: NOON}
        store.learn(ANN, jobs, [fact], known_at=LATE, steps=[])
        assert store.listed(ANN, tier="fact") == []
        learn(store, ANN, fact, at=LATE)
        assert actions(store, fact.id) == ["stored"], "who writes it all the same begins anew"
        assert store.forgotten_times(ANN, [fact.id]) == {}
        store.use_space("model", DIM, 1)
        assert ill(store) == []


class HeardSuite:
    """What a store promises of graph records that were only heard: they are no documents."""

    def test_what_was_heard_is_queued_for_nothing_and_has_no_terms(self, store: Store) -> None:
        store.use_space("model", DIM, 1)
        entry = replace(an_entry(1), derived=(a_name(50, an_entry(1).id),))
        (event,) = say(store, ANN, entry)
        with_terms = replace(told(a_name(51, event)), data=a_name(51).data)
        store.put(ANN, [with_terms], known_at=NOON, steps=[EMBED])
        store.learn(ANN, claim_group(store), [a_name(52)], known_at=NOON, steps=[EMBED])
        store.finish(claim(store), space=1, vectors=[vector(event)])
        assert store.jobs() == []
        for number in (50, 51, 52):
            change = change_of(store, number)
            assert (change.terms, change.length, change.tier) == (b"", 0, "graph")
            assert the(store, number).content == "Lisbon (location)"
        assert ill(store) == []

    def test_nobody_asks_for_the_vectors_of_what_was_heard(self, store: Store) -> None:
        (event,) = put(store, ANN, an_entry(1))
        learn(store, ANN, a_name(50, event), told(a_name(51)))
        space = store.use_space("model", DIM, 1)
        assert [int(job.subject, 16) for job in store.jobs()] == [1, 51]
        vectors = [vector(event), vector(a_name(51).id)]
        store.finish(claim(store), space=space.id, vectors=vectors)
        new = store.use_space("new", DIM, 1)
        assert [int(job.subject, 16) for job in store.jobs()] == [1, 51]
        jobs = store.claim([f"embed:{new.id}"], limit=9, now=NOON, lease_s=60, max_attempts=3)
        store.finish(jobs, space=new.id, vectors=vectors)
        assert store.promote(new.id)
        assert store.rebuild(index_row, steps=[f"embed:{new.id}"]) == 0
        assert store.rebuild(index_row, terms=2) == 0
        assert (store.jobs(), ill(store)) == ([], [])

    def test_another_text_of_what_was_heard_disturbs_no_index(self, store: Store) -> None:
        space = store.use_space("model", DIM, 1)
        learn(store, ANN, a_name(50), a_fact(51))
        store.finish(claim(store), space=space.id, vectors=[vector(a_fact(51).id)])
        head = store.head(ANN)
        learn(store, ANN, a_name(50, name="Lissabon"), at=LATE)
        assert store.head(ANN).epoch == head.epoch
        assert change_of(store, 50).change > head.change
        assert (the(store, 50).content, the(store, 50).seen_at) == ("Lissabon (location)", LATE)
        assert actions(store, a_name(50).id) == ["stored", "changed"]
        assert store.jobs() == []
        assert len(store.vectors(ANN, space.id, after=0)) == 1

    def test_what_is_told_after_all_becomes_a_document(self, store: Store) -> None:
        space = store.use_space("model", DIM, 1)
        learn(store, ANN, a_name(50))
        epoch = store.head(ANN).epoch
        learn(store, ANN, told(a_name(50)))
        assert store.head(ANN).epoch > epoch
        assert change_of(store, 50).terms == told(a_name(50)).terms
        assert [job.subject for job in store.jobs()] == [a_name(50).id]
        store.finish(claim(store), space=space.id, vectors=[vector(a_name(50).id)])
        assert ill(store) == []

    def test_what_was_written_stays_so_when_it_is_heard_of(self, store: Store) -> None:
        space = store.use_space("model", DIM, 1)
        written = told(a_name(50))
        learn(store, ANN, written)
        store.finish(claim(store), space=space.id, vectors=[vector(written.id)])
        before = the(store, 50)
        (event,) = put(store, ANN, an_entry(1))
        learn(store, ANN, replace(a_name(50), content="Lisboa (place)", sources=(event,)))
        after = the(store, 50)
        assert (after.content, after.data) == (before.content, before.data)
        assert after.sources == (event,)
        assert change_of(store, 50).terms == written.terms
        # And it does not go with the turn that spoke of it.
        assert store.forget(ANN, [event], at=LATE)
        assert the(store, 50).content == before.content
        assert ill(store) == []

    def test_a_plan_for_a_graph_that_has_changed_is_not_stored(self, store: Store) -> None:
        head = store.head(ANN)
        assert store.put(ANN, [a_name(50)], known_at=NOON, steps=[], since=head.change)
        assert not store.put(ANN, [a_name(51)], known_at=NOON, steps=[], since=head.change)
        assert store.get(ANN, [a_name(51).id]) == []
        put(store, ANN, an_entry(1))  # A turn is no change of the graph.
        head = store.head(ANN)
        put(store, ANN, an_entry(2))
        assert store.put(ANN, [a_name(51)], known_at=NOON, steps=[], since=head.change)

    def test_only_the_graph_is_heard(self, store: Store) -> None:
        fact = a_fact(50, data={"heard": True})
        odd = [replace(told(a_name(n)), data={"heard": h}) for n, h in ((51, 1), (52, "true"))]
        learn(store, ANN, fact, *odd)
        assert [int(job.subject, 16) for job in store.jobs()] == [50, 51, 52]
        assert change_of(store, 50).terms == fact.terms

    def test_what_was_heard_is_hidden_and_restored_like_anything_else(self, store: Store) -> None:
        (event,) = put(store, ANN, an_entry(1))
        learn(store, ANN, a_name(50, event))
        store.forget(ANN, [event], at=NOON)
        assert store.listed(ANN, tier="graph") == []
        store.forget(ANN, [event], at=NOON, undo=True)
        assert [record.id for record in store.listed(ANN, tier="graph")] == [a_name(50).id]
        store.forget(ANN, [event], at=NOON)
        assert store.wipe(forgotten_before=LATE) == 2

    @pytest.mark.parametrize("undone", [True, False])
    def test_a_merge_that_was_undone_is_not_made_again(self, store: Store, undone: bool) -> None:
        (event,) = put(store, ANN, an_entry(1))
        merge = a_name(50, event, kind="merge")
        learn(store, ANN, merge, a_name(51, event))
        if undone:
            learn(store, ANN, replace(merge, valid_to=LATE))
        store.forget(ANN, [event], at=NOON)
        assert store.wipe(forgotten_before=LATE) == 3
        (other,), jobs = said(store, 2)
        names = [replace(each, sources=(other,)) for each in (merge, a_name(51))]
        store.learn(ANN, jobs, names, known_at=LATE, steps=[])
        there = [int(record.id, 16) for record in store.listed(ANN, tier="graph")]
        assert there == ([51] if undone else [50, 51])
        assert list(store.forgotten_times(ANN, [merge.id])) == ([merge.id] if undone else [])
        store.use_space("model", DIM, 1)
        assert ill(store) == []
        learn(store, ANN, replace(merge, sources=()))
        assert len(store.listed(ANN, tier="graph")) == 2, "who makes it by hand makes it"

    def test_sightings_and_hearsay_are_dumped_and_loaded(self, store: Store) -> None:
        learn(store, ANN, a_name(50), a_fact(51))
        learn(store, ANN, a_name(50), at=LATE)
        rows = [row for row in store.dump() if isinstance(row, DumpedRecord)]
        assert {row.record.seen_at for row in rows} == {LATE, None}
        copies = [replace(row, scope=BOB) for row in rows]
        assert store.load(copies, index_row, steps=[EMBED, EXTRACT]) == [True, True]
        ids = [a_name(50).id, a_fact(51).id]
        assert store.get(BOB, ids) == store.get(ANN, ids)
        mine = [job for job in store.jobs() if job.scope == BOB]
        assert [(int(job.subject, 16), job.step) for job in mine] == [(51, EMBED)]
        store.use_space("model", DIM, 1)
        assert ill(store) == []
