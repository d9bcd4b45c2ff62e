"""The MCP server over a memory, or over anything else that has its verbs.

Every request goes: who asks -> are they offered this -> a worker thread does it -> those who follow
what has changed are told. An error that nobody foresaw is told by nothing but the fact.
"""

from __future__ import annotations

import logging
import time
import traceback
from collections.abc import Callable
from functools import partial
from typing import Any, ParamSpec, TypeVar

from anyio.to_thread import run_sync
from mcp import types
from mcp.server.context import CallNext, HandlerResult, ServerRequestContext
from mcp.server.lowlevel.server import Server
from mcp.shared.exceptions import MCPError
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from pydantic import ValidationError

from holdfast import __version__
from holdfast.errors import HoldfastError, NotFound
from holdfast.service.mcp import completing, prompts, resources
from holdfast.service.mcp.asker import Asker
from holdfast.service.mcp.changes import Changes
from holdfast.service.mcp.greeting import INSTRUCTIONS, NAME, TITLE
from holdfast.service.mcp.telling import Telling
from holdfast.service.mcp.tool import FOLLOWED, complaint
from holdfast.service.mcp.tools import ALL, offered

log = logging.getLogger("holdfast.mcp")

Context = ServerRequestContext[Any, Any]
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


class Door:
    """The handlers of a server."""

    def __init__(self, memory: Any, gate: Gate) -> None:
        self._memory = memory
        self._gate = gate
        self._asker = gate.asker
        self.changes = Changes()
        self.telling = Telling()

    async def list_tools(self, ctx: Context, _: object) -> types.ListToolsResult:
        who = self._asker(ctx)
        return types.ListToolsResult(tools=[each.listed(who) for each in offered(who)])

    async def call_tool(
        self, ctx: Context, params: types.CallToolRequestParams
    ) -> types.CallToolResult:
        who = self._asker(ctx)
        tool = ALL.get(params.name)
        if tool is None:
            raise MCPError(types.INVALID_PARAMS, f"Unknown tool: {_short(params.name)}")
        if not who.may(tool.role, tool.name):
            raise MCPError(types.INVALID_PARAMS, f"The tool {tool.name} is not allowed here")
        sent = tool.taken(who, params.arguments or {})
        writes = tool.role == "write" or (tool.writes and "content" in sent)
        if writes:
            self._gate.admit(ctx)
        begun = time.monotonic()
        answer = await run_sync(tool.answer, self._memory, who, sent)
        await self.telling.called(ctx, tool.name, answer, time.monotonic() - begun)
        if writes and not answer.is_error:
            user = str(sent.get("user_id") or who.user or "")
            if tool.name not in _DAILY:
                subject = sent.get("id") or sent.get("fact_id")
                await run_sync(self._gate.note, ctx, f"mcp.{tool.name}", subject, user or None)
            await self.changes.publish((who.workspace, user), tool.touches)
        return answer

    async def list_resources(self, ctx: Context, _: object) -> types.ListResourcesResult:
        return types.ListResourcesResult(resources=resources.offered(self._asker(ctx)))

    async def list_templates(self, ctx: Context, _: object) -> types.ListResourceTemplatesResult:
        found = resources.templates(self._asker(ctx))
        return types.ListResourceTemplatesResult(resource_templates=found)

    async def read_resource(
        self, ctx: Context, params: types.ReadResourceRequestParams
    ) -> types.ReadResourceResult:
        who, uri = self._asker(ctx), str(params.uri)
        try:
            return await _asked(resources.read, self._memory, who, uri)
        except NotFound as error:
            raise _missing(ctx, uri, complaint(error)[0]) from None

    async def subscribe(
        self, ctx: Context, params: types.SubscribeRequestParams
    ) -> types.EmptyResult:
        who, uri = self._asker(ctx), str(params.uri)
        self._check_followed(ctx, who, uri)
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
        return await self.changes.listen(ctx, who.owner, params)

    async def list_prompts(self, ctx: Context, _: object) -> types.ListPromptsResult:
        return types.ListPromptsResult(prompts=prompts.offered(self._asker(ctx)))

    async def get_prompt(
        self, ctx: Context, params: types.GetPromptRequestParams
    ) -> types.GetPromptResult:
        who = self._asker(ctx)
        return await _asked(prompts.get, self._memory, who, params.name, params.arguments)

    async def complete(
        self, ctx: Context, params: types.CompleteRequestParams
    ) -> types.CompleteResult:
        who, typed = self._asker(ctx), params.argument
        return await _asked(
            completing.complete, self._memory, who, params.ref, typed.name, typed.value
        )

    def _check_followed(self, ctx: Context, who: Asker, uri: str) -> None:
        seen = {each.uri for each in resources.offered(who)}
        if uri not in FOLLOWED or uri not in seen:
            raise _missing(ctx, uri, f"there is no resource {_short(uri)} to follow")
        who.certain()


def server(memory: Any, gate: Gate) -> Server[Any]:
    """An MCP server."""
    door = Door(memory, gate)
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
        "logging/setLevel", types.SetLevelRequestParams, door.telling.set_level
    )
    made.middleware.append(_guarded)
    return made


async def _guarded(ctx: Context, call_next: CallNext) -> HandlerResult:
    try:
        return await call_next(ctx)
    except (MCPError, ValidationError):
        raise
    except HoldfastError as error:
        raise _told(error) from None
    except Exception as error:  # noqa: BLE001 (the outermost door)
        # Its text may hold somebody's memory: only its type and its place are logged.
        frames = traceback.extract_tb(error.__traceback__)[-6:]
        place = " > ".join(f"{frame.filename}:{frame.lineno}" for frame in frames)
        log.error("%s at %s", type(error).__name__, place)
        raise MCPError(types.INTERNAL_ERROR, "something went wrong here") from None


async def _asked(function: Callable[P, T], *args: P.args, **more: P.kwargs) -> T:
    """What a verb gives, worked out on a thread."""
    return await run_sync(partial(function, *args, **more))


def _told(error: HoldfastError) -> MCPError:
    message, name = complaint(error)
    return MCPError(types.INVALID_PARAMS, message, {"field": name} if name else None)


def _missing(ctx: Context, uri: str, words: str) -> MCPError:
    """A resource that is not there, in the code of the version that is spoken."""
    is_new = ctx.protocol_version in MODERN_PROTOCOL_VERSIONS
    code = types.INVALID_PARAMS if is_new else _NO_RESOURCE
    return MCPError(code, words, {"uri": uri.encode("utf-8", "replace").decode()})


def _short(text: str) -> str:
    return text[:64].encode("utf-8", "replace").decode()
