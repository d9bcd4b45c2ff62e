"""Who a key is: what a service says of the key that it is asked with."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from holdfast.client.remote import asker
from holdfast.client.transport import Request
from holdfast.errors import ServiceError


@dataclass(frozen=True, slots=True)
class Identity:
    """What a key opens."""

    workspace: str
    #: None: every user of the workspace.
    user: str | None
    role: str


def whoami(url: str, api_key: str | None = None) -> Identity:
    """Whose key this is; without one, that of HOLDFAST_API_KEY. Denied if it opens nothing."""
    asking = asker(url, api_key)
    try:
        told: Any = asking.loaded(Request("GET", "/v1/whoami"))
    finally:
        asking.transport.close()
    try:
        return Identity(told["workspace_id"], told["user_id"], told["role"])
    except (KeyError, TypeError):
        raise ServiceError(f"{asking.transport.address} does not say whose key this is") from None
