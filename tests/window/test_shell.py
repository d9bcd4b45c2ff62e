"""The shell of the window: sign-in, theme, keys, narrow screens, a server that goes and comes."""

import re

import pytest
from playwright.sync_api import Page, expect

from tests.window.conftest import GONE, NARROW, USER, Camera, Server, SignIn, Watch

pytestmark = pytest.mark.slow

VIEWS = {
    "a": "Ask", "t": "Timeline", "c": "What changed", "g": "Graph",
    "p": "Profile", "o": "Operations",
}  # fmt: skip


def stored(page: Page) -> str:
    """All that the page can get at: storage, address, cookies, what it shows."""
    script = """() => JSON.stringify([{...localStorage}, {...sessionStorage}, location.href,
        document.cookie, document.documentElement.outerHTML,
        ...[...document.querySelectorAll('input')].map((each) => each.value)])"""
    return str(page.evaluate(script))


def here(page: Page, title: str) -> None:
    current = page.locator(".nav-link[aria-current=page] .nav-title")
    expect(current).to_have_text(title)


def test_a_key_signs_in_and_is_nowhere_afterwards(
    server: Server, sign_in: SignIn, camera: Camera
) -> None:
    page = sign_in(server, "write")
    expect(page.get_by_role("heading", name="Ask", level=1)).to_be_visible()
    assert server.keys["write"] not in stored(page)
    (cookie,) = page.context.cookies()
    assert (cookie["httpOnly"], cookie["sameSite"]) == (True, "Strict")
    camera.every_way("shell")
    page.reload()
    expect(page.get_by_role("heading", name="Ask", level=1)).to_be_visible()


def test_a_wrong_key_is_refused_in_words_that_help(
    server: Server, page: Page, watch: Watch, camera: Camera
) -> None:
    watch.allow(r"status of 401 .*/v1/sign-in$")
    page.goto(server.url)
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_role("alert")).to_contain_text("Paste a key first")
    page.get_by_label("Key", exact=True).fill("rk_wrong")
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_role("alert")).to_contain_text("wrong, has expired or was revoked")
    expect(page.get_by_role("navigation", name="Views")).to_have_count(0)
    assert page.context.cookies() == []
    camera.every_way("sign-in-refused")


def test_too_many_who_sign_in_are_told_when_to_try_again(
    server: Server, page: Page, watch: Watch
) -> None:
    watch.allow(r"status of 503 .*/v1/sign-in$")
    page.goto(server.url)
    body = '{"error": "64 are signing in, which is the limit: try again"}'
    page.route(
        "**/v1/sign-in",
        lambda route: route.fulfill(
            status=503, body=body, content_type="application/json", headers={"retry-after": "30"}
        ),
    )
    page.get_by_label("Key", exact=True).fill(server.keys["read"])
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_role("alert")).to_contain_text("Too many tries")
    expect(page.get_by_role("button", name=re.compile(r"Try again in \d+ s"))).to_be_disabled()


def test_signing_out_leaves_nothing(server: Server, sign_in: SignIn) -> None:
    page = sign_in(server, "read")
    page.evaluate("sessionStorage.setItem('holdfast.draft.x', '\"secret plan\"')")
    page.get_by_role("button", name="Key: read").click()
    expect(page.get_by_role("dialog", name="Who you are")).to_contain_text(USER)
    page.get_by_role("button", name="Sign out").click()
    expect(page.get_by_label("Key", exact=True)).to_be_visible()
    assert page.context.cookies() == []
    assert "secret plan" not in stored(page)
    assert page.request.get(f"{server.url}/v1/whoami").status == 401


def test_an_operator_chooses_whose_memory_is_shown(
    server: Server, sign_in: SignIn, camera: Camera
) -> None:
    page = sign_in(server, "operator", user="")
    expect(page.get_by_role("heading", name="Whose memory?")).to_be_visible()
    expect(page.get_by_role("button", name="mara", exact=True)).to_be_visible()
    expect(page.locator("#known-users option[value=mara]")).to_have_count(1)
    camera.every_way("whose-memory")
    page.get_by_label("User", exact=True).fill("mara")
    page.get_by_role("button", name="Show").click()
    expect(page).to_have_url(re.compile(r"#/ask\?user=mara$"))
    page.get_by_role("link", name="Timeline").click()
    expect(page).to_have_url(re.compile(r"#/timeline\?user=mara$"))
    box = page.get_by_label("User whose memory is shown")
    box.fill("דנה & Søren")
    box.press("Enter")
    page.reload()
    expect(box).to_have_value("דנה & Søren")


def test_a_key_of_one_user_offers_no_other(server: Server, sign_in: SignIn) -> None:
    page = sign_in(server, "read")
    expect(page.get_by_label("User whose memory is shown")).to_have_count(0)
    expect(page.locator(".whose-user")).to_have_text(USER)


def test_the_theme_follows_the_system_until_one_is_chosen(server: Server, sign_in: SignIn) -> None:
    page = sign_in(server, "read")
    ground = "getComputedStyle(document.body).backgroundColor"
    light = page.evaluate(ground)
    page.emulate_media(color_scheme="dark")
    dark = page.evaluate(ground)
    assert light != dark
    switch = page.locator(".theme-switch")
    switch.click()
    assert page.evaluate(ground) == light
    page.reload()
    expect(page.get_by_role("navigation", name="Views")).to_be_visible()
    assert page.evaluate(ground) == light
    switch.click()
    page.emulate_media(color_scheme="light")
    assert page.evaluate(ground) == dark
    switch.click()
    assert page.evaluate(ground) == light


def test_every_view_is_a_key_away(server: Server, sign_in: SignIn, camera: Camera) -> None:
    page = sign_in(server, "read")
    for letter, title in VIEWS.items():
        page.keyboard.press("g")
        page.keyboard.press(letter)
        here(page, title)
        expect(page).to_have_title(f"{title} · Holdfast")
    page.keyboard.press("?")
    keys = page.get_by_role("dialog", name="Keys")
    expect(keys).to_be_visible()
    camera("keys")
    for _ in range(4):  # The focus stays in the dialog.
        page.keyboard.press("Tab")
        assert page.evaluate("document.activeElement.closest('.dialog') !== null")
    page.keyboard.press("Escape")
    expect(keys).to_have_count(0)
    page.go_back()
    here(page, "Profile")


def test_slash_goes_to_the_search_box_and_letters_in_it_are_letters(
    server: Server, sign_in: SignIn
) -> None:
    page = sign_in(server, "operator", user="")
    expect(page.get_by_role("heading", name="Whose memory?")).to_be_visible()
    page.keyboard.press("/")
    page.keyboard.type("gto?/")
    expect(page.get_by_label("User", exact=True)).to_have_value("gto?/")
    here(page, "Ask")


def test_a_narrow_screen_has_everything(server: Server, sign_in: SignIn, camera: Camera) -> None:
    page = sign_in(server, "operator")
    page.set_viewport_size({"width": NARROW[0], "height": NARROW[1]})
    links = page.get_by_role("navigation", name="Views").get_by_role("link")
    expect(links).to_have_count(len(VIEWS))
    for index in range(len(VIEWS)):
        links.nth(index).click()
        box = links.nth(index).bounding_box()
        assert box is not None
        assert box["width"] >= 44
        assert box["height"] >= 40
        assert box["x"] + box["width"] <= NARROW[0]
        assert page.evaluate("document.documentElement.scrollWidth") <= NARROW[0]
    page.get_by_role("button", name="Key: operator").click()
    expect(page.get_by_role("button", name="Sign out")).to_be_in_viewport()
    camera("menu-narrow")


def test_an_address_that_leads_nowhere_says_so(server: Server, sign_in: SignIn) -> None:
    page = sign_in(server, "read", "<img src=x onerror=alert(1)>")
    expect(page.get_by_text("There is no such view")).to_be_visible()
    page.get_by_role("button", name="Go to Ask").click()
    here(page, "Ask")


def test_a_server_that_is_gone_is_told_and_found_again(
    own_server: Server, sign_in: SignIn, watch: Watch, camera: Camera
) -> None:
    watch.allow(GONE)
    page = sign_in(own_server, "write")
    own_server.stop()
    page.evaluate("dispatchEvent(new Event('focus'))")
    banner = page.locator(".banner.bad")
    expect(banner).to_contain_text("The server does not answer. Trying again")
    camera("server-gone")
    own_server.start()
    banner.get_by_role("button", name="Try now").click()
    # Sessions end with the service: a key is asked for on top of what is open.
    again = page.get_by_role("dialog", name="Sign in again")
    expect(again).to_be_visible()
    expect(page.locator(".banner.bad")).to_have_count(0)
    again.get_by_label("Key", exact=True).fill(own_server.keys["write"])
    again.get_by_role("button", name="Sign in").click()
    expect(again).to_have_count(0)
    here(page, "Ask")


def test_a_revoked_key_is_noticed_and_what_was_typed_stays(
    own_server: Server, sign_in: SignIn, watch: Watch, camera: Camera
) -> None:
    watch.allow("status of 401")
    page = sign_in(own_server, "operator", user="")
    page.get_by_label("User", exact=True).fill("half a na")
    api = own_server.api("operator")
    _, made = api("POST", "/v1/keys", {"role": "admin"})
    _, me = api("GET", "/v1/whoami")
    own_server.keys["operator"] = made["key"]
    assert own_server.api("operator")("DELETE", f"/v1/keys/{me['key_id']}")[0] == 200
    page.evaluate("dispatchEvent(new Event('focus'))")
    again = page.get_by_role("dialog", name="Sign in again")
    expect(again).to_contain_text("What you typed is still here")
    camera.every_way("signed-out")
    again.get_by_label("Key", exact=True).fill(made["key"])
    again.get_by_role("button", name="Sign in").click()
    expect(again).to_have_count(0)
    expect(page.get_by_label("User", exact=True)).to_have_value("half a na")


def test_somebody_else_who_signs_in_finds_nothing_of_the_one_before(
    own_server: Server, sign_in: SignIn, watch: Watch
) -> None:
    watch.allow("status of 401")
    page = sign_in(own_server, "operator", user="")
    page.get_by_label("User", exact=True).fill("half a na")
    own_server.stop()
    own_server.start()
    watch.allow(GONE)
    page.evaluate("dispatchEvent(new Event('focus'))")
    again = page.get_by_role("dialog", name="Sign in again")
    again.get_by_label("Key", exact=True).fill(own_server.keys["read"])
    again.get_by_role("button", name="Sign in").click()
    expect(page.locator(".whose-user")).to_have_text(USER)
    assert "half a na" not in stored(page)


def test_no_server_at_sign_in_keeps_the_key_in_the_box(
    own_server: Server, page: Page, watch: Watch
) -> None:
    watch.allow(GONE)
    page.goto(own_server.url)
    key = page.get_by_label("Key", exact=True)
    key.fill(own_server.keys["write"])
    own_server.stop()
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_role("alert")).to_contain_text("No server answers at")
    own_server.start()
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_role("navigation", name="Views")).to_be_visible()


def test_a_view_that_cannot_be_loaded_offers_a_way_out(
    server: Server, sign_in: SignIn, watch: Watch
) -> None:
    watch.allow("ERR_FAILED|timeline-")
    page = sign_in(server, "read")
    page.route("**/assets/timeline-*.js", lambda route: route.abort())
    page.get_by_role("link", name="Timeline").click()
    expect(page.get_by_text("This view could not be loaded")).to_be_visible()
    page.unroute("**/assets/timeline-*.js")
    page.get_by_role("button", name="Reload the page").click()
    expect(page.get_by_role("heading", name="Timeline", level=1)).to_be_visible()
