"""Stores with a planted fault each: the contract must notice every one of them."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import date
from typing import Any

from recollect.store.base import Appended, Change, Derived, Entry, Spent
from recollect.store.sqlite import SqliteStore
from recollect.testing.store_suite import told
from recollect.types import Event, Job, Record, Scope


class LeaksAcrossUsers(SqliteStore):
    """Reads a record whoever asks."""

    def get(self, scope: Scope, ids: Sequence[str]) -> list[Record]:
        with self._pool.reader() as connection:
            owners = connection.execute("SELECT workspace, user FROM owners").fetchall()
        found = [record for owner in owners for record in super().get(Scope(*owner), ids)]
        return sorted(found, key=lambda record: ids.index(record.id))


class LeaksAcrossWorkspaces(SqliteStore):
    """Takes two users of one name for one."""

    def events(self, scope: Scope, ids: Sequence[str]) -> list[Event]:
        return super().events(Scope("home", scope.user), ids)


class LosesTheLastRow(SqliteStore):
    """Acknowledges a batch without its last entry."""

    def append(self, scope: Scope, entries: Sequence[Entry], **rest: Any) -> Appended:
        kept = entries[:-1] if len(entries) > 1 else entries
        done = super().append(scope, kept, **rest)
        return done if done.duplicate else Appended(tuple(e.id for e in entries), False)


class MixesUpTheOrder(SqliteStore):
    """Gives changes newest first."""

    def changes(self, scope: Scope, *, after: int) -> list[Change]:
        return super().changes(scope, after=after)[::-1]


class ForgetsTheKey(SqliteStore):
    """Stores a retry again."""

    def append(self, scope: Scope, entries: Sequence[Entry], **rest: Any) -> Appended:
        return super().append(scope, entries, **{**rest, "key": None})


class ShowsTheForgotten(SqliteStore):
    """Hands out events that were forgotten."""

    def scan(self, scope: Scope, *, after: int = 0, limit: int = 1000) -> list[Event]:
        seen = super().scan(scope, after=after, limit=limit)
        hidden = [job for job in self.jobs() if job.subject not in {event.id for event in seen}]
        mine = [
            job
            for job in hidden
            if (job.scope.user, job.scope.workspace) == (scope.user, scope.workspace)
        ]
        found = self.subjects(mine).values()
        return seen + [each for each in found if isinstance(each, Event)]


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
    ) -> int:
        self.put(scope, records, known_at=rest["known_at"], steps=rest["steps"])
        return super().learn(scope, jobs, [], **rest)


class LearnsInTwoSteps(SqliteStore):
    """Removes the jobs first; and what is told again is news."""

    def learn(
        self, scope: Scope, jobs: Sequence[Job], records: Sequence[Derived], **rest: Any
    ) -> int:
        mine = super().learn(scope, jobs, [], **rest)
        if mine:
            self.put(scope, records, known_at=rest["known_at"], steps=rest["steps"])
        return mine


class TakesHearsayForDocuments(SqliteStore):
    """Makes a document of all that it is given."""

    def put(self, scope: Scope, records: Sequence[Derived], **rest: Any) -> None:
        super().put(scope, [told(each) for each in records], **rest)


class SeesNothingAgain(SqliteStore):
    """Does not know when something was last seen."""

    def get(self, scope: Scope, ids: Sequence[str]) -> list[Record]:
        return [replace(record, seen_at=None) for record in super().get(scope, ids)]


class LetsOthersPay(SqliteStore):
    """Takes two users of one name for one purse."""

    def spent(self, scope: Scope, day: date) -> Spent:
        return super().spent(Scope("home", scope.user), day)


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
}
