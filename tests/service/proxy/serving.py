"""Holdfast before a model, on a real port, and what its memory holds."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from openai import AsyncOpenAI, OpenAI

import holdfast
from holdfast.memory.memory import Memory
from holdfast.service.http.app import create_app
from holdfast.service.keys import create_key
from holdfast.testing import HashEmbedder
from holdfast.types import Scope
from tests.service.live import live


@dataclass
class Service:
    memory: Memory
    port: int
    key: str
    db: Path = Path()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1/proxy"

    def options(self, user: str | None = "ann", **more: Any) -> dict[str, Any]:
        headers = {"X-Holdfast-User": user} if user else {}
        headers |= more.pop("headers", {})
        return {
            "base_url": self.url, "api_key": self.key, "max_retries": 0, "timeout": 60,
            "default_headers": headers, **more,
        }  # fmt: skip

    def client(self, user: str | None = "ann", **more: Any) -> OpenAI:
        return OpenAI(**self.options(user, **more))

    def async_client(self, user: str | None = "ann", **more: Any) -> AsyncOpenAI:
        return AsyncOpenAI(**self.options(user, **more))

    def turns(self, user: str = "ann") -> list[tuple[str, str]]:
        """What was said, oldest first."""
        memory = self.memory
        scope = Scope("default", user)
        found = memory.store.listed(scope, tier="session")
        return [(each.role, each.content) for each in sorted(found, key=lambda each: each.id)]

    def soon(self, count: int, user: str = "ann") -> list[tuple[str, str]]:
        """The same, when there are as many as they should be, or time is up."""
        deadline = time.monotonic() + 30
        while len(found := self.turns(user)) < count and time.monotonic() < deadline:
            time.sleep(0.01)
        return found


@contextmanager
def serving(
    db: Path,
    upstream: str,
    embedder: HashEmbedder | None = None,
    *,
    worker: bool = True,
    **config: Any,
) -> Iterator[Service]:
    """A service before a model; afterwards what it heard is on disk."""
    settings = {"proxy.url": upstream, "proxy.apiKey": "sk-upstream", **config}
    model = embedder or HashEmbedder()
    with holdfast.open(db, embedder=model, config=settings, worker=worker) as memory:
        key = create_key(memory.store)[1]
        with running(memory) as port:
            yield Service(memory, port, key, db)


@contextmanager
def running(memory: Memory) -> Iterator[int]:
    """The service over a memory, on a thread; its port."""
    with live(create_app(memory)) as port:
        yield port
