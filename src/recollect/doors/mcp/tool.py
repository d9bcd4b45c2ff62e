"""A tool: what a model is told of it, and what it does. An answer is JSON, as text and as data."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import orjson
from mcp import types

from recollect.api.codec import dumps
from recollect.doors.mcp import shape
from recollect.doors.mcp.asker import Asker
from recollect.doors.mcp.shape import Schema
from recollect.errors import InvalidInput, ModelError, RecollectError, StoreError
from recollect.types import Role

log = logging.getLogger("recollect.mcp")

#: The resources that a client may follow.
GRAPH = "memory://knowledge-graph"
PROFILE = "recollect://profile"
NOTES = "recollect://notes"
INSTRUCTIONS = "recollect://instructions"
FOLLOWED: tuple[str, ...] = (GRAPH, PROFILE, NOTES, INSTRUCTIONS)

_USER = shape.text("Whose memory is meant: the id of the user.")
_MOST_MESSAGE_CHARS = 500
#: What the core calls a field, and what it is called here.
_WIRE_NAME = {"user": "user_id", "workspace": "workspace_id", "session": "session_id"}

#: A memory (or the client of one), who asks and the arguments -> a value that JSON can hold.
Run = Callable[[Any, Asker, dict[str, Any]], Any]


@dataclass(frozen=True, slots=True)
class Tool:
    """One tool."""

    name: str
    title: str
    #: For the model: what it does and when to use it.
    about: str
    run: Run
    takes: Schema = field(default_factory=lambda: shape.record({}))
    gives: Schema | None = None
    role: Role = "read"
    #: Who may only read is offered it, though there are arguments that write.
    writes: bool = False
    destructive: bool = False
    #: Whether doing it twice is as doing it once.
    idempotent: bool = True
    #: The resources that look otherwise afterwards.
    touches: tuple[str, ...] = ()
    #: Its arguments are those of another server: none is added.
    exact: bool = False
    #: Whether its errors are JSON as well.
    json_errors: bool = False

    def schema(self, who: Asker) -> Schema:
        """What it takes from somebody: who may name a user is offered that."""
        if self.exact or not who.names_user or who.user is not None:
            return self.takes
        return {**self.takes, "properties": {**self.takes["properties"], "user_id": _USER}}

    def listed(self, who: Asker) -> types.Tool:
        """As a client is shown it."""
        return types.Tool(
            name=self.name,
            title=self.title,
            description=self.about,
            input_schema=self.schema(who),
            output_schema=self.gives,
            annotations=types.ToolAnnotations(
                title=self.title,
                read_only_hint=self.role == "read" and not self.writes,
                destructive_hint=self.destructive,
                idempotent_hint=self.idempotent,
                open_world_hint=False,
            ),
        )

    def answer(self, memory: Any, who: Asker, sent: dict[str, Any]) -> types.CallToolResult:
        """Do it. What the caller did wrong is told in words."""
        try:
            given = shape.check(self.schema(who), sent)
            return told(self.run(memory, who, given))
        except RecollectError as error:
            return self._refused(error)

    def _refused(self, error: RecollectError) -> types.CallToolResult:
        message, name = complaint(error)
        body = {"error": message} | ({"field": name} if name else {})
        shown = dumps(body).decode() if self.json_errors else message
        return types.CallToolResult(
            content=[types.TextContent(type="text", text=shown)],
            structured_content=None if self.gives else body,
            is_error=True,
        )


def told(value: Any) -> types.CallToolResult:
    """A value as an answer."""
    text = dumps(value)
    return types.CallToolResult(
        content=[types.TextContent(type="text", text=text.decode())],
        structured_content=orjson.loads(text),
    )


def complaint(error: RecollectError) -> tuple[str, str]:
    """An error in words, and the argument it is about.

    What went wrong here is told by its kind alone and logged: its text may name files.
    """
    if isinstance(error, StoreError | ModelError):
        log.error("%s: %s", type(error).__name__, error)
        return str(type(error)().args[0]), ""
    message = str(error)
    name = error.field if isinstance(error, InvalidInput) else ""
    if name in _WIRE_NAME and message.startswith(name):
        message = _WIRE_NAME[name] + message.removeprefix(name)
    return _plain(message), _plain(_WIRE_NAME.get(name, name))


def _plain(text: str) -> str:
    """Short, and such that UTF-8 can hold it: it may quote a lone surrogate."""
    short = text if len(text) <= _MOST_MESSAGE_CHARS else text[:_MOST_MESSAGE_CHARS] + "…"
    return short.encode("utf-8", "replace").decode()
