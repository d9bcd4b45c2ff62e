"""Profile and instructions: fields with their sources, rules that are switched, procedures."""

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.window.conftest import GONE, Camera, Filled, Server, SignIn, Watch
from tests.window.told import ARABIC, JAPANESE, PAYLOADS, Poison, served, told_store

pytestmark = pytest.mark.slow

ENGLISH = "Answer in English from now on."


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> Filled:
    return told_store(tmp_path_factory.mktemp("told"))


@pytest.fixture(scope="module")
def shown(told: Filled, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """For those that only look."""
    server = served(told, tmp_path_factory.mktemp("shown"))
    yield server
    server.stop()


@pytest.fixture
def own(told: Filled, tmp_path: Path) -> Iterator[Server]:
    """For those that change something."""
    server = served(told, tmp_path)
    yield server
    server.stop()


def field(page: Page, name: str) -> Locator:
    return page.locator(".profile-field").filter(has=page.locator("dt", has_text=name))


def rule(page: Page, text: str) -> Locator:
    rows = page.get_by_role("list", name="Standing instructions").get_by_role("listitem")
    return rows.filter(has_text=text)


def fields(server: Server) -> dict[str, Any]:
    _, found = server.api("admin")("GET", "/v1/profile")
    return {name: each["values"] for name, each in found["fields"].items()}


def rules(server: Server) -> set[str]:
    _, found = server.api("admin")("GET", "/v1/memories?tiers=procedure&kind=instruction")
    return {each["content"] for each in found["memories"]}


def undo(page: Page) -> None:
    page.locator(".toast").get_by_role("button", name="Undo").last.click()
    expect(page.locator(".toast", has_text="Undone.").last).to_be_visible()


# The document


def test_a_field_shows_the_turn_it_comes_from(
    shown: Server, sign_in: SignIn, camera: Camera
) -> None:
    page = sign_in(shown, "write", "profile")
    home = field(page, "Home")
    expect(home.locator(".prose")).to_have_text("Lisbon")
    _, profile = shown.api("admin")("GET", "/v1/profile")
    turn = profile["fields"]["home"]["sources"][0]
    link = home.get_by_role("link", name="Turn 1 of: Home")
    expect(link).to_have_attribute("href", f"#/timeline?id={turn}")
    home.get_by_role("button", name="Words of: Home").click()
    expect(home.locator("blockquote")).to_have_text("I moved, I live in Lisbon now.")
    expect(page.get_by_role("heading", name="Summaries")).to_be_visible()
    camera.every_way("profile")


def test_the_profile_of_another_day_is_shown_and_not_changed(
    shown: Server, sign_in: SignIn
) -> None:
    page = sign_in(shown, "write", "profile")
    expect(field(page, "Home")).to_contain_text("Lisbon")
    page.get_by_label("As of which day").fill("2026-02-01")
    expect(field(page, "Home")).to_contain_text("Paris")
    expect(page.get_by_role("status").filter(has_text="what held on")).to_contain_text("1 Feb 2026")
    expect(page.get_by_role("button", name=re.compile("^(Edit|Set)"))).to_have_count(0)
    page.get_by_label("As of which day").fill("2025-02-01")
    expect(page.get_by_role("heading", name="Nothing was known then")).to_be_visible()
    page.get_by_role("button", name="Today").click()
    expect(field(page, "Home")).to_contain_text("Lisbon")


def test_a_field_is_set_edited_and_cleared(own: Server, sign_in: SignIn) -> None:
    page = sign_in(own, "write", "profile")
    page.get_by_role("button", name="Set a field").click()
    dialog = page.get_by_role("dialog", name="Set a field")
    dialog.get_by_label("Field").select_option("languages")
    dialog.get_by_label("Value").fill("Portuguese\nEnglish\n")
    dialog.get_by_role("button", name="Set", exact=True).click()
    languages = field(page, "Languages")
    expect(languages.get_by_role("listitem")).to_have_text(["Portuguese", "English"])
    expect(languages).to_contain_text("set by hand")

    languages.get_by_role("button", name="Edit Languages").click()
    dialog = page.get_by_role("dialog", name="Edit Languages")
    expect(dialog.get_by_label("Value")).to_have_value("Portuguese\nEnglish")
    dialog.get_by_label("Value").fill("Danish")
    dialog.get_by_role("button", name="Set", exact=True).click()
    expect(languages.locator(".prose")).to_have_text(["Danish"])
    undo(page)
    expect(languages.get_by_role("listitem")).to_have_text(["Portuguese", "English"])

    languages.get_by_role("button", name="Clear Languages").click()
    sure = page.get_by_role("dialog", name="Clear Languages?")
    expect(sure).to_contain_text("You can set it again at any time")
    sure.get_by_role("button", name="Clear", exact=True).click()
    expect(languages).to_have_count(0)
    assert "languages" not in fields(own)
    undo(page)
    expect(languages.get_by_role("listitem")).to_have_text(["Portuguese", "English"])


def test_a_field_of_facts_is_set_above_them_and_says_again_what_they_say(
    own: Server, sign_in: SignIn
) -> None:
    page = sign_in(own, "write", "profile")
    field(page, "Home").get_by_role("button", name="Edit Home").click()
    dialog = page.get_by_role("dialog", name="Edit Home")
    dialog.get_by_label("Value").fill("Sintra")
    dialog.get_by_role("button", name="Set", exact=True).click()
    expect(field(page, "Home")).to_contain_text("Sintra")
    assert fields(own)["home"] == ["Sintra"]
    undo(page)
    expect(field(page, "Home")).to_contain_text("Lisbon")


def test_a_name_that_is_refused_says_why_and_keeps_the_value(
    own: Server, sign_in: SignIn, watch: Watch
) -> None:
    watch.allow("status of 4")
    page = sign_in(own, "write", "profile")
    page.get_by_role("button", name="Set a field").click()
    dialog = page.get_by_role("dialog", name="Set a field")
    dialog.get_by_label("Field").select_option("other…")
    dialog.get_by_label("Its name").fill("Shoe Size")
    dialog.get_by_label("Value").fill("43")
    dialog.get_by_role("button", name="Set", exact=True).click()
    expect(dialog.get_by_role("alert")).to_contain_text("small letters")
    expect(dialog.get_by_label("Value")).to_have_value("43")
    dialog.get_by_label("Its name").fill("shoe_size")
    dialog.get_by_role("button", name="Set", exact=True).click()
    expect(field(page, "Shoe size")).to_contain_text("43")


# Instructions


def test_an_instruction_is_switched_off_and_on(
    own: Server, sign_in: SignIn, camera: Camera
) -> None:
    page = sign_in(own, "write", "profile", tab="rules")
    expect(rule(page, ENGLISH)).to_contain_text("since 9 Mar 2026")
    camera.every_way("profile-rules")
    switch = rule(page, ENGLISH).get_by_role("switch")
    expect(switch).to_be_checked()
    switch.focus()
    page.keyboard.press("Space")
    sure = page.get_by_role("dialog", name="Switch this instruction off?")
    expect(sure).to_contain_text("for 30 days")
    sure.get_by_role("button", name="Cancel").click()
    expect(switch).to_be_checked()
    switch.focus()
    page.keyboard.press("Space")
    sure.get_by_role("button", name="Switch off").click()
    expect(rule(page, ENGLISH)).to_have_count(0)
    assert ENGLISH not in rules(own)
    page.reload()  # It is kept in the tab.
    off = page.get_by_role("region", name="Switched off")
    expect(off).to_contain_text(ENGLISH)
    camera("profile-rules-off")
    off.get_by_role("switch").focus()
    page.keyboard.press("Space")
    expect(rule(page, ENGLISH)).to_be_visible()
    expect(off).to_have_count(0)
    assert ENGLISH in rules(own)


def test_an_instruction_that_was_switched_off_elsewhere_is_shown_without_its_words(
    own: Server, sign_in: SignIn
) -> None:
    api = own.api("write")
    _, found = api("GET", "/v1/memories?tiers=procedure&kind=instruction")
    id = next(each["id"] for each in found["memories"] if each["content"] == ENGLISH)
    assert api("DELETE", f"/v1/memories/{id}")[0] == 200
    page = sign_in(own, "write", "profile", tab="rules")
    off = page.get_by_role("region", name="Switched off")
    expect(off).to_contain_text("Text withheld, forgotten on")
    expect(off).to_contain_text("of 9 Mar 2026")
    expect(off).not_to_contain_text(ENGLISH)
    switch = off.get_by_role("switch", name="Follow the instruction of 9 Mar 2026 again")
    switch.focus()
    page.keyboard.press("Space")
    expect(rule(page, ENGLISH)).to_be_visible()
    expect(off).to_have_count(0)
    assert ENGLISH in rules(own)


def test_cancel_keeps_nothing_of_what_is_being_read(own: Server, sign_in: SignIn) -> None:
    page = sign_in(own, "write", "profile", tab="rules")
    expect(rule(page, ENGLISH)).to_be_visible()
    # It is read for as long as that.
    page.route("**/v1/events/*", lambda _: None)
    said = "Always use metric units when I ask about cooking."
    page.get_by_role("button", name="Add an instruction").click()
    dialog = page.get_by_role("dialog", name="Add an instruction")
    box = dialog.get_by_label("In the user’s words")
    box.fill(said)
    dialog.get_by_role("button", name="Add", exact=True).click()
    expect(dialog.get_by_role("status")).to_contain_text("Cancel keeps nothing of it")
    dialog.get_by_role("button", name="Cancel").click()
    expect(page.locator(".toast")).to_contain_text("Cancelled: nothing was kept")
    assert rules(own) == {ENGLISH}
    page.unroute("**/v1/events/*")
    page.get_by_role("button", name="Add an instruction").click()
    expect(box).to_have_value(said)
    dialog.get_by_role("button", name="Add", exact=True).click()
    expect(rule(page, said)).to_have_count(1)
    _, found = own.api("admin")("GET", "/v1/memories?tiers=session")
    assert [each["content"] for each in found["memories"]].count(said) == 1


def test_an_instruction_that_is_sent_again_is_stored_once(
    own: Server, sign_in: SignIn, watch: Watch
) -> None:
    watch.allow("status of 500")
    page = sign_in(own, "write", "profile", tab="rules")
    expect(rule(page, ENGLISH)).to_be_visible()
    page.route("**/v1/events/*", lambda route: route.fulfill(
        status=500, body='{"error": "a defect"}', content_type="application/json"))  # fmt: skip
    said = "Always use metric units when I ask about cooking."
    page.get_by_role("button", name="Add an instruction").click()
    dialog = page.get_by_role("dialog", name="Add an instruction")
    dialog.get_by_label("In the user’s words").fill(said)
    dialog.get_by_role("button", name="Add", exact=True).click()
    expect(dialog.get_by_role("alert")).to_contain_text("A defect.")
    page.unroute("**/v1/events/*")
    dialog.get_by_role("button", name="Add", exact=True).click()
    expect(dialog).to_have_count(0)
    _, found = own.api("admin")("GET", "/v1/memories?tiers=session")
    assert [each["content"] for each in found["memories"]].count(said) == 1


def test_an_instruction_gets_new_words_and_those_before_come_back(
    own: Server, sign_in: SignIn
) -> None:
    page = sign_in(own, "write", "profile", tab="rules")
    rule(page, ENGLISH).get_by_role("button", name="Edit").click()
    dialog = page.get_by_role("dialog", name="Edit the instruction")
    dialog.get_by_label("In the user’s words").fill("Always answer in German.")
    dialog.get_by_role("button", name="Replace").click()
    expect(rule(page, "Always answer in German.")).to_be_visible()
    expect(rule(page, ENGLISH)).to_have_count(0)
    assert rules(own) == {"Always answer in German."}
    undo(page)
    expect(rule(page, ENGLISH)).to_be_visible()
    assert rules(own) == {ENGLISH}


def test_an_edit_to_another_matter_ends_the_rule_before_all_the_same(
    own: Server, sign_in: SignIn
) -> None:
    page = sign_in(own, "write", "profile", tab="rules")
    rule(page, ENGLISH).get_by_role("button", name="Edit").click()
    dialog = page.get_by_role("dialog", name="Edit the instruction")
    dialog.get_by_label("In the user’s words").fill("Always give measurements in millimetres.")
    dialog.get_by_role("button", name="Replace").click()
    expect(rule(page, "Always give measurements in millimetres.")).to_be_visible()
    expect(rule(page, ENGLISH)).to_have_count(0)
    assert ENGLISH not in rules(own)
    undo(page)
    expect(rule(page, ENGLISH)).to_be_visible()


def test_an_instruction_is_added_with_its_condition(own: Server, sign_in: SignIn) -> None:
    page = sign_in(own, "write", "profile", tab="rules")
    page.get_by_role("button", name="Add an instruction").click()
    dialog = page.get_by_role("dialog", name="Add an instruction")
    said = "Always use metric units when I ask about cooking."
    dialog.get_by_label("In the user’s words").fill(said)
    dialog.get_by_role("button", name="Add", exact=True).click()
    expect(rule(page, said)).to_contain_text("condition when I ask about cooking")
    expect(dialog).to_have_count(0)


def test_what_is_no_rule_is_said_to_be_none_and_not_kept(own: Server, sign_in: SignIn) -> None:
    page = sign_in(own, "write", "profile", tab="rules")
    page.get_by_role("button", name="Add an instruction").click()
    dialog = page.get_by_role("dialog", name="Add an instruction")
    dialog.get_by_label("In the user’s words").fill("The weather was nice yesterday.")
    dialog.get_by_role("button", name="Add", exact=True).click()
    expect(dialog.get_by_role("alert")).to_contain_text("not understood as a rule", timeout=70_000)
    expect(dialog.get_by_label("In the user’s words")).to_have_value(re.compile("weather"))
    _, found = own.api("admin")("GET", "/v1/memories")
    assert not [each for each in found["memories"] if "weather" in each["content"]]


# Procedures


def test_a_procedure_shows_its_steps_tags_and_strength(
    own: Server, sign_in: SignIn, camera: Camera
) -> None:
    page = sign_in(own, "write", "profile", tab="procedures")
    shop = page.get_by_role("article", name="Deploy the shop")
    expect(shop.locator("ol > li")).to_have_text(
        ["Run the tests", "Tag the commit", "Push the tag"]
    )
    expect(shop).to_contain_text("when a release of the shop is due")
    expect(shop).to_contain_text("worked 1×")
    expect(shop.get_by_label("Strength 60 %")).to_be_visible()
    camera.every_way("profile-procedures")
    shop.get_by_role("button", name="#shop: only with this tag").click()
    expect(page).to_have_url(re.compile("tag=shop"))
    page.get_by_role("button", name="#shop: show all tags again").click()
    page.get_by_label("Search in procedures").fill("nothing like it")
    expect(page.get_by_role("heading", name="None of these")).to_be_visible()
    page.get_by_role("button", name="Show all").click()
    shop.get_by_role("button", name="Forget").click()
    page.get_by_role("dialog").get_by_role("button", name="Forget").click()
    expect(shop).to_have_count(0)
    undo(page)
    expect(shop).to_be_visible()


# Who may not, what is not there, what goes wrong


def test_a_key_that_reads_is_offered_no_act(shown: Server, sign_in: SignIn) -> None:
    page = sign_in(shown, "read", "profile")
    main = page.locator(".main")
    acts = main.get_by_role("button", name=re.compile("^(Edit|Clear|Set|Add|Forget|Undo)"))
    expect(field(page, "Home")).to_be_visible()
    expect(acts).to_have_count(0)
    page.get_by_role("tab", name="Instructions").click()
    expect(rule(page, ENGLISH)).to_be_visible()
    expect(acts).to_have_count(0)
    expect(main.get_by_role("switch")).to_have_count(0)
    page.get_by_role("tab", name="Procedures").click()
    expect(page.get_by_role("article", name="Deploy the shop")).to_be_visible()
    expect(acts).to_have_count(0)


def test_an_empty_memory_says_what_will_be_here(
    empty_server: Server, sign_in: SignIn, camera: Camera
) -> None:
    page = sign_in(empty_server, "write", "profile")
    expect(page.get_by_role("heading", name="Nothing is known yet")).to_be_visible()
    camera.every_way("profile-empty")
    for tab, words in (("Instructions", "No standing instr"), ("Procedures", "No procedures yet")):
        page.get_by_role("tab", name=tab).click()
        expect(page.get_by_role("heading", name=words)).to_be_visible()


def test_what_was_typed_outlives_a_slow_and_a_gone_server(
    own: Server, sign_in: SignIn, watch: Watch, slowly: Callable[[str, float], None]
) -> None:
    watch.allow(GONE + "|ERR_FAILED")
    page = sign_in(own, "write", "profile")
    page.get_by_role("button", name="Set a field").click()
    dialog = page.get_by_role("dialog", name="Set a field")
    dialog.get_by_label("Field").select_option("hometown")
    dialog.get_by_label("Value").fill(ARABIC)
    own.stop()
    dialog.get_by_role("button", name="Set", exact=True).click()
    expect(dialog.get_by_role("alert")).to_contain_text("Nothing you typed is lost")
    expect(dialog.get_by_label("Value")).to_have_value(ARABIC)
    own.start()
    page.reload()
    page.get_by_label("Key", exact=True).fill(own.keys["write"])
    page.get_by_role("button", name="Sign in").click()
    slowly("**/v1/profile/*", 2.0)
    page.get_by_role("button", name="Set a field").click()
    expect(dialog.get_by_label("Field")).to_have_value("hometown")
    expect(dialog.get_by_label("Value")).to_have_value(ARABIC)
    dialog.get_by_role("button", name="Set", exact=True).click()
    expect(dialog.get_by_role("button", name="Set", exact=True)).to_be_disabled()
    expect(field(page, "Hometown")).to_contain_text(ARABIC)


def test_other_scripts_are_shown_in_their_own_direction(own: Server, sign_in: SignIn) -> None:
    api = own.api("admin")
    assert api("PUT", "/v1/profile/habits", {"value": [ARABIC, JAPANESE]})[0] == 200
    page = sign_in(own, "read", "profile")
    values = field(page, "Habits").locator(".prose")
    expect(values).to_have_text([ARABIC, JAPANESE])
    first, second = values.all()
    assert first.evaluate("element => getComputedStyle(element).direction") == "rtl"
    assert second.evaluate("element => getComputedStyle(element).direction") == "ltr"


def test_nothing_that_is_stored_is_executed(
    own: Server, sign_in: SignIn, page: Page, camera: Camera
) -> None:
    poison = Poison(page)
    api = own.api("admin")
    assert api("PUT", "/v1/profile/likes", {"value": list(PAYLOADS[:20])})[0] == 200
    sign_in(own, "admin", "profile")
    expect(page.locator(".profile-field")).to_have_count(2)
    closed = page.get_by_role("button", name=re.compile("^Words"))
    while closed.count():
        closed.first.click()
    expect(page.locator("blockquote").first).to_be_visible()
    page.get_by_role("button", name=re.compile("^Edit")).first.click()
    expect(page.get_by_role("dialog")).to_be_visible()
    page.keyboard.press("Escape")
    page.get_by_role("tab", name="Instructions").click()
    page.get_by_role("switch").first.focus()
    page.keyboard.press("Space")
    page.get_by_role("dialog").get_by_role("button", name="Switch off").click()
    expect(page.get_by_role("region", name="Switched off")).to_be_visible()
    page.get_by_role("tab", name="Procedures").click()
    expect(page.locator(".profile-steps li")).to_have_count(3)
    camera.every_way("profile-payloads")
    poison.check()
    assert poison.used > 50
