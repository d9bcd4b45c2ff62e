"""The clients have every verb, called as in the memory itself."""

import inspect
from collections.abc import Iterator
from typing import Any

import pytest

import holdfast
from holdfast.catalogue.verbs import ALL
from holdfast.memory.memory import Memory
from holdfast.records.facts.verbs import Facts
from holdfast.records.graph.verbs import Graph
from holdfast.records.knowledge import Knowledge
from holdfast.records.notes import Notes
from holdfast.records.observations import Observations
from holdfast.records.procedures import Procedures
from holdfast.records.profile import Profiles
from holdfast.records.shares import Agents, Shares
from holdfast.records.summaries import Summaries
from holdfast.records.team import Team

PARTS: dict[str, type] = {
    "agents": Agents,
    "facts": Facts,
    "graph": Graph,
    "knowledge": Knowledge,
    "notes": Notes,
    "observations": Observations,
    "procedures": Procedures,
    "profiles": Profiles,
    "shares": Shares,
    "summaries": Summaries,
    "team": Team,
}
#: For other parts of the memory, or about this process.
INTERNAL = {"cache_size", "profiles.write_summary", "shares.live"}
NOWHERE = "http://127.0.0.1:1"


def public_verbs() -> Iterator[tuple[str, Any]]:
    """What a user of a memory calls: all of Memory; of its parts what takes a workspace."""
    for name, function in inspect.getmembers(Memory, inspect.isfunction):
        if not name.startswith("_") and name not in INTERNAL:
            yield name, function
    for part, owner in PARTS.items():
        for name, function in inspect.getmembers(owner, inspect.isfunction):
            full = f"{part}.{name}"
            taken = inspect.signature(function).parameters
            if not name.startswith("_") and "workspace" in taken and full not in INTERNAL:
                yield full, function


PUBLIC = dict(public_verbs())


@pytest.fixture(params=[holdfast.Client, holdfast.AsyncClient])
def client(request: pytest.FixtureRequest) -> Any:
    return request.param(NOWHERE, "rk_test")


def found(client: Any, name: str) -> Any:
    part, _, verb = name.rpartition(".")
    return getattr(getattr(client, part) if part else client, verb)


def bare(function: Any) -> list[tuple[str, Any, Any]]:
    return [
        (each.name, each.kind, each.default)
        for each in inspect.signature(function).parameters.values()
    ]


def test_there_are_parts_to_compare(tmp_path: Any) -> None:
    with holdfast.open(tmp_path / "m.db", worker=False) as memory:
        for name, owner in PARTS.items():
            assert type(getattr(memory, name)) is owner
        others = {name for name, value in vars(memory).items() if not name.startswith("_")}
    assert others - set(PARTS) == {"life"}  # The nightly round is the operator's.
    assert len(PUBLIC) > 60


@pytest.mark.parametrize("verb", ALL, ids=lambda verb: verb.name)
def test_every_verb_of_the_catalogue_is_there(client: Any, verb: Any) -> None:
    method = found(client, verb.name)
    assert bare(method) == bare(verb.function)[1:]
    assert method.__doc__ == verb.function.__doc__
    assert method.__name__ == verb.function.__name__


@pytest.mark.parametrize("name", PUBLIC)
def test_every_public_verb_is_there(client: Any, name: str) -> None:
    method = found(client, name)
    assert bare(method) == bare(PUBLIC[name])[1:]


def test_a_wrong_call_fails_as_it_does_here(client: Any) -> None:
    if isinstance(client, holdfast.Client):
        with pytest.raises(TypeError, match="unexpected keyword argument 'usr'"):
            client.recall("x", usr="ann")  # type: ignore[call-arg]
        with pytest.raises(TypeError, match="missing a required argument: 'text'"):
            client.recall(user="ann")  # type: ignore[call-arg]


def test_what_only_a_file_has_is_told_in_words(client: Any) -> None:
    with pytest.raises(AttributeError, match="only a memory in this process has it"):
        _ = client.store
    with pytest.raises(AttributeError, match=r"has no attribute 'recal'$"):
        _ = client.recal
    assert "rk_test" not in repr(client)
    assert NOWHERE in repr(client)
