"""A model's answer -> facts, entities and relations, or `Unreadable` with the reason.

Whatever an answer looks like, what comes out is typed, bounded and about nothing but what the model
was shown: an alias that it was not given is left out, never guessed. What is left out is counted in
`notes`, in words that quote nothing of the text. An answer that says "nothing found" is empty; one
that cannot be read is an error, so that the two are never taken for each other.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date

from holdfast.errors import Unreadable
from holdfast.language.names import Name, likeness
from holdfast.language.regex import regex
from holdfast.language.statements.values import CATEGORIES
from holdfast.language.terms import fold
from holdfast.language.vocabulary import ANY_ENTITY, Typed, entity_type, key, relation_type
from holdfast.learn.lenient_json import find_values

# ----------------------------------------------------------------------
# Where in a model's answer the items are: its sections, whatever it calls them.
#
# An answer may be a mapping of lists, one list, a list in a wrapper, a mapping in a string, one
# item alone, or several of these with prose between. This module finds the items; what they say
# is read by `answer`.
# ----------------------------------------------------------------------

SECTIONS: Mapping[str, tuple[str, ...]] = {
    "facts": (
        "facts",
        "fact",
        "memories",
        "statements",
        "new_facts",
        "newfacts",
        "items",
        "insights",
    ),
    "entities": ("entities", "entity", "nodes", "people", "entity_list"),
    "relations": ("relations", "relation", "relationships", "edges", "triples", "links"),
}

#: What models call the parts of an item, the best name first.
TEXT = ("text", "fact", "content", "statement", "memory", "sentence", "value", "description")
NAME = ("name", "entity", "label", "title")
SOURCE = ("source", "subject", "from", "head", "src", "source_entity", "start")
TARGET = ("target", "object", "to", "tail", "dst", "target_entity", "end")

_THOUGHT = regex(r"</(?:think|thinking|reasoning|scratchpad)>", re.IGNORECASE)
_DEEPEST = 3  # Wrappers around the answer.


def sections_of(text: str) -> tuple[dict[str, list[object]], bool]:
    """The sections of the fullest answer in a text, the last of equals; and whether it is whole."""
    ends = [match.end() for match in _THOUGHT.finditer(text)]
    # What a model thinks before it answers is a draft, unless nothing follows.
    values = find_values(text[ends[-1] :]) if ends else []
    values = values or find_values(text)
    best: tuple[dict[str, list[object]], bool] | None = None
    most = -1
    for each in values:
        sections = _sections(each.value, 0)
        size = -1 if sections is None else sum(len(items) for items in sections.values())
        if sections is not None and size >= most:
            best, most = (sections, each.whole), size
            if not each.whole:
                break  # What follows stands inside it.
    if best is None:
        raise Unreadable("it holds no JSON" if not values else "its JSON names no facts")
    return best


def _sections(value: object, depth: int) -> dict[str, list[object]] | None:
    """The items of an answer by section; None when the value is no answer."""
    if isinstance(value, list):
        return _sorted(value)
    if isinstance(value, str):
        inner = [each.value for each in find_values(value)]
    elif isinstance(value, dict):
        if (read := _sections_of(value)) is not None:
            return read
        inner = list(value.values())
    else:
        return None
    if depth >= _DEEPEST:
        return None
    nested = [_sections(each, depth + 1) for each in inner]
    return next((each for each in nested if each is not None and any(each.values())), None)


def _sections_of(value: Mapping[str, object]) -> dict[str, list[object]] | None:
    """The sections that a mapping names; itself when it is a fact."""
    named = {key(name): each for name, each in value.items()}
    read: dict[str, list[object]] = {name: [] for name in SECTIONS}
    is_answer = False
    for section, names in SECTIONS.items():
        for name in names:
            items = _items(named[name], section) if name in named else None
            if items is not None:
                read[section] += items
                is_answer = True
    if is_answer:
        return read
    return {**read, "facts": [value]} if isinstance(first(value, TEXT), str) else None


def _items(value: object, section: str) -> list[object] | None:
    """A section as a list, though the model gave one item or a mapping; None for what is none."""
    if value is None:
        return []
    if isinstance(value, list):
        return value
    if not isinstance(value, dict):
        return None
    names = {"facts": TEXT, "entities": NAME, "relations": SOURCE}[section]
    if first(value, names) is not None:
        return [value]
    if section == "entities":
        return [
            {"name": name, **(each if isinstance(each, dict) else {"type": each})}
            for name, each in value.items()
        ]
    return list(value.values())


def _sorted(items: Sequence[object]) -> dict[str, list[object]] | None:
    """A bare list: each item by its shape; None for a list that is no answer, such as [1]."""
    read: dict[str, list[object]] = {name: [] for name in SECTIONS}
    for item in items:
        if isinstance(item, str) and " " in item.strip():
            read["facts"].append(item)
        elif isinstance(item, dict) and (section := _shape(item)):
            read[section].append(item)
    return read if any(read.values()) or not items else None


def _shape(item: Mapping[str, object]) -> str | None:
    if isinstance(first(item, TEXT), str):
        return "facts"
    if first(item, SOURCE) is not None and first(item, TARGET) is not None:
        return "relations"
    return "entities" if isinstance(first(item, NAME), str) else None


def first(given: Mapping[str, object], names: Sequence[str]) -> object:
    """What an item holds under the first of these names that it has."""
    return next((given[name] for name in names if given.get(name) is not None), None)


#: The reference that stands for the user, whatever the model calls them.
USER = "user"
#: What a fact can be about, as the model is asked for it.
FACT_KINDS: tuple[str, ...] = CATEGORIES
ANY_KIND = "other"

MOST_FACTS = 100
MOST_ENTITIES = 200
MOST_RELATIONS = 200
MAX_CHARS = 200_000  # Of the answer: 2,048 tokens are about 10,000.
_TEXT_CHARS = 600
_NAME_CHARS = 200
_TYPE_CHARS = 64
_MOST_ALIASES = 16
_MOST_REFS = 20
#: By hand, not measured.
_CONFIDENCE = 0.7  # Of what says nothing about it.

_TYPE = (
    "type",
    "relation",
    "predicate",
    "relationship",
    "kind",
    "category",
    "entity_type",
    "label",
)
_TURNS = ("turns", "turn", "sources", "source_turns", "evidence")
_WRONG = ("avoid", "wrong", "instead_of", "not", "corrects")
_ID = ("id", "alias", "ref", "entity_id")
_KINDS = {
    **dict.fromkeys(("like", "dislike", "taste", "opinion"), "preference"),
    **dict.fromkeys(("habit", "behaviour", "routine"), "behavior"),
    **dict.fromkeys(("plan", "intention", "wish", "objective"), "goal"),
    **dict.fromkeys(("person", "profile", "personal", "biography", "personal_info"), "identity"),
    **dict.fromkeys(("rule", "limit", "requirement", "restriction"), "constraint"),
    **dict.fromkeys(("project", "possession", "situation", "work", "event"), "context"),
    **dict.fromkeys(("choice",), "decision"),
}
_USERS = frozenset({"user", "the user", "u", "i", "me", "myself", "speaker", "用户", "我"})
#: By hand, not measured.
_LEVELS = {"very high": 0.95, "high": 0.9, "medium": 0.6, "moderate": 0.6, "low": 0.3}
_NO = frozenset({"false", "no", "0", "momentary", "transient", "temporary", "ephemeral"})
#: What is no name: an alias, or an id of ours or of another system.
_ALIAS = regex(r"[etn]\d{1,6}|[0-9a-f]{32}|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_CONTROL = regex(r"[\x00-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]+")


@dataclass(frozen=True, slots=True)
class AnswerFact:
    """A statement that the model drew from the turns."""

    text: str
    kind: str = ANY_KIND
    #: Aliases of the turns it was drawn from; empty when the model named none that it was shown:
    #: then the whole group is the source.
    turns: tuple[str, ...] = ()
    #: References: an alias of a known entity, `USER`, or the `ref` of an entity of this answer.
    entities: tuple[str, ...] = ()
    confidence: float = _CONFIDENCE
    #: The model's own word on whether it will still hold in a month.
    durable: bool = True
    #: The day it is about, and the day by which what it plans is to be done.
    on: date | None = None
    due: date | None = None
    #: Of a correction: what was wrong.
    avoid: str = ""
    headline: str = ""


@dataclass(frozen=True, slots=True)
class AnswerEntity:
    """An entity of the answer; `ref` is the alias of a known one, or n1, n2, ... for a new one.

    The name of a known one is what the model calls it here: it renames nothing.
    """

    ref: str
    name: str
    type: Typed
    aliases: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class AnswerRelation:
    """A relation between two references."""

    source: str
    type: Typed
    target: str
    turns: tuple[str, ...] = ()
    confidence: float = _CONFIDENCE


@dataclass(frozen=True, slots=True)
class ExtractedAnswer:
    """What was read."""

    facts: tuple[AnswerFact, ...] = ()
    entities: tuple[AnswerEntity, ...] = ()
    relations: tuple[AnswerRelation, ...] = ()
    #: What was left out or changed, without quoting any of it.
    notes: tuple[str, ...] = ()
    #: The answer ended before its JSON did: there may have been more.
    cut: bool = False


Item = Mapping[str, object]


def parse_answer(
    text: str, *, turns: Collection[str] = (), known: Mapping[str, str] | None = None
) -> ExtractedAnswer:
    """The extraction in an answer to a prompt that showed these turns and known entities.

    `turns` are aliases; `known` maps the alias of an entity to its name.
    """
    if len(text) > MAX_CHARS:
        raise Unreadable(f"the answer has {len(text)} characters, the limit is {MAX_CHARS}")
    if not text.strip():
        raise Unreadable("the answer is empty")
    sections, whole = sections_of(text)
    reading = _AnswerReading(frozenset(turns), known or {})
    entities = [reading.entity(item) for item in sections["entities"][:MOST_ENTITIES]]
    facts = [reading.fact(item) for item in sections["facts"][:MOST_FACTS]]
    relations = [reading.relation(item) for item in sections["relations"][:MOST_RELATIONS]]
    readable = [item for item in (*entities, *facts, *relations) if item]
    if reading.unreadable and not readable and not reading.unknown:
        raise Unreadable(f"none of its {reading.unreadable} items can be read")
    for name, most in zip(SECTIONS, (MOST_FACTS, MOST_ENTITIES, MOST_RELATIONS), strict=True):
        reading.note(len(sections[name]) - most, f"{name} over the limit of {most}")
    return ExtractedAnswer(
        facts=_distinct([fact for fact in facts if fact]),
        entities=tuple(reading.entities.values()),
        relations=tuple(dict.fromkeys(relation for relation in relations if relation)),
        notes=reading.notes(),
        cut=not whole,
    )


@dataclass(slots=True)
class _AnswerReading:
    """What has been read of one answer, and what was left out of it."""

    turns: frozenset[str]
    known: Mapping[str, str]
    entities: dict[str, AnswerEntity] = field(default_factory=dict)
    #: What the model calls an entity, by id or folded name -> its reference.
    refs: dict[str, str] = field(default_factory=dict)
    unreadable: int = 0
    unknown: int = 0
    _others: dict[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for alias, name in self.known.items():
            self.refs.setdefault(fold(name), alias)

    def note(self, count: int, what: str) -> None:
        if count > 0:
            self._others[what] = self._others.get(what, 0) + count

    def notes(self) -> tuple[str, ...]:
        counted = {
            "items that cannot be read": self.unreadable,
            "aliases that were not shown": self.unknown,
            **self._others,
        }
        return tuple(f"{count} {what}" for what, count in counted.items() if count)

    def fact(self, item: object) -> AnswerFact | None:
        given = item if isinstance(item, Mapping) else {"text": item}
        text = self._text(first(given, TEXT), _TEXT_CHARS)
        if not text:
            self.unreadable += 1
            return None
        return AnswerFact(
            text=text,
            kind=_kind(given),
            turns=self._turns(first(given, (*_TURNS, "source"))),
            entities=self._refs(given.get("entities", given.get("about"))),
            confidence=_confidence(given.get("confidence", given.get("certainty"))),
            durable=_durable(given.get("durable", given.get("durability"))),
            on=_day(first(given, ("on", "date", "when"))),
            due=_day(first(given, ("due", "deadline", "until", "by"))),
            avoid=self._text(first(given, _WRONG), _NAME_CHARS),
            headline=self._text(given.get("headline"), _NAME_CHARS),
        )

    def entity(self, item: object) -> str | None:
        """Keeps the entity; its reference."""
        given = item if isinstance(item, Mapping) else {"name": item}
        name = self._text(first(given, NAME), _NAME_CHARS)
        ident = _word(first(given, _ID))
        if not name and ident in self.known:
            name = self.known[ident]
        if not fold(name).strip("\ufffd .,;:-"):
            self.unreadable += 1
            return None
        if _ALIAS.fullmatch(fold(name)):  # One that was not shown, in place of a name.
            self.unknown += 1
            return None
        if ident in self.known and not _fits(name, self.known[ident]):
            self.note(1, "aliases with another's name")
            ident = ""
        return self._keep(given, name, ident)

    def relation(self, item: object) -> AnswerRelation | None:
        given = _triple(item)
        if given is None:
            self.unreadable += 1
            return None
        word = self._text(first(given, _TYPE), _TYPE_CHARS)
        source, target = (self._ref(first(given, names)) for names in (SOURCE, TARGET))
        if source is None or target is None:
            return None
        if source == target or not key(word):
            self.unreadable += 1
            return None
        confidence = _confidence(given.get("confidence"))
        return AnswerRelation(
            source, relation_type(word), target, self._turns(first(given, _TURNS)), confidence
        )

    def _keep(self, given: Item, name: str, ident: str) -> str:
        ref = ident if ident in self.known else self.refs.get(fold(name), "")
        if fold(name) in _USERS:
            self.refs[ident or fold(name)] = USER
            return USER
        ref = ref or f"n{len(self.entities) + 1}"
        if ident:
            self.refs.setdefault(ident, ref)
        self.refs.setdefault(fold(name), ref)
        if ref not in self.entities and len(self.entities) < MOST_ENTITIES:
            word = self._text(first(given, _TYPE), _TYPE_CHARS)
            self.entities[ref] = AnswerEntity(
                ref=ref,
                name=name,
                type=entity_type(word) if key(word) else Typed(ANY_ENTITY),
                aliases=self._names(given.get("aliases"), name),
            )
        return ref

    def _ref(self, value: object) -> str | None:
        """What a mention of an entity refers to; a name that is new becomes an entity."""
        if isinstance(value, Mapping):
            value = first(value, (*_ID, *NAME))
        word = _word(value)
        if not word:
            self.unreadable += 1
            return None
        if word in self.known or word in self.refs:
            return word if word in self.known else self.refs[word]
        if fold(word) in _USERS:
            return USER
        if fold(word) in self.refs:
            return self.refs[fold(word)]
        if _ALIAS.fullmatch(fold(word)):
            self.unknown += 1
            return None
        return self.entity(word)

    def _refs(self, value: object) -> tuple[str, ...]:
        mentioned = value if isinstance(value, list) else [] if value is None else [value]
        refs = [self._ref(each) for each in mentioned[:_MOST_REFS]]
        return tuple(dict.fromkeys(ref for ref in refs if ref))

    def _turns(self, value: object) -> tuple[str, ...]:
        named = value if isinstance(value, list) else re.split(r"[\s,;]+", _word(value))
        aliases = [_turn(each) for each in named[:_MOST_REFS]]
        self.unknown += sum(alias not in self.turns for alias in aliases if alias)
        return tuple(dict.fromkeys(alias for alias in aliases if alias in self.turns))

    def _names(self, value: object, name: str) -> tuple[str, ...]:
        given = value if isinstance(value, list) else [value]
        names = (self._text(each, _NAME_CHARS) for each in given[:_MOST_ALIASES])
        distinct = {fold(each): each for each in names if each and fold(each) != fold(name)}
        return tuple(distinct.values())

    def _text(self, value: object, most: int) -> str:
        """A text on one line, without what cannot be stored or seen; cut at its limit."""
        if not isinstance(value, str):
            return ""
        whole = value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        plain = " ".join(_CONTROL.sub(" ", whole).split())
        self.note(len(plain) > most, "texts that were too long")
        return plain[:most].rstrip()


def _triple(item: object) -> Item | None:
    if isinstance(item, Mapping):
        return item
    if isinstance(item, list) and len(item) == 3:
        return dict(zip(("source", "type", "target"), item, strict=True))
    return None


def _word(value: object) -> str:
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return " ".join(value.split())[:_NAME_CHARS] if isinstance(value, str) else ""


def _turn(value: object) -> str:
    """The alias of a turn: "t3", "T3", "[t3]", or its bare number."""
    word = _word(value).strip("[](){}\"'`.").lower()
    return f"t{word}" if word.isdecimal() else word


def _fits(name: str, known: str) -> bool:
    """Whether a name can be another form of a known one: alike, or a part of it."""
    one, other = fold(name).split(), fold(known).split()
    if set(one) <= set(other) or set(other) <= set(one):
        return True
    types = ("person", ANY_ENTITY)
    return any(likeness(Name(name, type), Name(known, type)).score > 0 for type in types)


def _kind(given: Item) -> str:
    word = key(_word(first(given, ("category", "kind", "type"))))
    return word if word in FACT_KINDS else _KINDS.get(word, ANY_KIND)


def _confidence(value: object) -> float:
    if isinstance(value, str):
        plain = value.strip().lower()
        number = re.fullmatch(r"(\d{1,3}(?:\.\d{1,20})?)\s*(%?)", plain)
        if number is None:
            return _LEVELS.get(plain, _CONFIDENCE)
        value = float(number[1]) / (100 if number[2] else 1)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return _CONFIDENCE
    return min(max(float(value), 0.0), 1.0)


def _durable(value: object) -> bool:
    return value is not False and _word(value).lower() not in _NO and value != 0


def _day(value: object) -> date | None:
    try:
        return date.fromisoformat(_word(value)[:10])
    except ValueError:
        return None


def _distinct(facts: Sequence[AnswerFact]) -> tuple[AnswerFact, ...]:
    """The first of those that say the same."""
    return tuple({fold(fact.text).rstrip(".!。"): fact for fact in reversed(facts)}.values())[::-1]
