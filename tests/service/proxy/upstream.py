"""A scripted OpenAI-compatible server as a process of its own.

What it does is named by the `model` of a call; without a script it answers with the words of the
last user message turned into "You said: ...". `GET /seen` tells every call that came, `POST /go`
lets a stream that waits go on. It ends when its standard input does.
"""

import json
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, ClassVar

ERRORS = {
    "401": (401, b'{"error": {"message": "Incorrect API key",  "type": "auth", "code": "bad"}}'),
    "429": (429, b'{"error":{"message":"slow down","type":"rate","param":null,"code":null}}\n'),
    "500": (500, b"<html>it broke</html>"),
}


@dataclass
class Running:
    """A server process."""

    port: int
    process: subprocess.Popen[str]

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"

    def seen(self) -> list[dict[str, Any]]:
        """The calls that came, the first first."""
        return list(json.loads(self._ask("GET", "/seen")))

    def go(self) -> None:
        """Let one stream that waits go on."""
        self._ask("POST", "/go")

    def reset(self) -> None:
        """Forget the calls that came, and whom to let go on."""
        self._ask("POST", "/reset")

    def _ask(self, method: str, path: str) -> bytes:
        connection = HTTPConnection("127.0.0.1", self.port, timeout=30)
        try:
            connection.request(method, path)
            return connection.getresponse().read()
        finally:
            connection.close()


@contextmanager
def running() -> Iterator[Running]:
    """A server that runs as long as the block."""
    pipe = subprocess.PIPE
    with subprocess.Popen(
        [sys.executable, __file__], stdin=pipe, stdout=pipe, text=True
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            yield Running(int(process.stdout.readline()), process)
        finally:
            process.stdin.close()
            process.kill()


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    seen: ClassVar[list[dict[str, Any]]] = []
    lock = threading.Lock()
    going = threading.Semaphore(0)

    def log_message(self, *_: object) -> None:
        pass

    def do_GET(self) -> None:
        if self.path == "/seen":
            self.whole(200, json.dumps(self.seen).encode())
            return
        self.note(b"")
        name = self.path.removeprefix("/v1/models").strip("/")
        one = {"id": name or "scripted", "object": "model", "created": 1, "owned_by": "us"}
        listed = one if name else {"object": "list", "data": [one]}
        self.whole(200, json.dumps(listed).encode())

    def do_POST(self) -> None:
        raw = self.rfile.read(int(self.headers.get("content-length", 0)))
        if self.path == "/go":
            self.going.release()
            self.whole(200, b"{}")
            return
        if self.path == "/reset":
            self.seen.clear()
            # One who left before it had to wait has not taken what was meant for it.
            Handler.going = threading.Semaphore(0)
            self.whole(200, b"{}")
            return
        number = self.note(raw)
        body = json.loads(raw)
        if body["model"] in ERRORS:
            status, text = ERRORS[body["model"]]
            more = {"retry-after": "7", "x-request-id": "req_7", "set-cookie": "a=b"}
            self.whole(status, text, more)
        elif "embeddings" in self.path:
            vector = {"object": "embedding", "index": 0, "embedding": [0.5]}
            usage = {"usage": {"prompt_tokens": 30, "total_tokens": 30}}
            told = usage if body["model"] == "counts" else {}
            self.whole(200, json.dumps({"object": "list", "data": [vector], **told}).encode())
        elif "chat" in self.path:
            self.chat_of(body, number)
        else:
            self.response_of(body, number)

    def note(self, raw: bytes) -> int:
        headers = {name.lower(): value for name, value in self.headers.items()}
        call = {"path": self.path, "headers": headers, "raw": raw.decode()}
        with self.lock:
            self.seen.append({**call, "peer": self.client_address[1]})
            return len(self.seen)

    def whole(self, status: int, body: bytes, more: dict[str, str] | None = None) -> None:
        self.send_response(status)
        for name, value in {"content-type": "application/json", **(more or {})}.items():
            self.send_header(name, value)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def chat_of(self, body: dict[str, Any], number: int) -> None:
        id = "chatcmpl-same" if body["model"] == "same-id" else f"chatcmpl-{number}"
        head = {"id": id, "object": "chat.completion", "created": 1, "model": body["model"]}
        message: dict[str, Any] = {"role": "assistant", "content": f"You said: {said(body)}"}
        if body["model"] == "repeats":
            message["content"] = said(body)
        finish = "stop"
        usage = {"prompt_tokens": 70, "completion_tokens": 30, "total_tokens": 100}
        usage = body.get("tells", usage)
        counts = body["model"] == "counts"
        if body["model"] == "tools":
            call = {"name": "look", "arguments": "{}"}
            calls = [{"id": "c1", "type": "function", "function": call}]
            message = {"role": "assistant", "content": None, "tool_calls": calls}
            finish = "tool_calls"
        if not body.get("stream"):
            first = {"index": 0, "message": message, "finish_reason": finish}
            second = {"index": 1, "message": {**message, "content": "Or not."}, **{}}
            choices = [first, {**second, "finish_reason": "stop"}][: body.get("n", 1)]
            told = {"usage": usage} if counts else {}
            self.whole(200, json.dumps({**head, "choices": choices, **told}).encode())
            return
        pieces = message["content"].split(" ")
        deltas = [{"content": p if i == 0 else " " + p} for i, p in enumerate(pieces)]
        events = [
            {**head, "object": "chat.completion.chunk",
             "choices": [{"index": 0, "delta": delta, "finish_reason": None}]}
            for delta in [{"role": "assistant", "content": ""}, *deltas]
        ]  # fmt: skip
        last = {"index": 0, "delta": {}, "finish_reason": finish}
        events.append({**head, "object": "chat.completion.chunk", "choices": [last]})
        if body["model"] == "no-usage":
            events.append({**head, "object": "chat.completion.chunk", "choices": []})
        if counts:
            last_of_all = {**head, "object": "chat.completion.chunk", "choices": []}
            events.append({**last_of_all, "usage": usage})
        texts = [f"data: {json.dumps(event)}\n\n" for event in events]
        self.stream(body["model"], [*texts, "data: [DONE]\n\n"])

    def response_of(self, body: dict[str, Any], number: int) -> None:
        text = f"You said: {said(body)}"
        part = {"type": "output_text", "text": text, "annotations": []}
        item = {"type": "message", "id": "m1", "role": "assistant", "status": "completed"}
        answer: dict[str, Any] = {
            "id": f"resp_{number}", "object": "response", "created_at": 1, "status": "completed",
            "model": body["model"], "output": [{**item, "content": [part]}], "tools": [],
            "parallel_tool_calls": True, "tool_choice": "auto",
        }  # fmt: skip
        if "counts" in body["model"]:
            details: dict[str, Any] = {"input_tokens_details": {}, "output_tokens_details": {}}
            answer["usage"] = {"input_tokens": 70, "output_tokens": 30, "total_tokens": 100}
            answer["usage"] |= details
        if not body.get("stream"):
            self.whole(200, json.dumps(answer).encode())
            return
        where = {"item_id": "m1", "output_index": 0, "content_index": 0}
        begun = {**answer, "status": "in_progress", "output": [], "usage": None}
        events: list[dict[str, Any]] = [{"type": "response.created", "response": begun}]
        events += [
            {"type": "response.output_text.delta", "delta": p, "logprobs": [], **where}
            for p in text.split(" ")
        ]
        events.append({"type": "response.completed", "response": answer})
        numbered = [{**event, "sequence_number": i} for i, event in enumerate(events)]
        self.stream(
            body["model"],
            [f"event: {e['type']}\ndata: {json.dumps(e)}\n\n" for e in numbered],
        )

    def stream(self, model: str, texts: list[str]) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream; charset=utf-8")
        self.send_header("transfer-encoding", "chunked")
        self.end_headers()
        going = self.going
        for number, text in enumerate(texts):
            if "waits" in model and number == 3:
                going.acquire()
            if model == "dies" and number == 3:
                going.acquire()
                self.close_connection = True
                return
            # In pieces that split lines and letters.
            raw = text.encode()
            for piece in (raw[:9], raw[9:]):
                self.wfile.write(b"%x\r\n%s\r\n" % (len(piece), piece))
                self.wfile.flush()
        self.wfile.write(b"0\r\n\r\n")


def said(body: dict[str, Any]) -> str:
    given = body["messages"] if "messages" in body else body["input"]
    if isinstance(given, str):
        return given
    content = [each["content"] for each in given if each.get("role") == "user"][-1]
    return content if isinstance(content, str) else str(content[0]["text"])


def serve() -> None:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    print(server.server_address[1], flush=True)
    sys.stdin.read()


if __name__ == "__main__":
    serve()
