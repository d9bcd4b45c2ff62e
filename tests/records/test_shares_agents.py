"""How much agents are trusted."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import holdfast
from holdfast.errors import InvalidInput
from holdfast.records.shares import Agents
from holdfast.testing import HashEmbedder


@pytest.fixture
def agents(tmp_path: Path) -> Iterator[Agents]:
    config = {"extraction": {"enabled": False}}
    with holdfast.open(
        tmp_path / "m.db", embedder=HashEmbedder(16), worker=False, config=config
    ) as memory:
        yield memory.agents


def test_what_was_set_holds_in_its_workspace(agents: Agents) -> None:
    assert agents.trust() == {}
    assert agents.set_trust("planner", 0.9) == 0.9
    agents.set_trust("critic", 0)
    agents.set_trust("planner", 0.1, workspace="work")
    assert agents.trust() == {"critic": 0.0, "planner": 0.9}
    assert agents.trust("work") == {"planner": 0.1}
    agents.set_trust("planner", 1)
    assert agents.trust()["planner"] == 1.0


@pytest.mark.parametrize(
    ("agent", "value", "field"),
    [
        ("planner", 1.1, "value"),
        ("planner", -0.1, "value"),
        ("planner", float("nan"), "value"),
        ("planner", True, "value"),
        ("planner", "1", "value"),
        ("", 0.5, "agent"),
        (None, 0.5, "agent"),
    ],
)
def test_a_bad_value_is_refused(agents: Agents, agent: Any, value: Any, field: str) -> None:
    with pytest.raises(InvalidInput) as told:
        agents.set_trust(agent, value)
    assert told.value.field == field
    assert agents.trust() == {}
