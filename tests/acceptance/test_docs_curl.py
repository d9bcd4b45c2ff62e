"""Every curl of the documents is run, page by page, against a service of its own."""

import os
import re
import subprocess
from pathlib import Path

import pytest

from tests.service.model import answering
from tests.service.serving import serving

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
PAGES = [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").rglob("*.md"))]
#: Every answer over 399 fails the page; what never ends is cut off after a while.
PRELUDE = r"""
set -euo pipefail
curl() {
    local fail=--fail-with-body
    [[ " $* " =~ \ -[a-zA-Z]*f ]] && fail=
    if [[ " $* " =~ \ -[a-zA-Z]*N ]]; then
        command curl $fail -sS --max-time 2 "$@" || [ $? = 28 ]
    else
        command curl $fail -sS --max-time 60 "$@"
    fi
}
"""


def blocks(page: Path) -> list[str]:
    """The shell examples of a page that ask the service."""
    found = re.findall(r"^```(?:bash|sh|shell)\n(.*?)^```$", page.read_text(), re.M | re.S)
    return [block for block in found if re.search(r"\bcurl\b", block)]


ASKING = [page for page in PAGES if blocks(page)]


def test_there_are_pages_to_run() -> None:
    names = {page.name for page in ASKING}
    assert {"http.md"} <= names
    for page in ASKING:
        for block in blocks(page):
            assert "localhost:3050" in block, f"{page.name}: where does this curl go?\n{block}"


@pytest.mark.parametrize("page", ASKING, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_curl_of_a_page_is_answered(page: Path, tmp_path: Path) -> None:
    text = "\n".join(blocks(page))
    for name in re.findall(r"@([\w./-]+)", text):
        (tmp_path / name).write_text("# Notes\n\nThe release is on Friday.\n")
    with (
        answering() as model,
        serving(tmp_path / "m.db", settings={"proxy.url": model}) as service,
    ):
        script = PRELUDE + text.replace("localhost:3050", f"localhost:{service.port}")
        ended = subprocess.run(
            ["bash", "-c", script],
            cwd=tmp_path,
            env={"PATH": os.environ["PATH"], "KEY": service.key},
            capture_output=True, text=True, check=False, timeout=100,
        )  # fmt: skip
    assert ended.returncode == 0, f"{ended.stdout[-1500:]}\n{ended.stderr[-1500:]}"
