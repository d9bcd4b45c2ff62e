"""A part that breaks in a way nobody foresaw takes nothing else with it."""

from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient

import holdfast
from holdfast.memory.memory import Memory
from holdfast.service.http.app import create_app
from holdfast.service.keys import create_key
from holdfast.service.mcp import mount
from holdfast.testing import HashEmbedder
from tests.service.proxy.serving import Service
from tests.service.proxy.test_passing import call


def test_mcp_that_cannot_be_loaded_is_a_503_and_no_wait(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(_: Any) -> Any:
        raise ImportError

    monkeypatch.setattr(mount._LazyMcpApp, "_loaded", broken)
    with holdfast.open(tmp_path / "m.db", embedder=HashEmbedder(), worker=False) as memory:
        headers = {"authorization": f"Bearer {create_key(memory.store, user='ann')[1]}"}
        with TestClient(create_app(memory), "http://localhost:3050", headers=headers) as client:
            for _ in range(2):
                assert client.post("/mcp", json={}).status_code == 503
            assert client.get("/v1/whoami").status_code == 200


def test_the_proxy_goes_on_whatever_breaks_in_the_memory(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: Any, **__: Any) -> Any:
        raise RuntimeError("a defect of ours")

    monkeypatch.setattr(Memory, "context", broken)
    status, headers, _ = call(service)
    assert status == 200
    assert headers["x-holdfast-memory"] == "unavailable"
