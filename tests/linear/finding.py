"""Every pattern of the package, found and not listed by hand.

All modules are imported in a fresh process in which compiling is watched, whatever the pattern is
kept in afterwards: a tuple, a class, a closure. What is only compiled when a function runs is found
in the source: each call of `re` that the import did not pass. `python -m tests.linear.finding`
prints them as JSON.
"""

from __future__ import annotations

import ast
import builtins
import importlib
import json
import pkgutil
import re
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from types import FrameType, ModuleType
from typing import Any

#: The functions of `re` whose first argument is a pattern.
_TAKE_A_PATTERN = frozenset(
    {"compile", "search", "match", "fullmatch", "split", "findall", "finditer", "sub", "subn"}
)
_METHODS = _TAKE_A_PATTERN - {"compile"}
#: Stands for what is only known when the function runs: a name, escaped.
_SOME_NAME = "Mara Voss"
#: Not imported: it is a program that runs when it is.
_PROGRAMS = ("__main__",)
#: Compiles what others write, when it is first used.
_COMPILES_LATER = "holdfast.language.regex"


@dataclass(frozen=True, slots=True)
class Found:
    """A pattern, and the line that compiles it."""

    module: str
    line: int
    pattern: str
    flags: int
    #: It searches bytes; the pattern is written here as Latin-1.
    is_of_bytes: bool = False
    #: How the package uses it; empty where that is not seen, and so in any way.
    methods: tuple[str, ...] = ()

    def compiled(self) -> re.Pattern[Any]:
        if self.is_of_bytes:
            return re.compile(self.pattern.encode("latin-1"), self.flags)
        return re.compile(self.pattern, self.flags)

    def __str__(self) -> str:
        short = self.pattern if len(self.pattern) <= 60 else f"{self.pattern[:57]}..."
        return f"{self.module}:{self.line} {short!r}"


class Unread(AssertionError):
    """A call of `re` that this finder cannot evaluate: teach it, or compile at import."""


def found_in_a_fresh_process() -> list[Found]:
    """All patterns of the package: the one that asks has long imported it."""
    ran = subprocess.run(
        [sys.executable, "-m", "tests.linear.finding"],
        capture_output=True,
        text=True,
        check=False,
        cwd=Path(__file__).parents[2],
    )
    assert ran.returncode == 0, ran.stderr
    listed = [Found(**each) for each in json.loads(ran.stdout)]
    return [replace(each, methods=tuple(each.methods)) for each in listed]


def _found() -> list[Found]:
    seen: dict[Found, None] = {}
    passed: set[tuple[str, int]] = set()
    modules = _watched(seen, passed)
    trees = {each.__name__: _tree(each) for each in modules}
    used = _uses(trees)
    listed = [replace(each, methods=_methods(each, trees, used)) for each in seen]
    for module in modules:
        if module.__name__ == _COMPILES_LATER:
            continue
        listed += _lazy(module, trees[module.__name__], passed)
    return list(dict.fromkeys(listed))


def _tree(module: ModuleType) -> ast.Module:
    return ast.parse(Path(str(module.__file__)).read_text("utf-8"))


def _uses(trees: Mapping[str, ast.Module]) -> Mapping[str, set[str]]:
    """By the name of a pattern, the methods of it that are called or handed on."""
    used: defaultdict[str, set[str]] = defaultdict(set)
    for module, tree in trees.items():
        for node in ast.walk(tree):
            if isinstance(node, ast.Attribute) and node.attr in _METHODS:
                of = node.value
                name = of.attr if isinstance(of, ast.Attribute) else ast.unparse(of)
                used[_known_as(module, name)].add(node.attr)
    return used


def _known_as(module: str, name: str) -> str:
    """A name with an underscore is its module's own."""
    return f"{module}.{name}" if name.startswith("_") else name


def _methods(
    found: Found, trees: Mapping[str, ast.Module], used: Mapping[str, set[str]]
) -> tuple[str, ...]:
    """How a pattern is used that a name of its module stands for."""
    for node in trees[found.module].body:
        if node.lineno <= found.line <= (node.end_lineno or node.lineno):
            named: list[ast.expr] = [node.target] if isinstance(node, ast.AnnAssign) else []
            named = node.targets if isinstance(node, ast.Assign) else named
            name = " ".join(map(ast.unparse, named))
            return tuple(sorted(used.get(_known_as(found.module, name), ())))
    return ()


def _watched(seen: dict[Found, None], passed: set[tuple[str, int]]) -> list[ModuleType]:
    """Import everything, writing down what is compiled and by which lines of ours."""
    original = re._compile  # type: ignore[attr-defined]

    def compile_and_note(pattern: Any, flags: Any) -> Any:
        made = original(pattern, flags)
        if lines := _our_lines(sys._getframe(1)):
            passed.update(lines)
            seen.setdefault(_as_found(*lines[-1], made))
        return made

    re._compile = compile_and_note  # type: ignore[attr-defined]
    # Before anybody has it: else patterns are compiled when they are used.
    importlib.import_module(_COMPILES_LATER).regex = re.compile  # type: ignore[attr-defined]
    try:
        return list(_modules())
    finally:
        re._compile = original  # type: ignore[attr-defined]


def _as_found(module: str, line: int, made: re.Pattern[Any]) -> Found:
    is_of_bytes = isinstance(made.pattern, bytes)
    pattern = made.pattern.decode("latin-1") if is_of_bytes else made.pattern
    return Found(module, line, pattern, made.flags, is_of_bytes)


def _our_lines(frame: FrameType | None) -> list[tuple[str, int]]:
    """The lines of one module of ours that made `re` compile, the nearest first; other libraries
    compile too. At import the last one is the statement of the module."""
    while frame is not None and _of(frame) == "re":
        frame = frame.f_back
    lines: list[tuple[str, int]] = []
    ours = "" if frame is None else _of(frame)
    while frame is not None and ours.startswith("holdfast") and _of(frame) == ours:
        lines.append((_of(frame), frame.f_lineno))
        if frame.f_code.co_name == "<module>":
            break
        frame = frame.f_back
    return lines


def _of(frame: FrameType) -> str:
    return str(frame.f_globals.get("__name__"))


def _modules() -> Iterator[ModuleType]:
    package = importlib.import_module("holdfast")
    yield package
    for each in pkgutil.walk_packages(package.__path__, "holdfast."):
        if not each.name.endswith(_PROGRAMS):
            yield importlib.import_module(each.name)


def _lazy(module: ModuleType, tree: ast.Module, passed: set[tuple[str, int]]) -> Iterator[Found]:
    """The calls of `re` inside of functions that no import passed."""
    inner = (node for each in ast.walk(tree) if _is_function(each) for node in ast.walk(each))
    for call in inner:
        if not isinstance(call, ast.Call) or not _takes_a_pattern(call):
            continue
        lines = range(call.lineno, (call.end_lineno or call.lineno) + 1)
        if any((module.__name__, line) in passed for line in lines):
            continue
        made = _as_found(module.__name__, call.lineno, re.compile(*_evaluated(module, call)))
        method = call.func.attr if isinstance(call.func, ast.Attribute) else ""
        yield replace(made, methods=(method,) if method in _METHODS else ())


def _is_function(node: ast.AST) -> bool:
    return isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)


def _takes_a_pattern(node: ast.Call) -> bool:
    if not isinstance(node.func, ast.Attribute):
        return isinstance(node.func, ast.Name) and node.func.id == "regex"
    of = node.func.value
    return isinstance(of, ast.Name) and of.id == "re" and node.func.attr in _TAKE_A_PATTERN


def _evaluated(module: ModuleType, call: ast.Call) -> tuple[Any, int]:
    names = {node.id for node in ast.walk(call.args[0]) if isinstance(node, ast.Name)}
    known = {"re", *vars(module), *vars(builtins)}
    unknown = {name for name in names if name not in known}
    escaped = "re.escape" in ast.unparse(call.args[0])
    if unknown and not escaped:
        raise Unread(f"{module.__name__}:{call.lineno} {ast.unparse(call)}")
    space = {**vars(module), **dict.fromkeys(unknown, _SOME_NAME)}
    flags = [each for each in call.args[1:] if ast.unparse(each).startswith("re.")]
    value = sum(eval(ast.unparse(each), space) for each in flags)
    try:
        return eval(ast.unparse(call.args[0]), space), value
    except TypeError as error:
        raise Unread(f"{module.__name__}:{call.lineno} {ast.unparse(call)}") from error


if __name__ == "__main__":
    json.dump([asdict(each) for each in _found()], sys.stdout)
