"""What a search works on: a moment of an index, and the owners whose records are in it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from holdfast.index.postings import Segment
from holdfast.index.vectors import VectorView
from holdfast.store.protocols import Change
from holdfast.types import TEAM, Scope

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

    def of(self, changes: Sequence[Change]) -> list[Change]:
        """The documents among some records."""
        most, tier = self.most_quiet, self.tier
        # What was only heard is in the graph, not here. An owner may have 100,000: no calls.
        found = [
            each for each in changes if each.quiet <= most and (each.terms or each.tier != "graph")
        ]
        return found if tier is None else [each for each in found if each.tier == tier]


LOUD = "loud"
ALL = "all"


def variety(which: str) -> Variety:
    """`loud`: what every search looks at. `all`: also what only quotes a turn. A tier: all of it
    and nothing else."""
    if which == LOUD:
        return Variety(None, 0)
    return Variety(None if which == ALL else which, 1)


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

    def __len__(self) -> int:
        return len(self.alive)

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

    def extend(self, more: int, columns: Mapping[str, Iterable[Any] | int]) -> None:
        """Add `more` rows; a number instead of a column stands in all of them."""
        end = self.count + more
        for name, array in self._arrays.items():
            roomy = array
            if end > len(array):
                roomy = np.empty(max(end, len(array) * 2), dtype=array.dtype)
                roomy[: self.count] = array[: self.count]
                self._arrays[name] = roomy
            given = columns[name]
            if not isinstance(given, int):
                given = np.fromiter(given, array.dtype, count=more)
            roomy[self.count : end] = given
        self.count = end

    def replace(self, name: str, numbers: Sequence[int], values: Sequence[Any]) -> bool:
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
