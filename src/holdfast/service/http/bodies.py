"""Reading the body of a request within its limits: so many bytes, in so many seconds."""

from __future__ import annotations

import asyncio

from fastapi import HTTPException
from starlette.types import Message, Receive

#: What is still coming would be taken for the next request.
_CLOSE = {"connection": "close"}


def bounded(receive: Receive, *, most: int, seconds: float) -> Receive:
    """`receive`, which raises once the body is too long or has taken too long to arrive."""
    read, arrived = 0, False
    deadline = asyncio.get_running_loop().time() + seconds

    async def counting() -> Message:
        nonlocal read, arrived
        if arrived:  # What comes now is the end of the connection: that may take its time.
            return await receive()
        try:
            async with asyncio.timeout_at(deadline):
                message = await receive()
        except TimeoutError:
            words = f"the body did not arrive within {seconds:g} seconds"
            raise HTTPException(408, words, headers=_CLOSE) from None
        arrived = not message.get("more_body", False)
        read += len(message.get("body", b""))
        if read > most:
            raise too_large(most)
        return message

    return counting


def too_large(most: int) -> HTTPException:
    """What says so, with the number."""
    return HTTPException(413, f"the body is over the limit of {most} bytes", headers=_CLOSE)
