"""`holdfast feedback`, `compact`, `decay` and `erase`."""

import io
import json
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

import holdfast
from holdfast.memory.memory import Memory
from holdfast.testing import HashEmbedder
from holdfast.types import Scope
from tests.service.commands import NO_ID, Run, remembered
from tests.upkeep.living import derived

#: Left out of `make check`: each opens a memory, or takes its time.
pytestmark = pytest.mark.slow


ANN = Scope("default", "ann")
SAME = ["The build runs on Linux", "The build runs on Linux.", "the build runs on Linux!"]


@pytest.fixture
def answers(monkeypatch: pytest.MonkeyPatch) -> io.StringIO:
    """What somebody types."""
    typed = io.StringIO()
    monkeypatch.setattr(sys, "stdin", typed)
    return typed


def a_year_ago() -> Memory:
    """The memory as it was opened then."""
    then = datetime.now(UTC) - timedelta(days=365)
    return holdfast.open("holdfast.db", embedder=HashEmbedder(), worker=False, clock=lambda: then)


def put(*contents: str, **given: Any) -> list[str]:
    """Records that somebody stored a year ago."""
    with a_year_ago() as memory:
        made = [derived(each, **{"origin": "web", **given}) for each in contents]
        memory.store.put(ANN, made, known_at=memory.now(), steps=memory.worker.steps)
        memory.drain()
    return [each.id for each in made]


def noted(run: Run) -> str:
    return str(run("notes", "add", "We ship on Friday.", "--user", "ann", "--json").json["id"])


# Feedback


def test_praise_and_blame(run: Run) -> None:
    (id,) = put("The build runs on Linux.")
    ended = run("feedback", id, "good", "--user", "ann")
    assert (ended.code, ended.out) == (0, "strength 0.70\n")
    assert run("feedback", id, "+1", "--user", "ann").out == "strength 0.90\n"
    told = run("feedback", id, "bad", "--user", "ann", "--json").json
    assert (told["id"], round(told["strength"], 2)) == (id, 0.7)
    shown = run("history", id, "--user", "ann").out
    assert ("praised" in shown, "blamed" in shown) == (True, True)


def test_a_turn_can_be_praised(run: Run) -> None:
    assert run("feedback", remembered(run), "good", "--user", "ann").out == "strength 0.70\n"


@pytest.mark.parametrize("user", ["ann", "bob"])
def test_what_is_not_there_is_not_judged(run: Run, user: str) -> None:
    id = remembered(run) if user == "bob" else NO_ID
    remembered(run)
    ended = run("feedback", id, "good", "--user", user)
    assert (ended.code, ended.out) == (2, "")
    assert id in ended.err


def test_what_was_forgotten_is_not_judged(run: Run) -> None:
    id = remembered(run)
    run("forget", id, "--user", "ann")
    assert run("feedback", id, "good", "--user", "ann").code == 2


@pytest.mark.parametrize("word", ["great", "0", "", "GOOD"])
def test_a_judgement_is_good_or_bad(run: Run, word: str) -> None:
    ended = run("feedback", remembered(run), word, "--user", "ann")
    assert (ended.code, ended.out) == (2, "")
    assert ended.err.startswith("error: value must be good or bad")


# Compact


def talk(run: Run, turns: int = 12) -> None:
    for number in range(turns):
        remembered(run, f"I bought {number + 2} apples at the market.", "--session", "s1")


def test_a_session_is_summed_up_and_its_turns_stay(run: Run) -> None:
    talk(run, 4)
    ended = run("compact", "--session", "s1", "--user", "ann", "--keep-turns", "1")
    assert ended.code == 0, ended.err
    assert "apples" in ended.out
    assert "3 turns summed up, 1 left as they are: " in ended.out
    told = run("compact", "--session", "s1", "--user", "ann", "--keep-turns", "1", "--json").json
    again = run("compact", "--session", "s1", "--user", "ann", "--keep-turns", "1", "--json").json
    assert again == told
    assert (told["turns"], told["kept"]) == (3, 1)
    assert run("recall", "apples", "--user", "ann", "--json").json["count"] == 4


def test_a_short_session_needs_no_summary(run: Run) -> None:
    talk(run, 2)
    ended = run("compact", "--session", "s1", "--user", "ann")
    assert (ended.code, ended.out) == (0, "nothing to sum up: 2 turns\n")
    told = run("compact", "--session", "s1", "--user", "ann", "--json").json
    assert told["summary_id"] is None


@pytest.mark.parametrize(
    ("options", "named"),
    [
        (["--session", "s2", "--user", "ann"], "s2"),
        (["--session", "s1", "--user", "bob"], "s1"),
        (["--session", "", "--user", "ann"], "session"),
        (["--session", "s1", "--user", "ann", "--keep-turns", "-1"], "keep_turns"),
        (["--user", "ann"], "--session"),
    ],
)
def test_a_wrong_session_is_named(run: Run, options: list[str], named: str) -> None:
    talk(run, 1)
    ended = run("compact", *options)
    assert (ended.code, ended.out) == (2, "")
    assert named in ended.err


# Decay


def test_what_fades_is_shown_and_stays(run: Run) -> None:
    id = noted(run)
    assert run("decay", "--user", "ann", "--days", "3").out == "nothing fades within 3 days\n"
    heading, row = run("decay", "--user", "ann", "--days", "90").out.splitlines()
    assert heading.startswith("id ")
    assert row.startswith(f"{id}  ")
    assert row.endswith("1.00      note  We ship on Friday.")
    (told,) = run("decay", "--user", "ann", "--days", "90", "--json").json
    assert (told["id"], told["hidden"], told["then"]) == (id, False, 0.0)
    assert run("decay", "--user", "bob", "--json").json == []
    assert len(run("notes", "list", "--user", "ann", "--json").json) == 1


def test_what_an_agent_keeps_to_itself_fades_for_it_alone(run: Run) -> None:
    with a_year_ago() as memory:
        made = [derived(each, origin="web", visibility="agent_only") for each in SAME]
        made += [derived("We ship.", tier="note", kind="decision", visibility="agent_only")]
        memory.store.put(
            Scope("default", "ann", "a"), made, known_at=memory.now(), steps=memory.worker.steps
        )
        memory.drain()
    assert run("decay", "--user", "ann", "--json").json == []
    assert run("decay", "--user", "ann", "--agent", "b", "--json").json == []
    (told,) = run("decay", "--user", "ann", "--agent", "a", "--json").json
    assert told["content"] == "We ship."
    planned = run("decay", "--user", "ann", "--run", "--json").json
    merges = [act for one in planned for act in one["acts"] if act["deed"] == "merge"]
    assert [(len(act["ids"]), act["content"]) for act in merges] == [(3, None)]


def test_a_faded_note_is_found_if_it_is_wanted(run: Run) -> None:
    with a_year_ago() as memory:
        memory.notes.add("The harbour was frozen.", user="ann")
        memory.drain()
    asked = ("recall", "frozen harbour", "--user", "ann", "--json")
    assert run(*asked).json["count"] == 0
    assert run(*asked, "--filter", "faded=true").json["count"] == 1
    assert run(*asked, "--filter", "faded=false").json["count"] == 0
    assert run("notes", "list", "--user", "ann").out.startswith("no notes: ")
    assert len(run("notes", "list", "--user", "ann", "--faded", "--json").json) == 1


def test_the_round_is_shown_done_and_undone(run: Run) -> None:
    ids = put(*(f"Rumour number {i}." for i in range(5)), importance=0.0, confidence=0.6)
    shadow = run("decay", "--user", "ann", "--run")
    assert shadow.code == 0
    assert "archive" in shadow.out
    assert shadow.out.endswith("nothing was changed; --run --apply does it\n")
    asked = ("recall", "rumour", "--user", "ann", "--tier", "fact", "-n", "50", "--json")
    assert run(*asked).json["count"] == 5
    told = run("decay", "--user", "ann", "--run", "--apply", "--json").json
    changed = {each for one in told for each in one["changed"]}
    assert changed
    assert changed <= set(ids)
    assert run(*asked).json["count"] == 5 - len(changed)
    assert run(*asked, "--filter", "archived=true").json["count"] == 5
    runs = [one["run"] for one in told if one["changed"]]
    back = [each for one in runs for each in run(
        "decay", "--user", "ann", "--undo", one, "--json").json]  # fmt: skip
    assert set(back) == changed
    assert run(*asked).json["count"] == 5


def test_what_stands_for_others_is_told_as_text(run: Run) -> None:
    put(*SAME)
    told = run("decay", "--user", "ann", "--run", "--json").json
    (merge,) = [act for one in told for act in one["acts"] if act["deed"] == "merge"]
    assert merge["content"] in SAME
    done = run("decay", "--user", "ann", "--run", "--apply")
    assert "consolidation: done; undo it with --undo 'nightly consolidation " in done.out


def test_nothing_to_do(run: Run) -> None:
    noted(run)
    assert run("decay", "--user", "ann", "--run").out == "nothing to do\n"
    assert run("decay", "--user", "ann", "--run", "--json").json == []


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["--apply"], "--apply needs --run"),
        (["--run", "--undo", "x"], "--undo and --run contradict each other"),
        (["--days", "-1"], "days must lie in 0..36500"),
        (["--days", "nan"], "days must lie in 0..36500"),
        (["--days", "1e300"], "days must lie in 0..36500"),
        (["--days", "many"], "--days"),
        (["--undo", "nightly staleness 2020-01-01T00:00"], "nothing to bring back"),
        (["--user", ""], "user is blank"),
        (["--workspace", " "], "workspace is blank"),
    ],
)
def test_wrong_decay_is_told(run: Run, options: list[str], told: str) -> None:
    noted(run)
    ended = run("decay", "--user", "ann", *options)
    assert (ended.code, ended.out) == (2, "")
    assert told in ended.err


# Erase


def test_erase_removes_everything_of_one_user(run: Run, tmp_path: Path) -> None:
    remembered(run, "My secret is a green door.")
    remembered(run, "Bob keeps bees.", user="bob")
    ended = run("erase", "--user", "ann", "--yes")
    assert ended.code == 0, ended.err
    receipt = json.loads(ended.out)
    assert receipt["removed"]["events"] == 1
    assert "ann" not in ended.out
    assert b"green door" not in b"".join(each.read_bytes() for each in tmp_path.iterdir())
    assert run("recall", "door", "--user", "ann").out.startswith("nothing remembered yet")
    assert run("recall", "bees", "--user", "bob", "--json").json["count"] == 1


def test_a_receipt_is_verified(run: Run, tmp_path: Path) -> None:
    remembered(run)
    receipt = run("erase", "--user", "ann", "--yes").json
    file = tmp_path / "receipt.json"
    file.write_text(json.dumps(receipt))
    verify = ("erase", "--verify", str(file), "--user")
    good = run(*verify, "ann")
    assert (good.code, good.out) == (0, "valid\n")
    assert run(*verify, "ann", "--json").json == {"valid": True}
    other = run(*verify, "bob", "--json")
    assert (other.code, other.json) == (1, {"valid": False})
    file.write_text(json.dumps({**receipt, "removed": {"events": 99}}))
    forged = run(*verify, "ann")
    assert (forged.code, forged.out) == (1, "not a receipt of this\n")
    # To verify erases nothing, whatever it finds.
    remembered(run, user="bob")
    run(*verify, "bob")
    assert run("recall", "tea", "--user", "bob", "--json").json["count"] == 1


@pytest.mark.parametrize("content", [None, b"", b"[1]", b"{", b"\xff\xfe", b"{}"])
def test_what_is_no_receipt_is_told(run: Run, tmp_path: Path, content: bytes | None) -> None:
    remembered(run)
    if content is not None:
        (tmp_path / "receipt.json").write_bytes(content)
    ended = run("erase", "--user", "ann", "--verify", "receipt.json")
    assert ended.code == (1 if content == b"{}" else 2)
    assert ended.out == ("not a receipt of this\n" if content == b"{}" else "")
    assert content == b"{}" or "receipt.json" in ended.err


@pytest.mark.parametrize("typed", ["n\n", "\n", ""])
def test_without_a_yes_nothing_is_erased(run: Run, answers: io.StringIO, typed: str) -> None:
    remembered(run)
    answers.write(typed)
    answers.seek(0)
    ended = run("erase", "--user", "ann")
    assert (ended.code, ended.out) == (130, "")
    assert "Erase everything of user ann in default, for good?" in ended.err
    assert "nothing was erased" in ended.err
    assert run("recall", "tea", "--user", "ann", "--json").json["count"] == 1


def test_a_yes_is_asked_for_apart_from_the_receipt(run: Run, answers: io.StringIO) -> None:
    remembered(run)
    answers.write("y\n")
    answers.seek(0)
    ended = run("erase", "--user", "ann")
    assert ended.code == 0
    assert ended.json["removed"]["events"] == 1


def test_to_erase_nobody_says_so(run: Run) -> None:
    remembered(run)
    ended = run("erase", "--user", "nobody", "--yes")
    assert ended.code == 0
    assert not any(ended.json["removed"].values())
    assert ended.err == "note: there was nothing of user nobody in default\n"


@pytest.mark.parametrize("options", [["--user", ""], ["--user", "ann", "--workspace", ""]])
def test_whom_to_erase_must_be_said(run: Run, options: list[str]) -> None:
    remembered(run)
    ended = run("erase", *options, "--yes")
    assert (ended.code, ended.out) == (2, "")
    assert f"{options[-2].removeprefix('--')} is blank" in ended.err
    assert run("recall", "tea", "--user", "ann", "--json").json["count"] == 1
