"""Erase one user of a hundred and look for what is left: in every byte of every file of the store.

Each user has a thousand memories, and each memory holds a word that nobody else ever says: in the
text, the names, the metadata, the sessions, the idempotency keys, the reasons in the journal, the
questions that contexts were made for, the graph, the labels of keys, a job that died. One user is
erased. Then no file of the store may hold any of these words, of the ids, of the terms or of the
vectors that were theirs alone; what others have must be the same to the byte; and it must stay so
when every job runs again, the store is rebuilt and the others say everything once more.

Printed is one table; the exit status is 1 when anything was found or when it took over a minute.
"""

import argparse
import hashlib
import json
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import holdfast
from holdfast import HoldfastError, Memory, Scope
from holdfast.errors import ModelError
from holdfast.records.entries import index_row
from holdfast.service.keys import create_key
from holdfast.transfer import export_to, import_from
from holdfast.upkeep.erasure import Erased, verify

USERS = 100
MEMORIES = 1_000
MOST_SECONDS = 60.0
WORKSPACE = "default"
KINDS = ("words", "ids", "terms", "vectors")
_WINDOW = 8
_CHUNK = 16 * 1024 * 1024
_DIM = 384
#: A term in a packed row.
_TERM = np.dtype([("id", "<u8"), ("count", "u1")])
#: A text with this word cannot be embedded: its job dies.
_FATAL = "unembeddable"


class QuickEmbedder:
    """Vectors made of a digest of the text: unlike any other, and a hundred a millisecond."""

    model_id = "digest"
    dim = _DIM
    is_stand_in = True

    def embed(self, texts: list[str]) -> NDArray[np.float32]:
        if any(_FATAL in text for text in texts):
            raise ModelError("this text cannot be embedded")
        raw = b"".join(hashlib.shake_256(text.encode()).digest(2 * _DIM) for text in texts)
        rows = np.frombuffer(raw, dtype="<i2").reshape(len(texts), _DIM)
        return rows.astype(np.float32)


EMBEDDER = QuickEmbedder()


@dataclass(frozen=True)
class Traces:
    """What one user alone has, as bytes: a word, and windows of eight bytes by kind."""

    word: bytes
    windows: Mapping[str, NDArray[np.uint64]]


@dataclass(frozen=True)
class Erasure:
    """What came of it."""

    seconds: float
    receipt: Erased
    #: Moment -> kind -> how many were found in all files together.
    found: Mapping[str, Mapping[str, int]]
    bytes_before: int
    bytes_after: int
    others_equal: bool
    others_equal_later: bool
    #: What reads of the erased user still gave, receipts that did not hold, and their like.
    faults: Sequence[str]


def user_name(number: int) -> str:
    return f"person{number:03}of{word_of(number)}"


def word_of(number: int) -> str:
    """A word that only this user has."""
    return f"zq{number:03}kj"


def opened(path: Path, *, understands: bool, attempts: int = 5) -> Memory:
    """A memory that works only when told to."""
    extraction = {"provider": "rules", "enabled": understands}
    config = {"extraction": extraction, "jobs": {"maxAttempts": attempts}}
    return holdfast.open(path, config=config, embedder=EMBEDDER, worker=False)


def fill(path: Path, users: int, memories: int) -> None:
    """Let everybody speak, and the first three do all that a user can do."""
    with opened(path, understands=False) as memory:
        for number in range(users):
            say(memory, number, memories)
        memory.drain()
    with opened(path, understands=True) as memory:
        for number in range(min(3, users)):
            live(memory, number)
        memory.drain()
    with opened(path, understands=False, attempts=1) as memory:
        for number in range(min(3, users)):
            text = f"{_FATAL} {word_of(number)}"
            memory.remember(text, user=user_name(number))
            memory.drain()


def say(memory: Memory, number: int, memories: int) -> None:
    """A thousand things, each with a word of its own."""
    word = word_of(number)
    turns = [
        {
            "role": ("user", "assistant")[each % 2],
            "name": f"Speaker {word}n{each % 5}",
            "content": f"On day {each} we met at {word}t{each:05} because of {_matter(each)}.",
            "metadata": {"place": f"{word}m{each:05}"},
        }
        for each in range(memories)
    ]
    memory.remember(
        turns, user=user_name(number), session=f"{word}s", agent=f"{word}a", key=f"{word}k"
    )


def _matter(number: int) -> str:
    return ("the garden", "a broken lamp", "the train to the coast", "bread")[number % 4]


def live(memory: Memory, number: int) -> None:
    """What leaves traces beside turns: rules, facts, entities, contexts, reasons, keys, shares."""
    word, user = word_of(number), user_name(number)
    said = memory.remember(
        [
            {"role": "user", "content": text}
            for text in (
                f"My name is {word.title()}y Berg and I live in {word.title()}ville.",
                f"Always mention {word}r when I ask about bread.",
                f"{word.title()}y Berg works at {word.title()}corp.",
                f"I decided to buy the {word}d lamp on Friday.",
            )
        ],
        user=user,
        session=f"{word}s",
    )
    memory.graph.write(
        entities=[{"name": f"{word}g", "type": "person", "summary": f"{word}u"}],
        relations=[{"source": f"{word}g", "type": f"{word}v", "target": f"{word}w"}],
        user=user,
    )
    memory.drain()
    memory.context(f"What about {word}q?", user=user)
    memory.forget(said.events[3], user=user)
    create_key(memory.store, workspace=WORKSPACE, user=user, label=f"{word}l")
    for name, part in _PARTS.items():
        if hasattr(memory, name):
            part(memory, user, word)


def _noted(memory: Any, user: str, word: str) -> None:
    memory.notes.add(f"{word}o", category="decision", user=user, metadata={"x": f"{word}p"})


def _stated(memory: Any, user: str, word: str) -> None:
    fact = memory.facts.add(f"My favourite colour is {word}c.", category="preference", user=user)
    memory.facts.update(fact.id, f"My favourite colour is {word}e.", user=user)
    memory.facts.invalidate(fact.id, reason=f"{word}i", user=user)


def _known(memory: Any, user: str, word: str) -> None:
    memory.knowledge.add(f"# {word}\n\nAbout {word}x.", name=f"{word}.md", user=user)
    memory.knowledge.set(f"{word}key", f"{word}value", user=user)


def _done(memory: Any, user: str, word: str) -> None:
    memory.procedures.add(f"{word}b", steps=[f"{word}z"], trigger=f"{word}h", user=user)


def _shared(memory: Any, user: str, word: str) -> None:
    memory.shares.grant(user=user, workspace=WORKSPACE, to=f"{word}f", segments=("graph",))


def _summed_up(memory: Any, user: str, word: str) -> None:
    memory.compact(session=f"{word}s", user=user, keep_turns=2)


_PARTS: Mapping[str, Callable[[Any, str, str], None]] = {
    "notes": _noted,
    "facts": _stated,
    "knowledge": _known,
    "procedures": _done,
    "shares": _shared,
    "compact": _summed_up,
}


def traces(memory: Memory, number: int, users: int) -> Traces:
    """What only this user has in the store."""
    own = _held(memory, number)
    for other in range(users):
        if other != number:  # The name of an entity, for one, may be said by several.
            held = _held(memory, other)
            own = {kind: np.setdiff1d(own[kind], held[kind]) for kind in own}
    return Traces(word_of(number).encode(), own)


def _held(memory: Memory, number: int) -> dict[str, NDArray[np.uint64]]:
    """The ids, terms and parts of vectors of a user."""
    scope = Scope(WORKSPACE, user_name(number))
    changes = memory.store.changes(scope, after=0)
    vectors = memory.store.vectors(scope, memory.store.spaces()[0].id, after=0)
    terms = np.frombuffer(b"".join(change.terms for change in changes), dtype=_TERM)
    return {
        "ids": _sorted(b"".join(bytes.fromhex(change.id)[-_WINDOW:] for change in changes)),
        "terms": np.unique(terms["id"].astype(np.uint64)),
        "vectors": _sorted(
            b"".join(vector.data[at : at + _WINDOW] for vector in vectors for at in (0, 40, 800))
        ),
    }


def _sorted(data: bytes) -> NDArray[np.uint64]:
    return np.unique(np.frombuffer(data, dtype="<u8").astype(np.uint64))


def scan(path: Path, wanted: Traces) -> dict[str, int]:
    """How often each kind of trace occurs in the files beside a store, and in their names."""
    found = dict.fromkeys(KINDS, 0)
    for file in sorted(path.parent.glob(f"{path.name}*")):
        for data in _chunks(file):
            found["words"] += data.lower().count(wanted.word)
            for kind, windows in wanted.windows.items():
                found[kind] += sum(_windows(data, windows))
    return found


def _chunks(file: Path) -> Iterator[bytes]:
    """The file in pieces that overlap by a window."""
    tail = b""
    with file.open("rb") as source:
        while data := source.read(_CHUNK):
            yield tail + data
            tail = data[-_WINDOW:]


def _windows(data: bytes, wanted: NDArray[np.uint64]) -> Iterator[int]:
    """At each of eight alignments, how many windows of the data are wanted ones."""
    if not len(wanted):
        return
    # Of most windows two bytes tell that they are not wanted.
    rough = np.zeros(1 << 16, dtype=bool)
    rough[(wanted & np.uint64(0xFFFF)).astype(np.intp)] = True
    for shift in range(_WINDOW):
        count = (len(data) - shift) // _WINDOW
        if count <= 0:
            continue
        view = np.frombuffer(data, dtype="<u8", count=count, offset=shift)
        some = view[rough[(view & np.uint64(0xFFFF)).astype(np.intp)]]
        yield int(np.isin(some, wanted).sum())


def others(memory: Memory, number: int) -> bytes:
    """The export of everybody else."""
    out = BytesIO()
    export_to(memory.store, out)
    name = user_name(number)
    lines = out.getvalue().splitlines(keepends=True)[1:-1]  # Between header and checksum.
    kept = [line for line in lines if json.loads(line).get("user") != name]
    types = Counter(json.loads(line)["type"] for line in kept)
    return json.dumps({"holdfast_export": 1, **types}).encode() + b"\n" + b"".join(kept)


def erased(path: Path, users: int, memories: int, number: int = 1) -> Erasure:
    """Fill a store, erase one user, and look."""
    fill(path, users, memories)
    with opened(path, understands=True) as memory:
        wanted = traces(memory, number, users)
        kept = others(memory, number)
        found = {"before": scan(path, wanted)}
        size = path.stat().st_size
        scope = Scope(WORKSPACE, user_name(number))
        begun = time.monotonic()
        receipt = memory.erase(user=scope.user)
        seconds = time.monotonic() - begun
        found["after"] = scan(path, wanted)
        equal = others(memory, number) == kept
        faults = [*_reads(memory, scope), *_receipt(memory, receipt, scope)]
        run_everything(memory, kept)
        found["after all jobs"] = scan(path, wanted)
        later = others(memory, number)
    with opened(path, understands=True) as memory:
        memory.drain()
        faults += _reads(memory, scope)
    found["after reopening"] = scan(path, wanted)
    return Erasure(
        seconds, receipt, found, size, path.stat().st_size, equal, later == kept, tuple(faults)
    )


def run_everything(memory: Memory, kept: bytes) -> None:
    """Every job, the nightly ones too, a rebuilt store, and all that the others ever said."""
    memory.drain()
    memory.store.rebuild(index_row, steps=memory.worker.steps)
    import_from(memory, BytesIO(kept))
    memory.life.run(now=datetime.now(UTC), shadow=False)
    memory.drain()


def _reads(memory: Memory, scope: Scope) -> Iterator[str]:
    """Verbs that still tell something of an erased user."""
    user = scope.user
    if memory.recall("the garden", user=user):
        yield "recall finds something"
    if memory.context("What about bread?", user=user, record=False).text:
        yield "context tells something"
    if memory.graph.entities(user=user):
        yield "the graph shows something"
    if memory.store.events(scope):
        yield "the log holds something"


def _receipt(memory: Memory, receipt: Erased, scope: Scope) -> Iterator[str]:
    told = receipt.as_dict()
    if not verify(memory.store, told, user=scope.user):
        yield "the receipt does not hold"
    if verify(memory.store, {**told, "removed": {}}):
        yield "a forged receipt holds"
    if scope.user in json.dumps(told) or not sum(receipt.removed.values()):
        yield "the receipt names the user, or nothing was removed"


def problems(result: Erasure) -> list[str]:
    """What may not be."""
    found = [
        f"{count} {kind} {moment}"
        for moment, kinds in result.found.items()
        for kind, count in kinds.items()
        if moment != "before" and count
    ]
    blind = [f"no {kind} before" for kind, count in result.found["before"].items() if not count]
    late = ["it took too long"] if result.seconds > MOST_SECONDS else []
    changed = [] if result.others_equal else ["others changed"]
    changed += [] if result.others_equal_later else ["others changed by what ran later"]
    return [*found, *blind, *late, *changed, *result.faults]


def shown(result: Erasure) -> Iterable[str]:
    """The table."""
    yield f"{'traces in all files':<22}" + "".join(f"{kind:>10}" for kind in KINDS)
    for moment, kinds in result.found.items():
        yield f"{moment:<22}" + "".join(f"{kinds[kind]:>10}" for kind in KINDS)
    yield f"erased in {result.seconds:.1f} s; the file had {result.bytes_before / 1e6:.0f} MB,"
    yield f"and has {result.bytes_after / 1e6:.0f} MB; rows removed: {dict(result.receipt.removed)}"
    yield f"exports of all others equal: {result.others_equal}, later: {result.others_equal_later}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--users", type=int, default=USERS)
    parser.add_argument("--memories", type=int, default=MEMORIES, help="of each user")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        result = erased(Path(folder) / "memory.db", args.users, args.memories)
    print("\n".join(shown(result)))
    wrong = problems(result)
    print("\n".join(wrong) if wrong else "nothing is left")
    return int(bool(wrong))


if __name__ == "__main__":
    try:
        sys.exit(main())
    except HoldfastError as error:
        sys.exit(f"erasure: {error}")
