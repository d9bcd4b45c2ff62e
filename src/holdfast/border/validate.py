"""The border: what a caller sends becomes typed values, or an error that names field and limit.

Whose word something is (`ORIGINS`) the channel says, never the text; on the way it only ever falls.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from holdfast.config import Limits
from holdfast.errors import ConfigError, InvalidInput, NotFound, ScopeError, TooLarge
from holdfast.types import ROLES, Metadata, Scope

#: The most trusted first.
ORIGINS: tuple[str, ...] = (
    "user", "user_confirmed", "agent", "tool", "document", "web", "import",
)  # fmt: skip
#: What a caller may say of messages: that they are worth less than their role says.
LOWERED = ("agent", "tool", "document", "web", "import")


def whose(origin: str | None, agent: str | None) -> str:
    """Whose word something is that is written by hand: what the caller says; else the agent's, if
    one writes, and the user's only if none does."""
    if origin is not None:
        return origin
    return "user" if agent is None else "agent"


def least(origins: Iterable[str]) -> str:
    """The least trusted of these; what is none of ours is trusted least."""
    return max(origins, key=lambda each: ORIGINS.index(each) if each in ORIGINS else len(ORIGINS))


def lowered(origin: object) -> str | None:
    """What was said of messages, checked."""
    if origin is None or origin in LOWERED:
        return None if origin is None else str(origin)
    raise InvalidInput(
        f"origin must be one of {', '.join(LOWERED)}: only a role makes something the user's word",
        field="origin",
    )


# ----------------------------------------------------------------------
# Keys of metadata: those of the system, which a caller is refused by name, and those of the
# caller that the system reads. `tests/border/test_reserved.py` finds any other that our code
# touches.
# ----------------------------------------------------------------------

#: What the system knows of a derived record, beside the keys below, stands under this one.
SYSTEM = "holdfast"
#: What it was called in stores that were written before we were.
FORMER_SYSTEM = "recollect"

#: A caller who could set them could forge what we derive; the second half are those of
#: AtomicMemory, which a program written for it must not be able to set here either. Its `topic` is
#: left to callers: half of the world labels its messages so, and nothing here reads it.
RESERVED_METADATA = frozenset(
    {
        *(SYSTEM, FORMER_SYSTEM),
        *("fact_role", "rule", "condition", "headline", "keywords", "entities", "relations"),
        *("withdrawn_rules", "ended_rules"),
        *("cmo_id", "memberMemoryIds", "compositeVersion", "consolidated_from", "cluster_size"),
        *("avg_affinity", "member_count", "sourceSite", "findingCount", "rules", "trustScore"),
        *("threshold", "contradictionConfidence", "contradiction_confidence"),
        *("supersededMemoryId", "target_memory_id", "clarification_note", "recap"),
        *("raw_document_id", "document_chunk_id", "upload_result", "providerMetadata", "codec"),
    }
)

#: The caller's own, though the system looks at them, or writes them where the caller says so.
CALLERS_OWN = frozenset(
    {
        # Where it came from, and what it is called there; see docs/reference/atomicmemory.md.
        *("source_site", "source_url", "externalId", "namespace"),
        # A category of DeerFlow's, one that it does not know, and what else it says of a fact.
        *("category", "categoryExtension", "deerflow"),
        # A turn that called a tool, or that nobody was shown; see learn/filter.py.
        *("tool_calls", "tool_call_id", "function_call", "tool_use", "hide_from_ui", "hidden"),
        # The place of a turn in a benchmark.
        "turn",
    }
)


class Labelled(dict[str, Any]):
    """Metadata of a caller's in which a door put `labels` of its own, such as where it came from:
    they are kept and read like the rest, and are not what the caller sent."""

    def __init__(self, sent: Mapping[str, Any], labels: Mapping[str, Any]) -> None:
        super().__init__({**labels, **sent})
        self.labels = tuple(name for name in labels if name not in sent)


def with_system_data(metadata: Mapping[str, Any] | None, data: Mapping[str, Any]) -> dict[str, Any]:
    """What is stored with a turn: the caller's metadata, and under our key what we keep there."""
    return {**(metadata or {}), **({SYSTEM: dict(data)} if data else {})}


def split_system_data(stored: Mapping[str, Any]) -> tuple[Mapping[str, Any], Mapping[str, Any]]:
    """The caller's metadata, and what we keep with the turn."""
    for key in (SYSTEM, FORMER_SYSTEM):
        if isinstance(data := stored.get(key), dict):
            return {name: stored[name] for name in stored if name != key}, data
    return stored, {}


_FIELDS = frozenset({"role", "name", "content", "at", "metadata"})
_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")
_EARLIEST = datetime(1900, 1, 1, tzinfo=UTC)
_LATEST = datetime(2200, 1, 1, tzinfo=UTC)
_WORD_CHARS = 512
_KEY_CHARS = 512
_LARGEST_INT = 2**63 - 1
_HOST_AND_PORT = re.compile(r"([A-Za-z0-9][A-Za-z0-9.-]*|\[[0-9a-fA-F:.]+\]):\d{1,5}/?")


@dataclass(frozen=True, slots=True)
class Draft:
    """A message that passed the border."""

    role: str
    content: str
    at: datetime | None
    name: str | None = None
    metadata: Metadata = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class CheckedBatch:
    """All messages of one call, and what had to be changed in them."""

    drafts: tuple[Draft, ...]
    warnings: tuple[str, ...]


def batch(
    messages: object,
    *,
    at: object,
    metadata: object,
    limits: Limits,
) -> CheckedBatch:
    """Check a whole call before any of it is stored."""
    if isinstance(messages, str):
        listed: Sequence[Any] = [{"content": messages}]
    elif isinstance(messages, Mapping):
        listed = [messages]
    elif isinstance(messages, Sequence) and not isinstance(messages, bytes | bytearray):
        listed = messages
    else:
        raise InvalidInput(
            f"messages must be a text, a message or a list of messages, not {_kind(messages)}",
            field="messages",
        )
    if not listed:
        raise InvalidInput("messages is empty: give at least one message", field="messages")
    if len(listed) > limits.batch_messages:
        raise TooLarge(
            f"messages are {len(listed)}, the limit of one call is {limits.batch_messages}",
            field="messages",
        )
    warnings: list[str] = []
    default_at = None if at is None else moment(at, "at")
    shared = checked_metadata(metadata, "metadata", limits, warnings)
    drafts = tuple(
        _draft(
            message,
            f"messages[{index}]",
            default_at=default_at,
            shared=shared,
            limits=limits,
            warnings=warnings,
        )
        for index, message in enumerate(listed)
    )
    size = sum(len(draft.content) for draft in drafts)  # A lower bound, cheap.
    if size > limits.batch_bytes // 4:
        size = sum(len(draft.content.encode()) for draft in drafts)
        if size > limits.batch_bytes:
            raise TooLarge(
                f"messages hold {size} bytes, the limit of one call is {limits.batch_bytes}",
                field="messages",
            )
    return CheckedBatch(drafts, tuple(warnings))


def scope(
    *, workspace: object, user: object, agent: object = None, session: object = None
) -> Scope:
    """A scope from a caller's words; a missing user is an error, never "all"."""
    if user is None:
        raise ScopeError("user is missing: say whose memory is meant, user=...", field="user")
    return Scope(
        workspace=word(workspace, "workspace"),
        user=word(user, "user"),
        agent=None if agent is None else word(agent, "agent"),
        session=None if session is None else word(session, "session"),
    )


def word(value: object, name: str) -> str:
    """A scope word: 1..512 characters, storable as it is."""
    if not isinstance(value, str):
        raise ScopeError(f"{name} must be a text, not {_kind(value)}", field=name)
    if not value.strip():
        raise ScopeError(f"{name} is blank", field=name)
    if len(value) > _WORD_CHARS:
        raise ScopeError(
            f"{name} has {len(value)} characters, the limit is {_WORD_CHARS}", field=name
        )
    if _UNSTORABLE.search(value):
        raise ScopeError(f"{name} holds a NUL or a lone surrogate", field=name)
    return value


_MEANT_FOR_A_SERVER = re.compile(r"(?i)postgres(ql)?:|.{0,99}\b(password|dbname)\s?=")


def is_address(url: str | Path) -> bool:
    """Whether a memory is behind a service: http:// or https://; one without is refused."""
    text = str(url)
    if _HOST_AND_PORT.fullmatch(text) and not Path(text).exists():
        raise ConfigError(f"{text} is no file: did you mean http://{text}?")
    return text.lower().startswith(("http://", "https://"))


def check_file(name: str) -> None:
    """Refuse what was meant for the address of a database, without a word of it: it may hold a
    password."""
    if _MEANT_FOR_A_SERVER.match(name) and not Path(name).exists():
        raise ConfigError(
            "this is no file: the address of a database is postgresql://user@host/database"
        )


def without_password(url: str | Path) -> str:
    """What a memory is called in messages: its address without user, password and parameters."""
    scheme, separator, rest = str(url).partition("://")
    if not separator:
        return scheme
    place, _, parameters = rest.partition("?")
    if "@" in parameters and "@" not in place:  # Perhaps a password with a question mark in it.
        return f"{scheme}://..."
    return f"{scheme}://{place.rpartition('@')[2]}"


def record_id(value: object) -> str:
    """What can be the id of a memory; anything else is one that does not exist."""
    if not isinstance(value, str) or len(value) > _WORD_CHARS:
        raise NotFound(f"there is no memory {str(value)[:64]!r} in this scope")
    return value


def idempotency_key(key: object) -> str | None:
    """The caller's key, or None."""
    if key is None:
        return None
    if not isinstance(key, str) or not key.strip():
        raise InvalidInput(f"key must be a text that is not blank, not {key!r}", field="key")
    if len(key) > _KEY_CHARS:
        raise TooLarge(f"key has {len(key)} characters, the limit is {_KEY_CHARS}", field="key")
    if _UNSTORABLE.search(key):
        raise InvalidInput("key holds a NUL or a lone surrogate", field="key")
    return key


def outer_key(key: object) -> object:
    """A key that came in JSON, where it could hold what a header cannot: keys with a control
    character are the system's own."""
    if isinstance(key, str) and any(unicodedata.category(each) == "Cc" for each in key):
        raise InvalidInput("key holds a control character", field="key")
    return key


def body_digest(**sent: Any) -> bytes:
    """A digest of what the caller sent, before any default was filled in."""
    text = json.dumps(sent, sort_keys=True, default=_as_sent, ensure_ascii=True)
    return hashlib.sha256(text.encode()).digest()


def _as_sent(value: object) -> object:
    """What JSON does not know, as what it stands for; never as an address in memory."""
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, Sequence):
        return list(value)
    return f"{type(value).__name__} {value}"


def moment(value: object, name: str) -> datetime:
    """An aware time, from a datetime or from ISO 8601 with a zone."""
    if isinstance(value, str):
        value = _parse_time(value, name)
    if not isinstance(value, datetime):
        raise InvalidInput(f"{name} must be a time, not {_kind(value)}", field=name)
    if value.tzinfo is None:
        raise InvalidInput(f"{name} has no time zone: add one, for example Z", field=name)
    try:
        value = value.astimezone(UTC)
    except OverflowError:
        raise InvalidInput(f"{name} must lie between 1900 and 2200", field=name) from None
    if not _EARLIEST <= value < _LATEST:
        raise InvalidInput(f"{name} must lie between 1900 and 2200, not {value.year}", field=name)
    return value


def _parse_time(text: str, name: str) -> datetime:
    try:
        return datetime.fromisoformat(text.strip())
    except ValueError:
        raise InvalidInput(
            f'{name} is not ISO 8601, for example "2026-03-01T10:00:00Z": {text[:64]!r}',
            field=name,
        ) from None


def storable(text: str, name: str, warnings: list[str]) -> str:
    """The text with what no store can hold (NUL, lone surrogates) as U+FFFD, and a warning."""
    clean, count = _UNSTORABLE.subn("\ufffd", text)
    if count:
        warnings.append(f"{name}: {count} unstorable characters became U+FFFD")
    return clean


def checked_metadata(
    value: object, name: str, limits: Limits, warnings: list[str]
) -> dict[str, Any]:
    """Metadata as plain JSON values within the limits."""
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise InvalidInput(f"{name} must be a mapping, not {_kind(value)}", field=name)
    for key in value:
        if key in RESERVED_METADATA:
            raise InvalidInput(
                f'{name}.{key} is reserved: the key "{key}" belongs to the system', field=name
            )
    keys = [0]
    plain: dict[str, Any] = _plain(value, name, limits, warnings, depth=1, keys=keys)
    if keys[0] > limits.metadata_keys:
        raise TooLarge(
            f"{name} has {keys[0]} keys, the limit is {limits.metadata_keys}", field=name
        )
    size = len(json.dumps(plain, ensure_ascii=False).encode())
    if size > limits.metadata_bytes:
        raise TooLarge(f"{name} has {size} bytes, the limit is {limits.metadata_bytes}", field=name)
    return plain


def checked_query(query: object, limits: Limits, name: str = "query") -> str:
    """The text of a query, storable and within its limit; blank is an error."""
    if not isinstance(query, str):
        raise InvalidInput(f"{name} must be a text, not {_kind(query)}", field=name)
    size = len(query.encode("utf-8", "replace"))
    if size > limits.query_bytes:
        raise TooLarge(f"{name} has {size} bytes, the limit is {limits.query_bytes}", field=name)
    if not any(_is_shown(each) for each in query):
        raise InvalidInput(f"{name} is blank", field=name)
    return storable(query, name, [])


def _is_shown(character: str) -> bool:
    """Neither a space nor a control or format character."""
    return not character.isspace() and unicodedata.category(character) not in ("Cc", "Cf")


def memory_ids(value: object, name: str) -> list[str]:
    """A list of ids of memories."""
    if isinstance(value, str) or not isinstance(value, Sequence):
        raise InvalidInput(f"{name} must be a list of memory ids", field=name)
    if not all(isinstance(each, str) for each in value):
        raise InvalidInput(f"{name} must be a list of memory ids", field=name)
    return list(value)


def words(value: object, name: str) -> tuple[str, ...]:
    """A list of words, such as categories."""
    if isinstance(value, str) or not isinstance(value, Iterable):
        raise InvalidInput(f"{name} must be a list of words", field=name)
    found = tuple(value)
    if not all(isinstance(each, str) for each in found):
        raise InvalidInput(f"{name} must be a list of words", field=name)
    return found


def whole_number(value: object, name: str, low: int, high: int) -> int:
    """An integer within its bounds, both included."""
    if isinstance(value, bool) or not isinstance(value, int):
        raise InvalidInput(f"{name} must be a whole number, not {_kind(value)}", field=name)
    if not low <= value <= high:
        raise InvalidInput(f"{name} must lie in {low}..{high}, not {value}", field=name)
    return value


def _draft(
    message: object,
    name: str,
    *,
    default_at: datetime | None,
    shared: dict[str, Any],
    limits: Limits,
    warnings: list[str],
) -> Draft:
    if not isinstance(message, Mapping):
        raise InvalidInput(f"{name} must be a mapping, not {_kind(message)}", field=name)
    for key in message:
        if key not in _FIELDS:
            known = ", ".join(sorted(_FIELDS))
            raise InvalidInput(
                f"{name}.{_printable(key)} is not a field of a message; known: {known}",
                field=f"{name}.{_printable(key)}",
            )
    role = message.get("role", "user")
    if role not in ROLES:
        raise InvalidInput(
            f"{name}.role must be one of {', '.join(ROLES)}, not {str(role)[:64]!r}",
            field=f"{name}.role",
        )
    at = message.get("at")
    own = checked_metadata(message.get("metadata"), f"{name}.metadata", limits, warnings)
    if own and shared:  # Each keeps the limits; together they must, too.
        own = checked_metadata({**shared, **own}, f"{name}.metadata", limits, [])
    return Draft(
        role=role,
        content=_content(message.get("content"), f"{name}.content", limits, warnings),
        at=default_at if at is None else moment(at, f"{name}.at"),
        name=_speaker(message.get("name"), f"{name}.name", warnings),
        metadata={**shared, **own},
    )


def _content(value: object, name: str, limits: Limits, warnings: list[str]) -> str:
    if not isinstance(value, str):
        raise InvalidInput(f"{name} must be a text, not {_kind(value)}", field=name)
    if not value.strip():
        raise InvalidInput(f"{name} is blank", field=name)
    clean = storable(value, name, warnings)
    if len(clean) > limits.message_bytes // 4:  # UTF-8 has at most 4 bytes a character.
        size = len(clean.encode())
        if size > limits.message_bytes:
            raise TooLarge(
                f"{name} has {size} bytes, the limit is {limits.message_bytes}", field=name
            )
    if not clean.strip("\ufffd \t\r\n"):
        raise InvalidInput(f"{name} holds no text", field=name)
    return clean


def _speaker(value: object, name: str, warnings: list[str]) -> str | None:
    if value is None:
        return None
    if not isinstance(value, str):
        raise InvalidInput(f"{name} must be a text, not {_kind(value)}", field=name)
    if len(value) > _WORD_CHARS:
        raise TooLarge(f"{name} has {len(value)} characters, the limit is 512", field=name)
    return storable(value, name, warnings).strip() or None


def _plain(
    value: Any, name: str, limits: Limits, warnings: list[str], *, depth: int, keys: list[int]
) -> Any:
    if isinstance(value, Mapping | list | tuple) and depth > limits.metadata_depth:
        raise TooLarge(
            f"{name} is nested deeper than the limit of {limits.metadata_depth}", field=name
        )
    if isinstance(value, Mapping):
        keys[0] += len(value)
        if any(not isinstance(key, str) for key in value):
            raise InvalidInput(f"{name} has a key that is not a text", field=name)
        return {
            storable(key, name, warnings): _plain(
                each, f"{name}.{_printable(key)}", limits, warnings, depth=depth + 1, keys=keys
            )
            for key, each in value.items()
        }
    if isinstance(value, list | tuple):
        return [
            _plain(each, f"{name}[{i}]", limits, warnings, depth=depth + 1, keys=keys)
            for i, each in enumerate(value)
        ]
    return _scalar(value, name, warnings)


def _scalar(value: Any, name: str, warnings: list[str]) -> Any:
    # A subclass (numpy's float64 is one) becomes the plain type it stands for.
    if isinstance(value, str):
        return storable(str(value), name, warnings)
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int) and abs(value) <= _LARGEST_INT:
        return int(value)
    if isinstance(value, float) and math.isfinite(value):
        return float(value)
    raise InvalidInput(
        f"{name} must be a text, a finite number below 2**63, true, false or null,"
        f" not {_kind(value)}",
        field=name,
    )


def _printable(key: object) -> str:
    """A caller's key as it can be printed."""
    return _UNSTORABLE.sub("\ufffd", str(key)[:64])


def _kind(value: object) -> str:
    return "nothing" if value is None else type(value).__name__
