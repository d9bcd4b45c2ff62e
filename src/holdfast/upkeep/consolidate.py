"""Near duplicates: of several records that say the same, one stands for all.

Two are alike by 0.5 * cosine + 0.5 * exp(-0.1 * hours between them), from 0.85 on; three or more
that are alike become one. No model writes anything: the fullest of them is kept word for word, and
only those go whose every word it holds, with the same numbers, quotations and negations. So nothing
is lost, and what is said as the user's word stays so: different origins are never put together.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from hashlib import blake2b
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from holdfast.language.terms import fold, quoted_strings, terms, words_with_digits
from holdfast.learn.embed import passage_digest, passages
from holdfast.records.parts import to_derived
from holdfast.store.protocols import Store
from holdfast.store.values import without_words
from holdfast.types import Record, Scope
from holdfast.upkeep.plans import TIERS, Act, standing

JOB = "consolidation"
#: The seed's.
ALIKE = 0.85
FEWEST = 3
BATCH = 200
#: Kinds that are never put together.
PROTECTED = frozenset({"correction", "identity", "instruction", "constraint", "conflict"})
#: The kept one may have so many times the words of what it stands for. By hand, not measured.
_GROWTH = 1.5
_A_HOUR = 0.1
_NEGATION = re.compile(r"\b(?:not?|never|none|nothing|nobody|without|nor)\b|n['\u2019]t\b|[不没别]")

Vectors = Mapping[str, NDArray[np.float32]]


class _ComparableText(NamedTuple):
    """What a record says, for comparing."""

    words: frozenset[str]
    #: Numbers, codes and quotations.
    literals: frozenset[str]
    negations: tuple[str, ...]


def affinity(cosine: float, apart: timedelta) -> float:
    """How alike two records are, by meaning and by time."""
    hours = abs(apart) / timedelta(hours=1)
    return 0.5 * cosine + 0.5 * math.exp(-_A_HOUR * hours)


def candidates(records: Iterable[Record]) -> list[Record]:
    """What one night looks at: the newest of what may be put together at all."""
    there = [each for each in standing(records) if _may_merge(each)]
    return sorted(there, key=lambda each: (each.known_from, each.id), reverse=True)[:BATCH]


def plan(records: Iterable[Record], vectors: Vectors) -> list[Act]:
    """Clusters of near duplicates among the candidates, each with what stands for it."""
    groups: dict[tuple[object, ...], list[Record]] = {}
    for each in candidates(records):
        if each.id in vectors:
            groups.setdefault(_teller(each), []).append(each)
    return [
        _merge_act(cluster) for group in groups.values() for cluster in _clusters(group, vectors)
    ]


def vectors_of(
    store: Store, scope: Scope, records: Iterable[Record]
) -> dict[str, NDArray[np.float32]]:
    """The vectors that the store has for the first passages of some records, by id."""
    active = next((each for each in store.spaces() if each.state == "active"), None)
    if active is None:
        return {}
    digests = {each.id: passage_digest(passages(each.content)[0]) for each in records}
    found = store.vectors(scope, active.id, digests=set(digests.values()))
    known = {each.digest: each.data for each in found}
    return {
        id: np.frombuffer(known[digest], dtype="<f4")
        for id, digest in digests.items()
        if digest in known
    }


def _may_merge(record: Record) -> bool:
    """Whether a record may be put together with others at all."""
    free = record.tier in TIERS and record.kind not in PROTECTED and record.quiet < 2
    # What has an end of its own would come back without it.
    free = free and record.valid_to is None and record.data.get("pinned") is not True
    return free and not record.data.get("contradicts")


def _teller(record: Record) -> tuple[object, ...]:
    """Equal for records that one could stand for: the same kind of thing, told by the same."""
    told_by = (record.role, record.name, record.agent, record.visibility, record.origin)
    return (record.tier, record.kind, record.quiet, *told_by)


def _clusters(group: Sequence[Record], vectors: Vectors) -> list[list[Record]]:
    """Each cluster with the one that stands for it first: the fullest, of equals the newest."""
    said = {each.id: _comparable(each.content) for each in group}
    newest_first = sorted(group, key=lambda each: (each.known_from, each.id), reverse=True)
    left = sorted(newest_first, key=lambda each: -len(said[each.id].words))
    found = []
    while len(left) >= FEWEST:
        kept, *others = left
        same = [
            each
            for each in others
            if _covers(said[kept.id], said[each.id]) and _are_alike(kept, each, vectors)
        ]
        if 1 + len(same) >= FEWEST:
            found.append([kept, *same])
            gone = {each.id for each in same}
            left = [each for each in others if each.id not in gone]
        else:
            left = others
    return found


def _are_alike(a: Record, b: Record, vectors: Vectors) -> bool:
    cosine = float(vectors[a.id] @ vectors[b.id])
    return affinity(cosine, a.valid_from - b.valid_from) >= ALIKE


def _comparable(content: str) -> _ComparableText:
    words = frozenset(terms(content))
    literals = frozenset(map(fold, (*quoted_strings(content), *words_with_digits(content))))
    return _ComparableText(words, literals, tuple(sorted(_NEGATION.findall(fold(content)))))


def _covers(full: _ComparableText, other: _ComparableText) -> bool:
    """Whether nothing of the other is lost when only the full one is told."""
    if full.literals != other.literals or full.negations != other.negations or not other.words:
        return False
    return other.words <= full.words and len(full.words) <= _GROWTH * len(other.words)


def _merge_act(cluster: Sequence[Record]) -> Act:
    kept = cluster[0]
    ids = tuple(sorted(each.id for each in cluster))
    sources = tuple(dict.fromkeys(source for each in cluster for source in each.sources))
    reason = f"{len(ids)} near duplicates became one"
    data = {
        **without_words(kept.data),
        "claim": kept.data.get("claim") or kept.id,
        "replaces": list(ids),
        "consolidated_from": list(ids),
    }
    record = replace(
        to_derived(kept, data),
        id=blake2b("/".join(("consolidated", *ids)).encode(), digest_size=16).hexdigest(),
        confidence=max(each.confidence for each in cluster),
        importance=max(each.importance for each in cluster),
        valid_from=max(each.valid_from for each in cluster),
        sources=sources,
        supersedes=ids,
        metadata=None if sources else kept.metadata,
        reason=reason,
    )
    return Act(JOB, "merge", ids, reason, record)
