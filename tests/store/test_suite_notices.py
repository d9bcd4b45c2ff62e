"""The shipped contract fails on a store that leaks, loses or disorders: a test that cannot fail is
no test."""

import pytest

from tests.store.plants import PLANTS

SOURCE = """
import pytest
from recollect.testing.store_suite import StoreSuite
from tests.store.plants import {plant}

class TestPlanted(StoreSuite):
    @pytest.fixture
    def store(self, tmp_path):
        store = {plant}(tmp_path / "memory.db")
        yield store
        store.close()
"""


@pytest.mark.slow
@pytest.mark.parametrize("plant", [plant.__name__ for plant in PLANTS])
def test_a_planted_fault_is_noticed(plant: str, pytester: pytest.Pytester) -> None:
    pytester.makepyfile(SOURCE.format(plant=plant))
    result = pytester.runpytest_inprocess("-q", "-x", "-p", "no:cacheprovider", "-p", "no:randomly")
    assert result.parseoutcomes().get("failed") == 1
