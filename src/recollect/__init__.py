"""Recollect: long-term memory for LLM agents.

memory = recollect.open("memory.db")
memory.remember("I moved to Lisbon.", user="ann")
hits = memory.recall("Where does Ann live?", user="ann")
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from recollect.errors import RecollectError
from recollect.types import Context, Drained, Hit, Receipt, Scope, Status, Version
from recollect.version import VERSION

if TYPE_CHECKING:
    from recollect.client.aio import AsyncClient
    from recollect.client.remote import Client
    from recollect.memory import Memory
    from recollect.wiring import open

__version__ = VERSION

__all__ = [
    "AsyncClient",
    "Client",
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


#: Where what is loaded late lives.
_LATE = {
    "AsyncClient": "recollect.client.aio",
    "Client": "recollect.client.remote",
    "Memory": "recollect.memory",
    "open": "recollect.wiring",
}


def __getattr__(name: str) -> Any:
    """Load the machinery when it is first used: importing the package stays cheap."""
    if name in _LATE:
        return getattr(import_module(_LATE[name]), name)
    raise AttributeError(f"module 'recollect' has no attribute {name!r}")


def __dir__() -> list[str]:
    """With what is loaded late."""
    return sorted({*globals(), *__all__})
