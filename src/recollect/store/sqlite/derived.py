"""Records of the other tiers: storing them, their new versions, the end of what they supersede."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import apsw

from recollect.errors import InvalidInput
from recollect.store.base import Derived
from recollect.store.sqlite.rows import (
    chunks,
    from_json,
    known_ids,
    marks,
    next_changes,
    noted,
    split_ids,
    to_data,
    to_id,
    to_us,
)
from recollect.store.sqlite.visibility import all_forgotten, mark

#: What a version says; a record that says the same again is confirmed.
_SAID = "kind, content, data, confidence, importance, valid_to, known_to"


@dataclass(frozen=True, slots=True)
class Writing:
    """What all records of one write share."""

    owner: int
    agent: str | None
    session: str | None
    known: int
    #: Steps to queue, of the vector spaces in use.
    steps: Sequence[str]


def add(connection: apsw.Connection, writing: Writing, derived: Derived) -> bool:
    """Store a record unless there is one with its id; whether it was stored."""
    raw, owner = _checked(derived), writing.owner
    if connection.execute("SELECT 1 FROM records WHERE owner = ? AND id = ?", (owner, raw)).get:
        return False
    sources = existing(connection, owner, derived.sources)
    if derived.sources and not sources:
        return False
    values = {
        "owner": owner,
        "id": raw,
        "change": next_changes(connection, owner, 1),
        "known_from": writing.known,
        "sources": b"".join(sources),
        "arrival": arrival_of(connection, owner, sources),
        **_said(derived),
        **_with(writing, derived),
    }
    connection.execute(
        f"INSERT INTO records ({', '.join(values)}) VALUES ({marks(len(values))})",
        tuple(values.values()),
    )
    trace(connection, owner, raw, sources)
    enqueue(connection, owner, [raw], writing.steps, writing.known)
    hidden = all_forgotten(connection, owner, sources)
    if hidden is not None:  # Forgotten while it was being understood.
        mark(connection, owner, raw, hidden, forgotten=True, along=True)
    _close(connection, writing, derived)
    return True


def put_one(connection: apsw.Connection, writing: Writing, derived: Derived) -> None:
    """Store a record, or the new version of a known one."""
    raw, owner = _checked(derived), writing.owner
    row: Any = connection.execute(
        f"SELECT tier, sources, along, terms, {_SAID} FROM records WHERE owner = ? AND id = ?",
        (owner, raw),
    ).fetchone()
    if row is None:
        add(connection, writing, derived)
        return
    tier, sources, along, terms, *said = row
    if tier == "session":
        raise InvalidInput(f"{derived.id} is the id of a turn, which never changes", field="id")
    before = split_ids(sources)
    more = [each for each in existing(connection, owner, derived.sources) if each not in before]
    _add_sources(connection, owner, raw, before, more)
    new = _said(derived)
    if said == list(new.values()):
        noted(connection, owner, raw, "confirmed", writing.known)
    else:
        _change(connection, writing, derived, old=(terms, _text_of(said[1], said[2])))
    if along and all_forgotten(connection, owner, [*before, *more]) is None:
        mark(connection, owner, raw, writing.known, forgotten=False)
    _close(connection, writing, derived)


def trace(connection: apsw.Connection, owner: int, record: bytes, sources: Sequence[bytes]) -> None:
    """Note that a record was derived from these events."""
    connection.executemany(
        "INSERT OR IGNORE INTO provenance (owner, event, record) VALUES (?, ?, ?)",
        ((owner, source, record) for source in sources),
    )


def enqueue(
    connection: apsw.Connection,
    owner: int,
    records: Sequence[bytes],
    steps: Sequence[str],
    due: int,
) -> None:
    """One job per record and step; one that is waiting already stays as it is."""
    connection.executemany(
        "INSERT OR IGNORE INTO jobs (owner, subject, step, due) VALUES (?, ?, ?, ?)",
        ((owner, record, step, due) for record in records for step in steps),
    )


def existing(connection: apsw.Connection, owner: int, sources: Sequence[str]) -> list[bytes]:
    """Those that are events of this owner, each once, in the same order."""
    wanted = list(dict.fromkeys(known_ids(sources)))
    there: set[bytes] = set()
    for some in chunks(wanted):
        there |= {
            row[0]
            for row in connection.execute(
                f"SELECT id FROM events WHERE owner = ? AND id IN ({marks(len(some))})",
                (owner, *some),
            )
        }
    return [each for each in wanted if each in there]


def arrival_of(connection: apsw.Connection, owner: int, sources: Sequence[bytes]) -> int:
    """The arrival of the first source; without one, of the owner's latest event."""
    arrival: int | None = None
    if sources:
        arrival = connection.execute(
            "SELECT arrival FROM events WHERE owner = ? AND id = ?", (owner, sources[0])
        ).get
    if arrival is None:
        arrival = connection.execute("SELECT arrival FROM owners WHERE owner = ?", (owner,)).get
    return arrival or 0


def _change(
    connection: apsw.Connection,
    writing: Writing,
    derived: Derived,
    *,
    old: tuple[bytes, tuple[str, Any]],
) -> None:
    owner, raw = writing.owner, to_id(derived.id)
    text = _text_of(derived.content, to_data(derived.data))
    new_text = old != (derived.terms, text)
    values = {
        **_said(derived),
        **_with(writing, derived),
        "change": noted(connection, owner, raw, "changed", writing.known),
        **({"said_from": writing.known} if new_text else {}),
    }
    connection.execute(
        f"UPDATE records SET {', '.join(f'{name} = ?' for name in values)}"
        " WHERE owner = ? AND id = ?",
        (*values.values(), owner, raw),
    )
    if new_text:
        connection.execute("DELETE FROM vectors WHERE owner = ? AND record = ?", (owner, raw))
        # A new row, not the old one again: whoever embeds the old text just now must not finish it.
        connection.execute("DELETE FROM jobs WHERE owner = ? AND subject = ?", (owner, raw))
        enqueue(connection, owner, [raw], writing.steps, writing.known)
        # An index holds the old words and vectors: it must start over.
        connection.execute("UPDATE owners SET epoch = epoch + 1 WHERE owner = ?", (owner,))


def _add_sources(
    connection: apsw.Connection,
    owner: int,
    record: bytes,
    before: Sequence[bytes],
    more: Sequence[bytes],
) -> None:
    if not more:
        return
    connection.execute(
        "UPDATE records SET sources = ?, change = ? WHERE owner = ? AND id = ?",
        (b"".join([*before, *more]), next_changes(connection, owner, 1), owner, record),
    )
    trace(connection, owner, record, more)


def _close(connection: apsw.Connection, writing: Writing, derived: Derived) -> None:
    """End what a record supersedes: it held until the new one began."""
    owner, end = writing.owner, to_us(derived.valid_from)
    for raw in known_ids(each for each in derived.supersedes if each != derived.id):
        is_open = connection.execute(
            "SELECT 1 FROM records WHERE owner = ? AND id = ? AND known_to IS NULL", (owner, raw)
        ).get
        if is_open:
            change = noted(connection, owner, raw, "superseded", writing.known)
            connection.execute(
                "UPDATE records SET known_to = ?, valid_to = min(coalesce(valid_to, ?), ?),"
                " change = ? WHERE owner = ? AND id = ?",
                (writing.known, end, end, change, owner, raw),
            )


def _checked(derived: Derived) -> bytes:
    if derived.tier == "session":
        raise InvalidInput("a derived record cannot be of the tier session", field="tier")
    return to_id(derived.id)


def _said(derived: Derived) -> dict[str, Any]:
    return {
        "kind": derived.kind,
        "content": derived.content,
        "data": to_data(derived.data),
        "confidence": derived.confidence,
        "importance": derived.importance,
        "valid_to": None if derived.valid_to is None else to_us(derived.valid_to),
        "known_to": None,
    }


def _with(writing: Writing, derived: Derived) -> dict[str, Any]:
    return {
        "tier": derived.tier,
        "valid_from": to_us(derived.valid_from),
        "origin": derived.origin,
        "length": derived.length,
        "terms": derived.terms,
        "agent": writing.agent,
        "session": writing.session,
        "name": derived.name,
        "role": derived.role,
    }


def _text_of(content: str, data: str | None) -> tuple[str, Any]:
    """What is embedded of a record: see `write/passages.py`."""
    return content, from_json(data).get("condition")
