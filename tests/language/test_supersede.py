"""The later wish counts where both are about one matter, and nowhere else."""

import json
from itertools import combinations
from pathlib import Path

import pytest

from holdfast.language.instructions.rules import Rule, rules_in
from holdfast.language.instructions.supersede import (
    KnownRule,
    ended_rules,
    releases,
    repeated_rule,
    seeks,
    traits,
)

FOLDER = Path(__file__).parent
# The words were chosen on the even lines; the odd ones say what to expect of other people's.
PAIRS = [
    json.loads(line)
    for line in (FOLDER / "supersession.jsonl").read_text(encoding="utf-8").splitlines()
]
PARTS = {"dev": PAIRS[::2], "test": PAIRS[1::2]}


def the_rule(text: str) -> Rule | None:
    """A bare order may be about this turn only; here it is meant for good."""
    found = rules_in(text) or rules_in(f"From now on, {text}")
    return found[0] if found else None


def known(rule: Rule, name: str = "old") -> KnownRule:
    return KnownRule(name, rule.rule, rule.condition, rule.sentence)


def outcome(old: str, new: str) -> str:
    before, after = the_rule(old), the_rule(new)
    if before is None or after is None:
        return "not found"
    if repeated_rule(after, [known(before)]):
        return "same"
    return "replaces" if ended_rules(after, [known(before)]) else "independent"


def test_the_set_is_large_and_mostly_hard() -> None:
    labels = [pair["label"] for pair in PAIRS]
    assert len(PAIRS) >= 120
    assert sum(pair["easy"] for pair in PAIRS) <= len(PAIRS) / 3
    assert min(labels.count(each) for each in ("replaces", "same", "independent")) >= 40
    assert len({(pair["old"], pair["new"]) for pair in PAIRS}) == len(PAIRS)


@pytest.mark.parametrize("part", ["dev", "test"])
def test_changes_are_seen_and_nothing_else_is_ended(part: str) -> None:
    found = {"replaces": [0, 0], "same": [0, 0]}
    wrong: list[dict[str, str]] = []
    others = 0
    for pair in PARTS[part]:
        got, label = outcome(pair["old"], pair["new"]), pair["label"]
        if label in found:
            found[label][0] += got == label
            found[label][1] += 1
        if label == "independent" and got != "not found":
            others += 1
            if got != "independent":
                wrong.append(pair)
    recall = {label: right / of for label, (right, of) in found.items()}
    print(f"{part}: {recall}, wrongly ended {len(wrong)} of {others}")
    assert recall["replaces"] >= 0.75
    assert recall["same"] >= 0.85
    assert len(wrong) <= 0.02 * others


@pytest.mark.slow
def test_among_many_rules_few_end_others() -> None:
    # All rules of the tagging set, in every pair: nearly all of them are about other things.
    texts = (FOLDER / "instructions.jsonl").read_text(encoding="utf-8").splitlines()
    said = [line for line in map(json.loads, texts) if line["label"] == "rule"]
    rules = [rule for line in said for rule in rules_in(line["text"])]
    pairs = list(combinations(rules, 2))
    ended = sum(bool(ended_rules(new, [known(old)])) for old, new in pairs)
    repeated = sum(bool(repeated_rule(new, [known(old)])) for old, new in pairs)
    print(f"{ended} ended and {repeated} repeated of {len(pairs)}")
    assert 0 < ended <= 0.002 * len(pairs)
    assert 0 < repeated <= 0.002 * len(pairs)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("Always answer in French.", "From now on answer in English."),
        ("No emojis please.", "You can use emojis again."),
        ("Keep it short when I ask about code.", "Give me long answers about code."),
        ("Always cite sources.", "Forget what I said about citing sources."),
        ("Give distances in miles.", "Actually, go back to metric units."),
        ("Call me Ann.", "Please call me Dr. Weber."),
        ("Keep answers under 100 words.", "Keep answers under 300 words."),
        ("When I ask for code, use Java.", "When I ask for code, use Rust from now on."),
        ("Use tabs for indentation.", "Use spaces instead of tabs."),
        ("Answer in French.", "Forget what I said about the language."),
        ("Be formal with me.", "Forget what I said about the tone."),
        ("以后请用中文回答。", "以后请用英文回答。"),
    ],
)
def test_another_wish_about_one_matter_ends_the_first(old: str, new: str) -> None:
    assert outcome(old, new) == "replaces"


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("Always cite sources.", "Always use metric units."),
        ("Use bullet points in emails.", "Use bullet points in code reviews."),
        # An exception leaves the rule.
        ("Answer in English.", "When I ask about recipes, answer in French from now on."),
        # Both can be obeyed.
        ('Don\'t use the word "delve".', 'Don\'t use the word "leverage".'),
        (
            "Remind me to drink water whenever I start work.",
            "From now on remind me to stretch whenever I start work.",
        ),
        ("Start every answer with a summary.", "From now on end every answer with a question."),
        # A word of a choice is not always a choice.
        ("Suggest Italian films.", "From now on answer in English."),
        ("Keep paragraphs short.", "I no longer want short answers."),
        ("Avoid gendered language.", "Reply in the language I write in."),
    ],
)
def test_other_matters_stay(old: str, new: str) -> None:
    assert outcome(old, new) == "independent"


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("No emojis please.", "Never use emojis."),
        ("Use type hints for code.", "For code, use type hints."),
        ("Keep it brief.", "I'd rather you kept it short."),
        ("Call me Dr. Weber.", "Address me as Dr. Weber."),
    ],
)
def test_a_rule_said_again_is_no_new_rule(old: str, new: str) -> None:
    assert outcome(old, new) == "same"
    after, before = the_rule(new), the_rule(old)
    assert after is not None
    assert before is not None
    assert ended_rules(after, [known(before)]) == ()


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("Put the code before the text.", "From now on put the code after the text."),
        ("Keep answers under 100 words.", "Keep answers over 100 words."),
        ("Start every answer with a summary.", "End every answer with a summary."),
        ("List the most important point first.", "List the least important point first."),
        ("Ask me before you send emails.", "Ask me after you send emails."),
        ("Always answer in French.", "Never answer in French."),
    ],
)
def test_small_words_that_turn_a_rule_around_are_not_overheard(old: str, new: str) -> None:
    assert outcome(old, new) != "same"


def test_of_many_rules_only_the_right_ones_end() -> None:
    said = [
        "Always answer in French.",
        "Always cite sources.",
        "Use metric units.",
        "Keep your answers short.",
        "Answer in Dutch when I ask about recipes.",
    ]
    rules = [rule for text in said if (rule := the_rule(text))]
    current = [known(rule, str(number)) for number, rule in enumerate(rules)]
    change = the_rule("From now on answer in English.")
    again = the_rule("Please always cite sources.")
    assert change is not None
    assert again is not None
    assert ended_rules(change, current) == ("0",)
    assert repeated_rule(change, current) is None
    assert repeated_rule(again, current) == "1"
    assert ended_rules(again, current) == ()
    assert ended_rules(change, []) == ()


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("Forget all my rules.", []),
        ("Scrap all my rules.", []),
        ("Forget my rules.", []),
        ("Drop all the rules I gave you.", []),
        ("Please forget all of my earlier instructions.", []),
        ("I take back what I said about metric units.", ["1", "2"]),
        ("I take back what I\u2019ve said about the units.", ["1", "2"]),
        ("Ignore my instructions about units.", ["1", "2"]),
        ("Forget my preferences regarding the language.", ["0", "1"]),
        ("Forget the metric rule.", ["1", "2"]),
    ],
)
def test_rules_are_taken_back_by_name_or_all_at_once(text: str, left: list[str]) -> None:
    said = ["Always answer in metric units.", "Never use bullet points.", "Answer in French."]
    current = [known(rules_in(each)[0], str(number)) for number, each in enumerate(said)]
    (release,) = rules_in(text)
    ended = ended_rules(release, current)
    assert [one.id for one in current if one.id not in ended] == left
    assert releases(release)
    assert repeated_rule(release, current) is None


@pytest.mark.parametrize("text", ["Bullet points are fine again.", "Bullets are okay again."])
def test_what_is_allowed_again_ends_the_ban(text: str) -> None:
    said = ["Always answer in metric units.", "Never use bullet points."]
    current = [known(rules_in(each)[0], str(number)) for number, each in enumerate(said)]
    (allowed,) = rules_in(text)
    assert ended_rules(allowed, current) == ("1",)
    assert not releases(allowed)


def test_what_is_taken_back_is_not_said_again() -> None:
    release = the_rule("Forget what I said about citing sources.")
    assert release is not None
    assert repeated_rule(release, [known(release)]) is None
    assert releases(release)
    stop = the_rule("Stop citing sources.")
    assert stop is not None
    assert not releases(stop)


def test_what_is_ended_is_found_by_its_traits_and_most_else_is_left_aside() -> None:
    texts = {pair[side] for pair in PARTS["test"] for side in ("old", "new")}
    texts |= {"Forget all my rules.", "No emojis, please.", "You can use emojis again."}
    rules = [rule for text in sorted(texts) if (rule := the_rule(text))]
    ones = [known(rule, str(number)) for number, rule in enumerate(rules)]
    found_by = [traits(one) for one in ones]
    looked_at = 0
    for rule in rules:
        sought = seeks(known(rule))
        if sought is None:
            assert rule.sentence == "Forget all my rules."
            continue
        pairs = [*zip(ones, found_by, strict=True)]
        aside = [one for one, its in pairs if not sought & its]
        looked_at += len(ones) - len(aside)
        assert (repeated_rule(rule, aside), ended_rules(rule, aside)) == (None, ()), rule.sentence
    assert looked_at < len(rules) ** 2 / 20
