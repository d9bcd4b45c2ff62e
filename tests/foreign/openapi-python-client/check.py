"""A client that openapi-python-client makes of the served document, and calls through it."""

from __future__ import annotations

import importlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import uuid
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from io import BytesIO
from pathlib import Path
from types import ModuleType
from typing import Any
from urllib.request import Request, urlopen

CLIENT = "openapi-python-client"
URL, KEY = os.environ["HOLDFAST_URL"], os.environ["HOLDFAST_KEY"]
PACKAGE = "holdfast_made"
USER = f"user-{uuid.uuid4().hex[:12]}"
TOLD = "I work as a nurse at Mercy Hospital."

Scenario = Callable[[], None]
SCENARIOS: dict[str, Scenario] = {}
FOLDER = Path(tempfile.mkdtemp())


def scenario(function: Scenario) -> Scenario:
    SCENARIOS[function.__name__] = function
    return function


# Making it


def document() -> dict[str, Any]:
    asked = Request(URL + "/v1/openapi.json", headers={"authorization": f"Bearer {KEY}"})
    with urlopen(asked, timeout=60) as answer:
        return dict(json.load(answer))


@scenario
def generates_without_a_warning() -> None:
    source = FOLDER / "openapi.json"
    source.write_text(json.dumps(document()))
    beside = Path(sys.executable).parent
    command = [
        *(str(beside / "openapi-python-client"), "generate", "--path", str(source)),
        *("--output-path", str(FOLDER / PACKAGE), "--meta", "none"),
    ]
    path = f"{beside}{os.pathsep}{os.environ.get('PATH', '')}"  # It formats with its own ruff.
    done = subprocess.run(
        command, capture_output=True, text=True, env={**os.environ, "PATH": path}, check=False
    )
    said = done.stdout + done.stderr
    assert done.returncode == 0, said[-300:]
    assert "warning" not in said.lower(), said[:300]


@scenario
def every_operation_became_a_function() -> None:
    told = sum(len(item) for item in document()["paths"].values())
    made = [each for each in (FOLDER / PACKAGE / "api").rglob("*.py") if each.name != "__init__.py"]
    assert len(made) == told, f"{len(made)} of {told}"


# Calling it


def function(tag: str, name: str) -> ModuleType:
    return importlib.import_module(f"{PACKAGE}.api.{tag}.{name}")


def model(name: str) -> Any:
    return getattr(importlib.import_module(f"{PACKAGE}.models"), name)


def client() -> Any:
    made = importlib.import_module(f"{PACKAGE}.client")
    return made.AuthenticatedClient(base_url=URL, token=KEY, timeout=60)


def call(tag: str, name: str, /, *path: str, expected: int = 200, **given: Any) -> Any:
    answer = function(tag, name).sync_detailed(*path, client=client(), **given)
    assert answer.status_code == expected, (name, answer.status_code, answer.content[:200])
    return answer.parsed


def body(name: str, **fields: Any) -> Any:
    return model(name).from_dict({"user_id": USER, **fields})


def remembered() -> str:
    made = call("memories", "remember", body=body("RememberBody", messages=TOLD))
    return str(made.events[0])


@scenario
def remember_recall_context() -> None:
    remembered()
    found = call("recall", "recall", body=body("RecallBody", query="nurse", limit=5))
    assert found.hits[0].content == TOLD
    packed = call("context", "context", body=body("ContextBody", messages="What do I do?"))
    assert "nurse" in packed.text


@scenario
def expand() -> None:
    id = remembered()
    whole = call("expand", "expand", body=body("ExpandBody", ids=[id]))
    assert [each.content for each in whole.memories] == [TOLD]


@scenario
def conflicts_auto_resolve() -> None:
    done = call("conflicts", "settle", body=body("SettleBody"))
    assert done.resolved == []


@scenario
def one_memory_in_its_life() -> None:
    id = remembered()
    kept = call("memories", "get", id, user_id=USER)
    assert (kept.content, kept.tier) == (TOLD, "session")
    assert call("memories", "history", id, user_id=USER).count == 1
    assert call("memories", "feedback", id, body=body("FeedbackBody", value=1)).strength > 0
    assert call("events", "status", id, user_id=USER)
    assert call("memories", "forget", id, user_id=USER).changed is True
    assert call("memories", "restore", id, body=body("RestoreBody")).changed is True


@scenario
def lists_and_filters() -> None:
    remembered()
    listed = call("memories", "list_", user_id=USER, tiers=[model("ListTiersItem")("session")])
    assert listed.memories
    since = datetime.now(UTC) - timedelta(hours=1)
    assert call("memories", "list_", user_id=USER, since=since, limit=1).memories
    assert call("memories", "list_", user_id=USER, since=since + timedelta(hours=2)).memories == []


@scenario
def facts() -> None:
    made = call("facts", "facts_add", body=body("FactsAddBody", text="I live in Lisbon."))
    assert made.category == "context"
    assert call("facts", "facts_get", made.id, user_id=USER).content == "I live in Lisbon."
    status = model("FactsListStatus")("all")
    assert call("facts", "facts_list", user_id=USER, status=status).count >= 1
    changed = call(
        "facts", "facts_update", made.id, body=body("FactsUpdateBody", text="I live in Faro.")
    )
    assert call("facts", "facts_history", changed.id, user_id=USER).count >= 2
    ended = call(
        "facts", "facts_invalidate", changed.id, body=body("FactsInvalidateBody", reason="x")
    )
    assert ended.status == "invalidated"
    assert call("conflicts", "facts_conflicts", user_id=USER).count == 0
    assert call("clarifications", "facts_clarifications", user_id=USER).count == 0


@scenario
def notes_procedures_profile() -> None:
    note = call("notes", "notes_add", body=body("NotesAddBody", content="Chose Postgres."))
    assert call("notes", "notes_list", user_id=USER).count >= 1
    changed = body("NotesUpdateBody", content="Chose SQLite.")
    assert call("notes", "notes_update", note.id, body=changed)
    made = call(
        "procedures",
        "procedures_add",
        body=body("ProceduresAddBody", title="Release", steps=["tag"]),
    )
    assert call("procedures", "procedures_get", made.id, user_id=USER).title == "Release"
    assert call(
        "procedures", "procedures_used", made.id, body=body("ProceduresUsedBody", worked=True)
    )
    call("profile", "profiles_set", "home", body=body("ProfilesSetBody", value="Lisbon"))
    assert call("profile", "profile", user_id=USER).user == USER
    assert call("profile", "profiles_clear", "home", user_id=USER).changed is True


@scenario
def graph() -> None:
    told = body(
        "GraphWriteBody",
        entities=[{"name": "Ann", "type": "person"}],
        relations=[{"source": "Ann", "type": "works_on", "target": "Holdfast"}],
    )
    call("graph", "graph_write", body=told)
    assert call("graph", "graph_entities", user_id=USER).count >= 2
    found = call("graph", "graph_traverse", body=body("GraphTraverseBody", start="Ann", depth=1))
    assert len(found.edges) >= 1
    assert call("graph", "graph_overview", user_id=USER, limit=300)


@scenario
def documents_and_entries() -> None:
    file = importlib.import_module(f"{PACKAGE}.types").File
    sent = file(payload=BytesIO(b"# Handbook\n\nWe deploy on Fridays."))
    labels = function("documents", "knowledge_add")._get_kwargs
    assert labels(body=sent, user_id=USER)["url"] == "/v1/documents"
    made = call("documents", "knowledge_add", body=sent, user_id=USER, name="handbook.md")
    assert call("documents", "knowledge_document", made.id, user_id=USER).name == "handbook.md"
    call("entries", "knowledge_set", "deploy-day", body=body("KnowledgeSetBody", value="Friday"))
    assert call("entries", "knowledge_get", "deploy-day", user_id=USER).value == "Friday"
    assert call("documents", "knowledge_remove", made.id, user_id=USER).changed is True


@scenario
def other_systems_routes() -> None:
    told = body("IngestBody", conversation=TOLD, source_site="chat.example")
    stored = call("atomicmemory", "ingest_v1_memories_ingest_post", body=told)
    assert stored["memories_stored"] == 1
    wanted = body("SearchBody", query="nurse")
    assert call("atomicmemory", "search_v1_memories_search_post", body=wanted)["count"] >= 1
    ids = body("WantedMemories", memory_ids=stored["stored_memory_ids"])
    assert call("atomicmemory", "expand_v1_memories_expand_post", body=ids)["count"] == 1
    assert call("deerflow", "read_api_memory_get", user_id=USER)["version"] == "1.0"


@scenario
def what_the_operator_asks() -> None:
    assert call("capabilities", "capabilities")
    assert call("stats", "stats", user_id=USER).tiers
    assert call("operation", "health_health_get").status == "ok"
    assert call("config", "settings").settings
    assert call("doctor", "doctor") is not None
    assert call("jobs", "jobs").count >= 0
    lines = call("default", "export_v1_export_get", vectors=False)
    assert b'"type"' in lines.payload.read(4096)


@scenario
def import_of_lines() -> None:
    file = importlib.import_module(f"{PACKAGE}.types").File
    line = json.dumps({"role": "user", "content": "I own a boat."}) + "\n"
    sent = file(payload=BytesIO(line.encode()))
    call("default", "import_lines_v1_import_post", body=sent, user_id=USER)
    found = call("recall", "recall", body=body("RecallBody", query="boat"))
    assert found.hits[0].content == "I own a boat."


@scenario
def errors_are_parsed() -> None:
    wrong = body("RecallBody", query="x", limit=0)
    assert call("recall", "recall", body=wrong, expected=400).field == "limit"
    assert "there is no" in call("facts", "facts_get", "f" * 32, user_id=USER, expected=404).error


@scenario
def erase() -> None:
    remembered()
    assert call("erase", "erase", body=body("EraseBody")).to_dict()["signature"]


def main() -> None:
    sys.path.insert(0, str(FOLDER))
    try:
        for name, run in SCENARIOS.items():
            try:
                run()
            except Exception as error:  # noqa: BLE001 (whatever it is, it is what is told)
                words = " ".join(f"{type(error).__name__} {error}".split())
                print(f"FAIL {CLIENT}/{name}: {words[:300]}", flush=True)
            else:
                print(f"PASS {CLIENT}/{name}", flush=True)
    finally:
        shutil.rmtree(FOLDER)


if __name__ == "__main__":
    main()
