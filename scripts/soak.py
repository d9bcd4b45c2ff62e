"""Does the service's memory stop growing? A mixed load for hours, its size beside what it holds.

In the first half turns are written, read and asked for; in the second half nothing new is kept:
questions, contexts, lists, forgetting and restoring go on. What grows in the first half may be
memories; what still grows in the second is a leak. Both slopes are printed, and the bytes for each
memory. `make soak MINUTES=120`. The load is bounded by `--rate`, and ends by itself.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

from scripts.bench import question, sentence
from tests.service.serving import Service, serving

USERS = 40
CONNECTIONS = 8
SAMPLE_SECONDS = 30.0


@dataclass
class Load:
    """What was sent so far, and by what it is drawn."""

    service: Service
    chance: random.Random
    growing: bool = True
    sent: Counter[str] = field(default_factory=Counter)
    refused: Counter[str] = field(default_factory=Counter)
    memories: int = 0
    #: Some turns of each user, to forget and to restore.
    known: dict[str, list[str]] = field(default_factory=dict)


@dataclass(frozen=True)
class Sample:
    minutes: float
    megabytes: float
    memories: int
    requests: int
    growing: bool


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--minutes", type=float, default=120.0)
    parser.add_argument("--rate", type=float, default=30.0, help="requests a second")
    parser.add_argument("--seed", type=int, default=12)
    parser.add_argument("--most", type=float, default=20.0, help="MB an hour that may still grow")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        db = Path(folder) / "soak.db"
        with serving(db, settings={"service.requestsPerMinute": 0}) as service:
            load = Load(service, random.Random(args.seed))
            samples = asyncio.run(_soak(load, args.minutes * 60, args.rate))
    return _report(load, samples, most=args.most)


async def _soak(load: Load, seconds: float, rate: float) -> list[Sample]:
    began = time.monotonic()
    samples: list[Sample] = []
    senders = [
        asyncio.create_task(_send(load, began, seconds, rate / CONNECTIONS))
        for _ in range(CONNECTIONS)
    ]
    while not all(task.done() for task in senders):
        await asyncio.wait(senders, timeout=SAMPLE_SECONDS)
        passed = time.monotonic() - began
        load.growing = passed < seconds / 2
        samples.append(
            Sample(
                passed / 60,
                _megabytes(load.service),
                load.memories,
                load.sent.total(),
                load.growing,
            )
        )
        last = samples[-1]
        print(
            f"{last.minutes:6.1f} min  {last.megabytes:7.1f} MB  {last.memories:7d} memories"
            f"  {last.requests:7d} requests  {sum(load.refused.values())} refused",
            flush=True,
        )
    await asyncio.gather(*senders)
    return samples


async def _send(load: Load, began: float, seconds: float, rate: float) -> None:
    reader, writer = await asyncio.open_connection("localhost", load.service.port)
    count = 0
    while (passed := time.monotonic() - began) < seconds:
        await asyncio.sleep(max(0.0, count / rate - passed))
        name, method, path, body, take = _drawn(load)
        content = b"" if body is None else json.dumps(body).encode()
        writer.write(
            (
                f"{method} {path} HTTP/1.1\r\nHost: localhost:{load.service.port}\r\n"
                f"Authorization: Bearer {load.service.key}\r\nContent-Type: application/json\r\n"
                f"Content-Length: {len(content)}\r\n\r\n"
            ).encode()
            + content
        )
        status, answer = await _answer(reader)
        load.sent[name] += 1
        if status >= 300 and (name, status) != ("forget", 404):  # It may be forgotten already.
            load.refused[f"{name} {status}"] += 1
        elif take is not None:
            take(json.loads(answer))
        count += 1
        # A machine that is too slow for the rate is not punished by a burst afterwards.
        count = max(count, int((time.monotonic() - began) * rate) - 5)
    writer.close()


Drawn = tuple[str, str, str, dict[str, Any] | None, Callable[[Any], None] | None]


def _drawn(load: Load) -> Drawn:
    """One request: in the second half without those that keep something new."""
    chance = load.chance
    user = f"u{chance.randrange(USERS)}"
    number = chance.randrange(1_000_000)
    roll = chance.random()
    if roll < 0.25 and load.growing:
        turns = [{"content": sentence(number + i)} for i in range(2)]

        def took(answer: Any) -> None:
            load.memories += len(turns)
            kept = load.known.setdefault(user, [])
            kept += answer["events"]
            del kept[:-50]

        return ("remember", "POST", "/v1/memories", {"user_id": user, "messages": turns}, took)
    if roll < 0.35 and load.known.get(user):
        one = chance.choice(load.known[user])
        if chance.random() < 0.5:
            return ("forget", "DELETE", f"/v1/memories/{one}?user_id={user}", None, None)
        return ("restore", "POST", f"/v1/memories/{one}/restore", {"user_id": user}, None)
    if roll < 0.65:
        body = {"user_id": user, "query": question(number), "limit": 10}
        return ("recall", "POST", "/v1/recall", body, None)
    if roll < 0.9:
        body = {"user_id": user, "messages": question(number), "budget_tokens": 1000}
        return ("context", "POST", "/v1/context", body, None)
    return ("list", "GET", f"/v1/memories?user_id={user}&limit=20", None, None)


async def _answer(reader: asyncio.StreamReader) -> tuple[int, bytes]:
    head = await reader.readuntil(b"\r\n\r\n")
    lowered = head.lower()
    length = 0
    if b"content-length:" in lowered:
        length = int(lowered.split(b"content-length:")[1].split(b"\r\n")[0])
    return int(head.split(b" ", 2)[1]), await reader.readexactly(length)


def _megabytes(service: Service) -> float:
    status = Path(f"/proc/{service.process.pid}/status").read_text()
    return float(status.split("VmRSS:")[1].split()[0]) / 1024


def _report(load: Load, samples: list[Sample], *, most: float) -> int:
    growing = [sample for sample in samples if sample.growing]
    resting = [sample for sample in samples if not sample.growing]
    # Caches fill for a while after the last write: the last half of each phase is judged.
    first, second = _slope(growing[len(growing) // 2 :]), _slope(resting[len(resting) // 2 :])
    grown = growing[-1].megabytes - growing[0].megabytes
    held = growing[-1].memories - growing[0].memories
    print(f"sent: {dict(load.sent)}; refused: {dict(load.refused)}")
    print(f"while writing: {first:+.1f} MB an hour, {1024 * grown / max(1, held):.1f} KB a memory")
    print(f"while only asking: {second:+.1f} MB an hour (at most {most:.0f})")
    return int(second > most or bool(load.refused))


def _slope(samples: list[Sample]) -> float:
    """MB an hour, least squares."""
    if len(samples) < 2:
        return 0.0
    x = [sample.minutes / 60 for sample in samples]
    y = [sample.megabytes for sample in samples]
    middle, height = sum(x) / len(x), sum(y) / len(y)
    spread = sum((each - middle) ** 2 for each in x)
    return sum((a - middle) * (b - height) for a, b in zip(x, y, strict=True)) / spread


if __name__ == "__main__":
    sys.exit(main())
