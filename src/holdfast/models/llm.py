"""A generator behind any OpenAI-compatible `/chat/completions`, with the standard library alone.

One call asks once; when and whether to ask again is the queue's business. The error says which:

    ModelUnavailable   it may work later: no connection, too slow, 408, 429 (`retry_after`), 5xx
    Refused            the key or the account is not accepted: 401, 402, a spent quota
    ModelError         this request fails every time: 400, 404, an answer without text

An endpoint that does not take a JSON schema is asked for a JSON object, then for plain text; one
that does not take `max_tokens` or a temperature is asked without. What it takes is remembered.

No error shows the key, the prompt or the answer: of what an endpoint says about its own error only
its code is quoted, because the rest may repeat the prompt.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from http.client import HTTPException
from typing import Any, Protocol, TypeGuard
from urllib.error import HTTPError
from urllib.parse import urlsplit

from holdfast.errors import ConfigError, ModelError, ModelUnavailable, Refused
from holdfast.language.tokens import count_tokens
from holdfast.models.http import opener, posted, said_by, seconds

MAX_ANSWER_BYTES = 1024 * 1024  # The body; 2,048 tokens of text are about 10 kB.
_MOST_CLAIMED_TOKENS = 10_000_000  # A usage beyond this is a mistake: we count ourselves.
_CODE = re.compile(r"[A-Za-z0-9_.-]{1,64}")
_SPENT = frozenset({"insufficient_quota", "billing_hard_limit_reached", "insufficient_balance"})
# How a request may be wrong in a way that a plainer one is not.
_PLAINER = frozenset({400, 404, 415, 422, 501})
_FORMATS = ("json_schema", "json_object", "plain")


@dataclass(frozen=True, slots=True)
class TokenUsage:
    """What one call took, in tokens of the model."""

    prompt_tokens: int = 0
    answer_tokens: int = 0


@dataclass(frozen=True, slots=True)
class Generated:
    """What the model wrote, and what it took."""

    text: str
    usage: TokenUsage
    #: The model stopped because the answer reached its limit.
    cut: bool = False
    #: The endpoint gave no usage that can be believed: it was counted with our own counter.
    estimated: bool = False


class Generator(Protocol):
    """Instructions and a text to an answer; `ModelError` when it cannot. Threads may share it."""

    @property
    def model_id(self) -> str:
        """Which model."""

    @property
    def max_answer_tokens(self) -> int:
        """The longest answer that is asked for."""

    def generate(
        self, system: str, text: str, *, schema: Mapping[str, Any] | None = None
    ) -> Generated:
        """The model's answer to `text` under the instructions `system`."""


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
        try:
            parts = urlsplit(base_url)
            is_address = parts.scheme in {"http", "https"} and bool(parts.hostname)
            is_address = is_address and parts.port != 0
        except ValueError:  # A bracket or a port that is none.
            is_address = False
        if not is_address:
            raise ConfigError("the LLM endpoint needs an address such as https://host/v1")
        if parts.username is not None or parts.password is not None:
            raise ConfigError("the address of the LLM endpoint must not hold a password")
        if not api_key.isascii() or not (api_key.isprintable() and " " not in api_key):
            raise ConfigError("the key of the LLM endpoint holds a character no key can have")
        self._url = base_url.rstrip("/") + "/chat/completions"
        self._model = model
        self._key = api_key
        self._timeout_s = timeout_s
        self._max_prompt_tokens = max_prompt_tokens
        self.max_answer_tokens = max_answer_tokens
        self._opener = opener()
        self._ways = _Ways()

    def __repr__(self) -> str:
        return f"RemoteGenerator({self._url!r}, {self._model!r})"

    @property
    def model_id(self) -> str:
        return f"remote:{self._model}"

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
            "model": self._model,
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
                wait = seconds(error.headers.get("Retry-After"))
                refusal = self._refusal(error.code, said_by(error), wait)
            raise refusal from None
        except TimeoutError:
            raise self._unavailable(f"no answer within {self._timeout_s:g} s") from None
        except (OSError, HTTPException) as error:
            reason = getattr(error, "reason", error)
            if isinstance(reason, TimeoutError):
                raise self._unavailable(f"no connection within {self._timeout_s:g} s") from None
            # Not its text: a broken status line is quoted there, and may hold anything.
            kind = type(reason).__name__
            raise self._unavailable(f"the connection failed ({kind})") from None

    def _refusal(self, status: int, said: str, retry_after: float | None) -> Exception:
        code = _code_of(said)
        spent = code in _SPENT
        if code and self._key and self._key in code:
            code = "***"
        why = f"{self._place}: HTTP {status}{code and f' ({code})'}"
        if status in {401, 402} or spent:
            hint = "the key was refused" if status == 401 else "the account has nothing left"
            return Refused(f"{why}: {hint}")
        if status in {408, 425, 429} or (status >= 500 and status not in _PLAINER):
            return self._unavailable(why.removeprefix(f"{self._place}: "), retry_after=retry_after)
        if 300 <= status < 400:
            return ModelError(f"{why}: redirects are not followed")
        error = ModelError(why)
        return _NotLikeThis(error, said) if status in _PLAINER else error

    def _unavailable(self, why: str, *, retry_after: float | None = None) -> ModelUnavailable:
        return ModelUnavailable(f"{self._place}: {why}", retry_after=retry_after)

    @property
    def _place(self) -> str:
        return f"{self.model_id} at {self._url}"

    def _read(self, body: bytes, prompt_tokens: int) -> Generated:
        try:
            answer = json.loads(body)
        except (ValueError, RecursionError):
            raise ModelError(f"{self._place}: the answer is no JSON") from None
        if not isinstance(answer, dict):
            raise ModelError(f"{self._place}: the answer is no JSON object")
        if "choices" not in answer and isinstance(fault := answer.get("error"), dict):
            # Some relays answer 200 and put the error of the endpoint behind them inside.
            given = fault.get("code")
            status = given if isinstance(given, int) and 400 <= given < 600 else 400
            refusal = self._refusal(status, body.decode("utf-8", "replace"), None)
            raise refusal.error if isinstance(refusal, _NotLikeThis) else refusal
        text, stopped = _text_of(answer)
        if text is None:
            raise ModelError(f"{self._place}: the answer holds no text ({stopped})")
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
