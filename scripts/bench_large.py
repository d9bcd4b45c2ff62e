"""One owner who is not held in memory, beside the same owner who is: python scripts/bench_large.py

Loads an owner of so many turns into a PostgreSQL server of this machine's own, lets it be indexed,
and asks the same questions in two fresh processes: one in which the database names documents, one
that holds all of them in memory and looks at every vector. Printed: latency, memory, how many of
the first ten both find, and what the ten that were named score in memory beside the best ten: the
made turns have near equals by the hundred.

The turns are made of real ones where `--data` names a folder of labelled conversations: each is
half of one turn and half of another, of two conversations side by side, with the mean of their
vectors; the questions are those of the data. Without it of made-up words. They are loaded by COPY:
this measures searching, not storing.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from statistics import mean, median
from typing import Any

import numpy as np
import psycopg
from numpy.typing import NDArray

sys.path.insert(0, str(Path(__file__).parents[1]))

import holdfast
from holdfast.bench.data import chosen_sets, read_set
from holdfast.index.view import packed
from holdfast.language.terms import TERMS_VERSION, terms
from holdfast.learn.embed import RECIPE
from holdfast.memory.memory import Memory
from holdfast.models.local import OWN, LocalEmbedder
from holdfast.recall import pipeline
from holdfast.recall.sources.blend import Fused, fuse_by_sum
from holdfast.settings import Index
from holdfast.store.postgres import PostgresStore
from holdfast.store.postgres.connection import owner_number
from holdfast.testing import HashEmbedder
from holdfast.types import Scope
from scripts.bench import question, sentence
from scripts.bench_postgres import started
from scripts.crash_postgres import stop_and_start

OWNER = Scope("default", "large")
SESSION = 25
LONGEST = 330
DIM = 384
QUESTIONS = 200
BEGAN_US = 1_700_000_000_000_000


class Asked:
    """An embedder that knows its questions."""

    model_id = "bench"
    dim = DIM
    is_stand_in = True

    def __init__(self, folder: Path) -> None:
        texts = json.loads((folder / "questions.json").read_text())
        self._known = dict(zip(texts, np.load(folder / "questions.npy"), strict=True))

    def embed(self, given: list[str]) -> NDArray[np.float32]:
        none = np.eye(1, DIM, dtype=np.float32)[0]
        return np.array([self._known.get(text, none) for text in given])


def unit(rows: NDArray[np.float32]) -> NDArray[np.float32]:
    units: NDArray[np.float32] = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    return units


def material(data: Path | None) -> tuple[list[list[str]], list[str], Any]:
    """Conversations, questions, and an embedder for both."""
    if data is None:
        talks = [[sentence(40 * i + j) for j in range(40)] for i in range(200)]
        return talks, [question(i) for i in range(QUESTIONS)], HashEmbedder(DIM)
    sets = [read_set(data / name) for name in chosen_sets(data, ["locomo", "beam-100k"])]
    talks = [
        [turn.content[:LONGEST] for turn in talk.turns if turn.content.strip()][:700]
        for labelled in sets
        for talk in labelled.conversations
    ]
    asked = [each.text for labelled in sets for each in labelled.questions]
    return talks, random.Random(3).sample(asked, QUESTIONS), LocalEmbedder(OWN)


def halves(text: str) -> tuple[str, str]:
    words = text.split()
    middle = (len(words) + 1) // 2
    return " ".join(words[:middle]), " ".join(words[middle:] or words)


def made(talks: list[list[str]], vectors: list[NDArray[np.float32]], rows: int) -> Iterator[Any]:
    """(session, role, text, terms, vector) of each turn."""
    rng = random.Random(1)
    parts = [[halves(text) for text in talk] for talk in talks]
    known = [[(terms(first), terms(second)) for first, second in talk] for talk in parts]
    for start in range(0, rows, SESSION):
        one, other = rng.randrange(len(talks)), rng.randrange(len(talks))
        i, j = rng.randrange(len(talks[one])), rng.randrange(len(talks[other]))
        for step in range(min(SESSION, rows - start)):
            a, b = (i + step) % len(talks[one]), (j + step) % len(talks[other])
            yield (
                f"s{start // SESSION}",
                ("user", "assistant")[step % 2],
                f"{parts[one][a][0]} {parts[other][b][1]}",
                packed(known[one][a][0] + known[other][b][1]),
                vectors[one][a] + vectors[other][b],
            )


def load(url: str, folder: Path, data: Path | None, rows: int) -> None:
    talks, asked, embedder = material(data)
    vectors = [unit(np.asarray(embedder.embed(talk), np.float32)) for talk in talks]
    (folder / "questions.json").write_text(json.dumps(asked))
    np.save(folder / "questions.npy", unit(np.asarray(embedder.embed(asked), np.float32)))
    PostgresStore(url).close()
    owner = owner_number(OWNER)
    with psycopg.connect(url) as raw:
        raw.execute("SET search_path = holdfast")
        raw.execute(
            "INSERT INTO owners VALUES (%s, %s, %s, %s, %s, 0)",
            (owner, OWNER.workspace, OWNER.user, rows, 2 * rows),
        )
        raw.execute("INSERT INTO spaces VALUES (1, 'bench', %s, %s, 'active')", (DIM, RECIPE))
        raw.execute("INSERT INTO recipes VALUES ('terms', %s)", (TERMS_VERSION,))
        lines = made(talks, vectors, rows)
        for start in range(0, rows, 20_000):
            some = [next(lines) for _ in range(min(20_000, rows - start))]
            copy_some(raw, owner, start, some)
    with psycopg.connect(url, autocommit=True) as raw:
        for table in ("events", "records", "vectors", "owners"):
            raw.execute(f"VACUUM ANALYZE holdfast.{table}")


def copy_some(raw: psycopg.Connection[Any], owner: int, start: int, some: list[Any]) -> None:
    ids = [(start + i + 1).to_bytes(16, "big") for i in range(len(some))]
    rows = unit(np.array([line[4] for line in some])).astype("<f4")
    tables = {
        "events (owner, id, arrival, role, session, content, at, known_at, origin)": (
            (owner, ids[i], start + i + 1, line[1], line[0], line[2], at(start + i),
             at(start + i), "user")
            for i, line in enumerate(some)
        ),
        "records (owner, id, change, tier, kind, valid_from, known_from, confidence, origin,"
        " length, terms)": (
            (owner, ids[i], start + i + 1, "session", "turn", at(start + i), at(start + i), 1.0,
             "user", line[3][1], line[3][0])
            for i, line in enumerate(some)
        ),
        "vectors (owner, space, record, passage, change, digest, data)": (
            (owner, 1, ids[i], 0, start + i + 1, ids[i], rows[i].tobytes())
            for i in range(len(some))
        ),
    }  # fmt: skip
    for table, lines in tables.items():
        with raw.cursor().copy(f"COPY {table} FROM STDIN") as copy:
            for line in lines:
                copy.write_row(line)


def at(number: int) -> int:
    return BEGAN_US + number * 30_000_000


# What one process does.


def rss() -> float:
    """Megabytes."""
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6


def opened(url: str, folder: Path, most: int) -> Memory:
    config = {"extraction": {"enabled": False}, "index": {"residentMemories": most},
              "indexCacheMegabytes": 20_000}  # fmt: skip
    return holdfast.open(url, embedder=Asked(folder), worker=False, config=config)


def ask(url: str, folder: Path, most: int, *, named: Path | None) -> dict[str, Any]:
    """`named`: what was found where the database names documents; None: it does now."""
    asked = json.loads((folder / "questions.json").read_text())
    with opened(url, folder, most) as memory:
        memory.recall("warm up", user="nobody")
        idle = rss()
        began = time.perf_counter()
        memory.recall(asked[0], user=OWNER.user)
        first = time.perf_counter() - began
        times, found = [], []
        for text in asked:
            began = time.perf_counter()
            hits = memory.recall(text, user=OWNER.user, limit=10)
            times.append(time.perf_counter() - began)
            found.append([hit.id for hit in hits])
        told = {
            "first_ms": first * 1e3, "p50_ms": median(times) * 1e3,
            "p95_ms": sorted(times)[int(0.95 * len(times))] * 1e3,
            "memory_mb": rss() - idle, "found": found,
            "peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3 - idle,
        }  # fmt: skip
        theirs = json.loads(named.read_text())["found"] if named else found
        near, scores = list[list[str]](), list[list[list[float]]]()
        vectors = np.load(folder / "questions.npy")
        known = zip(searched(memory, asked), vectors, theirs, strict=True)
        for (ours, view, fused), vector, ids in known:
            near.append(nearest(view, vector))
            if named:
                scores.append([scores_of(view, fused, each) for each in (ours, ids)])
        return told | {"nearest": near, "scores": scores}


def searched(memory: Memory, asked: list[str]) -> Iterator[tuple[list[str], Any, Fused]]:
    """The first ten of each question, the documents that were ranked, and their scores."""
    last: list[tuple[Any, Fused]] = []

    def noting(view: Any, *about: Any, **also: Any) -> Fused:
        last[:] = [(view, fuse_by_sum(view, *about, **also))]
        return last[0][1]

    vars(pipeline)["fuse_by_sum"] = noting
    for text in asked:
        hits = memory.recall(text, user=OWNER.user, limit=10)
        yield [hit.id for hit in hits], *last[0]


def nearest(view: Any, vector: NDArray[np.float32]) -> list[str]:
    """The ten nearest documents of those that were ranked."""
    best = np.argsort(-(view.vectors._rows @ vector))[:10]
    return [view.ids[doc] for doc in view.vectors._docs[best].tolist()]


def scores_of(view: Any, fused: Fused, ids: list[str]) -> list[float]:
    return [float(fused.scores[view.numbers[id]]) for id in ids]


def in_process(url: str, folder: Path, most: int, *, named: Path | None) -> dict[str, Any]:
    line = "from scripts import bench_large as b; from pathlib import Path; import json;"
    other = f"Path({str(named)!r})" if named else None
    line += f" print(json.dumps(b.ask({url!r}, Path({str(folder)!r}), {most}, named={other})))"
    done = subprocess.run(
        [sys.executable, "-c", line], cwd=Path(__file__).parents[1], stdout=subprocess.PIPE,
        text=True, check=True,
    )  # fmt: skip
    told: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return told


def shared(ones: list[list[str]], others: list[list[str]]) -> float:
    return mean(
        len(set(one) & set(other)) / max(len(other), 1)
        for one, other in zip(ones, others, strict=True)
        if other
    )


def near_enough(scores: list[tuple[list[float], list[float]]], share: float) -> float:
    """How many of those that were named score at least that share of what the tenth does."""
    return mean(
        mean(each >= share * min(best) for each in named)
        for best, named in scores
        if best and named
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=50_000)
    parser.add_argument("--data", type=Path, help="folder of labelled sets; default: made-up words")
    parser.add_argument("--folder", type=Path, help="keep the server there, and ask it again later")
    args = parser.parse_args()
    with ExitStack() as stack:
        folder = args.folder
        if folder is None:
            name = stack.enter_context(tempfile.TemporaryDirectory(prefix="holdfast-pg-"))
            folder = Path(name)
        folder.mkdir(parents=True, exist_ok=True)
        folder.chmod(0o755)
        server = stack.enter_context(started(folder))
        give_memory(server)
        if not (folder / "indexed").exists():
            make(server.get_uri(), folder, args.data, args.rows)
        compare(server.get_uri(), folder, args.rows)


def give_memory(server: Any) -> None:
    """A quarter of the machine's for its pages, as is usual; it comes with 128 MB."""
    quarter = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // (4 << 20)
    with psycopg.connect(server.get_uri(), autocommit=True) as raw:
        raw.execute(f"ALTER SYSTEM SET shared_buffers = '{quarter}MB'")
    stop_and_start(server)


def make(url: str, folder: Path, data: Path | None, rows: int) -> None:
    began = time.perf_counter()
    load(url, folder, data, rows)
    print(f"{rows:,} turns loaded in {time.perf_counter() - began:.0f} s", flush=True)
    began = time.perf_counter()
    store = PostgresStore(url)
    store.index_large(OWNER, store.spaces()[-1], Index(resident_memories=most_held(rows)))
    print(f"indexed in {time.perf_counter() - began:.0f} s", flush=True)
    store.close()
    (folder / "indexed").touch()


def most_held(rows: int) -> int:
    return min(Index().resident_memories, rows // 2)


def compare(url: str, folder: Path, rows: int) -> None:
    with psycopg.connect(url) as raw:
        for table in ("records", "vectors", "candidates", "nearest", "frequencies"):
            sql = f"SELECT pg_total_relation_size('holdfast.{table}') / 1e6"
            row = raw.execute(sql).fetchone()
            print(f"  {table:12} {row[0] if row else 0:8,.0f} MB with its indexes")
    most = most_held(rows)
    named = in_process(url, folder, most, named=None)
    (folder / "named.json").write_text(json.dumps(named))
    whole = in_process(url, folder, 1 << 40, named=folder / "named.json")
    print(f"{'one owner of ' + format(rows, ','):40} {'named':>10} {'in memory':>10}")
    for key, words, goal in (
        ("p50_ms", "search p50, ms", "named <= 40"),
        ("p95_ms", "search p95, ms", ""),
        ("first_ms", "first search of the process, ms", ""),
        ("memory_mb", "memory above idle, MB", "named <= 300"),
        ("peak_mb", "most of it, MB", ""),
    ):
        print(f"{words:40} {named[key]:10,.1f} {whole[key]:10,.1f}  {goal}")
    ten = shared(named["found"], whole["found"])
    near = shared(named["nearest"], whole["nearest"])
    same = mean(a[:1] == b[:1] for a, b in zip(named["found"], whole["found"], strict=True))
    print(
        f"of the first ten that a search over all finds: {ten:.3f} (>= 0.97); the first: {same:.3f}"
    )
    scores = whole["scores"]
    kept = mean(sum(found) / (sum(best) or 1.0) for best, found in scores)
    near_ones = ", ".join(f"{near_enough(scores, s):.3f} to {s:.0%}" for s in (1.0, 0.99, 0.98))
    print(f"of the best ten's scores in memory the ten named have: {kept:.4f}")
    print(f"of the ten named score as high as the tenth in memory: {near_ones}")
    print(f"of the ten nearest vectors of all: {near:.3f} (>= 0.97)", flush=True)


if __name__ == "__main__":
    main()
