"""`visibility="agent_only"`: a turn and all that follows from it are for its own agent alone."""

import io
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import apsw
import pytest

import holdfast
from holdfast.errors import InvalidInput, NotFound
from holdfast.memory.memory import Memory
from holdfast.records.entries import index_row
from holdfast.testing import HashEmbedder
from holdfast.testing.store_suite import NOON
from holdfast.transfer import export_to, import_from
from holdfast.types import Scope

ANN = Scope("default", "ann")
SECRET = "I live in Lisbon. We shipped the parser. Always cite sources when I ask about history."
SHARED = "I work as a nurse at Mercy Hospital."
CONFIG = {"extraction": {"provider": "rules"}}
#: Everybody but the agent that it was said to.
OTHERS = (None, "b")


class Clock:
    """A second passes whenever somebody looks."""

    now = NOON

    def __call__(self) -> datetime:
        self.now += timedelta(seconds=1)
        return self.now


def opened(path: Path) -> Memory:
    return holdfast.open(
        path, embedder=HashEmbedder(16), worker=False, config=CONFIG, clock=Clock()
    )


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    with opened(tmp_path / "m.db") as memory:
        yield memory


def say(memory: Memory, text: str, **given: Any) -> str:
    given = {"user": "ann", "agent": "a", "session": "s", **given}
    (event,) = memory.remember(text, **given).events
    return event


def secret(memory: Memory, text: str = SECRET, **given: Any) -> str:
    return say(memory, text, visibility="agent_only", **given)


def tiers(memory: Memory, agent: str | None) -> set[str]:
    """Where something of the secret is seen, by every way of reading."""
    who: dict[str, Any] = {"user": "ann", "agent": agent}
    every = ("session", "fact", "note", "procedure", "graph", "profile")
    found = {
        hit.tier
        for tier in every
        for text in ("Where do I live? Lisbon", "parser", "history sources cite")
        for hit in memory.recall(text, **who, tiers=[tier])
    }
    found |= {hit.tier for hit in memory.context("Lisbon parser history", **who).hits}
    found |= {each.tier for each in memory.list(**who).memories}
    found |= {"fact" for _ in memory.facts.list(**who, status="all")}
    found |= {"note" for _ in memory.notes.list(**who)}
    found |= {"procedure" for _ in memory.procedures.list(**who)}
    found |= {"profile" for _ in memory.profile(**who).fields}
    found |= {"graph" for _ in memory.graph.entities(**who)}
    return found


def test_its_agent_sees_all_that_follows_and_nobody_else_anything(tmp_path: Path) -> None:
    with opened(tmp_path / "m.db") as memory:
        event = secret(memory)
        for agent in OTHERS:
            assert tiers(memory, agent) == set(), "before it is read"
        memory.drain()
        assert tiers(memory, "a") >= {"session", "fact", "note", "procedure", "profile"}
        for agent in OTHERS:
            assert tiers(memory, agent) == set()
            for look in (memory.get, memory.feedback):
                with pytest.raises(NotFound):
                    look(event, *([1] if look == memory.feedback else []), user="ann", agent=agent)
            with pytest.raises(NotFound):
                memory.summaries.compact(session="s", user="ann", agent=agent)
        assert memory.get(event, user="ann", agent="a").content == SECRET
    with opened(tmp_path / "m.db") as again:  # An index that is made of the file.
        assert [tiers(again, agent) for agent in OTHERS] == [set(), set()]
        assert "session" in tiers(again, "a")


def test_it_leaves_no_trace_in_metadata_and_none_in_the_graph(memory: Memory) -> None:
    event = secret(memory, "Clara works at Google.", metadata={"page": 3})
    memory.drain()
    (hit,) = memory.recall("Clara", user="ann", agent="a", tiers=["session"])
    assert (hit.id, hit.metadata, hit.source_metadata) == (event, {"page": 3}, ({"page": 3},))
    assert memory.get(event, user="ann", agent="a").metadata == {"page": 3}
    assert memory.graph.entities(user="ann", agent="a") == [], "entities are everybody's"


def test_a_secret_ends_nothing_that_others_know_and_is_not_ended_by_it(memory: Memory) -> None:
    say(memory, "I live in Porto.")
    memory.drain()
    secret(memory, "I live in Lisbon.")
    memory.drain()
    assert memory.profile(user="ann").fields["home"].values == ("Porto",)
    facts = memory.facts.list(user="ann", agent="a")
    assert {each.content for each in facts} == {"I live in Porto.", "I live in Lisbon."}
    say(memory, "I live in Lisbon.")  # Now said to everybody.
    memory.drain()
    assert [each.content for each in memory.facts.list(user="ann")] == ["I live in Lisbon."]


def test_a_secret_rule_ends_no_rule_of_others(memory: Memory) -> None:
    say(memory, "Always answer in French.")
    secret(memory, "Forget the rule about answering in French.")
    (rule,) = memory.list(user="ann", tiers=["procedure"], kind="instruction").memories
    assert rule.content == "Always answer in French."
    say(memory, "Forget the rule about answering in French.")  # Now said to everybody.
    assert memory.list(user="ann", tiers=["procedure"], kind="instruction").memories == ()


def test_turns_of_one_talk_are_read_apart(memory: Memory) -> None:
    """What is drawn from both together would be seen by those who may see but one."""
    say(memory, SHARED)
    secret(memory)
    say(memory, "I work at Google.")
    memory.drain()
    seen = {each.content for each in memory.facts.list(user="ann")}
    assert seen == {SHARED, "I work at Google."}
    hidden = memory.facts.list(user="ann", agent="a")
    for fact in hidden:
        (record,) = memory.store.get(ANN, [fact.id])
        private = {memory.store.get(ANN, [source])[0].visibility for source in fact.sources}
        assert private == {record.visibility}


def test_a_summary_with_a_secret_is_one(memory: Memory) -> None:
    say(memory, "I decided to move the wedding to 14 June in Porto.")
    secret(memory, "I decided to keep the honeymoon in Lisbon a surprise until May.")
    mine = memory.compact(session="s", user="ann", agent="a", keep_turns=0)
    ours = memory.compact(session="s", user="ann", keep_turns=0)
    assert "Lisbon" in mine.summary
    assert "Lisbon" not in ours.summary
    kinds = {hit.content for hit in memory.recall("honeymoon", user="ann", tiers=["note"])}
    assert not [text for text in kinds if "Lisbon" in text]


def test_what_fades_and_what_is_counted_is_what_the_asker_sees(memory: Memory) -> None:
    secret(memory)
    say(memory, "We decided to use Postgres.", agent="b")
    memory.drain()
    who: dict[str, Any] = {"user": "ann", "workspace": "default"}
    told = {
        agent: {each.content for each in memory.fading(**who, agent=agent, days=3000)}
        for agent in (None, "a", "b")
    }
    assert "We shipped the parser." in told["a"]
    for agent in OTHERS:
        assert "We decided to use Postgres." in told[agent]
        assert not [text for text in told[agent] if "parser" in text]
    for agent in (None, "a", "b"):
        listed = memory.list(**who, agent=agent, limit=1000).memories
        counts = {tier: 0 for tier in memory.stats(**who).tiers}
        for each in listed:
            counts[each.tier] += 1
        assert memory.stats(**who, agent=agent).tiers == counts
        (grown,) = memory.growth(**who, agent=agent, days=1)
        assert grown.tiers == {tier: count for tier, count in counts.items() if count}
    assert memory.stats(**who).tiers["session"] == 1
    full = memory.stats(**who, agent="a", session="s").session
    assert full is not None
    assert full.messages == 1, "its own"


def test_a_written_summary_of_a_secret_is_one_and_replaces_none(memory: Memory) -> None:
    say(memory, SHARED)
    secret(memory)
    memory.drain()
    facts = {each.content: each.id for each in memory.facts.list(user="ann", agent="a")}
    home, job = facts["I live in Lisbon."], facts[SHARED]

    def write(text: str, *ids: str, **given: Any) -> None:
        memory.profiles.write_summary(
            "workContext", text, facts=ids, user="ann", agent="a", **given
        )

    def told(agent: str | None) -> str:
        return memory.profile(user="ann", agent=agent).summaries["workContext"].text

    write("A nurse.", job)
    write("A nurse of Lisbon.", job, home)
    assert (told(None), told("a")) == ("A nurse.", "A nurse of Lisbon.")
    seen = [each.content for each in memory.list(user="ann", tiers=["profile"]).memories]
    assert seen == ["A nurse."]
    write("A nurse, at night.", job, visibility="agent_only")
    assert (told(None), told("a")) == ("A nurse.", "A nurse, at night.")
    for wrong in ("workspace", ""):
        with pytest.raises(InvalidInput, match="visibility must be agent_only"):
            write("A nurse.", job, visibility=wrong)
    with pytest.raises(InvalidInput, match="needs an agent"):
        memory.profiles.write_summary(
            "workContext", "A nurse.", facts=[job], user="ann", visibility="agent_only"
        )


def test_an_export_carries_it_over(memory: Memory, tmp_path: Path) -> None:
    secret(memory)
    say(memory, SHARED, quick=True)
    memory.drain()
    lines = io.BytesIO()
    export_to(memory.store, lines)
    lines.seek(0)
    with opened(tmp_path / "other.db") as other:
        assert import_from(other, lines).failed == 0
        other.drain()
        assert tiers(other, "b") == set()
        assert tiers(other, "a") >= {"session", "fact", "note", "procedure"}
        assert {turn.data.get("provider") for turn in other.store.events(ANN)} == {None, "rules"}


def test_what_is_made_anew_from_the_events_stays_a_secret(tmp_path: Path) -> None:
    with opened(tmp_path / "m.db") as memory:
        secret(memory)
        memory.drain()
    with apsw.Connection(str(tmp_path / "m.db")) as broken:
        broken.execute("DELETE FROM records WHERE tier IN ('session', 'procedure')")
    broken.close()
    with opened(tmp_path / "m.db") as memory:
        memory.store.rebuild(index_row, steps=memory.worker.steps)
        memory.drain()
        assert [each for each in memory.check() if not each.ok] == []
        assert [tiers(memory, agent) for agent in OTHERS] == [set(), set()]
        assert {"session", "procedure"} <= tiers(memory, "a")


def test_doctor_finds_a_turn_that_others_could_see(tmp_path: Path) -> None:
    with opened(tmp_path / "m.db") as memory:
        secret(memory, "tea")
    for damage in ("visibility = NULL", "seen = NULL"):
        with apsw.Connection(str(tmp_path / "m.db")) as broken:
            broken.execute(f"UPDATE records SET {damage}")
        broken.close()
        with opened(tmp_path / "m.db") as memory:
            assert [each.check for each in memory.check() if not each.ok] == ["private"]
            memory.store.rebuild(index_row, steps=memory.worker.steps)
            assert [each for each in memory.check() if not each.ok] == []
            assert memory.recall("tea", user="ann") == []
            assert len(memory.recall("tea", user="ann", agent="a")) == 1
