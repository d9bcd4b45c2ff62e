"""SIGTERM while a language model is silent: it ends soon, and the turn is handed back untried."""

import json
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import holdfast
from holdfast.testing import HashEmbedder
from tests.acceptance.hanging import environment, serving

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

SECONDS = 5.0


class Silent:
    """An endpoint that takes what it is sent and never answers."""

    def __init__(self) -> None:
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._taken: list[socket.socket] = []
        self.asked = threading.Event()
        threading.Thread(target=self._accept, daemon=True).start()

    @property
    def settings(self) -> dict[str, Any]:
        url = f"http://127.0.0.1:{self._listener.getsockname()[1]}/v1"
        llm = {"url": url, "model": "silent", "timeoutSeconds": 60}
        return {"extraction": {"provider": "llm", "llm": llm, "quietSeconds": 0.1}}

    def _accept(self) -> None:
        while True:
            try:
                self._taken.append(self._listener.accept()[0])
            except OSError:
                return
            self.asked.set()

    def close(self) -> None:
        self._listener.close()
        for each in self._taken:
            each.close()


@contextmanager
def silent() -> Iterator[Silent]:
    made = Silent()
    try:
        yield made
    finally:
        made.close()


def left(db: Path) -> list[tuple[str, str, int]]:
    with holdfast.open(db, embedder=HashEmbedder(), worker=False) as memory:
        return [
            (job.step, job.state, job.attempts)
            for job in memory.store.jobs()
            if job.step == "extract"
        ]


def test_a_service_ends_soon_while_a_model_is_asked(tmp_path: Path) -> None:
    with silent() as model, serving(tmp_path / "m.db", model.settings) as service:
        service.say("ann", "I moved to Lisbon.")
        assert model.asked.wait(60)
        assert service.end() < SECONDS
    assert left(tmp_path / "m.db") == [("extract", "ready", 0)]


def test_a_worker_ends_soon_while_a_model_is_asked(tmp_path: Path) -> None:
    db, config = tmp_path / "m.db", tmp_path / "config.json"
    with holdfast.open(db, embedder=HashEmbedder(), worker=False) as memory:
        memory.remember("I moved to Lisbon.", user="ann")
    with silent() as model:
        config.write_text(json.dumps(model.settings))
        process = subprocess.Popen(
            [sys.executable, "-m", "holdfast", "worker",
             "--db", str(db), "--config", str(config)],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=environment(),
        )  # fmt: skip
        try:
            assert model.asked.wait(100)
            began = time.monotonic()
            process.send_signal(signal.SIGTERM)
            assert process.wait(60) == 0
            assert time.monotonic() - began < SECONDS
        finally:
            process.kill()
            process.wait()
    assert left(db) == [("extract", "ready", 0)]
