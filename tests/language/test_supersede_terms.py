"""A rule as the terms it wants, rejects and depends on."""

import pytest

from holdfast.language.instructions.supersede import choices_among, rule_terms, topic_terms


@pytest.mark.parametrize(
    ("rule", "wants", "rejects"),
    [
        ("Always cite your sources", {"cite"}, set()),
        ("No emojis please", set(), {"emoji"}),
        ("Use spaces instead of tabs", {"space"}, {"tab"}),
        ("I like my code without comments", {"code"}, {"comment"}),
        ("No tables, lists or emojis", set(), {"tabl", "bullet", "emoji"}),
        ("No more bullet points, write full paragraphs", {"prose"}, {"bullet"}),
        ("You don't have to explain the basics anymore", set(), {"basic"}),
        ("Don't forget I prefer short answers", {"short"}, set()),
        ("Emojis are not welcome", set(), {"emoji"}),
        ("Keep it brief unless I ask for details", {"short"}, set()),
        ("Stop explaining", set(), {"explain"}),
        ("请不要用表情符号", set(), {"emoji"}),
    ],
)
def test_wishes_and_refusals(rule: str, wants: set[str], rejects: set[str]) -> None:
    found = rule_terms(rule, None)
    assert (set(found.wants), set(found.rejects)) == (wants, rejects)


def test_numbers_conditions_and_the_order_are_read_apart() -> None:
    found = rule_terms("Round numbers to two decimals", "before you show prices")
    assert found.numbers == {"2"}
    assert found.topic == {"before", "price"}
    assert found.verb == "round"


def test_choices_are_told_by_name() -> None:
    assert choices_among(frozenset({"french", "short", "tabl"})) == {
        "language": {"french"},
        "length": {"short"},
    }


def test_words_for_one_thing_are_one_term() -> None:
    assert topic_terms("citing sources") == topic_terms("references") == {"cite"}


def test_each_of_many_rules_is_read_once() -> None:
    rules = [f"Always mention source number{number}" for number in range(3_000)]
    for rule in rules:
        rule_terms(rule, None)
    misses = rule_terms.cache_info().misses
    for rule in rules:  # In the same order, as all rules in force are read for each new one.
        rule_terms(rule, None)
    assert rule_terms.cache_info().misses == misses
