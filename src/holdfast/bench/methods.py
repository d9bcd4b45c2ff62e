"""What is compared: Holdfast as configured, plain methods through the same door, and Holdfast
with one part switched off or on.

A plain method is one ranking of turns with every stage off. A part is a stage after the fusion, a
feature of the blend, or one of the few other switches; tests hold this list against theirs.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

from holdfast.config import Config, names
from holdfast.errors import ConfigError

Overrides = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Method:
    """A name, what it stands for, and what `recall` is told."""

    name: str
    about: str
    overrides: Overrides = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Variation:
    """Holdfast with one part changed: a row of the ablation."""

    #: The stage, the feature of the blend ("blend.window") or the switch that it is about.
    part: str
    overrides: Overrides
    #: Off unless configured: the row tells what switching it on does.
    on: bool = False

    @property
    def name(self) -> str:
        return f"{'with' if self.on else 'without'} {self.part}"


Named = TypeVar("Named", Method, Variation)

HOLDFAST = Method("Holdfast", "the configuration in force")

#: Everything that may change the order after one source has given it.
_BARE: Overrides = {
    "fusion": "rrf",
    "rrf.k": 60,
    **dict.fromkeys((each for each in names() if each.startswith("rrf.weights.")), 0.0),
    **dict.fromkeys((each for each in names() if each.startswith("stages.")), False),
    "boosting.enabled": False,
    "instructionLane": 0,
    "instructionBoostEnabled": False,
    "minConfidence": 0.0,
    "relevanceFloor": 0.0,
    "conciseness": 0.0,
    "mmrLambda": 1.0,
    "neighbourTurns": 0,
}


def _plain(*sources: str, **more: Any) -> Overrides:
    """One vote for each of these sources, none for the others."""
    return {**_BARE, **{f"rrf.weights.{source}": 1.0 for source in sources}, **more}


PLAIN = (
    Method("BM25", "keywords alone, no stage", _plain("keyword")),
    Method("vector", "the best cosine of a passage alone, no stage", _plain("vector")),
    Method("plain RRF", "both, equal votes, k = 60, no stage", _plain("keyword", "vector")),
    Method(
        "0.3/0.7",
        "0.3 of the keyword score as a share of the best + 0.7 of the cosine, no stage",
        _plain("hybrid", **{"rrf.vectorWeight": 0.7}),
    ),
)

VARIATIONS = (
    Variation("temporal", {"stages.temporal": False}),
    Variation("profile", {"boosting.enabled": False}),
    Variation("confidence", {"minConfidence": 0.0}),
    Variation("current", {"stages.current": False}),
    Variation("replaced", {"stages.replaced": False}),
    Variation("lane", {"instructionLane": 0}),
    Variation("literal", {"stages.literal": False}),
    Variation("similar", {"stages.similar": False}),
    *(Variation(name, {name: 0.0}) for name in names() if name.startswith("blend.")),
    Variation("boost", {"instructionBoostEnabled": True}, on=True),
    Variation("concise", {"conciseness": 0.15}, on=True),
    Variation("floor", {"relevanceFloor": 0.3}, on=True),
    Variation("diverse", {"mmrLambda": 0.85}, on=True),
    Variation("neighbours", {"neighbourTurns": 3}, on=True),
    Variation("rrf", {"fusion": "rrf"}, on=True),
)
#: Stages without a row, and why.
NOT_VARIED = {
    "rerank": "needs a model, and none is given",
    "cut": "is the limit of the call",
    "strength": "moves what was used or judged before, and nothing was",
    "writers": "bounds tools, documents and agents, which speak in no set; no call may lift it",
}


def methods_for(config: Config) -> list[Method]:
    """The methods that this configuration can express, Holdfast first."""
    return [HOLDFAST, *_expressible(config, PLAIN)]


def variations_for(config: Config) -> list[Variation]:
    """The variations that change something in this configuration."""
    return [
        each
        for each in _expressible(config, VARIATIONS)
        if config.override(each.overrides) != config
        and (config.fusion == "blend" or not each.part.startswith("blend."))
    ]


def _expressible(config: Config, given: Iterable[Named]) -> list[Named]:
    found = []
    for each in given:
        try:
            config.override(each.overrides)
        except ConfigError:  # For example the only weight of the blend that is not 0.
            continue
        found.append(each)
    return found
