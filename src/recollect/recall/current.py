"""The latest wins for "now", the first for "when did".

What was said of one thing at several times scores nearly the same: only time tells "I live in Rome"
from "I live in Oslo". Candidates within a band below the best are put in order of time, and

    score * (1 + gain * nearness * place)

`place` runs from 0 for the oldest to 1 for the newest of the band, the other way round for history;
`nearness` runs from 0 at the lower edge of the band to 1 at the best score, so nothing jumps at the
edge. Places decide, not the clock: a store that slept for a year ranks as before. Nothing is added
or dropped.
"""

from __future__ import annotations

import numpy as np

from recollect.recall.classes import classify
from recollect.recall.stage import Candidate, Moment, raised

#: The newest passes an older one that scores up to 10 % more; the first decides among equals only,
#: because what tells of a day is seldom the first that was said of the matter.
GAINS = {"now": 0.15, "history": 0.05}
#: What scores at least this share of the best is taken to speak of the same thing.
BAND = 0.7


def current(candidates: list[Candidate], moment: Moment) -> list[Candidate]:
    """The candidates with the latest, or for history the earliest, of near equals further up."""
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
    return raised(candidates, GAINS[state] * nearness * places, "current", notes)
