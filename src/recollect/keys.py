"""Keys of the service: 256 random bits, shown once, kept as a digest."""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Callable
from datetime import UTC, datetime

from recollect.errors import InvalidInput
from recollect.store.base import Keys
from recollect.types import ApiKey, Role
from recollect.write import validate

_PREFIX = "rk_"
_ROLES: tuple[Role, ...] = ("read", "write", "admin")


def create_key(
    store: Keys,
    *,
    workspace: str = "default",
    user: str | None = None,
    role: str = "write",
    expires_at: datetime | str | None = None,
    label: str | None = None,
    clock: Callable[[], datetime] = lambda: datetime.now(UTC),
) -> tuple[ApiKey, str]:
    """A new key and its secret, which is never to be had again.

    A `write` key reads and writes; `admin` may also use the operator's routes.
    """
    if role not in _ROLES:
        raise InvalidInput(f"role must be one of {', '.join(_ROLES)}, not {role!r}", field="role")
    now = clock()
    expires = None if expires_at is None else validate.moment(expires_at, "expires")
    if expires is not None and expires <= now:
        raise InvalidInput("expires lies in the past", field="expires")
    key = ApiKey(
        id=secrets.token_hex(8),
        workspace=validate.word(workspace, "workspace"),
        user=None if user is None else validate.word(user, "user"),
        role=role,
        created_at=now,
        expires_at=expires,
        label=label,
    )
    secret = _PREFIX + secrets.token_urlsafe(32)
    store.add_key(key, digest(secret))
    return key, secret


def valid_key(store: Keys, secret: str, *, now: datetime) -> ApiKey | None:
    """The key that a secret opens, or None if there is none, it expired or was revoked.

    The secret is looked up by its digest: equal time for near misses and far ones.
    """
    key = store.find_key(digest(secret))
    if key is None or key.revoked_at is not None:
        return None
    if key.expires_at is not None and key.expires_at <= now:
        return None
    return key


def digest(secret: str) -> bytes:
    """What the store keeps of a secret."""
    return hashlib.sha256(secret.encode("utf-8", "replace")).digest()
