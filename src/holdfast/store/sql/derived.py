"""Records of the other tiers: storing them, their new versions, the end of what they supersede;
hiding and removing records, and what was derived with its sources.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple

from holdfast.errors import InvalidInput
from holdfast.store.protocols import FOREVER_US, Derived, claim_of, is_document, is_heard
from holdfast.store.sql.engine import (
    WRITTEN,
    Connection,
    chunks,
    from_json,
    known_ids,
    marks,
    next_changes,
    owner_of,
    raise_epoch,
    split_ids,
    to_data,
    to_id,
    to_json,
    to_us,
    write_history,
)
from holdfast.store.values import without_words
from holdfast.types import Metadata, Scope

#: What a version says; a record that says the same again is confirmed.
_SAID = (
    "kind, content, data, confidence, importance, quiet, visibility, metadata, valid_to, known_to"
)


@dataclass(frozen=True, slots=True)
class Writing:
    """What all records of one write share."""

    owner: int
    agent: str | None
    session: str | None
    known: int
    #: Steps to queue, of the vector spaces in use.
    steps: Sequence[str]
    #: What says nothing new is left untouched, and what was wiped for its own sake stays away.
    learning: bool = False


@dataclass(frozen=True, slots=True)
class HistoryLine:
    """A line of a history."""

    at: int
    action: str
    reason: str = ""


_FADING = ("graph", "note")


@dataclass(frozen=True, slots=True)
class _Text:
    """What an index and its vectors hold of a record: see `learn/embed.py`."""

    terms: bytes
    content: str
    data: Metadata
    tier: str
    quiet: int

    @property
    def is_searched(self) -> bool:
        return is_document(self.tier, self.data, self.quiet)

    @property
    def said(self) -> tuple[object, ...]:
        return self.terms, self.content, self.data.get("condition"), self.is_searched, self.quiet


def add(connection: Connection, writing: Writing, derived: Derived) -> bool:
    """Store a record unless there is one with its id; whether it was stored."""
    raw, owner = _check_derived(derived), writing.owner
    if connection.execute("SELECT 1 FROM records WHERE owner = ? AND id = ?", (owner, raw)).get:
        return False
    sources = existing(connection, owner, derived.sources)
    if derived.sources and not sources:
        return False
    change = next_changes(connection, owner, 1)
    values = {
        "owner": owner,
        "id": raw,
        "change": change,
        "stored": change,
        "known_from": writing.known,
        "sources": b"".join(sources),
        "arrival": arrival_of(connection, owner, sources),
        "written": int(not derived.sources),
        **_columns_of(derived),
        **_with(writing, derived),
    }
    connection.execute(
        f"INSERT INTO records ({', '.join(values)}) VALUES ({marks(len(values))})",
        tuple(values.values()),
    )
    trace(connection, owner, raw, sources)
    if is_document(derived.tier, derived.data, derived.quiet):
        enqueue(connection, owner, raw, writing.steps, writing.known)
    hidden = all_forgotten(connection, owner, sources)
    if hidden is not None:  # Forgotten while it was being understood.
        mark(connection, owner, raw, hidden, forgotten=True, along=True)
    _close(connection, writing, derived)
    return True


def put_one(connection: Connection, writing: Writing, derived: Derived) -> None:
    """Store a record, or the new version of a known one."""
    raw, owner = _check_derived(derived), writing.owner
    row: Any = connection.execute(
        "SELECT tier, sources, along, terms, coalesce(seen, known_from), archived,"
        f" {_SAID} FROM records WHERE owner = ? AND id = ?",
        (owner, raw),
    ).fetchone()
    if row is None:
        if _is_wanted(connection, writing, raw):
            add(connection, writing, derived)
        return
    tier, sources, along, terms, seen, archived, *said = row
    if tier == "session":
        raise InvalidInput(f"{derived.id} is the id of a turn, which never changes", field="id")
    given = existing(connection, owner, derived.sources)
    before = dict.fromkeys(split_ids(sources))
    more = [each for each in given if each not in before]
    saying = _saying(derived, tier, said)
    is_old = writing.learning and not more and _is_told(said, saying)
    if is_old or (derived.sources and not given):
        return
    new = _brought_back(connection, writing, raw, archived)
    new |= {"seen": max(seen, writing.known), **_new_life(tier, derived)}
    if more:
        new["sources"] = b"".join([*before, *more])
        trace(connection, owner, raw, more)
    if said == saying:
        _confirm(connection, writing, raw, new)
    else:
        old = _Text(terms, said[1], from_json(said[2]), tier, said[5])
        _change(connection, writing, derived, old=old, new=new)
    if along and all_forgotten(connection, owner, [*before, *more]) is None:
        mark(connection, owner, raw, writing.known, forgotten=False)
    _close(connection, writing, derived)


def _new_life(tier: str, derived: Derived) -> dict[str, Any]:
    """What fades and is told again begins a new life."""
    return {"strength": derived.strength} if tier in _FADING else {}


def _brought_back(
    connection: Connection, writing: Writing, record: bytes, archived: int | None
) -> dict[str, Any]:
    """What is told again matters again: it is no longer put aside."""
    if archived is None:
        return {}
    write_history(connection, writing.owner, record, "unarchived", writing.known)
    return {"archived": None}


def is_stale(connection: Connection, owner: int, since: int | None, tiers: Sequence[str]) -> bool:
    """Whether a derived record of one of these tiers has changed after a change number."""
    if since is None:
        return False
    changed = connection.execute(
        "SELECT 1 FROM records WHERE owner = ? AND change > ? AND tier != 'session'"
        f" AND tier IN ({marks(len(tiers))}) LIMIT 1",
        (owner, since, *tiers),
    ).get
    return changed is not None


def _saying(derived: Derived, tier: str, said: list[Any]) -> list[Any]:
    """What a new version says. What somebody wrote into the graph stays as it is when it is only
    heard of, also if it was written after the listener looked: that adds a source, nothing else."""
    is_written = tier == "graph" and not is_heard(tier, from_json(said[2]))
    if is_written and is_heard(derived.tier, derived.data):
        return said
    return list(_columns_of(derived, before=said[7]).values())


def trace(connection: Connection, owner: int, record: bytes, sources: Sequence[bytes]) -> None:
    """Note that a record was derived from these events."""
    connection.executemany(
        "INSERT INTO provenance (owner, event, record) VALUES (?, ?, ?) ON CONFLICT DO NOTHING",
        ((owner, source, record) for source in sources),
    )


def enqueue(
    connection: Connection, owner: int, record: bytes, steps: Sequence[str], due: int
) -> None:
    """Queue a derived record for its vectors, once; only what was said is there to be understood.

    What is only heard is not queued at all: that is for the caller to know.
    """
    wanted = [step for step in steps if step.startswith("embed:")]
    connection.executemany(
        "INSERT INTO jobs (id, owner, subject, step, due) VALUES (?, ?, ?, ?, ?)"
        " ON CONFLICT (owner, subject, step) DO NOTHING",
        (
            (id, owner, record, step, due)
            for id, step in zip(connection.job_ids(len(wanted)), wanted, strict=True)
        ),
    )


def existing(connection: Connection, owner: int, sources: Sequence[str]) -> list[bytes]:
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


def arrival_of(connection: Connection, owner: int, sources: Sequence[bytes]) -> int:
    """The arrival of the first source; without one, of the owner's latest event."""
    arrival: int | None = None
    if sources:
        arrival = connection.execute(
            "SELECT arrival FROM events WHERE owner = ? AND id = ?", (owner, sources[0])
        ).get
    if arrival is None:
        arrival = connection.execute("SELECT arrival FROM owners WHERE owner = ?", (owner,)).get
    return arrival or 0


def _is_wanted(connection: Connection, writing: Writing, record: bytes) -> bool:
    """Whether an id may be stored for the first time.

    Lines of a history without a record are those of one that was wiped for its own sake. Who learns
    leaves it at that; who writes it all the same begins anew.
    """
    key = (writing.owner, record)
    was_wiped = connection.execute("SELECT 1 FROM journal WHERE owner = ? AND record = ?", key).get
    if was_wiped and not writing.learning:
        connection.execute("DELETE FROM journal WHERE owner = ? AND record = ?", key)
    return not (was_wiped and writing.learning)


def _is_told(said: list[Any], saying: list[Any]) -> bool:
    """Whether nothing is new. What ended since does not begin again for being told as it was."""
    *was, _, _ = said
    *now, valid_to, _ = saying
    return said == saying or (was == now and valid_to is None)


def _confirm(connection: Connection, writing: Writing, record: bytes, new: dict[str, Any]) -> None:
    change = write_history(connection, writing.owner, record, "confirmed", writing.known)
    _update(connection, writing.owner, record, {**new, "change": change})


def _change(
    connection: Connection,
    writing: Writing,
    derived: Derived,
    *,
    old: _Text,
    new: dict[str, Any],
) -> None:
    owner, raw = writing.owner, to_id(derived.id)
    row, _ = _index_row(derived)
    text = _Text(row, derived.content, derived.data, derived.tier, derived.quiet)
    is_new = old.said != text.said
    change = write_history(connection, owner, raw, "changed", writing.known)
    values = {**new, **_columns_of(derived), **_with(writing, derived), "change": change}
    if derived.metadata is None:
        del values["metadata"]
    if is_new:
        values["said_from"] = writing.known
    _update(connection, owner, raw, values)
    if not is_new or not (old.is_searched or text.is_searched):
        return
    connection.execute("DELETE FROM vectors WHERE owner = ? AND record = ?", (owner, raw))
    # A new row, not the old one again: whoever embeds the old text just now must not finish it.
    connection.execute("DELETE FROM jobs WHERE owner = ? AND subject = ?", (owner, raw))
    if text.is_searched:
        enqueue(connection, owner, raw, writing.steps, writing.known)
    # An index holds the old words and vectors: it must start over.
    raise_epoch(connection, owner, removed=False)


def _update(connection: Connection, owner: int, record: bytes, values: dict[str, Any]) -> None:
    connection.execute(
        f"UPDATE records SET {', '.join(f'{name} = ?' for name in values)}"
        " WHERE owner = ? AND id = ?",
        (*values.values(), owner, record),
    )


def _close(connection: Connection, writing: Writing, derived: Derived) -> None:
    """End what a record supersedes: it held until the new one began."""
    end = to_us(derived.valid_from)
    for raw in known_ids(each for each in derived.supersedes if each != derived.id):
        act = HistoryLine(writing.known, derived.ends, derived.reason)
        end_one(connection, writing.owner, raw, act, valid_to=end)
    for raw in known_ids(each for each in derived.shortens if each != derived.id):
        shorten_one(
            connection, writing.owner, raw, HistoryLine(writing.known, "", derived.reason), end
        )


def end_one(
    connection: Connection, owner: int, record: bytes, act: HistoryLine, *, valid_to: int
) -> bool:
    """End a record that is still open, never before it began; whether it was."""
    is_open = connection.execute(
        "SELECT 1 FROM records WHERE owner = ? AND id = ? AND known_to IS NULL", (owner, record)
    ).get
    if not is_open:
        return False
    change = write_history(connection, owner, record, act.action, act.at, act.reason)
    connection.execute(
        "UPDATE records SET known_to = ?, change = ?,"
        " valid_to = max(valid_from, min(coalesce(valid_to, ?), ?)) WHERE owner = ? AND id = ?",
        (act.at, change, valid_to, valid_to, owner, record),
    )
    return True


def shorten_one(
    connection: Connection, owner: int, record: bytes, act: HistoryLine, valid_to: int
) -> bool:
    """Let a record that has an end hold no longer than this, never ending before it began; whether
    it held for longer. When its end became known stays as it is, and so does how it ended."""
    held_longer = connection.execute(
        "SELECT 1 FROM records WHERE owner = ? AND id = ? AND valid_to > max(valid_from, ?)",
        (owner, record, valid_to),
    ).get
    if not held_longer:
        return False
    action = connection.execute(
        "SELECT action FROM journal WHERE owner = ? AND record = ?"
        " AND action IN ('superseded', 'invalidated') ORDER BY change DESC LIMIT 1",
        (owner, record),
    ).get
    change = write_history(connection, owner, record, action or "superseded", act.at, act.reason)
    connection.execute(
        "UPDATE records SET change = ?, valid_to = max(valid_from, ?) WHERE owner = ? AND id = ?",
        (change, valid_to, owner, record),
    )
    return True


def _check_derived(derived: Derived) -> bytes:
    if derived.tier == "session":
        raise InvalidInput("a derived record cannot be of the tier session", field="tier")
    return to_id(derived.id)


def _columns_of(derived: Derived, *, before: str | None = None) -> dict[str, Any]:
    """In the order of `_SAID`. Metadata that is not given stays as it was `before`."""
    return {
        "kind": derived.kind,
        "content": derived.content,
        "data": to_data(derived.data),
        "confidence": derived.confidence,
        "importance": derived.importance,
        "quiet": derived.quiet,
        "visibility": derived.visibility,
        "metadata": before if derived.metadata is None else to_json(derived.metadata),
        "valid_to": None if derived.valid_to is None else to_us(derived.valid_to),
        "known_to": None,
    }


def _with(writing: Writing, derived: Derived) -> dict[str, Any]:
    terms, length = _index_row(derived)
    return {
        "tier": derived.tier,
        "claim": claim_of(derived),
        "valid_from": to_us(derived.valid_from),
        "origin": derived.origin,
        "length": length,
        "terms": terms,
        "agent": None if derived.shared else writing.agent,
        "session": None if derived.shared else writing.session,
        "name": derived.name,
        "role": derived.role,
    }


def _index_row(derived: Derived) -> tuple[bytes, int]:
    """Terms and length; what is only heard has none, whatever it came with."""
    return (b"", 0) if is_heard(derived.tier, derived.data) else (derived.terms, derived.length)


# ----------------------------------------------------------------------
# Hiding records, bringing them back, removing them; what was derived goes with its sources.
# ----------------------------------------------------------------------

#: Whether a record is a merge that was undone.
_UNDONE = "tier = 'graph' AND kind = 'merge' AND (valid_to IS NOT NULL OR known_to IS NOT NULL)"


def set_forgotten(
    connection: Connection, scope: Scope, ids: Sequence[str], at: datetime, *, forgotten: bool
) -> list[str]:
    """Hide records or bring them back, with what depends on them; which of them changed. What is
    not there, or is so already, is passed over."""
    changed, owner, moment = [], owner_of(connection, scope), to_us(at)
    for raw in dict.fromkeys(known_ids(ids)):
        is_open = connection.execute(
            "SELECT forgotten_at IS NULL FROM records WHERE owner = ? AND id = ?",
            (owner, raw),
        ).get
        if owner is not None and is_open is not None and bool(is_open) == forgotten:
            mark(connection, owner, raw, moment, forgotten=forgotten)
            follow_source(connection, owner, raw, moment, forgotten=forgotten)
            changed.append(raw.hex())
    return changed


def mark(
    connection: Connection,
    owner: int,
    record: bytes,
    at: int,
    *,
    forgotten: bool,
    along: bool = False,
) -> None:
    """Hide one record or bring it back, with a line in its history."""
    change = write_history(connection, owner, record, "forgotten" if forgotten else "restored", at)
    connection.execute(
        "UPDATE records SET forgotten_at = ?, along = ?, change = ? WHERE owner = ? AND id = ?",
        (at if forgotten else None, int(along), change, owner, record),
    )


def follow_source(
    connection: Connection,
    owner: int,
    event: bytes,
    at: int,
    *,
    forgotten: bool,
    known_by: int = FOREVER_US,
) -> None:
    """What was derived from an event hides with its last source and comes back with the first.

    `known_by` leaves out what was learned later: for acts that are told again.
    """
    for each in _derived_from(connection, owner, event, known_by):
        if each.along and not forgotten:
            mark(connection, owner, each.record, at, forgotten=False)
        elif not forgotten or each.hidden or each.written:
            continue
        elif all_forgotten(connection, owner, each.sources) is not None:
            mark(connection, owner, each.record, at, forgotten=True, along=True)


def all_forgotten(connection: Connection, owner: int, sources: Sequence[bytes]) -> int | None:
    """When the last of these events was forgotten; None while one of them is there."""
    times: list[int | None] = []
    for some in chunks(sources):
        times += [
            row[0]
            for row in connection.execute(
                f"SELECT forgotten_at FROM records WHERE owner = ? AND id IN ({marks(len(some))})",
                (owner, *some),
            )
        ]
    hidden = [time for time in times if time is not None]
    return max(hidden) if hidden and len(hidden) == len(times) else None


def wipe_forgotten(connection: Connection, before: datetime) -> int:
    """Physically remove what was forgotten before a time; how many records."""
    gone: list[Any] = connection.execute(
        "SELECT owner, id, tier = 'session', along FROM records WHERE forgotten_at < ?",
        (to_us(before),),
    ).fetchall()
    wiped: set[tuple[int, bytes]] = set()
    for owner, record, turn, along in gone:
        if (owner, record) in wiped:
            continue
        if turn:
            orphans = _without_source(connection, owner, record)
            wiped.update((owner, orphan) for orphan in orphans)
        remove(connection, owner, record, whole=bool(turn or along))
        wiped.add((owner, record))
    return len(wiped)


def remove(connection: Connection, owner: int, record: bytes, *, whole: bool) -> None:
    """Physically remove one record and all that hangs on it.

    `whole` False leaves its history, ids and times alone: whoever derives again from a source that
    is still there sees that this was not wanted. That of a merge that was undone always stays: the
    next turns that name both would make it again.
    """
    row: Any = connection.execute(
        f"SELECT sources, {_UNDONE} FROM records WHERE owner = ? AND id = ?", (owner, record)
    ).fetchone()
    sources, is_undone = row or (None, False)
    connection.executemany(
        "DELETE FROM provenance WHERE owner = ? AND event = ? AND record = ?",
        ((owner, source, record) for source in split_ids(sources)),
    )
    for table, column in (
        ("records", "id"),
        ("events", "id"),
        ("vectors", "record"),
        ("jobs", "subject"),
        *((("journal", "record"),) if whole and not is_undone else ()),
    ):
        connection.execute(f"DELETE FROM {table} WHERE owner = ? AND {column} = ?", (owner, record))
    connection.unname(owner, record)
    raise_epoch(connection, owner)


def _without_source(connection: Connection, owner: int, event: bytes) -> list[bytes]:
    """Take an event from the sources of what was derived; what has none left is removed: which."""
    removed = []
    for each in _derived_from(connection, owner, event):
        left = [source for source in each.sources if source != event]
        if left or each.written:
            leave_sources(connection, owner, each.record, left)
        else:
            remove(connection, owner, each.record, whole=True)
            removed.append(each.record)
    connection.execute("DELETE FROM provenance WHERE owner = ? AND event = ?", (owner, event))
    return removed


def leave_sources(
    connection: Connection, owner: int, record: bytes, sources: Sequence[bytes]
) -> None:
    """Let a record have these sources alone: what it kept of the words of another goes."""
    data = connection.execute(
        "SELECT data FROM records WHERE owner = ? AND id = ?", (owner, record)
    ).get
    connection.execute(
        "UPDATE records SET sources = ?, data = ?, change = ? WHERE owner = ? AND id = ?",
        (
            b"".join(sources),
            to_data(without_words(from_json(data))),
            next_changes(connection, owner, 1),
            owner,
            record,
        ),
    )


class _DerivedIds(NamedTuple):
    """What was derived from an event."""

    record: bytes
    sources: list[bytes]
    hidden: bool
    #: Hidden for want of a source.
    along: bool
    #: Somebody wrote it: it stands without any turn.
    written: bool


def _derived_from(
    connection: Connection, owner: int, event: bytes, known_by: int = FOREVER_US
) -> list[_DerivedIds]:
    rows: list[Any] = connection.execute(
        f"SELECT r.id, r.sources, r.forgotten_at IS NOT NULL, r.along, {WRITTEN} FROM provenance p"
        " JOIN records r ON r.owner = p.owner AND r.id = p.record"
        " WHERE p.owner = ? AND p.event = ? AND r.known_from <= ? ORDER BY p.record",
        (owner, event, known_by),
    ).fetchall()
    return [_DerivedIds(row[0], split_ids(row[1]), *map(bool, row[2:])) for row in rows]
