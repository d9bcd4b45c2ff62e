"""Tools made of verbs: limits, choices and defaults are the verb's."""

from typing import Any

import pytest

from holdfast.catalogue.schemas import bounds_of
from holdfast.catalogue.verbs import BY_NAME
from holdfast.config import Limits
from holdfast.service.mcp.tools import ALL

MADE = {
    "recall": "recall",
    "context": "context",
    "graph_traverse": "graph.traverse",
    "workspace_memory_search": "team.search",
}


@pytest.mark.parametrize("name", MADE)
def test_a_tool_says_of_a_parameter_what_the_catalogue_says(name: str) -> None:
    verb, fields = BY_NAME[MADE[name]], ALL[name].takes["properties"]
    shared = [each for each in verb.parameters if each.wire in fields]
    assert shared
    for each in shared:
        told, known = fields[each.wire], bounds_of(verb, each, Limits())
        for word in ("minimum", "maximum"):
            assert told.get(word) == known.get(word)
        assert told.get("enum") == _without_null(known.get("enum"))
        assert told.get("default") in (each.default, None)


def _without_null(among: list[Any] | None) -> list[Any] | None:
    return among and [each for each in among if each is not None]
