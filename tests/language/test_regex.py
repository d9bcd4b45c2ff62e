"""Patterns that are compiled when they are first used."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from holdfast.language.regex import regex


def test_it_does_what_a_compiled_one_does() -> None:
    lazy, compiled = regex(r"(?P<a>\w)(\d+)", re.I), re.compile(r"(?P<a>\w)(\d+)", re.I)
    for text in ("a12 B3", "", "none"):
        assert lazy.findall(text) == compiled.findall(text)
        assert lazy.sub("-", text) == compiled.sub("-", text)
        assert lazy.split(text) == compiled.split(text)
        assert bool(lazy.search(text)) == bool(compiled.search(text))
        assert [each.span() for each in lazy.finditer(text)] == [
            each.span() for each in compiled.finditer(text)
        ]
    assert (lazy.pattern, lazy.flags, lazy.groups) == (
        compiled.pattern,
        compiled.flags,
        compiled.groups,
    )


def test_it_is_compiled_when_it_is_used_and_not_before() -> None:
    wrong = regex("(")
    with pytest.raises(re.error):
        wrong.search("x")
    with pytest.raises(AttributeError):
        getattr(wrong, "scanner")  # noqa: B009 (it has none)
    del wrong  # So that nobody who compiles all meets it.


def test_every_pattern_of_the_package_can_be_compiled() -> None:
    """What is wrong with one would else be told to the first user who meets it."""
    code = (
        "import pkgutil, importlib, holdfast, re\n"
        "from holdfast.language import regex\n"
        "for each in pkgutil.walk_packages(holdfast.__path__, 'holdfast.'):\n"
        "    if each.name.split('.')[1] in ('language', 'learn', 'records', 'recall'):\n"
        "        importlib.import_module(each.name)\n"
        "regex.compile_all()\n"
        "print(len(regex._ALL))"
    )
    told = subprocess.run(
        [sys.executable, "-W", "error::FutureWarning", "-c", code],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert told.returncode == 0, told.stderr
    assert int(told.stdout) > 500


def test_opening_a_memory_compiles_few_and_warming_it_all(tmp_path: Path) -> None:
    code = (
        "import holdfast, sys\n"
        "from holdfast.language import regex\n"
        "def is_compiled(each):\n"
        "    try: return bool(regex._LazyPattern.search.__get__(each))\n"
        "    except AttributeError: return False\n"
        "with holdfast.open(sys.argv[1], worker=False) as memory:\n"
        "    few = sum(map(is_compiled, regex._ALL))\n"
        "    memory.warm()\n"
        "print(few, sum(map(is_compiled, regex._ALL)), len(regex._ALL))"
    )
    command = [sys.executable, "-c", code, str(tmp_path / "a.db")]
    told = subprocess.run(command, capture_output=True, text=True, check=True)
    few, warmed, known = map(int, told.stdout.split())
    assert few < 20
    assert warmed == known > 500
