"""What a search works on: postings, vectors and columns at a moment, and whose records they are."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from holdfast.language.terms import term_bytes
from holdfast.store.values import Counted, Frequency, LargeOwner
from holdfast.types import TEAM, Scope

T = TypeVar("T")

# ----------------------------------------------------------------------
# Which documents hold which term: sorted arrays, merged like the levels of a log-structured tree.
#
# A document's terms are packed once, when it is stored, as 64-bit term ids, each with its count.
# A `Segment` holds the postings of many documents, sorted by term. This module knows nothing
# about scores.
# ----------------------------------------------------------------------

#: A term in a packed row: its id and how often it occurs.
_TERM = np.dtype([("id", "<u8"), ("count", "u1")])
_MOST = 255
_ONCE = b"\x01"


def packed(terms: Sequence[str]) -> tuple[bytes, int]:
    """The index row of a text: its distinct term ids and their counts, and the number of terms."""
    counts = Counter(terms)
    row = [
        term_bytes(term) + (_ONCE if count == 1 else min(count, _MOST).to_bytes())
        for term, count in counts.items()
    ]
    return b"".join(row), len(terms)


@dataclass(frozen=True, slots=True)
class Segment:
    """Postings of a set of documents, sorted by term."""

    terms: NDArray[np.uint64]
    #: Postings of term i are docs[starts[i] : starts[i + 1]], ascending.
    starts: NDArray[np.int64]
    docs: NDArray[np.int32]
    counts: NDArray[np.uint8]
    documents: int

    def find(self, terms: NDArray[np.uint64]) -> list[tuple[NDArray[np.int32], NDArray[np.uint8]]]:
        """For each term the documents that hold it, and how often."""
        if not len(self.terms):
            return [(self.docs, self.counts)] * len(terms)
        places = np.minimum(np.searchsorted(self.terms, terms), len(self.terms) - 1)
        there = self.terms[places] == terms
        first, last = self.starts[places].tolist(), self.starts[places + there].tolist()
        return [
            (self.docs[start:end], self.counts[start:end])
            for start, end in zip(first, last, strict=True)
        ]

    @property
    def size_bytes(self) -> int:
        arrays = (self.terms, self.starts, self.docs, self.counts)
        return sum(array.nbytes for array in arrays)

    def renumbered(self, numbers: NDArray[np.int32]) -> Segment:
        """The postings of some documents under other numbers, in the same order: the new number of
        each by the old one, -1 for those that are left out."""
        docs = numbers[self.docs]
        if numbers.min(initial=0) >= 0:
            return Segment(self.terms, self.starts, docs, self.counts, self.documents)
        keep = docs >= 0
        left = np.concatenate([_ZERO, np.cumsum(keep)])[self.starts]
        is_held = np.diff(left) > 0
        starts = np.append(left[:-1][is_held], left[-1])
        documents = int(np.count_nonzero(numbers >= 0))
        return Segment(self.terms[is_held], starts, docs[keep], self.counts[keep], documents)


_ZERO: NDArray[np.int64] = np.zeros(1, dtype=np.int64)


def segment(numbers: Sequence[int], rows: Sequence[bytes]) -> Segment:
    """Index documents, given their numbers (ascending) and their packed rows."""
    flat, sizes = flat_terms(rows)
    docs = np.repeat(np.asarray(numbers, dtype=np.int32), sizes)
    # Copies: the fields of a packed row lie at odd places.
    return _sorted_segment(
        flat["id"].astype(np.uint64), docs, flat["count"].astype(np.uint8), len(rows)
    )


def flat_terms(rows: Sequence[bytes]) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """The terms of packed rows one after another, and how many are in each row."""
    sizes = np.array([len(row) for row in rows], dtype=np.int64) // _TERM.itemsize
    return np.frombuffer(b"".join(rows), dtype=_TERM), sizes


def said_alike(rows: Sequence[bytes]) -> NDArray[np.int64]:
    """A number for each packed row, in every process the same: equal where the rows are."""
    flat, sizes = flat_terms(rows)
    ends = np.cumsum(sizes)
    place = np.arange(len(flat), dtype=np.uint64) - np.repeat(
        (ends - sizes).astype(np.uint64), sizes
    )
    mixed = flat["id"] + _ODD * (place * 256 + flat["count"])
    mixed = (mixed ^ (mixed >> np.uint64(29))) * _ODD
    sums = np.concatenate([_ZERO.view(np.uint64), np.cumsum(mixed ^ (mixed >> np.uint64(32)))])
    numbers: NDArray[np.int64] = (sums[ends] - sums[ends - sizes]).view(np.int64)
    return numbers


#: It has all its bits spread: what is multiplied by it is, too.
_ODD = np.uint64(0x9E3779B97F4A7C15)


def merge_segments(segments: Iterable[Segment]) -> Segment:
    """One segment instead of several; their documents must not overlap and must ascend."""
    parts = list(segments)
    flat = [np.repeat(part.terms, np.diff(part.starts)) for part in parts]
    return _sorted_segment(
        np.concatenate(flat),
        np.concatenate([part.docs for part in parts]),
        np.concatenate([part.counts for part in parts]),
        sum(part.documents for part in parts),
    )


def _sorted_segment(
    flat: NDArray[np.uint64], docs: NDArray[np.int32], counts: NDArray[np.uint8], documents: int
) -> Segment:
    # Stable: the documents of one term stay in ascending order.
    order = np.argsort(flat, kind="stable")
    terms, first = np.unique(flat[order], return_index=True)
    starts = np.append(first, len(flat)).astype(np.int64)
    return Segment(terms, starts, docs[order], counts[order], documents)


# ----------------------------------------------------------------------
# Nearest vectors: exact for most owners, a sign-bit prefilter with exact rescoring for large
# ones.
#
# Every row is a passage of a document; a document scores as its best passage. Rows are unit
# vectors, so a product is a cosine. One product over 100,000 rows of 384 floats reads 150 MB;
# comparing their sign bits first reads 5 MB, and only the best few thousand are multiplied.
# ----------------------------------------------------------------------

#: Up to this many passages a full product is faster than filtering.
EXACT_UP_TO = 4_000
#: Share of the passages that the filter lets through, and the least number.
_SHARE = 0.04
_LEAST = 500
#: and how many times the number asked for.
_FACTOR = 8


class Vectors:
    """A growing matrix of passages. Appending never disturbs a slice handed out before."""

    def __init__(self, dim: int, capacity: int = 64) -> None:
        self.dim = dim
        self.count = 0
        self._rows: NDArray[np.float32] = np.empty((capacity, dim), dtype=np.float32)
        self._docs: NDArray[np.int32] = np.empty(capacity, dtype=np.int32)
        self._bits: NDArray[np.uint64] | None = None

    def extend(self, docs: NDArray[np.int32], data: bytes) -> None:
        """Add passages: their documents and their float32 rows one after another."""
        rows = np.frombuffer(data, dtype="<f4").reshape(len(docs), self.dim)
        end = self.count + len(docs)
        if end > len(self._docs):
            self._grow(max(end, len(self._docs) * 3 // 2))
        self._rows[self.count : end] = rows
        self._docs[self.count : end] = docs
        if self._bits is not None:
            self._bits[:, self.count : end] = sign_bits(rows)
        self.count = end
        if self._bits is None and end > EXACT_UP_TO:
            self._bits = np.empty((_words(self.dim), len(self._docs)), dtype=np.uint64)
            self._bits[:, :end] = sign_bits(self._rows[:end])

    def view(self) -> VectorView:
        """What is there now, unaffected by what comes later."""
        bits = None if self._bits is None else self._bits[:, : self.count]
        return VectorView(self._rows[: self.count], self._docs[: self.count], bits)

    @property
    def size_bytes(self) -> int:
        bits = 0 if self._bits is None else self._bits.nbytes
        return self._rows.nbytes + self._docs.nbytes + bits

    def _grow(self, capacity: int) -> None:
        # Copies, not resize(): views of the old arrays stay valid.
        rows = np.empty((capacity, self.dim), dtype=np.float32)
        rows[: self.count] = self._rows[: self.count]
        docs = np.empty(capacity, dtype=np.int32)
        docs[: self.count] = self._docs[: self.count]
        self._rows, self._docs = rows, docs
        if self._bits is not None:
            bits = np.empty((len(self._bits), capacity), dtype=np.uint64)
            bits[:, : self.count] = self._bits[:, : self.count]
            self._bits = bits


class VectorView:
    """A moment of `Vectors`, for searching."""

    def __init__(
        self,
        rows: NDArray[np.float32],
        docs: NDArray[np.int32],
        bits: NDArray[np.uint64] | None,
    ) -> None:
        self._rows = rows
        self._docs = docs
        self._bits = bits
        self._by_doc: tuple[NDArray[np.intp], NDArray[np.int32]] | None = None

    def by_document(
        self,
        query: NDArray[np.float32],
        documents: int,
        *,
        also: Callable[[], NDArray[np.integer]],
    ) -> NDArray[np.float32]:
        """The cosine of each document's best passage; 0 where it is negative or there is none.

        Of a large matrix only the passages near the query and those of the documents that `also`
        tells are looked at; the others count as far away.
        """
        best = np.zeros(documents, dtype=np.float32)
        if self._bits is None:
            docs, cosines = self._docs, _products(self._rows, query)
        else:
            passages = np.concatenate([self._near(query, None, 0), self._passages_of(also())])
            docs, cosines = self._docs[passages], _products_of(self._rows, passages, query)
        np.maximum.at(best, docs, cosines)
        return best

    def without(self, documents: int) -> NDArray[np.bool_]:
        """Which documents have no vector yet."""
        lacking = np.ones(documents, dtype=np.bool_)
        lacking[self._docs] = False
        return lacking

    def first_of(self, docs: NDArray[np.intp]) -> NDArray[np.float32]:
        """The first passage of each document, a row each; not a number where there is none."""
        if not len(self._docs):
            return np.full((len(docs), self._rows.shape[1]), np.nan, dtype=np.float32)
        order, sorted_docs = self._sorted()
        places = np.minimum(np.searchsorted(sorted_docs, docs), len(sorted_docs) - 1)
        rows: NDArray[np.float32] = self._rows[order[places]]
        rows[sorted_docs[places] != docs] = np.nan
        return rows

    def passages_per(self, docs: NDArray[np.intp]) -> NDArray[np.intp]:
        """How many passages each document has."""
        _, sorted_docs = self._sorted()
        ends = [np.searchsorted(sorted_docs, docs, side=side) for side in ("left", "right")]
        counts: NDArray[np.intp] = ends[1] - ends[0]
        return counts

    def _sorted(self) -> tuple[NDArray[np.intp], NDArray[np.int32]]:
        """Passages in order of their documents."""
        if self._by_doc is None:
            order = np.argsort(self._docs, kind="stable")
            self._by_doc = (order, self._docs[order])
        return self._by_doc

    def _passages_of(self, docs: NDArray[np.integer]) -> NDArray[np.intp]:
        order, sorted_docs = self._sorted()
        first = np.searchsorted(sorted_docs, docs, side="left")
        last = np.searchsorted(sorted_docs, docs, side="right")
        counts = last - first
        # All places first[i] .. last[i] - 1, without a loop.
        starts = np.repeat(first - np.append(0, np.cumsum(counts)[:-1]), counts)
        places: NDArray[np.intp] = order[starts + np.arange(counts.sum())]
        return places

    def cosines(
        self, query: NDArray[np.float32], wanted: NDArray[np.bool_] | None, *, depth: int
    ) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
        """(document, cosine) of the passages worth ranking for the `depth` nearest documents;
        `wanted` says which documents count."""
        if self._bits is None:
            docs, cosines = self._docs, _products(self._rows, query)
        else:
            near = self._near(query, wanted, depth)
            docs, cosines = self._docs[near], _products_of(self._rows, near, query)
        if wanted is not None:
            keep = wanted[docs]
            docs, cosines = docs[keep], cosines[keep]
        return docs, cosines

    def _near(
        self, query: NDArray[np.float32], wanted: NDArray[np.bool_] | None, depth: int
    ) -> NDArray[np.intp]:
        """The passages whose sign bits differ least from the query's."""
        bits = self._bits
        assert bits is not None  # The caller looked.
        probe = sign_bits(query[None, :])[:, 0]
        distance = sign_distances(bits, probe)
        if wanted is not None:
            distance[~wanted[self._docs]] = np.iinfo(np.uint16).max
        keep = max(_LEAST, _FACTOR * depth, int(_SHARE * len(distance)))
        # Few distances are possible: counting them finds the border faster than sorting.
        reach = int(np.searchsorted(np.cumsum(np.bincount(distance)), keep))
        return np.flatnonzero(distance <= min(reach, self._rows.shape[1]))


def _products(rows: NDArray[np.float32], query: NDArray[np.float32]) -> NDArray[np.float32]:
    # Not `rows @ query`: BLAS takes every core for it and stalls when they are busy (p90 12x), and
    # its last digits depend on where a row lies; this gives a row the same cosine anywhere.
    product: NDArray[np.float32] = np.einsum("ij,j->i", rows, query)
    return product


#: Rows that are put side by side at a time: they stay in the processor's cache.
_ROWS_AT_ONCE = 128


def _products_of(
    rows: NDArray[np.float32], places: NDArray[np.intp], query: NDArray[np.float32]
) -> NDArray[np.float32]:
    """`_products` of some rows."""
    products = np.empty(len(places), dtype=np.float32)
    some = np.empty((_ROWS_AT_ONCE, rows.shape[1]), dtype=np.float32)
    for start in range(0, len(places), _ROWS_AT_ONCE):
        here = places[start : start + _ROWS_AT_ONCE]
        beside = np.take(rows, here, axis=0, out=some[: len(here)], mode="clip")
        np.einsum("ij,j->i", beside, query, out=products[start : start + _ROWS_AT_ONCE])
    return products


def _words(dim: int) -> int:
    return (dim + 63) // 64


def sign_bits(rows: NDArray[np.float32]) -> NDArray[np.uint64]:
    """(words, rows): the sign of each dimension as one bit."""
    bits = np.packbits(rows > 0, axis=1)
    padded = np.zeros((len(rows), _words(rows.shape[1]) * 8), dtype=np.uint8)
    padded[:, : bits.shape[1]] = bits
    return np.ascontiguousarray(padded.view(np.uint64).T)


#: Vectors whose signs are compared at once: what lies between stays in the processor's cache.
_AT_ONCE = 1 << 14
#: So many words of 64 signs differ in what a byte can count.
_IN_A_BYTE = 3


def sign_distances(bits: NDArray[np.uint64], probe: NDArray[np.uint64]) -> NDArray[np.uint16]:
    """In how many of its signs each vector differs from one."""
    distances = np.zeros(bits.shape[1], dtype=np.uint16)
    differ = np.empty(_AT_ONCE, dtype=np.uint64)
    counted, added = np.empty((2, _AT_ONCE), dtype=np.uint8)
    for start in range(0, len(distances), _AT_ONCE):
        sums = distances[start : start + _AT_ONCE]
        each, count, sum_of = differ[: len(sums)], counted[: len(sums)], added[: len(sums)]
        for first in range(0, len(probe), _IN_A_BYTE):
            words = bits[first : first + _IN_A_BYTE, start : start + _AT_ONCE]
            sum_of[:] = 0
            for word, row in zip(probe[first : first + _IN_A_BYTE], words, strict=True):
                np.bitwise_xor(row, word, out=each)
                sum_of += np.bitwise_count(each, out=count)
            sums += sum_of
    return distances


_NO_NUMBERS: NDArray[Any] = np.empty(0, dtype=np.int64)


@dataclass(frozen=True, slots=True)
class ViewPart:
    """One owner in a view, and which of its records the asker may see."""

    scope: Scope
    #: None = all of them: they are the asker's own.
    tiers: frozenset[str] | None = None
    #: Tier -> the share that grants it; empty for what is the asker's own or the team's.
    shares: tuple[tuple[str, str], ...] = ()

    @property
    def is_team(self) -> bool:
        return self.scope.user == TEAM and self.tiers is not None and not self.shares

    def share_of(self, tier: str) -> str | None:
        """The share that grants a tier; None where nobody had to."""
        return dict(self.shares).get(tier)

    def shows(self, *, tier: str, kind: str, private: bool, quiet: int) -> bool:
        """Whether a record is for the asker. The rules of others are not obeyed, so they are not
        shown either; what one agent keeps for itself, and what quotes a turn, is not shared with
        another workspace."""
        if self.tiers is None:
            return True
        if tier not in self.tiers or (tier, kind) == ("procedure", "instruction"):
            return False
        return not (self.shares and (private or quiet))


@dataclass(frozen=True, slots=True)
class Variety:
    """Which documents an index holds: of every tier or of one, and how quiet ones."""

    tier: str | None
    most_quiet: int


LOUD = "loud"
ALL = "all"


def variety(which: str) -> Variety:
    """`loud`: what every search looks at. `all`: also what only quotes a turn. A tier: all of it
    and nothing else."""
    if which == LOUD:
        return Variety(None, 0)
    return Variety(None if which == ALL else which, 1)


#: BM25, as in the literature; and what a neighbour's words count in a window, one turn away and two
#: (docs/decisions/0006).
K1 = 1.2
B = 0.75
BESIDE_SHARES = (0.7, 0.49)


@dataclass(frozen=True, slots=True)
class Population:
    """What there is of an owner of whom only some documents are in a view."""

    owner: LargeOwner
    #: By term of the question.
    holders: Mapping[str, Frequency]
    #: BM25 of the whole session of a turn, of which some turns may be in the view; not of all.
    sessions: Mapping[str, float] = field(default_factory=dict)

    def of(self, making: str, terms: Sequence[str]) -> tuple[Counted, list[int]]:
        """How much there is of a making, and how many of them hold each term: "documents",
        "people", "windows" or "sessions"."""
        counted = self.owner.every if making == "documents" else getattr(self.owner, making)
        return counted, [getattr(self.holders[term], making) for term in terms]


@dataclass(frozen=True, slots=True)
class View:
    """A moment of an index. Documents are numbered from 0; arrays are indexed by that number."""

    ids: Sequence[str]
    #: The number of an id of the asker's own; it may know of documents that came after this moment.
    numbers: Mapping[str, int]
    #: Neither forgotten nor put aside.
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
    #: The number of a derived document's first source; -1: it has none, -2: one that is not here.
    source: NDArray[np.int32]
    #: Text of a role, name, agent, session, kind or tier -> its code; None is coded as -1.
    codes: Mapping[str, int]
    segments: tuple[Segment, ...]
    vectors: VectorView | None
    #: What is derived from this moment once and used by many searches.
    kept: dict[str, Any] = field(default_factory=dict)
    #: When it was last seen, told or used; if never, since when it is known.
    seen_us: NDArray[np.int64] = field(default_factory=lambda: _NO_NUMBERS)
    #: How present it was then; -1 where it was never touched.
    strength: NDArray[np.float32] = field(default_factory=lambda: _NO_NUMBERS)
    quiet: NDArray[np.int8] = field(default_factory=lambda: _NO_NUMBERS)
    #: Put aside, but not forgotten: `alive | archived` is what is not forgotten.
    archived: NDArray[np.bool_] = field(default_factory=lambda: _NO_NUMBERS)
    #: Whose word it is, coded as the texts above.
    origins: NDArray[np.int32] = field(default_factory=lambda: _NO_NUMBERS)
    #: For the agent that wrote it and nobody else.
    private: NDArray[np.bool_] = field(default_factory=lambda: _NO_NUMBERS)
    #: True when there is one that was touched, put aside or private.
    has_touched: bool = False
    has_archived: bool = False
    has_private: bool = False
    #: Whose records these are, the asker's own first; the place here of each document's owner; and
    #: by owner the number of an id, as `numbers`.
    parts: tuple[ViewPart, ...] = ()
    owners: NDArray[np.int16] = field(default_factory=lambda: _NO_NUMBERS)
    numbers_of: tuple[Mapping[str, int], ...] = ()
    #: None: all that the asker can see is here.
    population: Population | None = None

    def __len__(self) -> int:
        return len(self.alive)

    def once(self, name: str, make: Callable[[], T]) -> T:
        """What many searches need, made once for this moment."""
        if name not in self.kept:
            self.kept[name] = make()
        kept: T = self.kept[name]
        return kept

    def code(self, text: str) -> int:
        """The code of a text; one that is nowhere where no document has it."""
        return self.codes.get(text, -2)

    def texts(self) -> dict[int, str]:
        """The text of each code."""
        return {code: text for text, code in self.codes.items()}

    def is_one_of(self, column: NDArray[np.int32], codes: Iterable[int]) -> NDArray[np.bool_]:
        """Where a coded column holds one of these codes: looked up, not searched. -1 is a code as
        any other, and what is not there may be any number below it."""
        table = np.zeros(len(self.codes) + 1, dtype=np.bool_)
        table[[code for code in codes if code >= -1]] = True  # -1 is the last place.
        found: NDArray[np.bool_] = table[column]
        return found

    def codes_in(self, column: NDArray[np.int32]) -> list[int]:
        """The codes that a coded column holds, in order."""
        counts = np.bincount(column + 1, minlength=1)
        found: list[int] = (np.flatnonzero(counts) - 1).tolist()
        return found


class Columns:
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
        ("origins", np.int32),
        ("kinds", np.int32),
        ("tiers", np.int32),
        ("source", np.int32),
        ("seen_us", np.int64),
        ("strength", np.float32),
        ("quiet", np.int8),
        ("archived", np.bool_),
        ("private", np.bool_),
        ("owners", np.int16),
    )

    def __init__(self) -> None:
        self.count = 0
        self._arrays: dict[str, NDArray[Any]] = {
            name: np.empty(64, dtype=kind) for name, kind in self.KINDS
        }

    def extend(self, more: int, columns: Mapping[str, NDArray[Any] | int]) -> None:
        """Add `more` rows; a number instead of a column stands in all of them."""
        end = self.count + more
        for name, array in self._arrays.items():
            roomy = array
            if end > len(array):
                roomy = np.empty(max(end, len(array) * 2), dtype=array.dtype)
                roomy[: self.count] = array[: self.count]
                self._arrays[name] = roomy
            roomy[self.count : end] = columns[name]
        self.count = end

    def replace(self, name: str, numbers: Sequence[int], values: ArrayLike) -> bool:
        """Put values into a column; whether it is another one now."""
        new = np.asarray(values, dtype=self._arrays[name].dtype)
        if np.array_equal(self._arrays[name][list(numbers)], new):
            return False
        # A copy: a search under way keeps what it saw.
        array = self._arrays[name].copy()
        array[list(numbers)] = new
        self._arrays[name] = array
        return True

    def __getitem__(self, name: str) -> NDArray[Any]:
        return self._arrays[name][: self.count]
