"""Why a hit was found, in words."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any


def in_words(why: Mapping[str, Any]) -> str:
    """For example: keyword window 1.0, people 0.8; vector around 0.9; holds "INV-7"."""
    parts = (_part(source, told) for source, told in why.items())
    return "; ".join(part for part in parts if part)


def _part(source: str, told: Any) -> str:
    if source in _WORDS:
        return _WORDS[source](told)
    if not isinstance(told, Mapping):
        return f"{source} {_format(told)}"
    if "rank" in told:
        return f"{source} #{told['rank']}"
    return f"{source} " + ", ".join(f"{name} {_format(value)}" for name, value in told.items())


def _literal(told: Any) -> str:
    return "holds " + ", ".join(f'"{each}"' for each in told)


def _temporal(told: Any) -> str:
    return f"near {_format(told['named'])} {_format(told['lift'])}"


def _tier(told: Any) -> str:
    return f"{told['name']} x {_format(told['weight'])}"


def _similar(told: Any) -> str:
    return f"stands for {told['also']} more" if isinstance(told, Mapping) else str(told)


def _sources(told: Any) -> str:
    ranks = (f"{name} #{each['rank']} ({each['rrf']:.4f})" for name, each in told.items())
    return "ranks " + ", ".join(ranks) if told else ""


def _score(told: Any) -> str:
    return f"score {_format(told['fused'])} to {_format(told['final'])}"


def _stages(told: Any) -> str:
    return ", ".join(
        f"{stage} {'new' if each['before'] is None else _format(each['before'])}"
        f" to {_format(each['after'])}"
        for stage, each in told.items()
    )


#: What does not read well as names and numbers.
_WORDS: dict[str, Callable[[Any], str]] = {
    "literal": _literal,
    "temporal": _temporal,
    "tier": _tier,
    "similar": _similar,
    "sources": _sources,
    "score": _score,
    "stages": _stages,
}


def _format(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.2f}"
    if isinstance(value, list | tuple):
        return ", ".join(map(str, value))
    return str(value)
