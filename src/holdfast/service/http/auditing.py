"""What goes into the audit log: who did what to which id, never a name and never a word of it."""

from __future__ import annotations

import hmac
from collections.abc import Callable
from datetime import datetime

from fastapi import Request
from starlette.types import Scope as AsgiScope

from holdfast.catalogue.verb import Verb
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


def audited(
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
    """The same without a request; without a key it was somebody unknown."""
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


def overlooked(scope: AsgiScope) -> tuple[str, str | None] | None:
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
    """How a user appears in the audit log of this store."""
    text = f"{workspace}\0{user}".encode("utf-8", "replace")
    return hmac.digest(store.secret(_SECRET), text, "sha256").hex()


def _storable(text: str) -> str:
    return text[:_MOST_CHARS].encode("utf-8", "replace").decode().replace("\0", "?")
