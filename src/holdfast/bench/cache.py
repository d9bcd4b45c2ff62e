"""Embeddings kept between runs: a second evaluation of the same texts embeds nothing."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import blake2b
from pathlib import Path

import apsw
import numpy as np
from numpy.typing import NDArray

from holdfast.border import private
from holdfast.errors import NotAStore, StoreError
from holdfast.models.base import Embedder, embedded, known_dim

#: "RCEC": marks the file as ours.
_APPLICATION_ID = 0x52434543
_BUSY_MILLISECONDS = 60_000
#: Texts looked up in one statement.
_LOOKED_UP = 500


class CachedEmbedder:
    """An embedder that asks `inner` only for texts it has not seen. Threads may share it.

    What can be made again needs no sync: after a power cut the file may have to be deleted.
    """

    def __init__(self, inner: Embedder, path: Path) -> None:
        self._inner = inner
        self._path = path
        self._lock = threading.Lock()
        #: Texts answered from the file, and by the model.
        self.kept = 0
        self.made = 0
        private.folder(path.parent)
        with self._errors():
            self._connection = self._opened()

    @property
    def model_id(self) -> str:
        return self._inner.model_id

    @property
    def dim(self) -> int:
        return self._inner.dim

    @property
    def known_dim(self) -> int:
        """As the inner one: who opens a memory must not wait for a server."""
        return known_dim(self._inner)

    def embed(self, texts: list[str]) -> NDArray[np.float32]:
        """Unit vectors, from the file where it has them."""
        digests = [self._digest(text) for text in texts]
        known = self._read(set(digests))
        missing = {
            digest: text for digest, text in zip(digests, texts, strict=True) if digest not in known
        }
        if missing:
            rows = embedded(self._inner, list(missing.values())).astype("<f4")
            fresh = {digest: row.tobytes() for digest, row in zip(missing, rows, strict=True)}
            self._write(fresh)
            known |= fresh
        with self._lock:
            self.kept += len(texts) - len(missing)
            self.made += len(missing)
        stacked = b"".join(known[digest] for digest in digests)
        vectors = np.frombuffer(stacked, dtype="<f4").astype(np.float32)
        return vectors.reshape(len(texts), self.dim)

    def close(self) -> None:
        """Release the file."""
        with self._lock:
            self._connection.close()

    def _opened(self) -> apsw.Connection:
        private.create_private(self._path)
        connection = apsw.Connection(str(self._path))
        try:
            connection.set_busy_timeout(_BUSY_MILLISECONDS)
            self._refuse_foreign(connection)
            connection.execute(
                f"PRAGMA application_id = {_APPLICATION_ID};"
                "PRAGMA journal_mode = WAL; PRAGMA synchronous = OFF;"
                "CREATE TABLE IF NOT EXISTS vectors"
                " (digest BLOB PRIMARY KEY, vector BLOB NOT NULL) WITHOUT ROWID"
            ).fetchall()
        except BaseException:
            connection.close()
            raise
        return connection

    def _refuse_foreign(self, connection: apsw.Connection) -> None:
        tables = connection.execute("SELECT count(*) FROM sqlite_schema").get
        if tables and connection.pragma("application_id") != _APPLICATION_ID:
            raise NotAStore(f"{self._path} is no cache of embeddings: name another file")

    def _read(self, digests: set[bytes]) -> dict[bytes, bytes]:
        wanted, size = list(digests), 4 * self.dim
        known: dict[bytes, bytes] = {}
        with self._lock, self._errors():
            for start in range(0, len(wanted), _LOOKED_UP):
                part = wanted[start : start + _LOOKED_UP]
                marks = ",".join("?" * len(part))
                rows = self._connection.execute(
                    f"SELECT digest, vector FROM vectors WHERE digest IN ({marks})", part
                )
                known |= {digest: vector for digest, vector in rows if len(vector) == size}
        return known

    def _write(self, fresh: dict[bytes, bytes]) -> None:
        with self._lock, self._errors(), self._connection:
            self._connection.executemany(
                "INSERT OR REPLACE INTO vectors VALUES (?, ?)", list(fresh.items())
            )

    def _digest(self, text: str) -> bytes:
        # Half a surrogate pair has no UTF-8 form, and is a text all the same.
        named = f"{self.model_id}\0{text}".encode("utf-8", "surrogatepass")
        return blake2b(named, digest_size=16).digest()

    @contextmanager
    def _errors(self) -> Iterator[None]:
        """SQLite's errors in our words."""
        try:
            yield
        except apsw.Error as error:
            raise StoreError(f"the cache {self._path} cannot be used: {error}") from error
