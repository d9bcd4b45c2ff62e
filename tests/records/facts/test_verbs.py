"""The verbs of facts through a real store, with the cases of the AUDN rules."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from holdfast.errors import (
    InvalidInput,
    ModelUnavailable,
    NotFound,
    ScopeError,
    StoreBusy,
    TooLarge,
)
from holdfast.models.local import LocalEmbedder
from holdfast.types import Scope
from tests.records.facts.stating import ANN, DAY, Stated


@pytest.fixture
def stated(tmp_path: Path) -> Iterator[Stated]:
    made = Stated(tmp_path / "facts.db", embed=LocalEmbedder().embed)
    yield made
    made.store.close()


def test_a_new_fact_is_added(stated: Stated) -> None:
    fact = stated.add("I live in Paris.", category="identity", metadata={"page": 3})
    assert (fact.outcome, fact.status, fact.category) == ("add", "active", "identity")
    assert (fact.claim, fact.sources, fact.metadata) == (fact.id, (), {"page": 3})
    assert stated.facts.get(fact.id, user="ann").content == "I live in Paris."


def test_a_duplicate_is_a_noop(stated: Stated) -> None:
    first = stated.add("I play the cello in a community orchestra.")
    stated.later()
    again = stated.add("I play cello in a community orchestra.")
    assert (again.outcome, again.id) == ("noop", first.id)
    assert len(stated.facts.list(user="ann")) == 1
    actions = [line.action for line in stated.facts.history(first.id, user="ann")]
    assert actions == ["stored", "confirmed"]


def test_a_quoted_literal_that_differs_is_no_duplicate(stated: Stated) -> None:
    stated.add('My favourite poem begins with "so much depends upon".')
    stated.later()
    said = stated.add('My favourite poem begins with "tyger tyger burning bright".')
    assert said.outcome != "noop"


def test_what_is_not_alike_enough_is_added_and_not_updated(stated: Stated) -> None:
    stated.add("My flat is noisy.")
    stated.later()
    assert stated.add("My flat is noisy because of trams.").outcome == "add"
    assert len(stated.facts.list(user="ann")) == 2


def test_a_superseded_fact_is_hidden_and_was_so_before(stated: Stated) -> None:
    paris = stated.add("I live in Paris.")
    moved = stated.later(10 * DAY)
    lisbon = stated.add("I live in Lisbon.")
    stated.later()
    assert (lisbon.outcome, lisbon.replaces, lisbon.claim) == ("supersede", (paris.id,), paris.id)
    assert stated.texts() == ["I live in Lisbon."]
    assert stated.texts(status="superseded") == ["I live in Paris."]
    assert stated.texts(as_of=moved - DAY) == ["I live in Paris."]
    assert stated.texts(as_of=moved) == ["I live in Lisbon."]
    assert stated.texts(known_at=moved - DAY) == ["I live in Paris."]
    lines = stated.facts.history(lisbon.id, user="ann")
    assert [(line.action, line.content) for line in lines] == [
        ("stored", "I live in Paris."),
        ("superseded", "I live in Paris."),
        ("stored", "I live in Lisbon."),
    ]
    assert lines == stated.facts.history(paris.id, user="ann")
    assert lines[1].note == "later"
    assert [line.record for line in lines] == [paris.id, paris.id, lisbon.id]


def test_what_was_taken_back_can_hold_again(stated: Stated) -> None:
    fact = stated.add("I run every morning.")
    stated.later()
    stated.facts.invalidate(fact.id, reason="a slip", user="ann")
    back = stated.facts.invalidate(fact.id, undo=True, reason="no slip", user="ann")
    assert (back.status, back.valid_to, back.known_to) == ("active", None, None)
    lines = stated.facts.history(fact.id, user="ann")
    assert [line.action for line in lines] == ["stored", "invalidated", "reopened"]
    assert lines[-1].note == "no slip"
    again = stated.facts.invalidate(fact.id, undo=True, user="ann")
    assert again.status == "active"
    assert len(stated.facts.history(fact.id, user="ann")) == 3


def test_what_was_replaced_does_not_hold_again_by_undo(stated: Stated) -> None:
    paris = stated.add("I live in Paris.")
    stated.later()
    lisbon = stated.add("I live in Lisbon.")
    with pytest.raises(InvalidInput, match="was replaced, not taken back"):
        stated.facts.invalidate(paris.id, undo=True, user="ann")
    stated.later()
    stated.facts.invalidate(lisbon.id, user="ann")
    stated.later()
    stated.add("I live in Porto.")
    with pytest.raises(InvalidInput, match="another fact holds in the place"):
        stated.facts.invalidate(lisbon.id, undo=True, user="ann")
    assert [each.content for each in stated.facts.list(user="ann")] == ["I live in Porto."]


def test_an_answer_for_the_old_one_can_be_taken_back(stated: Stated) -> None:
    stated.add("I live in Paris.")
    stated.later()
    unclear = stated.add("Maybe, I live in Porto.")
    stated.facts.answer(unclear.id, keep="old", user="ann")
    assert stated.facts.clarifications(user="ann") == []
    assert stated.facts.invalidate(unclear.id, undo=True, user="ann").status == "unclear"
    (asked,) = stated.facts.clarifications(user="ann")
    assert asked.id == unclear.id
    assert stated.facts.answer(unclear.id, keep="new", user="ann").content == unclear.content


def test_an_invalidated_fact_keeps_its_history(stated: Stated) -> None:
    fact = stated.add("I play tennis on Mondays.")
    then = stated.later()
    gone = stated.facts.invalidate(fact.id, reason="knee", user="ann")
    assert gone.status == "invalidated"
    assert stated.texts() == []
    assert stated.texts(as_of=then - DAY / 2) == ["I play tennis on Mondays."]
    assert stated.facts.history(fact.id, user="ann")[-1].note == "knee"
    assert stated.facts.invalidate(fact.id, reason="again", user="ann").status == "invalidated"
    assert len(stated.facts.history(fact.id, user="ann")) == 2
    again = stated.add("I play tennis on Mondays.")
    assert (again.outcome, again.id == fact.id) == ("add", False)


def test_an_unclear_fact_overwrites_nothing(stated: Stated) -> None:
    stated.add("I live in Paris.")
    stated.later()
    unclear = stated.add("Maybe, I live in Lisbon.")
    assert (unclear.outcome, unclear.status) == ("clarify", "unclear")
    assert stated.texts() == ["I live in Paris."]
    assert stated.texts(as_of=stated.now) == ["I live in Paris."]
    (asked,) = stated.facts.clarifications(user="ann")
    assert [each.content for each in asked.known] == ["I live in Paris."]
    assert asked.reason == "uncertain-wording"
    assert "Paris" in asked.question
    assert "Lisbon" in asked.question


@pytest.mark.parametrize(
    ("keep", "left"),
    [
        ("new", ["Maybe, I live in Lisbon."]),
        ("old", ["I live in Paris."]),
        ("both", ["Maybe, I live in Lisbon.", "I live in Paris."]),
    ],
)
def test_an_answer_settles_it(stated: Stated, keep: str, left: list[str]) -> None:
    stated.add("I live in Paris.")
    stated.later()
    unclear = stated.add("Maybe, I live in Lisbon.")
    stated.later()
    kept = stated.facts.answer(unclear.id, keep=keep, user="ann")
    assert kept.content == left[0]
    assert kept.status == "active"
    assert stated.texts() == left
    assert stated.facts.clarifications(user="ann") == []
    assert stated.facts.contradictions(user="ann") == []
    stated.later()
    assert stated.facts.answer(unclear.id, keep=keep, user="ann") == kept
    with pytest.raises(InvalidInput, match="waits for no answer"):
        stated.facts.answer(unclear.id, keep="old" if keep == "new" else "new", user="ann")
    assert stated.texts() == left


def test_one_version_of_a_claim_is_active(stated: Stated) -> None:
    for town in ("Paris", "Lisbon", "Rome", "Bern", "Oslo"):
        stated.add(f"I live in {town}.")
        stated.later()
    (active,) = stated.facts.list(user="ann")
    assert active.content == "I live in Oslo."
    everything = stated.facts.list(user="ann", status="all")
    assert len(everything) == 5
    assert {each.claim for each in everything} == {everything[-1].id}


def test_the_breed_of_the_dog_leaves_the_cat_alone(stated: Stated) -> None:
    stated.add("My cat is a siamese.")
    stated.add("My dog is a poodle.")
    stated.later()
    assert stated.add("Correction: my dog is a beagle, not a poodle.").outcome == "supersede"
    assert "My cat is a siamese." in stated.texts()
    assert "My dog is a poodle." not in stated.texts()


def test_back_to_what_was_once_so_is_a_new_version(stated: Stated) -> None:
    first = stated.add("I live in Paris.")
    stated.later()
    stated.add("I live in Lisbon.")
    stated.later()
    again = stated.add("I live in Paris.")
    assert (again.outcome, again.claim) == ("supersede", first.id)
    assert again.id != first.id
    assert len(stated.facts.history(again.id, user="ann")) == 5


def test_told_late_is_history_and_ends_nothing(stated: Stated) -> None:
    stated.later(10 * DAY)
    stated.add("I live in Lisbon.")
    late = stated.add("I live in Paris.", at=stated.now - 5 * DAY)
    assert (late.outcome, late.reason, late.status) == ("add", "told-late", "superseded")
    assert stated.texts() == ["I live in Lisbon."]
    assert stated.texts(as_of=stated.now - DAY) == ["I live in Paris."]


def test_a_contradiction_is_kept_and_linked(stated: Stated) -> None:
    never = stated.add("I've never tried sushi.")
    stated.later()
    did = stated.add("I tried sushi in Osaka.")
    assert (did.outcome, did.contradicts) == ("add", (never.id,))
    (pair,) = stated.facts.contradictions(user="ann")
    assert (pair.earlier.id, pair.later.id) == (never.id, did.id)
    stated.facts.invalidate(never.id, user="ann")
    assert stated.facts.contradictions(user="ann") == []


@pytest.mark.parametrize(
    ("keep", "left"),
    [
        ("new", ["I tried sushi in Osaka."]),
        ("old", ["I've never tried sushi."]),
        ("both", ["I tried sushi in Osaka.", "I've never tried sushi."]),
    ],
)
def test_a_contradiction_is_answered_by_its_later_fact(
    stated: Stated, keep: str, left: list[str]
) -> None:
    never = stated.add("I've never tried sushi.")
    did = stated.add("I tried sushi in Osaka.", at=stated.later())
    with pytest.raises(InvalidInput, match="waits for no answer"):
        stated.facts.answer(never.id, keep=keep, user="ann")
    stated.later()
    kept = stated.facts.answer(did.id, keep=keep, user="ann")
    assert (kept.content, kept.status) == (left[0], "active")
    assert stated.texts() == left
    assert stated.facts.contradictions(user="ann") == []
    stated.later()
    assert stated.facts.answer(did.id, keep=keep, user="ann") == kept
    with pytest.raises(InvalidInput, match="waits for no answer"):
        stated.facts.answer(did.id, keep="new" if keep == "both" else "both", user="ann")
    assert stated.texts() == left


def test_what_contradicts_a_fact_that_was_answered_is_still_asked_about(stated: Stated) -> None:
    stated.add("I've never tried sushi.")
    did = stated.add("I tried sushi in Osaka.", at=stated.later())
    stated.later()
    denied = stated.add("I have never tried sushi in Osaka.")
    assert did.id in denied.contradicts
    both = stated.facts.answer(did.id, keep="both", user="ann")
    (pair,) = stated.facts.contradictions(user="ann")
    assert (pair.earlier.id, pair.later.id) == (both.id, denied.id)


def test_an_edit_is_a_new_version(stated: Stated) -> None:
    fact = stated.add("My dentist is Dr. Okafor.", category="identity")
    stated.later()
    edited = stated.facts.update(fact.id, "My dentist is Dr. Lind.", user="ann")
    assert (edited.claim, edited.category, edited.replaces) == (fact.id, "identity", (fact.id,))
    assert stated.texts() == ["My dentist is Dr. Lind."]
    history = stated.facts.history(fact.id, user="ann")
    stated.later()
    assert stated.facts.update(fact.id, "My dentist is Dr. Lind.", user="ann") == edited
    assert stated.facts.history(fact.id, user="ann") == history
    for other in ({"origin": "agent"}, {"confidence": 0.5}, {"category": "context"}):
        with pytest.raises(InvalidInput, match="not in force"):
            stated.facts.update(fact.id, "My dentist is Dr. Lind.", user="ann", **other)
    with pytest.raises(InvalidInput, match="not in force"):
        stated.facts.update(fact.id, "My dentist is Dr. Weiss.", user="ann")


def test_identity_is_only_the_users_to_say(stated: Stated) -> None:
    fact = stated.add("The user is the administrator.", category="identity", origin="web")
    assert (fact.category, fact.origin) == ("other", "web")
    mine = stated.add("I am a gardener.", category="identity")
    with pytest.raises(InvalidInput, match="cannot change what origin user said"):
        stated.facts.update(mine.id, "The user is a pilot.", user="ann", origin="tool")


def test_what_the_web_says_does_not_end_what_the_user_said(stated: Stated) -> None:
    stated.add("I live in Paris.")
    stated.later()
    said = stated.add("Correction: the user lives in Minsk.", origin="web")
    assert (said.outcome, said.reason) == ("clarify", "less-trusted")
    assert stated.texts() == ["I live in Paris."]


def test_other_owners_are_not_touched(stated: Stated) -> None:
    stated.add("I live in Paris.", user="bob")
    fact = stated.add("I live in Lisbon.")
    assert fact.outcome == "add"
    assert stated.texts(user="bob") == ["I live in Paris."]
    with pytest.raises(NotFound):
        stated.facts.get(fact.id, user="bob")
    with pytest.raises(NotFound):
        stated.facts.invalidate(fact.id, user="bob")


def test_lists_by_category_and_size(stated: Stated) -> None:
    stated.add("I like tea.", category="preference")
    stated.later()
    stated.add("I want to see the sea.", category="goal")
    stated.later()
    stated.add("I like rain.", category="preference")
    assert stated.texts(category="preference") == ["I like rain.", "I like tea."]
    assert stated.texts(limit=1) == ["I like rain."]


def test_an_archived_fact_is_listed_as_that(stated: Stated) -> None:
    fact = stated.add("I like tea.")
    stated.store.archive(ANN, [fact.id], at=stated.now, reason="faded")
    assert stated.texts() == []
    assert stated.texts(status="archived") == ["I like tea."]


def test_a_forgotten_fact_is_nowhere(stated: Stated) -> None:
    fact = stated.add("I like tea.")
    stated.store.forget(ANN, [fact.id], at=stated.now)
    assert stated.texts(status="all") == []
    with pytest.raises(NotFound):
        stated.facts.get(fact.id, user="ann")


def test_input_is_checked(stated: Stated) -> None:
    with pytest.raises(ScopeError):
        stated.facts.add("x")
    for wrong in ({"category": "nonsense"}, {"origin": "me"}, {"confidence": 1.5}, {"at": "soon"}):
        with pytest.raises(InvalidInput) as raised:
            stated.add("I like tea.", **wrong)
        assert raised.value.field == next(iter(wrong))
    with pytest.raises(InvalidInput, match="blank"):
        stated.add("  ")
    with pytest.raises(TooLarge):
        stated.add("tea " * 100_000)
    with pytest.raises(InvalidInput, match="reserved"):
        stated.add("I like tea.", metadata={"headline": "forged"})
    with pytest.raises(InvalidInput, match="status"):
        stated.facts.list(user="ann", status="odd")
    with pytest.raises(NotFound):
        stated.facts.get("0" * 32, user="ann")
    with pytest.raises(InvalidInput, match="at most 500"):
        stated.facts.invalidate("0" * 32, reason="x" * 501, user="ann")


def test_an_agent_sees_its_own_and_what_no_agent_wrote(stated: Stated) -> None:
    stated.add("I like tea.")
    stated.add("I like rain.", agent="cook")
    stated.add("I like snow.", agent="guide")
    assert sorted(stated.texts(agent="cook")) == ["I like rain.", "I like tea."]
    assert len(stated.texts()) == 3


def test_the_same_scope_in_another_workspace_is_another_owner(stated: Stated) -> None:
    stated.add("I live in Paris.", workspace="home")
    assert stated.add("I live in Rome.").outcome == "add"
    assert stated.store.listed(Scope("home", "ann"), tier="fact")[0].content == "I live in Paris."


LAPTOP = "My laptop is slow."


@pytest.mark.parametrize(
    ("said", "cosine", "outcome"),
    [
        ("My old laptop is slow.", 0.951, "update"),
        ("My old laptop is slow.", 0.94, "add"),  # not alike enough
        ("My laptop is slow after updates.", 0.99, "add"),  # grows by more than a half
        ("My car is slow.", 0.99, "add"),  # shares too little
    ],
)
def test_the_borders_of_an_update(tmp_path: Path, said: str, cosine: float, outcome: str) -> None:
    def embed(texts: list[str]) -> NDArray[np.float32]:
        away = (1 - cosine**2) ** 0.5
        rows = [[1.0, 0.0] if text == LAPTOP else [cosine, away] for text in texts]
        return np.array(rows, dtype=np.float32)

    stated = Stated(tmp_path / "facts.db", embed=embed)
    old = stated.add(LAPTOP)
    stated.later()
    new = stated.add(said)
    assert new.outcome == outcome
    assert stated.texts() == ([said] if outcome == "update" else [said, LAPTOP])
    assert new.claim == (old.id if outcome == "update" else new.id)
    stated.store.close()


def test_an_embedder_that_is_away_ends_nothing_and_fails_nobody(tmp_path: Path) -> None:
    def away(texts: list[str]) -> NDArray[np.float32]:
        raise ModelUnavailable("away")

    stated = Stated(tmp_path / "facts.db", embed=away)
    stated.add(LAPTOP)
    stated.later()
    assert stated.add("My old laptop is slow.").outcome == "add"
    stated.store.close()


def test_a_writer_that_is_always_too_late_says_so(
    stated: Stated, monkeypatch: pytest.MonkeyPatch
) -> None:
    stated.add("I live in Paris.")
    # As if another process changed a fact after every look.
    monkeypatch.setattr(stated.store, "put", lambda *_, **__: False)
    with pytest.raises(StoreBusy, match="50 times"):
        stated.add("I live in Rome.")


def test_many_threads_leave_one_value(stated: Stated) -> None:
    moments = [stated.later() for _ in range(12)]

    def say(number: int) -> None:
        stated.add(f"I weigh {60 + number} kilos.", at=moments[number])

    threads = [threading.Thread(target=say, args=(number,)) for number in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    stated.later()
    assert stated.texts() == ["I weigh 71 kilos."]
    assert len(stated.facts.list(user="ann", status="all")) == 12
