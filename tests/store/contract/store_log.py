"""The contract of a store: what `Log` and `Records` promise for turns."""

from __future__ import annotations

import threading
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from holdfast.errors import Conflict, NotFound
from holdfast.records.entries import status_of
from holdfast.store.protocols import (
    EXTERNAL,
    KeyUse,
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
    an_entry,
    claim,
    learn,
    put,
    vector,
)


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

    def test_how_a_turn_is_treated_is_kept_apart_from_what_the_caller_gave(
        self, store: Store
    ) -> None:
        data, given = {"visibility": "agent_only", "provider": "rules"}, {"page": 3}
        own = an_entry(1, metadata=given, data=data, visibility="agent_only")
        for number, scope in enumerate((replace(ANN, agent="a"), BOB)):
            entries = [own, an_entry(2, data={"provider": "rules"})] if not number else [own]
            store.append(scope, entries, known_at=NOON, steps=[], key=None)
        event, plain = store.events(ANN)
        assert (event.data, event.metadata) == (data, given)
        assert (plain.data, plain.metadata) == ({"provider": "rules"}, {})
        records = store.get(ANN, [event.id, plain.id])
        assert [(each.visibility, each.metadata) for each in records] == [
            ("agent_only", given), (None, {}),
        ]  # fmt: skip
        changes = store.changes(ANN, after=0)
        assert [(int(each.id, 16), each.private) for each in changes] == [(1, True), (2, False)]
        for agent, seen in (("a", [2, 1]), ("b", []), (None, [2])):
            page = store.page(replace(ANN, agent=agent), now=NOON, limit=9)
            assert [int(each.id, 16) for each in page] == seen

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
        seen = store.events(ANN)
        assert [int(event.id, 16) for event in seen] == [5, 3, 4]
        assert [event.arrival for event in seen] == [1, 2, 3]
        assert [int(event.id, 16) for event in store.events(ANN, after=1, limit=1)] == [3]
        put(store, replace(ANN, session="s"), an_entry(6))
        assert [int(event.id, 16) for event in store.events(ANN, session="s")] == [6]
        assert store.events(ANN, session="t") == []

    def test_nothing_of_a_failed_append_stays(self, store: Store) -> None:
        put(store, ANN, an_entry(1))
        with pytest.raises(Exception, match=r"(?i)unique|constraint|duplicate"):
            put(store, ANN, an_entry(2), an_entry(1), key=KeyUse("k", b"x"))
        assert [int(event.id, 16) for event in store.events(ANN)] == [1]
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
        assert {int(event.id, 16) for event in store.events(ANN)} == {0, *range(2, 33, 2)}

    def test_the_same_key_and_body_store_nothing_new(self, store: Store) -> None:
        first = put(store, ANN, an_entry(1), an_entry(2), key=KeyUse("k", b"body"))
        again = store.append(
            ANN, [an_entry(3)], known_at=NOON, steps=[EMBED], key=KeyUse("k", b"body")
        )
        assert (again.events, again.duplicate) == (first, True)
        assert len(store.events(ANN)) == 2
        assert len(store.jobs()) == 2

    def test_the_same_key_with_another_body_is_a_conflict(self, store: Store) -> None:
        put(store, ANN, an_entry(1), key=KeyUse("k", b"body"))
        with pytest.raises(Conflict, match="'k'"):
            put(store, ANN, an_entry(2), key=KeyUse("k", b"other"))
        assert len(store.events(ANN)) == 1

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
        assert len(store.events(ANN)) == 1

    def test_old_keys_can_be_dropped(self, store: Store) -> None:
        put(store, ANN, an_entry(1), key=KeyUse("k", b"body"))
        assert store.wipe(keys_before=NOON) == 0
        assert store.wipe(keys_before=NOON + timedelta(seconds=1)) == 1
        put(store, ANN, an_entry(2), key=KeyUse("k", b"other"))

    def test_no_log_read_crosses_a_scope(self, store: Store) -> None:
        (event,) = put(store, ANN, an_entry(1))
        for scope in (BOB, OTHER_ANN):
            assert store.events(scope, [event]) == []
            assert store.events(scope) == []
            with pytest.raises(NotFound):
                status_of(store, scope, event)

    def test_two_owners_may_hold_the_same_id(self, store: Store) -> None:
        put(store, ANN, an_entry(1, "tea"))
        put(store, BOB, an_entry(1, "coffee"))
        assert store.events(ANN, [an_entry(1).id])[0].content == "tea"
        assert store.events(BOB, [an_entry(1).id])[0].content == "coffee"

    def test_a_key_tells_its_events_to_its_owner_alone(self, store: Store) -> None:
        key = KeyUse(EXTERNAL + "mail 7", b"body")
        for number in (1, 2):  # The second stores nothing.
            store.append(ANN, [an_entry(number)], known_at=NOON, steps=[], key=key)
        assert [each.id for each in store.events(ANN, key=key.key)] == [an_entry(1).id]
        assert store.events(ANN, key="another") == []
        assert store.events(BOB, key=key.key) == []
        with pytest.raises(Conflict):
            store.append(ANN, [an_entry(3)], known_at=NOON, steps=[], key=KeyUse(key.key, b"other"))

    def test_an_external_key_outlives_the_others_but_not_what_it_stands_for(
        self, store: Store
    ) -> None:
        kept, dropped = KeyUse(EXTERNAL + "mail 7", b"body"), KeyUse("retry", b"body")
        for number, key in enumerate((kept, dropped), start=1):
            store.append(ANN, [an_entry(number)], known_at=NOON, steps=[], key=key)
        assert store.wipe(keys_before=NOON + timedelta(days=900)) == 1
        assert [each.id for each in store.events(ANN, key=kept.key)] == [an_entry(1).id]
        store.forget(ANN, [an_entry(1).id], at=NOON)
        again = store.append(
            ANN, [an_entry(5)], known_at=NOON, steps=[], key=KeyUse(kept.key, b"other")
        )
        assert (again.events, again.duplicate) == ((an_entry(5).id,), False)
        assert [each.id for each in store.events(ANN, key=kept.key)] == [an_entry(5).id]


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
        assert store.forget(ANN, [gone], at=NOON)
        assert [record.id for record in store.get(ANN, [kept, gone])] == [kept]
        assert [event.id for event in store.events(ANN, [kept, gone])] == [kept]
        assert [event.id for event in store.events(ANN)] == [kept]
        assert [c.forgotten for c in store.changes(ANN, after=0)] == [False, True]
        assert all(version.content is None for version in store.history(ANN, gone))

    def test_what_is_hidden_can_be_looked_at_with_what_went_along(self, store: Store) -> None:
        kept, gone = put(store, ANN, an_entry(1), an_entry(2))
        learn(store, ANN, a_fact(50, gone), a_fact(51, kept, gone), a_fact(52))
        before = store.get(ANN, [gone, a_fact(50).id])
        assert store.listed(ANN, source=gone, hidden=True) == []
        store.forget(ANN, [gone], at=NOON)
        assert store.get(ANN, [gone], hidden=True) == before[:1]
        assert store.listed(ANN, source=gone, hidden=True) == before[1:]
        for scope, id in ((BOB, gone), (OTHER_ANN, gone), (ANN, kept), (ANN, "no id")):
            assert store.listed(scope, source=id, hidden=True) == []
        store.forget(ANN, [gone], at=NOON, undo=True)
        assert store.listed(ANN, source=gone, hidden=True) == []

    def test_forget_and_restore_undo_each_other(self, store: Store) -> None:
        (event,) = put(store, ANN, an_entry(1))
        assert store.forget(ANN, [event], at=NOON)
        assert not store.forget(ANN, [event], at=NOON)
        assert store.forget(ANN, [event], at=NOON + timedelta(days=1), undo=True)
        assert not store.forget(ANN, [event], at=NOON, undo=True)
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
            assert store.forget(scope, [event], at=NOON) == []
            assert store.forget(scope, [event], at=NOON, undo=True) == []
            with pytest.raises(NotFound):
                store.history(scope, event)
        assert len(store.get(ANN, [event])) == 1

    def test_wiping_removes_what_was_forgotten_before_and_nothing_else(self, store: Store) -> None:
        space = store.use_space("model", DIM, 1)
        old, new, kept = put(store, ANN, an_entry(1), an_entry(2), an_entry(3))
        jobs = claim(store)
        store.finish(jobs, space=space.id, vectors=[vector(e) for e in (old, new, kept)])
        store.forget(ANN, [old], at=NOON)
        store.forget(ANN, [new], at=NOON + timedelta(days=2))
        epoch = store.head(ANN).epoch
        assert store.wipe(forgotten_before=NOON + timedelta(days=1)) == 1
        assert store.forget(ANN, [old], at=NOON, undo=True) == []
        assert store.forget(ANN, [new], at=NOON, undo=True)
        assert {event.id for event in store.events(ANN)} == {new, kept}
        assert {v.record for v in store.vectors(ANN, space.id, after=0)} == {new, kept}
        assert store.head(ANN).epoch > epoch
