"""How many machines a memory of some size needs, and what breaks first: one busy hour, simulated.

    python scripts/plan_scale.py --users 1000000 --memories 1000000000

Users have very different amounts of memories (log-normal), and who has more talks more often. Each
request goes to the process that a hash of its user names; that keeps the owners in use in memory,
the least used dropped first, and loads the others anew. What a thing costs is in `Costs`, measured
on one core of a small machine or estimated where it says so. Change it to what you measure.
"""

import argparse
from collections import OrderedDict
from dataclasses import dataclass

import numpy as np

HOUR = 3600.0
GB = 1e9


@dataclass(frozen=True)
class Costs:
    """What was measured: bytes, and seconds of one core."""

    #: On the server's disk with its indexes: event, record and vector (pg_total_relation_size).
    disk_bytes: float = 3_300
    #: In the memory of the process that answers, with the vector, as the index counts itself.
    resident_bytes: float = 2_100
    #: To load one memory into it, where nothing of an index is kept; and the server's part.
    load: float = 15e-6
    load_server: float = 9e-6
    #: A question, embedded and searched; and the server's part.
    search: float = 0.011
    search_server: float = 0.0006
    #: A turn, one a call: storing it, and the server's part.
    store: float = 0.0009
    store_server: float = 0.0004
    #: Understanding a turn: embedding, tags, comparing, the graph.
    understand: float = 0.040


@dataclass
class Hour:
    """What happened in one hour to a sample of the users."""

    searches: int = 0
    turns: int = 0
    loads: int = 0
    loaded_memories: float = 0.0
    #: Visits of owners that do not fit into a process at all.
    too_large: int = 0
    #: Seconds that the slowest first search took, and one in a hundred of the first ones.
    slowest: float = 0.0
    slow: float = 0.0


def sizes_of(users: int, memories: float, spread: float, chance: np.random.Generator) -> np.ndarray:
    """Memories of each user, with this sum."""
    drawn = chance.lognormal(0.0, spread, users)
    sizes: np.ndarray = drawn * (memories / drawn.sum())
    return sizes


def simulate(
    sizes: np.ndarray, asked: argparse.Namespace, costs: Costs, chance: np.random.Generator
) -> Hour:
    """One hour: active users come in any order, each for a few questions, and after each of these a
    turn and its answer are stored."""
    hour, waits, room = Hour(), list[float](), asked.process_gb * GB
    kept: list[OrderedDict[int, float]] = [OrderedDict() for _ in range(asked.processes)]
    held = [0.0] * asked.processes
    odds = np.sqrt(sizes) / np.sqrt(sizes).sum()
    for user in map(int, chance.choice(len(sizes), size=int(asked.active * len(sizes)), p=odds)):
        size, place = float(sizes[user]), user % asked.processes
        mine = kept[place]
        hour.too_large += size * costs.resident_bytes > room
        hour.searches += asked.rounds
        hour.turns += 2 * asked.rounds
        if user in mine:
            mine.move_to_end(user)
            continue
        hour.loads += 1
        hour.loaded_memories += size
        waits.append(size * (costs.load + costs.load_server))
        mine[user] = size * costs.resident_bytes
        held[place] += mine[user]
        while held[place] > room and len(mine) > 1:
            held[place] -= mine.popitem(last=False)[1]
    hour.slowest = max(waits, default=0.0)
    hour.slow = float(np.quantile(waits, 0.99)) if waits else 0.0
    return hour


def show(sizes: np.ndarray, hour: Hour, asked: argparse.Namespace, costs: Costs) -> None:
    """What it takes, what it costs and what breaks first."""
    answering = hour.searches * costs.search + hour.turns * costs.store
    answering = (answering + hour.loaded_memories * costs.load) / HOUR
    serving = hour.searches * costs.search_server + hour.turns * costs.store_server
    serving = (serving + hour.loaded_memories * costs.load_server) / HOUR
    working, disk = hour.turns * costs.understand / HOUR, asked.memories * costs.disk_bytes / GB
    by_disk = disk / (asked.server_gb * asked.full)
    by_cores = serving / (asked.server_cores * asked.full)
    shards = max(1, int(np.ceil(max(by_disk, by_cores))))
    cores = (answering + working) / asked.full + shards * asked.server_cores
    price = cores * asked.core_month + disk / asked.full * asked.gb_month
    lines = {
        "memories of a user, median": f"{np.median(sizes):,.0f}, most {sizes.max():,.0f}",
        "an hour": f"{hour.searches:,} questions, {hour.turns:,} turns stored",
        "owners loaded in it": f"{hour.loads:,}, {hour.loaded_memories:,.0f} memories",
        "first search of an owner": f"1 in 100 above {hour.slow:.2f} s, most {hour.slowest:.1f} s",
        "disk": f"{disk:,.0f} GB, {by_disk:.1f} servers",
        "cores of servers": f"{serving:.1f}, {by_cores:.1f} servers",
        "shards": f"{shards}",
        "cores that answer": f"{answering:.1f}, of {asked.processes} processes",
        "cores that work": f"{working:.1f}",
        "memory for owners in use": f"{asked.processes * asked.process_gb:,.0f} GB",
        "a month": f"{price:,.0f}, {price / asked.memories * 1e6:,.2f} a million memories",
    }
    for name, value in lines.items():
        print(f"{name:28} {value}")
    use = {
        "processes that answer: cores": answering / asked.processes,
        "servers: disk": disk / (shards * asked.server_gb),
        "servers: cores": serving / (shards * asked.server_cores),
        "processes: an owner larger than their memory": float(bool(hour.too_large)),
        "first search of one in a hundred: 1 s": hour.slow,
    }
    print("what breaks first, by how much of what there is it takes:")
    for name, share in sorted(use.items(), key=lambda each: -each[1]):
        print(f"  {share:5.2f} {name}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    for name, default, what in (
        ("users", 1_000_000, "how many"),
        ("memories", 1e9, "of all of them"),
        ("spread", 1.5, "sigma of the log of their sizes"),
        ("active", 0.05, "visits an hour, of all users"),
        ("rounds", 5, "questions in one visit"),
        ("process-gb", 12.0, "memory of one process for owners in use"),
        ("processes", 32, "that answer"),
        ("server-cores", 16, "of one database server"),
        ("server-gb", 2_000.0, "disk of one database server"),
        ("full", 0.6, "how busy anything may be"),
        ("core-month", 20.0, "price of a core for a month"),
        ("gb-month", 0.10, "price of a GB of disk for a month"),
        ("seed", 1, "of the dice"),
    ):
        parser.add_argument(f"--{name}", type=type(default), default=default, help=what)
    asked, costs = parser.parse_args(), Costs()
    chance = np.random.default_rng(asked.seed)
    sizes = sizes_of(asked.users, asked.memories, asked.spread, chance)
    show(sizes, simulate(sizes, asked, costs, chance), asked, costs)


if __name__ == "__main__":
    main()
