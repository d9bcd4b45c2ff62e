"""The instruction lane: standing rules of the user are consulted on every recall.

A rule such as "Always cite sources when I ask about history" shares few words with the question it
is meant for, so it is seldom among the best documents, and no boost can lift what was not found.
Rules therefore compete among themselves, and the best few are given places among the first ten,
below what answers the question itself.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from recollect.index.resident import View
from recollect.recall.blend import Scores, persons

#: A rule fits if its cosine is at least this share of the best cosine of any document.
FIT = 0.35
#: The score of a rule that nothing goes before.
_ALONE = 0.5
#: Places counted from 1 at which rules are put in, when they are not further up anyway.
_PLACES = (5, 8, 10, 12, 15)


def lane(
    view: View,
    scores: Scores,
    meaning: Scores | None,
    *,
    seen: NDArray[np.bool_] | None,
    wanted: NDArray[np.bool_] | None,
    most: int,
) -> list[int]:
    """The rules that fit the question best, at most `most`: by meaning first, then by all else.

    `seen` are the documents the asker can know of, `wanted` those that pass the filters, too.
    """
    if not most or _among_people(view, seen):
        return []
    fitting = view.kinds == view.codes.get("instruction", -2)
    if wanted is not None:
        fitting = fitting & wanted
    if meaning is not None:
        fitting = fitting & (meaning >= FIT)
    rules = np.flatnonzero(fitting)
    fit = scores[rules] if meaning is None else scores[rules] + meaning[rules]
    order = np.lexsort((-view.order[rules], -fit))
    return [int(rule) for rule in rules[order][:most]]


def _among_people(view: View, seen: NDArray[np.bool_] | None) -> bool:
    """Where only people with names talk to each other, no rule was given to a machine."""
    named_person = (persons(view) > 0) & (view.names >= 0)
    return bool((named_person if seen is None else named_person[seen]).all())


def merged(best: list[tuple[int, float]], rules: list[int]) -> list[tuple[int, float]]:
    """The ranking with the rules at their places; a rule that ranks higher stays where it is."""
    places = {doc: place for place, (doc, _) in enumerate(best)}
    merged = list(best)
    for rule, place in zip(rules, _PLACES, strict=False):
        if rule in places and places[rule] < place - 1:
            continue
        merged = [pair for pair in merged if pair[0] != rule]
        at = min(place - 1, len(merged))
        # Scores stay in order: a rule takes the score of its upper neighbour.
        score = merged[at - 1][1] if at else _ALONE
        merged.insert(at, (rule, score))
    return merged
