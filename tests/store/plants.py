"""Stores with a planted fault each: the contract must notice every one of them."""

import random
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import date, datetime, timedelta
from typing import Any

from holdfast.records.entries import index_row
from holdfast.store.protocols import (
    FOREVER_US,
    Appended,
    Change,
    Derived,
    Dumped,
    DumpedEvent,
    DumpedShare,
    DumpedTrust,
    LogEntry,
    Share,
    Spent,
)
from holdfast.store.sql.engine import Connection
from holdfast.store.sqlite import SqliteStore
from holdfast.testing.store_suite import told
from holdfast.types import Event, Job, Record, Scope


class LeaksAcrossUsers(SqliteStore):
    """Reads a record whoever asks."""

    def get(self, scope: Scope, ids: Sequence[str], *, hidden: bool = False) -> list[Record]:
        found: list[Record] = []
        for owner in self.owners():
            found += super().get(owner, ids, hidden=hidden)
        return sorted(found, key=lambda record: ids.index(record.id))


class LeaksAcrossWorkspaces(SqliteStore):
    """Takes two users of one name for one."""

    def events(self, scope: Scope, ids: Sequence[str] | None = None, **rest: Any) -> list[Event]:
        return super().events(Scope("home", scope.user), ids, **rest)


class LosesTheLastRow(SqliteStore):
    """Acknowledges a batch without its last entry."""

    def append(self, scope: Scope, entries: Sequence[LogEntry], **rest: Any) -> Appended:
        kept = entries[:-1] if len(entries) > 1 else entries
        done = super().append(scope, kept, **rest)
        return done if done.duplicate else Appended(tuple(e.id for e in entries), False)


class MixesUpTheOrder(SqliteStore):
    """Gives changes newest first."""

    def changes(self, scope: Scope, *, after: int, until: int = FOREVER_US) -> list[Change]:
        return super().changes(scope, after=after, until=until)[::-1]


class ForgetsTheKey(SqliteStore):
    """Stores a retry again."""

    def append(self, scope: Scope, entries: Sequence[LogEntry], **rest: Any) -> Appended:
        return super().append(scope, entries, **{**rest, "key": None})


class ShowsTheForgotten(SqliteStore):
    """Hands out events that were forgotten."""

    def events(self, scope: Scope, ids: Sequence[str] | None = None, **rest: Any) -> list[Event]:
        seen = super().events(scope, ids, **rest)
        if ids is not None:
            return seen
        turns = [row.event for row in self.dump(vectors=False) if isinstance(row, DumpedEvent)]
        return seen + [each for each in turns if each not in seen]


class MixesConversations(SqliteStore):
    """Takes whatever is due in one go."""

    def claim_group(self, step: str, **rest: Any) -> list[Job]:
        return super().claim_group(step, **rest) + super().claim_group(step, **rest)


class TearsConversationsApart(SqliteStore):
    """Hands out one job at a time once a lease ran out."""

    def claim_group(self, step: str, **rest: Any) -> list[Job]:
        jobs = super().claim_group(step, **rest)
        return [job for job in jobs if job.attempts == 1] or jobs[:1]


class ReadsBackwards(SqliteStore):
    """Hands out the last turn first."""

    def claim_group(self, step: str, **rest: Any) -> list[Job]:
        return super().claim_group(step, **rest)[::-1]


class CannotWait(SqliteStore):
    """Does not let anybody finish speaking."""

    def claim_group(self, step: str, **rest: Any) -> list[Job]:
        return super().claim_group(step, **{**rest, "quiet_s": 0})


class GivesUpEarly(SqliteStore):
    """Leaves no attempt for a simpler way."""

    def claim_group(self, step: str, **rest: Any) -> list[Job]:
        most = rest["max_attempts"] - 2
        return super().claim_group(step, **{**rest, "max_attempts": most})


class LearnsTooLate(SqliteStore):
    """Stores what was learned although others took over."""

    def learn(
        self, scope: Scope, jobs: Sequence[Job], records: Sequence[Derived], **rest: Any
    ) -> int | None:
        self.put(scope, records, known_at=rest["known_at"], steps=rest["steps"])
        return super().learn(scope, jobs, [], **rest)


class LearnsInTwoSteps(SqliteStore):
    """Removes the jobs first; and what is told again is news."""

    def learn(
        self, scope: Scope, jobs: Sequence[Job], records: Sequence[Derived], **rest: Any
    ) -> int | None:
        mine = super().learn(scope, jobs, [], **rest)
        if mine:
            self.put(scope, records, known_at=rest["known_at"], steps=rest["steps"])
        return mine


class TakesHearsayForDocuments(SqliteStore):
    """Makes a document of all that it is given."""

    def put(self, scope: Scope, records: Sequence[Derived], **rest: Any) -> bool:
        return super().put(scope, [told(each) for each in records], **rest)


class SeesNothingAgain(SqliteStore):
    """Does not know when something was last seen."""

    def get(self, scope: Scope, ids: Sequence[str], *, hidden: bool = False) -> list[Record]:
        return [replace(record, seen_at=None) for record in super().get(scope, ids, hidden=hidden)]


class LetsOthersPay(SqliteStore):
    """Takes two users of one name for one purse."""

    def spent(self, payer: Scope | str | None, day: date) -> Spent:
        return super().spent(Scope("home", payer.user) if isinstance(payer, Scope) else payer, day)


class CountsEveryUse(SqliteStore):
    """Counts a use as often as it is told of it."""

    def touch(self, scope: Scope, ids: Sequence[str], **rest: Any) -> list[str]:
        def work(connection: Connection) -> None:
            connection.execute("UPDATE records SET used = NULL")

        self._writer.run(work)
        return super().touch(scope, ids, **rest)


class TouchesOthers(SqliteStore):
    """Puts aside what has that id, whosever it is."""

    def archive(self, scope: Scope, ids: Sequence[str], **rest: Any) -> list[str]:
        done = [super(TouchesOthers, self).archive(each, ids, **rest) for each in self.owners()]
        return max(done, default=[])


class GivesNoReason(SqliteStore):
    """Ends a record and does not say why."""

    def end(self, scope: Scope, ids: Sequence[str], **rest: Any) -> list[str]:
        return super().end(scope, ids, **{**rest, "reason": ""})


class ReopensHalf(SqliteStore):
    """Takes what is put aside for what is over."""

    def end(
        self, scope: Scope, ids: Sequence[str], *, valid_to: datetime | None, **rest: Any
    ) -> list[str]:
        if valid_to is None:
            return super().archive(scope, ids, undo=True, **rest)
        return super().end(scope, ids, valid_to=valid_to, **rest)


class ListsWhatIsPutAside(SqliteStore):
    """Shows what nobody asked for."""

    def listed(self, scope: Scope, **rest: Any) -> list[Record]:
        return super().listed(scope, **{**rest, "archived": True})


class EmbedsEverything(SqliteStore):
    """Takes all that is stored for documents."""

    def put(self, scope: Scope, records: Sequence[Derived], **rest: Any) -> bool:
        return super().put(scope, [replace(each, quiet=0) for each in records], **rest)


class LooksAtTheGraphAlone(SqliteStore):
    """Stores a plan for facts that have changed."""

    def put(self, scope: Scope, records: Sequence[Derived], **rest: Any) -> bool:
        return super().put(scope, records, **{**rest, "tiers": ("graph",)})


class LetsOthersRevoke(SqliteStore):
    """Does not ask who granted a share."""

    def put_share(self, share: Share, *, was: Share | None = None) -> bool:
        if was is None:
            return super().put_share(share)
        granted = [replace(share, scope=each.scope) for each in self.shares()]
        return any([super(LetsOthersRevoke, self).put_share(each, was=was) for each in granted])


class TrustsEverywhere(SqliteStore):
    """Takes agents of one name for one."""

    def agent_trust(self, workspace: str) -> dict[str, float]:
        return super().agent_trust("home")


class BeginsTwice(SqliteStore):
    """Lets everybody who asks begin a chore."""

    def begin_chore(self, name: str, *, now: datetime, every_s: float) -> bool:
        return super().begin_chore(name, now=now, every_s=0)


class NewSecrets(SqliteStore):
    """Tells another secret each time."""

    def secret(self, name: str) -> bytes:
        return super().secret(f"{name}{random.random()}")


class KeepsTheQueue(SqliteStore):
    """Erases what was said, not what was to be done with it."""

    def erase(self, scope: Scope, *, at: datetime) -> dict[str, int]:
        kept = [row for row in self.dump() if row.scope.user == scope.user][:1]
        done = super().erase(scope, at=at)
        self.load(kept, index_row, steps=["embed:1"])
        return done


class ErasesTheWorkspace(SqliteStore):
    """Takes the others of a workspace along."""

    def erase(self, scope: Scope, *, at: datetime) -> dict[str, int]:
        for owner in self.owners():
            if owner.workspace == scope.workspace and owner.user != scope.user:
                super().erase(owner, at=at)
        return super().erase(scope, at=at)


class DropsShares(SqliteStore):
    """Dumps memories and nothing else."""

    def dump(self, *, vectors: bool = True) -> Iterator[Dumped]:
        rows = super().dump(vectors=vectors)
        return (row for row in rows if not isinstance(row, DumpedShare | DumpedTrust))


class WaitsForTheClock(SqliteStore):
    """Lets a job wait until the clock gets there."""

    def claim(self, steps: Sequence[str], **rest: Any) -> list[Job]:
        ahead = rest["now"] + timedelta(days=1000)
        waits = any(job.due and job.due > ahead for job in self.jobs(states=["ready"]))
        return [] if waits else super().claim(steps, **rest)


class ForgetsWhatWasUndone(SqliteStore):
    """Wipes what was decided along with what it was about."""

    def wipe(self, **rest: datetime | None) -> int:
        def work(connection: Connection) -> None:
            connection.execute("DELETE FROM journal WHERE record NOT IN (SELECT id FROM records)")

        wiped = super().wipe(**rest)
        self._writer.run(work)
        return wiped


#: Each with the part of the contract that it breaks.
PLANTS = {
    LeaksAcrossUsers: "RecordSuite",
    LeaksAcrossWorkspaces: "LogSuite",
    LosesTheLastRow: "LogSuite",
    MixesUpTheOrder: "FeedSuite",
    ForgetsTheKey: "LogSuite",
    ShowsTheForgotten: "RecordSuite",
    MixesConversations: "GroupSuite",
    TearsConversationsApart: "GroupSuite",
    ReadsBackwards: "GroupSuite",
    CannotWait: "GroupSuite",
    GivesUpEarly: "GroupSuite",
    LearnsTooLate: "LearnSuite",
    LearnsInTwoSteps: "LearnSuite",
    TakesHearsayForDocuments: "HeardSuite",
    SeesNothingAgain: "LearnSuite",
    LetsOthersPay: "SpendingSuite",
    CountsEveryUse: "LifeSuite",
    TouchesOthers: "LifeSuite",
    GivesNoReason: "LifeSuite",
    ReopensHalf: "LifeSuite",
    ListsWhatIsPutAside: "LifeSuite",
    EmbedsEverything: "OwnSuite",
    LooksAtTheGraphAlone: "OwnSuite",
    LetsOthersRevoke: "SharingSuite",
    TrustsEverywhere: "SharingSuite",
    BeginsTwice: "ChoreSuite",
    NewSecrets: "ChoreSuite",
    KeepsTheQueue: "EraseSuite",
    ErasesTheWorkspace: "EraseSuite",
    DropsShares: "CarrySuite",
    WaitsForTheClock: "QueueSuite",
    ForgetsWhatWasUndone: "HeardSuite",
}
