"""The cache gives the vectors of the embedder inside, and asks it once a text."""

from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import apsw
import numpy as np
import pytest
from numpy.typing import NDArray

from holdfast.bench.cache import CachedEmbedder
from holdfast.errors import NotAStore, StoreError
from holdfast.models.base import Embedder, embedded, known_dim
from holdfast.testing import HashEmbedder


class Counting(HashEmbedder):
    """Notes what it was asked for."""

    def __init__(self, dim: int = 64, model_id: str = "hash") -> None:
        super().__init__(dim, model_id)
        self.asked: list[str] = []

    def embed(self, texts: list[str]) -> NDArray[np.float32]:
        self.asked += texts
        return super().embed(texts)


def vectors_of(inner: Embedder, path: Path, texts: list[str]) -> NDArray[np.float32]:
    cached = CachedEmbedder(inner, path)
    try:
        return cached.embed(texts)
    finally:
        cached.close()


def test_the_second_run_asks_the_model_for_nothing(tmp_path: Path) -> None:
    path = tmp_path / "new" / "cache.db"
    texts = ["tea", "coffee", "tea", "\ud800", ""]
    first, second = Counting(), Counting()
    before = vectors_of(first, path, texts)
    after = vectors_of(second, path, texts)
    assert first.asked == ["tea", "coffee", "\ud800", ""]
    assert second.asked == []
    np.testing.assert_array_equal(before, after)
    np.testing.assert_array_equal(before, embedded(HashEmbedder(), texts))


def test_only_what_is_missing_is_made_and_the_order_kept(tmp_path: Path) -> None:
    inner = Counting()
    cached = CachedEmbedder(inner, tmp_path / "cache.db")
    cached.embed(["b"])
    found = cached.embed(["a", "b", "c"])
    assert inner.asked == ["b", "a", "c"]
    assert (cached.kept, cached.made) == (1, 3)
    np.testing.assert_array_equal(found, embedded(HashEmbedder(), ["a", "b", "c"]))
    cached.close()


def test_no_texts_give_no_rows(tmp_path: Path) -> None:
    assert vectors_of(HashEmbedder(dim=8), tmp_path / "cache.db", []).shape == (0, 8)


def test_models_do_not_share_vectors(tmp_path: Path) -> None:
    path = tmp_path / "cache.db"
    vectors_of(Counting(model_id="one"), path, ["tea"])
    other = Counting(model_id="two")
    vectors_of(other, path, ["tea"])
    assert other.asked == ["tea"]


def test_a_vector_of_another_length_is_made_again(tmp_path: Path) -> None:
    path = tmp_path / "cache.db"
    vectors_of(HashEmbedder(), path, ["tea"])
    with closing(apsw.Connection(str(path))) as connection:
        connection.execute("UPDATE vectors SET vector = x'00'")
    inner = Counting()
    vectors_of(inner, path, ["tea"])
    assert inner.asked == ["tea"]


def test_it_passes_for_the_embedder_inside(tmp_path: Path) -> None:
    cached = CachedEmbedder(HashEmbedder(dim=8), tmp_path / "cache.db")
    assert (cached.model_id, cached.dim, known_dim(cached)) == ("hash-8", 8, 8)
    cached.close()


def test_threads_may_share_it(tmp_path: Path) -> None:
    cached = CachedEmbedder(HashEmbedder(), tmp_path / "cache.db")
    texts = [[f"text {number % 7}", f"text {number}"] for number in range(40)]
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(cached.embed, texts))
    for asked, vectors in zip(texts, found, strict=True):
        np.testing.assert_array_equal(vectors, embedded(HashEmbedder(), asked))
    assert cached.kept + cached.made == 80
    cached.close()


def test_a_file_of_somebody_else_is_refused_and_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "other.db"
    with closing(apsw.Connection(str(path))) as connection:
        connection.execute("CREATE TABLE theirs (a)")
    before = path.read_bytes()
    with pytest.raises(NotAStore, match="no cache of embeddings"):
        CachedEmbedder(HashEmbedder(), path)
    assert path.read_bytes() == before


def test_a_file_that_is_no_database_is_named(tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("Not a database, and long enough to be read as one. " * 20)
    with pytest.raises(StoreError, match=r"notes\.txt cannot be used"):
        CachedEmbedder(HashEmbedder(), path)
