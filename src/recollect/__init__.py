"""Recollect: long-term memory for LLM agents.

memory = recollect.open("memory.db")
memory.remember("I moved to Lisbon.", user="ann")
hits = memory.recall("Where does Ann live?", user="ann")
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from recollect.errors import RecollectError
from recollect.types import Context, Drained, Hit, Receipt, Scope, Status, Version

if TYPE_CHECKING:
    from recollect.memory import Memory
    from recollect.wiring import open

__version__ = "0.1.0"

__all__ = [
    "Context",
    "Drained",
    "Hit",
    "Memory",
    "Receipt",
    "RecollectError",
    "Scope",
    "Status",
    "Version",
    "open",
]


def __getattr__(name: str) -> Any:
    """Load the machinery when it is first used: importing the package stays cheap."""
    if name == "open":
        from recollect.wiring import open

        return open
    if name == "Memory":
        from recollect.memory import Memory

        return Memory
    raise AttributeError(f"module 'recollect' has no attribute {name!r}")
