"""An index made of what was written down and the feed since is the one made of the feed alone."""

import multiprocessing
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import holdfast
from holdfast.errors import StoreReadOnly
from holdfast.index import packed as packing
from holdfast.index import pieces
from holdfast.index.packed import Read, from_pieces, pack, read_feed, to_pieces
from holdfast.index.resident import IndexCache, View
from holdfast.index.view import merge_segments
from holdfast.memory.memory import Memory
from holdfast.store.protocols import Feed, Head, KeptIndex
from holdfast.testing import HashEmbedder
from holdfast.testing.store_suite import NOON, a_fact
from holdfast.types import Scope
from tests.index.test_parts import OF_BOB, OF_TEAM, STEPS, act, told_of
from tests.servers import empty_store_url, shared_store_url

ANN = Scope("home", "ann")
CONFIG = {"extraction": {"enabled": False}}
ENGINES = ("file", "server")


@pytest.fixture(autouse=True)
def every_owner_is_worth_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packing, "WORTH_KEEPING", 1)
    monkeypatch.setattr(packing, "_SHARE_NEW", 0.0)
    monkeypatch.setattr(pieces, "_PIECE_BYTES", 256)


@contextmanager
def opened(engine: str, folder: Path) -> Iterator[Memory]:
    url = empty_store_url() if engine == "server" else str(folder / "m.db")
    with holdfast.open(url, embedder=HashEmbedder(16), worker=False, config=CONFIG) as memory:
        yield memory


@pytest.fixture(params=ENGINES)
def memory(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Memory]:
    with opened(request.param, tmp_path) as found:
        yield found


class FeedAlone:
    """A feed of which nothing was written down."""

    def __init__(self, feed: Feed) -> None:
        self._feed = feed

    def __getattr__(self, name: str) -> Any:
        return getattr(self._feed, name)

    def kept_index(self, scope: Scope, *, what: int = 0) -> None:
        return None

    def keep_index(
        self, scope: Scope, head: Head, pieces: Sequence[bytes], *, what: int = 0
    ) -> bool:
        return False


def loaded(feed: Any, memory: Memory, which: str = "loud", also: Any = ()) -> View:
    """What a process that starts now would load."""
    cache = IndexCache(feed, most_bytes=1 << 30)
    view = cache.view(ANN, memory.worker.space, which, also=also)
    cache.settle()
    return view


def fill(memory: Memory, count: int = 40, first: int = 0) -> list[str]:
    words = ("cat", "dog", "bird", "fish", "ox", "bee")
    messages = [
        {
            "role": "user" if i % 3 else "assistant",
            "name": f"n{i % 4}" if i % 2 else None,
            "content": f"{words[i % 6]} and {words[i % 5]} {words[i % 6]} number{i}",
        }
        for i in range(first, first + count)
    ]
    events = memory.remember(messages, user="ann", workspace="home", session=f"s{first}").events
    memory.drain()
    return list(events)


def told_exactly(view: View) -> dict[str, object]:
    """All that ranking works on, byte by byte; texts instead of the codes that stand for them."""
    texts = {code: text for text, code in view.codes.items()} | {-1: None}
    coded = ("roles", "names", "agents", "sessions", "kinds", "tiers", "origins")
    plain = (
        "alive", "archived", "order", "at_us", "known_us", "until_us", "known_until_us",
        "confidence", "lengths", "said", "seen_us", "strength", "quiet", "private", "owners",
        "source",
    )  # fmt: skip
    postings = merge_segments(view.segments) if view.segments else None
    vectors = view.vectors
    return {
        "ids": list(view.ids),
        **{name: [texts[code] for code in getattr(view, name).tolist()] for name in coded},
        **{name: getattr(view, name).tobytes() for name in plain},
        "postings": postings
        and [getattr(postings, name).tobytes() for name in ("terms", "starts", "docs", "counts")],
        "vectors": vectors and (vectors._rows.tobytes(), vectors._docs.tobytes()),
    }


def check(memory: Memory, which: str = "loud", also: Any = ()) -> None:
    by_kept = loaded(memory.store, memory, which, also)
    alone = loaded(FeedAlone(memory.store), memory, which, also)
    assert told_exactly(by_kept) == told_exactly(alone)


def pieces_there(memory: Memory) -> int:
    """Rows of it, whether they are still good or not."""
    with memory.store._pool.reader() as connection:  # type: ignore[attr-defined]
        count: int = connection.execute("SELECT count(*) FROM kept_index").get
    return count


def is_kept(memory: Memory, scope: Scope = ANN) -> bool:
    return memory.store.kept_index(scope) is not None


def test_what_was_loaded_is_written_down_and_read_the_next_time(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(memory)
    loaded(memory.store, memory)
    assert is_kept(memory)
    asked = []
    changes = memory.store.changes

    def watched(scope: Scope, **span: int) -> Any:
        asked.append(span["after"])
        return changes(scope, **span)

    monkeypatch.setattr(memory.store, "changes", watched)
    check(memory)
    assert asked[0] >= 40, "only what came after it is read"
    assert asked[1] == 0, "and without it everything"


def test_what_changed_since_is_followed(memory: Memory) -> None:
    events = fill(memory)
    loaded(memory.store, memory)
    memory.forget(events[3], user="ann", workspace="home")
    memory.store.touch(ANN, events[5:7], at=NOON, action="praised", strength=lambda _: 0.5)
    memory.store.archive(ANN, events[8:9], at=NOON, reason="test")
    fill(memory, 7, first=100)
    check(memory)
    check(memory)


def test_the_answers_are_the_same_to_the_last_digit(memory: Memory) -> None:
    fill(memory, 60)
    loaded(memory.store, memory)
    fill(memory, 20, first=60)
    assert is_kept(memory)
    answers = []
    for feed in (memory.store, FeedAlone(memory.store)):
        memory._searcher._indexes = IndexCache(feed, most_bytes=1 << 30)
        asked = ("a cat and a fish", "number17", "which bird?", "ox bee")
        found = [memory.recall(each, user="ann", workspace="home", limit=20) for each in asked]
        answers.append([[(hit.id, hit.score) for hit in hits] for hits in found])
    assert answers[0] == answers[1]
    assert all(answers[0])


@pytest.mark.slow
@pytest.mark.parametrize("engine", ENGINES)
@settings(max_examples=25, deadline=None)
@given(
    steps=st.lists(STEPS, min_size=8, max_size=30), which=st.sampled_from(["loud", "all", "note"])
)
def test_whatever_happens_it_is_what_the_feed_alone_tells(
    engine: str, steps: list[Any], which: str
) -> None:
    also = (OF_TEAM, OF_BOB)
    with tempfile.TemporaryDirectory() as folder, opened(engine, Path(folder)) as memory:
        for what, is_worked_off, is_written_down in steps:
            act(memory, *what)
            if is_worked_off:
                memory.drain()
            if is_written_down:
                loaded(memory.store, memory, which, also)
        check(memory, which, also)
        by_kept = loaded(memory.store, memory, which, also)
        assert told_of(by_kept) == told_of(loaded(FeedAlone(memory.store), memory, which, also))


# What is wrong with it is noticed.


def pieces_of(memory: Memory) -> KeptIndex:
    fill(memory)
    loaded(memory.store, memory)
    kept = memory.store.kept_index(ANN)
    assert kept is not None
    assert len(kept.pieces) > 3
    return kept


def test_any_flipped_bit_is_noticed(tmp_path: Path) -> None:
    with opened("file", tmp_path) as memory:
        kept = pieces_of(memory)
    rows = from_pieces(kept.pieces, ANN, kept.change)
    assert rows is not None
    assert len(rows) == 40
    for number, piece in enumerate(kept.pieces):
        for at in range(0, len(piece), 7):
            damaged = bytearray(piece)
            damaged[at] ^= 1 << at % 8
            wrong = [*kept.pieces[:number], bytes(damaged), *kept.pieces[number + 1 :]]
            assert from_pieces(wrong, ANN, kept.change) is None


def test_what_was_cut_short_mixed_or_misplaced_is_noticed(tmp_path: Path) -> None:
    with opened("file", tmp_path) as memory:
        kept = pieces_of(memory)
    pieces, change = kept.pieces, kept.change
    for wrong in (
        [],
        pieces[:1],
        pieces[:-1],
        [*pieces[:-1], pieces[-1][:-1]],
        [pieces[0], *reversed(pieces[1:])],
        [*pieces, b"more"],
        [b"", *pieces[1:]],
    ):
        assert from_pieces(wrong, ANN, change) is None
    assert from_pieces(pieces, Scope("home", "bob"), change) is None
    assert from_pieces(pieces, ANN, change + 1) is None


def test_another_format_is_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with opened("file", tmp_path) as memory:
        kept = pieces_of(memory)
        monkeypatch.setattr(packing, "FORMAT", packing.FORMAT + 1)
        assert from_pieces(kept.pieces, ANN, kept.change) is None
        check(memory)


@pytest.mark.parametrize(
    "sql",
    [
        "UPDATE kept_index SET data = substr(data, 1, 9) WHERE piece = 1",
        "UPDATE kept_index SET piece = piece + 10 WHERE piece > 1",
        "UPDATE kept_index SET change = change - 3",
        "UPDATE kept_index SET change = change + 100000",
        "UPDATE kept_index SET epoch = epoch + 1",
        "UPDATE kept_index SET epoch = epoch - 1",
        "DELETE FROM kept_index WHERE piece = 0",
        "DELETE FROM kept_index WHERE piece = 2",
    ],
)
def test_of_a_damaged_one_nothing_is_taken(memory: Memory, sql: str) -> None:
    pieces_of(memory)
    fill(memory, 3, first=50)
    memory.store._writer.run(lambda connection: connection.execute(sql))  # type: ignore[attr-defined]
    check(memory)
    check(memory)


# What is removed from the memory is removed from it.


def test_a_wipe_removes_it_and_it_does_not_come_back(memory: Memory) -> None:
    events = fill(memory)
    head = memory.store.head(ANN)
    read = read_feed(memory.store, ANN, head)
    loaded(memory.store, memory)
    memory.forget(events[7], user="ann", workspace="home")
    assert is_kept(memory), "forgotten is not removed"
    memory.store.wipe(forgotten_before=datetime.now(UTC))
    assert pieces_there(memory) == 0
    packing.keep(memory.store, ANN, read)  # Of one who had read it before.
    assert pieces_there(memory) == 0
    check(memory)
    kept = memory.store.kept_index(ANN)
    assert kept is not None
    assert bytes.fromhex(events[7]) not in b"".join(kept.pieces)


def test_an_erased_owner_has_none(memory: Memory) -> None:
    fill(memory)
    read = read_feed(memory.store, ANN, memory.store.head(ANN))
    loaded(memory.store, memory)
    assert memory.store.erase(ANN, at=NOON)["kept_index"] > 3
    packing.keep(memory.store, ANN, read)
    assert pieces_there(memory) == 0
    fill(memory, 3)
    packing.keep(memory.store, ANN, read)
    assert pieces_there(memory) == 0, "of one who had the same name before"
    check(memory)


def test_what_a_program_removed_that_knew_nothing_of_it_is_gone(memory: Memory) -> None:
    """An older version that has the store open since before it had the table."""
    pieces_of(memory)
    for sql in (
        "DELETE FROM records WHERE length > 5 OR change < 5",
        "UPDATE owners SET epoch = epoch + 1",
    ):
        memory.store._writer.run(lambda c, sql=sql: c.execute(sql))  # type: ignore[attr-defined]
    assert len(loaded(memory.store, memory)) < 40
    check(memory)


def test_a_changed_text_is_followed_without_making_it_anew(memory: Memory) -> None:
    fill(memory)
    steps = memory.worker.steps
    memory.store.put(ANN, [a_fact(50, content="a cat")], known_at=NOON, steps=steps)
    memory.drain()
    loaded(memory.store, memory)
    epoch = memory.store.head(ANN).epoch
    memory.store.put(ANN, [a_fact(50, content="a dog")], known_at=NOON, steps=steps)
    memory.drain()
    assert memory.store.head(ANN).epoch > epoch
    assert is_kept(memory)
    check(memory)


# Several at once, and who may not write.


def test_the_newest_stays(memory: Memory) -> None:
    fill(memory)
    old = read_feed(memory.store, ANN, memory.store.head(ANN))
    fill(memory, 5, first=50)
    new = read_feed(memory.store, ANN, memory.store.head(ANN))
    packing.keep(memory.store, ANN, new)
    packing.keep(memory.store, ANN, old)
    kept = memory.store.kept_index(ANN)
    assert kept is not None
    assert kept.change == new.head.change


def write_again_and_again(url: str, ready: Any) -> None:
    packing.WORTH_KEEPING, packing._SHARE_NEW = 1, 0.0
    with holdfast.open(url, embedder=HashEmbedder(16), worker=False, config=CONFIG) as memory:
        ready.wait()
        for number in range(10):
            memory.remember(f"a bee {number}", user="ann", workspace="home")
            loaded(memory.store, memory)


@pytest.mark.parametrize("engine", ENGINES)
def test_two_processes_write_it_at_once(engine: str, tmp_path: Path) -> None:
    with opened(engine, tmp_path) as memory:
        fill(memory)
        url = str(tmp_path / "m.db") if engine == "file" else shared_store_url()
        context = multiprocessing.get_context("spawn")
        ready = context.Barrier(2)
        both = [context.Process(target=write_again_and_again, args=(url, ready)) for _ in "ab"]
        for each in both:
            each.start()
        for each in both:
            each.join()
        assert [each.exitcode for each in both] == [0, 0]
        assert is_kept(memory)
        check(memory)


def test_who_may_not_write_reads_all_the_same(
    memory: Memory, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    fill(memory)

    def refuses(*_: object, **__: object) -> bool:
        raise StoreReadOnly

    monkeypatch.setattr(memory.store, "keep_index", refuses)
    assert len(loaded(memory.store, memory)) == 40
    assert not caplog.records
    assert not is_kept(memory)


def test_small_owners_are_not_written_down(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packing, "WORTH_KEEPING", 41)
    fill(memory)
    loaded(memory.store, memory)
    assert not is_kept(memory)
    fill(memory, 1, first=50)
    loaded(memory.store, memory)
    assert is_kept(memory)


def test_a_little_growth_is_no_reason_to_write_all_anew(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(packing, "_SHARE_NEW", 0.2)
    fill(memory)
    loaded(memory.store, memory)
    first = memory.store.kept_index(ANN)
    fill(memory, 9, first=50)
    loaded(memory.store, memory)
    assert memory.store.kept_index(ANN) == first
    fill(memory, 2, first=70)
    loaded(memory.store, memory)
    assert memory.store.kept_index(ANN) != first


def test_the_nightly_round_writes_down_what_has_grown(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(packing, "_SHARE_NEW", 0.2)
    fill(memory)
    memory.remember("a cat", user="bob", workspace="home")
    monkeypatch.setattr(packing, "WORTH_KEEPING", 40)
    memory.life.run(now=NOON)
    first = memory.store.kept_index(ANN)
    assert first is not None
    assert not is_kept(memory, Scope("home", "bob"))
    fill(memory, 20, first=50)
    memory.life.run(now=NOON + timedelta(hours=1))
    assert memory.store.kept_index(ANN) == first, "once a night"
    memory.life.run(now=NOON + timedelta(days=1))
    assert memory.store.kept_index(ANN) != first
    check(memory)


# The arrays.


def test_bytes_give_back_what_they_were_made_of(tmp_path: Path) -> None:
    with opened("file", tmp_path) as memory:
        fill(memory)
        rows = pack([memory.store.changes(ANN, after=0)])
    again = from_pieces(to_pieces(rows, ANN, 7), ANN, 7)
    assert again is not None
    assert list(again.ids) == list(rows.ids)
    assert again.sources == rows.sources
    assert list(again.texts) == list(rows.texts)
    for name, column in rows.columns.items():
        assert again.columns[name].dtype == column.dtype, name
        assert np.array_equal(again.columns[name], column), name


def test_nothing_can_be_packed() -> None:
    none = pack([])
    assert len(none) == 0
    assert not Read(none, Head(0, 0)).is_worth_keeping
