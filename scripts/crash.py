"""Kill -9 at random points, again and again on one store, and count what is missing.

Each cycle forks one or two processes that ingest (single turns, batches, idempotency keys, one or
four threads), forget, restore and embed in the background; each is killed at a random moment. What
it was promised it has told through a pipe, which outlives it. Then the store is opened and judged.
Now and then the victim is the opening of a new store instead.
"""

import argparse
import json
import os
import random
import select
import signal
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

import holdfast
from scripts.ledger import (
    CONFIG,
    EMBEDDER,
    Actor,
    Fault,
    Ledger,
    Tell,
    examined,
    new_seed,
    retried,
)

#: So often in a run, and at the end, a thorough look: drain, doctor, our own reader, recall.
THOROUGH_LOOKS = 20
MOST_RETRIES = 10


class Victim:
    """A forked process that tells lines through a pipe until it is killed."""

    def __init__(self, work: Callable[[Tell], None], *, life_s: float) -> None:
        self._read, write = os.pipe()
        self.pid = os.fork()
        if self.pid == 0:
            _live(work, write)
        os.close(write)
        self.ends = time.monotonic() + life_s
        self._told = b""

    def listen(self) -> None:
        """Read what it tells until its time has come, then kill it and read the rest."""
        while (left := self.ends - time.monotonic()) > 0:
            if select.select([self._read], [], [], left)[0] and not self._take():
                break
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)
        while self._take():
            pass
        os.close(self._read)

    def lines(self) -> list[str]:
        """Whole lines; what the kill cut off was not told."""
        return self._told.decode().split("\n")[:-1]

    def _take(self) -> bytes:
        got = os.read(self._read, 65536)
        self._told += got
        return got


def _live(work: Callable[[Tell], None], pipe: int) -> None:
    def tell(line: str) -> None:
        os.write(pipe, (line + "\n").encode())

    try:
        work(tell)
    except BaseException as error:  # noqa: BLE001 (the parent counts it)
        tell(f"fault {type(error).__name__}: {error}".replace("\n", " "))
    finally:
        os._exit(0)


def ingest(path: Path, name: str, retries: dict[str, int], threads: int, tell: Tell) -> None:
    """Work on the store until killed."""
    memory = holdfast.open(path, embedder=EMBEDDER, config=CONFIG)

    def work(number: int) -> None:
        rng = random.Random(f"{name} {number}")
        actor = Actor(memory, f"{name}.{number}", rng, tell)
        try:
            for op, parts in retries.items() if number == 0 else ():
                actor.send(op, parts)
            while True:
                actor.act()
        except holdfast.HoldfastError as error:
            tell(f"fault {type(error).__name__}: {error}".replace("\n", " "))

    others = [threading.Thread(target=work, args=(n,), daemon=True) for n in range(1, threads)]
    for thread in others:
        thread.start()
    work(0)


def begin(path: Path, tell: Tell) -> None:
    """Make a new store and write one turn, which may or may not be reached."""
    memory = holdfast.open(path, embedder=EMBEDDER, config=CONFIG)
    Actor(memory, "new", random.Random(0), tell).remember(parts=3)
    memory.close()


def in_child(work: Callable[[], list[Fault]]) -> list[Fault]:
    """Run in a fork: this process never opens a store, so that its forks start clean."""
    read, write = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            faults = work()
        except BaseException as error:  # noqa: BLE001 (counted by the parent)
            faults = [("corrupt", f"{type(error).__name__}: {error}")]
        with os.fdopen(write, "w") as pipe:
            json.dump(faults, pipe)
        os._exit(0)
    os.close(write)
    with os.fdopen(read) as pipe:
        answer = pipe.read()
    os.waitpid(pid, 0)
    return [(kind, detail) for kind, detail in json.loads(answer)]


class Harness:
    """One accumulating store, its ledger, and what was found."""

    def __init__(self, folder: Path, seed: int) -> None:
        self.folder = folder
        self.seed = seed
        self.path = folder / "memory.db"
        self.ledger = Ledger()
        self.faults: list[Fault] = []

    def cycle(self, number: int, *, thorough: bool) -> None:
        """One round of killing and judging."""
        rng = random.Random(f"{self.seed} {number}")
        if rng.random() < 0.08:
            self.kill_an_opening(rng, number)
        victims = [self._victim(rng, f"{number}-{n}") for n in range(rng.choice((1, 1, 2)))]
        for victim in sorted(victims, key=lambda each: each.ends):
            victim.listen()
            for line in victim.lines():
                self.ledger.note(line)
        self.faults += self.ledger.faults
        self.ledger.faults.clear()
        self.faults += in_child(
            lambda: examined(self.path, self.ledger, thorough=thorough, rng=rng)
        )

    def kill_an_opening(self, rng: random.Random, number: int) -> None:
        """Kill the making of a new store; what is left must open and work."""
        path = self.folder / f"new-{number}.db"
        ledger = Ledger()
        victim = Victim(lambda tell: begin(path, tell), life_s=rng.uniform(0.0, 0.03))
        victim.listen()
        for line in victim.lines():
            ledger.note(line)
        self.faults += ledger.faults
        self.faults += in_child(
            lambda: (
                examined(path, ledger, thorough=True, rng=rng)
                + retried(path, ledger)
                + examined(path, ledger, thorough=True, rng=rng)
            )
        )
        for left in self.folder.glob(f"{path.name}*"):
            left.unlink()

    def _victim(self, rng: random.Random, name: str) -> Victim:
        unanswered = {op: n for op, n in self.ledger.tried.items() if op not in self.ledger.acked}
        answered = rng.sample(sorted(self.ledger.tried), k=min(2, len(self.ledger.tried)))
        retries = dict(list(unanswered.items())[:MOST_RETRIES])
        retries |= {op: self.ledger.tried[op] for op in answered}
        threads = rng.choice((1, 1, 4))
        # Mostly while it works, at times while it opens and recovers.
        life_s = rng.uniform(0.0, 0.02) if rng.random() < 0.2 else rng.uniform(0.01, 0.2)
        return Victim(
            lambda tell: ingest(self.path, f"{self.seed}-{name}", retries, threads, tell),
            life_s=life_s,
        )

    def last_look(self) -> None:
        """Every unanswered key is sent again, then everything is looked at once more."""
        self.faults += in_child(lambda: retried(self.path, self.ledger))
        rng = random.Random(self.seed)
        self.faults += in_child(lambda: examined(self.path, self.ledger, thorough=True, rng=rng))


def run(folder: Path, *, cycles: int, seed: int) -> int:
    began = time.monotonic()
    harness = Harness(folder, seed)
    every = max(5, cycles // THOROUGH_LOOKS)
    for number in range(1, cycles + 1):
        harness.cycle(number, thorough=number % every == 0)
        if number % every == 0 or harness.faults:
            print(
                f"cycle {number}/{cycles}: {harness.ledger.events()} events acknowledged, "
                f"{len(harness.faults)} faults, {time.monotonic() - began:.0f} s",
                flush=True,
            )
        if harness.faults:
            break  # What follows would only repeat it.
    harness.last_look()
    for kind, detail in harness.faults[:20]:
        print(f"{kind}: {detail}")
    kinds = Counter(kind for kind, _ in harness.faults)
    print(
        f"crash: {number} cycles, {harness.ledger.events()} events acknowledged, "
        f"{kinds['lost']} lost, {kinds['doubled']} doubled, {kinds['torn']} torn, "
        f"{kinds['corrupt']} corrupt, {time.monotonic() - began:.0f} s, seed {seed}: "
        + ("FAILED" if harness.faults else "ok")
    )
    return 1 if harness.faults else 0


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cycles", type=int, default=1000, help="how often to kill (1000)")
    parser.add_argument("--seed", type=int, default=None, help="repeat the choices of a run")
    parser.add_argument("--folder", type=Path, default=None, help="keep the store here")
    given = parser.parse_args(arguments)
    seed = new_seed() if given.seed is None else given.seed
    print(f"crash: {given.cycles} cycles, seed {seed}", flush=True)
    if given.folder is not None:
        given.folder.mkdir(parents=True, exist_ok=True)
        return run(given.folder, cycles=given.cycles, seed=seed)
    with tempfile.TemporaryDirectory(prefix="holdfast-crash-") as folder:
        return run(Path(folder), cycles=given.cycles, seed=seed)


if __name__ == "__main__":
    sys.exit(main())
