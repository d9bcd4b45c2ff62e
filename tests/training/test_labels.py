"""Labelled conversations: the format, and that everything committed is well labelled."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from training import choices
from training.labels import read, read_lists, read_messages, read_sets, scored

ROOT = Path(__file__).parents[2]
TALK = """\
id: en-test-1
lang: en
who: somebody
== s1 2026-01-12 19:05
u0
- hi!  ## filler
- I rent a room in Ghent  ## fact home me [Ghent] home town
- no long answers pls  ## rule short
a1
Noted.
== s2 2026-02-12 19:05
u2
- writing from the new flat in Bruges  ## fact home me [Bruges] home town; replaces 0.2
- and go on as long as you like  ## withdraw short; withdraws 0.3
rule short: ended; words [long answers]; ask: how do I paint a door
relation: me -> Ghent: lived in
q: where do I live?; now 2; before 0; answer: Bruges
nothing: cheers
"""


def test_a_conversation_is_read_and_scored(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text(TALK)
    made = scored(read(path))
    assert [turn["content"] for turn in made["turns"]] == [
        "hi! I rent a room in Ghent\nno long answers pls",
        "Noted.",
        "writing from the new flat in Bruges\nand go on as long as you like",
    ]
    (fact,) = made["facts"]
    assert (fact["current"], fact["outdated"], fact["turns"]) == (["Bruges"], ["Ghent"], [0, 2])
    assert made["rules"][0] | {"turns": []} == {
        "words": ["long answers"], "active": False, "ask": "how do I paint a door", "turns": [],
    }  # fmt: skip
    assert made["questions"][0]["outdated"] == [0]


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ("[Ghent] home", "[Gent] home", "[Gent] is not in the line"),
        ("; replaces 0.2", "", "was told before"),
        ("replaces 0.2", "replaces 7.2", "no earlier user line"),
        ("  ## filler", "", "a user line is"),
        ("## filler", "## fillers", "unknown label"),
        ("rule short: ended", "rule long: ended", "is not listed"),
        ("now 2", "now 9", "names no turn"),
        ("a1", "a3", "turn number"),
    ],
)
def test_what_is_wrong_is_named(tmp_path: Path, old: str, new: str, problem: str) -> None:
    path = tmp_path / "a.txt"
    path.write_text(TALK.replace(old, new, 1))
    assert any(problem in each for each in read(path).problems)


def test_a_set_is_an_earlier_line_and_what_later_ones_do_to_it(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text(
        "== en rule\n= recipes from Lidl only  ## rule\n"
        "withdraws | there is a market here now  ## withdraw; fact\n"
        "unrelated | my mum only shops at Lidl  ## others\n"
    )
    (made,) = read_sets(path)
    assert (made.lang, made.earlier.text, bool(made.earlier.rules)) == (
        "en", "recipes from Lidl only", True,
    )  # fmt: skip
    assert [(what, line.text) for what, line in made.later] == [
        ("withdraws", "there is a market here now"), ("unrelated", "my mum only shops at Lidl"),
    ]  # fmt: skip


@pytest.mark.parametrize("wrong", ["ends | x  ## fact", "adds | x  ## facts", "adds | x"])
def test_a_wrong_line_of_a_set_is_named(tmp_path: Path, wrong: str) -> None:
    path = tmp_path / "a.txt"
    path.write_text(f"== en home\n= we live in Ghent  ## fact\n{wrong}\n")
    with pytest.raises(ValueError, match=r"a\.txt:3"):
        read_sets(path)


LIST = """\
== en a cook
1 no nuts, my son is allergic
2 grams, never cups
> 1 | The clinic rang. || he has grown out of it
> 0 | my sister weighs nothing
"""


def test_a_list_is_rules_and_later_lines_that_end_one_or_none(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text(LIST)
    (made,) = read_lists(path)
    assert made.rules == ["no nuts, my son is allergic", "grams, never cups"]
    assert made.later == [
        (1, "The clinic rang.", "he has grown out of it"), (0, "", "my sister weighs nothing"),
    ]  # fmt: skip
    first, second = choices.of_lists(tmp_path)
    assert (first["right"], first["others"]) == (made.rules[:1], made.rules[1:])
    assert first["ways"][-1] == ("The clinic rang. he has grown out of it", "")
    assert (second["right"], second["others"]) == ([], made.rules)


@pytest.mark.parametrize("wrong", ["> 3 | x", "4 x", "> x | y", "and more"])
def test_a_wrong_line_of_a_list_is_named(tmp_path: Path, wrong: str) -> None:
    path = tmp_path / "a.txt"
    path.write_text(f"{LIST}{wrong}\n")
    with pytest.raises(ValueError, match=r"a\.txt:6"):
        read_lists(path)


def test_a_line_of_a_conversation_ends_one_of_what_is_known(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text(TALK)
    made = list(choices.of_conversations([read(path)], lambda _: "train"))
    ended = {each["ways"][0][0]: each["right"] for each in made if each["right"]}
    assert ended == {
        "writing from the new flat in Bruges": ["I rent a room in Ghent"],
        "and go on as long as you like": ["no long answers pls"],
    }


def test_messages_need_what_is_remembered_or_do_not(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("yes | who is coming?\nno | how old was Mozart\nidle | brb dinner\n")
    assert [what for _, what in read_messages(path)] == ["yes", "no", "idle"]
    path.write_text("maybe | who is coming?\n")
    with pytest.raises(ValueError, match=r"a\.txt:1"):
        read_messages(path)


def test_the_sets_messages_and_lists_are_there() -> None:
    sets = [each for path in (ROOT / "training/sets").glob("*.txt") for each in read_sets(path)]
    assert len(sets) > 1200
    assert all(len(each.later) >= 4 for each in sets)
    told = [each for path in (ROOT / "training/messages").glob("*") for each in read_messages(path)]
    assert len(told) == 2900
    lists = [each for path in (ROOT / "training/lists").glob("*.txt") for each in read_lists(path)]
    assert len(lists) == 2522
    assert all(len(each.rules) >= 4 and len(each.later) >= 6 for each in lists)


def test_rules_are_beside_messages_to_which_they_apply() -> None:
    lines = [
        json.loads(line)
        for path in (ROOT / "training/asked").glob("*.jsonl")
        for line in path.read_text().splitlines()
    ]
    assert len(lines) == 590
    assert all(len(each["asks"]) == 3 and each["rule"].strip() for each in lines)
    assert len({each["rule"] for each in lines}) == 590


TEST_PART = ROOT / "training" / "test"


def test_everything_committed_is_well_labelled() -> None:
    paths = [*(ROOT / "training" / "data").rglob("*.txt"), *TEST_PART.rglob("*.txt")]
    assert len(paths) > 430
    assert [each for path in paths for each in read(path).problems] == []


def test_nothing_that_is_trained_on_is_scored() -> None:
    trained = {
        line.text
        for path in (ROOT / "training" / "data").rglob("*.txt")
        for line in read(path).lines.values()
        if len(line.text.split()) >= 8
    }
    trained |= {
        line.text
        for path in (ROOT / "training/sets").glob("*.txt")
        for each in read_sets(path)
        for line in (each.earlier, *(later for _, later in each.later))
        if len(line.text.split()) >= 8
    }
    trained |= {
        text
        for path in (ROOT / "training/lists").glob("*.txt")
        for each in read_lists(path)
        for text in (*each.rules, *(text for _, *said in each.later for text in said))
        if len(text.split()) >= 8
    }
    held = (ROOT / "tests" / "understanding").glob("*.jsonl")
    lines = [line for path in held for line in path.read_text().splitlines()]
    assert len(lines) == 44
    talks = [*map(json.loads, lines), *(scored(read(path)) for path in TEST_PART.rglob("*.txt"))]
    said = " ".join(turn["content"] for talk in talks for turn in talk["turns"])
    # What stands in there begins with letters that stand in there: looked up, since each search
    # reads all of it. No text of eight words is shorter.
    begins = {said[at : at + 15] for at in range(len(said))}
    assert [text for text in trained if text[:15] in begins and text in said] == []
