"""Cursors fit the list that gave them, and nothing else."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.border.ids import cursor_at, place_of
from holdfast.errors import InvalidInput

#: Together as long as the longest id that a caller may choose.
PLACES = st.lists(st.text(max_size=60) | st.integers(), max_size=3)


@given(PLACES, PLACES)
def test_a_cursor_gives_its_place_back(place: list[str | int], of: list[str | int]) -> None:
    kinds = [type(each) for each in place]
    assert place_of(cursor_at(place, of=of), of=of, kinds=kinds) == place


@given(PLACES, st.data())
def test_a_cursor_that_was_changed_is_refused(place: list[str | int], data: st.DataObject) -> None:
    cursor = cursor_at(place, of="notes")
    at = data.draw(st.integers(0, len(cursor) - 1))
    other = data.draw(st.characters().filter(lambda each: each != cursor[at]))
    for bad in (cursor[:at] + other + cursor[at + 1 :], cursor[:at], cursor + other):
        with pytest.raises(InvalidInput, match="cursor is not one that this list gave"):
            place_of(bad, of="notes", kinds=(str, int))


def test_a_cursor_of_another_list_is_refused() -> None:
    with pytest.raises(InvalidInput) as refused:
        place_of(cursor_at(["x", 3], of={"kind": "note"}), of={"kind": "fact"}, kinds=(str, int))
    assert refused.value.field == "cursor"


@pytest.mark.parametrize("bad", ["", "x" * 12_000, "W10", "bnVsbA", "e30", "NQ", None, 7, b"W10"])
def test_what_is_no_cursor_is_refused(bad: object) -> None:
    with pytest.raises(InvalidInput):
        place_of(bad, of="notes", kinds=(str, int))


@pytest.mark.parametrize("place", [["x"], ["x", 1, 2], ["x", "y"], ["x", True], [1, 2]])
def test_a_place_of_another_shape_is_refused_though_it_is_sealed(place: list[str | int]) -> None:
    with pytest.raises(InvalidInput, match="cursor"):
        place_of(cursor_at(place, of="notes"), of="notes", kinds=(str, int))


def test_a_place_may_be_the_longest_name_in_any_script() -> None:
    place: list[str | int] = ["𐍈" * 512, 10_000]
    assert place_of(cursor_at(place, of="sessions"), of="sessions", kinds=(str, int)) == place
