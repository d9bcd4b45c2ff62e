"""What the step that understands turns is given by the memory it works for."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from datetime import datetime

from holdfast.records.facts.verbs import Facts
from holdfast.records.graph.verbs import Graph
from holdfast.records.notes import Notes
from holdfast.store.protocols import Store
from holdfast.types import Scope


@dataclass(frozen=True, slots=True)
class Parts:
    """Where to read, and where to put what was understood."""

    store: Store
    graph: Graph
    facts: Facts
    notes: Notes
    #: Digests of what recent contexts told an owner: text that comes back is not learned again.
    recalled: Callable[[Scope], Collection[bytes]]
    clock: Callable[[], datetime]
