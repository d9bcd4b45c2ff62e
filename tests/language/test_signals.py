"""The six signals on labelled turns of our own, English and Chinese.

The patterns were made on `signals.jsonl` (552 turns), so its figures flatter them. What to expect
of other words is told by `signals_unseen.jsonl` (145 turns): it was written when the patterns were
done, and they were not changed for it.
"""

import json
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.language.statements.signals import SIGNALS, signals

Said = list[tuple[str, frozenset[str]]]


def lines(name: str) -> Said:
    text = Path(__file__).with_name(name).read_text(encoding="utf-8")
    read = [json.loads(line) for line in text.splitlines()]
    return [(line["text"], frozenset(line["signals"])) for line in read]


MADE_ON = lines("signals.jsonl")
UNSEEN = lines("signals_unseen.jsonl")


def counts(signal: str, said: Said) -> tuple[int, int, int]:
    """How often it was found rightly, found, and there."""
    right = sum(signal in signals(text) and signal in labels for text, labels in said)
    claimed = sum(signal in signals(text) for text, _ in said)
    return right, claimed, sum(signal in labels for _, labels in said)


def test_the_set_is_large_enough_and_no_turn_is_there_twice() -> None:
    assert len({text for text, _ in MADE_ON + UNSEEN}) == len(MADE_ON) + len(UNSEEN)
    assert sum(not labels for _, labels in MADE_ON) >= 100
    for signal in SIGNALS:
        assert sum(signal in labels for _, labels in MADE_ON) >= 40


@pytest.mark.parametrize("signal", SIGNALS)
def test_a_signal_is_found_and_little_else_is_taken_for_it(signal: str) -> None:
    right, claimed, there = counts(signal, MADE_ON)
    print(f"{signal}: precision {right / claimed:.3f}, recall {right / there:.3f} of {there}")
    assert right / claimed >= 0.85
    assert right / there >= 0.75


def test_words_that_the_patterns_were_not_made_for() -> None:
    found = {signal: counts(signal, UNSEEN) for signal in SIGNALS}
    for signal, (right, claimed, there) in found.items():
        print(f"{signal}: precision {right / claimed:.3f}, recall {right / there:.3f} of {there}")
        assert right / claimed >= 0.85
        assert right / there >= 0.55
    right, claimed, there = (sum(column) for column in zip(*found.values(), strict=True))
    print(f"all: precision {right / claimed:.3f}, recall {right / there:.3f} of {there}")
    assert right / claimed >= 0.90
    assert right / there >= 0.75


@pytest.mark.parametrize(
    "text",
    [
        "Do I prefer tea?",
        "What if I prefer tea?",
        "If I were a nurse I would move to Bern.",
        'She sang "I love you" and "my name is Bo".',
        "> I prefer tea.",
        "```\nI prefer tea.\n# my name is Bo\n```",
        "`my name is Bo` is printed",
        "我喜欢茶吗？",
        "",
        "x" * 700 + " I prefer tea",
    ],
)
def test_what_is_asked_supposed_or_quoted_shows_nothing(text: str) -> None:
    assert signals(text) == frozenset()


def test_several_sentences_show_several_signals() -> None:
    turn = "No, that's wrong. I\u2019m a nurse.\nWe decided to move. 我喜欢茶。"
    assert signals(turn) == {"correction", "identity", "decision", "preference"}


@given(st.text())
def test_any_text_will_do(text: str) -> None:
    assert signals(text) <= set(SIGNALS)


@pytest.mark.parametrize(
    "hostile",
    [
        "i really " * 20_000,
        "we want to " * 20_000,
        "not a " * 30_000,
        "我想" * 50_000,
        "i'm " * 9_000,
    ],
)
def test_a_hostile_text_costs_no_more_than_a_long_one(hostile: str) -> None:
    started = time.thread_time()
    signals(hostile)
    signals(hostile[:590])
    signals("\n".join([hostile[:590]] * 30))
    assert time.thread_time() - started < 2
