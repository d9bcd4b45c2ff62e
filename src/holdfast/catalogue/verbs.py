"""Every verb that travels, by what it is about. Paths are as in docs/reference/http.md."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from holdfast.catalogue.verb import Verb, verb
from holdfast.memory.memory import Memory
from holdfast.records.facts.verbs import Facts
from holdfast.records.graph.verbs import Graph
from holdfast.records.knowledge import Knowledge
from holdfast.records.notes import Notes
from holdfast.records.observations import Observations
from holdfast.records.procedures import Procedures
from holdfast.records.profile import Profiles
from holdfast.records.shares import Agents, Shares
from holdfast.records.summaries import Summaries
from holdfast.records.team import Team

# ----------------------------------------------------------------------
# An example for every verb: for the documentation, and for tests that must ask something.
# ----------------------------------------------------------------------

_ID = "01a1dd45f56900004b16562ffd72059c"
#: A value that will do, by its name on the wire.
VALUES: Mapping[str, Any] = {
    "user_id": "ann",
    "id": _ID,
    "merge_id": _ID,
    "event_id": _ID,
    "context_id": _ID,
    "ids": [_ID],
    "session_id": "monday",
    "agent_id": "planner",
    "key": "deploy-day",
    "field": "location",
    "day": "2026-03-01",
    "keep": "both",
    "value": "Friday",
    "text": "Ann lives in Lisbon.",
    "a": "Ann",
    "b": "Anna",
    "start": "Ann",
    "query": "When do we deploy?",
    "to": "partners",
    "segments": ["documents"],
}
#: ... where the same name means something else.
_OF_VERB: Mapping[str, Mapping[str, Any]] = {
    "agents.set_trust": {"value": 0.8},
    "facts.resolve": {"keep": _ID},
}


def example(verb: Verb[..., object]) -> dict[str, Any]:
    """What can be sent, by the names of the wire: what is required, whose memory, and more."""
    own = {**VALUES, **_OF_VERB.get(verb.name, {}), **verb.example}
    needed = [
        each.wire
        for each in verb.parameters
        if each.place != "raw" and (each.required or (each.name == "user" and _is_personal(verb)))
    ]
    return {name: own[name] for name in [*needed, *verb.example]}


def _is_personal(verb: Verb[..., object]) -> bool:
    """Whether it is somebody's: what a team or an operator asks for names no user."""
    return not verb.whole and verb.part != "team"


#: The key that makes a retry harmless travels in a header.
_KEYED = {"key": "Idempotency-Key"}

# Memories

REMEMBER = verb(
    Memory.remember, "POST", "/v1/memories", role="write",
    names=_KEYED | {"overrides": "config_override"},
    example={"user_id": "ann", "messages": "I moved to Lisbon."},
)  # fmt: skip
RECALL = verb(
    Memory.recall, "POST", "/v1/recall", names={"text": "query", "overrides": "config_override"},
    example={"user_id": "ann", "query": "Where does Ann live?"},
)  # fmt: skip
CONTEXT = verb(
    Memory.context, "POST", "/v1/context", names={"overrides": "config_override"},
    example={"user_id": "ann", "messages": "Where do I live?", "budget_tokens": 500},
)  # fmt: skip
EXPAND = verb(Memory.expand, "POST", "/v1/expand", answer="memories")
BATCH = verb(
    Memory.batch, "POST", "/v1/memories/batch", role="write",
    example={"user_id": "ann", "items": [{"op": "remember", "messages": "I moved to Lisbon."}]},
)  # fmt: skip
LIST = verb(Memory.list, "GET", "/v1/memories", example={"user_id": "ann", "tiers": ["session"]})
FORGOTTEN = verb(Memory.forgotten, "GET", "/v1/memories/forgotten", answer="forgotten")
GET = verb(Memory.get, "GET", "/v1/memories/{id}")
UPDATE = verb(
    Memory.update, "PUT", "/v1/memories/{id}", role="write",
    example={"user_id": "ann", "text": "Ann lives in Faro."},
)  # fmt: skip
FORGET = verb(Memory.forget, "DELETE", "/v1/memories/{id}", role="write", answer="changed")
RESTORE = verb(Memory.restore, "POST", "/v1/memories/{id}/restore", role="write", answer="changed")
HISTORY = verb(Memory.history, "GET", "/v1/memories/{id}/history", answer="versions")
TRACE = verb(Memory.trace, "GET", "/v1/memories/{id}/trace")
FEEDBACK = verb(
    Memory.feedback, "POST", "/v1/memories/{id}/feedback", role="write", answer="strength",
    names=_KEYED,
    example={"user_id": "ann", "value": 1},
)  # fmt: skip
EXPLAIN = verb(Memory.explain, "GET", "/v1/contexts/{context_id}")
STATUS = verb(Memory.status, "GET", "/v1/events/{event_id}")
STATS = verb(Memory.stats, "GET", "/v1/stats")
GROWTH = verb(Memory.growth, "GET", "/v1/stats/growth", answer="days")
FADING = verb(Memory.fading, "GET", "/v1/fading", answer="memories", most={"limit": 1_000})
RESET_SOURCE = verb(
    Memory.reset_source, "POST", "/v1/sources/reset", role="write", answer="forgotten",
    example={"user_id": "ann", "source_site": "mail.example"},
)  # fmt: skip
ERASE = verb(Memory.erase, "POST", "/v1/erase", role="admin", example={"user_id": "ann"})

# Profile, notes, procedures, sessions

PROFILE = verb(Memory.profile, "GET", "/v1/profile")
SET_PROFILE = verb(
    Profiles.set, "PUT", "/v1/profile/{field}", part="profiles", role="write",
    example={"user_id": "ann", "value": "Lisbon"},
)  # fmt: skip
CLEAR_PROFILE = verb(
    Profiles.clear, "DELETE", "/v1/profile/{field}", part="profiles", role="write",
    answer="changed",
)  # fmt: skip
ADD_NOTE = verb(
    Notes.add, "POST", "/v1/notes", part="notes", role="write",
    example={"user_id": "ann", "content": "Chose Postgres.", "category": "decision"},
)  # fmt: skip
LIST_NOTES = verb(Notes.list, "GET", "/v1/notes", part="notes", answer="notes")
UPDATE_NOTE = verb(
    Notes.update, "PUT", "/v1/notes/{id}", part="notes", role="write",
    example={"user_id": "ann", "content": "Chose SQLite."},
)  # fmt: skip
DAY = verb(Notes.day, "GET", "/v1/notes/days/{day}", part="notes", answer="notes")
ADD_PROCEDURE = verb(
    Procedures.add, "POST", "/v1/procedures", part="procedures", role="write",
    example={"user_id": "ann", "title": "Release", "steps": ["tag", "build", "publish"]},
)  # fmt: skip
LIST_PROCEDURES = verb(
    Procedures.list, "GET", "/v1/procedures", part="procedures", answer="procedures"
)
GET_PROCEDURE = verb(Procedures.get, "GET", "/v1/procedures/{id}", part="procedures")
UPDATE_PROCEDURE = verb(
    Procedures.update, "PATCH", "/v1/procedures/{id}", part="procedures", role="write"
)
USED_PROCEDURE = verb(
    Procedures.used, "POST", "/v1/procedures/{id}/used", part="procedures", role="write",
    names=_KEYED,
)  # fmt: skip
COMPACT = verb(Memory.compact, "POST", "/v1/sessions/{session_id}/compact", role="write")
GET_SUMMARY = verb(Summaries.get, "GET", "/v1/sessions/{session_id}/summary", part="summaries")
SESSION_STATS = verb(
    Summaries.session_stats, "GET", "/v1/sessions/{session_id}/stats", part="summaries"
)

# Facts

ADD_FACT = verb(
    Facts.add, "POST", "/v1/facts", part="facts", role="write", names=_KEYED,
    example={"user_id": "ann", "text": "Ann lives in Lisbon.", "category": "identity"},
)  # fmt: skip
LIST_FACTS = verb(Facts.list, "GET", "/v1/facts", part="facts", answer="facts")
GET_FACT = verb(Facts.get, "GET", "/v1/facts/{id}", part="facts")
UPDATE_FACT = verb(Facts.update, "PUT", "/v1/facts/{id}", part="facts", role="write")
INVALIDATE_FACT = verb(
    Facts.invalidate, "POST", "/v1/facts/{id}/invalidate", part="facts", role="write"
)
FACT_HISTORY = verb(Facts.history, "GET", "/v1/facts/{id}/history", part="facts", answer="versions")
CLARIFICATIONS = verb(
    Facts.clarifications, "GET", "/v1/clarifications", part="facts", answer="clarifications"
)
ANSWER = verb(Facts.answer, "POST", "/v1/clarifications/{id}/answer", part="facts", role="write")
CONTRADICTIONS = verb(
    Facts.contradictions, "GET", "/v1/contradictions", part="facts", answer="contradictions"
)
CONFLICTS = verb(Facts.conflicts, "GET", "/v1/conflicts", part="facts", answer="conflicts")
SETTLE = verb(Memory.settle, "POST", "/v1/conflicts/auto-resolve", role="write", answer="resolved")
RESOLVE = verb(Facts.resolve, "POST", "/v1/conflicts/{id}/resolve", part="facts", role="write")

# Graph

GRAPH_WRITE = verb(
    Graph.write, "POST", "/v1/graph", part="graph", role="write", names=_KEYED,
    example={
        "user_id": "ann",
        "entities": [{"name": "Ann", "type": "person"}],
        "relations": [{"source": "Ann", "type": "works_on", "target": "Holdfast"}],
    },
)  # fmt: skip
TRAVERSE = verb(
    Graph.traverse, "POST", "/v1/graph/traverse", part="graph",
    example={"user_id": "ann", "start": "Ann", "depth": 2},
)  # fmt: skip
ENTITIES = verb(Graph.entities, "GET", "/v1/graph/entities", part="graph", answer="entities")
EDGES = verb(Graph.edges, "GET", "/v1/graph/edges", part="graph", answer="edges")
OVERVIEW = verb(Graph.overview, "GET", "/v1/graph", part="graph")
MERGES = verb(Graph.merges, "GET", "/v1/graph/merges", part="graph", answer="merges")
MERGE = verb(Graph.merge, "POST", "/v1/graph/merges", part="graph", role="write")
UNMERGE = verb(
    Graph.unmerge, "POST", "/v1/graph/merges/{merge_id}/undo", part="graph", role="write"
)

CREATE_OBSERVED = verb(
    Observations.create, "POST", "/v1/graph/observed", part="observations", role="write",
    names=_KEYED,
    example={
        "user_id": "ann",
        "entities": [{"name": "Ann", "type": "person", "observations": ["Likes tea"]}],
        "relations": [{"source": "Ann", "type": "works_at", "target": "Acme"}],
    },
)  # fmt: skip
READ_OBSERVED = verb(
    Observations.read, "POST", "/v1/graph/observed/read", part="observations",
    example={"user_id": "ann", "query": "tea"},
)  # fmt: skip
ADD_OBSERVATIONS = verb(
    Observations.add, "POST", "/v1/graph/observations", part="observations", role="write",
    answer="added", names=_KEYED,
    example={"user_id": "ann", "observations": [{"entity": "Ann", "contents": ["Has a cat"]}]},
)  # fmt: skip
DELETE_OBSERVED = verb(
    Observations.delete, "POST", "/v1/graph/observed/delete", part="observations", role="write",
    answer="deleted", example={"user_id": "ann", "entities": ["Ann"]},
)  # fmt: skip

# Knowledge and team

ADD_DOCUMENT = verb(
    Knowledge.add, "POST", "/v1/documents", part="knowledge", role="write", raw="source",
    example={"user_id": "ann", "name": "handbook.md"},
)  # fmt: skip
DOCUMENTS = verb(Knowledge.documents, "GET", "/v1/documents", part="knowledge", answer="documents")
GET_DOCUMENT = verb(Knowledge.document, "GET", "/v1/documents/{id}", part="knowledge")
REMOVE_DOCUMENT = verb(
    Knowledge.remove, "DELETE", "/v1/documents/{id}", part="knowledge", role="write",
    answer="changed",
)  # fmt: skip
DOCUMENT_HISTORY = verb(
    Knowledge.history, "GET", "/v1/documents/{id}/history", part="knowledge", answer="versions"
)
SET_ENTRY = verb(Knowledge.set, "PUT", "/v1/entries/{key}", part="knowledge", role="write")
GET_ENTRY = verb(Knowledge.get, "GET", "/v1/entries/{key}", part="knowledge")
ENTRIES = verb(Knowledge.entries, "GET", "/v1/entries", part="knowledge", answer="entries")
TEAM_WRITE = verb(
    Team.write, "POST", "/v1/workspace/memories", part="team", role="write",
    example={"content": "We deploy on Fridays.", "type": "decision"},
)  # fmt: skip
TEAM_LIST = verb(Team.list, "GET", "/v1/workspace/memories", part="team", answer="entries")
TEAM_SEARCH = verb(Team.search, "POST", "/v1/workspace/search", part="team", answer="hits")
TEAM_GET = verb(Team.get, "GET", "/v1/workspace/memories/{id}", part="team")
TEAM_UPDATE = verb(
    Team.update, "PATCH", "/v1/workspace/memories/{id}", part="team", role="write", whole=True
)
TEAM_REMOVE = verb(
    Team.remove, "DELETE", "/v1/workspace/memories/{id}", part="team", role="write", whole=True,
    answer="changed",
)  # fmt: skip
TEAM_HISTORY = verb(
    Team.history, "GET", "/v1/workspace/memories/{id}/history", part="team", answer="versions"
)
GRANT = verb(
    Shares.grant, "POST", "/v1/shares", part="shares", role="admin", whole=True, names=_KEYED
)
SHARES = verb(Shares.list, "GET", "/v1/shares", part="shares", answer="shares", whole=True)
SHARED_WITH_US = verb(
    Shares.given_to, "GET", "/v1/shares/received", part="shares", answer="shares", whole=True
)
REVOKE = verb(
    Shares.revoke, "DELETE", "/v1/shares/{id}", part="shares", role="admin", whole=True,
    answer="changed",
)  # fmt: skip
TRUST = verb(Agents.trust, "GET", "/v1/agents", part="agents", answer="trust", whole=True)
SET_TRUST = verb(
    Agents.set_trust, "PUT", "/v1/agents/{agent_id}/trust", part="agents", role="admin",
    whole=True, answer="trust",
)  # fmt: skip

# For the operator

USERS = verb(Memory.users, "GET", "/v1/users", whole=True, answer="users")
JOBS = verb(Memory.jobs, "GET", "/v1/jobs", role="admin", whole=True, answer="jobs")
REPLAY = verb(Memory.replay, "POST", "/v1/jobs/replay", role="admin", whole=True, answer="replayed")
REBUILD = verb(
    Memory.rebuild, "POST", "/v1/jobs/rebuild", role="admin", whole=True, answer="queued"
)
DRAIN = verb(
    Memory.drain, "POST", "/v1/jobs/drain", role="write", most={"timeout": 30},
    example={"timeout": 5},
)  # fmt: skip
DOCTOR = verb(Memory.doctor, "GET", "/v1/doctor", role="admin", whole=True, answer="findings")
SETTINGS = verb(Memory.settings, "GET", "/v1/config", role="admin", whole=True, answer="settings")
CAPABILITIES = verb(Memory.capabilities, "GET", "/v1/capabilities")

ALL: tuple[Verb[..., object], ...] = tuple(
    value for value in list(globals().values()) if isinstance(value, Verb)
)
#: As they are called on a memory.
BY_NAME: Mapping[str, Verb[..., object]] = {each.name: each for each in ALL}
