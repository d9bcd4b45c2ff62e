"""Puts the step `extract` together, as the settings say."""

from __future__ import annotations

from collections.abc import Callable, Collection
from datetime import datetime
from functools import lru_cache, partial

from recollect.config import Config
from recollect.extract.llm import asking
from recollect.extract.nlp import NlpExtractor, best
from recollect.extract.rules import Extractor, ReadDates, RulesExtractor
from recollect.extract.step import Reading
from recollect.graph.verbs import Graph
from recollect.models.llm import Generator
from recollect.store.base import Store
from recollect.types import Scope

Clock = Callable[[], datetime]


def reading(
    config: Config,
    *,
    extractor: Extractor | None,
    generator: Generator | None,
    dates: ReadDates,
) -> Callable[[Store, Graph, Callable[[Scope], Collection[bytes]], Clock], Reading]:
    """Makes the step for a memory. `extractor` stands for the one that the settings name;
    `generator` is the language model, if one is to be asked."""
    found = partial(_extractor, config.extraction.provider, dates)
    if extractor is not None:
        found = partial(_given, extractor)

    def make(
        store: Store, graph: Graph, recalled: Callable[[Scope], Collection[bytes]], clock: Clock
    ) -> Reading:
        llm = None
        if generator is not None:
            llm = asking(generator, store, config.extraction, clock)
        return Reading(store, graph, found, recalled, config, clock, llm)

    return make


@lru_cache(maxsize=4)
def _extractor(provider: str, dates: ReadDates) -> Extractor:
    """What finds names and relations without a language model; made once in a process."""
    if provider == "rules":
        return RulesExtractor(dates=dates)
    return NlpExtractor(dates=dates) if provider == "nlp" else best(dates=dates)


def _given(extractor: Extractor) -> Extractor:
    return extractor
