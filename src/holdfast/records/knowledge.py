"""The knowledge base: documents that can be searched piece by piece, and values under keys.

A document is read (`documents/reading.py`), cut into chunks (`documents/chunks.py`) and stored in
one transaction with the end of its last version. It belongs to a user, or without one to the
workspace, where every user finds it. It is told as data: nothing that a document says is obeyed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from hashlib import sha256
from pathlib import Path
from typing import Any

from holdfast.border import validate
from holdfast.config import Limits
from holdfast.errors import InvalidInput, NotFound, TooLarge
from holdfast.records import parts
from holdfast.records.documents.chunks import Chunk, chunks
from holdfast.records.documents.reading import format_of, read_document
from holdfast.records.documents.values import Deadline, ReadDocument, ReadLimits
from holdfast.records.parts import Background
from holdfast.records.transact import attempts
from holdfast.store.protocols import Derived, Store
from holdfast.store.values import LISTED
from holdfast.types import TEAM, Metadata, Record, Scope, Version

__all__ = ["Document", "Entry", "Knowledge", "ReadLimits"]


# ----------------------------------------------------------------------
# What the knowledge base holds, and how it is kept: documents, their chunks, and entries.
# ----------------------------------------------------------------------

TIER = "knowledge"
DOCUMENT, CHUNK, ENTRY = "document", "chunk", "entry"
#: Whose word a document is: told as data, never obeyed.
ORIGIN = "document"


@dataclass(frozen=True, slots=True)
class Document:
    """A document, in one version."""

    #: Of this version: another one after every change.
    id: str
    #: The id of the first version: the same for all of them.
    claim: str
    name: str
    #: text, markdown, html or pdf.
    format: str
    title: str
    #: How many pieces it was cut into, and their tokens.
    chunks: int
    tokens: int
    #: SHA-256 of its bytes, in hex.
    digest: str
    added_at: datetime
    #: What the caller gave with it, and what it says about itself (its front matter).
    metadata: Metadata = field(default_factory=dict)
    about: Metadata = field(default_factory=dict)
    #: What was lost or guessed when it was read.
    warnings: tuple[str, ...] = ()
    #: True when it stood there already: nothing was stored.
    duplicate: bool = False


@dataclass(frozen=True, slots=True)
class Entry:
    """A value under a key, in one version."""

    id: str
    claim: str
    key: str
    value: str
    #: user, agent, ...: whose word it is.
    origin: str
    #: When this value was set.
    at: datetime
    metadata: Metadata = field(default_factory=dict)


def chunk_ids(document: Document) -> list[str]:
    """The ids of a document's chunks, which follow from its own."""
    return [parts.digest(document.id, str(number)) for number in range(document.chunks)]


def document_records(
    document: Document, chunks: Sequence[Chunk], old: Document | None
) -> Iterator[Derived]:
    """A version of a document as records: itself, which ends the last one, then its chunks."""
    data: dict[str, Any] = {
        "claim": document.claim,
        "name": document.name,
        "title": document.title,
        "format": document.format,
        "chunks": document.chunks,
        "tokens": document.tokens,
        "digest": document.digest,
        "warnings": [*document.warnings],
        "about": dict(document.about),
    }
    yield parts.derived(
        document.id, TIER, DOCUMENT, document.title or document.name,
        origin=ORIGIN, at=document.added_at, name=document.name, quiet=LISTED,
        data=data if old is None else {**data, "replaces": [old.id]},
        supersedes=() if old is None else (old.id, *chunk_ids(old)),
        metadata=document.metadata,
    )  # fmt: skip
    for number, (id, chunk) in enumerate(zip(chunk_ids(document), chunks, strict=True)):
        place: dict[str, Any] = {
            "document": document.id,
            "number": number,
            "headings": [*chunk.headings],
            "page": chunk.page,
            #: Where in the content the text begins, after the headings.
            "start": chunk.start,
        }
        yield parts.derived(
            id, TIER, CHUNK, chunk.content,
            origin=ORIGIN, at=document.added_at, name=document.name,
            data={name: value for name, value in place.items() if value is not None},
            metadata=document.metadata,
        )  # fmt: skip


def to_document(record: Record) -> Document:
    """The document that a record keeps. What was imported may lack some of it."""
    data = record.data
    return Document(
        id=record.id,
        claim=data.get("claim", record.id),
        name=data.get("name", record.content),
        format=data.get("format", "text"),
        title=data.get("title", ""),
        chunks=data.get("chunks", 0),
        tokens=data.get("tokens", 0),
        digest=data.get("digest", ""),
        added_at=record.known_from,
        metadata=record.metadata,
        about=data.get("about", {}),
        warnings=tuple(data.get("warnings", ())),
    )


def entry_record(entry: Entry, old: Entry | None) -> Derived:
    """A version of an entry as a record, which ends the one before."""
    data: dict[str, Any] = {"claim": entry.claim, "key": entry.key}
    return parts.derived(
        entry.id, TIER, ENTRY, f"{entry.key}: {entry.value}",
        origin=entry.origin, at=entry.at,
        data=data if old is None else {**data, "replaces": [old.id]},
        supersedes=() if old is None else (old.id,),
        metadata=entry.metadata,
    )  # fmt: skip


def to_entry(record: Record) -> Entry:
    """The entry that a record keeps."""
    key = record.data.get("key", "")
    return Entry(
        id=record.id,
        claim=record.data.get("claim", record.id),
        key=key,
        value=record.content.removeprefix(f"{key}: "),
        origin=record.origin,
        at=record.known_from,
        metadata=record.metadata,
    )


# ----------------------------------------------------------------------
# The versions of what stands under a name: their ids follow from the name and count up from 0.
#
# So the present one of 10,000 entries, or of an entry that was set 10,000 times, is found with a
# few reads by id. A version that was forgotten, or wiped since, keeps its number.
# ----------------------------------------------------------------------

#: Versions that are looked for in one read.
_VERSIONS_AT_ONCE = 500
#: 0, 1, 3, 7, ... more versions than there can be.
_PROBES = [(1 << power) - 1 for power in range(32)]


class Chain:
    """All versions of one document or entry, as they are at this moment."""

    def __init__(self, store: Store, owner: Scope, kind: str, name: str) -> None:
        self._store = store
        self._owner = owner
        # With the owner: who sees the documents of several must not meet an id twice.
        self._key = (TIER, owner.workspace, owner.user, kind, name)
        self._count = self._counted()

    @property
    def next_id(self) -> str:
        """The id of the next version."""
        return self._id(self._count)

    def current(self) -> Record | None:
        """The version that holds now: the last one that is there, or none."""
        high, at_once = self._count, 1
        while high:
            # Mostly it is the very last; those after it were forgotten.
            low = max(0, high - at_once)
            found = self._store.get(self._owner, [self._id(each) for each in range(low, high)])
            if found:
                return found[-1] if found[-1].known_to is None else None
            high, at_once = low, _VERSIONS_AT_ONCE
        return None

    def versions(self, claim: object) -> list[Record]:
        """The versions since it was added, oldest first; after a removal it begins anew."""
        return [each for each in self.all() if each.data.get("claim", each.id) == claim]

    def all(self) -> list[Record]:
        """All versions that are there, oldest first."""
        return self._store.get(self._owner, [self._id(each) for each in range(self._count)])

    def _counted(self) -> int:
        used = self._used(_PROBES)
        high = next(each for each in _PROBES if each not in used)
        low = max(used, default=-1)
        while high - low > 1:
            middle = (low + high) // 2
            if self._used([middle]):
                low = middle
            else:
                high = middle
        return high

    def _used(self, numbers: Iterable[int]) -> set[int]:
        ids = {self._id(each): each for each in numbers}
        there = {record.id for record in self._store.get(self._owner, [*ids])}
        there |= self._store.forgotten(self._owner, [*ids]).keys()
        return {ids[each] for each in there}

    def _id(self, number: int) -> str:
        return parts.digest(*self._key, str(number))


_NAME_CHARS = 500
_KEY_CHARS = 200
_VALUE_CHARS = 100_000
_MOST_LISTED = 10_000
#: Chunks that are forgotten or restored in one transaction.
_AT_ONCE = 1_000

_Made = tuple[ReadDocument, list[Chunk]]


@dataclass(frozen=True, slots=True)
class _SentDocument:
    """A document as it came."""

    data: bytes | str
    name: str
    format: str
    digest: str


class Knowledge:
    """The knowledge base of a memory. Threads may share it."""

    def __init__(
        self,
        store: Store,
        worker: Background,
        *,
        now: Callable[[], datetime],
        limits: Limits | None = None,
        reading: ReadLimits | None = None,
    ) -> None:
        self._store = store
        self._worker = worker
        self._now = now
        self._limits = limits or Limits()
        self._reading = reading or ReadLimits()

    def add(
        self,
        source: str | bytes | Path,
        *,
        name: str | None = None,
        format: str | None = None,
        user: str | None = None,
        workspace: str = "default",
        metadata: Mapping[str, Any] | None = None,
    ) -> Document:
        """Add a document, all of it or nothing: a new one, or a new version of one that is there.

        `source` is a text, its bytes, or the path of a file.
        `name` is what it is known by, for a file its own name: other bytes under the same name are
        its new version, the same bytes change nothing. `format` is text, markdown, html or pdf,
        else the ending of the name or the beginning of the bytes tells.
        """
        owner = _owner(workspace, user)
        given = validate.checked_metadata(metadata, "metadata", self._limits, [])
        sent = _sent(source, name, format, most=self._reading.bytes)
        made: _Made | None = None
        for since in attempts(self._store, owner):
            chain = Chain(self._store, owner, DOCUMENT, sent.name)
            record = chain.current()
            old = None if record is None else to_document(record)
            kept = given if metadata is not None or old is None else dict(old.metadata)
            said = (sent.digest, sent.format, kept)
            if old and (old.digest, old.format, old.metadata) == said:
                return replace(old, duplicate=True)
            made = made or self._read(sent)
            document = _version(chain.next_id, sent, made, old=old, metadata=kept, at=self._now())
            if self._put(owner, document_records(document, made[1], old), since):
                return document
        raise AssertionError("attempts end with an error")

    def document(self, id: str, *, user: str | None = None, workspace: str = "default") -> Document:
        """The present version of a document, given by the id of any version."""
        found = self._versions(_owner(workspace, user), id)[-1]
        if found.kind != DOCUMENT:
            raise NotFound(f"there is no document {id!r} in this scope")
        return to_document(found)

    def documents(
        self, *, user: str | None = None, workspace: str = "default", limit: int = 100
    ) -> list[Document]:
        """The documents of a user, or of the workspace, in their present versions, newest first."""
        owner = _owner(workspace, user)
        most = validate.whole_number(limit, "limit", 1, _MOST_LISTED)
        return [to_document(each) for each in reversed(self._records(owner, DOCUMENT))][:most]

    def set(
        self,
        key: str,
        value: str,
        *,
        user: str | None = None,
        workspace: str = "default",
        origin: str = "user",
        metadata: Mapping[str, Any] | None = None,
    ) -> Entry:
        """Keep a value under a key. Another value is a new version; the same one changes nothing.

        `origin` says whose word it is: user, agent, tool, ...
        """
        owner = _owner(workspace, user)
        name, said = _line(key, "key", _KEY_CHARS), parts.text(value, "value", _VALUE_CHARS)
        whose = parts.origin(origin)
        given = validate.checked_metadata(metadata, "metadata", self._limits, [])
        for since in attempts(self._store, owner):
            chain = Chain(self._store, owner, ENTRY, name)
            record = chain.current()
            old = None if record is None else to_entry(record)
            kept = given if metadata is not None or old is None else dict(old.metadata)
            if old and (old.value, old.origin, old.metadata) == (said, whose, kept):
                return old
            id = chain.next_id
            entry = Entry(id, old.claim if old else id, name, said, whose, self._now(), kept)
            if self._put(owner, [entry_record(entry, old)], since):
                return entry
        raise AssertionError("attempts end with an error")

    def get(self, key: str, *, user: str | None = None, workspace: str = "default") -> Entry:
        """What stands under a key; NotFound when nothing does."""
        name = _line(key, "key", _KEY_CHARS)
        record = Chain(self._store, _owner(workspace, user), ENTRY, name).current()
        if record is None:
            raise NotFound(f"there is no entry {name!r} in this scope")
        return to_entry(record)

    def entries(
        self,
        *,
        prefix: str = "",
        user: str | None = None,
        workspace: str = "default",
        limit: int = 1000,
    ) -> list[Entry]:
        """The entries whose keys begin with a text, by their keys."""
        owner = _owner(workspace, user)
        most = validate.whole_number(limit, "limit", 1, _MOST_LISTED)
        if not isinstance(prefix, str):
            raise InvalidInput("prefix must be a text", field="prefix")
        found = [to_entry(each) for each in self._records(owner, ENTRY)]
        wanted = [each for each in found if each.key.startswith(prefix)]
        return sorted(wanted, key=lambda entry: entry.key)[:most]

    def history(
        self, id: str, *, user: str | None = None, workspace: str = "default"
    ) -> list[Version]:
        """What happened to a document or an entry, all its versions, oldest first."""
        owner = _owner(workspace, user)
        lines = [
            replace(line, record=each.id)
            for each in self._versions(owner, id)
            for line in self._store.history(owner, each.id)
        ]
        return sorted(lines, key=lambda line: line.at)

    def remove(self, id: str, *, user: str | None = None, workspace: str = "default") -> bool:
        """Forget a document with its chunks, or an entry, given by the id of any version, with all
        its versions: gone from every read, wiped 30 days later; whether it was there until now."""
        owner = _owner(workspace, user)
        if self._store.forgotten(owner, [validate.word(id, "id")]):
            return False
        now = self._now()
        versions = self._versions(owner, id)
        # The documents last: if this is cut short, they are still there to be removed again.
        for some in _slices([each for version in versions for each in _pieces(version)]):
            self._store.forget_all(owner, some, at=now)
        self._store.forget_all(owner, [each.id for each in versions], at=now)
        return True

    def bring_back(self, owner: Scope, id: str) -> int:
        """Restore the chunks of a document that was restored itself; how many."""
        now = self._now()
        (record,) = self._store.get(owner, [id])
        return sum(
            len(self._store.restore_all(owner, some, at=now)) for some in _slices(_pieces(record))
        )

    def _read(self, sent: _SentDocument) -> _Made:
        limits = self._reading
        deadline = Deadline(limits.seconds, sent.name)
        found = read_document(sent.data, sent.name, sent.format, limits=limits, deadline=deadline)
        cut = chunks(found.sections, title=found.title, most=limits.chunks, deadline=deadline)
        return found, cut

    def _put(self, owner: Scope, made: Iterable[Derived], since: int) -> bool:
        records = list(made)
        done = self._store.put(
            owner, records,
            known_at=records[0].valid_from, steps=self._worker.steps, since=since, tiers=(TIER,),
        )  # fmt: skip
        self._worker.wake()
        return done

    def _records(self, owner: Scope, kind: str) -> list[Record]:
        return self._store.listed(owner, tier=TIER, kind=kind)

    def _versions(self, owner: Scope, id: object) -> list[Record]:
        """All versions of a document or an entry, the newest last."""
        given = parts.one(self._store, owner, id, "id", TIER)
        if given.kind == DOCUMENT:
            name = to_document(given).name
        elif given.kind == ENTRY:
            name = to_entry(given).key
        else:
            raise NotFound(f"{given.id!r} is a part of a document: name the document")
        claim = given.data.get("claim", given.id)
        return Chain(self._store, owner, given.kind, name).versions(claim) or [given]


def _slices(ids: list[str]) -> Iterator[list[str]]:
    """So many at a time that other writers do not wait for long."""
    for start in range(0, len(ids), _AT_ONCE):
        yield ids[start : start + _AT_ONCE]


def _pieces(version: Record) -> list[str]:
    return chunk_ids(to_document(version)) if version.kind == DOCUMENT else []


def _owner(workspace: object, user: object) -> Scope:
    """Whose it is: a user's, or without one the workspace's."""
    if user is None:
        return Scope(validate.word(workspace, "workspace"), TEAM)
    return validate.scope(workspace=workspace, user=user)


def _sent(source: object, name: object, format: object, *, most: int) -> _SentDocument:
    """What was given, with a name: that of the file, else one that follows from the bytes."""
    data, file_name = loaded(source, most)
    raw = data.encode("utf-8", "surrogatepass") if isinstance(data, str) else data
    _check_size(len(raw), most)
    digest = sha256(raw).hexdigest()
    called = _line(name if name is not None else file_name or f"text-{digest[:12]}", "name")
    return _SentDocument(data, called, format_of(data, called, format), digest)


def _version(
    id: str,
    sent: _SentDocument,
    made: _Made,
    *,
    old: Document | None,
    metadata: Metadata,
    at: datetime,
) -> Document:
    found, cut = made
    return Document(
        id=id,
        claim=old.claim if old else id,
        name=sent.name,
        format=sent.format,
        title=found.title,
        chunks=len(cut),
        tokens=sum(chunk.tokens for chunk in cut),
        digest=sent.digest,
        added_at=at,
        metadata=metadata,
        about=found.about,
        warnings=found.warnings,
    )


def loaded(source: object, most: int) -> tuple[bytes | str, str | None]:
    """What a source holds, and the name of its file if it is one."""
    if isinstance(source, Path):
        return _file(source, most), source.name
    if not isinstance(source, str | bytes | bytearray):
        raise InvalidInput(
            "source must be a text, bytes or a Path, not"
            f" {'nothing' if source is None else type(source).__name__}",
            field="source",
        )
    _check_size(len(source), most)
    return (source if isinstance(source, str) else bytes(source)), None


def _file(path: Path, most: int) -> bytes:
    if path.exists() and not path.is_file():
        raise InvalidInput(f"{path.name} is no regular file", field="source")
    try:
        _check_size(path.stat().st_size, most)
        with path.open("rb") as file:
            data = file.read(most + 1)  # It may have grown since.
    except OSError as error:
        reason = error.strerror or "it cannot be read"
        raise InvalidInput(f"{path.name}: {reason}", field="source") from error
    _check_size(len(data), most)
    return data


def _check_size(size: int, most: int) -> None:
    if size > most:
        raise TooLarge(f"source has {size} bytes, the limit is {most}", field="source")


def _line(value: object, name: str, most: int = _NAME_CHARS) -> str:
    return " ".join(parts.text(value, name, most).split())
