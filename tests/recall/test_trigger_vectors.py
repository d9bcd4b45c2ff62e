"""The shipped embeddings of the task profiles' phrases are those of the shipped model."""

import threading

import numpy as np

from holdfast.models.local import OWN, LocalEmbedder
from holdfast.recall.profile import TriggerVectors, embed_phrases, phrases, shipped_vectors
from holdfast.settings import BUILT_IN, TaskProfile
from holdfast.testing import HashEmbedder


def test_they_are_what_the_model_makes_today() -> None:
    texts = phrases(BUILT_IN)
    kept = shipped_vectors(OWN, texts)
    assert kept is not None, "run scripts/make_trigger_vectors.py"
    fresh = embed_phrases(LocalEmbedder(), texts[:8])
    # The rows were made on one kind of processor; others round in other places.
    assert (np.einsum("ij,ij->i", kept.rows[:8], fresh.rows) > 0.995).all()


def test_another_model_or_other_profiles_are_embedded_once() -> None:
    class Counting(HashEmbedder):
        calls = 0

        def embed(self, texts: list[str]) -> np.ndarray:
            Counting.calls += 1
            return super().embed(texts)

    vectors, embedder = TriggerVectors(), Counting()
    profiles = (*BUILT_IN, TaskProfile("cooking", triggers=("recipe",)))
    first = vectors.get(embedder, profiles)
    assert first is not None
    assert "recipe" in first.phrases
    assert vectors.get(embedder, profiles) is first
    assert Counting.calls == 1
    assert shipped_vectors(OWN, phrases(profiles)) is None


def test_a_model_that_is_away_is_not_asked_again_at_once() -> None:
    class Away(HashEmbedder):
        calls = 0

        def embed(self, texts: list[str]) -> np.ndarray:
            Away.calls += 1
            raise ConnectionError("away")

    vectors = TriggerVectors()
    assert vectors.get(Away(), BUILT_IN) is None
    assert vectors.get(Away(), BUILT_IN) is None
    assert Away.calls == 1


def test_who_finds_a_model_that_hangs_being_asked_goes_by_words_after_a_while() -> None:
    class Hanging(HashEmbedder):
        asked, go_on = threading.Event(), threading.Event()

        def embed(self, texts: list[str]) -> np.ndarray:
            Hanging.asked.set()
            assert Hanging.go_on.wait(60)
            return super().embed(texts)

    vectors = TriggerVectors()
    first = threading.Thread(target=vectors.get, args=(Hanging(), BUILT_IN))
    first.start()
    assert Hanging.asked.wait(60)
    try:
        assert vectors.get(Hanging(), BUILT_IN) is None
    finally:
        Hanging.go_on.set()
        first.join()
    assert vectors.get(Hanging(), BUILT_IN) is not None
