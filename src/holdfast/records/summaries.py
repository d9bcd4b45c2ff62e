"""Summaries of conversations: what is left of the older turns when a window gets too small.

`compact` sums up all turns of a session but the last few. The turns themselves stay as they are
and are found as before; the summary quotes them (or a model retells them) and is no more to be
believed than the least of them. It is made again when there is more to sum up, and it goes when a
turn that it may quote is forgotten.
"""

from __future__ import annotations

import logging
import math
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from holdfast.border import validate
from holdfast.border.write_options import visibility_of
from holdfast.errors import ModelError, NotFound
from holdfast.language.instructions.own_words import said_by_user
from holdfast.language.regex import regex
from holdfast.language.sentences import DENSE_STOPS, STOPS
from holdfast.language.terms import terms
from holdfast.language.tokens import count_tokens
from holdfast.records import parts
from holdfast.records.parts import Background
from holdfast.records.stats import THRESHOLD, WINDOW, SessionStats, stats
from holdfast.records.versions import chain_data
from holdfast.store.protocols import Derived, Store
from holdfast.types import Event, Record, Scope

# ----------------------------------------------------------------------
# A conversation told in a few of its own sentences, without a model.
#
# Whole sentences of the user and the assistant are chosen, those that matter most for their
# length, and told in the order in which they were said, each with who said it. What matters: what
# was known for a fact, what was decided, planned or forbidden, names and numbers, and what the
# conversation keeps coming back to. Code, tables, quotations and pasted text are left out. Pure
# and deterministic; linear in the length of the conversation but for a sort.
# ----------------------------------------------------------------------

_SPEAKERS = {"user": "User", "assistant": "Assistant"}
#: A longer turn is pasted or generated: what it says stands at its start.
_LOOKED_AT = {"user": 20_000, "assistant": 4_000}
_LONGEST = 500
_LEAST_TERMS, _LEAST_WORDS = 2, 4
#: What the words of the assistant count beside those of the user.
#: These and all below: by hand, not measured.
_ASSISTANT = 0.5
_QUESTION = 0.45
_CENTRAL, _FACT, _SETTLED, _PARTICULAR, _NAMED = 0.6, 1.2, 0.5, 0.15, 0.15
_MOST_PARTICULARS = 3
#: What a further sentence of one turn counts: others should have their say.
_SAME_TURN = {"user": 0.75, "assistant": 0.5}
#: A sentence of which others have told so much already says nothing new.
_TOLD = 0.7
#: After so many sentences that do not fit no more are tried.
_MISSES = 40
_CUT_WORDS = 40

_FENCE = regex(r"[ \t]*(?:```|~~~)")
_LEFT_OUT = regex(r"\s*(?:>|\||#{1,6} |[-=*_]{3,}\s*$)")
_MARK = regex(r"^\s*(?:[-*•]|\d{1,3}[.)])\s+")
_STRESS = regex(r"\*\*|__")
_END = regex(
    rf"(?<=\w{{3}}[.])\s+|(?<=\d[.])\s+(?=[A-Z])|(?<=[)\]\"'”’%][.])\s+|(?<=[{STOPS}…][)\"”’])\s+"
    rf"|(?<=[!?…])\s+|(?<=[{DENSE_STOPS}])"
)
_ASKED = regex(r"[?？]['\")\]”]*$")
_NUMBER = regex(r"\d[\d.,:/%-]*")
_NAME = regex(r"(?<=[a-z,;:] )[A-Z][\w'’-]+(?: [A-Z][\w'’-]+)*")
_SETTLES = regex(
    r"\b(?:decid\w+|agreed|chose|chosen|settled on|switch(?:ed|ing)|instead of|no longer|actually"
    r"|must|have to|has to|needs? to|never|always|deadline|allerg\w+|cannot|can't|plan(?:s|ned)?"
    r"|goal|going to|will|want(?:s)? to|prefer\w*|favou?rite|my name|i'm|i am|i live|i work|we live"
    r"|booked|scheduled|moved|finished|shipped|launched|passed|failed|worked|because)\b"
    r"|决定|必须|计划|目标|喜欢|过敏|不能|因为|打算"
)


@dataclass(frozen=True, slots=True)
class Piece:
    """A sentence of a conversation."""

    #: The place of its turn, and its place in the turn.
    turn: int
    place: int
    text: str
    role: str
    terms: frozenset[str]


def summarize(
    turns: Sequence[Event], *, most_tokens: int, facts: Mapping[str, Collection[str]]
) -> str:
    """A conversation in at most so many tokens; empty where nothing in it can be told.

    `facts` are texts that are known for facts, by the id of the turn that says them.
    """
    pieces = list(_pieces(turns))
    if not pieces:
        return _cut(turns, most_tokens)
    known = {place: facts[turn.id] for place, turn in enumerate(turns) if turn.id in facts}
    ranked = _rank_pieces(pieces, known)
    chosen = _choose(ranked, turns, most_tokens)
    text = _text(chosen, turns)
    while chosen and count_tokens(text) > most_tokens:
        chosen.pop()
        text = _text(chosen, turns)
    return text or _cut(turns, most_tokens)


def speaker(turn: Event) -> str:
    """Who says a turn, on one line and without a colon, so that nobody can seem another."""
    name = " ".join((turn.name or "").replace(":", " ").split())[:64]
    if turn.role == "user":
        return name or "User"
    return _SPEAKERS.get(turn.role, "Tool")


def sentences(text: str) -> list[str]:
    """The sentences of one line or more."""
    return [each.strip() for line in text.splitlines() for each in _END.split(line) if each.strip()]


def _pieces(turns: Sequence[Event]) -> Iterator[Piece]:
    for number, turn in enumerate(turns):
        if turn.role not in _SPEAKERS:
            continue
        lines = _lines(turn)
        for place, sentence in enumerate(each for line in lines for each in sentences(line)):
            # What ends in a colon announces something that is left out.
            if len(sentence) > _LONGEST or sentence.endswith((":", "：")):
                continue
            found = frozenset(terms(sentence))
            if len(found) >= _LEAST_TERMS and (
                len(sentence.split()) >= _LEAST_WORDS or not sentence.isascii()
            ):
                yield Piece(number, place, sentence, turn.role, found)


def _lines(turn: Event) -> Iterator[str]:
    """What is said in a turn, line by line, without code, tables, quotations and headings."""
    text = turn.content[: _LOOKED_AT[turn.role]]
    own = (line for _, line, _ in said_by_user(text))
    said = own if turn.role == "user" else _outside_code(text)
    for line in said:
        if not _LEFT_OUT.match(line):
            yield _STRESS.sub("", _MARK.sub("", line)).strip()


def _outside_code(text: str) -> Iterator[str]:
    inside = False
    for line in text.splitlines():
        if _FENCE.match(line):
            inside = not inside
        elif not inside:
            yield line


def _rank_pieces(pieces: Sequence[Piece], facts: Mapping[int, Collection[str]]) -> list[Piece]:
    """The sentences, those that matter most first."""
    spread = Counter(term for piece in pieces for term in piece.terms)
    central = [
        sum(math.log(spread[term]) for term in piece.terms) / math.sqrt(len(piece.terms))
        for piece in pieces
    ]
    top = max(central, default=0.0) or 1.0
    scores = [
        _voice(piece) * (_CENTRAL * share / top + _matter(piece, facts.get(piece.turn, ())))
        for piece, share in zip(pieces, central, strict=True)
    ]
    return _spread_out(sorted(zip(scores, pieces, strict=True), key=_rank))


def _spread_out(order: Sequence[tuple[float, Piece]]) -> list[Piece]:
    """The same, with each further sentence of one turn set back."""
    before: Counter[int] = Counter()
    ranks: list[tuple[float, Piece]] = []
    for score, piece in order:
        ranks.append((score * _SAME_TURN[piece.role] ** before[piece.turn], piece))
        before[piece.turn] += 1
    return [piece for _, piece in sorted(ranks, key=_rank)]


def _rank(scored: tuple[float, Piece]) -> tuple[float, int, int]:
    score, piece = scored
    return -score, piece.turn, piece.place


def _matter(piece: Piece, facts: Iterable[str]) -> float:
    low = piece.text.lower().replace("\u2019", "'")
    plain = " ".join(low.split())
    is_fact = any(fact in plain or plain in fact for fact in facts)
    particulars = min(_MOST_PARTICULARS, len(_NUMBER.findall(plain)))
    names = min(_MOST_PARTICULARS, len(_NAME.findall(piece.text)))
    settled = _SETTLES.search(low) is not None
    return _FACT * is_fact + _SETTLED * settled + _PARTICULAR * particulars + _NAMED * names


def _voice(piece: Piece) -> float:
    asks = _QUESTION if _ASKED.search(piece.text) else 1.0
    return asks * (1.0 if piece.role == "user" else _ASSISTANT)


def _choose(ranked: Sequence[Piece], turns: Sequence[Event], most_tokens: int) -> list[Piece]:
    """The best that fit and do not say again what is told, best first."""
    chosen: list[Piece] = []
    heard: set[str] = set()
    left, misses = most_tokens, 0
    for piece in ranked:
        if len(piece.terms & heard) >= _TOLD * len(piece.terms) and _is_told(piece, chosen):
            continue
        cost = count_tokens(f"\n{speaker(turns[piece.turn])}: {piece.text}")
        if cost > left:
            misses += 1
            if misses >= _MISSES:
                break
            continue
        chosen.append(piece)
        heard |= piece.terms
        left -= cost
    return chosen


def _is_told(piece: Piece, chosen: Iterable[Piece]) -> bool:
    least = _TOLD * len(piece.terms)
    return any(len(piece.terms & other.terms) >= least for other in chosen)


def _text(chosen: Sequence[Piece], turns: Sequence[Event]) -> str:
    """The sentences in the order in which they were said, a line for each turn."""
    lines: dict[int, list[str]] = {}
    for piece in sorted(chosen, key=lambda each: (each.turn, each.place)):
        lines.setdefault(piece.turn, []).append(piece.text)
    return "\n".join(f"{speaker(turns[turn])}: {' '.join(said)}" for turn, said in lines.items())


def _cut(turns: Sequence[Event], most_tokens: int) -> str:
    """Where there is no whole sentence: how the longest thing that somebody said begins."""
    said = [turn for turn in turns if turn.role in _SPEAKERS and turn.content.strip()]
    if not said:
        return ""
    longest = max(said, key=lambda turn: len(turn.content[:_LONGEST]))
    words = longest.content[:_LONGEST].split()[:_CUT_WORDS]
    while words:
        text = f"{speaker(longest)}: {' '.join(words)}"
        if count_tokens(text) <= most_tokens:
            return text
        words = words[: len(words) // 2]
    return ""


log = logging.getLogger("holdfast.summaries")

KIND = "summary"
#: By hand, not measured.
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


class Summaries(parts.Tier):
    """The summaries of a memory's sessions. Threads may share it."""

    name = "note"

    def __init__(
        self,
        store: Store,
        worker: Background,
        *,
        now: Callable[[], datetime],
        summarise: Summarise | None = None,
    ) -> None:
        super().__init__(store, worker, now=now)
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
        cut = max(len(turns) - keep, _count_covered(known, turns))
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
        cut = _count_covered(known, turns)
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
        if quoting:
            self._store.forget(scope, [record.id for record in quoting], at=self._now())
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
        while some := self._store.events(
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
        text = summarize(turns, most_tokens=budget, facts=self._facts(scope, turns))
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
        self._put(owner, [new], at=self._now())
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
        return _fit(validate.storable(answer, "summary", []), _MODEL_ROOM * budget) or None

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
    data = {
        **chain_data(made["id"], before),
        "by": made["by"],
        "asked_by": scope.agent,
        "turns": len(turns),
    }
    return parts.derived(
        made["id"], "note", KIND, made["text"],
        origin=parts.least(turn.origin for turn in turns), at=turns[-1].at, data=data,
        sources=[turn.id for turn in turns], supersedes=[each.id for each in before],
        quiet=1, visibility=hidden, reason="summed up again" if before else "",
    )  # fmt: skip


def _count_covered(known: Sequence[Record], turns: Sequence[Event]) -> int:
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


def _fit(text: str, most_tokens: int) -> str:
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
