"""Who asks: the key of a request, and the scope that it opens.

The scope comes from the key. What a body says about it may repeat or narrow it, never widen it;
the refusal is the same whether the workspace or user asked for exists or not.
"""

from __future__ import annotations

from typing import Annotated

from fastapi import Depends, HTTPException, Request
from starlette.datastructures import Headers

from recollect.doors.wire import Body
from recollect.types import ApiKey, Scope
from recollect.write import validate


def secret_of(headers: Headers) -> str:
    """The secret that a request shows: a bearer token, or X-API-Key; "" when there is none."""
    scheme, _, token = headers.get("authorization", "").partition(" ")
    if scheme.lower() == "bearer" and token.strip():
        return token.strip()
    return headers.get("x-api-key", "").strip()


async def any_key(request: Request) -> ApiKey:
    """The key that the guard has checked."""
    key = request.scope["recollect.key"]
    assert isinstance(key, ApiKey)
    return key


async def writing_key(key: Annotated[ApiKey, Depends(any_key)]) -> ApiKey:
    """The same, if it may write."""
    if key.role == "read":
        raise HTTPException(403, "this key may only read")
    return key


Reader = Annotated[ApiKey, Depends(any_key)]
Writer = Annotated[ApiKey, Depends(writing_key)]


def narrowed(key: ApiKey, body: Body) -> Scope:
    """The scope of a request: the key's, as far as the body asks for it."""
    if body.workspace_id not in (None, key.workspace):
        raise HTTPException(403, "workspace_id is not the workspace of this key")
    if key.user not in (None, body.user_id):
        raise HTTPException(403, "user_id is not the user of this key")
    return validate.scope(
        workspace=key.workspace, user=body.user_id, agent=body.agent_id, session=body.session_id
    )
