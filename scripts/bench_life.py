"""What fading costs: nothing is written, and recall is as fast as without it.

Stores notes (100,000 unless told otherwise), lets half of them fade by moving the clock, and times
the same questions with fading and without (`filters={"faded": True}`), in turns, so that whatever
else the machine does falls on both. Time is told by the wall and by what the asking thread itself
took, which a busy machine moves less; the second decides. Prints a table; exits 1 when the median
costs more than a millisecond or anything was written.

    python scripts/bench_life.py [--notes N] [--rounds N]
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from hashlib import blake2b
from pathlib import Path
from typing import NamedTuple

import holdfast
from holdfast.index.view import packed
from holdfast.language.terms import terms
from holdfast.memory.memory import Memory
from holdfast.recall.candidates import unfaded_mask
from holdfast.recall.query import query
from holdfast.store.protocols import Derived
from holdfast.testing import HashEmbedder
from holdfast.types import Scope

ANN = Scope("default", "ann")
START = datetime(2026, 1, 1, tzinfo=UTC)
MOST_MS = 1.0
WORDS = (
    "river", "cat", "train", "garden", "music", "paper", "winter", "coffee", "market", "letter",
    "bridge", "window",
)  # fmt: skip
BATCH = 5_000


def a_note(number: int, at: datetime) -> Derived:
    picked = [WORDS[(number // 12**place + place) % 12] for place in range(4)]
    text = f"Note {number}: {' '.join(picked)}."
    row, length = packed(terms(text))
    return Derived(
        id=blake2b(text.encode(), digest_size=16).hexdigest(),
        tier="note", kind="note", content=text, data={}, confidence=1.0, importance=0.5,
        origin="agent", terms=row, length=length, valid_from=at, sources=(), role="assistant",
    )  # fmt: skip


def fill(memory: Memory, count: int) -> None:
    """Half of the notes at the start, half of them ten days later."""
    for begin in range(0, count, BATCH):
        at = START if begin < count // 2 else START + timedelta(days=10)
        notes = [a_note(number, at) for number in range(begin, min(begin + BATCH, count))]
        memory.store.put(ANN, notes, known_at=at, steps=[])


class Took(NamedTuple):
    """Milliseconds."""

    wall: float
    own: float


def timed(work: Callable[[], object]) -> Took:
    """By the wall, and of this thread."""
    wall, own = time.perf_counter(), time.thread_time()
    work()
    return Took(1000 * (time.perf_counter() - wall), 1000 * (time.thread_time() - own))


def asking(memory: Memory, number: int, *, faded: bool) -> Callable[[], object]:
    """A question, always the same for a number."""
    text = f"the {WORDS[number % 12]} by the {WORDS[(number * 5 + 3) % 12]}"
    return lambda: memory.recall(text, user="ann", filters={"faded": faded})


def measure(memory: Memory, rounds: int) -> tuple[list[Took], list[Took]]:
    """What each recall took, with fading and without; which comes first takes turns."""
    times: dict[bool, list[Took]] = {False: [], True: []}
    for number in range(rounds):
        for faded in (False, True) if number % 2 else (True, False):
            times[faded].append(timed(asking(memory, number, faded=faded)))
    return times[False], times[True]


def main() -> int:
    """Fill, ask, print."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--notes", type=int, default=100_000)
    parser.add_argument("--rounds", type=int, default=60)
    options = parser.parse_args()
    clock = [START + timedelta(days=10)]
    with tempfile.TemporaryDirectory() as folder:
        memory = holdfast.open(
            Path(folder) / "m.db",
            config={"extraction": {"enabled": False}},
            embedder=HashEmbedder(32),
            worker=False,
            clock=lambda: clock[0],
        )
        with memory:
            fill(memory, options.notes)
            memory.recall("the river", user="ann")
            clock[0] = START + timedelta(days=14)
            before = memory.store.head(ANN)
            measure(memory, 5)
            with_it, without = measure(memory, options.rounds)
            wrote = memory.store.head(ANN) != before
            view = memory._searcher._indexes.view(ANN, None)
            asked = query(
                "river", ANN, limit=10, now=clock[0], as_of=None, known_at=None, filters=None
            )
            first = timed(lambda: unfaded_mask(replace(view, kept={}), asked)).own
            later = statistics.median(
                timed(lambda: unfaded_mask(view, asked)).own for _ in range(50)
            )
            mask = unfaded_mask(view, asked)
            hidden = 0 if mask is None else int((~mask).sum())
    print(f"{options.notes:,} notes, {hidden:,} of them faded, {options.rounds} questions each")
    added = 0.0
    for name in Took._fields:
        pairs = [
            (getattr(a, name), getattr(b, name)) for a, b in zip(with_it, without, strict=True)
        ]
        added = statistics.median(a - b for a, b in pairs)
        medians = [statistics.median(each) for each in zip(*pairs, strict=True)]
        print(
            f"recall, {name:4} ms: {medians[0]:.2f} with fading, {medians[1]:.2f} without,"
            f" {added:+.2f} in the median pair (at most {MOST_MS})"
        )
    print(f"the mask alone: {later:.3f} ms, for the first search of a moment {first:.2f} ms")
    print(f"anything written: {'YES' if wrote else 'no'}")
    return int(wrote or added > MOST_MS or not hidden)


if __name__ == "__main__":
    sys.exit(main())
