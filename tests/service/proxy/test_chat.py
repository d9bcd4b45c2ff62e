"""Chat completions through the proxy, with the official client."""

import json
from typing import Any

from holdfast.store.protocols import DumpedKey
from tests.service.proxy.serving import Service
from tests.service.proxy.upstream import Running

LISBON = "I moved to Lisbon in March."


def asked(client: Any, *messages: Any, model: str = "m", **more: Any) -> Any:
    listed = [{"role": "user", "content": m} if isinstance(m, str) else m for m in messages]
    return client.chat.completions.create(model=model, messages=listed, **more)


def sent(model: Running, number: int = -1) -> list[dict[str, Any]]:
    """The messages that the model got in a call."""
    return list(json.loads(model.seen()[number]["raw"])["messages"])


def blocks(messages: list[dict[str, Any]]) -> list[str]:
    return [m["content"] for m in messages if m["content"] and "<memory " in str(m["content"])]


def test_what_is_said_in_one_conversation_is_known_in_the_next(
    service: Service, model: Running
) -> None:
    with service.client() as client:
        answer = asked(client, LISBON)
        assert answer.choices[0].message.content == f"You said: {LISBON}"
        assert sent(model) == [{"role": "user", "content": LISBON}], "nothing was known yet"
        assert service.soon(2) == [("user", LISBON), ("assistant", f"You said: {LISBON}")]
        asked(client, {"role": "system", "content": "Be brief."}, "Where did I move, Lisbon?")
    first, memory, question = sent(model)
    assert first == {"role": "system", "content": "Be brief."}
    assert memory["role"] == "system"
    assert memory["content"].startswith("<memory ")
    assert LISBON in memory["content"]
    assert question == {"role": "user", "content": "Where did I move, Lisbon?"}


def test_the_answer_says_which_context_was_used(service: Service) -> None:
    service.memory.remember(LISBON, user="ann")
    with service.client() as client:
        raw = client.chat.completions.with_raw_response.create(
            model="m", messages=[{"role": "user", "content": "Lisbon?"}]
        )
        said = raw.headers["x-holdfast-memory"]
        assert said.startswith("used; context=")
        told = service.memory.explain(said.partition("=")[2], user="ann")
        assert told.query == "Lisbon?"
        empty = client.chat.completions.with_raw_response.create(
            model="m", messages=[{"role": "user", "content": "Lisbon?"}],
            extra_headers={"X-Holdfast-User": "nobody"},
        )  # fmt: skip
        assert empty.headers["x-holdfast-memory"] == "empty"
        off = client.chat.completions.with_raw_response.create(
            model="m", messages=[{"role": "user", "content": "Lisbon?"}],
            extra_headers={"X-Holdfast-Budget": "0"},
        )  # fmt: skip
        assert off.headers["x-holdfast-memory"] == "off"


def test_a_stream_passes_as_it_comes_and_is_remembered(service: Service, model: Running) -> None:
    with service.client() as client:
        stream = asked(client, LISBON, model="waits", stream=True)
        # The model says no more until it may: what comes before has come through.
        first = [next(stream) for _ in range(3)]
        assert "".join(c.choices[0].delta.content or "" for c in first) == "You said:"
        assert service.turns() == []
        model.go()
        rest = [c.choices[0].delta.content or "" for c in stream]
        assert "".join(rest) == f" {LISBON}"
    assert service.soon(2) == [("user", LISBON), ("assistant", f"You said: {LISBON}")]


async def chat_async(service: Service) -> list[str]:
    async with service.async_client() as client:
        whole = await asked(client, LISBON)
        stream = await asked(client, "And Ühr?", stream=True)
        pieces = [c.choices[0].delta.content or "" async for c in stream]
        return [whole.choices[0].message.content, "".join(pieces)]


def test_the_async_client(service: Service) -> None:
    import anyio

    assert anyio.run(chat_async, service) == [f"You said: {LISBON}", "You said: And Ühr?"]
    assert len(service.soon(4)) == 4


def test_history_that_comes_again_is_not_remembered_again(service: Service, model: Running) -> None:
    history: list[dict[str, Any]] = []
    texts = ("I like tea.", "And green it should be.", "Tea it is.")
    with service.client() as client:
        for text in texts:
            history.append({"role": "user", "content": text})
            answer = asked(client, *history)
            history.append({"role": "assistant", "content": answer.choices[0].message.content})
    assert service.soon(6) == [(each["role"], each["content"]) for each in history]


def test_its_keys_are_none_that_a_caller_can_send(service: Service) -> None:
    with service.client() as client:
        asked(client, LISBON)
    service.soon(2)
    rows = service.memory.store.dump(vectors=False)
    keys = [each.key.key for each in rows if isinstance(each, DumpedKey)]
    assert len(keys) == 2
    assert all(each.startswith("\x01proxy:") for each in keys)


def test_the_same_call_again_stores_the_user_once(service: Service) -> None:
    with service.client() as client:
        for _ in range(3):
            asked(client, LISBON, model="same-id")
        asked(client, LISBON, model="m")
    found = service.soon(3)
    assert found.count(("user", LISBON)) == 1
    # Another answer, by its id: the model was asked again.
    assert len(found) == 3


def test_a_program_that_leaves_the_answers_out_stores_each_turn_once(service: Service) -> None:
    with service.client() as client:
        for texts in (["One."], ["One.", "Two."], ["One.", "Two.", "Three."]):
            asked(client, *texts)
    found = [text for role, text in service.soon(6) if role == "user"]
    assert found == ["One.", "Two.", "Three."]


def test_a_block_of_ours_that_comes_back_is_replaced(service: Service, model: Running) -> None:
    service.memory.remember(LISBON, user="ann")
    with service.client() as client:
        asked(client, {"role": "system", "content": "Be brief."}, "Lisbon?")
        asked(client, *sent(model), {"role": "assistant", "content": "Yes."}, "Lisbon, again?")
        messages = sent(model)
        assert len(blocks(messages)) == 1
        assert [m["role"] for m in messages] == ["system", "system", "user", "assistant", "user"]
        # Inside other words, in parts, and with memory switched off.
        block = blocks(messages)[0]
        parts = [{"type": "text", "text": f"{block}\n\nLisbon?"}, {"type": "text", "text": block}]
        call = [
            {"role": "system", "content": f"Brief.\n{block}"},
            {"role": "user", "content": parts},
        ]
        asked(client, *call, extra_headers={"X-Holdfast-Budget": "0"})
        assert sent(model) == [
            {"role": "system", "content": "Brief."},
            {"role": "user", "content": [{"type": "text", "text": "Lisbon?"}]},
        ]
    said = [text for _, text in service.soon(6)]
    assert not any("<memory" in text for text in said)
    assert said.count("Lisbon?") == 1, "without the blocks the third call is the first again"


def test_what_tools_say_is_not_remembered(service: Service, model: Running) -> None:
    call = {"id": "c1", "type": "function", "function": {"name": "look", "arguments": "{}"}}
    question = {"role": "user", "content": "Look it up, please."}
    with service.client() as client:
        asked(client, question, model="tools")
        assert service.soon(1) == [("user", "Look it up, please.")]
        asked(
            client,
            question,
            {"role": "assistant", "content": None, "tool_calls": [call]},
            {"role": "tool", "tool_call_id": "c1", "content": "The vault code is 7."},
        )
    assert service.soon(2) == [
        ("user", "Look it up, please."),
        ("assistant", "You said: Look it up, please."),
    ]


def test_of_several_answers_the_first_is_remembered(service: Service) -> None:
    with service.client() as client:
        assert len(asked(client, LISBON, n=2).choices) == 2
    assert service.soon(2)[1:] == [("assistant", f"You said: {LISBON}")]


def test_a_call_can_be_left_out_of_memory(service: Service) -> None:
    with service.client() as client:
        asked(client, "A title for this.", extra_headers={"X-Holdfast-Remember": "false"})
        asked(client, LISBON)
    assert [role for role, _ in service.soon(2)] == ["user", "assistant"]
    assert service.turns()[0][1] == LISBON


def test_session_and_agent_go_with_what_is_remembered(service: Service) -> None:
    headers = {"X-Holdfast-Session": "s1", "X-Holdfast-Agent": "coder"}
    with service.client(headers=headers) as client:
        asked(client, {"role": "user", "content": LISBON, "name": "Ann"})
    service.soon(2)
    (hit, *_) = service.memory.recall("Lisbon March", user="ann", agent="coder")
    assert (hit.session, hit.name) == ("s1", "Ann")
    assert service.memory.recall("Lisbon March", user="ann", agent="another") == []


def test_two_users_are_apart(service: Service, model: Running) -> None:
    with service.client("ann") as ann, service.client("bob") as bob:
        asked(ann, LISBON)
        service.soon(2)
        asked(bob, "Where did I move, Lisbon?")
        assert sent(model) == [{"role": "user", "content": "Where did I move, Lisbon?"}]
    assert len(service.soon(2, "bob")) == 2
    assert len(service.turns("ann")) == 2


def test_pictures_pass_and_words_beside_them_are_remembered(
    service: Service, model: Running
) -> None:
    picture = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}
    content = [{"type": "text", "text": LISBON}, picture]
    with service.client() as client:
        asked(client, {"role": "user", "content": content})
    assert sent(model)[0]["content"] == content
    assert service.soon(2)[0] == ("user", LISBON)
