"""What a run found, as a value for JSON, as Markdown, and as files in a folder."""

from __future__ import annotations

import platform
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

import orjson

import recollect
from recollect.bench.cache import CachedEmbedder
from recollect.bench.methods import offered
from recollect.bench.metrics import ADVERSARIAL, NAMES, Row, percentile
from recollect.bench.plot import plot
from recollect.bench.run import TIMED_LIMIT, SetResult
from recollect.config import Config, names
from recollect.models.base import Embedder

Value = dict[str, Any]

#: Settings that a report must not tell.
_SECRETS = frozenset({"embedding.apiKey"})
_HEADINGS = {
    **{"recall@5": "R@5", "recall@10": "R@10", "recall@20": "R@20", "all@10": "all@10"},
    **{"ndcg@10": "nDCG@10", "mrr": "MRR"},
    **{"tokens@1000": "R in 1K", "tokens@2000": "R in 2K", "tokens@4000": "R in 4K"},
}
_DIGITS = 4


def report(
    results: Sequence[SetResult],
    *,
    config: Config,
    embedder: Embedder,
    at: datetime,
    notes: Sequence[str] = (),
) -> Value:
    """Everything worth keeping of a run but the rankings."""
    return {
        "version": recollect.__version__,
        "commit": commit(Path(recollect.__file__).parent),
        "at": at.isoformat(timespec="seconds"),
        "machine": f"{platform.machine()}, Python {platform.python_version()}",
        "model": embedder.model_id,
        "cache": _cache(embedder),
        "notes": list(notes),
        "methods": {method.name: method.about for method in offered(config)},
        "sets": [_set(result) for result in results],
        "config": settings(config),
    }


def markdown(told: Value) -> str:
    """The report as a page."""
    commit_told = f", commit {told['commit']}" if told["commit"] else ""
    parts = [
        "# Retrieval",
        f"{told['at']}, Recollect {told['version']}{commit_told}, {told['model']},"
        f" {told['machine']}.",
        *told["notes"],
        *_cache_told(told["cache"]),
        *(part for each in told["sets"] for part in _set_page(each)),
        "## What the words mean",
        _bullets(
            "R@k: share of the evidence among the first k turns; all@10: all of it among ten.",
            "R in 1K: share of the evidence inside 1,000 tokens (cl100k_base) of context lines.",
            f'"all" is the mean over all questions but those called {ADVERSARIAL}.',
            *(f"{name}: {about}." for name, about in told["methods"].items()),
            "Stages that have no switch, such as the protection of literals, are on for all.",
        ),
        "## Configuration",
        _table(("setting", "value"), [(f"`{k}`", f"`{v}`") for k, v in told["config"].items()]),
    ]
    return "\n\n".join(parts) + "\n"


def write(folder: Path, told: Value, results: Sequence[SetResult]) -> list[Path]:
    """The page, the value, the plot, and the turns found for each question, as files."""
    folder.mkdir(parents=True, exist_ok=True)
    options = orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE
    files = {
        "retrieval.md": markdown(told).encode(),
        "retrieval.json": orjson.dumps(told, option=options),
        "retrieval.svg": plot(told["sets"]).encode(),
        "rankings.jsonl": b"".join(_rankings(results)),
    }
    for name, content in files.items():
        (folder / name).write_bytes(content)
    return [folder / name for name in files]


def settings(config: Config) -> Value:
    """Every setting by its full name; secrets are left out."""
    plain = orjson.loads(orjson.dumps(config))  # Values as a file gives them back: no tuples.
    told = dict(zip(names(config), _flat(plain), strict=True))
    return {name: value for name, value in told.items() if name not in _SECRETS}


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


def _cache_told(cache: Value | None) -> list[str]:
    if cache is None:
        return []
    made, kept = cache["made"], cache["kept"]
    faster = " The times below are those of a run that embeds less." if kept else ""
    return [f"{made:,} texts were embedded, {kept:,} vectors came from the cache.{faster}"]


def _set(result: SetResult) -> Value:
    return {
        "name": result.name,
        "conversations": result.conversations,
        "turns": result.turns,
        "characters": result.characters,
        "ingest_seconds": round(result.ingest_seconds, 3),
        "characters_per_second": round(result.characters_per_second),
        "dead": result.dead,
        "not_scored": result.not_scored,
        "recall_ms": {
            f"p{percent}": round(1e3 * percentile(result.recall_seconds, percent), 2)
            for percent in (50, 95)
        },
        "methods": {name: [_row(row) for row in result.rows(name)] for name in result.answers},
    }


def _row(row: Row) -> Value:
    means = {name: round(value, _DIGITS) for name, value in row.means.items()}
    return {"category": row.category, "questions": row.questions, **means}


def _set_page(told: Value) -> Iterator[str]:
    methods = told["methods"]
    headings = [_HEADINGS[name] for name in NAMES]
    yield f"## {told['name']}"
    yield (
        f"Conversations: {told['conversations']}; turns: {told['turns']:,}; questions without"
        f" evidence, not scored: {told['not_scored']}. Ingest until drained:"
        f" {told['characters_per_second']:,} characters/s. recall(limit={TIMED_LIMIT}):"
        f" p50 {told['recall_ms']['p50']} ms, p95 {told['recall_ms']['p95']} ms."
    )
    if told["dead"]:
        yield f"**{told['dead']} turns could not be embedded: vectors did not find them.**"
    first = next(iter(methods))
    if not methods[first]:
        yield "No question has evidence: nothing to score."
        return
    yield f"{methods[first][0]['category']}, {methods[first][0]['questions']} questions:"
    yield _table(
        ("method", *headings), [(name, *_cells(rows[0])) for name, rows in methods.items()]
    )
    yield f"{first}, by category:"
    yield _table(
        ("category", "questions", *headings),
        [(row["category"], str(row["questions"]), *_cells(row)) for row in methods[first]],
    )
    if others := [name for name in methods if name != first]:
        yield "R@10 by category:"
        yield _table(("category", first, *others), list(_by_category(methods, [first, *others])))


def _by_category(methods: Mapping[str, Any], order: Sequence[str]) -> Iterator[Sequence[str]]:
    for place, row in enumerate(methods[order[0]]):
        yield [row["category"], *(_share(methods[name][place]["recall@10"]) for name in order)]


def _cells(row: Value) -> list[str]:
    return [_share(row[name]) for name in NAMES]


def _share(value: float) -> str:
    return f"{value:.3f}"


def _table(heading: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A Markdown table whose columns line up as plain text too."""
    cells = [heading, *rows]
    widths = [max(len(row[column]) for row in cells) for column in range(len(heading))]
    lines = ["| " + " | ".join(map(str.ljust, row, widths)) + " |" for row in cells]
    rule = "|" + "|".join("-" * (width + 2) for width in widths) + "|"
    return "\n".join([lines[0], rule, *lines[1:]])


def _bullets(*lines: str) -> str:
    return "\n".join(f"- {line}" for line in lines)


def _rankings(results: Sequence[SetResult]) -> Iterator[bytes]:
    for result in results:
        for method, answers in result.answers.items():
            for answer in answers:
                row = {
                    "set": result.name,
                    "method": method,
                    "qid": answer.question.id,
                    "ranked": answer.turns,
                }
                yield orjson.dumps(row, option=orjson.OPT_APPEND_NEWLINE)


def _flat(tree: Mapping[str, Any]) -> Iterator[Any]:
    for value in tree.values():
        if isinstance(value, Mapping):
            yield from _flat(value)
        else:
            yield value
