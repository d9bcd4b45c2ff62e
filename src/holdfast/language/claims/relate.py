"""How two claims stand to each other.

same       the new one says nothing that the old one does not
more       the old one with more detail
other      the same attribute, another value
denied     one says what the other denies
over       the new one says that the old one holds no longer
corrected  the new one says that the old one was wrong
none       nothing follows from one for the other
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from holdfast.language.claims.claim import Claim, comparable_terms, is_some
from holdfast.language.claims.slots import NEUTRAL, read_measures
from holdfast.language.lexicon import word_set
from holdfast.language.regex import regex
from holdfast.language.terms import fold

Relation = Literal["same", "more", "other", "denied", "over", "corrected", "none"]

#: Countries and larger: somebody who lives in one lives in a town of it as well.
LANDS = word_set("""
afghanistan albania algeria andorra angola argentina armenia australia austria azerbaijan bahrain
bangladesh belarus belgium belize benin bhutan bolivia bosnia botswana brazil brunei bulgaria
burundi cambodia cameroon canada chad chile china colombia congo croatia cuba cyprus czechia denmark
djibouti ecuador egypt england eritrea estonia ethiopia fiji finland france gabon gambia germany
ghana greece greenland grenada guatemala guinea guyana haiti honduras hungary iceland india
indonesia iran iraq ireland israel italy jamaica japan jordan kazakhstan kenya kosovo kuwait
kyrgyzstan laos latvia lebanon lesotho liberia libya liechtenstein lithuania luxembourg madagascar
malawi malaysia maldives mali malta mauritius mexico moldova monaco mongolia montenegro morocco
mozambique myanmar namibia nepal netherlands nicaragua niger nigeria norway oman pakistan panama
paraguay peru philippines poland portugal qatar romania russia rwanda samoa scotland senegal serbia
singapore slovakia slovenia somalia spain sudan suriname sweden switzerland syria taiwan tajikistan
tanzania thailand togo tunisia turkey turkmenistan uganda ukraine uruguay uzbekistan venezuela
vietnam wales yemen zambia zimbabwe uk usa us britain america europe asia africa scandinavia
""")
#: For whom, when or where a figure holds.
QUALIFIED = regex(
    r"\b(?:on|at|for|in|before|after|during|when|if|until|with|without|excluding|including|from)"
    r" (?P<of>.+)",
    re.I,
)

_UNIT = regex(r"\d[\d.,]*k? ([a-z]{3,})")
_USED_TO = regex(r"\bused to\b", re.I)


#: Says when, in front of a subject: "since March our rent is ...".
_WHEN = regex(
    r"(?:(?:and|but|also|so|now|today|actually)[,]? |(?:in|since|as of|from|on|until|by)"
    r" [^,]{1,30}?,? (?=(?:the|my|our) ))+",
    re.I,
)
#: Up to here a sentence says what it speaks of; a word in -s or -ed is taken for a verb.
_FINITE = regex(
    r" (?P<verb>is|are|was|were|has|have|had|will|would|can|can't|could|must|should|may|does|did"
    r"|isn't|wasn't|won't|went|sits|[a-z]{3,}(?<!s)s|[a-z]{3,}ed|now [a-z]+s)(?= |$)"
)
#: Is one thing at a time, whoever it is: "Ben is our coach".
_ROLE = regex(r" (?:is|are|was|became|is now|are now) (?:now )?(?:the|my|our) ")
_WORDS = regex(r"[^\W_]+(?:[-.:/#'’][^\W_]+)*")
_DETERMINERS = word_set("the a an my our your his her its their this that these those no nr number")


@dataclass(frozen=True, slots=True)
class Thresholds:
    """The numbers of reconciliation: the seed's but for `left` and `doubtful`, by hand."""

    #: From which cosine two statements may say the same.
    same: float = 0.95
    #: An update may be this many times as long as what it takes the place of.
    growth: float = 1.5
    #: Terms that an update shares with what it takes the place of.
    shared: int = 2
    #: A fact that matters this much is not ended without words that say so.
    critical: float = 0.9
    #: Surer than this is needed to end something, and to take it back altogether.
    sure: float = 0.8
    sure_to_delete: float = 0.9
    #: Importance from which it does not fall any more.
    floor: float = 0.95
    #: From which cosine what is left behind ("switched from A") is taken for what is known of it.
    left: float = 0.6
    #: From which cosine on it is in doubt whether a statement is about what is known.
    doubtful: float = 0.45


def relation(new: Claim, old: Claim, alike: Callable[[], float], limits: Thresholds) -> Relation:
    """How a new claim stands to an old one."""
    if tells_apart(new, old):
        return "none"
    if new.speaker == old.speaker and _bare(new) == _bare(old):
        return "same"
    if _is_over(new, old, alike, limits):
        return "corrected" if new.corrects and not new.replaces else "over"
    if new.polarity != old.polarity:
        return "denied" if _is_denied(new, old) else "none"
    if new.slot is not None and new.slot == old.slot and not _differ_twice(new, old):
        how = _relate_values(new, old, alike, limits)
        return how if how != "other" or _fits(new, old) else "none"
    return _relate_by_words(new, old, alike, limits)


def tells_apart(new: Claim, old: Claim) -> bool:
    """Whether two claims speak of two things, by the numbers, codes, letters or names that stand
    in what they speak of: rooms 12 and 14, Anna's flight and Ben's. Not by what they say of it: who
    was in room 12 and is in room 14 has moved."""
    if new.corrects:
        return False
    one, other = _identity(new.text), _identity(old.text)
    if not (one - other and other - one):
        return False
    by_names = all(each.isalpha() and len(each) > 1 for each in (one - other) | (other - one))
    # "Ben is our coach", and was not; "Ben is on call now" takes Anna's place.
    is_taken_over = _ROLE.search(new.text) or new.lately or new.is_explicit
    return not (by_names and is_taken_over)


@lru_cache(maxsize=4096)
def _identity(text: str) -> frozenset[str]:
    """What tells the thing that a sentence speaks of from others of its kind."""
    body = text[len(found[0]) :] if (found := _WHEN.match(text)) else text
    verb = _FINITE.search(body)
    if verb is None:
        return frozenset()
    words = [each[0].replace("\u2019", "'") for each in _WORDS.finditer(body[: verb.start()])]
    if not words or words[0].casefold().split("'")[0] in ("i", "we", "you"):
        return frozenset()
    alone = {word.casefold() for word in words[1:] if len(word) == 1 and word.isupper()}
    marks = {_mark(word) for word in words if word.casefold() not in _DETERMINERS}
    return frozenset((marks | alone) - {""})


def _mark(word: str) -> str:
    """A word that names one thing of a kind: with a digit, a letter alone, a name, or whose it is;
    else nothing."""
    if any(char.isdigit() for char in word):
        return word.casefold().removeprefix("v").strip(".:/-#")
    if word.endswith("'s"):
        return word.casefold()  # With its mark: whoever takes over, hers is not his.
    return word.casefold() if word[:1].isupper() else ""


def _relate_by_words(
    new: Claim, old: Claim, alike: Callable[[], float], limits: Thresholds
) -> Relation:
    """How two claims without a common slot stand to each other, by their words."""
    if _says_the_same(new, old, alike, limits):
        return "same"
    if new.surely and _is_corrected(new, old):
        return "corrected"
    is_more = old.terms < new.terms and new.is_wish == old.is_wish
    return "more" if is_more and _one_subject(new, old) else "none"


def disputes(new: Claim, old: Claim) -> bool:
    """Whether two agents hold different values of one slot."""
    if new.slot is None or new.slot != old.slot:
        return False
    is_one = is_single(new, old) or new.hold == old.hold == "stable"
    if not is_one:
        return False
    values = new.value_terms, old.value_terms
    return not (values[0] <= values[1] or values[1] <= values[0])


def is_single(new: Claim, old: Claim) -> bool:
    """Whether two claims of one slot cannot both be so at one moment; two habits can."""
    is_habit = any(each.kind == "often" for each in new.measures)
    return {new.hold, old.hold} <= {"changing", "noted"} and not is_habit


def _fits(new: Claim, old: Claim) -> bool:
    """Whether two values of one slot are of one kind, so that one can take the other's place."""
    if new.shifted and new.form and not old.form:
        return False
    if new.form and old.form and new.form != old.form and not new.shifted:
        return False
    if _qualifier(new) != _qualifier(old) and not new.is_explicit:
        return False  # What it costs on weekends is another price.
    units = _unit(new), _unit(old)
    if all(units) and units[0] != units[1] and not new.corrects:
        return False
    if new.is_habit != old.is_habit and not new.corrects:
        return False  # One Tuesday is no other habit.
    is_told_alike = new.terms & NEUTRAL == old.terms & NEUTRAL
    return is_told_alike or new.renewed or new.is_explicit or not new.measures


def _qualifier(claim: Claim) -> frozenset[str]:
    """For whom, when or where a figure holds; nothing for other values."""
    found = QUALIFIED.search(claim.value) if read_measures(claim.value)[0] else None
    return comparable_terms(found["of"]) if found else frozenset()


def _unit(claim: Claim) -> str:
    """What a figure counts: "signups" of "500 signups"."""
    found = _UNIT.match(claim.value)
    return found[1].removesuffix("s") if found else ""


def _differ_twice(new: Claim, old: Claim) -> bool:
    """Whether two claims of one template differ in more than one of their measures."""
    pairs = zip(sorted(new.measures), sorted(old.measures), strict=False)
    return sum(a != b for a, b in pairs) > 1


def _says_the_same(new: Claim, old: Claim, alike: Callable[[], float], limits: Thresholds) -> bool:
    """Whether the new claim says nothing that the old one does not."""
    if not new.terms or new.speaker != old.speaker or new.first_person != old.first_person:
        return new.speaker == old.speaker and _bare(new) == _bare(old)
    if not holds_literals(new, old) or new.is_wish != old.is_wish or _once(new) != _once(old):
        return False
    if new.terms == old.terms:
        # "Ann called Bob" and "Bob called Ann" have the same words.
        return new.first_person or sorted(new.names) == sorted(old.names)
    is_less = new.terms < old.terms and len(new.terms) >= limits.shared
    return is_less and _one_subject(new, old) and alike() >= limits.same


def _once(claim: Claim) -> bool:
    return _USED_TO.search(claim.text) is not None


def _bare(claim: Claim) -> str:
    return " ".join(claim.text.split()).casefold().rstrip(".!")


def holds_literals(new: Claim, old: Claim) -> bool:
    """Whether the old claim holds everything that the new one puts in quotation marks."""
    text = old.text.casefold()
    return all(each.casefold() in text for each in new.literals)


def _relate_values(
    new: Claim, old: Claim, alike: Callable[[], float], limits: Thresholds
) -> Relation:
    """How two claims of one slot stand to each other."""
    if new.value_terms == old.value_terms and new.value.casefold() == old.value.casefold():
        # Beside the slot one of them may say more.
        if new.terms <= old.terms and holds_literals(new, old):
            return "same"
        return "more" if old.terms <= new.terms else "none"
    if _says_the_same(new, old, alike, limits):
        return "same"
    if not new.corrects and old.value_terms <= new.value_terms:
        return "more"
    if not new.corrects and new.value_terms <= old.value_terms:
        return "none"
    # Who lives in Portugal lives in a town of it as well.
    is_other = _names_land(new) == _names_land(old) or new.is_explicit or new.lately
    return "other" if is_other else "none"


def _names_land(claim: Claim) -> bool:
    return not LANDS.isdisjoint(fold(claim.value).split())


def _is_over(new: Claim, old: Claim, alike: Callable[[], float], limits: Thresholds) -> bool:
    """Whether the new claim says that the old one holds no longer."""
    if new.is_wish or old.is_wish or old.ended:
        return False
    if _is_given_up(new, old) or _is_done(new, old) or _is_again(new, old):
        return True
    if old.polarity < 0 or old.is_past:
        return False
    if new.ended and _one_subject(new, old) and new.core and new.core <= old.terms:
        return len(new.core) > 1 or new.verb == old.verb
    if new.another and old.slot is not None and _attribute(old) == new.another:
        return True
    is_named = bool(new.left) and new.left <= old.terms - old.left
    same_voice = new.first_person == old.first_person
    return is_named and same_voice and _is_left(new, old, alike, limits)


def _is_given_up(new: Claim, old: Claim) -> bool:
    """Whether it gives up what was chosen before: "forget Oslo"."""
    choice = comparable_terms(new.course.dropped)
    return (
        bool(choice)
        and choice == comparable_terms(old.course.chosen)
        and new.speaker == old.speaker
    )


def _is_done(new: Claim, old: Claim) -> bool:
    """Whether it says that what was under way is done: "I finished the book"."""
    verb, what = new.course.finished
    at, on = old.course.doing
    if not what or new.speaker != old.speaker or comparable_terms(what) != comparable_terms(on):
        return False
    return verb == at or (verb == "" and not is_some(on))


def _is_again(new: Claim, old: Claim) -> bool:
    """ "I eat fish again", of somebody who did not."""
    if not new.again or new.is_past or new.polarity < 0 or new.subject or old.subject:
        return False
    if new.speaker != old.speaker or old.is_past or " never " in f" {old.text.lower()} ":
        return False
    if old.polarity < 0:
        return _is_denied(new, old) and new.verb == old.verb and old.core == new.core
    # Whoever eats meat is no vegetarian any more.
    return new.verb in ("eat", "drink") and old.terms <= new.left and bool(old.terms)


def _attribute(claim: Claim) -> set[str]:
    """The attribute of a slot that is told by a noun: "gym" of "my gym is ..."."""
    _, slash, words = (claim.slot or "").partition("/")
    return set(words.split()) if slash else set()


def says_much_more(old: Claim, new: Claim) -> bool:
    """Whether an old claim says much besides what a new one ends of it: all of it would be lost."""
    if new.slot is not None and new.slot == old.slot:
        return len(old.beside) >= 3
    rest = old.terms - new.terms - new.left
    return len(rest) >= 4 and 2 * len(rest) > len(old.terms)


def _is_left(new: Claim, old: Claim, alike: Callable[[], float], limits: Thresholds) -> bool:
    """Whether what the new claim leaves behind is what the old one says, not only its words."""
    if old.is_liking and not new.corrects:
        return False
    if (new.slot is not None and new.slot == old.slot) or (new.terms - new.left) & old.terms:
        return True
    return not new.corrects and (old.hold == "changing" or alike() >= limits.left)


def _is_denied(new: Claim, old: Claim) -> bool:
    """Whether one denies what the other says."""
    no, yes = (new, old) if new.polarity < 0 else (old, new)
    if yes.is_wish or no.is_wish or not _one_subject(no, yes) or no.ended:
        return False
    if not no.core or not no.core <= yes.terms or no.is_liking != (no.is_liking and yes.is_liking):
        return False
    if len(no.core) > 1 or not no.verb or no.verb == yes.verb:
        return True
    return yes.is_past and " been " in no.text  # Whoever saw Rome has been there.


def _is_corrected(new: Claim, old: Claim) -> bool:
    """Whether a correction that names no slot means the old claim."""
    if new.first_person != old.first_person or old.is_wish or not new.left <= old.terms:
        return False
    common = count_shared_terms(new, old)
    if common >= 2:
        return common / min(len(new.terms), len(old.terms)) >= 0.6
    own, others = new.terms - old.terms, old.terms - new.terms
    is_figure = [all(any(c.isdigit() for c in each) for each in some) for some in (own, others)]
    return common == 1 and bool(own) and bool(others) and all(is_figure)


def _one_subject(new: Claim, old: Claim) -> bool:
    if new.speaker != old.speaker or bool(new.subject) != bool(old.subject):
        return new.slot is not None and new.slot == old.slot
    return not new.subject or bool(new.subject & old.subject)


def count_shared_terms(new: Claim, old: Claim) -> int:
    """How many terms two claims share."""
    return len(new.terms & old.terms)
