"""The contract of a store: what happened, in order, and the webhooks that are told."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from holdfast.store.protocols import Spent, Store
from holdfast.store.values import Happened, Mark, News, Webhook
from holdfast.testing.store_builders import (
    ANN,
    BOB,
    EMBED,
    NOON,
    OTHER_ANN,
    a_fact,
    an_entry,
    claim,
    in_threads,
    learn,
    put,
)
from holdfast.types import Scope

_START = Mark(0, 0, 0)
#: Nothing that the tests store was learned after this.
_LATE = 1 << 61
DAY = timedelta(days=1)


def a_hook(number: int = 1, **changes: Any) -> Webhook:
    """Webhook `number`, made so many hours after noon."""
    made = Webhook(
        id=f"hook-{number}",
        workspace="home",
        user=None,
        url="https://example.org/hook",
        events=("memory.stored", "fact.superseded"),
        created_at=NOON + timedelta(hours=number),
    )
    return replace(made, **changes)


def acts(store: Store, after: Mark = _START, scope: Scope = ANN) -> list[tuple[str, str]]:
    """What happened to what."""
    return [(each.action, each.id) for each in store.happenings(scope, after=after)]


class HappenedSuite:
    """What `Hooks` promises of what happened."""

    def test_what_is_stored_is_told_in_order(self, store: Store) -> None:
        ids = put(store, ANN, an_entry(1), an_entry(2))
        learn(store, ANN, a_fact(3, ids[0]))
        first, *_, last = store.happenings(ANN, after=_START)
        at_us = int(NOON.timestamp()) * 1_000_000
        assert first == Happened(first.change, ids[0], "session", "turn", "stored", at_us)
        assert (last.id, last.tier, last.action) == (a_fact(3).id, "fact", "stored")
        changes = [each.change for each in store.happenings(ANN, after=_START)]
        assert changes == sorted(set(changes))

    def test_only_what_came_after_the_mark(self, store: Store) -> None:
        put(store, ANN, an_entry(1))
        mark = Mark(0, store.head(ANN).change, 0)
        assert acts(store, mark) == []
        (second,) = put(store, ANN, an_entry(2))
        assert acts(store, mark) == [("stored", second)]

    def test_every_act_is_told_and_what_was_new_before_it(self, store: Store) -> None:
        (id,) = put(store, ANN, an_entry(1))
        mark = Mark(0, store.head(ANN).change, _LATE)
        store.forget(ANN, [id], at=NOON)
        store.forget(ANN, [id], at=NOON, undo=True)
        assert acts(store, mark) == [("forgotten", id), ("restored", id)]
        assert acts(store) == [("stored", id), ("forgotten", id), ("restored", id)]

    def test_a_use_is_told(self, store: Store) -> None:
        (id,) = put(store, ANN, an_entry(1))
        mark = Mark(0, store.head(ANN).change, _LATE)
        store.touch(ANN, [id], at=NOON, action="used", strength=lambda _: 0.5)
        assert acts(store, mark) == [("used", id)]
        assert acts(store) == [("stored", id), ("used", id)]

    def test_pages_lose_nothing(self, store: Store) -> None:
        ids = put(store, ANN, *(an_entry(n) for n in range(1, 8)))
        store.forget(ANN, [ids[0]], at=NOON)
        store.forget(ANN, [ids[3]], at=NOON)
        mark, told = _START, []
        while page := store.happenings(ANN, after=mark, limit=2):
            assert len({each.change for each in page}) <= 2
            told += page
            mark = Mark(0, page[-1].change, 0)
        assert told == store.happenings(ANN, after=_START)
        assert len(told) == 9

    def test_nobody_is_told_of_others(self, store: Store) -> None:
        for scope in (BOB, OTHER_ANN):
            put(store, scope, an_entry(1))
        assert acts(store) == []

    def test_dead_letters_of_an_owner(self, store: Store) -> None:
        (id,) = put(store, ANN, an_entry(1))
        put(store, BOB, an_entry(2))
        assert store.jobs(states=("dead",), scope=ANN) == []
        for job in claim(store):
            store.release([job], error="broken")
        (dead,) = store.jobs(states=("dead",), scope=ANN)
        assert (dead.subject, dead.step) == (id, EMBED)
        assert store.jobs(scope=OTHER_ANN) == []

    def test_since_when_the_oldest_job_waits(self, store: Store) -> None:
        assert store.counts().oldest is None
        put(store, ANN, an_entry(1))
        assert store.counts().oldest in (NOON, None)

    def test_what_all_have_spent(self, store: Store) -> None:
        assert store.spent(None, NOON.date()) == Spent()
        put(store, ANN, an_entry(1))
        put(store, BOB, an_entry(2))
        for scope in (ANN, BOB):
            store.charge(scope, NOON.date(), calls=1, prompt_tokens=10, answer_tokens=2, cost=0.5)
        assert store.spent(None, NOON.date()) == Spent(2, 20, 4, 1.0)
        assert store.spent(None, (NOON + DAY).date()) == Spent()


class HookSuite:
    """What `Hooks` promises of webhooks."""

    def test_a_webhook_is_kept_as_it_is(self, store: Store) -> None:
        first = a_hook(1, user="ann", events=(), secret=b"secret")
        second = a_hook(2, workspace="work", failures=3, failing_since=NOON, due=NOON + DAY)
        second = replace(second, error="HTTP 500", disabled_at=NOON + DAY)
        for hook in (second, first):
            store.put_hook(hook)
        assert store.hooks() == [first, second]
        assert store.hooks(workspace="work") == [second]
        assert "secret" not in repr(first)

    def test_what_was_before_it_is_no_news(self, store: Store) -> None:
        put(store, ANN, an_entry(1))
        store.put_hook(a_hook())
        assert store.news("hook-1") == []
        put(store, ANN, an_entry(2))
        put(store, BOB, an_entry(3))
        put(store, OTHER_ANN, an_entry(4))
        first, second = store.news("hook-1")
        assert first.scope == ANN
        assert first.told is not None
        assert second == News(BOB, None)
        assert len(store.news("hook-1", limit=1)) == 1

    def test_a_webhook_of_one_user_has_that_users_news(self, store: Store) -> None:
        store.put_hook(a_hook(user="bob"))
        put(store, ANN, an_entry(1))
        put(store, BOB, an_entry(2))
        assert store.news("hook-1") == [News(BOB, None)]

    def test_what_was_told_is_no_news(self, store: Store) -> None:
        store.put_hook(a_hook())
        put(store, ANN, an_entry(1))
        head = store.head(ANN)
        store.set_mark("hook-1", ANN, Mark(head.epoch, head.change - 1, 5))
        assert store.news("hook-1") == [News(ANN, Mark(head.epoch, head.change - 1, 5))]
        store.set_mark("hook-1", ANN, Mark(head.epoch, head.change, 7))
        assert store.news("hook-1") == []
        store.set_mark("hook-9", ANN, Mark(0, 1, 0))
        store.set_mark("hook-1", BOB, Mark(0, 1, 0))
        assert store.news("hook-9") == store.news("hook-1") == []

    def test_of_several_one_takes_it(self, store: Store) -> None:
        store.put_hook(a_hook())
        taken = a_hook(due=NOON + timedelta(minutes=1))
        won: list[bool] = []
        in_threads(lambda: won.append(store.put_hook(taken, was=a_hook())), 4)
        assert sorted(won) == [False, False, False, True]
        assert store.hooks() == [taken]

    @pytest.mark.parametrize(
        "other",
        [
            {"failures": 1},
            {"failing_since": NOON},
            {"due": NOON},
            {"error": "HTTP 500"},
            {"disabled_at": NOON},
        ],
        ids=lambda other: next(iter(other)),
    )
    def test_one_that_fares_otherwise_is_left_alone(
        self, store: Store, other: dict[str, Any]
    ) -> None:
        store.put_hook(a_hook(**other))
        assert not store.put_hook(a_hook(due=NOON + DAY), was=a_hook())
        assert store.hooks() == [a_hook(**other)]

    def test_how_it_fares_is_noted_by_who_has_it(self, store: Store) -> None:
        hook = a_hook(due=NOON + timedelta(minutes=1))
        store.put_hook(hook)
        failing = replace(hook, failures=1, failing_since=NOON, due=NOON, error="HTTP 500")
        assert store.put_hook(failing, was=hook)
        assert store.hooks() == [failing]
        assert not store.put_hook(failing, was=hook), "once"
        assert not store.put_hook(a_hook()), "there is one"
        assert not store.put_hook(a_hook(2), was=a_hook(2)), "there is none"
        assert store.hooks() == [failing]

    def test_one_that_is_removed_is_gone(self, store: Store) -> None:
        put(store, ANN, an_entry(1))
        store.put_hook(a_hook())
        assert store.put_hook(None, was=a_hook())
        assert not store.put_hook(None, was=a_hook())
        assert store.hooks() == []
        assert store.news("hook-1") == []

    def test_an_erased_user_takes_the_webhooks_of_that_user_along(self, store: Store) -> None:
        put(store, ANN, an_entry(1))
        store.put_hook(a_hook(1, user="ann"))
        store.put_hook(a_hook(2))
        store.erase(ANN, at=NOON)
        assert store.hooks() == [a_hook(2)]
        put(store, ANN, an_entry(1))
        assert store.news("hook-2") == [News(ANN, None)]
