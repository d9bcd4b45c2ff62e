"""The clients: every verb of a memory as a method, blocking and awaitable.

The tables are those of `catalogue/verbs.py`; a test compares them with it, and with `Memory` and
its parts, name by name and parameter by parameter. `recall = remote(verbs.RECALL)` has the
parameters and the type of `Memory.recall`: on a part of a `Client` it returns when it is answered,
on one of an `AsyncClient` it is awaited.
"""

from __future__ import annotations

import asyncio
import ssl
import time
from collections.abc import Callable, Coroutine, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from functools import partial, wraps
from pathlib import Path
from types import MethodType, TracebackType
from typing import (
    TYPE_CHECKING,
    Any,
    Concatenate,
    Generic,
    NoReturn,
    ParamSpec,
    Self,
    TypeVar,
    overload,
)

from holdfast.catalogue import verbs
from holdfast.catalogue.verb import Verb, verb
from holdfast.client.caller import ServiceCaller, error_of, to_request
from holdfast.client.transport import HttpRequest, Transport
from holdfast.config import api_key as key_of_environment
from holdfast.errors import ServiceError
from holdfast.memory.core import Core
from holdfast.records.documents.reading import format_of
from holdfast.records.knowledge import Document, Knowledge, ReadLimits, load_source
from holdfast.records.profile import Profiles
from holdfast.records.summaries import Summaries
from holdfast.types import Drained

# ----------------------------------------------------------------------
# Verbs as methods, typed once for two ways of calling.
# ----------------------------------------------------------------------

P = ParamSpec("P")
R = TypeVar("R")

#: Calls that an AsyncClient may have under way; others wait for their turn.
_THREADS = 32


class Calls:
    """How functions of a caller are called."""

    def __init__(self, caller: ServiceCaller) -> None:
        self.caller = caller


class Blocking(Calls):
    """Calls return when they are answered."""

    def run(self, function: Callable[..., R], *args: Any, **kwargs: Any) -> R:
        """Call a function of a caller."""
        return function(self.caller, *args, **kwargs)


class Awaiting(Calls):
    """Calls are awaited: the same functions, each on a thread, so that no loop waits for them."""

    def __init__(self, caller: ServiceCaller) -> None:
        super().__init__(caller)
        self.threads = ThreadPoolExecutor(_THREADS, thread_name_prefix="holdfast-client")

    async def run(self, function: Callable[..., R], *args: Any, **kwargs: Any) -> R:
        """Call a function of a caller."""
        call = partial(function, self.caller, *args, **kwargs)
        return await asyncio.get_running_loop().run_in_executor(self.threads, call)


Way = TypeVar("Way", bound=Calls)


class VerbGroup(Generic[Way]):
    """Some verbs, and the way to call them."""

    def __init__(self, way: Way) -> None:
        self._way = way


class Remote(Generic[P, R]):
    """A verb as a method. Made with `remote` or `by`."""

    def __init__(self, like: Callable[..., Any], function: Callable[..., Any]) -> None:
        @wraps(like)
        def method(part: VerbGroup[Any], *args: Any, **kwargs: Any) -> Any:
            return part._way.run(function, *args, **kwargs)

        self._method = method

    @overload
    def __get__(self, part: None, owner: type) -> Callable[..., Any]: ...
    @overload
    def __get__(self, part: VerbGroup[Blocking], owner: type) -> Callable[P, R]: ...
    @overload
    def __get__(
        self, part: VerbGroup[Awaiting], owner: type
    ) -> Callable[P, Coroutine[Any, Any, R]]: ...
    def __get__(self, part: VerbGroup[Any] | None, owner: type) -> Callable[..., Any]:
        return self._method if part is None else MethodType(self._method, part)


def remote(verb: Verb[P, R]) -> Remote[P, R]:
    """A verb of the catalogue."""

    def function(caller: ServiceCaller, *args: Any, **kwargs: Any) -> R:
        return caller.ask(verb, *args, **kwargs)

    return Remote(verb.function, function)


def by(
    like: Callable[Concatenate[Any, P], R], function: Callable[Concatenate[ServiceCaller, P], R]
) -> Remote[P, R]:
    """A verb that takes more than one request: called as `like`, done by `function`."""
    return Remote(like, function)


# ----------------------------------------------------------------------
# Verbs that are more than one question and its answer: uploads, waiting, the clock.
# ----------------------------------------------------------------------

#: The service works for at most this long at a time; then it is asked to go on.
_ONE_DRAIN = 10.0


def add_document(
    caller: ServiceCaller,
    source: str | bytes | Path,
    *,
    name: str | None = None,
    format: str | None = None,
    user: str | None = None,
    workspace: str = "default",
    metadata: Mapping[str, Any] | None = None,
) -> Document:
    """Read a file here, and send it as it is."""
    data, file_name = load_source(source, ReadLimits().bytes)
    called = name if name is not None else file_name
    if isinstance(data, str):  # What is a text here comes as bytes there.
        format = format_of(data, called or "", format)
        data = data.encode("utf-8", "surrogatepass")
    return caller.ask(
        verbs.ADD_DOCUMENT,
        data,
        name=called,
        format=format,
        user=user,
        workspace=workspace,
        metadata=metadata,
    )


def drain(caller: ServiceCaller, timeout: float | None = None) -> Drained:
    """Let the service work off what waits, a while at a time."""
    began = time.monotonic()
    done = dead = 0
    while True:
        spent = time.monotonic() - began
        part = _drain_once(caller, _ONE_DRAIN if timeout is None else max(timeout - spent, 0.0))
        done, dead, spent = done + part.done, dead + part.dead, time.monotonic() - began
        if not part.pending or (timeout is not None and spent >= timeout):
            return Drained(done, dead, spent, part.pending)


def _drain_once(caller: ServiceCaller, seconds: float) -> Drained:
    request = to_request(verbs.DRAIN, {"timeout": min(seconds, _ONE_DRAIN)})
    answer = caller.fetch_json(request, patience=_ONE_DRAIN)
    found: Drained = caller.read(Drained, answer)
    return found


def now(caller: ServiceCaller) -> datetime:
    """The time by the clock of the service, to the second."""
    reply = caller.transport.exchange(HttpRequest("GET", "/health"))
    told = reply.headers.get("date")
    if told is None:
        if reply.status >= 400:
            raise error_of(reply, caller.transport.address)
        raise ServiceError(f"{caller.transport.address} does not tell the time")
    return parsedate_to_datetime(told).astimezone(UTC)


def warm(caller: ServiceCaller) -> None:
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
    caller = service_caller(url, api_key)
    try:
        told: Any = caller.fetch_json(HttpRequest("GET", "/v1/whoami"))
    finally:
        caller.transport.close()
    try:
        return Identity(told["workspace_id"], told["user_id"], told["role"])
    except (KeyError, TypeError):
        raise ServiceError(f"{caller.transport.address} does not say whose key this is") from None


#: What only a memory in this process has.
_EMBEDDED = frozenset({"cache_size", "config", "life", "store", "worker"})


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
    forgotten = remote(verbs.FORGOTTEN)
    jobs = remote(verbs.JOBS)
    list = remote(verbs.LIST)
    now = by(Core.now, now)
    profile = remote(verbs.PROFILE)
    rebuild = remote(verbs.REBUILD)
    recall = remote(verbs.RECALL)
    remember = remote(verbs.REMEMBER)
    replay = remote(verbs.REPLAY)
    reset_source = remote(verbs.RESET_SOURCE)
    restore = remote(verbs.RESTORE)
    settings = remote(verbs.SETTINGS)
    settle = remote(verbs.SETTLE)
    stats = remote(verbs.STATS)
    status = remote(verbs.STATUS)
    trace = remote(verbs.TRACE)
    update = remote(verbs.UPDATE)
    users = remote(verbs.USERS)
    warm = by(Core.warm, warm)

    #: Blocking or awaiting.
    _calls: type[Way]

    def __init__(
        self,
        url: str,
        api_key: str | None = None,
        *,
        timeout: float = 30.0,
        retries: int = 4,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        way = self._calls(service_caller(url, api_key, timeout=timeout, retries=retries, tls=tls))
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
        return self._way.caller.transport.address

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.address!r})"

    if not TYPE_CHECKING:  # Checkers should not take every name for one that exists.

        def __getattr__(self, name: str) -> NoReturn:
            why = ": only a memory in this process has it" if name in _EMBEDDED else ""
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}{why}")


class Client(Verbs[Blocking]):
    """A memory behind a service. Threads may share it. Usually made with `holdfast.open`."""

    _calls = Blocking

    def close(self) -> None:
        """Close the connections. Twice is fine."""
        self._way.caller.transport.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


class AsyncClient(Verbs[Awaiting]):
    """A memory behind a service, for asyncio: `await memory.recall(...)`.

    There is one implementation: a call runs on a thread of the client's own, over the connections
    that the blocking client uses too. A call that is cancelled is not waited for; what it asked for
    may still happen.
    """

    _calls = Awaiting

    async def close(self) -> None:
        """Close the connections, when the calls under way have ended. Twice is fine."""
        self._way.caller.transport.close()
        # A thread of ours may still be at work: the loop must not wait for it.
        await asyncio.to_thread(self._way.threads.shutdown)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.close()


def service_caller(url: str, api_key: str | None, **more: Any) -> ServiceCaller:
    """Who asks the service at an address; without a key, with that of HOLDFAST_API_KEY."""
    key = key_of_environment() if api_key is None else api_key
    return ServiceCaller(Transport(str(url), key, **more))
