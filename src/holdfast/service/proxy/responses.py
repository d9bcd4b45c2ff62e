"""Responses: memory stands at the end of the instructions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from holdfast.service.proxy.shape import (
    Draft,
    Json,
    Turn,
    cleaned,
    text_of,
    turns_of,
    without_blocks,
)
from holdfast.service.proxy.usage import bytes_said

#: The events that hold the whole answer; before them it is not finished.
_ENDS = ("response.completed", "response.incomplete")
_WHOLE = ("completed", "incomplete")


class Responses:
    """`POST /responses`."""

    path = "/responses"

    def turns(self, body: Json) -> list[Turn]:
        """The conversation so far, as far as it is sent: the model may keep what was before."""
        given = body.get("input")
        return turns_of([{"role": "user", "content": given}] if isinstance(given, str) else given)

    def told(self, body: Json, block: str) -> dict[str, Any]:
        """The body with the memories in it, and no others of ours."""
        told, given = dict(body), body.get("input")
        if isinstance(given, list):
            told["input"] = [new for each in given if (new := cleaned(each)) is not None]
        elif isinstance(given, str):
            told["input"] = without_blocks(given)
        own = body.get("instructions")
        if own is not None and not isinstance(own, str):
            return told
        instructions = "\n\n".join(each for each in (without_blocks(own or ""), block) if each)
        if instructions != (own or ""):
            told["instructions"] = instructions
        return told

    def hear(self, answer: Json, draft: Draft) -> None:
        """Note what a whole answer says."""
        if isinstance(answer.get("id"), str):
            draft.id = answer["id"]
        draft.size_bytes = bytes_said(answer.get("output"))
        if answer.get("status") not in _WHOLE:
            return
        output = answer.get("output")
        said = [
            text_of(item.get("content"))
            for item in (output if isinstance(output, list) else ())
            if isinstance(item, Mapping) and item.get("type") == "message"
        ]
        draft.pieces = ["\n".join(text for text in said if text)]
        draft.whole = True

    def hear_event(self, event: Json, draft: Draft) -> None:
        """Note what an event says: the last one says all."""
        answer, piece = event.get("response"), event.get("delta")
        if isinstance(piece, str):
            draft.size_bytes += len(piece.encode("utf-8", "replace"))
        if event.get("type") in _ENDS and isinstance(answer, Mapping):
            self.hear(answer, draft)
