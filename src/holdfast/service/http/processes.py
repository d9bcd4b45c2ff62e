"""Several processes that answer as one service: who starts them, and what they have in common.

The parent binds the socket, and then only watches: it opens no store, loads no model, starts no
thread and takes no connection, so that it can be forked safely whenever a process must be replaced.
What the others share they have from it: the socket, a page of memory (`Board`), and for each of
them a pair of sockets by which the others hand it connections (routing.py). None of it has a name
in the file system or in the environment.

They end when the parent does, however that ends: each waits for the end of a pipe that the parent
alone holds open. So a signal to the parent alone, or to all of them (Ctrl-C, systemd), is one.
"""

from __future__ import annotations

import contextlib
import errno
import gc
import mmap
import os
import secrets
import signal
import socket
import struct
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from hashlib import blake2b
from types import FrameType
from typing import IO, Any, Generic, TypeVar, cast

from holdfast.config import notify_socket
from holdfast.errors import ConfigError
from holdfast.language.regex import compile_all

_STUCK_MS = 60_000
_LOOK_SECONDS = 0.05
#: Before a process that died is started again.
_AGAIN_SECONDS = 1.0
_WORDS_BYTES = 65536
#: What one process may have handed to another that does not take it yet.
_QUEUE_BYTES = 1 << 22


# The socket of the service, and what it says to those who started it.


@contextlib.contextmanager
def listening(host: str, port: int) -> Iterator[socket.socket]:
    """A bound socket: a port in use is an error before anything else has happened."""
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        listener = socket.create_server((host, port), family=family, backlog=2048)
    except (OSError, OverflowError) as error:
        raise ConfigError(_refused(host, port, error)) from error
    with listener:
        # Accepted connections inherit it. asyncio sets it only on sockets that name their protocol;
        # without it every answer waits 40 ms for the client's delayed acknowledgement.
        listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if sys.platform == "linux":
            # A client that takes nothing of what is sent to it does not hold us for ever.
            listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, _STUCK_MS)
        yield listener


def _refused(host: str, port: int, error: OSError | OverflowError) -> str:
    """Why nobody can listen there, and what to do about it."""
    match getattr(error, "errno", None):
        case errno.EADDRINUSE:
            who = "perhaps by another `holdfast serve`"
            return f"port {port} of {host} is taken, {who}: choose one with --port"
        case errno.EADDRNOTAVAIL:
            return f"{host} is no address of this machine: choose one with --host"
        case errno.EACCES:
            return f"port {port} is not open to this user: choose one above 1023 with --port"
    return f"cannot listen on {host}:{port}: {error}"


def notify(state: str) -> None:
    """Tell systemd how far we are, if it asked to be told (Type=notify)."""
    address = notify_socket()
    if not address:
        return
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sender, contextlib.suppress(OSError):
        sender.connect("\0" + address[1:] if address.startswith("@") else address)
        sender.sendall(state.encode())


def say(text: str) -> None:
    """To the operator, at once: a pipe would keep it back."""
    sys.stdout.write(text)
    sys.stdout.flush()


# What all processes of a service look at.

#: What is left to a name, and when that was.
Bucket = tuple[float, float]

_EPOCH_BYTES = 8
_NAME_BYTES = 16
_EMPTY = bytes(_NAME_BYTES)


Row = TypeVar("Row", bound=tuple[Any, ...])


class SharedTable(Generic[Row]):
    """Rows under names, in memory of a fixed size that processes may share.

    A name has one of the places of its group; where all are taken, the row whose last number is
    the least makes room. A group is locked by a lock that the system lets go of with the process.
    """

    def __init__(self, fields: str, *, places: int, groups: int) -> None:
        self._row = struct.Struct(f"{_NAME_BYTES}s{fields}")
        self._places, self._groups = places, groups
        self.size = groups * places * self._row.size
        self._memory: mmap.mmap | bytearray | None = None
        self._start = 0
        self._file: IO[bytes] | None = None

    def share(self, page: mmap.mmap, start: int, file: IO[bytes]) -> None:
        """Keep the rows there, and lock the bytes of the file that they would be."""
        self._memory, self._start, self._file = page, start, file

    def get(self, group: str, name: str) -> Row | None:
        """The row of a name."""
        return self._find(self._first(group), _digest(name))[1]

    def change(self, group: str, name: str, step: Callable[[Row | None], Row | None]) -> None:
        """Put another row in the place of one, or none; `step` is given what is there."""
        first, key = self._first(group), _digest(name)
        with self._locked(first):
            place, before = self._find(first, key)
            after = step(before)
            if after is not None:
                self._row.pack_into(self._held, place, key, *after)
            elif before is not None:
                self._held[place : place + self._row.size] = bytes(self._row.size)

    @property
    def _held(self) -> mmap.mmap | bytearray:
        if self._memory is None:
            self._memory = bytearray(self.size)
        return self._memory

    def _first(self, group: str) -> int:
        number = int.from_bytes(_digest(group)[:4]) % self._groups
        return self._start + number * self._places * self._row.size

    def _find(self, first: int, key: bytes) -> tuple[int, Row | None]:
        """Where a name stands, and its row; where it may stand, if it does not."""
        rested = {}
        for place in range(first, first + self._places * self._row.size, self._row.size):
            held, *row = self._row.unpack_from(self._held, place)
            if held == key:
                return place, cast("Row", tuple(row))
            rested[place] = -1.0 if held == _EMPTY else row[-1]
        return min(rested, key=rested.__getitem__), None

    @contextlib.contextmanager
    def _locked(self, first: int) -> Iterator[None]:
        if self._file is None:
            yield
            return
        import fcntl  # noqa: PLC0415 (there is none on Windows, which has no processes by fork)

        fcntl.lockf(self._file, fcntl.LOCK_EX, 1, first)
        try:
            yield
        finally:
            fcntl.lockf(self._file, fcntl.LOCK_UN, 1, first)


def _digest(name: str) -> bytes:
    return blake2b(name.encode(), digest_size=_NAME_BYTES).digest()


#: A session of a browser: what its key was like, and when it ends.
Session = tuple[bytes, float]


def sessions() -> SharedTable[Session]:
    """The sessions of a service: of a key so many that one more ends the oldest."""
    return SharedTable("16sd", places=32, groups=1024)


class Board:
    """A page of memory that the processes of a service share.

    On it stand the token buckets of rate limits, the sessions of browsers, and a number that
    changes with keys and sessions. A bucket that makes room has rested longest: by then it is full
    again, unless thousands of keys ask in one minute.
    """

    def __init__(self) -> None:
        self.sessions = sessions()
        self._buckets: SharedTable[Bucket] = SharedTable("dd", places=8, groups=1024)
        self._file = tempfile.TemporaryFile()  # noqa: SIM115 (as long as the service)
        self._file.truncate(_EPOCH_BYTES + self._buckets.size + self.sessions.size)
        self._page = mmap.mmap(self._file.fileno(), 0)
        self._buckets.share(self._page, _EPOCH_BYTES, self._file)
        self.sessions.share(self._page, _EPOCH_BYTES + self._buckets.size, self._file)

    def close(self) -> None:
        """Let go of it; those who share it keep it."""
        self._page.close()
        self._file.close()

    @property
    def epoch(self) -> bytes:
        """Another one after every change of keys that a process of this service made."""
        return self._page[:_EPOCH_BYTES]

    def renew(self) -> None:
        """The keys have changed, or a session has ended."""
        self._page[:_EPOCH_BYTES] = secrets.token_bytes(_EPOCH_BYTES)

    def change(self, who: str, step: Callable[[Bucket | None], Bucket]) -> None:
        """Put another bucket in the place of one; `step` is given what is there."""
        self._buckets.change(who, who, step)


@dataclass(frozen=True, slots=True)
class Member:
    """One process of a service, as it knows itself."""

    #: From 0; the one that does the background work has the number `count`.
    number: int
    #: How many answer.
    count: int
    listener: socket.socket
    board: Board
    #: By which connections are handed to this one, and to each.
    takes: socket.socket | None
    gives: tuple[socket.socket, ...]
    _parent: int
    _tells: int

    @property
    def works(self) -> bool:
        """Whether it does the background work, and answers nobody."""
        return self.number == self.count

    def ready(self, words: str = "") -> None:
        """Tell the parent that this one answers; the words of the first are told when all do."""
        with contextlib.suppress(BrokenPipeError):
            os.write(self._tells, (words or "\n").encode()[:_WORDS_BYTES])
        os.close(self._tells)

    def when_left(self, end: Callable[[], object]) -> None:
        """Call this, on a thread, when the parent wants the end, or has come to its own."""

        def wait() -> None:
            os.read(self._parent, 1)
            end()

        threading.Thread(target=wait, name="holdfast-parent", daemon=True).start()


def start_together(count: int, host: str, port: int, *, worker: bool) -> Member | None:
    """Start so many processes that answer, and one that does the background work. Returns in each
    of them, and as None in the parent when all have ended: by a signal, or because one of them
    could not even start, which is SystemExit with what that one ended with."""
    if not hasattr(os, "fork"):
        raise ConfigError("--processes needs a system that can fork: start several services")
    os.environ["HOLDFAST_PROCESSES"] = str(count)  # Their models share the cores.
    compile_all()  # Once for all of them.
    with listening(host, port) as listener:
        return _Parent(count, listener, worker=worker).run()


class _Parent:
    """Starts processes, replaces those that die, and ends them together."""

    def __init__(self, count: int, listener: socket.socket, *, worker: bool) -> None:
        self._count = count
        # A `with` of the parent closes its own: those who answer must not lose theirs by it.
        self._listener = listener.dup()
        self._numbers = range(count + worker)
        self._board = Board()
        self._pairs = [_pair() for _ in range(count)]
        self._life, self._holds = os.pipe()
        self._numbers_of: dict[int, int] = {}
        #: Where those tell that they are ready who have not yet.
        self._tell: dict[int, int] = {}
        self._words: dict[int, str] = {}
        self._signals = 0
        self._before = {each: signal.getsignal(each) for each in _ENDING}

    def run(self) -> Member | None:
        for each in _ENDING:
            signal.signal(each, self._note)
        gc.collect()
        gc.freeze()  # What is loaded so far stays where it is, once for all of them.
        # The first makes the store, where there is none, and says what is wrong with it.
        for numbers in (self._numbers[:1], self._numbers[1:]):
            for number in numbers:
                if (member := self._start(number)) is not None:
                    return member
            if failed := self._wait_ready():
                self._end()
                raise SystemExit(failed)
        if not self._signals:
            say(self._words.get(0, ""))
            notify("READY=1")
        if (member := self._watch()) is not None:
            return member
        self._end()
        return None

    def _watch(self) -> Member | None:
        """Replace those that die until a signal comes; returns a member in a replacement."""
        due: dict[int, float] = {}
        while not self._signals:
            time.sleep(_LOOK_SECONDS)
            self._hear()
            for number, code in self._ended():
                words = f"note: process {number} of the service ended with {code}: another is"
                sys.stderr.write(f"{words} started\n")
                due[number] = time.monotonic() + _AGAIN_SECONDS
            for number in [each for each, at in due.items() if at <= time.monotonic()]:
                del due[number]
                if (member := self._start(number)) is not None:
                    return member
        return None

    def _start(self, number: int) -> Member | None:
        """Another process: a member there, and None here."""
        hears, tells = os.pipe()
        sys.stdout.flush()
        sys.stderr.flush()
        pid = os.fork()
        if pid:
            os.close(tells)
            os.set_blocking(hears, False)
            self._numbers_of[pid], self._tell[number] = number, hears
            return None
        for each, handler in self._before.items():
            signal.signal(each, handler)
        for end in (self._holds, hears, *self._tell.values()):
            os.close(end)
        for other, (takes, _) in enumerate(self._pairs):
            if other != number:
                takes.close()
        own = self._pairs[number][0] if number < self._count else None
        return Member(
            number, self._count, self._listener, self._board, own,
            tuple(gives for _, gives in self._pairs), self._life, tells,
        )  # fmt: skip

    def _wait_ready(self) -> int:
        """Wait until all that were started are ready; if one has died instead, with what."""
        while self._tell and not self._signals:
            time.sleep(_LOOK_SECONDS)
            self._hear()
            for _, code in self._ended():
                return code if code > 0 else 1
        return 0

    def _hear(self) -> None:
        for number, hears in list(self._tell.items()):
            with contextlib.suppress(BlockingIOError):
                if words := os.read(hears, _WORDS_BYTES):  # Else it has ended instead.
                    self._words[number] = words.decode()
                    os.close(self._tell.pop(number))

    def _ended(self) -> Iterator[tuple[int, int]]:
        """Those that have ended, and with what: minus the signal that did it."""
        while self._numbers_of:
            pid, status = os.waitpid(-1, os.WNOHANG)
            if not pid:
                return
            number = self._numbers_of.pop(pid)
            if number in self._tell:
                os.close(self._tell.pop(number))
            yield number, os.waitstatus_to_exitcode(status)

    def _end(self) -> None:
        """Let all of them end, and wait for it."""
        notify("STOPPING=1")
        os.close(self._holds)
        self._listener.close()
        self._board.close()
        while self._numbers_of:
            for _ in self._ended():
                pass
            time.sleep(_LOOK_SECONDS)

    def _note(self, number: int, _: FrameType | None) -> None:
        """A first signal is noted; a second one ends everything on the spot."""
        self._signals += 1
        if self._signals > 1:
            for pid in self._numbers_of:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            os._exit(1)


def _pair() -> tuple[socket.socket, socket.socket]:
    """Where one process takes what the others give; each message whole, with what it carries."""
    pair = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
    for each in pair:
        each.setblocking(False)
    pair[1].setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _QUEUE_BYTES)
    return pair


_ENDING = (signal.SIGTERM, signal.SIGINT)
