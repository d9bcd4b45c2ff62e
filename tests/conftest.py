"""What holds for every test."""

import logging
import os
import signal
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, settings

from tests.skip_gate import pytest_configure

__all__ = ["pytest_configure"]

# Loading spaCy takes every process more than a second: who tests it takes this away. Set here, at
# import, so that the workers of xdist and the processes that a test starts have it as well.
EXTRACTOR = "HOLDFAST_EXTRACTION_PROVIDER"
os.environ[EXTRACTOR] = "rules"

# How long an example takes says how busy the machine is: 200 ms are nothing beside another test.
settings.register_profile(
    "unhurried", deadline=None, suppress_health_check=[HealthCheck.too_slow], print_blob=True
)
settings.load_profile("unhurried")

# Started in the background of a shell, Ctrl-C is ignored, also by what the tests start and stop.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

pytest_plugins = ["pytester"]
# The shipped contract should explain its failures as our own tests do.
pytest.register_assert_rewrite("holdfast.testing.store_suite")


@pytest.fixture(autouse=True)
def _log_as_it_was() -> Iterator[None]:
    """What a command wrote its log to is closed when the test ends: nothing else writes there."""
    root, ours = logging.getLogger(), logging.getLogger("holdfast")
    handlers, levels = list(root.handlers), (root.level, ours.level)
    yield
    for each in [each for each in root.handlers if each not in handlers]:
        root.removeHandler(each)
    root.setLevel(levels[0])
    ours.setLevel(levels[1])


@pytest.fixture
def no_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of the environment of whoever runs the tests no setting is left, but what all tests have."""
    for name in [name for name in os.environ if name.startswith("HOLDFAST_")]:
        if name != EXTRACTOR:
            monkeypatch.delenv(name)
