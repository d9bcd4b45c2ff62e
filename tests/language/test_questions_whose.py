"""Whose words a question asks for."""

import pytest

from holdfast.language.questions import whose


@pytest.mark.parametrize(
    "text",
    [
        "What did you recommend for the trip?",
        "How did you suggest I structure my day?",
        "Which books have you mentioned so far?",
        "Remind me of your advice on saving.",
        "What were the steps you outlined for the cake?",
        "What was your second suggestion?",
    ],
)
def test_the_assistants_words(text: str) -> None:
    assert whose(text) == "machine"


@pytest.mark.parametrize(
    "text", ["Summarize my week.", "Give me an overview of the project", "Can you recap our talks?"]
)
def test_a_summary_needs_both_sides(text: str) -> None:
    assert whose(text) == "both"


@pytest.mark.parametrize(
    "text",
    [
        "Where do I live?",
        "What did I tell you about my sister?",
        "Can you suggest a restaurant?",
        "What would you recommend?",
        "Do you know when Ann was born?",
        "我住在哪里？",
        "",
    ],
)
def test_peoples_words(text: str) -> None:
    assert whose(text) == "people"
