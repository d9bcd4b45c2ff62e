"""The process that reads: turns come in, what they say goes out (`apart.py` is the other end).

It is ended by force when it takes too long, so it holds nothing that could be broken: no store, no
file. What it was sent is read in its main thread, one group after the other.
"""

from __future__ import annotations

import ctypes
import logging
import os
import pickle
import signal
from collections.abc import Sequence
from functools import cache, lru_cache
from multiprocessing.connection import Connection
from typing import Any

from holdfast.errors import ModelError, ModelUnavailable
from holdfast.language.extraction import Extractor
from holdfast.learn.drafts_from_rules import read_turns
from holdfast.models.base import typed_errors
from holdfast.types import Event

#: Whoever answers goes first.
_NICE = 5
_PR_SET_PDEATHSIG = 1


def main(fd: int, parent: int) -> None:
    """Read until the other end is gone."""
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
