"""Every verb of a memory, once, as methods of a client; and the blocking client itself.

The tables are those of `api/catalogue.py`; a test compares them with it, and with `Memory` and its
parts, name by name and parameter by parameter.
"""

from __future__ import annotations

import ssl
from types import TracebackType
from typing import TYPE_CHECKING, Any, NoReturn, Self

from holdfast.api import catalogue
from holdfast.api.verb import verb
from holdfast.client import longer
from holdfast.client.asking import Asker
from holdfast.client.part import Blocking, Part, Way, by, remote
from holdfast.client.transport import Transport
from holdfast.config import api_key as key_of_environment
from holdfast.core import Core
from holdfast.tiers.knowledge import Knowledge
from holdfast.tiers.profile import Profiles
from holdfast.tiers.summaries import Summaries

#: What only a memory in this process has.
_EMBEDDED = frozenset({"cached", "config", "life", "store", "worker"})


class FactVerbs(Part[Way]):
    """As `memory.facts`."""

    add = remote(catalogue.ADD_FACT)
    answer = remote(catalogue.ANSWER)
    clarifications = remote(catalogue.CLARIFICATIONS)
    conflicts = remote(catalogue.CONFLICTS)
    contradictions = remote(catalogue.CONTRADICTIONS)
    get = remote(catalogue.GET_FACT)
    history = remote(catalogue.FACT_HISTORY)
    invalidate = remote(catalogue.INVALIDATE_FACT)
    list = remote(catalogue.LIST_FACTS)
    resolve = remote(catalogue.RESOLVE)
    update = remote(catalogue.UPDATE_FACT)


class GraphVerbs(Part[Way]):
    """As `memory.graph`."""

    edges = remote(catalogue.EDGES)
    entities = remote(catalogue.ENTITIES)
    merge = remote(catalogue.MERGE)
    merges = remote(catalogue.MERGES)
    overview = remote(catalogue.OVERVIEW)
    traverse = remote(catalogue.TRAVERSE)
    unmerge = remote(catalogue.UNMERGE)
    write = remote(catalogue.GRAPH_WRITE)


class ObservationVerbs(Part[Way]):
    """As `memory.observations`."""

    add = remote(catalogue.ADD_OBSERVATIONS)
    create = remote(catalogue.CREATE_OBSERVED)
    delete = remote(catalogue.DELETE_OBSERVED)
    read = remote(catalogue.READ_OBSERVED)


class NoteVerbs(Part[Way]):
    """As `memory.notes`."""

    add = remote(catalogue.ADD_NOTE)
    day = remote(catalogue.DAY)
    list = remote(catalogue.LIST_NOTES)
    update = remote(catalogue.UPDATE_NOTE)


class ProfileVerbs(Part[Way]):
    """As `memory.profiles`."""

    clear = remote(catalogue.CLEAR_PROFILE)
    profile = remote(verb(Profiles.profile, "GET", catalogue.PROFILE.path, part="profiles"))
    set = remote(catalogue.SET_PROFILE)


class ProcedureVerbs(Part[Way]):
    """As `memory.procedures`."""

    add = remote(catalogue.ADD_PROCEDURE)
    get = remote(catalogue.GET_PROCEDURE)
    list = remote(catalogue.LIST_PROCEDURES)
    update = remote(catalogue.UPDATE_PROCEDURE)
    used = remote(catalogue.USED_PROCEDURE)


class SummaryVerbs(Part[Way]):
    """As `memory.summaries`."""

    compact = remote(
        verb(Summaries.compact, "POST", catalogue.COMPACT.path, part="summaries", role="write")
    )
    get = remote(catalogue.GET_SUMMARY)
    session_stats = remote(catalogue.SESSION_STATS)


class KnowledgeVerbs(Part[Way]):
    """As `memory.knowledge`."""

    add = by(Knowledge.add, longer.add_document)
    document = remote(catalogue.GET_DOCUMENT)
    documents = remote(catalogue.DOCUMENTS)
    entries = remote(catalogue.ENTRIES)
    get = remote(catalogue.GET_ENTRY)
    history = remote(catalogue.DOCUMENT_HISTORY)
    remove = remote(catalogue.REMOVE_DOCUMENT)
    set = remote(catalogue.SET_ENTRY)


class TeamVerbs(Part[Way]):
    """As `memory.team`."""

    get = remote(catalogue.TEAM_GET)
    history = remote(catalogue.TEAM_HISTORY)
    list = remote(catalogue.TEAM_LIST)
    remove = remote(catalogue.TEAM_REMOVE)
    search = remote(catalogue.TEAM_SEARCH)
    update = remote(catalogue.TEAM_UPDATE)
    write = remote(catalogue.TEAM_WRITE)


class ShareVerbs(Part[Way]):
    """As `memory.shares`."""

    given_to = remote(catalogue.SHARED_WITH_US)
    grant = remote(catalogue.GRANT)
    list = remote(catalogue.SHARES)
    revoke = remote(catalogue.REVOKE)


class AgentVerbs(Part[Way]):
    """As `memory.agents`."""

    set_trust = remote(catalogue.SET_TRUST)
    trust = remote(catalogue.TRUST)


class Verbs(Part[Way]):
    """As `Memory`: what both clients have."""

    batch = remote(catalogue.BATCH)
    capabilities = remote(catalogue.CAPABILITIES)
    check = remote(verb(Core.check, "GET", catalogue.DOCTOR.path, role="admin", answer="findings"))
    compact = remote(catalogue.COMPACT)
    context = remote(catalogue.CONTEXT)
    doctor = remote(catalogue.DOCTOR)
    drain = by(Core.drain, longer.drain)
    erase = remote(catalogue.ERASE)
    expand = remote(catalogue.EXPAND)
    explain = remote(catalogue.EXPLAIN)
    fading = remote(catalogue.FADING)
    feedback = remote(catalogue.FEEDBACK)
    forget = remote(catalogue.FORGET)
    get = remote(catalogue.GET)
    growth = remote(catalogue.GROWTH)
    history = remote(catalogue.HISTORY)
    jobs = remote(catalogue.JOBS)
    list = remote(catalogue.LIST)
    now = by(Core.now, longer.now)
    profile = remote(catalogue.PROFILE)
    recall = remote(catalogue.RECALL)
    remember = remote(catalogue.REMEMBER)
    replay = remote(catalogue.REPLAY)
    reset_source = remote(catalogue.RESET_SOURCE)
    restore = remote(catalogue.RESTORE)
    settings = remote(catalogue.SETTINGS)
    settle = remote(catalogue.SETTLE)
    stats = remote(catalogue.STATS)
    status = remote(catalogue.STATUS)
    update = remote(catalogue.UPDATE)
    warm = by(Core.warm, longer.warm)

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


def asker(url: str, api_key: str | None, **more: Any) -> Asker:
    """Who asks the service at an address; without a key, with that of HOLDFAST_API_KEY."""
    key = key_of_environment() if api_key is None else api_key
    return Asker(Transport(str(url), key, **more))
