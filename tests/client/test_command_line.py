"""`--db http://...`: the commands that make sense of a service, and those that do not."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import holdfast
from holdfast.errors import ConfigError
from holdfast.memory.memory import Memory
from holdfast.service.cli import main
from holdfast.service.keys import create_key
from holdfast.testing import HashEmbedder
from tests.client.serving import served

Run = Callable[..., str]


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    settings = {"extraction.quietSeconds": 0}
    with holdfast.open(tmp_path / "m.db", embedder=HashEmbedder(), config=settings) as memory:
        yield memory


@pytest.fixture
def address(
    memory: Memory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, no_settings: None
) -> Iterator[str]:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOLDFAST_API_KEY", create_key(memory.store, role="admin")[1])
    with served(memory) as address:
        yield address


@pytest.fixture
def run(address: str, capsys: pytest.CaptureFixture[str]) -> Run:
    def ran(*words: str, code: int = 0) -> str:
        ended = main([*words, "--db", address])
        told = capsys.readouterr()
        assert ended == code, told.err
        return told.err if code else told.out

    return ran


def test_a_memory_from_beginning_to_end(run: Run, memory: Memory) -> None:
    ann = ("--user", "ann")
    told = run("remember", "I moved to Lisbon.", *ann)
    id = told.split()[1]
    # It waited until the worker of the service had embedded it.
    assert not any(step.startswith("embed") for step in memory.status(id, user="ann").pending)
    assert "I moved to Lisbon." in run("recall", "Who moved to Lisbon?", *ann)
    assert json.loads(run("recall", "Lisbon", "--json", *ann))["count"] >= 1
    assert "Lisbon" in run("context", "When did I move to Lisbon?", *ann)
    assert id in run("status", id, *ann)
    assert "session" in run("status", *ann)
    assert "for a while `holdfast forget" in run("forget", id, *ann)
    assert run("forget", id, "--undo", *ann) == "restored\n"
    assert "stored" in run("history", id, *ann)
    assert run("recall", "Lisbon", "--user", "bob") == "nothing remembered yet for user bob\n"


@pytest.mark.slow
def test_the_parts_of_a_memory(run: Run, memory: Memory, tmp_path: Path) -> None:
    ann: tuple[str, ...] = ("--user", "ann")
    assert run("facts", "add", "I live in Lisbon.", *ann).startswith("add: ")
    assert "I live in Lisbon." in run("facts", "list", *ann)
    run("notes", "add", "Chose Postgres.", *ann)
    assert "Chose Postgres." in run("notes", "list", *ann)
    run("procedures", "add", "Release", "--step", "tag", *ann)
    assert "Release" in run("procedures", "list", *ann)
    run("profile", "--set", "name=Ann", *ann)
    assert "Ann" in run("profile", *ann)
    page = tmp_path / "page.md"
    page.write_text("# Deploying\n\nWe deploy on Fridays.\n")
    run("knowledge", "add", str(page), *ann)
    assert "page.md" in run("knowledge", "list", *ann)
    run("team", "write", "We deploy on Fridays.", "--type", "decision")
    assert "Fridays" in run("team", "list")
    memory.graph.write([{"name": "Acme", "type": "organization"}], user="ann")
    assert "Acme" in run("graph", "show", *ann)
    assert json.loads(run("erase", "--yes", *ann))["signature"]


OF_A_FILE: dict[str, list[str]] = {
    "doctor": ["doctor"],
    "backup": ["backup", "copy.db"],
    "export": ["export", "out.jsonl"],
    "import": ["import", "in.jsonl"],
    "decay": ["decay", "--user", "ann"],
    "worker": ["worker", "--once"],
    "jobs": ["jobs"],
    "keys": ["keys", "list"],
    "serve": ["serve", "--port", "0"],
    "status": ["status"],
}


WAYS = {
    "doctor": "GET /v1/doctor",
    "export": "GET /v1/export",
    "import": "POST /v1/import",
    "jobs": "GET /v1/jobs",
    "keys": "GET /v1/keys",
}


@pytest.mark.parametrize("words", OF_A_FILE.values(), ids=OF_A_FILE.keys())
def test_a_command_for_files_says_so(run: Run, tmp_path: Path, words: list[str]) -> None:
    (tmp_path / "in.jsonl").write_text('{"content": "x"}\n')
    before = sorted(tmp_path.iterdir())
    told = run(*words, code=2)
    way = WAYS.get(words[0])
    assert told == (
        "error: this command needs the file of the memory, not a service:"
        " run it where the file is" + (f", or ask the service: {way}\n" if way else "\n")
    )
    assert sorted(tmp_path.iterdir()) == before


def test_a_service_is_restored_where_its_store_is(run: Run, tmp_path: Path) -> None:
    (tmp_path / "copy.db").write_bytes(b"x")
    assert "restored where its store is" in run("restore", "copy.db", code=2)


def test_without_a_key_it_says_what_is_missing(
    run: Run, address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("HOLDFAST_API_KEY")
    told = run("recall", "x", "--user", "ann", code=2)
    assert told.startswith(f"error: {address} asks for a key: set HOLDFAST_API_KEY")
    monkeypatch.setenv("HOLDFAST_API_KEY", "rk_wrong")
    told = run("recall", "x", "--user", "ann", code=2)
    assert told.startswith(f"error: {address} does not accept this key (HOLDFAST_API_KEY)")


def test_the_key_may_name_the_user(
    run: Run, address: str, memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "is of every user" in run("recall", "x", code=2)
    monkeypatch.setenv("HOLDFAST_API_KEY", create_key(memory.store, user="ann")[1])
    assert run("recall", "Lisbon") == "nothing remembered yet for user ann\n"
    run("remember", "I moved to Lisbon.", "--no-wait")
    assert [hit.content for hit in memory.recall("Lisbon", user="ann")] == ["I moved to Lisbon."]
    monkeypatch.setenv("HOLDFAST_API_KEY", "rk_wrong")
    assert "does not accept this key" in run("recall", "x", code=2)


def test_an_address_without_its_scheme_is_no_file(
    address: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = sorted(tmp_path.iterdir())
    name = address.removeprefix("http://")
    for words in (["recall", "x", "--user", "ann"], ["recall", "x"], ["keys", "list"], ["serve"]):
        assert main([*words, "--db", name]) == 2
        assert capsys.readouterr().err == f"error: {name} is no file: did you mean {address}?\n"
    for each in (name, "localhost:3050", "memory.example.org:80/", "[::1]:3050"):
        with pytest.raises(ConfigError, match="did you mean http://"):
            holdfast.open(each)
    assert sorted(tmp_path.iterdir()) == before


def test_the_team_of_a_service_is_that_of_the_key(run: Run) -> None:
    assert run("team", "list") == "the team has written nothing yet\n"


def test_a_workspace_that_is_not_the_keys(
    run: Run, memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOLDFAST_API_KEY", create_key(memory.store, workspace="lab")[1])
    run("remember", "I moved to Lisbon.", "--user", "ann", "--no-wait")
    found: Any = memory.recall("Lisbon", user="ann", workspace="lab")
    assert [hit.content for hit in found] == ["I moved to Lisbon."]
    assert "workspace_id" in run("recall", "x", "--user", "ann", "--workspace", "x", code=2)
