"""Commands made of verbs: what they take is what the verb takes."""

from pathlib import Path
from typing import Any

import pytest
import typer

from holdfast.catalogue.verbs import BY_NAME
from holdfast.service.cli.app import app
from holdfast.service.cli.command import command, group, whole
from tests.service.commands import Run, remembered

GROUPS: Any = typer.main.get_command(app)


def option(name: str, parameter: str) -> Any:
    """One option of a command."""
    found = GROUPS
    for part in name.split():
        found = found.commands[part]
    (one,) = [each for each in whole(found).params if each.name == parameter]
    return one


@pytest.mark.parametrize(
    ("name", "verb", "parameter"),
    [
        ("facts list", "facts.list", "limit"),
        ("facts conflicts", "facts.conflicts", "status"),
        ("notes day", "notes.day", "tz"),
        ("compact", "compact", "keep_turns"),
        ("context", "context", "packaging"),
    ],
)
def test_a_default_is_the_verbs(name: str, verb: str, parameter: str) -> None:
    (known,) = [each for each in BY_NAME[verb].parameters if each.name == parameter]
    assert option(name, parameter).default == known.default


def test_what_a_verb_needs_is_required_and_told_by_its_place() -> None:
    assert option("facts add", "text").param_type_name == "argument"
    assert option("facts answer", "keep").required
    assert not option("facts list", "category").required


def test_a_parameter_without_words_is_not_offered_by_mistake() -> None:
    made = group("Some.", "holdfast facts list")

    @command(made, "facts list", "user kind_of_thing", "--user ann")
    def _list(found: object, _: object) -> None:
        """List facts."""

    with pytest.raises(KeyError, match="kind_of_thing"):
        whole(typer.main.get_command(made))


def test_an_option_of_the_command_alone_is_not_sent_to_the_verb(run: Run) -> None:
    remembered(run, "I drink tea. " * 60)
    cut, full = (
        run("recall", "tea", "--user", "ann"),
        run("recall", "tea", "--user", "ann", "--full"),
    )
    assert (cut.code, full.code) == (0, 0)
    assert len(cut.out) < len(full.out)


def test_a_typed_word_is_read_before_a_memory_is_opened(run: Run, tmp_path: Path) -> None:
    ended = run("agents", "trust", "--set", "planner=7")
    assert (ended.code, "must be a number in 0..1" in ended.err) == (2, True)
    assert not (tmp_path / "holdfast.db").exists()
