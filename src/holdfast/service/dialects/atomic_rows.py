"""Our records in the shapes of AtomicMemory: memories, versions, conflicts.

What AtomicMemory knows and we do not is null, never made up; vectors are not handed out.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Mapping, Sequence
from itertools import pairwise
from typing import Any

from holdfast.language.statements.values import Dispute, Fact
from holdfast.recall.hits import hit as hit_of
from holdfast.records.facts.disputes import PATIENCE
from holdfast.records.rules import importance_of
from holdfast.records.shares import USUAL_TRUST
from holdfast.types import Hit, Metadata, Record, Scope, Version
from holdfast.upkeep.plans import trust

#: By our word for what happened: the seed's name of the change, and that of its clients' event.
_CHANGES: Mapping[str, tuple[str | None, str]] = {
    "stored": ("add", "created"),
    "changed": ("update", "updated"),
    "superseded": ("supersede", "superseded"),
    "forgotten": ("delete", "invalidated"),
    "invalidated": ("delete", "invalidated"),
    "archived": (None, "invalidated"),
}
_OTHER: tuple[str | None, str] = (None, "updated")
#: The outcomes of a fact that the seed knows by the same name.
_OUTCOMES = ("add", "update", "supersede", "delete", "clarify")
_HASHED = "radar-claim-version-content:v1\n"


def text_or_none(metadata: Metadata, name: str) -> str | None:
    """A text of the caller's metadata."""
    value = metadata.get(name)
    return value if isinstance(value, str) else None


def own_metadata(metadata: Metadata, labels: Collection[str]) -> Metadata:
    """Metadata as it was sent: without what the ingest put there, which is told beside it."""
    return {name: value for name, value in metadata.items() if name not in labels}


def memory_row(scope: Scope, record: Record) -> dict[str, Any]:
    """A record of the asker's own as the seed tells a memory, and what we know besides."""
    return hit_row(scope, hit_of(record, score=1.0), record)


def _row(hit: Hit, record: Record | None) -> dict[str, Any]:
    """What every row of the seed tells of a memory; `record` where it is the asker's own."""
    return {
        "id": hit.id,
        "content": hit.content,
        "source_site": text_or_none(hit.metadata, "source_site"),
        "source_url": text_or_none(hit.metadata, "source_url"),
        "external_id": text_or_none(hit.metadata, "externalId"),
        "namespace": text_or_none(hit.metadata, "namespace"),
        "episode_id": hit.sources[0] if hit.sources else None,
        "session_id": hit.session,
        "metadata": own_metadata(hit.metadata, () if record is None else record.labels),
        "created_at": hit.created_at,
        "tier": hit.tier,
        "kind": hit.kind,
        "role": hit.role,
        "name": hit.name,
        "confidence": hit.confidence,
        "sources": hit.sources,
    }


def hit_row(scope: Scope, hit: Hit, record: Record | None) -> dict[str, Any]:
    """A hit as the seed tells a memory; `record` where it is the asker's own."""
    return {
        **_row(hit, record),
        "user_id": scope.user,
        "workspace_id": scope.workspace,
        "memory_type": "episodic" if hit.tier == "session" else "semantic",
        "network": "experience" if hit.tier == "session" else "world",
        "status": "active",
        "trust_score": trust(hit.origin),
        "deleted_at": None,
        **({} if record is None else _known_metadata(record)),
        "origin": hit.origin,
    }


def _known_metadata(record: Record) -> dict[str, Any]:
    unclear = record.data.get("outcome") == "clarify"
    keywords = record.data.get("keywords")
    return {
        "status": "needs_clarification" if unclear else "active",
        "importance": importance_of(record),
        "keywords": " ".join(map(str, keywords)) if isinstance(keywords, list) else "",
        "summary": str(record.data.get("headline") or ""),
        "observed_at": record.known_from,
        "last_accessed_at": record.seen_at or record.known_from,
        "access_count": record.uses,
        "expired_at": record.valid_to or record.known_to,
        "agent_id": record.agent,
        "visibility": record.visibility,
    }


def found_row(hit: Hit, record: Record | None) -> dict[str, Any]:
    """A hit as the seed's search tells it."""
    # Cosine with the question; null when only keywords found it.
    cosine = hit.why.get("vector", {}).get("score")
    return {
        **_row(hit, record),
        "similarity": cosine,
        "semantic_similarity": cosine,
        "score": hit.score,
        "ranking_score": hit.score,
        "relevance": hit.score,
        "importance": None if record is None else importance_of(record),
        "observed_at": hit.created_at if record is None else record.known_from,
        # Every version of ours has an id of its own.
        "version_id": hit.id,
    }


def trail(id: str, versions: Sequence[Version]) -> list[dict[str, Any]]:
    """The history of a memory, oldest first: one entry for each thing that happened."""
    entries: list[dict[str, Any]] = []
    for number, line in enumerate(versions):
        change, event = _CHANGES.get(line.action, _OTHER)
        record = line.record or id
        before = next(
            (e["version_id"] for e in reversed(entries) if e["version_id"] != record), None
        )
        content = line.content or ""
        entries.append(
            {
                "id": f"{record}.{number}",
                "version_id": record,
                "memory_id": record,
                "claim_id": versions[0].record or id,
                "event": event,
                "action": line.action,
                "content": content,
                "content_hash": hashlib.sha256((_HASHED + content).encode()).hexdigest(),
                "mutation_type": change,
                "mutation_reason": line.note,
                "actor_model": None,
                "contradiction_confidence": None,
                "parent_id": before,
                "previous_version_id": before,
                "superseded_by_version_id": None,
                "created_at": line.at,
                "valid_from": line.at,
                "valid_to": None,
            }
        )
    for entry, later in pairwise(entries):
        entry["valid_to"] = later["valid_from"]
        if later["version_id"] != entry["version_id"]:
            entry["superseded_by_version_id"] = later["version_id"]
    return entries


def mutation(scope: Scope, fact: Fact, next_of: Mapping[str, str]) -> dict[str, Any]:
    """A version of a fact as one change; `next_of` tells what took the place of which."""
    return {
        "id": fact.id,
        "claim_id": fact.claim,
        "user_id": scope.user,
        "memory_id": fact.id,
        "content": fact.content,
        "importance": fact.importance,
        "source_site": text_or_none(fact.metadata, "source_site"),
        "source_url": text_or_none(fact.metadata, "source_url"),
        "episode_id": fact.sources[0] if fact.sources else None,
        "valid_from": fact.valid_from,
        "valid_to": fact.valid_to,
        "superseded_by_version_id": next_of.get(fact.id),
        "mutation_type": fact.outcome if fact.outcome in _OUTCOMES else "add",
        "mutation_reason": fact.reason or None,
        "previous_version_id": fact.replaces[0] if fact.replaces else None,
        "actor_model": None,
        "contradiction_confidence": None,
        "created_at": fact.known_from,
        "status": fact.status,
    }


def conflict(scope: Scope, dispute: Dispute, levels: Mapping[str, float]) -> dict[str, Any]:
    """A dispute between agents as the seed tells a conflict: the earlier fact is the existing."""
    existing, new = dispute.facts[0], dispute.facts[-1]
    is_open = dispute.status == "open"
    return {
        "id": dispute.id,
        "user_id": scope.user,
        "new_memory_id": new.id,
        "existing_memory_id": existing.id,
        "new_content": new.content,
        "existing_content": existing.content,
        "new_agent_id": dispute.agents[-1],
        "existing_agent_id": dispute.agents[0],
        "new_trust_level": levels.get(dispute.agents[-1] or "", USUAL_TRUST),
        "existing_trust_level": levels.get(dispute.agents[0] or "", USUAL_TRUST),
        "contradiction_confidence": min(new.confidence, existing.confidence),
        "clarification_note": dispute.note or None,
        "status": "open" if is_open else "auto_resolved",
        "resolution_policy": "trust",
        "resolved_at": None,
        "created_at": dispute.at,
        "auto_resolve_after": dispute.at + PATIENCE,
    }
