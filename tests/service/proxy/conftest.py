"""A scripted model, and Holdfast before it."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from holdfast.service.proxy import routes
from tests.service.proxy import upstream
from tests.service.proxy.serving import Service, serving


@pytest.fixture(autouse=True)
def _patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a busy machine the memory may take longer than a user would wait."""
    monkeypatch.setattr(routes, "_PATIENCE_S", 60.0)


@pytest.fixture(scope="module")
def lasting_model() -> Iterator[upstream.Running]:
    with upstream.running() as model:
        yield model


@pytest.fixture
def model(lasting_model: upstream.Running) -> upstream.Running:
    lasting_model.reset()
    return lasting_model


@pytest.fixture
def service(tmp_path: Path, model: upstream.Running) -> Iterator[Service]:
    with serving(tmp_path / "m.db", model.url) as service:
        yield service
