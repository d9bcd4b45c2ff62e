"""Reading stored turns again, with the real model that reads."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import holdfast
from holdfast.errors import InvalidInput
from holdfast.memory.memory import Memory
from holdfast.store.protocols import Dumped
from holdfast.types import Scope

ILSE = Scope("default", "ilse")
#: What is said, on which day of 2026.
SAID = [
    ("04-02", "hi, I'm Ilse and the bakery is on Kettle Street, we open at six"),
    ("04-02", "everything you write me short please, I read it between two trays"),
    ("04-09", "the oven man moved to Thursday. dough rests twelve hours now, not eight"),
    ("05-01", "we moved the bakery to Mill Lane, more room for the rye"),
    ("05-20", "you can go back to long answers, I hired somebody for the trays"),
    ("05-21", "never suggest margarine in anything you bake with me"),
]


def opened(path: Path, reader: str) -> Memory:
    return holdfast.open(path, worker=False, config={"extraction.reader": reader})


def tell(memory: Memory) -> None:
    for day, text in SAID:
        memory.remember(text, user="ilse", session=day, at=f"2026-{day}T09:00:00Z")
    memory.drain()


def kept(memory: Memory) -> list[Dumped]:
    """Everything that the store holds."""
    return list(memory.store.dump(vectors=False))


def orders(memory: Memory) -> list[str]:
    rules = memory.store.listed(ILSE, tier="procedure", kind="instruction")
    return sorted(each.content for each in rules)


@pytest.fixture
def by_patterns(tmp_path: Path) -> Path:
    with opened(tmp_path / "m.db", "rules") as memory:
        tell(memory)
    return tmp_path / "m.db"


def test_what_the_patterns_missed_is_found(by_patterns: Path, tmp_path: Path) -> None:
    with opened(tmp_path / "fresh.db", "model") as fresh:
        tell(fresh)
        wanted = {each.content for each in fresh.facts.list(user="ilse")}
        rules = orders(fresh)
    with opened(by_patterns, "model") as memory:
        before = {each.content for each in memory.facts.list(user="ilse")}
        assert before < wanted
        assert memory.rebuild() == len(SAID)
        assert memory.rebuild() == 0, "what waits is not queued twice"
        assert memory.drain().pending == 0
        assert {each.content for each in memory.facts.list(user="ilse")} == wanted
        assert orders(memory) == rules == ["never suggest margarine in anything you bake with me"]


def test_reading_again_what_the_same_reader_read_changes_nothing(tmp_path: Path) -> None:
    with opened(tmp_path / "m.db", "model") as memory:
        tell(memory)
        before = kept(memory)
        assert memory.rebuild() == len(SAID)
        memory.drain()
        assert kept(memory) == before


def test_what_was_forgotten_is_not_read_again(by_patterns: Path) -> None:
    with opened(by_patterns, "model") as memory:
        turns = memory.list(user="ilse", tiers=["session"]).memories
        (moved,) = [each.id for each in turns if "Mill Lane" in each.content]
        memory.forget(moved, user="ilse")
        assert memory.rebuild(workspace="default") == len(SAID) - 1
        assert memory.rebuild(workspace="elsewhere") == 0
        memory.drain()
        assert not any("Mill Lane" in each.content for each in memory.facts.list(user="ilse"))


def test_a_fact_that_was_said_twice_and_forgotten_does_not_come_back(tmp_path: Path) -> None:
    with opened(tmp_path / "m.db", "model") as memory:
        for day in (1, 2):
            memory.remember("I live in Lisbon.", user="ilse", at=f"2026-04-0{day}T09:00:00Z")
            memory.drain()
        (fact,) = memory.facts.list(user="ilse")
        memory.forget(fact.id, user="ilse")
        assert memory.rebuild() == 0
        memory.drain()
        assert memory.facts.list(user="ilse") == []


@pytest.mark.parametrize("keep", ["old", "new"])
def test_what_was_asked_back_and_answered_stays_answered(tmp_path: Path, keep: str) -> None:
    text = (
        "done. next headache: `RTNETLINK answers: Address already in use` when wg0 comes up. and"
        " generally, if I paste an error ask me which host it's from before you go guessing."
    )
    with opened(tmp_path / "m.db", "rules") as memory:
        memory.remember(text, user="ilse", at="2026-04-01T09:00:00Z")
        memory.drain()
        (asked,) = memory.store.listed(ILSE, tier="procedure", kind="doubtful")
        memory.facts.answer(asked.id, keep=keep, user="ilse")
        before = orders(memory)
        assert len(before) == (keep == "new")
    with opened(tmp_path / "m.db", "model") as memory:
        assert memory.rebuild() == 0
        memory.drain()
        assert orders(memory) == before


def test_where_nothing_reads_nothing_is_queued(by_patterns: Path) -> None:
    config = {"extraction.enabled": False}
    with holdfast.open(by_patterns, worker=False, config=config) as memory:
        with pytest.raises(InvalidInput, match=r"extraction\.enabled is false"):
            memory.rebuild()
        assert memory.store.counts().ready == 0


def test_the_command_goes_on_where_it_was_stopped(by_patterns: Path) -> None:
    with opened(by_patterns, "model") as memory:
        memory.rebuild()
        before = len(memory.facts.list(user="ilse"))

    def run(*options: str) -> dict[str, Any]:
        command = [sys.executable, "-m", "holdfast", "rebuild", "--json", "--db", str(by_patterns)]
        done = subprocess.run([*command, *options], capture_output=True, text=True, check=True)
        found: dict[str, Any] = json.loads(done.stdout)
        return found

    resumed = run("--resume")
    assert (resumed["queued"], resumed["pending"], resumed["dead"]) == (0, 0, 0)
    assert resumed["done"] >= len(SAID)
    again = run()
    assert (again["queued"], again["pending"]) == (len(SAID), 0)
    with opened(by_patterns, "model") as memory:
        assert len(memory.facts.list(user="ilse")) > before
