"""The event stream: what happens is told, to those who may know, until they should not."""

import socket
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path

import pytest

import holdfast
from holdfast.memory.memory import Memory
from holdfast.service.http import stream
from holdfast.service.http.app import create_app
from holdfast.service.keys import create_key, revoke_key
from holdfast.testing import HashEmbedder
from holdfast.types import Scope
from tests.service.live import Api, Ear, live, wait_until

CANARY = "zanzibar"


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    with holdfast.open(tmp_path / "m.db", embedder=HashEmbedder(), worker=False) as memory:
        yield memory


@pytest.fixture
def key(memory: Memory) -> str:
    return create_key(memory.store)[1]


@pytest.fixture
def port(memory: Memory) -> Iterator[int]:
    with live(create_app(memory)) as port:
        yield port


def test_what_happens_is_told_without_a_word_of_it(memory: Memory, port: int, key: str) -> None:
    api = Api(port, key)
    with Ear(port, key, "?user_id=ann") as ear:
        assert ear.answer.headers["content-type"].startswith("text/event-stream")
        assert "comment" in ear.frame()
        id = api.tell(f"I went to {CANARY}.")
        told = ear.event()
        assert (told["event"], told["type"]) == ("memory.stored", "memory.stored")
        assert (told["id"], told["tier"], told["kind"]) == (id, "session", "turn")
        assert datetime.fromisoformat(told["at"]).tzinfo is not None
        assert CANARY not in str(told)
        memory.forget(id, user="ann")
        told = ear.event()
        assert (told["type"], told["id"]) == ("memory.forgotten", id)
        memory.restore(id, user="ann")
        assert ear.event()["type"] == "memory.restored"
        fact = memory.facts.add("Ann lives in Porto.", user="ann")
        assert ear.event()["type"] == "fact.stored"
        memory.facts.update(fact.id, "Ann lives in Lisbon.", user="ann")
        assert {each["type"] for each in ear.events(2)} == {"fact.superseded", "fact.stored"}


def test_nothing_of_others_is_told(memory: Memory, port: int, key: str) -> None:
    with Ear(port, key, "?user_id=ann") as ear:
        ear.frame()
        memory.remember("tea", user="bob")
        memory.remember("tea", user="ann", workspace="other")
        mine = memory.remember("tea", user="ann").events[0]
        assert ear.event()["id"] == mine


def test_what_another_process_writes_is_told(
    memory: Memory, tmp_path: Path, port: int, key: str
) -> None:
    with Ear(port, key, "?user_id=ann") as ear:
        ear.frame()
        with holdfast.open(tmp_path / "m.db", embedder=HashEmbedder(), worker=False) as other:
            id = other.remember("tea", user="ann").events[0]
        assert ear.event()["id"] == id


def test_who_comes_back_is_told_what_was_missed(memory: Memory, port: int, key: str) -> None:
    with Ear(port, key, "?user_id=ann") as ear:
        ear.frame()
        memory.remember("one", user="ann")
        ear.event()
        last = ear.last
    missed = memory.remember("two", user="ann").events[0]
    memory.forget(missed, user="ann")
    with Ear(port, key, "?user_id=ann", last) as ear:
        told = ear.events(2)
        assert [(each["type"], each["id"]) for each in told] == [
            ("memory.stored", missed),
            ("memory.forgotten", missed),
        ], "also what was changed since it was stored"
        now = memory.remember("three", user="ann").events[0]
        assert ear.event()["id"] == now
        again = ear.last
    with Ear(port, key, "?user_id=ann", again) as ear:
        memory.remember("four", user="ann")
        assert ear.event()["change"] > told[-1]["change"]


def test_a_long_absence_is_told_in_order_and_once(memory: Memory, port: int, key: str) -> None:
    first = memory.remember("first", user="ann").events[0]
    with Ear(port, key, "?user_id=ann", "0-0-0") as ear:
        assert ear.event()["id"] == first
        last = ear.last
    many = [{"content": f"turn {n}"} for n in range(1203)]
    ids = memory.remember(many, user="ann").events
    with Ear(port, key, "?user_id=ann", last) as ear:
        told = ear.events(len(ids))
    assert [each["id"] for each in told] == list(ids)


def test_while_many_write_each_is_told_once(memory: Memory, port: int, key: str) -> None:
    def write() -> list[str]:
        return [memory.remember("tea", user="ann").events[0] for _ in range(40)]

    with Ear(port, key, "?user_id=ann") as ear, ThreadPoolExecutor(4) as threads:
        ear.frame()
        writing = [threads.submit(write) for _ in range(4)]
        told = ear.events(160)
        ids = [id for each in writing for id in each.result()]
        last = memory.remember("the last", user="ann").events[0]
        assert ear.event()["id"] == last
    assert sorted(each["id"] for each in told) == sorted(ids)
    changes = [each["change"] for each in told]
    assert changes == sorted(changes)


def test_only_the_events_asked_for(memory: Memory, port: int, key: str) -> None:
    with Ear(port, key, "?user_id=ann&events=memory.forgotten,fact.*") as ear:
        ear.frame()
        id = memory.remember("tea", user="ann").events[0]
        memory.forget(id, user="ann")
        assert ear.event()["type"] == "memory.forgotten"
        memory.facts.add("Ann lives in Porto.", user="ann")
        assert ear.event()["type"] == "fact.stored"


def test_a_dead_letter_is_told(memory: Memory, port: int, key: str) -> None:
    with Ear(port, key, "?user_id=ann&events=job.dead") as ear:
        ear.frame()
        id = memory.remember("tea", user="ann").events[0]
        space = f"embed:{memory.worker.space.id}"
        now = memory.now()
        (job,) = memory.store.claim([space], limit=1, now=now, lease_s=60, max_attempts=5)
        memory.store.release([job], error="broken")
        told = ear.event()
        assert (told["event"], told["id"], told["step"]) == ("job.dead", id, space)


def test_a_key_of_one_user_listens_to_that_user_alone(memory: Memory, port: int) -> None:
    own = create_key(memory.store, user="ann", role="read")[1]
    with Ear(port, own) as ear:
        ear.frame()
        id = memory.remember("tea", user="ann").events[0]
        assert ear.event()["id"] == id
    for query in ("?user_id=bob", "?user_id=ann&workspace_id=other"):
        with Ear(port, own, query) as ear:
            assert ear.status == 403


@pytest.mark.parametrize(
    ("query", "last", "field"),
    [
        ("", "", "user_id"),
        ("?user_id=ann&since=1", "", "since"),
        ("?user_id=ann&events=tea.stored", "", "events"),
        ("?user_id=ann", "nonsense", "Last-Event-ID"),
        ("?user_id=ann", "1-2", "Last-Event-ID"),
        ("?user_id=ann", "1-2-x", "Last-Event-ID"),
        ("?user_id=ann", "²-1-1".encode().decode("latin-1"), "Last-Event-ID"),
    ],
)
def test_bad_input(port: int, key: str, query: str, last: str, field: str) -> None:
    with Ear(port, key, query, last) as ear:
        assert ear.status == 400
        assert f'"field": "{field}"'.encode() in ear.answer.read()


def test_a_huge_last_event_id_is_one_that_we_never_gave(port: int, key: str) -> None:
    with Ear(port, key, "?user_id=ann", "-".join(["9" * 40] * 3)) as ear:
        assert ear.status == 200
        Api(port, key).tell("tea")
        assert ear.event()["type"] == "memory.stored"


def test_a_revoked_key_hears_no_more(memory: Memory, port: int, key: str) -> None:
    mine, secret = create_key(memory.store, user="ann")
    with Ear(port, secret) as ear, Ear(port, key, "?user_id=ann") as other:
        ear.frame()
        other.frame()
        revoke_key(memory.store, mine.id, at=memory.now())
        assert ear.event()["event"] == "end"
        assert ear.event() == {}
        memory.remember("tea", user="ann")
        assert other.event()["type"] == "memory.stored", "others hear on"


def test_who_signed_out_hears_no_more(port: int, key: str) -> None:
    def browser() -> tuple[Api, Ear]:
        api = Api(port, key)
        cookie = api.sign_in(key)
        ear = Ear(port, "", "?user_id=ann", cookie=cookie)
        ear.frame()
        return api, ear

    (_, ours), (api, theirs) = browser(), browser()
    with ours, theirs:
        assert api("POST", "/v1/sign-out", {})[0] == 204
        assert theirs.event()["event"] == "end"
        Api(port, key).tell("tea")
        assert ours.event()["type"] == "memory.stored", "another session of the key hears on"


def test_the_end_of_the_service_ends_every_stream(memory: Memory, key: str) -> None:
    with live(create_app(memory)) as port:
        ears = [Ear(port, key, f"?user_id=u{n}") for n in range(8)]
        for ear in ears:
            ear.frame()
    for ear in ears:
        with ear:
            assert ear.event()["event"] == "end"
            assert ear.event() == {}


def test_who_hangs_up_is_forgotten(memory: Memory, key: str) -> None:
    app = create_app(memory)
    with live(app) as port:
        ears = [Ear(port, key, "?user_id=ann") for _ in range(5)]
        wait_until(lambda: app.state.streams.count == 5)
        for ear in ears:
            ear.__exit__()
        wait_until(lambda: app.state.streams.count == 0)


def test_who_does_not_read_is_dropped(
    memory: Memory, key: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stream, "_STUCK_SECONDS", 0.3)
    app = create_app(memory)
    with live(app, send_buffer=4096) as port, socket.create_connection(("127.0.0.1", port)) as deaf:
        deaf.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        many = [{"content": f"turn {n}"} for n in range(2_000)]
        memory.remember(many, user="ann")
        lines = (
            "GET /v1/stream?user_id=ann HTTP/1.1", f"host: 127.0.0.1:{port}",
            f"authorization: Bearer {key}", "last-event-id: 0-0-0",
        )  # fmt: skip
        deaf.sendall("\r\n".join([*lines, "", ""]).encode())
        assert deaf.recv(12) == b"HTTP/1.1 200", "it listens, and reads no more than that"
        wait_until(lambda: app.state.streams.count == 0)
        id = Api(port, key).tell("tea", "bob")
        assert id, "others are answered"


def test_a_body_that_never_comes_ends_the_stream(memory: Memory, key: str) -> None:
    app = create_app(memory)
    with live(app) as port, socket.create_connection(("127.0.0.1", port)) as odd:
        lines = (
            "GET /v1/stream?user_id=ann HTTP/1.1", f"host: 127.0.0.1:{port}",
            f"authorization: Bearer {key}", "content-length: 100",
        )  # fmt: skip
        odd.sendall("\r\n".join([*lines, "", ""]).encode())
        wait_until(lambda: app.state.streams.count == 1)
        odd.sendall(b"x" * 100)
        odd.shutdown(socket.SHUT_WR)
        wait_until(lambda: app.state.streams.count == 0)


def test_there_are_only_so_many(memory: Memory, key: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stream, "_MOST_STREAMS", 1)
    with live(create_app(memory)) as port, Ear(port, key, "?user_id=ann") as ear:
        ear.frame()
        with Ear(port, key, "?user_id=bob") as other:
            assert other.status == 503
            assert other.answer.headers["retry-after"]


def test_a_key_has_only_so_many(memory: Memory, key: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stream, "_MOST_OF_A_KEY", 1)
    another = create_key(memory.store)[1]

    with live(create_app(memory)) as port:

        def status(of: str) -> int:
            with Ear(port, of, "?user_id=ann") as ear:
                return ear.status

        with Ear(port, key, "?user_id=ann") as first:
            first.frame()
            with Ear(port, key, "?user_id=bob") as second:
                assert (second.status, second.answer.headers["retry-after"]) == (429, "1")
                assert b"1 streams" in second.answer.read()
            assert status(another) == 200
        wait_until(lambda: status(key) == 200)


def test_an_erased_user_begins_anew(memory: Memory, port: int, key: str) -> None:
    for text in ("one", "two", "three"):
        memory.remember(text, user="ann")
    with Ear(port, key, "?user_id=ann") as ear:
        ear.frame()
        memory.store.erase(Scope("default", "ann"), at=datetime.now(UTC))
        id = memory.remember("tea", user="ann").events[0]
        assert ear.event()["id"] == id


def test_a_silent_stream_says_that_it_is_there(
    memory: Memory, key: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stream, "_HEARTBEAT_SECONDS", 0.05)
    with live(create_app(memory)) as port, Ear(port, key, "?user_id=ann") as ear:
        assert [ear.frame() for _ in range(3)][1:] == [{"comment": ""}] * 2
