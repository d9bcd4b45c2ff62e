"""The searcher: keeps what is needed between questions and turns a query into hits.

It knows which vectors answer (our model's, or an older model's while ours are being made), keeps
the indexes of the users in use and the embeddings of recent questions, and reads the records of the
winners. The order of the stages is in pipeline.py.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import replace
from datetime import datetime
from functools import partial

import numpy as np
from numpy.typing import NDArray

from holdfast.config import Config
from holdfast.errors import ModelError
from holdfast.index.large import LargeIndexes, LargeQuestion
from holdfast.index.look import one_look
from holdfast.index.resident import ALL, LOUD, IndexCache, View, ViewPart
from holdfast.language.filler import says_nothing
from holdfast.language.questions import english_only
from holdfast.language.terms import terms
from holdfast.models.base import Embedder, embedded, pay_for
from holdfast.models.reader import LineReader, is_general, is_idle, is_question
from holdfast.recall.hits import hit
from holdfast.recall.pipeline import Ranked, rank
from holdfast.recall.profile import Detected, TriggerVectors, choose
from holdfast.recall.query import Query
from holdfast.recall.sources.blend import role_shares
from holdfast.recall.sources.graph import reach, reached_ids, with_paths, without_loose
from holdfast.recall.stages.replaced import Standings, standings
from holdfast.recall.stages.rerank import Reranker
from holdfast.recall.stages.times import named_times
from holdfast.records.facts.follow import FactCache
from holdfast.records.graph.adjacency import Adjacency
from holdfast.records.graph.follow import Graphs
from holdfast.settings import DECAY, GENERAL, Decay, Index
from holdfast.store.protocols import Space, Store
from holdfast.store.values import Narrowed
from holdfast.types import Event, Hits, Record, Scope

log = logging.getLogger("holdfast")

_REMEMBERED_QUERIES = 512
_LOOK_AGAIN_SECONDS = 2.0
#: Tiers that may hold what quotes a turn: searched only when they are named.
_QUIET_TIERS = frozenset({"fact", "note"})

#: What an asker sees beside what is their own: the team's, and what others share with them.
Parts = Callable[[Scope], Sequence[ViewPart]]


class Searcher:
    """Answers queries over a store. Threads may share it."""

    def __init__(  # noqa: PLR0913 (what it searches with)
        self,
        store: Store,
        embedder: Embedder,
        *,
        recipe: int,
        older_embedder: Callable[[str], Embedder | None],
        cache_bytes: int,
        index: Index,
        decay: Decay = DECAY,
        reranker: Reranker | None = None,
        reader: LineReader | None = None,
        parts: Parts = lambda _: (),
    ) -> None:
        self._store = store
        self._parts = parts
        self._embedder = embedder
        self._recipe = recipe
        self._older_embedder = older_embedder
        self._indexes = IndexCache(store, most_bytes=cache_bytes)
        self._large = LargeIndexes(store, index, most_bytes=cache_bytes)
        #: The knowledge graphs of the users in use.
        self.graphs = Graphs(store, decay)
        #: The facts of the users in use, which know what replaced what; None: nobody knows.
        self.facts: FactCache | None = None
        self._vectors = _QueryVectors()
        self._triggers = TriggerVectors()
        self._reranker = reranker
        self._reader = reader
        self._answering: tuple[Space, Embedder] | None = None
        self._looked = 0.0
        # Ranking is many small steps that all need the interpreter: threads that take turns at it
        # are half as fast again as threads that fight for it at every step (measured, 8 threads).
        self._ranking = threading.Lock()

    def warm(self) -> None:
        """Load the model now instead of at the first question."""
        self._query_vector("warm up", self._answering_space())

    def cache_size(self) -> tuple[int, int]:
        """How many indexes are in memory, and how many bytes they take."""
        return self._indexes.usage()

    def settle(self) -> None:
        """Return once what is written down of the indexes is."""
        self._indexes.settle()
        self._large.settle()

    def catch_up(self, owners: Collection[Scope]) -> None:
        """Bring what is in memory of these owners up to date, so that no question has to."""
        for owner in owners:
            self._indexes.catch_up(owner)

    def search(self, asked: Query, config: Config, *, task_profile: str | None = None) -> Hits:
        """The hits for a query."""
        with one_look():
            return self._search(asked, config, task_profile)

    def _search(self, asked: Query, config: Config, task_profile: str | None) -> Hits:
        # First of all: a share that ends meanwhile still counts.
        also = self._parts(asked.scope)
        asked, unread = self._read_question(asked) if asked.packing else (asked, ())
        answering = self._answering_space()
        vector, degraded = self._query_vector(asked.text, answering)
        triggers = None
        if vector is not None and answering is not None and config.boosting.enabled:
            triggers = self._triggers.get(answering[1], config.boosting.profiles)
        profile, detected = choose(
            config.boosting, asked.text, vector, triggers, named=task_profile
        )
        graph = self.graphs.of(asked.scope, patient=True)
        view = self._view(asked, answering[0] if answering else None, also, vector, graph)
        read = _ReadRecords(self._store, view)
        with self._ranking:
            around = None
            if graph.ids or graph.loose:
                view = without_loose(view, graph)
                around = reach(view, asked, graph)
            answer = rank(
                view,
                asked,
                vector,
                config=config,
                content=read.contents,
                profile=profile,
                reranker=self._reranker,
                graph=None if around is None else around.scores,
                standings=self._standings(asked.scope),
            )
            ranked = _with_index(with_paths(answer.ranked, around), view)
            hits = self._to_hits(read, ranked, detected)
        language = english_only(asked.text)
        told = (*unread, *degraded, *answer.degraded)
        hits.degraded = (*told, *([language] if language else []))
        hits.task_profile = detected.name
        return hits

    def _read_question(self, asked: Query) -> tuple[Query, Sequence[str]]:
        """The question with whether it asks anything, and anything that a memory could answer; and
        what is told if it cannot be read. Who says where to look wants it looked up."""
        text, reader = asked.text, self._reader
        if says_nothing(text):
            return replace(asked, idle=True), ()
        if reader is None:
            return asked, ()
        is_narrowed = asked.tiers or asked.filters or asked.as_of or asked.known_at
        try:
            if is_idle(text, reader):
                return replace(asked, idle=True), ()
            if is_narrowed or not is_general(text, reader):
                return asked, ()
            return replace(asked, general=True, trivia=is_question(text, reader)), ()
        except ModelError as error:
            return asked, (f"the question is not read: {error}",)

    def _standings(self, scope: Scope) -> Standings | None:
        return None if self.facts is None else standings(self.facts.of(scope))

    def _view(
        self,
        asked: Query,
        space: Space | None,
        also: Sequence[ViewPart],
        vector: NDArray[np.float32] | None,
        graph: Adjacency,
    ) -> View:
        """The documents that the question is put to. In the graphs of others, too, a
        relation may have lost an end."""
        which = _which(asked.tiers)
        if which not in (LOUD, ALL):
            also = [part for part in also if part.tiers is None or which in part.tiers]
        named = partial(_by_what, asked, vector, graph)
        view = self._large.view(asked.scope, space, which, named, also=also)
        if view is None:
            view = self._indexes.view(asked.scope, space, which, also=also)
        for place, part in enumerate(view.parts[1:], start=1):
            if _has_graph(view, place):
                theirs = replace(view, numbers=view.numbers_of[place])
                left = without_loose(theirs, self.graphs.of(part.scope, patient=True))
                view = replace(left, numbers=view.numbers)
        return view

    def _answering_space(self) -> tuple[Space, Embedder] | None:
        """The vectors that answer and the model for the question: our own, or those of an older
        model while ours are being made; None when there are none at all."""
        if self._answering is None or not self._answering[0].dim or self._stale():
            self._answering = None
            spaces = [space for space in self._store.spaces() if space.state != "retired"]
            ours = [
                s for s in spaces if (s.model, s.recipe) == (self._embedder.model_id, self._recipe)
            ]
            if ours and ours[-1].state == "active":
                self._answering = (ours[-1], self._embedder)
                return self._answering
            for space in spaces:
                older = self._older_embedder(space.model)
                if space.state == "active" and older is not None and older.dim == space.dim:
                    return space, older
            return (ours[-1], self._embedder) if ours else None
        return self._answering

    def _stale(self) -> bool:
        """Now and then: has another process retired the vectors that answer?"""
        late = time.monotonic() - self._looked > _LOOK_AGAIN_SECONDS
        if late:
            self._looked = time.monotonic()
        return late

    def _query_vector(
        self, text: str, answering: tuple[Space, Embedder] | None
    ) -> tuple[NDArray[np.float32] | None, tuple[str, ...]]:
        if answering is None:
            return None, ()
        try:
            return self._vectors.get(answering[1], answering[0], text), ()
        except ModelError as error:
            # Keywords still answer, and the answer says so.
            # The kind of error only: its text may quote the question.
            log.warning("recall without vectors: %s", type(error.__cause__ or error).__name__)
            return None, (f"vector: {error}",)

    def _to_hits(self, read: _ReadRecords, ranked: Sequence[Ranked], detected: Detected) -> Hits:
        records = read.records([each.doc for each in ranked])
        profile: dict[str, object] = {}
        if detected.name != GENERAL:
            found = {"name": detected.name, "score": round(detected.score, 4)}
            profile = {"profile": {**found, "triggers": list(detected.triggers)}}
        events = read.events(records.values())
        return Hits(
            hit(
                records[each.doc],
                score=round(each.score, 6),
                why={**each.why, **profile},
                sources=events,
                part=read.part(each.doc),
            )
            for each in ranked
            if each.doc in records
        )


def _by_what(asked: Query, vector: NDArray[np.float32] | None, graph: Adjacency) -> LargeQuestion:
    """By what documents are named, where not all of them are in memory."""
    return LargeQuestion(
        terms=asked.terms,
        vector=vector,
        narrowed=Narrowed(
            tiers=asked.tiers or (),
            texts=tuple(asked.filters.items()),
            until_us=None if asked.as_of is None else _us(asked.as_of),
        ),
        ids=reached_ids(asked, graph) if graph.ids else (),
        coded=frozenset(term for word in asked.coded for term in terms(word)),
        times_us=tuple((_us(span.start), _us(span.end)) for span in named_times(asked)),
        limit=asked.limit,
        roles=role_shares(asked.text),
    )


def _us(moment: datetime) -> int:
    return round(moment.timestamp() * 1_000_000)


def _with_index(ranked: Sequence[Ranked], view: View) -> Sequence[Ranked]:
    """The same; `why` tells of an owner who is not in memory among how many the database chose."""
    if view.population is None:
        return ranked
    of = {"looked_at": len(view), "of": view.population.owner.every.documents}
    return [replace(each, why={**each.why, "index": of}) for each in ranked]


def _which(tiers: Sequence[str] | None) -> str:
    """Which documents are asked: what quotes a turn only if its tier is named."""
    if tiers is None or _QUIET_TIERS.isdisjoint(tiers):
        return LOUD
    return tiers[0] if len(tiers) == 1 else ALL


def _has_graph(view: View, place: int) -> bool:
    """Whether one of the owners in a view, by its place, has a part of a graph there."""

    def look() -> bool:
        return bool(((view.tiers == view.code("graph")) & (view.owners == place)).any())

    return view.once(f"graph of {place}", look)


class _ReadRecords:
    """The records that one question has read: what a stage has looked at is not read again."""

    def __init__(self, store: Store, view: View) -> None:
        self._store = store
        self._ids = view.ids
        self._owners = view.owners
        self._parts = view.parts
        self._kept: dict[int, Record] = {}

    def part(self, doc: int) -> ViewPart:
        """Whose document it is."""
        return self._parts[int(self._owners[doc])]

    def records(self, docs: Sequence[int]) -> dict[int, Record]:
        """The records of documents, in that order; those that are gone are left out."""
        new = [doc for doc in docs if doc not in self._kept]
        places = self._owners[new].tolist()
        for place in sorted(set(places)):
            theirs = [doc for doc, owner in zip(new, places, strict=True) if owner == place]
            numbers = {self._ids[doc]: doc for doc in theirs}
            for record in self._store.get(self._parts[place].scope, list(numbers)):
                self._kept[numbers[record.id]] = record
        return {doc: self._kept[doc] for doc in docs if doc in self._kept}

    def contents(self, docs: Sequence[int]) -> dict[int, str]:
        """The texts of documents."""
        return {doc: record.content for doc, record in self.records(docs).items()}

    def events(self, records: Iterable[Record]) -> dict[str, Event]:
        """The turns of records that come from several; only the asker's own have turns to show."""
        several = [e for record in records if len(record.sources) > 1 for e in record.sources]
        found = self._store.events(self._parts[0].scope, several) if several else []
        return {event.id: event for event in found}


class _QueryVectors:
    """Embeddings of recent questions: asking again costs nothing."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._kept: OrderedDict[tuple[int, str], NDArray[np.float32]] = OrderedDict()

    def get(self, embedder: Embedder, space: Space, text: str) -> NDArray[np.float32]:
        key = (space.id, text)
        with self._lock:
            if key in self._kept:
                self._kept.move_to_end(key)
                return self._kept[key]
        pay_for(embedder, text)
        vector: NDArray[np.float32] = embedded(embedder, [text])[0]
        with self._lock:
            self._kept[key] = vector
            if len(self._kept) > _REMEMBERED_QUERIES:
                self._kept.popitem(last=False)
        return vector
