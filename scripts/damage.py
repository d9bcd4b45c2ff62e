"""Flip single bits in a backup and in an export, and count how many are noticed.

    python scripts/damage.py [flips]

Each flip is tried in a file of its own. `refused`: one of our errors, in words, and nothing was
stored. `silent`: it was taken as if nothing had happened. `raw`: an error of Python or SQLite.
"""

import random
import sys
import tempfile
from collections import Counter
from pathlib import Path

import holdfast
from holdfast.errors import HoldfastError
from holdfast.service.cli.opening import restore_file
from holdfast.testing import HashEmbedder
from holdfast.transfer import export_to, import_from

SEED = 12


def main(flips: int) -> int:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        backup, export = filled(folder)
        tries = {"backup": (backup, restored), "export": (export, imported)}
        worst = 0
        for what, (content, take) in tries.items():
            counts = flipped(content, take, folder, flips)
            worst = max(worst, flips - counts["refused"])
            told = ", ".join(f"{counts[each]} {each}" for each in ("refused", "silent", "raw"))
            print(f"{what}: {flips} flips of one bit: {told}")
    return 1 if worst else 0


def filled(folder: Path) -> tuple[bytes, bytes]:
    """A backup and an export of a small store."""
    with holdfast.open(folder / "m.db", embedder=HashEmbedder(), worker=False) as memory:
        for i in range(40):
            memory.remember(f"On day {i} I moved to street {i} of Lisbon.", user="ann", key=f"k{i}")
        memory.drain()
        memory.store.backup(folder / "a.backup")
        with (folder / "a.jsonl").open("wb") as out:
            export_to(memory.store, out)
    return (folder / "a.backup").read_bytes(), (folder / "a.jsonl").read_bytes()


def flipped(content: bytes, take, folder: Path, flips: int) -> Counter[str]:  # type: ignore[no-untyped-def]
    chance, counts = random.Random(SEED), Counter[str]()
    for number in range(flips):
        bit = chance.randrange(8 * len(content))
        changed = bytearray(content)
        changed[bit // 8] ^= 1 << bit % 8
        (folder / "flipped").write_bytes(changed)
        try:
            counts[
                "silent" if take(folder / "flipped", folder / f"{number}.db") else "refused"
            ] += 1
        except HoldfastError:
            counts["refused"] += 1
        except Exception as error:  # noqa: BLE001 (counted)
            counts["raw"] += 1
            print(f"  bit {bit}: {type(error).__name__}: {error}"[:200], file=sys.stderr)
        for left in folder.glob(f"*{number}.db*"):
            left.unlink()
    return counts


def restored(file: Path, db: Path) -> bool:
    restore_file(file, str(db), force=False)
    return True


def imported(file: Path, db: Path) -> bool:
    """Whether all lines were taken."""
    with (
        holdfast.open(db, embedder=HashEmbedder(), worker=False) as memory,
        file.open("rb") as source,
    ):
        return not import_from(memory, source).failed


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else 400))
