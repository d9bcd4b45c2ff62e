"""An export is what was exported, or is refused before anything of it is stored."""

import io
from collections.abc import Iterator
from pathlib import Path

import pytest

import holdfast
from holdfast.errors import InvalidInput
from holdfast.memory.memory import Memory
from holdfast.testing import HashEmbedder
from holdfast.transfer import export_to, import_from
from holdfast.transfer.importing import check_seal


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    with holdfast.open(tmp_path / "m.db", embedder=HashEmbedder(4), worker=False) as memory:
        yield memory


@pytest.fixture
def other(tmp_path: Path) -> Iterator[Memory]:
    with holdfast.open(tmp_path / "n.db", embedder=HashEmbedder(4), worker=False) as memory:
        yield memory


def exported(memory: Memory) -> bytes:
    out = io.BytesIO()
    export_to(memory.store, out)
    return out.getvalue()


def told(memory: Memory) -> bytes:
    for text in ("I drink tea.", "Ünïcode 東京", "I moved to Lisbon."):
        memory.remember(text, user="ann")
    memory.drain()
    return exported(memory)


def is_taken(content: bytes) -> bool:
    try:
        with check_seal(io.BytesIO(content)):
            return True
    except InvalidInput:
        return False


def test_no_bit_of_an_export_changes_unseen(memory: Memory) -> None:
    good = told(memory)
    assert is_taken(good)
    for bit in range(8 * len(good)):
        changed = bytearray(good)
        changed[bit // 8] ^= 1 << bit % 8
        assert not is_taken(bytes(changed)), bit


def test_no_line_is_lost_doubled_moved_or_cut_unseen(memory: Memory) -> None:
    good = told(memory)
    lines = good.splitlines(keepends=True)
    for i in range(len(lines)):
        rest = [*lines[:i], *lines[i + 1 :]]
        for changed in (rest, [*lines[:i], lines[i], *lines[i:]], [*rest, lines[i]]):
            if changed != lines:
                assert not is_taken(b"".join(changed)), i
    for end in range(len(lines[0]), len(good) - 1):
        assert not is_taken(good[:end]), end
    # Without its line break the last line still says all.
    assert is_taken(good[:-1])


def test_a_damaged_export_stores_nothing_and_its_good_lines_can_be_saved(
    memory: Memory, other: Memory
) -> None:
    damaged = told(memory).replace(b"I drink tea.", b"I drink sea.")
    with pytest.raises(InvalidInput, match=r"its checksum differs.*--salvage"):
        import_from(other, io.BytesIO(damaged))
    assert other.store.stats()["events"] == 0
    assert import_from(other, io.BytesIO(damaged), salvage=True).failed == 0
    assert other.store.stats()["events"] == 3


def test_what_comes_through_a_pipe_is_checked_too(memory: Memory, other: Memory) -> None:
    class Pipe(io.BytesIO):
        def seekable(self) -> bool:
            return False

    good = told(memory)
    with pytest.raises(InvalidInput, match="cut"):
        import_from(other, Pipe(good[:-40]))
    assert import_from(other, Pipe(good)).new["event"] == 3
    assert exported(other) == good


def test_exports_of_before_and_plain_lines_are_read_as_ever(memory: Memory, other: Memory) -> None:
    lines = told(memory).splitlines(keepends=True)[:-1]
    lines[0] = lines[0].replace(b'"holdfast_export":2', b'"holdfast_export":1')
    assert import_from(other, io.BytesIO(b"".join(lines))).new["event"] == 3
    # Some lines of an export, as a filter leaves them.
    assert import_from(other, io.BytesIO(b"".join(lines[1:3]))).present["event"] == 2
    plain = b'{"content": "what is {\\"holdfast_end\\": 1}?", "user": "ann"}'
    assert import_from(other, io.BytesIO(plain)).new["event"] == 1


@pytest.mark.parametrize("version", ["99", "0", '"2"', "true", "null", "2.5"])
def test_another_format_is_named_with_those_that_are_known(other: Memory, version: str) -> None:
    header = f'{{"holdfast_export": {version}}}\n'.encode()
    with pytest.raises(InvalidInput, match=r"export of format .*, .* reads 1 and 2"):
        import_from(other, io.BytesIO(header), salvage=True)
