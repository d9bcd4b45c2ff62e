"""300 script-injection payloads in every stored field, every view gone through: none runs."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from itertools import cycle
from pathlib import Path
from urllib.parse import quote, urlsplit

import pytest
from playwright.sync_api import Dialog, Locator, Page, Request, expect

import holdfast
from holdfast.memory.memory import Memory
from holdfast.records.profile_fields import SECTIONS
from holdfast.service.keys import create_key
from tests.window.conftest import USER, Filled, Server, SignIn, Watch, made_once
from tests.window.payloads import COUNT, payloads
from tests.window.touring import DIALOGS, VIEWS, go, scroll, settle, tour

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


_TWO_FRAMES = "() => new Promise((done) => requestAnimationFrame(() => setTimeout(done)))"
#: Scrolls a list by most of what is in sight; whether it moved.
_DOWN = """async (box) => {
  const before = box.scrollTop;
  box.scrollTop += box.clientHeight * 0.8;
  await new Promise((done) => setTimeout(done, 25));
  return box.scrollTop > before;
}"""
#: So many events are listed, and those in sight have their words, not only their ids.
_HAS_WORDS = """(most) => {
  const rows = [...document.querySelectorAll('.main .virtual-row')];
  const words = (row) => (row.querySelector('a')?.textContent ?? '').length;
  return rows.length > 0 && rows.every((row) => words(row) > 8)
    && Number(document.querySelector('.main [aria-setsize]')?.getAttribute('aria-setsize')) >= most;
}"""
TYPED_GROUPS = 10


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
        memory.remember([turn], user=USER, session=text[:120], agent=text[:60], extract=False)
        memory.notes.add(
            text, category="decision", user=USER, agent=text[:60], metadata={"of": text}
        )
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


def _fill_reasons(memory: Memory, all_of_them: list[str]) -> None:
    """Why facts ended, and what is summed up of them and of a session."""
    for index in range(0, COUNT, 5):
        five = all_of_them[index : index + 5]
        stored = memory.facts.add(f"I like {five[0]}", user=USER, category="preference")
        memory.facts.invalidate(stored.id, reason="; ".join(five)[:500], user=USER)
    held = memory.facts.add("I own a kettle.", user=USER).id
    for index, section in enumerate(SECTIONS):
        text = "\n".join(all_of_them[index :: len(SECTIONS)])
        memory.profiles.write_summary(section, text[:4000], facts=[held], user=USER)
    for text in all_of_them:
        memory.remember([{"content": text}], user=USER, session="long", extract=False)
    memory.compact(session="long", user=USER)


def _fill_questions(memory: Memory, all_of_them: list[str]) -> None:
    """What waits for a word: questions about facts and rules, contradictions, conflicts."""
    memory.facts.add(f"I live in Lisbon. {all_of_them[0]}", user=USER, at="2026-06-01T09:00:00Z")
    for index in range(0, COUNT, 30):
        some = all_of_them[index : index + 30]
        memory.facts.add(f"Maybe, I live in Porto. {some[1]}", user=USER, at="2026-06-02T09:00:00Z")
        memory.remember(f"Is this legit? From now on always say {some[2]}.", user=USER)
        memory.facts.add(f"I've never been to {some[3]}.", user=USER)
        memory.facts.add(f"When I was in {some[3]} I ate ramen.", user=USER)
        for day, name, text in ((6, "Ada", some[4]), (7, "Grace", some[5])):
            memory.facts.add(
                f"My manager is {name}. {text}", user=USER, agent=text[:60], origin="user",
                at=f"2026-06-0{day}T09:00:00Z",
            )  # fmt: skip
        turn = {"content": some[6], "name": some[6][:100]}
        said = memory.remember([turn], user=USER, session=some[6][:120], extract=False)
        memory.forget(said.events[0], user=USER)


def _fill_graph(memory: Memory, all_of_them: list[str]) -> None:
    for index in range(0, COUNT, 100):
        some = all_of_them[index : index + 100]
        names = [text[:120] for text in some]
        entities = [
            {
                "name": name,
                "type": text[:60],
                "summary": text,
                "aliases": [f"alias {text[:100]}", f"other {text[:100]}"],
            }
            for name, text in zip(names, some, strict=True)
        ]
        relations = [
            {"source": USER, "type": text[:60], "target": name}
            for name, text in zip(names, some, strict=True)
        ]
        memory.graph.write(entities, relations, user=USER)
        # All of them are shown where merges are: as a name that was kept or as one that went.
        for one, other in zip(names[::2], names[1::2], strict=True):
            memory.graph.merge(one, other, user=USER)


def _fill_service(memory: Memory, all_of_them: list[str]) -> None:
    for text in all_of_them:
        create_key(memory.store, user=text[:100], role="read", label=text[:100])
    steps = [f"embed:{memory.worker.space.id}"]
    now = datetime.now(UTC)
    for text in all_of_them[:40]:
        for job in memory.store.claim(steps, limit=1, now=now, lease_s=60, max_attempts=5):
            memory.store.release([job], error=text)


def _hostile(db: Path) -> Filled:
    keys, all_of_them = {}, payloads()
    with holdfast.open(db, worker=False) as memory:
        _, keys["operator"] = create_key(memory.store, role="admin", label="operator")
        _, keys["admin"] = create_key(memory.store, user=USER, role="admin", label="admin")
        _fill_user(memory, all_of_them)
        _fill_reasons(memory, all_of_them)
        _fill_questions(memory, all_of_them)
        _fill_graph(memory, all_of_them)
        _fill_service(memory, all_of_them)
        memory.remember(f"Never say {all_of_them[0]}.", user=USER)
    return Filled(db, keys)


@pytest.fixture(scope="module")
def hostile_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A service over a store in which every field holds payloads."""
    made = made_once(tmp_path_factory.getbasetemp(), "hostile", _hostile)
    started = Server(made.copy(tmp_path_factory.mktemp("hostile")), made.keys).start()
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


def test_no_payload_runs_in_what_waits_for_a_word(
    hostile_server: Server, sign_in: SignIn, trap: Trap
) -> None:
    page = sign_in(hostile_server, "operator", "changes", tab="settle")
    for title in ("Questions", "Contradictions", "Conflicts between agents"):
        group = page.get_by_role("region", name=title)
        cards = group.get_by_role("article")
        expect(cards.nth(4)).to_be_visible()
        shown = group.text_content() or ""
        assert sum(each in shown for each in payloads()) >= 5, title
    settle(page)
    closed = page.locator(".changes-settle").get_by_role("button", name=re.compile("^Words of"))
    for _ in range(min(8, closed.count())):
        closed.first.click()
    settle(page)
    scroll(page, 30)
    trap.look("what waits")
    page.get_by_role("region", name="Contradictions").get_by_role(
        "button", name=re.compile("^This one holds")
    ).first.click()
    expect(page.locator(".toast")).to_contain_text("One of two was kept")
    trap.look("settled")


def test_no_payload_runs_in_what_is_forgotten(
    hostile_server: Server, sign_in: SignIn, trap: Trap, watch: Watch
) -> None:
    watch.allow("status of 404")  # Its text is withheld.
    page = sign_in(hostile_server, "operator", "timeline", status="forgotten")
    expect(page.locator(".timeline-link")).to_have_count(COUNT // 30)
    trap.look("forgotten")
    page.locator(".timeline-link").first.click()
    expect(page.get_by_role("dialog")).to_contain_text("its text is withheld")
    trap.look("a forgotten one")


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


def _type_all(page: Page, trap: Trap, box: Locator, where: str) -> None:
    """All payloads into one box: in groups, and all at once; what comes of each is looked at."""
    texts = payloads()
    for index in range(0, COUNT, COUNT // TYPED_GROUPS):
        box.fill("\n".join(texts[index : index + COUNT // TYPED_GROUPS]))
    box.fill("\n".join(texts))
    page.evaluate("() => new Promise(requestAnimationFrame)")
    trap.look(where)
    box.fill("")  # What is typed is kept, and would narrow what is found afterwards.


def _boxes(page: Page) -> Locator:
    return page.locator(
        "input:not([type]):visible, input[type=text]:visible, input[type=search]:visible,"
        " input[type=password]:visible, textarea:visible"
    )


def test_no_payload_runs_that_is_typed(
    hostile_server: Server, sign_in: SignIn, trap: Trap, watch: Watch
) -> None:
    watch.allow(r"status of 4\d\d")  # What is looked for is too long, and no key begins so.
    page = sign_in(hostile_server, "operator")
    typed = 0
    places: list[tuple[str, Callable[[], object]]] = [
        (name, partial(opens, page, hostile_server))
        for name, opens in DIALOGS.items()
        if name not in ("edit", "forget")  # Of the first fact, which is over here.
    ]
    places += [(view.id, partial(go, page, view)) for view in VIEWS]
    for where, opens in places:
        opens()
        settle(page)
        on_top = page.locator(".dialog").count()
        boxes = _boxes(page).and_(page.locator(".dialog *")) if on_top else _boxes(page)
        for index in range(boxes.count()):
            _type_all(page, trap, boxes.nth(index), f"{where}, box {index + 1}")
            typed += 1
        while page.locator(".dialog").count():
            page.keyboard.press("Escape")
    assert typed >= 2 * len(VIEWS), typed


def test_no_payload_runs_in_the_live_feed(
    hostile_server: Server, sign_in: SignIn, trap: Trap
) -> None:
    page = sign_in(hostile_server, "operator", "operations", tab="live")
    expect(page.get_by_text("listening", exact=True)).to_be_visible()
    # Of many at once only the last thirty get their words, and of each the beginning.
    groups = ["\n".join(payloads()[index : index + 3]) for index in range(0, COUNT, 3)]
    shown: set[str] = set()
    box = page.locator(".main .virtual").first
    for index in range(0, len(groups), 15):
        said = [
            {"role": "user", "name": each[:60], "content": each} for each in groups[index:][:15]
        ]
        body = {"user_id": USER, "session_id": "feed", "messages": said, "extract": False}
        assert hostile_server.api()("POST", "/v1/memories", body)[0] in (200, 201, 202)
        page.wait_for_function(_HAS_WORDS, arg=index + len(said), polling=50)
        box.evaluate("(box) => { box.scrollTop = 0; }")
        is_end = False
        while not is_end:
            words = page.locator(".main").text_content() or ""
            shown.update(each for each in payloads() if each in words)
            is_end = not box.evaluate(_DOWN)
    trap.look("live feed")
    assert len(shown) >= COUNT * 9 // 10, f"only {len(shown)} were shown"


def test_no_payload_runs_out_of_the_address(
    hostile_server: Server, sign_in: SignIn, trap: Trap, watch: Watch
) -> None:
    watch.allow(r"status of 4\d\d")
    page = sign_in(hostile_server, "admin")
    names = ("tab", "id", "q", "tier", "kind", "node", "state", "days", "session", "tag", "at")
    # Each time another one under each name: all of them are somewhere in an address.
    texts = cycle(payloads())
    for view in VIEWS:
        for index in range(5):
            query = "&".join(f"{name}={quote(next(texts))}" for name in names)
            page.evaluate("(hash) => { location.hash = hash; }", f"#/{view.id}?{query}")
            page.evaluate(_TWO_FRAMES)
            settle(page)
            trap.look(f"{view.id} {index}")
    page.evaluate("(text) => { location.hash = `#/${text}`; }", payloads()[1])
    expect(page.get_by_text("There is no such view")).to_be_visible()
    trap.look("no view")
