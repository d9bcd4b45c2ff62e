"""The contract of a store: derived records and their versions."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from holdfast.errors import NotFound
from holdfast.store.protocols import (
    FOREVER_US,
    Store,
)
from holdfast.testing.store_builders import (
    ANN,
    BOB,
    DIM,
    EMBED,
    NOON,
    OTHER_ANN,
    a_fact,
    a_name,
    actions,
    an_entry,
    claim,
    current_facts,
    learn,
    put,
    vector,
)


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
        assert [int(event.id, 16) for event in store.events(ANN)] == [1]
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
        store.forget(ANN, [a], at=NOON)
        assert current_facts(store) == [a_fact(51).id, a_fact(52).id]
        assert store.get(ANN, [a_fact(50).id]) == []
        assert actions(store, a_fact(50).id) == ["stored", "forgotten"]
        assert all(version.content is None for version in store.history(ANN, a_fact(50).id))
        store.forget(ANN, [b], at=NOON)
        assert current_facts(store) == [a_fact(52).id]
        store.forget(ANN, [b], at=NOON, undo=True)
        assert current_facts(store) == [a_fact(51).id, a_fact(52).id]
        store.forget(ANN, [a], at=NOON, undo=True)
        assert len(current_facts(store)) == 3
        assert actions(store, a_fact(50).id) == ["stored", "forgotten", "restored"]

    def test_what_was_forgotten_for_its_own_sake_does_not_come_back(self, store: Store) -> None:
        (event,) = put(store, ANN, an_entry(1))
        learn(store, ANN, a_fact(50, event), a_fact(51, event))
        assert store.forget(ANN, [a_fact(50).id], at=NOON)
        assert not store.forget(ANN, [a_fact(50).id], at=NOON)
        store.forget(ANN, [event], at=NOON)
        store.forget(ANN, [event], at=NOON, undo=True)
        assert current_facts(store) == [a_fact(51).id]
        assert store.forget(ANN, [a_fact(50).id], at=NOON, undo=True)
        assert len(current_facts(store)) == 2

    def test_what_is_learned_from_a_forgotten_turn_is_hidden_with_it(self, store: Store) -> None:
        (event,) = put(store, ANN, an_entry(1))
        store.forget(ANN, [event], at=NOON)
        learn(store, ANN, a_fact(50, event))
        assert current_facts(store) == []
        store.forget(ANN, [event], at=NOON, undo=True)
        assert current_facts(store) == [a_fact(50).id]

    def test_metadata_of_a_forgotten_source_is_not_told(self, store: Store) -> None:
        a, b = put(store, ANN, an_entry(1, metadata={"secret": 1}), an_entry(2))
        learn(store, ANN, a_fact(50, a, b))
        assert store.get(ANN, [a_fact(50).id])[0].metadata == {"secret": 1}
        store.forget(ANN, [a], at=NOON)
        assert store.get(ANN, [a_fact(50).id])[0].metadata == {}

    def test_wiping_a_turn_takes_what_came_from_it_alone(self, store: Store) -> None:
        space = store.use_space("model", DIM, 1)
        a, b = put(store, ANN, an_entry(1), an_entry(2))
        learn(store, ANN, a_fact(50, a), a_fact(51, a, b))
        store.finish(claim(store), space=space.id, vectors=[vector(a_fact(50).id)])
        store.forget(ANN, [a], at=NOON)
        assert store.wipe(forgotten_before=NOON + timedelta(days=1)) == 2
        (left,) = store.listed(ANN, tier="fact")
        assert (left.id, left.sources) == (a_fact(51).id, (b,))
        with pytest.raises(NotFound):
            store.history(ANN, a_fact(50).id)
        assert store.vectors(ANN, space.id, after=0) == []
        assert {change.id for change in store.changes(ANN, after=0)} == {b, left.id}

    def test_wiping_a_turn_takes_its_words_that_stood_before_a_fact(self, store: Store) -> None:
        a, b = put(store, ANN, an_entry(1), an_entry(2))
        learn(store, ANN, a_fact(50, a, b, data={"before": "We split it.", "slot": "share"}))
        seen = store.head(ANN).change
        store.forget(ANN, [a], at=NOON)
        assert store.wipe(forgotten_before=NOON + timedelta(days=1)) == 1
        (left,) = store.listed(ANN, tier="fact")
        assert (left.sources, left.data) == ((b,), {"slot": "share"})
        assert left.id in {change.id for change in store.changes(ANN, after=seen)}

    def test_no_call_for_derived_records_crosses_a_scope(self, store: Store) -> None:
        (event,) = put(store, ANN, an_entry(1))
        learn(store, ANN, a_fact(50, event))
        for number, scope in enumerate((BOB, OTHER_ANN), 60):
            assert store.get(scope, [a_fact(50).id]) == []
            assert store.listed(scope, tier="fact", current=False) == []
            for undo in (False, True):
                assert store.forget(scope, [a_fact(50).id], at=NOON, undo=undo) == []
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
        store.forget(ANN, [a], at=NOON)
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

    def test_the_versions_of_a_claim_are_found_in_their_order(self, store: Store) -> None:
        first = a_fact(59)
        later = [
            a_fact(number, data={"claim": first.id}, supersedes=(a_fact(number + 1).id,))
            for number in (58, 57)
        ]
        learn(store, ANN, first, a_fact(70))
        learn(store, ANN, *later, at=NOON + timedelta(days=1))
        learn(store, BOB, a_fact(59))
        numbers = [
            int(each.id, 16)
            for each in store.listed(ANN, claim=first.id, current=False, archived=True)
        ]
        assert numbers == [59, 58, 57]
        assert [each.id for each in store.listed(ANN, claim=first.id, archived=True)] == [
            later[-1].id
        ]
        store.archive(ANN, [first.id], at=NOON, reason="old")
        store.forget(ANN, [later[-1].id], at=NOON)
        assert [
            int(each.id, 16)
            for each in store.listed(ANN, claim=first.id, current=False, archived=True)
        ] == [59, 58]
        assert store.listed(ANN, claim=first.id, archived=True) == []
        assert (
            store.listed(ANN, claim="nobody said it", current=False, archived=True)
            == store.listed(OTHER_ANN, claim=first.id, current=False, archived=True)
            == []
        )

    def test_a_version_that_is_put_again_may_be_one_of_another_claim(self, store: Store) -> None:
        learn(store, ANN, a_fact(50))
        learn(store, ANN, a_fact(50, data={"claim": "c" * 32}))
        assert store.listed(ANN, claim=a_fact(50).id, current=False, archived=True) == []
        assert [
            each.id for each in store.listed(ANN, claim="c" * 32, current=False, archived=True)
        ] == [a_fact(50).id]

    def test_documents_and_entries_are_versions_of_their_name_and_key(self, store: Store) -> None:
        kept: dict[str, Any] = {
            "tier": "knowledge",
            "data": {"name": "n", "key": "k", "claim": "f" * 32},
        }
        learn(store, ANN, a_fact(50, kind="document", **kept), a_fact(51, kind="entry", **kept))
        learn(store, ANN, a_name(52, data={"claim": "f" * 32}))
        assert [
            each.id for each in store.listed(ANN, claim="document:n", current=False, archived=True)
        ] == [a_fact(50).id]
        assert [
            each.id for each in store.listed(ANN, claim="entry:k", current=False, archived=True)
        ] == [a_fact(51).id]
        assert store.listed(ANN, claim="f" * 32, current=False, archived=True) == []

    @pytest.mark.parametrize("asked", [{}, {"tier": "fact", "claim": "c" * 32}])
    def test_a_list_is_of_a_tier_or_of_a_claim_or_of_a_turn(
        self, store: Store, asked: dict[str, Any]
    ) -> None:
        with pytest.raises(ValueError, match="name one of tier, claim and source"):
            store.listed(ANN, **asked)
