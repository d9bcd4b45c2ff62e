"""Chat completions: memory is one more system message, after those that the caller begins with.

Templates of some models take only one, at the beginning: for those it joins the caller's.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from holdfast.service.proxy.shape import Draft, Json, Turn, cleaned, text_of, turns_of
from holdfast.service.proxy.usage import bytes_said

_INSTRUCTING = ("system", "developer")


class Chat:
    """`POST /chat/completions`; `join`: memory joins the last of the messages it would follow."""

    path = "/chat/completions"

    def __init__(self, *, join: bool = False) -> None:
        self._join = join

    def turns(self, body: Json) -> list[Turn]:
        """The conversation so far."""
        return turns_of(body.get("messages"))

    def told(self, body: Json, block: str) -> dict[str, Any]:
        """The body with the memories in it, and no others of ours."""
        messages = body.get("messages")
        if not isinstance(messages, list):
            return dict(body)
        kept: list[Any] = [new for each in messages if (new := cleaned(each)) is not None]
        place = _after_instructions(kept)
        own = kept[place - 1].get("content") if self._join and place else None
        if block and isinstance(own, str):
            kept[place - 1] = {**kept[place - 1], "content": f"{own}\n\n{block}"}
        elif block:
            kept.insert(place, {"role": "system", "content": block})
        return {**body, "messages": kept}

    def hear(self, answer: Json, draft: Draft) -> None:
        """Note what a whole answer says: of several choices the first."""
        _name(answer, draft)
        draft.size_bytes = bytes_said(answer.get("choices"))
        choice = _first(answer)
        message = choice.get("message")
        if isinstance(message, Mapping):
            draft.pieces = [text_of(message.get("content"))]
            draft.whole = True

    def hear_event(self, event: Json, draft: Draft) -> None:
        """Note what a chunk says."""
        _name(event, draft)
        draft.size_bytes += bytes_said(event.get("choices"))
        choice = _first(event)
        delta = choice.get("delta")
        if isinstance(delta, Mapping) and isinstance(delta.get("content"), str):
            draft.pieces.append(delta["content"])
        if choice.get("finish_reason") is not None:
            draft.whole = True


def _after_instructions(messages: list[Any]) -> int:
    for place, each in enumerate(messages):
        if not isinstance(each, Mapping) or each.get("role") not in _INSTRUCTING:
            return place
    return len(messages)


def _first(answer: Json) -> Json:
    choices = answer.get("choices")
    for each in choices if isinstance(choices, list) else ():
        if isinstance(each, Mapping) and each.get("index", 0) == 0:
            return each
    return {}


def _name(answer: Json, draft: Draft) -> None:
    if not draft.id and isinstance(answer.get("id"), str):
        draft.id = answer["id"]
