"""What hand-written routes are given, and how they answer."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from fastapi import Depends, Request, Response

from holdfast.catalogue.codec import dumps
from holdfast.memory.memory import Memory
from holdfast.service.http.wait import WaitingRoom


async def _memory(request: Request) -> Memory:
    memory = request.app.state.memory
    assert isinstance(memory, Memory)
    return memory


async def _waiting_room(request: Request) -> WaitingRoom:
    room = request.app.state.waiting_room
    assert isinstance(room, WaitingRoom)
    return room


Held = Annotated[Memory, Depends(_memory)]
Waiting = Annotated[WaitingRoom, Depends(_waiting_room)]


def json_response(
    value: Any, *, status: int = 200, headers: Mapping[str, str] | None = None
) -> Response:
    """A value as an answer."""
    return Response(
        dumps(value), status, headers=dict(headers or {}), media_type="application/json"
    )


def printable(text: str) -> str:
    """A caller's text as JSON in UTF-8 can hold it."""
    return text.encode("utf-8", "replace").decode()
