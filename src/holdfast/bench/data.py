"""Labelled conversations: a folder per set with conversations.jsonl and questions.jsonl.

Both may be packed (.jsonl.gz). One JSON object a line:

    {"conv_id", "turns": [{"id", "session", "time", "speaker", "text", "image_caption"?}]}
    {"qid", "conv_id", "question", "time"?, "category", "evidence": [turn ids]}

Other fields are ignored. A line that cannot be read is an error that names the file and the line.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeVar

from holdfast import sample
from holdfast.errors import InvalidInput

T = TypeVar("T")
Row = Mapping[str, Any]

#: Asked for when nothing else is, where they are there.
DEFAULT_SETS = ("locomo", "beam-100k")
#: Stands for all sets there are.
EVERY = "all"
SAMPLE = "sample"

_ENDINGS = (".jsonl", ".jsonl.gz")
#: Speakers that are roles and not names.
_NAMELESS = ("user", "assistant")


@dataclass(frozen=True, slots=True)
class LabelledTurn:
    """What was said, as `remember` takes it."""

    id: str
    session: str
    role: str
    name: str | None
    content: str
    #: None: nobody in the conversation knows.
    at: datetime | None


@dataclass(frozen=True, slots=True)
class Conversation:
    """Turns in the order they were said."""

    id: str
    turns: tuple[LabelledTurn, ...]


@dataclass(frozen=True, slots=True)
class Question:
    """A question and the turns that answer it."""

    id: str
    conversation: str
    text: str
    category: str
    evidence: tuple[str, ...]
    #: When it is asked; None: now.
    at: datetime | None
    #: Of several turns of evidence the one that was said last; None where there are not several.
    newest: str | None = None


@dataclass(frozen=True, slots=True)
class LabelledSet:
    """Conversations and questions about them."""

    name: str
    conversations: tuple[Conversation, ...]
    questions: tuple[Question, ...]

    def first(self, count: int | None) -> LabelledSet:
        """Only the first `count` questions; None = all."""
        return self if count is None else replace(self, questions=self.questions[:count])


def chosen_sets(folder: Path, names: Sequence[str] | None) -> list[str]:
    """The sets to read: those named, or the default ones, or all that are there."""
    if not folder.is_dir():
        raise InvalidInput(f"there is no folder {folder}", field="data")
    there = sorted(path.name for path in folder.iterdir() if _is_set(path))
    if not there:
        raise InvalidInput(
            f"{folder} holds no set: a set is a folder with conversations.jsonl and"
            " questions.jsonl, packed (.gz) or not",
            field="data",
        )
    if names is None:
        return [name for name in DEFAULT_SETS if name in there] or there
    if list(names) == [EVERY]:
        return there
    for name in names:
        if name not in there:
            raise InvalidInput(f"no set {name!r} in {folder}: {', '.join(there)}", field="sets")
    if not names:
        raise InvalidInput(f"name at least one set: {', '.join(there)}", field="sets")
    return list(dict.fromkeys(names))


def read_set(folder: Path) -> LabelledSet:
    """The set in a folder."""
    conversations = tuple(
        _parse_row(_conversation, where, row) for where, row in _rows(folder, "conversations")
    )
    questions = tuple(
        _parse_row(_question, where, row) for where, row in _rows(folder, "questions")
    )
    known = {each.id for each in conversations}
    for asked in questions:
        if asked.conversation not in known:
            raise InvalidInput(
                f"{folder.name}: question {asked.id} is about conversation"
                f" {asked.conversation!r}, which is not there",
                field="conv_id",
            )
    return LabelledSet(folder.name, conversations, _with_newest(questions, conversations))


def sample_set() -> LabelledSet:
    """The conversation that comes with Holdfast."""
    turns = tuple(
        LabelledTurn(
            id=turn["metadata"]["turn"],
            session=turn["session"],
            role=turn["role"],
            name=turn["name"],
            content=turn["content"],
            at=_moment(turn["at"]),
        )
        for turn in sample.turns()
    )
    questions = tuple(
        Question(
            f"{SAMPLE}-{number}", SAMPLE, asked["question"], asked["kind"],
            tuple(asked["evidence"]), turns[-1].at,
        )
        for number, asked in enumerate(sample.questions(), 1)
    )  # fmt: skip
    conversations = (Conversation(SAMPLE, turns),)
    return LabelledSet(SAMPLE, conversations, _with_newest(questions, conversations))


def _with_newest(
    questions: Sequence[Question], conversations: Sequence[Conversation]
) -> tuple[Question, ...]:
    """The questions with the newest of their evidence: the turn that comes last."""
    places = {
        each.id: {turn.id: place for place, turn in enumerate(each.turns)} for each in conversations
    }
    dated = []
    for asked in questions:
        place = places[asked.conversation]
        said = sorted((turn for turn in asked.evidence if turn in place), key=place.__getitem__)
        dated.append(replace(asked, newest=said[-1] if len(said) > 1 else None))
    return tuple(dated)


def _is_set(folder: Path) -> bool:
    return all(_file(folder, stem) is not None for stem in ("conversations", "questions"))


def _file(folder: Path, stem: str) -> Path | None:
    paths = [folder / (stem + ending) for ending in _ENDINGS]
    return next((path for path in paths if path.is_file()), None)


def _rows(folder: Path, stem: str) -> Iterator[tuple[str, Row]]:
    """(file and line, object) of every line that is not blank."""
    path = _file(folder, stem)
    if path is None:
        raise InvalidInput(f"{folder} has no {stem}.jsonl", field="data")
    opened = gzip.open if path.suffix == ".gz" else open
    try:
        with opened(path, "rb") as lines:
            for number, line in enumerate(lines, 1):
                if line.strip():
                    yield f"{path}:{number}", _object(f"{path}:{number}", line)
    except (gzip.BadGzipFile, EOFError) as error:
        raise InvalidInput(f"{path} cannot be unpacked: {error}", field="data") from error


def _object(where: str, line: bytes) -> Row:
    try:
        row = json.loads(line)
    except ValueError as error:  # Neither JSON nor, at times, UTF-8.
        raise InvalidInput(f"{where} is not JSON: {error}", field="data") from error
    if not isinstance(row, dict):
        raise InvalidInput(f"{where} is not a JSON object", field="data")
    return row


def _parse_row(parse: Callable[[Row], T], where: str, row: Row) -> T:
    try:
        return parse(row)
    except KeyError as error:
        raise InvalidInput(f"{where} lacks {error}", field="data") from error
    except (TypeError, ValueError, AttributeError) as error:
        raise InvalidInput(f"{where}: {error}", field="data") from error


def _conversation(row: Row) -> Conversation:
    turns = [_turn(each) for each in row["turns"]]
    return Conversation(str(row["conv_id"]), tuple(_with_times(turns)))


def _turn(row: Row) -> LabelledTurn:
    speaker = str(row["speaker"])
    text, caption = row.get("text") or "", row.get("image_caption")
    return LabelledTurn(
        id=str(row["id"]),
        session=str(row["session"]),
        role="assistant" if speaker == "assistant" else "user",
        name=None if speaker in _NAMELESS else speaker,
        content=(text + f"\n[image: {caption}]").lstrip("\n") if caption else text,
        at=_moment(row.get("time")),
    )


def _with_times(turns: Iterable[LabelledTurn]) -> Iterator[LabelledTurn]:
    """Without the turns that say nothing; a turn without a time has that of the one before."""
    spoken = [turn for turn in turns if turn.content.strip()]
    last = next((turn.at for turn in spoken if turn.at), None)  # For those before the first time.
    for turn in spoken:
        last = turn.at or last
        yield replace(turn, at=last)


def _question(row: Row) -> Question:
    return Question(
        id=str(row["qid"]),
        conversation=str(row["conv_id"]),
        text=str(row["question"]),
        category=str(row["category"]),
        evidence=tuple(dict.fromkeys(map(str, row.get("evidence") or ()))),
        at=_moment(row.get("time")),
    )


def _moment(value: object) -> datetime | None:
    """A time with a zone: UTC where none is told."""
    if not value:
        return None
    at = datetime.fromisoformat(str(value))
    return at if at.tzinfo else at.replace(tzinfo=UTC)
