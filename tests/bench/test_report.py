"""A report tells what was found, on what, by which code and settings, and no secret."""

import json
import subprocess
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from recollect.bench.cache import CachedEmbedder
from recollect.bench.data import Question
from recollect.bench.metrics import Found
from recollect.bench.report import commit, markdown, report, settings, write
from recollect.bench.run import Answer, SetResult
from recollect.config import Config, Embedding, names
from recollect.testing import HashEmbedder

AT = datetime(2026, 3, 1, 10, 30, tzinfo=UTC)


def a_result(name: str = "tiny", category: str = "fact <&>") -> SetResult:
    asked = Question("q1", "c1", "Who?", category, ("a", "b"), None)
    found = (Found(("a",), 10), Found(("x",), 10))
    answers = {"Recollect": [Answer(asked, found)], "BM25": [Answer(asked, found[1:])]}
    return SetResult(
        name, conversations=1, turns=2, characters=1000, ingest_seconds=0.5, not_scored=3,
        answers=answers, recall_seconds=[0.001, 0.002],
    )  # fmt: skip


def a_report(*results: SetResult, **changed: Any) -> dict[str, Any]:
    given: dict[str, Any] = {"config": Config(), "embedder": HashEmbedder(), "at": AT, **changed}
    return report(results or (a_result(),), **given)


def test_a_report_holds_the_means_and_the_speed() -> None:
    (told,) = a_report()["sets"]
    assert told["characters_per_second"] == 2000
    assert told["recall_ms"] == {"p50": 1.0, "p95": 2.0}
    whole = told["methods"]["Recollect"][0]
    assert (whole["category"], whole["questions"], whole["recall@10"]) == ("all", 1, 0.5)
    assert told["methods"]["BM25"][0]["recall@10"] == 0.0


def test_the_page_names_day_model_methods_and_settings() -> None:
    page = markdown(a_report(notes=["Only a trial."]))
    for part in ("2026-03-01T10:30:00+00:00", "hash-64", "Only a trial.", "`rrf.k`", "BM25: "):
        assert part in page
    assert "| Recollect | 0.500 | 0.500 |" in page
    assert "| fact <&> | 0.500     | 0.000 |" in page


def test_a_set_without_scores_says_so() -> None:
    empty = SetResult("empty", answers={"Recollect": [], "BM25": []})
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
    assert rows[0] == {"set": "tiny", "method": "Recollect", "qid": "q1", "ranked": ["a", "x"]}
    assert len(rows) == 4
    texts = [each.text for each in ElementTree.parse(drawing).iter() if each.tag.endswith("text")]
    assert {"R@10, tiny", "R@10, other", "all (1)", "fact <&> (1)", "adversarial (1)"} <= set(texts)


def test_a_drawing_has_a_bar_for_every_method_and_category(tmp_path: Path) -> None:
    *_, drawing, _ = write(tmp_path, a_report(), [a_result()])
    heights = [
        each.get("height") for each in ElementTree.parse(drawing).iter() if "rect" in each.tag
    ]
    # Two categories with two methods; the paper and the legend are rectangles too.
    assert heights.count("10") == 2 * 2 + 2


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
