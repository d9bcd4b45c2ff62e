"""Facts over a real store, with a clock that is set by hand."""

from __future__ import annotations

from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from holdfast.border.ids import Ids
from holdfast.config import Config
from holdfast.index.view import packed
from holdfast.language.statements.values import Fact, FactDraft
from holdfast.language.terms import terms
from holdfast.learn.worker import Worker
from holdfast.records.facts.judge import Opinion, nobody
from holdfast.records.facts.verbs import TIERS, Facts
from holdfast.store.protocols import Derived, LogEntry
from holdfast.store.sqlite import SqliteStore
from holdfast.testing import HashEmbedder
from holdfast.testing.store_suite import NOON
from holdfast.types import Scope

ANN = Scope("default", "ann")
DAY = timedelta(days=1)


class Stated:
    """The facts of one store."""

    def __init__(self, path: Path, **given: Any) -> None:
        self.now = NOON
        self.store = SqliteStore(path)
        worker = Worker(self.store, HashEmbedder(16), config=Config(), clock=lambda: self.now)
        self.facts = Facts(self.store, worker, now=lambda: self.now, **given)
        self._ids = Ids()

    def later(self, by: timedelta = DAY) -> datetime:
        self.now += by
        return self.now

    def add(self, text: str, **given: Any) -> Fact:
        return self.facts.add(text, **{"user": "ann", **given})

    def turn(self, text: str, *, scope: Scope = ANN, at: datetime | None = None) -> str:
        """The id of a new turn."""
        (id,) = self._ids.make(1, self.now)
        row, length = packed(terms(text))
        entry = LogEntry(id, "user", text, at or self.now, "user", row, length)
        self.store.append(scope, [entry], known_at=self.now, steps=[])
        return id

    def hear(self, *texts: str, scope: Scope = ANN, **given: Any) -> list[Derived]:
        """One turn for each text, and what was learned from them together; stored."""
        return self.learn([self.draft(text, scope=scope, **given) for text in texts], scope=scope)

    def draft(self, text: str, *, scope: Scope = ANN, **given: Any) -> FactDraft:
        at = given.pop("at", self.now)
        source = given.pop("source", None) or self.turn(text, scope=scope, at=at)
        told = {"category": "context", "sources": (source,), "origin": "user", "at": at}
        return FactDraft(text=text, **{**told, **given})

    def learn(
        self,
        drafts: list[FactDraft],
        scope: Scope = ANN,
        opinion: Opinion = nobody,
        **read: Any,
    ) -> list[Derived]:
        since = self.store.head(scope).change
        records = self.facts.planned(scope, drafts, now=self.now, opinion=opinion, **read)
        assert self.store.put(scope, records, known_at=self.now, steps=[], since=since, tiers=TIERS)
        return records

    def texts(self, **asked: Any) -> list[str]:
        return [each.content for each in self.facts.list(**{"user": "ann", **asked})]
