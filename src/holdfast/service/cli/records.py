"""What is known, by kind: facts, notes, the profile, procedures, knowledge, the team, shares."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from holdfast.errors import InvalidInput, NotFound
from holdfast.language.statements.clear import with_before
from holdfast.service.cli.command import Call, Option, command, group
from holdfast.service.cli.show import (
    columns,
    day,
    line,
    note,
    pairs,
    several,
)

if TYPE_CHECKING:
    from holdfast.language.statements.values import Clarification, Contradiction, Dispute, Fact
    from holdfast.memory.memory import Memory
    from holdfast.records.knowledge import Document, Entry
    from holdfast.records.notes import Note
    from holdfast.records.procedures import Procedure
    from holdfast.records.profile_fields import Profile
    from holdfast.records.team import Entry as TeamEntry
    from holdfast.store.values import Share
    from holdfast.types import Hit

#: The commands that belong to no group.
top = typer.Typer()

_ID = "019aaf3e5c1b0000d0a1b2c3d4e5f607"

facts = group(
    "Facts: list them, change them, answer what is unclear.", "holdfast facts list --user ann"
)
notes = group(
    "Notes by day: decisions, outcomes, strategies.", "holdfast notes day 2026-03-01 --user ann"
)
procedures = group(
    "Procedures: how things are done, and whether that worked.",
    "holdfast procedures list --user ann",
)
knowledge = group(
    "The knowledge base: documents, and values under keys.", "holdfast knowledge list"
)
team = group("The team's memory: seen by every user of a workspace.", "holdfast team list")
shares = group(
    "Let another workspace see a part of what a user or the team has here.",
    "holdfast shares list --user ann",
)
agents = group("How far agents are trusted.", "holdfast agents trust")

# ----------------------------------------------------------------------
# facts
# ----------------------------------------------------------------------

_CLAIM = Option("One claim, in words.", "TEXT")


@command(
    facts, "facts list", "user category status as_of known_at limit workspace agent",
    "--user ann --category preference", nothing="no such facts of user {user}",
    category="Only facts of this category.",
    status="active, superseded, invalidated, unclear, archived or all.",
)  # fmt: skip
def _list_facts(found: Sequence[Fact], _: Call) -> None:
    """List facts, those said last first."""
    columns(
        [
            (e.id, day(e.valid_from), e.category, e.status, with_before(e.content, e.before))
            for e in found
        ],
        heading=("id", "said (UTC)", "category", "status", "fact"),
    )


@command(
    facts, "facts add", "text user category workspace agent",
    '"I live in Lisbon." --user ann', creates=True, settles=True,
    text=_CLAIM, category="What it is about.",
)  # fmt: skip
def _add_fact(made: Fact, _: Call) -> None:
    """Store a fact as far as it is new, and say what became of it."""
    line(f"{made.outcome}: {made.content} ({made.id})")
    if made.reason:
        line(f"because: {made.reason}")


@command(
    facts, "facts update", "id text user workspace agent", f'{_ID} "..." --user ann',
    settles=True, text=_CLAIM,
)  # fmt: skip
def _update_fact(made: Fact, _: Call) -> None:
    """Put another text in the place of a fact; the old one stays in its history."""
    line(f"now {made.id}: {made.content}")


@command(
    facts, "facts invalidate", "id user reason workspace agent", f"{_ID} --user ann",
    reason="Why; it stays in its history.",
)  # fmt: skip
def _invalidate_fact(made: Fact, _: Call) -> None:
    """Take a fact back: it holds no longer, and stays in its history."""
    line(f"{made.status}: {made.content}")


@command(
    facts, "facts unclear", "user workspace agent", "--user ann", verb="facts.clarifications",
    nothing="nothing is unclear",
)  # fmt: skip
def _unclear(found: Sequence[Clarification], _: Call) -> None:
    """List what would end a known fact, but not for certain; `facts answer` settles it."""
    for each in found:
        line(f"{each.id}  {each.question}")


@command(
    facts, "facts answer", "id keep user workspace agent", f"{_ID} --keep new --user ann",
    settles=True, keep="new, old or both.",
)  # fmt: skip
def _answer(made: Fact, _: Call) -> None:
    """Say which fact holds where it was unclear."""
    line(f"holds: {made.content}")


@command(
    facts, "facts contradictions", "user workspace agent", "--user ann",
    nothing="no contradictions",
)  # fmt: skip
def _contradictions(found: Sequence[Contradiction], _: Call) -> None:
    """List pairs of facts that cannot both be so."""
    for each in found:
        for fact in (each.earlier, each.later):
            line(f"{fact.id}  {day(fact.valid_from)}  {fact.content}")
        line()


@command(
    facts, "facts conflicts", "user status workspace agent", "--user ann",
    nothing="no conflicts", status="open, resolved or all.",
)  # fmt: skip
def _conflicts(found: Sequence[Dispute], _: Call) -> None:
    """List where two agents hold different things; `facts resolve` settles one."""
    for each in found:
        line(f"{each.id}  {each.slot} ({each.status})")
        for whose, fact in zip(each.agents, each.facts, strict=True):
            line(f"  {whose or 'no agent'}: {fact.content} ({fact.id})")


@command(
    facts, "facts resolve", "id keep user workspace agent", f"{_ID} --keep both --user ann",
    keep=Option("The id of a fact, or both.", "ID|both"),
)  # fmt: skip
def _resolve(made: Dispute, _: Call) -> None:
    """Settle what two agents disagree about: keep one fact, by its id, or both."""
    line(made.note or made.status)


# ----------------------------------------------------------------------
# notes and the profile
# ----------------------------------------------------------------------

_NO_NOTES = "no notes: `holdfast notes add` makes one"


@command(
    notes, "notes add", "content user category workspace agent",
    '"We ship on Friday." --user ann', creates=True, settles=True,
    content=Option("What is to be noted.", "TEXT"),
    category="decision, outcome, strategy, note or interaction.",
)  # fmt: skip
def _add_note(made: Note, _: Call) -> None:
    """Write a note for today."""
    line(f"noted as {made.category} ({made.id})")


@command(
    notes, "notes day", "day user tz workspace agent", "2026-03-01 --user ann",
    nothing=_NO_NOTES, day=Option("As 2026-03-01.", "DAY"),
    tz=Option("Whose midnight counts.", "ZONE"),
)  # fmt: skip
def _day(found: Sequence[Note], _: Call) -> None:
    """Show the notes of one day, in order; also those that have faded."""
    _show_notes(found)


@command(
    notes, "notes list", "user category faded limit workspace agent",
    "--user ann --category decision", nothing=_NO_NOTES,
    category="Only of this category.", faded="Those that have faded, too.",
)  # fmt: skip
def _list_notes(found: Sequence[Note], _: Call) -> None:
    """List notes, newest first."""
    _show_notes(found)


def _show_notes(found: Sequence[Note]) -> None:
    columns(
        [(e.id, day(e.at), e.category, f"{e.weight:.2f}", e.content) for e in found],
        heading=("id", "when (UTC)", "category", "weight", "note"),
    )


def _set_and_clear(memory: Memory, given: dict[str, Any]) -> Profile:
    from holdfast.service.cli.opening import settle  # noqa: PLC0415

    whose = {name: given[name] for name in ("user", "workspace", "agent")}
    for name, value in given["set"].items():
        memory.profiles.set(name, value, **whose)
    for name in given["clear"] or ():
        if not memory.profiles.clear(name, **whose):
            note(f"note: {name} was not set by hand")
    settle(memory)
    return memory.profile(**whose, as_of=given["as_of"], known_at=given["known_at"])


@command(
    top, "profile", "user set clear as_of known_at workspace agent", "--user ann",
    creates="set", does=_set_and_clear,
    set=Option(
        "Set a field by hand.", "FIELD=VALUE", type=list[str], default=None,
        read=lambda typed: pairs(typed, "--set"),
    ),
    clear=Option("Take back what was set.", "FIELD", type=list[str], default=None),
    known_at=Option("As known then.", "TIME"),
)  # fmt: skip
def _profile(found: Profile, _: Call) -> None:
    """Show what is known of a user: fields with their sources, and six summaries."""
    if not found.fields and not any(each.text for each in found.summaries.values()):
        line(f"nothing is known of user {found.user} yet")
        return
    rows = [
        (name, f"{each.confidence:.2f}", len(each.sources), each.value)
        for name, each in sorted(found.fields.items())
    ]
    columns(rows, heading=("field", "sure", "turns", "value"))
    for name, summary in found.summaries.items():
        if summary.text:
            line()
            line(f"{name}: {summary.text}")


# ----------------------------------------------------------------------
# procedures
# ----------------------------------------------------------------------


@command(
    procedures, "procedures add", "title steps:step user trigger tags:tag workspace agent",
    '"Release" --step "Run the tests." --step "Tag it." --user ann', creates=True, settles=True,
    title=Option("What it is called.", "TITLE"),
    steps=Option("One step; may be repeated.", "TEXT"), trigger="When to think of it.",
)  # fmt: skip
def _add_procedure(made: Procedure, _: Call) -> None:
    """Write down how something is done."""
    line(f"{made.title}: {several(len(made.steps), 'step', 'steps')} ({made.id})")


@command(
    procedures, "procedures list", "user tag workspace agent", "--user ann --tag release",
    nothing="no procedures: `holdfast procedures add` makes one", tag="Only with this tag.",
)  # fmt: skip
def _list_procedures(found: Sequence[Procedure], call: Call) -> None:
    """List procedures with their steps and how often they worked."""
    for each in found:
        _show_procedure(each, call)


def _show_procedure(each: Procedure, _: Call) -> None:
    """Note that a procedure was followed, and whether it worked."""
    line(f"{each.title} ({each.kind}, {each.worked} worked, {each.failed} failed)  {each.id}")
    if each.trigger:
        line(f"  when: {each.trigger}")
    for number, step in enumerate(each.steps, start=1):
        line(f"  {number}. {step}")


command(
    procedures, "procedures used", "id user worked:failed workspace agent", f"{_ID} --user ann",
    worked=Option("It did not work.", default=False, read=lambda failed: not failed),
)(_show_procedure)  # fmt: skip

# ----------------------------------------------------------------------
# knowledge
# ----------------------------------------------------------------------

_WHOSE = Option("Whose; without: everybody's in the workspace.", "NAME", "-u")
_KEY = Option("What the value is known by.", "KEY")


def _warn(made: Document, _: Call) -> None:
    for warning in made.warnings:
        note(f"note: {warning}")


def _id_and_changed(changed: bool, call: Call) -> Mapping[str, Any]:
    return {"id": call["id"], "changed": changed}


@command(
    knowledge, "knowledge add", "source:file name format metadata user workspace",
    "handbook.md", creates=True, settles=True, first=_warn, user=_WHOSE,
    source=Option("A text, Markdown, HTML or PDF file.", "FILE", type=Path),
    name="What it is known by. Default: the name of the file.",
    format="text, markdown, html or pdf. Default: what it looks like.",
)  # fmt: skip
def _add_document(made: Document, _: Call) -> None:
    """Add a document, or a new version of one that has this name."""
    if made.duplicate:
        line(f"nothing to do: {made.name} is there already ({made.id})")
    else:
        pieces = several(made.chunks, "piece", "pieces")
        line(f"{made.name}: {made.format}, {pieces}, {made.tokens:,} tokens ({made.id})")


def _documents_and_entries(memory: Memory, given: dict[str, Any]) -> dict[str, Any]:
    whose = {name: given[name] for name in ("user", "workspace", "limit")}
    return {
        "documents": memory.knowledge.documents(**whose),
        "entries": memory.knowledge.entries(**given),
    }


@command(
    knowledge, "knowledge list", "prefix limit user workspace", "--user ann",
    verb="knowledge.entries", does=_documents_and_entries,
    prefix="Only keys that begin so.", user=_WHOSE,
    limit=Option("At most so many of each.", short="-n", default=100),
)  # fmt: skip
def _list_knowledge(found: dict[str, Any], _: Call) -> None:
    """List documents, newest first, and entries by their keys."""
    documents, entries = found["documents"], found["entries"]
    if not documents and not entries:
        line("the knowledge base is empty")
    if documents:
        rows = [(e.id, day(e.added_at), e.format, e.chunks, e.name) for e in documents]
        columns(rows, heading=("id", "added (UTC)", "format", "pieces", "document"))
    if documents and entries:
        line()
    if entries:
        columns(
            [(e.id, day(e.at), e.key, e.value) for e in entries],
            heading=("id", "set (UTC)", "key", "value"),
        )


@command(
    knowledge, "knowledge set", "key value user workspace", 'office.wifi "lighthouse"',
    creates=True, settles=True, key=_KEY, value=Option("What stands there.", "VALUE"),
    user=_WHOSE,
)  # fmt: skip
def _set_entry(made: Entry, _: Call) -> None:
    """Keep a value under a key; another value takes its place."""
    line(f"{made.key}: {made.value} ({made.id})")


@command(
    knowledge, "knowledge get", "key user workspace", "office.wifi", key=_KEY, user=_WHOSE,
)  # fmt: skip
def _get_entry(found: Entry, _: Call) -> None:
    """Print the value under a key."""
    line(found.value)


@command(
    knowledge, "knowledge remove", "id user workspace", _ID, user=_WHOSE, data=_id_and_changed
)  # fmt: skip
def _remove(changed: bool, _: Call) -> None:
    """Forget a document or an entry with all its versions."""
    line("removed" if changed else "nothing to do: it was removed already")


# ----------------------------------------------------------------------
# team, shares and agents
# ----------------------------------------------------------------------

_TYPES = "Only of this type; may be repeated."
_GRANTING = Option("Whose memory; without: the team's.", "NAME", "-u")


@command(
    team, "team write", "content type title tags:tag author workspace agent",
    '"We use Postgres." --type decision', creates=True, settles=True,
    does=lambda memory, given: memory.team.write(**given, user=given["author"]),
    content=Option("What everybody is to know.", "TEXT"),
    type=Option("decision, adr, standup, retrospective, incident or note.", default="note"),
    title="A heading.", author="Who wrote it.",
)  # fmt: skip
def _write(made: TeamEntry, _: Call) -> None:
    """Write something that every user of the workspace will find."""
    line(f"{made.type} {made.id}")


@command(
    team, "team list", "types:type limit workspace agent", "--type decision", types=_TYPES
)  # fmt: skip
def _list_team(found: Sequence[TeamEntry], call: Call) -> None:
    """List what the team knows, newest first."""
    if not found:
        # Of a service it is the workspace of the key, whatever it is called.
        where = "" if call.is_far else f" of workspace {call['workspace']}"
        line(f"the team{where} has written nothing yet")
        return
    rows = [(each.id, day(each.at), each.type, each.title or each.content) for each in found]
    columns(rows, heading=("id", "when (UTC)", "type", "entry"))


@command(
    team, "team search", "query types:type limit workspace agent", '"which database"',
    nothing="nothing found", data=lambda found, _: list(found),
    query="What is asked.", types=_TYPES,
)  # fmt: skip
def _search(found: Sequence[Hit], _: Call) -> None:
    """Find what the team knows of a question, best first."""
    rows = [(f"{each.score:.3f}", each.kind, each.content) for each in found]
    columns(rows, heading=("score", "type", "entry"))


@command(
    shares, "shares grant", "to segments:segment user permission expires_in:hours workspace",
    "--user ann --to lab --segment documents",
    to=Option("Who may see it.", "WORKSPACE"), user=_GRANTING,
    segments="profile, daily_memory, documents, graph, procedures or team; may be repeated.",
    permission="read, write or admin.",
    expires_in=Option(
        "It ends after so many hours.", type=float,
        read=lambda hours: None if hours is None else 3600 * hours,
    ),
)  # fmt: skip
def _grant(made: Share, _: Call) -> None:
    """Let another workspace see a part of what a user or the team has here."""
    line(f"granted: {made.id}")


def _check_share(_: bool, call: Call) -> None:
    whose = {name: call[name] for name in ("user", "workspace")}
    if call["id"] not in [each.id for each in call.memory.shares.list(**whose)]:
        words = f"there is no share {call['id']!r:.64}: `holdfast shares list` lists them"
        raise NotFound(words)


@command(
    shares, "shares revoke", "id user workspace", "ID --user ann",
    id=Option("Of the share.", "ID"), user=_GRANTING, data=_id_and_changed, first=_check_share,
)  # fmt: skip
def _revoke(changed: bool, _: Call) -> None:
    """End a share at once."""
    line("revoked" if changed else "nothing to do: it was revoked already")


@command(
    shares, "shares list", "user workspace", "--user ann", user=_GRANTING,
    nothing="no shares: `holdfast shares grant` makes one",
)  # fmt: skip
def _list_shares(found: Sequence[Share], _: Call) -> None:
    """List what a user or the team has granted, also what has ended."""
    rows = [
        (e.id, e.to, e.permission, day(e.expires_at), day(e.revoked_at), ", ".join(e.segments))
        for e in found
    ]
    columns(rows, heading=("id", "to", "permission", "expires", "revoked", "segments"))


def _trusts(typed: Sequence[str] | None) -> dict[str, float]:
    """Checked before anything is stored: of several all hold or none."""
    return {agent: _share(agent, text) for agent, text in pairs(typed, "--set").items()}


def _share(agent: str, text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value <= 1:
        message = f"the trust in {agent} must be a number in 0..1, not {text[:64]!r}"
        raise InvalidInput(message, field="set")
    return value


def _set_and_list(memory: Memory, given: dict[str, Any]) -> Mapping[str, float]:
    for agent, value in given["set"].items():
        memory.agents.set_trust(agent, value, workspace=given["workspace"])
    return memory.agents.trust(given["workspace"])


@command(
    agents, "agents trust", "set workspace", "--set researcher=0.8",
    creates="set", does=_set_and_list,
    nothing="no agent was given a trust of its own: all have 0.5",
    set=Option(
        "Trust an agent so far.", "AGENT=0..1", type=list[str], default=None, read=_trusts
    ),
)  # fmt: skip
def _trust(found: Mapping[str, float], _: Call) -> None:
    """Show how far agents are trusted; an agent that is not listed has 0.5."""
    columns(sorted(found.items()), heading=("agent", "trust"))
