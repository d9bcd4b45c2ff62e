"""What was understood of a group of turns, as drafts for the graph; and how an answer becomes them.

Whatever the model wrote, a draft speaks of nothing but what the model was shown: a name that nobody
said there is left out, and so is one that speaks to the model, one that only an assistant spoke of,
and an alias that is not alike to its name. The model says which turns an item comes from; its
authority is the least of theirs.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime, time, timedelta

from holdfast.border.origins import least
from holdfast.language.names.matching import Name, likeness, same
from holdfast.language.statements.facts import headline, keywords
from holdfast.language.statements.gates import entity_novelty, importance, novelty, refusal
from holdfast.language.statements.values import BY_USER, CATEGORIES, USERS_OWN, FactDraft
from holdfast.language.terms import fold, terms
from holdfast.language.vocabulary import ANY_ENTITY, Typed, entity_type, sentence
from holdfast.learn.llm.answer import (
    USER,
    AnswerEntity,
    AnswerFact,
    AnswerRelation,
    ExtractedAnswer,
)
from holdfast.learn.llm.prompt import ExtractionPrompt
from holdfast.models.base import TokenUsage
from holdfast.records.graph.check import EntityDraft, RelationDraft
from holdfast.records.graph.resolve import PARTLY, SAME
from holdfast.types import Event

#: What must not even become the name of something.
_UNSAFE = frozenset({"injection", "grant"})
_COMPOUND = re.compile(r"[._@/:+#-]")


@dataclass(frozen=True, slots=True)
class Drafted:
    """What was understood of one group of turns."""

    entities: tuple[EntityDraft, ...] = ()
    relations: tuple[RelationDraft, ...] = ()
    facts: tuple[FactDraft, ...] = ()
    usage: TokenUsage = field(default_factory=TokenUsage)
    #: What was left out and why, without quoting any of it.
    notes: tuple[str, ...] = ()
    #: The answer was cut off, or named mostly what nobody said: a second reader may find more.
    partial: bool = False

    def also(self, other: Drafted) -> Drafted:
        """With what another reader of the same turns found. Of one entity or relation both drafts
        stand, for the graph joins them; of facts that say the same with the same authority the
        first."""
        told = {_claim(fact) for fact in self.facts}
        more = tuple(fact for fact in other.facts if _claim(fact) not in told)
        return replace(
            self,
            entities=self.entities + other.entities,
            relations=self.relations + other.relations,
            facts=self.facts + more,
        )


def drafted(prompt: ExtractionPrompt, answer: ExtractedAnswer, *, user: str) -> Drafted:
    """The drafts of an answer to a prompt; `user` is the name of the user's own entity."""
    drafting = _Drafting(prompt, answer, user)
    facts = tuple(filter(None, map(drafting.fact, answer.facts)))
    relations = tuple(filter(None, map(drafting.relation, answer.relations)))
    entities = tuple(drafting.entities())
    notes = tuple(f"{count} {what}" for what, count in sorted(drafting.left_out.items()))
    return Drafted(
        entities=entities,
        relations=relations,
        facts=facts,
        notes=answer.notes + notes,
        partial=answer.cut or drafting.left_out[_UNSAID] > len(entities),
    )


def _claim(fact: FactDraft) -> tuple[str, str]:
    return fold(fact.text).rstrip(".!。！ "), fact.origin


_UNSAID = "names that nobody said"


class _TextNames:
    """A text, asked for names."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._folded = same(text)
        self.words = _words(text)

    def says(self, name: str) -> bool:
        """Whether all words of a name are in the text, in whatever form."""
        if words := _words(name):
            return words <= self.words or (not name.isascii() and same(name) in self._folded)
        # Of stop words or marks alone: "US", "!!!"; only its very letters tell.
        return re.search(rf"(?<!\w){re.escape(name)}(?!\w)", self._text) is not None


def _words(text: str) -> frozenset[str]:
    return frozenset(term for term in terms(text) if not _COMPOUND.search(term))


def _spoken(turn: Event) -> str:
    return f"{turn.name or ''}\n{turn.content}"


class _Drafting:
    """One answer on its way to drafts."""

    def __init__(self, prompt: ExtractionPrompt, answer: ExtractedAnswer, user: str) -> None:
        self._prompt = prompt
        self._user = user
        self._turns = {alias: _TextNames(_spoken(turn)) for alias, turn in prompt.turns.items()}
        talk = [*prompt.earlier, *prompt.turns.values()]
        self._talk = _TextNames("\n".join(map(_spoken, talk)))
        self._known = [_TextNames("\n".join((k.name, *k.aliases))) for k in prompt.known.values()]
        self.left_out: Counter[str] = Counter()
        #: Reference -> the entity of the answer that may be named.
        self._entities = {each.ref: each for each in answer.entities if self._may_name(each)}
        #: Reference -> the turns that are cited for it, and how much what they tell matters.
        self._cited: dict[str, set[str]] = {}
        self._matters: dict[str, float] = {}

    def fact(self, fact: AnswerFact) -> FactDraft | None:
        turns = fact.turns or tuple(self._turns)
        origin = self._origin(turns)
        if reason := refusal(fact.text, origin=origin, durable=fact.durable):
            self.left_out[f"facts refused ({reason})"] += 1
            return None
        named = {ref: name for ref in fact.entities if (name := self._name(ref))}
        matters = self._importance(fact.text, named.values())
        self._cite(named, fact.turns, matters)
        events = [self._prompt.turns[alias] for alias in turns]
        speaker = min(events, key=lambda each: (each.at, each.arrival))
        return FactDraft(
            text=fact.text,
            category=_category(fact.kind, origin),
            sources=self._ids(turns),
            origin=origin,
            at=speaker.at,
            headline=headline(fact.headline or fact.text),
            keywords=keywords(fact.text),
            entities=tuple(named.values()),
            confidence=fact.confidence,
            importance=matters,
            on=fact.on,
            due=_due(fact),
            avoid=fact.avoid,
            verbatim=False,
            role=speaker.role,
            name=speaker.name,
        )

    def relation(self, relation: AnswerRelation) -> RelationDraft | None:
        source, target = self._name(relation.source), self._name(relation.target)
        if source is None or target is None or same(source) == same(target):
            self.left_out["relations without two ends"] += 1
            return None
        turns = relation.turns or tuple(self._turns)
        origin = self._origin(turns)
        said = sentence(source, *relation.type, target)
        if refusal(said, origin=origin) in {*_UNSAFE, "authority"}:
            self.left_out["relations that give orders"] += 1
            return None
        matters = self._importance(said, (source, target))
        self._cite((relation.source, relation.target), relation.turns, matters)
        return RelationDraft(
            source=source,
            type=relation.type,
            target=target,
            confidence=relation.confidence,
            at=min(self._prompt.turns[alias].at for alias in turns),
            sources=self._ids(turns),
            origin=origin,
            importance=matters,
        )

    def entities(self) -> Iterator[EntityDraft]:
        """Those that the answer lists, and those that its facts and relations speak of."""
        for ref in dict.fromkeys((*self._entities, *self._cited)):
            name = self._name(ref)
            if name is None:
                continue
            entity = self._entities.get(ref)
            type = self._type(ref, entity)
            others = [] if entity is None else [entity.name, *entity.aliases]
            aliases, parts = self._aliases(name, type, others)
            yield self._entity(ref, name, type, aliases)
            # Whose first name it is depends on who else is known: not for the model to say.
            for part in parts:
                yield self._entity(ref, part, type)

    def _entity(self, ref: str, name: str, type: Typed, aliases: Sequence[str] = ()) -> EntityDraft:
        cited = self._cited.get(ref, set())
        saying = self._saying(name)
        by_user = [alias for alias in saying if self._is_users(alias)]
        known = {*cited, *by_user} or set(saying)
        turns = [alias for alias in self._turns if alias in known] or list(self._turns)
        told = "\n".join(self._prompt.turns[alias].content for alias in turns)
        matters = self._matters.get(ref)
        return EntityDraft(
            name=name,
            type=type,
            aliases=tuple(aliases),
            sources=self._ids(turns),
            origin=self._origin(turns),
            importance=self._importance(told, (name,)) if matters is None else matters,
        )

    def _saying(self, name: str) -> list[str]:
        return [alias for alias, said in self._turns.items() if said.says(name)]

    def _is_users(self, alias: str) -> bool:
        return self._prompt.turns[alias].role == "user"

    def _importance(self, text: str, named: Collection[str]) -> float:
        known = [self._user, *(each.name for each in self._prompt.known.values())]
        new = novelty(entity_novelty(named, known), 1.0)
        return importance(text, novelty=new, entities=len(named)).score

    def _type(self, ref: str, entity: AnswerEntity | None) -> Typed:
        if ref in self._prompt.known:
            known = entity_type(self._prompt.known[ref].type)
            return known if entity is None or known.type != ANY_ENTITY else entity.type
        return Typed("person") if entity is None else entity.type  # The user is none of both.

    def _name(self, ref: str) -> str | None:
        """The name behind a reference; None for what was not shown or is left out."""
        if ref == USER:
            return self._user
        if ref in self._prompt.known:
            return self._prompt.known[ref].name
        entity = self._entities.get(ref)
        return None if entity is None else entity.name

    def _may_name(self, entity: AnswerEntity) -> bool:
        if entity.ref in self._prompt.known:
            return True
        if refusal(entity.name) in _UNSAFE:
            self.left_out["names that give orders"] += 1
            return False
        if not self._is_shown(entity.name):
            return False
        saying = self._saying(entity.name)
        if saying and not any(map(self._is_users, saying)):
            self.left_out["names that only others spoke of"] += 1
            return False
        return True

    def _is_shown(self, name: str) -> bool:
        shown = self._talk.says(name) or any(known.says(name) for known in self._known)
        if not shown:
            self.left_out[_UNSAID] += 1
        return shown

    def _aliases(
        self, name: str, type: Typed, others: Sequence[str]
    ) -> tuple[list[str], list[str]]:
        """Of other names for an entity those that surely mean it, and those that may."""
        taken = {same(each.name) for each in self._prompt.known.values()} | {same(self._user)}
        taken |= {same(each.name) for each in self._entities.values()} | {same(name)}
        aliases: list[str] = []
        parts: list[str] = []
        for other in {same(each): each for each in others if same(each) not in taken}.values():
            score = likeness(Name(name, type.type), Name(other, type.type)).score
            if score < PARTLY:
                self.left_out["aliases that are not alike"] += 1
            elif self._is_shown(other):
                (aliases if score >= SAME else parts).append(other)
        return aliases, parts

    def _cite(self, refs: Iterable[str], turns: Sequence[str], matters: float) -> None:
        for ref in refs:
            self._cited.setdefault(ref, set()).update(turns)
            self._matters[ref] = max(matters, self._matters.get(ref, 0.0))

    def _ids(self, turns: Iterable[str]) -> tuple[str, ...]:
        return tuple(self._prompt.turns[alias].id for alias in turns)

    def _origin(self, turns: Iterable[str]) -> str:
        return least(self._prompt.turns[alias].origin for alias in turns)


def _category(kind: str, origin: str) -> str:
    """The category of a kind; what only the user can say of themselves is `other` from others."""
    category = kind if kind in CATEGORIES else "other"
    return "other" if category in USERS_OWN and origin not in BY_USER else category


def _due(fact: AnswerFact) -> datetime | None:
    """The end of the day by which a plan is to be done."""
    if fact.due is None or fact.due == date.max:
        return None
    return datetime.combine(fact.due + timedelta(days=1), time(), UTC)
