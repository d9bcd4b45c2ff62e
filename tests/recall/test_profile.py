"""A message calls for a task profile by what it asks, not by the words it happens to use."""

import json
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.config import Boosting, Config, load
from holdfast.errors import InvalidInput
from holdfast.language.triggers import EVERYDAY, EXAMPLES, SENSES
from holdfast.models.local import LocalEmbedder
from holdfast.recall.profile import (
    BARE,
    CLEAR,
    Detected,
    PhraseVectors,
    choose,
    detect,
    phrases,
    tier_weights,
)
from holdfast.settings import BUILT_IN, GENERAL, TaskProfile
from holdfast.types import ALL_TIERS

HERE = Path(__file__).parent
EMBEDDER = LocalEmbedder()


def messages(name: str) -> list[dict[str, str]]:
    return [json.loads(line) for line in (HERE / name).read_text(encoding="utf-8").splitlines()]


#: Odd lines served to set the words and the constants, even lines to test them.
MESSAGES = messages("task_messages.jsonl")
#: Written when all was settled.
UNSEEN = messages("task_messages_unseen.jsonl")


@pytest.fixture(scope="module")
def vectors() -> PhraseVectors:
    told = phrases(BUILT_IN)
    return PhraseVectors(tuple(told), EMBEDDER.embed(told))


def rows(vectors: dict[str, Any]) -> PhraseVectors:
    return PhraseVectors(tuple(vectors), np.stack(list(vectors.values())))


def named(text: str, profiles: Sequence[TaskProfile] = BUILT_IN) -> str:
    return detect(text, None, profiles, None).name


def custom(*triggers: str, name: str = "cooking") -> tuple[TaskProfile, ...]:
    return (*BUILT_IN, TaskProfile(name, triggers=triggers))


# --- what is heard ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "profile"),
    [
        ("traceback in the failing test", "debugging"),
        ("argue against and refute this", "debate"),
        ("research battery chemistry", "research"),
        ("compare sources on this", "research"),
        ("Please summarise the report", "research"),
        ("What is the weather like?", "general"),
        ("", "general"),
        ("   \n\t ", "general"),
        ("?!", "general"),
    ],
)
def test_a_trigger_calls_for_its_profile(text: str, profile: str) -> None:
    assert named(text) == profile


@pytest.mark.parametrize("profile", [profile for profile in BUILT_IN if profile.triggers])
def test_every_built_in_trigger_is_heard_in_a_request(profile: TaskProfile) -> None:
    requests = {
        "error": "I get this error", "exception": "It raises an exception here",
        "traceback": "Here is the traceback", "bug": "Find the bug",
        "failing": "My test is failing",
        "counter": "Counter this claim", "evidence": "What evidence is there for it?",
    }  # fmt: skip
    for trigger in profile.triggers:
        text = requests.get(trigger, f"Please {trigger} on this.")
        assert detect(text, None, BUILT_IN, None) == Detected(profile.name, CLEAR, (trigger,))


@pytest.mark.parametrize(
    "text",
    [
        "I keep getting TypeError: 'NoneType' object is not callable",
        'File "run.py", line 7, in <module>',
        "the process exits with code 1",
        "My app crashes at start",
        "Why does this query hang?",
        "=SUM(A1) now shows #REF!",
    ],
)
def test_shapes_and_symptoms_of_failure_are_debugging(text: str) -> None:
    assert named(text) == "debugging"


@pytest.mark.parametrize(
    "text",
    [
        "It ran with no error",
        "It finished without a single error, thanks!",
        "There were never any bugs",
        "I don't want to argue",
        "There is no evidence that it rained",
    ],
)
def test_what_is_denied_does_not_count(text: str) -> None:
    assert detect(text, None, BUILT_IN, None) == Detected(GENERAL)


def test_a_denial_is_of_its_own_place() -> None:
    assert named("No error in the first file, but an error in the second") == "debugging"


@pytest.mark.parametrize(
    "text",
    [
        "The counter is made of marble",
        "Bug spray and sunscreen, please",
        "They made an exception for us",
        "The margin of error was small",
        "She is the defending champion",
        "I applied for a research assistant position",
        "They moved for summary judgment",
        "The band broke up",
    ],
)
def test_another_meaning_does_not_count(text: str) -> None:
    assert named(text) == "general"


@pytest.mark.parametrize(
    "text",
    [
        "Which error did I mention last week?",
        "What did Ann argue in the meeting?",
        "Summarize what we talked about yesterday",
        "Do you remember the bug we had in May?",
        "Give me a summary of my plans",
    ],
)
def test_a_question_about_the_past_is_no_task(text: str) -> None:
    assert named(text) == "general"


def test_a_task_beside_a_question_about_the_past_is_one() -> None:
    assert named("How did I fix this? It fails again: KeyError: 'x' in the script") == "debugging"
    assert named("Summarize what I pasted below") == "research"
    assert named("What did I do wrong? My loop never ends, I get an error") == "debugging"


def test_one_bare_word_is_too_little_and_two_are_enough() -> None:
    assert named("The evidence was on the table") == "general"
    both = detect("He objects; his evidence, his arguments", None, BUILT_IN, None)
    assert both == Detected("debate", both.score, ("argue", "evidence"))
    assert both.score == pytest.approx(2 * BARE)


def test_the_higher_score_wins() -> None:
    two_to_one = "Refute and counter this claim about the error"
    assert detect(two_to_one, None, BUILT_IN, None) == Detected(
        "debate", 2.0, ("counter", "refute")
    )
    assert named("Research the bug: here is the traceback and the error") == "debugging"


def test_of_equals_the_first_in_the_settings_wins() -> None:
    text = "Refute the error"
    assert named(text) == "debugging"
    assert named(text, BUILT_IN[::-1]) == "debate"


def test_a_long_text_is_read_at_its_ends() -> None:
    filler = "Nothing of note happened on that day. " * 3000
    assert named(f"I get an error: {filler}") == "debugging"
    assert named(f"{filler} Please refute this.") == "debate"
    assert named(f"{filler} I get an error. {filler}") == "general"


# --- custom profiles ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("trigger", "text"),
    [
        ("bake", "We were baking all day"),
        ("meal plan", "two meal plans, please"),
        ("Crème brûlée", "a creme brulee for four"),
        ("错误", "这里有一个错误需要修复"),
        ("🐛", "look 🐛"),
        ("to do", "add it to the list of things to do"),
    ],
)
def test_a_custom_trigger_is_heard_in_any_form(trigger: str, text: str) -> None:
    assert detect(text, None, custom(trigger), None) == Detected("cooking", 1.0, (trigger,))


@pytest.mark.parametrize(
    ("trigger", "text"),
    [("bake", "no baking today"), ("plan", "an explanation"), ("meal plan", "a plan for a meal")],
)
def test_a_custom_trigger_that_is_denied_or_another_word_is_not(trigger: str, text: str) -> None:
    assert named(text, custom(trigger)) == "general"


def test_a_custom_trigger_is_a_plain_word_whatever_it_means_elsewhere() -> None:
    assert named("I sat at the counter", custom("counter", name="cafe")) == "cafe"
    assert named("Where did we find the recipe?", custom("recipe")) == "cooking"


def test_a_replaced_profile_listens_to_its_new_triggers_only() -> None:
    profiles = load({"boosting.profiles.debugging.triggers": ["kaput"]}).boosting.profiles
    assert named("my code is kaput", profiles) == "debugging"
    assert named("I get an error", profiles) == "general"


# --- by meaning ---------------------------------------------------------------------------------


def unit(*values: float) -> np.ndarray:
    vector = np.array(values, dtype=np.float32)
    return vector / np.linalg.norm(vector)


@pytest.mark.parametrize(("cosine", "score"), [(0.55, 0), (0.77, 0), (0.79, 0.24 / 0.45), (1, 1)])
def test_a_trigger_near_in_meaning_counts_by_its_cosine(cosine: float, score: float) -> None:
    near = unit(cosine, np.sqrt(1 - cosine**2) if cosine < 1 else 0)
    found = detect("dinner ideas", unit(1, 0), custom("recipe"), rows({"recipe": near}))
    assert found.name == ("cooking" if score else GENERAL)
    assert found.score == pytest.approx(score, abs=1e-5)


def test_examples_count_by_how_much_nearer_they_are_than_the_everyday() -> None:
    text, at = "Kindly do the thing", unit(1, 0)
    examples = [each for (name, _), told in EXAMPLES.items() if name == "debate" for each in told]
    near = dict.fromkeys(examples, unit(0.36, np.sqrt(1 - 0.36**2)))
    far = dict.fromkeys(EVERYDAY, unit(0.22, np.sqrt(1 - 0.22**2)))
    found = detect(text, at, BUILT_IN, rows(near | far))
    assert (found.name, found.triggers) == ("debate", ())
    assert found.score == pytest.approx(4.5 * 0.14, abs=1e-4)
    # Half of it in a personal question, nothing about the past or beside another meaning.
    for other in ("What should I do?", "What did I do?", "I sat at the counter"):
        assert detect(other, at, BUILT_IN, rows(near | far)) == Detected(GENERAL)


def test_phrases_are_all_that_need_embedding_each_once() -> None:
    told = phrases(custom("recipe", "error"))
    assert len(told) == len(set(told))
    assert {"recipe", "compare sources", "failing", *EVERYDAY} <= set(told)
    assert len(told) < 100  # A few hundred milliseconds, once.
    assert set(EXAMPLES) == set(SENSES) == {(p.name, t) for p in BUILT_IN for t in p.triggers}


# --- how often it is right ----------------------------------------------------------------------


def accuracy(rows: list[dict[str, str]], vectors: PhraseVectors | None) -> float:
    texts = [row["text"] for row in rows]
    embedded = EMBEDDER.embed(texts) if vectors else [None] * len(texts)
    found = [
        detect(text, vector, BUILT_IN, vectors).name
        for text, vector in zip(texts, embedded, strict=True)
    ]
    right = [row["profile"] == name for row, name in zip(rows, found, strict=True)]
    return sum(right) / len(right)


def test_the_messages_are_enough_and_hold_traps() -> None:
    for rows in (MESSAGES[0::2], MESSAGES[1::2]):
        counts = [sum(row["profile"] == profile.name for row in rows) for profile in BUILT_IN]
        assert counts == [15, 15, 15, 15]
        assert sum("trap" in row for row in rows) >= 5
    assert not {row["text"] for row in MESSAGES} & {row["text"] for row in UNSEEN}


def test_with_embeddings_it_is_right_at_least_85_times_of_100(vectors: PhraseVectors) -> None:
    assert accuracy(MESSAGES, vectors) >= 0.85
    assert accuracy(MESSAGES[1::2], vectors) >= 0.85
    assert accuracy(UNSEEN, vectors) >= 0.85


def test_without_embeddings_what_is_named_is_still_found() -> None:
    assert accuracy(MESSAGES, None) >= 0.85
    assert accuracy(UNSEEN, None) >= 0.6  # Most of these avoid the triggers.


def test_traps_do_not_leave_general(vectors: PhraseVectors) -> None:
    traps = [row for row in MESSAGES if "trap" in row]
    assert accuracy(traps, vectors) >= 0.9


# --- time and hostile text ----------------------------------------------------------------------


def test_it_takes_less_than_two_milliseconds(vectors: PhraseVectors) -> None:
    texts = [row["text"] for row in MESSAGES + UNSEEN]
    embedded = EMBEDDER.embed(texts)
    spent = []
    for turn in range(1000):
        at = turn % len(texts)
        # Time of this thread: what other processes take is not ours.
        began = time.thread_time()
        detect(texts[at], embedded[at], BUILT_IN, vectors)
        spent.append(time.thread_time() - began)
    assert sorted(spent)[990] < 0.002


@pytest.mark.parametrize(
    "text",
    [
        "error " * 17_000,
        "no error " * 11_000,
        "how what which did " * 5_000,
        "summarize " * 10_000,
        "bug " * 25_000,
        "a\n" * 50_000,
        "x" * 100_000,
        "错误" * 50_000,
        "👩‍💻" * 30_000,
        "\u0130\ufb03\u2019" * 30_000,
        '"' * 100_000,
    ],
    ids=lambda text: text[:12].encode("unicode_escape").decode(),
)
def test_a_huge_text_costs_no_more_than_a_long_one(text: str) -> None:
    began = time.thread_time()
    detect(text, None, custom("recipe"), None)
    assert time.thread_time() - began < 0.1


@given(st.text(max_size=300))
def test_any_text_gives_a_known_profile(text: str) -> None:
    found = detect(text, None, BUILT_IN, None)
    assert found.name in {profile.name for profile in BUILT_IN}
    assert (found.score >= 0.5) == (found.name != GENERAL)
    assert bool(found.triggers) == (found.name != GENERAL)


# --- one call -----------------------------------------------------------------------------------


def test_switched_off_every_message_weighs_all_tiers_alike() -> None:
    off = load(
        {"boosting": {"enabled": False, "profiles": {"general": {"weights": {"graph": 9}}}}}
    ).boosting
    for name in (None, "debugging"):
        profile, found = choose(off, "traceback in the failing test", None, None, named=name)
        assert found == Detected(GENERAL)
        assert set(tier_weights(profile, ALL_TIERS).values()) == {1.0}


def test_the_profile_named_by_the_caller_wins() -> None:
    boosting = Config().boosting
    profile, found = choose(boosting, "here is the traceback", None, None, named="debate")
    assert (profile.name, found.name) == ("debate", "debate")
    profile, found = choose(boosting, "here is the traceback", None, None)
    assert (profile.name, found.triggers) == ("debugging", ("traceback",))


@pytest.mark.parametrize("boosting", [Boosting(), Boosting(enabled=False)])
def test_an_unknown_profile_is_refused_with_the_known_ones(boosting: Boosting) -> None:
    with pytest.raises(InvalidInput, match="research, debugging, debate, general, not 'cooking'"):
        choose(boosting, "hello", None, None, named="cooking")


# --- tier weights -------------------------------------------------------------------------------

WEIGHT = st.floats(min_value=0.01, max_value=100)
TIERS = st.lists(st.sampled_from(ALL_TIERS), min_size=1, unique=True)


def test_the_weights_of_debugging_by_hand() -> None:
    debugging = BUILT_IN[1]
    # (2.0 + 0.7 + 1.0) / 3 = 1.2333
    assert tier_weights(debugging, ["session", "graph", "note"]) == pytest.approx(
        {"session": 2.0 / 1.23333, "graph": 0.7 / 1.23333, "note": 1.0 / 1.23333}, rel=1e-4
    )
    assert tier_weights(debugging, ["session"]) == {"session": 1.0}
    assert tier_weights(debugging, []) == {}


@given(TIERS, WEIGHT)
def test_equal_multipliers_change_nothing(tiers: list[str], weight: float) -> None:
    even = TaskProfile("x", tuple((tier, weight) for tier in ALL_TIERS))
    assert list(tier_weights(even, tiers).values()) == pytest.approx([1.0] * len(tiers))


@given(TIERS, st.lists(WEIGHT, min_size=8, max_size=8), WEIGHT)
def test_only_ratios_matter(tiers: list[str], weights: list[float], factor: float) -> None:
    one = TaskProfile("x", tuple(zip(ALL_TIERS, weights, strict=True)))
    scaled = TaskProfile("x", tuple((tier, weight * factor) for tier, weight in one.weights))
    got = tier_weights(one, tiers)
    assert got == pytest.approx(tier_weights(scaled, tiers))
    assert sum(got.values()) == pytest.approx(len(tiers))
    first, last = tiers[0], tiers[-1]
    assert got[first] / got[last] == pytest.approx(one.weight(first) / one.weight(last))
