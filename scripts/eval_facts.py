"""How often reconciliation is right, on pairs of our own (`tests/records/facts`).

    python -m scripts.eval_facts [--errors]

Each pair goes through the planning of facts as they are stored, with the shipped embedder and
without a language model. Printed: accuracy by half and class, how many refinements took the place
of what they refine, and how often something was ended that should have stayed.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from holdfast.language.statements.values import FactDraft
from holdfast.models.local import LocalEmbedder
from holdfast.records.facts.follow import OwnerFacts
from holdfast.records.facts.plan import Alike, Embed, FactPlan, Tools
from holdfast.records.facts.reconcile import ENDS, Outcome
from holdfast.types import Scope
from tests.records.facts import more_pairs
from tests.records.facts.pairs import EXPECTED as OF_PAIRS
from tests.records.facts.pairs import PAIRS, Pair

EXPECTED = {**OF_PAIRS, **more_pairs.EXPECTED}

_FIRST = datetime(2026, 3, 2, 12, tzinfo=UTC)
_MONTH = timedelta(days=30)


@dataclass(frozen=True, slots=True)
class Judged:
    """What became of a pair."""

    pair: Pair
    outcome: Outcome

    @property
    def is_right(self) -> bool:
        """As expected, and linked where and only where both statements disagree."""
        linked = bool(self.outcome.contradicts)
        needs_link = self.pair.relation == "contradiction" and self.outcome.action == "add"
        is_fine = linked if needs_link else not (linked and self.pair.relation == "unrelated")
        return self.outcome.action in EXPECTED[self.pair.relation] and is_fine

    @property
    def is_harmful(self) -> bool:
        """Whether something was ended that should have stayed."""
        ended = self.outcome.action in ENDS
        return ended and self.outcome.action not in EXPECTED[self.pair.relation]


def judged(pairs: Sequence[Pair], embed: Embed) -> list[Judged]:
    """What becomes of each pair, each in a memory of its own."""
    return [Judged(pair, _outcome(pair, Alike(embed))) for pair in pairs]


def _outcome(pair: Pair, alike: Alike) -> Outcome:
    tools = Tools(exists=lambda _: False, likeness=alike.likeness)
    plan = FactPlan(OwnerFacts(), Scope("default", "somebody-1"), _FIRST + _MONTH, tools)
    plan.add(_draft(pair.known, "1", _FIRST))
    later = _FIRST if pair.at_once else _FIRST + _MONTH
    return plan.add(_draft(pair.said, "2", later)).outcome


def _draft(text: str, source: str, at: datetime) -> FactDraft:
    return FactDraft(text, "context", (source,), "user", at)


def main(arguments: Sequence[str]) -> int:
    """Print the figures; 1 when something was ended that should have stayed."""
    embed = LocalEmbedder().embed
    results = judged(PAIRS, embed)
    more = judged(more_pairs.MORE_PAIRS, embed)
    print(f"{len(results)} pairs")
    _print_halves(results)
    refined = [each for each in results if each.pair.relation == "refinement"]
    updates = sum(each.outcome.action == "update" for each in refined)
    print(f"refinements that took the old one's place: {updates} of {len(refined)}; else both stay")
    print(f"{len(more)} more: changes, and what only looks like one")
    _print_halves(more)
    harmful = [each for each in [*results, *more] if each.is_harmful]
    print(f"wrongly ended: {len(harmful)}")
    if "--errors" in arguments:
        _print_errors([*results, *more])
    return 1 if harmful else 0


def _print_halves(results: Sequence[Judged]) -> None:
    for half in ("dev", "held"):
        print(f"{half}:")
        ours = [each for each in results if each.pair.half == half]
        for relation in dict.fromkeys(each.pair.relation for each in ours):
            right = [each.is_right for each in ours if each.pair.relation == relation]
            print(f"  {relation:14} {sum(right):3} of {len(right):3}")
        print(f"  accuracy       {sum(each.is_right for each in ours) / len(ours):.3f}")


def _print_errors(results: Sequence[Judged]) -> None:
    for each in results:
        if not each.is_right:
            told = f"{each.outcome.action} ({each.outcome.reason})"
            print(f"  {each.pair.relation}: {each.pair.known} | {each.pair.said} -> {told}")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
