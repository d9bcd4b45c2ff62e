"""`forget` and `restore` that are cut off after any of their commits and asked for again."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from itertools import count
from pathlib import Path
from typing import Any

import pytest

import holdfast
from holdfast.memory.memory import Memory
from holdfast.testing import HashEmbedder
from holdfast.types import ALL_TIERS, Scope
from tests.service.dying import Died, Dying

START = datetime(2026, 3, 1, tzinfo=UTC)
ANN = Scope("default", "ann")


def opened(path: Path) -> Memory:
    ticks = count()
    return holdfast.open(
        path,
        embedder=HashEmbedder(16),
        config={"extraction": {"provider": "rules"}},
        worker=False,
        clock=lambda: START + timedelta(seconds=next(ticks)),
    )


def rules(memory: Memory) -> str:
    memory.remember("Always answer in French.", user="ann")
    return memory.remember("From now on, always answer in English.", user="ann").events[0]


def turns(memory: Memory) -> str:
    ids: list[str] = []
    for text in ("I live in Paris. Never use tables.", "I live in Rome now. You can use tables."):
        ids += memory.remember(text, user="ann").events
        memory.drain()
    return ids[1]


def facts(memory: Memory) -> str:
    memory.facts.add("I live in Paris.", user="ann")
    return memory.facts.add("I live in Rome now.", user="ann").id


def entries(memory: Memory) -> str:
    return [memory.knowledge.set("plan", each, user="ann").id for each in "AB"][1]


def fields(memory: Memory) -> str:
    for each in ("Paris", "Rome"):
        memory.profiles.set("home", each, user="ann")
    return memory.store.listed(ANN, tier="profile", kind="home")[0].id


def procedures(memory: Memory) -> str:
    first = memory.procedures.add("Deploy", steps=["Build"], user="ann")
    return memory.procedures.update(first.id, steps=["Build", "Test"], user="ann").id


FILLS = (rules, turns, facts, entries, fields, procedures)


def state(memory: Memory) -> list[tuple[Any, ...]]:
    """What is there, and what of it holds."""
    every = [
        each
        for tier in ALL_TIERS
        for each in memory.store.listed(ANN, tier=tier, current=False, archived=True)
    ]
    return sorted((each.tier, each.content, each.valid_to is None) for each in every)


def cut(memory: Memory, commits: int | None, act: Callable[[], bool]) -> int:
    """Act with a store that dies after so many commits; how many there were."""
    store: Any = memory.store
    lives = store._writer
    store._writer = dying = Dying(lives, commits)
    try:
        if commits is None:
            assert act()
        else:
            with pytest.raises(Died):
                act()
    finally:
        store._writer = lives
    return dying.commits


@pytest.mark.parametrize("verb", ["forget", "restore"])
@pytest.mark.parametrize("fill", FILLS)
def test_what_was_cut_off_is_done_by_asking_again(
    fill: Callable[[Memory], str], verb: str, tmp_path: Path
) -> None:
    def made(name: str) -> tuple[Memory, Callable[[], bool]]:
        memory = opened(tmp_path / name)
        id = fill(memory)
        if verb == "restore":
            memory.forget(id, user="ann")
        return memory, lambda: getattr(memory, verb)(id, user="ann")

    memory, act = made("whole.db")
    with memory:
        before = state(memory)
        commits = cut(memory, None, act)
        whole = state(memory)
        assert whole != before
        assert not act()
        assert state(memory) == whole
    assert commits > 1, "what it had replaced is seen to after it"
    for number in range(1, commits):
        memory, act = made(f"{number}.db")
        with memory:
            cut(memory, number, act)
            assert state(memory) != whole, "or nothing is left to do"
            act()
            assert state(memory) == whole
