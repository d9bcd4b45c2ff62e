"""What is observed of entities, as values, and what a caller may send of them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from holdfast.border import validate
from holdfast.errors import InvalidInput, TooLarge

MOST_ENTITIES = 1_000
MOST_RELATIONS = 5_000
MOST_OBSERVATIONS = 5_000
MOST_NAMES = 5_000
QUERY_CHARS = 8_000
_NAME_CHARS = 500
_TYPE_CHARS = 200
_OBSERVATION_CHARS = 16_000


@dataclass(frozen=True, slots=True)
class Observed:
    """An entity and what was observed of it, in the order in which it was."""

    name: str
    type: str
    observations: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Link:
    """A relation between two names."""

    source: str
    type: str
    target: str


@dataclass(frozen=True, slots=True)
class Known:
    """Entities and relations, those learned first first."""

    entities: tuple[Observed, ...] = ()
    relations: tuple[Link, ...] = ()


@dataclass(frozen=True, slots=True)
class Added:
    """What was new of the observations of one entity."""

    entity: str
    observations: tuple[str, ...]


def things(sent: object) -> list[Observed]:
    """The entities of one call."""
    fields = ("name", "type", "observations")
    return [
        Observed(
            exact(each.get("name"), f"{place}.name", _NAME_CHARS),
            exact(each.get("type"), f"{place}.type", _TYPE_CHARS),
            _texts(each.get("observations", ()), f"{place}.observations"),
        )
        for place, each in _each(sent, "entities", fields, MOST_ENTITIES)
    ]


def links(sent: object) -> list[Link]:
    """The relations of one call."""
    fields = ("source", "type", "target")
    return [
        Link(
            exact(each.get("source"), f"{place}.source", _NAME_CHARS),
            exact(each.get("type"), f"{place}.type", _TYPE_CHARS),
            exact(each.get("target"), f"{place}.target", _NAME_CHARS),
        )
        for place, each in _each(sent, "relations", fields, MOST_RELATIONS)
    ]


def contents(sent: object, name: str) -> list[tuple[str, tuple[str, ...]]]:
    """Names of entities, each with texts."""
    fields = ("entity", "contents")
    return [
        (
            exact(each.get("entity"), f"{place}.entity", _NAME_CHARS),
            _texts(each.get("contents"), f"{place}.contents"),
        )
        for place, each in _each(sent, name, fields, MOST_ENTITIES)
    ]


def _each(
    sent: object, name: str, fields: Sequence[str], most: int
) -> Iterator[tuple[str, Mapping[str, Any]]]:
    for number, each in enumerate(_list(sent, name, most)):
        place = f"{name}[{number}]"
        if not isinstance(each, Mapping):
            raise InvalidInput(f"{place} must be a mapping", field=place)
        for given in each:
            if given not in fields:
                shown = validate.storable(str(given)[:64], place, [])
                raise InvalidInput(
                    f"{place}.{shown} is not a field; known: {', '.join(fields)}", field=place
                )
        yield place, each


def _list(sent: object, name: str, most: int) -> Sequence[Any]:
    if not isinstance(sent, Sequence) or isinstance(sent, str | bytes | bytearray):
        raise InvalidInput(f"{name} must be a list", field=name)
    if len(sent) > most:
        raise TooLarge(f"{name} are {len(sent)}, the limit is {most}", field=name)
    return sent


def names_of(sent: object, name: str) -> frozenset[str]:
    """Names of entities."""
    listed = _list(sent, name, MOST_NAMES)
    return frozenset(exact(e, f"{name}[{i}]", _NAME_CHARS) for i, e in enumerate(listed))


def _texts(sent: object, name: str) -> tuple[str, ...]:
    listed = _list(sent, name, MOST_OBSERVATIONS)
    return tuple(exact(e, f"{name}[{i}]", _OBSERVATION_CHARS) for i, e in enumerate(listed))


def exact(value: object, name: str, most: int) -> str:
    """A text as it was given, spaces and all; it may be empty."""
    if not isinstance(value, str):
        kind = "nothing" if value is None else value.__class__.__name__
        raise InvalidInput(f"{name} must be a text, not {kind}", field=name)
    if len(value) > most:
        raise TooLarge(f"{name} has {len(value)} characters, the limit is {most}", field=name)
    return validate.storable(value, name, [])


def noted(new: Known | Sequence[Added]) -> str:
    """What was new as a text, to be told again."""
    return json.dumps(asdict(new) if isinstance(new, Known) else [asdict(each) for each in new])


def known_before(text: str) -> Known:
    """What was new when it was created, as it was noted."""
    told = json.loads(text)
    return Known(
        tuple(Observed(e["name"], e["type"], tuple(e["observations"])) for e in told["entities"]),
        tuple(Link(**each) for each in told["relations"]),
    )


def added_before(text: str) -> list[Added]:
    """What was new when it was added, as it was noted."""
    return [Added(each["entity"], tuple(each["observations"])) for each in json.loads(text)]
