"""GET /v1/stream: what happens to one user's memories, as server-sent events.

One poller looks at the feeds of all users that somebody listens to: one tiny read for each, four
times a second, so that what other processes write is seen as well. Whoever comes back with
`Last-Event-ID` is told what was missed. A stream ends when its key or session does, when its reader
does not read, and at once when the service stops.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from fastapi import APIRouter, HTTPException, Request
from starlette.concurrency import run_in_threadpool
from starlette.responses import Response
from starlette.types import Receive, Send
from starlette.types import Scope as AsgiScope

from holdfast.border import validate
from holdfast.catalogue.codec import dumps
from holdfast.errors import HoldfastError, InvalidInput
from holdfast.memory.memory import Memory
from holdfast.service.http.auth import check_within, key_of
from holdfast.service.http.guard import session_of
from holdfast.service.http.limits import ConcurrencyLimit
from holdfast.service.webhooks import (
    BURIED,
    checked_names,
    event,
    is_wanted,
    microseconds,
    moment,
    news_after,
)
from holdfast.store.values import Happened, Mark
from holdfast.types import ApiKey, Scope

# The frames of the event stream: how what happens is written, and where a reader stood.


def to_frames(batch: list[Happened], begin: Mark, names: tuple[str, ...]) -> bytes:
    """Events as SSE frames. The last of those with one number carries the id."""
    lines, at_us = [], begin.at_us
    for index, each in enumerate(batch):
        at_us = max(at_us, each.at_us)
        if not is_wanted(each, names):
            continue
        is_last = index + 1 == len(batch) or batch[index + 1].change != each.change
        id = f"id: {begin.epoch}-{each.change}-{at_us}\n" if is_last else ""
        told = event(each)
        lines.append(f"{id}event: {told['type']}\ndata: {dumps(told).decode()}\n\n")
    return "".join(lines).encode()


def dead_letter_frames(died: list[dict[str, Any]], names: tuple[str, ...]) -> bytes:
    """Dead letters as SSE frames."""
    if names and BURIED not in names:
        return b""
    return b"".join(b"event: job.dead\ndata: %s\n\n" % dumps(each) for each in died)


def mark_of(text: str) -> Mark:
    """The position that a `Last-Event-ID` names."""
    parts = text.strip().split("-")
    if len(parts) != 3 or not all(part.isascii() and part.isdecimal() for part in parts):
        raise InvalidInput("Last-Event-ID is none of this stream", field="Last-Event-ID")
    return Mark(*(min(int(part[:19]), (1 << 62) - 1) for part in parts))


_LOOK_SECONDS = 0.25
_KEYS_SECONDS = 1.0
_HEARTBEAT_SECONDS = 15.0
#: A reader that takes nothing for so long is gone.
_STUCK_SECONDS = 20.0
_MOST_STREAMS = 2048
_MOST_OF_A_KEY = 512
_AT_ONCE = 500
_HEADERS = [(b"content-type", b"text/event-stream; charset=utf-8"), (b"x-accel-buffering", b"no")]

#: By the id of a job its memory and its step.
_Dead = dict[int, tuple[str, str]]
_MOST_DEAD = 1000

routes = APIRouter()


@routes.get(
    "/v1/stream",
    tags=["stream"],
    summary="What happens, as server-sent events; it goes on until somebody ends it.",
    response_class=Response,
    responses={200: {"content": {"text/event-stream": {"schema": {"type": "string"}}}}},
    openapi_extra={
        "parameters": [
            {"name": name, "in": place, "required": False, "schema": {"type": "string"}}
            for name, place in (
                ("user_id", "query"),
                ("workspace_id", "query"),
                ("events", "query"),
                ("Last-Event-ID", "header"),
            )
        ]
    },
)
async def stream(request: Request) -> Response:
    """Tell what happens to one user's memories from now on, or since `Last-Event-ID`."""
    key = key_of(request)
    scope = _scope(key, request.query_params)
    names = checked_names(
        [name for text in request.query_params.getlist("events") for name in text.split(",")],
        also=BURIED,
    )
    streams = request.app.state.streams
    assert isinstance(streams, Streams)
    state = request.app.state
    session = "" if state.operator else session_of(request.headers)
    listener = Listener(scope, key, names, lambda: not session or state.keyring.is_open(session))
    sent = request.headers.get("last-event-id", "")
    if sent:
        listener.mark = mark_of(sent)
    return EventStream(streams, listener)


def _scope(key: ApiKey, params: Mapping[str, str]) -> Scope:
    for name in params:
        if name not in ("user_id", "workspace_id", "events"):
            raise InvalidInput(f"{name:.64} is not a field of this request", field=name)
    check_within(key, workspace=params.get("workspace_id"), user=params.get("user_id"))
    return validate.scope(workspace=key.workspace, user=params.get("user_id", key.user))


@dataclass(eq=False, slots=True)
class Listener:
    """One open stream."""

    scope: Scope
    key: ApiKey
    names: tuple[str, ...]
    #: Whether the session that it came with, if any, has not ended.
    is_open: Callable[[], bool]
    #: How far it was told; None: from now on.
    mark: Mark | None = None
    #: What happened, and why it is over.
    news: asyncio.Event = field(default_factory=asyncio.Event)
    over: bool = False
    #: Dead letters, which no number counts: who was away is not told of them.
    died: list[dict[str, Any]] = field(default_factory=list)

    def end(self) -> None:
        """Let it say goodbye."""
        self.over = True
        self.news.set()


@dataclass(slots=True)
class _ListenedUser:
    """A user whose feed somebody listens to."""

    mark: Mark
    dead: frozenset[int]
    listeners: set[Listener] = field(default_factory=set)
    #: The last news, for all who stood where it begins.
    since: Mark | None = None
    batch: list[Happened] = field(default_factory=list)
    #: Ids that were told as new: the store tells some of them twice when they change at once.
    new: dict[str, None] = field(default_factory=dict)

    def move(self, mark: Mark, batch: list[Happened], dead: _Dead | None) -> None:
        """Go on to a mark, and let the listeners know."""
        died = [
            {"type": BURIED, "job": job, "id": subject, "step": step, "at": moment(mark.at_us)}
            for job, (subject, step) in (dead or {}).items()
            if job not in self.dead
        ]
        batch = self._once(batch)
        self.since, self.batch, self.mark = self.mark, batch, mark
        if dead is not None:
            self.dead = frozenset(dead)
        for listener in self.listeners:
            if batch or died:
                listener.died = (listener.died + died)[-_AT_ONCE:]
                listener.news.set()
            elif listener.mark == self.since:
                # Only vectors: nothing to tell, but who comes back need not look there.
                listener.mark = mark

    def _once(self, batch: list[Happened]) -> list[Happened]:
        told = []
        for each in batch:
            if each.action != "stored" or each.id not in self.new:
                told.append(each)
            if each.action == "stored":
                self.new[each.id] = None
        for id in list(self.new)[: max(0, len(self.new) - 2 * _AT_ONCE)]:
            del self.new[id]
        return told


class Streams:
    """The open streams of the service, and the poller that feeds them."""

    def __init__(self, memory: Memory) -> None:
        self._memory = memory
        self._followed: dict[Scope, _ListenedUser] = {}
        self._known: set[str] = set()
        self._poller: asyncio.Task[None] | None = None
        self._wake = asyncio.Event()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._closing = False
        self.places = ConcurrencyLimit(
            _MOST_OF_A_KEY, "this key has {most} streams, which is the limit"
        )

    @property
    def count(self) -> int:
        """How many listen."""
        return sum(len(each.listeners) for each in self._followed.values())

    def wake(self) -> None:
        """Something was written here: look now. For the thread of the event loop."""
        if self._followed:
            self._wake.set()

    def close(self) -> None:
        """End every stream, now and from now on; any thread may call it, a signal too."""
        self._closing = True
        if self._loop is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._end, None)

    async def stop(self) -> None:
        """For the end of the event loop."""
        self._closing = True
        self._end(None)
        if self._poller is not None:
            self._poller.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._poller

    def _end(self, keys: Iterable[str] | None) -> None:
        for each in self._followed.values():
            for listener in each.listeners:
                if keys is None or listener.key.id in keys or not listener.is_open():
                    listener.end()

    async def join(self, listener: Listener) -> None:
        """Begin to listen."""
        if self._closing or self.count >= _MOST_STREAMS:
            raise HTTPException(503, "no more streams here now", headers={"retry-after": "5"})
        self._loop = asyncio.get_running_loop()
        head, dead, known = await run_in_threadpool(self._stand, listener.scope)
        self._known |= known
        followed = self._followed.setdefault(listener.scope, _ListenedUser(head, dead))
        if listener.mark is None:
            listener.mark = followed.mark
        elif listener.mark != followed.mark:
            listener.news.set()
        followed.listeners.add(listener)
        if self._poller is None or self._poller.done():
            self._poller = asyncio.create_task(self._poll())

    def leave(self, listener: Listener) -> None:
        """Listen no longer."""
        followed = self._followed.get(listener.scope)
        if followed is None:
            return
        followed.listeners.discard(listener)
        if not followed.listeners:
            del self._followed[listener.scope]

    async def news_for(self, listener: Listener) -> tuple[Mark, list[Happened]]:
        """What one was not told yet, and after which mark; `news` is set again if there is more."""
        followed, begin = self._followed[listener.scope], listener.mark
        assert begin is not None
        if begin == followed.since:
            listener.mark = followed.mark
            return begin, followed.batch
        news = await run_in_threadpool(self._news_after, listener.scope, begin, followed.mark)
        begin, batch, listener.mark = news
        if len(batch) >= _AT_ONCE:
            listener.news.set()
        return begin, batch

    def _stand(self, scope: Scope) -> tuple[Mark, frozenset[int], set[str]]:
        store = self._memory.store
        known = {key.id for key, _ in store.api_keys()}
        return self._head(scope), frozenset(self._dead_jobs(scope)), known

    def _dead_jobs(self, scope: Scope) -> _Dead:
        """Dead letters of a user by their id: the memory and the step."""
        found = self._memory.store.jobs(states=("dead",), scope=scope, limit=_MOST_DEAD)
        return {job.id: (job.subject, job.step) for job in found}

    def _head(self, scope: Scope) -> Mark:
        now = microseconds(self._memory.now())
        head = self._memory.store.head(scope)
        return Mark(head.epoch, head.change, now)

    def _news_after(
        self, scope: Scope, begin: Mark, stand: Mark
    ) -> tuple[Mark, list[Happened], Mark]:
        return news_after(self._memory.store, scope, begin, stand, limit=_AT_ONCE)

    async def _poll(self) -> None:
        """Look at every feed that somebody follows, until nobody does."""
        looked = 0.0
        while self._followed and not self._closing:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._wake.wait(), _LOOK_SECONDS)
            self._wake.clear()
            now = asyncio.get_running_loop().time()
            more = now - looked >= _KEYS_SECONDS
            try:
                await self._look(dead_too=more)
                if more:
                    looked = now
                    self._end(await run_in_threadpool(self._ended_keys))
            except HoldfastError:
                # The store is busy or closed: what happened is still there when it is back.
                await asyncio.sleep(_KEYS_SECONDS)

    async def _look(self, *, dead_too: bool) -> None:
        stood = {scope: (each.mark, each.dead) for scope, each in self._followed.items()}
        for scope, moved in (await run_in_threadpool(self._find_news, stood, dead_too)).items():
            followed = self._followed.get(scope)
            if followed is not None and followed.mark == stood[scope][0]:
                followed.move(*moved)

    def _find_news(
        self, stood: Mapping[Scope, tuple[Mark, frozenset[int]]], dead_too: bool
    ) -> dict[Scope, tuple[Mark, list[Happened], _Dead | None]]:
        """Users of whom there is something new. On a worker thread."""
        moved = {}
        any_dead = dead_too and bool(self._memory.store.jobs(states=("dead",), limit=1))
        for scope, (mark, dead) in stood.items():
            head = self._head(scope)
            changed = (head.epoch, head.change) != (mark.epoch, mark.change)
            if not changed and not any_dead:
                continue
            now_dead = self._dead_jobs(scope) if any_dead else None
            if not changed and not set(now_dead or ()) - dead:
                continue
            batch: list[Happened] = []
            if changed:
                _, batch, head = self._news_after(scope, mark, head)
            moved[scope] = (head, batch, now_dead)
        return moved

    def _ended_keys(self) -> set[str]:
        """Keys that open nothing any more. One that was never in the store is not of it."""
        now, ended = self._memory.now(), set(self._known)
        for key, _ in self._memory.store.api_keys():
            expired = key.expires_at is not None and key.expires_at <= now
            if key.revoked_at is None and not expired:
                ended.discard(key.id)
        return ended


class EventStream(Response):
    """The response that sends events until somebody ends it."""

    def __init__(self, streams: Streams, listener: Listener) -> None:
        super().__init__()
        self._streams = streams
        self._listener = listener

    async def __call__(self, scope: AsgiScope, receive: Receive, send: Send) -> None:
        with self._streams.places.taken(self._listener.key.id):
            await self._listen(receive, send)

    async def _listen(self, receive: Receive, send: Send) -> None:
        await self._streams.join(self._listener)
        gone = asyncio.create_task(_gone(receive, self._listener))
        try:
            head = {"type": "http.response.start", "status": 200, "headers": _HEADERS}
            await send(head)
            await _within(send(_body(b": listening\n\n")))
            await self._tell(send)
        except TimeoutError:
            pass  # It does not read: cut off.
        finally:
            gone.cancel()
            self._streams.leave(self._listener)

    async def _tell(self, send: Send) -> None:
        listener = self._listener
        while not listener.over:
            try:
                await asyncio.wait_for(listener.news.wait(), _HEARTBEAT_SECONDS)
            except TimeoutError:
                await _within(send(_body(b":\n\n")))
                continue
            listener.news.clear()
            if listener.over:
                break
            begin, batch = await self._streams.news_for(listener)
            died, listener.died = listener.died, []
            text = to_frames(batch, begin, listener.names) + dead_letter_frames(
                died, listener.names
            )
            if text:
                await _within(send(_body(text)))
        await _within(send(_body(b"event: end\ndata: {}\n\n", more=False)))


async def _gone(receive: Receive, listener: Listener) -> None:
    """Waits until the reader hangs up, or sends what it should not."""
    with contextlib.suppress(HTTPException):
        while (await receive())["type"] != "http.disconnect":
            pass
    listener.end()


async def _within(sending: Awaitable[None]) -> None:
    await asyncio.wait_for(sending, _STUCK_SECONDS)


def _body(text: bytes, *, more: bool = True) -> dict[str, Any]:
    return {"type": "http.response.body", "body": text, "more_body": more}
