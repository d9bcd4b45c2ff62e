"""The audit log: who did what to which id, never a name and never a word of it; and its routes."""

from __future__ import annotations

import hmac
from collections.abc import Callable
from datetime import datetime
from typing import Annotated, Literal

from fastapi import APIRouter, Query, Request, Response
from pydantic import BaseModel
from starlette.types import Scope as AsgiScope

from holdfast.catalogue.verb import Verb
from holdfast.errors import InvalidInput
from holdfast.service.http.auth import Operator, check_within
from holdfast.service.http.wire import StrictRoute, json_response, to_wire
from holdfast.store.protocols import AuditLine, Store
from holdfast.types import ApiKey

#: What changes nothing.
SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})
#: What happens all day long, and is in the log of events anyway.
_DAILY = frozenset({"remember", "recall", "context", "feedback", "drain", "compact"})
#: The last words of paths, and the first, of the other dialects where the same happens.
_DAILY_ENDS = ("/ingest", "/ingest/quick", "/search", "/search/fast", "/expand", "/reload", "/test")
_DAILY_PATHS = ("/v1/proxy", "/mcp")
_NOTED = "holdfast.audited"
_SECRET = "audit"
_MOST_CHARS = 200


def is_audited(verb: Verb[..., object]) -> bool:
    """Whether a call of this verb is noted."""
    return verb.role != "read" and verb.name not in _DAILY


def note_action(
    request: Request,
    key: ApiKey,
    action: str,
    subject: str | None = None,
    outcome: str = "done",
    *,
    user: str | None = None,
) -> None:
    """Note what a request did. It is on disk when this returns: call it on a worker thread.

    `subject` is an id; `user` is kept as a digest that only this store can make.
    """
    request.scope[_NOTED] = True
    store, clock = request.app.state.memory.store, request.app.state.clock
    who = user if user is not None else key.user
    audit_line(store, clock, key, action, subject, outcome, user=who)


def audit_line(  # noqa: PLR0917 (the parts of a line)
    store: Store,
    clock: Callable[[], datetime],
    key: ApiKey | None,
    action: str,
    subject: str | None,
    outcome: str,
    *,
    user: str | None = None,
) -> None:
    """Write one line; without a key it was somebody unknown."""
    workspace = "" if key is None else key.workspace
    line = AuditLine(
        at=clock(),
        workspace=workspace,
        actor="anonymous" if key is None else key.id,
        action=action,
        outcome=outcome,
        owner=None if user is None else digest_of(store, workspace, user),
        subject=None if subject is None else _storable(subject),
    )
    store.note_audit(line)


def unnoted_action(scope: AsgiScope) -> tuple[str, str | None] | None:
    """The action and the subject of a request that changed something and was not noted yet.

    So that a route that says nothing of the audit log is in it all the same.
    """
    route = scope.get("route")
    path: str | None = getattr(route, "path", None)
    if path is None or hasattr(route, "verb") or scope.get(_NOTED):
        return None
    if scope["method"] in SAFE_METHODS or path.startswith(_DAILY_PATHS):
        return None
    if path.endswith(_DAILY_ENDS):
        return None
    return f"{scope['method']} {path}", scope.get("path_params", {}).get("id")


def digest_of(store: Store, workspace: str, user: str) -> str:
    """The pseudonym of a user in the audit log of this store."""
    text = f"{workspace}\0{user}".encode("utf-8", "replace")
    return hmac.digest(store.secret(_SECRET), text, "sha256").hex()


def _storable(text: str) -> str:
    return text[:_MOST_CHARS].encode("utf-8", "replace").decode().replace("\0", "?")


# What the operator reads of it.

_MOST_LINES = 1000
#: As many as SQLite counts to.
_MOST_SEQ_DIGITS = 18

routes = APIRouter(route_class=StrictRoute, tags=["audit"])


class AuditLineAnswer(BaseModel):
    """One thing that was done or refused."""

    seq: int
    at: str
    workspace_id: str
    actor: str
    action: str
    outcome: str
    #: A digest of the user under the store's secret.
    user_digest: str | None
    subject: str | None
    hash: str


class AuditAnswer(BaseModel):
    """Lines in their order; `next` asks for those after them."""

    lines: list[AuditLineAnswer]
    count: int
    next: str | None


class VerifyAnswer(BaseModel):
    """Whether the chain holds; the newest hash is worth keeping elsewhere."""

    ok: bool
    broken_at: int | None
    lines: int
    head: str | None


@routes.get("/v1/audit", response_model=AuditAnswer)
def audit(  # noqa: PLR0917 (one per parameter of the query)
    request: Request,
    operator: Operator,
    workspace_id: Annotated[str | None, Query(max_length=512)] = None,
    cursor: Annotated[str | None, Query(max_length=_MOST_SEQ_DIGITS)] = None,
    limit: Annotated[int, Query(ge=1, le=_MOST_LINES)] = 100,
    order: Annotated[Literal["asc", "desc"], Query()] = "asc",
) -> Response:
    """What was done in this workspace through the service, oldest first; order=desc: newest."""
    check_within(operator, workspace=workspace_id)
    store, after = request.app.state.memory.store, _number(cursor)
    found = store.audit(
        workspace=operator.workspace, after=after, limit=limit, newest_first=order == "desc"
    )
    lines = [to_wire(line, owner="user_digest") for line in found]
    onward = str(found[-1].seq) if len(found) == limit else None
    answer = {"lines": lines, "count": len(lines), "next": onward}
    return json_response(answer)


@routes.get("/v1/audit/verify", response_model=VerifyAnswer)
def verify(request: Request, operator: Operator) -> Response:
    """Check every hash of the chain in which the lines of this workspace stand."""
    store = request.app.state.memory.store
    found = store.verify_audit(operator.workspace)
    answer = {
        "ok": found.broken_at is None,
        "broken_at": found.broken_at,
        "lines": found.lines,
        "head": found.head,
    }
    return json_response(answer)


def _number(cursor: str | None) -> int:
    if cursor is None:
        return 0
    if not (cursor.isascii() and cursor.isdecimal()):
        raise InvalidInput("cursor is none of ours", field="cursor")
    return int(cursor)
