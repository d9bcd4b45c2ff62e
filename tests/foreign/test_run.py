"""How `make foreign` judges a client: tiny checks as real processes."""

import time
from pathlib import Path

import pytest

from tests.foreign import run

KNOWN = {"tiny/known": "the client cannot do it"}


def checked(
    tmp_path: Path, script: str, expected: dict[str, str] | None = None, limit: float = 60.0
) -> run.Verdict:
    (tmp_path / "check.py").write_text(script)
    return run.run_check("tiny", tmp_path, expected or {}, limit, {"HOLDFAST_URL": "http://x"})


def test_a_client_whose_scenarios_pass_is_good(tmp_path: Path) -> None:
    script = "import os\nprint('PASS tiny/' + os.environ['HOLDFAST_URL'][:4])\nprint('noise')"
    verdict = checked(tmp_path, script)
    assert verdict.is_good
    assert verdict.passed == ["tiny/http"]


def test_a_failure_that_is_listed_is_good_and_one_that_is_not_is_bad(tmp_path: Path) -> None:
    known = "print('FAIL tiny/known: no such route'); raise SystemExit(1)"
    verdict = checked(tmp_path, known, KNOWN)
    assert verdict.is_good
    assert verdict.known == ["tiny/known: the client cannot do it"]
    verdict = checked(tmp_path, known)
    assert verdict.failed == ["tiny/known: no such route"]
    assert not verdict.is_good


def test_what_is_expected_to_fail_must_fail_and_must_be_run(tmp_path: Path) -> None:
    verdict = checked(tmp_path, "print('PASS tiny/known')", KNOWN)
    assert verdict.mended == ["tiny/known"]
    assert not verdict.is_good
    verdict = checked(tmp_path, "print('PASS tiny/other')", KNOWN)
    assert verdict.wrong == ["tiny/known is expected to fail, but was not run"]


@pytest.mark.parametrize(
    ("script", "problem"),
    [
        ("print('hello')", "told nothing and ended with 0"),
        ("print('PASS tiny/a'); raise ValueError('broken')", "ended with 1; .*ValueError"),
        ("print('FAIL tiny/a: x'); raise SystemExit(3)", "ended with 3"),
        ("print('PASS tiny/a'); print('PASS tiny/a')", "told twice"),
        ("print('PASS other/a')", "not a name of tiny"),
        ("import os; print('PASS tiny/a', flush=True); os.kill(os.getpid(), 9)", "ended with -9"),
    ],
)
def test_a_client_that_tells_nothing_or_ends_badly_is_bad(
    tmp_path: Path, script: str, problem: str
) -> None:
    import re

    verdict = checked(tmp_path, script)
    assert not verdict.is_good
    assert re.search(problem, "\n".join(verdict.wrong), re.DOTALL), verdict


def test_a_client_that_hangs_is_ended_with_all_that_it_started(tmp_path: Path) -> None:
    script = (
        "import subprocess, sys, time\n"
        "print('PASS tiny/a', flush=True)\n"
        "child = 'import time; time.sleep(600)'\n"
        "child = subprocess.Popen([sys.executable, '-c', child])\n"
        "open('child', 'w').write(str(child.pid))\n"
        "time.sleep(600)"
    )
    verdict = checked(tmp_path, script, limit=5.0)
    assert "ran out of time" in verdict.wrong[0]
    child = Path(f"/proc/{(tmp_path / 'child').read_text()}/stat")
    until = time.monotonic() + 30
    while child.exists() and child.read_text().split()[2] != "Z":
        assert time.monotonic() < until, "the child runs on"


def test_what_is_missing_is_said_in_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "tiny").mkdir()
    (tmp_path / "tiny" / "check.mjs").write_text("console.log('PASS tiny/a')")
    monkeypatch.setattr(run, "CACHE", tmp_path / "cache")
    monkeypatch.setenv("PATH", str(tmp_path))
    assert run.main(["--clients", str(tmp_path)]) == 1
    assert "node and npm not found on the PATH" in capsys.readouterr().out


def test_a_line_of_expected_failures_needs_a_reason(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("# why\n\ntiny/a: for a reason: this\n")
    assert run.read_expected(tmp_path) == {"tiny/a": "for a reason: this"}
    (tmp_path / "b.txt").write_text("tiny/b\n")
    with pytest.raises(SystemExit, match=r"b\.txt, line 1"):
        run.read_expected(tmp_path)


def test_every_expected_failure_of_ours_is_one_of_a_client_that_exists() -> None:
    for name in run.read_expected(run.HERE / "expected.d"):
        folder = run.HERE / name.split("/")[0]
        assert any((folder / check).exists() for check in run.CHECKS), name
