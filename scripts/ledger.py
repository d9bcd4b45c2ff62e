"""What the crash harnesses share: turns that describe themselves, and a book of what was promised.

Every content names its operation, its part of the batch and its own digest, so that a store can be
judged from its rows alone: a row that is torn, a batch that is half there or a turn that is there
twice shows itself. The ledger adds what the store acknowledged: that must be there.
"""

import os
import random
import sqlite3
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from hashlib import blake2b
from pathlib import Path

import holdfast
import holdfast.learn.extract
from holdfast.config import Config, Extraction, Jobs
from holdfast.records.entries import index_row
from holdfast.store.protocols import DumpedEvent
from holdfast.store.sqlite import SqliteStore
from holdfast.testing import HashEmbedder

#: Imported here, so that a fork need not: the store that `holdfast.open` makes, and extraction.
STORE = SqliteStore
#: Short leases, so that the next process takes over at once; a job may be killed many times.
CONFIG = Config(
    jobs=Jobs(lease_seconds=0.5, max_attempts=1000, poll_seconds=0.02, batch=16),
    # By rules: a parser would be loaded anew in every process that is killed.
    extraction=Extraction(provider="rules", quiet_seconds=0.1),
)
WORDS = [
    "tea", "coffee", "Lisbon", "train", "Tuesday", "budget", "garden", "violin", "report", "sister",
    "invoice", "meeting", "passport", "recipe", "bicycle", "window", "deadline", "harbour",
    "concert", "allergy", "mountain", "password", "lecture", "orchard",
]  # fmt: skip
MOST_DRAIN_SECONDS = 20.0
_USERS = ("ann", "bob", "cy")


class QuickEmbedder(HashEmbedder):
    """A HashEmbedder that remembers the directions of its terms: what is tested is the store."""

    _direction = lru_cache(maxsize=4096)(HashEmbedder._direction)


EMBEDDER = QuickEmbedder(dim=32)
EMBEDDER.embed(WORDS)

Tell = Callable[[str], None]
#: (event id, content, whether it is forgotten)
Row = tuple[str, str, bool]
#: (kind, what exactly); the kinds are lost, doubled, torn and corrupt.
Fault = tuple[str, str]


def content(op: str, part: int, parts: int) -> str:
    """The text of one turn of an operation: always the same for the same arguments."""
    rng = random.Random(f"{op} {part}")
    # Now and then a text that needs pages of its own.
    length = rng.choice((4, 8, 8, 16, 16, 40, 200))
    told = f"{op} part {part} of {parts}: {' '.join(rng.choices(WORDS, k=length))}"
    return f"{told} {_digest(told)}"


def parsed(text: str) -> tuple[str, int, int] | None:
    """(operation, part, parts) of a content; None when it is not what was written."""
    told, _, digest = text.rpartition(" ")
    if _digest(told) != digest:
        return None
    op, _, part, _, parts = told.partition(":")[0].split(" ")
    return op, int(part), int(parts)


def user_of(op: str) -> str:
    return _USERS[blake2b(op.encode(), digest_size=1).digest()[0] % len(_USERS)]


def is_keyed(op: str) -> bool:
    return op.endswith("k")


def _digest(text: str) -> str:
    return blake2b(text.encode("utf-8", "replace"), digest_size=6).hexdigest()


@dataclass
class Ledger:
    """What was acknowledged, as told by the processes that were answered."""

    #: Operation -> its event ids.
    acked: dict[str, tuple[str, ...]] = field(default_factory=dict)
    #: Keyed operations that were tried -> number of parts: a retry must not double them.
    tried: dict[str, int] = field(default_factory=dict)
    #: Event -> last acknowledged visibility; None while a change is under way.
    visible: dict[str, bool | None] = field(default_factory=dict)
    #: What went wrong for a caller.
    faults: list[Fault] = field(default_factory=list)

    def note(self, line: str) -> None:
        """Take down one line of a process."""
        kind, _, rest = line.partition(" ")
        match kind:
            case "acked":
                op, *ids = rest.split(" ")
                if self.acked.setdefault(op, tuple(ids)) != tuple(ids):
                    self.faults.append(("doubled", f"{op}: a retry gave other events"))
            case "trying":
                op, parts = rest.split(" ")
                self.tried[op] = int(parts)
            case "changing":
                self.visible[rest] = None
            case "forgotten" | "restored":
                self.visible[rest] = kind == "restored"
            case "fault":
                self.faults.append(("corrupt", rest))

    def events(self) -> int:
        """How many events were acknowledged."""
        return sum(map(len, self.acked.values()))


class Actor:
    """Does one random operation after another on a memory and tells what was acknowledged."""

    def __init__(
        self,
        memory: holdfast.Memory | holdfast.Client,
        name: str,
        rng: random.Random,
        tell: Tell,
    ) -> None:
        self._memory = memory
        self._name = name
        self._rng = rng
        self._tell = tell
        self._count = 0
        self._mine: list[tuple[str, str]] = []  # (user, event id)

    def act(self) -> bool:
        """One operation: mostly a write, sometimes a change or a read; whether it wrote."""
        dice = self._rng.random()
        if dice < 0.72 or not self._mine:
            self.remember(parts=1 if dice < 0.45 else self._rng.randint(2, 20))
        elif dice < 0.92:
            self.hide_or_show()
        else:
            user, event = self._rng.choice(self._mine)
            self._memory.status(event, user=user)
            self._memory.recall(self._rng.choice(WORDS), user=user, limit=3)
            return False
        return True

    def remember(self, *, parts: int) -> None:
        self._count += 1
        op = f"{self._name}.{self._count}" + ("k" if self._rng.random() < 0.3 else "")
        if is_keyed(op):
            self._tell(f"trying {op} {parts}")
        self.send(op, parts)

    def send(self, op: str, parts: int) -> None:
        """Write an operation, perhaps not for the first time."""
        receipt = self._memory.remember(
            [{"role": "user", "content": content(op, part, parts)} for part in range(parts)],
            user=user_of(op),
            key=op if is_keyed(op) else None,
        )
        self._tell(" ".join(("acked", op, *receipt.events)))
        self._mine += [(user_of(op), event) for event in receipt.events]

    def hide_or_show(self) -> None:
        user, event = self._rng.choice(self._mine[-20:])
        self._tell(f"changing {event}")
        if self._rng.random() < 0.6:
            self._memory.forget(event, user=user)
            self._tell(f"forgotten {event}")
        else:
            self._memory.restore(event, user=user)
            self._tell(f"restored {event}")


def judged(ledger: Ledger, rows: Iterable[Row]) -> list[Fault]:
    """Everything that is wrong with a store that holds these rows."""
    faults: list[Fault] = []
    place: dict[str, tuple[str, int, bool]] = {}
    parts_of: dict[str, list[int]] = defaultdict(list)
    size_of: dict[str, int] = {}
    for event, text, forgotten in rows:
        if (known := parsed(text)) is None:
            faults.append(("corrupt", f"event {event} holds {text[:60]!r}"))
            continue
        op, part, size_of[op] = known
        parts_of[op].append(part)
        place[event] = (op, part, forgotten)
    for op, parts in parts_of.items():
        if len(set(parts)) < len(parts):
            faults.append(("doubled", f"{op} has parts {sorted(parts)}"))
        if set(parts) != set(range(size_of[op])):
            faults.append(("torn", f"{op} has {len(set(parts))} of {size_of[op]} parts"))
    return faults + list(_broken_promises(ledger, place))


def _broken_promises(ledger: Ledger, place: dict[str, tuple[str, int, bool]]) -> Iterator[Fault]:
    for op, events in ledger.acked.items():
        for part, event in enumerate(events):
            if event not in place or place[event][:2] != (op, part):
                yield "lost", f"{op} part {part}, event {event}"
    for event, visible in ledger.visible.items():
        if visible is not None and event in place and place[event][2] == visible:
            yield "lost", f"event {event}: acknowledged as {'restored' if visible else 'forgotten'}"


def later() -> datetime:
    """An hour from now: every lease of a dead process has run out."""
    return datetime.now(UTC) + timedelta(hours=1)


def rows_by_sqlite3(path: Path) -> list[Row]:
    """All events, read by a second implementation: the library that came with Python."""
    with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as connection:
        found = connection.execute(
            "SELECT lower(hex(e.id)), e.content, r.forgotten_at IS NOT NULL FROM events e"
            " LEFT JOIN records r ON r.owner = e.owner AND r.id = e.id"
        ).fetchall()
    return [(event, text, bool(forgotten)) for event, text, forgotten in found]


def examined(
    path: Path,
    ledger: Ledger,
    *,
    thorough: bool,
    rng: random.Random,
    drain_s: float = MOST_DRAIN_SECONDS,
) -> list[Fault]:
    """Open a store that was left in the lurch and judge it; every error is a fault."""
    try:
        with holdfast.open(
            path, embedder=EMBEDDER, config=CONFIG, worker=False, clock=later
        ) as memory:
            faults = judged(ledger, rows_by_sqlite3(path))
            if thorough and not faults:
                faults = _examined_thoroughly(memory, ledger, rng, drain_s)
    except Exception as error:  # noqa: BLE001 (whatever it is, the store is not sound)
        return [("corrupt", f"{type(error).__name__}: {error}")]
    return faults


def _examined_thoroughly(
    memory: holdfast.Memory, ledger: Ledger, rng: random.Random, drain_s: float
) -> list[Fault]:
    """The queue runs dry, doctor finds nothing, our own reader agrees, recall finds."""
    drained = memory.drain(drain_s)
    findings = memory.store.check(index_row)
    faults = [("corrupt", f"{f.check}: {f.detail}") for f in findings if not f.ok]
    if drained.pending:
        faults.append(("corrupt", f"{drained.pending} jobs are never done"))
    dumped = [row for row in memory.store.dump(vectors=False) if isinstance(row, DumpedEvent)]
    faults += judged(
        ledger, ((row.event.id, row.event.content, row.forgotten_at is not None) for row in dumped)
    )
    forgotten = {row.event.id for row in dumped if row.forgotten_at is not None}
    for op in rng.sample(sorted(ledger.acked), k=min(5, len(ledger.acked))):
        event = ledger.acked[op][0]
        said = content(op, 0, len(ledger.acked[op]))
        found = {hit.id for hit in memory.recall(said, user=user_of(op), limit=50)}
        if (event in found) == (event in forgotten):
            faults.append(("lost", f"{op}: recall and the log disagree about event {event}"))
        if memory.status(event, user=user_of(op)).state != "done":
            faults.append(("lost", f"{op}: drained, but event {event} is not done"))
    return faults


def retried(path: Path, ledger: Ledger) -> list[Fault]:
    """Send every unanswered keyed operation again, twice: it must be there once."""
    open_ones = [op for op in ledger.tried if op not in ledger.acked]
    try:
        with holdfast.open(path, embedder=EMBEDDER, config=CONFIG, worker=False) as memory:
            actor = Actor(memory, "retry", random.Random(0), ledger.note)
            for op in open_ones * 2:
                actor.send(op, ledger.tried[op])
    except holdfast.HoldfastError as error:
        return [("corrupt", f"retry: {type(error).__name__}: {error}")]
    return list(ledger.faults)


def new_seed() -> int:
    return int.from_bytes(os.urandom(4))
