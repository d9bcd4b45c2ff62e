"""Run every test once, suite by suite, and sum them up.

The closing line is always `N passed, N failed`, with `, N skipped` when there are any.
A suite that ends badly without naming a failed test (nothing collected, a skip that is not
allowed, a crash) counts as one failure. A few failed tests are run once more with nothing beside
them, since a machine that others use can stand still for seconds: what passes then is counted by
itself in the closing line, what fails again has failed. What kills processes and counts lost writes
has no second run. The fast tests run on another day and in another time zone
(otherday.py), drawn from a seed that is printed: SUITES_SEED=... draws the same again. `make check`
runs them today and here.
"""

import contextlib
import json
import os
import random
import re
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from scripts.otherday import drawn

#: A suite that takes longer hangs: its processes tell where they are (faulthandler), and end.
LONGEST_SECONDS = 2000
#: More failures than these are no accident of the machine.
FEW = 5
OWN_DIRECTORY = ["tests/acceptance", "tests/crash", "tests/window"]


@dataclass(frozen=True)
class Suite:
    """A name and what pytest is told."""

    name: str
    args: Sequence[str]
    #: Laid over the environment, made when the suite starts.
    settings: Callable[[], Mapping[str, str]] = dict
    #: What runs its failed tests once more; None: a failure is one.
    again: Sequence[str] | None = ("--last-failed", "--last-failed-no-failures=none", "-n1")


def other_day() -> Mapping[str, str]:
    """The environment of a day that is drawn, which is told with its seed."""
    seed = int(os.environ.get("SUITES_SEED") or random.SystemRandom().randrange(10**6))
    now = datetime.now(UTC)
    day = drawn(seed, now)
    print(f"\nthe other day: {day} (SUITES_SEED={seed})")
    return day.settings(now)


SPEED = "tests/window/test_speed.py"
# Parts of a file that take long are handed to whoever is free.
UNIT = ["tests", *(f"--ignore={path}" for path in OWN_DIRECTORY), "-n2", "--dist=worksteal"]
# Which lines of the package ran; told by room at the end.
COVERED = ["--cov=holdfast", "--cov-report="]

SUITES = [
    Suite("fast", [*UNIT, "-m", "not slow"], other_day),
    Suite("slow", [*UNIT, "-m", "slow"]),
    Suite("acceptance", ["tests/acceptance", "-n2"]),
    # A third of their time they wait for a paint or a timer: three keep two cores busy.
    Suite("window", ["tests/window", f"--ignore={SPEED}", "-n3", "--dist=worksteal"]),
    # Alone on the machine: they kill and count processes, and measure times.
    Suite("alone", ["tests/crash", SPEED], again=None),
]

#: Runs only when it is named.
COVERAGE = Suite("coverage", [*UNIT, "-m", "not slow", *COVERED])

# "12 passed, 1 skipped in 3.45s", with or without the rule of `=` around it.
CLOSING_LINE = re.compile(r"^[= ]*(?P<counts>(\d+ \w+|no tests ran).*) in [\d.]+s\b")
COUNT = re.compile(r"(\d+) (passed|failed|error|skipped|xfailed|xpassed)")
SUMMED_AS = {"error": "failed", "xfailed": "skipped", "xpassed": "passed"}


@dataclass(frozen=True)
class Result:
    """How a suite went."""

    name: str
    seconds: float
    closing_line: str
    counts: Counter[str]


def main(suites: Sequence[Suite]) -> int:
    results = [ran(suite) for suite in suites]
    total = sum((result.counts for result in results), Counter[str]())
    print(f"\n{'suite':<12} {'seconds':>8}  result")
    for result in results:
        print(f"{result.name:<12} {result.seconds:>8.1f}  {result.closing_line}")
    if COVERAGE in suites:
        print(coverage())
    skipped = f", {total['skipped']} skipped" if total["skipped"] else ""
    again = f", {total['again']} only when run once more" if total["again"] else ""
    print(f"{total['passed']} passed, {total['failed']} failed{skipped}{again}", flush=True)
    return 0 if total["passed"] and not total["failed"] else 1


def coverage() -> str:
    """How many lines of each room the fast tests ran."""
    command = [sys.executable, "-m", "coverage", "json", "-q", "-o", "-"]
    told = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
    if told.returncode:
        return "coverage: not measured"
    lines: Counter[str] = Counter()
    covered: Counter[str] = Counter()
    for file, found in json.loads(told.stdout)["files"].items():
        where, _, *rooms, _ = Path(file).parts
        if where != "src":  # The store suite is a test, wherever it can be imported from.
            continue
        room = rooms[0] if rooms else "top level"
        lines[room] += found["summary"]["num_statements"]
        covered[room] += found["summary"]["covered_lines"]
    share = covered.total() / max(1, lines.total())
    shares = (f"{name} {covered[name] / max(1, lines[name]):.0%}" for name in sorted(lines))
    return (
        f"coverage of the fast tests: {share:.1%} of {lines.total():,} lines ({', '.join(shares)})"
    )


def ran(suite: Suite) -> Result:
    """How a suite went. One that hung has said where; what it would have found, a second run tells,
    and the sum names both."""
    settings = suite.settings()
    result = run(suite, settings)
    if "hung" in result.closing_line:
        print(f"== suite {suite.name} hung: its processes said where; once more", flush=True)
        again = run(suite, settings)
        line = f"{again.closing_line} (in a second run: the first hung and was ended)"
        result = replace(again, seconds=result.seconds + again.seconds, closing_line=line)
    few = 0 < result.counts["failed"] <= FEW and not result.counts["skipped"]
    if suite.again is not None and few:
        return run_again(suite, settings, result)
    return result


def run_again(suite: Suite, settings: Mapping[str, str], first: Result) -> Result:
    """With the failed tests of a first run alone, whose tracebacks are printed, run once more."""
    assert suite.again is not None
    print(f"== suite {suite.name}: what failed, once more and alone", flush=True)
    second = run(replace(suite, args=[*suite.args, *suite.again]), settings)
    counts = first.counts.copy()
    if second.counts["passed"]:
        # A test that passed and whose clearing up failed has been counted among the passed, too.
        counts["passed"] -= errors(first.closing_line)
        counts.update(passed=second.counts["passed"], again=second.counts["passed"])
        counts["failed"] = second.counts["failed"]
    line = f"{first.closing_line}; of these, run once more: {second.closing_line}"
    return Result(suite.name, first.seconds + second.seconds, line, counts)


def run(suite: Suite, settings: Mapping[str, str]) -> Result:
    told = "".join(f"{name}={value} " for name, value in settings.items())
    print(f"\n== suite {suite.name}: {told}pytest {' '.join(suite.args)}", flush=True)
    closing_line = "no closing line"
    began = time.monotonic()
    command = [sys.executable, "-m", "pytest", "--color=no", "--durations=12", *suite.args]
    environment = {**os.environ, **settings}
    with (
        subprocess.Popen(
            command, stdout=subprocess.PIPE, text=True, env=environment, start_new_session=True
        ) as pytest,
        ended_after(LONGEST_SECONDS, pytest) as ended,
    ):
        assert pytest.stdout is not None
        for line in pytest.stdout:
            print(line, end="", flush=True)
            if match := CLOSING_LINE.match(line):
                closing_line = match["counts"]
    seconds = time.monotonic() - began
    if ended.is_set():
        closing_line = f"hung: {closing_line}"
    counts = counted(closing_line, exit_status=pytest.returncode)
    if pytest.returncode:
        closing_line += f" (pytest ended with {pytest.returncode})"
    return Result(suite.name, seconds, closing_line, counts)


@contextlib.contextmanager
def ended_after(seconds: float, process: subprocess.Popen[str]) -> Iterator[threading.Event]:
    """SIGABRT, on which every process of the group says where it is, then SIGKILL; the event is
    set when it came to that."""
    came_to_that = threading.Event()

    def end() -> None:
        came_to_that.set()
        print(f"\nended: it has run for {seconds:.0f} s", flush=True)
        for number, pause in ((signal.SIGABRT, 10), (signal.SIGKILL, 0)):
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, number)
            time.sleep(pause)

    timer = threading.Timer(seconds, end)
    timer.daemon = True
    timer.start()
    try:
        yield came_to_that
    finally:
        timer.cancel()


def errors(closing_line: str) -> int:
    """Tests that failed before they began, or after they ended."""
    return sum(int(number) for number, word in COUNT.findall(closing_line) if word == "error")


def counted(closing_line: str, *, exit_status: int) -> Counter[str]:
    """Passed, failed and skipped; a bad exit status is never without a failure."""
    counts: Counter[str] = Counter()
    for number, word in COUNT.findall(closing_line):
        counts[SUMMED_AS.get(word, word)] += int(number)
    if exit_status and not counts["failed"]:
        counts["failed"] = 1
    return counts


if __name__ == "__main__":
    chosen = sys.argv[1:]
    every = [*SUITES, COVERAGE] if chosen else SUITES
    sys.exit(main([suite for suite in every if not chosen or suite.name in chosen]))
