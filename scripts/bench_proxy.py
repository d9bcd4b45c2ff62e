"""What the proxy adds to the first token: a scripted model, asked directly and through the proxy.

The model streams at once, as a process of its own; so does Holdfast, over a store of one user with
10,000 memories (unless told otherwise), with the shipped model for the questions. Calls are made in
turns, so that whatever else the machine does falls on all: directly, through the proxy with memory
switched off, and through the proxy. Every turn is remembered, in the pause before the next: nobody
answers within a fifth of a second. Prints medians and their ratio, and what the context alone takes
in one process; exits 1 when the proxy adds more than 25 ms.

    python scripts/bench_proxy.py [--memories N] [--rounds N]
"""

from __future__ import annotations

import argparse
import asyncio
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from http.client import HTTPConnection
from pathlib import Path

import uvicorn

sys.path.insert(0, str(Path(__file__).parents[1]))

import holdfast
from holdfast.service.http.app import create_app
from holdfast.service.http.processes import listening
from holdfast.service.keys import create_key
from scripts.bench import RealQuestions, fill, latencies, opened, question

MOST_MS = 25.0
PIECES = 16
PAUSE_S = 0.2


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--memories", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=100)
    parser.add_argument("--model", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--serve", nargs=2, help=argparse.SUPPRESS)
    told = parser.parse_args()
    if told.model:
        asyncio.run(model())
    elif told.serve:
        serve(*told.serve)
    else:
        return measured(told.memories, told.rounds)
    return 0


def measured(memories: int, rounds: int) -> int:
    """0 when the proxy is quick enough."""
    with tempfile.TemporaryDirectory() as folder:
        db = Path(folder) / "m.db"
        with opened(db) as memory:
            fill(memory, memories, users=1)
            key = create_key(memory.store)[1]
        alone = context_times(db, rounds)
        with started("--model") as port, started("--serve", str(db), port) as proxy:
            direct, bare, remembered = timings(int(port), int(proxy), key, rounds)
    for name, times in (
        ("context alone", alone),
        ("directly", direct),
        ("proxy, budget 0", bare),
        ("proxy", remembered),
    ):
        low, high = min(times), statistics.quantiles(times, n=20)[18]
        median = statistics.median(times)
        print(f"{name:16} p50 {median:6.2f} ms   min {low:6.2f}   p95 {high:6.2f}")
    added = statistics.median(remembered) - statistics.median(direct)
    ratio = statistics.median(remembered) / statistics.median(direct)
    print(f"the proxy adds {added:.2f} ms to the first token at {memories:,} memories", end=" ")
    print(f"(ratio {ratio:.1f}; the limit is {MOST_MS:.0f} ms)")
    return int(added > MOST_MS)


def timings(model: int, proxy: int, key: str, rounds: int) -> tuple[list[float], ...]:
    """Milliseconds until the first token: directly, without memory, with memory."""
    headers = {"authorization": f"Bearer {key}", "x-holdfast-user": "u0"}
    bare = {**headers, "x-holdfast-budget": "0", "x-holdfast-remember": "false"}
    found: tuple[list[float], ...] = ([], [], [])
    with (
        closing(HTTPConnection("127.0.0.1", model)) as one,
        closing(HTTPConnection("127.0.0.1", proxy)) as other,
    ):
        for number in range(-10, rounds):
            time.sleep(PAUSE_S)
            text = question(number + 10)
            times = (
                first_token(one, "/v1", text, headers),
                first_token(other, "/v1/proxy", text, bare),
                first_token(other, "/v1/proxy", text, headers),
            )
            if number >= 0:  # Before that everything is warmed up.
                for each, took in zip(found, times, strict=True):
                    each.append(took)
    return found


def first_token(connection: HTTPConnection, base: str, text: str, headers: dict[str, str]) -> float:
    """Milliseconds from the call to the first of its answer."""
    messages = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": text}]
    body = json.dumps({"model": "m", "stream": True, "messages": messages})
    began = time.perf_counter()
    connection.request("POST", f"{base}/chat/completions", body, headers)
    answer = connection.getresponse()
    answer.read1(1)
    took = time.perf_counter() - began
    whole = answer.read()
    assert answer.status == 200, whole
    assert b"[DONE]" in whole
    return 1000 * took


def context_times(db: Path, rounds: int) -> list[float]:
    """What the same contexts take in this process, without a server."""
    with opened(db, RealQuestions()) as memory:
        memory.warm()
        asked = [question(number) for number in range(rounds + 10)]
        times = latencies(
            lambda i: memory.context(asked[i], user="u0", budget_tokens=2000, record=False),
            len(asked),
        )
    return [1000 * each for each in times[10:]]


@contextmanager
def started(*arguments: str) -> Iterator[str]:
    """This script as another process; the port that it prints."""
    command = [sys.executable, __file__, *arguments]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdout=pipe, text=True) as process:
        assert process.stdout is not None
        try:
            yield process.stdout.readline().strip()
        finally:
            process.kill()


def serve(db: str, model_port: str) -> None:
    """Holdfast before the model."""
    config = {
        "proxy.url": f"http://127.0.0.1:{model_port}/v1",
        # Reading turns has its own bench, and nobody asks that often.
        "extraction.enabled": False,
        "service.requestsPerMinute": 0,
    }
    with (
        holdfast.open(db, embedder=RealQuestions(), config=config) as memory,
        listening("127.0.0.1", 0) as listener,
    ):
        memory.warm()
        settings = uvicorn.Config(
            create_app(memory), http="h11", ws="none", access_log=False, log_level="warning"
        )
        print(listener.getsockname()[1], flush=True)
        uvicorn.Server(settings).run(sockets=[listener])


async def model() -> None:
    """A model that says its pieces at once."""
    server = await asyncio.start_server(_answer, "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    async with server:
        await server.serve_forever()


async def _answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    number = 0
    while head := await _head(reader):
        length = next(line for line in head.split("\r\n") if "content-length" in line)
        await reader.readexactly(int(length.partition(":")[2]))
        number += 1
        writer.write(
            b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n"
            b"transfer-encoding: chunked\r\n\r\n"
        )
        for piece in range(PIECES):
            finish = "stop" if piece == PIECES - 1 else None
            choice = {"index": 0, "delta": {"content": f"word{piece} "}, "finish_reason": finish}
            event = json.dumps({"id": f"c{id(writer)}-{number}", "choices": [choice]})
            await _said(writer, f"data: {event}\n\n")
        await _said(writer, "data: [DONE]\n\n")
        writer.write(b"0\r\n\r\n")
        await writer.drain()
    writer.close()


async def _head(reader: asyncio.StreamReader) -> str:
    try:
        return (await reader.readuntil(b"\r\n\r\n")).decode().lower()
    except asyncio.IncompleteReadError:
        return ""


async def _said(writer: asyncio.StreamWriter, text: str) -> None:
    raw = text.encode()
    writer.write(b"%x\r\n%s\r\n" % (len(raw), raw))
    await writer.drain()


if __name__ == "__main__":
    sys.exit(main())
