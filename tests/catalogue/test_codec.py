"""Every value that travels comes back as it was."""

from __future__ import annotations

import types
from collections.abc import Collection, Mapping, Sequence
from dataclasses import fields, is_dataclass, replace
from datetime import UTC, date, datetime, timedelta
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.catalogue.codec import dumps, envelope, from_json, open_envelope, parts_of
from holdfast.catalogue.verbs import ALL
from holdfast.types import Explained, Hit, Hits

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
NUMBER = st.floats(-1e9, 1e9, allow_nan=False)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | TEXT,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(TEXT, inner, max_size=2),
    max_leaves=4,
)
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
PLAIN: Mapping[Any, st.SearchStrategy[Any]] = {
    str: TEXT,
    int: st.integers(-(2**53), 2**53),
    float: NUMBER,
    bool: st.booleans(),
    type(None): st.none(),
    datetime: st.integers(0, 10**15).map(lambda us: EPOCH + timedelta(microseconds=us)),
    date: st.dates(date(1900, 1, 1), date(2199, 1, 1)),
    Any: JSON,
}
LISTS = (list, Sequence, Collection)


def travelling(annotation: Any, found: dict[Any, None]) -> None:
    """The classes of the objects that a type holds."""
    for each in get_args(annotation):
        travelling(each, found)
    origin = get_origin(annotation) or annotation
    if is_dataclass(origin) and origin not in found:
        found[origin] = None
        for each in get_type_hints(origin).values():
            travelling(each, found)


def kinds() -> list[Any]:
    found: dict[Any, None] = {}
    for verb in ALL:
        travelling(verb.returns, found)
    return list(found)


def values(annotation: Any) -> st.SearchStrategy[Any]:
    """Values of a type."""
    origin, inner = get_origin(annotation) or annotation, get_args(annotation)
    if origin in PLAIN:
        return PLAIN[origin]
    if origin in (Union, types.UnionType):
        return st.one_of([values(each) for each in inner])
    if origin is Literal:
        return st.sampled_from(inner)
    if isinstance(origin, type) and is_dataclass(origin):
        hints = get_type_hints(origin)
        own = {each.name: values(hints[each.name]) for each in fields(origin) if each.init}
        return st.builds(origin, **own)
    return collections(origin, inner)


def collections(origin: Any, inner: Sequence[Any]) -> st.SearchStrategy[Any]:
    if origin is tuple and inner[-1] is not ...:
        return st.tuples(*(values(each) for each in inner))
    if origin is tuple:
        return st.lists(values(inner[0]), max_size=2).map(tuple)
    if origin in LISTS:
        return st.lists(values(inner[0]), max_size=2)
    assert origin in (dict, Mapping), origin
    return st.dictionaries(TEXT, values(inner[1]) if inner else JSON, max_size=2)


@pytest.mark.parametrize("kind", kinds(), ids=lambda kind: f"{kind.__module__}.{kind.__name__}")
@settings(max_examples=10, deadline=None)
@given(data=st.data())
def test_an_object_comes_back_as_it_was(kind: Any, data: st.DataObject) -> None:
    value = data.draw(values(kind))
    assert from_json(kind, orjson.loads(dumps(value))) == value


@pytest.mark.parametrize("verb", ALL, ids=lambda verb: verb.name)
@settings(max_examples=4, deadline=None)
@given(data=st.data())
def test_what_a_verb_gives_comes_back_as_it_was(verb: Any, data: st.DataObject) -> None:
    if verb.returns is Hits:
        value = Hits(data.draw(st.lists(values(Hit), max_size=2)))
        value.degraded, value.task_profile = ("vector: away",), "debate"
    else:
        value = data.draw(values(verb.returns))
    found = open_envelope(
        verb.returns, orjson.loads(dumps(envelope(value, verb.answer))), verb.answer
    )
    if isinstance(value, Hits):
        # Why a part could not be asked is the operator's business.
        assert (found.degraded, found.task_profile) == (("vector",), value.task_profile)
    if isinstance(value, Explained):
        value = replace(value, degraded=parts_of(value.degraded))
    assert found == value


def test_what_an_older_client_does_not_know_is_left_out() -> None:
    sent = {"id": "1", "content": "x", "tier": "fact", "kind": "fact", "score": 1, "confidence": 1}
    found = from_json(Hit, {**sent, "created_at": "2026-03-01T10:00:00Z", "colour": "red"})
    assert found == Hit("1", "x", "fact", "fact", 1.0, 1.0, datetime(2026, 3, 1, 10, tzinfo=UTC))


def test_what_json_cannot_hold_is_replaced() -> None:
    told = {"a\ud800": ("\ud800", 10**30), "at": datetime(2026, 3, 1, tzinfo=UTC)}
    assert orjson.loads(dumps(told)) == {"a?": ["?", 1e30], "at": "2026-03-01T00:00:00Z"}
    assert dumps({"s": {3, 1}, "t": timedelta(minutes=1)}) == b'{"s":[1,3],"t":60.0}'
