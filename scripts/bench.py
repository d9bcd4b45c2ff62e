"""Measure speed and size through the public API, beside a yardstick of this machine.

Every figure is printed with what it was measured on and the goal it has. Machines differ and are
noisy: read the ratios, and the yardstick first. Nothing here is a test.
"""

from __future__ import annotations

import argparse
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import apsw
import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table

import holdfast
from holdfast.config import Config
from holdfast.memory.memory import Memory
from holdfast.models.base import Embedder
from holdfast.models.local import LocalEmbedder
from holdfast.store.sqlite import SqliteStore

DIM = 384
console = Console()
rows: list[tuple[str, str, str, str]] = []
kept: list[apsw.VFS] = []


class Precomputed:
    """An embedder that costs nothing: vectors of a fixed stock, picked by the text."""

    model_id = "precomputed"
    dim = DIM
    is_stand_in = True

    def __init__(self) -> None:
        stock = np.random.default_rng(7).standard_normal((4096, DIM)).astype(np.float32)
        self._stock = stock / np.linalg.norm(stock, axis=1, keepdims=True)

    def embed(self, texts: list[str]) -> NDArray[np.float32]:
        picks = [hash(text) % len(self._stock) for text in texts]
        vectors: NDArray[np.float32] = self._stock[picks]
        return vectors


class RealQuestions(LocalEmbedder):
    """The shipped model under the name of the stock: it costs what it costs, on the same store."""

    def __init__(self) -> None:
        super().__init__()
        self.model_id = Precomputed.model_id
        self.is_stand_in = True


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a tenth of the sizes")
    quick = parser.parse_args().quick
    small, large = (1_000, 10_000) if quick else (10_000, 100_000)
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        with step("yardstick"):
            yardstick(root)
        with step("import and install"):
            import_time()
        with step("ingest"):
            ingest(root)
        with step(f"recall at {small:,} of one user"):
            recall_one_user(root, small, threads=True)
        with step(f"recall at {large:,} of one user"):
            recall_one_user(root, large, threads=False)
        with step(f"recall at {large:,} over 100 users"):
            recall_many_users(root, large)
        with step("findable by meaning"):
            until_meaning(root)
    report()


@contextmanager
def step(name: str) -> Iterator[None]:
    began = time.monotonic()
    with console.status(name):
        yield
    console.print(f"[dim]{name}: {time.monotonic() - began:.1f} s[/dim]")


def report() -> None:
    table = Table(title=f"Holdfast {holdfast.__version__}, {os.cpu_count()} cores")
    for column in ("what", "measured", "goal", "on"):
        table.add_column(column)
    for row in rows:
        table.add_row(*row)
    console.print(table)


def note(what: str, measured: str, goal: str = "", on: str = "") -> None:
    rows.append((what, measured, goal, on))


def yardstick(root: Path) -> None:
    """What this machine can do at all: 2,000 fsynced writes and 200 products, one thread."""
    block = os.urandom(4096)
    file = os.open(root / "yardstick", os.O_CREAT | os.O_WRONLY)
    began = time.perf_counter()
    for _ in range(2000):
        os.write(file, block)
        os.fsync(file)
    os.close(file)
    note("yardstick: 2,000 fsynced 4 KiB writes", f"{time.perf_counter() - began:.2f} s")
    code = (
        "import numpy, time; a = numpy.ones((512, 512), 'f4'); a @ a; t = time.perf_counter();"
        "[a @ a for _ in range(200)]; print(time.perf_counter() - t)"
    )
    alone = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    out = subprocess.run(
        [sys.executable, "-c", code], env=alone, capture_output=True, text=True, check=True
    )
    note("yardstick: 200 products 512x512", f"{float(out.stdout):.2f} s", "", "one thread")


def import_time() -> None:
    code = "import time; t = time.perf_counter(); import holdfast; print(time.perf_counter() - t)"
    times = [
        float(
            subprocess.run(
                [sys.executable, "-c", code], capture_output=True, text=True, check=True
            ).stdout
        )
        for _ in range(5)
    ]
    note("import holdfast", f"{1e3 * statistics.median(times):.0f} ms", "< 150 ms", "median of 5")


def ingest(root: Path) -> None:
    with opened(root / "ingest.db") as memory:
        batches = [
            [{"role": "user", "content": sentence(i * 32 + j)} for j in range(32)]
            for i in range(100)
        ]
        seconds = timed(lambda: [memory.remember(batch, user="ann") for batch in batches])
        note(
            "durable ingest, 32 a call",
            f"{3200 / seconds:,.0f} turns/s",
            ">= 2,000",
            "no embedding",
        )
    group_commit(root / "single.db", "this disk", fsync_s=0.0)
    group_commit(root / "slow.db", "a disk that takes 5 ms more to sync", fsync_s=0.005)


def group_commit(path: Path, disk: str, *, fsync_s: float) -> None:
    """One writer against sixteen. Where a sync costs nothing there is little to share."""
    store = SqliteStore(path, vfs=slow_disk(fsync_s) if fsync_s else None)
    with Memory(store, Precomputed(), config=Config(), worker=False) as memory:
        texts = [sentence(i) for i in range(3200)]
        one = 100 / timed(lambda: singles(memory, 1, texts[:100]))
        many = 1600 / timed(lambda: singles(memory, 16, texts[:1600]))
        note("one writer, 1 turn a call", f"{one:,.0f} turns/s", "", disk)
        note("16 such writers", f"{many:,.0f} turns/s = {many / one:.1f}x", ">= 5x one", disk)


def slow_disk(fsync_s: float) -> str:
    """A VFS whose syncs take longer, for machines whose disk does not really sync."""

    class SlowFile(apsw.VFSFile):
        def xSync(self, flags: int) -> None:
            time.sleep(fsync_s)
            super().xSync(flags)

    class SlowDisk(apsw.VFS):
        def __init__(self) -> None:
            super().__init__("slow", base="")

        def xOpen(self, name: str | apsw.URIFilename | None, flags: list[int]) -> apsw.VFSFile:
            return SlowFile("", name, flags)

    kept.append(SlowDisk())
    return "slow"


def singles(memory: Memory, threads: int, texts: list[str]) -> None:
    def work(number: int) -> None:
        for text in texts[number::threads]:
            memory.remember(text, user="ann")

    in_threads(work, threads)


def recall_one_user(root: Path, size: int, *, threads: bool) -> None:
    path = root / f"one-{size}.db"
    with opened(path) as memory:
        fill(memory, size, users=1)
    asked = [question(i) for i in range(1600)]
    anew = first_search(str(path))
    kept = first_search(str(path))
    with opened(path) as memory:
        memory.recall("warm up", user="u0")
        goal = "<= 12 ms" if size <= 10_000 else "<= 30 ms"
        times = latencies(lambda i: memory.recall(asked[i], user="u0"), 300)
        note(f"recall, {size:,} of one user", ms(times), goal, "no embedding")
        if threads:
            rate = 1600 / timed(lambda: in_threads(lambda n: ask(memory, asked[n::8]), 8))
            note("8 threads", f"{rate:,.0f} searches/s", ">= 400", f"{size:,} of one user")
    if size > 10_000:
        on = f"{size:,} of one user, a fresh process"
        note("cold open", f"{kept.opening:.2f} s", "<= 1 s", on)
        note("cold open and first recall", f"{kept.seconds:.2f} s", "<= 1 s", on)
        note("the same, and nothing was written down yet", f"{anew.seconds:.2f} s", "", on)
        note("resident memory", f"{kept.megabytes:,.0f} MB", "<= 600 MB", on)
        beside = f"{memory_of_an_owner(str(path), size):.2f} KB a memory"
        note("resident memory of the owner", beside, "<= 1.2 KB", "beside its vectors")
        return
    with opened(path, RealQuestions()) as memory:
        memory.recall("warm up", user="u0")
        times = latencies(lambda i: memory.recall(asked[i], user="u0"), 200)
        note(f"recall, {size:,} of one user", ms(times), "<= 12 ms", "with query embedding")
        times = latencies(lambda i: memory.context(asked[-i], user="u0", budget_tokens=2000), 200)
        note(f"context, {size:,} of one user", ms(times), "<= 15 ms", "embedding, packing, ledger")


def recall_many_users(root: Path, size: int) -> None:
    with opened(root / "many.db") as memory:
        fill(memory, size, users=100)
        for user in range(100):
            memory.recall("warm up", user=f"u{user}")
        asked = [question(i) for i in range(500)]
        times = latencies(lambda i: memory.recall(asked[i], user=f"u{i % 100}"), 500)
        note(f"recall, {size:,} over 100 users", ms(times), "<= 2 ms", "no embedding")


def until_meaning(root: Path) -> None:
    """From `remember` to the vector being there, with the real model, on an idle machine."""
    times = []
    with holdfast.open(root / "meaning.db") as memory:
        memory.remember("warm up", user="ann")
        memory.drain()
        for i in range(40):
            began = time.perf_counter()
            event = memory.remember(sentence(i), user="ann").events[0]
            while "embed" in memory.status(event, user="ann").pending:
                time.sleep(0.002)
            times.append(time.perf_counter() - began)
            time.sleep(0.05)
    p95 = 1e3 * statistics.quantiles(times, n=20)[-1]
    note("findable by meaning after", f"p95 {p95:.0f} ms", "<= 250 ms", "single turns, real model")


class FirstSearch(NamedTuple):
    """What a process that had nothing in memory took."""

    opening: float
    seconds: float
    #: Of this process alone, not of a server.
    cpu: float
    megabytes: float


def first_search(url: str, user: str = "u0") -> FirstSearch:
    """Open a store and ask, in a fresh process that has imported everything."""
    return FirstSearch(
        *_in_a_fresh_process(
            f"began, busy = time.perf_counter(), time.process_time(); {_OPENED.format(url)};"
            f"there = time.perf_counter() - began; memory.recall('warm up', user={user!r});"
            "print(there, time.perf_counter() - began, time.process_time() - busy, bench.rss_mb());"
            "memory.close()"
        )
    )


def memory_of_an_owner(url: str, size: int, user: str = "u0") -> float:
    """Kilobytes a memory that a process grows by when it searches a user for the first time, beside
    the vectors; what every search needs is there by then."""
    (grown,) = _in_a_fresh_process(
        f"{_OPENED.format(url)}; memory.recall('warm up', user='nobody'); before = bench.rss_mb();"
        f"[memory.recall(bench.question(i), user={user!r}) for i in range(20)];"
        "print(bench.rss_mb() - before); memory.close()"
    )
    return (grown * 1e6 - size * DIM * 4) / size / 1e3


_OPENED = (
    "memory = bench.holdfast.open({!r}, worker=False, embedder=bench.Precomputed(),"
    " config={{'extraction': {{'enabled': False}}}})"
)


def _in_a_fresh_process(code: str) -> list[float]:
    imports = "import sys, time; sys.path.insert(0, sys.argv[1]); from scripts import bench;"
    command = [sys.executable, "-c", imports + code, str(Path(__file__).parents[1])]
    out = subprocess.run(command, capture_output=True, text=True, check=True)
    return [float(each) for each in out.stdout.split()]


def rss_mb() -> float:
    """Resident memory of this process."""
    lines = Path("/proc/self/status").read_text().splitlines()
    (line,) = [line for line in lines if line.startswith("VmRSS")]
    return int(line.split()[1]) * 1024 / 1e6


@contextmanager
def opened(path: Path, embedder: Embedder | None = None) -> Iterator[Memory]:
    # Reading has its own bench, bench_extraction.py; these sentences name nobody.
    memory = holdfast.open(
        path,
        worker=False,
        embedder=embedder or Precomputed(),
        config={"extraction": {"enabled": False}},
    )
    try:
        yield memory
    finally:
        memory.close()


def fill(memory: Memory, size: int, *, users: int) -> None:
    for start in range(0, size, 1000):
        batch = [{"role": "user", "content": sentence(start + i)} for i in range(1000)]
        memory.remember(batch, user=f"u{start // 1000 % users}")
    memory.drain()


def ask(memory: Memory, questions: list[str]) -> None:
    for each in questions:
        memory.recall(each, user="u0")


def in_threads(work: Callable[[int], object], count: int) -> None:
    threads = [threading.Thread(target=work, args=(number,)) for number in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def latencies(work: Callable[[int], object], count: int) -> list[float]:
    times = []
    for i in range(count):
        began = time.perf_counter()
        work(i)
        times.append(time.perf_counter() - began)
    return times


def timed(work: Callable[[], object]) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def ms(times: list[float]) -> str:
    p95 = statistics.quantiles(times, n=20)[-1]
    return f"p50 {1e3 * statistics.median(times):.1f} ms, p95 {1e3 * p95:.1f} ms"


# A vocabulary with the skew of real text: word i is about 1/i as frequent.
_words = [f"{a}{b}{c}" for a in "bdfgklmnprst" for b in "aeiou" for c in "lmnrstvx"] * 12
_words = [f"{word}{i // 480 or ''}" if i >= 480 else word for i, word in enumerate(_words)]
_odds = 1 / np.arange(3, len(_words) + 3)
_odds /= _odds.sum()


def sentence(number: int) -> str:
    """About 20 words, the same for the same number, in a believable mix of common and rare."""
    picks = np.random.default_rng(number).choice(len(_words), size=20, p=_odds)
    return " ".join(_words[pick] for pick in picks) + f" case {number}."


@contextmanager
def cores(count: int) -> Iterator[None]:
    """Processes that are started within have so many cores."""
    all_of_them = os.sched_getaffinity(0)
    if len(all_of_them) < count:
        raise SystemExit(f"{count} cores are needed, this machine has {len(all_of_them)}")
    os.sched_setaffinity(0, sorted(all_of_them)[:count])
    try:
        yield
    finally:
        os.sched_setaffinity(0, all_of_them)


def question(number: int) -> str:
    picks = np.random.default_rng(10_000_000 + number).choice(len(_words), size=6, p=_odds)
    return "What about " + " ".join(_words[pick] for pick in picks) + "?"


if __name__ == "__main__":
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    main()
