"""The settings: one frozen tree, built once and passed as arguments.

This is the only module that reads the environment or a configuration file. Names are camelCase in a
file, in `overrides=` and over HTTP ("rrf.k"), snake_case in Python, and HOLDFAST_RRF_K in the
environment. A name that does not exist is an error that tells the nearest one that does.
"""

from __future__ import annotations

import difflib
import math
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import Field, dataclass, field, fields, is_dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple, TypeVar, get_type_hints

from holdfast.errors import ConfigError
from holdfast.settings import (
    MIB,
    Blend,
    Boosting,
    Decay,
    Embedding,
    Extraction,
    Index,
    Jobs,
    Life,
    Limits,
    Llm,
    Mcp,
    Outgoing,
    PerTier,
    Profiles,
    Proxy,
    Rrf,
    Service,
    Stages,
    TaskProfile,
    above_zero,
    one_of,
    share,
)
from holdfast.types import ALL_TIERS

__all__ = [
    "MIB", "Blend", "Boosting", "Config", "Embedding", "Extraction", "Jobs", "Life", "Limits",
    "Llm", "api_key", "default_db", "file_here", "idle", "load", "load_for_command_line", "names",
]  # fmt: skip

T = TypeVar("T")

_LARGEST = 2**40
_KINDS = {int: "a whole number", float: "a number", str: "a text", bool: "true or false"}
#: Of a million tokens: more is a slip.
_HIGHEST_PRICE = 1_000_000
#: A turn of less could not be shown at all: its speaker may have a long name.
_FEWEST_READ = 1000
#: Settings of several names: a text with commas, or a list.
_LISTED = ("service.hosts", "outgoing.hosts", "mcp.tools", "mcp.agentTools.")
PROVIDERS = ("auto", "rules", "nlp", "llm")
#: Longer than any calendar that counts the days since 1970 needs: a hundred years.
_LONGEST_DAYS = 36_525

#: Environment variables with the prefix that are not settings.
_NOT_SETTINGS = frozenset(
    {"HOLDFAST_API_KEY", "HOLDFAST_CONFIG", "HOLDFAST_DB", "HOLDFAST_PROCESSES"}
)
#: What a shell says for true and false, beside YAML's own words.
_ON_OFF = {"1": True, "0": False}
#: Weights are compared with each other: more than this is a slip, and overflows.
_HEAVIEST = 1_000_000
#: Variables of the seed that are understood without the prefix.
_SEED_VARIABLES = ("INSTRUCTION_BOOST_ENABLED", "INSTRUCTION_BOOST_WEIGHT")
#: Parts of the tree that one call may override: nothing here loosens scope or safety.
_PER_CALL = (
    "searchTopK", "contextBudgetTokens", "fusion", "rrf", "blend", "instructionLane",
    "instructionBoostEnabled", "instructionBoostWeight", "boosting", "stages", "adaptiveLimits",
    "minConfidence", "relevanceFloor", "relevanceGate", "conciseness", "mmrLambda",
    "neighbourTurns", "rerankDepth",
)  # fmt: skip


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
    #: What went into a context can be asked for this long.
    ledger_days: int = 30
    #: Memory for the search indexes of the users in use.
    index_cache_megabytes: int = 512
    #: "blend" (weighted scores) or "rrf" (exact weighted reciprocal rank fusion).
    fusion: str = one_of("blend", "rrf")
    rrf: Rrf = field(default_factory=Rrf)
    blend: Blend = field(default_factory=Blend)
    #: So many of the first ten may be standing instructions that the question did not find; of few
    #: rules three more.
    instruction_lane: int = 2
    #: The seed's additive boost of standing instructions among what was found.
    instruction_boost_enabled: bool = False
    instruction_boost_weight: float = 0.15
    #: Broad questions get more than ten hits when the caller names no limit.
    adaptive_limits: bool = True
    #: Derived memories below this are not told.
    min_confidence: float = share(0.5)
    #: Cosine that a plain question asks of a hit; 0 = any.
    relevance_floor: float = share(0.0)
    #: In a context: the share of the best score that a hit must have; 0 = any.
    relevance_gate: float = share(0.7)
    #: The most that a long text loses; the seed's is 0.15.
    conciseness: float = share(0.0)
    #: Relevance against novelty; 1 = novelty does not count.
    mmr_lambda: float = share(1.0)
    #: The most of every ten places that one writer gets who is not the user; 1 = any number.
    writer_share: float = share(0.3)
    #: So many free places for the turn before a short one.
    neighbour_turns: int = 0
    #: Hits that a reranker, if one was given, looks at.
    rerank_depth: int = above_zero(20)
    stages: Stages = field(default_factory=Stages)
    boosting: Boosting = field(default_factory=Boosting)
    limits: Limits = field(default_factory=Limits)
    index: Index = field(default_factory=Index)
    jobs: Jobs = field(default_factory=Jobs)
    embedding: Embedding = field(default_factory=Embedding)
    extraction: Extraction = field(default_factory=Extraction)
    decay: Decay = field(default_factory=Decay)
    life: Life = field(default_factory=Life)
    service: Service = field(default_factory=Service)
    proxy: Proxy = field(default_factory=Proxy)
    outgoing: Outgoing = field(default_factory=Outgoing)
    mcp: Mcp = field(default_factory=Mcp)

    def override(self, values: Mapping[str, Any] | None) -> Config:
        """This configuration with some settings replaced for one call."""
        if values is None or values == {}:
            return self
        try:  # The same few overrides come again and again; what cannot be hashed is worked out.
            # Types are part of the key: 1 and True are equal, and only one of them is a number.
            return _cached_override(self, tuple((k, v, type(v)) for k, v in values.items()))
        except (TypeError, AttributeError):
            return self._override(values)

    def _override(self, values: Mapping[str, Any]) -> Config:
        tree = _nest(values)
        for name in tree:
            if name not in _PER_CALL:
                raise ConfigError(_unknown(name, _PER_CALL, "cannot be overridden per call"))
        return _check(_merge(self, tree, ""))


@lru_cache(maxsize=64)
def _cached_override(config: Config, items: tuple[tuple[str, Any, type], ...]) -> Config:
    return config._override({name: value for name, value, _ in items})


def load(source: Config | Mapping[str, Any] | str | Path | None = None) -> Config:
    """Settings from a file or a mapping, with the environment on top."""
    if isinstance(source, Config):
        return source
    _refuse_former_names()
    if source is None and (named := os.environ.get("HOLDFAST_CONFIG")):
        source = named
    values = _read_file(Path(source)) if isinstance(source, str | Path) else source
    given = _with_seeds_tools(_nest({} if values is None else values))
    above = _nest(_from_environment())
    config = _check(_merge(_merge(Config(), given, ""), above, ""))
    for tree in (given, above):
        for each in _idle(config, tree):
            if each.needs.at_start:
                raise ConfigError(f"{each}; add that line, or leave {each.name} out")
    return config


def default_db() -> str:
    """Where the command line looks for a memory when it is not told: HOLDFAST_DB, then here."""
    _refuse_former_names()
    return os.environ.get("HOLDFAST_DB") or file_here("holdfast.db")


def environment_with(db: str, *, processes: int) -> dict[str, str]:
    """Ours, for one of so many processes that look for their memory there. Not among its arguments,
    which everybody on the machine can read: an address may hold a password."""
    return {**os.environ, "HOLDFAST_DB": db, "HOLDFAST_PROCESSES": str(processes)}


def file_here(name: str) -> str:
    """A file of the working directory; where only that of our former name is, that one."""
    former = name.replace("holdfast", "recollect")
    return former if not Path(name).exists() and Path(former).is_file() else name


def api_key() -> str:
    """The key that a client shows when it is given none: HOLDFAST_API_KEY."""
    _refuse_former_names()
    return os.environ.get("HOLDFAST_API_KEY", "")


def notify_socket() -> str:
    """Where systemd wants to hear that a service is ready; "" elsewhere."""
    return os.environ.get("NOTIFY_SOCKET", "")


def load_for_command_line(file: Path | None) -> Config:
    """`file`, then HOLDFAST_CONFIG, then holdfast.yml in the working directory."""
    here = Path(file_here("holdfast.yml"))
    if file is None and not os.environ.get("HOLDFAST_CONFIG") and here.is_file():
        file = here
    return load(file)


def names(config: Config | None = None) -> list[str]:
    """Every setting by its full name, for documentation and for error messages."""
    return [each.name for each in leaves(config or Config())]


def _read_file(path: Path) -> Mapping[str, Any]:
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


def _with_seeds_tools(parsed: dict[str, Any]) -> dict[str, Any]:
    """The seed's `tools: {allow: [...]}` of an agent's settings, by our name."""
    if "tools" not in parsed:
        return parsed
    tools, mcp = parsed["tools"], parsed.get("mcp", {})
    if not isinstance(tools, Mapping) or {*tools} != {"allow"} or not isinstance(mcp, Mapping):
        raise ConfigError("tools must be like {allow: [graph_write, graph_traverse]}")
    if "tools" in mcp:
        raise ConfigError("tools.allow and mcp.tools are one setting: give one of them")
    rest = {name: value for name, value in parsed.items() if name != "tools"}
    return {**rest, "mcp": {**mcp, "tools": tools["allow"]}}


def _refuse_former_names() -> None:
    for variable in os.environ:
        if variable.startswith("RECOLLECT_"):
            now = variable.replace("RECOLLECT_", "HOLDFAST_", 1)
            raise ConfigError(f"{variable} is called {now} now: Recollect has become Holdfast")


def _from_environment() -> dict[str, Any]:
    import yaml  # noqa: PLC0415

    known = {"HOLDFAST_" + _upper(each.name): each for each in leaves(Config())}
    known |= {name: known["HOLDFAST_" + name] for name in _SEED_VARIABLES}
    found: dict[str, Any] = {}
    for variable, text in os.environ.items():
        if variable in _NOT_SETTINGS or not variable.startswith(("HOLDFAST_", *_SEED_VARIABLES)):
            continue
        if variable not in known:
            raise ConfigError(_unknown(variable, [*known, *_NOT_SETTINGS], "is not a setting"))
        name, default, _ = known[variable]
        try:
            # A text is taken to the letter, a number is read as one.
            found[name] = text if isinstance(default, str) else yaml.safe_load(text)
            if isinstance(default, bool):
                found[name] = _ON_OFF.get(text.strip(), found[name])
        except yaml.YAMLError:
            raise ConfigError(f"{variable} cannot be read: {text[:64]!r}") from None
    return found


def _nest(values: object) -> dict[str, Any]:
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


def _merge(base: T, values: Mapping[str, Any], prefix: str) -> T:
    """`base` with `values` laid over it; every name and type is checked."""
    hints = get_type_hints(type(base))
    known = {_camel(each.name): each for each in fields(base)}  # type: ignore[arg-type]
    changed: dict[str, Any] = {}
    for name, value in values.items():
        full = prefix + name
        if name not in known:
            raise ConfigError(_unknown(full, [prefix + each for each in known], "is not a setting"))
        own = known[name]
        current = getattr(base, own.name)
        if isinstance(current, PerTier) and not isinstance(value, Mapping):
            number = _check_type(full, value, float)
            changed[own.name] = PerTier(*[number] * len(fields(PerTier)))
        elif is_dataclass(current):
            if not isinstance(value, Mapping):
                raise ConfigError(f"{full} holds settings of its own, for example {full}.…")
            changed[own.name] = _merge(current, value, full + ".")
        elif hints[own.name] == Profiles:
            changed[own.name] = merge_profiles(current, value, full)
        else:
            changed[own.name] = _check_type(full, value, hints[own.name], secret=not own.repr)
    return replace(base, **changed)  # type: ignore[type-var]


def _check_type(name: str, value: Any, kind: type, *, secret: bool = False) -> Any:
    if kind is str and isinstance(value, list | tuple | Mapping) and not secret:
        value = _joined(name, value)
    if kind is float and isinstance(value, int) and not isinstance(value, bool):
        value = float(value)
    if not isinstance(value, kind) or (kind is not bool and isinstance(value, bool)):
        shown = "what was given" if secret else f"{value!r:.64}"
        raise ConfigError(f"{name} must be {_KINDS[kind]}, not {shown}")
    if isinstance(value, float) and not math.isfinite(value):
        raise ConfigError(f"{name} must be a finite number, not {value!r}")
    if isinstance(value, int) and abs(value) > _LARGEST:
        raise ConfigError(f"{name} must lie below {_LARGEST}")
    return value


def _joined(name: str, values: object) -> str:
    """A list in a file as the text that a setting of several names takes: [a, b] is "a, b". By
    agent, {coder: [a, b]} is "coder: a, b"."""
    if isinstance(values, Mapping) and name == "mcp.agentTools":
        parts = ((agent, [v] if isinstance(v, str) else v) for agent, v in values.items())
        return "; ".join(f"{agent}: {_joined(f'{name}.{agent}', tools)}" for agent, tools in parts)
    if not name.startswith(_LISTED) or not isinstance(values, list | tuple):
        raise ConfigError(f"{name} must be a text, not {values!r:.64}")
    for each in values:
        if not isinstance(each, str) or "," in each or ";" in each:
            raise ConfigError(f"{name} must be a list of names, not {each!r:.64} in it")
    return ", ".join(values)


def _check(config: Config) -> Config:
    for each in leaves(config):
        _check_range(each)
    for name, part in (("blend", config.blend), ("rrf.weights", config.rrf.weights)):
        weights = list(leaves(part, name + "."))
        if not any(each.value for each in weights):
            raise ConfigError(f"{name}: at least one weight must be above 0")
        for each in weights:
            if each.value > _HEAVIEST:
                raise ConfigError(f"{each.name} must be at most {_HEAVIEST}, not {each.value!r}")
    remote = config.embedding
    if remote.provider == "remote" and not (remote.url and remote.model):
        raise ConfigError("embedding.provider remote needs embedding.url and embedding.model")
    _check_extraction(config.extraction)
    return config


def _check_range(leaf: Leaf) -> None:
    name, value, rules = leaf.name, leaf.value, leaf.field.metadata
    if value not in rules.get("choices", (value,)):
        words = " or ".join(f'"{each}"' for each in rules["choices"])
        raise ConfigError(f"{name} must be {words}, not {value!r:.64}")
    if not isinstance(value, int | float):
        return
    if value < 0 or (value == 0 and "above zero" in rules):
        least = "above 0" if "above zero" in rules else "0 or more"
        raise ConfigError(f"{name} must be {least}, not {value!r}")
    if value > 1 and "share" in rules:
        raise ConfigError(f"{name} must be between 0 and 1, not {value!r}")
    days = value if name.endswith("Days") else value / 86_400
    if name.endswith(("Days", "Seconds")) and days > _LONGEST_DAYS:
        raise ConfigError(f"{name} must be at most {_LONGEST_DAYS} days, not {value!r}")


def _check_extraction(extraction: Extraction) -> None:
    if extraction.provider not in PROVIDERS:
        raise ConfigError(f"extraction.provider must be one of {', '.join(PROVIDERS)}")
    llm = extraction.llm
    if extraction.asks_llm and not (llm.url and llm.model):
        raise ConfigError("a language model needs extraction.llm.url and extraction.llm.model")
    for name, price in (("promptPrice", llm.prompt_price), ("answerPrice", llm.answer_price)):
        if price > _HIGHEST_PRICE:
            raise ConfigError(f"extraction.llm.{name} must be at most {_HIGHEST_PRICE:,}")
    read = (("groupTokens", extraction.group_tokens), ("turnChars", extraction.turn_chars))
    for name, number in read:
        if number < _FEWEST_READ:
            raise ConfigError(f"extraction.{name} must be at least {_FEWEST_READ}")
    one_call = extraction.prompt_tokens + llm.max_answer_tokens
    if 0 < llm.daily_tokens < one_call:
        raise ConfigError(
            f"extraction.llm.dailyTokens must be 0 (no limit) or at least {one_call}, which one"
            f" call can take, not {llm.daily_tokens}"
        )


# ----------------------------------------------------------------------
# Settings that act only beside another: who uses one that does nothing is told.
# ----------------------------------------------------------------------


class _Needs(NamedTuple):
    """What settings need to act."""

    #: Settings, or groups of them.
    names: tuple[str, ...]
    met: Callable[[Config], bool]
    #: The line that makes them act.
    line: str
    #: Whether they are refused when settings are read: those that wait for a call to switch them on
    #: are not.
    at_start: bool = False


_NEEDS = (
    _Needs(("searchTopK", "rrf"), lambda c: c.fusion == "rrf", "fusion: rrf", at_start=True),
    _Needs(("blend",), lambda c: c.fusion == "blend", "fusion: blend", at_start=True),
    _Needs(
        ("embedding.url", "embedding.model"),
        lambda c: c.embedding.provider == "remote",
        "embedding.provider: remote",
        at_start=True,
    ),
    _Needs(
        ("instructionBoostWeight",),
        lambda c: c.instruction_boost_enabled,
        "instructionBoostEnabled: true",
    ),
    _Needs(("boosting.profiles",), lambda c: c.boosting.enabled, "boosting.enabled: true"),
)
_RERANKER = _Needs(("rerankDepth",), lambda _: False, "a reranker, given to open()")


class _Idle(NamedTuple):
    """A setting that was given and does nothing."""

    name: str
    needs: _Needs

    def __str__(self) -> str:
        return f"{self.name} does nothing here: it acts only with {self.needs.line}"


def idle(
    config: Config, values: Mapping[str, Any] | None, *, reranks: bool = False
) -> tuple[str, ...]:
    """What to say of the settings of one call that do nothing. `config` is that of the call;
    `reranks` says whether there is a reranker."""
    if not values:
        return ()
    return tuple(map(str, _idle(config, _nest(values), () if reranks else (_RERANKER,))))


def _idle(config: Config, tree: Mapping[str, Any], more: Sequence[_Needs] = ()) -> Iterator[_Idle]:
    given = list(_names_in(tree))
    for needs in (*_NEEDS, *more):
        if not needs.met(config):
            for name in given:
                if any(name == each or name.startswith(each + ".") for each in needs.names):
                    yield _Idle(name, needs)


def _names_in(tree: Mapping[str, Any], prefix: str = "") -> Iterator[str]:
    for name, value in tree.items():
        full = prefix + name
        # Profiles are one setting.
        if isinstance(value, Mapping) and full != "boosting.profiles":
            yield from _names_in(value, full + ".")
        else:
            yield full


class Leaf(NamedTuple):
    """One setting: its full name, its value, and the field that holds it."""

    name: str
    value: Any
    field: Field[Any]


def leaves(node: Any, prefix: str = "") -> Iterator[Leaf]:
    """Every setting of a tree."""
    for each in fields(node):
        value = getattr(node, each.name)
        name = prefix + _camel(each.name)
        if is_dataclass(value):
            yield from leaves(value, name + ".")
        else:
            yield Leaf(name, value, each)


def per_call(config: Config) -> Iterator[Leaf]:
    """The settings that one call may override."""
    return (each for each in leaves(config) if each.name.split(".")[0] in _PER_CALL)


def _camel(name: str) -> str:
    return re.sub(r"_(\w)", lambda match: match.group(1).upper(), name)


def _upper(name: str) -> str:
    """rrf.weights.keyword -> RRF_WEIGHTS_KEYWORD, searchTopK -> SEARCH_TOP_K."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).replace(".", "_").upper()


def _unknown(name: str, known: Any, what: str) -> str:
    near = difflib.get_close_matches(name, list(known), n=1, cutoff=0.5)
    hint = f'; did you mean "{near[0]}"?' if near else f"; known: {', '.join(sorted(known))}"
    return f'"{name}" {what}{hint}'


# ----------------------------------------------------------------------
# Task profiles: how custom ones are read, over the built-in ones.
# ----------------------------------------------------------------------

#: Names of the seeds -> ours.
_ALIASES = {"knowledgeBase": "knowledge"}
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,63}")
_LARGEST_WEIGHT = 1_000_000.0
_MOST_PROFILES = 64
_MOST_TRIGGERS = 64
_LONGEST_TRIGGER = 200


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
