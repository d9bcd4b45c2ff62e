"""ETags: what is asked for again and has not changed is not sent again.

Every JSON answer to a GET has the digest of its bytes as a strong tag; `If-None-Match` with it is
answered by 304. `If-Match` on a change is in `verbs.py`: it compares the same tag.
"""

from __future__ import annotations

import hashlib

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

_DIGEST_CHARS = 32
_OF_A_BODY = ("content-length", "content-type")


def etag_of(body: bytes) -> str:
    """The strong tag of an answer."""
    return f'"{hashlib.sha256(body).hexdigest()[:_DIGEST_CHARS]}"'


def is_named(header: str, tag: str) -> bool:
    """Whether a header with tags names this one, or all of them."""
    given = [each.strip().removeprefix("W/") for each in header.split(",")]
    return "*" in given or tag in given


class Etags:
    """ASGI middleware that tags the answers to GET."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["method"] != "GET":
            await self._app(scope, receive, send)
            return
        asked = Headers(scope=scope).get("if-none-match", "")
        start: Message | None = None

        async def tagging(message: Message) -> None:
            nonlocal start
            if message["type"] == "http.response.start" and _is_tagged(message):
                start = message  # It waits for the body, which is one piece.
                return
            if start is not None:
                first, start = start, None
                if not message.get("more_body", False):
                    message = _tagged(first, message, asked)
                await send(first)
            await send(message)

        await self._app(scope, receive, tagging)


def _is_tagged(message: Message) -> bool:
    headers = Headers(raw=message["headers"])
    is_json = headers.get("content-type", "").startswith("application/json")
    return message["status"] == 200 and is_json and "content-length" in headers


def _tagged(start: Message, body: Message, asked: str) -> Message:
    """Tag an answer; the body to send, which is empty when the asker has it."""
    tag = etag_of(body.get("body", b""))
    headers = MutableHeaders(raw=start["headers"])
    headers["etag"] = tag
    if not asked or not is_named(asked, tag):
        return body
    start["status"] = 304
    start["headers"] = [
        pair for pair in start["headers"] if pair[0].decode("latin-1").lower() not in _OF_A_BODY
    ]
    return {"type": "http.response.body", "body": b""}
