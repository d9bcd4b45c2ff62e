"""What somebody with bad intent stores or sends must not stop the page, nor mislead it."""

import re
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Dialog, Page, Route, expect

from tests.window.conftest import USER, Server, SignIn, Watch
from tests.window.told import served, told_store

pytestmark = pytest.mark.slow


def stored(server: Server, text: str) -> str:
    status, found = server.api("write")(
        "POST", "/v1/memories", {"messages": [{"role": "user", "content": text}]}
    )
    assert status in (200, 201, 202), found
    return str(found["events"][0])


def opened(page: Page, server: Server, memory: str) -> float:
    """Seconds until the memory is shown and the page answers again."""
    began = time.monotonic()
    page.goto(f"{server.url}/#/timeline?id={memory}")
    expect(page.locator(".memory-text .prose").first).to_be_visible()
    page.evaluate("document.body.getBoundingClientRect().height")
    return time.monotonic() - began


# Text that is long to lay out


def test_a_letter_under_many_marks_is_shown_shortened(
    empty_server: Server, sign_in: SignIn
) -> None:
    memory = stored(empty_server, "Z" + "\u0300" * 100_000)
    page = sign_in(empty_server, "write", "timeline")
    assert opened(page, empty_server, memory) < 3
    words = page.locator(".memory-text .prose")
    expect(words).to_contain_text("Z" + "\u0300" * 8 + "⟨+")
    page.get_by_role("button", name="Show more (").click()
    expect(words).to_contain_text("⟨+19,991 marks⟩")
    expect(page.get_by_role("button", name="left)")).to_be_visible()


def test_a_long_text_is_shown_in_pieces(empty_server: Server, sign_in: SignIn) -> None:
    text = "".join(f"{number} 😀 words of it. " for number in range(10_000))
    memory = stored(empty_server, text)
    page = sign_in(empty_server, "write", "timeline")
    assert opened(page, empty_server, memory) < 3
    words = page.locator(".memory-text .prose")
    assert len(words.inner_text().encode("utf-16-le")) // 2 <= 4_000
    page.get_by_role("button", name="Show more (").click()
    expect(words).to_have_count(1)
    page.get_by_role("button", name="left)").click()
    expect(words).to_have_count(2)
    shown = "".join(words.all_text_contents())
    assert text.startswith(shown)
    assert len(shown) > 30_000
    page.get_by_role("button", name="Show less").click()
    expect(words).to_have_count(1)


# Words that every object knows


def test_a_reason_named_like_what_objects_have_is_only_a_word(
    tmp_path: Path, sign_in: SignIn
) -> None:
    (tmp_path / "served").mkdir()
    server = served(told_store(tmp_path), tmp_path / "served")
    try:
        call = server.api("write")
        _, found = call("GET", "/v1/facts")
        for fact, reason in zip(found["facts"], ("constructor", "__proto__"), strict=False):
            status, _ = call("POST", f"/v1/facts/{fact['id']}/invalidate", {"reason": reason})
            assert status == 200
        page = sign_in(server, "write", "changes")
        expect(page.get_by_text("Constructor").first).to_be_visible()
        expect(page.get_by_text("This view has a defect")).to_have_count(0)
        page.close()  # Before its server: what it still asks for is no defect.
    finally:
        server.stop()


# Addresses


@pytest.mark.parametrize("at", ["x", "NaN", "2026-13-45", "2026-02-30"])
def test_what_is_no_day_is_now(server: Server, sign_in: SignIn, at: str) -> None:
    page = sign_in(server, "operator", "graph")
    expect(page.locator(".graph-time output")).to_have_text("now")
    page.evaluate(f"location.hash = '#/graph?user={USER}&at={at}'")
    expect(page.locator(".graph-time output")).to_have_text("now")
    expect(page.get_by_text("This view has a defect")).to_have_count(0)


# Several tabs, one session


def signed_in_beside(page: Page, server: Server, secret: str) -> None:
    """As another tab of the same browser would, without telling this one."""
    status = page.evaluate(
        """async (key) => (await fetch('/v1/sign-in', {method: 'POST', body: JSON.stringify({key}),
            headers: {'content-type': 'application/json', 'x-holdfast-request': '1'}})).status""",
        secret,
    )
    assert status == 204


def test_an_act_never_lands_in_the_memory_of_whoever_signed_in_beside(
    own_server: Server, sign_in: SignIn, watch: Watch
) -> None:
    watch.allow("status of 403")
    _, bob = own_server.api()("POST", "/v1/keys", {"role": "write", "user_id": "bob"})
    page = sign_in(own_server, "write", "profile")
    page.get_by_role("button", name="Set a field").click()
    dialog = page.get_by_role("dialog", name="Set a field")
    dialog.get_by_label("Field").select_option("languages")
    dialog.get_by_label("Value").fill("Danish")
    signed_in_beside(page, own_server, bob["key"])
    with page.expect_response(re.compile("/v1/profile/languages")) as sent:
        dialog.get_by_role("button", name="Set", exact=True).click()
    assert sent.value.status == 403
    # The tab notices, and is the other one's from then on.
    expect(page.locator(".whose-user")).to_have_text("bob")
    for user in ("bob", USER):
        _, profile = own_server.api()("GET", f"/v1/profile?user_id={user}")
        assert "Danish" not in str(profile)


def test_another_key_of_the_same_user_is_taken_over(own_server: Server, sign_in: SignIn) -> None:
    page = sign_in(own_server, "write", "profile")
    expect(page.get_by_role("button", name="Set a field")).to_be_visible()
    signed_in_beside(page, own_server, own_server.keys["read"])
    page.evaluate("dispatchEvent(new Event('focus'))")
    expect(page.get_by_role("button", name="Key: read")).to_be_visible()
    expect(page.get_by_role("button", name="Set a field")).to_have_count(0)


def test_a_sign_out_in_one_tab_empties_the_others_and_keeps_drafts(
    own_server: Server, sign_in: SignIn, watch: Watch
) -> None:
    watch.allow("status of 401")
    page = sign_in(own_server, "write", "timeline")
    expect(page.locator(".timeline-text").first).to_be_visible()
    words = page.locator(".timeline-text").first.inner_text()[:40]
    page.evaluate("location.hash = '#/ask'")
    page.get_by_role("textbox").first.fill("half a question")
    page.evaluate("location.hash = '#/timeline'")
    expect(page.locator(".timeline-text").first).to_be_visible()
    other = page.context.new_page()
    other.goto(own_server.url)
    other.get_by_role("button", name="Key: write").click()
    other.get_by_role("button", name="Sign out").click()
    expect(other.get_by_label("Key", exact=True)).to_be_visible()
    again = page.get_by_role("dialog", name="Sign in again")
    expect(again).to_be_visible()
    expect(page.locator(".shell")).to_have_count(0)
    assert words not in page.content()
    again.get_by_label("Key", exact=True).fill(own_server.keys["write"])
    again.get_by_role("button", name="Sign in").click()
    expect(page.locator(".timeline-text").first).to_be_visible()
    page.evaluate("location.hash = '#/ask'")
    expect(page.get_by_role("textbox").first).to_have_value("half a question")


# What is shown once


def test_a_secret_waits_for_who_looks_elsewhere_and_is_not_left_by_mistake(
    own_server: Server, sign_in: SignIn, slowly: Callable[[str, float], None]
) -> None:
    page = sign_in(own_server, "operator", "operations", tab="keys")
    asked: list[str] = []

    def stay(dialog: Dialog) -> None:
        asked.append(dialog.type)
        dialog.dismiss()

    page.on("dialog", stay)
    slowly("**/rotate", 1.5)
    row = page.get_by_role("list", name="Keys").get_by_role("listitem").filter(has_text="read")
    row.get_by_role("button", name=re.compile("Rotate")).first.click()
    page.get_by_role("dialog").get_by_role("button", name="Rotate").click()
    page.evaluate("location.hash = '#/ask?user=mara'")
    expect(page.locator(".toast")).to_contain_text("The new secret of a key is there")
    page.evaluate("setTimeout(() => location.reload(), 0)")
    page.wait_for_timeout(500)
    assert asked == ["beforeunload"]
    page.locator(".toast").get_by_role("button", name="Show").click()
    shown = page.get_by_role("dialog", name="Copy the key now")
    own_server.keys["rotated"] = shown.get_by_label("The key").inner_text()
    assert own_server.api("rotated")("GET", "/v1/whoami")[0] == 200
    shown.get_by_role("button", name="I have it").click()
    page.reload()
    assert asked == ["beforeunload"]
    expect(page.get_by_role("list", name="Keys")).to_be_visible()


def test_a_receipt_waits_for_who_looks_elsewhere(own_server: Server, sign_in: SignIn) -> None:
    page = sign_in(own_server, "operator", "operations", tab="erase")
    page.get_by_role("button", name="Erase…").click()
    ask = page.get_by_role("dialog", name=f"Erase everything of {USER}?")
    ask.get_by_role("textbox").fill(USER)
    ask.get_by_role("button", name="Erase for good").click()
    page.evaluate("location.hash = '#/operations?user=ann&tab=audit'")
    page.evaluate("location.hash = '#/operations?user=ann&tab=erase'")
    expect(page.get_by_text(f"Everything of {USER} is gone")).to_be_visible()
    page.get_by_role("button", name="I have it").click()
    expect(page.get_by_text(f"Everything of {USER} is gone")).to_have_count(0)


def lose_the_first_answer(page: Page, to: str) -> None:
    """The server does what is posted first, and nobody hears of it."""
    lost: list[bool] = []

    def lose(route: Route) -> None:
        if route.request.method == "POST" and not lost:
            lost.append(True)
            route.fetch()
            route.abort()
        else:
            route.continue_()

    page.route(to, lose)


def test_a_key_whose_answer_was_lost_is_told_and_another_can_be_made(
    own_server: Server, sign_in: SignIn, watch: Watch
) -> None:
    watch.allow("ERR_")
    page = sign_in(own_server, "operator", "operations", tab="keys")
    lose_the_first_answer(page, "**/v1/keys")
    page.get_by_role("button", name="New key").click()
    form = page.get_by_role("dialog", name="New key")
    form.get_by_label("Label").fill("train")
    form.get_by_role("button", name="Make the key").click()
    expect(form).to_contain_text("can be revoked there")
    form.get_by_role("button", name="Make the key").click()
    shown = page.get_by_role("dialog", name="Copy the key now")
    expect(shown).to_be_visible()
    shown.get_by_role("button", name="I have it").click()
    rows = page.get_by_role("list", name="Keys").get_by_role("listitem")
    expect(rows.filter(has_text="train")).to_have_count(2)


def test_a_rule_whose_answer_was_lost_is_stored_once(
    own_server: Server, sign_in: SignIn, watch: Watch
) -> None:
    watch.allow("ERR_")
    page = sign_in(own_server, "write", "profile", tab="rules")
    lose_the_first_answer(page, "**/v1/memories")
    page.get_by_role("button", name="Add an instruction").first.click()
    form = page.get_by_role("dialog", name="Add an instruction")
    form.get_by_label("In the user’s words").fill("Always answer in Danish.")
    form.get_by_role("button", name="Add", exact=True).click()
    expect(form.get_by_role("alert")).to_be_visible()
    form.get_by_role("button", name="Cancel").click()
    page.get_by_role("button", name="Add an instruction").first.click()
    form.get_by_role("button", name="Add", exact=True).click()
    expect(form).to_have_count(0, timeout=60_000)
    _, found = own_server.api("write")("GET", "/v1/memories?tiers=session&limit=500")
    said = [each["content"] for each in found["memories"]]
    assert said.count("Always answer in Danish.") == 1
