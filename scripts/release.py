"""Build what is published, wheel and sdist, and try it as a user gets it.

    python scripts/release.py [--try] [--out dist]

The wheel is built from the sdist, so both are whole. It is installed with the pinned dependencies
into a fresh environment, away from the sources: it must hold together (`pip check`), start,
remember and recall, and be no larger than we promise. A release also wants one version in
`pyproject.toml`, in the package and in CHANGELOG.md, and a tree without changes; `--try` (as CI
runs it) does not.
"""

from __future__ import annotations

import argparse
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
import venv
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).parents[1]
MOST_PACKAGES = 30
MOST_MEGABYTES = 280
_IMPORT = """
import time; began = time.perf_counter()
import holdfast
print(f"import holdfast: {(time.perf_counter() - began) * 1000:.0f} ms")
"""


class Refused(Exception):
    """Why this cannot be released."""


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--try", dest="trial", action="store_true", help="whatever the version is")
    parser.add_argument("--out", type=Path, help="where to; default: dist, of a trial nowhere")
    options = parser.parse_args(arguments)
    try:
        if not options.trial:
            check_version(ROOT)
            if run("git", "-C", ROOT, "status", "--porcelain"):
                raise Refused("the tree has changes: commit them first")
        with tempfile.TemporaryDirectory() as folder:
            place = Path(folder)
            files = build(place)
            try_install(next(each for each in files if each.suffix == ".whl"), place)
            if out := options.out or (None if options.trial else ROOT / "dist"):
                out.mkdir(exist_ok=True)
                print(*(shutil.copy(each, out) for each in files), sep="\n")
    except Refused as refused:
        print(f"no release: {refused}", file=sys.stderr)
        return 1
    return 0


def check_version(root: Path) -> str:
    """The version, if everybody says the same."""
    version: str = tomllib.loads((root / "pyproject.toml").read_text())["project"]["version"]
    package = (root / "src/holdfast/version.py").read_text()
    if f'"{version}"' not in package:
        raise Refused(f"pyproject.toml says {version}, src/holdfast/version.py does not")
    newest = re.search(r"^## \[(\d[^\]]*)\] - (\S+)$", (root / "CHANGELOG.md").read_text(), re.M)
    if newest is None or newest[1] != version:
        raise Refused(f"CHANGELOG.md wants a newest heading `## [{version}] - DATE`")
    if not re.fullmatch(r"\d{4}-\d{2}-\d{2}", newest[2]):
        raise Refused(f"CHANGELOG.md: the date of {version} is {newest[2]}, not YYYY-MM-DD")
    return version


def build(place: Path) -> list[Path]:
    """The sdist of the tree, and the wheel of the sdist."""
    shutil.rmtree(ROOT / "build", ignore_errors=True)  # A wheel takes along what lies there.
    run(sys.executable, "-m", "build", "--no-isolation", "--outdir", place, ROOT)
    return sorted([*place.glob("*.whl"), *place.glob("*.tar.gz")])


def try_install(wheel: Path, place: Path) -> None:
    """Install it as a user would, and use it."""
    venv.create(place / "venv", with_pip=True)
    python, command = place / "venv/bin/python", place / "venv/bin/holdfast"
    pins = ROOT / "requirements/core.txt"
    run(python, "-m", "pip", "install", "-qq", "--require-hashes", "--no-deps", "-r", pins)
    run(python, "-m", "pip", "install", "-qq", "--no-deps", wheel)
    print(run(python, "-m", "pip", "check", at=place).strip())
    run(command, "--help", at=place)
    run(command, "remember", "I moved to Lisbon.", "--user", "ann", at=place)
    if "Lisbon" not in run(command, "recall", "Where do I live?", "--user", "ann", at=place):
        raise Refused("what was remembered is not recalled")
    print("holdfast --help, remember, recall: work without dev dependencies")
    run(python, "-c", "import holdfast", at=place)  # The first import also compiles.
    print(run(python, "-c", _IMPORT, at=place).strip())
    _check_size(python, place)


def _check_size(python: Path, place: Path) -> None:
    listed = run(python, "-m", "pip", "list", "--format=freeze", at=place).splitlines()
    # pip itself came with the environment; every other package counts, also the build backend.
    packages = sum(not each.startswith("pip==") for each in listed)
    run(python, "-m", "pip", "uninstall", "-qq", "--yes", "pip", at=place)
    megabytes = int(run("du", "-sm", place / "venv").split()[0])
    print(
        f"core install: {packages} packages (at most {MOST_PACKAGES}), "
        f"{megabytes} MB (under {MOST_MEGABYTES})"
    )
    if packages > MOST_PACKAGES or megabytes >= MOST_MEGABYTES:
        raise Refused("the core install is too big")


def run(*command: str | Path, at: Path = ROOT) -> str:
    """What a command prints; what it says when it fails is why there is no release."""
    ended = subprocess.run(command, cwd=at, capture_output=True, text=True, check=False)
    if ended.returncode:
        words = " ".join(map(str, command))
        raise Refused(f"`{words}` ended with {ended.returncode}:\n{ended.stdout}{ended.stderr}")
    return ended.stdout


if __name__ == "__main__":
    sys.exit(main())
