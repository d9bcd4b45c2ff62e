"""Holdfast: long-term memory for LLM agents.

memory = holdfast.open("memory.db")
memory.remember("I moved to Lisbon.", user="ann")
hits = memory.recall("Where does Ann live?", user="ann")
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from holdfast.errors import HoldfastError
from holdfast.types import Context, Drained, Hit, Receipt, Scope, Status, Version
from holdfast.version import VERSION

if TYPE_CHECKING:
    from holdfast.client.remote import AsyncClient, Client
    from holdfast.memory.memory import Memory
    from holdfast.wiring import open

__version__ = VERSION

__all__ = [
    "AsyncClient",
    "Client",
    "Context",
    "Drained",
    "Hit",
    "HoldfastError",
    "Memory",
    "Receipt",
    "Scope",
    "Status",
    "Version",
    "open",
]


#: Where what is loaded late lives.
_LATE = {
    "AsyncClient": "holdfast.client.remote",
    "Client": "holdfast.client.remote",
    "Memory": "holdfast.memory.memory",
    "open": "holdfast.wiring",
}


def __getattr__(name: str) -> Any:
    """Load the machinery when it is first used: importing the package stays cheap."""
    if name in _LATE:
        return getattr(import_module(_LATE[name]), name)
    raise AttributeError(f"module 'holdfast' has no attribute {name!r}")


def __dir__() -> list[str]:
    """With what is loaded late."""
    return sorted({*globals(), *__all__})
