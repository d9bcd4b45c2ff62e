"""What travels over HTTP to the hand-written routes: bodies, query strings, and their mistakes.

Other systems' clients send what is theirs to know: a field that is not listed here is ignored, and
one that is null or, of those that may be left out, empty counts as left out. Our own verbs are
strict (`arguments.py`). The rules of a value (limits, times, metadata) are the core's own, the same
in every door.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections import Counter
from collections.abc import Callable, Collection, Coroutine, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass, replace
from typing import Annotated, Any, Literal, NoReturn
from urllib.parse import quote

from fastapi import HTTPException, Request, Response
from fastapi.routing import APIRoute
from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    PlainValidator,
    WithJsonSchema,
    model_validator,
)
from pydantic_core import PydanticCustomError
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import Headers

from holdfast.border.reserved import Labelled
from holdfast.border.write_options import ENABLED, PER_WRITE, PROVIDER, handling
from holdfast.config import Config, names
from holdfast.errors import ConfigError, InvalidInput
from holdfast.settings import Service

# ----------------------------------------------------------------------
# Request bodies as strict JSON, parsed on a worker thread.
#
# Invalid UTF-8, NaN and numbers that no machine holds are a plain 400; nesting without end and
# values without number are a 422 that says how much there may be. Lone surrogates pass: the core
# turns them into U+FFFD and says so.
# ----------------------------------------------------------------------

_PIECE_BYTES = 1 << 16
_EMPTY = (b"[]", b"{}")
_BLANKS = b" \t\r\n"
_DEFAULTS = Service()
_JSON = "application/json"


class StrictRoute(APIRoute):
    """A route whose body goes through `parsed`."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handle = super().get_route_handler()

        async def strict(request: Request) -> Response:
            if _has_body(request.headers):
                check_json(request.headers)
            return await handle(_Request(request.scope, request.receive))

        return strict


class _Request(Request):
    async def json(self) -> Any:
        service = self.app.state.memory.config.service
        return await run_in_threadpool(parse_json, await self.body(), service)


def _has_body(headers: Headers) -> bool:
    return "transfer-encoding" in headers or headers.get("content-length", "0") != "0"


def check_json(headers: Headers) -> None:
    """Refuse a body that calls itself something else than JSON; one that says nothing is read."""
    kind = headers.get("content-type", _JSON).partition(";")[0].strip().lower()
    if kind != _JSON and not (kind.startswith("application/") and kind.endswith("+json")):
        raise HTTPException(415, f"the body must be JSON, sent with content-type: {_JSON}")


def parse_json(body: bytes, limits: Service = _DEFAULTS) -> Any:
    """The JSON value of a body."""
    opened = body.count(b"[") + body.count(b"{")
    # What is counted in texts too can only be too much: it is counted exactly when it matters.
    if body.count(b",") + opened >= limits.json_values:
        _check_values(body, limits.json_values)
    try:
        value = json.loads(body.decode("utf-8"), parse_constant=_no_number, parse_float=_finite)
    except RecursionError:
        raise _too_deep(limits.json_depth) from None
    except ValueError as error:
        where = f" at character {error.pos}" if isinstance(error, json.JSONDecodeError) else ""
        raise HTTPException(400, f"the body is not JSON in UTF-8{where}") from None
    if opened > limits.json_depth:
        _check_depth(value, limits.json_depth)
    return value


def _check_values(body: bytes, most: int) -> None:
    """Refuse a body with too many values, before they take up memory.

    A list or an object of n > 0 values has n - 1 commas, so of JSON this is exact.
    """
    values, before = 1, b""
    for bare in _without_texts(body):
        values += bare.count(b",") + bare.count(b"[") + bare.count(b"{")
        values -= bare.count(b"[]") + bare.count(b"{}") + (before + bare[:1] in _EMPTY)
        before = bare[-1:] or before
        if values > most + 1:  # One that was opened at the end may prove to be empty.
            break
    if values > most:
        raise HTTPException(422, f"the body holds too many values, the limit is {most}")


def _without_texts(body: bytes) -> Iterator[bytes]:
    """JSON piece by piece, without blanks and with a 0 for every text.

    In pieces: one that is all texts falls into very many parts, and others must get a turn.
    """
    plain = body.replace(b"\\\\", b"").replace(b'\\"', b"")
    inside = False
    for start in range(0, len(plain), _PIECE_BYTES):
        parts = plain[start : start + _PIECE_BYTES].split(b'"')
        bare = b"0".join(parts[inside::2])
        inside ^= len(parts) % 2 == 0
        yield (bare + b"0" if inside else bare).translate(None, _BLANKS)


def _check_depth(value: Any, most: int) -> None:
    level, depth = [value] if isinstance(value, dict | list) else [], 0
    while level:
        depth += 1
        if depth > most:
            raise _too_deep(most)
        level = [
            child
            for node in level
            for child in (node.values() if isinstance(node, dict) else node)
            if isinstance(child, dict | list)
        ]


def _too_deep(most: int) -> HTTPException:
    return HTTPException(422, f"the body is nested too deeply, the limit is {most} levels")


def _no_number(name: str) -> NoReturn:
    raise ValueError(name)


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(text)
    return number


# ----------------------------------------------------------------------
# A conversation as one text -> messages.
#
# A line may begin a turn with a prefix: a role ("user:", "Assistant:") or a name ("Ann:").
# Whether the text is a dialogue at all is decided for the whole text, because a note has lines
# such as "Note: buy milk" too:
#
# - By roles, if two lines begin with user, assistant, human or ai, or if the first line begins
#   with a role and one of its lines begins with user or assistant.
# - By names, if the first line begins with a name and at least two lines do, no line begins with
#   user or human, and the names are not a list of labels: three or more of them, each there once,
#   are fields of a form. A name is one to three words with a capital; words that head notes and
#   mails ("Note", "Subject") are not names.
#
# Everything else is one user message, as it stands. After the colon there is a space or the end
# of the line, so "http://", "12:30" and "C:\" begin no turn; nor does a line inside a fenced
# block. Nothing is dropped but prefixes and blank turns: what stands before the first turn is a
# user message of its own.
# ----------------------------------------------------------------------

_ROLE_OF = {
    "user": "user",
    "human": "user",
    "assistant": "assistant",
    "ai": "assistant",
    "system": "system",
    "tool": "tool",
}
#: Said by both sides of a chat; "System: Windows 11" alone is a note.
_SPEAKING = frozenset({"user", "human", "assistant", "ai"})

#: Words that head a line of a note, a mail, a form or an answer, and are nobody's name.
_HEADS = """
a action actions address age agenda also answer attachment attachments author bcc birthday
body bug caution cc city client code comment comments company conclusion config context
country currently date deadline decision decisions description details done due edit email
error example examples expected fact faq file files first fix fixed from fyi goal goals hint
homepage hours however idea ideas important info input instructions issue job key language
last later link links list location mail meeting method monday tuesday wednesday thursday
friday saturday sunday name next note notes occupation open output owner participants
password phone plan postscript prerequisites price priority problem pros cons ps q question
questions reason recipe reference references remember reminder reply requirements result
results risk risks rule rules second see sent shopping source sources status step steps
subject summary tags task tasks tel telephone then third time tip title tldr to today todo
tomorrow topic total update usage url username value version via warning website when where
who why yesterday
"""
_LABELS = frozenset(_HEADS.split())

_PREFIX = re.compile(
    r"[ \t]*(?P<bold>\*\*)?"
    r"(?P<who>[^\W\d_][^\W_]*(?:[.'’ -]{1,2}[^\W_]+){0,3}\.?)"
    r"(?(bold)(?:\*\*)?)[:：](?(bold)(?:\*\*)?)(?=\s|$|(?<=：))[ \t]*"
)
_MOST_NAME_CHARS = 40
_MOST_NAME_WORDS = 3
_FENCE = re.compile(r"[ \t]*(```|~~~)")


@dataclass(frozen=True, slots=True)
class _SpeakerPrefix:
    """Where a turn may begin: the prefix of a line."""

    line: int
    who: str
    #: Where the text begins, after the prefix.
    start: int

    @property
    def role(self) -> str | None:
        return _ROLE_OF.get(self.who.lower())

    @property
    def speaking(self) -> bool:
        return self.who.lower() in _SPEAKING


def messages_of(conversation: str) -> list[dict[str, str]]:
    """The messages of a conversation, as `remember` takes them; never empty."""
    lines = conversation.split("\n")
    first = next((number for number, line in enumerate(lines) if line.strip()), 0)
    turns = _dialogue(_prefixes(lines), first)
    messages = _cut(lines, turns) if turns else []
    return messages or [{"role": "user", "content": conversation}]


def _prefixes(lines: Sequence[str]) -> list[_SpeakerPrefix]:
    """Every line that begins with a role or with what may be a name, outside fenced blocks."""
    found: list[_SpeakerPrefix] = []
    fenced = _fenced(lines)
    for number, line in enumerate(lines):
        match = None if number in fenced else _PREFIX.match(line)
        if match is None:
            continue
        who = " ".join(match["who"].split())
        if who.lower() in _ROLE_OF or _is_name(who):
            found.append(_SpeakerPrefix(number, who, match.end()))
    return found


def _fenced(lines: Sequence[str]) -> set[int]:
    """The numbers of the lines in closed ``` blocks; a fence that never closes fences nothing."""
    fenced: set[int] = set()
    opened: tuple[int, str] | None = None
    for number, line in enumerate(lines):
        match = _FENCE.match(line)
        if match is None:
            continue
        if opened is None:
            opened = (number, match[1])
        elif match[1] == opened[1]:
            fenced.update(range(opened[0], number + 1))
            opened = None
    return fenced


def _is_name(who: str) -> bool:
    words = who.replace("-", " ").split()
    if len(who) > _MOST_NAME_CHARS or len(words) > _MOST_NAME_WORDS:
        return False
    if any(word.strip(".").lower() in _LABELS for word in words):
        return False
    # Scripts without capitals pass; "buy milk" and "the plan" do not.
    return not words[0][0].islower() and not words[-1][0].islower()


def _dialogue(turns: Sequence[_SpeakerPrefix], first: int) -> list[_SpeakerPrefix]:
    """The prefixes that begin a turn; none when the text is no dialogue."""
    roles = [turn for turn in turns if turn.role]
    names = [turn for turn in turns if not turn.role]
    speaking = [turn for turn in roles if turn.speaking]
    chat = any(turn.who.lower() in ("user", "assistant") for turn in roles)
    by_roles = len(speaking) >= 2 or (chat and roles[0].line == first)
    if any(turn.role == "user" for turn in speaking):
        # The human is called user here: a name at the head of a line is text.
        return roles if by_roles else []
    both = sorted([*names, *(roles if by_roles or speaking else [])], key=lambda turn: turn.line)
    if names and names[0].line == first and len(both) >= 2 and not _is_form(both):
        return both
    return roles if by_roles else []


def _is_form(turns: Sequence[_SpeakerPrefix]) -> bool:
    """Three or more labels, each there once."""
    times = Counter(turn.who.lower() for turn in turns)
    return len(times) > 2 and max(times.values()) == 1


def _cut(lines: Sequence[str], turns: Sequence[_SpeakerPrefix]) -> list[dict[str, str]]:
    """The text of each turn, to the line before the next; blank turns are left out."""
    messages = [{"role": "user", "content": "\n".join(lines[: turns[0].line])}]
    ends = [*(turn.line for turn in turns[1:]), len(lines)]
    for turn, end in zip(turns, ends, strict=True):
        text = "\n".join([lines[turn.line][turn.start :], *lines[turn.line + 1 : end]])
        message = {"role": turn.role or "user", "content": text}
        if turn.role is None:
            message["name"] = turn.who
        messages.append(message)
    return [
        {**message, "content": message["content"].strip()}
        for message in messages
        if message["content"].strip()
    ]


# ----------------------------------------------------------------------
# `config_override`: settings for one request, as a flat object of known names.
#
# Names that do not exist are let through and listed in a header, so that one client can talk to
# servers of several versions. A name that exists but must not be changed per request, a wrong
# type or a nested value is an error. What was applied is told in headers, under our name and the
# seed's.
# ----------------------------------------------------------------------

_PREFIXES = ("X-Holdfast-", "X-Atomicmem-")
_MOST_KEYS = 64
_MOST_KEY_BYTES = 64
#: No setting is anywhere near it, and arithmetic with it is safe.
_LARGEST_NUMBER = 1_000_000_000


@dataclass(frozen=True, slots=True)
class Override:
    """What a request asked for, and what it gets."""

    config: Config
    applied: Mapping[str, Any] = field(default_factory=dict)
    #: Response headers; none when nothing was asked for.
    headers: Mapping[str, str] = field(default_factory=dict)


def overridden(config: Config, asked: Mapping[str, Any] | None) -> Override:
    """The configuration of one request."""
    if not asked:
        return Override(config)
    known = frozenset(names())
    _check(asked, known)
    applied = {name: value for name, value in asked.items() if name in known}
    unknown = [name for name in asked if name not in known]
    try:
        effective = config.override(applied)
    except ConfigError as error:
        raise InvalidInput(f"config_override: {error}", field="config_override") from error
    return Override(effective, applied, _override_headers(effective, list(applied), unknown))


def overridden_write(config: Config, asked: Mapping[str, Any] | None) -> Override:
    """The configuration of one request that stores. `applied` are the settings of reading; those of
    recall, which a client may send with every request, are listed as what means nothing here."""
    if not asked:
        return Override(config)
    _check(asked, frozenset(names()))
    applied = {name: value for name, value in asked.items() if name in PER_WRITE}
    others = {name: value for name, value in asked.items() if name not in PER_WRITE}
    overridden(config, others)  # What no request may change is refused here, too.
    try:
        handling(config, agent=None, overrides=applied)
    except ConfigError as error:
        raise InvalidInput(f"config_override: {error}", field="config_override") from error
    extraction = replace(
        config.extraction,
        enabled=applied.get(ENABLED, config.extraction.enabled),
        provider=applied.get(PROVIDER, config.extraction.provider),
    )
    effective = replace(config, extraction=extraction)
    return Override(effective, applied, _override_headers(effective, list(applied), list(others)))


def config_hash(config: Config) -> str:
    """sha256 over the settings as key-sorted JSON, secrets left out."""
    text = json.dumps(_public(config), sort_keys=True, separators=(",", ":"))
    return "sha256:" + hashlib.sha256(text.encode()).hexdigest()


def _override_headers(effective: Config, applied: list[str], unknown: list[str]) -> dict[str, str]:
    """The headers that say what was applied."""
    told = {
        "Config-Override-Applied": "true" if applied else "false",
        "Config-Override-Keys": _header_list(applied),
        "Effective-Config-Hash": config_hash(effective),
    }
    if unknown:
        told["Unknown-Override-Keys"] = _header_list(unknown)
    return {prefix + name: value for prefix in _PREFIXES for name, value in told.items()}


def _check(asked: Mapping[str, Any], known: Collection[str]) -> None:
    if len(asked) > _MOST_KEYS:
        _refuse("", f"has {len(asked)} keys, the limit is {_MOST_KEYS}")
    for name, value in asked.items():
        # They come back in a header.
        if not name.strip() or len(name.encode("utf-8", "replace")) > _MOST_KEY_BYTES:
            _refuse("", f"has a key that is blank or over the limit of {_MOST_KEY_BYTES} bytes")
        if isinstance(value, dict | list):
            _refuse(name, "is nested: send a flat object of names such as rrf.k")
        # A group is a mistake, not a name of the future.
        if any(each.startswith(name + ".") for each in known):
            _refuse(name, "holds settings of its own: name one of them, such as rrf.k")
        if isinstance(value, int | float) and abs(value) > _LARGEST_NUMBER:
            _refuse(name, f"is a number over the limit of {_LARGEST_NUMBER}")


def _refuse(name: str, why: str) -> None:
    where = f"config_override.{name}" if name else "config_override"
    raise InvalidInput(f"{where} {why}", field=where)


def _header_list(keys: list[str]) -> str:
    """Names as a header value: what could break out of it is percent-encoded."""
    return ",".join(quote(key, safe="", errors="replace") for key in keys)


def _public(node: Any) -> Any:
    """The settings as plain values; a field that must not be printed is a secret."""
    if isinstance(node, tuple):
        return [_public(each) for each in node]
    if not is_dataclass(node):
        return node
    return {each.name: _public(getattr(node, each.name)) for each in fields(node) if each.repr}


MOST_HITS = 200
_MOST_BUDGET_TOKENS = 200_000
_EXTERNAL_CHARS = 256
#: The seed's words for who may see a memory, in ours.
_VISIBILITIES: Mapping[str | None, str | None] = {
    None: None, "agent_only": "agent_only", "restricted": "agent_only", "workspace": None,
}  # fmt: skip


def _needed(value: object) -> str:
    # A string of the seed that is empty counts as missing.
    if not isinstance(value, str) or not value:
        raise PydanticCustomError("needed", "(string) is required")
    return value


def _whose(value: object) -> str | None:
    return None if value is None else _needed(value)


def _optional(value: object) -> str | None:
    if value is not None and not isinstance(value, str):
        raise PydanticCustomError("text", "must be a string")
    return value


def _object(value: object) -> dict[str, Any] | None:
    if value is not None and not isinstance(value, dict):
        raise PydanticCustomError("object", "must be an object")
    return value


def _texts(value: object) -> list[str]:
    if not isinstance(value, list) or not all(isinstance(each, str) for each in value):
        raise PydanticCustomError("texts", "(string[]) is required")
    return value


def _agents(value: object) -> str | list[str] | None:
    if isinstance(value, list):
        return _texts(value)
    return _optional(value)


def _shape(*types: str, **more: Any) -> WithJsonSchema:
    return WithJsonSchema({"type": list(types) if len(types) > 1 else types[0], **more})


# Not pydantic's own `str`: it refuses lone surrogates, which the core turns into U+FFFD.
Needed = Annotated[str, PlainValidator(_needed), _shape("string", minLength=1)]
#: Who is meant; a key of one user need not say it.
Whose = Annotated[str | None, PlainValidator(_whose), _shape("string", "null", minLength=1)]
Text = Annotated[str | None, PlainValidator(_optional), _shape("string", "null")]
Texts = Annotated[list[str], PlainValidator(_texts), _shape("array", items={"type": "string"})]
Object = Annotated[dict[str, Any] | None, PlainValidator(_object), _shape("object", "null")]
AgentScope = Annotated[
    str | list[str] | None,
    PlainValidator(_agents),
    _shape("string", "array", "null", items={"type": "string"}),
]


class Scoped(BaseModel):
    """What every request says: whose memory is meant."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    user_id: Whose = None
    #: Only to repeat the key's own workspace; a key cannot reach another.
    workspace_id: Text = None
    agent_id: Text = None

    @model_validator(mode="before")
    @classmethod
    def _without_nothing(cls, sent: Any) -> Any:
        """What is said without what says nothing. Whose it is must be said, or left out."""
        if not isinstance(sent, dict):
            return sent
        named = {"user_id"} | {
            name for name, each in cls.model_fields.items() if each.is_required()
        }
        return {
            name: value
            for name, value in sent.items()
            if value is not None and (value != "" or name in named)
        }


class QueryString(Scoped):
    """What a query string says."""


class Sent(Scoped):
    """What a body says."""

    model_config = ConfigDict(strict=True)


class Body(Sent):
    """A body of the two verbs that the rest stands on."""

    session_id: Text = None
    #: Settings for this request alone; see override.py.
    config_override: Object = None


class IngestBody(Body):
    """Messages to remember."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [{"user_id": "ann", "conversation": "user: I moved to Lisbon."}]
        }
    )

    #: One text, split into turns by conversation.py ...
    conversation: Text = None
    #: ... or messages as `remember` takes them.
    messages: list[Any] | None = None
    source_site: Text = None
    source_url: Text = None
    metadata: Object = None
    #: What it is called where it comes from: told twice it is stored once.
    external_id: Text = None
    #: Answer when the background work for these messages is done, 60 s at most.
    wait: bool = False
    #: Keep it as it is: nothing is drawn from it.
    skip_extraction: bool = False
    #: "agent_only": seen by agent_id alone. The seed's other words are understood; see `seen_by`.
    visibility: Text = None

    def turns(self) -> list[Any]:
        """The messages, as `remember` takes them."""
        if self.messages is not None and self.conversation is not None:
            raise InvalidInput("conversation and messages: send one of the two", field="messages")
        if self.messages is not None:
            return self.messages
        if not self.conversation:
            raise InvalidInput("conversation (string) is required", field="conversation")
        if not self.conversation.strip():
            raise InvalidInput("conversation is blank", field="conversation")
        return messages_of(self.conversation)

    def labels(self) -> dict[str, Any] | None:
        """The metadata of every message, with where it came from."""
        came_from = {
            "source_site": self.source_site,
            "source_url": self.source_url,
            "externalId": self.external_id,
        }
        told = {name: value for name, value in came_from.items() if value}
        return Labelled(self.metadata or {}, told) or None

    def seen_by(self) -> str | None:
        """Who may see it, in our word. The seed's "workspace" is everybody who may read the user's
        memory, as usual; "restricted" is for agents that were granted it: here nobody is, so it
        is for this agent alone."""
        if self.visibility not in _VISIBILITIES:
            known = ", ".join(each for each in _VISIBILITIES if each)
            raise InvalidInput(
                f"visibility must be one of {known}, not {str(self.visibility)[:64]!r}",
                field="visibility",
            )
        return _VISIBILITIES[self.visibility]

    def external(self) -> str | None:
        """The id of the caller's own, by its field or in the metadata."""
        named = (self.metadata or {}).get("externalId")
        inside = named if isinstance(named, str) and named else None
        found = self.external_id or inside
        if found is None:
            return None
        if inside not in (None, found):
            raise InvalidInput(
                "external_id and metadata.externalId differ: send one of them", field="external_id"
            )
        if len(found) > _EXTERNAL_CHARS:
            raise InvalidInput(
                f"external_id has {len(found)} characters, the limit is {_EXTERNAL_CHARS}",
                field="external_id",
            )
        return found


class SearchBody(Body):
    """A question."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"user_id": "ann", "query": "Where do I live?"}]}
    )

    query: Needed
    limit: int = Field(10, ge=1, le=MOST_HITS)
    #: Only what had been said by then; "" counts as absent.
    as_of: Text = None
    #: For `injection_text`; default: the setting contextBudgetTokens.
    token_budget: int | None = Field(None, ge=0, le=_MOST_BUDGET_TOKENS)
    #: Leave out memories that score less; also in the place of the setting relevanceFloor.
    threshold: float | None = Field(None, ge=0.0, le=1.0)
    #: Only memories stored with this source_site, or this namespace, out of the 200 best.
    source_site: Text = None
    namespace_scope: Text = None
    #: Whose: all, self, others, an agent or several.
    agent_scope: AgentScope = None
    #: How `injection_text` is written.
    format: Literal["safe", "astra", "deerflow"] = "safe"
    retrieval_mode: Literal["flat", "tiered", "abstract-aware"] = "flat"
    #: Of the seed; there is nothing to repair here.
    skip_repair: bool = False


class HealthAnswer(BaseModel):
    """How the service is, in one word."""

    status: Literal["ok", "degraded"]


#: What pydantic calls a mistake, in the words of our errors.
_WORDS: Mapping[str, str] = {
    "missing": "(string) is required",
    "extra_forbidden": "is not a field of this request",
    "int_type": "must be a whole number",
    "int_parsing": "must be a whole number",
    "bool_parsing": "must be true or false",
    "float_type": "must be a number",
    "bool_type": "must be true or false",
    "list_type": "must be a list",
}


def complaint(mistake: Mapping[str, Any]) -> tuple[str, str]:
    """(message, field) for one of pydantic's errors."""
    field = ".".join(str(part) for part in mistake["loc"][1:])
    if not field:
        return "the body must be a JSON object, sent with content-type: application/json", ""
    limits = mistake.get("ctx") or {}
    if "ge" in limits:
        words = f"must be at least {limits['ge']}"
    elif "le" in limits:
        words = f"must be at most {limits['le']}"
    elif "expected" in limits:
        words = f"must be {limits['expected']}"
    else:
        words = _WORDS.get(mistake["type"], mistake["msg"])
    return f"{field} {words}", field
