"""What a document is read into, how much may be read, and the collecting of sections."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field

from holdfast.errors import TooLarge

MIB = 1024 * 1024
#: A longer line is no heading, whatever it looks like.
MOST_HEADING = 120


@dataclass(frozen=True, slots=True)
class Section:
    """Text that stands under the same headings."""

    #: From the outermost to the nearest.
    headings: tuple[str, ...]
    #: Blocks with an empty line between them.
    text: str
    #: Counts from 1; None where the format has no pages.
    page: int | None = None


@dataclass(frozen=True, slots=True)
class ReadDocument:
    """What a reader found in a document."""

    title: str
    sections: tuple[Section, ...]
    #: What the document says about itself, such as its author.
    about: dict[str, str] = field(default_factory=dict)
    #: What was lost or guessed on the way.
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ReadLimits:
    """How much of a document may be read. What is over a limit is refused, never cut off."""

    bytes: int = 20 * MIB
    pages: int = 5_000
    chunks: int = 10_000
    #: For reading and cutting together.
    seconds: float = 60.0
    #: What the process that reads a PDF may take.
    memory_bytes: int = 1024 * MIB


class Deadline:
    """The time that is left to read a document, by a clock of its own: it measures effort."""

    def __init__(
        self, seconds: float, name: str, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._clock = clock
        self._name = name
        self._seconds = seconds
        self._ends = clock() + seconds

    @property
    def left(self) -> float:
        return self._ends - self._clock()

    def check(self) -> None:
        """Raise when the time is over."""
        if self.left <= 0:
            raise self.over()

    def over(self) -> TooLarge:
        """The error that says so."""
        return TooLarge(
            f"{self._name} takes longer to read than the limit of {self._seconds:g} seconds",
            field="source",
        )


class Outline:
    """Collects headings and blocks, in order, into sections."""

    def __init__(self) -> None:
        self._sections: list[Section] = []
        self._path: list[tuple[int, str]] = []
        self._blocks: list[str] = []

    def heading(self, level: int, title: str) -> None:
        """Begin a section under a heading; what is too long to be one is a block."""
        title = " ".join(title.split())
        if not title:
            return
        if len(title) > MOST_HEADING:
            self.block(title)
            return
        self._close(level)
        while self._path and self._path[-1][0] >= level:
            self._path.pop()
        self._path.append((level, title))

    def block(self, text: str) -> None:
        """Add a paragraph, a list, a table or a block of code."""
        if text.strip():
            self._blocks.append(text.strip("\n"))

    def sections(self) -> tuple[Section, ...]:
        """Everything so far."""
        self._close(0)
        self._path = []
        return tuple(self._sections)

    def _close(self, level: int) -> None:
        """End a section. A heading with nothing under it is text: else nobody would find it."""
        path = tuple(title for _, title in self._path)
        if self._blocks:
            self._sections.append(Section(path, "\n\n".join(self._blocks)))
        elif path and level <= self._path[-1][0] and not self._is_told(path):
            self._sections.append(Section(path[:-1], path[-1]))
        self._blocks = []

    def _is_told(self, path: tuple[str, ...]) -> bool:
        """Whether the last section stands under this heading, so that its path tells it."""
        return bool(self._sections) and self._sections[-1].headings[: len(path)] == path
