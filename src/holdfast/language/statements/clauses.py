"""What a person says, cut into clauses: one claim each, and only where both sides stand alone.

In chat a comma often stands where a full stop would: "email please, I hate phoning". A comma, an
"and" or a colon ends a clause where both sides have a subject and a finite verb of their own. What
depends on a condition is never cut from it: "if it rains, I stay" states nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from holdfast.language.instructions.own_words import spoken
from holdfast.language.names.spans import P, between

#: Characters of a turn beyond which it is pasted.
_MOST_CHARS = 20_000
_END = re.compile(r"(?<=[.!?])[\"')\]]*\s+|(?<=[。！？；])|(?<!\s)\s++[-–—]{1,2}\s+")
_ABBREVIATED = re.compile(r"\b(?:dr|mr|mrs|ms|prof|st|vs|e\.g|i\.e|etc|no|approx|[a-z])\.$")
#: So many characters before the end of a sentence tell whether it is an abbreviation.
_BEHIND = 8
_FINITE_VERBS = """
is are was were has have had can can't cannot could will won't would does doesn't don't did didn't
lives live works work starts start ends goes go plays play likes like loves love hates hate wants
want needs need died runs run teaches studies comes come leaves left speaks speak owns own moved
moves gets get got takes took says said writes wrote told charges sells sold makes made costs keeps
brings brought picks pays paid approved signed quit bought broke found sent gave went came asked
showed agreed confirmed cancelled called finished started stopped signs handles visits hurts uses
use drives eats sleeps handed opened closed failed passed retired married changed fixed joined
launched adopted ordered booked hired cut turned isn't aren't wasn't haven't hasn't fly flies
"""
_FINITE = "|".join(sorted(_FINITE_VERBS.split(), key=len, reverse=True))
#: "... and my son" goes on with a list, "... and my son plays" begins a claim.
_BEGINS = (
    r"(?:i|i'm|i've|i'd|i'll|we|we're|we've|we'll)\b"
    rf"|(?:my|our) (?:[\w'-]+ ){{1,3}}?(?:{_FINITE})\b"
    rf"|the (?:[\w'-]+ ){{1,3}}?(?:{_FINITE})\b"
    r"|on (?:the )?[\w']+(?: \d{1,2})? (?:i|i'm|we|we're)\b"
    rf"|(?:he|she|it|they)(?:'s|'re|'ll|'ve|'d| (?:{_FINITE}|[a-z]+s|only|also|never|always))\b"
)
_JOINT = re.compile(
    rf"(?:[,;]? (?:and|but|so|bc|because|cause)|[,;]| (?:tbh|lol|btw)) (?={_BEGINS})"
    r"|: (?=(?:i'm|i am|i've|my|we're|our|sent|ordered|booked|paid)\b)"
    r"|,? (?:(?:and|so|but|then) )?(?=(?:can|could|would|will|do|did|are|have) you\b"
    r"|(?:how|what|which|where|why|should i|should we|is there|any (?:tips|advice"
    r"|ideas))\b[^?]{0,300}\?"
    r"|(?:how|what|which) (?:can|do|should|would|could) (?:i|we)\b)"
    r"|,? (?=(?:otherwise|or else)\b)|, so (?=[a-z]+ (?:should|will|can|can't|must|is|are)\b)"
)
#: Of somebody by name; looked for in the text as it is written.
_OF_NAME = re.compile(
    rf"(?:[,;] (?:(?:and|but|so) )?| (?:and|but|so) )(?=(?:[A-Z][\w'’.&-]* )"
    rf"{{1,3}}(?:only |also |still |never |already |just )?(?:{_FINITE})\b)"
    r"|, (?=(?:the |my |our )?[a-z]+ is (?:Dr\. |Mr\.? |Mrs\.? |Ms\.? )?[A-Z])"
)
_VERB = re.compile(rf"\b(?:{_FINITE}|[a-z]+ed)\b|'(?:s|m|re|ve|ll|d)\b")
_SAYS_WHO = re.compile(r"\b(?:i|we|you|he|she|it|they|my|our)\b")
#: What is said under it must not be cut from it.
_CONDITION = re.compile(
    r"\b(?:if|unless|suppose|supposing|imagine|pretend|assuming|whether|would|might|wish)\b"
)
#: A clause that only says when, why or where the next one is so.
_SUBORDINATE = re.compile(
    r"^(?:(?:and|but|so) )?(?:when|whenever|while|although|though|because|since|as|after|before"
    r"|once|until|till|where|that|which|who|whose|like|even)\b"
)
#: Says when, where or for what the rest is so: "at my old job, ...", "starting next year, ...".
_FRAME = re.compile(
    r"^(?:(?:and|but|so) )?(?:for|at|in|on|during|starting|beginning|from|as of|until|by|before"
    r"|after|under|within|next|last|hypothetically|theoretically|temporarily|eventually|someday)\b"
)
#: Takes something back: what follows is not cut from it.
_OBJECTS = re.compile(
    r"(?:(?:oh|hm+|well|and|but) )?(?:actually|no|nope|wait|sorry|correction)[,.]?"
)
#: "..., but as of May" belongs to what follows it.
_TAIL = re.compile(
    r"(?:,| -)?(?: (?:and|but|so)),? (?=(?:with|since|as|because|when|while|after|before|now"
    r"|of course"
    r"|given|considering|in|on|at|if|by) [^,]{2,60}(?:, \d{4})?$)|,? but, of course$"
)
_REASON = re.compile(r"\b(?:bc|because|cause)\b")
_ASKS = re.compile(r"(?:can|could|would|will|do|did|are|have) you\b|what if\b|how\b|which\b")
_DEPENDS = re.compile(
    r"\b(?:why|how|what|that|which|who|whose|whom|because|cause|when|where|if|as|than|like|said"
    r"|says|told|asked|you|to|reason|things?|everything|someone|people)\b"
    r"|\b(?:on|in|at|of|with|for|from|by|about|into|under|over) $"
)
_LEAD_WORDS = 7
_BLANKS = {ord(char): " " for char in "\t\xa0\u3000"}


@dataclass(frozen=True, slots=True)
class Clause:
    """A part of a turn: where it stands, verbatim, and in lower case with quotations blanked."""

    start: int
    text: str
    low: str

    @property
    def end(self) -> int:
        """Where it ends in the turn."""
        return self.start + len(self.text)

    def part(self, begin: int, end: int) -> Clause:
        """A part of it, without blanks around it."""
        text = self.text[begin:end]
        begin += len(text) - len(text.lstrip())
        end = begin + len(text.strip())
        return Clause(self.start + begin, self.text[begin:end], self.low[begin:end])

    def span(self, first: Clause, last: Clause) -> Clause:
        """From the one part of it to the end of the other."""
        return self.part(first.start - self.start, last.end - self.start)


def sentences(text: str) -> Iterator[tuple[Clause, Clause]]:
    """What is said, sentence by sentence, each with the line that it stands in."""
    for start, verbatim, lowered in spoken(text[:_MOST_CHARS]):
        low = lowered.translate(_BLANKS)
        line = Clause(start, verbatim[: len(low)], low)
        begin = 0
        for end in _END.finditer(low):
            if end.group() and _ABBREVIATED.search(low, end.start() - _BEHIND, end.start()):
                continue
            if (sentence := line.part(begin, end.start())).text:
                yield line, sentence
            begin = end.end()
        if (sentence := line.part(begin, len(low))).text:
            yield line, sentence


def clauses(sentence: Clause) -> list[Clause]:
    """The clauses of a sentence, in order."""
    joints = sorted(
        {found.span() for found in _JOINT.finditer(sentence.low)}
        | {found.span() for found in _OF_NAME.finditer(sentence.text)}
    )
    found: list[Clause] = []
    begin = 0
    for start, end in joints:
        clause = sentence.part(begin, max(start, begin))
        if start < begin or not _stands_alone(clause, sentence.low[start:end]):
            continue
        tail = _TAIL.search(clause.low)
        found.append(clause.part(0, tail.start()) if tail else clause)
        begin = clause.start - sentence.start + tail.end() if tail else end
    last = sentence.part(begin, len(sentence.low))
    return [*found, last] if last.text else found


def _stands_alone(clause: Clause, joint: str) -> bool:
    """Whether a clause may end here: "Jonas and I" is one subject, "if ..." is no statement."""
    low = clause.low
    if not low or _CONDITION.search(low):
        return False
    if _OBJECTS.fullmatch(low):
        return False
    is_comma = joint.lstrip()[:1] in (",", ";", ":")
    if _REASON.search(joint):
        # "Bit tight bc ..."; else the reason is told with what it is for.
        return not (_VERB.search(low) or _SAYS_WHO.search(low))
    if not is_comma and not _VERB.search(low):
        return False
    is_frame = _FRAME.match(low) and not _VERB.search(low)
    return not (is_comma and (_SUBORDINATE.match(low) or is_frame))


def is_asked(clause: Clause) -> bool:
    """Whether it is a question."""
    return clause.low.endswith(("?", "？")) or _ASKS.match(clause.low) is not None


def is_main(clause: Clause, at: int) -> bool:
    """Whether what stands there is what the clause states, not a part of something else: near its
    beginning, and behind no word that makes it depend on another ("the reason why I started")."""
    if not clause.start <= at < clause.end:
        return False
    before = clause.low[: at - clause.start]
    return before.count(" ") <= _LEAD_WORDS and not _DEPENDS.search(before)


def inside(clause: Clause, placed: Sequence[P]) -> Sequence[P]:
    """What begins within a clause, of things in the order of their text."""
    return between(placed, clause.start, clause.end)
