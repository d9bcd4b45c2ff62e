"""Send thousands of requests to a service that runs: generated ones, and ones that mean harm.

schemathesis reads the OpenAPI document of the service and makes requests that fit it and requests
that do not, in all its phases. The rest is ours (tests/service/hostile.py): every bad value in
every field of every route, other tenants' ids everywhere, bodies that are too deep, too large or
not JSON, connections that are never finished. Counted are answers of class 5xx, answers that take
longer than ten seconds, answers that break the OpenAPI document, and answers that hold a word of
another tenant. The exit status is 1 when any of them was seen.
"""

from __future__ import annotations

import argparse
import http.client
import json
import socket
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

import schemathesis
from schemathesis.config import SchemathesisConfig
from schemathesis.engine import Status, events, from_schema

from holdfast.service.http.app import create_app
from holdfast.service.keys import create_key
from holdfast.wiring import make_store
from tests.service.asking import Route, routes_of
from tests.service.by_hand import ROUTES
from tests.service.hostile import Attack, attacks, large
from tests.service.model import answering
from tests.service.serving import Service, serving
from tests.service.world import SECRET, SETTINGS, World, made

# Lines of JSON are made as any other text.
schemathesis.serializer.alias("application/x-ndjson", "text/plain")

HANG_SECONDS = 10.0
#: An arriving request may take so long here; by default it is 30 s.
SLOW_SECONDS = 3
#: What our checks of the answers are called; a request that the document forbids and that is
#: answered all the same is none of them.
CHECKS = (
    "not_a_server_error",
    "status_code_conformance",
    "content_type_conformance",
    "response_headers_conformance",
    "response_schema_conformance",
)
PHASES = ("examples", "coverage", "fuzzing", "stateful")
#: What the guard says to a key that was revoked.
_NO_KEY = b"a valid key is required"
#: So often the generated requests are gone through again until there were enough.
_MOST_ROUNDS = 20


@dataclass
class Tally:
    """What was seen."""

    requests: Counter[str] = field(default_factory=Counter)
    statuses: Counter[int] = field(default_factory=Counter)
    #: What was wrong, with an example of each kind on each route.
    wrong: Counter[str] = field(default_factory=Counter)
    examples: dict[tuple[str, str], str] = field(default_factory=dict)
    slowest: float = 0.0

    @property
    def total(self) -> int:
        return self.requests.total()

    def note(self, kind: str, where: str, words: str) -> None:
        self.wrong[kind] += 1
        self.examples.setdefault((kind, where), " ".join(words.split()))

    def answered(self, part: str, where: str, status: int, body: bytes, seconds: float) -> None:
        """Look at one answer."""
        self.requests[part] += 1
        self.statuses[status] += 1
        self.slowest = max(self.slowest, seconds)
        if status >= 500:
            self.note("5xx", where, f"{status} {body[:200]!r}")
        if seconds > HANG_SECONDS:
            self.note("hang", where, f"{seconds:.1f} s")
        # An operator's export is of everybody.
        if SECRET.encode() in body and "/v1/export" not in where:
            self.note("foreign", where, f"{status} {body[:200]!r}")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--requests", type=int, default=20_000, help="in all, about")
    parser.add_argument("--seed", type=int, default=6)
    parser.add_argument("--only", default="", help="routes whose path holds this")
    parser.add_argument("--no-large", action="store_true", help="leave out bodies of megabytes")
    args = parser.parse_args()
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        tally = fuzzed(
            Path(folder), args.seed, hostile=args.requests * 2 // 5,
            generated=args.requests * 3 // 5, only=args.only, heavy=not args.no_large,
        )  # fmt: skip
    show(tally, time.monotonic() - began)
    return int(bool(tally.wrong) or not tally.total)


def fuzzed(
    folder: Path, seed: int, *, hostile: int, generated: int, only: str = "", heavy: bool = True
) -> Tally:
    """So many requests of our own, and about so many of schemathesis."""
    tally = Tally()
    world = made(folder, embedder=None)
    with world.opened(folder / "routes.db") as memory:
        routes = [each for each in routes_of(create_app(memory)) if only in each.path]
    with answering() as model:
        settings = {**SETTINGS, "service.bodySeconds": SLOW_SECONDS, "proxy.url": model}
        with serving(world.db, settings=settings) as service:
            asker = Asker(service, world, tally)
            if hostile:
                harmed(asker, routes, seed, most=hostile)
                lingered(service, asker.key, tally)
            if heavy:
                overloaded(asker)
            if generated:
                generate(asker, seed, most=tally.total + generated, only=only)
            asker.close()
            alive(service, tally)
    return tally


class Asker:
    """One connection to the service, with the key of a tenant who owns next to nothing."""

    def __init__(self, service: Service, world: World, tally: Tally) -> None:
        self.service, self.world, self.tally = service, world, tally
        self.key = world.keys["other tenant"]
        self._connection = self._connected()

    def send(self, attack: Attack, *, part: str = "hostile") -> None:
        """Send it and look at the answer; a connection that was closed on us is opened again."""
        headers = {"authorization": f"Bearer {self.key}", **(attack.headers or {})}
        if attack.body is not None and attack.content_type:
            headers["content-type"] = attack.content_type
        where = f"{attack.method} {attack.target.partition('?')[0]:.80}, {attack.name}"
        began = time.monotonic()
        try:
            self._connection.request(attack.method, attack.target, attack.body, headers)
            with self._connection.getresponse() as answer:
                status, body = answer.status, answer.read(4_000_000)
        except TimeoutError:
            self.tally.note("hang", where, "no answer")
            self._again()
            return
        except (OSError, http.client.HTTPException) as error:
            # It may refuse to read on, but it must be there for the next.
            self.tally.requests[f"{part}, cut off ({type(error).__name__})"] += 1
            self._again()
            return
        self.tally.answered(part, where, status, body, time.monotonic() - began)
        if answer.will_close:
            self._again()
        if status == 401 and _NO_KEY in body:
            self.renew()

    def renew(self) -> None:
        """A new key: what is sent at random has revoked ours."""
        store = make_store(self.world.db)
        try:
            self.key = create_key(store, workspace="globex", role="admin")[1]
        finally:
            store.close()

    def close(self) -> None:
        self._connection.close()

    def _again(self) -> None:
        self._connection.close()
        self._connection = self._connected()

    def _connected(self) -> http.client.HTTPConnection:
        return http.client.HTTPConnection("localhost", self.service.port, timeout=30)


def harmed(asker: Asker, routes: list[Route], seed: int, *, most: int) -> None:
    """Requests that mean harm, each once, until there were enough."""
    finite = [route for route in routes if not route.asked.endless]
    for number, attack in enumerate(attacks(finite, asker.world, seed)):
        if number >= most:
            break
        asker.send(attack)


def overloaded(asker: Asker) -> None:
    """Bodies of megabytes, to those that read any."""
    for path in ("/v1/memories/ingest", "/v1/memories", "/v1/recall"):
        for name, body, headers in large():
            asker.send(Attack(name, "POST", path, body, None, headers), part="large")


def lingered(service: Service, key: str, tally: Tally) -> None:
    """Connections that are never finished: each must be ended, and others answered meanwhile."""
    head = b"POST /v1/recall HTTP/1.1\r\nHost: localhost\r\n"
    bearer = f"Authorization: Bearer {key}\r\n".encode()
    beginnings = {
        "half a header": head + b"X-A: ",
        "no end of the headers": head + bearer,
        "a body that does not come": head + bearer + b"Content-Length: 100\r\n\r\n{",
        "a chunk that does not come": head + bearer + b"Transfer-Encoding: chunked\r\n\r\n5\r\n{",
    }
    lines = {
        name: socket.create_connection(("localhost", service.port), timeout=HANG_SECONDS)
        for name in beginnings
    }
    try:
        for name, line in lines.items():
            line.sendall(beginnings[name])
        began = time.monotonic()
        status, body = service.send("POST", "/v1/recall", key, body={"user_id": "e", "query": "x"})
        tally.answered("meanwhile", "POST /v1/recall", status, body, time.monotonic() - began)
        for name, line in lines.items():
            tally.requests["slow"] += 1
            if not _is_ended(line, began + HANG_SECONDS):
                tally.note("hang", f"slow: {name}", f"still open after {HANG_SECONDS:.0f} s")
    finally:
        for line in lines.values():
            line.close()


def _is_ended(line: socket.socket, deadline: float) -> bool:
    """Whether the other side answers or hangs up in time."""
    line.settimeout(max(0.1, deadline - time.monotonic()))
    try:
        line.recv(65536)
    except TimeoutError:
        return False
    except OSError:
        pass  # Reset: ended as well.
    return True


def generate(asker: Asker, seed: int, *, most: int, only: str = "") -> None:
    """What schemathesis makes of the OpenAPI document, phase by phase, until there were enough."""
    tally = asker.tally
    document = _document(asker)
    if only:
        document["paths"] = {path: item for path, item in document["paths"].items() if only in path}
    operations = sum(len(item) for item in document["paths"].values())
    phases = [*PHASES, *["fuzzing"] * _MOST_ROUNDS]
    for number, phase in enumerate(phases):
        # What a phase does not use, the next ones may.
        left = most - tally.total
        until = tally.total + left // max(1, len(PHASES) - number)
        if left <= 0 or not operations:
            break
        examples = max(2, (until - tally.total) // operations)
        config = SchemathesisConfig.from_dict(_settings(asker, seed + number, phase, examples))
        schema = schemathesis.openapi.from_dict(document, config=config)
        with _watched(asker, phase):
            _executed(schema, tally, until)


def _executed(schema: Any, tally: Tally, until: int) -> None:
    """Run one phase until there were enough requests."""
    stream = from_schema(schema).execute()
    for event in stream:
        if isinstance(event, events.ScenarioFinished):
            _failures(event, tally)
        elif isinstance(event, events.NonFatalError):
            tally.note("not tested", event.label, str(event.value)[:300])
        elif isinstance(event, events.FatalError):
            tally.note("not tested", "the rest", str(event.exception)[:300])
        if tally.total >= until:
            stream.stop()


def _document(asker: Asker) -> dict[str, Any]:
    status, body = asker.service.send("GET", "/v1/openapi.json", asker.key)
    if status != 200:
        asker.tally.note("not tested", "GET /v1/openapi.json", f"{status}")
        return {"openapi": "3.1.0", "info": {"title": "", "version": ""}, "paths": {}}
    document: dict[str, Any] = json.loads(body)
    for (_, path), asked in ROUTES.items():
        if asked.endless:
            document["paths"].pop(path, None)
    return document


def _settings(asker: Asker, seed: int, phase: str, examples: int) -> dict[str, Any]:
    return {
        "seed": seed,
        "base-url": f"http://localhost:{asker.service.port}",
        "request-timeout": 30,
        "continue-on-failure": True,
        "suppress-health-check": ["all"],
        "generation": {
            "max-examples": examples,
            "no-shrink": True,
            "database": "none",
            # It would take the place of our key.
            "with-security-parameters": False,
        },
        "phases": {each: {"enabled": each == phase} for each in PHASES},
        "checks": {"enabled": False, **{name: {"enabled": True} for name in CHECKS}},
    }


@contextmanager
def _watched(asker: Asker, phase: str) -> Iterator[None]:
    """Look at every answer, and show the key that is good just now."""

    def before_call(context: Any, case: Any, kwargs: dict[str, Any]) -> None:
        case.headers["authorization"] = f"Bearer {asker.key}"

    def after_call(context: Any, case: Any, response: Any) -> None:
        where = f"{case.method} {case.path}"
        body = response.content or b""
        asker.tally.answered(phase, where, response.status_code, body, response.elapsed)
        if response.status_code == 401 and _NO_KEY in body:
            asker.renew()

    hooks = [schemathesis.hook(before_call), schemathesis.hook(after_call)]
    try:
        yield
    finally:
        for hook in hooks:
            schemathesis.hooks.unregister(hook)


def _failures(event: events.ScenarioFinished, tally: Tally) -> None:
    for id, checks in event.recorder.checks.items():
        for check in checks:
            if check.status == Status.FAILURE and check.name != "not_a_server_error":
                case = event.recorder.cases[id].value
                failure = check.failure_info.failure if check.failure_info else ""
                words = f"{case.as_curl_command()[:400]} -> {failure!s:.300}"
                tally.note(f"schema: {check.name}", f"{case.method} {case.path}", words)


def alive(service: Service, tally: Tally) -> None:
    """After all of it the service must be well."""
    began = time.monotonic()
    status, body = service.send("GET", "/health", "")
    tally.answered("health", "GET /health", status, body, time.monotonic() - began)
    if service.process.poll() is not None:
        tally.note("5xx", "the service", f"ended with {service.process.returncode}")


def show(tally: Tally, seconds: float) -> None:
    print("requests: " + ", ".join(f"{name} {count:,}" for name, count in tally.requests.items()))
    print("answers: " + ", ".join(f"{s} {n:,}" for s, n in sorted(tally.statuses.items())))
    for (kind, where), words in sorted(tally.examples.items()):
        print(f"{kind}: {where}: {words}")
    counts = {kind: tally.wrong.pop(kind, 0) for kind in ("5xx", "hang", "foreign")}
    tally.wrong.update({kind: count for kind, count in counts.items() if count})
    schema = sum(count for kind, count in tally.wrong.items() if kind.startswith("schema"))
    print(
        f"{tally.total:,} requests in {seconds:.0f} s ({tally.total / seconds:,.0f}/s), slowest"
        f" {tally.slowest:.1f} s: {counts['5xx']} answers of class 5xx, {counts['hang']} hangs,"
        f" {schema} against the schema, {counts['foreign']} with another tenant's words"
    )


if __name__ == "__main__":
    sys.exit(main())
