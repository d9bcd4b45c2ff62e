"""Print a random sample of the graph's edges with their sentences, to be judged by hand.

    python scripts/sample_edges.py --data DIR [--count 100] [--seed 14] [--extractor rules]

DIR holds folders with `conversations.jsonl.gz`; those of `--sets` are read, each session as one
group of turns, as the worker would read it without a language model. First the counts: turns,
entities, edges, and how many edges have which type. Then one edge a line, with the sentences of its
turn that hold one of its ends. Judge each: right, vague (true, but says next to nothing), wrong.
"""

from __future__ import annotations

import argparse
import gzip
import json
import random
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

from holdfast.language.extraction import Extractor
from holdfast.language.sentences import sentence_spans
from holdfast.language.vocabulary import sentence
from holdfast.learn.drafts_from_rules import Drafts, read_turns
from holdfast.learn.nlp import extractor_named
from holdfast.records.graph.check import RelationDraft
from holdfast.types import Event

#: Turns that the worker reads at once.
_MOST_TURNS = 64
_MOST_SHOWN = 300
_ROLES = ("user", "assistant")


class Edge(NamedTuple):
    """A relation and the turn it was heard in."""

    draft: RelationDraft
    said: str

    def __str__(self) -> str:
        draft = self.draft
        return (
            f"[{draft.type.type}] {sentence(draft.source, *draft.type, draft.target)}\n"
            f"      {_around(self.said, draft)}"
        )


def main() -> None:
    """Print the counts and the sample."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--data", type=Path, required=True, help="the folder of conversations")
    parser.add_argument("--sets", nargs="+", default=["beam-100k", "locomo"])
    parser.add_argument("--extractor", choices=("rules", "nlp"), default="rules")
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--seed", type=int, default=14)
    given = parser.parse_args()
    extractor = extractor_named(given.extractor)
    edges: list[Edge] = []
    for each in given.sets:
        path = given.data / each / "conversations.jsonl.gz"
        if not path.is_file():
            parser.error(f"there is no {path}")
        edges += _edges(path, extractor)
    print(f"{len(edges)} edges in all")
    chosen = random.Random(given.seed).sample(edges, min(given.count, len(edges)))
    for number, edge in enumerate(chosen, 1):
        print(f"{number:4}  {edge}")


def _edges(path: Path, extractor: Extractor) -> Iterator[Edge]:
    """The edges of all conversations of a set; prints what was counted."""
    turns = entities = 0
    types: Counter[str] = Counter()
    for group in _groups(path):
        texts = {event.id: event.content for event in group}
        drafts: Drafts = read_turns(group, extractor, user="user")
        turns += len(group)
        entities += len(drafts.entities)
        for draft in drafts.relations:
            types[draft.type.type] += 1
            yield Edge(draft, texts[draft.sources[0]])
    told = ", ".join(f"{type} {count}" for type, count in types.most_common())
    print(f"{path.parent.name}: {turns} turns, {entities} entities, {types.total()} edges ({told})")


def _groups(path: Path) -> Iterator[list[Event]]:
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        for line in lines:
            sessions: dict[Any, list[Event]] = {}
            row = json.loads(line)
            for number, turn in enumerate(row["turns"]):
                sessions.setdefault(turn["session"], []).append(_event(turn, number))
            for events in sessions.values():
                for at in range(0, len(events), _MOST_TURNS):
                    yield events[at : at + _MOST_TURNS]


def _event(turn: dict[str, Any], number: int) -> Event:
    """A turn; whoever is no assistant is a person who speaks, "user" the one without a name."""
    speaker = str(turn["speaker"])
    is_role = speaker.lower() in _ROLES
    role = speaker.lower() if is_role else "user"
    at = datetime.fromisoformat(turn["time"]).replace(tzinfo=UTC)
    name = None if is_role else speaker
    return Event(str(turn["id"]), number, role, turn["text"], at, at, role, name)


def _around(said: str, draft: RelationDraft) -> str:
    """The sentences of a turn that hold an end of an edge; the one with both, if there is one."""
    sentences = [" ".join(said[a:b].split()) for a, b in sentence_spans(said, names=True)]
    holding = [each for each in sentences if draft.target in each]
    holding = holding or [each for each in sentences if draft.source in each]
    both = [each for each in holding if draft.source in each]
    return " / ".join(both or holding or sentences)[:_MOST_SHOWN]


if __name__ == "__main__":
    main()
