"""One system, one task: what `bench_peers.py` starts in the environment of that system.

    python bench_peers_run.py SYSTEM TASK FOLDER STORE

SYSTEM is holdfast, langgraph or lancedb; TASK one of `TASKS`; FOLDER holds the passages, questions
and vectors; STORE is where the system keeps its own. Prints one JSON object. Imports nothing but
numpy and the system that is measured, so that it runs in any of the environments.
"""

from __future__ import annotations

import json
import re
import statistics
import sys
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np

LIMIT = 10
BATCH = 32
USERS, OF_EACH = 100, 500
THREADS = 8
#: Searches of one measurement, texts of one ingest, and of the part before it that is not counted.
SEARCHES, THREADED, INGESTED, WARM = 500, 1600, 6400, 640

Passage = dict[str, Any]


class Corpus:
    """Passages and questions with their vectors."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.questions: list[str] = json.loads((folder / "questions.json").read_text())
        self.question_vectors = np.load(folder / "question_vectors.npy")

    def passages(self) -> list[Passage]:
        lines = (self.folder / "passages.jsonl").read_text(encoding="utf-8").split("\n")
        return [json.loads(line) for line in lines if line]

    def vectors(self) -> Any:
        return np.load(self.folder / "vectors.npy")


class Holdfast:
    """Ours, through the public API; understanding is measured elsewhere and switched off."""

    #: For the rules that are found in texts, where it is not measured how their vectors are made.
    stand_in: Any = None
    is_stand_in = True

    def __init__(self, corpus: Corpus, store: Path) -> None:
        import holdfast  # noqa: PLC0415
        from holdfast.models.local import LocalEmbedder  # noqa: PLC0415

        self._corpus = corpus
        self._known = dict(zip(corpus.questions, corpus.question_vectors, strict=True))
        self._model: Any = None
        self._make_model = LocalEmbedder
        self.model_id, self.dim = LocalEmbedder().model_id, corpus.question_vectors.shape[1]
        self.memory = holdfast.open(
            store / "memory.db",
            embedder=self,
            worker=False,
            config={"extraction": {"enabled": False}},
        )

    def embed(self, texts: list[str]) -> Any:
        """The vectors made before; the rules that we find in texts are embedded when first met."""
        bare = [
            text if text in self._known else re.sub(r"^\[[^\]]+\] [^:]{1,80}: ", "", text)
            for text in texts
        ]
        missing = [text for text in bare if text not in self._known]
        if missing and self.stand_in is not None:
            self._known |= dict.fromkeys(missing, self.stand_in)
        elif missing:
            self._model = self._model or self._make_model()
            self._known |= dict(zip(missing, self._model.embed(missing), strict=True))
        return np.array([self._known[text] for text in bare])

    def give_vectors(self, passages: Sequence[Passage], vectors: Any) -> None:
        texts = [each["text"].strip() for each in passages]
        self._known |= dict(zip(texts, vectors, strict=True))

    def add(self, user: str, passages: Sequence[Passage], _vectors: Any) -> None:
        for session, some in groupby(passages, key=lambda each: each["session"]):
            self.memory.remember([_message(each) for each in some], user=user, session=session)

    def index(self) -> None:
        """The vectors, which a worker makes after the text is safe."""
        self.memory.drain()

    def search(self, user: str, question: int) -> int:
        return len(self.memory.recall(self._corpus.questions[question], user=user, limit=LIMIT))

    def close(self) -> None:
        self.memory.close()


def _message(passage: Passage) -> dict[str, str]:
    told = {"role": passage["role"], "content": passage["text"]}
    return told | {key: passage[key] for key in ("name", "at") if passage.get(key)}


class Langgraph:
    """LangGraph's SqliteStore: a namespace for each user, dense search alone, exact."""

    def __init__(self, corpus: Corpus, store: Path) -> None:
        from langgraph.store.base import PutOp  # noqa: PLC0415
        from langgraph.store.sqlite import SqliteStore  # noqa: PLC0415

        self._corpus, self._put = corpus, PutOp
        questions = corpus.question_vectors.tolist()
        self._known: dict[str, list[float]] = dict(zip(corpus.questions, questions, strict=True))
        self._open = ExitStack()
        index = {
            "dims": corpus.question_vectors.shape[1],
            "embed": lambda texts: [self._known[text] for text in texts],
            "fields": ["text"],
            "text_fields": ["text"],  # As the SQLite store calls it.
        }
        path = str(store / "store.db")
        self._store = self._open.enter_context(SqliteStore.from_conn_string(path, index=index))
        self._store.setup()

    def give_vectors(self, passages: Sequence[Passage], vectors: Any) -> None:
        texts = [each["text"] for each in passages]
        self._known |= dict(zip(texts, vectors.tolist(), strict=True))

    def add(self, user: str, passages: Sequence[Passage], _vectors: Any) -> None:
        self._store.batch([self._put((user,), each["id"], each) for each in passages])

    def index(self) -> None:
        """Nothing: a put embeds and indexes."""

    def search(self, user: str, question: int) -> int:
        asked = self._corpus.questions[question]
        return len(self._store.search((user,), query=asked, limit=LIMIT))

    def close(self) -> None:
        self._open.close()


class Lancedb:
    """lancedb: one table, an index over users and a full-text index; hybrid search, its own fusion
    (reciprocal ranks). No index over vectors: all of a user's are compared, as the others do."""

    def __init__(self, corpus: Corpus, store: Path) -> None:
        import lancedb  # noqa: PLC0415

        self._corpus = corpus
        self._db = lancedb.connect(store / "lance")
        there = (store / "lance" / "memories.lance").exists()
        self._table: Any = self._db.open_table("memories") if there else None
        self._words = [" ".join(re.findall(r"\w+", each)) for each in corpus.questions]

    def give_vectors(self, passages: Sequence[Passage], vectors: Any) -> None:
        """Nothing: rows carry their vectors."""

    def add(self, user: str, passages: Sequence[Passage], vectors: Any) -> None:
        rows = [
            {**{key: each.get(key) or "" for key in ("id", "text", "role", "session", "at")},
             "user": user, "vector": vector}
            for each, vector in zip(passages, vectors, strict=True)
        ]  # fmt: skip
        if self._table is None:
            self._table = self._db.create_table("memories", rows)
        else:
            self._table.add(rows)

    def index(self) -> None:
        from lancedb.index import FTS, Bitmap  # noqa: PLC0415

        if not self._table.list_indices():
            self._table.create_index("user", config=Bitmap())
            self._table.create_index("text", config=FTS())
        self._table.optimize()

    def search(self, user: str, question: int) -> int:
        found = (
            self._table.search(query_type="hybrid")
            .vector(self._corpus.question_vectors[question])
            .text(self._words[question])
            .where(f"user = '{user}'", prefilter=True)
            .limit(LIMIT)
            .to_list()
        )
        return len(found)

    def close(self) -> None:
        """Nothing is kept open."""


SYSTEMS = {"holdfast": Holdfast, "langgraph": Langgraph, "lancedb": Lancedb}
Opened = Callable[[], Any]


def fill_many(corpus: Corpus, opened: Opened) -> dict[str, float]:
    """100 users of 500 passages each."""
    passages, vectors = corpus.passages(), corpus.vectors()
    system = opened()
    system.give_vectors(passages, vectors)
    for user in range(USERS):
        mine = slice(user * OF_EACH, (user + 1) * OF_EACH)
        system.add(f"u{user}", passages[mine], vectors[mine])
    system.index()
    system.close()
    return {}


def fill_one(corpus: Corpus, opened: Opened) -> dict[str, float]:
    """One user of all passages."""
    passages, vectors = corpus.passages(), corpus.vectors()
    system = opened()
    system.give_vectors(passages, vectors)
    for start in range(0, len(passages), OF_EACH):
        some = slice(start, start + OF_EACH)
        system.add("u0", passages[some], vectors[some])
    system.index()
    system.close()
    return {}


def search_many(corpus: Corpus, opened: Opened) -> dict[str, float]:
    """Searches over 100 users in turn, all of whom have asked before."""
    system = opened()
    for user in range(USERS):
        system.search(f"u{user}", user)
    return _timed_searches(system, corpus, lambda number: f"u{number % USERS}")


def search_one(corpus: Corpus, opened: Opened) -> dict[str, float]:
    """Searches in one user, who has asked before."""
    system = opened()
    for number in range(10):
        system.search("u0", number)
    return _timed_searches(system, corpus, lambda _: "u0")


def _timed_searches(system: Any, corpus: Corpus, user_of: Callable[[int], str]) -> dict[str, float]:
    processor, wall, found = [], [], 0
    for number in range(SEARCHES):
        question = number % len(corpus.questions)
        began, began_wall = time.process_time(), time.perf_counter()
        found += system.search(user_of(number), question)
        processor.append(time.process_time() - began)
        wall.append(time.perf_counter() - began_wall)
    system.close()
    return {
        "cpu_ms": 1e3 * statistics.median(processor),
        "wall_ms": 1e3 * statistics.median(wall),
        "wall_p95_ms": 1e3 * statistics.quantiles(wall, n=20)[-1],
        "hits": found / SEARCHES,
    }


def threads(corpus: Corpus, opened: Opened) -> dict[str, float]:
    """Searches a second by 8 threads over 100 users."""
    system = opened()
    for user in range(USERS):
        system.search(f"u{user}", user)

    def work(thread: int) -> None:
        for number in range(thread, THREADED, THREADS):
            system.search(f"u{number % USERS}", number % len(corpus.questions))

    workers = [threading.Thread(target=work, args=(number,)) for number in range(THREADS)]
    began = time.perf_counter()
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    seconds = time.perf_counter() - began
    system.close()
    return {"per_s": THREADED / seconds}


def ingest(corpus: Corpus, opened: Opened) -> dict[str, float]:
    """Texts a second in batches of 32 for one user, all as the user's own words, in which we look
    for rules; `found_per_s` until they can be found by meaning and by words."""
    passages = [{**each, "role": "user"} for each in corpus.passages()]
    vectors = corpus.vectors()
    system = opened()
    system.give_vectors(passages, vectors)
    system.stand_in = vectors[0]
    first = len(passages) - INGESTED
    for at in range(0, WARM, BATCH):
        some = slice(at, at + BATCH)
        system.add("warm", _of_one_session(passages[some]), vectors[some])
    system.index()
    if isinstance(system, Holdfast):
        system.memory.warm()  # As a service does: every pattern is compiled, also rare ones.
    batches = [slice(at, at + BATCH) for at in range(first, len(passages), BATCH)]
    began, began_processor = time.perf_counter(), time.process_time()
    for batch in batches:
        system.add("u0", _of_one_session(passages[batch]), vectors[batch])
    seconds, processor = time.perf_counter() - began, time.process_time() - began_processor
    system.index()
    whole = time.perf_counter() - began
    system.close()
    return {
        "per_s": INGESTED / seconds,
        "cpu_per_s": INGESTED / processor,
        "found_per_s": INGESTED / whole,
    }


def _of_one_session(passages: Sequence[Passage]) -> list[Passage]:
    """A batch is one call, whatever conversations it is of."""
    return [{**each, "session": passages[0]["session"]} for each in passages]


def cold(corpus: Corpus, opened: Opened) -> dict[str, float]:
    """Seconds to open the store in a new process and to search once; resident memory after some
    more searches. Importing is not counted."""
    began, began_processor = time.perf_counter(), time.process_time()
    system = opened()
    system.search("u0", 0)
    seconds, processor = time.perf_counter() - began, time.process_time() - began_processor
    for number in range(20):
        system.search("u0", number)
    resident = _resident_bytes()
    system.close()
    return {"seconds": seconds, "cpu_seconds": processor, "resident": resident}


def _resident_bytes() -> float:
    status = Path("/proc/self/status").read_text()
    (line,) = [line for line in status.split("\n") if line.startswith("VmRSS")]
    return 1024.0 * int(line.split()[1])


def fill_few(corpus: Corpus, opened: Opened) -> dict[str, float]:
    """A store of one batch: what a process costs that holds next to nothing."""
    passages, vectors = corpus.passages()[:BATCH], corpus.vectors()[:BATCH]
    system = opened()
    system.give_vectors(passages, vectors)
    system.add("u0", passages, vectors)
    system.index()
    system.close()
    return {}


TASKS = (fill_many, fill_one, fill_few, search_many, search_one, threads, ingest, cold)


def main() -> None:
    system, task, folder, store = sys.argv[1:]
    corpus = Corpus(Path(folder))
    Path(store).mkdir(parents=True, exist_ok=True)
    run = {each.__name__: each for each in TASKS}[task]
    made: list[Any] = []

    def opened() -> Any:
        made.append(SYSTEMS[system](corpus, Path(store)))
        return made[-1]

    _import(system)
    print(json.dumps(run(corpus, opened)))


def _import(system: str) -> None:
    """What is imported once is no part of opening a store."""
    if system == "holdfast":
        import holdfast.models.local  # noqa: F401, PLC0415
    elif system == "langgraph":
        import langgraph.store.sqlite  # noqa: F401, PLC0415
    else:
        import lancedb  # noqa: F401, PLC0415


if __name__ == "__main__":
    main()
