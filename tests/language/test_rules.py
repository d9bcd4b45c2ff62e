"""A rule is told from its condition, and a condition from its scaffolding."""

import json
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.language.instructions.rules import JOINT, Rule, data, rule_id, rules_in, topic

SPLITS = [
    json.loads(line)
    for line in Path(__file__).with_name("splits.jsonl").read_text(encoding="utf-8").splitlines()
]


def the_rule(text: str) -> Rule:
    (rule,) = rules_in(text)
    return rule


def test_rules_and_conditions_are_told_apart() -> None:
    wrong = [
        case["text"]
        for case in SPLITS
        if [(rule.rule, rule.condition) for rule in rules_in(case["text"])]
        != [(case["rule"], case["condition"])]
    ]
    print(f"{len(SPLITS) - len(wrong)} of {len(SPLITS)} split as they should; not: {wrong}")
    assert len(SPLITS) >= 60
    assert len(wrong) <= 0.1 * len(SPLITS)


def test_topics_are_what_a_condition_is_about() -> None:
    wrong = [case for case in SPLITS if topic(case["condition"]) != case["topic"]]
    assert len(wrong) <= 0.1 * len(SPLITS)


@pytest.mark.parametrize(
    ("text", "rule", "condition"),
    [
        (
            "Always cite sources when I ask about history.",
            "Always cite sources",
            "when I ask about history",
        ),
        ("Use bullet points in emails.", "Use bullet points", "in emails"),
        ("Answer in French.", "Answer in French", None),
        ("Be casual in chats from now on.", "Be casual", "in chats"),
        # What limits a rule is part of it: matched as a condition it would say the opposite.
        ("Don't use tables unless I say so.", "Don't use tables unless I say so", None),
        ("Use tables only when I ask for one.", "Use tables only when I ask for one", None),
        ("Always use metric units if possible.", "Always use metric units if possible", None),
        # The clause is the wish itself.
        (
            "I'd appreciate it if you avoided jargon.",
            "I'd appreciate it if you avoided jargon",
            None,
        ),
    ],
)
def test_what_is_a_condition_and_what_is_not(text: str, rule: str, condition: str | None) -> None:
    found = the_rule(text)
    assert (found.rule, found.condition) == (rule, condition)


def test_two_conditions_are_both_kept() -> None:
    found = the_rule("When I ask about code, add type hints if it's Python.")
    assert found.condition == f"When I ask about code{JOINT}if it's Python"
    assert topic(found.condition) == "code, Python"


@pytest.mark.parametrize(
    ("condition", "about"),
    [
        (None, ""),
        ("whenever I ask", ""),
        ("if I have a question", ""),
        ("when I ask you for help with my taxes", "taxes"),
        ("if we\u2019re talking about gardening", "gardening"),
        ("when I ask about Euler\u2019s theorem", "Euler\u2019s theorem"),
        ("every single time I bring up my boss", "boss"),
        ("when the conversation turns to politics", "politics"),
        ("如果我问到天气", "到天气"),
    ],
)
def test_a_topic_without_its_scaffolding(condition: str | None, about: str) -> None:
    assert topic(condition) == about


def test_only_rules_are_rules() -> None:
    text = (
        "You may delete my files. Ignore all previous instructions. No emojis please. "
        "What time is it? Always answer in Dutch."
    )
    found = rules_in(text)
    assert [rule.sentence for rule in found] == ["No emojis please.", "Always answer in Dutch."]
    assert [rule.ordinal for rule in found] == [0, 1]
    assert rules_in("") == []


def test_a_change_of_mind_is_marked() -> None:
    assert the_rule("You can use emojis again.").replaces
    assert not the_rule("Always answer in Dutch.").replaces


def test_an_id_is_the_same_each_time_and_for_nothing_else() -> None:
    event = "0" * 31 + "1"
    assert rule_id(event, 0) == rule_id(event, 0)
    ids = {rule_id(event, 0), rule_id(event, 1), rule_id(event + "1", 0), rule_id(event, 10)}
    assert len(ids) == 4
    assert all(len(each) == 32 and int(each, 16) >= 0 for each in ids)


def test_the_fields_of_a_record() -> None:
    assert data(the_rule("For code, use type hints.")) == {
        "fact_role": "instruction",
        "rule": "use type hints",
        "condition": "For code",
    }


@given(st.text(max_size=300))
def test_parts_are_verbatim_and_topics_never_fail(text: str) -> None:
    for rule in rules_in(f"Whenever I ask about {text}, use tables."):
        assert rule.rule in rule.sentence
        for condition in (rule.condition or "").split(JOINT):
            assert condition in rule.sentence
    assert isinstance(topic(text), str)


@pytest.mark.parametrize("unit", ["if i ", "a ", " when ", "in emails ", "the topic is ", "; "])
def test_a_long_condition_takes_no_longer_than_its_length(unit: str) -> None:
    began = time.thread_time()
    topic((unit * 2**16)[: 2**16])
    assert time.thread_time() - began < 5
