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
from typing import Literal

from holdfast.language.instructions import cues
from holdfast.language.instructions.rule_topic import (
    CALLED,
    Reading,
    choice_names,
    chosen,
    meant,
    read,
)
from holdfast.language.instructions.rules import Rule

# Shares of all terms: from which one matter is part of another, and from which they are the same.
_PART = 0.5
_EQUAL = 0.75
_ONE_TOPIC = 0.65  # "French accounts" and "accounts" are two.
# Choices that hold for all quantities unless one is named.
_MEASURES = frozenset({"clock", "currency", "dates", "temperature", "units"})

_CHANGE = re.compile(
    r"\b(?:from (?:now|here|today|this point) on|going forward|actually|instead|again|any ?more"
    r"|any longer|no longer|changed my mind|go back|back to|switch|stop|quit|no more|no need to"
    r"|don't (?:have|need) to)\b|以后|改|不再|不用再",
    re.I,
)
_ALLOWS = re.compile(
    r"\b(?:again|feel free|(?:ok|okay|fine|allowed|free|welcome) (?:to|if)|you (?:can|may))\b|可以",
    re.I,
)
_RELEASE = re.compile(
    r"(?:forget(?: about)?|ignore|scrap|drop|cancel|disregard|never mind|undo|lift|remove|delete"
    r"|clear|take back|withdraw|revoke) (?:what i(?:'ve)? (?:said|told you|asked)(?: you)?"
    r"(?: earlier| before)? (?:about|regarding) (?P<about>.+)"
    r"|(?:all )?(?:of )?(?:my|the|that|your) (?:rules?|requests?|instructions?|preferences?"
    r"|wish(?:es)?) (?:about|regarding|on|for|to) (?P<ruled>.+)"
    r"|(?:my|the|that|your) (?P<named>.{1,100}?) (?:rule|request|instruction|preference|wish)\b)",
    re.I,
)
# Orders of which one object at a time can be obeyed; "remind me of ..." can be obeyed twice.
_ORDERS = """
assume begin convert default end express finish format list order present put rank round set sign
sort start summarise summarize treat use write
"""
_ONE_OBJECT = frozenset(_ORDERS.split())

Topics = Literal["equal", "wider", "other"]


@dataclass(frozen=True, slots=True)
class Known:
    """A rule in force."""

    id: str
    rule: str
    condition: str | None
    content: str


def same(new: Rule, current: Sequence[Known]) -> str | None:
    """The rule in force that the new one only repeats."""
    if releases(new):
        return None
    said = read(new.rule, new.condition)
    return next((one.id for one in current if _repeats(said, new, one)), None)


def superseded(new: Rule, current: Sequence[Known]) -> tuple[str, ...]:
    """The rules in force that the new one ends, in their order."""
    if _releases_all(new):
        return tuple(one.id for one in current)
    about = _released(new)
    if about is not None:
        return tuple(one.id for one in current if _names(about, one))
    said = read(new.rule, new.condition)
    changes = new.replaces or _CHANGE.search(new.sentence) is not None
    allows = _ALLOWS.search(new.sentence) is not None
    return tuple(
        one.id
        for one in current
        if not _repeats(said, new, one)
        and _ends(said, read(one.rule, one.condition), changes=changes, allows=allows)
    )


def releases(new: Rule) -> bool:
    """Whether a rule only takes others back ("forget the star rule") and asks for nothing."""
    return _releases_all(new) or _released(new) is not None


def traits(one: Known) -> frozenset[Hashable]:
    """By what a rule can be found by one that ends or repeats it: see `seeks`."""
    old = read(one.rule, one.condition)
    about = old.matter | old.topic
    named = {("named", each) for each in about | choice_names(old.matter)}
    wanted = {("wants", each) for each in old.wants}
    rejected = {("rejects", each) for each in old.rejects}
    return frozenset({*named, *wanted, *rejected, *_alike(old, one)})


def seeks(one: Known) -> frozenset[Hashable] | None:
    """What a rule that this one ends or repeats has one of, among its traits; None where it may
    be any. Most of many rules need not be looked at for one that has come or gone."""
    said = Rule(one.content, one.rule, one.condition, 1.0, False, 0)
    if _releases_all(said):
        return None
    released = _released(said)
    if released is not None:
        return frozenset(("named", each) for each in released)
    new = read(one.rule, one.condition)
    wanted = {("wants", each) for each in new.rejects | (new.wants & {CALLED})}
    rejected = {("rejects", each) for each in new.wants}
    return frozenset({*wanted, *rejected, *_alike(new, one)})


def _alike(reading: Reading, one: Known) -> set[Hashable]:
    """What two rules have in common of which one repeats the other, chooses otherwise, has another
    number or another object."""
    about = reading.matter | reading.topic
    found: set[Hashable] = {("said", one.content), ("rule", one.rule.casefold()), ("about", about)}
    found |= {("choice", name) for name in chosen(reading.wants)}
    if reading.numbers:
        found |= {("counted", each) for each in about or {""}}
    if reading.verb in _ONE_OBJECT and not reading.rejects:
        objects = {reading.topic, *reading.wants} if reading.topic else reading.wants
        found |= {("order", reading.verb, each) for each in objects}
    return found


def _releases_all(new: Rule) -> bool:
    return cues.ENDS_ALL.match(_straight(new.sentence).lower()) is not None


def _released(new: Rule) -> frozenset[str] | None:
    """What is taken back by name, as terms; None where nothing is."""
    found = _RELEASE.search(_straight(new.sentence))
    return meant(found["about"] or found["ruled"] or found["named"]) if found else None


def _straight(sentence: str) -> str:
    """With the apostrophe that the patterns have."""
    return sentence.replace("\u2019", "'")


def _names(about: frozenset[str], one: Known) -> bool:
    old = read(one.rule, one.condition)
    named = old.matter | old.topic | choice_names(old.matter)
    return bool(about) and about <= named


def _repeats(said: Reading, new: Rule, one: Known) -> bool:
    if new.sentence == one.content:
        return True
    old = read(one.rule, one.condition)
    if said.numbers != old.numbers or _topics(said, old) != "equal":
        return False
    if not said.matter:
        return new.rule.casefold() == one.rule.casefold()
    signs = said.rejects & old.wants or said.wants & old.rejects
    return not signs and said.matter | said.topic == old.matter | old.topic


def _ends(new: Reading, old: Reading, *, changes: bool, allows: bool) -> bool:
    topics = _topics(new, old)
    if topics == "other" or (topics == "wider" and not changes):
        return False
    if _opposed(new, old, topics, allows=allows):
        return True
    if topics == "wider":
        return False
    if CALLED in new.wants & old.wants:
        return new.wants & old.wants == {CALLED}
    return _chosen(new, old, changes) or _counted(new, old) or (changes and _recast(new, old))


def _topics(new: Reading, old: Reading) -> Topics:
    """How the conditions relate; what is a condition of one may be named by the other's rule."""
    if not new.topic <= old.topic | old.matter and _share(new.topic, old.topic) < _ONE_TOPIC:
        return "other"
    if old.topic <= new.topic | new.matter or _share(new.topic, old.topic) >= _ONE_TOPIC:
        return "equal"
    return "other" if new.topic else "wider"


def _opposed(new: Reading, old: Reading, topics: Topics, *, allows: bool) -> bool:
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
    names = chosen(shared)
    # "Short" is nothing by itself: short answers and short paragraphs are two things.
    manner = shared == frozenset().union(*names.values()) and not names.keys() <= _MEASURES
    return wider and not manner and share >= _PART and ours | about[0] <= theirs | about[1]


def _chosen(new: Reading, old: Reading, changes: bool) -> bool:
    wanted, before = chosen(new.wants), chosen(old.wants)
    for name in wanted.keys() & before.keys():
        if wanted[name] & before[name]:
            continue
        rest = (new.matter | new.topic) - wanted[name]
        rest_before = (old.matter | old.topic) - before[name]
        if (changes and not rest and name in _MEASURES) or _one_matter(rest, rest_before):
            return True
    return False


def _counted(new: Reading, old: Reading) -> bool:
    return (
        bool(new.numbers and old.numbers)
        and new.numbers != old.numbers
        and (bool(new.matter) or new.verb == old.verb)
        and bool(new.wants) == bool(old.wants)
        and _share(new.matter | new.topic, old.matter | old.topic) >= _EQUAL
    )


def _recast(new: Reading, old: Reading) -> bool:
    if new.verb != old.verb or new.verb not in _ONE_OBJECT or new.rejects or old.rejects:
        return False
    if chosen(new.wants).keys() != chosen(old.wants).keys():
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
