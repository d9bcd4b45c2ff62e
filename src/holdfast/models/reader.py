"""The model that reads: which lines of a turn state something, and how two lines relate.

One pass over a turn gives, for each token, one number a column (`COLUMNS`). A line begins where a
sentence surely does, at a line break, and where the column `start` says so; what is said of a line
is the mean over its tokens. Two lines are compared in one pass, the known one first, by layers that
do nothing else. How the model is trained: `training/`.

It is the same file as the embedder (local.py), what reads is the same encoder, and it is as cheap:
a few milliseconds a turn on one core, linear in the length of the text.
"""

from __future__ import annotations

import math
import re
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from holdfast.models.local import FOLDERS, MAX_TOKENS, OWN, ModelParts, load, run, threads_here

#: What a line does. `fact`: it states something that lasts; `others`: somebody else's rule;
#: `recall`: it cannot be answered without what the user said before.
TAGS = ("fact", "rule", "withdraw", "ask", "quote", "others", "filler", "chat", "recall")
#: What a fact is about.
KINDS = (
    "identity", "home", "work", "people", "health", "preference", "possession", "plan",
    "decision", "project", "event",
)  # fmt: skip
#: How a line relates to a known one.
RELATIONS = ("unrelated", "same", "adds", "replaces", "corrects", "withdraws", "both")
COLUMNS = ("start", *TAGS, *KINDS, "me", "other", "value", "condition")

_TAG = slice(1, 1 + len(TAGS))
_KIND = slice(_TAG.stop, _TAG.stop + len(KINDS))
_ME, _OTHER, _VALUE, _CONDITION = range(_KIND.stop, _KIND.stop + 4)
_WORD = re.compile(r"\S+")
_ENDS = re.compile(r"[.!?…。！？][\"'”’)\]]*$")
#: Token ids that stand before a text, between two and behind, and before the line that is new.
_FIRST, _SEPARATOR, _BAR = 101, 102, 1064
#: Tokens of a known line, of what stood before the new one, and of the new one: as in training.
_KNOWN, _BEFORE, _NEW = 80, 40, 100
_REMEMBERED = 2_000
#: Characters of small talk, and how sure the model must be that it is.
_LONGEST_IDLE = 80
_IDLE, _BUSY = 0.6, 0.5
_BUSY_TAGS = ("ask", "fact", "rule", "withdraw", "recall")
#: Characters of a message that anybody could answer, and from which probability on one asks for
#: memories: by the development part of `training/`.
_LONGEST_GENERAL, _RECALLS = 300, 0.1
#: From which on a line asks, and from which on it says something that lasts.
_ASKS, _STATES = 0.5, 0.5
#: How sure a line must begin in the middle of a sentence, as a logit: half a name is no statement.
_STARTS = 3.0
#: And behind a number or a title with a full stop: "on the 3. of May", "Dr. Bell".
_STARTS_BEHIND_NUMBER = -1.0
_NUMBER_OR_TITLE = re.compile(
    r"(?:^|\W)(?:\d{1,2}|[^\W\d_]|mrs?|ms|dra?|prof|st|no|nr|ca|vs|mme|sra?|sig|dott)\.$", re.I
)


@dataclass(frozen=True, slots=True)
class ReadLine:
    """A sentence or clause of a turn, and what the model takes it for."""

    start: int
    end: int
    text: str
    #: The line before it in its turn.
    before: str
    #: The probability of each of `TAGS`.
    tags: dict[str, float]
    #: The likeliest of `KINDS`.
    kind: str
    #: Whether it speaks of the one who says it.
    is_own: bool
    #: The words that tell the value, and under which condition a rule holds; empty: none.
    value: str
    condition: str
    #: It stands behind a stop, and the model takes it for more of what the line before it says.
    goes_on: bool = False


class LineReader(Protocol):
    """Reads turns line by line."""

    def lines(self, text: str) -> list[ReadLine]:
        """The lines of a turn."""

    def relations(self, new: str, before: str, known: Sequence[str]) -> list[dict[str, float]]:
        """How a line, behind what stood before it, relates to known ones."""


def is_idle(text: str, reader: LineReader) -> bool:
    """Whether a message asks and tells nothing: thanks, greetings, small talk."""
    if len(text) > _LONGEST_IDLE:
        return False
    return all(
        line.tags["filler"] + line.tags["chat"] >= _IDLE
        and max(line.tags[each] for each in _BUSY_TAGS) < _BUSY
        for line in reader.lines(text)
    )


def is_general(text: str, reader: LineReader) -> bool:
    """Whether anybody could answer a message, without knowing who asks."""
    if len(text) > _LONGEST_GENERAL:
        return False
    return all(line.tags["recall"] < _RECALLS for line in reader.lines(text))


def is_question(text: str, reader: LineReader) -> bool:
    """Whether every line of a message asks something."""
    return all(line.tags["ask"] >= _ASKS for line in reader.lines(text))


def states_something(text: str, reader: LineReader) -> bool:
    """Whether a text says something that lasts."""
    return any(line.tags["fact"] >= _STATES for line in reader.lines(text))


class LocalReader:
    """Reads on this machine. Threads may share it."""

    def __init__(self, *, folder: Path = FOLDERS[OWN], threads: int | None = None) -> None:
        self._folder = folder
        self._threads = threads or threads_here()
        self._lock = threading.Lock()
        self._parts: ModelParts | None = None
        #: Plans are made anew, and ask the same again.
        self._related = lru_cache(maxsize=_REMEMBERED)(self._relation)

    def lines(self, text: str) -> list[ReadLine]:
        """The lines of a turn, in order."""
        found: list[ReadLine] = []
        parts = self._load()
        for window in _windows(text, parts.words.encode):
            columns = self._run(window.ids, "columns")[1:-1]
            for first, last in _lines_of(window, columns):
                found.append(_read(text, window, columns, (first, last), found))
        return found

    def relations(self, new: str, before: str, known: Sequence[str]) -> list[dict[str, float]]:
        """How a line, behind what stood before it, relates to each of some known ones."""
        return [self._related(new, before, each) for each in known]

    def _relation(self, new: str, before: str, known: str) -> dict[str, float]:
        encode = self._load().words.encode
        told = encode(known)[1:-1][:_KNOWN]
        context = [*encode(before)[1:-1][-_BEFORE:], _BAR] if before else []
        ids = [*told, _SEPARATOR, *context, *encode(new)[1:-1][:_NEW]]
        logits = self._run(ids, "relations").mean(axis=0)
        odds = np.exp(logits - logits.max())
        return dict(zip(RELATIONS, (odds / odds.sum()).tolist(), strict=True))

    def _run(self, ids: list[int], output: str) -> NDArray[np.float32]:
        """What the model says of each token, of the marks around them too."""
        columns: NDArray[np.float32] = run(self._load(), [[_FIRST, *ids, _SEPARATOR]], output)[0]
        return columns

    def _load(self) -> ModelParts:
        with self._lock:
            if self._parts is None:
                self._parts = load(self._folder, self._threads)
            return self._parts


@dataclass(frozen=True, slots=True)
class _Window:
    """A part of a text that the model can read at once."""

    #: Token ids, and the first token of each word and one more.
    ids: list[int]
    firsts: list[int]
    #: Where the words stand in the text.
    words: list[tuple[int, int]]
    #: How sure the model must be, as a logit, that a line begins at each word.
    least: list[float]


def _windows(text: str, encode: Callable[[str], list[int]]) -> Iterator[_Window]:
    """The text in parts of as many words as fit; cut where a line begins, if one does."""
    made = _Window([], [0], [], [])
    ends_before = 0
    for match in _WORD.finditer(text):
        pieces = encode(match.group())[1:-1][: MAX_TOKENS - 2]
        gap = text[ends_before : match.start()]
        before = text[made.words[-1][0] : made.words[-1][1]] if made.words else ""
        least = _least_sure(before, gap)
        if len(made.ids) + len(pieces) > MAX_TOKENS - 2:
            yield made
            made = _Window([], [0], [], [])
        made.ids.extend(pieces)
        made.firsts.append(len(made.ids))
        made.words.append(match.span())
        made.least.append(least)
        ends_before = match.end()
    if made.words:
        yield made


def _least_sure(before: str, gap: str) -> float:
    """How sure the model must be that a line begins behind a word and what follows that."""
    if "\n" in gap:
        return -math.inf
    if not _ENDS.search(before):
        return _STARTS
    return _STARTS_BEHIND_NUMBER if _NUMBER_OR_TITLE.search(before) else -math.inf


def _lines_of(window: _Window, columns: NDArray[np.float32]) -> Iterator[tuple[int, int]]:
    """The first word of each line, and the word after its last."""
    starts = [
        place
        for place, (first, least) in enumerate(zip(window.firsts, window.least, strict=False))
        if not place or (first < len(columns) and columns[first, 0] > least)
    ]
    yield from pairwise([*starts, len(window.words)])


def _goes_on(text: str, window: _Window, columns: NDArray[np.float32], word: int) -> bool:
    """Whether a line that begins with a word says more of what was said before it."""
    first = window.firsts[word]
    gap = text[window.words[word - 1][1] : window.words[word][0]] if word else "\n"
    return "\n" not in gap and first < len(columns) and bool(columns[first, 0] < 0)


def _read(
    text: str,
    window: _Window,
    columns: NDArray[np.float32],
    words: tuple[int, int],
    before: Sequence[ReadLine],
) -> ReadLine:
    start, end = window.words[words[0]][0], window.words[words[1] - 1][1]
    first, last = window.firsts[words[0]], window.firsts[words[1]]
    mean = columns[first:last].mean(axis=0) if last > first else np.full(len(COLUMNS), -9.0)
    tags = {name: _odds(value) for name, value in zip(TAGS, mean[_TAG].tolist(), strict=True)}
    return ReadLine(
        start=start,
        end=end,
        text=text[start:end],
        before=before[-1].text if before else "",
        tags=tags,
        kind=KINDS[int(np.argmax(mean[_KIND]))],
        is_own=bool(mean[_ME] >= mean[_OTHER]),
        value=_marked(text, window, columns, words, _VALUE),
        condition=_marked(text, window, columns, words, _CONDITION),
        goes_on=_goes_on(text, window, columns, words[0]),
    )


def _marked(
    text: str, window: _Window, columns: NDArray[Any], words: tuple[int, int], column: int
) -> str:
    """The longest run of words of a line that a column marks."""
    runs: list[tuple[int, int]] = []
    for word in range(*words):
        first, last = window.firsts[word], window.firsts[word + 1]
        if last > first and float(columns[first:last, column].mean()) > 0:
            joins = bool(runs) and runs[-1][1] == word
            runs[-1:] = [(runs[-1][0], word + 1)] if joins else [*runs[-1:], (word, word + 1)]
    if not runs:
        return ""
    start, end = max(runs, key=lambda run: run[1] - run[0])
    return text[window.words[start][0] : window.words[end - 1][1]].strip(" ,;:.!?")


def _odds(value: float) -> float:
    return 1.0 / (1.0 + math.exp(-max(min(value, 30.0), -30.0)))
