"""What only an operator asks for over HTTP: keys, the audit log, whole workspaces, sign-in; and
documents that are fetched by their URL."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping
from threading import Lock
from typing import Annotated, Any, BinaryIO

from fastapi import APIRouter, HTTPException, Path, Request, Response
from pydantic import BaseModel, ConfigDict, Field, JsonValue
from starlette.concurrency import run_in_threadpool
from starlette.responses import StreamingResponse

from holdfast.errors import Conflict, InvalidInput, NotFound
from holdfast.models.budget import day_of
from holdfast.service.http.audit import note_action
from holdfast.service.http.auth import (
    SESSION_HOURS,
    Keyring,
    Operator,
    Reader,
    Writer,
    check_within,
)
from holdfast.service.http.guard import COOKIE
from holdfast.service.http.idempotency import IdempotencyKey, make_once
from holdfast.service.http.wire import (
    ClosedBody,
    Needed,
    Object,
    StrictRoute,
    Text,
    json_response,
    to_wire,
)
from holdfast.service.keys import (
    checked_tools,
    create_key,
    is_last_admin,
    new_id,
    revoke_key,
    rotate_key,
)
from holdfast.service.outgoing import CallFailed, FetchedResponse
from holdfast.service.outgoing import request as call
from holdfast.store.protocols import Keys, Spent
from holdfast.transfer import export_to, import_from
from holdfast.types import TEAM, ApiKey, Scope

# Sign-in for web pages: a key is shown once, then a cookie stands for it; and who one is.

_MOST_SECRET_CHARS = 512

sign_in_routes = APIRouter(route_class=StrictRoute, tags=["keys"])


class SignInBody(ClosedBody):
    """The key to sign in with."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"key": "rk_..."}]})

    key: Annotated[str, Field(min_length=1, max_length=_MOST_SECRET_CHARS, repr=False)]


class WhoAmI(BaseModel):
    """What a key opens."""

    key_id: str
    workspace_id: str
    user_id: str | None
    role: str
    tools: list[str] | None
    expires_at: str | None


@sign_in_routes.post("/v1/sign-in", status_code=204, response_class=Response)
async def sign_in(request: Request, body: SignInBody) -> Response:
    """Show a key once; the answer sets a cookie that stands for it for 12 hours."""
    keyring: Keyring = request.app.state.keyring
    key = await keyring.of_secret(body.key)
    if key is None:
        raise HTTPException(401, "this key opens nothing: it is wrong, expired or revoked")
    session = await keyring.begin(key)
    await run_in_threadpool(note_action, request, key, "sign-in", key.id)
    response = Response(status_code=204)
    # Behind a proxy that speaks https for us only the page's origin tells.
    secure = "https" in (request.url.scheme, request.headers.get("origin", "").partition(":")[0])
    response.set_cookie(
        COOKIE, session, max_age=SESSION_HOURS * 3600, path="/",
        secure=secure, httponly=True, samesite="strict",
    )  # fmt: skip
    return response


@sign_in_routes.post("/v1/sign-out", status_code=204, response_class=Response)
async def sign_out(request: Request, key: Reader) -> Response:
    """End the session, and take the cookie away."""
    request.app.state.keyring.end(request.cookies.get(COOKIE, ""))
    await run_in_threadpool(note_action, request, key, "sign-out", key.id)
    response = Response(status_code=204)
    response.delete_cookie(COOKIE, path="/", httponly=True, samesite="strict")
    return response


@sign_in_routes.get("/v1/whoami", response_model=WhoAmI)
async def whoami(key: Reader) -> Response:
    """What the key of this request opens."""
    return json_response(identity_json(key))


def identity_json(key: ApiKey) -> dict[str, Any]:
    """What a key opens, as it travels."""
    return {
        "key_id": key.id,
        "workspace_id": key.workspace,
        "user_id": key.user,
        "role": key.role,
        "tools": key.tools,
        "expires_at": key.expires_at,
    }


# A whole workspace out of the service and into it: JSON lines, for an admin.
#
# An export is written to a nameless temporary file first, because its counts come first; then it
# is sent piece by piece. See docs/howto/export-and-import.md.

transfer_routes = APIRouter()

_LINES, _BYTES = "application/x-ndjson", "application/octet-stream"
_FILE = {"type": "string", "format": "binary"}
_PIECE_BYTES = 256 * 1024
_IN_MEMORY_BYTES = 4 * 1024 * 1024
_NAMES = {"user_id": "user", "agent_id": "agent", "session_id": "session"}


def _query(name: str, schema: Mapping[str, Any], words: str) -> dict[str, Any]:
    return {"name": name, "in": "query", "schema": dict(schema), "description": words}


@transfer_routes.get(
    "/v1/export",
    summary="Everything that is stored, as JSON lines.",
    responses={200: {"content": {each: {"schema": _FILE} for each in (_LINES, _BYTES)}}},
    response_class=Response,
    openapi_extra={
        "parameters": [_query("vectors", {"type": "boolean"}, "false: smaller, embedded anew.")]
    },
)
async def export(request: Request, key: Operator) -> Response:
    """All memories of all users of the key's workspace, as JSON lines that import gives back."""
    given = _params(request, ("vectors",))
    vectors = given.get("vectors", "true")
    if vectors not in ("true", "false"):
        raise InvalidInput("vectors must be true or false", field="vectors")
    kind = _BYTES if _BYTES in request.headers.get("accept", "") else _LINES
    file = await run_in_threadpool(_export_file, request, key, vectors == "true")
    return StreamingResponse(_pieces(file), media_type=kind)


@transfer_routes.post(
    "/v1/import",
    summary="Read an export, or plain messages, as JSON lines.",
    response_class=Response,
    openapi_extra={
        "parameters": [
            _query(name, {"type": "string", "maxLength": 512}, "For lines that name none.")
            for name in _NAMES
        ],
        # Of any type: generators of clients know this one.
        "requestBody": {"required": True, "content": {_BYTES: {"schema": _FILE}}},
    },
)
async def import_lines(request: Request, key: Operator) -> Response:
    """Store what the lines hold; a bad one, or one of another workspace, is listed and does not
    stop the others. An export that is damaged is refused as a whole."""
    given = {_NAMES[name]: value for name, value in _params(request, tuple(_NAMES)).items()}
    with tempfile.SpooledTemporaryFile(_IN_MEMORY_BYTES) as file:
        async for piece in request.stream():
            # Beyond so much it is on disk, where writing may take a while.
            await run_in_threadpool(file.write, piece)
        return await run_in_threadpool(_import_file, request, key, file, given)


def _params(request: Request, known: tuple[str, ...]) -> dict[str, str]:
    found = {}
    for name in request.query_params:
        texts = request.query_params.getlist(name)
        if name not in known:
            raise InvalidInput(f"{name:.64} is not a field of this request", field=name)
        if len(texts) > 1:
            raise InvalidInput(f"{name} is given {len(texts)} times", field=name)
        found[name] = texts[0]
    return found


def _export_file(request: Request, key: ApiKey, vectors: bool) -> BinaryIO:
    file: Any = tempfile.TemporaryFile()  # noqa: SIM115 (closed when it was sent)
    try:
        store = request.app.state.memory.store
        export_to(store, file, vectors=vectors, workspace=key.workspace)
        note_action(request, key, "export")
        file.seek(0)
    except BaseException:
        file.close()
        raise
    found: BinaryIO = file
    return found


def _pieces(file: BinaryIO) -> Iterator[bytes]:
    with file:
        while piece := file.read(_PIECE_BYTES):
            yield piece


def _import_file(request: Request, key: ApiKey, file: Any, given: Mapping[str, Any]) -> Response:
    file.seek(0)
    mine = key.workspace
    done = import_from(request.app.state.memory, file, workspace=mine, only=mine, **given)
    note_action(request, key, "import")
    return json_response(done)


# Documents fetched by their URL: off unless the operator switched it on (outgoing.fetch).

fetching_routes = APIRouter(route_class=StrictRoute, tags=["documents"])

_FETCH_EXAMPLE: JsonValue = {"url": "https://example.org/handbook.html", "user_id": "ann"}
#: What is text under a name that does not begin so.
_TEXT_TYPES = frozenset({"application/json", "application/xml", "application/xhtml+xml"})
_FORMATS = {"text/html": "html", "application/xhtml+xml": "html", "text/markdown": "markdown"}


class FetchBody(ClosedBody):
    """Which document, and whose it becomes."""

    model_config = ConfigDict(json_schema_extra={"examples": [_FETCH_EXAMPLE]})

    url: Needed
    #: What it is known by; default: the URL without what stands behind a question mark.
    name: Text = None
    user_id: Text = None
    workspace_id: Text = None
    metadata: Object = None


@fetching_routes.post("/v1/documents/fetch", status_code=201)
def fetch(request: Request, body: FetchBody, key: Writer) -> Response:
    """Fetch a text from a public address and add it as a document."""
    memory = request.app.state.memory
    if not memory.config.outgoing.fetch:
        raise HTTPException(403, "fetching by URL is switched off here (outgoing.fetch)")
    user = _user(key, body)
    answer = call("GET", body.url, headers={"Accept": "text/*"}, config=memory.config)
    document = memory.knowledge.add(
        _text(answer),
        name=body.name or answer.url.partition("?")[0],
        format=_FORMATS.get(_type(answer), "text"),
        user=user, workspace=key.workspace, metadata=body.metadata,
    )  # fmt: skip
    note_action(request, key, "documents.fetch", document.id, user=user)
    return json_response(document, 201)


def _user(key: ApiKey, body: FetchBody) -> str | None:
    check_within(key, workspace=body.workspace_id, user=body.user_id)
    return key.user if body.user_id is None else body.user_id


def _text(answer: FetchedResponse) -> bytes:
    if answer.status != 200:
        raise CallFailed(f"url answered with status {answer.status}", field="url")
    kind = _type(answer)
    if not kind.startswith("text/") and kind not in _TEXT_TYPES:
        raise InvalidInput(f"url gave {kind or 'something'!s:.64}, not text", field="url")
    return answer.body


def _type(answer: FetchedResponse) -> str:
    return answer.headers.get("content-type", "").partition(";")[0].strip().lower()


key_routes = APIRouter(route_class=StrictRoute, tags=["keys"])

Id = Annotated[str, Path(max_length=64)]
#: Two that revoke each other must not both be the last but one.
_REVOKING = Lock()
_EXAMPLE: JsonValue = {"user_id": "ann", "role": "read", "label": "laptop"}


class KeyBody(ClosedBody):
    """What a new key may do."""

    model_config = ConfigDict(json_schema_extra={"examples": [_EXAMPLE]})

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


@key_routes.post("/v1/keys", status_code=201, response_model=NewKeyAnswer)
def create(
    request: Request, body: KeyBody, operator: Operator, _: IdempotencyKey = None
) -> Response:
    """Make a key of this workspace; its secret is in this answer and nowhere else."""
    check_within(operator, workspace=body.workspace_id)
    id, team = new_id(), Scope(operator.workspace, TEAM)
    with make_once(request, team, "key", id, body.model_dump()) as before:
        if before is not None:
            return before
        key, secret = _make_key(request, body, operator, id)
    note_action(request, operator, "keys.create", key.id)
    return json_response({**key_json(key), "key": secret}, 201)


def _make_key(request: Request, body: KeyBody, operator: ApiKey, id: str) -> tuple[ApiKey, str]:
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


@key_routes.get("/v1/keys", response_model=KeysAnswer)
def listed(request: Request, operator: Operator) -> Response:
    """All keys of this workspace, without their secrets."""
    store, today = request.app.state.memory.store, day_of(request.app.state.clock())
    found = [key for key, _ in store.api_keys() if key.workspace == operator.workspace]
    keys = [key_json(key, store.spent(key.id, today)) for key in found]
    return json_response({"keys": keys, "count": len(keys)})


@key_routes.post("/v1/keys/{id}/rotate", response_model=NewKeyAnswer)
def rotate(request: Request, id: Id, operator: Operator) -> Response:
    """Give a key another secret; the one it had opens nothing from now on."""
    store = request.app.state.memory.store
    _check_own(store, id, operator)
    key, secret = rotate_key(store, id)
    request.app.state.keyring.forget()
    note_action(request, operator, "keys.rotate", key.id)
    spent = store.spent(id, day_of(request.app.state.clock()))
    return json_response({**key_json(key, spent), "key": secret})


@key_routes.delete("/v1/keys/{id}", response_model=RevokedAnswer)
def revoke(request: Request, id: Id, operator: Operator) -> Response:
    """Revoke a key: from now on it opens nothing."""
    store = request.app.state.memory.store
    _check_own(store, id, operator)
    now = request.app.state.clock()
    with _REVOKING:
        if is_last_admin(store, id, now=now):
            raise Conflict("this is the last admin key: make another first")
        changed = revoke_key(store, id, at=now)
    request.app.state.keyring.forget()
    note_action(request, operator, "keys.revoke", id)
    return json_response({"changed": changed})


def _check_own(store: Keys, id: str, operator: ApiKey) -> None:
    """A key of another workspace is as one that does not exist."""
    if all(key.workspace != operator.workspace for key, _ in store.api_keys(id=id)):
        raise NotFound(f"there is no key {id!r}")


def key_json(key: ApiKey, spent: Spent | None = None) -> dict[str, Any]:
    """A key as it travels."""
    return {**to_wire(key), "tokens_today": spent.tokens if spent else 0}
