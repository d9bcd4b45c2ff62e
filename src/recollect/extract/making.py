"""Puts the step `extract` together, as the settings say."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

from recollect.config import Config
from recollect.extract.judging import judging
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

    def found(provider: str | None) -> Extractor:
        if provider == "rules":  # Threads may share it: quick turns are read by their caller's.
            return _extractor(provider, dates)
        # A write that names spaCy cannot know whether it is installed: there are the rules.
        named = "auto" if provider == "nlp" else provider
        return extractor or _extractor(named or config.extraction.provider, dates)

    def make(parts: Parts) -> Reading:
        if generator is None:
            return Reading(parts, found, config)
        llm = asking(generator, parts.store, config.extraction, parts.clock)
        return Reading(parts, found, config, llm, judging(llm.model, config.extraction))

    return make


@lru_cache(maxsize=4)
def _extractor(provider: str, dates: ReadDates) -> Extractor:
    """What finds names and relations without a language model; made once in a process."""
    if provider == "rules":
        return RulesExtractor(dates=dates)
    return NlpExtractor(dates=dates) if provider == "nlp" else best(dates=dates)
