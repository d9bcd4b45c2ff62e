"""Calls that the service makes by itself: webhooks, and documents fetched by their URL.

An address that a user gives may lead back into the network that the service stands in. So the name
is resolved once, every address it has must be a public one by the list below (odd spellings such
as 127.1 or 0x7f.1 resolve to what they mean), and the connection goes to that very address: a name
that changes its mind in between (DNS rebinding) gains nothing. Each redirect goes the same way.
Hosts that the operator names in `outgoing.hosts` may be called wherever they are.

A call has so many seconds for all of it and so many bytes of answer; nothing is unpacked.
"""

from __future__ import annotations

import queue
import socket
import ssl
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from http.client import HTTPConnection, HTTPException, HTTPResponse
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
from typing import Any
from urllib.parse import SplitResult, urljoin, urlsplit

from holdfast.config import Config
from holdfast.errors import InvalidInput

_MOST_REDIRECTS = 3
_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_MOST_URL_CHARS = 2048
_PORTS = {"http": 80, "https": 443}

#: Not of the public internet, or a door into somebody's machine room.
_CLOSED_V4 = tuple(
    ip_network(each)
    for each in (
        "0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16",
        "172.16.0.0/12", "192.0.0.0/24", "192.0.2.0/24", "192.31.196.0/24", "192.52.193.0/24",
        "192.88.99.0/24", "192.168.0.0/16", "192.175.48.0/24", "198.18.0.0/15",
        "198.51.100.0/24", "203.0.113.0/24", "224.0.0.0/4", "240.0.0.0/4",
        # What a virtual machine of one cloud asks for its own settings.
        "168.63.129.16/32",
    )
)  # fmt: skip
#: Of IPv6 only this is public ...
_OPEN_V6 = ip_network("2000::/3")
#: ... but for tunnels, which carry an IPv4 address of anybody's choice, and examples.
_CLOSED_V6 = tuple(
    ip_network(each)
    for each in ("2001::/23", "2001:db8::/32", "2002::/16", "2620:4f:8000::/48", "3fff::/20")
)
#: ISATAP: an IPv4 address in the lower half of any IPv6 address.
_ISATAP = (0x00005EFE, 0x02005EFE)

_Found = tuple[int, tuple[Any, ...]]


class AddressRefused(InvalidInput):
    """This address may not be called."""


class CallFailed(InvalidInput):
    """The call got no answer that can be used."""


@dataclass(frozen=True, slots=True)
class FetchedResponse:
    """What another server said."""

    status: int
    #: By their names in lower case.
    headers: Mapping[str, str]
    body: bytes
    #: Where it came from in the end.
    url: str


def request(
    method: str,
    url: str,
    *,
    body: bytes | None = None,
    headers: Mapping[str, str] | None = None,
    config: Config,
) -> FetchedResponse:
    """Call a public address; redirects are followed for GET alone, and each is looked at anew."""
    deadline = time.monotonic() + config.outgoing.timeout_seconds
    for _ in range(_MOST_REDIRECTS + 1):
        parts = _check_url(url)
        found = _addresses(parts, config, deadline)
        answer = _call(method, parts, found, body, dict(headers or {}), config, deadline)
        onward = answer.headers.get("location")
        if method != "GET" or answer.status not in _REDIRECTS or not onward:
            return answer
        url = _next(url, onward)
    raise CallFailed(f"more than {_MOST_REDIRECTS} redirects", field="url")


def check_literal(url: str, config: Config) -> None:
    """Refuse a URL whose host is a number that is not public: it can never be called.

    What a name leads to is looked at with every call.
    """
    host = _ascii(_check_url(url).hostname or "")
    number = _number(host)
    if number is None or host in _allowed_hosts(config) or is_public(number):
        return
    raise AddressRefused(
        "url is not a public address: name its host in outgoing.hosts", field="url"
    )


def _number(host: str) -> str | None:
    """The IP address that a host is, also in odd spellings; None for a name."""
    if ":" in host:
        return host
    if host == "localhost" or host.endswith(".localhost"):
        return "127.0.0.1"
    try:
        return socket.inet_ntoa(socket.inet_aton(host))
    except OSError:
        return None


def is_public(address: str) -> bool:
    """Whether an IP address is one of the public internet."""
    try:
        ip = ip_address(address.partition("%")[0])
    except ValueError:
        return False
    if not ip.is_global or ip.is_multicast or "%" in address:
        return False
    return _is_public_v4(ip) if isinstance(ip, IPv4Address) else _is_public_v6(ip)


def _is_public_v4(ip: IPv4Address) -> bool:
    return not any(ip in network for network in _CLOSED_V4)


def _is_public_v6(ip: IPv6Address) -> bool:
    if ip not in _OPEN_V6 or any(ip in network for network in _CLOSED_V6):
        return False
    return (int(ip) >> 32) & 0xFFFFFFFF not in _ISATAP


def _next(url: str, onward: str) -> str:
    try:
        joined = urljoin(url, onward)
    except ValueError:
        raise AddressRefused("the redirect leads nowhere", field="url") from None
    if url.startswith("https:") and not joined.startswith("https:"):
        raise AddressRefused("the redirect leads from https to http", field="url")
    return joined


def _check_url(url: str) -> SplitResult:
    """The parts of a URL that may be asked for at all."""
    if len(url) > _MOST_URL_CHARS:
        raise AddressRefused(f"url is over {_MOST_URL_CHARS} characters", field="url")
    if not url.isprintable() or set(url) & set(' \\<>"'):
        raise AddressRefused("url holds a character that no URL holds", field="url")
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname, parts.port
    except ValueError:
        raise AddressRefused("url is not a URL", field="url") from None
    if parts.scheme not in _PORTS or not host:
        raise AddressRefused("url must be http:// or https:// with a host", field="url")
    if "@" in parts.netloc:
        raise AddressRefused("url must not hold a name or a password", field="url")
    return parts


def _addresses(parts: SplitResult, config: Config, deadline: float) -> list[_Found]:
    """Where to connect to: looked up once, all of it public or the host named by the operator."""
    host = _ascii(parts.hostname or "")
    port = parts.port or _PORTS[parts.scheme]
    found = _resolve(host, port, deadline)
    if host not in _allowed_hosts(config) and not all(
        is_public(str(where[0])) for _, where in found
    ):
        raise AddressRefused(
            "url leads to an address that is not public; see outgoing.hosts", field="url"
        )
    return found


def _allowed_hosts(config: Config) -> set[str]:
    return {each.strip().lower() for each in config.outgoing.hosts.split(",")}


def _ascii(host: str) -> str:
    try:
        return host.encode("idna").decode("ascii").lower().rstrip(".")
    except UnicodeError:
        raise AddressRefused("url has a host that is no name", field="url") from None


def _resolve(host: str, port: int, deadline: float) -> list[_Found]:
    """All addresses of a host. The resolver knows no deadline, so it is left behind at ours."""
    told: queue.SimpleQueue[list[_Found] | None] = queue.SimpleQueue()

    def look() -> None:
        try:
            rows = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
            told.put([(family, where) for family, _, _, _, where in rows])
        except (OSError, UnicodeError, OverflowError):
            told.put(None)

    threading.Thread(target=look, name="holdfast-resolver", daemon=True).start()
    try:
        found = told.get(timeout=max(0.0, deadline - time.monotonic()))
    except queue.Empty:
        found = None
    if not found:
        raise CallFailed("the host of url cannot be found", field="url")
    return found


def _call(  # noqa: PLR0917 (the parts of a call)
    method: str,
    parts: SplitResult,
    found: list[_Found],
    body: bytes | None,
    headers: dict[str, str],
    config: Config,
    deadline: float,
) -> FetchedResponse:
    """One request to one of the addresses that were found."""
    try:
        with (
            closing(_connect(found, deadline)) as bare,
            closing(_with_tls(bare, parts)) as connected,
            _until(deadline, connected),
        ):
            if isinstance(connected, ssl.SSLSocket):
                connected.do_handshake()
            answer = _request(connected, method, parts, body, headers, config)
        if time.monotonic() >= deadline:  # What was cut off looks like a short answer.
            raise TimeoutError
        return answer
    except (OSError, HTTPException, ValueError) as error:
        if isinstance(error, InvalidInput):
            raise
        words = "in time" if time.monotonic() >= deadline else "that can be used"
        raise CallFailed(f"url gave no answer {words}", field="url") from error


def _connect(found: list[_Found], deadline: float) -> socket.socket:
    failure: OSError = TimeoutError()
    for family, where in found:
        seconds = deadline - time.monotonic()
        if seconds <= 0:
            break
        bare = socket.socket(family, socket.SOCK_STREAM)
        bare.settimeout(seconds)
        try:
            bare.connect(where)
        except OSError as error:
            bare.close()
            failure = error
        else:
            return bare
    raise failure


def _with_tls(bare: socket.socket, parts: SplitResult) -> socket.socket:
    if parts.scheme != "https":
        return bare
    # The certificate must be of the name, though we called an address.
    return ssl.create_default_context().wrap_socket(
        bare, server_hostname=_ascii(parts.hostname or ""), do_handshake_on_connect=False
    )


@contextmanager
def _until(deadline: float, connected: socket.socket) -> Iterator[None]:
    """Hang up at the deadline: a server that drips byte by byte must not hold us either."""
    end = threading.Timer(max(0.0, deadline - time.monotonic()), _shut, [connected])
    end.daemon = True
    end.start()
    try:
        yield
    finally:
        end.cancel()


def _request(  # noqa: PLR0917 (the parts of a call)
    connected: socket.socket,
    method: str,
    parts: SplitResult,
    body: bytes | None,
    headers: dict[str, str],
    config: Config,
) -> FetchedResponse:
    connection = HTTPConnection(_ascii(parts.hostname or ""), parts.port)
    connection.sock = connected
    connection.auto_open = 0  # It would look the name up again.
    netloc = parts.netloc.encode("idna").decode("ascii")
    path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    sent = {"User-Agent": "holdfast", "Accept-Encoding": "identity", "Connection": "close"}
    connection.request(method, _quote_path(path), body, {**headers, **sent, "Host": netloc})
    with closing(connection.getresponse()) as response:
        told = {name.lower(): value for name, value in response.getheaders()}
        if told.get("content-encoding", "identity").lower() not in ("", "identity"):
            raise CallFailed("url gave a packed answer", field="url")
        data = _read_body(response, config.outgoing.most_bytes)
        return FetchedResponse(response.status, told, data, parts._replace(fragment="").geturl())


def _quote_path(path: str) -> str:
    """Letters outside ASCII as URLs write them; everything else as it is."""
    return "".join(
        each if each.isascii() else "".join(f"%{byte:02X}" for byte in each.encode())
        for each in path
    )


def _read_body(response: HTTPResponse, most: int) -> bytes:
    data = response.read(most + 1)
    if len(data) > most:
        raise CallFailed(f"url gave an answer of more than {most} bytes", field="url")
    if response.length:
        raise CallFailed("url gave an answer that breaks off", field="url")
    return data


def _shut(connected: socket.socket) -> None:
    with suppress(OSError):
        # The plain one: that of TLS would let go of the keys while somebody reads.
        socket.socket.shutdown(connected, socket.SHUT_RDWR)
