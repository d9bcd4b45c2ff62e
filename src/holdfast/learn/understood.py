"""How much of one turn is understood, and that a caller is told when it is not all of it.

The whole of a turn is stored, found by its words and found by its meaning. What is drawn from it
(rules, facts, names, relations, notes) comes from so many characters: nobody says more at once,
what is longer was pasted, and one turn must not keep those of others waiting.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from holdfast.border.validate import Batch, Draft
from holdfast.language.instructions.rules import MOST_RULES
from holdfast.language.instructions.tag import HEAD, TAIL
from holdfast.store.base import Entry

#: A cut is made between two words; what has no blank in so many characters is no word.
_WORD_CHARS = 100
_READ_ROLES = ("user", "assistant")


def understood(text: str, most: int) -> str:
    """What of a turn is read: all of it, or its beginning."""
    if len(text) <= most:
        return text
    blank = text.rfind(" ", max(0, most - _WORD_CHARS), most)
    return text[: blank if blank > 0 else most]


def noted(batch: Batch, most: int) -> Batch:
    """The messages of a call, with a warning for each that is longer than what is read of it."""
    return replace(batch, warnings=(*batch.warnings, *_cut(batch.drafts, most)))


def too_many(entries: Sequence[Entry]) -> Iterator[str]:
    """A warning for each message that gives as many rules as are kept of one."""
    for index, entry in enumerate(entries):
        if len(entry.derived) >= MOST_RULES:
            yield (
                f"messages[{index}].content gives many rules: the first {MOST_RULES} of one "
                "message are kept"
            )


def _cut(drafts: Sequence[Draft], most: int) -> Iterator[str]:
    for index, draft in enumerate(drafts):
        if len(draft.content) > most and draft.role in _READ_ROLES:
            yield (
                f"messages[{index}].content has {len(draft.content)} characters: all are "
                f"stored and "
                f"found, but facts, names and notes are drawn from its first {most} alone "
                f"(extraction.turnChars), rules from its first {HEAD} and its last {TAIL}"
            )
