"""The embed step: events and derived records -> vectors of their passages."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from hashlib import blake2b
from itertools import accumulate

import numpy as np

from holdfast.language.instructions.rules import topic
from holdfast.language.sentences import DENSE_STOPS, STOPS
from holdfast.models.base import Embedder, embedded
from holdfast.store.protocols import Space, Store, Vector, is_heard
from holdfast.types import Job, Record

# ----------------------------------------------------------------------
# Text for the embedder: cut where it is longer than the model reads, told who spoke and when.
#
# Cuts fall between sentences, lines or code blocks; neighbours overlap by a unit, so that a
# thought on a border is whole in one of them. This module knows nothing about models but how much
# they read.
# ----------------------------------------------------------------------

#: Part of the identity of a vector space: change it whenever the same event gives other texts.
RECIPE = 1

#: The model reads 256 word pieces; a fifth is left for the header and for rare words.
MOST_PIECES = 200.0
#: Characters per word piece are about 4 in ASCII text; other scripts have about one piece each.
_ASCII_PIECE = 0.25
#: A unit up to this share of a passage is repeated at the start of the next. By hand, not measured.
_OVERLAP_SHARE = 0.25

_CODE_BLOCK = re.compile(r"(```.*?```)", re.DOTALL)
_BORDER = re.compile(rf"(?<=[{STOPS}…])\s+|(?<=[{DENSE_STOPS}])|\n+")
_WORDS = re.compile(r"\S+\s*|\s+")


def turn_texts(turn: Record) -> list[str]:
    """The passages of a turn, each with its header."""
    speaker, at = turn.name or turn.role, turn.valid_from
    header = f"[{at.day} {at:%B %Y}] {speaker}: "
    return [header + passage for passage in passages(turn.content)]


def record_texts(record: Record) -> list[str]:
    """The passages of a derived record: its content, the condition it depends on, and what that is
    about, each by itself, because a question is more like "history" or "when I ask about history"
    than like the whole rule. What was only heard is no document and has none."""
    if is_heard(record.tier, record.data):
        return []
    texts = passages(record.content)
    condition = record.data.get("condition")
    if isinstance(condition, str) and condition.strip():
        alone = [*passages(condition), *passages(topic(condition))]
        texts += [each for each in dict.fromkeys(alone) if each.strip() and each not in texts]
    return texts


def passages(text: str) -> list[str]:
    """The text in pieces that the model can read whole; most texts are one piece."""
    text = text.strip()
    if pieces(text) <= MOST_PIECES:
        return [text]
    found: list[str] = []
    current: list[str] = []
    size = 0.0
    for unit in _units(text):
        weight = pieces(unit) + _ASCII_PIECE  # and the space before it
        if current and size + weight > MOST_PIECES:
            found.append(" ".join(current))
            overlap = pieces(current[-1]) + _ASCII_PIECE
            repeat = overlap <= MOST_PIECES * _OVERLAP_SHARE and overlap + weight <= MOST_PIECES
            current, size = (current[-1:], overlap) if repeat else ([], 0.0)
        current.append(unit)
        size += weight
    found.append(" ".join(current))
    return found


def pieces(text: str) -> float:
    """About how many word pieces a text has."""
    if text.isascii():
        return len(text) * _ASCII_PIECE
    return sum(_ASCII_PIECE if character < "\x80" else 1.0 for character in text)


def _units(text: str) -> list[str]:
    """Code blocks, lines, sentences; one that is too long is cut between words, then anywhere."""
    units: list[str] = []
    for block in _CODE_BLOCK.split(text):
        parts = [block] if block.startswith("```") else _BORDER.split(block)
        for part in parts:
            if part and part.strip():
                units.extend(_cut(part.strip()))
    return units


def _cut(unit: str) -> list[str]:
    # A unit and the space before it must fit.
    most = MOST_PIECES - _ASCII_PIECE
    if pieces(unit) <= most:
        return [unit]
    found: list[str] = []
    current: list[str] = []
    size = 0.0
    for word in _WORDS.findall(unit):
        for part in [word] if pieces(word) <= most else _cut_word(word, most):
            weight = pieces(part)
            if current and size + weight > most:
                found.append("".join(current).strip())
                current, size = [], 0.0
            current.append(part)
            size += weight
    found.append("".join(current).strip())
    return [each for each in found if each]


def _cut_word(word: str, most: float) -> list[str]:
    found: list[str] = []
    start, size = 0, 0.0
    for place, character in enumerate(word):
        weight = _ASCII_PIECE if character < "\x80" else 1.0
        if size + weight > most:
            found.append(word[start:place])
            start, size = place, 0.0
        size += weight
    return [*found, word[start:]]


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
    subjects = _subjects(store, jobs)
    wanted: dict[int, list[tuple[bytes, str]]] = {
        job.id: [(passage_digest(text), text) for text in _texts(subjects[job.id])]
        for job in jobs
        if job.id in subjects
    }
    known = _known_vectors(store, space, jobs, wanted)
    left = list(jobs)
    while left and not (len(left) < len(jobs) and is_over()):
        some = _first_few(left, wanted)
        missing = {d: t for job in some for d, t in wanted.get(job.id, ()) if d not in known}
        known |= _make_vectors(embedder, list(missing.items()))
        finished(_store_vectors(store, space, some, wanted, known))
        left = left[len(some) :]
    return left


def _first_few(jobs: Sequence[Job], wanted: Mapping[int, Sequence[object]]) -> list[Job]:
    """The first jobs, at least one, up to a number of passages."""
    sizes = accumulate(len(wanted.get(job.id, ())) for job in jobs)
    return [job for job, size in zip(jobs, sizes, strict=True) if size <= _AT_ONCE] or [jobs[0]]


def _make_vectors(embedder: Embedder, texts: Sequence[tuple[bytes, str]]) -> dict[bytes, bytes]:
    rows = np.asarray(embedded(embedder, [text for _, text in texts]), dtype="<f4")
    return {digest: rows[i].tobytes() for i, (digest, _) in enumerate(texts)}


def _store_vectors(
    store: Store,
    space: Space,
    jobs: Sequence[Job],
    wanted: Mapping[int, Sequence[tuple[bytes, str]]],
    known: Mapping[bytes, bytes],
) -> int:
    done = 0
    for some in _without_repeats(jobs):
        vectors = [
            Vector(0, job.subject, passage, digest, known[digest])
            for job in some
            for passage, (digest, _) in enumerate(wanted.get(job.id, ()))
        ]
        done += store.finish(some, space=space.id, vectors=vectors)
    return done


def _without_repeats(jobs: Sequence[Job]) -> list[list[Job]]:
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


def _texts(subject: Record) -> list[str]:
    return turn_texts(subject) if subject.tier == "session" else record_texts(subject)


def _subjects(store: Store, jobs: Sequence[Job]) -> dict[int, Record]:
    """By the job's id the record that it is about, forgotten ones too."""
    of_owner: dict[tuple[str, str], list[Job]] = {}
    for job in jobs:
        of_owner.setdefault((job.scope.workspace, job.scope.user), []).append(job)
    found: dict[int, Record] = {}
    for some in of_owner.values():
        records = store.get(some[0].scope, [job.subject for job in some], hidden=True)
        there = {record.id: record for record in records}
        found |= {job.id: there[job.subject] for job in some if job.subject in there}
    return found


def _known_vectors(
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
        found = store.vectors(job.scope, space.id, digests=digests)
        known |= {each.digest: each.data for each in found}
    return known


def passage_digest(text: str) -> bytes:
    """What the vector of a passage is found by."""
    return blake2b(text.encode(), digest_size=16).digest()
