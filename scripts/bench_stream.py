"""What clients cost that listen to /v1/stream and hear nothing: memory and processor time.

Serves a store in a process of its own, measures it, lets the clients join, waits, and measures
again. The goal is 256 of them under 50 MB.

Usage: python scripts/bench_stream.py [--clients 256] [--users 256] [--require-all]
"""

from __future__ import annotations

import argparse
import re
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import holdfast
from holdfast.service.keys import create_key
from holdfast.testing import HashEmbedder

MIB = 1024 * 1024
MOST_MIB = 50.0
SERVE = [sys.executable, "-m", "holdfast", "serve", "--port", "0", "--no-worker"]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--clients", type=int, default=256)
    parser.add_argument("--users", type=int, default=256)
    parser.add_argument("--seconds", type=float, default=5.0)
    parser.add_argument("--require-all", action="store_true", help="fail over the goal")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        grown = measured(Path(folder) / "m.db", options)
    is_fine = grown < MOST_MIB
    print(f"goal: under {MOST_MIB:.0f} MB: {'met' if is_fine else 'MISSED'}")
    return int(options.require_all and not is_fine)


def measured(db: Path, options: argparse.Namespace) -> float:
    """How much the service grows, in MB."""
    with holdfast.open(db, embedder=HashEmbedder(), worker=False) as memory:
        key = create_key(memory.store, role="admin")[1]
        for number in range(options.users):
            memory.remember("Tea, please.", user=f"user-{number}")
    with subprocess.Popen(
        [*SERVE, "--db", str(db), "--log-level", "warning"], stdout=subprocess.PIPE, text=True
    ) as process:
        try:
            assert process.stdout is not None
            words = process.stdout.readline()
            match = re.search(r":(\d+)$", words.strip())
            assert match, words
            return listened(process.pid, int(match[1]), key, options)
        finally:
            process.terminate()


def listened(pid: int, port: int, key: str, options: argparse.Namespace) -> float:
    """The same, for a service that runs."""
    asked(port, key)
    settle(pid)
    before = resident(pid)
    clients = [joined(port, key, n % options.users) for n in range(options.clients)]
    time.sleep(1.0)
    cpu = processor(pid)
    time.sleep(options.seconds)
    share = (processor(pid) - cpu) / options.seconds
    grown = (resident(pid) - before) / MIB
    for client in clients:
        client.close()
    print(f"{options.clients} clients that listen to {options.users} users:")
    print(f"  {before / MIB:.1f} MB before, {grown:+.1f} MB with them")
    print(f"  {grown * 1024 / options.clients:.0f} KB each, {share:.1%} of one core while idle")
    return grown


def asked(port: int, key: str) -> None:
    """A question and a stream, so that what is loaded late is there before."""
    joined(port, key, 0).close()


def settle(pid: int) -> None:
    """Wait until the model is loaded: the size stands still."""
    last, since = 0, time.monotonic()
    while time.monotonic() - since < 2.0:
        now = resident(pid)
        if abs(now - last) > MIB:
            last, since = now, time.monotonic()
        time.sleep(0.1)


def joined(port: int, key: str, user: int) -> socket.socket:
    """A client that listens."""
    client = socket.create_connection(("127.0.0.1", port))
    lines = [
        f"GET /v1/stream?user_id=user-{user} HTTP/1.1",
        f"host: 127.0.0.1:{port}",
        f"authorization: Bearer {key}",
    ]
    client.sendall("\r\n".join([*lines, "", ""]).encode())
    head = b""
    while b"listening" not in head:
        part = client.recv(4096)
        assert part, head
        head += part
    assert head.startswith(b"HTTP/1.1 200"), head
    return client


def resident(pid: int) -> int:
    """Bytes of memory in use."""
    match = re.search(r"VmRSS:\s+(\d+) kB", Path(f"/proc/{pid}/status").read_text())
    assert match
    return int(match[1]) * 1024


def processor(pid: int) -> float:
    """Seconds of processor time."""
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / 100


if __name__ == "__main__":
    sys.exit(main())
