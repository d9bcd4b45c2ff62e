"""The house rules are enforced: no silent skips, no empty runs, a sum that can be trusted."""

import os
import signal
import subprocess
import sys
import tomllib
from datetime import UTC, datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from scripts import run_suites
from scripts.otherday import SHIFTING, STEADY, OtherDay, drawn
from scripts.run_suites import Suite, counted, ended_after, main

GATE = Path(__file__).with_name("skip_gate.py")
ROOT = Path(__file__).parents[1]

SKIPS = {
    "a skipped test": """
        import pytest
        @pytest.mark.skip(reason="no moon tonight")
        def test_tide(): pass
        """,
    "a test that skips itself": """
        import pytest
        def test_tide(): pytest.skip("no moon tonight")
        """,
    "an expected failure": """
        import pytest
        @pytest.mark.xfail(reason="no moon tonight")
        def test_tide(): assert False
        """,
    "a test that expects to fail itself": """
        import pytest
        def test_tide(): pytest.xfail("no moon tonight")
        """,
    "a skipped module": """
        import pytest
        pytest.skip("no moon tonight", allow_module_level=True)
        """,
}


@pytest.fixture(autouse=True)
def _no_plugins(monkeypatch: pytest.MonkeyPatch) -> None:
    """A pytest inside these tests loads only what it is told to: four times as fast."""
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")


@pytest.fixture
def gated(pytester: pytest.Pytester) -> pytest.Pytester:
    """A tiny project behind our gate, with one test that passes."""
    pytester.makeconftest(GATE.read_text())
    pytester.makefile(".txt", allowed_skips="# nothing yet")
    pytester.makepyfile(test_fine="def test_fine(): pass")
    return pytester


@pytest.mark.parametrize("workers", [[], ["-p", "xdist", "-n1"]], ids=["alone", "xdist"])
@pytest.mark.parametrize("kind", SKIPS)
def test_a_skip_fails_the_run_and_is_named(
    gated: pytest.Pytester, kind: str, workers: list[str]
) -> None:
    gated.makepyfile(test_moon=SKIPS[kind])
    result = gated.runpytest_subprocess(*workers)
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.stdout.fnmatch_lines(["*skipped, but not in allowed_skips.txt*", "*no moon tonight"])


@pytest.mark.parametrize("kind", SKIPS)
def test_an_allowed_reason_passes(gated: pytest.Pytester, kind: str) -> None:
    gated.makefile(".txt", allowed_skips="# the moon is not ours\nno moon tonight\n")
    gated.makepyfile(test_moon=SKIPS[kind])
    assert gated.runpytest_subprocess().ret == pytest.ExitCode.OK


def test_a_run_without_skips_passes(gated: pytest.Pytester) -> None:
    result = gated.runpytest_subprocess("-p", "xdist", "-n1")
    assert result.ret == pytest.ExitCode.OK
    assert "allowed_skips" not in result.stdout.str()


def test_words_of_the_closing_line_are_summed() -> None:
    line = "2 failed, 7 passed, 1 skipped, 3 xfailed, 4 errors, 9 deselected"
    assert counted(line, exit_status=1) == {"passed": 7, "failed": 6, "skipped": 4}


def test_a_bad_end_without_a_failed_test_counts_as_one() -> None:
    assert counted("5 passed", exit_status=3) == {"passed": 5, "failed": 1}


def test_suites_are_summed_in_the_last_line(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "test_two.py").write_text("def test_a(): pass\ndef test_b(): pass\n")
    (tmp_path / "test_bad.py").write_text("def test_c(): assert False\n")
    plain = ["-c", "/dev/null", "--rootdir", str(tmp_path), "-p", "no:cacheprovider"]
    good = Suite("good", [str(tmp_path / "test_two.py"), *plain])
    bad = Suite("bad", [str(tmp_path / "test_bad.py"), *plain])
    assert main([good]) == 0
    assert capfd.readouterr().out.splitlines()[-1] == "2 passed, 0 failed"
    assert main([good, bad]) == 1
    assert capfd.readouterr().out.splitlines()[-1] == "2 passed, 1 failed"


def test_an_empty_suite_fails(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    plain = ["-c", "/dev/null", "--rootdir", str(tmp_path), "-p", "no:cacheprovider"]
    assert main([Suite("empty", [str(tmp_path), *plain])]) == 1
    assert capfd.readouterr().out.splitlines()[-1] == "0 passed, 1 failed"


def test_a_suite_that_hangs_says_where_and_ends(capfd: pytest.CaptureFixture[str]) -> None:
    hanging = "import faulthandler, time; faulthandler.enable(); print(flush=True); time.sleep(60)"
    command = [sys.executable, "-c", hanging]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, text=True, stdout=pipe, start_new_session=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "\n", "from here on it can say where it is"
        with ended_after(1, process) as ended:
            assert process.wait(timeout=30) == -signal.SIGABRT
    assert ended.is_set()
    captured = capfd.readouterr()
    assert "it has run for 1 s" in captured.out
    assert 'File "<string>", line 1' in captured.err


@pytest.mark.slow
def test_a_suite_that_hung_once_is_run_again_and_the_sum_says_so(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run_suites, "LONGEST_SECONDS", 20)
    (tmp_path / "test_slow.py").write_text(
        "import pathlib, time\n"
        "def test_a():\n"
        "    seen = pathlib.Path(__file__).with_name('seen')\n"
        "    if not seen.exists():\n"
        "        seen.touch()\n"
        "        time.sleep(60)\n"
    )
    plain = ["-c", "/dev/null", "--rootdir", str(tmp_path), "-p", "no:cacheprovider"]
    bare = {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}  # It starts at once, also on a busy machine.
    assert main([Suite("slow", [str(tmp_path), *plain], lambda: bare)]) == 0
    told = capfd.readouterr().out
    assert "the first hung and was ended" in told
    assert told.splitlines()[-1] == "1 passed, 0 failed"


AGAIN = ("--last-failed", "--last-failed-no-failures=none")
UNLUCKY = """
import pathlib
import pytest

seen = pathlib.Path(__file__).with_name("seen")

def test_fine(): pass

def test_once():
    try:
        assert seen.exists()
    finally:
        seen.touch()

@pytest.fixture
def closed():
    late = seen.with_name("late")
    yield
    try:
        assert late.exists()
    finally:
        late.touch()

def test_late(closed): pass
"""
UNLUCKY_TWICE = UNLUCKY + "def test_never(): assert False\n"


@pytest.mark.parametrize(
    ("tests", "again", "last"),
    [
        (UNLUCKY, AGAIN, "3 passed, 0 failed, 2 only when run once more"),
        (UNLUCKY_TWICE, AGAIN, "3 passed, 1 failed, 2 only when run once more"),
        (UNLUCKY, None, "2 passed, 2 failed"),
    ],
    ids=["passes", "one fails again", "a suite that has no second run"],
)
def test_few_failed_tests_are_run_once_more_and_the_sum_says_so(
    tmp_path: Path,
    capfd: pytest.CaptureFixture[str],
    tests: str,
    again: tuple[str, ...] | None,
    last: str,
) -> None:
    (tmp_path / "test_luck.py").write_text(tests)
    plain = ["-c", "/dev/null", "--rootdir", str(tmp_path), f"-o cache_dir={tmp_path / 'cache'}"]
    status = main([Suite("luck", [str(tmp_path), *plain], again=again)])
    told = capfd.readouterr().out.splitlines()
    assert told[-1] == last
    assert status == (0 if ", 0 failed" in last else 1)
    assert any("of these, run once more" in line for line in told) == (again is not None)


NOW = datetime(2026, 11, 16, 12, tzinfo=UTC)


def test_the_same_seed_draws_the_same_day_and_every_kind_is_drawn() -> None:
    days = [drawn(seed, NOW) for seed in range(60)]
    assert days == [drawn(seed, NOW) for seed in range(60)]
    assert len({day.kind for day in days}) == 4
    assert len({day.zone for day in days}) == len(STEADY + SHIFTING)
    assert all(day.starts > NOW for day in days)


def test_a_change_of_summer_time_comes_minutes_after_the_suite_starts() -> None:
    changes = [day for day in (drawn(seed, NOW) for seed in range(60)) if "summer" in day.kind]
    for day in changes:
        there = ZoneInfo(day.zone)
        soon = day.starts + timedelta(minutes=10)
        assert day.starts.astimezone(there).utcoffset() != soon.astimezone(there).utcoffset()


#: Says the date, and whether 40 waits beside a busy thread were short; then again as a child.
WAITING = """
import subprocess, sys, threading, time
over = threading.Event()
threading.Thread(target=lambda: [None for _ in iter(over.is_set, True)], daemon=True).start()
began = time.monotonic()
for _ in range(20):
    time.sleep(0.001)
    threading.Event().wait(0.001)
over.set()
print(time.strftime("%Y-%m-%d %z"), time.monotonic() - began < 10, flush=True)
if len(sys.argv) == 1:
    subprocess.run([sys.executable, "-c", sys.orig_argv[2], "again"], check=True)
"""


@pytest.mark.slow
def test_on_another_day_only_the_date_is_another() -> None:
    day = OtherDay("a leap day", datetime(2028, 2, 29, 9, tzinfo=UTC), "Asia/Kathmandu")
    ended = subprocess.run(
        [sys.executable, "-c", WAITING],
        env={**os.environ, **day.settings(datetime.now(UTC))},
        capture_output=True,
        text=True,
        check=True,
    )
    assert ended.stdout.splitlines() == ["2028-02-29 +0545 True"] * 2


def test_an_unknown_suite_fails() -> None:
    command = [sys.executable, "scripts/run_suites.py", "no-such-suite"]
    ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert ended.returncode == 1


def test_every_data_file_is_in_the_package() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    patterns = project["tool"]["setuptools"]["package-data"]["*"]
    files = [path for path in (ROOT / "src" / "holdfast").rglob("*") if path.is_file()]
    data = [path for path in files if path.suffix not in (".py", ".pyc")]
    assert data
    left_out = [path.name for path in data if not any(path.match(each) for each in patterns)]
    assert left_out == []
