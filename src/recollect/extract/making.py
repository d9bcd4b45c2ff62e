"""Puts the step `extract` together, as the settings say."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, partial

from recollect.config import Config
from recollect.extract.llm import asking
from recollect.extract.nlp import NlpExtractor, best
from recollect.extract.parts import Parts
from recollect.extract.rules import Extractor, ReadDates, RulesExtractor
from recollect.extract.step import Reading
from recollect.models.llm import Generator


def reading(
    config: Config,
    *,
    extractor: Extractor | None,
    generator: Generator | None,
    dates: ReadDates,
) -> Callable[[Parts], Reading]:
    """Makes the step for a memory. `extractor` stands for the one that the settings name;
    `generator` is the language model, if one is to be asked."""
    found = partial(_extractor, config.extraction.provider, dates)
    if extractor is not None:
        found = partial(_given, extractor)

    def make(parts: Parts) -> Reading:
        llm = None
        if generator is not None:
            llm = asking(generator, parts.store, config.extraction, parts.clock)
        return Reading(parts, found, config, llm)

    return make


@lru_cache(maxsize=4)
def _extractor(provider: str, dates: ReadDates) -> Extractor:
    """What finds names and relations without a language model; made once in a process."""
    if provider == "rules":
        return RulesExtractor(dates=dates)
    return NlpExtractor(dates=dates) if provider == "nlp" else best(dates=dates)


def _given(extractor: Extractor) -> Extractor:
    return extractor
