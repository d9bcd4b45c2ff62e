"""Several processes: nobody gets what another holds, and nothing is lost with its holder."""

import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from holdfast.learn.embed import record_texts
from holdfast.records.entries import index_row
from holdfast.store.sqlite import SqliteStore
from holdfast.testing.store_suite import (
    ANN,
    BOB,
    NOON,
    a_name,
    an_entry,
    claim_group,
    say,
)

CLAIMER = """
import sys
from holdfast.store.sqlite import SqliteStore
from holdfast.testing.store_suite import claim_group
store = SqliteStore(sys.argv[1])
print("ready", flush=True)
sys.stdin.readline()
while jobs := claim_group(store, most=3):
    assert len({job.scope for job in jobs}) == 1
    print(*(job.id for job in jobs), flush=True)
    sys.stdin.readline()  # Waits for the others once, then stdin is closed.
"""

DIER = """
import os, signal, sys
from holdfast.store.sqlite import SqliteStore
from holdfast.testing.store_suite import claim_group
store = SqliteStore(sys.argv[1])
print(*(job.id for job in claim_group(store, float(sys.argv[2]))), flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "m.db"


@pytest.fixture
def store(path: Path) -> Iterator[SqliteStore]:
    store = SqliteStore(path)
    yield store
    store.close()


def start(source: str, *arguments: object) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", source, *map(str, arguments)]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def line_of(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.readline()


@pytest.mark.slow
def test_no_two_processes_get_the_same_job(path: Path, store: SqliteStore) -> None:
    for number in range(30):
        scope = replace((ANN, BOB)[number % 2], session=f"s{number % 6}")
        say(store, scope, *(an_entry(100 * number + i) for i in range(5)))
    claimers = [start(CLAIMER, path) for _ in range(3)]
    told = [line_of(claimer) for claimer in claimers]
    assert told == ["ready\n"] * 3
    for claimer in claimers:
        assert claimer.stdin is not None
        claimer.stdin.write("\n")
        claimer.stdin.flush()
    first = [line_of(claimer) for claimer in claimers]
    rest = [claimer.communicate(timeout=60)[0] for claimer in claimers]
    assert [claimer.returncode for claimer in claimers] == [0, 0, 0]
    taken = " ".join(first + rest).split()
    assert len(taken) == len(set(taken)) == 150
    assert store.counts(steps=["extract"]).running == 150


@pytest.mark.slow
def test_a_group_outlives_the_worker_that_was_killed(path: Path, store: SqliteStore) -> None:
    events = say(store, ANN, *(an_entry(number) for number in (3, 1, 2)))
    held = []
    for round in (1, 2):
        dier = start(DIER, path, 100 * round)
        said, _ = dier.communicate(timeout=60)
        assert dier.returncode == -signal.SIGKILL
        held.append(len(said.split()))
        assert claim_group(store, 100 * round + 59)[1:] == [], "the lease still holds"
    assert held == [3, 1], "from then on each of them comes by itself"
    for number in (1, 2, 3):
        (job,) = claim_group(store, 400 + number)
        assert job.attempts <= 3
        assert store.learn(ANN, [job], [a_name(50, *events)], known_at=NOON, steps=[]) == 1
    assert claim_group(store, 500) == []
    assert [finding for finding in store.check(index_row) if not finding.ok] == []


def test_what_was_only_heard_gives_no_passages(store: SqliteStore) -> None:
    store.put(
        ANN, [a_name(50), replace(a_name(51), data={"name": "Lisbon"})], known_at=NOON, steps=[]
    )
    heard, plain = store.listed(ANN, tier="graph")
    assert (record_texts(heard), index_row(heard)[:2]) == ([], (b"", 0))
    assert record_texts(plain) == ["Lisbon (location)"]
    assert index_row(plain).length == 2
