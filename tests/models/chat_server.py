"""An OpenAI-compatible server process that misbehaves on request: the address says how.

`http://127.0.0.1:PORT/NAME/v1/chat/completions` answers as the function NAME below does. It prints
its port when it listens; `GET /asked` tells all requests so far. Standard library alone.
"""

import json
import sys
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

ASKED: list[dict[str, Any]] = []


class Handler(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        name = self.path.split("/")[1]
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        key = self.headers.get("Authorization")
        ASKED.append({"name": name, "path": self.path, "key": key, "body": body})
        globals()[name](self, body)

    def do_GET(self) -> None:
        self.reply(200, ASKED)

    def reply(self, status: int, body: object, **headers: str) -> None:
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        self.send_response(status)
        for header, value in headers.items():
            self.send_header(header.replace("_", "-"), value)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def fault(self, status: int, code: str, message: str = "", **headers: str) -> None:
        self.reply(status, {"error": {"code": code, "message": message}}, **headers)

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


def said(text: object, stop: str = "stop", **more: object) -> dict[str, object]:
    return {"choices": [{"message": {"content": text}, "finish_reason": stop}], **more}


USAGE = {"prompt_tokens": 11, "completion_tokens": 3}


def fine(handler: Handler, body: dict[str, Any]) -> None:
    handler.reply(200, said('{"facts": []}', usage=USAGE))


def uncounted(handler: Handler, body: dict[str, Any]) -> None:
    handler.reply(200, said("hello world"))


def miscounted(handler: Handler, body: dict[str, Any]) -> None:
    handler.reply(200, said("hello world", usage={"prompt_tokens": -5, "completion_tokens": "3"}))


def cut(handler: Handler, body: dict[str, Any]) -> None:
    handler.reply(200, said('{"facts": [{"te', "length", usage=USAGE))


def parts(handler: Handler, body: dict[str, Any]) -> None:
    handler.reply(200, said([{"type": "text", "text": "a"}, 7, {"type": "text", "text": "b"}]))


def silent(handler: Handler, body: dict[str, Any]) -> None:
    handler.reply(200, said(None, "tool_calls"))


def filtered(handler: Handler, body: dict[str, Any]) -> None:
    handler.reply(200, said("half a sen", "content_filter"))


def unauthorised(handler: Handler, body: dict[str, Any]) -> None:
    handler.fault(401, "invalid_api_key", f"bad key {handler.headers['Authorization']}")


def unpaid(handler: Handler, body: dict[str, Any]) -> None:
    handler.reply(402, b"pay first")


def spent(handler: Handler, body: dict[str, Any]) -> None:
    handler.fault(429, "insufficient_quota")


def busy(handler: Handler, body: dict[str, Any]) -> None:
    handler.fault(429, "rate_limit_exceeded", Retry_After="7")


def broken(handler: Handler, body: dict[str, Any]) -> None:
    handler.reply(500, json.dumps(body).encode())  # Repeats the prompt, as some do.


def overloaded(handler: Handler, body: dict[str, Any]) -> None:
    handler.fault(503, "overloaded")


def wrong(handler: Handler, body: dict[str, Any]) -> None:
    handler.fault(400, "context_length_exceeded", f"too long: {body['messages'][1]['content']}")


def missing(handler: Handler, body: dict[str, Any]) -> None:
    handler.fault(404, "model_not_found")


def moved(handler: Handler, body: dict[str, Any]) -> None:
    handler.reply(307, b"", Location=handler.path.replace("moved", "fine"))


def relayed(handler: Handler, body: dict[str, Any]) -> None:
    handler.reply(200, {"error": {"code": 429, "message": "upstream is busy"}})


def no_json(handler: Handler, body: dict[str, Any]) -> None:
    handler.reply(200, b"<html>" + body["messages"][1]["content"].encode())


def no_object(handler: Handler, body: dict[str, Any]) -> None:
    handler.reply(200, [1, 2])


def no_choices(handler: Handler, body: dict[str, Any]) -> None:
    handler.reply(200, {"choices": []})


def deep(handler: Handler, body: dict[str, Any]) -> None:
    handler.reply(200, b"[" * 200_000)


def huge(handler: Handler, body: dict[str, Any]) -> None:
    handler.reply(200, said("x" * 10_000_000))


def truncated(handler: Handler, body: dict[str, Any]) -> None:
    handler.send_response(200)
    handler.send_header("Content-Length", "1000")
    handler.end_headers()
    handler.wfile.write(b'{"choices": [')


def hung_up(handler: Handler, body: dict[str, Any]) -> None:
    handler.connection.close()


def slow(handler: Handler, body: dict[str, Any]) -> None:
    time.sleep(2)


def dripping(handler: Handler, body: dict[str, Any]) -> None:
    handler.send_response(200)
    handler.send_header("Content-Length", "100000")
    handler.end_headers()
    for _ in range(150):
        handler.wfile.write(b" ")
        time.sleep(0.02)


def no_schema(handler: Handler, body: dict[str, Any]) -> None:
    if body.get("response_format", {}).get("type") == "json_schema":
        handler.fault(400, "invalid", "response_format.type must be json_object or text")
    else:
        fine(handler, body)


def no_format(handler: Handler, body: dict[str, Any]) -> None:
    if "response_format" in body:
        handler.fault(422, "invalid", "response_format: extra fields not permitted")
    else:
        fine(handler, body)


def newer(handler: Handler, body: dict[str, Any]) -> None:
    if "max_tokens" in body:
        handler.fault(400, "unsupported_parameter", "use max_completion_tokens instead")
    elif "temperature" in body:
        handler.fault(400, "unsupported_value", "temperature does not support 0")
    else:
        fine(handler, body)


if __name__ == "__main__":
    # A client that left is no news.
    ThreadingHTTPServer.handle_error = lambda *_: None  # type: ignore[method-assign,assignment]
    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        print(server.server_port, flush=True)
        server.daemon_threads = True
        sys.exit(server.serve_forever(poll_interval=0.05))
