"""Routes of webhooks: made, listed, tried, disabled and enabled by an admin key.

A key of one user has the webhooks of that user alone. The secret that signs is shown once.
"""

from __future__ import annotations

import secrets
import threading
from dataclasses import replace
from datetime import datetime
from typing import Annotated, Any
from urllib.parse import urlsplit

from fastapi import APIRouter, Depends, Request
from pydantic import BaseModel, Field
from starlette.concurrency import run_in_threadpool
from starlette.responses import Response

from holdfast.border import validate
from holdfast.config import Config
from holdfast.errors import Conflict, InvalidInput, NotFound
from holdfast.memory.memory import Memory
from holdfast.service.http.audit import note_action
from holdfast.service.http.auth import check_within, key_of, require_role
from holdfast.service.http.idempotency import IdempotencyKey, make_once
from holdfast.service.http.wire import ClosedBody, Held, StrictRoute, json_response, to_wire
from holdfast.service.outgoing import check_literal
from holdfast.service.webhooks import Sender, after_success, checked_names, new_secret
from holdfast.store.values import Webhook
from holdfast.types import TEAM, ApiKey, Scope

_MOST_URL_CHARS = 2000
_MOST_HOOKS = 100
_MOST_OF_A_USER = 10
#: Between counting them and adding one nobody else here adds one.
_ADDING = threading.Lock()
_BY_HAND = "disabled by hand"

routes = APIRouter(route_class=StrictRoute, tags=["webhooks"])


class NewWebhook(ClosedBody):
    """Where to send what."""

    url: str
    #: Default: what happens to every user of the workspace.
    user_id: str | None = None
    workspace_id: str | None = None
    #: Names as in docs/howto/webhooks.md; default: all.
    events: list[str] = Field([])


class ChangedWebhook(ClosedBody):
    """Whether it is called."""

    enabled: bool


class WebhookAnswer(BaseModel):
    """A webhook, and how it fares."""

    id: str
    url: str
    workspace_id: str
    user_id: str | None
    events: list[str]
    created_at: datetime
    enabled: bool
    failures: int
    failing_since: datetime | None
    due: datetime | None
    error: str | None
    disabled_at: datetime | None


class CreatedWebhook(WebhookAnswer):
    """The same, and what signs its deliveries, this once."""

    secret: str


class Webhooks(BaseModel):
    """All of them."""

    webhooks: list[WebhookAnswer]
    count: int


class Removed(BaseModel):
    """Which is gone."""

    id: str
    removed: bool


class Tried(BaseModel):
    """What came of a delivery."""

    id: str
    delivered: bool
    error: str | None


async def _admin(request: Request) -> ApiKey:
    key = key_of(request)
    require_role(key, "admin")
    return key


Admin = Annotated[ApiKey, Depends(_admin)]


@routes.post("/v1/webhooks", status_code=201, response_model=CreatedWebhook)
def create(
    request: Request, body: NewWebhook, key: Admin, memory: Held, _: IdempotencyKey = None
) -> Response:
    """Tell an address what happens from now on. The secret in the answer is shown this once."""
    check_within(key, workspace=body.workspace_id, user=body.user_id)
    if not memory.config.outgoing.webhooks:
        raise InvalidInput("webhooks are switched off here (outgoing.webhooks)")
    user = key.user if body.user_id is None else body.user_id
    if user is not None:
        user = validate.scope(workspace=key.workspace, user=user).user
    secret = new_secret()
    hook = Webhook(
        id=secrets.token_hex(8),
        workspace=key.workspace,
        user=user,
        url=_address(body.url, memory.config),
        events=checked_names(body.events),
        created_at=memory.now(),
        secret=secret.encode(),
    )
    owner = Scope(key.workspace, TEAM if key.user is None else key.user)
    with make_once(request, owner, "webhook", hook.id, body.model_dump()) as before:
        if before is not None:
            return before
        with _ADDING:
            _check_room(memory, hook)
            memory.store.put_hook(hook)
    note_action(request, key, "webhooks.create", hook.id, user=user)
    return json_response({**_hook_json(hook), "secret": secret}, 201)


@routes.get("/v1/webhooks", response_model=Webhooks)
def listed(key: Admin, memory: Held) -> Response:
    """The webhooks of this workspace, oldest first, and how each fares."""
    found = [_hook_json(each) for each in _own(memory, key)]
    return json_response({"webhooks": found, "count": len(found)})


@routes.get("/v1/webhooks/{id}", response_model=WebhookAnswer)
def shown(id: str, key: Admin, memory: Held) -> Response:
    """One webhook, and how it fares."""
    return json_response(_hook_json(_one(memory, key, id)))


@routes.patch("/v1/webhooks/{id}", response_model=WebhookAnswer)
def change(request: Request, id: str, body: ChangedWebhook, key: Admin, memory: Held) -> Response:
    """Disable a webhook, or enable it again: it is told what it has missed."""
    hook = _set_enabled(memory, key, id, enabled=body.enabled)
    action = "webhooks.enable" if body.enabled else "webhooks.disable"
    note_action(request, key, action, hook.id, user=hook.user)
    return json_response(_hook_json(hook))


@routes.delete("/v1/webhooks/{id}", response_model=Removed)
def remove(request: Request, id: str, key: Admin, memory: Held) -> Response:
    """Remove a webhook; nothing more is sent to it."""
    hook = _one(memory, key, id)
    memory.store.put_hook(None, was=hook)
    note_action(request, key, "webhooks.remove", hook.id, user=hook.user)
    return json_response({"id": id, "removed": True})


@routes.post("/v1/webhooks/{id}/test", response_model=Tried)
async def test(id: str, key: Admin, memory: Held) -> Response:
    """Send one event of the type `webhook.test` now, and say what came of it."""
    return await run_in_threadpool(_send_test, id, key, memory)


def _send_test(id: str, key: ApiKey, memory: Memory) -> Response:
    hook = _one(memory, key, id)
    if not memory.config.outgoing.webhooks:
        raise InvalidInput("webhooks are switched off here (outgoing.webhooks)")
    body = {
        "workspace_id": hook.workspace,
        "user_id": hook.user,
        "events": [{"type": "webhook.test", "at": memory.now()}],
    }
    error = Sender(memory).send(hook, secrets.token_hex(16), body)
    return json_response({"id": id, "delivered": not error, "error": error or None})


def _set_enabled(memory: Memory, key: ApiKey, id: str, *, enabled: bool) -> Webhook:
    """The webhook as it is then; once more while its deliveries change how it fares."""
    while True:
        was = hook = _one(memory, key, id)
        if enabled:
            hook = after_success(hook)
        elif hook.disabled_at is None:
            hook = replace(hook, disabled_at=memory.now(), error=_BY_HAND, due=None)
        if memory.store.put_hook(hook, was=was):
            return hook


def _check_room(memory: Memory, hook: Webhook) -> None:
    there = memory.store.hooks(workspace=hook.workspace)
    if len(there) >= _MOST_HOOKS:
        raise Conflict(f"a workspace has at most {_MOST_HOOKS} webhooks")
    if hook.user is not None and [e.user for e in there].count(hook.user) >= _MOST_OF_A_USER:
        raise Conflict(f"a user has at most {_MOST_OF_A_USER} webhooks")


def _own(memory: Memory, key: ApiKey) -> list[Webhook]:
    """Those that a key may know of."""
    hooks = memory.store.hooks(workspace=key.workspace)
    return [each for each in hooks if key.user in (None, each.user)]


def _one(memory: Memory, key: ApiKey, id: str) -> Webhook:
    for each in _own(memory, key):
        if each.id == id:
            return each
    raise NotFound(f"there is no webhook {id[:64]!r}")


def _address(url: str, config: Config) -> str:
    if len(url) > _MOST_URL_CHARS:
        raise InvalidInput(f"url must be at most {_MOST_URL_CHARS} characters", field="url")
    try:
        parts = urlsplit(url)
        port_is_fine = parts.port != 0
    except ValueError:
        parts, port_is_fine = urlsplit(""), False
    if parts.scheme not in ("http", "https") or not parts.hostname or not port_is_fine:
        raise InvalidInput("url must be an http or https address", field="url")
    if parts.username is not None or any(ord(char) <= 32 for char in url) or not url.isascii():
        raise InvalidInput("url must have no user, no blanks and only ASCII", field="url")
    check_literal(url, config)
    return url


def _hook_json(hook: Webhook) -> dict[str, Any]:
    """A webhook as it travels; its secret is nowhere in it."""
    told = {**to_wire(hook), "enabled": hook.disabled_at is None}
    del told["secret"]
    return told
