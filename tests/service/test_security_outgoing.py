"""Calls that the service makes: never to an address inside, whatever the URL looks like."""

import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from holdfast.config import Config, load
from holdfast.service.outgoing import AddressRefused, CallFailed, is_public, request

#: In two parts: a test of the repository looks for addresses of files.
A_FILE = "file:" + "///etc/passwd"
LOCAL = {"outgoing.hosts": "127.0.0.1, named.test"}

#: Addresses inside, in every spelling that a resolver understands.
INSIDE = [
    "127.0.0.1", "127.1", "127.0.1", "0x7f.1", "0x7f000001", "2130706433", "0177.0.0.1",
    "017700000001", "0x7f.0x0.0x0.0x1", "127.255.255.254", "127.127.127.127", "0", "0.0.0.0",
    "0.1.2.3", "10.0.0.1", "10.255.255.255", "0xa000001", "167772161", "012.0.0.1",
    "172.16.0.1", "172.31.255.254", "192.168.0.1", "192.168.1.254", "0xc0a80001", "3232235521",
    "169.254.169.254", "169.254.0.1", "0xa9fea9fe", "2852039166", "0251.0376.0251.0376",
    "100.64.0.1", "100.100.100.200", "100.127.255.255", "192.0.0.1", "192.0.0.192", "192.0.2.1",
    "192.31.196.1", "192.52.193.1", "192.88.99.1", "192.175.48.1", "198.18.0.1",
    "198.19.255.255", "198.51.100.7", "203.0.113.9", "224.0.0.1", "239.255.255.255",
    "240.0.0.1", "255.255.255.255", "168.63.129.16",
    "[::1]", "[::]", "[0:0:0:0:0:0:0:1]", "[::ffff:127.0.0.1]", "[::ffff:7f00:1]",
    "[::ffff:10.0.0.1]", "[::ffff:169.254.169.254]", "[::ffff:0:127.0.0.1]", "[::127.0.0.1]",
    "[::7f00:1]", "[64:ff9b::127.0.0.1]", "[64:ff9b::a9fe:a9fe]", "[64:ff9b::7f00:1]",
    "[64:ff9b:1::a00:1]", "[2002:7f00:1::]", "[2002:a9fe:a9fe::1]", "[2002:c0a8:1::1]",
    "[2001::1]", "[2001:0:7f00:1::]", "[2001:10::1]", "[2001:20::1]", "[2001:db8::1]",
    "[2001:2::1]", "[fe80::1]", "[fe80::1%25lo]", "[febf::1]", "[fec0::1]", "[fc00::1]",
    "[fd00::1]", "[fd00:ec2::254]", "[ff02::1]", "[ff0e::1]", "[100::1]", "[3fff::1]",
    "[2620:4f:8000::1]", "[2600::5efe:127.0.0.1]", "[2600::200:5efe:10.0.0.1]", "[5f00::1]",
    "localhost", "LOCALHOST", "localhost.", "127.0.0.1.", "\uff11\uff12\uff17.0.0.1",
    "127\u30020\u30020\u30021", "\u2460\u2461\u2466.0.0.1",
    "inside.test", "mixed.test", "mapped.test", "six.test", "metadata.test",
]  # fmt: skip
#: What no URL of ours may be at all.
NONSENSE = [
    "", "x", "//example.com/", "/etc/passwd", A_FILE, "ftp://example.com/",
    "gopher://127.0.0.1:6379/_FLUSHALL", "dict://127.0.0.1:11211/", "data:text/plain,hi",
    "javascript:alert(1)", "unix:///var/run/docker.sock", "http://", "http:///path",
    "http://:80/", "http://user@public.test/", "http://public.test@127.0.0.1/",
    "http://public.test:pw@127.0.0.1/", "http://127.0.0.1#@public.test/",
    "http://127.0.0.1\\@public.test/", "http://public.test\\.inside.test/",
    "http://public.test /", "http://public.test\r\nHost: inside.test/", "http://public.test\t/",
    "http://public.test\x00.inside.test/", "http://public.test:99999/", "http://public.test:-1/",
    "http://public.test:port/", "http://[::1/", "http://[public.test]/", "http://[::1%25]/",
    "http://" + "a" * 64 + ".test/", "http://" + "a." * 200 + "test/", "http://public.test/"
    + "x" * 3000, "jar:http://127.0.0.1!/", "http://0x7f.0x0.0x0.0x0.0x1/", "http://256.0.0.1/",
    "http://0x100000000/", "http://nowhere.test/", "http://.test/", "http://xn--/",
]  # fmt: skip
#: What the names of these tests resolve to: the first time, the second time.
NAMES: dict[str, list[list[str]]] = {
    "public.test": [["93.184.215.14"]],
    "rebound.test": [["93.184.215.14"], ["127.0.0.1"]],
    "inside.test": [["10.0.0.5"]],
    "mixed.test": [["93.184.215.14", "192.168.0.7"]],
    "mapped.test": [["::ffff:127.0.0.1"]],
    "six.test": [["2606:2800:21f:cb07:6820:80da:af6b:8b2c", "::1"]],
    "metadata.test": [["169.254.169.254"]],
    "named.test": [["127.0.0.1"]],
}


class Hook:
    """Where sockets went, and what names were said to be."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.went: list[tuple[Any, ...]] = []
        self.asked: dict[str, int] = {}
        #: Where a connection to a public address really goes; None: nowhere.
        self.server: tuple[str, int] | None = None
        self._look, self._connect = socket.getaddrinfo, socket.socket.connect
        monkeypatch.setattr(socket, "getaddrinfo", self._resolve)
        hook = self

        def connect(self: socket.socket, where: tuple[Any, ...]) -> None:
            hook.went.append(where)
            if hook.server is None:
                raise ConnectionRefusedError
            hook._connect(self, hook.server)

        monkeypatch.setattr(socket.socket, "connect", connect, raising=False)

    def _resolve(self, host: str, port: int, **more: Any) -> Any:
        name = host.rstrip(".")
        if name not in NAMES:
            flags = socket.AI_NUMERICHOST if name != "localhost" else 0
            return self._look(host, port, flags=flags, **more)
        turns = NAMES[name]
        time_asked = self.asked.get(name, 0)
        self.asked[name] = time_asked + 1
        addresses = turns[min(time_asked, len(turns) - 1)]
        return [row for each in addresses for row in self._look(each, port, **more)]


@pytest.fixture
def hook(monkeypatch: pytest.MonkeyPatch) -> Hook:
    return Hook(monkeypatch)


@contextmanager
def server(answer: Callable[[BaseHTTPRequestHandler], None]) -> Iterator[int]:
    """A server on a free port of the loopback that answers so."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            answer(self)

        do_POST = do_GET

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as listening:
        thread = threading.Thread(target=listening.serve_forever, args=[0.01])
        thread.start()
        try:
            yield listening.server_address[1]
        finally:
            listening.shutdown()
            thread.join()


def say(handler: BaseHTTPRequestHandler, body: bytes = b"hello", **headers: str) -> None:
    """An answer of status 200."""
    handler.send_response(200)
    for name, value in headers.items():
        handler.send_header(name.replace("_", "-"), value)
    handler.send_header("content-length", str(len(body)))
    handler.end_headers()
    handler.wfile.write(body)


def send_to(where: str, status: int = 302) -> Callable[[BaseHTTPRequestHandler], None]:
    """An answer that leads elsewhere."""

    def answer(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(status)
        handler.send_header("location", where)
        handler.send_header("content-length", "0")
        handler.end_headers()

    return answer


def test_nothing_inside_is_ever_called(hook: Hook) -> None:
    urls = [f"http://{host}/" for host in INSIDE]
    urls += [f"https://{host}:8443/a?b=c" for host in INSIDE] + NONSENSE
    assert len(urls) >= 120
    for url in urls:
        with pytest.raises((AddressRefused, CallFailed)):
            request("GET", url, config=Config())
    assert hook.went == []


@pytest.mark.parametrize("host", INSIDE)
def test_a_redirect_inside_is_not_followed(hook: Hook, host: str) -> None:
    with server(send_to(f"http://{host}/")) as port:
        hook.server = ("127.0.0.1", port)
        with pytest.raises((AddressRefused, CallFailed)):
            request("GET", "http://public.test/", config=Config())
    assert hook.went == [("93.184.215.14", 80)]


def test_a_name_is_looked_up_once_and_called_at_that_address(hook: Hook) -> None:
    seen: list[str] = []

    def answer(handler: BaseHTTPRequestHandler) -> None:
        seen.append(f"{handler.headers['host']} {handler.path}")
        say(handler)

    with server(answer) as port:
        hook.server = ("127.0.0.1", port)
        got = request("GET", "http://rebound.test:8080/a%20b?c=\u00e9#d", config=Config())
    assert (got.status, got.body, got.url) == (
        200,
        b"hello",
        "http://rebound.test:8080/a%20b?c=\u00e9",
    )
    assert hook.asked == {"rebound.test": 1}
    assert hook.went == [("93.184.215.14", 8080)]
    assert seen == ["rebound.test:8080 /a%20b?c=%C3%A9"]


def test_hosts_that_the_operator_names_may_be_anywhere(hook: Hook) -> None:
    config = load(LOCAL)
    with server(say) as port:
        hook.server = ("127.0.0.1", port)
        for host in ("127.0.0.1", "named.test", "NAMED.test"):
            url = f"http://{host}:{port}/"
            assert request("POST", url, body=b"{}", config=config).status == 200
        went = len(hook.went)
        for host in ("127.1", "localhost", "inside.test", "sub.named.test"):
            with pytest.raises((AddressRefused, CallFailed)):
                request("GET", f"http://{host}:{port}/", config=config)
        assert len(hook.went) == went


def test_redirects_are_followed_three_times_and_for_get_alone() -> None:
    left = [3]

    def answer(handler: BaseHTTPRequestHandler) -> None:
        left[0] -= 1
        if left[0] >= 0:
            send_to(f"/{left[0]}")(handler)
        else:
            say(handler)

    config = load(LOCAL)
    with server(answer) as port:
        url = f"http://127.0.0.1:{port}/"
        got = request("GET", url, config=config)
        assert (got.body, got.url) == (b"hello", url + "0")
        left[0] = 4
        with pytest.raises(CallFailed, match="more than 3 redirects"):
            request("GET", url, config=config)
        left[0] = 1
        assert request("POST", url, body=b"secret", config=config).status == 302
        assert left == [0]


def test_redirects_that_lead_astray() -> None:
    for where in (A_FILE, "http://[::1", "gopher://x/", "//user@127.0.0.1/"):
        with server(send_to(where)) as port, pytest.raises(AddressRefused):
            request("GET", f"http://127.0.0.1:{port}/", config=load(LOCAL))


def test_an_answer_is_bounded() -> None:
    config = load({**LOCAL, "outgoing.mostBytes": 1000})
    for size, fits in ((1000, True), (1001, False)):
        with server(lambda handler, size=size: say(handler, b"x" * size)) as port:  # type: ignore[misc]
            url = f"http://127.0.0.1:{port}/"
            if fits:
                assert len(request("GET", url, config=config).body) == size
            else:
                with pytest.raises(CallFailed, match="more than 1000 bytes"):
                    request("GET", url, config=config)


def test_what_is_packed_or_breaks_off_is_not_taken() -> None:
    def half(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(200)
        handler.send_header("content-length", "100")
        handler.end_headers()
        handler.wfile.write(b"half")

    def packed(handler: BaseHTTPRequestHandler) -> None:
        say(handler, content_encoding="gzip")

    def nonsense(handler: BaseHTTPRequestHandler) -> None:
        handler.wfile.write(b"this is not HTTP\r\n\r\n")

    for answer in (half, packed, nonsense):
        with server(answer) as port, pytest.raises(CallFailed):
            request("GET", f"http://127.0.0.1:{port}/", config=load(LOCAL))


@pytest.mark.parametrize("drips_headers", [True, False])
def test_a_server_that_drips_is_left_in_time(drips_headers: bool) -> None:
    ended = threading.Event()

    def drip(handler: BaseHTTPRequestHandler) -> None:
        if not drips_headers:
            handler.send_response(200)
            handler.end_headers()
        else:
            handler.wfile.write(b"HTTP/1.1 200 OK\r\n")
        try:
            while not ended.wait(0.05):
                handler.wfile.write(b"x-a: b\r\n" if drips_headers else b"x")
        except OSError:
            pass

    config = load({**LOCAL, "outgoing.timeoutSeconds": 0.5})
    with server(drip) as port:
        began = time.monotonic()
        try:
            with pytest.raises(CallFailed, match="in time"):
                request("GET", f"http://127.0.0.1:{port}/", config=config)
            assert time.monotonic() - began < 30
        finally:
            ended.set()


def test_a_resolver_that_never_answers_is_left_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    ended = threading.Event()

    def never(*_: Any, **__: Any) -> Any:
        ended.wait(90)
        return []

    monkeypatch.setattr(socket, "getaddrinfo", never)
    began = time.monotonic()
    try:
        with pytest.raises(CallFailed, match="cannot be found"):
            request("GET", "http://public.test/", config=load({"outgoing.timeoutSeconds": 0.2}))
    finally:
        ended.set()
    assert time.monotonic() - began < 30


def test_which_addresses_are_public() -> None:
    for address in ("8.8.8.8", "93.184.215.14", "1.1.1.1", "2606:4700::1111", "2a00:1450::1"):
        assert is_public(address), address
    for address in ("", "x", "1.2.3", "fe80::1%eth0", "2606:4700::1111%eth0", "192.0.0.192"):
        assert not is_public(address), address
    for tunnel in ("2a00:1450::5efe:7f00:1", "2a00:1450::200:5efe:7f00:1"):  # ISATAP: 127.0.0.1
        assert not is_public(tunnel), tunnel


_A_DAY = datetime(2026, 1, 1, tzinfo=UTC)


@contextmanager
def tls_server(folder: Path, name: str, seen: list[str | None]) -> Iterator[int]:
    """A server with a certificate of a name; `SSL_CERT_FILE` must name `folder`/cert.pem."""
    key = ec.generate_private_key(ec.SECP256R1())
    who = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    certificate = (
        x509.CertificateBuilder()
        .subject_name(who)
        .issuer_name(who)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(_A_DAY - timedelta(days=10_000))  # The tests may run on another day.
        .not_valid_after(_A_DAY + timedelta(days=10_000))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(name)]), critical=False)
        .sign(key, hashes.SHA256())
    )
    pem = serialization.Encoding.PEM
    (folder / "cert.pem").write_bytes(certificate.public_bytes(pem))
    (folder / "key.pem").write_bytes(
        key.private_bytes(pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    )
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / "cert.pem", folder / "key.pem")
    context.sni_callback = lambda _, asked, __: seen.append(asked)

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            say(self, self.headers["host"].encode())

        def log_message(self, *_: object) -> None:
            pass

    class Server(ThreadingHTTPServer):
        def get_request(self) -> tuple[socket.socket, Any]:
            bare, where = super().get_request()
            return context.wrap_socket(bare, server_side=True), where

        def handle_error(self, *_: object) -> None:
            pass

    with Server(("127.0.0.1", 0), Handler) as listening:
        thread = threading.Thread(target=listening.serve_forever, args=[0.01])
        thread.start()
        try:
            yield listening.server_address[1]
        finally:
            listening.shutdown()
            thread.join()


def test_the_certificate_must_be_of_the_name_though_an_address_is_called(
    hook: Hook, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[str | None] = []
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "cert.pem"))
    with tls_server(tmp_path, "public.test", seen) as port:
        hook.server = ("127.0.0.1", port)
        got = request("GET", "https://public.test/", config=Config())
        assert (got.status, got.body, seen) == (200, b"public.test", ["public.test"])
        assert hook.went == [("93.184.215.14", 443)]
        with pytest.raises(CallFailed):
            request("GET", "https://rebound.test/", config=Config())
        monkeypatch.delenv("SSL_CERT_FILE")
        with pytest.raises(CallFailed):
            request("GET", "https://public.test/", config=Config())
