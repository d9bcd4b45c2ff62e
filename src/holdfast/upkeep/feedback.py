"""Touching memories: what a context told was used, and what a person says of a memory counts.

Reading never touches: the same question has the same answer. A use counts once per memory and day,
so that what is told often does not crowd out everything else; a judgement counts each time, but
once under one key.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterable, Sequence
from datetime import date, datetime

from holdfast.errors import HoldfastError, InvalidInput, NotFound
from holdfast.records.fading import BLAMED, PRAISED, USED, strength, touched
from holdfast.records.versions import once
from holdfast.settings import DECAY, Decay
from holdfast.store.protocols import Store
from holdfast.types import Hit, Record, Scope

# ----------------------------------------------------------------------
# What contexts told, noted as used: once per memory and day, and without holding anybody up.
# ----------------------------------------------------------------------

log = logging.getLogger("holdfast")

#: More than this is not remembered as noted today: the store knows, too.
_MOST_NOTED = 100_000


class Uses:
    """The uses that one process notes. Threads may share it."""

    def __init__(
        self,
        store: Store,
        decay: Decay = DECAY,
        heard_in: Callable[[Scope, Sequence[str]], Sequence[str]] = lambda _scope, _turns: (),
    ) -> None:
        self._store = store
        self._decay = decay
        #: The entities that were heard in turns: they have no place of their own in a context.
        self._heard_in = heard_in
        self._lock = threading.Lock()
        self._day: date | None = None
        self._noted: set[tuple[str, str, str]] = set()

    def note(self, scope: Scope, hits: Iterable[Hit], now: datetime) -> None:
        """Note that a context told these, and with turns what was heard in them; never fails. Turns
        and rules themselves are told however often."""
        try:
            told = list(hits)
            ids = [hit.id for hit in told if hit.tier != "session" and not hit.is_rule]
            ids += self._heard_in(scope, [hit.id for hit in told if hit.tier == "session"])
            if not (new := self._new(scope, ids, now.date())):
                return
            note_used(self._store, scope, new, now=now, decay=self._decay)
        except HoldfastError as error:
            log.warning("a use was not noted: %s", type(error).__name__)

    def _new(self, scope: Scope, ids: list[str], day: date) -> list[str]:
        with self._lock:
            if day != self._day or len(self._noted) > _MOST_NOTED:
                self._day, self._noted = day, set()
            keys = {each: (scope.workspace, scope.user, each) for each in ids}
            new = [each for each, key in keys.items() if key not in self._noted]
            self._noted.update(keys.values())
        return new


def feedback(
    store: Store,
    scope: Scope,
    id: str,
    value: int,
    *,
    now: datetime,
    key: str | None = None,
    decay: Decay = DECAY,
) -> float:
    """Praise (+1) or blame (-1) one memory; its strength since. NotFound for one that is not there,
    or that the agent at hand may not see. Under a key it counts once."""
    if isinstance(value, bool) or value not in (1, -1):
        raise InvalidInput(f"value must be 1 or -1, not {str(value)[:64]!r}", field="value")
    action, delta = ("praised", PRAISED) if value == 1 else ("blamed", BLAMED)
    there = [record for record in store.get(scope, [id]) if _is_seen(record, scope)]
    if there:
        with once(
            store, scope, key, "feedback", note=now.isoformat(), at=now, id=id, value=value
        ) as before:
            if before is not None:
                return strength(there[0], datetime.fromisoformat(before), decay)
            if store.touch(
                scope, [id], at=now, action=action,
                strength=lambda each: touched(each, now, delta, decay),
            ):  # fmt: skip
                return strength(store.get(scope, [id])[0], now, decay)
    raise NotFound(f"there is no memory {id!r} in this scope")


def note_used(
    store: Store, scope: Scope, ids: Sequence[str], *, now: datetime, decay: Decay = DECAY
) -> list[str]:
    """Note that a context told these; those that count. Turns do not: what was said is what it is,
    however often it is told."""
    derived = [each.id for each in store.get(scope, ids) if each.tier != "session"]
    if not derived:
        return []
    return store.touch(
        scope, derived, at=now, action="used", strength=lambda each: touched(each, now, USED, decay)
    )


def _is_seen(record: Record, scope: Scope) -> bool:
    if record.visibility == "agent_only" and record.agent != scope.agent:
        return False
    return scope.agent is None or record.agent in (None, scope.agent)
