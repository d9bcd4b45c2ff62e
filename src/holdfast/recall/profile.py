"""Which task is under way, and how much each tier counts for it: task profiles.

A profile's score is the sum of how clearly each of its triggers is heard,

    1.0                   in a use that means the task; a custom trigger: word or phrase present,
                          inflections included
    0.4                   the bare word: two of them make a task, one does not
    (cos - 0.55) / 0.45   by meaning, above a cosine of 0.55 with the trigger itself
    0                     negated ("no error"), or with another meaning ("bug bites")

and of how much nearer the text is to the profile's examples than to everyday requests:

    4.5 * (near - max(everyday, 0.15)), at most 1; half of it in a question about somebody's life

where near is the mean of the six best cosines. A question about what was said before ("which
error did I mention?") is no task. A profile needs 0.5 to win; the highest wins, equals in the order
of the settings; else it is `general`. Custom triggers have neither senses nor examples.

Words are in `triggers`, sentences in `examples`. Nothing is embedded here: the caller embeds
`phrases` once.
"""

from __future__ import annotations

import logging
import re
import threading
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from hashlib import blake2b
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from holdfast.config import Boosting
from holdfast.errors import InvalidInput, ModelError
from holdfast.language.regex import regex
from holdfast.language.sentences import STOPS
from holdfast.language.terms import fold, terms
from holdfast.language.triggers import (
    ASKED,
    EVERYDAY,
    EXAMPLES,
    MACHINE,
    NEGATED,
    PERSONAL,
    RECAP,
    SENSES,
    Sense,
)
from holdfast.models.base import Embedder, embedded
from holdfast.settings import GENERAL, Profiles, TaskProfile

# ----------------------------------------------------------------------
# The embeddings of the task profiles' phrases, made once per model.
#
# Those of the shipped model come with the package (`scripts/make_trigger_vectors.py`); another
# model embeds the phrases at its first question. If it cannot, words alone decide for a while.
# ----------------------------------------------------------------------

log = logging.getLogger("holdfast")

SHIPPED = Path(__file__).with_name("trigger_vectors.npz")
_AGAIN_SECONDS = 300.0
#: While one asks the model, others wait for so long: a model that hangs must not hold all of them.
_WAIT_SECONDS = 1.0


class TriggerVectors:
    """Phrase -> vector, by model and profiles. Threads may share it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._kept: dict[tuple[str, Profiles], PhraseVectors] = {}
        self._failed_at: float | None = None

    def get(self, embedder: Embedder, profiles: Profiles) -> PhraseVectors | None:
        """The vectors, or None while the model cannot be asked."""
        key = (embedder.model_id, profiles)
        if key not in self._kept and self._lock.acquire(timeout=_WAIT_SECONDS):
            try:
                self._make(embedder, key)
            finally:
                self._lock.release()
        return self._kept.get(key)

    def _make(self, embedder: Embedder, key: tuple[str, Profiles]) -> None:
        if key in self._kept or self._is_resting():
            return
        texts = phrases(key[1])
        try:
            self._kept[key] = shipped_vectors(embedder.model_id, texts) or embed_phrases(
                embedder, texts
            )
        except ModelError as error:
            self._failed_at = time.monotonic()
            log.warning("task profiles by words alone: %s", type(error).__name__)

    def _is_resting(self) -> bool:
        return self._failed_at is not None and time.monotonic() < self._failed_at + _AGAIN_SECONDS


def shipped_vectors(model_id: str, texts: list[str]) -> PhraseVectors | None:
    """The vectors that come with the package, if they are of this model and these phrases."""
    with np.load(SHIPPED) as file:
        if str(file["model"]) != model_id or bytes(file["digest"]) != digest(texts):
            return None
        rows = file["rows"].astype(np.float32)
    return PhraseVectors(tuple(texts), rows / np.linalg.norm(rows, axis=1, keepdims=True))


def embed_phrases(embedder: Embedder, texts: list[str]) -> PhraseVectors:
    """The vectors by the model itself; raises ModelError."""
    return PhraseVectors(tuple(texts), embedded(embedder, texts))


def digest(texts: list[str]) -> bytes:
    """Tells one list of phrases from another."""
    return blake2b("\n".join(texts).encode(), digest_size=16).digest()


Vector = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class PhraseVectors:
    """Phrases and their embeddings, a row each."""

    phrases: tuple[str, ...]
    rows: NDArray[np.float32]


#: All of these were settled on tests/recall/task_messages.jsonl; docs/howto/task-profiles.md has
#: the figures, also on messages unseen.
#: What a profile needs to win, and what a use counts.
THRESHOLD = 0.5
CLEAR = 1.0
BARE = 0.4
#: Cosines with a trigger count from here on.
NEAR = 0.55
#: Cosines with the examples: the least that counts, and how fast they grow into a score.
FLOOR = 0.15
GAIN = 4.5
_BEST = 6
#: A task is named where a message begins or, after a long paste, where it ends. Characters.
_HEAD, _TAIL = 600, 200
#: Negations and words of asking reach no further, in characters.
_REACH = 40
#: A question about the past shows itself this early, in characters.
_QUESTION = 240

_EVEN = TaskProfile(GENERAL)
_SENTENCE = regex(rf"(?<=[{STOPS}])\s+|\n+")
_WORD = regex(r"[^\W_]+(?:'[^\W_]+)*")


@dataclass(frozen=True, slots=True)
class Detected:
    """The profile a text calls for, and why."""

    name: str
    score: float = 0.0
    #: The triggers that were heard; none where its meaning alone decided.
    triggers: tuple[str, ...] = ()


def choose(
    boosting: Boosting,
    text: str,
    vector: Vector | None,
    trigger_vectors: PhraseVectors | None,
    *,
    named: str | None = None,
) -> tuple[TaskProfile, Detected]:
    """The profile of one call: switched off an even one, else the one named, else the detected."""
    known = {profile.name: profile for profile in boosting.profiles}
    if named is not None and named not in list(known):  # A list: what is asked may be anything.
        raise InvalidInput(
            f"task_profile must be one of {', '.join(known)}, not {named!r:.64}",
            field="task_profile",
        )
    if not boosting.enabled:
        return _EVEN, Detected(GENERAL)
    if named is not None:
        return known[named], Detected(named, 1.0)
    found = detect(text, vector, boosting.profiles, trigger_vectors)
    return known[found.name], found


def detect(
    text: str,
    vector: Vector | None,
    profiles: Sequence[TaskProfile],
    trigger_vectors: PhraseVectors | None,
) -> Detected:
    """The profile that `text` calls for.

    `vector` is the text's embedding, `trigger_vectors` has those of `phrases(profiles)`, all of
    unit length. Without them the words alone decide.
    """
    custom = any((each.name, t) not in SENSES for each in profiles for t in each.triggers)
    heard = _prepare(text, with_roots=custom)
    cosines = _cosines(vector, trigger_vectors)
    everyday = max(_near(EVERYDAY, cosines), FLOOR)
    best = Detected(GENERAL)
    for profile in profiles:
        clear = {each: _clarity(heard, profile.name, each, cosines) for each in profile.triggers}
        score = sum(each for each in clear.values() if each)
        if not heard.recap and None not in clear.values():
            examples = [e for each in clear for e in EXAMPLES.get((profile.name, each), ())]
            ahead = GAIN * (_near(examples, cosines) - everyday)
            score += min(1.0, max(0.0, ahead / 2 if heard.personal else ahead))
        if score >= THRESHOLD and score > best.score:
            best = Detected(profile.name, score, tuple(each for each in clear if clear[each]))
    return best


def phrases(profiles: Sequence[TaskProfile]) -> list[str]:
    """What the caller embeds once for `detect`: triggers, examples of them, everyday requests."""
    told: dict[str, None] = {}
    for profile in profiles:
        for trigger in profile.triggers:
            told.update(dict.fromkeys([trigger, *EXAMPLES.get((profile.name, trigger), ())]))
    told.update(dict.fromkeys(EVERYDAY))
    return list(told)


def tier_weights(profile: TaskProfile, tiers: Iterable[str]) -> dict[str, float]:
    """What each of the tiers searched counts: its multiplier over the mean of theirs.

    So equal multipliers change nothing, and only their ratios matter.
    """
    raw = {tier: profile.weight(tier) for tier in tiers}
    mean = sum(raw.values()) / len(raw) if raw else 1.0
    return {tier: weight / mean for tier, weight in raw.items()}


@dataclass(frozen=True, slots=True)
class _ListenedText:
    """A text, prepared for listening."""

    #: Folded, and the same without its questions about the past.
    low: str
    present: str
    #: It asks about the past.
    recap: bool
    #: It asks about somebody's life.
    personal: bool
    #: Its words in their root forms, with a space around each; only custom triggers need them.
    roots: str


def _prepare(text: str, *, with_roots: bool) -> _ListenedText:
    if len(text) > _HEAD + _TAIL:
        text = f"{text[:_HEAD]}\n{text[-_TAIL:]}"
    low = fold(text).replace("\u2019", "'")
    sentences = _SENTENCE.split(low)
    kept = [each for each in sentences if not RECAP.search(each, 0, _QUESTION)]
    recap = len(kept) < len(sentences)
    personal = PERSONAL.match(low) is not None
    return _ListenedText(low, "\n".join(kept), recap, personal, _roots(low) if with_roots else "")


def _clarity(
    heard: _ListenedText, profile: str, trigger: str, cosines: Mapping[str, float]
) -> float | None:
    """How clearly a trigger is heard; None where it is there and means something else."""
    sense = SENSES.get((profile, trigger))
    clarity = _clarity_by_sense(heard.present, sense) if sense else _plain(heard, trigger)
    if clarity is None or heard.recap:
        return clarity
    return max(clarity, (cosines.get(trigger, 0.0) - NEAR) / (1 - NEAR))


def _clarity_by_sense(text: str, sense: Sense) -> float | None:
    if sense.any_use.search(text) is None:
        return 0.0
    text, silenced = sense.other.subn(" ; ", text)
    best = 0.0
    for weight, found in _uses(text, sense):
        if _after(NEGATED, text, found):
            silenced = 1
        elif weight == CLEAR:
            return CLEAR
        else:
            best = weight
    return best or (None if silenced else 0.0)


def _uses(text: str, sense: Sense) -> Iterator[tuple[float, re.Match[str]]]:
    yield from ((CLEAR, found) for found in sense.clear.finditer(text))
    yield from ((CLEAR, each) for each in sense.asked.finditer(text) if _after(ASKED, text, each))
    if sense.symptom.search(text):
        weight = CLEAR if MACHINE.search(text) else BARE
        yield from ((weight, found) for found in sense.symptom.finditer(text))
    yield from ((BARE, found) for found in sense.bare.finditer(text))


def _after(before: re.Pattern[str], text: str, found: re.Match[str]) -> bool:
    """Whether `before` stands right before what was found."""
    return before.search(text, max(0, found.start() - _REACH), found.start()) is not None


def _plain(heard: _ListenedText, trigger: str) -> float | None:
    """1 if a custom trigger is in the text, None if it is only negated there."""
    roots = _trigger_roots(trigger)
    if not roots.isascii() or not roots.strip():
        # Scripts without spaces between words, and signs.
        return CLEAR if fold(trigger) in heard.low else 0.0
    at, silenced = heard.roots.find(roots), False
    while at >= 0:
        if not NEGATED.search(heard.roots, max(0, at - _REACH), at + 1):
            return CLEAR
        at, silenced = heard.roots.find(roots, at + 1), True
    return None if silenced else 0.0


@lru_cache(maxsize=1024)
def _trigger_roots(trigger: str) -> str:
    return _roots(fold(trigger).replace("\u2019", "'"))


def _roots(low: str) -> str:
    return f" {' '.join(_root(word) for word in _WORD.findall(low))} "


@lru_cache(maxsize=16384)
def _root(word: str) -> str:
    found = terms(word)
    return found[-1] if found else word


def _cosines(vector: Vector | None, vectors: PhraseVectors | None) -> dict[str, float]:
    if vector is None or vectors is None:
        return {}
    return dict(zip(vectors.phrases, (vectors.rows @ vector).tolist(), strict=True))


def _near(examples: Iterable[str], cosines: Mapping[str, float]) -> float:
    """The mean of the best cosines with these."""
    best = sorted((cosines[each] for each in examples if each in cosines), reverse=True)[:_BEST]
    return sum(best) / len(best) if best else 0.0
