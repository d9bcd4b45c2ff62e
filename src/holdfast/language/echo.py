"""Recalled text that comes back in a later turn is not learned again.

A memory that is shown to a model is repeated: quoted by the user, pasted with the whole block, or
told back ("You said: ..."). Learned again it would count twice and seem new. Two things are taken
out of a text before anything is learned from it: blocks in our own formats, also when cut off in
the middle, and sentences that a recent context contained, known by the digests of their words.

Quotation marks, bullets, case, spacing and outer punctuation do not matter; any other change makes
it the user's own sentence. This module knows nothing about contexts or storage.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Collection
from hashlib import blake2b
from itertools import pairwise

from holdfast.language.instructions.own_words import is_marked
from holdfast.language.regex import regex
from holdfast.language.sentences import DENSE_STOPS, STOPS
from holdfast.language.terms import fold

_DIGEST_BYTES = 8
_FEWEST_SPACES = 3  # Four words: "Yes, I do." is nobody's memory.
_FEWEST_DENSE = 6  # The same in scripts without spaces, in characters.
_LONGEST_LEAD = 60

# Where sentences end; `_plain` marks the same places, after quotation marks are gone.
_END = regex(
    rf"[{STOPS}\u2026][\"'`\u2018-\u201f\u00ab\u00bb]*[ \u00a0\u2000-\u200a\u3000]"
    rf"|[{DENSE_STOPS}；][」』\u201d]*"
)
_DENSE_ENDS = f"{DENSE_STOPS}；"
_ASCII_QUOTES = "\"'`"
_QUOTES = "\u2018\u2019\u201a\u201b\u201c\u201d\u201e\u201f\u00ab\u00bb\u2039\u203a「」『』"
_OUTER = " \t\r\f\v.,;:!?*-\u2013\u2014\u2022\u2026>#_()[]{}|~。，；：！？、"
_DENSE_CHARS = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af"
_DENSE = regex(f"(?:[^{_DENSE_CHARS}]*[{_DENSE_CHARS}]){{{_FEWEST_DENSE}}}")
_SAID = regex(
    r"(?:you|i|we|they|he|she)(?:ve| have| had)? (?:once |also )?(?:said|wrote|told me|mentioned"
    r"|noted)(?: that| earlier| before)?,? "
)
_PERSONS = ("you", "i ", "we ", "they ", "he ", "she ")
_EMPTY = regex(r"[\s>*•\-\d.)(\"'\u201c\u201d]*")

# Our own formats. The mark of a safe block is a run of digits, of which its two ends share one.
_HEAD = regex(r"<memory (?P<mark>[0-9a-f]{6,32})>")
_TAIL = regex(r"</memory (?P<mark>[0-9a-f]{6,32})>")
_HINTS = ("<memory ", "</memory ", "[Memory: ", "- [")
_QUOTED_LINE = r"[>\s]*"
_BLOCK_LINE = regex(
    _QUOTED_LINE + r"(?:\d{4}-\d{2}-\d{2}\s*$|(?:[1-9]\d*|-) [^:]{1,200}: |\{\"id\":"
    r"|(?:Standing instructions of the user(?:, to be followed)?|About the user|Memories):\s*$)"
)
_ITEM_HEAD = regex(_QUOTED_LINE + r"\[Memory: .* \| \d{4}-\d{2}-\d{2}\]\s*$")
_ITEM_TAIL = regex(_QUOTED_LINE + r"confidence: [01]\.\d{2}\s*$")
_FACT_LINE = regex(_QUOTED_LINE + r"- \[[^\]|]{1,64} \| [01]\.\d{2}\] ")


def digests(text: str) -> set[bytes]:
    """A digest of each sentence of at least four words: what a context leaves behind."""
    return {_digest(form) for form in _forms(text)}


def without_recalled(text: str, recalled: Collection[bytes]) -> str:
    """The text without memory blocks and without sentences whose digest is in `recalled`, a set.

    A text with neither comes back as the same object.
    """
    own = _without_blocks(text) if any(hint in text for hint in _HINTS) else text
    if not recalled or digests(own).isdisjoint(recalled):
        return own
    lines = own.splitlines(keepends=True)
    return "".join(_without_sentences(line, recalled) for line in lines).strip()


def _forms(text: str) -> list[str]:
    """The sentences in their plain form, also without "You said:" or a name before them."""
    forms: list[str] = []
    dense = not text.isascii()
    for sentence in _plain(text).split("\n"):
        form = sentence.strip(_OUTER)
        if form.count(" ") < _FEWEST_SPACES and not (dense and _DENSE.match(form)):
            continue
        if "  " in form or "\t" in form:
            form = " ".join(form.split())
        forms.append(form)
        if (": " in form or form.startswith(_PERSONS)) and (rest := _quoted_part(form)):
            forms.append(rest)
    return forms


def _plain(text: str) -> str:
    """Folded, without quotation marks, each sentence on a line of its own."""
    # Many passes of `replace` take a tenth of the time of one regular expression, and a text whose
    # only marks beyond ASCII were quotes is folded four times as fast without them.
    if not text.isascii():
        for mark in _DENSE_ENDS:
            text = text.replace(mark, "\n")
        for mark in _QUOTES:
            text = text.replace(mark, "")
    plain = fold(text)
    for mark in _ASCII_QUOTES:
        plain = plain.replace(mark, "")
    return plain.replace(". ", "\n").replace("? ", "\n").replace("! ", "\n")


def _quoted_part(form: str) -> str | None:
    """What follows "You said" or "Ann:", if it is long enough."""
    lead, colon, rest = form.partition(": ")
    if not colon or len(lead) > _LONGEST_LEAD:
        said = _SAID.match(form)
        rest = form[said.end() :] if said else ""
    rest = rest.strip(_OUTER)
    return rest if rest.count(" ") >= _FEWEST_SPACES or _DENSE.match(rest) else None


def _digest(plain: str) -> bytes:
    return blake2b(plain.encode("utf-8", "surrogatepass"), digest_size=_DIGEST_BYTES).digest()


def _without_sentences(line: str, recalled: Collection[bytes]) -> str:
    ends = [0, *(match.end() for match in _END.finditer(line)), len(line)]
    parts = [line[start:end] for start, end in pairwise(ends)]
    kept = [part for part in parts if digests(part).isdisjoint(recalled)]
    if parts[0] not in kept and is_marked(line):
        return ""  # "You said: ...", "> ...": so is the rest of the line.
    rest = "".join(kept)
    return "" if rest != line and _EMPTY.fullmatch(rest) else rest


def _without_blocks(text: str) -> str:
    lines = text.splitlines(keepends=True)
    tails: dict[str, list[int]] = {}
    for number, line in enumerate(lines):
        if tail := _TAIL.search(line):
            tails.setdefault(tail["mark"], []).append(number)
    kept: list[str] = []
    at = 0
    while at < len(lines):
        after = _piece_end(lines, at, tails)
        if after == at and not _TAIL.search(lines[at]):
            kept.append(lines[at])
        elif after == at:  # The beginning of its block was cut off.
            while kept and _BLOCK_LINE.match(kept[-1]):
                kept.pop()
        kept.extend(_beside(lines[at], lines[max(after - 1, at)]))
        at = max(after, at + 1)
    return text if kept == lines else "".join(kept).strip()


def _beside(first: str, last: str) -> list[str]:
    """What stands on the lines of a block before its beginning and after its end."""
    head, tail = _HEAD.search(first), _TAIL.search(last)
    before = first[: head.start()] if head else ""
    after = last[tail.end() :] if tail else ""
    return [f"{part.strip()}\n" for part in (before, after) if not _EMPTY.fullmatch(part)]


def _piece_end(lines: list[str], at: int, tails: dict[str, list[int]]) -> int:
    """The line after the piece of a block that begins at a line; the line itself if none does."""
    if head := _HEAD.search(lines[at]):
        ends = tails.get(head["mark"], [])
        place = bisect_left(ends, at)  # The next one: the same block may be there twice.
        return ends[place] + 1 if place < len(ends) else _cut_end(lines, at + 1)
    if _ITEM_HEAD.match(lines[at]):
        return _item_end(lines, at + 1)
    return at + 1 if _FACT_LINE.match(lines[at]) else at


def _cut_end(lines: list[str], end: int) -> int:
    """The line after what a block without an end can hold."""
    while end < len(lines) and _BLOCK_LINE.match(lines[end]):
        end += 1
    return end


def _item_end(lines: list[str], end: int) -> int:
    """The line after the confidence, which is the last line of an item, or after a paragraph."""
    while end < len(lines) and lines[end].strip():
        end += 1
        if _ITEM_TAIL.match(lines[end - 1]):
            break
    return end
