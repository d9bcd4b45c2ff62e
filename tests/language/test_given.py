"""One thing for one case: the later one takes the place of the earlier."""

from __future__ import annotations

import pytest

from holdfast.language.instructions.rules import rules_in
from holdfast.language.instructions.supersede import KnownRule, ended_rules


def ends(new: str, old: str) -> bool:
    (later,), (earlier,) = rules_in(new), rules_in(old)
    known = KnownRule("r", earlier.rule, earlier.condition, earlier.sentence)
    return ended_rules(later, [known]) == ("r",)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("When I ask for code, give me Python.", "When I ask for code, give me Go."),
        (
            "When I ask for a sketch, show me pencil.",
            "When I ask for a sketch, show me charcoal.",
        ),
    ],
)
def test_another_thing_for_the_same_case_ends_the_first(old: str, new: str) -> None:
    assert ends(new, old)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("When I ask for code, give me Python.", "When I ask for recipes, give me grams."),
        (
            "When I ask for code, give me Python.",
            "When I ask for code, give me short comments too.",
        ),
    ],
)
def test_another_case_or_more_of_it_ends_nothing(old: str, new: str) -> None:
    assert not ends(new, old)
