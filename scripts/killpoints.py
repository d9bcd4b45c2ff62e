"""Kill, or fail, at every single system call of a scripted scenario.

strace is attached to one thread (the main thread, which opens and closes, or the writer) and kills
the process as it enters its Nth write, sync, truncation, deletion, opening or lock, for every N; or
lets the Nth call fail with EIO or ENOSPC, once or from then on. The scenario tells through a pipe
what was acknowledged and what was refused. Then the store is opened, judged, and every key is sent
again. A refusal must be one of our errors; after an I/O error nothing more may be acknowledged.
"""

import argparse
import ctypes
import os
import random
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

import holdfast
from holdfast.errors import StoreError, StoreFull
from holdfast.store.sqlite import SqliteStore, writer
from scripts.crash import in_child
from scripts.ledger import (
    CONFIG,
    EMBEDDER,
    Fault,
    Ledger,
    Tell,
    content,
    examined,
    retried,
    user_of,
)

#: What can leave a mark on the disk or on another process. The ? is for those a machine lacks.
CALLS = (
    "pwrite64", "pwritev", "fdatasync", "fsync", "ftruncate", "fallocate", "unlink", "unlinkat",
    "rename", "openat", "mkdir", "fcntl",
)  # fmt: skip
FAILING = ("pwrite64", "fdatasync", "fsync", "ftruncate", "openat", "unlink", "unlinkat")
FAULTS = ("EIO", "ENOSPC", "EIO+", "ENOSPC+")
THREADS = ("main", "writer")
MOST_SECONDS = 30
_SET_PTRACER, _ANY = 0x59616D61, -1


@dataclass(frozen=True)
class Point:
    """One run: on this thread, at the Nth of these calls, this happens."""

    thread: str
    call: str
    number: int
    #: "SIGKILL", "EIO" or "ENOSPC"; a + behind it: from then on.
    what: str

    def injection(self) -> str:
        what = self.what.rstrip("+")
        how = f"signal={what}" if what == "SIGKILL" else f"error={what}"
        again = "+" if self.what.endswith("+") else ""
        return f"inject={self.call}:{how}:when={self.number}{again}"

    def __str__(self) -> str:
        return f"{self.what} at {self.call} {self.number} of the {self.thread} thread"


def scenario(path: Path, tell: Tell, wait: Callable[[], object]) -> None:
    """Open, write, forget, restore, work off the queue, close. Refusals are told, not raised."""
    wait()
    steps = Steps(path, tell)
    if not (steps.open() or steps.open()):
        return
    tell(f"ready {steps.writer_thread()}")
    wait()
    steps.remember("one", 1)
    steps.remember("batchk", 5)
    steps.change("forget", "one")
    steps.change("restore", "one")
    steps.remember("long", 12)
    steps.drain()
    steps.remember("batchk", 5)
    steps.recall("long")
    steps.change("forget", "batchk")
    steps.remember("lastk", 2)
    steps.close()
    tell("end")


class Steps:
    """The verbs on one memory, each telling how it went."""

    def __init__(self, path: Path, tell: Tell) -> None:
        self._path = path
        self._tell = tell
        self._events: dict[str, tuple[str, ...]] = {}

    def open(self) -> bool:
        try:
            # So that the scenario sees checkpoints.
            writer.PAGES_CHECKPOINT, writer.PAGES_START_OVER = 10, 30
            self._memory = holdfast.open(self._path, embedder=EMBEDDER, config=CONFIG, worker=False)
        except StoreError as error:
            self._tell(f"refused open {type(error).__name__} {error}")
            return False
        return True

    def writer_thread(self) -> int:
        store = self._memory.store
        assert isinstance(store, SqliteStore)
        return store._writer._thread.native_id or 0

    def remember(self, op: str, parts: int) -> None:
        def work() -> None:
            said = [{"role": "user", "content": content(op, n, parts)} for n in range(parts)]
            key = op if op.endswith("k") else None
            if key:
                self._tell(f"trying {op} {parts}")
            self._events[op] = self._memory.remember(said, user=user_of(op), key=key).events
            self._tell(" ".join(("acked", op, *self._events[op])))

        self._try("remember", work)

    def change(self, verb: str, op: str) -> None:
        def work() -> None:
            event = self._events[op][0]
            self._tell(f"changing {event}")
            done = self._memory.forget if verb == "forget" else self._memory.restore
            done(event, user=user_of(op))
            self._tell(f"{'forgotten' if verb == 'forget' else 'restored'} {event}")

        if op in self._events:
            self._try(verb, work)

    def recall(self, op: str) -> None:
        def work() -> None:
            hits = self._memory.recall(content(op, 0, 12), user=user_of(op))
            found = {hit.id for hit in hits}
            if op in self._events and self._events[op][0] not in found:
                self._tell(f"fault recall does not find {op}")

        self._try("recall", work)

    def drain(self) -> None:
        self._try("drain", lambda: self._memory.drain(5))

    def close(self) -> None:
        self._try("close", self._memory.close)

    def _try(self, verb: str, work: Callable[[], object]) -> None:
        try:
            work()
        except StoreError as error:
            self._tell(f"refused {verb} {type(error).__name__} {error}")


@dataclass
class Outcome:
    """What one run told, and how it ended."""

    lines: list[str]
    ended: str
    trace: str


def attached(thread: int, options: Sequence[str], log: Path) -> subprocess.Popen[str]:
    """strace on one thread of a process that waits."""
    command = ["strace", "-o", str(log), *options, "-p", str(thread)]
    tracer = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    assert tracer.stderr is not None
    told = tracer.stderr.readline()
    if "attached" not in told:
        raise SystemExit(f"strace cannot attach: {told.strip()}")
    return tracer


def performed(path: Path, thread: str, options: Sequence[str]) -> Outcome:
    """Run the scenario in a fork, with strace on one of its threads."""
    told_read, told_write = os.pipe()
    go_read, go_write = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(told_read)
        os.close(go_write)
        _perform(path, told_write, go_read)
    os.close(told_write)
    os.close(go_read)
    log = path.with_suffix(".strace")
    tracer = attached(pid, options, log) if thread == "main" else None
    lines = []
    os.write(go_write, b"!")
    with os.fdopen(told_read) as told:
        for line in told:
            lines.append(line.rstrip("\n"))
            if line.startswith("ready"):
                if thread == "writer":
                    tracer = attached(int(line.split()[1]), options, log)
                os.write(go_write, b"!")
    os.close(go_write)
    _, status = os.waitpid(pid, 0)
    if tracer is not None:
        tracer.communicate()
    ended = signal.Signals(os.WTERMSIG(status)).name if os.WIFSIGNALED(status) else "exit"
    return Outcome(lines, ended, log.read_text() if log.exists() else "")


def _perform(path: Path, told: int, go: int) -> None:
    """The forked side. strace may attach, whatever this machine's rule for it is."""
    ctypes.CDLL(None).prctl(_SET_PTRACER, ctypes.c_ulong(_ANY), 0, 0, 0)
    signal.alarm(MOST_SECONDS)

    def tell(line: str) -> None:
        os.write(told, (line.replace("\n", " ") + "\n").encode())

    try:
        scenario(path, tell, lambda: os.read(go, 1))
    except BaseException as error:  # noqa: BLE001 (the parent counts it)
        tell(f"fault untyped {type(error).__name__}: {error}")
    finally:
        os._exit(0)


def tried(point: Point) -> tuple[Point, list[Fault], str]:
    """Run one point in a folder of its own; its faults, and whether it was reached."""
    with tempfile.TemporaryDirectory(prefix="holdfast-point-") as folder:
        path = Path(folder) / "memory.db"
        options = ["-e", f"trace={point.call}", "-e", point.injection()]
        if point.what != "SIGKILL":
            options += _only_ours(path)
        outcome = performed(path, point.thread, options)
        ledger = Ledger()
        for line in outcome.lines:
            ledger.note(line)
        faults = list(ledger.faults) + list(misbehaviour(point, outcome))
        ledger.faults.clear()
        rng = random.Random(0)
        faults += in_child(
            lambda: (
                examined(path, ledger, thorough=True, rng=rng)
                + retried(path, ledger)
                + examined(path, ledger, thorough=True, rng=rng)
            )
        )
    return point, faults, _reached(point, outcome)


def _only_ours(path: Path) -> list[str]:
    """Options of strace: our files, not Python's own."""
    return [word for end in ("", "-wal", "-journal", "-shm") for word in ("-P", f"{path}{end}")]


def _reached(point: Point, outcome: Outcome) -> str:
    if point.what == "SIGKILL":
        return "killed" if outcome.ended == "SIGKILL" else "not reached"
    if "INJECTED" not in outcome.trace:
        return "not reached"
    refused = any(line.startswith("refused") for line in outcome.lines)
    return "refused" if refused else "survived"


def misbehaviour(point: Point, outcome: Outcome) -> Iterator[Fault]:
    """What a process must not do when its disk fails."""
    if outcome.ended not in ("exit", "SIGKILL"):
        yield "corrupt", f"ended by {outcome.ended}: it hung or crashed"
    if point.what == "SIGKILL":
        return
    shut = False
    for line in outcome.lines:
        kind, verb, error = [*line.split(" "), "", ""][:3]
        full = error == StoreFull.__name__
        if kind == "refused" and not full and _is_full(point):
            yield "misnamed", f"the disk was full, the caller heard: {line}"
        elif kind == "refused" and verb != "open":
            # A full disk may have room again; a disk that failed is not to be trusted.
            shut = shut or not full
        elif shut and kind in ("acked", "forgotten", "restored"):
            yield "lied", f"acknowledged after an I/O error: {line}"
    if outcome.lines and outcome.lines[-1] != "end" and not _never_opened(outcome):
        yield "corrupt", f"the scenario did not end: {outcome.lines[-1]}"


def _is_full(point: Point) -> bool:
    return point.what.startswith("ENOSPC") and point.call == "pwrite64"


def _never_opened(outcome: Outcome) -> bool:
    return all(line.startswith("refused open") for line in outcome.lines)


def counted(*, only_ours: bool) -> dict[tuple[str, str], int]:
    """How many of each call each thread makes in an undisturbed run."""
    counts: dict[tuple[str, str], int] = {}
    for thread in THREADS:
        options = ["-e", "trace=" + ",".join(f"?{call}" for call in CALLS)]
        with tempfile.TemporaryDirectory(prefix="holdfast-count-") as folder:
            path = Path(folder) / "memory.db"
            outcome = performed(path, thread, options + (_only_ours(path) if only_ours else []))
        assert outcome.lines[-1] == "end", outcome.lines
        for call, number in Counter(re.findall(r"^(\w+)\(", outcome.trace, re.MULTILINE)).items():
            counts[thread, call] = number
    return counts


def points() -> list[Point]:
    """Every kill, every single failure, and every beginning of a lasting one."""
    kills = counted(only_ours=False)
    for (thread, call), number in sorted(kills.items()):
        print(f"{thread} thread: {number} {call}")
    failures = {key: n for key, n in counted(only_ours=True).items() if key[1] in FAILING}
    return [
        Point(thread, call, number, what)
        for counts, whats in ((kills, ("SIGKILL",)), (failures, FAULTS))
        for (thread, call), most in sorted(counts.items())
        for number in range(1, most + 1)
        for what in whats
    ]


def run(*, every: int, jobs: int, seed: int) -> int:
    began = time.monotonic()
    all_points = points()
    chosen = random.Random(seed).sample(all_points, k=len(all_points) // every)
    print(f"{len(chosen)} of {len(all_points)} points", flush=True)
    faults: list[str] = []
    kinds: Counter[str] = Counter()
    ends: Counter[str] = Counter()
    with get_context("fork").Pool(jobs) as pool:
        for done, (point, found, end) in enumerate(pool.imap_unordered(tried, chosen), 1):
            ends[end] += 1
            faults += [f"{point}: {kind}: {detail}" for kind, detail in found]
            kinds.update(kind for kind, _ in found)
            if done % max(1, len(chosen) // 10) == 0:
                seconds = time.monotonic() - began
                print(f"point {done}/{len(chosen)}: {len(faults)} faults, {seconds:.0f} s")
                sys.stdout.flush()
    for fault in faults[:20]:
        print(fault)
    print(
        f"killpoints: {len(chosen)} points ({', '.join(f'{n} {e}' for e, n in ends.items())}), "
        f"{kinds['lost']} lost, {kinds['doubled']} doubled, {kinds['torn']} torn, "
        f"{kinds['corrupt']} corrupt, {len(faults)} faults, {time.monotonic() - began:.0f} s, "
        f"seed {seed}: " + ("FAILED" if faults else "ok")
    )
    return 1 if faults else 0


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--every", type=int, default=1, help="one in so many points (1: all)")
    parser.add_argument("--jobs", type=int, default=2, help="points at the same time (2)")
    parser.add_argument("--seed", type=int, default=0, help="which points, with --every (0)")
    given = parser.parse_args(arguments)
    print(f"killpoints: seed {given.seed}", flush=True)
    return run(every=given.every, jobs=given.jobs, seed=given.seed)


if __name__ == "__main__":
    sys.exit(main())
