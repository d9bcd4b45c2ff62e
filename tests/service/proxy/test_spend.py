"""What language models may take of a key in a day: counted, kept, and refused beyond."""

import http.client
import json
import threading
from datetime import UTC, datetime, timedelta
from pathlib import Path

import openai
import pytest

import holdfast
from holdfast.service.keys import create_key
from holdfast.service.proxy.shape import ReportedUsage, bytes_said, tokens_sent, usage_of
from holdfast.store.protocols import Spent
from holdfast.testing import HashEmbedder
from tests.service.calling import NOON, Clock, given
from tests.service.live import wait_until
from tests.service.proxy.serving import Service, running
from tests.service.proxy.spending import CHAT, TOMORROW, refused, world
from tests.service.proxy.upstream import Running

#: What a call of the model "counts" takes, as it says.
ONE = Spent(1, 70, 30)


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("path", [CHAT, "/v1/proxy/responses"])
def test_what_the_model_says_is_counted_and_the_limit_holds_until_midnight(
    tmp_path: Path, model: Running, clock: Clock, path: str, stream: bool
) -> None:
    with world(tmp_path, model.url, clock) as here:
        key, secret = here.key(tokens_a_day=250)
        for _ in range(2):
            assert here.call(secret, path=path, stream=stream).status_code == 200
        here.expect(key, Spent(2, 140, 60))
        assert here.call(secret, path=path, stream=stream).status_code == 200
        here.expect(key, Spent(3, 210, 90))
        asked = len(model.seen())

        answer = here.call(secret, path=path, stream=stream)
        assert answer.headers["retry-after"] == str(12 * 3600)
        words = "may take 250 tokens a day of this key, 300 are used: try again after midnight UTC"
        assert words in refused(answer)
        assert len(model.seen()) == asked, "the model was not called"
        assert here.spent(key) == Spent(3, 210, 90)

        clock.now = NOON + timedelta(hours=12)
        assert here.call(secret, path=path, stream=stream).status_code == 200
        here.expect(key, ONE, TOMORROW)
        assert here.spent(key) == Spent(3, 210, 90)


def test_a_restart_forgets_nothing_and_another_key_has_its_own_day(
    tmp_path: Path, model: Running, clock: Clock
) -> None:
    with world(tmp_path, model.url, clock) as here:
        secret = here.key(tokens_a_day=100)[1]
        assert here.call(secret).status_code == 200
    with world(tmp_path, model.url, clock) as here:
        assert "100 are used" in refused(here.call(secret))
        assert here.call(here.key(tokens_a_day=100)[1]).status_code == 200
        other, free = here.key()
        assert [here.call(free).status_code for _ in range(3)] == [200] * 3
        here.expect(other, Spent(3, 210, 90))


def test_the_smaller_of_two_limits_counts(tmp_path: Path, model: Running, clock: Clock) -> None:
    with world(tmp_path, model.url, clock, **{"service.dailyTokens": 100}) as here:
        for own, most in ((None, 100), (90, 90), (10_000, 100)):
            secret = here.key(tokens_a_day=own)[1]
            assert here.call(secret).status_code == 200
            assert f"may take {most} tokens a day" in refused(here.call(secret))


def test_a_prompt_that_would_go_over_is_not_sent(
    tmp_path: Path, model: Running, clock: Clock
) -> None:
    with world(tmp_path, model.url, clock) as here:
        key, secret = here.key(tokens_a_day=1000)
        words = refused(here.call(secret, content="x" * 8000))
        assert "0 are used, and this call needs about 2" in words
        assert (model.seen(), here.spent(key)) == ([], Spent())


def test_what_costs_is_limited_too(tmp_path: Path, model: Running, clock: Clock) -> None:
    # Each call takes 70 * 1000 / 1e6 + 30 * 3000 / 1e6 = 0.16.
    prices = {"proxy.promptPrice": 1000, "proxy.answerPrice": 3000, "service.dailyCost": 0.3}
    with world(tmp_path, model.url, clock, **prices) as here:
        key, secret = here.key()
        assert [here.call(secret).status_code for _ in range(2)] == [200, 200]
        here.expect(key, Spent(2, 140, 60, 0.32))
        assert "may take 0.3 of cost a day of this key, 0.32 is spent" in refused(here.call(secret))


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("path", [CHAT, "/v1/proxy/responses"])
def test_without_the_models_word_it_is_estimated(
    tmp_path: Path, model: Running, clock: Clock, path: str, stream: bool
) -> None:
    question = "Tell me of Lisbon. " * 40
    with world(tmp_path, model.url, clock) as here:
        key, secret = here.key(tokens_a_day=100_000)
        answer = here.call(secret, "silent", path, content=question, stream=stream)
        assert answer.status_code == 200
        wait_until(lambda: here.spent(key).answer_tokens)
        spent, expected = here.spent(key), len(question) / 4
        assert expected <= spent.prompt_tokens <= 1.2 * expected
        assert expected <= spent.answer_tokens <= 1.2 * expected, "the answer repeats the question"


def test_embeddings_are_counted(tmp_path: Path, model: Running, clock: Clock) -> None:
    with world(tmp_path, model.url, clock) as here:
        key, secret = here.key(tokens_a_day=60)
        path = "/v1/proxy/embeddings"
        assert here.call(secret, path=path).status_code == 200
        here.expect(key, Spent(1, 30))
        assert here.call(secret, "silent", path, content="x" * 100).status_code == 200
        assert here.spent(key).answer_tokens == 0
        refused(here.call(secret, path=path, content="x" * 100))


def test_listing_the_models_costs_nothing(tmp_path: Path, model: Running, clock: Clock) -> None:
    with world(tmp_path, model.url, clock) as here:
        key, secret = here.key(tokens_a_day=1)
        refused(here.call(secret))
        answer = here.client.get("/v1/proxy/models", headers={"authorization": f"Bearer {secret}"})
        assert (answer.status_code, here.spent(key)) == (200, Spent())


def test_a_call_that_the_model_refuses_takes_nothing(
    tmp_path: Path, model: Running, clock: Clock
) -> None:
    with world(tmp_path, model.url, clock) as here:
        key, secret = here.key(tokens_a_day=1000)
        assert here.call(secret, "500").status_code == 500
        here.expect(key, Spent(calls=1))


def test_a_model_that_is_not_there_takes_nothing_and_a_bad_body_neither(
    tmp_path: Path, model: Running, clock: Clock
) -> None:
    with world(tmp_path, "http://127.0.0.1:9/v1", clock) as here:
        key, secret = here.key(tokens_a_day=1000)
        assert here.call(secret).status_code == 502
        here.expect(key, Spent())
        headers = {"authorization": f"Bearer {secret}"}
        assert here.client.post(CHAT, content=b"[1]", headers=headers).status_code == 400
        here.expect(key, Spent())


def test_a_caller_who_hangs_up_pays_for_what_was_sent(tmp_path: Path, model: Running) -> None:
    with holdfast.open(
        tmp_path / "m.db", embedder=HashEmbedder(), worker=False,
        config={"proxy.url": model.url, "proxy.remember": False},
    ) as memory, running(memory) as port:  # fmt: skip
        key, secret = create_key(memory.store, user="ann", tokens_a_day=100_000)
        body = {"model": "waits", "stream": True}
        body |= {"messages": [{"role": "user", "content": "word " * 400}]}
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
        connection.request("POST", CHAT, json.dumps(body), {"authorization": f"Bearer {secret}"})
        answer = connection.getresponse()
        while b"said" not in answer.readline():  # The third piece: two are surely counted.
            pass
        day = datetime.now(UTC).date()

        def spent() -> Spent:
            return memory.store.spent(key.id, day)

        assert spent().prompt_tokens >= 500, "charged before the answer came"
        assert spent().answer_tokens == 0
        answer.close()
        connection.close()
        wait_until(lambda: spent().answer_tokens > 0)
        model.go()
        assert 500 <= spent().prompt_tokens <= 600


def test_of_many_calls_at_once_no_more_are_let_through_than_their_prompts_allow(
    tmp_path: Path, model: Running
) -> None:
    """Each sends about 500 tokens: of 5000, nine or ten may be under way."""
    with holdfast.open(
        tmp_path / "m.db", embedder=HashEmbedder(), worker=False,
        config={"proxy.url": model.url, "proxy.remember": False},
    ) as memory, running(memory) as port:  # fmt: skip
        secret = create_key(memory.store, user="ann", tokens_a_day=5000)[1]
        service = Service(memory, port, secret)
        codes: list[int] = []

        def call() -> None:
            with service.client(None) as client:
                try:
                    told = [{"role": "user", "content": "word " * 400}]
                    client.chat.completions.create(model="silent", messages=told)  # type: ignore[arg-type]
                except openai.RateLimitError as error:
                    codes.append(error.status_code)
                else:
                    codes.append(200)

        threads = [threading.Thread(target=call) for _ in range(20)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        # The answer is as long as the question: five calls take all, and ten prompts.
        assert 5 <= codes.count(200) <= 10
        assert codes.count(429) == 20 - codes.count(200)
        assert len(model.seen()) == codes.count(200)


def test_the_limit_and_what_is_used_are_shown(tmp_path: Path, model: Running, clock: Clock) -> None:
    with world(tmp_path, model.url, clock) as here:
        admin = {"authorization": f"Bearer {create_key(here.memory.store, role='admin')[1]}"}
        made = here.client.post(
            "/v1/keys", json={"user_id": "ann", "tokens_a_day": 150}, headers=admin
        )
        told = given(made, 201)
        assert (told["tokens_a_day"], told["tokens_today"]) == (150, 0)
        assert here.call(told["key"]).status_code == 200
        assert here.call(told["key"]).status_code == 200
        refused(here.call(told["key"]))
        keys = given(here.client.get("/v1/keys", headers=admin))["keys"]
        shown = {key["id"]: (key["tokens_a_day"], key["tokens_today"]) for key in keys}
        assert shown.pop(told["id"]) == (150, 200)
        assert [*shown.values()] == [(None, 0)]
        again = given(here.client.post(f"/v1/keys/{told['id']}/rotate", headers=admin))
        assert (again["tokens_a_day"], again["tokens_today"]) == (150, 200)
        figures = here.client.get("/metrics", headers=admin).text
        assert 'holdfast_key_tokens_today{kind="prompt"} 140' in figures
        assert 'holdfast_key_tokens_today{kind="answer"} 60' in figures
        assert "holdfast_key_calls_refused_total 1" in figures
        assert 'holdfast_llm_tokens_today{kind="prompt"} 0' in figures, "that is the reader's"


@pytest.mark.parametrize("number", [0, -1, 10**12 + 1])
def test_a_limit_that_is_none_is_refused_by_its_name(
    tmp_path: Path, model: Running, clock: Clock, number: int
) -> None:
    with world(tmp_path, model.url, clock) as here:
        admin = {"authorization": f"Bearer {create_key(here.memory.store, role='admin')[1]}"}
        answer = here.client.post("/v1/keys", json={"tokens_a_day": number}, headers=admin)
        body = given(answer, 400)
        assert body["field"] == "tokens_a_day"
        assert "1..1000000000000" in body["error"]


def test_usage_is_read_as_models_write_it() -> None:
    assert usage_of({"usage": {"prompt_tokens": 3, "completion_tokens": 4}}) == ReportedUsage(3, 4)
    assert usage_of({"usage": {"prompt_tokens": 3, "total_tokens": 3}}) == ReportedUsage(3, None)
    assert usage_of(
        {"response": {"usage": {"input_tokens": 5, "output_tokens": 0}}}
    ) == ReportedUsage(5, 0)
    no_usage: list[object] = [
        None, {}, [], {"prompt_tokens": -1}, {"prompt_tokens": "9"}, {"x": True}
    ]  # fmt: skip
    for nothing in no_usage:
        assert usage_of({"usage": nothing}) == ReportedUsage()
    for no_count in (-5, None, 1e3, 10**9, True):
        usage = {"prompt_tokens": 7, "completion_tokens": no_count}
        assert usage_of({"usage": usage}) == ReportedUsage(7, None)


def test_what_is_sent_and_said_is_weighed_by_its_words() -> None:
    text = {"role": "user", "content": [{"type": "text", "text": "a" * 400}]}
    assert 100 <= tokens_sent(json.dumps({"messages": [text]}).encode()) <= 110
    picture = {"type": "image_url", "image_url": {"url": "data:image/png;base64," + "A" * 10**6}}
    assert 1000 <= tokens_sent(json.dumps({"messages": [picture]}).encode()) <= 1010
    assert tokens_sent(json.dumps({"input": [[1, 2, 3]] * 10}).encode()) == 31
    assert tokens_sent(b"no json" * 4) == 8
    call = {"function": {"name": "look", "arguments": "x" * 40}, "id": "c" * 99}
    assert bytes_said([{"message": {"content": "four", "tool_calls": [call]}}]) == 44
