"""Entities that are taken for one: who belongs together, and what is shown of them.

A merge changes no record. It is here that its two entities become one, in memory alone; so a merge
that is undone leaves nothing behind.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

from holdfast.border.origins import least
from holdfast.language.names.matching import same
from holdfast.language.vocabulary import ANY_ENTITY
from holdfast.records.graph.elements import Entity, Merging, Span


def roots(merges: Iterable[Merging], known: Collection[str]) -> dict[str, str]:
    """For each entity that is one with others, the one that stands for all of them.

    A merge counts while no end of it is known and both of its entities are there.
    """
    parent: dict[str, str] = {}

    def root(each: str) -> str:
        while parent.setdefault(each, each) != each:
            parent[each] = parent[parent[each]]
            each = parent[each]
        return each

    for merge in merges:
        if merge.span.is_open and merge.a in known and merge.b in known:
            low, high = sorted((root(merge.a), root(merge.b)))
            parent[high] = low
    return {each: root(each) for each in parent}


def grouped(
    things: Mapping[str, Entity], merges: Iterable[Merging]
) -> tuple[dict[str, list[str]], dict[str, str]]:
    """The members of each joined entity by its root, in the order of `things`; and the roots."""
    root = roots(merges, things.keys())
    groups: dict[str, list[str]] = {}
    if root:
        for each in things:
            if each in root:
                groups.setdefault(root[each], []).append(each)
    return groups, root


def fullness(name: str) -> tuple[int, int]:
    """How much of a name there is: of several, the fullest is shown."""
    return len(name.split()), len(name)


def fullest(members: Sequence[tuple[str, Entity]]) -> str:
    """The id of the member that is shown: the fullest name, then the one learned first."""
    best = min(
        members,
        key=lambda pair: ([-n for n in fullness(pair[1].name)], pair[1].span.known_us, pair[0]),
    )
    return best[0]


def joined(members: Sequence[tuple[str, Entity]]) -> tuple[str, Entity]:
    """What is shown of several entities that are one, those learned first first; and its id."""
    shown = fullest(members)
    each = [entity for _, entity in members]
    own = dict(members)[shown]
    typed = [e for e in each if e.type != ANY_ENTITY] or [e for e in each if e.subtype] or [own]
    names: dict[str, str] = {}
    for entity in each:
        for name in (entity.name, *entity.aliases):
            names.setdefault(same(name), name)
    names.pop(same(own.name))
    return shown, Entity(
        name=own.name,
        type=typed[0].type,
        subtype=typed[0].subtype,
        aliases=tuple(names.values()),
        summary=own.summary or next((e.summary for e in each if e.summary), ""),
        confidence=max(e.confidence for e in each),
        origin=least([e.origin for e in each]),
        span=_span([e.span for e in each]),
        importance=max(e.importance for e in each),
        sources=tuple(dict.fromkeys(source for e in each for source in e.sources)),
        seen_us=max(e.seen_us for e in each),
        strength=max((e.strength for e in each if e.strength is not None), default=None),
    )


def _span(spans: Sequence[Span]) -> Span:
    """From the first beginning to the last end; what several agents told is nobody's own."""
    agents = {span.agent for span in spans}
    return Span(
        min(span.from_us for span in spans),
        max(span.until_us for span in spans),
        min(span.known_us for span in spans),
        max(span.known_until_us for span in spans),
        agents.pop() if len(agents) == 1 else None,
    )
