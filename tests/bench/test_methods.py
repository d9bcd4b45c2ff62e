"""The plain methods are what their names say, and no part of recall lacks a row."""

from dataclasses import asdict, fields, replace

import pytest

from holdfast.bench.methods import (
    NOT_VARIED,
    PLAIN,
    VARIATIONS,
    Method,
    Variation,
    methods_for,
    variations_for,
)
from holdfast.config import Config
from holdfast.recall.pipeline import STAGES
from holdfast.settings import Blend, Stages

PARTS = {each.part for each in VARIATIONS}


def test_holdfast_comes_first_and_every_plain_method_is_offered() -> None:
    assert methods_for(Config())[0].overrides == {}
    assert methods_for(Config())[1:] == list(PLAIN)


@pytest.mark.parametrize("method", PLAIN, ids=lambda method: method.name)
def test_a_plain_method_is_a_ranking_with_every_stage_off(method: Method) -> None:
    # Whatever is configured.
    configured = replace(
        Config(), instruction_boost_enabled=True, relevance_floor=0.3, conciseness=0.15,
        mmr_lambda=0.85, neighbour_turns=3,
    )  # fmt: skip
    config = configured.override(method.overrides)
    assert (config.fusion, config.rrf.k) == ("rrf", 60)
    assert not any(asdict(config.stages).values())
    assert not config.boosting.enabled
    assert (config.instruction_lane, config.instruction_boost_enabled) == (0, False)
    assert (config.min_confidence, config.relevance_floor, config.conciseness) == (0, 0, 0)
    assert (config.mmr_lambda, config.neighbour_turns) == (1, 0)


def test_a_plain_method_asks_its_own_sources_alone() -> None:
    asked = {}
    for method in PLAIN:
        weights = asdict(Config().override(method.overrides).rrf.weights)
        asked[method.name] = {source for source, weight in weights.items() if weight}
    assert asked == {
        "BM25": {"keyword"},
        "vector": {"vector"},
        "plain RRF": {"keyword", "vector"},
        "0.3/0.7": {"hybrid"},
    }
    assert set(asdict(Config().override(PLAIN[3].overrides).rrf.vector_weight).values()) == {0.7}


def test_every_stage_has_a_row_or_a_reason_why_not() -> None:
    there = {getattr(stage, "__name__", "").removeprefix("_") for stage in STAGES}
    assert there - PARTS == set(NOT_VARIED)
    assert {each.name for each in fields(Stages)} <= PARTS


def test_every_feature_of_the_blend_has_a_row() -> None:
    there = {f"blend.{each.name}" for each in fields(Blend)}
    assert {part for part in PARTS if part.startswith("blend.")} == there


def test_variations_have_names_of_their_own_and_each_changes_the_default() -> None:
    names = [each.name for each in variations_for(Config())]
    assert names == [each.name for each in VARIATIONS]
    assert len(set(names)) == len(names)
    assert {"without literal", "without blend.window", "with diverse"} <= set(names)


def test_what_changes_nothing_or_cannot_be_said_has_no_row() -> None:
    stages_off = Config().override({"stages.literal": False, "mmrLambda": 0.85})
    left_out = {"without literal", "with diverse"}
    assert {each.name for each in VARIATIONS} - {
        each.name for each in variations_for(stages_off)
    } == (left_out)
    by_rank = variations_for(Config().override({"fusion": "rrf"}))
    assert not [each for each in by_rank if each.part.startswith("blend.") or each.part == "rrf"]
    alone = Config().override({"blend": dict.fromkeys(asdict(Blend()), 0.0) | {"window": 1.0}})
    assert Variation("blend.window", {"blend.window": 0.0}) not in variations_for(alone)
