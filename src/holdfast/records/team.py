"""What a team writes down for everybody in its workspace: decisions, incidents, notes and so on.

Only an explicit write puts anything here; nothing that is said to an agent ever does. Every user
and every agent of the workspace finds it, in `search` and in every recall. It is told as data: who
writes for the team gives no agent an instruction. A change is a new version; the old one stays in
the history.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from hashlib import blake2b
from typing import Any

from holdfast.border import validate
from holdfast.border.ids import Ids
from holdfast.border.validate import least
from holdfast.errors import InvalidInput, NotFound, TooLarge
from holdfast.records import parts
from holdfast.records.graph.check import choice
from holdfast.records.parts import Background
from holdfast.records.versions import attempts, chain_data, first_id, history_of, versions_of
from holdfast.store.protocols import Derived, Store
from holdfast.types import TEAM, Hit, Record, Scope, Version

#: What an entry can be.
TYPES: tuple[str, ...] = ("decision", "adr", "standup", "retrospective", "incident", "note")
TIER = "workspace"
#: Seen by the agent that wrote it and nobody else.
AGENT_ONLY = "agent_only"

_CONTENT_CHARS = 200_000
_LINE_CHARS = 200
_MOST_TAGS = 32
_MOST_LISTED = 10_000
_MOST_HITS = 200

#: Finds entries: the question, who asks, the one type wanted (None: all), how many.
Recall = Callable[[str, Scope, str | None, int], Sequence[Hit]]


@dataclass(frozen=True, slots=True)
class Entry:
    """What a team wrote down, in one version."""

    #: The id of this version: another one after every change.
    id: str
    #: The id of the first version: the same for all of them.
    claim: str
    type: str
    title: str
    content: str
    tags: tuple[str, ...]
    #: The name that is shown, and the agent that wrote it, if it was one.
    author: str | None
    agent: str | None
    #: user or agent: whose word it is.
    origin: str
    #: When this version was written.
    at: datetime
    visibility: str | None = None


class Team(parts.Tier):
    """The entries of the workspaces of a store. Threads may share it."""

    name = TIER

    def __init__(
        self, store: Store, worker: Background, *, now: Callable[[], datetime], recall: Recall
    ) -> None:
        super().__init__(store, worker, now=now)
        self._recall = recall
        self._ids = Ids()

    def write(  # noqa: PLR0913 (the public contract)
        self,
        content: str,
        *,
        type: str,
        title: str = "",
        tags: Iterable[str] = (),
        author: str | None = None,
        workspace: str = "default",
        agent: str | None = None,
        user: str | None = None,
        visibility: str | None = None,
        at: datetime | str | None = None,
    ) -> Entry:
        """Write something down for everybody in a workspace.

        `at` is when it was written, now by default; the same written at the same time is one.

        `user` is the person who writes, if it is one; `author` the name that is shown, without it
        the user's or the agent's. With `visibility="agent_only"` only this agent sees it.
        """
        asker = _asker(workspace, agent, user)
        if visibility is not None:
            choice(visibility, "visibility", (AGENT_ONLY,))
            if agent is None:
                raise InvalidInput("visibility agent_only needs an agent", field="visibility")
        tags = tuple(tags) if not isinstance(tags, str) else tags
        now = self._now() if at is None else validate.moment(at, "at")
        told = (asker.workspace, asker.user, agent, author, type, title, content, *tags)
        id = self._ids.make(1, now)[0] if at is None else _id_of(now, told)
        entry = Entry(
            id=id,
            claim=id,
            type=choice(type, "type", TYPES),
            title=_line(title, "title"),
            content=_content(content),
            tags=_tags(tags),
            author=(_line(author, "author") if author is not None else "") or user or agent,
            agent=agent,
            origin=_origin(asker),
            at=now,
            visibility=visibility,
        )
        # At a time that was given the same has the same id: it may be there from an earlier try.
        if at is None or not self._store.get(_owner(asker.workspace), [id]):
            self._write(entry, asker.workspace)
        return entry

    def update(
        self,
        id: str,
        *,
        content: str | None = None,
        title: str | None = None,
        tags: Iterable[str] | None = None,
        type: str | None = None,
        workspace: str = "default",
        agent: str | None = None,
        user: str | None = None,
    ) -> Entry:
        """A new version of an entry, given by the id of any version; what is not given stays.

        What a person wrote and an agent changed is the word of an agent from then on. Saying the
        same again makes no new version.
        """
        asker = _asker(workspace, agent, user)
        new: dict[str, Any] = {}
        if content is not None:
            new["content"] = _content(content)
        if title is not None:
            new["title"] = _line(title, "title")
        if tags is not None:
            new["tags"] = _tags(tags)
        if type is not None:
            new["type"] = choice(type, "type", TYPES)
        for since in attempts(self._store, _owner(asker.workspace)):
            record = self._current(asker, id)
            old = _entry(record)
            if replace(old, **new) == old:
                return old
            now = self._now()
            origin = least([old.origin, _origin(asker)])
            entry = replace(old, id=self._ids.make(1, now)[0], at=now, origin=origin, **new)
            if self._write(entry, asker.workspace, record, since=since):
                return entry
        raise AssertionError("attempts end with an error")

    def remove(self, id: str, *, workspace: str = "default", agent: str | None = None) -> bool:
        """Forget an entry, given by the id of any version, with all its versions: gone from every
        read at once, wiped 30 days later; whether it was there until now."""
        asker = _asker(workspace, agent, None)
        owner = _owner(asker.workspace)
        if self._store.forgotten_times(owner, [id]):
            return False
        versions = [each.id for each in self._versions(asker, id)]
        self._store.forget(owner, versions, at=self._now())
        return True

    def get(self, id: str, *, workspace: str = "default", agent: str | None = None) -> Entry:
        """The present version of an entry, given by the id of any version."""
        return _entry(self._current(_asker(workspace, agent, None), id))

    def search(
        self,
        query: str,
        *,
        types: Iterable[str] | None = None,
        limit: int = 10,
        workspace: str = "default",
        agent: str | None = None,
        user: str | None = None,
    ) -> Sequence[Hit]:
        """The entries that answer a question, best first; also those of other workspaces that a
        share lets this one see."""
        asker = _asker(workspace, agent, user)
        most = validate.whole_number(limit, "limit", 1, _MOST_HITS)
        wanted = _types(types)
        if wanted is None:
            return self._recall(query, asker, None, most)
        if len(wanted) == 1:
            return self._recall(query, asker, wanted[0], most)
        # A search keeps to one kind or to none: of several, those among the best of all.
        hits = self._recall(query, asker, None, _MOST_HITS)
        return [hit for hit in hits if hit.kind in wanted][:most]

    def history(
        self, id: str, *, workspace: str = "default", agent: str | None = None
    ) -> list[Version]:
        """What happened to an entry, all its versions, oldest first."""
        asker = _asker(workspace, agent, None)
        return history_of(self._store, _owner(asker.workspace), self._versions(asker, id))

    def _versions(self, asker: Scope, id: str) -> list[Record]:
        """All versions of an entry that the asker may see."""
        return versions_of(self._store, _owner(asker.workspace), self._current(asker, id))

    def _current(self, asker: Scope, id: str) -> Record:
        """The present version of what a record is a version of."""
        owner = _owner(asker.workspace)
        id = validate.record_id(id)
        found = [each for each in self._store.get(owner, [id]) if _is_seen(each, asker)]
        if found and found[0].known_to is not None:
            found = self._store.listed(owner, claim=first_id(found[0]), archived=True)
        if not found:
            raise NotFound(f"there is no entry {id!r} in this workspace")
        return found[-1]

    def _write(self, entry: Entry, workspace: str, *old: Record, since: int | None = None) -> bool:
        # Everybody's, whoever wrote it: only what is private belongs to an agent.
        owner = replace(_owner(workspace), agent=entry.agent if entry.visibility else None)
        return self._put(owner, [_derived(entry, old)], at=entry.at, since=since)

    def list(
        self,
        *,
        types: Iterable[str] | None = None,
        tag: str | None = None,
        limit: int = 100,
        workspace: str = "default",
        agent: str | None = None,
    ) -> list[Entry]:
        """The entries of a workspace in their present versions, newest first."""
        asker = _asker(workspace, agent, None)
        most = validate.whole_number(limit, "limit", 1, _MOST_LISTED)
        wanted = _types(types)
        records = self._store.listed(_owner(asker.workspace), tier=TIER)
        found = [_entry(each) for each in reversed(records) if _is_seen(each, asker)]
        if wanted is not None:
            found = [each for each in found if each.type in wanted]
        return [each for each in found if tag in (None, *each.tags)][:most]


def _id_of(at: datetime, told: Sequence[object]) -> str:
    text = "\0".join((at.isoformat(), *map(repr, told)))
    return blake2b(text.encode("utf-8", "replace"), digest_size=16).hexdigest()


def _derived(entry: Entry, old: Sequence[Record]) -> Derived:
    text = f"{entry.title}\n\n{entry.content}" if entry.title else entry.content
    data: dict[str, Any] = {
        "title": entry.title,
        "tags": [*entry.tags],
        "author": entry.author,
        "agent": entry.agent,
        **chain_data(entry.id, old),
    }
    return parts.derived(
        entry.id, TIER, entry.type, text, origin=entry.origin, at=entry.at, data=data,
        name=entry.author, supersedes=[each.id for each in old], visibility=entry.visibility,
    )  # fmt: skip


def _entry(record: Record) -> Entry:
    """An entry of its record, which an import may have brought: nothing in it is taken on trust."""
    title = _word(record, "title") or ""
    tags = record.data.get("tags")
    return Entry(
        id=record.id,
        claim=first_id(record),
        type=record.kind,
        title=title,
        content=record.content.removeprefix(f"{title}\n\n") if title else record.content,
        tags=tuple(each for each in tags if isinstance(each, str))
        if isinstance(tags, list)
        else (),
        author=_word(record, "author"),
        agent=_word(record, "agent"),
        origin=record.origin,
        at=record.known_from,
        visibility=record.visibility,
    )


def _word(record: Record, name: str) -> str | None:
    value = record.data.get(name)
    return value if isinstance(value, str) else None


def _asker(workspace: object, agent: object, user: object) -> Scope:
    """Who writes or asks; without a user it is somebody of the team."""
    if user is not None:
        return validate.scope(workspace=workspace, user=user, agent=agent)
    named = None if agent is None else validate.word(agent, "agent")
    return Scope(validate.word(workspace, "workspace"), TEAM, named)


def _owner(workspace: str) -> Scope:
    return Scope(workspace, TEAM)


def _origin(asker: Scope) -> str:
    return "agent" if asker.user == TEAM or asker.agent is not None else "user"


def _is_seen(record: Record, asker: Scope) -> bool:
    is_private = record.visibility == AGENT_ONLY and record.agent != asker.agent
    return record.tier == TIER and not is_private


def _types(given: object) -> tuple[str, ...] | None:
    if given is None:
        return None
    wanted = [choice(each, "types", TYPES) for each in validate.words(given, "types")]
    if not wanted:
        raise InvalidInput("types is empty: name at least one, or leave it out", field="types")
    return tuple(dict.fromkeys(wanted))


def _tags(given: object) -> tuple[str, ...]:
    words = [_line(each, "tags") for each in validate.words(given, "tags")]
    tags = tuple(dict.fromkeys(each for each in words if each))
    if len(tags) > _MOST_TAGS:
        raise TooLarge(f"tags are {len(tags)}, the limit is {_MOST_TAGS}", field="tags")
    return tags


def _line(given: object, name: str) -> str:
    """A short text on one line."""
    return " ".join(_text(given, name, _LINE_CHARS).split())


def _content(given: object) -> str:
    text = _text(given, "content", _CONTENT_CHARS).strip()
    if not text.strip("\ufffd \t\r\n"):
        raise InvalidInput("content is blank", field="content")
    return text


def _text(given: object, name: str, most: int) -> str:
    if not isinstance(given, str):
        raise InvalidInput(f"{name} must be a text", field=name)
    if len(given) > most:
        raise TooLarge(f"{name} has {len(given)} characters, the limit is {most}", field=name)
    return validate.storable(given, name, [])
