"""The question in a conversation: its last user turn, and what was said before it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from holdfast.errors import InvalidInput


def question(
    messages: str | Sequence[Mapping[str, Any]],
) -> tuple[str, Sequence[Mapping[str, Any]]]:
    """The last user turn of a conversation and what was said before it, or the text itself."""
    if isinstance(messages, str):
        return messages, ()
    if not isinstance(messages, Sequence):
        raise InvalidInput("messages must be a text or a list of messages", field="messages")
    turns: list[Any] = list(messages)  # Of a caller: anything may stand in it.
    for place, message in reversed(list(enumerate(turns))):
        if isinstance(message, Mapping) and message.get("role", "user") == "user":
            content = message.get("content")
            if isinstance(content, str):
                return content, turns[:place]
    raise InvalidInput("messages hold no user turn to search for", field="messages")
