"""The embed step: events and derived records -> vectors of their passages."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Mapping, Sequence
from hashlib import blake2b
from itertools import accumulate

import numpy as np

from holdfast.errors import ModelError
from holdfast.language.instructions.rules import topic
from holdfast.language.regex import regex
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

_CODE_BLOCK = regex(r"(```.*?```)", re.DOTALL)
_BORDER = regex(rf"(?<=[{STOPS}…])\s+|(?<=[{DENSE_STOPS}])|\n+")
_WORDS = regex(r"\S+\s*|\s+")


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


#: Jobs that are embedded and stored at once, and how many characters they have together. The first
#: jobs of a batch are one of each owner: who waits for one turn waits for no more than this.
_AT_ONCE, _CHARS_AT_ONCE = 8, 6_400
#: Passages of a longer text that are embedded before it is asked whether somebody else waits.
_PART = 8
#: Vectors that are kept of texts that are embedded in part, some 30 MB, and for how long: a text
#: may be erased meanwhile, or another worker may have taken it.
_MOST_BEGUN, _BEGUN_SECONDS = 20_000, 600.0


class Begun:
    """Vectors of passages of long texts, of which others are not made yet: between the parts of one
    others have their turn. Whoever dies meanwhile begins anew."""

    def __init__(self, most: int = _MOST_BEGUN) -> None:
        self._most = most
        #: By the job: since when, and the vectors by their digests.
        self._of_jobs: dict[int, tuple[float, dict[bytes, bytes]]] = {}

    def made(self, job: int) -> int:
        """How many vectors of a text are made."""
        return len(self._of_jobs.get(job, (0.0, {}))[1])

    def take(self, job: int) -> dict[bytes, bytes]:
        """What is made of a text; it is kept no longer."""
        return self._of_jobs.pop(job, (0.0, {}))[1]

    def keep(self, job: int, vectors: dict[bytes, bytes]) -> bool:
        """Keep them until its next part; whether there is room."""
        oldest = time.monotonic() - _BEGUN_SECONDS
        self._of_jobs = {id: each for id, each in self._of_jobs.items() if each[0] > oldest}
        if sum(len(each) for _, each in self._of_jobs.values()) + len(vectors) > self._most:
            return False
        self._of_jobs[job] = (time.monotonic(), vectors)
        return True


Wanted = dict[int, list[tuple[bytes, str]]]


def embed(
    store: Store,
    embedder: Embedder,
    space: Space,
    jobs: Sequence[Job],
    *,
    begun: Begun,
    is_over: Callable[[], bool],
    finished: Callable[[int], None],
) -> list[Job]:
    """Embed the subjects of these jobs and finish them, a few at a time: `finished` hears how many.
    Those that are left because it was over, a long one perhaps in part. Raises ModelError when it
    cannot.

    The same passage of the same owner is embedded once: its vector is found by a digest.
    """
    subjects = _subjects(store, jobs)
    left = _long_last(jobs, subjects, begun)
    while left and not (len(left) < len(jobs) and is_over()):
        some = _first_few(left, subjects)
        wanted = {
            job.id: [(passage_digest(text), text) for text in _texts(subjects[job.id])]
            for job in some
            if job.id in subjects
        }
        known = _known_vectors(store, space, some, wanted)
        texts = {digest: text for each in wanted.values() for digest, text in each}
        known |= begun.take(some[0].id)
        missing = [(digest, text) for digest, text in texts.items() if digest not in known]
        for start in range(0, len(missing), _PART):
            try:
                known |= _make_vectors(embedder, missing[start : start + _PART])
            except ModelError:
                begun.keep(some[0].id, known)
                raise
            is_done = start + _PART >= len(missing)
            if not is_done and is_over() and begun.keep(some[0].id, known):
                return left
        finished(_store_vectors(store, space, some, wanted, known))
        left = left[len(some) :]
    return left


def _long_last(jobs: Sequence[Job], subjects: Mapping[int, Record], begun: Begun) -> list[Job]:
    """The jobs of short texts first, then those of long ones, the least advanced of them first:
    who says one thing waits for no part of what others have said, and long ones take turns."""

    def place(job: Job) -> tuple[bool, int]:
        is_long = _size(job, subjects) > _CHARS_AT_ONCE
        return is_long, begun.made(job.id) if is_long else 0

    return sorted(jobs, key=place)


def _size(job: Job, subjects: Mapping[int, Record]) -> int:
    return len(subjects[job.id].content) if job.id in subjects else 0


def _first_few(jobs: Sequence[Job], subjects: Mapping[int, Record]) -> list[Job]:
    """The first jobs, at least one, up to a number of jobs and of characters."""
    sizes = accumulate(_size(job, subjects) for job in jobs)
    few = [job for job, size in zip(jobs, sizes, strict=True) if size <= _CHARS_AT_ONCE]
    return few[:_AT_ONCE] or [jobs[0]]


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
    wanted: Wanted,
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
