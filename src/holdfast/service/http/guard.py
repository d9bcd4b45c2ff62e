"""The guard in front of every route, in this order:

1. With too many requests under way another one is turned away. What needs no key has places of
   its own, and /health as many as it likes.
2. A request that a foreign web page sent (Origin, Sec-Fetch-Site) or that came for a foreign name
   (Host: DNS rebinding) is refused, key or not.
3. A body that is packed, or announced as too long, is refused unread.
4. Everything but GET /health, sign-in and the files of the window (window.py), which hold no data,
   needs a valid key, also paths that do not exist; a key has so many requests a minute, and at
   one time. A web page's session must show, before it changes anything, that the request is the
   page's own.
5. A body that is too long or too slow is cut off while it is read; sooner where no key is needed.
6. An error that nobody foresaw becomes a bare 500. Its text may hold somebody's memory: only its
   type and its place are logged.

Every answer carries the same few security headers and the id of the request. What was refused for
want of a key or of rights is noted in the audit log, so much a minute.
"""

from __future__ import annotations

import asyncio
import logging
import re
import uuid
from collections.abc import Collection
from contextlib import ExitStack
from functools import partial
from ipaddress import ip_address
from urllib.parse import urlsplit

from fastapi import HTTPException
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import Headers, State
from starlette.requests import ClientDisconnect, cookie_parser
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from holdfast.errors import HoldfastError
from holdfast.memory.memory import Memory
from holdfast.models.base import paying
from holdfast.service.http.audit import SAFE_METHODS, audit_line, unnoted_action
from holdfast.service.http.auth import Keyring, secret_of
from holdfast.service.http.errors import fault, fault_of
from holdfast.service.http.limits import ConcurrencyLimit, RateLimit
from holdfast.service.logs import place_of
from holdfast.types import ApiKey

# Reading the body of a request within its limits: so many bytes, in so many seconds.

#: What is still coming would be taken for the next request.
_CLOSE = {"connection": "close"}


def with_limits(receive: Receive, *, most: int, seconds: float) -> Receive:
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
    """The error for a body over the limit."""
    return HTTPException(413, f"the body is over the limit of {most} bytes", headers=_CLOSE)


# What every request carries: its id.

_SANE = re.compile(r"[A-Za-z0-9._:-]{1,128}")


def request_id(headers: Headers) -> str:
    """The id that the caller gave a request if it can stand in a log, else a new one."""
    given = headers.get("x-request-id", "")
    return given if _SANE.fullmatch(given) else uuid.uuid4().hex


log = logging.getLogger("holdfast.http")

COOKIE = "holdfast_session"
#: What needs no key; and no more of a body than a key takes.
_HEALTH = ("GET", "/health")
_SIGN_IN = ("POST", "/v1/sign-in")
_OPEN = frozenset({_HEALTH, _SIGN_IN, ("GET", "/"), ("HEAD", "/")})
#: What the window is made of needs none, either.
_ASSETS = "/assets/"
_OPEN_BODY_BYTES = 4096
_OPEN_BODY_SECONDS = 2.0
_OPEN_AT_ONCE = 64
#: What goes on until somebody ends it: service/http/stream.py and service/mcp/http.py count these.
_LASTING = frozenset({("GET", "/v1/stream"), ("GET", "/mcp")})
_LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})
_ANY_ADDRESS = frozenset({"0.0.0.0", "::"})
#: Lines of the audit log for what one key, or nobody's, was refused in a minute.
_REFUSALS_PER_MINUTE = 20
_HEADERS = (
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"cache-control", b"no-store"),
    (b"content-security-policy", b"default-src 'none'; frame-ancestors 'none'"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"referrer-policy", b"no-referrer"),
)


class Guard:
    """ASGI middleware around the whole application."""

    def __init__(self, app: ASGIApp, *, state: State, hosts: Collection[str]) -> None:
        service = state.memory.config.service
        self._app = app
        self._state = state
        self._memory: Memory = state.memory
        named = [*hosts, *(name.strip() for name in service.hosts.split(",") if name.strip())]
        self._hosts = _LOOPBACK | {host.lower().strip("[]") for host in named}
        board = None if state.member is None else state.member.board
        self._rates = RateLimit(service.requests_per_minute, buckets=board)
        self._refusals = RateLimit(_REFUSALS_PER_MINUTE, buckets=board, of="refusals ")
        self._under_way = 0
        self._open = ConcurrencyLimit(
            _OPEN_AT_ONCE,
            "{most} are signing in or loading the page, which is the limit: try again",
            status=503,
        )
        most = min(service.connections_per_key or service.connections, service.connections)
        words = "this key has {most} requests under way, which is the limit: try again"
        self._of_key = ConcurrencyLimit(most, words)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        status, id = 0, request_id(Headers(scope=scope))
        scope["holdfast.request"] = id

        async def sending(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                message["headers"] = _with_ours(message.get("headers", ()), id)
            await send(message)

        counts = not _is_open(scope)
        self._under_way += counts
        try:
            await self._answer(scope, receive, sending)
        except ClientDisconnect:
            return
        except Exception as error:  # noqa: BLE001 (the outermost door)
            log.error("%s at %s", type(error).__name__, place_of(error))
            if not status:
                answer = fault(500, "something went wrong here", path=scope["path"])
                await answer(scope, receive, sending)
        finally:
            self._under_way -= counts
        await self._note(scope, status)

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        with ExitStack() as places:
            try:
                await self._admit(scope, places)
            except HTTPException as error:
                status, path = error.status_code, scope["path"]
                answer = fault(status, error.detail, headers=error.headers, path=path)
                await answer(scope, receive, send)
            except HoldfastError as error:
                await fault_of(error, path=scope["path"])(scope, receive, send)
            else:
                seconds = self._memory.config.service.body_seconds
                if _is_open(scope):
                    seconds = min(seconds, _OPEN_BODY_SECONDS)
                limited = with_limits(receive, most=self._most_bytes(scope), seconds=seconds)
                await self._app(scope, limited, send)

    async def _admit(self, scope: Scope, places: ExitStack) -> None:
        asked = (scope["method"], scope["path"])
        headers = Headers(scope=scope)
        most = self._memory.config.service.connections
        if self._under_way > most and not _is_open(scope):
            words = f"{most} requests are under way, which is the limit: try again"
            raise HTTPException(503, words, headers={"retry-after": "1"})
        if self._is_foreign(headers, scope["method"]):
            raise HTTPException(403, "this Host or Origin is not served here")
        self._check_body(scope, headers)
        _refuse_former_names(headers)
        if _is_open(scope):
            if asked != _HEALTH:
                places.enter_context(self._open.taken("sign-in" if asked == _SIGN_IN else "window"))
            return
        key = await self._key(scope, headers)
        if key is None:
            words = "a valid key is required: Authorization: Bearer <key>"
            raise HTTPException(401, words, headers={"www-authenticate": "Bearer"})
        scope["holdfast.key"] = key
        places.enter_context(paying(partial(self._state.llm_quota.question, key)))
        self._rates.check(key.id)
        if asked not in _LASTING:
            places.enter_context(self._of_key.taken(key.id))
        if scope["method"] not in SAFE_METHODS and key.role != "read":
            await self._state.backlog.look()

    async def _key(self, scope: Scope, headers: Headers) -> ApiKey | None:
        is_safe = scope["method"] in SAFE_METHODS
        operator: ApiKey | None = self._state.operator
        if operator is not None:
            # Without keys nothing but this keeps a page on another port of this host from writing.
            if not is_safe and _is_of_a_page(headers) and not _is_own(headers):
                raise HTTPException(403, "a page must send this from an Origin that is ours")
            return operator
        key = await key_presented(self._state.keyring, headers)
        if key is None or secret_of(headers) or is_safe:
            return key
        if not _is_own(headers):
            words = "a session needs the header X-Holdfast-Request: 1, or an Origin that is ours"
            raise HTTPException(403, words)
        return key

    def _check_body(self, scope: Scope, headers: Headers) -> None:
        packing = headers.get("content-encoding", "identity").strip().lower()
        if packing not in ("", "identity"):
            raise HTTPException(415, "content-encoding must be identity: send the body unpacked")
        announced, most = headers.get("content-length", ""), self._most_bytes(scope)
        if announced.isdecimal() and int(announced[:20]) > most:
            raise too_large(most)

    def _most_bytes(self, scope: Scope) -> int:
        most = self._memory.config.limits.body_bytes
        return min(most, _OPEN_BODY_BYTES) if _is_open(scope) else most

    def _is_foreign(self, headers: Headers, method: str) -> bool:
        if not self._is_ours("//" + headers.get("host", "")):
            return True
        if headers.get("sec-fetch-site") == "cross-site":
            # A link to a page of ours may stand anywhere; a form may not.
            return headers.get("sec-fetch-mode") != "navigate" or method not in SAFE_METHODS
        origin = headers.get("origin")
        if origin is None:
            return False
        return not (origin.startswith(("http://", "https://")) and self._is_ours(origin))

    def _is_ours(self, url: str) -> bool:
        try:
            host = urlsplit(url).hostname or ""
        except ValueError:
            return False
        if "@" in url:
            return False
        if host in self._hosts:
            return True
        # Bound to every address, we do not know our names; an address cannot be rebound.
        return bool(self._hosts & _ANY_ADDRESS) and _is_address(host)

    async def _note(self, scope: Scope, status: int) -> None:
        """Write down that somebody was refused, or changed what nobody else wrote down."""
        key: ApiKey | None = scope.get("holdfast.key")
        if status in (401, 403):
            if self._refusals.wait("" if key is None else key.id):
                return
            template = getattr(scope.get("route"), "path", None)
            subject = None if template is None else f"{scope['method']} {template}"
            line = ("request", subject, "refused")
        elif status and status < 400 and (found := unnoted_action(scope)):
            line = (*found, "done")
        else:
            return
        try:
            await run_in_threadpool(audit_line, self._memory.store, self._state.clock, key, *line)
        except HoldfastError as error:
            log.warning("the audit log could not be written: %s", type(error).__name__)


async def key_presented(keyring: Keyring, headers: Headers) -> ApiKey | None:
    """The valid key of a request, by its secret or by its session."""
    if secret := secret_of(headers):
        return await keyring.of_secret(secret)
    return await keyring.of_session(session_of(headers))


def session_of(headers: Headers) -> str:
    """The session of a request that shows no secret; "" when there is none."""
    if secret_of(headers):
        return ""
    return cookie_parser(headers.get("cookie", "")).get(COOKIE, "")


def security_headers() -> tuple[tuple[bytes, bytes], ...]:
    """The headers that every answer carries."""
    return _HEADERS


def _is_open(scope: Scope) -> bool:
    method, path = scope["method"], scope["path"]
    return (method, path) in _OPEN or (method in ("GET", "HEAD") and path.startswith(_ASSETS))


def _refuse_former_names(headers: Headers) -> None:
    for name in headers:
        if name.startswith("x-recollect-"):
            now = name.replace("recollect", "holdfast", 1)
            raise HTTPException(400, f"the header {name} is called {now} now")


def _is_of_a_page(headers: Headers) -> bool:
    """Whether a browser sent this for a page."""
    return "origin" in headers or headers.get("sec-fetch-site", "none") != "none"


def _is_own(headers: Headers) -> bool:
    """Whether a page of ours sent this. Pages on other ports of this host share its cookies."""
    if headers.get("x-holdfast-request") == "1":
        return True
    return urlsplit(headers.get("origin", "")).netloc.lower() == headers.get("host", "").lower()


def _with_ours(headers: Collection[tuple[bytes, bytes]], id: str) -> list[tuple[bytes, bytes]]:
    """The headers of an answer with those that every answer has; its own ones win."""
    have = {name.lower() for name, _ in headers}
    ours = (pair for pair in (*_HEADERS, (b"x-request-id", id.encode())) if pair[0] not in have)
    return [*headers, *ours]


def _is_address(host: str) -> bool:
    try:
        ip_address(host)
    except ValueError:
        return False
    return True
