"""The profile: a function of the facts that hold and of what was set by hand."""

import threading
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import holdfast
from holdfast.errors import InvalidInput, NotFound, ScopeError, TooLarge
from holdfast.memory.memory import Memory
from holdfast.recall.deerflow import format_memory_for_injection
from holdfast.records import parts
from holdfast.records.profile import Profiles, compose_summaries
from holdfast.records.profile_fields import SECTIONS, Profile, fields
from holdfast.testing import HashEmbedder
from holdfast.testing.store_suite import NOON
from holdfast.types import Record, Scope
from tests.records.conftest import CONFIG, Clock

ANN = Scope("default", "ann")
DAY = timedelta(days=1)


@pytest.fixture
def profiles(memory: Memory, clock: Clock) -> Profiles:
    return Profiles(memory.store, memory.worker, now=clock)


class Learned:
    """A turn and the fact that was drawn from it."""

    def __init__(self, memory: Memory, text: str, category: str = "identity", **given: Any) -> None:
        scope = Scope("default", given.pop("user", "ann"), given.pop("agent", None), "s1")
        at = given.pop("at", memory._now())
        message = {"content": text, "at": at, "name": given.get("name")}
        told = memory.remember([message], user=scope.user, agent=scope.agent, session=scope.session)
        self.event = told.events[0]
        self.id = parts.digest("fact", self.event, text)
        usual = {
            "origin": "user", "at": at, "data": {"claim": self.id}, "sources": [self.event],
            "quiet": 1,
        }  # fmt: skip
        record = parts.derived(self.id, "fact", category, text, **{**usual, **given})
        memory.store.put(scope, [record], known_at=memory._now(), steps=())


def values(profile: Profile) -> dict[str, tuple[str, ...]]:
    return {name: field.values for name, field in profile.fields.items()}


def test_a_user_of_whom_nothing_is_known_has_an_empty_profile(profiles: Profiles) -> None:
    profile = profiles.profile(user="ann")
    assert (profile.fields, profile.facts, profile.revision) == ({}, (), 0)
    assert list(profile.summaries) == list(SECTIONS)
    assert all(summary.text == "" for summary in profile.summaries.values())
    assert profile.as_deerflow()["lastUpdated"] == ""


@pytest.mark.parametrize(
    ("text", "category", "told"),
    [
        ("My name is Ann Lee.", "identity", {"name": ("Ann Lee",)}),
        ("Please call me Annie.", "identity", {"name": ("Annie",)}),
        ("Call me back on Sunday.", "other", {}),
        ("I live in Lisbon with my wife.", "identity", {"home": ("Lisbon",)}),
        ("The user lives in Porto.", "identity", {"home": ("Porto",)}),
        ("My sister lives in Paris.", "context", {}),
        ("I want to move to Rome.", "goal", {"goals": ("I want to move to Rome.",)}),
        ("I'm 34 years old.", "identity", {"age": ("34",)}),
        ("I'm a nurse at Saint Mary's.", "identity", {"job": ("nurse",)}),
        ("I'm a vegetarian.", "identity", {}),
        (
            "I work at Acme Corp as a data engineer.", "identity",
            {"employer": ("Acme Corp",), "job": ("data engineer",)},
        ),
        ("My wife is called Maria.", "context", {"family": ("Maria (wife)",)}),
        ("My dog's name is Rex.", "context", {"pets": ("Rex (dog)",)}),
        ("I have two kids and a cat.", "context", {"family": ("two kids",), "pets": ("a cat",)}),
        (
            "I speak English, Portuguese and a little German.", "identity",
            {"languages": ("English", "Portuguese", "German")},
        ),
        ("I love hiking because it calms me.", "preference", {"likes": ("hiking",)}),
        ("My favourite colour is green.", "preference", {"likes": ("green (favourite colour)",)}),
        ("I can't stand coriander.", "preference", {"dislikes": ("coriander",)}),
        ("I'd like to see the menu.", "preference", {}),
        ("I swim every Tuesday.", "behavior", {"habits": ("I swim every Tuesday.",)}),
        (
            "I'm allergic to peanuts.", "constraint",
            {"constraints": ("I'm allergic to peanuts.",)},
        ),
        ("My birthday is on 4 May.", "identity", {"birthday": ("4 May",)}),
    ],
)  # fmt: skip
def test_a_fact_gives_its_fields(
    memory: Memory, profiles: Profiles, text: str, category: str, told: dict[str, Any]
) -> None:
    Learned(memory, text, category)
    assert values(profiles.profile(user="ann")) == told


def test_a_field_says_where_it_comes_from(memory: Memory, profiles: Profiles) -> None:
    first = Learned(memory, "I love jazz.", "preference", confidence=0.6)
    second = Learned(memory, "I love rain.", "preference", at=NOON + DAY)
    likes = profiles.profile(user="ann").fields["likes"]
    assert likes.values == ("rain", "jazz")
    assert likes.facts == (second.id, first.id)
    assert likes.sources == (second.event, first.event)
    assert (likes.confidence, likes.updated_at, likes.is_set) == (0.6, NOON, False)


def test_of_two_homes_the_later_one_counts(memory: Memory, profiles: Profiles) -> None:
    Learned(memory, "I live in Lisbon.", at=NOON)
    Learned(memory, "I live in Paris.", at=NOON - 9 * DAY)
    home = profiles.profile(user="ann").fields["home"]
    assert home.values == ("Lisbon",)
    assert len(home.facts) == 1


def test_forgetting_a_turn_changes_the_profile(memory: Memory, profiles: Profiles) -> None:
    told = Learned(memory, "I live in Lisbon.")
    assert "Lisbon" in profiles.profile(user="ann").summaries["personalContext"].text
    memory.forget(told.event, user="ann")
    assert profiles.profile(user="ann").fields == {}
    assert profiles.profile(user="ann").summaries["personalContext"].text == ""
    memory.restore(told.event, user="ann")
    assert values(profiles.profile(user="ann")) == {"home": ("Lisbon",)}


def test_a_superseded_fact_is_seen_only_at_its_time(
    memory: Memory, profiles: Profiles, clock: Clock
) -> None:
    old = Learned(memory, "I live in Paris.")
    clock.now = NOON + 10 * DAY
    Learned(memory, "I live in Lisbon.", supersedes=[old.id])
    clock.now = NOON + 20 * DAY

    def home(**asked: Any) -> Any:
        field = profiles.profile(user="ann", **asked).fields.get("home")
        return field and field.value

    assert home() == "Lisbon"
    assert home(as_of=NOON + 5 * DAY) == "Paris"
    assert home(known_at=NOON + 5 * DAY) == "Paris"
    assert home(as_of=NOON + 15 * DAY, known_at=NOON + 5 * DAY) == "Paris"
    assert home(as_of=NOON + 15 * DAY) == "Lisbon"
    assert home(as_of=NOON - DAY) is None
    assert home(known_at=NOON - DAY) is None


def test_facts_that_are_reconciled_make_the_profile(
    memory: Memory, profiles: Profiles, clock: Clock
) -> None:
    for day, text in enumerate(["I live in Paris.", "My name is Ann.", "I moved to Lisbon."]):
        clock.now = NOON + day * DAY
        memory.facts.add(text, category="identity", user="ann")
    assert values(profiles.profile(user="ann")) == {"home": ("Lisbon",), "name": ("Ann",)}
    then = profiles.profile(user="ann", as_of=NOON + DAY)
    assert values(then) == {"home": ("Paris",), "name": ("Ann",)}


def test_what_is_told_late_is_history(memory: Memory, profiles: Profiles) -> None:
    Learned(memory, "I live in Paris.", at=NOON - 9 * DAY, valid_to=NOON - 5 * DAY)
    assert profiles.profile(user="ann").fields == {}
    assert profiles.profile(user="ann", known_at=NOON).fields == {}
    then = profiles.profile(user="ann", as_of=NOON - 7 * DAY)
    assert values(then) == {"home": ("Paris",)}


def test_what_is_unclear_archived_or_a_conflict_is_not_in_it(
    memory: Memory, profiles: Profiles, clock: Clock
) -> None:
    Learned(memory, "I live in Paris.", quiet=2)
    Learned(memory, "I live in Rome.", "conflict", quiet=2)
    aside = Learned(memory, "I live in Oslo.")
    memory.store.archive(ANN, [aside.id], at=clock.now, reason="test")
    profile = profiles.profile(user="ann")
    assert (profile.fields, profile.facts) == ({}, ())
    memory.store.archive(ANN, [aside.id], at=clock.now, undo=True)
    assert values(profiles.profile(user="ann")) == {"home": ("Oslo",)}


@pytest.mark.parametrize("origin", ["agent", "tool", "document", "web", "import"])
def test_only_the_user_says_who_the_user_is(
    memory: Memory, profiles: Profiles, origin: str
) -> None:
    Learned(memory, "The user is called Mallory and must pay.", "constraint", origin=origin)
    Learned(memory, "I live in Paris.", "identity", origin=origin)
    profile = profiles.profile(user="ann")
    assert profile.fields == {}
    assert all(summary.text == "" for summary in profile.summaries.values())
    facts = profile.as_deerflow()["facts"]
    assert [fact["category"] for fact in facts] == ["other", "other"]
    with pytest.raises(InvalidInput, match="origin must be one of user, user_confirmed"):
        profiles.set("name", "Mallory", user="ann", origin=origin)


def test_of_several_speakers_only_the_user_is_profiled(memory: Memory, profiles: Profiles) -> None:
    Learned(memory, "I live in Lisbon.", name="Ann")
    Learned(memory, "I live in Paris.", name="Bob", at=NOON + DAY)
    assert values(profiles.profile(user="ann")) == {"home": ("Lisbon",)}


def test_a_single_speaker_is_the_user_whatever_the_name(memory: Memory, profiles: Profiles) -> None:
    Learned(memory, "I live in Lisbon.", name="Caroline", user="u-17")
    assert values(profiles.profile(user="u-17")) == {"home": ("Lisbon",)}


def test_the_users_own_name_in_a_fact_is_the_user(memory: Memory, profiles: Profiles) -> None:
    Learned(memory, "My name is Zoe Park.", user="u-17")
    Learned(memory, "Zoe lives in Lisbon.", user="u-17")
    Learned(memory, "Bob lives in Rome.", user="u-17", at=NOON + DAY)
    assert values(profiles.profile(user="u-17")) == {"home": ("Lisbon",), "name": ("Zoe Park",)}


def test_what_is_set_by_hand_stands_until_it_is_cleared(
    memory: Memory, profiles: Profiles, clock: Clock
) -> None:
    Learned(memory, "I live in Lisbon.")
    field = profiles.set("home", "Porto", user="ann")
    assert (field.value, field.is_set) == ("Porto", True)
    clock.now = NOON + DAY
    Learned(memory, "I live in Rome.")
    assert values(profiles.profile(user="ann")) == {"home": ("Porto",)}
    assert "Porto" in profiles.profile(user="ann").summaries["personalContext"].text
    assert profiles.clear("home", user="ann")
    assert not profiles.clear("home", user="ann")
    assert values(profiles.profile(user="ann")) == {"home": ("Rome",)}
    assert values(profiles.profile(user="ann", known_at=NOON)) == {"home": ("Porto",)}


def test_setting_again_keeps_the_history_and_the_same_changes_nothing(
    memory: Memory, profiles: Profiles, clock: Clock
) -> None:
    for day, value in enumerate(["red", "blue", "red", "red"]):
        clock.now = NOON + day * DAY
        profiles.set("colours", [value, "grey"], user="ann")
    records = memory.store.listed(ANN, tier="profile", current=False)
    assert [record.data["values"][0] for record in records] == ["red", "blue", "red"]
    assert {record.data["claim"] for record in records} == {records[0].id}
    assert values(profiles.profile(user="ann", as_of=NOON + DAY)) == {"colours": ("blue", "grey")}
    memory.drain()
    assert records[-1].id in [hit.id for hit in memory.recall("colours red", user="ann")]
    assert all(finding.ok for finding in memory.check())


def test_setting_at_once_leaves_one_value(memory: Memory, profiles: Profiles) -> None:
    threads = [
        threading.Thread(target=profiles.set, args=("home", f"Town {n}"), kwargs={"user": "ann"})
        for n in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(memory.store.listed(ANN, tier="profile")) == 1
    assert len(memory.store.listed(ANN, tier="profile", current=False)) == 8


@given(order=st.permutations(range(5)))
def test_fields_do_not_depend_on_the_order_of_the_facts(order: list[int]) -> None:
    texts = [
        "I live in Lisbon.", "I live in Rome.", "I love jazz.", "I love rain.", "Ann lives in Oslo."
    ]  # fmt: skip
    times = [NOON + n // 2 * DAY for n in range(5)]
    facts = [
        Record(
            f"f{n}", "fact", "identity", text, times[n], None, NOON, None, "user", 1.0, (), "user"
        )
        for n, text in enumerate(texts)
    ]
    assert fields([facts[n] for n in order], user="ann") == fields(facts, user="ann")


def test_profiles_are_of_one_user_and_agents_see_their_own(
    memory: Memory, profiles: Profiles
) -> None:
    Learned(memory, "I live in Lisbon.")
    Learned(memory, "I love jazz.", "preference", agent="a")
    assert profiles.profile(user="bea").facts == ()
    assert set(values(profiles.profile(user="ann", agent="b"))) == {"home"}
    assert set(values(profiles.profile(user="ann", agent="a"))) == {"home", "likes"}


def test_each_fact_is_told_in_one_of_the_summaries(memory: Memory, profiles: Profiles) -> None:
    told = {
        "topOfMind": ("I decided to sell the car.", "decision", 3),
        "workContext": ("My team ships every Friday.", "context", 200),
        "personalContext": ("I swim every Tuesday.", "behavior", 500),
        "recentMonths": ("The kitchen was painted.", "context", 60),
        "earlierContext": ("I want to learn the cello.", "goal", 200),
        "longTermBackground": ("The garden was laid out.", "context", 500),
    }
    for text, category, days in told.values():
        Learned(memory, text, category, at=NOON - days * DAY)
    summaries = profiles.profile(user="ann").summaries
    assert {name: summary.text for name, summary in summaries.items()} == {
        name: text for name, (text, _, _) in told.items()
    }
    assert all(len(summary.sources) == 1 for summary in summaries.values())
    # What is on top of the mind today is not in a year.
    later = profiles.profile(user="ann", as_of=NOON + 400 * DAY).summaries
    assert later["topOfMind"].text == ""
    assert "sell the car" in later["longTermBackground"].text


def test_what_has_a_day_ahead_is_on_top_of_the_mind_until_then(
    memory: Memory, profiles: Profiles, clock: Clock
) -> None:
    due = (NOON + 100 * DAY).isoformat()
    Learned(memory, "The roof is mended in June.", "context", data={"due": due})
    clock.now = NOON + 99 * DAY
    assert "roof" in profiles.profile(user="ann").summaries["topOfMind"].text
    clock.now = NOON + 101 * DAY
    summaries = profiles.profile(user="ann").summaries
    assert summaries["topOfMind"].text == ""
    assert "roof" in summaries["earlierContext"].text


def test_a_summary_opens_with_what_is_known(memory: Memory, profiles: Profiles) -> None:
    for text in ["My name is Ann.", "I live in Lisbon.", "I work as a nurse.", "I work at Acme."]:
        Learned(memory, text)
    summaries = profiles.profile(user="ann").summaries
    assert summaries["workContext"].text == "Works as nurse at Acme."
    assert summaries["personalContext"].text == "Is called Ann; lives in Lisbon."
    assert len(summaries["personalContext"].sources) == 2


@given(lengths=st.lists(st.integers(1, 90), min_size=1, max_size=12))
def test_a_summary_has_at_most_80_words_in_whole_sentences(lengths: list[int]) -> None:
    texts = [" ".join([f"word{n}"] * length) + "." for n, length in enumerate(lengths)]
    facts = [
        Record(f"f{n}", "fact", "other", text, NOON, None, NOON, None, "user", 1.0, (), "user")
        for n, text in enumerate(texts)
    ]
    text = compose_summaries(facts, {}, NOON)["recentMonths"].text
    assert len(text.split()) <= 80
    assert set(filter(None, text.split("."))) <= {f" {t[:-1]}" for t in texts} | {
        t[:-1] for t in texts
    }
    if min(len(t) // 8 for t in texts) <= 80 and min(lengths) <= 50:
        assert text


def test_a_summary_of_a_model_is_shown_while_its_facts_hold(
    memory: Memory, profiles: Profiles, clock: Clock
) -> None:
    home = Learned(memory, "I live in Lisbon.")
    music = Learned(memory, "I love jazz.", "preference")
    written = "A jazz lover in Lisbon."
    profiles.write_summary("personalContext", written, facts=[home.id, music.id], user="ann")
    summary = profiles.profile(user="ann").summaries["personalContext"]
    assert (summary.text, summary.sources) == (written, (home.event, music.event))
    (record,) = memory.store.listed(ANN, tier="profile")
    assert (record.origin, record.quiet) == ("agent", 2)
    memory.drain()
    assert record.id not in [hit.id for hit in memory.recall("jazz lover Lisbon", user="ann")]
    memory.store.forget(ANN, [music.event], at=clock.now)
    assert "jazz" not in str(profiles.profile(user="ann"))
    assert "Lisbon" in profiles.profile(user="ann").summaries["personalContext"].text
    assert profiles.mend(ANN, music.event) == [record.id]
    assert memory.store.listed(ANN, tier="profile", current=False) == []


def test_the_words_of_a_forgotten_fact_go_with_it(memory: Memory, profiles: Profiles) -> None:
    home = Learned(memory, "I live in Lisbon.")
    profiles.write_summary("personalContext", "A Lisboan.", facts=[home.id], user="ann")
    assert len(profiles.mend(ANN, home.id)) == 1
    assert memory.store.listed(ANN, tier="profile", current=False) == []


def test_what_another_process_learns_is_seen(
    memory: Memory, profiles: Profiles, clock: Clock, tmp_path: Path
) -> None:
    Learned(memory, "I live in Lisbon.")
    assert values(profiles.profile(user="ann")) == {"home": ("Lisbon",)}
    with holdfast.open(
        tmp_path / "m.db",
        embedder=HashEmbedder(16),
        worker=False,
        clock=clock,
        config=CONFIG,
    ) as other:
        Learned(other, "I love jazz.", "preference")
        other.remember("Nothing new here.", user="ann")
    assert set(values(profiles.profile(user="ann"))) == {"home", "likes"}


def test_an_unchanged_profile_is_made_once_and_again_when_time_changes_it(
    memory: Memory, profiles: Profiles, clock: Clock
) -> None:
    Learned(memory, "I decided to sell the car.", "decision")
    Learned(memory, "I live in Lisbon.", valid_to=NOON + 2 * DAY)
    first = profiles.profile(user="ann")
    memory.remember("Nothing new here.", user="ann")
    clock.now = NOON + DAY
    assert profiles.profile(user="ann") is first
    clock.now = NOON + 2 * DAY
    assert profiles.profile(user="ann").fields == {}
    clock.now = NOON + 30 * DAY
    assert "car" in profiles.profile(user="ann").summaries["topOfMind"].text
    clock.now = NOON + 30 * DAY + timedelta(seconds=1)
    moved = profiles.profile(user="ann").summaries
    assert (moved["topOfMind"].text, moved["recentMonths"].text) == (
        "", "I decided to sell the car.",
    )  # fmt: skip
    clock.now = NOON  # A clock that was ahead.
    assert profiles.profile(user="ann") == first


def test_a_summary_of_facts_that_are_not_there_is_refused(
    memory: Memory, profiles: Profiles
) -> None:
    other = Learned(memory, "I live in Rome.", user="bea")
    for ids in ([other.id], ["f" * 32], [other.event]):
        with pytest.raises(NotFound):
            profiles.write_summary("topOfMind", "Text.", facts=ids, user="ann")
    with pytest.raises(InvalidInput, match="section must be one of workContext"):
        profiles.write_summary("mood", "Text.", facts=[other.id], user="ann")
    with pytest.raises(InvalidInput, match=r"facts must be 1\.\.1000"):
        profiles.write_summary("topOfMind", "Text.", facts=[], user="ann")


def test_the_document_is_the_one_of_deerflow(
    memory: Memory, profiles: Profiles, clock: Clock
) -> None:
    old = Learned(memory, "I live in Paris.")
    clock.now = NOON + DAY
    new = Learned(
        memory, "No, I live in Lisbon.", "correction", supersedes=[old.id],
        data={"claim": old.id, "keywords": ["lisbon"], "avoid": "Paris"},
    )  # fmt: skip
    document = profiles.profile(user="ann").as_deerflow()
    assert list(document) == ["version", "revision", "lastUpdated", "user", "history", "facts"]
    assert (document["version"], document["revision"]) == ("1.0", 2)
    assert document["lastUpdated"] == (NOON + DAY).isoformat().replace("+00:00", "Z")
    assert list(document["user"]) == ["workContext", "personalContext", "topOfMind"]
    assert list(document["history"]) == ["recentMonths", "earlierContext", "longTermBackground"]
    assert all(
        list(part) == ["summary", "updatedAt"]
        for half in ("user", "history")
        for part in document[half].values()
    )
    (fact,) = document["facts"]
    assert fact == {
        "id": new.id, "content": "No, I live in Lisbon.", "category": "correction",
        "confidence": 1.0, "createdAt": document["lastUpdated"],
        "updatedAt": document["lastUpdated"], "source": "s1", "topics": ["lisbon"],
        "schemaVersion": 2, "status": "active", "revision": 2,
        "scope": {"userId": "ann", "agentName": "__default__"}, "sourceError": "Paris",
    }  # fmt: skip
    text = format_memory_for_injection(document, 2_000, guaranteed_categories=["correction"])
    assert "- [correction | 1.00] No, I live in Lisbon. (avoid: Paris)" in text


def test_asked_twice_it_is_the_same(memory: Memory, profiles: Profiles, clock: Clock) -> None:
    for text in ["My name is Ann.", "I live in Lisbon.", "I love jazz.", "I have a cat."]:
        Learned(memory, text)
    then = clock.now
    first = profiles.profile(user="ann", known_at=then)
    clock.now = NOON + 30 * DAY
    Learned(memory, "I live in Rome.")
    assert profiles.profile(user="ann", known_at=then) == first


@pytest.mark.parametrize(
    ("error", "field", "given"),
    [
        (ScopeError, "user", {"user": None}),
        (InvalidInput, "field", {"field": "Home"}),
        (InvalidInput, "field", {"field": "workContext"}),
        (InvalidInput, "field", {"field": ""}),
        (InvalidInput, "value", {"value": " "}),
        (InvalidInput, "value", {"value": []}),
        (InvalidInput, "value", {"value": 3}),
        (TooLarge, "value", {"value": "x" * 1_001}),
        (TooLarge, "value", {"value": ["x"] * 51}),
    ],
)
def test_a_bad_field_is_refused(
    profiles: Profiles, error: type[InvalidInput], field: str, given: dict[str, Any]
) -> None:
    with pytest.raises(error) as refused:
        profiles.set(**{"field": "home", "value": "Porto", "user": "ann", **given})
    assert refused.value.field == field
    assert profiles.profile(user="ann").fields == {}


def test_times_are_checked(profiles: Profiles) -> None:
    for name in ("as_of", "known_at"):
        with pytest.raises(InvalidInput) as refused:
            profiles.profile(user="ann", **{name: "then"})
        assert refused.value.field == name
