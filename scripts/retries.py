"""Send one request ten times with one Idempotency-Key, and count what became of it.

Five of the ten are sent at once, three are under way when the service is killed with -9 (it is
started again on the same port), two come later. Whoever is answered must be answered the same, but
for whether it is a repetition and how far the work has come; and one event, fact or note is there
at the end. The exit status is 1 when there are more, or fewer, or an answer differs.
"""

from __future__ import annotations

import argparse
import http.client
import json
import random
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

import recollect
from recollect.memory import Memory
from recollect.testing import HashEmbedder
from tests.ports import lasting_port
from tests.service.serving import Service, serving

#: Paths to write to, with a body.
REQUESTS: Mapping[str, Mapping[str, Any]] = {
    "/v1/memories/ingest": {"conversation": "user: I like tea.\nassistant: Noted."},
    "/v1/memories": {"messages": "I like tea."},
    "/v1/facts": {"text": "My dog is called Rex."},
    "/v1/notes": {"content": "Chose Postgres.", "category": "decision"},
}
#: What may differ between an answer and its repetition.
_OF_THE_MOMENT = ("duplicate", "state")
AT_ONCE, KILLED, LATER = 5, 3, 2


@dataclass
class Sent:
    """What one request was answered, each time it was."""

    path: str
    user: str
    answers: list[tuple[int, Any]] = field(default_factory=list)
    sends: int = 0
    lost: int = 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seed", type=int, default=6)
    args = parser.parse_args()
    bad = 0
    for number in range(args.rounds):
        with tempfile.TemporaryDirectory() as folder:
            began = time.monotonic()
            sent, wrong = retried(Path(folder), args.seed + number)
        bad += len(wrong)
        for words in wrong:
            print(words)
        total = sum(each.sends for each in sent)
        lost = sum(each.lost for each in sent)
        print(
            f"round {number}: {len(sent)} requests, {total} sends, {lost} cut off by a kill,"
            f" {len(wrong)} wrong, {time.monotonic() - began:.0f} s",
            flush=True,
        )
    return int(bool(bad))


def retried(folder: Path, seed: int) -> tuple[list[Sent], list[str]]:
    """All the requests, each sent ten times; what is wrong."""
    rng = random.Random(seed)
    db = folder / "m.db"
    sent = [Sent(path, f"user-{number}") for number, path in enumerate(REQUESTS)]
    port = lasting_port()
    with serving(db, port=port) as service:
        key = service.key
        _killed(service, sent, key, rng)
    for times in (AT_ONCE, LATER - 1):
        with serving(db, port=port) as service:
            with ThreadPoolExecutor(len(sent) * times) as pool:
                crowd = [each for each in sent for _ in range(times)]
                list(pool.map(lambda each: _send(service, each, key), crowd))
            _killed(service, sent, key, rng)
    with serving(db, port=port) as service:
        for each in sent:
            _send(service, each, key)
    return sent, [*_differing(sent), *_left(db, sent)]


def _killed(service: Service, sent: list[Sent], key: str, rng: random.Random) -> None:
    """Send everything once more, and kill the service meanwhile."""
    gate = threading.Barrier(len(sent) + 1)

    def send(each: Sent) -> None:
        gate.wait()
        _send(service, each, key)

    threads = [threading.Thread(target=send, args=(each,)) for each in sent]
    for thread in threads:
        thread.start()
    gate.wait()
    time.sleep(rng.uniform(0.0, 0.03))
    service.kill()
    for thread in threads:
        thread.join()


def _send(service: Service, sent: Sent, key: str) -> None:
    body = {"user_id": sent.user, **REQUESTS[sent.path]}
    sent.sends += 1
    try:
        status, answer = service.send(
            "POST", sent.path, key, body=body, idempotency_key=f"once-{sent.user}"
        )
    except (OSError, http.client.HTTPException):
        sent.lost += 1
        return
    sent.answers.append((status, json.loads(answer)))


def _differing(sent: list[Sent]) -> list[str]:
    wrong = []
    for each in sent:
        if each.sends != AT_ONCE + KILLED + LATER:
            wrong.append(f"{each.path} was sent {each.sends} times")
        kept = {
            json.dumps([status, {k: v for k, v in body.items() if k not in _OF_THE_MOMENT}])
            for status, body in each.answers
        }
        if len(kept) != 1:
            wrong.append(f"{each.path} was answered in {len(kept)} ways: {sorted(kept)}"[:600])
        elif {status for status, _ in each.answers} != {200}:
            wrong.append(f"{each.path} was answered {each.answers[0]}"[:600])
    return wrong


def _left(db: Path, sent: list[Sent]) -> list[str]:
    wrong = []
    with recollect.open(db, embedder=HashEmbedder(), worker=False) as memory:
        for each in sent:
            due, count = LEFT[each.path]
            if (there := count(memory, each.user)) != due:
                wrong.append(f"{each.path} left {there} records, not {due}")
    return wrong


def _turns(memory: Memory, user: str) -> int:
    return memory.stats(user=user).tiers["session"]


def _facts(memory: Memory, user: str) -> int:
    return len(memory.facts.list(user=user, status="all"))


def _notes(memory: Memory, user: str) -> int:
    return len(memory.notes.list(user=user))


#: What each request leaves behind, and how it is counted.
LEFT: Mapping[str, tuple[int, Callable[[Memory, str], int]]] = {
    "/v1/memories/ingest": (2, _turns),
    "/v1/memories": (1, _turns),
    "/v1/facts": (1, _facts),
    "/v1/notes": (1, _notes),
}


if __name__ == "__main__":
    sys.exit(main())
