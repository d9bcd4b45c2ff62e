"""What kind of question it is: how much it needs, and whether the latest or the first counts.

The class says how many memories an answer needs, and with it the limit of a caller who names none:

    simple       one fact, asked for in one short clause: "Where does Ann work?"
    medium       one fact or request in more words, and all that fits nowhere else
    complex      a reason, a judgement, a development, or several things asked at once
    multi-hop    two memories must be joined: a comparison, the time between two events, something
                 known only through something else ("the friend who gave me the guitar")
    aggregation  every mention counts: numbers of things, totals, lists, summaries, orders

The rules look at the small words of English; they know no topic. A text in another language is
`medium` and not `understood`, so that an answer can say what it did without.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from holdfast.language.lexicon import NEAREST_KIN, any_of
from holdfast.language.terms import fold

# ----------------------------------------------------------------------
# Whose words a question asks for: those of people, the assistant's, or both.
#
# Most questions are about what people said, and a person says it better than the answers do. But
# "what did you recommend?" asks for the assistant's own words, and a summary needs both sides.
# English; in other languages people's words are preferred.
# ----------------------------------------------------------------------

Whose = Literal["people", "machine", "both"]

_SAY = (
    "recommend|suggest|advise|propose|explain|describe|outline|mention|say|tell|give|offer|provide"
    "|list|show|cover|lay out|walk me through|help|guide|instruct|answer|write|draft|come up with"
    "|share|point out"
)
_SAID = (
    "recommended|suggested|advised|proposed|explained|described|outlined|mentioned|said|told|gave"
    "|given|offered|provided|listed|showed|shown|covered|laid out|walked|helped|guided|instructed"
    "|answered|wrote|written|drafted|came up with|shared|pointed out"
)
_MACHINE = re.compile(
    rf"\b(?:did|had) you (?:\w+ly )?(?:{_SAY}|{_SAID})\b"
    rf"|\bhave you (?:\w+ly )?(?:{_SAID})\b"
    rf"|\byou(?:['\u2019](?:ve|d)| have| had)? (?:\w+ly )?(?:{_SAID})\b"
    r"|\byour (?:\w+ )?(?:recommendation|suggestion|advice|explanation|answer|proposal|response"
    r"|reply|tip|guidance)s?\b",
    re.IGNORECASE,
)
_BOTH = re.compile(r"\b(?:summar(?:y|ies|i[sz]e[sd]?|i[sz]ing)|overview|recap)\b", re.IGNORECASE)


@lru_cache(maxsize=512)
def whose(text: str) -> Whose:
    """Whose words are asked for."""
    if _BOTH.search(text):
        return "both"
    return "machine" if _MACHINE.search(text) else "people"


# ----------------------------------------------------------------------
# Which parts of recall do not understand a question's language: the answer says so.
#
# Keywords work in every script (terms.py). Word forms, times, query classes, whose words are
# asked for, tastes and task profiles are English (times and rules also know some Chinese), and so
# is the shipped embedding model. A question counts as English unless it shows that it is not: by
# letters beyond ASCII without any common English word, or by common words of its own language.
# ----------------------------------------------------------------------

NOTE = (
    "language: the question does not look English; keywords are matched as they are written, and"
    " times, query classes and task profiles may not be understood"
)

_LETTERS = re.compile(r"[^\W\d_]+")
#: Words that tell German, Spanish, French, Italian, Portuguese and Dutch from English.
_COMMON = frozenset(
    """
    wo wer wie wann und der ist nicht ich habe mein meine wohnt hat
    donde cuando quien como que mi mis vive tiene es el los las una
    ou qui quand est elle mon ma mes habite les des une je
    dove quando chi che mio mia abita sono il gli della
    onde quem meu minha mora tem nao uma os
    waar wanneer het een mijn woont heeft ik niet
    """.split()  # noqa: SIM905 (rows by language)
)
_ENOUGH = 2


@lru_cache(maxsize=512)
def english_only(text: str) -> str | None:
    """What to say of a question in another language; None for an English one."""
    if not text.isascii() and not classify(text).understood and _foreign_letters(text):
        return NOTE
    words = _LETTERS.findall(fold(text))
    return NOTE if sum(word in _COMMON for word in words) >= _ENOUGH else None


def _foreign_letters(text: str) -> bool:
    return any(each.isalpha() and not each.isascii() for each in text)


Name = Literal["simple", "medium", "complex", "multi-hop", "aggregation"]
State = Literal["now", "history"]

#: Memories per class, for a caller who does not say how many.
USUAL_LIMIT = 10
LIMITS: dict[Name, int] = {
    "simple": 5,
    "medium": 5,
    "complex": 8,
    "multi-hop": 12,
    "aggregation": 25,
}
#: A question of one clause up to this many words is simple.
_SHORT_WORDS = 10
#: No question needs more text than this to be told apart; a pasted document is not read to its end.
_READ = 2_000


@dataclass(frozen=True, slots=True)
class QueryClass:
    """What kind of question it is."""

    name: Name = "medium"
    #: "now": the latest statement counts. "history": the earlier ones count, too.
    state: State | None = None
    #: Asks which standing instructions there are.
    asks_rules: bool = False
    #: Whether the text reads like English at all.
    understood: bool = True

    @property
    def limit(self) -> int:
        """How many memories to give to a caller who does not say."""
        return LIMITS[self.name]


@lru_cache(maxsize=1024)
def classify(text: str) -> QueryClass:
    """The class of a question; the neutral one where the text is not English."""
    words = " ".join(text[:_READ].lower().replace("’", "'").split())
    if not _ENGLISH.search(words):
        return QueryClass(understood=False)
    return QueryClass(_name(words), _state(words), _RULES.search(words) is not None)


def _name(words: str) -> Name:
    if _BETWEEN.search(words):
        return "multi-hop"
    if _EVERY.search(words):
        return "aggregation"
    if _JOINS.search(words):
        return "multi-hop"
    if words.count("?") > 1 or _REASONS.search(words):
        return "complex"
    short = words.count(" ") < _SHORT_WORDS
    return "simple" if short and _ASKS.match(words) else "medium"


def _state(words: str) -> State | None:
    """What tells a development is history even beside "now"; "when did" is not, beside "last"."""
    if _DEVELOPMENT.search(words):
        return "history"
    if _NOW.search(words):
        return "now"
    return "history" if _ONCE.search(words) else None


def _any(*patterns: str) -> re.Pattern[str]:
    # One boundary for all: what cannot start a word is passed over at once.
    return re.compile(rf"\b(?:{'|'.join(patterns)})", re.ASCII)


# Words that English has and most of its neighbours do not ("was" is German, too).
_ENGLISH = _any(
    r"(?:the|what|what's|which|when|where|who|who's|whom|whose|why|how|how's|did|does|don't|didn't"
    r"|doesn't|is|are|was(?! (?:ist|sind|war|hat|habe|haben|soll|macht)\b)|were|have|my|your|his"
    r"|our|their|i'm|i've|you|she|they|and|with|about|that|this|these|those|should|would|could|please"
    r"|tell|list|give|show|remind)\b"
)
_ASKS = re.compile(
    r"(?:and |so |but |hey |now,? )?(?:what|which|when|where|who|whom|whose|how|is|are|was|were|am"
    r"|do|does|did|has|have|had|can|will)\b"
)

# The time or the amount between two things.
_BETWEEN = _any(
    r"how (?:many|much|long)\b[^?]{0,200}\b(?:between|passed|elapsed|apart)\b",
    r"how (?:many (?:days|weeks|months|years|hours)|long|soon)\b[^?]{0,200}"
    r"\b(?:after|before|from|until|since)\b",
    r"how (?:many|much) (?:more|fewer|less|longer|older|younger|higher|lower)\b",
)
_EVERY = _any(
    r"how (?:many|often)\b",
    r"how much\b[^?]{0,200}\b(?:total|altogether|overall|so far|combined)\b",
    r"(?:in|the|my|a) total\b|altogether\b|average\b|sum of\b|number of times\b",
    r"^(?:(?:please|can you|could you) )?(?:list|name|enumerate|count|outline)\b",
    r"(?:summari[sz]e|summary|recap|overview|timeline|rundown)\b",
    r"(?:what|which) (?:are|were) all\b|all (?:of )?(?:the|my|our|his|her|their|these|those)\b",
    r"(?:every|each|everything|everyone)\b",
    r"(?:what|which|right|correct) (?:order|sequence)\b|in order\b(?! to\b)|chronolog",
    r"(?:the )?(?:whole|entire|full) (?:story|history)\b|history of\b",
    r"(?:across|throughout) (?:all|our|my|the|these|those)\b",
)
_JOINS = _any(
    r"between\b[^?]{0,200}\band\b|in common\b|both\b|compar(?:e|ed|ison|ing)\b",
    r"differ(?:ent|ence|ences|s)?\b|before or after\b|after or before\b",
    r"(?:older|younger|earlier|later|bigger|smaller|cheaper|faster|longer|shorter|more|less|first"
    r"|last|better|worse),? [^?]{0,200}\bor\b|(?:more|less|\w+er) than\b",
    r"(?:the|a|an) (?!one\b|time\b)\w+ (?:who|whom|whose|where|that (?:gave|told|sold|met))\b",
    rf"\w+'s (?:\w+'s|(?:{any_of(NEAREST_KIN, 'partner boss friend')})"
    r"'?s?\b(?= \w))",
    r"(?:while|at the time|when) (?:i|we|he|she|they|it|(?:my|our|his|her|their|the) \w+|[a-z]+)"
    r" (?:was|were|had|met|moved|started|left|came|got|\w+ed)\b",
    r"how old (?:was|were)\b[^?]{0,200}\bwhen\b",
)
_REASONS = _any(
    r"why\b|how come\b|reasons?\b|made \w+ (?:change|decide|leave|stop|want)\b|caused?\b",
    r"explain\b|pros and cons\b|advantages?\b|trade-?offs?\b|based on\b|given\b",
    r"how (?:did|does|do|has|have|can|could|should|would|might|will|is|are|was|were)\b",
    r"^(?:should|would|could|might)\b(?! you)|if\b|(?:what|who|which|where|how) would\b",
    r"(?:(?<=, )|(?<=and )|(?<=or )|(?<=; ))(?:what|why|how|who|where|when|which|whether)\b",
)

_DEVELOPMENT = _any(
    r"how (?:has|have|had|did|does)\b[^?]{0,200}"
    r"\b(?:chang\w+|evolv\w+|develop(?:ed)?|progressed|shifted|improved)\b",
    r"over time\b|over the (?:years|months|weeks|past|last)\b",
    r"(?:what|where|how|^) ?did \w+ use to\b",
    r"(?<!is )(?<!are )(?<!am )(?<!was )used to\b(?! (?:it|the|a|my|this|that|\w+ing)\b)",
    r"original(?:ly)?\b|initial(?:ly)?\b|at first\b|in the beginning\b|former(?:ly)?\b",
    r"previous(?:ly)?\b|back then\b|history of\b|timeline\b|chronolog|earliest\b",
    r"(?:what|which|right|correct) (?:order|sequence)\b|in order\b(?! to\b)|came first\b",
    r"before or after\b",
)
_NOW = _any(
    r"(?<!from )(?<!until )(?<!till )(?<!by )now\b(?!,| on\b)",
    r"current(?:ly)?\b|still\b|latest\b|newest\b|most recent(?:ly)?\b|these days\b|nowadays\b",
    r"at the moment\b|at present\b|presently\b|any ?more\b|no longer\b|up[- ]to[- ]date\b",
    r"the last time\b|(?:did|have|has|was|were) \w+ last\b(?! \w+day| (?:week|month|year|night))",
    r"as of today\b|updated\b",
)
_ONCE = _any(
    r"when (?:did|was|were|had)\b|(?:what|which) (?:day|date|year|month|week) did\b",
    r"(?:did|was|were|had)\b[^?]{0,200}\bfirst\b(?! (?:name|aid|class|floor|of all)\b)",
    r"for the first\b",
    r"(?:did|was|were|had|used)\b[^?]{0,200}\bbefore (?!the end\b|tomorrow\b|next\b)",
    r"in the past\b|earlier\b|long ago\b",
)

_WRITES = r"(?:answer|reply|replies|respond|format|write|talk|speak|address|call)\w*\b"
_RULES = _any(
    r"(?:instructions?|rules|guidelines) (?:did|do|have|had) i\b[^?]{0,200}"
    r"\b(?:give|given|gave|set|have|tell|told)\b[^?]{0,200}\byou\b",
    r"(?:rules|instructions|guidelines) (?:that )?i (?:gave|set|have given|have set|told)\b",
    r"(?:my|your) (?:current |standing |own )?(?:instructions|rules|guidelines)(?: for you)?\W*$",
    r"how (?:should|must|do|are|did) (?:you|i (?:want|ask|like|prefer|tell) you)\b[^?]{0,200}\b"
    + _WRITES,
    r"(?:did i|have i|i) (?:ask|asked|tell|told|instruct|instructed) you to\b",
    r"preferences (?:for|about|on) (?:how you|your)\b",
)


def usual_limit(text: str, *, adaptive: bool) -> int:
    """How many hits a question gets when nobody says: ten, or more for a broad one.

    The seed gives a plain question five; a caller who can show ten would miss half of them.
    """
    return max(USUAL_LIMIT, classify(text).limit) if adaptive else USUAL_LIMIT
