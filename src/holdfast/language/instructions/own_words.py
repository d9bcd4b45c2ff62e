"""What of a user's turn the user says, and what is only shown: code, quotations, pasted material.

A rule in a mail that the user pastes is the sender's rule. What is shown is told by its marks
(fences, quotation marks, tags, speaker labels, mail headers) and by how it is handed over
("Translate into French: ..."). In doubt it is pasted: a rule missed can be said again, while one
that somebody else wrote would be followed from then on. This module knows nothing about rules.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from itertools import accumulate
from typing import Literal

from holdfast.language.instructions import cues
from holdfast.language.sentences import STOPS

# A fence ends with the mark it began with; with text between backticks on one line it is no fence.
_FENCE = re.compile(r"[ \t]*(?P<quote>(?:>[ \t]*)*)(?P<mark>`{3,}(?!.*`)|~{3,})(?P<rest>.*)")
_DIVIDER = re.compile(r"\s*-{3,}\s*$")
_INDENTED = re.compile(r" {4}|\t")
_ITEM = re.compile(r"\s*(?:[-*•]|\d+[.)])\s+")
# Of quotations over several lines only the strict form: inch marks and strays open none.
_QUOTED = re.compile(
    r"\"[^\"\n]{1,300}\"|(?<!\w)\"(?=\S)[^\"]{1,3000}\"(?!\w)|“[^“”]{1,3000}”|«[^«»]{1,3000}»"
    r"|„[^„“”]{1,3000}[“”]|‘[^‘'\n]{1,300}'(?!\w)|「[^「」]{1,3000}」|`[^`\n]{1,300}`|(?<!\w)'[^'\n]{1,300}'(?!\w)"
    r"|<!--[^<]{1,3000}-->"
)
_TAG = re.compile(r"<(/?)([a-z][\w-]{0,40})(?:\s[^<>]{0,300})?>", re.I)
_INSIDE = re.compile(r"[^\n]")

# A quoted block, a row of a table, a comment or a header line: text that was pasted, not said.
_PASTED = re.compile(
    r"\s*(?:>|\||//|/\*|#include|\$ |TODO\b|(?:fwd?|re|subject|step \d+)\s*:)", re.I
)
_MAIL = re.compile(r"\s*(?:from|to|cc|bcc|subject|sent)\s*:\s*\S|-+ ?original message", re.I)
# The first line of something longer: a heading, a salutation.
_DOCUMENT = re.compile(rf"\s*(?:#{{1,6}} |(?:hi|hello|hey|dear)\b[^{STOPS}]{{0,40}}[,!]?\s*$)")
# The user again, after material in paragraphs of its own.
_RESUMES = re.compile(r"\s*(?:also|p\.? ?s\b|btw|by the way|one more thing|oh)\b")

_LABEL = re.compile(
    r"\s*[*_]{0,2}(?P<time>\[[^\]]{1,40}\]\s*|\(?\d{1,2}[:.]\d\d(?:[:.]\d\d)?\s?(?:[ap]m)?\)?[\s,–-]+)?"
    r"(?P<name>[^\W\d_][\w.'\u2019-]{0,30}(?: [\w.'\u2019-]{1,30}){0,3})"
    r"(?: ?[(\[][^)\]]{1,40}[)\]])? ?[*_]{0,2}[:：][*_]{0,2}(?=\s|$)",
    re.I,
)
_ROLE = re.compile(
    r"(?:the )?(?:(?:tool|function|search|system|api|command|shell) )?(?:results?|outputs?|logs?)"
    r"|system(?: prompt| message)?|assistant|developer|user|human|tool|function|bot|chatbot|ai|gpt"
    r"|llm|agent|model|customer|client|support|me|you|him|her|them|[qa]"
    r"|(?!i\b|as i\b).+ (?:replied|wrote|writes|said|says|answered|asked|responded|told me)"
)
# Labels of what the user says, "Note: ...", beside the words of manner, "Tone: ...".
_OWN_LABELS = """
again also always and anyway btw but code coding correction dates default email emails finally first
formatting forward fyi general generally heads-up hint honestly important instruction instructions
key last later length listen look mails maths n.b. naming nb never no note notes now ok okay one
only onward p.s. please pls preference preferences ps psa python quick recipes remember reminder
request requests requirement requirements rule rules second seriously so sql style suggestion thing
things third tip tips travel update urgent warning wish wishes work writing yes
"""
_OWN = frozenset(_OWN_LABELS.split()) | cues.MANNER

_THINGS = (
    r"(?:announcement|article|blog|chat|comment|contract|conversation|copy|description|doc|document"
    r"|draft|e-?mail|essay|excerpt|guide|guidelines?|instructions?|letter|list|log|mail|manual|memo"
    r"|message|note|notes|page|paragraph|passage|piece|poem|policy|post|prompt|prompts|quote|readme"
    r"|recipe|review|rules?|screenplay|script|section|sentences?|snippet|spec|story|system prompt"
    r"|template|text|thread|transcript|tweet|website|wording)"
)
_HANDLES = (
    r"(?:analy[sz]e|check|classify|comment on|convert|copy-?edit|correct|critique|edit|evaluate"
    r"|expand|explain|extract|fix|grade|improve|interpret|paraphrase|parse|polish|proof-?read|rate"
    r"|read|reformat|rephrase|review|reword|rewrite|shorten|simplify|summari[sz]e|tidy(?: up)?"
    r"|transcribe|translate|make|turn|tell me|reply to|respond to)"
)
_HANDED = (
    r"(?:this|these|following|below|it|into [a-z]+|to (?!me\b|you\b)[a-z]+"
    rf"|(?:the|my|a|an|his|her|our|their) (?:\w+ ){{0,3}}?{_THINGS})"
)
# Something is handed over: an order to work on it, its announcement, a question about it.
_HANDS = re.compile(
    rf"(?:^|(?<=[{STOPS}]\s))\s*(?:"
    r"(?P<work>(?:(?:please|pls|hi|hello|hey|ok|okay|now|can you|could you|would you|help me|and"
    rf"|then)[,!]? )*{_HANDLES}(?:\s*|\b[^{STOPS}:]{{0,80}}?\b{_HANDED}\b[^{STOPS}:]{{0,60}}):)"
    r"|(?:here(?:'s| is| are| was)|below (?:is|are)|this is|these are|i (?:got|received|found)"
    rf"|(?:he|she|they|my \w+) (?:sent|gave|wrote))\b[^{STOPS}:]{{0,80}}:"
    rf"|[^{STOPS}:]{{0,80}}\b(?:this|these|the following) (?:\w+ ){{0,2}}?{_THINGS}\b"
    rf"[^{STOPS}:]{{0,60}}(?:\?\s*$|:)"
    rf"|on [^{STOPS}]{{3,60}} wrote\s*:)"
)
# Rules given as a list are announced, "Some rules for you:"; other lists are pasted.
_RULES = r"(?:rules?|preferences?|requests?|instructions?|guidelines|wish(?:es)?)"
_ANNOUNCES = re.compile(
    r"\b(?:(?:for|from|of|want|need|like|expect|ask|asking|wish|tell|telling|when|whenever|how) you"
    r"|you (?:should|must|need|to|always|have)|your|(?:how|what) i (?:want|like|need|prefer)"
    rf"|i (?:want|need|expect|prefer)|things?|reminders?|{_RULES}"
    r"|remember|clear|favou?r|follow|important|going forward|fyi|in mind)\b"
    r"|^\W*(?:(?:please|quick|also|and) )*(?:note|please|also|again|p\.?s\.?)\b"
)
_THEIRS = re.compile(
    r"\b(?:from(?! (?:now|here|today|this point|you)\b)|our|house|team|their|his|her|company|office"
    r"|meeting|manual|handbook|of the|at the|on the|found|got|received|sent|wrote"
    r"|(?!here|let|that|it|what|there)\w+'s"
    r"|for (?:bots?|agents?|kids|children|students|employees|users|customers|clients|guests"
    r"|visitors|staff|interns|(?:the|a|an|my|our|his|her|their|new|another)"
    r"(?! (?:\w+ )?(?:answers|replies|responses|chats?|conversations?|assistant)\b)))\b|s' "
)
_FOR_NAME = re.compile(r"\b(?:for|by|of) [A-Z][a-z]")

Paste = Literal["", "due", "paragraph", "document", "mail"]


def spoken(text: str) -> Iterator[tuple[int, str, str]]:
    """What the user says: (where it starts, verbatim, lower case with quotations blanked)."""
    turn = _LineReader()
    for start, line, low, block in _lines(text):
        for at, said in turn.hear(line, low, block=block):
            yield start + at, line[at : at + len(said)], said


def all_lines(text: str) -> Iterator[tuple[int, str]]:
    """All lines but code, also those of others: (where each starts, lower case, no quotations)."""
    return ((start, low) for start, _, low, block in _lines(text) if not block)


def _lines(text: str) -> Iterator[tuple[int, str, str, bool]]:
    lines = text.splitlines()
    starts = accumulate(map(len, text.splitlines(keepends=True)), initial=0)
    blocks = _blocks(lines)
    bare = ("" if block else line for line, block in zip(lines, blocks, strict=True))
    plain = _plain("\n".join(bare)).split("\n")
    yield from zip(starts, lines, plain, blocks, strict=False)


class _LineReader:
    """Follows a turn line by line and knows who is speaking."""

    def __init__(self) -> None:
        self._paste: Paste = ""
        self._listing = False  # The items that follow are the user's.
        self._opening = True  # At the start of a paragraph.
        self._set_off = False  # A blank line lies between an announcement and its material.

    def hear(self, line: str, low: str, *, block: bool) -> Iterator[tuple[int, str]]:
        """The parts of the next line that the user says, each with its place in the line."""
        if block or (self._paste == "due" and line.startswith(">")):
            self._paste = "" if self._paste == "due" else self._paste  # This was the material.
        elif not line.strip():
            self._pause()
        elif not self._is_material(line, low) and not _PASTED.match(line):
            yield from self._listen(line, low)
        self._opening = block or not line.strip()

    def _pause(self) -> None:
        self._set_off = self._paste == "due"
        if self._paste == "paragraph":
            self._paste = ""

    def _is_material(self, line: str, low: str) -> bool:
        if self._opening and _MAIL.match(line):
            self._paste = "mail"
        elif self._paste == "document" and self._opening and _RESUMES.match(low):
            self._paste = ""
        elif self._paste == "due":
            long = self._set_off or _DOCUMENT.match(low)
            self._paste = "document" if long else "paragraph"
        return self._paste != ""

    def _listen(self, line: str, low: str) -> Iterator[tuple[int, str]]:
        if label := _speaker(line):
            self._hand_over(low[label:])
            if low[label:].strip():
                self._paste = ""  # The next line has a label of its own, or none.
            yield 0, low[:label] + "_" * (len(low) - label)
        elif item := _ITEM.match(line):
            if self._listing:
                yield item.end(), low[item.end() :]
        else:
            yield from self._say(line, low)

    def _say(self, line: str, low: str) -> Iterator[tuple[int, str]]:
        announces = low.rstrip().endswith(":")
        self._listing = announces and _for_us(line[-200:], low[-200:])
        hands = _handing(low)
        if hands and (hands["work"] or not _for_us(hands[0], hands[0])):
            self._hand_over(low[hands.end() :])
            yield 0, low[: hands.start()]
        elif announces and not self._listing:
            self._hand_over("")
        else:
            yield 0, low

    def _hand_over(self, rest: str) -> None:
        self._paste = "paragraph" if rest.strip() else "due"
        self._set_off = self._listing = False


def _for_us(line: str, low: str) -> bool:
    """Whether what is announced are the user's rules for the assistant, not those of others."""
    return bool(_ANNOUNCES.search(low)) and not (_THEIRS.search(low) or _FOR_NAME.search(line))


def _handing(low: str) -> re.Match[str] | None:
    marked = ":" in low or low.rstrip().endswith("?")  # Most lines are settled by this alone.
    return _HANDS.search(low) if marked else None


def _speaker(line: str) -> int | None:
    """Where the label of a speaker ends; None where the line has none."""
    label = _LABEL.match(line) if ":" in line or "：" in line else None
    if label is None:
        return None
    name = label["name"]
    words = name.lower().replace("\u2019", "'").split()
    named = len(words) <= 3 and all(word[0].isupper() for word in name.split())
    if label["time"] or _ROLE.fullmatch(" ".join(words)):
        return label.end()
    return label.end() if named and _OWN.isdisjoint(words) else None


def _blocks(lines: list[str]) -> list[bool]:
    """For each line, whether it is code or lies between two dividers."""
    blocks = list(_fenced(lines))
    for found in (_indented, _divided):
        bare = ["" if block else line for line, block in zip(lines, blocks, strict=True)]
        blocks = [old or new for old, new in zip(blocks, found(bare), strict=True)]
    return blocks


def _fenced(lines: list[str]) -> Iterator[bool]:
    mark, quoted = "", False
    for line in lines:
        fence = _FENCE.match(line)
        yield bool(mark or fence)
        if mark:
            closed = fence and fence["mark"].startswith(mark) and not fence["rest"].strip()
            if closed or (quoted and not line.strip()):  # A quotation ends with its paragraph.
                mark = ""
        elif fence:
            mark, quoted = fence["mark"], bool(fence["quote"])


def _indented(lines: list[str]) -> Iterator[bool]:
    after = False  # A blank line, or more of the code.
    for line in lines:
        blank = not line.strip()
        code = after and not blank and bool(_INDENTED.match(line)) and not _ITEM.match(line)
        yield code
        after = blank or code


def _divided(lines: list[str]) -> Iterator[bool]:
    left = sum(_DIVIDER.match(line) is not None for line in lines)
    inside = False
    for line in lines:
        divider = _DIVIDER.match(line) is not None
        yield inside or divider
        left -= divider
        if divider:
            inside = not inside and left > 0  # The last one, left alone, opens nothing.


def _plain(text: str) -> str:
    """Lower case, of the same length, with the inside of quotations and tags blanked."""
    low = _without_tagged(text.replace("\u2019", "'"))
    low = _QUOTED.sub(lambda quote: '"' + _INSIDE.sub("_", quote[0][1:-1]) + '"', low)
    folded = low.lower()
    if len(folded) != len(low):  # A few capitals have a longer small form.
        folded = "".join(c.lower() if len(c.lower()) == 1 else c for c in low)
    return folded


def _without_tagged(text: str) -> str:
    opened: defaultdict[str, list[int]] = defaultdict(list)
    spans: list[tuple[int, int]] = []
    for tag in _TAG.finditer(text):
        begun = opened[tag[2].lower()]
        if not tag[1]:
            begun.append(tag.end())
        elif begun:
            spans.append((begun.pop(), tag.start()))
    parts: list[str] = []
    at = 0
    for start, end in sorted(spans):
        if start >= at:
            parts += text[at:start], _INSIDE.sub("_", text[start:end])
            at = end
    return "".join((*parts, text[at:]))
