"""Without spaCy the rules take over and say so, and whoever asks for spaCy is told what to do.

Each test has a process of its own in which a package cannot be imported: here it is installed.
"""

import subprocess
import sys

import pytest

from holdfast.learn.nlp import MODEL

#: Left out of `make check`: each opens a memory, or takes its time.
pytestmark = pytest.mark.slow

START = """
import logging, sys
logging.basicConfig(format="%(levelname)s %(message)s")
for name in sys.argv[1:]:
    sys.modules[name] = None  # An import of it now fails.

from holdfast.errors import ConfigError
from holdfast.learn.nlp import NlpExtractor, best
"""
BEST = "print(type(best()).__name__)"
ASKED = """
try:
    NlpExtractor()
except ConfigError as error:
    print(error)
"""


def output(script: str, *hidden: str) -> tuple[str, str]:
    """What the script prints and what it logs, where the hidden packages do not exist."""
    command = [sys.executable, "-c", START + script, *hidden]
    run = subprocess.run(command, capture_output=True, text=True, check=True)
    return run.stdout.strip(), run.stderr.strip()


@pytest.mark.parametrize("hidden", ["spacy", MODEL])
def test_the_best_without_it_are_the_rules_and_the_log_says_so(hidden: str) -> None:
    extractor, log = output(BEST, hidden)
    assert extractor == "RulesExtractor"
    assert log.startswith("WARNING extracting by rules only")
    assert "the extra [nlp]" in log


@pytest.mark.parametrize("hidden", ["spacy", MODEL])
def test_asking_for_it_tells_what_to_install(hidden: str) -> None:
    told, _ = output(ASKED, hidden)
    assert "pip install '.[nlp]'" in told


def test_with_it_nothing_is_logged() -> None:
    assert output(BEST) == ("NlpExtractor", "")


def test_it_is_imported_only_when_it_is_used() -> None:
    assert output('print("spacy" in sys.modules)') == ("False", "")
