"""The feed of one owner as arrays, a row for each record: what indexes are made of.

Reading 100,000 records out of the store takes seconds, nearly all of it for single values. So the
arrays of a large owner are written down, and the next index reads these and then what the feed
tells since. They are as long as nothing was physically removed (`Feed.kept_index`), have a digest,
and whatever is wrong with them, all is read from the feed as if there were none. What they hold is
of the owner alone, whoever asks; vectors are not among it, those are read as they are.
"""

from __future__ import annotations

import logging
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import compress
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from holdfast.errors import Closed, HoldfastError, StoreReadOnly
from holdfast.index import pieces
from holdfast.index.look import changes_told
from holdfast.index.view import Segment, Variety, merge_segments, said_alike, segment
from holdfast.store.protocols import (
    FOREVER_US,
    KEPT_FEED,
    Change,
    Feed,
    Head,
    KeptIndex,
    VectorRows,
    spans,
)
from holdfast.types import Scope

log = logging.getLogger("holdfast")

#: Another one: written by a version that packed otherwise.
FORMAT = 1
#: Records from which on an owner's arrays are written down, and the share of them that is new.
WORTH_KEEPING = 5_000
_SHARE_NEW = 0.2
#: Change numbers that are read at a time: their rows are held as Python objects so long.
_AT_ONCE = 8_192
#: Of owners with more the nightly round leaves it to who loads them: it would hold all at once.
_MOST_CHANGES = 1_000_000
_ID_CHARS = 32

_NUMBERS: dict[str, type] = {
    "order": np.int64, "at_us": np.int64, "known_us": np.int64, "until_us": np.int64,
    "known_until_us": np.int64, "seen_us": np.int64, "confidence": np.float32,
    "strength": np.float32, "length": np.int32, "quiet": np.int8, "forgotten": np.bool_,
    "archived": np.bool_, "private": np.bool_,
}  # fmt: skip
_TEXTS = ("kind", "role", "name", "agent", "session", "origin", "tier")
#: Of the terms: a number for what is said, and whether anything is.
_OF_TERMS: dict[str, type] = {"said": np.int64, "worded": np.bool_}
_KINDS = {**_NUMBERS, **dict.fromkeys(_TEXTS, np.int32), **_OF_TERMS}
#: Near another column in most rows: kept as the difference, which is small or always the same.
_NEAR = {"at_us": "known_us", "seen_us": "known_us"}
_POSTINGS = ("terms", "starts", "docs", "counts")


@dataclass(frozen=True, slots=True)
class PackedFeed:
    """Records as the feed tells them, in its order, a row each."""

    ids: Sequence[str]
    columns: dict[str, NDArray[Any]]
    #: By their number in a column of texts; None is -1 there.
    texts: Sequence[str]
    #: Of some rows the first source.
    sources: dict[int, str]
    segments: tuple[Segment, ...]

    def __len__(self) -> int:
        return len(self.ids)

    def documents(self, variety: Variety) -> NDArray[np.bool_]:
        """Which rows are documents of an index. What was only heard is in the graph, not here."""
        is_loud = self.columns["quiet"] <= variety.most_quiet
        found: NDArray[np.bool_] = is_loud & (self.columns["worded"] | ~self._of_tier("graph"))
        return found if variety.tier is None else found & self._of_tier(variety.tier)

    def _of_tier(self, tier: str) -> NDArray[np.bool_]:
        code = self.texts.index(tier) if tier in self.texts else -1
        found: NDArray[np.bool_] = self.columns["tier"] == code
        return found

    def only(self, keep: NDArray[np.bool_]) -> PackedFeed:
        """Some of the rows."""
        if keep.all():
            return self
        place = np.where(keep, np.cumsum(keep) - 1, -1).astype(np.int32)
        return PackedFeed(
            list(compress(self.ids, keep.tolist())),
            {name: column[keep] for name, column in self.columns.items()},
            self.texts,
            {int(place[row]): id for row, id in self.sources.items() if keep[row]},
            tuple(each.renumbered(place) for each in self.segments),
        )

    def then(self, newer: PackedFeed) -> PackedFeed:
        """With what changed since: the newer row of a record stands for the older."""
        if not len(newer) or not len(self):
            return newer if len(newer) else self
        changed = set(newer.ids)
        older = self.only(np.array([id not in changed for id in self.ids], dtype=np.bool_))
        first = len(older)
        codes = {text: code for code, text in enumerate(older.texts)}
        columns = {}
        for name, column in newer.columns.items():
            more = recoded(column, newer.texts, codes) if name in _TEXTS else column
            columns[name] = np.concatenate([older.columns[name], more])
        numbers = np.arange(first, first + len(newer), dtype=np.int32)
        return PackedFeed(
            [*older.ids, *newer.ids],
            columns,
            list(codes),
            older.sources | {first + row: id for row, id in newer.sources.items()},
            (*older.segments, *(each.renumbered(numbers) for each in newer.segments)),
        )


def recoded(
    column: NDArray[np.int32], texts: Sequence[str | None], codes: dict[str, int]
) -> NDArray[np.int32]:
    """A column of texts under the numbers of `codes`, which gets those that it has not."""
    table = np.full(len(texts) + 1, -1, dtype=np.int32)  # None is the last place.
    for code in np.flatnonzero(np.bincount(column + 1, minlength=1)[1:]).tolist():
        text = texts[code]
        table[code] = -1 if text is None else codes.setdefault(text, len(codes))
    found: NDArray[np.int32] = table[column]
    return found


def pack(pages: Iterable[Sequence[Change]]) -> PackedFeed:
    """The records of some pages of a feed; no record is in two of them."""
    ids: list[str] = []
    columns: dict[str, list[NDArray[Any]]] = defaultdict(list)
    codes: dict[str, int] = {}
    sources: dict[int, str] = {}
    rows: list[bytes] = []
    for page in filter(None, pages):
        fields: Any = Change._make(zip(*page, strict=True))
        if any(fields.source):
            numbered = enumerate(fields.source, len(rows))
            sources.update((row, source) for row, source in numbered if source is not None)
        for name, kind in _NUMBERS.items():
            columns[name].append(np.fromiter(getattr(fields, name), kind, count=len(page)))
        for name in _TEXTS:
            columns[name].append(_coded(getattr(fields, name), codes))
        columns["worded"].append(np.fromiter(map(bool, fields.terms), np.bool_, count=len(page)))
        columns["said"].append(said_alike(fields.terms))
        ids.append("".join(fields.id))
        rows += fields.terms
    return PackedFeed(
        cut_ids("".join(ids)),
        {
            name: np.concatenate(columns[name]) if rows else np.empty(0, kind)
            for name, kind in _KINDS.items()
        },
        list(codes),
        sources,
        (segment(range(len(rows)), rows),) if rows else (),
    )


def _coded(texts: Sequence[str | None], codes: dict[str, int]) -> NDArray[np.int32]:
    for text in set(texts) - codes.keys():
        if text is not None:
            codes[text] = len(codes)
    coded: dict[str | None, int] = dict(codes.items())
    coded[None] = -1
    return np.fromiter(map(coded.__getitem__, texts), np.int32, count=len(texts))


def cut_ids(ids: str) -> list[str]:
    """Ids that stand one after another."""
    return [ids[at : at + _ID_CHARS] for at in range(0, len(ids), _ID_CHARS)]


# ----------------------------------------------------------------------
# Reading an owner: what is kept, and the feed since.
# ----------------------------------------------------------------------


class Followed(Protocol):
    """What an index reads of a feed, as `Feed` tells it."""

    def changes(self, scope: Scope, *, after: int, until: int = FOREVER_US) -> list[Change]: ...

    def vector_rows(
        self, scope: Scope, space: int, *, after: int, until: int
    ) -> Iterator[VectorRows]: ...

    def kept_index(self, scope: Scope) -> KeptIndex | None: ...


@dataclass(frozen=True, slots=True)
class Read:
    """What was read of a feed."""

    rows: PackedFeed
    #: All that changed up to here is among the rows.
    head: Head
    #: How many rows were kept already.
    kept: int = 0

    @property
    def is_worth_keeping(self) -> bool:
        return is_worth_keeping(len(self.rows), self.kept)


def read_feed(feed: Followed, scope: Scope, head: Head, *, after: int = 0) -> Read:
    """What changed after a change number; the feed stood at `head` before this was called."""
    # Where little is to be read it is read at once.
    kept = _kept(feed, scope) if not after and head.change >= WORTH_KEEPING else None
    begin = after if kept is None else kept.head.change
    *most, (last, _) = spans(begin, max(begin, head.change), _AT_ONCE)
    rows = pack(feed.changes(scope, after=start, until=end) for start, end in most)
    # Without an end: what has changed since the head was read may be missing from those before.
    newest = None if most else changes_told(feed, scope, last)
    if newest is None:
        newest = feed.changes(scope, after=last)
    rows = rows.then(pack([newest]))
    stand = Head(head.epoch, max(head.change, begin, newest[-1].change if newest else 0))
    if kept is None:
        return Read(rows, stand)
    return Read(kept.rows.then(rows), stand, kept=len(kept.rows))


def is_worth_keeping(count: int, kept: int) -> bool:
    """Whether so many documents are written down, of which so many already are."""
    return count >= WORTH_KEEPING and count - kept >= _SHARE_NEW * count


def keep(feed: Feed, scope: Scope, read: Read) -> None:
    """Write down what was read."""
    write_down(
        feed, scope, read.head, lambda: to_pieces(read.rows, scope, read.head.change), KEPT_FEED
    )


def write_down(
    feed: Feed, scope: Scope, head: Head, make: Callable[[], Sequence[bytes]], what: int
) -> None:
    """Write down what an index is made of. What cannot be written is read again the next time."""
    try:
        feed.keep_index(scope, head, make(), what=what)
    except (StoreReadOnly, Closed):
        pass
    except HoldfastError as error:
        log.warning("the index of an owner was not written down: %s", error)


def keep_grown(feed: Feed, scope: Scope) -> None:
    """Write down what an owner's indexes are made of, if it is much and much of it is new."""
    head = feed.head(scope)
    if WORTH_KEEPING <= head.change <= _MOST_CHANGES:
        read = read_feed(feed, scope, head)
        if read.is_worth_keeping:
            keep(feed, scope, read)


def _kept(feed: Followed, scope: Scope) -> Read | None:
    """What was written down, if it can be trusted."""
    found = feed.kept_index(scope)
    if found is None:
        return None
    rows = from_pieces(found.pieces, scope, found.change)
    if rows is None:
        log.warning("the index of an owner that was written down cannot be read: it is made anew")
        return None
    return Read(rows, Head(0, found.change))


# ----------------------------------------------------------------------
# As bytes.
# ----------------------------------------------------------------------


def to_pieces(rows: PackedFeed, scope: Scope, change: int) -> list[bytes]:
    """Rows as bytes, in pieces of a megabyte; 150 bytes a record of twenty words."""
    about = {"rows": len(rows), "texts": rows.texts}
    return pieces.written(_arrays(rows), about, form=FORMAT, of=(scope, change))


def from_pieces(kept: Sequence[bytes], scope: Scope, change: int) -> PackedFeed | None:
    """What `to_pieces` was given; None if it is not that, or of another format."""
    found = pieces.read(kept, form=FORMAT, of=(scope, change))
    if found is None:
        return None
    head, read = found
    for name, other in _NEAR.items():
        read[name] += read[other]
    sources = read["source"].tobytes().hex()
    postings = {name: read[name] for name in _POSTINGS}
    return PackedFeed(
        cut_ids(read["id"].tobytes().hex()),
        {name: read[name] for name in _KINDS},
        head["texts"],
        dict(zip(read["sourced"].tolist(), cut_ids(sources), strict=True)),
        (Segment(**postings, documents=head["rows"]),) if head["rows"] else (),
    )


def _arrays(rows: PackedFeed) -> dict[str, NDArray[Any]]:
    """All that rows hold but texts, by the name under which it is kept."""
    columns = rows.columns
    arrays = {name: columns[name] - columns[other] for name, other in _NEAR.items()}
    ids, sources = bytes.fromhex("".join(rows.ids)), bytes.fromhex("".join(rows.sources.values()))
    arrays["id"] = np.frombuffer(ids, dtype=np.uint8)
    arrays["source"] = np.frombuffer(sources, dtype=np.uint8)
    arrays["sourced"] = np.array([*rows.sources], dtype=np.int32)
    postings = rows.segments[0] if len(rows.segments) == 1 else merge_segments(rows.segments)
    arrays |= {name: getattr(postings, name) for name in _POSTINGS}
    return columns | arrays
