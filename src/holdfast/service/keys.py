"""Keys of the service: 256 random bits, shown once, kept as a digest."""

from __future__ import annotations

import hashlib
import re
import secrets
from collections.abc import Callable, Iterable
from dataclasses import replace
from datetime import UTC, datetime
from importlib.util import find_spec

from holdfast.border import validate
from holdfast.errors import Conflict, InvalidInput, NotFound
from holdfast.store.protocols import Keys, StoredKey
from holdfast.types import ApiKey, Role

# Names of tools of the MCP server, checked where a key is made: a wrong one would open nothing.


def split_names(given: Iterable[str]) -> list[str]:
    """["recall,context", "notes"] as ["recall", "context", "notes"]."""
    return [name.strip() for each in given for name in each.split(",") if name.strip()]


def checked_tools(given: Iterable[str] | None) -> list[str] | None:
    """The tools that a list names, one by one or with commas between; None stays None: all."""
    if given is None:
        return None
    texts = list(given)
    names = split_names(texts)
    if texts and not names:
        raise InvalidInput("tools names no tool", field="tools")
    # Without the package nobody knows the names, nor can anybody use them.
    if names and find_spec("mcp") is not None:
        from holdfast.service.mcp.tools import ALL  # noqa: PLC0415 (a second, seldom needed)

        for name in names:
            if name not in ALL:
                known = ", ".join(ALL)
                raise InvalidInput(
                    f"tools: there is no tool {name!r:.64}; known: {known}", field="tools"
                )
    return names


_PREFIX = "rk_"
#: From the least to the most that a key may do.
ROLES: tuple[Role, ...] = ("read", "write", "admin")
_TOOL = re.compile(r"[A-Za-z0-9_.-]{1,64}")
_MOST_TOOLS = 100
_MOST_TOKENS = 10**12


def utc_now() -> datetime:
    """The time of this machine."""
    return datetime.now(UTC)


def create_key(  # noqa: PLR0913 (what a key has)
    store: Keys,
    *,
    workspace: str = "default",
    user: str | None = None,
    role: str = "write",
    expires_at: datetime | str | None = None,
    label: str | None = None,
    tools: Iterable[str] | None = None,
    tokens_a_day: int | None = None,
    clock: Callable[[], datetime] = utc_now,
    id: str = "",
) -> tuple[ApiKey, str]:
    """A new key and its secret, which is never to be had again.

    A `write` key reads and writes; `admin` may also use the operator's routes. `tools` are those
    of the MCP server that it may use; None: all. `tokens_a_day` is what language models may take
    of it in a day of UTC; None: what the service allows, which holds in any case.
    """
    if role not in ROLES:
        raise InvalidInput(f"role must be one of {', '.join(ROLES)}, not {role!r}", field="role")
    now = clock()
    expires = None if expires_at is None else validate.moment(expires_at, "expires")
    if expires is not None and expires <= now:
        raise InvalidInput("expires lies in the past", field="expires")
    if tokens_a_day is not None:
        validate.whole_number(tokens_a_day, "tokens_a_day", 1, _MOST_TOKENS)
    key = ApiKey(
        id=id or new_id(),
        workspace=validate.word(workspace, "workspace"),
        user=None if user is None else validate.word(user, "user"),
        role=role,
        created_at=now,
        expires_at=expires,
        label=None if label is None else validate.word(label, "label"),
        tools=None if tools is None else _tools(tools),
        tokens_a_day=tokens_a_day,
    )
    secret = _secret()
    if not store.put_key(StoredKey(key, digest(secret))):
        raise Conflict(f"there is a key {key.id!r} already")
    return key, secret


def new_id() -> str:
    """An id for a key."""
    return secrets.token_hex(8)


def rotate_key(store: Keys, id: str) -> tuple[ApiKey, str]:
    """The key with a new secret; the one it had opens nothing any more."""
    secret = _secret()
    while held := next(iter(store.api_keys(id=id)), None):
        if held.key.revoked_at is not None:
            raise Conflict("this key was revoked: make a new one")
        if store.put_key(StoredKey(held.key, digest(secret)), was=held):
            return held.key, secret
    raise NotFound(f"there is no key {id!r:.64}")


def revoke_key(store: Keys, id: str, *, at: datetime) -> bool:
    """Revoke a key: from then on it opens nothing. False when there is none or it was before."""
    while held := next(iter(store.api_keys(id=id)), None):
        if held.key.revoked_at is not None:
            return False
        if store.put_key(StoredKey(replace(held.key, revoked_at=at), held.digest), was=held):
            return True
    return False


def is_valid(key: ApiKey, now: datetime) -> bool:
    """Whether a key opens anything at a time."""
    return key.revoked_at is None and (key.expires_at is None or key.expires_at > now)


def is_last_admin(store: Keys, id: str, *, now: datetime) -> bool:
    """Whether nobody could make keys of its workspace over HTTP any more without this one."""
    admins = [
        key
        for key, _ in store.api_keys()
        if key.role == "admin" and key.user is None and is_valid(key, now)
    ]
    own = [key.workspace for key in admins if key.id == id]
    return bool(own) and [key.workspace for key in admins].count(own[0]) == 1


def digest(secret: str) -> bytes:
    """What the store keeps of a secret, and finds it by: near misses take as long as far ones."""
    return hashlib.sha256(secret.encode("utf-8", "replace")).digest()


def _secret() -> str:
    return _PREFIX + secrets.token_urlsafe(32)


def _tools(names: Iterable[str]) -> tuple[str, ...]:
    found = tuple(dict.fromkeys(validate.words(names, "tools")))
    if len(found) > _MOST_TOOLS:
        raise InvalidInput(
            f"tools has {len(found)} names, the limit is {_MOST_TOOLS}", field="tools"
        )
    for name in found:
        if not _TOOL.fullmatch(name):
            words = "1..64 letters, digits and the signs _.-"
            raise InvalidInput(f"tools must be names of {words}, not {name!r:.80}", field="tools")
    return found
