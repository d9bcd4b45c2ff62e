"""bench: how good retrieval is on labelled conversations."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from holdfast.errors import InvalidInput
from holdfast.service.cli.show import AsJson, ConfigFile, document, line, note, progress

if TYPE_CHECKING:
    from holdfast.bench.data import LabelledSet
    from holdfast.bench.run import SetResult
    from holdfast.config import Config
    from holdfast.models.base import Embedder

bench = typer.Typer(
    help="Measure how good retrieval is.",
    epilog="Example: holdfast bench retrieval",
    no_args_is_help=True,
)

_ON_SAMPLE = (
    "Measured on the small conversation that comes with Holdfast: good for a first look, too"
    " small to choose settings by. Name labelled sets with --data."
)


Data = Annotated[
    Path | None,
    typer.Option(
        "--data",
        metavar="DIR",
        help="A folder of labelled sets. Default: the sample conversation.",
        show_default=False,
    ),
]
Sets = Annotated[
    str | None,
    typer.Option(
        "--sets",
        metavar="NAMES",
        help="Which sets, with commas; all: all there are. Default: locomo,beam-100k, if there.",
        show_default=False,
    ),
]
LimitQuestions = Annotated[
    int | None,
    typer.Option(
        "--limit-questions",
        metavar="N",
        min=1,
        help="Only the first N questions of a set.",
        show_default=False,
    ),
]
AblationQuestions = Annotated[
    int,
    typer.Option(
        "--ablation-questions",
        metavar="N",
        min=1,
        help="Ask each variation about N questions of a set, evenly spread.",
    ),
]
NoAblation = Annotated[
    bool, typer.Option("--no-ablation", help="Do not switch the parts off one by one.")
]
Cache = Annotated[
    Path | None,
    typer.Option(
        "--cache", metavar="FILE", help="Keep embeddings here for the next run.", show_default=False
    ),
]
Out = Annotated[
    Path | None,
    typer.Option(
        "--out",
        metavar="DIR",
        help="Write the report here: Markdown, JSON, SVG, rankings.",
        show_default=False,
    ),
]


@bench.command(
    "retrieval", epilog="Example: holdfast bench retrieval --data sets --cache vectors.db"
)
def _retrieval(  # noqa: PLR0913 (a parameter an option)
    *,
    data: Data = None,
    sets: Sets = None,
    limit_questions: LimitQuestions = None,
    ablation_questions: AblationQuestions = 200,
    no_ablation: NoAblation = False,
    cache: Cache = None,
    out: Out = None,
    json: AsJson = False,
    config: ConfigFile = None,
) -> None:
    """Ask labelled questions through the public API and tell how much of the evidence came back."""
    from holdfast.bench.page import WORDS, markdown  # noqa: PLC0415
    from holdfast.bench.report import report, write  # noqa: PLC0415
    from holdfast.config import load_for_command_line  # noqa: PLC0415

    settings = load_for_command_line(config)
    chosen = [each.first(limit_questions) for each in _labelled(data, sets)]
    notes = _notes(data, limit_questions)
    for each in notes:
        note(each)
    began = datetime.now(UTC)
    with ExitStack() as stack:
        embedder = _embedder(settings, cache, stack)
        ablated = 0 if no_ablation else ablation_questions
        results = _results(chosen, embedder, settings, ablated)
    seconds = (datetime.now(UTC) - began).total_seconds()
    told = report(
        results, config=settings, embedder=embedder, at=began, seconds=seconds, notes=notes
    )
    if json:
        document(told)
    else:
        line(markdown(told).partition(WORDS)[0].rstrip())
    if out is not None:
        for path in write(out, told, results):
            note(f"wrote {path}")


def _results(
    chosen: Sequence[LabelledSet], embedder: Embedder, settings: Config, ablated: int
) -> list[SetResult]:
    from holdfast.bench.run import run_set  # noqa: PLC0415

    results = []
    for labelled in chosen:
        with progress(labelled.name) as step:
            found = run_set(
                labelled, embedder=embedder, config=settings, ablated=ablated, progress=step
            )
        results.append(found)
    return results


def _labelled(data: Path | None, sets: str | None) -> list[LabelledSet]:
    from holdfast.bench.data import chosen_sets, read_set, sample_set  # noqa: PLC0415

    if data is None:
        if sets is not None:
            raise InvalidInput("--sets needs --data: the folder they are in", field="sets")
        return [sample_set()]
    names = None if sets is None else [name.strip() for name in sets.split(",") if name.strip()]
    return [read_set(data / name) for name in chosen_sets(data, names)]


def _notes(data: Path | None, limit_questions: int | None) -> list[str]:
    """What the reader of the figures must know."""
    notes = [] if data is not None else [_ON_SAMPLE]
    if limit_questions is not None:
        notes.append(f"Only the first {limit_questions} questions of a set were asked.")
    return notes


def _embedder(settings: Config, cache: Path | None, stack: ExitStack) -> Embedder:
    from holdfast.wiring import make_embedder  # noqa: PLC0415

    embedder = make_embedder(settings)
    if cache is None:
        return embedder
    from holdfast.bench.cache import CachedEmbedder  # noqa: PLC0415

    kept = CachedEmbedder(embedder, cache)
    stack.callback(kept.close)
    return kept
