"""An embedding endpoint as a process of its own: one that answers, or one that hangs.

It prints its port, and then a line for each call that came. It ends when its standard input does.
"""

import json
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

_DIM = 8


@dataclass
class Endpoint:
    """A server process."""

    port: int
    process: subprocess.Popen[str]

    @property
    def settings(self) -> dict[str, object]:
        """Of a memory that asks it."""
        return {
            "embedding.provider": "remote",
            "embedding.url": f"http://127.0.0.1:{self.port}/v1",
            "embedding.model": "far",
            "embedding.timeoutSeconds": 120,
        }

    def await_calls(self, count: int) -> None:
        """Wait until so many more calls came."""
        assert self.process.stdout is not None
        for _ in range(count):
            assert self.process.stdout.readline(), "the endpoint has ended"

    def end(self) -> None:
        """Hang up on everybody."""
        self.process.kill()
        self.process.wait()


@contextmanager
def endpoint(kind: str) -> Iterator[Endpoint]:
    """A server that `answers` or `hangs`, as long as the block."""
    pipe = subprocess.PIPE
    with subprocess.Popen(
        [sys.executable, __file__, kind], stdin=pipe, stdout=pipe, text=True
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            yield Endpoint(int(process.stdout.readline()), process)
        finally:
            process.stdin.close()
            process.kill()


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    never = threading.Event()

    def log_message(self, *_: object) -> None:
        pass

    def do_POST(self) -> None:
        texts = json.loads(self.rfile.read(int(self.headers["content-length"])))["input"]
        print("called", flush=True)
        if sys.argv[1] == "hangs":
            self.never.wait()
        rows = [[1.0 + len(text) % 7, *[1.0] * (_DIM - 1)] for text in texts]
        data = [{"index": index, "embedding": row} for index, row in enumerate(rows)]
        body = json.dumps({"data": data}).encode()
        self.send_response(200)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


class Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 1024


if __name__ == "__main__":
    server = Server(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    print(server.server_address[1], flush=True)
    sys.stdin.read()
