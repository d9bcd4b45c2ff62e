"""A graph as a drawing: SVG that needs nothing else, by day and by night.

No script, no font, no link; every text is escaped. A line whose words found no free place keeps
them as its tooltip.
"""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from html import escape
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from holdfast.service.graph_text import COLOURS, edge_text, kind, plain, short, tally, title
from holdfast.types import Edge, Node, Subgraph

# Where the boxes of a drawing go: linked ones near each other, none on top of another.
#
# Each connected part is spread out so that distances on the page match steps in the graph (stress
# majorization: Gansner, Koren, North 2004), then boxes that touch are pushed apart, then the
# parts are set in rows. The same graph gives the same drawing: nothing here is random.

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
_NARROWEST_DRAWING = 760.0


class DrawingLayout(NamedTuple):
    """The middle of each box, and the size of the page that holds them all."""

    middles: list[tuple[float, float]]
    width: float
    height: float


def lay_out(sizes: Sequence[tuple[float, float]], links: Sequence[Link]) -> DrawingLayout:
    """A place for every box; links are pairs of their numbers."""
    if not sizes:
        return DrawingLayout([], 0.0, 0.0)
    boxes = np.array(sizes, dtype=np.float64)
    near = _neighbours(len(sizes), links)
    placed = []
    for part in _parts(near):
        middles = _push_apart(_spread(part, near, boxes[part]), _least_gaps(part, near, boxes))
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


def _least_gaps(part: Sequence[int], near: Sequence[Sequence[int]], boxes: Floats) -> Floats:
    """How far the middles of two boxes must lie apart, across or down; further where a line with
    words runs between them."""
    sizes = boxes[part]
    needed: Floats = (sizes[:, None, :] + sizes[None, :, :]) / 2 + _MARGIN
    numbers = {box: place for place, box in enumerate(part)}
    for place, box in enumerate(part):
        needed[place, [numbers[each] for each in near[box]]] += _WORDS
    return needed


def _push_apart(middles: Floats, needed: Floats) -> Floats:
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


def _in_rows(placed: Sequence[tuple[list[int], Floats, Floats]], count: int) -> DrawingLayout:
    """The parts in rows, the largest first, on a page that is a little wider than high."""
    area = sum((size[0] + _GAP) * (size[1] + _GAP) for _, _, size in placed)
    most = max(_NARROWEST_DRAWING, math.sqrt(area * _ASPECT), *(size[0] for _, _, size in placed))
    middles = np.zeros((count, 2))
    x = y = row = width = 0.0
    for part, spots, size in placed:
        if x and x + size[0] > most:
            x, y, row = 0.0, y + row + _GAP, 0.0
        middles[part] = spots + np.array([x, y])
        width = max(width, x + size[0])
        row = max(row, size[1])
        x += size[0] + _GAP
    return DrawingLayout([(float(x), float(y)) for x, y in middles], width, y + row)


# Where the lines of a drawing run, and where their words stand.
#
# A line goes straight from box to box; where another box lies in its way it bends around it, and
# where several join the same two each bends its own way.

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

    def count_met(self, way: Way, link: Link) -> int:
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
        met = walls.count_met(way, link)
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


# All in pixels.
_FONT = 13.0
_HUB_FONT = 15.0
_SMALL = 11.0
_PAD = 12.0
_HEIGHT = 30.0
_PAGE_PAD = 28.0
_HEAD = 58.0
_FOOT = 52.0
_NARROWEST = 420.0
_ARROW = 8.0
#: From this many relations on an entity is written larger.
_HUB_DEGREE = 5
_LONGEST_NAME = 34
_LONGEST_RELATION = 26
_LONGEST_HEADING = 60
#: Under this strength an entity is visibly paler.
_PALE = 0.5

_STYLE = """
.holdfast{font-family:system-ui,-apple-system,"Segoe UI",Roboto,"Noto Sans",sans-serif}
.holdfast .page{fill:#ffffff}
.holdfast .ink{fill:#1b1f24}
.holdfast .dim{fill:#59636e}
.holdfast .way{fill:none;stroke:#8b949e}
.holdfast .tip{fill:#8b949e}
"""
_DARK = """
.holdfast .page{fill:#0d1117}
.holdfast .ink{fill:#e6edf3}
.holdfast .dim{fill:#9da7b1}
.holdfast .way{stroke:#6e7681}
.holdfast .tip{fill:#6e7681}
"""


def svg(subgraph: Subgraph, *, heading: str = "Knowledge graph") -> str:
    """The drawing; without entities a page that says so."""
    numbers = {node.id: number for number, node in enumerate(subgraph.nodes)}
    edges = [e for e in subgraph.edges if e.source in numbers and e.target in numbers]
    links = [(numbers[edge.source], numbers[edge.target]) for edge in edges]
    degrees = _degrees(links, len(subgraph.nodes))
    names = [_name(node, degree) for node, degree in zip(subgraph.nodes, degrees, strict=True)]
    loops = {a for a, b in links if a == b}
    layout = lay_out(
        [(each.width, _HEIGHT + 2 * LOOP * (n in loops)) for n, each in enumerate(names)], links
    )
    legend = list(_legend(subgraph))
    about = _about(subgraph)
    widest = max(
        _width(short(heading, _LONGEST_HEADING), 17), _width(about, _SMALL), *_ends(legend)
    )
    width = max(_NARROWEST, layout.width + 2 * _PAGE_PAD, widest + 2 * _PAGE_PAD)
    top, left = _HEAD + _PAGE_PAD, (width - layout.width) / 2
    height = top + max(layout.height, _HEIGHT) + _PAGE_PAD + _FOOT
    boxes = [
        Box(x + left, y + top, name.width, _HEIGHT)
        for (x, y), name in zip(layout.middles, names, strict=True)
    ]
    whole = {node.id: plain(node.name) for node in subgraph.nodes}
    body = [
        _text(_PAGE_PAD, 34, short(heading, _LONGEST_HEADING), "ink", 16, weight=600),
        _text(_PAGE_PAD, 53, about, "dim", _SMALL),
        *_lines(edges, ways(links, boxes, width, height), boxes, whole),
        *_nodes(subgraph.nodes, names, boxes),
        *_swatches(legend, height - 22),
    ]
    return _page(width, height, plain(heading), _description(subgraph), body)


def _page(width: float, height: float, heading: str, about: str, body: Sequence[str]) -> str:
    kinds = "".join(
        f".holdfast .{each}{{fill:{c.fill};stroke:{c.line}}}\n" for each, c in COLOURS.items()
    )
    dark = "".join(
        f".holdfast .{each}{{fill:{c.dark_fill};stroke:{c.dark_line}}}\n"
        for each, c in COLOURS.items()
    )
    size = f'width="{width:.0f}" height="{height:.0f}" viewBox="0 0 {width:.0f} {height:.0f}"'
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" class="holdfast" {size} role="img">',
            f"<title>{escape(heading)}</title>",
            f"<desc>{escape(about)}</desc>",
            f"<style>{_STYLE}{kinds}@media (prefers-color-scheme: dark){{{_DARK}{dark}}}</style>",
            '<rect class="page" width="100%" height="100%"/>',
            *body,
            "</svg>\n",
        ]
    )


def _about(subgraph: Subgraph) -> str:
    if not subgraph.nodes:
        return "No entities yet."
    faded = any(node.strength < _PALE for node in subgraph.nodes)
    return title(subgraph) + (" · paler: not spoken of for a while" if faded else "")


def _description(subgraph: Subgraph) -> str:
    kinds = ", ".join(f"{count} {each}" for each, count in tally(subgraph).items())
    return f"{title(subgraph)}. Entities by type: {kinds or 'none'}."


# Boxes


class _NodeLabel(NamedTuple):
    text: str
    size: float
    weight: int
    width: float


def _name(node: Node, degree: int) -> _NodeLabel:
    text = short(node.name, _LONGEST_NAME)
    is_hub = degree >= _HUB_DEGREE
    size, weight = (_HUB_FONT, 600) if is_hub else (_FONT, 400)
    bold = 1.07 if is_hub else 1.0
    return _NodeLabel(text, size, weight, round(_width(text, size) * bold) + 2 * _PAD)


def _nodes(
    nodes: Sequence[Node], names: Sequence[_NodeLabel], boxes: Sequence[Box]
) -> Iterator[str]:
    for node, name, box in zip(nodes, names, boxes, strict=True):
        also = f" (also {', '.join(map(plain, node.aliases))})" if node.aliases else ""
        tip = f"{plain(node.name)}, {plain(node.subtype or node.type)}{also}"
        corner = (
            f'x="{box.x - box.width / 2:.1f}" y="{box.y - box.height / 2:.1f}"'
            f' width="{box.width:.1f}" height="{box.height:.1f}" rx="{box.height / 2:.0f}"'
        )
        yield f"<g><title>{escape(tip)}</title>"
        # What fades is paler, but no line shows through it.
        yield f'<rect class="page" {corner}/>'
        yield f'<rect class="{kind(node)}" {corner} stroke-width="1.5" opacity="{_opacity(node)}"/>'
        y = box.y + name.size * 0.35
        yield _text(box.x, y, name.text, "ink", name.size, anchor="middle", weight=name.weight)
        yield "</g>"


def _opacity(thing: Node | Edge) -> str:
    """How dark something is drawn, by its strength."""
    return f"{0.4 + 0.6 * min(1.0, max(0.0, thing.strength)):.2f}"


def _degrees(links: Sequence[tuple[int, int]], count: int) -> list[int]:
    """How many lines each box has."""
    degrees = [0] * count
    for ends in links:
        for end in set(ends):
            degrees[end] += 1
    return degrees


# Lines


def _lines(
    edges: Sequence[Edge], found: Sequence[Way], boxes: Sequence[Box], names: Mapping[str, str]
) -> Iterator[str]:
    """The lines, then over them the words that find a free place."""
    taken = [*boxes, *(Box(*way.end, 2 * _ARROW, 2 * _ARROW) for way in found)]
    words: list[str] = []
    for edge, way in zip(edges, found, strict=True):
        sentence = f"{names[edge.source]} {plain(edge_text(edge))} {names[edge.target]}"
        yield f'<g opacity="{_opacity(edge)}"><title>{escape(sentence)}</title>{_draw_way(way)}</g>'
        text = short(edge_text(edge), _LONGEST_RELATION)
        box = free(way, _width(text, _SMALL) + 6, _SMALL + 5, taken)
        if box is not None:
            taken.append(box)
            words += _text_lines(box, text)
    yield from words


def _draw_way(way: Way) -> str:
    handles = " ".join(f"{x:.1f},{y:.1f}" for x, y in way.handles)
    command = "Q" if len(way.handles) == 1 else "C"
    x, y = way.end
    before = way.handles[-1]
    dx, dy = x - before[0], y - before[1]
    length = math.hypot(dx, dy) or 1.0
    dx, dy = dx / length * _ARROW, dy / length * _ARROW
    back = (x - dx, y - dy)
    wings = [(back[0] - dy * 0.45, back[1] + dx * 0.45), (back[0] + dy * 0.45, back[1] - dx * 0.45)]
    tip = " ".join(f"{px:.1f},{py:.1f}" for px, py in ((x, y), *wings))
    return (
        f'<path class="way" stroke-width="1.4" d="M{way.begin[0]:.1f},{way.begin[1]:.1f}'
        f' {command}{handles} {back[0]:.1f},{back[1]:.1f}"/><polygon class="tip" points="{tip}"/>'
    )


def _text_lines(box: Box, text: str) -> Iterator[str]:
    yield (
        f'<rect class="page" x="{box.x - box.width / 2:.1f}" y="{box.y - box.height / 2:.1f}"'
        f' width="{box.width:.1f}" height="{box.height:.1f}" rx="3" fill-opacity="0.9"/>'
    )
    yield _text(box.x, box.y + _SMALL * 0.35, text, "dim", _SMALL, anchor="middle")


# Words


def _legend(subgraph: Subgraph) -> Iterator[tuple[str, str, float]]:
    """Type, its words and where they begin."""
    x = _PAGE_PAD
    for each, count in tally(subgraph).items():
        words = f"{each} {count}"
        yield each, words, x
        x += 18 + _width(words, _SMALL) + 14


def _ends(legend: Sequence[tuple[str, str, float]]) -> Iterator[float]:
    for _, words, x in legend:
        yield x + 18 + _width(words, _SMALL) - _PAGE_PAD


def _swatches(legend: Sequence[tuple[str, str, float]], y: float) -> Iterator[str]:
    for each, words, x in legend:
        yield f'<rect class="{each}" x="{x:.1f}" y="{y - 9:.1f}" width="12" height="12" rx="6"/>'
        yield _text(x + 18, y + 1, words, "dim", _SMALL)


def _text(
    x: float,
    y: float,
    text: str,
    colour: str,
    size: float,
    *,
    anchor: str = "start",
    weight: int = 400,
) -> str:
    return (
        f'<text class="{colour}" x="{x:.1f}" y="{y:.1f}" font-size="{size:g}"'
        f' text-anchor="{anchor}" font-weight="{weight}">{escape(text)}</text>'
    )


def _width(text: str, size: float) -> float:
    """About how wide a text is, rather too much than too little: nobody knows the font."""
    return sum(map(_wide, text)) * size


def _wide(character: str) -> float:
    if unicodedata.combining(character) or unicodedata.category(character) in ("Mn", "Cf"):
        return 0.0
    if unicodedata.east_asian_width(character) in "WF" or ord(character) > 0x1F000:
        return 1.1 if ord(character) < 0x1F000 else 1.4
    if character in "iljtfrI.,:;'|!()[] ":
        return 0.38
    if character in "mwMWQO@%&—…":
        return 0.92
    return 0.72 if character.isupper() else 0.61
