"""What a model is shown: turns and known entities under aliases, each on one line of JSON.

The model never sees a real id, so it cannot name one: t1, t2, ... are turns, e1, e2, ... entities.
What was said stands only inside JSON strings in which no angle bracket, line break or invisible
mark is left: no text can end its line, forge another, or write a token of the chat format.

A group is at most 20 turns or 4,000 tokens, whichever comes first; `groups` cuts a conversation
into such groups, and `build` writes the prompt of one.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from string import Template
from typing import Any, TypeVar

from holdfast.errors import TooLarge
from holdfast.language.regex import regex
from holdfast.language.tokens import count_tokens
from holdfast.language.vocabulary import ENTITY_TYPES, RELATION_TYPES
from holdfast.learn.llm_answer import FACT_KINDS
from holdfast.types import Event

T = TypeVar("T")

MAX_TURNS = 20
MAX_TOKENS = 4_000
#: Beside the turns: what helps to understand them.
MAX_EARLIER = 4
MAX_KNOWN = 40
_EARLIER_TOKENS = 600
_KNOWN_TOKENS = 600
_MOST_ALIASES = 4
_GAP = " [...] "
_LONGEST_CHARS = 40_000  # Counting tokens of more is a waste: 4,000 tokens are about 16,000.

# Marks that could end a line, hide text, or be read as tokens of a chat format.
_UNSAFE = regex(
    r"[<>\x7f-\x9f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ud800-\udfff"
    r"\ufff9-\ufffb\U000e0000-\U000e0fff]|\[(?=/?[A-Z_]{2,20}\])"
)


@dataclass(frozen=True, slots=True)
class KnownEntity:
    """An entity that the model is told of."""

    id: str
    name: str
    type: str
    aliases: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ExtractionPrompt:
    """One question to a model, and what its aliases stand for."""

    system: str
    text: str
    schema: Mapping[str, Any]
    #: Alias -> the turn it stands for.
    turns: Mapping[str, Event]
    #: Alias -> the entity it stands for.
    known: Mapping[str, KnownEntity]
    #: The earlier turns that are shown, in order.
    earlier: tuple[Event, ...] = ()

    @property
    def names(self) -> dict[str, str]:
        """Alias -> name of the known entities, as `parse_answer` takes them."""
        return {alias: entity.name for alias, entity in self.known.items()}


def groups(
    turns: Sequence[Event], *, max_turns: int = MAX_TURNS, max_tokens: int = MAX_TOKENS
) -> list[list[Event]]:
    """The turns in groups that fit one prompt each, in order; none is left out."""
    cut: list[list[Event]] = []
    left = 0
    for turn in turns:
        tokens = count_tokens(_turn_line("t20", turn, max_tokens)) + 1
        if not cut or len(cut[-1]) >= max_turns or tokens > left:
            cut.append([])
            left = max_tokens
        cut[-1].append(turn)
        left -= tokens
    return cut


def build(
    turns: Sequence[Event],
    *,
    earlier: Sequence[Event] = (),
    known: Sequence[KnownEntity] = (),
    max_turns: int = MAX_TURNS,
    max_tokens: int = MAX_TOKENS,
) -> ExtractionPrompt:
    """The prompt for one group; of what was said earlier and of what is known, what fits.

    A turn that is too long by itself is shown with a gap in its middle.
    """
    if len(turns) > max_turns:
        raise TooLarge(f"the group has {len(turns)} turns, the limit is {max_turns}", field="turns")
    shown = {f"t{number}": turn for number, turn in enumerate(turns, 1)}
    said = [_turn_line(alias, turn, max_tokens) for alias, turn in shown.items()]
    tokens = sum(count_tokens(line) + 1 for line in said)
    if tokens > max_tokens:
        raise TooLarge(f"the group has {tokens} tokens, the limit is {max_tokens}", field="turns")
    entities = {f"e{number}": each for number, each in enumerate(known[:MAX_KNOWN], 1)}
    told = dict(
        _fitting([(a, _known_line(a, each)) for a, each in entities.items()], _KNOWN_TOKENS)
    )
    newest = [(turn, _turn_line(None, turn, _EARLIER_TOKENS)) for turn in earlier[-MAX_EARLIER:]]
    before = _fitting(newest[::-1], _EARLIER_TOKENS)[::-1]
    lines = [*told.values(), *(line for _, line in before), *said]
    return ExtractionPrompt(
        system=system(),
        text="\n".join(lines),
        schema=schema(),
        turns=shown,
        known={alias: each for alias, each in entities.items() if alias in told},
        earlier=tuple(turn for turn, _ in before),
    )


@cache
def system() -> str:
    """The instructions."""
    text = (files("holdfast.learn") / "prompts" / "extract.md").read_text(encoding="utf-8")
    return Template(text).substitute(
        categories=", ".join(FACT_KINDS),
        entity_types=", ".join(ENTITY_TYPES),
        relation_types=", ".join(RELATION_TYPES),
    )


@cache
def schema() -> Mapping[str, Any]:
    """The JSON schema of an answer, in the strict form that endpoints enforce."""
    text = {"type": "string"}
    texts = {"type": "array", "items": text}
    fact = {
        "text": text,
        "category": {"type": "string", "enum": list(FACT_KINDS)},
        "turns": texts,
        "entities": texts,
        "durable": {"type": "boolean"},
        "confidence": {"type": "number"},
        "on": {"type": ["string", "null"]},
        "due": {"type": ["string", "null"]},
        "avoid": {"type": ["string", "null"]},
    }
    entity = {
        "id": text,
        "name": text,
        "type": {"type": "string", "enum": list(ENTITY_TYPES)},
        "aliases": texts,
    }
    relation = {
        **{"source": text, "type": text, "target": text},
        **{"turns": texts, "confidence": {"type": "number"}},
    }
    lists = {"entities": entity, "facts": fact, "relations": relation}
    return _object({name: {"type": "array", "items": _object(of)} for name, of in lists.items()})


def _object(properties: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": dict(properties),
        "required": list(properties),
        "additionalProperties": False,
    }


def _turn_line(alias: str | None, turn: Event, max_tokens: int) -> str:
    head: dict[str, object] = {"turn": alias} if alias else {"earlier": True}
    head["by"] = turn.role
    if turn.name:
        head["name"] = turn.name[:200]
    head["day"] = f"{turn.at:%Y-%m-%d} ({turn.at:%A})"
    text = turn.content
    if len(text) > _LONGEST_CHARS:
        text = _with_gap(text, _LONGEST_CHARS)
    line = _encode({**head, "text": text})
    while count_tokens(line) + 1 > max_tokens and len(text) > len(_GAP):
        text = _with_gap(text, len(text) * 3 // 4)
        line = _encode({**head, "text": text})
    return line


def _with_gap(text: str, chars: int) -> str:
    """The beginning and the end of a text, of which the middle says least."""
    half = max(0, chars - len(_GAP)) // 2
    return text[:half] + _GAP + text[len(text) - half :]


def _known_line(alias: str, entity: KnownEntity) -> str:
    told: dict[str, object] = {"known": alias, "name": entity.name[:200], "type": entity.type}
    if entity.aliases:
        told["aliases"] = [name[:200] for name in entity.aliases[:_MOST_ALIASES]]
    return _encode(told)


def _encode(value: Mapping[str, object]) -> str:
    """One line of JSON that reads back as the same value and shows no unsafe mark."""
    return _UNSAFE.sub(_escape, json.dumps(value, ensure_ascii=False))


def _escape(match: re.Match[str]) -> str:
    return json.dumps(match.group())[1:-1] if match.group() > "\x7f" else f"\\u{ord(match[0]):04x}"


def _fitting(lines: Sequence[tuple[T, str]], tokens: int) -> list[tuple[T, str]]:
    """The first lines, until one does not fit."""
    fit: list[tuple[T, str]] = []
    for of, line in lines:
        tokens -= count_tokens(line) + 1
        if tokens < 0:
            break
        fit.append((of, line))
    return fit
