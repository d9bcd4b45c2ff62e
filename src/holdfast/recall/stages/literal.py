"""Literal protection: who asks for "INV-2026-0417" wants the memory that holds it, first.

A literal is a quoted string, a word with a digit in it, or a word so rare that it names one thing.
A literal that many memories hold singles nothing out and protects nothing.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from holdfast.index.resident import View
from holdfast.language.terms import fold, terms
from holdfast.recall.query import Query
from holdfast.recall.sources.bm25 import postings
from holdfast.recall.stages.stage import Candidate, by_score

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


def held_literals(
    view: View,
    query: Query,
    holders: Mapping[str, NDArray[np.int32]],
    visible: NDArray[np.bool_] | None,
    content: Callable[[Sequence[int]], Mapping[int, str]],
) -> dict[int, HeldLiterals]:
    """Document -> the literals it holds. `content` reads the text of a few documents."""
    found: dict[int, HeldLiterals] = {}
    size = len(view) if visible is None else int(np.count_nonzero(visible))
    most = max(_FEW, int(_SHARE * size))
    for literal, docs in _wanted(view, query, holders, visible, size):
        exact = docs.tolist()
        if literal in query.quoted:
            exact = _to_the_letter(exact, literal, most, content)
        if not exact or len(exact) > most:
            continue
        weight = math.log(1 + size / len(exact))
        for doc in exact:
            before = found.get(doc, HeldLiterals((), 0.0))
            found[doc] = HeldLiterals((*before.literals, literal), before.weight + weight)
    return found


def protected(
    candidates: list[Candidate],
    held: Mapping[int, HeldLiterals],
    scores: NDArray[np.floating[Any]],
) -> list[Candidate]:
    """The upper half of the scale belongs to those that hold a literal, found before or not."""
    if not held:
        return candidates
    heaviest = max(each.weight for each in held.values())
    found = {each.doc for each in candidates}
    others = [doc for doc in held if doc not in found]
    if len(others) > _MOST_ADDED:
        others.sort(key=lambda doc: (-held[doc].weight, -scores[doc]))
    missing = [Candidate(doc, float(scores[doc])) for doc in others[:_MOST_ADDED]]
    return by_score([_lift(each, held.get(each.doc), heaviest) for each in missing + candidates])


def _lift(candidate: Candidate, literal: HeldLiterals | None, heaviest: float) -> Candidate:
    if literal is None:
        return Candidate(candidate.doc, 0.5 * candidate.score, candidate.notes)
    # The more it is singled out the higher; the fused score decides among equals.
    score = 0.5 + 0.25 * literal.weight / heaviest + 0.25 * candidate.score
    return candidate.scored(score, "literal", list(literal.literals))


def _wanted(
    view: View,
    query: Query,
    holders: Mapping[str, NDArray[np.int32]],
    visible: NDArray[np.bool_] | None,
    size: int,
) -> list[tuple[str, NDArray[np.int32]]]:
    """(literal, documents): quoted strings, coded words, and in a large store rare words."""
    # A short number is a name among thousands of like texts; in a small store it is a coincidence.
    coded = [each for each in query.coded if size >= _LARGE or len(each) > _SHORT_NUMBER]
    literals = (*query.quoted, *coded)[:_MOST_LITERALS]
    blind = [each for each in literals if not terms(each)]  # "The Who": stop words alone.
    wanted = {
        literal: _holding_all(view, terms(literal), holders, visible)
        for literal in literals
        if literal not in blind
    }
    wanted |= {literal: _newest(view, visible) for literal in blind[:_MOST_BLIND]}
    if size >= _LARGE:
        rare = max(1, int(_RARE_SHARE * size))
        for term, docs in holders.items():
            if 0 < len(docs) <= rare:
                wanted.setdefault(term, docs)
    if visible is not None:  # Terms were counted over more than the caller's filters let through.
        wanted = {literal: docs[visible[docs]] for literal, docs in wanted.items()}
    return list(wanted.items())


def _newest(view: View, visible: NDArray[np.bool_] | None) -> NDArray[np.int32]:
    docs = np.arange(len(view)) if visible is None else np.flatnonzero(visible)
    return docs[-_READ_BLINDLY:].astype(np.int32)


def _holding_all(
    view: View,
    words: Sequence[str],
    holders: Mapping[str, NDArray[np.int32]],
    visible: NDArray[np.bool_] | None,
) -> NDArray[np.int32]:
    """Documents that hold all these terms."""
    missing = [word for word in words if word not in holders]
    found = dict(zip(missing, postings(view, missing, visible), strict=True))
    lists = [holders[word] if word in holders else found[word][0] for word in words]
    lists.sort(key=len)
    docs = lists[0] if lists else np.empty(0, dtype=np.int32)
    for more in lists[1:]:
        docs = np.intersect1d(docs, more, assume_unique=True)
    return docs


def _to_the_letter(
    docs: Sequence[int],
    literal: str,
    most: int,
    content: Callable[[Sequence[int]], Mapping[int, str]],
) -> list[int]:
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
