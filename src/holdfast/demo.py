"""The main job on sample data: remember a conversation, understand it, recall from it, say why."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Sequence
from itertools import groupby
from pathlib import Path
from typing import ParamSpec, TypeVar

from rich.console import Console
from rich.markup import escape
from rich.progress import Progress
from rich.table import Table

from holdfast import sample
from holdfast.memory.memory import Memory
from holdfast.recall.explain import in_words
from holdfast.types import Hit, Scope
from holdfast.wiring import open as open_memory

P = ParamSpec("P")
T = TypeVar("T")

USER = "mara"
_SHOWN_CHARS = 88
_SHOWN_ENTITIES = 12
_SHOWN_EDGES = 8
_SHOWN_NOTES = 5
_CAR = (("2026-03-10T09:00Z", "I drive a Volvo."), ("2026-06-12T09:00Z", "I drive a Renault now."))


def main() -> None:
    """Run the demo in a folder that is removed afterwards."""
    console = Console(highlight=False)
    began = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "memory.db"
        with open_memory(path) as memory:
            show_remember(console, memory)
            show_recall(console, memory)
            show_graph(console, memory)
            show_profile(console, memory)
            show_facts(console, memory)
            show_context(console, memory)
            show_forget(console, memory)
        with open_memory(path) as memory:
            show_reopen(console, memory)
    console.print(f"\nThe whole demo took {time.perf_counter() - began:.1f} s.")
    console.print("Next: docs/quickstart.md")


def show_remember(console: Console, memory: Memory) -> None:
    """Store the sample, session by session, and let the background work finish."""
    turns = sample.turns()
    console.rule("1. remember: durable first, understood in the background")
    for session, group in groupby(turns, key=lambda turn: turn["session"]):
        messages = [{k: v for k, v in turn.items() if k != "session"} for turn in group]
        receipt, seconds = timed(memory.remember, messages, user=USER, session=session, key=session)
        console.print(
            f"  {session}: {len(receipt.events)} turns on disk after {1e3 * seconds:.0f} ms, "
            f"state {receipt.state}"
        )
    last = [{k: v for k, v in turn.items() if k != "session"} for turn in turns[-1:]]
    first = memory.remember(last, user="retry", key="once")
    again = memory.remember(last, user="retry", key="once")
    console.print(
        f"  a retry with the same key: duplicate={again.duplicate}, "
        f"same event={again.events == first.events}"
    )
    with Progress(console=console, transient=True) as bar:
        bar.add_task("embedding", total=None)
        drained = memory.drain()
    console.print(
        f"  background work drained in {drained.seconds:.1f} s, {drained.dead} dead letters"
    )


def show_recall(console: Console, memory: Memory) -> None:
    """Ask the sample's own questions and show what came back and why."""
    console.rule("2. recall: keyword, vector, who spoke and what surrounds it, blended")
    table = Table("question", "turn", "found first", "evidence", "why", "ms", show_lines=True)
    at_all = 0
    questions = sample.questions()
    shown = questions[::3]
    for asked in questions:
        hits, seconds = timed(memory.recall, asked["question"], user=USER, limit=10)
        place = _place(hits, asked["evidence"])
        at_all += place is not None
        if asked not in shown:
            continue
        first = hits[0]
        table.add_row(
            asked["question"],
            first.metadata["turn"],
            escape(_short(first.content)),
            f"rank {place}" if place else "not in 10",
            in_words(first.why),
            f"{1e3 * seconds:.0f}",
        )
    console.print(table)
    console.print(
        f"  evidence among the first ten for {at_all} of {len(questions)} questions, five shown"
    )


def show_graph(console: Console, memory: Memory) -> None:
    """Show the knowledge graph that was learned from the sample, with the turns it comes from."""
    console.rule("3. graph: who and what was spoken of, learned in the background without an LLM")
    graph = memory.graph.overview(user=USER, limit=_SHOWN_ENTITIES)
    named = ", ".join(f"{node.name} ({node.type})" for node in graph.nodes)
    console.print(f"  {escape(named)}", soft_wrap=True)
    table = Table("relation", "sure", "since", "heard in")
    edges = sorted(graph.edges, key=lambda edge: (-edge.importance, edge.content))
    sources = [edge.sources[0] for edge in edges[:_SHOWN_EDGES] if edge.sources]
    turns = {turn.id: turn for turn in memory.store.events(Scope("default", USER), sources)}
    for edge in edges[:_SHOWN_EDGES]:
        turn = turns.get(edge.sources[0]) if edge.sources else None
        table.add_row(
            escape(edge.content),
            f"{edge.confidence:.2f}",
            f"{edge.valid_from:%Y-%m-%d}" if edge.valid_from else "",
            f"{turn.metadata['turn']}: {escape(_short(turn.content))}" if turn else "",
        )
    console.print(table)
    everything = memory.graph.overview(user=USER, limit=1000)
    console.print(
        f"  {len(everything.nodes)} entities, {len(everything.edges)} relations,"
        f" {len(memory.graph.merges(user=USER))} names merged;"
        " see it drawn: holdfast serve, then Graph in the page that it serves"
    )


def show_profile(console: Console, memory: Memory) -> None:
    """Show who the user is, what was noted and which rules stand, as the sample tells it."""
    console.rule("4. profile, notes and standing instructions, each with the turns it comes from")
    profile = memory.profile(user=USER)
    table = Table("profile", "value", "from turns")
    for name, each in sorted(profile.fields.items()):
        table.add_row(name, escape(_short(each.value)), _turns(memory, each.sources))
    for name, summary in profile.summaries.items():
        if summary.text:
            table.add_row(name, escape(_short(summary.text)), _turns(memory, summary.sources))
    console.print(table)
    # The sample is some months old: by now its notes have faded, which hides and deletes nothing.
    for note in memory.notes.list(user=USER, faded=True, limit=_SHOWN_NOTES):
        where = _turns(memory, note.sources)
        console.print(f"  note, {note.category}, {note.at:%d %B}: {escape(note.content)} ({where})")
    rules = memory.recall("my rules", user=USER, tiers=["procedure"], limit=_SHOWN_NOTES)
    for hit in rules:
        where = _turns(memory, hit.sources)
        console.print(f"  {hit.kind}: {escape(_short(hit.content))} ({where})")


def show_facts(console: Console, memory: Memory) -> None:
    """Tell a fact, then tell it otherwise, and ask what held when."""
    console.rule("5. facts: a memory that changes its mind, and knows what it believed before")
    for at, text in _CAR:
        memory.remember({"role": "user", "content": text, "at": at}, user=USER, session="car")
        memory.drain()
    (now,) = [f for f in memory.facts.list(user=USER) if "drive" in f.content]
    for line in memory.history(now.id, user=USER):
        why = f" ({line.note})" if line.note else ""
        console.print(f"  {line.action}: {escape(str(line.content))}{why}")
    for as_of in ("2026-04-01T00:00Z", "2026-07-01T00:00Z"):
        hits = memory.recall("Which car?", user=USER, tiers=["fact"], as_of=as_of, limit=1)
        console.print(f"  as of {as_of[:10]}: {escape(hits[0].content)}")


def show_context(console: Console, memory: Memory) -> None:
    """Pack a context block for the next model call."""
    console.rule("6. context: what a model would be given, in 300 tokens")
    context = memory.context("Who makes the kitchen cabinets now?", user=USER, budget_tokens=300)
    console.print(context.text, markup=False, soft_wrap=True)
    console.print(
        f"  {context.tokens} tokens, {len(context.hits)} memories inside, "
        f"{len(context.dropped)} dropped"
    )


def show_forget(console: Console, memory: Memory) -> None:
    """Forget and restore."""
    console.rule("7. forget and restore: hidden at once, never lost by accident")
    question = "Which error code did the logger print?"
    hit = memory.recall(question, user=USER, limit=1)[0]
    memory.forget(hit.id, user=USER)
    without = memory.recall(question, user=USER, limit=1)[0]
    memory.restore(hit.id, user=USER)
    back = memory.recall(question, user=USER, limit=1)[0]
    turns = [each.metadata["turn"] for each in (hit, without, back)]
    console.print(f"  first hit: {turns[0]}; after forget: {turns[1]}; after restore: {turns[2]}")
    actions = " -> ".join(version.action for version in memory.history(hit.id, user=USER))
    console.print(f"  history: {actions}")


def show_reopen(console: Console, memory: Memory) -> None:
    """Close, open, ask again: nothing lives only in the process."""
    console.rule("8. reopen: the file is the memory")
    hits, seconds = timed(memory.recall, "the cat's medicine", user=USER, limit=3)
    console.print(f"  after closing and opening: {len(hits)} hits in {1e3 * seconds:.0f} ms")
    findings = memory.check()
    good = sum(finding.ok for finding in findings)
    console.print(f"  doctor: {good} of {len(findings)} checks passed")


def timed(work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> tuple[T, float]:
    """A result and the seconds it took."""
    began = time.perf_counter()
    result = work(*args, **kwargs)
    return result, time.perf_counter() - began


def _place(hits: list[Hit], evidence: list[str]) -> int | None:
    for place, hit in enumerate(hits, start=1):
        if hit.metadata["turn"] in evidence:
            return place
    return None


def _turns(memory: Memory, sources: Sequence[str]) -> str:
    """The turns of some sources, by the names that the sample gives them."""
    found = memory.store.events(Scope("default", USER), sources)
    names = [str(turn.metadata.get("turn", "")) for turn in found]
    return ", ".join(filter(None, names))


def _short(text: str) -> str:
    return text if len(text) <= _SHOWN_CHARS else text[: _SHOWN_CHARS - 1] + "…"


if __name__ == "__main__":
    main()
