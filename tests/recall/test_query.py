"""A question before any search: what `filters=` understands, and what it says of the rest."""

from datetime import UTC, datetime
from typing import Any

import pytest

from holdfast.errors import InvalidInput
from holdfast.recall.query import FILTERS, Query, query
from holdfast.types import Scope


def asked(filters: Any) -> Query:
    return query(
        "Where is Ann?", Scope("w", "ann"), limit=10, now=datetime(2024, 5, 1, tzinfo=UTC),
        as_of=None, known_at=None, filters=filters,
    )  # fmt: skip


def test_without_filters_nothing_hidden_is_wanted() -> None:
    empty: dict[str, Any] = {}
    for filters in (None, empty):
        found = asked(filters)
        assert (dict(found.filters), found.archived, found.faded) == ({}, False, False)


def test_what_is_hidden_can_be_wanted_and_is_no_filter_by_text() -> None:
    found = asked({"faded": True, "archived": True, "role": "user"})
    assert (found.faded, found.archived, dict(found.filters)) == (True, True, {"role": "user"})


def test_one_of_them_does_not_bring_the_other() -> None:
    assert (asked({"faded": True}).archived, asked({"archived": True}).faded) == (False, False)
    assert not asked({"faded": False}).faded


@pytest.mark.parametrize("name", ["faded", "archived"])
@pytest.mark.parametrize("value", ["true", 1, 0, None, "", [True]])
def test_what_is_wanted_is_true_or_false(name: str, value: Any) -> None:
    with pytest.raises(InvalidInput, match=f"filters.{name} must be true or false") as caught:
        asked({name: value})
    assert caught.value.field == f"filters.{name}"


def test_a_category_is_a_kind() -> None:
    assert dict(asked({"category": "goal"}).filters) == {"kind": "goal"}
    assert dict(asked({"kind": "goal"}).filters) == {"kind": "goal"}
    assert dict(asked({"kind": "goal", "category": "goal"}).filters) == {"kind": "goal"}


def test_a_category_that_is_not_the_kind_is_refused() -> None:
    with pytest.raises(InvalidInput, match="name one of them") as caught:
        asked({"kind": "goal", "category": "identity"})
    assert caught.value.field == "filters.category"


@pytest.mark.parametrize("name", ["agent", "category", "kind", "name", "role", "session"])
def test_the_others_are_texts(name: str) -> None:
    with pytest.raises(InvalidInput, match=f"filters.{name} must be a text") as caught:
        asked({name: True})
    assert caught.value.field == f"filters.{name}"


def test_what_is_no_filter_is_named_with_those_that_are() -> None:
    with pytest.raises(InvalidInput, match=r"filters\.colour is not a filter") as caught:
        asked({"colour": "red"})
    assert caught.value.field == "filters.colour"
    assert all(name in str(caught.value) for name in FILTERS)


def test_filters_are_a_mapping() -> None:
    with pytest.raises(InvalidInput, match="filters must be a mapping"):
        asked(["faded"])
