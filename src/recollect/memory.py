"""START HERE. Memory: the verbs. Each checks its input, asks one part, and answers in types.

A write goes `remember` -> write/validate.py -> write/prepare.py -> store.append; what follows
happens in the background (write/worker.py). A read goes `recall` -> recall/pipeline.py -> the file
of the stage.
This module knows nothing about SQLite, models or HTTP.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import UTC, datetime
from types import TracebackType
from typing import Any

from recollect.config import MIB, Config
from recollect.errors import Closed, ConfigError, NotFound
from recollect.graph.verbs import Graph
from recollect.models.base import Embedder
from recollect.recall.classes import usual_limit
from recollect.recall.conversation import question
from recollect.recall.expand import expand
from recollect.recall.ledger import Packing, explained, keep, told_lately
from recollect.recall.pack import GUARANTEED, Packed, pack
from recollect.recall.query import Query, query
from recollect.recall.rerank import Reranker
from recollect.recall.searcher import Searcher
from recollect.store.base import KeyUse, Store
from recollect.text import TERMS_VERSION
from recollect.types import (
    Context,
    Drained,
    Explained,
    Finding,
    Hit,
    Hits,
    Receipt,
    Record,
    Scope,
    State,
    Status,
    Version,
)
from recollect.write import validate
from recollect.write.ids import Ids
from recollect.write.learn import Learner
from recollect.write.passages import RECIPE
from recollect.write.prepare import entries, index_row
from recollect.write.recalled import recalled
from recollect.write.worker import Reader, Worker

Message = Mapping[str, Any]
#: Makes the step that understands turns, of the store, the graph, the echoes and the clock.
MakeReader = Callable[[Store, Graph, Callable[[Scope], set[bytes]], Callable[[], datetime]], Reader]

_MOST_HITS = 200
_MOST_BUDGET_TOKENS = 200_000
#: Context asks for this many hits: more than any budget in use can hold is wasted work.
_CONTEXT_HITS = 50


class Memory:
    """Long-term memory over a store. Threads may share it. Make one with `recollect.open`."""

    def __init__(
        self,
        store: Store,
        embedder: Embedder,
        *,
        config: Config,
        clock: Callable[[], datetime] | None = None,
        worker: bool = True,
        older_embedder: Callable[[str], Embedder | None] = lambda _: None,
        reranker: Reranker | None = None,
        reading: MakeReader | None = None,
    ) -> None:
        self._store = store
        self._config = config
        self._clock = clock or (lambda: datetime.now(UTC))
        self._ids = Ids()
        self._closed = False
        store.use_terms(TERMS_VERSION, index_row)
        self._searcher = Searcher(
            store,
            embedder,
            recipe=RECIPE,
            older_embedder=older_embedder,
            cache_bytes=config.index_cache_megabytes * MIB,
            reranker=reranker,
        )
        # What died because the model was away deserves another try now.
        store.replay(transient_only=True)
        self._worker = Worker(store, embedder, config=config, clock=self._now)
        #: The knowledge graph: `write`, `traverse`, `entities`, `merges` and more.
        self.graph = Graph(store, self._searcher.graphs, self._worker, now=self._now)
        if reading is not None:
            self._worker.reader = reading(store, self.graph, self._echoes, self._now)
        if worker:
            self._worker.start()

    # Writing

    def remember(  # noqa: PLR0913 (the public contract)
        self,
        messages: str | Message | Sequence[Message],
        *,
        user: str | None = None,
        workspace: str = "default",
        agent: str | None = None,
        session: str | None = None,
        key: str | None = None,
        at: datetime | str | None = None,
        metadata: Mapping[str, Any] | None = None,
        progress: Callable[[int, int], None] | None = None,
    ) -> Receipt:
        """Store messages durably; when this returns they are on disk and findable by keyword.

        All or nothing. `key` makes a retry harmless. `at` and `metadata` stand for messages that
        have none of their own. `progress(done, total)` is called now and then for large batches.
        """
        self._check_open()
        scope = validate.scope(workspace=workspace, user=user, agent=agent, session=session)
        name = validate.idempotency_key(key)
        batch = validate.batch(messages, at=at, metadata=metadata, limits=self._config.limits)
        use = None
        if name is not None:
            body = validate.body_digest(
                messages=messages, agent=agent, session=session, at=at, metadata=metadata
            )
            use = KeyUse(name, body)
        now = self._now()
        ready = entries(
            batch.drafts,
            self._ids.make(len(batch.drafts), now),
            now=now,
            learner=self._learner(scope),
            progress=progress,
        )
        if progress:  # Before the commit: if the caller's function raises, nothing is stored.
            progress(len(ready), len(ready))
        appended = self._store.append(scope, ready, known_at=now, steps=self._worker.steps, key=use)
        if not appended.duplicate:
            self._worker.wake()
            return Receipt(appended.events, name, warnings=batch.warnings)
        state = self._state_of(scope, appended.events)
        return Receipt(appended.events, name, True, state, batch.warnings)

    def forget(self, id: str, *, user: str | None = None, workspace: str = "default") -> bool:
        """Hide a memory from every read at once; restorable for 30 days, then wiped.

        False when it was forgotten already.
        """
        self._check_open()
        scope = validate.scope(workspace=workspace, user=user)
        return self._store.forget(scope, id, at=self._now())

    def restore(self, id: str, *, user: str | None = None, workspace: str = "default") -> bool:
        """Bring a forgotten memory back; False when it was not forgotten."""
        self._check_open()
        scope = validate.scope(workspace=workspace, user=user)
        return self._store.restore(scope, id, at=self._now())

    # Reading

    def recall(  # noqa: PLR0913 (the public contract)
        self,
        text: str,
        *,
        user: str | None = None,
        workspace: str = "default",
        agent: str | None = None,
        session: str | None = None,
        limit: int | None = None,
        tiers: Sequence[str] | None = None,
        now: datetime | str | None = None,
        as_of: datetime | str | None = None,
        known_at: datetime | str | None = None,
        task_profile: str | None = None,
        overrides: Mapping[str, Any] | None = None,
        filters: Mapping[str, Any] | None = None,
        explain: bool = False,
    ) -> Hits:
        """The memories that answer a question, best first.

        Without a limit ten, more for a question that asks for many things at once.
        `explain` tells in `why` also every source's rank and what each stage did to the score.
        """
        config = self._config.override(overrides)
        scope = validate.scope(workspace=workspace, user=user, agent=agent, session=session)
        asked = self._asked(
            text, scope, config, limit=limit, tiers=tiers, now=now, as_of=as_of,
            known_at=known_at, filters=filters, explain=explain,
        )  # fmt: skip
        return self._searcher.search(asked, config, task_profile=task_profile)

    def context(  # noqa: PLR0913 (the public contract)
        self,
        messages: str | Sequence[Message],
        *,
        user: str | None = None,
        workspace: str = "default",
        agent: str | None = None,
        session: str | None = None,
        budget_tokens: int | None = None,
        limit: int = _CONTEXT_HITS,
        tiers: Sequence[str] | None = None,
        now: datetime | str | None = None,
        as_of: datetime | str | None = None,
        known_at: datetime | str | None = None,
        task_profile: str | None = None,
        overrides: Mapping[str, Any] | None = None,
        filters: Mapping[str, Any] | None = None,
        explain: bool = False,
        format: str = "safe",
        packaging: str = "auto",
        guaranteed: Collection[str] = GUARANTEED,
        record: bool = True,
    ) -> Context:
        """The memories for the next model call, packed into a token budget.

        Of a list of messages the last user turn is the question, and what the user and the
        assistant said before it what is being talked about. `format` is safe, astra or deerflow;
        `packaging` auto, or full, overview or headline for all; hits of the `guaranteed` categories
        are packed first. See recall/pack.py. `record` notes what went in: see recall/ledger.py.
        """
        config = self._config.override(overrides)
        budget = config.context_budget_tokens if budget_tokens is None else budget_tokens
        validate.whole_number(budget, "budget_tokens", 0, _MOST_BUDGET_TOKENS)
        text, before = question(messages)
        scope = validate.scope(workspace=workspace, user=user, agent=agent, session=session)
        asked = self._asked(
            text, scope, config, limit=limit, tiers=tiers, now=now, as_of=as_of,
            known_at=known_at, filters=filters, packing=True, explain=explain,
        )  # fmt: skip
        hits = self._searcher.search(asked, config, task_profile=task_profile)
        done = pack(
            hits, budget_tokens=budget, query=text, format=format, packaging=packaging,
            guaranteed=validate.words(guaranteed, "guaranteed"), talk=before,
        )  # fmt: skip
        at = self._now()
        context = _context(self._ids.make(1, at)[0], done, hits.task_profile)
        if record:
            packing = Packing(format, packaging, budget, overrides or {})
            keep(self._store, asked, hits, context, packing, at=at)
        return context

    def explain(
        self, context_id: str, *, user: str | None = None, workspace: str = "default"
    ) -> Explained:
        """What went into a context and why, by its id or the last 6 digits of it or more."""
        self._check_open()
        scope = validate.scope(workspace=workspace, user=user)
        return explained(self._store, scope, validate.word(context_id, "context_id"))

    def expand(
        self,
        ids: Sequence[str],
        *,
        user: str | None = None,
        workspace: str = "default",
        agent: str | None = None,
    ) -> list[Hit]:
        """The whole memories with these ids; NotFound names one that is not there.

        The memory with the number n in a context's text is `context.hits[n - 1]`.
        """
        self._check_open()
        scope = validate.scope(workspace=workspace, user=user, agent=agent)
        return expand(self._store, scope, validate.memory_ids(ids, "ids"))

    def status(
        self, event_id: str, *, user: str | None = None, workspace: str = "default"
    ) -> Status:
        """How far one event has come."""
        self._check_open()
        return self._store.status(validate.scope(workspace=workspace, user=user), event_id)

    def history(
        self, id: str, *, user: str | None = None, workspace: str = "default"
    ) -> list[Version]:
        """What happened to a memory, oldest first."""
        self._check_open()
        return self._store.history(validate.scope(workspace=workspace, user=user), id)

    # Running

    def check(self) -> list[Finding]:
        """Look at every invariant of the store, as `recollect doctor` does."""
        self._check_open()
        return self._store.check(index_row)

    def drain(self, timeout: float | None = None) -> Drained:
        """Run every pending job now and return when none is left; retries do not wait."""
        self._check_open()
        return self._worker.drain(timeout)

    def warm(self) -> None:
        """Load the model now instead of at the first question."""
        self._check_open()
        self._searcher.warm()

    def close(self) -> None:
        """Finish or hand back what is under way and release the file. Twice is fine."""
        if self._closed:
            return
        self._closed = True
        self._worker.stop()
        self._store.close()

    def __enter__(self) -> Memory:
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

    def _asked(
        self,
        text: str,
        scope: Scope,
        config: Config,
        *,
        limit: int | None,
        now: datetime | str | None,
        as_of: datetime | str | None,
        known_at: datetime | str | None,
        **more: Any,
    ) -> Query:
        self._check_open()
        checked = validate.checked_query(text, config.limits)
        if limit is None:
            limit = usual_limit(checked, adaptive=config.adaptive_limits)
        return query(
            checked,
            scope,
            limit=validate.whole_number(limit, "limit", 1, _MOST_HITS),
            now=self._now() if now is None else validate.moment(now, "now"),
            as_of=None if as_of is None else validate.moment(as_of, "as_of"),
            known_at=None if known_at is None else validate.moment(known_at, "known_at"),
            **more,
        )

    def _learner(self, scope: Scope) -> Learner:
        """Learns from a turn, and reads the rules in force only if it finds one there."""

        def rules() -> list[Record]:
            records = self._store.listed(scope, tier="procedure", kind="instruction")
            return [record for record in records if record.agent == scope.agent]

        return Learner(rules, lambda: self._echoes(scope))

    def _echoes(self, scope: Scope) -> set[bytes]:
        """What recent contexts told, as digests: it is not learned again when it comes back."""
        return recalled(self._store.get(scope, told_lately(self._store, scope, self._now())))

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
                states.add(self._store.status(scope, event).state)
            except NotFound:  # Wiped since; the receipt still stands.
                states.add("done")
        return min(states, key=order.index)


def _context(id: str, done: Packed, profile: str) -> Context:
    return Context(id, done.text, done.tokens, done.hits, done.dropped, profile, done.levels)
