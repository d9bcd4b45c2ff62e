"""`holdfast knowledge`: documents and values under keys."""

import re
from pathlib import Path
from typing import Any

import pytest

from tests.service.commands import NO_ID, Run, remembered

#: Left out of `make check`: each opens a memory, or takes its time.
pytestmark = pytest.mark.slow


HANDBOOK = (
    "# Handbook\n\nThe harbour office opens at eight.\n\n# Keys\n\nThe spare key hangs left.\n"
)


@pytest.fixture
def file(run: Run, tmp_path: Path) -> Path:
    made = tmp_path / "handbook.md"
    made.write_text(HANDBOOK)
    return made


def added(run: Run, file: Path, *options: str) -> dict[str, Any]:
    ended = run("knowledge", "add", str(file), "--json", *options)
    assert ended.code == 0, ended.err
    made: dict[str, Any] = ended.json
    return made


def listed(run: Run, *options: str) -> dict[str, Any]:
    ended = run("knowledge", "list", "--json", *options)
    assert ended.code == 0, ended.err
    found: dict[str, Any] = ended.json
    return found


# Documents


def test_a_document_is_added_found_and_listed(run: Run, file: Path) -> None:
    ended = run("knowledge", "add", "handbook.md")
    assert ended.code == 0, ended.err
    told = re.fullmatch(
        r"handbook\.md: markdown, (\d+) pieces?, [\d,]+ tokens \(([0-9a-f]{32})\)\n", ended.out
    )
    assert told, ended.out
    heading, row = run("knowledge", "list").out.splitlines()
    assert heading.split() == ["id", "added", "(UTC)", "format", "pieces", "document"]
    assert row.startswith(told[2])
    assert re.search(rf"markdown +{told[1]} +handbook\.md$", row)
    hits = run("recall", "harbour office", "--user", "ann", "--json").json["hits"]
    assert hits[0]["tier"] == "knowledge"
    assert "opens at eight" in hits[0]["content"]
    assert "vector" in hits[0]["why"]


def test_the_same_again_changes_nothing_and_other_bytes_are_a_new_version(
    run: Run, file: Path
) -> None:
    first = added(run, file)
    again = run("knowledge", "add", str(file))
    assert again.out == f"nothing to do: handbook.md is there already ({first['id']})\n"
    file.write_text(HANDBOOK.replace("eight", "nine"))
    second = added(run, file)
    assert second["claim"] == first["id"]
    assert [each["id"] for each in listed(run)["documents"]] == [second["id"]]
    ended = run("recall", "harbour office opens", "--user", "ann", "--tier", "knowledge")
    assert "nine" in ended.out
    assert "eight" not in ended.out


def test_a_name_a_format_and_metadata_are_given(run: Run, file: Path) -> None:
    made = added(run, file, "--name", "House rules", "--format", "text", "--metadata", "year=2026")
    assert (made["name"], made["format"], made["metadata"]) == (
        "House rules",
        "text",
        {"year": "2026"},
    )


def test_what_a_user_adds_is_theirs(run: Run, file: Path) -> None:
    made = added(run, file, "--user", "ann")
    assert listed(run) == {"documents": [], "entries": []}
    assert [each["id"] for each in listed(run, "--user", "ann")["documents"]] == [made["id"]]
    asked = ("recall", "harbour office", "--json", "--tier", "knowledge", "--user")
    assert run(*asked, "bob").json["count"] == 0
    assert run(*asked, "ann").json["count"] > 0


def test_a_document_is_removed(run: Run, file: Path) -> None:
    id = added(run, file)["id"]
    ended = run("knowledge", "remove", id)
    assert (ended.code, ended.out) == (0, "removed\n")
    assert run("knowledge", "remove", id).out == "nothing to do: it was removed already\n"
    assert run("knowledge", "remove", id, "--json").json == {"id": id, "changed": False}
    assert run("recall", "harbour", "--user", "ann", "--json").json["count"] == 0
    assert run("knowledge", "list").out == "the knowledge base is empty\n"


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["no-such.md"], "no-such.md"),
        (["."], "no regular file"),
        (["handbook.md", "--format", "docx"], "format"),
        (["handbook.md", "--name", " "], "name"),
        (["handbook.md", "--metadata", "year"], "--metadata must look like name=value"),
        (["handbook.md", "--user", ""], "user"),
        (["handbook.md", "--format", "pdf"], "handbook.md"),
    ],
)
def test_a_wrong_document_is_told(run: Run, file: Path, options: list[str], told: str) -> None:
    remembered(run)
    ended = run("knowledge", "add", *options)
    assert (ended.code, ended.out) == (2, "")
    assert told in ended.err
    assert listed(run)["documents"] == []


# Entries


def test_a_value_is_kept_under_a_key(run: Run) -> None:
    ended = run("knowledge", "set", "office.wifi", "lighthouse")
    assert re.fullmatch(r"office\.wifi: lighthouse \([0-9a-f]{32}\)\n", ended.out)
    assert run("knowledge", "get", "office.wifi").out == "lighthouse\n"
    told = run("knowledge", "set", "office.wifi", "seagull", "--json").json
    assert run("knowledge", "get", "office.wifi", "--json").json["id"] == told["id"]
    run("knowledge", "set", "home.door", "green")
    assert [each["key"] for each in listed(run)["entries"]] == ["home.door", "office.wifi"]
    assert [each["key"] for each in listed(run, "--prefix", "office")["entries"]] == ["office.wifi"]
    shown = run("knowledge", "list", "-n", "1").out.splitlines()
    assert shown[0].split() == ["id", "set", "(UTC)", "key", "value"]
    assert shown[1].endswith("home.door  green")
    assert len(shown) == 2
    assert run("knowledge", "remove", told["id"]).out == "removed\n"
    assert run("knowledge", "get", "office.wifi").code == 2


@pytest.mark.parametrize(
    ("command", "told"),
    [
        (["get", "office.wifi"], "office.wifi"),
        (["get", " "], "key"),
        (["set", " ", "x"], "key"),
        (["set", "a", " "], "value"),
        (["list", "--limit", "0"], "limit"),
        (["remove", NO_ID], NO_ID),
        (["list", "--workspace", ""], "workspace"),
    ],
)
def test_wrong_entries_are_told(run: Run, command: list[str], told: str) -> None:
    remembered(run)
    ended = run("knowledge", *command)
    assert (ended.code, ended.out) == (2, "")
    assert told in ended.err
    assert run("knowledge", "list").out == "the knowledge base is empty\n"


def test_looking_makes_no_memory(run: Run, tmp_path: Path) -> None:
    for command in (["list"], ["get", "a"], ["remove", NO_ID]):
        assert run("knowledge", *command).code == 2
    assert list(tmp_path.iterdir()) == []
