"""The nightly round: what it does, does not do, and how it is undone."""

from datetime import timedelta
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from holdfast.errors import InvalidInput
from holdfast.language.statements.values import Dispute
from holdfast.types import Scope
from holdfast.upkeep.nightly import JOBS, NightlyRound, Rules
from tests.upkeep.living import ANN, DAY, NOON, Living, derived, living

SAME = ["The build runs on Linux", "The build runs on Linux.", "the build runs on Linux!"]
YEARS = 3650 * DAY


def keeper(alive: Living, **given: Any) -> NightlyRound:
    return NightlyRound(
        alive.store,
        rules=Rules(**{"shadow": False, **given}),
        steps=lambda: alive.memory._worker.steps,
    )


def doubtful(count: int, **given: Any) -> list[Any]:
    """Facts that nobody will miss."""
    usual = {"origin": "web", "importance": 0.0, "confidence": 0.6}
    return [derived(f"Rumour number {i}.", **{**usual, **given}) for i in range(count)]


def archived(alive: Living, scope: Scope = ANN) -> int:
    every = [r for t in ("fact", "note") for r in alive.store.listed(scope, tier=t, archived=True)]
    return sum(each.archived_at is not None for each in every)


def test_in_shadow_mode_nothing_is_written(alive: Living) -> None:
    alive.put(*doubtful(30), *(derived(text) for text in SAME))
    before = alive.dump()
    done = NightlyRound(alive.store).run(now=alive.later(100 * DAY))
    assert alive.dump() == before
    assert {each.job for each in done} == {"consolidation", "staleness", "retention"}
    assert all(each.shadow and not each.changed and each.acts for each in done)


def test_at_most_a_hundredth_or_ten_a_day_are_put_aside_and_all_come_back(alive: Living) -> None:
    ids = alive.put(*doubtful(30))
    alive.later(100 * DAY)
    done = keeper(alive).run(now=alive.now)
    assert archived(alive) == 10
    assert alive.found("rumour", tiers=["fact"], limit=50) != []
    alive.later()
    keeper(alive).run(now=alive.now)
    assert archived(alive) == 20
    (first, *_) = done
    assert first.job == "staleness"
    back = keeper(alive).undo(ANN, first.run, now=alive.now)
    assert sorted(back) == sorted(first.changed)
    assert archived(alive) == 10
    assert keeper(alive).restore(ANN, ids, now=alive.now) != []
    assert archived(alive) == 0
    assert len(alive.found("rumour", tiers=["fact"], limit=50)) == 30


def test_what_is_put_aside_is_hidden_unless_wanted_and_says_why(alive: Living) -> None:
    (id,) = alive.put(*doubtful(1))
    alive.later(100 * DAY)
    (done,) = keeper(alive).run(now=alive.now, names=["retention"])
    assert done.changed == (id,)
    assert alive.found("rumour") == []
    assert alive.found("rumour", filters={"archived": True}) == ["Rumour number 0."]
    (line,) = [each for each in alive.store.history(ANN, id) if each.action == "archived"]
    assert line.note is not None
    assert line.note.startswith(f"{done.run}: retention 0.0")


def test_what_was_brought_back_is_left_alone(alive: Living) -> None:
    (id,) = alive.put(*doubtful(1))
    alive.later(100 * DAY)
    keeper(alive).run(now=alive.now)
    assert alive.get(id).archived_at is not None
    keeper(alive).restore(ANN, [id], now=alive.now)
    for _ in range(3):
        keeper(alive).run(now=alive.later(2 * DAY))
    assert alive.get(id).archived_at is None


def test_twice_is_once(alive: Living) -> None:
    alive.put(*doubtful(30), *(derived(text) for text in SAME))
    alive.put(*(derived(f"Note {i} by an agent.", tier="note", importance=0.0) for i in range(30)))
    alive.later(100 * DAY)
    assert keeper(alive).run(now=alive.now) != []
    once = alive.dump()
    # Not due again; and where it is made to run, there is nothing left to do today.
    assert keeper(alive).run(now=alive.now) == []
    again = keeper(alive).run(now=alive.now, names=JOBS)
    assert alive.dump() == once
    assert not any(each.changed for each in again)


def test_it_is_due_once_a_day(alive: Living) -> None:
    alive.put(*doubtful(60))
    alive.later(100 * DAY)
    assert keeper(alive).run(now=alive.now) != []
    assert keeper(alive).run(now=alive.later(DAY - timedelta(seconds=1))) == []
    assert keeper(alive).run(now=alive.later(timedelta(seconds=1))) != []


def test_protected_records_never_go(alive: Living) -> None:
    alive.memory.remember("Always answer in French, please.", user="ann")
    said = doubtful(5, origin="user")
    pinned = [
        derived(f"Pinned {i}.", origin="web", importance=0.0, data={"pinned": True})
        for i in range(5)
    ]
    alive.put(*said, *pinned)
    alive.later(YEARS)
    for _ in range(5):
        keeper(alive, limits={"fact": 1}).run(now=alive.later(2 * DAY))
    assert archived(alive) == 0
    assert alive.found("French") != []


@pytest.mark.parametrize("jump", [YEARS, -YEARS], ids=["ten years on", "ten years back"])
def test_a_clock_that_jumps_deletes_nothing(alive: Living, jump: timedelta) -> None:
    alive.memory.remember([{"content": f"Turn {i} of a talk."} for i in range(5)], user="ann")
    ids = alive.put(*doubtful(300), *(derived(f"Note {i}.", tier="note") for i in range(300)))
    stats = alive.store.stats()
    for _ in range(3):  # A clock that is away and comes back, again and again.
        alive.later(jump)
        keeper(alive).run(now=alive.now, names=JOBS)
        alive.later(-jump)
        keeper(alive).run(now=alive.now, names=JOBS)
    after = alive.store.stats()
    assert (after["events"], after["records"]) == (stats["events"], stats["records"])
    assert archived(alive) <= 10
    keeper(alive).restore(ANN, ids, now=alive.now)
    assert archived(alive) == 0
    assert len(alive.store.listed(ANN, tier="fact")) == 300
    assert len(alive.store.listed(ANN, tier="note")) == 300


def test_near_duplicates_become_one_and_stand_apart_again(alive: Living) -> None:
    ids = alive.put(*(derived(text) for text in SAME))
    alive.later()
    (done,) = keeper(alive).run(now=alive.now, names=["consolidation"])
    assert sorted(done.changed) == sorted(ids)
    (one,) = alive.store.listed(ANN, tier="fact")
    assert one.data["consolidated_from"] == sorted(ids)
    alive.memory.drain()
    assert alive.found("build on Linux", tiers=["fact"]) == [one.content]
    assert [alive.actions(id)[-1] for id in ids] == ["superseded"] * 3
    # What was known before still is what was known before.
    assert len(alive.found("build on Linux", tiers=["fact"], known_at=NOON)) == 3
    assert sorted(keeper(alive).undo(ANN, done.run, now=alive.later())) == sorted(ids)
    assert sorted(each.id for each in alive.store.listed(ANN, tier="fact")) == sorted(ids)
    # Somebody did not want it: it is not done again.
    assert keeper(alive).run(now=alive.later(), names=["consolidation"]) == []


def test_several_clusters_in_one_night(alive: Living) -> None:
    alive.put(*(derived(text) for text in SAME))
    alive.put(*(derived(text.replace("build", "server")) for text in SAME))
    (done,) = keeper(alive).run(now=alive.now, names=["consolidation"])
    assert len(done.changed) == 6
    assert len(alive.store.listed(ANN, tier="fact")) == 2


def test_agents_keep_what_is_theirs(alive: Living) -> None:
    mine = Scope("default", "ann", agent="a")
    alive.put(*(derived(text, visibility="agent_only") for text in SAME), scope=mine)
    keeper(alive).run(now=alive.now, names=["consolidation"])
    (one,) = alive.store.listed(ANN, tier="fact")
    assert (one.agent, one.visibility) == ("a", "agent_only")


def test_every_owner_has_its_own_turn_and_cap(alive: Living) -> None:
    bob, eve = Scope("default", "bob"), Scope("other", "eve")
    for scope in (ANN, bob, eve):
        alive.put(*doubtful(20), scope=scope)
    alive.later(100 * DAY)
    keeper(alive).run(now=alive.now, scope=bob, names=["retention"])
    assert [archived(alive, scope) for scope in (ANN, bob, eve)] == [0, 10, 0]
    keeper(alive).run(now=alive.now)
    assert [archived(alive, scope) for scope in (ANN, bob, eve)] == [10, 10, 10]


def test_a_full_tier_is_brought_to_its_limit_day_by_day(alive: Living) -> None:
    alive.put(*(derived(f"Fact {i}.", importance=1.0) for i in range(25)))
    rules = {"limits": {"fact": 10}}
    (done,) = keeper(alive, **rules).run(now=alive.now, names=["capacity"])
    assert (len(done.changed), len(done.acts)) == (10, 10)
    keeper(alive, **rules).run(now=alive.later(), names=["capacity"])
    assert archived(alive) == 15
    assert keeper(alive, **rules).run(now=alive.later(), names=["capacity"]) == []


def test_conflicts_are_settled_first_but_not_in_shadow(alive: Living) -> None:
    alive.put(derived("A fact."))
    asked = []

    def settle(scope: Scope, run: str) -> list[str]:
        asked.append((scope, run))
        return ["c1"]

    NightlyRound(alive.store, settle=settle).run(now=alive.now)
    assert asked == []
    done = NightlyRound(alive.store, settle=settle, rules=Rules(shadow=False)).run(
        now=alive.later()
    )
    assert asked == [(ANN, done[0].run)]
    assert [(each.job, each.changed) for each in done] == [("conflicts", ("c1",))]


def disputed(alive: Living) -> Dispute:
    """Two agents that differ, since more than a day."""
    for agent, city in (("cook", "Paris"), ("guide", "Rome")):
        alive.memory.facts.add(f"I live in {city}.", user="ann", agent=agent, origin="agent")
        alive.later(timedelta(hours=1))
    alive.later(2 * DAY)
    (dispute,) = alive.memory.facts.conflicts(user="ann")
    return dispute


def held_facts(alive: Living) -> list[str]:
    return sorted(fact.content for fact in alive.memory.facts.list(user="ann"))


def test_what_a_round_settled_is_open_again_when_it_is_undone(alive: Living) -> None:
    dispute = disputed(alive)
    paris, _ = dispute.facts
    life, facts = alive.memory.life, alive.memory.facts
    (done,) = life.run(now=alive.now, names=["conflicts"], shadow=False)
    assert held_facts(alive) == ["I live in Rome."]
    assert facts.conflicts(user="ann") == []
    assert life.undo(ANN, "nightly conflicts 1999-01-01T00:00", now=alive.now) == []
    back = life.undo(ANN, done.run, now=alive.later())
    assert sorted(back) == sorted([paris.id, dispute.id])
    assert held_facts(alive) == ["I live in Paris.", "I live in Rome."]
    assert [each.id for each in facts.conflicts(user="ann")] == [dispute.id]
    assert alive.actions(paris.id) == ["stored", "invalidated", "reopened"]
    assert life.undo(ANN, done.run, now=alive.now) == []
    # From now on it is for somebody to resolve.
    assert life.run(now=alive.later(9 * DAY), names=["conflicts"], shadow=False) == []
    assert facts.resolve(dispute.id, keep=paris.id, user="ann").status == "resolved"
    assert held_facts(alive) == ["I live in Paris."]


def test_what_was_told_since_a_round_settled_stays(alive: Living) -> None:
    disputed(alive)
    life = alive.memory.life
    (done,) = life.run(now=alive.now, names=["conflicts"], shadow=False)
    alive.later()
    alive.memory.facts.add("I live in Berlin.", user="ann", agent="cook", origin="agent")
    assert life.undo(ANN, done.run, now=alive.later()) == []
    assert held_facts(alive) == ["I live in Berlin.", "I live in Rome."]


def test_an_unknown_job_is_named(alive: Living) -> None:
    with pytest.raises(InvalidInput, match="'retentoin' is not a job; known: conflicts"):
        keeper(alive).run(now=alive.now, names=["retentoin"])


@pytest.mark.slow
@settings(
    max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(st.lists(st.integers(-4000, 4000), min_size=1, max_size=6))
def test_whatever_the_clock_does_all_is_there(
    tmp_path_factory: pytest.TempPathFactory, jumps: list[int]
) -> None:
    with living(tmp_path_factory.mktemp("m") / "m.db") as alive:
        ids = alive.put(*doubtful(40))
        for days in jumps:
            alive._clock[0] = NOON + days * DAY
            before = archived(alive)
            keeper(alive).run(now=alive.now)
            assert archived(alive) - before <= 10
        keeper(alive).restore(ANN, ids, now=alive.now)
        assert sorted(each.id for each in alive.store.listed(ANN, tier="fact")) == sorted(ids)
