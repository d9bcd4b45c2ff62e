"""Who may ask for the routes that are not verbs of the catalogue, and a request that works.

`scripts/routes_table.py` fails and names the route when one is missing here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from holdfast.service.http import window
from holdfast.types import Role

_METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE")


@dataclass(frozen=True)
class Asked:
    """Who may ask, and with what."""

    role: Role = "read"
    #: No key is needed.
    open: bool = False
    #: A key of one user is refused.
    whole: bool = False
    #: Whether it takes user_id, workspace_id.
    user: bool = True
    workspace: bool = True
    query: Mapping[str, Any] = field(default_factory=dict)
    body: Any = None
    headers: Mapping[str, str] = field(default_factory=dict)
    #: The header that names the user, where it is not a field.
    user_header: str = ""
    #: Names in the path that are not what it is about; what it is about is a user.
    places: Mapping[str, str] = field(default_factory=dict)
    user_in_path: bool = False
    #: user_id and workspace_id stand in the query, though there is a body.
    scope_in_query: bool = False
    #: What of Ann's stands in the path, if world.hers does not say.
    subject: str = ""
    #: What an admin is answered, if it is not 2xx.
    status: int = 0
    #: It names what the caller makes, not what somebody has: PUT /v1/entries/{key}.
    creates: bool = False
    #: Streams without end: only its refusals are asked for.
    endless: bool = False
    #: Its answer depends on more than a tenant's own data, and may: /health, /metrics.
    apart: bool = False


def _proxied(role: Role, body: Any = None, *, whose: bool = False) -> Asked:
    """A route of the proxy: nobody listens where the settings of the tests say that a model is."""
    header = "X-Holdfast-User" if whose else ""
    return Asked(
        role, user=False, workspace=False, body=body, user_header=header,
        status=502, apart=True, subject="quokka", creates=True,
    )  # fmt: skip


def _absent(role: Role = "read", status: int = 404) -> Asked:
    """What others have and we do not; whoever asks is told so."""
    return Asked(role, user=False, workspace=False, status=status, subject="x", creates=True)


def _operator(**more: Any) -> Asked:
    """For who runs the store: it is not about one tenant."""
    return Asked("admin", whole=True, user=False, workspace=False, creates=True, **more)


_AN_ASSET = min(path.name for path in (window.FOLDER / "assets").iterdir())
_NO_SCOPE: Mapping[str, Any] = {"user": False, "workspace": False}
_DOCUMENT: Mapping[str, Any] = {"version": "1.0", "user": {}, "history": {}, "facts": []}
_AS_ATOMIC: Mapping[tuple[str, str], Asked] = {
    ("POST", "/v1/memories/ingest"): Asked("write", body={"conversation": "I like tea."}),
    ("POST", "/v1/memories/ingest/quick"): Asked("write", body={"conversation": "I like tea."}),
    ("POST", "/v1/memories/search"): Asked(body={"query": "What is fine?"}),
    ("POST", "/v1/memories/search/fast"): Asked(body={"query": "What is fine?"}),
    ("POST", "/v1/memories/expand"): Asked(body={"memory_ids": ["$/v1/memories"]}),
    ("GET", "/v1/memories/list"): Asked(),
    ("GET", "/v1/memories/by-external-id"): Asked(query={"external_id": "quokka-1"}),
    ("GET", "/v1/memories/stats"): Asked(),
    ("GET", "/v1/memories/health"): Asked(**_NO_SCOPE),
    ("PUT", "/v1/memories/config"): _absent("write", 410),
    ("GET", "/v1/memories/audit/recent"): Asked(),
    ("GET", "/v1/memories/audit/summary"): Asked(),
    ("GET", "/v1/memories/{id}/audit"): Asked(),
    ("POST", "/v1/memories/consolidate"): Asked("write", body={}),
    ("POST", "/v1/memories/decay"): Asked("write", body={}),
    ("GET", "/v1/memories/cap"): Asked(),
    ("POST", "/v1/memories/reconcile"): Asked("write", body={}),
    ("GET", "/v1/memories/reconcile/status"): Asked(),
    ("POST", "/v1/memories/reset-source"): Asked("write", body={"source_site": "mail"}),
    ("POST", "/v1/memories/lessons/report"): _absent(),
    ("GET", "/v1/memories/lessons"): _absent(),
    ("GET", "/v1/memories/lessons/stats"): _absent(),
    ("DELETE", "/v1/memories/lessons/{id}"): _absent(),
    ("POST", "/v1/memories/first-mentions/extract"): _absent(),
    ("GET", "/v1/memories/event-chains"): _absent(),
    ("POST", "/v1/memories/verify"): _absent(),
    ("POST", "/v1/memories/reflect"): _absent(),
    ("GET", "/v1/agents/trust"): Asked(whole=True, user=False),
    ("PUT", "/v1/agents/trust"): Asked(
        "admin", whole=True, user=False, body={"agent_id": "cook", "trust_level": 0.5}
    ),
    ("GET", "/v1/agents/conflicts"): Asked(),
    ("PUT", "/v1/agents/conflicts/{id}/resolve"): Asked(
        "write", body={"resolution": "resolved_both"}
    ),
    ("POST", "/v1/agents/conflicts/auto-resolve"): Asked("write", body={}),
}
_USER: Mapping[str, Any] = {
    "places": {"entity_type": "user"}, "user_in_path": True, "subject": "ann", **_NO_SCOPE,
}  # fmt: skip
_AS_ATOMIC_ENTITIES: Mapping[tuple[str, str], Asked] = {
    ("GET", "/v1/entities"): Asked("admin", whole=True, **_NO_SCOPE),
    ("POST", "/v1/entities/merge"): _absent(),
    ("GET", "/v1/entities/{entity_type}/{entity_id}"): Asked(**_USER),
    ("GET", "/v1/entities/{entity_type}/{entity_id}/profile"): Asked(**_USER),
    ("GET", "/v1/entities/{entity_type}/{entity_id}/attributes"): Asked(**_USER),
    ("GET", "/v1/entities/{entity_type}/{entity_id}/memories/{memory_id}/history"): Asked(
        **{**_USER, "places": {"entity_type": "user", "memory_id": "f" * 32}}, status=404
    ),
    ("DELETE", "/v1/entities/{entity_type}/{entity_id}"): Asked("admin", **_USER),
}
_AS_DEERFLOW: Mapping[tuple[str, str], Asked] = {
    ("GET", "/api/memory"): Asked(),
    ("GET", "/api/memory/export"): Asked(),
    ("POST", "/api/memory/reload"): Asked(),
    ("GET", "/api/memory/config"): Asked(**_NO_SCOPE),
    ("GET", "/api/memory/status"): Asked(),
    ("DELETE", "/api/memory"): Asked("write"),
    ("POST", "/api/memory/import"): Asked("write", body=_DOCUMENT, scope_in_query=True),
    ("POST", "/api/memory/facts"): Asked(
        "write", body={"content": "I play the flute."}, scope_in_query=True
    ),
    ("PATCH", "/api/memory/facts/{id}"): Asked(
        "write", body={"confidence": 0.7}, scope_in_query=True
    ),
    ("DELETE", "/api/memory/facts/{id}"): Asked("write"),
}
_MCP: Mapping[str, Any] = {"user_header": "X-Holdfast-User", "apart": True, **_NO_SCOPE}
_AS_MCP: Mapping[tuple[str, str], Asked] = {
    ("POST", "/mcp"): Asked(
        headers={"accept": "application/json, text/event-stream"},
        body={
            "jsonrpc": "2.0",
            "id": 1,
            "method": "initialize",
            "params": {
                "protocolVersion": "2025-06-18",
                "capabilities": {},
                "clientInfo": {"name": "test", "version": "1"},
            },
        },
        **_MCP,
    ),
    ("GET", "/mcp"): Asked(endless=True, **_MCP),
    # There is no session to end.
    ("DELETE", "/mcp"): Asked(status=400, **_MCP),
}
_AS_OPENAI: Mapping[tuple[str, str], Asked] = {
    ("POST", "/v1/proxy/chat/completions"): _proxied(
        "write", {"model": "m", "messages": [{"role": "user", "content": "Fine?"}]}, whose=True
    ),
    ("POST", "/v1/proxy/responses"): _proxied(
        "write", {"model": "m", "input": "Fine?"}, whose=True
    ),
    ("POST", "/v1/proxy/embeddings"): _proxied("write", {"model": "m", "input": "fine"}),
    ("GET", "/v1/proxy/models"): _proxied("read"),
    ("GET", "/v1/proxy/models/{model:path}"): _proxied("read"),
    **{(method, "/v1/proxy/{path:path}"): _absent() for method in _METHODS},
}
_OPERATING: Mapping[tuple[str, str], Asked] = {
    ("GET", "/"): Asked(open=True, apart=True, **_NO_SCOPE),
    ("GET", "/assets/sample.jsonl"): Asked(open=True, apart=True, **_NO_SCOPE),
    ("GET", "/assets/{name}"): Asked(
        open=True, apart=True, subject=_AN_ASSET, creates=True, **_NO_SCOPE
    ),
    ("GET", "/health"): Asked(open=True, apart=True, **_NO_SCOPE),
    ("GET", "/v1/ready"): Asked(apart=True, **_NO_SCOPE),
    ("GET", "/metrics"): _operator(),
    ("GET", "/v1/stream"): Asked(endless=True),
    ("POST", "/v1/sign-in"): Asked(open=True, apart=True, body={"key": "$key"}, **_NO_SCOPE),
    ("POST", "/v1/sign-out"): Asked(apart=True, **_NO_SCOPE),
    ("GET", "/v1/whoami"): Asked(apart=True, **_NO_SCOPE),
    ("GET", "/v1/openapi.json"): Asked(**_NO_SCOPE),
    ("GET", "/openapi.json"): Asked(**_NO_SCOPE),
    ("GET", "/v1/export"): _operator(),
    ("POST", "/v1/import"): _operator(
        body=b'{"user": "ann", "content": "I like tea."}\n',
        headers={"content-type": "application/x-ndjson"},
    ),
    ("GET", "/v1/audit"): _operator(),
    ("GET", "/v1/audit/verify"): _operator(),
    ("POST", "/v1/keys"): _operator(body={"role": "read"}),
    ("GET", "/v1/keys"): _operator(),
    ("POST", "/v1/keys/{id}/rotate"): _operator(),
    ("DELETE", "/v1/keys/{id}"): _operator(),
    # Fetching is switched off unless somebody switches it on.
    ("POST", "/v1/documents/fetch"): Asked(
        "write", body={"url": "https://example.org/"}, status=403
    ),
    ("POST", "/v1/webhooks"): Asked("admin", body={"url": "https://example.org/"}),
    ("GET", "/v1/webhooks"): Asked("admin", **_NO_SCOPE),
    ("GET", "/v1/webhooks/{id}"): Asked("admin", **_NO_SCOPE),
    ("PATCH", "/v1/webhooks/{id}"): Asked("admin", body={"enabled": False}, **_NO_SCOPE),
    ("DELETE", "/v1/webhooks/{id}"): Asked("admin", **_NO_SCOPE),
    ("POST", "/v1/webhooks/{id}/test"): Asked("admin", **_NO_SCOPE),
}
ROUTES: Mapping[tuple[str, str], Asked] = {
    **_AS_ATOMIC,
    **_AS_ATOMIC_ENTITIES,
    **_AS_DEERFLOW,
    **_AS_OPENAI,
    **_AS_MCP,
    **_OPERATING,
}
