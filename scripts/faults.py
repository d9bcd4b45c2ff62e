"""Break the language model in every way we know, and count what is lost: nothing may be.

Each fault has a store of its own. Turns are understood by a model that is well; then it falls ill,
more is said, and everything that waits is drained; then it recovers. A model that is killed with
its worker is one of the faults. Whatever happens, no turn may be lost, no row may change that the
model was not shown, and after recovery nothing may be left to do.
"""

import argparse
import json
import logging
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

import holdfast
from holdfast.testing.fakes import HashEmbedder
from holdfast.types import Record, Scope

SERVER = Path(__file__).parents[1] / "tests" / "models" / "chat_server.py"
ATTEMPTS = 3
KILLS = 20
TIMEOUT_S = 0.5
LEASE_S = 1.0
ANN, BO = Scope("default", "ann"), Scope("default", "bo")
BEFORE = {
    "ann": ["Anna works at Lumatech.", "Boris works at Lumatech too."],
    "bo": ["Clara works at Northwind.", "Dmitri works at Northwind."],
}
SAID = [
    "Egon works at Brightfield.",
    "Anna works at Brightfield now.",
    "Fiona works at Stonebridge.",
    "Gustav works at Stonebridge.",
]
#: The relations that are said there.
SAYS = {(words[0], words[3].rstrip(".")) for words in map(str.split, SAID)}


@dataclass(frozen=True)
class Fault:
    """One way to fail, and how often the model is asked meanwhile."""

    name: str
    #: What the server does, see its functions.
    mode: str
    calls: int
    dead: bool = False
    #: Whether what was said is in the graph at last.
    understood: bool = True
    settings: Mapping[str, Any] = field(default_factory=dict)


def failing(name: str, mode: str, calls: int = ATTEMPTS, **settings: Any) -> Fault:
    """A fault after which the turns are dead letters until the model is well."""
    return Fault(name, mode, calls, dead=True, settings=settings)


FAULTS = (
    failing("down: nobody listens", "nobody", url="http://127.0.0.1:9/v1"),
    failing("429, Retry-After 7: left alone", "busy", 1),
    failing("429, no time named", "at_once"),
    failing("429, Retry-After of years", "for_years", 1),
    failing("500", "broken"),
    failing("503", "overloaded"),
    failing("hangs", "hanging"),
    failing("drips", "dripping"),
    failing("hangs up", "hung_up"),
    failing("body ends early", "truncated"),
    failing("10 MB answer", "huge"),
    failing("401: left alone", "unauthorised", 1),
    failing("402: left alone", "unpaid", 1),
    failing("spent quota: left alone", "spent", 1),
    failing("400", "wrong"),
    failing("no JSON at all", "no_json"),
    failing("an apology", "chatty"),
    failing("wrong types", "mistyped"),
    failing("cut in its first item", "cut_at-30"),
    failing("over the budget of 2 calls", "broken", 2, dailyCalls=3),
    Fault("cut in the middle", "cut_at-420", 1),
    Fault("fences and prose", "fenced", 1),
    Fault("thinks aloud", "thinking", 1),
    Fault("NaN, commas, quotes", "sloppy", 1),
    Fault("nothing to remember", "empty", 1, understood=False),
    Fault("invented and double ids", "hallucinated", 1),
    Fault("foreign ids", "foreign-{bo}", 1),
    Fault("prompt-injected", "injected", 1),
    Fault("wrong language", "wrong_language", 1),
)


class Server:
    """The server process, its switch and its log."""

    def __init__(self, address: str) -> None:
        self._address = address
        self.url = f"{address}/switched/v1"

    def switch(self, mode: str) -> None:
        urlopen(Request(f"{self._address}/switch/{mode}", method="POST")).close()

    def asked(self, after: int = 0) -> list[dict[str, Any]]:
        with urlopen(f"{self._address}/asked") as answer:
            return list(json.load(answer))[after:]


@contextmanager
def server() -> Iterator[Server]:
    """A server of our own."""
    command = [sys.executable, str(SERVER)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield Server(f"http://127.0.0.1:{int(process.stdout.readline())}")
        finally:
            process.terminate()


def opened(
    path: Path,
    url: str,
    settings: Mapping[str, Any] | None = None,
    *,
    attempts: int = ATTEMPTS,
    ago: timedelta = timedelta(),
) -> holdfast.Memory:
    """A memory that asks the model at this address, and works only when told to; `ago` sets its
    clock back."""
    llm = {"url": url, "model": "m", "timeoutSeconds": TIMEOUT_S} | dict(settings or {})
    jobs = {"maxAttempts": attempts, "backoffSeconds": 0.01, "leaseSeconds": LEASE_S}
    config = {"extraction": {"provider": "llm", "llm": llm}, "jobs": jobs}
    return holdfast.open(
        path,
        config=config,
        embedder=HashEmbedder(),
        worker=False,
        clock=lambda: datetime.now(UTC) - ago,
    )


@dataclass
class Outcome:
    """What became of one fault; all but the first five must be 0 or true."""

    fault: Fault
    events: int
    calls: int
    dead: int
    learned: int
    lost: int
    wrong_rows: int
    drained: bool
    seconds: float

    @property
    def ok(self) -> bool:
        clean = self.drained and not (self.lost or self.wrong_rows)
        told = self.calls == self.fault.calls and bool(self.dead) == self.fault.dead
        return clean and told and (self.learned > 0 or not self.fault.dead)

    def row(self) -> str:
        f = self.fault
        return (
            f"{f.name:32} {self.events:6} {self.calls:5} {f.calls:8} {self.dead:5} "
            f"{self.learned:8} {self.lost:5} {self.wrong_rows:6} "
            f"{'yes' if self.drained else 'NO':>7} {self.seconds:7.1f}{'' if self.ok else '  <--'}"
        )


HEAD = (
    f"{'fault':32} {'events':>6} {'calls':>5} {'expected':>8} {'dead':>5} {'learned':>8} "
    f"{'lost':>5} {'wrong':>6} {'drained':>7} {'seconds':>7}"
)


class Case:
    """One fault from its beginning to recovery."""

    def __init__(self, path: Path, model: Server, fault: Fault) -> None:
        self._path = path
        self._model = model
        self._fault = fault
        self._events: list[str] = []

    def run(self) -> Outcome:
        """Learn, fall ill, recover; then the reckoning."""
        began = time.monotonic()
        self._learn()
        rows = self._rows()
        self._model.switch(self._mode(rows))
        asked = len(self._model.asked())
        calls, dead = self._fall_ill(asked)
        after = self._rows()
        wrong = self._wrong(rows, after, self._model.asked(asked))
        lost = self._lost()
        return Outcome(
            fault=self._fault,
            events=len(self._events),
            calls=calls,
            dead=dead,
            learned=len(after.keys() - rows.keys()),
            lost=lost,
            wrong_rows=wrong,
            drained=self._recover() and not self._lost(),
            seconds=time.monotonic() - began,
        )

    def _learn(self) -> None:
        self._model.switch("good")
        with opened(self._path, self._model.url) as memory:
            for user, said in BEFORE.items():
                memory.remember([{"role": "user", "content": each} for each in said], user=user)
            memory.drain()

    def _mode(self, rows: Mapping[str, Record]) -> str:
        other = next(each.id for each in rows.values() if each.data.get("name") == "Clara")
        return self._fault.mode.format(bo=other)

    def _fall_ill(self, asked: int) -> tuple[int, int]:
        """Say more, drain; the calls that were made and the dead letters."""
        url = str(self._fault.settings.get("url", self._model.url))
        with opened(self._path, url, self._fault.settings) as memory:
            before = memory.store.spent(ANN, datetime.now(UTC).date()).calls
            self._events += self._say(memory)
            memory.drain(timeout=60)
            paid = memory.store.spent(ANN, datetime.now(UTC).date()).calls - before
            dead = len(memory.store.jobs(states=("dead",)))
        seen = len(self._model.asked(asked))
        if "url" not in self._fault.settings and seen != paid:
            raise SystemExit(f"{self._fault.name}: {seen} calls were seen, {paid} were charged")
        return paid, dead

    def _say(self, memory: holdfast.Memory) -> tuple[str, ...]:
        said = [{"role": "user", "content": each} for each in SAID]
        return memory.remember(said, user="ann", session="new").events

    def _recover(self) -> bool:
        """Whether nothing is left to do when the model is well again, and it was understood."""
        self._model.switch("good")
        with opened(self._path, self._model.url) as memory:
            memory.store.replay()
            memory.drain(timeout=60)
            left = memory.store.jobs()
            done = all(memory.status(each, user="ann").state == "done" for each in self._events)
        rows = self._rows()
        names = {each.id: each.data["name"] for each in rows.values() if each.kind == "entity"}
        found = {
            (names[each.data["source"]], names[each.data["target"]])
            for each in rows.values()
            if each.kind == "relation"
        }
        return done and not left and (found >= SAYS) == self._fault.understood

    def _rows(self) -> dict[str, Record]:
        """Everything in the graphs of both users, by id."""
        with opened(self._path, self._model.url) as memory:
            found = [memory.store.listed(o, tier="graph", current=False) for o in (ANN, BO)]
        return {each.id: each for rows in found for each in rows}

    def _wrong(
        self,
        before: Mapping[str, Record],
        after: Mapping[str, Record],
        asked: list[dict[str, Any]],
    ) -> int:
        """Rows that are new, gone or changed though nothing they name was said or shown."""
        shown = " ".join(
            [*SAID, "ann", *(each["body"]["messages"][1]["content"] for each in asked)]
        )
        names = {each.id: str(each.data.get("name", "")) for each in after.values()}
        changed = [
            after.get(each) or before[each]
            for each in before.keys() | after.keys()
            if before.get(each) != after.get(each)
        ]

        def is_shown(row: Record) -> bool:
            ends = [row.data.get(end) for end in ("source", "target", "a", "b")]
            named = [names.get(str(end), "?") for end in ends if end] or [names.get(row.id, "?")]
            return all(name in shown for name in named) and set(row.sources) <= self._said_by_ann()

        return sum(not is_shown(row) for row in changed)

    def _said_by_ann(self) -> set[str]:
        with opened(self._path, self._model.url) as memory:
            return {event.id for event in memory.store.events(ANN)}

    def _lost(self) -> int:
        """Turns that are not there, or that their own words do not find."""
        with opened(self._path, self._model.url) as memory:
            there = {event.id for event in memory.store.events(ANN, self._events)}
            found = {hit.id for said in SAID for hit in memory.recall(said, user="ann", limit=5)}
        return len([each for each in self._events if each not in there & found])


class Killed(Case):
    """The worker dies in every call that it may make."""

    def _fall_ill(self, asked: int) -> tuple[int, int]:
        with opened(self._path, self._model.url) as memory:
            self._events += self._say(memory)
        killed = [self._dies_in_call(left) for left in range(KILLS, 0, -1)]
        if not all(killed):
            raise SystemExit(f"{killed.count(False)} of {KILLS} workers made no call")
        if self._dies_in_call(0):
            raise SystemExit("a call was made after the last attempt")
        with opened(self._path, self._model.url) as memory:
            dead = len(memory.store.jobs(states=("dead",)))
        return len(self._model.asked(asked)), dead

    def _dies_in_call(self, left: int) -> bool:
        """A worker that is killed as soon as its call arrives; False: it made none and ended. Its
        clock is some hours behind that of the next, whose claims are therefore free again."""
        calls = len(self._model.asked())
        command = [sys.executable, __file__, "--drain", str(self._path), self._model.url, str(left)]
        with subprocess.Popen(command) as worker:
            while worker.poll() is None:
                if len(self._model.asked()) > calls:
                    worker.kill()
                time.sleep(0.02)
        return worker.returncode == -signal.SIGKILL


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--only", default="", help="faults whose name holds this")
    parser.add_argument("--drain", nargs=3, help=argparse.SUPPRESS)  # Path, URL, hours ago.
    options = parser.parse_args()
    logging.getLogger("holdfast").setLevel(logging.CRITICAL)  # What fails here is the plan.
    if options.drain:
        path, url, hours = options.drain
        ago = timedelta(hours=int(hours))
        # Patience: it is to be killed in its call.
        with opened(Path(path), url, {"timeoutSeconds": 60}, attempts=KILLS, ago=ago) as memory:
            memory.drain()
        return 0
    killed = failing(f"kill -9 in the call, {KILLS} times", "hanging", KILLS)
    chosen = [each for each in (*FAULTS, killed) if options.only in each.name]
    print(HEAD, flush=True)
    outcomes = []
    with tempfile.TemporaryDirectory() as folder, server() as model:
        for number, fault in enumerate(chosen):
            kind = Killed if fault is killed else Case
            outcomes.append(kind(Path(folder) / f"{number}.db", model, fault).run())
            print(outcomes[-1].row(), flush=True)
    wrong = [each for each in outcomes if not each.ok]
    print(f"{len(outcomes)} faults, {len(wrong)} not as promised")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
