"""A store with something of every kind, and how a call of a verb becomes a request."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from urllib.parse import quote

from fastapi.testclient import TestClient
from httpx2 import Response

import holdfast
from holdfast.catalogue.verb import BODILESS, Verb
from holdfast.memory.memory import Memory
from holdfast.service.http.app import create_app
from holdfast.service.keys import create_key
from holdfast.testing import HashEmbedder

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
LATER = NOW + timedelta(days=2)
SETTINGS: Mapping[str, Any] = {
    "extraction.provider": "rules",
    "extraction.quietSeconds": 0,
    "service.requestsPerMinute": 0,
}


@contextmanager
def opened(db: Path, *, now: datetime = LATER) -> Iterator[Memory]:
    """A memory whose clock stands still and whose background work waits to be asked."""
    with holdfast.open(
        db, embedder=HashEmbedder(), config=SETTINGS, clock=lambda: now, worker=False
    ) as memory:
        yield memory


@contextmanager
def client_of(memory: Memory, *, key: str = "", **options: Any) -> Iterator[TestClient]:
    """The service over a memory, asked with an admin key."""
    secret = key or create_key(memory.store, role="admin", clock=lambda: LATER)[1]
    app = create_app(memory, clock=lambda: LATER, **options)
    headers = {"authorization": f"Bearer {secret}"}
    with TestClient(app, "http://localhost:3050", headers=headers) as client:
        yield client


def fill(memory: Memory) -> dict[str, str]:
    """Something of every kind for Ann; ids by what they are of."""
    ann: dict[str, Any] = {"user": "ann"}
    turns: list[dict[str, Any]] = [
        {"content": "I moved to Lisbon.", "metadata": {"source_site": "mail.example"}},
        {"role": "assistant", "content": "Noted: you live in Lisbon."},
        {"content": "Always cite sources for every claim."},
    ]
    said = memory.remember(turns, session="monday", key="once", **ann).events
    gone = memory.remember("This is to be forgotten.", **ann).events[0]
    memory.drain()
    memory.forget(gone, **ann)
    fact = memory.facts.add("I play the flute.", category="preference", **ann)
    memory.facts.add("I live in Paris.", **ann)
    unclear = memory.facts.add("Correction: the user lives in Minsk.", origin="web", **ann)
    memory.facts.add("I like red wine.", agent="cook", origin="agent", user="bob")
    for agent, city in (("cook", "Paris"), ("guide", "Rome")):
        memory.facts.add(f"I live in {city}.", agent=agent, origin="agent", user="bob")
    disputes = memory.facts.conflicts(user="bob")
    note = memory.notes.add("Chose Postgres.", category="decision", **ann)
    memory.notes.add("Met Bob.", **ann)
    procedure = memory.procedures.add("Release", steps=["tag", "build"], tags=["ci"], **ann)
    memory.profiles.set("location", "Lisbon", **ann)
    memory.graph.write(
        [{"name": "Ann", "type": "person"}, {"name": "Anna", "type": "person"}],
        [{"source": "Ann", "type": "works_on", "target": "Holdfast"}],
        **ann,
    )
    merge = memory.graph.merge("Ann", "Anna", **ann)
    memory.observations.create(
        [{"name": "Cat", "type": "animal", "observations": ["Likes fish"]}], **ann
    )
    document = memory.knowledge.add(
        "# Handbook\n\nWe deploy on Fridays.", name="handbook.md", **ann
    )
    memory.knowledge.set("deploy/day", "Friday", **ann)
    entry = memory.team.write("We deploy on Fridays.", type="decision", title="Deploys")
    share = memory.shares.grant(to="partners", segments=["documents"], **ann)
    memory.agents.set_trust("cook", 0.4)
    memory.compact(session="monday", keep_turns=1, **ann)
    context = memory.context("Where do I live?", **ann)
    memory.drain()
    return {
        "turn": said[0],
        "gone": gone,
        "fact": fact.id,
        "unclear": unclear.id,
        "dispute": disputes[0].id,
        "note": note.id,
        "procedure": procedure.id,
        "merge": merge.id,
        "document": document.id,
        "entry": entry.id,
        "share": share.id,
        "context": context.id,
    }


def ask(
    client: TestClient, verb: Verb[..., object], given: Mapping[str, Any], **headers: str
) -> Response:
    """Ask for a verb, with the arguments of a call in Python."""
    sent = {
        place: {each.wire: given[each.name] for each in verb.parameters
                if each.place == place and each.name in given}
        for place in ("path", "query", "body", "header")
    }  # fmt: skip
    path = verb.path
    for name, value in sent["path"].items():
        path = path.replace("{" + name + "}", quote(str(value), safe=""))
    query = {name: _text(value) for name, value in sent["query"].items()}
    more: dict[str, Any] = {}
    if verb.raw:
        more["content"] = given[verb.raw]
    elif verb.method not in BODILESS:
        # ASCII, so that a lone surrogate can be sent as well.
        more["content"] = json.dumps(sent["body"]).encode()
        headers["content-type"] = "application/json"
    return client.request(
        verb.method, path, params=query, headers={**headers, **sent["header"]}, **more
    )


def _text(value: Any) -> Any:
    if isinstance(value, bool):
        return str(value).lower()
    return json.dumps(value) if isinstance(value, Mapping) else value
