"""Who the user is and who is theirs, from how they are introduced in passing."""

from pathlib import Path

import pytest

import holdfast
from holdfast.language.statements.people import (
    find_family_and_pets,
    read_introduction,
    wanted_of_two,
)
from holdfast.testing import HashEmbedder


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("I'm Ann.", {"name": "Ann"}),
        (
            "I'm Ann Lee, freelance sound engineer in Leeds.",
            {"name": "Ann Lee", "job": "freelance sound engineer", "home": "Leeds"},
        ),
        (
            "hi, I'm Kenji, 34, radiographer at St Mark in Leeds",
            {"name": "Kenji", "age": "34", "job": "radiographer", "employer": "St Mark",
             "home": "Leeds"},
        ),
        ("I'm Bo, a colour technologist from Port Hay.",
         {"name": "Bo", "job": "colour technologist", "hometown": "Port Hay"}),
        ("I'm Dutch.", {}),
        ("I'm Catholic, from Ghent.", {}),
        ("I'm Sorry.", {}),
        ("I'm CEO.", {}),
        ("I'm French Canadian.", {}),
        ("I'm Senior Engineer at Acme.", {}),
        ("I'm Ann Baker.", {"name": "Ann Baker"}),
        ("I'm Christian.", {}),
        ("my name is Christian", {"name": "Christian"}),
        ("I'm in Rome.", {}),
        ("I'm happy.", {}),
        ("He says I'm Ann's friend", {}),
        ("Bob is a baker in Rome.", {}),
    ],
)  # fmt: skip
def test_who_somebody_says_they_are(text: str, told: dict[str, str]) -> None:
    assert dict(read_introduction(text)) == told


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("my son Theo starts school", [("family", "Theo (son)")]),
        ("Jon Abel, my partner, teaches", [("family", "Jon Abel (partner)")]),
        ("Rex (our dog, 4) is ill", [("pets", "Rex (dog)")]),
        ("the cat (Miso, grey) is ill", [("pets", "Miso (cat)")]),
        ("My older sister Ida moved", [("family", "Ida (sister)")]),
        ("my son starts school", []),
        ("Tom's mother Odile takes him", []),
        ("my dog on Monday", []),
    ],
)
def test_who_is_theirs(text: str, told: list[tuple[str, str]]) -> None:
    assert list(find_family_and_pets(text)) == told


def test_what_is_wanted_of_two() -> None:
    assert wanted_of_two("and I want matte fronts, not gloss.") == "matte fronts, not gloss"
    assert wanted_of_two("I want matte fronts") is None


TALK = [
    "hi. short version: I'm Ana Prior, freelance tax adviser in Porto. Luis and I rent a boat",
    "budget 9k all in. Luis Melo, my husband, he teaches maths at night",
    "draft it as a letter please, I hate phoning, it takes ages",
    "Pip (our cat, white, 3) has asthma. my sister Rita gets married on 20 June",
]


def test_a_messy_talk_gives_a_profile(tmp_path: Path) -> None:
    with holdfast.open(tmp_path / "m.db", embedder=HashEmbedder(16), worker=False) as memory:
        memory.remember([{"role": "user", "content": each} for each in TALK], user="u-1")
        memory.drain()
        profile = memory.profile(user="u-1")
        assert {name: tuple(sorted(field.values)) for name, field in profile.fields.items()} == {
            "name": ("Ana Prior",),
            "job": ("freelance tax adviser",),
            "home": ("Porto",),
            "family": ("Luis Melo (husband)", "Rita (sister)"),
            "pets": ("Pip (cat)",),
            "dislikes": ("phoning",),
            "constraints": ("budget 9k all in.",),
        }


def test_a_mail_or_an_agent_introduces_nobody(tmp_path: Path) -> None:
    with holdfast.open(tmp_path / "m.db", embedder=HashEmbedder(16), worker=False) as memory:
        memory.remember("From: Bo\nSubject: hi\n\nI'm Bo Lund, a nurse in Rome.", user="u-1")
        said = {"role": "assistant", "content": "I'm Bo Lund, a nurse in Rome."}
        memory.remember([said], user="u-1")
        memory.drain()
        assert memory.profile(user="u-1").fields == {}
