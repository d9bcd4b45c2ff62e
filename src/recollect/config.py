"""The settings: one frozen tree, built once and passed as arguments.

This is the only module that reads the environment or a configuration file. Names are camelCase in a
file, in `overrides=` and over HTTP ("rrf.k"), snake_case in Python, and RECOLLECT_RRF_K in the
environment. A name that does not exist is an error that tells the nearest one that does.
"""

from __future__ import annotations

import difflib
import math
import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields, is_dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeVar, get_type_hints

from recollect.errors import ConfigError
from recollect.profiles import BUILT_IN, Profiles, laid_over

T = TypeVar("T")

MIB = 1024 * 1024
_LARGEST = 2**40
_KINDS = {int: "a whole number", float: "a number", str: "a text", bool: "true or false"}
_SECRETS = frozenset({"embedding.apiKey"})
#: Settings that must be above zero.
_POSITIVE = (
    "rrf.k", "rrf.weights.keyword", "rrf.weights.vector", "jobs.maxAttempts", "jobs.batch",
    "jobs.leaseSeconds", "jobs.pollSeconds", "embedding.timeoutSeconds",
)  # fmt: skip
#: Longer than any calendar that counts the days since 1970 needs: a hundred years.
_LONGEST_DAYS = 36_525

#: Environment variables with the prefix that are not settings.
_NOT_SETTINGS = frozenset({"RECOLLECT_DB", "RECOLLECT_CONFIG"})
#: Parts of the tree that one call may override: nothing here loosens scope or safety.
_PER_CALL = (
    "searchTopK",
    "contextBudgetTokens",
    "fusion",
    "rrf",
    "blend",
    "instructionLane",
    "boosting",
)


@dataclass(frozen=True, slots=True)
class SourceWeights:
    """v(s) of the fusion formula: how much a source's vote counts."""

    keyword: float = 1.0
    vector: float = 1.0


@dataclass(frozen=True, slots=True)
class Rrf:
    """Reciprocal rank fusion."""

    k: int = 60
    weights: SourceWeights = field(default_factory=SourceWeights)


@dataclass(frozen=True, slots=True)
class Blend:
    """Weights of the default fusion; see recall/blend.py and docs/decisions/0006."""

    window: float = 0.7
    people: float = 0.4
    session: float = 0.2
    vector: float = 0.7
    around: float = 0.8
    role: float = 0.8
    speaker: float = 0.7
    time: float = 0.7


@dataclass(frozen=True, slots=True)
class Boosting:
    """Task profiles: the tiers weighed by what the message is about; see recall/profile.py."""

    enabled: bool = True
    profiles: Profiles = BUILT_IN


@dataclass(frozen=True, slots=True)
class Limits:
    """What a caller may send. One byte more is refused with the number in the message."""

    message_bytes: int = 1 * MIB
    batch_bytes: int = 64 * MIB
    batch_messages: int = 200_000
    body_bytes: int = 16 * MIB
    query_bytes: int = 32 * 1024
    metadata_bytes: int = 32 * 1024
    metadata_keys: int = 64
    metadata_depth: int = 8


@dataclass(frozen=True, slots=True)
class Jobs:
    """The background queue."""

    #: Tries before a job becomes a dead letter.
    max_attempts: int = 5
    #: A worker that does not answer for this long loses its jobs.
    lease_seconds: float = 60.0
    #: First pause after a failure; doubles each time up to the cap, with jitter.
    backoff_seconds: float = 1.0
    backoff_cap_seconds: float = 300.0
    #: Jobs taken at once.
    batch: int = 64
    #: How often an idle worker looks for jobs that other processes wrote.
    poll_seconds: float = 0.2


@dataclass(frozen=True, slots=True)
class Embedding:
    """Which model turns text into vectors."""

    #: "local" (shipped, offline) or "remote" (an OpenAI-compatible endpoint that you name).
    provider: str = "local"
    url: str = ""
    model: str = ""
    api_key: str = field(default="", repr=False)
    timeout_seconds: float = 30.0


@dataclass(frozen=True, slots=True)
class Config:
    """All settings."""

    #: Results asked of each source; 0 = enough for the limit of the call.
    search_top_k: int = 0
    context_budget_tokens: int = 8192
    #: A forgotten memory can be restored for this long.
    forget_days: int = 30
    #: An idempotency key is remembered for this long.
    key_days: int = 30
    #: Memory for the search indexes of the users in use.
    index_cache_megabytes: int = 512
    #: "blend" (weighted scores) or "rrf" (exact weighted reciprocal rank fusion).
    fusion: str = "blend"
    rrf: Rrf = field(default_factory=Rrf)
    blend: Blend = field(default_factory=Blend)
    #: At most this many of the first ten are standing instructions that the question did not find.
    instruction_lane: int = 3
    boosting: Boosting = field(default_factory=Boosting)
    limits: Limits = field(default_factory=Limits)
    jobs: Jobs = field(default_factory=Jobs)
    embedding: Embedding = field(default_factory=Embedding)

    def override(self, values: Mapping[str, Any] | None) -> Config:
        """This configuration with some settings replaced for one call."""
        if values is None or values == {}:
            return self
        try:  # The same few overrides come again and again; what cannot be hashed is worked out.
            # Types are part of the key: 1 and True are equal, and only one of them is a number.
            return _overridden(self, tuple((k, v, type(v)) for k, v in values.items()))
        except (TypeError, AttributeError):
            return self._override(values)

    def _override(self, values: Mapping[str, Any]) -> Config:
        tree = _nested(values)
        for name in tree:
            if name not in _PER_CALL:
                raise ConfigError(_unknown(name, _PER_CALL, "cannot be overridden per call"))
        return _check(_merged(self, tree, ""))


@lru_cache(maxsize=64)
def _overridden(config: Config, items: tuple[tuple[str, Any, type], ...]) -> Config:
    return config._override({name: value for name, value, _ in items})


def load(source: Config | Mapping[str, Any] | str | Path | None = None) -> Config:
    """Settings from a file or a mapping, with the environment on top."""
    if isinstance(source, Config):
        return source
    if source is None and (named := os.environ.get("RECOLLECT_CONFIG")):
        source = named
    values = _read(Path(source)) if isinstance(source, str | Path) else source
    config = _merged(Config(), _nested({} if values is None else values), "")
    return _check(_merged(config, _nested(_from_environment()), ""))


def default_db() -> str:
    """Where the command line looks for a memory when it is not told: RECOLLECT_DB, then here."""
    return os.environ.get("RECOLLECT_DB") or "recollect.db"


def load_for_command_line(file: Path | None) -> Config:
    """`file`, then RECOLLECT_CONFIG, then recollect.yml in the working directory."""
    here = Path("recollect.yml")
    if file is None and not os.environ.get("RECOLLECT_CONFIG") and here.is_file():
        file = here
    return load(file)


def names(config: Config | None = None) -> list[str]:
    """Every setting by its full name, for documentation and for error messages."""
    return [name for name, _ in _leaves(config or Config(), "")]


def _read(path: Path) -> Mapping[str, Any]:
    # Only who has a file pays for the parser.
    import yaml  # noqa: PLC0415

    try:
        parsed = yaml.safe_load(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ConfigError(f"cannot read the configuration {path}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise ConfigError(f"{path} is not UTF-8 text") from error
    except yaml.YAMLError as error:
        raise ConfigError(f"{path} is not valid YAML: {error}") from error
    # The seed keeps its settings under settings.memory; both shapes are welcome.
    for wrapper in ("settings", "memory"):
        if isinstance(parsed, Mapping) and set(parsed) == {wrapper}:
            parsed = parsed[wrapper]
    if parsed is None:
        return {}
    if not isinstance(parsed, Mapping):
        raise ConfigError(f"{path} must hold a mapping of settings, not {type(parsed).__name__}")
    return parsed


def _from_environment() -> dict[str, Any]:
    import yaml  # noqa: PLC0415

    known = {"RECOLLECT_" + _upper(name): (name, value) for name, value in _leaves(Config(), "")}
    found: dict[str, Any] = {}
    for variable, text in os.environ.items():
        if not variable.startswith("RECOLLECT_") or variable in _NOT_SETTINGS:
            continue
        if variable not in known:
            raise ConfigError(_unknown(variable, [*known, *_NOT_SETTINGS], "is not a setting"))
        name, default = known[variable]
        try:
            # A text is taken to the letter, a number is read as one.
            found[name] = text if isinstance(default, str) else yaml.safe_load(text)
        except yaml.YAMLError:
            raise ConfigError(f"{variable} cannot be read: {text[:64]!r}") from None
    return found


def _nested(values: object) -> dict[str, Any]:
    """{"rrf.k": 1} and {"rrf": {"k": 1}} say the same, and may be mixed."""
    if not isinstance(values, Mapping):
        raise ConfigError(f"settings must be a mapping of names to values, not {values!r:.64}")
    tree: dict[str, Any] = {}
    for name, value in values.items():
        _put(tree, str(name).split("."), value, str(name))
    return tree


def _put(tree: dict[str, Any], path: list[str], value: Any, name: str) -> None:
    first, rest = path[0], path[1:]
    if rest or isinstance(value, Mapping):
        node = tree.setdefault(first, {})
        if not isinstance(node, dict):
            raise ConfigError(f'"{name}" is given twice, once as a single value')
        if rest:
            _put(node, rest, value, name)
        else:
            for key, each in value.items():
                _put(node, str(key).split("."), each, f"{name}.{key}")
    elif first in tree:
        raise ConfigError(f'"{name}" is given twice')
    else:
        tree[first] = value


def _merged(base: T, values: Mapping[str, Any], prefix: str) -> T:
    """`base` with `values` laid over it; every name and type is checked."""
    hints = get_type_hints(type(base))
    known = {_camel(each.name): each.name for each in fields(base)}  # type: ignore[arg-type]
    changed: dict[str, Any] = {}
    for name, value in values.items():
        full = prefix + name
        if name not in known:
            raise ConfigError(_unknown(full, [prefix + each for each in known], "is not a setting"))
        current = getattr(base, known[name])
        if is_dataclass(current):
            if not isinstance(value, Mapping):
                raise ConfigError(f"{full} holds settings of its own, for example {full}.…")
            changed[known[name]] = _merged(current, value, full + ".")
        elif hints[known[name]] == Profiles:
            changed[known[name]] = laid_over(current, value, full)
        else:
            changed[known[name]] = _typed(full, value, hints[known[name]])
    return replace(base, **changed)  # type: ignore[type-var]


def _typed(name: str, value: Any, kind: type) -> Any:
    if kind is float and isinstance(value, int) and not isinstance(value, bool):
        value = float(value)
    if not isinstance(value, kind) or (kind is not bool and isinstance(value, bool)):
        shown = "what was given" if name in _SECRETS else f"{value!r:.64}"
        raise ConfigError(f"{name} must be {_KINDS[kind]}, not {shown}")
    if isinstance(value, float) and not math.isfinite(value):
        raise ConfigError(f"{name} must be a finite number, not {value!r}")
    if isinstance(value, int) and abs(value) > _LARGEST:
        raise ConfigError(f"{name} must lie below {_LARGEST}")
    return value


def _check(config: Config) -> Config:
    for name, value in _leaves(config, ""):
        if not isinstance(value, int | float):
            continue
        if value < 0 or (value == 0 and name in _POSITIVE):
            least = "above 0" if name in _POSITIVE else "0 or more"
            raise ConfigError(f"{name} must be {least}, not {value!r}")
        days = value if name.endswith("Days") else value / 86_400
        if name.endswith(("Days", "Seconds")) and days > _LONGEST_DAYS:
            raise ConfigError(f"{name} must be at most {_LONGEST_DAYS} days, not {value!r}")
    return _check_choices(config)


def _check_choices(config: Config) -> Config:
    if config.fusion not in ("blend", "rrf"):
        raise ConfigError(f'fusion must be "blend" or "rrf", not {config.fusion!r:.64}')
    if not sum(value for name, value in _leaves(config.blend, "")):
        raise ConfigError("blend: at least one weight must be above 0")
    remote = config.embedding
    if remote.provider not in ("local", "remote"):
        raise ConfigError('embedding.provider must be "local" or "remote"')
    if remote.provider == "remote" and not (remote.url and remote.model):
        raise ConfigError("embedding.provider remote needs embedding.url and embedding.model")
    return config


def _leaves(node: Any, prefix: str) -> Iterator[tuple[str, Any]]:
    for each in fields(node):
        value = getattr(node, each.name)
        name = prefix + _camel(each.name)
        if is_dataclass(value):
            yield from _leaves(value, name + ".")
        else:
            yield name, value


def _camel(name: str) -> str:
    return re.sub(r"_(\w)", lambda match: match.group(1).upper(), name)


def _upper(name: str) -> str:
    """rrf.weights.keyword -> RRF_WEIGHTS_KEYWORD, searchTopK -> SEARCH_TOP_K."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).replace(".", "_").upper()


def _unknown(name: str, known: Any, what: str) -> str:
    near = difflib.get_close_matches(name, list(known), n=1, cutoff=0.5)
    hint = f'; did you mean "{near[0]}"?' if near else f"; known: {', '.join(sorted(known))}"
    return f'"{name}" {what}{hint}'
