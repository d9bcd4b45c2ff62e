"""Why a hit was found, in words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def in_words(why: Mapping[str, Any]) -> str:
    """For example: keyword window 1.0, people 0.8; vector around 0.9; holds "INV-7"."""
    return "; ".join(_part(source, told) for source, told in why.items())


def _part(source: str, told: Any) -> str:
    if source == "literal":
        return "holds " + ", ".join(f'"{each}"' for each in told)
    if not isinstance(told, Mapping):
        return f"{source} {told}"
    if "rank" in told:
        return f"{source} #{told['rank']}"
    return f"{source} " + ", ".join(f"{name} {share:.2f}" for name, share in told.items())
