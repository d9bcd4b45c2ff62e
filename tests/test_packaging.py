"""What is shipped: wheel and sdist are whole, units of systemd and container file hold together."""

import json
import re
import shlex
import shutil
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Iterator
from configparser import RawConfigParser
from importlib.metadata import distribution
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from typer.testing import CliRunner

from holdfast import config
from holdfast.service.cli.app import app
from holdfast.version import VERSION
from scripts.release import Refused, check_version

ROOT = Path(__file__).parents[1]
PACKAGING = ROOT / "packaging"
UNITS = ("holdfast.service", "holdfast-worker.service")
SETTINGS = PACKAGING / "holdfast.yml"
HARDENED = {
    "NoNewPrivileges": "yes", "CapabilityBoundingSet": "", "ProtectSystem": "strict",
    "ProtectHome": "yes", "PrivateTmp": "yes", "PrivateDevices": "yes", "UMask": "0077",
    "RestrictNamespaces": "yes", "SystemCallFilter": "@system-service",
}  # fmt: skip
#: What a line of a container file may begin with.
INSTRUCTIONS = {
    "FROM", "WORKDIR", "COPY", "RUN", "ENV", "USER", "VOLUME", "EXPOSE", "STOPSIGNAL",
    "HEALTHCHECK", "ENTRYPOINT", "CMD",
}  # fmt: skip


def unit(name: str) -> RawConfigParser:
    parser = RawConfigParser(strict=True, delimiters=("=",), interpolation=None)
    parser.optionxform = str  # type: ignore[assignment, method-assign]
    parser.read_string((PACKAGING / name).read_text())
    return parser


def container() -> list[tuple[str, str]]:
    """The instructions of the container file, lines put together."""
    text = re.sub(r"^#.*\n", "", (PACKAGING / "Containerfile").read_text(), flags=re.MULTILINE)
    text = text.replace("\\\n", " ")
    return [(line.split()[0], line.split(maxsplit=1)[1]) for line in text.splitlines() if line]


def pinned(name: str) -> dict[str, str]:
    pins = re.findall(r"^([\w.-]+)==(\S+)", (ROOT / "requirements" / name).read_text(), re.M)
    return {canonicalize_name(package): version for package, version in pins}


def needs_of(package: str, extras: set[str]) -> Iterator[Requirement]:
    for each in map(Requirement, distribution(package).requires or []):
        marker = each.marker
        if marker is None or any(marker.evaluate({"extra": extra}) for extra in {"", *extras}):
            yield each


@pytest.mark.parametrize(("pins", "extras"), [("core.txt", set()), ("dev.txt", {"dev"})])
def test_pins_are_whole(pins: str, extras: set[str]) -> None:
    """They are installed without looking for more: a release of tomorrow changes nothing."""
    versions = pinned(pins)
    seen = set()
    todo = [("holdfast", frozenset(extras))]
    while todo:
        package, wanted = todo.pop()
        for need in needs_of(package, set(wanted)):
            name = canonicalize_name(need.name)
            if name == "holdfast":
                continue
            assert name in versions, f"{package} needs {need}"
            assert versions[name] in need.specifier, f"{package} needs {need}"
            if (name, frozenset(need.extras)) not in seen:
                seen.add((name, frozenset(need.extras)))
                todo.append((name, frozenset(need.extras)))
    assert len(seen) > 10


@pytest.mark.parametrize("script", ["setup.sh", "release.py"])
def test_pins_are_installed_as_they_are(script: str) -> None:
    text = (ROOT / "scripts" / script).read_text()
    installs = [line for line in text.splitlines() if "--require-hashes" in line]
    assert installs
    assert all("--no-deps" in line for line in installs)


@pytest.mark.parametrize("name", UNITS)
def test_a_unit_is_closed_and_runs_a_command_that_exists(name: str) -> None:
    parser = unit(name)
    assert parser.sections() == ["Unit", "Service", "Install"]
    service = parser["Service"]
    assert {key: service.get(key) for key in HARDENED} == HARDENED
    assert service["User"] == "holdfast"
    program, command, *options = shlex.split(service["ExecStart"])
    assert program.startswith("/")
    assert options[:1] == ["--db"]
    assert options[1].startswith("/var/lib/" + service["StateDirectory"])
    shown = CliRunner().invoke(app, [command, "--help"])
    assert shown.exit_code == 0


@pytest.mark.parametrize("name", UNITS)
def test_a_unit_reads_the_settings_that_are_shipped(name: str) -> None:
    where = unit(name)["Service"]["Environment"].removeprefix("HOLDFAST_CONFIG=")
    assert where == f"/etc/holdfast/{SETTINGS.name}"
    page = (ROOT / "docs/howto/deploy.md").read_text()
    assert f"install -D -m 0644 packaging/{SETTINGS.name} {where}" in page


def test_the_settings_that_are_shipped_change_nothing(tmp_path: Path) -> None:
    assert config.load(SETTINGS) == config.load({})
    lines = SETTINGS.read_text().splitlines()
    told = [line[2:] for line in lines if re.match(r"#  *\w+:( |$)", line)]
    unmarked = tmp_path / "holdfast.yml"
    unmarked.write_text("\n".join(told))
    assert len(told) > len(UNITS)
    assert config.load(unmarked) == config.load({})


def test_only_the_service_says_that_it_is_ready() -> None:
    assert unit(UNITS[0])["Service"]["Type"] == "notify"
    assert unit(UNITS[1])["Service"]["Type"] == "exec"


def test_a_container_is_made_of_files_that_exist() -> None:
    steps = container()
    assert {name for name, _ in steps} <= INSTRUCTIONS
    assert steps[0][0] == "FROM"
    for name, words in steps:
        if name == "COPY" and not words.startswith("--from"):
            *sources, _ = words.split()
            for source in sources:
                assert (ROOT / source).exists(), source


def test_a_container_does_not_run_as_root_and_says_how_it_is() -> None:
    steps = dict(container())
    assert steps["USER"].split(":")[0].isdigit()
    assert steps["USER"] != "0"
    check = json.loads(steps["HEALTHCHECK"].split("CMD", 1)[1])
    compile(check[2], "HEALTHCHECK", "exec")
    assert "/health" in check[2]
    assert json.loads(steps["ENTRYPOINT"]) == ["holdfast"]
    command, *options = json.loads(steps["CMD"])
    assert command == "serve"
    shown = CliRunner().invoke(app, ["serve", "--help"], env={"COLUMNS": "200"})
    assert all(each in shown.output for each in options if each.startswith("--"))


def test_extras_in_the_container_file_exist() -> None:
    import tomllib

    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    (named,) = re.findall(r"'\.\[([a-z,]+)\]'", (PACKAGING / "Containerfile").read_text())
    assert set(named.split(",")) <= set(extras["optional-dependencies"])


def built(tmp_path: Path, what: str) -> Path:
    """What the build backend makes of the files that git knows: `wheel`, `sdist` or metadata."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "*.toml", "setup.py", "README.md", "LICENSE", "NOTICE", "src",
         "tests/store/contract"],
        cwd=ROOT, check=True, capture_output=True, text=True,
    ).stdout  # fmt: skip
    names = [name for name in listed.split("\0") if name and (what or "/" not in name)]
    for name in names:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(ROOT / name, tmp_path / name, follow_symlinks=False)
    for folder in ("src", "made"):
        (tmp_path / folder).mkdir(exist_ok=True)
    call = f"build_{what}('made')" if what else "prepare_metadata_for_build_wheel('made')"
    script = f"from setuptools import build_meta; open('name', 'w').write(build_meta.{call})"
    subprocess.run([sys.executable, "-c", script], cwd=tmp_path, check=True, capture_output=True)
    return tmp_path / "made" / (tmp_path / "name").read_text()


def test_an_index_page_has_an_author_and_no_link_that_leads_nowhere(tmp_path: Path) -> None:
    text = (built(tmp_path, "") / "METADATA").read_text()
    head, _, shown = text.partition("\n\n")
    assert "Author: The Holdfast authors" in head
    assert "Description-Content-Type: text/markdown" in head
    assert [where for where in re.findall(r"\]\(([^)]*)\)", shown) if "://" not in where] == []
    assert "knowledge graph" in shown, "the words of a link stay"


def test_links_of_an_index_page_lead_below_the_address_of_the_source(tmp_path: Path) -> None:
    script = (ROOT / "setup.py").read_text().partition("project = ")[0]
    names: dict[str, Any] = {"__file__": str(ROOT / "setup.py")}
    exec(compile(script, "setup.py", "exec"), names)
    told = names["shown"]("[a](docs/a.md#b) [c](https://d.org/e) [f](#g)", "https://h.org/i")
    assert told == "[a](https://h.org/i/docs/a.md#b) [c](https://d.org/e) [f](#g)"


@pytest.mark.slow
@pytest.mark.parametrize("what", ["wheel", "sdist"])
def test_what_is_shipped_holds_every_file_of_the_package(tmp_path: Path, what: str) -> None:
    made = built(tmp_path, what)
    if what == "wheel":
        inside = set(zipfile.ZipFile(made).namelist())
        licences = {name.rpartition("/licenses/")[2] for name in inside if "/licenses/" in name}
        assert {"LICENSE", "NOTICE"} <= licences
    else:
        with tarfile.open(made) as archive:
            inside = {name.partition("/")[2].removeprefix("src/") for name in archive.getnames()}
        assert {"LICENSE", "NOTICE", "README.md", "pyproject.toml", "setup.py"} <= inside
    package = {str(path.relative_to(tmp_path / "src")) for path in files(tmp_path)}
    contract = (tmp_path / "tests" / "store" / "contract").glob("*.py")
    package |= {f"holdfast/testing/{path.name}" for path in contract}
    assert "holdfast/testing/store_suite.py" in package
    assert package - inside == set()


def files(place: Path) -> list[Path]:
    return [path for path in (place / "src" / "holdfast").rglob("*") if path.is_file()]


def test_a_release_has_one_version_everywhere() -> None:
    assert check_version(ROOT) == VERSION


@pytest.mark.parametrize(
    ("file", "before", "after", "why"),
    [
        ("src/holdfast/version.py", VERSION, "9.9.9", "version.py does not"),
        ("CHANGELOG.md", f"## [{VERSION}] - ", "## [9.9.9] - ", "wants a newest heading"),
        ("CHANGELOG.md", f"## [{VERSION}] - ", f"## [{VERSION}] - soon", "not YYYY-MM-DD"),
    ],
)
def test_versions_that_differ_are_no_release(
    tmp_path: Path, file: str, before: str, after: str, why: str
) -> None:
    for name in ("pyproject.toml", "CHANGELOG.md", "src/holdfast/version.py"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        text = (ROOT / name).read_text()
        (tmp_path / name).write_text(text.replace(before, after) if name == file else text)
    with pytest.raises(Refused, match=why):
        check_version(tmp_path)
