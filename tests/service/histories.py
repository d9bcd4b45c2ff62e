"""Random histories of three tenants, played with and without the operations of one of them.

Ann, Bob and Cleo use one store, in one workspace or in several. Time stands still but for a second
between two operations, ids are made of the time alone: whatever Ann and Cleo are answered can then
only differ because of what Bob did.
"""

from __future__ import annotations

import io
import json
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass, field
from datetime import timedelta
from functools import cache, partial
from pathlib import Path
from typing import Any
from unittest import mock

import anyio
from fastapi.testclient import TestClient
from mcp import Client
from typer.main import get_command

from holdfast import wiring
from holdfast.errors import HoldfastError
from holdfast.memory.memory import Memory
from holdfast.service.cli.app import app
from holdfast.service.http.app import create_app
from holdfast.service.keys import create_key
from holdfast.service.mcp import resources, tools
from holdfast.service.mcp.asker import Asker
from holdfast.service.mcp.server import One, server
from tests.service.asking import Question, Route, routes_of
from tests.service.world import BEGAN, HASHES, SETTINGS, World

PEOPLE = ("ann", "bob", "cleo")
#: Whose operations are left out.
REMOVED = "bob"
_NOBODYS = "0" * 31 + "7"
#: Few words, so that everybody uses the same: what is rare for one must not depend on others.
_WORDS = [
    "tea",
    "Lisbon",
    "flute",
    "Rex",
    "release",
    "Postgres",
    "garden",
    "Friday",
    "blue",
    "train",
]
_SENTENCES = (
    "I live in {}.", "I like {} and {}.", "Always mention {} first.", "My dog is called {}.",
    "We moved the {} to {} in May 2024.", "I work at {} Labs with Maria {}.", "{} broke again.",
)  # fmt: skip
#: What a command may be asked, for one user.
_COMMANDS: Mapping[str, Sequence[str]] = {
    "recall": ["recall", "What about tea and the garden?"],
    "context": ["context", "Where do I live?"],
    "explain": ["explain", "$/v1/contexts"],
    "status": ["status", "$/v1/events"],
    "history": ["history", "$/v1/memories"],
    "graph show": ["graph", "show"],
    "graph merges": ["graph", "merges"],
    "facts list": ["facts", "list"],
    "facts unclear": ["facts", "unclear"],
    "facts contradictions": ["facts", "contradictions"],
    "facts conflicts": ["facts", "conflicts"],
    "notes list": ["notes", "list"],
    "profile": ["profile"],
    "procedures list": ["procedures", "list"],
    "knowledge list": ["knowledge", "list"],
}


_ARGUMENTS: Mapping[str, Any] = {
    "query": "What about tea and the garden?",
    "question": "Where do I live?",
    "start": "tea",
    "names": ["tea", "Lisbon"],
}
#: What an MCP client may read: tools and resources.
TOOLS = [
    *(f"mcp {tool.name}" for tool in tools.ALL.values() if tool.role == "read"),
    *(f"mcp {resource.uri}" for resource in resources.list_resources(Asker("acme", "ann"))),
]


@dataclass(frozen=True)
class Step:
    """One operation: who, and what over HTTP; `$name` in it is an id from an earlier answer."""

    who: str
    question: Question
    #: Under which name the id in its answer is known from then on, to the same person.
    keep: str = ""


@dataclass(frozen=True)
class History:
    """Steps, and what is read after them."""

    seed: int
    workspaces: Mapping[str, str]
    steps: tuple[Step, ...]
    #: After which steps the background work is done.
    drains: frozenset[int]
    #: (who, name of a route or a command).
    reads: tuple[tuple[str, str], ...]


@dataclass
class Played:
    """What Ann and Cleo were answered, in order, with the question."""

    answers: list[tuple[str, bytes]] = field(default_factory=list)
    #: Ids that everybody made, by person and path.
    ids: dict[str, dict[str, str]] = field(default_factory=lambda: {who: {} for who in PEOPLE})


def history(seed: int, routes: Sequence[Route]) -> History:
    """A random history, the same for the same seed."""
    rng = random.Random(seed)
    together = rng.random() < 0.5
    workspaces = {
        "ann": "acme", "bob": "acme" if together else "globex",
        "cleo": rng.choice(["acme", "initech"]),
    }  # fmt: skip
    steps = tuple(_step(rng, rng.choice(PEOPLE), workspaces) for _ in range(rng.randint(9, 15)))
    drains = frozenset(rng.sample(range(len(steps)), 1)) | {len(steps) - 1}
    doors = ([route.name for route in routes], [f"cli {name}" for name in _COMMANDS], TOOLS)
    reads = tuple(
        (who, name)
        for who in PEOPLE
        if who != REMOVED
        # Most over HTTP: a command opens the store anew.
        for door, count in zip(doors, (10, 2, 2), strict=True)
        for name in rng.sample(door, min(count, len(door)))
    )
    return History(seed, workspaces, steps, drains, reads)


def _step(rng: random.Random, who: str, workspaces: Mapping[str, str]) -> Step:
    def sentence() -> str:
        return rng.choice(_SENTENCES).format(*rng.choices(_WORDS, k=2))

    scope = {"user_id": who}
    turns = [{"content": sentence(), "role": rng.choice(["user", "assistant"])} for _ in range(2)]
    word, other = rng.sample(_WORDS, 2)
    made: list[tuple[str, str, Mapping[str, Any] | None, str]] = [
        ("POST", "/v1/memories", {"messages": turns, "session_id": rng.choice("st")}, "memories"),
        ("POST", "/v1/memories", {"messages": sentence()}, "memories"),
        ("POST", "/v1/memories/ingest", {"conversation": sentence()}, ""),
        ("POST", "/v1/facts", {"text": sentence()}, "facts"),
        ("POST", "/v1/notes", {"content": sentence()}, ""),
        ("POST", "/v1/procedures", {"title": word, "steps": [sentence()]}, "procedures"),
        ("POST", "/v1/graph", {
            "relations": [{"source": word, "type": "likes", "target": other}],
        }, ""),
        ("PUT", f"/v1/entries/{word}", {"value": sentence()}, ""),
        ("PUT", "/v1/profile/city", {"value": word}, ""),
        ("POST", "/v1/context", {"messages": f"What about {word}?"}, "contexts"),
        ("DELETE", "/v1/memories/$/v1/memories", None, ""),
        ("POST", "/v1/memories/$/v1/memories/feedback", {"value": rng.choice([1, -1])}, ""),
        ("POST", "/v1/sessions/s/compact", {"keep_turns": 1}, ""),
        ("POST", "/v1/recall", {"query": sentence()}, ""),
    ]  # fmt: skip
    if who == REMOVED:
        made.append(("POST", "/v1/erase", {}, ""))
        if workspaces[who] not in {workspaces[each] for each in PEOPLE if each != who}:
            team = {"content": sentence(), "type": "note"}
            made.append(("POST", "/v1/workspace/memories", team, ""))
    method, path, body, keep = rng.choice(made)
    query = scope if body is None else {}
    sent = None if body is None else {**body, **scope}
    return Step(who, Question(method, path, query, sent), f"/v1/{keep}" if keep else "")


def played(told: History, db: Path, routes: Sequence[Route], *, without: str = "") -> Played:
    """Play it on a new store; the steps of one person may be left out."""
    clock, seen = _Clock(), Played()
    with _of_time_alone(clock):
        with ExitStack() as stack:
            memory = stack.enter_context(_opened(db, clock))
            service = create_app(memory, clock=clock)
            client = stack.enter_context(TestClient(service, "http://localhost:3050"))
            # Of a store into which nobody ever wrote, questions are not embedded: that one bit,
            # once in the life of a store, is the one that others can see.
            memory.remember("The store is in use.", user="zoe", workspace="elsewhere")
            play = _Play(told, client, seen, _keys(memory, told), routes)
            _steps(play, memory, clock, without)
            play.read()
            _over_mcp(told, memory, seen)
        _commands(told, db, seen, clock)
    return seen


def _steps(play: _Play, memory: Memory, clock: _Clock, without: str) -> None:
    for number, step in enumerate(play.told.steps):
        clock.tick()
        if step.who != without:
            play.step(step)
        if number in play.told.drains:
            clock.tick()
            memory.drain()


class _Clock:
    def __init__(self) -> None:
        self.now = BEGAN

    def __call__(self) -> Any:
        return self.now

    def tick(self) -> None:
        self.now += timedelta(seconds=10)


@dataclass
class _Play:
    told: History
    client: TestClient
    seen: Played
    keys: Mapping[str, str]
    routes: Sequence[Route]

    def step(self, step: Step) -> None:
        answer = self._asked(step.who, step.question)
        if step.keep and answer.status_code < 300:
            body = answer.json()
            id = body.get("id") or body["events"][0]
            self.seen.ids[step.who].setdefault(step.keep, id)
            self.seen.ids[step.who].setdefault("/v1/events", id)

    def read(self) -> None:
        by_name = {route.name: route for route in self.routes}
        for who, name in self.told.reads:
            if name in by_name:
                route = by_name[name]
                world = World(Path(), {}, _Known(self.seen.ids[who]))
                subject = route.subject(world) if route.takes_an_id else None
                if route.asked.user_in_path:
                    subject = who
                self._asked(who, route.by(who, route.question(world, subject=subject)))

    def _asked(self, who: str, question: Question) -> Any:
        ids = _Known(self.seen.ids[who])
        path = question.path.replace("$/v1/memories", ids["/v1/memories"])
        answer = self.client.request(
            question.method, path, params=dict(question.query), json=question.body,
            headers={**question.headers, "authorization": f"Bearer {self.keys[who]}"},
        )  # fmt: skip
        if who != REMOVED:
            words = f"{who}: {question.method} {path} {json.dumps(question.body)}"
            self.seen.answers.append((words, b"%d " % answer.status_code + answer.content))
        return answer


class _Known(dict[str, str]):
    """Ids by path; what is not there yet is nobody's."""

    def __missing__(self, path: str) -> str:
        return {"/v1/sessions": "s", "/v1/entries": "tea", "/v1/notes/days": "2026-03-01"}.get(
            path, _NOBODYS
        )

    def get(self, path: str, default: Any = None) -> Any:
        return self[path]


def _keys(memory: Memory, told: History) -> dict[str, str]:
    """A key of the whole workspace for who has it alone, else one of the user."""
    secrets = {}
    for who, workspace in told.workspaces.items():
        alone = list(told.workspaces.values()).count(workspace) == 1
        secrets[who] = create_key(
            memory.store, workspace=workspace, user=None if alone else who, role="admin",
            clock=lambda: BEGAN,
        )[1]  # fmt: skip
    return secrets


def _over_mcp(told: History, memory: Memory, seen: Played) -> None:
    """The reads of MCP clients, each the official one, against a server in this process."""
    for who in PEOPLE:
        names = [name[4:] for asker, name in told.reads if asker == who and name.startswith("mcp ")]
        if names:
            client = Client(server(memory, One(Asker(told.workspaces[who], who))))
            answers = anyio.run(_read_all, client, names)
            asked = (f"{who}: mcp {name}" for name in names)
            seen.answers += zip(asked, answers, strict=True)


async def _read_all(client: Client, names: Sequence[str]) -> list[bytes]:
    found = []
    async with client:
        for name in names:
            if "://" in name:
                answer: Any = await client.read_resource(name)
            else:
                takes = tools.ALL[name].takes.get("required", ())
                sent = {each: _ARGUMENTS[each] for each in takes}
                answer = await client.call_tool(name, sent)
            found.append(answer.model_dump_json().encode())
    return found


def _commands(told: History, db: Path, seen: Played, clock: _Clock) -> None:
    """The reads on the command line, each on a store that it opens by itself."""
    opening: Callable[..., Any] = partial(wiring.open, clock=clock, embedder=HASHES)
    settings = db.with_suffix(".json")
    settings.write_text(json.dumps(dict(SETTINGS)))
    for who, name in told.reads:
        if not name.startswith("cli "):
            continue
        ids = _Known(seen.ids[who])
        asked = [ids[each[1:]] if each.startswith("$") else each for each in _COMMANDS[name[4:]]]
        scope = ["--user", who, "--workspace", told.workspaces[who]]
        out = io.TextIOWrapper(io.BytesIO(), "utf-8", write_through=True)
        err = io.StringIO()
        with mock.patch.object(wiring, "open", opening), redirect_stdout(out), redirect_stderr(err):
            code = _run([*asked, *scope, "--json", "--db", str(db), "--config", str(settings)])
        out.flush()
        out.seek(0)
        printed = f"{code} {out.read()}{err.getvalue()}".replace(str(db), "DB")
        seen.answers.append((f"{who}: holdfast {' '.join(asked)}", printed.encode()))


@cache
def _command() -> Any:
    """The command line; to build it takes longer than to run it."""
    return get_command(app)


def _run(args: Sequence[str]) -> str:
    try:
        return str(_command()(list(args), prog_name="holdfast", standalone_mode=False))
    except HoldfastError as error:
        return f"{type(error).__name__}: {error}"


@contextmanager
def _opened(db: Path, clock: _Clock) -> Iterator[Memory]:
    with wiring.open(db, embedder=HASHES, worker=False, clock=clock, config=SETTINGS) as memory:
        yield memory


@contextmanager
def _of_time_alone(clock: _Clock) -> Iterator[None]:
    """The random part of an id is the same for all that are made at one time."""

    def noise(size: int) -> bytes:
        return random.Random(clock.now.timestamp()).randbytes(size)

    with mock.patch("holdfast.border.ids.os.urandom", noise):
        yield


def differences(told: History, folder: Path, routes: Sequence[Route]) -> tuple[int, list[str]]:
    """How many answers were compared, and where they differ."""
    whole = played(told, folder / "whole.db", routes)
    less = played(told, folder / "less.db", routes, without=REMOVED)
    if len(whole.answers) != len(less.answers):
        return len(whole.answers), [f"{len(whole.answers)} and {len(less.answers)} answers"]
    found = [
        f"history {told.seed}: {asked}: {one[:300]!r} but without {REMOVED} {other[:300]!r}"
        for (asked, one), (_, other) in zip(whole.answers, less.answers, strict=True)
        if one != other
    ]
    return len(whole.answers), found


def readable(folder: Path) -> list[Route]:
    """The routes by which something is read, except those of whole workspaces and operators."""
    with _opened(folder / "routes.db", _Clock()) as memory:
        routes = routes_of(create_app(memory))
    return [
        route
        for route in routes
        if route.asked.role == "read" and not route.asked.endless and not route.asked.apart
    ]
