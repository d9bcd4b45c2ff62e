"""What was replaced holds again when its successor is forgotten, and ends again when that is back.

Of facts see `facts/after_forget.py`. Here the same for standing rules (`rule_validity.py`), the
versions of a procedure, what stands under a key or a name in the knowledge base, and the fields of
a profile that were set by hand. Of several versions that are there the last one holds: who restores
one after another was set finds it in the history.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime

from holdfast.records import rule_validity
from holdfast.records.knowledge.chain import Chain
from holdfast.records.knowledge.values import DOCUMENT, ENTRY, chunk_ids, to_document, to_entry
from holdfast.records.procedures import KINDS
from holdfast.records.versions import is_open, line_up, was_taken_back
from holdfast.store.base import Store
from holdfast.types import Record, Scope


class Succession:
    """What comes after what, in all tiers but that of facts. Threads may share it."""

    def __init__(self, store: Store, *, now: Callable[[], datetime]) -> None:
        self._store = store
        self._now = now

    def gone(self, scope: Scope, id: str, hidden: Sequence[Record]) -> None:
        """Let hold again what a memory that was forgotten, or the rules of a turn, had replaced:
        it is among what is hidden. A rule that ended another one may be ended itself; of other
        things only the last has replaced what could hold."""
        rules = [each for each in hidden if _is_rule(each)]
        others = [each for each in hidden if each.id == id and not _is_rule(each) and is_open(each)]
        self._settle(scope, [*rules, *others], rule_validity.without)

    def back(self, scope: Scope, id: str) -> None:
        """Put a memory, or the rules of a turn, that came back in its place."""
        found = self._store.get(scope, [id])
        if found and found[0].tier == "session":
            found = rule_validity.rules_of(self._store, scope, found[0])
        self._settle(scope, found, rule_validity.again)

    def _settle(
        self,
        scope: Scope,
        records: Sequence[Record],
        rules: Callable[[Store, Scope, Sequence[Record], datetime], None],
    ) -> None:
        now = self._now()
        rules(self._store, scope, [each for each in records if _is_rule(each)], now)
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


def _is_rule(record: Record) -> bool:
    return record.tier == "procedure" and record.kind in rule_validity.KINDS


def _parts(version: Record) -> Sequence[str]:
    """What begins and ends with a version."""
    pieces = chunk_ids(to_document(version)) if version.kind == DOCUMENT else []
    return [version.id, *pieces]
