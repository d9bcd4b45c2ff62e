"""Every view over texts that are long or of other scripts, before slow answers, without a server.

What is particular to one view is tested in its own file: these go through all of them.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, Route, expect

import holdfast
from holdfast.memory.memory import Memory
from holdfast.service.keys import create_key
from tests.window.conftest import (
    GONE,
    USER,
    Camera,
    Filled,
    Server,
    SignIn,
    Watch,
    made_once,
    too_wide,
)
from tests.window.told import ARABIC, JAPANESE
from tests.window.touring import BY_ID, DIALOGS, VIEWS, View, go, settle, tour

pytestmark = pytest.mark.slow

HEBREW = "אני גרה בחיפה ועובדת בספרייה."
#: 30 KB, of words and of one that never ends: facts, the profile and the graph come of it.
LONG = "I live in Haifa. My sister Noa is a pilot. " + "word after word " * 1_500 + "y" * 6_000
SHORT_OF_LONG = LONG[:40]
SLOW_SECONDS = 2.0

#: Somebody's text that begins in a script from right to left, and is not laid out so.
_MISLAID = """() => {
  const rightToLeft = /^[^\\p{L}]*[\\p{Script=Hebrew}\\p{Script=Arabic}]/u;
  const found = [];
  const walk = document.createTreeWalker(document.querySelector('.shell'), NodeFilter.SHOW_TEXT);
  for (let node = walk.nextNode(); node; node = walk.nextNode()) {
    const holder = node.parentElement;
    if (!rightToLeft.test(node.data) || holder.closest('option, datalist, script')) continue;
    const isPlain = (each) => getComputedStyle(each).unicodeBidi === 'plaintext';
    if (getComputedStyle(holder).direction !== 'rtl' && !isPlain(holder)) {
      found.push(`${holder.localName}.${holder.className}: ${node.data.slice(0, 20)}`);
    }
  }
  return found;
}"""

#: What must be seen in each view, of all that is stored.
SEEN = {
    "ask": (SHORT_OF_LONG, ARABIC, JAPANESE),
    "timeline": (SHORT_OF_LONG, ARABIC, HEBREW, JAPANESE),
    "changes": (ARABIC, JAPANESE),
    "graph": (HEBREW[:8], JAPANESE),
    "profile": (SHORT_OF_LONG, ARABIC, JAPANESE),
    "operations": (SHORT_OF_LONG, ARABIC, JAPANESE),
    "start": (HEBREW,),
}


def _fill(memory: Memory) -> None:
    memory.remember([{"role": "user", "content": LONG}], user=USER, session="long")
    memory.drain()
    for text in (LONG, ARABIC, HEBREW, JAPANESE):
        turn = {"content": text, "name": text[:40]}
        memory.remember([turn], user=USER, session=text[:40], extract=False)
        memory.notes.add(text[:16_000], category="decision", user=USER)
        memory.graph.write(
            [{"name": text[:100], "type": text[:40], "summary": text[:400]}],
            [{"source": USER, "type": text[:40], "target": text[:100]}],
            user=USER,
        )
        create_key(memory.store, user=text[:60], role="read", label=text[:60])
    for text in (ARABIC, JAPANESE, HEBREW):
        memory.facts.add(text, user=USER)
    memory.profiles.set("habits", [LONG[:1_000].strip(), ARABIC, JAPANESE, HEBREW], user=USER)
    memory.procedures.add(ARABIC, steps=[JAPANESE, HEBREW], trigger=ARABIC, user=USER)
    step, now = f"embed:{memory.worker.space.id}", datetime.now(UTC)
    for text in (LONG, ARABIC, JAPANESE):
        for job in memory.store.claim([step], limit=1, now=now, lease_s=60, max_attempts=5):
            memory.store.release([job], error=text)


@pytest.fixture(scope="module")
def mixed(filled: Filled, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """The sample conversation, and texts that are long or of other scripts in every field."""

    def make(db: Path) -> Filled:
        with holdfast.open(filled.copy(db.parent), worker=False) as memory:
            _fill(memory)
        return Filled(db, filled.keys)

    made = made_once(tmp_path_factory.getbasetemp(), "mixed", make)
    db = made.copy(tmp_path_factory.mktemp("mixed"))
    started = Server(db, made.keys, options=("--no-worker",)).start()
    yield started
    started.stop()


@pytest.mark.parametrize("view", VIEWS, ids=lambda view: view.id)
def test_long_texts_and_other_scripts_have_their_place(
    mixed: Server, sign_in: SignIn, camera: Camera, view: View
) -> None:
    page = sign_in(mixed, "operator", user=HEBREW if view.id == "start" else USER)
    shown: list[str] = []
    faults: dict[str, None] = {}

    def look(where: str) -> None:
        expect(page.get_by_text("This view has a defect")).to_have_count(0)
        shown.append(page.locator(".shell").text_content() or "")
        shown.extend(page.locator("input, textarea").evaluate_all("all => all.map(e => e.value)"))
        faults.update(dict.fromkeys(f"{where}: {each}" for each in page.evaluate(_MISLAID)))
        faults.update(dict.fromkeys(f"{where}: {each}" for each in too_wide(page)))
        if where == view.id:
            camera.every_way(f"mixed-{view.id}")

    tour(page, view, look, steps=3, question=f"Haifa? {ARABIC} {JAPANESE}")
    told = "\n".join(shown)
    assert [each for each in SEEN[view.id] if each not in told] == []
    assert not faults, "\n".join(faults)


def _tabs(page: Page, server: Server, where: str = "") -> dict[str, Page]:
    """Each view in a tab of its own, or all at this address; the browser is signed in."""
    tabs = {}
    for view in VIEWS:
        tabs[view.id] = page.context.new_page()
        tabs[view.id].goto(f"{server.url}/#/{where or view.id}?user={USER}")
    for tab in tabs.values():
        expect(tab.get_by_role("navigation", name="Views")).to_be_visible()
    return tabs


def test_every_view_says_that_it_waits_for_slow_answers(mixed: Server, sign_in: SignIn) -> None:
    page = sign_in(mixed, "operator")
    tabs = _tabs(page, mixed, "nowhere")
    held: list[Route] = []
    is_slow, began = True, time.monotonic()
    page.context.route(
        "**/v1/**", lambda route: held.append(route) if is_slow else route.continue_()
    )
    for id, tab in tabs.items():
        question = "&q=What+do+I+like%3F" if id == "ask" else ""
        tab.evaluate("(hash) => { location.hash = hash; }", f"#/{id}?user={USER}{question}")
    for id, tab in tabs.items():
        if id == "start":  # What it shows it has without being answered.
            expect(tab.get_by_role("region", name="Python example")).to_be_visible()
            continue
        waiting = tab.locator(".main [aria-busy=true], .main .skeleton, .main .spinner")
        expect(waiting.first).to_be_visible()
    page.wait_for_timeout(max(0.0, began + SLOW_SECONDS - time.monotonic()) * 1000)
    is_slow = False
    for route in held:
        route.continue_()
    for tab in tabs.values():
        settle(tab)
        expect(tab.locator(".main h1, .main h2").first).to_be_visible()
        expect(tab.locator(".main .error-box")).to_have_count(0)


def _box(id: str) -> Callable[[Page, Server], Locator]:
    """Where something is typed in a view."""

    def box(page: Page, server: Server) -> Locator:
        match id:
            case "profile":
                return DIALOGS["field"](page, server).get_by_label("Value")
            case "operations":
                return DIALOGS["new-key"](page, server).get_by_label("Label")
            case "start":
                go(page, BY_ID["start"])
                return page.get_by_label("Fill in your key")
            case _:
                return page.locator(".main textarea, .main [data-search]").first

    return box


def test_a_server_that_goes_is_told_in_every_view_and_nothing_typed_is_lost(
    mixed: Server, sign_in: SignIn, watch: Watch
) -> None:
    watch.allow(GONE + "|ERR_FAILED")
    page = sign_in(mixed, "operator", "nowhere")
    tabs = _tabs(page, mixed)
    boxes = {id: _box(id)(tab, mixed) for id, tab in tabs.items()}
    for box in boxes.values():
        box.fill(ARABIC)
    mixed.stop()
    for id, tab in tabs.items():
        tab.evaluate("dispatchEvent(new Event('focus'))")
        expect(tab.locator(".banner.bad")).to_contain_text("The server does not answer")
        expect(boxes[id]).to_have_value(ARABIC)
    mixed.start()
    for tab in tabs.values():
        tab.evaluate("dispatchEvent(new Event('focus'))")
        expect(tab.locator(".banner.bad")).to_have_count(0)
        expect(tab.get_by_role("dialog", name="Sign in again")).to_be_visible()
    again = tabs["ask"].get_by_role("dialog", name="Sign in again")
    again.get_by_label("Key", exact=True).fill(mixed.keys["operator"])
    again.get_by_role("button", name="Sign in").click()
    for id, tab in tabs.items():  # One signs in for all.
        expect(tab.get_by_role("dialog", name="Sign in again")).to_have_count(0)
        expect(boxes[id]).to_have_value(ARABIC)
