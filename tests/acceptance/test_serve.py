"""The service as a process: the examples of the documents, a crash, and an orderly end."""

import http.client
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import holdfast
from holdfast.service.keys import create_key
from holdfast.testing import HashEmbedder

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "reference" / "http.md").read_text()
SERVE = [sys.executable, "-m", "holdfast", "serve"]

# As the pull request that this API comes from gives them.
SEED_INGEST = """curl -XPOST localhost:3050/v1/memories/ingest -H 'content-type: application/json' -d '{
  "user_id": "alice",
  "conversation": "Always cite sources for every claim."
}'"""  # noqa: E501
SEED_SEARCH = """curl -XPOST localhost:3050/v1/memories/search -H 'content-type: application/json' -d '{
  "user_id": "alice",
  "query": "what is my answering style?",
  "config_override": { "instructionBoostEnabled": true, "instructionBoostWeight": 0.15 }
}'"""  # noqa: E501

pytestmark = pytest.mark.slow


@dataclass
class Service:
    process: subprocess.Popen[str]
    port: int
    #: What it said before it was ready.
    words: str

    @property
    def key(self) -> str:
        found = re.findall(r"^  (rk_\S+)$", self.words, re.MULTILINE)
        assert len(found) == 1, self.words
        return str(found[0])

    def run(self, command: str, key: str) -> str:
        """A command of a document, with our port and key."""
        return subprocess.run(
            ["bash", "-c", command.replace("localhost:3050", f"localhost:{self.port}")],
            env={"PATH": os.environ["PATH"], "KEY": key},
            capture_output=True, text=True, check=True, timeout=60,
        ).stdout  # fmt: skip

    def post(self, path: str, body: Any, key: str) -> tuple[int, dict[str, Any]]:
        connection = http.client.HTTPConnection("localhost", self.port, timeout=60)
        headers = {"authorization": f"Bearer {key}", "content-type": "application/json"}
        connection.request("POST", path, json.dumps(body), headers)
        with connection.getresponse() as answer:
            result = answer.status, json.loads(answer.read())
        connection.close()
        return result


@contextmanager
def serving(db: Path) -> Iterator[Service]:
    log = db.with_suffix(".log").open("a")
    process = subprocess.Popen(
        [*SERVE, "--db", str(db), "--port", "0"], stdout=subprocess.PIPE, stderr=log, text=True
    )
    assert process.stdout is not None
    try:
        words = ""
        for line in process.stdout:
            words += line
            if match := re.search(r"^Holdfast listens on http://127.0.0.1:(\d+)$", line):
                yield Service(process, int(match[1]), words)
                break
        else:
            raise AssertionError(f"it did not start: {db.with_suffix('.log').read_text()}")
    finally:
        process.kill()
        process.wait()
        process.stdout.close()
        log.close()


def with_key(curl: str) -> str:
    return curl + ' -H "authorization: Bearer $KEY"'


def test_the_seeds_examples_run_as_they_stand_with_a_key(tmp_path: Path) -> None:
    with serving(tmp_path / "m.db") as service:
        stored = json.loads(service.run(with_key(SEED_INGEST), service.key))
        assert stored["memories_stored"] == 1
        # The two texts share no word: it is found by meaning, when the background work is done.
        found: dict[str, Any] = {"count": 0}
        deadline = time.monotonic() + 60
        while not found["count"] and time.monotonic() < deadline:
            answer = service.run(with_key(SEED_SEARCH) + " -i", service.key)
            head, _, body = answer.partition("\n\n")
            found = json.loads(body)
        assert head.startswith("HTTP/1.1 200")
        known = "instructionBoostEnabled,instructionBoostWeight"
        for prefix in ("x-holdfast-", "x-atomicmem-"):
            assert re.search(f"(?i)^{prefix}config-override-keys: {known}$", head, re.MULTILINE)
        assert "\nserver:" not in head.lower()
        assert [hit["content"] for hit in found["memories"]] == [
            "Always cite sources for every claim."
        ]
        assert "a valid key is required" in service.run(SEED_INGEST, service.key)


def test_the_first_words_hold_a_key_once_and_a_command_that_works(tmp_path: Path) -> None:
    with serving(tmp_path / "m.db") as service:
        curl = re.search(r"^  (curl .*)$", service.words, re.MULTILINE)
        assert curl is not None
        assert json.loads(service.run(curl[1], ""))["memories_stored"] == 1
        key = service.key
    with serving(tmp_path / "m.db") as again:
        assert "rk_" not in again.words
        assert (
            again.post("/v1/memories/search", {"user_id": "alice", "query": "cite"}, key)[0] == 200
        )
    logged = (tmp_path / "m.log").read_text()
    assert key not in logged
    assert "cite" not in logged


def test_a_store_that_has_a_key_gets_no_other(tmp_path: Path) -> None:
    with holdfast.open(tmp_path / "m.db", embedder=HashEmbedder(), worker=False) as memory:
        create_key(memory.store, user="alice", role="read")
    with serving(tmp_path / "m.db") as service:
        assert "rk_" not in service.words


def test_the_examples_of_the_page_give_what_the_page_says(tmp_path: Path) -> None:
    blocks = re.findall(r"^```(bash|json)\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    curls = [(number, text) for number, (kind, text) in enumerate(blocks) if "curl" in text]
    told = 0
    with serving(tmp_path / "m.db") as service:
        for number, curl in curls:
            if "@" in curl:  # With a file of the reader: tests/acceptance/test_docs_curl.py.
                continue
            printed = service.run(curl, service.key)
            after = blocks[number + 1] if number + 1 < len(blocks) else ("", "")
            if curl.startswith("curl -fsS -i"):
                assert "x-holdfast-config-override-keys: blend.graph\n" in printed.lower()
                assert "x-holdfast-unknown-override-keys: somefuturesetting\n" in printed.lower()
            elif after[0] == "json":
                assert shape(json.loads(printed)) == shape(json.loads(after[1]))
                told += 1
    assert told == 3


def shape(value: Any) -> Any:
    """The names in an answer, the kinds of its values and the lengths of its lists."""
    if isinstance(value, dict):
        return {name: shape(each) for name, each in value.items()}
    if isinstance(value, list):
        return [shape(each) for each in value]
    return type(value).__name__


def test_what_was_acknowledged_is_there_after_a_kill(tmp_path: Path) -> None:
    with serving(tmp_path / "m.db") as service:
        key = service.key
        stored = [
            service.post("/v1/memories/ingest", {"user_id": "a", "conversation": f"tea {n}"}, key)
            for n in range(20)
        ]
        service.process.send_signal(signal.SIGKILL)
        service.process.wait()
    assert {status for status, _ in stored} == {200}
    with serving(tmp_path / "m.db") as service:
        body = {"user_id": "a", "query": "tea", "limit": 200}
        status, found = service.post("/v1/memories/search", body, key)
        assert status == 200
        assert {hit["id"] for hit in found["memories"]} == {
            each["episode_id"] for _, each in stored
        }


def test_sigterm_ends_in_order(tmp_path: Path) -> None:
    with serving(tmp_path / "m.db") as service:
        body = {"user_id": "a", "conversation": "tea", "wait": True}
        assert service.post("/v1/memories/ingest", body, service.key)[1]["state"] == "done"
        began = time.monotonic()
        service.process.send_signal(signal.SIGTERM)
        assert service.process.wait(timeout=15) == 0
        assert time.monotonic() - began < 10
        # A memory that was closed has folded its journal into the file.
        assert not (tmp_path / "m.db-wal").exists()
        # One request, and nothing to complain of.
        (line,) = (tmp_path / "m.log").read_text().splitlines()
        assert " INFO holdfast.access request method=POST route=/v1/memories/ingest " in line


def test_a_port_in_use_is_said_in_words(tmp_path: Path) -> None:
    with serving(tmp_path / "m.db") as service:
        command = [*SERVE, "--db", str(tmp_path / "n.db"), "--port", str(service.port)]
        second = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
        assert second.returncode != 0
        assert second.stderr == (
            f"error: port {service.port} of 127.0.0.1 is taken, perhaps by another"
            " `holdfast serve`: choose one with --port\n"
        )
        assert "rk_" not in second.stdout
        assert not (tmp_path / "n.db").exists()


def test_a_body_without_a_length_is_cut_off_at_the_limit(tmp_path: Path) -> None:
    with serving(tmp_path / "m.db") as service:
        connection = http.client.HTTPConnection("localhost", service.port, timeout=60)
        headers = {"authorization": f"Bearer {service.key}", "content-type": "application/json"}
        connection.putrequest("POST", "/v1/memories/ingest")
        for name, value in {**headers, "transfer-encoding": "chunked"}.items():
            connection.putheader(name, value)
        connection.endheaders()
        piece = b"100000\r\n" + b" " * 0x100000 + b"\r\n"
        sent = 0
        try:
            for _ in range(64):
                connection.send(piece)
                sent += 1
        except (BrokenPipeError, ConnectionResetError):
            pass  # It stopped listening.
        assert 16 <= sent < 64
        assert (
            service.post("/v1/memories/search", {"user_id": "a", "query": "x"}, service.key)[0]
            == 200
        )
        connection.close()
