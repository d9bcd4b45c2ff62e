"""Keyword scores: the formula by hand, and whose documents count."""

import math
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

import holdfast
from holdfast.index.resident import IndexCache, View
from holdfast.language.terms import terms
from holdfast.memory.memory import Memory
from holdfast.recall.sources.keywords import bm25, postings
from holdfast.testing import HashEmbedder
from holdfast.types import Scope


def open_memory(path: Path) -> Memory:
    return holdfast.open(path, embedder=HashEmbedder(16), worker=False)


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    with open_memory(tmp_path / "m.db") as opened:
        yield opened


def view_of(memory: Memory, user: str = "ann") -> View:
    space = memory.worker.space
    return IndexCache(memory.store, most_bytes=1 << 30).view(Scope("default", user), space)


def a_batch(*texts: str) -> list[dict[str, str]]:
    return [{"content": text} for text in texts]


def listed(holders: dict[str, NDArray[np.int32]]) -> dict[str, list[int]]:
    return {term: docs.tolist() for term, docs in holders.items()}


def expected(tf: int, length: int, df: int, total: int, average: float) -> float:
    idf = math.log(1 + (total - df + 0.5) / (df + 0.5))
    return idf * tf * 2.2 / (tf + 1.2 * (0.25 + 0.75 * length / average))


def test_the_score_is_the_formula(memory: Memory) -> None:
    memory.remember(a_batch("cat", "cat cat dog", "dog bird bird bird bird"), user="ann")
    scores, holders = bm25(view_of(memory), ("cat", "bird", "zebra"), None)
    assert listed(holders) == {"cat": [0, 1], "bird": [2], "zebra": []}
    assert scores.tolist() == pytest.approx(
        [expected(1, 1, 2, 3, 3.0), expected(2, 3, 2, 3, 3.0), expected(4, 5, 1, 3, 3.0)],
        rel=1e-6,
    )


def test_terms_add_up(memory: Memory) -> None:
    memory.remember(a_batch("cat dog", "cat", "dog"), user="ann")
    view = view_of(memory)
    both = bm25(view, ("cat", "dog"), None)[0]
    apart = bm25(view, ("cat",), None)[0] + bm25(view, ("dog",), None)[0]
    np.testing.assert_allclose(both, apart, rtol=1e-6)


def test_a_term_that_all_hold_still_counts_a_little(memory: Memory) -> None:
    memory.remember(a_batch("cat", "cat", "cat"), user="ann")
    scores, _ = bm25(view_of(memory), ("cat",), None)
    assert (scores > 0).all()


def test_a_name_is_searchable_with_what_was_said(memory: Memory) -> None:
    memory.remember({"content": "a cat", "name": "Theodora"}, user="ann")
    scores, _ = bm25(view_of(memory), tuple(terms("Theodora")), None)
    assert scores[0] > 0


def test_an_empty_index_scores_nothing(memory: Memory) -> None:
    scores, holders = bm25(view_of(memory), ("cat",), None)
    assert (len(scores), listed(holders)) == (0, {"cat": []})


def test_documents_out_of_sight_do_not_count(memory: Memory) -> None:
    memory.remember(a_batch("cat", "cat dog", "cat dog bird"), user="ann")
    view = view_of(memory)
    visible = np.array([True, True, False])
    scores, holders = bm25(view, ("cat", "dog"), visible)
    assert listed(holders) == {"cat": [0, 1], "dog": [1]}
    assert scores[2] == 0
    wanted = expected(1, 2, 2, 2, 1.5) + expected(1, 2, 1, 2, 1.5)
    assert scores[1] == pytest.approx(wanted, rel=1e-6)


def test_postings_span_all_segments(memory: Memory) -> None:
    shelf = IndexCache(memory.store, most_bytes=1 << 30)
    space = memory.worker.space
    memory.remember(a_batch(*["cat"] * 40), user="ann")
    shelf.view(Scope("default", "ann"), space)
    memory.remember("cat cat", user="ann")
    view = shelf.view(Scope("default", "ann"), space)
    assert len(view.segments) == 2
    docs, counts = postings(view, ["cat"], None).of(0)
    assert docs.tolist() == list(range(41))
    assert counts.tolist() == [1] * 40 + [2]


def test_another_users_data_never_changes_a_score(tmp_path: Path) -> None:
    alone, crowded = open_memory(tmp_path / "a.db"), open_memory(tmp_path / "b.db")
    texts = ["the cat sleeps", "a dog and a cat", "bird song at dawn", "nothing else"]
    with alone, crowded:
        crowded.remember(a_batch(*["cat cat dog " * 20] * 50), user="bob")
        for memory in (alone, crowded):
            memory.remember(a_batch(*texts), user="ann")
        crowded.remember(a_batch(*["bird"] * 50), user="ann", workspace="other")
        for word in ("cat", "dog", "bird"):
            one, other = (bm25(view_of(each), (word,), None)[0] for each in (alone, crowded))
            assert one.tobytes() == other.tobytes()


def test_forgotten_documents_do_not_count(tmp_path: Path) -> None:
    never, once = open_memory(tmp_path / "a.db"), open_memory(tmp_path / "b.db")
    with never, once:
        for memory in (never, once):
            memory.remember(a_batch("cat", "cat dog", "bird song at dawn"), user="ann")
        for event in once.remember(a_batch(*["cat cat bird"] * 9), user="ann").events:
            once.forget(event, user="ann")
        plain = bm25(view_of(never), ("cat", "bird"), None)
        view = view_of(once)
        hidden = bm25(view, ("cat", "bird"), view.alive)
        assert listed(hidden[1]) == listed(plain[1])
        assert hidden[0][:3].tobytes() == plain[0].tobytes()
        assert not hidden[0][3:].any()
        recalled = [
            [(hit.content, hit.score, hit.why) for hit in memory.recall("cat bird", user="ann")]
            for memory in (never, once)
        ]
        assert recalled[0] == recalled[1]
        once.store.wipe(forgotten_before=datetime.now(UTC) + timedelta(days=1))
        assert bm25(view_of(once), ("cat", "bird"), None)[0].tobytes() == plain[0].tobytes()
