"""Responses through the proxy, with the official client."""

import json
from typing import Any

from tests.service.proxy.serving import Service
from tests.service.proxy.upstream import Running

LISBON = "I moved to Lisbon in March."
BOTH = [("user", LISBON), ("assistant", f"You said: {LISBON}")]


def sent(model: Running) -> dict[str, Any]:
    return dict(json.loads(model.seen()[-1]["raw"]))


def test_memory_stands_at_the_end_of_the_instructions(service: Service, model: Running) -> None:
    with service.client() as client:
        answer = client.responses.create(model="m", input=LISBON, store=False)
        assert answer.output_text == f"You said: {LISBON}"
        assert sent(model) == {"model": "m", "input": LISBON, "store": False}
        assert service.soon(2) == BOTH
        client.responses.create(model="m", input="Lisbon?", instructions="Be brief.")
        told = sent(model)["instructions"]
        assert told.startswith("Be brief.\n\n<memory ")
        assert LISBON in told
        # Sent back with the next call it is replaced, not added to.
        client.responses.create(model="m", input="Lisbon, again?", instructions=told)
        assert sent(model)["instructions"].count("<memory ") == 1
        client.responses.create(model="m", input="Lisbon, once more?")
        assert sent(model)["instructions"].startswith("<memory ")


def test_a_list_of_items(service: Service, model: Running) -> None:
    items: Any = [
        {"role": "developer", "content": "Be brief."},
        {"role": "user", "content": "Hello there."},
        {
            "type": "message",
            "role": "assistant",
            "content": [{"type": "output_text", "text": "Hi"}],
        },
        {"type": "function_call", "call_id": "c1", "name": "look", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "c1", "output": "The vault code is 7."},
        {"role": "user", "content": [{"type": "input_text", "text": LISBON}]},
    ]
    with service.client() as client:
        client.responses.create(model="m", input=items)
    assert sent(model)["input"] == items
    assert service.soon(2) == BOTH


def test_a_stream(service: Service) -> None:
    with service.client() as client:
        events = list(client.responses.create(model="m", input=LISBON, stream=True))
    kinds = [event.type for event in events]
    assert kinds[0] == "response.created"
    assert kinds[-1] == "response.completed"
    assert service.soon(2) == BOTH


async def responses_async(service: Service) -> str:
    async with service.async_client() as client:
        answer = await client.responses.create(model="m", input=LISBON)
        return str(answer.output_text)


def test_the_async_client(service: Service) -> None:
    import anyio

    assert anyio.run(responses_async, service) == f"You said: {LISBON}"


def test_the_same_words_after_another_answer_are_another_turn(service: Service) -> None:
    with service.client() as client:
        for before in ("resp_a", "resp_b", "resp_b"):
            client.responses.create(model="m", input="Go on.", previous_response_id=before)
    turns = service.soon(5)
    assert [text for role, text in turns if role == "user"] == ["Go on.", "Go on."]
