"""Keys over HTTP, for the operator: make, list, give a new secret, revoke."""

from __future__ import annotations

from threading import Lock
from typing import Annotated, Any

from fastapi import APIRouter, Path, Request, Response
from pydantic import BaseModel, ConfigDict, Field, JsonValue

from holdfast.catalogue.codec import dumps
from holdfast.errors import Conflict, InvalidInput, NotFound
from holdfast.models.budget import day_of
from holdfast.service.http.auditing import audited
from holdfast.service.http.auth import Operator, check_within
from holdfast.service.http.idempotency import IdempotencyKey, made_once
from holdfast.service.http.strict import StrictRoute
from holdfast.service.http.wire import Text
from holdfast.service.keys import create_key, is_last_admin, new_id, rotate_key
from holdfast.service.toolnames import checked_tools
from holdfast.store.base import Keys, Spent
from holdfast.types import TEAM, ApiKey, Scope

routes = APIRouter(route_class=StrictRoute, tags=["keys"])

Id = Annotated[str, Path(max_length=64)]
#: Two that revoke each other must not both be the last but one.
_REVOKING = Lock()
_EXAMPLE: JsonValue = {"user_id": "ann", "role": "read", "label": "laptop"}


class KeyBody(BaseModel):
    """What a new key may do."""

    model_config = ConfigDict(
        strict=True, extra="forbid", frozen=True, json_schema_extra={"examples": [_EXAMPLE]}
    )

    #: Only to repeat the workspace of the key that asks: keys of others are made where the file is.
    workspace_id: Text = None
    #: Default: every user of the workspace.
    user_id: Text = None
    role: Text = "write"
    #: ISO 8601 with a zone; default: never.
    expires_at: Text = None
    label: Text = None
    #: Tools of the MCP server; default: all.
    tools: Annotated[list[str], Field(max_length=100)] | None = None
    #: What language models may take of it in a day of UTC; default: what the service allows.
    tokens_a_day: int | None = None


class KeyAnswer(BaseModel):
    """A key without its secret."""

    id: str
    workspace_id: str
    user_id: str | None
    role: str
    created_at: str
    expires_at: str | None
    revoked_at: str | None
    label: str | None
    tools: list[str] | None
    tokens_a_day: int | None
    #: What language models have taken of it since midnight UTC.
    tokens_today: int


class NewKeyAnswer(KeyAnswer):
    """A key with its secret, which is shown this once."""

    key: str


class KeysAnswer(BaseModel):
    """All keys, oldest first."""

    keys: list[KeyAnswer]
    count: int


class RevokedAnswer(BaseModel):
    """Whether a key was revoked now; false: it was before."""

    changed: bool


@routes.post("/v1/keys", status_code=201, response_model=NewKeyAnswer)
def create(
    request: Request, body: KeyBody, operator: Operator, _: IdempotencyKey = None
) -> Response:
    """Make a key of this workspace; its secret is in this answer and nowhere else."""
    check_within(operator, workspace=body.workspace_id)
    id, team = new_id(), Scope(operator.workspace, TEAM)
    with made_once(request, team, "key", id, body.model_dump()) as before:
        if before is not None:
            return before
        key, secret = _created(request, body, operator, id)
    audited(request, operator, "keys.create", key.id)
    return _answer({**told(key), "key": secret}, 201)


def _created(request: Request, body: KeyBody, operator: ApiKey, id: str) -> tuple[ApiKey, str]:
    try:
        return create_key(
            request.app.state.memory.store,
            workspace=operator.workspace,
            user=body.user_id, role=body.role or "write", expires_at=body.expires_at,
            label=body.label, tools=checked_tools(body.tools), tokens_a_day=body.tokens_a_day,
            clock=request.app.state.clock, id=id,
        )  # fmt: skip
    except InvalidInput as error:
        error.field = "expires_at" if error.field == "expires" else error.field
        raise


@routes.get("/v1/keys", response_model=KeysAnswer)
def listed(request: Request, operator: Operator) -> Response:
    """All keys of this workspace, without their secrets."""
    found = request.app.state.memory.store.api_keys()
    spent = request.app.state.memory.store.spent_by_keys(day_of(request.app.state.clock()))
    keys = [told(key, spent.get(key.id)) for key in found if key.workspace == operator.workspace]
    return _answer({"keys": keys, "count": len(keys)})


@routes.post("/v1/keys/{id}/rotate", response_model=NewKeyAnswer)
def rotate(request: Request, id: Id, operator: Operator) -> Response:
    """Give a key another secret; the one it had opens nothing from now on."""
    store = request.app.state.memory.store
    _check_own(store, id, operator)
    key, secret = rotate_key(store, id)
    request.app.state.keyring.forget()
    audited(request, operator, "keys.rotate", key.id)
    spent = store.spent_by_keys(day_of(request.app.state.clock()), only=id)
    return _answer({**told(key, spent.get(id)), "key": secret})


@routes.delete("/v1/keys/{id}", response_model=RevokedAnswer)
def revoke(request: Request, id: Id, operator: Operator) -> Response:
    """Revoke a key: from now on it opens nothing."""
    store = request.app.state.memory.store
    _check_own(store, id, operator)
    now = request.app.state.clock()
    with _REVOKING:
        if is_last_admin(store, id, now=now):
            raise Conflict("this is the last admin key: make another first")
        changed = store.revoke_key(id, at=now)
    request.app.state.keyring.forget()
    audited(request, operator, "keys.revoke", id)
    return _answer({"changed": changed})


def _check_own(store: Keys, id: str, operator: ApiKey) -> None:
    """A key of another workspace is as one that does not exist."""
    held = store.held_key(id)
    if held is None or held[0].workspace != operator.workspace:
        raise NotFound(f"there is no key {id!r}")


def told(key: ApiKey, spent: Spent | None = None) -> dict[str, Any]:
    """A key as it travels."""
    return {
        "id": key.id,
        "workspace_id": key.workspace,
        "user_id": key.user,
        "role": key.role,
        "created_at": key.created_at,
        "expires_at": key.expires_at,
        "revoked_at": key.revoked_at,
        "label": key.label,
        "tools": key.tools,
        "tokens_a_day": key.tokens_a_day,
        "tokens_today": spent.tokens if spent else 0,
    }


def _answer(value: dict[str, Any], status: int = 200) -> Response:
    return Response(dumps(value), status, media_type="application/json")
