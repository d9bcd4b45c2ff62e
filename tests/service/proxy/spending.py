"""A service before a model, in which time stands still, and what its keys have spent."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

from fastapi.testclient import TestClient

import holdfast
from holdfast.service.http.app import create_app
from holdfast.service.keys import create_key
from holdfast.store.protocols import Spent
from holdfast.testing import HashEmbedder
from holdfast.types import ApiKey
from tests.service.calling import NOON, Clock
from tests.service.live import wait_until

CHAT = "/v1/proxy/chat/completions"
TODAY, TOMORROW = NOON.date(), NOON.date() + timedelta(days=1)


class World:
    """A service before a model, in which time stands still."""

    def __init__(self, folder: Path, upstream: str, clock: Clock, **settings: Any) -> None:
        config = {"proxy.url": upstream, "proxy.remember": False, **settings}
        self.memory = holdfast.open(
            folder / "m.db", embedder=HashEmbedder(), worker=False, config=config, clock=clock
        )
        self.client = TestClient(create_app(self.memory, clock=clock), "http://localhost:3050")

    def key(self, **more: Any) -> tuple[ApiKey, str]:
        return create_key(self.memory.store, user="ann", **more)

    def call(self, secret: str, model: str = "counts", path: str = CHAT, **body: Any) -> Any:
        content = body.pop("content", "Hi")
        said = {"messages": [{"role": "user", "content": content}]} if "chat" in path else {}
        said |= {} if said else {"input": content}
        headers = {"authorization": f"Bearer {secret}", **body.pop("headers", {})}
        return self.client.post(path, json={"model": model, **said, **body}, headers=headers)

    def spent(self, key: ApiKey, day: Any = TODAY) -> Spent:
        return self.memory.store.spent(key.id, day)

    def expect(self, key: ApiKey, spent: Spent, day: Any = TODAY) -> None:
        """What a call took is written when its answer is through."""
        wait_until(lambda: self.spent(key, day) == spent)


@contextmanager
def world(folder: Path, upstream: str, clock: Clock, **settings: Any) -> Iterator[World]:
    made = World(folder, upstream, clock, **settings)
    with made.memory, made.client:
        yield made


def refused(answer: Any) -> str:
    assert answer.status_code == 429, answer.text
    error = answer.json()["error"]
    assert (error["type"], error["code"]) == ("insufficient_quota",) * 2
    assert answer.headers["x-should-retry"] == "false"
    return str(error["message"])
