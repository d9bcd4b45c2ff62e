"""Measure the service beside the same memory in this process, in one run: read the ratios.

The service runs in a process of its own, as `holdfast serve` starts it, and so do its clients; the
memory in this process has nobody beside it. Every figure is printed with the goal it has. Nothing
here is a test. `--db` keeps the store of ten thousand memories for the next run.

`--processes N` compares `serve --processes N` with one process instead, for sixteen clients: of one
user each, whose connections stay with the process of that user, and of any user, where each request
may be one for another process. Each process has a core (one has one, two have two): a search leaves
the interpreter while its question is embedded, so one process with two cores uses both. The clients
take the processor, too: so what the servers took of it is told as well.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import random
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

from rich.console import Console
from rich.table import Table

import holdfast
from holdfast.memory.memory import Memory
from holdfast.recall.context.pack import pack
from holdfast.service.keys import create_key
from holdfast.wiring import make_store
from scripts.bench import cores, question, sentence
from tests.service.serving import Service, serving

MEMORIES = 10_000
CLIENTS = 16
STREAMS = 256
QUIET = {"extraction.enabled": False, "service.requestsPerMinute": 0}
#: What is compared is asked by turns, so often.
ROUNDS = 5
ONE: dict[str, float] = {}
console = Console()
rows: list[tuple[str, str, str, str]] = []


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--memories", type=int, default=MEMORIES)
    parser.add_argument("--questions", type=int, default=60, help="in each turn")
    parser.add_argument("--db", type=Path, help="keep the store here")
    parser.add_argument("--processes", type=int, help="compare so many with one, and nothing else")
    parser.add_argument("--url", help="for that, on a PostgreSQL database, which is left filled")
    parser.add_argument("--client", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.client:
        print(json.dumps(asyncio.run(_client(json.loads(args.client)))))
        return
    if args.processes:
        with tempfile.TemporaryDirectory() as folder:
            compared(Path(folder), args.processes, args.url, args.questions)
        report()
        return
    with tempfile.TemporaryDirectory() as folder:
        db = Path(folder) / "bench.db"
        shutil.copy(filled(args.db or Path(folder) / "filled.db", args.memories), db)
        measured(db, args.questions)
    report()


def filled(db: Path, size: int) -> Path:
    """A store with so many memories of one user, with the vectors of the shipped model."""
    if db.exists():
        return db
    began = time.monotonic()
    with holdfast.open(db, worker=False, config=QUIET) as memory:
        for start in range(0, size, 1000):
            batch = [{"content": sentence(start + i)} for i in range(min(1000, size - start))]
            memory.remember(batch, user="u0")
        memory.drain()
    console.print(f"[dim]filled in {time.monotonic() - began:.0f} s[/dim]")
    return db


def measured(db: Path, count: int) -> None:
    """Everything, one after another."""
    store = make_store(db)
    key = create_key(store, role="admin")[1]
    store.close()
    with serving(db, "--no-worker", settings=QUIET) as service:
        first_answer(service, key)
        with holdfast.open(db, worker=False, config=QUIET) as memory:
            _recall(memory, "warm up")
            one_client(service, key, memory, count)
            many_clients(service, key, memory, count)
        ingested(service, key)
        streamed(service, key)


USERS = 16
OF_A_USER = 200


def compared(folder: Path, processes: int, url: str | None, count: int) -> None:
    """One process and several by turns, on the same store."""
    db = url or str(folder / "users.db")
    with holdfast.open(db, worker=False, config=QUIET) as memory:
        for user in range(USERS):
            batch = [{"content": sentence(user * OF_A_USER + i)} for i in range(OF_A_USER)]
            memory.remember(batch, user=f"u{user}")
        memory.drain()
        key = create_key(memory.store, role="admin")[1]
    more = (*("--processes", str(processes)), "--no-worker")
    with ExitStack() as stack:
        with cores(1):
            one = stack.enter_context(
                serving(folder / "one.db", "--no-worker", settings=QUIET, db=db)
            )
        with cores(processes):
            several = stack.enter_context(serving(folder / "more.db", *more, settings=QUIET, db=db))
        for service in (one, several):  # Every index is there before anything is measured.
            clients(
                service, key, "/v1/recall", _of_users(USERS * 16, 0, any_user=True), clients=CLIENTS
            )
        for words, any_user in (("of one user each", False), ("of any user", True)):
            told = {1: _Load(), processes: _Load()}
            for turn in range(ROUNDS):
                bodies = _of_users(count * 8, 1000 + turn * count * 50, any_user=any_user)
                for number, service in ((1, one), (processes, several)):
                    told[number].measure(service, key, bodies)
            one_rate = told[1].rate
            for number, load in told.items():
                goal = f">= {0.85 * number:.2g} times one" if number > 1 else ""
                ratio = f"{load.rate / one_rate:.2f}, " if number > 1 else ""
                what = f"{number} process{'es' * (number > 1)}, {CLIENTS} clients {words}"
                note(what, f"{load.rate:.0f}/s", goal, ratio + load.words)


class _Load:
    """What a service does for sixteen clients, over several turns."""

    def __init__(self) -> None:
        self._rates: list[float] = []
        self._asked = self._errors = 0
        self._spent, self._seconds = [0.0], 0.0

    def measure(self, service: Service, key: str, bodies: list[dict[str, Any]]) -> None:
        with _spending(self._spent, 0, service.process.pid):
            got = clients(service, key, "/v1/recall", bodies, clients=CLIENTS)
        self._rates.append(len(bodies) / got["seconds"])
        self._asked += len(bodies)
        self._seconds += got["seconds"]
        self._errors += got["errors"]

    @property
    def rate(self) -> float:
        return statistics.median(self._rates)

    @property
    def words(self) -> str:
        spent = self._spent[0]
        return (
            f"{1e3 * spent / self._asked:.1f} ms of CPU a request,"
            f" {spent / self._seconds:.2f} cores in use, {self._errors} errors"
        )


def _of_users(count: int, first: int, *, any_user: bool = False) -> list[dict[str, Any]]:
    """Questions, of one user for each client or of any."""
    chosen = random.Random(first)
    users = [chosen.randrange(USERS) if any_user else i % CLIENTS for i in range(count)]
    return [
        {"user_id": f"u{user}", "query": question(first + i), "limit": 10}
        for i, user in enumerate(users)
    ]


def _recall(memory: Memory, text: str) -> None:
    memory.recall(text, user="u0", limit=10)


def _search(memory: Memory, text: str) -> None:
    hits = memory.recall(text, user="u0", limit=10)
    pack(hits, budget_tokens=memory.config.context_budget_tokens, query=text)


def _timed(work: Any, memory: Memory, asked: list[str]) -> list[float]:
    times = []
    for text in asked:
        began = time.perf_counter()
        work(memory, text)
        times.append(time.perf_counter() - began)
    return times


def first_answer(service: Service, key: str) -> None:
    began = time.monotonic()
    status, _ = service.send("POST", "/v1/recall", key, body={"user_id": "u0", "query": "tea"})
    assert status == 200
    seconds = service.seconds + time.monotonic() - began
    note("serve: until it listens", f"{service.seconds:.2f} s")
    note("serve: until the first answer to a search", f"{seconds:.2f} s", "< 5 s")


def one_client(service: Service, key: str, memory: Memory, count: int) -> None:
    """One who asks, here and over HTTP by turns: both feel the same of what else goes on."""
    works = {"/v1/recall": _recall, "/v1/memories/search": _search}
    for number, (path, work) in enumerate(works.items()):
        here: list[float] = []
        there: list[float] = []
        spent, errors = [0.0, 0.0], 0
        for turn in range(ROUNDS):
            first = (number * ROUNDS + turn) * 2 * count
            with _spending(spent, 0, os.getpid()):
                here += _timed(work, memory, [question(first + i) for i in range(count)])
            with _spending(spent, 1, service.process.pid):
                got = clients(service, key, path, _bodies(count, first + count), clients=1)
            there += got["times"]
            errors += got["errors"]
        asked = ROUNDS * count
        p50s = statistics.median(here), statistics.median(there)
        note(
            f"{work.__name__.strip('_')} in process",
            f"p50 {1e3 * p50s[0]:.1f} ms, p99 {1e3 * _quantile(here, 0.99):.1f} ms",
            on=f"{1e3 * spent[0] / asked:.1f} ms of CPU",
        )
        note(
            f"POST {path}, one client",
            f"p50 {1e3 * p50s[1]:.1f} ms, p99 {1e3 * _quantile(there, 0.99):.1f} ms",
            "in process + 4 ms",
            f"{1e3 * (p50s[1] - p50s[0]):+.1f} ms, {1e3 * spent[1] / asked:.1f} ms of CPU,"
            f" {errors} errors",
        )
        if path == "/v1/recall":
            ONE["p50"] = p50s[1]


def many_clients(service: Service, key: str, memory: Memory, count: int) -> None:
    """Two threads here and sixteen clients there by turns, then sixteen at half their rate."""
    here, there, spent, errors = [], [], [0.0, 0.0], 0
    for turn in range(ROUNDS):
        first = 100_000 + turn * 4 * count
        halves = [[question(first + i) for i in range(n, 2 * count, 2)] for n in (0, 1)]
        with _spending(spent, 0, os.getpid()):
            here.append(2 * count / _together(memory, halves))
        with _spending(spent, 1, service.process.pid):
            bodies = _bodies(2 * count, first + 2 * count)
            got = clients(service, key, "/v1/recall", bodies, clients=CLIENTS)
        there.append(len(got["times"]) / got["seconds"])
        errors += got["errors"]
    asked = 2 * count * ROUNDS
    rates = statistics.median(here), statistics.median(there)
    note(
        "recall in process, two threads", f"{rates[0]:.0f}/s", "",
        f"{1e3 * spent[0] / asked:.1f} ms of CPU",
    )  # fmt: skip
    note(
        f"POST /v1/recall, {CLIENTS} clients", f"{rates[1]:.0f}/s", ">= 0.6 of two threads",
        f"{rates[1] / rates[0]:.2f}, {1e3 * spent[1] / asked:.1f} ms of CPU, {errors} errors",
    )  # fmt: skip
    half = rates[1] / 2
    bodies = _bodies(20 * count, 200_000)  # So many that the slowest of a hundred is no chance.
    got = clients(service, key, "/v1/recall", bodies, clients=CLIENTS, rate=half)
    p99 = _quantile(got["times"], 0.99)
    note(
        f"POST /v1/recall, {half:.0f}/s",
        f"p50 {1e3 * statistics.median(got['times']):.1f} ms, p99 {1e3 * p99:.1f} ms",
        "p99 <= 5 times one client's p50",
        f"{p99 / ONE['p50']:.1f} times, {got['errors']} errors",
    )


def _together(memory: Memory, halves: list[list[str]]) -> float:
    """Two threads that ask: how long both take."""
    began = time.perf_counter()
    threads = [threading.Thread(target=_timed, args=(_recall, memory, half)) for half in halves]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return time.perf_counter() - began


@contextmanager
def _spending(spent: list[float], place: int, process: int) -> Iterator[None]:
    """Add up the seconds of CPU that a process uses meanwhile: they do not depend on others."""
    before = _cpu(process)
    yield
    spent[place] += _cpu(process) - before


def _cpu(process: int) -> float:
    """Of a process, and of those that it started."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    others = Path(f"/proc/{process}/task/{process}/children").read_text().split()
    own = (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    return own + sum(_cpu(int(each)) for each in others)


def ingested(service: Service, key: str) -> None:
    """Batches of 32 turns, each answered when it is on disk."""
    for count in (1, 4):
        batches = [
            {
                "user_id": "u1",
                "messages": [{"content": sentence(n * 32 + i)} for i in range(32)],
            }
            for n in range(count * 1000, count * 1000 + 120)
        ]
        spent = [0.0]
        with _spending(spent, 0, service.process.pid):
            got = clients(service, key, "/v1/memories", batches, clients=count)
        note(
            f"POST /v1/memories, 32 turns, {count} client{'s' * (count > 1)}",
            f"{32 * len(batches) / got['seconds']:,.0f} turns/s", ">= 1,500",
            f"{_p99(got)}, {1e3 * spent[0] / len(batches):.1f} ms of CPU a batch,"
            f" {got['errors']} errors",
        )  # fmt: skip


def streamed(service: Service, key: str) -> None:
    """What listeners to whom nothing happens cost."""
    head = f"GET /v1/stream?user_id=u0 HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {key}"
    before, lines = _rss(service), []
    try:
        for _ in range(STREAMS):
            line = socket.create_connection(("localhost", service.port), timeout=30)
            lines.append(line)
            line.sendall(f"{head}\r\n\r\n".encode())
            assert b" 200 " in line.recv(4096)
        time.sleep(1.0)
        more = _rss(service) - before
    finally:
        for line in lines:
            line.close()
    note(f"{STREAMS} idle event streams", f"{more:.0f} MB more", "< 50 MB")


def _rss(service: Service) -> float:
    status = Path(f"/proc/{service.process.pid}/status").read_text()
    return float(status.split("VmRSS:")[1].split()[0]) / 1024


def _bodies(count: int, first: int) -> list[dict[str, Any]]:
    """Questions that nobody asked before."""
    return [{"user_id": "u0", "query": question(first + i), "limit": 10} for i in range(count)]


def clients(
    service: Service,
    key: str,
    path: str,
    bodies: list[dict[str, Any]],
    *,
    clients: int,
    rate: float = 0.0,
) -> dict[str, Any]:
    """Send them from another process: how long each took, and all of them together."""
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        json.dump(bodies, file)
        file.flush()
        told = {
            "port": service.port, "key": key, "path": path, "bodies": file.name,
            "clients": clients, "rate": rate,
        }  # fmt: skip
        command = [sys.executable, __file__, "--client", json.dumps(told)]
        ended = subprocess.run(command, capture_output=True, text=True, check=True)
    got: dict[str, Any] = json.loads(ended.stdout)
    return got


async def _client(told: dict[str, Any]) -> dict[str, Any]:
    """The other process: so many connections, one request at a time on each."""
    bodies = json.loads(Path(told["bodies"]).read_text())
    requests = [_request(told, json.dumps(body).encode()) for body in bodies]
    times: list[float] = []
    errors = 0
    began = time.perf_counter()

    async def one(number: int) -> None:
        nonlocal errors
        reader, writer = await asyncio.open_connection("localhost", told["port"])
        for index in range(number, len(requests), told["clients"]):
            due = time.perf_counter()
            if told["rate"]:
                # From when it should have been sent: a queue on our side counts as well.
                due = began + index / told["rate"]
                await asyncio.sleep(max(0.0, due - time.perf_counter()))
            writer.write(requests[index])
            status = await _answer(reader)
            times.append(time.perf_counter() - due)
            errors += status != 200
        writer.close()

    await asyncio.gather(*(one(number) for number in range(told["clients"])))
    return {"times": times, "errors": errors, "seconds": time.perf_counter() - began}


def _request(told: dict[str, Any], body: bytes) -> bytes:
    head = (
        f"POST {told['path']} HTTP/1.1\r\nHost: localhost:{told['port']}\r\n"
        f"Authorization: Bearer {told['key']}\r\nContent-Type: application/json\r\n"
        f"Content-Length: {len(body)}\r\n\r\n"
    )
    return head.encode() + body


async def _answer(reader: asyncio.StreamReader) -> int:
    head = (await reader.readuntil(b"\r\n\r\n")).lower()
    length = int(head.split(b"content-length:")[1].split(b"\r\n")[0])
    await reader.readexactly(length)
    return int(head.split(b" ", 2)[1])


def _quantile(times: list[float], share: float) -> float:
    return sorted(times)[min(len(times) - 1, int(share * len(times)))]


def _p99(got: dict[str, Any]) -> str:
    return f"p99 {1e3 * _quantile(got['times'], 0.99):.1f} ms"


def note(what: str, got: str, goal: str = "", on: str = "") -> None:
    rows.append((what, got, goal, on))
    console.print(f"[dim]{what}: {got} {on}[/dim]")


def report() -> None:
    load = os.getloadavg()[0]
    title = f"Holdfast {holdfast.__version__} over HTTP, {os.cpu_count()} cores, load {load:.1f}"
    table = Table(title=title)
    for column in ("what", "measured", "goal", "ratio"):
        table.add_column(column)
    for row in rows:
        table.add_row(*row)
    Console(width=130).print(table)


if __name__ == "__main__":
    main()
