"""Measure the background work beside a running service: turns a second, and what recall pays.

Three processes on the cores there are: the service (`holdfast serve --no-worker`), which is asked
over HTTP all the time; a worker (`holdfast worker`) that embeds and reads what waits; and this
one. The turns are those of the sample, stored for many users. Nothing here is a test.

`--processes N` compares `worker --processes N` with one process instead, each with a core, on a
store of its own that is made anew: a file, or in a PostgreSQL server of this machine.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
import urllib.request
from contextlib import closing
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

import holdfast
from holdfast import sample
from holdfast.store.protocols import Store
from holdfast.wiring import make_store
from scripts.bench import cores
from scripts.bench_postgres import started

_PROGRAM = (sys.executable, "-m", "holdfast")
_USER = "asked"
_TURNS_ASKED = 2_000
_QUESTIONS = 300
#: Questions a second, before and during the work.
_A_SECOND = 20


def main() -> None:
    """Print the figures."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--turns", type=int, default=1_500, help="turns to work off")
    options.add_argument("--provider", default="auto", help="rules, nlp or auto")
    options.add_argument("--processes", type=int, help="compare so many with one, nothing else")
    given = options.parse_args()
    os.environ["HOLDFAST_EXTRACTION_PROVIDER"] = given.provider
    with tempfile.TemporaryDirectory() as folder:
        if given.processes:
            compare(Path(folder), given.processes, given.turns)
            return
        path = Path(folder) / "memory.db"
        fill(path, given.turns)
        key = json.loads(run("keys", "create", "--db", str(path), "--json"))["key"]
        with subprocess.Popen(
            [*_PROGRAM, "serve", "--db", str(path), "--port", "0", "--no-worker"],
            stdout=subprocess.PIPE,
            text=True,
        ) as server:
            try:
                report(path, address(server), key, given.turns)
            finally:
                server.terminate()


def compare(folder: Path, processes: int, waiting: int) -> None:
    """One process and several, on a file and on a server."""
    with started(folder) as server:
        for engine in ("file", "server"):
            rates = []
            for count in (1, processes):
                url: Path | str = folder / f"{count}.db"
                if engine == "server":
                    server.psql(f"CREATE DATABASE of_{count}")
                    url = server.get_uri(f"of_{count}")
                fill(url, waiting, asked=0)
                command = [*_PROGRAM, "worker", "--db", str(url), "--processes", str(count)]
                with cores(count):
                    worker = subprocess.Popen(command)
                rates.append(waiting / worked_off(url, worker))
            one, several = rates
            print(
                f"{engine}: 1 process {one:.1f} turns a second, {processes} processes"
                f" {several:.1f}, {several / one:.2f} times one (goal {0.85 * processes:.2g})"
            )


def worked_off(db: Path | str, worker: subprocess.Popen[bytes]) -> float:
    """Seconds from the first job that is done until none is left, by a worker that then ends."""
    with closing(make_store(db)) as store:
        try:
            waiting = left(store, worker)
            while left(store, worker) == waiting:
                time.sleep(0.02)
            began = time.perf_counter()
            while left(store, worker):
                time.sleep(0.1)
            return time.perf_counter() - began
        finally:
            worker.terminate()
            worker.wait()


def fill(db: Path | str, waiting: int, *, asked: int = _TURNS_ASKED) -> None:
    """One user whose turns are understood, and others whose turns wait."""
    turns = [{k: v for k, v in turn.items() if k != "session"} for turn in sample.turns()]
    with holdfast.open(db, worker=False) as memory:
        if asked:
            print(f"preparing {asked} turns that are asked about ...", flush=True)
            for copy in range(asked // len(turns)):
                memory.remember(turns, user=_USER, session=f"s{copy}")
            memory.drain()
        for copy in range(waiting // len(turns)):
            memory.remember(turns, user=f"u{copy}", session="s")


def report(path: Path, url: str, key: str, waiting: int) -> None:
    """Ask alone, then beside a worker."""
    ask(url, key, 20, after=10**6)
    idle = ask(url, key, _QUESTIONS)
    busy: list[float] = []
    began = time.perf_counter()
    with subprocess.Popen([*_PROGRAM, "worker", "--db", str(path)]) as worker:
        try:
            with closing(make_store(path)) as store:
                while left(store, worker):
                    busy += ask(url, key, 10, after=_QUESTIONS + len(busy))
                counts = store.counts()
            seconds = time.perf_counter() - began
        finally:
            worker.terminate()
    print(f"turns a second, embedded and read: {waiting / seconds:.0f} ({waiting} turns,", end=" ")
    print(f"{seconds:.1f} s with the worker's start; goal 40), {counts.dead} dead jobs")
    for name, times in (("idle", idle), ("beside the worker", busy)):
        told = f"p50 {at(times, 0.5):.1f} ms, p95 {at(times, 0.95):.1f} ms"
        print(f"search over HTTP, {name}: {told}, {len(times)} questions, {_A_SECOND} a second")
    print(f"p95 beside the worker / idle: {at(busy, 0.95) / at(idle, 0.95):.2f} (goal 2)")


def left(store: Store, worker: subprocess.Popen[bytes]) -> int:
    """How many jobs there are still to do."""
    if worker.poll() is not None:
        raise RuntimeError(f"the worker ended with {worker.returncode}")
    counts = store.counts()
    return counts.ready + counts.running


def ask(url: str, key: str, count: int, *, after: int = 0) -> list[float]:
    """Search so often, each time for something else; the seconds of each."""
    times = []
    questions = sample.questions()
    for number in range(after, after + count):
        text = f"{questions[number % len(questions)]['question']} {number}"
        body = json.dumps({"user_id": _USER, "query": text, "limit": 10}).encode()
        request = urllib.request.Request(
            f"{url}/v1/memories/search",
            data=body,
            headers={"Authorization": f"Bearer {key}", "Content-Type": "application/json"},
        )
        began = time.perf_counter()
        with urllib.request.urlopen(request, timeout=30) as answer:
            answer.read()
        times.append(time.perf_counter() - began)
        time.sleep(max(0.0, 1 / _A_SECOND - times[-1]))
    return times


def at(times: list[float], share: float) -> float:
    """A quantile in milliseconds."""
    return 1e3 * sorted(times)[min(len(times) - 1, int(share * len(times)))]


def address(server: subprocess.Popen[str]) -> str:
    """Where the service listens, as it says."""
    assert server.stdout is not None
    for line in server.stdout:
        for word in line.split():
            if word.startswith("http://"):
                return word.rstrip("/")
    raise RuntimeError("the service ended before it listened")


def run(*args: str) -> str:
    """What a command prints."""
    return subprocess.run([*_PROGRAM, *args], check=True, capture_output=True, text=True).stdout


if __name__ == "__main__":
    main()
