"""Nearest vectors: exact where few, nearly exact where many, undisturbed by growth."""

import numpy as np
import pytest
from numpy.typing import NDArray

from holdfast.index.view import EXACT_UP_TO, Vectors, VectorView

Matrix = NDArray[np.float32]


def unit(rows: NDArray[np.float64]) -> Matrix:
    normed: NDArray[np.float64] = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    return normed.astype(np.float32)


def random_units(count: int, dim: int, seed: int = 1) -> Matrix:
    return unit(np.random.default_rng(seed).standard_normal((count, dim)))


def around(centres: NDArray[np.float64], count: int, spread: float, seed: int = 1) -> Matrix:
    """Unit vectors around common centres, as the embeddings of talk about few subjects are."""
    random = np.random.default_rng(seed)
    chosen = centres[random.integers(0, len(centres), count)]
    return unit(chosen + spread * random.standard_normal(chosen.shape))


def some_centres(count: int, dim: int) -> NDArray[np.float64]:
    return np.random.default_rng(0).standard_normal((count, dim))


def a_matrix(rows: Matrix, docs: NDArray[np.int32] | None = None, steps: int = 1) -> Vectors:
    vectors = Vectors(rows.shape[1])
    numbers = np.arange(len(rows), dtype=np.int32) if docs is None else docs
    for part in np.array_split(np.arange(len(rows)), steps):
        vectors.extend(numbers[part], rows[part].tobytes())
    return vectors


def best(view: VectorView, query: Matrix, count: int, wanted: object = None) -> list[int]:
    docs, cosines = view.cosines(query, wanted, depth=50)  # type: ignore[arg-type]
    order = np.lexsort((docs, -cosines))[:count]
    return [int(doc) for doc in docs[order]]


def brute_force(rows: Matrix, query: Matrix, count: int) -> list[int]:
    return [int(i) for i in np.argsort(-(rows @ query), kind="stable")[:count]]


def test_a_small_matrix_is_searched_exactly() -> None:
    rows = random_units(500, 48)
    view = a_matrix(rows, steps=7).view()
    for query in random_units(20, 48, seed=2):
        docs, cosines = view.cosines(query, None, depth=50)
        assert docs.tolist() == list(range(500))
        np.testing.assert_allclose(cosines, rows @ query, atol=1e-6)
        assert best(view, query, 10) == brute_force(rows, query, 10)


def test_only_wanted_documents_are_given() -> None:
    rows = random_units(100, 16)
    wanted = np.zeros(100, dtype=np.bool_)
    wanted[[3, 50, 99]] = True
    docs, cosines = a_matrix(rows).view().cosines(rows[7], wanted, depth=50)
    assert docs.tolist() == [3, 50, 99]
    np.testing.assert_allclose(cosines, rows[[3, 50, 99]] @ rows[7], atol=1e-6)


def test_every_passage_of_a_document_is_given() -> None:
    rows = random_units(6, 16)
    docs, _ = (
        a_matrix(rows, np.array([0, 0, 0, 1, 2, 2], dtype=np.int32))
        .view()
        .cosines(rows[0], None, depth=50)
    )
    assert docs.tolist() == [0, 0, 0, 1, 2, 2]


def test_a_filtered_search_of_a_large_matrix_finds_the_few_that_count() -> None:
    rows = random_units(EXACT_UP_TO + 5_000, 32)
    some = [5, EXACT_UP_TO, len(rows) - 1]
    wanted = np.zeros(len(rows), dtype=np.bool_)
    wanted[some] = True
    docs, cosines = a_matrix(rows).view().cosines(rows[5], wanted, depth=50)
    assert sorted(docs.tolist()) == some
    assert cosines.max() > 0.999


def test_a_filter_that_nothing_passes_finds_nothing() -> None:
    rows = random_units(EXACT_UP_TO + 1, 32)
    docs, _ = a_matrix(rows).view().cosines(rows[0], np.zeros(len(rows), dtype=np.bool_), depth=50)
    assert len(docs) == 0


@pytest.mark.slow
def test_prefiltering_a_large_matrix_finds_what_brute_force_finds() -> None:
    centres = some_centres(400, 384)
    rows = around(centres, 40_000, spread=1.0)
    view = a_matrix(rows, steps=3).view()
    # Questions lie further out than answers do: the best cosine is about 0.4.
    queries = around(centres, 100, spread=2.0, seed=2)
    found = 0
    for query in queries:
        docs, _ = view.cosines(query, None, depth=50)
        assert len(docs) < len(rows) / 10, "the filter let too much through to be one"
        found += len(set(best(view, query, 10)) & set(brute_force(rows, query, 10)))
    assert found / (10 * len(queries)) >= 0.99


def test_the_filter_gives_the_exact_cosine_of_what_it_lets_through() -> None:
    rows = around(some_centres(50, 64), EXACT_UP_TO + 1, spread=1.0)
    docs, cosines = a_matrix(rows).view().cosines(rows[9], None, depth=50)
    assert 0 < len(docs) < len(rows)
    np.testing.assert_allclose(cosines, rows[docs] @ rows[9], atol=1e-6)


def test_crossing_the_limit_by_one_changes_no_first_place() -> None:
    rows = around(some_centres(100, 64), EXACT_UP_TO + 1, spread=1.0)
    exact = a_matrix(rows[:-1]).view()
    filtered = a_matrix(rows, steps=2).view()
    for i in range(0, EXACT_UP_TO, 500):
        assert best(exact, rows[i], 1) == best(filtered, rows[i], 1) == [i]


def test_a_row_has_the_same_cosine_wherever_it_lies() -> None:
    rows = random_units(EXACT_UP_TO + 100, 100)
    exact = a_matrix(rows[:50], steps=3).view().cosines(rows[3], None, depth=50)
    filtered = a_matrix(rows[::-1].copy(), steps=7).view().cosines(rows[3], None, depth=50)
    few = dict(zip(exact[0].tolist(), exact[1].tolist(), strict=True))
    many = {
        len(rows) - 1 - doc: cosine
        for doc, cosine in zip(filtered[0].tolist(), filtered[1].tolist(), strict=True)
    }
    shared = few.keys() & many.keys()
    assert 3 in shared
    assert all(few[doc] == many[doc] for doc in shared)


def test_growth_does_not_disturb_a_view() -> None:
    rows = random_units(300, 24)
    vectors = a_matrix(rows[:100])
    early = vectors.view()
    before = early.cosines(rows[0], None, depth=50)
    for i in range(100, 300):
        vectors.extend(np.array([i], dtype=np.int32), rows[i].tobytes())
    after = early.cosines(rows[0], None, depth=50)
    assert before[0].tolist() == after[0].tolist() == list(range(100))
    assert before[1].tobytes() == after[1].tobytes()
    assert best(vectors.view(), rows[299], 1) == [299]


def test_growth_across_the_limit_does_not_disturb_a_view() -> None:
    rows = random_units(EXACT_UP_TO + 2_000, 24)
    vectors = a_matrix(rows[:EXACT_UP_TO])
    exact = vectors.view()
    vectors.extend(
        np.arange(EXACT_UP_TO, EXACT_UP_TO + 1_000, dtype=np.int32),
        rows[EXACT_UP_TO : EXACT_UP_TO + 1_000].tobytes(),
    )
    filtered = vectors.view()
    before = [view.cosines(rows[0], None, depth=50)[1].tobytes() for view in (exact, filtered)]
    vectors.extend(
        np.arange(EXACT_UP_TO + 1_000, len(rows), dtype=np.int32),
        rows[EXACT_UP_TO + 1_000 :].tobytes(),
    )
    after = [view.cosines(rows[0], None, depth=50)[1].tobytes() for view in (exact, filtered)]
    assert before == after
    assert len(exact.cosines(rows[0], None, depth=50)[0]) == EXACT_UP_TO


def test_a_dimension_that_fills_no_word_is_filtered_too() -> None:
    rows = around(some_centres(100, 70), EXACT_UP_TO + 1, spread=1.0)
    view = a_matrix(rows).view()
    for i in range(0, EXACT_UP_TO, 500):
        assert best(view, rows[i], 1) == [i]


def test_nothing_added_is_nothing_found() -> None:
    vectors = Vectors(8)
    vectors.extend(np.empty(0, dtype=np.int32), b"")
    docs, cosines = vectors.view().cosines(random_units(1, 8)[0], None, depth=50)
    assert (len(docs), len(cosines)) == (0, 0)


def test_the_size_grows_with_the_rows() -> None:
    vectors = a_matrix(random_units(1_000, 16))
    assert vectors.size_bytes >= 1_000 * (16 * 4 + 4)


def test_every_document_gets_the_cosine_of_its_best_passage() -> None:
    rows = random_units(6, 16)
    docs = np.array([0, 0, 2, 2, 2, 3], dtype=np.int32)
    best = a_matrix(rows, docs).view().by_document(rows[1], 5, also=lambda: np.arange(0))
    cosines = rows @ rows[1]
    expected = [cosines[:2].max(), 0, max(cosines[2:5].max(), 0), max(cosines[5], 0), 0]
    assert best == pytest.approx(expected, abs=1e-6)


def test_a_large_matrix_looks_at_what_is_near_and_at_what_was_asked_for() -> None:
    rows = random_units(EXACT_UP_TO + 1000, 64)
    view = a_matrix(rows).view()
    asked = np.array([7, 4321, 4999])
    best = view.by_document(rows[42], len(rows), also=lambda: asked)
    exact = np.maximum(rows @ rows[42], 0)
    assert best[42] == pytest.approx(1.0, abs=1e-5)
    assert best[asked] == pytest.approx(exact[asked], abs=1e-5)
    assert 0 < np.count_nonzero(best) < len(rows) / 2
