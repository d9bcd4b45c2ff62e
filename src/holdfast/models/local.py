"""The embedders that ship with Holdfast, in int8, on the processor, offline: our own, trained on
conversations from all-MiniLM-L6-v2 (`training/`), and that model itself.

Nothing is loaded before the first text. Texts run in batches of exactly equal token length: no
padding is computed, and a text gets the same vector, bit for bit, alone or in any batch (with
padding, the rounding of int8 turned differences of 1e-7 into 1e-2).
"""

from __future__ import annotations

import os
import re
import threading
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from holdfast.errors import ModelError
from holdfast.models.base import check_vectors

# BERT's uncased WordPiece tokeniser: text to token ids.
#
# Clean, lower-case, strip accents, cut at spaces, punctuation and CJK characters, then take the
# longest known piece from the left of each word. `tests/models/test_wordpiece.py` holds it equal
# to the `tokenizers` library, which at run time would pull in ten packages; only some 550
# characters younger than Unicode 8 differ, none of which the vocabulary knows. Names of special
# tokens in a text ("[SEP]") are ordinary text here: a message must not steer the model.

MAX_WORD_CHARS = 100
CACHED_WORDS = 50_000  # about 8 MB
CACHED_CHARACTERS = 20_000

_ASCII_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")
_ASCII_WORD = re.compile(r"[a-z0-9]+|[^a-z0-9\s]")
_ASCII_PUNCTUATION = frozenset("!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~")
_CJK = (
    (0x3400, 0x4DBF),
    (0x4E00, 0x9FFF),
    (0xF900, 0xFAFF),
    (0x20000, 0x2A6DF),
    (0x2A700, 0x2B73F),
    (0x2B740, 0x2B81F),
    (0x2B920, 0x2CEAF),  # BERT's own table starts at 2B820; the library we equal does not
    (0x2F800, 0x2FA1F),
)


class WordPiece:
    """Token ids of a text, with [CLS] before and [SEP] behind."""

    def __init__(self, vocabulary: list[str]) -> None:
        self._ids = {token: number for number, token in enumerate(vocabulary)}
        self._first, self._last = self._ids["[CLS]"], self._ids["[SEP]"]
        self._unknown = (self._ids["[UNK]"],)
        self._longest = max(map(len, vocabulary))
        self._words: dict[str, tuple[int, ...]] = {}

    @classmethod
    def from_file(cls, path: Path) -> WordPiece:
        """Read a `vocab.txt`: one token a line, its id is the number of the line."""
        return cls(path.read_text(encoding="utf-8").rstrip("\n").split("\n"))

    def encode(self, text: str, *, max_tokens: int | None = None) -> list[int]:
        """The ids, cut so that there are at most `max_tokens` with the two marks."""
        room = None if max_tokens is None else max_tokens - 2
        ids = [self._first]
        for word in split_words(text):
            ids += self._pieces(word)
            if room is not None and len(ids) > room:
                del ids[room + 1 :]
                break
        ids.append(self._last)
        return ids

    def _pieces(self, word: str) -> tuple[int, ...]:
        known = self._words.get(word)
        if known is not None:
            return known
        pieces = self._cut(word) if len(word) <= MAX_WORD_CHARS else self._unknown
        if len(self._words) >= CACHED_WORDS:
            self._words.clear()
        self._words[word] = pieces
        return pieces

    def _cut(self, word: str) -> tuple[int, ...]:
        """Longest match from the left; a word with a part that is not known is unknown whole."""
        pieces: list[int] = []
        start, prefix = 0, ""
        while start < len(word):
            end = min(len(word), start + self._longest)
            while (number := self._ids.get(prefix + word[start:end])) is None:
                end -= 1
                if end == start:
                    return self._unknown
            pieces.append(number)
            start, prefix = end, "##"
        return tuple(pieces)


def split_words(text: str) -> list[str]:
    """Words and single punctuation marks, lower-case and without accents."""
    if text.isascii():
        return _ASCII_WORD.findall(_ASCII_CONTROL.sub("", text).lower())
    text = unicodedata.normalize("NFD", text.translate(_CLEANED))
    # Python alone turns a capital sigma at the end of a word into another letter.
    text = text.replace("Σ", "σ").translate(_BARE).lower()
    return text.translate(_SPLIT).split()


class _Table(dict[int, str]):
    """Character to what it becomes, worked out when first met."""

    def __init__(self, becomes: Callable[[str], str]) -> None:
        super().__init__()
        self._becomes = becomes

    def __missing__(self, point: int) -> str:
        result = self._becomes(chr(point))
        if len(self) < CACHED_CHARACTERS:
            self[point] = result
        return result


def _clean(character: str) -> str:
    """Without control characters, every space the same, CJK characters as words of their own."""
    if character in "\t\n\r":
        return " "
    if character == "\ufffd" or unicodedata.category(character) in {"Cc", "Cf", "Co", "Cs"}:
        return ""
    if character.isspace():
        return " "
    point = ord(character)
    return f" {character} " if any(low <= point <= high for low, high in _CJK) else character


def _without_accent(character: str) -> str:
    """Without the accents that NFD has set apart."""
    return "" if unicodedata.category(character) == "Mn" else character


def _apart(character: str) -> str:
    """With spaces around punctuation."""
    if character in _ASCII_PUNCTUATION or unicodedata.category(character)[0] == "P":
        return f" {character} "
    return character


_CLEANED, _BARE, _SPLIT = _Table(_clean), _Table(_without_accent), _Table(_apart)


#: The shipped models by their ids. Other weights are another model: its id has to change with them.
OWN, BASE = "holdfast-memory-3", "all-MiniLM-L6-v2-int8"
FOLDERS = {OWN: Path(__file__).with_name("memory"), BASE: Path(__file__).with_name("minilm")}
#: Both read the same words.
WORDS = FOLDERS[BASE] / "vocab.txt"
MAX_TOKENS = 256  # as the model was trained; what is longer is cut
BATCH_TEXTS = 8  # more is no faster on a processor and takes more memory
_REMEMBERED = 64  # texts that were last run alone
#: Outputs that the same layers make, and the one of layers that are run in their place.
TOGETHER, RELATIONS = ("embedding", "columns"), "relations"
_MAX_THREADS = 4  # two gave 1.8 times the texts of one; more than two were not measured


@dataclass(frozen=True, slots=True)
class ModelParts:
    """A tokeniser and a model, loaded."""

    words: WordPiece
    session: Any  # onnxruntime.InferenceSession, which comes without types
    faults: tuple[type[Exception], ...]  # what it raises
    outputs: tuple[str, ...]  # what it can say of a text


def threads_here() -> int:
    """How many cores a model of this process may use: those of the machine, shared with the
    processes beside this one (`serve --processes`), which HOLDFAST_PROCESSES counts."""
    told = os.environ.get("HOLDFAST_PROCESSES", "")
    together = int(told) if told.isdecimal() else 1
    return max(1, min(_MAX_THREADS, len(os.sched_getaffinity(0)) // max(1, together)))


class LocalEmbedder:
    """Embeds on this machine; `threads` is how many cores one call may use."""

    dim = 384

    def __init__(
        self, model_id: str = OWN, *, folder: Path | None = None, threads: int | None = None
    ) -> None:
        self.model_id = model_id
        self._folder = folder or FOLDERS[model_id]
        self._threads = threads or threads_here()
        self._lock = threading.Lock()
        self._parts: ModelParts | None = None

    def embed(self, texts: list[str]) -> NDArray[np.float32]:
        """Unit vectors of shape (len(texts), 384), in the order of the texts."""
        vectors = np.empty((len(texts), self.dim), dtype=np.float32)
        if not texts:
            return vectors
        parts = self._load()
        tokens = [parts.words.encode(text, max_tokens=MAX_TOKENS) for text in texts]
        for rows in equal_lengths(tokens):
            vectors[rows] = run(parts, [tokens[row] for row in rows])
        return check_vectors(vectors, count=len(texts), dim=self.dim)

    def count_tokens(self, text: str) -> int:
        """How many of this model's tokens the whole text is, with the two marks around it."""
        return len(self._load().words.encode(text))

    def _load(self) -> ModelParts:
        with self._lock:
            if self._parts is None:
                self._parts = load(self._folder, self._threads)
            return self._parts


def equal_lengths(tokens: list[list[int]]) -> Iterator[list[int]]:
    """Row numbers in batches of equal token length."""
    order = sorted(range(len(tokens)), key=lambda row: len(tokens[row]))
    for _, group in groupby(order, key=lambda row: len(tokens[row])):
        rows = list(group)
        for start in range(0, len(rows), BATCH_TEXTS):
            yield rows[start : start + BATCH_TEXTS]


def run(
    parts: ModelParts, tokens: list[list[int]], output: str = "embedding"
) -> NDArray[np.float32]:
    """One output of the model for a batch of texts of equal lengths."""
    if len(tokens) == 1 and output != RELATIONS:
        return _run_one(parts, tuple(tokens[0]))[output]
    return _run(parts, np.array(tokens, dtype=np.int64), [output])[output]


@lru_cache(maxsize=_REMEMBERED)
def _run_one(parts: ModelParts, tokens: tuple[int, ...]) -> dict[str, NDArray[np.float32]]:
    """What is made together of one text: a question is read and embedded in one pass."""
    outputs = [each for each in parts.outputs if each in TOGETHER]
    return _run(parts, np.array([tokens], dtype=np.int64), outputs)


def _run(
    parts: ModelParts, ids: NDArray[np.int64], outputs: Sequence[str]
) -> dict[str, NDArray[np.float32]]:
    inputs: dict[str, NDArray[Any]] = {"input_ids": ids, "attention_mask": np.ones_like(ids)}
    if RELATIONS in parts.outputs:
        inputs["compare"] = np.array(RELATIONS in outputs)
    try:
        found = parts.session.run(outputs, inputs)
    except parts.faults as error:
        raise ModelError(f"the local model failed on {ids.shape} tokens: {error}") from error
    return dict(zip(outputs, found, strict=True))


_LOADING = threading.Lock()


def load(folder: Path, threads: int) -> ModelParts:
    """The tokeniser and the session of a folder; who embeds and who reads with it share them."""
    with _LOADING:
        return _loaded(folder, threads)


@lru_cache(maxsize=4)
def _loaded(folder: Path, threads: int) -> ModelParts:
    """Onnxruntime takes 0.2 s to import, so only now. A folder without words has those of ours."""
    import onnxruntime  # noqa: PLC0415
    from onnxruntime.capi import onnxruntime_pybind11_state as state  # noqa: PLC0415

    # They share no base but Exception.
    faults = (
        state.Fail,
        state.InvalidArgument,
        state.InvalidGraph,
        state.InvalidProtobuf,
        state.NotImplemented,
        state.RuntimeException,
    )
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    # Waiting threads sleep: spinning ones would burn a core between two calls.
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    try:
        own_words = folder / "vocab.txt"
        words = WordPiece.from_file(own_words if own_words.exists() else WORDS)
        model = (folder / "model.onnx").read_bytes()
        session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    except (OSError, ValueError, KeyError, *faults) as error:
        raise ModelError(
            f"the local model in {folder} cannot be loaded, reinstall holdfast: {error}"
        ) from error
    return ModelParts(words, session, faults, tuple(out.name for out in session.get_outputs()))
