"""The contract of a store: what `Ledger`, `Keys` and `Upkeep` promise."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from holdfast.index.view import packed
from holdfast.records.entries import index_row
from holdfast.store.protocols import (
    DumpedEvent,
    DumpedRecord,
    DumpedVectors,
    IndexedRow,
    Store,
    StoredKey,
)
from holdfast.testing.store_builders import (
    ANN,
    BOB,
    DIM,
    EMBED,
    NOON,
    OTHER_ANN,
    a_fact,
    a_note,
    an_entry,
    current_facts,
    fill,
    learn,
    put,
)
from holdfast.types import ApiKey, Event, Record


class LedgerSuite:
    """What `Ledger` promises."""

    def test_a_note_is_read_as_it_was_written(self, store: Store) -> None:
        put(store, ANN, an_entry(1))
        note = a_note(0xABCDEF)
        store.note_context(ANN, note)
        (found,) = store.contexts(ANN)
        assert (found, found.change) == (note, store.head(ANN).change)

    def test_notes_are_found_by_the_end_of_their_id(self, store: Store) -> None:
        store.note_context(ANN, a_note(0x1ABCDEF))
        store.note_context(ANN, a_note(0x2ABCDEF))
        assert store.contexts(ANN, end="1abcdef") == [a_note(0x1ABCDEF)]
        assert store.contexts(ANN, end=a_note(0x2ABCDEF).id) == [a_note(0x2ABCDEF)]
        both = [a_note(0x2ABCDEF), a_note(0x1ABCDEF)]
        assert store.contexts(ANN, end="abcdef") == store.contexts(ANN, end="") == both
        assert store.contexts(ANN, end="abcdef", limit=1) == both[:1]
        for end in ("bcdef", "3abcdef", "no id", "%", "0" * 33):
            assert store.contexts(ANN, end=end) == []

    def test_notes_come_newest_first(self, store: Store) -> None:
        for hour in (2, 1, 3):
            store.note_context(ANN, a_note(hour, NOON + timedelta(hours=hour)))
        since = NOON + timedelta(hours=2)
        newest = [note.id for note in store.contexts(ANN, since=since, limit=9)]
        assert newest == [a_note(3).id, a_note(2).id]
        assert [note.id for note in store.contexts(ANN, since=NOON, limit=1)] == newest[:1]

    def test_old_notes_can_be_dropped(self, store: Store) -> None:
        store.note_context(ANN, a_note(1))
        store.note_context(BOB, a_note(2, NOON + timedelta(days=1)))
        assert store.wipe(contexts_before=NOON) == 0
        assert store.wipe(contexts_before=NOON + timedelta(hours=1)) == 1
        assert store.contexts(ANN, since=NOON, limit=9) == []
        assert len(store.contexts(BOB, since=NOON, limit=9)) == 1

    def test_no_note_crosses_a_scope(self, store: Store) -> None:
        store.note_context(ANN, a_note(0xABCDEF))
        for scope in (BOB, OTHER_ANN):
            assert store.contexts(scope, since=NOON, limit=9) == []
            for end in (a_note(0xABCDEF).id, "abcdef"):
                assert store.contexts(scope, end=end) == []

    def test_a_note_that_cannot_be_written_is_logged_and_breaks_nothing(
        self, store: Store, caplog: pytest.LogCaptureFixture
    ) -> None:
        store.note_context(ANN, a_note(1))
        store.note_context(ANN, replace(a_note(1), query="the same id again"))
        assert store.contexts(ANN) == [a_note(1)]
        assert a_note(1).id in caplog.text
        put(store, ANN, an_entry(1))
        store.note_context(ANN, a_note(2))
        assert len(store.contexts(ANN, since=NOON, limit=9)) == 2

    def test_notes_are_not_part_of_a_dump(self, store: Store) -> None:
        store.note_context(ANN, a_note(1))
        assert len(store.contexts(ANN, since=NOON, limit=9)) == 1
        assert list(store.dump()) == []


class KeySuite:
    """What `Keys` promises."""

    def test_a_key_is_found_by_its_digest_alone(self, store: Store) -> None:
        key = ApiKey("k1", "home", None, "write", NOON, NOON + timedelta(days=1), None, "laptop")
        assert store.put_key(StoredKey(key, b"d" * 32))
        assert store.api_keys(digest=b"d" * 32) == store.api_keys() == [(key, b"d" * 32)]
        assert store.api_keys(digest=b"e" * 32) == []

    def test_a_revoked_key_says_so(self, store: Store) -> None:
        key = StoredKey(ApiKey("k1", "home", "ann", "read", NOON), b"d" * 32)
        revoked = key._replace(key=replace(key.key, revoked_at=NOON))
        assert not store.put_key(revoked, was=key)
        store.put_key(key)
        assert store.put_key(revoked, was=key)
        assert not store.put_key(key, was=key)
        assert store.api_keys(digest=b"d" * 32) == [revoked]


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
        def by_content(each: Event | Record) -> IndexedRow:
            return IndexedRow(*packed([each.content]), "turn")

        fill(store)
        assert store.rebuild(index_row, terms=1) == 0
        assert store.rebuild(by_content, terms=2) == 7
        assert store.rebuild(index_row, terms=2) == 0
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

        def derive(subject: Event | Record) -> IndexedRow:
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
        store.forget(ANN, [a_fact(50).id], at=NOON)
        assert store.wipe(forgotten_before=NOON + timedelta(days=1)) == 1

        def derive(subject: Event | Record) -> IndexedRow:
            facts = (a_fact(50, event),) if isinstance(subject, Event) else ()
            return index_row(subject)._replace(derived=facts)

        assert [each for each in store.check(derive) if not each.ok] == []
        assert store.rebuild(derive, steps=[EMBED]) == 0
        assert store.rebuild(derive, terms=9) == 0
        assert store.listed(ANN, tier="fact", current=False) == []

    def test_what_an_event_gives_is_loaded_with_it(self, store: Store) -> None:
        event = Event(an_entry(1).id, 0, "user", "I drink tea.", NOON, NOON, "user", agent="a")

        def derive(subject: Event | Record) -> IndexedRow:
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
