"""What `graph.write` answers: ids, and how much of it is new."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict

from holdfast.language.vocabulary import key
from holdfast.records.graph.adjacency import Adjacency
from holdfast.records.graph.plan import Plan
from holdfast.types import GraphReceipt


def receipt(
    plan: Plan,
    given: Sequence[str | None],
    edges: Sequence[str | None],
    warnings: Sequence[str],
) -> GraphReceipt:
    """The receipt of a call. Entities that are one count as one, as do edges that say the same."""
    graph = plan.graph
    named = {*plan.entities, *(each for merge in plan.merges.values() for each in merge.ids)}
    known = {plan.shown(each): graph.numbers[each] for each in named if each in graph.numbers}
    things = {plan.shown(each) for each in plan.entities}
    claims: dict[tuple[str, str, str], bool] = {}
    for edge in plan.relations.values():
        ends = plan.shown(edge.source), plan.shown(edge.target)
        said = key(edge.type.original or edge.type.type)
        is_known = edge.before is not None or _is_told(graph, ends, said, known)
        claims[ends[0], said, ends[1]] = is_known
    created = len(things - known.keys()) + sum(not each for each in claims.values())
    first = [plan.shown(each) for each in given if each is not None]
    return GraphReceipt(
        entities=tuple(first + [each for each in _shown(plan) if each not in set(first)]),
        edges=tuple(each for each in edges if each is not None),
        created=created,
        reinforced=len(things) + len(claims) - created,
        warnings=tuple(warnings),
    )


def noted(told: GraphReceipt) -> str:
    """A receipt as a text, to be given again."""
    return json.dumps(asdict(told))


def told_before(text: str) -> GraphReceipt:
    """The receipt that was noted."""
    fields = json.loads(text)
    for name in ("entities", "edges", "warnings"):
        fields[name] = tuple(fields[name])
    return GraphReceipt(**fields)


def _shown(plan: Plan) -> list[str]:
    return list(dict.fromkeys(map(plan.shown, plan.entities)))


def _is_told(graph: Adjacency, ends: tuple[str, str], said: str, known: Mapping[str, int]) -> bool:
    """Whether an edge was there that says the same between the same two, as they are joined now."""
    source, target = (known.get(each, graph.numbers.get(each, -1)) for each in ends)
    if source < 0 or target < 0:
        return False
    out = slice(graph.first[source], graph.first[source + 1])
    for edge in graph.ways[out][graph.ends[out] == target].tolist():
        type, original = graph.relations[edge].type, graph.relations[edge].original
        is_same = graph.source[edge] == source and key(original or type) == said
        if is_same and graph.is_open(edge):
            return True
    return False
