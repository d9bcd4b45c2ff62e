"""Reading in a process of its own, that can be ended: one text must not hold up everybody.

A pattern that takes minutes for a text holds the lock of the interpreter all that while, and no
thread of this process would answer anybody. So turns are read by a child (`serve`), which is ended
by force when its time is over. It is started when it is first needed, kept for the next turns, and
ended with the worker; it holds nothing that could be broken, no store and no file, and dies with
this process, however that dies.

To start one takes a second. So as long as none runs, few words are read here: `_FEW`. A service
starts one at once (`warm`), and reads nothing by itself.
"""

from __future__ import annotations

import ctypes
import json
import logging
import os
import pickle
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from holdfast.errors import Closed, Harmful, ModelError, ModelUnavailable, TookTooLong
from holdfast.language.extraction import Extractor
from holdfast.learn.drafts_from_rules import Drafts, read_turns
from holdfast.models.base import typed_errors
from holdfast.types import Event

log = logging.getLogger("holdfast.learn")

#: Characters of a group that are read in this process while no child runs.
_FEW = 2_000
#: Children at work at a time: one for the queue, the others for those who wait for an answer.
_MOST_CHILDREN = 3
#: To start, and to load what it reads with, is no part of the time of a text.
_START_SECONDS = 60.0
#: Nobody is waited for longer than so many times the limit, however little of it was its own.
PATIENCE = 2
_LOOK_SECONDS = 0.5
_TICKS = os.sysconf("SC_CLK_TCK")
#: Whoever answers goes first.
_NICE = 5
_PR_SET_PDEATHSIG = 1
_BEGIN = (
    "import json, sys; sys.path[:] = json.loads(sys.argv[1]);"
    " from holdfast.learn.reader_process import serve; serve(int(sys.argv[2]), int(sys.argv[3]))"
)


class ExtractorFactory:
    """An extractor: how it is made here, and how a child can make its own."""

    def __init__(self, make: Callable[[], Extractor]) -> None:
        self.make = make
        #: None for one that cannot be sent.
        self.packed = _pickled(make)


@dataclass(frozen=True, slots=True)
class ReadRequest:
    """What is to be read; see `drafts_from_rules.read_turns`."""

    turns: Sequence[Event]
    earlier: Sequence[Event]
    user: str

    @property
    def characters(self) -> int:
        return sum(len(event.content) for event in (*self.turns, *self.earlier))


class ReaderProcesses:
    """The children of one memory. `seconds` is what one group may take of the processor; 0: no
    child, no limit."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._room = threading.Semaphore(_MOST_CHILDREN)
        self._lock = threading.Lock()
        self._idle: list[_Child] = []
        self._busy: set[_Child] = set()
        self._is_over = False
        self._is_warm = False

    def warm(self) -> None:
        """Start a child now: from now on nothing is read in this process."""
        self._is_warm = True
        if self._seconds:
            with self._room:
                self._put_back(self._take())

    def read(
        self, factory: ExtractorFactory, request: ReadRequest, known: Callable[[str], bool]
    ) -> Drafts:
        """What a group of turns says. TookTooLong after the time, Harmful when the child died of
        it, Closed when the worker is stopped meanwhile."""
        if factory.packed is None or not self._wants(request):
            with typed_errors("the extractor"):  # It may be somebody else's, or not installed.
                return read_turns(
                    request.turns,
                    factory.make(),
                    user=request.user,
                    earlier=request.earlier,
                    known=known,
                )
        with self._room:
            child = self._take()
            is_well = False
            try:
                kind, value = child.read(factory.packed, request, known, self._seconds)
                is_well = True
            except (ModelError, EOFError, OSError) as error:
                if self._is_over:
                    raise Closed("the worker is being stopped") from error
                if isinstance(error, ModelError):
                    raise
                raise Harmful("reading it ended the process that reads") from error
            finally:
                (self._put_back if is_well else self._drop)(child)
        found = _to_drafts(kind, value)
        if found is None:
            log.warning("an extractor cannot be sent to a process of its own: it is run here")
            factory.packed = None
            return self.read(factory, request, known)
        return found

    def halt(self) -> None:
        """End the children; whoever waits for one is told that it is over."""
        with self._lock:
            self._is_over = True
            idle, self._idle = self._idle, []
            busy = list(self._busy)
        for child in idle:
            child.end()
        for child in busy:  # Who reads from it closes it.
            child.kill()

    def _wants(self, request: ReadRequest) -> bool:
        with self._lock:
            is_running = self._is_warm or bool(self._idle or self._busy)
        return self._seconds > 0 and (is_running or request.characters > _FEW)

    def _take(self) -> _Child:
        with self._lock:
            # After a fork these are the children of another process.
            self._idle = [each for each in self._idle if each.is_ours()]
            child = self._idle.pop() if self._idle else None
        if child is None:
            child = _Child()
        with self._lock:
            self._busy.add(child)
            is_over = self._is_over
        if is_over:
            self._drop(child)
            raise Closed("the worker is being stopped")
        return child

    def _put_back(self, child: _Child) -> None:
        """Keep it for the next turns; one is enough while there is little to do."""
        with self._lock:
            self._busy.discard(child)
            is_kept = not self._is_over and not self._idle
            if is_kept:
                self._idle.append(child)
        if not is_kept:
            child.end()

    def _drop(self, child: _Child) -> None:
        with self._lock:
            self._busy.discard(child)
        child.end()


class _Child:
    """One process that reads."""

    def __init__(self) -> None:
        self._parent = os.getpid()
        self._connection, theirs = Pipe()
        self._process: subprocess.Popen[bytes] | None = None
        self._error: OSError | None = None
        started = threading.Event()
        # The kernel ends it with the thread that started it: so that one stays as long as it does.
        self._keeper = threading.Thread(
            target=self._keep, args=(theirs, started), name="holdfast-child", daemon=True
        )
        self._keeper.start()
        started.wait()

    def _keep(self, theirs: Connection, started: threading.Event) -> None:
        path, fd = json.dumps(sys.path), theirs.fileno()
        try:
            # Standard output may be where we speak with others. No other descriptor is passed on.
            self._process = subprocess.Popen(
                [sys.executable, "-c", _BEGIN, path, str(fd), str(self._parent)],
                stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, pass_fds=[fd],
            )  # fmt: skip
        except OSError as error:
            self._error = error
        finally:
            theirs.close()
            started.set()
        if self._process is not None:
            self._process.wait()

    def is_ours(self) -> bool:
        return self._parent == os.getpid() and self._keeper.is_alive()

    def read(
        self, packed: bytes, request: ReadRequest, known: Callable[[str], bool], seconds: float
    ) -> tuple[str, Any]:
        """What the child answers."""
        if self._error is not None:
            raise ModelUnavailable(f"the process that reads: {self._error}") from self._error
        self._connection.send((packed, request.turns, request.earlier, request.user))
        used, over = None, time.monotonic() + _START_SECONDS
        while time.monotonic() < over and (used is None or self._used() - used < seconds):
            if not self._connection.poll(_LOOK_SECONDS):
                continue
            kind, value = self._connection.recv()
            if kind == "begun":
                used, over = self._used(), time.monotonic() + PATIENCE * seconds
            elif kind == "known":
                self._connection.send(known(value))
            elif kind == "log":
                log.log(*value)
            else:
                return kind, value
        if used is None:
            raise ModelUnavailable("the process that reads did not start")
        raise TookTooLong(f"reading it took longer than {seconds:g} s")

    def _used(self) -> float:
        """The processor's time that it has taken. On a busy machine little of a minute is."""
        pid = self._process.pid if self._process is not None else 0
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        return sum(map(int, fields[11:13])) / _TICKS

    def kill(self) -> None:
        if self._process is not None and self._parent == os.getpid():
            self._process.kill()

    def end(self) -> None:
        self.kill()
        if self._parent == os.getpid():
            self._keeper.join()
        self._connection.close()


def _to_drafts(kind: str, value: Any) -> Drafts | None:
    """What the child found; None when it cannot make the extractor."""
    if kind == "failed":
        is_away, message = value
        raise (ModelUnavailable if is_away else ModelError)(message)
    found: Drafts | None = value if kind == "found" else None
    return found


def _pickled(make: Callable[[], Extractor]) -> bytes | None:
    try:
        return pickle.dumps(make)
    except Exception:  # noqa: BLE001 (somebody else's object may raise anything)
        return None  # It is read where it was made, which is told in docs/howto/extraction.md.


# ----------------------------------------------------------------------
# The child: turns come in, what they say goes out, one group after the other.
# ----------------------------------------------------------------------


def serve(fd: int, parent: int) -> None:
    """Read until the other end is gone: what the child runs."""
    _die_with(parent)
    # Both come to a whole group of processes: the parent ends us when it is done with us.
    for each in (signal.SIGINT, signal.SIGTERM):
        signal.signal(each, signal.SIG_IGN)
    os.setpriority(os.PRIO_PROCESS, 0, max(_NICE, os.getpriority(os.PRIO_PROCESS, 0)))
    connection = Connection(fd)
    logging.getLogger().addHandler(_ParentLog(connection, logging.WARNING))
    try:
        while True:
            packed, turns, earlier, user = connection.recv()
            connection.send(_answer(connection, packed, turns, earlier, user))
    except (EOFError, ConnectionError):
        return


def _answer(
    connection: Connection,
    packed: bytes,
    turns: Sequence[Event],
    earlier: Sequence[Event],
    user: str,
) -> tuple[str, Any]:
    @cache
    def known(name: str) -> bool:
        connection.send(("known", name))
        return bool(connection.recv())

    try:
        with typed_errors("the extractor"):  # It may be somebody else's, or not installed.
            extractor = _load_extractor(packed)
            if extractor is None:
                return "cannot be made here", None
            connection.send(("begun", None))
            return "found", read_turns(turns, extractor, user=user, earlier=earlier, known=known)
    except ModelError as error:
        return "failed", (isinstance(error, ModelUnavailable), str(error))


@lru_cache(maxsize=4)
def _load_extractor(packed: bytes) -> Extractor | None:
    """The extractor; None for one of a module that is not found here."""
    try:
        make = pickle.loads(packed)
    except (ImportError, AttributeError):
        return None
    made: Extractor = make()
    return made


class _ParentLog(logging.Handler):
    """Tells the parent what is logged here: its log has a form, and a place."""

    def __init__(self, connection: Connection, level: int) -> None:
        super().__init__(level)
        self._connection = connection

    def emit(self, record: logging.LogRecord) -> None:
        self._connection.send(("log", (record.levelno, record.getMessage())))


def _die_with(parent: int) -> None:
    """End when the parent does, also in the middle of a text; it may have ended already."""
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(0)
