"""Token counts are exact; the expected ones come from tiktoken 0.14.0."""

import subprocess
import sys
import time

import pytest

from holdfast.language import tokens
from holdfast.language.tokens import count_tokens

COUNTS = {
    "": 0,
    "hello world": 2,
    "I don't think we've met; they'll come.": 12,
    "  two spaces, a tab\tand\n\n\nthree lines  ": 11,
    "1234567890 INV-2026-0417": 11,
    "def count(text: str) -> int:\n    return len(text)\n": 14,
    "Grüße aus Zürich, ça va ?": 11,
    "Москва, Δelphi, İstanbul": 11,
    "今日は良い天気ですね。": 12,
    "안녕하세요 세계": 9,
    "مرحبا بالعالم": 10,
    "\U0001f469\u200d\U0001f469\u200d\U0001f467 \U0001f1e9\U0001f1ea \U0001f44d\U0001f3fd": 24,
    "https://example.org/a?b=c#d": 10,
    "antidisestablishmentarianism": 6,
    "\u200b\x00\x07": 3,
}


@pytest.mark.parametrize(("text", "count"), COUNTS.items(), ids=ascii)
def test_counts_equal_those_of_tiktoken(text: str, count: int) -> None:
    assert count_tokens(text) == count


def test_names_of_special_tokens_are_ordinary_text() -> None:
    assert count_tokens("<|endoftext|>") == 7
    assert count_tokens("<|endofprompt|> hello") == 8


def test_half_a_surrogate_pair_counts_as_the_replacement_character() -> None:
    assert count_tokens("a\ud800b") == count_tokens("a\ufffdb")
    assert count_tokens("\ud83d\ude00") == count_tokens("😀")


def pieces(text: str) -> list[str]:
    """Each way of writing `text` with other white space around its words."""
    spaces = ("", " ", "  ", "\n", " \n", "\n ", "\n \n  ", "\t ", "\u3000  ", "\x1c ", "\r\n\n")
    return [text.replace("~", space) for space in spaces]


@pytest.mark.parametrize("text", ["~end.~Next~", "a~'s~1~\u017f", "~~x~~", "é~(~天~)~😀~"])
def test_a_text_counted_word_by_word_counts_like_the_whole(text: str) -> None:
    for each in pieces(text):
        tokens._known.clear()
        assert count_tokens(each) == tokens.count_whole(each), ascii(each)
        assert count_tokens(each) == tokens.count_whole(each), "known words count alike"


def test_words_that_are_known_do_not_grow_without_end() -> None:
    for start in range(0, 300_000, 30_000):
        count_tokens(" ".join(map(str, range(start, start + 30_000))))
    assert len(tokens._known) <= tokens._MOST_WORDS


@pytest.mark.parametrize(
    ("unit", "count"),
    [("a", 25_000), (" ", 1_563), ("=", 3_125), ("\n", 6_250), ("😀", 400_000), ("天", 200_000)],
)
def test_a_long_run_takes_no_quadratic_time(unit: str, count: int) -> None:
    count_tokens(unit)
    began = time.thread_time()
    count_tokens(unit * 20_000)
    short = time.thread_time() - began
    began = time.thread_time()
    assert count_tokens(unit * 200_000) == count
    # Ten times as much; a hundred times as long were it quadratic.
    assert time.thread_time() - began < max(short, 0.002) * 40


def test_the_table_is_loaded_only_when_something_is_counted() -> None:
    script = (
        "import sys; from holdfast.language import tokens;"
        "sys.exit(tokens._ranks.cache_info().currsize)"
    )
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 0
