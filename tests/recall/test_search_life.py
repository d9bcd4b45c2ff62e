"""What fading, the archive and privacy hide, and that they change nothing else."""

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from holdfast.recall.candidates import unfaded_mask, visible_mask, wanted_mask
from holdfast.recall.query import query
from holdfast.types import Scope
from holdfast.upkeep.feedback import feedback, note_used
from tests.upkeep.living import ANN, DAY, NOON, Living, derived, living


@pytest.fixture
def alive(tmp_path: Path) -> Iterator[Living]:
    with living(tmp_path / "m.db") as made:
        yield made


def asked(alive: Living, **given: Any) -> Any:
    usual = {"limit": 10, "now": alive.now, "as_of": None, "known_at": None, "filters": None}
    return query("cat", given.pop("scope", ANN), **{**usual, **given})


def view(alive: Living) -> Any:
    searcher = alive.memory._searcher
    return searcher._indexes.view(ANN, None)


def test_a_faded_note_is_hidden_unless_wanted(alive: Living) -> None:
    alive.put(derived("A note of the cat.", tier="note", kind="decision"))
    alive.later(13 * DAY)
    assert alive.found("cat") == ["A note of the cat."]
    alive.later(DAY)
    assert alive.found("cat") == []
    assert alive.found("cat", tiers=["note"]) == []
    assert alive.found("cat", filters={"faded": False}) == []
    assert alive.found("cat", filters={"faded": True}) == ["A note of the cat."]
    # The turn it came from is found for ever.
    alive.memory.remember("The cat came.", user="ann")
    alive.later(3650 * DAY)
    assert alive.found("cat") == ["The cat came."]


def test_what_is_used_or_confirmed_stays(alive: Living) -> None:
    one = derived("Cat of Monday.", tier="note")
    two = derived("Cat of Tuesday.", tier="note")
    (used_id, confirmed) = alive.put(one, two)
    alive.put(derived("Cat of Friday.", tier="note"))
    alive.later(13 * DAY)
    note_used(alive.store, ANN, [used_id], now=alive.now)
    alive.put(two)
    alive.later(DAY)
    assert set(alive.found("cat")) == {"Cat of Monday.", "Cat of Tuesday."}
    alive.later(2 * DAY)
    assert alive.found("cat") == ["Cat of Tuesday."]
    assert alive.get(confirmed).seen_at == NOON + 13 * DAY


def test_blame_hides_a_note_sooner(alive: Living) -> None:
    alive.put(derived("Cat of Monday.", tier="note"))
    (blamed,) = alive.put(derived("Cat of Tuesday.", tier="note"))
    feedback(alive.store, ANN, blamed, -1, now=alive.now)
    alive.later(12.5 * DAY)
    assert alive.found("cat") == ["Cat of Monday."]


def test_old_written_relations_and_entities_are_hidden_too(alive: Living) -> None:
    alive.memory.graph.write(
        [{"name": "Zed", "type": "person"}],
        [{"source": "Cat", "type": "supports", "target": "Zed"}],
        user="ann",
    )
    alive.memory.drain()
    alive.later(290 * DAY)
    assert "Cat supports Zed" in alive.found("cat supports")
    alive.later(15 * DAY)
    assert alive.found("cat supports") == []
    assert "Cat supports Zed" in alive.found("cat supports", filters={"faded": True})


def test_facts_and_others_do_not_fade(alive: Living) -> None:
    alive.put(derived("A fact of the cat."), derived("A page.", tier="knowledge", kind="page"))
    alive.later(3650 * DAY)
    assert len(alive.found("the page of the cat")) == 2
    assert unfaded_mask(view(alive), asked(alive)) is None


def test_reads_repeat(alive: Living) -> None:
    (note,) = alive.put(derived("Cat of Monday.", tier="note"))
    (fact,) = alive.put(derived("Cat of Tuesday."))
    alive.memory.remember("A turn with a cat.", user="ann")
    alive.memory.drain()
    then = alive.later(DAY)
    late = NOON + 14 * DAY
    for known_at, expected in ((then, 3), (late, 2)):
        before = alive.memory.recall("cat", user="ann", known_at=known_at)
        assert len(before) == expected
        note_used(alive.store, ANN, [note, fact], now=alive.now)
        feedback(alive.store, ANN, fact, -1, now=alive.now)
        alive.store.archive(ANN, [fact], at=alive.now, reason="put aside")
        alive.later(400 * DAY)
        assert alive.memory.recall("cat", user="ann", known_at=known_at) == before
        alive.store.archive(ANN, [fact], at=alive.now, undo=True)
        assert alive.memory.recall("cat", user="ann", known_at=known_at) == before


def test_as_of_a_time_when_it_was_fresh_it_is(alive: Living) -> None:
    alive.put(derived("Cat of Monday.", tier="note"))
    alive.later(100 * DAY)
    assert alive.found("cat") == []
    assert alive.found("cat", as_of=NOON + DAY) == ["Cat of Monday."]


def test_the_archive_is_hidden_unless_wanted_and_never_shows_what_is_forgotten(
    alive: Living,
) -> None:
    first, second = alive.put(derived("Cat of Monday."), derived("Cat of Tuesday."))
    alive.store.archive(ANN, [first, second], at=alive.now, reason="put aside")
    assert alive.found("cat") == []
    alive.store.forget(ANN, [second], at=alive.now)
    assert alive.found("cat", filters={"archived": True}) == ["Cat of Monday."]
    alive.store.archive(ANN, [first, second], at=alive.now, undo=True)
    assert alive.found("cat") == ["Cat of Monday."]


def test_only_its_agent_sees_what_is_private(alive: Living) -> None:
    mine = Scope("default", "ann", agent="a")
    alive.put(derived("A private cat.", visibility="agent_only"), scope=mine)
    alive.put(derived("An agent's cat."), scope=mine)
    alive.put(derived("Nobody's cat."))
    alive.put(derived("A lost cat.", visibility="agent_only"))
    assert set(alive.found("cat")) == {"An agent's cat.", "Nobody's cat."}
    assert set(alive.found("cat", agent="a")) == {
        "A private cat.", "An agent's cat.", "Nobody's cat.",
    }  # fmt: skip
    assert alive.found("cat", agent="b") == ["Nobody's cat."]
    assert "A private cat." not in alive.found("cat", filters={"agent": "a"})
    assert "A private cat." not in alive.found("cat", filters={"faded": True, "archived": True})
    assert "A private cat." not in alive.found("cat", known_at=alive.now)


def test_a_kind_can_be_filtered(alive: Living) -> None:
    alive.put(derived("Cat of Monday.", kind="goal"), derived("Cat of Tuesday.", kind="decision"))
    assert alive.found("cat", filters={"kind": "goal"}) == ["Cat of Monday."]
    assert alive.found("cat", filters={"category": "decision"}) == ["Cat of Tuesday."]
    assert alive.found("cat", filters={"kind": "nothing"}) == []


def test_where_nothing_fades_there_is_no_mask(alive: Living) -> None:
    alive.memory.remember("The cat came.", user="ann")
    assert visible_mask(view(alive), asked(alive)) is None
    assert wanted_mask(view(alive), asked(alive), None) is None
    alive.put(derived("A note of the cat.", tier="note"))
    # Not one of them has faded yet.
    assert wanted_mask(view(alive), asked(alive), None) is None
    alive.later(14 * DAY)
    mask = wanted_mask(view(alive), asked(alive), None)
    assert mask is not None
    assert mask.tolist() == [True, False]
    assert visible_mask(view(alive), asked(alive)) is None


def test_the_score_of_what_is_found_does_not_follow_what_fades(alive: Living) -> None:
    alive.memory.remember([{"content": f"The cat came {n} times."} for n in (2, 3)], user="ann")
    alive.put(derived("A note of the cat.", tier="note"))
    alive.memory.drain()
    before = {hit.content: hit.score for hit in alive.memory.recall("cat", user="ann")}
    alive.later(14 * DAY)
    after = {hit.content: hit.score for hit in alive.memory.recall("cat", user="ann")}
    assert before.pop("A note of the cat.")
    assert after == before


@pytest.mark.parametrize("zone", ["Asia/Kathmandu", "Pacific/Kiritimati", "America/St_Johns"])
def test_the_zone_of_the_machine_does_not_matter(
    alive: Living, monkeypatch: pytest.MonkeyPatch, zone: str
) -> None:
    import time

    monkeypatch.setenv("TZ", zone)
    time.tzset()
    try:
        alive.put(derived("A note of the cat.", tier="note"))
        alive.later(13.66 * DAY)
        assert alive.found("cat") == ["A note of the cat."]
        alive.later(timedelta(hours=1))
        assert alive.found("cat") == []
    finally:
        monkeypatch.undo()
        time.tzset()
