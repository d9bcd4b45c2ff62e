"""The indexes in memory, one for every asker in use, and the shelf that keeps them.

An index follows the feeds of the store: before each search one tiny read for every owner in it
tells whether anything changed, by this process or another; only the difference is loaded. A search
works on a `View`, a moment that later changes do not touch, so any number of threads may search
while one catches up.
"""

from __future__ import annotations

import gc
import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from operator import gt, not_, or_
from typing import Any

import numpy as np

from holdfast.index.follow import InUse, Owner, head_of, owner_of
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
    segment,
    variety,
)
from holdfast.store.protocols import FOREVER_US, Change, Feed, Head, Space, Vector
from holdfast.types import Scope

__all__ = ["ALL", "LOUD", "IndexCache", "Resident", "View", "ViewPart"]

#: A segment is merged into its elder once it is at least this share of its size.
_MERGE_SHARE = 0.25
#: While more changes than this are loaded, Python does not look for garbage among them.
_MANY = 20_000
#: What a document costs besides its postings and vectors: its id, its place in the maps.
_DOCUMENT_BYTES = 300
#: Owners count arrivals each for themselves: what is not the asker's own is ordered by when it was
#: learned, and this much lower, so that of equals the own comes first.
_LOWER = 1 << 52
#: Before the name of another workspace's agent: no asker can be called that.
_ELSEWHERE = "\0"


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

    def visible_changes(self, changes: list[Change]) -> list[Change]:
        """Those that are for the asker."""
        if self.part.tiers is None:
            return changes
        shows = self.part.shows
        return [
            e for e in changes if shows(tier=e.tier, kind=e.kind, private=e.private, quiet=e.quiet)
        ]

    def agents(self, texts: Sequence[str | None]) -> Sequence[str | None]:
        """Those of another workspace are none of the asker's, whatever they are called."""
        if not self.part.shares:
            return texts
        return [None if each is None else _ELSEWHERE + each for each in texts]

    def sessions(self, texts: Sequence[str | None]) -> Sequence[str | None]:
        """Those of another workspace are not told."""
        return [None] * len(texts) if self.part.shares else texts

    def order(self, columns: Any) -> Iterable[int]:
        if self.part.tiers is None:
            arrivals: Iterable[int] = columns.order
            return arrivals
        return (known_us - _LOWER for known_us in columns.known_us)


@dataclass(slots=True)
class Resident:
    """The index of what one asker can see, in one vector space."""

    #: What is the asker's own.
    own: ViewPart
    space: Space | None
    variety: Variety
    lock: threading.Lock = field(default_factory=threading.Lock)
    latest: View | None = None
    _followed: list[_FeedPosition] = field(default_factory=list)
    _ids: list[str] = field(default_factory=list)
    _columns: Columns = field(default_factory=Columns)
    _codes: dict[str, int] = field(default_factory=dict)
    _segments: list[Segment] = field(default_factory=list)
    _vectors: Vectors | None = None

    def follow(self, feed: Feed, parts: Sequence[ViewPart], heads: Sequence[Head]) -> View:
        """Catch up with the feeds of these owners and give the moment they stand for."""
        with self.lock:
            if not self._can_go_on(parts, heads):
                self._start_over()
            # If this is cut short, there is no latest: the next one is made of all there is.
            view, self.latest = self.latest, None
            for part in parts[len(self._followed) :]:
                self._followed.append(_FeedPosition(part, place=len(self._followed)))
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
            each.part == part and each.seen.epoch == head.epoch
            for each, part, head in zip(self._followed, parts, heads, strict=False)
        )

    def _catch_up(self, feed: Feed, followed: _FeedPosition, head: Head) -> bool:
        """Load what is new of one owner; whether a document changed."""
        scope = followed.part.scope
        with _no_collection(enough=head.change - followed.change > _MANY):
            # Vectors first: whatever they belong to is then among the changes.
            vectors: list[Vector] = []
            if self.space is not None:
                vectors = feed.vectors(scope, self.space.id, after=followed.vector_change)
            moved = self._apply_changes(followed, feed.changes(scope, after=followed.change))
            moved |= self._apply_vectors(followed, vectors)
        followed.seen = head
        return moved

    @property
    def size_bytes(self) -> int:
        vectors = self._vectors.size_bytes if self._vectors else 0
        postings = sum(part.size_bytes for part in self._segments)
        return vectors + postings + _DOCUMENT_BYTES * len(self._ids)

    def _start_over(self) -> None:
        fresh = Resident(self.own, self.space, self.variety)
        for name in self.__slots__:
            if name not in ("lock", "own", "space", "variety"):
                setattr(self, name, getattr(fresh, name))

    def _apply_changes(self, followed: _FeedPosition, changes: list[Change]) -> bool:
        """Follow the documents among the changes; whether one is new or another now."""
        if changes:
            followed.change = changes[-1].change
        numbers = followed.numbers
        documents = followed.visible_changes(self.variety.of(changes))
        moved = False
        if numbers:
            known = [change for change in changes if change.id in numbers]
            moved = bool(known) and self._update(followed, known, {each.id for each in documents})
            documents = [change for change in documents if change.id not in numbers]
        if documents:
            self._add(followed, documents)
            self._find_sources(followed)
        return moved or bool(documents)

    def _update(self, followed: _FeedPosition, changes: list[Change], there: set[str]) -> bool:
        """What can change without new words or vectors: those raise the epoch. What is not `there`
        is no document for this asker any more."""
        gone = [change.forgotten or change.id not in there for change in changes]
        away = [change.archived for change in changes]
        columns: Any = Change._make(zip(*changes, strict=True))
        numbers = [followed.numbers[each] for each in columns.id]
        moved = [
            self._columns.replace(name, numbers, list(values))
            for name, values in (
                ("alive", map(not_, map(or_, gone, away))),
                ("archived", map(gt, away, gone)),
                ("until_us", columns.until_us),
                ("known_until_us", columns.known_until_us),
                ("confidence", columns.confidence),
                ("at_us", columns.at_us),
                ("seen_us", columns.seen_us),
                ("strength", columns.strength),
                ("quiet", columns.quiet),
                ("private", columns.private),
                ("agents", self._codes_of(followed.agents(columns.agent))),
                ("origins", self._codes_of(columns.origin)),
            )
        ]
        return any(moved)

    def _find_sources(self, followed: _FeedPosition) -> None:
        sought, numbers = followed.sought, followed.numbers
        found = {doc: numbers[source] for doc, source in sought.items() if source in numbers}
        if found:
            self._columns.replace("source", list(found), list(found.values()))
            for doc in found:
                del sought[doc]

    def _add(self, followed: _FeedPosition, new: list[Change]) -> None:
        first = len(self._ids)
        numbers = range(first, first + len(new))
        # All rows of a column at once: a large owner has 100,000 of them at the first search.
        columns: Any = Change._make(zip(*new, strict=True))
        self._ids.extend(columns.id)
        followed.numbers.update(zip(columns.id, numbers, strict=True))
        if any(columns.source):
            sources = zip(numbers, columns.source, strict=True)
            followed.sought.update((doc, source) for doc, source in sources if source is not None)
        self._columns.extend(
            len(new),
            {
                "alive": map(not_, map(or_, columns.forgotten, columns.archived)),
                "order": followed.order(columns),
                "at_us": columns.at_us,
                "known_us": columns.known_us,
                "until_us": columns.until_us,
                "known_until_us": columns.known_until_us,
                "confidence": columns.confidence,
                "lengths": columns.length,
                "said": map(hash, columns.terms),
                "roles": self._codes_of(columns.role),
                "names": self._codes_of(columns.name),
                "agents": self._codes_of(followed.agents(columns.agent)),
                "sessions": self._codes_of(followed.sessions(columns.session)),
                "origins": self._codes_of(columns.origin),
                "kinds": self._codes_of(columns.kind),
                "tiers": self._codes_of(columns.tier),
                "source": (-1 if each is None else -2 for each in columns.source),
                "seen_us": columns.seen_us,
                "strength": columns.strength,
                "quiet": columns.quiet,
                "archived": map(gt, columns.archived, columns.forgotten),
                "private": columns.private,
                "owners": followed.place,
            },
        )
        self._segments.append(segment(numbers, columns.terms))
        while len(self._segments) > 1 and (
            self._segments[-1].documents >= _MERGE_SHARE * self._segments[-2].documents
        ):
            self._segments[-2:] = [merge_segments(self._segments[-2:])]

    def _apply_vectors(self, followed: _FeedPosition, vectors: list[Vector]) -> bool:
        """Follow the vectors of our documents; whether there were any."""
        if not vectors:
            return False
        # Those of other documents are passed over for good: what becomes one raises the epoch.
        followed.vector_change = vectors[-1].change
        numbers = followed.numbers
        # One of a torn length would shift all that come after it; doctor calls it unusable.
        size = 4 * self.space.dim if self.space and self.space.dim else len(vectors[0].data)
        ours = [each for each in vectors if each.record in numbers and len(each.data) == size]
        if ours:
            if self._vectors is None:
                self._vectors = Vectors(size // 4, capacity=max(64, len(ours)))
            docs = np.array([numbers[vector.record] for vector in ours], dtype=np.int32)
            self._vectors.extend(docs, b"".join([vector.data for vector in ours]))
        return bool(ours)

    def _codes_of(self, texts: Sequence[str | None]) -> Iterator[int]:
        """Small numbers for texts, the same number for the same text; -1 for None."""
        for text in sorted(text for text in set(texts) - self._codes.keys() if text is not None):
            self._codes[text] = len(self._codes)
        coded: dict[str | None, int] = dict(self._codes.items())
        coded[None] = -1
        return map(coded.__getitem__, texts)

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


class IndexCache:
    """The indexes in use, the least used dropped when memory runs short."""

    def __init__(self, feed: Feed, *, most_bytes: int) -> None:
        self._feed = feed
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
            lambda: Resident(own, space, variety(which)),
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

    def usage(self) -> tuple[int, int]:
        """How many indexes are in memory, and how many bytes they take."""
        sizes = [resident.size_bytes for _, resident in self._residents.items()]
        return len(sizes), sum(sizes)
