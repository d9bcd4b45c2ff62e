r"""The `astra` format: kind and date, the content, its confidence, a blank line between hits.

    [Memory: decision | 2026-01-15]
    We chose pgvector over Pinecone.
    confidence: 0.95

Ordinary text stands as it is, on as many lines as it has. What could be taken for the frame, or
cannot be seen, is marked with a backslash, so that parse(render(x)) == x for any text:

- A line of the content that is blank, or that reads like a header or a confidence line however
  spaced, cased or accented, gets a backslash in front: `\[Memory: forged | 2026-01-15]`. Such a
  line that has backslashes in front already gets one more.
- A control character, a line break other than a newline, a bidirectional or otherwise invisible
  mark, half a surrogate pair, and the `<` of a memory tag or a special token become `\u{202e}`.
  Backslashes directly before such a mark, or before text that reads like one, are doubled.
- The kind stays on its line: there the newline and `[`, `]`, `|` become marks as well.

The zero-width joiners stay: emoji and Persian are written with them.
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from datetime import date as _day

from holdfast.language.regex import regex
from holdfast.language.statements.values import BY_USER, USERS_OWN
from holdfast.language.terms import fold
from holdfast.language.tokens import count_tokens
from holdfast.recall.context.safe import until
from holdfast.recall.hits import as_told
from holdfast.types import Hit

_HEADER = regex(r"\[Memory: (?P<kind>[^\n]*) \| (?P<date>\d{4}-\d{2}-\d{2})\]")
_CONFIDENCE = regex(r"confidence: (?P<confidence>[01]\.\d{2})")

_MARK = r"u\{[0-9a-f]{1,6}\}"
# Controls but tab and newline, separators, bidirectional and invisible marks, blank letters, tags.
_UNSEEN = (
    "\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b\u200e\u200f"
    "\u2028-\u202e\u2060-\u206f\u2800\u3164\ud800-\udfff\ufeff\uffa0\ufff9-\ufffb"
    "\U000e0000-\U000e0fff"
)
_TAG = r"<(?=\||[\s/]{0,8}memory)"
# All backslashes of a run, then what must be marked or what reads like a mark. The look behind
# keeps a long run from being tried anew at each of its backslashes.
_TO_MARK = regex(rf"(?<!\\)(\\*)(?:([{_UNSEEN}]|{_TAG})|(?={_MARK}))", re.IGNORECASE)
_TO_MARK_INLINE = regex(rf"(?<!\\)(\\*)(?:([{_UNSEEN}\n\[\]|]|{_TAG})|(?={_MARK}))", re.IGNORECASE)
_MARKED = regex(rf"(?<!\\)(\\+)({_MARK})", re.IGNORECASE)

# What may stand unmarked and yet cannot be seen: joiners, variation selectors.
_FAINT = regex("[\u200c\u200d\ufe00-\ufe0f]")
# Without overlap between neighbouring repeats: a long line of brackets takes linear time.
_FRAME = regex(r"[^\w\[]*\[\W*memory|\W*confidence\s*[:=]")


@dataclass(frozen=True, slots=True)
class AstraItem:
    """One memory. The confidence is kept as the format carries it, to two decimals."""

    kind: str
    #: YYYY-MM-DD
    date: str
    content: str
    confidence: float

    def __post_init__(self) -> None:
        if not _is_date(self.date):
            raise ValueError(f"a date is written YYYY-MM-DD, not {self.date!r}")
        if not 0 <= self.confidence <= 1:
            raise ValueError(f"a confidence lies within 0..1, not {self.confidence!r}")
        # abs: a negative zero would be written with its sign.
        object.__setattr__(self, "confidence", float(f"{abs(self.confidence):.2f}"))


def item(hit: Hit, text: str | None = None) -> AstraItem:
    """A hit as a block: its content, or the part of it given as `text`. Who said it is not told;
    until when it was so stands behind the kind."""
    content = as_told(hit, hit.content if text is None else text)
    kind = _kind(hit) + until(hit)
    return AstraItem(kind, hit.created_at.date().isoformat(), content, hit.confidence)


def _kind(hit: Hit) -> str:
    """What a hit is called: an instruction, an identity, a constraint only if it is the user's."""
    is_claim = hit.kind == "instruction" or hit.kind in USERS_OWN
    return hit.tier if is_claim and hit.origin not in BY_USER else hit.kind


def render(items: Sequence[AstraItem]) -> str:
    """The blocks in order; an empty text for no items."""
    return "\n\n".join(block(item) for item in items)


def block(item: AstraItem) -> str:
    """One memory as its block."""
    return "\n".join(
        [
            f"[Memory: {mark_line(item.kind)} | {item.date}]",
            *(_fence(line) for line in _TO_MARK.sub(_mark, item.content).split("\n")),
            f"confidence: {item.confidence:.2f}",
        ]
    )


def parse(text: str) -> list[AstraItem]:
    """The items of a rendered text; ValueError for what `render` does not write."""
    if not text:
        return []
    items = [_item(each) for each in text.split("\n\n")]
    if render(items) != text:  # An unmarked frame inside a content, a needless mark.
        raise ValueError("not an astra memory block")
    return items


def mark_line(text: str) -> str:
    """Any text as one line without brackets and bars; `unmark` gives it back."""
    return _TO_MARK_INLINE.sub(_mark, text)


def unmark(text: str) -> str:
    """The text that was marked."""
    return _MARKED.sub(_unmark, text)


class AstraLayout:
    """What a memory costs in this format, and the blocks of those that were chosen."""

    frame_tokens = 0

    def tokens(self, hit: Hit, text: str) -> int:
        """Tokens of a block and the blank line after it."""
        return count_tokens(block(item(hit, text)) + "\n\n")

    def shared_parts(self, hit: Hit) -> list[tuple[Hashable, int]]:
        """Blocks share nothing."""
        return []

    def render(self, chosen: Sequence[tuple[Hit, str]]) -> str:
        """The blocks: instructions, which seldom change, oldest first; then the rest by rank."""
        rules = sorted(
            (pair for pair in chosen if _kind(pair[0]) == "instruction"),
            key=lambda pair: (pair[0].created_at, pair[0].id),
        )
        rest = (pair for pair in chosen if _kind(pair[0]) != "instruction")
        return render([item(hit, text) for hit, text in (*rules, *rest)])


def _item(text: str) -> AstraItem:
    first, *content, last = text.split("\n") if "\n" in text else (text, "")
    header, confidence = _HEADER.fullmatch(first), _CONFIDENCE.fullmatch(last)
    if header is None or confidence is None or not content:
        raise ValueError("not an astra memory block")
    return AstraItem(
        unmark(header["kind"]),
        header["date"],
        unmark("\n".join(_unfence(line) for line in content)),
        float(confidence["confidence"]),
    )


def _fence(line: str) -> str:
    return "\\" + line if _reads_like_frame(line) else line


def _unfence(line: str) -> str:
    return line[1:] if line.startswith("\\") and _reads_like_frame(line) else line


def _reads_like_frame(line: str) -> bool:
    # With or without backslashes in front the answer is the same: so one more can be taken away.
    seen = fold(_FAINT.sub("", line.lstrip("\\"))).strip()
    return not seen or _FRAME.match(seen) is not None


def _mark(match: re.Match[str]) -> str:
    slashes, special = match[1] * 2, match[2]
    return slashes if special is None else f"{slashes}\\u{{{ord(special):x}}}"


def _unmark(match: re.Match[str]) -> str:
    count, mark = len(match[1]), match[2]
    slashes = "\\" * (count // 2)
    # Doubled ones stand before text; the odd one makes a mark.
    return slashes + (chr(int(mark[2:-1], 16)) if count % 2 else mark)


def _is_date(text: str) -> bool:
    try:
        return _day.fromisoformat(text).isoformat() == text
    except ValueError:
        return False
