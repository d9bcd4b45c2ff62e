"""The verbs for looking through a memory and keeping it in order: get, list, update, batch, ...

Like those of memory.py each checks its input, asks one part, and answers in types.
"""

from __future__ import annotations

import builtins
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, is_dataclass, replace
from datetime import datetime, timedelta
from functools import partial
from importlib.util import find_spec
from typing import Any, NoReturn, get_args

from holdfast.border import validate
from holdfast.border.ids import cursor_at, place_of
from holdfast.border.validate import ORIGINS, whose
from holdfast.config import leaves, per_call
from holdfast.errors import Conflict, InvalidInput, NotFound, TooLarge
from holdfast.index.view import ViewPart
from holdfast.learn.extract import STEP
from holdfast.memory.core import Core
from holdfast.recall.context.pack import Format
from holdfast.recall.hits import Forgotten, Kept, Page, to_kept, visible_records
from holdfast.records.documents.reading import FORMATS
from holdfast.records.fading import strength, until
from holdfast.records.graph.check import choice
from holdfast.records.knowledge import ENTRY, to_entry
from holdfast.records.parts import is_seen, seen
from holdfast.records.stats import Fading, Grown, decay_preview, growth_by_day
from holdfast.settings import Decay
from holdfast.store.protocols import Store, claim_of
from holdfast.types import ALL_TIERS, TEAM, Finding, Job, Record, Scope
from holdfast.version import VERSION

MOST_LISTED = 1_000
_MOST_FADING = 1_000
_MOST_FORGOTTEN = 10_000
_MOST_USERS = 10_000
_MOST_DAYS = 3_660
_MOST_JOBS = 10_000
#: Of a queue that belongs to all, so many are looked at for those of one workspace.
_MOST_LOOKED_AT = 100_000
_STATUSES = ("current", "ended", "all")
_JOB_STATES = ("ready", "running", "dead")
_SCANNED = 1_000

#: Why a memory of a tier has no new text, and what to do instead.
_NOT_BY_TEXT: Mapping[str, str] = {
    "session": "a turn is what was said and does not change: forget it, or add a fact instead",
    "procedure": "a procedure has steps: change it with procedures.update",
    "profile": "a field of the profile is set by its name: profiles.set",
    "graph": "the graph is changed by writing to it: graph.write",
    "knowledge": "a document is changed by adding it again under its name: knowledge.add",
    "workspace": "this belongs to the whole workspace: change it with team.update",
}

#: So many turns before and after a source are told, of so many sources, and so many memories that
#: were made of a turn.
_REACH, _SOURCES, _DERIVED = 3, 8, 200

#: Of one batch.
MOST_ITEMS = 1_000
#: What can be done, and the fields that it takes: those it needs, then those it may have.
_OPERATIONS: Mapping[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "remember": (("messages",), ("session", "key", "at", "metadata", "visibility", "quick")),
    "forget": (("id",), ()),
    "restore": (("id",), ()),
    "update": (("id", "text"), ("metadata",)),
    "feedback": (("id", "value"), ("key",)),
}


@dataclass(frozen=True, slots=True)
class Capabilities:
    """What this memory can do, for programs that ask before they use it."""

    version: str
    tiers: tuple[str, ...]
    #: How a context can be written, and what a document can be.
    formats: tuple[str, ...]
    document_formats: tuple[str, ...]
    task_profiles: tuple[str, ...]
    #: What one call may send, by name.
    limits: Mapping[str, int]
    #: What is switched on.
    features: Mapping[str, bool]
    #: The settings that one call may override, by their full names, as they are in force.
    per_call: Mapping[str, Any] = field(default_factory=dict)
    #: So long what was forgotten can be restored.
    forget_days: int = 0


class Library(Core):
    """A memory that can be looked through. `Memory` adds remembering and recalling."""

    def get(
        self,
        id: str,
        *,
        user: str | None = None,
        workspace: str = "default",
        agent: str | None = None,
    ) -> Kept:
        """One memory of any tier with its times, also one that holds no longer."""
        self._check_open()
        scope = validate.scope(workspace=workspace, user=user, agent=agent)
        wanted = validate.record_id(id)
        found = visible_records(self._store, scope, [wanted], also=self.shares.parts(scope))
        if wanted not in found:
            raise NotFound(f"there is no memory {wanted!r} in this scope")
        return to_kept(*found[wanted])

    def trace(
        self,
        id: str,
        *,
        user: str | None = None,
        workspace: str = "default",
        agent: str | None = None,
    ) -> Trace:
        """How present a memory is and when it fades, its versions, the turns it comes from with
        those around them, and what was derived from it."""
        self._check_open()
        scope = validate.scope(workspace=workspace, user=user, agent=agent)
        wanted = validate.record_id(id)
        found = visible_records(self._store, scope, [wanted], also=self.shares.parts(scope))
        if wanted not in found:
            raise NotFound(f"there is no memory {wanted!r} in this scope")
        return trace_of(
            self._store, scope, *found[wanted], now=self._now(), decay=self._config.decay
        )

    def list(  # noqa: PLR0913 (the public contract)
        self,
        *,
        user: str | None = None,
        workspace: str = "default",
        agent: str | None = None,
        session: str | None = None,
        tiers: Collection[str] | None = None,
        kind: str | None = None,
        origin: str | None = None,
        speaker: str | None = None,
        since: datetime | str | None = None,
        until: datetime | str | None = None,
        ended: bool = False,
        status: str | None = None,
        cursor: str | None = None,
        limit: int = 100,
    ) -> Page:
        """The memories of a user, those learned last first, page by page.

        `speaker` is a role or a name. `since` and `until` are of the time they were learned.
        `status` is current, ended (only what holds no longer or was put aside) or all; `ended` is
        short for all. What is written meanwhile moves nothing: no memory comes twice and none is
        passed over.
        """
        self._check_open()
        scope = validate.scope(workspace=workspace, user=user, agent=agent)
        most = validate.whole_number(limit, "limit", 1, MOST_LISTED)
        which: dict[str, Any] = {
            "tiers": None if tiers is None else _tiers(tiers),
            "kind": None if kind is None else validate.word(kind, "kind"),
            "session": None if session is None else validate.word(session, "session"),
            "origin": None if origin is None else choice(origin, "origin", ORIGINS),
            "speaker": None if speaker is None else validate.word(speaker, "speaker"),
            "since": None if since is None else validate.moment(since, "since"),
            "until": None if until is None else validate.moment(until, "until"),
            "status": _status(status, ended=ended),
        }
        before = None
        if cursor is not None:
            at, id = place_of(cursor, of=which, kinds=(str, str))
            before = (validate.moment(at, "cursor"), validate.record_id(id))
        found = self._store.page(scope, now=self._now(), limit=most + 1, before=before, **which)
        shown = tuple(to_kept(each) for each in found[:most])
        if len(found) <= most:
            return Page(shown)
        last = shown[-1]
        return Page(shown, cursor_at((last.known_from.isoformat(), last.id), of=which))

    def forgotten(
        self,
        *,
        user: str | None = None,
        workspace: str = "default",
        agent: str | None = None,
        limit: int = 1_000,
    ) -> builtins.list[Forgotten]:
        """What was forgotten and can still be restored, what was forgotten last first. What it says
        is withheld. Where there are more than the limit, those that were learned last."""
        self._check_open()
        scope = validate.scope(workspace=workspace, user=user, agent=agent)
        most = validate.whole_number(limit, "limit", 1, _MOST_FORGOTTEN)
        found = self._store.page(scope, now=self._now(), limit=most, status="forgotten")
        times = self._store.forgotten_times(scope, [each.id for each in found])
        kept = timedelta(days=self._config.forget_days)
        shown = [
            Forgotten(
                each.id, each.tier, each.kind, each.role, each.session, each.valid_from,
                times[each.id], times[each.id] + kept,
            )
            for each in found
            if each.id in times
        ]  # fmt: skip
        return sorted(shown, key=lambda each: (each.forgotten_at, each.id), reverse=True)

    def update(
        self,
        id: str,
        text: str,
        *,
        metadata: Mapping[str, Any] | None = None,
        user: str | None = None,
        workspace: str = "default",
        agent: str | None = None,
        origin: str | None = None,
    ) -> Kept:
        """Put another text in the place of a fact, a note or an entry: a new version, which may
        have an id of its own. What was said does not change, nor what has parts."""
        self._check_open()
        scope = validate.scope(workspace=workspace, user=user, agent=agent)
        record = self._own(scope, id)
        if record.tier == "fact" and metadata is not None:
            raise InvalidInput("metadata: a fact keeps what it was stored with", field="metadata")
        if record.tier == "fact":
            new = self.facts.update(
                id, text, user=user, workspace=workspace, agent=agent, origin=origin
            ).id
        elif record.tier == "note":
            new = self.notes.update(
                id, text, metadata=metadata, user=user, workspace=workspace, agent=agent,
                origin=origin,
            ).id  # fmt: skip
        elif record.kind == ENTRY:
            new = self.knowledge.set(
                to_entry(record).key, text, user=user, workspace=workspace, metadata=metadata,
                origin=whose(origin, agent),
            ).id  # fmt: skip
        else:
            _refuse(record)
        return self.get(new, user=user, workspace=workspace, agent=agent)

    def batch(
        self,
        items: Sequence[Mapping[str, Any]],
        *,
        user: str | None = None,
        workspace: str = "default",
        agent: str | None = None,
    ) -> Batch:
        """Do many things one after another, at most 1,000; what fails is listed, the rest is done.

        An item is {"op": "remember", "messages": ...}, {"op": "update", "id", "text"}, or forget,
        restore or feedback with what they take.
        """
        self._check_open()
        validate.scope(workspace=workspace, user=user, agent=agent)
        whose = {"user": user, "workspace": workspace}

        def do(op: str, fields: Mapping[str, Any]) -> tuple[str, ...]:
            known = dict(whose) if op in ("forget", "restore") else {**whose, "agent": agent}
            done = getattr(self, op)(**fields, **known)
            if op == "remember":
                return tuple(done.events)
            return (done.id,) if op == "update" else (str(fields["id"]),)

        return _run_all(items, do)

    def reset_source(
        self, source_site: str, *, user: str | None = None, workspace: str = "default"
    ) -> int:
        """Forget every turn, and everything that was written, with this `source_site` in its
        metadata; how many. Restorable for 30 days like all that is forgotten."""
        self._check_open()
        scope = validate.scope(workspace=workspace, user=user)
        site = validate.word(source_site, "source_site")
        # First all the ids: forgetting moves nothing, but what goes along must not be counted.
        doomed = self._turns_of(scope, site)
        doomed += [
            each.id
            for tier in ALL_TIERS
            if tier != "session"
            for each in self._store.listed(scope, tier=tier, current=False, archived=True)
            if not each.sources and each.metadata.get("source_site") == site
        ]
        return sum(self._forget(each, scope) for each in doomed)

    def forget(
        self,
        id: str,
        *,
        user: str | None = None,
        workspace: str = "default",
        agent: str | None = None,
    ) -> bool:
        """Hide a memory from every read at once; restorable for 30 days, then wiped.

        False when it was forgotten already; what it had replaced is seen to all the same. With
        `agent` only what that agent sees.
        """
        self._check_open()
        asker = validate.scope(workspace=workspace, user=user, agent=agent)
        scope, id = replace(asker, agent=None), validate.record_id(id)
        there = self._store.get(scope, [id])
        if agent is not None and not all(is_seen(each, agent) for each in there):
            raise NotFound(f"there is no memory {id!r} in this scope")
        if any(each.kind == "document" for each in there):
            return self.knowledge.remove(id, user=user, workspace=workspace)
        return self._hide(scope, id)

    def restore(self, id: str, *, user: str | None = None, workspace: str = "default") -> bool:
        """Bring a forgotten memory back; whether it was forgotten."""
        self._check_open()
        scope = validate.scope(workspace=workspace, user=user)
        id = validate.record_id(id)
        done = bool(self._store.forget(scope, [id], at=self._now(), undo=True))
        # Also if it was back already: the last time may have been cut short after this.
        if any(each.kind == "document" for each in self._store.get(scope, [id])):
            self.knowledge.bring_back(scope, id)
        if done or any(line.action == "restored" for line in self._store.history(scope, id)):
            self.facts.recast(scope, self.facts.groups_of(scope, id))
            self._after_forget.back(scope, id)
        return done

    def growth(
        self,
        *,
        days: int = 30,
        user: str | None = None,
        workspace: str = "default",
        agent: str | None = None,
    ) -> builtins.list[Grown]:
        """How many memories were learned on each of the last days (UTC), and in which tiers."""
        self._check_open()
        scope = validate.scope(workspace=workspace, user=user, agent=agent)
        count = validate.whole_number(days, "days", 1, _MOST_DAYS)
        return growth_by_day(self._store, scope, now=self._now(), days=count)

    def fading(
        self,
        *,
        days: int = 30,
        user: str | None = None,
        workspace: str = "default",
        agent: str | None = None,
        limit: int = 100,
    ) -> builtins.list[Fading]:
        """What is hidden by now, or will be within so many days if nobody needs it: the first to
        go first. Nothing is deleted."""
        self._check_open()
        scope = validate.scope(workspace=workspace, user=user, agent=agent)
        ahead = validate.whole_number(days, "days", 0, _MOST_DAYS)
        most = validate.whole_number(limit, "limit", 1, _MOST_FADING)
        return decay_preview(
            self._store, scope, now=self._now(), days=ahead, limit=most, decay=self._config.decay
        )

    def settle(self, *, user: str | None = None, workspace: str = "default") -> builtins.list[str]:
        """Decide the conflicts that nobody resolved in time, by trust in the agents; their ids."""
        self._check_open()
        return self.facts.settle(validate.scope(workspace=workspace, user=user))

    # For the operator

    def users(
        self, *, after: str | None = None, limit: int = 100, workspace: str = "default"
    ) -> builtins.list[str]:
        """Who has a memory in a workspace, in the order of their names; those after one."""
        self._check_open()
        most = validate.whole_number(limit, "limit", 1, _MOST_USERS)
        last = TEAM if after is None else validate.word(after, "after")
        place = Scope(validate.word(workspace, "workspace"), last)
        found = self._store.owners(after=place, limit=most)
        return [each.user for each in found if each.workspace == workspace]

    def jobs(
        self,
        *,
        states: Collection[str] = _JOB_STATES,
        limit: int = 100,
        workspace: str | None = None,
    ) -> builtins.list[Job]:
        """What is still to be done, in the order it came, of all workspaces or of one; dead
        letters too."""
        self._check_open()
        wanted = [choice(each, "states", _JOB_STATES) for each in validate.words(states, "states")]
        most = validate.whole_number(limit, "limit", 1, _MOST_JOBS)
        if workspace is None:
            return self._store.jobs(states=wanted, limit=most)
        found = self._store.jobs(states=wanted, limit=_MOST_LOOKED_AT)
        return [each for each in found if each.scope.workspace == workspace][:most]

    def replay(self, ids: Collection[int] | None = None, *, workspace: str | None = None) -> int:
        """Try dead letters again, all of them or some, of all workspaces or of one; how many."""
        self._check_open()
        if ids is not None and not all(type(each) is int for each in ids):
            raise InvalidInput("ids must be a list of whole numbers", field="ids")
        if ids is not None and len(ids) > _MOST_JOBS:
            raise TooLarge(f"ids are {len(ids)}, the limit is {_MOST_JOBS}", field="ids")
        if workspace is not None:
            dead = self.jobs(states=("dead",), limit=_MOST_JOBS, workspace=workspace)
            ids = [each.id for each in dead if ids is None or each.id in ids]
        done = self._store.replay(ids) if ids is None or ids else 0
        self._worker.wake()
        return done

    def rebuild(self, *, workspace: str | None = None) -> int:
        """Read every turn again, of all workspaces or of one: with the reader of today, which finds
        more than the one that read them first. How many were queued; the worker reads them while
        everything goes on, and what waits when it is ended is read when it starts again. What is
        known already stays as it is. A turn of which something was forgotten is not read again."""
        self._check_open()
        if not self._config.extraction.enabled:
            raise InvalidInput(
                "nothing reads turns here: extraction.enabled is false", field="extraction.enabled"
            )
        which = None if workspace is None else validate.word(workspace, "workspace")
        queued = self._store.queue_turns(STEP, now=self._now(), workspace=which)
        self._worker.wake()
        return queued

    def doctor(self) -> builtins.list[Finding]:
        """Look at every invariant of the store."""
        return self.check()

    def settings(self) -> Mapping[str, Any]:
        """The settings in force by their full names; secrets are left out."""
        return {each.name: _plain(each.value) for each in leaves(self._config) if each.field.repr}

    def capabilities(self) -> Capabilities:
        """What this memory can do, its limits, and what is switched on."""
        config = self._config
        return Capabilities(
            version=VERSION,
            tiers=ALL_TIERS,
            formats=get_args(Format),
            document_formats=FORMATS,
            task_profiles=tuple(each.name for each in config.boosting.profiles),
            limits=asdict(config.limits),
            features={
                "extraction": config.extraction.enabled,
                "language_model": bool(config.extraction.llm.url),
                "proxy": bool(config.proxy.url),
                "fetch": config.outgoing.fetch,
                "webhooks": config.outgoing.webhooks,
                "mcp": find_spec("mcp") is not None,
            },
            per_call={each.name: _plain(each.value) for each in per_call(config)},
            forget_days=config.forget_days,
        )

    # Inside

    def _own(self, scope: Scope, id: object) -> Record:
        """A memory of the user's own, or of the team, that the agent at hand may see."""
        wanted = validate.record_id(id)
        also = [each for each in self.shares.parts(scope) if each.scope.user == TEAM]
        found = visible_records(
            self._store, scope, [wanted], also=[p for p in also if not p.shares]
        )
        if wanted not in found:
            raise NotFound(f"there is no memory {wanted!r} in this scope")
        record, part = found[wanted]
        if part.scope.user == TEAM:
            raise InvalidInput(_NOT_BY_TEXT["workspace"], field="id")
        return record

    def _turns_of(self, scope: Scope, site: str) -> builtins.list[str]:
        found: builtins.list[str] = []
        after = 0
        while turns := self._store.events(scope, after=after, limit=_SCANNED):
            after = turns[-1].arrival
            found += [each.id for each in turns if each.metadata.get("source_site") == site]
        return found

    def _forget(self, id: str, scope: Scope) -> bool:
        try:
            return self.forget(id, user=scope.user, workspace=scope.workspace)
        except NotFound:  # Gone along with another.
            return False


def _refuse(record: Record) -> NoReturn:
    raise InvalidInput(_NOT_BY_TEXT[record.tier], field="id")


def _status(given: str | None, *, ended: bool) -> str:
    if given is None:
        return "all" if ended else "current"
    return choice(given, "status", _STATUSES)


def _tiers(given: object) -> builtins.list[str]:
    found = [choice(each, "tiers", ALL_TIERS) for each in validate.words(given, "tiers")]
    return sorted(set(found))


def _plain(value: Any) -> Any:
    if is_dataclass(value):
        return {each.name: _plain(getattr(value, each.name)) for each in fields(value)}
    return [_plain(each) for each in value] if isinstance(value, tuple) else value


@dataclass(frozen=True, slots=True)
class Trace:
    """What surrounds a memory."""

    id: str
    #: How present it is now, 0..1.
    strength: float
    #: When it was last told, used or judged; None: not since it was learned.
    seen_at: datetime | None
    #: In how many contexts it was told, counted once a day.
    uses: int
    #: From this time on it is left out, unless something touches it; None: it does not fade.
    hidden_at: datetime | None
    #: All its versions, also those that hold no longer, those learned first first; () where it has
    #: no others by its kind, as a turn has none.
    versions: tuple[Kept, ...] = ()
    #: The turns that it comes from, each with those around it, in the order they were said.
    turns: tuple[Kept, ...] = ()
    #: What was derived from it, those learned first first; of a turn alone.
    derived: tuple[Kept, ...] = ()


def trace_of(
    store: Store, scope: Scope, record: Record, part: ViewPart, *, now: datetime, decay: Decay
) -> Trace:
    """Of what is somebody else's only how present it is: the turns are not the asker's."""
    is_own = part.scope == scope
    around: dict[str, Record] = {}
    for source in record.sources[:_SOURCES] if is_own else ():
        around |= {each.id: each for each in store.turns_around(scope, source, reach=_REACH)}
    claim = claim_of(record)
    listed = partial(store.listed, scope, current=False)
    versions = listed(claim=claim, archived=True) if is_own and claim is not None else []
    derived = listed(source=record.id, archived=True, limit=_DERIVED) if is_own else []
    turns = sorted(around.values(), key=lambda each: (each.valid_from, each.id))
    return Trace(
        record.id,
        round(strength(record, now, decay), 6),
        record.seen_at,
        record.uses,
        until(record, decay),
        _shown(versions, scope),
        _shown(turns, scope),
        _shown(derived, scope),
    )


def _shown(records: Iterable[Record], scope: Scope) -> tuple[Kept, ...]:
    return tuple(to_kept(each) for each in seen(records, scope))


@dataclass(frozen=True, slots=True)
class ItemResult:
    """What became of one item."""

    index: int
    op: str
    ok: bool
    #: The memories it is about: what was stored, changed, hidden or judged.
    ids: tuple[str, ...] = ()
    #: What was wrong, and with which field.
    error: str = ""
    field: str = ""


@dataclass(frozen=True, slots=True)
class Batch:
    """What became of the items, in their order."""

    results: tuple[ItemResult, ...]
    failed: int


#: Does one thing with the fields given; the ids it is about.
_Do = Callable[[str, Mapping[str, Any]], tuple[str, ...]]


def _run_all(items: object, do: _Do) -> Batch:
    """Do all of it, item by item. An error of the store, not of an item, ends it."""
    if isinstance(items, str | bytes | Mapping) or not isinstance(items, Sequence):
        raise InvalidInput("items must be a list of objects", field="items")
    if len(items) > MOST_ITEMS:
        raise TooLarge(f"items are {len(items)}, the limit is {MOST_ITEMS}", field="items")
    results = tuple(_run_item(index, item, do) for index, item in enumerate(items))
    return Batch(results, sum(not each.ok for each in results))


def _run_item(index: int, item: object, do: _Do) -> ItemResult:
    op = item.get("op") if isinstance(item, Mapping) else None
    name = op if isinstance(op, str) and op in _OPERATIONS else ""
    try:
        fields = _check_item(item, name, f"items[{index}]")
        return ItemResult(index, name, True, do(name, fields))
    except (InvalidInput, NotFound, Conflict) as error:
        field = error.field if isinstance(error, InvalidInput) else ""
        return ItemResult(index, name, False, (), str(error), field)


def _check_item(item: object, op: str, where: str) -> dict[str, Any]:
    if not isinstance(item, Mapping):
        raise InvalidInput(f"{where} must be an object", field=where)
    if not op:
        raise InvalidInput(f"{where}.op must be one of {', '.join(_OPERATIONS)}", field="op")
    needed, allowed = _OPERATIONS[op]
    given = {name: value for name, value in item.items() if name != "op"}
    for name in given:
        if name not in (*needed, *allowed):
            raise InvalidInput(
                f"{where}.{name!s:.64} is not a field of {op}", field=f"{name!s:.64}"
            )
    validate.outer_key(given.get("key"))
    for name in needed:
        if name not in given:
            raise InvalidInput(f"{where}.{name} is required", field=name)
    return given
