"""A graph as a drawing: SVG that needs nothing else, by day and by night.

No script, no font, no link; every text is escaped. A line whose words found no free place keeps
them as its tooltip.
"""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from html import escape
from typing import NamedTuple

from holdfast.service.picture.layout import lay_out
from holdfast.service.picture.lines import LOOP, Box, Way, free, ways
from holdfast.service.picture.plain import COLOURS, kind, plain, said, short, tally, title
from holdfast.types import Edge, Node, Subgraph

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
    return _page(width, height, plain(heading), _described(subgraph), body)


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


def _described(subgraph: Subgraph) -> str:
    kinds = ", ".join(f"{count} {each}" for each, count in tally(subgraph).items())
    return f"{title(subgraph)}. Entities by type: {kinds or 'none'}."


# Boxes


class _Name(NamedTuple):
    text: str
    size: float
    weight: int
    width: float


def _name(node: Node, degree: int) -> _Name:
    text = short(node.name, _LONGEST_NAME)
    is_hub = degree >= _HUB_DEGREE
    size, weight = (_HUB_FONT, 600) if is_hub else (_FONT, 400)
    bold = 1.07 if is_hub else 1.0
    return _Name(text, size, weight, round(_width(text, size) * bold) + 2 * _PAD)


def _nodes(nodes: Sequence[Node], names: Sequence[_Name], boxes: Sequence[Box]) -> Iterator[str]:
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
        yield f'<rect class="{kind(node)}" {corner} stroke-width="1.5" opacity="{_seen(node)}"/>'
        y = box.y + name.size * 0.35
        yield _text(box.x, y, name.text, "ink", name.size, anchor="middle", weight=name.weight)
        yield "</g>"


def _seen(thing: Node | Edge) -> str:
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
        sentence = f"{names[edge.source]} {plain(said(edge))} {names[edge.target]}"
        yield f'<g opacity="{_seen(edge)}"><title>{escape(sentence)}</title>{_drawn(way)}</g>'
        text = short(said(edge), _LONGEST_RELATION)
        box = free(way, _width(text, _SMALL) + 6, _SMALL + 5, taken)
        if box is not None:
            taken.append(box)
            words += _worded(box, text)
    yield from words


def _drawn(way: Way) -> str:
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


def _worded(box: Box, text: str) -> Iterator[str]:
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
