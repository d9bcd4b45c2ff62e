"""The contract of a store: what `Answers` and `Audit` promise, and `Keys` of later days."""

from __future__ import annotations

import threading
from contextlib import suppress
from dataclasses import replace
from datetime import timedelta
from itertools import count

import pytest

from holdfast.errors import Conflict, StoreBusy
from holdfast.store.protocols import Answered, AuditLine, Share, Store, StoredKey
from holdfast.store.values import Verified
from holdfast.testing.store_builders import ANN, BOB, NOON, OTHER_ANN, an_entry, in_threads, put
from holdfast.types import ApiKey

A_LINE = AuditLine(NOON, "home", "k1", "facts.add", "done", owner="ab" * 32, subject="f" * 32)


class AnswerSuite:
    """What `Answers` promises."""

    def test_the_first_answer_stays(self, store: Store) -> None:
        first, second = Answered(b"asked", 201, b'{"id":1}'), Answered(b"other", 200, b"{}")
        assert store.answer(ANN, "k") is None
        assert store.answer(ANN, "k", first, at=NOON) == first
        assert store.answer(ANN, "k", second, at=NOON) == first
        assert store.answer(ANN, "k") == first
        assert store.answer(ANN, "k2", second, at=NOON) == second

    def test_of_many_who_keep_one_all_are_told_the_same(self, store: Store) -> None:
        mine = iter([Answered(b"asked", 200, bytes([number])) for number in range(8)])
        told: list[Answered | None] = []
        in_threads(lambda: told.append(store.answer(ANN, "k", next(mine), at=NOON)), count=8)
        assert len(told) == 8
        assert set(told) == {store.answer(ANN, "k")}

    def test_no_answer_crosses_a_scope(self, store: Store) -> None:
        store.answer(ANN, "k", Answered(b"asked", 200, b"{}"), at=NOON)
        assert store.answer(BOB, "k") is None
        assert store.answer(OTHER_ANN, "k") is None
        assert store.answer(replace(ANN, agent="a", session="s"), "k") is not None

    def test_old_answers_go_with_old_keys(self, store: Store) -> None:
        store.answer(ANN, "old", Answered(b"asked", 200, b"{}"), at=NOON)
        store.answer(ANN, "new", Answered(b"asked", 200, b"{}"), at=NOON + timedelta(days=1))
        assert store.wipe(keys_before=NOON) == 0
        assert store.wipe(keys_before=NOON + timedelta(hours=1)) == 1
        assert store.answer(ANN, "old") is None
        assert store.answer(ANN, "new") is not None

    def test_answers_are_not_part_of_a_dump(self, store: Store) -> None:
        store.answer(ANN, "k", Answered(b"asked", 200, b"{}"), at=NOON)
        assert list(store.dump()) == []

    def test_an_erased_owner_has_no_answer(self, store: Store) -> None:
        for scope in (ANN, BOB):
            store.answer(scope, "k", Answered(b"asked", 200, b"{}"), at=NOON)
        assert store.erase(ANN, at=NOON)["answers"] == 1
        assert store.answer(ANN, "k") is None
        assert store.answer(BOB, "k") is not None

    def test_what_is_done_once_is_noted_with_the_first_write(self, store: Store) -> None:
        done = Answered(b"asked", 0, b"first")
        for place in range(3):
            with store.once(ANN, "k", replace(done, answer=bytes([place])), at=NOON) as before:
                assert (before is None) == (place == 0)
                if before is None:
                    store.set_agent_trust("home", "cook", 0.5, at=NOON)
        assert before == replace(done, answer=bytes([0]))
        assert store.answer(ANN, "k") is None
        with store.once(BOB, "k", done, at=NOON) as of_bob:
            assert of_bob is None
        with pytest.raises(Conflict), store.once(ANN, "k", replace(done, body=b"x"), at=NOON):
            raise AssertionError

    def test_what_changed_nothing_or_failed_is_not_noted(self, store: Store) -> None:
        done = Answered(b"asked", 0, b"")
        (event,) = put(store, ANN, an_entry(1))
        share = Share("s", ANN, "away", ("profile",), "read", NOON)
        store.put_share(share)
        with store.once(ANN, "k", done, at=NOON):
            assert not store.put_share(share)
            assert store.archive(ANN, ["0" * 32], at=NOON, reason="") == []
        refused = pytest.raises(Exception, match=r"(?i)check|constraint")
        with refused, store.once(ANN, "k", done, at=NOON):
            store.set_agent_trust("home", "a", 1.5, at=NOON)
        with store.once(ANN, "k", done, at=NOON) as before:
            assert before is None
            assert not store.put_share(share)
            assert store.archive(ANN, [event], at=NOON, reason="") == [event]
        # Outside of the block nothing is noted with anything.
        store.archive(ANN, [event], at=NOON, undo=True)
        with store.once(ANN, "k", done, at=NOON) as before:
            assert before == done

    def test_of_many_who_do_it_at_once_one_does(self, store: Store) -> None:
        number, start, told = count(), threading.Barrier(8), list[str]()

        def act() -> None:
            share = Share(f"s{next(number)}", ANN, "away", ("profile",), "read", NOON)
            with store.once(ANN, "k", Answered(b"asked", 0, b""), at=NOON) as before:
                start.wait()
                assert before is None
                store.put_share(share)
            told.append(share.id)

        def tried() -> None:
            with suppress(StoreBusy):
                act()

        in_threads(tried, count=8)
        assert [each.id for each in store.shares(granted_by=ANN)] == told
        assert len(told) == 1


class AuditSuite:
    """What `Audit` promises."""

    def test_lines_are_numbered_and_read_as_they_were_written(self, store: Store) -> None:
        assert (store.audit(), store.verify_audit()) == ([], Verified(None, 0, None))
        bare = AuditLine(NOON, "home", "anonymous", "request", "refused")
        assert [store.note_audit(A_LINE), store.note_audit(replace(bare, seq=9, hash="x"))] == [
            1,
            2,
        ]
        first, second = store.audit()
        assert replace(first, seq=0, hash="") == A_LINE
        assert replace(second, seq=0, hash="") == bare
        assert (first.seq, second.seq) == (1, 2)
        assert store.audit(limit=1, newest_first=True) == [second]
        assert len(bytes.fromhex(first.hash)) == 32
        assert store.verify_audit() == store.verify_audit("home") == (None, 2, second.hash)

    def test_they_come_in_order_a_page_at_a_time(self, store: Store) -> None:
        for number in range(6):
            workspace = "home" if number % 2 else "work"
            store.note_audit(replace(A_LINE, workspace=workspace, at=NOON - timedelta(number)))
        home = store.audit(workspace="home")
        numbers = [line.seq for line in home]
        assert (len(home), numbers) == (3, sorted(set(numbers)))
        assert [line.at for line in home] == [NOON - timedelta(number) for number in (1, 3, 5)]
        assert store.audit(workspace="home", after=numbers[0], limit=1) == home[1:2]
        assert store.audit(workspace="home", limit=2, newest_first=True) == home[:0:-1]
        assert store.audit(workspace="home", after=numbers[2], newest_first=True) == home[1::-1]
        assert store.audit(workspace="nowhere") == store.audit(after=numbers[2]) == []
        assert len(store.audit()) == 6
        assert store.verify_audit().lines == 6

    def test_equal_lines_have_other_hashes_and_many_may_write(self, store: Store) -> None:
        in_threads(lambda: store.note_audit(A_LINE), count=8)
        lines = store.audit()
        assert [line.seq for line in lines] == list(range(1, 9))
        assert len({line.hash for line in lines}) == 8
        assert store.verify_audit().broken_at is None

    def test_neither_a_dump_nor_an_erasure_touches_it(self, store: Store) -> None:
        store.note_audit(A_LINE)
        before = store.audit()
        store.erase(ANN, at=NOON)
        assert (list(store.dump()), store.audit()) == ([], before)


class KeyLifeSuite:
    """What `Keys` promises of tools, ids and rotation."""

    def test_the_tools_of_a_key(self, store: Store) -> None:
        for name, tools in (("all", None), ("none", ()), ("two", ("recall", "remember"))):
            key = ApiKey(name, "home", "ann", "write", NOON, tools=tools)
            store.put_key(StoredKey(key, name.encode()))
            assert store.api_keys(digest=name.encode()) == [(key, name.encode())]

    def test_the_limit_of_a_key(self, store: Store) -> None:
        for number, tools in enumerate((None, (), ("recall",))):
            key = ApiKey(f"k{number}", "home", "ann", "write", NOON, None, None, "x", tools, 5000)
            store.put_key(StoredKey(key, bytes([number])))
            assert store.api_keys(digest=bytes([number]))[0].key == key
        assert [key.tokens_a_day for key, _ in store.api_keys()] == [5000] * 3

    def test_a_key_is_found_by_its_id(self, store: Store) -> None:
        key = ApiKey("k1", "home", "ann", "read", NOON)
        store.put_key(StoredKey(key, b"d"))
        assert store.api_keys(id="k1") == [(key, b"d")]
        assert store.api_keys(id="d") == []

    def test_a_rotated_key_has_another_digest_and_nothing_else(self, store: Store) -> None:
        key = ApiKey("k1", "home", "ann", "read", NOON, NOON + timedelta(days=1), None, "laptop")
        store.put_key(StoredKey(key, b"old"))
        store.put_key(StoredKey(replace(key, id="k2"), b"other"))
        old, new = StoredKey(key, b"old"), StoredKey(key, b"new")
        assert not store.put_key(old), "once"
        assert store.put_key(new, was=old)
        assert store.api_keys(digest=b"old") == []
        assert store.api_keys(digest=b"new") == [(key, b"new")]
        assert store.api_keys(digest=b"other") == [(replace(key, id="k2"), b"other")]
        assert not store.put_key(StoredKey(key, b"more"), was=old)
        revoked = new._replace(key=replace(key, revoked_at=NOON))
        assert store.put_key(revoked, was=new)
        assert not store.put_key(StoredKey(key, b"more"), was=new)
