"""Stores with a planted fault each: the contract must notice every one of them."""

from collections.abc import Sequence
from typing import Any

from recollect.store.base import Appended, Change, Entry
from recollect.store.sqlite import SqliteStore
from recollect.types import Event, Record, Scope


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


PLANTS = (
    LeaksAcrossUsers,
    LeaksAcrossWorkspaces,
    LosesTheLastRow,
    MixesUpTheOrder,
    ForgetsTheKey,
    ShowsTheForgotten,
)
