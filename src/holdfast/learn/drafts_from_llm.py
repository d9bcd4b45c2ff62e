"""Drafts by a language model: one group of turns, one call, drafts or an error.

    NotAsked, OverBudget   nothing was sent: the group has not been tried; wait `retry_after`
    ModelUnavailable       it may work later
    Refused                the key or the account: an operator must act, then it works
    Unreadable, ModelError the answer or the request is no good; another try may do better

Nothing that the model writes raises anything else. Whatever it wrote, a draft speaks of nothing but
what the model was shown: a name that nobody said there is left out, and so is one that speaks to
the model, one that only an assistant spoke of, and an alias that is not alike to its name. The
model says which turns an item comes from; its authority is the least of theirs.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from datetime import UTC, date, datetime, time, timedelta

from holdfast.border.validate import least
from holdfast.config import Extraction as Settings
from holdfast.errors import Unreadable
from holdfast.language.names import Name, likeness, same
from holdfast.language.regex import regex
from holdfast.language.statements.facts import headline, keywords
from holdfast.language.statements.gates import entity_novelty, importance, novelty, refusal
from holdfast.language.statements.values import BY_USER, CATEGORIES, USERS_OWN, FactDraft
from holdfast.language.terms import terms
from holdfast.language.vocabulary import ANY_ENTITY, Typed, entity_type, sentence
from holdfast.learn.drafts_from_rules import UNSAFE, Drafts
from holdfast.learn.llm_answer import (
    USER,
    AnswerEntity,
    AnswerFact,
    AnswerRelation,
    ExtractedAnswer,
    parse_answer,
)
from holdfast.learn.llm_prompt import (
    MAX_TOKENS,
    MAX_TURNS,
    ExtractionPrompt,
    KnownEntity,
    build,
    groups,
)
from holdfast.models.base import Generated, Generator
from holdfast.models.budget import Breaker, Limit, Paid, Price, Purse
from holdfast.records.graph.check import EntityDraft, RelationDraft
from holdfast.records.graph.resolve import PARTLY, SAME
from holdfast.store.protocols import Spending
from holdfast.types import Event, Scope

_COMPOUND = regex(r"[._@/:+#-]")


class LlmExtractor:
    """Asks a model; several threads may share it."""

    def __init__(
        self,
        generator: Generator,
        *,
        breaker: Breaker,
        purse: Purse,
        max_group_turns: int = MAX_TURNS,
        max_group_tokens: int = MAX_TOKENS,
    ) -> None:
        #: For whoever else has a question to it: the same purse, the same breaker.
        self.model = Paid(generator, breaker, purse)
        self._max_turns = max_group_turns
        self._max_tokens = max_group_tokens

    def groups(self, turns: Sequence[Event]) -> list[list[Event]]:
        """The turns in groups that fit one call each, in order; none is left out."""
        return groups(turns, max_turns=self._max_turns, max_tokens=self._max_tokens)

    def extract(
        self,
        scope: Scope,
        turns: Sequence[Event],
        *,
        user: str,
        earlier: Sequence[Event] = (),
        known: Sequence[KnownEntity] = (),
    ) -> Drafts:
        """What one of the `groups` says; one call at most.

        `user` is the name of the user's own entity; `earlier` and `known` help to understand.
        """
        if not turns:
            return Drafts()
        self.model.breaker.check()  # Before anything is built or charged.
        prompt = build(
            turns,
            earlier=earlier,
            known=known,
            max_turns=self._max_turns,
            max_tokens=self._max_tokens,
        )
        generated = self.model.ask(scope, prompt.system, prompt.text, schema=prompt.schema)
        return drafts_of(prompt, _parse(generated, prompt), user=user)


def make_llm_extractor(
    generator: Generator, account: Spending, settings: Settings, clock: Callable[[], datetime]
) -> LlmExtractor:
    """An extractor that asks this model within the budget and the sizes of the settings."""
    llm = settings.llm
    limit = Limit(llm.daily_calls or None, llm.daily_tokens or None, llm.daily_cost or None)
    price = Price(llm.prompt_price, llm.answer_price)
    return LlmExtractor(
        generator,
        breaker=Breaker(),
        purse=Purse(account, limit=limit, price=price, clock=clock),
        max_group_turns=settings.group_turns,
        max_group_tokens=settings.group_tokens,
    )


def _parse(generated: Generated, prompt: ExtractionPrompt) -> ExtractedAnswer:
    answer = parse_answer(generated.text, turns=prompt.turns, known=prompt.names)
    if answer.cut and not (answer.facts or answer.entities or answer.relations):
        # Not the same as "nothing to remember".
        raise Unreadable("the answer was cut off before its first item")
    return answer


def drafts_of(prompt: ExtractionPrompt, answer: ExtractedAnswer, *, user: str) -> Drafts:
    """The drafts of an answer to a prompt; `user` is the name of the user's own entity."""
    reader = _AnswerDrafts(prompt, answer, user)
    facts = tuple(filter(None, map(reader.fact, answer.facts)))
    relations = tuple(filter(None, map(reader.relation, answer.relations)))
    entities = tuple(reader.entities())
    notes = tuple(f"{count} {what}" for what, count in sorted(reader.left_out.items()))
    return Drafts(
        entities=entities,
        relations=relations,
        facts=facts,
        notes=answer.notes + notes,
        partial=answer.cut or reader.left_out[_UNSAID] > len(entities),
    )


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


def _speech(turn: Event) -> str:
    return f"{turn.name or ''}\n{turn.content}"


class _AnswerDrafts:
    """One answer on its way to drafts."""

    def __init__(self, prompt: ExtractionPrompt, answer: ExtractedAnswer, user: str) -> None:
        self._prompt = prompt
        self._user = user
        self._turns = {alias: _TextNames(_speech(turn)) for alias, turn in prompt.turns.items()}
        talk = [*prompt.earlier, *prompt.turns.values()]
        self._talk = _TextNames("\n".join(map(_speech, talk)))
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
        if refusal(said, origin=origin) in {*UNSAFE, "authority"}:
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
        if refusal(entity.name) in UNSAFE:
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
