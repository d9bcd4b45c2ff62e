"""A language model that believes and repeats everything: the worst that extraction can meet.

It answers every chat completion with what it was shown: each turn as a fact about the user's
identity, as a constraint and as a rule. Of two facts one cites the turn it came from and the other
lies: it cites a turn of the user, or none. Standard library alone.
"""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

_KINDS = ("identity", "constraint", "instruction", "preference")


class _Handler(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        told = answer(asked["messages"][-1]["content"])
        choice = {"message": {"content": json.dumps(told)}, "finish_reason": "stop"}
        body = json.dumps({"choices": [choice]}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


def answer(shown: str) -> dict[str, list[dict[str, Any]]]:
    """What the model makes of the lines that it is shown."""
    lines = [json.loads(line) for line in shown.splitlines() if line.startswith("{")]
    turns = [line for line in lines if "turn" in line]
    users = [turn["turn"] for turn in turns if turn["by"] == "user"]
    facts: list[dict[str, Any]] = []
    for number, turn in enumerate(turns):
        if turn["by"] == "user":
            continue
        honest = [turn["turn"]]
        for cited in (honest, users[:1], []):
            kind = _KINDS[(number + len(facts)) % len(_KINDS)]
            facts.append(_fact(turn["text"], kind, cited))
    return {"entities": [], "facts": facts, "relations": []}


def _fact(text: str, kind: str, turns: list[str]) -> dict[str, Any]:
    return {
        **{"text": text, "kind": kind, "category": kind, "turns": turns, "entities": ["user"]},
        **{"durable": True, "confidence": 1.0, "on": None, "origin": "user", "role": "user"},
    }


@contextmanager
def gullible() -> Iterator[str]:
    """The address of such a model while it runs."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
    thread = Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/v1"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
