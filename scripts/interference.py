"""Play random histories of three tenants with and without one of them, and compare byte by byte.

What two tenants are answered over HTTP and on the command line must be the same whether the third
did anything or not: no statistic, no order, no id and no error may tell of it. Read paths are taken
from the router. The exit status is 1 when an answer differs.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from tests.service.histories import differences, history, readable


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--histories", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0, help="the first of the seeds")
    args = parser.parse_args()
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        compared, paths, found = interference(Path(folder), args.seed, args.histories)
    for words in found[:20]:
        print(words)
    seconds = time.monotonic() - began
    print(
        f"{args.histories:,} histories in {seconds:.0f} s: {compared:,} answers over"
        f" {len(paths)} read paths compared, {len(found)} differ"
    )
    return int(bool(found) or not compared)


def interference(folder: Path, first: int, count: int) -> tuple[int, Counter[str], list[str]]:
    """(answers compared, how often each read path was asked, what differs)."""
    routes = readable(folder)
    compared, paths, found = 0, Counter[str](), list[str]()
    for seed in range(first, first + count):
        told = history(seed, routes)
        paths.update(name for _, name in told.reads)
        with tempfile.TemporaryDirectory(dir=folder) as place:
            answers, differing = differences(told, Path(place), routes)
        compared += answers
        found += differing
    return compared, paths, found


if __name__ == "__main__":
    sys.exit(main())
