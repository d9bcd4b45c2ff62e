"""Whose word something is. The channel says it, never the text; on the way it only ever falls."""

from __future__ import annotations

from collections.abc import Iterable

from holdfast.errors import InvalidInput

#: The most trusted first.
ORIGINS: tuple[str, ...] = (
    "user", "user_confirmed", "agent", "tool", "document", "web", "import",
)  # fmt: skip
#: What a caller may say of messages: that they are worth less than their role says.
LOWERED = ("agent", "tool", "document", "web", "import")


def whose(origin: str | None, agent: str | None) -> str:
    """Whose word something is that is written by hand: what the caller says; else the agent's, if
    one writes, and the user's only if none does."""
    if origin is not None:
        return origin
    return "user" if agent is None else "agent"


def least(origins: Iterable[str]) -> str:
    """The least trusted of these; what is none of ours is trusted least."""
    return max(origins, key=lambda each: ORIGINS.index(each) if each in ORIGINS else len(ORIGINS))


def lowered(origin: object) -> str | None:
    """What was said of messages, checked."""
    if origin is None or origin in LOWERED:
        return None if origin is None else str(origin)
    raise InvalidInput(
        f"origin must be one of {', '.join(LOWERED)}: only a role makes something the user's word",
        field="origin",
    )
