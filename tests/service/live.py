"""A service on a real socket in a thread of this process, and raw clients for it."""

from __future__ import annotations

import http.client
import json
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import uvicorn
from fastapi import FastAPI

from holdfast.service.http.guard import COOKIE
from holdfast.service.http.serving import impatient


@contextmanager
def live(app: FastAPI, *, send_buffer: int = 0, seconds: float = 60.0) -> Iterator[int]:
    """Serve an application by our protocol, which waits so long for a request; its port."""
    with socket.create_server(("127.0.0.1", 0), backlog=1024) as listener:
        if send_buffer:  # Accepted connections inherit it.
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, send_buffer)
        listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        port = int(listener.getsockname()[1])
        config = uvicorn.Config(
            app, http=impatient(seconds), ws="none", log_config=None, access_log=False,
            server_header=False, timeout_graceful_shutdown=5, timeout_keep_alive=75,
        )  # fmt: skip
        server = uvicorn.Server(config)
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
        thread.start()
        wait_until(lambda: server.started)
        try:
            yield port
        finally:
            for end in app.state.on_stop:  # As serving.py does with a signal.
                server.servers[0].get_loop().call_soon_threadsafe(end)
            server.should_exit = True
            thread.join(20)
            assert not thread.is_alive(), "the server does not stop"


def wait_until(is_so: Callable[[], object], seconds: float = 20.0) -> None:
    """Wait for a condition."""
    deadline = time.monotonic() + seconds
    while not is_so():
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.01)


class Api:
    """Calls a service with one key."""

    def __init__(self, port: int, key: str) -> None:
        self.port = port
        self.headers = {"authorization": f"Bearer {key}", "content-type": "application/json"}

    def __call__(self, method: str, path: str, body: Any = None) -> tuple[int, Any]:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        try:
            connection.request(
                method, path, None if body is None else json.dumps(body), self.headers
            )
            answer = connection.getresponse()
            text = answer.read()
            is_json = answer.headers.get("content-type", "").startswith("application/json")
            return answer.status, json.loads(text) if is_json else text.decode()
        finally:
            connection.close()

    def sign_in(self, key: str) -> str:
        """Be a page that signed in from now on; its cookie."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        with closing(connection):
            body = json.dumps({"key": key})
            connection.request("POST", "/v1/sign-in", body, {"content-type": "application/json"})
            answer = connection.getresponse()
            assert answer.status == 204, answer.read()
            cookie = str(answer.headers["set-cookie"]).partition(";")[0]
        assert cookie.startswith(COOKIE)
        self.headers = {"cookie": cookie, "x-holdfast-request": "1"} | {
            name: value for name, value in self.headers.items() if name != "authorization"
        }
        return cookie

    def tell(self, text: str, user: str = "ann") -> str:
        """Remember a text; its id."""
        body = {"user_id": user, "conversation": text}
        status, answer = self("POST", "/v1/memories/ingest", body)
        assert status == 200, answer
        return str(answer["event_ids"][0])


class Ear:
    """Listens to /v1/stream."""

    def __init__(
        self, port: int, key: str, query: str = "", last: str = "", cookie: str = ""
    ) -> None:
        self._connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
        headers = {"cookie": cookie} if cookie else {"authorization": f"Bearer {key}"}
        if last:
            headers["last-event-id"] = last
        self._connection.request("GET", f"/v1/stream{query}", headers=headers)
        self.answer = self._connection.getresponse()
        self.status = self.answer.status
        self.last = last

    def __enter__(self) -> Ear:
        return self

    def __exit__(self, *_: object) -> None:
        self.answer.close()
        self._connection.close()

    def frame(self) -> dict[str, str]:
        """The next frame: its fields; {} at the end of the stream."""
        fields: dict[str, str] = {}
        deadline = time.monotonic() + 30
        while line := self.answer.readline():
            text = line.decode().rstrip("\n")
            if not text and fields:
                return fields
            assert time.monotonic() < deadline, "nothing happens"
            if text:
                name, _, value = text.partition(":")
                fields[name or "comment"] = value.strip()
        return {}

    def event(self) -> dict[str, Any]:
        """The next event, without heartbeats; {} at the end of the stream."""
        while (frame := self.frame()) and "data" not in frame:
            pass
        self.last = frame.get("id", self.last)
        return {"event": frame["event"], **json.loads(frame["data"])} if frame else {}

    def events(self, count: int) -> list[dict[str, Any]]:
        """So many events."""
        return [self.event() for _ in range(count)]


class Receiver:
    """An HTTP server that notes what is posted to it, and answers as it is told."""

    def __init__(self) -> None:
        self.got: list[tuple[dict[str, str], bytes]] = []
        self.status = 200
        self.pause = threading.Event()
        self.pause.set()
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["content-length"]))
                outer.pause.wait(20)
                headers = {name.lower(): value for name, value in self.headers.items()}
                outer.got.append((headers, body))
                self.send_response(outer.status)
                self.send_header("content-length", "0")
                self.end_headers()

            def log_message(self, format: str, *args: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}/hook"
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)

    def __enter__(self) -> Receiver:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.pause.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def events(self) -> list[dict[str, Any]]:
        """All events that came, in order."""
        return [each for _, body in list(self.got) for each in json.loads(body)["events"]]
