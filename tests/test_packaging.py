"""What is shipped to run the service: the units of systemd and the container file hold together."""

import json
import re
import shlex
from configparser import RawConfigParser
from pathlib import Path

import pytest
from typer.testing import CliRunner

from recollect import config
from recollect.doors.cli.app import app

ROOT = Path(__file__).parents[1]
PACKAGING = ROOT / "packaging"
UNITS = ("recollect.service", "recollect-worker.service")
SETTINGS = PACKAGING / "recollect.yml"
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


@pytest.mark.parametrize("name", UNITS)
def test_a_unit_is_closed_and_runs_a_command_that_exists(name: str) -> None:
    parser = unit(name)
    assert parser.sections() == ["Unit", "Service", "Install"]
    service = parser["Service"]
    assert {key: service.get(key) for key in HARDENED} == HARDENED
    assert service["User"] == "recollect"
    program, command, *options = shlex.split(service["ExecStart"])
    assert program.startswith("/")
    assert options[:1] == ["--db"]
    assert options[1].startswith("/var/lib/" + service["StateDirectory"])
    shown = CliRunner().invoke(app, [command, "--help"])
    assert shown.exit_code == 0


@pytest.mark.parametrize("name", UNITS)
def test_a_unit_reads_the_settings_that_are_shipped(name: str) -> None:
    where = unit(name)["Service"]["Environment"].removeprefix("RECOLLECT_CONFIG=")
    assert where == f"/etc/recollect/{SETTINGS.name}"
    page = (ROOT / "docs/howto/deploy.md").read_text()
    assert f"install -D -m 0644 packaging/{SETTINGS.name} {where}" in page


def test_the_settings_that_are_shipped_change_nothing(tmp_path: Path) -> None:
    assert config.load(SETTINGS) == config.load({})
    lines = SETTINGS.read_text().splitlines()
    told = [line[2:] for line in lines if re.match(r"#  *\w+:( |$)", line)]
    unmarked = tmp_path / "recollect.yml"
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
    assert json.loads(steps["ENTRYPOINT"]) == ["recollect"]
    command, *options = json.loads(steps["CMD"])
    assert command == "serve"
    shown = CliRunner().invoke(app, ["serve", "--help"], env={"COLUMNS": "200"})
    assert all(each in shown.output for each in options if each.startswith("--"))


def test_extras_in_the_container_file_exist() -> None:
    import tomllib

    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    (named,) = re.findall(r"'\.\[([a-z,]+)\]'", (PACKAGING / "Containerfile").read_text())
    assert set(named.split(",")) <= set(extras["optional-dependencies"])
