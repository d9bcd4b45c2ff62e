"""The MCP server over a memory, or over anything else that has its verbs.

Every request goes: who asks -> are they offered this -> a worker thread does it -> those who follow
what has changed are told. An error that nobody foresaw is told by nothing but the fact.
"""

from __future__ import annotations

import logging
import time
import traceback
from collections import OrderedDict
from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import partial
from typing import Any, ParamSpec, TypeVar, get_args

import anyio
from anyio.to_thread import run_sync
from mcp import types
from mcp.server.connection import allowed_log_levels
from mcp.server.context import CallNext, HandlerResult, ServerRequestContext
from mcp.server.lowlevel.server import Server
from mcp.server.session import ServerSession
from mcp.server.subscriptions import InMemorySubscriptionBus, ListenHandler, ResourceUpdated
from mcp.shared.exceptions import MCPError
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from pydantic import ValidationError

from holdfast import __version__
from holdfast.errors import HoldfastError, InvalidInput, NotFound
from holdfast.service.mcp import resources
from holdfast.service.mcp.asker import Asker
from holdfast.service.mcp.tool import FOLLOWED, complaint
from holdfast.service.mcp.tools import ALL, offered
from holdfast.service.mcp.wire import INSTRUCTIONS, NAME, TITLE

# ----------------------------------------------------------------------
# What a client is told of the work, if it wants to hear: `notifications/message`.
#
# Until 2025-11-25 a connection says once from which level on (`logging/setLevel`), since
# 2026-07-28 each request for itself. Told is which tool was called, how long it took, and what it
# could not do: nothing that the answer to the same client does not say.
# ----------------------------------------------------------------------

_LOGGER = "holdfast"
#: From the least to the gravest, as the protocol lists them.
_LEVELS: tuple[types.LoggingLevel, ...] = get_args(types.LoggingLevel)
#: What a connection hears that has said nothing.
_UNASKED: types.LoggingLevel = "warning"
_MOST_CONNECTIONS = 1024


class LogNotices:
    """The levels of all connections. Lives on one event loop."""

    def __init__(self) -> None:
        self._levels: OrderedDict[str, types.LoggingLevel] = OrderedDict()

    async def set_level(
        self, ctx: Context, params: types.SetLevelRequestParams
    ) -> types.EmptyResult:
        """From which level on this connection is told."""
        self._levels[connection(ctx)] = params.level
        self._levels.move_to_end(connection(ctx))
        while len(self._levels) > _MOST_CONNECTIONS:
            self._levels.popitem(last=False)
        return types.EmptyResult()

    async def tell_call(
        self, ctx: Context, tool: str, answer: types.CallToolResult, seconds: float
    ) -> None:
        """Tell that a tool was called, before its answer goes out."""
        told: dict[str, Any] = {"tool": tool, "ms": round(1000 * seconds, 1)}
        level: types.LoggingLevel = "debug"
        held = answer.structured_content or {}
        if amiss := {name: held[name] for name in ("degraded", "warnings") if held.get(name)}:
            level, told = "warning", {**told, **amiss}
        if answer.is_error:
            level = "warning"
            told["error"] = "".join(e.text for e in answer.content if e.type == "text")
        if self._is_heard(ctx, level):
            await _send(ctx, level, told)

    def _is_heard(self, ctx: Context, level: types.LoggingLevel) -> bool:
        least = self._levels.get(connection(ctx), _UNASKED)
        is_asked = _LEVELS.index(level) >= _LEVELS.index(least)
        is_new = ctx.protocol_version in MODERN_PROTOCOL_VERSIONS
        return level in allowed_log_levels(ctx.protocol_version, ctx.meta) and (is_new or is_asked)


async def _send(ctx: Context, level: types.LoggingLevel, told: Any) -> None:
    params = types.LoggingMessageNotificationParams(level=level, logger=_LOGGER, data=told)
    note = types.LoggingMessageNotification(params=params)
    # Whoever has hung up needs no message.
    with suppress(anyio.ClosedResourceError, anyio.BrokenResourceError, MCPError):
        await ctx.session.send_notification(note, related_request_id=ctx.request_id)


# ----------------------------------------------------------------------
# Who wants to hear that a resource has changed, and notices them. Owners never hear of each
# other.
#
# There are two ways to ask: `resources/subscribe` (until 2025-11-25) names one resource for a
# connection, `subscriptions/listen` (since 2026-07-28) opens a stream for several. Both hear of
# what tools of this process do, and over HTTP of whatever else changes (service/mcp/http.py); a
# notice says which resource to read again and nothing of what is in it.
# ----------------------------------------------------------------------

Owner = tuple[str, str]
Context = ServerRequestContext[Any, Any]

#: Connections that may follow resources at once; the one that asked first makes room.
_MOST_FOLLOWERS = 1024
_MOST_STREAMS = 64


class Changes:
    """The followers of all owners. Lives on one event loop."""

    def __init__(self) -> None:
        #: By connection whose memory it follows, how it is told, and of what.
        self._followers: OrderedDict[str, tuple[Owner, ServerSession, set[str]]] = OrderedDict()
        self._streams: dict[Owner, tuple[InMemorySubscriptionBus, ListenHandler, int]] = {}

    @property
    def followed(self) -> set[Owner]:
        """Whose memory somebody follows."""
        return {owner for owner, *_ in self._followers.values()} | set(self._streams)

    async def begin(self, owner: Owner) -> None:
        """Somebody is about to follow this one."""

    def follow(self, ctx: Context, owner: Owner, uri: str) -> None:
        """Tell this connection when a resource changes."""
        key = connection(ctx)
        _, _, uris = self._followers.setdefault(key, (owner, ctx.session, set()))
        self._followers[key] = owner, ctx.session, uris | {uri}
        while len(self._followers) > _MOST_FOLLOWERS:
            self._followers.popitem(last=False)

    def leave(self, ctx: Context, uri: str) -> None:
        """Tell it no longer."""
        _, _, uris = self._followers.get(connection(ctx), (None, None, set()))
        uris.discard(uri)
        if not uris:
            self._followers.pop(connection(ctx), None)

    async def listen(
        self, ctx: Context, owner: Owner, params: types.SubscriptionsListenRequestParams
    ) -> types.SubscriptionsListenResult:
        """Serve one stream until the client goes away."""
        bus = InMemorySubscriptionBus()
        new = bus, ListenHandler(bus, max_subscriptions=_MOST_STREAMS), 0
        bus, handler, count = self._streams.get(owner, new)
        self._streams[owner] = bus, handler, count + 1
        try:
            return await handler(ctx, params)
        finally:
            *_, count = self._streams.pop(owner)
            if count > 1:
                self._streams[owner] = bus, handler, count - 1

    async def touched(self, owner: Owner, uris: Iterable[str]) -> None:
        """A tool has changed these."""
        await self.publish(owner, uris)

    async def publish(self, owner: Owner, uris: Iterable[str]) -> None:
        """Tell everybody who follows."""
        for uri in uris:
            if owner in self._streams:
                await self._streams[owner][0].publish(ResourceUpdated(uri=uri))
            for key, (whose, session, wanted) in list(self._followers.items()):
                if whose == owner and uri in wanted:
                    await self._tell(key, session, uri)

    async def _tell(self, key: str, session: ServerSession, uri: str) -> None:
        try:
            await session.send_resource_updated(uri)
        except (anyio.ClosedResourceError, anyio.BrokenResourceError, MCPError):
            self._followers.pop(key, None)  # It has hung up.


def connection(ctx: Context) -> str:
    """Which connection a request came by: over stdio there is one."""
    request = ctx.request
    return "" if request is None else str(request.headers.get("mcp-session-id", ""))


# ----------------------------------------------------------------------
# Completing what somebody types into a prompt or the address of a resource.
#
# What is proposed is the asker's own: names of entities, ids of sessions and memories of one
# user, as far as the tools that would tell them are allowed.
# ----------------------------------------------------------------------

#: What the protocol allows of in one answer.
_MOST = 100

Reference = types.ResourceTemplateReference | types.PromptReference


def complete(
    memory: Any, who: Asker, reference: Reference, name: str, value: str
) -> types.CompleteResult:
    """What an argument may be that begins with a value, whatever its case."""
    if isinstance(reference, types.PromptReference):
        known = _sentences(memory, who, reference.name, name, value)
    else:
        template = resources.template(who, reference.uri)
        _check(name, template.argument)
        known = _beginning_with(template.known(memory, who), value)
    values = list(dict.fromkeys(known))
    return types.CompleteResult(
        completion=types.Completion(
            values=values[:_MOST], total=len(values), has_more=len(values) > _MOST
        )
    )


def _sentences(memory: Any, who: Asker, prompt: str, name: str, value: str) -> list[str]:
    """A sentence whose last word becomes the name of an entity: prompts take free text."""
    found = [each for each in resources.list_prompts(who) if each.name == prompt]
    if not found:
        raise NotFound(f"there is no prompt {prompt[:64]}")
    _check(name, *(each.name for each in found[0].arguments or ()))
    start, space, last = value.rpartition(" ")
    if not last or not who.may("read", resources.ENTITY.tool):
        return []
    return [
        start + space + each for each in _beginning_with(resources.ENTITY.known(memory, who), last)
    ]


def _beginning_with(known: Iterable[str], value: str) -> list[str]:
    return [each for each in known if each.casefold().startswith(value.casefold())]


def _check(name: str, *known: str) -> None:
    if name not in known:
        raise InvalidInput(f"{name[:64]} is not an argument here; known: {', '.join(known)}")


log = logging.getLogger("holdfast.mcp")
P = ParamSpec("P")
T = TypeVar("T")

#: What MCP says of a resource that is not there, until 2025-11-25; since then it is a wrong
#: parameter like any other, as a prompt that is not there has always been.
_NO_RESOURCE = -32002
#: What happens all day long, and is in the log of events anyway.
_DAILY = frozenset({"remember", "feedback"})


class Gate:
    """Tells who a request is from. A way in that wants more than that says so here."""

    def asker(self, ctx: Context) -> Asker:
        """Who asks."""
        raise NotImplementedError

    def admit(self, ctx: Context) -> None:
        """Refuse what would be stored while there is no room for it."""

    def note(self, ctx: Context, action: str, subject: str | None, user: str | None) -> None:
        """Keep in mind what was changed; on a worker thread."""


class One(Gate):
    """The one who started the process: all requests are theirs."""

    def __init__(self, who: Asker) -> None:
        self._who = who

    def asker(self, ctx: Context) -> Asker:
        return self._who


class McpHandlers:
    """The handlers of a server."""

    def __init__(self, memory: Any, gate: Gate, changes: Changes) -> None:
        self._memory = memory
        self._gate = gate
        self._asker = gate.asker
        self.changes = changes
        self.notices = LogNotices()

    async def list_tools(self, ctx: Context, _: object) -> types.ListToolsResult:
        who = self._asker(ctx)
        return types.ListToolsResult(tools=[each.describe(who) for each in offered(who)])

    async def call_tool(
        self, ctx: Context, params: types.CallToolRequestParams
    ) -> types.CallToolResult:
        who = self._asker(ctx)
        tool = ALL.get(params.name)
        if tool is None:
            raise MCPError(types.INVALID_PARAMS, f"Unknown tool: {_short(params.name)}")
        if not who.may(tool.role, tool.name):
            raise MCPError(types.INVALID_PARAMS, f"The tool {tool.name} is not allowed here")
        sent = tool.known_arguments(who, params.arguments or {})
        writes = tool.role == "write" or (tool.writes and "content" in sent)
        if writes:
            self._gate.admit(ctx)
        begun = time.monotonic()
        answer = await run_sync(tool.answer, self._memory, who, sent)
        await self.notices.tell_call(ctx, tool.name, answer, time.monotonic() - begun)
        if writes and not answer.is_error:
            user = str(sent.get("user_id") or who.user or "")
            if tool.name not in _DAILY:
                subject = sent.get("id") or sent.get("fact_id")
                await run_sync(self._gate.note, ctx, f"mcp.{tool.name}", subject, user or None)
            await self.changes.touched((who.workspace, user), tool.touches)
        return answer

    async def list_resources(self, ctx: Context, _: object) -> types.ListResourcesResult:
        return types.ListResourcesResult(resources=resources.list_resources(self._asker(ctx)))

    async def list_templates(self, ctx: Context, _: object) -> types.ListResourceTemplatesResult:
        found = resources.list_templates(self._asker(ctx))
        return types.ListResourceTemplatesResult(resource_templates=found)

    async def read_resource(
        self, ctx: Context, params: types.ReadResourceRequestParams
    ) -> types.ReadResourceResult:
        who, uri = self._asker(ctx), str(params.uri)
        try:
            return await _in_thread(resources.read_resource, self._memory, who, uri)
        except NotFound as error:
            raise _missing(ctx, uri, complaint(error)[0]) from None

    async def subscribe(
        self, ctx: Context, params: types.SubscribeRequestParams
    ) -> types.EmptyResult:
        who, uri = self._asker(ctx), str(params.uri)
        self._check_followed(ctx, who, uri)
        await self.changes.begin(who.owner)
        self.changes.follow(ctx, who.owner, uri)
        return types.EmptyResult()

    async def unsubscribe(
        self, ctx: Context, params: types.UnsubscribeRequestParams
    ) -> types.EmptyResult:
        self.changes.leave(ctx, str(params.uri))
        return types.EmptyResult()

    async def listen(
        self, ctx: Context, params: types.SubscriptionsListenRequestParams
    ) -> types.SubscriptionsListenResult:
        who = self._asker(ctx)
        for uri in params.notifications.resource_subscriptions or ():
            self._check_followed(ctx, who, str(uri))
        await self.changes.begin(who.owner)
        return await self.changes.listen(ctx, who.owner, params)

    async def list_prompts(self, ctx: Context, _: object) -> types.ListPromptsResult:
        return types.ListPromptsResult(prompts=resources.list_prompts(self._asker(ctx)))

    async def get_prompt(
        self, ctx: Context, params: types.GetPromptRequestParams
    ) -> types.GetPromptResult:
        who = self._asker(ctx)
        return await _in_thread(
            resources.get_prompt, self._memory, who, params.name, params.arguments
        )

    async def complete(
        self, ctx: Context, params: types.CompleteRequestParams
    ) -> types.CompleteResult:
        who, typed = self._asker(ctx), params.argument
        return await _in_thread(complete, self._memory, who, params.ref, typed.name, typed.value)

    def _check_followed(self, ctx: Context, who: Asker, uri: str) -> None:
        seen = {each.uri for each in resources.list_resources(who)}
        if uri not in FOLLOWED or uri not in seen:
            raise _missing(ctx, uri, f"there is no resource {_short(uri)} to follow")
        who.certain()


def server(memory: Any, gate: Gate, changes: Changes | None = None) -> Server[Any]:
    """An MCP server."""
    door = McpHandlers(memory, gate, changes or Changes())
    made: Server[Any] = Server(
        NAME,
        version=__version__,
        title=TITLE,
        instructions=INSTRUCTIONS,
        # No argument of ours travels in a header, so there is none to compare with a schema.
        get_tool_input_schema=lambda _: None,
        on_list_tools=door.list_tools,
        on_call_tool=door.call_tool,
        on_list_resources=door.list_resources,
        on_list_resource_templates=door.list_templates,
        on_read_resource=door.read_resource,
        on_subscribe_resource=door.subscribe,
        on_unsubscribe_resource=door.unsubscribe,
        on_subscriptions_listen=door.listen,
        on_list_prompts=door.list_prompts,
        on_get_prompt=door.get_prompt,
        on_completion=door.complete,
    )
    # Clients until 2025-11-25 ask by it; as an argument above it would warn that later ones do not.
    made.add_request_handler(
        "logging/setLevel", types.SetLevelRequestParams, door.notices.set_level
    )
    made.middleware.append(_hide_errors)
    return made


async def _hide_errors(ctx: Context, call_next: CallNext) -> HandlerResult:
    try:
        return await call_next(ctx)
    except (MCPError, ValidationError):
        raise
    except HoldfastError as error:
        raise _to_mcp_error(error) from None
    except Exception as error:  # noqa: BLE001 (the outermost door)
        # Its text may hold somebody's memory: only its type and its place are logged.
        frames = traceback.extract_tb(error.__traceback__)[-6:]
        place = " > ".join(f"{frame.filename}:{frame.lineno}" for frame in frames)
        log.error("%s at %s", type(error).__name__, place)
        raise MCPError(types.INTERNAL_ERROR, "something went wrong here") from None


async def _in_thread(function: Callable[P, T], *args: P.args, **more: P.kwargs) -> T:
    """What a verb gives, worked out on a thread."""
    return await run_sync(partial(function, *args, **more))


def _to_mcp_error(error: HoldfastError) -> MCPError:
    message, name = complaint(error)
    return MCPError(types.INVALID_PARAMS, message, {"field": name} if name else None)


def _missing(ctx: Context, uri: str, words: str) -> MCPError:
    """A resource that is not there, in the code of the version that is spoken."""
    is_new = ctx.protocol_version in MODERN_PROTOCOL_VERSIONS
    code = types.INVALID_PARAMS if is_new else _NO_RESOURCE
    return MCPError(code, words, {"uri": uri.encode("utf-8", "replace").decode()})


def _short(text: str) -> str:
    return text[:64].encode("utf-8", "replace").decode()
