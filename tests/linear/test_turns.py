"""Reading a turn, packing a context and cutting an excerpt take time as their text is long.

Every kind of hostile text goes through the public verbs, in the sizes of `growth.SIZES`.
"""

from collections.abc import Callable, Iterator
from functools import partial
from itertools import count
from pathlib import Path

import pytest

import holdfast
from holdfast.language.echo import without_recalled
from holdfast.language.instructions.own_words import said_by_user
from holdfast.language.instructions.rules import rules_in
from holdfast.language.terms import terms
from holdfast.memory.memory import Memory
from holdfast.recall.context.excerpt import excerpt
from holdfast.testing import HashEmbedder
from tests.linear.growth import SIZES, grown
from tests.linear.texts import KINDS, distinct

#: What else is long: much that is different, so that nothing is told from what was seen before.
LISTS = {
    "different names": "{Word} {Other}, ",
    "different people": "I met {Word} {Other} today. ",
    "different jobs": "{Word} works at {Other}. ",
    "different moves": "I moved to {Word}. ",
    "different facts": "My {word} is {Other}. ",
    "different rules": "Always use {word} when I ask about {other}. ",
    "alike rules": "Always answer in {Word}. ",
}
QUICK = (
    "dots", "blanks", "newlines", "quotes", "brackets and blanks", "tags", "letters and stops",
    "a sentence without end",
)  # fmt: skip
_ASKED = "What did I say about tea and Mara?"
_users = count()


@pytest.fixture(scope="module")
def memory(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Memory]:
    path: Path = tmp_path_factory.mktemp("linear") / "m.db"
    with holdfast.open(path, embedder=HashEmbedder(16), worker=False) as opened:
        lived(opened, "I like tea.")()  # What is made once is made now.
        yield opened


@pytest.mark.parametrize("kind", QUICK)
def test_a_turn_is_read_and_found_in_linear_time(memory: Memory, kind: str) -> None:
    told = grown(kind, lambda size: lived(memory, KINDS[kind].text(size)), SIZES)
    assert told.is_linear, told


@pytest.mark.slow
@pytest.mark.parametrize("kind", [each for each in KINDS if each not in QUICK])
def test_any_turn_is_read_and_found_in_linear_time(memory: Memory, kind: str) -> None:
    told = grown(kind, lambda size: lived(memory, KINDS[kind].text(size)), SIZES)
    assert told.is_linear, told


@pytest.mark.slow
@pytest.mark.parametrize("kind", LISTS)
def test_a_list_is_read_and_found_in_linear_time(memory: Memory, kind: str) -> None:
    told = grown(kind, lambda size: lived(memory, distinct(LISTS[kind], size)), SIZES)
    assert told.is_linear, told


@pytest.mark.parametrize("kind", KINDS)
def test_an_excerpt_is_cut_in_linear_time(kind: str) -> None:
    wanted = terms("tea and Mara, who said that I moved")

    def ready(size: int) -> Callable[[], object]:
        text = KINDS[kind].text(size)
        return partial(excerpt, text, wanted, most_tokens=200)

    told = grown(kind, ready, SIZES)
    assert told.is_linear, told


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_spoken_and_recalled_is_told_in_linear_time(kind: str) -> None:
    def ready(size: int) -> Callable[[], object]:
        text = KINDS[kind].text(size)
        return lambda: (list(said_by_user(text)), without_recalled(text, {b"another"}))

    told = grown(kind, ready, SIZES)
    assert told.is_linear, told


@pytest.mark.parametrize("kind", ["different rules", "alike rules"])
def test_rules_are_found_in_linear_time(kind: str) -> None:
    told = grown(kind, lambda size: partial(rules_in, distinct(LISTS[kind], size)), SIZES)
    assert told.is_linear, told


def lived(memory: Memory, text: str) -> Callable[[], object]:
    """The life of one turn of a user of its own: stored, understood, told in a context."""
    user = f"user {next(_users)}"

    def run() -> None:
        memory.remember(f"I like tea. {text}", user=user)
        memory.drain()
        assert memory.context(_ASKED, user=user).text

    return run
