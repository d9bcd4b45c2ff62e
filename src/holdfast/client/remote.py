"""Every verb of a memory, once, as methods of a client; and the blocking client itself.

The tables are those of `catalogue/verbs.py`; a test compares them with it, and with `Memory` and
its parts, name by name and parameter by parameter.
"""

from __future__ import annotations

import ssl
import time
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, NoReturn, Self

from holdfast.catalogue import verbs
from holdfast.catalogue.verb import verb
from holdfast.client.asking import ServiceCaller, error_of, to_request
from holdfast.client.part import Blocking, VerbGroup, Way, by, remote
from holdfast.client.transport import HttpRequest, Transport
from holdfast.config import api_key as key_of_environment
from holdfast.errors import ServiceError
from holdfast.memory.core import Core
from holdfast.records.documents.reading import format_of
from holdfast.records.knowledge import Document, Knowledge, ReadLimits, loaded
from holdfast.records.profile import Profiles
from holdfast.records.summaries import Summaries
from holdfast.types import Drained

# ----------------------------------------------------------------------
# Verbs that are more than one question and its answer: uploads, waiting, the clock.
# ----------------------------------------------------------------------

#: The service works for at most this long at a time; then it is asked to go on.
_ONE_DRAIN = 10.0


def add_document(
    asker: ServiceCaller,
    source: str | bytes | Path,
    *,
    name: str | None = None,
    format: str | None = None,
    user: str | None = None,
    workspace: str = "default",
    metadata: Mapping[str, Any] | None = None,
) -> Document:
    """Read a file here, and send it as it is."""
    data, file_name = loaded(source, ReadLimits().bytes)
    called = name if name is not None else file_name
    if isinstance(data, str):  # What is a text here comes as bytes there.
        format = format_of(data, called or "", format)
        data = data.encode("utf-8", "surrogatepass")
    return asker.ask(
        verbs.ADD_DOCUMENT,
        data,
        name=called,
        format=format,
        user=user,
        workspace=workspace,
        metadata=metadata,
    )


def drain(asker: ServiceCaller, timeout: float | None = None) -> Drained:
    """Let the service work off what waits, a while at a time."""
    began = time.monotonic()
    done = dead = 0
    while True:
        spent = time.monotonic() - began
        part = _drained(asker, _ONE_DRAIN if timeout is None else max(timeout - spent, 0.0))
        done, dead, spent = done + part.done, dead + part.dead, time.monotonic() - began
        if not part.pending or (timeout is not None and spent >= timeout):
            return Drained(done, dead, spent, part.pending)


def _drained(asker: ServiceCaller, seconds: float) -> Drained:
    request = to_request(verbs.DRAIN, {"timeout": min(seconds, _ONE_DRAIN)})
    answer = asker.loaded(request, patience=_ONE_DRAIN)
    found: Drained = asker.read(Drained, answer)
    return found


def now(asker: ServiceCaller) -> datetime:
    """The time by the clock of the service, to the second."""
    reply = asker.transport.exchange(HttpRequest("GET", "/health"))
    told = reply.headers.get("date")
    if told is None:
        if reply.status >= 400:
            raise error_of(reply, asker.transport.address)
        raise ServiceError(f"{asker.transport.address} does not tell the time")
    return parsedate_to_datetime(told).astimezone(UTC)


def warm(asker: ServiceCaller) -> None:
    """Nothing: a service loads its model when it starts."""


# ----------------------------------------------------------------------
# Who a key is: what a service says of the key that it is asked with.
# ----------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Identity:
    """What a key opens."""

    workspace: str
    #: None: every user of the workspace.
    user: str | None
    role: str


def whoami(url: str, api_key: str | None = None) -> Identity:
    """Whose key this is; without one, that of HOLDFAST_API_KEY. Denied if it opens nothing."""
    asking = asker(url, api_key)
    try:
        told: Any = asking.loaded(HttpRequest("GET", "/v1/whoami"))
    finally:
        asking.transport.close()
    try:
        return Identity(told["workspace_id"], told["user_id"], told["role"])
    except (KeyError, TypeError):
        raise ServiceError(f"{asking.transport.address} does not say whose key this is") from None


#: What only a memory in this process has.
_EMBEDDED = frozenset({"cached", "config", "life", "store", "worker"})


class FactVerbs(VerbGroup[Way]):
    """As `memory.facts`."""

    add = remote(verbs.ADD_FACT)
    answer = remote(verbs.ANSWER)
    clarifications = remote(verbs.CLARIFICATIONS)
    conflicts = remote(verbs.CONFLICTS)
    contradictions = remote(verbs.CONTRADICTIONS)
    get = remote(verbs.GET_FACT)
    history = remote(verbs.FACT_HISTORY)
    invalidate = remote(verbs.INVALIDATE_FACT)
    list = remote(verbs.LIST_FACTS)
    resolve = remote(verbs.RESOLVE)
    update = remote(verbs.UPDATE_FACT)


class GraphVerbs(VerbGroup[Way]):
    """As `memory.graph`."""

    edges = remote(verbs.EDGES)
    entities = remote(verbs.ENTITIES)
    merge = remote(verbs.MERGE)
    merges = remote(verbs.MERGES)
    overview = remote(verbs.OVERVIEW)
    traverse = remote(verbs.TRAVERSE)
    unmerge = remote(verbs.UNMERGE)
    write = remote(verbs.GRAPH_WRITE)


class ObservationVerbs(VerbGroup[Way]):
    """As `memory.observations`."""

    add = remote(verbs.ADD_OBSERVATIONS)
    create = remote(verbs.CREATE_OBSERVED)
    delete = remote(verbs.DELETE_OBSERVED)
    read = remote(verbs.READ_OBSERVED)


class NoteVerbs(VerbGroup[Way]):
    """As `memory.notes`."""

    add = remote(verbs.ADD_NOTE)
    day = remote(verbs.DAY)
    list = remote(verbs.LIST_NOTES)
    update = remote(verbs.UPDATE_NOTE)


class ProfileVerbs(VerbGroup[Way]):
    """As `memory.profiles`."""

    clear = remote(verbs.CLEAR_PROFILE)
    profile = remote(verb(Profiles.profile, "GET", verbs.PROFILE.path, part="profiles"))
    set = remote(verbs.SET_PROFILE)


class ProcedureVerbs(VerbGroup[Way]):
    """As `memory.procedures`."""

    add = remote(verbs.ADD_PROCEDURE)
    get = remote(verbs.GET_PROCEDURE)
    list = remote(verbs.LIST_PROCEDURES)
    update = remote(verbs.UPDATE_PROCEDURE)
    used = remote(verbs.USED_PROCEDURE)


class SummaryVerbs(VerbGroup[Way]):
    """As `memory.summaries`."""

    compact = remote(
        verb(Summaries.compact, "POST", verbs.COMPACT.path, part="summaries", role="write")
    )
    get = remote(verbs.GET_SUMMARY)
    session_stats = remote(verbs.SESSION_STATS)


class KnowledgeVerbs(VerbGroup[Way]):
    """As `memory.knowledge`."""

    add = by(Knowledge.add, add_document)
    document = remote(verbs.GET_DOCUMENT)
    documents = remote(verbs.DOCUMENTS)
    entries = remote(verbs.ENTRIES)
    get = remote(verbs.GET_ENTRY)
    history = remote(verbs.DOCUMENT_HISTORY)
    remove = remote(verbs.REMOVE_DOCUMENT)
    set = remote(verbs.SET_ENTRY)


class TeamVerbs(VerbGroup[Way]):
    """As `memory.team`."""

    get = remote(verbs.TEAM_GET)
    history = remote(verbs.TEAM_HISTORY)
    list = remote(verbs.TEAM_LIST)
    remove = remote(verbs.TEAM_REMOVE)
    search = remote(verbs.TEAM_SEARCH)
    update = remote(verbs.TEAM_UPDATE)
    write = remote(verbs.TEAM_WRITE)


class ShareVerbs(VerbGroup[Way]):
    """As `memory.shares`."""

    given_to = remote(verbs.SHARED_WITH_US)
    grant = remote(verbs.GRANT)
    list = remote(verbs.SHARES)
    revoke = remote(verbs.REVOKE)


class AgentVerbs(VerbGroup[Way]):
    """As `memory.agents`."""

    set_trust = remote(verbs.SET_TRUST)
    trust = remote(verbs.TRUST)


class Verbs(VerbGroup[Way]):
    """As `Memory`: what both clients have."""

    batch = remote(verbs.BATCH)
    capabilities = remote(verbs.CAPABILITIES)
    check = remote(verb(Core.check, "GET", verbs.DOCTOR.path, role="admin", answer="findings"))
    compact = remote(verbs.COMPACT)
    context = remote(verbs.CONTEXT)
    doctor = remote(verbs.DOCTOR)
    drain = by(Core.drain, drain)
    erase = remote(verbs.ERASE)
    expand = remote(verbs.EXPAND)
    explain = remote(verbs.EXPLAIN)
    fading = remote(verbs.FADING)
    feedback = remote(verbs.FEEDBACK)
    forget = remote(verbs.FORGET)
    get = remote(verbs.GET)
    growth = remote(verbs.GROWTH)
    history = remote(verbs.HISTORY)
    jobs = remote(verbs.JOBS)
    list = remote(verbs.LIST)
    now = by(Core.now, now)
    profile = remote(verbs.PROFILE)
    recall = remote(verbs.RECALL)
    remember = remote(verbs.REMEMBER)
    replay = remote(verbs.REPLAY)
    reset_source = remote(verbs.RESET_SOURCE)
    restore = remote(verbs.RESTORE)
    settings = remote(verbs.SETTINGS)
    settle = remote(verbs.SETTLE)
    stats = remote(verbs.STATS)
    status = remote(verbs.STATUS)
    update = remote(verbs.UPDATE)
    warm = by(Core.warm, warm)

    def __init__(self, way: Way) -> None:
        super().__init__(way)
        self.agents = AgentVerbs(way)
        self.facts = FactVerbs(way)
        self.graph = GraphVerbs(way)
        self.knowledge = KnowledgeVerbs(way)
        self.notes = NoteVerbs(way)
        self.observations = ObservationVerbs(way)
        self.procedures = ProcedureVerbs(way)
        self.profiles = ProfileVerbs(way)
        self.shares = ShareVerbs(way)
        self.summaries = SummaryVerbs(way)
        self.team = TeamVerbs(way)

    @property
    def address(self) -> str:
        """Where the service is."""
        return self._way.asker.transport.address

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.address!r})"

    if not TYPE_CHECKING:  # Checkers should not take every name for one that exists.

        def __getattr__(self, name: str) -> NoReturn:
            why = ": only a memory in this process has it" if name in _EMBEDDED else ""
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}{why}")


class Client(Verbs[Blocking]):
    """A memory behind a service. Threads may share it. Usually made with `holdfast.open`."""

    def __init__(
        self,
        url: str,
        api_key: str | None = None,
        *,
        timeout: float = 30.0,
        retries: int = 4,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        super().__init__(Blocking(asker(url, api_key, timeout=timeout, retries=retries, tls=tls)))

    def close(self) -> None:
        """Close the connections. Twice is fine."""
        self._way.asker.transport.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


def asker(url: str, api_key: str | None, **more: Any) -> ServiceCaller:
    """Who asks the service at an address; without a key, with that of HOLDFAST_API_KEY."""
    key = key_of_environment() if api_key is None else api_key
    return ServiceCaller(Transport(str(url), key, **more))
