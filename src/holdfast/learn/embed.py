"""The embed step: events and derived records -> vectors of their passages."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from hashlib import blake2b
from itertools import accumulate

import numpy as np

from holdfast.learn.passages import embed_texts, record_texts
from holdfast.models.base import Embedder
from holdfast.models.call import embedded
from holdfast.store.base import Space, Store, Vector
from holdfast.types import Event, Job, Record

#: Passages that are embedded and stored at once. The first jobs of a batch are one of each owner:
#: who waits for one turn waits for no more than this.
_AT_ONCE = 8


def embed(
    store: Store,
    embedder: Embedder,
    space: Space,
    jobs: Sequence[Job],
    *,
    is_over: Callable[[], bool],
    finished: Callable[[int], None],
) -> list[Job]:
    """Embed the subjects of these jobs and finish them, a few at a time: `finished` hears how many.
    Those that are left because it was over. Raises ModelError when it cannot.

    The same passage of the same owner is embedded once: its vector is found by a digest.
    """
    subjects = store.subjects(jobs)
    wanted: dict[int, list[tuple[bytes, str]]] = {
        job.id: [(_digest(text), text) for text in _texts(subjects[job.id])]
        for job in jobs
        if job.id in subjects
    }
    known = _known(store, space, jobs, wanted)
    left = list(jobs)
    while left and not (len(left) < len(jobs) and is_over()):
        some = _few(left, wanted)
        missing = {d: t for job in some for d, t in wanted.get(job.id, ()) if d not in known}
        known |= _embedded(embedder, list(missing.items()))
        finished(_stored(store, space, some, wanted, known))
        left = left[len(some) :]
    return left


def _few(jobs: Sequence[Job], wanted: Mapping[int, Sequence[object]]) -> list[Job]:
    """The first jobs, at least one, up to a number of passages."""
    sizes = accumulate(len(wanted.get(job.id, ())) for job in jobs)
    return [job for job, size in zip(jobs, sizes, strict=True) if size <= _AT_ONCE] or [jobs[0]]


def _embedded(embedder: Embedder, texts: Sequence[tuple[bytes, str]]) -> dict[bytes, bytes]:
    rows = np.asarray(embedded(embedder, [text for _, text in texts]), dtype="<f4")
    return {digest: rows[i].tobytes() for i, (digest, _) in enumerate(texts)}


def _stored(
    store: Store,
    space: Space,
    jobs: Sequence[Job],
    wanted: Mapping[int, Sequence[tuple[bytes, str]]],
    known: Mapping[bytes, bytes],
) -> int:
    done = 0
    for some in _apart(jobs):
        vectors = [
            Vector(0, job.subject, passage, digest, known[digest])
            for job in some
            for passage, (digest, _) in enumerate(wanted.get(job.id, ()))
        ]
        done += store.finish(some, space=space.id, vectors=vectors)
    return done


def _apart(jobs: Sequence[Job]) -> list[list[Job]]:
    """The jobs in parts that name nothing twice, most often in one.

    The id of a derived record is made of what it says, so that two owners may have the same, and
    a vector says only which record it is of.
    """
    parts: list[dict[str, Job]] = [{}]
    for job in jobs:
        part = next((each for each in parts if job.subject not in each), None)
        if part is None:
            parts.append(part := {})
        part[job.subject] = job
    return [list(part.values()) for part in parts]


def _texts(subject: Event | Record) -> list[str]:
    return record_texts(subject) if isinstance(subject, Record) else embed_texts(subject)


def _known(
    store: Store,
    space: Space,
    jobs: Sequence[Job],
    wanted: dict[int, list[tuple[bytes, str]]],
) -> dict[bytes, bytes]:
    by_owner: dict[tuple[str, str], tuple[Job, set[bytes]]] = {}
    for job in jobs:
        owner = (job.scope.workspace, job.scope.user)
        _, digests = by_owner.setdefault(owner, (job, set()))
        digests.update(digest for digest, _ in wanted.get(job.id, ()))
    known: dict[bytes, bytes] = {}
    for job, digests in by_owner.values():
        known |= store.known_vectors(job.scope, space.id, digests)
    return known


def _digest(text: str) -> bytes:
    return blake2b(text.encode(), digest_size=16).digest()
