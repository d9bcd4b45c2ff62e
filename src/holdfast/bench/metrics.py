"""How good a ranking is, judged by the turns that answer the question.

recall@k      share of the evidence among the first k turns
all@10        1 when all of the evidence is among the first ten
ndcg@10       gain 1 a turn of evidence, discount log2(rank + 1), over that of the best ranking
mrr           1 / rank of the first turn of evidence, 0 when it is not among the first 20
tokens@N      share of the evidence inside a context of N tokens
full@N        the same, only of what the context tells in full

Of several turns of evidence the newest counts more where they say different things of one matter:
how often it comes before all older ones is told apart (`Latest`).
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

CUTS = (5, 10, 20)
BUDGETS_TOKENS = (1000, 2000, 4000)
RANKING = (*(f"recall@{cut}" for cut in CUTS), "all@10", "ndcg@10", "mrr")
NAMES = (*RANKING, *(f"tokens@{budget}" for budget in BUDGETS_TOKENS))
#: Its questions mislead on purpose: reported apart, and not part of the whole.
ADVERSARIAL = "adversarial"
OVERALL = "all"

_FIRST = 10

Scores = dict[str, float]


@dataclass(frozen=True, slots=True)
class ScoredHit:
    """One hit: the turns it comes from, most relevant first, and what it costs in a context."""

    turns: tuple[str, ...]
    tokens: int


@dataclass(frozen=True, slots=True)
class CategoryMeans:
    """The means of a category."""

    category: str
    questions: int
    means: Scores


@dataclass(frozen=True, slots=True)
class Latest:
    """How often the newest of several turns of evidence came before all older ones."""

    category: str
    #: Those with several turns of evidence of which one was found; those of which none was.
    questions: int
    missed: int
    share: float


def newest_first(turns: Sequence[str], evidence: Collection[str], newest: str) -> bool | None:
    """Whether the newest turn of evidence comes before all others of it, if any was found."""
    wanted = set(evidence)
    first = next((turn for turn in turns[: CUTS[-1]] if turn in wanted), None)
    return None if first is None else first == newest


def latest(judged: Iterable[tuple[str, bool | None]]) -> list[Latest]:
    """By category, by name: what `newest_first` said of its questions."""
    groups: dict[str, list[bool | None]] = {}
    for category, is_first in judged:
        groups.setdefault(category, []).append(is_first)
    rows = []
    for category in sorted(groups):
        found = [float(each) for each in groups[category] if each is not None]
        rows.append(Latest(category, len(found), len(groups[category]) - len(found), mean(found)))
    return rows


def ranking_scores(turns: Sequence[str], evidence: Collection[str]) -> Scores:
    """The metrics of a ranking for one question, which must have evidence."""
    wanted = set(evidence)
    ranks = [rank for rank, turn in enumerate(turns[: CUTS[-1]], 1) if turn in wanted]
    scores = {f"recall@{cut}": _within(ranks, cut) / len(wanted) for cut in CUTS}
    scores["all@10"] = float(_within(ranks, _FIRST) == len(wanted))
    ideal = range(1, min(len(wanted), _FIRST) + 1)
    scores["ndcg@10"] = _gain(rank for rank in ranks if rank <= _FIRST) / _gain(ideal)
    scores["mrr"] = 1 / ranks[0] if ranks else 0.0
    return scores


def coverage(
    inside: Mapping[int, Collection[str]], evidence: Collection[str], *, name: str = "tokens"
) -> Scores:
    """The share of the evidence among the turns inside each budget."""
    wanted = set(evidence)
    return {
        f"{name}@{budget}": len(wanted.intersection(turns)) / len(wanted)
        for budget, turns in inside.items()
    }


def turns_best_first(found: Iterable[Sequence[str]]) -> tuple[str, ...]:
    """The turns of the hits, best first, each once: at its first place."""
    return tuple(dict.fromkeys(turn for turns in found for turn in turns))


def turns_that_fit(found: Sequence[ScoredHit], *, budget_tokens: int) -> set[str]:
    """The turns of the hits that fit: in order, each whole; one that does not fit is skipped."""
    left, inside = budget_tokens, set[str]()
    for hit in found:
        if hit.tokens <= left:
            left -= hit.tokens
            inside.update(hit.turns)
    return inside


def by_category(scored: Iterable[tuple[str, Scores]]) -> list[CategoryMeans]:
    """A row for the whole, then one a category by name; the adversarial stands last, apart."""
    groups: dict[str, list[Scores]] = {}
    for category, scores in scored:
        groups.setdefault(category, []).append(scores)
    apart = groups.pop(ADVERSARIAL, None)
    whole = [scores for group in groups.values() for scores in group]
    rows = [_row(OVERALL, whole)] if whole else []
    rows += [_row(category, groups[category]) for category in sorted(groups)]
    return rows + ([_row(ADVERSARIAL, apart)] if apart else [])


def percentile(values: Sequence[float], percent: float) -> float:
    """The smallest value that at least `percent` of them do not exceed; 0 for none."""
    if not values:
        return 0.0
    return sorted(values)[max(math.ceil(len(values) * percent / 100) - 1, 0)]


def mean(values: Sequence[float]) -> float:
    """0 for none."""
    return sum(values) / len(values) if values else 0.0


def _row(category: str, group: Sequence[Scores]) -> CategoryMeans:
    means = {name: mean([scores[name] for scores in group]) for name in group[0]}
    return CategoryMeans(category, len(group), means)


def _within(ranks: Sequence[int], cut: int) -> int:
    return sum(rank <= cut for rank in ranks)


def _gain(ranks: Iterable[int]) -> float:
    return sum(1 / math.log2(rank + 1) for rank in ranks)
