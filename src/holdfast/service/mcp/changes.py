"""Who wants to hear that a resource has changed, and telling them. Owners never hear of each other.

There are two ways to ask: `resources/subscribe` (until 2025-11-25) names one resource for a
connection, `subscriptions/listen` (since 2026-07-28) opens a stream for several. Both hear of what
is done through this process; a notice says which resource to read again and nothing of what is in
it.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable
from typing import Any

import anyio
from mcp import types
from mcp.server.context import ServerRequestContext
from mcp.server.session import ServerSession
from mcp.server.subscriptions import InMemorySubscriptionBus, ListenHandler, ResourceUpdated
from mcp.shared.exceptions import MCPError

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
