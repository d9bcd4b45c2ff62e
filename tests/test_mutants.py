"""The table of planted faults holds: what it names is there, and its page says the same."""

import ast
import re

import pytest

from scripts.mutants import PAGE, ROOT, Planted, page, table

FAULTS = table()
#: The pages of which every promise stands in the table.
PAGES = ("howto/reliability.md", "howto/security.md")
LEAST_FAULTS = 60


def plain(text: str) -> str:
    return " ".join(text.split())


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)
def test_a_fault_can_be_planted(fault: Planted) -> None:
    source = (ROOT / fault.path).read_text(encoding="utf-8")
    planted = fault.planted(source)
    assert planted != source
    ast.parse(planted)
    promised = (ROOT / "docs" / fault.page).read_text(encoding="utf-8")
    assert plain(fault.words) in plain(promised)


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)
def test_the_tests_of_a_fault_exist(fault: Planted) -> None:
    for test in fault.tests:
        file, *names = test.split("::")
        text = (ROOT / file).read_text(encoding="utf-8")
        if len(names) > 1:  # A class that inherits what ships with the package.
            assert re.search(rf"^class {names[0]}\b", text, re.MULTILINE)
            shipped = (ROOT / "tests" / "store" / "contract").glob("store_*.py")
            text = "".join(path.read_text(encoding="utf-8") for path in shipped)
        if names:
            assert re.search(rf"^ *(async )?def {names[-1]}\(", text, re.MULTILINE)


def test_names_are_unique_and_there_are_enough() -> None:
    assert len({fault.name for fault in FAULTS}) == len(FAULTS) >= LEAST_FAULTS
    assert {fault.page for fault in FAULTS} >= set(PAGES)


def test_the_page_says_the_same() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(FAULTS), "run scripts/mutants.py --docs"
