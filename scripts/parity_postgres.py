"""The same conversations in a file and on a PostgreSQL server, the same questions to both, and how
many of them find the same first ten: python scripts/parity_postgres.py --data FOLDER --sets locomo
"""

import argparse
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

import holdfast
from holdfast.bench.cache import CachedEmbedder
from holdfast.bench.data import Conversation, LabelledSet, chosen_sets, read_set, sample_set
from holdfast.bench.run import _message, turns_of
from holdfast.memory.memory import Memory
from holdfast.models.base import Embedder
from holdfast.models.local import OWN, LocalEmbedder
from scripts.bench_postgres import started

#: Of the questions that must find the same.
WANTED = 0.995


def opened(url: str | Path, embedder: Embedder) -> Memory:
    """Read by the patterns alone, as `holdfast bench retrieval` does."""
    config = {"extraction": {"reader": "rules"}}
    return holdfast.open(url, embedder=embedder, worker=False, config=config)


def fill(memory: Memory, conversation: Conversation, user: str) -> None:
    sessions: dict[str | None, list[dict[str, object]]] = {}
    for turn in conversation.turns:
        sessions.setdefault(turn.session, []).append(_message(turn))
    for session, messages in sessions.items():
        memory.remember(messages, user=user, session=session)
    memory.drain()


def compared(labelled: LabelledSet, file: Memory, server: Memory) -> tuple[int, int]:
    """How many questions were asked, and how many found the same first ten in the same order."""
    asked = same = 0
    for conversation in labelled.conversations:
        for memory in (file, server):
            fill(memory, conversation, conversation.id)
        for question in labelled.questions:
            if question.conversation != conversation.id:
                continue
            first, second = (
                [
                    (tuple(turns_of(hit)), hit.content, hit.score)
                    for hit in memory.recall(
                        question.text, user=conversation.id, now=question.at, limit=10
                    )
                ]
                for memory in (file, server)
            )
            asked += 1
            same += first == second
    return asked, same


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, help="folder of labelled sets; default: the sample")
    parser.add_argument("--sets", default="locomo")
    parser.add_argument("--cache", type=Path, help="file that keeps embeddings between runs")
    args = parser.parse_args()
    sets = [sample_set()]
    if args.data:
        sets = [read_set(args.data / name) for name in chosen_sets(args.data, args.sets.split(","))]
    worst = 1.0
    with tempfile.TemporaryDirectory(prefix="holdfast-pg-") as name, started(Path(name)) as server:
        embedder = CachedEmbedder(LocalEmbedder(OWN), args.cache or Path(name) / "cache.db")
        for number, labelled in enumerate(sets):
            server.psql(f"CREATE DATABASE parity{number};")
            url = server.get_uri(database=f"parity{number}")
            with (
                opened(Path(name) / f"{number}.db", embedder) as file,
                opened(url, embedder) as there,
            ):
                asked, same = compared(labelled, file, there)
            worst = min(worst, same / max(asked, 1))
            print(
                f"{labelled.name}: {same} of {asked} questions find the same first ten, with the"
                f" same scores, on both ({same / max(asked, 1):.4f}; at least {WANTED})",
                flush=True,
            )
    return int(worst < WANTED)


if __name__ == "__main__":
    sys.exit(main())
