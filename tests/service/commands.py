"""Commands for tests: run here, or started as a process of their own."""

import json
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from holdfast import wiring
from holdfast.service.cli import main
from holdfast.testing import HashEmbedder

NO_ID = "0" * 32


@dataclass(frozen=True)
class Ended:
    """What a command left."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


Run = Callable[..., Ended]


@pytest.fixture
def run(
    tmp_path: Path,
    no_settings: None,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> Run:
    """Run a command in an empty folder, with an embedder that needs no time."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(wiring, "_local", lambda _: HashEmbedder())

    def run_one(*args: str) -> Ended:
        capsys.readouterr()
        code = main(list(args))
        return Ended(code, *capsys.readouterr())

    return run_one


@pytest.fixture
def shell(tmp_path: Path) -> Callable[..., "subprocess.Popen[bytes]"]:
    """Start a command as a process of its own, in an empty folder."""

    def start(*args: str, **options: Any) -> "subprocess.Popen[bytes]":
        command = [sys.executable, "-m", "holdfast", *args]
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "cwd": tmp_path}
        return subprocess.Popen(command, **{**pipes, **options})

    return start


def remembered(run: Run, text: str = "I drink tea.", *options: str, user: str = "ann") -> str:
    ended = run("remember", text, "--user", user, "--json", *options)
    assert ended.code == 0, ended.err
    return str(ended.json["events"][0])
