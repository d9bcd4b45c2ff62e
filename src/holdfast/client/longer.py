"""Verbs that are more than one question and its answer: uploads, waiting, the clock."""

from __future__ import annotations

import time
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from pathlib import Path
from typing import Any

from holdfast.catalogue import verbs
from holdfast.client.asking import Asker, asked
from holdfast.client.errors import error_of
from holdfast.client.transport import Request
from holdfast.errors import ServiceError
from holdfast.records.knowledge.documents.reading import format_of
from holdfast.records.knowledge.knowledge import Document, ReadLimits, loaded
from holdfast.types import Drained

#: The service works for at most this long at a time; then it is asked to go on.
_ONE_DRAIN = 10.0


def add_document(
    asker: Asker,
    source: str | bytes | Path,
    *,
    name: str | None = None,
    format: str | None = None,
    user: str | None = None,
    workspace: str = "default",
    metadata: Mapping[str, Any] | None = None,
) -> Document:
    """Read a file here, and send it as it is."""
    data, file_name = loaded(source, ReadLimits().bytes)
    called = name if name is not None else file_name
    if isinstance(data, str):  # What is a text here comes as bytes there.
        format = format_of(data, called or "", format)
        data = data.encode("utf-8", "surrogatepass")
    return asker.ask(
        verbs.ADD_DOCUMENT,
        data,
        name=called,
        format=format,
        user=user,
        workspace=workspace,
        metadata=metadata,
    )


def drain(asker: Asker, timeout: float | None = None) -> Drained:
    """Let the service work off what waits, a while at a time."""
    began = time.monotonic()
    done = dead = 0
    while True:
        spent = time.monotonic() - began
        part = _drained(asker, _ONE_DRAIN if timeout is None else max(timeout - spent, 0.0))
        done, dead, spent = done + part.done, dead + part.dead, time.monotonic() - began
        if not part.pending or (timeout is not None and spent >= timeout):
            return Drained(done, dead, spent, part.pending)


def _drained(asker: Asker, seconds: float) -> Drained:
    request = asked(verbs.DRAIN, {"timeout": min(seconds, _ONE_DRAIN)})
    answer = asker.loaded(request, patience=_ONE_DRAIN)
    found: Drained = asker.read(Drained, answer)
    return found


def now(asker: Asker) -> datetime:
    """The time by the clock of the service, to the second."""
    reply = asker.transport.exchange(Request("GET", "/health"))
    told = reply.headers.get("date")
    if told is None:
        if reply.status >= 400:
            raise error_of(reply, asker.transport.address)
        raise ServiceError(f"{asker.transport.address} does not tell the time")
    return parsedate_to_datetime(told).astimezone(UTC)


def warm(asker: Asker) -> None:
    """Nothing: a service loads its model when it starts."""
