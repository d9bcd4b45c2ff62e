"""A real `holdfast serve` over a filled store, and Debian's Chromium in front of it.

After each test the page must have logged no error and asked nobody but the service.
"""

from __future__ import annotations

import fcntl
import json
import os
import re
import shutil
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import (
    Browser,
    ConsoleMessage,
    Page,
    Playwright,
    Request,
    Route,
    expect,
    sync_playwright,
)

import holdfast
from holdfast import sample
from holdfast.service.keys import create_key
from tests.ports import lasting_port
from tests.service.live import Api
from tests.window.forking import Forked, forked

#: Whose memory is filled: the user of the sample conversation.
USER = "mara"
#: What the browser logs where its server was killed, perhaps in the middle of an answer.
GONE = "ERR_CONNECTION|ERR_EMPTY_RESPONSE|ERR_CONTENT_LENGTH_MISMATCH|ERR_INCOMPLETE|status of 401"
WIDE, NARROW = (1280, 800), (360, 740)
_WAIT_MS = 45_000
#: Taken out of the environment: the service refuses names that are no settings.
_SCREENSHOTS = os.environ.pop("HOLDFAST_SCREENSHOTS", "")


@dataclass
class Server:
    """A service of a test's own, with its keys; it can be stopped and started again."""

    db: Path
    #: Secrets by who has them: "read", "write", "admin" of USER; "operator" of the workspace.
    keys: dict[str, str]
    options: tuple[str, ...] = ()
    port: int = field(default_factory=lasting_port)
    _running: ExitStack = field(default_factory=ExitStack)
    service: Forked | None = None

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def start(self) -> Server:
        self.service = self._running.enter_context(forked(self.db, *self.options, port=self.port))
        return self

    def stop(self) -> None:
        """End it at once (-9); nobody answers any more."""
        self._running.close()
        self.service = None

    def api(self, who: str = "operator") -> Api:
        """Calls the service beside the browser: `server.api()("GET", "/v1/keys")`."""
        return Api(self.port, self.keys[who])


@dataclass(frozen=True)
class Filled:
    """A store that is copied for each service."""

    db: Path
    keys: dict[str, str]

    def copy(self, folder: Path) -> Path:
        for path in self.db.parent.glob(f"{self.db.name}*"):
            shutil.copy(path, folder / path.name)
        return folder / self.db.name


def made_once(base: Path, name: str, make: Callable[[Path], Filled]) -> Filled:
    """A store that all processes of this run of the tests share, to be copied: filling costs more
    than most tests. The base is where pytest keeps the files of this process."""
    if "PYTEST_XDIST_WORKER" in os.environ:
        base = base.parent
    folder = base / f"shared-{name}"
    folder.mkdir(exist_ok=True)
    kept = folder / "keys.json"
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not kept.exists():
            for rest in folder.glob("m.db*"):
                rest.unlink()
            kept.write_text(json.dumps(make(folder / "m.db").keys))
    return Filled(folder / "m.db", json.loads(kept.read_text()))


def _with_keys(db: Path, *, fill: bool) -> Filled:
    keys = {}
    with holdfast.open(db, worker=False) as memory:
        for role in ("read", "write", "admin"):
            _, keys[role] = create_key(memory.store, user=USER, role=role, label=role)
        _, keys["operator"] = create_key(memory.store, role="admin", label="operator")
        if fill:
            for session, group in groupby(sample.turns(), key=lambda turn: turn["session"]):
                said = [{k: v for k, v in turn.items() if k != "session"} for turn in group]
                memory.remember(said, user=USER, session=session)
            memory.drain()
    return Filled(db, keys)


@pytest.fixture(scope="session")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Filled:
    """A store with the sample conversation, read and embedded."""
    return made_once(tmp_path_factory.getbasetemp(), "filled", lambda db: _with_keys(db, fill=True))


@pytest.fixture(scope="module")
def server(filled: Filled, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A service over the filled store, for all tests of a file: for those that only look."""
    started = Server(filled.copy(tmp_path_factory.mktemp("served")), filled.keys).start()
    yield started
    started.stop()


@pytest.fixture
def own_server(filled: Filled, tmp_path: Path) -> Iterator[Server]:
    """A service over a copy of the filled store of this test's own: to change, stop and start."""
    started = Server(filled.copy(tmp_path), dict(filled.keys)).start()
    yield started
    started.stop()


@pytest.fixture
def empty_server(tmp_path: Path) -> Iterator[Server]:
    """A service over a store that holds keys and nothing else."""
    empty = _with_keys(tmp_path / "m.db", fill=False)
    started = Server(empty.db, empty.keys).start()
    yield started
    started.stop()


# The browser


@pytest.fixture(scope="session")
def playwright() -> Iterator[Playwright]:
    with sync_playwright() as started:
        yield started


@pytest.fixture(scope="session")
def browser(playwright: Playwright) -> Iterator[Browser]:
    program = shutil.which("chromium")
    assert program, "these tests need Debian's chromium: apt-get install chromium"
    expect.set_options(timeout=_WAIT_MS)
    with closing(
        playwright.chromium.launch(
            executable_path=program, args=["--no-sandbox", "--disable-dev-shm-usage"]
        )
    ) as started:
        yield started


@dataclass
class Watch:
    """What a page did that it should not do."""

    origins: set[str] = field(default_factory=set)
    #: Patterns of errors in the console that a test brings about.
    allowed: list[str] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    strays: list[str] = field(default_factory=list)

    def allow(self, pattern: str) -> None:
        """Errors of the console that match are expected."""
        self.allowed.append(pattern)

    def on_console(self, message: ConsoleMessage) -> None:
        if message.type == "error":
            self.errors.append(f"{message.text} at {message.location.get('url', '')}")

    def on_request(self, request: Request) -> None:
        parts = urlsplit(request.url)
        if parts.scheme in ("http", "https"):
            self.origins.add(f"{parts.scheme}://{parts.netloc}")
        elif parts.scheme not in ("data", "blob"):
            self.strays.append(request.url)

    def check(self) -> None:
        # Before anybody has signed in the page asks who it is, and is told 401.
        allowed = [r"status of 401 .* at \S+/v1/whoami$", *self.allowed]
        errors = [each for each in self.errors if not any(re.search(one, each) for one in allowed)]
        assert errors == []
        assert self.strays == []
        assert len(self.origins) <= 1, f"it asked others: {self.origins}"


@pytest.fixture
def watch() -> Watch:
    return Watch()


@pytest.fixture
def page(browser: Browser, watch: Watch) -> Iterator[Page]:
    """A page of a new browser profile; checked when the test ends."""
    context = browser.new_context(
        viewport={"width": WIDE[0], "height": WIDE[1]}, locale="en-GB", timezone_id="UTC",
        color_scheme="light", reduced_motion="reduce",
        permissions=["clipboard-read", "clipboard-write"],
    )  # fmt: skip
    context.set_default_timeout(_WAIT_MS)
    context.on("request", watch.on_request)
    shown = context.new_page()
    shown.on("console", watch.on_console)
    shown.on("pageerror", lambda error: watch.errors.append(str(error)))
    yield shown
    context.close()
    watch.check()


SignIn = Callable[..., Page]


@pytest.fixture
def sign_in(page: Page) -> SignIn:
    """`sign_in(server, "write", "timeline")`: the page of a view, as who has this key."""

    def signed_in(server: Server, who: str = "admin", view: str = "ask", **params: str) -> Page:
        if who == "operator":
            params = {"user": USER} | params
        query = "&".join(f"{name}={value}" for name, value in params.items() if value)
        page.goto(f"{server.url}/#/{view}" + (f"?{query}" if query else ""))
        page.get_by_label("Key", exact=True).fill(server.keys[who])
        page.get_by_role("button", name="Sign in").click()
        expect(page.get_by_role("navigation", name="Views")).to_be_visible()
        return page

    return signed_in


#: What is wider than it has room for: the page, and what scrolls by itself in it.
_TOO_WIDE = """() => [document.documentElement, ...document.querySelectorAll('.main, .dialog-body')]
  .filter((each) => each.scrollWidth > each.clientWidth)
  .map((each) => {
    const edge = each.getBoundingClientRect().right;
    const wide = [...each.querySelectorAll('*')].filter((one) =>
      one.getBoundingClientRect().right > edge + 0.5);
    return `${each.className || each.localName}: ${each.scrollWidth} px of ${each.clientWidth}, `
      + wide.slice(0, 3).map((one) => `${one.localName}.${one.className}`).join(' ');
  })"""


def too_wide(page: Page) -> list[str]:
    """What does not fit in its width, with the first that stick out."""
    found: list[str] = page.evaluate(_TOO_WIDE)
    return found


@dataclass(frozen=True)
class Camera:
    """Writes pictures of a page into HOLDFAST_SCREENSHOTS, or where pytest keeps files."""

    page: Page
    folder: Path

    def __call__(self, name: str) -> None:
        """One, as the page is now."""
        self.page.screenshot(path=self.folder / f"{name}.png")

    def every_way(self, name: str) -> None:
        """Light, dark and narrow; nothing may be wider than a narrow screen. Pictures cost more
        than that: they are taken where somebody asked for them."""
        if _SCREENSHOTS:
            self(f"{name}-light")
            self.page.emulate_media(color_scheme="dark", reduced_motion="reduce")
            self(f"{name}-dark")
            self.page.emulate_media(color_scheme="light", reduced_motion="reduce")
        self.page.set_viewport_size({"width": NARROW[0], "height": NARROW[1]})
        if _SCREENSHOTS:
            self(f"{name}-narrow")
        wide = too_wide(self.page)
        self.page.set_viewport_size({"width": WIDE[0], "height": WIDE[1]})
        assert wide == [], f"{name} is too wide on a screen of {NARROW[0]}"


@pytest.fixture
def camera(page: Page, tmp_path: Path) -> Camera:
    folder = Path(_SCREENSHOTS) if _SCREENSHOTS else tmp_path / "screenshots"
    folder.mkdir(parents=True, exist_ok=True)
    return Camera(page, folder)


@pytest.fixture
def slowly(page: Page) -> Callable[[str, float], None]:
    """`slowly("**/v1/recall", 2.0)`: answers of these paths come so many seconds later."""

    def slow(pattern: str, seconds: float) -> None:
        def later(route: Route) -> None:
            page.wait_for_timeout(seconds * 1000)
            route.continue_()

        page.route(pattern, later)

    return slow
