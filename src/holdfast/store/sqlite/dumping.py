"""Everything of a store, row by row, in a fixed order."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import date, timedelta
from itertools import groupby
from typing import Any

import apsw

from holdfast.store.base import (
    Dumped,
    DumpedAct,
    DumpedEvent,
    DumpedKey,
    DumpedRecord,
    DumpedShare,
    DumpedTrust,
    DumpedVectors,
    KeyUse,
    Lived,
)
from holdfast.store.sqlite.log import EVENT, to_event
from holdfast.store.sqlite.reading import readable
from holdfast.store.sqlite.records import NO_EVENT, RECORD, to_record
from holdfast.store.sqlite.rows import from_us, maybe_from_us, split_ids
from holdfast.store.sqlite.sharing import SHARE, to_share
from holdfast.types import Scope

_IN_ORDER = "ORDER BY o.workspace, o.user"
_LIVED = "r.valid_to, r.known_to, r.seen, r.archived, r.strength, r.uses, r.used"
_COUNT_LIVED = _LIVED.count(",") + 1
_FIRST_DAY = date(1970, 1, 1)
#: Of a turn to which nothing happened, as all but a few are.
_NOT_LIVED = Lived()


def dumped(connection: apsw.Connection, *, vectors: bool) -> Iterator[Dumped]:
    """All rows; those that others lean on come first."""
    yield from _events(connection)
    yield from _records(connection)
    yield from _acts(connection)
    yield from _keys(connection)
    yield from _shares(connection)
    yield from _trust(connection)
    if vectors:
        yield from _vectors(connection)


def to_day(day: date) -> int:
    """Days since 1970."""
    return (day - _FIRST_DAY).days


def _from_day(value: int | None) -> date | None:
    return None if value is None else _FIRST_DAY + timedelta(days=value)


def _events(connection: apsw.Connection) -> Iterator[DumpedEvent]:
    columns = ", ".join("e." + column for column in EVENT.split(", "))
    rows = connection.execute(
        f"SELECT o.workspace, o.user, r.forgotten_at, {_LIVED}, {columns} FROM owners o"
        " JOIN events e ON e.owner = o.owner"
        " LEFT JOIN records r ON r.owner = e.owner AND r.id = e.id"
        f" {_IN_ORDER}, e.arrival"
    )
    return readable(_to_event, rows)


def _to_event(columns: Sequence[Any]) -> DumpedEvent:
    workspace, user, forgotten, *row = columns
    event = to_event(row[_COUNT_LIVED:])
    scope = Scope(workspace, user, event.agent, event.session)
    lived = _lived(*row[:_COUNT_LIVED]) if any(row[:_COUNT_LIVED]) else _NOT_LIVED
    return DumpedEvent(scope, event, maybe_from_us(forgotten), lived)


def _lived(*row: Any) -> Lived:
    valid_to, known_to, seen, archived = map(maybe_from_us, row[:4])
    strength, uses, used = row[4:]
    return Lived(valid_to, known_to, seen, archived, strength, uses, _from_day(used))


def _records(connection: apsw.Connection) -> Iterator[DumpedRecord]:
    # No event is joined: what a record shows of its first source is not its own.
    rows = connection.execute(
        "SELECT o.workspace, o.user, r.forgotten_at, r.along, r.said_from, r.used, r.written,"
        f" {RECORD} FROM owners o JOIN records r ON r.owner = o.owner AND r.tier != 'session'"
        f"{NO_EVENT} {_IN_ORDER}, r.known_from, r.id"
    )
    return readable(_to_record, rows)


def _to_record(row: Sequence[Any]) -> DumpedRecord:
    workspace, user, forgotten, along, said_from, used, written, *columns = row
    record = to_record(columns)
    return DumpedRecord(
        scope=Scope(workspace, user, record.agent, record.session),
        record=record,
        forgotten_at=maybe_from_us(forgotten),
        along=bool(along),
        said_from=maybe_from_us(said_from),
        used_on=_from_day(used),
        written=bool(written),
    )


def _acts(connection: apsw.Connection) -> Iterator[DumpedAct]:
    rows = connection.execute(
        "SELECT o.workspace, o.user, j.record, row_number() OVER"
        " (PARTITION BY j.owner, j.record ORDER BY j.change), j.action, j.at, j.note FROM owners o"
        # What was wiped has lines left that are of no use elsewhere.
        " JOIN journal j ON j.owner = o.owner"
        " JOIN records r ON r.owner = j.owner AND r.id = j.record"
        f" {_IN_ORDER}, j.change"
    )
    return readable(_to_act, rows)


def _to_act(row: Sequence[Any]) -> DumpedAct:
    workspace, user, record, number, action, at, note = row
    return DumpedAct(Scope(workspace, user), record.hex(), number, action, from_us(at), note)


def _keys(connection: apsw.Connection) -> Iterator[DumpedKey]:
    rows = connection.execute(
        "SELECT o.workspace, o.user, k.key, k.body, k.events, k.used_at FROM owners o"
        f" JOIN idempotency k ON k.owner = o.owner {_IN_ORDER}, k.key"
    )
    return readable(_to_key, rows)


def _to_key(row: Sequence[Any]) -> DumpedKey:
    events = tuple(each.hex() for each in split_ids(row[4]))
    return DumpedKey(Scope(row[0], row[1]), KeyUse(row[2], row[3]), events, from_us(row[5]))


def _shares(connection: apsw.Connection) -> Iterator[DumpedShare]:
    rows = connection.execute(
        f"SELECT {SHARE} FROM owners o JOIN shares s ON s.owner = o.owner {_IN_ORDER}, s.id"
    )
    return map(DumpedShare, readable(to_share, rows))


def _trust(connection: apsw.Connection) -> Iterator[DumpedTrust]:
    rows = connection.execute(
        "SELECT workspace, agent, trust, at FROM agents ORDER BY workspace, agent"
    )
    return readable(lambda row: DumpedTrust(row[0], row[1], row[2], from_us(row[3])), rows)


def _vectors(connection: apsw.Connection) -> Iterator[DumpedVectors]:
    rows = connection.execute(
        "SELECT o.workspace, o.user, s.model, s.dim, s.recipe, v.record, v.digest, v.data"
        " FROM owners o JOIN vectors v ON v.owner = o.owner"
        " JOIN spaces s ON s.id = v.space AND s.state != 'retired'"
        f" {_IN_ORDER}, s.model, s.dim, s.recipe, v.record, v.passage"
    )
    for (workspace, user, model, dim, recipe, record), group in groupby(rows, lambda r: r[:6]):
        passages = tuple((row[6], row[7]) for row in group)
        yield DumpedVectors(Scope(workspace, user), model, dim, recipe, record.hex(), passages)
