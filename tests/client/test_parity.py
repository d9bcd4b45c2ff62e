"""Every verb, of a memory in this process and of one behind a service: the same answers."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

import holdfast
from holdfast.catalogue.verbs import ALL
from holdfast.memory.memory import Memory
from holdfast.service.keys import create_key
from holdfast.testing import HashEmbedder
from tests.client.script import NOW, STEPS
from tests.client.serving import served
from tests.client.test_table import PUBLIC

#: Each with a test of its own: how long it took, and the clock.
ELSEWHERE = {"now", "close"}
_ID = re.compile(r"\b[0-9a-f]{12,}\b")


@pytest.fixture
def clock() -> list[datetime]:
    """The time of both; it passes between the steps."""
    return [NOW]


@pytest.fixture
def twins(tmp_path: Path, clock: list[datetime]) -> Iterator[tuple[Memory, holdfast.Client]]:
    """A memory, and the client of another one that was told the same."""
    options: dict[str, Any] = {
        "embedder": HashEmbedder(), "clock": lambda: clock[0], "worker": False,
    }  # fmt: skip
    with (
        holdfast.open(tmp_path / "here.db", **options) as here,
        holdfast.open(tmp_path / "there.db", **options) as there,
        served(there) as address,
        holdfast.Client(address, create_key(there.store, role="admin")[1]) as client,
    ):
        yield here, client


def test_every_verb_is_in_the_script() -> None:
    called = {name for name, _ in STEPS}
    assert {verb.name for verb in ALL} <= called
    assert set(PUBLIC) - ELSEWHERE <= called


@pytest.mark.slow
def test_the_answers_are_the_same(
    twins: tuple[Memory, holdfast.Client], clock: list[datetime], tmp_path: Path
) -> None:
    here, client = twins
    known: tuple[dict[str, Any], dict[str, Any]] = {"folder": tmp_path}, {"folder": tmp_path}
    for number, (name, call) in enumerate(STEPS):
        clock[0] += timedelta(seconds=1)
        differ(
            _in_order(call(here, known[0])), _in_order(call(client, known[1])), f"{number}. {name}"
        )


def _in_order(answer: Any) -> Any:
    """What was learned in one step has one time, and comes in the order of its random ids."""
    if type(answer) is list:
        return sorted(answer, key=lambda each: _named(repr(each)))
    return answer


def differ(here: Any, there: Any, where: str, *, strict: bool = True) -> None:
    """Fail where two answers differ, ids apart. Inside of JSON a tuple comes back as a list."""
    if strict or not isinstance(here, tuple | Mapping):
        assert type(here) is type(there), where
    if is_dataclass(here):
        for each in fields(here):
            name = each.name
            differ(getattr(here, name), getattr(there, name), f"{where}.{name}", strict=strict)
    elif isinstance(here, Mapping):
        assert [_named(key) for key in here] == [_named(key) for key in there], where
        for (key, one), other in zip(here.items(), there.values(), strict=True):
            differ(one, other, f"{where}[{key!r}]", strict=False)
    elif isinstance(here, list | tuple):
        assert len(here) == len(there), where
        for number, (one, other) in enumerate(zip(here, there, strict=True)):
            differ(one, other, f"{where}[{number}]", strict=strict)
    else:
        assert _named(here) == _named(there), where


def _named(value: Any) -> Any:
    return _ID.sub("ID", value) if isinstance(value, str) else value


def test_the_comparison_notices() -> None:
    for one, other in ((1, 1.0), ("a", "b"), ([1], [1, 2]), ({"a": 1}, {"a": 2}), ((1,), [1])):
        with pytest.raises(AssertionError):
            differ(one, other, "")
    differ({"a": (1,)}, {"a": [1]}, "")
    differ("x 0123456789abcdef", "x fedcba9876543210", "")
