"""Ports for services that are started again on the same one."""

import random
import socket

#: Below what Linux, macOS and Windows give to whoever asks for any port: between two starts it
#: goes to nobody, neither to another test nor to the other end of a connection.
_FIRST, _LAST = 20_000, 32_000


def lasting_port() -> int:
    """One that is free, and stays so."""
    for _ in range(100):
        port = random.SystemRandom().randint(_FIRST, _LAST)
        try:
            socket.create_server(("127.0.0.1", port)).close()
        except OSError:
            continue
        return port
    raise AssertionError("no port is free")
