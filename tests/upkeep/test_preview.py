"""What fades by when."""

import pytest

from holdfast.records.stats import decay_preview
from holdfast.upkeep.feedback import feedback
from tests.upkeep.living import ANN, DAY, Living, derived


def test_what_will_be_hidden_is_told_in_order(alive: Living) -> None:
    (first,) = alive.put(derived("An old note.", tier="note"))
    alive.memory.graph.write(
        [], [{"source": "Bob", "type": "supports", "target": "Acme"}], user="ann"
    )
    alive.later(10 * DAY)
    (second,) = alive.put(derived("A new note.", tier="note"))
    alive.put(derived("A fact."))
    before = alive.dump()
    assert decay_preview(alive.store, ANN, now=alive.now, days=3) == []
    (one,) = decay_preview(alive.store, ANN, now=alive.now, days=4)
    assert (one.id, one.hidden) == (first, False)
    assert one.strength == pytest.approx(0.64)
    assert one.then == pytest.approx(0.16)
    soon = decay_preview(alive.store, ANN, now=alive.now, days=30)
    assert [each.id for each in soon] == [first, second]
    later = decay_preview(alive.store, ANN, now=alive.now, days=300)
    assert [each.kind for each in later] == ["context"] * 2 + ["entity"] * 2 + ["relation"]
    assert len(decay_preview(alive.store, ANN, now=alive.now, days=300, limit=2)) == 2
    assert alive.dump() == before
    alive.later(4 * DAY)
    (gone,) = decay_preview(alive.store, ANN, now=alive.now, days=0)
    assert (gone.id, gone.hidden) == (first, True)


def test_a_note_that_was_blamed_away_is_hidden_since_then(alive: Living) -> None:
    (id,) = alive.put(derived("A wrong note.", tier="note"))
    for _ in range(5):
        feedback(alive.store, ANN, id, -1, now=alive.now)
    blamed = alive.now
    (one,) = decay_preview(alive.store, ANN, now=alive.later(), days=1)
    assert (one.hidden_at, one.hidden, one.strength) == (blamed, True, 0.0)
