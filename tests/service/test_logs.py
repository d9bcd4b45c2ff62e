"""The log of the service: a line for every request, and nothing of what was said."""

import io
import json
import logging
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from fastapi.testclient import TestClient

import holdfast
from holdfast.errors import ConfigError
from holdfast.memory.memory import Memory
from holdfast.service import logs
from holdfast.service.http.app import create_app
from holdfast.service.keys import create_key
from holdfast.testing import HashEmbedder

CANARY = "zanzibar"


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    with holdfast.open(tmp_path / "m.db", embedder=HashEmbedder(), worker=False) as memory:
        yield memory


@pytest.fixture
def put_back() -> Iterator[None]:
    """The logging of this process is left as it was."""
    names = ("", "holdfast", *logs._OTHERS)
    levels = {name: logging.getLogger(name).level for name in names}
    handlers = list(logging.getLogger().handlers)
    yield
    for name, level in levels.items():
        logging.getLogger(name).setLevel(level)
    logging.getLogger().handlers[:] = handlers


def logged(memory: Memory, format: str, level: str = "info") -> str:
    """What a few requests leave in the log."""
    out = io.StringIO()
    logs.configure(format, level, stream=out)
    key, secret = create_key(memory.store)
    headers = {"authorization": f"Bearer {secret}", "x-request-id": "mine-1"}
    with TestClient(create_app(memory), "http://localhost:3050", headers=headers) as client:
        told = client.post(
            "/v1/memories/ingest", json={"user_id": CANARY, "conversation": f"I saw {CANARY}."}
        )
        assert told.status_code == 200
        client.get(f"/v1/memories/{told.json()['event_ids'][0]}?user_id={CANARY}&q={CANARY}")
        client.get("/health")
        client.get(f"/{CANARY}", headers={"authorization": f"Bearer {CANARY}"})
    text = out.getvalue()
    assert secret not in text
    assert CANARY not in text
    assert "KEY" not in text or key.id in text
    return text.replace(key.id, "KEY")


@pytest.mark.usefixtures("put_back")
def test_a_line_of_json_for_every_request(memory: Memory) -> None:
    first, second, third, last = map(json.loads, logged(memory, "json").splitlines())
    assert first.pop("at").endswith("Z")
    assert first.pop("ms") > 0
    assert first.pop("bytes") > 0
    assert first == {
        "level": "info", "logger": "holdfast.access", "message": "request", "method": "POST",
        "route": "/v1/memories/ingest", "status": 200, "request": "mine-1", "key": "KEY",
    }  # fmt: skip
    assert re.fullmatch(r"/v1/memories/\{\w+\}", second["route"])
    assert "key" not in third
    assert (last["status"], last["route"]) == (401, "-")


@pytest.mark.usefixtures("put_back")
def test_a_line_of_text_for_every_request(memory: Memory) -> None:
    first, *_ = lines = logged(memory, "text").splitlines()
    assert len(lines) == 4
    words = r"\S+Z INFO holdfast.access request method=POST route=/v1/memories/ingest status=200"
    assert re.match(words, first)
    assert "key=KEY" in first


@pytest.mark.usefixtures("put_back")
def test_a_higher_level_is_silent(memory: Memory) -> None:
    assert logged(memory, "text", "warning") == ""


@pytest.mark.usefixtures("put_back")
@pytest.mark.parametrize("format", ["text", "json"])
def test_of_an_error_only_its_kind_and_place(format: str) -> None:
    out = io.StringIO()
    logs.configure(format, stream=out)
    try:
        raise ValueError(CANARY)
    except ValueError:
        logging.getLogger("holdfast.worker").exception("it failed")
    text = out.getvalue()
    assert CANARY not in text
    assert "ValueError" in text
    assert "test_logs.py" in text
    assert text.count("\n") == 1


@pytest.mark.usefixtures("put_back")
def test_configured_twice_a_line_comes_once() -> None:
    out = io.StringIO()
    for _ in range(2):
        logs.configure("text", stream=out)
    logging.getLogger("holdfast").info("once")
    assert out.getvalue().count("once") == 1


@pytest.mark.parametrize(("format", "level"), [("xml", "info"), ("text", "loud")])
def test_a_wrong_setting_is_told(format: str, level: str) -> None:
    with pytest.raises(ConfigError):
        logs.configure(format, level)
