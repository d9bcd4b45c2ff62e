"""What is kept in memory and follows the store; above all the indexes, one for every asker in use.

A `Follower` keeps something of one owner. Before each look one tiny read of the feed's head tells
whether anything changed, by this process or another; only what changed is read again. Rows that
were physically removed raise the epoch: then everything is read anew. `InUse` keeps followers, the
least used dropped when there is too much of them.

An index follows the feeds of the store: before each search one tiny read for every owner in it
tells whether anything changed, by this process or another; only the difference is loaded. A search
works on a `View`, a moment that later changes do not touch, so any number of threads may search
while one catches up.
"""

from __future__ import annotations

import ctypes
import gc
import sys
import threading
from abc import ABC, abstractmethod
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from holdfast.index.look import Owner, changes_of, head_of, owner_of
from holdfast.index.packed import Followed, PackedFeed, Read, cut_ids, keep, read_feed, recoded
from holdfast.index.view import (
    ALL,
    LOUD,
    Columns,
    Segment,
    Variety,
    Vectors,
    View,
    ViewPart,
    merge_segments,
    variety,
)
from holdfast.store.protocols import (
    FOREVER_US,
    Change,
    Feed,
    Head,
    Space,
    Store,
    VectorRows,
)
from holdfast.types import Scope

Key = TypeVar("Key", bound=Hashable)
Kept = TypeVar("Kept")


__all__ = ["ALL", "LOUD", "IndexCache", "Resident", "View", "ViewPart"]

#: A segment is merged into its elder once it is at least this share of its size.
_MERGE_SHARE = 0.25
#: While more changes than this are loaded, Python does not look for garbage among them.
_MANY = 5_000
#: Columns that are called alike in the feed, and may change.
_CHANGING = (
    "until_us", "known_until_us", "confidence", "at_us", "seen_us", "strength", "quiet", "private",
)  # fmt: skip
#: What a document costs besides its postings and vectors: its id, its place in the maps.
_DOCUMENT_BYTES = 300
#: Owners count arrivals each for themselves: what is not the asker's own is ordered by when it was
#: learned, and this much lower, so that of equals the own comes first.
_LOWER = 1 << 52
#: Before the name of another workspace's agent: no asker can be called that.
_ELSEWHERE = "\0"


def goes_on(seen: Head, head: Head) -> bool:
    """Whether what was read at one head can be brought to another by what changed in between."""
    return (seen.epoch, seen.history) == (head.epoch, head.history)


class Follower(ABC):
    """Something of one owner, kept as the store is. Who looks at it holds `lock`."""

    __slots__ = ("lock", "seen")

    def __init__(self) -> None:
        self.lock = threading.RLock()
        #: The head of the feed that this stands for.
        self.seen: Head | None = None

    def follow(self, store: Store, scope: Scope) -> None:
        """Catch up with the store; what fails is tried again by the next call."""
        with self.lock:
            # Before anything is read: what is written meanwhile is looked for again.
            head = head_of(store, scope)
            seen = self.seen
            if seen is not None and goes_on(seen, head) and head.change <= seen.change:
                return  # Another thread may have come further.
            if self.seen is None or not goes_on(self.seen, head):
                self.read_all(store, scope)
            else:
                self.read_changes(store, scope, changes_of(store, scope, self.seen.change))
            self.seen = head

    @abstractmethod
    def read_all(self, store: Store, scope: Scope) -> None:
        """Forget what is kept and read it anew."""

    @abstractmethod
    def read_changes(self, store: Store, scope: Scope, changes: Sequence[Change]) -> None:
        """Bring what is kept up to date."""


class InUse(Generic[Key, Kept]):
    """What was asked for last. Threads may share it."""

    def __init__(self, size: Callable[[Kept], int], *, most: int) -> None:
        self._size = size
        self._most = most
        self._lock = threading.Lock()
        self._kept: OrderedDict[Key, Kept] = OrderedDict()

    def get(self, key: Key, make: Callable[[], Kept]) -> Kept:
        """The one of this key, made where it is missing; it is the last to be dropped now."""
        with self._lock:
            kept = self._kept.get(key)
            if kept is None:
                kept = self._kept[key] = make()
            self._kept.move_to_end(key)
        return kept

    def items(self) -> list[tuple[Key, Kept]]:
        """All of them, the least used first."""
        with self._lock:
            return list(self._kept.items())

    def make_room(self) -> None:
        """Drop the least used while there is too much. The last one stays, however large."""
        with self._lock:
            total = sum(map(self._size, self._kept.values()))
            while total > self._most and len(self._kept) > 1:
                _, dropped = self._kept.popitem(last=False)
                total -= self._size(dropped)


@dataclass(slots=True)
class _FeedPosition:
    """How far the feed of one owner has been followed."""

    part: ViewPart
    #: Its place among the parts.
    place: int
    seen: Head = field(default_factory=lambda: Head(0, 0))
    change: int = 0
    vector_change: int = 0
    numbers: dict[str, int] = field(default_factory=dict)
    #: Documents whose first source has not been seen yet.
    sought: dict[int, str] = field(default_factory=dict)

    def visible(self, rows: PackedFeed) -> NDArray[np.bool_]:
        """Which rows are for the asker."""
        if self.part.tiers is None:
            return np.ones(len(rows), dtype=np.bool_)
        shows, texts, columns = self.part.shows, rows.texts, rows.columns
        told = (columns[name].tolist() for name in ("tier", "kind", "private", "quiet"))
        return np.array(
            [
                shows(tier=texts[tier], kind=texts[kind], private=private, quiet=quiet)
                for tier, kind, private, quiet in zip(*told, strict=True)
            ],
            dtype=np.bool_,
        )

    def agents(self, texts: Sequence[str]) -> Sequence[str | None]:
        """Those of another workspace are none of the asker's, whatever they are called."""
        return [_ELSEWHERE + each for each in texts] if self.part.shares else texts

    def sessions(self, texts: Sequence[str]) -> Sequence[str | None]:
        """Those of another workspace are not told."""
        return [None] * len(texts) if self.part.shares else texts

    def order(self, rows: PackedFeed) -> NDArray[np.int64]:
        if self.part.tiers is None:
            return rows.columns["order"]
        lower: NDArray[np.int64] = rows.columns["known_us"] - _LOWER
        return lower


@dataclass(slots=True)
class Resident:
    """The index of what one asker can see, in one vector space."""

    #: What is the asker's own.
    own: ViewPart
    space: Space | None
    variety: Variety
    #: From which change, and from which change of vectors, on the asker's own is followed.
    since: tuple[int, int] = (0, 0)
    #: What is worth it is written down, by somebody who has the time.
    keep: Callable[[Scope, Read], None] = lambda scope, read: None
    lock: threading.Lock = field(default_factory=threading.Lock)
    latest: View | None = None
    _followed: list[_FeedPosition] = field(default_factory=list)
    _ids: list[str] = field(default_factory=list)
    _columns: Columns = field(default_factory=Columns)
    _codes: dict[str, int] = field(default_factory=dict)
    _segments: list[Segment] = field(default_factory=list)
    _vectors: Vectors | None = None

    def follow(self, feed: Followed, parts: Sequence[ViewPart], heads: Sequence[Head]) -> View:
        """Catch up with the feeds of these owners and give the moment they stand for."""
        with self.lock:
            if not self._can_go_on(parts, heads):
                self._start_over()
            # If this is cut short, there is no latest: the next one is made of all there is.
            view, self.latest = self.latest, None
            for part in parts[len(self._followed) :]:
                change, vector_change = (0, 0) if self._followed else self.since
                self._followed.append(
                    _FeedPosition(
                        part, len(self._followed), change=change, vector_change=vector_change
                    )
                )
                view = None
            for followed, head in zip(self._followed, heads, strict=True):
                if head != followed.seen and self._catch_up(feed, followed, head):
                    view = None
            self.latest = self._moment() if view is None else view
            return self.latest

    def go_on(self, feed: Feed) -> None:
        """Catch up with those who were followed last, if there was a search."""
        parts = [followed.part for followed in list(self._followed)]
        if self.latest is not None and parts:
            self.follow(feed, parts, [feed.head(part.scope) for part in parts])

    def _can_go_on(self, parts: Sequence[ViewPart], heads: Sequence[Head]) -> bool:
        """What was loaded can be added to, but nothing can be taken out: not an owner who is seen
        no more, and not rows that were physically removed, which is what an epoch tells."""
        if len(parts) < len(self._followed):
            return False
        return all(
            each.part == part and goes_on(each.seen, head)
            for each, part, head in zip(self._followed, parts, heads, strict=False)
        )

    def _catch_up(self, feed: Followed, followed: _FeedPosition, head: Head) -> bool:
        """Load what is new of one owner; whether a document changed."""
        before = len(self._ids)
        with _no_collection(enough=head.change - followed.change > _MANY):
            # Asked for first: a server reads them while we look at what they belong to.
            vectors = self._vector_rows(feed, followed, head.change)
            moved = self._read_changes(feed, followed, head)
            moved |= self._read_vectors(followed, vectors)
            late = self._vector_rows(feed, followed, followed.change)
            moved |= self._read_vectors(followed, late)
        if len(self._ids) - before > _MANY:
            give_back()
        followed.seen = head
        return moved

    def _read_changes(self, feed: Followed, followed: _FeedPosition, head: Head) -> bool:
        scope = followed.part.scope
        read = read_feed(feed, scope, head, after=followed.change)
        moved = self._apply_changes(followed, read.rows)
        followed.change = read.head.change
        if read.is_worth_keeping:
            self.keep(scope, read)
        return moved

    @property
    def size_bytes(self) -> int:
        vectors = self._vectors.size_bytes if self._vectors else 0
        postings = sum(part.size_bytes for part in self._segments)
        return vectors + postings + _DOCUMENT_BYTES * len(self._ids)

    def _start_over(self) -> None:
        fresh = Resident(self.own, self.space, self.variety, self.since, self.keep)
        for name in self.__slots__:
            if name != "lock":
                setattr(self, name, getattr(fresh, name))

    def _apply_changes(self, followed: _FeedPosition, rows: PackedFeed) -> bool:
        """Follow the documents among the rows; whether one is new or another now."""
        if not len(rows):
            return False
        numbers = followed.numbers
        documents = followed.visible(rows) & rows.documents(self.variety)
        moved = False
        if numbers:
            known = np.array([id in numbers for id in rows.ids], dtype=np.bool_)
            moved = bool(known.any()) and self._update(followed, rows.only(known), documents[known])
            documents &= ~known
        new = rows.only(documents)
        if len(new):
            self._add(followed, new)
            self._find_sources(followed)
        return moved or bool(len(new))

    def _update(self, followed: _FeedPosition, rows: PackedFeed, there: NDArray[np.bool_]) -> bool:
        """What can change without new words or vectors: those raise the epoch. What is not `there`
        is no document for this asker any more."""
        columns = rows.columns
        numbers = [followed.numbers[each] for each in rows.ids]
        gone, away = columns["forgotten"] | ~there, columns["archived"]
        now = {
            "alive": ~(gone | away),
            "archived": away & ~gone,
            **{name: columns[name] for name in _CHANGING},
            "agents": self._recoded(rows, "agent", followed.agents),
            "origins": self._recoded(rows, "origin"),
        }
        moved = [self._columns.replace(name, numbers, values) for name, values in now.items()]
        return any(moved)

    def _find_sources(self, followed: _FeedPosition) -> None:
        sought, numbers = followed.sought, followed.numbers
        found = {doc: numbers[source] for doc, source in sought.items() if source in numbers}
        if found:
            self._columns.replace("source", list(found), list(found.values()))
            for doc in found:
                del sought[doc]

    def _add(self, followed: _FeedPosition, new: PackedFeed) -> None:
        first = len(self._ids)
        numbers = range(first, first + len(new))
        columns = new.columns
        self._ids.extend(new.ids)
        followed.numbers.update(zip(new.ids, numbers, strict=True))
        followed.sought.update((first + row, source) for row, source in new.sources.items())
        source = np.full(len(new), -1, dtype=np.int32)
        source[[*new.sources]] = -2
        self._columns.extend(
            len(new),
            {
                "alive": ~(columns["forgotten"] | columns["archived"]),
                "archived": columns["archived"] & ~columns["forgotten"],
                "order": followed.order(new),
                "lengths": columns["length"],
                **{name: columns[name] for name in ("known_us", "said", *_CHANGING)},
                "roles": self._recoded(new, "role"),
                "names": self._recoded(new, "name"),
                "agents": self._recoded(new, "agent", followed.agents),
                "sessions": self._recoded(new, "session", followed.sessions),
                "origins": self._recoded(new, "origin"),
                "kinds": self._recoded(new, "kind"),
                "tiers": self._recoded(new, "tier"),
                "source": source,
                "owners": followed.place,
            },
        )
        places = np.arange(first, first + len(new), dtype=np.int32)
        for each in new.segments:
            self._segments.append(each.renumbered(places))
            while len(self._segments) > 1 and (
                self._segments[-1].documents >= _MERGE_SHARE * self._segments[-2].documents
            ):
                self._segments[-2:] = [merge_segments(self._segments[-2:])]

    def _vector_rows(
        self, feed: Followed, followed: _FeedPosition, until: int
    ) -> Iterable[VectorRows]:
        """The vectors up to a change, by which all records are known when they are looked at:
        whatever they belong to is among those."""
        if self.space is None or until <= followed.vector_change:
            return ()
        begin = followed.vector_change
        return feed.vector_rows(followed.part.scope, self.space.id, after=begin, until=until)

    def _read_vectors(self, followed: _FeedPosition, rows: Iterable[VectorRows]) -> bool:
        """Follow vectors; whether there were any of our documents."""
        moved = False
        for found in rows:
            moved |= self._apply_vectors(followed, found)
            followed.vector_change = found.until
        return moved

    def _apply_vectors(self, followed: _FeedPosition, found: VectorRows) -> bool:
        """Follow the vectors of our documents; whether there were any."""
        numbers = followed.numbers
        # Those of other documents are passed over for good: what becomes one raises the epoch.
        found_docs = [numbers.get(each, -1) for each in cut_ids(found.records.hex())]
        docs, data = np.array(found_docs, dtype=np.int32), found.data
        ours = docs >= 0
        if not ours.any():
            return False
        if not ours.all():
            rows = np.frombuffer(data, dtype=np.uint8).reshape(len(docs), -1)
            docs, data = docs[ours], rows[ours].tobytes()
        if self._vectors is None:
            # Some have several; room that is never written to costs no memory.
            capacity = 64 + len(numbers) * 5 // 4
            self._vectors = Vectors(len(data) // len(docs) // 4, capacity=capacity)
        self._vectors.extend(docs, data)
        return True

    def _recoded(
        self,
        rows: PackedFeed,
        name: str,
        shown: Callable[[Sequence[str]], Sequence[str | None]] = lambda texts: texts,
    ) -> NDArray[np.int32]:
        """A column of texts under our numbers."""
        return recoded(rows.columns[name], shown(rows.texts), self._codes)

    def _moment(self) -> View:
        columns = {name: self._columns[name] for name, _ in Columns.KINDS}
        numbers = tuple(each.numbers for each in self._followed)
        return View(
            ids=self._ids,
            numbers=numbers[0],
            has_dead=not bool(columns["alive"].all()),
            has_ends=bool(
                (columns["until_us"] < FOREVER_US).any()
                or (columns["known_until_us"] < FOREVER_US).any()
            ),
            has_derived=bool((columns["tiers"] != self._codes.get("session", -1)).any()),
            has_touched=bool((columns["strength"] >= 0).any()),
            has_archived=bool(columns["archived"].any()),
            has_private=bool(columns["private"].any()),
            codes=dict(self._codes),  # Others are read through while new ones come in.
            segments=tuple(self._segments),
            vectors=self._vectors.view() if self._vectors else None,
            kept={},
            parts=tuple(each.part for each in self._followed),
            numbers_of=numbers,
            population=None,
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


#: Where the C library can be asked to: tens of megabytes would stay with it.
_trim = getattr(ctypes.CDLL(None), "malloc_trim", None) if sys.platform == "linux" else None


def give_back() -> None:
    """What was used while much was read is given back, not kept for the next time."""
    if _trim is not None:
        _trim(0)


class Keeping:
    """What is being written down, while searches go on."""

    def __init__(self) -> None:
        self._threads: list[threading.Thread] = []

    def begin(self, write: Callable[..., None], *given: object) -> None:
        thread = threading.Thread(target=write, args=given, name="holdfast-packing", daemon=True)
        self._threads = [*(each for each in self._threads if each.is_alive()), thread]
        thread.start()

    def settle(self) -> None:
        """Return once all of it is written."""
        for thread in self._threads:
            thread.join()


class IndexCache:
    """The indexes in use, the least used dropped when memory runs short."""

    def __init__(self, feed: Feed, *, most_bytes: int) -> None:
        self._feed = feed
        self._keeping = Keeping()
        self._residents: InUse[tuple[Owner, int, str], Resident] = InUse(
            lambda one: one.size_bytes, most=most_bytes
        )

    def view(
        self, scope: Scope, space: Space | None, which: str = LOUD, *, also: Sequence[ViewPart] = ()
    ) -> View:
        """What an asker can see as the store is now: what is their own, and these parts of others.

        `which` is `loud`, `all` or a tier, see `view.variety`.
        """
        own = ViewPart(Scope(scope.workspace, scope.user))
        resident = self._residents.get(
            (owner_of(scope), space.id if space else 0, which),
            lambda: Resident(own, space, variety(which), keep=self._keep),
        )
        before = resident.latest
        parts = [resident.own, *also]
        heads = [head_of(self._feed, part.scope) for part in parts]
        view = resident.follow(self._feed, parts, heads)
        if view is not before:
            self._residents.make_room()
        return view

    def catch_up(self, owner: Scope) -> None:
        """Bring the indexes of an owner that are in memory up to date."""
        wanted = owner_of(owner)
        residents = [each for key, each in self._residents.items() if key[0] == wanted]
        for resident in residents:
            resident.go_on(self._feed)
        if residents:
            self._residents.make_room()

    def _keep(self, scope: Scope, read: Read) -> None:
        """Have what was read written down, while the search goes on."""
        self._keeping.begin(keep, self._feed, scope, read)

    def settle(self) -> None:
        """Return once all that is being written down is."""
        self._keeping.settle()

    def usage(self) -> tuple[int, int]:
        """How many indexes are in memory, and how many bytes they take."""
        sizes = [resident.size_bytes for _, resident in self._residents.items()]
        return len(sizes), sum(sizes)
