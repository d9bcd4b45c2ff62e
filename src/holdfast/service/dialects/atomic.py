"""AtomicMemory's routes under /v1/memories, on our data. See docs/reference/atomicmemory.md.

GET and DELETE of one memory are the native routes: their answers hold the seed's fields, too.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any

from fastapi import APIRouter, Header, HTTPException, Query, Response
from pydantic import ConfigDict, Field

from holdfast.border import validate
from holdfast.catalogue.codec import dumps, parts_of
from holdfast.errors import Conflict, InvalidInput, NotFound
from holdfast.language.statements.values import Fact
from holdfast.language.terms import terms
from holdfast.language.tokens import count_tokens
from holdfast.memory.memory import Memory
from holdfast.recall.context.pack import Level, Packed, pack
from holdfast.recall.context.pack import at_level as told_at
from holdfast.records.facts.reading import MOST_LISTED
from holdfast.records.parts import is_seen
from holdfast.service.dialects.atomic_rows import (
    expanded,
    found_row,
    memory_row,
    mutation,
    text_or_none,
    trail,
)
from holdfast.service.http.auth import Reader, Writer, narrowed
from holdfast.service.http.deps import Held, Waiting, json_response, printable
from holdfast.service.http.wire import (
    MOST_HITS,
    IngestBody,
    Needed,
    Override,
    QueryString,
    SearchBody,
    Sent,
    StrictRoute,
    Text,
    Texts,
    overridden,
    overridden_write,
)
from holdfast.store.protocols import EXTERNAL
from holdfast.types import Hit, Hits, Receipt, Record, Scope, State

# ----------------------------------------------------------------------
# A search as AtomicMemory answers it: the memories, a block for a prompt, and a receipt.
# ----------------------------------------------------------------------

#: Of the fast search: neither the graph nor what looks at the winners once more.
FAST: Mapping[str, Any] = {
    "blend.graph": 0.0,
    "rrf.weights.graph": 0.0,
    "boosting.enabled": False,
    "stages.similar": False,
    "neighbourTurns": 0,
    "rerankDepth": 1,
}
#: What the seed calls the levels of detail.
_LEVELS: Mapping[Level, str] = {"headline": "L0", "overview": "L1", "full": "L2"}


def searched(memory: Memory, scope: Scope, body: SearchBody, *, fast: bool) -> Response:
    """The answer to a search."""
    override = overridden(memory.config, body.config_override)
    found = _recalled(memory, scope, body, override, fast=fast)
    kept = _records(memory, scope, found)
    chosen = [hit for hit in found if _fits(body, scope, hit, kept.get(hit.id))][: body.limit]
    budget = body.token_budget
    if budget is None:
        budget = override.config.context_budget_tokens
    packed = pack(chosen, budget_tokens=budget, query=body.query, format=body.format)
    answer = {
        "count": len(chosen),
        "retrieval_mode": body.retrieval_mode,
        "deterministic": True,
        "scope": _scope(scope, body),
        "memories": [found_row(hit, kept.get(hit.id)) for hit in chosen],
        # Fits into the budget; a memory in it cannot break out of it.
        "injection_text": packed.text,
        # The number n in the text is the n-th of these.
        "citations": [hit.id for hit in packed.hits],
        "estimated_context_tokens": packed.tokens,
        "budget_constrained": bool(packed.dropped),
        "retrieval": _receipt(memory, scope, body, chosen),
        "observability": _observed(body, found, chosen, packed, budget),
        # The part alone: the reason may name an endpoint that is the operator's business.
        "degraded": parts_of(found.degraded),
    }
    if body.retrieval_mode != "flat":
        answer |= _tiers(body, packed)
    return json_response(answer, headers=override.headers)


def _recalled(
    memory: Memory, scope: Scope, body: SearchBody, override: Override, *, fast: bool
) -> Hits:
    agent, filters = _whose(scope, body)
    if scope.session is not None:
        filters["session"] = scope.session
    # A threshold of the request, 0 too, stands in the place of the setting.
    floor = {} if body.threshold is None else {"relevanceFloor": 0.0}
    sifted = body.source_site or body.namespace_scope or body.agent_scope
    return memory.recall(
        body.query,
        user=scope.user, workspace=scope.workspace, agent=agent, session=scope.session,
        limit=MOST_HITS if sifted else body.limit, as_of=body.as_of or None, filters=filters,
        overrides={**floor, **(FAST if fast else {}), **override.applied},
    )  # fmt: skip


def _whose(scope: Scope, body: SearchBody) -> tuple[str | None, dict[str, Any]]:
    """The agent that asks, and what must be equal: `agent_scope` in the words of a recall."""
    wanted = body.agent_scope
    if wanted in ("self", "others") and scope.agent is None:
        raise InvalidInput(f"agent_scope {wanted} needs agent_id", field="agent_scope")
    if wanted is None:
        return scope.agent, {}
    if wanted == "self":
        return scope.agent, {"agent": scope.agent}
    if wanted in ("all", "others") or isinstance(wanted, list):
        return None, {}
    return None, {"agent": wanted}


def _records(memory: Memory, scope: Scope, found: Sequence[Hit]) -> dict[str, Record]:
    records = memory.store.get(scope, [hit.id for hit in found])
    return {record.id: record for record in records}


def _fits(body: SearchBody, scope: Scope, hit: Hit, record: Record | None) -> bool:
    """Whether a hit meets the caller's own conditions."""
    if hit.score < (body.threshold or 0.0):
        return False
    if body.source_site and text_or_none(hit.metadata, "source_site") != body.source_site:
        return False
    if body.namespace_scope and not _is_below(hit, body.namespace_scope):
        return False
    agent = None if record is None else record.agent
    if body.agent_scope == "others":
        return agent not in (None, scope.agent)
    return not isinstance(body.agent_scope, list) or agent in body.agent_scope


def _is_below(hit: Hit, namespace: str) -> bool:
    there = text_or_none(hit.metadata, "namespace") or ""
    return there == namespace or there.startswith(namespace.rstrip("/") + "/")


def _scope(scope: Scope, body: SearchBody) -> dict[str, Any]:
    told_scope: dict[str, Any] = {
        "kind": "user" if scope.agent is None else "workspace",
        "workspace_id": scope.workspace,
        "user_id": scope.user,
        "agent_id": scope.agent,
        "session_id": scope.session,
    }
    if body.agent_scope is not None:
        told_scope["agent_scope"] = body.agent_scope
    return told_scope


def _receipt(
    memory: Memory, scope: Scope, body: SearchBody, chosen: Sequence[Hit]
) -> dict[str, Any]:
    """What was asked of which model, and what it gave. The same search has the same trace."""
    space = memory.worker.space
    ids = [hit.id for hit in chosen]
    query = printable(body.query)
    traced = dumps([scope.workspace, scope.user, scope.agent, query, space.model, ids])
    return {
        "embedding_provider": memory.config.embedding.provider,
        "embedding_model": space.model,
        "embedding_model_version": f"{space.model}/{space.recipe}",
        "embedding_dimensions": space.dim,
        "query_text": query,
        "candidate_ids": ids,
        "trace_id": hashlib.sha256(traced).hexdigest()[:32],
    }


def _observed(
    body: SearchBody, found: Sequence[Hit], chosen: Sequence[Hit], packed: Packed, budget: int
) -> dict[str, Any]:
    inside = [hit.id for hit in packed.hits]
    best = chosen[0].id if chosen else None
    return {
        "retrieval": {
            "candidate_ids": [hit.id for hit in found],
            "candidate_count": len(found),
            "query_text": printable(body.query),
            "skip_repair": body.skip_repair,
            "relevance_threshold": body.threshold,
            "filtered_candidate_ids": [hit.id for hit in chosen],
        },
        "packaging": {
            "package_type": "tiered",
            "included_ids": inside,
            "dropped_ids": [each.id for each in packed.dropped],
            "evidence_roles": {id: "primary" if id == best else "supporting" for id in inside},
            "episode_count": len({hit.session for hit in packed.hits}),
            "date_count": len({hit.created_at.date() for hit in packed.hits}),
            "has_current_marker": False,
            "has_conflict_block": False,
            "token_cost": packed.tokens,
        },
        "assembly": {
            "final_ids": inside,
            "final_token_cost": packed.tokens,
            "token_budget": budget,
            "primary_evidence_position": inside.index(best) + 1 if best in inside else None,
            "blocks": [body.format],
        },
    }


def _tiers(body: SearchBody, packed: Packed) -> dict[str, Any]:
    """How much the block tells of each memory, and which of them have more to tell."""
    asked = list(dict.fromkeys(terms(printable(body.query))))
    pairs = list(zip(packed.hits, packed.levels, strict=True))
    shortened = [hit.id for hit, level in pairs if level != "full"]
    return {
        "tier_assignments": [
            {
                "memory_id": hit.id,
                "tier": _LEVELS[level],
                "estimated_tokens": count_tokens(told_at(hit.content, level, asked)),
            }
            for hit, level in pairs
        ],
        "expand_ids": [*shortened, *(each.id for each in packed.dropped)],
    }


routes = APIRouter(prefix="/v1/memories", route_class=StrictRoute, tags=["atomicmemory"])
_PAGE = 1000
_MOST_OFFSET = 1_000_000
_MOST_EXPANDED = 1000
_OBJECT = dict[str, Any]

Key = Annotated[str | None, Header(alias="Idempotency-Key")]


@routes.post("/ingest", response_model=_OBJECT)
def ingest(
    *, body: IngestBody, key: Writer, memory: Held, waiting: Waiting, idempotency_key: Key = None
) -> Response:
    """Remember; answered when it is on disk."""
    scope = narrowed(key, body)
    override = overridden_write(memory.config, body.config_override)
    receipt = _remembered(memory, scope, body, idempotency_key, overrides=override.applied)
    if not body.wait:
        return json_response(_ingested(receipt, receipt.state), headers=override.headers)
    return _read(memory, scope, receipt, waiting.settled(memory, scope, receipt), override)


@routes.post("/ingest/quick", response_model=_OBJECT)
def ingest_quick(
    *, body: IngestBody, key: Writer, memory: Held, waiting: Waiting, idempotency_key: Key = None
) -> Response:
    """Remember, and read it before the answer: by rules, with no language model."""
    scope = narrowed(key, body)
    override = overridden_write(memory.config, body.config_override)
    receipt = _remembered(
        memory, scope, body, idempotency_key, overrides=override.applied,
        quick=not body.skip_extraction,
    )  # fmt: skip
    state = waiting.settled(memory, scope, receipt) if body.wait else receipt.state
    return _read(memory, scope, receipt, state, override)


def _read(
    memory: Memory, scope: Scope, receipt: Receipt, state: State, override: Override
) -> Response:
    drawn = memory.facts.drawn_from(scope, receipt.events)
    return json_response(_ingested(receipt, state, drawn), headers=override.headers)


def _remembered(
    memory: Memory, scope: Scope, body: IngestBody, key: str | None, **how: Any
) -> Receipt:
    """What the caller has a name for is stored once under that name, for good."""
    external = body.external()
    if external is not None:
        key = EXTERNAL + validate.word(external, "external_id")
    try:
        return memory.remember(
            body.turns(),
            user=scope.user, workspace=scope.workspace, agent=scope.agent, session=scope.session,
            key=key, metadata=body.labels(), extract=not body.skip_extraction,
            visibility=body.seen_by(), **how,
        )  # fmt: skip
    except Conflict:
        if external is None:
            raise
        raise Conflict(
            f"external_id {external!r} was stored before with another body: forget that one first"
        ) from None


def _ingested(receipt: Receipt, state: State, drawn: Sequence[Fact] = ()) -> dict[str, Any]:
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


@routes.post("/search", response_model=_OBJECT)
def search(*, body: SearchBody, key: Reader, memory: Held) -> Response:
    """Recall, and pack what was found into a block for a prompt."""
    return searched(memory, narrowed(key, body), body, fast=False)


@routes.post("/search/fast", response_model=_OBJECT)
def search_fast(*, body: SearchBody, key: Reader, memory: Held) -> Response:
    """The same with less work: neither the graph nor what looks at the winners once more."""
    return searched(memory, narrowed(key, body), body, fast=True)


class WantedMemories(Sent):
    """Which memories."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"user_id": "ann", "memory_ids": []}]}
    )

    memory_ids: Texts


@routes.post("/expand", response_model=_OBJECT)
def expand(*, body: WantedMemories, key: Reader, memory: Held) -> Response:
    """The whole memories with these ids; those that are not there are left out."""
    scope = narrowed(key, body)
    ids = list(dict.fromkeys(body.memory_ids))
    if len(ids) > _MOST_EXPANDED:
        raise HTTPException(400, f"memory_ids are {len(ids)}, the limit is {_MOST_EXPANDED}")
    kept = {each.id: each for each in memory.store.get(scope, ids)}
    rows = []
    for id in ids:
        try:
            (hit,) = memory.expand(
                [id], user=scope.user, workspace=scope.workspace, agent=scope.agent
            )
        except NotFound:
            continue
        rows.append(expanded(scope, hit, kept.get(id)))
    return json_response({"memories": rows, "count": len(rows)})


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
    scope = narrowed(key, query)
    rows, skipped = [], 0
    for record in _all(memory, scope, query.session_id):
        if not _is_wanted(record, query):
            continue
        if skipped < query.offset:
            skipped += 1
            continue
        rows.append(memory_row(scope, record))
        if len(rows) == query.limit:
            break
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
    scope = narrowed(key, query)
    name = EXTERNAL + validate.word(query.external_id, "external_id")
    rows = [
        memory_row(scope, record)
        for record in memory.store.get(scope, memory.store.events_of_key(scope, name))
        if is_seen(record, scope.agent)
    ]
    if not rows:
        raise NotFound("there is no memory with this external_id in this scope")
    return json_response({"memories": rows, "count": len(rows)})


@routes.get("/stats", response_model=_OBJECT)
def stats(*, query: Annotated[QueryString, Query()], key: Reader, memory: Held) -> Response:
    """How many memories there are, how much they matter, and where they come from."""
    scope = narrowed(key, query)
    count, importance = 0, 0.0
    sites: dict[str, int] = {}
    for record in _all(memory, scope):
        count += 1
        importance += record.importance
        site = text_or_none(record.metadata, "source_site") or ""
        sites[site] = sites.get(site, 0) + 1
    average = round(importance / count, 6) if count else 0.0
    return json_response(
        {
            "count": count,
            "avg_importance": average,
            "source_distribution": dict(sorted(sites.items())),
            "tiers": memory.stats(
                user=scope.user, workspace=scope.workspace, agent=scope.agent
            ).tiers,
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
    scope = narrowed(key, query)
    facts = _versions(memory, scope, query.limit)
    next_of = {old: fact.id for fact in facts for old in fact.replaces}
    rows = [mutation(scope, fact, next_of) for fact in facts]
    return json_response({"mutations": rows, "count": len(rows)})


@routes.get("/audit/summary", response_model=_OBJECT)
def audit_summary(*, query: Annotated[QueryString, Query()], key: Reader, memory: Held) -> Response:
    """How many versions of facts there are, and what became of them."""
    scope = narrowed(key, query)
    facts = _versions(memory, scope, MOST_LISTED)
    kinds: dict[str, int] = {}
    for fact in facts:
        kind = mutation(scope, fact, {})["mutation_type"]
        kinds[kind] = kinds.get(kind, 0) + 1
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
def audit_trail(
    *, id: str, query: Annotated[QueryString, Query()], key: Reader, memory: Held
) -> Response:
    """What happened to one memory, oldest first."""
    scope = narrowed(key, query)
    lines = memory.history(id, user=scope.user, workspace=scope.workspace, agent=scope.agent)
    entries = trail(id, lines)
    return json_response({"memory_id": id, "trail": entries, "version_count": len(entries)})


def _versions(memory: Memory, scope: Scope, limit: int) -> list[Fact]:
    return memory.facts.list(
        user=scope.user, workspace=scope.workspace, agent=scope.agent, status="all", limit=limit
    )
