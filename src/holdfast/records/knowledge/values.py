"""What the knowledge base holds, and how it is kept: documents, their chunks, and entries."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from holdfast.records import parts
from holdfast.records.knowledge.documents.chunks import Chunk
from holdfast.store.base import Derived
from holdfast.store.values import LISTED
from holdfast.types import Metadata, Record

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
