"""A store as JSON lines, and back, line by line: a bad one is listed and does not stop the others.

Any damage is noticed: the last line holds the digest of all lines before it. The header names the
format and the closing line itself, so that neither can be lost, or changed in a bit, without the
other telling: the whole file is looked at before anything of it is stored.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, BinaryIO, cast

from holdfast.border import validate
from holdfast.border.ids import Ids
from holdfast.errors import InvalidInput, NotFound
from holdfast.memory.memory import Memory
from holdfast.records.entries import index_row
from holdfast.records.graph.check import distrust
from holdfast.store.protocols import (
    Derive,
    Dumped,
    DumpedAct,
    DumpedEvent,
    DumpedRecord,
    DumpedVectors,
    IndexedRow,
    Progress,
    Upkeep,
)
from holdfast.transfer.lines import (
    CLOSING,
    FORMAT,
    FORMATS,
    FORMER_HEADER,
    HEADER,
    KIND,
    TYPES,
    from_header,
    from_row,
    new_event,
    parse_line,
    promised,
    refuse,
    to_fields,
    to_line,
)
from holdfast.types import ORIGIN_OF_ROLE, Event, Record

#: A header has a number for each type of line; a closing line is shorter.
_LONGEST = 4096
_PIECE_BYTES = 1 << 20
_CLOSES = f'\n{{"{CLOSING}":'.encode()
_HOW_ON = "take another export, or what can still be read of it with `holdfast import --salvage`"


class Sealing:
    """Writes lines to a file, and at last the one that closes it."""

    def __init__(self, out: BinaryIO) -> None:
        self._out = out
        self._digest = hashlib.sha256()
        self._lines = 0

    def write(self, piece: bytes) -> None:
        """Lines, or parts of them."""
        self._digest.update(piece)
        self._lines += piece.count(b"\n")
        self._out.write(piece)

    def close(self) -> None:
        """Write the closing line."""
        self._out.write(to_line({CLOSING: self._lines, "sha256": self._digest.hexdigest()}))


@contextmanager
def check_seal(source: BinaryIO, *, salvage: bool = False) -> Iterator[BinaryIO]:
    """The same file, once it is known to be whole; InvalidInput says what is wrong with it.

    Of files without a header and a closing line nobody can tell. `salvage`: only the format must be
    one that we know.
    """
    with _seekable(source) as file:
        start = file.tell()
        header = _object(file.readline(_LONGEST))
        _check_format(header)
        where, closing = _closing(file, start)
        if not salvage and (closing is not None or header.get(HEADER) == FORMAT):
            file.seek(start)
            _check_digest(file, where - start, closing, is_headed=header.get(HEADER) == FORMAT)
        file.seek(start)
        yield file


@contextmanager
def _seekable(source: BinaryIO) -> Iterator[BinaryIO]:
    if source.seekable():
        yield source
        return
    with tempfile.TemporaryFile() as file:
        shutil.copyfileobj(source, file)
        file.seek(0)
        yield cast("BinaryIO", file)


def _check_format(header: dict[str, Any]) -> None:
    version = header.get(HEADER, header.get(FORMER_HEADER))
    if {HEADER, FORMER_HEADER} & {*header} and (
        version not in FORMATS or isinstance(version, bool)
    ):
        known = " and ".join(map(str, FORMATS))
        raise InvalidInput(
            f"this is an export of format {str(version)[:16]}, this version of Holdfast reads"
            f" {known}: upgrade Holdfast, or export again"
        )


def _closing(file: BinaryIO, start: int) -> tuple[int, dict[str, Any] | None]:
    """Where the line that closes an export begins, and what it says. It should be the last."""
    file.seek(start)
    at, before, found = start, b"\n", -1
    while piece := file.read(_PIECE_BYTES):
        seen = before + piece
        place = seen.rfind(_CLOSES)
        if place >= 0:
            found = at - len(before) + place + 1
        at += len(piece)
        before = seen[-len(_CLOSES) :]
    if found < 0:
        return at, None
    file.seek(found)
    return found, _object(file.read(_LONGEST))


def _check_digest(
    file: BinaryIO, size: int, closing: dict[str, Any] | None, *, is_headed: bool
) -> None:
    if not closing:
        raise InvalidInput(f"the export is cut, or its last line is damaged: {_HOW_ON}")
    if not is_headed:
        raise InvalidInput(f"the first line of the export is lost or damaged: {_HOW_ON}")
    digest, lines = hashlib.sha256(), 0
    while size and (piece := file.read(min(size, _PIECE_BYTES))):
        size -= len(piece)
        lines += piece.count(b"\n")
        digest.update(piece)
    if closing.get("sha256") != digest.hexdigest() or closing.get(CLOSING) != lines:
        said = (
            f"its last line speaks of {str(closing.get(CLOSING))[:20]} lines before it, there are"
        )
        why = f"{said} {lines}" if closing.get(CLOSING) != lines else "its checksum differs"
        raise InvalidInput(f"the export is damaged: it is not what was exported ({why}): {_HOW_ON}")


def _object(line: bytes) -> dict[str, Any]:
    """The JSON object of a line; {} for anything else."""
    try:
        value = json.loads(line.decode("utf-8-sig"))
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


# ----------------------------------------------------------------------
# A store as JSON lines.
# ----------------------------------------------------------------------

_REPORT_EVERY = 256


def export_to(
    store: Upkeep,
    out: BinaryIO,
    *,
    vectors: bool = True,
    workspace: str | None = None,
    spool: Path | None = None,
    progress: Progress | None = None,
) -> dict[str, int]:
    """Write what `Upkeep.dump` gives, of all workspaces or of one; how many rows of each type.

    The counts come first, so the rows wait in a nameless temporary file (in `spool`, a folder).
    """
    counts = dict.fromkeys(TYPES, 0)
    stats = store.stats()
    expected = stats["events"] + stats["records"] + (stats["vectors"] if vectors else 0)
    with tempfile.TemporaryFile(dir=spool) as body:
        for number, row in enumerate(store.dump(vectors=vectors), 1):
            if workspace not in (None, row.scope.workspace):
                continue
            fields = to_fields(row)
            counts[fields["type"]] += 1
            body.write(to_line(fields))
            if progress and number % _REPORT_EVERY == 0:
                progress(number, max(expected, number))
        sealing = Sealing(out)
        sealing.write(to_line({HEADER: FORMAT, **promised(counts)}))
        body.seek(0)
        shutil.copyfileobj(body, sealing)
        sealing.close()
    return counts


_ROWS_AT_ONCE = 500
_BYTES_AT_ONCE = 16 * 1024 * 1024
#: A message of 1 MiB and all its vectors stay well below; more is no line of ours.
_LONGEST_LINE = 64 * 1024 * 1024
#: Every bad line is counted; so many are kept with their reason, cut to so many characters.
_MOST_PROBLEMS = 10_000
_LONGEST_REASON = 500


@dataclass(frozen=True, slots=True)
class Problem:
    """A line of the file and what is wrong with it."""

    line: int
    reason: str


@dataclass(slots=True)
class Imported:
    """What one import did."""

    #: By type: how many rows are new, and how many this store had already.
    new: dict[str, int] = field(default_factory=lambda: dict.fromkeys(TYPES, 0))
    present: dict[str, int] = field(default_factory=lambda: dict.fromkeys(TYPES, 0))
    #: Vectors of a model that this store does not use: the worker makes new ones.
    other_model: int = 0
    #: Lines that were refused; the first 10,000 with their reasons.
    failed: int = 0
    problems: list[Problem] = field(default_factory=list)
    #: What was changed on the way in, for example a NUL that became U+FFFD.
    warnings: list[Problem] = field(default_factory=list)

    def refuse(self, line: int, reason: str) -> None:
        """Count a bad line."""
        self.failed += 1
        _note(self.problems, line, reason)

    def warn(self, line: int, reason: str) -> None:
        """Note what was changed in a line."""
        _note(self.warnings, line, reason)


def import_from(  # noqa: PLR0913 (where it goes, and how)
    memory: Memory,
    source: BinaryIO,
    *,
    user: str | None = None,
    workspace: str = "default",
    agent: str | None = None,
    session: str | None = None,
    only: str | None = None,
    salvage: bool = False,
    progress: Callable[[int], None] | None = None,
) -> Imported:
    """Read an export, or plain messages, whose scope is the given one where they name none.

    `only`: lines of other workspaces than this one are refused. An export that is not what was
    exported is refused as a whole (InvalidInput), unless its good lines are to be `salvage`d.

    `progress(bytes_read)` is called now and then. What is new still has to be embedded.
    """
    default = {"workspace": workspace, "user": user, "agent": agent, "session": session}
    for name, value in default.items():
        if value is not None:
            validate.word(value, name)
    importer = _Importer(memory, default, only)
    read = 0
    with check_seal(source, salvage=salvage) as whole:
        for number, line in enumerate(_lines(whole), 1):
            importer.take(number, line)
            read += _LONGEST_LINE if line is None else len(line)
            if progress and number % _REPORT_EVERY == 0:
                progress(read)
    importer.finish()
    memory.worker.wake()
    return importer.done


class _Importer:
    """Collects rows and stores them a batch at a time."""

    def __init__(self, memory: Memory, default: Mapping[str, str | None], only: str | None) -> None:
        self.done = Imported()
        self._only = only
        self._store = memory.store
        self._steps = memory.worker.steps
        self._limits = memory.config.limits
        self._default = default
        self._ids = Ids()
        self._promised: dict[str, int] = {}
        self._derive: Derive = index_row
        self._seen = dict.fromkeys(TYPES, 0)
        self._last = 0
        self._rows: list[tuple[int, Dumped]] = []
        self._bytes = 0
        self._models = {
            (space.model, space.dim, space.recipe)
            for space in self._store.spaces()
            if space.state != "retired"
        }

    def take(self, number: int, line: bytes | None) -> None:
        """Read one line; None stands for one that is too long to be read."""
        self._last = number
        try:
            if line is None:
                refuse(f"the line has more than {_LONGEST_LINE} bytes")
            text = line.decode("utf-8-sig" if number == 1 else "utf-8").strip()
            if text:
                self._take(number, parse_line(text), len(line))
        except UnicodeDecodeError as error:
            self.done.refuse(number, f"not UTF-8 at byte {error.start}")
        except (InvalidInput, NotFound) as error:
            self.done.refuse(number, str(error))

    def finish(self) -> None:
        """Store what waits, and say when the file ends before its time."""
        self._flush()
        for kind, count in self._promised.items():
            if self._seen[kind] < count:
                self.done.refuse(
                    self._last + 1,
                    f"the file ends early: {self._seen[kind]} of {count} lines of type {kind}",
                )

    def _take(self, number: int, fields: dict[str, Any], size: int) -> None:
        if CLOSING in fields:
            return
        if HEADER in fields:
            self._promised = from_header(fields, number)
            if self._promised.get("record"):
                # What was derived comes along as it is; nothing is derived again.
                self._derive = _alone
            return
        if "type" in fields:
            kind = fields["type"]
            if kind not in TYPES:
                refuse(f"type must be one of {', '.join(TYPES)}, not {str(kind)[:64]!r}")
            self._seen[kind] += 1
            row = from_row(fields, self._limits)
        else:
            row = self._message(number, fields)
        if self._only not in (None, row.scope.workspace):
            refuse("workspace is not the one that may be written to here")
        self._add(number, row, size)

    def _message(self, number: int, fields: dict[str, Any]) -> Dumped:
        """A plain message, as `remember` would take it."""
        words: dict[str, Any] = {}
        for name, default in self._default.items():
            own = fields.pop(name, None)
            words[name] = default if own is None else own
        if words["user"] is None:
            refuse("user is missing: name one in the line, or for all lines with --user")
        scope = validate.scope(**words)
        batch = validate.batch(fields, at=None, metadata=None, limits=self._limits)
        for warning in batch.warnings:
            self.done.warn(number, warning)
        draft, now = batch.drafts[0], datetime.now(UTC)
        new_id = self._ids.make(1, now)[0]
        origin = ORIGIN_OF_ROLE[draft.role]
        return new_event(scope, draft, new_id=new_id, known_at=now, origin=origin)

    def _add(self, number: int, row: Dumped, size: int) -> None:
        # Acts and vectors belong to events: those must be in the store before.
        if self._rows and type(self._rows[-1][1]) is not type(row):
            self._flush()
        if isinstance(row, DumpedAct):
            self._store.history(row.scope, row.record)  # NotFound when there is no such event.
        if isinstance(row, DumpedRecord):
            self._check_origin(row)
        if isinstance(row, DumpedVectors) and (row.model, row.dim, row.recipe) not in self._models:
            self.done.other_model += 1
            return
        self._rows.append((number, row))
        self._bytes += size
        if len(self._rows) >= _ROWS_AT_ONCE or self._bytes >= _BYTES_AT_ONCE:
            self._flush()

    def _check_origin(self, row: DumpedRecord) -> None:
        """What was derived is trusted no more than the best of its sources; what was written by
        hand is somebody's word, whatever it was heard in since."""
        record = row.record
        if row.written or record.tier == "graph":
            return
        sources = self._store.events(row.scope, record.sources)
        if sources and distrust(record.origin) < min(distrust(e.origin) for e in sources):
            refuse(f"origin {record.origin} is more than any of its sources has")

    def _flush(self) -> None:
        rows, self._rows, self._bytes = self._rows, [], 0
        if not rows:
            return
        kind = KIND[type(rows[0][1])]
        loaded = self._store.load([row for _, row in rows], self._derive, steps=self._steps)
        self.done.new[kind] += sum(loaded)
        for (number, row), is_new in zip(rows, loaded, strict=True):
            if is_new:
                continue
            try:
                self._check_present(row)
                self.done.present[kind] += 1
            except (InvalidInput, NotFound) as error:
                self.done.refuse(number, str(error))

    def _check_present(self, row: Dumped) -> None:
        """A row that was not stored must be there already; anything else is an error."""
        if isinstance(row, DumpedVectors):
            self._store.history(row.scope, row.record)
        if isinstance(row, DumpedRecord):
            self._store.history(row.scope, row.record.id)
        if isinstance(row, DumpedEvent):
            new = row.event
            for held in self._store.events(row.scope, [new.id]):
                if (held.content, held.role, held.at) != (new.content, new.role, new.at):
                    refuse(f"the store holds another event with the id {new.id}")


def _alone(subject: Event | Record) -> IndexedRow:
    return index_row(subject)._replace(derived=())


def _lines(source: BinaryIO) -> Iterator[bytes | None]:
    """The lines of a file; None for one that is too long."""
    while line := source.readline(_LONGEST_LINE + 1):
        if len(line) <= _LONGEST_LINE:
            yield line
            continue
        while line and not line.endswith(b"\n"):
            line = source.readline(_LONGEST_LINE)
        yield None


def _note(notes: list[Problem], line: int, reason: str) -> None:
    if len(notes) < _MOST_PROBLEMS:
        # A line is a batch of one message; a lone surrogate could not be printed.
        told = reason.replace("messages[0].", "").encode("utf-8", "backslashreplace").decode()
        notes.append(Problem(line, told[:_LONGEST_REASON]))
