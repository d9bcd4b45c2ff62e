"""What changed: chains of versions, what waits for a word, withdrawn rules, and undo."""

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest
from playwright.sync_api import Locator, Page, Route, expect

from tests.window.conftest import GONE, NARROW, Camera, Filled, Server, SignIn, Watch
from tests.window.told import ARABIC, JAPANESE, PAYLOADS, Poison, served, told_store

pytestmark = pytest.mark.slow


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


def chain(page: Page, text: str) -> Locator:
    """The chain whose newest version says this."""
    rows = page.get_by_role("list", name="Facts").get_by_role("listitem")
    return rows.filter(has=page.locator(".changes-version.head > .prose", has_text=text))


def card(page: Page, label: str) -> Locator:
    return page.get_by_role("article", name=label)


def statuses(server: Server) -> dict[str, str]:
    _, found = server.api("admin")("GET", "/v1/facts?status=all")
    # Of an answer the question is there, too: what holds counts.
    facts = sorted(found["facts"], key=lambda each: each["status"] == "active")
    return {each["content"]: each["status"] for each in facts}


def rules(server: Server) -> set[str]:
    _, found = server.api("admin")("GET", "/v1/memories?tiers=procedure&kind=instruction")
    return {each["content"] for each in found["memories"]}


def waiting(server: Server, what: str = "clarifications") -> int:
    _, found = server.api("admin")("GET", f"/v1/{what}")
    return int(found["count"])


def undo(page: Page) -> None:
    """By the word at the edge of the page."""
    page.locator(".toast").get_by_role("button", name="Undo").last.click()
    expect(page.locator(".toast", has_text="Undone.").last).to_be_visible()


# Chains


def test_a_chain_shows_its_versions_why_they_ended_and_their_turns(
    shown: Server, sign_in: SignIn, camera: Camera
) -> None:
    page = sign_in(shown, "write", "changes")
    row = chain(page, "I live in Lisbon now.")
    texts = row.locator(".changes-version > .prose")
    expect(texts).to_have_text(["I live in Lisbon now.", "I live in Paris."])
    expect(row.locator(".badge").first).to_have_text("holds")
    before = row.get_by_role("list", name="Versions before it")
    expect(before).to_contain_text("replaced")
    expect(before).to_contain_text("5 Jan 2026 →until 1 Mar 2026")
    expect(before).to_contain_text("A later word took its place.")
    _, facts = shown.api("admin")("GET", "/v1/facts?status=superseded")
    link = before.get_by_role("link", name=re.compile("^Turn 1 of"))
    expect(link).to_have_attribute("href", f"#/timeline?id={facts['facts'][0]['sources'][0]}")
    before.get_by_role("button", name=re.compile("^Words of")).click()
    expect(before.locator("blockquote")).to_have_text("I live in Paris.")
    expect(before.locator("figcaption")).to_contain_text("Mara")
    camera.every_way("changes")


def test_chains_are_filtered_and_searched(shown: Server, sign_in: SignIn) -> None:
    page = sign_in(shown, "read", "changes")
    heads = page.locator(".changes-version.head > .prose")
    which = page.get_by_role("group", name="Which facts")
    expect(heads).to_have_count(8)
    which.get_by_role("button", name="Changed only").click()
    expect(heads).to_have_text(["I live in Lisbon now."])
    expect(page).to_have_url(re.compile("show=changed"))
    page.reload()
    expect(heads).to_have_text(["I live in Lisbon now."])
    which.get_by_role("button", name="Ended").click()
    expect(page.get_by_text("No fact has ended without another in its place.")).to_be_visible()
    page.get_by_role("button", name="Show all").click()
    page.keyboard.press("/")
    page.keyboard.type("paris")
    expect(heads).to_have_text(["I live in Lisbon now."])
    page.get_by_label("Search in facts").fill("no such thing")
    expect(page.get_by_text("No fact has “no such thing” in it.")).to_be_visible()


def test_chains_are_found_and_joined_over_pages(shown: Server, sign_in: SignIn) -> None:
    page = sign_in(shown, "read", "ask")
    asked: list[str] = []

    def in_small_pages(route: Route) -> None:
        asked.append(route.request.url)
        route.continue_(url=route.request.url.replace("limit=500", "limit=2"))

    page.route("**/v1/facts?*", in_small_pages)
    page.goto(f"{shown.url}/#/changes?show=changed")
    # The two versions are on the last two of five pages.
    row = chain(page, "I live in Lisbon now.")
    expect(row.locator(".changes-version > .prose")).to_have_count(2)
    expect(page.get_by_role("button", name="All 8", exact=True)).to_be_visible()
    assert len(asked) == 5


def test_a_list_of_facts_that_is_cut_says_so(shown: Server, sign_in: SignIn) -> None:
    page = sign_in(shown, "read", "ask")
    _, told = shown.api("read")("GET", "/v1/facts?status=all")
    (fact, *_) = told["facts"]

    def many(route: Route) -> None:
        facts = [fact | {"id": f"{n:032x}", "claim": f"{n:032x}"} for n in range(10_000)]
        route.fulfill(json={"facts": facts, "count": 10_000, "next": None})

    page.route("**/v1/facts?*", many)
    page.goto(f"{shown.url}/#/changes")
    expect(page.get_by_role("button", name="All 10000+", exact=True)).to_be_visible()
    expect(page.get_by_text("These are the last 10,000 facts")).to_be_visible()
    page.get_by_label("Search in facts").fill("no such thing")
    expect(page.get_by_text("None of the last 10,000 facts has “no such thing”")).to_be_visible()


def test_the_history_of_a_fact_by_keyboard_alone(
    shown: Server, sign_in: SignIn, camera: Camera
) -> None:
    page = sign_in(shown, "read", "changes", show="changed")
    expect(chain(page, "I live in Lisbon now.")).to_be_visible()
    page.get_by_role("list", name="Facts").focus()
    page.keyboard.press("j")
    page.keyboard.press("Enter")
    history = page.get_by_role("dialog", name="History of a fact")
    expect(history.locator("strong")).to_have_text(["Learned", "Replaced", "Learned"])
    expect(history).to_contain_text("A later word took its place")
    camera("changes-history")
    page.keyboard.press("Escape")
    expect(history).to_have_count(0)
    facts = page.get_by_role("tab", name="Facts")
    facts.focus()
    page.keyboard.press("ArrowRight")
    expect(page.get_by_role("tab", name="To settle")).to_be_focused()
    expect(page.get_by_role("heading", name="Questions")).to_be_visible()


def test_a_fact_is_taken_back_and_holds_again(own: Server, sign_in: SignIn) -> None:
    page = sign_in(own, "write", "changes")
    text = "I've never been to Japan."
    chain(page, text).get_by_role("button", name="Take back").click()
    sure = page.get_by_role("dialog", name="Take this fact back?")
    expect(sure).to_contain_text("You can let it hold again at any time")
    sure.get_by_role("button", name="Take back").click()
    expect(chain(page, text)).to_contain_text("By hand, in the window")
    assert statuses(own)[text] == "invalidated"
    page.get_by_role("button", name=re.compile("^Ended")).click()
    chain(page, text).get_by_role("button", name="Let it hold again").click()
    expect(page.locator(".toast", has_text="The fact holds again")).to_be_visible()
    assert statuses(own)[text] == "active"


def test_a_fact_is_edited_and_the_words_before_come_back(own: Server, sign_in: SignIn) -> None:
    page = sign_in(own, "write", "changes")
    chain(page, "I live in Lisbon now.").get_by_role("button", name="Edit").click()
    dialog = page.get_by_role("dialog", name="Edit the fact")
    dialog.get_by_label("It should say").fill("I live in Lisbon, in Alfama.")
    dialog.get_by_role("button", name="Store a new version").click()
    row = chain(page, "I live in Lisbon, in Alfama.")
    expect(row).to_contain_text("It was edited by hand.")
    expect(row.locator(".changes-version > .prose")).to_have_count(3)
    undo(page)
    expect(chain(page, "I live in Lisbon now.")).to_be_visible()
    assert statuses(own)["I live in Lisbon now."] == "active"


# What waits


def test_a_question_is_answered_for_the_known_one_and_asked_again_after_undo(
    own: Server, sign_in: SignIn, camera: Camera
) -> None:
    page = sign_in(own, "write", "changes", tab="settle")
    asked = card(page, "Known: I live in Lisbon now. New: Maybe, I live in Porto.")
    expect(asked).to_contain_text("The words are not sure of it")
    camera.every_way("changes-settle")
    asked.get_by_role("button", name="Keep the known one").click()
    expect(asked).to_have_count(0)
    assert statuses(own)["Maybe, I live in Porto."] == "invalidated"
    undo(page)
    expect(asked).to_be_visible()
    assert statuses(own)["Maybe, I live in Porto."] == "unclear"


def test_a_question_is_answered_for_the_new_one_and_undo_outlives_a_reload(
    own: Server, sign_in: SignIn
) -> None:
    page = sign_in(own, "write", "changes", tab="settle")
    asked = card(page, "Known: I live in Lisbon now. New: Maybe, I live in Porto.")
    asked.get_by_role("button", name="Keep the new one").click()
    expect(asked).to_have_count(0)
    assert statuses(own)["I live in Lisbon now."] == "superseded"
    page.reload()
    page.get_by_role("tab", name="Facts").click()
    row = chain(page, "Maybe, I live in Porto.")
    expect(row).to_contain_text("An answer settled it.")
    expect(row).to_contain_text("I live in Lisbon now.")
    page.get_by_role("button", name="Done here").click()
    done = page.get_by_role("region", name="Done here")
    expect(done).to_contain_text("The question is not asked again.")
    done.get_by_role("button", name="Undo: The new fact holds now").click()
    expect(chain(page, "I live in Lisbon now.")).to_contain_text("holds")
    assert statuses(own)["I live in Lisbon now."] == "active"
    expect(done).to_have_count(0)


def test_both_can_be_kept(own: Server, sign_in: SignIn) -> None:
    page = sign_in(own, "write", "changes", tab="settle")
    asked = card(page, "Known: I live in Lisbon now. New: Maybe, I live in Porto.")
    asked.get_by_role("button", name="Keep both").click()
    expect(asked).to_have_count(0)
    found = statuses(own)
    assert {found["I live in Lisbon now."], found["Maybe, I live in Porto."]} == {"active"}


def test_a_contradiction_is_settled_by_a_click(own: Server, sign_in: SignIn) -> None:
    page = sign_in(own, "write", "changes", tab="settle")
    pair = card(page, "Contradiction: I've never been to Japan.")
    expect(pair.locator(".changes-side .prose")).to_have_text(
        ["I've never been to Japan.", "When I was in Japan I ate ramen."]
    )
    pair.get_by_role("button", name="This one holds: When I was in Japan").click()
    expect(pair).to_have_count(0)
    assert statuses(own)["I've never been to Japan."] == "invalidated"
    undo(page)
    expect(pair).to_be_visible()
    assert statuses(own)["I've never been to Japan."] == "active"


def test_both_sides_of_a_contradiction_can_be_so(own: Server, sign_in: SignIn) -> None:
    page = sign_in(own, "write", "changes", tab="settle")
    pair = card(page, "Contradiction: I've never been to Japan.")
    pair.get_by_role("button", name="Both are so").click()
    expect(pair).to_have_count(0)
    assert waiting(own, "contradictions") == 0
    found = statuses(own)
    assert found["I've never been to Japan."] == "active"
    assert found["When I was in Japan I ate ramen."] == "active"
    undo(page)
    expect(pair).to_be_visible()
    assert waiting(own, "contradictions") == 1


def test_who_settles_one_far_down_stays_there_and_is_told_what_else_is_answered(
    own: Server, sign_in: SignIn
) -> None:
    page = sign_in(own, "write", "ask")

    def many(route: Route) -> None:
        """120 contradictions, of which the last is the one that is there."""
        (real,) = own.api("write")("GET", "/v1/contradictions")[1]["contradictions"] or (None,)
        query = parse_qs(urlsplit(route.request.url).query)
        start, most = int(query.get("cursor", ["0"])[0]), int(query["limit"][0])
        found = []
        for n in range(120):
            earlier = {"id": f"{n:032x}", "content": f"The claim {n}."}
            later = {"contradicts": ["a", "b", "c"]}
            found.append({"earlier": sides["earlier"] | earlier, "later": sides["later"] | later})
        found += [real] if real else []
        rest = str(start + most) if start + most < len(found) else None
        shown = found[start : start + most]
        route.fulfill(json={"contradictions": shown, "count": len(shown), "next": rest})

    (sides,) = own.api("write")("GET", "/v1/contradictions")[1]["contradictions"]
    page.route("**/v1/contradictions?*", many)
    page.goto(f"{own.url}/#/changes?tab=settle")
    group = page.get_by_role("region", name="Contradictions")
    cards = group.get_by_role("article")
    expect(cards).to_have_count(50)
    expect(cards.first).to_contain_text("“Both are so” answers for all of them.")
    for count in (100, 121):
        group.get_by_role("button", name="Show more").click()
        expect(cards).to_have_count(count)
    last = card(page, "Contradiction: I've never been to Japan.")
    expect(last).not_to_contain_text("answers for all of them")
    last.get_by_role("button", name="This one holds: When I was in Japan").click()
    expect(last).to_have_count(0)
    expect(cards).to_have_count(120)


def test_a_conflict_between_agents_is_settled_and_told_in_words(
    own: Server, sign_in: SignIn
) -> None:
    page = sign_in(own, "write", "changes", tab="settle")
    pair = card(page, "Conflict: My manager is Ada. / My manager is Grace.")
    expect(pair.locator(".changes-side-head")).to_have_text(["Told to planner", "Told to coder"])
    pair.get_by_role("button", name="Keep this one: My manager is Grace.").click()
    expect(pair).to_have_count(0)
    page.get_by_role("tab", name="Facts").click()
    row = chain(page, "My manager is Ada.")
    expect(row).to_contain_text("Resolved: “My manager is Grace.” was kept")
    undo(page)
    expect(row.locator(".badge").first).to_have_text("holds")
    assert waiting(own, "conflicts") == 0


def test_a_rule_in_doubt_is_confirmed(own: Server, sign_in: SignIn) -> None:
    page = sign_in(own, "write", "changes", tab="settle")
    asked = card(page, "Did you mean this as a rule for me")
    expect(asked.locator("blockquote")).to_contain_text("Is this legit? From now on")
    asked.get_by_role("button", name="Yes, follow it").click()
    expect(asked).to_have_count(0)
    assert "From now on always answer in Italian." in rules(own)
    undo(page)
    assert "From now on always answer in Italian." not in rules(own)
    assert "Answer in English from now on." in rules(own)


def test_a_rule_in_doubt_is_let_go_after_a_word_that_this_cannot_be_undone(
    own: Server, sign_in: SignIn
) -> None:
    page = sign_in(own, "write", "changes", tab="settle")
    asked = card(page, "Did you mean this as a rule for me")
    asked.get_by_role("button", name="No, it is part of the text").click()
    sure = page.get_by_role("dialog", name="It is no rule?")
    expect(sure).to_contain_text("This cannot be undone")
    sure.get_by_role("button", name="Cancel").click()
    expect(asked.get_by_role("button", name="Yes, follow it")).to_be_enabled()
    asked.get_by_role("button", name="No, it is part of the text").click()
    sure.get_by_role("button", name="It is no rule").click()
    expect(asked).to_have_count(0)
    expect(page.locator(".toast").get_by_role("button", name="Undo")).to_have_count(0)
    assert waiting(own) == 1


# Withdrawn rules


def test_a_withdrawn_rule_is_shown_with_the_words_that_ended_it_and_can_hold_again(
    own: Server, sign_in: SignIn, camera: Camera
) -> None:
    page = sign_in(own, "write", "changes", tab="rules")
    french = card(page, "Withdrawn rule: Always answer in French.")
    expect(french).to_contain_text("Ended by these words")
    expect(french.locator(".changes-side.new")).to_contain_text("Answer in English from now on.")
    cite = card(page, "Withdrawn rule: Always cite sources")
    expect(cite.locator(".changes-side.new")).to_contain_text(
        "Forget what I said about citing sources."
    )
    camera.every_way("changes-rules")
    cite.get_by_role("button", name="Let it hold again").click()
    sure = page.get_by_role("dialog", name="Let this rule hold again?")
    expect(sure).to_contain_text("You can undo this for 30 days")
    sure.get_by_role("button", name="Hold again").click()
    expect(cite).to_have_count(0)
    assert "Always cite sources when I ask about history." in rules(own)
    undo(page)
    expect(cite).to_be_visible()
    assert "Always cite sources when I ask about history." not in rules(own)


def test_what_ended_a_rule_is_told_by_the_server_and_else_guessed_and_not_undone(
    own: Server, sign_in: SignIn
) -> None:
    """Two rules of one turn ended two others: which ended which is in the server's words."""
    api = own.api("write")
    olds = ("Always write dates as day/month/year.", "Always give prices in euros.")
    news = "Write dates as year-month-day from now on. Give prices in dollars from now on."
    for content, at in (*((each, "2026-07-01T09:00:00Z") for each in olds),
                        (news, "2026-07-02T09:00:00Z")):  # fmt: skip
        said = {"role": "user", "content": content, "at": at}
        assert api("POST", "/v1/memories", {"messages": [said], "session_id": "chat"})[0] == 200
    page = sign_in(own, "write", "changes", tab="rules")
    for old, new in zip(olds, ("year-month-day", "dollars"), strict=True):
        ended = card(page, f"Withdrawn rule: {old}")
        expect(ended.locator(".changes-side.new")).to_contain_text(new)
        expect(ended.get_by_role("button", name="Let it hold again")).to_be_visible()

    def unnamed(route: Route) -> None:
        answer = route.fetch()
        found = answer.json()
        for each in found["memories"]:
            each["metadata"].pop("ended_rules", None)
            each["metadata"].pop("withdrawn_rules", None)
        route.fulfill(response=answer, json=found)

    page.route("**/v1/memories?*", unnamed)
    page.reload()
    for old in olds:
        ended = card(page, f"Withdrawn rule: {old}")
        expect(ended).to_contain_text("probably by these words")
        expect(ended.get_by_role("button", name="Let it hold again")).to_have_count(0)
    french = card(page, "Withdrawn rule: Always answer in French.")
    expect(french.get_by_role("button", name="Let it hold again")).to_be_visible()


# Who may not, what is not there, what goes wrong


def test_a_key_that_reads_is_offered_no_act(shown: Server, sign_in: SignIn) -> None:
    page = sign_in(shown, "read", "changes")
    expect(chain(page, "I live in Lisbon now.")).to_be_visible()
    acts = page.locator(".main").get_by_role(
        "button", name=re.compile("^(Edit|Take back|Let|Keep|This one|Yes|No|Undo)")
    )
    expect(acts).to_have_count(0)
    for tab, seen in (("To settle", "Which one holds?"), ("Withdrawn rules", "Ended by")):
        page.get_by_role("tab", name=tab).click()
        expect(page.get_by_text(seen).first).to_be_visible()
        expect(acts).to_have_count(0)


def test_an_empty_memory_says_what_will_be_here(
    empty_server: Server, sign_in: SignIn, camera: Camera
) -> None:
    page = sign_in(empty_server, "write", "changes")
    expect(page.get_by_role("heading", name="No facts yet")).to_be_visible()
    camera.every_way("changes-empty")
    page.get_by_role("tab", name="To settle").click()
    expect(page.get_by_role("heading", name="Nothing waits for you")).to_be_visible()
    page.get_by_role("tab", name="Withdrawn rules").click()
    expect(page.get_by_role("heading", name="No rule was withdrawn")).to_be_visible()


def test_a_slow_server_is_told_and_what_comes_is_shown(
    shown: Server, sign_in: SignIn, slowly: Callable[[str, float], None]
) -> None:
    slowly("**/v1/facts?*", 3.0)
    page = sign_in(shown, "read", "changes")
    expect(page.get_by_text("Facts takes longer than usual")).to_be_visible()
    expect(chain(page, "I live in Lisbon now.")).to_be_visible()


def test_an_error_offers_another_try(shown: Server, sign_in: SignIn, watch: Watch) -> None:
    watch.allow("status of 500")
    page = sign_in(shown, "read", "ask")
    page.route("**/v1/facts?*", lambda route: route.fulfill(status=500, body="{}"))
    page.get_by_role("link", name="What changed").click()
    alert = page.get_by_role("alert")
    expect(alert).to_contain_text("The server answered 500.")
    page.unroute("**/v1/facts?*")
    alert.get_by_role("button", name="Try again").click()
    expect(chain(page, "I live in Lisbon now.")).to_be_visible()


def test_what_was_typed_outlives_a_server_that_is_gone_and_a_reload(
    own: Server, sign_in: SignIn, watch: Watch
) -> None:
    watch.allow(GONE)
    page = sign_in(own, "write", "changes")
    chain(page, "I live in Lisbon now.").get_by_role("button", name="Edit").click()
    dialog = page.get_by_role("dialog", name="Edit the fact")
    dialog.get_by_label("It should say").fill("I live in Sintra")
    own.stop()
    dialog.get_by_role("button", name="Store a new version").click()
    expect(dialog.get_by_role("alert")).to_contain_text("Nothing you typed is lost")
    expect(dialog.get_by_label("It should say")).to_have_value("I live in Sintra")
    own.start()
    page.reload()
    page.get_by_label("Key", exact=True).fill(own.keys["write"])
    page.get_by_role("button", name="Sign in").click()
    chain(page, "I live in Lisbon now.").get_by_role("button", name="Edit").click()
    expect(dialog.get_by_label("It should say")).to_have_value("I live in Sintra")
    dialog.get_by_role("button", name="Store a new version").click()
    expect(chain(page, "I live in Sintra")).to_be_visible()


def test_a_settling_that_fails_says_why_and_keeps_the_card(
    own: Server, sign_in: SignIn, watch: Watch
) -> None:
    watch.allow("status of 400|status of 422")
    page = sign_in(own, "write", "changes", tab="settle")
    asked = card(page, "Known: I live in Lisbon now.")
    expect(asked).to_be_visible()
    _, found = own.api("admin")("GET", "/v1/clarifications")
    ids = [each["id"] for each in found["clarifications"] if each["known"]]
    own.api("admin")("POST", f"/v1/clarifications/{ids[0]}/answer", {"keep": "new"})
    asked.get_by_role("button", name="Keep the known one").click()
    expect(asked.get_by_role("alert")).to_contain_text("waits for no answer")


def test_other_scripts_are_shown_in_their_own_direction(shown: Server, sign_in: SignIn) -> None:
    page = sign_in(shown, "read", "changes")
    text = chain(page, ARABIC).locator(".prose")
    assert text.evaluate("element => getComputedStyle(element).direction") == "rtl"
    other = chain(page, JAPANESE).locator(".prose")
    assert other.evaluate("element => getComputedStyle(element).direction") == "ltr"
    page.get_by_label("Search in facts").fill("東京")
    expect(page.locator(".changes-version.head > .prose")).to_have_text([JAPANESE])


def test_nothing_that_is_stored_is_executed(
    own: Server, sign_in: SignIn, page: Page, camera: Camera
) -> None:
    poison = Poison(page)
    api = own.api("admin")
    _, facts = api("GET", "/v1/facts")
    gone = facts["facts"][-1]["id"]
    api("POST", f"/v1/facts/{gone}/invalidate", {"reason": PAYLOADS[0]})
    sign_in(own, "admin", "changes")
    expect(page.locator(".changes-version.head > .prose")).to_have_count(8)
    closed = page.get_by_role("button", name=re.compile("^Words"))
    while closed.count():
        closed.first.click()
    expect(page.locator("blockquote").first).to_be_visible()
    page.get_by_role("button", name=re.compile("^History of")).first.click()
    history = page.get_by_role("dialog", name="History of a fact")
    expect(history.locator("strong").first).to_be_visible()
    poison.check()
    page.keyboard.press("Escape")
    page.get_by_role("button", name=re.compile("^Edit")).first.click()
    expect(page.get_by_label("It should say")).to_have_value(re.compile("."))
    page.keyboard.press("Escape")
    page.get_by_role("tab", name="Withdrawn rules").click()
    expect(page.locator(".changes-card").first).to_be_visible()
    page.get_by_role("tab", name="To settle").click()
    expect(page.locator(".changes-card")).to_have_count(4)
    page.get_by_role("button", name=re.compile("^This one holds")).first.click()
    expect(page.locator(".toast").first).to_be_visible()
    page.get_by_role("button", name="Done here").click()
    camera("changes-payloads")
    poison.check()
    assert poison.used > len(PAYLOADS)
    assert page.evaluate("document.documentElement.scrollWidth") <= 1280


def test_a_long_text_and_a_narrow_screen(
    empty_server: Server, sign_in: SignIn, camera: Camera
) -> None:
    long = "Überlänge" * 40 + " " + "the plan has many parts " * 250
    api = empty_server.api("admin")
    api("POST", "/v1/facts", {"text": long})
    page = sign_in(empty_server, "write", "changes")
    page.set_viewport_size({"width": NARROW[0], "height": NARROW[1]})
    page.get_by_role("button", name=re.compile("Show all")).click()
    assert page.evaluate("document.documentElement.scrollWidth") <= NARROW[0]
    expect(page.get_by_role("button", name="Show less")).to_be_attached()
    camera("changes-long-narrow")
