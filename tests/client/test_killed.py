"""A service that dies under its clients: what was promised is there, and there once."""

import http.client
import itertools
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

import holdfast
from holdfast.errors import Unavailable
from holdfast.types import Receipt
from tests.client.serving import process
from tests.ports import lasting_port

pytestmark = pytest.mark.slow

#: Many callers, so that some are in the middle of a write when the service dies.
CALLERS = 8


def events(db: Path) -> list[str]:
    with holdfast.open(db, worker=False) as memory:
        found = [
            each.content
            for n in range(CALLERS)
            for each in memory.list(user=f"u{n}", tiers=["session"], limit=1000).memories
        ]
    return sorted(found)


def test_a_kill_in_the_middle_of_remembering_loses_nothing_and_stores_nothing_twice(
    tmp_path: Path,
) -> None:
    db = tmp_path / "m.db"
    texts: list[str] = []
    receipts: list[Receipt] = []
    is_dead = threading.Event()
    port = lasting_port()
    with process(db, port) as first:
        client = holdfast.Client(first.address, first.key, timeout=90, retries=60)

        def caller(number: int) -> None:
            for n in itertools.count():
                goes_on = not is_dead.is_set()
                text = f"Caller {number} says {n}."
                texts.append(text)
                receipts.append(client.remember(text, user=f"u{number}"))
                if not goes_on:
                    return

        with client, ThreadPoolExecutor(CALLERS) as pool:
            calls = [pool.submit(caller, number) for number in range(CALLERS)]
            while len(receipts) < CALLERS:  # From here on many are under way at any moment.
                time.sleep(0.0005)
            first.kill()
            before = len(receipts)
            is_dead.set()
            with process(db, port):
                for each in calls:
                    each.result(timeout=90)
    assert len(receipts) >= before + CALLERS
    assert not any(each.duplicate for each in receipts)
    assert events(db) == sorted(texts)


class Lossy:
    """Stands before a service, and loses the first answer to every write."""

    def __init__(self, address: str) -> None:
        self.keys: Counter[str] = Counter()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler(address))
        self.address = f"http://127.0.0.1:{self._server.server_port}"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,))
        self._thread.start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def _handler(self, address: str) -> type[BaseHTTPRequestHandler]:
        keys = self.keys

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["content-length"]))
                onward = http.client.HTTPConnection(address.removeprefix("http://"), timeout=60)
                sent = {
                    name: value for name, value in self.headers.items() if name.lower() != "host"
                }
                onward.request("POST", self.path, body, sent)
                answer = onward.getresponse()
                told = answer.read()
                onward.close()
                key = self.headers["idempotency-key"]
                keys[key] += 1
                self.close_connection = True
                if keys[key] > 1:
                    self.send_response(answer.status)
                    self.send_header("content-length", str(len(told)))
                    self.end_headers()
                    self.wfile.write(told)

            def log_message(self, format: str, *args: Any) -> None:
                pass

        return Handler


def test_other_writes_are_done_once_too(tmp_path: Path) -> None:
    db = tmp_path / "m.db"
    with process(db) as service:
        # The answer is lost on the way: the same request, with its key, comes again.
        lossy = Lossy(service.address)
        with holdfast.Client(lossy.address, service.key, timeout=60) as client:
            receipt = client.remember("I moved to Lisbon.", user="ann")
            entry = client.team.write("We deploy on Fridays.", type="decision")
            note = client.notes.add("Chose Postgres.", user="ann")
            fact = client.facts.add("I live in Lisbon.", user="ann")
            how = client.procedures.add("Release", steps=["tag"], user="ann")
            used = client.procedures.used(how.id, user="ann")
        lossy.close()
        assert list(lossy.keys.values()) == [2] * 6
        with holdfast.Client(service.address, service.key) as client:
            said = client.list(tiers=["session"], user="ann").memories
            assert (tuple(each.id for each in said), receipt.duplicate) == (receipt.events, False)
            assert [each.id for each in client.team.list()] == [entry.id]
            assert [each.id for each in client.notes.list(user="ann")] == [note.id]
            assert [each.id for each in client.facts.list(user="ann")] == [fact.id]
            assert client.procedures.get(how.id, user="ann") == used


def test_a_service_that_is_away_is_told_within_the_time(tmp_path: Path) -> None:
    with process(tmp_path / "m.db") as service:
        client = holdfast.Client(service.address, service.key, timeout=3)
        client.remember("I moved to Lisbon.", user="ann")
        service.kill()
        began = time.monotonic()
        with pytest.raises(Unavailable) as told:
            client.recall("Lisbon", user="ann")
        client.close()
        assert time.monotonic() - began < 30
        assert service.address in str(told.value)
        assert service.key not in str(told.value)
