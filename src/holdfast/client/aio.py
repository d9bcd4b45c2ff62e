"""The client for asyncio: the same verbs, awaited.

There is one implementation: a call runs on a thread of the client's own, over the connections that
the blocking client uses too. A call that is cancelled is not waited for; what it asked for may
still happen.
"""

from __future__ import annotations

import asyncio
import ssl
from types import TracebackType
from typing import Self

from holdfast.client.part import Awaiting
from holdfast.client.remote import Verbs, asker


class AsyncClient(Verbs[Awaiting]):
    """A memory behind a service, for asyncio: `await memory.recall(...)`."""

    def __init__(
        self,
        url: str,
        api_key: str | None = None,
        *,
        timeout: float = 30.0,
        retries: int = 4,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        super().__init__(Awaiting(asker(url, api_key, timeout=timeout, retries=retries, tls=tls)))

    async def close(self) -> None:
        """Close the connections, when the calls under way have ended. Twice is fine."""
        self._way.asker.transport.close()
        # A thread of ours may still be at work: the loop must not wait for it.
        await asyncio.to_thread(self._way.threads.shutdown)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.close()
