"""Which tests `make check` runs: scripts/reach.py."""

from pathlib import Path

import pytest

from scripts import reach


def test_a_module_reaches_the_tests_that_import_it_first() -> None:
    found = reach.reached(["src/holdfast/border/validate.py"])
    assert found[0].startswith("tests/border/")
    assert "tests/border/test_validate.py" in found[:5]


def test_a_changed_test_comes_before_all_others() -> None:
    found = reach.reached(["src/holdfast/types.py", "tests/test_sample.py"])
    assert found[0] == "tests/test_sample.py"


def test_a_table_reaches_the_tests_that_name_it() -> None:
    assert "tests/test_mutants.py" in reach.reached(["scripts/mutants.toml"])


def test_what_is_gone_reaches_the_tests_of_its_package() -> None:
    assert "tests/border/test_validate.py" in reach.reached(["src/holdfast/border/gone.py"])


def test_prose_reaches_the_tests_of_the_docs() -> None:
    assert reach.reached([f"docs/{'nobody'}-names-this.md"]) == ["tests/test_docs.py"]


def test_a_failure_fails_the_check(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    test = tmp_path / "test_it.py"
    test.write_text("def test_right():\n    pass\n\n\ndef test_wrong():\n    assert False\n")
    assert reach.run([str(test)], 60) == 1
    assert "1 failed, 1 passed" in capfd.readouterr().out


def test_what_there_is_no_time_for_is_said(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    test = tmp_path / "test_it.py"
    test.write_text("import time\n\n\n" + "".join(
        f"def test_{number}():\n    time.sleep(0.2)\n\n\n" for number in range(200)
    ))  # fmt: skip
    assert reach.run([str(test)], 0.1) == 0
    assert "the others are for `make test`" in capfd.readouterr().out
