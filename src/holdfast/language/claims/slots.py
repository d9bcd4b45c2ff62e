"""Slots: attributes of which there is one value at a time, found by closed-class patterns.

The key of a slot holds whose it is and the attribute's own words, never the value: "I work at A"
and "I work at B" are one slot, "my favourite colour" and "my favourite food" are two, and so are
"my car" and "my wife's car". How firmly it holds one value:

    changing   the later statement takes the place of the earlier: home, employer, favourite food
    noted      the same, but only with words of change: "my office is in Delft now"
    stable     it does not change with time: two different values contradict each other
    loose      there may be several: only words of change or of correction end the earlier one
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal, NamedTuple

from holdfast.language.lexicon import (
    CARDINALS,
    COUPLE,
    MONTH,
    ORDINALS,
    WEEKDAY,
    WEEKDAYS,
    plural,
    word_set,
)
from holdfast.language.regex import regex
from holdfast.language.sentences import STOPS
from holdfast.language.terms import fold, terms

# ----------------------------------------------------------------------
# The kinds of nouns that tell slots apart, and words for one thing. Only what grammar or the world
# fixes for everybody stands here; nothing is of one person or topic.
# ----------------------------------------------------------------------

#: Present form -> past forms, for verbs whose stem changes.
_IRREGULAR = """
be:was,were,been am:am become:became begin:began,begun bite:bit,bitten break:broke,broken
bring:brought build:built buy:bought catch:caught choose:chose,chosen come:came do:did,done
draw:drew,drawn drink:drank,drunk drive:drove,driven eat:ate,eaten fall:fell,fallen feel:felt
fight:fought find:found fly:flew,flown forget:forgot,forgotten get:got,gotten give:gave,given
go:went,gone grow:grew,grown have:had hear:heard hold:held keep:kept know:knew,known lead:led
leave:left lend:lent lose:lost make:made mean:meant meet:met pay:paid ride:rode,ridden ring:rang
run:ran say:said see:saw,seen sell:sold send:sent sing:sang,sung sit:sat sleep:slept
speak:spoke,spoken spend:spent stand:stood steal:stole,stolen swim:swam,swum take:took,taken
teach:taught tell:told think:thought throw:threw,thrown understand:understood wake:woke,woken
wear:wore,worn win:won write:wrote,written
"""
#: Words for one thing.
_ALIKE = """
allergy:allergic,allergies colour:color,colors,colours favourite:favorite,favourites,favorites
mother:mum,mom,mommy,mummy father:dad,daddy phone:cellphone,smartphone,mobile
name:called,named,spelled
like:love,loves,enjoy,enjoys,likes,adore,adores,loved,liked,enjoyed,loving,liking,enjoying
like:hate,hates,dislike,dislikes,despise,despises,detest,detests,hated,disliked fly:flown,flying
child:children,kid,kids person:people tv:television
"""


def _forms(lines: str) -> dict[str, str]:
    return {
        form: one
        for one, _, forms in (each.partition(":") for each in lines.split())
        for form in forms.split(",")
    }


PAST_TO_PRESENT = _forms(_IRREGULAR)
ALIKE = {**PAST_TO_PRESENT, **_forms(_ALIKE)}
_NUMBERS = f"""
zero {CARDINALS} thirteen fourteen fifteen sixteen seventeen eighteen nineteen twenty
"""
NUMBERS = {word: str(number) for number, word in enumerate(_NUMBERS.split())} | {
    "thirty": "30", "forty": "40", "fifty": "50", "hundred": "100", "dozen": "12",
}  # fmt: skip
#: A figure after one of these tells which one it is, not how many.
LABELLED = word_set("""
step part chapter phase question equation option section page item task problem exercise figure
table unit module project episode season test example
""")
#: Of these the ordinal is a value: "the third floor"; before any other noun it tells which.
RANKED = r"(?:floor|grade|place|year|class|row|league|trimester|of)"
RANKS = {word: str(number) for number, word in enumerate(ORDINALS.split(), 1)}
CURRENCIES = (
    r"(?:euros?|dollars?|pounds?|francs?|yen|rupees?|kronor|kroner|crowns?|usd|eur|gbp|chf)"
)
#: Of these a person has one at a time: whoever comes later has taken the place.
ROLES = word_set(f"""
manager boss supervisor dentist doctor gp therapist teacher landlord landlady {COUPLE} spouse coach
trainer tutor mentor advisor adviser accountant lawyer hairdresser barber vet pediatrician
paediatrician principal headteacher successor predecessor optician physio physiotherapist caretaker
captain chair chairman roommate flatmate
""")
#: "In" says of these in which language they are, or how far.
DIGITAL = frozenset({"site", "website", "database", "app", "api", "service", "code", "blog"})
#: Of these each is at one place, or with one company, at a time.
SITUATED = word_set("""
office studio store shop workshop practice clinic headquarters hq warehouse factory branch school
house flat apartment cabin cottage garage room desk bed locker storage garden allotment
insurance account mortgage pension contract policy subscription plan savings internet broadband
bike bicycle car van boat caravan motorbike scooter piano laptop passport suitcase wallet luggage
site website server database app api service backup backups repo repository code domain blog
meeting wedding party conference class course lesson training practice workshop ceremony reception
exam interview appointment retreat funeral concert
""")
#: With a time or a sum these say only that it is so: "the launch is planned for May".
NEUTRAL = word_set("plan schedul due set start begin leav depart happen book cost")
#: Of these there is one after the other, as stems.
EVENTS = word_set(
    "flight train bus appoint meet call interview exam lesson shift session class trip match"
)
#: Of these people a person has several, as stems.
MANY = word_set("""
friend colleagu cowork cousin neighbour neighbor client custom student classmat uncl aunt nephew
niec grandchild grandson granddaught
""")
#: Abstract attributes: whatever follows is their value, but for a word on how they are.
ATTRIBUTES = word_set("""
address birthday breed code colour deadline diet email employer goal handle hometown job major
nickname occupation password position profession role status target timezone title type username
version
""")
#: Attributes that are measured: only a figure is their value.
MEASURED = word_set("""
age budget dose fee height income limit number pin port price record rent salary score size weight
""")
#: Things of which one is in use; a bare word after them is how they are, not which they are.
THINGS = word_set("""
apartment bank bicycle bike book browser camera car city class club company computer country course
editor flat game gym hobby house keyboard laptop office os phone plan printer project provider room
router school seat server song subject tablet team theme university watch website
""")
#: After a noun and "is": how it is or what it does, not what it is.
MANNER = regex(
    r"(?:too|very|so|quite|rather|really|pretty|always|often|usually|\w+ing|good|bad|great|fine|ok"
    r"|okay|high|low|big|small|new|old|wrong|right|correct|incorrect|secret|public|private|unknown"
    r"|unclear|terrible|perfect|important|easy|hard|difficult|close|far|near|expensive|cheap|ready"
    r"|done|missing|broken|late|early|in|on|at|under|over|from|for|about|with|to)\b",
    re.I,
)
#: What does not change with time: said otherwise later, one of both is wrong.
STABLE = frozenset(
    {"name", "birthday", "birthplace", "anniversary", "maiden", "surname", "birthdate"}
)

# ----------------------------------------------------------------------
# The values in a clause that can be measured: numbers, times, days, dates, sums of money.
#
# They are taken out of the text, so that two statements can be compared without them: what is
# left of "my rent is 800 pounds" and "my rent is 875 pounds" is the same.
# ----------------------------------------------------------------------

_WORDS = "|".join(NUMBERS)
_ORDERED = "|".join(RANKS)
_NO_LABEL = "".join(rf"(?<!\b{each} )" for each in sorted(LABELLED))
_FIGURE = r"\d+(?:[.,]\d+)*(?:k\b)?"
_PART = r"(?:day|night|morning|evening|afternoon|noon|week|weekend|weekday|month|year|hour)"
_MEASURE = regex(
    rf"(?P<often>\bevery (?:(?:other|second|third|\d+|two|three|four|six) )?{_PART}s?\b"
    rf"|\b(?:once|twice|(?:\d+|{_WORDS}) times) (?:a|per|each|every) {_PART}\b)"
    rf"|(?P<date>\b\d{{4}}-\d\d-\d\d\b|\b(?:{MONTH}) \d{{1,2}}(?:st|nd|rd|th)?(?:,? \d{{4}})?\b"
    rf"|\b\d{{1,2}}(?:st|nd|rd|th)? (?:of )?(?:{MONTH})(?: \d{{4}})?\b)"
    rf"|(?P<time>\b\d{{1,2}}:\d\d(?: ?[ap]\.?m\b)?|\b\d{{1,2}} ?[ap]\.?m\b|\bnoon\b|\bmidnight\b"
    rf"|(?<=\bat )\d{{1,2}}(?![\w.:,-]*\d| \w))"
    rf"|(?P<money>[$€£¥] ?{_FIGURE}|(?<![\w-]){_FIGURE} ?(?:{CURRENCIES}\b|[€£¥]))"
    rf"|(?P<day>\b{WEEKDAY}s?\b|\btomorrow\b)"
    rf"|(?P<year>(?<![\w-])(?:19|20)\d\d(?![\w-]))"
    rf"|(?P<number>{_NO_LABEL}(?<![\w-]){_FIGURE}(?:st|nd|rd|th|%)?(?![\w-])"
    rf"|(?<!the )(?<!that )(?<!this )(?<!no )(?<!another )\b(?:{_WORDS})\b(?!-)"
    rf"|(?<!my )(?<!our )\b(?:{_ORDERED})\b(?! (?!{RANKED}\b)\w))",
    re.I,
)
_SPLIT = regex(rf"[{STOPS}\s,;:-]+")
_DAY_NAMES = word_set(WEEKDAYS, plural(WEEKDAYS))
_TELLING = frozenset(
    {*NUMBERS, *RANKS, *_DAY_NAMES, "noon", "midnight", "tomorrow", "every", "once", "twice"}
)
_DIGIT = regex(r"\d")
_DIGITS = regex(r"[^\w:%]")
_THOUSANDS = regex(r"(?<![\d.,])(\d+(?:\.\d+)?)k\b")


class Measure(NamedTuple):
    """One value: its kind and how it is compared."""

    kind: str
    value: str


def read_measures(text: str) -> tuple[tuple[Measure, ...], str]:
    """The values of a text in order, and the text without them."""
    if not _DIGIT.search(text) and _TELLING.isdisjoint(_SPLIT.split(text.lower())):
        return (), text  # Most texts: the pattern below takes its time.
    found = tuple(_measure(match) for match in _MEASURE.finditer(text))
    return found, _MEASURE.sub(" ", text)


def _measure(match: re.Match[str]) -> Measure:
    kind, value = str(match.lastgroup), match.group().lower()
    if kind == "number":
        value = NUMBERS.get(value) or RANKS.get(value) or re.sub("(?:st|nd|rd|th)$", "", value)
    if kind == "money":
        value = re.sub(rf" ?{CURRENCIES}$", "", value)
    if kind == "day":
        value = value.removesuffix("s")
    if (thousands := _THOUSANDS.search(value)) and kind in ("number", "money"):
        return Measure(kind, f"{float(thousands[1]) * 1000:.0f}")
    return Measure(kind, _DIGITS.sub("", value))


Hold = Literal["changing", "noted", "stable", "loose"]
#: Who "I" is.
USER = "user"

_WHO = (
    r"\A(?P<who>i|we|(?:my|our|the) (?:[\w'.-]+ ){0,4}?[\w'.-]+"
    r"|[^\W\d_][\w'.-]*(?: [^\W\d_][\w'.-]*)?)"
)
_BE = r"(?:am|is|are)"
#: After these no town follows, and no employer.
_SOME = r"(?:an?|the|my|our|his|her|their|this|that|constant|fear|peace|hope)\b"
_NO_EMPLOYER = (
    r"(?:home|nights?|weekends?|the (?:office|moment|weekend)|(?:my|our) (?:desk|best|own)|noon"
    r"|times|once|full|free|myself|him|her|them|it|an? (?:while|living)|years|months|hours|\d)\b"
)
#: A name and nothing after it: what follows a name tells when, or in which story.
_PROPER = r"(?:the )?(?-i:[A-Z])[\w.'&-]*(?:,? (?:of |de |the |and |& )?(?-i:[A-Z\d])[\w.'&-]*)*"
#: Who or what is beside a home says nothing of when.
_COMPANY = (
    r" (?:with|near|close to) (?!.*\b(?:weeks?|months?|summers?|winters?|until|till|novel|game)\b)"
)
#: Of these an employer has several.
_UNITS = r"(?:office|team|branch|department|desk|site|store|peace|there)"
_VERBS: tuple[tuple[str, Hold, str], ...] = (
    ("home", "changing",
     rf"(?:lives?|resides?|{_BE} (?:living|based)) (?:in|at) (?P<v>{_PROPER}(?=$|{_COMPANY}))"),
    ("dwelling", "loose", rf"(?:lives?|{_BE} living) (?:in|at) (?P<v>.+)"),
    ("employer", "changing",
     rf"(?:works?|{_BE} (?:working|employed)) (?:at|for) (?!{_NO_EMPLOYER})(?P<v>{_PROPER}$)"
     rf"|joined (?P<w>{_PROPER}(?= as (?:an?|the|their)\b))"),
    ("employer", "noted",
     rf"(?:works?|{_BE} (?:working|employed)) (?:at|for) (?!{_NO_EMPLOYER}|.*\b{_UNITS}\b)(?P<v>.+)"
     rf"|joined (?P<w>{_PROPER}$)"),
    ("job", "changing", rf"(?:works?|{_BE} working) as (?:an? )?(?P<v>.+)"),
    ("age", "changing", rf"{_BE} (?P<v>\d{{1,3}})(?: years? old| now)?$|turned (?P<w>\d{{1,3}})$"),
    ("marriage", "changing",
     rf"{_BE} (?P<v>single|married|divorced|engaged|widowed|separated)(?![-\w])"
     r"(?! (?:in|with|by|from)\b).*"),
    ("employment", "changing",
     rf"{_BE} (?P<v>unemployed|employed|retired|self-employed|between jobs)\b.*"),
    ("vehicle", "loose", r"drives? (?P<v>an? .+|the .+|my .+)"),
    ("is a", "loose", rf"{_BE} an? (?P<v>.+)"),
)  # fmt: skip
_PATTERNS = tuple(
    (name, hold, regex(rf"{_WHO} (?:{pattern})", re.I)) for name, hold, pattern in _VERBS
)
_MOVED = regex(
    rf"{_WHO} (?:have |has )?moved (?:from .+? )?to (?!(?:Finance|Sales|Marketing|Engineering"
    r"|Accounting|Legal|Operations|Support|Product|Design|Research|IT|HR)\b)"
    rf"(?P<v>{_PROPER})(?: (?:last month|this year|recently|in (?:{MONTH})|with (?:my|our) .+"
    r"|for (?:work|school|good|university|love)))?$",
    re.I,
)
_USED_AS = regex(
    rf"{_WHO} (?:uses?|have|has|takes?) (?P<v>.+?) as (?:my|our|the|his|her|their) (?P<a>.+)", re.I
)
_CALLED = regex(rf"{_WHO} {_BE} (?:called|named|spelled|spelt) (?P<v>.+)", re.I)
_COPULA = regex(rf"(?P<a>(?:my|our|the|[\w-]+'s) .+?) {_BE} (?P<v>.+)", re.I)
_INVERTED = regex(rf"(?P<v>.+?) {_BE} (?P<a>(?:my|our) .+)", re.I)
_FIRST_PERSON = frozenset({"i", "we"})
_PRONOUNS = word_set("""
he she they it you this that there these those who which what everyone nobody its his her their your
""")
_DETERMINER = regex(r"^(?:my|our|the|an?|his|her|their|its) ", re.I)
_OWNER = regex(r"(\w)'s\b")
_INDEFINITE = regex(r"\ban? \w")
_OWN = regex(r"\b(?:i|we|my|our)\b")
_DATED = frozenset({"day", "date", "time", "year"})
_OWN_DOING = regex(r"(?:i|we) ")
_DEFINITE = regex(r"(?:my|our|the|i|we) ")
#: With a capital, and yet how somebody is.
_DEMONYM = regex(
    r"[A-Z]\w*(?:ish|ese|ian|ean|can|ani|eli|aqi)\b"
    r"|(?:German|French|Dutch|Greek|Swiss|Thai|Czech|Catholic|Jewish|Muslim|Buddhist|Hindu)\b"
)
_IS_NAME = regex(r"(?:the )?(?:[A-Z]|\d)|[\w-]*\d")
_PLACED = regex(
    r"(?P<a>(?:my|our|the) .+?) (?:is (?P<at>in|at|with|on (?=.{1,80} (?:street|road|avenue"
    r"|lane)$))|(?:is (?:hosted|stored|kept|based|located)|runs) (?:in|at|with|on)) ?(?P<v>.+)",
    re.I,
)
_KEPT = regex(
    r"(?:i|we) (?:host|keep|store|run) (?P<a>(?:my|our|the) .+?) (?P<at>in|at|on|with) (?P<v>.+)",
    re.I,
)
_MONTH = regex(rf"(?:{MONTH})\b", re.I)
_USED_FOR = regex(
    r"(?:I|[Ww]e) (?:use|am using|are using) (?P<v>[A-Z][\w.-]*(?: [A-Z\d][\w.-]*)*)"
    r" for (?P<a>(?:(?:my|our|the) )?[\w'-]+(?: [\w'-]+)?)$"
)
_A_NAME = regex(r"[A-Z][\w'-]*(?:,? [A-Z\d][\w'-]*)*")
_A_NOUN = regex(r"(?:the|my|our) [\w-]+", re.I)
#: A subject without an article, and what it does at a time.
_BARE = regex(
    r"(?:[^\W\d]\S* ){1,3}?(?:is|are|starts?|begins?|ends?|opens?|closes?|leaves?|runs?|meets?) ",
    re.I,
)
_NO_BARE = regex(r"(?:an?|some|any|another|one|two|next|last|if|when|and|but|or|not) ", re.I)
_NEW = regex(r"\bnew ", re.I)


@dataclass(frozen=True, slots=True)
class Slot:
    """An attribute, and the value that a clause gives it."""

    key: str
    hold: Hold
    value: str
    #: A name, or a noun with an article; empty for anything else.
    form: str = ""


def find_slot(clause: str, *, speaker: str = USER) -> Slot | None:
    """The slot that a clause in the present tense fills; contractions are written out."""
    noun = _by_noun(clause, speaker)
    if noun is not None and noun.hold != "loose":
        return noun
    return _by_verb(clause, speaker) or _by_place(clause, speaker) or noun


def template_slot(
    clause: str, measures: tuple[Measure, ...], rest: frozenset[str], speaker: str = USER
) -> tuple[str, Hold] | None:
    """The key of a statement that says how much or when: all its words but the measures.

    Of what a person does or has there can be two at two times ("a meeting on Monday"), so a time
    counts only with something definite: "the meeting is on Monday", "I wake up at seven". Of a
    habit and of what has no article only words of change tell that it is otherwise.
    """
    kinds = tuple(each.kind for each in measures)
    if not kinds or not rest or clause.split(maxsplit=1)[0].lower() in _PRONOUNS:
        return None
    low, told = clause.lower(), set(kinds)
    is_definite = _DEFINITE.match(low) is not None
    if told & _DATED and (_INDEFINITE.search(low) or not (is_definite or _is_bare(low))):
        return None
    if told & {"day", "date", "year"} and _OWN_DOING.match(low):
        return None
    owner = speaker.lower() if _OWN.search(low) else ""
    key = f"{owner}~{'+'.join(sorted(kinds))} {' '.join(sorted(rest - NEUTRAL or rest))}"
    # Of flights and meetings there is another one next week.
    is_event = len(rest - NEUTRAL) == 1 and rest - NEUTRAL <= EVENTS
    is_noted = "often" in told or (bool(told & _DATED) and (is_event or not is_definite))
    return key, "noted" if is_noted else "changing"


def _is_bare(low: str) -> bool:
    return _BARE.match(low) is not None and _NO_BARE.match(low) is None


def subject(who: str, speaker: str = USER) -> str | None:
    """Who is meant, as it stands in a key; None for a pronoun."""
    low = who.lower()
    if low in _FIRST_PERSON or low == speaker.lower():
        return speaker.lower()
    if low in _PRONOUNS:
        return None
    mine = re.match(r"(?:my|our) ", low) is not None
    if not mine and not low.startswith("the ") and not who[:1].isupper():
        return None
    words = key_words(who)
    return f"{speaker.lower()}/{words}" if mine else words or None


def key_words(phrase: str) -> str:
    """The content words of an attribute in order, each as its stem."""
    bare = _OWNER.sub(r"\1", _DETERMINER.sub("", phrase.strip()))
    alike = " ".join(ALIKE.get(word, word) for word in fold(bare).split())
    return " ".join(dict.fromkeys(terms(alike)))


def owner_of(phrase: str, speaker: str = USER) -> str:
    """Whose a thing is, as it stands before the thing in a key."""
    return f"{speaker.lower()}/" if re.match(r"(?:my|our) ", phrase, re.I) else ""


def attribute_of(phrase: str, value: str, speaker: str = USER) -> Slot | None:
    """The slot of "<phrase> is <value>", where the phrase is an attribute by itself."""
    last = phrase.rsplit(maxsplit=1)[-1].lower()
    if last not in ATTRIBUTES | MEASURED:
        return None
    return _attribute(owner_of(phrase, speaker), phrase, value)


def is_renewed(clause: str) -> bool:
    """Whether a clause gives an attribute anew: "my new number is ..."."""
    found = _COPULA.match(clause)
    return found is not None and _bare(found["a"]) != found["a"]


def _bare(attribute: str) -> str:
    """An attribute of which there is one, without "new": the new number is the number."""
    last = attribute.rsplit(maxsplit=1)[-1].lower()
    return _NEW.sub("", attribute) if last in ATTRIBUTES | MEASURED | ROLES else attribute


def _by_place(clause: str, speaker: str) -> Slot | None:
    """Where a thing is, or with whom it is kept, or what it is done with."""
    if used := _USED_FOR.match(clause):
        key = f"{owner_of(used['a'], speaker)}{key_words(used['a'])}"
        return Slot(key, "loose", used["v"], "name")
    found = _PLACED.match(clause) or _KEPT.match(clause)
    if found is None:
        return None
    thing, value = _bare(found["a"]), found["v"]
    last = thing.lower().rsplit(maxsplit=1)[-1]
    form = _place(value)
    if not form or last not in SITUATED or (last in DIGITAL and found["at"] == "in"):
        return None
    key = f"{owner_of(thing, speaker)}{key_words(thing)}@{form}"
    return Slot(key, "noted", value, f"{form} with" if found["at"] == "with" else form)


def _place(value: str) -> str:
    """Of which form the name of a place is; empty for a time, a language and all that is longer."""
    if read_measures(value)[0] or _DEMONYM.match(value) or _MONTH.match(value):
        return ""
    return "name" if _A_NAME.fullmatch(value) else "noun" if _A_NOUN.fullmatch(value) else ""


def _by_verb(clause: str, speaker: str) -> Slot | None:
    if (moved := _MOVED.match(clause)) and (who := subject(moved["who"], speaker)):
        return Slot(f"{who}:home", "changing", moved["v"])
    for name, hold, pattern in _PATTERNS:
        found = pattern.match(clause)
        if found is None or (who := subject(found["who"], speaker)) is None:
            continue
        value = next(filter(None, (found.groupdict().get("v"), found.groupdict().get("w"))), "")
        if value:
            is_one = who.rsplit(maxsplit=1)[-1].rpartition("/")[2] not in MANY
            return Slot(f"{who}:{name}", hold if is_one or hold == "loose" else "noted", value)
    return None


def _by_noun(clause: str, speaker: str) -> Slot | None:
    if (used := _USED_AS.match(clause)) and (who := subject(used["who"], speaker)):
        return _attribute(f"{who}/", used["a"], used["v"])
    if (called := _CALLED.match(clause)) and (who := subject(called["who"], speaker)):
        return Slot(f"{who}:name", "stable", called["v"])
    owner = f"{speaker.lower()}/"
    if found := _COPULA.match(clause):
        mine = re.match(r"(?:my|our) ", found["a"], re.I)
        return _attribute(owner if mine else "", found["a"], found["v"])
    if (found := _INVERTED.match(clause)) and found["v"].lower() not in _FIRST_PERSON:
        return _attribute(owner, found["a"], found["v"])
    return None


def _attribute(owner: str, attribute: str, value: str) -> Slot | None:
    """The slot of "my <attribute> is <value>", by the kind of its last noun."""
    attribute = _bare(attribute)
    key = key_words(attribute)
    words = set(fold(_OWNER.sub(r"\1", attribute)).split())
    words |= {ALIKE.get(word, word) for word in words}
    if not key:
        return None
    if "name" in words:
        who = " ".join(word for word in key.split() if word != "name")
        whose = f"{owner}{who}" if who else owner.removesuffix("/") or USER
        return Slot(f"{whose}:name", "stable", value)
    hold = _hold(words, attribute.rsplit(maxsplit=1)[-1].lower(), value)
    form = "name" if _is_named(value) else ""
    return Slot(f"{owner}{key}", hold, value, form) if hold else None


def _hold(words: set[str], last: str, value: str) -> Hold | None:
    """How firmly an attribute holds its value; None for a word on how it is."""
    if words & {"favourite", "current"}:
        return "changing"
    if MANNER.match(value) is not None:
        return None
    if words & STABLE or {"blood", "type"} <= words:
        return "stable"
    if last in MEASURED and not read_measures(value)[0]:
        return None
    is_firm = (
        last in ATTRIBUTES | MEASURED
        or (last in ROLES and _is_named(value))
        or (last in THINGS and _is_told_by_make(value))
    )
    return "changing" if is_firm else "loose"


def _is_named(value: str) -> bool:
    return _IS_NAME.match(value) is not None and _DEMONYM.match(value) is None


def _is_told_by_make(value: str) -> bool:
    """Whether a thing is told by which one it is ("a Pixel 9"), not by what it is like."""
    bare = _DETERMINER.sub("", value)
    has_capital = any(letter.isupper() for letter in bare.partition(" ")[0])
    is_make = has_capital and _DEMONYM.match(bare) is None
    return is_make or value.lower().startswith("the one ")
