"""After an erasure no byte of it is left in the files, and nothing else has changed."""

import threading
from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import apsw
import numpy as np
import pytest

from holdfast.errors import StoreBusy
from holdfast.index.view import packed
from holdfast.language.terms import terms
from holdfast.records.entries import index_row
from holdfast.store.protocols import KeyUse, Vector
from holdfast.store.sqlite import SqliteStore, connection
from holdfast.testing.store_suite import (
    BOB,
    EMBED,
    NOON,
    a_fact,
    a_note,
    an_entry,
    claim,
    put,
)
from holdfast.types import Scope

GONE = Scope("home", "canary-name")
DIM = 64
WORDS = ("canary-name", "canary text", "canary-meta", "canary-session", "canary-fact",
         "canary-data", "canary-query", "canary-body", "canary-key", "canary-note",
         "canary-error", "canary-index", "canary-piece")  # fmt: skip


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SqliteStore]:
    store = SqliteStore(tmp_path / "m.db")
    store.use_space("model", DIM, 1)
    yield store
    store.close()


def a_vector(number: int, record: str) -> Vector:
    data = np.random.default_rng(number).standard_normal(DIM).astype("<f4")
    data /= np.linalg.norm(data)
    return Vector(0, record, 0, f"digest {number}".encode().ljust(16), data.tobytes())


def fill(store: SqliteStore, *, rounds: int = 12) -> list[bytes]:
    """Turns, facts and vectors of two owners in turn, so that they share pages; what only the one
    who goes has: vectors, and a term."""
    unique: list[bytes] = [packed(terms("zyzzyva"))[0][:8]]
    for number in range(rounds):
        for owner, scope in enumerate((GONE, BOB)):
            text = "canary text zyzzyva " * number if owner == 0 else "other words " * number
            entry = an_entry(
                number, text + "end", metadata={"canary-meta": 1} if not owner else None
            )
            key = KeyUse(f"canary-key {number}" if not owner else str(number), b"body")
            session = replace(scope, session=None if owner else "canary-session")
            (event,) = put(store, session, entry, key=key)
            jobs = claim(store)
            vectors = [a_vector(job.id, job.subject) for job in jobs]
            store.finish(jobs, space=1, vectors=vectors)
            theirs = {job.subject for job in jobs if job.scope.user == GONE.user}
            unique += [each.data[:32] for each in vectors if each.record in theirs]
            fact = a_fact(
                500 + number, event, content=f"{'canary-fact' if not owner else 'fact'} {number}",
                data={"x": "canary-data" if not owner else ""},
            )  # fmt: skip
            store.put(scope, [fact], known_at=NOON, steps=[EMBED])
            if not owner:
                store.archive(scope, [fact.id], at=NOON, reason="canary-note")
                note = replace(a_note(number), query="canary-query", body=b"canary-body" * 9)
                store.note_context(scope, note)
    put(store, GONE, an_entry(rounds))
    assert store.keep_index(GONE, store.head(GONE), [b"canary-index", b"canary-piece" * 9_999])
    (job,) = [each for each in claim(store) if each.scope.user == GONE.user]
    store.release([job], error="canary-error")
    return unique


def found(folder: Path, canaries: list[bytes]) -> set[tuple[str, bytes]]:
    return {
        (file.suffix, canary)
        for file in folder.iterdir()
        for canary in canaries
        if canary in file.read_bytes()
    }


def test_no_byte_of_it_is_left(store: SqliteStore, tmp_path: Path) -> None:
    canaries = fill(store) + [word.encode() for word in WORDS]
    assert {canary for _, canary in found(tmp_path, canaries)} == set(canaries)
    others = [row for row in store.dump() if row.scope.user == BOB.user]
    removed = store.erase(GONE, at=NOON)
    assert (removed["events"], removed["contexts"]) == (13, 12)
    assert found(tmp_path, canaries) == set()
    assert list(store.dump()) == others
    assert [each.detail for each in store.check(index_row) if not each.ok] == []
    put(store, BOB, an_entry(99))
    store.rebuild(index_row, steps=[EMBED])
    store.close()
    assert found(tmp_path, canaries) == set()


def test_no_byte_of_what_an_index_kept_is_left_by_a_wipe(
    store: SqliteStore, tmp_path: Path
) -> None:
    fill(store)
    canaries = [b"canary-index", b"canary-piece"]
    assert {canary for _, canary in found(tmp_path, canaries)} == set(canaries)
    store.forget(GONE, [store.events(GONE)[0].id], at=NOON)
    assert store.wipe(forgotten_before=NOON + timedelta(days=1))
    store.close()
    assert found(tmp_path, canaries) == set()


def test_a_reader_that_is_about_delays_it(
    store: SqliteStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    canaries = fill(store, rounds=3)
    reader = apsw.Connection(str(tmp_path / "m.db"))
    reader.execute("BEGIN")
    assert reader.execute("SELECT count(*) FROM events").get == 7
    monkeypatch.setattr(connection, "BUSY_SECONDS", 0.2)
    with pytest.raises(StoreBusy):
        store.erase(GONE, at=NOON)
    assert store.events(GONE) == [], "the rows are gone, the bytes may not be"
    reader.close()
    assert sum(store.erase(GONE, at=NOON).values()) == 0
    assert found(tmp_path, canaries) == set()


def test_others_write_meanwhile(store: SqliteStore, tmp_path: Path) -> None:
    canaries = fill(store, rounds=3)
    other = SqliteStore(tmp_path / "m.db")
    stop = threading.Event()
    written: list[int] = []

    def write() -> None:
        while not stop.is_set():
            put(other, BOB, an_entry(1000 + len(written)))
            written.append(1)

    writer = threading.Thread(target=write)
    writer.start()
    try:
        store.erase(GONE, at=NOON)
    finally:
        stop.set()
        writer.join()
    assert len(other.events(BOB)) == 3 + len(written)
    other.close()
    store.erase(GONE, at=NOON)
    assert found(tmp_path, canaries) == set()
