"""`POST /v1/memories`: how messages are to be treated, over HTTP as in Python."""

from typing import Any

import pytest
from fastapi.testclient import TestClient

from holdfast.memory.memory import Memory
from holdfast.types import Scope
from tests.service.calling import given, refused

ANN = Scope("default", "ann")
NURSE = "I work as a nurse at Mercy Hospital."


def tell(client: TestClient, **fields: Any) -> Any:
    body = {"user_id": "ann", "messages": NURSE, **fields}
    return client.post("/v1/memories", json=body)


def test_quick_messages_are_read_when_the_answer_comes(memory: Memory, client: TestClient) -> None:
    assert tell(client, quick=True).status_code < 300
    assert [each.content for each in memory.facts.list(user="ann")] == [NURSE]


@pytest.mark.parametrize("who", [{}, {"agent_id": "b"}])
def test_what_one_agent_keeps_is_found_by_it_alone(client: TestClient, who: dict[str, str]) -> None:
    assert tell(client, agent_id="a", visibility="agent_only", quick=True).status_code < 300
    body = {"user_id": "ann", "query": "nurse"}
    assert given(client.post("/v1/recall", json={**body, **who}))["hits"] == []
    found = given(client.post("/v1/recall", json={**body, "agent_id": "a"}))["hits"]
    assert [each["content"] for each in found] == [NURSE]
    (id,) = {each["id"] for each in found}
    asked = f"/v1/memories/{id}/history?user_id=ann"
    refused(client.get(asked + "".join(f"&{name}={word}" for name, word in who.items())), 404)
    assert len(given(client.get(asked + "&agent_id=a"))["versions"]) == 1


def test_settings_of_the_write_are_kept_with_it(memory: Memory, client: TestClient) -> None:
    answer = tell(client, config_override={"extraction.provider": "rules", "rrf.k": 9})
    assert answer.headers["X-Holdfast-Config-Override-Keys"] == "extraction.provider"
    assert answer.headers["X-Holdfast-Unknown-Override-Keys"] == "rrf.k"
    (turn,) = memory.store.events(ANN)
    assert (turn.data, turn.metadata) == ({"provider": "rules"}, {})


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"visibility": "agent_only"}, "visibility agent_only needs an agent"),
        ({"visibility": "all", "agent_id": "a"}, "visibility must be agent_only"),
        ({"quick": True, "extract": False}, "send one"),
        ({"quick": "yes"}, "quick must be true or false"),
        ({"config_override": {"extraction.provider": "llm"}}, "asks no language model"),
        ({"config_override": {"extraction.llm.url": "http://x"}}, "cannot be overridden"),
        ({"config_override": {"service.hosts": "*"}}, "cannot be overridden"),
        ({"config_override": [1]}, "config_override must be an object"),
    ],
)
def test_what_cannot_be_is_refused_and_nothing_stored(
    memory: Memory, client: TestClient, fields: dict[str, Any], words: str
) -> None:
    assert words in refused(tell(client, **fields), 400)
    assert memory.store.events(ANN) == []


def test_an_item_of_a_batch_can_say_so_too(memory: Memory, client: TestClient) -> None:
    item = {"op": "remember", "messages": NURSE, "visibility": "agent_only", "quick": True}
    body = {"user_id": "ann", "agent_id": "a", "items": [item]}
    assert given(client.post("/v1/memories/batch", json=body))["failed"] == 0
    assert memory.facts.list(user="ann") == []
    assert [each.content for each in memory.facts.list(user="ann", agent="a")] == [NURSE]
