"""Calls to an application inside this process, with a key, at a time that a test sets."""

from datetime import UTC, datetime
from typing import Any

from fastapi.testclient import TestClient
from httpx2 import Response

from holdfast.memory.memory import Memory
from holdfast.service.http.app import create_app
from holdfast.service.keys import create_key

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)


class Clock:
    """Stands still until a test sets it."""

    now = NOON

    def __call__(self) -> datetime:
        return self.now


def client_of(memory: Memory, **key: Any) -> TestClient:
    """A client with a new key."""
    secret = create_key(memory.store, **key)[1]
    headers = {"authorization": f"Bearer {secret}"}
    return TestClient(create_app(memory), "http://localhost:3050", headers=headers)


def given(answer: Response, status: int = 200) -> dict[str, Any]:
    """The JSON of an answer that has this status."""
    assert answer.status_code == status, answer.text
    return dict(answer.json())


def refused(answer: Response, status: int) -> str:
    """The words of a refusal."""
    body = given(answer, status)
    assert set(body) <= {"error", "field", "detail"}
    assert body.get("detail", body["error"]) == body["error"]
    return str(body["error"])
