"""`config_override`: settings for one request, as a flat object of known names.

Names that do not exist are let through and listed in a header, so that one client can talk to
servers of several versions. A name that exists but must not be changed per request, a wrong type or
a nested value is an error. What was applied is told in headers, under our name and the seed's.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, fields, is_dataclass, replace
from typing import Any
from urllib.parse import quote

from holdfast.border.write_options import ENABLED, PER_WRITE, PROVIDER, handling
from holdfast.config import Config, names
from holdfast.errors import ConfigError, InvalidInput

_PREFIXES = ("X-Holdfast-", "X-Atomicmem-")
_MOST_KEYS = 64
_MOST_KEY_BYTES = 64
#: No setting is anywhere near it, and arithmetic with it is safe.
_LARGEST_NUMBER = 1_000_000_000
#: Task profiles are one setting; here each of their weights has a name:
#: boosting.profiles.debugging.weights.session.
_PROFILES = "boosting.profiles."


@dataclass(frozen=True, slots=True)
class Override:
    """The settings of one request."""

    config: Config
    applied: Mapping[str, Any] = field(default_factory=dict)
    #: Response headers; none when nothing was asked for.
    headers: Mapping[str, str] = field(default_factory=dict)


def override_for(config: Config, asked: Mapping[str, Any] | None) -> Override:
    """The configuration of one request."""
    if not asked:
        return Override(config)
    known = frozenset(names())
    _check(asked, known)
    ours = {name for name in asked if name in known or name.startswith(_PROFILES)}
    applied = {name: value for name, value in asked.items() if name in ours}
    unknown = [name for name in asked if name not in ours]
    try:
        effective = config.override(applied)
    except ConfigError as error:
        raise InvalidInput(f"config_override: {error}", field="config_override") from error
    return Override(effective, applied, _override_headers(effective, list(applied), unknown))


def override_for_write(config: Config, asked: Mapping[str, Any] | None) -> Override:
    """The configuration of one request that stores. `applied` are the settings of reading; those of
    recall, which a client may send with every request, are listed as what means nothing here."""
    if not asked:
        return Override(config)
    _check(asked, frozenset(names()))
    applied = {name: value for name, value in asked.items() if name in PER_WRITE}
    others = {name: value for name, value in asked.items() if name not in PER_WRITE}
    override_for(config, others)  # What no request may change is refused here, too.
    try:
        handling(config, agent=None, overrides=applied)
    except ConfigError as error:
        raise InvalidInput(f"config_override: {error}", field="config_override") from error
    extraction = replace(
        config.extraction,
        enabled=applied.get(ENABLED, config.extraction.enabled),
        provider=applied.get(PROVIDER, config.extraction.provider),
    )
    effective = replace(config, extraction=extraction)
    return Override(effective, applied, _override_headers(effective, list(applied), list(others)))


def config_hash(config: Config) -> str:
    """sha256 over the settings as key-sorted JSON, secrets left out."""
    text = json.dumps(_public(config), sort_keys=True, separators=(",", ":"))
    return "sha256:" + hashlib.sha256(text.encode()).hexdigest()


def _override_headers(effective: Config, applied: list[str], unknown: list[str]) -> dict[str, str]:
    """The headers that say what was applied."""
    told = {
        "Config-Override-Applied": "true" if applied else "false",
        "Config-Override-Keys": _header_list(applied),
        "Effective-Config-Hash": config_hash(effective),
    }
    if unknown:
        told["Unknown-Override-Keys"] = _header_list(unknown)
    return {prefix + name: value for prefix in _PREFIXES for name, value in told.items()}


def _check(asked: Mapping[str, Any], known: Collection[str]) -> None:
    if len(asked) > _MOST_KEYS:
        _refuse("", f"has {len(asked)} keys, the limit is {_MOST_KEYS}")
    for name, value in asked.items():
        # They come back in a header.
        if not name.strip() or len(name.encode("utf-8", "replace")) > _MOST_KEY_BYTES:
            _refuse("", f"has a key that is blank or over the limit of {_MOST_KEY_BYTES} bytes")
        if isinstance(value, dict | list):
            _refuse(name, "is nested: send a flat object of names such as rrf.k")
        # A group is a mistake, not a name of the future.
        if any(each.startswith(name + ".") for each in known):
            _refuse(name, "holds settings of its own: name one of them, such as rrf.k")
        if isinstance(value, int | float) and abs(value) > _LARGEST_NUMBER:
            _refuse(name, f"is a number over the limit of {_LARGEST_NUMBER}")


def _refuse(name: str, why: str) -> None:
    where = f"config_override.{name}" if name else "config_override"
    raise InvalidInput(f"{where} {why}", field=where)


def _header_list(keys: list[str]) -> str:
    """Names as a header value: what could break out of it is percent-encoded."""
    return ",".join(quote(key, safe="", errors="replace") for key in keys)


def _public(node: Any) -> Any:
    """The settings as plain values; a field that must not be printed is a secret."""
    if isinstance(node, tuple):
        return [_public(each) for each in node]
    if not is_dataclass(node):
        return node
    return {each.name: _public(getattr(node, each.name)) for each in fields(node) if each.repr}
