"""Cut the power at random points, and count what is missing.

The store writes through a VFS that knows what was synced and what was not. At a random write, sync,
truncation or deletion the power goes: of every file the synced part stays, and each 512-byte sector
written since is kept, dropped or scrambled, in any order; names that were made or removed and not
synced may or may not be. What is left is opened with the normal VFS and judged; then the store
lives on from there until the next cut.

`--synchronous NORMAL` and `OFF` break the promise on purpose: they show that the harness sees it.
"""

import argparse
import random
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

import apsw

sys.path.insert(0, str(Path(__file__).parents[1]))

import holdfast
from holdfast.store.sqlite import SqliteStore, writer
from scripts.ledger import CONFIG, EMBEDDER, Actor, Fault, Ledger, Tell, examined, new_seed, retried

SECTOR = 512
#: Writes, syncs, truncations and deletions before the cut, at most.
MOST_CALLS = 300
#: A new store after so many cuts: small stores are checked quickly.
CUTS_PER_LIFE = 8
#: A checkpoint every so many pages, so that each run sees some.
PAGES_PER_CHECKPOINT = 20
PAGES_PER_RESTART = 60
FILE = "memory.db"


@dataclass
class Inode:
    """A file: what is surely on the disk, and what happened to it since: (offset, data)."""

    durable: bytearray = field(default_factory=bytearray)
    #: data None: cut off at the offset.
    pending: list[tuple[int, bytes | None]] = field(default_factory=list)

    def sync(self) -> None:
        for offset, data in self.pending:
            _apply(self.durable, offset, data)
        self.pending.clear()

    def survivor(self, rng: random.Random) -> bytes:
        """What the disk may hold after a power cut."""
        image = bytearray(self.durable)
        keep, spoil = rng.choice(((0.0, 0.0), (1.0, 0.0), (0.5, 0.0), (0.9, 0.1), (0.5, 0.25)))
        # A disk that works in order loses the end; most do not.
        sure = rng.randint(0, len(self.pending)) if rng.random() < 0.4 else 0
        for offset, data in self.pending[:sure]:
            _apply(image, offset, data)
        for offset, data in self.pending[sure:]:
            for at, piece in _sectors(offset, data):
                if rng.random() < spoil and piece is not None:
                    _apply(image, at, rng.randbytes(len(piece)))
                elif rng.random() < keep:
                    _apply(image, at, piece)
        return bytes(image)


def _apply(image: bytearray, offset: int, data: bytes | None) -> None:
    if data is None:
        del image[offset:]
        return
    if len(image) < offset:
        image.extend(bytes(offset - len(image)))
    image[offset : offset + len(data)] = data


def _sectors(offset: int, data: bytes | None) -> list[tuple[int, bytes | None]]:
    """A write as the sectors it touches; bytes beside it are safe ("powersafe overwrite")."""
    if data is None:
        return [(offset, None)]
    pieces: list[tuple[int, bytes | None]] = []
    start = offset
    while start < offset + len(data):
        end = min(offset + len(data), (start // SECTOR + 1) * SECTOR)
        pieces.append((start, data[start - offset : end - offset]))
        start = end
    return pieces


class Disk:
    """All files of one run, and the moment at which the power goes."""

    def __init__(self, rng: random.Random, *, cut_at: int) -> None:
        self.lock = threading.RLock()
        self.image: dict[str, bytes] | None = None
        self._rng = rng
        self._left = cut_at
        self._names: dict[str, Inode] = {}
        self._durable_names: dict[str, Inode] = {}

    def opened(self, path: str) -> Inode:
        with self.lock:
            if path not in self._names:
                self._names[path] = Inode()
                if Path(path).exists():  # Left by the life before, long on the disk.
                    self._names[path].durable += Path(path).read_bytes()
                    self._durable_names[path] = self._names[path]
            return self._names[path]

    def deleted(self, path: str) -> None:
        self._names.pop(path, None)

    def sync_names(self) -> None:
        self._durable_names = dict(self._names)

    def tick(self) -> bool:
        """Before every call that changes something; False when the power is gone."""
        if self.image is None:
            self._left -= 1
            if self._left <= 0:
                self.cut()
        return self.image is None

    def cut(self) -> None:
        with self.lock:
            if self.image is not None:
                return
            self.image = {}
            for path in {*self._names, *self._durable_names}:
                either = (self._names.get(path), self._durable_names.get(path))
                if (inode := self._rng.choice(either)) is not None:
                    self.image[path] = inode.survivor(self._rng)


class CutFile(apsw.VFSFile):
    """A file of the normal VFS that takes down what happens to it."""

    def __init__(self, disk: Disk, name: str | apsw.URIFilename | None, flags: list[int]) -> None:
        path = name.filename() if isinstance(name, apsw.URIFilename) else name
        self._disk = disk
        self._inode = disk.opened(path) if path else Inode()
        # As SQLite's own: the first sync of a log or journal also syncs the folder.
        self._folder_waits = bool(flags[0] & (apsw.SQLITE_OPEN_WAL | apsw.SQLITE_OPEN_MAIN_JOURNAL))
        super().__init__("", name, flags)  # None: a temporary file

    def xWrite(self, data: bytes, offset: int) -> None:
        with self._disk.lock:
            if self._disk.tick():
                self._inode.pending.append((offset, bytes(data)))
            super().xWrite(data, offset)

    def xTruncate(self, newsize: int) -> None:
        with self._disk.lock:
            if self._disk.tick():
                self._inode.pending.append((newsize, None))
            super().xTruncate(newsize)

    def xSync(self, flags: int) -> None:
        with self._disk.lock:
            if self._disk.tick():
                self._inode.sync()
                if self._folder_waits:
                    self._disk.sync_names()
                    self._folder_waits = False


class CutVFS(apsw.VFS):
    """The normal VFS with files that remember what is not yet safe."""

    def __init__(self, name: str, disk: Disk) -> None:
        self._disk = disk
        super().__init__(name, "")

    def xOpen(self, name: str | apsw.URIFilename | None, flags: list[int]) -> CutFile:
        return CutFile(self._disk, name, flags)

    def xDelete(self, filename: str, syncdir: bool) -> None:
        with self._disk.lock:
            going = self._disk.tick()
            super().xDelete(filename, syncdir)
            if going:
                self._disk.deleted(filename)
                if syncdir:
                    self._disk.sync_names()


def opened(path: Path, synchronous: str | None) -> holdfast.Memory:
    """A memory on the VFS, with its worker, that checkpoints often."""
    writer.PAGES_CHECKPOINT, writer.PAGES_START_OVER = PAGES_PER_CHECKPOINT, PAGES_PER_RESTART
    if synchronous is None:
        store = SqliteStore(path, vfs="cut")
    else:
        store = SqliteStore(path, vfs="cut", synchronous=synchronous)
    return holdfast.Memory(store, EMBEDDER, config=CONFIG, clock=lambda: datetime.now(UTC))


def live(path: Path, disk: Disk, ledger: Ledger, name: str, synchronous: str | None) -> None:
    """Work until the power is gone; now and then close and open again in between."""
    rng = random.Random(name)

    def tell(line: str) -> None:
        with disk.lock:
            if disk.image is None:
                ledger.note(line)

    while disk.image is None:
        memory = opened(path, synchronous)
        turns = rng.choice((3, 10, 1000))
        names = [f"{name}.{rng.getrandbits(20)}.{n}" for n in range(rng.choice((1, 1, 4)))]
        threads = [
            threading.Thread(target=_work, args=(Actor(memory, each, rng, tell), disk, turns, tell))
            for each in names
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        memory.close()


def _work(actor: Actor, disk: Disk, turns: int, tell: Tell) -> None:
    try:
        for _ in range(turns):
            if disk.image is not None:
                return
            actor.act()
    except holdfast.HoldfastError as error:
        tell(f"fault {type(error).__name__}: {error}")


class Harness:
    """A store that lives from cut to cut."""

    def __init__(self, folder: Path, seed: int, synchronous: str | None) -> None:
        self.folder = folder
        self.seed = seed
        self.synchronous = synchronous
        self.ledger = Ledger()
        self.acknowledged = 0
        self.cuts_of: Counter[str] = Counter()
        self.examples: list[Fault] = []

    def cut(self, number: int) -> None:
        rng = random.Random(f"{self.seed} {number}")
        path = self.folder / FILE
        if number % CUTS_PER_LIFE == 1:
            self._new_life()
        disk = Disk(rng, cut_at=rng.randint(1, MOST_CALLS))
        vfs = CutVFS("cut", disk)
        before = self.ledger.events()
        live(path, disk, self.ledger, f"{number}", self.synchronous)
        vfs.unregister()
        self.acknowledged += self.ledger.events() - before
        self._put_back(disk.image or {})
        faults = self.ledger.faults + examined(path, self.ledger, thorough=True, rng=rng)
        faults = faults or retried(path, self.ledger)
        if faults:
            self.cuts_of.update({kind for kind, _ in faults})
            self.cuts_of["faulty"] += 1
            self.examples += [(kind, f"cut {number}: {detail}") for kind, detail in faults]
            self._new_life()

    def _new_life(self) -> None:
        self.ledger = Ledger()
        self._put_back({})

    def _put_back(self, image: dict[str, bytes]) -> None:
        for left in self.folder.glob(f"{FILE}*"):
            left.unlink()
        for name, data in image.items():
            Path(name).write_bytes(data)


def run(folder: Path, *, cuts: int, seed: int, synchronous: str | None) -> int:
    began = time.monotonic()
    harness = Harness(folder, seed, synchronous)
    for number in range(1, cuts + 1):
        harness.cut(number)
        if number % max(1, cuts // 10) == 0:
            print(
                f"cut {number}/{cuts}: {harness.acknowledged} events acknowledged, "
                f"{harness.cuts_of['faulty']} cuts with faults, {time.monotonic() - began:.0f} s",
                flush=True,
            )
    for kind, detail in harness.examples[:10]:
        print(f"{kind}: {detail}")
    of = harness.cuts_of
    print(
        f"powerloss: synchronous={synchronous or 'as it is'}, {cuts} cuts, "
        f"{harness.acknowledged} events acknowledged; cuts with losses {of['lost']}, "
        f"doubled {of['doubled']}, torn {of['torn']}, corrupt {of['corrupt']}; "
        f"{time.monotonic() - began:.0f} s, seed {seed}: " + ("FAILED" if of["faulty"] else "ok")
    )
    return 1 if of["faulty"] else 0


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cuts", type=int, default=1000, help="how often to cut (1000)")
    parser.add_argument(
        "--synchronous", choices=("FULL", "NORMAL", "OFF"), help="default: the store's own"
    )
    parser.add_argument("--seed", type=int, default=None, help="repeat the choices of a run")
    given = parser.parse_args(arguments)
    seed = new_seed() if given.seed is None else given.seed
    print(f"powerloss: {given.cuts} cuts, seed {seed}", flush=True)
    # In memory where there is such a place: what is safe is decided here, not by the real disk.
    memory_disk = Path("/dev/shm")
    parent = memory_disk if memory_disk.is_dir() else None
    with tempfile.TemporaryDirectory(prefix="holdfast-power-", dir=parent) as folder:
        return run(Path(folder), cuts=given.cuts, seed=seed, synchronous=given.synchronous)


if __name__ == "__main__":
    sys.exit(main())
