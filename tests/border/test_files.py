"""Files that commands write: whole, or not there; and nothing left of those that were killed."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from holdfast.border.private import whole_file

#: Writes a part of a file, as a backup does, says so, and waits to be killed.
WRITER = """
import sys, time
from pathlib import Path
from holdfast.border.private import whole_file
with whole_file(Path(sys.argv[1])) as part:
    part.write_bytes(b"half")
    Path(str(part) + "-wal").write_bytes(b"half")
    print("writing", flush=True)
    time.sleep(600)
"""


def writing(target: Path) -> "subprocess.Popen[bytes]":
    child = subprocess.Popen([sys.executable, "-c", WRITER, str(target)], stdout=subprocess.PIPE)
    assert child.stdout is not None
    assert child.stdout.readline() == b"writing\n"
    return child


def killed(child: "subprocess.Popen[bytes]") -> None:
    os.kill(child.pid, signal.SIGKILL)
    child.wait()
    assert child.stdout is not None
    child.stdout.close()


@pytest.mark.parametrize("name", ["a.backup", "odd [name]*?.db"])
def test_what_a_killed_command_left_is_removed_by_the_next(tmp_path: Path, name: str) -> None:
    target = tmp_path / name
    children = [writing(target), writing(tmp_path / "of yesterday.backup")]
    for child in children:
        killed(child)
    assert len(list(tmp_path.iterdir())) == 4
    stranger = tmp_path / ".film.mkv.part"
    stranger.write_bytes(b"of another program")
    with whole_file(target) as part:
        part.write_bytes(b"whole")
    assert {each.name for each in tmp_path.iterdir()} == {name, stranger.name}


def test_what_another_process_still_writes_is_left_alone(tmp_path: Path) -> None:
    target = tmp_path / "a.backup"
    child = writing(target)
    with whole_file(target) as part:
        part.write_bytes(b"whole")
    assert len(list(tmp_path.iterdir())) == 3
    killed(child)
    with whole_file(target, overwrite=True) as part:
        part.write_bytes(b"anew")
    assert [each.read_bytes() for each in tmp_path.iterdir()] == [b"anew"]
