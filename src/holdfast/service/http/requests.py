"""What every request carries: its id."""

from __future__ import annotations

import re
import uuid

from starlette.datastructures import Headers

_SANE = re.compile(r"[A-Za-z0-9._:-]{1,128}")


def request_id(headers: Headers) -> str:
    """The id that the caller gave a request if it can stand in a log, else a new one."""
    given = headers.get("x-request-id", "")
    return given if _SANE.fullmatch(given) else uuid.uuid4().hex
