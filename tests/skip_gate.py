"""A test that did not really run fails the run, unless its reason is on the pinned list.

Skips and expected failures are collected where the reports of all workers meet, so this works
with and without xdist. The list is `allowed_skips.txt` beside this file.
"""

from pathlib import Path

import pytest

ALLOWED = Path(__file__).with_name("allowed_skips.txt")


def pytest_configure(config: pytest.Config) -> None:
    is_xdist_worker = hasattr(config, "workerinput")
    if not is_xdist_worker:
        config.pluginmanager.register(SkipGate(allowed_reasons(ALLOWED.read_text())))


def allowed_reasons(text: str) -> frozenset[str]:
    lines = (line.strip() for line in text.splitlines())
    return frozenset(line for line in lines if line and not line.startswith("#"))


class SkipGate:
    """Remembers every skip that is not allowed; ends the session as failed if there is one."""

    def __init__(self, allowed: frozenset[str]) -> None:
        self.allowed = allowed
        self.refused: list[str] = []

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self.judge(report)

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        self.judge(report)

    def judge(self, report: pytest.TestReport | pytest.CollectReport) -> None:
        if report.skipped and (reason := reason_of(report)) not in self.allowed:
            self.refused.append(f"{report.nodeid}: {reason}")

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        if self.refused and session.exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        if self.refused:
            terminalreporter.section("skipped, but not in allowed_skips.txt")
            for line in self.refused:
                terminalreporter.line(line)


def reason_of(report: pytest.TestReport | pytest.CollectReport) -> str:
    expected_failure = getattr(report, "wasxfail", None)
    if expected_failure is not None:
        return str(expected_failure).removeprefix("reason: ")
    # pytest's form of a skip: (path, line, "Skipped: the reason")
    told = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
    return told.removeprefix("Skipped: ")
