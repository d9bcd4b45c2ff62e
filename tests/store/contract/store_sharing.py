"""The contract of a store: shares, trust, chores, secrets, and erasure."""

from __future__ import annotations

from dataclasses import replace
from datetime import date, timedelta
from typing import Any

import pytest

from holdfast.errors import NotFound
from holdfast.records.entries import index_row
from holdfast.store.protocols import (
    Answered,
    Dumped,
    DumpedAct,
    DumpedEvent,
    DumpedRecord,
    DumpedShare,
    DumpedTrust,
    KeyUse,
    Share,
    Spent,
    Store,
    StoredKey,
)
from holdfast.store.values import Webhook
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
    claim,
    claim_group,
    in_threads,
    learn,
    put,
    say,
    vector,
)
from holdfast.testing.store_heard import ill
from holdfast.types import TEAM, ApiKey, Scope

DAY = timedelta(days=1)
LATE = NOON + 3 * DAY


def a_share(number: int, scope: Scope = ANN, **changes: Any) -> Share:
    """Share `number`, granted so many hours after noon."""
    made = Share(
        id=f"share-{number}",
        scope=scope,
        to="work",
        segments=("profile", "graph"),
        permission="read",
        created_at=NOON + timedelta(hours=number),
    )
    return replace(made, **changes)


class SharingSuite:
    """What `Sharing` promises."""

    def test_shares_come_newest_first_also_those_that_are_over(self, store: Store) -> None:
        granted = [
            a_share(1, expires_at=NOON - DAY),
            a_share(3, BOB, permission="admin"),
            a_share(2, to="lab", segments=()),
        ]
        for share in granted:
            store.put_share(share)
        first, third, second = granted
        assert store.shares() == [third, second, first]
        assert store.shares(to="work") == [third, first]
        assert store.shares(granted_by=replace(ANN, agent="a", session="s")) == [second, first]
        assert store.shares(to="work", granted_by=ANN) == [first]
        assert store.shares(to="home") == store.shares(granted_by=OTHER_ANN) == []

    def test_only_who_granted_a_share_revokes_it(self, store: Store) -> None:
        store.put_share(a_share(1))
        over = a_share(1, revoked_at=LATE)
        for scope in (BOB, OTHER_ANN):
            put(store, scope, an_entry(1))
            assert not store.put_share(replace(over, scope=scope), was=a_share(1, scope))
        assert store.shares() == [a_share(1)]
        assert store.put_share(over, was=a_share(1))
        assert not store.put_share(a_share(1, revoked_at=LATE + DAY), was=a_share(1)), "once"
        assert not store.put_share(a_share(2, revoked_at=LATE), was=a_share(2))
        assert store.shares() == [over]

    def test_an_id_is_given_once_by_an_owner(self, store: Store) -> None:
        store.put_share(a_share(1))
        assert not store.put_share(a_share(1, to="lab"))
        assert store.put_share(a_share(1, BOB))
        assert {share.scope for share in store.shares(to="work")} == {ANN, BOB}

    def test_a_look_tells_what_heads_and_shares_tell(self, store: Store) -> None:
        put(store, ANN, an_entry(1), an_entry(2))
        put(store, Scope("work", "zoe"), an_entry(3))
        shares = [a_share(1), a_share(2)]
        for share in shares:
            store.put_share(share)
        for workspace in ("home", "work"):
            for users in (["ann", TEAM], ["zoe"], ["nobody", "ann"]):
                heads, given = store.look(workspace, users)
                assert heads == [store.head(Scope(workspace, user)) for user in users]
                assert given == store.shares(to=workspace)
        store.erase(ANN, at=NOON)
        assert store.look("home", ["ann"])[0] == [store.head(ANN)]
        put(store, ANN, an_entry(4))
        assert store.look("home", ["ann"])[0] == [store.head(ANN)], "it was written since"

    def test_trust_is_of_a_workspace(self, store: Store) -> None:
        assert store.agent_trust("home") == {}
        store.set_agent_trust("home", "b", 0.25, at=NOON)
        store.set_agent_trust("home", "a", 1.0, at=NOON)
        store.set_agent_trust("work", "a", 0.0, at=NOON)
        store.set_agent_trust("home", "b", 0.75, at=LATE)
        assert list(store.agent_trust("home").items()) == [("a", 1.0), ("b", 0.75)]
        assert store.agent_trust("work") == {"a": 0.0}
        with pytest.raises(Exception, match=r"(?i)check|constraint"):
            store.set_agent_trust("home", "a", 1.5, at=NOON)
        assert store.agent_trust("home")["a"] == 1.0


class ChoreSuite:
    """What `Chores` promises."""

    def test_owners_are_walked_in_order(self, store: Store) -> None:
        assert store.owners() == []
        team = Scope("home", TEAM)
        for scope in (OTHER_ANN, BOB, replace(ANN, agent="a", session="s"), team):
            put(store, scope, an_entry(1))
        assert store.owners() == [team, ANN, BOB, OTHER_ANN]
        assert store.owners(limit=2) == [team, ANN]
        assert store.owners(after=ANN, limit=1) == [BOB]
        assert store.owners(after=BOB) == [OTHER_ANN]
        assert store.owners(after=Scope("home", "annabel")) == [BOB, OTHER_ANN]

    def test_a_chore_is_begun_when_it_is_due(self, store: Store) -> None:
        def begin(days: float, name: str = "nightly") -> bool:
            return store.begin_chore(name, now=NOON + days * DAY, every_s=86_400)

        assert store.chores() == {}
        assert [begin(0), begin(0), begin(0.9), begin(1), begin(1.5)] == [
            True,
            False,
            False,
            True,
            False,
        ]
        assert begin(0, "weekly")
        assert list(store.chores().items()) == [("nightly", NOON + DAY), ("weekly", NOON)]
        assert begin(-3650), "a clock that was ahead must not stop it for years"
        assert [begin(-3650), begin(-3649)] == [False, True]

    def test_one_of_many_begins_a_chore(self, store: Store) -> None:
        told: list[bool] = []
        in_threads(lambda: told.append(store.begin_chore("nightly", now=NOON, every_s=60)), count=8)
        assert sorted(told) == [False] * 7 + [True]

    def test_a_secret_stays_what_it_was(self, store: Store) -> None:
        told: list[bytes] = []
        in_threads(lambda: told.append(store.secret("receipts")), count=4)
        assert len(set(told)) == 1
        assert len(told[0]) == 32
        assert store.secret("other") != told[0]
        assert store.secret("receipts") == told[0]

    def test_neither_is_part_of_a_dump(self, store: Store) -> None:
        store.secret("receipts")
        store.begin_chore("nightly", now=NOON, every_s=60)
        assert list(store.dump()) == []


class EraseSuite:
    """What `Chores.erase` promises."""

    def test_a_note_that_is_still_to_be_written_is_erased_too(self, store: Store) -> None:
        for number in range(20):
            store.note_context(ANN, a_note(number))
            store.erase(ANN, at=LATE)
            assert store.contexts(ANN) == []

    def test_nothing_of_an_owner_is_left(self, store: Store) -> None:
        events = everything(store, ANN)
        removed = store.erase(replace(ANN, agent="a", session="s"), at=LATE)
        assert all(removed.values()), "of every table"
        assert store.owners() == []
        assert (store.events(ANN), store.get(ANN, events), store.changes(ANN, after=0)) == (
            [],
            [],
            [],
        )
        assert store.vectors(ANN, 1, after=0) == []
        assert store.kept_index(ANN) is None
        assert (store.jobs(), store.shares(), store.api_keys(), store.hooks()) == ([], [], [], [])
        assert store.answer(ANN, "k") is None
        assert store.spent(ANN, date(2026, 3, 1)) == Spent()
        assert store.contexts(ANN, since=NOON - DAY, limit=9) == []
        for event in events:
            with pytest.raises(NotFound):
                store.history(ANN, event)
        assert store.forgotten_times(ANN, events) == {}
        assert list(store.dump()) == []
        assert sum(store.erase(ANN, at=LATE).values()) == 0
        again = put(store, ANN, an_entry(1, "other words"), key=KeyUse("k", b"another body"))
        assert again == (an_entry(1).id,), "not even the key is known"
        assert ill(store) == []

    def test_everybody_else_is_as_before(self, store: Store) -> None:
        others = (BOB, OTHER_ANN, Scope("home", TEAM))
        for scope in (*others, ANN):
            everything(store, scope)
        store.put_key(StoredKey(ApiKey("any", "home", None, "write", NOON), b"any"))
        store.set_agent_trust("home", "a", 0.5, at=NOON)
        mine = [row for row in store.dump() if not _is_of(row, ANN)]
        heads = [store.head(scope) for scope in others]
        jobs = [job for job in store.jobs() if job.scope.user != "ann" or job.scope == OTHER_ANN]
        store.erase(ANN, at=LATE)
        assert list(store.dump()) == mine
        assert [store.head(scope) for scope in others] == heads
        assert store.jobs() == jobs
        assert {(key.workspace, key.user) for key, _ in store.api_keys()} == {
            ("home", "bob"), ("work", "ann"), ("home", TEAM), ("home", None),
        }  # fmt: skip
        assert {share.scope for share in store.shares()} == set(others)
        assert {(hook.workspace, hook.user) for hook in store.hooks()} == {
            (scope.workspace, scope.user) for scope in others
        }
        assert all(store.answer(scope, "k") for scope in others)
        assert all(store.kept_index(scope) for scope in others)
        for scope in others:
            assert store.spent(scope, date(2026, 3, 1)).calls == 1
            assert len(store.contexts(scope, since=NOON, limit=9)) == 1
        assert ill(store) == []

    def test_no_index_takes_the_next_of_that_name_for_the_last(self, store: Store) -> None:
        seen = {store.head(ANN).epoch}
        for number in range(3):
            put(store, ANN, an_entry(1), an_entry(2))
            if number == 1:
                store.forget(ANN, [an_entry(1).id], at=NOON)
                store.wipe(forgotten_before=LATE)
            seen.add(store.head(ANN).epoch)
            store.erase(ANN, at=LATE)
            assert store.head(ANN).change == 0
            assert store.head(ANN).epoch not in seen
            seen.add(store.head(ANN).epoch)

    def test_a_worker_that_was_about_it_finds_nothing_to_do(self, store: Store) -> None:
        say(store, ANN, an_entry(1))
        jobs = claim_group(store)
        store.erase(ANN, at=LATE)
        assert store.learn(ANN, jobs, [a_fact(50)], known_at=LATE, steps=[]) == 0
        assert store.finish(jobs) == 0
        assert store.get(ANN, [job.subject for job in jobs], hidden=True) == []
        assert store.owners() == []


class CarrySuite:
    """What `Upkeep.dump` and `load` promise of the life of records, of shares and of trust."""

    def test_all_of_it_is_dumped_and_loaded(self, store: Store) -> None:
        a, b, c = put(store, ANN, *(an_entry(number, metadata={"n": 1}) for number in (1, 2, 3)))
        learn(store, ANN, a_fact(50, a, quiet=1), a_fact(51, visibility="agent_only"))
        learn(store, ANN, a_fact(52, metadata={"page": 3}), a_fact(53, supersedes=(c,)))
        learn(store, ANN, a_fact(51, b))
        ids = [a, a_fact(50).id]
        store.touch(ANN, ids, at=LATE, action="used", strength=lambda record: 0.3)
        store.archive(ANN, [b, a_fact(52).id], at=LATE, reason="weak")
        store.end(ANN, [a_fact(50).id], at=LATE, valid_to=LATE, reason="no")
        store.put_share(a_share(1, expires_at=LATE))
        rows = list(store.dump())
        copies = [_moved(row) for row in rows]
        assert all(store.load(copies, index_row, steps=[EMBED]))
        assert [row for row in store.dump() if _is_of(row, BOB)] == copies
        everything = [a, b, c, *(a_fact(number).id for number in (50, 51, 52, 53))]
        assert store.get(BOB, everything) == store.get(ANN, everything)
        assert [store.history(BOB, each) for each in everything] == [
            store.history(ANN, each) for each in everything
        ]
        assert store.touch(BOB, ids, at=LATE, action="used", strength=lambda record: 1.0) == []
        for turn in (a, b, c):
            store.forget(BOB, [turn], at=LATE)
        left = store.listed(BOB, tier="fact", current=False, archived=True)
        assert [int(record.id, 16) for record in left] == [51, 52, 53], "what was written stands"
        store.use_space("model", DIM, 1)
        assert ill(store) == []

    def test_trust_is_loaded_where_none_was_set(self, store: Store) -> None:
        store.set_agent_trust("home", "a", 0.25, at=NOON)
        (row,) = store.dump()
        assert store.load([row], index_row, steps=[]) == [False]
        assert isinstance(row, DumpedTrust)
        elsewhere = replace(row, workspace="work")
        assert store.load([elsewhere], index_row, steps=[]) == [True]
        assert store.agent_trust("work") == {"a": 0.25}
        assert store.owners() == [], "trusting an agent makes nobody an owner"


def everything(store: Store, scope: Scope) -> list[str]:
    """Something of everything that an owner can have; the ids of its records."""
    space = store.use_space("model", DIM, 1)
    events = put(store, scope, an_entry(11), an_entry(12), key=KeyUse("k", b"body"))
    jobs = claim(store)
    store.finish(jobs, space=space.id, vectors=[vector(job.subject) for job in jobs])
    say(store, scope, an_entry(13))
    learn(store, scope, a_fact(60, events[0]), a_fact(61))
    store.archive(scope, [a_fact(61).id], at=NOON, reason="weak")
    store.forget(scope, [events[1]], at=NOON)
    store.note_context(scope, a_note(7))
    store.charge(scope, date(2026, 3, 1), calls=1, cost=0.5)
    store.put_share(a_share(1, scope))
    name = f"{scope.workspace}/{scope.user}"
    store.put_key(StoredKey(ApiKey(name, scope.workspace, scope.user, "read", NOON), name.encode()))
    store.answer(scope, "k", Answered(b"asked", 200, b"{}"), at=NOON)
    store.put_hook(Webhook(name, scope.workspace, scope.user, "https://x/", (), NOON, secret=b"s"))
    store.keep_index(scope, store.head(scope), [b"piece", b"another"])
    return [*events, a_fact(60).id, a_fact(61).id]


def _is_of(row: Dumped, scope: Scope) -> bool:
    return (row.scope.workspace, row.scope.user) == (scope.workspace, scope.user)


def _moved(row: Dumped) -> Dumped:
    """The same row as one of Bob's."""
    match row:
        case DumpedEvent() | DumpedRecord() | DumpedAct():
            return replace(row, scope=replace(row.scope, user="bob"))
        case DumpedShare():
            return DumpedShare(replace(row.share, scope=BOB))
        case _:
            raise TypeError(f"{type(row).__name__} is not what this is about")
