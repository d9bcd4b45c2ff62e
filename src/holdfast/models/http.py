"""What every remote model needs of HTTP, with the standard library alone."""

from __future__ import annotations

import math
import time
from email.message import Message
from http.client import HTTPException, HTTPResponse, IncompleteRead
from typing import IO
from urllib.error import HTTPError
from urllib.request import HTTPRedirectHandler, OpenerDirector, Request, build_opener

from holdfast.errors import ModelError

_LONGEST_WAIT_S = 86_400.0


class _NoRedirect(HTTPRedirectHandler):
    """A redirect would carry the texts and the key to a host that nobody named."""

    def redirect_request(  # noqa: PLR0917 (the signature is urllib's)
        self, req: Request, fp: IO[bytes], code: int, msg: str, headers: Message, newurl: str
    ) -> None:
        return None


def opener() -> OpenerDirector:
    """Opens addresses and follows no redirect."""
    return build_opener(_NoRedirect)


def posted(
    opened_by: OpenerDirector, url: str, body: bytes, *, key: str, timeout_s: float, most_bytes: int
) -> bytes:
    """The answer to a JSON body; what goes wrong is raised as urllib raises it."""
    headers = {"Content-Type": "application/json", "User-Agent": "holdfast"}
    if key:
        headers["Authorization"] = f"Bearer {key}"
    request = Request(url, data=body, headers=headers, method="POST")
    deadline = time.monotonic() + timeout_s
    with opened_by.open(request, timeout=timeout_s) as response:
        return _read_all(response, deadline, most_bytes=most_bytes)


def _read_all(response: HTTPResponse, deadline: float, *, most_bytes: int) -> bytes:
    """The whole body; a server that drips must not hold us longer than one that is silent."""
    chunks: list[bytes] = []
    size = 0
    while chunk := response.read1(1 << 16):
        size += len(chunk)
        if size > most_bytes:
            raise ModelError(f"the endpoint's answer is over {most_bytes} bytes")
        if time.monotonic() > deadline:
            raise TimeoutError
        chunks.append(chunk)
    if response.length:  # what Content-Length still promises; read1 does not mind
        raise IncompleteRead(b"", response.length)
    return b"".join(chunks)


def said_by(error: HTTPError) -> str:
    """The endpoint's own words about its error, or nothing."""
    try:
        return error.read(4096).decode(errors="replace")
    except (OSError, HTTPException):
        return ""


def seconds(header: str | None) -> float | None:
    """The seconds of a Retry-After header, within reason: who asks for years errs or attacks. Its
    rare form as a date counts as absent."""
    try:
        wait = float(header or "")
    except ValueError:
        return None
    return min(max(0.0, wait), _LONGEST_WAIT_S) if math.isfinite(wait) else None
