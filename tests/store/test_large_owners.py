"""Owners who are too large to be held in memory: the database names documents, on a real server."""

import random
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
import psycopg
import pytest

import holdfast
from holdfast.index import packed
from holdfast.memory.memory import Memory
from holdfast.settings import Index
from holdfast.store.postgres import PostgresStore, large
from holdfast.store.postgres.exchange import Exchange
from holdfast.store.values import KEPT_SKETCHES, Narrowed
from holdfast.testing import HashEmbedder
from holdfast.types import Hits, Scope
from tests.servers import empty_store_url, new_database

NOW = datetime(2026, 5, 1, 12, tzinfo=UTC)
ANN = Scope("default", "ann")
LIMIT = 50
WORDS = [
    f"{first}{second}"
    for first in ("kra", "lum", "zet", "vop", "mir", "dag", "fen", "hul", "jor", "pil")
    for second in ("to", "na", "ber", "sik", "wod", "gam")
]


class Opened:
    """One store on a server, opened twice: once as if nobody fitted into memory."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.clock = NOW
        self.named = self._open({"index": {"residentMemories": LIMIT}})
        self.whole = self._open({})

    def _open(self, config: dict[str, Any]) -> Memory:
        return holdfast.open(
            self.url, embedder=HashEmbedder(64), worker=False, clock=lambda: self.clock,
            config={"extraction": {"enabled": False}, **config},
        )  # fmt: skip

    @property
    def store(self) -> PostgresStore:
        found = self.named._store
        assert isinstance(found, PostgresStore)
        return found

    def fill(self, sessions: int, *, seed: int = 1, user: str = "ann", turns: int = 12) -> None:
        rng = random.Random(seed)
        for number in range(sessions):
            topic = rng.sample(WORDS, 12)
            self.named.remember(
                [
                    {
                        "role": ("user", "assistant")[i % 2],
                        "content": " ".join(rng.choices(topic, k=rng.randint(3, 9))),
                    }
                    for i in range(turns)
                ],
                user=user,
                session=f"{seed}-{number}",
                at=NOW - timedelta(days=sessions - number),
            )
        self.named.drain()

    def close(self) -> None:
        self.named.close()
        self.whole.close()


@pytest.fixture
def opened() -> Iterator[Opened]:
    found = Opened(empty_store_url())
    yield found
    found.close()


@pytest.fixture(scope="module")
def many() -> Iterator[Opened]:
    """Of 1,800 turns of one owner, for those that only search."""
    with new_database() as url:
        found = Opened(url)
        found.fill(150)
        yield found
        found.close()


def is_named(hits: Hits) -> bool:
    return all("index" in hit.why for hit in hits) and bool(hits)


def overlap(opened: Opened, count: int = 40, **asked: Any) -> float:
    """The share of the first ten that a search over all finds, and one over the named does, too."""
    rng, shares = random.Random(5), []
    for _ in range(count):
        text = " ".join(rng.sample(WORDS, 4))
        whole = [hit.id for hit in opened.whole.recall(text, user="ann", limit=10, **asked)]
        hits = opened.named.recall(text, user="ann", limit=10, **asked)
        assert is_named(hits) or not whole or "as_of" in asked
        if whole:
            shares.append(len({hit.id for hit in hits} & set(whole)) / len(whole))
    assert len(shares) > count // 4
    return sum(shares) / len(shares)


def test_it_finds_what_a_search_over_all_finds(many: Opened) -> None:
    assert overlap(many) >= 0.97


def test_a_small_owner_is_held_in_memory(opened: Opened) -> None:
    opened.fill(2, user="ann")
    hits = opened.named.recall(WORDS[0], user="ann")
    assert hits
    assert not any("index" in hit.why for hit in hits)
    assert opened.store.large_owner(ANN, opened.store.spaces()[-1]) is None


@pytest.mark.parametrize(
    "asked",
    [
        {"filters": {"session": "1-70"}},
        {"filters": {"role": "assistant"}},
        {"as_of": NOW - timedelta(days=140)},
        {"filters": {"role": "user", "session": "1-3"}},
    ],
    ids=["session", "role", "as of", "both"],
)
def test_a_filter_loses_nothing(many: Opened, asked: dict[str, Any]) -> None:
    """A shared index of vectors would find next to nothing behind a filter of one in a hundred."""
    assert overlap(many, 20, **asked) >= 0.97


def test_a_search_is_five_messages(many: Opened, monkeypatch: pytest.MonkeyPatch) -> None:
    """The look at all feeds, the state of the index, rarities and rules, all that is read, and the
    records of the hits."""
    many.named.recall("krato kraber", user="ann", limit=5)
    many.named._searcher._answering_space()  # Asked for again every two seconds.
    messages, run = list[int](), Exchange.run

    def noted(self: Exchange, raw: Any, statements: Any) -> None:
        messages.append(len(statements))
        run(self, raw, statements)

    monkeypatch.setattr(Exchange, "run", noted)
    assert is_named(many.named.recall("krato kraber zetwod", user="ann", limit=5))
    assert len(messages) == 5, messages


def test_what_was_just_written_is_found(opened: Opened) -> None:
    opened.fill(20)
    opened.named.remember("The zeppelin is called Ingeborg.", user="ann", session="new")
    (hit, *_) = opened.named.recall("What is the zeppelin called?", user="ann")
    assert "Ingeborg" in hit.content
    assert is_named(opened.named.recall("What is the zeppelin called?", user="ann"))


def test_what_another_process_wrote_is_found(opened: Opened) -> None:
    opened.fill(20)
    assert opened.named.recall("zeppelin", user="ann") is not None
    opened.whole.remember("The zeppelin is called Ingeborg.", user="ann", session="new")
    (hit, *_) = opened.named.recall("What is the zeppelin called?", user="ann")
    assert "Ingeborg" in hit.content


def test_what_was_forgotten_is_not_found(opened: Opened) -> None:
    opened.fill(20)
    opened.named.remember("The zeppelin is called Ingeborg.", user="ann", session="new")
    opened.named.drain()
    (hit, *_) = opened.named.recall("zeppelin", user="ann")
    opened.named.forget(hit.id, user="ann")
    assert all(
        "Ingeborg" not in each.content for each in opened.named.recall("zeppelin", user="ann")
    )
    opened.named.restore(hit.id, user="ann")
    assert "Ingeborg" in opened.named.recall("zeppelin", user="ann")[0].content


def test_rules_are_told_however_far_they_are_from_the_words(opened: Opened) -> None:
    opened.named.remember("Always answer in Dutch.", user="ann", session="rules")
    opened.fill(60)
    told = opened.named.context(WORDS[3], user="ann").text
    assert "Always answer in Dutch." in told


def test_nobody_sees_documents_of_another(opened: Opened) -> None:
    opened.fill(20)
    opened.fill(20, seed=2, user="bob")
    ours = {
        hit.id for word in WORDS[:20] for hit in opened.named.recall(word, user="ann", limit=50)
    }
    theirs = {
        hit.id for word in WORDS[:20] for hit in opened.named.recall(word, user="bob", limit=50)
    }
    assert ours
    assert theirs
    assert not ours & theirs


def test_with_every_condition_taken_out_nobody_does(opened: Opened) -> None:
    """The functions answer for the owner of the transaction alone, whatever they are asked."""
    opened.fill(20)
    opened.fill(20, seed=2, user="bob")
    store, bob = opened.store, Scope("default", "bob")
    known = store.large_owner(ANN, store.spaces()[-1])
    assert known is not None
    with known.reader() as reader, store._pool.reader() as theirs:
        ours = {spot.record for spot in reader.all_of(Narrowed(), 10_000)}
        theirs.narrow(bob)
        for sql in (
            "SELECT record FROM candidates",
            "SELECT record FROM nearest",
            "SELECT record FROM holders((SELECT array_agg('{' || term || '}') FROM"
            " (SELECT DISTINCT unnest(terms) AS term FROM candidates) AS t), 1000)",
        ):
            found = {row[0] for row in theirs.execute(sql)}
            assert found
            assert not found & ours


def left(url: str, table: str) -> int:
    with psycopg.connect(url) as raw:
        row = raw.execute(f"SELECT count(*) FROM holdfast.{table}").fetchone()
    assert row is not None
    return int(row[0])


def test_erasure_leaves_nothing_to_find_by(opened: Opened) -> None:
    opened.fill(20)
    opened.fill(20, seed=2, user="bob")
    before = {name: left(opened.url, name) for name in ("candidates", "nearest", "large_owners")}
    opened.named.erase(user="ann")
    for name, count in before.items():
        assert left(opened.url, name) == count // 2, name
    opened.named.erase(user="bob")
    for name in (*before, "frequencies"):
        assert left(opened.url, name) == 0, name


def test_what_is_wiped_is_found_by_nothing(opened: Opened) -> None:
    opened.fill(20)
    event = opened.named.remember("The zeppelin is called Ingeborg.", user="ann").events[0]
    opened.fill(1, seed=3)
    opened.store.index_large(ANN, opened.store.spaces()[-1], Index(resident_memories=LIMIT))
    opened.named.forget(event, user="ann")
    opened.store.wipe(forgotten_before=NOW + timedelta(days=60))
    for table in ("candidates", "nearest"):
        with psycopg.connect(opened.url) as raw:
            sql = f"SELECT count(*) FROM holdfast.{table} WHERE record = %s"
            assert raw.execute(sql, (bytes.fromhex(event),)).fetchone() == (0,), table


@pytest.fixture
def worth_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every owner's sketches are written down, whenever there are more."""
    monkeypatch.setattr(packed, "WORTH_KEEPING", 1)
    monkeypatch.setattr(packed, "_SHARE_NEW", 0.01)


def told(memory: Memory, user: str = "ann") -> list[tuple[str, float]]:
    """What a process that starts now answers; what it wrote down is there afterwards."""
    hits = memory.recall("krato kraber zetwod", user=user, limit=20)
    memory._searcher.settle()
    return [(hit.id, hit.score) for hit in hits]


def kept(store: PostgresStore) -> int | None:
    """Up to which change sketches are written down."""
    found = store.kept_index(ANN, what=KEPT_SKETCHES)
    return None if found is None else found.change


@pytest.mark.usefixtures("worth_it")
def test_the_next_process_reads_sketches_that_were_written_down(
    opened: Opened, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened.fill(20)
    first = told(opened.named)
    change = kept(opened.store)
    assert change is not None
    config = {"index": {"residentMemories": LIMIT}}
    read = list[tuple[int, int]]()
    documents = large.PostgresLargeReader.documents

    def noted(reader: Any, after: int, until: int) -> Any:
        read.append((after, until))
        return documents(reader, after, until)

    monkeypatch.setattr(large.PostgresLargeReader, "documents", noted)
    with opened._open(config) as again:
        assert told(again) == first
        assert not read
    opened.fill(2, seed=7)
    opened.store.index_large(ANN, opened.store.spaces()[-1], Index(resident_memories=LIMIT))
    newest = opened.store.large_owner(ANN, opened.store.spaces()[-1])
    assert newest is not None
    with opened._open(config) as again:
        grown = told(again)
    if newest.change > change:
        assert read == [(change, newest.change)]
        assert kept(opened.store) == newest.change
    assert grown == told(opened.named)


@pytest.mark.usefixtures("worth_it")
def test_what_is_wiped_or_erased_is_in_no_sketch_that_was_written_down(opened: Opened) -> None:
    opened.fill(20)
    opened.fill(20, seed=2, user="bob")
    event = opened.named.remember("The zeppelin is called Ingeborg.", user="ann").events[0]
    opened.named.drain()
    told(opened.named)
    told(opened.named, "bob")
    assert kept(opened.store) is not None
    both = left(opened.url, "kept_index")
    opened.named.forget(event, user="ann")
    opened.store.wipe(forgotten_before=NOW + timedelta(days=60))
    assert kept(opened.store) is None
    told(opened.named)
    found = opened.store.kept_index(ANN, what=KEPT_SKETCHES)
    assert found is not None
    assert bytes.fromhex(event) not in b"".join(found.pieces)
    opened.named.erase(user="ann")
    assert left(opened.url, "kept_index") == both // 2
    opened.named.erase(user="bob")
    assert left(opened.url, "kept_index") == 0


@pytest.mark.usefixtures("worth_it")
def test_sketches_that_cannot_be_read_are_made_anew(opened: Opened) -> None:
    opened.fill(20)
    first = told(opened.named)
    with psycopg.connect(opened.url) as raw:
        raw.execute("UPDATE holdfast.kept_index SET data = substr(data, 2) WHERE piece > 1 << 20")
    with opened._open({"index": {"residentMemories": LIMIT}}) as again:
        assert told(again) == first


def test_two_workers_take_in_everything_once(opened: Opened) -> None:
    opened.fill(20)
    space = opened.store.spaces()[-1]
    again = opened.whole._store
    assert isinstance(again, PostgresStore)
    assert again.index_large(ANN, space, Index(resident_memories=LIMIT)) == 0
    known = opened.store.large_owner(ANN, space)
    assert known is not None
    assert known.every.documents == left(opened.url, "candidates")


def test_counts_are_those_of_all_documents(opened: Opened, monkeypatch: pytest.MonkeyPatch) -> None:
    """However many documents are taken in at once, but for windows that are cut there."""
    monkeypatch.setattr(large, "_AT_ONCE", 12 * 7)
    opened.fill(30)
    space = opened.store.spaces()[-1]
    with psycopg.connect(opened.url) as raw:
        rows = raw.execute(
            "SELECT f.documents, f.sessions, (SELECT count(*) FROM holdfast.candidates c"
            " WHERE c.terms @> ARRAY[f.term]), (SELECT count(DISTINCT session) FROM"
            " holdfast.candidates c WHERE c.terms @> ARRAY[f.term]) FROM holdfast.frequencies f"
        ).fetchall()
    assert rows
    assert all((row[0], row[1]) == (row[2], row[3]) for row in rows)
    known = opened.store.large_owner(ANN, space)
    assert known is not None
    assert known.sessions.documents == 30


def test_a_server_without_pgvector_holds_all_in_memory(
    opened: Opened, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(opened.store, "_vector_schema", None)
    opened.fill(20)
    hits = opened.named.recall(WORDS[0], user="ann")
    assert hits
    assert not any("index" in hit.why for hit in hits)
    assert any("pgvector is not there" in each.detail for each in opened.named.doctor())


def test_doctor_tells_who_is_searched_in_the_database(opened: Opened) -> None:
    opened.fill(20)
    (found,) = [each for each in opened.named.doctor() if each.check == "large owners"]
    assert found.ok
    assert found.detail.startswith("1 with 2")


def test_who_may_only_serve_and_work_indexes_all_the_same() -> None:
    with new_database() as url:
        PostgresStore(url).close()
        with psycopg.connect(url, autocommit=True) as admin:
            admin.execute("DROP ROLE IF EXISTS plain_service")
            admin.execute("CREATE ROLE plain_service LOGIN")
            admin.execute("GRANT holdfast_serve, holdfast_work TO plain_service")
        try:
            opened = Opened(url.replace("postgres:@", "plain_service@"))
            opened.fill(20)
            assert is_named(opened.named.recall(WORDS[0], user="ann"))
            opened.close()
        finally:
            with psycopg.connect(url, autocommit=True) as admin:
                admin.execute("DROP OWNED BY plain_service")
                admin.execute("DROP ROLE plain_service")


def test_the_nearest_of_many_are_found_beside_an_exact_search(opened: Opened) -> None:
    opened.fill(250)
    store, space = opened.store, opened.store.spaces()[-1]
    vectors = store.vectors(ANN, space.id)
    rows = np.array([np.frombuffer(each.data, "<f4") for each in vectors])
    shares = []
    known = store.large_owner(ANN, space)
    assert known is not None
    with known.reader() as reader:
        for probe in HashEmbedder(64).embed([" ".join(WORDS[i : i + 5]) for i in range(30)]):
            cosines = rows @ probe
            near = [spot.record.hex() for spot, _ in reader.nearest(probe, 10, Narrowed(), 200)]
            # Of equals any may be named.
            worst = sorted(cosines)[-10] - 1e-6
            good = {v.record for v, cosine in zip(vectors, cosines, strict=True) if cosine >= worst}
            shares.append(len(set(near) & good) / 10)
    assert sum(shares) / len(shares) >= 0.97
