"""Task profiles as settings: the built-in ones, and how custom ones are read and checked.

A profile weighs the tiers of one recall and names the phrases that call for it. Which profile a
message calls for is worked out in recall/profile.py.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from holdfast.errors import ConfigError
from holdfast.types import ALL_TIERS

#: What holds when nothing else is called for.
GENERAL = "general"
#: Names of the seeds -> ours.
_ALIASES = {"knowledgeBase": "knowledge"}
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,63}")
_LARGEST_WEIGHT = 1_000_000.0
_MOST_PROFILES = 64
_MOST_TRIGGERS = 64
_LONGEST_TRIGGER = 200


@dataclass(frozen=True, slots=True)
class TaskProfile:
    """One task profile."""

    name: str
    #: (tier, multiplier); a tier that is not listed weighs 1.
    weights: tuple[tuple[str, float], ...] = ()
    triggers: tuple[str, ...] = ()

    def weight(self, tier: str) -> float:
        """The multiplier of a tier."""
        return dict(self.weights).get(tier, 1.0)


Profiles = tuple[TaskProfile, ...]

#: In the order that settles ties.
BUILT_IN: Profiles = (
    TaskProfile(
        "research",
        (("session", 0.8), ("graph", 1.8), ("knowledge", 1.5), ("workspace", 1.0)),
        ("research", "summarize", "compare sources"),
    ),
    TaskProfile(
        "debugging",
        (("session", 2.0), ("graph", 0.7), ("knowledge", 0.9), ("workspace", 1.2)),
        ("error", "exception", "traceback", "bug", "failing"),
    ),
    TaskProfile(
        "debate",
        (("session", 0.9), ("graph", 1.5), ("knowledge", 2.0), ("workspace", 1.0)),
        ("argue", "defend", "counter", "refute", "evidence"),
    ),
    TaskProfile(
        GENERAL, (("session", 1.0), ("graph", 1.0), ("knowledge", 1.0), ("workspace", 1.0))
    ),
)


def merge_profiles(base: Profiles, value: Any, name: str) -> Profiles:
    """`base` with the profiles of a setting added; one of the same name is replaced in its place.

    `value` maps a profile's name to its weights and triggers, or lists them with a `name` each, as
    the seed does. A part that a replacement leaves out (its triggers, say) stays as it was; in the
    weights, a tier that is left out weighs 1. `name` is the setting's, for messages.
    """
    merged = {profile.name: profile for profile in base}
    for profile, parts in _entries(value, name):
        full = f"{name}.{profile}"
        if not _NAME.fullmatch(profile):
            raise ConfigError(
                f"{full[:120]!r}: a profile's name is one plain word of letters, digits, - and _,"
                " at most 64 long, and starts with a letter"
            )
        merged[profile] = _profile(merged.get(profile, TaskProfile(profile)), parts, full)
    if len(merged) > _MOST_PROFILES:
        raise ConfigError(f"{name} has {len(merged)} profiles, the limit is {_MOST_PROFILES}")
    return tuple(merged.values())


def _entries(value: Any, name: str) -> list[tuple[str, Any]]:
    if isinstance(value, Mapping):
        return [(str(key), parts) for key, parts in value.items()]
    wanted = f"{name} must map names to {{weights, triggers}}, or list profiles with a name each"
    if not isinstance(value, list | tuple):
        raise ConfigError(f"{wanted}, not {value!r:.64}")
    entries = []
    for each in value:
        parts = _as_mapping(each) if isinstance(each, TaskProfile) else each
        if not isinstance(parts, Mapping) or not isinstance(parts.get("name"), str):
            raise ConfigError(f"{wanted}, not {each!r:.64}")
        entries.append((parts["name"], {key: part for key, part in parts.items() if key != "name"}))
    if len({entry[0] for entry in entries}) < len(entries):
        raise ConfigError(f"{name} lists a name twice")
    return entries


def _as_mapping(profile: TaskProfile) -> dict[str, Any]:
    return {
        "name": profile.name,
        "weights": dict(profile.weights),
        "triggers": profile.triggers,
    }


def _profile(base: TaskProfile, parts: Any, name: str) -> TaskProfile:
    if not isinstance(parts, Mapping):
        raise ConfigError(f"{name} must hold weights and triggers, not {parts!r:.64}")
    for part in parts:
        if part not in ("weights", "triggers"):
            raise ConfigError(f'"{name}.{part}" is not a setting; known: triggers, weights')
    changed: dict[str, Any] = {}
    if "weights" in parts:
        changed["weights"] = _weights(parts["weights"], f"{name}.weights")
    if "triggers" in parts:
        changed["triggers"] = _triggers(parts["triggers"], f"{name}.triggers")
    return replace(base, **changed)


def _weights(value: Any, name: str) -> tuple[tuple[str, float], ...]:
    if not isinstance(value, Mapping):
        raise ConfigError(f"{name} must map tiers to numbers above 0, not {value!r:.64}")
    weights: dict[str, float] = {}
    for key, weight in value.items():
        tier, full = _ALIASES.get(key, key), f"{name}.{key}"
        if tier not in ALL_TIERS:
            raise ConfigError(f'"{full}": no such tier; known: {", ".join(ALL_TIERS)}')
        if tier in weights:
            raise ConfigError(f'"{full}" is given twice, as knowledge and as knowledgeBase')
        number = isinstance(weight, int | float) and not isinstance(weight, bool)
        # The comparison is false for NaN, too.
        if not number or not 0 < weight <= _LARGEST_WEIGHT:
            raise ConfigError(
                f"{full} must be a number above 0 and at most {_LARGEST_WEIGHT:.0f},"
                f" not {weight!r:.64}"
            )
        weights[tier] = float(weight)
    return tuple(weights.items())


def _triggers(value: Any, name: str) -> tuple[str, ...]:
    if not isinstance(value, list | tuple):
        raise ConfigError(f"{name} must be a list of words or phrases, not {value!r:.64}")
    if len(value) > _MOST_TRIGGERS:
        raise ConfigError(f"{name} has {len(value)} phrases, the limit is {_MOST_TRIGGERS}")
    for index, phrase in enumerate(value):
        if not isinstance(phrase, str) or not 0 < len(phrase.strip()) <= _LONGEST_TRIGGER:
            raise ConfigError(
                f"{name}[{index}] must be a word or phrase of at most {_LONGEST_TRIGGER}"
                f" characters, not {phrase!r:.64}"
            )
    return tuple(dict.fromkeys(" ".join(phrase.split()) for phrase in value))
