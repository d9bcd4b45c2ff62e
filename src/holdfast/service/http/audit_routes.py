"""The audit log over HTTP, for the operator."""

from __future__ import annotations

from typing import Annotated, Literal

from fastapi import APIRouter, Query, Request, Response
from pydantic import BaseModel

from holdfast.catalogue.codec import dumps
from holdfast.errors import InvalidInput
from holdfast.service.http.auth import Operator, check_within
from holdfast.service.http.strict import StrictRoute

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
    lines = [
        {
            "seq": line.seq,
            "at": line.at,
            "workspace_id": line.workspace,
            "actor": line.actor,
            "action": line.action,
            "outcome": line.outcome,
            "user_digest": line.owner,
            "subject": line.subject,
            "hash": line.hash,
        }
        for line in found
    ]
    onward = str(found[-1].seq) if len(found) == limit else None
    answer = {"lines": lines, "count": len(lines), "next": onward}
    return Response(dumps(answer), media_type="application/json")


@routes.get("/v1/audit/verify", response_model=VerifyAnswer)
def verify(request: Request, operator: Operator) -> Response:
    """Check every hash of the log."""
    store = request.app.state.memory.store
    head, broken = store.audit_head(), store.verify_audit()
    answer = {
        "ok": broken is None,
        "broken_at": broken,
        "lines": 0 if head is None else head.seq,
        "head": None if head is None else head.hash,
    }
    return Response(dumps(answer), media_type="application/json")


def _number(cursor: str | None) -> int:
    if cursor is None:
        return 0
    if not (cursor.isascii() and cursor.isdecimal()):
        raise InvalidInput("cursor is none of ours", field="cursor")
    return int(cursor)
