"""A whole workspace out of the service and into it: JSON lines, for an admin.

An export is written to a nameless temporary file first, because its counts come first; then it is
sent piece by piece. See docs/howto/export-and-import.md.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping
from typing import Any, BinaryIO

from fastapi import APIRouter, Request, Response
from starlette.concurrency import run_in_threadpool
from starlette.responses import StreamingResponse

from holdfast.catalogue.codec import dumps
from holdfast.errors import InvalidInput
from holdfast.service.http.auditing import audited
from holdfast.service.http.auth import Operator
from holdfast.transfer import export_to, import_from
from holdfast.types import ApiKey

routes = APIRouter()

_LINES, _BYTES = "application/x-ndjson", "application/octet-stream"
_FILE = {"type": "string", "format": "binary"}
_PIECE_BYTES = 256 * 1024
_IN_MEMORY_BYTES = 4 * 1024 * 1024
_NAMES = {"user_id": "user", "agent_id": "agent", "session_id": "session"}


def _query(name: str, schema: Mapping[str, Any], words: str) -> dict[str, Any]:
    return {"name": name, "in": "query", "schema": dict(schema), "description": words}


@routes.get(
    "/v1/export",
    summary="Everything that is stored, as JSON lines.",
    responses={
        200: {"content": {each: {"schema": _FILE} for each in (_LINES, _BYTES)}},
    },
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
    file = await run_in_threadpool(_exported, request, key, vectors == "true")
    return StreamingResponse(_pieces(file), media_type=kind)


@routes.post(
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
        return await run_in_threadpool(_imported, request, key, file, given)


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


def _exported(request: Request, key: ApiKey, vectors: bool) -> BinaryIO:
    file: Any = tempfile.TemporaryFile()  # noqa: SIM115 (closed when it was sent)
    try:
        store = request.app.state.memory.store
        export_to(store, file, vectors=vectors, workspace=key.workspace)
        audited(request, key, "export")
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


def _imported(request: Request, key: ApiKey, file: Any, given: Mapping[str, Any]) -> Response:
    file.seek(0)
    mine = key.workspace
    done = import_from(request.app.state.memory, file, workspace=mine, only=mine, **given)
    audited(request, key, "import")
    return Response(dumps(done), media_type="application/json")
