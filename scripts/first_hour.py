"""What a user notices in the first hour, kind by kind, in everyday words.

    python scripts/first_hour.py [--only 2]
    PYTHONPATH=OTHER_CLONE/src python scripts/first_hour.py    # how it was in another version

Each example is a conversation with a fresh memory of default settings, in this process. Printed are
what was said, what was asked, what came out, and whether that is as it must be: `ok` or `NOT`. It
ends with 1 if one is not.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.util import find_spec
from pathlib import Path

import holdfast
from holdfast.errors import HoldfastError
from holdfast.memory.memory import Memory

NOW = datetime(2026, 6, 1, 9, tzinfo=UTC)
USER = "ann"
#: Tokens that a context may have for a question that asks for nothing.
_NEXT_TO_NOTHING = 60

#: (what came out, whether it is as it must be)
Outcome = tuple[str, bool]
Check = Callable[[Memory], Outcome]
#: (day, what the user says)
Said = Sequence[tuple[str, str]]


@dataclass(frozen=True, slots=True)
class Example:
    """One thing to try."""

    #: The kind that it is of, from 1 to 10.
    kind: int
    said: Said
    #: What is asked or looked at, in words.
    asked: str
    check: Check


KINDS = (
    "what is said beside a rule is told",
    "the newest answer comes first, and the earlier is marked",
    "a rule that was withdrawn is no order",
    '"please remember that X" teaches X',
    "facts follow talk, and two things stay two",
    "nothing to say, next to nothing told",
    "a setting acts, or says that it does not",
    "who asks for the rules gets them, as in the seed",
    "the graph holds what was said",
    "small ones",
)


def holds(question: str, *words: str, lacks: Sequence[str] = ()) -> tuple[str, Check]:
    """A context for the question holds these words, and none of the others."""

    def check(memory: Memory) -> Outcome:
        text = memory.context(question, user=USER, now=NOW).text
        is_right = all(word in text for word in words) and not any(each in text for each in lacks)
        return text, is_right

    return f"context: {question}", check


def first(question: str, word: str, *, marks: str = "") -> tuple[str, Check]:
    """The first hit for the question holds the word; one that holds `marks` is marked."""

    def check(memory: Memory) -> Outcome:
        hits = memory.recall(question, user=USER, now=NOW)
        told = [f"{each.content} {each.why.get('replaced', '')}".strip() for each in hits[:3]]
        is_marked = any(marks in each.content and "replaced" in each.why for each in hits)
        is_first = bool(hits) and word in hits[0].content
        return "\n".join(told), is_first and (not marks or is_marked)

    return f"recall: {question}", check


def rules(*, lack: str, has: str = "") -> tuple[str, Check]:
    """The rules in force, whatever is asked, do not hold the one word, but the other."""

    def check(memory: Memory) -> Outcome:
        hits = memory.recall("Which rules hold?", user=USER, now=NOW, tiers=["procedure"])
        told = "\n".join(hit.content for hit in hits if hit.is_rule)
        return told or "(none)", lack not in told and has in told

    return "the rules in force", check


def facts(*contents: str, lack: str = "") -> tuple[str, Check]:
    """These facts hold, and none with the word."""

    def check(memory: Memory) -> Outcome:
        known = [fact.content for fact in memory.facts.list(user=USER)]
        is_right = all(each in known for each in contents)
        return "\n".join(known) or "(none)", is_right and not (
            lack and any(lack in each for each in known)
        )

    return "the facts that hold", check


def short(question: str) -> tuple[str, Check]:
    """A context for what asks for nothing is short."""

    def check(memory: Memory) -> Outcome:
        context = memory.context(question, user=USER, now=NOW)
        told = f"{context.tokens} tokens, {len(context.hits)} memories"
        return told, context.tokens <= _NEXT_TO_NOTHING

    return f"context: {question}", check


def warned(memory: Memory) -> Outcome:
    """A setting of a call that does nothing is told on the answer."""
    hits = memory.recall("boats", user=USER, overrides={"searchTopK": 7})
    return "\n".join(hits.warnings) or "(nothing is said)", bool(hits.warnings)


def refused(_: Memory) -> Outcome:
    """A setting that nothing can use is refused at the start."""
    with tempfile.TemporaryDirectory() as folder:
        try:
            holdfast.open(Path(folder) / "m.db", config={"rrf.k": 20}, worker=False).close()
        except HoldfastError as error:
            return str(error), True
    return "(nothing is said)", False


def raised(memory: Memory) -> Outcome:
    """The seed's boost finds the rules, tags them and lets none tie."""
    hits = memory.recall(
        "what should I always do?", user=USER, overrides={"instructionBoostEnabled": True}
    )
    tagged = [hit for hit in hits if hit.metadata.get("fact_role") == "instruction"]
    told = [f"{hit.score:.3f} {hit.metadata.get('fact_role')} {hit.content}" for hit in hits]
    scores = [hit.score for hit in tagged]
    return "\n".join(told) or "(none)", len(scores) >= 2 and len(set(scores)) == len(scores)


def edges(*, lack: str, has: str = "") -> tuple[str, Check]:
    """The graph draws no edge with the one word, but one with the other."""

    def check(memory: Memory) -> Outcome:
        found = memory.graph.edges(user=USER)
        text = "\n".join(f"{each.content} ({each.original or each.type})" for each in found)
        return text or "(no edges)", lack not in text and has in text

    return "the graph", check


def dated(_: Memory) -> Outcome:
    """A line with the date of a session sets the time, and is no turn."""
    from holdfast.service.dialects.atomic_ingest import messages_of  # noqa: PLC0415 (only with the service)

    found = messages_of("[Session date: 2025-02-03]\nuser: I sold the boat.")
    is_right = len(found) == 1 and str(found[0].get("at", "")).startswith("2025-02-03")
    return str(found), is_right


def own_questions(memory: Memory) -> Outcome:
    """An agent is told of its own questions alone."""
    context = memory.context("Which tea?", user=USER, agent="cook")
    try:
        memory.explain(context.id, user=USER, agent="driver")
    except HoldfastError as error:
        return f"to another agent: {error}", True
    return "another agent is told", False


def example(
    kind: int, said: Said | str, asked: tuple[str, Check], *, day: str = "2026-01-12"
) -> Example:
    """One thing to try; what is said in one text is said on one day."""
    return Example(kind, [(day, said)] if isinstance(said, str) else said, *asked)


CHATTER = [
    ("2026-02-02", "We painted the hall in pale green last weekend."),
    ("2026-02-09", "My cousin Ida is learning to sail on the Elbe."),
    ("2026-02-16", "I found a good bakery behind the station."),
    ("2026-02-16", "OK."),
    ("2026-03-01", "The roof of our shed leaks when it rains from the west."),
    ("2026-03-08", "Noted."),
    ("2026-03-15", "I'm reading a book about the history of salt."),
]

EXAMPLES = (
    example(1, "I have coeliac disease. Always check recipes for wheat before you send them.",
            holds("What illness do I have?", "coeliac")),
    example(1, "My knee was operated on in May. Never suggest running routes to me.",
            holds("What was done to my knee?", "operated")),
    example(2, [("2026-01-12", "I live in Bergen."), ("2026-03-20", "I live in Turku now.")],
            first("Where do I live?", "Turku", marks="Bergen")),
    example(2, [("2026-01-12", "I live in Bergen."), ("2026-03-20", "I live in Turku now.")],
            holds("Where do I live?", "Turku", "(until March 2026): I live in Bergen.")),
    example(2, [("2026-01-12", "I live in Bergen."), ("2026-03-20", "I live in Turku now.")],
            first("Where did I live in February?", "Bergen")),
    example(3, [("2026-01-12", "Whenever I ask for a weekly report, write it in Italian."),
                ("2026-02-12", "Actually, drop the Italian rule.")],
            rules(lack="write it in Italian")),
    example(3, [("2026-01-12", "When I ask for a script, give me Perl."),
                ("2026-02-12", "When I ask for a script, give me Ruby.")],
            rules(lack="Perl", has="Ruby")),
    example(4, "Please remember that I'm a vegetarian.", facts("I'm a vegetarian.")),
    example(4, "dont forget im allergic to latex", facts("im allergic to latex")),
    example(5, [("2026-01-12", "I work at Siemens."), ("2026-04-02", "I work at Bosch now.")],
            facts("I work at Bosch now.", lack="Siemens")),
    example(5, [("2026-01-12", "Hall 3 has a grand piano."),
                ("2026-01-13", "Hall 5 has a grand piano.")],
            holds("Which halls have a grand piano?", "Hall 3", "Hall 5", lacks=("until",))),
    example(6, CHATTER, short("thanks!")),
    example(6, CHATTER, holds("What am I reading?", "salt", lacks=("Noted.", "OK."))),
    example(7, "I like boats.", ("recall(overrides={'searchTopK': 7})", warned)),
    example(7, "I like boats.", ("open(config={'rrf.k': 20})", refused)),
    example(8, [("2026-01-12", "Going forward, use metric units."),
                ("2026-01-13", "Always sign mails with my initials.")],
            ("recall: what should I always do? (boosted)", raised)),
    example(9, "I never got used to trams.", edges(lack="trams")),
    example(9, "My sister Clara works at Nokia.", edges(lack="related_to", has="Clara")),
    example(10, "I like tea.", ("[Session date: 2025-02-03]", dated)),
    example(10, "I like tea.", ("explain to another agent", own_questions)),
)  # fmt: skip


@contextmanager
def told(said: Said) -> Iterator[Memory]:
    """A fresh memory that was told this, each on its day."""
    with (
        tempfile.TemporaryDirectory() as folder,
        holdfast.open(Path(folder) / "m.db", worker=False, clock=lambda: NOW) as memory,
    ):
        for day, text in said:
            memory.remember(text, user=USER, at=f"{day}T09:00:00Z")
            memory.drain()
        yield memory


def tried(one: Example) -> bool:
    """Try an example and print it; whether it is as it must be."""
    with told(one.said) as memory:
        try:
            came, is_right = one.check(memory)
        except (AttributeError, TypeError) as error:  # A version of before: it has no such thing.
            came, is_right = f"(there is none: {error})", False
    for day, text in one.said:
        print(f"    said   {day} {text}")
    print(f"    asked  {one.asked}")
    for line in came.splitlines():
        print(f"    came   {line}")
    print(f"    {'ok' if is_right else 'NOT'}")
    return is_right


def main() -> int:
    """All examples, or those of one kind."""
    args = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    args.add_argument("--only", type=int, metavar="KIND", help="one kind, 1 to 10")
    only = args.parse_args().only
    if find_spec("fastapi") is None:
        sys.exit("error: one example needs the service: run `make setup` first")
    for name in [name for name in os.environ if name.startswith("HOLDFAST_")]:
        del os.environ[name]  # Default settings, whoever runs it.
    wrong = 0
    for number, kind in enumerate(KINDS, 1):
        if only not in (None, number):
            continue
        print(f"{number:2}. {kind}")
        wrong += sum(not tried(one) for one in EXAMPLES if one.kind == number)
    count = sum(only in (None, one.kind) for one in EXAMPLES)
    print(f"{count - wrong} of {count} as they must be")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
