"""The contract of a store: the life of records, and what only some of them have."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from datetime import timedelta

import pytest

from holdfast.records.entries import index_row
from holdfast.store.protocols import Derived, Store
from holdfast.testing.store_builders import (
    ANN,
    BOB,
    DIM,
    EMBED,
    NOON,
    OTHER_ANN,
    a_fact,
    a_name,
    actions,
    an_entry,
    claim,
    claim_group,
    current_facts,
    learn,
    put,
    say,
    vector,
)
from holdfast.testing.store_heard import change_of, ill, the
from holdfast.types import Record, Scope

DAY = timedelta(days=1)
LATE = NOON + 3 * DAY
FACT = a_fact(50).id


def touch(
    store: Store, *ids: str, action: str = "used", strength: float | None = 0.7, days: float = 1
) -> list[str]:
    """Touch Ann's records so many days after noon."""
    return store.touch(
        ANN, ids, at=NOON + days * DAY, action=action, strength=lambda record: strength
    )


def _holding(store: Store, scope: Scope) -> dict[str, int]:
    """How many records of each tier hold; of others none."""
    found = Counter[str]()
    for each in store.growth(scope):
        found[each.tier] += each.holding
    return dict(+found)


class LifeSuite:
    """What `RecordLife` promises."""

    def test_a_use_is_counted_once_a_day(self, store: Store) -> None:
        learn(store, ANN, a_fact(50), a_fact(51))
        assert (the(store, 50).uses, the(store, 50).strength) == (0, None)
        assert touch(store, a_fact(51).id, FACT, FACT, "f" * 32, "no id") == [a_fact(51).id, FACT]
        used = the(store, 50)
        assert (used.uses, used.strength, used.seen_at) == (1, 0.7, NOON + DAY)
        head = store.head(ANN)
        assert touch(store, FACT, strength=0.9, days=1.4) == []
        assert (the(store, 50), store.head(ANN)) == (used, head), "a second use changes nothing"
        assert touch(store, FACT, strength=0.9, days=1.6) == [FACT], "midnight has passed"
        assert (the(store, 50).uses, the(store, 50).strength) == (2, 0.9)
        assert actions(store, FACT) == ["stored"], "uses are not told one by one"

    def test_strength_follows_from_the_record_as_it_is(self, store: Store) -> None:
        learn(store, ANN, a_fact(50))
        told: list[float | None] = []

        def more(record: Record) -> float:
            told.append(record.strength)
            return (record.strength or 0.5) + 0.125

        for action in ("used", "praised", "blamed"):
            store.touch(ANN, [FACT], at=LATE, action=action, strength=more)
        assert told == [None, 0.625, 0.75]
        assert the(store, 50).strength == 0.875
        store.touch(ANN, [FACT], at=LATE, action="praised", strength=lambda record: None)
        assert the(store, 50).strength == 0.875, "None leaves it"

    def test_praise_and_blame_are_told_each_time(self, store: Store) -> None:
        learn(store, ANN, a_fact(50))
        touch(store, FACT, action="praised")
        touch(store, FACT, action="blamed")
        touch(store, FACT, action="praised")
        assert actions(store, FACT) == ["stored", "praised", "blamed", "praised"]
        assert the(store, 50).uses == 0

    def test_a_clock_that_runs_behind_turns_nothing_back(self, store: Store) -> None:
        learn(store, ANN, a_fact(50))
        touch(store, FACT, days=2)
        assert touch(store, FACT, days=-3) == [FACT]
        assert the(store, 50).seen_at == NOON + 2 * DAY
        learn(store, ANN, a_fact(51))
        touch(store, a_fact(51).id, days=-3)
        assert the(store, 51).seen_at == NOON, "not before it was known"

    def test_what_was_done_to_a_record_is_in_the_feed(self, store: Store) -> None:
        (event,) = put(store, ANN, an_entry(1))
        learn(store, ANN, a_fact(50, event))
        fresh = change_of(store, 50)
        assert (fresh.seen_us, fresh.strength) == (fresh.known_us, -1.0)
        assert (fresh.quiet, fresh.archived, fresh.private) == (0, False, False)
        touch(store, FACT)
        change = change_of(store, 50)
        assert change.change > fresh.change
        assert (change.seen_us - fresh.seen_us, change.strength) == (86_400_000_000, 0.7)
        store.archive(ANN, [FACT], at=LATE, reason="old")
        assert change_of(store, 50).archived
        assert change_of(store, 50).change == store.head(ANN).change
        assert store.head(ANN).epoch == 0, "no index has to start over"

    def test_turns_live_too(self, store: Store) -> None:
        a, b = put(store, ANN, an_entry(1), an_entry(2))
        before = store.changes(ANN, after=0)
        assert [(each.seen_us, each.strength) for each in before] == [
            (before[0].known_us, -1.0)
        ] * 2
        assert touch(store, a, action="blamed", strength=0.25) == [a]
        store.archive(ANN, [b], at=LATE, reason="done")
        changes = {each.id: each for each in store.changes(ANN, after=0)}
        assert len(changes) == 2
        assert (changes[a].strength, changes[a].archived, changes[a].tier) == (
            0.25,
            False,
            "session",
        )
        assert (changes[b].strength, changes[b].archived, changes[b].order) == (-1.0, True, 2)
        (turn,) = store.get(ANN, [a])
        assert (turn.strength, turn.content) == (0.25, "I drink tea.")
        assert [each.id for each in store.listed(ANN, tier="session")] == [a]
        assert ill(store) == []

    def test_what_is_put_aside_is_listed_only_if_asked_for(self, store: Store) -> None:
        learn(store, ANN, a_fact(50), a_fact(51))
        asked = [FACT, "f" * 32, FACT, "no id"]
        assert store.archive(ANN, asked, at=LATE, reason="weak") == [FACT]
        assert store.archive(ANN, [FACT], at=LATE, reason="again") == []
        assert current_facts(store) == [a_fact(51).id]
        assert len(store.listed(ANN, tier="fact", archived=True)) == 2
        assert the(store, 50).archived_at == LATE
        assert store.archive(
            ANN, [FACT, a_fact(51).id], at=LATE, reason="asked for", undo=True
        ) == [FACT]
        assert len(current_facts(store)) == 2
        assert the(store, 50).archived_at is None
        lines = [(line.action, line.note, line.at) for line in store.history(ANN, FACT)]
        assert lines[1:] == [("archived", "weak", LATE), ("unarchived", "asked for", LATE)]

    def test_a_tally_counts_what_holds(self, store: Store) -> None:
        events = say(store, ANN, an_entry(1), an_entry(2))
        say(store, BOB, an_entry(3))
        learn(store, ANN, a_fact(50), a_fact(51), a_fact(52), a_fact(53))
        assert _holding(store, ANN) == {"fact": 4, "session": 2}
        store.archive(ANN, [FACT], at=LATE, reason="")
        store.end(ANN, [a_fact(51).id], at=LATE, valid_to=LATE, reason="")
        store.forget(ANN, [a_fact(52).id], at=LATE)
        store.forget(ANN, [events[0]], at=LATE)
        assert _holding(store, ANN) == {"fact": 1, "session": 1}
        assert _holding(store, OTHER_ANN) == {}

    def test_a_tally_counts_what_the_asker_sees(self, store: Store) -> None:
        a, b = replace(ANN, agent="a"), replace(ANN, agent="b")
        say(store, a, an_entry(1), an_entry(2, visibility="agent_only"))
        say(store, ANN, an_entry(3))
        learn(store, a, a_fact(50), a_fact(51, visibility="agent_only"))
        assert _holding(store, ANN) == {"fact": 1, "session": 2}
        assert _holding(store, a) == {"fact": 2, "session": 3}
        assert _holding(store, b) == {"session": 1}

    def test_what_is_told_again_is_no_longer_put_aside(self, store: Store) -> None:
        events = say(store, ANN, an_entry(1), an_entry(2))
        learn(store, ANN, a_fact(50), a_fact(51), a_fact(52, events[0]))
        ids = [a_fact(number).id for number in (50, 51, 52)]
        store.archive(ANN, ids, at=LATE, reason="")
        learn(store, ANN, a_fact(50), a_fact(51, confidence=0.1))
        assert current_facts(store) == ids[:2]
        jobs = claim_group(store)
        store.learn(ANN, jobs[:1], [a_fact(52, events[0])], known_at=LATE, steps=[])
        assert current_facts(store) == ids[:2], "the same from the same turn is nothing new"
        store.learn(ANN, jobs[1:], [a_fact(52, events[1])], known_at=LATE, steps=[])
        assert sorted(current_facts(store)) == ids
        assert ill(store) == []

    def test_what_is_forgotten_has_no_life_but_keeps_its_state(self, store: Store) -> None:
        (event,) = put(store, ANN, an_entry(1))
        learn(store, ANN, a_fact(50, event))
        store.archive(ANN, [FACT], at=NOON, reason="")
        store.forget(ANN, [event], at=NOON)
        for done in (
            touch(store, FACT),
            store.archive(ANN, [event, FACT], at=LATE, reason=""),
            store.archive(ANN, [FACT], at=LATE, undo=True),
            store.end(ANN, [FACT], at=LATE, valid_to=LATE, reason=""),
        ):
            assert done == []
        store.forget(ANN, [event], at=NOON, undo=True)
        assert the(store, 50).archived_at == NOON
        assert ill(store) == []
        store.forget(ANN, [event], at=NOON)
        assert store.wipe(forgotten_before=LATE) == 2
        assert store.listed(ANN, tier="fact", archived=True) == []

    def test_what_is_ended_held_until_then(self, store: Store) -> None:
        learn(store, ANN, a_fact(50), a_fact(51, valid_to=NOON + DAY), a_fact(52))
        ids = [a_fact(number).id for number in (50, 51, 52)]
        store.end(ANN, ids[:2], at=LATE, valid_to=NOON + 2 * DAY, reason="it was wrong")
        ends = [(the(store, n).valid_to, the(store, n).known_to) for n in (50, 51)]
        assert ends == [(NOON + 2 * DAY, LATE), (NOON + DAY, LATE)]
        assert current_facts(store) == ids[2:]
        assert store.end(ANN, ids[:1], at=LATE + DAY, valid_to=NOON, reason="") == []
        store.end(ANN, ids[2:], at=LATE, valid_to=NOON - DAY, reason="", action="superseded")
        assert the(store, 52).valid_to == NOON, "nothing ends before it began"
        last = [store.history(ANN, each)[-1] for each in ids]
        assert [(line.action, line.note) for line in last] == [
            ("invalidated", "it was wrong"),
            ("invalidated", "it was wrong"),
            ("superseded", None),
        ]
        assert ill(store) == []

    def test_an_end_can_be_undone(self, store: Store) -> None:
        learn(store, ANN, a_fact(50), a_fact(51))
        learn(store, ANN, a_fact(52, supersedes=(FACT,)))
        store.end(ANN, [a_fact(51).id], at=LATE, valid_to=LATE, reason="")
        asked = [FACT, a_fact(51).id, a_fact(52).id]
        assert store.end(ANN, asked, valid_to=None, at=LATE, reason="no, it holds") == asked[:2]
        assert len(current_facts(store)) == 3
        line = store.history(ANN, FACT)[-1]
        assert (line.action, line.note, line.at) == ("reopened", "no, it holds", LATE)
        assert store.end(ANN, asked, valid_to=None, at=LATE) == []

    def test_what_has_an_end_can_be_shortened(self, store: Store) -> None:
        learn(store, ANN, a_fact(50), a_fact(51), a_fact(52, valid_to=LATE))
        ids = [FACT, a_fact(51).id, a_fact(52).id]
        store.end(ANN, [FACT], at=LATE, valid_to=LATE, reason="over")

        def shorten(scope: Scope, *given: str) -> list[str]:
            until = NOON + DAY
            return store.end(
                scope, given, at=LATE + DAY, valid_to=until, reason="told late", ended=True
            )

        assert shorten(BOB, *ids) == []
        assert shorten(ANN, *ids, "f" * 32) == [ids[0], ids[2]]
        assert shorten(ANN, *ids) == []
        assert (the(store, 50).valid_to, the(store, 50).known_to) == (NOON + DAY, LATE)
        assert (the(store, 52).valid_to, the(store, 52).known_to) == (NOON + DAY, None)
        assert the(store, 51).valid_to is None
        assert actions(store, FACT)[-2:] == ["invalidated", "invalidated"]
        assert actions(store, ids[2])[-1] == "superseded"
        store.end(ANN, [FACT], at=LATE, valid_to=NOON - DAY, reason="", ended=True)
        assert the(store, 50).valid_to == the(store, 50).valid_from, "none ends before it began"

    def test_what_is_told_late_shortens_what_it_names(self, store: Store) -> None:
        learn(store, ANN, a_fact(50, valid_to=LATE))
        learn(store, ANN, a_fact(51, valid_from=NOON + DAY, shortens=(FACT,), reason="told late"))
        assert the(store, 50).valid_to == NOON + DAY
        assert store.history(ANN, FACT)[-1].note == "told late"

    def test_many_are_forgotten_and_restored_at_once(self, store: Store) -> None:
        learn(store, ANN, *(a_fact(50 + i) for i in range(3)))
        ids = [a_fact(50 + i).id for i in range(3)]
        store.forget(ANN, [ids[1]], at=LATE)
        asked = [*ids, ids[0], "f" * 32, "no id"]
        assert store.forget(BOB, asked, at=LATE) == []
        assert store.forget(ANN, asked, at=LATE) == [ids[0], ids[2]]
        assert current_facts(store) == []
        assert store.forget(ANN, asked, at=LATE) == []
        assert store.forget(OTHER_ANN, asked, at=LATE, undo=True) == []
        assert store.forget(ANN, asked[1:], at=LATE, undo=True) == [ids[1], ids[2], ids[0]]
        assert actions(store, ids[0]) == actions(store, ids[1]) != []
        assert actions(store, ids[0])[-2:] == ["forgotten", "restored"]

    def test_no_life_crosses_a_scope(self, store: Store) -> None:
        learn(store, ANN, a_fact(50))
        before = list(store.dump())
        for scope in (BOB, OTHER_ANN):
            put(store, scope, an_entry(7))
            assert (
                store.touch(scope, [FACT], at=LATE, action="used", strength=lambda _: 1.0)
                == store.archive(scope, [FACT], at=LATE, reason="")
                == store.end(scope, [FACT], at=LATE, valid_to=LATE, reason="")
                == store.end(scope, [FACT], valid_to=None, at=LATE)
                == store.archive(scope, [FACT], at=LATE, undo=True)
                == []
            )
        mine = [row for row in store.dump() if row.scope.workspace == "home"]
        assert [row for row in mine if row.scope.user == "ann"] == before

    def test_a_bad_strength_leaves_everything_as_it_was(self, store: Store) -> None:
        learn(store, ANN, a_fact(50), a_fact(51))
        before = list(store.dump())
        strengths = iter((0.5, 7.0))
        with pytest.raises(Exception, match=r"(?i)check|constraint"):
            store.touch(
                ANN,
                [FACT, a_fact(51).id],
                at=LATE,
                action="used",
                strength=lambda record: next(strengths),
            )
        assert list(store.dump()) == before


class OwnSuite:
    """What `Records` promises of what only some records have: a voice, metadata, a reason."""

    def test_quiet_visibility_and_metadata_come_back(self, store: Store) -> None:
        fact = a_fact(50, quiet=1, visibility="agent_only", metadata={"page": 3})
        learn(store, replace(ANN, agent="a"), fact, a_fact(51))
        record = the(store, 50)
        assert (record.quiet, record.visibility, record.metadata) == (1, "agent_only", {"page": 3})
        change = change_of(store, 50)
        assert (change.quiet, change.private, change.agent) == (1, True, "a")
        assert (the(store, 51).quiet, the(store, 51).visibility) == (0, None)
        assert not change_of(store, 51).private

    def test_own_metadata_stands_before_that_of_the_turn(self, store: Store) -> None:
        (event,) = put(store, ANN, an_entry(1, metadata={"turn": 7}))
        learn(store, ANN, a_fact(50, event, metadata={"page": 3}), a_fact(51, event))
        assert [the(store, n).metadata for n in (50, 51)] == [{"page": 3}, {"turn": 7}]
        learn(store, ANN, a_fact(50, event, confidence=0.1))
        assert the(store, 50).metadata == {"page": 3}, "not given is left as it is"
        learn(store, ANN, a_fact(50, event, confidence=0.1, metadata={}))
        assert the(store, 50).metadata == {"turn": 7}
        assert actions(store, FACT) == ["stored", "changed", "changed"]

    def test_what_is_only_listed_is_never_embedded(self, store: Store) -> None:
        space = store.use_space("model", DIM, 1)
        learn(store, ANN, a_fact(50, quiet=2), a_fact(51, quiet=1))
        assert [int(job.subject, 16) for job in store.jobs()] == [51]
        store.finish(claim(store), space=space.id, vectors=[vector(a_fact(51).id)])
        assert store.rebuild(index_row, steps=[EMBED]) == 0
        assert ill(store) == []
        learn(store, ANN, a_fact(50), a_fact(51, quiet=2))
        assert [int(job.subject, 16) for job in store.jobs()] == [50]
        assert store.vectors(ANN, space.id, after=0) == []
        assert ill(store) == []

    def test_what_it_ends_says_why(self, store: Store) -> None:
        learn(store, ANN, a_fact(50), a_fact(51))
        ended = a_fact(52, supersedes=(FACT,), reason="moved", ends="invalidated")
        learn(store, ANN, ended, a_fact(53, supersedes=(a_fact(51).id,)))
        last = [store.history(ANN, a_fact(n).id)[-1] for n in (50, 51)]
        assert [(line.action, line.note) for line in last] == [
            ("invalidated", "moved"),
            ("superseded", None),
        ]

    @pytest.mark.parametrize("tier", ["knowledge", "note", "procedure", "workspace", "fact"])
    def test_what_was_written_stands_without_a_turn(self, store: Store, tier: str) -> None:
        events = put(store, ANN, an_entry(1), an_entry(2))
        learn(store, ANN, a_fact(50, tier=tier), a_fact(51, events[0], tier=tier))
        for number in (50, 51):
            learn(store, ANN, a_fact(number, *events, tier=tier))
        for event in events:
            store.forget(ANN, [event], at=NOON)
        assert [int(each.id, 16) for each in store.listed(ANN, tier=tier)] == [50]
        assert store.wipe(forgotten_before=LATE) == 3
        (left,) = store.listed(ANN, tier=tier)
        assert (int(left.id, 16), left.sources) == (50, ())
        assert ill(store) == []

    def test_a_plan_is_stale_when_one_of_its_tiers_has_changed(self, store: Store) -> None:
        def planned(since: int, *tiers: str) -> bool:
            facts = [a_fact(60)]
            return store.put(ANN, facts, known_at=NOON, steps=[], since=since, tiers=tiers)

        learn(store, ANN, a_fact(50))
        since = store.head(ANN).change
        learn(store, ANN, a_fact(51))
        assert not planned(since, "graph", "fact")
        assert store.get(ANN, [a_fact(60).id]) == []
        assert planned(since, "graph")
        since = store.head(ANN).change
        learn(store, ANN, a_name(70))
        assert planned(since, "fact")
        assert not planned(since, "graph", "fact")

    def test_what_is_learned_is_planned_anew_when_a_tier_has_changed(self, store: Store) -> None:
        (event,) = say(store, ANN, an_entry(1))
        jobs, since = claim_group(store), store.head(ANN).change
        learn(store, ANN, a_fact(51))
        facts: list[Derived] = [a_fact(50, event)]
        tiers = ("graph", "fact")
        learned = [
            store.learn(ANN, jobs, facts, known_at=NOON, steps=[], since=moment, tiers=tiers)
            for moment in (since, store.head(ANN).change)
        ]
        assert learned == [None, 1]
