"""Ask: the block as it is injected, why each memory is in it, and sliders that re-rank it live."""

import json
import re
from typing import Any
from urllib.parse import quote

import pytest
from playwright.sync_api import Dialog, Locator, Page, Request, expect

from holdfast.config import load
from tests.window.conftest import GONE, NARROW, USER, Camera, Server, SignIn, Watch

pytestmark = pytest.mark.slow

CABINETS = "Which workshop is making the kitchen cabinets, and which one had Mara chosen first?"
EXCEPTION = "I get this exception with a traceback in the logger, why is it failing?"
PAYLOADS = (
    "<script>window.ran = 1; alert(1)</script>",
    "<img src=x onerror='window.ran = 1; alert(2)'>",
    "<svg/onload=alert(3)>",
    "javascript:alert(4)//'\"><iframe srcdoc='<script>parent.ran=1</script>'>",
    "</pre></textarea><script>window.ran = 1</script>",
)


def ask(page: Page, question: str) -> None:
    page.get_by_label("Message", exact=True).fill(question)
    with page.expect_response("**/v1/context"):
        page.get_by_label("Message", exact=True).press("Enter")
    answered(page)


def answered(page: Page) -> None:
    expect(page.locator(".ask-summary")).to_be_visible()
    expect(page.locator(".ask-wait")).to_have_count(0)


def block(page: Page) -> Locator:
    return page.get_by_label("Context block as it is injected")


def context(server: Server, question: str, **fields: object) -> dict[str, Any]:
    body = {"messages": question, "explain": True, "record": False, **fields}
    status, told = server.api("read")("POST", "/v1/context", body)
    assert status == 200
    return dict(told)


def slide(page: Page, label: str, *values: float) -> None:
    """Move a slider, as a hand does: the page hears every step, one straight after the other."""
    slider = page.get_by_role("slider", name=label, exact=True)
    slider.evaluate(
        """async (element, values) => {
            for (const value of values) {
                element.value = value;
                element.dispatchEvent(new Event('input', {bubbles: true}));
                await null;
            }
        }""",
        list(values),
    )


def settled(server: Server) -> None:
    """What was just told is embedded and read: it keeps its place among the hits."""
    for _ in range(20):
        if not server.api("write")("POST", "/v1/jobs/drain", {"timeout": 10})[1]["pending"]:
            return
    pytest.fail("the background work does not end")


def everything(page: Page) -> None:
    """All hits, not the first twenty alone."""
    more = page.get_by_role("button", name=re.compile(r"Show \d+ more"))
    if more.count():
        more.click()


def copied(page: Page) -> str:
    return str(page.evaluate("navigator.clipboard.readText()"))


def test_the_block_is_shown_exactly_as_it_is_injected(
    server: Server, sign_in: SignIn, camera: Camera
) -> None:
    page = sign_in(server, "read")
    expect(page.get_by_text("Ask as your agent would")).to_be_visible()
    camera.every_way("ask-empty")
    ask(page, CABINETS)
    told = context(server, CABINETS)
    assert block(page).text_content() == told["text"]
    page.get_by_role("button", name="Copy block").click()
    expect(page.get_by_role("button", name="Copied")).to_be_visible()
    assert copied(page) == told["text"]
    bar = page.locator(".ask-token-bar").get_attribute("aria-label") or ""
    assert bar.startswith(f"{told['tokens']} of 8192 tokens: ")
    parts = {name: int(count) for name, count in re.findall(r"(\w+) (\d+)(?:,|$)", bar)}
    assert sum(parts.values()) == told["tokens"]
    tiers = [hit["tier"] for hit in told["hits"]]
    assert set(parts) == {*tiers, "frame"}
    expect(page.get_by_role("tab", name=f"In the block {len(tiers)}")).to_be_visible()
    page.get_by_role("button", name="astra").click()
    expect(block(page)).to_contain_text("[Memory: ")
    camera.every_way("ask")


def test_looking_leaves_no_trace(server: Server, sign_in: SignIn) -> None:
    page = sign_in(server, "read")
    with page.expect_response("**/v1/context") as answer:
        ask(page, CABINETS)
    status, _ = server.api("read")("GET", f"/v1/contexts/{answer.value.json()['id']}")
    assert status == 404


def test_the_task_is_told_with_the_words_that_led_to_it(server: Server, sign_in: SignIn) -> None:
    page = sign_in(server, "read")
    ask(page, EXCEPTION)
    task = page.locator(".ask-task")
    expect(task).to_contain_text("debugging")
    expect(task).to_contain_text("“exception”")
    expect(task).to_contain_text("session × 2")
    ask(page, CABINETS)
    expect(task).to_contain_text("no special task was recognised")


def test_every_hit_says_why(server: Server, sign_in: SignIn, camera: Camera) -> None:
    page = sign_in(server, "read")
    ask(page, CABINETS)
    hits = context(server, CABINETS)["hits"]
    heads = page.locator(".ask-hit-head")
    expect(heads).to_have_count(20)
    heads.first.focus()
    page.keyboard.press("Enter")
    why = page.locator(".ask-why")
    first = hits[0]["why"]
    for source in ("keyword", "vector", "who"):
        expect(why.locator(f".ask-group-name.ask-{source}")).to_be_visible()
    shares = why.locator(".ask-group-name .num").all_text_contents()
    assert sum(int(each.split()[0]) for each in shares) == pytest.approx(100, abs=2)
    expect(why.get_by_role("row", name="hybrid")).to_contain_text(
        str(first["sources"]["hybrid"]["rank"])
    )
    expect(why.locator(".ask-final")).to_contain_text(f"{first['score']['final']:.3f}")
    expect(why).to_contain_text("It is the turn itself, of Mara")
    camera.every_way("ask-why")
    page.keyboard.press("j")
    expect(heads.nth(1)).to_be_focused()
    heads.first.click()
    expect(why).to_have_count(0)
    rule = next(n for n, hit in enumerate(hits) if hit["kind"] == "instruction")
    heads.nth(rule).click()
    expect(why).to_contain_text("brought in")
    said = server.api("read")("GET", f"/v1/memories/{hits[rule]['sources'][0]}")[1]["content"]
    expect(why.locator(".ask-quote")).to_contain_text(said[:60])


def test_what_replaced_what_is_shown_with_its_words(server: Server, sign_in: SignIn) -> None:
    page = sign_in(server, "read")
    ask(page, CABINETS)
    hits = context(server, CABINETS)["hits"]
    place = next(n for n, hit in enumerate(hits[:20]) if "replaced" in hit["why"])
    by = hits[place]["why"]["replaced"]
    expect(page.locator(".ask-hit").nth(place)).to_contain_text(f"until {by['until']}")
    page.locator(".ask-hit-head").nth(place).click()
    said = server.api("read")("GET", f"/v1/memories/{by['by']}")[1]["content"]
    expect(page.locator(".ask-why")).to_contain_text("Replaced by")
    expect(page.locator(".ask-why")).to_contain_text(said[:60])


def test_sliders_re_rank_live_and_the_difference_is_shown(
    server: Server, sign_in: SignIn, camera: Camera
) -> None:
    page = sign_in(server, "read")
    ask(page, CABINETS)
    before = context(server, CABINETS)
    sent: list[Request] = []
    page.on("request", lambda one: sent.append(one) if one.url.endswith("/v1/context") else None)
    slide(page, "Budget, tokens", *range(12, 4, -1))
    expect(page.locator(".ask-tokens-head")).to_contain_text("of 600 tokens")
    answered(page)
    # The first may be asked for at once; while its answer is awaited, not every other.
    assert len(sent) <= 3, "each step of a slider asked"
    small = context(server, CABINETS, budget_tokens=600)
    assert block(page).text_content() == small["text"]
    gone = {hit["id"] for hit in before["hits"]} - {hit["id"] for hit in small["hits"]}
    expect(page.locator(".ask-diff")).to_contain_text(f"{len(gone)} gone")
    expect(page.get_by_label("Gone against the default")).to_contain_text("the budget was full")
    expect(page.locator(".ask-tokens-head")).to_contain_text(f"by default {before['tokens']:,}")
    slide(page, "Instruction boost", 0.5)
    expect(page.locator(".ask-hit").first).to_contain_text("▲")
    expect(page.locator(".ask-hit").first).to_contain_text("instruction")
    answered(page)
    camera.every_way("ask-tuned")
    cut = page.locator(".ask-hit").filter(has_text="headline only").first
    cut.locator(".ask-hit-head").click()
    told = cut.locator(".ask-told .prose").text_content() or ""
    assert "[…]" in told
    assert told in (block(page).text_content() or "")
    page.get_by_role("tab", name=re.compile("Left out")).click()
    expect(page.locator(".ask-dropped").first).to_contain_text("the budget was full")
    camera.every_way("ask-left-out")
    page.get_by_role("button", name="Reset", exact=True).click()
    expect(page.locator(".ask-tokens-head")).to_contain_text("of 8,192 tokens")
    expect(page.locator(".ask-diff")).to_have_count(0)
    assert block(page).text_content() == before["text"]


def test_tier_weights_are_those_of_the_profile(server: Server, sign_in: SignIn) -> None:
    page = sign_in(server, "read")
    ask(page, CABINETS)
    page.get_by_text("Also search facts and notes").click()
    answered(page)
    slide(page, "fact", 4)
    expect(page.locator(".ask-json")).to_contain_text('"fact": 4')
    answered(page)
    expect(page.locator(".ask-hit").first).to_contain_text("fact")
    expect(page.locator(".ask-diff")).to_contain_text("new")
    tiers = server.api("read")("GET", "/v1/capabilities")[1]["tiers"]
    weights = {"session": 1, "graph": 1, "knowledge": 1, "workspace": 1, "fact": 4}
    override = {f"boosting.profiles.general.weights.{tier}": w for tier, w in weights.items()}
    told = context(server, CABINETS, tiers=tiers, config_override=override)
    assert block(page).text_content() == told["text"]


def test_copy_as_config_is_what_differs_and_nothing_else(server: Server, sign_in: SignIn) -> None:
    page = sign_in(server, "read")
    ask(page, CABINETS)
    expect(page.get_by_role("button", name="Copy as config")).to_have_count(0)
    slide(page, "Budget, tokens", 5)
    slide(page, "Instruction boost", 0.25)
    slide(page, "session", 0.5)
    page.get_by_role("button", name="Source weights").click()
    slide(page, "Knowledge graph", 2)
    page.get_by_label("Task profile").select_option("debate")
    page.get_by_role("button", name="Copy as config").click()
    config = json.loads(copied(page))
    assert config == {
        "blend": {"graph": 2},
        "contextBudgetTokens": 600,
        "instructionBoostEnabled": True,
        "instructionBoostWeight": 0.25,
        "boosting": {
            "profiles": {
                "debate": {
                    "weights": {"session": 0.5, "graph": 1.5, "knowledge": 2, "workspace": 1}
                }
            }
        },
    }
    loaded = load(config)
    assert (loaded.context_budget_tokens, loaded.blend.graph) == (600, 2.0)
    expect(page.locator(".ask-config")).to_contain_text("task_profile: a field of a call")
    slide(page, "Knowledge graph", 1.1)
    expect(page.locator(".ask-json")).not_to_contain_text("blend")


def test_as_of_shows_what_was_known_then(server: Server, sign_in: SignIn) -> None:
    page = sign_in(server, "read")
    ask(page, CABINETS)
    expect(block(page)).to_contain_text("2026-04-14")
    page.get_by_label("As of").fill("2026-04-01")
    expect(block(page)).not_to_contain_text("2026-04-14")
    answered(page)
    told = context(server, CABINETS, as_of="2026-04-01T23:59:59.999Z")
    assert block(page).text_content() == told["text"]
    expect(page.locator(".ask-diff")).to_contain_text("gone")
    page.get_by_role("button", name="Back to today").click()
    expect(block(page)).to_contain_text("2026-04-14")


def test_a_profile_can_be_chosen(server: Server, sign_in: SignIn) -> None:
    page = sign_in(server, "read")
    ask(page, CABINETS)
    page.get_by_label("Task profile").select_option("research")
    expect(page.locator(".ask-task")).to_contain_text("research")
    expect(page.locator(".ask-task")).to_contain_text("chosen by you")


def test_recall_is_shown_beside_the_context(server: Server, sign_in: SignIn) -> None:
    page = sign_in(server, "read")
    ask(page, CABINETS)
    page.get_by_role("tab", name="Recall").click()
    _, told = server.api("read")("POST", "/v1/recall", {"query": CABINETS, "explain": True})
    expect(page.locator(".ask-hit")).to_have_count(len(told["hits"]))
    expect(page.locator(".ask-hit-text").first).to_contain_text(told["hits"][0]["content"][:60])


def test_a_reload_keeps_the_question_the_settings_and_what_is_half_typed(
    server: Server, sign_in: SignIn
) -> None:
    page = sign_in(server, "read")
    ask(page, CABINETS)
    slide(page, "Budget, tokens", 5)
    expect(page.locator(".ask-tokens-head")).to_contain_text("of 600 tokens")
    answered(page)
    box = page.get_by_label("Message", exact=True)
    box.fill("half a que")
    page.reload()
    expect(box).to_have_value("half a que")
    expect(page.get_by_text("not asked yet")).to_be_visible()
    expect(page.locator(".ask-tokens-head")).to_contain_text("of 600 tokens")
    expect(block(page)).to_contain_text("Kadewerk")
    page.get_by_role("link", name="Timeline").click()
    page.get_by_role("link", name="Ask", exact=True).click()
    expect(page.locator(".ask-tokens-head")).to_contain_text("of 600 tokens")
    expect(box).to_have_value("half a que")
    ask(page, "Who is Femke?")
    page.go_back()
    expect(box).to_have_value(CABINETS)
    page.get_by_role("button", name="Clear").click()
    expect(page.get_by_text("Ask as your agent would")).to_be_visible()


def test_a_long_question_is_asked_as_it_was_edited_at_its_end(
    server: Server, sign_in: SignIn
) -> None:
    page = sign_in(server, "read")
    box = page.get_by_label("Message", exact=True)
    ask(page, CABINETS)
    edited = CABINETS.replace("first?", "first, and why?")
    ask(page, edited)
    expect(block(page)).to_be_visible()
    expect(box).to_have_value(edited)
    expect(page.get_by_text("not asked yet")).to_have_count(0)


@pytest.mark.parametrize("tune", ["[1", "null", '{"numbers": {"x": "y"}, "asOf": "never"}'])
def test_settings_in_an_address_that_make_no_sense_are_passed_over(
    server: Server, sign_in: SignIn, tune: str
) -> None:
    page = sign_in(server, "read", q=quote("Who is Femke?"), tune=quote(tune))
    answered(page)
    expect(page.locator(".ask-count")).to_have_count(0)


def test_a_setting_that_is_refused_is_told_and_can_be_reset(
    server: Server, sign_in: SignIn, watch: Watch
) -> None:
    watch.allow("status of 400")
    tune = quote('{"numbers": {"relevanceGate": 7}}')
    page = sign_in(server, "read", q=quote("Who is Femke?"), tune=tune)
    expect(page.get_by_role("alert")).to_contain_text("relevanceGate must be between 0 and 1")
    page.get_by_role("button", name="Reset", exact=True).click()
    expect(page.get_by_role("alert")).to_have_count(0)
    answered(page)


def test_a_question_that_is_too_long_is_refused_and_stays(
    server: Server, sign_in: SignIn, watch: Watch, camera: Camera
) -> None:
    watch.allow("status of 4[01][03]")
    page = sign_in(server, "read")
    box = page.get_by_label("Message", exact=True)
    text = "kitchen " * 5_000
    box.fill(text)
    box.press("Enter")
    expect(page.get_by_role("alert")).to_contain_text("32768")
    assert len(box.input_value()) >= len(text.strip())
    camera.every_way("ask-refused")
    page.reload()
    assert len(box.input_value()) >= len(text.strip())


def test_a_slow_answer_keeps_the_page_at_hand(
    server: Server, sign_in: SignIn, camera: Camera
) -> None:
    page = sign_in(server, "read")
    ask(page, CABINETS)
    # In the page, so that several may be under way at a time.
    page.evaluate(
        """() => {
            const real = window.fetch;
            window.aborted = 0;
            window.fetch = async (target, options) => {
                if (String(target).endsWith('/v1/context')) {
                    options.signal?.addEventListener('abort', () => window.aborted += 1);
                    await new Promise((resolve) => setTimeout(resolve, 2000));
                }
                return real(target, options);
            };
        }"""
    )
    box = page.get_by_label("Message", exact=True)
    box.fill("Who is Femke?")
    box.press("Enter")
    expect(page.locator(".ask-wait")).to_be_visible()
    expect(block(page)).to_be_visible()  # The answer before, until there is a new one.
    camera("ask-slow")
    box.fill("What is order KW-58213?")
    box.press("Enter")
    slide(page, "Budget, tokens", 5)
    box.fill("and then")
    expect(page.locator(".ask-tokens-head")).to_contain_text("of 600 tokens")
    expect(page.locator(".ask-wait")).to_have_count(0)
    assert page.evaluate("window.aborted") >= 1
    assert (
        block(page).text_content()
        == context(server, "What is order KW-58213?", budget_tokens=600)["text"]
    )
    expect(box).to_have_value("and then")


def test_a_server_that_goes_while_a_question_is_typed_loses_nothing(
    own_server: Server, sign_in: SignIn, watch: Watch, camera: Camera
) -> None:
    watch.allow(GONE)
    page = sign_in(own_server, "read")
    box = page.get_by_label("Message", exact=True)
    box.fill("Who is")
    own_server.stop()
    box.press_sequentially(" Femke?")
    box.press("Enter")
    expect(page.locator(".banner.bad")).to_contain_text("The server does not answer")
    expect(box).to_have_value("Who is Femke?")
    camera.every_way("ask-server-gone")
    own_server.start()
    page.locator(".banner.bad").get_by_role("button", name="Try now").click()
    again = page.get_by_role("dialog", name="Sign in again")
    again.get_by_label("Key", exact=True).fill(own_server.keys["read"])
    again.get_by_role("button", name="Sign in").click()
    expect(block(page)).to_contain_text("Femke")
    expect(box).to_have_value("Who is Femke?")


def test_nothing_that_is_remembered_or_asked_is_ever_run(
    own_server: Server, sign_in: SignIn, camera: Camera
) -> None:
    api = own_server.api("write")
    for number, payload in enumerate(PAYLOADS):
        message = {"content": f"The poison {number} reads {payload}", "name": payload[:60]}
        body = {"messages": [message], "session_id": payload[:60]}
        assert api("POST", "/v1/memories", body)[0] < 300
    settled(own_server)
    page = sign_in(own_server, "read")
    dialogs: list[Dialog] = []

    def note(dialog: Dialog) -> None:
        dialogs.append(dialog)
        dialog.dismiss()

    page.on("dialog", note)
    for payload in PAYLOADS:
        ask(page, f"What is the poison that reads {payload}?")
    expect(block(page)).to_contain_text("poison")
    heads = page.locator(".ask-hit-head")
    for place in range(5):
        heads.nth(place).click()
    expect(page.locator(".ask-why")).to_have_count(5)
    expect(page.get_by_role("link", name="Open in Timeline").first).to_have_attribute(
        "href", re.compile(r"#/timeline\?id=[0-9a-f]{32}$")
    )
    page.get_by_role("tab", name="Recall").click()
    expect(page.locator(".ask-hit-text").first).to_contain_text("<")
    camera("ask-injection")
    assert page.evaluate("window.ran") is None
    assert dialogs == []
    assert page.locator("main iframe, main script, main img").count() == 0


def test_long_right_to_left_and_chinese_texts_have_their_place(
    own_server: Server, sign_in: SignIn, camera: Camera
) -> None:
    api = own_server.api("write")
    long = "The archive of lighthouse Vuurduin begins. " + "Lamp, lens and log. " * 1_500
    texts = [long, "אני גר בחיפה ליד המגדלור Vuurduin", "我住在灯塔 Vuurduin 旁边,喜欢喝茶。"]
    for text in texts:
        assert api("POST", "/v1/memories", {"messages": text})[0] < 300
    settled(own_server)
    page = sign_in(own_server, "read")
    ask(page, "Who lives near the lighthouse Vuurduin?")
    expect(block(page)).to_contain_text("המגדלור")
    expect(block(page)).to_contain_text("灯塔")
    everything(page)
    rows = page.locator(".ask-hit")
    hebrew = rows.filter(has_text="בחיפה").locator(".ask-hit-text")
    assert hebrew.first.evaluate("(element) => element.matches(':dir(rtl)')")
    lengthy = rows.filter(has_text="The archive of lighthouse").first
    lengthy.locator(".ask-hit-head").click()
    lengthy.get_by_role("button", name=re.compile(r"Show more \(29 KB\)")).click()
    lengthy.get_by_role("button", name="left)").click()
    assert len("".join(lengthy.locator(".prose").all_text_contents())) > 29_000
    lengthy.get_by_role("button", name="Show less").click()
    hebrew.first.scroll_into_view_if_needed()
    camera.every_way("ask-scripts")
    ask(page, "איפה אני גר?")
    page.set_viewport_size({"width": NARROW[0], "height": NARROW[1]})
    assert page.evaluate("document.documentElement.scrollWidth") <= NARROW[0]


def test_a_narrow_screen_has_the_sliders_too(
    server: Server, sign_in: SignIn, camera: Camera
) -> None:
    page = sign_in(server, "read")
    page.set_viewport_size({"width": NARROW[0], "height": NARROW[1]})
    ask(page, CABINETS)
    budget = page.get_by_role("slider", name="Budget, tokens")
    expect(budget).to_be_hidden()
    page.get_by_role("button", name="Show the settings").click()
    expect(budget).to_be_visible()
    slide(page, "Budget, tokens", 5)
    expect(page.locator(".ask-count")).to_have_text("1")
    answered(page)
    camera("ask-narrow-tuning")
    assert page.evaluate("document.documentElement.scrollWidth") <= NARROW[0]


def test_an_operator_asks_for_the_user_in_the_address(server: Server, sign_in: SignIn) -> None:
    page = sign_in(server, "operator")
    ask(page, "Who is Femke?")
    expect(page).to_have_url(re.compile(rf"user={USER}"))
    expect(block(page)).to_contain_text("Femke")
