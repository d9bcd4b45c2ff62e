"""axe-core over every view, light and dark: nothing serious, nothing critical."""

from __future__ import annotations

from importlib.resources import files
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.window.conftest import NARROW, WIDE, Server, SignIn
from tests.window.touring import VIEWS, View, go, tour

pytestmark = pytest.mark.slow

#: As PyPI ships it; it is injected by the browser's debugger, past the page's policy.
AXE = (files("axe_playwright_python") / "axe.min.js").read_text()
SERIOUS = {"serious", "critical"}


def findings(page: Page, where: str) -> list[str]:
    """What axe says of the page as it is, one line for each element."""
    if not page.evaluate("'axe' in window"):
        page.evaluate(AXE)
    found: list[dict[str, Any]] = page.evaluate(
        "async () => (await axe.run(document, {resultTypes: ['violations']})).violations"
    )
    return [
        f"{where}: {each['id']} ({each['impact']}) {node['target']} {node['html'][:140]}"
        for each in found
        if each["impact"] in SERIOUS
        for node in each["nodes"]
    ]


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("view", VIEWS, ids=lambda view: view.id)
def test_a_view_has_nothing_serious(
    server: Server, sign_in: SignIn, view: View, scheme: str
) -> None:
    page = sign_in(server, "operator")
    page.emulate_media(color_scheme=scheme, reduced_motion="reduce")  # type: ignore[arg-type]
    found: dict[str, None] = {}
    tour(page, view, lambda where: found.update(dict.fromkeys(findings(page, where))), steps=2)
    assert not found, "\n".join(found)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_shell_has_nothing_serious(
    server: Server, page: Page, sign_in: SignIn, scheme: str
) -> None:
    page.emulate_media(color_scheme=scheme, reduced_motion="reduce")  # type: ignore[arg-type]
    page.goto(server.url)
    expect(page.get_by_label("Key", exact=True)).to_be_visible()
    found = findings(page, "sign-in")
    sign_in(server, "operator", user="")
    found += findings(page, "whose memory")
    page.get_by_role("button", name="Key: operator").click()
    found += findings(page, "menu")
    page.keyboard.press("Escape")
    page.keyboard.press("?")
    expect(page.get_by_role("dialog", name="Keys")).to_be_visible()
    found += findings(page, "keys")
    page.keyboard.press("Escape")
    go(page, View("nowhere", "Not found", False))
    found += findings(page, "no view")
    assert not found, "\n".join(found)


def test_a_narrow_page_has_nothing_serious(server: Server, sign_in: SignIn) -> None:
    page = sign_in(server, "operator")
    page.set_viewport_size({"width": NARROW[0], "height": NARROW[1]})
    found = []
    for view in VIEWS:
        go(page, view)
        found += findings(page, f"{view.id}, narrow")
    page.set_viewport_size({"width": WIDE[0], "height": WIDE[1]})
    assert not found, "\n".join(found)


def test_axe_finds_what_is_wrong(server: Server, sign_in: SignIn) -> None:
    page = sign_in(server, "operator")
    page.evaluate("document.querySelector('.main').append(document.createElement('input'))")
    assert any("label" in each for each in findings(page, "broken"))
