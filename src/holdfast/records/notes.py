"""Notes: what was decided, tried and achieved, day by day.

Somebody writes one in their own words (`add`), or the rules draw it from what the user says
(`planned`): such a note quotes its turn and is therefore no document of the usual search. A note
fades when nobody needs it; a day shows all of its notes, faded ones as well.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time, timedelta, timezone, tzinfo
from typing import Any
from zoneinfo import ZoneInfo

from holdfast.border import validate
from holdfast.border.write_options import visibility_of
from holdfast.config import Limits
from holdfast.errors import InvalidInput, NotFound
from holdfast.language.instructions.own_words import said_by_user, shows
from holdfast.language.regex import regex
from holdfast.language.sentences import DENSE_STOPS, STOPS
from holdfast.language.statements.values import FactDraft
from holdfast.records import parts
from holdfast.records.graph.check import choice
from holdfast.records.parts import Background
from holdfast.records.versions import attempts, chain_data
from holdfast.store.protocols import Derived, Store
from holdfast.types import Event, Metadata, Record, Scope

# ----------------------------------------------------------------------
# Notes that the rules draw from what the user says: decisions, outcomes, strategies.
#
# A decision is what the reader of facts takes for one. Outcomes ("we shipped it", "it did not
# work") and strategies ("my plan is to ...") are known by closed phrases, in statements alone:
# what is asked, supposed, hoped for or only quoted has not happened. In doubt nothing is drawn:
# the turn itself is kept and found in any case. Pure: the same words give the same notes with the
# same ids.
# ----------------------------------------------------------------------

_LEAST_WORDS, _MOST_WORDS = 4, 60
_MOST_CHARACTERS = 400
_MOST_A_TURN = 3
#: A longer turn is pasted; what its user says of it stands at its start.
_LOOKED_AT = 20_000
_END = regex(rf"(?<=[{STOPS}])\s+|(?<=[{DENSE_STOPS}])")

_LATELY = r"(?:(?:finally|just|already|successfully|officially|all|really|actually|both) )*"
_ACHIEVED = (
    r"(?:shipped|launched|released|deployed|delivered|published|submitted|won|solved|fixed|resolved"
    r"|graduated|qualified|(?:achieved|reached) (?:an?|the|my|our)\b"
    r"|(?:passed|failed) (?:the|my|our|his|her|all|it)\b"
    r"|(?:finished|completed|closed) (?:the|my|our|all|it)\b"
    r"|lost (?:the|our|that) (?:\w+ )?(?:game|match|case|deal|contract|bid|client|election)"
    r"|got (?:in|accepted|rejected|approved|promoted|hired|funded)"
    r"|got (?:the|my|our) (?:\w+ )?(?:job|offer|grant|contract|visa|loan|role|place|permit|license"
    r"|licence|apartment|house))"
)
_OUTCOME = regex(
    rf"\b(?:it|that|this|which|everything|nothing)(?: has| had)? {_LATELY}"
    r"(?:worked|paid off|failed|fell through|backfired|succeeded"
    r"|went (?:live|well|badly|wrong|great|smoothly))\b"
    r"|\b(?:it|that|this|which) (?:did not|didn't|has not|hasn't) (?:quite )?work(?:ed)?\b"
    r"|\b(?:i|we|they|(?:the|my|our) (?:\w+ )?(?:team|company|son|daughter|wife|husband|partner))"
    rf"(?:'ve| have| has)? {_LATELY}{_ACHIEVED}\b(?!')"
    r"|\b(?:was|were|got|has been|have been) (?:finally )?(?:approved|rejected|accepted|declined"
    r"|cancell?ed|postponed|merged|signed off)\b"
    r"|\b(?:turned out (?:well|fine|great|badly|to be)|as a result|(?:is|are) now live"
    r"|the (?:result|outcome) (?:is|was))\b"
)
_STRATEGY = regex(
    r"\b(?:my|our|the|a) (?:\w+ ){0,2}?(?:plan|strategy|approach|idea|tactic)"
    r"(?: (?:here|now|for \w+(?: \w+)?|going forward))?(?: is| will be)(?: now)? to\b"
    r"|\b(?:my|our|the) (?:\w+ ){0,2}?(?:plan|strategy|approach)\s?:"
    r"|\b(?:i|we)(?:'ll| will|'m going to| am going to|'re going to| are going to)"
    r" (?:start|begin) by\b"
    rf"|\b(?:i|we)(?:'ll| will|'m going to|'re going to)\b[^{STOPS}]{{2,80}}\bfirst\b"
    rf"[^{STOPS}]{{0,80}}\bthen\b"
)
_KINDS = (("outcome", _OUTCOME), ("strategy", _STRATEGY))
# Before the phrase: it has not happened, or not so.
_UNREAL = regex(
    r"\b(?:if|unless|hop(?:e|ed|es|ing)|wish|will|would|could|might|may|should|wants?|needs?|until"
    r"|before|once|never|almost|nearly|whether|imagine|suppose|bet|what|like|not sure)\b"
)
_ASKED = regex(r"[?？]['\")\]]*$|^(?:what|which|who|why|how|where|when|did|do|does|has)\b")


def draw_notes(facts: Sequence[FactDraft], turns: Sequence[Event] = ()) -> list[Derived]:
    """The notes of drafts of facts and of turns: quiet, for they quote what was said.

    `turns` are those to learn from; of others than the user nothing is drawn.
    """
    notes: dict[str, Derived] = {}
    told: set[tuple[str, str]] = set()
    for fact in facts:
        kind = "decision" if fact.category == "decision" else kind_of(fact.text)
        if kind is not None and fact.sources:
            told.add((fact.sources[0], _plain(fact.text)))
            note = _of_fact(fact, kind)
            notes.setdefault(note.id, note)
    for turn in turns:
        if turn.role == "user" and turn.origin == "user":
            for note in _of_turn(turn, told):
                notes.setdefault(note.id, note)
    return list(notes.values())


def kind_of(text: str) -> str | None:
    """What a statement tells: an outcome, a strategy, or neither."""
    low = text.replace("\u2019", "'").lower().strip()
    if len(text) > _MOST_CHARACTERS or not _LEAST_WORDS <= len(low.split()) <= _MOST_WORDS:
        return None
    if _ASKED.search(low):
        return None
    for kind, cue in _KINDS:
        found = cue.search(low)
        if found and not _UNREAL.search(low[: found.start()]):
            return kind
    return None


def _of_turn(turn: Event, told: set[tuple[str, str]]) -> list[Derived]:
    """The notes of one turn beside those of its facts; a long account gives only its first."""
    found: list[Derived] = []
    if shows(turn.content[:_LOOKED_AT]):
        return found  # What somebody else achieved or decided.
    for sentence, low in _sentences(turn.content[:_LOOKED_AT]):
        kind = kind_of(low)
        if kind is None or (turn.id, _plain(sentence)) in told:
            continue
        note = parts.derived(
            _id(turn.id, kind, sentence), "note", kind, sentence,
            origin=turn.origin, at=turn.at, data={"drawn": True}, sources=(turn.id,),
            quiet=1, role=turn.role, name=turn.name, visibility=visibility_of(turn.data),
        )  # fmt: skip
        found.append(note)
    return found[:_MOST_A_TURN]


def _of_fact(fact: FactDraft, kind: str) -> Derived:
    data: dict[str, object] = {"drawn": True}
    if fact.entities:
        data["entities"] = list(fact.entities)
    return parts.derived(
        _id(fact.sources[0], kind, fact.text), "note", kind, fact.text,
        origin=fact.origin, at=fact.at, data=data, sources=fact.sources, quiet=1,
        confidence=fact.confidence, importance=fact.importance, role=fact.role, name=fact.name,
        visibility=fact.visibility,
    )  # fmt: skip


def _id(event: str, kind: str, text: str) -> str:
    return parts.digest("drawn note", event, kind, _plain(text))


def _sentences(text: str) -> Iterator[tuple[str, str]]:
    """What the user says, sentence by sentence: verbatim, and in small letters without quotes."""
    for _, verbatim, low in said_by_user(text):
        at = 0
        for border in [*(found.span() for found in _END.finditer(verbatim)), (len(verbatim),) * 2]:
            sentence = verbatim[at : border[0]].strip()
            if sentence:
                yield sentence, low[at : border[0]].strip()
            at = border[1]


def _plain(text: str) -> str:
    return " ".join(text.lower().split()).rstrip(".!")


#: What a note can be.
CATEGORIES: tuple[str, ...] = ("decision", "outcome", "strategy", "note", "interaction")
#: A weaker note is left out unless it is wanted. The seed's (docs/decisions/0011).
FADED_BELOW = 0.2
_CONTENT_CHARS = 16_000
_MOST_LISTED = 10_000
_DAY = timedelta(days=1)
_OFFSET = regex(r"(?P<sign>[+-])(?P<hours>\d\d):?(?P<minutes>[0-5]\d)")
_FIRST_YEAR, _LAST_YEAR = 1900, 2199

Strength = Callable[[Record, datetime], float]


@dataclass(frozen=True, slots=True)
class Note:
    """A note as a caller is shown it."""

    id: str
    content: str
    category: str
    #: When it was said or written.
    at: datetime
    origin: str
    #: How present it still is, 0..1.
    weight: float
    #: Event ids of the turns it was drawn from; none for a note that somebody wrote.
    sources: tuple[str, ...] = ()
    agent: str | None = None
    session: str | None = None
    metadata: Metadata = field(default_factory=dict)


_Notes = list[Note]
_Records = list[Record]
_Planned = list[Derived]


class Notes(parts.Tier):
    """The notes of a memory. Threads may share it."""

    name = "note"

    def __init__(
        self,
        store: Store,
        worker: Background,
        *,
        now: Callable[[], datetime],
        strength: Strength,
        limits: Limits | None = None,
    ) -> None:
        super().__init__(store, worker, now=now, limits=limits)
        self._strength = strength

    def add(  # noqa: PLR0913 (the public contract)
        self,
        content: str,
        *,
        category: str = "note",
        user: str | None = None,
        workspace: str = "default",
        agent: str | None = None,
        session: str | None = None,
        at: datetime | str | None = None,
        metadata: Mapping[str, Any] | None = None,
        origin: str | None = None,
    ) -> Note:
        """Write a note. The same note of the same moment is one note, however often it is sent."""
        scope = validate.scope(workspace=workspace, user=user, agent=agent, session=session)
        said = parts.text(content, "content", _CONTENT_CHARS)
        kind = choice(category, "category", CATEGORIES)
        given = validate.checked_metadata(metadata, "metadata", self._limits, [])
        whose = parts.origin(origin, agent=scope.agent)
        now = self._now()
        when = now if at is None else validate.moment(at, "at")
        id, known = parts.free_id(
            self._store, scope, "note", agent or "", kind, said, when.isoformat()
        )
        if known is None:
            new = parts.derived(
                id, "note", kind, said, origin=whose, at=when, data={}, metadata=given
            )
            self._put(scope, [new], at=now)
            known = self._store.get(scope, [id])[0]
        return self._shown(known, now)

    def update(
        self,
        id: str,
        content: str,
        *,
        category: str | None = None,
        metadata: Mapping[str, Any] | None = None,
        user: str | None = None,
        workspace: str = "default",
        agent: str | None = None,
        origin: str | None = None,
    ) -> Note:
        """Another text in the place of a note, on the same day: a new version with its own id.

        What is not given stays; saying the same again changes nothing. What the user wrote and an
        agent changed is the agent's word.
        """
        scope = validate.scope(workspace=workspace, user=user, agent=agent)
        said = parts.text(content, "content", _CONTENT_CHARS)
        whose = parts.origin(origin, agent=scope.agent)
        for head in attempts(self._store, scope):
            old = parts.one(self._store, scope, id, "id", "note")
            if old.kind not in CATEGORIES:
                raise NotFound(f"there is no note {id!r} in this scope")
            kind = old.kind if category is None else choice(category, "category", CATEGORIES)
            given = old.metadata
            if metadata is not None:
                given = validate.checked_metadata(metadata, "metadata", self._limits, [])
            is_over = old.known_to is not None
            if not is_over and (old.content, old.kind, old.metadata) == (said, kind, given):
                return self._shown(old, self._now())
            id_of_new, made = parts.free_id(
                self._store, scope, "note version", old.id, kind, said, repr(given)
            )
            if made is not None:  # This very change, sent again.
                return self._shown(made, self._now())
            if is_over:
                raise InvalidInput("id is that of a version that was replaced", field="id")
            new = _version(id_of_new, old, whose, content=said, kind=kind, metadata=given)
            if self._put(parts.writer_of(scope, old), [new], at=self._now(), since=head):
                break
        return self._shown(self._store.get(scope, [new.id])[0], self._now())

    def day(
        self,
        day: date | str,
        *,
        user: str | None = None,
        workspace: str = "default",
        agent: str | None = None,
        tz: str = "UTC",
    ) -> _Notes:
        """The notes of one day in the order of their times, also those that have faded.

        `tz` is the zone whose midnight counts: a name such as "Asia/Kathmandu", or "+05:45".
        """
        scope = validate.scope(workspace=workspace, user=user, agent=agent)
        start, end = day_span(day, tz)
        found = [each for each in self._records(scope) if start <= each.valid_from < end]
        now = self._now()
        return [self._shown(each, now) for each in sorted(found, key=_moment)]

    def list(
        self,
        *,
        user: str | None = None,
        workspace: str = "default",
        agent: str | None = None,
        category: str | None = None,
        since: datetime | str | None = None,
        until: datetime | str | None = None,
        faded: bool = False,
        limit: int = 100,
    ) -> _Notes:
        """Notes from `since` on and before `until`, newest first; faded ones only if wanted."""
        scope = validate.scope(workspace=workspace, user=user, agent=agent)
        kind = None if category is None else choice(category, "category", CATEGORIES)
        first = None if since is None else validate.moment(since, "since")
        last = None if until is None else validate.moment(until, "until")
        most = validate.whole_number(limit, "limit", 1, _MOST_LISTED)
        now = self._now()
        found = [
            self._shown(each, now)
            for each in sorted(self._records(scope, kind), key=_moment, reverse=True)
            if (first is None or each.valid_from >= first)
            and (last is None or each.valid_from < last)
        ]
        return [note for note in found if faded or note.weight >= FADED_BELOW][:most]

    def planned(
        self, scope: Scope, facts: Sequence[FactDraft], *, turns: Sequence[Event] = ()
    ) -> _Planned:
        """The notes that the rules draw from turns and the facts found in them, not stored.

        They are of this scope, whose agent and session the store gives them. What was drawn before
        is not drawn again: how much it matters was judged by what was new then.
        """
        found = draw_notes(facts, turns)
        known = {each.id for each in self._store.get(scope, [each.id for each in found])}
        return [each for each in found if each.id not in known]

    def _records(self, scope: Scope, kind: str | None = None) -> _Records:
        listed = self._store.listed(scope, tier="note", kind=kind)
        return [each for each in parts.seen(listed, scope) if each.kind in CATEGORIES]

    def _shown(self, record: Record, now: datetime) -> Note:
        return Note(
            id=record.id,
            content=record.content,
            category=record.kind,
            at=record.valid_from,
            origin=record.origin,
            weight=self._strength(record, now),
            sources=record.sources,
            agent=record.agent,
            session=record.session,
            metadata=record.metadata,
        )


def _version(id: str, old: Record, whose: str, *, content: str, **said: Any) -> Derived:
    """The record of a new version: of the moment that the note is of."""
    return parts.derived(
        id, "note", said["kind"], content,
        origin=parts.least((old.origin, whose)), at=old.valid_from, supersedes=(old.id,),
        data=chain_data(id, [old]),
        metadata=said["metadata"], visibility=old.visibility,
    )  # fmt: skip


def day_span(day: date | str, tz: str) -> tuple[datetime, datetime]:
    """When a day begins and ends in a zone, in UTC; one that a zone has skipped has no length."""
    asked = _date(day)
    zone = _zone(tz)
    start, end = (datetime.combine(each, time(), zone) for each in (asked, asked + _DAY))
    return start.astimezone(UTC), end.astimezone(UTC)


def _date(given: object) -> date:
    day = _parse_day(given) if isinstance(given, str) else given
    if not isinstance(day, date) or isinstance(day, datetime):
        raise InvalidInput(f"day must be a date, not {type(day).__name__}", field="day")
    if not _FIRST_YEAR <= day.year <= _LAST_YEAR:
        raise InvalidInput(f"day must lie between 1900 and 2199, not {day.year}", field="day")
    return day


def _parse_day(text: str) -> date:
    try:
        return date.fromisoformat(text.strip())
    except ValueError:
        raise InvalidInput(
            f'day is not ISO 8601, for example "2026-03-01": {text[:64]!r}', field="day"
        ) from None


def _zone(tz: object) -> tzinfo:
    if tz == "UTC":  # Known where there is no database of zones.
        return UTC
    if isinstance(tz, str) and (found := _OFFSET.fullmatch(tz)) and int(found["hours"]) < 24:
        ahead = timedelta(hours=int(found["hours"]), minutes=int(found["minutes"]))
        return timezone(-ahead if found["sign"] == "-" else ahead)
    try:
        return ZoneInfo(tz if isinstance(tz, str) else "")
    except (KeyError, ValueError, OSError):  # A name unknown, malformed, or of a folder.
        raise InvalidInput(
            f'tz must be the name of a zone or an offset, "Asia/Kathmandu" or "+05:45",'
            f" not {str(tz)[:64]!r}",
            field="tz",
        ) from None


def _moment(record: Record) -> tuple[datetime, datetime, str]:
    return record.valid_from, record.known_from, record.id
