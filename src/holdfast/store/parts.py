"""What every backend promises, continued: the life of records, sharing, the service, chores.

What holds for every method is said in `store/base.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from datetime import date, datetime
from typing import Protocol

from holdfast.store.events import Happened, Mark, News, Webhook
from holdfast.store.values import Answered, AuditLine, Share, Spent, Trouble
from holdfast.types import ApiKey, Job, Record, Scope


class Listing(Protocol):
    """The records of an owner as lists for people."""

    def page(  # noqa: PLR0913 (what can be asked for)
        self,
        scope: Scope,
        *,
        now: datetime,
        limit: int,
        tiers: Sequence[str] | None = None,
        kind: str | None = None,
        session: str | None = None,
        since: datetime | None = None,
        until: datetime | None = None,
        before: tuple[datetime, str] | None = None,
        ended: bool = False,
    ) -> list[Record]:
        """Records, those learned last first: in the order of (known_from, id), which no record
        ever changes, and of these those before one.

        `since` and `until` are of the time they were learned. `ended`: also those that hold no
        longer and those put aside. With an agent in the scope: what it wrote and what no agent
        wrote; what another keeps to itself is never there.
        """

    def growth(self, scope: Scope, *, since: datetime) -> list[tuple[date, str, int]]:
        """By day (UTC) and tier, in this order, how many records were learned since a time;
        forgotten ones left out, and days without any. Of what the asker sees, as in `page`."""


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

    def shorten(
        self, scope: Scope, ids: Sequence[str], *, at: datetime, valid_to: datetime, reason: str
    ) -> list[str]:
        """Let records that have an end hold no longer than `valid_to`: those that held for longer.
        When their end became known stays as it is, and how they ended: a line in the history says
        it once more. What `Derived.shortens` names is shortened so by what is stored."""

    def forget_all(self, scope: Scope, ids: Sequence[str], *, at: datetime) -> list[str]:
        """`Records.forget` for many, in one transaction: which of them were hidden by it. An id
        that does not exist, or is hidden already, is passed over."""

    def restore_all(self, scope: Scope, ids: Sequence[str], *, at: datetime) -> list[str]:
        """`Records.restore` for many, in one transaction: which of them came back."""


class Hasty(Protocol):
    """Jobs that somebody waits for."""

    def claim_turns(
        self, scope: Scope, step: str, turns: Sequence[str], *, now: datetime, lease_s: float
    ) -> list[Job]:
        """Take the untried jobs of some turns, due or not, in the order in which they were said,
        as `claim_group` takes those of a conversation."""


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
        """Say how much an agent is trusted, 0..1; the same again changes nothing."""


class Spending(Protocol):
    """What models have cost. By owner, or by key, and day; not part of an export."""

    def spent(self, scope: Scope, day: date) -> Spent:
        """What was charged for a day."""

    def charge(
        self,
        scope: Scope,
        day: date,
        *,
        calls: int = 0,
        prompt_tokens: int = 0,
        answer_tokens: int = 0,
        cost: float = 0.0,
    ) -> None:
        """Add to a day; negative to settle what was reserved. No sum falls below 0."""

    def spent_by_keys(self, day: date, *, only: str | None = None) -> dict[str, Spent]:
        """By id of a key of the service, what was charged to it for a day; no key without."""

    def charge_key(
        self,
        key_id: str,
        day: date,
        *,
        calls: int = 0,
        prompt_tokens: int = 0,
        answer_tokens: int = 0,
        cost: float = 0.0,
    ) -> None:
        """The same for a key. The cost is kept to a billionth; what is long past may be gone."""


class Keys(Protocol):
    """Keys of the service; only a digest of the secret is kept."""

    def add_key(self, key: ApiKey, digest: bytes) -> None:
        """Store a key."""

    def find_key(self, digest: bytes) -> ApiKey | None:
        """The key with this digest, also if expired or revoked."""

    def held_key(self, key_id: str) -> tuple[ApiKey, bytes] | None:
        """The key with this id and its digest, also if expired or revoked."""

    def api_keys(self) -> list[ApiKey]:
        """All keys, oldest first."""

    def rotate_key(self, key_id: str, digest: bytes) -> bool:
        """Give a key another digest: the one before opens nothing from then on. False when there
        is no such key or it was revoked."""

    def revoke_key(self, key_id: str, *, at: datetime) -> bool:
        """Revoke a key; False when there is none or it was revoked before."""


class Answers(Protocol):
    """Answers that were given under an idempotency key, of one owner; in no dump."""

    def answer(self, scope: Scope, key: str) -> Answered | None:
        """What was answered under a key."""

    def keep_answer(self, scope: Scope, key: str, answered: Answered, *, at: datetime) -> Answered:
        """Keep an answer, unless there is one under this key: the first stays. The one kept."""

    def once(
        self, scope: Scope, key: str, noted: Answered, *, at: datetime
    ) -> AbstractContextManager[Answered | None]:
        """For what must not be done twice: what was noted when it was done before under this key,
        or None, and then `noted` is kept in the transaction of the first write within that changes
        something. Conflict when it was done with another body; StoreBusy when another does it just
        now, and then this one has done nothing. Keys of `answer` are others."""


class Audit(Protocol):
    """What was done through the service. Each line holds the hash of the one before; in no dump."""

    def note_audit(self, line: AuditLine) -> int:
        """Append a line; its number. `seq` and `hash` of what is given do not count."""

    def audit(
        self,
        *,
        workspace: str | None = None,
        after: int = 0,
        limit: int = 100,
        newest_first: bool = False,
    ) -> list[AuditLine]:
        """Lines in their order: of all, or of one workspace, those after a number. Newest first:
        those before a number, 0: from the newest on."""

    def audit_head(self) -> AuditLine | None:
        """The newest line."""

    def verify_audit(self) -> int | None:
        """The first number that is missing or whose line is not what was written; None when all
        of them are. A log that was cut short breaks after its last line."""


class Hooks(Protocol):
    """What happens to an owner's memories, in order, and the webhooks that are told; in no dump."""

    def happened(self, scope: Scope, *, after: Mark, limit: int = 1000) -> list[Happened]:
        """What happened after a mark, oldest first, `limit` changes at most; what was stored after
        it and has changed since comes twice with one number, "stored" first. A use that was
        followed by another act is left out. What was wiped is not told."""

    def dead_jobs(self, scope: Scope) -> dict[int, tuple[str, str]]:
        """Dead letters of an owner by their id: the memory and the step; 1000 at most."""

    def oldest_ready(self) -> datetime | None:
        """Since when the job that waits longest could have been taken; None when none waits."""

    def spent_by_all(self, day: date) -> Spent:
        """What models have cost on a day, all owners together."""

    def add_hook(self, hook: Webhook, secret: bytes) -> None:
        """Store a webhook; what happened before is not told to it."""

    def hooks(self, *, workspace: str | None = None) -> list[Webhook]:
        """Webhooks, oldest first: of all or of one workspace, disabled ones too."""

    def hook_secret(self, id: str) -> bytes:
        """What signs the deliveries of a webhook; NotFound when there is none."""

    def remove_hook(self, id: str) -> bool:
        """Remove a webhook; False when there is none."""

    def claim_hook(self, id: str, *, now: datetime, until: datetime) -> Webhook | None:
        """Take a webhook that is due, so that nobody else does until then; None when it is not
        due, disabled or gone. Of several who ask one gets it."""

    def set_hook(self, hook: Webhook, *, claimed: datetime | None = None) -> bool:
        """Store how a webhook fares: failures, since when, due, error, disabled; with `claimed`
        only if it is still taken until then. False when it is not, or gone."""

    def news(self, hook: str, *, limit: int = 100) -> list[News]:
        """Owners of whom a webhook was not told everything, in their order."""

    def told(self, hook: str, scope: Scope, mark: Mark) -> None:
        """A webhook was told what happened to an owner up to a mark."""


class Chores(Protocol):
    """For the operator: what is done from time to time over all owners."""

    def owners(self, *, after: Scope | None = None, limit: int = 1000) -> list[Scope]:
        """Owners in the order of workspace and user, those after one."""

    def tally(self, scope: Scope) -> dict[str, int]:
        """How many records of an owner hold in each tier: neither forgotten, ended nor put aside.
        Tiers without any are left out. Of what the asker sees, as in `page`."""

    def begin_chore(self, name: str, *, now: datetime, every_s: float) -> bool:
        """True, and noted, when a chore is due: it was never begun, or so long ago, or at a time
        that is still to come because the clock was set back. Of several who ask one is told so."""

    def chores(self) -> dict[str, datetime]:
        """By name, in their order, when each was last begun."""

    def trouble(self) -> Trouble | None:
        """Why nothing can be stored just now, or not all can be read; None if nothing is known to
        be wrong. Cheap, and without a write."""

    def secret(self, name: str) -> bytes:
        """32 random bytes, made when first asked for, the same ever after; in no dump."""

    def erase(self, scope: Scope, *, at: datetime) -> dict[str, int]:
        """Physically remove everything of an owner: what was said, learned, queued, noted, granted,
        answered and spent, and the keys and webhooks of this user; rows removed, by table. Then
        nothing of it is left in the files of the store: the audit log never held a name.
        `Head.epoch` differs from every one before.

        Asked for again it removes what is left; an error means that some may be: ask again.
        """
