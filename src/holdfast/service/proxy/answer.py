"""An answer overheard while it passes through: as one JSON document, or as server-sent events.

Nothing here delays, changes or refuses it. What cannot be read, or is larger than any answer, is
not remembered.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import orjson

from holdfast.service.proxy.shape import Draft, Shape
from holdfast.service.proxy.usage import Told, tokens_of, usage_of

_MOST_BYTES = 16 * 1024 * 1024
_DONE = b"[DONE]"


class Overheard:
    """What is understood of an answer of one shape; without one, what it took alone."""

    def __init__(self, shape: Shape | None, *, streamed: bool) -> None:
        self._shape = shape
        self._streamed = streamed
        self._draft = Draft()
        self._held = bytearray()
        self._data: list[bytes] = []
        self._deaf = False
        self._told = Told()
        #: Whether words came after the model last said what the answer took.
        self._said_more = False

    def feed(self, chunk: bytes) -> None:
        """Listen to the next bytes."""
        if self._deaf:
            return
        self._held += chunk
        if self._streamed and b"\n" in chunk:
            for event in self._events():
                self._hear(event)
        if len(self._held) > _MOST_BYTES:
            self._deaf = True
            self._held.clear()

    def answer(self) -> Draft | None:
        """The answer, if all of it was there."""
        self._end()
        return self._draft if self._draft.whole and not self._deaf else None

    def took(self) -> Told:
        """What the call took, as the model says; without its word the answer is as it looks."""
        self._end()
        told, looks = self._told, tokens_of(self._size_bytes())
        if told.answer is None:
            return Told(told.prompt, looks)
        return Told(told.prompt, max(told.answer, looks) if self._said_more else told.answer)

    def _size_bytes(self) -> int:
        if self._shape is None:
            return 0
        return _MOST_BYTES if self._deaf else self._draft.size_bytes

    def _end(self) -> None:
        if not self._streamed and self._held:
            self._hear(bytes(self._held))
            self._held.clear()

    def _hear(self, document: bytes) -> None:
        if document == _DONE:
            self._draft.whole = True
            return
        before, told = self._draft.size_bytes, self._understood(document)
        if told.answer is not None:
            self._said_more = False
        elif self._draft.size_bytes > before:
            self._said_more = True
        self._told = self._told.then(told)

    def _understood(self, document: bytes) -> Told:
        try:
            value = orjson.loads(document)
        except orjson.JSONDecodeError:  # Cut off, or no JSON at all: something was said.
            self._draft.size_bytes += len(document)
            return Told()
        if not isinstance(value, Mapping):
            return Told()
        if self._shape is not None:
            hear = self._shape.hear_event if self._streamed else self._shape.hear
            hear(value, self._draft)
        return usage_of(value)

    def _events(self) -> Iterator[bytes]:
        """The data of the events that are there to the end."""
        *lines, rest = self._held.split(b"\n")
        self._held = rest
        for each in lines:
            line = bytes(each).rstrip(b"\r")
            if line.startswith(b"data:"):
                self._data.append(line[5:].removeprefix(b" "))
            elif not line and self._data:
                event, self._data = b"\n".join(self._data), []
                yield event
