"""`holdfast graph`: every format, every way to say no, and names joined and parted by hand."""

import json
import re
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

import holdfast
from holdfast.memory.memory import Memory
from holdfast.testing import HashEmbedder
from tests.service.commands import Ended, Run, remembered

#: Left out of `make check`: each opens a memory, or takes its time.
pytestmark = pytest.mark.slow


PEOPLE = [
    {"name": "Priya Nandlall", "type": "person", "aliases": ["Priya"]},
    {"name": "Harrow & Tideman", "type": "company"},
    {"name": "Delft", "type": "city"},
]
CLAIMS: list[dict[str, Any]] = [
    {"source": "Priya", "type": "works_for", "target": "Harrow & Tideman", "confidence": 0.9},
    {"source": "Harrow & Tideman", "type": "located_in", "target": "Delft"},
    {"source": "Zoe", "type": "coaches", "target": "Falcons", "at": "2026-03-01T10:00Z"},
]


@pytest.fixture
def written(run: Run) -> Run:
    """A graph of five entities in two parts."""
    write(PEOPLE, CLAIMS)
    return run


def write(entities: list[Any], relations: list[Any], **given: Any) -> None:
    with holdfast.open("holdfast.db", worker=False) as memory:
        memory.graph.write(entities, relations, **{"user": "ann", **given})


def show(run: Run, *options: str, user: str = "ann") -> Ended:
    return run("graph", "show", "--user", user, *options)


def names(ended: Ended) -> set[str]:
    assert ended.code == 0, ended.err
    return {node["name"] for node in ended.json["nodes"]}


def lasting(ended: Ended) -> dict[str, Any]:
    """A graph without what changes while the clock runs."""
    told: dict[str, Any] = ended.json
    for each in (*told["nodes"], *told["edges"]):
        del each["strength"]
    return told


ALL = {"Priya Nandlall", "Harrow & Tideman", "Delft", "Zoe", "Falcons"}


# Show


def test_the_whole_graph_as_a_table(written: Run) -> None:
    ended = show(written)
    assert ended.code == 0, ended.err
    assert ended.out.startswith("5 entities, 3 relations\n")
    entities, relations = ended.out.split("\n\n")[1:]
    assert entities.splitlines()[0].split() == ["entity", "type", "also", "called", "strength"]
    # The most connected first, then by name.
    assert [line[:8] for line in entities.splitlines()[1:3]] == ["Harrow &", "Delft   "]
    assert re.search(r"^Priya Nandlall +person +Priya +\d\.\d\d$", entities, re.MULTILINE)
    assert "organization (company)" in entities
    assert re.search(r"^Zoe +coaches +Falcons +0\.80 +2026-03-01$", relations, re.MULTILINE)


def test_what_lies_around_one_entity(written: Run) -> None:
    found = show(written, "--entity", "priya", "--json")
    assert names(found) == {"Priya Nandlall", "Harrow & Tideman", "Delft"}
    near = show(written, "--entity", "priya", "--depth", "1", "--json")
    assert names(near) == {"Priya Nandlall", "Harrow & Tideman"}


def test_json_is_what_python_answers(written: Run) -> None:
    with holdfast.open("holdfast.db", worker=False) as memory:
        around = memory.graph.traverse("Priya", user="ann")
    told = show(written, "--entity", "Priya", "--format", "json").json
    assert [node["id"] for node in told["nodes"]] == [node.id for node in around.nodes]
    assert [edge["content"] for edge in told["edges"]] == [edge.content for edge in around.edges]
    assert [tuple(path) for path in told["paths"]] == list(around.paths)


def test_mermaid(written: Run) -> None:
    ended = show(written, "--entity", "Zoe", "--format", "mermaid")
    assert ended.out.splitlines()[0] == "flowchart LR"
    assert '["Zoe"]:::concept' in ended.out
    assert '-->|"coaches"|' in ended.out


def test_the_page_shows_what_the_command_prints(run: Run) -> None:
    page = (Path(__file__).parents[3] / "docs/howto/graph.md").read_text()
    (example,) = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    (drawn,) = re.findall(r"```mermaid\n(.*?)```", page, re.DOTALL)
    exec(compile(example, "graph.md", "exec"), {})
    assert show(run, "--format", "mermaid", "--db", "memory.db").out == drawn


@pytest.mark.parametrize("options", [("--format", "svg"), ("--out", "graph.svg")])
def test_who_wants_a_drawing_is_told_where_there_is_one(
    written: Run, options: tuple[str, ...], tmp_path: Path
) -> None:
    ended = show(written, *options)
    assert (ended.code, ended.out) == (2, "")
    assert "`holdfast graph show --open` draws the graph" in ended.err
    assert not (tmp_path / "graph.svg").exists()


@pytest.mark.parametrize(
    "options", [("--json",), ("--out", "a.mmd"), ("--depth", "2"), ("--workspace", "w")]
)
def test_what_the_window_cannot_be_told_is_refused(written: Run, options: tuple[str, ...]) -> None:
    ended = show(written, "--open", *options)
    assert (ended.code, ended.out) == (2, "")
    assert f"--open and {options[0]} exclude each other" in ended.err


def test_a_file_that_is_not_there_is_not_opened(run: Run, tmp_path: Path) -> None:
    ended = show(run, "--open", "--db", "nowhere.db")
    assert ended.code == 2
    assert "no memory at nowhere.db" in ended.err
    assert not (tmp_path / "nowhere.db").exists()


def test_types_and_limits_narrow(written: Run) -> None:
    assert names(show(written, "--type", "place", "--json")) == {"Delft"}
    assert names(show(written, "--type", "city", "--json")) == {"Delft"}
    some = show(written, "--limit", "2", "--json")
    assert names(some) == {"Harrow & Tideman", "Delft"}
    assert some.json["truncated"]
    assert "2 entities, 1 relation (there are more)" in show(written, "--limit", "2").out


def test_nobody_sees_what_is_another_s(written: Run) -> None:
    write([{"name": "Secret", "type": "concept"}], [], user="bob")
    write([{"name": "Elsewhere", "type": "concept"}], [], workspace="w2")
    write([{"name": "Robot's", "type": "concept"}], [], agent="robot")
    assert names(show(written, "--agent", "other", "--json")) == ALL
    assert names(show(written, "--agent", "robot", "--json")) == {*ALL, "Robot's"}
    assert names(show(written, "--json", user="bob")) == {"Secret"}
    assert names(show(written, "--workspace", "w2", "--json")) == {"Elsewhere"}


def test_an_unknown_entity_is_an_error_with_a_hint(written: Run) -> None:
    ended = show(written, "--entity", "Pria")
    assert ended.code == 2
    assert ended.err == "error: there is no entity called 'Pria': did you mean Priya?\n"
    ended = show(written, "--entity", "xyzzy", "--json")
    assert (ended.code, ended.out) == (2, "")
    assert "without --entity lists them" in ended.err


def test_an_empty_graph_says_what_to_do(run: Run) -> None:
    remembered(run, "hm")
    ended = show(run, user="nobody")
    assert ended.code == 0
    assert ended.out.startswith("no entities yet for user nobody: ")
    assert "holdfast remember" in ended.out
    assert names(show(run, "--json", user="nobody")) == set()
    drawn = show(run, "--format", "mermaid", user="nobody")
    assert "no entities yet" in drawn.err
    assert drawn.out


def test_no_entity_of_a_type(written: Run) -> None:
    assert show(written, "--type", "market").out == "no entities of the type market for user ann\n"


def test_no_memory_is_made_by_looking(run: Run, tmp_path: Path) -> None:
    ended = show(run)
    assert ended.code == 2
    assert "no memory at" in ended.err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (
            ["--format", "png"],
            "--format must be table, mermaid or json, not 'png': `holdfast graph show --open`",
        ),
        (["--json", "--format", "mermaid"], "--json and --format mermaid contradict each other"),
        (["--depth", "2"], "--depth needs --entity"),
        (["--entity", "Zoe", "--depth", "6"], "depth"),
        (["--limit", "0"], "limit"),
        (["--entity", " "], "start"),
    ],
)
def test_wrong_options_are_told(written: Run, options: list[str], told: str) -> None:
    ended = show(written, *options)
    assert ended.code == 2
    assert told in ended.err
    assert ended.out == ""


# Files


@pytest.mark.parametrize(
    ("file", "begin"),
    [("g.mmd", "flowchart LR\n"), ("g.json", "{"), ("g.txt", "5 entities")],
)
def test_the_ending_of_a_file_says_what_goes_into_it(
    written: Run, file: str, begin: str, tmp_path: Path
) -> None:
    ended = show(written, "--out", file)
    assert (ended.code, ended.out) == (0, "")
    assert f"wrote {file}" in ended.err
    path = tmp_path / file
    assert path.read_text(encoding="utf-8").startswith(begin)
    assert path.stat().st_mode & 0o777 == 0o600


def test_a_file_is_overwritten_only_by_force(written: Run, tmp_path: Path) -> None:
    (tmp_path / "g.json").write_text("mine")
    ended = show(written, "--out", "g.json")
    assert ended.code == 2
    assert "--force" in ended.err
    assert (tmp_path / "g.json").read_text() == "mine"
    assert show(written, "--out", "g.json", "--force", "--format", "mermaid").code == 0
    assert (tmp_path / "g.json").read_text().startswith("flowchart")


def test_a_picture_never_replaces_a_memory(written: Run, tmp_path: Path) -> None:
    ended = show(written, "--out", "holdfast.db", "--force", "--format", "mermaid")
    assert ended.code == 2
    assert "is a database" in ended.err
    assert names(show(written, "--json")) == ALL


# Merges


def test_two_are_joined_and_parted_by_hand(written: Run) -> None:
    before = lasting(show(written, "--json"))
    ended = written("graph", "merge", "Zoe", "priya", "--user", "ann")
    assert ended.code == 0, ended.err
    assert ended.out == "merged: Zoe is shown as Priya Nandlall\n"
    assert names(show(written, "--json")) == ALL - {"Zoe"}
    listed = written("graph", "merges", "--user", "ann")
    heading, row = listed.out.splitlines()
    assert heading.split("  ")[0] == "id"
    id = row.split()[0]
    assert re.fullmatch("[0-9a-f]{12}", id)
    assert id in ended.err
    assert re.search(r"Zoe +Priya Nandlall +1\.00 .*by hand", row)
    parted = written("graph", "unmerge", id, "--user", "ann")
    assert (parted.code, parted.out) == (0, "parted: Zoe and Priya Nandlall are two again\n")
    assert lasting(show(written, "--json")) == before


def test_what_was_undone_is_listed_when_asked_for(written: Run) -> None:
    written("graph", "merge", "Zoe", "Priya", "--user", "ann")
    (merge,) = written("graph", "merges", "--user", "ann", "--json").json
    assert merge["undone_at"] is None
    undone = written("graph", "unmerge", merge["id"], "--user", "ann", "--json").json
    assert undone["id"] == merge["id"]
    assert undone["undone_at"] is not None
    assert written("graph", "merges", "--user", "ann", "--json").json == []
    assert written("graph", "merges", "--user", "ann").out.startswith("no merges: ")
    (listed,) = written("graph", "merges", "--user", "ann", "--undone", "--json").json
    assert listed == undone
    assert "undone" in written("graph", "merges", "--user", "ann", "--undone").out.splitlines()[0]
    again = written("graph", "unmerge", merge["id"], "--user", "ann")
    assert (again.code, again.out) == (0, "nothing to do: they were parted already\n")


def test_a_merge_is_told_as_json(written: Run) -> None:
    told = written("graph", "merge", "Zoe", "Priya", "--user", "ann", "--json").json
    assert (told["into_name"], told["merged_name"]) == ("Priya Nandlall", "Zoe")
    assert json.dumps(told["evidence"]) == '["by hand"]'


@pytest.mark.parametrize(
    ("command", "told"),
    [
        (["merge", "Zoe", "Nobody"], "Nobody"),
        (["unmerge", "0" * 32], "there is no merge"),
        (["unmerge", "00"], "there is no merge"),
    ],
)
def test_what_is_not_there_cannot_be_mended(written: Run, command: list[str], told: str) -> None:
    ended = written("graph", *command, "--user", "ann")
    assert ended.code == 2
    assert told in ended.err


def test_no_user_mends_another_s(written: Run) -> None:
    merge = written("graph", "merge", "Zoe", "Priya", "--user", "ann", "--json").json
    ended = written("graph", "unmerge", merge["id"], "--user", "bob")
    assert ended.code == 2
    assert written("graph", "merges", "--user", "bob").out.startswith("no merges: ")
    assert len(written("graph", "merges", "--user", "ann", "--json").json) == 1


# Times, and whose turns are quoted


def at(moment: str) -> Memory:
    """The memory as it was opened at a time."""
    then = datetime.fromisoformat(moment)
    return holdfast.open("holdfast.db", embedder=HashEmbedder(), worker=False, clock=lambda: then)


@pytest.fixture
def told_twice(run: Run) -> Run:
    """Zoe was heard to coach the Falcons in March; in May that she knows Priya."""
    with at("2026-03-02T12:00Z") as memory:
        memory.graph.write([], CLAIMS[-1:], user="ann")
    with at("2026-05-02T12:00Z") as memory:
        claim = {"source": "Zoe", "type": "knows", "target": "Priya", "at": "2026-05-01T10:00Z"}
        memory.graph.write([], [claim], user="ann")
    return run


@pytest.mark.parametrize("option", ["--as-of", "--known-at"])
def test_the_graph_as_it_was_at_a_time(told_twice: Run, option: str) -> None:
    for given in ((), ("--entity", "Zoe")):
        asked = ("--json", *given, option)
        assert names(show(told_twice, *asked, "2026-04-01T00:00Z")) == {"Zoe", "Falcons"}
        assert names(show(told_twice, *asked, "2026-06-01T00:00Z")) == {"Zoe", "Falcons", "Priya"}
    before = show(told_twice, option, "2026-01-01T00:00Z")
    assert (before.code, before.out) == (0, "no entities of user ann at that time\n")
    unknown = show(told_twice, "--entity", "Priya", option, "2026-04-01T00:00Z")
    assert unknown.code == 2
    assert "there is no entity called 'Priya'" in unknown.err


@pytest.mark.parametrize(("option", "field"), [("--as-of", "as_of"), ("--known-at", "known_at")])
def test_a_wrong_time_is_named(told_twice: Run, option: str, field: str) -> None:
    ended = show(told_twice, option, "lately")
    assert (ended.code, ended.out) == (2, "")
    assert ended.err.startswith(f"error: {field} is not ISO 8601")


ZOE = "Zoe Marsh works for Harrow Tideman"


@pytest.fixture
def overheard(run: Run) -> Run:
    """Two agents were told of the same two, each in words of its own."""
    said = {"cook": f"{ZOE}, said over soup.", "guide": f"{ZOE}, said on a secret walk."}
    for agent, text in said.items():
        remembered(run, text, "--agent", agent)
    assert run("worker", "--once").code == 0
    return run


def test_the_turn_of_another_agent_is_not_quoted(overheard: Run) -> None:
    everything = show(overheard).out
    assert ("soup" in everything, "secret" in everything) == (True, True)
    for options in ((), ("--entity", "Zoe Marsh")):
        cook = show(overheard, "--agent", "cook", *options)
        assert cook.code == 0, cook.err
        assert "Zoe Marsh" in cook.out
        assert ("soup" in cook.out, "secret" in cook.out) == (True, False)
    turns = {each["id"] for each in overheard("recall", "soup", "--user", "ann", "--agent", "cook",
                                              "--json").json["hits"]}  # fmt: skip
    told = show(overheard, "--agent", "cook", "--json").json
    assert {turn for each in (*told["nodes"], *told["edges"]) for turn in each["sources"]} <= turns


def test_no_turn_is_quoted_that_was_said_later(run: Run) -> None:
    with at("2026-03-02T12:00Z") as memory:
        memory.remember(f"{ZOE}, said over soup.", user="ann", at="2026-03-01T10:00Z")
        memory.drain()
    with at("2026-05-02T12:00Z") as memory:
        memory.remember(f"{ZOE}, said on a walk.", user="ann", at="2026-05-01T10:00Z")
        memory.drain()
    now = show(run).out
    assert ("soup" in now, "walk" in now) == (True, True)
    for option in ("--as-of", "--known-at"):
        then = show(run, option, "2026-04-01T00:00Z").out
        assert ("soup" in then, "walk" in then) == (True, False)
