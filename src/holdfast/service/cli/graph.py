"""graph: see the knowledge graph, and mend what was wrongly taken for one."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any
from urllib.parse import urlencode

import typer

from holdfast.border.private import is_database, whole_file
from holdfast.errors import HoldfastError, InvalidInput, NotFound
from holdfast.service.cli.command import Call, Option, command, group
from holdfast.service.cli.show import (
    Agent,
    AsJson,
    ConfigFile,
    Db,
    User,
    Workspace,
    columns,
    day,
    line,
    note,
    several,
)
from holdfast.types import Event, Merge, Scope, Subgraph

if TYPE_CHECKING:
    from holdfast.memory.memory import Memory

#: Format -> how a file of it ends.
_FORMATS = {"table": ".txt", "mermaid": ".mmd", "json": ".json"}
#: What a drawing would end in; only the window draws.
_DRAWINGS = (".svg", ".png", ".pdf")
_USUAL_DEPTH = 2
_WHEN_PIPED = (120, 24)
#: An id is shown by its end, and found by it.
_END_OF_ID = 12
_FEWEST_DIGITS = 6
#: Turns read for each entity or relation; a table quotes two.
_TURNS = 3
_MOST_LISTED = 10_000

graph = group("See the knowledge graph; join and part entities.", "holdfast graph show --user ann")

Entity = Annotated[
    str | None,
    typer.Option(
        "--entity",
        metavar="NAME",
        help="Only what lies around this one: a name, an alias or an id.",
    ),
]
Depth = Annotated[int | None, typer.Option(help="Steps around --entity, 1..5. Default: 2.")]
Type = Annotated[str | None, typer.Option(help="Only entities of this type.")]
Limit = Annotated[
    int,
    typer.Option(
        "--limit", "-n", help="At most so many entities, 1..5000; 1..1000 around --entity."
    ),
]
Format = Annotated[
    str | None,
    typer.Option(help="table, mermaid or json. Default: by the ending of --out, else table."),
]
Out = Annotated[Path | None, typer.Option(metavar="FILE", help="Write to a new file.")]
Open = Annotated[
    bool,
    typer.Option(
        "--open", help="Draw it: open the window in a browser; of a file, serve it until Ctrl-C."
    ),
]
Force = Annotated[bool, typer.Option("--force", help="Overwrite an existing file.")]
AsOf = Annotated[str | None, typer.Option("--as-of", metavar="TIME", help="What held then.")]
KnownAt = Annotated[
    str | None, typer.Option("--known-at", metavar="TIME", help="What was known then.")
]


@graph.command(
    "show", epilog="Example: holdfast graph show --user ann --entity Mara --out mara.mmd"
)
def _show(  # noqa: PLR0913 (one per option)
    *,
    user: User,
    entity: Entity = None,
    depth: Depth = None,
    type: Type = None,
    limit: Limit = 50,
    as_of: AsOf = None,
    known_at: KnownAt = None,
    format: Format = None,
    out: Out = None,
    force: Force = False,
    open: Open = False,
    workspace: Workspace = "default",
    agent: Agent = None,
    json: AsJson = False,
    db: Db = None,
    config: ConfigFile = None,
) -> None:
    """Show entities, the relations between them, and the words they were learned from.

    Without --entity the most connected and most important of all. With --open they are drawn, in
    the window of the service, which asks for a key and shows the workspace of that.
    """
    if open:
        _check_for_window({
            "depth": depth, "type": type, "known-at": known_at, "format": format, "out": out,
            "force": force, "agent": agent, "json": json, "workspace": workspace,
        })  # fmt: skip
        return _open(_page(user, entity, as_of), db, config)
    from holdfast.service.cli.opening import is_far, memory_at  # noqa: PLC0415

    chosen = _format(format, out, json=json)
    if depth is not None and entity is None:
        raise InvalidInput("--depth needs --entity: say around whom", field="depth")
    asked: dict[str, Any] = {
        "user": user, "workspace": workspace, "agent": agent, "as_of": as_of, "known_at": known_at,
    }  # fmt: skip
    with memory_at(db, config) as memory:
        if entity is None:
            found = memory.graph.overview(**asked, type=type, limit=limit)
        else:
            found = _around(memory, entity, depth, type, limit, asked)
        # A service gives turns only as what was found: its table quotes none.
        quoted = chosen == "table" and not is_far(memory)
        turns = _turns(memory, found, asked) if quoted else {}
    if not found.nodes:
        (line if chosen == "table" and out is None else note)(_nothing(asked, type))
    if found.nodes or chosen != "table":
        _hand_over(_text(found, chosen, turns), chosen, out, force=force)


@command(
    graph, "graph merges", "user undone workspace agent", "--user ann",
    does=lambda memory, given: memory.graph.merges(**given, limit=_MOST_LISTED),
    nothing="no merges: every name of user {user} stands for itself",
    undone="Those that were undone, too.",
)  # fmt: skip
def _merges(found: Sequence[Merge], call: Call) -> None:
    """List the names that were taken for one entity, with what spoke for it."""
    undone = call["undone"]
    rows = [
        (
            each.id[-_END_OF_ID:],
            each.merged_name,
            each.into_name,
            f"{each.score:.2f}",
            day(each.at),
            *([day(each.undone_at)] if undone else []),
            ", ".join(each.evidence),
        )
        for each in found
    ]
    when = ["when (UTC)", *(["undone"] if undone else [])]
    columns(rows, heading=("id", "name", "is taken for", "score", *when, "because"))
    note(f"`holdfast graph unmerge ID --user {call['user']}` parts two again")


def _part(memory: Memory, given: dict[str, Any]) -> tuple[Merge, Merge]:
    """The merge as it was, and as it is now."""
    whose = {name: given[name] for name in ("user", "workspace", "agent")}
    merges = memory.graph.merges(**whose, undone=True, limit=_MOST_LISTED)
    meant = _merge_by_id(given["merge_id"], merges)
    return meant, memory.graph.unmerge(meant.id, **whose)


@command(
    graph, "graph unmerge", "merge_id:id user workspace agent", "5f21c09a77d1 --user ann",
    does=_part, data=lambda found, _: found[1],
    merge_id=Option("As `graph merges` shows it, or the full id.", "ID"),
)  # fmt: skip
def _unmerge(found: tuple[Merge, Merge], _: Call) -> None:
    """Part two names again: the graph is as if they had never been taken for one."""
    meant, done = found
    if meant.undone_at is not None:
        line("nothing to do: they were parted already")
    else:
        line(f"parted: {done.merged_name} and {done.into_name} are two again")


@command(
    graph, "graph merge", "a b user workspace agent", '"Bob" "Bob Smith" --user ann',
    a=Option("A name, an alias or an id.", "A"), b=Option("The same of the other.", "B"),
)  # fmt: skip
def _merge(done: Merge, call: Call) -> None:
    """Take two entities for one from now on; `graph unmerge` parts them again."""
    line(f"merged: {done.merged_name} is shown as {done.into_name}")
    note(f"`holdfast graph unmerge {done.id[-_END_OF_ID:]} --user {call['user']}` parts them again")


def _format(given: str | None, out: Path | None, *, json: bool) -> str:
    """What was asked for: by name, by --json, or by the ending of the file."""
    if given is not None and given not in _FORMATS:
        words = f"--format must be {_graph_list()}, not {given!r}"
        raise InvalidInput(words + _drawn(f".{given.lower()}"), field="format")
    if json:
        if given not in (None, "json"):
            raise InvalidInput(f"--json and --format {given} contradict each other", field="format")
        return "json"
    if given is not None or out is None:
        return given or "table"
    ending = out.suffix.lower()
    if ending in _DRAWINGS:
        words = f"a file that ends in {ending} would need --format {_graph_list()}"
        raise InvalidInput(words + _drawn(ending), field="out")
    return {ending: name for name, ending in _FORMATS.items()}.get(ending, "table")


def _drawn(ending: str) -> str:
    """Where to see a drawing, for somebody who asked for one."""
    is_drawing = ending in _DRAWINGS
    return ": `holdfast graph show --open` draws the graph, in a browser" if is_drawing else ""


def _check_for_window(given: dict[str, Any]) -> None:
    for name, value in given.items():
        if value not in (None, False) and (name, value) != ("workspace", "default"):
            raise InvalidInput(
                f"--open and --{name} exclude each other: the window has its own", field=name
            )


def _page(user: str, entity: str | None, as_of: str | None) -> str:
    """Where the window draws what was asked for."""
    from holdfast.border.validate import moment  # noqa: PLC0415

    at = None if as_of is None else moment(as_of, "as_of").date().isoformat()
    named = {"user": user, "node": entity, "at": at}
    return "/#/graph?" + urlencode({name: value for name, value in named.items() if value})


def _open(page: str, db: str | None, config: Path | None) -> None:
    from holdfast.border.validate import is_address  # noqa: PLC0415
    from holdfast.config import default_db  # noqa: PLC0415
    from holdfast.service.cli.opening import show_page  # noqa: PLC0415
    from holdfast.service.cli.serve import serve_page  # noqa: PLC0415

    url = db or default_db()
    if is_address(url):
        show_page(url.rstrip("/") + page)
    else:
        serve_page(page, url, config)


def _graph_list() -> str:
    *first, last = _FORMATS
    return f"{', '.join(first)} or {last}"


def _around(  # noqa: PLR0917 (what is asked about, as one)
    memory: Memory,
    entity: str,
    depth: int | None,
    type: str | None,
    limit: int,
    asked: dict[str, Any],
) -> Subgraph:
    steps = _USUAL_DEPTH if depth is None else depth
    types = None if type is None else [type]
    found = memory.graph.traverse(entity, **asked, depth=steps, entity_types=types, limit=limit)
    if found.nodes:
        return found
    known = memory.graph.entities(**asked, limit=_MOST_LISTED)
    names = {name.casefold(): name for node in known for name in (node.name, *node.aliases)}
    near = get_close_matches(entity.casefold(), names, n=3)
    hint = f": did you mean {' or '.join(names[each] for each in near)}?" if near else ""
    more = hint or ": `holdfast graph show` without --entity lists them"
    raise NotFound(f"there is no entity called {entity!r}{more}")


def _turns(memory: Memory, found: Subgraph, asked: dict[str, Any]) -> dict[str, Event]:
    """The turns to quote: those that the asker may see, and that were there at the time asked."""
    from holdfast.border.validate import moment  # noqa: PLC0415

    scope = Scope(asked["workspace"], asked["user"], asked["agent"])
    said = None if asked["as_of"] is None else moment(asked["as_of"], "as_of")
    known = None if asked["known_at"] is None else moment(asked["known_at"], "known_at")
    sources = [node.sources for node in found.nodes] + [edge.sources for edge in found.edges]
    ids = [id for each in sources for id in each[:_TURNS]]
    turns = memory.store.events(scope, list(dict.fromkeys(ids)))
    return {
        each.id: each
        for each in turns
        if (scope.agent is None or each.agent in (None, scope.agent))
        and (said is None or each.at <= said)
        and (known is None or each.known_at <= known)
    }


def _nothing(asked: dict[str, Any], type: str | None) -> str:
    user = asked["user"]
    if type is not None:
        return f"no entities of the type {type} for user {user}"
    if asked["as_of"] or asked["known_at"]:
        return f"no entities of user {user} at that time"
    return (
        f"no entities yet for user {user}: they are learned from what is said; store something with"
        f' `holdfast remember "..." --user {user}`, then run `holdfast worker --once`'
    )


def _text(found: Subgraph, chosen: str, turns: dict[str, Event]) -> str:
    from holdfast.service import graph_text  # noqa: PLC0415

    if chosen == "table":
        return graph_text.table(found, turns, width=shutil.get_terminal_size(_WHEN_PIPED).columns)
    return graph_text.mermaid(found) if chosen == "mermaid" else graph_text.as_json(found)


def _hand_over(text: str, chosen: str, out: Path | None, *, force: bool) -> None:
    """To the file, or to stdout; there bytes, so that no terminal's encoding harms them."""
    if out is None:
        if chosen == "table":
            line(text.rstrip("\n"))
        else:
            typer.echo(text.encode(), nl=False)
        return
    if is_database(out):
        raise HoldfastError(f"{out} is a database: a picture never overwrites one")
    with whole_file(out, overwrite=force) as part:
        part.write_text(text, encoding="utf-8")
    note(f"wrote {out}: {chosen}, {several(len(text.encode()), 'byte', 'bytes')}")


def _merge_by_id(id: str, merges: Sequence[Merge]) -> Merge:
    """The merge with this id, or the one whose id ends so."""
    wanted = id.strip().lower()
    found = [each for each in merges if each.id.endswith(wanted)]
    if len(wanted) < _FEWEST_DIGITS or not found:
        raise NotFound(f"there is no merge {id!r}: `holdfast graph merges --undone` lists them")
    if len(found) > 1:
        raise InvalidInput(f"{len(found)} merges end in {id!r}: give more digits", field="id")
    return found[0]
