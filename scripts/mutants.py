"""Plant faults in what keeps our promises, one at a time, and count how many a test notices.

`mutants.toml` lists them: the words of a page that promise something, the text that keeps it, the
text that breaks it, and the tests that must fail then. Each fault is planted in a copy of the tree,
never here. A text that is not found exactly once is an error, so the table cannot rot.

`--docs` writes docs/reference/promises.md, the same table for readers.
"""

from __future__ import annotations

import argparse
import ast
import os
import queue
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
TABLE = Path(__file__).with_suffix(".toml")
PAGE = ROOT / "docs" / "reference" / "promises.md"
#: What a test may need.
COPIED = ("src", "tests", "scripts", "docs", "pyproject.toml", "CHANGELOG.md", "README.md")
LEAST_SHARE = 0.97
#: A fault that makes its tests wait for ever is noticed by that.
LONGEST_SECONDS = 240
_TESTS_FAILED = 1


@dataclass(frozen=True)
class Planted:
    """One fault."""

    name: str
    #: The page, and its words that promise what the fault breaks.
    page: str
    words: str
    #: Below src/holdfast.
    file: str
    old: str
    new: str
    tests: tuple[str, ...]

    @property
    def path(self) -> str:
        return f"src/holdfast/{self.file}"

    def planted(self, source: str) -> str:
        """The source with the fault; ValueError unless its text is there once."""
        if (count := source.count(self.old)) != 1:
            raise ValueError(f"{self.name}: its text is {count} times in {self.file}, not once")
        return source.replace(self.old, self.new)

    def place(self) -> str:
        """The function that keeps the promise."""
        source = (ROOT / self.path).read_text(encoding="utf-8")
        line = source[: source.index(self.old.strip())].count("\n") + 1
        return ".".join(_around(ast.parse(source), line)) or "(the module)"


def _around(tree: ast.AST, line: int) -> list[str]:
    """The names of the classes and functions that a line stands in, the outermost first."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            first = min([node.lineno, *(each.lineno for each in node.decorator_list)])
            if first <= line <= (node.end_lineno or first):
                return [node.name, *_around(node, line)]
    return []


def table() -> list[Planted]:
    """Every fault, in the order of the file."""
    read = tomllib.loads(TABLE.read_text(encoding="utf-8"))
    return [Planted(**{**each, "tests": tuple(each["tests"])}) for each in read["fault"]]


def copied(folder: Path) -> Path:
    """A copy of the tree, compiled: processes start in half the time."""
    for name in COPIED:
        if (ROOT / name).is_dir():
            ignored = shutil.ignore_patterns("__pycache__")
            shutil.copytree(ROOT / name, folder / name, symlinks=True, ignore=ignored)
        else:
            shutil.copy(ROOT / name, folder / name)
    command = [sys.executable, "-m", "compileall", "-q", "src", "tests", "scripts"]
    subprocess.run(command, cwd=folder, check=True)
    return folder


def pytest_in(
    folder: Path, tests: Iterable[str], *, seconds: float = LONGEST_SECONDS
) -> tuple[int, str]:
    """Exit status and output of tests in a copy; the status of failed tests when they hang."""
    command = [sys.executable, "-m", "pytest", "-qq", "-x", "--tb=line", "--color=no"]
    environment = {
        **os.environ,
        "PYTHONPATH": str(folder / "src"),
        # What is compiled in the second in which a fault is planted would hide the next one.
        "PYTHONDONTWRITEBYTECODE": "1",
        # No plugin that no test here needs: it starts in half the time.
        "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
    }
    try:
        ended = subprocess.run(
            [*command, "-p", "no:cacheprovider", "-p", "pytest_timeout", *tests],
            cwd=folder, env=environment, capture_output=True, text=True, check=False,
            timeout=seconds,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return _TESTS_FAILED, "it hung"
    return ended.returncode, ended.stdout + ended.stderr


def tried(planted: Planted, folder: Path) -> tuple[str, str]:
    """What became of a fault: noticed, missed or an error; and what the tests said."""
    path = folder / planted.path
    source = path.read_text(encoding="utf-8")
    for compiled in (path.parent / "__pycache__").glob(f"{path.stem}.*.pyc"):
        compiled.unlink()
    path.write_text(planted.planted(source), encoding="utf-8")
    try:
        status, said = pytest_in(folder, planted.tests)
    finally:
        path.write_text(source, encoding="utf-8")
    return {0: "missed", _TESTS_FAILED: "noticed"}.get(status, "error"), said


class Copies:
    """Copies of the tree, lent to one thread at a time."""

    def __init__(self, place: Path, count: int) -> None:
        place.chmod(0o755)  # Some tests read it as another user.
        self._idle: queue.SimpleQueue[Path] = queue.SimpleQueue()
        for number in range(count):
            self._idle.put(copied(place / str(number)))

    @contextmanager
    def lent(self) -> Iterator[Path]:
        folder = self._idle.get()
        try:
            yield folder
        finally:
            self._idle.put(folder)


def run(chosen: Sequence[Planted], jobs: int) -> int:
    began = time.monotonic()
    with (
        tempfile.TemporaryDirectory(prefix="holdfast-mutants-") as place,
        ThreadPoolExecutor(jobs) as pool,
    ):
        copies = Copies(Path(place), jobs)

        def sound(tests: Sequence[str]) -> str:
            with copies.lent() as folder:
                status, said = pytest_in(folder, tests, seconds=len(tests) * LONGEST_SECONDS)
            return said if status else ""

        def one(planted: Planted) -> str:
            with copies.lent() as folder:
                became, said = tried(planted, folder)
            print(f"{became:<8} {planted.name:<34} {planted.file}", flush=True)
            if became == "error":
                print(said[-1500:], flush=True)
            return became

        tests = sorted({test for planted in chosen for test in planted.tests})
        groups = [tests[n::jobs] for n in range(min(jobs, len(tests)))]
        if failed := "".join(pool.map(sound, groups)):
            print(f"{failed}\nthese tests fail without any fault: mend them first")
            return 1
        all_became = list(pool.map(one, chosen))
    noticed, count = all_became.count("noticed"), len(chosen)
    share = noticed / count
    enough = share >= LEAST_SHARE and "error" not in all_became
    print(
        f"mutants: {noticed} of {count} faults noticed, {share:.3f} (at least {LEAST_SHARE}), "
        f"{time.monotonic() - began:.0f} s: " + ("ok" if enough else "FAILED")
    )
    return 0 if enough else 1


def page(faults: Sequence[Planted]) -> str:
    """The table for readers."""
    lines = [
        "# Every promise, what keeps it, and which test notices",
        "",
        "Written by `python scripts/mutants.py --docs` from `scripts/mutants.toml`. `make mutants`",
        "breaks what keeps a promise, one fault at a time in a copy of the tree, and counts how",
        "often the test beside it fails.",
    ]
    for name in dict.fromkeys(each.page for each in faults):
        lines += [
            "",
            f"## [{name}](../{name})",
            "",
            "| promised | kept by | noticed by |",
            "|---|---|---|",
        ]
        lines += [_row(each) for each in faults if each.page == name]
    return "\n".join(lines) + "\n"


def _row(planted: Planted) -> str:
    words = " ".join(planted.words.split()).replace("|", "\\|")
    tests = ", ".join(f"`{test.removeprefix('tests/')}`" for test in planted.tests)
    return f"| {words} | `{planted.file}`: `{planted.place()}` | {tests} |"


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help="only these faults")
    parser.add_argument("--docs", action="store_true", help="write the page and end")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    given = parser.parse_args(arguments)
    faults = table()
    if given.docs:
        PAGE.write_text(page(faults), encoding="utf-8")
        return 0
    return run([each for each in faults if not given.names or each.name in given.names], given.jobs)


if __name__ == "__main__":
    sys.exit(main())
