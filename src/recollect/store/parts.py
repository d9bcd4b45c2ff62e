"""What every backend promises, continued: the life of records, sharing, chores, erasure.

What holds for every method is said in `store/base.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Protocol

from recollect.store.values import Share
from recollect.types import Record, Scope


class Life(Protocol):
    """What happens to records after they were stored. Nothing of it destroys anything.

    Each method gives the ids that it changed, in the order asked for; forgotten ones are as ones
    that do not exist.
    """

    def touch(
        self,
        scope: Scope,
        ids: Sequence[str],
        *,
        at: datetime,
        action: str,
        strength: Callable[[Record], float | None],
    ) -> list[str]:
        """Note that records were used, praised or blamed, in one transaction: the strength becomes
        what the function says of the record as it is then (None: it is left), it was seen.

        "used" counts once per record and day (UTC): a second use that day changes nothing; it has
        no line in the history. "praised" and "blamed" have one each time.
        """

    def archive(self, scope: Scope, ids: Sequence[str], *, at: datetime, reason: str) -> list[str]:
        """Put records aside, with the reason in their history. What is told again comes back."""

    def unarchive(
        self, scope: Scope, ids: Sequence[str], *, at: datetime, reason: str = ""
    ) -> list[str]:
        """Undo `archive`."""

    def end(
        self,
        scope: Scope,
        ids: Sequence[str],
        *,
        at: datetime,
        valid_to: datetime,
        reason: str,
        action: str = "invalidated",
    ) -> list[str]:
        """Let records hold no longer than `valid_to`, known from `at` on: those still open. None
        ends before it began."""

    def reopen(
        self, scope: Scope, ids: Sequence[str], *, at: datetime, reason: str = ""
    ) -> list[str]:
        """Undo an end, by `end` or by what superseded it: it holds without an end again."""


class Sharing(Protocol):
    """What owners let other workspaces see, and how much agents are trusted."""

    def add_share(self, share: Share) -> None:
        """Store a share; Conflict when this owner has one with its id."""

    def shares(self, *, to: str | None = None, granted_by: Scope | None = None) -> list[Share]:
        """Shares newest first, expired and revoked ones too: of all, to a workspace, by an owner,
        or both."""

    def revoke_share(self, scope: Scope, id: str, *, at: datetime) -> bool:
        """Revoke a share that this owner granted; False when there is none or it was before."""

    def agent_trust(self, workspace: str) -> dict[str, float]:
        """By agent, in their order, what was set."""

    def set_agent_trust(self, workspace: str, agent: str, trust: float, *, at: datetime) -> None:
        """Say how much an agent is trusted, 0..1."""


class Chores(Protocol):
    """For the operator: what is done from time to time over all owners."""

    def owners(self, *, after: Scope | None = None, limit: int = 1000) -> list[Scope]:
        """Owners in the order of workspace and user, those after one."""

    def tally(self, scope: Scope) -> dict[str, int]:
        """How many records of an owner hold in each tier: neither forgotten, ended nor put aside.
        Tiers without any are left out."""

    def begin_chore(self, name: str, *, now: datetime, every_s: float) -> bool:
        """True, and noted, when a chore is due: it was never begun, or so long ago, or at a time
        that is still to come because the clock was set back. Of several who ask one is told so."""

    def chores(self) -> dict[str, datetime]:
        """By name, in their order, when each was last begun."""

    def secret(self, name: str) -> bytes:
        """32 random bytes, made when first asked for, the same ever after; in no dump."""

    def erase(self, scope: Scope, *, at: datetime) -> dict[str, int]:
        """Physically remove everything of an owner: what was said, learned, queued, noted, granted
        and spent, and the keys bound to this user; rows removed, by table. Then nothing of it is
        left in the files of the store. `Head.epoch` differs from every one before.

        Asked for again it removes what is left; an error means that some may be: ask again.
        """
