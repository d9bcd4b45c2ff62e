"""Where the boxes of a drawing go: linked ones near each other, none on top of another.

Each connected part is spread out so that distances on the page match steps in the graph (stress
majorization: Gansner, Koren, North 2004), then boxes that touch are pushed apart, then the parts
are set in rows. The same graph gives the same drawing: nothing here is random.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Link = tuple[int, int]

#: Pixels for one step in the graph. Boxes are wider than high: so is the space between them.
_STEP = 105.0
_WIDER = 1.55
#: Space that stays free around a box, across and down.
_MARGIN = np.array([30.0, 26.0])
#: And more of it where a line with words runs.
_WORDS = np.array([85.0, 10.0])
#: How much of their page the boxes of a part, with that space, may cover.
_FULL = 0.5
_ROUNDS = 120
#: Of rounds times boxes: a drawing of a thousand need not be as fine.
_MOST_WORK = 40_000
_PUSHES = 60
#: Width of a page for its height.
_ASPECT = 1.5
_GAP = 30.0
_NARROWEST = 760.0


class Layout(NamedTuple):
    """The middle of each box, and the size of the page that holds them all."""

    middles: list[tuple[float, float]]
    width: float
    height: float


def lay_out(sizes: Sequence[tuple[float, float]], links: Sequence[Link]) -> Layout:
    """A place for every box; links are pairs of their numbers."""
    if not sizes:
        return Layout([], 0.0, 0.0)
    boxes = np.array(sizes, dtype=np.float64)
    near = _neighbours(len(sizes), links)
    placed = []
    for part in _parts(near):
        middles = _apart(_spread(part, near, boxes[part]), _needed(part, near, boxes))
        corner = (middles - boxes[part] / 2).min(axis=0)
        far = (middles + boxes[part] / 2).max(axis=0)
        placed.append((part, middles - corner, far - corner))
    return _in_rows(placed, len(sizes))


def _neighbours(count: int, links: Sequence[Link]) -> list[list[int]]:
    near: list[set[int]] = [set() for _ in range(count)]
    for a, b in links:
        if a != b:
            near[a].add(b)
            near[b].add(a)
    return [sorted(each) for each in near]


def _parts(near: Sequence[Sequence[int]]) -> list[list[int]]:
    """The connected parts, the largest first; each from its most linked box outwards."""
    parts: list[list[int]] = []
    seen: set[int] = set()
    for start in sorted(range(len(near)), key=lambda each: (-len(near[each]), each)):
        if start in seen:
            continue
        part = list(_steps_from(start, near))
        seen.update(part)
        parts.append(part)
    return sorted(parts, key=lambda part: (-len(part), part[0]))


def _steps_from(start: int, near: Sequence[Sequence[int]]) -> dict[int, int]:
    """Box -> steps, nearest first."""
    steps = {start: 0}
    queue = [start]
    for box in queue:
        for other in near[box]:
            if other not in steps:
                steps[other] = steps[box] + 1
                queue.append(other)
    return steps


def _spread(part: Sequence[int], near: Sequence[Sequence[int]], sizes: Floats) -> Floats:
    """Places whose distances are near the steps between them; the nearer, the more it counts."""
    if len(part) < 3:  # Side by side.
        far = (sizes[0, 0] + sizes[-1, 0]) / 2 + _STEP
        return np.array([[place * far, 0.0] for place in range(len(part))])
    spots = _rings(part, near)
    wanted = _distances(part, near)
    weight = np.divide(1.0, wanted**2, out=np.zeros_like(wanted), where=wanted > 0)
    laplacian = np.diag(weight.sum(axis=1)) - weight
    solve = np.linalg.inv(laplacian + 1.0 / len(part))
    pulling = weight * wanted
    for _ in range(min(_ROUNDS, _MOST_WORK // len(part))):
        lengths = np.hypot(_gaps(spots, 0), _gaps(spots, 1))
        pull = np.divide(pulling, lengths, out=np.zeros_like(lengths), where=lengths > 1e-9)
        moved = solve @ (spots * pull.sum(axis=1)[:, None] - pull @ spots)
        spots = moved - moved.mean(axis=0)
    placed: Floats = _upright(spots) * np.array([_STEP * _WIDER, _STEP])
    return placed


def _rings(part: Sequence[int], near: Sequence[Sequence[int]]) -> Floats:
    """Where it begins: the first box in the middle, the others on rings around it by their steps,
    each with as much of its ring as those behind it need."""
    steps = _steps_from(part[0], near)
    behind: dict[int, list[int]] = {box: [] for box in part}
    for box in part[1:]:
        behind[next(each for each in near[box] if steps[each] == steps[box] - 1)].append(box)
    needs = {box: 1 for box in part}
    for box in reversed(part):
        needs[box] = max(1, sum(needs[each] for each in behind[box]))
    begins = {part[0]: 0.0}
    for box in part:
        angle = begins[box]
        for each in behind[box]:
            begins[each] = angle
            angle += math.tau * needs[each] / needs[part[0]]
    angles = np.array([begins[box] + math.pi * needs[box] / needs[part[0]] for box in part])
    out = np.array([steps[box] for box in part], dtype=np.float64)[:, None]
    spots: Floats = out * np.stack([np.cos(angles), np.sin(angles)], axis=1)
    return spots


def _distances(part: Sequence[int], near: Sequence[Sequence[int]]) -> Floats:
    """Steps between all boxes of a part; a little more around a box with many links."""
    numbers = {box: place for place, box in enumerate(part)}
    wanted = np.zeros((len(part), len(part)))
    for place, box in enumerate(part):
        for other, steps in _steps_from(box, near).items():
            wanted[place, numbers[other]] = steps
    crowd = np.array([math.log2(1 + len(near[box])) for box in part])
    return np.where(wanted > 0, wanted + 0.15 * (crowd[:, None] + crowd[None, :]), 0.0)


def _upright(spots: Floats) -> Floats:
    """Turned so that the longest way lies across the page."""
    values, vectors = np.linalg.eigh(spots.T @ spots)
    if values[1] < values[0] * 1.05:  # As wide as high: there is no longest way.
        return spots
    across = vectors[:, 1] * (1 if vectors[0, 1] >= 0 else -1)
    turn = np.array([[across[0], -across[1]], [across[1], across[0]]])
    turned: Floats = spots @ turn
    return turned


def _needed(part: Sequence[int], near: Sequence[Sequence[int]], boxes: Floats) -> Floats:
    """How far the middles of two boxes must lie apart, across or down; further where a line with
    words runs between them."""
    sizes = boxes[part]
    needed: Floats = (sizes[:, None, :] + sizes[None, :, :]) / 2 + _MARGIN
    numbers = {box: place for place, box in enumerate(part)}
    for place, box in enumerate(part):
        needed[place, [numbers[each] for each in near[box]]] += _WORDS
    return needed


def _apart(middles: Floats, needed: Floats) -> Floats:
    """Push boxes apart that touch, each pair along the way that is shorter."""
    count = len(middles)
    room = float(np.prod(np.ptp(middles, axis=0)))
    full = float(needed[np.arange(count), np.arange(count)].prod(axis=1).sum())
    if room:
        middles = middles * max(1.0, math.sqrt(full / room / _FULL))
    # Each pair once, and none for a hair's breadth.
    once = np.triu(np.ones((count, count)), 1)
    across, down = (needed[:, :, 0] - 0.01) * once, (needed[:, :, 1] - 0.01) * once
    while True:
        for _ in range(_PUSHES):
            x, y = _gaps(middles, 0), _gaps(middles, 1)
            first, second = np.nonzero((np.abs(x) < across) & (np.abs(y) < down))
            if not len(first):
                return middles
            gaps = np.stack([x[first, second], y[first, second]], axis=1)
            lack = needed[first, second] - np.abs(gaps)
            axis = lack.argmin(axis=1)
            pairs = np.arange(len(first))
            push = np.where(gaps[pairs, axis] >= 0, 0.5, -0.5) * lack[pairs, axis]
            np.add.at(middles, (first, axis), push)
            np.add.at(middles, (second, axis), -push)
        middles = middles * 1.08


def _gaps(middles: Floats, axis: int) -> Floats:
    """How far each box lies from each other, in one direction."""
    gaps: Floats = np.subtract.outer(middles[:, axis], middles[:, axis])
    return gaps


def _in_rows(placed: Sequence[tuple[list[int], Floats, Floats]], count: int) -> Layout:
    """The parts in rows, the largest first, on a page that is a little wider than high."""
    area = sum((size[0] + _GAP) * (size[1] + _GAP) for _, _, size in placed)
    most = max(_NARROWEST, math.sqrt(area * _ASPECT), *(size[0] for _, _, size in placed))
    middles = np.zeros((count, 2))
    x = y = row = width = 0.0
    for part, spots, size in placed:
        if x and x + size[0] > most:
            x, y, row = 0.0, y + row + _GAP, 0.0
        middles[part] = spots + np.array([x, y])
        width = max(width, x + size[0])
        row = max(row, size[1])
        x += size[0] + _GAP
    return Layout([(float(x), float(y)) for x, y in middles], width, y + row)
