"""Keys over HTTP, for the operator: make, list, give a new secret, revoke."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Path, Request, Response
from pydantic import BaseModel, ConfigDict, Field, JsonValue

from recollect.api.codec import dumps
from recollect.doors.http.auditing import audited
from recollect.doors.http.auth import Operator
from recollect.doors.http.strict import StrictRoute
from recollect.doors.http.wire import Text
from recollect.errors import InvalidInput, NotFound
from recollect.keys import create_key, rotate_key
from recollect.types import ApiKey

routes = APIRouter(route_class=StrictRoute, tags=["keys"])

Id = Annotated[str, Path(max_length=64)]
_EXAMPLE: JsonValue = {"user_id": "ann", "role": "read", "label": "laptop"}


class KeyBody(BaseModel):
    """What a new key may do."""

    model_config = ConfigDict(
        strict=True, extra="forbid", frozen=True, json_schema_extra={"examples": [_EXAMPLE]}
    )

    #: Default: the workspace of the key that asks.
    workspace_id: Text = None
    #: Default: every user of the workspace.
    user_id: Text = None
    role: Text = "write"
    #: ISO 8601 with a zone; default: never.
    expires_at: Text = None
    label: Text = None
    #: Tools of the MCP server; default: all.
    tools: Annotated[list[str], Field(max_length=100)] | None = None


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
def create(request: Request, body: KeyBody, operator: Operator) -> Response:
    """Make a key; its secret is in this answer and nowhere else."""
    try:
        key, secret = create_key(
            request.app.state.memory.store,
            workspace=operator.workspace if body.workspace_id is None else body.workspace_id,
            user=body.user_id, role=body.role or "write", expires_at=body.expires_at,
            label=body.label, tools=body.tools, clock=request.app.state.clock,
        )  # fmt: skip
    except InvalidInput as error:
        error.field = "expires_at" if error.field == "expires" else error.field
        raise
    audited(request, operator, "keys.create", key.id)
    return _answer({**told(key), "key": secret}, 201)


@routes.get("/v1/keys", response_model=KeysAnswer)
def listed(request: Request, operator: Operator) -> Response:
    """All keys of the store, without their secrets."""
    keys = [told(key) for key in request.app.state.memory.store.api_keys()]
    return _answer({"keys": keys, "count": len(keys)})


@routes.post("/v1/keys/{id}/rotate", response_model=NewKeyAnswer)
def rotate(request: Request, id: Id, operator: Operator) -> Response:
    """Give a key another secret; the one it had opens nothing from now on."""
    key, secret = rotate_key(request.app.state.memory.store, id)
    request.app.state.keyring.forget()
    audited(request, operator, "keys.rotate", key.id)
    return _answer({**told(key), "key": secret})


@routes.delete("/v1/keys/{id}", response_model=RevokedAnswer)
def revoke(request: Request, id: Id, operator: Operator) -> Response:
    """Revoke a key: from now on it opens nothing."""
    store = request.app.state.memory.store
    if store.held_key(id) is None:
        raise NotFound(f"there is no key {id!r}")
    changed = store.revoke_key(id, at=request.app.state.clock())
    request.app.state.keyring.forget()
    audited(request, operator, "keys.revoke", id)
    return _answer({"changed": changed})


def told(key: ApiKey) -> dict[str, Any]:
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
    }


def _answer(value: dict[str, Any], status: int = 200) -> Response:
    return Response(dumps(value), status, media_type="application/json")
