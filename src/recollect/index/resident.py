"""One owner's index in memory, and the shelf that keeps those in use.

An index follows the store's feed: before each search one tiny read tells whether anything changed,
by this process or another; only the difference is loaded. A search works on a `View`, a moment that
later changes do not touch, so any number of threads may search while one catches up.
"""

from __future__ import annotations

import gc
import threading
from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from recollect.index.postings import Segment, merged, segment
from recollect.index.vectors import Vectors, VectorView
from recollect.store.base import Change, Feed, Head, Space, Vector
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
    alive: NDArray[np.bool_]
    #: True when a document is hidden; then counts must be taken over `alive` alone.
    has_dead: bool
    order: NDArray[np.int64]
    at_us: NDArray[np.int64]
    known_us: NDArray[np.int64]
    lengths: NDArray[np.float32]
    roles: NDArray[np.int32]
    names: NDArray[np.int32]
    agents: NDArray[np.int32]
    sessions: NDArray[np.int32]
    kinds: NDArray[np.int32]
    #: Text of a role, name, agent or session -> its code; None is coded as -1.
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
        ("lengths", np.float32),
        ("roles", np.int32),
        ("names", np.int32),
        ("agents", np.int32),
        ("sessions", np.int32),
        ("kinds", np.int32),
    )

    def __init__(self) -> None:
        self.count = 0
        self._arrays: dict[str, NDArray[Any]] = {
            name: np.empty(64, dtype=kind) for name, kind in self.KINDS
        }

    def extend(self, columns: Mapping[str, Any]) -> None:
        more = len(columns["alive"])
        end = self.count + more
        for name, array in self._arrays.items():
            roomy = array
            if end > len(array):
                roomy = np.empty(max(end, len(array) * 2), dtype=array.dtype)
                roomy[: self.count] = array[: self.count]
                self._arrays[name] = roomy
            roomy[self.count : end] = columns[name]
        self.count = end

    def hide(self, number: int, *, alive: bool) -> None:
        # A copy: a search under way keeps what it saw.
        array = self._arrays["alive"].copy()
        array[number] = alive
        self._arrays["alive"] = array

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
                    self._apply_changes(feed.changes(scope, after=self._change))
                    known = [vector for vector in vectors if vector.record in self._numbers]
                    self._apply_vectors(known)
                self.seen = head
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

    def _apply_changes(self, changes: list[Change]) -> None:
        new = [change for change in changes if change.id not in self._numbers]
        for change in changes:
            if change.id in self._numbers:
                self._columns.hide(self._numbers[change.id], alive=not change.forgotten)
        if new:
            self._add(new)
        if changes:
            self._change = changes[-1].change

    def _add(self, new: list[Change]) -> None:
        first = len(self._ids)
        numbers = range(first, first + len(new))
        # All rows of a column at once: a large owner has 100,000 of them at the first search.
        (
            _,
            ids,
            kind,
            forgotten,
            order,
            at_us,
            known_us,
            role,
            name,
            agent,
            session,
            length,
            terms,
        ) = zip(*new, strict=True)
        self._ids.extend(ids)
        self._numbers.update(zip(ids, numbers, strict=True))
        self._columns.extend(
            {
                "alive": np.logical_not(forgotten),
                "order": order,
                "at_us": at_us,
                "known_us": known_us,
                "lengths": length,
                "roles": self._coded(role),
                "names": self._coded(name),
                "agents": self._coded(agent),
                "sessions": self._coded(session),
                "kinds": self._coded(kind),
            }
        )
        self._segments.append(segment(numbers, terms))
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

    def _coded(self, texts: Sequence[str | None]) -> list[int]:
        """Small numbers for texts, the same number for the same text; -1 for None."""
        for text in sorted({text for text in texts if text is not None} - self._codes.keys()):
            self._codes[text] = len(self._codes)
        return [-1 if text is None else self._codes[text] for text in texts]

    def _moment(self) -> View:
        columns = {name: self._columns[name] for name, _ in _Columns.KINDS}
        return View(
            ids=self._ids,
            has_dead=not bool(columns["alive"].all()),
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
