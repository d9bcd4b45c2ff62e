"""The timeline in real Chromium: paging, filters, search, and one memory with all about it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from urllib.parse import quote

import pytest
from playwright.sync_api import Locator, Page, Response, expect

import holdfast
from holdfast.service.keys import create_key
from tests.window.conftest import GONE, NARROW, USER, Camera, Filled, Server, SignIn, Watch

pytestmark = pytest.mark.slow

MANY = 5_000
PAYLOADS = (
    "<script>window.ran=1</script>",
    "<img src=x onerror=window.ran=1>",
    "\"><svg onload=window.ran=1>",
    "javascript:window.ran=1//",
    "{{constructor.constructor('window.ran=1')()}}",
    "</textarea><iframe srcdoc='<script>parent.ran=1</script>'>",
)  # fmt: skip


@pytest.fixture(scope="module")
def large_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A service over 5,000 turns of 50 sessions."""
    db = tmp_path_factory.mktemp("large") / "m.db"
    begin = datetime(2026, 1, 1, 8, tzinfo=UTC)
    with holdfast.open(db, worker=False) as memory:
        _, key = create_key(memory.store, user=USER, role="read", label="read")
        for session in range(50):
            at = begin + timedelta(hours=session)
            said = [
                {"content": f"Turn {session * 100 + number} of many.", "at": at}
                for number in range(100)
            ]
            memory.remember(said, user=USER, session=f"session {session}", extract=False)
    started = Server(db, {"read": key}, options=("--no-worker",)).start()
    yield started
    started.stop()


def rows(page: Page) -> Locator:
    return page.locator(".timeline-link")


def drawer(page: Page) -> Locator:
    return page.locator(".dialog-backdrop.side [role=dialog]")


def add_note(server: Server, text: str, **more: object) -> str:
    status, answer = server.api("write")("POST", "/v1/notes", {"content": text, **more})
    assert status == 200, answer
    return str(answer["id"])


# The list


def test_scrolling_brings_every_memory_once(
    large_server: Server, sign_in: SignIn, page: Page
) -> None:
    given: list[str] = []

    def note(answer: Response) -> None:
        if "/v1/memories?" in answer.url:
            given.extend(each["id"] for each in answer.json()["memories"])

    page.on("response", note)
    sign_in(large_server, "read", "timeline")
    expect(page.get_by_text("5,000 memories, what was learned last first.")).to_be_visible()
    expect(rows(page).first).to_contain_text("Turn 4999 of many.")
    end, box = page.get_by_text("That is all."), page.locator(".timeline-scroll")
    for _ in range(400):
        is_last = end.count() > 0
        box.evaluate("box => { box.scrollTop = box.scrollHeight; }")
        assert rows(page).count() < 100
        if is_last:
            break
        page.wait_for_timeout(50)
    expect(rows(page).last).to_contain_text("Turn 0 of many.")
    expect(page.locator(".timeline-row").last).to_have_attribute("aria-setsize", str(MANY))
    expect(page.locator(".timeline-present")).to_contain_text("session 0")
    assert len(given) == len(set(given)) == MANY


def test_rows_stand_under_their_day_and_session(server: Server, sign_in: SignIn) -> None:
    page = sign_in(server, "read", "timeline", tier="session")
    heading = page.locator(".timeline-all .timeline-heading").first
    expect(heading).to_contain_text("kitchen-3")
    expect(heading).to_contain_text("said 2 Jun 2026")
    page.locator(".timeline-present .timeline-session-name").click()
    expect(page).to_have_url(re.compile(r"session=kitchen-3"))
    expect(page.locator(".timeline-told")).to_contain_text("20")
    assert {each.inner_text() for each in page.locator(".timeline-session-name").all()} == {
        "kitchen-3"
    }
    page.get_by_role("button", name="Show all sessions").click()
    expect(page).not_to_have_url(re.compile("session=kitchen"))


def test_filters_are_the_servers(server: Server, sign_in: SignIn) -> None:
    page = sign_in(server, "read", "timeline")
    api = server.api("read")

    def shown(query: str) -> None:
        _, answer = api("GET", f"/v1/memories?limit=1000&{query}")
        count = len(answer["memories"])
        expect(page.locator(".timeline-told")).to_contain_text(re.compile(rf"^\s*{count}(?!\d)"))
        expect(rows(page).first).to_have_attribute("data-id", answer["memories"][0]["id"])

    tiers = page.get_by_role("group", name="Tiers")
    tiers.get_by_role("button", name="fact").click()
    shown("tiers=fact")
    tiers.get_by_role("button", name="note").click()
    shown("tiers=fact&tiers=note")
    tiers.get_by_role("button", name="note").click()
    page.get_by_role("button", name="Filters").click()
    page.get_by_label("Kind").fill("goal")
    shown("tiers=fact&kind=goal")
    page.get_by_label("Kind").fill("")
    page.get_by_role("button", name="Ended:").click()
    shown("tiers=fact&status=ended")
    page.get_by_role("button", name="All: what holds").click()
    shown("tiers=fact&status=all")
    tiers.get_by_role("button", name="fact").click()
    page.get_by_label("Origin").select_option("agent")
    shown("status=all&origin=agent")
    page.get_by_label("Origin").select_option("")
    page.get_by_label("Speaker").fill("assistant")
    shown("status=all&speaker=assistant")
    page.reload()
    expect(page.get_by_label("Speaker")).to_have_value("assistant")
    shown("status=all&speaker=assistant")
    tomorrow = (datetime.now(UTC) + timedelta(days=2)).date().isoformat()
    page.get_by_label("Learned from").fill(tomorrow)
    expect(page.get_by_text("Nothing fits these filters")).to_be_visible()
    page.get_by_role("button", name="Clear all filters").click()
    expect(rows(page).first).to_be_visible()
    expect(page.get_by_role("button", name="Current:")).to_have_attribute("aria-pressed", "true")


def test_search_is_recall_and_says_what_does_not_count(
    server: Server, sign_in: SignIn, camera: Camera
) -> None:
    page = sign_in(server, "read", "timeline", origin="user")
    expect(rows(page).first).to_be_visible()
    page.keyboard.press("/")
    page.keyboard.type("gas ")
    expect(page).to_have_url(re.compile("q=gas"))  # A space after it is not taken back.
    page.keyboard.type("pipe behind the plaster")
    expect(rows(page).first).to_contain_text("gas pipe")
    told = page.locator(".timeline-told")
    expect(told).to_contain_text("best for “gas pipe behind the plaster”")
    expect(told).to_contain_text("the other filters do not count here")
    page.get_by_role("button", name="Filters").click()
    expect(page.get_by_label("Origin")).to_be_disabled()
    page.get_by_role("button", name="Filters").click()
    page.get_by_role("group", name="Tiers").get_by_role("button", name="fact").click()
    expect(page.locator(".timeline-row .tier-session")).to_have_count(0)
    expect(rows(page).first).to_be_visible()
    camera.every_way("timeline-search")


def test_faded_ones_come_from_the_preview(server: Server, sign_in: SignIn) -> None:
    page = sign_in(server, "read", "timeline")
    page.get_by_role("button", name="Faded:").click()
    expect(page.get_by_text("Nothing has faded")).to_be_visible()


def test_an_empty_memory_says_what_to_do(empty_server: Server, sign_in: SignIn) -> None:
    page = sign_in(empty_server, "write", "timeline")
    expect(page.get_by_text(f"Nothing is remembered of {USER}")).to_be_visible()
    expect(page.get_by_role("link", name="Get started")).to_be_visible()


def test_a_slow_answer_and_a_refusal_have_words(
    server: Server, sign_in: SignIn, watch: Watch, slowly: Callable[[str, float], None], page: Page
) -> None:
    watch.allow("status of 500")
    slowly("**/v1/memories?*", 2.0)
    sign_in(server, "read", "timeline")
    expect(page.get_by_text("takes longer than usual")).to_be_visible()
    expect(rows(page).first).to_be_visible()
    page.unroute("**/v1/memories?*")
    page.route("**/v1/memories?*", lambda route: route.fulfill(
        status=500, body='{"error": "a defect"}', content_type="application/json"))  # fmt: skip
    page.get_by_role("button", name="Ended:").click()
    expect(page.get_by_role("alert")).to_contain_text("A defect.")
    page.unroute("**/v1/memories?*")
    page.get_by_role("button", name="Try again").click()
    expect(rows(page).first).to_be_visible()


def test_keys_go_through_the_list_and_back(server: Server, sign_in: SignIn) -> None:
    page = sign_in(server, "read", "timeline")
    expect(rows(page).first).to_be_visible()
    page.keyboard.press("j")
    expect(rows(page).nth(0)).to_be_focused()
    page.keyboard.press("j")
    page.keyboard.press("ArrowDown")
    expect(rows(page).nth(2)).to_be_focused()
    page.keyboard.press("k")
    chosen = rows(page).nth(1)
    expect(chosen).to_be_focused()
    page.keyboard.press("Enter")
    expect(drawer(page)).to_be_visible()
    id = chosen.get_attribute("data-id")
    expect(page).to_have_url(re.compile(f"id={id}"))
    page.keyboard.press("Escape")
    expect(drawer(page)).to_have_count(0)
    expect(chosen).to_be_focused()
    expect(page).not_to_have_url(re.compile("id="))
    page.keyboard.press("End")
    focused = page.locator(".timeline-link:focus")
    expect(focused).to_be_visible()
    page.keyboard.press("Home")
    expect(rows(page).nth(0)).to_be_focused()


def test_it_looks_right_every_way(server: Server, sign_in: SignIn, camera: Camera) -> None:
    page = sign_in(server, "write", "timeline", status="all")
    expect(rows(page).first).to_be_visible()
    page.mouse.move(0, 0)
    camera.every_way("timeline")


# One memory


def ended_fact(server: Server) -> dict[str, object]:
    _, answer = server.api("read")("GET", "/v1/memories?tiers=fact&status=ended&limit=100")
    return next(each for each in answer["memories"] if "kidney" in each["content"])


def test_a_link_opens_a_memory_with_all_about_it(
    server: Server, sign_in: SignIn, camera: Camera
) -> None:
    fact = ended_fact(server)
    page = sign_in(server, "read", "timeline", id=str(fact["id"]))
    shown = drawer(page)
    expect(shown.locator(".memory-text")).to_have_text(str(fact["content"]))
    expect(shown.locator(".memory-facts")).to_contain_text("superseded")
    expect(shown.locator(".memory-facts")).to_contain_text("does not fade")
    expect(shown.locator(".memory-turns .source")).to_contain_text("Mortar")
    assert 1 < shown.locator(".memory-turns li").count() <= 7
    expect(shown.locator(".memory-sides del").first).to_be_visible()
    expect(shown.locator(".memory-sides ins").first).to_be_visible()
    camera.every_way("memory")
    shown.get_by_role("link", name="Open the one that holds now").click()
    expect(shown.locator(".memory-marks")).to_contain_text("current")
    expect(shown.locator(".memory-text")).to_contain_text("every other evening")
    shown.locator(".memory-turns .source a").first.click()
    expect(shown.get_by_role("heading", name="Around it")).to_be_visible()
    expect(shown.get_by_role("heading", name=re.compile("Learned from it"))).to_be_visible()
    page.go_back()
    expect(shown.locator(".memory-text")).to_contain_text("every other evening")


def test_who_may_only_read_is_offered_nothing_else(server: Server, sign_in: SignIn) -> None:
    page = sign_in(server, "read", "timeline", id=str(ended_fact(server)["id"]))
    acts = drawer(page).get_by_role("group", name="What can be done")
    expect(acts.get_by_role("button")).to_have_text(["Copy id", "Copy link"])


def test_there_is_no_such_memory(server: Server, sign_in: SignIn, watch: Watch) -> None:
    watch.allow("status of 404")
    page = sign_in(server, "read", "timeline", id="0" * 32)
    expect(drawer(page)).to_contain_text("There is no such memory")
    page.keyboard.press("Escape")
    expect(rows(page).first).to_be_visible()


def test_an_edit_is_a_new_version(own_server: Server, sign_in: SignIn, camera: Camera) -> None:
    id = add_note(own_server, "We chose the MySQL database for billing.")
    page = sign_in(own_server, "write", "timeline", id=id)
    shown = drawer(page)
    shown.get_by_role("button", name="Edit").click()
    box = shown.get_by_label("Text")
    expect(box).to_be_focused()
    expect(shown.get_by_role("button", name="Save")).to_be_disabled()
    box.fill("We chose the SQLite database for billing.")
    page.reload()
    expect(box).to_have_value("We chose the SQLite database for billing.")
    shown.get_by_role("button", name="Save").click()
    expect(page.get_by_text("Saved as a new version")).to_be_visible()
    expect(shown.locator(".memory-text")).to_have_text("We chose the SQLite database for billing.")
    expect(shown.locator(".memory-sides del")).to_have_text("MySQL")
    expect(shown.locator(".memory-sides ins")).to_have_text("SQLite")
    camera("memory-versions")
    _, old = own_server.api("read")("GET", f"/v1/memories/{id}")
    assert old["known_to"] is not None
    page.keyboard.press("Escape")
    expect(rows(page).first).to_contain_text("SQLite")
    expect(page.get_by_text("MySQL")).to_have_count(0)


def test_a_conflict_shows_both_and_loses_nothing(
    own_server: Server, sign_in: SignIn, camera: Camera, watch: Watch
) -> None:
    watch.allow("status of 412")
    id = add_note(own_server, "The party is on Friday.")
    page = sign_in(own_server, "write", "timeline", id=id)
    shown = drawer(page)
    shown.get_by_role("button", name="Edit").click()
    shown.get_by_label("Text").fill("The party is on Sunday.")
    api = own_server.api("write")
    status, theirs = api("PUT", f"/v1/memories/{id}", {"text": "The party is on Monday."})
    assert status == 200
    shown.get_by_role("button", name="Save").click()
    conflict = shown.get_by_role("alert", name="Conflict")
    expect(conflict).to_contain_text("Somebody changed this meanwhile.")
    expect(conflict.locator("del")).to_have_text("Monday")
    expect(conflict.locator("ins")).to_have_text("Sunday")
    expect(shown.get_by_label("Text")).to_have_value("The party is on Sunday.")
    camera.every_way("memory-conflict")
    shown.get_by_role("button", name="Save mine over theirs").click()
    expect(shown.locator(".memory-text")).to_have_text("The party is on Sunday.")
    _, now = api("GET", "/v1/notes")
    assert [each["content"] for each in now["notes"]][:1] == ["The party is on Sunday."]
    _, before = api("GET", f"/v1/memories/{theirs['id']}")
    assert before["known_to"] is not None


def test_what_is_typed_outlives_a_server_that_goes(
    own_server: Server, sign_in: SignIn, watch: Watch
) -> None:
    watch.allow(GONE)
    id = add_note(own_server, "Tea at four.")
    page = sign_in(own_server, "write", "timeline", id=id)
    shown = drawer(page)
    shown.get_by_role("button", name="Edit").click()
    shown.get_by_label("Text").fill("Tea at five.")
    own_server.stop()
    shown.get_by_role("button", name="Save").click()
    expect(shown.get_by_role("alert")).to_contain_text("what you typed is still here")
    expect(shown.get_by_label("Text")).to_have_value("Tea at five.")


def test_forget_asks_and_can_be_undone(
    own_server: Server, sign_in: SignIn, camera: Camera, watch: Watch
) -> None:
    watch.allow("status of 404")
    id = add_note(own_server, "Bob owes me a book.")
    page = sign_in(own_server, "write", "timeline")
    api = own_server.api("read")
    first = rows(page).first
    expect(first).to_contain_text("Bob owes me a book.")
    first.click()
    shown = drawer(page)
    forget = shown.get_by_role("button", name="Forget")
    forget.click()
    question = page.get_by_role("dialog", name="Forget this memory?")
    expect(question).to_contain_text("can be restored for 30 days")
    question.get_by_role("button", name="Cancel").click()
    expect(forget).to_be_focused()
    assert api("GET", f"/v1/memories/{id}")[0] == 200
    forget.click()
    camera("memory-forget")
    question.get_by_role("button", name="Forget").click()
    expect(shown).to_contain_text("its text is withheld")
    assert api("GET", f"/v1/memories/{id}")[0] == 404
    camera.every_way("memory-forgotten")
    page.get_by_role("button", name="Undo").click()
    expect(shown.locator(".memory-text")).to_have_text("Bob owes me a book.")
    assert api("GET", f"/v1/memories/{id}")[0] == 200
    page.keyboard.press("Escape")
    expect(shown).to_have_count(0)


def test_a_forgotten_one_is_restored_by_its_address(
    own_server: Server, sign_in: SignIn, watch: Watch
) -> None:
    watch.allow("status of 404")
    id = add_note(own_server, "Bob owes me a book.")
    own_server.api("write")("DELETE", f"/v1/memories/{id}")
    page = sign_in(own_server, "write", "timeline", id=id)
    shown = drawer(page)
    expect(shown).to_contain_text("Forgotten")
    expect(shown.locator(".memory-history")).to_contain_text("forgotten")
    assert "Bob owes" not in shown.inner_text()
    shown.get_by_role("button", name="Restore").click()
    expect(shown.locator(".memory-text")).to_have_text("Bob owes me a book.")
    expect(shown.locator(".memory-history")).to_contain_text("restored")


def test_undo_brings_the_row_back_to_its_place(
    own_server: Server, sign_in: SignIn, watch: Watch
) -> None:
    watch.allow("status of 404")
    for text in ("The first note.", "The second note.", "The third note."):
        add_note(own_server, text)
    page = sign_in(own_server, "write", "timeline", tier="note")
    second = rows(page).filter(has_text="The second note.")
    second.click()
    drawer(page).get_by_role("button", name="Forget").click()
    page.get_by_role("dialog", name="Forget this memory?").get_by_role(
        "button", name="Forget"
    ).click()
    expect(drawer(page)).to_contain_text("its text is withheld")
    expect(second).to_have_count(0)
    page.keyboard.press("Escape")
    page.get_by_role("button", name="Undo").click()
    expect(rows(page).nth(1)).to_contain_text("The second note.")
    expect(rows(page).nth(2)).to_contain_text("The first note.")
    expect(second).to_have_count(1)


def test_what_was_drawn_from_a_turn_alone_goes_and_comes_with_it(
    own_server: Server, sign_in: SignIn, watch: Watch
) -> None:
    watch.allow("status of 404")
    _, facts = own_server.api("read")("GET", "/v1/facts?limit=50")
    fact = next(each for each in facts["facts"] if len(each["sources"]) == 1)
    page = sign_in(own_server, "write", "timeline", id=fact["sources"][0])
    drawn = page.locator(f".timeline-link[data-id='{fact['id']}']")
    drawn.scroll_into_view_if_needed()
    place = drawn.get_attribute("data-index")
    drawer(page).get_by_role("button", name="Forget").click()
    page.get_by_role("dialog", name="Forget this memory?").get_by_role(
        "button", name="Forget"
    ).click()
    expect(drawer(page)).to_contain_text("its text is withheld")
    expect(drawn).to_have_count(0)
    page.get_by_role("button", name="Undo").click()
    expect(drawer(page).locator(".memory-text")).to_be_visible()
    expect(drawn).to_have_attribute("data-index", str(place))


def test_what_is_forgotten_is_listed_and_restored(
    filled: Filled, tmp_path: Path, sign_in: SignIn, camera: Camera, watch: Watch
) -> None:
    watch.allow("status of 404")
    settings = tmp_path / "settings.json"
    settings.write_text('{"forgetDays": 7}')
    options = ("--config", str(settings))
    server = Server(filled.copy(tmp_path), dict(filled.keys), options).start()
    try:
        page = sign_in(server, "write", "timeline", status="forgotten")
        expect(page.get_by_text("Nothing is forgotten", exact=True)).to_be_visible()
        expect(page.locator(".main")).to_contain_text("without its words for 7 days")
        ids = [add_note(server, f"Bob owes me {what}.") for what in ("a book", "a pen", "a cup")]
        for id in ids:
            assert server.api("write")("DELETE", f"/v1/memories/{id}")[0] == 200
        page.get_by_role("button", name="Look again").click()
        expect(rows(page)).to_have_count(3)
        day = (datetime.now(UTC) + timedelta(days=7)).strftime("%-d %b %Y")
        expect(rows(page).first).to_contain_text(f"wiped after {day}")
        assert "Bob owes" not in page.locator(".main").inner_text()
        camera.every_way("timeline-forgotten")
        page.get_by_role("button", name=re.compile("^Restore the")).first.click()
        expect(rows(page)).to_have_count(2)
        api = server.api("read")
        assert [api("GET", f"/v1/memories/{id}")[0] for id in ids] == [404, 404, 200]
        rows(page).first.click()
        expect(drawer(page)).to_contain_text(f"restored until {day}")
        drawer(page).get_by_role("button", name="Restore").click()
        expect(drawer(page).locator(".memory-text")).to_have_text("Bob owes me a pen.")
        page.keyboard.press("Escape")
        expect(rows(page)).to_have_count(1)
        page.close()  # Before its server: what it still asks for is no defect.
    finally:
        server.stop()


def test_who_may_only_read_sees_what_is_forgotten_and_restores_nothing(
    own_server: Server, sign_in: SignIn
) -> None:
    id = add_note(own_server, "Bob owes me a book.")
    own_server.api("write")("DELETE", f"/v1/memories/{id}")
    page = sign_in(own_server, "read", "timeline")
    page.get_by_role("button", name="Forgotten:").click()
    expect(rows(page)).to_have_count(1)
    expect(page.get_by_role("button", name=re.compile("^Restore"))).to_have_count(0)


def test_what_others_share_is_shown_and_offers_no_change(
    filled: Filled, tmp_path: Path, sign_in: SignIn, watch: Watch
) -> None:
    watch.allow("status of 404")  # Its history is theirs.
    db = filled.copy(tmp_path)
    text = "The partners meet at the old mill on Thursdays."
    with holdfast.open(db, worker=False) as memory:
        lent = memory.notes.add(text, category="decision", user="eve", workspace="partner")
        memory.shares.grant(
            to="default", segments=["daily_memory"], user="eve", workspace="partner"
        )
        team = memory.team.write("We deploy on Fridays.", type="decision")
        own = memory.notes.add("My own note.", category="decision", user=USER)
        memory.drain()
    server = Server(db, dict(filled.keys)).start()
    try:
        page = sign_in(server, "write", "timeline", id=lent.id)
        acts = drawer(page).get_by_role("group", name="What can be done").get_by_role("button")
        for id, said in ((lent.id, text), (team.id, "We deploy on Fridays.")):
            page.goto(f"{server.url}/#/timeline?id={id}")
            expect(drawer(page).locator(".memory-text")).to_contain_text(said)
            expect(drawer(page)).to_contain_text("is not theirs")
            expect(acts).to_have_text(["Copy id", "Copy link"])
        page.goto(f"{server.url}/#/timeline?id={own.id}")
        expect(drawer(page).locator(".memory-text")).to_have_text("My own note.")
        expect(acts).to_have_count(6)
        page.close()  # Before its server: what it still asks for is no defect.
    finally:
        server.stop()


def test_praise_and_blame_change_the_strength(own_server: Server, sign_in: SignIn) -> None:
    _, answer = own_server.api("read")("GET", "/v1/memories?tiers=fact&limit=1")
    page = sign_in(own_server, "write", "timeline", id=answer["memories"][0]["id"])
    shown = drawer(page)
    strength = shown.get_by_role("meter", name="Strength")
    expect(strength).to_have_attribute("aria-valuenow", "0.5")
    shown.get_by_role("button", name="Useful: praise this memory", exact=True).click()
    expect(strength).to_have_attribute("aria-valuenow", "0.7")
    expect(shown.locator(".memory-history")).to_contain_text("praised")
    shown.get_by_role("button", name="Not useful: blame this memory").click()
    expect(strength).to_have_attribute("aria-valuenow", "0.5")
    expect(shown.locator(".memory-history")).to_contain_text("blamed")


# Texts of others


def test_payloads_in_every_field_stay_text(
    own_server: Server, sign_in: SignIn, page: Page, watch: Watch
) -> None:
    # Addresses that name no tier and no memory are refused.
    watch.allow("status of 400|status of 404")
    page.on("dialog", lambda dialog: pytest.fail(f"a dialog: {dialog.message}"))
    api = own_server.api("write")
    ids = []
    for each in PAYLOADS:
        message = {
            "role": "user",
            "name": each,
            "content": f"{each} said",
            "metadata": {each: [each, {each: each}]},
        }
        body = {"messages": [message], "session_id": each, "agent_id": each, "extract": False}
        status, answer = api("POST", "/v1/memories", body)
        assert status == 200, answer
        ids.append(answer["events"][0])
        ids.append(add_note(own_server, each, metadata={each: each}))
        api("PUT", f"/v1/memories/{ids[-1]}", {"text": f"{each} again"})
    status, answer = api("POST", "/v1/facts", {"text": f"I live in {PAYLOADS[1]}."})
    assert status == 200, answer
    ids.append(answer["id"])
    api("POST", f"/v1/facts/{answer['id']}/invalidate", {"reason": PAYLOADS[1]})
    sign_in(own_server, "write", "timeline", status="all")
    expect(rows(page).first).to_be_visible()
    for id in ids:
        page.goto(f"{own_server.url}/#/timeline?status=all&id={id}")
        shown = drawer(page)
        expect(shown.locator(".memory-facts")).to_contain_text(id)
        expect(shown.locator(".memory-history")).to_be_visible()
        metadata = shown.get_by_role("button", name=re.compile("Metadata"))
        if metadata.count():
            metadata.click()
    for name in ("q", "kind", "speaker", "session", "tier", "from", "id"):
        page.goto(f"{own_server.url}/#/timeline?{name}={quote(PAYLOADS[1])}")
        page.wait_for_timeout(300)
    assert page.evaluate("window.ran") is None
    assert (
        page.locator("#app img, #app iframe, #app script, .dialog img, .dialog iframe").count() == 0
    )


def test_right_to_left_and_cjk(own_server: Server, sign_in: SignIn, camera: Camera) -> None:
    hebrew, chinese = (
        "הפגישה עם דנה עברה ליום שלישי בשעה עשר.",
        "会议改到星期二上午十点在上海举行。",
    )
    add_note(own_server, chinese)
    id = add_note(own_server, hebrew)
    _, newer = own_server.api("write")(
        "PUT", f"/v1/memories/{id}", {"text": hebrew.replace("שלישי", "רביעי")}
    )
    page = sign_in(own_server, "write", "timeline", id=newer["id"])
    shown = drawer(page)
    text = shown.locator(".memory-text p")
    expect(text).to_have_text(newer["content"])
    assert text.evaluate("el => el.matches(':dir(rtl)')")
    expect(shown.locator(".memory-sides ins")).to_have_text("רביעי")
    camera.every_way("memory-rtl")
    page.keyboard.press("Escape")
    row = rows(page).filter(has_text="上海").locator(".timeline-text")
    expect(row).to_have_text(chinese)
    assert (
        rows(page)
        .filter(has_text="דנה")
        .locator(".timeline-text")
        .evaluate("el => el.matches(':dir(rtl)')")
    )
    page.set_viewport_size({"width": NARROW[0], "height": NARROW[1]})
    camera("timeline-rtl-narrow")


def test_a_memory_of_30_kilobytes(own_server: Server, sign_in: SignIn) -> None:
    text = "\n".join(f"Line {number}: " + "word " * 18 for number in range(300)) + "the end"
    assert len(text) > 30_000
    body = {"messages": [{"role": "user", "content": text}], "extract": False}
    _, answer = own_server.api("write")("POST", "/v1/memories", body)
    page = sign_in(own_server, "read", "timeline", id=answer["events"][0])
    shown = drawer(page)
    shown.get_by_role("button", name="Show more (").click()
    shown.get_by_role("button", name="left)").click()
    expect(shown.locator(".memory-text p").last).to_contain_text("the end")
    assert "".join(shown.locator(".memory-text p").all_text_contents()) == text
    body_box = page.locator(".dialog-body")
    assert body_box.evaluate("el => el.scrollHeight > el.clientHeight")
    assert page.evaluate("document.documentElement.scrollHeight <= innerHeight")
