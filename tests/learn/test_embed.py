"""Long text is cut where it hurts least, and nothing of it is lost."""

from datetime import UTC, datetime
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.learn.embed import passages, record_texts, turn_texts
from holdfast.types import Record

MOST_PIECES = 200
SENTENCE = "The harbour master counted {} boats before breakfast and wrote it down."


def pieces(text: str) -> float:
    """About how many word pieces a text has: four ASCII characters each, other letters one."""
    return sum(0.25 if ord(character) < 128 else 1.0 for character in text)


def a_long_text(sentences: int = 60) -> str:
    return " ".join(SENTENCE.format(i) for i in range(sentences))


def test_a_short_text_is_one_passage() -> None:
    assert passages("  I moved to Lisbon. \n") == ["I moved to Lisbon."]


def test_a_text_of_exactly_the_limit_is_one_passage() -> None:
    assert len(passages("x" * 800)) == 1
    assert len(passages("x" * 801)) == 2


def test_cuts_fall_between_sentences() -> None:
    found = passages(a_long_text())
    assert len(found) > 3
    for passage in found:
        assert passage.startswith("The harbour master")
        assert passage.endswith("wrote it down.")


def test_neighbours_overlap_by_a_sentence() -> None:
    found = passages(a_long_text())
    for one, other in pairwise(found):
        last = "The harbour" + one.rsplit("The harbour", 1)[1]
        assert other.startswith(last)


def test_a_long_unit_is_not_repeated() -> None:
    long = "word " * 100 + "end."
    found = passages(f"{long} {long} {long}")
    assert len(found) == 3


def test_a_code_block_stays_whole() -> None:
    code = "```python\n" + "\n".join(f"value_{i} = {i}. Really? Yes!" for i in range(15)) + "\n```"
    found = passages(f"{a_long_text(20)}\n{code}\n{a_long_text(20)}")
    assert sum(code in passage for passage in found) >= 1


def test_a_code_block_larger_than_a_passage_is_cut() -> None:
    code = "```\n" + "\n".join(f"line number {i} of the program" for i in range(200)) + "\n```"
    found = passages(code)
    assert len(found) > 5
    assert all(pieces(passage) <= MOST_PIECES for passage in found)
    assert set(code.split()) <= set(" ".join(found).split())


def test_a_code_block_that_never_ends_is_no_trouble() -> None:
    found = passages("```\n" + "x = 1\n" * 1_000)
    assert all(pieces(passage) <= MOST_PIECES for passage in found)


def test_dense_scripts_are_cut_between_sentences() -> None:
    sentence = "港の長は朝食の前に船を数えて書き留めた。"
    found = passages(sentence * 40)
    assert len(found) > 3
    assert all(passage.endswith("。") for passage in found)
    assert all(pieces(passage) <= MOST_PIECES for passage in found)


def test_one_giant_word_is_cut_anywhere() -> None:
    found = passages("x" * 10_000)
    assert "".join(found) == "x" * 10_000
    assert all(pieces(passage) <= MOST_PIECES for passage in found)


def test_a_giant_word_between_sentences_takes_nothing_with_it() -> None:
    found = passages("Hello there. " + "x" * 5_000 + " Goodbye then.")
    assert any("Hello there." in passage for passage in found)
    assert any("Goodbye then." in passage for passage in found)


def test_a_giant_word_of_mixed_scripts_keeps_the_limit() -> None:
    found = passages("漢" * 300 + "a" * 5_000)
    assert max(pieces(passage) for passage in found) <= MOST_PIECES


def test_many_tiny_lines_keep_the_limit() -> None:
    found = passages("\n".join("a" for _ in range(3_000)))
    assert max(pieces(passage) for passage in found) <= MOST_PIECES


@pytest.mark.timeout(20)  # More than a minute when the work grows with the square of the length.
def test_the_largest_message_without_a_border_costs_little() -> None:
    text = "漢" * (1024 * 1024 // 3)
    assert "".join(passages(text)) == text


WORD = st.one_of(
    st.text("abcdefgh.!?", min_size=1, max_size=12),
    st.text("港長朝食船。！", min_size=1, max_size=12),
    st.sampled_from(["```", "x" * 900, "漢" * 250, "é" * 30, "end."]),
)
SPACE = st.sampled_from([" ", "\n", "  ", "\n\n", "\t"])


@given(st.lists(st.tuples(WORD, SPACE), max_size=60))
def test_every_passage_keeps_the_limit_and_nothing_is_lost(parts: list[tuple[str, str]]) -> None:
    text = "".join(word + space for word, space in parts)
    found = passages(text)
    assert all(pieces(passage) <= MOST_PIECES for passage in found)
    if len(found) > 1:
        assert all(passage.strip() for passage in found)
    seen = "".join("".join(passage.split()) for passage in found)
    for word in text.split():
        if pieces(word) <= 30 and "```" not in word:
            # Cuts may fall inside a run of dense script, at a sentence border.
            assert all(
                part in seen for part in word.replace("。", "。 ").replace("！", "！ ").split()
            )


@given(st.lists(st.sampled_from(["ant", "bee", "cat", "dog."]), min_size=10, max_size=30))
def test_every_word_is_in_some_passage_in_order(words: list[str]) -> None:
    numbered = [f"{i}{word}" for i, word in enumerate(words * 30)]
    found = passages(" ".join(numbered))
    assert set(" ".join(found).split()) == set(numbered)
    firsts = [numbered.index(passage.split()[0]) for passage in found]
    assert firsts == sorted(firsts)


def a_turn(content: str, name: str | None = None) -> Record:
    at, id = datetime(2026, 3, 1, 10, tzinfo=UTC), "0" * 32
    return Record(
        id, "session", "turn", content, at, None, at, None, "user", 1.0, (id,), "user", name
    )


def test_every_passage_tells_who_spoke_and_when() -> None:
    assert turn_texts(a_turn("I moved.", "Ann")) == ["[1 March 2026] Ann: I moved."]
    assert turn_texts(a_turn("I moved.")) == ["[1 March 2026] user: I moved."]
    many = turn_texts(a_turn(a_long_text(), "Ann"))
    assert len(many) > 3
    assert all(text.startswith("[1 March 2026] Ann: The harbour") for text in many)


def test_the_same_turn_gives_the_same_texts() -> None:
    assert turn_texts(a_turn(a_long_text())) == turn_texts(a_turn(a_long_text()))


def a_record(content: str, **data: object) -> Record:
    now = datetime(2026, 3, 1, tzinfo=UTC)
    return Record("0" * 32, "procedure", "instruction", content, now, None, now, None, "user", 0.9,
                  ("1" * 32,), "user", data=data)  # fmt: skip


def test_a_derived_record_is_its_content_and_its_condition() -> None:
    rule = "Cite sources when I ask about history."
    texts = record_texts(a_record(rule, condition="when I ask about history"))
    assert texts == [rule, "when I ask about history", "history"]


@pytest.mark.parametrize("condition", [None, "", " ", 5])
def test_without_a_condition_a_derived_record_is_its_content(condition: object) -> None:
    assert record_texts(a_record("Cite sources.", condition=condition)) == ["Cite sources."]


def test_a_long_derived_record_is_cut_like_any_text() -> None:
    long = a_long_text()
    assert record_texts(a_record(long)) == passages(long)
    assert len(passages(long)) > 1
