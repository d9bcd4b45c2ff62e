"""stdin and stdout as MCP uses them: whole lines, and nothing but the protocol.

The first line is answered here if it can be; what reads the others may still be on its way.
"""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Callable, Iterator

from holdfast.service.mcp.greeting import Id, greeted

log = logging.getLogger("holdfast.mcp")

_STDIN, _STDOUT = 0, 1
_READ_BYTES = 1 << 16


class Wire:
    """The lines of stdin, read by a thread that nobody has to wait for at the end. No line may be
    longer than `most_bytes`."""

    def __init__(self, most_bytes: int) -> None:
        self._most = most_bytes
        # What is started from here on finds an empty stdin, not the protocol.
        self._in, self._out = os.dup(_STDIN), os.dup(_STDOUT)
        empty = os.open(os.devnull, os.O_RDONLY)
        os.dup2(empty, _STDIN)
        os.close(empty)
        self._take: Callable[[str | None], None] | None = None
        self._taken = threading.Event()
        #: The id of the request that was answered here, until it is answered once more.
        self.greeted: Id | None = None
        threading.Thread(target=self._read, name="holdfast-stdin", daemon=True).start()

    def each(self, take: Callable[[str | None], None]) -> None:
        """Hand on every line, on a thread; None at the end."""
        self._take = take
        self._taken.set()

    def _read(self) -> None:
        for number, line in enumerate(self._split()):
            if number == 0:
                self._greet(line)
            self._hand_on(line.decode("utf-8", "replace"))
        self._hand_on(None)

    def _greet(self, line: bytes) -> None:
        answer = greeted(line)
        if answer is None:
            return
        # Before it is told: the client may be quicker than we are.
        self.greeted, left = answer
        while left:
            left = left[os.write(self._out, left) :]

    def _hand_on(self, text: str | None) -> None:
        self._taken.wait()
        assert self._take is not None
        self._take(text)

    def _split(self) -> Iterator[bytes]:
        rest = b""
        while read := os.read(self._in, _READ_BYTES):
            *lines, rest = (rest + read).split(b"\n")
            for line in lines:
                if line.strip():
                    yield line
            if len(rest) > self._most:
                # Who sent it waits for an answer that has no id to go by: hanging up tells them.
                log.error("a message is over the limit of %d bytes", self._most)
                return
