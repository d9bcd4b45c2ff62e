"""Relations without a parse: subject, a verb phrase of a known form, object, side by side.

Only what stands close together in a plain statement is taken. Questions, conditions, wishes and
negations give nothing: a relation that is missed can be said again, one that is wrong stays.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from holdfast.language.lexicon import BLOOD_KIN, any_of
from holdfast.language.names.spans import OPENERS, Mention
from holdfast.language.relations.phrases import (
    ANY_RELATION,
    MentionedRelation,
    Speakers,
    roles,
    typed,
)
from holdfast.language.sentences import STOPS

# ----------------------------------------------------------------------
# The verbs that join two names in plain speech, in all their forms.
#
# Not a dictionary: the everyday verbs of moving, meeting, working, making, owning and liking, so
# that a relation is found without a parse.
# ----------------------------------------------------------------------

_REGULAR = """
accept acquire adopt appear arrive attend belong bike bake book borrow call cancel cause celebrate
chat climb coach collaborate confirm contact contradict cook create depend design direct discover
email enjoy enter explore finish fix follow found graduate guide hate hike hire host help identify
intern introduce invite invent join launch learn like live love manage marry mentor miss move
organise organize open own paint perform phone plant play precede prefer prepare prescribe
produce promote publish raise receive recommend record refute relate release relocate rent repair
replace report represent rescue result return review score share ski sponsor start stay study
support teach text thank trace train transfer travel trigger try use visit volunteer walk want
watch welcome work
"""
_IRREGULAR = """
became began bought bring brings brought build builds building built buy buys buying came caught
come comes coming drive drives driving drove drew fell flew fly flies flying found gave give gives
giving go goes going gone got grew hear heard held hold holds keep keeps kept knew know knows leave
leaves leaving led lead leads leading left lost made make makes making married meet meets meeting
met paid pay pays ran read reading reads ride rides riding rode run runs running sang saw see sees
seen sell sells selling sent sing sings sold speak speaks spoke spent take takes taking taught
teaches teaching told took went win wins winning won wore write writes writing written wrote
named called engaged correlated associated mentioned cited described hired had has have
"""
_VOWELS = "aeiou"


def _forms(verb: str) -> tuple[str, ...]:
    """The forms of a regular verb: move, moves, moved, moving."""
    if verb.endswith("e"):
        return verb, f"{verb}s", f"{verb}d", f"{verb[:-1]}ing"
    if verb.endswith("y") and verb[-2] not in _VOWELS:
        return verb, f"{verb[:-1]}ies", f"{verb[:-1]}ied", f"{verb}ing"
    ending = "es" if verb.endswith(("s", "x", "ch", "sh")) else "s"
    return verb, f"{verb}{ending}", f"{verb}ed", f"{verb}ing"


#: The longest first: a pattern must not stop at "live" in "lives".
VERB_FORMS: tuple[str, ...] = tuple(
    sorted(
        {form for verb in _REGULAR.split() for form in _forms(verb)} | set(_IRREGULAR.split()),
        key=lambda form: (-len(form), form),
    )
)


# A full stop after a title or an initial ends no sentence.
_SENTENCE = re.compile(
    rf"(?:[^{STOPS}\n]|(?<=\b[A-Z])\.|(?<=\b[DMS][rst])\.|(?<=\bMrs)\.|\.(?=\w))+[{STOPS}]?"
)
_DOUBT = re.compile(
    r"\b(?:if|unless|maybe|perhaps|would|could|should|might|hope|hopes|hoping|wish|wishes|want"
    r"|wants|never|not|no longer|wonder)\b|n['’]t\b|['’]d\b|\?\s*\Z",
    re.I,
)
_ADVERB = r"(?:(?:also|just|really|finally|recently|now|still|already|actually|always|once) )*"
_AUX = r"(?:(?:am|is|are|was|were|have|has|had|been|will|got|gonna|going to|used to) )*"
_PREPOSITION = r"(?:to|in|at|for|from|with|by|of|on|up|into|about|against|through|over|after)"
_STATES = (
    r"(?:part|(?:a )?member|(?:the )?(?:capital|coach|captain|head|owner|founder|author|boss"
    rf"|{any_of(BLOOD_KIN)})) of|due to|allergic to|afraid of|married to"
    r"|engaged to|located in|based in|born in|because of|in"
)
_DETERMINER = r"(?:(?:the|a|an|my|our|some|his|her|their) )?"
_PHRASE = re.compile(
    rf"(?:, who|, which)? (?P<phrase>{_AUX}{_ADVERB}"
    rf"(?:(?:{'|'.join(VERB_FORMS)})(?: {_PREPOSITION}){{0,2}}|{_STATES})) (?P<the>{_DETERMINER})"
)
# A state needs "is" before it: "Clara in Rome" says little.
_BARE_STATE = re.compile(_STATES)
_CONTRACTED = re.compile(r"['’](?:m|s|re|ve|ll)\b")
_NOUNS = re.compile(
    r"(?:[a-z][a-z-]+ )?[a-z][a-z-]{2,}(?=[.,!;]| (?:in|at|with|from|for|and|by)\b|$)"
)
_NO_NOUN = re.compile(
    r"\b(?:it|that|this|them|him|her|me|you|us|there|here|time|lot|lots|way|bit|thing|things|one"
    r"|day|days|week|month|year|kind|ton|chance|much|more|well|again|so|very|best|back|same|fun"
    r"|most|end|care|look|first|last|next|while|blast|great|good|part|member|moment|idea|and|of|to)\b"
)
_PRONOUN = re.compile(r"\b(?:I|[Ww]e|[Yy]ou)\b")
_OWNED = re.compile(r"\b(?P<owner>[Mm]y|[Oo]ur|[Yy]our) (?P<noun>[a-z]+)(?= )")
#: So far before a name "my favourite ... is" begins: a text may be one endless sentence.
_LONGEST_FAVOURITE = 64
_FAVOURITE = re.compile(r"\b(?P<owner>[Mm]y|[Yy]our) (?P<said>favou?rite [a-z ]{2,30}? is) \Z")
_NOUN_SUBJECT = re.compile(
    r"\s*(?:(?:The|A|An|This) (?P<noun>(?:[a-z-]+ )??[a-z-]+)|(?P<name>[A-Z][a-z]+))(?= )"
)
_AND = re.compile(r",? and |, ")
_NAMED_CONFIDENCE, _CONCEPT_CONFIDENCE = 0.75, 0.55
_MOST_VERBS = 3  # Of one subject: "lives in A, works for B and plays for C".


class Subject(NamedTuple):
    """Who or what a sentence may speak of, and where it stands."""

    name: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Sentence:
    """A plain statement with its names."""

    text: str
    end: int
    mentions: dict[int, Mention]


def find(text: str, mentions: Sequence[Mention], who: Speakers) -> Iterator[MentionedRelation]:
    """The relations of a text whose names are known."""
    yield from roles(text, mentions, who)
    for found in _SENTENCE.finditer(text):
        if _DOUBT.search(found.group()):
            continue
        start, end = found.span()
        first = bisect_left(mentions, start, key=lambda one: one.start)
        last = bisect_right(mentions, end, key=lambda one: one.end)
        inside = {one.start: one for one in mentions[first:last]}
        sentence = Sentence(text, end, inside)
        yield from _stated(sentence, _subjects(sentence, start, who))
        yield from _favourites(sentence, start, who)
        yield from _of_nouns(sentence, start)


def _subjects(sentence: Sentence, start: int, who: Speakers) -> list[Subject]:
    found = [Subject(one.text, one.start, one.end) for one in sentence.mentions.values()]
    for pronoun in _PRONOUN.finditer(sentence.text, start, sentence.end):
        if name := who.person(pronoun.group()):
            found.append(Subject(name, *pronoun.span()))
    for owned in _OWNED.finditer(sentence.text, start, sentence.end):
        if name := who.person(owned["owner"]):
            found.append(Subject(f"{name}'s {owned['noun']}", *owned.span()))
    return sorted(found, key=lambda each: each.start)


def _stated(sentence: Sentence, subjects: Sequence[Subject]) -> Iterator[MentionedRelation]:
    """What is said of each subject; of "Mira and I" the same of both."""
    later: list[MentionedRelation] = []
    next_start = -1
    for subject in reversed(subjects):
        claims = list(_objects(sentence, subject, subject.end))
        if not claims and sentence.text[subject.end : next_start] == " and ":
            claims = [replace(one, source=subject.name, start=subject.start) for one in later]
        yield from claims
        later, next_start = claims, subject.start


def _objects(
    sentence: Sentence, subject: Subject, at: int, left: int = _MOST_VERBS
) -> Iterator[MentionedRelation]:
    text = sentence.text
    short = _CONTRACTED.match(text, at)  # "I'm flying": the verb begins after it.
    found = _PHRASE.match(text, short.end() if short else at, sentence.end)
    if not found or not left:
        return
    phrase = found["phrase"]
    if not short and _BARE_STATE.fullmatch(phrase):
        return
    end = found.end()
    if end in sentence.mentions:
        for target in _listed(sentence, end):
            span = (subject.start, target.end)
            yield typed(subject.name, phrase, target.text, span, _NAMED_CONFIDENCE)
            end = target.end
    elif found["the"] and (noun := _NOUNS.match(text, end, sentence.end)):
        end = noun.end()
        if not _NO_NOUN.search(noun.group()):
            span = (subject.start, end)
            yield typed(subject.name, phrase, noun.group(), span, _CONCEPT_CONFIDENCE)
    if again := _AND.match(text, end, sentence.end):  # "lives in Oslo and works for Nordsee"
        yield from _objects(sentence, subject, again.end() - 1, left - 1)


def _of_nouns(sentence: Sentence, start: int) -> Iterator[MentionedRelation]:
    """What is said of a noun that opens the sentence, where its type is known: "X caused Y"."""
    found = _NOUN_SUBJECT.match(sentence.text, start, sentence.end)
    name = found and (found["noun"] or found["name"])
    if not found or not name or name.lower() in OPENERS:
        return
    for one in _objects(sentence, Subject(name, found.end() - len(name), found.end()), found.end()):
        if one.type != ANY_RELATION:
            yield one


def _listed(sentence: Sentence, at: int) -> Iterator[Mention]:
    """The name that stands here, and those listed with it: "Jonas and Farid"."""
    while mention := sentence.mentions.get(at):
        yield mention
        more = _AND.match(sentence.text, mention.end, sentence.end)
        at = more.end() if more else -1


def _favourites(sentence: Sentence, start: int, who: Speakers) -> Iterator[MentionedRelation]:
    for mention in sentence.mentions.values():
        near = max(start, mention.start - _LONGEST_FAVOURITE)
        found = _FAVOURITE.search(sentence.text, near, mention.start)
        if found and (owner := who.person(found["owner"])):
            span = (found.start(), mention.end)
            yield typed(owner, found["said"], mention.text, span, _NAMED_CONFIDENCE)
