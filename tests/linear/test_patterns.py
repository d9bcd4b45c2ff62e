"""No pattern of the package takes more than linear time, whatever text it is given.

`python -m tests.linear.test_patterns [80000]` prints those that do, in texts of up to so many
characters: `make proof`, for it takes minutes.
"""

import sys
from collections import deque
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import holdfast
from tests.linear.finding import Found, found_in_a_fresh_process
from tests.linear.growth import SIZES, STEPS, Grown, grown
from tests.linear.texts import KINDS, Shape, near_misses

_SEARCHING = frozenset({"search", "finditer", "findall", "sub", "subn", "split"})

_ROOT = Path(holdfast.__file__).parent
MODULES = sorted(
    ".".join(("holdfast", *file.relative_to(_ROOT).with_suffix("").parts))
    for file in _ROOT.rglob("*.py")
    if any(line in file.read_text("utf-8") for line in ("import re\n", "import regex\n"))
)


@pytest.fixture(scope="module")
def patterns() -> list[Found]:
    return found_in_a_fresh_process()


def test_patterns_are_found_wherever_they_are_kept(patterns: list[Found]) -> None:
    modules = {each.module for each in patterns}
    assert len(patterns) > 700
    assert modules <= {*MODULES}, "which modules use `re` is told by their text"
    # In a table; in a dictionary; made by a helper of another line; only compiled when called.
    assert "holdfast.language.claims.slots" in modules
    assert "holdfast.records.documents.html" in modules
    assert "holdfast.language.statements.gates" in modules
    assert "holdfast.language.names" in modules


def test_what_is_not_linear_is_told() -> None:
    square = Found("here", 1, r"a+b", 0)
    nested = Found("here", 2, r"(?:a|aa)*b", 0, methods=("match",))
    assert [each for each in (square, nested) if not slow(each)] == []


@pytest.mark.timeout(600)
@pytest.mark.parametrize("module", MODULES)
def test_every_pattern_is_linear(patterns: list[Found], module: str) -> None:
    """Up to the smallest of the sizes: what is a square shows there, in seconds for all."""
    ours = [each for each in patterns if each.module == module]
    found = [told for each in ours for told in slow(each)]
    assert not found, "\n".join(map(str, found))


def slow(found: Found, longest: int = SIZES[0]) -> list[Grown]:
    """The first kind of text that a pattern is not linear in, for each way in which it is used."""
    sizes = [each for each in (*STEPS, *SIZES) if each <= longest]
    own = [(repr(each), each) for each in near_misses(found.compiled())]
    if not own:
        return []  # Nothing in it is repeated without end: so much work at each place, and no more.
    shapes = [*KINDS.items(), *own]
    told: list[Grown] = []
    for name, run in _ways(found):
        for kind, shape in shapes:
            times = grown(f"{found} {name} {kind}", partial(_ready, run, found, shape), sizes)
            if not times.is_linear:
                told.append(times)
                break
    return told


def _ways(found: Found) -> Iterator[tuple[str, Callable[[Any], object]]]:
    """As the package uses it; a search is worst where it is for all there is."""
    pattern, methods = found.compiled(), set(found.methods)
    if not methods or methods & _SEARCHING:
        yield "finditer", lambda text: deque(pattern.finditer(text), maxlen=0)
    elif "match" in methods:
        yield "match", pattern.match
    if not methods or "fullmatch" in methods:
        yield "fullmatch", pattern.fullmatch


def _ready(
    run: Callable[[Any], object], found: Found, shape: Shape, size: int
) -> Callable[[], object]:
    text = shape.text(size)
    return partial(run, text.encode() if found.is_of_bytes else text)


def main(longest: int) -> int:
    patterns = found_in_a_fresh_process()
    bad = 0
    for each in patterns:
        told = slow(each, longest)
        bad += bool(told)
        for one in told:
            print(one, flush=True)
    print(f"{bad} of {len(patterns)} patterns are not linear in up to {longest:,} characters")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else SIZES[-1]))
