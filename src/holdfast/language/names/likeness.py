"""How alike two names are, and why: a score in 0..1 with its evidence.

Each rule answers with the score that names matched by it have earned; the best answer counts. First
come the vetoes: types that differ, numbers and versions that differ, sides that differ ("north" and
"south", "Jr." and "Sr."). No likeness outweighs one of them. Where one has several names, another
must not contradict any of them: "Rachel Smith" is like "R. Smith", but not if that is Robert's. A
part of a person's name, such as "Bob" for "Bob Smith", scores as `PART` or less: whether it is
enough depends on who else is known, which is for `resolve` to say.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

from holdfast.language.names.blocking import (
    CALLED,
    PLAIN_TITLES,
    SLIP_CHARS,
    TITLES,
    Form,
    given,
    initials,
    is_single,
    roots,
    singular,
    variants,
)
from holdfast.language.vocabulary import ANY_ENTITY

#: What a part of a person's name scores at most.
PART = 0.86
#: The first letters of a word are seldom a slip: they are another prefix.
_SURE_CHARS = 3
#: What a type that nobody knows takes away.
_UNTYPED = 0.01


_Rule = Callable[[Form, Form], "Likeness"]
_Forms = tuple[Form, ...]
#: Each name as it was written -> its forms.
_Names = dict[str, _Forms]


class Name(NamedTuple):
    """What an entity is called."""

    text: str
    type: str = ANY_ENTITY
    aliases: tuple[str, ...] = ()


class Likeness(NamedTuple):
    """How likely two names are one entity's, and what speaks for it or against it."""

    score: float
    evidence: tuple[str, ...] = ()


NOT_ALIKE = Likeness(0.0)


def likeness(a: Name, b: Name) -> Likeness:
    """The best that any two of their names and aliases have in common."""
    if ANY_ENTITY not in (a.type, b.type) and a.type != b.type:
        return Likeness(0.0, ("another type",))
    type = b.type if a.type == ANY_ENTITY else a.type
    known = _named(a, type), _named(b, type)
    mine, others = _fullest(*known) if type == "person" else known
    rules = _rules(a, b)
    found = (
        (_alike(one, other, rules), ours, theirs)
        for ours, forms in mine.items()
        for theirs, more in others.items()
        for one in forms
        for other in more
    )
    best, ours, theirs = max(found, key=lambda each: each[0].score, default=(NOT_ALIKE, "", ""))
    if not best.score:
        return best
    is_very_name = best.score == 1 and ours == a.text
    if len(known[0]) + len(known[1]) > 2 and not is_very_name:
        against = _contradiction(known[0], ours, known[1], theirs, type)
        if against:
            return Likeness(0.0, (against,))
    if a.type == b.type:
        return best
    return Likeness(best.score - _UNTYPED, (*best.evidence, "one type unknown"))


def _named(name: Name, type: str) -> _Names:
    texts = dict.fromkeys((name.text, *name.aliases))
    return {text: forms for text in texts if (forms := variants(text, type))}


def _fullest(a: _Names, b: _Names) -> tuple[_Names, _Names]:
    """Full names alone, where both have one: "Bob" Smith is not "Bob" Jones."""
    full = [
        {
            text: some
            for text, forms in each.items()
            if (some := tuple(form for form in forms if not is_single(form)))
        }
        for each in (a, b)
    ]
    return (full[0], full[1]) if all(full) else (a, b)


def _contradiction(a: _Names, ours: str, b: _Names, theirs: str, type: str) -> str | None:
    """What keeps two apart although one name of the first is like one of the second: any other
    names of theirs that contradict each other. Those that contradict the like ones too say nothing:
    somebody said before that they are one's all the same."""
    mine = [t for t in a if t == ours or not _contradict(a[t], a[ours], type)]
    others = [t for t in b if t == theirs or not _contradict(b[t], b[theirs], type)]
    for one in mine:
        for other in others:
            if (one, other) == (ours, theirs):
                continue
            if against := _contradict(a[one], b[other], type):
                return against
    return None


def _contradict(a: _Forms, b: _Forms, type: str) -> str | None:
    """What keeps two names apart, however they are read."""
    found = [_opposed(one, other, type) for one in a for other in b]
    return found[0] if all(found) else None


def _opposed(a: Form, b: Form, type: str) -> str | None:
    """Why two names cannot be one entity's. That one of them says less is no reason."""
    if a.same == b.same:
        return None
    if a.numbers and b.numbers and a.numbers != b.numbers:
        return "numbers differ"
    if a.marks and b.marks and not a.marks & b.marks:
        return "sides differ"
    if against := _titles_differ(a, b):
        return against
    if type == "person" and not is_single(a) and not is_single(b) and _others(a, b):
        return "another of the names differs"
    return None


def _others(a: Form, b: Form) -> bool:
    """Whether two full names that have something in common are of two people."""
    ends = a.words[-1], b.words[-1]
    shared = ends[0] == ends[1] or bool(_matched(a.words[0], b.words[0]))
    if not shared or sorted(a.words) == sorted(b.words) or _alike(a, b, _PERSON_RULES).score:
        return False
    short, long = sorted((a.words[:-1], b.words[:-1]), key=len)
    return not is_slip(*ends) or "differ" in _given(short, long)


def _rules(a: Name, b: Name) -> tuple[_Rule, ...]:
    if "person" in (a.type, b.type):
        return _RULES if _is_loose(a, b) else _PERSON_RULES
    return _PLACE_RULES if a.type == b.type == "place" else _RULES


def _is_loose(a: Name, b: Name) -> bool:
    """Whether an untyped name is longer than the person's: "Pippa's Picnic" is not Pippa."""
    if a.type == b.type:
        return False
    untyped, typed = (a, b) if a.type == ANY_ENTITY else (b, a)
    return _size(untyped) > _size(typed)


def _size(name: Name) -> int:
    return max((len(form.words) for form in variants(name.text, "person")), default=0)


def _alike(a: Form, b: Form, rules: tuple[_Rule, ...]) -> Likeness:
    if a.same == b.same:
        return Likeness(1.0, ("same name",))
    if veto := _veto(a, b):
        return Likeness(0.0, (veto,))
    return max((rule(a, b) for rule in rules), key=lambda each: each.score)


def _veto(a: Form, b: Form) -> str | None:
    if a.numbers != b.numbers:
        return "numbers differ"
    # An acronym does not tell its sides: "NATO" begins with "North".
    if a.marks != b.marks and not (a.acronym or b.acronym):
        return "sides differ"
    return _titles_differ(a, b)


def _titles_differ(a: Form, b: Form) -> str | None:
    """Whether what a firm or a person bears before or after the name contradicts the other's."""
    if a.legal and b.legal and a.legal != b.legal:
        return "legal forms differ"
    ranks = a.titles - PLAIN_TITLES, b.titles - PLAIN_TITLES
    if all(ranks) and not ranks[0] & ranks[1]:
        return "titles differ"
    genders = _gender(a), _gender(b)
    return "titles differ" if all(genders) and genders[0] != genders[1] else None


def _gender(form: Form) -> str:
    """What titles, else a given name, tell of a person's gender."""
    told = {TITLES[title] for title in form.titles} - {""}
    if not told and len(form.words) > 1:
        told = {gender for _, gender in CALLED.get(form.words[0], ())}
    return told.pop() if len(told) == 1 else ""


def _equal(a: Form, b: Form) -> Likeness:
    """The same words, but for punctuation, articles, titles, legal forms, spaces."""
    if a.words == b.words:
        if a.turned != b.turned:
            return Likeness(0.97, ("family name first",))
        if a.titles != b.titles:
            return Likeness(0.95, ("same but for a title",))
        if a.legal != b.legal:
            return Likeness(0.96, ("same but for the legal form",))
        return Likeness(0.99, ("same words",))
    joined = "".join(a.words)
    if len(joined) > 4 and joined == "".join(b.words):
        return Likeness(0.97, ("same letters",))
    return NOT_ALIKE


def _reordered(a: Form, b: Form) -> Likeness:
    # Not with other small words: "York University" is not the "University of York".
    if len(a.words) > 1 and a.words != b.words and sorted(a.words) == sorted(b.words):
        return Likeness(0.92, ("same words in another order",))
    return NOT_ALIKE


def _plural(a: Form, b: Form) -> Likeness:
    if a.words != b.words and list(map(singular, a.words)) == list(map(singular, b.words)):
        return Likeness(0.93, ("plural",))
    return NOT_ALIKE


def _acronym(a: Form, b: Form) -> Likeness:
    for short, long in ((a, b), (b, a)):
        if short.acronym and short.acronym in initials(long):
            return Likeness(0.95 if len(short.acronym) > 2 else 0.93, ("acronym",))
    return NOT_ALIKE


def _slip(a: Form, b: Form) -> Likeness:
    """All words equal but one, which differs by one slip of the pen."""
    if len(a.words) != len(b.words):
        return NOT_ALIKE
    differ = [pair for pair in zip(a.words, b.words, strict=True) if pair[0] != pair[1]]
    if len(differ) != 1 or not is_slip(*differ[0]):
        return NOT_ALIKE
    return Likeness(0.9, (f"spelling: {differ[0][0]}, {differ[0][1]}",))


def is_slip(a: str, b: str) -> bool:
    """Whether two long words differ by one letter more, less, other, or by two that changed places.

    Not at either end: there a letter makes another word ("adsorption", "Daniela").
    """
    if min(len(a), len(b)) < SLIP_CHARS or abs(len(a) - len(b)) > 1:
        return False
    if a[:_SURE_CHARS] != b[:_SURE_CHARS] or a[-1] != b[-1]:
        return False
    shared = zip(a, b, strict=False)
    start = next((place for place, (one, other) in enumerate(shared) if one != other), len(a))
    end = 0
    while end < min(len(a), len(b)) - start and a[-1 - end] == b[-1 - end]:
        end += 1
    rest = a[start : len(a) - end], b[start : len(b) - end]
    return max(map(len, rest)) < 2 or (len(rest[0]) == 2 and rest[0] == rest[1][::-1])


def _people(a: Form, b: Form) -> Likeness:
    """A place and its other names, or its people."""
    if roots(a) & roots(b):
        return Likeness(0.94, ("names of one place",))
    return NOT_ALIKE


def _full(a: Form, b: Form) -> Likeness:
    """Two names of a person with the same family name and given names that agree."""
    short, long = sorted((a.words, b.words), key=len)
    if len(short) < 2 or is_single(a) or is_single(b) or short[-1] != long[-1]:
        return NOT_ALIKE
    how = list(_given(short[:-1], long[:-1]))
    if "differ" in how:
        return NOT_ALIKE
    if how.count("initial") == len(how) == 1:
        return Likeness(PART - 0.02, ("one initial",))
    if "nickname" in how:
        return Likeness(0.92, ("nickname",))
    if "initial" in how:
        return Likeness(0.94, ("initials",))
    return Likeness(0.95, ("a given name left out",))


def _given(short: tuple[str, ...], long: tuple[str, ...]) -> Iterator[str]:
    """How each given name of the shorter finds its like in the longer, in order."""
    left = list(long)
    for place, word in enumerate(short):
        found = next((i for i, other in enumerate(left) if _matched(word, other)), None)
        if found is None or (place == 0 and found):
            yield "differ"
            return
        yield _matched(word, left[found])
        left = left[found + 1 :]


def _matched(a: str, b: str) -> str:
    if a == b:
        return "equal"
    if (len(a) == 1 or len(b) == 1) and a[0] == b[0]:
        return "initial"
    return "nickname" if _is_short_for(a, b) or _is_short_for(b, a) else ""


def _is_short_for(a: str, b: str) -> bool:
    """Whether the first is another form of the second; Bob and Rob are two, Bob and Bobby one."""
    return b in given(a) or (b.startswith(a) and bool(given(a) & given(b)))


def _part(a: Form, b: Form) -> Likeness:
    """One word of a person's name for the whole: a given name, a family name."""
    short, long = sorted((a.words, b.words), key=len)
    word = short[0]
    if len(short) > 1 or len(long) == 1 or len(word) == 1:
        return NOT_ALIKE
    if word == long[-1]:
        return Likeness(PART, ("family name",))
    if word == long[0]:
        return Likeness(PART - 0.01, ("given name",))
    if _matched(word, long[0]) == "nickname":
        return Likeness(PART - 0.03, ("given name", "nickname"))
    return NOT_ALIKE


def _parts(a: Form, b: Form) -> Likeness:
    """Several words of a person's name for the whole."""
    short, long = sorted((a.words, b.words), key=len)
    if 1 < len(short) < len(long):
        if long[-len(short) :] == short:
            return Likeness(0.91, ("family names",))
        if long[: len(short)] == short:
            return Likeness(PART - 0.01, ("given names",))
    return NOT_ALIKE


_RULES: tuple[_Rule, ...] = (_equal, _reordered, _plural, _acronym, _slip)
_PLACE_RULES = (*_RULES, _people)
_PERSON_RULES: tuple[_Rule, ...] = (_equal, _full, _part, _parts, _acronym, _slip)
