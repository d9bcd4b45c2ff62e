"""AtomicMemory's routes for upkeep: consolidate, decay, cap, reconcile, reset-source.

What it has and we do not build is told in words: lessons, first mentions, event chains, verifying
and reflecting with a model.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Annotated, Any

from fastapi import APIRouter, HTTPException, Query, Response
from pydantic import ConfigDict

from holdfast.memory.memory import Memory
from holdfast.records.parts import seen
from holdfast.service.http.auth import Reader, Writer, narrowed
from holdfast.service.http.deps import Held, json_response
from holdfast.service.http.wire import Needed, QueryString, Sent, StrictRoute
from holdfast.types import Record, Scope
from holdfast.upkeep import consolidate as consolidation
from holdfast.upkeep import retention
from holdfast.upkeep.acts import TIERS, Act, Done, days_since, standing
from holdfast.upkeep.capacity import FULL, LIMIT, WARN, recommendation

routes = APIRouter(prefix="/v1/memories", route_class=StrictRoute, tags=["atomicmemory"])
_OBJECT = dict[str, Any]
_ABSENT = {
    "lessons": "lessons are not kept here",
    "first-mentions": "first mentions are not extracted here: GET /v1/graph/entities tells who"
    " was spoken of first",
    "event-chains": "event chains are not made here: POST /v1/graph/traverse walks from an entity",
    "verify": "answers are not verified here: no model is asked to write",
    "reflect": "reflections are not written here: no model is asked to write",
}


class ConsolidateBody(Sent):
    """Whose, and whether to do it."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"user_id": "ann"}]})

    execute: bool = False


@routes.post("/consolidate", response_model=_OBJECT)
def consolidate(*, body: ConsolidateBody, key: Writer, memory: Held) -> Response:
    """Near duplicates, and with `execute` one in the place of several; see consolidate.py."""
    scope = narrowed(key, body)
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
    scope = narrowed(key, body)
    now = memory.now()
    kept = {each.id: each for each in standing(_upkept_records(memory, scope))}
    worth = {id: retention.retention(each, now) for id, each in kept.items()}
    acts, changed = _run(memory, scope, retention.JOB, kept, shadow=body.dry_run)
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
            "retention_threshold": retention.LEAST,
            "avg_retention_score": round(sum(worth.values()) / len(worth), 6) if worth else 0.0,
            "archived": len(changed),
        }
    )


@routes.get("/cap", response_model=_OBJECT)
def cap(*, query: Annotated[QueryString, Query()], key: Reader, memory: Held) -> Response:
    """How full the fullest of the tiers is that have a limit."""
    scope = narrowed(key, query)
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
        narrowed(key, body)
    done = ("processed", "resolved", "noops", "updates", "supersedes", "deletes", "adds", "errors")
    return json_response({**dict.fromkeys(done, 0), "duration_ms": 0})


@routes.get("/reconcile/status", response_model=_OBJECT)
def reconcile_status(
    *, query: Annotated[QueryString, Query()], key: Reader, memory: Held
) -> Response:
    """Nothing is deferred; what waits for an answer of a person is told beside it."""
    scope = narrowed(key, query)
    waiting = memory.facts.clarifications(
        user=scope.user, workspace=scope.workspace, agent=scope.agent, limit=10_000
    )
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
    scope = narrowed(key, body)
    gone = memory.reset_source(body.source_site, user=scope.user, workspace=scope.workspace)
    return json_response(
        {
            "success": True,
            "deleted_memories": gone,
            "deleted_episodes": gone,
            "deleted_documents": 0,
        }
    )


@routes.post("/lessons/report", include_in_schema=False)
@routes.get("/lessons", include_in_schema=False)
@routes.get("/lessons/stats", include_in_schema=False)
@routes.delete("/lessons/{id}", include_in_schema=False)
def no_lessons(*, key: Reader) -> Response:
    """Not kept here."""
    raise HTTPException(404, _ABSENT["lessons"])


@routes.post("/first-mentions/extract", include_in_schema=False)
def no_first_mentions(*, key: Reader) -> Response:
    """Not extracted here."""
    raise HTTPException(404, _ABSENT["first-mentions"])


@routes.get("/event-chains", include_in_schema=False)
def no_event_chains(*, key: Reader) -> Response:
    """Not made here."""
    raise HTTPException(404, _ABSENT["event-chains"])


@routes.post("/verify", include_in_schema=False)
def no_verify(*, key: Reader) -> Response:
    """Not verified here."""
    raise HTTPException(404, _ABSENT["verify"])


@routes.post("/reflect", include_in_schema=False)
def no_reflect(*, key: Reader) -> Response:
    """Not written here."""
    raise HTTPException(404, _ABSENT["reflect"])


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
