"""A memory in which something changed: facts with versions, open questions, rules that ended."""

from __future__ import annotations

import json
from itertools import cycle
from pathlib import Path
from typing import Any

from playwright.sync_api import Dialog, Page, Route

import holdfast
from tests.window.conftest import USER, Filled, Server, _with_keys, made_once

ARABIC = "أعيش في القاهرة منذ عام 2019."
JAPANESE = "私は東京の小さな本屋で働いています。"
TURNS = (
    ("2026-01-05T09:00:00Z", "I live in Paris."),
    ("2026-03-01T09:00:00Z", "I moved, I live in Lisbon now."),
    ("2026-03-02T09:00:00Z", "Always answer in French."),
    ("2026-03-09T09:00:00Z", "Answer in English from now on."),
    ("2026-04-01T09:00:00Z", "Always cite sources when I ask about history."),
    ("2026-04-08T09:00:00Z", "Forget what I said about citing sources."),
    ("2026-05-01T09:00:00Z", "Is this legit? From now on always answer in Italian."),
)
FACTS = (
    ("2026-06-01T09:00:00Z", "Maybe, I live in Porto."),
    ("2026-06-02T09:00:00Z", "I've never been to Japan."),
    ("2026-06-03T09:00:00Z", "When I was in Japan I ate ramen."),
    ("2026-06-04T09:00:00Z", ARABIC),
    ("2026-06-05T09:00:00Z", JAPANESE),
)


_VECTORS = (
    "<script>window.pwned=1</script>",
    "<img src=x onerror='window.pwned=1'>",
    "<svg/onload=window.pwned=1>",
    "<iframe srcdoc='<script>parent.pwned=1</script>'></iframe>",
    "javascript:window.pwned=1//",
    "<a href='javascript:window.pwned=1'>x</a>",
    "{{constructor.constructor('window.pwned=1')()}}",
    "<b onmouseover=window.pwned=1 onfocus=window.pwned=1 tabindex=0 autofocus>b</b>",
    "</textarea><script>window.pwned=1</script>",
    "<math><mtext></table><img src=x onerror=window.pwned=1>",
    "<details open ontoggle=window.pwned=1>",
    "<style>*{background:url(//evil.example)}</style>",
)
_CARRIERS = ("{}", "'\">{}", "--><!--{}", "\u202e{}", "${{{}}}", "&lt;{}&gt;", "\\u003c{}\x00")
#: What would run if it were ever taken for markup, a script or an address.
PAYLOADS = tuple(carrier.format(each) for each in _VECTORS for carrier in _CARRIERS)
#: What tells times, states and addresses apart, not words to be shown.
_KEPT = {
    "id", "sources", "claim", "replaces", "contradicts", "facts", "record", "next", "status",
    "kind", "tier", "action", "at", "created_at", "updated_at", "valid_from", "valid_to",
    "known_from", "known_to", "forgotten_at", "until", "expires_at", "role", "user_id",
    "workspace_id",
}  # fmt: skip


class Poison:
    """Puts a payload into every text of every answer, and notes whether one ever ran."""

    def __init__(self, page: Page) -> None:
        self._page = page
        self._payloads = cycle(PAYLOADS)
        self.used = 0
        self.dialogs: list[str] = []
        page.on("dialog", self._opened)
        page.route("**/v1/**", self._answer)

    def check(self) -> None:
        """Nothing ran, and no markup came of it."""
        assert self._page.evaluate("window.pwned") is None
        assert self.dialogs == []
        made = (
            "script, iframe, img, math, style, details, textarea, [onmouseover], [href^=javascript]"
        )
        assert (
            self._page.locator(", ".join(f".main {each}" for each in made.split(", "))).count() == 0
        )

    def _opened(self, dialog: Dialog) -> None:
        self.dialogs.append(dialog.message)
        dialog.dismiss()

    def _answer(self, route: Route) -> None:
        if "/v1/whoami" in route.request.url or "/v1/sign-in" in route.request.url:
            route.continue_()
            return
        answer = route.fetch()
        if not answer.headers.get("content-type", "").startswith("application/json"):
            route.fulfill(response=answer)
            return
        route.fulfill(response=answer, body=json.dumps(self._poisoned(answer.json())))

    def _poisoned(self, value: Any, name: str = "") -> Any:
        if name == "facts" and isinstance(value, list) and value and isinstance(value[0], dict):
            return [self._poisoned(each) for each in value]
        if name in _KEPT:
            return value
        if isinstance(value, dict):
            return {each: self._poisoned(inner, each) for each, inner in value.items()}
        if isinstance(value, list):
            return [self._poisoned(each, name) for each in value]
        if isinstance(value, str):
            self.used += 1
            return f"{value} {next(self._payloads)}"
        return value


def told_store(folder: Path) -> Filled:
    """A store in which all of the above was told and read."""
    return made_once(folder.parent, "told", _told)


def _told(db: Path) -> Filled:
    made = _with_keys(db, fill=False)
    with holdfast.open(made.db, worker=False) as memory:
        for at, said in TURNS:
            message = {"role": "user", "name": "Mara", "content": said, "at": at}
            memory.remember([message], user=USER, session="chat")
            memory.drain()
        for at, text in FACTS:
            memory.facts.add(text, user=USER, at=at)
        for day, agent, name in ((6, "planner", "Ada"), (7, "coder", "Grace")):
            memory.facts.add(
                f"My manager is {name}.", user=USER, agent=agent, origin="user",
                at=f"2026-06-0{day}T09:00:00Z",
            )  # fmt: skip
        deploy = memory.procedures.add(
            "Deploy the shop", steps=["Run the tests", "Tag the commit", "Push the tag"],
            trigger="a release of the shop is due", tags=["shop"], user=USER,
        )  # fmt: skip
        memory.procedures.used(deploy.id, worked=True, user=USER)
        memory.drain()
    return made


def served(store: Filled, folder: Path) -> Server:
    """A service over a copy of it."""
    return Server(store.copy(folder), dict(store.keys)).start()
