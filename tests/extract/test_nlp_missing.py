"""Without spaCy the rules take over and say so, and whoever asks for spaCy is told what to do."""

import logging
import sys

import pytest

from recollect.errors import ConfigError
from recollect.extract.nlp import MODEL, NlpExtractor, best
from recollect.extract.rules import RulesExtractor
from recollect.recall.when import spans as read_dates


@pytest.fixture(autouse=True)
def _no_model(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, MODEL, None)  # An import of it now fails.


def test_the_best_without_spacy_are_the_rules_and_the_log_says_so(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with caplog.at_level(logging.WARNING):
        extractor = best(dates=read_dates)
    assert isinstance(extractor, RulesExtractor)
    assert "recollect[nlp]" in caplog.text


def test_asking_for_spacy_tells_what_to_install() -> None:
    with pytest.raises(ConfigError, match=r"recollect\[nlp\]"):
        NlpExtractor(dates=read_dates)
