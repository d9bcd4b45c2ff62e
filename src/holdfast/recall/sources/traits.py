"""What is known of a document beside the words of the question: who said it, and what it tells.

Each trait is one number in 0..1 for every document, a feature of the blend (blend.py).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from holdfast.index.resident import View
from holdfast.language.questions.classes import whose
from holdfast.language.terms import fold, terms
from holdfast.recall.query import Query
from holdfast.recall.sources.bm25 import postings

Scores = NDArray[np.float32]

#: What a machine's turn counts where its words are asked for; a person's where people's are: 1.
_MACHINE = 0.5
#: Terms beyond which a longer turn is no better.
_LONG = 40
#: Words of a text that tells a time: relative ones, days, months, years, days of a month.
_TIME_WORDS = terms(
    "yesterday today tonight tomorrow ago last next week weekend month year "
    "monday tuesday wednesday thursday friday saturday sunday "
    "january february march april june july august september october november december "
    + " ".join(str(number) for number in (*range(1, 32), *range(1900, 2101)))
)
#: Words of a text that tells a taste; "like" and "want" tell too little.
_TASTE_WORDS = terms("prefer favorite favourite favor favour rather enjoy love hate dislike")
#: Names that say "not a person" for turns of the assistant, the system or a tool.
_MACHINES = frozenset({"", "assistant", "agent", "ai", "bot", "model", "system", "tool"})


def traits(view: View, query: Query) -> dict[str, Scores]:
    """The traits that this question asks for."""
    found = {
        "role": _asked(view, query),
        "speaker": _named(view, query),
        "length": _fullness(view),
    }
    if query.asks_when:
        found["time"] = _holding(view, "timed", _TIME_WORDS)
    if query.asks_advice:
        found["taste"] = _holding(view, "tastes", _TASTE_WORDS) * persons(view)
    return found


def _fullness(view: View) -> Scores:
    if "fullness" not in view.kept:
        full = np.log1p(view.lengths) / np.float32(np.log1p(_LONG))
        view.kept["fullness"] = np.minimum(full, np.float32(1.0))
    kept: Scores = view.kept["fullness"]
    return kept


def persons(view: View) -> Scores:
    """1 where a person speaks, 0 where a machine does."""
    if "persons" not in view.kept:
        texts = {code: text for text, code in view.codes.items()}
        machine_roles = [view.codes.get(role, -2) for role in ("assistant", "system", "tool")]
        codes = view.codes_in(view.names)
        machine_names = [c for c in codes if fold(texts.get(c, "")) in _MACHINES]
        machine = view.is_one_of(view.roles, machine_roles)
        machine &= view.is_one_of(view.names, machine_names)
        # What was derived is nobody's turn: it must not pay for who wrote it down.
        machine &= view.tiers == view.codes.get("session", -2)
        view.kept["persons"] = (~machine).astype(np.float32)
    persons: Scores = view.kept["persons"]
    return persons


def _asked(view: View, query: Query) -> Scores:
    """How far each turn's speaker is the one whose words are asked for."""
    said_by = whose(query.text)
    if said_by == "people":
        return persons(view)
    share = np.float32(_MACHINE if said_by == "machine" else 0.0)
    return (np.float32(1.0) - persons(view)) * share


def _named(view: View, query: Query) -> Scores:
    """Who has no name of their own is the user whose memory this is."""
    asked = frozenset(query.terms)
    named = [code for code, words in _speakers(view).items() if words & asked]
    spoken = view.is_one_of(view.names, named)
    if asked & frozenset(terms(query.scope.user)):
        spoken |= (view.names < 0) & (view.roles == view.codes.get("user", -2))
    return spoken.astype(np.float32)


def _speakers(view: View) -> dict[int, frozenset[str]]:
    """Code of a speaker's name -> the words of it."""
    if "speakers" not in view.kept:
        texts = {code: text for text, code in view.codes.items()}
        codes = [code for code in view.codes_in(view.names) if code >= 0]
        view.kept["speakers"] = {code: frozenset(terms(texts[code])) for code in codes}
    kept: dict[int, frozenset[str]] = view.kept["speakers"]
    return kept


def _holding(view: View, name: str, words: Sequence[str]) -> Scores:
    """1 where a document holds one of the words."""
    if name not in view.kept:
        holding = np.zeros(len(view), dtype=np.float32)
        for docs, _ in postings(view, words, None):
            holding[docs] = 1.0
        view.kept[name] = holding
    kept: Scores = view.kept[name]
    return kept
