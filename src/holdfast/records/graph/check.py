"""The border of the graph: what a caller sends becomes typed values, or an error with its place."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, TypeVar

from holdfast.border import validate
from holdfast.border.validate import ORIGINS
from holdfast.errors import InvalidInput, TooLarge
from holdfast.language.names import same
from holdfast.language.vocabulary import ANY_ENTITY, Typed, entity_type, key, relation_type

DIRECTIONS: tuple[str, ...] = ("out", "in", "both")

MOST_ENTITIES = 1_000
MOST_RELATIONS = 5_000
MOST_ALIASES = 64
_NAME_CHARS = 200
_TYPE_CHARS = 64
_SUMMARY_CHARS = 4_000
_MOST_TYPES = 64

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class EntityDraft:
    """An entity that passed the border."""

    name: str
    type: Typed
    aliases: tuple[str, ...] = ()
    summary: str = ""
    #: Ids of the turns it was heard in.
    sources: tuple[str, ...] = ()
    #: Whose word it is; None = that of the call.
    origin: str | None = None
    importance: float | None = None


@dataclass(frozen=True, slots=True)
class RelationDraft:
    """A relation that passed the border; its ends are names, aliases or ids."""

    source: str
    type: Typed
    target: str
    confidence: float | None = None
    at: datetime | None = None
    sources: tuple[str, ...] = ()
    origin: str | None = None
    importance: float | None = None


def own_name(user: str) -> str:
    """What the user's own entity is called: by the user's id where that can be a name."""
    words = " ".join(user.split())
    if not words.isprintable():
        return "user"
    letters = sum(char.isalpha() for char in words)
    is_name = letters >= 2 and not any(char.isdigit() or char in "@/:\\_" for char in words)
    return words[:_NAME_CHARS] if is_name else "user"


def distrust(origin: str) -> int:
    """0 for the user's own word, confirmed or not; more for what is trusted less."""
    return max(0, ORIGINS.index(origin) - 1) if origin in ORIGINS else len(ORIGINS)


def entities(sent: object, warnings: list[str]) -> list[EntityDraft]:
    """The entities of one call."""
    fields = ("name", "type", "aliases", "summary")

    def draft(each: Mapping[str, Any], place: str) -> EntityDraft:
        return EntityDraft(
            name=name(each.get("name"), f"{place}.name", warnings),
            type=entity_type(_type(each.get("type", ANY_ENTITY), f"{place}.type")),
            aliases=_aliases(each.get("aliases"), f"{place}.aliases", warnings),
            summary=_summary(each.get("summary"), f"{place}.summary", warnings),
        )

    return _all(sent, "entities", fields, MOST_ENTITIES, draft)


def relations(sent: object, warnings: list[str]) -> list[RelationDraft]:
    """The relations of one call."""
    fields = ("source", "type", "target", "confidence", "at")

    def draft(each: Mapping[str, Any], place: str) -> RelationDraft:
        at = each.get("at")
        return RelationDraft(
            source=name(each.get("source"), f"{place}.source", warnings),
            type=relation_type(_type(each.get("type"), f"{place}.type")),
            target=name(each.get("target"), f"{place}.target", warnings),
            confidence=_confidence(each.get("confidence"), f"{place}.confidence"),
            at=None if at is None else validate.moment(at, f"{place}.at"),
        )

    return _all(sent, "relations", fields, MOST_RELATIONS, draft)


def name(value: object, place: str, warnings: list[str]) -> str:
    """A name on one line."""
    text = " ".join(_text(value, place, _NAME_CHARS, warnings).split())
    if not same(text).strip("\ufffd "):
        raise InvalidInput(f"{place} is blank", field=place)
    return text


def choice(value: object, place: str, known: Sequence[str]) -> str:
    """One of a few words."""
    if value not in known or not isinstance(value, str):
        raise InvalidInput(
            f"{place} must be one of {', '.join(known)}, not {str(value)[:64]!r}", field=place
        )
    return value


def types(value: object, place: str) -> frozenset[str] | None:
    """Types to keep to, as they are compared; None = all."""
    if value is None:
        return None
    given = [value] if isinstance(value, str) else value
    if not isinstance(given, Collection) or isinstance(given, Mapping | bytes):
        raise InvalidInput(f"{place} must be a list of types, not {_kind(value)}", field=place)
    if not 1 <= len(given) <= _MOST_TYPES:
        raise InvalidInput(f"{place} must hold 1..{_MOST_TYPES} types", field=place)
    return frozenset(key(_type(each, f"{place}[{i}]")) for i, each in enumerate(given))


def _all(
    sent: object,
    place: str,
    fields: Sequence[str],
    most: int,
    draft: Callable[[Mapping[str, Any], str], T],
) -> list[T]:
    if not isinstance(sent, Sequence) or isinstance(sent, str | bytes | bytearray):
        raise InvalidInput(f"{place} must be a list, not {_kind(sent)}", field=place)
    if len(sent) > most:
        raise TooLarge(f"{place} are {len(sent)}, the limit of one call is {most}", field=place)
    drafts = []
    for index, each in enumerate(sent):
        at = f"{place}[{index}]"
        if not isinstance(each, Mapping):
            raise InvalidInput(f"{at} must be a mapping, not {_kind(each)}", field=at)
        for given in each:
            if given not in fields:
                shown = f"{at}.{validate.storable(str(given)[:64], at, [])}"
                raise InvalidInput(
                    f"{shown} is not a field; known: {', '.join(fields)}", field=shown
                )
        drafts.append(draft(each, at))
    return drafts


def _text(value: object, place: str, most: int, warnings: list[str]) -> str:
    if not isinstance(value, str):
        raise InvalidInput(f"{place} must be a text, not {_kind(value)}", field=place)
    if len(value) > most:
        raise TooLarge(f"{place} has {len(value)} characters, the limit is {most}", field=place)
    return validate.storable(value, place, warnings)


def _type(value: object, place: str) -> str:
    text = " ".join(_text(value, place, _TYPE_CHARS, []).split())
    if not key(text):
        raise InvalidInput(f"{place} is blank", field=place)
    return text


def _aliases(value: object, place: str, warnings: list[str]) -> tuple[str, ...]:
    if value is None:
        return ()
    if not isinstance(value, Sequence) or isinstance(value, str | bytes | bytearray):
        raise InvalidInput(f"{place} must be a list of names, not {_kind(value)}", field=place)
    if len(value) > MOST_ALIASES:
        raise TooLarge(f"{place} are {len(value)}, the limit is {MOST_ALIASES}", field=place)
    return tuple(name(each, f"{place}[{i}]", warnings) for i, each in enumerate(value))


def _summary(value: object, place: str, warnings: list[str]) -> str:
    return "" if value is None else _text(value, place, _SUMMARY_CHARS, warnings).strip()


def _confidence(value: object, place: str) -> float | None:
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise InvalidInput(f"{place} must be a number, not {_kind(value)}", field=place)
    if not 0 <= value <= 1:  # Nor is NaN.
        raise InvalidInput(f"{place} must lie in 0..1, not {value}", field=place)
    return float(value)


def _kind(value: object) -> str:
    return "nothing" if value is None else type(value).__name__
