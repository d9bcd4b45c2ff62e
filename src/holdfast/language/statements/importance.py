"""Importance: how much a statement matters, from four parts that each lie in 0..1.

    importance = 0.35 novelty + 0.25 specificity + 0.25 actionability + 0.15 entity density

- **novelty**: how much of it is new against what is known: `gates.novelty`.
- **specificity**: how many particulars it holds: numbers, dates, times, amounts, names inside the
  sentence, quoted titles, codes and addresses. Distinct particulars / 4, at most 1; halved when it
  is hedged ("maybe", "some", "大概").
- **actionability**: how far it changes what someone should do; the strongest cue counts:
  1.0 a limit or a duty (allergic, must, deadline, by Friday), 0.8 a decision or a correction,
  0.6 a goal or a preference, 0.3 a habit or an arrangement; else 0.
- **entity density**: named entities for every two content words, at most 1. Content words are the
  terms of the search index: no stop words; in scripts without spaces, pairs of characters.

Pure functions: the same statement has the same importance in every process and language version.
A standing instruction keeps its floor of 0.95, which is set where instructions are stored.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from holdfast.language.terms import fold, terms

NOVELTY_WEIGHT = 0.35
SPECIFICITY_WEIGHT = 0.25
ACTIONABILITY_WEIGHT = 0.25
DENSITY_WEIGHT = 0.15

_FULL_PARTICULARS = 4
_TERMS_PER_ENTITY = 2
_LONGEST = 4_000

_MONTH = (
    r"(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|june?|july?|aug(?:ust)?|sept?(?:ember)?"
    r"|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)"
)
_PARTICULAR = re.compile(
    r"\"[^\"]{1,80}\"|“[^”]{1,80}”|《[^》]{1,80}》|「[^」]{1,80}」"
    r"|[\w.+-]{1,64}@[\w-]{1,64}\.[\w.]{2,32}|https?://\S{1,200}"
    rf"|[$€£¥]\s?\d[\d.,]*|\d[\d.,:/-]*\s?(?:may\b|{_MONTH}\b|%|°c|kg|km|cm|mm|g|m|h|am|pm|years?"
    r"|days?|weeks?|months?|hours?|minutes?|年|月|日|号|岁|点|元|公斤|公里|小时|分钟)?"
    rf"|\b{_MONTH}\b(?: \d{{1,2}}\b)?|\bmay \d{{1,2}}\b"
    r"|\b(?:mon|tues|wednes|thurs|fri|satur|sun)days?\b|周[一二三四五六日天]|星期[一二三四五六日天]"
    r"|[一二三四五六七八九十百千万]{2,}",
    re.IGNORECASE,
)
# A capital after a small letter and a space: a name inside a sentence, not its first word.
_NAMED = re.compile(r"(?<=[a-z,;] )[A-Z][\w'-]*(?: [A-Z][\w'-]*)*|(?<=[\u3400-\u9fff])[A-Za-z]\w+")
_HEDGED = re.compile(
    r"\b(?:maybe|perhaps|possibly|probably|might|some(?:thing|how|what|where|one|times?)?|kind of"
    r"|sort of|several|a few|various|stuff|things|around|roughly|about \d|i (?:think|guess))\b|可能"
    r"|也许|大概|好像|似乎|某些|一些|左右|差不多"
)
_ACTIONS: tuple[tuple[float, re.Pattern[str]], ...] = (
    (
        1.0,
        re.compile(
            r"\b(?:must|have to|has to|needs? to|required?|obliged|forbidden|not allowed|may not"
            r"|cannot|can't|allerg\w+|intoleran\w+|deadline|due (?:on|by|date)|expires?|urgent"
            r"|overdue|always|never|do not|don't (?:eat|drink|use|call|send|contact)"
            r"|by (?:the end of|next|\w+day|\d"
            rf"|{_MONTH})|before (?:\w+day|\d|{_MONTH})|medication|emergency)\b"
            r"|必须|一定要|不能|不可以|禁止|过敏|截止|到期|务必|不要|之前(?:完成|交)"
        ),
    ),
    (
        0.8,
        re.compile(
            r"\b(?:decid\w+|chose|chosen|agreed|settled on|switch(?:ed|ing)|cancel+ed|approved"
            r"|signed|selected|opted|committed|instead of|no longer|not any ?more|correct(?:ed|ion)"
            r"|actually|changed (?:to|from)|replaced)\b|决定|选择了|选了|同意|定在|取消|不再|改用"
            r"|改为|更正|其实"
        ),
    ),
    (
        0.6,
        re.compile(
            r"\b(?:wants? to|plans? to|planning|goal|aims?|hopes? to|intends?|trying to|saving for"
            r"|training for|dream|prefer\w*|likes?|loves?|hates?|dislikes?|favou?rites?|enjoys?"
            r"|avoids?|rather|fond of|interested in)\b|想要?|打算|计划|目标|希望|梦想|喜欢|讨厌"
            r"|偏爱|更爱|习惯"
        ),
    ),
    (
        0.3,
        re.compile(
            r"\b(?:usually|often|every|weekly|daily|monthly|meets?|appointment|scheduled|booked"
            r"|works? (?:at|for|as)|lives? in|owns?|is called|responsible for)\b|经常|每[天周月年]"
            r"|预约|安排|负责|住在|工作"
        ),
    ),
)


@dataclass(frozen=True, slots=True)
class Importance:
    """The four parts; `score` is their weighted sum."""

    novelty: float
    specificity: float
    actionability: float
    density: float

    @property
    def score(self) -> float:
        return (
            NOVELTY_WEIGHT * self.novelty
            + SPECIFICITY_WEIGHT * self.specificity
            + ACTIONABILITY_WEIGHT * self.actionability
            + DENSITY_WEIGHT * self.density
        )


def importance(text: str, *, novelty: float, entities: int) -> Importance:
    """How much a statement matters that is so new and names so many distinct entities."""
    return Importance(
        novelty=min(1.0, max(0.0, novelty)),
        specificity=specificity(text),
        actionability=actionability(text),
        density=entity_density(text, entities),
    )


def specificity(text: str) -> float:
    """Distinct particulars / 4, at most 1; halved when hedged."""
    seen = text[:_LONGEST]
    found = {fold(match.group()).strip(" .,:-") for match in _PARTICULAR.finditer(seen)}
    # A title that is quoted counts once, not again for the names in it.
    found |= {fold(match.group()) for match in _NAMED.finditer(_PARTICULAR.sub("_", seen))}
    share = min(1.0, len(found - {""}) / _FULL_PARTICULARS)
    return share / 2 if _HEDGED.search(seen.lower()) else share


def actionability(text: str) -> float:
    """The weight of the strongest cue that the statement changes what someone should do."""
    low = text[:_LONGEST].lower().replace("\u2019", "'")
    return next((weight for weight, cue in _ACTIONS if cue.search(low)), 0.0)


def entity_density(text: str, entities: int) -> float:
    """Entities for every two content words, at most 1; 0 for a text without content words."""
    words = len(terms(text[:_LONGEST]))
    return min(1.0, _TERMS_PER_ENTITY * max(0, entities) / words) if words else 0.0
