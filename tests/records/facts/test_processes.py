"""Two processes that change one fact at the same time: no change is lost, one version is active."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tests.records.facts.stating import Stated

ROOT = Path(__file__).parents[3]
EACH = 15
WRITER = """
import sys
from datetime import timedelta
from pathlib import Path
from tests.records.facts.stating import Stated

path, offset, count = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
stated = Stated(path)
print("ready", flush=True)
sys.stdin.readline()
for number in range(count):
    # Every value is said at a moment of its own, the two writers in turn.
    stated.now += timedelta(minutes=2)
    at = stated.now + timedelta(minutes=offset)
    fact = stated.facts.add(f"I weigh {60 + 2 * number + offset} kilos.", user="ann", at=at)
    print(fact.outcome, fact.reason, flush=True)
stated.store.close()
"""


def test_no_update_is_lost(tmp_path: Path) -> None:
    path = tmp_path / "facts.db"
    Stated(path).store.close()
    writers = [
        subprocess.Popen(
            [sys.executable, "-c", WRITER, str(path), str(offset), str(EACH)],
            cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            text=True,
        )
        for offset in (0, 1)
    ]  # fmt: skip
    for writer in writers:
        assert writer.stdout is not None
        assert writer.stdout.readline() == "ready\n"
    for writer in writers:
        assert writer.stdin is not None
        writer.stdin.write("go\n")
        writer.stdin.flush()
    for writer in writers:
        out, error = writer.communicate(timeout=240)
        assert writer.returncode == 0, error
        assert len(out.splitlines()) == EACH
    stated = Stated(path)
    stated.now = stated.later() + stated.later().resolution
    everything = stated.facts.list(user="ann", status="all", limit=1000)
    assert {each.content for each in everything} == {
        f"I weigh {60 + number} kilos." for number in range(2 * EACH)
    }
    (active,) = stated.facts.list(user="ann")
    assert active.content == f"I weigh {60 + 2 * EACH - 1} kilos."
    stated.store.close()
