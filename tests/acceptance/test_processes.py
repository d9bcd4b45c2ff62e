"""`serve --processes N` with real processes: one service, whichever of them takes a request."""

import http.client
import json
import os
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from holdfast.service.http.routing import place_of
from tests.acceptance.hanging import environment
from tests.servers import new_database
from tests.service.live import Ear, wait_until
from tests.service.serving import SERVE, Service, serving

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

#: Understanding is tested elsewhere: here it would only take the processor.
QUIET = {"extraction": {"enabled": False}}
USERS = [f"user{number}" for number in range(8)]
INITIALIZE = {
    "jsonrpc": "2.0", "id": 1, "method": "initialize",
    "params": {"protocolVersion": "2025-06-18", "capabilities": {},
               "clientInfo": {"name": "t", "version": "1"}},
}  # fmt: skip
ACCEPT = {"accept": "application/json, text/event-stream"}


@contextmanager
def together(folder: Path, *options: str, **more: Any) -> Iterator[Service]:
    settings = {**QUIET, **more}
    with serving(folder / "m.db", "--processes", "2", *options, settings=settings) as service:
        try:
            yield service
        finally:
            with suppress(ProcessLookupError):
                service.process.send_signal(signal.SIGTERM)
                service.process.wait(30)


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    with together(tmp_path_factory.mktemp("serving")) as made:
        yield made


@pytest.fixture(params=["file", "server"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """A new store of either kind."""
    if request.param == "file":
        yield str(tmp_path / "m.db")
        return
    with new_database() as url:
        yield url


def ask(
    service: Service, method: str, path: str, body: Any = None, **headers: str
) -> tuple[int, Any, dict[str, str]]:
    """One request on a connection of its own; what came, and with which headers."""
    connection = http.client.HTTPConnection("127.0.0.1", service.port, timeout=60)
    sent = {"content-type": "application/json", **headers}
    if not sent.keys() & {"cookie", "authorization"}:
        sent["authorization"] = f"Bearer {service.key}"
    try:
        connection.request(method, path, None if body is None else json.dumps(body), sent)
        answer = connection.getresponse()
        text = answer.read().decode()
        told = {name.lower(): value for name, value in answer.getheaders()}
        is_json = told.get("content-type", "").startswith("application/json")
        return answer.status, json.loads(text) if is_json and text else text, told
    finally:
        connection.close()


def tell(service: Service, user: str, text: str, **more: Any) -> dict[str, Any]:
    body = {"user_id": user, "conversation": text, **more}
    status, answer, _ = ask(service, "POST", "/v1/memories/ingest", body)
    assert status == 200, answer
    return dict(answer)


def found(service: Service, user: str, query: str = "tea") -> list[str]:
    body = {"user_id": user, "query": query, "limit": 100}
    status, answer, _ = ask(service, "POST", "/v1/memories/search", body)
    assert status == 200, answer
    return [each["content"] for each in answer["memories"]]


def figures(service: Service, name: str) -> dict[int, float]:
    """A figure of each process."""
    lines = ask(service, "GET", "/metrics")[1].splitlines()
    start = f'{name}{{process="'
    mine = [line.removeprefix(start) for line in lines if line.startswith(start)]
    return {int(line.partition('"')[0]): float(line.rpartition(" ")[2]) for line in mine}


def children(service: Service) -> list[int]:
    out = subprocess.run(
        ["ps", "-o", "pid=", "--ppid", str(service.process.pid)],
        capture_output=True, text=True, check=False,
    ).stdout  # fmt: skip
    return [int(line) for line in out.split()]


def is_there(process: int) -> bool:
    """Whether it runs: one that has ended and was not asked for yet does not."""
    with suppress(FileNotFoundError, ProcessLookupError):
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    return False


def at_once(work: Any, count: int) -> list[Any]:
    with ThreadPoolExecutor(count) as pool:
        return list(pool.map(work, range(count)))


def test_the_index_of_an_owner_is_in_one_process(service: Service) -> None:
    for user in USERS:
        tell(service, user, f"tea of {user}")
    # Each in a new connection, many at once: whichever process takes it.
    told = at_once(lambda n: found(service, USERS[n % 8]), 32)
    assert told == [[f"tea of {USERS[n % 8]}"] for n in range(32)]
    places = [place_of("default", user, 2) for user in USERS]
    assert figures(service, "holdfast_indexes") == {
        number: places.count(number) for number in (0, 1)
    }
    assert 0 < sum(places) < 8, "both have something to do"


def test_a_connection_goes_to_and_fro(service: Service) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", service.port, timeout=60)
    headers = {"authorization": f"Bearer {service.key}", "content-type": "application/json"}
    for number in range(20):
        text = f"to and fro {number} " + "x" * 50 * number
        body = json.dumps({"user_id": USERS[number % 8], "content": text})
        connection.request("POST", "/v1/notes", body, headers)
        answer = connection.getresponse()
        assert answer.status < 300, answer.read()
        answer.read()
        path = f"/v1/notes?user_id={USERS[(number + 3) % 8]}"
        connection.request("GET", path, headers=headers)
        answer = connection.getresponse()
        assert (answer.status, len(answer.read()) > 0) == (200, True)
    connection.close()


def raw(service: Service, *parts: bytes) -> bytes:
    """What comes back for bytes that are sent piece by piece, until the line is closed."""
    with socket.create_connection(("127.0.0.1", service.port), timeout=60) as line:
        for part in parts:
            line.sendall(part)
            time.sleep(0.05)
        got = b""
        while piece := line.recv(1 << 16):
            got += piece
        return got


def a_request(service: Service, user: str, text: str, *, last: bool = False) -> bytes:
    body = json.dumps({"user_id": user, "conversation": text}).encode()
    head = (
        f"POST /v1/memories/ingest HTTP/1.1\r\nhost: localhost\r\n"
        f"authorization: Bearer {service.key}\r\ncontent-type: application/json\r\n"
        f"content-length: {len(body)}\r\n{'connection: close' if last else 'x-more: yes'}\r\n\r\n"
    )
    return head.encode() + body


def test_requests_sent_ahead_are_answered_in_their_order(service: Service) -> None:
    users = [f"ahead{number}" for number in range(8)]
    sent = [a_request(service, user, f"ahead of {user}") for user in users]
    sent.append(a_request(service, "ahead9", "the last", last=True))
    got = raw(service, b"".join(sent))
    assert got.count(b"HTTP/1.1 200") == 9
    for user in users:
        assert found(service, user, "ahead") == [f"ahead of {user}"]


def test_a_body_that_comes_late_or_in_pieces_arrives(service: Service) -> None:
    for user in ("late0", "late1", "late2", "late3"):
        whole = a_request(service, user, "x" * 3000 + " tea", last=True)
        assert b"HTTP/1.1 200" in raw(service, whole[:200], whole[200:900], whole[900:])
        body = json.dumps({"user_id": user, "conversation": "chunked tea"}).encode()
        chunked = whole.partition(b"content-length")[0] + b"transfer-encoding: chunked\r\n"
        chunked += b"connection: close\r\n\r\n%x\r\n%s\r\n0\r\n\r\n" % (len(body), body)
        assert b"HTTP/1.1 200" in raw(service, chunked[:250], chunked[250:])
        assert len(found(service, user)) == 2


def test_a_long_body_is_taken_by_either(service: Service) -> None:
    for user in USERS[:4]:
        text = "a long text about tea. " * 10_000
        assert tell(service, user, text)["memories_stored"] == 1


def test_a_session_of_mcp_is_answered_by_the_process_that_has_it(service: Service) -> None:
    def session(number: int) -> None:
        who = {"x-holdfast-user": USERS[number % 8]} if number % 2 else {}
        status, _, told = ask(service, "POST", "/mcp", INITIALIZE, **ACCEPT, **who)
        assert status == 200
        id = told["mcp-session-id"]
        ready = {"jsonrpc": "2.0", "method": "notifications/initialized"}
        asked = {"jsonrpc": "2.0", "id": 2, "method": "tools/list"}
        for body, expected in ((ready, 202), (asked, 200), (asked, 200), (asked, 200)):
            # Whom it is about may change from one request to the next: the session does not.
            other = {"x-holdfast-user": USERS[(number + expected) % 8]}
            more = {"mcp-session-id": id, **ACCEPT, **other}
            status, answer, _ = ask(service, "POST", "/mcp", body, **more)
            assert status == expected, answer
        assert ask(service, "DELETE", "/mcp", **{"mcp-session-id": id})[0] == 200
        assert ask(service, "POST", "/mcp", asked, **{"mcp-session-id": id}, **ACCEPT)[0] == 404

    at_once(session, 8)


def test_a_browser_that_signed_in_is_known_to_all(service: Service) -> None:
    status, _, told = ask(service, "POST", "/v1/sign-in", {"key": service.key}, cookie="")
    assert status == 204
    cookie = told["set-cookie"].partition(";")[0]

    def look(number: int) -> int:
        path = f"/v1/notes?user_id={USERS[number % 8]}"
        return ask(service, "GET", path, cookie=cookie)[0]

    assert at_once(look, 32) == [200] * 32
    assert ask(service, "GET", "/v1/notes?user_id=a", cookie=cookie[:-1] + "x")[0] == 401
    page = {"cookie": cookie, "x-holdfast-request": "1"}
    assert ask(service, "POST", "/v1/sign-out", **page)[0] == 204
    assert at_once(look, 32) == [401] * 32, "and when it signed out, to nobody"


def test_a_revoked_key_is_dead_with_the_next_request_everywhere(service: Service) -> None:
    for _ in range(5):
        _, made, _ = ask(service, "POST", "/v1/keys", {"role": "read"})
        bearer = {"authorization": f"Bearer {made['key']}"}

        def look(number: int) -> int:
            path = f"/v1/notes?user_id={USERS[number % 8]}"
            return ask(service, "GET", path, **bearer)[0]  # noqa: B023 (called in this round)

        assert at_once(look, 8) == [200] * 8
        assert ask(service, "DELETE", f"/v1/keys/{made['id']}")[0] == 200
        assert at_once(look, 8) == [401] * 8


def test_a_stream_hears_of_what_either_process_took(service: Service) -> None:
    for user in USERS[:4]:
        with Ear(service.port, service.key, f"?user_id={user}") as ear:
            assert ear.status == 200
            ear.frame()
            id = tell(service, user, "something happens")["event_ids"][0]
            assert ear.event()["id"] == id


def test_the_background_work_is_done(service: Service) -> None:
    assert tell(service, "worked", "tea", wait=True)["state"] == "done"
    assert ask(service, "GET", "/health")[:2] == (200, {"status": "ok"})


def test_lines_of_the_log_name_the_process(tmp_path: Path) -> None:
    with together(tmp_path, "--no-worker", service={"logFormat": "json"}) as made:
        for user in USERS:
            tell(made, user, "tea")
        assert len(children(made)) == 2, "no process for what is left to others"
    lines = [json.loads(line) for line in (tmp_path / "m.log").read_text().splitlines()]
    assert {line["process"] for line in lines} == {0, 1}


def test_of_many_changes_of_one_state_one_is_made(store: str, tmp_path: Path) -> None:
    """On two services that know nothing of each other, and on one of two processes."""
    key = first_key(store)
    with (
        serving(tmp_path / "one.db", db=store, settings=QUIET) as one,
        serving(tmp_path / "two.db", "--processes", "2", db=store, settings=QUIET) as two,
    ):
        bearer = {"authorization": f"Bearer {key}"}
        for turn in range(4):
            # An entry takes any new value: nothing but the tag tells one writer from the next.
            path, body = f"/v1/entries/choice{turn}", {"user_id": "ann", "value": "none"}
            assert ask(one, "PUT", path, body, **bearer)[0] == 200
            tag = ask(one, "GET", f"{path}?user_id=ann", **bearer)[2]["etag"]

            def change(number: int) -> int:
                body = {"user_id": "ann", "value": f"choice {number}"}
                more = {"if-match": tag, **bearer}  # noqa: B023
                return ask((one, two)[number % 2], "PUT", path, body, **more)[0]  # noqa: B023

            assert sorted(at_once(change, 8)) == [200] + [412] * 7


def first_key(store: str) -> str:
    out = subprocess.run(
        [*SERVE[:-1], "keys", "create", "--role", "admin", "--db", store],
        capture_output=True, text=True, check=True,
    ).stdout  # fmt: skip
    return out.strip()


def test_a_rate_is_that_of_all_processes_together(tmp_path: Path) -> None:
    a_minute = 20
    with together(tmp_path, service={"requestsPerMinute": a_minute}) as made:
        _, key, _ = ask(made, "POST", "/v1/keys", {"role": "write"})
        bearer = {"authorization": f"Bearer {key['key']}"}
        began = time.monotonic()

        def look(number: int) -> int:
            return ask(made, "GET", f"/v1/notes?user_id={USERS[number % 8]}", **bearer)[0]

        statuses = [status for _ in range(4) for status in at_once(look, 16)]
        more = int((time.monotonic() - began) * a_minute / 60)
        assert set(statuses) == {200, 429}
        assert a_minute <= statuses.count(200) <= a_minute + more


def test_a_process_that_dies_is_replaced_and_nothing_is_lost(store: str, tmp_path: Path) -> None:
    key = first_key(store)
    options = ("--processes", "2", "--no-worker")
    with serving(tmp_path / "m.db", *options, db=store, settings=QUIET) as made:
        bearer = {"authorization": f"Bearer {key}"}
        stored: list[tuple[str, str]] = []

        def say(number: int) -> None:
            for turn in range(40):
                user = USERS[(number + turn) % 8]
                body = {"user_id": user, "conversation": f"tea {number} {turn}"}
                with suppress(OSError, http.client.HTTPException):
                    status, _, _ = ask(made, "POST", "/v1/memories/ingest", body, **bearer)
                    if status == 200:
                        stored.append((user, f"tea {number} {turn}"))

        before = children(made)
        with ThreadPoolExecutor(5) as pool:
            saying = [pool.submit(say, number) for number in range(4)]
            time.sleep(0.3)
            os.kill(before[-1], signal.SIGKILL)
            for each in saying:
                each.result()
        wait_until(lambda: len(children(made)) == 2, 30)
        assert set(children(made)) != set(before)
        assert len(stored) > 80
        for user in USERS:
            body = {"user_id": user, "query": "tea", "limit": 200}
            _, answer, _ = ask(made, "POST", "/v1/memories/search", body, **bearer)
            told = {each["content"] for each in answer["memories"]}
            assert {text for whose, text in stored if whose == user} <= told
        assert "ended with -9: another is started" in (tmp_path / "m.log").read_text()


def test_sigterm_ends_all_of_them(tmp_path: Path) -> None:
    with together(tmp_path) as made:
        tell(made, "ann", "tea")
        all_of_them = children(made)
        assert len(all_of_them) == 3, "two that answer and one that works"
        with Ear(made.port, made.key, "?user_id=ann") as ear:
            ear.frame()
            began = time.monotonic()
            made.process.send_signal(signal.SIGTERM)
            assert ear.event()["event"] == "end"
        assert made.process.wait(20) == 0
        assert time.monotonic() - began < 10
        assert not any(is_there(each) for each in all_of_them)
        assert not (tmp_path / "m.db-wal").exists(), "the store was closed"
    assert "Traceback" not in (tmp_path / "m.log").read_text()


def test_a_signal_to_all_of_them_is_one_signal(tmp_path: Path) -> None:
    """As Ctrl-C and systemd send it."""
    with together(tmp_path) as made:
        all_of_them = children(made)
        for each in (made.process.pid, *all_of_them):
            os.kill(each, signal.SIGINT)
        assert made.process.wait(20) == 0
        assert not any(is_there(each) for each in all_of_them)
        assert not (tmp_path / "m.db-wal").exists(), "the store was closed"


def test_without_the_parent_the_others_end(tmp_path: Path) -> None:
    with together(tmp_path) as made:
        all_of_them = children(made)
        made.process.kill()
        made.process.wait()
        wait_until(lambda: not any(is_there(each) for each in all_of_them), 30)


def test_what_keeps_it_from_starting_is_told_once(tmp_path: Path) -> None:
    (tmp_path / "m.db").write_text("This is no store. " * 100)
    command = [*SERVE, "--db", str(tmp_path / "m.db"), "--port", "0", "--processes", "3"]
    ended = subprocess.run(
        command, capture_output=True, text=True, check=False, timeout=60, env=environment()
    )
    assert ended.returncode == 2
    assert ended.stderr.count("error: ") == 1
    assert "Holdfast listens" not in ended.stdout


@pytest.mark.parametrize("count", ["0", "-1", "65", "two", "1.5"])
def test_a_wrong_number_of_processes_is_said_in_words(tmp_path: Path, count: str) -> None:
    command = [*SERVE, "--db", str(tmp_path / "m.db"), "--port", "0", "--processes", count]
    ended = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert ended.returncode == 2
    assert "--processes" in ended.stderr
    assert not (tmp_path / "m.db").exists()
