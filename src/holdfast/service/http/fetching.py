"""Documents fetched by their URL: off unless the operator switched it on (outgoing.fetch)."""

from __future__ import annotations

from fastapi import APIRouter, HTTPException, Request, Response
from pydantic import BaseModel, ConfigDict, JsonValue

from holdfast.catalogue.codec import dumps
from holdfast.errors import InvalidInput
from holdfast.service.http.auditing import audited
from holdfast.service.http.auth import Writer, check_within
from holdfast.service.http.strict import StrictRoute
from holdfast.service.http.wire import Needed, Object, Text
from holdfast.service.outgoing import Answer, CallFailed
from holdfast.service.outgoing import request as call
from holdfast.types import ApiKey

routes = APIRouter(route_class=StrictRoute, tags=["documents"])

_EXAMPLE: JsonValue = {"url": "https://example.org/handbook.html", "user_id": "ann"}
#: What is text under a name that does not begin so.
_TEXT_TYPES = frozenset({"application/json", "application/xml", "application/xhtml+xml"})
_FORMATS = {"text/html": "html", "application/xhtml+xml": "html", "text/markdown": "markdown"}


class FetchBody(BaseModel):
    """Which document, and whose it becomes."""

    model_config = ConfigDict(
        strict=True, extra="forbid", frozen=True, json_schema_extra={"examples": [_EXAMPLE]}
    )

    url: Needed
    #: What it is known by; default: the URL without what stands behind a question mark.
    name: Text = None
    user_id: Text = None
    workspace_id: Text = None
    metadata: Object = None


@routes.post("/v1/documents/fetch", status_code=201)
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
    audited(request, key, "documents.fetch", document.id, user=user)
    return Response(dumps(document), 201, media_type="application/json")


def _user(key: ApiKey, body: FetchBody) -> str | None:
    check_within(key, workspace=body.workspace_id, user=body.user_id)
    return key.user if body.user_id is None else body.user_id


def _text(answer: Answer) -> bytes:
    if answer.status != 200:
        raise CallFailed(f"url answered with status {answer.status}", field="url")
    kind = _type(answer)
    if not kind.startswith("text/") and kind not in _TEXT_TYPES:
        raise InvalidInput(f"url gave {kind or 'something'!s:.64}, not text", field="url")
    return answer.body


def _type(answer: Answer) -> str:
    return answer.headers.get("content-type", "").partition(";")[0].strip().lower()
