"""Summaries of conversations: what is left of the older turns when a window gets too small.

`compact` sums up all turns of a session but the last few. The turns themselves stay as they are
and are found as before; the summary quotes them (or a model retells them) and is no more to be
believed than the least of them. It is made again when there is more to sum up, and it goes when a
turn that it may quote is forgotten.
"""

from __future__ import annotations

import logging
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime

from holdfast.border import validate
from holdfast.border.write_options import visibility_of
from holdfast.errors import ModelError, NotFound
from holdfast.language.tokens import count_tokens
from holdfast.records import parts
from holdfast.records.forecast import THRESHOLD, WINDOW, SessionStats, stats
from holdfast.records.parts import Background
from holdfast.records.summaries_pieces import sentences, speaker, told
from holdfast.store.base import Derived, Store
from holdfast.types import Event, Record, Scope

log = logging.getLogger("holdfast.summaries")

KIND = "summary"
_SHARE, _LEAST_TOKENS, _MOST_TOKENS = 0.15, 120, 4_096
#: A model is given the whole of a conversation up to this length, else what was chosen of it.
_SHOWN_TOKENS = 16_000
#: A model may take so many times the room.
_MODEL_ROOM = 2
_MOST_KEPT = 10_000
_READ_AT_ONCE = 1_000

Summarise = Callable[[str], str]


@dataclass(frozen=True, slots=True)
class Compaction:
    """What `compact` did: what the session is summed up as."""

    session: str
    #: None while there is nothing to sum up.
    summary_id: str | None
    summary: str
    #: How many turns are summed up, and how many are left as they are.
    turns: int
    kept: int
    #: Of all turns; of the summary and the turns that are kept.
    tokens_before: int
    tokens_after: int


class Summaries:
    """The summaries of a memory's sessions. Threads may share it."""

    def __init__(
        self,
        store: Store,
        worker: Background,
        *,
        now: Callable[[], datetime],
        summarise: Summarise | None = None,
    ) -> None:
        self._store = store
        self._worker = worker
        self._now = now
        #: Retells a conversation; ModelError when it cannot, then its own sentences are told.
        self._summarise = summarise

    def compact(
        self,
        *,
        session: str,
        user: str | None = None,
        workspace: str = "default",
        agent: str | None = None,
        keep_turns: int = 10,
    ) -> Compaction:
        """Sum up all turns of a session but the last `keep_turns`.

        The same turns again change nothing; more turns give a summary of all of them, which takes
        the place of the earlier one. What was summed up once stays so.
        """
        scope, turns = self._session(session, user, workspace, agent)
        keep = validate.whole_number(keep_turns, "keep_turns", 0, _MOST_KEPT)
        known = self._known(scope)
        cut = max(len(turns) - keep, _reached(known, turns))
        if cut <= 0:
            return _compaction(scope, None, turns, 0)
        summary = self._made(scope, turns[:cut], known)
        return _compaction(scope, summary, turns, cut if summary else 0)

    def get(
        self,
        *,
        session: str,
        user: str | None = None,
        workspace: str = "default",
        agent: str | None = None,
    ) -> Compaction:
        """What a session is summed up as now; nothing is made."""
        scope, turns = self._session(session, user, workspace, agent)
        known = self._known(scope)
        cut = _reached(known, turns)
        return _compaction(scope, known[-1] if cut else None, turns, cut)

    def session_stats(
        self,
        *,
        session: str,
        user: str | None = None,
        workspace: str = "default",
        agent: str | None = None,
        max_context_tokens: int = WINDOW,
        threshold: float = THRESHOLD,
    ) -> SessionStats:
        """How full a session is, how many turns are left, whether to save now."""
        now = self.get(session=session, user=user, workspace=workspace, agent=agent)
        return stats(
            session, tokens=now.tokens_after, messages=now.kept,
            summary=count_tokens(now.summary) if now.summary else 0,
            max_context_tokens=max_context_tokens, threshold=threshold,
        )  # fmt: skip

    def mend(self, scope: Scope, event: str) -> list[str]:
        """Forget the summaries that may quote a turn, and sum up what is left without it.

        To be called before a turn is forgotten: a record with many sources does not go with one of
        them, but here its words would stay. The ids of the summaries that went.
        """
        listed = self._store.listed(scope, tier="note", kind=KIND, current=False, archived=True)
        quoting = [record for record in listed if event in record.sources]
        for record in quoting:
            self._store.forget(scope, record.id, at=self._now())
        for record in quoting:
            if record.known_to is None:
                asker = record.data.get("asked_by")
                of = Scope(scope.workspace, scope.user, asker, record.session)
                summed = set(record.sources) - {event}
                if left := [turn for turn in self._turns(of) if turn.id in summed]:
                    self._made(of, left, self._known(of))
        return [record.id for record in quoting]

    def _session(
        self, session: object, user: object, workspace: object, agent: object
    ) -> tuple[Scope, list[Event]]:
        label = validate.word(session, "session")
        scope = validate.scope(workspace=workspace, user=user, agent=agent, session=label)
        turns = self._turns(scope)
        if not turns:
            raise NotFound(f"there is no session {label!r} in this scope")
        return scope, turns

    def _turns(self, scope: Scope) -> list[Event]:
        """The turns of a session that the asker may see, in the order in which they were said."""
        found: list[Event] = []
        after = 0
        while some := self._store.scan(
            scope, after=after, limit=_READ_AT_ONCE, session=scope.session
        ):
            after = some[-1].arrival
            found += [turn for turn in some if _is_seen(turn, scope.agent)]
        return sorted(found, key=lambda turn: (turn.at, turn.arrival))

    def _known(self, scope: Scope) -> list[Record]:
        """The summaries of a session that this asker had made and that hold: one, unless two were
        made at once."""
        return [
            each
            for each in self._store.listed(scope, tier="note", kind=KIND)
            if each.session == scope.session and each.data.get("asked_by") == scope.agent
        ]

    def _made(
        self, scope: Scope, turns: Sequence[Event], before: Sequence[Record]
    ) -> Record | None:
        """The summary of turns: the one that there is, or a new one."""
        by = "rules" if self._summarise is None else "model"
        key = ("summary", scope.session or "", scope.agent or "", *(turn.id for turn in turns))
        id, known = parts.free_id(self._store, scope, *key, by)
        if known is not None:
            return known
        budget = _budget(turns)
        text = told(turns, most_tokens=budget, facts=self._facts(scope, turns))
        retold = self._retold(turns, text, budget)
        if retold is None and by == "model":
            id, known = parts.free_id(self._store, scope, *key, "rules")
            if known is not None:
                return known
        if not (retold or text):
            return None
        new = _derived(
            scope, turns, before, id=id, text=retold or text, by="model" if retold else "rules"
        )
        owner = Scope(scope.workspace, scope.user, _agent(scope, turns), scope.session)
        self._store.put(owner, [new], known_at=self._now(), steps=self._worker.steps)
        self._worker.wake()
        return next(iter(self._store.get(scope, [id])), None)

    def _retold(self, turns: Sequence[Event], text: str, budget: int) -> str | None:
        """The conversation in a model's words, None where there is none that answers."""
        if self._summarise is None:
            return None
        whole = "\n".join(f"{speaker(turn)}: {turn.content}" for turn in turns)
        shown = whole if count_tokens(whole) <= _SHOWN_TOKENS else text
        try:
            answer = self._summarise(shown)
        except ModelError as error:
            log.warning("a session is summed up without the model: %s", type(error).__name__)
            return None
        return _fitted(validate.storable(answer, "summary", []), _MODEL_ROOM * budget) or None

    def _facts(self, scope: Scope, turns: Sequence[Event]) -> dict[str, list[str]]:
        """What is known for a fact, by the turn that says it."""
        ours = {turn.id for turn in turns}
        found: defaultdict[str, list[str]] = defaultdict(list)
        for fact in parts.seen(self._store.listed(scope, tier="fact"), scope):
            plain = " ".join(fact.content.lower().replace("\u2019", "'").split()).rstrip(".!")
            for source in ours.intersection(fact.sources):
                found[source].append(plain)
        return dict(found)


def _budget(turns: Sequence[Event]) -> int:
    """15 % of what is summed up, at least 120 tokens, but never more than there is."""
    tokens = sum(count_tokens(turn.content) for turn in turns)
    return min(tokens + 8, _MOST_TOKENS, max(_LEAST_TOKENS, round(_SHARE * tokens)))


def _is_seen(turn: Event, agent: str | None) -> bool:
    """As `parts.is_seen`, of a turn."""
    if visibility_of(turn.data) is not None:
        return turn.agent == agent
    return agent is None or turn.agent in (None, agent)


def _agent(scope: Scope, turns: Sequence[Event]) -> str | None:
    """Whose a summary is: what an agent alone may see stays with it, retold or not."""
    agents = {turn.agent for turn in turns if turn.agent is not None}
    return agents.pop() if len(agents) == 1 else scope.agent


def _derived(
    scope: Scope, turns: Sequence[Event], before: Sequence[Record], **made: str
) -> Derived:
    """The record of a summary; `made` are its id, its text and by what it was made."""
    agents = {turn.agent for turn in turns if turn.agent is not None}
    # Of several agents nobody's: seen by whoever asks without an agent.
    is_private = any(visibility_of(turn.data) is not None for turn in turns)
    hidden = "agent_only" if len(agents) > 1 or is_private else None
    ended = [each.id for each in before if each.id != made["id"]]
    data = {
        "claim": str(before[0].data["claim"]) if before else made["id"],
        "replaces": ended,
        "by": made["by"],
        "asked_by": scope.agent,
        "turns": len(turns),
    }
    return parts.derived(
        made["id"], "note", KIND, made["text"],
        origin=parts.least(turn.origin for turn in turns), at=turns[-1].at, data=data,
        sources=[turn.id for turn in turns], supersedes=ended, quiet=1, visibility=hidden,
        reason="summed up again" if ended else "",
    )  # fmt: skip


def _reached(known: Sequence[Record], turns: Sequence[Event]) -> int:
    """How many turns, from the first on, are summed up."""
    covered = {source for record in known[-1:] for source in record.sources}
    return max((n for n, turn in enumerate(turns, 1) if turn.id in covered), default=0)


def _compaction(
    scope: Scope, summary: Record | None, turns: Sequence[Event], cut: int
) -> Compaction:
    counts = [count_tokens(turn.content) for turn in turns]
    text = summary.content if summary else ""
    return Compaction(
        session=scope.session or "",
        summary_id=summary.id if summary else None,
        summary=text,
        turns=cut,
        kept=len(turns) - cut,
        tokens_before=sum(counts),
        tokens_after=count_tokens(text) + sum(counts[cut:]),
    )


def _fitted(text: str, most_tokens: int) -> str:
    """The first whole sentences of a text that fit."""
    clean = text.strip()
    if count_tokens(clean) <= most_tokens:
        return clean
    kept: list[str] = []
    left = most_tokens
    for sentence in sentences(clean):
        left -= count_tokens(sentence) + 1
        if left < 0:
            break
        kept.append(sentence)
    return " ".join(kept)
