"""How fast the window is over many memories: first paint, every view, the size of the bundle.

The goals are those of the product, on a machine that does nothing else: first paint within 1 s, an
interaction within 100 ms, each the median of 10. Machines that run tests are busy, so what is
asserted is twice as lax; the figures are printed (`pytest -s`) and are what to quote, those of
100,000 memories (HOLDFAST_WINDOW_MEMORIES=100000, which takes minutes to fill).
"""

from __future__ import annotations

import gzip
import os
import statistics
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest
from numpy.typing import NDArray
from playwright.sync_api import Page, expect

import holdfast
from holdfast.models.local import LocalEmbedder
from holdfast.service.http import window
from tests.window.conftest import USER, Filled, Server, SignIn
from tests.window.touring import VIEWS, View, ask, go, settle

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]

MEMORIES = int(os.environ.pop("HOLDFAST_WINDOW_MEMORIES", "20000"))
TIMES = 10
GOAL_PAINT_MS, GOAL_ACT_MS, GOAL_BUNDLE_BYTES = 1000, 100, 500_000
#: With the answer of the server: a slider waits a moment for the next step, too.
GOAL_ASKED_MS = 500
LAX = 2
_BATCH = 2_000
_SESSIONS = 500

#: Does something and waits until what came of it is painted; milliseconds.
_TIMED = """async ([what, argument]) => {
  const boxes = () => [...document.querySelectorAll('.main, .main *')].filter((each) =>
    /auto|scroll/.test(getComputedStyle(each).overflowY)
    && each.scrollHeight > each.clientHeight + 40);
  const acts = {
    open: () => { location.hash = argument; },
    tab: () => document.querySelectorAll('.main [role=tab]')[argument].click(),
    scroll: (box) => { box.scrollTop += 400; },
  };
  const tallest = what === 'scroll'
    ? boxes().sort((a, b) => b.scrollHeight - a.scrollHeight)[0] : null;
  if (what === 'scroll' && !tallest) return null;
  performance.mark('began');
  acts[what](tallest);
  // Two frames: the first may have been under way already.
  for (let frame = 0; frame < 2; frame += 1) await new Promise(requestAnimationFrame);
  await new Promise((done) => setTimeout(done));
  performance.mark('painted');
  return performance.measure('act', 'began', 'painted').duration;
}"""

#: Does something and waits until the result is painted, not only the page that waits for it.
_RESULT = """async () => {
  const text = (what) => document.querySelector(what)?.textContent ?? '';
  const busy = () => document.querySelector('.main [aria-busy=true], .main .skeleton') !== null;
  const slide = (box, value) => {
    Object.getOwnPropertyDescriptor(HTMLInputElement.prototype, 'value').set.call(box, value);
    box.dispatchEvent(new Event('input', { bubbles: true }));
  };
  const before = text('.ask-tokens-head');
  const began = performance.now();
  ACT;
  while (!(SHOWN)) {
    if (performance.now() - began > 20000) throw new Error('nothing came');
    await new Promise(requestAnimationFrame);
  }
  await new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
  return performance.now() - began;
}"""

_WORDS = [f"{a}{b}{c}" for a in "bdfgklmnprst" for b in "aeiou" for c in "lmnrstvx"]


def sentence(number: int) -> str:
    """A dozen words; others for every number."""
    picks = (number * step % len(_WORDS) for step in (1, 7, 31, 57, 101, 173, 211, 307, 331, 401))
    return f"In case {number} " + " ".join(_WORDS[pick] for pick in picks) + "."


class Stock(LocalEmbedder):
    """Vectors of a fixed stock under the name of the shipped model: filling costs nothing."""

    def __init__(self) -> None:
        super().__init__()
        self._stock = np.random.default_rng(7).standard_normal((4096, self.dim)).astype(np.float32)
        self._stock /= np.linalg.norm(self._stock, axis=1, keepdims=True)

    def embed(self, texts: list[str]) -> NDArray[np.float32]:
        found: NDArray[np.float32] = self._stock[[hash(text) % 4096 for text in texts]]
        return found


@pytest.fixture(scope="module")
def large_server(filled: Filled, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """The sample conversation and many turns of the same user, over a year."""
    db = filled.copy(tmp_path_factory.mktemp("large"))
    began = datetime.now(UTC) - timedelta(days=365)
    with holdfast.open(db, worker=False, embedder=Stock()) as memory:
        for start in range(0, MEMORIES, _BATCH):
            turns = [
                {
                    "role": "assistant" if number % 2 else "user",
                    "content": sentence(number),
                    "at": (began + timedelta(minutes=5 * number)).isoformat(),
                }
                for number in range(start, start + _BATCH)
            ]
            session = f"talk-{start * _SESSIONS // MEMORIES}"
            memory.remember(turns, user=USER, session=session, extract=False)
        memory.drain()
        assert memory.stats(user=USER).tiers["session"] >= MEMORIES
    started = Server(db, filled.keys).start()
    yield started
    started.stop()


def told(what: str, times: list[float], goal: float) -> None:
    """One line of the report; it fails at twice the goal."""
    median = statistics.median(times)
    print(
        f"\n  {what}: median {median:.0f} ms, worst {max(times):.0f} ms (goal {goal:.0f} ms)",
        end="",
    )
    assert median < LAX * goal, f"{what}: {times}"


def timed(page: Page, what: str, argument: object = None) -> float | None:
    """Do one thing and wait for its paint; None where there is nothing of the kind."""
    found: float | None = page.evaluate(_TIMED, [what, argument])
    settle(page)
    return found


def test_the_first_paint(large_server: Server, sign_in: SignIn) -> None:
    page = sign_in(large_server, "operator")
    paints, whole = [], []
    for _ in range(TIMES):
        page.reload()
        expect(page.locator(".main h1, .main h2").first).to_be_visible()
        script = """() => [performance.getEntriesByName('first-contentful-paint')[0].startTime,
                           performance.now()]"""
        paint, now = page.evaluate(script)
        paints.append(paint)
        whole.append(now)
    told("first paint", paints, GOAL_PAINT_MS)
    told("view is there", whole, 2 * GOAL_PAINT_MS)


@pytest.mark.parametrize("view", VIEWS, ids=lambda view: view.id)
def test_an_interaction(large_server: Server, sign_in: SignIn, view: View) -> None:
    page = sign_in(large_server, "operator")
    other = View("nowhere", "Not found", False)
    go(page, view)  # It is loaded once; what is measured is going there and back.
    times: dict[str, list[float]] = {"open": [], "tab": [], "scroll": []}
    for _ in range(TIMES):
        go(page, other)
        opened = timed(page, "open", f"#/{view.id}?user={USER}")
        assert opened is not None
        times["open"].append(opened)
    ask(page, "Where do I keep the kettle?")
    tabs = page.locator(".main [role=tab]").count()
    for turn in range(TIMES if tabs > 1 else 0):
        times["tab"] += [timed(page, "tab", (turn + 1) % tabs) or 0.0]
    go(page, view)
    for _ in range(TIMES):
        if (scrolled := timed(page, "scroll")) is not None:
            times["scroll"].append(scrolled)
    for what, found in times.items():
        if found:
            told(f"{view.title}, {what}", found, GOAL_ACT_MS)


def painted(page: Page, act: str, shown: str) -> float:
    """Milliseconds from an act until what it asked the server for is painted."""
    began: float = page.evaluate(
        _RESULT.replace("ACT", act).replace("SHOWN", shown.replace("\n", " "))
    )
    settle(page)
    return began


def test_a_slider_to_the_answer(large_server: Server, sign_in: SignIn) -> None:
    page = sign_in(large_server, "operator")
    go(page, VIEWS[0])
    ask(page, "Where do I keep the kettle?")
    times = []
    for turn in range(TIMES):
        place = 6 + turn % 2
        act = f"slide(document.querySelector('.main input[type=range]'), {place})"
        times.append(painted(page, act, "text('.ask-tokens-head') !== before"))
    told("Ask, slider to the new block (asks the server)", times, GOAL_ASKED_MS)


def test_a_filter_to_the_rows(large_server: Server, sign_in: SignIn) -> None:
    page = sign_in(large_server, "operator", "timeline")
    settle(page)
    times = []
    for turn in range(TIMES):
        tier = ("fact", "session")[turn % 2]
        act = f"location.hash = '#/timeline?user={USER}&tier={tier}'"
        shown = f"!busy() && text('.timeline-row .badge') === '{tier}'"
        times.append(painted(page, act, shown))
    told("Timeline, filter to the new rows (asks the server)", times, GOAL_ASKED_MS)


def test_a_memory_to_its_words(large_server: Server, sign_in: SignIn) -> None:
    _, found = large_server.api()("GET", f"/v1/memories?user_id={USER}&limit={TIMES}")
    page = sign_in(large_server, "operator", "timeline")
    settle(page)
    times = []
    for each in found["memories"]:
        act = f"location.hash = '#/timeline?user={USER}&id={each['id']}'"
        times.append(painted(page, act, "text('.memory-text .prose') !== ''"))
        page.keyboard.press("Escape")
        expect(page.locator(".dialog")).to_have_count(0)
    told("Timeline, a memory to its words (asks the server)", times, GOAL_ASKED_MS)


def test_the_bundle() -> None:
    files = [
        path for path in window.FOLDER.rglob("*") if path.suffix in (".html", ".js", ".css", ".svg")
    ]
    packed = sum(len(gzip.compress(path.read_bytes())) for path in files)
    print(f"\n  bundle: {packed / 1000:.0f} KB compressed (goal 500 KB)", end="")
    assert len(files) > len(VIEWS)
    assert packed < GOAL_BUNDLE_BYTES
