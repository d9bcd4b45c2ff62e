"""Praise, blame and use, through the store."""

from datetime import timedelta
from typing import Any

import pytest

from holdfast.errors import InvalidInput, NotFound
from holdfast.records.fading import strength
from holdfast.types import Scope
from holdfast.upkeep.feedback import feedback, note_used
from tests.upkeep.living import ANN, DAY, Living, derived


def test_praise_and_blame_count_each_time_and_are_in_the_history(alive: Living) -> None:
    (id,) = alive.put(derived("The build runs on Linux."))
    assert feedback(alive.store, ANN, id, 1, now=alive.now) == pytest.approx(0.7)
    assert feedback(alive.store, ANN, id, 1, now=alive.now) == pytest.approx(0.9)
    assert feedback(alive.store, ANN, id, 1, now=alive.now) == 1.0
    assert feedback(alive.store, ANN, id, -1, now=alive.later()) == pytest.approx(0.8)
    assert alive.actions(id) == ["stored", "praised", "praised", "praised", "blamed"]
    assert alive.get(id).seen_at == alive.now


@pytest.mark.parametrize("value", [0, 2, -2, True, "1", None, 0.5])
def test_a_judgement_is_for_or_against(alive: Living, value: Any) -> None:
    (id,) = alive.put(derived("The build runs on Linux."))
    with pytest.raises(InvalidInput, match="value must be 1 or -1"):
        feedback(alive.store, ANN, id, value, now=alive.now)
    assert alive.get(id).strength is None


def test_what_is_not_there_cannot_be_judged(alive: Living) -> None:
    (id,) = alive.put(derived("The build runs on Linux."))
    with pytest.raises(NotFound):
        feedback(alive.store, Scope("default", "bob"), id, 1, now=alive.now)
    with pytest.raises(NotFound):
        feedback(alive.store, ANN, "0" * 32, 1, now=alive.now)
    alive.store.forget(ANN, [id], at=alive.now)
    with pytest.raises(NotFound):
        feedback(alive.store, ANN, id, 1, now=alive.now)


def test_an_agent_judges_what_it_may_see(alive: Living) -> None:
    a, b = Scope("default", "ann", agent="a"), Scope("default", "ann", agent="b")
    (own,) = alive.put(derived("The build runs on Linux."), scope=a)
    (private,) = alive.put(derived("A secret of the build.", visibility="agent_only"), scope=a)
    with pytest.raises(NotFound):
        feedback(alive.store, b, own, 1, now=alive.now)
    with pytest.raises(NotFound):
        feedback(alive.store, ANN, private, 1, now=alive.now)
    assert feedback(alive.store, a, private, 1, now=alive.now) == pytest.approx(0.7)
    assert feedback(alive.store, ANN, own, 1, now=alive.now) == pytest.approx(0.7)


def test_a_use_counts_once_a_day_and_not_for_turns(alive: Living) -> None:
    (turn,) = alive.memory.remember("The build runs on Linux.", user="ann").events
    (id,) = alive.put(derived("A fact of the build."))
    assert note_used(alive.store, ANN, [turn, id], now=alive.now) == [id]
    assert note_used(alive.store, ANN, [id, id], now=alive.now + timedelta(hours=1)) == []
    assert alive.get(id).strength == pytest.approx(0.6)
    assert note_used(alive.store, ANN, [id], now=alive.later()) == [id]
    record = alive.get(id)
    assert (record.uses, record.seen_at) == (2, alive.now)
    assert record.strength == pytest.approx(0.7)
    assert alive.actions(id) == ["stored"]
    assert alive.get(turn).strength is None
    assert note_used(alive.store, ANN, [turn, "0" * 32], now=alive.now) == []


def test_a_turn_can_be_judged(alive: Living) -> None:
    (turn,) = alive.memory.remember("The build runs on Linux.", user="ann").events
    assert feedback(alive.store, ANN, turn, -1, now=alive.now) == pytest.approx(0.3)
    assert alive.found("build") == ["The build runs on Linux."]


def test_a_note_that_is_used_stays_longer(alive: Living) -> None:
    left, told = alive.put(derived("Left alone.", tier="note"), derived("Told often.", tier="note"))
    for _ in range(20):
        alive.later()
        note_used(alive.store, ANN, [told], now=alive.now)
    assert strength(alive.get(left), alive.now) == 0
    assert strength(alive.get(told), alive.now) > 0.7


def test_an_edge_that_is_heard_again_begins_a_new_life(alive: Living) -> None:
    def write() -> str:
        told = {"source": "Bob", "type": "supports", "target": "Acme"}
        (edge,) = alive.memory.graph.write([], [told], user="ann").edges
        return edge

    edge = write()
    assert feedback(alive.store, ANN, edge, -1, now=alive.now) == pytest.approx(0.8)
    alive.later(90 * DAY)
    assert strength(alive.get(edge), alive.now) == pytest.approx(0.4)
    shown = alive.memory.graph.traverse("Bob", user="ann").edges
    assert [each.strength for each in shown] == pytest.approx([0.4])
    assert write() == edge
    assert strength(alive.get(edge), alive.now) == 1.0
