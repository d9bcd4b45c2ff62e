"""An OpenAI-compatible model with memory: `/v1/proxy` as the base URL of any program.

Before a call the memories that it needs are put into it; after it, what the user said and what the
model answered are remembered. Everything else passes through as it is, errors too. Memory that
fails fails nobody: the call goes through without, and a header says so. See docs/howto/proxy.md.
"""

from __future__ import annotations

import json
import logging
import math
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from hashlib import sha256
from typing import Any, TypeVar
from urllib.parse import quote

import anyio
import anyio.to_thread
from fastapi import APIRouter, FastAPI, HTTPException, Request, Response
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import Headers

from holdfast.border import validate
from holdfast.errors import InvalidInput, ScopeError, StoreBusy, Throttled, TooLarge
from holdfast.memory.memory import Memory
from holdfast.models.budget import Limit, Size
from holdfast.service.http.auth import check_within, header_text, key_of, require_role
from holdfast.service.http.limits import LlmQuota
from holdfast.service.http.wire import parse_json
from holdfast.service.proxy.relay import (
    Payer,
    Relay,
    Upstream,
    UpstreamCall,
    refusal,
    to_send,
)
from holdfast.service.proxy.shape import (
    Chat,
    ChatTurn,
    OverheardAnswer,
    Responses,
    Shape,
    tokens_of,
    tokens_sent,
)
from holdfast.types import ApiKey, Context, Role, Scope

# What was said through the proxy is remembered when the answer is through, on threads of its own.
#
# It neither delays nor fails a call: what cannot be stored is logged by its kind. A turn that is
# sent again in the same hour is not stored again, because its key comes from the conversation
# itself: the same words, with the same words before them. `close` waits for what is under way.

log = logging.getLogger("holdfast.http")

_THREADS = 4
#: More than can wait when a store stands still: beyond it turns are dropped, and that is logged.
_MOST_WAITING = 1000
#: Of more turns at once that no answer stands between, the last so many.
_MOST_NEW = 100
_PAUSES = (0.5, 2.0, 8.0)
#: Before the keys of the proxy: no caller can send one that begins so.
_KEY = "\x01proxy:"


@dataclass(frozen=True, slots=True)
class CallToRemember:
    """A call whose turns are to be remembered."""

    scope: Scope
    turns: Sequence[ChatTurn]
    #: What else tells this conversation from another, such as the id of the answer before.
    thread: Sequence[object] = ()


class TurnRecorder:
    """Remembers the turns of calls, on threads of its own."""

    def __init__(self, memory: Memory, clock: Callable[[], datetime]) -> None:
        self._memory = memory
        self._clock = clock
        # One thread for all of a user: what was said first is stored first.
        self._threads = [
            ThreadPoolExecutor(1, thread_name_prefix="holdfast-proxy") for _ in range(_THREADS)
        ]
        self._waiting = threading.Semaphore(_MOST_WAITING)
        self._closing = threading.Event()

    def keep(self, heard: CallToRemember, answer: OverheardAnswer | None) -> None:
        """Remember the new turns of a call, and its answer if all of it came; returns at once."""
        if not self._waiting.acquire(blocking=False):
            log.error("a turn of the proxy was not remembered: too many are waiting")
            return
        whose = hash((heard.scope.workspace, heard.scope.user)) % _THREADS
        try:
            self._threads[whose].submit(self._remember_or_log, heard, answer)
        except RuntimeError:  # Closed: the service ends while this call was still under way.
            log.error("a turn of the proxy was not remembered: the service ended")

    def close(self) -> None:
        """Wait for what is under way, without further tries for what fails."""
        self._closing.set()
        for each in self._threads:
            each.shutdown()

    def _remember_or_log(self, heard: CallToRemember, answer: OverheardAnswer | None) -> None:
        try:
            self._remember(heard, answer)
        except Exception as error:  # noqa: BLE001 (nobody waits for it: the log is told)
            # Its kind alone: its text may quote what was said.
            log.error("a turn of the proxy was not remembered: %s", type(error).__name__)
        finally:
            self._waiting.release()

    def _remember(self, heard: CallToRemember, answer: OverheardAnswer | None) -> None:
        scope, hour = heard.scope, self._clock().strftime("%Y-%m-%dT%H")
        so_far = sha256(_plain([scope.agent, scope.session, heard.thread, hour]))
        for number, turn in enumerate(heard.turns):
            so_far.update(_plain([turn.role, turn.name, turn.text]))
            if turn.new and number >= len(heard.turns) - _MOST_NEW:
                self._store_turn(scope, turn.message(), so_far.hexdigest())
        text = "".join(answer.pieces) if answer else ""
        if answer and text.strip():
            so_far.update(_plain([answer.id, text]))
            self._store_turn(scope, {"role": "assistant", "content": text}, so_far.hexdigest())

    def _store_turn(self, scope: Scope, message: dict[str, Any], key: str) -> None:
        for pause in (*_PAUSES, None):
            try:
                self._memory.remember(
                    message, user=scope.user, workspace=scope.workspace, agent=scope.agent,
                    session=scope.session, key=_KEY + key,
                )  # fmt: skip
            except StoreBusy:
                if pause is None or self._closing.wait(pause):
                    raise
            except InvalidInput as error:  # A turn over a limit does not cost the others.
                log.error("a turn of the proxy was not remembered: %s", type(error).__name__)
                return
            else:
                return


def _plain(value: object) -> bytes:
    return json.dumps(value).encode() + b"\n"


_T = TypeVar("_T")
_USER = "X-Holdfast-User"
_BUDGET = "X-Holdfast-Budget"
_REMEMBER = "X-Holdfast-Remember"
_MEMORY = "X-Holdfast-Memory"
_MOST_BUDGET = 200_000
#: A call waits no longer than this for its memories.
_PATIENCE_S = 5.0
#: What was said before these turns is not what is being talked about.
_TALK_TURNS = 20
#: Fields of a call that say which conversation it goes on with.
_THREAD = ("previous_response_id", "conversation")
#: Fields that make a model read what was not sent.
_UNSEEN = (*_THREAD, "prompt")
#: Around a block of memories stands no more than this.
_AROUND_BYTES = 16
#: Less than this takes less time than to hand it to a thread.
_SMALL_BYTES = 32 * 1024
_METHODS = ["GET", "POST", "PUT", "PATCH", "DELETE"]
#: What the core calls a part of a scope, and the header that says it.
_HEADERS = {"user": _USER, "agent": "X-Holdfast-Agent", "session": "X-Holdfast-Session"}
_EXAMPLE = [{"role": "user", "content": "Where do I live?"}]
_NO_MODEL = (
    "no model stands behind this proxy: set proxy.url (HOLDFAST_PROXY_URL) to the address of an"
    " OpenAI-compatible server, such as http://127.0.0.1:8080/v1, and restart"
)
_NO_BACKGROUND = (
    "background must not be set: what such a call takes cannot be counted, and this key has a limit"
)
_NO_PATH = (
    "this proxy serves POST chat/completions, responses and embeddings, and GET models; there is"
    " nothing here"
)


@dataclass(frozen=True, slots=True)
class ProxiedCall:
    """A call with its conversation, and whose it is."""

    shape: Shape
    body: Mapping[str, Any]
    raw: bytes
    turns: Sequence[ChatTurn]
    scope: Scope
    budget: int
    #: Tokens that its key may send besides the body today; None: it has no limit.
    room: int | None = None


class MemoryProxy:
    """The model, and the memory that goes with it."""

    def __init__(self, memory: Memory, clock: Callable[[], datetime]) -> None:
        self._memory = memory
        self._config = memory.config.proxy
        self._keeper = TurnRecorder(memory, clock)
        self._upstream = (
            Upstream(self._config.url, timeout_s=self._config.timeout_seconds)
            if self._config.url
            else None
        )

    @asynccontextmanager
    async def running(self, _: FastAPI) -> AsyncIterator[None]:
        """While the service runs; at its end what was heard is on disk."""
        try:
            yield
        finally:
            await run_in_threadpool(self._keeper.close)
            if self._upstream:
                await self._upstream.close()

    async def pass_on(self, request: Request, *, role: Role, target: str) -> Response:
        """A call that has nothing to do with memory."""
        upstream = self._model(request, role)
        if request.method == "GET":
            return Relay(upstream, self._call(request, target, b""), headers={})
        body = await request.body()
        bill = await _bill_for(request, body)
        return Relay(upstream, self._call(request, target, body), headers={}, bill=bill)

    async def answer_with_memory(self, request: Request, shape: Shape) -> Response:
        """A call with its memories, which is remembered."""
        upstream = self._model(request, "write")
        asked = await _within_limits(request, await self._parse_call(request, shape))
        body, headers = await self._with_memory(asked)
        bill = await _bill_for(request, body)
        if any(asked.body.get(name) is not None for name in _UNSEEN):
            bill = replace(bill, to_the_end=bill.sent is not None)
        heard = None
        if self._config.remember and _wants_memory(request):
            thread = [asked.body.get(name) for name in _THREAD]
            heard = partial(self._keeper.keep, CallToRemember(asked.scope, asked.turns, thread))
        call = self._call(request, shape.path, body)
        return Relay(upstream, call, headers=headers, shape=shape, heard=heard, bill=bill)

    def _model(self, request: Request, role: Role) -> Upstream:
        require_role(key_of(request), role)
        if self._upstream is None:
            raise HTTPException(404, _NO_MODEL)
        return self._upstream

    def _call(self, request: Request, target: str, body: bytes) -> UpstreamCall:
        query = request.scope["query_string"].decode("ascii", "replace")
        sent = to_send(request.scope["headers"], self._authorization(request.headers))
        return UpstreamCall(request.method, f"{target}?{query}" if query else target, sent, body)

    def _authorization(self, headers: Headers) -> str:
        """The model's key: the operator's, or the caller's if ours came as X-API-Key."""
        own = f"Bearer {self._config.api_key}" if self._config.api_key else ""
        theirs = headers.get("authorization", "")
        if theirs.partition(" ")[2].strip().startswith("rk_"):
            theirs = ""  # One of ours, which is nobody else's business.
        return theirs or own if "x-api-key" in headers else own or theirs

    async def _parse_call(self, request: Request, shape: Shape) -> ProxiedCall:
        scope = _scope(key_of(request), request.headers)
        budget = _budget(request.headers.get(_BUDGET), self._config.budget_tokens)
        raw = await request.body()

        def understood() -> ProxiedCall:
            body = parse_json(raw, self._memory.config.service)
            if not isinstance(body, dict):
                raise InvalidInput("the body must be a JSON object")
            return ProxiedCall(shape, body, raw, shape.turns(body), scope, budget)

        return await _work_on(understood, raw)

    async def _with_memory(self, asked: ProxiedCall) -> tuple[bytes, dict[str, str]]:
        """The body to send, and what is said of it."""
        block, said = "", "unavailable"
        with anyio.move_on_after(_PATIENCE_S):
            block, said = await anyio.to_thread.run_sync(
                self._memory_block, asked, abandon_on_cancel=True
            )
        if asked.room is not None and block:
            size_bytes = len(block.encode("utf-8", "replace")) + _AROUND_BYTES
            if tokens_of(size_bytes) > asked.room:
                block, said = "", "off"
        return await _work_on(partial(_body_with_memory, asked, block), asked.raw), {_MEMORY: said}

    def _memory_block(self, asked: ProxiedCall) -> tuple[str, str]:
        if not asked.budget:
            return "", "off"
        if not any(each.role == "user" for each in asked.turns):
            return "", "empty"
        try:
            context = self._context(asked)
        except Exception as error:  # noqa: BLE001 (whatever it is, the call goes through)
            # The kind of error only: its text may quote the question.
            log.error("the proxy had no memories to give: %s", type(error).__name__)
            return "", "unavailable"
        return context.text, f"used; context={context.id}" if context.text else "empty"

    def _context(self, asked: ProxiedCall) -> Context:
        scope, most = asked.scope, self._memory.config.limits.query_bytes
        last = max(place for place, each in enumerate(asked.turns) if each.role == "user")
        talk = [each.message() for each in asked.turns[: last + 1][-_TALK_TURNS:]]
        talk[-1]["content"] = _within_bytes(talk[-1]["content"], most)
        return self._memory.context(
            talk, user=scope.user, workspace=scope.workspace, agent=scope.agent,
            session=scope.session, budget_tokens=asked.budget,
        )  # fmt: skip


def router(memory: Memory, clock: Callable[[], datetime]) -> APIRouter:
    """The routes of the proxy over a memory."""
    proxy, chat = MemoryProxy(memory, clock), Chat(join=memory.config.proxy.join)
    routes = APIRouter(prefix="/v1/proxy", tags=["proxy"], lifespan=proxy.running)

    @routes.post("/chat/completions", openapi_extra=_openapi_extra("messages", _EXAMPLE))
    async def chat_completions(request: Request) -> Response:
        """A chat completion with memory."""
        return await _in_openai_shape(proxy.answer_with_memory(request, chat))

    @routes.post("/responses", openapi_extra=_openapi_extra("input", "Where do I live?"))
    async def responses(request: Request) -> Response:
        """A response with memory."""
        return await _in_openai_shape(proxy.answer_with_memory(request, Responses()))

    @routes.post("/embeddings", openapi_extra=_openapi_extra("input", "Lisbon", memory=False))
    async def embeddings(request: Request) -> Response:
        """Embeddings, as the model makes them."""
        return await _in_openai_shape(proxy.pass_on(request, role="write", target="/embeddings"))

    @routes.get("/models")
    async def models(request: Request) -> Response:
        """The models that can be asked."""
        return await _in_openai_shape(proxy.pass_on(request, role="read", target="/models"))

    @routes.get("/models/{model:path}")
    async def one_model(request: Request, model: str) -> Response:
        """One of them."""
        if not all(part.strip(".") for part in model.split("/")):
            return refusal(404, _NO_PATH)
        target = "/models/" + quote(model, safe="/", errors="replace")
        return await _in_openai_shape(proxy.pass_on(request, role="read", target=target))

    @routes.api_route("/{path:path}", methods=_METHODS, include_in_schema=False)
    async def nothing(path: str) -> Response:
        """Whatever else such a model may offer is not served."""
        return refusal(404, _NO_PATH)

    return routes


def _wants_memory(request: Request) -> bool:
    """Whether a call is to be remembered, and may be."""
    if request.headers.get(_REMEMBER, "true").lower() == "false":
        return False
    try:
        request.app.state.backlog.check()
    except HTTPException:  # Others are told to come again; a call to a model is not held up.
        log.warning("a turn of the proxy was not remembered: the queue is full")
        return False
    return True


async def _within_limits(request: Request, asked: ProxiedCall) -> ProxiedCall:
    """A call of a key with a limit with no more memories than are left to it today; Throttled when
    not even the call is."""
    quota: LlmQuota = request.app.state.llm_quota
    key = key_of(request)
    if quota.limit_of(key) == Limit():
        return asked
    if asked.body.get("background"):
        raise InvalidInput(_NO_BACKGROUND, field="background")
    sent = await _work_on(partial(tokens_sent, asked.raw), asked.raw)
    room = await quota.room(key, Size(sent))
    # Memories are cut by tokens, and charged by bytes: of English words a token is a little more.
    return replace(asked, room=room, budget=min(asked.budget, room * 3 // 4))


async def _bill_for(request: Request, body: bytes) -> Payer:
    """Charge what is sent to a key with a limit, before; Throttled when its day is used up."""
    quota: LlmQuota = request.app.state.llm_quota
    key = key_of(request)
    if quota.limit_of(key) == Limit():
        return Payer(quota.uncharged(key), body)
    sent = await _work_on(partial(tokens_sent, body), body)
    return Payer(await quota.charge(key, Size(sent)), body, sent)


async def _work_on(work: Callable[[], _T], raw: bytes) -> _T:
    """Work on a body: a small one at once, a large one where it holds up nobody."""
    return work() if len(raw) < _SMALL_BYTES else await run_in_threadpool(work)


async def _in_openai_shape(answered: Awaitable[Response]) -> Response:
    """The answer, or what is wrong with the call, in the shape that its caller knows."""
    try:
        return await answered
    except HTTPException as error:
        return refusal(error.status_code, str(error.detail))
    except Throttled as error:
        answer = refusal(429, str(error), kind="insufficient_quota", code="insufficient_quota")
        answer.headers["retry-after"] = str(math.ceil(error.retry_after or 1))
        # OpenAI's clients would try again at once otherwise.
        answer.headers["x-should-retry"] = "false"
        return answer
    except InvalidInput as error:
        param, message = _HEADERS.get(error.field, error.field), str(error)
        if error.field in _HEADERS and message.startswith(error.field):
            message = param + message.removeprefix(error.field)
        return refusal(413 if isinstance(error, TooLarge) else 400, message, param=param or None)


def _scope(key: ApiKey, headers: Headers) -> Scope:
    """The scope of a call: the key's, as far as its headers ask for it."""
    user, agent, session = (header_text(headers.get(name), name) for name in _HEADERS.values())
    check_within(key, user=user, named=_USER)
    if user is None and key.user is None:
        raise ScopeError(f"{_USER} is missing: say whose memory is meant", field="user")
    return validate.scope(
        workspace=key.workspace, user=key.user or user, agent=agent, session=session
    )


def _budget(value: str | None, default: int) -> int:
    if value is None:
        return default
    number = int(value[:9]) if value.isascii() and value.isdecimal() else -1
    return validate.whole_number(number, _BUDGET, 0, _MOST_BUDGET)


def _within_bytes(text: str, most_bytes: int) -> str:
    """A question within its limit: what a long text is about stands at its ends."""
    most = most_bytes // 4  # UTF-8 has at most 4 bytes a character.
    if len(text) <= most:
        return text
    half = most // 2 - 1
    return f"{text[:half]}\n{text[-half:]}"


def _body_with_memory(asked: ProxiedCall, block: str) -> bytes:
    """The body as it is sent: the caller's own bytes when nothing had to be changed."""
    told = asked.shape.with_memory(asked.body, block)
    if told == asked.body:
        return asked.raw
    try:
        # ASCII: a text may hold a lone surrogate, which UTF-8 cannot.
        return json.dumps(told, allow_nan=False).encode()
    except ValueError:
        raise HTTPException(400, "the body holds a number that is out of range") from None


def _openapi_extra(field: str, example: Any, *, memory: bool = True) -> dict[str, Any]:
    """What OpenAPI says of a body that is the model's to understand, and of our headers."""
    schema = {
        "type": "object",
        "properties": {"model": {"type": "string"}, field: {}, "stream": {"type": "boolean"}},
        "additionalProperties": True,
        "example": {"model": "gpt-4o-mini", field: example},
    }
    body = {"required": True, "content": {"application/json": {"schema": schema}}}
    told = {
        **{name: {"type": "string", "maxLength": 512} for name in _HEADERS.values()},
        _BUDGET: {"type": "integer", "minimum": 0, "maximum": _MOST_BUDGET},
        _REMEMBER: {"type": "string", "enum": ["true", "false"]},
    }
    headers = [{"name": name, "in": "header", "schema": kind} for name, kind in told.items()]
    return {"requestBody": body, **({"parameters": headers} if memory else {})}
