"""AtomicMemory's ingest: messages or a conversation as one text, answered now or when read."""

from __future__ import annotations

import re
import threading
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Header, Request, Response
from pydantic import ConfigDict

from holdfast.border import validate
from holdfast.border.validate import Labelled
from holdfast.errors import Conflict, InvalidInput, NotFound
from holdfast.language.statements.values import Fact
from holdfast.memory.memory import Memory
from holdfast.service.http.auth import Writer, scope_args, scope_of
from holdfast.service.http.overrides import Override, override_for_write
from holdfast.service.http.wire import (
    Held,
    Object,
    Sent,
    StrictRoute,
    Text,
    json_response,
    printable,
)
from holdfast.store.protocols import EXTERNAL
from holdfast.types import Receipt, Scope, State

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
#
# A line "[Session date: 2026-03-01]" is no turn: what follows it, up to the next such line, was
# said then.


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
_SESSION_DATE = re.compile(r"\s*\[session date:(?P<when>[^\[\]]{4,40})\]\s*", re.IGNORECASE)
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
    messages = []
    for at, text in _sessions(conversation):
        if text.strip():
            messages += [{**each, **({"at": at} if at else {})} for each in _turns_of(text)]
    return messages or [{"role": "user", "content": conversation}]


def _sessions(conversation: str) -> list[tuple[str | None, str]]:
    """The parts of a conversation with the times that their headers tell."""
    lines = conversation.split("\n")
    fenced = _fenced_lines(lines)
    heads: list[tuple[str | None, int, int]] = [
        (at, number, number + 1)
        for number, line in enumerate(lines)
        if number not in fenced and (at := _session_time(line)) is not None
    ]
    ends = [*(number for _, number, _ in heads), len(lines)]
    return [
        (at, "\n".join(lines[begin:end]))
        for (at, _, begin), end in zip([(None, 0, 0), *heads], ends, strict=True)
    ]


def _session_time(line: str) -> str | None:
    """The time that a header tells, as `remember` takes it; None for any other line."""
    match = _SESSION_DATE.fullmatch(line)
    if match is None:
        return None
    try:
        told = datetime.fromisoformat(match["when"].strip())
        told = told if told.tzinfo else told.replace(tzinfo=UTC)
        return validate.moment(told, "Session date").isoformat()
    except (ValueError, InvalidInput):
        return None  # Nobody's date: it stays what it is, a text.


def _turns_of(conversation: str) -> list[dict[str, str]]:
    lines = conversation.split("\n")
    first = next((number for number, line in enumerate(lines) if line.strip()), 0)
    turns = _dialogue(_prefixes(lines), first)
    messages = _cut(lines, turns) if turns else []
    return messages or [{"role": "user", "content": conversation}]


def _prefixes(lines: Sequence[str]) -> list[_SpeakerPrefix]:
    """Every line that begins with a role or with what may be a name, outside fenced blocks."""
    found: list[_SpeakerPrefix] = []
    fenced = _fenced_lines(lines)
    for number, line in enumerate(lines):
        match = None if number in fenced else _PREFIX.match(line)
        if match is None:
            continue
        who = " ".join(match["who"].split())
        if who.lower() in _ROLE_OF or _is_name(who):
            found.append(_SpeakerPrefix(number, who, match.end()))
    return found


def _fenced_lines(lines: Sequence[str]) -> set[int]:
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


# `"wait": true`: an answer that comes when the background work for its messages is done. However
# many wait and however long, others must be answered and the service must be able to stop: the
# number of those who wait is bounded, and a stop ends every wait at once. The messages are on disk
# in any case; `state` says how far they have come.

_SECONDS = 60.0
#: From the least advanced; one dead letter among many is what the caller must hear of.
_ORDER: tuple[State, ...] = ("dead", "failed", "processing", "stored", "done")


class WaitingRoom:
    """Where requests wait."""

    def __init__(self, seats: int) -> None:
        self._seats = threading.BoundedSemaphore(seats)
        self._closing = threading.Event()

    def close(self) -> None:
        """End every wait, now and from now on."""
        self._closing.set()

    def wait_for(
        self, memory: Memory, scope: Scope, receipt: Receipt, *, timeout_s: float = _SECONDS
    ) -> State:
        """The least advanced state of a receipt's events, when no work is left or time is up."""
        if not self._seats.acquire(blocking=False):
            return receipt.state
        try:
            deadline = time.monotonic() + timeout_s
            memory.store.hurry(scope, receipt.events)
            memory.worker.wake()
            states = {self._state(memory, scope, event, deadline) for event in receipt.events}
        finally:
            self._seats.release()
        return min(states, key=_ORDER.index)

    def _state(self, memory: Memory, scope: Scope, event: str, deadline: float) -> State:
        pause = 0.005
        while True:
            try:
                state = memory.status(event, user=scope.user, workspace=scope.workspace).state
            except NotFound:  # Wiped meanwhile.
                return "done"
            if state in ("done", "dead") or time.monotonic() > deadline:
                return state
            if self._closing.wait(pause):
                return state
            pause = min(2 * pause, 0.1)


async def _waiting_room(request: Request) -> WaitingRoom:
    room = request.app.state.waiting_room
    assert isinstance(room, WaitingRoom)
    return room


Waiting = Annotated[WaitingRoom, Depends(_waiting_room)]


_EXTERNAL_CHARS = 256
#: The seed's words for who may see a memory, in ours.
_VISIBILITIES: Mapping[str | None, str | None] = {
    None: None, "agent_only": "agent_only", "restricted": "agent_only", "workspace": None,
}  # fmt: skip


class IngestBody(Sent):
    """Messages to remember."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [{"user_id": "ann", "conversation": "user: I moved to Lisbon."}]
        }
    )

    session_id: Text = None
    #: Settings for this request alone; see http/overrides.py.
    config_override: Object = None
    #: One text, split into turns ...
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


routes = APIRouter(prefix="/v1/memories", route_class=StrictRoute, tags=["atomicmemory"])
_OBJECT = dict[str, Any]

Key = Annotated[str | None, Header(alias="Idempotency-Key")]


@routes.post("/ingest", response_model=_OBJECT)
def ingest(
    *, body: IngestBody, key: Writer, memory: Held, waiting: Waiting, idempotency_key: Key = None
) -> Response:
    """Remember; answered when it is on disk."""
    scope = scope_of(key, body)
    override = override_for_write(memory.config, body.config_override)
    receipt = _remember(memory, scope, body, idempotency_key, overrides=override.applied)
    if not body.wait:
        return json_response(_ingest_json(receipt, receipt.state), headers=override.headers)
    return _read(memory, scope, receipt, waiting.wait_for(memory, scope, receipt), override)


@routes.post("/ingest/quick", response_model=_OBJECT)
def ingest_quick(
    *, body: IngestBody, key: Writer, memory: Held, waiting: Waiting, idempotency_key: Key = None
) -> Response:
    """Remember, and read it before the answer: by rules, with no language model."""
    scope = scope_of(key, body)
    override = override_for_write(memory.config, body.config_override)
    receipt = _remember(
        memory, scope, body, idempotency_key, overrides=override.applied,
        quick=not body.skip_extraction,
    )  # fmt: skip
    state = waiting.wait_for(memory, scope, receipt) if body.wait else receipt.state
    return _read(memory, scope, receipt, state, override)


def _read(
    memory: Memory, scope: Scope, receipt: Receipt, state: State, override: Override
) -> Response:
    drawn = memory.facts.drawn_from(scope, receipt.events)
    return json_response(_ingest_json(receipt, state, drawn), headers=override.headers)


def _remember(
    memory: Memory, scope: Scope, body: IngestBody, key: str | None, **how: Any
) -> Receipt:
    """What the caller has a name for is stored once under that name, for good."""
    external = body.external()
    if external is not None:
        key = EXTERNAL + validate.word(external, "external_id")
    try:
        return memory.remember(
            body.turns(),
            **scope_args(scope), session=scope.session,
            key=key, metadata=body.labels(), extract=not body.skip_extraction,
            visibility=body.seen_by(), **how,
        )  # fmt: skip
    except Conflict:
        if external is None:
            raise
        raise Conflict(
            f"external_id {external!r} was stored before with another body: forget that one first"
        ) from None


def _ingest_json(receipt: Receipt, state: State, drawn: Sequence[Fact] = ()) -> dict[str, Any]:
    """What is on disk now. The counts are of this moment: background work may add to them."""
    ids = receipt.events
    updated = [fact.id for fact in drawn if fact.replaces]
    return {
        "event_ids": ids,
        "state": state,
        "duplicate": receipt.duplicate,
        "episode_id": ids[0],
        "memories_stored": len(ids),
        "stored_memory_ids": ids,
        "facts_extracted": len(drawn),
        "memories_updated": len(updated),
        "updated_memory_ids": updated,
        "memories_deleted": 0,
        "memories_skipped": 0,
        "links_created": 0,
        "composites_created": 0,
        # A warning names the metadata key it is about, which may itself be unprintable.
        "warnings": [printable(text) for text in receipt.warnings],
    }
