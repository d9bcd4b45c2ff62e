"""The model that reads, the shipped file: lines, tags, relations."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import holdfast
from holdfast.memory.memory import Memory
from holdfast.models.local import LocalEmbedder, _run_one
from holdfast.models.reader import KINDS, RELATIONS, TAGS, LocalReader, is_general, is_idle


@pytest.fixture(scope="module")
def reader() -> LocalReader:
    return LocalReader(threads=1)


def test_a_turn_is_cut_into_lines_that_cover_all_its_words(reader: LocalReader) -> None:
    text = "ok so we moved to Ghent last week.\n\nNo calls before ten please! what's the postcode"
    lines = reader.lines(text)
    assert " ".join(" ".join(line.text for line in lines).split()) == " ".join(text.split())
    assert [text[line.start : line.end] for line in lines] == [line.text for line in lines]
    assert len(lines) >= 3
    assert [line.before for line in lines] == ["", *(line.text for line in lines[:-1])]
    assert all(set(line.tags) == set(TAGS) and line.kind in KINDS for line in lines)


@pytest.mark.parametrize(
    "sentence",
    [
        "Der Umzug ist jetzt am 15. August, die Spedition weiß Bescheid.",
        "theorie am 12. februar, praxis danach",
        "My supervisor is Dr. Odhiambo and my boss is Mrs. Stoltzfus.",
    ],
)
def test_a_number_or_a_title_with_a_full_stop_ends_no_line(
    reader: LocalReader, sentence: str
) -> None:
    assert [line.text for line in reader.lines(sentence)] == [sentence]


def test_a_sentence_may_end_with_a_number(reader: LocalReader) -> None:
    text = "We are at Brill Street 18. It costs 1,900 a month."
    assert [line.text for line in reader.lines(text)] == [
        "We are at Brill Street 18.",
        "It costs 1,900 a month.",
    ]


def test_a_line_may_go_on_with_what_the_one_before_says(reader: LocalReader) -> None:
    told = {line.text: line.goes_on for line in reader.lines("passed. 91st percentile")}
    assert told == {"passed.": False, "91st percentile": True}
    assert not any(line.goes_on for line in reader.lines("we moved to Ghent\nTheo is nine"))


@pytest.mark.parametrize(
    ("text", "tag"),
    [
        ("My sister Ottilie works as a baker in Ghent.", "fact"),
        ("we finally bought the cottage in Whitby, 310k all in", "fact"),
        ("When I send you a contract, list the risks first.", "rule"),
        ("no more than three sentences per answer please", "rule"),
        ("you can drop the three sentence rule again, it was only for the exam", "withdraw"),
        ("what would a new boiler cost?", "ask"),
        ("haha thanks", "filler"),
        ("Meine Schwester arbeitet als Bäckerin in Gent.", "fact"),
    ],
)
def test_a_line_is_taken_for_what_it_is(reader: LocalReader, text: str, tag: str) -> None:
    (line, *_) = reader.lines(text)
    assert max(line.tags, key=line.tags.__getitem__) == tag


@pytest.mark.parametrize(
    ("known", "new", "relation"),
    [
        ("The meeting is on 3 May.", "the meeting was moved to 5 May", "replaces"),
        ("Budget for the loft is 62k.", "budget for the loft went up to 71k", "replaces"),
        ("the window is 140 cm wide", "sorry, remeasured, it's 104 not 140", "corrects"),
        ("No emojis please.", "Emojis are fine now", "withdraws"),
        ("My brother Tom lives in Leeds.", "The cat hates the new carpet.", "unrelated"),
    ],
)
def test_two_lines_are_related(reader: LocalReader, known: str, new: str, relation: str) -> None:
    (told,) = reader.relations(new, "", [known])
    assert set(told) == set(RELATIONS)
    assert sum(told.values()) == pytest.approx(1.0, abs=1e-4)
    ends = {"replaces", "corrects"}
    best = max(told, key=told.__getitem__)
    assert best == relation or {best, relation} <= ends


def test_a_long_turn_is_read_in_parts_and_to_its_end(reader: LocalReader) -> None:
    text = "The shed is green. " * 200 + "My daughter Ilse is allergic to nuts."
    lines = reader.lines(text)
    assert lines[-1].text.endswith("nuts.")
    assert lines[-1].tags["fact"] > 0.5
    assert len(lines) > 150


@pytest.mark.parametrize("text", ["", "   ", "\n", "🙂", "x" * 5_000, "\u200b", "。。。"])
def test_any_text_can_be_read(reader: LocalReader, text: str) -> None:
    for line in reader.lines(text):
        assert all(0.0 <= sure <= 1.0 for sure in line.tags.values())


def test_the_same_text_is_read_alike_each_time(reader: LocalReader) -> None:
    text = "I swapped the kayak for a canoe and Bram keeps it at his place"
    assert reader.lines(text) == reader.lines(text)


@pytest.mark.parametrize("text", ["thanks, you're a star!", "haha ok", "good night then"])
def test_small_talk_is_idle(reader: LocalReader, text: str) -> None:
    assert is_idle(text, reader)


@pytest.mark.parametrize(
    "text", ["Where do I live?", "I'm off to buy a sofa for 900", "write the mail to Petra"]
)
def test_what_asks_or_tells_is_not_idle(reader: LocalReader, text: str) -> None:
    assert not is_idle(text, reader)


@pytest.mark.parametrize(
    "text",
    [
        "how long do you boil an egg",
        "what does inst. mean in an old letter?",
        "my laptop is frozen, what can I do",
        "translate 'see you soon' to Finnish",
    ],
)
def test_what_anybody_could_answer_is_general(reader: LocalReader, text: str) -> None:
    assert is_general(text, reader)


@pytest.mark.parametrize(
    "text",
    [
        "what did the vet say about Pepper?",
        "Which illness do I have?",
        "who is coming on Sunday",
        "draft the mail to my landlord about the damp",
    ],
)
def test_what_asks_for_memories_is_not_general(reader: LocalReader, text: str) -> None:
    assert not is_general(text, reader)


def test_a_question_is_read_and_embedded_in_one_pass(reader: LocalReader) -> None:
    asked = "Where did we put the spare key of the boat house?"
    before = _run_one.cache_info().misses
    reader.lines(asked)
    vector = LocalEmbedder(threads=1).embed([asked])
    assert _run_one.cache_info().misses == before + 1
    _run_one.cache_clear()
    assert (LocalEmbedder(threads=1).embed([asked]) == vector).all()


class Alike:
    """An embedder of somebody's own, to which all texts are nearly the same."""

    model_id, dim = "of my own", 8

    def __init__(self) -> None:
        self.asked: list[str] = []

    def embed(self, texts: list[str]) -> NDArray[np.float32]:
        self.asked += texts
        rows = np.ones((len(texts), self.dim), dtype=np.float32)
        rows[:, 0] += [len(text) % 7 / 10 for text in texts]
        rows /= np.linalg.norm(rows, axis=1, keepdims=True)
        return rows


class StandIn(Alike):
    is_stand_in = True


MOVES = {
    "2026-01-05": "we finally ended up in Ghent, above the bakery",
    "2026-01-06": "my sister Noor bakes bread in Utrecht",
    "2026-01-07": "just the short version in your replies please, always",
    "2026-03-05": "packed everything up, so Bruges it is now, no more Ghent for us",
}


def understood(memory: Memory) -> list[tuple[str, ...]]:
    """The facts that hold, those that ended, and what is to be followed, each in order of words."""
    for day, text in MOVES.items():
        turn = {"role": "user", "content": text, "at": f"{day}T10:00Z"}
        memory.remember([turn], user="ann")
    memory.drain()
    listed = memory.list(user="ann", status="all").memories
    kept = sorted(listed, key=lambda each: each.content)
    return [
        tuple(each.content for each in kept if each.tier == "fact" and each.valid_to is None),
        tuple(each.content for each in kept if each.tier == "fact" and each.valid_to is not None),
        tuple(each.content for each in kept if each.kind == "instruction"),
    ]


def opened(path: Path, **given: Any) -> Memory:
    return holdfast.open(path / "m.db", worker=False, **given)


def test_with_an_embedder_of_ones_own_it_reads_the_same(tmp_path: Path) -> None:
    """How alike two statements are is told by the shipped model, whose cosines it was fitted to."""
    own = Alike()
    with opened(tmp_path, embedder=own) as memory:
        found = understood(memory)
    (tmp_path / "shipped").mkdir()
    with opened(tmp_path / "shipped") as memory:
        assert found == understood(memory)
    holds, ended, _ = found
    assert MOVES["2026-03-05"] in holds
    assert ended == (MOVES["2026-01-05"],)
    # What is searched is embedded by it; nothing else is asked of it.
    assert sum(MOVES["2026-03-05"] in text for text in own.asked) <= 2


@pytest.mark.parametrize(
    "given",
    [{"embedder": StandIn()}, {"embedder": Alike(), "config": {"extraction.reader": "rules"}}],
    ids=["a stand-in", "by the settings"],
)
def test_it_stays_away_where_it_is_told_to(tmp_path: Path, given: dict[str, Any]) -> None:
    with opened(tmp_path, **given) as memory:
        holds, ended, _ = understood(memory)
    assert (holds, ended) == ((), ())
