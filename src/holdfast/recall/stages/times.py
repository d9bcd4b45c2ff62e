"""What the time of a memory says: the time a question names, the latest, the first, what changed.

Named times ("in March", "two weeks ago") lift what was said then, before the stages:

    score * (1 + NAMED_GAIN * lift)

`lift` is 1 inside a named time and falls in a straight line to 0 beside it. People speak of a thing
some days before and after it happens, and longer if it lasts longer: on either side the slope is as
long as the time itself, at least 7 and at most 45 days. Since scores are multiplied, what does not
answer the question at all (score 0) is not lifted. Nothing was said in the future: a question
for tomorrow changes nothing, nor does one that names no time.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from holdfast.index.resident import View
from holdfast.language.dates import DAY, TimeSpan, spans
from holdfast.language.questions import (
    AskedQuantities,
    StatedQuantities,
    asked_quantities,
    classify,
    stated_quantities,
)
from holdfast.recall.candidates import Candidate, Moment, raise_scores
from holdfast.recall.query import Query
from holdfast.store.values import Frequency

Scores = NDArray[np.floating[Any]]

#: At the named time a document passes one elsewhere that scores up to a third more
#: (docs/decisions/0008).
NAMED_GAIN = 0.35

_DAY_US = 86_400_000_000
#: By hand, not measured.
_SHORTEST_SLOPE = 7 * _DAY_US
_LONGEST_SLOPE = 45 * _DAY_US


def raise_named(scores: Scores, lifts: NDArray[np.float32]) -> Scores:
    """The scores of all documents, those of the named times raised; what scored 0 stays there.

    Where one would pass 1, all are scaled down together: the order is that of the formula.
    """
    raised = scores * (1.0 + NAMED_GAIN * lifts)
    return raised / max(1.0, float(raised.max(initial=0.0)))


def named_times(query: Query) -> tuple[TimeSpan, ...]:
    """The times a question names at which something can have been said."""
    today = query.now.replace(hour=0, minute=0, second=0, microsecond=0)
    return tuple(
        span
        for span in spans(query.text, query.now)
        if span.start < today or span.end <= today + DAY
    )


def lifts_of(view: View, named: Sequence[TimeSpan]) -> NDArray[np.float32]:
    """For every document how near it is to a named time: 1 inside, 0 far away or none named."""
    return _lifts(view.at_us, named)


def _lifts(at_us: NDArray[np.int64], named: Sequence[TimeSpan]) -> NDArray[np.float32]:
    best = np.zeros(len(at_us), dtype=np.float32)
    for span in named:
        start, end = _us(span.start.timestamp()), _us(span.end.timestamp())
        slope = min(max(end - start, _SHORTEST_SLOPE), _LONGEST_SLOPE)
        # The end is not part of the time: the microsecond before it is.
        away = np.maximum(start - at_us, at_us - (end - 1)) / slope
        np.maximum(best, 1.0 - np.clip(away, 0.0, 1.0), out=best, casting="same_kind")
    return best


def _us(seconds: float) -> int:
    return round(seconds * 1_000_000)


# ----------------------------------------------------------------------
# The latest wins for "now", the first for "when did", and what changed for "how many".
#
# What was said of one thing at several times scores nearly the same: only time tells "I live in
# Rome" from "I live in Oslo". Candidates within a band below the best are put in order of time, and
#
#     score * (1 + gain * nearness * place)
#
# `place` runs from 0 for the oldest to 1 for the newest of the band, the other way round for
# history; `nearness` runs from 0 at the lower edge of the band to 1 at the best score, so nothing
# jumps at the edge. Places decide, not the clock: a store that slept for a year ranks as before.
# Nothing is added or dropped.
#
# Who asks for a figure ("What is my budget?") wants a turn that states one: of the first turns
# those of people that do gain a little. And such a question seldom says "now". If the user later
# gave another figure for the same matter than in the best turn, or said that it changed, that turn
# comes before it. Two turns move at most, and only such that score nearly as well: most of what is
# said later of a matter is no update of it. Whether two turns speak of one matter is told by how
# alike they are and by the words of the question that they share, rare ones first.
# ----------------------------------------------------------------------

#: The newest passes an older one that scores up to 10 % more; the first decides among equals only,
#: because what tells of a day is seldom the first that was said of the matter. This and the band by
#: hand; `make eval` prints what the stage gives.
GAINS = {"now": 0.15, "history": 0.05}
#: What scores at least this share of the best is taken to speak of the same thing.
BAND = 0.7
#: What a turn gains that states a figure that was asked for. This and all below were chosen on the
#: knowledge updates of BEAM's development set, 41 of 47 of which come newest first.
STATES = 0.1
#: What a later turn gains that says that it changed, that states another figure, and that states
#: one where the best turn states none.
TOLD, OTHER, ONLY = 0.33, 0.2, 0.1
#: Turns that are looked at: a few that are near the first ten may come into them.
_LOOKED_AT = 12
#: So many updates come before the best turn.
_UPDATES = 2
#: How alike two turns must be to speak of one matter; how alike they are on the average of their
#: vectors and words, or of their vectors alone, where nothing is said of a change of the figure.
_ALIKE, _AKIN, _VERY_ALIKE = 0.5, 0.55, 0.7


def current(candidates: list[Candidate], moment: Moment) -> list[Candidate]:
    """The candidates with the latest, or for history the earliest, of near equals further up."""
    return _by_figures(_by_time(candidates, moment), moment)


def _by_time(candidates: list[Candidate], moment: Moment) -> list[Candidate]:
    state = classify(moment.query.text).state
    if state is None or not candidates:
        return candidates
    scores = np.array([each.score for each in candidates])
    best = float(scores.max())
    if best <= 0:
        return candidates
    nearness = np.clip((scores / best - BAND) / (1.0 - BAND), 0.0, 1.0)
    band = np.flatnonzero(nearness > 0)
    docs = np.array([each.doc for each in candidates])[band]
    # Of what was said at one moment the later turn is the newer.
    oldest_first = np.lexsort((moment.view.order[docs], moment.view.at_us[docs]))
    first_to_last = oldest_first if state == "now" else oldest_first[::-1]
    places = np.zeros(len(candidates))
    places[band[first_to_last]] = np.linspace(0.0, 1.0, len(band))  # Alone in the band: 0.
    notes = [{"state": state, "place": round(place, 4)} for place in places.tolist()]
    return raise_scores(candidates, GAINS[state] * nearness * places, "current", notes)


def _by_figures(candidates: list[Candidate], moment: Moment) -> list[Candidate]:
    """The turns first that state the figure that was asked for, the latest of them before all."""
    figures = asked_quantities(moment.query.text)
    if figures is None or not candidates or candidates[0].score <= 0:
        return candidates
    said = _stated_figures(candidates[:_LOOKED_AT], figures, moment)
    states = _docs_stating(candidates[:_LOOKED_AT], said, figures)
    gains = np.array([STATES if each.doc in states else 0.0 for each in candidates])
    stating = _with_gains(candidates, gains, {"states": True})
    updates = _updates(stating[:_LOOKED_AT], said, figures, moment)
    if not updates:
        return stating
    gains = np.array([updates.get(each.doc, 0.0) for each in stating])
    return _with_gains(stating, gains, {"update_of": moment.view.ids[stating[0].doc]})


def _docs_stating(
    head: list[Candidate], said: Mapping[int, StatedQuantities], figures: AskedQuantities
) -> set[int]:
    """The turns that state the figure. Where the best one names days and states none, not those
    that speak of another occasion: of days that no turn before them names."""
    best = said.get(head[0].doc)
    is_open = best is None or best.is_exact or not best.days or "date" in figures.kinds
    found, named = set[int](), set[str]()
    for each in head:
        turn = said.get(each.doc)
        if turn is None:
            continue
        if turn.is_exact and (is_open or not turn.days or not turn.days.isdisjoint(named)):
            found.add(each.doc)
        named |= turn.days
    return found


def _with_gains(
    candidates: list[Candidate], gains: NDArray[np.floating[Any]], note: Mapping[str, Any]
) -> list[Candidate]:
    """Each score times 1 + its gain, with a note beside those that this stage made before."""
    if not gains.any():
        return candidates
    notes = [{**each.notes.get("current", {}), **note} for each in candidates]
    return raise_scores(candidates, gains, "current", notes)


def _stated_figures(
    head: list[Candidate], figures: AskedQuantities, moment: Moment
) -> dict[int, StatedQuantities]:
    """What those of the first say of the figures that are turns of people."""
    view = moment.view
    user, session = view.code("user"), view.code("session")
    docs = np.array([each.doc for each in head], dtype=np.intp)
    docs = docs[(view.roles[docs] == user) & (view.tiers[docs] == session)]
    texts = moment.content(docs.tolist()) if len(docs) else {}
    return {doc: stated_quantities(text, figures) for doc, text in texts.items()}


def _updates(
    head: list[Candidate],
    said: Mapping[int, StatedQuantities],
    figures: AskedQuantities,
    moment: Moment,
) -> dict[int, float]:
    """What each of the turns gains that update the best one."""
    best, vectors = head[0], moment.view.vectors
    if best.doc not in said or vectors is None or figures.updates == "none":
        return {}
    docs = np.array([each.doc for each in head], dtype=np.intp)
    rows = vectors.first_of(docs)
    later = _later_of_speaker(docs, moment)
    passing: list[tuple[float, int, float]] = []
    for each, alike, is_later in zip(head, (rows @ rows[0]).tolist(), later.tolist(), strict=True):
        if not is_later or each.doc not in said or alike < _ALIKE:
            continue
        gain = _gain(said[each.doc], said[best.doc], alike, figures, moment)
        if each.score * (1.0 + gain) > best.score:
            passing.append((each.score * (1.0 + gain), each.doc, gain))
    passing.sort(reverse=True)
    new = [said[doc] for _, doc, _ in passing]
    places = [place for place, each in enumerate(new) if not place or _is_next(each, new[0])]
    return {passing[place][1]: passing[place][2] for place in places[:_UPDATES]}


def _is_next(other: StatedQuantities, first: StatedQuantities) -> bool:
    """Whether a second update is one beside the first: it tells of a change to something else."""
    return other.tells_change and other.updates(first)


def _later_of_speaker(docs: NDArray[np.intp], moment: Moment) -> NDArray[np.bool_]:
    """Which were said after the first, by whoever said that."""
    view = moment.view
    at, order = view.at_us[docs], view.order[docs]
    later = (at > at[0]) | ((at == at[0]) & (order > order[0]))
    found: NDArray[np.bool_] = later & (view.names[docs] == view.names[docs[0]])
    return found


def _gain(
    new: StatedQuantities,
    old: StatedQuantities,
    alike: float,
    figures: AskedQuantities,
    moment: Moment,
) -> float:
    """What a later turn gains for what it says otherwise than the best one."""
    # Another figure is an update if it is of those whom the question names; who says that it
    # changed need not repeat the names.
    is_named = new.tells_change or new.terms >= old.terms & figures.names
    if not is_named or not _is_one_matter(new, old, alike, moment):
        return 0.0
    return (
        _gain_of_other(new, old, figures)
        if old.stated and new.stated
        else (_gain_of_one(new, old, figures))
    )


def _gain_of_other(new: StatedQuantities, old: StatedQuantities, figures: AskedQuantities) -> float:
    """What a turn gains that states another figure than the best one; if it tells no change, only
    for one that counts all that the other does."""
    if not new.updates(old):
        return 0.0
    if new.tells_change:
        return TOLD
    return OTHER if figures.updates == "any" and new.stated.keys() >= old.stated.keys() else 0.0


def _gain_of_one(new: StatedQuantities, old: StatedQuantities, figures: AskedQuantities) -> float:
    """What a turn gains if only one of the two states a figure: the new one, or it says that the
    other changed. If both name days, and others, they speak of two occasions."""
    is_apart = new.days and old.days and new.days.isdisjoint(old.days)
    if is_apart and "date" not in figures.kinds:
        return 0.0
    if new.stated:
        return TOLD if new.of_figure else ONLY
    return TOLD if old.stated and new.of_matter and figures.updates == "any" else 0.0


def _is_one_matter(
    new: StatedQuantities, old: StatedQuantities, alike: float, moment: Moment
) -> bool:
    """Whether a turn speaks of what the best one speaks of. "The budget was raised to $900" need
    not repeat much more."""
    if old.terms.isdisjoint(new.terms):
        return False
    if (new.stated and new.of_figure) or alike >= _VERY_ALIKE:
        return True
    return (_shared_weight(new.terms, old.terms, moment) + alike) / 2.0 >= _AKIN


def _shared_weight(new: frozenset[str], old: frozenset[str], moment: Moment) -> float:
    """The share of the old words that are among the new ones; rare words count more."""
    weights = {term: _rarity(term, moment) for term in old}
    whole = sum(weights.values())
    return sum(weights[term] for term in old & new) / whole if whole > 0 else 0.0


def _rarity(term: str, moment: Moment) -> float:
    population = moment.view.population
    if population is not None:
        held, size = population.holders.get(term, Frequency()), population.owner.every.documents
        return math.log((size + 1) / max(held.documents, 1))
    docs = moment.holders.get(term)
    return math.log((len(moment.view) + 1) / (1 if docs is None else max(len(docs), 1)))
