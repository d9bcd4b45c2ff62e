"""Programs of other people against Holdfast: `make foreign`, `python -m tests.foreign.run NAME`.

A client is a folder beside this file:

- `requirements.txt` (for pip) or `package.json` (for npm, without a lock file), all pinned;
- `check.py` or `check.mjs`, which prints one line for each scenario, `PASS <client>/<name>` or
  `FAIL <client>/<name>: <reason>`, and ends with 0, or with 1 if something failed. What else it
  prints is shown when something is wrong.

It is run in an environment of its own (kept under `.cache/foreign`), against a fresh service over
a fresh store, with these variables: `HOLDFAST_URL`, `HOLDFAST_KEY` (an admin key),
`HOLDFAST_DB`, `HOLDFAST_BIN` (the command `holdfast`), and `HOLDFAST_UPSTREAM`, the address of
the scripted model (`tests/service/proxy/upstream.py`) that the proxy of that service stands before.

What is known to fail is a line `<client>/<name>: <reason>` in `expected.d/*.txt`; one that passes,
or is not run any more, is as wrong as one that fails unexpectedly.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
CACHE = ROOT / ".cache" / "foreign"
CHECKS = ("check.py", "check.mjs")
_LINE = re.compile(r"(PASS|FAIL) ([\w.-]+/[^\s:]+)(?::\s*(.*))?$")


class Missing(Exception):
    """What the clients need is not on this machine; the message says what to install."""


@dataclass
class Verdict:
    """What one client showed."""

    passed: list[str] = field(default_factory=list)
    known: list[str] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)
    #: Passed though it was expected to fail.
    mended: list[str] = field(default_factory=list)
    #: What is wrong with the run itself.
    wrong: list[str] = field(default_factory=list)

    @property
    def is_good(self) -> bool:
        return not (self.failed or self.mended or self.wrong)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the clients that were named, or all; 1 if anything is not as expected."""
    parser = argparse.ArgumentParser(prog="tests.foreign.run")
    parser.add_argument("names", nargs="*", metavar="NAME", help="clients; all if none is named")
    parser.add_argument("--clients", type=Path, default=HERE, help="the folder of the clients")
    parser.add_argument("--limit", type=float, default=600.0, help="seconds for a check")
    options = parser.parse_args(arguments)
    found = sorted(
        path.parent.name for name in CHECKS for path in options.clients.glob(f"*/{name}")
    )
    if unknown := sorted(set(options.names) - set(found)):
        parser.error(f"No such client: {', '.join(unknown)}. There are: {', '.join(found)}.")
    expected = read_expected(options.clients / "expected.d")
    verdicts = {}
    for name in options.names or found:
        verdicts[name] = run_client(options.clients / name, expected, options.limit)
        _tell(name, verdicts[name])
    strays = sorted(one for one in expected if one.split("/")[0] not in found)
    for stray in strays:
        print(f"expected.d names a client that does not exist: {stray}")
    _table(verdicts)
    return 0 if verdicts and not strays and all(v.is_good for v in verdicts.values()) else 1


def read_expected(folder: Path) -> dict[str, str]:
    """The reasons of what is known to fail, by its name."""
    reasons = {}
    for file in sorted(folder.glob("*.txt")):
        for number, line in enumerate(file.read_text().splitlines(), 1):
            if not line.strip() or line.startswith("#"):
                continue
            name, colon, reason = line.partition(": ")
            if not (colon and reason.strip() and re.fullmatch(r"[\w.-]+/\S+", name)):
                raise SystemExit(f"{file.name}, line {number}: not `<client>/<name>: <reason>`")
            reasons[name] = reason.strip()
    return reasons


def run_client(folder: Path, expected: Mapping[str, str], limit: float) -> Verdict:
    """Set one client up, give it a service of its own, and judge what it prints."""
    # Only here: the judging is tested without a service.
    from tests.service.proxy import upstream
    from tests.service.serving import serving

    try:
        place, paths = prepare(folder)
    except Missing as problem:
        return Verdict(wrong=[str(problem)])
    with tempfile.TemporaryDirectory() as where, upstream.running() as model:
        db = Path(where) / "memory.db"
        settings = {"proxy": {"url": model.url, "apiKey": "sk-upstream"}}
        with serving(db, settings=settings) as service:
            told = {
                "HOLDFAST_URL": f"http://127.0.0.1:{service.port}",
                "HOLDFAST_KEY": service.key,
                "HOLDFAST_DB": str(db),
                "HOLDFAST_BIN": str(_command(Path(where))),
                "HOLDFAST_UPSTREAM": model.url,
            }
            return run_check(folder.name, place, expected, limit, {**told, "PATH": paths})


def _command(where: Path) -> Path:
    """`holdfast` as a check can call it: it would take our variables for settings, and refuse."""
    command = where / "holdfast"
    program = Path(sys.executable).with_name("holdfast")
    ours = "HOLDFAST_URL HOLDFAST_KEY HOLDFAST_BIN HOLDFAST_UPSTREAM"
    command.write_text(f'#!/bin/sh\nunset {ours}\nexec "{program}" "$@"\n')
    command.chmod(0o755)
    return command


def prepare(folder: Path) -> tuple[Path, str]:
    """A copy of the client with all it needs installed, and the PATH that it sees."""
    needs = [folder / name for name in ("requirements.txt", "package.json")]
    needs = [file for file in needs if file.exists()]
    pins = hashlib.sha256(b"".join(file.read_bytes() for file in needs)).hexdigest()[:12]
    place = CACHE / f"{folder.name}-{pins}-py{sys.version_info.minor}"
    shutil.copytree(folder, place, dirs_exist_ok=True)
    paths = [os.environ["PATH"]]
    if (place / "requirements.txt").exists():
        _install_python(place)
        paths.insert(0, str(place / "venv" / "bin"))
    if (place / "package.json").exists() or (place / "check.mjs").exists():
        _install_node(place)
        paths.insert(0, str(place / "node_modules" / ".bin"))
    return place, os.pathsep.join(paths)


def _install_python(place: Path) -> None:
    if not (place / ".python-is-complete").exists():
        _call(place, sys.executable, "-m", "venv", "--clear", "venv")
        _call(place, "venv/bin/python", "-m", "pip", "install", "-qq", "-r", "requirements.txt")
        (place / ".python-is-complete").touch()


def _install_node(place: Path) -> None:
    missing = [tool for tool in ("node", "npm") if shutil.which(tool) is None]
    if missing:
        raise Missing(
            f"{' and '.join(missing)} not found on the PATH: this client is a program for Node.js."
            " On Debian or Ubuntu: apt-get install nodejs npm"
        )
    if (place / "package.json").exists() and not (place / ".node-is-complete").exists():
        _call(place, "npm", "install", "--no-package-lock", "--no-audit", "--no-fund", "--silent")
        (place / ".node-is-complete").touch()


def _call(place: Path, *command: str) -> None:
    done = subprocess.run(
        command, cwd=place, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL
    )
    if done.returncode:
        said = (done.stdout + done.stderr).strip()[-2000:]
        raise Missing(f"`{' '.join(command)}` failed with {done.returncode}:\n{said}")


def run_check(
    name: str, place: Path, expected: Mapping[str, str], limit: float, told: Mapping[str, str]
) -> Verdict:
    """Run the check that lies in `place`, and judge it; it and its children end with the limit."""
    venv = place / "venv" / "bin" / "python"
    python = str(venv) if venv.exists() else sys.executable
    check = [python, "check.py"] if (place / "check.py").exists() else ["node", "check.mjs"]
    with tempfile.TemporaryFile("w+") as output:
        process = subprocess.Popen(
            check, cwd=place, env={**os.environ, **told}, stdin=subprocess.DEVNULL,
            stdout=output, stderr=subprocess.STDOUT, start_new_session=True,
        )  # fmt: skip
        try:
            ended: int | None = process.wait(limit)
        except subprocess.TimeoutExpired:
            ended = None
        finally:
            _end_all(process)
        output.seek(0)
        return judge(name, output.read(), ended, expected)


def _end_all(process: subprocess.Popen[bytes]) -> None:
    """Also what the check started and left behind."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def judge(client: str, output: str, ended: int | None, expected: Mapping[str, str]) -> Verdict:
    """What the lines of a check mean; `ended` is its exit status, None if it ran out of time."""
    verdict, seen = Verdict(), set()
    for line in output.splitlines():
        match = _LINE.match(line)
        if match is None:
            continue
        result, name, reason = match.groups()
        if name in seen:
            verdict.wrong.append(f"{name} was told twice")
        if not name.startswith(client + "/"):
            verdict.wrong.append(f"{name} is not a name of {client}")
        seen.add(name)
        if result == "PASS":
            (verdict.mended if name in expected else verdict.passed).append(name)
        elif name in expected:
            verdict.known.append(f"{name}: {expected[name]}")
        else:
            verdict.failed.append(f"{name}: {reason or 'no reason given'}")
    own = {name for name in expected if name.startswith(client + "/")}
    verdict.wrong += [f"{name} is expected to fail, but was not run" for name in sorted(own - seen)]
    if problem := _bad_end(verdict, ended, seen):
        tail = "\n".join(output.splitlines()[-30:])
        verdict.wrong.append(f"{problem}; the last that it printed:\n{tail}")
    return verdict


def _bad_end(verdict: Verdict, ended: int | None, seen: set[str]) -> str:
    if ended is None:
        return "it ran out of time"
    if not seen:
        return f"it told nothing and ended with {ended}"
    # 1 is how a check says that something failed.
    if ended and not (ended == 1 and (verdict.failed or verdict.known)):
        return f"it ended with {ended}"
    return ""


def _tell(client: str, verdict: Verdict) -> None:
    print(f"=== {client}")
    for title, lines in (
        ("fails as expected", verdict.known),
        ("FAILS", verdict.failed),
        ("PASSES though it is expected to fail: take it out of expected.d", verdict.mended),
        ("WRONG", verdict.wrong),
    ):
        for line in lines:
            print(f"{title}: {line}", flush=True)


def _table(verdicts: Mapping[str, Verdict]) -> None:
    titles = ("client", "passed", "failed as expected", "failed", "passed though expected to fail")
    print("\n" + " | ".join(titles))
    for name, verdict in verdicts.items():
        lists = (verdict.passed, verdict.known, verdict.failed, verdict.mended)
        counts = [
            str(len(each)).rjust(len(title)) for each, title in zip(lists, titles[1:], strict=True)
        ]
        print(" | ".join([name, *counts]) + ("   and wrong" if verdict.wrong else ""))


if __name__ == "__main__":
    sys.exit(main())
