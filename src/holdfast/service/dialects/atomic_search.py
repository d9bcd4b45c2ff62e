"""AtomicMemory's search and expand: the memories, a block for a prompt, and a receipt."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal

from fastapi import APIRouter, HTTPException, Response
from pydantic import ConfigDict, Field, PlainValidator
from pydantic_core import PydanticCustomError

from holdfast.catalogue.codec import dumps, parts_of
from holdfast.config import idle
from holdfast.errors import InvalidInput, NotFound
from holdfast.language.terms import terms
from holdfast.language.tokens import count_tokens
from holdfast.memory.memory import Memory
from holdfast.recall.context.pack import OVER_BUDGET, Level, Packed, pack
from holdfast.recall.context.pack import at_level as told_at
from holdfast.service.dialects.atomic_rows import found_row, hit_row, text_or_none
from holdfast.service.http.auth import Reader, scope_args, scope_of
from holdfast.service.http.overrides import Override, override_for
from holdfast.service.http.wire import (
    Held,
    Needed,
    Object,
    Sent,
    StrictRoute,
    Text,
    Texts,
    are_texts,
    json_response,
    printable,
    schema,
)
from holdfast.types import Hit, Hits, Record, Scope

MOST_HITS = 200
_MOST_BUDGET_TOKENS = 200_000
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


def _agents(value: object) -> str | list[str] | None:
    if isinstance(value, str | None) or are_texts(value):
        return value  # type: ignore[return-value]
    is_list = isinstance(value, list)
    raise PydanticCustomError("agents", "(string[]) is required" if is_list else "must be a string")


AgentScope = Annotated[
    str | list[str] | None,
    PlainValidator(_agents),
    schema("string", "array", "null", items={"type": "string"}),
]


class SearchBody(Sent):
    """A question."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"user_id": "ann", "query": "Where do I live?"}]}
    )

    session_id: Text = None
    #: Settings for this request alone; see http/overrides.py.
    config_override: Object = None
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


def _search(memory: Memory, scope: Scope, body: SearchBody, *, fast: bool) -> Response:
    """The answer to a search."""
    override = override_for(memory.config, body.config_override)
    found = _recall(memory, scope, body, override, fast=fast)
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
        "budget_constrained": any(each.reason == OVER_BUDGET for each in packed.dropped),
        "retrieval": _receipt(memory, scope, body, chosen),
        "observability": _observability(body, found, chosen, packed, budget),
        # The part alone: the reason may name an endpoint that is the operator's business.
        "degraded": parts_of(found.degraded),
        "warnings": idle(override.config, override.applied, reranks=memory.reranks),
    }
    if body.retrieval_mode != "flat":
        answer |= _tiers(body, packed)
    return json_response(answer, headers=override.headers)


def _recall(
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
    """Whether a hit is so, as far as anybody knows, and meets the caller's own conditions."""
    if hit.score < (body.threshold or 0.0) or _is_over(hit):
        return False
    if body.source_site and text_or_none(hit.metadata, "source_site") != body.source_site:
        return False
    if body.namespace_scope and not _is_below(hit, body.namespace_scope):
        return False
    agent = None if record is None else record.agent
    if body.agent_scope == "others":
        return agent not in (None, scope.agent)
    return not isinstance(body.agent_scope, list) or agent in body.agent_scope


def _is_over(hit: Hit) -> bool:
    """Whether a later memory took the place of all that a hit says: the seed hides what is
    superseded. `observability.retrieval.candidate_ids` names it all the same."""
    replaced = hit.why.get("replaced")
    return replaced is not None and not replaced.get("partly")


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


def _observability(
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
_MOST_EXPANDED = 1000
_OBJECT = dict[str, Any]


@routes.post("/search", response_model=_OBJECT)
def search(*, body: SearchBody, key: Reader, memory: Held) -> Response:
    """Recall, and pack what was found into a block for a prompt."""
    return _search(memory, scope_of(key, body), body, fast=False)


@routes.post("/search/fast", response_model=_OBJECT)
def search_fast(*, body: SearchBody, key: Reader, memory: Held) -> Response:
    """The same with less work: neither the graph nor what looks at the winners once more."""
    return _search(memory, scope_of(key, body), body, fast=True)


class WantedMemories(Sent):
    """Which memories."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"user_id": "ann", "memory_ids": []}]}
    )

    memory_ids: Texts


@routes.post("/expand", response_model=_OBJECT)
def expand(*, body: WantedMemories, key: Reader, memory: Held) -> Response:
    """The whole memories with these ids; those that are not there are left out."""
    scope = scope_of(key, body)
    ids = list(dict.fromkeys(body.memory_ids))
    if len(ids) > _MOST_EXPANDED:
        raise HTTPException(400, f"memory_ids are {len(ids)}, the limit is {_MOST_EXPANDED}")
    kept = {each.id: each for each in memory.store.get(scope, ids)}
    rows = []
    for id in ids:
        try:
            (hit,) = memory.expand([id], **scope_args(scope))
        except NotFound:
            continue
        rows.append(hit_row(scope, hit, kept.get(id)))
    return json_response({"memories": rows, "count": len(rows)})
