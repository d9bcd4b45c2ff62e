"""How much the agents of a workspace are trusted: what counts when two of them disagree."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

from holdfast.border import validate
from holdfast.errors import InvalidInput
from holdfast.store.protocols import Store

#: What an agent is trusted of whom nothing was said.
USUAL_TRUST = 0.5


class Agents:
    """The agents of a store. Threads may share it."""

    def __init__(self, store: Store, *, now: Callable[[], datetime]) -> None:
        self._store = store
        self._now = now

    def trust(self, workspace: str = "default") -> dict[str, float]:
        """How much each agent is trusted, as far as it was set; all others are trusted 0.5."""
        return self._store.agent_trust(validate.word(workspace, "workspace"))

    def set_trust(self, agent: str, value: float, *, workspace: str = "default") -> float:
        """Say how much an agent is trusted, 0 (not at all) to 1; what holds from now on."""
        name = validate.word(agent, "agent")
        where = validate.word(workspace, "workspace")
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise InvalidInput("value must be a number", field="value")
        if not 0 <= value <= 1:  # Nor is NaN.
            raise InvalidInput(f"value must lie in 0..1, not {value}", field="value")
        self._store.set_agent_trust(where, name, float(value), at=self._now())
        return float(value)
