"""Erasure of a user, with a receipt that proves it and tells nothing about what was erased.

The store removes every row of the owner and leaves no byte of them in its files (`Store.erase`).
What is handed out says when, in which workspace and how many rows of which table. The user stands
in it as a digest that only this store can make, because names are easily guessed; the signature is
made with the same secret. So a receipt can be kept for years and checked wherever the store is,
and who holds nothing but the receipt learns neither a name nor a word.

There is no undo. Backups and exports that were made before are files of their own: see
docs/howto/erase.md.
"""

from __future__ import annotations

import hmac
import json
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from holdfast.errors import InvalidInput
from holdfast.store.protocols import Chores
from holdfast.types import Scope

VERSION = 1
_SECRET = "receipts"
_ID_BYTES = 16


@dataclass(frozen=True, slots=True)
class Erased:
    """The receipt of an erasure."""

    id: str
    workspace: str
    #: A digest of the user's name under the store's secret and the id: two receipts of one user
    #: cannot be told to belong together.
    user: str
    at: datetime
    #: By table, how many rows were removed.
    removed: Mapping[str, int]
    #: HMAC-SHA256 over all other fields.
    signature: str
    version: int = VERSION

    def as_dict(self) -> dict[str, Any]:
        """The receipt as JSON knows it; what `verify` takes."""
        return {**_signed_fields(self), "signature": self.signature}


def erase(store: Chores, scope: Scope, *, now: datetime) -> Erased:
    """Remove everything that the store holds of a user, at once and for good."""
    if now.tzinfo is None:
        raise InvalidInput("now is a time without a zone", field="now")
    secret = store.secret(_SECRET)  # Before: what the store writes last is the erasure itself.
    removed = store.erase(scope, at=now)
    id = secrets.token_hex(_ID_BYTES)
    receipt = Erased(
        id=id,
        workspace=scope.workspace,
        user=_digest_of(secret, id, scope),
        at=now,
        removed=dict(removed),
        signature="",
    )
    return replace(receipt, signature=_signature(secret, _signed_fields(receipt)) or "")


def verify(store: Chores, receipt: Mapping[str, Any], *, user: str | None = None) -> bool:
    """Whether this store gave a receipt as it is; with a user, also whether it is about them."""
    told = dict(receipt)
    signature = told.pop("signature", None)
    if isinstance(at := told.get("at"), str) and at.endswith("Z"):
        told["at"] = f"{at[:-1]}+00:00"  # As it is written over HTTP; this is how it was signed.
    secret = store.secret(_SECRET)
    expected = _signature(secret, told)
    if not isinstance(signature, str) or expected is None:
        return False
    if not hmac.compare_digest(signature.encode("utf-8", "replace"), expected.encode()):
        return False
    if user is None:
        return True
    scope = Scope(str(told["workspace"]), user)
    return hmac.compare_digest(str(told["user"]), _digest_of(secret, str(told["id"]), scope))


def _signed_fields(receipt: Erased) -> dict[str, Any]:
    """What is signed."""
    return {
        "version": receipt.version,
        "id": receipt.id,
        "workspace": receipt.workspace,
        "user": receipt.user,
        "at": receipt.at.isoformat(),
        "removed": dict(receipt.removed),
    }


def _signature(secret: bytes, told: Mapping[str, Any]) -> str | None:
    """None for what cannot be a receipt of ours: it holds something that JSON does not know."""
    try:
        text = json.dumps(told, sort_keys=True, separators=(",", ":"), allow_nan=False)
    except (TypeError, ValueError):
        return None
    return _mac(secret, "receipt", text)


def _digest_of(secret: bytes, id: str, scope: Scope) -> str:
    return _mac(secret, "user", json.dumps([id, scope.workspace, scope.user]))


def _mac(secret: bytes, purpose: str, text: str) -> str:
    return hmac.digest(secret, f"{purpose}\0{text}".encode(), "sha256").hex()
