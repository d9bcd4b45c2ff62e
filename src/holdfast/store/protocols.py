"""What every backend promises; executable: `holdfast.testing.store_suite.StoreSuite`.

Holds for every method of every part:
- A write that returned is on stable storage (a note of `Ledger` soon is); a write that raised left
  nothing behind.
- No method that takes a scope returns, counts or changes anything of another (workspace, user).
- An id that is not in the scope is treated as an id that does not exist.
- Reads see every write that was acknowledged before they began, by any process.
- Lists are in a stated order; nothing found is an empty list, never None and never an error.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from datetime import date, datetime
from pathlib import Path
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from holdfast.settings import Index
from holdfast.store.values import (
    ALL_KEYS,
    EXTERNAL,
    FOREVER_US,
    KEPT_FEED,
    KEPT_SKETCHES,
    Answered,
    Appended,
    AuditLine,
    Change,
    ContextNote,
    Derive,
    Derived,
    DocumentRows,
    Dumped,
    DumpedAct,
    DumpedEvent,
    DumpedKey,
    DumpedRecord,
    DumpedShare,
    DumpedTrust,
    DumpedVectors,
    Frequency,
    Growth,
    Happened,
    Head,
    Health,
    IndexedRow,
    KeptIndex,
    KeyUse,
    LargeOwner,
    Lived,
    LogEntry,
    Mark,
    Narrowed,
    News,
    Progress,
    QueueCounts,
    Share,
    SignRows,
    Space,
    Spent,
    Spot,
    StoredKey,
    Vector,
    VectorRows,
    Verified,
    Webhook,
    claim_of,
    is_document,
    is_heard,
    spans,
)
from holdfast.types import Event, Finding, Job, Record, Scope, Version

__all__ = [
    "ALL_KEYS",
    "EXTERNAL",
    "FOREVER_US",
    "KEPT_FEED",
    "KEPT_SKETCHES",
    "Answered",
    "Answers",
    "Appended",
    "Audit",
    "AuditLine",
    "Change",
    "ContextNote",
    "Derive",
    "Derived",
    "Dumped",
    "DumpedAct",
    "DumpedEvent",
    "DumpedKey",
    "DumpedRecord",
    "DumpedShare",
    "DumpedTrust",
    "DumpedVectors",
    "Head",
    "Health",
    "IndexedRow",
    "KeptIndex",
    "KeyUse",
    "Keys",
    "Lived",
    "LogEntry",
    "Progress",
    "QueueCounts",
    "Share",
    "Space",
    "Spending",
    "Spent",
    "StoredKey",
    "Vector",
    "VectorRows",
    "claim_of",
    "is_document",
    "is_heard",
    "spans",
]


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
        origin: str | None = None,
        speaker: str | None = None,
        since: datetime | None = None,
        until: datetime | None = None,
        before: tuple[datetime, str] | None = None,
        status: str = "current",
    ) -> list[Record]:
        """Records, those learned last first: in the order of (known_from, id), which no record
        ever changes, and of these those before one.

        `speaker` is a role or a name. `since` and `until` are of the time they were learned.
        `status`: "current"; "ended", those that hold no longer and those put aside; "all"; or
        "forgotten", those that were, and none that is hidden only along with another. With an
        agent in the scope: what it wrote and what no agent wrote; what another keeps to itself is
        never there.
        """

    def turns_around(self, scope: Scope, id: str, *, reach: int) -> list[Record]:
        """A turn with those of its session that arrived up to `reach` places before and after it,
        in the order they arrived; [] for what is no turn. Whoever the scope names: not filtered by
        agent."""

    def growth(self, scope: Scope, *, since: datetime | None = None) -> list[Growth]:
        """How many records were learned since a time, or ever, by day (UTC) and tier, in this
        order; forgotten ones left out, and days without any. Of what the asker sees, as in `page`.
        """


class RecordLife(Protocol):
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

    def archive(
        self,
        scope: Scope,
        ids: Sequence[str],
        *,
        at: datetime,
        reason: str = "",
        undo: bool = False,
    ) -> list[str]:
        """Put records aside, or bring them back, with the reason in their history. What is told
        again comes back, too."""

    def end(
        self,
        scope: Scope,
        ids: Sequence[str],
        *,
        at: datetime,
        valid_to: datetime | None,
        reason: str = "",
        action: str = "invalidated",
        ended: bool = False,
    ) -> list[str]:
        """Let records hold no longer than `valid_to`, known from `at` on: those still open. None
        ends before it began. Without a time those that ended, by this or by what superseded them,
        hold without an end again: they are "reopened", whatever `action` and `ended` say.

        `ended`: instead those that have an end and held for longer. When it became known stays as
        it is, and how they ended: a line in the history says it once more. What `Derived.shortens`
        names is shortened so by what is stored."""


class Sharing(Protocol):
    """What owners let other workspaces see, and how much agents are trusted."""

    def put_share(self, share: Share, *, was: Share | None = None) -> bool:
        """Store a new share; with `was` say that it is revoked, if it is still as it was. False
        when this owner has one with its id already, or not as it was."""

    def shares(self, *, to: str | None = None, granted_by: Scope | None = None) -> list[Share]:
        """Shares newest first, expired and revoked ones too: of all, to a workspace, by an owner,
        or both."""

    def look(self, workspace: str, users: Sequence[str]) -> tuple[list[Head], list[Share]]:
        """What a search asks first, at once: where the feeds of these users stand, and the shares
        to their workspace. As `head` and `shares(to=workspace)` tell it."""

    def agent_trust(self, workspace: str) -> dict[str, float]:
        """By agent, in their order, what was set."""

    def set_agent_trust(self, workspace: str, agent: str, trust: float, *, at: datetime) -> None:
        """Say how much an agent is trusted, 0..1; the same again changes nothing."""


class Spending(Protocol):
    """What models have cost. By owner, or by key, and day; not part of an export."""

    def spent(self, payer: Scope | str | None, day: date) -> Spent:
        """What was charged for a day: to an owner, to the key with this id, to all keys together
        (`ALL_KEYS`), or (None) to all owners together."""

    def charge(
        self,
        payer: Scope | str,
        day: date,
        *,
        calls: int = 0,
        prompt_tokens: int = 0,
        answer_tokens: int = 0,
        cost: float = 0.0,
    ) -> None:
        """Add to the day of an owner, or of the key with this id; negative to settle what was
        reserved. No sum falls below 0. The cost of a key is kept to a billionth, and what is long
        past may be gone."""


class Keys(Protocol):
    """Keys of the service; only a digest of the secret is kept."""

    def put_key(self, key: StoredKey, *, was: StoredKey | None = None) -> bool:
        """Store a new key; with `was` give it another digest (the one before opens nothing from
        then on) or say that it is revoked, if it is still as it was. False when there is one with
        its id already, or not as it was."""

    def api_keys(self, *, id: str | None = None, digest: bytes | None = None) -> list[StoredKey]:
        """Keys, oldest first, expired and revoked ones too: all, or the one with this id or this
        digest."""


class Answers(Protocol):
    """Answers that were given under an idempotency key, of one owner; in no dump."""

    def answer(
        self, scope: Scope, key: str, new: Answered | None = None, *, at: datetime | None = None
    ) -> Answered | None:
        """What was answered under a key; None if nothing was. A new answer is kept, from a time on,
        unless there is one under this key: the first stays, and is given."""

    def once(
        self, scope: Scope, key: str, noted: Answered, *, at: datetime
    ) -> AbstractContextManager[Answered | None]:
        """For what must not be done twice: what was noted when it was done before under this key,
        or None, and then `noted` is kept in the transaction of the first write within that changes
        something. Conflict when it was done with another body; StoreBusy when another does it just
        now, and then this one has done nothing. Keys of `answer` are others."""


class Audit(Protocol):
    """What was done through the service. Each line holds the hash of the one before in its chain; a
    chain is of a workspace, or of the whole store. In no dump."""

    def note_audit(self, line: AuditLine) -> int:
        """Append a line; its number in its chain. `seq` and `hash` of the given do not count."""

    def audit(
        self,
        *,
        workspace: str | None = None,
        after: int = 0,
        limit: int = 100,
        newest_first: bool = False,
    ) -> list[AuditLine]:
        """Lines in the order of their numbers: of all, or of one workspace, those after a number.
        Newest first: those before a number, 0: from the newest on."""

    def verify_audit(self, workspace: str | None = None) -> Verified:
        """Look at every line of all chains, or of that of a workspace. A log that was cut short
        breaks after its last line."""


class Hooks(Protocol):
    """What happens to an owner's memories, in order, and the webhooks that are told; in no dump."""

    def happenings(self, scope: Scope, *, after: Mark, limit: int = 1000) -> list[Happened]:
        """What happened after a mark, oldest first, `limit` changes at most; what was stored after
        it and has changed since comes twice with one number, "stored" first. A use that was
        followed by another act is left out. What was wiped is not told."""

    def put_hook(self, hook: Webhook | None, *, was: Webhook | None = None) -> bool:
        """Store a new webhook; what happened before is not told to it. With `was` store how it
        fares (failures, since when, due, error, disabled), if it still fares as it did: so of
        several who take it one gets it. Without a hook the one that was is removed, however it
        fares by now. False when there is one with its id already, or none that is as it was."""

    def hooks(self, *, workspace: str | None = None) -> list[Webhook]:
        """Webhooks, oldest first: of all or of one workspace, disabled ones too."""

    def news(self, hook: str, *, limit: int = 100) -> list[News]:
        """Owners of whom a webhook was not told everything, in their order."""

    def set_mark(self, hook: str, scope: Scope, mark: Mark) -> None:
        """A webhook was told what happened to an owner up to a mark."""


class Chores(Protocol):
    """For the operator: what is done from time to time over all owners."""

    def owners(self, *, after: Scope | None = None, limit: int = 1000) -> list[Scope]:
        """Owners in the order of workspace and user, those after one."""

    def begin_chore(self, name: str, *, now: datetime, every_s: float) -> bool:
        """True, and noted, when a chore is due: it was never begun, or so long ago, or at a time
        that is still to come because the clock was set back. Of several who ask one is told so."""

    def chores(self) -> dict[str, datetime]:
        """By name, in their order, when each was last begun."""

    def health(self) -> Health:
        """What is known to be wrong, and how the servers fare that answer reads. Cheap, and without
        a write."""

    def secret(self, name: str) -> bytes:
        """32 random bytes, made when first asked for, the same ever after; in no dump."""

    def erase(self, scope: Scope, *, at: datetime) -> dict[str, int]:
        """Physically remove everything of an owner: what was said, learned, queued, noted, granted,
        answered and spent, and the keys and webhooks of this user; rows removed, by table. Then
        nothing of it is left in the files of the store: the audit log never held a name.
        `Head.epoch` differs from every one before.

        Asked for again it removes what is left; an error means that some may be: ask again.
        """


class Log(Protocol):
    """The append-only log of what was said."""

    def append(
        self,
        scope: Scope,
        entries: Sequence[LogEntry],
        *,
        known_at: datetime,
        steps: Sequence[str],
        key: KeyUse | None = None,
    ) -> Appended:
        """Store entries, their index rows, what is derived from them and their jobs: all of it or
        nothing. A derived record whose id exists is left as it is; what it supersedes ends with
        its beginning.

        One job per event and step. Of the steps only `embed:<space>` is done for derived records,
        and none for a graph record that was only heard (`is_heard`): it is no document.

        With a key that was used before: same body gives the ids of the first use and stores
        nothing; another body raises Conflict. One that begins with `EXTERNAL` is free again when
        nothing of what it stood for is left.
        """

    def events(
        self,
        scope: Scope,
        ids: Sequence[str] | None = None,
        *,
        after: int = 0,
        limit: int | None = None,
        session: str | None = None,
        key: str | None = None,
    ) -> list[Event]:
        """The events with these ids, in that order; or those that a key of this owner stands for;
        or without either those in order of arrival, after an arrival number, of all sessions or of
        one, `limit` at most. Unknown and forgotten ones are left out."""


class Records(Protocol):
    """Memories of every tier, their visibility and their history."""

    def get(self, scope: Scope, ids: Sequence[str], *, hidden: bool = False) -> list[Record]:
        """The records with these ids, in that order; unknown ones left out, and forgotten ones:
        `hidden` is for the worker, which needs them as well."""

    def listed(  # noqa: PLR0913 (what can be asked for)
        self,
        scope: Scope,
        *,
        tier: str | None = None,
        kind: str | None = None,
        claim: str | None = None,
        source: str | None = None,
        current: bool = True,
        archived: bool = False,
        hidden: bool = False,
        limit: int = 100_000,
    ) -> list[Record]:
        """Records, those learned first first: of a tier, the versions of a claim (`claim_of`; of
        several learned at once those stored first), or what was derived from a turn; one of these
        is named. `current`: without those that ended; `archived`: with those put aside. Forgotten
        ones are left out; `hidden`: they alone, as they were, to see to what is left and not to be
        shown, put aside or ended or not. Not filtered by agent."""

    def put(
        self,
        scope: Scope,
        records: Sequence[Derived],
        *,
        known_at: datetime,
        steps: Sequence[str],
        since: int | None = None,
        tiers: Sequence[str] = ("graph",),
    ) -> bool:
        """Store derived records outside of a turn, all or nothing; False, and nothing is stored,
        when a record of one of `tiers` has changed after the change number `since`: plan again.

        One whose id is known becomes its new version, with a line in its history: changed, or
        confirmed when it says the same; either way it was seen, and comes back if it was put aside.
        A new text loses its vectors and is queued for new ones; the text of what is only heard has
        none and is not followed by any index. What was written into the graph stays as it is when
        it is only heard of. Sources add up. What was first stored without any stands without."""

    def forget(
        self, scope: Scope, ids: Sequence[str], *, at: datetime, undo: bool = False
    ) -> list[str]:
        """Hide records from every read, or bring them back, in one transaction; which of them
        changed. With a turn goes what was derived from it and from no other turn that is still
        there; with it comes back what had gone for want of a source, but nothing that was forgotten
        for its own sake."""

    def forgotten_times(self, scope: Scope, ids: Sequence[str]) -> dict[str, datetime]:
        """Which of these were forgotten for their own sake, and since when; wiped ones too: what
        nobody wants is not to be learned again."""

    def history(self, scope: Scope, record: str) -> list[Version]:
        """What happened to a record, oldest first, with the reasons; contents are withheld while it
        is forgotten."""

    def wipe(
        self,
        *,
        forgotten_before: datetime | None = None,
        keys_before: datetime | None = None,
        contexts_before: datetime | None = None,
    ) -> int:
        """Physically remove what is old; how many. The records that were forgotten before a time,
        with their events, vectors and what was derived from them alone; idempotency keys used and
        answers kept before a time, but no key that begins with `EXTERNAL`; older notes of contexts.
        """


class Feed(Protocol):
    """What a search index needs to follow an owner's records."""

    def head(self, scope: Scope) -> Head:
        """Where the feed stands; change 0 for an owner of whom there is nothing."""

    def unless_changed(self, scope: Scope, head: Head) -> AbstractContextManager[None]:
        """Compare and set: within this block, what this thread writes up to the first write that
        changes something is done only if the feed still stands there, whoever else writes;
        Overtaken when it does not, and then nothing was done."""

    def changes(self, scope: Scope, *, after: int, until: int = FOREVER_US) -> list[Change]:
        """Records changed after a change number, and up to another, oldest change first, each once,
        as it is now."""

    def vectors(
        self,
        scope: Scope,
        space: int,
        *,
        after: int = 0,
        digests: Collection[bytes] | None = None,
    ) -> list[Vector]:
        """Vectors written after a change number, oldest first; of all passages, or of those with
        these digests."""

    def vector_rows(
        self, scope: Scope, space: int, *, after: int, until: int
    ) -> Iterator[VectorRows]:
        """Those of `vectors` between two change numbers that have the length of their space, some
        at a time: an index loads 100,000."""

    def kept_index(self, scope: Scope, *, what: int = KEPT_FEED) -> KeptIndex | None:
        """What `keep_index` kept last; None once something was physically removed of this owner, or
        index rows were made anew: what is in the pieces is then gone for good. A record that has
        changed since has a change number after that of the pieces. Sketches do not outlast a
        change of words either."""

    def keep_index(
        self, scope: Scope, head: Head, pieces: Sequence[bytes], *, what: int = KEPT_FEED
    ) -> bool:
        """Keep what an index made of the feed up to a head, in place of what was kept; False, and
        nothing is kept, if the epoch is another by now, the feed has not come so far, or what is
        there is as new. In no dump, and in no copy but a backup of the file."""

    def spaces(self) -> list[Space]:
        """All vector spaces, oldest first; at most one is active."""

    def use_space(self, model: str, dim: int, recipe: int) -> Space:
        """The space for a model, made when new: active if it is the first, else building, with
        one embed job for every document that has no vector there. dim 0 = not known yet: the space
        of that model whatever its dimension; naming the dimension later settles it."""

    def promote(self, space: int) -> bool:
        """Make a building space the active one if none of its embed jobs is left; True if it is
        active afterwards. The vectors of the space it replaces are removed."""


class LargeReader(Protocol):
    """The documents of a large owner, at one moment."""

    def frequencies(
        self, terms: Sequence[int], also: Narrowed, most: int
    ) -> tuple[list[Frequency], list[Spot]]:
        """Of each term, by its id as a signed number; and what `all_of` tells."""

    def holding(
        self, groups: Sequence[Sequence[int]], most: int, narrowed: Narrowed
    ) -> list[tuple[int, Spot]]:
        """(number of a group, document) for the documents that hold all terms of a group; of each
        group at most so many."""

    def nearest(
        self, vector: NDArray[np.float32], most: int, narrowed: Narrowed, effort: int
    ) -> list[tuple[Spot, float]]:
        """The documents whose vectors are nearest, with their cosines, nearest first, those of the
        graph behind; `effort`: how many vectors are looked at."""

    def cosines(self, vector: NDArray[np.float32], ids: Sequence[bytes]) -> dict[bytes, float]:
        """How near the nearest passage of each of these is, where it is indexed."""

    def documents(self, after: int, until: int) -> DocumentRows:
        """Those that changed after one change and until another, of what is indexed."""

    def signs(self, after: int, until: int) -> SignRows:
        """The sign of each dimension of the vectors that came after one change and until another:
        those that are indexed."""

    def all_of(self, narrowed: Narrowed, most: int) -> list[Spot]:
        """Documents that fit, whatever they say; the latest."""

    def beside(self, spots: Sequence[tuple[Spot, int]]) -> list[bytes]:
        """The turns of the same session that arrived so near to each of these."""

    def read(
        self, wanted: Mapping[Scope, Sequence[bytes]]
    ) -> dict[Scope, tuple[list[Change], VectorRows]]:
        """These records of any owners as they are now, and their vectors, those of a document in
        their order. Nothing can be asked after that."""


class LargeOwners(Protocol):
    """Owners who are too large to be held in memory. A file has none: all are."""

    def index_large(self, scope: Scope, space: Space, settings: Index) -> int:
        """Let the documents of an owner be named, if it is large; how many more there are now."""

    def large_owner(self, scope: Scope, space: Space) -> LargeOwner | None:
        """How far its documents can be named, and how they are; None: not at all."""


class Queue(Protocol):
    """Jobs. They carry ids, never content; the queue belongs to the operator, not to a user."""

    def claim(
        self,
        steps: Sequence[str],
        *,
        limit: int,
        now: datetime,
        lease_s: float,
        max_attempts: int,
        ignore_backoff: bool = False,
        turns: tuple[Scope, Sequence[str]] | None = None,
    ) -> list[Job]:
        """Take due jobs. Owners take turns, each with its oldest: whoever waits is in one of the
        next claims, however much others wait for. The attempt is counted durably before this
        returns. A job whose lease ran out is due again. If its worker held others, too, that cost
        none of them the attempt, and each is claimed by itself from then on; one that was held
        alone by `max_attempts` workers that never answered becomes a dead letter. A job untried, or
        a lease, that waits for more than a day is of a clock that ran ahead: it is due.

        With `turns` of an owner: their untried jobs, due or not, in the order in which they were
        said; somebody waits for them."""

    def claim_group(
        self,
        step: str,
        *,
        most: int,
        now: datetime,
        lease_s: float,
        max_attempts: int,
        quiet_s: float,
        wait_s: float,
        ignore_backoff: bool = False,
    ) -> list[Job]:
        """Take due jobs of one conversation, which is an owner, a session and an agent (none is
        one, too), in the order in which its turns were said (at, arrival); `most` of them.

        Owners take turns; of one owner the conversation comes first that waits longest.
        It is due when nothing was added for `quiet_s`, or a job has waited for `wait_s`, or there
        are `most`, or a job that failed is due again; with `ignore_backoff` at once. The attempt
        is counted durably before this returns. Jobs whose lease ran out come back as for `claim`,
        one by one. One that used up its attempts is handed out all the same, so that something
        simpler can be tried; after two more without an answer it is a dead letter. A clock that ran
        ahead is no obstacle, as for `claim`.
        """

    def learn(  # noqa: PLR0913 (the contract)
        self,
        scope: Scope,
        jobs: Sequence[Job],
        records: Sequence[Derived],
        *,
        known_at: datetime,
        steps: Sequence[str],
        error: str | None = None,
        transient: bool = False,
        since: int | None = None,
        tiers: Sequence[str] = ("graph",),
    ) -> int | None:
        """If one of the jobs is still ours: store what was learned and remove the jobs, in one
        transaction; how many were ours. `since` and `tiers` as for `put`: None when one has
        changed. With an error they become dead letters instead: what is stored is second best.

        Stored as by `put`, but learning the same from the same turns again changes nothing, and
        what was wiped for its own sake does not come back, nor a merge that was undone before its
        turns were wiped.
        """

    def finish(self, jobs: Sequence[Job], *, space: int = 0, vectors: Sequence[Vector] = ()) -> int:
        """Write what the jobs made and remove them, in one transaction; how many were still ours.
        Writing the same twice changes nothing. Records of two owners with one id: in two calls."""

    def release(
        self,
        jobs: Sequence[Job],
        *,
        error: str | None = None,
        due: datetime | None = None,
        transient: bool = False,
        alone: bool = False,
    ) -> None:
        """Put jobs back, those that are still ours. Without an error they are untried: the attempt
        is not counted, and they are due as before, or at a time. With one they wait for a later try
        at that time, and without a time they are dead letters. `alone`: from now on each is claimed
        by itself, for one of them does harm to the others."""

    def jobs(
        self,
        *,
        states: Sequence[str] = ("ready", "running", "dead"),
        scope: Scope | None = None,
        subject: str | None = None,
        limit: int = 100,
    ) -> list[Job]:
        """Jobs of all, of an owner, or of one record of that owner, in the order they were made."""

    def counts(self, *, steps: Sequence[str] | None = None) -> QueueCounts:
        """How many jobs there are, of all steps or of some, and since when the longest waits."""

    def hurry(self, scope: Scope, subjects: Sequence[str]) -> int:
        """Let the jobs of these records that wait for their first try be taken at once: somebody
        waits for them. How many; those put off after a failure stay put off."""

    def replay(self, ids: Collection[int] | None = None, *, transient_only: bool = False) -> int:
        """Make dead letters ready again with fresh attempts; how many."""

    def queue_turns(self, step: str, *, now: datetime, workspace: str | None = None) -> int:
        """Queue a step once more for every turn, of all workspaces or of one, that does not wait
        for it; in the order they came. How many. Not for one that is forgotten, or of which
        something that was learned is, nor for one with a rule in doubt that is answered: it would
        come back. Dead letters stay dead."""


class Ledger(Protocol):
    """Which contexts were handed out. Notes are of one owner and are not part of an export."""

    def note_context(self, scope: Scope, note: ContextNote) -> None:
        """Keep a note without waiting until it is on disk; the reads below see it all the same.
        A note that could not be written is logged: it never fails the caller or a later write."""

    def contexts(
        self, scope: Scope, *, since: datetime | None = None, limit: int = 100, end: str = ""
    ) -> list[ContextNote]:
        """Notes, newest first: from a time on, and those whose id ends with these hex digits, 6 at
        least; with others there are none."""


class Upkeep(Protocol):
    """The operator's view of a whole store."""

    def check(self, derive: Derive) -> list[Finding]:
        """Look at every invariant."""

    def rebuild(
        self, derive: Derive, *, steps: Sequence[str] = (), terms: int | None = None
    ) -> int:
        """Derive records and index rows anew from the events, drop derived rows without a source,
        and queue `steps` for the vectors that are missing; how many rows were mended. What was
        forgotten for its own sake and wiped does not come back. `terms`, a version of the recipe
        of index rows: only if another version made them, and then only these and derived records
        that are missing."""

    def backup(self, path: Path, *, progress: Progress | None = None) -> None:
        """Copy the store to a new file while it is in use, verify the copy and seal it with its
        checksum: see store/sealing.py."""

    def dump(self, *, vectors: bool = True) -> Iterator[Dumped]:
        """Everything but jobs, API keys, contexts, answers, webhooks, the audit log, secrets,
        chores and what was spent, in a fixed order, from one snapshot."""

    def load(self, rows: Sequence[Dumped], derive: Derive, *, steps: Sequence[str]) -> list[bool]:
        """Store rows of `dump`, all or nothing; for each whether it was new. What `derive` makes
        of an event is stored with it; leave that to the rows where they hold derived records."""

    def stats(self) -> dict[str, int]:
        """Counts: owners, events, forgotten (of them), records (derived), vectors, ready, running,
        dead."""

    def close(self) -> None:
        """Release everything; calling it twice is fine."""


class Store(
    Log, Records, Listing, RecordLife, Feed, LargeOwners, Queue, Ledger, Spending, Keys, Answers,
    Audit, Hooks, Sharing, Chores, Upkeep, Protocol,
):  # fmt: skip
    """A backend: all parts over one connection pool."""
