"""Labelled sets are read as they are, and what cannot be read is named."""

import gzip
import json
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest

from holdfast import sample
from holdfast.bench.data import LabelledSet, chosen_sets, read_set, sample_set
from holdfast.errors import InvalidInput


def a_turn(id: str = "t1", **fields: Any) -> dict[str, Any]:
    return {"id": id, "session": "s1", "speaker": "user", "text": "Hello.", **fields}


def a_question(**fields: Any) -> dict[str, Any]:
    asked = {"qid": "q1", "conv_id": "c1", "question": "Who?", "category": "fact"}
    return {**asked, "evidence": ["t1"], **fields}


def written(
    folder: Path, turns: list[dict[str, Any]], questions: list[dict[str, Any]] | None = None
) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "conversations.jsonl").write_text(json.dumps({"conv_id": "c1", "turns": turns}))
    lines = [json.dumps(each) for each in questions or [a_question()]]
    (folder / "questions.jsonl").write_text("\n".join(lines))
    return folder


def read(folder: Path, *turns: dict[str, Any]) -> LabelledSet:
    return read_set(written(folder / "tiny", list(turns)))


@pytest.mark.parametrize(
    ("speaker", "role", "name"),
    [("user", "user", None), ("assistant", "assistant", None), ("Ann", "user", "Ann")],
)
def test_a_speaker_is_a_role_or_a_name(
    tmp_path: Path, speaker: str, role: str, name: str | None
) -> None:
    (turn,) = read(tmp_path, a_turn(speaker=speaker)).conversations[0].turns
    assert (turn.role, turn.name) == (role, name)


def test_an_image_is_told_in_words(tmp_path: Path) -> None:
    turns = (
        read(
            tmp_path,
            a_turn("t1", text="Look!", image_caption="a red kite"),
            a_turn("t2", text="", image_caption="a dog"),
            a_turn("t3", image_caption=None),
        )
        .conversations[0]
        .turns
    )
    assert [turn.content for turn in turns] == [
        "Look!\n[image: a red kite]",
        "[image: a dog]",
        "Hello.",
    ]


def test_a_time_without_a_zone_is_utc_and_a_missing_one_is_inherited(tmp_path: Path) -> None:
    turns = [
        a_turn("t1"),
        a_turn("t2", time="2024-05-05"),
        a_turn("t3", time=None),
        a_turn("t4", time="2024-05-06T10:30"),
        a_turn("t5", time=""),
        a_turn("t6", time="2024-05-07T10:30+02:00"),
    ]
    day, next_day = datetime(2024, 5, 5, tzinfo=UTC), datetime(2024, 5, 6, 10, 30, tzinfo=UTC)
    zoned = datetime(2024, 5, 7, 10, 30, tzinfo=timezone(timedelta(hours=2)))
    found = [turn.at for turn in read(tmp_path, *turns).conversations[0].turns]
    assert found == [day, day, day, next_day, next_day, zoned]


def test_without_any_time_there_is_none(tmp_path: Path) -> None:
    assert read(tmp_path, a_turn()).conversations[0].turns[0].at is None


def test_a_turn_that_says_nothing_is_left_out(tmp_path: Path) -> None:
    turns = read(tmp_path, a_turn("t1", text=" \n"), a_turn("t2")).conversations[0].turns
    assert [turn.id for turn in turns] == ["t2"]


def test_questions_keep_category_time_and_each_evidence_once(tmp_path: Path) -> None:
    questions = [a_question(evidence=["t1", "t2", "t1"], time="2024-05-05", extra=1)]
    questions += [a_question(evidence=[]), a_question(evidence=None)]
    first, *rest = read_set(written(tmp_path, [a_turn()], questions)).questions
    assert (first.category, first.evidence) == ("fact", ("t1", "t2"))
    assert first.at == datetime(2024, 5, 5, tzinfo=UTC)
    assert [each.evidence for each in rest] == [(), ()]


def test_packed_files_and_blank_lines_are_read(tmp_path: Path) -> None:
    written(tmp_path, [a_turn()])
    for path in list(tmp_path.glob("*.jsonl")):
        packed = gzip.compress(b"\n" + path.read_bytes() + b"\n  \n")
        path.with_name(path.name + ".gz").write_bytes(packed)
        path.unlink()
    found = read_set(tmp_path)
    assert (len(found.conversations), len(found.questions)) == (1, 1)


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("{", "not JSON"),
        ("[1]", "not a JSON object"),
        ('{"qid": "q2"}', "lacks 'conv_id'"),
        (json.dumps(a_question(time="yesterday")), "yesterday"),
        (json.dumps(a_question(evidence=3)), "int"),
        ("\udcff", "not JSON"),
    ],
)
def test_a_line_that_cannot_be_read_is_named(tmp_path: Path, line: str, said: str) -> None:
    written(tmp_path, [a_turn()])
    lines = json.dumps(a_question()) + "\n\n" + line + "\n"
    (tmp_path / "questions.jsonl").write_bytes(lines.encode("utf-8", "surrogateescape"))
    with pytest.raises(InvalidInput, match=r"questions\.jsonl:3\b.*" + said):
        read_set(tmp_path)


@pytest.mark.parametrize("turns", ["hello", [3], {"a": 1}, None])
def test_turns_that_are_none_are_refused(tmp_path: Path, turns: Any) -> None:
    with pytest.raises(InvalidInput, match=r"conversations\.jsonl:1\b"):
        read_set(written(tmp_path, turns))


def test_a_question_about_an_unknown_conversation_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="q1 is about conversation 'c9'"):
        read_set(written(tmp_path, [a_turn()], [a_question(conv_id="c9")]))


def test_a_damaged_archive_is_named(tmp_path: Path) -> None:
    written(tmp_path, [a_turn()])
    (tmp_path / "questions.jsonl").rename(tmp_path / "questions.jsonl.gz")
    with pytest.raises(InvalidInput, match=r"questions\.jsonl\.gz cannot be unpacked"):
        read_set(tmp_path)


def test_sets_are_chosen_by_name_else_the_default_ones_else_all(tmp_path: Path) -> None:
    for name in ("zoo", "ant"):
        written(tmp_path / name, [a_turn()])
    (tmp_path / "no-set").mkdir()
    assert chosen_sets(tmp_path, None) == ["ant", "zoo"]
    assert chosen_sets(tmp_path, ["zoo", "zoo"]) == ["zoo"]
    written(tmp_path / "locomo", [a_turn()])
    assert chosen_sets(tmp_path, None) == ["locomo"]
    assert chosen_sets(tmp_path, ["all"]) == ["ant", "locomo", "zoo"]


def test_a_wrong_choice_is_told_what_there_is(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="no folder"):
        chosen_sets(tmp_path / "nowhere", None)
    with pytest.raises(InvalidInput, match="holds no set"):
        chosen_sets(tmp_path, None)
    written(tmp_path / "zoo", [a_turn()])
    with pytest.raises(InvalidInput, match=r"no set 'ant' in .*: zoo"):
        chosen_sets(tmp_path, ["ant"])
    with pytest.raises(InvalidInput, match="at least one set: zoo"):
        chosen_sets(tmp_path, [])


def test_the_sample_is_a_set_like_any_other() -> None:
    found = sample_set()
    assert len(found.conversations[0].turns) == len(sample.turns())
    ids = {turn.id for turn in found.conversations[0].turns}
    assert all(set(asked.evidence) <= ids for asked in found.questions)
    assert len(found.first(3).questions) == 3
    assert found.first(None) is found


@pytest.mark.parametrize(
    ("evidence", "newest"),
    [
        (["t1"], None),
        (["t3", "t1"], "t3"),  # In whatever order they are named.
        (["t1", "t2", "t3"], "t3"),
        (["t2", "gone"], None),
        ([], None),
    ],
)
def test_of_several_turns_of_evidence_the_last_is_the_newest(
    tmp_path: Path, evidence: list[str], newest: str | None
) -> None:
    # All of one moment: the conversation says what came last.
    turns = [a_turn(id, time="2026-03-01") for id in ("t1", "t2", "t3")]
    folder = written(tmp_path / "tiny", turns, [a_question(evidence=evidence)])
    (asked,) = read_set(folder).questions
    assert asked.newest == newest
    assert asked.evidence == tuple(evidence)
