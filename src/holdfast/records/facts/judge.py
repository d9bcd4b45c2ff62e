"""A language model's opinion on a new fact: better than rules at paraphrase, never in charge.

The model sees statements under aliases (f1, f2, ...), never an id, so it can name nothing that it
was not shown. What it answers is weighed like everything else: see `reconcile.weighed`. An answer
that cannot be read is no opinion, and the rules decide. Who asks it, and who pays, is not known
here: see `opinion.py` and `models/paid.py`.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any, Protocol

from holdfast.records.facts.reconcile import ACTIONS, Action

#: Instructions, a text and the form of its answer to what a language model writes; ModelError.
Ask = Callable[[str, str, Mapping[str, Any]], str]

#: Characters of a statement that are shown: facts are shorter, but what was added by hand may not.
_LONGEST = 600
_MOST_STARTS = 50
_THOUGHT = re.compile(r"^.*</(?:think|thinking|reasoning)>", re.S | re.I)
_UNSAFE = re.compile(r"[<>\x00-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]")
_ALIAS = re.compile(r"f(\d{1,3})")
_CUT = re.compile(r"[\"'](?:action|decision)[\"']\s*:\s*[\"'](\w+)[\"']", re.I)
#: What models call the parts of an answer, and the actions.
_ACTION = ("action", "decision", "operation", "op", "event")
_TARGETS = ("targets", "target", "ids", "id", "facts", "fact")
_CALLED: Mapping[str, Action] = {
    **{each: each for each in ACTIONS},
    **{"insert": "add", "new": "add", "store": "add", "keep": "add"},
    **{"none": "noop", "skip": "noop", "duplicate": "noop", "no_op": "noop", "same": "noop"},
    **{"refine": "update", "merge": "update", "extend": "update"},
    **{"replace": "supersede", "superseded": "supersede", "overwrite": "supersede"},
    **{"remove": "delete", "invalidate": "delete", "retract": "delete"},
    **{"ask": "clarify", "unclear": "clarify", "conflict": "clarify", "contradiction": "clarify"},
}
_SCHEMA: Mapping[str, Any] = {
    "type": "object",
    "properties": {
        "action": {"type": "string", "enum": list(ACTIONS)},
        "targets": {"type": "array", "items": {"type": "string"}},
        "confidence": {"type": "number"},
        "reason": {"type": "string"},
    },
    "required": ["action", "targets", "confidence"],
}


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a judge says."""

    action: Action
    #: Which of the known statements, counted from 0; one that was not shown is kept as -1.
    targets: tuple[int, ...] = ()
    confidence: float = 1.0


class Judge(Protocol):
    """Says what is to be done with a statement beside known ones; None when it cannot say."""

    def judge(self, new: str, known: Sequence[str]) -> Verdict | None:
        """The opinion on `new`; ModelError when it cannot be asked."""


class LlmJudge:
    """Asks a language model. Threads may share it."""

    def __init__(self, ask: Ask) -> None:
        self._ask = ask

    def judge(self, new: str, known: Sequence[str]) -> Verdict | None:
        """The model's opinion; None when its answer cannot be read."""
        return verdict(self._ask(_system(), prompt(new, known), _SCHEMA), len(known))


def prompt(new: str, known: Sequence[str]) -> str:
    """The statements as lines of JSON; no text can end its line or forge another."""
    lines = [
        json.dumps({"alias": f"f{number}", "known": _safe(text)}, ensure_ascii=False)
        for number, text in enumerate(known, 1)
    ]
    return "\n".join([*lines, json.dumps({"new": _safe(new)}, ensure_ascii=False)])


def verdict(answer: str, shown: int) -> Verdict | None:
    """What an answer says; None for one that says nothing that can be read."""
    text = _THOUGHT.sub("", answer) or answer
    for value in _objects(text):
        if (read := _read(value, shown)) is not None:
            return read
    cut = _CUT.search(text)
    action = _CALLED.get(cut[1].lower()) if cut else None
    # Half an answer names its action but not for certain what it means by it.
    return Verdict("add") if action == "add" else None


def _read(value: Mapping[str, Any], shown: int) -> Verdict | None:
    named = {str(name).lower(): each for name, each in value.items()}
    told = next((named[name] for name in _ACTION if name in named), None)
    action = _CALLED.get(str(told).strip().lower().replace("-", "_"))
    if action is None:
        return None
    targets = next((named[name] for name in _TARGETS if name in named), ())
    listed = targets if isinstance(targets, list) else [targets] if targets else []
    numbers = tuple(_number(each, shown) for each in listed)
    return Verdict(action, numbers, _confidence(named.get("confidence")))


def _number(alias: object, shown: int) -> int:
    found = _ALIAS.fullmatch(str(alias).strip().lower())
    number = int(found[1]) if found else 0
    return number - 1 if 1 <= number <= shown else -1


def _confidence(value: object) -> float:
    """0..1; one that is missing or no number makes the judge unsure."""
    try:
        number = float(str(value).strip().rstrip("%"))
    except ValueError:
        return 0.5
    if not math.isfinite(number):
        return 0.5
    return min(max(number / 100 if number > 1 else number, 0.0), 1.0)


def _objects(text: str) -> Iterator[Mapping[str, Any]]:
    """The JSON objects in a text, whatever stands around them."""
    decoder = json.JSONDecoder()
    for start in list(re.finditer(r"\{", text))[:_MOST_STARTS]:
        try:
            value, _ = decoder.raw_decode(text, start.start())
        except ValueError:
            continue
        except RecursionError:
            return
        if isinstance(value, dict):
            yield value


def _safe(text: str) -> str:
    return " ".join(_UNSAFE.sub(" ", text[:_LONGEST]).split())


@cache
def _system() -> str:
    return files("holdfast.records.facts").joinpath("prompts/judge.md").read_text(encoding="utf-8")
