"""Keys of metadata: those of the system, which a caller is refused by name, and those of the caller
that the system reads. `tests/border/test_reserved.py` finds any other that our code touches."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

#: What the system knows of a derived record, beside the keys below, stands under this one.
SYSTEM = "holdfast"
#: What it was called in stores that were written before we were.
FORMER_SYSTEM = "recollect"

#: A caller who could set them could forge what we derive; the second half are those of
#: AtomicMemory, which a program written for it must not be able to set here either. Its `topic` is
#: left to callers: half of the world labels its messages so, and nothing here reads it.
RESERVED_METADATA = frozenset(
    {
        *(SYSTEM, FORMER_SYSTEM),
        *("fact_role", "rule", "condition", "headline", "keywords", "entities", "relations"),
        *("cmo_id", "memberMemoryIds", "compositeVersion", "consolidated_from", "cluster_size"),
        *("avg_affinity", "member_count", "sourceSite", "findingCount", "rules", "trustScore"),
        *("threshold", "contradictionConfidence", "contradiction_confidence"),
        *("supersededMemoryId", "target_memory_id", "clarification_note", "recap"),
        *("raw_document_id", "document_chunk_id", "upload_result", "providerMetadata", "codec"),
    }
)

#: The caller's own, though the system looks at them, or writes them where the caller says so.
CALLERS_OWN = frozenset(
    {
        # Where it came from, and what it is called there; see docs/reference/atomicmemory.md.
        *("source_site", "source_url", "externalId", "namespace"),
        # A category of DeerFlow's, one that it does not know, and what else it says of a fact.
        *("category", "categoryExtension", "deerflow"),
        # A turn that called a tool, or that nobody was shown; see learn/filter.py.
        *("tool_calls", "tool_call_id", "function_call", "tool_use", "hide_from_ui", "hidden"),
        # The place of a turn in a benchmark.
        "turn",
    }
)


class Labelled(dict[str, Any]):
    """Metadata of a caller's in which a door put `labels` of its own, such as where it came from:
    they are kept and read like the rest, and are not what the caller sent."""

    def __init__(self, sent: Mapping[str, Any], labels: Mapping[str, Any]) -> None:
        super().__init__({**labels, **sent})
        self.labels = tuple(name for name in labels if name not in sent)


def with_system_data(metadata: Mapping[str, Any] | None, data: Mapping[str, Any]) -> dict[str, Any]:
    """What is stored with a turn: the caller's metadata, and under our key what we keep there."""
    return {**(metadata or {}), **({SYSTEM: dict(data)} if data else {})}


def split_system_data(stored: Mapping[str, Any]) -> tuple[Mapping[str, Any], Mapping[str, Any]]:
    """The caller's metadata, and what we keep with the turn."""
    for key in (SYSTEM, FORMER_SYSTEM):
        if isinstance(data := stored.get(key), dict):
            return {name: stored[name] for name in stored if name != key}, data
    return stored, {}
