"""The shape of the code: short modules, short functions, nothing of one machine in the repo."""

import ast
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

import holdfast

ROOT = Path(__file__).parents[1]
SOURCES = sorted((ROOT / "src" / "holdfast").rglob("*.py"))
MOST_MODULE_LINES = 900
MOST_FUNCTION_LINES = 50

# Paths of one machine, and addresses of package indexes (built here so as not to find itself).
FORBIDDEN = re.compile(
    "|".join(
        [
            re.escape("../" + "shared"),
            "/" + "work/",
            r"https?://[^\s/]*pypi\b",
            r"https?://\S*/" + r"simple\b",
            "files\\.python" + "hosted",
            "--(extra-)?index" + "-url[ =](?!TEXT)",
            "file:" + "///",
        ]
    )
)


def name_of(path: Path) -> str:
    return path.relative_to(ROOT / "src").as_posix()


@pytest.mark.parametrize("path", SOURCES, ids=name_of)
def test_a_module_is_short_and_says_what_it_does(path: Path) -> None:
    text = path.read_text()
    assert ast.get_docstring(ast.parse(text)), "a module docstring, please"
    assert len(text.splitlines()) <= MOST_MODULE_LINES


@pytest.mark.parametrize("path", SOURCES, ids=name_of)
def test_functions_are_short(path: Path) -> None:
    too_long = {
        function: lines for function, lines in function_lengths(path) if lines > MOST_FUNCTION_LINES
    }
    assert too_long == {}


def function_lengths(path: Path) -> Iterator[tuple[str, int]]:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            assert node.end_lineno is not None
            yield node.name, node.end_lineno - node.lineno + 1


def test_public_names_are_sorted_few_and_real() -> None:
    names = holdfast.__all__
    assert sorted(names) == list(names)
    assert len(names) <= 20
    missing = [name for name in names if not hasattr(holdfast, name)]
    assert missing == []


def test_public_names_are_all_there_is() -> None:
    ours = {
        name
        for name, value in vars(holdfast).items()
        if not name.startswith("_") and getattr(value, "__module__", "").startswith("holdfast")
    }
    assert ours <= set(holdfast.__all__)


def test_the_repo_names_no_machine_and_no_package_index() -> None:
    found = [
        f"{path.relative_to(ROOT)}:{number}: {line.strip()[:80]}"
        for path in repo_files()
        for number, line in enumerate(path.read_text(errors="ignore").splitlines(), 1)
        if FORBIDDEN.search(line)
    ]
    assert found == []


def repo_files() -> list[Path]:
    """Files that git tracks, or would track."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    paths = [ROOT / name for name in listed.stdout.split("\0") if name]
    return [path for path in paths if path.is_file() and path.suffix not in {".onnx", ".db"}]
