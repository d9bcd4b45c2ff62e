"""A memory whose turns are understood by hand: the tests say what was heard in them."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import holdfast
from holdfast.language.vocabulary import Typed, entity_type, relation_type
from holdfast.learn.commit import Committer, Learned
from holdfast.learn.drafts_from_rules import Drafts
from holdfast.memory.memory import Memory
from holdfast.records.graph.check import EntityDraft, RelationDraft
from holdfast.records.graph.follow import Graphs
from holdfast.records.graph.plan import Planned, plan_heard
from holdfast.testing import HashEmbedder
from holdfast.testing.store_suite import NOON
from holdfast.types import Scope

ANN = Scope("default", "ann")
DAY = timedelta(days=1)


class Heard:
    """A memory with a clock that is set by hand."""

    def __init__(self, path: Path, config: dict[str, Any] | None = None) -> None:
        self.now = NOON
        self.memory: Memory = holdfast.open(
            path, embedder=HashEmbedder(16), worker=False, clock=lambda: self.now, config=config
        )

        self.graphs = Graphs(self.memory.store)

    def plan(
        self, entities: Sequence[EntityDraft], relations: Sequence[RelationDraft] = ()
    ) -> list[Planned]:
        """What drafts would make of the graph."""
        return plan_heard(self.memory.store, self.graphs, ANN, entities, relations, now=self.now)

    def turn(self, text: str = "Something was said.", **given: Any) -> str:
        """The id of a new turn."""
        (event,) = self.memory.remember(text, user="ann", **given).events
        return event

    def learn(
        self,
        entities: Sequence[EntityDraft] = (),
        relations: Sequence[RelationDraft] = (),
        *,
        agent: str | None = None,
    ) -> int:
        """Store drafts as heard in whatever turns wait; how many."""
        jobs = self.memory.store.claim_group(
            "extract", most=64, now=self.now, lease_s=60, max_attempts=9, quiet_s=0, wait_s=0,
            ignore_backoff=True,
        )  # fmt: skip
        drafts = Drafts(tuple(entities), tuple(relations))
        made = self.memory
        committer = Committer(made.store, self.graphs, made.facts, made.notes, lambda: self.now)
        return committer.commit(Learned(Scope("default", "ann", agent=agent), jobs, drafts), [])

    def hear(self, *told: str, **given: Any) -> str:
        """One turn in which things were heard: "Bob: person" or "Bob supports Acme"."""
        event = self.turn(**given)
        things = [entity(each, event) for each in told if ":" in each]
        claims = [relation(each, event) for each in told if ":" not in each]
        assert self.learn(things, claims, agent=given.get("agent")) == 1
        return event

    def names(self, **asked: Any) -> list[str]:
        return [node.name for node in self.memory.graph.entities(user="ann", **asked)]

    def later(self, by: timedelta = DAY) -> datetime:
        self.now += by
        return self.now


def entity(told: str, *sources: str, **given: Any) -> EntityDraft:
    """A draft from "Bob: person"."""
    name, _, type = told.partition(":")
    typed = entity_type(type.strip()) if type.strip() else Typed("concept")
    return EntityDraft(name, typed, sources=sources, **{"origin": "user", **given})


def relation(told: str, *sources: str, **given: Any) -> RelationDraft:
    """A draft from "Bob supports Acme"; names of several words with underscores."""
    source, type, target = (each.replace("_", " ") for each in told.split())
    return RelationDraft(
        source, relation_type(type), target, sources=sources, **{"origin": "user", **given}
    )
