"""The contract of a store: records page by page, and how many came by day."""

from __future__ import annotations

from dataclasses import replace
from datetime import date, datetime, timedelta
from typing import Any

from holdfast.store.protocols import Store
from holdfast.testing.store_builders import (
    ANN,
    BOB,
    EMBED,
    NOON,
    OTHER_ANN,
    a_fact,
    an_entry,
    learn,
    put,
)
from holdfast.types import Record, Scope

_MINUTE = timedelta(minutes=1)
_LATER = NOON + timedelta(days=10)


class ListingSuite:
    """What `Listing` promises."""

    def test_pages_are_newest_first_and_meet_without_gap_or_repeat(self, store: Store) -> None:
        for number in range(1, 8):
            # Three at one moment: the id decides.
            _said(store, number, at=NOON + _MINUTE * (number // 3))
        found: list[int] = []
        before: tuple[datetime, str] | None = None
        while records := _page(store, limit=2, before=before):
            found += _numbers(records)
            before = (records[-1].known_from, records[-1].id)
        assert found == [7, 6, 5, 4, 3, 2, 1]

    def test_what_is_written_meanwhile_moves_nothing(self, store: Store) -> None:
        learn(store, ANN, *(a_fact(number) for number in range(1, 5)))
        first = _page(store, limit=2)
        learn(store, ANN, a_fact(1, content="changed"), a_fact(9), at=NOON + _MINUTE)
        store.forget(ANN, [first[-1].id], at=NOON + _MINUTE)
        rest = _page(store, before=(first[-1].known_from, first[-1].id))
        assert _numbers(first) == [4, 3]
        assert _numbers(rest) == [2, 1]
        assert rest[-1].content == "changed"

    def test_a_page_is_of_one_owner(self, store: Store) -> None:
        put(store, ANN, an_entry(1))
        put(store, BOB, an_entry(2))
        put(store, OTHER_ANN, an_entry(3))
        assert _numbers(_page(store)) == [1]
        assert _page(store, scope=Scope("nowhere", "nobody")) == []

    def test_pages_can_be_of_tiers_kinds_sessions_and_times(self, store: Store) -> None:
        _said(store, 1, session="s")
        _said(store, 2, at=NOON + _MINUTE)
        learn(store, replace(ANN, session="s"), a_fact(3, kind="goal"), at=NOON + 2 * _MINUTE)
        assert _numbers(_page(store, tiers=["session"])) == [2, 1]
        assert _numbers(_page(store, tiers=["fact", "session"])) == [3, 2, 1]
        assert _page(store, tiers=[]) == []
        assert _numbers(_page(store, kind="goal")) == [3]
        assert _numbers(_page(store, session="s")) == [3, 1]
        assert _numbers(_page(store, since=NOON + _MINUTE)) == [3, 2]
        assert _numbers(_page(store, until=NOON + _MINUTE)) == [1]

    def test_what_ended_was_put_aside_or_forgotten_is_left_out(self, store: Store) -> None:
        learn(store, ANN, *(a_fact(number) for number in range(1, 6)))
        learn(store, ANN, a_fact(6, valid_to=_LATER + _MINUTE), a_fact(7, valid_to=_LATER))
        ids = {number: f"{number:032x}" for number in range(1, 8)}
        store.end(ANN, [ids[1]], at=NOON, valid_to=NOON, reason="")
        store.archive(ANN, [ids[2]], at=NOON, reason="")
        store.forget(ANN, [ids[3]], at=NOON)
        assert _numbers(_page(store)) == [6, 5, 4]
        assert _numbers(_page(store, status="all")) == [7, 6, 5, 4, 2, 1]

    def test_pages_can_be_of_what_ended_alone(self, store: Store) -> None:
        learn(store, ANN, *(a_fact(number) for number in range(1, 5)), a_fact(5, valid_to=_LATER))
        ids = {number: f"{number:032x}" for number in range(1, 6)}
        store.end(ANN, [ids[1]], at=NOON, valid_to=NOON, reason="")
        store.archive(ANN, [ids[2]], at=NOON, reason="")
        store.end(ANN, [ids[3]], at=NOON, valid_to=NOON, reason="")
        store.forget(ANN, [ids[3]], at=NOON)
        assert _numbers(_page(store, status="ended")) == [5, 2, 1]

    def test_pages_can_be_of_an_origin_and_a_speaker(self, store: Store) -> None:
        put(store, ANN, an_entry(1, role="assistant", origin="agent"))
        put(store, ANN, an_entry(2, role="user", name="Bob"))
        learn(store, ANN, a_fact(3, origin="web"), a_fact(4))
        assert _numbers(_page(store, origin="agent")) == [4, 1]
        assert _numbers(_page(store, origin="web")) == [3]
        assert _numbers(_page(store, speaker="assistant")) == [1]
        assert _numbers(_page(store, speaker="Bob")) == [2]
        assert _numbers(_page(store, tiers=["session"], speaker="user")) == [2]
        assert _page(store, speaker="bob") == []

    def test_around_a_turn_are_those_of_its_session(self, store: Store) -> None:
        for number in range(1, 8):
            _said(store, number, session="other" if number == 3 else "s")
        store.forget(ANN, [f"{5:032x}"], at=NOON)
        assert _numbers(store.turns_around(ANN, f"{4:032x}", reach=2)) == [2, 4, 6]
        assert _numbers(store.turns_around(ANN, f"{3:032x}", reach=9)) == [3]
        assert store.turns_around(BOB, f"{4:032x}", reach=2) == []
        learn(store, ANN, a_fact(9))
        assert store.turns_around(ANN, f"{9:032x}", reach=2) == []

    def test_what_was_derived_from_a_turn(self, store: Store) -> None:
        _said(store, 1)
        _said(store, 2)
        first = f"{1:032x}"
        learn(store, ANN, a_fact(3, sources=(first,)), a_fact(4, sources=(f"{2:032x}",)))
        later = NOON + _MINUTE
        learn(store, ANN, a_fact(5, sources=(f"{2:032x}", first)), at=later)
        assert _numbers(store.listed(ANN, source=first, current=False, archived=True, limit=9)) == [
            3,
            5,
        ]
        assert _numbers(store.listed(ANN, source=first, current=False, archived=True, limit=1)) == [
            3
        ]
        assert store.listed(BOB, source=first, current=False, archived=True, limit=9) == []
        store.forget(ANN, [f"{3:032x}"], at=NOON)
        assert _numbers(store.listed(ANN, source=first, current=False, archived=True, limit=9)) == [
            5
        ]

    def test_an_agent_sees_its_own_and_nobodys(self, store: Store) -> None:
        _said(store, 1, agent="a")
        _said(store, 2, agent="b")
        _said(store, 3)
        learn(store, replace(ANN, agent="b"), a_fact(4, visibility="agent_only"))
        assert _numbers(_page(store)) == [3, 2, 1]
        assert _numbers(_page(store, scope=replace(ANN, agent="a"))) == [3, 1]
        assert _numbers(_page(store, scope=replace(ANN, agent="b"))) == [4, 3, 2]

    def test_growth_counts_by_day_and_tier(self, store: Store) -> None:
        _said(store, 1)
        _said(store, 2, at=NOON + timedelta(hours=11, minutes=59))
        _said(store, 3, at=NOON + timedelta(hours=12))
        learn(store, ANN, a_fact(4), a_fact(5))
        put(store, BOB, an_entry(6))
        store.forget(ANN, [f"{5:032x}"], at=NOON)
        today, next_day = date(2026, 3, 1), date(2026, 3, 2)
        assert store.growth(ANN, since=NOON - timedelta(days=1)) == [
            (today, "fact", 1, 1),
            (today, "session", 2, 2),
            (next_day, "session", 1, 1),
        ]
        since = NOON + timedelta(hours=12)
        assert store.growth(ANN, since=since) == [(next_day, "session", 1, 1)]
        assert store.growth(Scope("nowhere", "nobody"), since=NOON) == []

    def test_growth_counts_what_the_asker_sees(self, store: Store) -> None:
        a = replace(ANN, agent="a")
        _said(store, 1, agent="a")
        learn(store, a, a_fact(4), a_fact(5, visibility="agent_only"))
        put(store, a, an_entry(6, visibility="agent_only"))
        counts = {
            agent: [
                (each.tier, each.learned)
                for each in store.growth(replace(ANN, agent=agent), since=NOON)
            ]
            for agent in (None, "a", "b")
        }
        assert counts == {
            None: [("fact", 1), ("session", 1)],
            "a": [("fact", 2), ("session", 2)],
            "b": [],
        }


def _said(
    store: Store,
    number: int,
    *,
    at: datetime = NOON,
    agent: str | None = None,
    session: str | None = None,
) -> None:
    scope = replace(ANN, agent=agent, session=session)
    store.append(scope, [an_entry(number)], known_at=at, steps=[EMBED])


def _page(store: Store, *, scope: Scope = ANN, limit: int = 100, **which: Any) -> list[Record]:
    return store.page(scope, now=_LATER, limit=limit, **which)


def _numbers(records: list[Record]) -> list[int]:
    return [int(record.id, 16) for record in records]
