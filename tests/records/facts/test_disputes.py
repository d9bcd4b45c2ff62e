"""Two agents that hold different values of one attribute."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from holdfast.errors import InvalidInput, NotFound
from holdfast.records.facts.disputes import winner
from tests.records.facts.stating import ANN, DAY, Stated

HOUR = timedelta(hours=1)


@pytest.fixture
def stated(tmp_path: Path) -> Iterator[Stated]:
    made = Stated(tmp_path / "facts.db")
    made.add("I live in Paris.", agent="cook", origin="agent")
    made.later(HOUR)
    made.add("I live in Rome.", agent="guide", origin="agent")
    yield made
    made.store.close()


def test_a_dispute_is_told(stated: Stated) -> None:
    (dispute,) = stated.facts.conflicts(user="ann")
    assert [fact.content for fact in dispute.facts] == ["I live in Paris.", "I live in Rome."]
    assert (dispute.agents, dispute.slot, dispute.status) == (
        ("cook", "guide"),
        "user:home",
        "open",
    )


def test_it_is_not_a_fact_and_is_never_searched(stated: Stated) -> None:
    (dispute,) = stated.facts.conflicts(user="ann")
    assert dispute.id not in {fact.id for fact in stated.facts.list(user="ann", status="all")}
    (record,) = stated.store.get(ANN, [dispute.id])
    assert record.quiet == 2
    assert "Rome" not in record.content
    with pytest.raises(NotFound):
        stated.facts.get(dispute.id, user="ann")


def test_an_agent_does_not_learn_of_the_other_by_it(stated: Stated) -> None:
    assert stated.facts.conflicts(user="ann", agent="cook") == []


def test_the_same_value_is_no_dispute(stated: Stated) -> None:
    stated.add("I live in Rome.", agent="clerk")
    values = [{fact.content for fact in each.facts} for each in stated.facts.conflicts(user="ann")]
    assert {"I live in Rome."} not in values


def test_one_is_kept_by_hand(stated: Stated) -> None:
    (dispute,) = stated.facts.conflicts(user="ann")
    paris, rome = dispute.facts
    stated.later(HOUR)
    done = stated.facts.resolve(dispute.id, keep=paris.id, user="ann")
    assert (done.status, done.note) == ("resolved", f"resolved: {paris.id} was kept")
    assert stated.texts() == ["I live in Paris."]
    assert stated.facts.get(rome.id, user="ann").status == "invalidated"
    assert stated.facts.conflicts(user="ann") == []
    assert [each.id for each in stated.facts.conflicts(user="ann", status="all")] == [dispute.id]
    with pytest.raises(InvalidInput, match="resolved already"):
        stated.facts.resolve(dispute.id, keep=rome.id, user="ann")


def test_the_same_resolution_again_changes_nothing(stated: Stated) -> None:
    (dispute,) = stated.facts.conflicts(user="ann")
    keep = dispute.facts[0].id
    done = stated.facts.resolve(dispute.id, keep=keep, user="ann")
    stated.later(HOUR)
    assert stated.facts.resolve(dispute.id, keep=keep, user="ann") == done


def test_both_may_be_kept(stated: Stated) -> None:
    (dispute,) = stated.facts.conflicts(user="ann")
    assert stated.facts.resolve(dispute.id, keep="both", user="ann").status == "resolved"
    assert len(stated.texts()) == 2


def test_what_is_to_be_kept_must_be_one_of_them(stated: Stated) -> None:
    (dispute,) = stated.facts.conflicts(user="ann")
    with pytest.raises(InvalidInput, match="keep must be"):
        stated.facts.resolve(dispute.id, keep="0" * 32, user="ann")
    with pytest.raises(NotFound):
        stated.facts.resolve("0" * 32, keep="both", user="ann")


def test_nothing_is_decided_before_a_day_has_passed(stated: Stated) -> None:
    stated.later(24 * HOUR - timedelta(seconds=1))
    assert stated.facts.settle(ANN) == []
    stated.later(timedelta(seconds=1))
    assert len(stated.facts.settle(ANN)) == 1
    assert stated.facts.settle(ANN) == []


def test_trust_decides(stated: Stated) -> None:
    stated.store.set_agent_trust("default", "cook", 0.9, at=stated.now)
    stated.later(2 * DAY)
    stated.facts.settle(ANN)
    assert stated.texts() == ["I live in Paris."]
    (dispute,) = stated.facts.conflicts(user="ann", status="resolved")
    assert dispute.note.endswith("by trust")


def test_of_equals_the_later_one_holds(stated: Stated) -> None:
    stated.later(2 * DAY)
    stated.facts.settle(ANN)
    assert stated.texts() == ["I live in Rome."]


def test_a_dispute_of_which_one_side_has_ended_is_over(stated: Stated) -> None:
    (dispute,) = stated.facts.conflicts(user="ann")
    stated.facts.invalidate(dispute.facts[0].id, user="ann")
    assert stated.facts.settle(ANN) == [dispute.id]
    assert stated.texts() == ["I live in Rome."]


def test_the_winner_is_a_pure_function(stated: Stated) -> None:
    facts = stated.store.listed(ANN, tier="fact", kind="context")
    since = stated.now
    told: dict[str, Any] = {"since": since, "now": since + 2 * DAY}
    by_agent = {fact.agent: fact.id for fact in facts}
    assert winner(facts, {"cook": 0.6}, **told) == by_agent["cook"]
    assert winner(facts, {"cook": 0.4}, **told) == by_agent["guide"]
    assert winner(facts, {}, since=since, now=since + HOUR) is None
    assert winner(facts[:1], {}, **told) is None
    at_once = [replace(fact, valid_from=since) for fact in facts]
    assert winner(at_once, {}, **told) is None


def test_between_the_users_own_words_nobody_else_decides(tmp_path: Path) -> None:
    made = Stated(tmp_path / "facts.db")
    made.add("I live in Paris.", agent="cook", origin="user")
    made.add("I live in Rome.", agent="guide", origin="user")
    made.later(2 * DAY)
    assert made.facts.settle(ANN) == []
    assert len(made.facts.conflicts(user="ann")) == 1
    made.store.close()


@pytest.mark.parametrize("origin", ["web", "agent"])
def test_what_others_say_never_ends_what_the_user_said(tmp_path: Path, origin: str) -> None:
    made = Stated(tmp_path / "facts.db")
    made.add("I live in Paris.", agent="cook", origin="user")
    made.later(HOUR)
    made.add("I live in Rome.", agent="guide", origin=origin)
    made.store.set_agent_trust("default", "guide", 1.0, at=made.now)
    made.later(2 * DAY)
    made.facts.settle(ANN)
    assert made.texts() == ["I live in Paris."]
    made.store.close()
