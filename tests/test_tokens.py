"""Token counts are exact; the expected ones come from tiktoken 0.14.0."""

import subprocess
import sys

import pytest

from recollect.tokens import count_tokens

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


def test_a_long_run_of_one_letter_takes_no_quadratic_time() -> None:
    assert count_tokens("a" * 200_000) == 25_000


def test_the_table_is_loaded_only_when_something_is_counted() -> None:
    script = "import sys, recollect.tokens; sys.exit('rs_bpe' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 0
