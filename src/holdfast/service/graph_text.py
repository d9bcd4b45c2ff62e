"""A graph as text: a table for the screen, Mermaid for a page, JSON for a program.

Pure functions of a `Subgraph`. A name is data: whatever it holds, it cannot end its label, begin a
line or add a directive. Who wants to see a graph drawn opens the window.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import NamedTuple

import orjson

from holdfast.language.vocabulary import ANY_ENTITY, RELATION_TYPES, label
from holdfast.types import Edge, Event, Node, Subgraph

#: What no text may hold: controls, marks that turn the direction of what follows, halves of
#: characters, and two code points that are none.
_UNFIT = re.compile(
    "[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff\ufff9-\ufffb"
    "\ud800-\udfff\ufffe\uffff]"
)
_REPLACED = "\ufffd"


class Colours(NamedTuple):
    """A type's colours."""

    fill: str
    line: str


COLOURS: Mapping[str, Colours] = {
    "person": Colours("#e0ecf9", "#1f5fa8"),
    "team": Colours("#dcf1f0", "#1b807c"),
    "organization": Colours("#fdecd8", "#c06a12"),
    "place": Colours("#e3f2e1", "#41803f"),
    "event": Colours("#efe4f4", "#84409c"),
    "document": Colours("#f1e9e1", "#835c38"),
    "outcome": Colours("#fae3df", "#b8402f"),
    "market": Colours("#f6f0cf", "#86700f"),
    "concept": Colours("#ebedf0", "#6a737d"),
}

_LONGEST_NAME = 40
_LONGEST_RELATION = 30
_LONGEST_QUOTE = 90
_LONGEST_CELL = 60
_SOURCES_SHOWN = 2
#: What Mermaid draws at most, by its own defaults: edges, and characters of text.
_MERMAID_EDGES = 500
_MERMAID_TEXT = 50_000
#: What a label shows as it is; all else goes in as a number. A hyphen only inside a word: at the
#: start of a label it would be a list.
_AS_IT_IS = re.compile(r"[^\W_]|[ ,']|(?<=[^\W_])-(?=[^\W_])")


def plain(text: str) -> str:
    """On one line, and nothing in it that a terminal or a browser would act on."""
    return _UNFIT.sub(_REPLACED, " ".join(text.split())) or "?"


def short(text: str, most: int) -> str:
    """The beginning, with a mark where the rest was left out."""
    text = plain(text)
    return text if len(text) <= most else text[: most - 1].rstrip() + "…"


def kind(node: Node) -> str:
    """The type whose colours a node has."""
    return node.type if node.type in COLOURS else ANY_ENTITY


def edge_text(edge: Edge) -> str:
    """What a relation says between its ends."""
    known = edge.type in RELATION_TYPES or edge.original is not None
    return label(edge.type, edge.original) if known else edge.type


def title(subgraph: Subgraph) -> str:
    """How much there is: "3 entities, 2 relations"."""
    told = f"{_count(subgraph.nodes, 'entity', 'entities')}"
    told += f", {_count(subgraph.edges, 'relation', 'relations')}"
    return told + (" (there are more)" if subgraph.truncated else "")


def as_json(subgraph: Subgraph) -> str:
    """All of it, exactly."""
    options = orjson.OPT_INDENT_2 | orjson.OPT_UTC_Z | orjson.OPT_APPEND_NEWLINE
    return orjson.dumps(subgraph, option=options).decode()


# Mermaid


def mermaid(subgraph: Subgraph) -> str:
    """A flowchart from left to right; what is more than Mermaid draws is counted, not shown."""
    places = {node.id: place for place, node in enumerate(subgraph.nodes)}
    kinds = [kind(node) for node in subgraph.nodes]
    head = ["flowchart LR", *(_class(each) for each in COLOURS if each in kinds)]
    room = _MERMAID_TEXT - 200 - sum(len(each) + 1 for each in head)
    nodes = [
        f'  n{places[node.id]}["{_label(node.name, _LONGEST_NAME)}"]:::{each}'
        for node, each in zip(subgraph.nodes, kinds, strict=True)
    ]
    shown = _lines_that_fit(nodes, room * 2 // 3)
    known = {each: place for each, place in places.items() if place < len(shown)}
    edges = [
        f'  n{known[edge.source]} -->|"{_label(edge_text(edge), _LONGEST_RELATION)}"| '
        f"n{known[edge.target]}"
        for edge in subgraph.edges
        if edge.source in known and edge.target in known
    ]
    drawn = _lines_that_fit(edges[:_MERMAID_EDGES], room - sum(len(each) + 1 for each in shown))
    lines = [*head, *shown, *drawn]
    if left := len(nodes) - len(shown) + len(subgraph.edges) - len(drawn):
        lines.append(f"  %% {left} more left out: too much for one drawing")
    return "\n".join(lines) + "\n"


def _class(each: str) -> str:
    colours = COLOURS[each]
    return f"  classDef {each} fill:{colours.fill},stroke:{colours.line},color:#1b1f24"


def _label(text: str, most: int) -> str:
    """A text between two quotation marks, every sign but a few as its number."""
    cut = short(text, most)
    kept = {match.start() for match in _AS_IT_IS.finditer(cut)}
    return "".join(c if i in kept else f"#{ord(c)};" for i, c in enumerate(cut))


def _lines_that_fit(lines: Sequence[str], room: int) -> list[str]:
    """The first lines, as many as there is room for."""
    kept = []
    for each in lines:
        room -= len(each) + 1
        if room < 0:
            break
        kept.append(each)
    return kept


# Table


def table(subgraph: Subgraph, turns: Mapping[str, Event], *, width: int = 120) -> str:
    """Entities, then relations, with the words they were learned from; `turns` by their ids."""
    things = [_entity_row(node, turns) for node in subgraph.nodes]
    names = {node.id: short(node.name, _LONGEST_CELL) for node in subgraph.nodes}
    claims = [_relation_row(edge, names, turns) for edge in subgraph.edges]
    parts = [title(subgraph), _grid(_THINGS, things, width)]
    if claims:
        parts.append(_grid(_CLAIMS, claims, width))
    return "\n\n".join(part for part in parts if part) + "\n"


_THINGS = ("entity", "type", "also called", "strength", "turns", "first said")
_CLAIMS = ("from", "relation", "to", "sure", "since", "said")
#: Columns of numbers, and those that stay on one line.
_NUMBERS = ("strength", "turns", "sure")
_UNBROKEN = ("type", "since", *_NUMBERS)


def _entity_row(node: Node, turns: Mapping[str, Event]) -> list[str]:
    known = [turns[each] for each in node.sources if each in turns]
    return [
        short(node.name, _LONGEST_CELL),
        node.type if node.subtype is None else f"{node.type} ({plain(node.subtype)})",
        ", ".join(map(plain, node.aliases)),
        f"{node.strength:.2f}",
        str(len(node.sources)) if node.sources else "",
        _quote(known[0]) if known else "",
    ]


def _relation_row(edge: Edge, names: Mapping[str, str], turns: Mapping[str, Event]) -> list[str]:
    return [
        names.get(edge.source, edge.source),
        short(edge_text(edge), _LONGEST_CELL),
        names.get(edge.target, edge.target),
        f"{edge.confidence:.2f}",
        _day(edge.valid_from),
        "\n".join(_quotes(edge.sources, turns)),
    ]


def _quotes(sources: Sequence[str], turns: Mapping[str, Event]) -> Iterator[str]:
    known = [turns[each] for each in sources if each in turns]
    yield from map(_quote, known[:_SOURCES_SHOWN])
    if known and len(sources) > _SOURCES_SHOWN:
        yield f"and {len(sources) - _SOURCES_SHOWN} more"


def _quote(turn: Event) -> str:
    who = plain(turn.name or turn.role)
    return f"{_day(turn.at)} {who}: {short(turn.content, _LONGEST_QUOTE)}"


def _grid(heading: Sequence[str], rows: Sequence[Sequence[str]], width: int) -> str:
    """Aligned columns that wrap inside their cells; a column without a word is left out."""
    # 40 ms: only who prints a table pays for it.
    from rich.console import Console  # noqa: PLC0415
    from rich.table import Table  # noqa: PLC0415
    from rich.text import Text  # noqa: PLC0415

    used = [i for i in range(len(heading)) if any(row[i] for row in rows)]
    grid = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False)
    for i in used:
        name = heading[i]
        justify = "right" if name in _NUMBERS else "left"
        grid.add_column(name, justify=justify, no_wrap=name in _UNBROKEN, overflow="fold")  # type: ignore[arg-type]
    for row in rows:
        grid.add_row(*(Text(row[i]) for i in used))
    out = io.StringIO()
    Console(file=out, width=width, color_system=None, highlight=False).print(grid)
    return "\n".join(line.rstrip() for line in out.getvalue().splitlines())


def _day(moment: datetime | None) -> str:
    return "" if moment is None else f"{moment:%Y-%m-%d}"


def _count(things: Sequence[object], one: str, many: str) -> str:
    return f"{len(things):,} {one if len(things) == 1 else many}"
