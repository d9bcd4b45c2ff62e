"""A small world for the proofs about the service: two workspaces, three users, every kind of key.

Ann and Bob share the workspace acme; Eve has one of her own. Ann has something of every kind, so
that every route has something to be asked about, and something that others must not see.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import holdfast
from holdfast.memory.memory import Memory
from holdfast.models.base import Embedder
from holdfast.service.keys import create_key, revoke_key
from holdfast.store.protocols import EXTERNAL
from holdfast.store.values import Webhook
from holdfast.testing import HashEmbedder

BEGAN = datetime(2026, 3, 1, 9, tzinfo=UTC)
#: When it is asked: every key that expires has done so.
ASKED = BEGAN + timedelta(days=1)
#: In the names that Ann gave, which others may guess ...
CANARY = "quokka"
#: ... and in what she said, which nobody else may ever be told.
SECRET = "numbat"
HASHES = HashEmbedder()
SETTINGS: Mapping[str, Any] = {
    "extraction.provider": "rules",
    "extraction.quietSeconds": 0,
    "proxy.url": "http://127.0.0.1:9/v1",
    "outgoing.timeoutSeconds": 0.2,
    "service.requestsPerMinute": 0,
}


@dataclass(frozen=True)
class World:
    """A store that is closed, and what is in it."""

    db: Path
    #: Secrets of keys by what they are.
    keys: Mapping[str, str]
    #: What Ann has, by the path under which it is asked for.
    hers: Mapping[str, str]

    @contextmanager
    def opened(self, db: Path) -> Iterator[Memory]:
        """A memory over a fresh copy of the store."""
        shutil.copy(self.db, db)
        with opened(db, now=ASKED) as memory:
            yield memory


@contextmanager
def opened(db: Path, *, now: datetime, embedder: Embedder | None = HASHES) -> Iterator[Memory]:
    """A memory whose clock stands still; without an embedder, with the shipped one."""
    with holdfast.open(
        db, embedder=embedder, worker=False, clock=lambda: now, config=SETTINGS
    ) as memory:
        yield memory


def made(folder: Path, *, embedder: Embedder | None = HASHES) -> World:
    """The world, in a folder."""
    db = folder / "world.db"
    with opened(db, now=BEGAN, embedder=embedder) as memory:
        keys = _keys(memory)
        hers = {**_filled(memory), **_operated(memory), "key": keys["admin"]}
        memory.remember("Bob likes tea.", user="bob", workspace="acme")
        memory.remember("Eve likes coffee.", user="eve", workspace="globex")
        memory.drain()
    return World(db, keys, hers)


def _keys(memory: Memory) -> dict[str, str]:
    def key(**options: Any) -> str:
        return create_key(memory.store, clock=lambda: BEGAN, **options)[1]

    secrets = {
        "read": key(workspace="acme", role="read"),
        "write": key(workspace="acme", role="write"),
        "admin": key(workspace="acme", role="admin"),
        "expired": key(workspace="acme", role="admin", expires_at=BEGAN + timedelta(hours=1)),
        "other tenant": key(workspace="globex", role="admin"),
        "other user": key(workspace="acme", user="bob", role="admin"),
        "revoked": key(workspace="acme", role="admin", label="revoked"),
    }
    for each, _ in memory.store.api_keys():
        if each.label == "revoked":
            revoke_key(memory.store, each.id, at=BEGAN)
    return {**secrets, "wrong": "rk_" + "x" * 43, "none": ""}


def _operated(memory: Memory) -> dict[str, str]:
    """A key and a webhook, which are the operator's."""
    spare, _ = create_key(memory.store, workspace="acme", clock=lambda: BEGAN)
    hook = Webhook("a" * 16, "acme", "ann", "https://127.0.0.1:9/", (), BEGAN, secret=b"secret")
    memory.store.put_hook(hook)
    return {"/v1/keys": spare.id, "/v1/webhooks": hook.id}


def _filled(memory: Memory) -> dict[str, str]:
    """Something of every kind; what is returned are ids and names by path."""
    ann: dict[str, Any] = {"user": "ann", "workspace": "acme"}
    turns = [
        {
            "role": "user" if n % 2 == 0 else "assistant",
            "content": f"The {CANARY} {SECRET} {n} is fine.",
        }
        for n in range(12)
    ]
    event = memory.remember(turns, session=f"{CANARY}-s1", **ann).events[0]
    memory.drain()
    fact = memory.facts.add(f"My {CANARY} is called {SECRET}.", **ann)
    memory.remember(f"The {SECRET} has a name.", key=f"{EXTERNAL}{CANARY}-1", **ann)
    memory.facts.add("I live in Paris.", at=BEGAN - timedelta(days=2), **ann)
    unclear = memory.facts.add("Maybe, I live in Lisbon.", **ann)
    memory.facts.add("I work at Acme.", agent="cook", origin="agent", **ann)
    memory.facts.add("I work at Globex.", agent="guide", origin="agent", **ann)
    memory.graph.write(
        entities=[{"name": "Ann"}, {"name": CANARY}, {"name": f"{SECRET} of {CANARY}"}], **ann
    )
    merge = memory.graph.merge(CANARY, f"{SECRET} of {CANARY}", **ann)
    team = memory.team.write(f"The {SECRET} is ours.", type="decision", workspace="acme")
    memory.profiles.set("city", f"{SECRET}town", **ann)
    memory.knowledge.set(f"{CANARY}-key", f"{SECRET} value", **ann)
    share = memory.shares.grant(to="partner", segments=["documents"], workspace="acme")
    memory.agents.set_trust(CANARY, 0.5, workspace="acme")
    conflict = memory.facts.conflicts(**ann)[0].id
    return {
        "/v1/memories": event,
        "/v1/events": event,
        "/v1/contexts": memory.context(f"the {CANARY}?", **ann).id,
        "/v1/facts": fact.id,
        "/api/memory/facts": fact.id,
        "/v1/clarifications": unclear.id,
        "/v1/conflicts": conflict,
        "/v1/agents/conflicts": conflict,
        "/v1/procedures": memory.procedures.add(f"Feed {SECRET}", steps=["buy"], **ann).id,
        "/v1/documents": memory.knowledge.add(f"About the {SECRET}.", name="a.txt", **ann).id,
        "/v1/entries": f"{CANARY}-key",
        "/v1/graph/merges": merge.id,
        "/v1/workspace/memories": team.id,
        "/v1/shares": share.id,
        "/v1/agents": CANARY,
        "/v1/sessions": f"{CANARY}-s1",
        "/v1/profile": "city",
        "/v1/notes": memory.notes.add(f"Fed the {SECRET}.", **ann).id,
        "/v1/notes/days": f"{BEGAN:%Y-%m-%d}",
    }
