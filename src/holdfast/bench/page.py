"""A report in words, as Markdown that reads well in a terminal too, and in bars, as SVG."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from html import escape
from typing import Any

from holdfast.bench.methods import HOLDFAST, NOT_VARIED
from holdfast.bench.metrics import ADVERSARIAL, BUDGETS_TOKENS, NAMES
from holdfast.bench.run import LIMIT, TIMED_LIMIT

Value = Mapping[str, Any]

#: What a reader of the tables need not see every time.
WORDS = "## What the words mean"
_HEADINGS = {
    **{"recall@5": "R@5", "recall@10": "R@10", "recall@20": "R@20", "all@10": "all@10"},
    **{"ndcg@10": "nDCG@10", "mrr": "MRR"},
    **{f"tokens@{budget}": f"in {budget // 1000}K" for budget in BUDGETS_TOKENS},
}
_LONGEST_SETTING = 60


def markdown(told: Value) -> str:
    """The report as a page."""
    parts = [
        "# Retrieval",
        *_head(told),
        *(part for each in told["sets"] for part in _set(each)),
        WORDS,
        _bullets(_words(told)),
        "## Configuration",
        _table(("setting", "value"), [(f"`{k}`", _short(v)) for k, v in told["config"].items()]),
    ]
    return "\n\n".join(parts) + "\n"


def _head(told: Value) -> Iterator[str]:
    """What was measured, on what, against what."""
    commit = f", commit {told['commit']}" if told["commit"] else ""
    sets = ", ".join(each["name"] for each in told["sets"])
    others = ", ".join(name for name in told["methods"] if name != HOLDFAST.name)
    yield (
        f"Holdfast {told['version']}{commit} on {sets}, against {others}, in one run:"
        f" {told['at']}, {told['seconds']:.0f} s, {told['machine']}. Embeddings: {told['model']}."
        " No LLM, no reranker."
    )
    yield from told["notes"]
    if (cache := told["cache"]) is not None:
        yield (
            f"{cache['made']:,} texts were embedded, {cache['kept']:,} vectors came from the cache."
        )


def _set(told: Value) -> Iterator[str]:
    yield f"## {told['name']}"
    yield (
        f"Conversations: {told['conversations']}; turns: {told['turns']:,}; questions without"
        f" evidence, not scored: {told['not_scored']}."
    )
    yield _ingest(told)
    if told["dead"]:
        yield f"**{told['dead']} turns could not be embedded: vectors did not find them.**"
    if not told["methods"][HOLDFAST.name]:
        yield "No question has evidence: nothing to score."
        return
    yield from _methods(told["methods"])
    yield from _categories(told)
    yield from _latest(told["latest"])
    yield from _contexts(told)
    if told["ablation"] and told["ablation"]["questions"]:
        yield from _ablation(told["ablation"])


def _ingest(told: Value) -> str:
    speed = (
        f"Ingest until drained: {told['characters']:,} characters in"
        f" {told['ingest_seconds']:,.1f} s, {told['characters_per_second']:,} characters/s"
    )
    if not told["ingest_kept"]:
        return f"{speed}; every text was embedded."
    total = told["ingest_kept"] + told["ingest_made"]
    return (
        f"{speed}; {told['ingest_kept']:,} of {total:,} texts came from the cache, so this is not"
        " the speed of a fresh run."
    )


def _methods(methods: Value) -> Iterator[str]:
    headings = [_HEADINGS[name] for name in NAMES]
    first = methods[HOLDFAST.name][0]
    yield f"### Methods: {first['category']}, {first['questions']} questions"
    yield _table(
        ("method", *headings), [(name, *_cells(rows[0])) for name, rows in methods.items()]
    )
    shares = ", ".join(_share(first[f"full@{budget}"]) for budget in BUDGETS_TOKENS)
    yield (
        f"{HOLDFAST.name} tells some memories as overviews or headlines; evidence told in full:"
        f" {shares}. The other methods tell whole turns alone."
    )
    for name in ("recall@10", "ndcg@10"):
        yield f"{_HEADINGS[name]} by category:"
        yield _table(("category", *methods), list(_comparison_rows(methods, name)))


def _comparison_rows(methods: Value, metric: str) -> Iterator[Sequence[str]]:
    for place, row in enumerate(methods[HOLDFAST.name]):
        yield [row["category"], *(_share(rows[place][metric]) for rows in methods.values())]


def _categories(told: Value) -> Iterator[str]:
    times = told["recall_ms_by_category"]
    yield f"### {HOLDFAST.name} by category"
    yield _table(
        ("category", "questions", *(_HEADINGS[name] for name in NAMES), "p50 ms", "p95 ms"),
        [
            (
                *(row["category"], str(row["questions"]), *_cells(row)),
                *_times(times[row["category"]]),
            )
            for row in told["methods"][HOLDFAST.name]
        ],
    )


def _latest(methods: Value) -> Iterator[str]:
    """How often the newest of several turns of evidence came first."""
    rows = []
    for place, row in enumerate(methods[HOLDFAST.name]):
        shares = [_share(each[place]["share"]) for each in methods.values()]
        rows.append((row["category"], str(row["questions"]), str(row["missed"]), *shares))
    if not rows:
        return
    yield "### The newest evidence first"
    yield (
        "Of questions with several turns of evidence: how often the one that was said last comes"
        " before the others. It counts where they tell how one matter changed."
    )
    yield _table(("category", "questions", "none found", *methods), rows)


def _contexts(told: Value) -> Iterator[str]:
    yield "### Time, and what a context holds"
    whole = told["methods"][HOLDFAST.name][0]
    rows = [(f"recall(limit={TIMED_LIMIT})", *_times(told["recall_ms"]), *[""] * 5)]
    for budget, each in told["contexts"].items():
        held = [f"{each[name]:,.1f}" for name in ("tokens", "hits", "full")]
        found = [_share(whole[f"{name}@{budget}"]) for name in ("tokens", "full")]
        called = f"context(budget_tokens={budget})"
        rows.append((called, *_times(each["ms"]), *held, *found))
    headings = ("call", "p50 ms", "p95 ms", "tokens", "memories", "in full")
    yield _table((*headings, "evidence", "evidence in full"), rows)


def _ablation(told: Value) -> Iterator[str]:
    of = "every question" if told["every"] == 1 else f"one question of {told['every']}"
    yield f"### Ablation: {of} but the {ADVERSARIAL}, {told['questions']} questions"
    usual = told["usual"]
    rows = [("as configured", "", _share(usual["recall@10"]), "", _share(usual["ndcg@10"]), "", "")]
    for row in told["rows"]:
        changed = ", ".join(f"{name}={_plain(value)}" for name, value in row["settings"].items())
        rows.append(
            (
                *(row["name"], changed),
                *(_share(row["recall@10"]), _change(row, usual, "recall@10")),
                *(_share(row["ndcg@10"]), _change(row, usual, "ndcg@10")),
                f"{row['better']} / {row['worse']}",
            )
        )
    headings = ("variation", "settings", "R@10", "change", "nDCG@10", "change", "better / worse")
    yield _table(headings, rows)


def _words(told: Value) -> Iterable[str]:
    yield "R@k: share of the evidence among the first k turns; all@10: all of it among ten."
    yield f"A ranking is what recall(limit={LIMIT}) gives; a hit stands for its source turns."
    yield (
        "in 1K: share of the evidence inside 1,000 tokens (cl100k_base): for Holdfast among the"
        " memories of `context`, in whatever detail it tells them, for the other methods among"
        " whole turns in order while they fit."
    )
    yield f'"all" is the mean over all questions but those called {ADVERSARIAL}.'
    yield (
        "p50, p95: the question's embedding is part of `recall` unless the cache had it, and not"
        " part of `context`, which comes after it."
    )
    yield "better / worse: questions whose nDCG@10 rose or fell with the variation."
    yield from (f"{name}: {about}." for name, about in told["methods"].items())
    yield from (f"The stage {name} has no row: it {why}." for name, why in NOT_VARIED.items())


def _cells(row: Value) -> list[str]:
    return [_share(row[name]) for name in NAMES]


def _share(value: float) -> str:
    return f"{value:.3f}"


def _change(row: Value, usual: Value, name: str) -> str:
    return f"{row[name] - usual[name]:+.3f}".replace("-0.000", "+0.000")


def _times(told: Value) -> list[str]:
    return [f"{told[each]:.1f}" for each in ("p50", "p95")]


def _plain(value: Any) -> str:
    """As it is written in a settings file."""
    return str(value).lower() if isinstance(value, bool) else f"{value}"


def _short(value: Any) -> str:
    text = _plain(value)
    return f"`{text if len(text) <= _LONGEST_SETTING else text[: _LONGEST_SETTING - 1] + '…'}`"


def _table(heading: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A Markdown table whose columns line up as plain text too."""
    cells = [heading, *rows]
    widths = [max(len(row[column]) for row in cells) for column in range(len(heading))]
    lines = ["| " + " | ".join(map(str.ljust, row, widths)) + " |" for row in cells]
    rule = "|" + "|".join("-" * (width + 2) for width in widths) + "|"
    return "\n".join([lines[0], rule, *lines[1:]])


def _bullets(lines: Iterable[str]) -> str:
    return "\n".join(f"- {line}" for line in lines)


# Bars of R@10 by category, one a method, and of what each variation changes. Written by hand: no
# plotting library needed.

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


def plot(sets: Sequence[Value]) -> str:
    """The drawing; sets stand below each other."""
    body: list[str] = []
    top = _LINE
    for each in sets:
        for draw in (_plot_methods, _plot_ablation):
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


def _plot_methods(told: Value, top: int) -> tuple[list[str], int]:
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


def _plot_ablation(told: Value, top: int) -> tuple[list[str], int]:
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
