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
    vectors = [
        Vector(0, job.subject, passage, digest, known[digest])
        for job in jobs
        for passage, (digest, _) in enumerate(wanted.get(job.id, ()))
    ]
    return store.finish(jobs, space=space.id, vectors=vectors)


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
