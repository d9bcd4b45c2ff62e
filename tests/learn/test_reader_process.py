"""Reading in a process of its own: the same is found there, and it can be ended."""

import os
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import pytest

from holdfast.errors import Closed, Harmful, ModelError, ModelUnavailable, TookTooLong
from holdfast.language.extraction import Extracted
from holdfast.language.mentions import Turn
from holdfast.learn.nlp import extractor_named
from holdfast.learn.reader_process import ExtractorFactory, ReaderProcesses, ReadRequest
from holdfast.types import Event
from tests.learn.stepping import RULES, START, Recorder, Stepping

RULES_MADE = ExtractorFactory(partial(extractor_named, "rules"))


class Odd:
    """An extractor of somebody else, that does what a turn says."""

    def extract(self, turns: Sequence[Turn]) -> list[Extracted]:
        for turn in turns:
            if "hang" in turn.text:
                re.match(r"(a+)+$", "a" * 64 + "!")
            if "die" in turn.text:
                os.abort()
            if "away" in turn.text:
                raise ConnectionError("gone")
            if "fail" in turn.text:
                raise KeyError("weights")
        return RULES.extract(turns)


def odd() -> Odd:
    return Odd()


def said(*texts: str) -> ReadRequest:
    events = [
        Event(
            id=f"{n:032x}",
            arrival=n,
            role="user",
            content=text,
            at=START,
            known_at=START,
            origin="user",
        )
        for n, text in enumerate(texts)
    ]
    return ReadRequest(events, (), "ann")


@contextmanager
def apart(seconds: float = 20.0) -> Iterator[ReaderProcesses]:
    made = ReaderProcesses(seconds)
    made.warm()
    try:
        yield made
    finally:
        made.halt()


def nobody(name: str) -> bool:
    return name == "Lisbon"


def test_a_child_finds_what_is_found_here() -> None:
    asked = said("Clara works at Google.", "Yesterday Clara moved to Lisbon. I like green tea.")
    here = ReaderProcesses(0).read(RULES_MADE, asked, nobody)
    with apart() as there:
        assert there.read(RULES_MADE, asked, nobody) == here
    assert len(here.relations) > 1


def test_what_fails_in_a_child_fails_as_it_does_here() -> None:
    made = ExtractorFactory(odd)
    with apart() as there:
        for reading in (ReaderProcesses(0), there):
            with pytest.raises(ModelError, match="the extractor: KeyError: 'weights'"):
                reading.read(made, said("fail"), nobody)
            with pytest.raises(ModelUnavailable, match="gone"):
                reading.read(made, said("away"), nobody)
        assert there.read(made, said("Clara works at Google."), nobody).relations


def test_a_text_that_takes_too_long_or_ends_its_reader_is_told_from_others() -> None:
    made = ExtractorFactory(odd)
    with apart(0.5) as there:
        with pytest.raises(TookTooLong, match=r"reading it took longer than 0\.5 s"):
            there.read(made, said("hang"), nobody)
        with pytest.raises(Harmful, match="ended the process"):
            there.read(made, said("die"), nobody)
        assert there.read(made, said("Clara works at Google."), nobody).relations


def test_few_words_are_read_here_and_many_in_a_child() -> None:
    reader = Recorder()
    made = ExtractorFactory(lambda: reader)
    there = ReaderProcesses(20.0)
    there.read(made, said("Clara works at Google."), nobody)
    assert len(reader.groups) == 1
    assert not there._wants(said("word " * 300))
    assert there._wants(said("word " * 500))
    # It cannot be sent: it is made in a function.
    there.read(made, said("Clara works at Google. " * 200), nobody)
    assert len(reader.groups) == 2
    there.halt()


def test_nothing_is_read_any_more_when_it_is_over() -> None:
    there = ReaderProcesses(20.0)
    there.warm()
    there.halt()
    with pytest.raises(Closed):
        there.read(RULES_MADE, said("Clara works at Google."), nobody)


def test_one_long_text_that_hangs_leaves_its_neighbours_to_be_read(tmp_path: Path) -> None:
    made = Stepping(tmp_path / "m.db", Odd(), jobs={"readSeconds": 0.5})
    with made.memory as memory:
        texts = ["Clara works at Google.", "the hang " * 300, "Bernard lives in Oslo."]
        events = [made.say(text) for text in texts]
        drained = memory.drain()
        assert (drained.dead, drained.pending) == (1, 0)
        states = [memory.status(event, user="ann") for event in events]
        assert [status.state for status in states] == ["done", "dead", "done"]
        assert states[1].error == "reading it took longer than 0.5 s"
        assert {"Clara", "Google", "Bernard", "Oslo"} <= set(made.nodes())
        made.say("Dora lives in Madrid.")
        assert memory.drain().dead == 0, "what nobody could read helps to read nothing"
        assert "Dora" in made.nodes()
