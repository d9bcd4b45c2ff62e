"""What a run found, as a value for JSON and as files in a folder; page.py writes it in words."""

from __future__ import annotations

import os
import platform
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from datetime import datetime
from pathlib import Path
from typing import Any

import orjson

import holdfast
from holdfast.bench.cache import CachedEmbedder
from holdfast.bench.data import Question
from holdfast.bench.methods import HOLDFAST, methods_for
from holdfast.bench.metrics import (
    ADVERSARIAL,
    OVERALL,
    CategoryMeans,
    Latest,
    Scores,
    mean,
    percentile,
)
from holdfast.bench.page import markdown, plot
from holdfast.bench.run import Ablation, MethodAnswer, PackedContext, SetResult
from holdfast.border import private
from holdfast.config import Config, names
from holdfast.models.base import Embedder

Value = dict[str, Any]

#: Settings that a report must not tell.
_SECRETS = frozenset({"embedding.apiKey"})
#: What an ablation is judged by.
_JUDGED = ("recall@10", "ndcg@10")
_DIGITS = 4


def report(
    results: Sequence[SetResult],
    *,
    config: Config,
    embedder: Embedder,
    at: datetime,
    seconds: float = 0.0,
    notes: Sequence[str] = (),
) -> Value:
    """Everything worth keeping of a run but the rankings; `at` is when it began."""
    return {
        "version": holdfast.__version__,
        "commit": commit(Path(holdfast.__file__).parent),
        "at": at.isoformat(timespec="seconds"),
        "seconds": round(seconds, 1),
        "machine": machine(),
        "model": embedder.model_id,
        "cache": _cache(embedder),
        "notes": list(notes),
        "methods": {method.name: method.about for method in methods_for(config)},
        "sets": [_set(result) for result in results],
        "config": settings(config),
    }


def write(folder: Path, told: Value, results: Sequence[SetResult]) -> list[Path]:
    """The page, the value, the plot, and the turns found for each question, as files."""
    private.folder(folder)
    options = orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE
    files = {
        "retrieval.md": markdown(told).encode(),
        "retrieval.json": orjson.dumps(told, option=options),
        "retrieval.svg": plot(told["sets"]).encode(),
        "rankings.jsonl": b"".join(_rankings(results)),
    }
    for name, content in files.items():
        private.write(folder / name, content)
    return [folder / name for name in files]


def settings(config: Config) -> Value:
    """Every setting by its full name; secrets are left out."""
    plain = orjson.loads(orjson.dumps(config))  # Values as a file gives them back: no tuples.
    told = dict(zip(names(config), _flat(plain), strict=True))
    return {name: value for name, value in told.items() if name not in _SECRETS}


def machine() -> str:
    """What the times were taken on, and how busy it was."""
    load = os.getloadavg()[0] if hasattr(os, "getloadavg") else 0.0
    return (
        f"{platform.system()} {platform.machine()}, {os.cpu_count()} CPUs (load {load:.1f}"
        f" at the end), Python {platform.python_version()}"
    )


def commit(folder: Path) -> str | None:
    """The commit of the code in `folder`; None when it is not under git, or git is not there."""

    def git(*args: str) -> str | None:
        # Reading must not take git's locks: somebody may be working here.
        command = ["git", "--no-optional-locks", "-C", str(folder), *args]
        try:
            ended = subprocess.run(command, capture_output=True, text=True, check=False)
        except FileNotFoundError:
            return None
        return ended.stdout.strip() if ended.returncode == 0 else None

    # Installed below somebody else's repository, the code is not of that commit.
    if git("ls-files", "--error-unmatch", "__init__.py") is None:
        return None
    head = git("rev-parse", "--short=12", "HEAD")
    return f"{head} with changes" if head and git("status", "--porcelain", "--", ".") else head


def _cache(embedder: Embedder) -> Value | None:
    if not isinstance(embedder, CachedEmbedder):
        return None
    return {"kept": embedder.kept, "made": embedder.made}


def _set(result: SetResult) -> Value:
    made, kept = result.ingest_texts or (None, 0)
    return {
        "name": result.name,
        "conversations": result.conversations,
        "turns": result.turns,
        "characters": result.characters,
        "ingest_seconds": round(result.ingest_seconds, 3),
        "characters_per_second": round(result.characters_per_second),
        # None: there was no cache, and all were embedded.
        "ingest_made": made,
        "ingest_kept": kept,
        "dead": result.dead,
        "not_scored": result.not_scored,
        "recall_ms": _times(result.recall_seconds),
        "contexts": {str(budget): _contexts(each) for budget, each in result.packed.items()},
        "methods": {name: [_row(row) for row in result.rows(name)] for name in result.answers},
        "latest": {name: [_latest(row) for row in result.latest(name)] for name in result.answers},
        "recall_ms_by_category": _times_by_category(result),
        "ablation": _ablation(result, result.ablation) if result.ablation else None,
    }


def _row(row: CategoryMeans) -> Value:
    return {"category": row.category, "questions": row.questions, **_round(row.means)}


def _latest(row: Latest) -> Value:
    return {**asdict(row), "share": round(row.share, _DIGITS)}


def _round(scores: Scores) -> Scores:
    return {name: round(value, _DIGITS) for name, value in scores.items()}


def _times(seconds: Sequence[float]) -> Value:
    return {f"p{each}": round(1e3 * percentile(seconds, each), 2) for each in (50, 95)}


def _times_by_category(result: SetResult) -> Value:
    groups: dict[str, list[float]] = {}
    for answer, seconds in zip(
        result.answers.get(HOLDFAST.name, ()), result.recall_seconds, strict=True
    ):
        category = answer.question.category
        for group in (category, *((OVERALL,) if category != ADVERSARIAL else ())):
            groups.setdefault(group, []).append(seconds)
    return {category: _times(group) for category, group in groups.items()}


def _contexts(packed: Sequence[PackedContext]) -> Value:
    return {
        "tokens": round(mean([each.tokens for each in packed]), 1),
        "hits": round(mean([each.hits for each in packed]), 1),
        "full": round(mean([each.full for each in packed]), 1),
        "ms": _times([each.seconds for each in packed]),
    }


def _ablation(result: SetResult, ablation: Ablation) -> Value:
    """The means of every variation, and how they differ from those without one."""
    known = {each.question: each for each in result.answers[HOLDFAST.name]}
    usual = _scores_by_question([known[question] for question in ablation.questions])
    rows = []
    for variation in ablation.variations:
        scores = _scores_by_question(ablation.answers[variation.name])
        gains = [
            scores[question]["ndcg@10"] - usual[question]["ndcg@10"]
            for question in ablation.questions
        ]
        rows.append(
            {
                "name": variation.name,
                "settings": dict(variation.overrides),
                **_means(scores),
                "better": sum(gain > 0 for gain in gains),
                "worse": sum(gain < 0 for gain in gains),
            }
        )
    return {
        "every": ablation.every,
        "questions": len(ablation.questions),
        "usual": _means(usual),
        "rows": rows,
    }


def _scores_by_question(answers: Sequence[MethodAnswer]) -> dict[Question, Scores]:
    return {each.question: each.scores for each in answers}


def _means(scores: Mapping[Question, Scores]) -> Scores:
    return _round({name: mean([each[name] for each in scores.values()]) for name in _JUDGED})


def _rankings(results: Sequence[SetResult]) -> Iterator[bytes]:
    for result in results:
        varied = result.ablation.answers if result.ablation else {}
        for method, answers in {**result.answers, **varied}.items():
            for answer in answers:
                row = {
                    "set": result.name,
                    "method": method,
                    "qid": answer.question.id,
                    "ranked": answer.turns,
                    "context": {str(k): sorted(v) for k, v in answer.inside.items()},
                }
                yield orjson.dumps(row, option=orjson.OPT_APPEND_NEWLINE)


def _flat(tree: Mapping[str, Any]) -> Iterator[Any]:
    for value in tree.values():
        if isinstance(value, Mapping):
            yield from _flat(value)
        else:
            yield value
