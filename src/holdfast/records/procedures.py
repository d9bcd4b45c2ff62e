"""Procedures: how things are done here, as workflows, rules of thumb and templates.

An agent looks one up before it sets to work and says afterwards whether it worked. A procedure is
data to think with, never an instruction: only the user's own turns give those. Changing one makes
a new version that takes the place of the old one; the new steps have to prove themselves anew.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from holdfast.border import validate
from holdfast.errors import InvalidInput, NotFound
from holdfast.records import parts
from holdfast.records.graph.check import choice
from holdfast.records.versions import attempts, chain_data, first_id, newest, once
from holdfast.store.protocols import Derived
from holdfast.types import Metadata, Record, Scope

#: What a procedure can be. `instruction` is none of them: nobody can write one by a verb.
KINDS: tuple[str, ...] = ("workflow", "rule", "template")
ORIGINS: tuple[str, ...] = ("user", "agent")
_TITLE_CHARS = 200
_STEP_CHARS = 2_000
_TRIGGER_CHARS = 1_000
_TAG_CHARS = 64
_MOST_STEPS = 50
_MOST_TAGS = 16
_MOST_LISTED = 10_000
#: What a use adds to the strength. The seed's (docs/decisions/0011).
_USED = 0.10
#: How strong a procedure is that was never used. docs/decisions/0011.
_BIRTH = 0.5


@dataclass(frozen=True, slots=True)
class Procedure:
    """A procedure as a caller is shown it."""

    id: str
    title: str
    kind: str
    steps: tuple[str, ...]
    #: When it is to be thought of.
    trigger: str
    tags: tuple[str, ...]
    origin: str
    #: Counts up from 1 with every change.
    version: int
    #: How often this version did its work, and how often it did not.
    worked: int
    failed: int
    #: 0..1, higher for what was used.
    strength: float
    created_at: datetime
    #: False for a version that another has taken the place of.
    is_current: bool = True
    agent: str | None = None
    metadata: Metadata = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class _ProcedureDraft:
    """What a version says."""

    title: str
    kind: str
    steps: tuple[str, ...]
    trigger: str
    tags: tuple[str, ...]

    @property
    def content(self) -> str:
        """The text that is searched and told: a question is answered by its trigger as well."""
        lines = [self.title]
        lines += [f"When: {self.trigger}"] if self.trigger else []
        lines += [f"{number}. {step}" for number, step in enumerate(self.steps, 1)]
        lines += [f"Tags: {', '.join(self.tags)}"] if self.tags else []
        return "\n".join(lines)

    def data(self, id: str, *before: Record) -> dict[str, Any]:
        """The system fields of the record of a version."""
        return {
            "title": self.title,
            "steps": list(self.steps),
            "trigger": self.trigger,
            "tags": list(self.tags),
            "worked": 0,
            "failed": 0,
            "version": max((each.data["version"] for each in before), default=0) + 1,
            **chain_data(id, before),
        }


_Procedures = list[Procedure]


class Procedures(parts.Tier):
    """The procedures of a memory. Threads may share it."""

    name = "procedure"

    def add(  # noqa: PLR0913 (the public contract)
        self,
        title: str,
        *,
        steps: Sequence[str],
        trigger: str = "",
        tags: Sequence[str] = (),
        kind: str = "workflow",
        user: str | None = None,
        workspace: str = "default",
        agent: str | None = None,
        metadata: Mapping[str, Any] | None = None,
        origin: str | None = None,
    ) -> Procedure:
        """Write a procedure down. The same one again is the one that is there."""
        scope = validate.scope(workspace=workspace, user=user, agent=agent)
        draft = _draft(title, kind, steps, trigger, tags)
        given = validate.checked_metadata(metadata, "metadata", self._limits, [])
        whose = parts.origin(origin, ORIGINS, agent=scope.agent)
        now = self._now()
        id, known = parts.free_id(
            self._store, scope, "procedure", agent or "", draft.kind, draft.content
        )
        if known is not None:
            return _to_procedure(known)
        new = parts.derived(
            id, "procedure", draft.kind, draft.content,
            origin=whose, at=now, data=draft.data(id), metadata=given,
        )  # fmt: skip
        self._put(scope, [new], at=now)
        return _to_procedure(self._store.get(scope, [id])[0])

    def list(
        self,
        *,
        user: str | None = None,
        workspace: str = "default",
        agent: str | None = None,
        tag: str | None = None,
        kind: str | None = None,
        limit: int = 100,
    ) -> _Procedures:
        """The procedures in force, the strongest first, then the newest."""
        scope = validate.scope(workspace=workspace, user=user, agent=agent)
        asked = None if kind is None else choice(kind, "kind", KINDS)
        label = None if tag is None else _tag(parts.text(tag, "tag", _TAG_CHARS))
        most = validate.whole_number(limit, "limit", 1, _MOST_LISTED)
        listed = self._store.listed(scope, tier="procedure", kind=asked)
        found = [_to_procedure(each) for each in parts.seen(listed, scope) if each.kind in KINDS]
        if label is not None:
            found = [each for each in found if label in map(_tag, each.tags)]
        return sorted(found, key=lambda each: (each.strength, each.created_at), reverse=True)[:most]

    def get(
        self,
        id: str,
        *,
        user: str | None = None,
        workspace: str = "default",
        agent: str | None = None,
    ) -> Procedure:
        """One procedure, also a version that holds no longer; NotFound where there is none."""
        scope = validate.scope(workspace=workspace, user=user, agent=agent)
        return _to_procedure(self._record(scope, id))

    def used(
        self,
        id: str,
        *,
        worked: bool = True,
        user: str | None = None,
        workspace: str = "default",
        agent: str | None = None,
        key: str | None = None,
    ) -> Procedure:
        """Note that a procedure was followed, and whether it worked: that makes it stronger.

        `key` makes a retry harmless.
        """
        scope = validate.scope(workspace=workspace, user=user, agent=agent)
        if not isinstance(worked, bool):
            raise InvalidInput("worked must be true or false", field="worked")
        name = "worked" if worked else "failed"
        now = self._now()
        asked: dict[str, Any] = {"note": "", "at": now, "id": id, "worked": worked}
        with once(self._store, scope, key, "procedures.used", **asked) as before:
            if before is None:
                self._count(scope, id, name, now)
        if worked:
            with once(self._store, scope, key, "procedures.stronger", **asked) as before:
                if before is None:
                    self._store.touch(scope, [id], at=now, action="used", strength=_stronger)
        return _to_procedure(self._record(scope, id))

    def _count(self, scope: Scope, id: str, name: str, now: datetime) -> None:
        for since in attempts(self._store, scope):
            record = self._record(scope, id)
            self._check_current(scope, record)
            data = {**record.data, name: int(record.data.get(name, 0)) + 1}
            writer = parts.writer_of(scope, record)
            if self._put(writer, [parts.to_derived(record, data)], at=now, since=since):
                break

    def update(  # noqa: PLR0913 (the public contract)
        self,
        id: str,
        *,
        title: str | None = None,
        steps: Sequence[str] | None = None,
        trigger: str | None = None,
        tags: Sequence[str] | None = None,
        kind: str | None = None,
        user: str | None = None,
        workspace: str = "default",
        agent: str | None = None,
        origin: str | None = None,
    ) -> Procedure:
        """A new version in the place of the old one, which stays in the history.

        What is not given stays as it is; nothing new is no new version. A procedure that the user
        wrote and an agent changed is the agent's word.
        """
        scope = validate.scope(workspace=workspace, user=user, agent=agent)
        whose = parts.origin(origin, ORIGINS, agent=scope.agent)
        given = {"title": title, "steps": steps, "trigger": trigger, "tags": tags, "kind": kind}
        now = self._now()
        for since in attempts(self._store, scope):
            old = self._record(scope, id)
            draft = _draft_of_update(old, given)
            new_id, made = parts.free_id(
                self._store, scope, "procedure version", old.id, draft.kind, draft.content
            )
            if made is not None:  # This very change, sent again.
                return _to_procedure(made)
            self._check_current(scope, old)
            if (draft.kind, draft.content) == (old.kind, old.content):
                return _to_procedure(old)
            new = _version(new_id, old, draft, parts.least((old.origin, whose)), now)
            if self._put(parts.writer_of(scope, old), [new], at=now, since=since):
                break
        return _to_procedure(self._store.get(scope, [new_id])[0])

    def _record(self, scope: Scope, id: object) -> Record:
        record = parts.one(self._store, scope, id, "id", "procedure")
        if record.kind not in KINDS:
            raise NotFound(f"there is no procedure {id!r} in this scope")
        return record

    def _check_current(self, scope: Scope, record: Record) -> None:
        if record.known_to is None:
            return
        newer = newest(self._store, scope, first_id(record))
        told = f": {newer.id}" if newer else ""
        raise InvalidInput(f"id is that of a version that was replaced{told}", field="id")


def _draft(
    title: object, kind: object, steps: object, trigger: object, tags: object
) -> _ProcedureDraft:
    given = parts.texts(steps, "steps", most=_MOST_STEPS, most_characters=_STEP_CHARS)
    if not given:
        raise InvalidInput("steps is empty: give at least one step", field="steps")
    labels = parts.texts(tags, "tags", most=_MOST_TAGS, most_characters=_TAG_CHARS)
    return _ProcedureDraft(
        title=parts.line(title, "title", _TITLE_CHARS),
        kind=choice(kind, "kind", KINDS),
        steps=given,
        trigger="" if trigger == "" else parts.line(trigger, "trigger", _TRIGGER_CHARS),
        tags=tuple(dict.fromkeys(" ".join(each.split()) for each in labels)),
    )


def _draft_of_update(old: Record, given: Mapping[str, Any]) -> _ProcedureDraft:
    """What a procedure says with some of its parts changed."""
    before = {**old.data, "kind": old.kind}
    said = {name: before[name] if value is None else value for name, value in given.items()}
    return _draft(said["title"], said["kind"], said["steps"], said["trigger"], said["tags"])


def _version(id: str, old: Record, draft: _ProcedureDraft, origin: str, at: datetime) -> Derived:
    """The record of a new version."""
    return parts.derived(
        id, "procedure", draft.kind, draft.content, origin=origin, at=at, data=draft.data(id, old),
        supersedes=(old.id,), metadata=old.metadata, visibility=old.visibility,
    )  # fmt: skip


def _tag(text: str) -> str:
    return " ".join(text.lower().split())


def _stronger(record: Record) -> float:
    return min(1.0, (_BIRTH if record.strength is None else record.strength) + _USED)


def _to_procedure(record: Record) -> Procedure:
    data = record.data
    return Procedure(
        id=record.id,
        title=data["title"],
        kind=record.kind,
        steps=tuple(data["steps"]),
        trigger=data["trigger"],
        tags=tuple(data["tags"]),
        origin=record.origin,
        version=data["version"],
        worked=data["worked"],
        failed=data["failed"],
        strength=_BIRTH if record.strength is None else record.strength,
        created_at=record.valid_from,
        is_current=record.known_to is None,
        agent=record.agent,
        metadata=record.metadata,
    )
