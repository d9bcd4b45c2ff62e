"""What passes through the proxy untouched, what it refuses, and what breaks."""

import http.client
import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import apsw
import openai
import pytest

import holdfast
from holdfast.errors import ConfigError, InvalidInput, StoreBusy
from holdfast.service.http.errors import fault_of
from holdfast.service.keys import create_key
from holdfast.service.proxy import routes as proxy
from holdfast.store.sqlite import connection as store_connection
from holdfast.testing import HashEmbedder
from tests.service.proxy import upstream
from tests.service.proxy.serving import Service, serving
from tests.service.proxy.upstream import ERRORS, Running

CHAT = "/v1/proxy/chat/completions"
LISBON = "I moved to Lisbon in March."


def call(
    service: Service, path: str = CHAT, body: Any = None, method: str = "POST", **headers: str
) -> tuple[int, dict[str, str], bytes]:
    """A call as bytes, and the answer as bytes."""
    if body is None:
        body = {"model": "m", "messages": [{"role": "user", "content": LISBON}]}
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
    sent = {"authorization": f"Bearer {service.key}", "x-holdfast-user": "ann"}
    sent |= {name.replace("_", "-"): value for name, value in headers.items()}
    connection = http.client.HTTPConnection("127.0.0.1", service.port, timeout=60)
    try:
        connection.request(method, path, raw, {n: v for n, v in sent.items() if v})
        answer = connection.getresponse()
        found = {name.lower(): value for name, value in answer.getheaders()}
        return answer.status, found, answer.read()
    finally:
        connection.close()


def refused(answer: tuple[int, dict[str, str], bytes], status: int) -> str:
    assert answer[0] == status, answer
    error = json.loads(answer[2])["error"]
    assert set(error) == {"message", "type", "param", "code"}
    return str(error["message"])


# The model's answers and errors


@pytest.mark.parametrize("model_name", ERRORS)
def test_errors_of_the_model_come_through_byte_for_byte(service: Service, model_name: str) -> None:
    for stream in (False, True):
        messages = [{"role": "user", "content": LISBON}]
        body = {"model": model_name, "messages": messages, "stream": stream}
        status, headers, text = call(service, body=body)
        assert (status, text) == ERRORS[model_name]
        assert headers["retry-after"] == "7"
        assert headers["x-request-id"] == "req_7"
        assert headers["x-holdfast-memory"] == "empty"
        assert "set-cookie" not in headers
    with service.client() as client, pytest.raises(openai.APIStatusError) as raised:
        client.chat.completions.create(model=model_name, messages=[])
    assert raised.value.status_code == int(model_name)
    assert service.turns() == [], "what was not answered will be said again"


def test_a_body_without_memories_is_sent_as_it_came(service: Service, model: Running) -> None:
    raw = b'{ "model":"m",\n"messages":[{"role":"user","content":"\\ud83d Hi"}], "x": 1.50e1 }'
    assert call(service, body=raw)[0] == 200
    assert model.seen()[-1]["raw"].encode() == raw


def test_unknown_fields_and_odd_texts_survive_beside_memories(
    service: Service, model: Running
) -> None:
    service.memory.remember(LISBON, user="ann")
    body = {
        "model": "m", "store": False, "stream_options": {"include_usage": True}, "x": [1.5, None],
        "big": 12345678901234567890123, "messages": [{"role": "user", "content": "Lisbon \ud83d?"}],
    }  # fmt: skip
    assert call(service, body=body)[0] == 200
    got = json.loads(model.seen()[-1]["raw"])
    assert len(got["messages"]) == 2
    assert {**got, "messages": got["messages"][1:]} == body


def test_models_and_embeddings_pass(service: Service, model: Running) -> None:
    with service.client(user=None) as client:
        assert [each.id for each in client.models.list()] == ["scripted"]
        assert client.models.retrieve("org/name").id == "org/name"
        made = client.embeddings.create(model="m", input="Hi", encoding_format="float")
        assert made.data[0].embedding == [0.5]
    assert {each["headers"]["authorization"] for each in model.seen()} == {"Bearer sk-upstream"}


def test_the_query_goes_with_the_path(service: Service, model: Running) -> None:
    assert call(service, CHAT + "?api-version=1&x=%20")[0] == 200
    assert model.seen()[-1]["path"] == "/v1/chat/completions?api-version=1&x=%20"


def test_connections_to_the_model_are_kept(service: Service, model: Running) -> None:
    for _ in range(5):
        assert call(service)[0] == 200
    assert len({each["peer"] for each in model.seen()}) == 1


def test_the_callers_own_key_goes_to_the_model_beside_ours(
    service: Service, model: Running
) -> None:
    own = {"authorization": "Bearer sk-own", "x_api_key": service.key}
    assert call(service, **own)[0] == 200
    assert call(service, authorization="", x_api_key=service.key)[0] == 200
    assert call(service, cookie="session=1", x_other="kept", x_holdfast_agent="a")[0] == 200
    first, second, third = (each["headers"] for each in model.seen())
    assert first["authorization"] == "Bearer sk-own"
    assert second["authorization"] == third["authorization"] == "Bearer sk-upstream"
    assert third["x-other"] == "kept"
    for headers in (first, second, third):
        assert service.key not in json.dumps(headers)
        assert not any(name.startswith("x-holdfast") for name in headers)
        assert not {"cookie", "x-api-key"} & set(headers)


# What is refused


def test_a_user_is_required_unless_the_key_names_one(service: Service, model: Running) -> None:
    assert "X-Holdfast-User is missing" in refused(call(service, x_holdfast_user=""), 400)
    assert "X-Holdfast-User is blank" in refused(call(service, x_holdfast_user=" "), 400)
    assert "the limit is 512" in refused(call(service, x_holdfast_user="a" * 513), 400)
    assert "not UTF-8" in refused(call(service, x_holdfast_user="J\xfcrgen"), 400)
    bobs = Service(service.memory, service.port, create_key(service.memory.store, user="bob")[1])
    said = refused(call(bobs), 403)
    assert said == refused(call(bobs, x_holdfast_user="does-not-exist"), 403)
    assert model.seen() == []
    assert call(bobs, x_holdfast_user="")[0] == 200
    assert len(service.soon(2, "bob")) == 2


def test_a_user_can_have_any_name(service: Service) -> None:
    name = "Jürgen 李".encode().decode("latin-1")
    assert call(service, x_holdfast_user=name)[0] == 200
    assert len(service.soon(2, "Jürgen 李")) == 2


def test_a_key_that_may_only_read_sees_the_models_and_no_more(service: Service) -> None:
    key = create_key(service.memory.store, role="read")[1]
    reader = Service(service.memory, service.port, key)
    assert "only read" in refused(call(reader), 403)
    assert call(reader, "/v1/proxy/models", b"", "GET")[0] == 200


def test_the_guard_refuses_in_the_shape_that_openais_clients_show(tmp_path: Path) -> None:
    config: dict[str, Any] = {"limits.bodyBytes": 5000, "service.requestsPerMinute": 3}
    with serving(tmp_path / "m.db", "", **config) as service:
        wrong = Service(service.memory, service.port, "rk_nope")
        with wrong.client() as client, pytest.raises(openai.AuthenticationError) as error:
            client.models.list()
        assert (error.value.type, error.value.code) == ("authentication_error", "invalid_api_key")
        assert "a valid key is required" in error.value.message
        foreign = service.client(headers={"origin": "https://evil.example"})
        with foreign, pytest.raises(openai.PermissionDeniedError, match="not served here") as no:
            foreign.models.list()
        assert no.value.type == "permission_error"
        with service.client() as client, pytest.raises(openai.APIStatusError) as large:
            client.embeddings.create(model="m", input="x" * 6000)
        assert (large.value.status_code, large.value.type) == (413, "invalid_request_error")
        for _ in range(4):
            call(service, "/v1/proxy/models", b"", "GET")
        with service.client() as client, pytest.raises(openai.RateLimitError) as many:
            client.models.list()
        assert many.value.code == "rate_limit_exceeded"
        assert "requests a minute" in many.value.message


def test_what_breaks_here_is_told_in_that_shape_too() -> None:
    for error, status in ((StoreBusy("the disk"), 503), (InvalidInput("no", field="user"), 400)):
        answer = fault_of(error, path="/v1/proxy/models")
        body = json.loads(bytes(answer.body))["error"]
        assert set(body) == {"message", "type", "param", "code"}
        assert (answer.status_code, body["type"]) == (
            status, "server_error" if status > 500 else "invalid_request_error",
        )  # fmt: skip


@pytest.mark.parametrize("budget", ["-1", "1.5", "many", "200001", "٣", "1" * 30])
def test_a_budget_out_of_bounds(service: Service, budget: str) -> None:
    value = budget.encode().decode("latin-1")
    assert "X-Holdfast-Budget" in refused(call(service, x_holdfast_budget=value), 400)


def test_bodies_that_are_no_calls(service: Service, model: Running) -> None:
    assert "not JSON" in refused(call(service, body=b"{"), 400)
    assert "JSON object" in refused(call(service, body=b"[]"), 400)
    deep = b'{"messages":' + b"[" * 100_000 + b"]" * 100_000 + b"}"
    refused(call(service, body=deep), 422)
    assert model.seen() == []
    wrong: list[Any] = [
        None, {}, [1, None], [{"role": "user"}], [{"role": "user", "content": 3}]
    ]  # fmt: skip
    for messages in wrong:
        # Not ours to judge: the model says what is wrong with them.
        status, headers, _ = call(service, body={"model": "500", "messages": messages})
        assert status == 500
        assert headers["x-holdfast-memory"] == "empty"


@pytest.mark.parametrize(
    "path", ["/files", "/models/../files", "/models/%2e%2e/files", "/audio/speech", "/"]
)
def test_other_paths_are_not_served(service: Service, model: Running, path: str) -> None:
    assert "nothing here" in refused(call(service, "/v1/proxy" + path, b"", "GET"), 404)
    assert model.seen() == []


def test_without_a_model_the_answer_says_how_to_set_one(tmp_path: Path) -> None:
    with serving(tmp_path / "m.db", "") as service:
        for path in (CHAT, "/v1/proxy/responses", "/v1/proxy/embeddings"):
            assert "proxy.url" in refused(call(service, path), 404)
        with service.client() as client, pytest.raises(openai.NotFoundError, match=r"proxy\.url"):
            client.models.list()


@pytest.mark.parametrize("url", ["ftp://model", "localhost:8080/v1", "http://", "http://a:b/v1"])
def test_an_address_that_is_none_is_refused_at_the_start(tmp_path: Path, url: str) -> None:
    with pytest.raises(ConfigError, match=r"proxy\.url"), serving(tmp_path / "m.db", url):
        pass


# What breaks


def test_a_model_that_is_away_is_a_502(tmp_path: Path) -> None:
    with serving(tmp_path / "m.db", "http://127.0.0.1:9/v1") as service:
        answer = call(service)
        assert "cannot be reached" in refused(answer, 502)
        assert answer[1]["x-holdfast-memory"] == "empty"
        assert service.turns() == []


def test_a_model_that_falls_silent_is_not_waited_for(tmp_path: Path, model: Running) -> None:
    # Enough for the words before the silence.
    quick: dict[str, Any] = {"proxy.timeoutSeconds": 1.5}
    with serving(tmp_path / "m.db", model.url, **quick) as service, service.client() as client:
        stream = client.chat.completions.create(
            model="waits", messages=[{"role": "user", "content": LISBON}], stream=True
        )
        with pytest.raises(openai.APIConnectionError):
            list(stream)
        model.go()


def test_a_model_that_dies_in_the_middle_ends_the_stream(tmp_path: Path) -> None:
    with (
        upstream.running() as mortal,
        serving(tmp_path / "m.db", mortal.url) as service,
        service.client() as client,
    ):
        stream = client.chat.completions.create(
            model="waits", messages=[{"role": "user", "content": LISBON}], stream=True
        )
        next(stream)
        mortal.process.kill()
        with pytest.raises(openai.APIConnectionError):
            list(stream)
        assert service.soon(1) == [("user", LISBON)], "what the user said, and no half answer"


def test_a_caller_who_leaves_takes_the_model_along(service: Service, model: Running) -> None:
    with service.client() as client:
        stream = client.chat.completions.create(
            model="waits", messages=[{"role": "user", "content": LISBON}], stream=True
        )
        next(stream)
        stream.close()
    # The model was hung up on before it had said all, and nothing of it is kept.
    assert service.soon(1) == [("user", LISBON)]
    model.go()
    assert call(service, x_holdfast_user="bob")[0] == 200
    assert len({each["peer"] for each in model.seen()}) == 2, "a new connection"


def test_a_kept_connection_that_the_model_closed_is_replaced(
    service: Service, model: Running
) -> None:
    body = {"model": "dies", "messages": [{"role": "user", "content": LISBON}], "stream": True}
    assert call(service)[0] == 200
    model.go()
    with pytest.raises(http.client.IncompleteRead):
        call(service, body=body)
    assert call(service)[0] == 200


def test_memory_that_fails_fails_nobody(
    service: Service, model: Running, caplog: pytest.LogCaptureFixture
) -> None:
    service.memory.remember(LISBON, user="ann")
    with broken(service):
        status, headers, text = call(service)
        assert status == 200
        assert headers["x-holdfast-memory"] == "unavailable"
        assert json.loads(text)["choices"][0]["message"]["content"] == f"You said: {LISBON}"
        until(lambda: "not remembered" in caplog.text)
    assert len(json.loads(model.seen()[-1]["raw"])["messages"]) == 1
    assert "Lisbon" not in caplog.text
    assert call(service)[1]["x-holdfast-memory"].startswith("used")


@contextmanager
def broken(service: Service) -> Iterator[None]:
    """A store that has lost a table for a while."""
    with closing(apsw.Connection(str(service.db))) as other:
        other.set_busy_timeout(30_000)
        other.execute("ALTER TABLE records RENAME TO misplaced")
        yield
        other.execute("ALTER TABLE misplaced RENAME TO records")


def until(holds: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 30
    while not holds() and time.monotonic() < deadline:
        time.sleep(0.01)
    assert holds()


def test_a_store_that_is_busy_is_tried_again(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store_connection, "BUSY_SECONDS", 0.05)
    remember, failed = service.memory.remember, threading.Event()

    def watched(*args: Any, **options: Any) -> Any:
        try:
            return remember(*args, **options)
        except StoreBusy:
            failed.set()
            raise

    monkeypatch.setattr(service.memory, "remember", watched)
    with closing(apsw.Connection(str(service.db))) as other:
        other.set_busy_timeout(30_000)
        other.execute("BEGIN EXCLUSIVE")
        assert call(service)[0] == 200
        assert failed.wait(30), "it was not tried while the store was held"
        assert service.turns() == []
        other.execute("ROLLBACK")
    assert len(service.soon(2)) == 2


class Stuck(HashEmbedder):
    """A model that does not answer until it may."""

    def __init__(self) -> None:
        super().__init__()
        self.may = threading.Event()

    def embed(self, texts: list[str]) -> Any:
        assert self.may.wait(60)
        return super().embed(texts)


def test_memory_that_takes_too_long_is_not_waited_for(
    tmp_path: Path, model: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(proxy, "_PATIENCE_S", 0.2)
    stuck = Stuck()
    with serving(tmp_path / "m.db", model.url, embedder=stuck) as service:
        service.memory.remember(LISBON, user="ann")
        status, headers, _ = call(service)
        assert (status, headers["x-holdfast-memory"]) == (200, "unavailable")
        stuck.may.set()
        monkeypatch.setattr(proxy, "_PATIENCE_S", 60.0)
        until(lambda: call(service)[1]["x-holdfast-memory"].startswith("used"))


def test_what_was_heard_is_on_disk_when_the_service_has_ended(
    tmp_path: Path, model: Running
) -> None:
    with serving(tmp_path / "m.db", model.url) as service:
        for number in range(20):
            text = f"The number {number} is mine."
            body = {"model": "m", "messages": [{"role": "user", "content": text}]}
            assert call(service, body=body)[0] == 200
    with holdfast.open(tmp_path / "m.db", embedder=HashEmbedder()) as memory:
        again = Service(memory, 0, "")
        assert len(again.turns()) == 40


def test_nothing_is_remembered_if_so_configured(tmp_path: Path, model: Running) -> None:
    forgets: dict[str, Any] = {"proxy.remember": False}
    with serving(tmp_path / "m.db", model.url, **forgets) as service:
        assert call(service)[0] == 200
    with holdfast.open(tmp_path / "m.db", embedder=HashEmbedder()) as memory:
        assert Service(memory, 0, "").turns() == []


def test_a_full_queue_holds_up_no_call(tmp_path: Path, model: Running) -> None:
    full: dict[str, Any] = {"service.queueJobs": 1}
    with serving(tmp_path / "m.db", model.url, worker=False, **full) as service:
        service.memory.remember([{"content": "One."}, {"content": "Two."}], user="bob")
        assert call(service)[0] == 200
    with holdfast.open(tmp_path / "m.db", embedder=HashEmbedder()) as memory:
        assert Service(memory, 0, "").turns() == []


def test_a_very_long_question_has_its_memories_too(service: Service, model: Running) -> None:
    service.memory.remember(LISBON, user="ann")
    text = "Where in Lisbon?\n" + "So much to read. " * 20_000 + "\nIn Lisbon?"
    body = {"model": "m", "messages": [{"role": "user", "content": text}]}
    assert call(service, body=body)[1]["x-holdfast-memory"].startswith("used")
    assert json.loads(model.seen()[-1]["raw"])["messages"][1]["content"] == text
