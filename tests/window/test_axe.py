"""axe-core over every view and what opens in it: nothing serious, light, dark or narrow.

The same way takes the pictures of every view, with `HOLDFAST_SCREENSHOTS=folder`.
"""

from __future__ import annotations

import re
from importlib.resources import files
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.window.conftest import NARROW, WIDE, Camera, Server, SignIn
from tests.window.touring import DIALOGS, VIEWS, View, go, settle, tour

pytestmark = pytest.mark.slow

#: As PyPI ships it; it is injected by the browser's debugger, past the page's policy.
AXE = (files("axe_playwright_python") / "axe.min.js").read_text()
SERIOUS = {"serious", "critical"}


#: What depends on the scheme: the rest of what axe looks at is the same light and dark.
COLOURS = {"type": "rule", "values": ["color-contrast", "link-in-text-block"]}


def findings(page: Page, where: str, only: dict[str, Any] | None = None) -> list[str]:
    """What axe says of the page as it is, one line for each element."""
    if not page.evaluate("'axe' in window"):
        page.evaluate(AXE)
    options = {"resultTypes": ["violations"]} | ({"runOnly": only} if only else {})
    found: list[dict[str, Any]] = page.evaluate(
        "async (options) => (await axe.run(document, options)).violations", options
    )
    return [
        f"{where}: {each['id']} ({each['impact']}) {node['target']} {node['html'][:140]}"
        for each in found
        if each["impact"] in SERIOUS
        for node in each["nodes"]
    ]


class Examined:
    """What axe says of a page light and dark, and where it asked."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.places: list[str] = []
        self.found: dict[str, None] = {}

    def look(self, where: str) -> None:
        self.places.append(where)
        self._note(findings(self.page, where))
        self.page.emulate_media(color_scheme="dark", reduced_motion="reduce")
        self._note(findings(self.page, f"{where}, dark", COLOURS))
        self.page.emulate_media(color_scheme="light", reduced_motion="reduce")

    def look_narrow(self, where: str) -> None:
        self.page.set_viewport_size({"width": NARROW[0], "height": NARROW[1]})
        self._note(findings(self.page, f"{where}, narrow"))
        self.page.set_viewport_size({"width": WIDE[0], "height": WIDE[1]})

    def check(self) -> None:
        assert not self.found, "\n".join(self.found)

    def _note(self, found: list[str]) -> None:
        self.found.update(dict.fromkeys(found))


@pytest.mark.parametrize("view", VIEWS, ids=lambda view: view.id)
def test_a_view_has_nothing_serious(
    server: Server, sign_in: SignIn, camera: Camera, view: View
) -> None:
    page = sign_in(server, "operator")
    examined = Examined(page)

    def look(where: str) -> None:
        examined.look(where)
        if where == view.id:
            examined.look_narrow(where)
        if not where.endswith((", opened", ", row 1", ", row 2")):  # Each tab once.
            camera.every_way("-".join(["tour", *re.findall("[a-z]+", where.lower())]))

    tour(page, view, look, steps=2)
    assert view.id in examined.places
    examined.check()


def test_the_shell_has_nothing_serious(server: Server, page: Page, sign_in: SignIn) -> None:
    examined = Examined(page)
    page.goto(server.url)
    expect(page.get_by_label("Key", exact=True)).to_be_visible()
    examined.look("sign-in")
    sign_in(server, "operator", user="")
    examined.look("whose memory")
    page.get_by_role("button", name="Key: operator").click()
    examined.look("menu")
    page.keyboard.press("Escape")
    page.keyboard.press("?")
    expect(page.get_by_role("dialog", name="Keys")).to_be_visible()
    examined.look("keys")
    page.keyboard.press("Escape")
    go(page, View("nowhere", "Not found", False))
    examined.look("no view")
    examined.check()


def test_what_opens_on_top_has_nothing_serious(
    server: Server, sign_in: SignIn, camera: Camera
) -> None:
    page = sign_in(server, "operator")
    examined = Examined(page)
    for name, opens in DIALOGS.items():
        expect(opens(page, server)).to_be_visible()
        settle(page)
        examined.look(name)
        examined.look_narrow(name)
        camera.every_way(f"dialog-{name}")
        while page.locator(".dialog").count():
            page.keyboard.press("Escape")
    examined.check()


def test_axe_finds_what_is_wrong(server: Server, sign_in: SignIn) -> None:
    page = sign_in(server, "operator")
    page.evaluate("document.querySelector('.main').append(document.createElement('input'))")
    assert any("label" in each for each in findings(page, "broken"))
