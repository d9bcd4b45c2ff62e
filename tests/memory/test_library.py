"""Looking through a memory: get, list, update, batch, reset by source, growth, fading."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

import holdfast
from holdfast.errors import HoldfastError, InvalidInput, NotFound, TooLarge
from holdfast.memory.memory import Memory
from holdfast.testing import HashEmbedder
from tests.clock import Clock

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)


@pytest.fixture
def clock() -> Clock:
    return Clock(NOON)


@pytest.fixture
def memory(tmp_path: Path, clock: Clock) -> Iterator[Memory]:
    with holdfast.open(
        tmp_path / "m.db", embedder=HashEmbedder(), clock=clock, worker=False,
        config={"extraction.provider": "rules", "proxy.apiKey": "sk-secret"},
    ) as memory:  # fmt: skip
        yield memory


def say(memory: Memory, text: str, user: str = "ann", **more: object) -> str:
    return memory.remember(text, user=user, **more).events[0]  # type: ignore[arg-type]


# get


def test_a_memory_of_any_tier_is_given_with_its_times(memory: Memory, clock: Clock) -> None:
    turn = say(memory, "I moved to Lisbon.", session="s", agent="cook", metadata={"page": 3})
    found = memory.get(turn, user="ann")
    assert (found.content, found.tier, found.kind, found.origin) == (
        "I moved to Lisbon.", "session", "turn", "user",
    )  # fmt: skip
    assert (found.session, found.agent, found.metadata) == ("s", "cook", {"page": 3})
    assert (found.created_at, found.known_from, found.valid_to) == (NOON, NOON, None)
    fact = memory.facts.add("I live in Paris.", user="ann")
    clock.now += timedelta(days=1)
    memory.facts.invalidate(fact.id, user="ann")
    ended = memory.get(fact.id, user="ann")
    assert (ended.valid_to, ended.known_to) == (clock.now, clock.now)


def test_what_is_not_there_or_not_ones_own_is_not_found(memory: Memory) -> None:
    turn = say(memory, "I moved to Lisbon.", user="bob")
    for id in (turn, "0" * 32, "", "x" * 900):
        with pytest.raises(NotFound, match="there is no memory"):
            memory.get(id, user="ann")
    assert memory.get(turn, user="bob").id == turn


def test_what_belongs_to_the_team_is_given_too(memory: Memory) -> None:
    entry = memory.team.write("We deploy on Fridays.", type="decision")
    assert memory.get(entry.id, user="ann").tier == "workspace"


# list


def test_pages_meet(memory: Memory, clock: Clock) -> None:
    turns = []
    for number in range(5):
        clock.now += timedelta(minutes=1)
        turns.append(say(memory, f"This is turn {number}."))
    first = memory.list(user="ann", limit=2)
    say(memory, "This comes in between.")
    second = memory.list(user="ann", limit=2, cursor=first.next)
    third = memory.list(user="ann", limit=2, cursor=second.next)
    pages = (first, second, third)
    assert [each.id for page in pages for each in page.memories] == turns[::-1]
    assert third.next is None
    assert memory.list(user="bob").memories == ()


def test_a_list_can_be_narrowed(memory: Memory, clock: Clock) -> None:
    say(memory, "I like tea.", session="s")
    note = memory.notes.add("Chose Postgres.", category="decision", user="ann")
    clock.now += timedelta(days=1)
    say(memory, "I like rye bread.")
    assert [each.id for each in memory.list(user="ann", tiers=["note"]).memories] == [note.id]
    assert [each.id for each in memory.list(user="ann", kind="decision").memories] == [note.id]
    (said,) = memory.list(user="ann", session="s").memories
    assert said.content == "I like tea."
    (late,) = memory.list(user="ann", since=clock.now).memories
    assert late.content == "I like rye bread."
    assert len(memory.list(user="ann", until=clock.now).memories) == 2


def test_what_ended_is_shown_if_it_is_wanted(memory: Memory) -> None:
    fact = memory.facts.add("I live in Paris.", user="ann")
    memory.facts.update(fact.id, "I live in Rome.", user="ann")
    assert [each.content for each in memory.list(user="ann").memories] == ["I live in Rome."]
    shown = memory.list(user="ann", ended=True).memories
    assert {each.content for each in shown} == {"I live in Rome.", "I live in Paris."}


def test_a_list_can_be_of_a_status_an_origin_and_a_speaker(memory: Memory) -> None:
    fact = memory.facts.add("I live in Paris.", user="ann")
    memory.facts.update(fact.id, "I live in Rome.", user="ann")
    memory.remember({"role": "assistant", "content": "Noted.", "name": "Max"}, user="ann")

    def listed(**which: Any) -> list[str]:
        return [each.content for each in memory.list(user="ann", **which).memories]

    assert listed(status="ended") == ["I live in Paris."]
    assert sorted(listed(status="all")) == ["I live in Paris.", "I live in Rome.", "Noted."]
    assert listed(speaker="assistant") == listed(speaker="Max") == ["Noted."]
    assert listed(origin="agent") == ["Noted."]
    assert listed(origin="web") == []


def test_what_was_forgotten_is_listed_without_its_words(memory: Memory, clock: Clock) -> None:
    said = [say(memory, text, session="s") for text in ("I live in Lisbon.", "It rains.", "Tea.")]
    private = memory.remember(
        {"role": "user", "content": "Mine."}, user="ann", agent="max", visibility="agent_only"
    ).events[0]
    for id in (said[1], said[0]):
        clock.now += timedelta(minutes=1)
        memory.forget(id, user="ann")
    clock.now += timedelta(minutes=1)
    memory.forget(private, user="ann", agent="max")
    found = memory.forgotten(user="ann")
    assert [each.id for each in found] == [said[0], said[1]], "those forgotten last first"
    assert (found[0].tier, found[0].role, found[0].session) == ("session", "user", "s")
    assert found[0].until - found[0].forgotten_at == timedelta(days=memory.config.forget_days)
    assert "Lisbon" not in repr(found)
    of_max = [each.id for each in memory.forgotten(user="ann", agent="max")]
    assert of_max == [private, said[0], said[1]]
    assert memory.forgotten(user="bob") == []
    memory.restore(said[0], user="ann")
    assert [each.id for each in memory.forgotten(user="ann")] == [said[1]]


def test_a_trace_tells_the_turns_around_and_what_was_derived(memory: Memory, clock: Clock) -> None:
    said = []
    for text in ("Hello.", "I live in Lisbon.", "It rains."):
        clock.now += timedelta(minutes=1)
        said.append(say(memory, text, session="s"))
    say(memory, "Elsewhere.", session="t")
    memory.drain()
    of_turn = memory.trace(said[1], user="ann")
    assert [each.id for each in of_turn.turns] == said
    fact = next(each for each in of_turn.derived if each.tier == "fact")
    assert fact.sources == (said[1],)
    of_fact = memory.trace(fact.id, user="ann")
    assert [each.id for each in of_fact.turns] == said
    assert (of_fact.derived, of_fact.hidden_at, of_fact.uses) == ((), None, 0)
    with pytest.raises(NotFound, match="there is no memory"):
        memory.trace(said[1], user="bob")


def test_a_trace_tells_all_versions(memory: Memory) -> None:
    note = memory.notes.add("Chose MySQL.", user="ann")
    newer = memory.update(note.id, "Chose SQLite.", user="ann")
    memory.notes.add("Chose tea.", user="ann")
    for id in (note.id, newer.id):
        versions = memory.trace(id, user="ann").versions
        assert [each.id for each in versions] == [note.id, newer.id]
        assert [each.known_to is None for each in versions] == [False, True]
    assert memory.trace(say(memory, "Hello."), user="ann").versions == ()


def test_a_trace_tells_when_a_note_fades(memory: Memory, clock: Clock) -> None:
    note = memory.notes.add("Chose Postgres.", user="ann")
    fresh = memory.trace(note.id, user="ann")
    clock.now += timedelta(days=9)
    later = memory.trace(note.id, user="ann")
    assert fresh.strength == 1.0
    assert later.strength == pytest.approx(0.76)
    assert fresh.hidden_at == later.hidden_at == clock.now + timedelta(days=4, hours=16)
    memory.feedback(note.id, 1, user="ann")
    praised = memory.trace(note.id, user="ann")
    assert praised.strength == pytest.approx(0.96)
    assert praised.seen_at == clock.now


def test_a_trace_shows_an_agent_nothing_that_another_keeps_to_itself(memory: Memory) -> None:
    open_, private = (
        memory.remember(text, user="ann", session="s", **more).events[0]
        for text, more in (
            ("Seen by all.", dict[str, Any]()),
            ("For a alone.", {"agent": "a", "visibility": "agent_only"}),
        )
    )
    shown = [
        [each.id for each in memory.trace(open_, user="ann", agent=agent).turns]
        for agent in (None, "a", "b")
    ]
    assert shown == [[open_], [open_, private], [open_]]


def test_a_cursor_is_of_one_list(memory: Memory) -> None:
    for number in range(3):
        say(memory, f"This is turn {number}.")
    page = memory.list(user="ann", limit=1)
    with pytest.raises(InvalidInput, match="cursor"):
        memory.list(user="ann", limit=1, cursor=page.next, kind="turn")
    # It holds a place, not a right: somebody else's list begins nowhere else with it.
    assert memory.list(user="bob", limit=1, cursor=page.next).memories == ()


@pytest.mark.parametrize(
    ("wrong", "field"),
    [({"limit": 0}, "limit"), ({"limit": 1001}, "limit"), ({"tiers": ["attic"]}, "tiers"),
     ({"since": "soon"}, "since"), ({"cursor": "x"}, "cursor"), ({"kind": " "}, "kind"),
     ({"origin": "nobody"}, "origin"), ({"status": "lost"}, "status"),
     ({"speaker": ""}, "speaker")],
)  # fmt: skip
def test_a_list_names_what_is_wrong(memory: Memory, wrong: dict[str, object], field: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        memory.list(user="ann", **wrong)  # type: ignore[arg-type]
    assert refused.value.field == field


# update


def test_a_fact_a_note_and_an_entry_take_another_text(memory: Memory) -> None:
    fact = memory.facts.add("I live in Paris.", user="ann")
    note = memory.notes.add("Chose Postgres.", user="ann", metadata={"n": 1})
    entry = memory.knowledge.set("deploy/day", "Friday", user="ann")
    assert memory.update(fact.id, "I live in Rome.", user="ann").content == "I live in Rome."
    new = memory.update(note.id, "Chose SQLite.", user="ann", metadata={"n": 2})
    assert (new.content, new.metadata["n"], new.created_at) == ("Chose SQLite.", 2, NOON)
    assert [each.content for each in memory.notes.list(user="ann")] == ["Chose SQLite."]
    memory.update(entry.id, "Monday", user="ann")
    assert memory.knowledge.get("deploy/day", user="ann").value == "Monday"


def test_a_note_keeps_its_day_and_the_words_of_whoever_changed_it(
    memory: Memory, clock: Clock
) -> None:
    note = memory.notes.add("Chose Postgres.", user="ann", category="decision")
    clock.now += timedelta(days=3)
    assert memory.notes.update(note.id, "Chose Postgres.", user="ann").id == note.id
    new = memory.notes.update(note.id, "Chose SQLite.", user="ann", origin="agent")
    assert (new.at, new.category, new.origin) == (NOON, "decision", "agent")
    assert [each.id for each in memory.notes.day("2026-03-01", user="ann")] == [new.id]
    with pytest.raises(InvalidInput, match="was replaced"):
        memory.notes.update(note.id, "Chose Redis.", user="ann")
    with pytest.raises(NotFound):
        memory.notes.update(new.id, "Chose Redis.", user="bob")


def test_what_has_no_text_of_its_own_says_what_to_do_instead(memory: Memory) -> None:
    turn = say(memory, "I moved to Lisbon.")
    procedure = memory.procedures.add("Release", steps=["tag"], user="ann")
    document = memory.knowledge.add("We deploy.", name="a.txt", user="ann")
    entry = memory.team.write("We deploy.", type="note")
    for id, words in (
        (turn, "a turn is what was said"),
        (procedure.id, "procedures.update"),
        (document.id, "knowledge.add"),
        (entry.id, "team.update"),
    ):
        with pytest.raises(InvalidInput, match=words):
            memory.update(id, "Other.", user="ann")
    fact = memory.facts.add("I live in Paris.", user="ann")
    with pytest.raises(InvalidInput, match="metadata"):
        memory.update(fact.id, "I live in Rome.", user="ann", metadata={"a": 1})


# batch


def test_a_batch_is_done_item_by_item(memory: Memory) -> None:
    turn = say(memory, "I moved to Lisbon.")
    note = memory.notes.add("Chose Postgres.", user="ann")
    items = [
        {"op": "remember", "messages": "I have a dog.", "session": "s", "key": "k"},
        {"op": "forget", "id": turn},
        {"op": "restore", "id": turn},
        {"op": "update", "id": note.id, "text": "Chose SQLite."},
        {"op": "feedback", "id": turn, "value": -1},
        {"op": "forget", "id": "0" * 32},
        {"op": "feedback", "id": turn, "value": 5},
        {"op": "remember", "messages": "x", "colour": "red"},
        {"op": "update", "id": note.id},
        {"op": "explode"},
        "forget",
    ]
    done = memory.batch(items, user="ann")  # type: ignore[arg-type]
    assert [each.ok for each in done.results] == [True] * 5 + [False] * 6
    assert done.failed == 6
    assert memory.get(done.results[0].ids[0], user="ann").session == "s"
    assert memory.get(done.results[3].ids[0], user="ann").content == "Chose SQLite."
    fields = [each.field for each in done.results[5:]]
    assert fields == ["", "value", "colour", "text", "op", "items[10]"]
    assert all(each.error for each in done.results[5:])


def test_a_batch_has_a_limit(memory: Memory) -> None:
    with pytest.raises(TooLarge, match="the limit is 1000"):
        memory.batch([{}] * 1001, user="ann")
    for wrong in ("forget", {"op": "forget"}, 7, None):
        with pytest.raises(InvalidInput, match="items must be a list"):
            memory.batch(wrong, user="ann")  # type: ignore[arg-type]
    assert memory.batch([], user="ann").results == ()


# reset by source


def test_what_came_from_a_site_is_forgotten_together(memory: Memory) -> None:
    site = {"source_site": "mail.example"}
    say(memory, "I moved to Lisbon.", metadata=site)
    say(memory, "I moved to Faro.", metadata=site, user="bob")
    kept = say(memory, "I have a dog.", metadata={"source_site": "other.example"})
    memory.notes.add("Chose Postgres.", user="ann", metadata=site)
    memory.drain()
    assert memory.reset_source("mail.example", user="ann") == 2
    left = memory.list(user="ann", tiers=["session", "note", "fact"]).memories
    assert {each.id for each in left if each.tier == "session"} == {kept}
    assert all("Lisbon" not in each.content for each in left)
    assert memory.list(user="bob", tiers=["session"]).memories != ()
    assert memory.reset_source("mail.example", user="ann") == 0


# growth, fading, settings


def test_growth_is_told_by_day(memory: Memory, clock: Clock) -> None:
    say(memory, "I like tea.")
    clock.now += timedelta(days=2)
    say(memory, "I like rye bread.")
    memory.notes.add("Chose Postgres.", user="ann")
    days = memory.growth(user="ann", days=4)
    assert [(each.day, each.total, dict(each.tiers)) for each in days] == [
        (date(2026, 2, 28), 0, {}),
        (date(2026, 3, 1), 1, {"session": 1}),
        (date(2026, 3, 2), 0, {}),
        (date(2026, 3, 3), 2, {"session": 1, "note": 1}),
    ]
    with pytest.raises(InvalidInput, match="days"):
        memory.growth(user="ann", days=0)


def test_what_will_fade_is_told(memory: Memory) -> None:
    note = memory.notes.add("Met Bob.", user="ann")
    assert memory.fading(user="ann", days=1) == []
    (fading,) = memory.fading(user="ann", days=3000)
    assert (fading.id, fading.hidden) == (note.id, False)


def test_settings_are_told_without_secrets(memory: Memory) -> None:
    told = memory.settings()
    assert told["extraction.provider"] == "rules"
    assert not [name for name in told if "apiKey" in name]
    assert "sk-secret" not in str(told)


def test_what_is_loaded_late_is_listed_too() -> None:
    assert {*holdfast.__all__, "__version__"} <= set(dir(holdfast))


def test_capabilities_tell_what_is_on(memory: Memory) -> None:
    told = memory.capabilities()
    assert told.version == holdfast.__version__ == metadata.version("holdfast")
    assert "deerflow" in told.formats
    assert told.features["language_model"] is False
    assert told.features["mcp"] is (find_spec("mcp") is not None)
    assert told.limits["message_bytes"] == memory.config.limits.message_bytes


def test_capabilities_tell_the_settings_of_one_call_and_no_others(memory: Memory) -> None:
    told = memory.capabilities().per_call
    assert told["contextBudgetTokens"] == memory.config.context_budget_tokens
    assert told["blend.graph"] == memory.config.blend.graph
    debugging = told["boosting.profiles"][1]
    assert (debugging["name"], debugging["weights"][0]) == ("debugging", ["session", 2.0])
    assert not [name for name in told if name.startswith(("extraction", "limits", "embedding"))]
    for name in set(told) - {"boosting.profiles"}:
        memory.config.override({name: told[name]})


def test_dead_letters_are_listed_and_tried_again(memory: Memory) -> None:
    say(memory, "I like tea.")
    job = memory.jobs(states=["ready"])[0]
    (claimed,) = memory.store.claim([job.step], limit=1, now=NOON, lease_s=60, max_attempts=5)
    memory.store.release([claimed], error="no")
    (dead,) = memory.jobs(states=["dead"])
    assert (dead.id, dead.error) == (job.id, "no")
    assert memory.replay([dead.id + 1000]) == 0
    assert memory.replay([dead.id]) == 1
    assert memory.jobs(states=["dead"]) == []
    for wrong in (["x"], [True], [1.5]):
        with pytest.raises(InvalidInput, match="ids"):
            memory.replay(wrong)  # type: ignore[arg-type]
    with pytest.raises(InvalidInput, match="states"):
        memory.jobs(states=["lost"])


def test_users_are_listed_by_workspace_in_the_order_of_their_names(memory: Memory) -> None:
    assert memory.users() == []
    for user in ("cy", "ann", "bob"):
        memory.remember("tea", user=user)
    memory.remember("tea", user="zoe", workspace="acme")
    memory.remember("tea", user="abe", workspace="zeta")
    memory.team.write("We deploy on Fridays.", type="decision")
    assert memory.users() == ["ann", "bob", "cy"]
    assert memory.users(limit=2) == ["ann", "bob"]
    assert memory.users(after="ann") == ["bob", "cy"]
    assert memory.users(workspace="acme") == ["zoe"]
    assert memory.users(workspace="nowhere") == []
    memory.erase(user="bob")
    assert memory.users() == ["ann", "cy"]
    wrong: list[dict[str, Any]] = [
        {"limit": 0},
        {"limit": 10_001},
        {"after": ""},
        {"workspace": ""},
    ]
    for each in wrong:
        with pytest.raises(HoldfastError, match=next(iter(each))):
            memory.users(**each)
