"""Bars of R@10 by category, one a method, as SVG. Written by hand: no plotting library needed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from html import escape
from typing import Any

_METRIC = "recall@10"
_COLOURS = ("#1f5fa8", "#d98324", "#5b9f5b", "#9a9a9a", "#a05195", "#d45087")
# All in pixels.
_LEFT = 230
_WIDE = 460
_RIGHT = 70
_BAR = 11
_GAP = 10
_LINE = 22

Set = Mapping[str, Any]


def plot(sets: Sequence[Set]) -> str:
    """The drawing; sets stand below each other."""
    body: list[str] = []
    top = _LINE
    for each in sets:
        drawn, top = _set(each, top)
        body += drawn
    width = _LEFT + _WIDE + _RIGHT
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{top}"'
            f' viewBox="0 0 {width} {top}" font-family="sans-serif" font-size="12">',
            f'<rect width="{width}" height="{top}" fill="white"/>',
            *body,
            "</svg>\n",
        ]
    )


def _set(told: Set, top: int) -> tuple[list[str], int]:
    """The drawing of a set from `top` down, and where it ends."""
    methods: Mapping[str, Any] = told["methods"]
    drawn = [_text(10, top, f"R@10, {told['name']}", weight="bold")]
    drawn += _legend(list(methods), top + _LINE - 9)
    top += 2 * _LINE
    for place, row in enumerate(next(iter(methods.values()))):
        middle = top + len(methods) * _BAR // 2 + 4
        drawn.append(_text(_LEFT - 8, middle, f"{row['category']} ({row['questions']})", "end"))
        values = [rows[place][_METRIC] for rows in methods.values()]
        drawn += _bars(values, top)
        top += len(methods) * _BAR + _GAP
    return drawn, top + _LINE


def _bars(values: Sequence[float], top: int) -> Iterator[str]:
    for index, value in enumerate(values):
        y = top + index * _BAR
        colour = _COLOURS[index % len(_COLOURS)]
        yield (
            f'<rect x="{_LEFT}" y="{y}" width="{value * _WIDE:.1f}" height="{_BAR - 1}"'
            f' fill="{colour}"/>'
        )
        yield _text(round(_LEFT + value * _WIDE + 5), y + _BAR - 2, f"{value:.3f}", size=9)


def _legend(names: Sequence[str], top: int) -> Iterator[str]:
    x = _LEFT
    for index, name in enumerate(names):
        colour = _COLOURS[index % len(_COLOURS)]
        yield f'<rect x="{x}" y="{top}" width="10" height="10" fill="{colour}"/>'
        yield _text(x + 15, top + 9, name)
        x += 30 + 8 * len(name)


def _text(
    x: int,
    y: int,
    text: str,
    anchor: str = "start",
    *,
    weight: str = "normal",
    size: int = 12,
) -> str:
    return (
        f'<text x="{x}" y="{y}" text-anchor="{anchor}" font-weight="{weight}"'
        f' font-size="{size}">{escape(text)}</text>'
    )
