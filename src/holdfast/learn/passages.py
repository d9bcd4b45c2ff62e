"""Text for the embedder: cut where it is longer than the model reads, told who spoke and when.

Cuts fall between sentences, lines or code blocks; neighbours overlap by a unit, so that a thought
on a border is whole in one of them. This module knows nothing about models but how much they read.
"""

from __future__ import annotations

import re

from holdfast.language.instructions.rules import topic
from holdfast.store.base import is_heard
from holdfast.types import Event, Record

#: Part of the identity of a vector space: change it whenever the same event gives other texts.
RECIPE = 1

#: The model reads 256 word pieces; a fifth is left for the header and for rare words.
MOST_PIECES = 200.0
#: Characters per word piece are about 4 in ASCII text; other scripts have about one piece each.
_ASCII_PIECE = 0.25
#: A unit up to this share of a passage is repeated at the start of the next.
_OVERLAP_SHARE = 0.25

_CODE_BLOCK = re.compile(r"(```.*?```)", re.DOTALL)
_BORDER = re.compile(r"(?<=[.!?…])\s+|(?<=[。！？])|\n+")
_WORDS = re.compile(r"\S+\s*|\s+")


def embed_texts(event: Event) -> list[str]:
    """The passages of an event, each with its header."""
    speaker = event.name or event.role
    header = f"[{event.at.day} {event.at:%B %Y}] {speaker}: "
    return [header + passage for passage in passages(event.content)]


def record_texts(record: Record) -> list[str]:
    """The passages of a derived record: its content, the condition it depends on, and what that is
    about, each by itself, because a question is more like "history" or "when I ask about history"
    than like the whole rule. What was only heard is no document and has none."""
    if is_heard(record.tier, record.data):
        return []
    texts = passages(record.content)
    condition = record.data.get("condition")
    if isinstance(condition, str) and condition.strip():
        alone = [*passages(condition), *passages(topic(condition))]
        texts += [each for each in dict.fromkeys(alone) if each.strip() and each not in texts]
    return texts


def passages(text: str) -> list[str]:
    """The text in pieces that the model can read whole; most texts are one piece."""
    text = text.strip()
    if pieces(text) <= MOST_PIECES:
        return [text]
    found: list[str] = []
    current: list[str] = []
    size = 0.0
    for unit in _units(text):
        weight = pieces(unit) + _ASCII_PIECE  # and the space before it
        if current and size + weight > MOST_PIECES:
            found.append(" ".join(current))
            overlap = pieces(current[-1]) + _ASCII_PIECE
            repeat = overlap <= MOST_PIECES * _OVERLAP_SHARE and overlap + weight <= MOST_PIECES
            current, size = (current[-1:], overlap) if repeat else ([], 0.0)
        current.append(unit)
        size += weight
    found.append(" ".join(current))
    return found


def pieces(text: str) -> float:
    """About how many word pieces a text has."""
    if text.isascii():
        return len(text) * _ASCII_PIECE
    return sum(_ASCII_PIECE if character < "\x80" else 1.0 for character in text)


def _units(text: str) -> list[str]:
    """Code blocks, lines, sentences; one that is too long is cut between words, then anywhere."""
    units: list[str] = []
    for block in _CODE_BLOCK.split(text):
        parts = [block] if block.startswith("```") else _BORDER.split(block)
        for part in parts:
            if part and part.strip():
                units.extend(_cut(part.strip()))
    return units


def _cut(unit: str) -> list[str]:
    # A unit and the space before it must fit.
    most = MOST_PIECES - _ASCII_PIECE
    if pieces(unit) <= most:
        return [unit]
    found: list[str] = []
    current: list[str] = []
    size = 0.0
    for word in _WORDS.findall(unit):
        for part in [word] if pieces(word) <= most else _cut_word(word, most):
            weight = pieces(part)
            if current and size + weight > most:
                found.append("".join(current).strip())
                current, size = [], 0.0
            current.append(part)
            size += weight
    found.append("".join(current).strip())
    return [each for each in found if each]


def _cut_word(word: str, most: float) -> list[str]:
    found: list[str] = []
    start, size = 0, 0.0
    for place, character in enumerate(word):
        weight = _ASCII_PIECE if character < "\x80" else 1.0
        if size + weight > most:
            found.append(word[start:place])
            start, size = place, 0.0
        size += weight
    return [*found, word[start:]]
