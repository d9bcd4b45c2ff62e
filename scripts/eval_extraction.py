"""Measure extraction: entity spans, relations, facts, speed; with rules alone and with spaCy.

    python scripts/eval_extraction.py --data DIR [--only rules]

DIR holds `kg-redocred/dev.jsonl.gz` and `locomo/conversations.jsonl.gz`. A span counts when both
its ends are right. Of Re-DocRED the names count (PER, LOC, ORG, MISC), not numbers and times; a
document is one group of turns. Of LoCoMo a session is one group, and the annotated turns are those
of `tests/language/locomo_spans.jsonl`: `random`, 200 turns drawn by hash, and `named`, 100 more
whose text holds a capital inside a sentence. Relations are those of
`tests/language/relation_sentences.jsonl`: `expect` is required, `also` is true but not required.
Facts are those of `tests/language/fact_sentences*.jsonl`, each a turn of its own; a category counts
among the facts that were found.
"""

from __future__ import annotations

import argparse
import gzip
import importlib
import json
import re
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

from holdfast.language.extraction import Extractor, RulesExtractor
from holdfast.language.mentions import Turn
from holdfast.language.relations import NUMBER_LABELS
from holdfast.language.statements.facts import facts_of
from holdfast.language.statements.values import FactDraft
from holdfast.learn.nlp import MODEL, NlpExtractor
from holdfast.types import Event

HERE = Path(__file__).parents[1] / "tests" / "language"
NOW = datetime(2024, 1, 1, tzinfo=UTC)
CAPITALS = re.compile(r"[A-Z][\w'.-]*(?: [A-Z][\w'.-]*)*")

#: (group, turn, start, end)
Key = tuple[str, str, int, int]
#: Finds the spans of each turn of a group.
Finder = Callable[[Sequence[Turn]], list[list[tuple[int, int]]]]


class Group(NamedTuple):
    """Turns that are read together, with their ids."""

    id: str
    ids: list[str]
    turns: list[Turn]


class Score(NamedTuple):
    """Precision, recall and their harmonic mean."""

    precision: float
    recall: float

    @property
    def f1(self) -> float:
        """The harmonic mean."""
        both = self.precision + self.recall
        return 2 * self.precision * self.recall / both if both else 0.0

    def __str__(self) -> str:
        return f"P {self.precision:.3f}  R {self.recall:.3f}  F1 {self.f1:.3f}"


def main() -> None:
    """Print all figures."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--only", choices=("rules", "nlp"))
    given = parser.parse_args()
    documents, gold = redocred(given.data / "kg-redocred" / "dev.jsonl.gz")
    sessions = locomo(given.data / "locomo" / "conversations.jsonl.gz")
    finders: dict[str, Finder] = {"capitals regex": by_capitals}
    extractors: dict[str, Extractor] = {}
    if given.only != "nlp":
        extractors["rules"] = RulesExtractor()
    if given.only != "rules":
        finders["plain spaCy"] = plain_spacy()
        extractors["rules + spaCy"] = NlpExtractor()
    finders |= {name: mentions_of(each) for name, each in extractors.items()}
    for name, finder in finders.items():
        print_spans(name, finder, documents, gold, sessions)
    for name, extractor in extractors.items():
        print_relations(name, extractor)
        print_facts(name, extractor, sessions)
        print_speed(name, extractor, sessions)


def print_spans(
    name: str, finder: Finder, documents: list[Group], gold: set[Key], sessions: list[Group]
) -> None:
    """Entity spans on both sets."""
    print(f"{name:15} kg-redocred      {score(found_in(documents, finder), gold)}")
    found = found_in(sessions, finder)
    speakers = {turn.speaker for group in sessions for turn in group.turns}
    text = {
        (group.id, id_): turn.text
        for group in sessions
        for id_, turn in zip(group.ids, group.turns, strict=True)
    }
    for which, (turns, right) in annotated().items():
        here = {key for key in found if key[:2] in turns}
        print(f"{name:15} locomo {which:9} {score(here, right)}")

        def is_other(key: Key) -> bool:
            return text[key[:2]][key[2] : key[3]] not in speakers

        others = score(set(filter(is_other, here)), set(filter(is_other, right)))
        print(f"{name:15}  without speakers {others}")


def print_relations(name: str, extractor: Extractor) -> None:
    """Relation precision and recall on our own sentences."""
    for path in sorted(HERE.glob("relation_sentences*.jsonl")):
        right = wrong = wanted = 0
        for line in path.read_text().splitlines():
            row = json.loads(line)
            expect = {tuple(each) for each in row["expect"]}
            also = {tuple(each) for each in row.get("also", ())}
            found = relations_of(extractor, row)
            right += len(found & expect)
            wrong += len(found - expect - also)
            wanted += len(expect)
        result = Score(right / max(1, right + wrong), right / wanted)
        print(f"{name:15} {path.stem:25} {result}  ({right} right, {wrong} wrong of {wanted})")


def print_facts(name: str, extractor: Extractor, sessions: list[Group]) -> None:
    """Fact precision, recall and category on our own sentences, and what finding them costs."""
    for path in sorted(HERE.glob("fact_sentences*.jsonl")):
        rows = [json.loads(line) for line in path.read_text().splitlines()]
        if "category" not in rows[0]:  # Whole messages: those are for the tests.
            continue
        found = wanted = both = right = 0
        for row in rows:
            facts, _ = facts_in([Turn("User", "user", row["text"], NOW)], extractor)
            kinds = {each.category for each in facts}
            found += bool(kinds)
            wanted += row["category"] is not None
            both += bool(kinds) and row["category"] is not None
            right += row["category"] in kinds
        result = Score(both / max(1, found), both / wanted)
        print(f"{name:15} {path.stem:25} {result}  category {right / max(1, both):.3f}")
    turns = [turn for group in sessions for turn in group.turns][:600]
    count, spent = 0, 0.0
    for at in range(0, len(turns), 20):
        facts, seconds = facts_in(turns[at : at + 20], extractor)
        count += len(facts)
        spent += seconds
    print(f"{name:15} {count} facts in {len(turns)} turns, {1000 * spent / len(turns):.2f} ms each")


def facts_in(turns: list[Turn], extractor: Extractor) -> tuple[list[FactDraft], float]:
    """The facts of a group, and the seconds that finding them took beside the extractor."""
    events = [
        Event(str(n), n, turn.role, turn.text, turn.at, turn.at, "user", turn.speaker)
        for n, turn in enumerate(turns)
    ]
    extracted = extractor.extract(turns)
    before = time.process_time()
    return facts_of(events, extracted, user="User"), time.process_time() - before


def relations_of(extractor: Extractor, row: dict[str, Any]) -> set[tuple[str, ...]]:
    """The triples of one sentence, said by one of two speakers."""
    turns = [
        Turn(row["other"], "user", "Hello!", NOW),
        Turn(row["speaker"], "user", row["text"], NOW),
    ]
    return {(each.source, each.type, each.target) for each in extractor.extract(turns)[1].relations}


def print_speed(name: str, extractor: Extractor, sessions: list[Group]) -> None:
    """Turns per second of processor time, in groups of at most 20 turns."""
    turns = [turn for group in sessions for turn in group.turns][:600]
    extractor.extract(turns[:20])
    before = time.process_time()
    for at in range(0, len(turns), 20):
        extractor.extract(turns[at : at + 20])
    spent = time.process_time() - before
    print(f"{name:15} speed {len(turns) / spent:.0f} turns/s of processor time")


def redocred(path: Path) -> tuple[list[Group], set[Key]]:
    """The documents as groups, and where their names stand."""
    groups: list[Group] = []
    gold: set[Key] = set()
    for row in _rows(path):
        sentences = row["sentences"]
        turns = [Turn("", "user", text, NOW) for text in sentences]
        groups.append(Group(row["doc_id"], [str(i) for i in range(len(turns))], turns))
        for entity in row["entities"]:
            if entity["type"] in ("TIME", "NUM"):
                continue
            for mention in entity["mentions"]:
                tokens = sentences[mention["sent"]].split(" ")
                first, last = mention["tok"]
                start = sum(len(token) + 1 for token in tokens[:first])
                end = start + len(" ".join(tokens[first:last]))
                gold.add((row["doc_id"], str(mention["sent"]), start, end))
    return groups, gold


def locomo(path: Path) -> list[Group]:
    """The sessions of all conversations as groups."""
    groups: list[Group] = []
    for row in _rows(path):
        sessions: dict[str, Group] = {}
        for turn in row["turns"]:
            group = sessions.setdefault(turn["session"], Group(row["conv_id"], [], []))
            at = datetime.fromisoformat(turn["time"]).replace(tzinfo=UTC)
            group.ids.append(turn["id"])
            group.turns.append(Turn(turn["speaker"], "user", turn["text"], at))
        groups += sessions.values()
    return groups


def annotated() -> dict[str, tuple[set[tuple[str, str]], set[Key]]]:
    """Of each set: its turns, and where names stand in them."""
    found: dict[str, tuple[set[tuple[str, str]], set[Key]]] = defaultdict(lambda: (set(), set()))
    for line in (HERE / "locomo_spans.jsonl").read_text().splitlines():
        row = json.loads(line)
        turns, spans = found[row["set"]]
        turns.add((row["conversation"], row["turn"]))
        spans.update((row["conversation"], row["turn"], start, end) for start, end in row["spans"])
    return dict(found)


def found_in(groups: list[Group], finder: Finder) -> set[Key]:
    """Every span that a finder finds."""
    return {
        (group.id, id_, start, end)
        for group in groups
        for id_, spans in zip(group.ids, finder(group.turns), strict=True)
        for start, end in spans
    }


def score(found: set[Key], gold: set[Key]) -> Score:
    """How well two sets of spans agree."""
    right = len(found & gold)
    return Score(right / max(1, len(found)), right / max(1, len(gold)))


def by_capitals(turns: Sequence[Turn]) -> list[list[tuple[int, int]]]:
    """The baseline: runs of words with capitals."""
    return [[found.span() for found in CAPITALS.finditer(turn.text)] for turn in turns]


def plain_spacy() -> Finder:
    """spaCy's own entities, numbers and times left out."""
    nlp = importlib.import_module(MODEL).load()

    def find(turns: Sequence[Turn]) -> list[list[tuple[int, int]]]:
        docs = nlp.pipe(turn.text for turn in turns)
        return [
            [(e.start_char, e.end_char) for e in doc.ents if e.label_ not in NUMBER_LABELS]
            for doc in docs
        ]

    return find


def mentions_of(extractor: Extractor) -> Finder:
    """An extractor's mentions as spans."""

    def find(turns: Sequence[Turn]) -> list[list[tuple[int, int]]]:
        return [[(m.start, m.end) for m in one.mentions] for one in extractor.extract(turns)]

    return find


def _rows(path: Path) -> Iterator[dict[str, Any]]:
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        yield from map(json.loads, lines)


if __name__ == "__main__":
    main()
