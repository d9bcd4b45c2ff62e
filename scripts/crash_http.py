"""Kill -9 a service under load, again and again on one store, and count what is missing.

Each cycle starts `holdfast serve` on the store and lets one to four clients write through HTTP
(single turns, batches, idempotency keys), forget, restore and ask; at a random moment, at times
while it starts, it is killed. What the clients were answered is the book of promises; then the
store is opened and judged as `crash.py` does it, and what was not answered is sent again.

A service takes seconds to start, most of them for imports: it is forked from this process, which
has them, and embeds with a hash instead of the model. One cycle in 25 runs the command itself, as
an operator does, on a store of its own.
"""

import argparse
import contextlib
import os
import random
import re
import select
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

import holdfast
import holdfast.wiring
from holdfast.config import Config
from holdfast.errors import HoldfastError, Unavailable
from holdfast.service.http.serving import serve
from holdfast.service.keys import create_key
from holdfast.settings import Jobs
from scripts.crash import in_child
from scripts.ledger import CONFIG, EMBEDDER, Actor, Fault, Ledger, examined, new_seed, retried

#: As in the other harness, but a job that was under way at five kills is a dead letter.
SERVED = Config(
    jobs=Jobs(lease_seconds=0.5, poll_seconds=0.02, batch=16), extraction=CONFIG.extraction
)
#: So often in a run, and at the end, a thorough look: drain, doctor, our own reader, recall.
THOROUGH_LOOKS = 20
MOST_RETRIES = 10
MOST_START_SECONDS = 120.0
#: What many killed workers left may take a while.
MOST_DRAIN_SECONDS = 600.0
#: One cycle in so many runs the command.
COMMAND_EVERY = 25
_LISTENS = re.compile(rb"listens on (http://\S+)")


class Service:
    """A process that says on its standard output where it listens."""

    def __init__(self, pid: int, output: int) -> None:
        self.pid = pid
        self._output = output
        self._said = b""

    def address(self, most_seconds: float) -> str | None:
        """Where it listens; None: it has not said so within this time."""
        ends = time.monotonic() + most_seconds
        while not (found := _LISTENS.search(self._said)):
            left = ends - time.monotonic()
            if left <= 0 or not select.select([self._output], [], [], left)[0]:
                return None
            if not (got := os.read(self._output, 65536)):
                return None
            self._said += got
        return found[1].decode()

    def kill(self) -> None:
        """kill -9, and wait until it is gone."""
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)
        os.close(self._output)


def forked(db: Path, *, worker: bool) -> Service:
    """What the command `serve` does, in a fork: nothing is imported anew."""
    read, write = os.pipe()
    pid = os.fork()
    if pid == 0:
        _serve(db, write, worker=worker)
    os.close(write)
    return Service(pid, read)


def _serve(db: Path, output: int, *, worker: bool) -> None:
    with db.with_suffix(".log").open("a") as log:
        os.dup2(output, 1)
        os.dup2(log.fileno(), 2)
    try:
        holdfast.wiring.make_embedder = lambda config: EMBEDDER
        serve(db, port=0, config=SERVED, worker=worker, log_level="warning")
    except BaseException as error:  # noqa: BLE001 (the parent shows the log)
        os.write(2, f"{type(error).__name__}: {error}\n".encode())
    finally:
        os._exit(1)


def commanded(db: Path) -> Service:
    """The command, as an operator starts it; background work is left to others."""
    with db.with_suffix(".log").open("a") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", "holdfast", "serve", "--db", str(db), "--port", "0",
             "--no-worker"],
            stdout=subprocess.PIPE, stderr=log,
        )  # fmt: skip
    assert process.stdout is not None
    output = os.dup(process.stdout.fileno())
    process.stdout.close()
    process.returncode = 0  # Waited for by its id.
    return Service(process.pid, output)


class Load:
    """Clients at work on a service until it is killed."""

    def __init__(self, address: str, key: str, name: str, clients: int) -> None:
        self.lines: list[str] = []
        #: Set with the first answer to a write, and by who kills the service.
        self.answered = threading.Event()
        self.killed = threading.Event()
        self._address, self._key, self._name = address, key, name
        self._threads = [threading.Thread(target=self._work, args=(n,)) for n in range(clients)]

    def start(self, retries: dict[str, int]) -> None:
        self._retries = retries
        for thread in self._threads:
            thread.start()

    def join(self) -> None:
        for thread in self._threads:
            thread.join()

    def _tell(self, line: str) -> None:
        self.lines.append(line)
        if line.startswith(("acked", "fault")):
            self.answered.set()

    def _work(self, number: int) -> None:
        rng = random.Random(f"{self._name} {number}")
        with holdfast.Client(self._address, self._key, timeout=30, retries=0) as client:
            actor = Actor(client, f"{self._name}.{number}", rng, self._tell)
            try:
                for op, parts in self._retries.items() if number == 0 else ():
                    actor.send(op, parts)
                while True:
                    actor.act()
            except HoldfastError as error:
                if not (isinstance(error, Unavailable) and self.killed.is_set()):
                    self._tell(f"fault {type(error).__name__}: {error}".replace("\n", " "))


class Shop:
    """One accumulating store, the key to its service, its ledger, and what was found."""

    def __init__(self, path: Path, seed: int, start: Callable[[random.Random], Service]) -> None:
        self.path = path
        self.seed = seed
        self._start = start
        self.ledger = Ledger()
        self.faults: list[Fault] = []
        self.dead_letters = 0
        self.killed_while_starting = 0
        #: How long a start takes here, at the median of the last few.
        self._starts: list[float] = [0.3]
        ((_, self._key),) = in_child(self._new_key)

    def _new_key(self) -> list[Fault]:
        with holdfast.open(self.path, embedder=EMBEDDER, config=CONFIG, worker=False) as memory:
            return [("key", create_key(memory.store, role="admin")[1])]

    def cycle(self, number: int) -> None:
        """One round of killing and judging."""
        rng = random.Random(f"{self.seed} {number}")
        service = self._start(rng)
        if rng.random() < 0.15:
            service.address(rng.uniform(0.0, sorted(self._starts)[len(self._starts) // 2]))
            self.killed_while_starting += 1
            service.kill()
        else:
            self._loaded(service, rng, number)
        self.faults += self.ledger.faults
        self.ledger.faults.clear()
        self.look(rng, thorough=False)

    def _loaded(self, service: Service, rng: random.Random, number: int) -> None:
        began = time.monotonic()
        address = service.address(MOST_START_SECONDS)
        if address is None:
            service.kill()
            log = self.path.with_suffix(".log").read_text()[-400:]
            self.faults.append(("corrupt", f"the service did not start: {log}"))
            return
        self._starts = [*self._starts[-8:], time.monotonic() - began]
        load = Load(address, self._key, f"{self.seed}-{number}", rng.choice((1, 2, 4, 4)))
        load.start(self._retries(rng))
        # Mostly while it works, at times before the first answer, which takes a while.
        if rng.random() < 0.8:
            load.answered.wait(MOST_START_SECONDS)
        time.sleep(rng.uniform(0.0, 0.6))
        load.killed.set()
        service.kill()
        load.join()
        for line in load.lines:
            self.ledger.note(line)

    def _retries(self, rng: random.Random) -> dict[str, int]:
        """What was not answered, and two that were."""
        tried, acked = self.ledger.tried, self.ledger.acked
        unanswered = [op for op in tried if op not in acked][:MOST_RETRIES]
        return {
            op: tried[op] for op in [*unanswered, *rng.sample(sorted(tried), min(2, len(tried)))]
        }

    def look(self, rng: random.Random, *, thorough: bool) -> None:
        """Judge the store; before a thorough look dead letters are counted and replayed."""
        if thorough:
            found = in_child(lambda: replayed(self.path))
            self.dead_letters += sum(kind == "dead" for kind, _ in found)
            self.faults += [fault for fault in found if fault[0] != "dead"]
        self.faults += in_child(
            lambda: examined(
                self.path, self.ledger, thorough=thorough, rng=rng, drain_s=MOST_DRAIN_SECONDS
            )
        )

    def last_look(self) -> None:
        """Every unanswered key is sent again, then everything is looked at once more."""
        self.faults += in_child(lambda: retried(self.path, self.ledger))
        self.look(random.Random(self.seed), thorough=True)


def replayed(path: Path) -> list[Fault]:
    """A ("dead", "") for each dead letter of a store, after they were sent on their way."""
    with holdfast.open(path, embedder=EMBEDDER, config=CONFIG, worker=False) as memory:
        return [("dead", "")] * memory.replay()


def run(folder: Path, *, cycles: int, seed: int) -> int:
    began = time.monotonic()
    # Mostly with the worker, whose commits lie between those of the requests.
    usual = Shop(
        folder / "memory.db", seed, lambda rng: forked(usual.path, worker=rng.random() < 0.6)
    )
    command = Shop(folder / "command.db", seed, lambda rng: commanded(command.path))
    shops = (usual, command)
    every = max(5, cycles // THOROUGH_LOOKS)
    for number in range(1, cycles + 1):
        shop = command if number % COMMAND_EVERY == 0 else usual
        shop.cycle(number)
        if number % every == 0:
            for each in shops:
                each.look(random.Random(f"{seed} {number}"), thorough=True)
        faults = sum(len(each.faults) for each in shops)
        if number % every == 0 or faults:
            print(
                f"cycle {number}/{cycles}: {sum(each.ledger.events() for each in shops)} events "
                f"acknowledged, {faults} faults, {sum(each.dead_letters for each in shops)} dead "
                f"letters, {time.monotonic() - began:.0f} s",
                flush=True,
            )
        if faults:
            break  # What follows would only repeat it.
    for shop in shops:
        shop.last_look()
    return told(
        shops, f"crash_http: {number} cycles", f"{time.monotonic() - began:.0f} s, seed {seed}"
    )


def told(shops: Sequence[Shop], first: str, last: str) -> int:
    """Say what was found, the closing line last; the exit status."""
    faults = [fault for shop in shops for fault in shop.faults]
    for kind, detail in faults[:20]:
        print(f"{kind}: {detail}")
    kinds = Counter(kind for kind, _ in faults)
    print(
        f"{first} ({sum(shop.killed_while_starting for shop in shops)} of them while it started), "
        f"{sum(shop.ledger.events() for shop in shops)} events acknowledged, "
        f"{kinds['lost']} lost, {kinds['doubled']} doubled, {kinds['torn']} torn, "
        f"{kinds['corrupt']} corrupt, {sum(shop.dead_letters for shop in shops)} dead letters, "
        f"{last}: " + ("FAILED" if faults else "ok")
    )
    return 1 if faults else 0


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cycles", type=int, default=1000, help="how often to kill (1000)")
    parser.add_argument("--seed", type=int, default=None, help="repeat the choices of a run")
    parser.add_argument("--folder", type=Path, default=None, help="keep the stores here")
    given = parser.parse_args(arguments)
    seed = new_seed() if given.seed is None else given.seed
    print(f"crash_http: {given.cycles} cycles, seed {seed}", flush=True)
    with contextlib.ExitStack() as held:
        folder = given.folder or Path(
            held.enter_context(tempfile.TemporaryDirectory(prefix="holdfast-crash-"))
        )
        folder.mkdir(parents=True, exist_ok=True)
        return run(folder, cycles=given.cycles, seed=seed)


if __name__ == "__main__":
    sys.exit(main())
