"""The embed step: events and derived records -> vectors of their passages."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import blake2b

import numpy as np

from recollect.models.base import Embedder
from recollect.models.call import embedded
from recollect.store.base import Space, Store, Vector
from recollect.types import Event, Job, Record
from recollect.write.passages import embed_texts, record_texts


def embed(store: Store, embedder: Embedder, space: Space, jobs: Sequence[Job]) -> int:
    """Embed the subjects of these jobs and finish them; how many. Raises ModelError when it cannot.

    The same passage of the same owner is embedded once: its vector is found by a digest.
    """
    subjects = store.subjects(jobs)
    wanted: dict[int, list[tuple[bytes, str]]] = {
        job.id: [(_digest(text), text) for text in _texts(subjects[job.id])]
        for job in jobs
        if job.id in subjects
    }
    known = _known(store, space, jobs, wanted)
    missing = list(
        {d: text for each in wanted.values() for d, text in each if d not in known}.items()
    )
    fresh = embedded(embedder, [text for _, text in missing])
    rows = np.asarray(fresh, dtype="<f4")
    known |= {digest: rows[i].tobytes() for i, (digest, _) in enumerate(missing)}
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
