"""Send one request ten times with one Idempotency-Key, and count what became of it.

Five of the ten are sent at once, three are under way when the service is killed with -9 (it is
started again on the same port), two come later. Whoever is answered must be answered the same, but
for whether it is a repetition and how far the work has come; and one event, fact, note, share, use
or judgement is there at the end. Of a key and a webhook one is made: its secret is shown once, and
all other answers name it (409). The exit status is 1 when there are more, or fewer, or an answer
differs.
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

import holdfast
from holdfast.memory.memory import Memory
from holdfast.service.keys import create_key
from holdfast.testing import HashEmbedder
from tests.ports import lasting_port
from tests.service.serving import Service, serving

#: Paths to write to, with a body.
REQUESTS: Mapping[str, Mapping[str, Any]] = {
    "/v1/memories/ingest": {"conversation": "user: I like tea.\nassistant: Noted."},
    "/v1/memories": {"messages": "I like tea."},
    "/v1/facts": {"text": "My dog is called Rex."},
    "/v1/notes": {"content": "Chose Postgres.", "category": "decision"},
    "/v1/graph": {"entities": [{"name": "Rex"}]},
    "/v1/memories/{note}/feedback": {"value": 1},
    "/v1/procedures/{procedure}/used": {},
    "/v1/shares": {"to": "partner", "segments": ["documents"]},
    "/v1/keys": {"role": "read"},
    "/v1/webhooks": {"url": "https://example.invalid/hook"},
}
#: What is made of these has a secret, which is shown once.
SECRETS: Mapping[str, str] = {"/v1/keys": "key", "/v1/webhooks": "secret"}
#: What may differ between an answer and its repetition.
_OF_THE_MOMENT = ("duplicate", "state")
AT_ONCE, KILLED, LATER = 5, 3, 2


@dataclass
class Sent:
    """What one request was answered, each time it was."""

    path: str
    user: str
    #: What the names in the path stand for.
    ids: Mapping[str, str] = field(default_factory=dict)
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
    sent = _filled(db)
    port = lasting_port()
    with holdfast.open(db, embedder=HashEmbedder(), worker=False) as memory:
        key = create_key(memory.store, role="admin")[1]
    with serving(db, port=port) as service:
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


def _filled(db: Path) -> list[Sent]:
    """The requests, each of a user of its own, and what they are about."""
    sent = [Sent(path, f"user-{number}") for number, path in enumerate(REQUESTS)]
    with holdfast.open(db, embedder=HashEmbedder(), worker=False) as memory:
        for each in sent:
            if "{note}" in each.path:
                each.ids = {"note": memory.notes.add("Chose SQLite.", user=each.user).id}
            if "{procedure}" in each.path:
                made = memory.procedures.add("Release", steps=["tag"], user=each.user)
                each.ids = {"procedure": made.id}
    return sent


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
    path = sent.path.format(**sent.ids)
    try:
        status, answer = service.send(
            "POST", path, key, body=body, idempotency_key=f"once-{sent.user}"
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
        if each.path in SECRETS:
            wrong += _shown_twice(each)
            continue
        kept = {
            json.dumps([status, {k: v for k, v in body.items() if k not in _OF_THE_MOMENT}])
            for status, body in each.answers
        }
        if len(kept) != 1:
            wrong.append(f"{each.path} was answered in {len(kept)} ways: {sorted(kept)}"[:600])
        elif {status for status, _ in each.answers} != {200}:
            wrong.append(f"{each.path} was answered {each.answers[0]}"[:600])
    return wrong


def _shown_twice(sent: Sent) -> list[str]:
    """The secret comes with a 201, once at most; every answer names the same key or webhook."""
    statuses = [status for status, _ in sent.answers]
    shown = [body for _, body in sent.answers if SECRETS[sent.path] in body]
    named = {body.get("id") for _, body in sent.answers}
    if len(named) != 1 or len(shown) > 1 or statuses.count(201) != len(shown):
        return [f"{sent.path} was answered {statuses} with the ids {sorted(map(str, named))}"]
    return [] if set(statuses) <= {201, 409} else [f"{sent.path} was answered {statuses}"]


def _left(db: Path, sent: list[Sent]) -> list[str]:
    wrong = []
    with holdfast.open(db, embedder=HashEmbedder(), worker=False) as memory:
        for each in sent:
            due, count = LEFT[each.path]
            if (there := count(memory, each)) != due:
                wrong.append(f"{each.path} left {there} records, not {due}")
    return wrong


def _turns(memory: Memory, sent: Sent) -> int:
    return memory.stats(user=sent.user).tiers["session"]


def _facts(memory: Memory, sent: Sent) -> int:
    return len(memory.facts.list(user=sent.user, status="all"))


def _notes(memory: Memory, sent: Sent) -> int:
    return len(memory.notes.list(user=sent.user))


def _written(memory: Memory, sent: Sent) -> int:
    """How often the graph was told of the one entity."""
    (entity,) = memory.graph.entities(user=sent.user)
    return len(memory.history(entity.id, user=sent.user))


def _praised(memory: Memory, sent: Sent) -> int:
    lines = memory.history(sent.ids["note"], user=sent.user)
    return sum(line.action == "praised" for line in lines)


def _used(memory: Memory, sent: Sent) -> int:
    return memory.procedures.get(sent.ids["procedure"], user=sent.user).worked


def _shares(memory: Memory, sent: Sent) -> int:
    return len(memory.shares.list(user=sent.user))


def _keys(memory: Memory, sent: Sent) -> int:
    return sum(key.user == sent.user for key, _ in memory.store.api_keys())


def _hooks(memory: Memory, sent: Sent) -> int:
    return sum(hook.user == sent.user for hook in memory.store.hooks())


#: What each request leaves behind, and how it is counted.
LEFT: Mapping[str, tuple[int, Callable[[Memory, Sent], int]]] = {
    "/v1/memories/ingest": (2, _turns),
    "/v1/memories": (1, _turns),
    "/v1/facts": (1, _facts),
    "/v1/notes": (1, _notes),
    "/v1/graph": (1, _written),
    "/v1/memories/{note}/feedback": (1, _praised),
    "/v1/procedures/{procedure}/used": (1, _used),
    "/v1/shares": (1, _shares),
    "/v1/keys": (1, _keys),
    "/v1/webhooks": (1, _hooks),
}


if __name__ == "__main__":
    sys.exit(main())
