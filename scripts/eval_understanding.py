"""What the memory makes of everyday conversations: labelled ones, asked as a user would.

    python -m scripts.eval_understanding [FILE.jsonl|FOLDER ...] [--config JSON] [--beside]
        [--misses] [--facts OUT.jsonl]

Without files, those of `tests/understanding`; of a folder, the labelled conversations in the form
of `training/data`, as `training/test`, the test part of the model that reads. Printed for English
and for other languages:

facts      current values that an active fact, a field of the profile or a note says
stale      outdated values that an active fact or field says without the current one
rules      rules that hold and are told as standing instructions; ended ones that are told still
order      questions whose newest evidence comes before what it replaced
evidence   questions of which all evidence is in a context of 600 tokens, and in the first five
nothing    tokens of the context for a message that needs no memory

With `--beside` also what the patterns make of them, with our embedder and with the base one. With
`--facts` every fact that holds in the end is written beside its turn, for somebody to judge.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import holdfast
from holdfast import Memory
from holdfast.recall.context.safe import parse
from training.labels import read, scored

SETS = Path(__file__).parents[1] / "tests" / "understanding"
#: Figure -> the value of each question that was asked.
Figures = dict[str, list[float]]
#: Who reads: what the table calls it, and its settings.
READERS: dict[str, dict[str, Any]] = {
    "base": {"embedding": {"provider": "minilm"}, "extraction": {"reader": "rules"}},
    "rules": {"extraction": {"reader": "rules"}},
    "model": {},
}


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("files", type=Path, nargs="*")
    parser.add_argument("--config", type=json.loads, help="settings, as JSON")
    parser.add_argument("--beside", action="store_true", help="by patterns and the base model, too")
    parser.add_argument("--misses", action="store_true", help="say what was missed")
    parser.add_argument("--facts", type=Path, help="write the facts that hold, with their turns")
    options = parser.parse_args()
    readers = READERS if options.beside else {"model": options.config or {}}
    files = options.files or sorted(SETS.glob("*.jsonl"))
    talks = [talk for path in files for talk in conversations(path)]
    figures: dict[str, Figures] = {}
    facts: list[dict[str, Any]] = []
    for name, config in readers.items():
        for number, talk in enumerate(talks, 1):
            progress = f"\r{name}: {number} of {len(talks)} conversations"
            print(progress, end="", file=sys.stderr, flush=True)
            with (
                tempfile.TemporaryDirectory() as folder,
                holdfast.open(f"{folder}/memory.db", config=config) as memory,
            ):
                asked = Talk(memory, talk)
                measure(asked, name, figures, options)
                facts += asked.held() if options.facts else []
        print(file=sys.stderr)
    if options.facts:
        lines = [json.dumps(each, ensure_ascii=False) for each in facts]
        options.facts.write_text("\n".join(lines), encoding="utf-8")
    print(table(figures))


def measure(
    talk: Talk, reader: str, figures: dict[str, Figures], options: argparse.Namespace
) -> None:
    """Add the figures of a conversation to its column."""
    column = "English" if talk.lang == "en" else "others"
    if options.beside:
        column = f"{column}, {reader}"
    for name, value, about in talk.figures():
        figures.setdefault(column, defaultdict(list))[name].append(value)
        if options.misses and value != talk.wanted(name):
            print(f"{talk.user} | {name} | {about}")


def conversations(path: Path) -> list[dict[str, Any]]:
    """The labelled conversations of a file or a folder."""
    if path.is_dir():
        return [scored(read(each)) for each in sorted(path.rglob("*.txt"))]
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def table(figures: dict[str, Figures]) -> str:
    """The figures as a Markdown table."""
    names = list(dict.fromkeys(name for each in figures.values() for name in each))
    rows = ["| | " + " | ".join(figures) + " |", "|---" * (len(figures) + 1) + "|"]
    for name in names:
        told = []
        for each in figures.values():
            some = each.get(name, [])
            told.append(f"{sum(some) / len(some):.3f} ({len(some)})" if some else "")
        rows.append(f"| {name} | " + " | ".join(told) + " |")
    return "\n".join(rows)


class Talk:
    """A conversation that was remembered."""

    def __init__(self, memory: Memory, talk: dict[str, Any]) -> None:
        self._memory = memory
        self._talk = talk
        self.user, self.lang = str(talk["id"]), str(talk["lang"])
        #: The turn of each event.
        self._turns: dict[str, int] = {}
        sessions: dict[str, list[dict[str, Any]]] = defaultdict(list)
        for number, turn in enumerate(talk["turns"]):
            told = {name: turn[name] for name in ("role", "content", "at")}
            sessions[turn["session"]].append({**told, "metadata": {"turn": number}})
        for session, turns in sessions.items():
            stored = memory.remember(turns, user=self.user, session=session)
            numbers = [turn["metadata"]["turn"] for turn in turns]
            self._turns |= zip(stored.events, numbers, strict=True)
        memory.drain()
        self._end = datetime.fromisoformat(talk["turns"][-1]["at"]) + timedelta(hours=2)

    @staticmethod
    def wanted(name: str) -> float:
        """What a figure is where nothing was missed."""
        return 0.0 if name in ("stale facts", "ended rules told", "tokens for nothing") else 1.0

    def held(self) -> Iterator[dict[str, Any]]:
        """The facts that hold, each with its turn and what was said to the user before that."""
        turns = self._talk["turns"]
        for fact in self._memory.facts.list(user=self.user):
            for number in [self._turns[each] for each in fact.sources if each in self._turns][:1]:
                heard = turns[number - 1]["content"] if number else ""
                yield {
                    "talk": self.user, "turn": number, "at": turns[number]["at"], "heard": heard,
                    "said": turns[number]["content"], "fact": fact.content,
                }  # fmt: skip

    def figures(self) -> Iterator[tuple[str, float, str]]:
        """(figure, value, what it is about)"""
        yield from self._facts()
        yield from self._rules()
        for question in self._talk["questions"]:
            yield from self._question(question)
        for text in self._talk["nothing"]:
            context = self._memory.context(text, user=self.user, now=self._end, record=False)
            yield "tokens for nothing", context.tokens, text

    def _facts(self) -> Iterator[tuple[str, float, str]]:
        memory, user = self._memory, self.user
        said = [fact.content.casefold() for fact in memory.facts.list(user=user)]
        fields = memory.profile(user=user).fields.values()
        said += [str(field.values).casefold() for field in fields]
        noted = [note.content.casefold() for note in memory.notes.list(user=user)]
        for fact in self._talk["facts"]:
            about = f"{fact['about']}: {fact['attribute']} = {fact['current']}"
            yield (
                "facts held",
                float(any(_holds(text, fact["current"]) for text in said + noted)),
                about,
            )
            if fact["outdated"]:
                stale = [
                    text
                    for text in said
                    if _holds(text, fact["outdated"]) and not _holds(text, fact["current"])
                ]
                yield "stale facts", float(bool(stale)), about

    def _rules(self) -> Iterator[tuple[str, float, str]]:
        for rule in self._talk["rules"]:
            context = self._memory.context(
                rule["ask"], user=self.user, budget_tokens=1000, now=self._end, record=False
            )
            told = " \n ".join(
                item.text for item in parse(context.text) if item.section == "instructions"
            )
            name = "active rules told" if rule["active"] else "ended rules told"
            is_told = all(word.casefold() in told.casefold() for word in rule["words"])
            yield name, float(is_told), " ".join(rule["words"])

    def _question(self, question: dict[str, Any]) -> Iterator[tuple[str, float, str]]:
        asked, evidence, outdated = (question[name] for name in ("q", "evidence", "outdated"))
        hits = self._memory.recall(asked, user=self.user, limit=10, now=self._end)
        turns = [hit.metadata.get("turn") for hit in hits]
        yield "evidence in the first five", float(set(evidence) <= set(turns[:5])), asked
        if outdated:
            new, old = _first(turns, evidence), _first(turns, outdated)
            yield "newest above outdated", float(new < len(turns) and new < old), asked
            yield "first is not outdated", float(bool(turns) and turns[0] not in outdated), asked
        context = self._memory.context(
            asked, user=self.user, budget_tokens=600, now=self._end, record=False
        )
        told = {hit.metadata.get("turn") for hit in context.hits}
        yield "evidence in 600 tokens", float(set(evidence) <= told), asked
        yield "tokens of an answer", context.tokens, asked


def _holds(text: str, values: Sequence[str]) -> bool:
    return any(value.casefold() in text for value in values)


def _first(turns: Sequence[Any], wanted: Sequence[int]) -> int:
    return min((turns.index(each) for each in wanted if each in turns), default=len(turns))


if __name__ == "__main__":
    main()
