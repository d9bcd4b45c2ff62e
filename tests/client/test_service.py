"""The clients of a real service: the errors, many callers at once, who may do what."""

import asyncio
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

import holdfast
from holdfast.errors import (
    Closed,
    Conflict,
    Denied,
    HoldfastError,
    InvalidInput,
    NotFound,
    TooLarge,
)
from holdfast.memory.memory import Memory
from holdfast.service.keys import create_key
from holdfast.testing import HashEmbedder
from tests.client.serving import served

ANN: dict[str, Any] = {"user": "ann"}
NOBODY = "0" * 32


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    with holdfast.open(tmp_path / "m.db", embedder=HashEmbedder(), worker=False) as memory:
        yield memory


@pytest.fixture
def address(memory: Memory) -> Iterator[str]:
    with served(memory) as address:
        yield address


@pytest.fixture
def client(memory: Memory, address: str) -> Iterator[holdfast.Client]:
    with holdfast.Client(address, create_key(memory.store, role="admin")[1]) as client:
        yield client


# Errors

BAD: dict[str, Callable[[Any], Any]] = {
    "no user": lambda m: m.recall("x"),
    "a blank user": lambda m: m.recall("x", user=" "),
    "a user of another type": lambda m: m.recall("x", user=7),
    "a long user": lambda m: m.remember("x", user="u" * 600),
    "an empty question": lambda m: m.recall("", **ANN),
    "no question": lambda m: m.recall(None, **ANN),
    "a limit of 0": lambda m: m.recall("x", limit=0, **ANN),
    "a limit of a million": lambda m: m.recall("x", limit=1_000_000, **ANN),
    "a time without a zone": lambda m: m.recall("x", as_of="2026-03-01T10:00", **ANN),
    "no time at all": lambda m: m.facts.list(as_of="yesterday", **ANN),
    "a tier that does not exist": lambda m: m.recall("x", tiers=["gossip"], **ANN),
    "a setting that does not exist": lambda m: m.recall("x", overrides={"fusoin": 1}, **ANN),
    "no messages": lambda m: m.remember([], **ANN),
    "a message without content": lambda m: m.remember([{"role": "user"}], **ANN),
    "a role that does not exist": lambda m: m.remember([{"role": "x", "content": "y"}], **ANN),
    "metadata of another type": lambda m: m.remember("x", metadata=[1], **ANN),
    "a blank key": lambda m: m.remember("x", key=" ", **ANN),
    "a long text": lambda m: m.remember("x" * 3_000_000, **ANN),
    "a fact of no category": lambda m: m.facts.add("I live.", category="gossip", **ANN),
    "a confidence over 1": lambda m: m.facts.add("I live in Rome.", confidence=2.0, **ANN),
    "a memory that is not there": lambda m: m.forget(NOBODY, **ANN),
    "a fact that is not there": lambda m: m.facts.get(NOBODY, **ANN),
    "an entry that is not there": lambda m: m.knowledge.get("nothing", **ANN),
    "a context that is not there": lambda m: m.explain("abcdef", **ANN),
    "an entity that is not there": lambda m: m.graph.merge("Ann", "Bob", **ANN),
    "memories that are not there": lambda m: m.expand([NOBODY], **ANN),
    "a document of no bytes": lambda m: m.knowledge.add(b"", **ANN),
    "a file that is not there": lambda m: m.knowledge.add(Path("no such file.md"), **ANN),
    "a day that is none": lambda m: m.notes.day("2026-02-30", **ANN),
    "a share with oneself": lambda m: m.shares.grant(to="default", segments=["profile"], **ANN),
}


@pytest.mark.parametrize("call", BAD.values(), ids=BAD.keys())
def test_what_is_wrong_is_told_as_in_this_process(
    memory: Memory, client: holdfast.Client, call: Callable[[Any], Any]
) -> None:
    told = []
    for each in (memory, client):
        with pytest.raises(HoldfastError) as error:
            call(each)
        told.append((type(error.value), getattr(error.value, "field", None)))
    assert told[0] == told[1]


def test_a_key_used_for_something_else(client: holdfast.Client) -> None:
    client.remember("I moved to Lisbon.", key="k", **ANN)
    assert client.remember("I moved to Lisbon.", key="k", **ANN).duplicate
    with pytest.raises(Conflict, match="used before with another body"):
        client.remember("I moved to Porto.", key="k", **ANN)


def test_a_body_over_the_limit(memory: Memory, client: holdfast.Client) -> None:
    text = "x" * (memory.config.limits.body_bytes + 1)
    with pytest.raises(TooLarge, match="limit"):
        client.remember([{"content": text[:1000]}] * (len(text) // 1000), **ANN)


# Who may do what


def test_a_key_that_is_not_known(address: str) -> None:
    for key in ("", "rk_nobody"):
        with holdfast.Client(address, key) as client, pytest.raises(Denied) as told:
            client.recall("x", **ANN)
        told_words = "does not accept this key" if key else "asks for a key: set HOLDFAST_API_KEY"
        assert str(told.value).startswith(f"{address} {told_words}")
        assert "rk_nobody" not in str(told.value)


def test_a_key_that_may_only_read(memory: Memory, address: str) -> None:
    with holdfast.Client(address, create_key(memory.store, role="read")[1]) as client:
        assert client.recall("x", **ANN) == []
        with pytest.raises(Denied, match="may only read"):
            client.remember("x", **ANN)
        with pytest.raises(Denied, match="this needs an admin key"):
            client.jobs()


def test_a_key_of_one_user_names_it(memory: Memory, address: str) -> None:
    secret = create_key(memory.store, workspace="lab", user="ann", role="write")[1]
    with holdfast.Client(address, secret) as client:
        # Neither the user nor the workspace need be named; "default" is the key's own.
        (event,) = client.remember("I moved to Lisbon.", workspace="default").events
        assert client.status(event).state == "stored"
        assert memory.status(event, user="ann", workspace="lab").event == event
        with pytest.raises(Denied):
            client.recall("x", user="bob")
        with pytest.raises(Denied):
            client.recall("x", workspace="other")


# Many at once


def test_sixteen_threads(client: holdfast.Client) -> None:
    def told(number: int) -> int:
        user = f"user {number}"
        client.remember(f"My number is {number}.", user=user)
        return sum(len(client.recall("number", user=user)) for _ in range(3))

    with ThreadPoolExecutor(16) as pool:
        assert list(pool.map(told, range(16))) == [3] * 16


def test_twenty_questions_awaited_together(memory: Memory, address: str) -> None:
    secret = create_key(memory.store, role="admin")[1]

    async def main() -> None:
        async with holdfast.AsyncClient(address, secret) as client:
            receipts = await asyncio.gather(
                *(client.remember(f"Fact {n} is here.", **ANN) for n in range(20))
            )
            assert len({each.events for each in receipts}) == 20
            found = await asyncio.gather(
                *(client.recall(f"fact {n}", limit=1, **ANN) for n in range(20))
            )
            assert [hits[0].content for hits in found] == [f"Fact {n} is here." for n in range(20)]
            note = await client.notes.add("Chose Postgres.", **ANN)
            assert [each.id for each in await client.notes.list(**ANN)] == [note.id]
            with pytest.raises(NotFound):
                await client.forget(NOBODY, **ANN)
            with pytest.raises(InvalidInput, match="limit"):
                await client.recall("x", limit=0, **ANN)
            assert (await client.drain(30)).pending == 0
        with pytest.raises((Closed, RuntimeError)):
            await client.recall("x", **ANN)

    asyncio.run(main())
    assert not [each for each in threading.enumerate() if each.name.startswith("holdfast-client")]


def test_a_loop_goes_on_while_a_call_waits(address: str) -> None:
    async def main() -> int:
        # Nobody is behind this address: the call waits between its tries.
        async with holdfast.AsyncClient("http://127.0.0.1:1", "k", retries=3) as client:
            call = asyncio.ensure_future(client.recall("x", **ANN))
            turns = 0
            while not call.done():
                await asyncio.sleep(0.005)
                turns += 1
            with pytest.raises(HoldfastError):
                call.result()
            return turns

    assert asyncio.run(main()) > 2  # A loop that stood still would have had one turn.


# The rest


def test_the_clock_is_that_of_the_service(client: holdfast.Client) -> None:
    assert abs(client.now() - datetime.now(UTC)) < timedelta(seconds=30)
    assert client.now().tzinfo is UTC


def test_draining_goes_on_until_nothing_is_left(memory: Memory, client: holdfast.Client) -> None:
    for number in range(8):
        client.remember(f"My number is {number}.", user=f"u{number}")
    done = client.drain()
    assert (done.pending, done.dead) == (0, 0)
    assert done.done >= 16
    assert memory.store.counts().ready == 0


def test_a_memory_opened_by_its_address(
    memory: Memory, address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOLDFAST_API_KEY", create_key(memory.store, role="write")[1])
    with holdfast.open(address) as opened:
        assert isinstance(opened, holdfast.Client)
        opened.remember("I moved to Lisbon.", **ANN)
        assert [hit.content for hit in opened.recall("Lisbon", **ANN)] == ["I moved to Lisbon."]
