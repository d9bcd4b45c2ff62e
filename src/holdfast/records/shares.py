"""Shares: what an owner lets the users of another workspace see, and so who sees what.

A share goes one way, holds for some segments and may end by itself. Only the side that granted it
makes or revokes it. What it shows stays the owner's: the other side reads it as it is just now, and
cannot be told what to do by it, because standing instructions are never shared.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from types import MappingProxyType

from holdfast.border import validate
from holdfast.border.ids import Ids
from holdfast.errors import Conflict, InvalidInput
from holdfast.index.look import first_look
from holdfast.index.view import ViewPart
from holdfast.records import parts
from holdfast.records.versions import once
from holdfast.store.protocols import Share, Store
from holdfast.types import TEAM, Role, Scope

__all__ = ["PERMISSIONS", "SEGMENTS", "TEAM_TIERS", "Agents", "Share", "Shares", "permits"]


#: What can be shared, and the tier that holds it.
SEGMENTS: Mapping[str, str] = MappingProxyType(
    {
        "profile": "profile",
        "daily_memory": "note",
        "documents": "knowledge",
        "graph": "graph",
        "procedures": "procedure",
        "team": "workspace",
    }
)
#: What a team owns that everybody in its workspace sees.
TEAM_TIERS = frozenset({"workspace", "knowledge", "graph", "procedure"})
_OF_USER = tuple(name for name in SEGMENTS if name != "team")
_OF_TEAM = tuple(name for name, tier in SEGMENTS.items() if tier in TEAM_TIERS)
#: Each allows what those before it allow.
PERMISSIONS: tuple[Role, ...] = ("read", "write", "admin")
_LONGEST = timedelta(days=36_500)


class Shares:
    """The shares of a store. Threads may share it."""

    def __init__(self, store: Store, *, now: Callable[[], datetime]) -> None:
        self._store = store
        self._now = now
        self._ids = Ids()

    def grant(
        self,
        *,
        to: str,
        segments: Sequence[str],
        user: str | None = None,
        workspace: str = "default",
        permission: str = "read",
        expires_in: timedelta | float | None = None,
        key: str | None = None,
    ) -> Share:
        """Let the users of the workspace `to` see some segments of what belongs to this user;
        without a user, of what belongs to the team of this workspace.

        `expires_in` is a time span, or seconds; without it the share holds until it is revoked.
        `key` makes a retry harmless.
        """
        scope = parts.owner(workspace, user)
        receiver = validate.word(to, "to")
        if receiver == scope.workspace:
            raise InvalidInput(
                "to is the granting workspace itself: what everybody here shall see belongs to"
                " its team",
                field="to",
            )
        now = self._now()
        span = _span(expires_in)
        share = Share(
            id=self._ids.make(1, now)[0],
            scope=scope,
            to=receiver,
            segments=_segments(segments, scope),
            permission=_permission(permission),
            created_at=now,
            expires_at=None if span is None else now + span,
        )
        with once(
            self._store, scope, key, "shares.grant", note=share.id, at=now,
            to=receiver, segments=share.segments, permission=share.permission, expires_in=span,
        ) as before:  # fmt: skip
            if before is not None:
                granted = self._store.shares(granted_by=scope)
                return next(each for each in granted if each.id == before)
            if not self._store.put_share(share):
                raise Conflict(f"there is a share {share.id!r} already: use a new id")
        return share

    def revoke(self, id: str, *, user: str | None = None, workspace: str = "default") -> bool:
        """End a share that this side granted; whether there was one that had not ended."""
        scope = parts.owner(workspace, user)
        id, now = validate.word(id, "id"), self._now()
        return any(
            self._store.put_share(replace(share, revoked_at=now), was=share)
            for share in self._store.shares(granted_by=scope)
            if share.id == id and share.revoked_at is None
        )

    def given_to(self, workspace: str = "default") -> list[Share]:
        """What others let this workspace see just now, newest first."""
        return [*self.live(validate.word(workspace, "workspace"), self._now())]

    def live(self, workspace: str, at: datetime) -> tuple[Share, ...]:
        """The shares to a workspace that hold at a time, newest first."""
        return _live(self._store.shares(to=workspace), at)

    def parts(self, scope: Scope) -> tuple[ViewPart, ...]:
        """What an asker sees beside what is their own: the team's, and what shares grant just now.

        The clock of the store's owner counts, not a time that the asker names.
        """
        users = list(dict.fromkeys((scope.user, TEAM)))  # The asker's own is wanted next.
        heads, shares = first_look(self._store, scope.workspace, users)
        found: list[ViewPart] = []
        if scope.user != TEAM and heads[-1].change:
            found.append(ViewPart(Scope(scope.workspace, TEAM), TEAM_TIERS))
        live = _live(shares, self._now())
        return (*found, *_view_parts(live)) if live else tuple(found)

    def list(self, *, user: str | None = None, workspace: str = "default") -> list[Share]:
        """What this side granted, newest first, expired and revoked ones too."""
        return self._store.shares(granted_by=parts.owner(workspace, user))


def _live(shares: Iterable[Share], at: datetime) -> tuple[Share, ...]:
    return tuple(share for share in shares if is_live(share, at))


def is_live(share: Share, at: datetime) -> bool:
    """Whether a share holds: a revoked one never does, an expired one does no more."""
    return share.revoked_at is None and (share.expires_at is None or at < share.expires_at)


def permits(share: Share, wanted: Role) -> bool:
    """Whether a share allows this much: admin allows write, and write allows read."""
    return PERMISSIONS.index(share.permission) >= PERMISSIONS.index(wanted)


def _view_parts(shares: Iterable[Share]) -> list[ViewPart]:
    """One part for each owner, in a fixed order: an index that follows them can be used again.

    A share that came with an import may name what we do not know, or the workspace it is from.
    """
    by_owner: dict[Scope, dict[str, str]] = {}
    for share in sorted(shares, key=lambda each: (each.created_at, each.id)):
        for segment in share.segments:
            if segment in SEGMENTS and share.scope.workspace != share.to:
                # Of two shares that grant the same the older one is named.
                by_owner.setdefault(share.scope, {}).setdefault(SEGMENTS[segment], share.id)
    return [
        ViewPart(owner, frozenset(tiers), tuple(sorted(tiers.items())))
        for owner, tiers in by_owner.items()
    ]


def _segments(given: object, scope: Scope) -> tuple[str, ...]:
    """The segments in our order, each once."""
    names = validate.words(given, "segments")
    known = _OF_TEAM if scope.user == TEAM else _OF_USER
    for name in names:
        if name not in known:
            whose = "a user" if known is _OF_USER else "a team"
            raise InvalidInput(
                f"segments: {name!r:.64} is not a segment that {whose} can share; those are"
                f" {', '.join(known)}",
                field="segments",
            )
    if not names:
        raise InvalidInput("segments is empty: name at least one", field="segments")
    return tuple(name for name in SEGMENTS if name in names)


def _permission(given: object) -> Role:
    for known in PERMISSIONS:
        if given == known:
            return known
    raise InvalidInput(
        f"permission must be one of {', '.join(PERMISSIONS)}, not {str(given)[:64]!r}",
        field="permission",
    )


def _span(given: object) -> timedelta | None:
    if given is None:
        return None
    if isinstance(given, int | float) and not isinstance(given, bool) and math.isfinite(given):
        given = timedelta(seconds=min(given, 2 * _LONGEST.total_seconds()))
    if not isinstance(given, timedelta):
        raise InvalidInput("expires_in must be a time span or seconds", field="expires_in")
    if not timedelta() < given <= _LONGEST:
        raise InvalidInput(
            f"expires_in must be more than 0 and at most {_LONGEST.days} days", field="expires_in"
        )
    return given


# ----------------------------------------------------------------------
# How much the agents of a workspace are trusted: what counts when two of them disagree.
# ----------------------------------------------------------------------

#: What an agent is trusted of whom nothing was said. The seed's.
USUAL_TRUST = 0.5


class Agents:
    """The agents of a store. Threads may share it."""

    def __init__(self, store: Store, *, now: Callable[[], datetime]) -> None:
        self._store = store
        self._now = now

    def trust(self, workspace: str = "default") -> dict[str, float]:
        """How much each agent is trusted, as far as it was set; all others are trusted 0.5."""
        return self._store.agent_trust(validate.word(workspace, "workspace"))

    def set_trust(self, agent: str, value: float, *, workspace: str = "default") -> float:
        """Say how much an agent is trusted, 0 (not at all) to 1; what holds from now on."""
        name = validate.word(agent, "agent")
        where = validate.word(workspace, "workspace")
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise InvalidInput("value must be a number", field="value")
        if not 0 <= value <= 1:  # Nor is NaN.
            raise InvalidInput(f"value must lie in 0..1, not {value}", field="value")
        self._store.set_agent_trust(where, name, float(value), at=self._now())
        return float(value)
