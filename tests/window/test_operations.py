"""Operations: what each key is offered, dead letters, keys, audit, erasure, the live feed."""

import json
import re
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
from playwright.sync_api import Page, Route, expect

import holdfast
from holdfast.types import Scope
from holdfast.upkeep.erasure import verify
from tests.window.conftest import NARROW, USER, WIDE, Camera, Filled, Server, SignIn, Watch

pytestmark = pytest.mark.slow

OFFERED = {
    "read": ["Overview", "Fading", "Live"],
    "write": ["Overview", "Fading", "Live"],
    "admin": ["Overview", "Fading", "Live", "Erase"],
    "operator": [
        "Overview", "Queue", "Speed", "Store", "Fading", "Live", "Keys", "Audit", "Erase",
    ],
}  # fmt: skip


@pytest.fixture
def burying_server(filled: Filled, tmp_path: Path) -> Iterator[Server]:
    """A service over a store with three dead letters."""
    db = filled.copy(tmp_path)
    with holdfast.open(db, worker=False) as memory:
        for text in ("The kettle is red.", "The cup is blue.", "The jug is green."):
            memory.remember(text, user=USER)
        step = f"embed:{memory.worker.space.id}"
        jobs = memory.store.claim(
            [step], limit=3, now=datetime.now(UTC), lease_s=60, max_attempts=5
        )
        assert len(jobs) == 3
        memory.store.release(jobs, error="the model choked on <b>this</b>")
    started = Server(db, dict(filled.keys)).start()
    yield started
    started.stop()


def open_tab(page: Page, name: str) -> None:
    page.get_by_role("tab", name=name, exact=True).click()
    expect(page.get_by_role("tabpanel", name=name)).to_be_visible()


@pytest.mark.parametrize("who", list(OFFERED))
def test_a_key_is_offered_what_it_may_do(server: Server, sign_in: SignIn, who: str) -> None:
    page = sign_in(server, who, "operations")
    expect(page.get_by_text("Everything works")).to_be_visible()
    assert page.get_by_role("tab").all_inner_texts() == OFFERED[who]
    # An address of a section that it may not see shows the first it may.
    if who != "operator":
        page.goto(f"{server.url}/#/operations?tab=keys")
        expect(page.get_by_role("tab", selected=True)).to_have_text("Overview")
        expect(page.get_by_text("Waiting", exact=True)).to_have_count(0)
        assert server.api(who)("GET", "/v1/keys")[0] == 403


def test_a_browser_that_keeps_no_cookies_is_told_so(server: Server, page: Page) -> None:
    def without(route: Route) -> None:
        route.fulfill(status=204)

    page.route("**/v1/sign-in", without)
    page.goto(server.url)
    page.get_by_label("Key", exact=True).fill(server.keys["read"])
    page.get_by_role("button", name="Sign in").click()
    expect(page.locator(".sign-in-form")).to_contain_text("keeps no cookies for this page")
    expect(page.get_by_role("button", name="Sign in")).to_be_enabled()


def test_the_overview_tells_state_spending_and_growth(
    server: Server, sign_in: SignIn, camera: Camera
) -> None:
    page = sign_in(server, "operator", "operations")
    expect(page.get_by_text("Everything works")).to_be_visible()
    expect(page.get_by_text("No language model is set")).to_be_visible()
    calls = page.get_by_role("meter", name="Calls")
    expect(calls).to_have_attribute("aria-valuetext", "0 of 1,000")
    chart = page.get_by_role("figure", name=re.compile(r"Memories learned on each of 30 days"))
    expect(chart.locator("canvas")).to_be_visible()
    expect(chart).to_contain_text(re.compile(r"session \d\d"))
    page.get_by_role("group", name="Days").get_by_role("button", name="7 d").click()
    expect(page.get_by_role("figure", name=re.compile("of 7 days"))).to_be_visible()
    camera.every_way("operations-overview")
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)
        page.screenshot(path=camera.folder / f"operations-overview-full-{scheme}.png")
    page.locator(".operations-chart").scroll_into_view_if_needed()
    camera("operations-growth-dark")


def test_a_budget_is_of_the_user_and_what_all_took_is_told_beside_it(
    burying_server: Server, sign_in: SignIn
) -> None:
    with holdfast.open(burying_server.db, worker=False) as memory:
        for user, many in ((USER, 3), ("eve", 990)):
            memory.store.charge(Scope("default", user), datetime.now(UTC).date(), calls=many)
    page = sign_in(burying_server, "operator", "operations")
    calls = page.get_by_role("meter", name="Calls")
    expect(calls).to_have_attribute("aria-valuetext", "3 of 1,000")
    figure = page.locator(".operations-figure").filter(has_text="Calls of all users")
    expect(figure).to_contain_text("993")
    box = page.get_by_label("User whose memory is shown")
    box.fill("eve")
    box.press("Enter")
    expect(calls).to_have_attribute("aria-valuetext", "990 of 1,000")


def test_an_operator_without_a_user_is_told_to_name_one(server: Server, sign_in: SignIn) -> None:
    page = sign_in(server, "operator", "operations", user="")
    for tab in ("Fading", "Live"):
        open_tab(page, tab)
        expect(page.get_by_text("is of one user: name one in the box at the top")).to_be_visible()
    box = page.get_by_label("User whose memory is shown")
    box.fill(USER)
    box.press("Enter")
    open_tab(page, "Fading")
    expect(page.get_by_role("list", name="Fading memories")).to_be_visible()


def test_dead_letters_say_why_and_are_tried_again(
    burying_server: Server, sign_in: SignIn, camera: Camera
) -> None:
    page = sign_in(burying_server, "operator", "operations")
    expect(page.get_by_text("Degraded")).to_be_visible()
    page.get_by_role("link", name="see why and replay").click()
    rows = page.get_by_role("list", name="Jobs").get_by_role("listitem")
    expect(rows).to_have_count(3)
    expect(rows.first).to_contain_text("the model choked on <b>this</b>")
    expect(page.get_by_text("3 embed")).to_be_visible()
    camera.every_way("operations-queue")
    rows.first.get_by_role("button", name=re.compile("Replay job")).click()
    expect(page.get_by_text("1 dead letter will be tried again")).to_be_visible()
    expect(rows).to_have_count(2)
    # The first click ticks, also in a row that was not the active one.
    boxes = page.get_by_role("checkbox", name=re.compile("Choose job"))
    for box in (boxes.last, boxes.first):
        box.click()
        expect(box).to_be_checked()
    boxes.last.click()
    expect(boxes.last).not_to_be_checked()
    page.get_by_role("button", name="Replay 1", exact=True).click()
    expect(rows).to_have_count(1)
    page.get_by_role("button", name=re.compile("Replay all")).click()
    expect(page.get_by_text("No dead letters")).to_be_visible()
    api = burying_server.api()
    api("POST", "/v1/jobs/drain", {"timeout": 20})
    assert api("GET", "/v1/jobs")[1]["jobs"] == []
    assert api("GET", "/v1/ready")[1]["status"] == "ok"
    page.get_by_role("button", name="Waiting").click()
    expect(page.get_by_text("Nothing to do")).to_be_visible()


def test_a_replay_that_fails_says_so_and_loses_nothing(
    burying_server: Server, sign_in: SignIn, watch: Watch
) -> None:
    watch.allow(r"status of 503 .*/v1/jobs/replay$")
    page = sign_in(burying_server, "operator", "operations", tab="queue")
    page.route(
        "**/v1/jobs/replay",
        lambda route: route.fulfill(
            status=503, body='{"error": "the store is busy"}', content_type="application/json"
        ),
    )
    expect(page.get_by_text("3 embed")).to_be_visible()
    page.get_by_role("checkbox", name=re.compile("Choose job")).first.check()
    page.get_by_role("button", name="Replay 1", exact=True).click()
    expect(page.get_by_role("alert")).to_contain_text("The store is busy.")
    expect(page.get_by_role("button", name="Replay 1", exact=True)).to_be_enabled()


def test_a_rebuild_is_asked_for_and_told(own_server: Server, sign_in: SignIn) -> None:
    page = sign_in(own_server, "operator", "operations", tab="queue")
    page.get_by_role("button", name="Rebuild").click()
    ask = page.get_by_role("dialog", name="Read every turn again?")
    ask.get_by_role("button", name="Cancel").click()
    page.get_by_role("button", name="Rebuild").click()
    ask.get_by_role("button", name="Read again").click()
    expect(page.get_by_text(re.compile(r"\d+ turns will be read again"))).to_be_visible()


def test_speed_is_watched_while_it_is_open(server: Server, sign_in: SignIn, camera: Camera) -> None:
    page = sign_in(server, "operator", "operations", tab="speed")
    api = server.api()
    for _ in range(20):
        assert api("GET", "/v1/whoami")[0] == 200
    chart = page.get_by_role("figure", name=re.compile("Time until an answer began"))
    expect(chart.locator("canvas")).to_be_visible()
    expect(chart).to_contain_text(re.compile(r"p95\s+[\d.]+ m?s"))
    row = page.get_by_role("row").filter(has_text="/v1/whoami")
    expect(row).to_contain_text(re.compile(r"\d+ m?s"))
    row.get_by_role("button").click()
    expect(page.get_by_role("figure", name="until an answer began, /v1/whoami")).to_be_visible()
    camera.every_way("operations-speed")


def test_the_store_is_looked_at(server: Server, sign_in: SignIn, camera: Camera) -> None:
    page = sign_in(server, "operator", "operations", tab="store")
    page.get_by_role("button", name="Check the store").click()
    expect(page.get_by_text(re.compile(r"All \d+ checks hold"))).to_be_visible()
    page.get_by_role("button", name="Every check").click()
    expect(page.get_by_text("the file is sound")).to_be_visible()
    expect(page.get_by_text("Indexes in memory")).to_be_visible()
    camera.every_way("operations-store")


def test_servers_and_replicas_are_shown_where_there_are_any(
    server: Server, sign_in: SignIn, camera: Camera
) -> None:
    page = sign_in(server, "operator", "operations")

    def with_replicas(route: object) -> None:
        text = server.service.send("GET", "/metrics", server.keys["operator"])[1].decode()  # type: ignore[union-attr]
        more = (
            'holdfast_reads_total{server="primary.local"} 12\n'
            'holdfast_reads_total{server="replica-1.local"} 345\n'
            'holdfast_replica_behind_bytes{replica="replica-1.local"} 2048\n'
            'holdfast_replica_answers{replica="replica-1.local"} 0\n'
        )
        route.fulfill(status=200, body=text + more, content_type="text/plain")  # type: ignore[attr-defined]

    page.route("**/metrics", with_replicas)
    open_tab(page, "Store")
    row = page.get_by_role("row").filter(has_text="replica-1.local")
    expect(row).to_contain_text("does not answer")
    expect(row).to_contain_text("345")
    expect(row).to_contain_text("2.0 KB")
    camera("operations-servers")


def test_what_fades_is_told_with_a_way_to_it(
    server: Server, sign_in: SignIn, camera: Camera
) -> None:
    _, told = server.api("read")("GET", "/v1/fading?days=30")
    page = sign_in(server, "read", "operations", tab="fading")
    rows = page.get_by_role("list", name="Fading memories").get_by_role("listitem")
    expect(rows.first).to_contain_text(told["memories"][0]["content"])
    expect(rows).to_have_count(min(len(told["memories"]), rows.count()))
    camera.every_way("operations-fading")
    link = rows.first.get_by_role("link")
    assert told["memories"][0]["id"] in (link.get_attribute("href") or "")
    page.get_by_role("button", name="7 d").click()
    expect(page).to_have_url(re.compile("days=7"))


def test_a_turn_that_is_remembered_meanwhile_is_seen(
    own_server: Server, sign_in: SignIn, camera: Camera
) -> None:
    page = sign_in(own_server, "read", "operations", tab="live")
    panel = page.get_by_role("tabpanel", name="Live")
    expect(panel.get_by_text("listening", exact=True)).to_be_visible()
    api = own_server.api("write")
    api("POST", "/v1/memories", {"messages": "The heron stands in the <i>reeds</i>."})
    row = page.get_by_role("list", name="Events").get_by_role("listitem").filter(has_text="heron")
    expect(row.first).to_contain_text("stored")
    expect(row.first).to_contain_text("<i>reeds</i>")
    camera.every_way("operations-live")
    page.get_by_role("button", name="Pause").click()
    expect(panel.get_by_text("paused", exact=True)).to_be_visible()
    api("POST", "/v1/memories", {"messages": "The otter swims while nobody looks."})
    page.wait_for_timeout(1000)
    expect(panel).not_to_contain_text("otter")
    page.get_by_role("button", name="Go on").click()
    expect(panel).to_contain_text("The otter swims")


def test_the_words_of_what_is_forgotten_go_from_the_feed(
    own_server: Server, sign_in: SignIn
) -> None:
    page = sign_in(own_server, "read", "operations", tab="live")
    panel = page.get_by_role("tabpanel", name="Live")
    expect(panel.get_by_text("listening", exact=True)).to_be_visible()
    api = own_server.api("write")
    said = {"messages": "The heron stands in the reeds.", "extract": False}
    id = api("POST", "/v1/memories", said)[1]["events"][0]
    expect(panel).to_contain_text("heron")
    api("DELETE", f"/v1/memories/{id}")
    expect(panel.get_by_text("forgotten", exact=True)).to_be_visible()
    expect(panel).not_to_contain_text("heron")
    api("POST", f"/v1/memories/{id}/restore")
    expect(panel).to_contain_text("heron")


def test_the_feed_rests_while_the_tab_is_hidden_and_tells_what_was_missed(
    own_server: Server, sign_in: SignIn
) -> None:
    page = sign_in(own_server, "read", "operations", tab="live")
    panel = page.get_by_role("tabpanel", name="Live")
    api = own_server.api("write")
    expect(panel.get_by_text("listening", exact=True)).to_be_visible()
    api("POST", "/v1/memories", {"messages": "First came the swallow."})
    expect(panel).to_contain_text("swallow")
    hide = """(state) => {
        Object.defineProperty(document, 'visibilityState', {value: state, configurable: true});
        document.dispatchEvent(new Event('visibilitychange'));
    }"""
    page.evaluate(hide, "hidden")
    expect(panel.get_by_text("paused", exact=True)).to_be_visible()
    api("POST", "/v1/memories", {"messages": "Then came the crane."})
    with page.expect_request(lambda request: "/v1/stream" in request.url) as asked:
        page.evaluate(hide, "visible")
    assert re.fullmatch(r"\d+-\d+-\d+", asked.value.headers["last-event-id"])
    expect(panel).to_contain_text("crane")


def test_a_key_is_made_shown_once_rotated_and_revoked(
    own_server: Server, sign_in: SignIn, camera: Camera
) -> None:
    page = sign_in(own_server, "operator", "operations", tab="keys")
    keys = page.get_by_role("list", name="Keys")
    expect(keys.get_by_role("listitem")).to_have_count(4)
    page.get_by_role("button", name="New key").click()
    form = page.get_by_role("dialog", name="New key")
    form.get_by_label("Label").fill("night <b>train</b>")
    form.get_by_label("User", exact=True).fill("ann")
    form.get_by_role("button", name="Read").click()
    camera.every_way("operations-new-key")
    page.reload()  # What was typed outlives it.
    page.get_by_role("button", name="New key").click()
    expect(form.get_by_label("Label")).to_have_value("night <b>train</b>")
    form.get_by_role("button", name="Read").click()
    form.get_by_role("button", name="Make the key").click()
    shown = page.get_by_role("dialog", name="Copy the key now")
    secret = shown.get_by_label("The key").inner_text()
    camera.every_way("operations-secret")
    own_server.keys["made"] = secret
    assert own_server.api("made")("GET", "/v1/whoami")[1]["user_id"] == "ann"
    shown.get_by_role("button", name="I have it").click()
    assert secret not in page.content()
    row = keys.get_by_role("listitem").filter(has_text="night <b>train</b>")
    expect(row).to_contain_text("read")
    camera.every_way("operations-keys")
    row.get_by_role("button", name=re.compile("Rotate")).click()
    page.get_by_role("dialog").get_by_role("button", name="Rotate").click()
    rotated = shown.get_by_label("The key").inner_text()
    shown.get_by_role("button", name="I have it").click()
    assert rotated != secret
    assert own_server.api("made")("GET", "/v1/whoami")[0] == 401
    row.get_by_role("button", name=re.compile("Revoke")).click()
    page.get_by_role("dialog").get_by_role("button", name="Revoke").click()
    expect(row).to_have_count(0)
    page.get_by_text("Revoked too").click()
    expect(row).to_contain_text("revoked")
    own_server.keys["made"] = rotated
    assert own_server.api("made")("GET", "/v1/whoami")[0] == 401


def test_the_last_admin_key_is_not_revoked_and_the_page_says_why(
    own_server: Server, sign_in: SignIn, watch: Watch
) -> None:
    watch.allow(r"status of 409 .*/v1/keys/")
    api = own_server.api()
    for key in api("GET", "/v1/keys")[1]["keys"]:
        if key["label"] == "admin":
            assert api("DELETE", f"/v1/keys/{key['id']}")[0] == 200
    page = sign_in(own_server, "operator", "operations", tab="keys")
    page.get_by_role("button", name="Revoke “operator”").click()
    page.get_by_role("dialog").get_by_role("button", name="Revoke").click()
    expect(page.get_by_role("alert")).to_contain_text("This is the last admin key")


def test_the_audit_log_is_read_and_verified(
    own_server: Server, sign_in: SignIn, camera: Camera
) -> None:
    api = own_server.api()
    for index in range(250):
        api("PUT", f"/v1/agents/agent-{index}/trust", {"value": 0.5})
    page = sign_in(own_server, "operator", "operations", tab="audit")
    lines = page.get_by_role("list", name="Audit lines")
    expect(lines.get_by_role("listitem").first).to_contain_text("done")
    camera.every_way("operations-audit")
    lines.evaluate("(box) => { box.scrollTop = box.scrollHeight; }")
    page.wait_for_timeout(500)
    lines.evaluate("(box) => { box.scrollTop = box.scrollHeight; }")
    expect(lines.get_by_role("listitem").last.locator(".operations-seq")).to_have_text("1")
    page.get_by_role("button", name="Verify the chain").click()
    expect(page.get_by_text(re.compile(r"The chain holds: \d+ lines"))).to_be_visible()
    camera("operations-audit-verified")


def test_a_user_is_erased_and_the_receipt_is_kept(
    own_server: Server, sign_in: SignIn, camera: Camera
) -> None:
    page = sign_in(own_server, "operator", "operations", tab="erase")
    expect(page.get_by_label("User", exact=True)).to_have_value(USER)
    page.get_by_role("button", name="Erase…").click()
    ask = page.get_by_role("dialog", name=f"Erase everything of {USER}?")
    expect(ask).to_contain_text("There is no undo.")
    sure = ask.get_by_role("button", name="Erase for good")
    expect(sure).to_be_disabled()
    ask.get_by_role("textbox").fill("mar")
    expect(sure).to_be_disabled()
    ask.get_by_role("textbox").fill(USER)
    camera.every_way("operations-erase-asks")
    sure.click()
    expect(page.get_by_text(f"Everything of {USER} is gone")).to_be_visible()
    camera.every_way("operations-receipt")
    with page.expect_download() as download:
        page.get_by_role("link", name="Download").click()
    receipt = json.loads(Path(download.value.path()).read_text())
    assert receipt["removed"]["events"] > 0
    own_server.stop()
    with holdfast.open(own_server.db, worker=False) as memory:
        assert verify(memory.store, receipt, user=USER)
        assert memory.stats(user=USER).tiers["session"] == 0


def test_a_key_of_one_user_can_only_erase_this_user(server: Server, sign_in: SignIn) -> None:
    page = sign_in(server, "admin", "operations", tab="erase")
    expect(page.get_by_text(f"This key is of {USER}")).to_be_visible()
    expect(page.get_by_label("User", exact=True)).to_have_count(0)


def test_an_empty_store_has_words_for_every_section(
    empty_server: Server, sign_in: SignIn, camera: Camera
) -> None:
    page = sign_in(empty_server, "operator", "operations")
    words = {
        "Overview": "Nothing was learned in these days", "Queue": "No dead letters",
        "Fading": "Nothing fades within 30 days", "Live": "Listening",
        "Audit": "Nothing was noted yet",
    }  # fmt: skip
    for tab, text in words.items():
        open_tab(page, tab)
        if tab != "Audit":
            expect(page.get_by_role("heading", name=text)).to_be_visible()
        camera(f"operations-empty-{tab.lower()}")
    for tab in ("Overview", "Queue", "Speed", "Store", "Fading", "Live", "Keys", "Audit", "Erase"):
        open_tab(page, tab)
        page.set_viewport_size({"width": NARROW[0], "height": NARROW[1]})
        assert page.evaluate("document.documentElement.scrollWidth") <= NARROW[0], tab
        assert page.evaluate("document.querySelector('.main').scrollWidth") <= NARROW[0], tab
        page.set_viewport_size({"width": WIDE[0], "height": WIDE[1]})


def test_a_section_that_fails_offers_to_try_again(
    server: Server, sign_in: SignIn, watch: Watch
) -> None:
    watch.allow("status of 500")
    page = sign_in(server, "operator", "operations")
    failing = {"Store": "**/v1/doctor*", "Keys": "**/v1/keys", "Audit": "**/v1/audit?*"}
    for tab, pattern in failing.items():
        page.route(
            pattern,
            lambda route: route.fulfill(
                status=500, body='{"error": "a defect"}', content_type="application/json"
            ),
        )
        open_tab(page, tab)
        if tab == "Store":
            page.get_by_role("button", name="Check the store").click()
        problem = page.get_by_role("alert")
        expect(problem).to_contain_text("A defect.")
        page.unroute(pattern)
        problem.get_by_role("button", name="Try again").click()
        expect(problem).to_have_count(0)
