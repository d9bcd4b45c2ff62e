"""START HERE. Memory: the verbs. Each checks its input, asks one part, and answers in types.

A write goes `remember` -> border/validate.py -> records/entries.py -> store.append; what follows
happens in the background (learn/worker.py). A read goes `recall` -> recall/pipeline.py -> the file
of the stage.
This module knows nothing about SQLite, models or HTTP.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import datetime
from typing import Any

from holdfast.border import validate
from holdfast.border.validate import lowered
from holdfast.border.write_options import Handling, handling, sent
from holdfast.config import Config, idle
from holdfast.errors import NotFound
from holdfast.language.questions import usual_limit
from holdfast.learn.filter import rule_warnings, with_warnings
from holdfast.memory.library import Library
from holdfast.recall.context.ledger import Packing, explanation, keep
from holdfast.recall.context.pack import GUARANTEED, Packed, pack
from holdfast.recall.hits import expand
from holdfast.recall.query import Query, query, question
from holdfast.records.entries import entries, status_of
from holdfast.records.parts import is_seen
from holdfast.records.profile_fields import Profile
from holdfast.records.stats import WINDOW, Stats, count_by_tier
from holdfast.records.summaries import Compaction
from holdfast.store.protocols import KeyUse
from holdfast.types import Context, Explained, Hit, Hits, Receipt, Scope, Status, Version
from holdfast.upkeep.erasure import Erased, erase
from holdfast.upkeep.feedback import feedback

Message = Mapping[str, Any]

_MOST_HITS = 200
_MOST_BUDGET_TOKENS = 200_000
#: Context asks for this many hits: more than any budget in use can hold is wasted work.
_CONTEXT_HITS = 50


class Memory(Library):
    """Long-term memory over a store. Threads may share it. Make one with `holdfast.open`."""

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
        extract: bool = True,
        origin: str | None = None,
        visibility: str | None = None,
        quick: bool = False,
        overrides: Mapping[str, Any] | None = None,
        progress: Callable[[int, int], None] | None = None,
    ) -> Receipt:
        """Store messages durably; when this returns they are on disk and findable by keyword.

        All or nothing. `key` makes a retry harmless. `at` and `metadata` stand for messages that
        have none of their own. Without `extract` nothing is drawn from them later; `quick` reads
        them before it returns, by rules alone. `origin` says that they are worth less than
        their roles say: "web" for a page that was pasted. With `visibility="agent_only"` this
        agent alone sees them and what is drawn from them. `overrides` are of extraction.enabled
        and extraction.provider. `progress(done, total)` is called now and then for large batches.
        """
        self._check_open()
        scope = validate.scope(workspace=workspace, user=user, agent=agent, session=session)
        name, whose = validate.idempotency_key(key), lowered(origin)
        how = handling(
            self._config, agent=agent, visibility=visibility, extract=extract, quick=quick,
            overrides=overrides, metadata=metadata,
        )  # fmt: skip
        batch = validate.batch(messages, at=at, metadata=metadata, limits=self._config.limits)
        if how.is_read:
            batch = with_warnings(batch, self._config.extraction.turn_chars)
        use = None
        if name is not None:
            body = validate.body_digest(
                messages=messages, agent=agent, session=session, at=at, metadata=metadata,
                **sent(extract=extract, origin=whose, visibility=visibility,
                       overrides=overrides or None),
            )  # fmt: skip
            use = KeyUse(name, body)
        return self._append(scope, batch, how, use, origin=whose, progress=progress)

    def _append(
        self,
        scope: Scope,
        batch: validate.CheckedBatch,
        how: Handling,
        use: KeyUse | None,
        *,
        origin: str | None,
        progress: Callable[[int, int], None] | None,
    ) -> Receipt:
        now, name = self._now(), None if use is None else use.key
        ids = self._ids.make(len(batch.drafts), now)
        ready = entries(
            batch.drafts, ids, now=now, learner=self._learner(scope, how.visibility),
            origin=origin, data=how.data, progress=progress,
        )  # fmt: skip
        warnings = (*batch.warnings, *rule_warnings(ready))
        if progress:  # Before the commit: if it raises, nothing is stored.
            progress(len(ready), len(ready))
        steps = self._worker.steps[: None if how.is_read else 1]
        appended = self._store.append(scope, ready, known_at=now, steps=steps, key=use)
        if appended.duplicate:
            state = self._state_of(scope, appended.events)
            return Receipt(appended.events, name, True, state, warnings)
        self._worker.wake()
        if how.is_quick:  # Whatever happens there: the messages are stored.
            self._worker.read_now(scope, appended.events)
        return Receipt(appended.events, name, warnings=warnings)

    def feedback(
        self,
        id: str,
        value: int,
        *,
        user: str | None = None,
        workspace: str = "default",
        agent: str | None = None,
        key: str | None = None,
    ) -> float:
        """Praise (+1) or blame (-1) a memory; its strength since, 0..1. It decides near-ties.

        `key` makes a retry harmless.
        """
        self._check_open()
        scope = validate.scope(workspace=workspace, user=user, agent=agent)
        id = validate.word(id, "id")
        return feedback(
            self._store, scope, id, value, now=self._now(), key=key, decay=self._config.decay
        )

    def compact(
        self,
        *,
        session: str,
        user: str | None = None,
        workspace: str = "default",
        agent: str | None = None,
        keep_turns: int = 10,
    ) -> Compaction:
        """Sum up a session but for its last turns; the turns stay as they are, and findable."""
        self._check_open()
        return self.summaries.compact(
            session=session, user=user, workspace=workspace, agent=agent, keep_turns=keep_turns
        )

    def erase(self, *, user: str | None = None, workspace: str = "default") -> Erased:
        """Remove everything of a user physically and at once; there is no undo. The receipt is
        signed and says neither who nor what."""
        self._check_open()
        return erase(self._store, validate.scope(workspace=workspace, user=user), now=self._now())

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
        config = self._config if overrides is None else self._config.override(overrides)
        scope = validate.scope(workspace=workspace, user=user, agent=agent, session=session)
        asked = self._query(
            text, scope, config, limit=limit, tiers=tiers, now=now, as_of=as_of,
            known_at=known_at, filters=filters, explain=explain,
        )  # fmt: skip
        return self._search(asked, config, task_profile, overrides)

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
        are packed first. See recall/context/pack.py. `record` notes what went in: see ledger.py
        beside it.
        """
        config = self._config if overrides is None else self._config.override(overrides)
        budget = config.context_budget_tokens if budget_tokens is None else budget_tokens
        validate.whole_number(budget, "budget_tokens", 0, _MOST_BUDGET_TOKENS)
        text, before = question(messages)
        scope = validate.scope(workspace=workspace, user=user, agent=agent, session=session)
        asked = self._query(
            text, scope, config, limit=limit, tiers=tiers, now=now, as_of=as_of,
            known_at=known_at, filters=filters, packing=True, explain=explain,
        )  # fmt: skip
        hits = self._search(asked, config, task_profile, overrides)
        done = pack(
            hits, budget_tokens=budget, query=text, format=format, packaging=packaging,
            guaranteed=validate.words(guaranteed, "guaranteed"), talk=before,
            relevance_gate=config.relevance_gate, summaries=lambda: self._summaries_of(asked),
        )  # fmt: skip
        context = _context(self._ids.make(1, self._now())[0], done, hits)
        if record:
            self._note(asked, hits, context, Packing(format, packaging, budget, overrides or {}))
        return context

    def explain(
        self,
        context_id: str,
        *,
        user: str | None = None,
        workspace: str = "default",
        agent: str | None = None,
    ) -> Explained:
        """What went into a context and why, by its id or the last 6 digits of it or more. An agent
        is told of its own questions alone."""
        self._check_open()
        scope = validate.scope(workspace=workspace, user=user, agent=agent)
        return explanation(self._store, scope, validate.word(context_id, "context_id"))

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
        also = self.shares.parts(scope)
        return expand(self._store, scope, validate.memory_ids(ids, "ids"), also=also)

    def profile(
        self,
        *,
        user: str | None = None,
        workspace: str = "default",
        agent: str | None = None,
        as_of: datetime | str | None = None,
        known_at: datetime | str | None = None,
    ) -> Profile:
        """What is known of a user, as one document: fields with their sources, and summaries."""
        self._check_open()
        return self.profiles.profile(
            user=user, workspace=workspace, agent=agent, as_of=as_of, known_at=known_at
        )

    def stats(
        self,
        *,
        user: str | None = None,
        workspace: str = "default",
        agent: str | None = None,
        session: str | None = None,
        max_context_tokens: int = WINDOW,
    ) -> Stats:
        """How much of what a user has in each tier; of a session also how full it is and how many
        turns are left until it should be compacted."""
        self._check_open()
        scope = validate.scope(workspace=workspace, user=user, agent=agent, session=session)
        counts = count_by_tier(self._store, scope)
        if session is None:
            return Stats(counts)
        full = self.summaries.session_stats(
            session=session, user=user, workspace=workspace, agent=agent,
            max_context_tokens=max_context_tokens,
        )  # fmt: skip
        return Stats(counts, full)

    def status(
        self, event_id: str, *, user: str | None = None, workspace: str = "default"
    ) -> Status:
        """How far one event has come."""
        self._check_open()
        scope = validate.scope(workspace=workspace, user=user)
        return status_of(self._store, scope, event_id)

    def history(
        self,
        id: str,
        *,
        user: str | None = None,
        workspace: str = "default",
        agent: str | None = None,
    ) -> list[Version]:
        """What happened to a memory, oldest first; of a fact, in all its versions."""
        self._check_open()
        scope = validate.scope(workspace=workspace, user=user, agent=agent)
        id = validate.record_id(id)
        for record in self._store.get(scope, [id]):
            if not is_seen(record, agent):
                raise NotFound(f"there is no memory {id!r} in this scope")
            if record.tier == "fact":
                return self.facts.history(id, user=user, workspace=workspace, agent=agent)
        return self._store.history(scope, id)

    def _query(
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

    def _search(
        self,
        asked: Query,
        config: Config,
        task_profile: str | None,
        overrides: Mapping[str, Any] | None,
    ) -> Hits:
        hits = self._searcher.search(asked, config, task_profile=task_profile)
        hits.warnings = idle(config, overrides, reranks=self.reranks)
        return hits

    def _note(self, asked: Query, hits: Hits, context: Context, packing: Packing) -> None:
        at = self._now()
        keep(self._store, asked, hits, context, packing, at=at)
        self._uses.note(asked.scope, context.hits, at)

    def _summaries_of(self, asked: Query) -> dict[str, str]:
        scope = asked.scope
        found = self.profiles.profile(
            user=scope.user, workspace=scope.workspace, agent=scope.agent,
            as_of=asked.as_of, known_at=asked.known_at,
        )  # fmt: skip
        return {name: each.text for name, each in found.summaries.items()}


def _context(id: str, done: Packed, hits: Hits) -> Context:
    return Context(
        id, done.text, done.tokens, done.hits, done.dropped, hits.task_profile, done.levels,
        hits.warnings, done.hit_tokens,
    )  # fmt: skip
