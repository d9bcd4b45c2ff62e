"""A file and a server give the same answers: any sequence of verbs on both, compared after each.

100 sequences by default; HYPOTHESIS_SEQUENCES=1000 runs a thousand.
"""

import os
import random
import shutil
import tempfile
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule, run_state_machine_as_test

import holdfast
from holdfast.border import ids
from holdfast.errors import HoldfastError
from holdfast.memory.memory import Memory
from holdfast.testing import HashEmbedder
from holdfast.types import Scope
from tests.memory.test_model import FOLDER, OWNERS, SEQUENCES
from tests.servers import empty_store_url

STEPS = 20
START = datetime(2026, 1, 1, tzinfo=UTC)
SAID = (
    "I live in Paris.", "I live in Lisbon now.", "Always answer in French.", "thanks!",
    "My sister Ana works at Acme.", "I am allergic to nuts.", "No more French, please.",
    "Remember that the gate code is 4711.", "We decided to ship on Friday.",
    "東京に住んでいます。", "Ana moved to Oslo.",
)  # fmt: skip
ASKED = ("Where do I live?", "How should you answer?", "Where does Ana work?", "gate code", "東京")
OWNER = st.sampled_from(OWNERS)
SAYING = st.lists(st.sampled_from(SAID), min_size=1, max_size=4)


class Both(RuleBasedStateMachine):
    """One memory in a file, one on a server, with one clock and the same ids."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp(prefix="holdfast-parity-", dir=FOLDER))
        self.now = START
        self.step = 0
        self.memories = [self.opened(self.folder / "m.db"), self.opened(empty_store_url())]

    def opened(self, url: str | Path) -> Memory:
        return holdfast.open(url, embedder=HashEmbedder(16), worker=False, clock=lambda: self.now)

    def both(self, verb: Callable[[Memory], Any]) -> Any:
        """Do the same with both, by the same chance, and compare what it gave."""
        self.now += timedelta(minutes=7)
        self.step += 1
        file, server = (self.given(memory, verb) for memory in self.memories)
        assert file == server
        return file

    def given(self, memory: Memory, verb: Callable[[Memory], Any]) -> Any:
        chance = random.Random(self.step)
        ids.os.urandom = chance.randbytes  # type: ignore[attr-defined]
        try:
            return verb(memory)
        except HoldfastError as error:
            return type(error), str(error)
        finally:
            ids.os.urandom = URANDOM  # type: ignore[attr-defined]

    @rule(
        owner=OWNER,
        said=SAYING,
        session=st.sampled_from([None, "s1"]),
        agent=st.sampled_from([None, "a"]),
    )
    def remember(
        self, owner: tuple[str, str], said: list[str], session: str | None, agent: str | None
    ) -> None:
        whose = {"workspace": owner[0], "user": owner[1], "session": session, "agent": agent}
        messages = [{"role": "user", "content": each} for each in said]
        given = self.both(lambda memory: memory.remember(messages, **whose).events)  # type: ignore[arg-type]
        assert len(given) == len(said)

    @rule()
    def drain(self) -> None:
        def drained(memory: Memory) -> object:
            done = memory.drain()
            return done.done, done.dead, done.pending

        self.both(drained)

    @rule(owner=OWNER, which=st.integers(0, 30), undo=st.booleans())
    def forget(self, owner: tuple[str, str], which: int, undo: bool) -> None:
        id = self.some_id(owner, which)
        self.both(
            lambda memory: (memory.restore if undo else memory.forget)(
                id, workspace=owner[0], user=owner[1]
            )
        )

    @rule(owner=OWNER, which=st.integers(0, 30), helped=st.booleans())
    def feedback(self, owner: tuple[str, str], which: int, helped: bool) -> None:
        id = self.some_id(owner, which)
        self.both(
            lambda memory: memory.feedback(
                id, 1 if helped else -1, workspace=owner[0], user=owner[1]
            )
        )

    @rule(owner=OWNER, days=st.integers(1, 200))
    def wait_and_sweep(self, owner: tuple[str, str], days: int) -> None:
        self.now += timedelta(days=days)
        self.both(lambda memory: memory.profile(workspace=owner[0], user=owner[1]))

    @rule(owner=OWNER)
    def erase(self, owner: tuple[str, str]) -> None:
        self.both(lambda memory: memory.erase(workspace=owner[0], user=owner[1]).removed)

    @rule(owner=OWNER, asked=st.sampled_from(ASKED), agent=st.sampled_from([None, "a"]))
    def recall(self, owner: tuple[str, str], asked: str, agent: str | None) -> None:
        whose = {"workspace": owner[0], "user": owner[1], "agent": agent}
        self.both(lambda memory: list(memory.recall(asked, **whose)))  # type: ignore[arg-type]

    @rule(owner=OWNER, asked=st.sampled_from(ASKED))
    def context(self, owner: tuple[str, str], asked: str) -> None:
        def told(memory: Memory) -> object:
            made = memory.context(asked, workspace=owner[0], user=owner[1])
            return made.tokens, [hit.id for hit in made.hits], made.dropped

        self.both(told)

    def some_id(self, owner: tuple[str, str], which: int) -> str:
        records = self.memories[0].store.page(Scope(*owner), now=self.now, limit=50, status="all")
        return records[which % len(records)].id if records else "0" * 32

    @invariant()
    def both_hold_the_same(self) -> None:
        file, server = self.memories
        assert list(file.store.dump()) == list(server.store.dump())
        assert file.store.counts() == server.store.counts()
        for owner in OWNERS:
            scope = Scope(*owner)
            assert file.store.head(scope) == server.store.head(scope)
            assert file.store.changes(scope, after=0) == server.store.changes(scope, after=0)

    def teardown(self) -> None:
        SEEN["events"] += self.memories[0].store.stats()["events"]
        for memory in self.memories:
            memory.close()
        shutil.rmtree(self.folder)


URANDOM = os.urandom
SEEN = {"events": 0}


@pytest.mark.slow
@pytest.mark.timeout(7200 if SEQUENCES > 100 else 600)
def test_any_sequence_of_verbs_gives_the_same_on_both() -> None:
    run_state_machine_as_test(
        Both,
        settings=settings(
            max_examples=SEQUENCES,
            stateful_step_count=STEPS,
            deadline=None,
            suppress_health_check=list(HealthCheck),
        ),
    )
    assert SEEN["events"] > SEQUENCES, "else they were equal for want of anything"
