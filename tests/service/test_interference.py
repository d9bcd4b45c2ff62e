"""What one tenant does changes nothing of what another is answered."""

from pathlib import Path

import pytest

from holdfast.memory.memory import Memory
from scripts.interference import interference
from tests.service.histories import TOOLS, history, played, readable
from tests.service.world import BEGAN, opened

#: Of 1,000 that `make proof` plays.
EACH, ALL = 20, 40


@pytest.mark.slow
@pytest.mark.parametrize("first", range(0, ALL, EACH))
def test_histories_with_and_without_one_tenant_are_answered_alike(
    first: int, tmp_path: Path
) -> None:
    compared, paths, found = interference(tmp_path, first, EACH)
    assert found == []
    assert compared > EACH * 20
    assert len(paths) > 50


@pytest.mark.slow
def test_all_three_doors_are_read_through_and_the_third_tenant_is_busy(tmp_path: Path) -> None:
    routes = readable(tmp_path)
    assert len(routes) > 40
    assert len(TOOLS) > 10
    told = history(1, routes)
    assert {name.split()[0] for _, name in told.reads} >= {"cli", "mcp", "GET"}
    assert any(step.who == "bob" for step in told.steps)
    whole = played(told, tmp_path / "whole.db", routes)
    over_http = [answer for asked, answer in whole.answers if " /" in asked]
    assert sum(answer.startswith(b"200") for answer in over_http) > len(over_http) / 2
    assert not any(answer.startswith(b"5") for answer in over_http)


def test_two_tenants_with_the_same_entity_have_a_vector_each(tmp_path: Path) -> None:
    """Its id is made of its name: in one batch of the queue it stands for both."""
    with opened(tmp_path / "m.db", now=BEGAN) as memory:
        for workspace in ("acme", "globex"):
            memory.graph.write(entities=[{"name": "tea"}], user="ann", workspace=workspace)
        memory.drain()
        assert [each for each in memory.check() if not each.ok] == []
        assert scores(memory, "acme") == scores(memory, "globex") != []


def scores(memory: Memory, workspace: str) -> list[float]:
    hits = memory.recall("some tea", user="ann", workspace=workspace)
    return [hit.why["vector"]["score"] for hit in hits]
