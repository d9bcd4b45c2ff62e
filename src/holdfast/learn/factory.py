"""Puts the step `extract` together, as the settings say."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial

from holdfast.config import Config
from holdfast.language.extraction import Extractor, ReadDates
from holdfast.learn.apart import Apart, ExtractorFactory
from holdfast.learn.llm.extractor import asking
from holdfast.learn.nlp import extractor_named
from holdfast.learn.parts import Parts
from holdfast.learn.step import ExtractStep, judging
from holdfast.models.llm import Generator


def reading(
    config: Config,
    *,
    extractor: Extractor | None,
    generator: Generator | None,
    dates: ReadDates,
) -> Callable[[Parts], ExtractStep]:
    """Makes the step for a memory. `extractor` stands for the one that the settings name;
    `generator` is the language model, if one is to be asked."""

    @cache
    def found(provider: str | None) -> ExtractorFactory:
        if provider == "rules":  # Threads may share it: quick turns are read by their caller's.
            return ExtractorFactory(partial(extractor_named, provider, dates))
        if extractor is not None:
            return ExtractorFactory(partial(_itself, extractor))
        # A write that names spaCy cannot know whether it is installed: there are the rules.
        asked = "auto" if provider == "nlp" else provider
        return ExtractorFactory(
            partial(extractor_named, asked or config.extraction.provider, dates)
        )

    def make(parts: Parts) -> ExtractStep:
        apart = Apart(config.jobs.read_seconds)
        if generator is None:
            return ExtractStep(parts, found, config, apart)
        llm = asking(generator, parts.store, config.extraction, parts.clock)
        return ExtractStep(parts, found, config, apart, llm, judging(llm.model, config.extraction))

    return make


def _itself(extractor: Extractor) -> Extractor:
    return extractor
