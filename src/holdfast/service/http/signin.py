"""Sign-in for web pages: a key is shown once, then a cookie stands for it; and who one is."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, HTTPException, Request, Response
from pydantic import BaseModel, ConfigDict, Field
from starlette.concurrency import run_in_threadpool

from holdfast.catalogue.codec import dumps
from holdfast.service.http.auditing import audited
from holdfast.service.http.auth import Reader
from holdfast.service.http.guard import COOKIE
from holdfast.service.http.keyring import SESSION_HOURS, Keyring
from holdfast.service.http.strict import StrictRoute
from holdfast.types import ApiKey

_MOST_SECRET_CHARS = 512

routes = APIRouter(route_class=StrictRoute, tags=["keys"])


class SignInBody(BaseModel):
    """The key to sign in with."""

    model_config = ConfigDict(
        strict=True,
        extra="forbid",
        frozen=True,
        json_schema_extra={"examples": [{"key": "rk_..."}]},
    )

    key: Annotated[str, Field(min_length=1, max_length=_MOST_SECRET_CHARS, repr=False)]


class WhoAmI(BaseModel):
    """What a key opens."""

    key_id: str
    workspace_id: str
    user_id: str | None
    role: str
    tools: list[str] | None
    expires_at: str | None


@routes.post("/v1/sign-in", status_code=204, response_class=Response)
async def sign_in(request: Request, body: SignInBody) -> Response:
    """Show a key once; the answer sets a cookie that stands for it for 12 hours."""
    keyring: Keyring = request.app.state.keyring
    key = await keyring.of_secret(body.key)
    if key is None:
        raise HTTPException(401, "this key opens nothing: it is wrong, expired or revoked")
    session = await run_in_threadpool(keyring.session, key)
    await run_in_threadpool(audited, request, key, "sign-in", key.id)
    response = Response(status_code=204)
    # Behind a proxy that speaks https for us only the page's origin tells.
    secure = "https" in (request.url.scheme, request.headers.get("origin", "").partition(":")[0])
    response.set_cookie(
        COOKIE, session, max_age=SESSION_HOURS * 3600, path="/",
        secure=secure, httponly=True, samesite="strict",
    )  # fmt: skip
    return response


@routes.post("/v1/sign-out", status_code=204, response_class=Response)
async def sign_out(request: Request, key: Reader) -> Response:
    """Take the cookie away."""
    await run_in_threadpool(audited, request, key, "sign-out", key.id)
    response = Response(status_code=204)
    response.delete_cookie(COOKIE, path="/", httponly=True, samesite="strict")
    return response


@routes.get("/v1/whoami", response_model=WhoAmI)
async def whoami(key: Reader) -> Response:
    """What the key of this request opens."""
    return Response(dumps(told(key)), media_type="application/json")


def told(key: ApiKey) -> dict[str, Any]:
    """What a key opens, as it travels."""
    return {
        "key_id": key.id,
        "workspace_id": key.workspace,
        "user_id": key.user,
        "role": key.role,
        "tools": key.tools,
        "expires_at": key.expires_at,
    }
