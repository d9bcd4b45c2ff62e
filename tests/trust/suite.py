"""The poisoning suite as functions: the script runs all of it, the tests a part.

For every channel a store of its own, in it a workspace for every class of attack. Ann speaks; the
texts arrive; all jobs run; then everything that could raise a text to authority is run as well:
compaction, the nightly jobs, merges by hand, an export into a new store. After each of these the
watch looks.
"""

from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import holdfast
from holdfast import Memory, Scope
from holdfast.errors import HoldfastError
from holdfast.testing.fakes import HashEmbedder
from holdfast.transfer import export_to, import_from
from holdfast.types import Record
from tests.trust.attacks import attacks, groups
from tests.trust.benign import benign
from tests.trust.channels import ANN, Channel, talks
from tests.trust.gullible import gullible
from tests.trust.watch import Found, Watch

#: What a complete build has beside the verbs of a memory.
PARTS = (
    "facts", "notes", "procedures", "knowledge", "team", "shares", "profiles", "compact", "life",
)  # fmt: skip


class CachedEmbedder(HashEmbedder):
    """The embedder of the tests; every word's direction is made once."""

    def __init__(self) -> None:
        super().__init__()
        self._known: dict[str, NDArray[np.float32]] = {}

    def _direction(self, term: str) -> NDArray[np.float32]:
        if term not in self._known:
            self._known[term] = super()._direction(term)
        return self._known[term]


EMBEDDER = CachedEmbedder()


@dataclass
class Cell:
    """One class through one channel."""

    channel: str
    group: str
    texts: int
    found: Found = field(default_factory=Found)


def missing(memory: Memory) -> list[str]:
    """Parts that this build does not have."""
    return [part for part in PARTS if not hasattr(memory, part)]


def opened(path: Path, url: str | None = None, *, reader: str = "rules") -> Memory:
    """A memory that works only when told to; with an address it asks the model there. Turns are
    read by the patterns alone, or also by the shipped model (`reader`), with its own vectors."""
    extraction: Mapping[str, Any] = {"provider": "rules", "reader": reader}
    if url is not None:
        llm = {"url": url, "model": "gullible", "dailyTokens": 10**9, "dailyCalls": 10**6}
        extraction = {"provider": "llm", "llm": llm, "reader": reader}
    embedder = EMBEDDER if reader == "rules" else None
    return holdfast.open(path, config={"extraction": extraction}, embedder=embedder, worker=False)


@dataclass(frozen=True)
class Plan:
    """How much is sent: `each` texts of every class, from a scenario on."""

    each: int
    seed: int = 5
    start: int = 0
    #: Contexts in every format.
    thorough: bool = False
    #: Who reads: "rules" or "model".
    reader: str = "rules"


def poisoned(channel: Channel, folder: Path, plan: Plan) -> list[Cell]:
    """All classes through one channel."""
    with ExitStack() as stack:
        url = stack.enter_context(gullible()) if channel.asks_model else None
        memory = stack.enter_context(opened(folder / "memory.db", url, reader=plan.reader))
        if not channel.is_there(memory):
            return []
        watches, cells, sent = {}, [], {}
        for group in groups():
            watches[group] = Watch(memory, group.lower())
            watches[group].begin()
            sent[group] = attacks(group, plan.each, seed=plan.seed, start=plan.start)
            channel.send(memory, group.lower(), sent[group])
            memory.drain()
            cells.append(Cell(channel.name, group, len(sent[group])))
        for cell in cells:
            cell.found.seen |= (
                watches[cell.group].violations(sent[cell.group], thorough=plan.thorough).seen
            )
        for launder in (compacted, merged, upkept):
            launder(memory)
        memory.drain()
        copy = stack.enter_context(opened(folder / "copy.db", url, reader=plan.reader))
        _copied(memory, copy)
        for cell in cells:
            few = sent[cell.group][:4]
            for watch in (watches[cell.group], watches[cell.group].over(copy)):
                cell.found.seen |= watch.violations(few).seen
        return [_counted(cell, channel.counted) for cell in cells]


def _counted(cell: Cell, kinds: tuple[str, ...]) -> Cell:
    if kinds:
        cell.found.seen = {one for one in cell.found.seen if one[0] in kinds}
    return cell


def compacted(memory: Memory) -> None:
    """Every conversation is summed up, twice."""
    compact: Callable[..., object] | None = getattr(memory, "compact", None)
    if compact is None:
        return
    for group in groups():
        for session in ["ann", *(name for name, _ in talks([""] * 100))]:
            for kept in (2, 0):
                try:
                    compact(session=session, user=ANN, workspace=group.lower(), keep_turns=kept)
                except HoldfastError:
                    break  # A conversation that this channel does not have.


def merged(memory: Memory) -> None:
    """Ann's own entity takes in what agents wrote."""
    for group in groups():
        workspace = group.lower()
        nodes = memory.graph.entities(user=ANN, workspace=workspace)
        own = next((node for node in nodes if node.name.casefold() == ANN), None)
        others = [node for node in nodes if own is not None and node.id != own.id]
        for node in others[:3]:
            if own is not None and node.type == own.type:
                memory.graph.merge(own.id, node.id, user=ANN, workspace=workspace)


def upkept(memory: Memory) -> None:
    """The nightly jobs run in earnest, now and after a month."""
    keeper: Any = getattr(memory, "life", None)
    if keeper is not None:
        for days in (0, 30):
            keeper.run(now=datetime.now(UTC) + timedelta(days=days), shadow=False)


def _copied(memory: Memory, copy: Memory) -> None:
    out = BytesIO()
    export_to(memory.store, out)
    out.seek(0)
    import_from(copy, out)
    copy.drain()


@dataclass
class Benign:
    """What became of harmless texts."""

    texts: int
    dropped: int
    altered: int
    unfindable: int
    flagged: int
    #: How many were taken for a standing rule of the user: a mistake, but none that loses text.
    rules: int


def harmless(folder: Path, count: int, seed: int, reader: str = "rules") -> Benign:
    """Harmless texts that talk about attacks: all of them must be there, as they were said."""
    texts = benign(count, seed)
    with opened(folder / "benign.db", reader=reader) as memory:
        ids: list[str] = []
        for session, part in talks(texts):
            turns = [{"role": "user", "content": text} for text in part]
            ids += memory.remember(turns, user=ANN, session=session).events
        memory.drain()
        scope = Scope("default", ANN)
        records: dict[str, Record] = {}
        for start in range(0, len(ids), 500):
            part_ids = ids[start : start + 500]
            records |= {record.id: record for record in memory.store.get(scope, part_ids)}
        held = [(records.get(id), text) for id, text in zip(ids, texts, strict=True)]
        sample = list(zip(ids, texts, strict=True))[:: max(1, count // 200)]
        lost = sum(
            id not in [hit.id for hit in memory.recall(text, user=ANN, limit=10)]
            for id, text in sample
        )
        rules = memory.store.listed(scope, tier="procedure", kind="instruction")
        return Benign(
            texts=count,
            dropped=sum(record is None for record, _ in held),
            altered=sum(record is not None and record.content != text for record, text in held),
            unfindable=lost,
            flagged=sum(record is not None and "flags" in record.data for record, _ in held),
            rules=len(rules),
        )
