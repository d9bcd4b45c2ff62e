"""The page about the command line says what the command line does."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from scripts.cli_docs import PAGE, SHARED, commands, page

COMMANDS = dict(commands())
HOWTO = PAGE.parents[1] / "howto"


def test_the_page_is_up_to_date() -> None:
    assert PAGE.read_text() == page(), "run: python scripts/cli_docs.py"


def test_every_command_of_the_contract_is_there() -> None:
    names = {name.split()[0] for name in COMMANDS}
    assert names == {
        *("remember", "recall", "context", "explain", "status", "forget", "forgotten", "history"),
        *("jobs", "doctor", "import", "export", "backup", "restore", "worker", "keys", "serve"),
        "migrate",
        *("graph", "bench", "facts", "notes", "profile", "procedures", "team", "shares", "agents"),
        *("feedback", "compact", "decay", "erase", "knowledge", "mcp", "rebuild"),
        "users",
    }


@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_says_what_it_does_with_an_example(name: str) -> None:
    command = COMMANDS[name]
    assert command.help
    assert command.epilog.startswith(f"Example: holdfast {name}")
    assert all(param.help for param in command.params)


@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_takes_the_options_that_all_take(name: str) -> None:
    options = {option for param in COMMANDS[name].params for option in param.opts}
    # A benchmark makes its own stores, and to migrate one names two.
    own = name in ("bench retrieval", "migrate")
    assert ({"--config"} if own else {"--db", "--config"}) <= options
    assert "--json" in options or name in ("serve", "export", "mcp")


@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_and_its_options_are_documented(name: str) -> None:
    _, _, rest = PAGE.read_text().partition(f"\n## {name}\n")
    section = rest.partition("\n## ")[0]
    assert f"Example: `holdfast {name}" in section
    options = {option for param in COMMANDS[name].params for option in param.opts}
    for option in options - set(SHARED):
        if option.startswith("-"):
            assert option in section


@pytest.mark.slow
@pytest.mark.parametrize("name", ["back-up-and-restore.md", "export-and-import.md"])
def test_the_commands_of_a_howto_work_one_after_another(name: str, tmp_path: Path) -> None:
    text = (HOWTO / name).read_text()
    for messages in re.findall(r"```json\n(.*?)```", text, re.DOTALL):
        (tmp_path / "chat.jsonl").write_text(messages)
    script = [
        "set -e -o pipefail",
        f'holdfast() {{ {sys.executable} -m holdfast "$@"; }}',
        'holdfast remember "Ann lives in Lisbon." --user ann',
        *re.findall(r"```sh\n(.*?)```", text, re.DOTALL),
    ]
    ended = subprocess.run(
        ["bash", "-c", "\n".join(script)], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert ended.returncode == 0, ended.stderr
