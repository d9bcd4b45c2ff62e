"""Records of other tiers in a search: times that end, and turns that are not disturbed."""

from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import holdfast
from holdfast.index.resident import IndexCache
from holdfast.memory.memory import Memory
from holdfast.recall.sources.keywords import neighbours
from holdfast.store.protocols import Derived
from holdfast.testing import HashEmbedder
from holdfast.testing.store_suite import NOON, a_fact
from holdfast.types import Scope

DAY = timedelta(days=1)
LISBON = a_fact(50, content="Ann lives in Lisbon.")
#: True from day 10 on, learned on day 20.
PORTO = a_fact(
    51, content="Ann lives in Porto.", valid_from=NOON + 10 * DAY, supersedes=(LISBON.id,)
)


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    with holdfast.open(
        tmp_path / "m.db", embedder=HashEmbedder(16), worker=False, clock=lambda: NOON + 30 * DAY
    ) as opened:
        yield opened


def learn(memory: Memory, *facts: Derived, at: datetime = NOON) -> None:
    memory.store.put(Scope("default", "ann"), facts, known_at=at, steps=memory.worker.steps)


def found(memory: Memory, question: str = "Where does Ann live?", **asked: Any) -> set[str]:
    return {hit.content for hit in memory.recall(question, user="ann", **asked)}


@pytest.mark.parametrize("fusion", ["blend", "rrf"])
@pytest.mark.parametrize(
    ("as_of", "known_at", "expected"),
    [
        (None, None, {PORTO.content}),
        # What was true then, as we know now.
        (5, None, {LISBON.content}),
        (15, None, {PORTO.content}),
        # What we believed then.
        (None, 5, {LISBON.content}),
        (None, 25, {PORTO.content}),
        # What we believed on day 15 about day 12: the move was not known yet.
        (12, 15, {LISBON.content}),
        (12, 25, {PORTO.content}),
        # What we know on day 25 about day 5.
        (5, 25, {LISBON.content}),
    ],
)
def test_a_superseded_record_is_seen_only_in_its_time(
    memory: Memory, fusion: str, as_of: int | None, known_at: int | None, expected: set[str]
) -> None:
    learn(memory, LISBON)
    learn(memory, PORTO, at=NOON + 20 * DAY)
    memory.drain()
    asked = {"as_of": as_of, "known_at": known_at}
    moments: dict[str, Any] = {
        name: NOON + day * DAY for name, day in asked.items() if day is not None
    }
    assert found(memory, overrides={"fusion": fusion}, **moments) == expected


def test_a_stated_end_is_kept(memory: Memory) -> None:
    learn(memory, a_fact(50, content="Ann lives in Rome.", valid_to=NOON + 40 * DAY))
    assert found(memory) == {"Ann lives in Rome."}
    assert found(memory, now=NOON + 41 * DAY) == set()
    assert found(memory, as_of=NOON + 39 * DAY) == {"Ann lives in Rome."}
    assert found(memory, as_of=NOON + 40 * DAY) == set()
    assert found(memory, as_of=NOON + 40 * DAY, known_at=NOON + DAY) == set()


def test_a_new_text_is_not_told_to_who_asks_what_was_known_before(memory: Memory) -> None:
    learn(memory, a_fact(50, content="Ann lives in Rome."))
    learn(memory, a_fact(50, content="Ann lives in Oslo."), at=NOON + 10 * DAY)
    assert found(memory, known_at=NOON + 5 * DAY) == set()
    assert found(memory, known_at=NOON + 10 * DAY) == {"Ann lives in Oslo."}


def test_what_is_derived_is_no_neighbour_of_a_turn_and_no_part_of_its_session(
    memory: Memory,
) -> None:
    for session in ("a", "b"):
        for text in ("We saw the zebra run.", "Good morning.", "It was fast."):
            memory.remember(text, user="ann", session=session)
    shelf, scope = (
        IndexCache(memory.store, most_bytes=1 << 30),
        Scope("default", "ann", session="a"),
    )

    def sessions() -> dict[str, Any]:
        hits = memory.recall("zebra morning", user="ann", limit=50)
        return {hit.id: hit.why["keyword"].get("session") for hit in hits if hit.tier == "session"}

    before, alone = sessions(), neighbours(shelf.view(scope, None), None)
    turns = memory.store.events(scope)
    fact = a_fact(50, turns[0].id, content="the zebra of the morning")
    memory.store.put(scope, [fact], known_at=NOON, steps=[])
    assert sessions() == before
    view = shelf.view(scope, None)
    for seen in (None, np.ones(len(view), dtype=np.bool_)):
        around = neighbours(view, seen)
        # "None" is the number after the last: one more than before.
        assert np.array_equal(np.where(around[:, :6] == 7, 6, around[:, :6]), alone)
        assert set(around[:, 6]) == {7}
    (hit,) = [hit for hit in memory.recall("zebra morning", user="ann") if hit.tier == "fact"]
    assert (hit.id, hit.sources) == (fact.id, (turns[0].id,))
    assert "session" not in hit.why["keyword"]
