"""Request bodies as strict JSON, parsed on a worker thread.

Invalid UTF-8, NaN, numbers of thousands of digits and nesting without end are a plain 400. Lone
surrogates pass: the core turns them into U+FFFD and says so.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Coroutine
from typing import Any, NoReturn

from fastapi import HTTPException, Request, Response
from fastapi.routing import APIRoute
from starlette.concurrency import run_in_threadpool


class StrictRoute(APIRoute):
    """A route whose body goes through `parsed`."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handle = super().get_route_handler()

        async def strict(request: Request) -> Response:
            return await handle(_Request(request.scope, request.receive))

        return strict


class _Request(Request):
    async def json(self) -> Any:
        return await run_in_threadpool(parsed, await self.body())


def parsed(body: bytes) -> Any:
    """The JSON value of a body."""
    try:
        return json.loads(body.decode("utf-8"), parse_constant=_no_number)
    except RecursionError:
        raise HTTPException(400, "the body is nested too deeply") from None
    except ValueError as error:
        where = f" at character {error.pos}" if isinstance(error, json.JSONDecodeError) else ""
        raise HTTPException(400, f"the body is not JSON in UTF-8{where}") from None


def _no_number(name: str) -> NoReturn:
    raise ValueError(name)
