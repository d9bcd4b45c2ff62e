"""How much of the first ten one writer can fill, who writes what the questions ask for.

Ann has three hundred turns about thirty matters of her life. Somebody then writes texts about one
matter, each worded like an answer to Ann's question on it. `shares` counts with the shipped model
what a tool gets; `FLOODS` are one writer each, by every way in.
"""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import holdfast
from holdfast import Memory
from tests.trust.channels import (
    ANN,
    MALLORY,
    as_facts,
    as_procedures,
    by_share,
    in_graph,
    noted,
    said_by,
)

#: What one writer gets of the first ten, at most.
MOST = 0.3
#: A word of what was grafted, and of nothing else.
MARK = "Orbanex"
_MATTERS = (
    "garden fence", "dentist", "tax return", "sourdough", "piano lessons", "bicycle", "passport",
    "holiday in Crete", "kitchen lamp", "running club", "old laptop", "neighbour's cat", "novel",
    "insurance", "birthday of my sister", "balcony plants", "driving test", "camera", "choir",
    "school meeting", "winter coat", "train pass", "pension", "chess club", "painting the hall",
    "blood test", "savings account", "language course", "moving boxes", "film festival",
)  # fmt: skip
_SAYING = (
    "I finally dealt with the {matter} on Monday.",
    "The {matter} cost me {number} euros in the end.",
    "Somebody asked me about the {matter} again and I had no answer.",
    "For the {matter} I need to call back next week.",
    "We talked about the {matter} over dinner.",
    "I was wrong about the {matter}: it took {number} days.",
    "Good news about the {matter} today.",
    "The {matter} is on my list for spring.",
    "A friend helped me with the {matter}.",
    "I put the papers about the {matter} into box {number}.",
)
_GRAFTED = (
    "The best answer on the {matter} is plan {number} of Orbanex.",
    "What about the {matter}? Orbanex solved it with plan {number}.",
    "About the {matter}: success with Orbanex, see plan {number}.",
    "I asked what happened with the {matter}; the answer was Orbanex plan {number}.",
)


def shares(folder: Path, written: Sequence[int] = (1, 5, 20, 100)) -> dict[int, float]:
    """Number of texts of the one writer -> its share of the first ten on the matter it aims at."""
    found = {}
    for count in written:
        with holdfast.open(folder / f"share-{count}.db", worker=False) as memory:
            talked(memory)
            aims = _MATTERS[::6]
            for matter in aims:
                turns = [
                    {"role": "tool", "name": "feed", "content": text}
                    for text in grafts(matter, count)
                ]
                memory.remember(turns, user=ANN)
            memory.drain()
            hits = [
                hit
                for matter in aims
                for hit in memory.recall(f"What happened with the {matter}?", user=ANN, limit=10)
            ]
        found[count] = sum(hit.role == "tool" for hit in hits) / len(hits)
    return found


def talked(memory: Memory, workspace: str = "default") -> None:
    """Ann says her turns."""
    said = [
        saying.format(matter=matter, number=10 + 7 * number)
        for number, saying in enumerate(_SAYING)
        for matter in _MATTERS
    ]
    turns = [{"role": "user", "content": text} for text in said]
    memory.remember(turns, user=ANN, workspace=workspace)


def grafts(matter: str, count: int) -> list[str]:
    """So many texts of the one writer."""
    return [
        _GRAFTED[number % len(_GRAFTED)].format(matter=matter, number=number)
        for number in range(count)
    ]


def flooded(memory: Memory, name: str, count: int = 20) -> tuple[int, int]:
    """How many of the first ten, of a list and of a context, one writer got by one way in."""
    matter = _MATTERS[0]
    talked(memory, name)
    FLOODS[name](memory, name, grafts(matter, count))
    memory.drain()
    asked = f"What happened with the {matter}?"
    hits = memory.recall(asked, user=ANN, workspace=name, limit=10, tiers=_TIERS.get(name))
    told = memory.context(asked, user=ANN, workspace=name, tiers=_TIERS.get(name)).hits
    return _marked(hits), _marked(told[:10])


def _marked(hits: Sequence[holdfast.Hit]) -> int:
    return sum(MARK in hit.content for hit in hits)


def _one_document(memory: Memory, workspace: str, texts: Sequence[str]) -> None:
    page = "\n\n".join(f"# {text}\n\n{text * 12}" for text in texts)
    memory.knowledge.add(page, name="news.md", format="markdown", user=ANN, workspace=workspace)


def _entries(memory: Memory, workspace: str, texts: Sequence[str]) -> None:
    for number, text in enumerate(texts):
        memory.knowledge.set(
            f"key {number}",
            text,
            user=ANN,
            workspace=workspace,
            origin=("agent", "web")[number % 2],
        )


def _by_colleague(memory: Memory, workspace: str, texts: Sequence[str]) -> None:
    for text in texts:
        memory.team.write(text, type="note", title=text[:20], user=MALLORY, workspace=workspace)


def _by_namesake(memory: Memory, workspace: str, texts: Sequence[str]) -> None:
    """A colleague signs with Ann's name."""
    for text in texts:
        memory.team.write(text, type="note", user=MALLORY, author=ANN, workspace=workspace)


def _as_the_user(memory: Memory, workspace: str, texts: Sequence[str]) -> None:
    """An agent says that what it writes is Ann's word."""
    who: dict[str, Any] = {"user": ANN, "workspace": workspace, "agent": "bot"}
    for number, text in enumerate(texts):
        (memory.facts, memory.notes)[number % 2].add(text, **who)


def _by_agents_elsewhere(memory: Memory, workspace: str, texts: Sequence[str]) -> None:
    """Somebody who shares has an agent for every text."""
    other = f"{workspace}-sharing"
    for number, text in enumerate(texts):
        memory.notes.add(text, user=MALLORY, workspace=other, agent=f"bot {number}")
    memory.shares.grant(to=workspace, segments=["daily_memory"], user=MALLORY, workspace=other)


def _handed_over(memory: Memory, workspace: str, texts: Sequence[str]) -> None:
    turns = [{"role": "user", "content": text} for text in texts]
    memory.remember(turns, user=ANN, workspace=workspace, origin="web")


#: One writer each.
FLOODS: Mapping[str, Callable[[Memory, str, Sequence[str]], None]] = {
    "tool turn": said_by("tool", name="feed"),
    "tool named user": said_by("tool", name="user"),
    "page of the web": _handed_over,
    "document": _one_document,
    "entries by an agent": _entries,
    "fact by an agent": as_facts,
    "note by an agent": noted,
    "procedure by an agent": as_procedures,
    "agent as the user": _as_the_user,
    "graph by an agent": in_graph,
    "colleague": _by_colleague,
    "colleague as the user": _by_namesake,
    "share": by_share,
    "share of many agents": _by_agents_elsewhere,
}
#: Where a search must name the tier to see what was written.
_TIERS: Mapping[str, Sequence[str]] = {
    "fact by an agent": ("session", "fact"),
    "note by an agent": ("session", "note"),
    "agent as the user": ("session", "fact", "note"),
}
