"""Health, readiness and figures: what an operator sees, and nobody else."""

import re
from datetime import timedelta

import pytest
from fastapi.testclient import TestClient

import holdfast
from holdfast.memory.memory import Memory
from holdfast.service.http.app import create_app
from holdfast.service.keys import create_key
from holdfast.types import Scope
from tests.service.calling import Clock, client_of
from tests.service.live import Api, Ear, live

CANARY = "zanzibar"
LINE = re.compile(r'([a-z_]+)(?:\{((?:[a-z]+="(?:[^"\\]|\\.)*",?)*)\})? (\S+)')


def figures(text: str) -> dict[str, float]:
    """Every sample, by its name and labels; a line that is none fails."""
    found: dict[str, float] = {}
    for line in text.splitlines():
        if line.startswith("#"):
            continue
        match = LINE.fullmatch(line)
        assert match, line
        name = match[1] + (f"{{{match[2]}}}" if match[2] else "")
        assert name not in found
        found[name] = float(match[3])
    return found


def asked(client: TestClient, query: str = "") -> dict[str, float]:
    answer = client.get(f"/metrics{query}")
    assert answer.status_code == 200
    assert answer.headers["content-type"].startswith("text/plain; version=0.0.4")
    return figures(answer.text)


# Figures


def test_requests_are_counted_by_route_and_class(client: TestClient) -> None:
    body = {"user_id": "ann", "conversation": "tea"}
    for _ in range(3):
        client.post("/v1/memories/ingest", json=body)
    client.post("/v1/memories/ingest", json={})
    client.get("/nowhere")
    client.request("BREW", "/coffee")
    found = asked(client)
    total = "holdfast_requests_total"
    route = 'method="POST",route="/v1/memories/ingest"'
    assert found[f'{total}{{{route},status="2xx"}}'] == 3
    assert found[f'{total}{{{route},status="4xx"}}'] == 1
    assert found[f'{total}{{method="GET",route="-",status="4xx"}}'] == 1
    assert found[f'{total}{{method="OTHER",route="-",status="4xx"}}'] == 1
    seconds = "holdfast_request_seconds"
    last = f'{seconds}_bucket{{route="/v1/memories/ingest",le="+Inf"}}'
    assert found[last] == found[f'{seconds}_count{{route="/v1/memories/ingest"}}'] == 4
    assert found[f'{seconds}_sum{{route="/v1/memories/ingest"}}'] > 0
    assert found["holdfast_requests_in_flight"] == 1, "the one that asks"


def test_buckets_add_up(client: TestClient) -> None:
    for _ in range(5):
        client.get("/health")
    found = asked(client)
    counts = [value for name, value in found.items() if "_bucket" in name and "/health" in name]
    assert counts == sorted(counts)
    assert counts[-1] == 5


def test_the_queue_and_what_it_cost(client: TestClient, memory: Memory, clock: Clock) -> None:
    memory.remember([{"content": "one"}, {"content": "two"}], user="ann")
    memory.store.charge(
        Scope("default", "ann"), clock.now.date(), calls=2, prompt_tokens=30, cost=0.25
    )
    step = f"embed:{memory.worker.space.id}"
    (job,) = memory.store.claim([step], limit=1, now=clock.now, lease_s=60, max_attempts=5)
    memory.store.release([job], error="broken")
    clock.now += timedelta(seconds=90)
    found = asked(client)
    assert found['holdfast_jobs{state="dead"}'] == 1
    assert found['holdfast_jobs{state="ready"}'] == memory.store.counts().ready > 0
    assert 80 <= found["holdfast_oldest_job_seconds"] <= 90
    assert found["holdfast_llm_calls_today"] == 2
    assert found['holdfast_llm_tokens_today{kind="prompt"}'] == 30
    assert found["holdfast_llm_cost_today"] == 0.25
    assert not any("_user_" in name for name in found)


def test_what_one_user_cost_is_told_on_demand_beside_what_all_did(
    client: TestClient, memory: Memory, clock: Clock
) -> None:
    for user, calls in (("ann", 2), ("bob", 5)):
        memory.store.charge(
            Scope("default", user), clock.now.date(), calls=calls, answer_tokens=10, cost=0.5
        )
    found = asked(client, "?user_id=ann")
    assert found["holdfast_user_llm_calls_today"] == 2
    assert found['holdfast_user_llm_tokens_today{kind="answer"}'] == 10
    assert found["holdfast_user_llm_cost_today"] == 0.5
    assert found["holdfast_llm_calls_today"] == 7
    assert asked(client, "?user_id=nobody")["holdfast_user_llm_calls_today"] == 0
    assert client.get("/metrics?user_id=").status_code == 400


def test_what_the_worker_did(client: TestClient, memory: Memory) -> None:
    memory.remember("tea", user="ann")
    memory.drain()
    memory.recall("tea", user="ann")
    found = asked(client)
    assert found['holdfast_jobs_done_total{step="embed"}'] >= 1
    assert found['holdfast_jobs_done_total{step="extract"}'] >= 1
    assert found["holdfast_indexes"] >= 1
    assert found["holdfast_index_bytes"] > 0


def test_webhooks_streams_and_the_process(memory: Memory) -> None:
    admin = create_key(memory.store, role="admin")[1]
    with live(create_app(memory)) as port, Ear(port, admin, "?user_id=ann") as ear:
        ear.frame()
        api = Api(port, admin)
        assert api("POST", "/v1/webhooks", {"url": "https://example.org/"})[0] == 201
        found = figures(api("GET", "/metrics")[1])
    assert found["holdfast_streams"] == 1
    assert found['holdfast_webhooks{state="ok"}'] == 1
    assert found["process_resident_memory_bytes"] > 10_000_000
    assert found["process_open_fds"] > 3
    assert found[f'holdfast_build_info{{version="{holdfast.__version__}"}}'] == 1


def test_no_user_no_id_no_word_is_in_it(client: TestClient, memory: Memory) -> None:
    id = memory.remember(f"I went to {CANARY}.", user="canary-user").events[0]
    client.get(f"/v1/memories/{id}?user_id=canary-user")
    client.get(f"/v1/{CANARY}?q={CANARY}")
    text = client.get("/metrics").text
    for word in (CANARY, "canary-user", id):
        assert word not in text


@pytest.mark.parametrize(
    "key", [{"role": "read"}, {"role": "write"}, {"role": "admin", "user": "ann"}]
)
def test_only_for_the_operator(memory: Memory, key: dict[str, str]) -> None:
    with client_of(memory, **key) as client:
        assert client.get("/metrics").status_code == 403
    with TestClient(create_app(memory), "http://localhost:3050") as client:
        assert client.get("/metrics").status_code == 401


# Health


def test_health_is_one_word_without_a_key(memory: Memory) -> None:
    with TestClient(create_app(memory), "http://localhost:3050") as client:
        answer = client.get("/health")
        assert (answer.status_code, answer.json()) == (200, {"status": "ok"})
        assert client.get("/v1/ready").status_code == 401


def test_a_dead_letter_degrades(memory: Memory, clock: Clock) -> None:
    memory.remember("tea", user="ann")
    step = f"embed:{memory.worker.space.id}"
    (job,) = memory.store.claim([step], limit=1, now=clock.now, lease_s=60, max_attempts=5)
    memory.store.release([job], error="broken")
    with client_of(memory, role="admin") as client:
        assert client.get("/health").json() == {"status": "degraded"}
        ready = client.get("/v1/ready").json()
        assert (ready["status"], ready["jobs"]["dead"]) == ("degraded", 1)
        assert "dead letters" in ready["reasons"][0]


def test_jobs_that_nobody_does_degrade(memory: Memory, clock: Clock) -> None:
    memory.remember("tea", user="ann")
    clock.now += timedelta(minutes=5)
    with client_of(memory, role="admin") as client:
        assert client.get("/health").json() == {"status": "ok"}
    clock.now += timedelta(minutes=15)
    with client_of(memory, role="admin") as client:
        assert client.get("/health").json() == {"status": "degraded"}
        ready = client.get("/v1/ready").json()
        assert "worker" in ready["reasons"][0]
        assert ready["oldest_job_seconds"] > 900


def test_numbers_are_for_the_operator(memory: Memory) -> None:
    for key in ({"role": "read"}, {"role": "admin", "user": "ann"}):
        with client_of(memory, **key) as client:
            assert client.get("/v1/ready").json() == {"status": "ok", "reasons": []}


def test_a_store_that_is_gone_is_down(memory: Memory) -> None:
    app = create_app(memory)
    with TestClient(app, "http://localhost:3050") as client:
        memory.close()
        assert client.get("/health").status_code == 503


def test_health_asks_the_store_once_a_second(memory: Memory, clock: Clock) -> None:
    with TestClient(create_app(memory), "http://localhost:3050") as client:
        assert client.get("/health").json() == {"status": "ok"}
        memory.close()
        assert client.get("/health").status_code == 200, "it was fine a moment ago"
