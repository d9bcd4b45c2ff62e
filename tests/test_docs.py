"""The documentation is true: its code runs, its settings exist."""

import os
import re
from pathlib import Path

import pytest

from holdfast import config

ROOT = Path(__file__).parents[1]


def code_blocks(page: str) -> list[str]:
    return re.findall(r"```python\n(.*?)```", (ROOT / page).read_text(), re.DOTALL)


@pytest.mark.slow
@pytest.mark.parametrize("page", ["README.md", "docs/quickstart.md"])
def test_the_examples_of_a_page_run_one_after_another(
    page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    for block in code_blocks(page):
        exec(compile(block, page, "exec"), names)
    # The first thing that is found is where they live.
    first_hit = next(line for line in capsys.readouterr().out.splitlines() if "moved" in line)
    assert "Lisbon" in first_hit


def test_the_examples_of_looking_through_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    for block in code_blocks("docs/howto/look-through.md"):
        exec(compile(block, "look-through.md", "exec"), names)
    names["memory"].close()  # type: ignore[attr-defined]
    shown = capsys.readouterr().out
    assert "note Chose Postgres." in shown
    assert "0 []" in shown


def test_the_list_of_all_pages_is_complete() -> None:
    folder = ROOT / "docs"
    linked = re.findall(r"\]\(([^)#]+)\)", (folder / "README.md").read_text())
    for page in folder.rglob("*.md"):
        name = str(page.relative_to(folder))
        assert name == "README.md" or name.startswith("decisions/") or name in linked, name


def test_every_setting_is_documented_with_its_default() -> None:
    page = (ROOT / "docs/reference/configuration.md").read_text()
    rows = dict(re.findall(r"^\| `([\w.]+)` \*? ?\|([^|]*)\|", page, re.MULTILINE))
    assert sorted(rows) == sorted(config.names())
    defaults = {each.name: each.value for each in config.leaves(config.Config())}
    for name, shown in rows.items():
        default = defaults[name]
        if name == "boosting.profiles":
            default = ", ".join(profile.name for profile in default)
        assert _number(shown) == default, name


def _number(text: str) -> object:
    text = text.strip()
    if text in ("true", "false"):
        return text == "true"
    factor = {"KiB": 1024, "MiB": 1024 * 1024}
    if match := re.fullmatch(r"([\d.]+) ?(KiB|MiB)?", text):
        return float(match[1]) * factor.get(match[2] or "", 1)
    return text


def test_every_link_of_the_pages_leads_somewhere() -> None:
    for page in [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")]:
        for target in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", page.read_text()):
            if "://" not in target:
                assert os.path.exists(page.parent / target), f"{page.name}: {target}"


def test_commands_ask_the_store_that_the_python_before_them_wrote() -> None:
    wrong = []
    for page in [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")]:
        opened = None
        fences = re.findall(r"^```(\w*)\n(.*?)^```", page.read_text(), re.DOTALL | re.MULTILINE)
        for language, block in fences:
            if language == "python":
                found = re.findall(r"holdfast\.open\(\s*\"([^\"]+)\"", block)
                opened = found[-1] if found else opened
            elif opened:
                commands = re.findall(r"^(?:\$ )?holdfast (?!bench\b).*", block, re.MULTILINE)
                asked = [c for c in commands if not re.search(rf"--db {re.escape(opened)}\b", c)]
                wrong += [f"{page.name}: {command} (opened: {opened})" for command in asked]
    assert wrong == []
