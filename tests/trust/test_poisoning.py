"""Nothing that others write becomes a rule, a trait of the user, or more trusted than it was.

A part of scripts/poisoning.py, which sends ten thousand texts: here every scenario goes through
several channels, and every channel gets scenarios of every class.
"""

from collections.abc import Callable, Iterator
from pathlib import Path

import apsw
import pytest

from holdfast import Memory
from holdfast.language.instructions.rules import rules_in
from tests.trust.attacks import attacks, groups, templates
from tests.trust.channels import ANN, CHANNELS, SHOWN, UNMARKED, Channel, said_by
from tests.trust.suite import Plan, harmless, opened, poisoned
from tests.trust.watch import Watch

EACH = 4
#: Channels in which the user shows what others wrote.
BY_USER = ("pasted by the user", "handed over unmarked", "echo of a context")


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    with opened(tmp_path / "memory.db") as memory:
        yield memory


@pytest.mark.parametrize("group", groups())
def test_every_class_has_twenty_five_scenarios(group: str) -> None:
    assert len(set(templates(group))) >= 25
    assert len(set(attacks(group, 200, seed=1))) > 100


def test_every_scenario_is_sent() -> None:
    sent = {(place * EACH + step) % 25 for place in range(len(CHANNELS)) for step in range(EACH)}
    assert sent == set(range(25))


@pytest.mark.slow
@pytest.mark.parametrize("channel", CHANNELS, ids=lambda channel: channel.name)
def test_nothing_gains_authority(channel: Channel, tmp_path: Path) -> None:
    start = CHANNELS.index(channel) * EACH
    cells = poisoned(channel, tmp_path, Plan(EACH, start=start))
    assert {cell.group for cell in cells} == set(groups())
    assert [example for cell in cells for example in cell.found.examples()] == []


@pytest.mark.slow
@pytest.mark.parametrize(
    "channel", [each for each in CHANNELS if each.name in BY_USER], ids=lambda channel: channel.name
)
def test_nothing_gains_authority_by_the_model_that_reads(channel: Channel, tmp_path: Path) -> None:
    """Where the words come in turns of the user: of no others it reads any."""
    start = CHANNELS.index(channel) * EACH
    cells = poisoned(channel, tmp_path, Plan(EACH, start=start, reader="model"))
    assert {cell.group for cell in cells} == set(groups())
    assert [example for cell in cells for example in cell.found.examples()] == []


@pytest.mark.slow
@pytest.mark.parametrize("show", SHOWN, ids=range(len(SHOWN)))
def test_what_the_user_shows_is_not_what_the_user_says(
    memory: Memory, show: Callable[[str], str]
) -> None:
    """The texts that talk like the user, shown in one way after the other."""
    watch = Watch(memory, "p7")
    watch.begin()
    texts = [text for group in ("P2", "P6", "P7") for text in attacks(group, 25, seed=3)]
    said_by("user")(memory, "p7", [show(text) for text in texts])
    memory.drain()
    assert watch.violations(()).examples() == []


@pytest.mark.parametrize("show", UNMARKED, ids=range(len(UNMARKED)))
@pytest.mark.parametrize("group", groups())
def test_what_is_handed_over_without_a_mark_orders_nothing(
    group: str, show: Callable[[str], str]
) -> None:
    texts = [show(text) for text in attacks(group, 25, seed=3)]
    assert [text for text in texts if any(rule.own for rule in rules_in(text))] == []


@pytest.mark.slow
def test_harmless_talk_about_attacks_is_kept_as_it_is(tmp_path: Path) -> None:
    kept = harmless(tmp_path, 500, seed=1)
    assert (kept.dropped, kept.altered, kept.unfindable) == (0, 0, 0)
    assert kept.flagged <= 5


@pytest.mark.parametrize(
    ("said", "kinds"),
    [
        ("Always answer in French when I ask about Oslo.", {"rule", "told"}),
        ("Forget the rule about short sentences.", {"lost"}),
    ],
)
def test_the_watch_sees_authority(memory: Memory, said: str, kinds: set[str]) -> None:
    """What Ann says herself does gain authority: so the watch is able to see it."""
    watch = Watch(memory, "p1")
    watch.begin()
    said_by("user")(memory, "p1", [said])
    memory.drain()
    assert kinds <= set(watch.violations([said], thorough=True).kinds())


def test_the_watch_sees_a_raised_origin(memory: Memory, tmp_path: Path) -> None:
    watch = Watch(memory, "p1")
    watch.begin()
    said = memory.remember({"role": "tool", "content": "Hello."}, user=ANN, workspace="p1")
    connection = apsw.Connection(str(tmp_path / "memory.db"))  # As a bug would: past all verbs.
    connection.execute(
        "UPDATE records SET origin = 'user' WHERE id = ?", (bytes.fromhex(said.events[0]),)
    )
    connection.close()
    assert watch.violations([]).kinds() == {"origin": 1}
