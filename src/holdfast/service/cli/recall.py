"""recall and context: memories for a question."""

from __future__ import annotations

import shutil
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from holdfast.recall.explain import in_words
from holdfast.recall.query import WANTED_FILTERS
from holdfast.service.cli.command import Call, Option, top, verb
from holdfast.service.cli.show import (
    day,
    line,
    note,
    pairs,
    safe,
    several,
)
from holdfast.types import Considered, Context, Explained, Hit, Hits, Metadata

if TYPE_CHECKING:
    pass


# ----------------------------------------------------------------------
# explain: what went into a context, and why.
# ----------------------------------------------------------------------

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


@verb(
    top, "explain", "context_id user workspace", "5f21c09a77d1 --user ann",
    context_id=Option("The context's id, or its last 6 digits or more.", "ID"),
)  # fmt: skip
def _explain(told: Explained, _: Call) -> None:
    """Tell what was found for a context, what spoke for each memory, and what was left out.

    `holdfast context` prints the id on stderr. A context is kept for `ledgerDays`.
    """
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
    for row, text in zip(cells, notes, strict=True):
        start = "  ".join(cell.ljust(size) for cell, size in zip(row, widths, strict=True)) + "  "
        lead = " " * (widths[0] + 2 if below else indent)
        wrapped = textwrap.wrap(text, max(width - len(lead), _NARROWEST_NOTES))
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
        *(_rank_text(each.why, source) for source in _SOURCES),
    )


def _rank_text(why: Mapping[str, Any], source: str) -> str:
    """The rank that a source gave, where ranks were asked for, else its largest share of the best
    memory's."""
    parts = why.get("sources", why).get(source, {})
    if "rank" in parts:
        return f"#{parts['rank']}"
    shares = [share for name, share in parts.items() if name != "score"]
    return f"{max(shares):.2f}" if shares else ""


def _notes(why: Mapping[str, Any]) -> str:
    return in_words({name: told for name, told in why.items() if name not in _SOURCES})


# ----------------------------------------------------------------------
# recall and context: memories for a question.
# ----------------------------------------------------------------------

#: A longer memory is cut on the screen unless --full.
_SHOWN_CHARACTERS = 400


def _filters(given: Sequence[str] | None) -> dict[str, str | bool]:
    """Filters as the verbs take them: what a word switches on is no text."""
    found = pairs(given, "--filter")
    words = {"true": True, "false": False}
    return {
        name: words.get(text, text) if name in WANTED_FILTERS else text
        for name, text in found.items()
    }


_LIMIT = Option("At most so many memories, 1..200.", short="-n")
_QUESTION: dict[str, Any] = {
    "as_of": Option("Only what was said by then.", "TIME"),
    "known_at": Option("Only what was stored by then.", "TIME"),
    "tiers": "Only this tier: session, fact, note, profile, graph, procedure, knowledge or"
    " workspace; may be repeated.",
    "filters": Option(
        "Only memories with this session, role, name, agent or kind; faded=true and archived=true"
        " show what is hidden otherwise. May be repeated.",
        "NAME=VALUE",
        read=_filters,
    ),
    "explain": "Tell every source's rank and what each stage did, too.",
}


def _tell_degraded(hits: Hits, _: Call) -> None:
    for reason in hits.degraded:
        note(f"note: searched without {reason}")


@verb(
    top, "recall",
    "text:query user limit workspace agent session as_of known_at tiers:tier filters:filter"
    " full explain",
    '"Where does Ann live?" --user ann', first=_tell_degraded,
    data=lambda hits, _: {"count": len(hits), "degraded": hits.degraded, "hits": list(hits)},
    text="What is asked.", limit=_LIMIT._replace(default=10),
    full=Option("Do not cut long memories.", type=bool, default=False), **_QUESTION,
)  # fmt: skip
def _recall(hits: Hits, call: Call) -> None:
    """Find the memories that answer a question, best first, with score and reason."""
    if hits:
        _show_hits(hits, full=call["full"])
    else:
        line(_why_nothing(call))


@verb(
    top, "context",
    "messages:query user budget_tokens:budget format packaging limit workspace agent session as_of"
    " known_at tiers:tier filters:filter explain",
    '"Plan Ann\'s week" --user ann --budget 2000',
    messages=Option("What is asked.", type=str),
    budget_tokens=Option("At most so many tokens. Default: contextBudgetTokens.", "TOKENS"),
    format="safe, astra or deerflow.",
    packaging="auto, or full, overview or headline for every memory.", limit=_LIMIT,
    **_QUESTION,
)  # fmt: skip
def _context(packed: Context, call: Call) -> None:
    """Print the memories for the next model call, packed into a token budget."""
    if packed.text:
        line(packed.text)
    note(_how_full(packed) if packed.hits or packed.dropped else _why_nothing(call))


def _how_full(packed: Context) -> str:
    count = several(len(packed.hits), "memory", "memories")
    room = f"{packed.tokens} tokens, {len(packed.dropped)} did not fit"
    return f"{count}, {room}; context {packed.id}"


def _why_nothing(call: Call) -> str:
    user, workspace = call["user"], call["workspace"]
    # Not every memory is a turn: whoever has a note or a fact has something, too.
    if any(call.memory.stats(user=user, workspace=workspace).tiers.values()):
        return "nothing found"
    where = "" if workspace == "default" else f" in workspace {workspace}"
    return f"nothing remembered yet for user {user}{where}"


def _caller_metadata(hit: Hit, *, full: bool) -> Metadata:
    """What the caller gave with a memory; what the system keeps of a derived one only in full."""
    if full or hit.tier == "session":
        return hit.metadata
    return hit.source_metadata[0] if hit.source_metadata else {}


def _show_hits(hits: Sequence[Hit], *, full: bool) -> None:
    for place, hit in enumerate(hits, 1):
        who = f"{hit.name} ({hit.role})" if hit.name else hit.role
        session = f"  session {hit.session}" if hit.session else ""
        tier = "" if hit.tier == "session" else f"  {hit.tier}"
        line(f"{place:>2}. {hit.score:.3f}  {day(hit.created_at)}  {who}{session}{tier}")
        content = hit.content
        if not full and len(content) > _SHOWN_CHARACTERS:
            content = content[:_SHOWN_CHARACTERS] + " …"
        for part in safe(content).splitlines() or [""]:
            line("    " + part)
        for name, value in _caller_metadata(hit, full=full).items():
            line(f"    {name}: {value}")
        line(f"    why: {in_words(hit.why)}")
        line(f"    id: {hit.id}")
