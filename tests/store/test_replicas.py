"""Reads from a real streaming replica: nothing that was acknowledged is missing, nothing is older
than was asked for, and a replica that lags or is gone is no reason to fail."""

import logging
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, contextmanager

import psycopg
import pytest

from holdfast.errors import ConfigError, StoreBusy, StoreError
from holdfast.records.entries import index_row
from holdfast.service.http.observe import _servers as metrics_of
from holdfast.store.postgres import PostgresStore, replicas
from holdfast.store.postgres import __name__ as driver
from holdfast.store.postgres.address import read_address
from holdfast.store.postgres.writer import _Commit
from holdfast.testing.fakes import HashEmbedder
from holdfast.testing.store_suite import ANN, NOON, an_entry, fill, put
from holdfast.types import Hit
from holdfast.wiring import open as open_memory
from tests.servers import Server, empty, wait_for_replay


@pytest.fixture(scope="module")
def servers() -> Iterator[tuple[Server, Server]]:
    """A primary and its replica, both up."""
    primary, replica = Server(), Server("max_standby_streaming_delay=0")
    try:
        primary.start()
        PostgresStore(primary.url).close()
        replica.start_as_replica(primary.url)
        yield primary, replica
    finally:
        replica.end()
        primary.end()


@pytest.fixture
def primary(servers: tuple[Server, Server]) -> Server:
    """The primary, without a row; the replica has replayed that."""
    primary, replica = servers
    empty(primary.url)
    wait_for_replay(primary.url, replica.url)
    return primary


@pytest.fixture
def replica(servers: tuple[Server, Server]) -> Server:
    return servers[1]


@pytest.fixture
def opened(primary: Server, replica: Server) -> Callable[..., PostgresStore]:
    """Open the store, as one process would, with a staleness."""

    def make(staleness: float = 0) -> PostgresStore:
        return PostgresStore(f"{primary.url}?replica={replica.place}&staleness={staleness}")

    return make


@contextmanager
def paused(replica: Server) -> Iterator[None]:
    """The replica receives what is written and does not replay it."""
    with psycopg.connect(replica.url, autocommit=True) as connection:
        connection.execute("SELECT pg_wal_replay_pause()")
        while connection.execute("SELECT pg_get_wal_replay_pause_state()").fetchone() != (
            "paused",
        ):
            time.sleep(0.01)
        try:
            yield
        finally:
            connection.execute("SELECT pg_wal_replay_resume()")


def count(store: PostgresStore) -> int:
    return len(store.events(ANN))


def by_replica(store: PostgresStore) -> int:
    """How many reads the replica has answered."""
    return store.health().servers[1].reads


def until(is_so: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 20
    while not is_so():
        assert time.monotonic() < deadline
        time.sleep(0.05)


# What a read may miss.


def test_each_read_sees_what_was_acknowledged_before_it_whoever_took_it(
    primary: Server, opened: Callable[..., PostgresStore]
) -> None:
    with closing(opened()) as store, closing(PostgresStore(primary.url)) as other:
        for number in range(60):
            put(other if number % 2 else store, ANN, an_entry(number))
            assert count(store) == number + 1
        assert by_replica(store) > 30, store.health().servers


def test_while_a_replica_lags_the_primary_answers_without_delay(
    primary: Server, replica: Server, opened: Callable[..., PostgresStore]
) -> None:
    with closing(opened()) as store, closing(PostgresStore(primary.url)) as other:
        put(store, ANN, an_entry(1))
        assert count(store) == 1
        with paused(replica):
            put(store, ANN, an_entry(2))
            put(other, ANN, an_entry(3))
            answered, began = by_replica(store), time.monotonic()
            assert count(store) == 3
            assert time.monotonic() - began < 2
            began = time.monotonic()
            for _ in range(20):  # Once it was late nobody waits for it.
                assert count(store) == 3
            assert time.monotonic() - began < 1.5
            assert by_replica(store) == answered
            (finding,) = [each for each in store.check(index_row) if each.check == "replica"]
            assert not finding.ok
            assert "bytes behind" in finding.detail
            assert "replica" in str(store.health().trouble)
        until(lambda: count(store) == 3 and by_replica(store) > answered)
        assert store.health().trouble is None


def test_what_is_answered_is_no_older_than_was_asked_for(
    primary: Server, replica: Server, opened: Callable[..., PostgresStore]
) -> None:
    with closing(opened(staleness=1.5)) as store, closing(PostgresStore(primary.url)) as other:
        assert count(store) == 0
        with paused(replica):
            put(other, ANN, an_entry(1))
            written, answered = time.monotonic(), by_replica(store)
            assert count(store) == 0, "within the staleness a replica may answer"
            assert by_replica(store) == answered + 1
            while count(store) == 0:
                began = time.monotonic()
                assert began - written < 1.5
                time.sleep(0.05)
            assert time.monotonic() - written > 0.5, "it was not the primary that answered at once"


def test_one_sees_ones_own_writes_and_never_less_than_before(
    primary: Server, replica: Server, opened: Callable[..., PostgresStore]
) -> None:
    with closing(opened(staleness=600)) as store, closing(PostgresStore(primary.url)) as other:
        assert count(store) == 0
        with paused(replica):
            put(other, ANN, an_entry(1))
            assert count(store) == 0
            put(store, ANN, an_entry(2))
            assert count(store) == 2
        with closing(opened(staleness=600)) as third:
            assert count(third) >= 0
            with paused(replica):
                put(other, ANN, an_entry(3))
                # Read at the primary, so that it was seen: the replica must not hide it again.
                assert third._reads.run(lambda: other_count(third), by_replica=False) == 3
                assert count(third) == 3


def other_count(store: PostgresStore) -> int:
    with store._pool.reader() as connection:
        return int(connection.execute("SELECT count(*) FROM events").get)


def test_a_plan_that_came_too_late_sees_what_was_faster(
    primary: Server, replica: Server, opened: Callable[..., PostgresStore]
) -> None:
    """Else an optimistic writer would make the same plan again until the replica has caught up."""
    with closing(opened(staleness=600)) as store, closing(PostgresStore(primary.url)) as other:
        put(store, ANN, an_entry(1))
        assert store.head(ANN).change == 1
        with paused(replica):
            put(other, ANN, an_entry(2))
            assert store.head(ANN).change == 1
            with pytest.raises(ZeroDivisionError):  # Any transaction that looked and gave up.
                store._writer.run(lambda c: 1 / len(list(c.execute("SELECT 1 WHERE false"))))
            assert store.head(ANN).change == 2


def test_a_log_that_ends_within_a_record_keeps_no_replica_behind(
    primary: Server, opened: Callable[..., PostgresStore]
) -> None:
    """It is written by whole pages when nobody waits for it, as after reads that leave hints."""
    with closing(opened()) as store, psycopg.connect(primary.url, autocommit=True) as admin:
        assert count(store) == 0
        answered = by_replica(store)
        admin.execute("SELECT pg_logical_emit_message(false, 'x', repeat('y', 20000))")
        until(lambda: primary.ask("SELECT (pg_current_wal_flush_lsn() - '0/0') % 8192") == 0)
        assert [count(store) for _ in range(10)] == [0] * 10
        assert by_replica(store) == answered + 10


# Servers that go away.


def test_a_replica_that_is_gone_is_done_without_and_comes_back(
    replica: Server, opened: Callable[..., PostgresStore], caplog: pytest.LogCaptureFixture
) -> None:
    with closing(opened()) as store:
        put(store, ANN, an_entry(1))
        assert count(store) == 1
        replica.stop()
        began = time.monotonic()
        for _ in range(10):
            assert count(store) == 1
        assert time.monotonic() - began < 3
        assert "reads go to the primary" in caplog.text
        assert any(not each.ok for each in store.check(index_row) if each.check == "replica")
        answered = by_replica(store)
        replica.start()
        until(lambda: count(store) == 1 and by_replica(store) > answered)


def test_doctor_looks_for_a_replica_that_was_gone(
    replica: Server, opened: Callable[..., PostgresStore], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(replicas, "_LOOK_SECONDS", 60)  # Nobody else does meanwhile.
    with closing(opened()) as store:
        put(store, ANN, an_entry(1))
        replica.stop()
        assert count(store) == 1
        replica.start()
        (finding,) = [each for each in store.check(index_row) if each.check == "replica"]
        assert finding.ok, finding.detail


def test_without_the_primary_reads_go_on_for_as_long_as_they_are_fresh_enough(
    primary: Server, opened: Callable[..., PostgresStore]
) -> None:
    with closing(opened(staleness=3)) as store, closing(opened()) as strict:
        put(store, ANN, an_entry(1))
        assert count(store) == 1
        for each in (store, strict):
            each._pool._patience = 0.3
        primary.kill()
        began = time.monotonic()
        try:
            while time.monotonic() - began < 1.5:
                assert count(store) == 1
                assert store.counts().ready == 1
            assert "nothing can be stored" in str(store.health().trouble)
            with pytest.raises(StoreError, match="refused"):
                count(strict)
            time.sleep(2)
            with pytest.raises(StoreError, match=r"refused.*answers, but not how old that is"):
                count(store)
        finally:
            primary.start()
        assert count(store) == 1
        assert count(strict) == 1


def test_what_is_replayed_gets_in_the_way_of_a_read_and_the_primary_answers(
    primary: Server, opened: Callable[..., PostgresStore]
) -> None:
    with closing(opened()) as store:
        put(store, ANN, an_entry(1))
        tries = []

        def read() -> int:
            with store._pool.snapshot() as connection:
                tries.append(connection.execute("SELECT pg_is_in_recovery()").get)
                assert connection.execute("SELECT count(*) FROM events").get == 1
                if len(tries) == 1:
                    with psycopg.connect(primary.url, autocommit=True) as admin:
                        admin.execute("VACUUM FULL holdfast.events")
                    assert connection.execute("SELECT pg_sleep(20)").get == ""
                return int(connection.execute("SELECT count(*) FROM events").get)

        assert store._reads.run(read, by_replica=True) == 1
        assert tries == [True, False]
        assert count(store) == 1


@pytest.mark.parametrize("table", ["owners", "events"])
def test_a_read_whose_connection_breaks_is_begun_anew(primary: Server, table: str) -> None:
    """In its first statement, or in the middle of what it reads as of one moment."""
    with (
        closing(PostgresStore(primary.url)) as store,
        psycopg.connect(primary.url, autocommit=True) as admin,
    ):
        put(store, ANN, an_entry(1))
        found: list[int] = []
        reading = threading.Thread(target=lambda: found.append(count(store)))
        with admin.transaction():
            admin.execute(f"LOCK TABLE holdfast.{table} IN ACCESS EXCLUSIVE MODE")
            reading.start()
            waiting = (
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                " WHERE wait_event_type = 'Lock' AND application_name = 'holdfast'"
            )
            until(lambda: admin.execute(waiting).fetchone() is not None)
        reading.join(20)
        assert found == [1]


def test_who_asks_twice_whether_a_write_was_committed_does_not_believe_itself(
    primary: Server,
) -> None:
    """The server may die after the question was written down and before it was answered."""
    with closing(PostgresStore(primary.url)) as store:
        never = _Commit(0, b"t" * 16, 1_000_000)
        assert [store._writer._was_committed(never) for _ in range(2)] == [False, False]
        done = _Commit(0, b"d" * 16, 1_000_000)
        with store._pool.lent() as raw:
            raw.execute(done.sql, done.values)
        assert [store._writer._was_committed(done) for _ in range(2)] == [True, True]


def test_no_erasure_is_told_while_a_replica_still_sees_what_was(
    primary: Server, replica: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(f"{driver}.BUSY_SECONDS", 0.3)
    with psycopg.connect(replica.url, autocommit=True) as admin:
        admin.execute("ALTER SYSTEM SET hot_standby_feedback = on")
        admin.execute("ALTER SYSTEM SET wal_receiver_status_interval = 1")
        admin.execute("SELECT pg_reload_conf()")
    try:
        with closing(PostgresStore(primary.url)) as store:
            fill(store)
            wait_for_replay(primary.url, replica.url)
            with psycopg.connect(replica.url) as reader:
                reader.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
                reader.execute("SELECT count(*) FROM holdfast.events")
                until(lambda: bool(primary.ask(_HELD)))
                with pytest.raises(StoreBusy, match="still on the disk"):
                    store.erase(ANN, at=NOON)
    finally:
        with psycopg.connect(replica.url, autocommit=True) as admin:
            admin.execute("ALTER SYSTEM RESET hot_standby_feedback")
            admin.execute("ALTER SYSTEM RESET wal_receiver_status_interval")
            admin.execute("SELECT pg_reload_conf()")


_HELD = "SELECT backend_xmin FROM pg_stat_activity WHERE backend_type = 'walsender'"


def test_metrics_tell_how_far_a_replica_is_behind(
    primary: Server, replica: Server, opened: Callable[..., PostgresStore]
) -> None:
    url = f"{primary.url}?replica={replica.place}"
    with closing(open_memory(url, embedder=HashEmbedder())) as memory:
        memory.remember("I live in Oslo", user="ann")
        lines = "".join(metrics_of(memory.store))
        assert f'holdfast_replica_behind_bytes{{replica="{replica.place}"}} 0\n' in lines
        assert f'holdfast_reads_total{{server="{replica.place}"}}' in lines
        assert 'holdfast_reads_total{server="primary"}' in lines


# Another server becomes the primary.


def test_what_was_lost_with_the_primary_is_not_found_any_more() -> None:
    """An asynchronous replica is promoted that has not heard of the last turn."""
    first, second = Server(), Server()
    try:
        first.start()
        url = f"postgresql://postgres@{first.place},{second.place}/postgres"
        with closing(open_memory(url, embedder=HashEmbedder())) as memory:
            memory.remember("My cat is called Minka", user="ann")
            second.start_as_replica(first.url)
            second.stop()
            memory.remember("My dog is called Rex", user="ann")
            assert texts(memory.recall("dog", user="ann")) & {"My dog is called Rex"}
            first.kill()
            second.start()
            second.promote()
            memory.remember("My horse is called Bella", user="ann")
            found = texts(memory.recall("dog cat horse called", user="ann"))
            assert found == {"My cat is called Minka", "My horse is called Bella"}
    finally:
        first.end()
        second.end()


def texts(hits: Iterable[Hit]) -> set[str]:
    return {hit.content for hit in hits if hit.kind == "turn"}


# Addresses.


def test_a_replica_that_cannot_be_reached_is_told_without_the_password(
    primary: Server, caplog: pytest.LogCaptureFixture
) -> None:
    url = primary.url.replace("postgres@", "postgres:s3cret@")
    with closing(PostgresStore(f"{url}?replica=127.0.0.1:1")) as store:
        put(store, ANN, an_entry(1))
        assert count(store) == 1
        assert "replica 127.0.0.1:1: connection" in caplog.text
        (finding,) = [each for each in store.check(index_row) if each.check == "replica"]
        assert "127.0.0.1:1" in finding.detail
        assert "s3cret" not in caplog.text + finding.detail + str(store.health().servers)


def test_the_primary_is_no_replica(primary: Server, caplog: pytest.LogCaptureFixture) -> None:
    with closing(PostgresStore(f"{primary.url}?replica={primary.place}")) as store:
        assert "is no replica: it takes writes itself" in caplog.text
        assert count(store) == 0


def test_another_server_is_refused(primary: Server) -> None:
    stranger = Server()
    try:
        stranger.start()
        url = primary.url.replace("postgres@", "postgres:s3cret@")
        with pytest.raises(StoreError, match=r"replica 127.0.0.1:.*another server") as refused:
            PostgresStore(f"{url}?replica={stranger.place}")
        assert "s3cret" not in str(refused.value)
    finally:
        stranger.end()


def test_a_server_that_acknowledges_before_its_disk_has_it_has_no_replicas(
    primary: Server, replica: Server
) -> None:
    url = f"{primary.url}?options=-c%20synchronous_commit%3Doff&replica={replica.place}"
    with pytest.raises(StoreError, match="synchronous_commit is off"):
        PostgresStore(url)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ("replica=", "replica must be host or host:port"),
        ("replica=b:x", "replica must be host or host:port"),
        ("replica=postgresql://ann:s3cret@b/x", "replica must be host or host:port"),
        ("replica=ann:s3cret@b", "replica must be host or host:port"),
        ("replica=" + ",".join("abcdefghi"), "replica names 9 servers, the limit is 8"),
        ("replica=b&staleness=-1", "staleness must be one number of seconds in 0..86400"),
        ("replica=b&staleness=nan", "staleness must be one number of seconds in 0..86400"),
        ("replica=b&staleness=1&staleness=2", "staleness must be one number of seconds"),
        ("staleness=5", "staleness is of what replicas answer"),
    ],
)
def test_a_mistyped_replica_is_told(given: str, words: str) -> None:
    with pytest.raises(ConfigError, match=words) as refused:
        read_address(f"postgresql://host/x?{given}")
    assert "s3cret" not in str(refused.value)


def test_a_replica_is_reached_as_the_primary_is() -> None:
    address = read_address(
        "postgresql://ann:s3cret@a:1,b:2/x?sslmode=require&replica=c:5433,%5B::1%5D:7,/run/pg"
        "&staleness=2.5"
    )
    assert "target_session_attrs=read-write" in address.conninfo
    assert [each.name for each in address.replicas] == ["c:5433", "[::1]:7", "/run/pg"]
    first = psycopg.conninfo.conninfo_to_dict(address.replicas[0].conninfo)
    assert (first["host"], first["port"], first["password"]) == ("c", "5433", "s3cret")
    assert "target_session_attrs" not in first
    assert psycopg.conninfo.conninfo_to_dict(address.replicas[1].conninfo)["host"] == "::1"
    assert address.staleness == 2.5
    assert "s3cret" not in address.name


@pytest.fixture(autouse=True)
def _quiet_driver() -> Iterator[None]:
    driver = logging.getLogger("psycopg")
    driver.setLevel(logging.ERROR)  # It tells of each broken connection.
    yield
    driver.setLevel(logging.NOTSET)
