"""The user profile: one document of what is known of a user, made anew each time it is asked for.

It is a function of the facts that hold and of what was set by hand; nothing else is stored. So it
changes by itself when a turn is forgotten or a fact superseded, and can be asked for as of a time.
What is set by hand stands above what facts say. A model may write one of the six summaries: its
text is shown as long as every fact it was given still holds, then the composed one is again.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

from holdfast.border import validate
from holdfast.border.write_options import AGENT_ONLY
from holdfast.errors import InvalidInput
from holdfast.index.look import Owner, owner_of
from holdfast.index.resident import Follower, InUse
from holdfast.language.regex import regex
from holdfast.language.sentences import DENSE_STOPS, STOPS
from holdfast.language.statements.values import BY_USER, CATEGORIES
from holdfast.records import parts
from holdfast.records.graph.check import choice
from holdfast.records.parts import Background
from holdfast.records.profile_fields import (
    SECTIONS,
    Field,
    Profile,
    Summary,
    category,
    fields,
    versions_by_claim,
)
from holdfast.records.versions import attempts, chain_data
from holdfast.store.protocols import Change, Store
from holdfast.types import Record, Scope

# ----------------------------------------------------------------------
# The records that profiles are made of, kept in memory as long as none of them changes.
#
# A profile is asked for before every answer, but facts change seldom. What changed since is asked
# of the store's feed, which is cheap, so what another process writes is seen as well.
# ----------------------------------------------------------------------

_TIERS = ("fact", "profile")
#: Records of all owners together, some 1.5 kB each.
_MOST_RECORDS = 50_000


@dataclass(slots=True)
class OwnerRecords:
    """What is known of an owner: of now and of the past, without what was forgotten."""

    facts: list[Record]
    written: list[Record]
    #: By agent the profile that was made of them last, and from and until when it is right.
    made: dict[str | None, tuple[Profile, datetime, datetime]] = field(default_factory=dict)

    @property
    def size(self) -> int:
        return 1 + len(self.facts) + len(self.written)


class _OwnerProfile(Follower):
    """The records of one owner that a profile is made of: read anew when one of them changed."""

    records = OwnerRecords([], [])

    def read_all(self, store: Store, scope: Scope) -> None:
        facts, written = (store.listed(scope, tier=tier, current=False) for tier in _TIERS)
        self.records = OwnerRecords(facts, written)

    def read_changes(self, store: Store, scope: Scope, changes: Sequence[Change]) -> None:
        if any(change.tier in _TIERS for change in changes):
            self.read_all(store, scope)


class Keep:
    """Keeps the records of the owners that were asked for last. Threads may share it."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._owners: InUse[Owner, _OwnerProfile] = InUse(
            lambda owner: owner.records.size, most=_MOST_RECORDS
        )

    def of(self, scope: Scope) -> OwnerRecords:
        """The records of an owner as they are now."""
        owner = self._owners.get(owner_of(scope), _OwnerProfile)
        with owner.lock:
            owner.follow(self._store, scope)
            records = owner.records
        self._owners.make_room()
        return records


# ----------------------------------------------------------------------
# The six summaries of a profile, composed from its facts without a model.
#
# Each fact is told in one place: goals and decisions of the last 30 days and plans with a day
# ahead are on top of the mind; what has to do with work is work; who the user is, likes, does and
# must not do is personal; the rest is history, of the last 90 days, of the year before, or older.
# The most important facts are told first choice, in the order of their times, in whole sentences
# and at most 80 words.
# ----------------------------------------------------------------------

_MOST_WORDS = 80
_LATELY, _MONTHS, _YEAR = timedelta(days=30), timedelta(days=90), timedelta(days=365)
_INSTANT = timedelta(microseconds=1)
_PLANS = frozenset({"goal", "decision"})
_PERSONAL = frozenset({"identity", "preference", "behavior", "constraint"})
_WORK = regex(
    r"\b(?:work(?:s|ed|ing)? (?:at|for|on|as|in|with|from)|at work|my work|jobs?|employ\w*"
    r"|compan(?:y|ies)|colleagues?|co-?workers?|manager|boss|office|career|projects?|clients?|customers?|startup"
    r"|business|deadlines?|meetings?|salary|engineer\w*|developer|team|sprint|release|degree"
    r"|universit\w+|studying|thesis|exams?)\b|工作|公司|项目|客户|同事",
    re.I,
)


class _Opening(NamedTuple):
    """The sentence that a summary begins with, and the fields it tells."""

    text: str = ""
    fields: tuple[str, ...] = ()


_NOTHING = _Opening()
_END = regex(rf"[{STOPS}…{DENSE_STOPS}]['\")\]”’]*$")


def compose_summaries(
    facts: Sequence[Record], fields: Mapping[str, Field], at: datetime
) -> dict[str, Summary]:
    """The summaries as of a time."""
    placed: dict[str, list[Record]] = {name: [] for name in SECTIONS}
    by_id = {fact.id: fact for fact in facts}
    openings = {"workContext": _work(fields), "personalContext": _person(fields)}
    heads = {
        name: [by_id[id] for id in _facts_of(opening, fields) if id in by_id]
        for name, opening in openings.items()
    }
    told = {fact.id for head in heads.values() for fact in head}
    for fact in facts:
        if fact.id not in told:
            placed[section(fact, at)].append(fact)
    return {
        name: _summary(openings.get(name, _NOTHING).text, heads.get(name, []), placed[name])
        for name in SECTIONS
    }


def section(fact: Record, at: datetime) -> str:
    """Where a fact is told."""
    kind, age = category(fact), at - fact.valid_from
    due = _due(fact)
    if (kind in _PLANS and age <= _LATELY) or (due is not None and at <= due):
        return "topOfMind"
    if kind not in _PLANS and _WORK.search(fact.content):
        return "workContext"
    if kind in _PERSONAL:
        return "personalContext"
    if age <= _MONTHS:
        return "recentMonths"
    return "earlierContext" if age <= _YEAR else "longTermBackground"


def change_times(facts: Sequence[Record]) -> list[datetime]:
    """When facts change their place for being older, or for their day being over."""
    # A fact of exactly that age is still where it was.
    ages = [fact.valid_from + age + _INSTANT for fact in facts for age in (_LATELY, _MONTHS, _YEAR)]
    return ages + [due + _INSTANT for fact in facts if (due := _due(fact)) is not None]


def _due(fact: Record) -> datetime | None:
    """Until when a fact plans something."""
    due = fact.data.get("due")
    return datetime.fromisoformat(due) if isinstance(due, str) and due else None


def sentence(text: str) -> str:
    """A text that ends like a sentence."""
    line = " ".join(text.split())
    return line if _END.search(line) else f"{line}."


def words(text: str) -> int:
    """How long a text is, in words; scripts without spaces count by their characters."""
    return max(len(text.split()), len(text) // 8)


def _summary(opening: str, head: Sequence[Record], facts: Sequence[Record]) -> Summary:
    left = _MOST_WORDS - words(opening)
    chosen: list[Record] = []
    for fact in sorted(facts, key=_weight):
        length = words(sentence(fact.content))
        if length <= left:
            chosen.append(fact)
            left -= length
    chosen.sort(key=lambda each: (each.valid_from, each.known_from, each.id))
    used = [*head, *chosen]
    lines = [*([opening] if opening else []), *(sentence(each.content) for each in chosen)]
    return Summary(
        text=" ".join(dict.fromkeys(lines)),
        updated_at=max((each.known_from for each in used), default=None),
        sources=tuple(dict.fromkeys(source for each in used for source in each.sources)),
    )


def _weight(fact: Record) -> tuple[float, float, str]:
    return -fact.importance, -fact.valid_from.timestamp(), fact.id


def _work(fields: Mapping[str, Field]) -> _Opening:
    told = {
        "job": "Works as {}",
        "employer": "at {}" if "job" in fields else "Works at {}",
    }
    return _opening(told, fields, " ")


def _person(fields: Mapping[str, Field]) -> _Opening:
    told = {
        "name": "is called {}", "age": "is {} years old", "home": "lives in {}",
        "hometown": "comes from {}", "languages": "speaks {}", "family": "has family: {}",
        "pets": "has pets: {}", "likes": "likes {}", "dislikes": "does not like {}",
    }  # fmt: skip
    return _opening(told, fields, "; ")


def _opening(told: Mapping[str, str], fields: Mapping[str, Field], joint: str) -> _Opening:
    """A sentence of fields, as far as it fits: half of the room, so that facts are told, too."""
    lines: list[str] = []
    names: list[str] = []
    for name, template in told.items():
        line = template.format(fields[name].value) if name in fields else ""
        if line and words(joint.join([*lines, line])) <= _MOST_WORDS // 2:
            lines.append(line)
            names.append(name)
    text = joint.join(lines)
    return _Opening(sentence(text[:1].upper() + text[1:]) if text else "", tuple(names))


def _facts_of(opening: _Opening, fields: Mapping[str, Field]) -> list[str]:
    return [id for name in opening.fields for id in fields[name].facts]


_NAME = regex(r"[a-z][a-z0-9_]{0,63}")
_VALUE_CHARS = 1_000
_SUMMARY_CHARS = 4_000
_MOST_VALUES = 50
_MOST_FACTS = 1_000
#: What is listed but never searched.
_LISTED = 2
_NEVER = datetime.max.replace(tzinfo=UTC)


class Profiles(parts.Tier):
    """The profiles of a memory's users. Threads may share it."""

    name = "profile"

    def __init__(self, store: Store, worker: Background, *, now: Callable[[], datetime]) -> None:
        super().__init__(store, worker, now=now)
        self._keep = Keep(store)

    def profile(
        self,
        *,
        user: str | None = None,
        workspace: str = "default",
        agent: str | None = None,
        as_of: datetime | str | None = None,
        known_at: datetime | str | None = None,
    ) -> Profile:
        """What is known of a user; what held at `as_of`, and as it was known at `known_at`."""
        scope = validate.scope(workspace=workspace, user=user, agent=agent)
        asked = None if as_of is None else validate.moment(as_of, "as_of")
        known = None if known_at is None else validate.moment(known_at, "known_at")
        now = self._now()
        kept = self._keep.of(scope)
        if asked is not None or known is not None:
            return _make_profile(scope, kept, now=now, as_of=asked, known_at=known)[0]
        last = kept.made.get(scope.agent)
        if last is None or not last[1] <= now < last[2]:
            profile, until = _make_profile(scope, kept, now=now)
            last = kept.made[scope.agent] = profile, now, until
        return last[0]

    def set(
        self,
        field: str,
        value: str | Sequence[str],
        *,
        user: str | None = None,
        workspace: str = "default",
        agent: str | None = None,
        origin: str | None = None,
    ) -> Field:
        """Set a field by hand: it stands above what facts say until it is set again or cleared.

        Only users say who they are: `origin` is user or user_confirmed.
        """
        scope = validate.scope(workspace=workspace, user=user, agent=agent)
        name = _field_name(field)
        values = _values(value)
        whose = parts.origin(origin, sorted(BY_USER), agent=scope.agent)
        data = {"values": list(values)}
        record = self._set(
            scope, name, f"{name}: {', '.join(values)}", data=data, origin=whose, quiet=0
        )
        return _set_field(record)

    def clear(
        self,
        field: str,
        *,
        user: str | None = None,
        workspace: str = "default",
        agent: str | None = None,
    ) -> bool:
        """Take back what was set by hand: the field says again what facts say; whether it was
        set."""
        scope = validate.scope(workspace=workspace, user=user, agent=agent)
        name = _field_name(field)
        now = self._now()
        ids = [each.id for each in self._open(scope, name)]
        return bool(self._store.end(scope, ids, at=now, valid_to=now, reason="cleared by hand"))

    def write_summary(
        self,
        section: str,
        text: str,
        *,
        facts: Sequence[str],
        user: str | None = None,
        workspace: str = "default",
        agent: str | None = None,
        visibility: str | None = None,
    ) -> Summary:
        """Keep what a model wrote for one of the six summaries, of these facts.

        It is no more to be believed than the least of them, and is shown while all of them hold; to
        this agent alone with `visibility="agent_only"`, or if one of them is seen by it alone.
        """
        scope = validate.scope(workspace=workspace, user=user, agent=agent)
        name = choice(section, "section", SECTIONS)
        said = parts.text(text, "text", _SUMMARY_CHARS)
        ids = list(dict.fromkeys(validate.memory_ids(facts, "facts")))
        if not 1 <= len(ids) <= _MOST_FACTS:
            raise InvalidInput(f"facts must be 1..{_MOST_FACTS}, not {len(ids)}", field="facts")
        found = [parts.one(self._store, scope, each, "facts", "fact") for each in ids]
        sources = tuple(dict.fromkeys(s for fact in found for s in fact.sources))
        # A model wrote it, so it is at most an agent's word.
        origin = parts.least(["agent", *(fact.origin for fact in found)])
        is_private = any(fact.visibility is not None for fact in found)
        record = self._set(
            scope, name, said, data={"facts": ids}, origin=origin, quiet=_LISTED, sources=sources,
            visibility=AGENT_ONLY if is_private else _seen_by(visibility, agent),
        )  # fmt: skip
        return Summary(record.content, record.known_from, record.sources)

    def mend(self, scope: Scope, id: str) -> list[str]:
        """Forget the summaries that a model wrote of a turn or a fact; their ids.

        To be called before that is forgotten: they are not shown afterwards in any case, but their
        words would stay.
        """
        listed = self._store.listed(scope, tier="profile", current=False, archived=True)
        gone = [each.id for each in listed if id in (*each.sources, *each.data.get("facts", ()))]
        if gone:
            self._store.forget(scope, gone, at=self._now())
        return gone

    def _set(
        self,
        scope: Scope,
        kind: str,
        content: str,
        *,
        data: dict[str, list[str]],
        origin: str,
        quiet: int,
        sources: Sequence[str] = (),
        visibility: str | None = None,
    ) -> Record:
        """A record in the place of the one there was; the same again changes nothing."""
        whose = [] if visibility is None else [visibility, scope.agent or ""]
        for since in attempts(self._store, scope):
            before = self._open(scope, kind, visibility)
            last = before[-1] if before else None
            if last and (last.content, last.origin) == (content, origin) and _says(last, data):
                return last
            id, _ = parts.free_id(
                self._store, scope, "profile", kind, last.id if last else "", origin, content,
                *whose,
            )  # fmt: skip
            now = self._now()
            new = parts.derived(
                id, "profile", kind, content, origin=origin, at=now, sources=sources,
                data={**data, **chain_data(id, before)}, supersedes=[each.id for each in before],
                quiet=quiet, visibility=visibility,
            )  # fmt: skip
            if self._put(scope, [new], at=now, since=since):
                break
        return self._store.get(scope, [id])[0]

    def _open(self, scope: Scope, kind: str, visibility: str | None = None) -> list[Record]:
        """What is set in this place by the same asker, for the same readers."""
        listed = self._store.listed(scope, tier="profile", kind=kind)
        whose = scope.agent, visibility
        return [each for each in listed if (each.agent, each.visibility) == whose]


def _make_profile(
    scope: Scope,
    kept: OwnerRecords,
    *,
    now: datetime,
    as_of: datetime | None = None,
    known_at: datetime | None = None,
) -> tuple[Profile, datetime]:
    """A profile, and until when it stays as it is if nothing is learned."""

    def known(records: Sequence[Record]) -> list[Record]:
        there = parts.seen(records, scope)
        return [each for each in there if known_at is None or each.known_from <= known_at]

    def held(records: Sequence[Record]) -> list[Record]:
        return [r for r in records if parts.holds(r, now=now, as_of=as_of, known_at=known_at)]

    facts, written = known(kept.facts), known(kept.written)
    telling = [r for r in held(facts) if r.kind in CATEGORIES and r.quiet < _LISTED]
    profile = _document(scope, telling, held(written), at=as_of or known_at or now)
    profile = replace(
        profile, revision=len(facts) + len(written), versions=versions_by_claim(facts)
    )
    ends = [each.valid_to for each in (*telling, *written) if each.valid_to is not None]
    later = [each for each in (*ends, *change_times(telling)) if each > now]
    return profile, min(later, default=_NEVER)


def _document(
    scope: Scope, facts: Sequence[Record], written: Sequence[Record], *, at: datetime
) -> Profile:
    told = fields(facts, user=scope.user)
    told |= {each.kind: _set_field(each) for each in written if _is_set(each)}
    summaries = compose_summaries([fact for fact in facts if parts.is_by_user(fact)], told, at)
    there = {fact.id for fact in facts if parts.is_by_user(fact)}
    for each in written:
        rests_on = each.data.get("facts")
        if each.kind in SECTIONS and rests_on and there.issuperset(rests_on):
            summaries[each.kind] = Summary(each.content, each.known_from, each.sources)
    return Profile(
        user=scope.user,
        fields=dict(sorted(told.items())),
        summaries=summaries,
        facts=tuple(facts),
        updated_at=max((each.known_from for each in (*facts, *written)), default=None),
        agent=scope.agent,
    )


def _is_set(record: Record) -> bool:
    """Whether a record is a field that the user set: nobody else says who they are."""
    is_field = record.kind not in SECTIONS and isinstance(record.data.get("values"), list)
    return is_field and parts.is_by_user(record)


def _set_field(record: Record) -> Field:
    return Field(
        name=record.kind,
        values=tuple(record.data["values"]),
        confidence=record.confidence,
        updated_at=record.known_from,
        is_set=True,
    )


def _seen_by(visibility: object, agent: str | None) -> str | None:
    if visibility is None:
        return None
    if visibility != AGENT_ONLY or agent is None:
        raise InvalidInput(
            f"visibility must be {AGENT_ONLY}, which needs an agent, or left out,"
            f" not {str(visibility)[:64]!r}",
            field="visibility",
        )
    return AGENT_ONLY


def _says(record: Record, data: dict[str, list[str]]) -> bool:
    return all(record.data.get(name) == value for name, value in data.items())


def _field_name(value: object) -> str:
    if not isinstance(value, str) or not _NAME.fullmatch(value):
        raise InvalidInput(
            "field must be 1..64 small letters, digits and _, beginning with a letter,"
            f" not {str(value)[:64]!r}",
            field="field",
        )
    return value


def _values(value: object) -> tuple[str, ...]:
    if isinstance(value, str):
        return (parts.line(value, "value", _VALUE_CHARS),)
    found = parts.texts(value, "value", most=_MOST_VALUES, most_characters=_VALUE_CHARS)
    if not found:
        raise InvalidInput("value is empty: give at least one", field="value")
    return tuple(dict.fromkeys(" ".join(each.split()) for each in found))
