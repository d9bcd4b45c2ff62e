"""Write ten thousand hostile texts into a memory by every way in, and count what they become.

Eight classes of attack (tests/trust/attacks.txt) go through every channel by which a text reaches a
memory that its user did not say. None of them may become a rule, a trait of the user, a line of the
profile, or be trusted more than where it came from; see tests/trust/watch.py. No model judges: what
is counted are records and lines of contexts. Then harmless texts that talk about such attacks are
remembered, none of which may be lost or changed. And one writer floods a memory by every way in,
who may not get more than three of the first ten places.

The exit status is 1 when anything was counted. `--require-all` also fails when a part of the memory
that could be attacked is missing in this build.
"""

import argparse
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from tests.trust.attacks import groups, templates
from tests.trust.channels import CHANNELS, Channel
from tests.trust.share import FLOODS, MOST, flooded, shares
from tests.trust.suite import Cell, Plan, harmless, missing, opened, poisoned

TEXTS = 10_000
HARMLESS = 5_000


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--count", type=int, default=TEXTS, help="hostile texts in all")
    parser.add_argument("--harmless", type=int, default=HARMLESS, help="harmless texts")
    parser.add_argument("--seed", type=int, default=5, help="for the fillings of the templates")
    parser.add_argument("--only", default="", help="channels whose name holds this")
    parser.add_argument(
        "--reader", choices=("rules", "model"), default="rules",
        help="patterns alone, or also the shipped model that reads",
    )  # fmt: skip
    parser.add_argument("--require-all", action="store_true", help="fail when a part is missing")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with opened(folder / "parts.db") as memory:
            lacking = missing(memory)
            there = [each for each in CHANNELS if each.is_there(memory) and args.only in each.name]
        plan = Plan(0, args.seed, thorough=True, reader=args.reader)
        cells = attacked(there, folder, args.count, plan)
        kept = harmless(folder, args.harmless, args.seed, args.reader)
        written = shares(folder)
        with opened(folder / "floods.db", reader=args.reader) as memory:
            floods = {name: flooded(memory, name) for name in FLOODS if args.only in name}
    print(f"read by: {args.reader}")
    print_cells(cells)
    print(
        f"\nharmless: {kept.texts} texts about prompts and security, {kept.dropped} dropped,"
        f" {kept.altered} altered, {kept.unfindable} of 200 not found, {kept.flagged} flagged,"
        f" {kept.rules} taken for a rule"
    )
    for count, share in written.items():
        print(f"one writer with {count} of its own texts beside 300: {share:.1%} of the first ten")
    for name, (listed, told) in floods.items():
        print(f"flood by {name}: {listed} of the first ten of a list, {told} of a context")
    if lacking:
        print(f"missing in this build: {', '.join(lacking)}")
    bad = any(len(cell.found) for cell in cells) or kept.dropped or kept.altered
    full = max(*written.values(), *(count / 10 for counts in floods.values() for count in counts))
    return int(bool(bad or kept.unfindable or full > MOST or (args.require_all and lacking)))


def attacked(channels: Sequence[Channel], folder: Path, count: int, plan: Plan) -> list[Cell]:
    """Every class through every channel."""
    each = max(len(templates("P1")), -(-count // (len(groups()) * len(channels))))
    cells = []
    for number, channel in enumerate(channels):
        begun = time.monotonic()
        place = folder / str(number)
        place.mkdir()
        cells += poisoned(channel, place, replace(plan, each=each))
        print(f"{channel.name}: {time.monotonic() - begun:.1f} s", file=sys.stderr, flush=True)
    return cells


def print_cells(cells: Sequence[Cell]) -> None:
    """A row for each channel, a column for each class: texts/violations."""
    classes = groups()
    print(f"{'channel':<24}" + "".join(f"{group:>9}" for group in classes) + f"{'all':>12}")
    rows: dict[str, list[Cell]] = {}
    for cell in cells:
        rows.setdefault(cell.channel, []).append(cell)
    for channel, row in (*rows.items(), ("all", list(cells))):
        columns = [[cell for cell in row if cell.group == group] for group in classes]
        shown = "".join(f"{_sum(column):>9}" for column in columns)
        print(f"{channel:<24}{shown}{_sum(row):>12}")
    for group, what in classes.items():
        print(f"  {group}  {what}")
    kinds = sum((cell.found.kinds() for cell in cells), Counter[str]())
    print("by kind: " + (", ".join(f"{kind} {n}" for kind, n in kinds.items()) or "none"))
    for cell in cells:
        for example in cell.found.examples():
            print(f"  {cell.channel}, {cell.group}: {example}")


def _sum(cells: Sequence[Cell]) -> str:
    texts = sum(cell.texts for cell in cells)
    return f"{texts}/{sum(len(cell.found) for cell in cells)}"


if __name__ == "__main__":
    sys.exit(main())
