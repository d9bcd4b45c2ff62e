"""Drafts from turns: ids, replays, batches, sources, what may be searched."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import count
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from holdfast.errors import InvalidInput, TooLarge
from holdfast.models.reader import RELATIONS
from holdfast.records.facts.follow import OwnerFacts
from holdfast.records.facts.plan import FactPlan, Reading, Tools, draft_id
from holdfast.types import Scope
from tests.records.facts.pairs import PAIRS
from tests.records.facts.stating import ANN, DAY, Stated

TEXTS = [text for pair in PAIRS for text in (pair.known, pair.said)]
_owners = count()


def alike(_one: str, _other: str) -> float:
    return 0.3


def reading(said: dict[str, float], *, states: bool = True) -> Reading:
    """A reader that takes a line to end what these words are in, this probably."""

    def relate(_new: str, _before: str, known: Sequence[str]) -> list[dict[str, float]]:
        sure = [max((p for w, p in said.items() if w in text), default=0.01) for text in known]
        return [dict.fromkeys(RELATIONS, 0.0) | {"replaces": each} for each in sure]

    return Reading(relate, lambda _text: states)


@pytest.fixture
def stated(tmp_path: Path) -> Iterator[Stated]:
    made = Stated(tmp_path / "facts.db")
    yield made
    made.store.close()


def test_a_draft_becomes_a_quiet_record_with_its_fields(stated: Stated) -> None:
    draft = stated.draft(
        "I live in Lisbon.",
        category="identity",
        headline="Lives in Lisbon",
        keywords=("lisbon",),
        entities=("Lisbon",),
        importance=0.7,
        due=stated.now + DAY,
    )
    (record,) = stated.learn([draft])
    (kept,) = stated.store.get(ANN, [record.id])
    assert (kept.id, kept.kind, kept.quiet) == (draft_id(draft), "identity", 1)
    assert kept.sources == draft.sources
    assert kept.data["slot"] == "user:home"
    assert kept.data["value"] == "Lisbon"
    assert kept.data["claim"] == kept.id
    assert (kept.data["outcome"], kept.data["polarity"], kept.data["verbatim"]) == ("add", 1, True)
    fact = stated.facts.get(record.id, user="ann")
    assert (fact.headline, fact.keywords, fact.entities) == (
        "Lives in Lisbon", ("lisbon",), ("Lisbon",),
    )  # fmt: skip
    assert (fact.importance, fact.due) == (0.7, stated.now + DAY)


def test_what_a_model_wrote_is_searched_and_what_is_unclear_never(stated: Stated) -> None:
    (loud,) = stated.hear("The user lives in Paris.", verbatim=False)
    stated.later()
    (unclear,) = stated.hear("Perhaps, I live in Rome.")
    assert (loud.quiet, unclear.quiet) == (0, 2)


def test_the_same_drafts_again_change_nothing(stated: Stated) -> None:
    drafts = [stated.draft("I live in Paris."), stated.draft("I like tea.")]
    assert len(stated.learn(drafts)) == 2
    head = stated.store.head(ANN)
    assert stated.facts.planned(ANN, drafts, now=stated.later()) == []
    assert stated.store.head(ANN) == head


def test_a_repetition_adds_its_turn_as_a_source(stated: Stated) -> None:
    (first,) = stated.hear("I live in Paris.")
    stated.later()
    again = stated.draft("I'm living in Paris.")
    (confirmed,) = stated.learn([again])
    assert confirmed.id == first.id
    assert stated.facts.get(first.id, user="ann").sources == (*first.sources, *again.sources)
    assert stated.facts.planned(ANN, [again], now=stated.later()) == []


def test_a_replay_after_everything_changed_changes_nothing(stated: Stated) -> None:
    told = []
    for text in ("I live in Paris.", "I'm living in Paris.", "I live in Rome.", "I live in Bern."):
        told.append(stated.draft(text))
        stated.learn(told[-1:])
        stated.later()
    before = stated.facts.list(user="ann", status="all")
    assert [stated.facts.planned(ANN, [each], now=stated.now) for each in told] == [[]] * 4
    assert stated.facts.planned(ANN, told, now=stated.now) == []
    assert stated.facts.list(user="ann", status="all") == before


def test_a_forgotten_fact_is_not_learned_again(stated: Stated) -> None:
    draft = stated.draft("I like tea.")
    (record,) = stated.learn([draft])
    stated.store.forget(ANN, [record.id], at=stated.later())
    assert stated.learn([draft]) == []
    assert stated.texts(status="all") == []


def test_a_fact_goes_with_its_turn(stated: Stated) -> None:
    (record,) = stated.hear("I like tea.")
    stated.store.forget(ANN, [record.sources[0]], at=stated.later())
    assert stated.texts() == []


def test_drafts_of_one_batch_meet_in_the_order_in_which_they_were_said(stated: Stated) -> None:
    late = stated.draft("I live in Rome.", at=stated.now + DAY)
    early = stated.draft("I live in Paris.", at=stated.now)
    again = stated.draft("I'm living in Paris.", at=stated.now + DAY / 2)
    records = stated.learn([late, early, again])
    assert len(records) == 2
    stated.later(3 * DAY)
    assert stated.texts() == ["I live in Rome."]
    (paris,) = stated.facts.list(user="ann", status="superseded")
    assert paris.sources == (*early.sources, *again.sources)


def test_two_speakers_are_two_people(stated: Stated) -> None:
    stated.hear("I live in Paris.", name="Tom")
    stated.later()
    stated.hear("I live in Rome.", name="Lea")
    stated.later()
    stated.hear("I live in Bern.", name="Ann")  # The owner.
    stated.hear("I live in Oslo.", name="Tom")
    assert sorted(stated.texts()) == ["I live in Bern.", "I live in Oslo.", "I live in Rome."]


def test_the_user_in_the_third_person_is_the_same(stated: Stated) -> None:
    stated.hear("I live in Paris.")
    stated.later()
    stated.hear("The user lives in Rome.", verbatim=False)
    stated.later()
    stated.hear("Ann lives in Bern.", verbatim=False)
    assert stated.texts() == ["Ann lives in Bern."]


def test_importance_at_the_floor_survives(stated: Stated) -> None:
    stated.hear("I live in Paris.", importance=0.95)
    stated.later()
    (record,) = stated.hear("I moved to Rome.", importance=0.3)
    assert record.importance == 0.95


def test_too_many_drafts_are_refused(stated: Stated) -> None:
    draft = stated.draft("I like tea.")
    plan = FactPlan(OwnerFacts(), ANN, stated.now, Tools(exists=lambda _: False))
    with pytest.raises(TooLarge, match="200"):
        plan.add_all([draft] * 201)


def test_turns_may_tell_as_much_as_they_do(stated: Stated) -> None:
    source = stated.turn("a long talk")
    drafts = [stated.draft(f"I like tea number {each}.", source=source) for each in range(230)]
    drafts += [stated.draft("I live in Rome now.", source=source, at=stated.now + DAY)]
    drafts += [stated.draft("I live in Paris.", source=source)]
    stated.learn(drafts)
    texts = stated.texts(limit=1000)
    assert len(texts) == 231
    assert "I live in Rome now." in texts
    assert "I live in Paris." not in texts


def test_a_fact_cannot_replace_what_replaced_it(stated: Stated) -> None:
    first = stated.add("I live in Paris.")
    stated.later()
    second = stated.add("I live in Rome.")
    facts = OwnerFacts()
    facts.follow(stated.store, ANN)
    plan = FactPlan(facts, ANN, stated.later(), Tools(exists=lambda _: False))
    with pytest.raises(InvalidInput, match="replaces"):
        # The second took the place of the first: the first cannot take it back.
        plan.add(stated.draft("I live in Oslo."), id=first.id)
    assert second.id not in {record.id for record in plan.records()}


@pytest.mark.parametrize(
    ("said", "ended"),
    [
        ({"4 of us": 0.95}, {"4 of us"}),
        ({"4 of us": 0.39}, set()),
        ({"4 of us": 0.39, "rabbits": 0.97}, {"rabbits"}),
        ({"4 of us": 0.97, "rabbits": 0.97}, {"4 of us", "rabbits"}),
    ],
)
def test_a_line_ends_what_it_is_surely_about(
    stated: Stated, said: dict[str, float], ended: set[str]
) -> None:
    team, pets = stated.add("the crew has 4 of us"), stated.add("rabbits are in the shed")
    facts = OwnerFacts()
    facts.follow(stated.store, ANN)
    tools = Tools(exists=lambda _: False, likeness=alike, reading=reading(said))
    plan = FactPlan(facts, ANN, stated.later(), tools)
    plan.add(stated.draft("hired a fifth, and sold the animals"))
    gone = {id for record in plan.records() for id in record.supersedes}
    assert gone == {each.id for each in (team, pets) for word in ended if word in each.content}


def test_a_line_does_not_end_a_part_of_itself(stated: Stated) -> None:
    source = stated.turn("My name is Ann and I live in Lisbon.")
    stated.learn([stated.draft("I live in Lisbon.", source=source)])
    facts = OwnerFacts()
    facts.follow(stated.store, ANN)
    tools = Tools(exists=lambda _: False, likeness=alike, reading=reading({"Lisbon": 0.95}))
    plan = FactPlan(facts, ANN, stated.later(), tools)
    plan.add(stated.draft("My name is Ann and I live in Lisbon.", source=source))
    assert [record.supersedes for record in plan.records()] == [()]


FLAT = "The flat is shared with Pilar, our rent is 540, and the cellar is damp"


@pytest.mark.parametrize(
    ("said", "states", "rest"),
    [
        ({"540": 0.9}, True, ["The flat is shared with Pilar, the cellar is damp"]),
        ({"540": 0.9, "cellar": 0.3}, True, ["The flat is shared with Pilar"]),
        ({"540": 0.9, "Pilar": 0.3}, True, ["the cellar is damp"]),
        # What is left says nothing by itself, or nothing is left, or nobody knows what is left.
        ({"540": 0.9}, False, []),
        ({"540": 0.9, "cellar": 0.1, "Pilar": 0.3}, True, []),
        ({FLAT: 0.9}, True, []),
    ],
)
def test_of_a_fact_that_is_replaced_in_part_the_rest_holds(
    stated: Stated, said: dict[str, float], states: bool, rest: list[str]
) -> None:
    (flat,) = stated.hear(FLAT)
    stated.later()
    rent = stated.turn("we pay 600 these days")
    for _ in range(2):  # Learned again it is the same.
        stated.learn(
            [stated.draft("we pay 600 these days", source=rent)],
            likeness=alike,
            reading=reading(said, states=states),
        )
    assert sorted(stated.texts()) == sorted(["we pay 600 these days", *rest])
    assert stated.texts(status="superseded") == [FLAT]
    for fact in stated.facts.list(user="ann"):
        if fact.content in rest:
            assert (fact.reason, fact.sources) == ("rest", flat.sources)
            assert fact.valid_from == flat.valid_from


def test_a_name_alone_is_no_rest(stated: Stated) -> None:
    stated.hear("Biscuit, the cat is staying with us")
    stated.later()
    gone = stated.draft("the cat has moved to my aunt's", source=stated.turn("moved"))
    stated.learn([gone], likeness=alike, reading=reading({"the cat is": 0.9}))
    assert stated.texts() == ["the cat has moved to my aunt's"]


def test_of_a_fact_whose_beginning_ends_that_says_no_more_than_when_nothing_is_left(
    stated: Stated,
) -> None:
    stated.hear("Since September, I am head of studies, so I am no tutor any more")
    stated.later()
    later = stated.draft("it starts in October", source=stated.turn("October"))
    stated.learn([later], likeness=alike, reading=reading({"Since September": 0.9}))
    assert stated.texts() == ["it starts in October"]


def test_agents_end_only_their_own(stated: Stated) -> None:
    cook, guide = Scope("default", "ann", agent="cook"), Scope("default", "ann", agent="guide")
    stated.hear("I live in Paris.", scope=cook)
    stated.later()
    records = stated.hear("I live in Rome.", scope=guide)
    assert [each.kind for each in records] == ["context", "conflict"]
    assert sorted(stated.texts()) == ["I live in Paris.", "I live in Rome."]


@pytest.mark.slow
@settings(
    max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    said=st.lists(st.tuples(st.sampled_from(TEXTS), st.integers(0, 5)), min_size=1, max_size=8),
)
def test_whatever_is_said_a_replay_changes_nothing(
    stated: Stated, said: list[tuple[str, int]]
) -> None:
    # Somebody new for every example: a number that is drawn may be drawn again.
    owner = Scope("default", f"owner-{next(_owners)}")
    start = stated.now
    drafts = [stated.draft(text, scope=owner, at=start + days * DAY) for text, days in said]
    for draft in drafts:
        stated.learn([draft], scope=owner)
    stated.later(10 * DAY)
    before = [record.data for record in stated.store.listed(owner, tier="fact", current=False)]
    replayed = [
        record
        for draft in drafts
        for record in stated.facts.planned(owner, [draft], now=stated.now)
    ]
    assert replayed == []
    after = [record.data for record in stated.store.listed(owner, tier="fact", current=False)]
    assert before == after
    slots = [
        record.data["slot"]
        for record in stated.store.listed(owner, tier="fact")
        if record.valid_to is None
        and record.quiet < 2
        and record.data.get("slot") == "user:home"
        and not record.data.get("contradicts")
    ]
    assert len(slots) <= 1 or len({text for text, _ in said}) > 1
