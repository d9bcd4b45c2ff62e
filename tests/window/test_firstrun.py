"""Get started: what an empty memory offers, and examples that run as they stand."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from typing import Any
from urllib.parse import quote

import pytest
from playwright.sync_api import Page, Route, expect

from holdfast import sample
from tests.window.conftest import GONE, USER, Camera, Server, SignIn, Watch
from tests.window.test_shell import stored

pytestmark = pytest.mark.slow

#: A store, three sessions and what is read of them, on a busy machine.
_LOADED_MS = 60_000
TURNS = len(sample.turns())


def tiers(server: Server, user: str = USER) -> dict[str, int]:
    told: dict[str, Any] = server.api()("GET", f"/v1/stats?user_id={quote(user)}")[1]
    return dict(told["tiers"])


def load(page: Page) -> None:
    page.get_by_role("button", name="Load the sample").click()
    done = page.locator(".firstrun-progress.done")
    expect(done).to_contain_text(f"{TURNS} turns", timeout=_LOADED_MS)


def copied(page: Page, label: str) -> str:
    page.get_by_role("button", name=label, exact=True).click()
    expect(page.get_by_role("button", name="Copied")).to_be_visible()
    return str(page.evaluate("navigator.clipboard.readText()"))


def test_an_empty_memory_offers_the_sample_and_can_be_asked_then(
    empty_server: Server, sign_in: SignIn, camera: Camera
) -> None:
    page = sign_in(empty_server, "write")
    expect(page.get_by_role("heading", name="Get started")).to_be_visible()
    expect(page.get_by_text(f"Nothing is remembered of {USER} yet")).to_be_visible()
    camera.every_way("firstrun")
    load(page)
    assert tiers(empty_server)["session"] == TURNS
    camera.every_way("firstrun-loaded")
    page.get_by_role("button", name="Ask something").click()
    expect(page.get_by_label("Context block as it is injected")).to_contain_text("Kadewerk")
    page.goto(f"{empty_server.url}/#/start")
    load(page)
    assert tiers(empty_server)["session"] == TURNS, "it was stored twice"


def test_progress_is_told_while_it_loads(
    empty_server: Server, sign_in: SignIn, slowly: Callable[[str, float], None], camera: Camera
) -> None:
    page = sign_in(empty_server, "write")
    slowly("**/v1/memories", 2.0)
    page.get_by_role("button", name="Load the sample").click()
    expect(page.locator(".firstrun-progress")).to_contain_text("Storing session 1 of 3")
    expect(page.get_by_role("progressbar")).to_have_attribute("aria-valuenow", "0")
    expect(page.get_by_role("button", name="Loading…")).to_be_disabled()
    camera("firstrun-loading")
    expect(page.locator(".firstrun-progress")).to_contain_text("Storing session 3 of 3")
    expect(page.locator(".firstrun-progress.done")).to_be_visible(timeout=_LOADED_MS)


def test_a_sample_that_broke_off_is_completed_and_nothing_is_twice(
    empty_server: Server, sign_in: SignIn, watch: Watch, camera: Camera
) -> None:
    watch.allow("status of 500")
    page = sign_in(empty_server, "write")
    seen: list[str] = []

    def fail_the_second(route: Route) -> None:
        seen.append(str(json.loads(route.request.post_data or "{}")["session_id"]))
        if len(seen) == 2:
            route.fulfill(status=500, json={"error": "the disk is full"})
        else:
            route.continue_()

    page.route("**/v1/memories", fail_the_second)
    page.get_by_role("button", name="Load the sample").click()
    expect(page.get_by_role("alert")).to_contain_text("The disk is full")
    expect(page.get_by_role("alert")).to_contain_text("stores nothing twice")
    camera.every_way("firstrun-failed")
    page.get_by_role("button", name="Try again").click()
    expect(page.locator(".firstrun-progress.done")).to_be_visible(timeout=_LOADED_MS)
    assert tiers(empty_server)["session"] == TURNS


def test_a_sample_that_was_forgotten_can_be_loaded_again(
    empty_server: Server, sign_in: SignIn
) -> None:
    page = sign_in(empty_server, "write")
    load(page)
    api = empty_server.api("write")
    for _ in range(10):
        memories = api("GET", "/v1/memories?limit=200")[1]["memories"]
        for each in memories:
            api("DELETE", f"/v1/memories/{each['id']}")
        if not any(tiers(empty_server).values()):
            break
    page.reload()
    load(page)
    assert tiers(empty_server)["session"] == TURNS


def test_a_key_that_only_reads_is_offered_no_loading(
    empty_server: Server, sign_in: SignIn, camera: Camera
) -> None:
    page = sign_in(empty_server, "read")
    expect(page.get_by_text("This key may only read")).to_be_visible()
    expect(page.get_by_role("button", name="Load the sample")).to_have_count(0)
    expect(page.get_by_role("region", name="Python example")).to_be_visible()
    camera.every_way("firstrun-read-only")


def test_an_operator_says_whose_memory_the_sample_becomes(
    empty_server: Server, sign_in: SignIn, camera: Camera
) -> None:
    page = sign_in(empty_server, "operator", "start", user="")
    page.get_by_label("Remember it as user").fill("try it")
    load(page)
    assert tiers(empty_server, "try it")["session"] == TURNS
    assert tiers(empty_server)["session"] == 0
    camera("firstrun-operator")
    page.get_by_role("link", name="On what date does demolition start?").click()
    expect(page.get_by_label("Context block as it is injected")).to_contain_text("11 May")
    expect(page).to_have_url(re.compile(r"user=try\+it"))


def test_the_key_in_the_examples_is_only_what_is_pasted_and_kept_nowhere(
    empty_server: Server, sign_in: SignIn, camera: Camera
) -> None:
    page = sign_in(empty_server, "write", "start")
    key = empty_server.keys["write"]
    example = page.get_by_role("region", name="Python example")
    expect(example).to_contain_text('api_key="rk_..."')
    assert key not in copied(page, "Copy")
    box = page.get_by_label("Fill in your key")
    box.fill("not a key'; rm")
    expect(page.get_by_role("alert")).to_contain_text("A key begins with rk_")
    expect(example).to_contain_text('api_key="rk_..."')
    box.fill(key)
    expect(example).not_to_contain_text(key)
    assert f'api_key="{key}"' in copied(page, "Copy with key")
    page.get_by_role("button", name="Shown").click()
    expect(example).to_contain_text(key)
    camera.every_way("firstrun-key")
    page.get_by_role("button", name="Hidden").click()
    kept = page.evaluate("JSON.stringify([{...localStorage}, {...sessionStorage}, location.href])")
    assert key not in kept
    page.get_by_role("link", name="Timeline", exact=True).first.click()
    page.go_back()
    expect(page.get_by_role("heading", name="Get started")).to_be_visible()
    assert key not in stored(page)
    expect(box).to_have_value("")


def run(command: list[str], text: str) -> str:
    done = subprocess.run(
        command, input=text, capture_output=True, text=True, timeout=60, check=False,
        env=os.environ | {"PYTHONWARNINGS": ""},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout


HOSTILE = 'o\'brien "$(touch x)" \\ `id`'


@pytest.mark.parametrize("user", [USER, HOSTILE], ids=["plain", "hostile"])
def test_the_examples_run_as_they_stand(empty_server: Server, sign_in: SignIn, user: str) -> None:
    page = sign_in(empty_server, "operator", "start", user=quote(user))
    page.get_by_label("Fill in your key").fill(empty_server.keys["operator"])
    python = copied(page, "Copy with key")
    assert len(python.splitlines()) == 3
    run([sys.executable, "-"], python)
    assert tiers(empty_server, user)["session"] == 1
    page.get_by_role("tab", name="curl").click()
    shell = copied(page, "Copy with key")
    assert len(shell.splitlines()) == 3
    assert "Lisbon" in run(["bash", "-e"], shell)
    assert tiers(empty_server, user)["session"] == 2
    page.get_by_role("tab", name="MCP").click()
    mcp = json.loads(copied(page, "Copy with key"))["mcpServers"]["holdfast"]
    assert mcp["url"] == f"{empty_server.url}/mcp"
    assert mcp["headers"] == {"Authorization": f"Bearer {empty_server.keys['operator']}"}


def test_a_server_that_goes_while_the_sample_loads_is_waited_for(
    empty_server: Server, sign_in: SignIn, watch: Watch
) -> None:
    watch.allow(GONE)
    page = sign_in(empty_server, "write")
    expect(page.get_by_role("button", name="Load the sample")).to_be_visible()
    empty_server.stop()
    page.get_by_role("button", name="Load the sample").click()
    banner = page.locator(".banner.bad")
    expect(banner).to_contain_text("The server does not answer")
    empty_server.start()
    banner.get_by_role("button", name="Try now").click()
    again = page.get_by_role("dialog", name="Sign in again")
    again.get_by_label("Key", exact=True).fill(empty_server.keys["write"])
    again.get_by_role("button", name="Sign in").click()
    expect(page.locator(".firstrun-progress.done")).to_be_visible(timeout=_LOADED_MS)
    assert tiers(empty_server)["session"] == TURNS
