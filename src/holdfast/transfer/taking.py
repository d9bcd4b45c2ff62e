"""Taking the fields of a line one by one. Nothing here is taken on trust."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Mapping
from datetime import date, datetime
from typing import Any, NoReturn, TypeVar

import numpy as np

from holdfast.border import validate
from holdfast.errors import InvalidInput

T = TypeVar("T")

_ORIGINS = ("user", "user_confirmed", "agent", "tool", "document", "web", "import")
_ID = re.compile("[0-9a-f]{32}")
_DIGEST_BYTES = 16


def refuse(reason: str) -> NoReturn:
    """Give up on a line."""
    raise InvalidInput(reason)


def taken(fields: dict[str, Any], name: str, kind: type[T]) -> T:
    """The field, removed from `fields`; its type is checked."""
    value = fields.pop(name, None)
    if value is None:
        refuse(f"{name} is missing")
    if not isinstance(value, kind) or isinstance(value, bool):
        refuse(f"{name} must be a {kind.__name__}, not {type(value).__name__}")
    return value


def nothing_left(fields: Mapping[str, Any]) -> None:
    """Refuse a line with fields that nobody asked for."""
    if fields:
        refuse(f"unknown field {sorted(fields)[0][:64]!r}")


def an_id(value: object, name: str) -> str:
    """32 hex digits."""
    if not isinstance(value, str) or not _ID.fullmatch(value):
        refuse(f"{name} must be 32 hex digits, not {str(value)[:64]!r}")
    return value


def some_bytes(value: object, name: str) -> bytes:
    """Bytes in base64."""
    if not isinstance(value, str):
        refuse(f"{name} must be a text in base64, not {type(value).__name__}")
    try:
        return base64.b64decode(value, validate=True)
    except (binascii.Error, ValueError):
        refuse(f"{name} is not valid base64")


def origin(fields: dict[str, Any]) -> str:
    """Whose word it is."""
    value = fields.pop("origin", None)
    if value not in _ORIGINS:
        refuse(f"origin must be one of {', '.join(_ORIGINS)}, not {str(value)[:64]!r}")
    return str(value)


def share(fields: dict[str, Any], name: str) -> float:
    """A number of 0..1."""
    value = fields.pop(name, None)
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
        refuse(f"{name} must lie in 0..1, not {str(value)[:64]!r}")
    return float(value)


def maybe_share(fields: dict[str, Any], name: str) -> float | None:
    """A number of 0..1, if the line has it."""
    if fields.get(name) is not None:
        return share(fields, name)
    fields.pop(name, None)
    return None


def maybe_moment(fields: dict[str, Any], name: str) -> datetime | None:
    """A time, if the line has it."""
    value = fields.pop(name, None)
    return None if value is None else validate.moment(value, name)


def maybe_day(fields: dict[str, Any], name: str) -> date | None:
    """A day, if the line has it."""
    value = fields.pop(name, None)
    if value is None:
        return None
    try:
        return date.fromisoformat(value)
    except (TypeError, ValueError):
        refuse(f"{name} must be a day such as 2026-03-01, not {str(value)[:64]!r}")


def flag(fields: dict[str, Any], name: str) -> bool:
    """True or false; false if the line does not say."""
    value = fields.pop(name, False)
    if not isinstance(value, bool):
        refuse(f"{name} must be true or false")
    return value


def one_of(fields: dict[str, Any], name: str, values: tuple[str, ...]) -> str:
    """One of a few words."""
    value = fields.pop(name, None)
    if value not in values:
        refuse(f"{name} must be one of {', '.join(values)}, not {str(value)[:64]!r}")
    return str(value)


def passage(value: object, dim: int) -> tuple[bytes, bytes]:
    """The digest and the unit vector of a passage."""
    if not isinstance(value, list) or len(value) != 2:
        refuse("passages must be pairs of digest and vector")
    digest, data = some_bytes(value[0], "passages"), some_bytes(value[1], "passages")
    if len(digest) != _DIGEST_BYTES or len(data) != 4 * dim:
        refuse(
            f"passages: a digest of {len(digest)} bytes and a vector of {len(data)},"
            f" expected {_DIGEST_BYTES} and {4 * dim} (4 for each of {dim} dimensions)"
        )
    with np.errstate(all="ignore"):
        length = float(np.linalg.norm(np.frombuffer(data, dtype="<f4").astype(np.float64)))
    if not abs(length - 1.0) < 1e-3:
        refuse(f"passages: a vector has the length {length:.6g}, expected 1")
    return digest, data
