"""What a rule is about, so that two rules can be compared without a model.

A rule is read as two sets of terms: what is wanted and what is rejected ("spaces instead of tabs"
wants one and rejects the other). Words that say the same are one term ("sources", "citations").
Terms that exclude each other form a choice: an answer is in one language, short or long, metric or
imperial. Words by which any rule is put ("always", "use", "your answers") count for nothing.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from holdfast.language.instructions.rules import topic
from holdfast.language.terms import fold, terms

_LANGUAGES = """
arabic bengali cantonese catalan chinese czech danish dutch english finnish french german greek
hebrew hindi hungarian indonesian irish italian japanese korean latin malay mandarin norwegian
persian polish portuguese punjabi romanian russian spanish swahili swedish tagalog tamil thai
turkish ukrainian urdu vietnamese welsh yoruba
"""
_CURRENCIES = "dollar euro franc krona krone peso pound rupee won yen yuan zloty"

#: Choices: of each, a rule can want one at a time. A value is told by any of its words.
_CHOICES: dict[str, dict[str, str]] = {
    "language": {word: word for word in _LANGUAGES.split()},
    "currency": {word: word for word in _CURRENCIES.split()},
    "spelling": {"spell-uk": "spelluk", "spell-us": "spellus"},
    "length": {
        "short": "short shorter brief briefly concise concisely succinct terse compact",
        "long": "long longer detail detailed depth thorough elaborate comprehensive verbose",
    },
    "units": {
        "metric": "metric kilometre kilometer km kg kilogram gram metre meter centimetre cm litre",
        "imperial": "imperial mile foot feet inch ounce lbs",
    },
    "temperature": {word: word for word in ("celsius", "fahrenheit", "kelvin")},
    "tone": {
        "formal": "formal formally professional serious businesslike neutral",
        "casual": "casual casually informal informally relaxed friendly playful warm chatty",
    },
    "candour": {
        "blunt": "blunt bluntly harsh brutal critical tough",
        "gentle": "gentle gently soft encouraging lenient",
    },
    "level": {
        "plain": "simple simpler simply beginner layman novice easy",
        "expert": "expert technical advanced specialist",
    },
    "layout": {"bullet": "bullet", "prose": "prose"},
    "markup": {"markdown": "markdown html latex", "plaintext": "plaintext"},
    "clock": {"hour12": "hour12", "hour24": "hour24"},
    "dates": {"iso": "iso", "dmy": "dmy", "mdy": "mdy"},
    "order": {"before": "beforehand", "after": "afterward"},
    "place": {"first": "first", "last": "last"},
    "bound": {"most": "upto", "least": "atleast"},
    "voice": {"active": "active", "passive": "passive"},
    "casing": {"snake": "snakecase", "camel": "camelcase"},
    "indent": {"tab": "tab", "space": "space"},
}
#: In what a rule wants: the rest is how the user is to be called.
CALLED = "callme"
#: Words for one thing.
_ALIKE = (
    CALLED,
    "emoji emojis smiley smileys emoticon",
    "cite citing citation source reference",
    "joke joking humour humor",
    "greet greeting hello",
    "summary summarise summarize",
    "swear curse profanity swearing",
    "apologise apologize apology",
    "flatter flattery praise",
    "correct fix",
    "explain explanation",
    "suggest recommend",
    "check double-check verify",
    "math maths mathematics",
    "price cost",
    "mail email",
    "start begin",
    "end finish close",
    "picture photo image",
)
_NUMBERS = "one two three four five six seven eight nine ten eleven twelve"
_AMOUNT = rf"(?= (?:\d|{'|'.join(_NUMBERS.split())}))"

# Said of any rule: counts for nothing.
_SCAFFOLD = """
able actually add adding again allowed also always answer answers anyhow anymore anything appreciate
avoid back bit cancel case change changed chat clock cut default disregard ditch do drop each enough
ever every everything expect feel few fine forget format forward free full fully future gave general
get give good great hi ignore include including instead instruction it just keep kept kind kindly
leave let lets like longer lot love make making me message messages mind mode most need never no not
now ok okay omit on one only output own part please point prefer preference provide put putting
question questions quit quite rather really refrain remove replies reply request respond response
responses rule rules said say scrap show skip something sorry sort spare speak standing stick still
stop strictly style sure switch system talk tell text texts thank thanks thing things time times
today told tone undo unit us use used using version want way welcome well whenever wish without word
words would write writing wrote you
"""
# Verbs of answering: they count where nothing else is left ("stop explaining").
_SOFT = """
address ask assume call come convert discuss do explain express format list mark note plan present
refer round set state treat try
"""

# Phrases that are one term, before the text is cut into words.
_PHRASES: tuple[tuple[re.Pattern[str], str], ...] = tuple(
    (re.compile(pattern), f" {term} ")
    for pattern, term in (
        (r"\b(?:british|uk|commonwealth) (?:spelling|(english))\b", r"\1 spelluk"),
        (r"\b(?:american|us) (?:spelling|(english))\b", r"\1 spellus"),
        (r"\btype[- ]hints?\b|\btype annotations?\b", "typehint"),
        (r"\bno longer\b", "never"),
        (r"\b(?:don't|do not|never) forget\b|\blet's agree(?: that)?\b", ""),
        (r"\b(?:don't|do not|never)((?: \w+){1,3}?) more than\b", r"\1 upto"),
        (
            r"\b(?:under|below|at most|(?:no more|fewer|less) than|up to"
            rf"|limit\w*(?: \w+){{1,3}} to){_AMOUNT}",
            "upto",
        ),
        (rf"\b(?:over|above|at least|more than){_AMOUNT}", "atleast"),
        (r"\bgo (?:back to|into|with|for|by)\b", ""),
        (r"\bmake up\b", "invent"),
        (r"\byes or no\b", "yesno"),
        (r"\bbefore\b", "beforehand"),  # As they stand they are stop words.
        (r"\bafter\b", "afterward"),
        (r"\bany longer\b", ""),
        (r"\bbullet(?:ed)?[- ](?:points?|lists?)\b|\bbullets\b|\blists\b", "bullet"),
        (r"\bfull (?:paragraphs|sentences)\b|\bin paragraphs\b|\brunning text\b", "prose"),
        (r"\b(?:a|one|two|three|\d) (?:short |single )?paragraphs?\b", "prose"),
        (r"\b(?:call me|(?:address|refer to) me (?:as|by))\b", CALLED),
        (r"\bplain text\b", "plaintext"),
        (r"\bto the point\b", "short"),
        (r"\bin[- ]depth\b", "detailed"),
        (r"\b(?:24|twenty-four)[- ]hours?\b|\bmilitary time\b", "hour24"),
        (r"\b(?:12|twelve)[- ]hours?\b|\bam/pm\b|\bam and pm\b", "hour12"),
        (r"\bday/month/year\b|\beuropean date\b|\bdd/mm/yyyy\b|\bday first\b", "dmy date"),
        (r"\bmonth/day/year\b|\bamerican date\b|\bmm/dd/yyyy\b|\bmonth first\b", "mdy date"),
        (r"\byear-month-day\b|\byyyy-mm-dd\b|\biso(?: 8601)?(?: date)?\b", "iso"),
        (r"\bsnake[_ -]case\b", "snakecase"),
        (r"\bcamel[_ -]?case\b", "camelcase"),
        (r"\bone at a time\b", "singly"),
    )
)
_HAN_PHRASES: tuple[tuple[re.Pattern[str], str], ...] = tuple(
    (re.compile(pattern), f" {term} ")
    for pattern, term in (
        (r"中文|汉语|普通话", "chinese"),
        (r"英文|英语", "english"),
        (r"法文|法语", "french"),
        (r"德文|德语", "german"),
        (r"日文|日语", "japanese"),
        (r"西班牙文|西班牙语", "spanish"),
        (r"表情(?:符号)?", "emoji"),
        (r"来源|出处", "source"),
        (r"简短|简洁|简单点", "short"),
        (r"详细", "detailed"),
        (r"欧元", "euro"),
        (r"美元", "dollar"),
        (r"不要|不用|不再|不必|别", "never"),
        (
            r"以后|今后|从现在(?:开始|起)|回答|回复|总是|始终|给出|可以|请|用|我|你|要|再|的|吧|了",
            " ",
        ),
    )
)
# What limits a rule or gives its reason is not what it wants.
_UNSAID = re.compile(r"\b(?:unless|until|because|since|even if)\b.*")
# What comes after it is rejected, what comes before is not: "code without comments".
_NEGATIVE = re.compile(
    r"\b(?:no(?! problem)|not(?! only)|never|(?:stop|skip|drop)(?:p(?:ed|ing))?|quit"
    r"|avoid(?:ed|ing)?|without|instead of|rather than|less|fewer|needn't"
    r"|leave(?=.{0,600} out\b)|leaving out|omit|cut|ditch|refrain|spare|enough|hate|dislike"
    r"|scrap|dont)\b"
    r"|n't\b"
)
# A new thought begins at a comma only where an order follows: "no tables, lists or emojis".
_ORDER = (
    r"(?:and |just |please |then ){0,4}(?:add|answer|be|call|do|don't|explain|get|give|go|i"
    r"|keep|leave"
    r"|less|make|more|never|no|not|only|put|reply|respond|show|skip|speak|start|stop|switch|use|write"
    r"|you|\w+ (?:is|are))\b"
)
_CLAUSE = re.compile(
    rf"[;:\u2013\u2014，。]|\s-\s|,? but\b|,(?= {_ORDER})"
    rf"|\s(?=and (?!(?:i|no|not|you)\b){_ORDER})"
)
_SEQUENCE = re.compile(r"\b(?:before|after)\b", re.I)
_WORD = re.compile(r"[a-z']+")
_OPENING_WORDS = """
actually always and can could do don't feel fine free from i i'd it's just let's like may never now
ok okay on only please should so the to want we will would you
"""
_BEFORE_VERB = frozenset(_OPENING_WORDS.split())


# All rules in force are read for each new one: a cache smaller than their number never hits.
_READINGS = 65_536


@dataclass(frozen=True, slots=True)
class Reading:
    """A rule as terms."""

    wants: frozenset[str]
    rejects: frozenset[str]
    #: Of its condition.
    topic: frozenset[str]
    numbers: frozenset[str]
    #: Its first word of content, which says what kind of order it is.
    verb: str

    @property
    def matter(self) -> frozenset[str]:
        """All that it speaks of."""
        return self.wants | self.rejects


@lru_cache(maxsize=_READINGS)
def read(rule: str, condition: str | None) -> Reading:
    """The terms of a rule and of its condition."""
    low = _UNSAID.sub("", _phrased(rule))
    wants: set[str] = set()
    rejects: set[str] = set()
    for clause in _CLAUSE.split(low):
        wanted, rejected = _signed(clause)
        wants |= wanted
        rejects |= rejected
    numbers = frozenset(term for term in wants | rejects if term.isdigit())
    return Reading(
        wants=_counted(wants - rejects - numbers),
        rejects=_counted(rejects - numbers),
        topic=_topic(condition),
        numbers=numbers,
        verb=next((word for word in _WORD.findall(low) if word not in _BEFORE_VERB), ""),
    )


def meant(text: str) -> frozenset[str]:
    """The terms of what is only named: "citing sources", "the tone"."""
    found = _terms(_phrased(text))
    return _counted(found) or frozenset(found)


def _topic(condition: str | None) -> frozenset[str]:
    when = _terms(_phrased(" ".join(_SEQUENCE.findall(condition or ""))))
    return frozenset((_terms(_phrased(topic(condition))) | when) - _VAGUE_TERMS)


def chosen(among: frozenset[str]) -> dict[str, frozenset[str]]:
    """The choices that are made among some terms, by name."""
    found: dict[str, frozenset[str]] = {}
    for term in among:
        if name := _CHOICE_OF.get(term):
            found[name] = found.get(name, frozenset()) | {term}
    return found


def choice_names(among: frozenset[str]) -> frozenset[str]:
    """What the choices among some terms are called: "language", as a term."""
    return frozenset(term for name in chosen(among) for term in terms(name))


def _phrased(text: str) -> str:
    low = fold(text.replace("\u2019", "'"))
    for pattern, term in _PHRASES if low.isascii() else (*_PHRASES, *_HAN_PHRASES):
        low = pattern.sub(term, low)
    return low


def _signed(clause: str) -> tuple[set[str], set[str]]:
    """(wanted, rejected) terms of one thought."""
    negative = _NEGATIVE.search(clause)
    if negative is None:
        return _terms(clause), set()
    wanted, rejected = _terms(clause[: negative.start()]), _terms(clause[negative.end() :])
    if not _counted(rejected):  # "Emojis are not welcome."
        return set(), wanted | rejected
    return wanted, rejected


def _terms(text: str) -> set[str]:
    return {_CANON.get(term, term) for term in terms(text)}


def _counted(found: set[str]) -> frozenset[str]:
    """Without the words of any rule; a verb of answering counts where it is all there is."""
    content = found - _SCAFFOLD_TERMS
    return frozenset(content - _SOFT_TERMS or content)


def _stems(words: str) -> set[str]:
    return {term for word in words.split() for term in terms(word)}


_CANON = {
    stem: value
    for values in (*_CHOICES.values(), {each.split()[0]: each for each in _ALIKE})
    for value, words in values.items()
    for stem in _stems(words)
} | {stem: str(i) for i, stem in enumerate(map(" ".join, map(terms, _NUMBERS.split())), 1)}
_CHOICE_OF = {value: name for name, values in _CHOICES.items() for value in values}
_SCAFFOLD_TERMS = _stems(_SCAFFOLD) - _CANON.keys()
_SOFT_TERMS = _stems(_SOFT)
_VAGUE_TERMS = _stems("anything question say something stuff thing topic")
