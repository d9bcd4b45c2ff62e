"""RemoteGenerator against a real server process that misbehaves in every known way."""

import json
import logging
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import pytest

from holdfast.errors import ConfigError, ModelError, ModelUnavailable, Refused
from holdfast.models.base import Generated, TokenUsage
from holdfast.models.remote import RemoteGenerator

KEY = "sk-very-secret-key"
SECRET = "Ann hides the key under the blue pot"
SCHEMA = {"type": "object", "properties": {"facts": {"type": "array"}}}


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    script = Path(__file__).with_name("chat_server.py")
    with subprocess.Popen([sys.executable, str(script)], stdout=subprocess.PIPE, text=True) as run:
        assert run.stdout is not None
        yield f"http://127.0.0.1:{run.stdout.readline().strip()}"
        run.terminate()


def a_generator(server: str, name: str, **options: Any) -> RemoteGenerator:
    return RemoteGenerator(f"{server}/{name}/v1", "some-model", KEY, **options)


def asked(server: str, name: str) -> list[dict[str, Any]]:
    with urlopen(f"{server}/asked") as response:
        return [each for each in json.load(response) if each["name"] == name]


def failure(server: str, name: str, **options: Any) -> ModelError:
    """The error of one call; it shows neither the key nor what was asked."""
    with pytest.raises(ModelError) as caught:
        a_generator(server, name, **options).generate("Extract.", SECRET, schema=SCHEMA)
    shown = f"{caught.value} {caught.value!r} {caught.value.__cause__!r}"
    assert KEY not in shown
    assert "blue pot" not in shown
    return caught.value


def test_the_answer_comes_with_what_it_took(server: str) -> None:
    generated = a_generator(server, "fine").generate("Extract.", "hello", schema=SCHEMA)
    assert generated == Generated('{"facts": []}', TokenUsage(11, 3))


def test_the_request_is_what_openai_expects(server: str) -> None:
    generator = RemoteGenerator(f"{server}/fine/v1/", "m", KEY, max_answer_tokens=99)
    generator.generate("Extract.", "hello", schema=SCHEMA)
    last = asked(server, "fine")[-1]
    assert last["path"] == "/fine/v1/chat/completions"
    assert last["key"] == f"Bearer {KEY}"
    assert last["body"] == {
        "model": "m",
        "messages": [
            {"role": "system", "content": "Extract."},
            {"role": "user", "content": "hello"},
        ],
        "temperature": 0,
        "max_tokens": 99,
        "response_format": {
            "type": "json_schema",
            "json_schema": {"name": "answer", "strict": True, "schema": SCHEMA},
        },
    }


def test_without_a_key_or_a_schema_none_is_sent(server: str) -> None:
    RemoteGenerator(f"{server}/fine/v1", "m").generate("Extract.", "hello")
    last = asked(server, "fine")[-1]
    assert last["key"] is None
    assert "response_format" not in last["body"]


@pytest.mark.parametrize("name", ["uncounted", "miscounted"])
def test_a_usage_that_is_missing_or_absurd_is_counted_here(server: str, name: str) -> None:
    generated = a_generator(server, name).generate("hello world", "hello world")
    assert generated == Generated("hello world", TokenUsage(4, 2), estimated=True)


def test_an_answer_that_reached_its_limit_says_so(server: str) -> None:
    assert a_generator(server, "cut").generate("s", "t").cut


def test_an_answer_in_parts_is_joined(server: str) -> None:
    assert a_generator(server, "parts").generate("s", "t").text == "ab"


@pytest.mark.parametrize(
    ("name", "calls", "kind"), [("no_schema", 2, "json_object"), ("no_format", 3, None)]
)
def test_a_server_that_takes_no_schema_is_asked_more_plainly_and_remembered(
    server: str, name: str, calls: int, kind: str | None
) -> None:
    generator = a_generator(server, name)
    generator.generate("s", "t", schema=SCHEMA)
    assert len(asked(server, name)) == calls
    generator.generate("s", "t", schema=SCHEMA)
    seen = asked(server, name)
    assert len(seen) == calls + 1
    assert seen[-1]["body"].get("response_format", {}).get("type") == kind


def test_a_server_that_takes_other_parameters_gets_them(server: str) -> None:
    a_generator(server, "newer").generate("s", "t", schema=SCHEMA)
    last = asked(server, "newer")[-1]["body"]
    assert last["max_completion_tokens"] == 2048
    assert "temperature" not in last
    assert last["response_format"]["type"] == "json_schema"


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("unauthorised", "HTTP 401 (invalid_api_key): the key was refused"),
        ("unpaid", "HTTP 402: the account has nothing left"),
        ("spent", "HTTP 429 (insufficient_quota): the account has nothing left"),
    ],
)
def test_a_refused_account_is_an_error_of_its_own(server: str, name: str, hint: str) -> None:
    error = failure(server, name)
    assert isinstance(error, Refused)
    assert not isinstance(error, ModelUnavailable)
    assert hint in str(error)


def test_too_many_requests_tell_how_long_to_wait(server: str) -> None:
    error = failure(server, "busy")
    assert isinstance(error, ModelUnavailable)
    assert error.retry_after == 7
    assert "HTTP 429 (rate_limit_exceeded)" in str(error)


@pytest.mark.parametrize(
    "name", ["broken", "overloaded", "relayed", "truncated", "hung_up", "busy"]
)
def test_what_may_work_later_is_unavailable(server: str, name: str) -> None:
    assert isinstance(failure(server, name), ModelUnavailable)


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("wrong", "HTTP 400 (context_length_exceeded)"),
        ("missing", "HTTP 404 (model_not_found)"),
        ("moved", "redirects are not followed"),
        ("no_json", "the answer is no JSON"),
        ("no_object", "the answer is no JSON object"),
        ("no_choices", "no text (malformed)"),
        ("silent", "no text (tool_calls)"),
        ("filtered", "no text (content_filter)"),
        ("deep", "the answer is no JSON"),
        ("huge", "over 1048576 bytes"),
    ],
)
def test_what_fails_every_time_is_no_matter_of_waiting(server: str, name: str, hint: str) -> None:
    before = len(asked(server, name))
    error = failure(server, name)
    assert not isinstance(error, ModelUnavailable | Refused)
    assert hint in str(error)
    assert len(asked(server, name)) == before + 1, "asked once, not again in another form"


@pytest.mark.parametrize("name", ["hanging", "dripping"])
def test_a_server_that_takes_too_long_is_left(server: str, name: str) -> None:
    started = time.monotonic()
    error = failure(server, name, timeout_s=0.3)
    assert isinstance(error, ModelUnavailable)
    assert "within 0.3 s" in str(error)
    assert time.monotonic() - started < 30


def test_nobody_listening_is_worth_another_try() -> None:
    with pytest.raises(ModelUnavailable, match="the connection failed"):
        RemoteGenerator("http://127.0.0.1:9", "m", KEY, timeout_s=5).generate("s", SECRET)


def test_a_prompt_over_its_limit_is_not_sent(server: str) -> None:
    before = len(asked(server, "fine"))
    with pytest.raises(ModelError, match="the prompt has 3 tokens, the limit is 2"):
        a_generator(server, "fine", max_prompt_tokens=2).generate("one", "two three")
    assert len(asked(server, "fine")) == before


def test_neither_repr_nor_the_log_shows_the_key_or_the_prompt(
    server: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    generator = a_generator(server, "fine")
    generator.generate("s", SECRET)
    failure(server, "broken")
    assert KEY not in repr(generator)
    assert "blue pot" not in caplog.text
    assert KEY not in caplog.text


def test_several_threads_may_ask_at_once(server: str) -> None:
    generator = a_generator(server, "no_schema")
    found: list[str] = []

    def ask() -> None:
        found.append(generator.generate("s", "t", schema=SCHEMA).text)

    threads = [threading.Thread(target=ask) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == ['{"facts": []}'] * 8


@pytest.mark.parametrize(
    ("url", "key"),
    [
        ("host/v1", ""),
        ("ftp://host", ""),
        ("http://", ""),
        ("http://user:sk-very-secret-key@host/v1", ""),
        ("http://host", "sk-very-secret-key\n"),
        ("http://host", "sk-very-secret-key schlüssel"),
    ],
)
def test_a_wrong_address_or_key_is_refused_at_once_and_not_shown(url: str, key: str) -> None:
    with pytest.raises(ConfigError) as caught:
        RemoteGenerator(url, "m", key)
    assert KEY not in str(caught.value)
