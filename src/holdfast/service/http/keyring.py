"""Which key a request shows: as a secret in a header, or as the session of a web page.

What was found is believed for half a second, so that a key is not read from disk for each request
and a revoked one is still dead within a second, whoever revoked it. Whether a key has expired is
asked each time.

A session is a text that this process signed: the id of a key, a time, and an HMAC over both and
over the digest of the key's secret. It ends with its time, with the key (revoked, rotated, erased)
and with the process: what signs is nowhere but in its memory. In the store it would be in every
backup, and whoever reads one could sign in as anybody.
"""

from __future__ import annotations

import hmac
import secrets
import time
from collections.abc import Callable
from datetime import datetime, timedelta

from holdfast.service.http.limits import aside
from holdfast.service.keys import digest, is_valid
from holdfast.store.protocols import Store
from holdfast.types import ApiKey

SESSION_HOURS = 12
_BELIEVED_SECONDS = 0.5
#: More than this many keys in half a second: look all of them up again.
_MOST_BELIEVED = 10_000
_SECRET_BYTES = 32


class Keyring:
    """The keys of a store, as the guard asks for them."""

    def __init__(
        self,
        store: Store,
        clock: Callable[[], datetime],
        *,
        timer: Callable[[], float] = time.monotonic,
    ) -> None:
        self._store = store
        self._clock = clock
        self._timer = timer
        self._secret = secrets.token_bytes(_SECRET_BYTES)
        self._believed: dict[tuple[str, bytes], tuple[ApiKey, float]] = {}

    async def of_secret(self, secret: str) -> ApiKey | None:
        """The valid key that a secret opens."""
        if not secret:
            return None
        return await self._found("secret", digest(secret), self._store.find_key)

    async def of_session(self, session: str) -> ApiKey | None:
        """The valid key that a session stands for."""
        if not session:
            return None
        told = session.encode("utf-8", "replace")
        key = await self._found("session", told, self._of_session)
        return key if key is not None and self._is_timely(session) else None

    def forget(self) -> None:
        """Look everything up again: a key was changed here."""
        self._believed.clear()

    def session(self, key: ApiKey) -> str:
        """A session of a key, from now on."""
        ends = self._clock() + timedelta(hours=SESSION_HOURS)
        held = self._store.held_key(key.id)
        assert held is not None, "the key was found a moment ago"
        text = f"{key.id}.{int(ends.timestamp())}"
        return f"{text}.{self._mac(text, held[1])}"

    async def _found(
        self, kind: str, shown: bytes, find: Callable[[bytes], ApiKey | None]
    ) -> ApiKey | None:
        now = self._timer()
        key, until = self._believed.get((kind, shown), (None, 0.0))
        if now >= until:
            key = await aside(find, shown)
            if key is not None:
                if len(self._believed) >= _MOST_BELIEVED:
                    self.forget()
                # From before the read: what was revoked meanwhile is not believed for longer.
                self._believed[kind, shown] = (key, now + _BELIEVED_SECONDS)
            else:
                self._believed.pop((kind, shown), None)
        return key if key is not None and is_valid(key, self._clock()) else None

    def _of_session(self, shown: bytes) -> ApiKey | None:
        text, _, mac = shown.decode("utf-8", "replace").rpartition(".")
        held = self._store.held_key(text.partition(".")[0])
        # Also for an id that does not exist: it takes as long.
        expected = self._mac(text, held[1] if held else b"")
        right = hmac.compare_digest(mac.encode(), expected.encode())
        return held[0] if held and right else None

    def _is_timely(self, session: str) -> bool:
        _, ends, _ = session.split(".")
        return self._clock().timestamp() < int(ends)

    def _mac(self, text: str, key_digest: bytes) -> str:
        return hmac.digest(self._secret, f"{text}.{key_digest.hex()}".encode(), "sha256").hex()
