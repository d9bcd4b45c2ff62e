"""What the tiers share: checking a text, making a record, who may see one, when one holds."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from hashlib import blake2b
from typing import Any, Protocol

from holdfast.border import validate
from holdfast.border.validate import ORIGINS, least, whose
from holdfast.config import Limits
from holdfast.errors import InvalidInput, NotFound, TooLarge
from holdfast.index.view import packed
from holdfast.records.entries import indexed_terms
from holdfast.records.graph.check import choice
from holdfast.store.protocols import Derived, Store
from holdfast.types import TEAM, Metadata, Record, Scope

__all__ = [
    "IMPORTANCE", "Background", "Tier", "before_of", "derived", "digest", "free_id", "holds",
    "is_by_user", "is_seen", "least", "line", "one", "origin", "owner", "seen", "text", "texts",
    "to_derived", "writer_of",
]  # fmt: skip

_ID_BYTES = 16
#: How much a memory matters of which nobody said so. The seed's.
IMPORTANCE = 0.5
#: How sure we are of what the user wrote, and of what others did. By hand, not measured.
_SAID, _TOLD = 1.0, 0.8
_BY_USER = ("user", "user_confirmed")
_ROLES = {"user": "user", "user_confirmed": "user", "agent": "assistant"}


class Background(Protocol):
    """The worker, as far as whoever stores something knows it."""

    @property
    def steps(self) -> tuple[str, ...]:
        """The steps of the worker: one job of each is queued for what is stored."""

    def wake(self) -> None:
        """Say that there is work."""


class Tier:
    """What the verbs of every tier work with. Threads may share it."""

    #: The tier that they write.
    name = ""

    def __init__(
        self,
        store: Store,
        worker: Background,
        *,
        now: Callable[[], datetime],
        limits: Limits | None = None,
    ) -> None:
        self._store = store
        self._worker = worker
        self._now = now
        self._limits = limits or Limits()

    def _put(
        self, scope: Scope, records: Sequence[Derived], *, at: datetime, since: int | None = None
    ) -> bool:
        """Store records; False when the tier has changed after `since`, and nothing is stored."""
        done = self._store.put(
            scope, records,
            known_at=at, steps=self._worker.steps, since=since, tiers=(self.name,),
        )  # fmt: skip
        if done:
            self._worker.wake()
        return done


def text(value: object, name: str, most: int) -> str:
    """A text that is not blank, of at most so many characters, without spaces around it."""
    if not isinstance(value, str):
        kind = "nothing" if value is None else type(value).__name__
        raise InvalidInput(f"{name} must be a text, not {kind}", field=name)
    clean = validate.storable(value, name, []).strip()
    if len(clean) > most:
        raise TooLarge(f"{name} has {len(clean)} characters, the limit is {most}", field=name)
    if not clean.strip("\ufffd \t\r\n"):
        raise InvalidInput(f"{name} is blank", field=name)
    return clean


def line(value: object, name: str, most: int) -> str:
    """Such a text on one line."""
    return " ".join(text(value, name, most).split())


def texts(value: object, name: str, *, most: int, most_characters: int) -> tuple[str, ...]:
    """A list of such texts."""
    if not isinstance(value, Sequence) or isinstance(value, str | bytes | bytearray):
        raise InvalidInput(f"{name} must be a list of texts", field=name)
    if len(value) > most:
        raise TooLarge(f"{name} are {len(value)}, the limit is {most}", field=name)
    return tuple(text(each, f"{name}[{i}]", most_characters) for i, each in enumerate(value))


def origin(value: str | None, allowed: Sequence[str] = ORIGINS, *, agent: str | None = None) -> str:
    """Whose word a memory is: set by the one who calls, never by the text; an agent that does not
    say speaks for itself."""
    return choice(whose(value, agent), "origin", allowed)


def is_by_user(record: Record) -> bool:
    """Whether it is the user's own word."""
    return record.origin in _BY_USER


def digest(*parts: str) -> str:
    """An id that follows from what it is the id of."""
    return blake2b("\x00".join(parts).encode(), digest_size=_ID_BYTES).hexdigest()


def free_id(store: Store, scope: Scope, *parts: str) -> tuple[str, Record | None]:
    """The id for a memory of these parts, and the memory where it stands already.

    One that has ended or was forgotten is not brought back by saying the same again: that begins
    anew under another id.
    """
    number = 0
    while True:
        id = digest(*parts, *([str(number)] if number else []))
        known = next(iter(store.get(scope, [id])), None)
        if known is not None and known.known_to is None and known.archived_at is None:
            return id, known
        if known is None and not store.forgotten_times(scope, [id]):
            return id, None
        number += 1


def derived(  # noqa: PLR0913 (the parts of a record)
    id: str,
    tier: str,
    kind: str,
    content: str,
    *,
    origin: str,
    at: datetime,
    data: Metadata,
    sources: Sequence[str] = (),
    supersedes: Sequence[str] = (),
    **more: Any,
) -> Derived:
    """A record to store. `more` are fields of `Derived` that are not as usual."""
    usual: dict[str, Any] = {
        "confidence": _SAID if origin in _BY_USER else _TOLD,
        "importance": IMPORTANCE,
        "role": _ROLES.get(origin, "tool"),
    }
    if "terms" not in more:
        usual["terms"], usual["length"] = packed(indexed_terms(more.get("name"), content))
    return Derived(
        id=id,
        tier=tier,
        kind=kind,
        content=content,
        data=data,
        origin=origin,
        valid_from=at,
        sources=tuple(sources),
        supersedes=tuple(supersedes),
        **{**usual, **more},
    )


def to_derived(record: Record, data: Metadata) -> Derived:
    """A stored record as it is, with other system fields."""
    return derived(
        record.id,
        record.tier,
        record.kind,
        record.content,
        origin=record.origin,
        at=record.valid_from,
        data=data,
        sources=record.sources,
        valid_to=record.valid_to,
        confidence=record.confidence,
        importance=record.importance,
        role=record.role,
        name=record.name,
        quiet=record.quiet,
        metadata=None if record.sources else record.metadata,
        visibility=record.visibility,
    )


def before_of(record: Record) -> str:
    """What stood before a fact in its turn, as long as that turn is its only source: what several
    turns say is not told with the words of one of them, which may be forgotten."""
    return str(record.data.get("before") or "") if len(record.sources) == 1 else ""


def owner(workspace: object, user: object) -> Scope:
    """Whose something is: a user's, or without one the workspace's."""
    if user is None:
        return Scope(validate.word(workspace, "workspace"), TEAM)
    return validate.scope(workspace=workspace, user=user)


def writer_of(scope: Scope, record: Record) -> Scope:
    """The scope that a record was written in: a new version keeps its agent and its session."""
    return Scope(scope.workspace, scope.user, record.agent, record.session)


def is_seen(record: Record, agent: str | None) -> bool:
    """Whether an agent may see a record: its own and nobody's; without an agent all but what
    another keeps to itself."""
    if record.visibility == "agent_only":
        return record.agent == agent
    return agent is None or record.agent in (None, agent)


def seen(records: Iterable[Record], scope: Scope) -> list[Record]:
    """Those that the asker may see."""
    return [record for record in records if is_seen(record, scope.agent)]


def one(store: Store, scope: Scope, id: object, name: str, tier: str) -> Record:
    """The record of a tier with this id; NotFound where there is none that the asker may see."""
    wanted = validate.word(id, name)
    found = seen(store.get(scope, [wanted]), scope)
    if not found or found[0].tier != tier:
        raise NotFound(f"there is no {tier} {wanted!r} in this scope")
    return found[0]


def holds(
    record: Record, *, now: datetime, as_of: datetime | None, known_at: datetime | None
) -> bool:
    """Whether a record holds now or, if that is asked, held at a time, as was known at a time.

    An end that was learned later was none then.
    """
    if as_of is not None and record.valid_from > as_of:
        return False
    if known_at is not None and record.known_from > known_at:
        return False
    was_known = record.known_to is not None and (known_at is None or record.known_to <= known_at)
    if as_of is None and was_known:
        return False
    if record.valid_to is None or record.valid_to > (as_of or known_at or now):
        return True
    return record.known_to is not None and not was_known
