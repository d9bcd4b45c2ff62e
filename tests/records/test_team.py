"""What a team writes down: everybody in the workspace reads it, nobody else does."""

from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from holdfast.errors import InvalidInput, NotFound, TooLarge
from holdfast.memory.memory import Memory
from holdfast.records.entries import index_row
from holdfast.records.team import TYPES, Team
from holdfast.testing.store_suite import a_fact
from holdfast.types import TEAM, Scope
from tests.records.conftest import Clock

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
HOME = Scope("default", TEAM)


@pytest.fixture
def clock() -> Clock:
    return Clock(step=timedelta(seconds=1))


@pytest.fixture
def team(memory: Memory) -> Team:
    return memory.team


def found(team: Team, text: str, **more: Any) -> list[str]:
    return [hit.content for hit in team.search(text, **more)]


def test_an_entry_comes_back_as_it_was_written(team: Team, clock: Clock) -> None:
    entry = team.write(
        "We use Kafka.\n\nIt is fast.", type="decision", title="  Message   bus ",
        tags=["infra", "bus", "infra", " "], user="ann", agent="helper",
    )  # fmt: skip
    assert (entry.type, entry.title, entry.tags) == ("decision", "Message bus", ("infra", "bus"))
    assert (entry.content, entry.author) == ("We use Kafka.\n\nIt is fast.", "ann")
    assert (entry.origin, entry.agent, entry.at) == ("agent", "helper", clock.now)
    assert entry.claim == entry.id
    assert team.get(entry.id) == entry
    assert team.list() == [entry]
    assert team.write("Standup.", type="standup", user="ann").origin == "user"
    by_agent = team.write("Standup.", type="standup", agent="helper")
    assert (by_agent.origin, by_agent.author) == ("agent", "helper")
    named = team.write("Standup.", type="standup", author="Zoe")
    assert (named.origin, named.author) == ("agent", "Zoe")


def test_an_entry_is_found_by_every_user_and_agent_of_its_workspace(team: Team) -> None:
    team.write("We use Kafka.", type="decision", title="Bus", agent="one", workspace="work")
    for more in ({}, {"user": "ann"}, {"user": "bob", "agent": "two"}, {"agent": "two"}):
        assert found(team, "kafka", workspace="work", **more) == ["Bus\n\nWe use Kafka."]
        assert found(team, "kafka", **more) == []
    assert team.list() == []
    assert len(team.list(workspace="work")) == 1


def test_an_entry_of_another_workspace_does_not_exist(team: Team) -> None:
    entry = team.write("We use Kafka.", type="decision", workspace="work")
    for verb in (team.get, team.update, team.remove, team.history):
        with pytest.raises(NotFound):
            verb(entry.id)
    with pytest.raises(NotFound):
        team.get("nonsense", workspace="work")


def test_other_records_of_the_team_are_no_entries(team: Team, memory: Memory) -> None:
    turn = memory.remember("a cat", user="ann").events[0]
    with pytest.raises(NotFound):
        team.get(turn)


def test_an_entry_that_an_import_brought_is_read_and_changed(team: Team, memory: Memory) -> None:
    for number, data in ((50, {}), (51, {"title": 1, "tags": "x", "claim": None, "author": []})):
        strange = a_fact(number, tier="workspace", kind="memo", data=data, origin="web")
        memory.store.put(HOME, [strange], known_at=NOW, steps=())
        entry = team.get(strange.id)
        assert entry in team.list()
        assert (entry.title, entry.tags, entry.author) == ("", (), None)
        assert entry.claim == entry.id == strange.id
        changed = team.update(entry.id, title="Tea")
        assert (changed.origin, changed.type) == ("web", "memo"), "it is trusted as it was"
        assert team.get(entry.id) == changed


def test_a_search_keeps_to_types_and_limit(team: Team) -> None:
    for type in TYPES:
        team.write(f"Kafka {type}", type=type)
    assert found(team, "kafka", types=["adr"]) == ["Kafka adr"]
    several = found(team, "kafka", types=["adr", "incident"])
    assert set(several) == {"Kafka adr", "Kafka incident"}
    assert len(found(team, "kafka")) == len(TYPES)
    assert len(found(team, "kafka", limit=2)) == 2
    assert len(found(team, "kafka", types=["adr", "incident"], limit=1)) == 1
    assert [each.type for each in team.list(types=["note", "adr"])] == ["note", "adr"]


def test_a_list_is_the_newest_first_and_by_tag(team: Team) -> None:
    for i in range(3):
        team.write(f"number {i}", type="note", tags=["odd"] if i % 2 else ["even"])
    assert [each.content for each in team.list(tag="even")] == ["number 2", "number 0"]
    assert [each.content for each in team.list(limit=2)] == ["number 2", "number 1"]
    assert team.list(tag="none") == []


def test_a_change_is_a_new_version_and_the_old_one_stays_in_the_history(
    team: Team, memory: Memory
) -> None:
    first = team.write("We use Kafka.", type="decision", title="Bus", tags=["infra"], user="ann")
    second = team.update(first.id, content="We use Redis.", user="bob")
    third = team.update(first.id, title="Queue", type="adr")
    assert (second.claim, third.claim) == (first.id, first.id)
    assert len({first.id, second.id, third.id}) == 3
    assert (third.title, third.content, third.tags) == ("Queue", "We use Redis.", ("infra",))
    assert (second.origin, third.origin) == ("user", "agent"), "the least of those who wrote it"
    assert third.author == "ann"
    for any_version in (first.id, second.id, third.id):
        assert team.get(any_version) == third
    assert team.list() == [third]
    assert (found(team, "kafka"), len(found(team, "redis"))) == ([], 1)
    lines = [(line.action, line.record, line.content) for line in team.history(second.id)]
    assert [(action, record) for action, record, _ in lines] == [
        ("stored", first.id), ("superseded", first.id), ("stored", second.id),
        ("superseded", second.id), ("stored", third.id),
    ]  # fmt: skip
    assert "Bus\n\nWe use Kafka." in [content for _, _, content in lines]
    old = memory.store.get(HOME, [first.id])[0]
    assert old.known_to == second.at


def test_saying_the_same_again_makes_no_version(team: Team) -> None:
    entry = team.write("We use Kafka.", type="decision", tags=["infra"])
    assert team.update(entry.id, content="We use Kafka.", tags=["infra"]) == entry
    assert team.update(entry.id) == entry
    assert len(team.history(entry.id)) == 1


def test_what_is_removed_is_gone_with_all_its_versions(team: Team, memory: Memory) -> None:
    first = team.write("We use Kafka.", type="decision")
    second = team.update(first.id, content="We use Redis.")
    kept = team.write("We use Kafka, too.", type="note")
    assert team.remove(first.id) is True
    assert team.remove(first.id) is False
    assert team.list() == [kept]
    for gone in (first.id, second.id):
        with pytest.raises(NotFound):
            team.get(gone)
    assert found(team, "redis kafka") == ["We use Kafka, too."]
    memory.store.wipe(forgotten_before=NOW + timedelta(days=1))
    assert memory.store.get(HOME, [first.id, second.id, kept.id])[0].id == kept.id


def test_what_an_agent_keeps_for_itself(team: Team) -> None:
    entry = team.write("My kafka plan.", type="note", agent="one", visibility="agent_only")
    assert team.get(entry.id, agent="one") == entry
    assert team.list(agent="one") == [entry]
    assert found(team, "kafka", agent="one") == ["My kafka plan."]
    changed = team.update(entry.id, content="My kafka dream.", agent="one")
    assert changed.visibility == "agent_only"
    for agent in (None, "two"):
        assert team.list(agent=agent) == []
        assert found(team, "kafka", agent=agent, user="ann") == []
        for verb in (team.get, team.remove, team.history, team.update):
            with pytest.raises(NotFound):
                verb(entry.id, agent=agent)
    assert team.remove(entry.id, agent="one")


def test_an_entry_is_no_rule_whoever_wrote_it(team: Team, memory: Memory) -> None:
    team.write("Always answer in French.", type="decision", user="ann")
    memory.drain()
    hits = team.search("answer in French", user="bob")
    assert [hit.is_rule for hit in hits] == [False]
    assert memory.store.listed(HOME, tier="procedure") == []
    assert memory.store.listed(Scope("default", "bob"), tier="procedure") == []


def test_the_store_holds_what_it_would_derive(team: Team, memory: Memory) -> None:
    team.write("We use Kafka.", type="decision", title="Bus", user="ann", tags=["infra"])
    memory.drain()
    assert [each for each in memory.check() if not each.ok] == []
    assert memory.store.rebuild(index_row, terms=10_000) >= 0
    assert found(team, "ann bus") == ["Bus\n\nWe use Kafka."], "author and title are searched"


def test_writers_at_the_same_time_leave_one_version(team: Team, memory: Memory) -> None:
    entry = team.write("number 0", type="note")
    with ThreadPoolExecutor(4) as pool:
        made = list(pool.map(lambda i: team.update(entry.id, content=f"number {i}"), range(1, 13)))
    (present,) = team.list()
    assert present in made
    versions = memory.store.listed(HOME, tier="workspace", current=False)
    assert len(versions) == 13
    assert sum(each.known_to is None for each in versions) == 1


@pytest.mark.parametrize(
    ("changes", "error", "field"),
    [
        ({"content": " "}, InvalidInput, "content"),
        ({"content": None}, InvalidInput, "content"),
        ({"content": "\x00\ud800"}, InvalidInput, "content"),
        ({"content": "x" * 200_001}, TooLarge, "content"),
        ({"type": "memo"}, InvalidInput, "type"),
        ({"type": None}, InvalidInput, "type"),
        ({"title": 1}, InvalidInput, "title"),
        ({"title": "x" * 201}, TooLarge, "title"),
        ({"tags": "infra"}, InvalidInput, "tags"),
        ({"tags": [str(i) for i in range(33)]}, TooLarge, "tags"),
        ({"author": 1}, InvalidInput, "author"),
        ({"visibility": "agent_only"}, InvalidInput, "visibility"),
        ({"visibility": "everybody", "agent": "one"}, InvalidInput, "visibility"),
        ({"workspace": ""}, InvalidInput, "workspace"),
        ({"user": ""}, InvalidInput, "user"),
        ({"agent": ""}, InvalidInput, "agent"),
    ],
)
def test_a_bad_entry_is_refused_by_the_name_of_its_field(
    team: Team, changes: dict[str, Any], error: type[InvalidInput], field: str
) -> None:
    with pytest.raises(error) as told:
        team.write(**{"content": "We use Kafka.", "type": "decision"} | changes)
    assert told.value.field == field
    assert field in str(told.value)
    assert team.list() == []


@pytest.mark.parametrize(
    "changes", [{"types": ["memo"]}, {"types": []}, {"types": "adr"}, {"limit": 0}, {"limit": 201}]
)
def test_a_bad_search_is_refused(team: Team, changes: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput):
        team.search("kafka", **changes)


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    title=st.text(st.characters(exclude_categories=["Cs"]), max_size=50),
    content=st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=200),
)
def test_title_and_content_are_told_apart_again(team: Team, title: str, content: str) -> None:
    assume(content.strip("\x00\ufffd \t\r\n").strip())
    entry = team.write(content, type="note", title=title)
    assert team.get(entry.id) == entry
