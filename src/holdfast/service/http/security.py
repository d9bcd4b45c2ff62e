"""What makes a service of routes a closed one: the guard, and the routes of keys and audit."""

from __future__ import annotations

from collections.abc import Callable, Collection
from datetime import datetime
from ipaddress import ip_address

from fastapi import FastAPI

from holdfast.errors import ConfigError
from holdfast.memory.memory import Memory
from holdfast.service.http import audit_routes, fetching, keys_routes, signin
from holdfast.service.http.guard import Guard
from holdfast.service.http.keyring import Keyring
from holdfast.service.http.limits import Backlog
from holdfast.service.http.llm_quota import Allowance
from holdfast.types import ApiKey


def secure(
    app: FastAPI,
    memory: Memory,
    *,
    hosts: Collection[str],
    clock: Callable[[], datetime],
    no_auth: bool = False,
) -> None:
    """Put the guard in front of an application, and give it the routes that go with it."""
    app.state.clock = clock
    app.state.keyring = Keyring(memory.store, clock)
    app.state.backlog = Backlog(memory.store, memory.config.service.queue_jobs)
    app.state.allowance = Allowance(memory, clock)
    for module in (signin, keys_routes, audit_routes, fetching):
        app.include_router(module.routes)
    operator = ApiKey("no-auth", "default", None, "admin", clock()) if no_auth else None
    app.state.operator = operator
    app.add_middleware(
        Guard,
        memory=memory,
        hosts=hosts,
        clock=clock,
        keyring=app.state.keyring,
        backlog=app.state.backlog,
        allowance=app.state.allowance,
        operator=operator,
    )


def check_no_auth(host: str) -> None:
    """Refuse to serve without keys where others than this machine could ask."""
    if not _is_loopback(host):
        raise ConfigError(
            f"--no-auth lets everybody who can reach {host} read and change every memory: it is"
            " only for the loopback (127.0.0.1); leave it out and use keys"
        )


def _is_loopback(host: str) -> bool:
    if host.lower() == "localhost":
        return True
    try:
        return ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False
