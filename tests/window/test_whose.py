"""Whose memory something is done to, and who sees what a tab has kept."""

from __future__ import annotations

import re
import time

import pytest
from playwright.sync_api import Route, expect

from tests.window.conftest import USER, Server, SignIn, Watch

pytestmark = [pytest.mark.slow, pytest.mark.timeout(120)]


@pytest.mark.parametrize("meanwhile", [False, True], ids=["then", "meanwhile"])
def test_an_undo_is_done_to_whom_the_act_was_done(
    own_server: Server, sign_in: SignIn, meanwhile: bool
) -> None:
    page = sign_in(own_server, "operator", "profile")
    under_way: list[Route] = []
    page.route(
        "**/v1/profile/languages*",
        lambda route: under_way.append(route) if meanwhile else route.continue_(),
    )
    page.get_by_role("button", name="Set a field").click()
    dialog = page.get_by_role("dialog", name="Set a field")
    dialog.get_by_label("Field").select_option("languages")
    dialog.get_by_label("Value").fill("Danish")
    with page.expect_request("**/v1/profile/languages*"):
        dialog.get_by_role("button", name="Set", exact=True).click()
    undo = page.get_by_role("button", name="Undo", exact=True).first
    if not meanwhile:
        expect(undo).to_be_visible()
    api = own_server.api()
    assert api("PUT", "/v1/profile/languages", {"user_id": "bob", "value": ["Basque"]})[0] == 200
    page.evaluate("location.hash = '#/profile?user=bob'")
    expect(page.get_by_text("Basque", exact=True)).to_be_visible()
    for route in under_way:
        route.continue_()
    page.unroute("**/v1/profile/languages*")
    undo.click()
    expect(page.get_by_text("Undone.")).to_be_visible()
    _, bob = api("GET", "/v1/profile?user_id=bob")
    assert bob["fields"]["languages"]["values"] == ["Basque"]
    _, mara = api("GET", f"/v1/profile?user_id={USER}")
    assert "languages" not in mara["fields"]


def test_a_tab_follows_when_another_signs_in_as_somebody_else(
    own_server: Server, sign_in: SignIn
) -> None:
    page = sign_in(own_server, "operator", "profile")
    assert page.evaluate("sessionStorage.length") > 0
    other = page.context.new_page()
    other.goto(own_server.url)
    status = other.evaluate(
        """async (key) => (await fetch('/v1/sign-in', {method: 'POST', body: JSON.stringify({key}),
            headers: {'content-type': 'application/json', 'x-holdfast-request': '1'}})).status""",
        own_server.keys["read"],
    )
    assert status == 204
    other.close()
    page.evaluate("dispatchEvent(new Event('focus'))")
    expect(page.locator(".whose-user")).to_have_text(USER)
    expect(page.get_by_role("button", name="Set a field")).to_have_count(0)


def test_nothing_lies_over_a_receipt_and_a_secret_that_are_shown_once(
    own_server: Server, sign_in: SignIn, watch: Watch
) -> None:
    watch.allow("status of 401")
    page = sign_in(own_server, "admin", "operations", tab="erase")
    refused: list[str] = []
    page.on("response", lambda answer: refused.append(answer.url) if answer.status == 401 else None)
    page.get_by_role("button", name="Erase…").click()
    ask = page.get_by_role("dialog", name=f"Erase everything of {USER}?")
    ask.get_by_role("textbox").fill(USER)
    ask.get_by_role("button", name="Erase for good").click()
    expect(page.get_by_text(f"Everything of {USER} is gone")).to_be_visible()
    # Its key goes with the user; that is noticed within a moment.
    deadline = time.monotonic() + 20
    while not refused:
        assert time.monotonic() < deadline
        page.evaluate("dispatchEvent(new Event('focus'))")
        page.wait_for_timeout(50)
    expect(page.get_by_role("link", name="Download")).to_be_visible()
    expect(page.get_by_role("dialog", name="Sign in again")).to_have_count(0)
    page.evaluate("location.hash = '#/ask'")
    expect(page.get_by_role("dialog", name="Sign in again")).to_be_visible()


def test_an_address_changes_nothing_of_the_page_itself(server: Server, sign_in: SignIn) -> None:
    tune = '{"numbers":{"__proto__.timeoutMs":1,"constructor.prototype.timeoutMs":1}}'
    page = sign_in(server, "read", "ask", q="kitchen", tune=tune)
    page.get_by_role("textbox").first.fill("Which workshop makes the cabinets?")
    page.get_by_role("button", name="Ask", exact=True).click()
    expect(page.get_by_role("tab", name=re.compile("In the block"))).to_be_visible()
    assert page.evaluate("({}).timeoutMs === undefined")
