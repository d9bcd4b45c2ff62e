"""What every verb of a memory stands on: its parts, its clock, its worker, opening and closing."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from datetime import UTC, datetime
from types import TracebackType
from typing import Self

from holdfast.border import validate
from holdfast.border.ids import Ids
from holdfast.config import MIB, Config
from holdfast.errors import Closed, ConfigError, NotFound
from holdfast.language.regex import compile_all
from holdfast.language.terms import TERMS_VERSION
from holdfast.learn.commit import Committer
from holdfast.learn.embed import RECIPE
from holdfast.learn.filter import echo_digests
from holdfast.learn.worker import Reader, Worker
from holdfast.models.base import Embedder, embedded
from holdfast.models.reader import LineReader
from holdfast.recall.context.ledger import recent_ids
from holdfast.recall.query import query
from holdfast.recall.searcher import Searcher
from holdfast.recall.stages.rerank import Reranker
from holdfast.records.after_forget import AfterForget
from holdfast.records.entries import index_row, status_of
from holdfast.records.facts.after_forget import groups_of_gone
from holdfast.records.facts.verbs import Facts
from holdfast.records.fading import strength
from holdfast.records.graph.verbs import Graph
from holdfast.records.knowledge import Knowledge
from holdfast.records.notes import Notes
from holdfast.records.observations import Observations
from holdfast.records.procedures import Procedures
from holdfast.records.profile import Profiles
from holdfast.records.rules import Learner
from holdfast.records.shares import Agents, Shares
from holdfast.records.summaries import Summaries
from holdfast.records.team import Team
from holdfast.store.protocols import Store
from holdfast.types import Drained, Finding, Hits, Record, Scope, State
from holdfast.upkeep.feedback import Uses
from holdfast.upkeep.nightly import NightlyRound, Rules

#: Makes the step that understands turns; it is given the digests of what recent contexts told.
MakeReader = Callable[[Committer, Callable[[Scope], Collection[bytes]]], Reader]


class Core:
    """A store with everything that works on it. `Memory` adds the verbs."""

    def __init__(  # noqa: PLR0913 (the parts of a memory)
        self,
        store: Store,
        embedder: Embedder,
        *,
        config: Config,
        clock: Callable[[], datetime] | None = None,
        worker: bool = True,
        older_embedder: Callable[[str], Embedder | None] = lambda _: None,
        reranker: Reranker | None = None,
        reader: LineReader | None = None,
        comparer: Embedder | None = None,
        reading: MakeReader | None = None,
    ) -> None:
        self._store = store
        self._config = config
        self._clock = clock or (lambda: datetime.now(UTC))
        self._ids = Ids()
        self._closed = False
        self._reranks = reranker is not None
        store.rebuild(index_row, terms=TERMS_VERSION)
        #: What one workspace lets another see: `grant`, `revoke`, `list`.
        self.shares = Shares(store, now=self._now)
        self._searcher = Searcher(
            store, embedder, recipe=RECIPE, older_embedder=older_embedder,
            cache_bytes=config.index_cache_megabytes * MIB, index=config.index,
            decay=config.decay,
            reranker=reranker, reader=reader, parts=self.shares.parts,
        )  # fmt: skip
        # What died because the model was away deserves another try now.
        store.replay(transient_only=True)
        self._worker = Worker(store, embedder, config=config, clock=self._now)
        self._worker.embedded = self._searcher.catch_up
        #: The knowledge graph: `write`, `traverse`, `entities`, `merges` and more.
        self.graph = Graph(store, self._searcher.graphs, self._worker, now=self._now)
        graphs = self._searcher.graphs
        self._uses = Uses(
            store, config.decay, lambda scope, turns: graphs.of(scope, patient=True).heard_in(turns)
        )
        self._make_tiers(comparer or embedder)
        self._worker.house.nightly = lambda now: self.life.run(now=now)
        if reading is not None:
            committer = Committer(store, graphs, self.facts, self.notes, self._now)
            self._worker.reader = reading(committer, self._echoes)
        if worker:
            self._worker.start()

    def _make_tiers(self, comparer: Embedder) -> None:
        store, worker, now, limits = self._store, self._worker, self._now, self._config.limits
        #: Claims, and what became of them: `list`, `add`, `update`, `clarifications`, ...
        self.facts = Facts(
            store, worker, now=now, limits=limits, embed=lambda texts: embedded(comparer, texts)
        )
        self._searcher.facts = self.facts.known
        #: Notes by day: `add`, `day`, `list`.
        self.notes = Notes(store, worker, now=now, limits=limits, strength=strength)
        #: Entities and what was observed of them, to the letter: `create`, `add`, `read`, `delete`.
        self.observations = Observations(store, self._searcher.graphs, worker, now=now)
        #: Who the user is: `profile`, `set`, `clear`.
        self.profiles = Profiles(store, worker, now=now)
        #: How things are done: `add`, `list`, `used`, `update`.
        self.procedures = Procedures(store, worker, now=now, limits=limits)
        #: Sessions in short: `compact`, `get`, `session_stats`.
        self.summaries = Summaries(store, worker, now=now)
        #: Documents and values under keys: `add`, `documents`, `set`, `get`, `remove`.
        self.knowledge = Knowledge(store, worker, now=now, limits=limits)
        #: What everybody in a workspace may know: `write`, `list`, `search`.
        self.team = Team(store, worker, now=now, recall=self._recall_team)
        self._after_forget = AfterForget(store, now=now)
        #: How far agents are trusted: `trust`, `set_trust`.
        self.agents = Agents(store, now=now)
        #: The nightly round: `run`, `undo`, `restore`.
        self.life = NightlyRound(
            store,
            rules=Rules(shadow=self._config.life.shadow),
            steps=lambda: worker.steps,
            settle=lambda scope, run: self.facts.settle(scope, run=run),
            unsettle=self.facts.unsettle,
        )

    def _recall_team(self, text: str, scope: Scope, kind: str | None, limit: int) -> Hits:
        asked = query(
            validate.checked_query(text, self._config.limits),
            scope,
            limit=limit,
            now=self._now(),
            as_of=None,
            known_at=None,
            tiers=["workspace"],
            filters=None if kind is None else {"kind": kind},
        )
        return self._searcher.search(asked, self._config)

    def now(self) -> datetime:
        """The time by this memory's clock."""
        return self._now()

    def check(self) -> list[Finding]:
        """Look at every invariant of the store, as `holdfast doctor` does."""
        self._check_open()
        return self._store.check(index_row)

    def drain(self, timeout: float | None = None) -> Drained:
        """Run every pending job now and return when none is left; retries do not wait."""
        self._check_open()
        return self._worker.drain(timeout)

    def warm(self) -> None:
        """Load the model, start the process that reads and compile the patterns now, not at the
        first question."""
        self._check_open()
        if self._worker.reader is not None:
            self._worker.reader.warm()
        self._searcher.warm()
        compile_all()

    def cache_size(self) -> tuple[int, int]:
        """How many indexes are in memory, and how many bytes they take."""
        return self._searcher.cache_size()

    def close(self) -> None:
        """Finish or hand back what is under way and release the file. Twice is fine."""
        if self._closed:
            return
        self._closed = True
        self._worker.stop()
        self._searcher.settle()
        self._store.close()

    def __enter__(self) -> Self:
        self._check_open()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    @property
    def reranks(self) -> bool:
        """Whether a reranker looks at what is found."""
        return self._reranks

    @property
    def store(self) -> Store:
        """The store underneath, for the operator's tools."""
        self._check_open()
        return self._store

    @property
    def worker(self) -> Worker:
        """The worker of this process."""
        return self._worker

    @property
    def config(self) -> Config:
        """The settings in force."""
        return self._config

    def _learner(self, scope: Scope, visibility: str | None = None) -> Learner:
        """Learns from a turn, and reads the rules in force only if it finds one there."""

        def rules() -> list[Record]:
            records = self._store.listed(scope, tier="procedure", kind="instruction")
            whose = (scope.agent, visibility)
            return [each for each in records if (each.agent, each.visibility) == whose]

        return Learner(rules, lambda: self._echoes(scope))

    def _echoes(self, scope: Scope) -> set[bytes]:
        """What recent contexts told, as digests: it is not learned again when it comes back."""
        ids = recent_ids(self._store, scope, self._now())
        if not ids:
            return set()
        owners = (scope, *(part.scope for part in self.shares.parts(scope)))
        return echo_digests(each for owner in owners for each in self._store.get(owner, ids))

    def _hide(self, scope: Scope, id: str) -> bool:
        """Forget a memory that is no document, and see to what it had replaced."""
        # First what was written of several turns: it may quote this one.
        self.summaries.mend(scope, id)
        self.profiles.mend(scope, id)
        done = bool(self._store.forget(scope, [id], at=self._now()))
        # Also if it was forgotten already: the last time may have been cut short here.
        hidden = self._hidden(scope, id)
        if not done and not hidden:
            raise NotFound(f"there is no memory {id!r} in this scope")
        self.facts.recast(scope, groups_of_gone(hidden))
        self._after_forget.gone(scope, id, hidden)
        return done

    def _hidden(self, scope: Scope, id: str) -> list[Record]:
        """What is forgotten of a record and what was derived from it, those learned first first."""
        along = self._store.listed(scope, source=id, hidden=True)
        is_there = bool(self._store.get(scope, [id]))
        found = [*along, *([] if is_there else self._store.get(scope, [id], hidden=True))]
        return sorted(found, key=lambda each: (each.known_from, each.id))

    def _check_open(self) -> None:
        if self._closed:
            raise Closed

    def _now(self) -> datetime:
        now = self._clock()
        if now.tzinfo is None:
            raise ConfigError("clock gave a time without a zone")
        return now.astimezone(UTC)

    def _state_of(self, scope: Scope, events: Sequence[str]) -> State:
        """The least advanced state of several events."""
        order: tuple[State, ...] = ("dead", "failed", "processing", "stored", "done")
        states: set[State] = set()
        for event in events:
            try:
                states.add(status_of(self._store, scope, event).state)
            except NotFound:  # Wiped since; the receipt still stands.
                states.add("done")
        return min(states, key=order.index)
