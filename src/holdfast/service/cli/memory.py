"""Memories: remember, recall, context, and what becomes of them."""

from __future__ import annotations

import shutil
import sys
import textwrap
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from holdfast.errors import InvalidInput
from holdfast.recall.explain import in_words
from holdfast.recall.query import WANTED_FILTERS
from holdfast.service.cli.command import Call, Option, command
from holdfast.service.cli.show import (
    Agent,
    AsJson,
    ConfigFile,
    Db,
    Session,
    User,
    Workspace,
    columns,
    day,
    document,
    line,
    note,
    pairs,
    progress,
    safe,
    several,
    status_text,
)
from holdfast.types import Considered, Context, Explained, Hit, Hits, Metadata

if TYPE_CHECKING:
    from holdfast.memory.memory import Memory
    from holdfast.recall.hits import Forgotten
    from holdfast.records.stats import Stats
    from holdfast.records.summaries import Compaction
    from holdfast.types import Version

#: The commands that belong to no group.
top = typer.Typer()


_ID = "019aaf3e5c1b0000d0a1b2c3d4e5f607"

# ----------------------------------------------------------------------
# remember: a text becomes a memory.
# ----------------------------------------------------------------------

#: How long to wait for the embedding; after that it is left to the next worker.
_PATIENCE_SECONDS = 60.0
_LOOK_AGAIN_SECONDS = 0.02

Text = Annotated[str | None, typer.Argument(help="What to remember; - reads stdin.")]
File = Annotated[Path | None, typer.Option("--file", metavar="FILE", help="Remember a text file.")]
Role = Annotated[str, typer.Option(help="Who spoke: user, assistant, system or tool.")]
Name = Annotated[str | None, typer.Option(help="The speaker's name.")]
At = Annotated[
    str | None,
    typer.Option(metavar="TIME", help="When it was said: ISO 8601 with a zone. Default: now."),
]
Labels = Annotated[
    list[str] | None, typer.Option(metavar="NAME=VALUE", help="Kept with it; may be repeated.")
]
Key = Annotated[str | None, typer.Option(help="Idempotency key: a retry stores nothing twice.")]
NoWait = Annotated[
    bool, typer.Option("--no-wait", help="Do not embed now: leave it to the worker.")
]


@top.command(
    "remember", epilog='Example: holdfast remember "I moved to Lisbon." --user ann --session s1'
)
def remember(  # noqa: PLR0913 (one per option)
    *,
    text: Text = None,
    user: User,
    file: File = None,
    workspace: Workspace = "default",
    agent: Agent = None,
    session: Session = None,
    role: Role = "user",
    name: Name = None,
    at: At = None,
    metadata: Labels = None,
    key: Key = None,
    no_wait: NoWait = False,
    json: AsJson = False,
    db: Db = None,
    config: ConfigFile = None,
) -> None:
    """Store a text durably; it is found by keyword at once, by meaning when this returns."""
    from holdfast.service.cli.opening import is_far, memory_at  # noqa: PLC0415

    message: dict[str, Any] = {"role": role, "content": _content(text, file)}
    # Only what was given is sent: a retry with the same key must look the same.
    given = {"name": name, "at": at, "metadata": pairs(metadata, "--metadata") or None}
    message |= {field: value for field, value in given.items() if value is not None}
    with memory_at(db, config, must_exist=False) as memory:
        receipt = memory.remember(
            message, user=user, workspace=workspace, agent=agent, session=session, key=key
        )
        event = receipt.events[0]
        if not no_wait:
            with progress("embedding"):
                _embed(memory, event, user, workspace, far=is_far(memory))
        state = memory.status(event, user=user, workspace=workspace)
    if json:
        document(asdict(receipt) | {"state": state.state, "error": state.error})
        return
    for warning in receipt.warnings:
        note(f"note: {warning.removeprefix('messages[0].')}")
    again = " already (same key)" if receipt.duplicate else ""
    line(f"remembered{again} {event} ({status_text(state)})")


def _content(text: str | None, file: Path | None) -> str:
    if (text is None) == (file is None):
        raise InvalidInput("give a text, or - for stdin, or --file FILE", field="text")
    if file is not None:
        return file.read_bytes().decode("utf-8", "replace")
    if text == "-":
        # `echo text | holdfast remember -` means the text, not the line break that echo adds.
        return sys.stdin.buffer.read().decode("utf-8", "replace").removesuffix("\n")
    return text or ""


def _embed(memory: Memory, event: str, user: str, workspace: str, *, far: bool) -> None:
    """Work, or let a service work, until this event is embedded, has failed, or patience ends."""
    ends = time.monotonic() + _PATIENCE_SECONDS
    while time.monotonic() < ends:
        claimed = 0 if far else memory.worker.step()
        status = memory.status(event, user=user, workspace=workspace)
        if status.state in ("failed", "dead") or "embed" not in status.pending:
            return
        if not claimed:  # Another worker has it.
            time.sleep(_LOOK_AGAIN_SECONDS)


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


@command(
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


@command(
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
    room = f"{packed.tokens} tokens, {len(packed.dropped)} left out"
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


@command(
    top, "explain", "context_id user workspace agent", "5f21c09a77d1 --user ann",
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
# feedback, compact, status, forget and history: what becomes of memories.
# ----------------------------------------------------------------------

_WORDS = {"good": 1, "+1": 1, "1": 1, "bad": -1, "-1": -1}


def _praise(word: str) -> int:
    if word not in _WORDS:
        raise InvalidInput(f"value must be good or bad, not {word[:64]!r}", field="value")
    return _WORDS[word]


@command(
    top, "feedback", "id value user workspace agent", f"{_ID} good --user ann",
    data=lambda strength, call: {"id": call["id"], "strength": strength},
    value=Option("Whether it helped.", "good|bad", type=str, read=_praise),
)  # fmt: skip
def _feedback(strength: float, _: Call) -> None:
    """Say whether a memory helped: it decides between near equals, and what fades."""
    line(f"strength {strength:.2f}")


@command(
    top, "compact", "session user keep_turns workspace agent", "--session monday --user ann",
    settles=True, session=Option("Which session.", "NAME"), keep_turns="Leave the last ones out.",
)  # fmt: skip
def _compact(made: Compaction, _: Call) -> None:
    """Sum up a session; its turns stay as they are."""
    if made.summary_id is None:
        line(f"nothing to sum up: {several(made.kept, 'turn', 'turns')}")
        return
    line(made.summary)
    line()
    line(
        f"{several(made.turns, 'turn', 'turns')} summed up, {made.kept} left as they are:"
        f" {made.tokens_before:,} -> {made.tokens_after:,} tokens"
    )


@top.command("status", epilog="Example: holdfast status")
def status(
    *,
    id: Annotated[
        str | None,
        typer.Argument(metavar="ID", help="A memory; without: all of a user, or the whole store."),
    ] = None,
    user: Annotated[
        str | None, typer.Option("--user", "-u", metavar="NAME", help="Whose memory.")
    ] = None,
    session: Annotated[
        str | None, typer.Option(metavar="NAME", help="Without an id: how full this session is.")
    ] = None,
    workspace: Workspace = "default",
    json: AsJson = False,
    db: Db = None,
    config: ConfigFile = None,
) -> None:
    """Say how far a memory has come, or what a user or the whole store holds."""
    if id is None and user is None and session is None:
        _store_status(db, config, json=json)
        return
    if user is None:
        raise InvalidInput("user is missing: say whose memory is meant with --user", field="user")
    from holdfast.service.cli.opening import memory_at  # noqa: PLC0415

    with memory_at(db, config) as memory:
        if id is None:
            _user_status(memory.stats(user=user, workspace=workspace, session=session), json=json)
            return
        found = memory.status(id, user=user, workspace=workspace)
    if json:
        document(found)
    else:
        line(f"{id}: {status_text(found)}")


def _forget_or_restore(memory: Memory, given: dict[str, Any]) -> bool:
    act = memory.restore if given["undo"] else memory.forget
    return act(given["id"], user=given["user"], workspace=given["workspace"])


@command(
    top, "forget", "id user undo workspace", f"{_ID} --user ann", does=_forget_or_restore,
    data=lambda changed, call: {
        "id": call["id"], "forgotten": not call["undo"], "changed": changed,
    },
    undo=Option("Bring a forgotten memory back.", type=bool, default=False),
)  # fmt: skip
def _forget(changed: bool, call: Call) -> None:
    """Hide a memory from every read at once; restorable for a while, then wiped."""
    if call["undo"]:
        line("restored" if changed else "nothing to do: it was not forgotten")
    elif changed:
        long = "a while" if call.is_far else f"{call.memory.config.forget_days} days"
        again = f"`holdfast forget {call['id']} --user {call['user']} --undo`"
        line(f"forgotten; for {long} {again} restores it")
    else:
        line("nothing to do: it was forgotten already")


@command(
    top, "forgotten", "user workspace agent", "--user ann",
    data=lambda found, _: {"forgotten": found},
)  # fmt: skip
def _forgotten(found: Sequence[Forgotten], call: Call) -> None:
    """List what was forgotten and can be restored, last first; what it says is withheld."""
    if not found:
        line("nothing that could be restored")
        return
    rows = [
        (each.id, each.tier, each.kind, *map(day, (each.created_at, each.forgotten_at, each.until)))
        for each in found
    ]
    columns(rows, heading=("id", "tier", "kind", "of", "forgotten (UTC)", "wiped after"))
    line(f"`holdfast forget {found[0].id} --user {call['user']} --undo` restores the first")


@command(
    top, "users", "after limit workspace", "", nothing="nobody has a memory here yet",
    after=Option("Only those after this one, in the order of their names.", "USER"),
)  # fmt: skip
def _users(found: Sequence[str], _: Call) -> None:
    """List the users who have a memory in a workspace."""
    for each in found:
        line(each)


@command(
    top, "history", "id user workspace", f"{_ID} --user ann",
    data=lambda versions, call: {"id": call["id"], "versions": versions},
)  # fmt: skip
def _history(versions: Sequence[Version], _: Call) -> None:
    """List what happened to a memory, oldest first."""
    if len({each.record for each in versions}) > 1:  # A fact in several versions.
        texts = [(day(e.at), e.action, e.content or "", e.note or "") for e in versions]
        columns(texts, heading=("when (UTC)", "what", "version", "why"))
        return
    rows = [(day(each.at), each.action, each.note or "") for each in versions]
    columns(rows, heading=("when (UTC)", "what", "why"))
    content = versions[-1].content
    line()
    line(content if content is not None else "(its content is withheld while it is forgotten)")


def _user_status(found: Stats, *, json: bool) -> None:
    if json:
        document(found)
        return
    columns(list(found.tiers.items()), heading=("tier", "memories"))
    if found.session is None:
        return
    full = found.session
    left = "" if full.turns_left is None else f", {full.turns_left:,} turns until it is full"
    line()
    line(f"session {full.session}: {full.tokens:,} of {full.max_context_tokens:,} tokens{left}")


def _store_status(db: str | None, config: Path | None, *, json: bool) -> None:
    from holdfast.service.cli.opening import store_at  # noqa: PLC0415

    with store_at(db, config) as store:
        stats, spaces = store.stats(), store.spaces()
    if json:
        document({**stats, "spaces": spaces})
        return
    if not stats["events"] and not stats["records"]:
        line("nothing remembered yet")
        return
    line(f"memories   {stats['events']} ({stats['forgotten']} of them forgotten)")
    line(f"derived    {stats['records']} (facts, notes, the graph and what else is no turn)")
    line(f"owners     {stats['owners']} (users, each in a workspace)")
    line(f"vectors    {stats['vectors']}")
    line(f"jobs       {stats['ready']} ready, {stats['running']} running, {stats['dead']} dead")
    for space in spaces:
        if space.state != "retired":
            line(f"model      {space.model} ({space.dim} dimensions, {space.state})")
