"""`holdfast notes`, `profile` and `procedures`."""

import re
from pathlib import Path
from typing import Any

import pytest

from tests.service.commands import NO_ID, Run, remembered

#: Left out of `make check`: each opens a memory, or takes its time.
pytestmark = pytest.mark.slow


SHIP = "We ship on Friday."


def noted(run: Run, text: str = SHIP, *options: str) -> dict[str, Any]:
    ended = run("notes", "add", text, "--user", "ann", "--json", *options)
    assert ended.code == 0, ended.err
    made: dict[str, Any] = ended.json
    return made


# Notes


def test_a_first_note_makes_the_memory_and_is_listed(run: Run) -> None:
    ended = run("notes", "add", SHIP, "--user", "ann", "--category", "decision")
    assert ended.code == 0
    (id,) = re.fullmatch(r"noted as decision \(([0-9a-f]{32})\)\n", ended.out).groups()  # type: ignore[union-attr]
    listed = run("notes", "list", "--user", "ann").out.splitlines()
    assert listed[0].split() == ["id", "when", "(UTC)", "category", "weight", "note"]
    assert listed[1].startswith(f"{id}  ")
    assert listed[1].endswith("decision  1.00    We ship on Friday.")


def test_a_note_is_found_without_being_asked_for(run: Run) -> None:
    noted(run)
    ended = run("recall", "ship Friday", "--user", "ann", "--json")
    assert [each["tier"] for each in ended.json["hits"]] == ["note"]
    # She has no turn, but something to be found.
    nothing = run("recall", "ship", "--user", "ann", "--tier", "fact")
    assert nothing.out == "nothing found\n"


def test_a_day_begins_at_the_midnight_of_its_zone(run: Run) -> None:
    remembered(run, "We decided to ship on Friday.", "--at", "2026-03-01T23:30Z")
    run("worker", "--once")
    day = ("notes", "day", "2026-03-01", "--user", "ann")
    assert [each["category"] for each in run(*day, "--json").json] == ["decision"]
    assert "We decided to ship on Friday." in run(*day).out
    assert run(*day, "--tz", "Europe/Lisbon", "--json").json != []
    assert run(*day, "--tz", "Asia/Kathmandu").out == "no notes: `holdfast notes add` makes one\n"
    next_day = ("notes", "day", "2026-03-02", "--user", "ann")
    assert len(run(*next_day, "--tz", "+05:45", "--json").json) == 1


def test_a_category_narrows_and_others_see_nothing(run: Run) -> None:
    noted(run)
    noted(run, "The release went well.", "--category", "outcome")
    listed = run("notes", "list", "--user", "ann", "--category", "outcome", "--json").json
    assert [each["content"] for each in listed] == ["The release went well."]
    assert len(run("notes", "list", "--user", "ann", "-n", "1", "--json").json) == 1
    assert run("notes", "list", "--user", "bob").out == "no notes: `holdfast notes add` makes one\n"
    assert run("notes", "list", "--user", "bob", "--json").json == []


@pytest.mark.parametrize(
    ("command", "named"),
    [
        (["add", " "], "content"),
        (["add", SHIP, "--category", "gossip"], "category"),
        (["list", "--category", "gossip"], "category"),
        (["list", "--limit", "0"], "limit"),
        (["day", "2026-02-30"], "day"),
        (["day", "2026-03-01", "--tz", "Mars/Olympus"], "tz"),
        (["list", "--agent", ""], "agent"),
    ],
)
def test_wrong_notes_name_the_field(run: Run, command: list[str], named: str) -> None:
    noted(run)
    ended = run("notes", *command, "--user", "ann")
    assert (ended.code, ended.out) == (2, "")
    assert named in ended.err
    assert len(run("notes", "list", "--user", "ann", "--json").json) == 1


def test_a_forgotten_note_is_gone(run: Run) -> None:
    id = noted(run)["id"]
    assert run("forget", id, "--user", "ann").code == 0
    assert run("notes", "list", "--user", "ann").out == "no notes: `holdfast notes add` makes one\n"
    assert run("recall", "ship Friday", "--user", "ann", "--json").json["count"] == 0


# Profile


@pytest.fixture
def known(run: Run) -> Run:
    remembered(run, "My name is Ann Berger and I live in Lisbon.", "--at", "2026-03-01T10:00Z")
    assert run("worker", "--once").code == 0
    return run


def fields(run: Run, *options: str) -> dict[str, Any]:
    ended = run("profile", "--user", "ann", "--json", *options)
    assert ended.code == 0, ended.err
    return {name: each["values"] for name, each in ended.json["fields"].items()}


def test_a_profile_shows_fields_and_summaries(known: Run) -> None:
    ended = known("profile", "--user", "ann")
    assert ended.code == 0
    heading, *rows = ended.out.split("\n\n")[0].splitlines()
    assert heading.split() == ["field", "sure", "turns", "value"]
    assert [row.split("  ")[-1].strip() for row in rows] == ["Lisbon", "Ann Berger"]
    assert "personalContext: Is called Ann Berger; lives in Lisbon." in ended.out
    told = known("profile", "--user", "ann", "--json").json
    assert len(told["summaries"]) == 6
    assert len(told["fields"]["home"]["sources"]) == 1


def test_nothing_known_is_said(known: Run) -> None:
    ended = known("profile", "--user", "bob")
    assert (ended.code, ended.out) == (0, "nothing is known of user bob yet\n")
    assert known("profile", "--user", "bob", "--json").json["fields"] == {}


def test_a_field_is_set_and_cleared_by_hand(known: Run) -> None:
    assert fields(known, "--set", "home=Faro", "--set", "pet=a cat")["home"] == ["Faro"]
    assert fields(known)["pet"] == ["a cat"]
    # What was said stays what it is.
    assert fields(known, "--clear", "home")["home"] == ["Lisbon"]
    again = known("profile", "--user", "ann", "--clear", "home")
    assert (again.code, again.err) == (0, "note: home was not set by hand\n")


def test_a_profile_can_begin_by_hand(run: Run, tmp_path: Path) -> None:
    assert run("profile", "--user", "ann").code == 2
    assert list(tmp_path.iterdir()) == []
    assert fields(run, "--set", "home=Faro") == {"home": ["Faro"]}


def test_a_profile_as_of_a_time(known: Run) -> None:
    assert fields(known, "--as-of", "2026-02-01T00:00Z") == {}
    assert fields(known, "--as-of", "2026-03-02T00:00Z")["home"] == ["Lisbon"]
    assert fields(known, "--known-at", "2026-03-02T00:00Z") == {}


@pytest.mark.parametrize(
    ("options", "named"),
    [
        (["--set", "home"], "--set must look like name=value"),
        (["--set", "Home=Faro"], "field must be"),
        (["--set", "home= "], "value"),
        (["--clear", "no such"], "field must be"),
        (["--as-of", "then"], "as_of"),
        (["--known-at", "then"], "known_at"),
        (["--user", ""], "user"),
    ],
)
def test_a_wrong_profile_names_the_field(known: Run, options: list[str], named: str) -> None:
    ended = known("profile", "--user", "ann", *options)
    assert (ended.code, ended.out) == (2, "")
    assert named in ended.err
    assert fields(known)["home"] == ["Lisbon"]


# Procedures


def release(run: Run, *options: str) -> dict[str, Any]:
    ended = run(
        "procedures", "add", "Release", "--step", "Run the tests.", "--step", "Tag it.",
        "--user", "ann", "--json", *options,
    )  # fmt: skip
    assert ended.code == 0, ended.err
    made: dict[str, Any] = ended.json
    return made


def test_a_procedure_is_written_down_and_listed(run: Run) -> None:
    ended = run("procedures", "add", "Release", "--step", "Tag it.", "--user", "ann")
    assert re.fullmatch(r"Release: 1 step \([0-9a-f]{32}\)\n", ended.out)
    release(run, "--tag", "shipping", "--trigger", "before a release")
    listed = run("procedures", "list", "--user", "ann", "--tag", "shipping").out.splitlines()
    assert listed[0].startswith("Release (workflow, 0 worked, 0 failed)  ")
    assert listed[1:] == ["  when: before a release", "  1. Run the tests.", "  2. Tag it."]
    assert len(run("procedures", "list", "--user", "ann", "--json").json) == 2


def test_whether_it_worked_is_counted(run: Run) -> None:
    id = release(run)["id"]
    ended = run("procedures", "used", id, "--user", "ann")
    assert ended.out.startswith(f"Release (workflow, 1 worked, 0 failed)  {id}\n")
    told = run("procedures", "used", id, "--failed", "--user", "ann", "--json").json
    assert (told["worked"], told["failed"]) == (1, 1)


def test_no_procedures(run: Run) -> None:
    release(run)
    assert (
        run("procedures", "list", "--user", "bob").out
        == "no procedures: `holdfast procedures add` makes one\n"
    )
    assert run("procedures", "list", "--user", "bob", "--json").json == []


@pytest.mark.parametrize(
    ("command", "named"),
    [
        (["add", "Release"], "--step"),
        (["add", "Release", "--step", " "], "steps"),
        (["add", " ", "--step", "Tag it."], "title"),
        (["list", "--tag", " "], "tag"),
        (["used", NO_ID], NO_ID),
    ],
)
def test_a_wrong_procedure_names_the_field(run: Run, command: list[str], named: str) -> None:
    release(run)
    ended = run("procedures", *command, "--user", "ann")
    assert (ended.code, ended.out) == (2, "")
    assert named in ended.err


def test_nobody_uses_another_s_procedure(run: Run) -> None:
    id = release(run)["id"]
    assert run("procedures", "used", id, "--user", "bob").code == 2
    (listed,) = run("procedures", "list", "--user", "ann", "--json").json
    assert listed["worked"] == 0


# Status


def test_the_status_of_a_user_counts_by_tier(run: Run) -> None:
    noted(run)
    whole = run("status").out
    assert whole.startswith("memories   0 (0 of them forgotten)\nderived    1 (")
    remembered(run, "I live in Lisbon.", "--session", "s1")
    run("worker", "--once")
    told = run("status", "--user", "ann", "--json").json
    assert (told["tiers"]["note"], told["tiers"]["session"], told["tiers"]["fact"]) == (1, 1, 1)
    assert told["session"] is None
    heading, *rows = run("status", "--user", "ann").out.splitlines()
    assert heading.split() == ["tier", "memories"]
    assert dict(row.split() for row in rows)["note"] == "1"
    assert set(run("status", "--user", "bob", "--json").json["tiers"].values()) == {0}


def test_the_status_of_a_session_tells_how_full_it_is(run: Run) -> None:
    remembered(run, "I live in Lisbon.", "--session", "s1")
    shown = run("status", "--user", "ann", "--session", "s1").out
    assert re.search(r"^session s1: \d+ of 128,000 tokens, [\d,]+ turns until it is full$", shown,
                     re.MULTILINE)  # fmt: skip
    told = run("status", "--user", "ann", "--session", "s1", "--json").json["session"]
    assert (told["session"], told["messages"]) == ("s1", 1)
    for options, named in (
        (["--user", "ann", "--session", "s2"], "s2"),
        (["--session", "s1"], "user"),
    ):
        ended = run("status", *options)
        assert (ended.code, ended.out) == (2, "")
        assert named in ended.err
