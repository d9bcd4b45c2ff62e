"""The six summaries of a profile, composed from its facts without a model.

Each fact is told in one place: goals and decisions of the last 30 days and plans with a day ahead
are on top of the mind; what has to do with work is work; who the user is, likes, does and must
not do is personal; the rest is history, of the last 90 days, of the year before, or older. The
most important facts are told first choice, in the order of their times, in whole sentences and at
most 80 words.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import NamedTuple

from holdfast.records.profile_values import SECTIONS, Field, Summary, category
from holdfast.types import Record

_MOST_WORDS = 80
_LATELY, _MONTHS, _YEAR = timedelta(days=30), timedelta(days=90), timedelta(days=365)
_INSTANT = timedelta(microseconds=1)
_PLANS = frozenset({"goal", "decision"})
_PERSONAL = frozenset({"identity", "preference", "behavior", "constraint"})
_WORK = re.compile(
    r"\b(?:work(?:s|ed|ing)? (?:at|for|on|as|in|with|from)|at work|my work|jobs?|employ\w*"
    r"|compan(?:y|ies)|colleagues?|co-?workers?|manager|boss|office|career|projects?|clients?|customers?|startup"
    r"|business|deadlines?|meetings?|salary|engineer\w*|developer|team|sprint|release|degree"
    r"|universit\w+|studying|thesis|exams?)\b|工作|公司|项目|客户|同事",
    re.I,
)


class _Opening(NamedTuple):
    """The sentence that a summary begins with, and the fields it tells."""

    text: str = ""
    fields: tuple[str, ...] = ()


_NOTHING = _Opening()
_END = re.compile(r"[.!?…。！？]['\")\]”’]*$")


def composed(
    facts: Sequence[Record], fields: Mapping[str, Field], at: datetime
) -> dict[str, Summary]:
    """The summaries as of a time."""
    placed: dict[str, list[Record]] = {name: [] for name in SECTIONS}
    by_id = {fact.id: fact for fact in facts}
    openings = {"workContext": _work(fields), "personalContext": _person(fields)}
    heads = {
        name: [by_id[id] for id in _facts_of(opening, fields) if id in by_id]
        for name, opening in openings.items()
    }
    told = {fact.id for head in heads.values() for fact in head}
    for fact in facts:
        if fact.id not in told:
            placed[section(fact, at)].append(fact)
    return {
        name: _summary(openings.get(name, _NOTHING).text, heads.get(name, []), placed[name])
        for name in SECTIONS
    }


def section(fact: Record, at: datetime) -> str:
    """Where a fact is told."""
    kind, age = category(fact), at - fact.valid_from
    due = _due(fact)
    if (kind in _PLANS and age <= _LATELY) or (due is not None and at <= due):
        return "topOfMind"
    if kind not in _PLANS and _WORK.search(fact.content):
        return "workContext"
    if kind in _PERSONAL:
        return "personalContext"
    if age <= _MONTHS:
        return "recentMonths"
    return "earlierContext" if age <= _YEAR else "longTermBackground"


def changing(facts: Sequence[Record]) -> list[datetime]:
    """When facts change their place for being older, or for their day being over."""
    # A fact of exactly that age is still where it was.
    ages = [fact.valid_from + age + _INSTANT for fact in facts for age in (_LATELY, _MONTHS, _YEAR)]
    return ages + [due + _INSTANT for fact in facts if (due := _due(fact)) is not None]


def _due(fact: Record) -> datetime | None:
    """Until when a fact plans something."""
    due = fact.data.get("due")
    return datetime.fromisoformat(due) if isinstance(due, str) and due else None


def sentence(text: str) -> str:
    """A text that ends like a sentence."""
    line = " ".join(text.split())
    return line if _END.search(line) else f"{line}."


def words(text: str) -> int:
    """How long a text is, in words; scripts without spaces count by their characters."""
    return max(len(text.split()), len(text) // 8)


def _summary(opening: str, head: Sequence[Record], facts: Sequence[Record]) -> Summary:
    left = _MOST_WORDS - words(opening)
    chosen: list[Record] = []
    for fact in sorted(facts, key=_weight):
        length = words(sentence(fact.content))
        if length <= left:
            chosen.append(fact)
            left -= length
    chosen.sort(key=lambda each: (each.valid_from, each.known_from, each.id))
    used = [*head, *chosen]
    lines = [*([opening] if opening else []), *(sentence(each.content) for each in chosen)]
    return Summary(
        text=" ".join(dict.fromkeys(lines)),
        updated_at=max((each.known_from for each in used), default=None),
        sources=tuple(dict.fromkeys(source for each in used for source in each.sources)),
    )


def _weight(fact: Record) -> tuple[float, float, str]:
    return -fact.importance, -fact.valid_from.timestamp(), fact.id


def _work(fields: Mapping[str, Field]) -> _Opening:
    told = {
        "job": "Works as {}",
        "employer": "at {}" if "job" in fields else "Works at {}",
    }
    return _opening(told, fields, " ")


def _person(fields: Mapping[str, Field]) -> _Opening:
    told = {
        "name": "is called {}", "age": "is {} years old", "home": "lives in {}",
        "hometown": "comes from {}", "languages": "speaks {}", "family": "has family: {}",
        "pets": "has pets: {}", "likes": "likes {}", "dislikes": "does not like {}",
    }  # fmt: skip
    return _opening(told, fields, "; ")


def _opening(told: Mapping[str, str], fields: Mapping[str, Field], joint: str) -> _Opening:
    """A sentence of fields, as far as it fits: half of the room, so that facts are told, too."""
    lines: list[str] = []
    names: list[str] = []
    for name, template in told.items():
        line = template.format(fields[name].value) if name in fields else ""
        if line and words(joint.join([*lines, line])) <= _MOST_WORDS // 2:
            lines.append(line)
            names.append(name)
    text = joint.join(lines)
    return _Opening(sentence(text[:1].upper() + text[1:]) if text else "", tuple(names))


def _facts_of(opening: _Opening, fields: Mapping[str, Field]) -> list[str]:
    return [id for name in opening.fields for id in fields[name].facts]
