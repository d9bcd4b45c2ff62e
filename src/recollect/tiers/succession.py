"""What was replaced holds again when its successor is forgotten, and ends again when that is back.

Of facts see `facts/recast.py`. Here the same for standing rules (`write/standing.py`), the versions
of a procedure, what stands under a key or a name in the knowledge base, and the fields of a profile
that were set by hand. Of several versions that are there the last one holds: who restores one
after another was set finds it in the history.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime

from recollect.store.base import Store
from recollect.tiers.knowledge_chain import Chain
from recollect.tiers.knowledge_values import DOCUMENT, ENTRY, chunk_ids, to_document, to_entry
from recollect.tiers.procedures import KINDS
from recollect.types import Record, Scope
from recollect.write import standing
from recollect.write.lineup import is_open, line_up, was_taken_back


class Succession:
    """What comes after what, in all tiers but that of facts. Threads may share it."""

    def __init__(self, store: Store, *, now: Callable[[], datetime]) -> None:
        self._store = store
        self._now = now

    def going(self, scope: Scope, id: str) -> list[Record]:
        """What holds now and goes when a turn or a memory is forgotten: to be asked before."""
        return [each for each in self._of(scope, id) if is_open(each)]

    def gone(self, scope: Scope, records: Sequence[Record]) -> None:
        """Let hold again what those had replaced that were forgotten."""
        left = {each.id for each in self._store.get(scope, [each.id for each in records])}
        self._settle(scope, [each for each in records if each.id not in left], standing.without)

    def back(self, scope: Scope, id: str) -> None:
        """Put a turn or a memory that came back in its place."""
        self._settle(scope, self._of(scope, id), standing.again)

    def _of(self, scope: Scope, id: str) -> list[Record]:
        """A memory, or the rules that were given in a turn."""
        found = self._store.get(scope, [id])
        if found and found[0].tier == "session":
            return standing.rules_of(self._store, scope, found[0])
        return found

    def _settle(
        self,
        scope: Scope,
        records: Sequence[Record],
        rules: Callable[[Store, Scope, Sequence[Record], datetime], None],
    ) -> None:
        now = self._now()
        given = [each for each in records if each.kind in standing.KINDS]
        rules(self._store, scope, [each for each in given if each.tier == "procedure"], now)
        for record in records:
            versions = self._versions(scope, record)
            taken_back = {
                each.id for each in versions[-1:] if was_taken_back(self._store, scope, each)
            }
            line_up(self._store, scope, versions, now=now, over=taken_back, parts=_parts)

    def _versions(self, scope: Scope, record: Record) -> list[Record]:
        """The versions of a memory that are there, oldest first; none of what has no versions."""
        if record.tier == "knowledge" and record.kind in (DOCUMENT, ENTRY):
            is_entry = record.kind == ENTRY
            name = to_entry(record).key if is_entry else to_document(record).name
            return Chain(self._store, scope, record.kind, name).all()
        if record.tier == "procedure" and record.kind in KINDS:
            claim = record.data.get("claim")
            return [each for each in self._listed(scope, record) if each.data.get("claim") == claim]
        if record.tier == "profile" and "values" in record.data:
            return [each for each in self._listed(scope, record) if each.agent == record.agent]
        return []

    def _listed(self, scope: Scope, record: Record) -> list[Record]:
        kind = record.kind if record.tier == "profile" else None  # A procedure may change its kind.
        return self._store.listed(scope, tier=record.tier, kind=kind, current=False, archived=True)


def _parts(version: Record) -> Sequence[str]:
    """What begins and ends with a version."""
    pieces = chunk_ids(to_document(version)) if version.kind == DOCUMENT else []
    return [version.id, *pieces]
