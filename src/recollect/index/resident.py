"""One owner's index in memory, and the shelf that keeps those in use.

An index follows the store's feed: before each search one tiny read tells whether anything changed,
by this process or another; only the difference is loaded. A search works on a `View`, a moment that
later changes do not touch, so any number of threads may search while one catches up.
"""

from __future__ import annotations

import gc
import threading
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import repeat
from operator import not_
from typing import Any

import numpy as np
from numpy.typing import NDArray

from recollect.index.postings import Segment, merged, segment
from recollect.index.vectors import Vectors, VectorView
from recollect.store.base import FOREVER_US, Change, Feed, Head, Space, Vector
from recollect.types import Scope

#: A segment is merged into its elder once it is at least this share of its size.
_MERGE_SHARE = 0.25
#: While more changes than this are loaded, Python does not look for garbage among them.
_MANY = 20_000
#: What a document costs besides its postings and vectors: its id, its place in the maps.
_DOCUMENT_BYTES = 300


@dataclass(frozen=True, slots=True)
class View:
    """A moment of an index. Documents are numbered from 0; arrays are indexed by that number."""

    ids: Sequence[str]
    #: The number of an id; it may know of documents that came after this moment.
    numbers: Mapping[str, int]
    alive: NDArray[np.bool_]
    #: True when a document is hidden; then counts must be taken over `alive` alone.
    has_dead: bool
    #: True when a document's valid or known time has an end.
    has_ends: bool
    #: True when a document is of another tier than `session`.
    has_derived: bool
    order: NDArray[np.int64]
    at_us: NDArray[np.int64]
    known_us: NDArray[np.int64]
    #: Ends of both times, FOREVER_US when open.
    until_us: NDArray[np.int64]
    known_until_us: NDArray[np.int64]
    confidence: NDArray[np.float32]
    lengths: NDArray[np.float32]
    #: Equal where the terms are equal: what says the same has the same.
    said: NDArray[np.int64]
    roles: NDArray[np.int32]
    names: NDArray[np.int32]
    agents: NDArray[np.int32]
    sessions: NDArray[np.int32]
    kinds: NDArray[np.int32]
    tiers: NDArray[np.int32]
    #: The number of a derived document's first source; -1 where there is none.
    source: NDArray[np.int32]
    #: Text of a role, name, agent, session, kind or tier -> its code; None is coded as -1.
    codes: Mapping[str, int]
    segments: tuple[Segment, ...]
    vectors: VectorView | None
    #: What is derived from this moment once and used by many searches.
    kept: dict[str, Any] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.alive)


class _Columns:
    """Growing arrays, one row per document."""

    KINDS: tuple[tuple[str, type], ...] = (
        ("alive", np.bool_),
        ("order", np.int64),
        ("at_us", np.int64),
        ("known_us", np.int64),
        ("until_us", np.int64),
        ("known_until_us", np.int64),
        ("confidence", np.float32),
        ("lengths", np.float32),
        ("said", np.int64),
        ("roles", np.int32),
        ("names", np.int32),
        ("agents", np.int32),
        ("sessions", np.int32),
        ("kinds", np.int32),
        ("tiers", np.int32),
        ("source", np.int32),
    )

    def __init__(self) -> None:
        self.count = 0
        self._arrays: dict[str, NDArray[Any]] = {
            name: np.empty(64, dtype=kind) for name, kind in self.KINDS
        }

    def extend(self, more: int, columns: Mapping[str, Iterable[Any]]) -> None:
        """Add `more` rows."""
        end = self.count + more
        for name, array in self._arrays.items():
            roomy = array
            if end > len(array):
                roomy = np.empty(max(end, len(array) * 2), dtype=array.dtype)
                roomy[: self.count] = array[: self.count]
                self._arrays[name] = roomy
            roomy[self.count : end] = np.fromiter(columns[name], array.dtype, count=more)
        self.count = end

    def replace(self, name: str, numbers: Sequence[int], values: Sequence[Any]) -> None:
        # A copy: a search under way keeps what it saw.
        array = self._arrays[name].copy()
        array[list(numbers)] = values
        self._arrays[name] = array

    def __getitem__(self, name: str) -> NDArray[Any]:
        return self._arrays[name][: self.count]


@dataclass(slots=True)
class Resident:
    """The index of one owner in one vector space."""

    space: Space | None
    lock: threading.Lock = field(default_factory=threading.Lock)
    seen: Head = field(default_factory=lambda: Head(0, 0))
    _change: int = 0
    _vector_change: int = 0
    _numbers: dict[str, int] = field(default_factory=dict)
    _ids: list[str] = field(default_factory=list)
    _columns: _Columns = field(default_factory=_Columns)
    _codes: dict[str, int] = field(default_factory=dict)
    #: Documents whose first source has not been seen yet.
    _sought: dict[int, str] = field(default_factory=dict)
    _segments: list[Segment] = field(default_factory=list)
    _vectors: Vectors | None = None
    _view: View | None = None

    def follow(self, feed: Feed, scope: Scope, head: Head) -> View:
        """Catch up with the feed and give the moment it stands for."""
        with self.lock:
            if head.epoch != self.seen.epoch:
                self._start_over()
            if head != self.seen or self._view is None:
                with _no_collection(enough=head.change - self._change > _MANY):
                    # Vectors first: whatever they belong to is then among the changes.
                    vectors = self._new_vectors(feed, scope)
                    moved = self._apply_changes(feed.changes(scope, after=self._change))
                    known = [vector for vector in vectors if vector.record in self._numbers]
                    self._apply_vectors(known)
                self.seen = head
                if moved or known or self._view is None:
                    self._view = self._moment()
            return self._view

    def _new_vectors(self, feed: Feed, scope: Scope) -> list[Vector]:
        if self.space is None:
            return []
        return feed.vectors(scope, self.space.id, after=self._vector_change)

    @property
    def size_bytes(self) -> int:
        vectors = self._vectors.size_bytes if self._vectors else 0
        postings = sum(part.size_bytes for part in self._segments)
        return vectors + postings + _DOCUMENT_BYTES * len(self._ids)

    def _start_over(self) -> None:
        fresh = Resident(self.space)
        for name in self.__slots__:
            if name not in ("lock", "space"):
                setattr(self, name, getattr(fresh, name))

    def _apply_changes(self, changes: list[Change]) -> bool:
        """Follow the documents among the changes; whether there were any."""
        if changes:
            self._change = changes[-1].change
        # What was only heard is in the graph, not here; one that we know begins or ends to be so
        # with a new epoch.
        documents = [each for each in changes if each.terms or each.tier != "graph"]
        new = documents
        if self._numbers:
            new = [change for change in documents if change.id not in self._numbers]
        if len(new) < len(documents):
            self._update([change for change in documents if change.id in self._numbers])
        if new:
            self._add(new)
            self._find_sources()
        return bool(documents)

    def _update(self, changes: list[Change]) -> None:
        """What can change without new words or vectors: those raise the epoch."""
        numbers = [self._numbers[change.id] for change in changes]
        for name, values in (
            ("alive", [not change.forgotten for change in changes]),
            ("until_us", [change.until_us for change in changes]),
            ("known_until_us", [change.known_until_us for change in changes]),
            ("confidence", [change.confidence for change in changes]),
            ("at_us", [change.at_us for change in changes]),
            ("agents", list(self._coded([change.agent for change in changes]))),
        ):
            self._columns.replace(name, numbers, values)

    def _find_sources(self) -> None:
        found = {
            doc: self._numbers[source]
            for doc, source in self._sought.items()
            if source in self._numbers
        }
        if found:
            self._columns.replace("source", list(found), list(found.values()))
            for doc in found:
                del self._sought[doc]

    def _add(self, new: list[Change]) -> None:
        first = len(self._ids)
        numbers = range(first, first + len(new))
        # All rows of a column at once: a large owner has 100,000 of them at the first search.
        columns: Any = Change._make(zip(*new, strict=True))
        self._ids.extend(columns.id)
        self._numbers.update(zip(columns.id, numbers, strict=True))
        if any(columns.source):
            sources = zip(numbers, columns.source, strict=True)
            self._sought.update((doc, source) for doc, source in sources if source is not None)
        self._columns.extend(
            len(new),
            {
                "alive": map(not_, columns.forgotten),
                "order": columns.order,
                "at_us": columns.at_us,
                "known_us": columns.known_us,
                "until_us": columns.until_us,
                "known_until_us": columns.known_until_us,
                "confidence": columns.confidence,
                "lengths": columns.length,
                "said": map(hash, columns.terms),
                "roles": self._coded(columns.role),
                "names": self._coded(columns.name),
                "agents": self._coded(columns.agent),
                "sessions": self._coded(columns.session),
                "kinds": self._coded(columns.kind),
                "tiers": self._coded(columns.tier),
                "source": repeat(-1, len(new)),
            },
        )
        self._segments.append(segment(numbers, columns.terms))
        while len(self._segments) > 1 and (
            self._segments[-1].documents >= _MERGE_SHARE * self._segments[-2].documents
        ):
            self._segments[-2:] = [merged(self._segments[-2:])]

    def _apply_vectors(self, vectors: list[Vector]) -> None:
        if not vectors:
            return
        self._vector_change = vectors[-1].change
        if self._vectors is None:
            self._vectors = Vectors(len(vectors[0].data) // 4, capacity=max(64, len(vectors)))
        docs = np.array([self._numbers[vector.record] for vector in vectors], dtype=np.int32)
        self._vectors.extend(docs, b"".join([vector.data for vector in vectors]))

    def _coded(self, texts: Sequence[str | None]) -> Iterator[int]:
        """Small numbers for texts, the same number for the same text; -1 for None."""
        for text in sorted(text for text in set(texts) - self._codes.keys() if text is not None):
            self._codes[text] = len(self._codes)
        coded: dict[str | None, int] = dict(self._codes.items())
        coded[None] = -1
        return map(coded.__getitem__, texts)

    def _moment(self) -> View:
        columns = {name: self._columns[name] for name, _ in _Columns.KINDS}
        return View(
            ids=self._ids,
            numbers=self._numbers,
            has_dead=not bool(columns["alive"].all()),
            has_ends=bool(
                (columns["until_us"] < FOREVER_US).any()
                or (columns["known_until_us"] < FOREVER_US).any()
            ),
            has_derived=bool((columns["tiers"] != self._codes.get("session", -1)).any()),
            codes=self._codes,
            segments=tuple(self._segments),
            vectors=self._vectors.view() if self._vectors else None,
            kept={},
            **columns,
        )


@contextmanager
def _no_collection(*, enough: bool) -> Iterator[None]:
    """No garbage collection meanwhile: it would walk over the new rows again and again."""
    pause = enough and gc.isenabled()
    if pause:
        gc.disable()
    try:
        yield
    finally:
        if pause:
            gc.enable()


class Shelf:
    """The indexes of the owners in use, the least used dropped when memory runs short."""

    def __init__(self, feed: Feed, *, most_bytes: int) -> None:
        self._feed = feed
        self._most_bytes = most_bytes
        self._lock = threading.Lock()
        self._residents: OrderedDict[tuple[str, str, int], Resident] = OrderedDict()

    def view(self, scope: Scope, space: Space | None) -> View:
        """The owner's index as the store is now."""
        key = (scope.workspace, scope.user, space.id if space else 0)
        with self._lock:
            resident = self._residents.setdefault(key, Resident(space))
            self._residents.move_to_end(key)
        before = resident.seen
        view = resident.follow(self._feed, scope, self._feed.head(scope))
        if resident.seen != before:
            self._make_room()
        return view

    def _make_room(self) -> None:
        with self._lock:
            total = sum(resident.size_bytes for resident in self._residents.values())
            while total > self._most_bytes and len(self._residents) > 1:
                _, dropped = self._residents.popitem(last=False)
                total -= dropped.size_bytes
