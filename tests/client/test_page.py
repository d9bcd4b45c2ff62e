"""The page about the client is true: what it shows runs against a service."""

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest

import holdfast
from holdfast.memory.memory import Memory
from holdfast.service.cli import main
from holdfast.service.keys import create_key
from tests.client.serving import served

PAGE = (Path(__file__).parents[2] / "docs" / "howto" / "client.md").read_text()
ADDRESS, KEY = "http://localhost:3050", "rk_..."


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    with holdfast.open(tmp_path / "m.db") as memory:
        yield memory


@pytest.mark.slow
def test_the_examples_run(
    memory: Memory, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    key = create_key(memory.store, role="admin")[1]
    monkeypatch.setenv("HOLDFAST_API_KEY", key)
    with served(memory) as address:
        said = [printed(memory, block, address, key, capsys) for block in python_blocks()]
        for command in re.findall(r"^holdfast (.*)$", PAGE, re.MULTILINE):
            words = shlex.split(command.replace(ADDRESS, address))
            assert main(words) == 0, capsys.readouterr().err
    assert "I moved to Lisbon." in said[0]
    assert said[0].endswith("I work at Acme.\n")
    assert said[1].startswith("['I moved to Lisbon.', 'I work at Acme.']\n")
    # What a line prints stands beside it.
    (promised,) = re.findall(r"print\(error.field, error\)  # (.*)", PAGE)
    assert said[2] == promised + "\n"
    assert [note.content for note in memory.notes.list(user="ann")] == ["Chose Postgres."]


def python_blocks() -> list[str]:
    found = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    assert len(found) == 3
    return found


def printed(
    memory: Memory, block: str, address: str, key: str, capsys: pytest.CaptureFixture[str]
) -> str:
    """What an example prints, when all that came before was understood."""
    assert ADDRESS in block
    assert KEY in block
    memory.drain()
    exec(compile(block.replace(ADDRESS, address).replace(KEY, key), "client.md", "exec"), {})
    return capsys.readouterr().out


def test_every_error_of_the_page_exists() -> None:
    named = re.findall(r"`(\w+)`", PAGE[PAGE.index("| error") : PAGE.index("A call is sent again")])
    found = [name for name in named if hasattr(holdfast.errors, name)]
    assert {"Denied", "Throttled", "Unavailable", "ServiceError", "StoreFull"} <= set(found)
    assert set(named) - set(found) == {"retry_after", "timeout"}
