"""Whether the time of something grows with the length of a text, and not with its square.

Time is that of the thread: others are at work on the machine. What counts is how it grows from one
size to the next, each the fastest of some tries, and never how long it is. The sizes are climbed
from small ones, so that what grows fast is found out before it takes long.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import log2
from time import thread_time

#: Characters: those that count, and those on the way to them.
SIZES = (10_000, 20_000, 40_000, 80_000)
STEPS = (24, 32, 40, 640, 2_560)
#: Twice the text takes twice the time, and with its square four times. Between lies the noise.
MOST_PER_DOUBLING = 2.6
#: Seconds under which a clock tells more of the machine than of the code.
NOISE_S = 0.0015
#: Doublings in a row that must be too slow: a repeat with a bound grows up to that bound, and one
#: doubling alone may be a cache that was left. What takes seconds is not waited for.
_DOUBLINGS, _FEWER = 3, 1.9
_LONG_S, _AGAIN_S, _VERY_LONG_S = 0.3, 1.0, 5.0
#: At the smallest size that counts: even with the cube of the text, the largest takes seconds only.
_QUICK_S = 0.02
_SHORT = 100
_TRIES = 6


@dataclass(frozen=True, slots=True)
class Grown:
    """The times of one thing, by the size of the text."""

    what: str
    times: tuple[tuple[int, float], ...]
    is_linear: bool

    def __str__(self) -> str:
        return f"{self.what}: " + ", ".join(f"{size}: {took:.3f} s" for size, took in self.times)


def grown(what: str, prepare: Callable[[int], Callable[[], object]], sizes: Sequence[int]) -> Grown:
    """Time `prepare(size)()` for each size, up to where it is clear that it is not linear.

    What is quick at the smallest size that counts is timed at the largest one next, and at those
    between only where it took longer than that allows."""
    times: list[tuple[int, float]] = []
    for size in sizes:
        times.append((size, _timed(prepare(size))))
        if _is_too_slow(times):
            times = _fastest(prepare, times)
            if _is_too_slow(times):
                return Grown(what, tuple(times), is_linear=False)
        if size == SIZES[0] and sizes[-1] > size and times[-1][1] < _QUICK_S:
            ends = [*times, (sizes[-1], _timed(prepare(sizes[-1])))]
            if not _is_too_slow(ends):
                return Grown(what, tuple(ends), is_linear=True)
    return Grown(what, tuple(times), is_linear=True)


def _is_too_slow(times: Sequence[tuple[int, float]]) -> bool:
    """The last sizes were each too slow for the one before, over some doublings."""
    size, took = times[-1]
    if size < _SHORT and took > NOISE_S * 10:
        return True  # Twice as slow with every character: the next size would not end.
    doublings = 0.0
    long = [each for each in times if each[0] >= _SHORT]
    for (small, first), (large, then) in reversed(list(pairwise(long))):
        times_twice = log2(large / small)
        if then < NOISE_S or (then / max(first, NOISE_S / 8)) <= MOST_PER_DOUBLING**times_twice:
            return False
        doublings += times_twice
        if doublings >= (_FEWER if then > _LONG_S else _DOUBLINGS):
            return True
    return False


def _fastest(
    prepare: Callable[[int], Callable[[], object]], times: Sequence[tuple[int, float]]
) -> list[tuple[int, float]]:
    """The same, timed again, the fastest of each. Round by round: a machine that is slow for a
    while is so for all sizes. What took very long is no noise."""
    best = dict(times)
    for left in reversed(range(_TRIES)):
        for size, took in times:
            if took < _AGAIN_S or (took < _VERY_LONG_S and not left):
                best[size] = min(best[size], _timed(prepare(size)))
    return list(best.items())


def _timed(run: Callable[[], object]) -> float:
    began = thread_time()
    run()
    return thread_time() - began
