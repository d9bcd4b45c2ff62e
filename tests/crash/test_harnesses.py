"""The harnesses, with the counts of CI; and that they see what they look for."""

import random
import re
import subprocess
import sys
from pathlib import Path

import pytest

from scripts.killpoints import Outcome, Point, misbehaviour
from scripts.ledger import Ledger, content, judged, parsed
from scripts.powerloss import Disk, Inode

ROOT = Path(__file__).parents[2]
SCRIPTS = ("crash", "crash_http", "powerloss", "killpoints", "concurrency")


def run(script: str, *arguments: str) -> tuple[int, str]:
    """Exit status and closing line of a harness."""
    ended = subprocess.run(
        [sys.executable, f"scripts/{script}.py", *arguments],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    print(ended.stdout + ended.stderr)
    lines = ended.stdout.splitlines()
    return ended.returncode, lines[-1] if lines else ended.stderr


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_nothing_acknowledged_is_lost_by_kill_9() -> None:
    status, line = run("crash", "--cycles", "50")
    assert status == 0
    assert "0 lost, 0 doubled, 0 torn, 0 corrupt" in line


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_nothing_a_service_acknowledged_is_lost_by_kill_9() -> None:
    status, line = run("crash_http", "--cycles", "30")
    assert status == 0
    assert "0 lost, 0 doubled, 0 torn, 0 corrupt" in line


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_nothing_acknowledged_is_lost_by_a_power_cut() -> None:
    status, line = run("powerloss", "--cuts", "200")
    assert status == 0
    assert "cuts with losses 0, doubled 0, torn 0, corrupt 0" in line


@pytest.mark.slow
@pytest.mark.parametrize("synchronous", ["NORMAL", "OFF"])
def test_the_power_loss_harness_sees_what_weaker_settings_lose(synchronous: str) -> None:
    status, line = run("powerloss", "--cuts", "60", "--synchronous", synchronous)
    assert status == 1
    counts = {what: int(n) for what, n in re.findall(r"(losses|corrupt) (\d+)", line)}
    assert counts["losses"] > 0
    assert (counts["corrupt"] > 0) == (synchronous == "OFF")


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_no_system_call_is_a_bad_moment_to_die_or_to_fail() -> None:
    status, line = run("killpoints", "--every", "24")
    assert status == 0
    assert " 0 faults" in line


@pytest.mark.slow
def test_processes_share_a_file_without_errors() -> None:
    status, line = run("concurrency", "--seconds", "8", "--writers", "4", "--readers", "4")
    assert status == 0
    assert "0 errors to callers, 0 lost, 0 doubled, 0 torn, 0 corrupt" in line


@pytest.mark.slow
def test_one_key_over_four_processes_gives_one_event() -> None:
    status, line = run("concurrency", "--same-key", "--rounds", "20")
    assert status == 0
    assert "20 rounds of 32 writes, 0 errors to callers" in line


@pytest.mark.slow
@pytest.mark.parametrize("script", SCRIPTS)
def test_every_harness_explains_itself(script: str) -> None:
    ended = subprocess.run(
        [sys.executable, f"scripts/{script}.py", "--help"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 0
    assert "--seed" in ended.stdout


def a_ledger() -> Ledger:
    """One acknowledged batch of two, one acknowledged single turn that was forgotten."""
    ledger = Ledger()
    for line in ("acked b 01 02", "acked s 03", "changing 03", "forgotten 03"):
        ledger.note(line)
    return ledger


SOUND = [("01", content("b", 0, 2), False), ("02", content("b", 1, 2), False),
         ("03", content("s", 0, 1), True)]  # fmt: skip


def test_a_sound_store_has_no_faults() -> None:
    assert judged(a_ledger(), SOUND) == []


def test_an_unacknowledged_turn_may_be_there_once() -> None:
    assert judged(a_ledger(), [*SOUND, ("04", content("u", 0, 1), False)]) == []


@pytest.mark.parametrize(
    ("rows", "kinds"),
    [
        (SOUND[:2], {"lost"}),
        (SOUND[1:], {"lost", "torn"}),
        ([*SOUND, ("04", content("s", 0, 1), False)], {"doubled"}),
        ([*SOUND, ("04", content("u", 0, 2), False)], {"torn"}),
        ([*SOUND[:2], ("03", content("s", 0, 1), False)], {"lost"}),
        ([*SOUND[:2], ("03", content("s", 0, 1)[:-1], True)], {"corrupt", "lost"}),
        ([SOUND[0], ("02", content("x", 1, 2), False), SOUND[2]], {"lost", "torn"}),
    ],
    ids=[
        "missing",
        "half a batch",
        "twice",
        "half unacknowledged",
        "forget undone",
        "cut",
        "other",
    ],
)
def test_a_planted_fault_is_seen(rows: list[tuple[str, str, bool]], kinds: set[str]) -> None:
    assert {kind for kind, _ in judged(a_ledger(), rows)} == kinds


def test_a_retry_that_gives_other_events_is_seen() -> None:
    ledger = a_ledger()
    ledger.note("acked s 99")
    assert [kind for kind, _ in ledger.faults] == ["doubled"]


def test_a_content_knows_its_place() -> None:
    assert parsed(content("7-1.2k", 3, 9)) == ("7-1.2k", 3, 9)
    assert parsed(content("7-1.2k", 3, 9).replace("part 3", "part 4")) is None


def test_what_was_synced_survives_every_cut() -> None:
    for seed in range(200):
        inode = Inode()
        inode.pending += [(0, b"a" * 2000), (1000, b"b" * 3000), (3500, None)]
        inode.sync()
        inode.pending += [(0, b"c" * 600), (3000, b"d" * 1000)]
        image = inode.survivor(random.Random(seed))
        assert image[600:3000] == b"a" * 400 + b"b" * 2000


def test_an_unsynced_write_is_sometimes_lost_kept_torn_and_scrambled() -> None:
    seen = set()
    for seed in range(300):
        inode = Inode(bytearray(1024))
        inode.pending.append((0, b"x" * 1024))
        image = inode.survivor(random.Random(seed))
        seen.add(tuple(_kind(image[at : at + 512]) for at in (0, 512)))
    assert {("old", "old"), ("new", "new"), ("old", "new"), ("new", "old")} <= seen
    assert any("noise" in each for each in seen)


def _kind(sector: bytes) -> str:
    return {b"x" * 512: "new", bytes(512): "old"}.get(sector, "noise")


def test_a_name_that_was_not_synced_may_be_lost(tmp_path: Path) -> None:
    names = []
    for seed in range(50):
        disk = Disk(random.Random(seed), cut_at=1)
        disk.opened(str(tmp_path / "sure"))
        disk.sync_names()
        disk.opened(str(tmp_path / "new"))
        disk.tick()
        names.append({Path(name).name for name in disk.image or {}})
    assert all("sure" in each for each in names)
    assert 0 < sum("new" in each for each in names) < 50


@pytest.mark.parametrize(
    ("what", "lines", "kinds"),
    [
        ("EIO", ["refused remember StoreError x", "refused forget StoreError x", "end"], []),
        ("EIO", ["refused remember StoreError x", "acked a 01", "end"], ["lied"]),
        ("ENOSPC", ["refused remember StoreFull x", "acked a 01", "end"], []),
        ("ENOSPC", ["refused remember StoreError x", "end"], ["misnamed"]),
        ("EIO", ["refused open StoreError x", "refused open StoreError x"], []),
        ("EIO", ["ready 1", "acked a 01"], ["corrupt"]),
    ],
    ids=["shut", "goes on after EIO", "room again", "not called full", "no opening", "broke off"],
)
def test_misbehaviour_on_a_failing_disk_is_seen(
    what: str, lines: list[str], kinds: list[str]
) -> None:
    point = Point("writer", "pwrite64", 1, what)
    assert [kind for kind, _ in misbehaviour(point, Outcome(lines, "exit", ""))] == kinds
