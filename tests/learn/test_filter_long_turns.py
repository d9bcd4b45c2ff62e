"""How much of a turn is understood, and that its writer is told."""

from collections.abc import Iterator
from pathlib import Path

import pytest

import holdfast
from holdfast.language.instructions.rules import MOST_RULES
from holdfast.learn.filter import readable_part
from holdfast.memory.memory import Memory
from holdfast.testing import HashEmbedder

CAP = 24_000
PASTED = "The harbour was quiet and the boats lay still. "


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    with holdfast.open(tmp_path / "m.db", embedder=HashEmbedder(16), worker=False) as opened:
        yield opened


def names(memory: Memory) -> set[str]:
    return {each.name for each in memory.graph.entities(user="ann")}


def test_a_cut_is_made_between_words() -> None:
    assert readable_part("three small words", 100) == "three small words"
    assert readable_part("three small words", 14) == "three small"
    assert readable_part("x" * 50, 14) == "x" * 14


def test_what_is_said_beyond_the_cap_is_stored_and_found_but_not_understood(
    memory: Memory,
) -> None:
    text = f"I met Mara Voss today. {PASTED * 700}I met Quentin Okafor today."
    receipt = memory.remember(text, user="ann")
    memory.drain()
    assert "Mara Voss" in names(memory)
    assert "Quentin Okafor" not in names(memory)
    (hit,) = memory.recall("Quentin Okafor", user="ann", tiers=["session"])
    assert hit.content == text
    (told,) = receipt.warnings
    assert "messages[0].content has" in told
    assert f"its first {CAP} alone (extraction.turnChars)" in told


def test_a_turn_within_the_cap_is_understood_to_its_end(memory: Memory) -> None:
    receipt = memory.remember(f"{PASTED * 400}I met Quentin Okafor today.", user="ann")
    memory.drain()
    assert "Quentin Okafor" in names(memory)
    assert receipt.warnings == ()


def test_what_is_not_read_at_all_is_not_said_to_be_cut(memory: Memory) -> None:
    assert memory.remember(PASTED * 700, user="ann", extract=False).warnings == ()
    tool = {"role": "tool", "content": PASTED * 700}
    assert memory.remember(tool, user="ann").warnings == ()


def test_the_first_rules_of_a_message_are_kept_and_the_rest_is_said(memory: Memory) -> None:
    given = [f"Always use tool{each} when I ask about topic{each}." for each in range(150)]
    receipt = memory.remember(" ".join(given), user="ann")
    (told,) = receipt.warnings
    assert told.startswith("messages[0].content gives many rules: the first 100")
    kept = memory.list(user="ann", tiers=["procedure"], limit=200).memories
    assert len(kept) == MOST_RULES
