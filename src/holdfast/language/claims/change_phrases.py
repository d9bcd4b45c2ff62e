"""Turns of phrase by which one thing changes: it was moved, dropped, finished, or is so again.

    moved      "our meeting moved to Thursdays", "we switched the logger to Postgres"
    chosen     "Oslo it is", "we are going with the green tiles"
    dropped    "forget Oslo"
    doing      "I am reading the book", and finished: "I finished the book"

What a phrase of change must say is what became of what: of a plan, a wish, a single time or a time
long ago nothing is read here.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from holdfast.language.claims import words
from holdfast.language.claims.measures import Measure, measured
from holdfast.language.claims.slots import USER, Slot, attribute_of, key_words, owner_of

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
_OF_ITSELF = re.compile(
    rf"\A{_LED_IN}{_THING} (?:(?:has been|have been|was|were|got|has|have|is|are) )?(?:now |just )?"
    rf"{_VERB}{_TO}",
    re.I,
)
_BY_SOMEBODY = re.compile(
    rf"\A{_LED_IN}(?:i|we|they|he|she|(?:my|our|the) [\w'-]+(?: [\w'-]+)?|[A-Z][\w'-]+)"
    rf"(?: have| has)?(?: now| just)? {_VERB} {_THING}{_TO}",
    re.I,
)
#: No thing by itself: who or what is meant was said elsewhere, or is not the speaker's.
_NO_THING = re.compile(
    r"(?:i|we|you|he|she|it|they|them|him|this|that|these|those|everything|something|myself"
    r"|ourselves|his|her|their|your|its|an?|another|one|some|any|all|every|each)\b",
    re.I,
)
_NAME = re.compile(r"(?:the )?(?:[A-Z]|\d)[\w.'&-]*(?: [A-Z\d][\w.'&-]*)*")
_NOUN = re.compile(r"(?:the|my|our) [\w-]+(?: [\w-]+)?", re.I)
_AFTER = re.compile(r"(?<!\s)\s++(?:after all|instead|though|now)$", re.I)
_BARE_HOUR = re.compile(r"\d{1,2}\b(?! \w)")

_CHOSEN = re.compile(
    rf"{_LED_IN}(?:(?P<it>[\w'& -]{{2,40}}?) it is"
    r"|(?:(?:i|we) )?(?:(?:am |are )?going with|(?:will )?go with|went with|(?:have )?chosen|chose"
    r"|(?:have )?picked|(?:have )?settled on|(?:have )?decided on|opted for)"
    r" (?P<with>[\w'& -]{2,40}?))(?: (?:after all|instead|then|now))?$",
    re.I,
)
_DROPPED = re.compile(
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
_DOING = re.compile(rf"(?:i|we) (?:am|are) (?P<verb>{_MAKING}) (?P<what>.+)$", re.I)
_FINISHED = re.compile(
    rf"(?:i|we) (?:have )?(?:just |finally )*(?:finished|completed)(?: (?P<verb>{_MAKING}))?"
    r" (?!an? |another |some |one )(?P<what>.+)$",
    re.I,
)
_WHEN = re.compile(
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
                found.chosen or _chosen(clause),
                found.dropped or _dropped(clause),
                found.doing if found.doing[1] else _parts(_DOING.match(clause)),
                found.finished if found.finished[1] else _parts(_FINISHED.match(clause)),
            )
    return found


def is_open(clause: str, whole: str) -> bool:
    """Whether a clause does not say that something is so: it denies, wishes or asks."""
    if words.NEGATED.search(clause) is not None:
        return True
    return words.WISH.search(whole) is not None or whole.rstrip().endswith("?")


def is_single(clause: str) -> bool:
    """Whether a clause speaks of one time, of a time to come or long ago: it changes nothing."""
    return words.ONCE.search(clause) is not None


def moved(clause: str, speaker: str = USER) -> Shift | None:
    """What a clause says that a thing was changed to; None where it is not certain what of what."""
    if is_single(clause):
        return None
    for pattern in (_BY_SOMEBODY, _OF_ITSELF):
        found = pattern.match(clause)
        if found is None or _NO_THING.match(found["thing"]):
            continue
        if found["verb"].lower() == "went" and not found["left"] and not _went(found):
            continue
        shift = _shift(found, speaker)
        if shift is not None:
            return shift
    return None


def _went(found: re.Match[str]) -> bool:
    """ "Went up to 20", not "went to Rome"."""
    return re.search(r"\bwent (?:up|down|back)\b", found.group(), re.I) is not None


def _shift(found: re.Match[str], speaker: str) -> Shift | None:
    thing, to = found["thing"], _AFTER.sub("", found["to"])
    is_dated = re.fullmatch(_DATED, found["verb"], re.I) is not None
    counted = f"at {to}" if is_dated and _BARE_HOUR.match(to) else to
    values, rest = measured(counted)
    if values and not _NAME.fullmatch(rest.strip() or "-"):
        return _amount(thing, (to, rest), values, speaker)
    form = "name" if _NAME.fullmatch(to) else "noun" if _NOUN.fullmatch(to) else ""
    if not form or not _is_definite(thing):
        return None
    if found["verb"].lower() in ("moved", "moves", "relocated", "transferred"):
        key = f"{owner_of(thing, speaker)}{key_words(thing)}@{form}"
        return Shift(Slot(key, "noted", to, form)) if not _is_person(thing) else None
    if form != "name" or thing.lower().rsplit(maxsplit=1)[-1] in words.DEVICES:
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
    of = (of - words.SCAFFOLD - words.NEUTRAL) or of
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
    return thing.lower().rsplit(maxsplit=1)[-1] in words.PEOPLE


def _chosen(clause: str) -> str:
    found = _CHOSEN.match(clause)
    return (found["it"] or found["with"] or "") if found else ""


def _dropped(clause: str) -> str:
    found = _DROPPED.match(clause)
    return found["what"] if found else ""


def is_some(what: str) -> bool:
    """Whether it is one of many: "a book"."""
    return re.match(r"(?:an?|some|another|several) ", what, re.I) is not None


def _parts(found: re.Match[str] | None) -> tuple[str, str]:
    if found is None:
        return "", ""
    return (found["verb"] or "").lower(), _WHEN.sub("", found["what"])
