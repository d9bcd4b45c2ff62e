"""Where the lines of a drawing run, and where their words stand.

A line goes straight from box to box; where another box lies in its way it bends around it, and
where several join the same two each bends its own way.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

# All in pixels.
#: Between the middles of two lines that join the same two boxes.
_BETWEEN = 46.0
#: How much further a line may bend to get around what is in its way, the least first.
_BENDS = (0.0, 26.0, -26.0, 52.0, -52.0, 78.0, -78.0, 110.0, -110.0)
#: How near a line may come to a box that is not its own.
_NEAR = 5.0
#: Room above a box for a line that leads back to it.
LOOP = 52.0
#: Where on a line its words may stand, best first.
_SPOTS = (0.5, 0.57, 0.43, 0.64, 0.36, 0.71, 0.29, 0.78, 0.22)
_SAMPLES = np.linspace(0.02, 0.98, 33)[:, None]

Point = tuple[float, float]
Floats = NDArray[np.float64]
Link = tuple[int, int]


class Box(NamedTuple):
    """A rectangle by its middle."""

    x: float
    y: float
    width: float
    height: float

    def touches(self, other: Box) -> bool:
        across = abs(self.x - other.x) * 2 < self.width + other.width
        return across and abs(self.y - other.y) * 2 < self.height + other.height


class Way(NamedTuple):
    """A curve from border to border with one handle; with two where it leads back."""

    begin: Point
    handles: tuple[Point, ...]
    end: Point

    def at(self, t: float) -> Point:
        points = [self.begin, *self.handles, self.end]
        while len(points) > 1:
            points = [
                (ax + (bx - ax) * t, ay + (by - ay) * t) for (ax, ay), (bx, by) in pairwise(points)
            ]
        return points[0]


def ways(links: Sequence[Link], boxes: Sequence[Box], width: float, height: float) -> list[Way]:
    """A line for each link, on a page of this size."""
    together: dict[Link, list[int]] = {}
    for number, (a, b) in enumerate(links):
        together.setdefault((min(a, b), max(a, b)), []).append(number)
    walls = _Walls(boxes, width, height)
    found = []
    for number, (a, b) in enumerate(links):
        siblings = together[min(a, b), max(a, b)]
        place = siblings.index(number) - (len(siblings) - 1) / 2
        # Seen from the same end, so that a line there and one back do not bend the same way.
        side = 1 if a < b else -1
        found.append(
            _loop(boxes[a], siblings.index(number))
            if a == b
            else _around(boxes, (a, b), place * _BETWEEN * side, walls)
        )
    return found


def free(way: Way, width: float, height: float, taken: Sequence[Box]) -> Box | None:
    """The first place on a line where its words cover nothing; None: there is none."""
    xs, ys = zip(*(way.begin, *way.handles, way.end), strict=True)
    left, right, top, bottom = min(xs), max(xs), min(ys), max(ys)
    whole = Box(
        (left + right) / 2, (top + bottom) / 2, right - left + 2 * width, bottom - top + 2 * height
    )
    taken = [each for each in taken if each.touches(whole)]
    for spot in _SPOTS:
        x, y = way.at(spot)
        box = Box(x, y, width, height)
        if not any(box.touches(other) for other in taken):
            return box
    return None


class _Walls:
    """What lines keep away from: boxes and the edges of the page."""

    def __init__(self, boxes: Sequence[Box], width: float, height: float) -> None:
        all_boxes = np.array(boxes, dtype=np.float64).reshape(-1, 4)
        self._middles = all_boxes[:, :2]
        self._reach = all_boxes[:, 2:] / 2 + _NEAR
        self._page = np.array([width, height])

    def met(self, way: Way, link: Link) -> int:
        """How many points of a line lie in a box that is not its own, or off the page."""
        (handle,) = way.handles
        begin, middle, end = (np.array(each) for each in (way.begin, handle, way.end))
        t = _SAMPLES
        points = (1 - t) ** 2 * begin + 2 * t * (1 - t) * middle + t**2 * end
        # Only boxes beside the line as a whole are worth a closer look.
        low, high = points.min(axis=0) - self._reach, points.max(axis=0) + self._reach
        beside = ((low < self._middles) & (self._middles < high)).all(axis=1)
        beside[list(link)] = False
        gaps = np.abs(points[:, None, :] - self._middles[beside])
        inside = (gaps < self._reach[beside]).all(axis=2)
        off = ((points < _NEAR) | (points > self._page - _NEAR)).any(axis=1)
        return int(inside.sum() + off.sum())


def _around(boxes: Sequence[Box], link: Link, bend: float, walls: _Walls) -> Way:
    """The line that meets least; of those the straightest."""
    best, fewest = None, math.inf
    for more in _BENDS:
        way = _way(boxes[link[0]], boxes[link[1]], bend + more)
        met = walls.met(way, link)
        if met < fewest:
            best, fewest = way, met
        if not met:
            break
    assert best is not None
    return best


def _way(begin: Box, end: Box, bend: float) -> Way:
    dx, dy = end.x - begin.x, end.y - begin.y
    length = math.hypot(dx, dy) or 1.0
    handle = (
        (begin.x + end.x) / 2 - dy / length * bend * 2,
        (begin.y + end.y) / 2 + dx / length * bend * 2,
    )
    return Way(_border(begin, handle, 1), (handle,), _border(end, handle, 3))


def _loop(box: Box, place: int) -> Way:
    """From a box to itself, above it; the next one outside the last."""
    high = box.y - box.height / 2
    out = 36 + 14 * place
    rise = min(LOOP, 40 + 8 * place) / 0.75
    begin, end = (box.x - 14, high), (box.x + 14, high - 2)
    return Way(begin, ((box.x - out, high - rise), (box.x + out, high - rise)), end)


def _border(box: Box, towards: Point, gap: float) -> Point:
    """Where the line from the middle of a box to a point leaves the box."""
    dx, dy = towards[0] - box.x, towards[1] - box.y
    across = (box.width / 2 + gap) / abs(dx) if dx else math.inf
    down = (box.height / 2 + gap) / abs(dy) if dy else math.inf
    share = min(across, down, 1.0)
    return box.x + dx * share, box.y + dy * share
