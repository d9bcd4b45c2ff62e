"""The shipped embedder: the real model, on real texts."""

import hashlib
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import onnx
import pytest

from holdfast.errors import ModelError
from holdfast.models.local import BASE, FOLDERS, OWN, WORDS, LocalEmbedder, equal_lengths, load

EMBEDDER = LocalEmbedder()
TEXTS = [
    "Caroline moved to Berlin in May 2019 and found work at a bakery near the river.",
    "",
    "ok",
    "She likes tea.",
    "今日は良い天気ですね。",
    "The invoice INV-2026-0417 was paid late, so the supplier stopped delivering for two weeks.",
    "He likes tea.",
    "👩‍👩‍👧 \x00\ud800",
    "How do I reset my password?",
]


def test_rows_follow_the_order_of_the_texts() -> None:
    together = EMBEDDER.embed(TEXTS * 3)
    alone = np.tile(np.concatenate([EMBEDDER.embed([text]) for text in TEXTS]), (3, 1))
    # Bit for bit on most processors; those with AMX multiply one row in another way than many.
    np.testing.assert_allclose(together, alone, atol=1e-2)
    assert (np.einsum("ij,ij->i", together, alone) > 0.999).all()


def test_neither_neighbours_nor_threads_change_a_row() -> None:
    one_thread = LocalEmbedder(threads=1).embed(TEXTS)
    np.testing.assert_array_equal(LocalEmbedder(threads=2).embed(TEXTS[::-1])[::-1], one_thread)


def test_rows_are_finite_unit_float32() -> None:
    vectors = EMBEDDER.embed(TEXTS)
    assert vectors.shape == (len(TEXTS), EMBEDDER.dim)
    assert vectors.dtype == np.float32
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)


def test_an_empty_list_gives_no_rows() -> None:
    assert EMBEDDER.embed([]).shape == (0, 384)


@pytest.mark.parametrize(
    ("text", "near", "far"),
    [
        ("How do I reset my password?", "I forgot my login credentials", "Bananas hold potassium"),
        ("She moved to Berlin in 2019", "When did she relocate to Germany?", "The cat is asleep"),
        ("My daughter plays the violin", "What instrument does my child play?", "Rent is due"),
    ],
)
def test_similar_beats_dissimilar(text: str, near: str, far: str) -> None:
    one, two, three = EMBEDDER.embed([text, near, far])
    assert one @ two > 0.4
    assert one @ three < 0.2


@pytest.mark.parametrize(
    ("other", "cosine"),
    [("very happy person", 0.943), ("happy dog", 0.695)],
)
def test_cosines_are_near_those_of_the_published_float32_model(other: str, cosine: float) -> None:
    base = LocalEmbedder(BASE)
    one, two = base.embed(["That is a happy person", f"That is a {other}"])
    assert one @ two == pytest.approx(cosine, abs=0.02)


def test_a_very_long_text_is_cut() -> None:
    start = "the river rose and the village moved uphill " * 40
    long, longer = EMBEDDER.embed([start, start + "quarterly revenue " * 100_000])
    np.testing.assert_array_equal(long, longer)


def test_tokens_are_counted_with_their_marks_and_not_cut() -> None:
    assert EMBEDDER.count_tokens("") == 2
    assert EMBEDDER.count_tokens("hello world") == 4
    assert EMBEDDER.count_tokens("hello " * 1000) == 1002


def test_many_threads_may_call_a_fresh_embedder() -> None:
    expected = EMBEDDER.embed(TEXTS)
    fresh = LocalEmbedder()
    with ThreadPoolExecutor(8) as pool:
        for vectors in pool.map(lambda _: fresh.embed(TEXTS), range(16)):
            np.testing.assert_array_equal(vectors, expected)


def test_batches_hold_one_length_and_every_row_once() -> None:
    tokens = [[0] * (number % 7 + 2) for number in range(100)]
    batches = list(equal_lengths(tokens))
    assert sorted(row for rows in batches for row in rows) == list(range(100))
    assert all(len({len(tokens[row]) for row in rows}) == 1 for rows in batches)


@pytest.mark.parametrize("model", [None, b"", b"no model at all"])
def test_a_damaged_installation_says_so(tmp_path: Path, model: bytes | None) -> None:
    (tmp_path / "vocab.txt").write_bytes(WORDS.read_bytes())
    if model is not None:
        (tmp_path / "model.onnx").write_bytes(model)
    with pytest.raises(ModelError, match="reinstall holdfast"):
        LocalEmbedder(folder=tmp_path).embed(["hello"])


def test_a_damaged_vocabulary_says_so(tmp_path: Path) -> None:
    (tmp_path / "vocab.txt").write_text("nothing\n")
    with pytest.raises(ModelError, match="reinstall holdfast"):
        LocalEmbedder(folder=tmp_path).embed(["hello"])


@pytest.mark.parametrize("model", FOLDERS)
def test_the_shipped_files_are_those_of_the_readme(model: str) -> None:
    folder = FOLDERS[model]
    readme = (folder / "README.md").read_text()
    for path in (*folder.glob("*.onnx"), *folder.glob("*.txt")):
        assert hashlib.sha256(path.read_bytes()).hexdigest() in readme


def test_other_weights_of_our_own_have_another_id() -> None:
    """Vectors of two models do not compare: a store must see that it has to make them anew. What
    compares two lines may change."""
    digest = hashlib.sha256()
    stored = onnx.load(FOLDERS[OWN] / "model.onnx").graph.initializer
    for each in sorted(stored, key=lambda one: one.name):
        if each.name.startswith(("words", "positions", "embeddings", "encoder")):
            digest.update(each.SerializeToString())
    assert (OWN, digest.hexdigest()) == (
        "holdfast-memory-3",
        "4dc23e33b9f649b9f45360960997a3d4c45e7bb7c7e35335be0ae06af50ddc31",
    )


def test_reading_or_comparing_is_computed_not_both() -> None:
    """The runtime would compute every output, asked for or not: half of a pass for nothing."""
    parts = load(FOLDERS[OWN], 1)
    ids = np.array([[101, 2023, 102]], dtype=np.int64)
    inputs = {"input_ids": ids, "attention_mask": np.ones_like(ids)}
    for compare, made in ((True, [0, 0, 3]), (False, [1, 1, 0])):
        found = parts.session.run(None, {**inputs, "compare": np.array(compare)})
        counts = [len(found[0]), len(found[1]), found[2].shape[1]]
        assert counts == made


def test_onnxruntime_is_loaded_only_when_something_is_embedded() -> None:
    script = (
        "import sys; from holdfast.models.local import LocalEmbedder; LocalEmbedder().embed([]);"
        "sys.exit('onnxruntime' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 0
