"""Many processes on one file: nothing lost, nothing doubled, no lock error to any caller.

Writers remember (single turns, batches, keys), forget and restore, each with its own background
worker; readers recall and ask for the status. All open the new file at the same moment. With
`--same-key` it is 32 concurrent writes with one idempotency key over 4 processes instead, on a new
file each round: exactly one event, and all receipts name it.
"""

import argparse
import os
import random
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

import holdfast
from scripts.crash import in_child
from scripts.ledger import (
    CONFIG,
    EMBEDDER,
    WORDS,
    Actor,
    Fault,
    Ledger,
    Tell,
    content,
    examined,
    new_seed,
    rows_by_sqlite3,
    user_of,
)

PROCESSES = 4
WRITES_PER_PROCESS = 8


class Group:
    """Forked processes that start together; each writes what it has to tell to a file."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._pids: list[int] = []
        self._wait, self._start = os.pipe()

    def add(self, work: Callable[[Tell], None]) -> None:
        number = len(self._pids)
        pid = os.fork()
        if pid:
            self._pids.append(pid)
            return
        os.close(self._start)
        with (self._folder / f"told-{number}").open("w") as file:
            try:
                os.read(self._wait, 1)  # Returns when the last writing end is closed.
                work(lambda line: _write_line(file.write, line))
            except BaseException as error:  # noqa: BLE001 (the parent counts it)
                _write_line(file.write, f"fault {type(error).__name__}: {error}")
        os._exit(0)

    def run(self) -> list[str]:
        """Start all, wait for all; every line they told."""
        os.close(self._start)
        lines: list[str] = []
        for number, pid in enumerate(self._pids):
            _, status = os.waitpid(pid, 0)
            lines += (self._folder / f"told-{number}").read_text().splitlines()
            if status:
                lines.append(f"fault process {number} ended with {status}")
        os.close(self._wait)
        return lines


def _write_line(write: Callable[[str], object], line: str) -> None:
    write(line.replace("\n", " ") + "\n")


def write(path: Path, name: str, seconds: float, tell: Tell) -> None:
    """Write until the time is up; tells the milliseconds of every write."""
    with holdfast.open(path, embedder=EMBEDDER, config=CONFIG) as memory:
        actor = Actor(memory, name, random.Random(name), tell)
        ends = time.monotonic() + seconds
        while time.monotonic() < ends:
            began = time.perf_counter()
            if actor.act():
                tell(f"took {1000 * (time.perf_counter() - began):.2f}")


def read(path: Path, name: str, seconds: float, tell: Tell) -> None:
    """Ask until the time is up; what is found must exist."""
    rng = random.Random(name)
    with holdfast.open(path, embedder=EMBEDDER, config=CONFIG, worker=False) as memory:
        ends = time.monotonic() + seconds
        while time.monotonic() < ends:
            user = rng.choice(("ann", "bob", "cy"))
            for hit in memory.recall(" ".join(rng.choices(WORDS, k=2)), user=user, limit=5):
                memory.status(hit.id, user=user)
            tell("asked")
            time.sleep(0.01)


def mixed(folder: Path, *, seconds: float, writers: int, readers: int, seed: int) -> int:
    """Writers and readers for some seconds, then the reckoning."""
    path = folder / "memory.db"
    group = Group(folder)
    for n in range(writers):
        group.add(lambda tell, n=n: write(path, f"{seed}-w{n}", seconds, tell))  # type: ignore[misc]
    for n in range(readers):
        group.add(lambda tell, n=n: read(path, f"{seed}-r{n}", seconds, tell))  # type: ignore[misc]
    print(f"{writers} writers and {readers} readers at work for {seconds:.0f} s", flush=True)
    wal = _Largest(Path(f"{path}-wal"))
    lines = group.run()
    most = wal.stop()
    ledger = Ledger()
    for line in lines:
        ledger.note(line)
    took = sorted(float(line[5:]) for line in lines if line.startswith("took "))
    asked = lines.count("asked")
    faults = [("refused", detail) for _, detail in ledger.faults]
    rng = random.Random(seed)
    faults += in_child(lambda: examined(path, ledger, thorough=True, rng=rng))
    print(
        f"{len(took)} writes: p50 {_at(took, 0.5):.1f} ms, p99 {_at(took, 0.99):.1f} ms, "
        f"longest {_at(took, 1.0):.0f} ms; {asked} questions; WAL at most {most >> 10} KiB"
    )
    return verdict(faults, f"{seconds:.0f} s, {ledger.events()} events acknowledged", seed)


class _Largest:
    """Watches how large a file becomes."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._most = 0
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._watch)
        self._thread.start()

    def stop(self) -> int:
        self._stopped.set()
        self._thread.join()
        return self._most

    def _watch(self) -> None:
        while not self._stopped.wait(0.1):
            if self._path.exists():
                self._most = max(self._most, self._path.stat().st_size)


def same_key(folder: Path, *, rounds: int, seed: int) -> int:
    """One key, 4 processes of 8 threads each, many times over."""
    faults: list[Fault] = []
    for number in range(1, rounds + 1):
        place = folder / f"round-{number}"
        place.mkdir()
        path = place / "memory.db"
        op = f"{seed}-{number}k"
        group = Group(place)
        for _ in range(PROCESSES):
            group.add(lambda tell, path=path, op=op: write_one(path, op, tell))  # type: ignore[misc]
        lines = group.run()
        answers = Counter(line for line in lines if line.startswith("acked"))
        if len(answers) != 1 or answers.total() != PROCESSES * WRITES_PER_PROCESS:
            faults.append(("doubled", f"round {number}: {answers}"))
        faults += [("refused", line) for line in lines if line.startswith("fault")]
        if (stored := len(rows_by_sqlite3(path))) != 1:
            faults.append(("doubled", f"round {number}: {stored} events"))
        print(f"round {number}/{rounds}: {len(faults)} faults", flush=True)
    return verdict(faults, f"{rounds} rounds of {PROCESSES * WRITES_PER_PROCESS} writes", seed)


def write_one(path: Path, op: str, tell: Tell) -> None:
    """The same turn with the same key from several threads at once."""
    with holdfast.open(path, embedder=EMBEDDER, config=CONFIG) as memory:
        start = threading.Barrier(WRITES_PER_PROCESS)

        def work() -> None:
            start.wait()
            try:
                receipt = memory.remember(content(op, 0, 1), user=user_of(op), key=op)
                tell(" ".join(("acked", op, *receipt.events)))
            except holdfast.HoldfastError as error:
                tell(f"fault {type(error).__name__}: {error}")

        threads = [threading.Thread(target=work) for _ in range(WRITES_PER_PROCESS)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()


def verdict(faults: Sequence[Fault], done: str, seed: int) -> int:
    for kind, detail in faults[:20]:
        print(f"{kind}: {detail}")
    kinds = Counter(kind for kind, _ in faults)
    print(
        f"concurrency: {done}, {kinds['refused']} errors to callers, {kinds['lost']} lost, "
        f"{kinds['doubled']} doubled, {kinds['torn']} torn, {kinds['corrupt']} corrupt, "
        f"seed {seed}: " + ("FAILED" if faults else "ok")
    )
    return 1 if faults else 0


def _at(values: Sequence[float], share: float) -> float:
    return values[min(len(values) - 1, int(share * len(values)))] if values else 0.0


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=60, help="how long (60)")
    parser.add_argument("--writers", type=int, default=8, help="writing processes (8)")
    parser.add_argument("--readers", type=int, default=8, help="reading processes (8)")
    parser.add_argument("--same-key", action="store_true", help="one key, many writers")
    parser.add_argument("--rounds", type=int, default=20, help="rounds of --same-key (20)")
    parser.add_argument("--seed", type=int, default=None, help="repeat the choices of a run")
    given = parser.parse_args(arguments)
    seed = new_seed() if given.seed is None else given.seed
    print(f"concurrency: seed {seed}", flush=True)
    with tempfile.TemporaryDirectory(prefix="holdfast-many-") as name:
        folder = Path(name)
        if given.same_key:
            return same_key(folder, rounds=given.rounds, seed=seed)
        return mixed(
            folder,
            seconds=given.seconds,
            writers=given.writers,
            readers=given.readers,
            seed=seed,
        )


if __name__ == "__main__":
    sys.exit(main())
