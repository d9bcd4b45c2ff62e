"""The knowledge base: documents that can be searched piece by piece, and values under keys.

A document is read (`documents/reading.py`), cut into chunks (`documents/chunks.py`) and stored in
one transaction with the end of its last version. It belongs to a user, or without one to the
workspace, where every user finds it. It is told as data: nothing that a document says is obeyed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
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
from holdfast.records.versions import (
    attempts,
    chain_data,
    first_id,
    history_of,
    newest,
    versions_of,
)
from holdfast.store.protocols import Derived, Store
from holdfast.store.values import LISTED, claim_of_document, claim_of_entry
from holdfast.types import Metadata, Record, Scope, Version

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


def chunk_ids(version: Record | Document) -> list[str]:
    """The ids of a document's chunks, which follow from its own; an entry has none."""
    if isinstance(version, Record):
        count = version.data.get("chunks", 0) if version.kind == DOCUMENT else 0
    else:
        count = version.chunks
    return [parts.digest(version.id, str(number)) for number in range(count)]


def document_records(
    document: Document, chunks: Sequence[Chunk], old: Sequence[Record]
) -> Iterator[Derived]:
    """A version of a document as records: itself, which ends the last one, then its chunks."""
    data: dict[str, Any] = {
        **chain_data(document.id, old),
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
        data=data, supersedes=[id for each in old for id in (each.id, *chunk_ids(each))],
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
        claim=first_id(record),
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


def entry_record(entry: Entry, old: Sequence[Record]) -> Derived:
    """A version of an entry as a record, which ends the one before."""
    return parts.derived(
        entry.id, TIER, ENTRY, f"{entry.key}: {entry.value}", origin=entry.origin, at=entry.at,
        data={"key": entry.key, **chain_data(entry.id, old)},
        supersedes=[each.id for each in old], metadata=entry.metadata,
    )  # fmt: skip


def to_entry(record: Record) -> Entry:
    """The entry that a record keeps."""
    key = record.data.get("key", "")
    return Entry(
        id=record.id,
        claim=first_id(record),
        key=key,
        value=record.content.removeprefix(f"{key}: "),
        origin=record.origin,
        at=record.known_from,
        metadata=record.metadata,
    )


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


class Knowledge(parts.Tier):
    """The knowledge base of a memory. Threads may share it."""

    name = TIER

    def __init__(
        self,
        store: Store,
        worker: Background,
        *,
        now: Callable[[], datetime],
        limits: Limits | None = None,
        reading: ReadLimits | None = None,
    ) -> None:
        super().__init__(store, worker, now=now, limits=limits)
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
        owner = parts.owner(workspace, user)
        given = validate.checked_metadata(metadata, "metadata", self._limits, [])
        sent = _sent(source, name, format, most=self._reading.bytes)
        made: _Made | None = None
        for since in attempts(self._store, owner):
            before = self._store.listed(owner, claim=claim_of_document(sent.name), archived=True)[
                -1:
            ]
            old = to_document(before[0]) if before else None
            kept = given if metadata is not None or old is None else dict(old.metadata)
            said = (sent.digest, sent.format, kept)
            if old and (old.digest, old.format, old.metadata) == said:
                return replace(old, duplicate=True)
            made = made or self._read(sent)
            id, now = self._free_id(owner, DOCUMENT, sent.name, before), self._now()
            document = _version(id, sent, made, old=old, metadata=kept, at=now)
            records = [*document_records(document, made[1], before)]
            if self._put(owner, records, at=now, since=since):
                return document
        raise AssertionError("attempts end with an error")

    def document(self, id: str, *, user: str | None = None, workspace: str = "default") -> Document:
        """The present version of a document, given by the id of any version."""
        found = self._versions(parts.owner(workspace, user), id)[-1]
        if found.kind != DOCUMENT:
            raise NotFound(f"there is no document {id!r} in this scope")
        return to_document(found)

    def documents(
        self, *, user: str | None = None, workspace: str = "default", limit: int = 100
    ) -> list[Document]:
        """The documents of a user, or of the workspace, in their present versions, newest first."""
        owner = parts.owner(workspace, user)
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
        owner = parts.owner(workspace, user)
        name, said = parts.line(key, "key", _KEY_CHARS), parts.text(value, "value", _VALUE_CHARS)
        whose = parts.origin(origin)
        given = validate.checked_metadata(metadata, "metadata", self._limits, [])
        for since in attempts(self._store, owner):
            before = self._store.listed(owner, claim=claim_of_entry(name), archived=True)[-1:]
            old = to_entry(before[0]) if before else None
            kept = given if metadata is not None or old is None else dict(old.metadata)
            if old and (old.value, old.origin, old.metadata) == (said, whose, kept):
                return old
            id, now = self._free_id(owner, ENTRY, name, before), self._now()
            entry = Entry(id, old.claim if old else id, name, said, whose, now, kept)
            if self._put(owner, [entry_record(entry, before)], at=now, since=since):
                return entry
        raise AssertionError("attempts end with an error")

    def get(self, key: str, *, user: str | None = None, workspace: str = "default") -> Entry:
        """What stands under a key; NotFound when nothing does."""
        name = parts.line(key, "key", _KEY_CHARS)
        record = newest(self._store, parts.owner(workspace, user), claim_of_entry(name))
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
        owner = parts.owner(workspace, user)
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
        owner = parts.owner(workspace, user)
        return history_of(self._store, owner, self._versions(owner, id))

    def remove(self, id: str, *, user: str | None = None, workspace: str = "default") -> bool:
        """Forget a document with its chunks, or an entry, given by the id of any version, with all
        its versions: gone from every read, wiped 30 days later; whether it was there until now."""
        owner = parts.owner(workspace, user)
        if self._store.forgotten_times(owner, [validate.word(id, "id")]):
            return False
        now = self._now()
        versions = self._versions(owner, id)
        # The documents last: if this is cut short, they are still there to be removed again.
        for some in _slices([each for version in versions for each in chunk_ids(version)]):
            self._store.forget(owner, some, at=now)
        self._store.forget(owner, [each.id for each in versions], at=now)
        return True

    def bring_back(self, owner: Scope, id: str) -> int:
        """Restore the chunks of a document that was restored itself; how many."""
        now = self._now()
        (record,) = self._store.get(owner, [id])
        return sum(
            len(self._store.forget(owner, some, at=now, undo=True))
            for some in _slices(chunk_ids(record))
        )

    def _read(self, sent: _SentDocument) -> _Made:
        limits = self._reading
        deadline = Deadline(limits.seconds, sent.name)
        found = read_document(sent.data, sent.name, sent.format, limits=limits, deadline=deadline)
        cut = chunks(found.sections, title=found.title, most=limits.chunks, deadline=deadline)
        return found, cut

    def _free_id(self, owner: Scope, kind: str, name: str, old: Sequence[Record]) -> str:
        """The id of the next version. With the owner: who sees the documents of several must not
        meet an id twice."""
        after = old[0].id if old else "0"
        key = (TIER, owner.workspace, owner.user, kind, name, after)
        return parts.free_id(self._store, owner, *key)[0]

    def _records(self, owner: Scope, kind: str) -> list[Record]:
        return self._store.listed(owner, tier=TIER, kind=kind)

    def _versions(self, owner: Scope, id: object) -> list[Record]:
        """All versions of a document or an entry since it was added, the newest last; after a
        removal it begins anew."""
        given = parts.one(self._store, owner, id, "id", TIER)
        if given.kind not in (DOCUMENT, ENTRY):
            raise NotFound(f"{given.id!r} is a part of a document: name the document")
        every = versions_of(self._store, owner, given)
        return [each for each in every if first_id(each) == first_id(given)]


def _slices(ids: list[str]) -> Iterator[list[str]]:
    """So many at a time that other writers do not wait for long."""
    for start in range(0, len(ids), _AT_ONCE):
        yield ids[start : start + _AT_ONCE]


def _sent(source: object, name: object, format: object, *, most: int) -> _SentDocument:
    """What was given, with a name: that of the file, else one that follows from the bytes."""
    data, file_name = load_source(source, most)
    raw = data.encode("utf-8", "surrogatepass") if isinstance(data, str) else data
    _check_size(len(raw), most)
    digest = sha256(raw).hexdigest()
    given = name if name is not None else file_name or f"text-{digest[:12]}"
    called = parts.line(given, "name", _NAME_CHARS)
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


def load_source(source: object, most: int) -> tuple[bytes | str, str | None]:
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
