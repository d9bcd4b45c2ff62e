"""`holdfast facts`: list, change, answer, settle; and a fact's history."""

import re
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

import holdfast
from holdfast.language.statements.values import FactDraft
from holdfast.types import Scope
from tests.service.commands import NO_ID, Ended, Run, remembered

#: Left out of `make check`: each opens a memory, or takes its time.
pytestmark = pytest.mark.slow


@pytest.fixture
def moved(run: Run) -> Run:
    """Ann said where she lives, then that she moved."""
    remembered(run, "I live in Lisbon.", "--at", "2026-03-01T10:00Z")
    remembered(run, "I moved to Porto.", "--at", "2026-03-05T10:00Z")
    assert run("worker", "--once").code == 0
    return run


def facts(run: Run, *options: str, user: str = "ann") -> list[dict[str, Any]]:
    ended = run("facts", "list", "--user", user, "--json", *options)
    assert ended.code == 0, ended.err
    found: list[dict[str, Any]] = ended.json
    return found


def texts(run: Run, *options: str, user: str = "ann") -> list[str]:
    return [each["content"] for each in facts(run, *options, user=user)]


def added(run: Run, text: str, *options: str) -> dict[str, Any]:
    ended = run("facts", "add", text, "--user", "ann", "--json", *options)
    assert ended.code == 0, ended.err
    made: dict[str, Any] = ended.json
    return made


# List


def test_facts_are_listed_with_what_can_be_done_with_them(moved: Run) -> None:
    ended = moved("facts", "list", "--user", "ann")
    assert ended.code == 0
    heading, row = ended.out.splitlines()
    assert heading.split("  ")[0] == "id"
    assert re.fullmatch(
        r"[0-9a-f]{32}  2026-03-05 10:00  identity  active  I moved to Porto\.", row
    )


def test_what_stood_before_a_fact_is_listed_behind_it(run: Run, tmp_path: Path) -> None:
    ann, now = Scope("default", "ann"), datetime(2026, 3, 1, 10, tzinfo=UTC)
    with holdfast.open(tmp_path / "holdfast.db", worker=False) as memory:
        turns = memory.remember("we split the gas\n35 each", user="ann", at=now).events
        draft = FactDraft(
            "35 each", "context", tuple(turns), "user", now, shown_before="we split the gas"
        )
        made = memory.facts.planned(ann, [draft], now=now)
        memory.store.put(ann, made, known_at=now, steps=[])
    listed = run("facts", "list", "--user", "ann")
    assert '35 each (after: "we split the gas")' in listed.out
    assert [each["before"] for each in facts(run)] == ["we split the gas"]


def test_a_status_a_category_and_a_limit_narrow(moved: Run) -> None:
    added(moved, "I like tea.", "--category", "preference")
    assert texts(moved) == ["I like tea.", "I moved to Porto."]
    assert texts(moved, "--category", "preference") == ["I like tea."]
    assert texts(moved, "--status", "superseded") == ["I live in Lisbon."]
    assert len(texts(moved, "--status", "all")) == 3
    assert texts(moved, "-n", "1") == ["I like tea."]


def test_what_held_and_what_was_known_at_a_time(moved: Run) -> None:
    assert texts(moved, "--as-of", "2026-03-02T00:00Z") == ["I live in Lisbon."]
    assert texts(moved, "--as-of", "2026-03-06T00:00Z") == ["I moved to Porto."]
    assert texts(moved, "--as-of", "2026-02-01T00:00Z") == []
    assert texts(moved, "--known-at", "2026-03-06T00:00Z") == []  # Heard of today.


def test_without_facts_it_says_so(moved: Run) -> None:
    ended = moved("facts", "list", "--user", "bob")
    assert (ended.code, ended.out) == (0, "no such facts of user bob\n")
    assert facts(moved, user="bob") == []
    assert facts(moved, "--workspace", "w2") == []


@pytest.mark.parametrize(
    ("options", "named"),
    [
        (["--category", "gossip"], "category"),
        (["--status", "gone"], "status"),
        (["--limit", "0"], "limit"),
        (["--as-of", "yesterday"], "as_of"),
        (["--known-at", "2026-03-01T10:00"], "known_at"),
        (["--user", " "], "user"),
        (["--workspace", ""], "workspace"),
    ],
)
def test_wrong_options_name_the_field(moved: Run, options: list[str], named: str) -> None:
    ended = moved("facts", "list", "--user", "ann", *options)
    assert (ended.code, ended.out) == (2, "")
    assert ended.err.startswith(f"error: {named} ")


# Add, update, invalidate


def test_a_first_fact_makes_the_memory(run: Run, tmp_path: Path) -> None:
    ended = run("facts", "add", "I live in Lisbon.", "--user", "ann")
    assert ended.code == 0
    assert re.fullmatch(r"add: I live in Lisbon\. \([0-9a-f]{32}\)\nbecause: new\n", ended.out), (
        ended.out
    )
    assert (tmp_path / "holdfast.db").exists()


def test_what_became_of_a_fact_is_told(moved: Run) -> None:
    assert added(moved, "I live in Braga.")["outcome"] == "supersede"
    again = moved("facts", "add", "I live in Braga.", "--user", "ann")
    assert again.out.startswith("noop: I live in Braga. (")
    assert texts(moved) == ["I live in Braga."]


def test_an_added_fact_is_found_by_meaning_at_once(moved: Run) -> None:
    id = added(moved, "The boiler is serviced every May.")["id"]
    ended = moved("recall", "boiler", "--user", "ann", "--tier", "fact", "--json")
    assert ended.json["hits"][0]["id"] == id
    assert "vector" in ended.json["hits"][0]["why"]


def test_an_edit_is_a_new_version_and_the_history_shows_both(moved: Run) -> None:
    id = added(moved, "My dentist is Dr. Okafor.")["id"]
    ended = moved("facts", "update", id, "My dentist is Dr. Osei.", "--user", "ann")
    assert ended.code == 0
    (new,) = re.fullmatch(r"now ([0-9a-f]{32}): My dentist is Dr\. Osei\.\n", ended.out).groups()  # type: ignore[union-attr]
    assert new != id
    for each in (id, new):
        shown = moved("history", each, "--user", "ann").out
        assert shown.splitlines()[0].split() == ["when", "(UTC)", "what", "version", "why"]
        assert "Dr. Okafor." in shown
        assert "Dr. Osei." in shown
        assert re.search(r"superseded +My dentist is Dr\. Okafor\.", shown)
    versions = moved("history", new, "--user", "ann", "--json").json["versions"]
    assert {each["record"] for each in versions} == {id, new}


def test_a_fact_is_taken_back_with_a_reason(moved: Run) -> None:
    (fact,) = facts(moved)
    ended = moved("facts", "invalidate", fact["id"], "--reason", "it was a joke", "--user", "ann")
    assert (ended.code, ended.out) == (0, "invalidated: I moved to Porto.\n")
    assert texts(moved) == []
    assert "it was a joke" in moved("history", fact["id"], "--user", "ann").out
    again = moved("facts", "invalidate", fact["id"], "--user", "ann", "--json")
    assert again.json["status"] == "invalidated"


@pytest.mark.parametrize(
    "command",
    [
        ["update", NO_ID, "Something else."],
        ["invalidate", NO_ID],
        ["answer", NO_ID, "--keep", "new"],
        ["resolve", NO_ID, "--keep", "both"],
    ],
)
def test_what_is_not_there_cannot_be_changed(moved: Run, command: list[str]) -> None:
    ended = moved("facts", *command, "--user", "ann", "--json")
    assert (ended.code, ended.out) == (2, "")
    assert NO_ID in ended.err
    # Nor what is another user's.
    (fact,) = facts(moved)
    other = moved("facts", command[0], fact["id"], *command[2:], "--user", "bob")
    assert other.code == 2
    assert texts(moved) == ["I moved to Porto."]


@pytest.mark.parametrize(
    ("command", "named"),
    [
        (["add", " "], "text"),
        (["add", "I like tea.", "--category", "gossip"], "category"),
        (["update", "ID", ""], "text"),
        (["invalidate", "ID", "--reason", "x" * 501], "reason"),
        (["answer", "ID", "--keep", "newest"], "keep"),
        (["conflicts", "--status", "old"], "status"),
    ],
)
def test_wrong_input_names_the_field(moved: Run, command: list[str], named: str) -> None:
    (fact,) = facts(moved)
    given = [fact["id"] if each == "ID" else each for each in command]
    ended = moved("facts", *given, "--user", "ann")
    assert (ended.code, ended.out) == (2, "")
    assert ended.err.startswith(f"error: {named} ")
    assert texts(moved) == ["I moved to Porto."]


def test_only_what_holds_can_be_changed(moved: Run) -> None:
    (old,) = facts(moved, "--status", "superseded")
    ended = moved("facts", "update", old["id"], "I live in Faro.", "--user", "ann")
    assert ended.code == 2
    assert "not in force" in ended.err
    ended = moved("facts", "answer", old["id"], "--keep", "new", "--user", "ann")
    assert ended.code == 2
    assert "waits for no answer" in ended.err


# What is unclear, contradicts, or is disputed


def test_nothing_is_unclear_at_first(moved: Run) -> None:
    for command, nothing in (
        ("unclear", "nothing is unclear\n"),
        ("contradictions", "no contradictions\n"),
        ("conflicts", "no conflicts\n"),
    ):
        assert moved("facts", command, "--user", "ann").out == nothing
        assert moved("facts", command, "--user", "ann", "--json").json == []


@pytest.mark.parametrize(
    ("keep", "left"), [("new", "Maybe, I live in Braga."), ("old", "I moved to Porto.")]
)
def test_what_is_unclear_is_asked_and_answered(moved: Run, keep: str, left: str) -> None:
    unclear = added(moved, "Maybe, I live in Braga.")
    assert unclear["outcome"] == "clarify"
    asked = moved("facts", "unclear", "--user", "ann").out
    assert asked.startswith(f"{unclear['id']}  Known: I moved to Porto. New: Maybe,")
    assert moved("facts", "unclear", "--user", "ann", "--json").json[0]["id"] == unclear["id"]
    ended = moved("facts", "answer", unclear["id"], "--keep", keep, "--user", "ann")
    assert (ended.code, ended.out) == (0, f"holds: {left}\n")
    assert texts(moved) == [left]
    assert moved("facts", "unclear", "--user", "ann").out == "nothing is unclear\n"


def test_a_contradiction_shows_both_sides(run: Run) -> None:
    never = added(run, "I've never tried sushi.")
    did = added(run, "I tried sushi in Osaka.")
    shown = run("facts", "contradictions", "--user", "ann").out.splitlines()
    assert [row.split("  ")[0] for row in shown[:2]] == [never["id"], did["id"]]
    (pair,) = run("facts", "contradictions", "--user", "ann", "--json").json
    assert (pair["earlier"]["id"], pair["later"]["id"]) == (never["id"], did["id"])


def dispute(run: Run) -> tuple[str, Ended]:
    with holdfast.open("holdfast.db", worker=False) as memory:
        memory.facts.add("I live in Paris.", user="ann", agent="cook")
        memory.facts.add("I live in Rome.", user="ann", agent="guide")
    (found,) = run("facts", "conflicts", "--user", "ann", "--json").json
    return found["id"], run("facts", "conflicts", "--user", "ann")


def test_two_agents_that_disagree_are_settled(run: Run) -> None:
    id, shown = dispute(run)
    first, *sides = shown.out.splitlines()
    assert first == f"{id}  user:home (open)"
    assert [side.split(":")[0].strip() for side in sides] == ["cook", "guide"]
    paris = re.search(r"Paris\. \(([0-9a-f]{32})\)", shown.out)
    assert paris
    wrong = run("facts", "resolve", id, "--keep", NO_ID, "--user", "ann")
    assert wrong.code == 2
    assert "keep" in wrong.err
    ended = run("facts", "resolve", id, "--keep", paris[1], "--user", "ann")
    assert (ended.code, ended.out) == (0, f"resolved: {paris[1]} was kept\n")
    assert texts(run) == ["I live in Paris."]
    assert run("facts", "conflicts", "--user", "ann").out == "no conflicts\n"
    (resolved,) = run("facts", "conflicts", "--user", "ann", "--status", "resolved", "--json").json
    assert resolved["id"] == id
    # An agent is not told of it: that would tell what the other one knows.
    ended = run("facts", "conflicts", "--user", "ann", "--status", "all", "--agent", "cook")
    assert ended.out == "no conflicts\n"


# Recall of facts


def test_recall_keeps_to_a_tier(moved: Run) -> None:
    ended = moved("recall", "Porto", "--user", "ann", "--tier", "fact")
    assert ended.code == 0
    (heading,) = [each for each in ended.out.splitlines() if each.startswith(" 1. ")]
    assert heading.endswith("  fact")
    assert "I moved to Porto." in ended.out
    assert "keywords:" not in ended.out
    full = moved("recall", "Porto", "--user", "ann", "--tier", "fact", "--full").out
    assert "keywords:" in full
    turns = moved("recall", "Porto", "--user", "ann", "--json").json["hits"]
    assert {each["tier"] for each in turns} == {"session"}


@pytest.mark.parametrize("command", ["recall", "context"])
@pytest.mark.parametrize(
    ("options", "named"),
    [
        (["--tier", "gossip"], "tiers"),
        (["--filter", "faded=perhaps"], "filters.faded"),
        (["--filter", "archived=1"], "filters.archived"),
    ],
)
def test_a_wrong_tier_or_filter_is_named(
    moved: Run, command: str, options: list[str], named: str
) -> None:
    ended = moved(command, "Porto", "--user", "ann", *options)
    assert (ended.code, ended.out) == (2, "")
    assert named in ended.err
