"""Turns labelled conversations and pseudo conversations into token ids for the trainer.

    python -m training.prepare OUT.json.gz [--retrieval PAIRS.jsonl.gz]

Needs no torch: `train.py` runs where only torch, numpy and onnx are, on what this writes. A text is
cut at blanks, and each word into word pieces, so that every token knows its word: lines begin at
words, and values are words.

- turns: every user's turn with the line, the acts, the kinds, whom it is about and the value words;
  and single messages, which need what is remembered or do not
- pairs: an earlier line and a later one, with how the later relates to the earlier. Those that no
  author related are `unrelated`: the nearest by the shipped embedder, which are what is compared
- choices: a line, what it ends and what else it might (`choices.py`)
- retrieval: questions and the turns that answer them, of our conversations and of pseudo ones; and
  messages with the rules that apply to them
"""

from __future__ import annotations

import argparse
import gzip
import json
import random
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from holdfast.models.local import WORDS, LocalEmbedder, WordPiece
from training import choices
from training.labels import (
    ACTS,
    KINDS,
    Conversation,
    Line,
    read,
    read_lists,
    read_messages,
    read_sets,
)

HERE = Path(__file__).parent
#: Of the rules and pastes that tests read, those that are trained on.
TRUSTED = [
    HERE.parent / "tests" / "trust" / f"{name}.jsonl"
    for name in ("rules", "rules_own", "pastes", "pastes_own")
]
#: The columns of the model's output for each token, in this order.
TAGS = ("fact", "rule", "withdraw", *ACTS, "recall")
_RECALL = TAGS.index("recall")
ABOUT = ("me", "other")
RELATIONS = ("unrelated", "same", "adds", "replaces", "corrects", "withdraws", "both")
MAX_TOKENS = 256
_BUSY = ("ask", "fact", "rule", "withdraw")
#: What is known of a message of each of `MESSAGES`: that it asks says nothing of what it states.
_JUDGED: dict[str, dict[str, int]] = {
    "yes": {"recall": 1},
    "no": {"recall": 0},
    "idle": {"filler": 1, "recall": 0, "quote": 0, **dict.fromkeys(_BUSY, 0)},
    "ask": {"ask": 1, "filler": 0, "chat": 0, "rule": 0, "withdraw": 0},
    "tell": {"fact": 1, "filler": 0, "chat": 0, "quote": 0, "rule": 0, "withdraw": 0},
    "rule": {"rule": 1, "filler": 0, "chat": 0, "quote": 0, "others": 0},
    "end": {"withdraw": 1, "filler": 0, "chat": 0, "quote": 0, "others": 0},
}
#: Lines that no author related to a line: so many of the nearest and of the others; and of the
#: nearest to a line that ends something: it must not end what it is not about.
_NEAR, _FAR, _NEAR_END = 5, 2, 24
#: What stands between a line and the one before it in its turn.
CONTEXT = " | "


def main() -> None:
    """Read everything, write one file."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("out", type=Path)
    parser.add_argument("--retrieval", type=Path, help="pseudo conversations (embed_data.py)")
    parser.add_argument("--data", type=Path, default=HERE / "data")
    parser.add_argument("--sets", type=Path, default=HERE / "sets")
    parser.add_argument("--lists", type=Path, default=HERE / "lists")
    parser.add_argument("--messages", type=Path, default=HERE / "messages")
    parser.add_argument("--asked", type=Path, default=HERE / "asked")
    options = parser.parse_args()
    words = WordPiece.from_file(WORDS)
    conversations = [read(path) for path in sorted(options.data.rglob("*.txt"))]
    made: dict[str, list[Any]] = {"turns": [], "pairs": [], "retrieval": []}
    for conversation in conversations:
        split = split_of(conversation)
        made["turns"] += [dict(turn, split=split) for turn in tagged_turns(conversation, words)]
        made["turns"] += [dict(turn, split=split) for turn in single_lines(conversation, words)]
        made["retrieval"].append(dict(own_questions(conversation, words), split=split))
    made["turns"] += [turn for turn in trusted_turns(words) if turn["lines"]]
    made["turns"] += messages(options.messages, words)
    made["pairs"] = list(related_lines(conversations, words))
    for turn, pairs in line_sets(options.sets, words):
        made["turns"].append(turn)
        made["pairs"] += pairs
    made["turns"] += listed_turns(options.lists, words)
    told = list(choices.of_conversations(conversations, split_of))
    told += [*choices.of_sets(options.sets), *choices.of_lists(options.lists)]
    choices.with_strangers(told)
    made["choices"] = [encoded(each, words) for each in told]
    made["retrieval"] += rules_asked_for(options.asked, made["retrieval"], words)
    if options.retrieval:
        made["retrieval"] += pseudo(options.retrieval, words)
    made["lines"] = numbered(made["pairs"], made["choices"])
    options.out.parent.mkdir(parents=True, exist_ok=True)
    with gzip.open(options.out, "wt", encoding="utf-8", compresslevel=6) as file:
        json.dump(made, file, separators=(",", ":"))
    print({name: len(some) for name, some in made.items()})


def split_of(conversation: Conversation) -> str:
    """`dev` for every tenth file of an author, else `train`."""
    number = int(re.sub(r"\D", "", conversation.path.stem) or 0)
    return "dev" if number % 10 == 7 else "train"


def units(text: str, words: WordPiece) -> tuple[list[int], list[int], list[tuple[int, int]]]:
    """Token ids without the marks around them, the word of each, and where the words stand."""
    ids: list[int] = []
    owners: list[int] = []
    spans: list[tuple[int, int]] = []
    for match in re.finditer(r"\S+", text):
        pieces = words.encode(match.group())[1:-1]
        ids += pieces
        owners += [len(spans)] * len(pieces)
        spans.append(match.span())
    return ids, owners, spans


# ----------------------------------------------------------------------
# Tags
# ----------------------------------------------------------------------


def tagged_turns(conversation: Conversation, words: WordPiece) -> Iterator[dict[str, Any]]:
    """Each user's turn: the token ids of its lines and what each line is."""
    for turn in conversation.turns:
        if turn.role == "user" and turn.lines:
            lines = [tagged_line(line, words) for line in turn.lines]
            yield {
                "lang": conversation.head["lang"],
                "lines": [each for each in lines if each["ids"]],
            }


def tagged_line(line: Line, words: WordPiece) -> dict[str, Any]:
    """The token ids of a line, its labels by column, and the tokens of values and conditions."""
    ids, owners, spans = units(line.text, words)
    tags = set(line.acts)
    tags |= {"fact"} if line.facts else set()
    tags |= {"rule"} if line.rules else set()
    tags |= {"withdraw"} if line.withdraws else set()
    values = [fact["value"] for fact in line.facts]
    conditions = [str(rule["condition"]) for rule in line.rules if rule["condition"]]
    return {
        "ids": ids,
        # What is said in a conversation was not judged by whether it needs memories.
        "tags": [-1 if tag == "recall" else int(tag in tags) for tag in TAGS],
        "kinds": [int(any(fact["kind"] == kind for fact in line.facts)) for kind in KINDS],
        "about": [
            int(any(fact["about"] == "me" for fact in line.facts)),
            int(any(fact["about"] != "me" for fact in line.facts)),
        ],
        "value": inside(line.text, values, owners, spans),
        "condition": inside(line.text, conditions, owners, spans),
        "stop": int(line.text[-1:] in ".!?…"),
    }


def inside(
    text: str, parts: Iterable[str], owners: list[int], spans: list[tuple[int, int]]
) -> list[int]:
    """Which tokens lie in one of the parts of the text."""
    found: set[int] = set()
    for part in parts:
        start = text.find(part)
        end = start + len(part)
        found |= {n for n, (a, b) in enumerate(spans) if start >= 0 and a < end and b > start}
    return [int(owner in found) for owner in owners]


def single_lines(conversation: Conversation, words: WordPiece) -> Iterator[dict[str, Any]]:
    """What is asked of a memory, and what needs none, each as a turn of one line."""
    asked = [each["q"] for each in conversation.questions]
    applied = [rule["ask"] for rule in conversation.rules.values()]
    for text, tag in [
        *((each, "ask") for each in (*asked, *applied)),
        *((each, "filler") for each in conversation.nothing),
    ]:
        line = tagged_line(Line(text, acts=[tag]), words)
        line["kinds"], line["about"] = [-1] * len(KINDS), [-1, -1]
        if tag == "ask":  # It may state something beside.
            line["tags"] = [
                -1 if name in ("fact", "chat", "quote") else each
                for name, each in zip(TAGS, line["tags"], strict=True)
            ]
        else:  # Small talk, or a question that anybody can answer.
            line["tags"] = [-1] * len(TAGS)
        if text not in applied:
            line["tags"][_RECALL] = int(tag == "ask")
        yield {"lang": conversation.head["lang"], "lines": [line]}


def trusted_turns(words: WordPiece) -> Iterator[dict[str, Any]]:
    """Rules of users and rules in what they paste, of `tests/trust` and `trust/`; of such a turn
    only the sentences of the rule are labelled."""
    for path in (*TRUSTED, *sorted((HERE / "trust").glob("*.jsonl"))):
        tag = "rule" if path.stem.startswith("rules") else "quote"
        for row in path.read_text(encoding="utf-8").splitlines():
            turn = json.loads(row)
            parts = re.findall(r"[^.!?\n]+[.!?]*", turn["text"])
            lines = []
            for part in map(str.strip, parts):
                if part:
                    line = tagged_line(Line(part), words)
                    line["tags"] = [-1] * len(TAGS)
                    if part.rstrip(".!?") in turn["rule"] or turn["rule"].rstrip(".!?") in part:
                        line["tags"] = [int(each == tag) for each in TAGS]
                        line["tags"][_RECALL] = -1
                    line["kinds"], line["about"] = [-1] * len(KINDS), [-1, -1]
                    lines.append(line)
            yield {
                "lang": "other" if path.stem.endswith("other") else "en",
                "lines": [each for each in lines if each["ids"]],
                "split": "train",
                # A part of what was pasted is not a quotation when it stands alone.
                "whole": tag == "quote",
            }


def messages(folder: Path, words: WordPiece) -> Iterator[dict[str, Any]]:
    """Single messages, of which only what their authors judged is labelled."""
    for path in sorted(folder.glob("*.txt")):
        for number, (text, what) in enumerate(read_messages(path)):
            line = tagged_line(Line(text), words)
            line["tags"] = [_JUDGED[what].get(tag, -1) for tag in TAGS]
            line["kinds"], line["about"] = [-1] * len(KINDS), [-1, -1]
            yield {
                "lang": "other" if path.stem.startswith("other") else "en",
                "lines": [line],
                "split": "dev" if number % 10 == 7 else "train",
            }


# ----------------------------------------------------------------------
# Pairs
# ----------------------------------------------------------------------


def line_sets(
    folder: Path, words: WordPiece
) -> Iterator[tuple[dict[str, Any], list[dict[str, Any]]]]:
    """Each line of the sets as a turn, with the pair of a later line and the earlier one."""
    for path in sorted(folder.glob("*.txt")):
        for number, each in enumerate(read_sets(path)):
            shared = {"lang": each.lang, "split": "dev" if number % 10 == 7 else "train"}
            old = units(each.earlier.text, words)[0]
            for line in (each.earlier, *(later for _, later in each.later)):
                tagged = tagged_line(line, words)
                tagged["kinds"], tagged["about"] = [-1] * len(KINDS), [-1, -1]
                tagged["value"] = tagged["condition"] = [-1] * len(tagged["ids"])
                pairs = [
                    {
                        "old": [[], old],
                        "new": [[], tagged["ids"]],
                        "label": RELATIONS.index(relation),
                        "in_set": True,
                        **shared,
                    }
                    for relation, later in each.later
                    if later is line
                ]
                yield {"lines": [tagged], **shared}, pairs


def related_lines(conversations: list[Conversation], words: WordPiece) -> Iterator[dict[str, Any]]:
    """Pairs of lines of one conversation, the earlier first."""
    embedder, draw = LocalEmbedder(), random.Random(1)
    for conversation in conversations:
        refs = [
            ref
            for ref, line in conversation.lines.items()
            if line.facts or line.rules or line.withdraws
        ]
        rows = embedder.embed([conversation.lines[ref].text for ref in refs])
        chains = [{ref for ref, _ in told} for told in conversation.chains().values()]
        for place, ref in enumerate(refs):
            line = conversation.lines[ref]
            told = {earlier: label for label, earlier in line.pairs}
            near = np.argsort(-(rows[:place] @ rows[place])).tolist()
            others = [refs[n] for n in near if refs[n] not in told]
            # What tells the same thing and was not related: nobody knows.
            others = [each for each in others if not any({each, ref} <= chain for chain in chains)]
            ends = any(label in choices.ENDING for label in told.values())
            near_by = others[: _NEAR_END if ends else _NEAR]
            far = others[len(near_by) :]
            for earlier in (*told, *near_by, *draw.sample(far, min(_FAR, len(far)))):
                yield {
                    "old": in_context(conversation, earlier, words),
                    "new": in_context(conversation, ref, words),
                    "ends": ends,
                    "label": RELATIONS.index(told.get(earlier, "unrelated")),
                    "lang": conversation.head["lang"],
                    "split": split_of(conversation),
                }


def listed_turns(folder: Path, words: WordPiece) -> Iterator[dict[str, Any]]:
    """Rules and facts of lists, and later lines: of these only whether they end a rule is known."""
    for path in sorted(folder.glob("*.txt")):
        for number, each in enumerate(read_lists(path)):
            shared = {"lang": each.lang, "split": "dev" if number % 10 == 7 else "train"}
            is_rule = not path.stem.startswith("facts")
            given = [([(rule, True)], "rule" if is_rule else "fact", 1) for rule in each.rules]
            later = [
                ([(before, False), (text, True)], "withdraw", int(is_rule and ended > 0))
                for ended, before, text in each.later
            ]
            for texts, tag, value in (*given, *later):
                lines = []
                for text, is_judged in texts:
                    line = tagged_line(Line(text), words)
                    line["tags"] = [value if is_judged and name == tag else -1 for name in TAGS]
                    line["kinds"], line["about"] = [-1] * len(KINDS), [-1, -1]
                    line["value"] = line["condition"] = [-1] * len(line["ids"])
                    lines += [line] if line["ids"] else []
                yield {"lines": lines, **shared}


def encoded(choice: choices.Choice, words: WordPiece) -> dict[str, Any]:
    """A choice in token ids."""
    ways = [[units(part, words)[0] for part in (before, text)] for text, before in choice["ways"]]
    old = {name: [units(text, words)[0] for text in choice[name]] for name in ("right", "others")}
    return {**choice, **old, "ways": ways}


def numbered(pairs: list[dict[str, Any]], told: list[dict[str, Any]]) -> list[list[int]]:
    """The lines of all pairs and choices, each once; these name them by their numbers."""
    numbers: dict[tuple[int, ...], int] = {}

    def named(lines: list[list[int]]) -> list[int]:
        return [numbers.setdefault(tuple(ids), len(numbers)) for ids in lines]

    for pair in pairs:
        pair |= {side: named(pair[side]) for side in ("old", "new")}
    for each in told:
        each |= {name: named(each[name]) for name in ("right", "others")}
        each["ways"] = [named(way) for way in each["ways"]]
    return [list(ids) for ids in numbers]


def in_context(conversation: Conversation, ref: str, words: WordPiece) -> list[list[int]]:
    """The token ids of the line before a line in its turn, and of the line itself."""
    turn, number = map(int, ref.split("."))
    lines = conversation.turns[turn].lines
    before = lines[number - 2].text if number > 1 else ""
    return [units(before, words)[0], units(lines[number - 1].text, words)[0]]


# ----------------------------------------------------------------------
# Retrieval
# ----------------------------------------------------------------------


def own_questions(conversation: Conversation, words: WordPiece) -> dict[str, Any]:
    """The questions of one of our conversations."""
    turns = [
        [
            units(turn.role, words)[0],
            units(day(turn.at.date().isoformat()), words)[0],
            units(turn.content, words)[0][:200],
        ]
        for turn in conversation.turns
    ]
    asked = [
        [units(each["q"], words)[0], each["evidence"], each["outdated"]]
        for each in conversation.questions
    ]
    asked += [
        [units(rule["ask"], words)[0], rule["turns"], []]
        for rule in conversation.rules.values()
        if rule["active"]
    ]
    return {"turns": turns, "questions": asked, "style": "own"}


#: Rules, and turns of a conversation beside them, that a message to which one applies is asked of.
_RULES, _TURNS, _TIMES = 8, 16, 2


def rules_asked_for(
    folder: Path, talks: list[dict[str, Any]], words: WordPiece
) -> Iterator[dict[str, Any]]:
    """Rules and messages to which they apply, among turns of one of our conversations."""
    draw = random.Random(8)
    talks = [each for each in talks if each["split"] == "train"]
    for path in sorted(folder.glob("*.jsonl")):
        told = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
        for _ in range(_TIMES):
            draw.shuffle(told)
            for first in range(0, len(told), _RULES):
                beside = draw.choice(talks)["turns"]
                turns = draw.sample(beside, min(_TURNS, len(beside)))
                asked = []
                for number, each in enumerate(told[first : first + _RULES]):
                    head = draw.choice(beside)[:2]
                    turns.insert(number, [*head, units(each["rule"], words)[0][:200]])
                    asked += [[units(ask, words)[0], [number], []] for ask in each["asks"]]
                yield {"turns": turns, "questions": asked, "style": "own", "split": "train"}


def pseudo(path: Path, words: WordPiece) -> Iterator[dict[str, Any]]:
    """The pseudo conversations, one in forty of them for development."""
    with gzip.open(path, "rt", encoding="utf-8") as file:
        for number, line in enumerate(file):
            made = json.loads(line)
            yield {
                "turns": [
                    [
                        units(speaker, words)[0],
                        units(day(at), words)[0],
                        units(text, words)[0][:200],
                    ]
                    for speaker, at, text in made["turns"]
                ],
                "questions": [[units(q, words)[0], found, []] for q, found in made["questions"]],
                "style": made["style"],
                "split": "dev" if number % 40 == 7 else "train",
            }


def day(at: str) -> str:
    """A date as the embedder is told it: "[3 May 2026]"."""
    year, month, number = at[:10].split("-")
    names = "January February March April May June July August September October November December"
    return f"[{int(number)} {names.split()[int(month) - 1]} {year}]"


if __name__ == "__main__":
    main()
