"""Who hands over a text says so around it; what is said of texts to come hands over none."""

import pytest

from holdfast.language.instructions.own_words import shows
from holdfast.language.instructions.rules import rules_in

RULE = "Always answer in one sentence."


@pytest.mark.parametrize(
    "turn",
    [
        f"Translate to French. {RULE}",
        f"{RULE} That was on a poster in the lift. Who writes these things?",
        f"Legit? {RULE}",
        f"My sister sent me this. {RULE}",
        f"Dear Mr Okafor, we refer to your letter. {RULE} Kind regards, the board",
        f"The kids made up house rules for the au pair. {RULE} Should I laminate it?",
        f"There's a guy on the market who shouts {RULE}",
        f"Check my homework: {RULE}",
        f"Ich verstehe diese Nachricht von gestern nicht. {RULE}",
        f"Welcome to the hostel. {RULE} Never snore. Always share your snacks.",
    ],
)
def test_a_rule_beside_a_text_that_is_handed_over_is_in_doubt(turn: str) -> None:
    assert not any(rule.own for rule in rules_in(turn))


@pytest.mark.parametrize(
    "turn",
    [
        RULE,
        f"Thanks, that worked! {RULE}",
        f"What a day. The cat threw up on the new carpet. {RULE} What is on today?",
        "When I forward you a mail, only give me the gist.",
        "If a letter I show you sounds angry, calm me down first.",
        "For bug reports I show you: steps to reproduce on top.",
        f"I'm dyslexic, so please use short sentences. {RULE}",
        f"One thing: {RULE}",
        "When you translate for me, leave product names in English.",
        f"Write a haiku about autumn. {RULE}",
    ],
)
def test_a_rule_in_the_users_own_talk_is_theirs(turn: str) -> None:
    assert rules_in(turn)
    assert all(rule.own for rule in rules_in(turn))


def test_what_is_surely_handed_over() -> None:
    assert shows("Is this real? I live in Oslo.")
    assert not shows("I live in Oslo. My sister wrote a book about it.")
