"""What was learned is stored with its jobs, and planned anew when others were faster."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from holdfast.errors import ModelUnavailable
from holdfast.language.statements.values import FactDraft
from holdfast.learn.commit import Committer, Learned
from holdfast.learn.drafts_from_rules import Drafts
from holdfast.records.facts.verbs import Facts
from holdfast.records.notes import Notes
from holdfast.store.protocols import Derived
from holdfast.testing.store_suite import a_fact
from tests.records.graph.hearing import ANN, Heard, entity


@pytest.fixture
def heard(tmp_path: Path) -> Iterator[Heard]:
    made = Heard(tmp_path / "m.db")
    with made.memory:
        yield made


class Meddled(Notes):
    """Notes that are planned last; another process does something before that."""

    def __init__(self, heard: Heard, *acts: Callable[[], object]) -> None:
        made = heard.memory
        super().__init__(
            made.store, made.worker, now=lambda: heard.now, strength=lambda _record, _now: 1.0
        )
        self.acts = list(acts)
        self.plans = 0

    def planned(self, *given: Any, **more: Any) -> list[Derived]:
        self.plans += 1
        if self.acts:
            self.acts.pop(0)()
        return super().planned(*given, **more)


def a_committer(heard: Heard, **parts: Any) -> Committer:
    made = heard.memory
    committer = Committer(made.store, heard.graphs, made.facts, made.notes, lambda: heard.now)
    return replace(committer, **parts)


def a_draft(text: str, turn: str, heard: Heard) -> FactDraft:
    return FactDraft(text, category="context", sources=(turn,), origin="user", at=heard.now)


def learned(heard: Heard, *texts: str) -> Learned:
    """Bob and some facts, of a new turn."""
    turn = heard.turn()
    jobs = heard.memory.store.claim_group(
        "extract", most=64, now=heard.now, lease_s=60, max_attempts=9, quiet_s=0, wait_s=0,
        ignore_backoff=True,
    )  # fmt: skip
    facts = tuple(a_draft(text, turn, heard) for text in texts)
    return Learned(ANN, jobs, Drafts((entity("Bob: person", turn),), (), facts))


def held(heard: Heard) -> list[str]:
    return sorted(each.content for each in heard.memory.facts.list(user="ann"))


def test_entities_facts_and_notes_are_stored_and_the_jobs_are_gone(heard: Heard) -> None:
    text = "We decided to move the office to Oslo."
    told = learned(heard, text)
    draft = replace(told.drafts.facts[0], category="decision")
    told = replace(told, drafts=replace(told.drafts, facts=(draft,)))
    assert a_committer(heard).commit(told, []) == 1
    assert heard.names() == ["Bob"]
    assert held(heard) == [text]
    assert [note.content for note in heard.memory.notes.list(user="ann")] == [text]
    assert heard.memory.store.counts(steps=["extract"]).ready == 0


@pytest.mark.parametrize("tier", ["fact", "graph"])
def test_the_plan_is_made_again_when_another_was_faster(heard: Heard, tier: str) -> None:
    store = heard.memory.store

    def other() -> None:
        # Another process: the lock of this one does not hold it.
        records = [a_fact(70)]
        if tier == "graph":
            eve = [entity("Eve: person", origin="agent")]
            records = [each.record for each in heard.plan(eve)]
        assert store.put(ANN, records, known_at=heard.now, steps=[])

    notes = Meddled(heard, other)
    committer = a_committer(heard, notes=notes)
    assert committer.commit(learned(heard, "I live in Oslo."), []) == 1
    assert notes.plans == 2
    assert "I live in Oslo." in held(heard)
    assert "Bob" in heard.names()


def test_what_another_tier_holds_does_not_matter(heard: Heard) -> None:
    notes = Meddled(heard, lambda: heard.memory.notes.add("Shipped.", user="ann"))
    assert a_committer(heard, notes=notes).commit(learned(heard, "I live in Oslo."), []) == 1
    assert notes.plans == 1


class Vectors:
    """An embedder that is asked while nothing is locked; every text is alike."""

    def __init__(self, heard: Heard, *, away: bool = False) -> None:
        self.asked: list[list[str]] = []
        self._heard = heard
        self._away = away

    def __call__(self, texts: Sequence[str]) -> Any:
        assert self._heard.graphs.writing.acquire(blocking=False)
        self._heard.graphs.writing.release()
        self.asked.append(list(texts))
        if self._away:
            raise ModelUnavailable("away")
        return np.ones((len(texts), 1), dtype=np.float32)

    def committer(self, *acts: Callable[[], object]) -> tuple[Committer, Meddled]:
        made, now = self._heard.memory, lambda: self._heard.now
        facts = Facts(made.store, made.worker, now=now, embed=self)
        notes = Meddled(self._heard, *acts)
        return a_committer(self._heard, facts=facts, notes=notes), notes


TEA, MORE_TEA = "I drink tea with milk.", "I drink tea with much milk."


@pytest.mark.parametrize("away", [False, True])
def test_vectors_are_fetched_together_while_nothing_is_locked(heard: Heard, away: bool) -> None:
    vectors = Vectors(heard, away=away)
    committer, notes = vectors.committer()
    committer.commit(learned(heard, TEA), [])
    assert vectors.asked == []
    assert committer.commit(learned(heard, MORE_TEA), []) == 1
    assert [sorted(texts) for texts in vectors.asked] == [sorted([MORE_TEA, TEA])]
    assert notes.plans == 3, "one was thrown away"
    assert held(heard) == ([TEA, MORE_TEA] if away else [MORE_TEA])


def test_quick_waits_for_no_vectors(heard: Heard) -> None:
    vectors = Vectors(heard)
    committer, notes = vectors.committer()
    for text in (TEA, MORE_TEA):
        assert committer.commit(learned(heard, text), [], quick=True) == 1
    assert (vectors.asked, notes.plans) == ([], 2)
    assert held(heard) == sorted([TEA, MORE_TEA])
