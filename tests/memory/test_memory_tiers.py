"""The verbs of all tiers together, from what is said to what is known: a real file, real rules."""

from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

import holdfast
from holdfast.errors import InvalidInput, NotFound
from holdfast.memory.memory import Memory
from holdfast.recall.deerflow import parse
from holdfast.testing import HashEmbedder
from holdfast.testing.store_suite import NOON
from holdfast.types import ALL_TIERS, Scope

DAY = timedelta(days=1)
ANN = Scope("default", "ann")
LISBON, PORTO = "I live in Lisbon.", "I moved to Porto."
SHIP = "We decided to ship on Friday."


class Said:
    """A memory with a clock that is set by hand."""

    def __init__(self, path: Path) -> None:
        self.now: datetime = NOON
        self.memory: Memory = holdfast.open(
            path, embedder=HashEmbedder(), worker=False, clock=lambda: self.now
        )

    def later(self, by: timedelta = DAY) -> datetime:
        self.now += by
        return self.now

    def say(self, text: str, **given: Any) -> str:
        """The id of a turn that was said now, and learned from."""
        (id,) = self.memory.remember(text, **{"user": "ann", "session": "s1", **given}).events
        self.memory.drain()
        return id

    def facts(self, **asked: Any) -> list[str]:
        return [each.content for each in self.memory.facts.list(user="ann", **asked)]

    def home(self, **asked: Any) -> tuple[str, ...]:
        found = self.memory.profile(user="ann", **asked).fields.get("home")
        return found.values if found else ()

    def uses(self, id: str) -> int:
        (record,) = self.memory.store.get(ANN, [id])
        return record.uses


@pytest.fixture
def said(tmp_path: Path) -> Iterator[Said]:
    made = Said(tmp_path / "m.db")
    yield made
    made.memory.close()


@pytest.fixture
def moved(said: Said) -> Said:
    """Lisbon at noon, Porto two days later; now it is a day after that."""
    said.say(LISBON)
    said.later(2 * DAY)
    said.say(PORTO)
    said.later()
    return said


# From turns to facts, notes and a profile


def test_a_turn_becomes_a_fact_a_field_and_a_note(said: Said) -> None:
    home, ship = said.say(LISBON), said.say(SHIP)
    found = {each.content: each for each in said.memory.facts.list(user="ann")}
    assert set(found) == {LISBON, SHIP}
    assert found[LISBON].sources == (home,)
    assert found[SHIP].category == "decision"
    assert said.memory.profile(user="ann").fields["home"].sources == (home,)
    (note,) = said.memory.notes.list(user="ann")
    assert (note.content, note.category, note.sources) == (SHIP, "decision", (ship,))
    assert said.memory.notes.day(NOON.date(), user="ann") == [note]
    assert said.memory.notes.day(NOON.date() + DAY, user="ann") == []


def test_to_drain_again_learns_nothing_new(said: Said) -> None:
    said.say(LISBON)
    before = said.memory.stats(user="ann")
    assert said.memory.drain().done == 0
    assert said.memory.stats(user="ann") == before


def test_a_later_statement_takes_the_place_of_an_earlier_one(moved: Said) -> None:
    assert moved.facts() == [PORTO]
    assert moved.facts(status="superseded") == [LISBON]
    assert moved.home() == ("Porto",)


def test_the_history_of_a_fact_shows_all_its_versions(moved: Said) -> None:
    (porto,) = moved.memory.facts.list(user="ann")
    (lisbon,) = moved.memory.facts.list(user="ann", status="superseded")
    for id in (porto.id, lisbon.id):
        lines = moved.memory.history(id, user="ann")
        assert [(line.action, line.content) for line in lines] == [
            ("stored", LISBON),
            ("superseded", LISBON),
            ("stored", PORTO),
        ]
        assert [line.record for line in lines] == [lisbon.id, lisbon.id, porto.id]
        assert lines[1].at == NOON + 2 * DAY


def test_a_later_statement_takes_the_place_whatever_restarts_between(tmp_path: Path) -> None:
    for text, by in ((LISBON, timedelta()), (PORTO, DAY)):
        said = Said(tmp_path / "m.db")
        said.later(by)
        said.say(text)
        said.memory.close()
    said = Said(tmp_path / "m.db")
    said.later(2 * DAY)
    assert (said.facts(), said.home()) == ([PORTO], ("Porto",))
    said.memory.close()


# Times


@pytest.mark.parametrize(
    ("days", "held"),
    [(-1, []), (0, [LISBON]), (1, [LISBON]), (2, [PORTO]), (3, [PORTO]), (3650, [PORTO])],
)
def test_what_held_at_a_time(moved: Said, days: int, held: list[str]) -> None:
    then = NOON + days * DAY
    assert moved.facts(as_of=then) == held
    assert moved.home(as_of=then) == tuple(each.split()[-1].rstrip(".") for each in held)
    hits = moved.memory.recall("Lisbon Porto", user="ann", tiers=["fact"], as_of=then)
    assert [hit.content for hit in hits] == held


@pytest.mark.parametrize(
    ("days", "known"), [(-1, []), (1, [LISBON]), (2.5, [PORTO]), (90, [PORTO])]
)
def test_what_was_known_at_a_time(moved: Said, days: float, known: list[str]) -> None:
    then = NOON + days * DAY
    assert moved.facts(known_at=then) == known
    assert moved.home(known_at=then) == tuple(each.split()[-1].rstrip(".") for each in known)
    hits = moved.memory.recall("Lisbon Porto", user="ann", tiers=["fact"], known_at=then)
    assert [hit.content for hit in hits] == known


def test_what_is_learned_late_held_before_it_was_known(said: Said) -> None:
    said.later(10 * DAY)
    said.say(LISBON, at=NOON)
    assert said.facts(as_of=NOON + DAY) == [LISBON]
    assert said.facts(as_of=NOON + DAY, known_at=NOON + 9 * DAY) == []


# Recall


def test_facts_are_searched_when_they_are_asked_for(moved: Said) -> None:
    (hit,) = moved.memory.recall("Where does Ann live, Porto?", user="ann", tiers=["fact"])
    assert (hit.content, hit.tier, hit.kind) == (PORTO, "fact", "identity")
    turns = moved.memory.recall("Where does Ann live, Porto?", user="ann")
    assert {hit.tier for hit in turns} == {"session"}  # Each word once.


def test_forgetting_a_turn_takes_what_was_drawn_from_it(moved: Said) -> None:
    (porto,) = moved.memory.facts.list(user="ann")
    moved.memory.forget(porto.sources[0], user="ann")
    moved.memory.drain()
    assert PORTO not in moved.facts(status="all")
    assert moved.home() != ("Porto",)
    assert not moved.memory.recall("Porto", user="ann", tiers=["fact"])
    for verb in (moved.memory.facts.get, moved.memory.facts.history):
        with pytest.raises(NotFound):
            verb(porto.id, user="ann")
    moved.memory.restore(porto.sources[0], user="ann")
    assert moved.facts() == [PORTO]
    assert moved.home() == ("Porto",)


def test_a_note_goes_with_its_turn(said: Said) -> None:
    turn = said.say(SHIP)
    said.memory.forget(turn, user="ann")
    assert said.memory.notes.list(user="ann", faded=True) == []
    assert said.memory.profile(user="ann").summaries["topOfMind"].text == ""


# Feedback and use


def test_what_is_not_there_gets_no_feedback(said: Said) -> None:
    turn = said.say(LISBON)
    (fact,) = said.memory.facts.list(user="ann")
    with pytest.raises(NotFound):
        said.memory.feedback("0" * 32, 1, user="ann")
    with pytest.raises(NotFound):
        said.memory.feedback(fact.id, 1, user="bob")
    said.memory.forget(turn, user="ann")
    for id in (turn, fact.id):
        with pytest.raises(NotFound):
            said.memory.feedback(id, 1, user="ann")


@pytest.mark.parametrize("value", [0, 2, True, "1", None])
def test_feedback_is_for_or_against(said: Said, value: Any) -> None:
    turn = said.say(LISBON)
    with pytest.raises(InvalidInput, match="value"):
        said.memory.feedback(turn, value, user="ann")


def test_feedback_decides_between_near_equals(said: Said) -> None:
    tea = [said.say(text) for text in ("The red kettle is loud.", "The red kettle is old.")]

    def order() -> list[str]:
        return [hit.id for hit in said.memory.recall("red kettle", user="ann", limit=2)]

    before = order()
    assert sorted(before) == sorted(tea)
    assert said.memory.feedback(before[1], 1, user="ann") == pytest.approx(0.7)
    assert order() == before[::-1]
    assert said.memory.feedback(before[1], -1, user="ann") == pytest.approx(0.5)
    assert order() == before
    said.memory.feedback(before[0], -1, user="ann")
    assert order() == before[::-1]


def test_a_use_is_counted_once_a_day(said: Said) -> None:
    id = said.memory.notes.add("The harbour is frozen.", user="ann").id
    said.memory.drain()

    def told() -> None:
        assert id in {hit.id for hit in said.memory.context("frozen harbour", user="ann").hits}

    assert said.uses(id) == 0
    told()
    told()
    assert said.uses(id) == 1
    said.later()
    told()
    assert said.uses(id) == 2
    said.later()
    said.memory.context("frozen harbour", user="ann", record=False)
    said.memory.recall("frozen harbour", user="ann")
    assert said.uses(id) == 2


# Sessions


def test_a_session_is_compacted_once(said: Said) -> None:
    turns = [said.say(f"I bought {number} apples at the market.") for number in range(2, 14)]
    first = said.memory.compact(session="s1", user="ann")
    assert (first.turns, first.kept) == (2, 10)
    assert said.memory.compact(session="s1", user="ann") == first
    assert said.memory.summaries.get(session="s1", user="ann") == first
    shorter = said.memory.compact(session="s1", user="ann", keep_turns=2)
    assert (shorter.turns, shorter.kept) == (10, 2)
    assert shorter.summary_id != first.summary_id
    assert {hit.id for hit in said.memory.recall("apples", user="ann", limit=50)} == set(turns)


def test_a_summary_does_not_quote_a_forgotten_turn(said: Said) -> None:
    secret = said.say("I keep the spare key under the blue stone.")
    for number in range(3):
        said.say(f"I bought {number + 2} apples at the market.")
    made = said.memory.compact(session="s1", user="ann", keep_turns=0)
    assert "blue stone" in made.summary
    said.memory.forget(secret, user="ann")
    assert "blue stone" not in said.memory.summaries.get(session="s1", user="ann").summary
    assert not said.memory.recall("blue stone", user="ann", tiers=["note"])


def test_a_session_that_is_not_there(said: Said) -> None:
    said.say(LISBON)
    for verb in (said.memory.compact, said.memory.stats):
        with pytest.raises(NotFound, match="s2"):
            verb(session="s2", user="ann")


# Numbers


def test_stats_count_what_holds_in_every_tier(moved: Said) -> None:
    moved.memory.procedures.add("Release", steps=["Tag it."], user="ann")
    counted = moved.memory.stats(user="ann")
    assert tuple(counted.tiers) == ALL_TIERS
    assert (counted.tiers["session"], counted.tiers["fact"], counted.tiers["procedure"]) == (
        2,
        1,
        1,
    )
    assert counted.session is None
    assert set(moved.memory.stats(user="bob").tiers.values()) == {0}


def test_stats_of_a_session_tell_how_full_it_is(moved: Said) -> None:
    full = moved.memory.stats(user="ann", session="s1", max_context_tokens=100).session
    assert full is not None
    assert (full.session, full.messages, full.max_context_tokens) == ("s1", 2, 100)
    assert full.tokens > 0
    with pytest.raises(InvalidInput, match="max_context_tokens"):
        moved.memory.stats(user="ann", session="s1", max_context_tokens=0)


# Contexts


def test_a_deerflow_context_tells_the_summaries(moved: Said) -> None:
    told = moved.memory.context("Where do I live?", user="ann", format="deerflow")
    assert "- Personal: Lives in Porto." in told.text
    then = moved.memory.context("Where do I live?", user="ann", format="deerflow", as_of=NOON + DAY)
    assert "- Personal: Lives in Lisbon." in then.text
    assert "Porto" not in then.text
    assert [each.content for each in parse(told.text)] != []
    nobody = moved.memory.context("Where do I live?", user="bob", format="deerflow")
    assert nobody.text == ""


def test_a_small_budget_leaves_the_summaries_out(moved: Said) -> None:
    told = moved.memory.context("live", user="ann", format="deerflow", budget_tokens=12)
    assert told.tokens <= 12
    assert "Personal" not in told.text


# Erasure


def test_erasure_leaves_nothing_to_any_verb(moved: Said) -> None:
    moved.say("Bob keeps bees.", user="bob")
    receipt = moved.memory.erase(user="ann")
    assert receipt.removed["events"] == 2
    assert moved.facts(status="all") == []
    assert moved.home() == ()
    assert set(moved.memory.stats(user="ann").tiers.values()) == {0}
    assert not moved.memory.recall("Porto", user="ann")
    assert moved.memory.recall("bees", user="bob")
    moved.say(LISBON)
    assert (moved.facts(), moved.home()) == ([LISBON], ("Lisbon",))
    assert [each for each in moved.memory.check() if not each.ok] == []


def test_a_document_goes_and_comes_back_as_a_whole(said: Said) -> None:
    memory = said.memory
    text = "# Boats\n\nThe sloop has one mast.\n\n# Ropes\n\nA bowline does not slip.\n"
    made = memory.knowledge.add(text, name="sea.md", format="markdown", user="ann")
    memory.drain()

    def found() -> list[str]:
        hits = memory.recall("bowline", user="ann", tiers=["knowledge"])
        return [hit.content for hit in hits]

    before = found()
    assert any("bowline" in each for each in before)
    assert memory.forget(made.id, user="ann")
    assert found() == []
    assert memory.restore(made.id, user="ann")
    assert found() == before


def test_what_named_people_say_is_indexed_as_the_doctor_expects(said: Said) -> None:
    for name, text in (
        ("Ann", "I live in Paris."),
        ("Ann", "I live in Rome now. I decided to stay."),
    ):
        said.memory.remember({"name": name, "content": text}, user="ann")
        said.memory.drain()
    fact = said.memory.facts.list(user="ann")[0]
    said.memory.facts.update(fact.id, "I live in Rome with Bob.", user="ann")
    assert [each.detail for each in said.memory.check() if not each.ok] == []
