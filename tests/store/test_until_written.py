"""What a connection to a file has read is read again only when something was written."""

from pathlib import Path

import apsw
import pytest

from holdfast.store.sqlite.connection import connect


@pytest.fixture
def path(tmp_path: Path) -> str:
    return str(tmp_path / "m.db")


def test_what_was_read_is_kept_until_another_connection_commits(path: str) -> None:
    writer, reader = connect(path), connect(path)
    reads: list[int] = []

    def read() -> int:
        reads.append(len(reads))
        (number,) = next(iter(reader.execute("SELECT count(*) FROM counted")))
        return int(number)

    writer.execute("CREATE TABLE counted (number INTEGER)")
    assert [reader.until_written("rows", read) for _ in range(3)] == [0, 0, 0]
    assert len(reads) == 1
    writer.execute("BEGIN; INSERT INTO counted VALUES (1)")
    assert (reader.until_written("rows", read), len(reads)) == (0, 1)
    writer.execute("COMMIT")
    assert [reader.until_written("rows", read) for _ in range(3)] == [1, 1, 1]
    assert len(reads) == 2
    for connection in (writer, reader):
        connection.close()


def test_what_fails_is_not_kept(path: str) -> None:
    reader = connect(path)

    def read() -> int:
        return int(next(iter(reader.execute("SELECT count(*) FROM counted")))[0])

    with pytest.raises(apsw.SQLError):
        reader.until_written("rows", read)
    writer = connect(path)
    writer.execute("CREATE TABLE counted (number INTEGER)")
    assert reader.until_written("rows", read) == 0
    for connection in (writer, reader):
        connection.close()
