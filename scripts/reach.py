"""Run the fast tests that a change can reach, the nearest first, for as long as there is time.

    python scripts/reach.py [--since REV] [--seconds 80] [--list]

The change is what is not committed; in a clean tree the last commit, or all since REV. A test file
is reached when it imports a changed module, itself or through others: the fewer imports between
them, the earlier it runs. Of a file that is no module (a table, a page, a schema), those are
changed that name it. What there was no time for is said: `make test` runs everything.
"""

from __future__ import annotations

import argparse
import ast
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[1]
#: Where modules lie, and what they are called there.
_ROOMS = {"src/holdfast": "holdfast", "tests": "tests", "scripts": "scripts"}
#: Tests of the whole that are not run here at all.
_APART = ("tests/acceptance/", "tests/crash/", "tests/foreign/", "tests/window/")
_SECONDS = 80.0
#: More are not even read in that time.
_MOST_FILES = 60


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--since", metavar="REV", help="all that changed since then")
    parser.add_argument("--seconds", type=float, default=_SECONDS, help="default: %(default)g")
    parser.add_argument("--list", action="store_true", help="name the test files, run none")
    options = parser.parse_args(arguments)
    changed, told = changes(options.since)
    tests = reached(changed)
    print(f"{told}: {len(changed)} files; {len(tests)} test files can notice", flush=True)
    if options.list or not tests:
        print(*tests, sep="\n")
        return 0
    if len(tests) > _MOST_FILES:
        print(f"the nearest {_MOST_FILES} of them run here, the others in `make test`", flush=True)
    return run(tests[:_MOST_FILES], options.seconds)


def changes(since: str | None) -> tuple[list[str], str]:
    """The files that changed, and in words which change is meant."""
    if since:
        return _git("diff", "--name-only", since), f"changed since {since}"
    unsaved = _git("diff", "--name-only", "HEAD")
    unsaved += _git("ls-files", "--others", "--exclude-standard")
    if unsaved:
        return unsaved, "not committed"
    return _git("diff", "--name-only", "HEAD~1"), "the last commit"


def _git(*words: str) -> list[str]:
    command = ["git", "-C", str(ROOT), *words]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()


def reached(changed: Iterable[str]) -> list[str]:
    """The test files that import something of it, the nearest first: those that changed, then by
    imports between, those of the same room before others."""
    modules = dict(_modules())
    importers = _importers(modules)
    near = {name for file in changed for name in _named_by(file, modules)}
    rooms = {name.split(".")[1] for name in near if "." in name}
    distance = dict.fromkeys(near, 0)
    while near:
        near = {each for name in near for each in importers[name]} - distance.keys()
        distance |= dict.fromkeys(near, max(distance.values()) + 1)
    tests = [name for name in distance if _is_test(modules[name])]
    tests.sort(key=lambda name: (distance[name], name.split(".")[1] not in rooms, name))
    return [modules[name] for name in tests]


def _is_test(file: str) -> bool:
    return Path(file).name.startswith("test_") and not file.startswith(_APART)


def _modules() -> Iterator[tuple[str, str]]:
    """Every module with its file."""
    for room, package in _ROOMS.items():
        for path in sorted((ROOT / room).rglob("*.py")):
            parts = path.relative_to(ROOT / room).with_suffix("").parts
            name = ".".join([package, *parts]).removesuffix(".__init__")
            yield name, str(path.relative_to(ROOT))


def _importers(modules: Mapping[str, str]) -> Mapping[str, set[str]]:
    """Who imports a module, by its name."""
    found: dict[str, set[str]] = defaultdict(set)
    for name, file in modules.items():
        for imported in _imports(file):
            # `from a.b import c`: c is a module, or something in a.b.
            owner = imported if imported in modules else imported.rpartition(".")[0]
            if owner in modules and owner != name:
                found[owner].add(name)
    return found


@cache
def _imports(file: str) -> Sequence[str]:
    names: list[str] = []
    for node in ast.walk(ast.parse(_text(file))):
        if isinstance(node, ast.Import):
            names += [each.name for each in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            names += [f"{node.module}.{each.name}" for each in node.names]
    return names


def _named_by(file: str, modules: Mapping[str, str]) -> set[str]:
    """The modules of a changed file: itself, or those that name it; once gone, its package."""
    own = {name for name, path in modules.items() if path == file}
    if own:
        return own
    called = Path(file).name
    if not file.endswith(".py"):
        prose = {"tests.test_docs"} if file.endswith(".md") else set()
        return prose | {name for name, path in modules.items() if called in _text(path)}
    folder = str(Path(file).parent)
    return {name for name, path in modules.items() if str(Path(path).parent) == folder}


@cache
def _text(file: str) -> str:
    return (ROOT / file).read_text("utf-8")


def run(tests: Sequence[str], seconds: float) -> int:
    """Run them until the time is over; what failed until then counts."""
    watch = _Watch(time.monotonic() + seconds)
    arguments = [*tests, "-m", "not slow", "-q", "--no-header", "-n2", "--dist=load", "-r", "fE"]
    status = int(pytest.main([*arguments, "--maxschedchunk=8"], plugins=[watch]))
    if not watch.over:
        return status
    print(f"{seconds:g} seconds are over: {watch.done} tests ran, the others are for `make test`")
    return 1 if watch.failed else 0


class _Watch:
    """Counts tests, and stops when the time is over."""

    def __init__(self, deadline: float) -> None:
        self.deadline = deadline
        self.done = self.failed = 0
        self.over = False
        self._workers: Any = None

    def pytest_sessionstart(self, session: pytest.Session) -> None:
        self._workers = session.config.pluginmanager.getplugin("dsession")

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self.done += report.when == "call"
        self.failed += report.failed
        if time.monotonic() > self.deadline and not self.over:
            self.over = True
            self._workers.shouldstop = "the time is over"


if __name__ == "__main__":
    sys.exit(main())
