"""Near-duplicate removal: what is the same, what only looks like it, and who stays."""

import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

import holdfast
from holdfast.index.resident import IndexCache
from holdfast.index.view import packed
from holdfast.language.terms import terms
from holdfast.recall.candidates import Candidate, by_score
from holdfast.recall.stages.variety import distinct
from holdfast.testing import HashEmbedder
from holdfast.types import Scope

DAY_US = 86_400_000_000


@dataclass
class Turns:
    """Turns 0, 1, 2, ... in order of arrival, and which of them were read."""

    texts: list[str]
    names: NDArray[np.int32]
    at_us: NDArray[np.int64]
    was_read: list[int] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.roles = np.zeros(len(self.texts), dtype=np.int32)
        self.said = np.array([hash(packed(terms(text))[0]) for text in self.texts])
        self.order = np.arange(len(self.texts))

    def content(self, docs: Sequence[int]) -> dict[int, str]:
        self.was_read += docs
        return {doc: self.texts[doc] for doc in docs}


def turns(*texts: str, names: Sequence[int] = (), days: Sequence[int] = ()) -> Turns:
    size = len(texts)
    return Turns(
        list(texts),
        np.array(names or [-1] * size, dtype=np.int32),
        np.array(days or [0] * size, dtype=np.int64) * DAY_US,
    )


def candidates(*scores: float) -> list[Candidate]:
    return [Candidate(doc, score) for doc, score in enumerate(scores)]


def kept(said: Turns, **options: object) -> list[int]:
    """Those that stay of the turns, the first one being the best."""
    listed = candidates(*(1.0 - doc / 100 for doc in range(len(said.texts))))
    found = distinct(listed, said=said, content=said.content, **options)  # type: ignore[arg-type]
    return [each.doc for each in found]


@pytest.mark.parametrize(
    "other",
    [
        "I live in Rome.",
        "i live  in ROME",
        "I live in Rome!!",
        '"I live in Rome."',
        "And I live in Rome.",
        "I live in Róme",
    ],
)
def test_the_same_words_are_said_once(other: str) -> None:
    assert kept(turns("I live in Rome.", other)) == [0]


@pytest.mark.parametrize(
    "other",
    [
        "I do not live in Rome.",  # these two have the very terms of the first
        "I don't live in Rome.",
        "You live in Rome.",
        "I live in Rome?",
        "I live near Rome.",
        "I live in Paris.",
        "In Rome I live.",
        "I live in Rome 2.",
    ],
)
def test_what_only_looks_the_same_stays(other: str) -> None:
    assert kept(turns("I live in Rome.", other)) == [0, 1]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("The recital of my daughter is on 12 June.", "The recital of my daughter is on 13 June."),
        ("I paid $5 for it", "I paid €5 for it"),
        ("I write C++ code", "I write C# code"),
        ("It is 3.5 metres", "It is 35 metres"),
        ("Ann called Bob", "Bob called Ann"),
        ("मैं चाय पीता हूँ", "मैं चाय पीती हूँ"),
        ("Ich mag diesen Tee sehr gern", "Ich mag diesen Tee nicht gern"),
    ],
)
def test_a_small_difference_is_a_difference(one: str, other: str) -> None:
    assert kept(turns(one, other)) == [0, 1]


def test_two_people_may_say_the_same() -> None:
    assert kept(turns("I live in Rome.", "I live in Rome.", names=[1, 2])) == [0, 1]
    assert kept(turns(*["I live in Rome."] * 4, names=[1, 2, 1, 2])) == [0, 1]


def test_today_is_another_day_tomorrow() -> None:
    run = "I went for a run today."
    assert kept(turns(run, run, days=[3, 3])) == [0]
    assert kept(turns(run, run, days=[3, 4])) == [0, 1]
    assert kept(turns("My name is Ann.", "My name is Ann.", days=[3, 400])) == [0]


def test_other_words_are_not_even_read() -> None:
    said = turns("the zebra", "the zebra ran", "a lion ran", "they ran away", "away they ran")
    assert kept(said) == [0, 1, 2, 3, 4]
    assert said.was_read == []


def test_the_best_stays_and_tells_how_many_went() -> None:
    said = turns("red", "Red", "red!", "blue")
    listed = candidates(0.9, 0.8, 0.7, 0.6)
    found = distinct(listed, said=said, content=said.content)
    assert found == [listed[0].with_note("similar", {"also": 2}), listed[3]]


def test_at_the_same_score_the_newest_stays() -> None:
    said = turns("red", "Red", "RED")
    for shuffled in ((0, 1, 2), (2, 1, 0), (1, 2, 0)):
        listed = [Candidate(doc, 0.5) for doc in shuffled]
        (found,) = distinct(listed, said=said, content=said.content)
        assert found == Candidate(2, 0.5, {"similar": {"also": 2}})


def test_a_protected_copy_stays_too() -> None:
    assert kept(turns("red", "Red", "RED"), protected={2}) == [0, 2]
    assert kept(turns("red", "Red", "RED"), protected={0, 1, 2}) == [0, 1, 2]


def test_a_text_without_a_telling_word_is_compared_as_it_stands() -> None:
    assert kept(turns("...", "!!!", "...")) == [0, 1]


def test_a_text_that_is_gone_is_no_copy() -> None:
    said = turns("red", "red")
    listed = candidates(0.9, 0.8)
    assert distinct(listed, said=said, content=lambda docs: {0: "red"}) is listed


def test_the_same_list_comes_back_where_nothing_goes() -> None:
    said = turns("red", "blue")
    for listed in (candidates(0.9, 0.8), candidates(0.9), candidates()):
        assert distinct(listed, said=said, content=said.content) is listed


def test_the_columns_of_a_real_index_will_do(tmp_path: Path) -> None:
    with holdfast.open(tmp_path / "m.db", worker=False, embedder=HashEmbedder(32)) as memory:
        texts = ["I live in Rome.", "I live in Rome", "I don't live in Rome."]
        memory.remember([{"content": text} for text in texts], user="ann")
        view = IndexCache(memory.store, most_bytes=1 << 30).view(Scope("default", "ann"), None)
        content = dict(enumerate(texts))
        found = distinct(candidates(0.9, 0.8, 0.7), said=view, content=lambda docs: content)
    assert [each.doc for each in found] == [0, 2]


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["red", "Red.", "the red", "not red", "blue", "a day"]),
            st.integers(0, 1),
            st.integers(0, 1),
            st.sampled_from([0.2, 0.4, 0.6]),
        ),
        max_size=10,
    ),
    st.sets(st.integers(0, 9)),
    st.randoms(),
)
def test_one_of_each_stays_in_whatever_order_they_come(
    rows: list[tuple[str, int, int, float]], protected: set[int], chance: random.Random
) -> None:
    texts, names, days, scores = zip(*rows, strict=True) if rows else ((), (), (), ())
    said = turns(*texts, names=names, days=days)
    listed = by_score(candidates(*scores))
    found = distinct(listed, said=said, content=said.content, protected=protected)
    docs = [each.doc for each in found]
    assert docs == [each.doc for each in listed if each.doc in docs]
    assert protected & set(range(len(rows))) <= set(docs)
    gone = sum(each.notes["similar"]["also"] for each in found if "similar" in each.notes)
    assert len(docs) + gone == len(rows)
    # Said again to what it gave, it finds nothing more to do but what is protected.
    again = distinct(found, said=said, content=said.content, protected=protected)
    assert [each.doc for each in again] == docs
    shuffled = list(listed)
    chance.shuffle(shuffled)
    other = distinct(shuffled, said=said, content=said.content, protected=protected)
    assert {each.doc for each in other} == set(docs)
