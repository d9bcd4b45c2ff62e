"""Ours beside LangGraph's SqliteStore and lancedb, in one run: python scripts/bench_peers.py

The passages and questions are of labelled conversations (`--data`, as for `make eval`), cut to some
330 characters; their vectors are made once by our own embedder and kept, and all three systems get
the same. The peers come from PyPI into environments of their own beside them: nothing of ours
depends on them. Each measurement is a process of its own, one system after another, so that what
else the machine does meets all of them; read the ratios.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table

from holdfast.models.local import LocalEmbedder

RUN = Path(__file__).with_name("bench_peers_run.py")
SETS = ("locomo", "beam-100k", "beam-500k", "beam-1m")
#: What each peer is installed from; the newest of them, whose version the table names.
PEERS = {"langgraph": "langgraph-checkpoint-sqlite", "lancedb": "lancedb"}
SYSTEMS = ("holdfast", *PEERS)
#: A passage is cut at the last space before this many characters; shorter rests are left out.
MOST_CHARS, LEAST_CHARS = 360, 120
VECTOR_BYTES = 384 * 4
console = Console()

Results = dict[str, dict[str, dict[str, float]]]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="a folder of labelled sets")
    parser.add_argument("--cache", type=Path, default=Path(".cache/peers"))
    parser.add_argument("--only", default=",".join(SYSTEMS), help="systems, with commas")
    parser.add_argument("--json", type=Path, help="write all figures here, too")
    asked = parser.parse_args()
    systems = tuple(asked.only.split(","))
    corpus = prepare(asked.data, asked.cache.resolve(), 50_000)
    pythons = {each: environment(asked.cache.resolve(), each) for each in systems}
    with tempfile.TemporaryDirectory(prefix="holdfast-peers-") as folder:
        results = measure(systems, pythons, corpus, Path(folder))
    if asked.json:
        asked.json.write_text(json.dumps(results, indent=1))
    report(results, {each: release(pythons[each], each) for each in systems}, corpus)


# ----------------------------------------------------------------------
# The passages, the questions and their vectors, made once.
# ----------------------------------------------------------------------


def prepare(data: Path, cache: Path, count: int) -> Path:
    """The folder of passages, questions and vectors."""
    folder = cache / f"corpus-{count}"
    if (folder / "vectors.npy").exists():
        return folder
    folder.mkdir(parents=True, exist_ok=True)
    passages = [each for each, _ in zip(passages_of(data), range(count), strict=False)]
    if len(passages) < count:
        raise SystemExit(f"{data} has {len(passages):,} passages in {SETS}, not {count:,}")
    questions = questions_of(data, {each["id"].split("/")[0] for each in passages})
    lines = "\n".join(json.dumps(each) for each in passages)
    (folder / "passages.jsonl").write_text(lines, encoding="utf-8")
    (folder / "questions.json").write_text(json.dumps(questions))
    model = LocalEmbedder()
    np.save(folder / "question_vectors.npy", embed(model, questions))
    np.save(folder / "vectors.npy", embed(model, [each["text"].strip() for each in passages]))
    return folder


def embed(model: LocalEmbedder, texts: list[str]) -> NDArray[np.float32]:
    rows = []
    with console.status("") as status:
        for start in range(0, len(texts), 256):
            status.update(f"embedding, once: {start:,} of {len(texts):,}")
            rows.append(model.embed(texts[start : start + 256]))
    return np.concatenate(rows)


def passages_of(data: Path) -> Iterator[dict[str, Any]]:
    """The turns of all conversations in passages, in order."""
    for conversation in lines_of(data, "conversations"):
        people = set(conversation.get("speakers", ()))
        for turn in conversation["turns"]:
            for number, text in enumerate(pieces(turn["text"])):
                speaker = turn["speaker"]
                yield {
                    "id": f"{conversation['conv_id']}/{turn['id']}/{number}",
                    "text": text,
                    "role": "user" if speaker in people else speaker,
                    "name": speaker if speaker in people else None,
                    "session": f"{conversation['conv_id']}/{turn['session']}",
                    "at": turn["time"] + ("Z" if "T" in turn["time"] else "T00:00Z"),
                }


def pieces(text: str) -> Iterator[str]:
    while len(text) > MOST_CHARS:
        cut = text.rfind(" ", LEAST_CHARS, MOST_CHARS)
        cut = MOST_CHARS if cut < 0 else cut
        yield text[:cut].strip()
        text = text[cut:].lstrip()
    if len(text) >= LEAST_CHARS:
        yield text


def questions_of(data: Path, conversations: set[str]) -> list[str]:
    asked = [each for each in lines_of(data, "questions") if each["conv_id"] in conversations]
    return list(dict.fromkeys(each["question"] for each in asked))


def lines_of(data: Path, name: str) -> Iterator[dict[str, Any]]:
    for one in SETS:
        path = data / one / f"{name}.jsonl.gz"
        if path.exists():
            with gzip.open(path, "rt", encoding="utf-8") as file:
                yield from map(json.loads, file)


# ----------------------------------------------------------------------
# The systems.
# ----------------------------------------------------------------------


def environment(cache: Path, system: str) -> Path:
    """The interpreter of a system's environment, made when missing; ours runs in this one."""
    if system == "holdfast":
        return Path(sys.executable)
    folder = cache / f"env-{system}"
    python = folder / "bin" / "python"
    if not (folder / "ready").exists():
        with console.status(f"installing {PEERS[system]} from PyPI"):
            subprocess.run(
                [base_python(), "-m", "venv", "--clear", "--without-pip", folder], check=True
            )
            pip = [sys.executable, "-m", "pip", "--python", str(python)]
            subprocess.run([*pip, "install", "-q", PEERS[system], "numpy"], check=True)
        (folder / "ready").touch()
    return python


def base_python() -> str:
    """An interpreter whose sqlite3 can load extensions, which LangGraph's store needs."""
    able = "import sqlite3; sqlite3.Connection.enable_load_extension"
    for python in (sys.executable, "/usr/bin/python3", "/usr/local/bin/python3"):
        found = shutil.which(python)
        if (
            found
            and not subprocess.run([found, "-c", able], capture_output=True, check=False).returncode
        ):
            return found
    raise SystemExit("no python3 here has a sqlite3 that loads extensions: install Debian's")


def release(python: Path, system: str) -> str:
    if system == "holdfast":
        return f"holdfast {version('holdfast')}"
    code = f"from importlib.metadata import version; print(version({PEERS[system]!r}))"
    found = subprocess.run([python, "-c", code], capture_output=True, text=True, check=True)
    return f"{PEERS[system]} {found.stdout.strip()}"


#: Every task and the store it works on; all systems do one before any does the next.
TASKS = (
    ("fill_few", "few"), ("fill_many", "many"), ("fill_one", "one"),
    ("search_many", "many"), ("threads", "many"), ("search_one", "one"),
    ("cold", "one"), ("idle", "few"), ("ingest", "ingest"),
)  # fmt: skip


def measure(
    systems: tuple[str, ...], pythons: dict[str, Path], corpus: Path, folder: Path
) -> Results:
    """Every task of every system."""
    results: Results = {each: {} for each in systems}
    for task, store in TASKS:
        for system in systems:
            command: list[str | Path] = [
                pythons[system], RUN, system, "cold" if task == "idle" else task,
                corpus, folder / system / store,
            ]  # fmt: skip
            with console.status(f"{system}: {task}"):
                done = subprocess.run(
                    command, capture_output=True, text=True, check=False, env=surroundings()
                )
            if done.returncode:
                raise SystemExit(f"{system}: {task} failed:\n{done.stderr}")
            results[system][task] = json.loads(done.stdout.splitlines()[-1])
            console.print(f"[dim]{system}: {task} {results[system][task] or ''}[/dim]")
    return results


def surroundings() -> dict[str, str]:
    """Products by one thread, or the time of the processor would count what waits; compiled modules
    are kept, or ours, which nobody installed, would be compiled at every start."""
    one_thread = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    kept = {name: os.environ[name] for name in os.environ if name != "PYTHONDONTWRITEBYTECODE"}
    return kept | one_thread


# ----------------------------------------------------------------------
# The table.
# ----------------------------------------------------------------------

#: What, the task, the figure, digits, whether more is better, the goal of ours.
ROWS = (
    ("search, 100 users of 500: CPU ms, p50", "search_many", "cpu_ms", 2, False,
     "<= langgraph's"),
    ("  the same, wall ms, p50", "search_many", "wall_ms", 2, False, ""),
    ("  the same, wall ms, p95", "search_many", "wall_p95_ms", 2, False, ""),
    ("search, one user of 50,000: CPU ms, p50", "search_one", "cpu_ms", 2, False, "<= 8"),
    ("  the same, wall ms, p50", "search_one", "wall_ms", 2, False, ""),
    ("searches/s by 8 threads, 100 users", "threads", "per_s", 0, True, ">= 400"),
    ("ingest, texts/s, 32 a call", "ingest", "per_s", 0, True, ">= 6,000"),
    ("  the same, texts a second of CPU", "ingest", "cpu_per_s", 0, True, ""),
    ("  until found by words and meaning, texts/s", "ingest", "found_per_s", 0, True, ""),
    ("open and first search of 50,000, cold: s", "cold", "seconds", 2, False, "<= 1"),
    ("resident above idle, bytes a memory", "cold", "above_idle", 0, False, ""),
    ("  of it beside the vectors", "cold", "beside_vectors", 0, False, "<= 1,200"),
)  # fmt: skip

NOTES = """\
Search: holdfast hybrid (words, vectors, rules, neighbours, times), langgraph dense alone, lancedb
hybrid (full-text index, exact vectors, reciprocal ranks); ten hits each, vectors of the questions
given. Ingest: 6,400 texts of one user, all as the user's own words; holdfast and langgraph sync
every batch (SQLite, synchronous FULL), lancedb writes files and does not; langgraph and lancedb
store the given vectors in the same call, holdfast the text, its words and its rules, and the
vectors by a worker after it (the row below; there lancedb brings its full-text index up to date).
Cold: a new process, without its imports; the file may be in the page cache. Resident: after 21
searches, less that of a store of 32; langgraph and lancedb keep no vectors in memory but read them
at every search, so "beside the vectors" is for ours alone. Understanding is off in ours."""


def report(results: Results, releases: dict[str, str], corpus: Path) -> None:
    for system, figures in results.items():
        above = figures["cold"]["resident"] - figures["idle"]["resident"]
        figures["cold"]["above_idle"] = above / 50_000
        if system == "holdfast":
            figures["cold"]["beside_vectors"] = above / 50_000 - VECTOR_BYTES
    table = Table(title=f"50,000 passages, {os.cpu_count()} cores")
    table.add_column("")
    for system in results:
        table.add_column(system, justify="right")
        if system != "holdfast":
            table.add_column("ours is", justify="right")
    table.add_column("goal of ours")
    for what, task, figure, digits, is_more_better, goal in ROWS:
        cells = [what]
        ours = results.get("holdfast", {}).get(task, {}).get(figure)
        for system in results:
            value = results[system][task].get(figure)
            cells.append("" if value is None else f"{value:,.{digits}f}")
            if system != "holdfast":
                cells.append(compared(ours, value, is_more_better=is_more_better))
        table.add_row(*cells, goal)
    console.print(table)
    lengths = [len(json.loads(line)["text"]) for line in (corpus / "passages.jsonl").open()]
    console.print(", ".join(releases.values()))
    console.print(f"Passages of {np.mean(lengths):.0f} characters on average.")
    console.print(NOTES)


def compared(ours: float | None, theirs: float | None, *, is_more_better: bool) -> str:
    if not ours or not theirs or ours < 0 or theirs < 0:
        return ""
    times = ours / theirs if is_more_better else theirs / ours
    return f"{times:.2f}x better" if times >= 1 else f"{1 / times:.2f}x worse"


if __name__ == "__main__":
    main()
