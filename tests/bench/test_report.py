"""A report tells what was found, on what, by which code and settings, and no secret."""

import json
import subprocess
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from holdfast.bench.cache import CachedEmbedder
from holdfast.bench.data import Question
from holdfast.bench.methods import Variation
from holdfast.bench.metrics import BUDGETS_TOKENS
from holdfast.bench.page import markdown
from holdfast.bench.report import commit, report, settings, write
from holdfast.bench.run import Ablation, MethodAnswer, PackedContext, SetResult
from holdfast.config import Config, Embedding, names
from holdfast.testing import HashEmbedder

AT = datetime(2026, 3, 1, 10, 30, tzinfo=UTC)


def an_answer(asked: Question, *turns: str) -> MethodAnswer:
    inside = dict.fromkeys(BUDGETS_TOKENS, frozenset(turns))
    return MethodAnswer(asked, turns, inside, dict.fromkeys(BUDGETS_TOKENS, frozenset(turns[1:])))


def a_result(name: str = "tiny", category: str = "fact <&>") -> SetResult:
    first, second = (Question(id, "c1", "Who?", category, ("a", "b"), None) for id in ("q1", "q2"))
    answers = {
        "Holdfast": [an_answer(first, "a", "x"), an_answer(second, "x", "y")],
        "BM25": [an_answer(first, "x"), an_answer(second, "x")],
    }
    variation = Variation("literal", {"stages.literal": False})
    varied = {variation.name: [an_answer(first, "x", "a"), an_answer(second, "a", "b")]}
    return SetResult(
        name, conversations=1, turns=2, characters=1000, ingest_seconds=0.5, not_scored=3,
        answers=answers, recall_seconds=[0.001, 0.002],
        packed={1000: [PackedContext(900, 10, 4, 0.003), PackedContext(1000, 20, 5, 0.004)]},
        ablation=Ablation([variation], 3, [first, second], varied),
    )  # fmt: skip


def a_report(*results: SetResult, **changed: Any) -> dict[str, Any]:
    given: dict[str, Any] = {"config": Config(), "embedder": HashEmbedder(), "at": AT, **changed}
    return report(results or (a_result(),), **given)


def test_a_report_holds_the_means_and_the_speed() -> None:
    (told,) = a_report()["sets"]
    assert told["characters_per_second"] == 2000
    assert told["recall_ms"] == {"p50": 1.0, "p95": 2.0}
    assert told["recall_ms_by_category"]["all"] == {"p50": 1.0, "p95": 2.0}
    whole = told["methods"]["Holdfast"][0]
    assert (whole["category"], whole["questions"], whole["recall@10"]) == ("all", 2, 0.25)
    assert whole["tokens@1000"] == 0.25
    assert told["methods"]["BM25"][0]["recall@10"] == 0.0


def test_a_report_tells_what_a_context_holds() -> None:
    (told,) = a_report()["sets"]
    packed = {"tokens": 950.0, "hits": 15.0, "full": 4.5, "ms": {"p50": 3.0, "p95": 4.0}}
    assert told["contexts"] == {"1000": packed}
    (line,) = [each for each in markdown(a_report()).splitlines() if "budget_tokens=1000" in each]
    cells = [cell.strip() for cell in line.split("|")[2:-1]]
    assert cells == ["3.0", "4.0", "950.0", "15.0", "4.5", "0.250", "0.000"]
    assert "evidence told in full: 0.000, 0.000, 0.000. The other" in markdown(a_report())


def test_a_variation_is_told_beside_the_same_questions_without_it() -> None:
    (told,) = a_report()["sets"]
    assert (told["ablation"]["every"], told["ablation"]["questions"]) == (3, 2)
    assert told["ablation"]["usual"]["recall@10"] == 0.25
    (row,) = told["ablation"]["rows"]
    assert (row["name"], row["recall@10"]) == ("without literal", 0.75)
    assert (row["better"], row["worse"]) == (1, 1)
    page = markdown(a_report())
    assert "one question of 3 but the adversarial, 2 questions" in page
    assert "| without literal | stages.literal=false | 0.750 | +0.500 |" in page


def test_without_an_ablation_there_is_no_table_of_it(tmp_path: Path) -> None:
    result = a_result()
    result.ablation = None
    told = a_report(result)
    assert told["sets"][0]["ablation"] is None
    assert "### Ablation" not in markdown(told)
    assert len(write(tmp_path, told, [result])) == 4


@pytest.mark.parametrize(
    ("texts", "said"),
    [
        (None, "every text was embedded"),
        ((40, 0), "every text was embedded"),
        ((10, 30), "30 of 40 texts came from the cache, so this is not the speed of a fresh run"),
    ],
)
def test_the_speed_of_ingest_says_what_came_from_the_cache(
    texts: tuple[int, int] | None, said: str
) -> None:
    result = a_result()
    result.ingest_texts = texts
    assert f"2,000 characters/s; {said}." in markdown(a_report(result))


def test_the_head_says_what_was_measured_on_what_against_what() -> None:
    head = markdown(a_report(seconds=75.4)).partition("##")[0]
    assert "on tiny, against BM25, vector, plain RRF, 0.3/0.7, in one run" in head
    assert ", 75 s, " in head
    assert "CPUs" in head


def test_the_page_names_day_model_methods_and_settings() -> None:
    page = markdown(a_report(notes=["Only a trial."]))
    for part in ("2026-03-01T10:30:00+00:00", "hash-64", "Only a trial.", "`rrf.k`", "BM25: "):
        assert part in page
    assert "| Holdfast | 0.250 | 0.250 |" in page
    assert "| fact <&> | 0.250    | 0.000 |" in page


def test_a_set_without_scores_says_so() -> None:
    empty = SetResult("empty", answers={"Holdfast": [], "BM25": []})
    assert "nothing to score" in markdown(a_report(empty))


def test_turns_without_a_vector_are_told() -> None:
    result = a_result()
    result.dead = 2
    assert "2 turns could not be embedded" in markdown(a_report(result))
    assert "could not be embedded" not in markdown(a_report())


def test_a_cache_is_told_with_its_counts(tmp_path: Path) -> None:
    cached = CachedEmbedder(HashEmbedder(), tmp_path / "cache.db")
    cached.embed(["a", "b"])
    cached.embed(["b"])
    cached.close()
    told = a_report(embedder=cached)
    assert told["cache"] == {"kept": 1, "made": 2}
    assert "2 texts were embedded, 1 vectors came from the cache." in markdown(told)


def test_every_setting_is_told_but_the_secret() -> None:
    remote = Embedding("remote", "https://models.example", "m", "s3cret", 5.0)
    config = replace(Config(), embedding=remote)
    told = settings(config)
    assert set(names(config)) - set(told) == {"embedding.apiKey"}
    assert (told["embedding.timeoutSeconds"], told["rrf.weights.vector"]) == (5.0, 1.0)
    assert "s3cret" not in json.dumps(a_report(config=config))


def test_the_files_can_be_read_again(tmp_path: Path) -> None:
    results = [a_result(), a_result("other", "adversarial")]
    told = a_report(*results)
    page, value, drawing, rankings = write(tmp_path / "a" / "b", told, results)
    assert page.read_text() == markdown(told)
    assert json.loads(value.read_text()) == told
    rows = [json.loads(row) for row in rankings.read_text().splitlines()]
    first = {"set": "tiny", "method": "Holdfast", "qid": "q1", "ranked": ["a", "x"]}
    assert rows[0] == {**first, "context": {str(each): ["a", "x"] for each in BUDGETS_TOKENS}}
    assert len(rows) == 2 * (2 + 2 + 2)
    texts = [each.text for each in ElementTree.parse(drawing).iter() if each.tag.endswith("text")]
    assert {"R@10, tiny", "R@10, other", "all (2)", "fact <&> (2)", "adversarial (2)"} <= set(texts)
    assert {"without literal", "+0.500"} <= set(texts)


def test_a_drawing_has_a_bar_for_every_method_and_category(tmp_path: Path) -> None:
    *_, drawing, _ = write(tmp_path, a_report(), [a_result()])
    heights = [
        each.get("height") for each in ElementTree.parse(drawing).iter() if "rect" in each.tag
    ]
    # Two categories with two methods, and a variation; the legend has rectangles too.
    assert heights.count("10") == 2 * 2 + 1 + 2


def test_code_outside_git_has_no_commit(tmp_path: Path) -> None:
    (tmp_path / "__init__.py").touch()
    assert commit(tmp_path) is None


def test_without_git_there_is_no_commit(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert commit(tmp_path) is None


def test_the_commit_is_told_and_whether_the_code_differs(tmp_path: Path) -> None:
    def git(*args: str) -> None:
        who = ["-c", "user.name=Ann", "-c", "user.email=ann@example.org"]
        command = ["git", "-C", str(tmp_path), *who, *args]
        subprocess.run(command, check=True, capture_output=True)

    (tmp_path / "__init__.py").write_text("a = 1\n")
    git("init")
    assert commit(tmp_path) is None  # Not of this repository: only in its folder.
    git("add", ".")
    assert commit(tmp_path) is None  # There is none yet.
    git("commit", "-m", "One")
    told = commit(tmp_path)
    assert told is not None
    assert len(told) == 12
    (tmp_path / "__init__.py").write_text("a = 2\n")
    assert commit(tmp_path) == f"{told} with changes"


def test_how_often_the_newest_evidence_comes_first_is_told() -> None:
    result = a_result()
    asked = [
        Question(f"q{number}", "c1", "Who?", "update", ("a", "b"), None, newest="b")
        for number in range(3)
    ]
    result.answers = {
        "Holdfast": [
            an_answer(asked[0], "b", "a"), an_answer(asked[1], "a", "b"), an_answer(asked[2], "x"),
        ],
        "BM25": [an_answer(each, "a", "b") for each in asked],
    }  # fmt: skip
    result.recall_seconds, result.ablation = [0.001] * 3, None
    (told,) = a_report(result)["sets"]
    row = {"category": "update", "questions": 2, "missed": 1, "share": 0.5}
    assert told["latest"]["Holdfast"] == [row]
    assert told["latest"]["BM25"] == [{**row, "questions": 3, "missed": 0, "share": 0.0}]
    page = markdown(a_report(result))
    assert "### The newest evidence first" in page
    assert "| update   | 2         | 1          | 0.500    | 0.000 |" in page


def test_where_no_question_has_several_turns_there_is_no_table_of_the_newest() -> None:
    (told,) = a_report()["sets"]
    assert told["latest"] == {"Holdfast": [], "BM25": []}
    assert "The newest evidence first" not in markdown(a_report())
