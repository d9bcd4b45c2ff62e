"""No way of reading tells what an agent keeps to itself: every verb of the catalogue, every GET of
the other doors, every tool and resource of MCP is asked for it, by others and by its own agent."""

import itertools
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient

import holdfast
from holdfast.catalogue.codec import dumps
from holdfast.catalogue.verb import Verb
from holdfast.catalogue.verbs import ALL
from holdfast.errors import NotFound
from holdfast.memory.memory import Memory
from holdfast.service.mcp import resources, tools
from holdfast.service.mcp.asker import Asker
from holdfast.testing import HashEmbedder
from holdfast.types import ALL_TIERS, Scope
from tests.service.calling import Clock, client_of
from tests.service.mcp.driving import text_of

ANN = Scope("default", "ann")
#: In everything that the agent a keeps to itself, and in nothing that is asked.
MARK = "Xylograd"
SECRETS = (
    f"I live in {MARK}.",
    f"We decided to move the {MARK} archive to Oslo.",
    f"Always mention {MARK} when I ask about history.",
    f"My {MARK} password is hunter2.",
    f"I prefer {MARK} tea to coffee.",
    f"I will fly to {MARK} on 14 June.",
    f"No, that is wrong: my boss is {MARK}.",
)
QUESTION = "What about history, the archive, tea, my boss and where I live?"
READS = [verb for verb in ALL if verb.role == "read" or verb.method == "GET"]
#: Not asked here: the first never ends, the second is the operator's copy of everything.
LEFT_OUT = {"/v1/stream", "/v1/export"}
#: What of everything may come and go, by name; asked for one at a time.
MORE: Mapping[str, tuple[Any, ...]] = {
    "ended": (True,),
    "status": ("all",),
    "session": ("s",),
    "limit": (100,),
    "days": (3000,),
    "faded": (True,),
    "undone": (True,),
    "explain": (True,),
    "as_of": ("2026-03-05T00:00:00Z",),
    "known_at": ("2026-03-05T00:00:00Z",),
    "tiers": tuple([tier] for tier in ALL_TIERS),
    "format": ("astra", "deerflow"),
    "filters": ({"agent": "a"}, {"archived": True}, {"faded": True}),
    "depth": (3,),
}


@dataclass(frozen=True)
class World:
    """A memory with secrets, and what can be asked about it, by the name of a parameter."""

    memory: Memory
    client: TestClient
    values: Mapping[str, list[Any]]


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    clock = Clock()
    with (
        holdfast.open(
            Path(tmp_path_factory.mktemp("private")) / "m.db",
            embedder=HashEmbedder(),
            worker=False,
            config={"extraction": {"provider": "rules"}},
            clock=clock,
        ) as memory,
        client_of(memory, role="admin") as client,
    ):
        values = _filled(memory, clock)
        clock.now += timedelta(days=10)
        yield World(memory, client, values)


def _filled(memory: Memory, clock: Clock) -> dict[str, list[Any]]:
    own: dict[str, Any] = {"user": "ann", "agent": "a"}
    labels = {"source_site": f"{MARK}.example", "label": MARK}
    for text in SECRETS:
        memory.remember(text, **own, session="s", visibility="agent_only", metadata=labels)
        clock.now += timedelta(minutes=1)
    for agent in ("a", "b", None):
        memory.remember("I like jam. My boss is Eve.", user="ann", agent=agent, session="s")
    memory.drain()
    memory.compact(session="s", **own, keep_turns=0)
    memory.team.write(
        f"{MARK} is our archive.", type="note", visibility="agent_only", author="ann", agent="a"
    )
    home = next(each for each in memory.facts.list(**own) if each.content == SECRETS[0])
    memory.facts.update(home.id, f"I live in {MARK}, near the river.", **own, origin="user")
    written = f"From {MARK}."
    facts = [each.id for each in memory.facts.list(**own) if MARK in each.content][:1]
    memory.profiles.write_summary("personalContext", written, facts=facts, **own)
    gone = next(each for each in memory.facts.list(**own) if "tea" in each.content)
    memory.facts.invalidate(gone.id, **own)
    turns = [event.id for event in memory.store.events(ANN)]
    listed = memory.list(**own, ended=True, limit=1000).memories
    ids = list(dict.fromkeys([*(each.id for each in listed), *turns]))
    hidden = [each.id for each in listed if MARK in each.content]
    assert {each.tier for each in listed if MARK in each.content} >= {
        "session", "fact", "note", "procedure", "profile",
    }  # fmt: skip
    memory.forget(hidden[-1], user="ann")
    return {
        "id": ids,
        "memory_id": ids,
        "ids": [[id] for id in ids],
        "event_id": turns,
        "context_id": [memory.context(QUESTION, **own).id],
        "text": [QUESTION],
        "query": [QUESTION],
        "messages": [QUESTION],
        "session": ["s"],
        "day": [clock.now.date().isoformat()],
        "start": ["ann", "a"],
        "key": ["archive"],
    }


def _asked(verb: Verb[..., object], world: World) -> Iterator[dict[str, Any]]:
    """What a verb can be asked with: all that it needs, and one of what it may be given."""
    needs = [each.name for each in verb.parameters if each.required]
    unknown = [name for name in needs if name not in world.values]
    assert not unknown, f"{verb.name}: say in this test what {unknown} can be"
    user = {"user": "ann"} if verb.has("user") else {}
    optional = [{}, *({name: one} for name in MORE if verb.has(name) for one in MORE[name])]
    for given in itertools.product(*(world.values[name] for name in needs)):
        for more in optional:
            yield {**user, **more, **dict(zip(needs, given, strict=True))}


def _told(ask: Callable[[], Any]) -> str:
    """The answer as it travels; for what is not there, the words of the refusal."""
    try:
        return dumps(ask()).decode()
    except NotFound as error:
        return str(error)


def _resource(memory: Memory, who: Asker, uri: str) -> str:
    return text_of(resources.read_resource(memory, who, uri).contents[0])


def _tellers(world: World, agent: str | None) -> set[str]:
    """The verbs that tell an agent of the secrets."""
    found = set()
    for verb in READS:
        who = {"agent": agent} if verb.has("agent") else {}
        for given in _asked(verb, world):
            asked = {**given, **who}
            if MARK in _told(partial(verb.of(world.memory), **asked)):
                found.add(verb.name)
    return found


@pytest.mark.slow
def test_no_verb_tells_others(world: World) -> None:
    assert _tellers(world, "a") >= {
        "recall", "context", "expand", "list", "get", "history", "fading", "profile", "notes.list",
        "notes.day", "summaries.get", "facts.list", "facts.get", "facts.history",
        "team.list", "team.search",
    }  # fmt: skip
    for agent in (None, "b"):
        assert _tellers(world, agent) == set()


def _paths(world: World, pattern: str) -> list[str]:
    named = {**world.values, "entity_type": ["user"], "entity_id": ["ann"], "model": ["m"]}
    names = re.findall(r"{(\w+)}", pattern)
    unknown = [name for name in names if name not in named]
    assert not unknown, f"{pattern}: say in this test what {unknown} can be"
    return [
        pattern.format(**dict(zip(names, given, strict=True)))
        for given in itertools.product(*(named[name] for name in names))
    ]


@pytest.mark.slow
def test_no_route_beside_the_verbs_tells_others(world: World) -> None:
    client, verbs = world.client, {(verb.method, verb.path) for verb in ALL}
    expand = {"memory_ids": world.values["id"]}
    bodies: dict[str, dict[str, Any]] = {
        "/v1/memories/search": {"query": QUESTION, "limit": 100},
        "/v1/memories/search/fast": {"query": QUESTION, "limit": 100},
        "/v1/memories/expand": expand,
        "/v1/memories/consolidate": {},
        "/v1/memories/decay": {},
    }
    gets = [
        (path, {each["name"] for each in routes["get"].get("parameters", ())})
        for path, routes in client.get("/v1/openapi.json").json()["paths"].items()
        if "get" in routes and ("GET", path) not in verbs and path not in LEFT_OUT
    ]
    told: dict[str, set[str]] = {}
    for agent in ("", "b", "a"):
        who = {"user_id": "ann", **({"agent_id": agent} if agent else {})}
        for path, names in gets:
            params: dict[str, Any] = {name: value for name, value in who.items() if name in names}
            params |= {name: 100 for name in ("limit",) if name in names}
            params |= {name: "x" for name in ("external_id",) if name in names}
            for each in _paths(world, path):
                if MARK in client.get(each, params=params).text:
                    told.setdefault(agent, set()).add(path)
        for path, body in bodies.items():
            answer = client.post(path, json={**who, **body})
            assert answer.status_code == 200, answer.text
            if MARK in answer.text:
                told.setdefault(agent, set()).add(path)
    assert told.pop("a") >= {
        "/v1/memories/list", "/v1/memories/stats", "/v1/memories/audit/recent",
        "/v1/memories/{id}/audit", "/v1/memories/search", "/v1/memories/search/fast",
        "/v1/memories/expand", "/api/memory", "/api/memory/export", "/api/memory/status",
    }  # fmt: skip
    assert told == {}


def test_no_tool_and_no_resource_of_mcp_tells_others(world: World) -> None:
    values = {**world.values, "question": [QUESTION], "names": [["ann"]], "fact_id": ["x"]}
    memory, told = world.memory, {}
    for agent in ("a", None, "b"):
        who = Asker("default", "ann", agent, role="read")
        texts: dict[str, str] = {}
        for tool in tools.offered(who):
            needs = tool.takes.get("required", ())
            unknown = [name for name in needs if name not in values]
            assert not unknown, f"{tool.name}: say in this test what {unknown} can be"
            for given in itertools.product(*(values[name] for name in needs)):
                asked = dict(zip(needs, given, strict=True))
                asking = partial(tool.run, memory, who, asked)
                texts[tool.name] = texts.get(tool.name, "") + _told(asking)
        uris = [each.uri for each in resources.RESOURCES]
        uris += [f"holdfast://memory/{id}" for id in world.values["id"]]
        for uri in uris:
            name = uri.rpartition("/")[0]
            texts[name] = texts.get(name, "") + _told(partial(_resource, memory, who, uri))
        told[agent] = {name for name, text in texts.items() if MARK in text}
    assert told["a"] >= {"recall", "context", "profile", "notes", "holdfast://memory"}
    assert (told[None], told["b"]) == (set(), set())
