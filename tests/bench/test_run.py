"""From a folder of labelled conversations to judged rankings, with a store and an embedder."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from holdfast.bench.cache import CachedEmbedder
from holdfast.bench.data import LabelledSet, read_set
from holdfast.bench.methods import VARIATIONS
from holdfast.bench.metrics import OVERALL
from holdfast.bench.run import run_set
from holdfast.config import load
from holdfast.errors import ModelError
from holdfast.testing import HashEmbedder

HARBOUR = [
    ("t1", "s1", "Ann", "I keep bees on the roof of the bakery."),
    ("t2", "s1", "Ben", "How lovely! I paint boats in the harbour."),
    ("t3", "s2", "Ann", "My sister Zofia teaches chess in Gdansk."),
    ("t4", "s2", "Ben", "Then you must play very well yourself."),
]
CODE = [
    ("m0", "b1", "user", "Which port does our staging database listen on?"),
    ("m1", "b1", "assistant", "Staging listens on port 6543, production on 5432."),
]
QUESTIONS = [
    ("q1", "harbour", "Where does Ann keep her bees?", "fact", ["t1"]),
    ("q2", "harbour", "Where does Zofia teach chess?", "fact", ["t3"]),
    ("q3", "harbour", "Does Ben keep bees?", "adversarial", ["t1"]),
    ("q4", "harbour", "What is Ann's shoe size?", "abstention", []),
    ("q5", "code", "What port is staging on?", "literal", ["m1", "gone"]),
]


def a_set(folder: Path) -> LabelledSet:
    folder.mkdir(exist_ok=True)
    lists = {"harbour": HARBOUR, "code": CODE, "never asked about": HARBOUR}
    conversations = [{"conv_id": id, "turns": _turns(told)} for id, told in lists.items()]
    questions: list[dict[str, Any]] = [
        {"qid": a, "conv_id": b, "question": c, "category": d, "evidence": e, "time": "2024-06-01"}
        for a, b, c, d, e in QUESTIONS
    ]
    for name, rows in (("conversations", conversations), ("questions", questions)):
        (folder / f"{name}.jsonl").write_text("\n".join(map(json.dumps, rows)))
    return read_set(folder)


def _turns(told: list[tuple[str, str, str, str]]) -> list[dict[str, str]]:
    names = ("id", "session", "speaker", "text")
    return [dict(zip(names, each, strict=True), time="2024-05-05") for each in told]


def test_every_question_with_evidence_is_asked_and_judged(tmp_path: Path) -> None:
    result = run_set(a_set(tmp_path / "tiny"), embedder=HashEmbedder(), config=load())
    assert (result.name, result.conversations, result.turns) == ("tiny", 2, 6)
    assert (result.not_scored, result.dead) == (1, 0)
    assert list(result.answers) == ["Holdfast", "BM25", "vector", "plain RRF", "0.3/0.7"]
    for answers in result.answers.values():
        assert [each.question.id for each in answers] == ["q1", "q2", "q3", "q5"]
    found = {each.question.id: each.turns for each in result.answers["Holdfast"]}
    assert (found["q1"][0], found["q2"][0]) == ("t1", "t3")
    assert set(found["q5"]) == {"m0", "m1"}  # Nothing of the other conversation.


def test_the_rows_say_how_much_was_found(tmp_path: Path) -> None:
    result = run_set(a_set(tmp_path), embedder=HashEmbedder(), config=load())
    rows = {row.category: row for row in result.rows("BM25")}
    assert list(rows) == [OVERALL, "fact", "literal", "adversarial"]
    assert rows["fact"].means["mrr"] == 1.0
    assert rows["literal"].means["recall@10"] == 0.5  # Its other evidence does not exist.
    assert rows[OVERALL].means["recall@10"] == pytest.approx((1 + 1 + 0.5) / 3)
    assert rows[OVERALL].questions == 3


def test_a_conversation_is_embedded_once_whoever_asks(tmp_path: Path) -> None:
    asked: list[str] = []

    class Noting(HashEmbedder):
        def embed(self, texts: list[str]) -> NDArray[np.float32]:
            asked.extend(texts)
            return super().embed(texts)

    run_set(a_set(tmp_path), embedder=Noting(), config=load())
    for told in ("I keep bees on the roof", "Where does Ann keep her bees?"):
        assert len([text for text in asked if told in text]) == 1


def test_every_variation_is_asked_the_same_questions_but_the_adversarial(tmp_path: Path) -> None:
    result = run_set(a_set(tmp_path), embedder=HashEmbedder(), config=load())
    assert result.ablation is not None
    assert result.ablation.every == 1
    assert list(result.ablation.answers) == [each.name for each in VARIATIONS]
    for answers in result.ablation.answers.values():
        assert [each.question.id for each in answers] == ["q1", "q2", "q5"]
        assert all(each.turns for each in answers)


def test_an_ablation_asks_no_more_than_it_is_told_evenly_spread(tmp_path: Path) -> None:
    labelled = a_set(tmp_path)
    result = run_set(labelled, embedder=HashEmbedder(), config=load(), ablated=2)
    assert result.ablation is not None
    assert result.ablation.every == 2
    assert [each.id for each in result.ablation.questions] == ["q1", "q5"]
    without = run_set(labelled, embedder=HashEmbedder(), config=load(), ablated=0)
    assert without.ablation is None


def test_speed_is_measured_and_progress_told(tmp_path: Path) -> None:
    steps: list[tuple[int, int]] = []
    result = run_set(
        a_set(tmp_path),
        embedder=HashEmbedder(),
        config=load(),
        progress=lambda done, total: steps.append((done, total)),
    )
    assert result.characters == sum(len(text) for *_, text in HARBOUR + CODE)
    assert result.characters_per_second > 0
    assert len(result.recall_seconds) == 4
    assert {budget: len(packed) for budget, packed in result.packed.items()} == {
        1000: 4,
        2000: 4,
        4000: 4,
    }
    assert result.ingest_texts is None
    assert steps == sorted(steps)
    # Six turns, four questions, and three of them once more for the ablation.
    assert steps[-1] == (13, 13)


def test_the_second_run_embeds_nothing_and_finds_the_same(tmp_path: Path) -> None:
    found, counted = [], []
    for _ in range(2):
        cached = CachedEmbedder(HashEmbedder(), tmp_path / "cache.db")
        result = run_set(a_set(tmp_path), embedder=cached, config=load())
        found.append([each.turns for each in result.answers["vector"]])
        counted.append(result.ingest_texts)
        made, kept = cached.made, cached.kept
        cached.close()
    assert (made, kept > 0) == (0, True)
    assert found[0] == found[1]
    # Six turns, and two facts in them.
    assert counted == [(8, 0), (0, 8)]


def test_turns_that_cannot_be_embedded_are_counted_and_keywords_still_answer(
    tmp_path: Path,
) -> None:
    class Choking(HashEmbedder):
        def embed(self, texts: list[str]) -> NDArray[np.float32]:
            if any("boats" in text for text in texts):
                raise ModelError("no boats, please")
            return super().embed(texts)

    result = run_set(a_set(tmp_path), embedder=Choking(), config=load())
    assert result.dead == 2, "the turn, and the fact in it"
    assert result.rows("BM25")[1].means["mrr"] == 1.0


def test_a_set_without_evidence_asks_nothing(tmp_path: Path) -> None:
    labelled = a_set(tmp_path)
    empty = LabelledSet("empty", labelled.conversations, labelled.questions[3:4])
    result = run_set(empty, embedder=HashEmbedder(), config=load())
    assert (result.conversations, result.not_scored) == (0, 1)
    assert result.rows("Holdfast") == []
    assert result.characters_per_second == 0
