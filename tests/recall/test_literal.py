"""A literal of the question finds the memory that holds it first, among thousands alike."""

from collections.abc import Iterator
from pathlib import Path

import pytest

import holdfast
from holdfast.memory.memory import Memory
from holdfast.testing import HashEmbedder

MANY = 5_000


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    with holdfast.open(tmp_path / "m.db", embedder=HashEmbedder(16), worker=False) as opened:
        yield opened


@pytest.fixture(scope="module")
def crowd(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Memory]:
    """Five thousand invoices that differ in a number, with a few odd ones among them."""
    path = tmp_path_factory.mktemp("crowd") / "m.db"
    texts = [
        f"Invoice INV-2026-{i:04} over {50_000 + i} euros was sent to the customer by post."
        for i in range(MANY)
    ]
    texts[17] += " Paid by Thistlewood."
    texts[42] += " The customer said: never again on a Monday."
    texts[43] += " The Monday customer again said never."
    with holdfast.open(path, embedder=HashEmbedder(16), worker=False) as opened:
        opened.remember([{"content": text} for text in texts], user="ann")
        opened.drain()
        yield opened


def first(memory: Memory, question: str) -> str:
    return memory.recall(question, user="ann")[0].content


@pytest.mark.slow
@pytest.mark.parametrize("number", [0, 1, 417, 2500, 4999])
def test_an_id_is_found_first_among_thousands_alike(crowd: Memory, number: int) -> None:
    wanted = f"INV-2026-{number:04}"
    for question in (f"Was {wanted} sent?", wanted.lower(), f"invoice {wanted}, please"):
        hit = crowd.recall(question, user="ann")[0]
        assert wanted in hit.content
        assert any(each.lower() == wanted.lower() for each in hit.why["literal"])


@pytest.mark.slow
def test_a_number_is_found_first_among_thousands_alike(crowd: Memory) -> None:
    assert "over 53210 euros" in first(crowd, "Which invoice was over 53210 euros?")


@pytest.mark.slow
def test_a_part_of_an_id_is_found(crowd: Memory) -> None:
    assert "INV-2026-0417" in first(crowd, "invoice number 0417")


@pytest.mark.slow
def test_a_rare_word_is_found_first_among_thousands_alike(crowd: Memory) -> None:
    assert "Thistlewood" in first(crowd, "Which invoice did Thistlewood pay to the customer?")


@pytest.mark.slow
def test_a_quoted_phrase_is_held_to_the_letter(crowd: Memory) -> None:
    assert "0042" in first(crowd, 'Who said "never again on a Monday"?')
    assert "0043" in first(crowd, "Who wrote “Monday customer again said never”?")


@pytest.mark.slow
def test_a_quoted_phrase_of_common_words_is_found_wherever_it_lies(memory: Memory) -> None:
    # All hold both words; only the oldest holds them in this order.
    texts = ["The box is blue then green."] + ["The box is green then blue."] * (MANY - 1)
    events = memory.remember([{"content": text} for text in texts], user="ann").events
    hit = memory.recall('Which box is "blue then green"?', user="ann")[0]
    assert hit.id == events[0]


def test_a_quoted_phrase_ignores_case_accents_and_line_breaks(memory: Memory) -> None:
    memory.remember([{"content": f"green box {i}"} for i in range(20)], user="ann")
    memory.remember("She whispered: Le\n  CAFÉ   vert was closed.", user="ann")
    assert "whispered" in first(memory, 'green box "le cafe vert"')


def test_a_quoted_phrase_of_stop_words_is_found(memory: Memory) -> None:
    memory.remember("My favourite band is The Who.", user="ann")
    memory.remember([{"content": f"The band number {i} is loud."} for i in range(20)], user="ann")
    memory.drain()
    assert "The Who" in first(memory, 'Is "The Who" a loud band?')


def test_the_words_of_a_quoted_phrase_in_another_order_do_not_count(memory: Memory) -> None:
    memory.remember("man bites dog", user="ann")
    memory.remember("dog bites man", user="ann")
    hits = memory.recall('"man bites dog"', user="ann")
    assert hits[0].content == "man bites dog"
    assert "literal" in hits[0].why
    assert "literal" not in hits[1].why


def test_an_id_inside_a_longer_one_is_found(memory: Memory) -> None:
    memory.remember([{"content": f"See invoice INV-2026-{i:04}."} for i in range(30)], user="ann")
    memory.remember("See https://example.org/bills/INV-2025-0777 there.", user="ann")
    assert "0777" in first(memory, "See INV-2025-0777.")


@pytest.mark.parametrize("literal", ["ann@example.org", "v2.10.3", "10:45", "C-3PO", "ab12-cd34"])
def test_codes_of_every_shape_come_first(memory: Memory, literal: str) -> None:
    memory.remember(f"The note says {literal} here.", user="ann")
    memory.remember(
        [{"content": f"The note says x{i}@example.org v2.10.{i + 10} here."} for i in range(30)],
        user="ann",
    )
    assert literal in first(memory, f"What does the note say about {literal}?")


def test_of_two_that_hold_a_literal_the_one_that_holds_more_comes_first(memory: Memory) -> None:
    memory.remember([{"content": f"filler text {i}00"} for i in range(20)], user="ann")
    memory.remember("order A1234 was shipped with B5678", user="ann")
    memory.remember([{"content": "order A1234 was shipped"}] * 3, user="ann")
    hits = memory.recall("order A1234 B5678", user="ann")
    assert hits[0].content.endswith("B5678")
    assert [hit.why.get("literal") for hit in hits[:4]] == [["A1234", "B5678"], *[["A1234"]] * 3]


def test_holders_of_a_literal_lie_in_the_upper_half_of_the_scale(memory: Memory) -> None:
    memory.remember("cat A1234", user="ann")
    memory.remember([{"content": f"cat {'dog ' * i}"} for i in range(20)], user="ann")
    memory.drain()
    hits = memory.recall("cat dog A1234", user="ann", limit=21)
    assert hits[0].score >= 0.5
    assert all(hit.score < 0.5 for hit in hits[1:])


def test_a_literal_that_many_hold_protects_nothing(memory: Memory) -> None:
    memory.remember(
        [{"content": f"In 2026 the cat slept {i} times."} for i in range(100)], user="ann"
    )
    memory.remember("The zebra escaped.", user="ann")
    hits = memory.recall("Did the zebra escape in 2026?", user="ann")
    assert hits[0].content == "The zebra escaped."
    assert all("literal" not in hit.why for hit in hits)


def test_a_literal_nobody_holds_changes_nothing(memory: Memory) -> None:
    memory.remember("The zebra escaped.", user="ann")
    hits = memory.recall('Did the zebra escape, "absolutely not", X9999?', user="ann")
    assert hits[0].content == "The zebra escaped."
    assert "literal" not in hits[0].why


def test_a_literal_of_another_user_is_not_found(memory: Memory) -> None:
    memory.remember("code A1234", user="bob")
    memory.remember("some code", user="ann")
    assert [hit.content for hit in memory.recall("A1234", user="ann")] == []


def test_a_forgotten_literal_is_not_found(memory: Memory) -> None:
    event = memory.remember('code A1234, "red fox jumps"', user="ann").events[0]
    memory.forget(event, user="ann")
    assert memory.recall('A1234 "red fox jumps"', user="ann") == []


def test_a_literal_counts_without_a_vector_and_beyond_the_depth(memory: Memory) -> None:
    memory.remember("cat A1234", user="ann")
    memory.remember([{"content": "cat cat cat"} for _ in range(60)], user="ann")
    hits = memory.recall("cat A1234", user="ann", limit=1, overrides={"searchTopK": 1})
    assert hits[0].content == "cat A1234"
