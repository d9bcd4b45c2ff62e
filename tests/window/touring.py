"""Goes through every view of the window as it is, without knowing what is in them."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from playwright.sync_api import Locator, Page, expect

from tests.window.conftest import USER, Server

#: Opens a dialog or a form; what is visible then.
Opens = Callable[[Page, Server], Locator]
_TABLE = Path(__file__).parents[2] / "window" / "src" / "views" / "index.ts"
_MOST_ROWS = 2
_MOST_DISCLOSURES = 4

_SCROLL = """async (steps) => {
  const pause = () => new Promise((done) => setTimeout(done, 25));
  for (const box of document.querySelectorAll('*')) {
    const style = getComputedStyle(box);
    if (!/auto|scroll/.test(style.overflowY) || box.scrollHeight <= box.clientHeight + 4) continue;
    for (let step = 0; step < steps; step += 1) {
      const before = box.scrollTop;
      box.scrollTop += Math.max(200, box.clientHeight);
      await pause();
      if (box.scrollTop === before) break;
    }
    box.scrollTop = 0;
  }
}"""


@dataclass(frozen=True)
class View:
    """One of the table of views."""

    id: str
    title: str
    of_user: bool


VIEWS = [
    View(id, title, of_user == "true")
    for id, title, of_user in re.findall(
        r'id: "(\w+)", title: "([^"]+)".*?ofUser: (true|false)', _TABLE.read_text()
    )
]


def go(page: Page, view: View, **params: str) -> None:
    """Open a view by its address and wait until it shows what it found."""
    script = """([view, params]) => {
      const query = new URLSearchParams(location.hash.split('?')[1] ?? '');
      const user = query.get('user');
      const next = new URLSearchParams({...(user ? {user} : {}), ...params});
      location.hash = `#/${view}?${next}`;
    }"""
    page.evaluate(script, [view.id, params])
    # What the view calls itself is its own affair: a store without memories has its own words.
    expect(page.locator(".main h1, .main h2").first).to_be_visible()
    settle(page)


def settle(page: Page) -> None:
    """Nothing is awaited any more."""
    awaited = page.locator(".main [aria-busy=true], .main .skeleton, .dialog .skeleton")
    expect(awaited).to_have_count(0, timeout=30_000)


def scroll(page: Page, steps: int = 12) -> None:
    """Everything that scrolls, to its end or so many screens far, and back."""
    page.evaluate(_SCROLL, steps)


def tour(
    page: Page,
    view: View,
    look: Callable[[str], None],
    *,
    steps: int = 12,
    question: str = "What do I like?",
) -> None:
    """A view with all its tabs, some of what opens, and its answer to a question.

    `look` is called with words for where we are, whenever there is something new to see.
    """
    go(page, view)
    ask(page, question)
    tabs = page.locator(".main [role=tab]")
    chosen = page.locator(".main [role=tab][aria-selected=true]").all_inner_texts()
    _look_around(page, view, view.id, look, steps)
    for index in range(tabs.count()):
        if index >= tabs.count():
            break  # What tabs there are may depend on the one that is open.
        name = tabs.nth(index).inner_text().strip()
        if index == 0 and chosen[:1] == [name]:
            continue  # It was open.
        tabs.nth(index).click()
        settle(page)
        _look_around(page, view, f"{view.id}, {name}", look, steps)


def ask(page: Page, text: str = "What do I like?") -> None:
    """Where a view takes a question, ask one."""
    box = page.locator(".main form textarea").first
    if box.count() and box.is_visible():
        box.fill(text)
        page.locator(".main form button[type=submit]").first.click()
        settle(page)


def _look_around(
    page: Page, view: View, where: str, look: Callable[[str], None], steps: int
) -> None:
    scroll(page, steps)
    look(where)
    address = page.url
    closed = page.locator(".main [aria-expanded=false]:visible")
    opens = min(_MOST_DISCLOSURES, closed.count())
    for _ in range(opens):
        if closed.count():
            closed.first.click()
            settle(page)
    if opens:
        look(f"{where}, opened")
    page.keyboard.press("Escape")
    rows = page.locator(".main .virtual-row.opens:visible")
    for index in range(min(_MOST_ROWS, rows.count())):
        if index >= rows.count():
            break
        rows.nth(index).click(position={"x": 6, "y": 6})
        settle(page)
        scroll(page, steps)
        look(f"{where}, row {index + 1}")
        page.keyboard.press("Escape")
        if page.url != address:
            page.evaluate("(address) => { location.href = address; }", address)
            settle(page)


# What opens on top of a view


def _fact(page: Page, server: Server) -> None:
    _, found = server.api()("GET", f"/v1/memories?user_id={USER}&tiers=fact&limit=1")
    go(page, BY_ID["timeline"], id=found["memories"][0]["id"])


def _edit(page: Page, server: Server) -> Locator:
    _fact(page, server)
    page.get_by_role("button", name="Edit", exact=True).click()
    return page.get_by_label("Text", exact=True)


def _forget(page: Page, server: Server) -> Locator:
    _fact(page, server)
    page.get_by_role("button", name="Forget", exact=True).click()
    return page.get_by_role("dialog", name=re.compile("^Forget"))


def _merge(page: Page, server: Server) -> Locator:
    go(page, BY_ID["graph"])
    page.locator(".graph-row-name").first.click()
    page.locator(".graph-card").get_by_role("button", name="Merge with").click()
    page.get_by_role("combobox", name="The other entity").fill("a")
    page.locator(".graph-offers [role=option]").first.click()
    return page.get_by_role("dialog", name="Merge two entities")


def _opened_by(view: str, button: str, dialog: str, **params: str) -> Opens:
    def opens(page: Page, server: Server) -> Locator:
        go(page, BY_ID[view], **params)
        page.locator(".main").get_by_role("button", name=button).first.click()
        return page.get_by_role("dialog", name=dialog)

    return opens


BY_ID = {view.id: view for view in VIEWS}
#: By a name for each; what they open is left with Escape.
DIALOGS: dict[str, Opens] = {
    "edit": _edit,
    "forget": _forget,
    "merge": _merge,
    "merges": _opened_by("graph", "Merges", "Names taken for one"),
    "erase": _opened_by("operations", "Erase…", f"Erase everything of {USER}?", tab="erase"),
    "new-key": _opened_by("operations", "New key", "New key", tab="keys"),
    "rotate": _opened_by("operations", "Rotate", "", tab="keys"),
    "field": _opened_by("profile", "Set a field", "Set a field"),
    "instruction": _opened_by("profile", "Add an instruction", "Add an instruction", tab="rules"),
}
