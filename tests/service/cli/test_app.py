"""The command line: every command, what it prints, and how it says no."""

import contextlib
import fcntl
import json
import os
import signal
import subprocess
import sys
import termios
import time
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any

import apsw
import pytest

import holdfast
from holdfast import service, wiring
from holdfast.service import http
from holdfast.testing import HashEmbedder
from holdfast.testing.store_suite import an_entry, put
from holdfast.types import Scope
from tests.servers import empty_store_url
from tests.service.commands import NO_ID, Run, remembered

COMMANDS = [
    *("remember", "recall", "context", "explain", "status", "forget", "history"),
    *("jobs", "doctor", "import", "export", "backup", "restore", "worker", "keys", "serve"),
    *("graph", "facts", "notes", "profile", "procedures", "team", "shares", "agents"),
    *("feedback", "compact", "decay", "erase", "knowledge", "rebuild"),
]
READERS = {
    "recall": ["recall", "tea", "--user", "ann"],
    "context": ["context", "tea", "--user", "ann"],
    "explain": ["explain", NO_ID, "--user", "ann"],
    "status": ["status"],
    "status of one": ["status", NO_ID, "--user", "ann"],
    "forget": ["forget", NO_ID, "--user", "ann"],
    "history": ["history", NO_ID, "--user", "ann"],
    "graph show": ["graph", "show", "--user", "ann"],
    "graph merges": ["graph", "merges", "--user", "ann"],
    "facts list": ["facts", "list", "--user", "ann"],
    "facts update": ["facts", "update", NO_ID, "tea", "--user", "ann"],
    "facts invalidate": ["facts", "invalidate", NO_ID, "--user", "ann"],
    "facts unclear": ["facts", "unclear", "--user", "ann"],
    "facts answer": ["facts", "answer", NO_ID, "--keep", "new", "--user", "ann"],
    "facts contradictions": ["facts", "contradictions", "--user", "ann"],
    "facts conflicts": ["facts", "conflicts", "--user", "ann"],
    "facts resolve": ["facts", "resolve", NO_ID, "--keep", "both", "--user", "ann"],
    "notes list": ["notes", "list", "--user", "ann"],
    "notes day": ["notes", "day", "2026-03-01", "--user", "ann"],
    "profile": ["profile", "--user", "ann"],
    "profile --clear": ["profile", "--user", "ann", "--clear", "home"],
    "procedures list": ["procedures", "list", "--user", "ann"],
    "procedures used": ["procedures", "used", NO_ID, "--user", "ann"],
    "knowledge list": ["knowledge", "list"],
    "knowledge get": ["knowledge", "get", "a"],
    "knowledge remove": ["knowledge", "remove", NO_ID],
    "team list": ["team", "list"],
    "team search": ["team", "search", "tea"],
    "shares list": ["shares", "list", "--user", "ann"],
    "shares grant": ["shares", "grant", "--user", "ann", "--to", "lab", "--segment", "graph"],
    "shares revoke": ["shares", "revoke", NO_ID, "--user", "ann"],
    "agents trust": ["agents", "trust"],
    "feedback": ["feedback", NO_ID, "good", "--user", "ann"],
    "compact": ["compact", "--session", "s1", "--user", "ann"],
    "decay": ["decay", "--user", "ann"],
    "erase": ["erase", "--user", "ann"],
    "erase --verify": ["erase", "--user", "ann", "--verify", "receipt.json"],
    "jobs": ["jobs"],
    "jobs replay": ["jobs", "replay"],
    "doctor": ["doctor"],
    "export": ["export"],
    "backup": ["backup", "new.backup"],
    "keys list": ["keys", "list"],
    "keys rotate": ["keys", "rotate", "0"],
    "keys revoke": ["keys", "revoke", "0"],
}


# Help and version


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help_with_an_example(run: Run, command: str) -> None:
    ended = run(command, "--help")
    assert ended.code == 0
    assert f"Example: holdfast {command}" in ended.out


def test_bare_call_prints_help(run: Run) -> None:
    ended = run()
    assert ended.code == 0
    assert all(command in ended.out for command in COMMANDS)


def test_version(run: Run) -> None:
    assert run("--version").out == f"holdfast {holdfast.__version__}\n"


@pytest.mark.parametrize("args", [["--help"], ["facts", "--help"]])
def test_help_loads_no_machinery(args: list[str]) -> None:
    code = (
        f"import sys; from holdfast.service.cli import main; main({args});"
        "sys.exit(any(name in sys.modules for name in ('numpy', 'apsw', 'onnxruntime', 'fastapi')))"
    )
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, check=False)
    assert ended.returncode == 0


# The verbs


def test_what_was_remembered_is_recalled(run: Run) -> None:
    remembered(run, "I moved to Lisbon.", "--session", "s1", "--name", "Ann", "--at",
               "2026-03-01T10:00Z", "--metadata", "turn=D1:3")  # fmt: skip
    remembered(run, "Bob's secret about Lisbon", user="bob")
    ended = run("recall", "Lisbon", "--user", "ann")
    assert ended.code == 0
    assert "I moved to Lisbon." in ended.out
    assert "2026-03-01 10:00  Ann (user)  session s1" in ended.out
    assert "turn: D1:3" in ended.out
    assert "why: keyword window 1.00, people 1.00" in ended.out
    assert "secret" not in ended.out
    found = run("recall", "Lisbon", "--user", "ann", "--json").json
    assert found["count"] == 1
    assert found["hits"][0]["metadata"] == {"turn": "D1:3"}
    assert found["hits"][0]["created_at"] == "2026-03-01T10:00:00Z"


def test_remember_embeds_before_it_ends_and_leaves_the_rest_to_the_worker(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOLDFAST_EXTRACTION_QUIET_SECONDS", "60")
    began = time.monotonic()
    ended = run("remember", "tea", "--user", "ann", "--json")
    assert time.monotonic() - began < 30, "it does not wait until the conversation is quiet"
    assert ended.json["state"] == "stored"
    event = ended.json["events"][0]
    status = ["status", event, "--user", "ann"]
    told = "stored: found by keyword and by meaning, not learned from yet"
    assert run(*status).out == f"{event}: {told}\n"
    assert run(*status, "--json").json["pending"] == ["extract"]
    run("worker", "--once")
    assert run(*status).out == f"{event}: done\n"
    assert run("jobs").out == "no jobs: everything is done\n"


def test_remember_embeds_and_is_done_where_nothing_is_learned(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOLDFAST_EXTRACTION_ENABLED", "false")
    ended = run("remember", "tea", "--user", "ann")
    assert ended.out.startswith("remembered ")
    assert ended.out.endswith("(done)\n")
    assert run("jobs").out == "no jobs: everything is done\n"


def test_what_could_not_be_learned_from_is_told(run: Run, tmp_path: Path) -> None:
    event = remembered(run)
    connection = apsw.Connection(str(tmp_path / "holdfast.db"))
    connection.execute("UPDATE jobs SET state = 'dead', error = 'no model'")
    connection.close()
    told = "dead: found by keyword and by meaning, not learned from yet: no model"
    assert run("status", event, "--user", "ann").out == f"{event}: {told}\n"


def test_remember_need_not_wait(run: Run) -> None:
    event = remembered(run, "tea", "--no-wait")
    assert run("status", event, "--user", "ann").out == (
        f"{event}: stored: found by keyword, not embedded yet\n"
    )
    assert run("status", event, "--user", "ann", "--json").json["pending"] == ["embed", "extract"]
    assert run("recall", "tea", "--user", "ann", "--json").json["count"] == 1


def test_remember_leaves_what_fails_to_the_worker(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Away(HashEmbedder):
        def embed(self, texts: list[str]) -> Any:
            raise holdfast.errors.ModelUnavailable("the model is away")

    monkeypatch.setattr(wiring, "_local", lambda _: Away())
    ended = run("remember", "tea", "--user", "ann")
    assert ended.code == 0
    assert "kept and found by keyword; to be embedded again: the model is away" in ended.out
    found = run("recall", "tea", "--user", "ann")
    assert "    tea\n" in found.out
    assert "note: searched without vector: the model is away" in found.err


def test_remember_reads_a_file(run: Run, tmp_path: Path) -> None:
    (tmp_path / "note.txt").write_text("The boiler code is K-77.\n")
    assert run("remember", "--file", "note.txt", "--user", "ann").code == 0
    assert "K-77" in run("recall", "K-77", "--user", "ann").out


def test_a_key_makes_a_retry_harmless(run: Run) -> None:
    first = run("remember", "tea", "--user", "ann", "--key", "k", "--json").json
    again = run("remember", "tea", "--user", "ann", "--key", "k", "--json").json
    assert (again["events"], again["duplicate"]) == (first["events"], True)
    other = run("remember", "coffee", "--user", "ann", "--key", "k")
    assert (other.code, "another body" in other.err) == (2, True)


def test_an_unstorable_character_is_told(run: Run) -> None:
    ended = run("remember", "a\0b", "--user", "ann")
    assert "note: content: 1 unstorable characters became U+FFFD" in ended.err


def test_a_stored_text_cannot_trick_the_terminal(run: Run) -> None:
    remembered(run, "red \x1b[31m tea \u202e and\r gone", "--name", "\x1b]0;title\x07")
    out = run("recall", "tea", "--user", "ann").out
    assert "red \\x1b[31m tea \\u202e and\\r gone" in out
    assert not set(out) & set("\x1b\x07\r\u202e")


def test_context_fits_its_budget(run: Run) -> None:
    remembered(run)
    ended = run("context", "tea", "--user", "ann", "--budget", "200")
    assert "I drink tea." in ended.out
    assert "1 memory, " in ended.err
    assert run("context", "tea", "--user", "ann", "--budget", "5").out == ""
    packed = run("context", "tea", "--user", "ann", "--json").json
    assert packed["hits"][0]["content"] == "I drink tea."


def test_context_is_written_in_the_format_asked_for(run: Run) -> None:
    remembered(run)
    asked = ["context", "tea", "--user", "ann", "--format"]
    assert run(*asked, "deerflow").out == "Facts:\n- [context | 1.00] I drink tea.\n"
    assert "\nI drink tea.\nconfidence: 1.00\n" in run(*asked, "astra").out
    assert run(*asked, "safe", "--packaging", "headline", "--json").json["levels"] == ["full"]
    assert 'format must be one of "safe"' in run(*asked, "prose").err


def test_filters_narrow(run: Run) -> None:
    remembered(run, "green tea", "--session", "s1")
    remembered(run, "black tea", "--session", "s2")
    asked = ["recall", "tea", "--user", "ann", "--json"]
    found = run(*asked, "--filter", "session=s2").json
    assert [hit["content"] for hit in found["hits"]] == ["black tea"]
    assert run(*asked, "--filter", "session").code == 2
    assert "is not a filter" in run(*asked, "--filter", "mood=good").err
    assert run(*asked, "--known-at", "2020-01-01T00:00Z").json["count"] == 0


def test_a_memory_is_forgotten_and_brought_back(run: Run) -> None:
    event = remembered(run)
    ended = run("forget", event, "--user", "ann")
    assert f"holdfast forget {event} --user ann --undo" in ended.out
    assert run("recall", "tea", "--user", "ann").out == "nothing remembered yet for user ann\n"
    assert "withheld" in run("history", event, "--user", "ann").out
    assert "forgotten already" in run("forget", event, "--user", "ann").out
    assert run("forget", event, "--undo", "--user", "ann").out == "restored\n"
    assert "not forgotten" in run("forget", event, "--undo", "--user", "ann").out
    told = run("history", event, "--user", "ann").out
    assert [word in told for word in ("stored", "forgotten", "restored", "I drink tea.")]
    versions = run("history", event, "--user", "ann", "--json").json["versions"]
    assert [each["action"] for each in versions] == ["stored", "forgotten", "restored"]


def test_nothing_is_said_in_words(run: Run) -> None:
    remembered(run)
    assert run("recall", "tea", "--user", "bob").out == "nothing remembered yet for user bob\n"
    elsewhere = run("recall", "tea", "--user", "ann", "--workspace", "w")
    assert elsewhere.out == "nothing remembered yet for user ann in workspace w\n"
    assert run("context", "tea", "--user", "bob").err == "nothing remembered yet for user bob\n"
    asked = run("recall", "tea", "--user", "ann", "--filter", "role=tool")
    assert asked.out == "nothing found\n"


def test_status_counts_the_store(run: Run) -> None:
    remembered(run)
    assert "memories   1 (0 of them forgotten)" in run("status").out
    assert run("status", "--json").json["spaces"][0]["state"] == "active"


# The operator's commands


def test_jobs_are_listed_and_dead_ones_replayed(run: Run, tmp_path: Path) -> None:
    remembered(run, "tea", "--no-wait")
    store = wiring.make_store(tmp_path / "holdfast.db")
    connection = apsw.Connection(str(tmp_path / "holdfast.db"))
    connection.execute("UPDATE jobs SET state = 'dead', error = 'no model'")
    connection.close()
    store.close()
    assert "no model" in run("jobs").out
    assert run("jobs", "--state", "ready").out == "no ready jobs\n"
    assert run("jobs", "--json").json["counts"] == {"ready": 0, "running": 0, "dead": 2}
    assert run("doctor").code == 1
    assert run("jobs", "replay", "999").out == "ready again: 0 jobs\n"
    assert run("jobs", "--db", "holdfast.db", "replay").out == "ready again: 2 jobs\n"
    assert "2 jobs done, 0 dead" in run("worker", "--once").out
    assert run("jobs", "--state", "lost").code == 2


def test_doctor_finds_and_mends(run: Run, tmp_path: Path) -> None:
    remembered(run)
    assert run("doctor").code == 0
    connection = apsw.Connection(str(tmp_path / "holdfast.db"))
    connection.execute("DELETE FROM vectors")
    connection.execute("UPDATE records SET terms = x'', length = 0")
    connection.close()
    sick = run("doctor")
    assert sick.code == 1
    assert "embedded       WRONG  1 records that have neither a vector nor a job" in sick.out
    assert "(mend with --rebuild)" in sick.out
    mended = run("doctor", "--rebuild", "--json")
    assert (mended.code, mended.json["ok"], mended.json["mended"]) == (0, True, 2)
    run("worker", "--once")
    assert run("status", "--json").json["vectors"] == 1


def test_an_export_imports_to_the_same_export(run: Run, tmp_path: Path) -> None:
    event = remembered(run)
    remembered(run, "bob's", user="bob")
    run("forget", event, "--user", "ann")
    assert "exported 2 memories" in run("export", "a.jsonl").err
    assert run("import", "a.jsonl", "--db", "b.db").out == (
        "imported 2 memories\n2 jobs wait: `holdfast worker --once` does this now\n"
    ), "they have their vectors, but are read again"
    assert run("export", "b.jsonl", "--db", "b.db").code == 0
    assert (tmp_path / "a.jsonl").read_bytes() == (tmp_path / "b.jsonl").read_bytes()
    assert (tmp_path / "a.jsonl").stat().st_mode & 0o777 == 0o600
    again = run("import", "a.jsonl", "--db", "b.db", "--json").json
    assert again["present"]["event"] == 2
    refused = run("export", "a.jsonl")
    assert (refused.code, "exists already" in refused.err) == (2, True)
    assert run("export", "a.jsonl", "--force").code == 0
    plain = run("export", "-", "--no-vectors").out
    assert plain.startswith('{"act":1,"event":2,"holdfast_export":2,"key":0,"vectors":0}\n')


def test_import_lists_the_lines_it_refuses(run: Run, tmp_path: Path) -> None:
    lines = ['{"content": "tea"}', "oops", *['{"content": ""}'] * 30]
    (tmp_path / "chat.jsonl").write_text("\n".join(lines))
    ended = run("import", "chat.jsonl", "--user", "ann")
    assert ended.code == 1
    assert "imported 1 memory\n2 jobs wait" in ended.out
    assert "refused 31 lines:\n  line 2: not valid JSON" in ended.err
    assert "and 11 more" in ended.err
    assert len(run("import", "chat.jsonl", "--user", "ann", "--json").json["problems"]) == 31


def test_a_backup_is_restored(run: Run, tmp_path: Path) -> None:
    remembered(run)
    assert "verified" in run("backup", "a.backup").out
    assert "exists already" in run("backup", "a.backup").err
    remembered(run, "too late")
    restored = run("restore", "a.backup", "--db", "b.db")
    assert restored.out == "restored 1 memory to b.db\n"
    assert "I drink tea." in run("recall", "tea", "--user", "ann", "--db", "b.db").out
    kept = run("restore", "a.backup")
    assert (kept.code, "exists already" in kept.err) == (2, True)
    assert run("status", "--json").json["events"] == 2
    assert run("restore", "a.backup", "--force", "--json").json["events"] == 1
    assert run("status", "--json").json["events"] == 1
    assert not [path for path in tmp_path.iterdir() if path.name.endswith(".part")]


def test_a_damaged_memory_is_replaced_by_its_backup(run: Run, tmp_path: Path) -> None:
    remembered(run)
    run("backup", "a.backup")
    (tmp_path / "holdfast.db").write_bytes(b"broken" * 1000)
    (tmp_path / "holdfast.db-wal").write_bytes(b"an old log" * 1000)
    assert run("recall", "tea", "--user", "ann").code == 2
    assert run("restore", "a.backup", "--force").code == 0
    assert "I drink tea." in run("recall", "tea", "--user", "ann").out


def test_a_memory_in_use_is_not_replaced(run: Run, tmp_path: Path) -> None:
    remembered(run)
    run("backup", "a.backup")
    with holdfast.open(tmp_path / "holdfast.db", embedder=HashEmbedder(), worker=False) as memory:
        refused = run("restore", "a.backup", "--force")
        assert (refused.code, "another process has" in refused.err) == (2, True)
        memory.remember("still here", user="ann")
    assert run("status", "--json").json["events"] == 2


def test_what_is_no_sound_backup_is_refused_and_changes_nothing(run: Run, tmp_path: Path) -> None:
    remembered(run)
    run("backup", "good.backup")
    good = (tmp_path / "good.backup").read_bytes()
    scrambled = bytearray(good)
    scrambled[5000 : len(good) // 2] = b"\xaa" * (len(good) // 2 - 5000)
    for name, content in {
        "text": b"hello",
        "empty": b"",
        "cut": good[: len(good) // 2],
        "scrambled": bytes(scrambled),
    }.items():
        (tmp_path / name).write_bytes(content)
    foreign = apsw.Connection(str(tmp_path / "foreign"))
    foreign.execute("CREATE TABLE t (x)")
    foreign.close()
    newer = apsw.Connection(str(tmp_path / "newer"))
    newer.execute(
        "PRAGMA application_id = 0x5245434C; PRAGMA user_version = 999; CREATE TABLE t(x)"
    )
    newer.close()
    before = (tmp_path / "holdfast.db").read_bytes()
    for name in ("text", "empty", "cut", "scrambled", "foreign", "newer", "missing"):
        ended = run("restore", name, "--force")
        assert ended.code == 2, name
        assert name in ended.err
        assert ".part" not in ended.err
    assert (tmp_path / "holdfast.db").read_bytes() == before
    assert not [path for path in tmp_path.iterdir() if path.name.endswith(".part")]


def test_a_store_in_use_is_no_backup(run: Run, tmp_path: Path) -> None:
    with holdfast.open(tmp_path / "live.db", embedder=HashEmbedder(), worker=False) as memory:
        memory.remember("tea", user="ann")
        ended = run("restore", "live.db", "--db", "new.db")
    assert (ended.code, "is a store in use" in ended.err) == (2, True)
    assert run("restore", "live.db", "--db", "live.db", "--force").code == 2


def test_keys_on_a_file_that_does_not_exist_yet(run: Run) -> None:
    made = run("keys", "create", "--json")
    assert made.code == 0
    assert made.json["key"].startswith("rk_")
    assert (made.json["workspace"], made.json["user"], made.json["role"]) == (
        "default",
        None,
        "write",
    )
    options = ["--workspace", "w", "--user", "ann", "--role", "read", "--label", "phone"]
    shown = run("keys", "create", *options, "--expires", "2100-01-01T00:00Z")
    assert shown.out.startswith("rk_")
    assert "not shown again" in shown.err
    listed = run("keys", "list")
    assert "2100-01-01 00:00" in listed.out
    assert shown.out.strip() not in listed.out
    key = made.json["id"]
    rotated = run("keys", "rotate", key, "--json").json
    assert (rotated["id"], rotated["key"] != made.json["key"]) == (key, True)
    assert run("keys", "rotate", "nope").code == 2
    assert run("keys", "rotate", key).out.startswith("rk_")
    tools = run("keys", "create", "--tools", "recall", "--tools", "remember", "--json")
    assert tools.json["tools"] == ["recall", "remember"]
    wrong = run("keys", "create", "--tools", "recal").err
    assert wrong.startswith("error: tools: there is no tool 'recal'; known: remember, recall, ")
    both = run("keys", "create", "--tools", "recall,notes", "--tools", "context", "--json").json
    assert both["tools"] == ["recall", "notes", "context"]
    assert run("keys", "revoke", both["id"]).err == ""
    few = run("keys", "create", "--tokens-a-day", "250000", "--json").json
    assert (few["tokens_a_day"], made.json["tokens_a_day"]) == (250_000, None)
    assert [line for line in run("keys", "list").out.splitlines() if "250000" in line]
    assert run("keys", "create", "--tokens-a-day", "0").code == 2
    last = run("keys", "create", "--role", "admin", "--json").json["id"]
    assert "it was the last admin key" in run("keys", "revoke", last).err
    assert run("keys", "revoke", tools.json["id"]).code == 0
    assert run("keys", "revoke", key).out == "revoked\n"
    assert "was revoked" in run("keys", "rotate", key).err
    assert "revoked already" in run("keys", "revoke", key).out
    assert run("keys", "revoke", "nope").code == 2
    assert len(run("keys", "list", "--json").json) == 6
    assert "role must be one of" in run("keys", "create", "--role", "god").err
    assert "in the past" in run("keys", "create", "--expires", "2001-01-01T00:00Z").err


def test_keys_while_the_memory_is_open(run: Run, tmp_path: Path) -> None:
    with holdfast.open(tmp_path / "holdfast.db", embedder=HashEmbedder()) as memory:
        assert run("keys", "create").code == 0
        assert len(memory.store.api_keys()) == 1
    assert run("keys", "list").code == 0


def test_no_keys_yet(run: Run) -> None:
    remembered(run)
    assert "no keys yet" in run("keys", "list").out


def test_serving_without_keys_is_for_the_loopback(run: Run) -> None:
    ended = run("serve", "--no-auth", "--host", "0.0.0.0")
    assert (ended.code, "only for the loopback" in ended.err) == (2, True)


def test_serve_says_why_it_cannot_listen(run: Run) -> None:
    ended = run("serve", "--host", "192.0.2.1")
    assert ended.code == 2
    words = "192.0.2.1 is no address of this machine: choose one with --host"
    assert ended.err == f"error: {words}\n"


def test_serve_says_what_to_install(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    # What is imported anew is not left behind: others look for parts of it by name.
    monkeypatch.setattr(service, "http", http)
    for name in [each for each in sys.modules if each.startswith("holdfast.service.http")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "fastapi", None)
    ended = run("serve")
    assert (ended.code, "pip install '.[server]'" in ended.err) == (2, True)


# How it says no


@pytest.mark.parametrize("name", READERS)
def test_reading_does_not_create_a_memory(run: Run, tmp_path: Path, name: str) -> None:
    ended = run(*READERS[name])
    assert ended.code == 2
    assert ended.err.startswith("error: no memory at holdfast.db: ")
    assert ended.out == ""
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (["recall", "tea"], "Missing option '--user'"),
        (["recall", "--user", "ann"], "Missing argument"),
        (["recall", " ", "--user", "ann"], "query is blank"),
        (["recall", "tea", "--user", " "], "user is blank"),
        (["recall", "tea", "--user", "ann", "--limit", "0"], "limit must lie in 1..200"),
        (["recall", "tea", "--user", "ann", "--limit", "x"], "--limit"),
        (["recall", "tea", "--user", "ann", "--as-of", "2026-03-01"], "no time zone"),
        (["context", "tea", "--user", "ann", "--budget", "-1"], "budget_tokens must lie in"),
        (["remember", "--user", "ann"], "give a text"),
        (["remember", "tea", "--file", "x", "--user", "ann"], "give a text"),
        (["remember", "--file", "nope.txt", "--user", "ann"], "nope.txt: No such file"),
        (["remember", " ", "--user", "ann"], "content is blank"),
        (["remember", "tea", "--user", "ann", "--at", "soon"], "at is not ISO 8601"),
        (["remember", "tea", "--user", "ann", "--role", "root"], "role must be one of"),
        (["remember", "tea", "--user", "ann", "--metadata", "x"], "must look like name=value"),
        (["remember", "tea", "--user", "ann", "--metadata", "fact_role=x"], "reserved"),
        (["remember", "tea", "--user", "ann", "--key", " "], "key must be a text"),
        (["remember", "tea", "--user", "ann", "--db", "no/such/folder/a.db"], "does not exist"),
        (["remember", "tea", "--user", "ann", "--db", "mysql://x"], "cannot open mysql://"),
        (["status", NO_ID], "user is missing"),
        (["status", NO_ID, "--user", "ann"], "there is no memory"),
        (["forget", "019a", "--user", "ann"], "there is no memory '019a'"),
        (["history", NO_ID, "--user", "ann"], "there is no memory"),
        (["import", "nope.jsonl"], "nope.jsonl: No such file"),
        (["import", "."], "Is a directory"),
        (["backup", "."], "is a folder"),
        (["backup", "no/such/folder/a"], "does not exist"),
        (["export", "no/such/folder/a"], "does not exist"),
        (["status", "--config", "nope.yml"], "cannot read the configuration nope.yml"),
        (["status", "--db", "."], "is a folder"),
        (["restore", "nope"], "nope: no such file"),
        (["restore", "nope", "--db", "mysql://x"], "cannot open mysql://"),
        (["migrate", "nope.db", "other.db"], "no memory at nope.db"),
        (["migrate", "mysql://x", "other.db"], "cannot open mysql://"),
        (["serve", "--port", "99999"], "--port"),
        (["frobnicate"], "No such command 'frobnicate'"),
        (["recall", "tea", "--user", "ann", "--frob"], "--frob"),
    ],
)
def test_a_wrong_call_is_one_line_on_stderr(run: Run, args: list[str], words: str) -> None:
    remembered(run)
    ended = run(*args)
    assert ended.code == 2
    assert ended.out == ""
    assert ended.err.startswith("error: ")
    assert ended.err.count("\n") == 1
    assert words in ended.err


def test_files_that_are_no_memory_are_told_apart(run: Run, tmp_path: Path) -> None:
    (tmp_path / "text.db").write_text("hello " * 100)
    foreign = apsw.Connection(str(tmp_path / "foreign.db"))
    foreign.execute("CREATE TABLE t (x)")
    foreign.close()
    newer = apsw.Connection(str(tmp_path / "newer.db"))
    newer.execute(
        "PRAGMA application_id = 0x5245434C; PRAGMA user_version = 999; CREATE TABLE t(x)"
    )
    newer.close()
    for name, words in {
        "text.db": "is not a Holdfast database",
        "foreign.db": "of another program",
        "newer.db": "has schema 999",
    }.items():
        for args in (["status"], ["recall", "x", "--user", "ann"], ["remember", "x", "-u", "ann"]):
            ended = run(*args, "--db", name)
            assert (ended.code, words in ended.err) == (2, True), ended.err


def test_a_wrong_setting_is_told_with_the_nearest(run: Run, tmp_path: Path) -> None:
    (tmp_path / "holdfast.yml").write_text("serchTopK: 5\n")
    ended = run("keys", "create")
    assert (ended.code, 'did you mean "searchTopK"?' in ended.err) == (2, True)
    (tmp_path / "good.yml").write_text("fusion: rrf\nsearchTopK: 5\n")
    assert run("keys", "create", "--config", "good.yml").code == 0


def test_the_memory_is_named_by_option_then_environment(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOLDFAST_DB", "from_env.db")
    remembered(run)
    remembered(run, "tea", "--db", "sqlite:///from_option.db")
    assert {path.name for path in tmp_path.glob("*.db")} == {"from_env.db", "from_option.db"}


# As a process


@pytest.mark.slow
def test_stdin_stdout_and_a_reader_that_leaves(
    shell: Callable[..., "subprocess.Popen[bytes]"], tmp_path: Path
) -> None:
    writer = shell("remember", "-", "--user", "ann", stdin=subprocess.PIPE)
    out, err = writer.communicate("Olá\n".encode())
    assert (writer.returncode, err) == (0, b"")
    assert out.startswith(b"remembered ")
    lines = b"".join(b'{"content": "%s"}\n' % (b"tea " * 500) for _ in range(500))
    importer = shell("import", "-", "--user", "ann", stdin=subprocess.PIPE)
    importer.communicate(lines)
    exporter = shell("export", "-", "--no-vectors")
    assert exporter.stdout is not None
    assert exporter.stderr is not None
    assert exporter.stdout.read(10) == b'{"act":0,"'
    exporter.stdout.close()
    err = exporter.stderr.read()
    exporter.stderr.close()
    assert (exporter.wait(30), err) == (1, b"")


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_worker_ends_gracefully(
    shell: Callable[..., "subprocess.Popen[bytes]"], tmp_path: Path, number: signal.Signals
) -> None:
    lines = b"".join(b'{"content": "number %d"}\n' % each for each in range(50))
    importer = shell("import", "-", "--user", "ann", stdin=subprocess.PIPE)
    importer.communicate(lines)
    assert importer.returncode == 0
    jobs = 2 * 50  # To embed each, and to learn from it.
    worker = shell("worker", "--json")
    store = wiring.make_store(tmp_path / "holdfast.db")
    deadline = time.monotonic() + 60
    while store.counts().ready == jobs and time.monotonic() < deadline:
        time.sleep(0.02)
    # It stands back for whoever answers.
    assert os.getpriority(os.PRIO_PROCESS, worker.pid) > os.getpriority(os.PRIO_PROCESS, 0)
    worker.send_signal(number)
    out, err = worker.communicate(timeout=60)
    assert worker.returncode == 0, err
    done = json.loads(out)
    counts = store.counts()
    assert counts.running == 0
    assert done["done"] + counts.ready == jobs
    store.close()


@pytest.mark.slow
@pytest.mark.parametrize("engine", ["file", "server"])
def test_workers_share_the_queue(
    shell: Callable[..., "subprocess.Popen[bytes]"], tmp_path: Path, engine: str
) -> None:
    url = str(tmp_path / "holdfast.db") if engine == "file" else empty_store_url()
    store = wiring.make_store(url)
    users = [Scope("default", f"user{number}") for number in range(4)]
    for number, scope in enumerate(users):
        put(store, scope, *(an_entry(100 * number + each) for each in range(10)))
    workers = shell("worker", "--once", "--processes", "2", "--json", "--db", url)
    out, err = workers.communicate(timeout=120)
    assert workers.returncode == 0, err
    assert json.loads(out)["done"] >= 40
    assert store.counts().ready == 0
    store.close()


@pytest.mark.slow
def test_a_worker_that_dies_is_started_again(
    shell: Callable[..., "subprocess.Popen[bytes]"], tmp_path: Path
) -> None:
    workers = shell("worker", "--processes", "2")
    try:
        first = children_of(workers.pid, 2)
        os.kill(first[0], signal.SIGKILL)
        deadline = time.monotonic() + 60
        while set(first) >= set(children_of(workers.pid, 2)) and time.monotonic() < deadline:
            time.sleep(0.05)
        assert len(set(children_of(workers.pid, 2)) - set(first)) == 1
    finally:
        workers.send_signal(signal.SIGTERM)
    _, err = workers.communicate(timeout=60)
    assert (workers.returncode, b"another is started" in err) == (0, True)


def children_of(pid: int, count: int) -> list[int]:
    """The processes that a process has started, once there are so many."""
    deadline = time.monotonic() + 60
    while True:
        found = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
        if len(found) >= count or time.monotonic() > deadline:
            return [int(each) for each in found]
        time.sleep(0.05)


def unread(pipe: IO[bytes]) -> int:
    """How many bytes of a pipe nobody has taken yet."""
    return int.from_bytes(fcntl.ioctl(pipe, termios.FIONREAD, bytes(4)), sys.byteorder)


@pytest.mark.slow
def test_ctrl_c_is_silent(shell: Callable[..., "subprocess.Popen[bytes]"], tmp_path: Path) -> None:
    importer = shell("import", "-", "--user", "ann", stdin=subprocess.PIPE)
    assert importer.stdin is not None
    importer.stdin.write(b'{"content": "tea"}\n')
    importer.stdin.flush()
    deadline = time.monotonic() + 60
    while unread(importer.stdin) and time.monotonic() < deadline:
        time.sleep(0.02)
    # It reads, and waits for more. One that came too early might be lost: who presses it does so
    # again.
    while importer.poll() is None and time.monotonic() < deadline:
        time.sleep(0.5)
        importer.send_signal(signal.SIGINT)
        with contextlib.suppress(subprocess.TimeoutExpired):
            importer.wait(timeout=5)
    out, err = importer.communicate(timeout=60)
    assert (importer.returncode, out, err) == (130, b"", b"")


def test_a_backup_never_lands_on_a_store_in_use_or_on_itself(tmp_path: Path, run: Run) -> None:
    path, other = tmp_path / "a.db", tmp_path / "b.db"
    with holdfast.open(path, embedder=HashEmbedder(), worker=False) as memory:
        memory.remember("kept", user="ann")
        itself = run("backup", str(path), "--db", str(path), "--force")
        assert (itself.code, "the memory itself" in itself.err) == (2, True)
        export = run("export", str(path), "--db", str(path), "--force")
        assert (export.code, "never overwrites" in export.err) == (2, True)
        with holdfast.open(other, embedder=HashEmbedder(), worker=False):
            used = run("backup", str(other), "--db", str(path), "--force")
            assert (used.code, "in use" in used.err) == (2, True)
        assert memory.recall("kept", user="ann")[0].content == "kept"


def test_the_package_can_be_run() -> None:
    ended = subprocess.run(
        [sys.executable, "-m", "holdfast", "--version"], capture_output=True, text=True, check=True
    )
    assert ended.stdout.startswith("holdfast ")
