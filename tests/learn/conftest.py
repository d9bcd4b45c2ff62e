"""A language model for the tests of this folder: a process that does as it is told."""

import subprocess
import sys
from collections.abc import Iterator

import pytest

from tests.learn.chatting import SERVER, Model


@pytest.fixture(scope="module")
def process() -> Iterator[Model]:
    command = [sys.executable, str(SERVER)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as run:
        assert run.stdout is not None
        yield Model(f"http://127.0.0.1:{run.stdout.readline().strip()}")
        run.terminate()


@pytest.fixture
def model(process: Model, monkeypatch: pytest.MonkeyPatch) -> Model:
    monkeypatch.delenv("HOLDFAST_EXTRACTION_PROVIDER")  # That all other tests have.
    process.is_("good")
    return process
