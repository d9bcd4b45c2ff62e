"""The fields of a profile, read from the facts that hold: name, home, job, likes, goals, ...

Attributes of which there is one value come from the slots of facts (language/claims/claim.py): the
newest fact counts. Of likes, family, languages and the like there can be several. Goals, habits and
constraints are told in the user's own sentences. Only what users said of themselves is read: what
an agent, a tool or a document claims is nobody's profile.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import lru_cache
from typing import Any, NamedTuple

from holdfast.language.claims.claim import read_claim
from holdfast.language.claims.slots import USER
from holdfast.language.lexicon import GRANDPARENTS, KIN, MONTH_STARTS, PETS, RELATIVES, any_of
from holdfast.language.regex import regex
from holdfast.language.sentences import STOPS
from holdfast.language.statements.people import (
    find_family_and_pets,
    read_introduction,
    wanted_of_two,
)
from holdfast.language.statements.values import BY_USER, CATEGORIES, USERS_OWN
from holdfast.language.terms import fold, terms
from holdfast.records import parts
from holdfast.records.versions import first_id
from holdfast.types import Record

# ----------------------------------------------------------------------
# The user profile as a value, and as a DeerFlow memory document.
# ----------------------------------------------------------------------

#: The six summaries, by the part of the document they stand in.
USER_SECTIONS: tuple[str, ...] = ("workContext", "personalContext", "topOfMind")
HISTORY_SECTIONS: tuple[str, ...] = ("recentMonths", "earlierContext", "longTermBackground")
SECTIONS = USER_SECTIONS + HISTORY_SECTIONS


@dataclass(frozen=True, slots=True)
class Field:
    """One thing that is known of the user."""

    name: str
    #: One, or several where there can be several: the newest first.
    values: tuple[str, ...]
    #: Event ids of the turns it was said in, and ids of the facts it was read from.
    sources: tuple[str, ...] = ()
    facts: tuple[str, ...] = ()
    confidence: float = 1.0
    updated_at: datetime | None = None
    #: Set by hand: it stands whatever facts say, until it is cleared.
    is_set: bool = False

    @property
    def value(self) -> str:
        """The values on one line."""
        return ", ".join(self.values)


@dataclass(frozen=True, slots=True)
class Summary:
    """One of the six summaries."""

    text: str = ""
    updated_at: datetime | None = None
    #: Event ids of the turns it rests on.
    sources: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Profile:
    """What is known of a user, as one document."""

    user: str
    fields: Mapping[str, Field] = field(default_factory=dict)
    #: By name: workContext, personalContext, topOfMind, recentMonths, earlierContext,
    #: longTermBackground. All six are there, empty where there is nothing to tell.
    summaries: Mapping[str, Summary] = field(default_factory=dict)
    #: The facts that hold, those learned first first.
    facts: tuple[Record, ...] = ()
    #: Counts what was learned for this document, also what does not hold any more.
    revision: int = 0
    updated_at: datetime | None = None
    #: How often each claim was told anew, by its id.
    versions: Mapping[str, int] = field(default_factory=dict)
    agent: str | None = None

    @property
    def is_private(self) -> bool:
        """Whether there is something in it that its agent alone sees."""
        return any(record.visibility is not None for record in self.facts)

    def as_deerflow(self) -> dict[str, Any]:
        """The memory document as DeerFlow keeps it."""
        return {
            "version": "1.0",
            "revision": self.revision,
            "lastUpdated": _time(self.updated_at),
            "user": {name: self._section(name) for name in USER_SECTIONS},
            "history": {name: self._section(name) for name in HISTORY_SECTIONS},
            "facts": [self._fact(record) for record in self.facts],
        }

    def _section(self, name: str) -> dict[str, str]:
        summary = self.summaries.get(name, Summary())
        section = {"summary": summary.text, "updatedAt": _time(summary.updated_at)}
        # It may be made of any of the facts.
        if summary.text and self.is_private:
            section["visibility"] = "agent_only"
        return section

    def _fact(self, record: Record) -> dict[str, Any]:
        data = record.data
        fact: dict[str, Any] = {
            "id": record.id,
            "content": record.content,
            "category": category(record),
            "confidence": record.confidence,
            "createdAt": _time(record.valid_from),
            "updatedAt": _time(record.known_from),
            "source": record.session or ("unknown" if record.sources else "manual"),
            "topics": list(data.get("keywords") or ()),
            "schemaVersion": 2,
            "status": "active",
            "scope": {"userId": self.user, "agentName": record.agent or "__default__"},
            "revision": self.versions.get(first_id(record), 1),
        }
        if data.get("avoid"):
            fact["sourceError"] = data["avoid"]
        if record.visibility is not None:
            fact["visibility"] = record.visibility
        return fact


def category(record: Record) -> str:
    """What a fact is about. What only users can say of themselves is data from anybody else."""
    if record.kind not in CATEGORIES or (record.kind in USERS_OWN and record.origin not in BY_USER):
        return "other"
    return record.kind


def versions_by_claim(records: list[Record]) -> dict[str, int]:
    """How many versions there are of each claim."""
    return dict(Counter(map(first_id, records)))


def _time(at: datetime | None) -> str:
    return "" if at is None else at.isoformat().replace("+00:00", "Z")


#: The fields of which there is one value.
SINGLE = frozenset(
    {"name", "home", "hometown", "job", "employer", "age", "birthday", "marriage", "timezone"}
)
#: What is told in the user's own sentence, by category.
_WHOLE = {"goal": "goals", "behavior": "habits", "constraint": "constraints"}
_MOST_VALUES = 20
_LONGEST_VALUE = 120

#: Slots by the words of their key, after whose it is.
_SLOTS = {
    ":name": "name", ":home": "home", ":employer": "employer", ":job": "job", ":age": "age",
    ":marriage": "marriage", "/hometown": "hometown", "/birthday": "birthday",
    "/home": "home", "/citi": "home", "/employ": "employer", "/compani": "employer",
    "/job": "job", "/occup": "job", "/profess": "job", "/age": "age", "/timezon": "timezone",
}  # fmt: skip
#: As stems, as the keys of slots have them.
_RELATIVES = frozenset(
    terms(f"{KIN} {GRANDPARENTS} spouse child baby parent sibling twin stepson stepdaughter")
)
_PETS = frozenset(terms(f"{PETS} turtle bird fish pet pony"))
_KIN = rf"(?:{RELATIVES}|spouse|baby|siblings|twin|aunts|uncles|nieces|nephews)"
_ANIMAL = (
    r"(?:dogs?|cats?|pupp(?:y|ies)|kittens?|horses?|rabbits?|parrots?|hamsters?|tortoises?|turtles?"
    r"|birds?|fish|pets?|pon(?:y|ies))"
)
_SOME = r"(?:an?|one|two|three|four|five|six|several|\d{1,2}) (?:(?!and\b)[\w-]+ ){0,3}?"
_TEXTS: tuple[tuple[str, re.Pattern[str]], ...] = tuple(
    (field, regex(pattern, re.I))
    for field, pattern in (
        ("family", rf"\b(?:i|we|user) (?:have|has) (?:[^.;]{{1,60}}? and )?({_SOME}{_KIN})\b"),
        ("pets", rf"\b(?:i|we|user) (?:have|has|own|owns|adopted|got) (?:[^.;]{{1,60}}? and )?"
                 rf"({_SOME}{_ANIMAL}(?: (?:named|called) \w+)?)\b"),
        ("name", r"\b(?:please )?call me (?!\w+day\b)((?-i:[A-Z])[\w'-]+)(?=[.,!]|$)"),
        ("birthday", r"\bmy birthday is (?:on )?(?:the )?([\w ]{3,30})"),
        ("job", r"\bworks? (?:at|for|in) [^.;]{1,60}? as (?:an? |the )?([\w -]{2,40})"),
        ("hometown", r"\b(?:i am|i'm|user is) (?:originally )?from ([A-Z][\w' -]{1,40})"),
    )
)  # fmt: skip
_SPEAKS = regex(rf"\b(?:i|we|user) (?:can |also |both )*speaks? ([^{STOPS};]{{2,80}})", re.I)
_LIKES = regex(
    r"\b(?:i|we|user)(?: (?:really|absolutely|also|just|still|truly|especially|do|both|always))*"
    r" (?:love|like|enjoy|adore|prefer|am fond of|am into|am (?:an? )?(?:\w+ )?fan of)s?"
    rf" (?P<what>[^{STOPS};]{{2,120}})",
    re.I,
)
_DISLIKES = regex(
    r"\b(?:i|we|user)(?: (?:really|absolutely|also|just|still|truly))*"
    r" (?:hate|dislike|detest|despise|can't stand|cannot stand|(?:do not|don't|does not|doesn't)"
    r" (?:really )?(?:like|enjoy|care for)|am not (?:an? )?(?:\w+ )?fan of)s?"
    rf" (?P<what>[^{STOPS};]{{2,120}})",
    re.I,
)
_FAVOURITE = regex(
    rf"\bmy (?P<which>favou?rite [^{STOPS};]{{2,40}}?) (?:is|are) (?P<what>[^{STOPS};]{{1,80}})",
    re.I,
)
_WISHED = regex(r"(?:to (?:see|know|ask|have|get|book|order)|it (?:if|when)|if|for)\b", re.I)
_CONTRACTED = (("\u2019", "'"), ("I'm ", "I am "), ("i'm ", "i am "), ("We're ", "We are "))
_THE_USER = regex(r"\bthe user\b", re.I)
_REST = regex(
    r"(?<!\s)\s++(?:with|since|because|for|and|but|where|which|who|when|while|now|nowadays"
    r"|these days"
    r"|right now|currently|at the moment|near|until|so|as|though|if)\b.*"
    rf"|[{STOPS};(].*|,\s+(?![A-Z]).*"
)
_AFTER = regex(
    rf"(?<!\s)\s++(?:because|since|but|when|while|though|although|so|if|which|who)\b.*|[{STOPS};].*|,\s+"
    r"(?:and )?(?:i|we|my|but|so|because|especially|which)\b.*",
    re.I,
)
_LIST = regex(r",\s*(?:and\s+)?|(?<!\s)\s++and\s+|/")
_FLUENCY = regex(
    r"\b(?:fluent(?:ly)?|native|some|a (?:little|bit of)|basic|good|both|well)\b", re.I
)
_ARTICLE = regex(r"^(?:an? |the )", re.I)
# "A small flat in Porto" is in Porto.
_DWELLING = regex(r"^(?:an?|the|my|our) .*? in (?=[A-Z])")
#: "I'm a ...": work, by how English names those who do it.
_WORKER = regex(
    r"(?:\w+ ){0,3}?(?:\w{2,}(?:eer|wright|ologist|grapher|keeper|maker|smith)|nurse|doctor|teacher"
    r"|lawyer|developer|designer|programmer|writer|baker|farmer|driver|builder|painter|plumber"
    r"|carpenter|lecturer|professor|researcher|manager|consultant|accountant|architect|scientist"
    r"|dentist|pharmacist|therapist|journalist|artist|musician|chef|cook|pilot|student|analyst"
    r"|electrician|mechanic|librarian|translator|editor|firefighter|paramedic|surgeon|vet|barista"
    r"|waiter|waitress|tutor|freelancer|founder|technician|veterinarian|physiotherapist|midwife)",
    re.I,
)


_NAMED = frozenset({"name", "home", "hometown", "employer"})
_DATED = regex(rf"\d|{any_of(*MONTH_STARTS)}|spring|summer|autumn|winter")
_JOKE = regex(
    r"\b(?:haha+|lol|just kidding|jk|role ?play|pretend|said (?:the|he|she|my))\b|\bex-", re.I
)


class FieldValue(NamedTuple):
    """A value of a field, and the fact that tells it."""

    field: str
    value: str
    fact: Record


class _FactEvidence(NamedTuple):
    """What of a fact its values follow from."""

    category: str
    content: str
    speaker: str
    slot: str
    value: str


def fields(facts: Iterable[Record], *, user: str) -> dict[str, Field]:
    """The fields that facts give, by name. Facts of other speakers than the user give none."""
    own = [fact for fact in facts if parts.is_by_user(fact)]
    own = _of_user(own, user)
    newest_first = sorted(own, key=lambda each: (each.valid_from, each.known_from, each.id))[::-1]
    names = frozenset({fold(user), USER})
    told = [
        each for fact in newest_first for each in _field_values(fact, names) if _is_likely(each)
    ]
    if called := next((each.value for each in told if each.field == "name"), None):
        # "Ann lives in Lisbon", of a user who is called Ann.
        more = names | {fold(called), fold(called.split(maxsplit=1)[0])}
        told = [
            each for fact in newest_first for each in _field_values(fact, more) if _is_likely(each)
        ]
    found: dict[str, list[FieldValue]] = {}
    for each in told:
        found.setdefault(each.field, []).append(each)
    return {name: _field(name, found[name]) for name in sorted(found)}


def _is_likely(told: FieldValue) -> bool:
    """Whether a value can be one: "my name is hard to spell" tells no name."""
    if _JOKE.search(told.fact.content):
        return False
    if told.field in _NAMED:
        first = told.value.lstrip("\"'(")[:1]
        return not first.isascii() or first.isupper() or first.isdigit()
    return told.field != "birthday" or _DATED.search(told.value) is not None


def _of_user(facts: Sequence[Record], user: str) -> list[Record]:
    """Those that the user said: of several named speakers, the one who bears the user's name."""
    names = {fold(fact.name) for fact in facts if fact.name}
    others = names - {fold(user)} if len(names) > 1 or fold(user) in names else set()
    return [fact for fact in facts if fact.name is None or fold(fact.name) not in others]


def _field(name: str, told: Sequence[FieldValue]) -> Field:
    kept: dict[str, FieldValue] = {}
    for each in told:
        kept.setdefault(fold(each.value), each)
    chosen = list(kept.values())[: 1 if name in SINGLE else _MOST_VALUES]
    values = {fold(each.value) for each in chosen}
    facts = {each.fact.id: each.fact for each in told if fold(each.value) in values}
    return Field(
        name=name,
        values=tuple(each.value for each in chosen),
        sources=tuple(dict.fromkeys(s for fact in facts.values() for s in fact.sources)),
        facts=tuple(facts),
        confidence=min(each.fact.confidence for each in chosen),
        updated_at=max(fact.known_from for fact in facts.values()),
    )


def _field_values(fact: Record, names: frozenset[str]) -> Iterator[FieldValue]:
    slot, value = _slot(fact)
    said = _FactEvidence(category(fact), fact.content, fact.name or USER, slot, value)
    for name, told in _values(said, names):
        yield FieldValue(name, told, fact)


@lru_cache(maxsize=16_384)
def _values(said: _FactEvidence, names: frozenset[str]) -> tuple[tuple[str, str], ...]:
    """The fields and values that a fact gives."""
    found: list[tuple[str, str]] = []
    if field := _WHOLE.get(said.category):
        found.append((field, " ".join(said.content.split())[:_LONGEST_VALUE]))
    plain = " ".join(said.content.replace("\u2019", "'").split())
    found += read_introduction(plain)
    if said.category not in ("goal", "decision"):
        for name, value in (*_by_slot(said, names), *_by_text(said.content)):
            clean = value.strip(" ,'\"")
            if clean and len(clean) <= _LONGEST_VALUE:
                found.append((name, clean))
    return tuple(found)


def _by_slot(said: _FactEvidence, names: frozenset[str]) -> Iterator[tuple[str, str]]:
    slot, value = said.slot, said.value
    who = _whose(slot, names | {said.speaker.lower()})
    if who is None or not value:
        return
    rest, short = slot[len(who) :], _REST.sub("", value)
    if rest == ":is a":
        if work := _WORKER.match(short):
            yield "job", work.group()
    elif rest in _SLOTS:
        yield _SLOTS[rest], _ARTICLE.sub("", _DWELLING.sub("", short))
    elif rest.startswith("/") and rest.endswith(":name"):
        yield from _named(said.content, rest.removeprefix("/").removesuffix(":name"), short)


def _slot(fact: Record) -> tuple[str, str]:
    if "polarity" in fact.data:  # It was taken apart when it was stored; most have no slot.
        return str(fact.data.get("slot") or ""), str(fact.data.get("value") or "")
    claim = read_claim(fact.content, fact.name or USER)
    return claim.slot or "", claim.value


def _whose(slot: str, names: Collection[str]) -> str | None:
    """Which of the names a slot is of: "user:home", "user/dog:name"."""
    who = re.split("[:/]", slot, maxsplit=1)[0]
    return who if who in names else None


def _named(content: str, stems: str, called: str) -> Iterator[tuple[str, str]]:
    """Somebody of the family or a pet, by name."""
    last = stems.rpartition(" ")[2]
    for name, nouns in (("family", _RELATIVES), ("pets", _PETS)):
        if last in nouns:
            yield name, f"{called} ({_noun(content, last)})"


def _noun(content: str, stem: str) -> str:
    """The word of a text that a key names by its stem."""
    found = (word.strip(".,!?'\u2019") for word in content.lower().split())
    whole = next((word for word in found if word.startswith(stem[:5])), stem)
    return re.sub(r"['\u2019]s$", "", whole)


def _by_text(content: str) -> Iterator[tuple[str, str]]:
    text = " ".join(_THE_USER.sub("user", content).split())
    for short, long in _CONTRACTED:
        text = text.replace(short, long)
    yield from find_family_and_pets(text)
    for name, pattern in _TEXTS:
        if found := pattern.search(text):
            yield name, _REST.sub("", found[1])
    if spoken := _SPEAKS.search(text):
        for each in _LIST.split(_FLUENCY.sub("", _AFTER.sub("", spoken[1]))):
            if each.strip()[:1].isupper():
                yield "languages", each.split(maxsplit=1)[0]
    yield from _tastes(text)


def _tastes(text: str) -> Iterator[tuple[str, str]]:
    if chosen := wanted_of_two(text):
        yield "likes", chosen
    if favourite := _FAVOURITE.search(text):
        yield "likes", f"{_AFTER.sub('', favourite['what'])} ({favourite['which']})"
    elif disliked := _DISLIKES.search(text):
        yield "dislikes", _AFTER.sub("", disliked["what"])
    elif (liked := _LIKES.search(text)) and not _WISHED.match(liked["what"]):
        yield "likes", _AFTER.sub("", liked["what"])
