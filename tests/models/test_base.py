"""What an embedder gives is checked before it is used."""

import numpy as np
import pytest
from numpy.typing import NDArray

from holdfast.errors import ModelError
from holdfast.models.base import Embedder, check_vectors
from holdfast.models.local import LocalEmbedder
from holdfast.models.remote import RemoteEmbedder


def vectors(*rows: list[float]) -> NDArray[np.float64]:
    return np.array(rows, dtype=np.float64)


def test_rows_come_back_as_contiguous_unit_float32() -> None:
    wide = np.asfortranarray(vectors([3, 4], [0, -2]))
    unit = check_vectors(wide, count=2, dim=2)
    assert unit.dtype == np.float32
    assert unit.flags.c_contiguous
    np.testing.assert_allclose(unit, [[0.6, 0.8], [0.0, -1.0]], rtol=1e-6)


@pytest.mark.parametrize("scale", [1e-300, 1e-30, 1e30, 1e300])
def test_very_small_and_very_large_rows_still_have_unit_length(scale: float) -> None:
    unit = check_vectors(vectors([3 * scale, 4 * scale]), count=1, dim=2)
    np.testing.assert_allclose(unit, [[0.6, 0.8]], rtol=1e-6)


def test_no_rows_are_fine() -> None:
    assert check_vectors(np.empty((0, 5)), count=0, dim=5).shape == (0, 5)


@pytest.mark.parametrize("shape", [(2, 4), (3, 3), (2, 3, 1), (6,)])
def test_a_wrong_shape_is_named(shape: tuple[int, ...]) -> None:
    with pytest.raises(ModelError, match=r"not \(2, 3\)"):
        check_vectors(np.ones(shape), count=2, dim=3)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_a_value_that_is_not_finite_is_named_by_its_row(value: float) -> None:
    with pytest.raises(ModelError, match="vector 1 holds a value that is not finite"):
        check_vectors(vectors([1, 2], [3, value]), count=2, dim=2)


def test_a_zero_vector_is_named_by_its_row() -> None:
    with pytest.raises(ModelError, match="vector 0 is all zeros"):
        check_vectors(vectors([0, 0], [1, 0]), count=2, dim=2)


def test_values_that_are_no_numbers_are_refused() -> None:
    with pytest.raises(ModelError, match="not numbers"):
        check_vectors(np.array([["a", "b"]]), count=1, dim=2)


def test_both_embedders_keep_the_protocol() -> None:
    embedders: list[Embedder] = [LocalEmbedder(), RemoteEmbedder("http://localhost", "m", dim=3)]
    assert [embedder.dim for embedder in embedders] == [384, 3]
