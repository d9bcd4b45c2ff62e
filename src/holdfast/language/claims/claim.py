"""What a statement claims, read without a model: of whom, which attribute, what value, yes or no.

    slot       the attribute of which there is one value at a time, see `slots`; None for most
    polarity   -1 for what is denied: "never", "do not", "hate"
    replaces   words that say that something ended: "no longer", "switched from", "instead of"
    corrects   words that take something back: "correction", "I meant", "not Leeds"
    left       what is named as no longer so: "Leeds" of "York, not Leeds"
    terms      the words that count when two claims are compared

It reads English; of any other language it knows the terms, which is enough to see that two
statements are the same. In doubt it finds no slot: then nothing is ended.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from holdfast.language.claims.slots import (
    ALIKE,
    NEUTRAL,
    PAST_TO_PRESENT,
    ROLES,
    USER,
    Hold,
    Measure,
    Slot,
    attribute_of,
    find_slot,
    is_renewed,
    key_words,
    owner_of,
    read_measures,
    template_slot,
)
from holdfast.language.lexicon import GRANDPARENTS, KIN, WEEKDAY, word_set
from holdfast.language.regex import regex
from holdfast.language.sentences import STOPS
from holdfast.language.terms import fold, quoted_strings, terms

# ----------------------------------------------------------------------
# Turns of phrase that say how a statement holds: no longer, instead, again, perhaps, once.
# ----------------------------------------------------------------------

#: Forms that only the past tense has, not the participle alone.
_PASTS = frozenset(PAST_TO_PRESENT) - {"been", "am", "done", "gone", "become", "come", "run"}
#: What any statement is put with: counts for nothing when two are compared.
_SCAFFOLD = word_set("""
actual alreadi also am and any anyth anyon be current do does ever even get go got had has have i it
just lot made make moment never no not now nowaday one person quit real realli still take thing time
use user veri way well work-as year-old day-to-day call name pay
""")
_OTHERS = f"""
{KIN} {GRANDPARENTS} parent sibling child granny friend colleague coworker neighbour neighbor baby
classmate client customer guest intern assistant man woman boy girl guy family folks dog cat
"""
#: They are at several places, and move by themselves.
_PEOPLE = (
    ROLES
    | {form for one in _OTHERS.split() for form in (one, f"{one}s", ALIKE.get(one, one))}
    | {"kid", "kids", "children", "people"}
)
#: Switched to something these are set otherwise, not others.
_DEVICES = word_set("""
phone laptop computer tablet watch camera car bike house flat apartment printer router keyboard tv
server team company account project app site website codebase
""")
_UNCERTAIN = regex(
    r"\b(?:i (?:think|guess|believe|suppose|assume)|maybe|perhaps|probably|possibly|(?:not|un)sure"
    r"|might|may be|apparently|(?:it )?seems?|could be|(?:just )?(?:kidding|joking)|if i remember"
    r"|as far as i know)\b",
    re.I,
)
#: In a story, at another time, at another place: not how it is.
_SUPPOSED = regex(
    r"\b(?:for this (?:exercise|example|game|story|scenario)|in (?:my|the|this|our|a) (?:novel"
    r"|story|dream|game|simulation|scenario|role-?play)|(?:at|in) my (?:old|last|previous|former"
    r"|first)|starting (?:next|in|from)|from next|pretend|imagine|suppos(?:e|ing)|hypothetically"
    r"|let us say|role-?play)\b",
    re.I,
)
_WISH = regex(
    r"\b(?:want(?:s|ed)?|hop(?:e|es|ing)|plan(?:s|ning)? (?:to|on)|going to (?!school|work|church)"
    r"|gonna|looking forward|upcoming|will|would|wish|dream of|considering|if|should|could|might"
    r"|thinking (?:of|about)|intend)\b",
    re.I,
)
#: Openings by which somebody takes back what was said before.
_CORRECTS = regex(
    r"(?:(?:oh|ah|hm+|well|okay|ok)[,:;.!]*\s+)?(?:(?:sorry|oops|wait|no|nope|actually|correction"
    r"|rather|to correct (?:myself|that)|i (?:meant(?: to say)?(?: that)?|mean))(?:[,:;.!]+\s*"
    r"|\s+)|(?:i (?:was|am) (?:wrong|mistaken)(?: about that| there)?|i (?:(?:have "
    r")?made a mistake|misspoke|misread(?: it| that)?|miscounted|mistyped|misremembered|got (?:it"
    r"|that) wrong)|my (?:mistake|bad)|that (?:was|is) (?:wrong|not right|not correct|incorrect"
    r"|a mistake|a typo)|let me correct (?:that|myself)|i (?:double-)?checked)[,:;.!]+\s*)+",
    re.I,
)
_CORRECTED = regex(
    r"[,;]\s*(?:i|we) (?:misread|wrote|typed|forgot|misremembered|mixed|confused|misheard|got|was"
    r" wrong|made a mistake|miscounted|misspoke)\b[^,;]*$",
    re.I,
)
#: Of these openings those that can mean nothing else; "no" may answer a question.
_SURELY = regex(
    r"\b(?:correct(?:ion)?|wrong|mistaken?|mis\w+|meant|my bad|typo|not right|incorrect)\b", re.I
)
_NOT_THAT = regex(r",\s*(?:and )?not ([^,;.]{1,60})$", re.I)
_NOT_FIRST = regex(r"not ([^,;.]{1,60}),\s+", re.I)
_ENDED = regex(
    r"\bno longer\b|\bany ?more\b|\b(?:stopped|quit|ceased|gave up)\b(?= \w+ing\b| \w+$)", re.I
)
_SWITCH = regex(
    r"\b(?:switch|chang|migrat|transferr?|mov|upgrad|convert)(?:e|ed|ing)?\b"
    r"(?P<what>[^,;.]{0,40}?)(?:\bfrom (?P<left>[^,;.]{1,60}?) )?(?:over )?\b(?:to|into)\b",
    re.I,
)
_INSTEAD = regex(
    r"\b(?:instead of|rather than|in place of) "
    r"(?P<left>(?:the |my |our |an? )?[\w'-]+(?: [\w'-]+)?)",
    re.I,
)
_REPLACED = regex(r"\breplaced (?P<left>[^,;.]{1,60}?) (?:with|by)\b", re.I)
_ANOTHER = regex(r"\bto (?:another|a new|a different) (?P<left>[\w-]+)", re.I)
_LATELY = regex(
    r"\b(?:now|nowadays|these days|currently|at the moment|lately|by now|(?:from|since) now on"
    r"|from now|as of (?:today|now)|this (?:year|month|week|term|season))\b",
    re.I,
)
#: One time, a time to come, or one long ago: what holds now does not change by it.
_ONCE = regex(
    r"\b(?:today|tonight|tomorrow|this (?:time|once|morning|afternoon|evening|week|weekend)|soon"
    r"|for (?:once|now|a (?:day|week|bit|while))|temporarily|next (?:week|month|year|time|summer"
    r"|winter|spring|autumn|fall|term)|when (?:i|we) (?:was|were)|as (?:an? )?(?:child|kid"
    r"|teenager|student|boy|girl)|(?:years?|months|decades) ago|back (?:then|when|in)|in (?:19"
    r"|20)\d\d|used to|originally|at first|once(?! an?\b| per\b)|last (?:week|year|summer|winter"
    r"|spring|autumn|fall|time)|in \w+ (?:days|weeks|months|years)|almost|nearly|had)\b",
    re.I,
)
#: From now on; what is so "at the moment" or "this month" may be so for that time only.
_ANEW = regex(
    r"(?<!\buntil )(?<!\bup to )(?<!\bfor )\bnow\b(?! and (?:then|again)\b| that\b)"
    r"|\b(?:nowadays|these days|as of today)\b",
    re.I,
)
#: Beside what there is, not in its place.
_BESIDE = regex(
    r"\b(?:also|too|as well|another|besides|both|in addition|(?<!every )(?:second|other))\b",
    re.I,
)
_HABIT = regex(rf"\b(?:every {WEEKDAY}s?|{WEEKDAY}s)\b", re.I)
#: One more of what there is: whatever it is said of, it takes nobody's place.
_OTHER = regex(r"\b(?:my|our|the|\w+'s|his|her) other\b|\banother\b", re.I)
_AGAIN = regex(r"\bagain\b(?!st)", re.I)
_MEATS = "meat chicken beef pork bacon"
#: What somebody does not take who is one of these, as terms.
_AVOIDED = {
    "vegetarian": word_set(_MEATS, "fish"),
    "vegan": word_set(_MEATS, "fish cheese egg dairi"),
    "pescatarian": word_set(_MEATS),
    "teetot": word_set("alcohol wine beer"),
}
#: Says when or how a statement holds, not what it says.
_ASIDE = regex(
    r"\b(?:now|nowadays|these days|currently|at the moment|lately|actually|really|still|already"
    r"|just|also|simply|definitely|of course|any ?more|no longer|again|this (?:year|term|season)"
    r"|(?:stopped|quit|ceased|gave up)(?= \w+ing\b))\b"
    r"|\bsince (?:the|my|our) [\w-]+(?: [\w-]+)?$",
    re.I,
)
#: One of these is in every aside.
_ASIDES = word_set("""
now nowadays these currently moment lately actually really still already just also simply definitely
course anymore more longer again year term season since stopped quit ceased gave
""")
_NEGATED = regex(
    r"\b(?:not(?! (?:just|only|merely|sure)\b)|never|no|none|without|nobody|nothing|neither)\b",
    re.I,
)
_DISLIKES = regex(r"\b(?:hates?|dislikes?|despises?|detests?|can not stand|hated|disliked)\b", re.I)
_LIKES = regex(r"\b(?:likes?|loves?|enjoys?|adores?|prefers?|fond of|liked|loved|enjoyed)\b", re.I)
#: Between a subject and its verb.
_AUXILIARY = word_set("""
am is are was were be been have has had do does did not never can will would also now really just
still always often usually already currently actually mostly no longer
""")

# ----------------------------------------------------------------------
# Turns of phrase by which one thing changes: it was moved, dropped, finished, or is so again.
#
#     moved      "our meeting moved to Thursdays", "we switched the logger to Postgres"
#     chosen     "Oslo it is", "we are going with the green tiles"
#     dropped    "forget Oslo"
#     doing      "I am reading the book", and finished: "I finished the book"
#
# What a phrase of change must say is what became of what: of a plan, a wish, a single time or a
# time long ago nothing is read here.
# ----------------------------------------------------------------------

#: Verbs of the calendar, of place, of amount and of choice, in the forms that tell of a change.
_DATED = (
    r"(?:moved|moves|rescheduled|reschedules|postponed|postpones|pushed|pushes|delayed|shifted"
    r"|bumped|slipped|slips|brought)"
)
_COUNTED = r"(?:raised|lowered|increased|reduced|cut|extended|dropped|rose|risen|fell|fallen|went)"
_SWAPPED = r"(?:switched|changed|migrated|converted|transferred|relocated|upgraded|swapped)"
_VERB = rf"(?P<verb>{_DATED}|{_COUNTED}|{_SWAPPED})"
_WAY = r"(?: (?:back|forward|up|down|over|out))?"
_TO = rf"{_WAY}(?P<left> from .{{1,40}}?)?{_WAY} (?:to|until|into) (?P<to>.+)$"
_THING = r"(?P<thing>(?:(?:my|our|the) )?(?:[\w'-]+ ){0,5}?[\w'-]+)"
_LED_IN = r"(?:(?:so|and|but|ok|okay|update|fyi|well|also) )?"
_OF_ITSELF = regex(
    rf"\A{_LED_IN}{_THING} (?:(?:has been|have been|was|were|got|has|have|is|are) )?(?:now |just )?"
    rf"{_VERB}{_TO}",
    re.I,
)
_BY_SOMEBODY = regex(
    rf"\A{_LED_IN}(?:i|we|they|he|she|(?:my|our|the) [\w'-]+(?: [\w'-]+)?|[A-Z][\w'-]+)"
    rf"(?: have| has)?(?: now| just)? {_VERB} {_THING}{_TO}",
    re.I,
)
#: No thing by itself: who or what is meant was said elsewhere, or is not the speaker's.
_NO_THING = regex(
    r"(?:i|we|you|he|she|it|they|them|him|this|that|these|those|everything|something|myself"
    r"|ourselves|his|her|their|your|its|an?|another|one|some|any|all|every|each)\b",
    re.I,
)
_WHOLE_NAME = regex(r"(?:the )?(?:[A-Z]|\d)[\w.'&-]*(?: [A-Z\d][\w.'&-]*)*")
_NOUN = regex(r"(?:the|my|our) [\w-]+(?: [\w-]+)?", re.I)
_AFTER = regex(r"(?<!\s)\s++(?:after all|instead|though|now)$", re.I)
_BARE_HOUR = regex(r"\d{1,2}\b(?! \w)")

_CHOSEN = regex(
    rf"{_LED_IN}(?:(?P<it>[\w'& -]{{2,40}}?) it is"
    r"|(?:(?:i|we) )?(?:(?:am |are )?going with|(?:will )?go with|went with|(?:have )?chosen|chose"
    r"|(?:have )?picked|(?:have )?settled on|(?:have )?decided on|opted for)"
    r" (?P<with>[\w'& -]{2,40}?))(?: (?:after all|instead|then|now))?$",
    re.I,
)
_DROPPED = regex(
    rf"{_LED_IN}(?:(?:forget|scrap|scratch|drop|ditch|never mind|no more)"
    r"|(?:i|we) (?:have )?(?:dropped|ditched|scrapped|given up on))(?: about)? "
    r"(?P<what>[\w'& -]{2,40})$",
    re.I,
)
_MAKING = (
    "reading|writing|watching|building|painting|drafting|editing|knitting|making|doing|studying"
    "|preparing|designing|cooking|renovating|reviewing|sewing|drawing|translating|recording"
    "|listening to|working on|working through"
)
_DOING = regex(rf"(?:i|we) (?:am|are) (?P<verb>{_MAKING}) (?P<what>.+)$", re.I)
_FINISHED = regex(
    rf"(?:i|we) (?:have )?(?:just |finally )*(?:finished|completed)(?: (?P<verb>{_MAKING}))?"
    r" (?!an? |another |some |one )(?P<what>.+)$",
    re.I,
)
_WHEN = regex(
    r" (?:last (?:night|week|month|weekend)|yesterday|today|this (?:morning|week|weekend)|finally"
    r"|on \w+day|at last|now)$",
    re.I,
)


@dataclass(frozen=True, slots=True)
class Shift:
    """What a thing was changed to."""

    slot: Slot
    measures: tuple[Measure, ...] = ()


@dataclass(frozen=True, slots=True)
class Course:
    """What a statement says of something that runs its course: in words, empty for nothing."""

    chosen: str = ""
    dropped: str = ""
    #: What is under way, and with which verb.
    doing: tuple[str, str] = ("", "")
    #: What is done; the verb may not be told.
    finished: tuple[str, str] = ("", "")


def course(told: Sequence[str], clauses: Sequence[str]) -> Course:
    """What is said of something that runs its course, by whichever clause says it first; `told`
    are the clauses without the words on when."""
    found = Course()
    for clause, whole in zip(told, clauses, strict=True):
        if not is_open(clause, whole):
            found = Course(
                found.chosen or _made_choice(clause),
                found.dropped or _dropped_choice(clause),
                found.doing if found.doing[1] else _verb_and_object(_DOING.match(clause)),
                found.finished if found.finished[1] else _verb_and_object(_FINISHED.match(clause)),
            )
    return found


def is_open(clause: str, whole: str) -> bool:
    """Whether a clause does not say that something is so: it denies, wishes or asks."""
    if _NEGATED.search(clause) is not None:
        return True
    return _WISH.search(whole) is not None or whole.rstrip().endswith("?")


def is_single(clause: str) -> bool:
    """Whether a clause speaks of one time, of a time to come or long ago: it changes nothing."""
    return _ONCE.search(clause) is not None


def shift_in(clause: str, speaker: str = USER) -> Shift | None:
    """What a clause says that a thing was changed to; None where it is not certain what of what."""
    if is_single(clause):
        return None
    for pattern in (_BY_SOMEBODY, _OF_ITSELF):
        found = pattern.match(clause)
        if found is None or _NO_THING.match(found["thing"]):
            continue
        if (
            found["verb"].lower() == "went"
            and not found["left"]
            and not _is_change_of_amount(found)
        ):
            continue
        shift = _shift(found, speaker)
        if shift is not None:
            return shift
    return None


def _is_change_of_amount(found: re.Match[str]) -> bool:
    """ "Went up to 20", not "went to Rome"."""
    return re.search(r"\bwent (?:up|down|back)\b", found.group(), re.I) is not None


def _shift(found: re.Match[str], speaker: str) -> Shift | None:
    thing, to = found["thing"], _AFTER.sub("", found["to"])
    is_dated = re.fullmatch(_DATED, found["verb"], re.I) is not None
    counted = f"at {to}" if is_dated and _BARE_HOUR.match(to) else to
    values, rest = read_measures(counted)
    if values and not _WHOLE_NAME.fullmatch(rest.strip() or "-"):
        return _amount(thing, (to, rest), values, speaker)
    form = "name" if _WHOLE_NAME.fullmatch(to) else "noun" if _NOUN.fullmatch(to) else ""
    if not form or not _is_definite(thing):
        return None
    if found["verb"].lower() in ("moved", "moves", "relocated", "transferred"):
        key = f"{owner_of(thing, speaker)}{key_words(thing)}@{form}"
        return Shift(Slot(key, "noted", to, form)) if not _is_person(thing) else None
    if form != "name" or thing.lower().rsplit(maxsplit=1)[-1] in _DEVICES:
        return None
    return Shift(Slot(f"{owner_of(thing, speaker)}{key_words(thing)}", "noted", to, form))


def _amount(
    thing: str, told: tuple[str, str], values: tuple[Measure, ...], speaker: str
) -> Shift | None:
    """A change of how much or when; `told` is the new value and what it says besides figures."""
    to, rest = told
    firm = attribute_of(thing, to, speaker)
    if firm is not None:
        return Shift(firm) if firm.hold == "changing" else None
    kinds = "+".join(sorted(each.kind for each in values))
    of = {*key_words(thing).split(), *key_words(rest).split()}
    of = (of - _SCAFFOLD - NEUTRAL) or of
    if not of:
        return None
    owner = owner_of(thing, speaker).removesuffix("/")
    value = " ".join(each.value for each in values)
    return Shift(Slot(f"{owner}~{kinds} {' '.join(sorted(of))}", "changing", value), values)


def _is_definite(thing: str) -> bool:
    """Whether it is one certain thing, and no name."""
    return re.match(r"(?:my|our|the) ", thing, re.I) is not None or thing[:1].islower()


def _is_person(thing: str) -> bool:
    """Whether it is a person: people move by themselves, and are at two places."""
    return thing.lower().rsplit(maxsplit=1)[-1] in _PEOPLE


def _made_choice(clause: str) -> str:
    found = _CHOSEN.match(clause)
    return (found["it"] or found["with"] or "") if found else ""


def _dropped_choice(clause: str) -> str:
    found = _DROPPED.match(clause)
    return found["what"] if found else ""


def is_some(what: str) -> bool:
    """Whether it is one of many: "a book"."""
    return re.match(r"(?:an?|some|another|several) ", what, re.I) is not None


def _verb_and_object(found: re.Match[str] | None) -> tuple[str, str]:
    if found is None:
        return "", ""
    return (found["verb"] or "").lower(), _WHEN.sub("", found["what"])


_LONGEST = 2_000
#: "Stage 1" says nothing.
_LEAST_WORDS = 3
_EXPANDED: tuple[tuple[re.Pattern[str], str], ...] = tuple(
    (regex(pattern, re.I), text)
    for pattern, text in (
        ("\u2019", "'"),
        (r"\b(?:the )?user's\b", "my"),
        (r"\bthe user\b|^user(?= )", "I"),
        (r"\b(?:can't|cannot)\b", "can not"),
        (r"\bwon't\b", "will not"),
        (r"n't\b", " not"),
        (r"\bi'm\b|(?-i:^[iI]m(?= [a-z]))", "I am"),
        (r"(?-i:^[iI]ve(?= [a-z]))", "I have"),
        (r"'ve got\b|\bhave got\b", " have"),
        (r"\bhas got\b", "has"),
        (r"'ve\b", " have"),
        (r"'re\b", " are"),
        (r"'ll\b", " will"),
        (r"'d\b", " would"),
        (r"\b(he|she|it|that|there|here|what|who)'s\b", r"\1 is"),
        (r"(\w)'s (?=(?:an?|the|called|named|not|in|at|on) )", r"\1 is "),
    )
)
_SHORTENED = regex("['\u2019]|cannot|user|ve got|has got|^im |^ive ", re.I)
_CLAUSES = regex(
    r"[;:]\s+|,\s+|(?<!\bMr)(?<!\bMrs)(?<!\bMs)(?<!\bDr)(?<!\bSt)(?<!\bProf)\.\s+"
    r"|(?<!\s)\s++(?:but|because|although|though|whereas)\s+"
    r"|(?<!\s)\s++and\s+(?=(?:i|we|my|our|he|she|they)\b|(?:now )?(?:live|work|drive|use|am"
    r"|have|is)\b)",
    re.I,
)
_SUBJECT = regex(r"\b(?:i|we|my|our|us|me|mine)\b", re.I)
_SPEAKER = regex(r"\b(?:i|we)\b", re.I)
_ELIDED = regex(r"(?:now )?(?:live|work|drive|use|am|have)\b", re.I)
#: Before a form in -ed: then it is a participle or an adjective.
_NO_PAST = frozenset(
    {*("am", "is", "are", "have", "has", "be", "get", "not", "got", "an", "a", "the"), ""}
)
_NO_VERB = frozenset({"named", "called", "need", "red", "bed", "hundred", "naked", "sacred"})
_WORD = regex(r"[^\W_]+(?:['.-][^\W_]+)*")
_NAME = regex(rf"(?<=[^{STOPS}:] )[A-Z][\w'-]*")
_PERFECT = frozenset({"have", "has", "is", "are", "am", "be"})
#: The past that tells how it is now.
_ARRIVED = regex(r"\bmoved (?:from .{1,200} )?to\b|\bjoined\b|\bturned\b", re.I)

_NO_COURSE = Course()


@dataclass(frozen=True, slots=True)
class _Filled:
    """A slot and its value as the claim keeps them."""

    slot: str | None = None
    hold: Hold = "loose"
    value: str = ""
    terms: frozenset[str] = frozenset()
    measures: tuple[Measure, ...] = ()
    #: The clause that fills it.
    clause: str = ""
    form: str = ""
    #: The clause says that it changed: "now", "my new", "was moved to".
    renewed: bool = False
    #: It says so by a verb.
    shifted: bool = False


@dataclass(frozen=True, slots=True)
class Claim:
    """A statement, taken apart."""

    text: str
    #: Whose word "I" is.
    speaker: str
    #: Of whom it is: the speaker, or the first words of what it begins with.
    subject: frozenset[str] = frozenset()
    #: What the speaker does, as a stem; empty where the speaker is not the subject.
    verb: str = ""
    slot: str | None = None
    hold: Hold = "loose"
    value: str = ""
    value_terms: frozenset[str] = frozenset()
    measures: tuple[Measure, ...] = ()
    form: str = ""
    renewed: bool = False
    shifted: bool = False
    #: A habit: "on Tuesdays", "every Tuesday".
    is_habit: bool = False
    again: bool = False
    course: Course = _NO_COURSE
    polarity: int = 1
    replaces: bool = False
    corrects: bool = False
    #: Its words of correction can mean nothing else.
    surely: bool = False
    #: It says that something is over, and nothing in its place.
    ended: bool = False
    #: "now", "these days".
    lately: bool = False
    uncertain: bool = False
    is_past: bool = False
    is_wish: bool = False
    is_liking: bool = False
    first_person: bool = False
    left: frozenset[str] = frozenset()
    #: What there is another one of: "gym" of "moved to another gym".
    another: frozenset[str] = frozenset()
    #: What it says besides the clause of its slot.
    beside: frozenset[str] = frozenset()
    terms: frozenset[str] = frozenset()
    #: The words of the clause that says that something is over, or is denied.
    core: frozenset[str] = frozenset()
    literals: tuple[str, ...] = ()
    names: tuple[str, ...] = ()

    @property
    def is_explicit(self) -> bool:
        """Whether its words say that something else holds no longer, or never did."""
        return self.replaces or self.corrects


def of_owner(text: str, own: str) -> str:
    """A statement that begins with the owner's name, as the owner would say it: "Ann lives ..."."""
    if not own or not text.casefold().startswith(own.casefold()):
        return text
    rest = text[len(own) :].replace("\u2019", "'")
    if rest.startswith("'s "):
        return f"My{rest[2:]}"
    return f"I{rest}" if rest[:1] == " " else text


@lru_cache(maxsize=8192)
def read_claim(text: str, speaker: str = USER, own: str = "") -> Claim:
    """Take a statement apart. `speaker` says "I"; `own` is the name of the memory's owner."""
    plain = write_out_contractions(of_owner(text[:_LONGEST], own))
    body, corrects, denied = _take_off_correction(plain)
    clauses = _clauses(body)
    told = [_take_off_asides(each) for each in clauses]
    ended = next((each for each in clauses if _ENDED.search(each)), None)
    is_told = _SUPPOSED.search(plain) is None
    filled = _find_filled(told, clauses, speaker) if is_told else _Filled()
    behind, core = _left_behind(plain), _main(clauses)
    another = _ANOTHER.search(plain)
    every = comparable_terms(" ".join(told))
    return Claim(
        text=text,
        speaker=speaker,
        subject=_subject(core),
        verb=_verb(_take_off_asides(ended or core)),
        slot=filled.slot,
        hold=filled.hold,
        value=filled.value,
        value_terms=filled.terms,
        measures=filled.measures,
        form=filled.form,
        renewed=filled.renewed,
        shifted=filled.shifted,
        is_habit=_HABIT.search(filled.clause) is not None,
        again=_AGAIN.search(core) is not None,
        course=course(told, clauses),
        polarity=_polarity(core),
        replaces=bool(ended or behind or another or filled.shifted or _ARRIVED.search(body)),
        corrects=corrects,
        surely=corrects and (bool(denied) or _SURELY.search(plain) is not None),
        ended=ended is not None,
        lately=_LATELY.search(body) is not None,
        uncertain=_UNCERTAIN.search(plain) is not None,
        is_past=_is_past(core),
        is_wish=not is_told or _WISH.search(core) is not None,
        is_liking=bool(_LIKES.search(core) or _DISLIKES.search(core)),
        first_person=_SUBJECT.search(body) is not None,
        left=behind | denied | _diets_ended_by(core),
        another=comparable_terms(another["left"]) if another else frozenset(),
        beside=every - comparable_terms(filled.clause) if filled.slot else frozenset(),
        terms=every,
        core=comparable_terms(_take_off_asides(ended or core)),
        literals=tuple(quoted_strings(text)),
        names=tuple(fold(each) for each in _NAME.findall(body)),
    )


def write_out_contractions(text: str) -> str:
    """A text with its contractions written out, on one line."""
    if _SHORTENED.search(text):
        for pattern, instead in _EXPANDED:
            text = pattern.sub(instead, text)
    return " ".join(text.split()).rstrip(".!").strip()


@lru_cache(maxsize=16384)
def comparable_terms(text: str) -> frozenset[str]:
    """The terms of a text that count: verbs in one form, measures by their value."""
    found, rest = read_measures(text)
    plainly = fold(rest).replace("-", " ")
    alike = " ".join(ALIKE.get(word, word) for word in _WORD.findall(plainly))
    plain = {each for each in terms(alike) if each not in _SCAFFOLD}
    return frozenset(plain | {each.value for each in found})


def _take_off_correction(text: str) -> tuple[str, bool, frozenset[str]]:
    """The statement without the words of correction around it, whether there were any, and what
    it denies."""
    body, denied = text, ""
    if (opening := _CORRECTS.match(body)) is not None:
        body = body[opening.end() :]
    if (not_first := _NOT_FIRST.match(body)) is not None:
        body, denied = body[not_first.end() :], not_first[1]
    if (after := _CORRECTED.search(body)) is not None:
        body = body[: after.start()]
    if (not_that := _NOT_THAT.search(body)) is not None:
        body, denied = body[: not_that.start()], not_that[1]
    corrects = body != text or re.search(r"\bactually\b", body, re.I) is not None
    return body, corrects, comparable_terms(denied)


def _clauses(text: str) -> list[str]:
    found = [each.strip() for each in _CLAUSES.split(text) if each and each.strip()]
    # "I sold the Golf and drive a Kia": who drives is said before.
    return [f"I {each}" if n and _ELIDED.match(each) else each for n, each in enumerate(found)]


def _take_off_asides(clause: str) -> str:
    """A clause without the words that only say when it holds."""
    if _ASIDES.isdisjoint(_WORD.findall(clause.lower())):
        return clause
    return " ".join(_ASIDE.sub(" ", clause).split())


def _main(clauses: list[str]) -> str:
    """The clause that carries the statement: the first with a subject."""
    return next((each for each in clauses if _SUBJECT.search(each)), clauses[0] if clauses else "")


def _subject(clause: str) -> frozenset[str]:
    """Nobody for the speaker: "I" is no term."""
    if _SPEAKER.search(clause):
        return frozenset()
    return frozenset(comparable_terms(" ".join(clause.split()[:3])))


def _verb(clause: str) -> str:
    found = _SPEAKER.search(clause)
    after = _WORD.findall(clause[found.end() :].lower()) if found else []
    word = next((each for each in after if each not in _AUXILIARY), "")
    return next(iter(terms(ALIKE.get(word, word))), "")


def _polarity(clause: str) -> int:
    sign = -1 if _NEGATED.search(clause) else 1
    disliked = _DISLIKES.search(clause)
    if disliked and "can not stand" not in disliked.group().lower():
        sign = -sign
    return sign


def _is_past(clause: str) -> bool:
    before = ""
    for word in _WORD.findall(clause.lower()):
        if word in _PASTS and before not in _PERFECT:
            return True
        is_form = word.endswith("ed") and word not in _NO_VERB and not word.endswith("eed")
        if is_form and before not in _NO_PAST:
            return True
        if word == "to" and before == "used":
            return True
        before = word
    return False


def _diets_ended_by(clause: str) -> frozenset[str]:
    """What somebody is no more who takes something again: "vegetarian" of "I eat meat again"."""
    taken = comparable_terms(clause) if _AGAIN.search(clause) else frozenset[str]()
    return frozenset(one for one, avoided in _AVOIDED.items() if avoided & taken)


def _left_behind(text: str) -> frozenset[str]:
    """What the text itself names as left behind."""
    found: set[str] = set()
    for pattern in (_SWITCH, _INSTEAD, _REPLACED):
        if (match := pattern.search(text)) is not None and match["left"]:
            found |= comparable_terms(match["left"])
    return frozenset(found)


def _find_filled(told: list[str], clauses: list[str], speaker: str) -> _Filled:
    """The first slot that a clause fills; wishes, denials, questions and the past fill none."""
    loose = _Filled()
    for clause, whole in zip(told, clauses, strict=True):
        if is_open(clause, whole) or _OTHER.search(clause):
            continue
        if (shift := shift_in(clause, speaker)) is not None:
            return _fill_by_shift(shift, clause)
        is_past = _is_past(clause) and not _tells_arrival(clause)
        slot = None if is_past else find_slot(clause, speaker=speaker)
        if slot is not None and slot.hold != "loose":
            is_beside = slot.hold == "changing" and _BESIDE.search(whole) is not None
            return _fill_by_slot(replace(slot, hold="loose") if is_beside else slot, clause, whole)
        if not is_past and (counted := _fill_by_measures(clause, whole, speaker)) is not None:
            return counted
        if slot is not None and loose.slot is None:
            loose = _fill_by_slot(slot, clause, whole)
    return loose


def _tells_arrival(clause: str) -> bool:
    return _ARRIVED.search(clause) is not None and not is_single(clause)


def _fill_by_slot(slot: Slot, clause: str, whole: str) -> _Filled:
    return _Filled(
        slot.key,
        slot.hold,
        slot.value,
        comparable_terms(slot.value),
        clause=clause,
        form=slot.form,
        renewed=_says_anew(whole),
    )


def _fill_by_shift(shift: Shift, clause: str) -> _Filled:
    slot, values = shift.slot, frozenset(each.value for each in shift.measures)
    return _Filled(
        slot.key,
        slot.hold,
        slot.value,
        values or comparable_terms(slot.value),
        shift.measures,
        clause,
        slot.form,
        renewed=True,
        shifted=True,
    )


def _says_anew(whole: str) -> bool:
    """Whether a clause says that it is so from now on, not only once or besides."""
    if is_single(whole) or _BESIDE.search(whole):
        return False
    return _ANEW.search(whole) is not None or is_renewed(whole)


def _fill_by_measures(clause: str, whole: str, speaker: str) -> _Filled | None:
    """The slot of a clause that says how much or when."""
    measures, _ = read_measures(clause)
    if not measures or len(_WORD.findall(clause)) < _LEAST_WORDS:
        return None
    values = frozenset(each.value for each in measures)
    found = template_slot(clause, measures, comparable_terms(clause) - values, speaker)
    if found is None:
        return None
    value = " ".join(each.value for each in measures)
    return _Filled(found[0], found[1], value, values, measures, clause, renewed=_says_anew(whole))
