"""The user profile: one document of what is known of a user, made anew each time it is asked for.

It is a function of the facts that hold and of what was set by hand; nothing else is stored. So it
changes by itself when a turn is forgotten or a fact superseded, and can be asked for as of a time.
What is set by hand stands above what facts say. A model may write one of the six summaries: its
text is shown as long as every fact it was given still holds, then the composed one is again.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime

from holdfast.border import validate
from holdfast.border.write_options import AGENT_ONLY
from holdfast.errors import InvalidInput
from holdfast.language.statements.values import BY_USER, CATEGORIES
from holdfast.records import parts
from holdfast.records.graph.check import choice
from holdfast.records.parts import Background
from holdfast.records.profile_fields import fields
from holdfast.records.profile_kept import Keep, Kept
from holdfast.records.profile_summaries import changing, composed
from holdfast.records.profile_values import SECTIONS, Field, Profile, Summary, counted
from holdfast.store.base import Store
from holdfast.types import Record, Scope

_NAME = re.compile(r"[a-z][a-z0-9_]{0,63}")
_VALUE_CHARS = 1_000
_SUMMARY_CHARS = 4_000
_MOST_VALUES = 50
_MOST_FACTS = 1_000
#: What is listed but never searched.
_LISTED = 2
_NEVER = datetime.max.replace(tzinfo=UTC)


class Profiles:
    """The profiles of a memory's users. Threads may share it."""

    def __init__(self, store: Store, worker: Background, *, now: Callable[[], datetime]) -> None:
        self._store = store
        self._worker = worker
        self._now = now
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
            return _made(scope, kept, now=now, as_of=asked, known_at=known)[0]
        last = kept.made.get(scope.agent)
        if last is None or not last[1] <= now < last[2]:
            profile, until = _made(scope, kept, now=now)
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
        record = self._put(
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
        record = self._put(
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
        for each in gone:
            self._store.forget(scope, each, at=self._now())
        return gone

    def _put(
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
        for since in self._tries(scope):
            before = self._open(scope, kind, visibility)
            last = before[-1] if before else None
            if last and (last.content, last.origin) == (content, origin) and _says(last, data):
                return last
            id, _ = parts.free_id(
                self._store, scope, "profile", kind, last.id if last else "", origin, content,
                *whose,
            )  # fmt: skip
            chain = {
                "claim": str(last.data["claim"]) if last else id,
                "replaces": [each.id for each in before],
            }
            now = self._now()
            new = parts.derived(
                id, "profile", kind, content, origin=origin, at=now, data={**data, **chain},
                sources=sources, supersedes=chain["replaces"], quiet=quiet, visibility=visibility,
            )  # fmt: skip
            if self._store.put(
                scope, [new], known_at=now, steps=self._worker.steps, since=since,
                tiers=("profile",),
            ):  # fmt: skip
                break
        self._worker.wake()
        return self._store.get(scope, [id])[0]

    def _tries(self, scope: Scope) -> Iterator[int | None]:
        """The state a change is made of: changed meanwhile, it is made again."""
        for _ in range(parts.MOST_TRIES):
            yield self._store.head(scope).change
        yield None

    def _open(self, scope: Scope, kind: str, visibility: str | None = None) -> list[Record]:
        """What is set in this place by the same asker, for the same readers."""
        listed = self._store.listed(scope, tier="profile", kind=kind)
        whose = scope.agent, visibility
        return [each for each in listed if (each.agent, each.visibility) == whose]


def _made(
    scope: Scope,
    kept: Kept,
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
    profile = replace(profile, revision=len(facts) + len(written), versions=counted(facts))
    ends = [each.valid_to for each in (*telling, *written) if each.valid_to is not None]
    later = [each for each in (*ends, *changing(telling)) if each > now]
    return profile, min(later, default=_NEVER)


def _document(
    scope: Scope, facts: Sequence[Record], written: Sequence[Record], *, at: datetime
) -> Profile:
    told = fields(facts, user=scope.user)
    told |= {each.kind: _set_field(each) for each in written if _is_set(each)}
    summaries = composed([fact for fact in facts if parts.is_by_user(fact)], told, at)
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
        return (_line(parts.text(value, "value", _VALUE_CHARS)),)
    found = parts.texts(value, "value", most=_MOST_VALUES, most_characters=_VALUE_CHARS)
    if not found:
        raise InvalidInput("value is empty: give at least one", field="value")
    return tuple(dict.fromkeys(map(_line, found)))


def _line(text: str) -> str:
    return " ".join(text.split())
