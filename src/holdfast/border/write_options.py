"""How messages are to be treated, said by who sends them: who may see them, how they are read.

It is kept with the event, so that whoever reads the turn later, in whatever process, does as was
asked, and what is derived from it is seen by nobody who may not see the turn:

    visibility  "agent_only": the agent that it was said to sees it, nobody else
    provider    reads it instead of the setting extraction.provider; "none": nothing ever does
    labels      the names in its metadata that the caller did not send; see validate.py

A write may ask for less than the settings do, never for more: no override makes a language model
read what the operator keeps from it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from holdfast.border.validate import CALLERS_OWN, Labelled
from holdfast.config import PROVIDERS, Config
from holdfast.errors import ConfigError, InvalidInput
from holdfast.types import Metadata

AGENT_ONLY = "agent_only"
ENABLED, PROVIDER = "extraction.enabled", "extraction.provider"
#: The settings that one write may override.
PER_WRITE = (ENABLED, PROVIDER)
#: How quick turns are read, and how many of one call while the caller waits.
RULES = "rules"
#: In the place of a provider: nothing is drawn from such a turn, and no model is shown it.
NOBODY = "none"
MOST_QUICK = 64
_NO_MODEL = (RULES, "nlp")
#: What an event may keep.
_KEPT: Mapping[str, tuple[str, ...]] = {
    "visibility": (AGENT_ONLY,),
    "provider": (*PROVIDERS, NOBODY),
}


@dataclass(frozen=True, slots=True)
class Handling:
    """What was asked for, checked."""

    #: Kept with the event; empty for one that is treated as usual.
    data: Metadata = field(default_factory=dict)
    #: Whether anything is drawn from it, and whether that is done at once.
    is_read: bool = True
    is_quick: bool = False

    @property
    def visibility(self) -> str | None:
        return visibility_of(self.data)


def handling(
    config: Config,
    *,
    agent: str | None,
    visibility: object = None,
    extract: bool = True,
    quick: bool = False,
    overrides: object = None,
    metadata: object = None,
) -> Handling:
    """How one call wants its messages treated."""
    _check_switch(extract, "extract")
    _check_switch(quick, "quick")
    if visibility is not None:
        if visibility != AGENT_ONLY:
            raise InvalidInput(
                f"visibility must be {AGENT_ONLY} or left out, not {str(visibility)[:64]!r}",
                field="visibility",
            )
        if agent is None:
            raise InvalidInput(f"visibility {AGENT_ONLY} needs an agent", field="visibility")
    if quick and not extract:
        raise InvalidInput("quick reads at once and extract=False never: send one", field="quick")
    settings = _settings(overrides)
    enabled, provider = _enabled(config, settings), _provider(config, settings)
    if quick and provider is not None and provider not in _NO_MODEL:
        raise InvalidInput(
            f"quick asks no language model: {PROVIDER} must be rules or nlp, not {provider}",
            field="quick",
        )
    is_read = extract and enabled
    provider = (provider or (RULES if quick else None)) if is_read else NOBODY
    labels = [*metadata.labels] if isinstance(metadata, Labelled) else []
    asked = {"visibility": visibility, "provider": provider, "labels": labels or None}
    data = {name: value for name, value in asked.items() if value is not None}
    return Handling(data, is_read=is_read, is_quick=quick)


def sent(**given: Any) -> dict[str, Any]:
    """What was asked for beyond the usual: what the digest of a body holds of it. When it is read
    (quick) is not part of what is said: asked for otherwise, it is the same body."""
    usual = {"extract": True}
    return {name: value for name, value in given.items() if value not in (None, usual.get(name))}


def visibility_of(data: Metadata) -> str | None:
    """Who may see a turn, and what is derived from it; None: as usual."""
    found: str | None = data.get("visibility")
    return found


def provider_of(data: Metadata) -> str | None:
    """What reads a turn; None: what the settings say."""
    found: str | None = data.get("provider")
    return found


def treatment(data: Metadata) -> Metadata:
    """What of it says how a turn is treated: turns that differ in this are not read together."""
    return {name: value for name, value in data.items() if name in _KEPT}


def checked_data(given: Mapping[str, object], *, agent: str | None) -> dict[str, object]:
    """What an import says that an event keeps; InvalidInput where it is not what one can."""
    found: dict[str, object] = {}
    for name, value in given.items():
        if value is None:
            continue
        is_kept = _are_labels(value) if name == "labels" else value in _KEPT.get(name, ())
        if not is_kept:
            raise InvalidInput(f"{name} cannot be {str(value)[:64]!r}", field=name)
        found[name] = value
    if "visibility" in found and agent is None:
        raise InvalidInput(f"visibility {AGENT_ONLY} needs an agent", field="visibility")
    return found


def _are_labels(value: object) -> bool:
    return isinstance(value, list) and all(each in CALLERS_OWN for each in value)


def _check_switch(value: object, name: str) -> None:
    if not isinstance(value, bool):
        raise InvalidInput(f"{name} must be true or false, not {str(value)[:64]!r}", field=name)


def _settings(overrides: object) -> dict[str, object]:
    """{"extraction.provider": "rules"} and {"extraction": {"provider": "rules"}} say the same."""
    if overrides is None:
        return {}
    if not isinstance(overrides, Mapping):
        raise ConfigError(f"settings must be a mapping of names to values, not {overrides!r:.64}")
    flat: dict[str, object] = {}
    for name, value in overrides.items():
        inside = value if isinstance(value, Mapping) else {"": value}
        flat |= {f"{name}.{each}" if each else str(name): found for each, found in inside.items()}
    for name in flat:
        if name not in PER_WRITE:
            raise ConfigError(
                f'"{name[:64]}" cannot be overridden per write; known: {", ".join(PER_WRITE)}'
            )
    return flat


def _enabled(config: Config, settings: Mapping[str, object]) -> bool:
    value = settings.get(ENABLED, True)
    if not isinstance(value, bool):
        raise ConfigError(f"{ENABLED} must be true or false, not {value!r:.64}")
    if value and ENABLED in settings and not config.extraction.enabled:
        raise ConfigError(f"{ENABLED}: extraction is switched off, and no write can change that")
    return value


def _provider(config: Config, settings: Mapping[str, object]) -> str | None:
    value = settings.get(PROVIDER)
    if value is None and PROVIDER not in settings:
        return None
    if not isinstance(value, str) or value not in PROVIDERS:
        raise ConfigError(f"{PROVIDER} must be one of {', '.join(PROVIDERS)}")
    asked = replace(config.extraction, provider=value)
    if asked.asks_llm and not config.extraction.asks_llm:
        raise ConfigError(
            f"{PROVIDER}: this memory asks no language model, and no write can change that"
        )
    return value
