"""An owner's index follows the store, whoever writes, and a view is a moment."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import pytest

import holdfast
from holdfast.index.resident import IndexCache, View
from holdfast.language.terms import term_id, terms
from holdfast.memory.memory import Memory
from holdfast.store.protocols import FOREVER_US, Change, Derived, Feed, Head, Space, VectorRows
from holdfast.store.sqlite import SqliteStore
from holdfast.testing import HashEmbedder
from holdfast.testing.store_suite import NOON, a_fact, a_name, told
from holdfast.types import Scope

ANN = Scope("default", "ann")
BOB = Scope("default", "bob")


def open_memory(path: Path, dim: int = 16) -> Memory:
    """A memory that embeds and understands nothing: what is in the index is what a test put."""
    config = {"extraction": {"enabled": False}}
    return holdfast.open(path / "m.db", embedder=HashEmbedder(dim), worker=False, config=config)


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    with open_memory(tmp_path) as opened:
        yield opened


def learn(memory: Memory, *facts: Derived) -> None:
    memory.store.put(ANN, facts, known_at=NOON, steps=memory.worker.steps)


def a_shelf(memory: Memory, most_bytes: int = 1 << 30) -> IndexCache:
    return IndexCache(memory.store, most_bytes=most_bytes)


def the_space(memory: Memory) -> Space:
    return memory.worker.space


def holders(view: View, word: str) -> list[str]:
    """Ids of the living documents that hold a word."""
    found: list[str] = []
    for part in view.segments:
        ((docs, _),) = part.find(np.array([term_id(terms(word)[0])], dtype=np.uint64))
        found += [view.ids[doc] for doc in docs if view.alive[doc]]
    return found


def test_an_owner_never_seen_has_an_empty_view(memory: Memory) -> None:
    view = a_shelf(memory).view(ANN, the_space(memory))
    assert len(view) == 0
    assert view.vectors is None
    assert holders(view, "cat") == []


def test_what_was_stored_is_in_the_view(memory: Memory) -> None:
    receipt = memory.remember(
        [{"content": "a cat", "name": "Ann", "at": "2026-03-01T10:00Z"}, {"content": "a dog"}],
        user="ann", agent="helper", session="s1",
    )  # fmt: skip
    view = a_shelf(memory).view(ANN, the_space(memory))
    assert list(view.ids) == list(receipt.events)
    assert view.at_us[0] == datetime(2026, 3, 1, 10, tzinfo=UTC).timestamp() * 1_000_000
    assert view.lengths.tolist() == [2.0, 1.0]
    assert view.order.tolist() == [1, 2]
    assert view.names.tolist() == [view.codes["Ann"], -1]
    assert set(view.agents.tolist()) == {view.codes["helper"]}
    assert set(view.sessions.tolist()) == {view.codes["s1"]}
    assert holders(view, "cat") == [receipt.events[0]]


def test_an_unchanged_store_gives_the_same_view(memory: Memory) -> None:
    memory.remember("a cat", user="ann")
    shelf = a_shelf(memory)
    assert shelf.view(ANN, the_space(memory)) is shelf.view(ANN, the_space(memory))


def test_the_writes_of_another_memory_are_followed(memory: Memory, tmp_path: Path) -> None:
    with open_memory(tmp_path) as other:
        for i in range(5):
            event = other.remember(f"number{i}", user="ann").events[0]
            assert [hit.id for hit in memory.recall(f"number{i}", user="ann", limit=1)] == [event]
        other.forget(event, user="ann")
        assert event not in [hit.id for hit in memory.recall("number4", user="ann")]
        other.restore(event, user="ann")
        assert memory.recall("number4", user="ann")[0].id == event


def test_what_the_worker_embedded_is_there_before_anybody_asks(memory: Memory) -> None:
    memory.remember("I moved to Lisbon.", user="ann")
    memory.drain()
    memory.recall("Lisbon", user="ann")  # From here on it is in memory.
    memory.remember("I have a cat.", user="ann")
    memory.remember("Bob was never asked about.", user="bob")
    memory.drain()
    ((_, resident),) = memory._searcher._indexes._residents.items()
    seen = resident.latest
    assert seen is not None
    assert len(seen) == 2
    memory.recall("cat", user="ann")
    assert resident.latest is seen  # Nothing was left to do.


def test_catching_up_early_follows_those_who_were_followed(memory: Memory) -> None:
    shelf = a_shelf(memory)
    shelf.catch_up(ANN)  # Nothing in memory: nothing to do.
    assert shelf.usage() == (0, 0)
    memory.remember("I moved to Lisbon.", user="ann")
    shelf.view(ANN, the_space(memory))
    memory.remember("Lisbon is warm.", user="ann")
    shelf.catch_up(BOB)
    shelf.catch_up(ANN)
    assert len(holders(shelf.view(ANN, the_space(memory)), "lisbon")) == 2


def test_the_vectors_of_another_memory_are_followed(tmp_path: Path) -> None:
    # So many dimensions that what shares a word is near, whatever today is called.
    with open_memory(tmp_path, 256) as memory:
        memory.remember("a cat", user="ann")
        assert "vector" not in memory.recall("cat", user="ann")[0].why
        with open_memory(tmp_path, 256) as other:
            assert other.drain().done == 1
        assert "vector" in memory.recall("cat", user="ann")[0].why


def test_a_forgotten_document_is_dead_until_restored(memory: Memory) -> None:
    event = memory.remember("a cat", user="ann").events[0]
    shelf, space = a_shelf(memory), the_space(memory)
    before = shelf.view(ANN, space)
    memory.forget(event, user="ann")
    hidden = shelf.view(ANN, space)
    assert (hidden.has_dead, holders(hidden, "cat")) == (True, [])
    assert holders(before, "cat") == [event], "a view is a moment"
    memory.restore(event, user="ann")
    back = shelf.view(ANN, space)
    assert (back.has_dead, holders(back, "cat")) == (False, [event])
    assert holders(hidden, "cat") == []


def test_one_forgotten_before_it_was_ever_loaded_is_dead(memory: Memory) -> None:
    kept, gone = memory.remember([{"content": "cat"}, {"content": "cat"}], user="ann").events
    memory.forget(gone, user="ann")
    view = a_shelf(memory).view(ANN, the_space(memory))
    assert holders(view, "cat") == [kept]


def test_a_wipe_starts_the_index_over(memory: Memory) -> None:
    gone, kept = memory.remember([{"content": "cat"}, {"content": "cat"}], user="ann").events
    memory.drain()
    shelf, space = a_shelf(memory), the_space(memory)
    assert len(shelf.view(ANN, space)) == 2
    memory.forget(gone, user="ann")
    epoch = memory.store.head(ANN).epoch
    assert memory.store.wipe(forgotten_before=datetime.now(UTC) + timedelta(days=1)) == 1
    assert memory.store.head(ANN).epoch > epoch
    view = shelf.view(ANN, space)
    assert (list(view.ids), view.has_dead) == ([kept], False)
    assert view.vectors is not None
    docs, _ = view.vectors.cosines(np.ones(16, dtype=np.float32), None, depth=10)
    assert docs.tolist() == [0]
    late = memory.remember("a bird", user="ann").events[0]
    assert holders(shelf.view(ANN, space), "bird") == [late]


def numbers_of(view: View) -> dict[str, int]:
    return {each: number for number, each in enumerate(view.ids)}


def has_vector(view: View, number: int) -> bool:
    assert view.vectors is not None
    docs, _ = view.vectors.cosines(np.ones(16, dtype=np.float32), None, depth=10)
    return number in docs.tolist()


def test_a_derived_record_is_a_document_with_a_source(memory: Memory) -> None:
    event = memory.remember("a cat", user="ann").events[0]
    shelf, space = a_shelf(memory), the_space(memory)
    turns = shelf.view(ANN, space)
    assert (turns.has_derived, turns.has_ends, turns.source.tolist()) == (False, False, [-1])
    learn(memory, a_fact(50, event, content="Ann has a cat."), a_fact(51))
    view = shelf.view(ANN, space)
    doc = numbers_of(view)
    fact, lone = doc[a_fact(50).id], doc[a_fact(51).id]
    assert view.has_derived
    assert holders(view, "cat") == [event, a_fact(50).id]
    assert view.tiers.tolist() == [view.codes["session"], *[view.codes["fact"]] * 2]
    assert (view.source[fact], view.source[lone]) == (doc[event], -1)
    assert view.confidence.tolist() == [1.0, np.float32(0.8), np.float32(0.8)]
    assert set(view.until_us.tolist()) == {FOREVER_US}
    assert len(turns) == 1, "a view is a moment"


def test_a_source_that_comes_later_is_found_all_the_same(memory: Memory) -> None:
    event = memory.remember("a cat", user="ann").events[0]
    learn(memory, a_fact(50, event))
    turn, fact = memory.store.changes(ANN, after=0)

    class Backwards:
        """The fact first, then the turn."""

        def __init__(self) -> None:
            self.batches = [[fact._replace(change=1)], [turn._replace(change=2)]]

        def head(self, scope: Scope) -> Head:
            return Head(0, 3 - len(self.batches))

        def changes(self, scope: Scope, *, after: int) -> list[Change]:
            return self.batches.pop(0)

    shelf = IndexCache(Backwards(), most_bytes=1 << 30)  # type: ignore[arg-type]
    first = shelf.view(ANN, None)
    assert first.source.tolist() == [-2], "it has one, which is not here yet"
    assert shelf.view(ANN, None).source.tolist() == [1, -1]
    assert first.source.tolist() == [-2], "a view is a moment"


def test_a_superseded_record_has_an_end(memory: Memory) -> None:
    shelf, space = a_shelf(memory), the_space(memory)
    learn(memory, a_fact(50))
    before = shelf.view(ANN, space)
    learn(memory, a_fact(51, supersedes=(a_fact(50).id,)))
    view = shelf.view(ANN, space)
    doc = numbers_of(view)
    assert (before.has_ends, view.has_ends) == (False, True)
    assert view.until_us[doc[a_fact(50).id]] == view.at_us[doc[a_fact(51).id]]
    assert view.known_until_us[doc[a_fact(50).id]] == view.known_us[doc[a_fact(51).id]]
    assert view.until_us[doc[a_fact(51).id]] == FOREVER_US


def test_another_confidence_is_followed(memory: Memory) -> None:
    shelf, space = a_shelf(memory), the_space(memory)
    learn(memory, a_fact(50))
    before = shelf.view(ANN, space)
    learn(memory, a_fact(50, confidence=0.25))
    assert shelf.view(ANN, space).confidence.tolist() == [0.25]
    assert before.confidence.tolist() == [np.float32(0.8)]


def test_a_new_text_takes_the_old_words_and_vectors_away(memory: Memory) -> None:
    shelf, space = a_shelf(memory), the_space(memory)
    event = memory.remember("a dog", user="ann").events[0]
    learn(memory, a_fact(50, event, content="Ann has a cat."))
    memory.drain()
    view = shelf.view(ANN, space)
    assert has_vector(view, numbers_of(view)[a_fact(50).id])
    learn(memory, a_fact(50, event, content="Ann has a bird."))
    view = shelf.view(ANN, space)
    assert (holders(view, "cat"), holders(view, "bird")) == ([], [a_fact(50).id])
    doc = numbers_of(view)
    assert has_vector(view, doc[event])
    assert not has_vector(view, doc[a_fact(50).id])
    memory.drain()
    view = shelf.view(ANN, space)
    assert has_vector(view, numbers_of(view)[a_fact(50).id])


def test_what_was_only_heard_is_no_document(memory: Memory) -> None:
    event = memory.remember("a dog in Lisbon", user="ann").events[0]
    learn(memory, a_name(50, event))
    memory.drain()
    shelf, space = a_shelf(memory), the_space(memory)
    view = shelf.view(ANN, space)
    assert (list(view.ids), view.has_derived, view.has_ends) == ([event], False, False)
    learn(memory, a_name(50, event, confidence=0.3), a_name(51, supersedes=(a_name(50).id,)))
    memory.forget(a_name(51).id, user="ann")
    assert shelf.view(ANN, space) is view, "nothing that it holds has changed"
    fact = a_fact(52, event, content="Ann has a dog.")
    learn(memory, a_name(53, event), fact)
    late = memory.remember("a cat", user="ann").events[0]
    memory.drain()
    view = shelf.view(ANN, space)
    doc = numbers_of(view)
    assert list(view.ids) == [event, fact.id, late]
    assert view.source.tolist() == [-1, doc[event], -1]
    assert all(has_vector(view, number) for number in range(3))
    assert list(a_shelf(memory).view(ANN, space).ids) == list(view.ids)


def test_hearsay_that_is_told_becomes_a_document_and_stays_one(memory: Memory) -> None:
    event = memory.remember("a dog", user="ann").events[0]
    learn(memory, a_name(50, event))
    shelf, space = a_shelf(memory), the_space(memory)
    assert list(shelf.view(ANN, space).ids) == [event]
    learn(memory, told(a_name(50, event)))
    memory.drain()
    view = shelf.view(ANN, space)
    number = numbers_of(view)[a_name(50).id]
    assert holders(view, "lisbon") == [a_name(50).id]
    assert (has_vector(view, number), view.source[number]) == (True, numbers_of(view)[event])
    learn(memory, a_name(50, event))
    view = shelf.view(ANN, space)
    assert holders(view, "lisbon") == [a_name(50).id]


def test_hearsay_that_is_told_while_the_index_catches_up_is_there_once(memory: Memory) -> None:
    learn(memory, a_name(50))

    def writes() -> Iterator[None]:
        for i in range(8):
            heard = a_name(50, name=f"place{i}")
            learn(memory, heard if i % 2 else told(heard))
            yield

    shelf = IndexCache(LateFeed(memory.store, writes()), most_bytes=1 << 30)  # type: ignore[arg-type]
    for _ in range(12):
        view = shelf.view(ANN, the_space(memory))
    assert list(view.ids) == [a_name(50).id]
    learn(memory, told(a_name(50)))
    assert holders(shelf.view(ANN, the_space(memory)), "lisbon") == [a_name(50).id]


def test_what_hides_with_its_turn_is_dead(memory: Memory) -> None:
    shelf, space = a_shelf(memory), the_space(memory)
    event = memory.remember("a dog", user="ann").events[0]
    learn(memory, a_fact(50, event))
    assert shelf.view(ANN, space).alive.all()
    memory.forget(event, user="ann")
    assert not shelf.view(ANN, space).alive.any()
    memory.restore(event, user="ann")
    assert shelf.view(ANN, space).alive.all()


def test_every_owner_has_an_index_of_their_own(memory: Memory) -> None:
    event = memory.remember("a cat", user="ann").events[0]
    memory.remember("a cat", user="bob")
    memory.remember("a cat", user="ann", workspace="other")
    assert list(a_shelf(memory).view(ANN, the_space(memory)).ids) == [event]


def test_many_small_writes_keep_few_segments(memory: Memory) -> None:
    shelf, space = a_shelf(memory), the_space(memory)
    for i in range(60):
        memory.remember(f"cat number{i}", user="ann")
        shelf.view(ANN, space)
    view = shelf.view(ANN, space)
    assert len(view.segments) <= 6
    assert sum(part.documents for part in view.segments) == 60
    assert len(holders(view, "cat")) == 60


def test_a_short_shelf_drops_the_least_used_and_still_answers(memory: Memory) -> None:
    for user in ("ann", "bob"):
        memory.remember("a cat", user=user)
    shelf, space = a_shelf(memory, most_bytes=1), the_space(memory)
    first = shelf.view(ANN, space)
    shelf.view(BOB, space)
    again = shelf.view(ANN, space)
    assert again is not first
    assert list(again.ids) == list(first.ids)


def test_threads_search_while_one_catches_up(tmp_path: Path, memory: Memory) -> None:
    def write(_: int) -> list[str]:
        with open_memory(tmp_path) as other:
            made: list[str] = []
            for i in range(30):
                made += other.remember(f"cat number{i}", user="ann").events
                if i % 3 == 2:
                    other.forget(made[-1], user="ann")
                if i % 10 == 9:
                    other.drain()
            return made

    def read(_: int) -> None:
        seen = 0
        for _ in range(60):
            hits = memory.recall("cat", user="ann", limit=200)
            assert all("cat" in hit.content for hit in hits)
            assert len({hit.id for hit in hits}) == len(hits)
            seen = max(seen, len(hits))
        assert seen <= 30

    memory.remember("cat zero", user="ann")
    with ThreadPoolExecutor(5) as pool:
        writer = pool.submit(write, 0)
        readers = [pool.submit(read, i) for i in range(4)]
        for each in readers:
            each.result()
        written = writer.result()
    forgotten = set(written[2::3])
    alive = {hit.id for hit in memory.recall("cat", user="ann", limit=200)}
    assert alive & set(written) == set(written) - forgotten


class LateFeed:
    """A feed in which more was written between the question and the answer."""

    def __init__(self, feed: Feed, write: Iterator[object]) -> None:
        self._feed = feed
        self._write = write

    def head(self, scope: Scope) -> Head:
        head = self._feed.head(scope)
        next(self._write, None)
        return head

    def changes(self, scope: Scope, *, after: int, until: int = FOREVER_US) -> list[Change]:
        found = self._feed.changes(scope, after=after, until=until)
        next(self._write, None)
        return found

    def vector_rows(
        self, scope: Scope, space: int, *, after: int, until: int
    ) -> Iterator[VectorRows]:
        return self._feed.vector_rows(scope, space, after=after, until=until)


def test_a_write_in_the_middle_of_catching_up_is_neither_lost_nor_doubled(memory: Memory) -> None:
    assert isinstance(memory.store, SqliteStore)

    def writes() -> Iterator[object]:
        for i in range(20):
            memory.remember(f"cat number{i}", user="ann")
            yield memory.drain() if i % 2 else None

    shelf = IndexCache(LateFeed(memory.store, writes()), most_bytes=1 << 30)  # type: ignore[arg-type]
    for _ in range(25):
        view = shelf.view(ANN, the_space(memory))
    assert len(set(view.ids)) == len(view.ids) == len(view) == 20
    assert len(holders(view, "cat")) == 20
    assert view.vectors is not None
    docs, _ = view.vectors.cosines(np.ones(16, dtype=np.float32), None, depth=10)
    assert sorted(docs.tolist()) == list(range(20))


def test_codes_are_looked_up(memory: Memory) -> None:
    messages = [{"role": "user", "name": name, "content": "tea"} for name in ("Ann", "Bob", "Ann")]
    memory.remember([*messages, {"role": "assistant", "content": "ok"}], user="ann")
    view = a_shelf(memory).view(ANN, the_space(memory))
    ann, bob = view.codes["Ann"], view.codes["Bob"]
    assert view.codes_in(view.names) == sorted({-1, ann, bob})
    assert view.is_one_of(view.names, [ann]).tolist() == [True, False, True, False]
    assert view.is_one_of(view.names, [bob, -1]).tolist() == [False, True, False, True]
    assert not view.is_one_of(view.names, [-2]).any(), "a text that is not here"
    assert not view.is_one_of(view.names, []).any()


def test_the_codes_of_a_view_are_those_of_its_moment(memory: Memory) -> None:
    shelf = a_shelf(memory)
    memory.remember({"role": "user", "name": "Ann", "content": "tea"}, user="ann")
    view = shelf.view(ANN, the_space(memory))
    memory.remember({"role": "user", "name": "Bob", "content": "tea"}, user="ann")
    shelf.view(ANN, the_space(memory))
    assert "Bob" not in view.codes
