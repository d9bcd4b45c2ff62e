"""`holdfast team`, `shares` and `agents`."""

import re
from pathlib import Path
from typing import Any

import pytest

import holdfast
from tests.service.commands import NO_ID, Run, remembered

#: Left out of `make check`: each opens a memory, or takes its time.
pytestmark = pytest.mark.slow


POSTGRES = "We use Postgres for orders."


def written(run: Run, text: str = POSTGRES, *options: str) -> dict[str, Any]:
    ended = run("team", "write", text, "--json", *options)
    assert ended.code == 0, ended.err
    made: dict[str, Any] = ended.json
    return made


# Team


def test_what_the_team_writes_is_seen_by_everybody(run: Run) -> None:
    ended = run("team", "write", POSTGRES, "--type", "decision", "--title", "Database")
    assert re.fullmatch(r"decision [0-9a-f]{32}\n", ended.out)
    written(run, "The standup was short.", "--type", "standup", "--author", "bob")
    heading, *rows = run("team", "list").out.splitlines()
    assert heading.split() == ["id", "when", "(UTC)", "type", "entry"]
    assert [row.split("  ")[-1].strip() for row in rows] == ["The standup was short.", "Database"]
    for user in ("ann", "bob"):
        hits = run("recall", "Postgres", "--user", user, "--json").json["hits"]
        assert [hit["tier"] for hit in hits][:1] == ["workspace"]
    assert "workspace" in run("recall", "Postgres", "--user", "ann").out.splitlines()[0]


def test_who_writes_is_told(run: Run) -> None:
    assert written(run)["origin"] == "agent"
    by = written(run, "We meet on Mondays.", "--author", "bob", "--tag", "a", "--tag", "b")
    assert (by["author"], by["origin"], by["tags"]) == ("bob", "user", ["a", "b"])


def test_types_narrow_and_other_workspaces_see_nothing(run: Run) -> None:
    written(run, POSTGRES, "--type", "decision")
    written(run, "The Postgres disk was full.", "--type", "incident")
    (one,) = run("team", "list", "--type", "incident", "--json").json
    assert one["type"] == "incident"
    assert len(run("team", "list", "-n", "1", "--json").json) == 1
    assert run("team", "list", "--workspace", "w2").out == (
        "the team of workspace w2 has written nothing yet\n"
    )
    assert run("team", "list", "--workspace", "w2", "--json").json == []


def test_a_search_finds_the_best_first(run: Run) -> None:
    written(run, POSTGRES, "--type", "decision")
    written(run, "The cafeteria is closed in August.")
    heading, first, *_ = run("team", "search", "Postgres").out.splitlines()
    assert heading.split() == ["score", "type", "entry"]
    assert first.endswith(f"decision  {POSTGRES}")
    hits = run("team", "search", "Postgres", "--type", "decision", "--json").json
    assert [hit["content"] for hit in hits] == [POSTGRES]
    assert run("team", "search", "Postgres", "--type", "adr").out == "nothing found\n"
    assert run("team", "search", "Postgres", "--workspace", "w2", "--json").json == []


@pytest.mark.parametrize(
    ("command", "named"),
    [
        (["write", " "], "content"),
        (["write", POSTGRES, "--type", "gossip"], "type"),
        (["write", POSTGRES, "--title", "x" * 201], "title"),
        (["list", "--type", "gossip"], "types"),
        (["list", "--limit", "0"], "limit"),
        (["search", " "], "query"),
        (["search", "tea", "--limit", "201"], "limit"),
        (["list", "--workspace", ""], "workspace"),
    ],
)
def test_a_wrong_entry_names_the_field(run: Run, command: list[str], named: str) -> None:
    written(run)
    ended = run("team", *command)
    assert (ended.code, ended.out) == (2, "")
    assert named in ended.err


# Shares


def granted(run: Run, *options: str) -> dict[str, Any]:
    ended = run("shares", "grant", "--to", "lab", "--json", *options)
    assert ended.code == 0, ended.err
    made: dict[str, Any] = ended.json
    return made


def test_a_share_is_granted_listed_and_revoked(run: Run) -> None:
    assert run("notes", "add", "The key is under the mat.", "--user", "ann").code == 0
    asked = ("recall", "key mat", "--user", "eve", "--workspace", "lab", "--json")
    assert run(*asked).json["count"] == 0
    ended = run("shares", "grant", "--user", "ann", "--to", "lab", "--segment", "daily_memory")
    (id,) = re.fullmatch(r"granted: ([0-9a-f]{32})\n", ended.out).groups()  # type: ignore[union-attr]
    (hit,) = run(*asked).json["hits"]
    assert hit["why"]["share"] == id
    heading, row = run("shares", "list", "--user", "ann").out.splitlines()
    assert heading.split() == ["id", "to", "permission", "expires", "revoked", "segments"]
    assert re.fullmatch(rf"{id}  lab  read +- +- +daily_memory", row)
    assert run("shares", "revoke", id, "--user", "ann").out == "revoked\n"
    assert run(*asked).json["count"] == 0
    again = run("shares", "revoke", id, "--user", "ann")
    assert (again.code, again.out) == (0, "nothing to do: it was revoked already\n")
    assert run("shares", "revoke", id, "--user", "ann", "--json").json["changed"] is False
    (listed,) = run("shares", "list", "--user", "ann", "--json").json
    assert listed["revoked_at"] is not None


def test_a_share_ends_by_itself(run: Run) -> None:
    remembered(run)
    made = granted(run, "--user", "ann", "--segment", "profile", "--hours", "1.5")
    assert made["expires_at"] > made["created_at"]
    assert granted(run, "--user", "ann", "--segment", "graph")["expires_at"] is None


def test_the_team_shares_without_a_user(run: Run) -> None:
    written(run)
    made = granted(run, "--segment", "team", "--segment", "documents")
    assert made["segments"] == ["documents", "team"]
    assert [each["id"] for each in run("shares", "list", "--json").json] == [made["id"]]
    found = run("recall", "Postgres", "--user", "eve", "--workspace", "lab", "--json").json
    assert found["count"] == 1
    # What the team granted is not a user's to revoke.
    assert run("shares", "revoke", made["id"], "--user", "ann").code == 2
    assert run("shares", "revoke", made["id"]).out == "revoked\n"


def test_no_shares(run: Run) -> None:
    remembered(run)
    assert (
        run("shares", "list", "--user", "ann").out
        == "no shares: `holdfast shares grant` makes one\n"
    )
    assert run("shares", "list", "--json").json == []


@pytest.mark.parametrize(
    ("command", "named"),
    [
        (["grant", "--to", "lab", "--segment", "diary"], "segments"),
        (["grant", "--to", "lab", "--segment", "team"], "segments"),
        (["grant", "--to", "lab"], "--segment"),
        (["grant", "--segment", "graph"], "--to"),
        (["grant", "--to", "default", "--segment", "graph"], "to "),
        (["grant", "--to", "lab", "--segment", "graph", "--permission", "own"], "permission"),
        (["grant", "--to", "lab", "--segment", "graph", "--hours", "0"], "expires_in"),
        (["grant", "--to", "lab", "--segment", "graph", "--hours", "nan"], "expires_in"),
        (["grant", "--to", "lab", "--segment", "graph", "--hours", "inf"], "expires_in"),
        (["revoke", NO_ID], NO_ID),
        (["revoke", " "], "id"),
    ],
)
def test_a_wrong_share_names_the_field(run: Run, command: list[str], named: str) -> None:
    remembered(run)
    ended = run("shares", *command, "--user", "ann")
    assert (ended.code, ended.out) == (2, "")
    assert named in ended.err
    assert run("shares", "list", "--user", "ann", "--json").json == []


# Agents


def test_trust_is_shown_and_set(run: Run, tmp_path: Path) -> None:
    assert run("agents", "trust").code == 2  # Looking makes no memory.
    assert list(tmp_path.iterdir()) == []
    assert run("agents", "trust", "--set", "cook=0.8", "--set", "guide=0", "--json").json == {
        "cook": 0.8,
        "guide": 0.0,
    }
    shown = run("agents", "trust").out.splitlines()
    assert [each.split() for each in shown] == [
        ["agent", "trust"],
        ["cook", "0.8"],
        ["guide", "0.0"],
    ]
    other = run("agents", "trust", "--workspace", "w2")
    assert other.out == "no agent was given a trust of its own: all have 0.5\n"
    assert run("agents", "trust", "--workspace", "w2", "--json").json == {}


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ("cook", "--set must look like name=value"),
        ("cook=much", "the trust in cook must be a number in 0..1, not 'much'"),
        ("cook=1.5", "the trust in cook must be a number in 0..1"),
        ("cook=nan", "the trust in cook must be a number in 0..1"),
    ],
)
def test_wrong_trust_sets_nothing(run: Run, given: str, told: str) -> None:
    remembered(run)
    ended = run("agents", "trust", "--set", "guide=0.9", "--set", given)
    assert (ended.code, ended.out) == (2, "")
    assert told in ended.err
    with holdfast.open("holdfast.db", worker=False) as memory:
        assert memory.agents.trust() == {}
