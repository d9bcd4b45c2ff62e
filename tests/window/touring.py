"""Goes through every view of the window as it is, without knowing what is in them."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from playwright.sync_api import Page, expect

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


def tour(page: Page, view: View, look: Callable[[str], None], *, steps: int = 12) -> None:
    """A view with all its tabs, some of what opens, and its answer to a question.

    `look` is called with words for where we are, whenever there is something new to see.
    """
    go(page, view)
    ask(page)
    tabs = page.locator(".main .page > * [role=tab], .main [role=tab]")
    _look_around(page, view, view.id, look, steps)
    for index in range(tabs.count()):
        if index >= tabs.count():
            break  # What tabs there are may depend on the one that is open.
        name = tabs.nth(index).inner_text().strip()
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
    for _ in range(min(_MOST_DISCLOSURES, closed.count())):
        if closed.count():
            closed.first.click()
            settle(page)
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
