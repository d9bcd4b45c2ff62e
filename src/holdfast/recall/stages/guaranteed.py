"""Places that no score decides: for the user's standing rules, and for what holds a literal.

A rule such as "Always cite sources when I ask about history" shares few words with the question it
is meant for, so it is seldom among the best documents, and no boost can lift what was not found.
Rules therefore compete among themselves, by the cosine of the question with the rule or with its
condition alone, and the best few are given places among the first ten, below what answers the
question itself; in a list shorter than ten only those that fit well. Who asks for the rules gets
them first, and all of them.

A rule is a record of its own beside the turn it was given in. Where both would be listed and the
turn says nothing else, the rule stands for both.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from holdfast.index.resident import View
from holdfast.language.questions import classify
from holdfast.language.terms import fold, terms
from holdfast.recall.candidates import Candidate, Moment, ReadContent, by_score
from holdfast.recall.sources.blend import persons
from holdfast.recall.sources.keywords import holders as holders_of
from holdfast.recall.sources.keywords import postings, turns

#: The numbers of the lane: by a grid over the three BEAM sets (docs/decisions/0008).
#: A rule fits if its cosine is at least this share of the best cosine of any turn.
FIT = 0.4
FIT_OF_FEW = 0.35
#: Of many rules only those fit that are nearly as near as the nearest.
BESIDE = 0.8
#: With at most so many rules each is more likely meant, and so many more may be told.
FEW = 6
#: In a context so many are all told, whatever is asked: they are short.
FEW_TOLD = 12
_ANY = -1.0
MORE_OF_FEW = 3
#: A rule fits a question well if it is so near beside the nearest turn, and by itself: where no
#: turn is near, every rule is as near as they are. Others stand at the end of a list of ten, two at
#: most; a shorter list does without. Of the rules that BEAM-100K asks for, all but one fit well.
FITS_WELL = 0.5
LEAST_COSINE = 0.25
#: And if it is so near beside the nearest rule. By hand, with the embedder of our own.
_NEXT = 0.7
WEAK = 2
#: The nearness of a rule that has no vector and shares no word with the question.
UNKNOWN = 0.5
#: Questions that need all ten places themselves: only a rule that is as near as a turn is told.
BROAD = frozenset({"aggregation"})
#: A rule that is nearly as near as the best turn stands among the first; the others at the end.
STRONG = 0.85
PLACES = (2, 4, 6, 8, 10)
#: By hand, not measured, from here on.
#: What the words of the question count beside the cosine.
_WORDS = 0.1
#: The least score of a rule that nothing goes before.
_ALONE = 0.5
#: From which cosine on a rule is about what small talk is about.
_ABOUT = 0.5
#: For a question that anybody could answer: how sure a rule must be one, and from which cosine on
#: one that holds under a condition may be meant. On the development part of `training/` a third
#: less is told, and 1 of 60 rules that are meant is not.
_SURELY_RULE, _CONDITION_MET = 0.35, 0.3
#: How far a rule stands from its upper neighbour, as a share of the way to the lower one.
_STEP = 0.1
#: What is said beside a rule and says nothing: "Hi! Always cite sources, thanks."
_COURTESIES = frozenset(
    terms(
        "hi hello hey dear thanks thank you please ok okay great good morning afternoon evening "
        "sure fine perfect cool nice alright right well yes yeah yep sorry cheers btw one thing"
    )
)


def lane(candidates: list[Candidate], moment: Moment) -> list[Candidate]:
    """The candidates with the rules that fit the question at their places."""
    if classify(moment.query.text).asks_rules:
        rules = _oldest_first(moment.view, rules_of(moment))[: moment.query.limit]
        return place_rules(candidates, rules, moment, range(1, len(rules) + 1))
    if moment.query.tiers is not None:  # Then rules compete with all others, or are not wanted.
        return candidates
    rules, places = fitting_rules(moment)
    return place_rules(candidates, rules, moment, places) if rules else candidates


def rules_of(moment: Moment) -> NDArray[np.intp]:
    """The rules that may be told."""
    mask = is_rule(moment.view)
    if moment.wanted is not None:
        mask = mask & moment.wanted
    rules = np.flatnonzero(mask)
    # One that is dated in the future does not hold yet.
    return rules[moment.view.at_us[rules] <= round(moment.query.now.timestamp() * 1_000_000)]


def is_rule(view: View) -> NDArray[np.bool_]:
    """Standing instructions as records of their own, not the turns that hold them."""

    def make() -> NDArray[np.bool_]:
        said = np.append(view.roles, -1) == view.code("user")
        mask: NDArray[np.bool_] = (
            (view.tiers == view.code("procedure"))
            & (view.kinds == view.code("instruction"))
            & said[:-1]
            & (said[view.source] | (view.source < 0))  # Whatever a file that was imported claims.
        )
        return mask

    return view.once("rules", make)


def holds_rule(moment: Moment) -> NDArray[np.bool_]:
    """The rules that hold, and the turns that they were given in: not those of a rule that was
    withdrawn."""
    rules = is_rule(moment.view)
    mask = rules.copy() if moment.seen is None else rules & moment.seen
    given_in = moment.view.source[mask]
    mask[given_in[given_in >= 0]] = True
    return mask


def fitting_rules(moment: Moment) -> tuple[list[int], Sequence[int]]:
    """The rules that fit the question, the best first, and their places counted from 1."""
    view, rules = moment.view, _applying(moment, rules_of(moment))
    if not len(rules) or _among_people(view, moment.seen):
        return [], ()
    few = len(rules) <= (FEW_TOLD if moment.query.packing else FEW)
    near = _nearness(moment, rules)
    least = FIT_OF_FEW if few else max(FIT, BESIDE * float(near.max()))
    if few and moment.config.instruction_boost_enabled:
        least = _ANY  # Who wants rules raised must find them, however far they are from the words.
    order = np.lexsort((-view.order[rules], -(near + np.float32(_WORDS) * moment.scores[rules])))
    most = moment.config.instruction_lane + (MORE_OF_FEW if few else 0)
    if moment.query.packing:  # Rules have a block of their own there: nobody loses a place.
        most = len(rules)
        least = _ANY if few else least  # A few rules are told whatever is asked.
    elif classify(moment.query.text).name in BROAD:
        least, most = max(least, STRONG), 1
    if moment.query.idle:  # Small talk: those that are about it.
        least = STRONG if moment.cosines is None else max(STRONG, _ABOUT / _top_cosine(moment))
    chosen = [place for place in order.tolist() if near[place] >= least][:most]
    if not moment.query.packing and least != _ANY:
        chosen = _worth_a_place(chosen, _fit_well(moment, rules, near), moment.query.limit)
    strong = sum(bool(near[place] >= STRONG) for place in chosen[: len(PLACES)])
    if not moment.query.packing and moment.query.limit < PLACES[-1]:
        # Of a short list half belongs to what answers; of one place all of it.
        chosen = chosen[: max(strong, moment.query.limit // 2)]
    page = max(min(moment.query.limit, PLACES[-1]), strong + 1)
    weak = len(chosen) - strong
    ends = range(max(page - weak, strong) + 1, max(page, strong + weak) + 1)
    return [int(rules[place]) for place in chosen], (*PLACES[:strong], *ends)


def _applying(moment: Moment, rules: NDArray[np.intp]) -> NDArray[np.intp]:
    """The rules that may apply. To a question that anybody could answer: what is surely a rule, not
    the later word about one; and of those under a condition the ones that are about it."""
    view = moment.view
    if not moment.query.trivia:
        return rules
    applies = view.confidence[rules] >= _SURELY_RULE
    if moment.cosines is not None and view.vectors is not None:
        # What has no vector yet may be meant; a condition has passages of its own.
        conditional = view.vectors.passages_per(rules) > 1
        applies &= ~conditional | (moment.cosines[rules] >= _CONDITION_MET)
    return rules[applies]


def _top_cosine(moment: Moment) -> float:
    """The best cosine of any turn. Turns alone: a document or a team's entry near the question must
    not silence a rule."""
    assert moment.cosines is not None
    said = np.where(turns(moment.view), moment.cosines, 0.0)
    return float(said.max(initial=0.0)) or 1.0


def _worth_a_place(chosen: Sequence[int], fit_well: NDArray[np.bool_], limit: int) -> list[int]:
    """Of the chosen, best first, those that may take somebody's place in a list of hits."""
    well = [place for place in chosen if fit_well[place]]
    if limit < PLACES[-1]:
        return well
    return well + [place for place in chosen if not fit_well[place]][:WEAK]


def _fit_well(
    moment: Moment, rules: NDArray[np.intp], near: NDArray[np.floating[Any]]
) -> NDArray[np.bool_]:
    """Which rules fit the question well. What has no vector yet goes by its nearness alone."""
    fit: NDArray[np.bool_] = near >= FITS_WELL
    if moment.cosines is not None and moment.view.vectors is not None:
        embedded = _embedded(moment.view, rules)
        next_best = near >= _NEXT * float(near[embedded].max(initial=0.0))
        fit &= (next_best & (moment.cosines[rules] >= LEAST_COSINE)) | ~embedded
    return fit


def _embedded(view: View, docs: NDArray[np.intp]) -> NDArray[np.bool_]:
    if view.vectors is None:
        return np.zeros(len(docs), dtype=np.bool_)
    return ~np.isnan(view.vectors.first_of(docs)[:, 0])


def _nearness(moment: Moment, rules: NDArray[np.intp]) -> NDArray[np.floating[Any]]:
    """How near each rule is to the question, as a share of the nearest turn.

    What has no vector yet is near enough: a rule that was just given must not be missed.
    """
    unknown = np.where(moment.scores[rules] > 0, 1.0, UNKNOWN)
    if moment.cosines is None or moment.view.vectors is None:
        return unknown
    top = _top_cosine(moment)
    return np.where(_embedded(moment.view, rules), moment.cosines[rules] / top, unknown)


def place_rules(
    candidates: list[Candidate], rules: Sequence[int], moment: Moment, places: Sequence[int]
) -> list[Candidate]:
    """The candidates with the rules at their places; a rule whose turn stands further up stays
    where that is."""
    merged = list(candidates)
    placed = list(zip(rules, places, strict=False))
    turns_told = _told_by_rules([rule for rule, _ in placed], {each.doc for each in merged}, moment)
    for rule, place in placed:
        turn = turns_told.get(rule, -1)
        same = [at for at, each in enumerate(merged) if each.doc in (rule, turn)]
        at = min([place - 1, len(merged), *same])
        merged = [each for each in merged if each.doc not in (rule, turn)]
        merged.insert(at, Candidate(rule, _score_at(merged, at), {"lane": "instruction"}))
    return merged


def _score_at(candidates: Sequence[Candidate], at: int) -> float:
    """A score that fits between the neighbours, near the upper one: the order holds, and rules do
    not tie."""
    below = candidates[at].score if at < len(candidates) else 0.0
    if not at:
        return max(_ALONE, below + _STEP * (1.0 - below))
    above = candidates[at - 1].score
    return above - _STEP * (above - below)


def _told_by_rules(rules: Sequence[int], listed: Collection[int], moment: Moment) -> dict[int, int]:
    """Rule -> the turn that it was given in, where that is listed and the rules told of it are all
    that it says. What is said beside them ("I'm diabetic. Always ...") is told like any other."""
    view = moment.view
    given: dict[int, list[int]] = {}
    for rule in rules:
        if (turn := int(view.source[rule])) in listed:
            given.setdefault(turn, []).append(rule)
    texts = moment.content([*given, *(rule for some in given.values() for rule in some)])
    told: dict[int, int] = {}
    for turn, own in given.items():
        rest = Counter(terms(texts.get(turn, "")))
        for rule in own:
            rest -= Counter(terms(texts.get(rule, "")))
        if rest.keys() <= _COURTESIES:
            told |= dict.fromkeys(own, turn)
    return told


def _oldest_first(view: View, rules: NDArray[np.intp]) -> list[int]:
    return [int(rule) for rule in rules[np.argsort(view.order[rules], kind="stable")]]


def _among_people(view: View, seen: NDArray[np.bool_] | None) -> bool:
    """Where only people with names talk to each other, no rule was given to a machine."""
    named_person = (persons(view) > 0) & (view.names >= 0)
    said = turns(view)
    shown = said if seen is None else said & seen
    return bool(named_person[shown].all())


# ----------------------------------------------------------------------
# Literal protection: who asks for "INV-2026-0417" wants the memory that holds it, first.
#
# A literal is a quoted string, a word with a digit in it, or a word so rare that it names one
# thing. A literal that many memories hold singles nothing out and protects nothing.
# ----------------------------------------------------------------------

#: By hand, not measured; `make eval` prints what the stage gives.
#: A literal protects the memories that hold it if they are at most this share, or this few.
_SHARE = 0.01
_FEW = 5
#: A plain word is a literal in a store of this size or more if it is rarer than one in a thousand.
_LARGE = 1000
_RARE_SHARE = 0.001
_SHORT_NUMBER = 2
#: Quoted strings are compared to the letter in at most this many candidates, some at a time.
_READ_BLINDLY = 10_000
#: A question that quotes more than this singles nothing out; strings without a word of the index
#: are looked for in the texts themselves, which only the first of them is worth.
_MOST_LITERALS = 16
_MOST_BLIND = 1
#: So many that nothing else speaks for are added at most: as many as an answer may hold.
_MOST_ADDED = 200
_READ_AT_ONCE = 500


@dataclass(frozen=True, slots=True)
class HeldLiterals:
    """The literals a document holds, and how much they single it out."""

    literals: tuple[str, ...]
    weight: float


def literals_first(candidates: list[Candidate], moment: Moment) -> list[Candidate]:
    """The upper half of the scale belongs to those that hold a literal, found before or not."""
    held, scores = _held_literals(moment), moment.scores
    if not held:
        return candidates
    heaviest = max(each.weight for each in held.values())
    found = {each.doc for each in candidates}
    others = [doc for doc in held if doc not in found]
    if len(others) > _MOST_ADDED:
        others.sort(key=lambda doc: (-held[doc].weight, -scores[doc]))
    missing = [Candidate(doc, float(scores[doc])) for doc in others[:_MOST_ADDED]]
    return by_score([_lift(each, held.get(each.doc), heaviest) for each in missing + candidates])


def _held_literals(moment: Moment) -> dict[int, HeldLiterals]:
    """Document -> the literals it holds."""
    found: dict[int, HeldLiterals] = {}
    wanted = moment.wanted
    size = len(moment.view) if wanted is None else int(np.count_nonzero(wanted))
    if moment.view.population is not None:
        size = moment.view.population.owner.every.documents
    most = max(_FEW, int(_SHARE * size))
    for literal, docs in _literals(moment, size):
        exact = docs.tolist()
        if literal in moment.query.quoted:
            exact = _to_the_letter(exact, literal, most, moment.content)
        holding = _all_holding(moment, literal, len(exact))
        if not exact or holding > most:
            continue
        weight = math.log(1 + size / holding)
        for doc in exact:
            before = found.get(doc, HeldLiterals((), 0.0))
            found[doc] = HeldLiterals((*before.literals, literal), before.weight + weight)
    return found


def _lift(candidate: Candidate, literal: HeldLiterals | None, heaviest: float) -> Candidate:
    if literal is None:
        return Candidate(candidate.doc, 0.5 * candidate.score, candidate.notes)
    # The more it is singled out the higher; the fused score decides among equals.
    score = 0.5 + 0.25 * literal.weight / heaviest + 0.25 * candidate.score
    return candidate.with_score(score, "literal", list(literal.literals))


def _literals(moment: Moment, size: int) -> list[tuple[str, NDArray[np.int32]]]:
    """(literal, documents): quoted strings, coded words, and in a large store rare words."""
    query, wanted = moment.query, moment.wanted
    # A short number is a name among thousands of like texts; in a small store it is a coincidence.
    coded = [each for each in query.coded if size >= _LARGE or len(each) > _SHORT_NUMBER]
    literals = (*query.quoted, *coded)[:_MOST_LITERALS]
    blind = [each for each in literals if not terms(each)]  # "The Who": stop words alone.
    found = {
        literal: _holding_all(moment, terms(literal))
        for literal in literals
        if literal not in blind
    }
    found |= {literal: _newest(moment) for literal in blind[:_MOST_BLIND]}
    if size >= _LARGE:
        rare = max(1, int(_RARE_SHARE * size))
        for term, docs in moment.holders.items():
            if len(docs) > 0 and _holders(moment, term) <= rare:
                found.setdefault(term, docs)
    if wanted is not None:  # Terms were counted over more than the caller's filters let through.
        found = {literal: docs[wanted[docs]] for literal, docs in found.items()}
    return list(found.items())


def _holders(moment: Moment, term: str) -> int:
    """How many documents hold a term of the question, also those that are not here."""
    population = moment.view.population
    return len(moment.holders[term]) if population is None else population.holders[term].documents


def _all_holding(moment: Moment, literal: str, here: int) -> int:
    """How many documents hold a literal; of those that are not here, as many as hold its rarest
    word. What is quoted to the letter is not counted elsewhere."""
    if moment.view.population is None or literal in moment.query.quoted:
        return here
    words = [word for word in (terms(literal) or [literal]) if word in moment.holders]
    words += [literal] if literal in moment.holders else []
    return max(here, min((_holders(moment, word) for word in words), default=here))


def _newest(moment: Moment) -> NDArray[np.int32]:
    wanted = moment.wanted
    docs = np.arange(len(moment.view)) if wanted is None else np.flatnonzero(wanted)
    return docs[-_READ_BLINDLY:].astype(np.int32)


def _holding_all(moment: Moment, words: Sequence[str]) -> NDArray[np.int32]:
    """Documents that hold all these terms."""
    holders = moment.holders
    missing = [word for word in words if word not in holders]
    found = holders_of(missing, postings(moment.view, missing, moment.wanted))
    lists = [holders[word] if word in holders else found[word] for word in words]
    lists.sort(key=len)
    docs = lists[0] if lists else np.empty(0, dtype=np.int32)
    for more in lists[1:]:
        docs = np.intersect1d(docs, more, assume_unique=True)
    return docs


def _to_the_letter(docs: Sequence[int], literal: str, most: int, content: ReadContent) -> list[int]:
    """Those that hold the literal to the letter; once they are more than `most`, some of them."""
    needle = " ".join(fold(literal).split())
    found: list[int] = []
    newest = docs[-_READ_BLINDLY:]
    for start in range(0, len(newest), _READ_AT_ONCE):
        texts = content(newest[start : start + _READ_AT_ONCE])
        found += [doc for doc, text in texts.items() if needle in " ".join(fold(text).split())]
        if len(found) > most:
            break
    return found
