"""What holds for every test."""

import pytest

from tests.skip_gate import pytest_configure

__all__ = ["pytest_configure"]

pytest_plugins = ["pytester"]
# The shipped contract should explain its failures as our own tests do.
pytest.register_assert_rewrite("recollect.testing.store_suite")
