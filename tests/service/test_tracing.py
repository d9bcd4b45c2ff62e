"""Traces: a collector gets spans of requests and verbs, and no word of what was said."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from fastapi.testclient import TestClient
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import Span

import holdfast
from holdfast.memory.memory import Memory
from holdfast.service.http import observe
from holdfast.service.http.app import create_app
from holdfast.service.keys import create_key
from holdfast.testing import HashEmbedder
from tests.service.live import Receiver

CANARY = "zanzibar"
TRACE = "0af7651916cd43dd8448eb211c80319c"


@pytest.fixture
def collector() -> Iterator[Receiver]:
    with Receiver() as collector:
        yield collector


@pytest.fixture
def memory(
    tmp_path: Path, collector: Receiver, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Memory]:
    monkeypatch.setattr(observe, "_EXPORT_SECONDS", 60.0)  # As a busy machine may need.
    config = {"service.tracesUrl": collector.url}
    with holdfast.open(
        tmp_path / "m.db", embedder=HashEmbedder(), worker=False, config=config
    ) as memory:
        yield memory


def spans(collector: Receiver) -> dict[str, Span]:
    """What the collector got, by name."""
    found: dict[str, Span] = {}
    for headers, body in collector.got:
        assert headers["content-type"] == "application/x-protobuf"
        sent = ExportTraceServiceRequest.FromString(body)
        for resource in sent.resource_spans:
            names = {each.key: each.value.string_value for each in resource.resource.attributes}
            assert names["service.name"] == "holdfast"
            for scope in resource.scope_spans:
                found |= {span.name: span for span in scope.spans}
    return found


def test_requests_and_verbs_have_spans(memory: Memory, collector: Receiver) -> None:
    key = create_key(memory.store)[1]
    headers = {
        "authorization": f"Bearer {key}", "traceparent": f"00-{TRACE}-b7ad6b7169203331-01",
    }  # fmt: skip
    with TestClient(create_app(memory), "http://localhost:3050", headers=headers) as client:
        body = {"user_id": CANARY, "conversation": f"I saw {CANARY}."}
        assert client.post("/v1/memories/ingest", json=body).status_code == 200
        body = {"user_id": CANARY, "query": CANARY}
        assert client.post("/v1/memories/search", json=body).status_code == 200
        client.get(f"/{CANARY}?q={CANARY}")
    # The end of the application has sent them.
    found = spans(collector)
    assert {"POST /v1/memories/ingest", "POST /v1/memories/search", "GET -"} <= set(found)
    request, verb = found["POST /v1/memories/ingest"], found["memory.remember"]
    assert request.trace_id.hex() == verb.trace_id.hex() == TRACE, "of the caller's trace"
    assert verb.parent_span_id == request.span_id
    assert request.kind == Span.SpanKind.SPAN_KIND_SERVER
    told = {each.key: each.value for each in request.attributes}
    assert told["http.route"].string_value == "/v1/memories/ingest"
    assert told["http.response.status_code"].int_value == 200
    counted = {each.key: each.value.int_value for each in verb.attributes}
    assert counted["holdfast.count"] == 1
    everything = b"".join(body for _, body in collector.got)
    for secret in (CANARY, key):
        assert secret.encode() not in everything


def test_a_verb_that_fails_says_so_without_the_words(memory: Memory, collector: Receiver) -> None:
    with (
        TestClient(create_app(memory), "http://localhost:3050"),
        pytest.raises(holdfast.HoldfastError),
    ):
        memory.recall(CANARY * 100_000, user="ann")
    span = spans(collector)["memory.recall"]
    told = {each.key: each.value.string_value for each in span.attributes}
    assert told["error.type"] == "TooLarge"
    assert not span.events
    assert CANARY.encode() not in b"".join(body for _, body in collector.got)


def test_without_an_address_nothing_of_it_is_loaded(tmp_path: Path) -> None:
    code = (
        "import sys, holdfast\n"
        "from holdfast.service.http.serving import create_app\n"
        "from holdfast.testing import HashEmbedder\n"
        f"with holdfast.open({str(tmp_path / 'm.db')!r}, embedder=HashEmbedder()) as memory:\n"
        "    create_app(memory)\n"
        "ours = ('opentelemetry.sdk', 'opentelemetry.exporter')\n"
        "print([name for name in sys.modules if name.startswith(ours)])\n"
    )
    out = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    )
    assert out.stdout.strip() == "[]"
