"""Which names a text speaks of."""

import pytest

from holdfast.language.names import Borne, same, spoken_form, spoken_of

NAMES = [
    "Ann", "Ann Lee", "New York", "York", "C++", "May", "US", "it", "里斯本", "安", "서울", "Zoë",
    "McDonald's", "🚀", "R2-D2",
]  # fmt: skip


def named(text: str) -> list[str]:
    known: dict[tuple[str, ...], list[Borne]] = {}
    for number, name in enumerate(NAMES):
        if found := spoken_form(name):
            known.setdefault(found.words, []).append(Borne(number, found.exactly))
    return [NAMES[number] for number in spoken_of(text, known)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Where does ANN live?", ["Ann"]),
        ("Is this Ann's book, or ann’s?", ["Ann"]),
        ("Is Annie here, or Joann, or Hann?", []),
        ("Did Ann Lee call Ann?", ["Ann Lee", "Ann"]),
        ("I flew to New York", ["New York"]),
        ("new   york, york", ["New York", "York"]),
        ("Do I know C++ or C?", ["C++"]),
        ("may I go, or will it rain on us", []),
        ("When does May go to the US?", ["May", "US"]),
        ("我住在里斯本吗", ["里斯本"]),
        ("安全吗", []),
        ("서울에 살아요", ["서울"]),
        ("zoe and ZOË", ["Zoë"]),
        ("the mcdonald's menu", ["McDonald's"]),
        ("r2 d2 beeps", ["R2-D2"]),
        ("🚀", []),
        ("", []),
    ],
)
def test_a_name_is_found_as_whole_words_the_longest_first(text: str, expected: list[str]) -> None:
    assert named(text) == expected


def test_a_long_text_is_read_only_so_far() -> None:
    assert named("word " * 511 + "Ann") == ["Ann"]
    assert named("word " * 512 + "Ann") == []


def test_names_are_compared_folded() -> None:
    assert same("  ZOË \n Lind") == same("zoe lind")
