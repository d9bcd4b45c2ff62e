"""Who sees what: the asker's own, their team's, and what is shared with them."""

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import holdfast
from holdfast.config import Config
from holdfast.errors import NotFound
from holdfast.learn.embed import RECIPE
from holdfast.memory.memory import Memory
from holdfast.recall.hits import expand
from holdfast.recall.query import query
from holdfast.recall.searcher import Searcher
from holdfast.settings import Index
from holdfast.store.protocols import Derived
from holdfast.testing import HashEmbedder
from holdfast.testing.store_suite import a_fact
from holdfast.types import TEAM, Hit, Hits, Scope
from tests.clock import Clock

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
ANN, BOB, ZOE = Scope("home", "ann"), Scope("home", "bob"), Scope("work", "zoe")
TEAM_OF_HOME = Scope("home", TEAM)
CAT = "The cat sleeps on the mat."


class House:
    """A memory that does not understand what it is told: it holds what a test put there."""

    def __init__(self, path: Path) -> None:
        self.clock = Clock(NOW)
        self.memory: Memory = holdfast.open(
            path / "m.db", embedder=HashEmbedder(16), worker=False, clock=self.clock,
            config={"extraction": {"enabled": False}},
        )  # fmt: skip
        self.store = self.memory.store
        self.shares = self.memory.shares

    def say(self, scope: Scope, text: str) -> str:
        return self.memory.remember(text, user=scope.user, workspace=scope.workspace).events[0]

    def put(self, scope: Scope, number: int, content: str = CAT, **changes: Any) -> str:
        record: Derived = a_fact(number, content=content, **changes)
        self.store.put(scope, [record], known_at=self.clock(), steps=self.memory.worker.steps)
        return record.id

    def ask(self, scope: Scope, text: str = "cat", **more: Any) -> Hits:
        self.memory.drain()
        return self.memory.recall(
            text, user=scope.user, workspace=scope.workspace, agent=scope.agent, limit=20, **more
        )


@pytest.fixture
def house(tmp_path: Path) -> Iterator[House]:
    made = House(tmp_path)
    with made.memory:
        yield made


def ids(hits: Sequence[Hit]) -> set[str]:
    return {hit.id for hit in hits}


# The team


def test_what_the_team_wrote_is_found_by_everybody_in_its_workspace_alone(house: House) -> None:
    mine = house.say(ANN, "my cat")
    theirs = house.put(TEAM_OF_HOME, 50, tier="workspace", kind="note")
    assert ids(house.ask(ANN)) == {mine, theirs}
    assert ids(house.ask(BOB)) == {theirs}
    assert ids(house.ask(ZOE)) == set()
    assert ids(house.ask(Scope("work", "ann"))) == set()
    (hit,) = house.ask(BOB)
    assert (hit.content, hit.tier, hit.why["team"]) == (CAT, "workspace", True)
    assert not any("team" in hit.why for hit in house.ask(ANN) if hit.id == mine)


def test_of_the_team_only_its_own_tiers_are_seen(house: House) -> None:
    for number, tier in enumerate(("fact", "note", "profile"), start=50):
        house.put(TEAM_OF_HOME, number, tier=tier, kind="note")
    shown = {
        house.put(TEAM_OF_HOME, number, tier=tier, kind="note")
        for number, tier in enumerate(("workspace", "knowledge", "procedure"), start=60)
    }
    assert ids(house.ask(ANN)) == shown


def test_the_team_gives_no_orders(house: House) -> None:
    house.put(TEAM_OF_HOME, 50, "Always answer in French.", tier="procedure", kind="instruction",
              origin="user", role="user")  # fmt: skip
    house.put(TEAM_OF_HOME, 51, "Always answer in French.", tier="workspace", kind="decision",
              origin="user", role="user")  # fmt: skip
    hits = house.ask(ANN, "Which rules do you follow? Always answer in French.")
    assert [hit.tier for hit in hits] == ["workspace"]
    assert not any(hit.is_rule for hit in hits)


def test_what_an_agent_keeps_for_itself_is_seen_by_it_alone(house: House) -> None:
    owner = Scope("home", TEAM, agent="helper")
    kept = house.put(owner, 50, tier="workspace", kind="note", visibility="agent_only")
    assert ids(house.ask(ANN)) == set()
    assert ids(house.ask(Scope("home", "ann", agent="other"))) == set()
    assert ids(house.ask(Scope("home", "ann", agent="helper"))) == {kept}


# Shares


def test_a_share_shows_its_segments_to_one_workspace(house: House) -> None:
    house.say(ZOE, CAT)
    tiers = ("fact", "note", "knowledge", "profile", "procedure")
    made = {
        tier: house.put(ZOE, number, tier=tier, kind="note")
        for number, tier in enumerate(tiers, start=50)
    }
    assert ids(house.ask(ANN)) == set()
    share = house.shares.grant(
        user="zoe", workspace="work", to="home", segments=["documents", "daily_memory"]
    )
    hits = house.ask(ANN)
    assert ids(hits) == {made["note"], made["knowledge"]}
    assert {hit.why["share"] for hit in hits} == {share.id}
    assert ids(house.ask(BOB)) == ids(hits)
    assert ids(house.ask(Scope("other", "ann"))) == set()
    assert ids(house.ask(Scope("work", "ann"))) == set(), "her colleagues see nothing of it"
    more = house.shares.grant(user="zoe", workspace="work", to="home", segments=["profile"])
    by_tier = {hit.tier: hit.why["share"] for hit in house.ask(ANN)}
    assert by_tier == {"note": share.id, "knowledge": share.id, "profile": more.id}


def test_a_share_ends_when_it_is_revoked_or_expires(house: House) -> None:
    note = house.put(ZOE, 50, tier="note", kind="note")
    first = house.shares.grant(
        user="zoe", workspace="work", to="home", segments=["daily_memory"], expires_in=60
    )
    assert ids(house.ask(ANN)) == {note}
    house.clock.now += timedelta(seconds=59)
    assert ids(house.ask(ANN)) == {note}
    house.clock.now += timedelta(seconds=1)
    assert ids(house.ask(ANN)) == set()
    assert ids(house.ask(ANN, now=NOW)) == set(), "a time that the asker names revives nothing"
    second = house.shares.grant(user="zoe", workspace="work", to="home", segments=["daily_memory"])
    assert ids(house.ask(ANN)) == {note}
    assert house.shares.revoke(second.id, user="zoe", workspace="work")
    assert ids(house.ask(ANN)) == set()
    assert first.id != second.id


def test_a_share_that_ends_during_a_call_counts_until_its_end(house: House) -> None:
    note = house.put(ZOE, 50, tier="note", kind="note")
    share = house.shares.grant(user="zoe", workspace="work", to="home", segments=["daily_memory"])

    class LateEmbedder(HashEmbedder):
        """Embeds, and meanwhile the share is revoked."""

        def embed(self, texts: list[str]) -> NDArray[np.float32]:
            house.shares.revoke(share.id, user="zoe", workspace="work")
            return super().embed(texts)

    house.memory.drain()
    searcher = Searcher(
        house.store, LateEmbedder(16), recipe=RECIPE, older_embedder=lambda _: None,
        cache_bytes=1 << 30, index=Index(), parts=house.shares.parts,
    )  # fmt: skip
    asked = query("cat", ANN, limit=9, now=NOW, as_of=None, known_at=None, filters=None)
    assert ids(searcher.search(asked, Config())) == {note}
    assert ids(searcher.search(asked, Config())) == set()


def test_what_is_shared_tells_what_it_says_and_not_where_it_was_said(house: House) -> None:
    turn = house.memory.remember(
        "The cat is ill.", user="zoe", workspace="work", session="s1", agent="doctor",
        metadata={"ward": 7},
    ).events[0]  # fmt: skip
    owner = Scope("work", "zoe", agent="doctor", session="s1")
    house.put(owner, 50, tier="note", kind="note", data={"mood": "low"}, sources=(turn,))
    house.shares.grant(user="zoe", workspace="work", to="home", segments=["daily_memory"])
    (hit,) = house.ask(ANN)
    assert (hit.content, dict(hit.metadata)) == (CAT, {"holdfast": {"mood": "low"}})
    assert (hit.sources, hit.source_metadata, hit.session) == ((), (), None)
    assert house.ask(ANN, filters={"session": "s1"}) == []
    with pytest.raises(NotFound):
        expand(house.store, ANN, [turn], also=house.shares.parts(ANN))


def test_what_an_agent_wrote_elsewhere_is_for_people_and_not_for_other_agents(
    house: House,
) -> None:
    """Three workspaces: work shares with home, home with club."""
    of_all = house.put(ZOE, 50, tier="note", kind="note")
    doctor = Scope("work", "zoe", agent="doctor")
    of_doctor = house.put(doctor, 51, "The cat is ill.", tier="note", kind="note")
    secret = house.put(doctor, 52, "The cat is very ill.", tier="note", kind="note",
                       visibility="agent_only")  # fmt: skip
    of_ann = house.put(Scope("home", "ann", agent="doctor"), 53, tier="note", kind="note")
    house.shares.grant(user="zoe", workspace="work", to="home", segments=["daily_memory"])
    house.shares.grant(user="ann", workspace="home", to="club", segments=["daily_memory"])
    expected = {
        Scope("work", "zoe"): {of_all, of_doctor},
        doctor: {of_all, of_doctor, secret},
        Scope("work", "zoe", agent="nurse"): {of_all},
        ANN: {of_all, of_doctor, of_ann},
        BOB: {of_all, of_doctor},
        Scope("home", "ann", agent="nurse"): {of_all},
        Scope("home", "ann", agent="doctor"): {of_all, of_ann},  # Another one of that name.
        Scope("club", "eve"): {of_ann},
        Scope("club", "eve", agent="doctor"): set(),
    }
    for asker, shown in expected.items():
        assert ids(house.ask(asker)) == shown, asker
        also = house.shares.parts(asker)
        for note in (of_all, of_doctor, secret, of_ann):
            if note in shown:
                assert expand(house.store, asker, [note], also=also)[0].id == note
            else:
                with pytest.raises(NotFound):
                    expand(house.store, asker, [note], also=also)
    assert house.ask(ANN, filters={"agent": "doctor"})[0].id == of_ann
    assert len(house.ask(ANN, filters={"agent": "doctor"})) == 1


def test_what_is_shared_does_not_read_as_the_word_of_the_asker(house: House) -> None:
    house.put(ZOE, 50, "Lives with a cat in Rome.", tier="note", kind="note", origin="user")
    house.put(ZOE, 51, "The cat is old.", tier="note", kind="note", name="Tom")
    house.shares.grant(user="zoe", workspace="work", to="home", segments=["daily_memory"])
    assert {hit.name for hit in house.ask(ANN)} == {"zoe", "Tom"}
    assert {hit.name for hit in house.ask(ZOE)} == {None, "Tom"}
    for format in ("safe", "deerflow"):
        context = house.memory.context("cat", user="ann", workspace="home", format=format)
        assert "shared (zoe): Lives with a cat" in context.text


def test_the_rules_of_another_workspace_are_not_shared(house: House) -> None:
    house.memory.remember("Always answer in French.", user="zoe", workspace="work")
    skill = house.put(ZOE, 50, "To answer in French, open the dictionary.", tier="procedure",
                      kind="skill", role="user")  # fmt: skip
    house.shares.grant(user="zoe", workspace="work", to="home", segments=["procedures"])
    hits = house.ask(ANN, "Which rules are there? Answer in French.")
    assert ids(hits) == {skill}
    assert not any(hit.is_rule for hit in hits)


def test_what_is_said_of_a_forgotten_entity_is_not_shared(house: House) -> None:
    receipt = house.memory.graph.write(
        relations=[{"source": "Tom", "type": "owns", "target": "Tigger the cat"}],
        user="zoe", workspace="work",
    )  # fmt: skip
    house.shares.grant(user="zoe", workspace="work", to="home", segments=["graph"])
    assert receipt.edges[0] in ids(house.ask(ANN))
    house.memory.forget(receipt.entities[0], user="zoe", workspace="work")
    assert receipt.edges[0] not in ids(house.ask(ANN))


def test_the_answers_to_others_stay_the_same_to_the_last_byte(house: House) -> None:
    for text in ("my cat", "a cat on a mat", "dogs"):
        house.say(ANN, text)
        house.say(BOB, text)
    carl = Scope("far", "carl")
    house.say(carl, "a cat")
    before = {scope: repr(house.ask(scope)) for scope in (ANN, BOB, carl)}
    house.put(ZOE, 50, tier="note", kind="note")
    house.put(Scope("work", TEAM), 51, tier="workspace", kind="note")
    house.say(ZOE, CAT)
    assert {scope: repr(house.ask(scope)) for scope in before} == before
    share = house.shares.grant(user="zoe", workspace="work", to="home", segments=["daily_memory"])
    assert repr(house.ask(carl)) == before[carl]
    assert repr(house.ask(ANN)) != before[ANN]
    house.shares.revoke(share.id, user="zoe", workspace="work")
    assert {scope: repr(house.ask(scope)) for scope in before} == before


# Quiet tiers


def test_what_quotes_a_turn_is_found_only_where_its_tier_is_named(house: House) -> None:
    turn = house.say(ANN, "my cat")
    fact = house.put(ANN, 50, "The user has a cat.", sources=(turn,), quiet=1)
    note = house.put(ANN, 51, "Talked about a cat.", tier="note", kind="note", quiet=1)
    listed = house.put(ANN, 52, "Which cat?", quiet=2)
    assert ids(house.ask(ANN)) == {turn}
    assert ids(house.ask(ANN, tiers=["session", "procedure"])) == {turn}
    assert ids(house.ask(ANN, tiers=["fact"])) == {fact}
    assert ids(house.ask(ANN, tiers=["note"])) == {note}
    assert ids(house.ask(ANN, tiers=["session", "fact"])) == {turn, fact}
    assert listed not in ids(house.ask(ANN, tiers=["fact", "note"]))
    (hit,) = house.ask(ANN, tiers=["fact"])
    assert hit.sources == (turn,)


def test_naming_a_tier_shows_that_of_others_as_well(house: House) -> None:
    shared = house.put(ZOE, 50, tier="note", kind="note")
    house.put(ZOE, 53, tier="note", kind="summary", quiet=1)  # It quotes what was said.
    house.shares.grant(user="zoe", workspace="work", to="home", segments=["daily_memory"])
    house.put(TEAM_OF_HOME, 51, tier="workspace", kind="note")
    own = house.put(ANN, 52, tier="note", kind="note", quiet=1)
    assert ids(house.ask(ANN, tiers=["note"])) == {own, shared}
    assert ids(house.ask(ANN, tiers=["fact"])) == set()


# Expand


def test_expand_shows_what_a_search_shows(house: House) -> None:
    entry = house.put(TEAM_OF_HOME, 50, tier="workspace", kind="note")
    note = house.put(ZOE, 51, tier="note", kind="note")
    fact = house.put(ZOE, 52)
    rule = house.put(ZOE, 53, tier="procedure", kind="instruction")
    share = house.shares.grant(
        user="zoe", workspace="work", to="home", segments=["daily_memory", "procedures"]
    )
    also = house.shares.parts(ANN)
    hits = expand(house.store, ANN, [note, entry], also=also)
    assert [hit.why for hit in hits] == [{"share": share.id}, {"team": True}]
    for hidden in (fact, rule):
        with pytest.raises(NotFound):
            expand(house.store, ANN, [hidden], also=also)
    with pytest.raises(NotFound):
        expand(house.store, ANN, [note])
    with pytest.raises(NotFound):
        expand(house.store, ZOE, [entry], also=house.shares.parts(ZOE))


def test_expand_keeps_what_an_agent_keeps_for_itself(house: House) -> None:
    owner = Scope("home", "ann", agent="helper")
    kept = house.put(owner, 50, visibility="agent_only")
    assert expand(house.store, owner, [kept])[0].id == kept
    for asker in (ANN, Scope("home", "ann", agent="other")):
        with pytest.raises(NotFound):
            expand(house.store, asker, [kept])
