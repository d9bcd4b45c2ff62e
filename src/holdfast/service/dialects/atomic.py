"""AtomicMemory's routes under /v1/memories, on our data: lists, audit and upkeep.

GET and DELETE of one memory are the native routes: their answers hold the seed's fields, too. What
it has and we do not build is told in words: lessons, first mentions, event chains, verifying and
reflecting with a model. See docs/reference/atomicmemory.md.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from itertools import islice
from typing import Annotated, Any

from fastapi import APIRouter, HTTPException, Query, Response
from pydantic import ConfigDict, Field

from holdfast.border import validate
from holdfast.errors import NotFound
from holdfast.language.statements.values import Fact
from holdfast.memory.memory import Memory
from holdfast.records.facts.queries import MOST_LISTED
from holdfast.records.parts import is_seen, seen
from holdfast.records.rules import importance_of
from holdfast.service.dialects.atomic_rows import memory_row, mutation, text_or_none, trail
from holdfast.service.http.auth import AskedScope, Reader, Writer, scope_args, scope_of
from holdfast.service.http.wire import (
    Held,
    Needed,
    QueryString,
    Sent,
    StrictRoute,
    Text,
    json_response,
)
from holdfast.store.protocols import EXTERNAL
from holdfast.types import Record, Scope
from holdfast.upkeep import consolidate as consolidation
from holdfast.upkeep.plans import (
    FULL,
    LEAST_RETENTION,
    LIMIT,
    RETENTION,
    TIERS,
    WARN,
    Act,
    Done,
    days_since,
    recommendation,
    retention,
    standing,
)

routes = APIRouter(prefix="/v1/memories", route_class=StrictRoute, tags=["atomicmemory"])
_PAGE = 1000
_MOST_OFFSET = 1_000_000
_OBJECT = dict[str, Any]


class ListQuery(QueryString):
    """Which memories, and which page of them."""

    session_id: Text = None
    limit: int = Field(20, ge=1, le=1000)
    offset: int = Field(0, ge=0, le=_MOST_OFFSET)
    source_site: Text = None
    episode_id: Text = None


@routes.get("/list", response_model=_OBJECT)
def listed(*, query: Annotated[ListQuery, Query()], key: Reader, memory: Held) -> Response:
    """Memories, those learned last first."""
    scope = scope_of(key, query)
    wanted = (each for each in _all(memory, scope, query.session_id) if _is_wanted(each, query))
    page = islice(wanted, query.offset, query.offset + query.limit)
    rows = [memory_row(scope, record) for record in page]
    return json_response({"memories": rows, "count": len(rows)})


def _is_wanted(record: Record, query: ListQuery) -> bool:
    if query.source_site and text_or_none(record.metadata, "source_site") != query.source_site:
        return False
    return not query.episode_id or query.episode_id in (record.id, *record.sources)


def _all(memory: Memory, scope: Scope, session: str | None = None) -> Iterator[Record]:
    """Every memory that holds, those learned last first, a page in memory at a time."""
    now, before = memory.now(), None
    while True:
        page = memory.store.page(scope, now=now, limit=_PAGE, session=session, before=before)
        yield from page
        if len(page) < _PAGE:
            return
        before = (page[-1].known_from, page[-1].id)


class NamedQuery(QueryString):
    """A memory by the caller's own name for it."""

    external_id: Needed


@routes.get("/by-external-id", response_model=_OBJECT)
def by_external_id(*, query: Annotated[NamedQuery, Query()], key: Reader, memory: Held) -> Response:
    """The memories that were stored under a name of the caller's."""
    scope = scope_of(key, query)
    name = EXTERNAL + validate.word(query.external_id, "external_id")
    turns = [each.id for each in memory.store.events(scope, key=name)]
    rows = [
        memory_row(scope, record)
        for record in memory.store.get(scope, turns)
        if is_seen(record, scope.agent)
    ]
    if not rows:
        raise NotFound("there is no memory with this external_id in this scope")
    return json_response({"memories": rows, "count": len(rows)})


@routes.get("/stats", response_model=_OBJECT)
def stats(*, scope: AskedScope, memory: Held) -> Response:
    """How many memories there are, how much they matter, and where they come from."""
    importance, sites = 0.0, Counter[str]()
    for record in _all(memory, scope):
        importance += importance_of(record)
        sites[text_or_none(record.metadata, "source_site") or ""] += 1
    count = sites.total()
    average = round(importance / count, 6) if count else 0.0
    return json_response(
        {
            "count": count,
            "avg_importance": average,
            "source_distribution": dict(sorted(sites.items())),
            "tiers": memory.stats(**scope_args(scope)).tiers,
        }
    )


@routes.get("/health", response_model=_OBJECT)
def health(*, key: Reader, memory: Held) -> Response:
    """That it answers, and by which settings; no secrets."""
    return json_response({"status": "ok", "config": _config(memory)})


@routes.put("/config", response_model=_OBJECT, responses={410: {"description": "Never."}})
def set_config(*, key: Writer) -> Response:
    """Settings are not changed over HTTP."""
    raise HTTPException(
        410, "settings are not changed over HTTP: use config_override for one request"
    )


def _config(memory: Memory) -> dict[str, Any]:
    """The settings that the seed tells, in its words."""
    config = memory.config
    remote = config.embedding.provider == "remote"
    return {
        "retrieval_profile": "holdfast",
        "embedding_provider": "openai-compatible" if remote else "transformers",
        "embedding_model": memory.worker.space.model,
        "voyage_document_model": "",
        "voyage_query_model": "",
        "llm_provider": "openai-compatible",
        "llm_model": config.extraction.llm.model if config.extraction.asks_llm else "",
        "clarification_conflict_threshold": 0.8,
        "max_search_results": 200,
        "hybrid_search_enabled": True,
        "iterative_retrieval_enabled": False,
        "entity_graph_enabled": True,
        "cross_encoder_enabled": False,
        "agentic_retrieval_enabled": False,
        "repair_loop_enabled": False,
    }


# What happened to facts


class RecentQuery(QueryString):
    """How many of the last changes."""

    limit: int = Field(20, ge=1, le=1000)


@routes.get("/audit/recent", response_model=_OBJECT)
def audit_recent(*, query: Annotated[RecentQuery, Query()], key: Reader, memory: Held) -> Response:
    """The versions of facts, those said last first."""
    scope = scope_of(key, query)
    facts = _versions(memory, scope, query.limit)
    next_of = {old: fact.id for fact in facts for old in fact.replaces}
    rows = [mutation(scope, fact, next_of) for fact in facts]
    return json_response({"mutations": rows, "count": len(rows)})


@routes.get("/audit/summary", response_model=_OBJECT)
def audit_summary(*, scope: AskedScope, memory: Held) -> Response:
    """How many versions of facts there are, and what became of them."""
    facts = _versions(memory, scope, MOST_LISTED)
    kinds = Counter(mutation(scope, fact, {})["mutation_type"] for fact in facts)
    return json_response(
        {
            "total_versions": len(facts),
            "active_versions": sum(fact.status == "active" for fact in facts),
            "superseded_versions": sum(fact.status == "superseded" for fact in facts),
            "total_claims": len({fact.claim for fact in facts}),
            "by_mutation_type": dict(sorted(kinds.items())),
        }
    )


@routes.get("/{id}/audit", response_model=_OBJECT)
def audit_trail(*, id: str, scope: AskedScope, memory: Held) -> Response:
    """What happened to one memory, oldest first."""
    lines = memory.history(id, **scope_args(scope))
    entries = trail(id, lines)
    return json_response({"memory_id": id, "trail": entries, "version_count": len(entries)})


def _versions(memory: Memory, scope: Scope, limit: int) -> list[Fact]:
    return memory.facts.list(**scope_args(scope), status="all", limit=limit)


# Upkeep


#: What AtomicMemory has and we do not build, in words.
_ABSENT: Mapping[str, Sequence[str]] = {
    "lessons are not kept here": (
        "POST /lessons/report", "GET /lessons", "GET /lessons/stats", "DELETE /lessons/{id}",
    ),
    "first mentions are not extracted here: GET /v1/graph/entities tells who was spoken of first": (
        "POST /first-mentions/extract",
    ),
    "event chains are not made here: POST /v1/graph/traverse walks from an entity": (
        "GET /event-chains",
    ),
    "answers are not verified here: no model is asked to write": ("POST /verify",),
    "reflections are not written here: no model is asked to write": ("POST /reflect",),
}  # fmt: skip


class ConsolidateBody(Sent):
    """Whose, and whether to do it."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"user_id": "ann"}]})

    execute: bool = False


@routes.post("/consolidate", response_model=_OBJECT)
def consolidate(*, body: ConsolidateBody, key: Writer, memory: Held) -> Response:
    """Near duplicates, and with `execute` one in the place of several; see consolidate.py."""
    scope = scope_of(key, body)
    kept = {each.id for each in _upkept_records(memory, scope)}
    acts, changed = _run(memory, scope, consolidation.JOB, kept, shadow=not body.execute)
    if body.execute:
        merged = [act for act in acts if set(act.ids) & set(changed)]
        made = [act.record.id for act in merged if act.record is not None]
        return json_response(
            {
                "clusters_consolidated": len(made),
                "memories_archived": len(changed),
                "memories_created": len(made),
                "consolidated_memory_ids": made,
            }
        )
    return json_response(
        {
            "memories_scanned": len(kept),
            "clusters_found": len(acts),
            "memories_in_clusters": sum(len(act.ids) for act in acts),
            "clusters": [_cluster(memory, scope, act.ids) for act in acts],
        }
    )


def _cluster(memory: Memory, scope: Scope, ids: Sequence[str]) -> dict[str, Any]:
    members = memory.store.get(scope, ids)
    vectors = consolidation.vectors_of(memory.store, scope, members)
    # The first stands for the others.
    alike = [
        consolidation.affinity(
            float(vectors[members[0].id] @ vectors[each.id]),
            members[0].valid_from - each.valid_from,
        )
        for each in members[1:]
        if each.id in vectors and members[0].id in vectors
    ]
    return {
        "member_ids": ids,
        "member_contents": [each.content for each in members],
        "avg_affinity": round(sum(alike) / len(alike), 6) if alike else None,
        "member_count": len(ids),
    }


class DecayBody(Sent):
    """Whose, and whether to do it."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"user_id": "ann"}]})

    dry_run: bool = True


@routes.post("/decay", response_model=_OBJECT)
def decay(*, body: DecayBody, key: Writer, memory: Held) -> Response:
    """What is least worth keeping at hand, and without `dry_run` put it aside: restorable."""
    scope = scope_of(key, body)
    now = memory.now()
    kept = {each.id: each for each in standing(_upkept_records(memory, scope))}
    worth = {id: retention(each, now) for id, each in kept.items()}
    acts, changed = _run(memory, scope, RETENTION, kept, shadow=body.dry_run)
    candidates = [
        {
            "id": id,
            "content": kept[id].content,
            "retention_score": round(worth[id], 6),
            "importance": kept[id].importance,
            "days_since_access": round(days_since(kept[id].seen_at or kept[id].known_from, now), 3),
            "access_count": kept[id].uses,
        }
        for act in acts
        for id in act.ids
    ]
    return json_response(
        {
            "memories_evaluated": len(kept),
            "candidates_for_archival": candidates,
            "retention_threshold": LEAST_RETENTION,
            "avg_retention_score": round(sum(worth.values()) / len(worth), 6) if worth else 0.0,
            "archived": len(changed),
        }
    )


@routes.get("/cap", response_model=_OBJECT)
def cap(*, scope: AskedScope, memory: Held) -> Response:
    """How full the fullest of the tiers is that have a limit."""
    counts = memory.stats(user=scope.user, workspace=scope.workspace).tiers
    tier = max(TIERS, key=lambda each: counts[each])
    share = counts[tier] / LIMIT
    return json_response(
        {
            "active_memories": counts[tier],
            "max_memories": LIMIT,
            "status": "ok" if share < WARN else "warn" if share < FULL else "exceeded",
            "usage_ratio": round(share, 6),
            "recommendation": recommendation(share),
            "tier": tier,
        }
    )


class ReconcileBody(Sent):
    """Whose; nobody's is everybody's, and of nobody there is anything to do."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"user_id": "ann"}]})


@routes.post("/reconcile", response_model=_OBJECT)
def reconcile(*, body: ReconcileBody, key: Writer) -> Response:
    """Nothing is left to reconcile: a fact is compared with what is known when it is learned."""
    if body.user_id is not None or key.user is not None:
        scope_of(key, body)
    done = ("processed", "resolved", "noops", "updates", "supersedes", "deletes", "adds", "errors")
    return json_response({**dict.fromkeys(done, 0), "duration_ms": 0})


@routes.get("/reconcile/status", response_model=_OBJECT)
def reconcile_status(*, scope: AskedScope, memory: Held) -> Response:
    """Nothing is deferred; what waits for an answer of a person is told beside it."""
    waiting = memory.facts.clarifications(**scope_args(scope), limit=10_000)
    return json_response({"enabled": False, "pending": 0, "clarifications": len(waiting)})


class ResetBody(Sent):
    """Whose, and what came from where."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"user_id": "ann", "source_site": "mail.example"}]}
    )

    source_site: Needed


@routes.post("/reset-source", response_model=_OBJECT)
def reset_source(*, body: ResetBody, key: Writer, memory: Held) -> Response:
    """Forget everything that was said with a source_site; restorable."""
    scope = scope_of(key, body)
    gone = memory.reset_source(body.source_site, user=scope.user, workspace=scope.workspace)
    return json_response(
        {
            "success": True,
            "deleted_memories": gone,
            "deleted_episodes": gone,
            "deleted_documents": 0,
        }
    )


def _absent(words: str) -> Callable[..., Response]:
    """What answers for a route that is not built here."""

    def refuse(*, key: Reader) -> Response:
        raise HTTPException(404, words)

    return refuse


for _words, _routes in _ABSENT.items():
    for _route in _routes:
        _method, _path = _route.split()
        routes.add_api_route(_path, _absent(_words), methods=[_method], include_in_schema=False)


def _run(
    memory: Memory, scope: Scope, job: str, kept: Collection[str], *, shadow: bool
) -> tuple[list[Act], list[str]]:
    """What one job of the nightly round plans for a user, and what it changed: told of `kept`,
    which the asker sees, and done to all."""
    done: list[Done] = memory.life.run(now=memory.now(), names=[job], scope=scope, shadow=shadow)
    planned = [act for one in done for act in one.acts if act.deed != "review"]
    acts = [act for act in planned if all(id in kept for id in act.ids)]
    return acts, [id for one in done for id in one.changed if id in kept]


def _upkept_records(memory: Memory, scope: Scope) -> list[Record]:
    """What upkeep looks after, as far as the asker sees it."""
    return [each for tier in TIERS for each in seen(memory.store.listed(scope, tier=tier), scope)]
