"""Reads our labelled texts: conversations, one plain-text file each, sets of an earlier line and
later ones, and single messages. Says what is wrong with one.

    python training/labels.py FILE...      check conversations, as their authors do
    python training/labels.py --scored DIR write all files of a folder as a scored set (JSON lines)

The format is told in `training/README.md`.
"""

from __future__ import annotations

import gzip
import json
import re
import sys
from collections import defaultdict
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

KINDS = (
    "identity", "home", "work", "people", "health", "preference", "possession", "plan",
    "decision", "project", "event",
)  # fmt: skip
PAIRS = ("replaces", "corrects", "adds", "same", "both", "withdraws")
ACTS = ("ask", "quote", "others", "filler", "chat")
STOPS = ".!?…,;:)-–"
#: Seconds that pass before a turn.
_PAUSE = {"user": 150, "assistant": 40}


@dataclass(slots=True)
class Line:
    """A sentence or clause of a user's turn, and what its author says of it."""

    text: str
    facts: list[dict[str, str]] = field(default_factory=list)
    rules: list[dict[str, str | None]] = field(default_factory=list)
    withdraws: list[str] = field(default_factory=list)
    acts: list[str] = field(default_factory=list)
    #: (label, the earlier line as "TURN.LINE")
    pairs: list[tuple[str, str]] = field(default_factory=list)


@dataclass(slots=True)
class Turn:
    """One message."""

    role: str
    session: str
    at: datetime
    lines: list[Line] = field(default_factory=list)

    @property
    def content(self) -> str:
        """What was typed: what ends with a stop goes on in its line, the rest begins a new one."""
        if self.role == "assistant":
            return "\n".join(line.text for line in self.lines)
        parts = [line.text + (" " if line.text[-1:] in STOPS else "\n") for line in self.lines]
        return "".join(parts).strip()


@dataclass(slots=True)
class Conversation:
    """A whole file."""

    path: Path
    head: dict[str, str] = field(default_factory=dict)
    turns: list[Turn] = field(default_factory=list)
    lines: dict[str, Line] = field(default_factory=dict)
    rules: dict[str, dict[str, Any]] = field(default_factory=dict)
    relations: list[dict[str, str]] = field(default_factory=list)
    questions: list[dict[str, Any]] = field(default_factory=list)
    nothing: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)

    def chains(self) -> dict[tuple[str, str], list[tuple[str, str]]]:
        """(about, attribute) -> the lines that tell it and the value of each, in order."""
        found: dict[tuple[str, str], list[tuple[str, str]]] = defaultdict(list)
        for ref, line in self.lines.items():
            for fact in line.facts:
                key = (fact["about"].casefold(), fact["attribute"].casefold())
                found[key].append((ref, fact["value"]))
        return found


def read(path: Path) -> Conversation:
    """The conversation of a file; what is wrong with it is in `problems`."""
    reader = _Reader(Conversation(path))
    for number, raw in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        if raw.strip():
            reader.take(number, raw.rstrip())
    _check(reader.conversation)
    return reader.conversation


def scored(conversation: Conversation) -> dict[str, Any]:
    """A conversation in the form in which sets are scored (scripts/eval_understanding.py)."""
    return {
        "id": conversation.head["id"],
        "lang": conversation.head["lang"],
        "turns": [
            {"session": turn.session, "at": turn.at.isoformat().replace("+00:00", "Z"),
             "role": turn.role, "content": turn.content}
            for turn in conversation.turns
        ],
        "facts": [_scored_fact(conversation, *chain) for chain in conversation.chains().items()],
        "rules": list(conversation.rules.values()),
        "relations": conversation.relations,
        "questions": conversation.questions,
        "nothing": conversation.nothing,
    }  # fmt: skip


def _scored_fact(
    conversation: Conversation, key: tuple[str, str], told: list[tuple[str, str]]
) -> dict[str, Any]:
    held: dict[str, str] = {}
    outdated: list[str] = []
    for ref, value in told:
        for label, earlier in conversation.lines[ref].pairs:
            if label in ("replaces", "corrects") and earlier in held:
                outdated.append(held.pop(earlier))
        held[ref] = value
    current = list(dict.fromkeys(held.values()))
    kept = {value.casefold() for value in current}
    return {
        "about": "user" if key[0] == "me" else key[0],
        "attribute": key[1],
        "current": current,
        "outdated": [value for value in outdated if value.casefold() not in kept],
        "turns": sorted({int(ref.split(".")[0]) for ref, _ in told}),
    }


class _Reader:
    """Line by line."""

    def __init__(self, conversation: Conversation) -> None:
        self.conversation = conversation
        self._session = ""
        self._at = datetime(2026, 1, 1, tzinfo=UTC)
        self._number = 0

    def take(self, number: int, line: str) -> None:
        self._number = number
        for pattern, take in (
            (r"(id|lang|who):\s*(.+)", self._head),
            (r"==\s*(\S+)\s+(\d{4}-\d\d-\d\d)\s+(\d\d?:\d\d)", self._begin),
            (r"([ua])(\d+)", self._turn),
            (r"rule\s+(\S+):\s*(active|ended);\s*words\s*\[(.+?)\];\s*ask:\s*(.+)", self._rule),
            (r"relation:\s*(.+?)\s*->\s*(.+?):\s*(.+)", self._relation),
            (r"q:\s*(.+?);\s*now\s+([\d, ]+?)(?:;\s*before\s+([\d, ]+?))?;\s*answer:\s*(.+)",
             self._question),
            (r"nothing:\s*(.+)", self._nothing),
        ):  # fmt: skip
            if match := re.fullmatch(pattern, line):
                return take(match)
        return self._said(line)

    def _bad(self, what: str) -> None:
        self.conversation.problems.append(f"{self.conversation.path}:{self._number}: {what}")

    def _head(self, match: re.Match[str]) -> None:
        self.conversation.head.setdefault(match[1], match[2].strip())

    def _begin(self, match: re.Match[str]) -> None:
        start = datetime.fromisoformat(f"{match[2]}T{match[3]:0>5}:00+00:00")
        if self._session and start <= self._at:
            self._bad("session begins before the one before it ended")
        self._session, self._at = match[1], start

    def _turn(self, match: re.Match[str]) -> None:
        turns = self.conversation.turns
        if int(match[2]) != len(turns):
            self._bad(f"turn number {match[2]}, expected {len(turns)}")
        role = "user" if match[1] == "u" else "assistant"
        self._at += timedelta(seconds=_PAUSE[role])
        turns.append(Turn(role, self._session, self._at))

    def _rule(self, match: re.Match[str]) -> None:
        self.conversation.rules[match[1]] = {
            "words": [word.strip() for word in match[3].split("|")],
            "active": match[2] == "active",
            "ask": match[4].strip(),
            "turns": [],
        }

    def _relation(self, match: re.Match[str]) -> None:
        ends = ["user" if each == "me" else each for each in (match[1], match[2])]
        self.conversation.relations.append({"from": ends[0], "to": ends[1], "kind": match[3]})

    def _question(self, match: re.Match[str]) -> None:
        def numbers(text: str | None) -> list[int]:
            return [int(each) for each in re.findall(r"\d+", text or "")]

        self.conversation.questions.append(
            {"q": match[1], "evidence": numbers(match[2]), "outdated": numbers(match[3]),
             "answer": match[4]}
        )  # fmt: skip

    def _nothing(self, match: re.Match[str]) -> None:
        self.conversation.nothing.append(match[1])

    def _said(self, line: str) -> None:
        if not self.conversation.turns:
            return self._bad("not understood")
        turn = self.conversation.turns[-1]
        if turn.role == "assistant":
            turn.lines.append(Line(line.strip()))
            return None
        match = re.fullmatch(r"-\s+(.+?)\s+##\s*(.+)", line)
        if match is None:
            return self._bad("a user line is '- text  ## labels'")
        said = Line(match[1])
        turn.lines.append(said)
        ref = f"{len(self.conversation.turns) - 1}.{len(turn.lines)}"
        for label in filter(None, map(str.strip, match[2].split(";"))):
            self._label(said, label)
        self.conversation.lines[ref] = said
        return None

    def _label(self, said: Line, label: str) -> None:
        if match := re.fullmatch(r"fact\s+(\w+)\s+(\S+)\s+\[(.+?)\]\s+(.+)", label):
            kind, about, value, attribute = match.groups()
            if kind not in KINDS:
                self._bad(f"unknown kind {kind}")
            self._check_copied(value, said)
            said.facts.append(
                {"kind": kind, "about": about, "value": value, "attribute": attribute}
            )
        elif match := re.fullmatch(r"rule\s+(\S+)(?:\s+\[(.+?)\])?", label):
            self._check_copied(match[2] or "", said)
            said.rules.append({"name": match[1], "condition": match[2]})
        elif match := re.fullmatch(r"withdraw\s+(\S+)", label):
            said.withdraws.append(match[1])
        elif match := re.fullmatch(r"(\w+)\s+(\d+\.\d+)", label):
            if match[1] not in PAIRS or match[2] not in self.conversation.lines:
                self._bad(f"{label}: no such label, or no earlier user line {match[2]}")
            else:
                said.pairs.append((match[1], match[2]))
        elif label in ACTS:
            said.acts.append(label)
        else:
            self._bad(f"unknown label {label!r}")

    def _check_copied(self, words: str, said: Line) -> None:
        if words not in said.text:
            self._bad(f"[{words}] is not in the line")


def _check(conversation: Conversation) -> None:
    """Note what is wrong with the whole."""
    found = [f"no {key}:" for key in ("id", "lang", "who") if key not in conversation.head]
    if not 34 <= len(conversation.turns) <= 48:
        found.append(f"{len(conversation.turns)} turns, wanted 35 to 45")
    if len({turn.session for turn in conversation.turns}) < 4:
        found.append("fewer than 4 sessions")
    for key, told in conversation.chains().items():
        later = [ref for ref, _ in told if ref != told[0][0]]
        loose = [ref for ref in later if not conversation.lines[ref].pairs]
        found += [f"{ref}: {' / '.join(key)} was told before: how does it relate?" for ref in loose]
    last = len(conversation.turns)
    for question in conversation.questions:
        if any(turn >= last for turn in question["evidence"] + question["outdated"]):
            found.append(f"question {question['q']!r} names no turn")
    found += _wrong_rules(conversation)
    conversation.problems += [f"{conversation.path}: {each}" for each in found]


def _wrong_rules(conversation: Conversation) -> list[str]:
    """Put the turns of each rule beside it; what does not fit together."""
    found: list[str] = []
    said: dict[str, str] = defaultdict(str)
    for ref, line in conversation.lines.items():
        given = [str(rule["name"]) for rule in line.rules]
        unknown = [name for name in (*given, *line.withdraws) if name not in conversation.rules]
        found += [f"{ref}: rule {name} is not listed at the end" for name in unknown]
        for name in given:
            said[name] += " " + line.text.casefold()
            if name in conversation.rules:
                conversation.rules[name]["turns"].append(int(ref.split(".")[0]))
    for name, listed in conversation.rules.items():
        lost = [word for word in listed["words"] if word.casefold() not in said[name]]
        found += [f"rule {name}: words [{word}] not in its line" for word in lost]
    return found


@dataclass(frozen=True, slots=True)
class LineSet:
    """An earlier line, and later ones, each with what it does to the earlier (`PAIRS`, or
    `unrelated`)."""

    lang: str
    earlier: Line
    later: list[tuple[str, Line]]


def read_sets(path: Path) -> list[LineSet]:
    """The sets of a file; ValueError: where one is wrong."""
    found: list[LineSet] = []
    lang = ""
    for number, raw in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        match = re.fullmatch(r"(==|=|\w+ \|) (.+?)(?:\s+##\s*(.+))?", raw.strip())
        if not raw.strip():
            continue
        mark, text, labels = match.groups() if match else ("", "", None)
        said = _tagged(text, labels)
        if mark == "==":
            lang = text.split()[0]
        elif mark == "=" and said:
            found.append(LineSet(lang, said, []))
        elif mark[:-2] in (*PAIRS, "unrelated") and said and found:
            found[-1].later.append((mark[:-2], said))
        else:
            raise ValueError(f"{path}:{number}: {raw}")
    return found


def _tagged(text: str, labels: str | None) -> Line | None:
    """A line of a set; None: its labels are wrong."""
    tags = [each.strip() for each in (labels or "").split(";")]
    if not set(tags) <= {"fact", "rule", "withdraw", *ACTS}:
        return None
    return Line(
        text,
        facts=[{"kind": "", "about": "", "value": "", "attribute": ""}] if "fact" in tags else [],
        rules=[{"name": "", "condition": None}] if "rule" in tags else [],
        withdraws=[""] if "withdraw" in tags else [],
        acts=[tag for tag in tags if tag in ACTS],
    )


@dataclass(slots=True)
class RuleList:
    """Rules that hold at once, and later lines: which rule each ends (from 1; 0: none), what stood
    before it in its message, and the line."""

    lang: str
    rules: list[str]
    later: list[tuple[int, str, str]]


def read_lists(path: Path) -> list[RuleList]:
    """The lists of rules of a file; ValueError: where one is wrong."""
    found: list[RuleList] = []
    for number, raw in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        match = re.fullmatch(r"(==|\d|> \d \|) (.+)", raw.strip())
        mark, text = match.groups() if match else ("", "")
        if mark == "==":
            found.append(RuleList(text.split()[0], [], []))
        elif mark.isdigit() and found and int(mark) == len(found[-1].rules) + 1:
            found[-1].rules.append(text)
        elif mark[:1] == ">" and found and int(mark[2]) <= len(found[-1].rules):
            before, _, line = text.rpartition(" || ")
            found[-1].later.append((int(mark[2]), before.strip(), line.strip()))
        elif raw.strip():
            raise ValueError(f"{path}:{number}: {raw}")
    return found


#: What a single message is: whether what is remembered is needed to answer it, or what it does.
MESSAGES = ("yes", "no", "idle", "ask", "tell", "rule", "end")


def read_messages(path: Path) -> list[tuple[str, str]]:
    """Single messages, and which of `MESSAGES` each is; ValueError: where a line is wrong."""
    found: list[tuple[str, str]] = []
    for number, raw in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        match = re.fullmatch(rf"({'|'.join(MESSAGES)})\s*\|\s*(.+)", raw.strip())
        if match:
            found.append((match[2], match[1]))
        elif raw.strip():
            raise ValueError(f"{path}:{number}: {raw}")
    return found


def read_prepared(path: Path) -> dict[str, Any]:
    """What `prepare.py` wrote, with the lines of pairs and choices in place of their numbers."""
    with gzip.open(path, "rt", encoding="utf-8") as file:
        data: dict[str, Any] = json.load(file)
    for pair in data["pairs"]:
        pair |= {side: [data["lines"][n] for n in pair[side]] for side in ("old", "new")}
    for each in data["choices"]:
        each |= {name: [data["lines"][n] for n in each[name]] for name in ("right", "others")}
        each["ways"] = [[data["lines"][n] for n in way] for way in each["ways"]]
    return data


def main() -> int:
    """Check the files, or write a folder of them as a scored set to standard output."""
    if sys.argv[1:2] == ["--scored"]:
        for path in sorted(Path(sys.argv[2]).rglob("*.txt")):
            sys.stdout.write(json.dumps(scored(read(path)), ensure_ascii=False) + "\n")
        return 0
    problems = [each for path in sys.argv[1:] for each in read(Path(path)).problems]
    sys.stdout.write("".join(f"{each}\n" for each in problems) or "ok\n")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
