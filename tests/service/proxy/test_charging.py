"""What is charged is what was taken: before the call where there is a limit, and none is free."""

import http.client
import json
from collections.abc import Iterator
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import apsw
import pytest

import holdfast
from holdfast.memory.memory import Memory
from holdfast.service.keys import create_key
from holdfast.service.proxy.shape import Chat, Overheard, ReportedUsage, Responses, tokens_sent
from holdfast.store.protocols import Spent
from holdfast.store.sqlite import connection as store_connection
from holdfast.testing import HashEmbedder
from holdfast.types import ApiKey
from tests.service.calling import Clock
from tests.service.live import wait_until
from tests.service.proxy.serving import running
from tests.service.proxy.spending import CHAT, TODAY, refused, world
from tests.service.proxy.upstream import Running

RESPONSES = "/v1/proxy/responses"
ONE = Spent(1, 70, 30)


@pytest.fixture
def clock() -> Clock:
    return Clock()


class Live:
    """The service on a real port."""

    def __init__(self, memory: Memory, db: Path, port: int) -> None:
        self.memory = memory
        self.db = db
        self._port = port

    def key(self, **more: Any) -> tuple[ApiKey, str]:
        return create_key(self.memory.store, user="ann", **more)

    def spent(self, key: ApiKey) -> Spent:
        day = datetime.now(UTC).date()
        return self.memory.store.spent(key.id, day)

    def models(self, secret: str) -> int:
        """The status of another call."""
        with closing(http.client.HTTPConnection("127.0.0.1", self._port, timeout=30)) as other:
            headers = {"authorization": f"Bearer {secret}"}
            other.request("GET", "/v1/proxy/models", headers=headers)
            return other.getresponse().status

    @contextmanager
    def begun(self, secret: str, path: str, **body: Any) -> Iterator[http.client.HTTPResponse]:
        """A stream of which the first words have come; hung up on at the end of the block."""
        connection = http.client.HTTPConnection("127.0.0.1", self._port, timeout=30)
        said = {"messages": [{"role": "user", "content": "Hi"}], "input": "Hi", "stream": True}
        headers = {"authorization": f"Bearer {secret}", "x-holdfast-budget": "0"}
        connection.request("POST", path, json.dumps({**said, **body}), headers)
        with closing(connection), connection.getresponse() as answer:
            while b"said" not in answer.readline():
                pass
            yield answer


@pytest.fixture
def service(tmp_path: Path, model: Running) -> Iterator[Live]:
    db = tmp_path / "m.db"
    config = {"proxy.url": model.url, "proxy.remember": False}
    with (
        holdfast.open(db, embedder=HashEmbedder(), worker=False, config=config) as memory,
        running(memory) as port,
    ):
        yield Live(memory, db, port)


def test_without_a_limit_nothing_is_written_before_the_answer(
    service: Live, model: Running
) -> None:
    free, free_secret = service.key()
    limited, limited_secret = service.key(tokens_a_day=10_000)
    with closing(apsw.Connection(str(service.db))) as other:

        def commits() -> object:
            """Differs when somebody else has written."""
            return other.execute("PRAGMA data_version").get

        before = commits()
        with service.begun(free_secret, CHAT, model="waits") as answer:
            assert commits() == before
            model.go()
            answer.read()
        wait_until(lambda: service.spent(free).calls == 1)
        before = commits()
        with service.begun(limited_secret, CHAT, model="waits") as answer:
            assert commits() != before, "with a limit it is charged before"
            assert service.spent(limited).calls == 1
            model.go()
            answer.read()


def test_what_waits_to_be_counted_is_written_at_the_end(
    tmp_path: Path, model: Running, clock: Clock
) -> None:
    with world(tmp_path, model.url, clock) as here:
        key, secret = here.key()
        assert [here.call(secret).status_code for _ in range(3)] == [200] * 3
    with holdfast.open(tmp_path / "m.db", embedder=HashEmbedder(), worker=False) as memory:
        assert memory.store.spent(key.id, TODAY) == Spent(3, 210, 90)


@pytest.mark.parametrize("most", [3000, 200, 20])
def test_memories_take_no_more_than_is_left(
    tmp_path: Path, model: Running, clock: Clock, most: int
) -> None:
    with world(tmp_path, model.url, clock) as here:
        for number in range(60):
            words = " ".join(f"word{number}x{each}" for each in range(60))
            here.memory.remember(f"The project plan, part {number}: {words}", user="ann")
        key, secret = here.key(tokens_a_day=most)
        asked = {"x-holdfast-budget": "200000"}
        answer = here.call(secret, "silent", content="Tell me of the project plan.", headers=asked)
        assert answer.status_code == 200, answer.text
        sent = tokens_sent(model.seen()[-1]["raw"].encode())
        wait_until(lambda: here.spent(key).answer_tokens)
        assert here.spent(key).prompt_tokens == sent <= most
        if most == 3000:
            assert sent > 500
            assert answer.headers["x-holdfast-memory"].startswith("used")


def test_memories_that_take_more_than_their_tokens_are_left_out(
    tmp_path: Path, model: Running, clock: Clock
) -> None:
    """Long words are one token each, and charged as several."""
    with world(tmp_path, model.url, clock) as here:
        words = "responsibilities representatives recommendations characteristics international"
        for number in range(60):
            here.memory.remember(f"Plan {number}: {words} {words}.", user="ann")
        key, secret = here.key(tokens_a_day=600)
        answer = here.call(secret, "silent", content="Tell me of the plan.")
        assert (answer.status_code, answer.headers["x-holdfast-memory"]) == (200, "off")
        wait_until(lambda: here.spent(key).answer_tokens)
        assert here.spent(key).prompt_tokens < 20


def test_what_memories_cost_counts_too(tmp_path: Path, model: Running, clock: Clock) -> None:
    """A tenth of a cent buys 100 tokens."""
    prices = {"proxy.promptPrice": 10, "proxy.answerPrice": 0, "service.dailyCost": 0.001}
    with world(tmp_path, model.url, clock, **prices) as here:
        here.memory.remember("The project plan: " + "tea and toast, " * 60, user="ann")
        key, secret = here.key()
        answer = here.call(secret, "silent", content="Tell me of the project plan.")
        assert answer.status_code == 200
        wait_until(lambda: here.spent(key).answer_tokens)
        assert here.spent(key).prompt_tokens <= 100
        assert "0.001 of cost" in refused(here.call(secret, content="x" * 500))


def test_what_cannot_be_counted_is_refused_to_a_key_with_a_limit(
    tmp_path: Path, model: Running, clock: Clock
) -> None:
    with world(tmp_path, model.url, clock) as here:
        key, secret = here.key(tokens_a_day=1000)
        answer = here.call(secret, path=RESPONSES, background=True)
        assert answer.status_code == 400
        assert answer.json()["error"]["param"] == "background"
        assert (model.seen(), here.spent(key)) == ([], Spent())
        assert here.call(secret, path=RESPONSES, background=False).status_code == 200
        assert here.call(here.key()[1], path=RESPONSES, background=True).status_code == 200


@pytest.mark.parametrize("field", ["previous_response_id", "conversation", "prompt"])
def test_who_hangs_up_on_what_the_model_keeps_pays_all_of_it(
    service: Live, model: Running, field: str
) -> None:
    key, secret = service.key(tokens_a_day=1000)
    with service.begun(secret, RESPONSES, model="waits, counts", **{field: "resp_7"}):
        pass
    # Answered after the service has seen that the caller left.
    assert service.models(secret) == 200
    model.go()
    wait_until(lambda: service.spent(key) == ONE)


@pytest.mark.parametrize("stream", [False, True])
def test_a_half_that_the_model_does_not_say_is_estimated(
    tmp_path: Path, model: Running, clock: Clock, stream: bool
) -> None:
    question = "Tell me of Lisbon. " * 40
    no_answer = {"prompt_tokens": 7, "completion_tokens": None}
    no_prompt = {"prompt_tokens": -7, "completion_tokens": 3}
    with world(tmp_path, model.url, clock) as here:
        keys = [here.key(tokens_a_day=100_000), here.key()]
        for _, secret in keys:
            for tells in (no_answer, no_prompt):
                here.call(secret, content=question, stream=stream, tells=tells)
    with holdfast.open(tmp_path / "m.db", embedder=HashEmbedder(), worker=False) as memory:
        for key, _ in keys:
            spent, expected = memory.store.spent(key.id, TODAY), len(question) / 4
            assert spent.calls == 2
            assert expected <= spent.prompt_tokens - 7 <= 1.2 * expected
            assert expected <= spent.answer_tokens - 3 <= 1.2 * expected


def said(words: str, **more: Any) -> dict[str, Any]:
    return {"id": "c", "choices": [{"index": 0, "delta": {"content": words}}], **more}


FIRST = {"usage": {"prompt_tokens": 7, "completion_tokens": 0}}
LAST = {"usage": {"completion_tokens": 3}}


@pytest.mark.parametrize(
    ("events", "took"),
    [
        ([said("", **FIRST), said("x" * 400)], ReportedUsage(7, 100)),
        ([said("x" * 400, **FIRST), said("")], ReportedUsage(7, 0)),
        ([said("", **FIRST), said("x" * 400), said("", **LAST)], ReportedUsage(7, 3)),
        ([said("", **FIRST), said("x" * 400, **LAST)], ReportedUsage(7, 3)),
        ([said("", **LAST), said("x" * 400), said("", usage=None)], ReportedUsage(None, 100)),
        ([said("x" * 400)], ReportedUsage(None, 100)),
    ],
)
def test_in_a_stream_only_the_last_word_counts(events: list[Any], took: ReportedUsage) -> None:
    overheard = Overheard(Chat(), streamed=True)
    for event in events:
        overheard.feed(b"data: " + json.dumps(event).encode() + b"\n\n")
    overheard.feed(b"data: [DONE]\n\n")
    assert overheard.took() == took


@pytest.mark.parametrize("number", ["NaN", "Infinity", "1" * 400, "1e400", "9" * 12, "0.5"])
@pytest.mark.parametrize("shape", [Chat(), Responses()])
def test_no_number_makes_an_answer_free_or_endless(shape: Any, number: str) -> None:
    message = {"role": "assistant", "content": [{"type": "output_text", "text": "x" * 4000}]}
    answer = {"choices": [{"message": message}], "output": [{**message, "type": "message"}]}
    text = json.dumps({**answer, "status": "completed"})[:-1]
    text += f', "usage": {{"output_tokens": {number}, "prompt_tokens": {number}}}}}'
    overheard = Overheard(shape, streamed=False)
    overheard.feed(text.encode())
    prompt, took = overheard.took()
    assert prompt is None
    assert took is not None
    assert 1000 <= took <= len(text)


def test_a_busy_store_charges_nothing_that_was_not_sent(
    tmp_path: Path, model: Running, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    with world(tmp_path, model.url, clock) as here:
        key, secret = here.key(tokens_a_day=1000)
        with closing(apsw.Connection(str(tmp_path / "m.db"))) as other:
            other.execute("BEGIN IMMEDIATE")
            monkeypatch.setattr(store_connection, "BUSY_SECONDS", 0.05)
            assert [here.call(secret).status_code for _ in range(3)] == [503] * 3
            other.execute("ROLLBACK")
        monkeypatch.undo()
        assert model.seen() == []
        assert here.call(secret).status_code == 200
        here.expect(key, ONE)


def test_what_a_busy_store_did_not_take_is_counted_with_the_next(
    service: Live, model: Running, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    key, secret = service.key(tokens_a_day=1000)
    with (
        closing(apsw.Connection(str(service.db))) as other,
        service.begun(secret, RESPONSES, model="waits, counts") as answer,
    ):
        other.execute("BEGIN IMMEDIATE")
        monkeypatch.setattr(store_connection, "BUSY_SECONDS", 0.05)
        model.go()
        answer.read()
        wait_until(lambda: "not counted yet" in caplog.text)
        other.execute("ROLLBACK")
    monkeypatch.undo()
    with service.begun(secret, RESPONSES, model="waits, counts") as answer:
        model.go()
        answer.read()
    wait_until(lambda: service.spent(key) == Spent(2, 140, 60))
