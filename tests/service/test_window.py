"""The files of the window: for anybody, and closed against everything that is not theirs."""

import gzip
import hashlib
import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from fastapi.testclient import TestClient

import holdfast
from holdfast import sample
from holdfast.memory.memory import Memory
from holdfast.service.http import window
from holdfast.service.http.app import create_app
from holdfast.testing import HashEmbedder
from tests.service.live import Api, live

POLICY = {
    "default-src": "'none'",
    "script-src": "'self'",
    "style-src": "'self'",
    "img-src": "'self' data:",
    "connect-src": "'self'",
    "font-src": "'self'",
    "frame-ancestors": "'none'",
    "base-uri": "'none'",
    "form-action": "'none'",
}
SOURCES = Path(__file__).parents[2] / "window"
#: As window/build.mjs has them, besides all of src/.
ROOTS = (".npmrc", "build.mjs", "index.html", "package-lock.json", "package.json", "tsconfig.json")
MOST_PACKED_BYTES = 500_000
ASSETS = sorted(path.name for path in (window.FOLDER / "assets").iterdir())
LARGE = next(name for name in ASSETS if name.startswith("app-") and name.endswith(".js"))


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    with holdfast.open(tmp_path / "m.db", embedder=HashEmbedder(), worker=False) as memory:
        yield memory


@pytest.fixture
def client(memory: Memory) -> Iterator[TestClient]:
    """A browser without a key."""
    with TestClient(create_app(memory), "http://localhost:3050") as client:
        yield client


@pytest.mark.parametrize("path", ["/", *(f"/assets/{name}" for name in ASSETS)])
def test_the_page_and_its_files_need_no_key_and_are_closed(client: TestClient, path: str) -> None:
    answer = client.get(path)
    assert answer.status_code == 200
    policy = answer.headers["content-security-policy"]
    assert dict(part.strip().split(" ", 1) for part in policy.split(";")) == POLICY
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["referrer-policy"] == "no-referrer"
    assert answer.headers["x-frame-options"] == "DENY"
    assert answer.headers["cross-origin-resource-policy"] == "same-origin"
    assert "set-cookie" not in answer.headers


def test_every_file_has_its_own_type(client: TestClient) -> None:
    types = {"css": "text/css", "js": "text/javascript", "svg": "image/svg+xml"}
    for name in ASSETS:
        wanted = types[name.rpartition(".")[2]]
        assert client.get(f"/assets/{name}").headers["content-type"].startswith(wanted)
    assert client.get("/").headers["content-type"] == "text/html; charset=utf-8"


def test_the_page_names_files_that_are_there_and_nothing_else(client: TestClient) -> None:
    page = client.get("/").text
    named = [each.partition('"')[0] for each in page.split('="/assets/')[1:]]
    assert len(named) >= 4
    assert set(named) <= set(ASSETS)
    assert "://" not in page
    assert "<style" not in page
    assert " style=" not in page


def test_assets_are_kept_for_good_and_the_page_is_asked_for_each_time(client: TestClient) -> None:
    asset, page = client.get(f"/assets/{LARGE}"), client.get("/")
    assert asset.headers["cache-control"] == "public, max-age=31536000, immutable"
    assert page.headers["cache-control"] == "no-cache"
    for path, answer in (("/", page), (f"/assets/{LARGE}", asset)):
        again = client.get(path, headers={"if-none-match": answer.headers["etag"]})
        assert (again.status_code, again.content) == (304, b"")
        assert again.headers["etag"] == answer.headers["etag"]
        other = client.get(path, headers={"if-none-match": '"another"'})
        assert (other.status_code, other.content) == (200, answer.content)


def test_what_is_long_is_packed_for_those_who_can_unpack_it(client: TestClient) -> None:
    def size(accepted: str) -> tuple[str | None, int]:
        headers = {"accept-encoding": accepted}
        answer = client.get(f"/assets/{LARGE}", headers=headers)
        assert answer.headers["vary"] == "accept-encoding"
        return answer.headers.get("content-encoding"), int(answer.headers["content-length"])

    whole = (window.FOLDER / "assets" / LARGE).stat().st_size
    assert size("identity") == (None, whole)
    assert size("br, gzip;q=0") == (None, whole)
    coding, packed = size("br, gzip")
    assert coding == "gzip"
    assert packed < whole / 2


def test_the_sample_conversation_is_there_for_a_page_that_has_nothing_to_show(
    client: TestClient,
) -> None:
    answer = client.get("/assets/sample.jsonl")
    assert [json.loads(line) for line in answer.text.splitlines()] == sample.turns()
    assert answer.headers["content-type"] == "text/plain; charset=utf-8"
    assert answer.headers["cache-control"] == "no-cache"
    assert "default-src 'none'" in answer.headers["content-security-policy"]


def test_a_real_socket_gives_head_no_body_and_leads_nowhere_by_dots(memory: Memory) -> None:
    with live(create_app(memory)) as port:
        ask = Api(port, "")
        assert ask("HEAD", "/") == (200, "")
        assert ask("HEAD", f"/assets/{LARGE}") == (200, "")
        for path in ("/assets/..", "/assets/../index.html", "/assets/../../keys.py", "//assets/"):
            assert ask("GET", path)[0] in (404, 401)


@pytest.mark.parametrize(
    "name",
    [
        "none.js", "", "%2e%2e/index.html", "..%2findex.html", "%2e%2e%2f%2e%2e%2fkeys.py",
        "app.js%00.svg", "index.html", "x" * 5000,
    ],
)  # fmt: skip
def test_nothing_but_the_assets_can_be_read(client: TestClient, name: str) -> None:
    answer = client.get(f"/assets/{name}")
    assert answer.status_code == 404
    assert "error" in answer.json()


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE", "OPTIONS"])
def test_whoever_does_more_than_look_needs_a_key(client: TestClient, method: str) -> None:
    for path in ("/", f"/assets/{LARGE}", "/index.html", "/assets"):
        assert client.request(method, path).status_code == 401


def test_a_foreign_name_or_page_is_refused_here_too(client: TestClient) -> None:
    assert client.get("/", headers={"host": "evil.example"}).status_code == 403
    embedded = {"sec-fetch-site": "cross-site", "sec-fetch-mode": "no-cors"}
    assert client.get(f"/assets/{LARGE}", headers=embedded).status_code == 403
    link = {"sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate"}
    assert client.get("/", headers=link).status_code == 200


def test_a_page_that_was_not_built_says_how(
    client: TestClient, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(window, "FOLDER", tmp_path)
    answer = client.get("/")
    assert answer.status_code == 404
    assert "make window" in answer.json()["error"]
    assert client.get(f"/assets/{LARGE}").status_code == 404


def test_a_page_that_is_built_anew_is_served_anew(
    client: TestClient, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(window, "FOLDER", tmp_path)
    (tmp_path / "index.html").write_text("one")
    first = client.get("/")
    (tmp_path / "index.html").write_text("another")
    second = client.get("/", headers={"if-none-match": first.headers["etag"]})
    assert (first.text, second.text) == ("one", "another")


def sources() -> dict[str, bytes]:
    paths = [*(SOURCES / name for name in ROOTS), *(SOURCES / "src").rglob("*")]
    files = [path for path in paths if path.is_file()]
    return {path.relative_to(SOURCES).as_posix(): path.read_bytes() for path in files}


def test_the_bundle_was_built_from_these_sources() -> None:
    digest = hashlib.sha256()
    for name, content in sorted(sources().items()):
        digest.update(f"{name}\0{len(content)}\0".encode() + content)
    built = (window.FOLDER / "sources.sha256").read_text().strip()
    assert digest.hexdigest() == built, "run `make window` and commit what it writes"


def test_the_bundle_is_small() -> None:
    packed = [gzip.compress(path.read_bytes()) for path in window.FOLDER.rglob("*.*")]
    assert 10_000 < sum(map(len, packed)) < MOST_PACKED_BYTES


def test_no_text_is_ever_read_as_markup() -> None:
    """Where somebody's words could become code; also in the bundle, but for what Preact has."""
    ways = re.compile(
        r"dangerouslySetInnerHTML|innerHTML|outerHTML|insertAdjacentHTML|document\.write"
        r"|createContextualFragment|DOMParser|srcdoc|\beval\(|new Function|javascript:"
    )
    found = [
        f"{name}: {match[0]}"
        for name, content in sources().items()
        if name.startswith(("src/", "index.html"))
        for match in ways.finditer(content.decode())
    ]
    assert found == []


def test_dependencies_have_exact_versions_and_no_address() -> None:
    package = json.loads((SOURCES / "package.json").read_text())
    versions = {**package["dependencies"], **package["devDependencies"]}
    assert versions
    assert [each for each in versions.values() if not re.fullmatch(r"\d+\.\d+\.\d+", each)] == []
    locked = json.loads((SOURCES / "package-lock.json").read_text())["packages"]
    assert {each: locked[f"node_modules/{each}"]["version"] for each in versions} == versions
    assert [name for name, each in locked.items() if "resolved" in each] == []
    assert all("integrity" in each for name, each in locked.items() if name)


def test_everything_in_the_bundle_has_its_licence() -> None:
    told = (window.FOLDER / "LICENSES.txt").read_text()
    assert re.search(r"^preact \S+ \(MIT\)$", told, re.MULTILINE)
    assert "Permission is hereby granted" in told
