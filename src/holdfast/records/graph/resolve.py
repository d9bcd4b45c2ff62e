"""Which known entity a new name means, if any: never a guess, always with the reason.

A name is compared with the few that share a block with it. What is alike enough is the same, unless
several are. A part of a person's name is enough only where nobody else it could mean is known:
"Bob" is Bob Smith until a Bob Jones comes up, then the one that the talk is about (`near`). The
same the other way round: a "Bob" who may be either of them is not Bob Brown when that one comes up.
The resolver decides and explains; to store a merge, or to undo one, is for its caller.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from itertools import chain, islice
from typing import NamedTuple

from holdfast.language.names import (
    SLIP_CHARS,
    Form,
    Likeness,
    Name,
    blocks_of,
    blocks_to_search,
    halves,
    is_slip,
    likeness,
    order_free_key,
    variants,
)
from holdfast.language.vocabulary import ANY_ENTITY

#: Alike enough to be one; enough if nobody else is; so alike that the merely alike do not count.
#: Made on one half of the labelled pairs (docs/howto/entity-resolution.md).
SAME, PARTLY, CERTAIN = 0.9, 0.8, 0.97
#: Bounds of one look: entities of a block, near ones that are compared in any case, entities
#: compared, words of similar spelling tried.
_MOST_IN_BLOCK = 48
_MOST_NEAR = 16
_MOST_COMPARED = 192
_MOST_SPELLINGS = 256
_MOST_SHOWN = 5
AMBIGUOUS = "ambiguous"


class ResolvableEntity(NamedTuple):
    """An entity that names may mean."""

    id: str
    name: Name


class EntityCandidate(NamedTuple):
    """An entity that a name could mean."""

    id: str
    likeness: Likeness


class Resolution(NamedTuple):
    """What a name means: an entity, or None for a new one; and what was weighed."""

    id: str | None
    score: float
    evidence: tuple[str, ...]
    #: Best first.
    candidates: tuple[EntityCandidate, ...] = ()


class Resolver:
    """The names of one owner's entities, filed so that a new one meets only those it could be.

    One made over another (`base`) knows all that it knows, and leaves it as it is.
    """

    def __init__(
        self,
        entities: Iterable[ResolvableEntity] = (),
        *,
        threshold: float = SAME,
        partly: float = PARTLY,
        base: Resolver | None = None,
    ) -> None:
        self._threshold = threshold
        self._partly = partly
        self._base = base
        #: None: not meant any more.
        self._known: dict[str, Name | None] = {}
        self._blocks: dict[str, list[str]] = {}
        #: End of a word -> the words that have it.
        self._spelled: dict[str, list[str]] = {}
        self._words: set[str] = set()
        for entity in entities:
            self.add(entity)

    def __len__(self) -> int:
        own = sum(name is not None for name in self._known.values())
        return own if self._base is None else own + sum(e not in self._known for e in self._base)

    def __iter__(self) -> Iterator[str]:
        return (each for each, name in self._known.items() if name is not None)

    def add(self, entity: ResolvableEntity) -> None:
        """File an entity, or what it is called from now on."""
        is_known = entity.id in self._known
        if is_known and self._known[entity.id] == entity.name:
            return
        self._known[entity.id] = entity.name
        for form in _forms(entity.name):
            for key in blocks_of(form, entity.name.type):
                block = self._blocks.setdefault(key, [])
                if entity.id not in (block if is_known else block[-1:]):
                    block.append(entity.id)
            for word in form.words:
                self._spell(word)

    def discard(self, id: str) -> None:
        """Forget an entity: no name means it any more."""
        if self.name(id) is not None:
            self._known[id] = None

    def name(self, id: str) -> Name | None:
        """What an entity is called; None for one that is not known."""
        if id in self._known or self._base is None:
            return self._known.get(id)
        return self._base.name(id)

    def resolve(
        self,
        name: str,
        type: str = ANY_ENTITY,
        aliases: Iterable[str] = (),
        near: Collection[str] = (),
        *,
        among: Callable[[str], bool] | None = None,
    ) -> Resolution:
        """The entity that a name means. `near` are entities that the same session speaks of, the
        nearest first; `among` tells which ones may be meant at all."""
        new = Name(name, type, tuple(aliases))
        found = self._compared(new, near, among)
        shown = tuple(found[:_MOST_SHOWN])
        if not found:
            return Resolution(None, 0.0, ("nothing alike",), shown)
        best = found[0].likeness.score
        floor = self._threshold if best >= self._threshold else self._partly
        if best >= CERTAIN:
            floor = best
        rivals = [each for each in found if each.likeness.score >= floor]
        if not rivals:
            return Resolution(None, best, ("not alike enough",), shown)
        if len(rivals) == 1 and best < self._threshold:
            others = self._meant_by(rivals[0].id, new, among)
            if others:
                return Resolution(None, best, (AMBIGUOUS, f"it may mean {others} more"), shown)
        return self._chosen(rivals, near, shown)

    def _meant_by(self, id: str, new: Name, among: Callable[[str], bool] | None) -> int:
        """How many others a known name that is less full than the new one may mean."""
        known = self.name(id)
        if known is None or _size(known) >= _size(new):
            return 0
        found = self._compared(known, (), among)
        return sum(each.id != id and each.likeness.score >= self._partly for each in found)

    def _chosen(
        self,
        rivals: list[EntityCandidate],
        near: Collection[str],
        shown: tuple[EntityCandidate, ...],
    ) -> Resolution:
        score, evidence = rivals[0].likeness
        if len(rivals) == 1:
            if score < self._threshold:
                evidence = (*evidence, "nobody else is called so")
            return Resolution(rivals[0].id, score, evidence, shown)
        here = [each for each in rivals if each.id in near]
        if len(here) == 1:
            score, evidence = here[0].likeness
            return Resolution(here[0].id, score, (*evidence, "spoken of nearby"), shown)
        return Resolution(None, score, (AMBIGUOUS, f"{len(rivals)} are called so"), shown)

    def _compared(
        self, new: Name, near: Collection[str], among: Callable[[str], bool] | None
    ) -> list[EntityCandidate]:
        """Those who are anything like a name, best first, ties by id."""

        def may_be(each: str) -> bool:
            return self.name(each) is not None and (among is None or among(each))

        ids = dict.fromkeys(islice(filter(may_be, near), _MOST_NEAR))
        for key in self._sought(new):
            if len(ids) >= _MOST_COMPARED:
                break
            ids.update(dict.fromkeys(islice(filter(may_be, self._filed(key)), _MOST_IN_BLOCK)))
        named = ((each, self.name(each)) for each in ids)
        weighed = (EntityCandidate(each, likeness(new, name)) for each, name in named if name)
        alike = (each for each in weighed if each.likeness.score > 0)
        return sorted(alike, key=lambda each: (-each.likeness.score, each.id))

    def _filed(self, key: str) -> Iterable[str]:
        own = self._blocks.get(key, ())
        return own if self._base is None else chain(own, self._base._filed(key))

    def _spelled_so(self, end: str) -> Iterable[str]:
        own = self._spelled.get(end, ())
        return own if self._base is None else chain(own, self._base._spelled_so(end))

    def _sought(self, name: Name) -> Iterator[str]:
        """The blocks to look in, the telling ones first."""
        forms = _forms(name)
        for form in forms:
            yield from blocks_to_search(form, name.type)
        for form in forms:
            yield from self._respelled(form)

    def _respelled(self, form: Form) -> Iterator[str]:
        """A name with one of its words as another name spells it."""
        for place, word in enumerate(form.words):
            for other in sorted(self._similar(word)):
                yield order_free_key((*form.words[:place], other, *form.words[place + 1 :]))

    def _similar(self, word: str) -> set[str]:
        if len(word) < SLIP_CHARS:
            return set()
        # One letter more or less: as a word of that length would be cut.
        lengths = range(len(word) - 1, len(word) + 2)
        ends = (end for length in lengths for end in halves(word, length))
        tried = (other for end in ends for other in islice(self._spelled_so(end), _MOST_SPELLINGS))
        return {other for other in tried if other != word and is_slip(word, other)}

    def _spell(self, word: str) -> None:
        if len(word) < SLIP_CHARS or word in self._words:
            return
        self._words.add(word)
        for end in halves(word, len(word)):
            self._spelled.setdefault(end, []).append(word)


def _forms(name: Name) -> list[Form]:
    return [form for text in (name.text, *name.aliases) for form in variants(text, name.type)]


def _size(name: Name) -> int:
    """Letters of the fullest name."""
    return max((sum(map(len, form.words)) for form in _forms(name)), default=0)
