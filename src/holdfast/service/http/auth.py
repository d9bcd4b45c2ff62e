"""Who asks: the key of a request, and the scope that it opens.

The scope comes from the key. What a body says about it may repeat or narrow it, never widen it;
the refusal is the same whether the workspace or user asked for exists or not.
"""

from __future__ import annotations

from typing import Annotated

from fastapi import Depends, HTTPException, Request
from starlette.datastructures import Headers

from holdfast.border import validate
from holdfast.errors import InvalidInput, ScopeError
from holdfast.service.http.wire import Scoped
from holdfast.service.keys import ROLES
from holdfast.types import ApiKey, Role, Scope

#: What removes is welcome however long the queue is.
_STORING = frozenset({"POST", "PUT", "PATCH"})


def secret_of(headers: Headers) -> str:
    """The secret that a request shows: X-API-Key, or a bearer token; "" when there is none.

    Beside X-API-Key, Authorization is free for the model behind the proxy.
    """
    if own := headers.get("x-api-key", "").strip():
        return own
    scheme, _, token = headers.get("authorization", "").partition(" ")
    return token.strip() if scheme.lower() == "bearer" else ""


def key_of(request: Request) -> ApiKey:
    """The key that the guard has checked."""
    key = request.scope["holdfast.key"]
    assert isinstance(key, ApiKey)
    return key


def may(key: ApiKey, role: Role, *, whole: bool = False) -> None:
    """Refuse a key that is not allowed so much; `whole`: it must not be one of a single user."""
    if ROLES.index(key.role) < ROLES.index(role):
        words = "this needs an admin key" if role == "admin" else "this key may only read"
        raise HTTPException(403, words)
    if whole and key.user is not None:
        raise HTTPException(403, "this key is of one user: this needs one of the whole workspace")


def admitted(request: Request, role: Role, *, whole: bool = False) -> ApiKey:
    """The key of a request that may do so much; what is to be stored waits for a shorter queue."""
    key = key_of(request)
    may(key, role, whole=whole)
    if role == "write" and request.method in _STORING:
        request.app.state.backlog.check()
    return key


async def any_key(request: Request) -> ApiKey:
    """The key that the guard has checked, for FastAPI."""
    return key_of(request)


async def writing_key(request: Request) -> ApiKey:
    """The same, if it may write and there is room for more."""
    return admitted(request, "write")


async def admin_key(request: Request) -> ApiKey:
    """The same, if it is an operator's: an admin key of no single user."""
    return admitted(request, "admin", whole=True)


Reader = Annotated[ApiKey, Depends(any_key)]
Writer = Annotated[ApiKey, Depends(writing_key)]
Operator = Annotated[ApiKey, Depends(admin_key)]


def check_within(
    key: ApiKey, *, workspace: str | None = None, user: str | None = None, named: str = "user_id"
) -> None:
    """Refuse a workspace or user that the key does not open; `named`: where the user was said."""
    if workspace not in (None, key.workspace):
        raise HTTPException(403, "workspace_id is not the workspace of this key")
    if key.user is not None and user not in (None, key.user):
        raise HTTPException(403, f"{named} is not the user of this key")


def header_text(value: str | None, name: str) -> str | None:
    """What a header says: HTTP takes it for Latin-1, but it was sent as UTF-8."""
    try:
        return None if value is None else value.encode("latin-1").decode("utf-8")
    except UnicodeError:
        raise InvalidInput(f"{name} is not UTF-8", field=name) from None


def narrowed(key: ApiKey, asked: Scoped) -> Scope:
    """The scope of a request: the key's, as far as the request asks for it."""
    check_within(key, workspace=asked.workspace_id, user=asked.user_id)
    user = asked.user_id or key.user
    if user is None:
        raise ScopeError("user_id (string) is required", field="user_id")
    return validate.scope(
        workspace=key.workspace,
        user=user,
        agent=asked.agent_id,
        session=getattr(asked, "session_id", None),
    )
