"""The shipped contract fails on a store that leaks, loses or disorders: a test that cannot fail is
no test."""

import pytest

from holdfast.store.sqlite import SqliteStore
from holdfast.testing import store_suite
from holdfast.testing.store_suite import StoreSuite
from tests.store.plants import PLANTS

SOURCE = """
import pytest
from holdfast.testing import store_suite
from tests.store.plants import {plant}

class TestPlanted(store_suite.{part}):
    @pytest.fixture
    def store(self, tmp_path):
        store = {plant}(tmp_path / "memory.db")
        yield store
        store.close()
"""


@pytest.mark.slow
@pytest.mark.parametrize("plant", PLANTS, ids=lambda plant: plant.__name__)
def test_a_planted_fault_is_noticed(plant: type[SqliteStore], pytester: pytest.Pytester) -> None:
    part = getattr(store_suite, PLANTS[plant])
    assert issubclass(StoreSuite, part)
    pytester.makepyfile(SOURCE.format(plant=plant.__name__, part=part.__name__))
    result = pytester.runpytest_inprocess("-q", "-x", "-p", "no:cacheprovider", "-p", "no:randomly")
    assert result.parseoutcomes().get("failed") == 1
    result.stdout.no_fnmatch_line("E *TypeError*")  # That is a plant that is broken itself.
