"""Models behind any OpenAI-compatible endpoint, with the standard library alone: `/embeddings` and
`/chat/completions`.

One call asks once; when and whether to ask again is the queue's business. The error says which:

    ModelUnavailable   it may work later: no connection, too slow, 408, 429 (`retry_after`), 5xx
    Refused            the key or the account is not accepted: 401, 402, a spent quota
    ModelError         this request fails every time: 400, 404, an answer without text

The key goes to the host it was meant for and nowhere else: redirects are refused, and no message
shows it.
"""

from __future__ import annotations

import json
import math
import re
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from email.message import Message
from http.client import HTTPException, HTTPResponse, IncompleteRead
from typing import IO, Any, TypeGuard
from urllib.error import HTTPError
from urllib.parse import urlsplit
from urllib.request import HTTPRedirectHandler, Request, build_opener

import numpy as np
from numpy.typing import NDArray

from holdfast.errors import ConfigError, ModelError, ModelUnavailable, NotAsked, Refused
from holdfast.language.tokens import count_tokens
from holdfast.models.base import Generated, TokenUsage, check_vectors

_LONGEST_WAIT_S = 86_400.0


class HttpStatus(Exception):
    """An answer of an endpoint that is an error."""

    def __init__(self, error: HTTPError) -> None:
        super().__init__(error.code)
        self.status = error.code
        #: In seconds.
        self.retry_after = _seconds(error.headers.get("Retry-After"))
        #: Its own words, or nothing.
        try:
            self.said = error.read(4096).decode(errors="replace")
        except (OSError, HTTPException):
            self.said = ""


class Endpoint:
    """An address that JSON is posted to, and the model and the key that go with it; `what` says in
    messages what it is for. Threads may share it."""

    def __init__(
        self,
        what: str,
        base_url: str,
        path: str,
        model: str,
        key: str,
        *,
        timeout_s: float,
        most_bytes: int,
    ) -> None:
        try:
            parts = urlsplit(base_url)
            is_address = parts.scheme in {"http", "https"} and bool(parts.hostname)
            is_address = is_address and parts.port != 0
        except ValueError:  # A bracket or a port that is none.
            is_address = False
        if not is_address:
            raise ConfigError(f"the {what} endpoint needs an address such as https://host/v1")
        if parts.username is not None or parts.password is not None:
            raise ConfigError(f"the address of the {what} endpoint must not hold a password")
        if not key.isascii() or not (key.isprintable() and " " not in key):
            raise ConfigError(f"the key of the {what} endpoint holds a character no key can have")
        self.url = base_url.rstrip("/") + path
        self.model = model
        self.model_id = f"remote:{model}"
        self.place = f"{self.model_id} at {self.url}"
        self._key = key
        self._timeout_s = timeout_s
        self._most_bytes = most_bytes
        self._opener = build_opener(_NoRedirect)

    def post(self, body: bytes) -> bytes:
        """The answer to a JSON body; HttpStatus, or ModelUnavailable when there is none."""
        headers = {"Content-Type": "application/json", "User-Agent": "holdfast"}
        if self._key:
            headers["Authorization"] = f"Bearer {self._key}"
        request = Request(self.url, data=body, headers=headers, method="POST")
        deadline = time.monotonic() + self._timeout_s
        try:
            with self._opener.open(request, timeout=self._timeout_s) as response:
                return _read_all(response, deadline, most_bytes=self._most_bytes)
        except HTTPError as error:
            with error:
                raise HttpStatus(error) from None
        except TimeoutError:
            raise self.unavailable(f"no answer within {self._timeout_s:g} s") from None
        except (OSError, HTTPException) as error:
            reason = getattr(error, "reason", error)
            if isinstance(reason, TimeoutError):
                raise self.unavailable(f"no connection within {self._timeout_s:g} s") from None
            # Not its text: a broken status line is quoted there, and may hold anything.
            kind = type(reason).__name__
            raise self.unavailable(f"the connection failed ({kind})") from None

    def unavailable(self, why: str, *, retry_after: float | None = None) -> ModelUnavailable:
        """What is raised when the same call may work later."""
        return ModelUnavailable(f"{self.place}: {why}", retry_after=retry_after)

    def without_key(self, text: str) -> str:
        """A text that may quote the key, without it."""
        return text.replace(self._key, "***") if self._key else text


class _NoRedirect(HTTPRedirectHandler):
    """A redirect would carry the texts and the key to a host that nobody named."""

    def redirect_request(  # noqa: PLR0917 (the signature is urllib's)
        self, req: Request, fp: IO[bytes], code: int, msg: str, headers: Message, newurl: str
    ) -> None:
        return None


def _read_all(response: HTTPResponse, deadline: float, *, most_bytes: int) -> bytes:
    """The whole body; a server that drips must not hold us longer than one that is silent."""
    chunks: list[bytes] = []
    size = 0
    while chunk := response.read1(1 << 16):
        size += len(chunk)
        if size > most_bytes:
            raise ModelError(f"the endpoint's answer is over {most_bytes} bytes")
        if time.monotonic() > deadline:
            raise TimeoutError
        chunks.append(chunk)
    if response.length:  # what Content-Length still promises; read1 does not mind
        raise IncompleteRead(b"", response.length)
    return b"".join(chunks)


def _seconds(header: str | None) -> float | None:
    """The seconds of a Retry-After header, within reason: who asks for years errs or attacks. Its
    rare form as a date counts as absent."""
    try:
        wait = float(header or "")
    except ValueError:
        return None
    return min(max(0.0, wait), _LONGEST_WAIT_S) if math.isfinite(wait) else None


# Embeddings. What the endpoint answers becomes vectors or an error here, at once.

BATCH_TEXTS = 128
MAX_EMBEDDED_BYTES = 64 * 1024 * 1024  # 128 vectors of 4096 numbers are about 12 MB
MAX_QUOTED_CHARS = 300  # of what the endpoint says about its own error
#: Calls under way at one time. Far fewer than the threads of a service: an endpoint that hangs must
#: not hold all of them; who finds no place is answered by words alone.
MOST_AT_ONCE = 64


class RemoteEmbedder:
    """Embeds at `base_url`; without `dim` it is learned from the first answer."""

    #: What is asked of it may cost; see `pay_for` in base.py.
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
        self._endpoint = Endpoint(
            "embedding", base_url, "/embeddings", model, api_key,
            timeout_s=timeout_s, most_bytes=MAX_EMBEDDED_BYTES,
        )  # fmt: skip
        self._dim = dim
        self._lock = threading.Lock()
        self._places = threading.BoundedSemaphore(MOST_AT_ONCE)

    @property
    def model_id(self) -> str:
        return self._endpoint.model_id

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
            "model": self._endpoint.model,
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
            raise NotAsked(f"{self._endpoint.place}: {why}", retry_after=1.0)
        try:
            return self._endpoint.post(body)
        except HttpStatus as error:
            raise self._refusal(error) from None
        finally:
            self._places.release()

    def _refusal(self, error: HttpStatus) -> ModelError:
        said = " ".join(self._endpoint.without_key(error.said).split())[:MAX_QUOTED_CHARS]
        what = f"HTTP {error.status}"
        if error.status == 429 or error.status >= 500:
            why = f"{what}{said and ': '}{said}"
            return self._endpoint.unavailable(why, retry_after=error.retry_after)
        hints = {401: "the key was refused", 403: "the key may not do this", 404: "no such model"}
        hint = hints.get(error.status)
        if 300 <= error.status < 400:
            hint = "redirects are not followed"
        why = ": ".join(part for part in (what, hint, said) if part)
        return ModelError(f"{self._endpoint.place}: {why}")


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


# Chat completions. An endpoint that does not take a JSON schema is asked for a JSON object, then
# for plain text; one that does not take `max_tokens` or a temperature is asked without. What it
# takes is remembered. No error shows the prompt or the answer: of what an endpoint says about its
# own error only its code is quoted, because the rest may repeat the prompt.

MAX_GENERATED_BYTES = 1024 * 1024  # The body; 2,048 tokens of text are about 10 kB.
_MOST_CLAIMED_TOKENS = 10_000_000  # A usage beyond this is a mistake: we count ourselves.
_CODE = re.compile(r"[A-Za-z0-9_.-]{1,64}")
_SPENT = frozenset({"insufficient_quota", "billing_hard_limit_reached", "insufficient_balance"})
# How a request may be wrong in a way that a plainer one is not.
_PLAINER = frozenset({400, 404, 415, 422, 501})
_FORMATS = ("json_schema", "json_object", "plain")


@dataclass(frozen=True, slots=True)
class _Ways:
    """How an endpoint wants to be asked."""

    format: str = "json_schema"
    limit: str | None = "max_tokens"
    cold: bool = True


class RemoteGenerator:
    """Asks the model at `base_url`. Several threads may ask at once."""

    def __init__(
        self,
        base_url: str,
        model: str,
        api_key: str = "",
        *,
        timeout_s: float = 60,
        max_prompt_tokens: int = 12_000,
        max_answer_tokens: int = 2_048,
    ) -> None:
        self._endpoint = Endpoint(
            "LLM", base_url, "/chat/completions", model, api_key,
            timeout_s=timeout_s, most_bytes=MAX_GENERATED_BYTES,
        )  # fmt: skip
        self._max_prompt_tokens = max_prompt_tokens
        self.max_answer_tokens = max_answer_tokens
        self._ways = _Ways()

    def __repr__(self) -> str:
        return f"RemoteGenerator({self._endpoint.url!r}, {self._endpoint.model!r})"

    @property
    def model_id(self) -> str:
        return self._endpoint.model_id

    def generate(
        self, system: str, text: str, *, schema: Mapping[str, Any] | None = None
    ) -> Generated:
        """The model's answer to `text` under the instructions `system`, in the form of `schema`.

        The schema is a wish: an endpoint may ignore it, so the answer is read with care anyway.
        """
        tokens = count_tokens(system) + count_tokens(text)
        if tokens > self._max_prompt_tokens:
            raise ModelError(
                f"the prompt has {tokens} tokens, the limit is {self._max_prompt_tokens}"
            )
        ways = self._ways
        while True:
            try:
                body = self._post(self._question(system, text, schema, ways))
                break
            except _NotLikeThis as refused:
                plainer = _plainer(ways, refused.said, schema is not None)
                if plainer is None:
                    raise refused.error from None
                ways = plainer
        self._ways = ways
        return self._read(body, tokens)

    def _question(
        self, system: str, text: str, schema: Mapping[str, Any] | None, ways: _Ways
    ) -> bytes:
        question: dict[str, Any] = {
            "model": self._endpoint.model,
            "messages": [{"role": "system", "content": system}, {"role": "user", "content": text}],
        }
        if ways.cold:
            question["temperature"] = 0
        if ways.limit is not None:
            question[ways.limit] = self.max_answer_tokens
        if schema is not None and ways.format == "json_schema":
            named = {"name": "answer", "strict": True, "schema": dict(schema)}
            question["response_format"] = {"type": "json_schema", "json_schema": named}
        elif schema is not None and ways.format == "json_object":
            question["response_format"] = {"type": "json_object"}
        return json.dumps(question).encode()

    def _post(self, body: bytes) -> bytes:
        try:
            return self._endpoint.post(body)
        except HttpStatus as error:
            raise self._refusal(error.status, error.said, error.retry_after) from None

    def _refusal(self, status: int, said: str, retry_after: float | None) -> Exception:
        code = _code_of(said)
        spent = code in _SPENT
        code = self._endpoint.without_key(code)
        what = f"HTTP {status}{code and f' ({code})'}"
        why = f"{self._endpoint.place}: {what}"
        if status in {401, 402} or spent:
            hint = "the key was refused" if status == 401 else "the account has nothing left"
            return Refused(f"{why}: {hint}")
        if status in {408, 425, 429} or (status >= 500 and status not in _PLAINER):
            return self._endpoint.unavailable(what, retry_after=retry_after)
        if 300 <= status < 400:
            return ModelError(f"{why}: redirects are not followed")
        error = ModelError(why)
        return _NotLikeThis(error, said) if status in _PLAINER else error

    def _read(self, body: bytes, prompt_tokens: int) -> Generated:
        try:
            answer = json.loads(body)
        except (ValueError, RecursionError):
            raise ModelError(f"{self._endpoint.place}: the answer is no JSON") from None
        if not isinstance(answer, dict):
            raise ModelError(f"{self._endpoint.place}: the answer is no JSON object")
        if "choices" not in answer and isinstance(fault := answer.get("error"), dict):
            # Some relays answer 200 and put the error of the endpoint behind them inside.
            given = fault.get("code")
            status = given if isinstance(given, int) and 400 <= given < 600 else 400
            refusal = self._refusal(status, body.decode("utf-8", "replace"), None)
            raise refusal.error if isinstance(refusal, _NotLikeThis) else refusal
        text, stopped = _text_of(answer)
        if text is None:
            raise ModelError(f"{self._endpoint.place}: the answer holds no text ({stopped})")
        usage = _usage_of(answer)
        return Generated(
            text,
            usage or TokenUsage(prompt_tokens, count_tokens(text)),
            cut=stopped == "length",
            estimated=usage is None,
        )


class _NotLikeThis(Exception):
    """The endpoint does not take the request in this form."""

    def __init__(self, error: ModelError, said: str) -> None:
        super().__init__()
        self.error = error
        self.said = said


def _plainer(ways: _Ways, said: str, structured: bool) -> _Ways | None:
    """The next plainer way of asking, if the refusal names what it is about."""
    low = said.lower()
    if ways.limit == "max_tokens" and "max_completion_tokens" in low:
        return replace(ways, limit="max_completion_tokens")
    if ways.limit == "max_completion_tokens" and "max_completion_tokens" in low:
        return replace(ways, limit=None)
    if ways.cold and "temperature" in low:
        return replace(ways, cold=False)
    about_format = any(word in low for word in ("response_format", "json_", "schema", "grammar"))
    if structured and ways.format != _FORMATS[-1] and about_format:
        return replace(ways, format=_FORMATS[_FORMATS.index(ways.format) + 1])
    return None


def _code_of(said: str) -> str:
    """The code or type of an error as OpenAI's form has it, if it is one word."""
    try:
        fault = json.loads(said)["error"]
        found = [fault.get("code"), fault.get("type")]
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return ""
    return next((each for each in found if isinstance(each, str) and _CODE.fullmatch(each)), "")


def _text_of(answer: Mapping[str, Any]) -> tuple[str | None, str]:
    """The text of the first choice, or None; and why the model stopped, in one word."""
    try:
        choice = answer["choices"][0]
        content = choice["message"]["content"]
        stopped = choice.get("finish_reason")
    except (TypeError, KeyError, IndexError, AttributeError):
        return None, "malformed"
    word = stopped if isinstance(stopped, str) and _CODE.fullmatch(stopped) else "unknown"
    if isinstance(content, list):
        parts = [part.get("text") for part in content if isinstance(part, dict)]
        content = "".join(part for part in parts if isinstance(part, str))
    if not isinstance(content, str) or not content.strip() or word == "content_filter":
        return None, word
    return content, word


def _usage_of(answer: Mapping[str, Any]) -> TokenUsage | None:
    """What the endpoint says the call took, if it can be believed."""
    usage = answer.get("usage")
    if not isinstance(usage, dict):
        return None
    prompt, answered = usage.get("prompt_tokens"), usage.get("completion_tokens")
    if not (_is_count(prompt) and _is_count(answered)):
        return None
    return TokenUsage(prompt, answered)


def _is_count(value: object) -> TypeGuard[int]:
    return type(value) is int and 0 < value <= _MOST_CLAIMED_TOKENS
