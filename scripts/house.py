"""How large the house is and how far one walks in it: files, lines, names, what is said twice.

    python scripts/house.py [--files]

`--files` names what was counted. "Files passed" are those whose functions run during one call, on
whatever thread: an import passes nothing.
"""

from __future__ import annotations

import argparse
import ast
import re
import sys
import tempfile
import threading
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

from fastapi.testclient import TestClient

import holdfast
from holdfast.service.http.app import create_app
from holdfast.service.keys import create_key
from holdfast.store.protocols import Store

SRC = Path(holdfast.__file__).parent
#: What issue and guide ask for; 0 is no limit.
MOST = {
    "files": 260,
    "lines": 60_000,
    "files passed: recall": 35,
    "files passed: understanding one sentence": 40,
    "files passed: POST /v1/recall inside the service": 9,
    "methods of the store contract": 70,
    "class names with two meanings": 5,
    "places that list months": 1,
    "places that list kin": 1,
    "places that say where sentences end": 1,
}
SENTENCE = "My sister Mara moved to Lisbon in May and works at Acme."
_MONTHS = ("january", "february", "october", "november")
_KIN = ("mother", "brother", "sister", "husband", "daughter")
#: A class of characters with a full stop and a question mark in it, as patterns have it.
_SENTENCE_END = re.compile(r"\[[^\]]*\.[^\]]*!?[^\]]*\?[^\]]*\]|\[[^\]]*\?[^\]]*\.[^\]]*\]")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--files", action="store_true", help="name what was counted")
    options = parser.parse_args()
    found = measured()
    print(f"{'':<50} {'is':>7} {'most':>7}")
    for name, things in found.items():
        count = things if isinstance(things, int) else len(things)
        print(f"{name:<50} {count:>7,} {MOST[name]:>7,}")
        if options.files and not isinstance(things, int):
            for each in sorted(things):
                print(f"    {each}")
    return 0


def measured() -> dict[str, int | set[str]]:
    """Every row of the table: a number, or the things that are counted."""
    files = sorted(SRC.rglob("*.py"))
    texts = {str(file.relative_to(SRC)): file.read_text("utf-8") for file in files}
    trees = {name: ast.parse(text) for name, text in texts.items()}
    recalled, understood, served = walked()
    return {
        "files": len(files),
        "lines": sum(text.count("\n") for text in texts.values()),
        "files passed: recall": recalled,
        "files passed: understanding one sentence": understood,
        "files passed: POST /v1/recall inside the service": served,
        "methods of the store contract": {
            name
            for name in dir(Store)
            if not name.startswith("_") and callable(getattr(Store, name))
        },
        "class names with two meanings": _twice(trees),
        "places that list months": _naming(trees, _all_of(_MONTHS)),
        "places that list kin": _naming(trees, _all_of(_KIN)),
        "places that say where sentences end": {
            name for name, tree in trees.items() if any(map(_SENTENCE_END.search, _strings(tree)))
        },
    }


def walked() -> tuple[set[str], set[str], set[str]]:
    """The files passed by a recall, by understanding a sentence, and by a recall over HTTP (of the
    service alone)."""
    walk = Walk()
    # Without a limit turns are read in this process, where we can look.
    config: dict[str, Any] = {
        "jobs": {"readSeconds": 0},
        "extraction": {"provider": "rules", "quietSeconds": 0},
    }
    with (
        tempfile.TemporaryDirectory() as folder,
        holdfast.open(Path(folder, "m.db"), worker=False, config=config) as memory,
    ):
        memory.remember("I like tea.", user="ann")
        memory.drain()
        memory.recall("tea", user="ann")
        memory.remember(SENTENCE, user="ann")
        with walk.passed() as understood:
            memory.drain()
        with walk.passed() as recalled:
            memory.recall("Where does Mara live?", user="ann")
        headers = {"authorization": f"Bearer {create_key(memory.store)[1]}"}
        asked = {"query": "Where does Mara live?", "user_id": "ann"}
        with TestClient(create_app(memory), "http://localhost:3050", headers=headers) as client:
            client.post("/v1/recall", json=asked).raise_for_status()
            with walk.passed() as served:
                client.post("/v1/recall", json=asked).raise_for_status()
    walk.end()
    return recalled, understood, {each for each in served if each.startswith("service")}


class Walk:
    """Which files of the package have functions that run, on every thread begun from here on."""

    def __init__(self) -> None:
        self._found: set[str] | None = None
        threading.setprofile(self._note)
        sys.setprofile(self._note)

    @contextmanager
    def passed(self) -> Iterator[set[str]]:
        """Those that are passed meanwhile."""
        found: set[str] = set()
        self._found = found
        try:
            yield found
        finally:
            self._found = None

    def end(self) -> None:
        """Look no longer."""
        sys.setprofile(None)
        threading.setprofile(None)

    def _note(self, frame: FrameType, event: str, _: object) -> None:
        if self._found is None or event != "call" or frame.f_code.co_name == "<module>":
            return
        file = Path(frame.f_code.co_filename)
        if file.is_relative_to(SRC):
            self._found.add(str(file.relative_to(SRC)))


def _twice(trees: dict[str, ast.Module]) -> set[str]:
    where: defaultdict[str, list[str]] = defaultdict(list)
    for name, tree in trees.items():
        for node in tree.body:
            if isinstance(node, ast.ClassDef):
                where[node.name.lstrip("_")].append(name)
    return {f"{name}: {', '.join(files)}" for name, files in where.items() if len(files) > 1}


def _all_of(words: tuple[str, ...]) -> Callable[[str], bool]:
    return lambda text: all(re.search(rf"\b{word}\b", text) for word in words)


def _naming(trees: dict[str, ast.Module], says: Callable[[str], bool]) -> set[str]:
    return {name for name, tree in trees.items() if says(" ".join(_strings(tree)).lower())}


def _strings(tree: ast.Module) -> Iterator[str]:
    """The texts of a module that are no docstrings."""
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    notes = {
        id(node.body[0].value)
        for node in ast.walk(tree)
        if isinstance(node, documented) and node.body and isinstance(node.body[0], ast.Expr)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in notes:
            yield node.value


if __name__ == "__main__":
    sys.exit(main())
