"""Authentication and authorization: the key of a request, its role, and the scope that it opens.

The scope comes from the key. What a body says about it may repeat or narrow it, never widen it;
the refusal is the same whether the workspace or user asked for exists or not.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Annotated, Any

from fastapi import Depends, HTTPException, Query, Request
from starlette.datastructures import Headers

from holdfast.border import validate
from holdfast.errors import InvalidInput, ScopeError
from holdfast.service.http.limits import on_reserved_thread
from holdfast.service.http.processes import Member, sessions
from holdfast.service.http.wire import QueryString, Scoped
from holdfast.service.keys import ROLES, digest, is_valid
from holdfast.store.protocols import Store
from holdfast.types import ApiKey, Role, Scope

#: What removes is welcome however long the queue is.
_STORING = frozenset({"POST", "PUT", "PATCH"})


def secret_of(headers: Headers) -> str:
    """The secret of a request: X-API-Key, or a bearer token; "" when there is none.

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


def require_role(key: ApiKey, role: Role, *, whole: bool = False) -> None:
    """Refuse a key of a lesser role; `whole`: and one of a single user."""
    if ROLES.index(key.role) < ROLES.index(role):
        words = "this needs an admin key" if role == "admin" else "this key may only read"
        raise HTTPException(403, words)
    if whole and key.user is not None:
        raise HTTPException(403, "this key is of one user: this needs one of the whole workspace")


def admit(request: Request, role: Role, *, whole: bool = False) -> ApiKey:
    """The key of a request, if its role allows it; nothing is stored while the queue is full."""
    key = key_of(request)
    require_role(key, role, whole=whole)
    if role == "write" and request.method in _STORING:
        request.app.state.backlog.check()
    return key


async def any_key(request: Request) -> ApiKey:
    """The key that the guard has checked, for FastAPI."""
    return key_of(request)


async def writing_key(request: Request) -> ApiKey:
    """The same, if it may write and the queue takes more."""
    return admit(request, "write")


async def admin_key(request: Request) -> ApiKey:
    """The same, if it is an operator's: an admin key of no single user."""
    return admit(request, "admin", whole=True)


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


def scope_args(scope: Scope) -> dict[str, Any]:
    """A scope as the verbs of a memory take it, but for the session."""
    return {"user": scope.user, "workspace": scope.workspace, "agent": scope.agent}


def scope_of(key: ApiKey, asked: Scoped) -> Scope:
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


async def _read_scope(query: Annotated[QueryString, Query()], key: Reader) -> Scope:
    return scope_of(key, query)


#: The scope that a query string says, for routes that ask nothing else.
AskedScope = Annotated[Scope, Depends(_read_scope)]


# The keys of a store, as the guard asks for them.
#
# What was found is believed for half a second, so that a key is not read from disk for each request
# and a revoked one is still dead within a second, whoever revoked it. Whether a key has expired is
# asked each time.
#
# A session is a text that nobody can guess: the id of a key, a time, and a random token. It holds
# while it is in the list of this service, which has digests alone and is nowhere but in the memory
# of its processes: in the store it would be in every backup. So it ends with its time, when its
# page signs out, with the key (revoked, rotated, erased) and with the service.

SESSION_HOURS = 12
_BELIEVED_SECONDS = 0.5
#: More than this many keys in half a second: look all of them up again.
_MOST_BELIEVED = 10_000
_TOKEN_BYTES = 32


class Keyring:
    """Finds the key of a secret or a session, with a cache of half a second."""

    def __init__(
        self,
        store: Store,
        clock: Callable[[], datetime],
        *,
        timer: Callable[[], float] = time.monotonic,
        member: Member | None = None,
    ) -> None:
        self._store = store
        self._clock = clock
        self._timer = timer
        self._board = None if member is None else member.board
        self._sessions = sessions() if self._board is None else self._board.sessions
        self._epoch = b""
        self._believed: dict[tuple[str, bytes], tuple[ApiKey, float]] = {}

    async def of_secret(self, secret: str) -> ApiKey | None:
        """The valid key that a secret opens."""
        if not secret:
            return None
        return await self._found("secret", digest(secret), self._of_digest)

    async def of_session(self, session: str) -> ApiKey | None:
        """The valid key that a session stands for."""
        if not session:
            return None
        told = session.encode("utf-8", "replace")
        key = await self._found("session", told, self._of_session)
        return key if key is not None and self.is_open(session) else None

    def forget(self) -> None:
        """Look everything up again, in every process of this service: a key was changed here."""
        self._believed.clear()
        if self._board is not None:
            self._board.renew()

    async def begin(self, key: ApiKey) -> str:
        """A session of a key, from now on."""
        ends = int((self._clock() + timedelta(hours=SESSION_HOURS)).timestamp())
        (held,) = await on_reserved_thread(self._store.api_keys, id=key.id)
        session = f"{key.id}.{ends}.{secrets.token_hex(_TOKEN_BYTES)}"
        row = (_mark(held.digest), float(ends))
        self._sessions.change(key.id, session, lambda _: row)
        return session

    def end(self, session: str) -> None:
        """It stands for nothing any more, in every process of this service."""
        self._sessions.change(_key_id(session), session, lambda _: None)
        self.forget()

    def is_open(self, session: str) -> bool:
        """Whether a session that was begun has not ended; its key may have."""
        row = self._sessions.get(_key_id(session), session)
        return row is not None and self._clock().timestamp() < row[1]

    async def _found(
        self, kind: str, shown: bytes, find: Callable[[bytes], ApiKey | None]
    ) -> ApiKey | None:
        now = self._timer()
        if self._board is not None and self._epoch != self._board.epoch:
            self._epoch = self._board.epoch
            self._believed.clear()
        key, until = self._believed.get((kind, shown), (None, 0.0))
        if now >= until:
            key = await on_reserved_thread(find, shown)
            if key is not None:
                if len(self._believed) >= _MOST_BELIEVED:
                    self._believed.clear()
                # From before the read: what was revoked meanwhile is not believed for longer.
                self._believed[kind, shown] = (key, now + _BELIEVED_SECONDS)
            else:
                self._believed.pop((kind, shown), None)
        return key if key is not None and is_valid(key, self._clock()) else None

    def _of_digest(self, shown: bytes) -> ApiKey | None:
        return next((held.key for held in self._store.api_keys(digest=shown)), None)

    def _of_session(self, shown: bytes) -> ApiKey | None:
        session = shown.decode("utf-8", "replace")
        id = _key_id(session)
        row = self._sessions.get(id, session)
        held = None if row is None else next(iter(self._store.api_keys(id=id)), None)
        return held.key if row and held and row[0] == _mark(held.digest) else None


def _key_id(session: str) -> str:
    return session.partition(".")[0]


def _mark(key_digest: bytes) -> bytes:
    """By which a session tells the secret of its key from another one that the key got since."""
    return key_digest[:16]
