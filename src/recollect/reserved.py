"""Keys of metadata that belong to the system: a caller who sends one is refused, by name."""

from __future__ import annotations

#: What the system knows of a derived record, beside the keys below, stands under this one.
SYSTEM = "recollect"

RESERVED_METADATA = frozenset(
    {
        SYSTEM,
        *("fact_role", "rule", "condition", "headline", "keywords", "entities", "relations"),
        *("cmo_id", "memberMemoryIds", "compositeVersion", "consolidated_from", "cluster_size"),
        *("avg_affinity", "findingCount", "trustScore", "contradictionConfidence"),
        *("contradiction_confidence", "supersededMemoryId", "target_memory_id"),
        *("clarification_note",),
    }
)
