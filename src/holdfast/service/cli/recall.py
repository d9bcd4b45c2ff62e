"""recall and context: memories for a question."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from holdfast.recall.explain import in_words
from holdfast.recall.query import WANTED_FILTERS
from holdfast.service.cli.options import (
    Agent,
    AsJson,
    ConfigFile,
    Db,
    Session,
    User,
    Workspace,
    pairs,
)
from holdfast.service.cli.show import day, document, line, note, safe, several
from holdfast.types import Context, Hit, Metadata

if TYPE_CHECKING:
    from holdfast.memory.memory import Memory

#: A longer memory is cut on the screen unless --full.
_SHOWN_CHARACTERS = 400

Limit = Annotated[int, typer.Option("--limit", "-n", help="At most so many memories, 1..200.")]
AsOf = Annotated[
    str | None,
    typer.Option("--as-of", metavar="TIME", help="Only what was said by then.", show_default=False),
]
KnownAt = Annotated[
    str | None,
    typer.Option(
        "--known-at", metavar="TIME", help="Only what was stored by then.", show_default=False
    ),
]
Filters = Annotated[
    list[str] | None,
    typer.Option(
        "--filter",
        metavar="NAME=VALUE",
        help="Only memories with this session, role, name, agent or kind; faded=true and"
        " archived=true show what is hidden otherwise. May be repeated.",
        show_default=False,
    ),
]
Tiers = Annotated[
    list[str] | None,
    typer.Option(
        "--tier",
        help="Only this tier: session, fact, note, profile, graph, procedure, knowledge or"
        " workspace; may be repeated.",
        show_default=False,
    ),
]
Query = Annotated[str, typer.Argument(help="What is asked.")]
Full = Annotated[bool, typer.Option("--full", help="Do not cut long memories.")]
Explain = Annotated[
    bool,
    typer.Option("--explain", help="Tell every source's rank and what each stage did, too."),
]
Budget = Annotated[
    int | None,
    typer.Option(
        "--budget",
        metavar="TOKENS",
        help="At most so many tokens. Default: contextBudgetTokens.",
        show_default=False,
    ),
]


Format = Annotated[str, typer.Option("--format", help="safe, astra or deerflow.")]
Packaging = Annotated[
    str,
    typer.Option("--packaging", help="auto, or full, overview or headline for every memory."),
]


def recall(  # noqa: PLR0913 (one per option)
    *,
    query: Query,
    user: User,
    limit: Limit = 10,
    workspace: Workspace = "default",
    agent: Agent = None,
    session: Session = None,
    as_of: AsOf = None,
    known_at: KnownAt = None,
    tier: Tiers = None,
    filter: Filters = None,
    full: Full = False,
    explain: Explain = False,
    json: AsJson = False,
    db: Db = None,
    config: ConfigFile = None,
) -> None:
    """Find the memories that answer a question, best first, with score and reason.

    Example: holdfast recall "Where does Ann live?" --user ann
    """
    from holdfast.service.cli.opening import memory_at  # noqa: PLC0415

    with memory_at(db, config) as memory:
        hits = memory.recall(
            query,
            user=user,
            workspace=workspace,
            agent=agent,
            session=session,
            limit=limit,
            as_of=as_of,
            known_at=known_at,
            tiers=tier,
            filters=_filters(filter),
            explain=explain,
        )
        empty = "" if hits else _why_nothing(memory, user, workspace)
    for reason in hits.degraded:
        note(f"note: searched without {reason}")
    if json:
        document({"count": len(hits), "degraded": hits.degraded, "hits": list(hits)})
    elif empty:
        line(empty)
    else:
        _show_hits(hits, full=full)


def context(  # noqa: PLR0913 (one per option)
    *,
    query: Query,
    user: User,
    budget: Budget = None,
    format: Format = "safe",
    packaging: Packaging = "auto",
    limit: Limit = 50,
    workspace: Workspace = "default",
    agent: Agent = None,
    session: Session = None,
    as_of: AsOf = None,
    known_at: KnownAt = None,
    tier: Tiers = None,
    filter: Filters = None,
    explain: Explain = False,
    json: AsJson = False,
    db: Db = None,
    config: ConfigFile = None,
) -> None:
    """Print the memories for the next model call, packed into a token budget.

    Example: holdfast context "Plan Ann's week" --user ann --budget 2000
    """
    from holdfast.service.cli.opening import memory_at  # noqa: PLC0415

    with memory_at(db, config) as memory:
        packed = memory.context(
            query,
            user=user,
            workspace=workspace,
            agent=agent,
            session=session,
            budget_tokens=budget,
            format=format,
            packaging=packaging,
            limit=limit,
            as_of=as_of,
            known_at=known_at,
            tiers=tier,
            filters=_filters(filter),
            explain=explain,
        )
        empty = "" if packed.hits or packed.dropped else _why_nothing(memory, user, workspace)
    if json:
        document(packed)
        return
    if packed.text:
        line(packed.text)
    note(empty or _how_full(packed))


def _filters(given: Sequence[str] | None) -> dict[str, str | bool]:
    """Filters as the verbs take them: what a word switches on is no text."""
    found = pairs(given, "--filter")
    words = {"true": True, "false": False}
    return {
        name: words.get(text, text) if name in WANTED_FILTERS else text
        for name, text in found.items()
    }


def _how_full(packed: Context) -> str:
    count = several(len(packed.hits), "memory", "memories")
    room = f"{packed.tokens} tokens, {len(packed.dropped)} did not fit"
    return f"{count}, {room}; context {packed.id}"


def _why_nothing(memory: Memory, user: str, workspace: str) -> str:
    # Not every memory is a turn: whoever has a note or a fact has something, too.
    if any(memory.stats(user=user, workspace=workspace).tiers.values()):
        return "nothing found"
    where = "" if workspace == "default" else f" in workspace {workspace}"
    return f"nothing remembered yet for user {user}{where}"


def _given(hit: Hit, *, full: bool) -> Metadata:
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
        for name, value in _given(hit, full=full).items():
            line(f"    {name}: {value}")
        line(f"    why: {in_words(hit.why)}")
        line(f"    id: {hit.id}")
