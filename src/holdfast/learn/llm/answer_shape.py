"""Where in a model's answer the items are: its sections, whatever it calls them.

An answer may be a mapping of lists, one list, a list in a wrapper, a mapping in a string, one item
alone, or several of these with prose between. This module finds the items; what they say is read
by `answer`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from holdfast.errors import Unreadable
from holdfast.language.vocabulary import key
from holdfast.learn.llm.lenient_json import found

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

_THOUGHT = re.compile(r"</(?:think|thinking|reasoning|scratchpad)>", re.IGNORECASE)
_DEEPEST = 3  # Wrappers around the answer.


def sections_of(text: str) -> tuple[dict[str, list[object]], bool]:
    """The sections of the fullest answer in a text, the last of equals; and whether it is whole."""
    ends = [match.end() for match in _THOUGHT.finditer(text)]
    # What a model thinks before it answers is a draft, unless nothing follows.
    values = found(text[ends[-1] :]) if ends else []
    values = values or found(text)
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
        inner = [each.value for each in found(value)]
    elif isinstance(value, dict):
        if (read := _named(value)) is not None:
            return read
        inner = list(value.values())
    else:
        return None
    if depth >= _DEEPEST:
        return None
    nested = [_sections(each, depth + 1) for each in inner]
    return next((each for each in nested if each is not None and any(each.values())), None)


def _named(value: Mapping[str, object]) -> dict[str, list[object]] | None:
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
