"""The official OpenAI client for Python before the proxy: what a program with a memory calls."""

import asyncio
import json
import os
import socket
import subprocess
import time
import traceback
import urllib.request
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import openai
from pydantic import BaseModel

URL = os.environ["HOLDFAST_URL"] + "/v1/proxy"
KEY = os.environ["HOLDFAST_KEY"]
MODEL_ROOT = os.environ["HOLDFAST_UPSTREAM"].removesuffix("/v1")
SCENARIOS: list[Callable[[], None]] = []


class City(BaseModel):
    """What a structured answer holds."""

    city: str


def scenario(check: Callable[[], None]) -> Callable[[], None]:
    SCENARIOS.append(check)
    return check


def options(user: str = "ann", **more: Any) -> dict[str, Any]:
    headers = {"X-Holdfast-User": user, **more.pop("headers", {})}
    told = {"base_url": URL, "api_key": KEY, "max_retries": 0, "timeout": 60}
    return {**told, "default_headers": headers, **more}


def client(user: str = "ann", **more: Any) -> openai.OpenAI:
    return openai.OpenAI(**options(user, **more))


def said(text: str) -> list[Any]:
    return [{"role": "user", "content": text}]


def upstream(path: str, method: str = "GET") -> Any:
    request = urllib.request.Request(MODEL_ROOT + path, method=method)
    with urllib.request.urlopen(request, timeout=30) as answer:
        return json.load(answer)


def last_call() -> dict[str, Any]:
    return dict(json.loads(upstream("/seen")[-1]["raw"]))


def refused(kind: type[Exception], call: Callable[[], object]) -> Any:
    try:
        call()
    except kind as problem:
        return problem
    raise AssertionError(f"no {kind.__name__}")


@scenario
def chat() -> None:
    answer = client().chat.completions.create(model="m", messages=said("Hello."))
    assert answer.choices[0].message.content == "You said: Hello."


@scenario
def chat_knows_what_was_said_before() -> None:
    bea = client("bea")
    bea.chat.completions.create(model="m", messages=said("My order is INV-2026-0417."))
    until = time.monotonic() + 60
    while "INV-2026-0417" not in json.dumps(last_call()):  # remembered after the answer
        assert time.monotonic() < until, "it never came back"
        bea.chat.completions.create(
            model="m",
            messages=said("Which order is mine?"),
            extra_headers={"X-Holdfast-Remember": "false"},
        )
    client("cleo").chat.completions.create(model="m", messages=said("Which order is mine?"))
    assert "INV-2026-0417" not in json.dumps(last_call())


@scenario
def chat_of_parts_and_unknown_fields() -> None:
    parts = [{"type": "text", "text": "Look."}]
    messages: list[Any] = [{"role": "user", "content": parts}]
    client().chat.completions.create(model="m", messages=messages, extra_body={"odd": [1.50]})
    assert last_call()["odd"] == [1.5]


@scenario
def chat_choices() -> None:
    answer = client().chat.completions.create(model="m", messages=said("Hello."), n=2)
    assert [choice.index for choice in answer.choices] == [0, 1]


@scenario
def chat_usage() -> None:
    answer = client().chat.completions.create(model="counts", messages=said("Hello."))
    assert answer.usage is not None
    assert answer.usage.total_tokens == 100


@scenario
def chat_stream() -> None:
    stream = client().chat.completions.create(model="m", messages=said("One two."), stream=True)
    pieces = [chunk.choices[0].delta.content or "" for chunk in stream]
    assert "".join(pieces) == "You said: One two."
    assert len(pieces) > 3


@scenario
def chat_stream_helper() -> None:
    with client().chat.completions.stream(model="m", messages=said("One two.")) as stream:
        stream.until_done()
        final = stream.get_final_completion()
    assert final.choices[0].message.content == "You said: One two."


@scenario
def chat_stream_usage() -> None:
    stream = client().chat.completions.create(
        model="counts",
        messages=said("Hi."),
        stream=True,
        stream_options={"include_usage": True},
    )
    assert [chunk.usage.total_tokens for chunk in stream if chunk.usage] == [100]


@scenario
def tools() -> None:
    tool: Any = {"type": "function", "function": {"name": "look", "parameters": {}}}
    answer = client().chat.completions.create(model="tools", messages=said("Look."), tools=[tool])
    (call,) = answer.choices[0].message.tool_calls or []
    assert (call.type, call.function.name) == ("function", "look")
    asked: Any = answer.choices[0].message.to_dict()
    result: Any = {"role": "tool", "tool_call_id": call.id, "content": "seen"}
    client().chat.completions.create(model="m", messages=[*said("Look."), asked, result])
    assert last_call()["messages"][-1] == result


@scenario
def structured_output() -> None:
    answer = client().chat.completions.parse(
        model="repeats", messages=said('{"city": "Lisbon"}'), response_format=City
    )
    assert answer.choices[0].message.parsed == City(city="Lisbon")
    assert last_call()["response_format"]["type"] == "json_schema"


@scenario
def responses() -> None:
    answer = client().responses.create(model="m", input="Hello.", instructions="Be brief.")
    assert answer.output_text == "You said: Hello."
    assert last_call()["instructions"].startswith("Be brief.")


@scenario
def responses_of_items() -> None:
    items: list[Any] = [{"role": "user", "content": [{"type": "input_text", "text": "Hello."}]}]
    assert client().responses.create(model="m", input=items).output_text == "You said: Hello."


@scenario
def responses_stream() -> None:
    kinds = [
        event.type for event in client().responses.create(model="m", input="A b.", stream=True)
    ]
    assert kinds[0] == "response.created"
    assert kinds[-1] == "response.completed"
    assert kinds.count("response.output_text.delta") == 4


@scenario
def async_chat_and_stream() -> None:
    async def both() -> None:
        async with openai.AsyncOpenAI(**options()) as asking:
            calls = [
                asking.chat.completions.create(model="m", messages=said(str(n))) for n in range(8)
            ]
            answers = await asyncio.gather(*calls)
            told = [each.choices[0].message.content for each in answers]
            assert told == [f"You said: {n}" for n in range(8)]
            stream = await asking.chat.completions.create(
                model="m", messages=said("A."), stream=True
            )
            pieces = [chunk.choices[0].delta.content or "" async for chunk in stream]
            assert "".join(pieces) == "You said: A."

    asyncio.run(both())


@scenario
def models() -> None:
    assert [model.id for model in client().models.list()] == ["scripted"]
    assert client().models.retrieve("some").id == "some"


@scenario
def embeddings() -> None:
    answer = client().embeddings.create(model="m", input="Hello.", encoding_format="float")
    assert answer.data[0].embedding == [0.5]


@scenario
def raw_response_says_what_memory_did() -> None:
    answer = client("dora").chat.completions.with_raw_response.create(
        model="m", messages=said("Hello.")
    )
    assert answer.headers["x-holdfast-memory"] == "empty"
    assert answer.parse().choices[0].message.content == "You said: Hello."


@scenario
def an_own_key_for_the_model() -> None:
    own = client(api_key="sk-own", headers={"X-API-Key": KEY})
    own.chat.completions.create(model="m", messages=said("Hello."))
    headers = upstream("/seen")[-1]["headers"]
    assert headers["authorization"] == "Bearer sk-own"
    assert "x-api-key" not in headers
    assert not any(name.startswith("x-holdfast") for name in headers)


@scenario
def a_wrong_key() -> None:
    wrong = client(api_key="rk_wrong")
    problem = refused(openai.AuthenticationError, wrong.models.list)
    assert problem.status_code == 401


@scenario
def a_missing_user() -> None:
    nobody = openai.OpenAI(base_url=URL, api_key=KEY, max_retries=0)
    refused(
        openai.BadRequestError,
        lambda: nobody.chat.completions.create(model="m", messages=said("Hello.")),
    )


@scenario
def a_key_that_may_only_read() -> None:
    made = subprocess.run(
        [os.environ["HOLDFAST_BIN"], "keys", "create", "--role", "read",
         "--db", os.environ["HOLDFAST_DB"]],
        check=True, capture_output=True, text=True,
    )  # fmt: skip
    key = next(word for word in made.stdout.split() if word.startswith("rk_"))
    reader = client(api_key=key)
    assert [model.id for model in reader.models.list()] == ["scripted"]
    refused(
        openai.PermissionDeniedError,
        lambda: reader.chat.completions.create(model="m", messages=said("Hello.")),
    )


@scenario
def errors_of_the_model() -> None:
    for model, kind in (
        ("401", openai.AuthenticationError),
        ("429", openai.RateLimitError),
        ("500", openai.InternalServerError),
    ):
        problem = refused(
            kind,
            lambda model=model: client().chat.completions.create(model=model, messages=said("x")),
        )
        assert problem.status_code == int(model)
        assert problem.request_id == "req_7"


@scenario
def an_error_of_the_model_in_a_stream_call() -> None:
    refused(
        openai.RateLimitError,
        lambda: client().chat.completions.create(model="429", messages=said("x"), stream=True),
    )


@scenario
def retries_reach_the_model_and_remember_once() -> None:
    before = len(upstream("/seen"))
    twice = client("emil", max_retries=1)
    refused(
        openai.InternalServerError,
        lambda: twice.chat.completions.create(model="500", messages=said("x")),
    )
    assert len(upstream("/seen")) - before == 2


@scenario
def a_timeout_of_the_client() -> None:
    def read() -> None:
        stream = client(timeout=3).chat.completions.create(
            model="waits", messages=said("One two three four."), stream=True
        )
        for _ in stream:
            pass

    refused(openai.APITimeoutError, read)
    upstream("/go", "POST")
    client().chat.completions.create(model="m", messages=said("Hello."))


@scenario
def a_stream_that_is_left_early() -> None:
    stream = client().chat.completions.create(model="m", messages=said("A b c d."), stream=True)
    with closing(stream):
        next(iter(stream))
    client().chat.completions.create(model="m", messages=said("Hello."))


@scenario
def a_body_that_is_too_large() -> None:
    problem = refused(
        openai.APIStatusError,
        lambda: client().chat.completions.create(model="m", messages=said("x" * 40_000_000)),
    )
    assert problem.status_code == 413


@scenario
def a_route_that_is_not_served() -> None:
    refused(openai.NotFoundError, client().files.list)


@scenario
def a_model_that_is_away() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        nowhere = f"http://127.0.0.1:{free.getsockname()[1]}/v1"
    db = Path(os.environ["HOLDFAST_DB"]).with_name("away.db")
    with subprocess.Popen(
        [os.environ["HOLDFAST_BIN"], "serve", "--db", str(db), "--port", "0"],
        env={**os.environ, "HOLDFAST_PROXY_URL": nowhere}, stdout=subprocess.PIPE, text=True,
    ) as process:  # fmt: skip
        assert process.stdout is not None
        try:
            words = ""
            while "listens on" not in words:
                words += process.stdout.readline()
                assert process.poll() is None, words
            key = next(word for word in words.split() if word.startswith("rk_"))
            url = words.split("listens on ")[1].split()[0] + "/v1/proxy"
            away = client(base_url=url, api_key=key)
            problem = refused(
                openai.InternalServerError,
                lambda: away.chat.completions.create(model="m", messages=said("x")),
            )
            assert problem.status_code == 502
        finally:
            process.kill()


def main() -> None:
    for check in SCENARIOS:
        name = f"openai-python/{check.__name__.replace('_', '-')}"
        try:
            check()
        except Exception as problem:  # noqa: BLE001 - whatever it is, it is told
            place = traceback.extract_tb(problem.__traceback__)[-1]
            reason = " ".join(str(problem).split())[:300]
            print(f"FAIL {name}: {type(problem).__name__} {reason} (line {place.lineno})")
        else:
            print(f"PASS {name}", flush=True)


main()
