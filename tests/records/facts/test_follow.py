"""Known facts in memory: they follow the store, and finding candidates is quick."""

from __future__ import annotations

import random
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from holdfast.index.view import packed
from holdfast.language.claims.claim import read_claim
from holdfast.language.statements.values import FactDraft
from holdfast.language.terms import terms
from holdfast.records.facts.follow import MOST_CANDIDATES, OwnerFacts, likest
from holdfast.records.facts.reconcile import KnownFact
from holdfast.records.facts.verbs import Facts as Verbs
from holdfast.store.sqlite import SqliteStore
from holdfast.testing.store_suite import NOON
from tests.records.facts.stating import ANN, DAY, Stated


@pytest.fixture
def stated(tmp_path: Path) -> Iterator[Stated]:
    made = Stated(tmp_path / "facts.db")
    yield made
    made.store.close()


def near(stated: Stated, text: str) -> list[str]:
    facts = stated.facts._shelf.of(ANN)
    return [record.content for record in facts.near(read_claim(text))]


def test_candidates_share_a_slot_or_words(stated: Stated) -> None:
    for text in ("I live in Paris.", "I like green tea.", "My car is a Volvo."):
        stated.add(text)
    assert near(stated, "I live in Rome.") == ["I live in Paris."]
    assert near(stated, "We drink green tea.") == ["I like green tea."]
    assert near(stated, "The moon is far.") == []


def test_what_ended_is_no_candidate_and_comes_back_when_reopened(stated: Stated) -> None:
    fact = stated.add("I live in Paris.")
    stated.facts.invalidate(fact.id, user="ann")
    assert near(stated, "I live in Rome.") == []
    stated.store.end(ANN, [fact.id], valid_to=None, at=stated.later())
    assert near(stated, "I live in Rome.") == ["I live in Paris."]
    stated.store.forget(ANN, [fact.id], at=stated.later())
    assert near(stated, "I live in Rome.") == []
    stated.store.forget(ANN, [fact.id], at=stated.later(), undo=True)
    assert near(stated, "I live in Rome.") == ["I live in Paris."]


def test_of_much_that_is_alike_the_likest_is_compared() -> None:
    talk = [f"I like tea number {each}." for each in range(100)]
    known = [
        KnownFact(str(number), read_claim(text), NOON + number * DAY)
        for number, text in enumerate(["I live in Paris.", *talk])
    ]
    assert next(each.id for each in likest(read_claim("I like tea number 7."), known)) == "8"
    found = likest(read_claim("I live in Rome, a town of tea and a number of cats I like."), known)
    assert len(found) == MOST_CANDIDATES
    assert found[0].id == "0"


def test_another_process_is_followed(stated: Stated, tmp_path: Path) -> None:
    stated.add("I like tea.")
    near(stated, "tea")
    other = Stated(tmp_path / "facts.db")
    other.later()
    other.add("I live in Paris.")
    assert near(stated, "I live in Rome.") == ["I live in Paris."]
    other.store.close()


def test_what_was_wiped_is_gone(stated: Stated) -> None:
    fact = stated.add("I live in Paris.")
    near(stated, "x")
    stated.store.forget(ANN, [fact.id], at=stated.now)
    stated.store.wipe(forgotten_before=stated.later())
    assert near(stated, "I live in Rome.") == []
    assert stated.texts(status="all") == []


def test_only_so_many_are_compared(stated: Stated) -> None:
    drafts = [stated.draft(f"I like green tea number {n} a lot.") for n in range(60)]
    stated.learn(drafts)
    assert len(near(stated, "I like green tea.")) <= MOST_CANDIDATES


def test_following_costs_nothing_when_nothing_changed(stated: Stated) -> None:
    stated.add("I live in Paris.")
    facts = OwnerFacts()
    facts.follow(stated.store, ANN)
    seen = facts.seen
    facts.follow(stated.store, ANN)
    assert facts.seen == seen == stated.store.head(ANN)


@pytest.mark.slow
def test_a_new_fact_among_ten_thousand_takes_milliseconds(stated: Stated) -> None:
    chance = random.Random(7)
    words = [f"{a}{b}{c}" for a in "bdfgklmnprst" for b in "aeiou" for c in "bdfgklmnprst"]
    verbs = ("like", "need", "use", "keep", "know")

    def text() -> str:
        one, two, three = chance.sample(words, 3)
        return f"I {chance.choice(verbs)} the {one} {two} in {three.title()}."

    (one,) = stated.hear(text())
    rows = [(said := text(), packed(terms(said))) for _ in range(9_999)]
    many = [
        replace(one, id=f"{n:032x}", content=said, terms=row, length=length, sources=())
        for n, (said, (row, length)) in enumerate(rows)
    ]
    stated.store.put(ANN, many, known_at=stated.now, steps=[])
    assert len(stated.facts.list(user="ann", limit=10_000)) == 10_000
    took = []
    for _ in range(50):
        draft = FactDraft(text(), "context", (), "user", stated.now + DAY, verbatim=False)
        begun = time.thread_time()
        stated.facts.planned(ANN, [draft], now=stated.now)
        took.append(time.thread_time() - begun)
    # Of processor time, and generous: what must not happen is reading all of them again (seconds).
    assert sorted(took)[25] < 0.02


def test_a_store_can_be_shared_by_two_sets_of_verbs(stated: Stated) -> None:
    worker = stated.facts._worker
    assert isinstance(stated.store, SqliteStore)
    second = Verbs(stated.store, worker, now=lambda: stated.now)
    stated.add("I live in Paris.")
    stated.later()
    assert second.add("I live in Rome.", user="ann").outcome == "supersede"
    assert stated.texts() == ["I live in Rome."]
