"""Which rules a new one ends: the same matter, and another wish.

    opposed   what one wants the other rejects ("no emojis" / "you can use emojis again")
    chosen    both choose, differently ("answer in French" / "answer in English")
    counted   equal but for a number ("three options" / "five options")
    recast    an order with another object, said as a change ("use Java" / "use Rust from now on")
    released  taken back by name ("forget what I said about citing sources"), or all of them

Nothing is ended under another condition: a rule for one case is an exception, not the end of the
general one. In doubt both stay: a rule ended by mistake is a rule not followed, while of two that
differ the later is still seen to be later.
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from holdfast.language.instructions import cues
from holdfast.language.instructions.rules import Rule, topic
from holdfast.language.lexicon import CARDINALS, LANGUAGES, any_of, word_set
from holdfast.language.regex import regex
from holdfast.language.terms import fold, terms

# ----------------------------------------------------------------------
# What a rule is about, so that two rules can be compared without a model.
#
# A rule is read as two sets of terms: what is wanted and what is rejected ("spaces instead of
# tabs" wants one and rejects the other). Words that say the same are one term ("sources",
# "citations"). Terms that exclude each other form a choice: an answer is in one language, short
# or long, metric or imperial. Words by which any rule is put ("always", "use", "your answers")
# count for nothing.
# ----------------------------------------------------------------------

_CURRENCIES = "dollar euro franc krona krone peso pound rupee won yen yuan zloty"

#: Choices: of each, a rule can want one at a time. A value is told by any of its words.
_CHOICES: dict[str, dict[str, str]] = {
    "language": {word: word for word in LANGUAGES.split()},
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
_AMOUNT = rf"(?= (?:\d|{any_of(CARDINALS)}))"

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
    (regex(pattern), f" {term} ")
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
    (regex(pattern), f" {term} ")
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
_UNSAID = regex(r"\b(?:unless|until|because|since|even if)\b.*")
# What comes after it is rejected, what comes before is not: "code without comments".
_NEGATIVE = regex(
    r"\b(?:no(?! problem)|not(?! only)|never|(?:stop|skip|drop)(?:p(?:ed|ing))?|quit|avoid(?:ed"
    r"|ing)?|without|instead of|rather than|less|fewer|needn't|leave(?=.{0,600} out\b)|leaving out"
    r"|omit|cut|ditch|refrain|spare|enough|hate|dislike|scrap|dont)\b"
    r"|n't\b"
)
# A new thought begins at a comma only where an order follows: "no tables, lists or emojis".
_ORDER = (
    r"(?:and |just |please |then ){0,4}(?:add|answer|be|call|do|don't|explain|get|give|go|i|keep"
    r"|leave|less|make|more|never|no|not|only|put|reply|respond|show|skip|speak|start|stop|switch"
    r"|use|write|you|\w+ (?:is|are))\b"
)
_CLAUSE = regex(
    rf"[;:\u2013\u2014，。]|\s-\s|,? but\b|,(?= {_ORDER})"
    rf"|\s(?=and (?!(?:i|no|not|you)\b){_ORDER})"
)
_SEQUENCE = regex(r"\b(?:before|after)\b", re.I)
_WORD = regex(r"[a-z']+")
_BEFORE_VERB = word_set("""
actually always and can could do don't feel fine free from i i'd it's just let's like may never now
ok okay on only please should so the to want we will would you
""")


# All rules in force are read for each new one: a cache smaller than their number never hits.
_READINGS = 65_536


@dataclass(frozen=True, slots=True)
class RuleTerms:
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
def rule_terms(rule: str, condition: str | None) -> RuleTerms:
    """The terms of a rule and of its condition."""
    low = _UNSAID.sub("", _join_phrases(rule))
    wants: set[str] = set()
    rejects: set[str] = set()
    for clause in _CLAUSE.split(low):
        wanted, rejected = _wanted_and_rejected(clause)
        wants |= wanted
        rejects |= rejected
    numbers = frozenset(term for term in wants | rejects if term.isdigit())
    return RuleTerms(
        wants=_without_common(wants - rejects - numbers),
        rejects=_without_common(rejects - numbers),
        topic=_topic(condition),
        numbers=numbers,
        verb=next((word for word in _WORD.findall(low) if word not in _BEFORE_VERB), ""),
    )


def topic_terms(text: str) -> frozenset[str]:
    """The terms of what is only named: "citing sources", "the tone"."""
    found = _terms(_join_phrases(text))
    return _without_common(found) or frozenset(found)


def _topic(condition: str | None) -> frozenset[str]:
    when = _terms(_join_phrases(" ".join(_SEQUENCE.findall(condition or ""))))
    return frozenset((_terms(_join_phrases(topic(condition))) | when) - _VAGUE_TERMS)


def choices_among(among: frozenset[str]) -> dict[str, frozenset[str]]:
    """The choices that are made among some terms, by name."""
    found: dict[str, frozenset[str]] = {}
    for term in among:
        if name := _CHOICE_OF.get(term):
            found[name] = found.get(name, frozenset()) | {term}
    return found


def choice_names(among: frozenset[str]) -> frozenset[str]:
    """What the choices among some terms are called: "language", as a term."""
    return frozenset(term for name in choices_among(among) for term in terms(name))


def _join_phrases(text: str) -> str:
    low = fold(text.replace("\u2019", "'"))
    for pattern, term in _PHRASES if low.isascii() else (*_PHRASES, *_HAN_PHRASES):
        low = pattern.sub(term, low)
    return low


def _wanted_and_rejected(clause: str) -> tuple[set[str], set[str]]:
    """(wanted, rejected) terms of one thought."""
    negative = _NEGATIVE.search(clause)
    if negative is None:
        return _terms(clause), set()
    wanted, rejected = _terms(clause[: negative.start()]), _terms(clause[negative.end() :])
    if not _without_common(rejected):  # "Emojis are not welcome."
        return set(), wanted | rejected
    return wanted, rejected


def _terms(text: str) -> set[str]:
    return {_CANON.get(term, term) for term in terms(text)}


def _without_common(found: set[str]) -> frozenset[str]:
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
} | {stem: str(i) for i, stem in enumerate(map(" ".join, map(terms, CARDINALS.split())), 1)}
_CHOICE_OF = {value: name for name, values in _CHOICES.items() for value in values}
_SCAFFOLD_TERMS = _stems(_SCAFFOLD) - _CANON.keys()
_SOFT_TERMS = _stems(_SOFT)
_VAGUE_TERMS = _stems("anything question say something stuff thing topic")


# Shares of all terms: from which one matter is part of another, and from which they are the same.
# By hand; tests/language/supersession.jsonl holds them to account.
_PART = 0.5
_EQUAL = 0.75
_ONE_TOPIC = 0.65  # "French accounts" and "accounts" are two.
# Choices that hold for all quantities unless one is named.
_MEASURES = frozenset({"clock", "currency", "dates", "temperature", "units"})

_CHANGE = regex(
    r"\b(?:from (?:now|here|today|this point) on|going forward|actually|instead|again|any ?more"
    r"|any longer|no longer|changed my mind|go back|back to|switch|stop|quit|no more|no need to"
    r"|don't (?:have|need) to)\b|以后|改|不再|不用再",
    re.I,
)
_ALLOWS = regex(
    r"\b(?:again|feel free|(?:ok|okay|fine|allowed|free|welcome) (?:to|if)|you (?:can|may))\b|可以",
    re.I,
)
_RELEASE = regex(
    r"(?:forget(?: about)?|ignore|scrap|drop|cancel|disregard|never mind|undo|lift|remove|delete"
    r"|clear|take back|withdraw|revoke) (?:what i(?:'ve)? (?:said|told you|asked)(?: you)?"
    r"(?: earlier| before)? (?:about|regarding) (?P<about>.+)"
    r"|(?:all )?(?:of )?(?:my|the|that|your) (?:rules?|requests?|instructions?|preferences?"
    r"|wish(?:es)?) (?:about|regarding|on|for|to) (?P<ruled>.+)"
    r"|(?:my|the|that|your) (?P<named>.{1,100}?) (?:rule|request|instruction|preference|wish)\b)",
    re.I,
)
# Orders of which one object at a time can be obeyed; "remind me of ..." can be obeyed twice.
_ONE_OBJECT = word_set("""
assume begin convert default end express finish format list order present put rank round set sign
sort start summarise summarize treat use write
""")

#: The same, where one thing is asked for in one case.
_GIVING = word_set("give show send suggest recommend offer")

Topics = Literal["equal", "wider", "other"]


@dataclass(frozen=True, slots=True)
class KnownRule:
    """A rule in force."""

    id: str
    rule: str
    condition: str | None
    content: str


def repeated_rule(new: Rule, current: Sequence[KnownRule]) -> str | None:
    """The rule in force that the new one only repeats."""
    if releases(new):
        return None
    said = rule_terms(new.rule, new.condition)
    return next((one.id for one in current if _repeats(said, new, one)), None)


def ended_rules(new: Rule, current: Sequence[KnownRule]) -> tuple[str, ...]:
    """The rules in force that the new one ends, in their order."""
    if _releases_all(new):
        return tuple(one.id for one in current)
    about = _released_terms(new)
    if about is not None:
        return tuple(one.id for one in current if _names(about, one))
    said = rule_terms(new.rule, new.condition)
    changes = new.replaces or _CHANGE.search(new.sentence) is not None
    allows = _ALLOWS.search(new.sentence) is not None
    return tuple(
        one.id
        for one in current
        if not _repeats(said, new, one)
        and _ends(said, rule_terms(one.rule, one.condition), changes=changes, allows=allows)
    )


def releases(new: Rule) -> bool:
    """Whether a rule only takes others back ("forget the star rule") and asks for nothing."""
    return _releases_all(new) or _released_terms(new) is not None


def traits(one: KnownRule) -> frozenset[Hashable]:
    """By what a rule can be found by one that ends or repeats it: see `seeks`."""
    old = rule_terms(one.rule, one.condition)
    about = old.matter | old.topic
    named = {("named", each) for each in about | choice_names(old.matter)}
    wanted = {("wants", each) for each in old.wants}
    rejected = {("rejects", each) for each in old.rejects}
    return frozenset({*named, *wanted, *rejected, *_alike(old, one)})


def seeks(one: KnownRule) -> frozenset[Hashable] | None:
    """What a rule that this one ends or repeats has one of, among its traits; None where it may
    be any. Most of many rules need not be looked at for one that has come or gone."""
    said = Rule(one.content, one.rule, one.condition, 1.0, False, 0)
    if _releases_all(said):
        return None
    released = _released_terms(said)
    if released is not None:
        return frozenset(("named", each) for each in released)
    new = rule_terms(one.rule, one.condition)
    wanted = {("wants", each) for each in new.rejects | (new.wants & {CALLED})}
    rejected = {("rejects", each) for each in new.wants}
    return frozenset({*wanted, *rejected, *_alike(new, one)})


def _alike(reading: RuleTerms, one: KnownRule) -> set[Hashable]:
    """What two rules have in common of which one repeats the other, chooses otherwise, has another
    number or another object."""
    about = reading.matter | reading.topic
    found: set[Hashable] = {("said", one.content), ("rule", one.rule.casefold()), ("about", about)}
    found |= {("choice", name) for name in choices_among(reading.wants)}
    if reading.numbers:
        found |= {("counted", each) for each in about or {""}}
    if _has_one_object(reading) and not reading.rejects:
        objects = {reading.topic, *reading.wants} if reading.topic else reading.wants
        found |= {("order", reading.verb, each) for each in objects}
    return found


def _releases_all(new: Rule) -> bool:
    return cues.ENDS_ALL.match(_straight(new.sentence).lower()) is not None


def _released_terms(new: Rule) -> frozenset[str] | None:
    """What is taken back by name, as terms; None where nothing is."""
    found = _RELEASE.search(_straight(new.sentence))
    return topic_terms(found["about"] or found["ruled"] or found["named"]) if found else None


def _straight(sentence: str) -> str:
    """With the apostrophe that the patterns have."""
    return sentence.replace("\u2019", "'")


def _names(about: frozenset[str], one: KnownRule) -> bool:
    old = rule_terms(one.rule, one.condition)
    named = old.matter | old.topic | choice_names(old.matter)
    return bool(about) and about <= named


def _repeats(said: RuleTerms, new: Rule, one: KnownRule) -> bool:
    if new.sentence == one.content:
        return True
    old = rule_terms(one.rule, one.condition)
    if said.numbers != old.numbers or _topics(said, old) != "equal":
        return False
    if not said.matter:
        return new.rule.casefold() == one.rule.casefold()
    signs = said.rejects & old.wants or said.wants & old.rejects
    return not signs and said.matter | said.topic == old.matter | old.topic


def _ends(new: RuleTerms, old: RuleTerms, *, changes: bool, allows: bool) -> bool:
    topics = _topics(new, old)
    if topics == "other" or (topics == "wider" and not changes):
        return False
    if _is_opposed(new, old, topics, allows=allows):
        return True
    if topics == "wider":
        return False
    if CALLED in new.wants & old.wants:
        return new.wants & old.wants == {CALLED}
    is_recast = _recast(new, old) and (changes or _is_given(new))
    return is_recast or _same_choice(new, old, changes) or _same_number(new, old)


def _topics(new: RuleTerms, old: RuleTerms) -> Topics:
    """How the conditions relate; what is a condition of one may be named by the other's rule."""
    if not new.topic <= old.topic | old.matter and _share(new.topic, old.topic) < _ONE_TOPIC:
        return "other"
    if old.topic <= new.topic | new.matter or _share(new.topic, old.topic) >= _ONE_TOPIC:
        return "equal"
    return "other" if new.topic else "wider"


def _is_opposed(new: RuleTerms, old: RuleTerms, topics: Topics, *, allows: bool) -> bool:
    """Whether one rejects what the other wants; a new rule can be wider than the old, not narrower.

    "No tables" ends "use small tables". "Explain legal terms" is only an exception to "don't
    explain", and wanting "language" does not take back "no gendered language".
    """
    about = (new.topic, old.topic) if topics == "equal" else (frozenset[str](), frozenset[str]())
    return _denies(new.rejects, old.wants, about, wider=True) or _denies(
        new.wants, old.rejects, about, wider=allows
    )


def _denies(
    ours: frozenset[str],
    theirs: frozenset[str],
    about: tuple[frozenset[str], frozenset[str]],
    *,
    wider: bool,
) -> bool:
    shared = ours & theirs
    if not shared:
        return False
    share = _share(ours | about[0], theirs | about[1])
    if share >= _EQUAL:
        return True
    names = choices_among(shared)
    # "Short" is nothing by itself: short answers and short paragraphs are two things.
    manner = shared == frozenset().union(*names.values()) and not names.keys() <= _MEASURES
    return wider and not manner and share >= _PART and ours | about[0] <= theirs | about[1]


def _same_choice(new: RuleTerms, old: RuleTerms, changes: bool) -> bool:
    wanted, before = choices_among(new.wants), choices_among(old.wants)
    for name in wanted.keys() & before.keys():
        if wanted[name] & before[name]:
            continue
        rest = (new.matter | new.topic) - wanted[name]
        rest_before = (old.matter | old.topic) - before[name]
        if (changes and not rest and name in _MEASURES) or _one_matter(rest, rest_before):
            return True
    return False


def _same_number(new: RuleTerms, old: RuleTerms) -> bool:
    return (
        bool(new.numbers and old.numbers)
        and new.numbers != old.numbers
        and (bool(new.matter) or new.verb == old.verb)
        and bool(new.wants) == bool(old.wants)
        and _share(new.matter | new.topic, old.matter | old.topic) >= _EQUAL
    )


def _has_one_object(reading: RuleTerms) -> bool:
    """Whether an order can be obeyed with one object at a time."""
    return reading.verb in _ONE_OBJECT or _is_given(reading)


def _is_given(reading: RuleTerms) -> bool:
    """Whether one thing is asked for in one case: when I ask for a script, give me Perl."""
    return reading.verb in _GIVING and bool(reading.topic) and len(reading.wants) == 1


def _recast(new: RuleTerms, old: RuleTerms) -> bool:
    if new.verb != old.verb or new.rejects or old.rejects:
        return False
    if not (_has_one_object(new) and _has_one_object(old)):
        return False
    if choices_among(new.wants).keys() != choices_among(old.wants).keys():
        return False
    if new.topic and new.topic == old.topic:
        return True
    return bool(new.wants & old.wants) and len(new.wants ^ old.wants) <= 2


def _one_matter(one: frozenset[str], other: frozenset[str]) -> bool:
    """Where each has words of its own, they are two things: "subject line", "closing line"."""
    share = _share(one, other)
    return share >= _EQUAL or (share >= _PART and (one <= other or other <= one))


def _share(one: frozenset[str], other: frozenset[str]) -> float:
    """Jaccard; two empty sets are equal."""
    return len(one & other) / len(one | other) if one or other else 1.0
