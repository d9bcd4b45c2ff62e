"""What a later word replaced, at every door: the later first, the earlier marked or hidden."""

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient

import holdfast
from holdfast.memory.memory import Memory
from holdfast.recall import deerflow
from holdfast.recall.context import astra, safe
from holdfast.testing import HashEmbedder
from tests.service.calling import client_of, given
from tests.service.mcp.driving import Driver, drive
from tests.service.proxy import upstream
from tests.service.proxy.serving import serving
from tests.service.proxy.test_chat import asked, blocks, sent

JANUARY, MARCH = datetime(2026, 1, 10, 9, tzinfo=UTC), datetime(2026, 3, 12, 9, tzinfo=UTC)
MAY = datetime(2026, 5, 4, 9, tzinfo=UTC)
PARIS, LISBON = "I live in Paris.", "I live in Lisbon now."
NOW, THEN = "Where do I live?", "Where did I live in February?"


def tell(memory: Memory) -> tuple[str, str]:
    """The ids of what was said in January and in March."""
    ids: list[str] = []
    for said, at in ((PARIS, JANUARY), (LISBON, MARCH)):
        ids += memory.remember(said, user="ann", at=at).events
        memory.drain()
    return ids[0], ids[1]


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    with holdfast.open(
        tmp_path / "m.db", embedder=HashEmbedder(), worker=False, clock=lambda: MAY
    ) as memory:
        yield memory


@pytest.fixture
def client(memory: Memory) -> Iterator[TestClient]:
    with client_of(memory, role="admin") as client:
        yield client


def test_in_python(memory: Memory) -> None:
    old, new = tell(memory)
    first, second = memory.recall(NOW, user="ann")
    assert (first.id, first.why["replaces"]) == (new, old)
    assert (second.id, second.why["replaced"]) == (old, {"by": new, "until": "2026-03-12"})
    assert [hit.content for hit in memory.recall(THEN, user="ann")] == [PARIS, LISBON]


def test_a_question_about_then_is_answered_with_what_was_so_then(memory: Memory) -> None:
    tell(memory)
    memory.remember("I moved to Porto.", user="ann", at=datetime(2026, 4, 20, tzinfo=UTC))
    memory.drain()
    for month, place in (("February", PARIS), ("late March", LISBON), ("May", "I moved to Porto.")):
        hits = memory.recall(f"Where did I live in {month}?", user="ann")
        assert hits[0].content == place, month


@pytest.mark.parametrize("format", ["safe", "astra", "deerflow"])
def test_in_a_block_of_each_format(memory: Memory, format: str) -> None:
    tell(memory)
    text = memory.context(NOW, user="ann", format=format).text
    if format == "safe":
        told = {(each.who, each.text) for each in safe.parse(text)}
        assert told == {("user", LISBON), ("user (until March 2026)", PARIS)}
    elif format == "astra":
        kinds = [(each.kind, each.content) for each in astra.parse(text)]
        assert kinds == [("turn", LISBON), ("turn (until March 2026)", PARIS)]
    else:
        facts = {each.content for each in deerflow.parse(text)}
        assert facts == {LISBON, f"user (until March 2026): {PARIS}"}
    assert "until" not in memory.context(THEN, user="ann", format=format).text


def test_what_is_said_beside_it_stays_and_the_mark_says_so(memory: Memory) -> None:
    memory.remember("I live in Paris. I have two cats.", user="ann", at=JANUARY)
    memory.drain()
    memory.remember(LISBON, user="ann", at=MARCH)
    memory.drain()
    items = safe.parse(memory.context(NOW, user="ann").text)
    assert [each.who for each in items] == ["user (partly until March 2026)", "user"]


def test_over_http(memory: Memory, client: TestClient) -> None:
    old, new = tell(memory)
    hits = given(client.post("/v1/recall", json={"user_id": "ann", "query": NOW}))["hits"]
    assert [hit["id"] for hit in hits] == [new, old]
    assert hits[0]["why"]["replaces"] == old
    assert hits[1]["why"]["replaced"] == {"by": new, "until": "2026-03-12"}
    then = given(client.post("/v1/recall", json={"user_id": "ann", "query": THEN}))["hits"]
    assert then[0]["id"] == old
    block = given(client.post("/v1/context", json={"user_id": "ann", "messages": NOW}))["text"]
    assert f"user (until March 2026): {PARIS}" in block


@pytest.mark.parametrize("path", ["/search", "/search/fast"])
def test_atomic_memory_hides_what_is_wholly_replaced(
    memory: Memory, client: TestClient, path: str
) -> None:
    old, new = tell(memory)

    def search(query: str, **more: Any) -> dict[str, Any]:
        body = {"user_id": "ann", "query": query, **more}
        return given(client.post("/v1/memories" + path, json=body))

    now = search(NOW)
    assert [each["id"] for each in now["memories"]] == [new]
    assert PARIS not in now["injection_text"]
    assert old in now["observability"]["retrieval"]["candidate_ids"]
    assert search(THEN)["memories"][0]["id"] == old
    assert [each["id"] for each in search(NOW, as_of="2026-02-10T00:00:00Z")["memories"]] == [old]


def test_atomic_memory_shows_what_is_replaced_in_part(memory: Memory, client: TestClient) -> None:
    memory.remember("I live in Paris. I have two cats.", user="ann", at=JANUARY)
    memory.drain()
    memory.remember(LISBON, user="ann", at=MARCH)
    memory.drain()
    found = given(client.post("/v1/memories/search", json={"user_id": "ann", "query": NOW}))
    assert "partly until March 2026" in found["injection_text"]
    assert found["count"] == 2


def test_over_mcp(memory: Memory) -> None:
    old, new = tell(memory)

    async def script(mcp: Driver) -> None:
        first, second = (await mcp.call("recall", query=NOW))["hits"]
        assert (first["id"], first["replaces"]) == (new, old)
        assert second["replaced"] == {"by": new, "until": "2026-03-12"}
        then = (await mcp.call("recall", query=THEN))["hits"]
        assert then[0]["id"] == old
        block = (await mcp.call("context", question=NOW))["text"]
        assert f"user (until March 2026): {PARIS}" in block

    drive(memory, script)


def test_in_the_block_of_the_proxy(tmp_path: Path) -> None:
    with upstream.running() as model, serving(tmp_path / "p.db", model.url) as service:
        tell(service.memory)
        with service.client() as client:
            asked(client, NOW)
        (block,) = blocks(sent(model))
    told = {(each.who, each.text) for each in safe.parse(block)}
    assert told == {("user", LISBON), ("user (until March 2026)", PARIS)}


def test_of_a_statement_that_is_replaced_in_part_the_rest_is_told_as_it_is(tmp_path: Path) -> None:
    said = (
        ("I share a flat on Garnet Street with Pilar, my share is 540 a month.", JANUARY),
        ("My share of the rent went up to 600 a month.", MARCH),
        ("I moved out, I live with my brother Tom now.", MAY),
    )
    with holdfast.open(tmp_path / "read.db", worker=False, clock=lambda: MAY) as memory:
        ids: list[str] = []
        for text, at in said[:2]:
            ids += memory.remember(text, user="ann", at=at).events
            memory.drain()
        held = {fact.content: fact.reason for fact in memory.facts.list(user="ann")}
        assert held["I share a flat on Garnet Street with Pilar"] == "rest"
        assert said[0][0] not in held
        first, second = memory.recall("How much is my share a month?", user="ann")
        replaced = {"by": ids[1], "until": "2026-03-12", "partly": True}
        assert (first.id, second.why["replaced"]) == (ids[1], replaced)
        # What is left is replaced, too.
        ids += memory.remember(said[2][0], user="ann", at=said[2][1]).events
        memory.drain()
        held = {fact.content: fact.reason for fact in memory.facts.list(user="ann")}
        assert "I share a flat on Garnet Street with Pilar" not in held
        assert memory.recall("With whom do I live now?", user="ann")[0].id == ids[2]
