"""300 script-injection payloads in every stored field, every view gone through: none runs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from urllib.parse import quote, urlsplit

import pytest
from playwright.sync_api import Dialog, Page, Request, expect

import holdfast
from holdfast.memory.memory import Memory
from holdfast.service.keys import create_key
from tests.window.conftest import USER, Server, SignIn, Watch
from tests.window.payloads import COUNT, payloads
from tests.window.touring import VIEWS, go, scroll, settle, tour

pytestmark = pytest.mark.slow

#: What the window asks its own server for.
OWN_PATHS = ("/v1/", "/assets/", "/metrics", "/health")
_SPY = """() => {
  window.broken = [];
  document.addEventListener('securitypolicyviolation', (event) =>
    window.broken.push(`${event.violatedDirective} ${event.blockedURI} ${event.sample}`));
}"""
#: What text that became markup would leave behind.
_REMAINS = """() => {
  const found = [];
  for (const each of document.querySelectorAll('*')) {
    const name = each.localName;
    if (/^(iframe|object|embed|base|marquee|math|video|audio|style)$/.test(name)) found.push(name);
    if (name === 'script' && !each.src.startsWith(location.origin + '/assets/')) found.push(name);
    for (const { name: attribute, value } of each.attributes) {
      if (attribute.startsWith('on')) found.push(`${name} ${attribute}`);
      if (/^(href|src|action|xlink:href|srcdoc)$/.test(attribute)
          && /^\\s*(javascript|vbscript|data:text|[/][/])/i.test(value)) {
        found.push(`${name} ${value}`);
      }
    }
  }
  return found;
}"""


@dataclass
class Trap:
    """Notices whatever a payload could do."""

    page: Page
    dialogs: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)
    places: list[str] = field(default_factory=list)
    #: Payloads that stood on the page, as text.
    seen: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.page.add_init_script(f"({_SPY})()")
        self.page.on("dialog", self._on_dialog)
        self.page.on("request", self._on_request)

    def _on_dialog(self, dialog: Dialog) -> None:
        self.dialogs.append(dialog.message)
        dialog.dismiss()

    def _on_request(self, request: Request) -> None:
        path = urlsplit(request.url).path
        if path != "/" and not path.startswith(OWN_PATHS):
            self.requests.append(request.url)

    def sprung(self) -> dict[str, object]:
        """What happened that should not, by what noticed it."""
        found = {
            "ran": self.page.evaluate("window.ran !== undefined"),
            "policy": self.page.evaluate("window.broken"),
            "markup": self.page.evaluate(_REMAINS),
            "dialogs": self.dialogs,
            "requests": self.requests,
        }
        return {name: value for name, value in found.items() if value}

    def look(self, where: str) -> None:
        """Nothing may have happened here."""
        assert self.sprung() == {}, where
        self.places.append(where)
        shown = self.page.evaluate("document.body.textContent")
        self.seen.update(each for each in payloads() if each in shown)


@pytest.fixture
def trap(page: Page) -> Trap:
    return Trap(page)


def _fill_user(memory: Memory, all_of_them: list[str]) -> None:
    for index, text in enumerate(all_of_them):
        turn = {"content": text, "name": text[:100], "metadata": {f"m{index}": text, text[:60]: 1}}
        memory.remember([turn], user=USER, session=text[:120], agent=None, extract=False)
        memory.notes.add(text, category="decision", user=USER, metadata={"of": text})
        memory.procedures.add(
            text, steps=[text, f"then {text}"], trigger=text, tags=[text[:60]], user=USER
        )
        memory.knowledge.set(text[:200], text, user=USER)
    for index in range(0, COUNT, 10):
        ten = all_of_them[index : index + 10]
        memory.knowledge.add("\n\n".join(ten), name=ten[0], user=USER, metadata={"of": ten[1]})
        memory.profiles.set(f"field_{index}", "; ".join(ten), user=USER)
        memory.facts.add(f"I live in {ten[2]}", user=USER, metadata={"of": ten[3]})
        memory.facts.add("; ".join(ten), user=USER, category="preference")
        memory.team.write(
            "\n".join(ten), type="decision", title=ten[4], tags=[ten[5][:60]], author=ten[6]
        )


def _fill_graph(memory: Memory, all_of_them: list[str]) -> None:
    for index in range(0, COUNT, 100):
        some = all_of_them[index : index + 100]
        names = [text[:120] for text in some]
        entities = [
            {"name": name, "type": text[:60]} for name, text in zip(names, some, strict=True)
        ]
        relations = [
            {"source": USER, "type": text[:60], "target": name}
            for name, text in zip(names, some, strict=True)
        ]
        memory.graph.write(entities, relations, user=USER)


def _fill_service(memory: Memory, all_of_them: list[str]) -> None:
    for text in all_of_them:
        create_key(memory.store, user=text[:100], role="read", label=text[:100])
    steps = [f"embed:{memory.worker.space.id}"]
    now = datetime.now(UTC)
    for text in all_of_them[:40]:
        for job in memory.store.claim(steps, limit=1, now=now, lease_s=60, max_attempts=5):
            memory.store.release([job], error=text)


@pytest.fixture(scope="module")
def hostile_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A service over a store in which every field holds payloads."""
    db = tmp_path_factory.mktemp("hostile") / "m.db"
    keys, all_of_them = {}, payloads()
    with holdfast.open(db, worker=False) as memory:
        _, keys["operator"] = create_key(memory.store, role="admin", label="operator")
        _, keys["admin"] = create_key(memory.store, user=USER, role="admin", label="admin")
        _fill_user(memory, all_of_them)
        _fill_graph(memory, all_of_them)
        _fill_service(memory, all_of_them)
        memory.remember(f"Never say {all_of_them[0]}.", user=USER)
    started = Server(db, keys).start()
    yield started
    started.stop()


def test_there_are_300_payloads_of_all_families() -> None:
    made = payloads()
    assert len(set(made)) == COUNT
    for word in ("<script", "onerror=", "<svg", "javascript:", "{{", "\u202e", "%3C", "](java"):
        assert any(word in each for each in made), word


@pytest.mark.parametrize(
    "text",
    ["<img src=x onerror='window.ran=1'>", "<iframe srcdoc='<b>x</b>'></iframe>", "<svg onload=1>"],
)
def test_the_trap_notices_text_that_becomes_markup(
    hostile_server: Server, sign_in: SignIn, trap: Trap, watch: Watch, text: str
) -> None:
    watch.allow("Content Security Policy|status of 404|inline")
    page = sign_in(hostile_server, "admin")
    trap.look("before")
    page.evaluate("(text) => { document.querySelector('.main').innerHTML += text; }", text)
    page.wait_for_timeout(200)
    assert trap.sprung() != {}


def test_no_payload_runs_in_any_view(hostile_server: Server, sign_in: SignIn, trap: Trap) -> None:
    page = sign_in(hostile_server, "operator")
    for view in VIEWS:
        tour(page, view, trap.look, steps=30)
    assert len(trap.places) >= 2 * len(VIEWS)
    # They were there to run: text of a list that is long is on the page while it is in sight.
    assert len(trap.seen) >= COUNT * 9 // 10, f"only {len(trap.seen)} were shown"


def test_no_payload_runs_as_the_name_of_a_user(
    hostile_server: Server, sign_in: SignIn, trap: Trap
) -> None:
    page = sign_in(hostile_server, "operator")
    for text in payloads()[:: COUNT // 30]:
        page.evaluate("(user) => { location.hash = `#/ask?user=${user}`; }", quote(text[:100]))
        shown = text[:100].replace("\n", "")  # As every box of one line.
        expect(page.get_by_label("User whose memory is shown")).to_have_value(shown)
        trap.look(text)
    for view in VIEWS:
        go(page, view)
        settle(page)
        scroll(page)
        trap.look(f"{view.id} of such a user")


def test_no_payload_runs_out_of_the_address(
    hostile_server: Server, sign_in: SignIn, trap: Trap, watch: Watch
) -> None:
    watch.allow(r"status of 4\d\d")
    page = sign_in(hostile_server, "admin")
    names = ("tab", "id", "q", "tier", "kind", "node", "state", "days", "session", "tag", "at")
    for view in VIEWS:
        for index, text in enumerate(payloads()[:: COUNT // 6]):
            query = "&".join(f"{name}={quote(text)}" for name in names)
            page.evaluate("(hash) => { location.hash = hash; }", f"#/{view.id}?{query}")
            page.wait_for_timeout(60)
            trap.look(f"{view.id} {index}")
    page.evaluate("(text) => { location.hash = `#/${text}`; }", payloads()[1])
    expect(page.get_by_text("There is no such view")).to_be_visible()
    trap.look("no view")
