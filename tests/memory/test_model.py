"""The verbs against a model of a few dictionaries: any sequence of calls gives equal answers.

100 sequences by default; HYPOTHESIS_SEQUENCES=1000 runs a thousand.
"""

import os
import shutil
import tempfile
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    Bundle,
    RuleBasedStateMachine,
    initialize,
    invariant,
    multiple,
    precondition,
    rule,
    run_state_machine_as_test,
)

import holdfast
from holdfast.errors import Conflict, NotFound
from holdfast.memory.memory import Memory
from holdfast.records.entries import index_row
from holdfast.testing import HashEmbedder
from holdfast.types import Receipt

SEQUENCES = int(os.environ.get("HYPOTHESIS_SEQUENCES", "100"))
STEPS = 25

# Three users in two workspaces; two share a name, two share a workspace.
OWNERS = [("default", "ann"), ("default", "bob"), ("team", "ann")]
OWNER = st.sampled_from(OWNERS)
KEY = st.sampled_from(["k1", "k2"])
START = datetime(2025, 1, 1, tzinfo=UTC)
AT = st.one_of(st.none(), st.integers(0, 100).map(lambda day: START + timedelta(days=day)))
# Every step syncs; what a power cut does is another test's subject, so memory will do for a disk.
RAM = Path("/dev/shm")
FOLDER = str(RAM) if os.access(RAM, os.W_OK) else None


@dataclass
class Known:
    """What the model knows of one event."""

    owner: tuple[str, str]
    token: str
    content: str
    at: datetime
    metadata: dict[str, Any]
    forgotten: bool = False
    embedded: bool = False
    actions: list[str] = field(default_factory=lambda: ["stored"])


class Verbs(RuleBasedStateMachine):
    """Two handles on one file, and a dictionary that must agree with both."""

    events = Bundle("events")

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp(prefix="holdfast-model-", dir=FOLDER))
        self.now = datetime(2026, 1, 1, tzinfo=UTC)
        self.tokens = count()
        self.known: dict[str, Known] = {}
        self.keys: dict[tuple[tuple[str, str], str], tuple[dict[str, Any], tuple[str, ...]]] = {}
        self.order: dict[tuple[str, str], list[str]] = {owner: [] for owner in OWNERS}
        self.handles = [self.opened(), self.opened()]

    def opened(self) -> Memory:
        return holdfast.open(
            self.folder / "m.db", embedder=HashEmbedder(16), worker=False, clock=lambda: self.now
        )

    def tick(self) -> None:
        self.now += timedelta(seconds=1)

    # Writing

    def a_message(self, at: datetime | None, words: str) -> tuple[str, dict[str, Any]]:
        token = f"token{next(self.tokens)}x"
        message: dict[str, Any] = {"content": f"{words} {token}", "metadata": {"token": token}}
        if at is not None:
            message["at"] = at
        return token, message

    def learn(
        self, owner: tuple[str, str], receipt: Receipt, said: list[tuple[str, dict[str, Any]]]
    ) -> None:
        assert not receipt.duplicate
        assert receipt.state == "stored"
        assert len(receipt.events) == len(said)
        assert list(receipt.events) == sorted(receipt.events)
        for event, (token, message) in zip(receipt.events, said, strict=True):
            assert event not in self.known
            self.known[event] = Known(
                owner, token, message["content"], message.get("at", self.now), message["metadata"]
            )
            self.order[owner].append(event)

    @initialize(target=events, owner=OWNER)
    def begin(self, owner: tuple[str, str]) -> object:
        return self.remember_one(0, owner, None, "cat")

    def remember_one(
        self, handle: int, owner: tuple[str, str], at: datetime | None, words: str
    ) -> object:
        self.tick()
        token, message = self.a_message(at, words)
        receipt = self.handles[handle].remember(message, workspace=owner[0], user=owner[1])
        self.learn(owner, receipt, [(token, message)])
        return receipt.events[0]

    @rule(
        target=events,
        handle=st.integers(0, 1),
        owner=OWNER,
        at=AT,
        words=st.sampled_from(["cat", "dog and cat", "東京", "Ann's bird"]),
    )
    def remember(
        self, handle: int, owner: tuple[str, str], at: datetime | None, words: str
    ) -> object:
        return self.remember_one(handle, owner, at, words)

    @rule(target=events, handle=st.integers(0, 1), owner=OWNER, size=st.integers(2, 4))
    def remember_a_batch(self, handle: int, owner: tuple[str, str], size: int) -> object:
        self.tick()
        said = [self.a_message(None, "cat") for _ in range(size)]
        receipt = self.handles[handle].remember(
            [message for _, message in said], workspace=owner[0], user=owner[1]
        )
        self.learn(owner, receipt, said)
        return multiple(*receipt.events)

    @rule(handle=st.integers(0, 1), owner=OWNER, size=st.integers(1, 3), bad=st.integers(0, 2))
    def a_bad_batch_stores_nothing(
        self, handle: int, owner: tuple[str, str], size: int, bad: int
    ) -> None:
        messages = [self.a_message(None, "cat")[1] for _ in range(size)]
        messages.insert(bad, {"content": " "})
        with pytest.raises(holdfast.HoldfastError, match=r"messages\[\d\]\.content is blank"):
            self.handles[handle].remember(messages, workspace=owner[0], user=owner[1], key="k1")

    @rule(target=events, handle=st.integers(0, 1), owner=OWNER, key=KEY)
    def remember_with_a_key(self, handle: int, owner: tuple[str, str], key: str) -> object:
        self.tick()
        token, message = self.a_message(None, "cat")
        call: dict[str, Any] = {"workspace": owner[0], "user": owner[1], "key": key}
        if (owner, key) in self.keys:
            with pytest.raises(Conflict):
                self.handles[handle].remember(message, **call)
            return multiple()
        receipt = self.handles[handle].remember(message, **call)
        self.learn(owner, receipt, [(token, message)])
        self.keys[owner, key] = (message, receipt.events)
        return receipt.events[0]

    @precondition(lambda self: self.keys)
    @rule(handle=st.integers(0, 1), data=st.data())
    def retry(self, handle: int, data: st.DataObject) -> None:
        owner, key = data.draw(st.sampled_from(sorted(self.keys)))
        message, first = self.keys[owner, key]
        self.tick()
        receipt = self.handles[handle].remember(
            dict(reversed(message.items())), workspace=owner[0], user=owner[1], key=key
        )
        assert (receipt.events, receipt.duplicate, receipt.key) == (first, True, key)
        expected = "done" if self.known[first[0]].embedded else "stored"
        assert receipt.state == expected

    # Forgetting

    @rule(handle=st.integers(0, 1), event=events, forget=st.booleans())
    def forget_or_restore(self, handle: int, event: str, forget: bool) -> None:
        self.tick()
        known = self.known[event]
        verb = self.handles[handle].forget if forget else self.handles[handle].restore
        changed = verb(event, workspace=known.owner[0], user=known.owner[1])
        assert changed == (known.forgotten != forget)
        known.forgotten = forget
        if changed:
            known.actions.append("forgotten" if forget else "restored")

    @rule(handle=st.integers(0, 1), event=events, stranger=OWNER)
    def a_stranger_finds_nothing(self, handle: int, event: str, stranger: tuple[str, str]) -> None:
        if stranger == self.known[event].owner:
            return
        scope = {"workspace": stranger[0], "user": stranger[1]}
        memory = self.handles[handle]
        for verb in (memory.forget, memory.restore, memory.history, memory.status):
            with pytest.raises(NotFound):
                verb(event, **scope)
        hits = memory.recall(self.known[event].token, workspace=stranger[0], user=stranger[1])
        assert event not in {hit.id for hit in hits}

    # Reading

    @rule(handle=st.integers(0, 1), event=events)
    def recall_by_token(self, handle: int, event: str) -> None:
        known = self.known[event]
        hits = self.handles[handle].recall(
            known.token, workspace=known.owner[0], user=known.owner[1], limit=200
        )
        alive = {each for each in self.order[known.owner] if not self.known[each].forgotten}
        assert {hit.id for hit in hits} <= alive
        assert hits.degraded == ()
        if known.forgotten:
            assert event not in {hit.id for hit in hits}
            return
        first = hits[0]
        assert (first.id, first.content, first.metadata) == (event, known.content, known.metadata)
        assert (first.created_at, first.sources) == (known.at, (event,))
        # A turn that waits for its vector may still profit from its neighbours'.
        assert known.embedded or "vector" not in first.why.get("vector", {})
        assert first.why["literal"] == [known.token]

    @rule(handle=st.integers(0, 1), owner=OWNER, as_of=AT)
    def recall_what_all_share(
        self, handle: int, owner: tuple[str, str], as_of: datetime | None
    ) -> None:
        hits = self.handles[handle].recall(
            "cat", workspace=owner[0], user=owner[1], limit=200, as_of=as_of
        )
        seen = [self.known[event] for event in self.order[owner]]
        seen = [each for each in seen if not each.forgotten]
        if as_of is not None:
            seen = [each for each in seen if each.at <= as_of]
        # What holds the word is found; by meaning alone only what points the question's way is.
        must = {each.token for each in seen if "cat" in each.content}
        may = must | {each.token for each in seen if each.embedded}
        found = [hit.metadata["token"] for hit in hits]
        assert must <= set(found) <= may
        assert len(found) == len(set(found))

    @rule(handle=st.integers(0, 1), event=events)
    def status(self, handle: int, event: str) -> None:
        known = self.known[event]
        status = self.handles[handle].status(event, workspace=known.owner[0], user=known.owner[1])
        expected = ("done", ()) if known.embedded else ("stored", ("embed", "extract"))
        assert (status.state, status.pending, status.error) == (*expected, None)

    @rule(handle=st.integers(0, 1), event=events)
    def history(self, handle: int, event: str) -> None:
        known = self.known[event]
        history = self.handles[handle].history(event, workspace=known.owner[0], user=known.owner[1])
        assert [each.action for each in history] == known.actions
        content = None if known.forgotten else known.content
        assert {each.content for each in history} == {content}
        assert [each.at for each in history] == sorted(each.at for each in history)

    # Running

    @rule(handle=st.integers(0, 1))
    def drain(self, handle: int) -> None:
        drained = self.handles[handle].drain()
        pending = [known for known in self.known.values() if not known.embedded]
        # Each is embedded and read.
        assert (drained.done, drained.dead, drained.pending) == (2 * len(pending), 0, 0)
        for known in pending:
            known.embedded = True

    @rule(handle=st.integers(0, 1))
    def close_and_open_again(self, handle: int) -> None:
        self.handles[handle].close()
        self.handles[handle] = self.opened()

    @invariant()
    def everything_alive_is_in_the_log(self) -> None:
        for workspace, user in OWNERS:
            scanned = self.handles[0].store.events(holdfast.Scope(workspace, user))
            alive = [each for each in self.order[workspace, user] if not self.known[each].forgotten]
            assert [event.id for event in scanned] == alive

    def teardown(self) -> None:
        try:
            stats = self.handles[1].store.stats()
            assert stats["events"] == len(self.known)
            assert stats["forgotten"] == sum(known.forgotten for known in self.known.values())
            assert stats["vectors"] == sum(known.embedded for known in self.known.values())
            assert stats["ready"] == 2 * (len(self.known) - stats["vectors"])
            findings = self.handles[0].store.check(index_row)
            assert [finding.detail for finding in findings if not finding.ok] == []
        finally:
            for handle in self.handles:
                handle.close()
            shutil.rmtree(self.folder)


@pytest.mark.slow
@pytest.mark.timeout(3600 if SEQUENCES > 100 else 120)
def test_any_sequence_of_verbs_agrees_with_the_model() -> None:
    run_state_machine_as_test(
        Verbs,
        settings=settings(
            max_examples=SEQUENCES,
            stateful_step_count=STEPS,
            deadline=None,
            suppress_health_check=list(HealthCheck),
        ),
    )
