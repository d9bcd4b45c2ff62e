"""explain: what went into a context, and why."""

from __future__ import annotations

import shutil
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any

import typer

from holdfast.recall.explain import in_words
from holdfast.service.cli.options import AsJson, ConfigFile, Db, User, Workspace
from holdfast.service.cli.show import day, document, line, several
from holdfast.types import Considered, Explained

ContextId = Annotated[
    str, typer.Argument(metavar="ID", help="The context's id, or its last 6 digits or more.")
]

#: The sources that have a column of their own.
_SOURCES = ("keyword", "vector", "graph")
_HEADING = ("#", "score", "id", "memory", "told", *_SOURCES)
#: Where there is room for it an id is shown whole, else by its end.
_WIDE = 150
_END_OF_ID = 8
#: Notes narrower than this stand below their row.
_NARROWEST_NOTES = 30
_WHEN_PIPED = (_WIDE, 24)
_LABEL = 10


def explain(
    *,
    context_id: ContextId,
    user: User,
    workspace: Workspace = "default",
    json: AsJson = False,
    db: Db = None,
    config: ConfigFile = None,
) -> None:
    """Tell what was found for a context, what spoke for each memory, and what was left out.

    `holdfast context` prints the id on stderr. A context is kept for `ledgerDays`.

    Example: holdfast explain 5f21c09a77d1 --user ann
    """
    from holdfast.service.cli.opening import memory_at  # noqa: PLC0415

    with memory_at(db, config) as memory:
        told = memory.explain(context_id, user=user, workspace=workspace)
    if json:
        document(told)
        return
    width = shutil.get_terminal_size(_WHEN_PIPED).columns
    for label, text in _head(told):
        first, *more = textwrap.wrap(text, max(width - _LABEL, _NARROWEST_NOTES)) or [""]
        line(f"{label:<{_LABEL}}{first}".rstrip())
        for part in more:
            line(" " * _LABEL + part)
    if told.candidates:
        line()
        _table(told.candidates, width)


def _head(told: Explained) -> Iterator[tuple[str, str]]:
    inside = sum(each.level is not None for each in told.candidates)
    yield "context", told.id
    yield "made", f"{day(told.at)} UTC"
    yield "question", told.query
    yield "format", f"{told.format}, packaging {told.packaging}"
    yield "tokens", f"{told.tokens} of {told.budget_tokens}"
    found = several(len(told.candidates), "memory", "memories")
    yield "found", f"{found}, {inside} told, {len(told.candidates) - inside} left out"
    yield "profile", told.task_profile
    yield "sha256", told.digest
    if narrowed := _narrowed(told):
        yield "asked", narrowed
    if told.overrides:
        yield "settings", ", ".join(f"{name} = {value}" for name, value in told.overrides.items())
    for reason in told.degraded:
        yield "without", reason


def _narrowed(told: Explained) -> str:
    parts: Mapping[str, object] = {
        "as of": told.as_of and f"{day(told.as_of)} UTC",
        "known at": told.known_at and f"{day(told.known_at)} UTC",
        "agent": told.agent,
        "session": told.session,
        "tiers": told.tiers and ", ".join(told.tiers),
        **told.filters,
    }
    return "; ".join(f"{name} {value}" for name, value in parts.items() if value)


def _table(candidates: Sequence[Considered], width: int) -> None:
    rows = [_row(place, each, wide=width >= _WIDE) for place, each in enumerate(candidates, 1)]
    # A source that said nothing needs no column.
    shown = [
        column
        for column, name in enumerate(_HEADING)
        if name not in _SOURCES or any(row[column] for row in rows)
    ]
    cells = [[row[column] for column in shown] for row in (_HEADING, *rows)]
    widths = [max(len(row[column]) for row in cells) for column in range(len(shown))]
    indent = sum(widths) + 2 * len(widths)
    below = width - indent < _NARROWEST_NOTES
    notes = ["" if below else "notes", *(_notes(each.why) for each in candidates)]
    for row, note in zip(cells, notes, strict=True):
        start = "  ".join(cell.ljust(size) for cell, size in zip(row, widths, strict=True)) + "  "
        lead = " " * (widths[0] + 2 if below else indent)
        wrapped = textwrap.wrap(note, max(width - len(lead), _NARROWEST_NOTES))
        if not below:
            start += wrapped.pop(0) if wrapped else ""
        line(start.rstrip())
        for part in wrapped:
            line(lead + part)


def _row(place: int, each: Considered, *, wide: bool) -> Sequence[str]:
    told = each.level or f"left out: {each.reason}"
    return (
        str(place),
        f"{each.score:.3f}",
        each.id if wide else each.id[-_END_OF_ID:],
        f"{each.tier}/{each.kind}",
        f"{told}, {each.tokens} tokens" if each.tokens is not None else told,
        *(_said(each.why, source) for source in _SOURCES),
    )


def _said(why: Mapping[str, Any], source: str) -> str:
    """The rank that a source gave, where ranks were asked for, else its largest share of the best
    memory's."""
    parts = why.get("sources", why).get(source, {})
    if "rank" in parts:
        return f"#{parts['rank']}"
    shares = [share for name, share in parts.items() if name != "score"]
    return f"{max(shares):.2f}" if shares else ""


def _notes(why: Mapping[str, Any]) -> str:
    return in_words({name: told for name, told in why.items() if name not in _SOURCES})
