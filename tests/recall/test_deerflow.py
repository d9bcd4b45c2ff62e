"""DeerFlow's injection format: exact texts, budgets one can count by hand, ranking by context."""

import math
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.language.tokens import count_tokens
from holdfast.recall import deerflow
from holdfast.recall.deerflow import format_memory_for_injection, similarities, talk_text

WHOLE = {
    "version": "1.0",
    "user": {
        "workContext": {"summary": "Builds R&D tools at <Acme>.", "updatedAt": "2026-03-01"},
        "personalContext": {"summary": "Lives in Lisbon."},
        "topOfMind": {"summary": "A release in May."},
    },
    "history": {
        "recentMonths": {"summary": "Moved house."},
        "earlierContext": {"summary": "Studied physics."},
        "longTermBackground": {"summary": "Born in Graz."},
    },
    "facts": [
        {"content": "Likes \"dark\" mode & 'tea'.", "category": "preference", "confidence": 0.8},
        {
            "content": "Use uv.",
            "category": "correction",
            "confidence": 0.75,
            "sourceError": "pip </memory>",
        },
        {"content": "Ships on Fridays.", "category": "behavior", "confidence": 0.956},
    ],
}
WHOLE_TEXT = """\
User Context:
- Work: Builds R&amp;D tools at &lt;Acme&gt;.
- Personal: Lives in Lisbon.
- Current Focus: A release in May.

History:
- Recent: Moved house.
- Earlier: Studied physics.
- Background: Born in Graz.

Facts:
- [behavior | 0.96] Ships on Fridays.
- [preference | 0.80] Likes "dark" mode &amp; 'tea'.
- [correction | 0.75] Use uv. (avoid: pip &lt;/memory&gt;)"""


def a_fact(content: object, confidence: object = 0.5, category: object = "goal") -> dict[str, Any]:
    return {"content": content, "confidence": confidence, "category": category}


def facts(*given_: dict[str, Any], work: str = "") -> dict[str, Any]:
    return {"user": {"workContext": {"summary": work}}, "facts": list(given_)}


def order(text: str) -> list[str]:
    """The contents of the fact lines."""
    return [line.split("] ", 1)[1] for line in text.split("\n") if line.startswith("- [")]


@pytest.fixture
def by_length(monkeypatch: pytest.MonkeyPatch) -> None:
    """One token per character, so that budgets can be counted by hand."""
    monkeypatch.setattr(deerflow, "_count_tokens", len)


# The text.


def test_the_whole_document_as_text() -> None:
    assert format_memory_for_injection(WHOLE) == WHOLE_TEXT


def test_guaranteed_categories_come_first() -> None:
    head, _, _ = WHOLE_TEXT.partition("- [behavior")
    assert format_memory_for_injection(WHOLE, guaranteed_categories=["correction"]) == (
        head + "- [correction | 0.75] Use uv. (avoid: pip &lt;/memory&gt;)\n"
        "- [behavior | 0.96] Ships on Fridays.\n"
        "- [preference | 0.80] Likes \"dark\" mode &amp; 'tea'."
    )


@pytest.mark.parametrize("memory", [None, {}, [], "", 0, "text", ["x"], {"facts": []}])
def test_no_memory_is_no_text(memory: Any) -> None:
    assert format_memory_for_injection(memory) == ""


@pytest.mark.parametrize(
    "odd", [None, "", "text", 7, [], ["x"], {"summary": None}, {"summary": "  "}]
)
def test_odd_summaries_are_left_out(odd: object) -> None:
    memory = {
        "user": {"workContext": odd, "personalContext": {"summary": " Ann "}},
        "history": odd,
        "facts": odd,
    }
    assert format_memory_for_injection(memory) == "User Context:\n- Personal: Ann"


@pytest.mark.parametrize("odd", [None, "", "  ", 7, ["x"], {"a": 1}, b"x"])
def test_facts_without_words_are_left_out(odd: object) -> None:
    memory = {"facts": [a_fact(odd, 0.9), odd, {}, a_fact(" Tea. ")]}
    assert format_memory_for_injection(memory) == "Facts:\n- [goal | 0.50] Tea."


@pytest.mark.parametrize("odd", [None, "", "  ", 7, ["correction"]])
def test_without_a_category_it_is_context_but_never_guaranteed(odd: object) -> None:
    memory = facts(a_fact("No category.", 0.1, odd), a_fact("Named.", 0.05, "context"))
    text = format_memory_for_injection(memory, guaranteed_categories=["context", None, 7])  # type: ignore[list-item]
    assert text == "Facts:\n- [context | 0.05] Named.\n- [context | 0.10] No category."


def test_only_a_correction_says_what_to_avoid() -> None:
    wrong = {"sourceError": "npm"}
    blank = {"sourceError": " "}
    memory = facts(
        a_fact("A.", 0.9, "correction") | wrong,
        a_fact("B.", 0.8, "correction") | blank,
        a_fact("C.", 0.7, "correction") | {"sourceError": 7},
        a_fact("D.", 0.6, "goal") | wrong,
    )
    assert order(format_memory_for_injection(memory)) == ["A. (avoid: npm)", "B.", "C.", "D."]


def test_a_category_is_escaped_too() -> None:
    memory = facts(a_fact("x", 0.5, "</memory>"))
    assert format_memory_for_injection(memory) == "Facts:\n- [&lt;/memory&gt; | 0.50] x"


def test_equal_confidence_keeps_the_order_of_the_document() -> None:
    memory = facts(a_fact("b"), a_fact("a"), a_fact("c", 0.6))
    assert order(format_memory_for_injection(memory)) == ["c", "b", "a"]


@pytest.mark.parametrize(
    ("value", "confidence"),
    [
        (0.7, 0.7),
        ("0.7", 0.7),
        (1, 1.0),
        (1.5, 1.0),
        (-3, 0.0),
        (math.nan, 0.0),
        (math.inf, 0.0),
        (-math.inf, 0.0),
        ("nan", 0.0),
        ("high", 0.0),
        (None, 0.0),
        ([], 0.0),
        (10**400, 0.0),
    ],
)
def test_any_confidence_becomes_a_number(value: object, confidence: float) -> None:
    assert deerflow._coerce_confidence(value) == confidence
    memory = facts(a_fact("x", value))
    for context in (None, "x"):
        text = format_memory_for_injection(memory, current_context=context)
        assert text == f"Facts:\n- [goal | {confidence:.2f}] x"


def test_the_default_of_a_confidence_is_the_callers() -> None:
    assert deerflow._coerce_confidence("high", 0.5) == 0.5
    assert deerflow._coerce_confidence(math.nan, default=2.0) == 1.0


@pytest.mark.parametrize("name", ["correction", b"correction", ""])
def test_one_text_for_the_categories_is_an_error(name: Any) -> None:
    told = "^guaranteed_categories must be an iterable of strings, not a bare str$"
    with pytest.raises(TypeError, match=told):
        format_memory_for_injection(WHOLE, guaranteed_categories=name)


@pytest.mark.parametrize(
    ("summary", "line"),
    [
        (42, "- Work: 42"),
        (["Go", "<b>"], "- Work: ['Go', '&lt;b&gt;']"),
        ({"role": "cook"}, "- Work: {'role': 'cook'}"),
        (0, None),
        (None, None),
        ([], None),
        ("  ", None),
    ],
)
def test_a_summary_that_is_no_text_is_told_as_it_prints(summary: Any, line: str | None) -> None:
    memory = {"user": {"workContext": {"summary": summary}}}
    expected = f"User Context:\n{line}" if line else ""
    assert format_memory_for_injection(memory) == expected


# The budget.


@pytest.mark.parametrize(("max_tokens", "kept"), [(48, "ab"), (47, "a"), (27, "a"), (26, "")])
@pytest.mark.usefixtures("by_length")
def test_lines_fit_to_the_token(max_tokens: int, kept: str) -> None:
    # "Facts:\n" 7, the first line 20, a line break and the second line 21.
    memory = facts(a_fact("aaaa", 0.9), a_fact("bbbb", 0.8))
    text = format_memory_for_injection(memory, max_tokens)
    assert order(text) == [c * 4 for c in kept]
    assert len(text) <= max_tokens


@pytest.mark.parametrize(("max_tokens", "kept"), [(54, ["aaaa"]), (53, [])])
@pytest.mark.usefixtures("by_length")
def test_summaries_and_their_separator_are_charged(max_tokens: int, kept: list[str]) -> None:
    # "User Context:\n- Work: dev" 25, "\n\nFacts:\n" 9, the line 20.
    text = format_memory_for_injection(facts(a_fact("aaaa"), work="dev"), max_tokens)
    assert order(text) == kept
    assert text.startswith("User Context:\n- Work: dev")


@pytest.mark.usefixtures("by_length")
def test_selection_stops_at_the_first_line_that_does_not_fit() -> None:
    memory = facts(a_fact("a", 0.9), a_fact("b" * 500, 0.8), a_fact("c", 0.7))
    assert order(format_memory_for_injection(memory, 100)) == ["a"]


@pytest.mark.parametrize(("max_tokens", "kept"), [(54, ["cccc", "aaaa"]), (53, ["cccc"])])
@pytest.mark.usefixtures("by_length")
def test_regular_facts_get_what_is_left(max_tokens: int, kept: list[str]) -> None:
    # "Facts:\n" 7, the correction 26, the line break between 1, the other line 20.
    memory = facts(a_fact("aaaa", 0.9), a_fact("cccc", 0.5, "correction"))
    text = format_memory_for_injection(memory, max_tokens, guaranteed_categories=["correction"])
    assert order(text) == kept


@pytest.mark.parametrize(("budget", "kept"), [(53, "cd"), (52, "c"), (26, "c"), (25, ""), (0, "")])
@pytest.mark.usefixtures("by_length")
def test_the_guaranteed_have_their_own_budget(budget: int, kept: str) -> None:
    # The first correction 26, a line break and the second one 27.
    memory = facts(a_fact("dddd", 0.4, "correction"), a_fact("cccc", 0.5, "correction"))
    text = format_memory_for_injection(
        memory, guaranteed_categories={"correction"}, guaranteed_token_budget=budget
    )
    assert order(text) == [c * 4 for c in kept]


@pytest.mark.parametrize("max_tokens", [0, 1, 7, 32, -5])
@pytest.mark.usefixtures("by_length")
def test_guaranteed_facts_stay_whatever_the_budget(max_tokens: int) -> None:
    memory = facts(a_fact("aaaa", 0.9), a_fact("cccc", 0.5, "correction"), work="dev")
    text = format_memory_for_injection(memory, max_tokens, guaranteed_categories=["correction"])
    assert text.endswith("Facts:\n- [correction | 0.50] cccc")


@pytest.mark.usefixtures("by_length")
def test_long_summaries_are_cut_before_the_facts() -> None:
    # 222 characters; room for max_tokens 100 + correction 26 - suffix 35 = 91; 95 % of it: 86.
    memory = facts(a_fact("cccc", 0.5, "correction"), work="x" * 200)
    text = format_memory_for_injection(memory, 100, guaranteed_categories=["correction"])
    assert text == (
        "User Context:\n- Work: " + "x" * 64 + "\n...\n\nFacts:\n- [correction | 0.50] cccc"
    )
    assert len(text) <= 100 + 26


@pytest.mark.usefixtures("by_length")
def test_summaries_alone_are_cut_at_95_percent() -> None:
    text = format_memory_for_injection(facts(a_fact("a"), work="x" * 200), 100)
    assert text == "User Context:\n- Work: " + "x" * 73 + "\n..."


def test_an_uneven_text_is_cut_until_it_fits() -> None:
    # The kept start is far denser in tokens than the end that is cut off.
    memory = facts(work="漢字仮名交じり文" * 40 + "the cat sat on the mat " * 100)
    text = format_memory_for_injection(memory, 200)
    assert text.endswith("\n...")
    assert 150 < count_tokens(text) <= 200


@pytest.mark.parametrize("max_tokens", [0, 1, 2, -1])
def test_a_budget_for_nothing_gives_nothing(max_tokens: int) -> None:
    assert format_memory_for_injection(WHOLE, max_tokens) == ""


@pytest.mark.parametrize(
    "counter",
    [
        len,
        lambda text, encoding_name="cl100k_base": len(text),
        lambda text, *, use_tiktoken=True: len(text) * use_tiktoken,
        lambda text, *args, **kwargs: len(text),
    ],
)
def test_the_counter_can_be_replaced(
    counter: Callable[..., int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(deerflow, "_count_tokens", counter)
    memory = facts(a_fact("aaaa", 0.9), a_fact("bbbb", 0.8))
    assert order(format_memory_for_injection(memory, 47)) == ["aaaa"]


def test_tokens_are_counted_exactly_or_estimated() -> None:
    text = "I moved to Lisbon in March. 我搬到了里斯本"
    assert deerflow._count_tokens(text) == count_tokens(text)
    assert deerflow._count_tokens(text, use_tiktoken=False) == 28 // 4 + 7 // 2
    assert deerflow._count_tokens("", use_tiktoken=False) == 0


def test_the_estimate_decides_when_asked_to() -> None:
    # "Facts:\n" 7 // 4 = 1 and each line 20 or 21 // 4 = 5, but the whole is 48 // 4 = 12: rounding
    # down part by part must not carry the text over its budget.
    memory = facts(a_fact("aaaa", 0.9), a_fact("bbbb", 0.8))
    assert order(format_memory_for_injection(memory, 12, use_tiktoken=False)) == ["aaaa", "bbbb"]
    assert order(format_memory_for_injection(memory, 11, use_tiktoken=False)) == ["aaaa"]
    assert order(format_memory_for_injection(memory, 5, use_tiktoken=False)) == []


@pytest.mark.usefixtures("by_length")
def test_lines_are_selected_in_the_order_given() -> None:
    ranked = [a_fact("aaaa", 0.1), a_fact(None), a_fact("bbbb", 0.9)]
    one, two = "- [goal | 0.10] aaaa", "- [goal | 0.90] bbbb"
    select = deerflow._select_fact_lines
    assert select(ranked, 41) == ([one, two], 41)
    assert select(ranked, token_budget=40) == ([one], 20)
    assert select(ranked, 42, fact_lines=["x"]) == ([one, two], 42)
    assert select(ranked, 50, running_tokens=10) == ([one], 20)
    assert select([], 50) == ([], 0)


# When something fails.


@pytest.mark.parametrize("name", ["_select_fact_lines", "similarities"])
def test_a_failure_leaves_the_facts_by_confidence(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise RuntimeError(name)

    monkeypatch.setattr(deerflow, name, fail)
    text = format_memory_for_injection(
        WHOLE, guaranteed_categories=["correction"], current_context="dark mode"
    )
    assert text == WHOLE_TEXT


def test_a_selection_can_be_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(deerflow, "_select_fact_lines", lambda *_, **__: (["- mine"], 2))
    assert format_memory_for_injection(facts(a_fact("x"))) == "Facts:\n- mine"


# Ranking by context.

RELEVANT = a_fact("Prefers dark mode in the editor.", 0.70, "preference")
IRRELEVANT = a_fact("Has two cats.", 0.95, "context")
BOTH = facts(IRRELEVANT, RELEVANT)
CATS_FIRST = ["Has two cats.", "Prefers dark mode in the editor."]
MODE_FIRST = CATS_FIRST[::-1]


def test_a_relevant_fact_beats_a_surer_one() -> None:
    context = "Which editor theme, dark mode?"
    alike, unlike = similarities([RELEVANT["content"], IRRELEVANT["content"]], context)
    assert unlike == 0
    assert 0.6 * alike > 0.4 * (0.95 - 0.70)
    assert order(format_memory_for_injection(BOTH, current_context=context)) == MODE_FIRST


def test_the_line_is_crossed_at_a_sixth() -> None:
    # One shared word among many: the longer the talk of other things, the smaller the cosine.
    seen = set()
    for length in range(40):
        context = "dark " + " ".join(f"word{n}" for n in range(length))
        alike, _ = similarities([RELEVANT["content"], IRRELEVANT["content"]], context)
        wins = order(format_memory_for_injection(BOTH, current_context=context)) == MODE_FIRST
        assert wins == (alike > 0.25 * 0.4 / 0.6)
        seen.add(wins)
    assert seen == {True, False}


@pytest.mark.parametrize(
    "context", [None, "", " \n\t", [], [{"role": "tool", "content": "dark mode"}]]
)
def test_without_context_confidence_decides(context: Any) -> None:
    text = format_memory_for_injection(BOTH, current_context=context)
    assert text == format_memory_for_injection(BOTH)
    assert order(text) == CATS_FIRST


def test_weights_of_one_and_zero_are_the_pure_orders() -> None:
    def ranked(similarity: float, confidence: float) -> list[str]:
        text = format_memory_for_injection(
            BOTH,
            current_context="dark mode",
            similarity_weight=similarity,
            confidence_weight=confidence,
        )
        return order(text)

    assert ranked(0, 1) == CATS_FIRST
    assert ranked(1, 0) == MODE_FIRST
    assert ranked(0, 0) == CATS_FIRST


@pytest.mark.parametrize("weight", [-0.1, math.nan, math.inf])
def test_a_weight_that_is_none_is_an_error(weight: float) -> None:
    with pytest.raises(ValueError, match="weight"):
        format_memory_for_injection(BOTH, similarity_weight=weight)
    with pytest.raises(ValueError, match="weight"):
        format_memory_for_injection(BOTH, confidence_weight=weight)


@pytest.mark.parametrize("context", ["no word in common", "?!", "the of", "x" * 100_000])
def test_a_context_that_says_nothing_changes_nothing(context: str) -> None:
    text = format_memory_for_injection(BOTH, current_context=context)
    assert text == format_memory_for_injection(BOTH)


def test_context_works_in_other_scripts() -> None:
    memory = facts(a_fact("用户养了两只猫", 0.95), a_fact("用户喜欢深色模式", 0.7))
    text = format_memory_for_injection(memory, current_context="编辑器要深色模式吗？")
    assert order(text) == ["用户喜欢深色模式", "用户养了两只猫"]


def test_context_leaves_the_guaranteed_as_they_are() -> None:
    memory = facts(
        IRRELEVANT,
        RELEVANT,
        a_fact("Say Ann.", 0.9, "correction"),
        a_fact("Dark mode is the default.", 0.8, "correction"),
    )
    text = format_memory_for_injection(
        memory, guaranteed_categories=["correction"], current_context="dark mode"
    )
    assert order(text) == ["Say Ann.", "Dark mode is the default.", *MODE_FIRST]


def test_of_messages_only_the_conversation_counts() -> None:
    messages = [
        {"role": "system", "content": "You are helpful."},
        {"role": "user", "content": "Dark mode?"},
        {"role": "assistant", "content": "Looking.", "tool_calls": [{"name": "search"}]},
        {"role": "tool", "content": "cats cats cats"},
        {"role": "assistant", "content": [{"type": "text", "text": "Done."}, {"type": "image"}]},
        SimpleNamespace(type="human", content="Thanks."),
        SimpleNamespace(type="ai", content="More?", tool_calls=[]),
        SimpleNamespace(type="ai", content="cats", tool_calls=[{"name": "search"}]),
        None,
        "stray",
        {"role": "user", "content": None},
    ]
    assert talk_text(messages) == "Dark mode?\nDone.\nThanks.\nMore?"
    assert talk_text(messages, turns=2) == "Thanks.\nMore?"
    assert order(format_memory_for_injection(BOTH, current_context=messages)) == MODE_FIRST


# Properties.

WORDS = st.lists(
    st.sampled_from(
        ["dark", "mode", "cat", "Lisbon", "漢字", "<&>", "🚀", "\n", "don't", "  ", "x" * 30]
    )
    | st.text(max_size=6),
    max_size=12,
).map(" ".join)
FACT = st.builds(
    a_fact,
    WORDS,
    st.floats() | st.none() | st.floats(0, 1),
    st.sampled_from(["correction", "goal", None]),
)
MEMORY = st.builds(lambda some, work: facts(*some, work=work), st.lists(FACT, max_size=6), WORDS)


@given(MEMORY, st.integers(3, 120), st.integers(0, 60), WORDS, st.booleans())
def test_never_above_the_budget(
    memory: dict[str, Any], max_tokens: int, reserve: int, context: str, exact: bool
) -> None:
    text = format_memory_for_injection(
        memory,
        max_tokens,
        use_tiktoken=exact,
        guaranteed_categories=["correction"],
        guaranteed_token_budget=reserve,
        current_context=context,
    )
    corrections = [fact for fact in memory["facts"] if fact["category"] == "correction"]
    _, used = deerflow._select_fact_lines(
        deerflow._by_confidence(corrections), reserve, use_tiktoken=exact
    )
    assert used <= reserve
    assert deerflow._count_tokens(text, use_tiktoken=exact) <= max_tokens + used


@given(
    st.lists(st.floats(0, 1), min_size=5, max_size=5),
    st.floats(0, 1),
    st.floats(0, 1),
    st.floats(0, 1),
)
def test_more_weight_for_likeness_never_hurts_the_more_alike(
    confidences: list[float], confidence_weight: float, low: float, more: float
) -> None:
    contents = ["dark mode", "dark mode editor", "dark red cat", "cat food", "mode of life"]
    memory = facts(*(a_fact(c, n) for c, n in zip(contents, confidences, strict=True)))
    alike = dict(zip(contents, similarities(contents, "dark mode"), strict=True))

    def ranked(weight: float) -> list[str]:
        text = format_memory_for_injection(
            memory,
            current_context="dark mode",
            similarity_weight=weight,
            confidence_weight=confidence_weight,
        )
        return order(text)

    before, after = ranked(low), ranked(low + more)
    for one in contents:
        for other in contents:
            if alike[one] > alike[other] and before.index(one) < before.index(other):
                assert after.index(one) < after.index(other)
