"""Bars of R@10 by category, one a method, and of what each variation changes, as SVG.

Written by hand: no plotting library needed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from html import escape
from typing import Any

_METRIC = "recall@10"
_COLOURS = ("#1f5fa8", "#d98324", "#5b9f5b", "#9a9a9a", "#a05195", "#d45087")
_RISE, _FALL = "#5b9f5b", "#c04a3a"
# All in pixels.
_LEFT = 230
_WIDE = 460
_RIGHT = 70
_BAR = 11
_GAP = 10
_LINE = 22
#: A bar of the ablation, with the space to the next.
_ROW = 15

Set = Mapping[str, Any]


def plot(sets: Sequence[Set]) -> str:
    """The drawing; sets stand below each other."""
    body: list[str] = []
    top = _LINE
    for each in sets:
        for draw in (_methods, _ablation):
            drawn, top = draw(each, top)
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


def _methods(told: Set, top: int) -> tuple[list[str], int]:
    """The methods of a set from `top` down, and where they end."""
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
        yield _bar(_LEFT, y, value * _WIDE, colour)
        yield _text(round(_LEFT + value * _WIDE + 5), y + _BAR - 2, f"{value:.3f}", size=9)


def _ablation(told: Set, top: int) -> tuple[list[str], int]:
    """What each variation changes, to the right where it is better; all to one scale."""
    ablation = told["ablation"]
    if not ablation or not ablation["questions"]:
        return [], top
    usual = ablation["usual"][_METRIC]
    changes = {row["name"]: row[_METRIC] - usual for row in ablation["rows"]}
    scale = (_WIDE / 2 - 40) / max(0.001, *map(abs, changes.values()))
    middle = _LEFT + _WIDE // 2
    title = f"R@10, {told['name']}: change by variation, {ablation['questions']} questions"
    drawn = [_text(10, top, title, weight="bold")]
    top += _LINE
    for name, change in changes.items():
        length = abs(change) * scale
        drawn.append(_text(_LEFT - 8, top + _BAR - 2, name, "end"))
        left, colour = (middle, _RISE) if change > 0 else (middle - length, _FALL)
        drawn.append(_bar(left, top, length, colour))
        # On the side where the bar is not.
        x, anchor = (middle - 5, "end") if change > 0 else (middle + 5, "start")
        drawn.append(_text(x, top + _BAR - 2, f"{change:+.3f}", anchor, size=9))
        top += _ROW
    return drawn, top + 2 * _LINE


def _bar(x: float, y: int, width: float, colour: str) -> str:
    return f'<rect x="{x:.1f}" y="{y}" width="{width:.1f}" height="{_BAR - 1}" fill="{colour}"/>'


def _legend(names: Sequence[str], top: int) -> Iterator[str]:
    x = _LEFT
    for index, name in enumerate(names):
        yield _bar(x, top, 10, _COLOURS[index % len(_COLOURS)])
        yield _text(x + 15, top + 9, name)
        x += 30 + 8 * len(name)


def _text(
    x: int, y: int, text: str, anchor: str = "start", *, weight: str = "normal", size: int = 12
) -> str:
    return (
        f'<text x="{x}" y="{y}" text-anchor="{anchor}" font-weight="{weight}"'
        f' font-size="{size}">{escape(text)}</text>'
    )
