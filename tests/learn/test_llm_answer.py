"""Answers as models really give them: read, or refused with a reason; nothing else ever happens."""

import json
import re
import time
from datetime import date
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.errors import ModelError, Unreadable
from holdfast.language.vocabulary import ENTITY_TYPES, RELATION_TYPES, Typed
from holdfast.learn.llm_answer import (
    FACT_KINDS,
    USER,
    AnswerEntity,
    AnswerFact,
    AnswerRelation,
    ExtractedAnswer,
    parse_answer,
)

TURNS = ("t1", "t2", "t3")
KNOWN = {"e1": "Ann Reed", "e2": "Lisbon"}
TEA = "Ann prefers tea to coffee."
CAT = "Bo has a cat called Miso."
GOOD: dict[str, list[dict[str, Any]]] = {
    "entities": [{"id": "n1", "name": "Bo", "type": "person", "aliases": ["Robert"]}],
    "facts": [
        {"text": TEA, "kind": "preference", "turns": ["t1"], "entities": ["e1"], "confidence": 0.9},
        {"text": CAT, "kind": "identity", "turns": ["t2", "t3"], "entities": ["n1"]},
    ],
    "relations": [{"source": "n1", "type": "related_to", "target": "e1", "turns": ["t2"]}],
}
TEXT = json.dumps(GOOD)


def parsed(text: str) -> ExtractedAnswer:
    return parse_answer(text, turns=TURNS, known=KNOWN)


def facts(text: str) -> list[str]:
    return [fact.text for fact in parsed(text).facts]


def one(**fields: object) -> AnswerFact:
    (fact,) = parsed(json.dumps({"facts": [{"text": TEA, **fields}]})).facts
    return fact


def test_a_good_answer_becomes_types() -> None:
    assert parsed(TEXT) == ExtractedAnswer(
        facts=(
            AnswerFact(TEA, "preference", ("t1",), ("e1",), 0.9),
            AnswerFact(CAT, "identity", ("t2", "t3"), ("n1",)),
        ),
        entities=(AnswerEntity("n1", "Bo", Typed("person"), ("Robert",)),),
        relations=(AnswerRelation("n1", Typed("related_to"), "e1", ("t2",)),),
    )


# How the good answer may be wrapped or broken without losing anything: name -> text.
SAME = {
    "spaces": f"  \n {TEXT}\n\n",
    "a fence": f"```json\n{TEXT}\n```",
    "a fence without a name": f"```\n{TEXT}\n```",
    "a fence that never ends": f"```json\n{TEXT}",
    "prose around": f"Sure! Here is the JSON:\n\n{TEXT}\n\nLet me know if you need more.",
    "braces in the prose": f"I used {{placeholders}} and [1] as you asked. {TEXT} {{done}}",
    "thoughts": f'<think>Maybe {{"facts": [{{"text": "a draft only"}}]}}?</think>{TEXT}',
    "an empty draft first": f'{{"facts": []}} No, wait: {TEXT}',
    "an empty one after": f'{TEXT}\n{{"facts": []}}',
    "a byte order mark": f"\ufeff{TEXT}",
    "trailing commas": TEXT.replace("]", ",]").replace("}", ",}"),
    "missing commas": TEXT.replace("}, {", "} {"),
    "single quotes": TEXT.replace('"', "'"),
    "curly quotes": re.sub(r'"([^"]*)"', "\u201c\\1\u201d", TEXT),
    "bare keys": TEXT.replace('"facts"', "facts").replace('"text"', "text"),
    "a wrapper": json.dumps({"result": GOOD}),
    "two wrappers": json.dumps({"data": {"answer": GOOD}}),
    "JSON in a string": json.dumps({"answer": TEXT}),
    "comments": TEXT.replace('"facts"', '// what I found\n/* here */ "facts"'),
    "Python's words": TEXT.replace('"confidence": 0.9', '"confidence": 0.9, "on": None'),
    "other names of the lists": TEXT.replace('"facts"', '"memories"')
    .replace('"entities": [{', '"nodes": [{')
    .replace('"relations"', '"edges"'),
    "other names of the fields": TEXT.replace('"text"', '"content"')
    .replace('"source"', '"subject"')
    .replace('"target"', '"object"'),
    "keys in capitals": TEXT.replace('"facts"', '"Facts"').replace('"relations"', '"RELATIONS"'),
    "a list twice": TEXT.replace('"relations"', '"facts": [], "relations"'),
    "a wrong bracket": TEXT.replace("}], ", "]], ", 1),
    "a bracket too many": TEXT + "}}]",
    "a bracket missing": TEXT[:-2] + "}",
    "turns as a string": TEXT.replace('["t2", "t3"]', '"t2, t3"'),
    "turns as numbers": TEXT.replace('["t2", "t3"]', "[2, 3]"),
    "turns in brackets": TEXT.replace('["t2", "t3"]', '["[T2]", "t3."]'),
    "one alias as a string": TEXT.replace('["e1"]', '"e1"'),
    "names for aliases": TEXT.replace('["e1"]', '["ann reed"]').replace('["n1"]', '["Bo"]'),
    "a confidence in words": TEXT.replace("0.9", '"high"'),
    "a confidence in percent": TEXT.replace("0.9", '"90%"'),
    "facts twice": TEXT.replace('"facts": [', f'"facts": [{json.dumps(GOOD["facts"][0])}, '),
    "a triple": TEXT.replace(
        '{"source": "n1", "type": "related_to", "target": "e1", "turns": ["t2"]}',
        '{"from": "n1", "predicate": "Related To", "to": {"id": "e1"}, "turns": "t2"}',
    ).replace('"Related To"', '"related_to"'),
}


@pytest.mark.parametrize("text", SAME.values(), ids=SAME)
def test_the_form_does_not_matter(text: str) -> None:
    assert parsed(text) == parsed(TEXT)


# What is left of an answer that is wrong in part: text -> its facts.
PARTLY = {
    '{"facts": ["Ann likes tea."]}': ["Ann likes tea."],
    '["Ann likes tea.", "Bo likes rye."]': ["Ann likes tea.", "Bo likes rye."],
    '[{"fact": "Ann likes tea."}, {"name": "Bo"}]': ["Ann likes tea."],
    '{"fact": "Ann likes tea.", "kind": "preference"}': ["Ann likes tea."],
    '{"facts": {"text": "Ann likes tea."}}': ["Ann likes tea."],
    '{"facts": {"1": {"text": "Ann likes tea."}}}': ["Ann likes tea."],
    '{"facts": [{"text": "Ann likes tea."}, 7, null, [], {"text": 5}]}': ["Ann likes tea."],
    '{"facts": [{"text": "  Ann\\n likes\\ttea. "}]}': ["Ann likes tea."],
    '{"facts": [{"text": "Ann likes\\u0000 tea.\\u202e"}]}': ["Ann likes tea."],
    '{"facts": [{"text": "Ann likes \\ud83d"}]}': ["Ann likes \ufffd"],
    '{"facts": [{"text": "Ann likes \\ud83c\\udf75"}]}': ["Ann likes \U0001f375"],
    '{"facts": [{"text": "Ann said "hello" to Bo."}]}': ['Ann said "hello" to Bo.'],
    '{"facts": [{"text": "Ann said \\"hello\\"."}]}': ['Ann said "hello".'],
    '{"facts": [{"text": "Ann likes\ntea."}]}': ["Ann likes tea."],
    '{"facts": [{"text": "C:\\\\dir"}]}': ["C:\\dir"],
    '{"facts": [{"text": "Ann likes tea.", "turns": ["t1"]}, {"text": "Bo li': ["Ann likes tea."],
    '{"facts": [{"text": "Ann likes tea."}, {"text": "Bo likes rye."': ["Ann likes tea."],
    '{"facts": [{"text": "安娜喜欢喝茶。"}]}': ["安娜喜欢喝茶。"],
    '{"facts": [{"text": "Ann likes tea."}, {"text": "ann  likes TEA"}]}': ["Ann likes tea."],
    "{'facts': [{'text': 'Ann\\'s tea is green.'}]}": ["Ann's tea is green."],
    '{"facts": [{"text": "Ann likes tea."}], "entities": 5, "relations": "x"}': ["Ann likes tea."],
    '{"facts": null, "entities": []}': [],
    '{"facts": []}': [],
    "[]": [],
    "```json\n[]\n```": [],
    '{"entities": [], "facts": [], "relations": []}': [],
    'facts: [{"text": "Ann likes tea."}]': ["Ann likes tea."],
}


@pytest.mark.parametrize(("text", "left"), PARTLY.items(), ids=list(map(ascii, PARTLY)))
def test_what_is_right_is_kept(text: str, left: list[str]) -> None:
    assert facts(text) == left


# What cannot be read, and the reason.
WRONG = {
    "": "empty",
    " \n\t": "empty",
    "I could not find anything worth keeping.": "no JSON",
    "I'm sorry, I can't help with that.": "no JSON",
    "null": "no JSON",
    "42": "no JSON",
    '"facts"': "no JSON",
    "{}": "names no facts",
    "[1]": "names no facts",
    "[[[]]]": "names no facts",
    "[" * 100_000: "no JSON",
    '{"a":' * 30_000: "no JSON",
    "{" * 1000 + "}" * 1000: "no JSON",
    '{"error": "overloaded"}': "names no facts",
    '{"facts": 5}': "names no facts",
    '{"facts": "none"}': "names no facts",
    '{"facts": true}': "names no facts",
    '{"facts"': "names no facts",
    '{"facts": [1, 2, 3]}': "none of its 3 items",
    '{"facts": [{"text": ""}, {"text": " "}]}': "none of its 2 items",
    '{"facts": [{"turns": ["t1"]}]}': "none of its 1 items",
    '{"relations": [{"type": "x"}]}': "none of its 2 items",
    '{"entities": [{"name": "..."}]}': "none of its 1 items",
    '{"type": "object", "properties": {"x": {"type": "array"}}}': "names no facts",
    "x" * 200_001: "200001 characters",
}


@pytest.mark.parametrize(("text", "reason"), WRONG.items(), ids=[ascii(w[:40]) for w in WRONG])
def test_what_cannot_be_read_says_why(text: str, reason: str) -> None:
    with pytest.raises(Unreadable, match=reason) as caught:
        parsed(text)
    assert isinstance(caught.value, ModelError)


def test_there_are_over_sixty_malformed_answers() -> None:
    assert len(SAME) + len(PARTLY) + len(WRONG) >= 60


def test_an_error_quotes_nothing_of_the_answer() -> None:
    with pytest.raises(Unreadable) as caught:
        parsed('{"facts": ["secret"], "facts": 5, "note": "blue pot"}')
    assert "blue pot" not in str(caught.value)


@pytest.mark.parametrize(
    ("given", "confidence"),
    [
        *((2, 1.0), (-1, 0.0), ("0.25", 0.25), ("25 %", 0.25), ("low", 0.3), ("sure", 0.7)),
        *((None, 0.7), (True, 0.7), ([1], 0.7), (float("nan"), 0.7), (float("inf"), 0.7)),
        *((10**400, 0.7), ("9" * 5000, 0.7), (0, 0.0), (1, 1.0)),
    ],
)
def test_a_confidence_is_a_number_of_0_to_1(given: object, confidence: float) -> None:
    assert one(confidence=given).confidence == confidence


@pytest.mark.parametrize(
    ("given", "kind"),
    [
        *(("Preference", "preference"), ("plan", "goal"), ("habit", "behavior"), ("vibe", "other")),
        *(("knowledge", "other"), ("event", "context"), (7, "other")),
    ],
)
def test_an_unknown_kind_is_mapped(given: object, kind: str) -> None:
    assert one(kind=given).kind == kind
    assert one(category=given).kind == kind


@pytest.mark.parametrize(
    ("given", "due"),
    [
        *(("2026-04-12", date(2026, 4, 12)), ("2026-04-12T09:00", date(2026, 4, 12))),
        *(("soon", None), (None, None), (7, None), (["2026-04-12"], None), ("2026-13-01", None)),
    ],
)
def test_the_day_by_which_is_a_day_or_none(given: object, due: date | None) -> None:
    assert one(due=given).due == due
    assert one(due=None, deadline=given).due == due


@pytest.mark.parametrize(
    ("given", "avoid"),
    [("Venice", "Venice"), (" a\nb ", "a b"), (None, ""), (7, ""), ("x" * 999, "x" * 200)],
)
def test_what_was_wrong_is_one_short_line(given: object, avoid: str) -> None:
    assert one(avoid=given).avoid == avoid
    assert one(headline=given).headline == avoid


@pytest.mark.parametrize(
    ("given", "durable"),
    [(False, False), ("momentary", False), ("no", False), (0, False), (True, True), (None, True)],
)
def test_durability_is_the_models_word(given: object, durable: bool) -> None:
    assert one(durable=given).durable is durable


@pytest.mark.parametrize(
    ("given", "day"),
    [("2026-03-01", date(2026, 3, 1)), ("2026-03-01T10:00:00Z", date(2026, 3, 1))],
)
def test_a_day_is_read(given: str, day: date) -> None:
    assert one(on=given).on == day


@pytest.mark.parametrize("given", ["soon", "2026-02-30", "", 3.5, None, "9999-99-99"])
def test_what_is_no_day_is_none(given: object) -> None:
    assert one(on=given).on is None


def test_unknown_aliases_change_nothing() -> None:
    answer = {
        "facts": [{"text": TEA, "turns": ["t9", "t1", "evil"], "entities": ["e7", "e1", "e1"]}],
        "entities": [{"id": "e1", "name": "e99"}],
        "relations": [
            {"source": "e1", "type": "supports", "target": "e77"},
            {"source": "t1", "type": "supports", "target": "e1"},
        ],
    }
    extraction = parsed(json.dumps(answer))
    assert [(fact.turns, fact.entities) for fact in extraction.facts] == [(("t1",), ("e1",))]
    assert extraction.entities == ()
    assert extraction.relations == ()
    assert extraction.notes == ("6 aliases that were not shown",)


def test_a_fact_that_names_no_shown_turn_is_kept_without_one() -> None:
    assert one(turns=["t99"]).turns == ()


def test_an_alias_with_the_name_of_another_does_not_rename() -> None:
    answer = {"entities": [{"id": "e1", "name": "Bo Finch", "type": "person"}]}
    (entity,) = parsed(json.dumps(answer)).entities
    assert (entity.ref, entity.name) == ("n1", "Bo Finch")
    assert parsed(json.dumps(answer)).notes == ("1 aliases with another's name",)


def test_a_known_name_is_the_known_entity() -> None:
    answer = {
        "entities": [{"id": "n1", "name": "ANN REED", "type": "human"}],
        "relations": [["n1", "lives_in", "Lisbon"]],
    }
    extraction = parsed(json.dumps(answer))
    assert [(entity.ref, entity.type) for entity in extraction.entities] == [
        ("e1", Typed("person", "human"))
    ]
    assert [(each.source, each.target) for each in extraction.relations] == [("e1", "e2")]


@pytest.mark.parametrize("word", ["user", "The user", "I", "me", "用户"])
def test_the_user_is_one_reference_and_no_entity(word: str) -> None:
    answer = {
        "entities": [{"id": "n1", "name": word, "type": "person"}],
        "relations": [{"source": word, "type": "works_at", "target": "Acme"}],
        "facts": [{"text": TEA, "entities": ["n1", word]}],
    }
    extraction = parsed(json.dumps(answer))
    assert [entity.name for entity in extraction.entities] == ["Acme"]
    assert extraction.relations[0].source == USER
    assert extraction.facts[0].entities == (USER,)


def test_two_entities_under_one_id_stay_two() -> None:
    answer = {"entities": [{"id": "n1", "name": "Bo"}, {"id": "n1", "name": "Cy"}]}
    assert [entity.name for entity in parsed(json.dumps(answer)).entities] == ["Bo", "Cy"]


def test_types_are_mapped_and_the_original_kept() -> None:
    answer = {
        "entities": [{"name": "Acme", "type": "startup"}, {"name": "Bern", "type": "city"}],
        "relations": [{"source": "Acme", "type": "founded in", "target": "Bern"}],
    }
    extraction = parsed(json.dumps(answer))
    assert [entity.type for entity in extraction.entities] == [
        Typed("concept", "startup"),
        Typed("place", "city"),
    ]
    assert extraction.relations[0].type == Typed("related_to", "founded in")


def test_long_texts_are_cut_and_noted() -> None:
    answer = {
        "facts": [{"text": f"Fact number {i}: " + "x" * 2_000} for i in range(50)],
        "entities": [{"name": f"Name {i} " + "y" * 900} for i in range(50)],
    }
    extraction = parsed(json.dumps(answer))
    assert {len(fact.text) for fact in extraction.facts} == {600}
    assert {len(entity.name) for entity in extraction.entities} == {200}
    assert extraction.notes == ("100 texts that were too long",)


def test_lists_over_their_limit_are_noted() -> None:
    answer = {
        "facts": [{"text": f"Fact number {i}."} for i in range(150)],
        "entities": [{"name": f"Name {i}"} for i in range(300)],
        "relations": [[f"Name {i}", "supports", f"Name {i + 1}"] for i in range(250)],
    }
    extraction = parsed(json.dumps(answer))
    assert (len(extraction.facts), len(extraction.entities)) == (100, 200)
    assert len(extraction.relations) <= 200
    assert "50 facts over the limit of 100" in extraction.notes


def test_an_answer_cut_at_any_byte_gives_only_whole_items() -> None:
    whole = parsed(TEXT)
    for end in range(len(TEXT)):
        try:
            part = parsed(TEXT[:end])
        except Unreadable:
            continue
        assert part.cut
        assert set(part.facts) <= set(whole.facts)
        assert set(part.entities) <= set(whole.entities)
        assert set(part.relations) <= set(whole.relations)


def check(extraction: ExtractedAnswer) -> None:
    """What holds for everything that comes out."""
    refs = {USER, *KNOWN, *(entity.ref for entity in extraction.entities)}
    for fact in extraction.facts:
        assert 0 < len(fact.text) <= 600
        assert fact.kind in FACT_KINDS
        assert 0 <= fact.confidence <= 1
        assert set(fact.turns) <= set(TURNS)
        assert set(fact.entities) <= refs
        fact.text.encode()
    for entity in extraction.entities:
        assert entity.type.type in ENTITY_TYPES
        assert 0 < len(entity.name) <= 200
    for relation in extraction.relations:
        assert relation.type.type in RELATION_TYPES
        assert {relation.source, relation.target} <= refs
        assert set(relation.turns) <= set(TURNS)


def safely(text: str) -> None:
    try:
        check(parsed(text))
    except Unreadable:
        return


@given(st.text())
def test_no_text_raises_anything_else(text: str) -> None:
    safely(text)


words = st.sampled_from(
    [*"{}[]:,\"'\\", '"facts"', '"text"', "facts", "t1", "e1", "null", "NaN", "-1e999", " ", "\n"]
)


@settings(max_examples=500)
@given(st.lists(words, max_size=60).map("".join))
def test_no_broken_json_raises_anything_else(text: str) -> None:
    safely(text)


@pytest.mark.slow
@settings(max_examples=300)
@given(st.data())
def test_a_good_answer_with_random_damage_raises_nothing_else(data: st.DataObject) -> None:
    text = TEXT
    for _ in range(data.draw(st.integers(1, 5))):
        at = data.draw(st.integers(0, len(text)))
        gone = data.draw(st.integers(0, 12))
        text = text[:at] + data.draw(words | st.characters()) + text[at + gone :]
    safely(text)


shapes = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8)
    | st.sampled_from(["t1", "e1", "e9", "n1", "user", "Ann Reed"]),
    lambda inner: st.lists(inner, max_size=4)
    | st.dictionaries(
        st.sampled_from(
            ["facts", "entities", "relations", "text", "name", "id", "source", "target", "type",
             "turns", "aliases", "confidence", "on", "durable", "kind", "summary"]
        ),
        inner,
        max_size=6,
    ),
    max_leaves=25,
)  # fmt: skip


@pytest.mark.slow
@settings(max_examples=500)
@given(shapes)
def test_no_shape_of_json_raises_anything_else(value: object) -> None:
    safely(json.dumps(value))


@pytest.mark.slow
@pytest.mark.parametrize(
    "hostile",
    [
        "<think>" * 25_000,
        '{"' * 90_000,
        '[{"facts": ' * 15_000,
        '{"facts": ["' + "a" * 190_000,
        "[1," * 60_000,
        '{"facts": [' + '{"text": "a b"},' * 12_000,
        '"' * 190_000,
        '{"a": "' + '\\"' * 90_000,
        '{"a": "' + '" x' * 60_000,
    ],
    ids=lambda text: ascii(text[:14]),
)
def test_a_hostile_answer_costs_no_more_than_a_long_one(hostile: str) -> None:
    started = time.thread_time()
    safely(hostile)
    assert time.thread_time() - started < 5
