"""Arrays as bytes, in pieces, as an index writes them down in the store.

The first piece says what the others hold, array by array, and has their digest and one of its own;
both are of an owner and a change number as well, so that a row which is not where it was written is
not taken for another.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from hashlib import blake2b
from typing import Any, NamedTuple

import numpy as np
import orjson
from numpy.typing import NDArray

from holdfast.types import Scope

_PIECE_BYTES = 1 << 20
_DIGEST_BYTES = 16


def written(
    arrays: Mapping[str, NDArray[Any]],
    about: Mapping[str, object],
    *,
    form: int,
    of: tuple[Scope, int],
) -> list[bytes]:
    """Arrays as pieces of a megabyte, with what is to be known about them; `of`: whose they are, up
    to which change."""
    body = _Body()
    shapes = {name: [*_write(array, body)] for name, array in arrays.items()}
    rest = body.whole()
    digest = _digest(of, rest).hex()
    first = orjson.dumps({**about, "format": form, "arrays": shapes, "digest": digest})
    return [_digest(of, [first]) + first, *rest]


def read(
    pieces: Sequence[bytes], *, form: int, of: tuple[Scope, int], shared: bool = False
) -> tuple[dict[str, Any], dict[str, NDArray[Any]]] | None:
    """What was known about arrays, and those; None if they are not what was written, or of another
    form. `shared`: all that are kept as they were lie in one piece of memory, and are not to be
    changed."""
    if not pieces:
        return None
    digest, first = pieces[0][:_DIGEST_BYTES], pieces[0][_DIGEST_BYTES:]
    if digest != _digest(of, [first]):
        return None
    head = orjson.loads(first)
    if head["format"] != form or head["digest"] != _digest(of, pieces[1:]).hex():
        return None
    body = b"".join(pieces[1:])
    shapes = {name: _Shape(*shape) for name, shape in head["arrays"].items()}
    return head, {name: _read(body, shape, shared=shared) for name, shape in shapes.items()}


def _digest(of: tuple[Scope, int], data: Sequence[bytes]) -> bytes:
    scope, change = of
    digest = blake2b(digest_size=_DIGEST_BYTES)
    digest.update(orjson.dumps([scope.workspace, scope.user, change]))
    for each in data:
        digest.update(each)
    return digest.digest()


class _Shape(NamedTuple):
    """How an array is kept."""

    kind: str
    places: int
    #: What is to be added to each number; of one that is the same in all places, the number.
    added: float
    #: As what it lies where; nowhere if it is the same in all places.
    kept: str
    place: int


class _Body:
    """What is written, cut as it comes: of a large owner there is not room for all of it twice."""

    def __init__(self) -> None:
        self.size = 0
        self._pieces: list[bytes] = []
        self._last = bytearray()

    def add(self, data: memoryview | bytes) -> None:
        self.size += len(data)
        while data:
            room = _PIECE_BYTES - len(self._last)
            self._last += data[:room]
            data = data[room:]
            if len(self._last) == _PIECE_BYTES:
                self._cut()

    def whole(self) -> list[bytes]:
        """All pieces."""
        if self._last:
            self._cut()
        return self._pieces

    def _cut(self) -> None:
        self._pieces.append(bytes(self._last))
        self._last.clear()


def _write(array: NDArray[Any], body: _Body) -> _Shape:
    """Add an array to the body, in as few bytes a value as it goes."""
    kind, count = array.dtype.str, len(array)
    low, high = (array.min().item(), array.max().item()) if count else (0, 0)
    if low == high:
        return _Shape(kind, count, low, "", 0)
    small, added = array, 0
    if array.dtype.kind in "iu":
        size = next(size for size in (1, 2, 4, 8) if high - low < 1 << 8 * size)
        if size < array.itemsize:
            small, added = (array - low).astype(f"<u{size}"), low
    body.add(bytes(-body.size % 8))
    place = body.size
    body.add(np.ascontiguousarray(small).view(np.uint8).data)
    return _Shape(kind, count, added, small.dtype.str, place)


def _read(body: bytes, shape: _Shape, *, shared: bool) -> NDArray[Any]:
    if not shape.kept:
        return np.full(shape.places, shape.added, dtype=shape.kind)
    kept = np.frombuffer(body, dtype=shape.kept, count=shape.places, offset=shape.place)
    array = kept.astype(shape.kind, copy=not shared)
    return array + array.dtype.type(shape.added) if shape.added else array
