"""An embedder behind any OpenAI-compatible `/embeddings` endpoint, with the standard library alone.

What the endpoint answers becomes vectors or an error here, at once. `ModelUnavailable` means that
the same call may work later (no connection, too slow, 429, 5xx); any other fault is a `ModelError`.
The key goes to the host it was meant for and nowhere else: redirects are refused, and no message
shows it.
"""

from __future__ import annotations

import json
import threading
from http.client import HTTPException
from typing import Any
from urllib.error import HTTPError
from urllib.parse import urlsplit

import numpy as np
from numpy.typing import NDArray

from holdfast.errors import ConfigError, ModelError, ModelUnavailable, NotAsked
from holdfast.models.base import check_vectors
from holdfast.models.http import opener, posted, said_by, seconds

BATCH_TEXTS = 128
MAX_ANSWER_BYTES = 64 * 1024 * 1024  # 128 vectors of 4096 numbers are about 12 MB
MAX_QUOTED_CHARS = 300  # of what the endpoint says about its own error
#: Calls under way at one time. Far fewer than the threads of a service: an endpoint that hangs must
#: not hold all of them; who finds no place is answered by words alone.
MOST_AT_ONCE = 64


class RemoteEmbedder:
    """Embeds at `base_url`; without `dim` it is learned from the first answer."""

    #: What is asked of it may cost; see models/budget.py.
    is_remote = True

    def __init__(
        self,
        base_url: str,
        model: str,
        api_key: str = "",
        *,
        dim: int | None = None,
        timeout_s: float = 30,
    ) -> None:
        parts = urlsplit(base_url)
        if parts.scheme not in {"http", "https"} or not parts.hostname:
            raise ConfigError("the embedding endpoint needs an address such as https://host/v1")
        if not api_key.isascii() or not (api_key.isprintable() and " " not in api_key):
            raise ConfigError("the key of the embedding endpoint holds a character no key can have")
        self._url = base_url.rstrip("/") + "/embeddings"
        self._model = model
        self._key = api_key
        self._dim = dim
        self._timeout_s = timeout_s
        self._opener = opener()
        self._lock = threading.Lock()
        self._places = threading.BoundedSemaphore(MOST_AT_ONCE)

    @property
    def model_id(self) -> str:
        return f"remote:{self._model}"

    @property
    def dim(self) -> int:
        """The length of a vector; asks the endpoint when no answer has shown it yet."""
        return self._dim or self._ask(["dimension"]).shape[1]

    @property
    def known_dim(self) -> int:
        """The length of a vector as far as it is known without asking; else 0."""
        return self._dim or 0

    def embed(self, texts: list[str]) -> NDArray[np.float32]:
        """Unit vectors of shape (len(texts), dim), in the order of the texts."""
        batches = [texts[at : at + BATCH_TEXTS] for at in range(0, len(texts), BATCH_TEXTS)]
        if not batches:
            return np.empty((0, self.dim), dtype=np.float32)
        return np.concatenate([self._ask(batch) for batch in batches])

    def _ask(self, texts: list[str]) -> NDArray[np.float32]:
        # Endpoints refuse an empty input; a space is the nearest thing they take.
        question = {
            "model": self._model,
            "input": [text or " " for text in texts],
            "encoding_format": "float",
        }
        vectors = parse_answer(self._post(json.dumps(question).encode()), count=len(texts))
        with self._lock:
            self._dim = self._dim or vectors.shape[1]
        return check_vectors(vectors, count=len(texts), dim=self._dim)

    def _post(self, body: bytes) -> bytes:
        if not self._places.acquire(blocking=False):
            why = f"{MOST_AT_ONCE} calls are under way, which is the limit"
            raise NotAsked(f"{self.model_id} at {self._url}: {why}", retry_after=1.0)
        try:
            return self._posted(body)
        finally:
            self._places.release()

    def _posted(self, body: bytes) -> bytes:
        try:
            return posted(
                self._opener,
                self._url,
                body,
                key=self._key,
                timeout_s=self._timeout_s,
                most_bytes=MAX_ANSWER_BYTES,
            )
        except HTTPError as error:
            with error:
                raise self._refusal(error) from None
        except TimeoutError:
            raise self._unavailable(f"no answer within {self._timeout_s:g} s") from None
        except (OSError, HTTPException) as error:
            if isinstance(getattr(error, "reason", None), TimeoutError):
                raise self._unavailable(f"no connection within {self._timeout_s:g} s") from None
            raise self._unavailable(f"the connection failed ({self._quoted(str(error))})") from None

    def _refusal(self, error: HTTPError) -> ModelError:
        said = self._quoted(said_by(error))
        if error.code == 429 or error.code >= 500:
            wait = seconds(error.headers.get("Retry-After"))
            return self._unavailable(f"HTTP {error.code}{said and ': '}{said}", retry_after=wait)
        hints = {401: "the key was refused", 403: "the key may not do this", 404: "no such model"}
        hint = "redirects are not followed" if 300 <= error.code < 400 else hints.get(error.code)
        why = ": ".join(part for part in (f"HTTP {error.code}", hint, said) if part)
        return ModelError(f"{self.model_id} at {self._url}: {why}")

    def _unavailable(self, why: str, *, retry_after: float | None = None) -> ModelUnavailable:
        return ModelUnavailable(f"{self.model_id} at {self._url}: {why}", retry_after=retry_after)

    def _quoted(self, text: str) -> str:
        if self._key:
            text = text.replace(self._key, "***")
        return " ".join(text.split())[:MAX_QUOTED_CHARS]


def parse_answer(body: bytes, *, count: int) -> NDArray[np.float64]:
    """Rows in the order of their `index`, or `ModelError` saying how the answer is malformed."""
    try:
        items = json.loads(body)["data"]
        rows = {int(item["index"]): item["embedding"] for item in items}
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        raise ModelError(f"the endpoint's answer is no list of embeddings: {error!r}") from None
    if len(items) != count:
        raise ModelError(f"the endpoint gave {len(items)} embeddings for {count} texts")
    if sorted(rows) != list(range(count)):
        raise ModelError("the endpoint gave an embedding without an index of its own")
    return numbers([rows[index] for index in range(count)])


def numbers(rows: list[Any]) -> NDArray[np.float64]:
    """The rows as one array: lists of numbers, all of one length."""
    if not all(isinstance(row, list) and row for row in rows):
        raise ModelError("the endpoint gave an embedding that is no list of numbers")
    if any(type(value) not in (int, float) for row in rows for value in row):
        raise ModelError("the endpoint gave an embedding with a value that is no number")
    if len({len(row) for row in rows}) != 1:
        raise ModelError("the endpoint gave embeddings of different lengths")
    try:
        return np.array(rows, dtype=np.float64)
    except OverflowError:
        raise ModelError("the endpoint gave an embedding with a value out of range") from None
