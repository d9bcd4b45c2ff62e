"""The ledger: what went into each context, and why, so that it can be asked for later.

A note holds the question, how it was asked, and of every hit that was found its score, its why and
what became of it, but no text of a memory: of what was told it keeps the digest, and ids. So a
memory that is forgotten or wiped leaves nothing behind here.

A context is handed out whether or not its note could be written.
"""

from __future__ import annotations

import logging
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from hashlib import sha256
from typing import Any

import orjson

from holdfast.errors import HoldfastError, NotFound
from holdfast.language.regex import regex
from holdfast.recall.query import Query
from holdfast.store.protocols import ContextNote, Store
from holdfast.types import Considered, Context, Explained, Hits, Scope

log = logging.getLogger("holdfast")

#: The caller waits for it, and level 6 takes nearly twice the time to save a tenth.
_LEVEL = 1
#: What was told longer ago, or before so many other contexts, is not expected back.
_LATELY = timedelta(days=1)
_LATEST = 50
_TIMES = ("now", "as_of", "known_at")
#: An id, or its end.
_HEX = regex("[0-9a-f]{6,32}")
#: What is kept of a hit besides what became of it; see `Considered`.
_OF_HIT = ("id", "tier", "kind", "origin", "score", "why")
_WANTED = ("archived", "faded")
#: Ids that end alike in six digits are few.
_MOST_ALIKE = 20


@dataclass(frozen=True, slots=True)
class Packing:
    """How a context was to be packed."""

    format: str
    packaging: str
    budget_tokens: int
    #: The settings that were changed for this call.
    overrides: Mapping[str, Any] = field(default_factory=dict)


def keep(
    store: Store, query: Query, hits: Hits, context: Context, packing: Packing, *, at: datetime
) -> None:
    """Keep a note of a context that is about to be handed out; never fails."""
    try:
        digest = sha256(context.text.encode("utf-8", "surrogatepass")).digest()
        body = zlib.compress(_body(query, hits, context, packing), _LEVEL)
        note = ContextNote(context.id, at, query.text, digest, body)
        store.note_context(query.scope, note)
    except (HoldfastError, TypeError) as error:  # TypeError: an override that is no JSON.
        # The kind of error only: its text may quote the question.
        log.warning("context %s was not recorded: %s", context.id, type(error).__name__)


def explanation(store: Store, scope: Scope, id: str) -> Explained:
    """What is known of a context, by its id or the end of it; NotFound in any other scope."""
    note, body = _one_note(store, scope, id.lower())
    for name in _TIMES:
        body[name] = None if body[name] is None else datetime.fromisoformat(body[name])
    for name in ("degraded", "tiers"):
        body[name] = None if body[name] is None else tuple(body[name])
    candidates = tuple(map(_to_considered, body.pop("candidates")))
    return Explained(
        id=note.id,
        at=note.at,
        query=note.query,
        digest=note.digest.hex(),
        candidates=candidates,
        **body,
    )


def _one_note(store: Store, scope: Scope, end: str) -> tuple[ContextNote, dict[str, Any]]:
    """The note whose id ends so, and what is in it; an agent has only its own."""
    if not _HEX.fullmatch(end):
        raise NotFound(f"a context is named by 6 to 32 hex digits, not {end[:40]!r}")
    notes = store.contexts(scope, end=end, limit=_MOST_ALIKE)
    opened = ((note, orjson.loads(zlib.decompress(note.body))) for note in notes)
    found = [each for each in opened if scope.agent in (None, each[1]["agent"])]
    if len(found) != 1:
        several = "several contexts end" if found else "no context ends"
        raise NotFound(f"{several} with {end!r} in this scope")
    return found[0]


def recent_ids(store: Store, scope: Scope, now: datetime) -> list[str]:
    """The ids of what recent contexts told this user, each once.

    Without the user's own turns: those may be said again (learn/filter.py), and are the most.
    """
    told: dict[str, None] = {}
    for note in store.contexts(scope, since=now - _LATELY, limit=_LATEST):
        body = orjson.loads(zlib.decompress(note.body))
        considered = map(_to_considered, body["candidates"])
        told.update((each.id, None) for each in considered if _may_come_back(each))
    return list(told)


def _to_considered(kept: dict[str, Any] | list[Any]) -> Considered:
    """A candidate as a note keeps it: by name, and in notes of older versions by position."""
    return Considered(*kept) if isinstance(kept, list) else Considered(**kept)


def _may_come_back(each: Considered) -> bool:
    return each.level is not None and (each.tier, each.origin) != ("session", "user")


def _body(query: Query, hits: Hits, context: Context, packing: Packing) -> bytes:
    levels = dict(zip((hit.id for hit in context.hits), context.levels, strict=True))
    dropped = {each.id: each for each in context.dropped}
    body = {
        "agent": query.scope.agent,
        "session": query.scope.session,
        "now": query.now,
        "as_of": query.as_of,
        "known_at": query.known_at,
        "limit": query.limit,
        "tiers": query.tiers,
        "filters": {**query.filters, **{name: True for name in _WANTED if getattr(query, name)}},
        "format": packing.format,
        "packaging": packing.packaging,
        "budget_tokens": packing.budget_tokens,
        "overrides": packing.overrides,
        "tokens": context.tokens,
        "task_profile": context.task_profile,
        "degraded": hits.degraded,
        "candidates": [
            {
                **{name: getattr(hit, name) for name in _OF_HIT},
                "level": levels.get(hit.id),
                "reason": dropped[hit.id].reason if hit.id in dropped else None,
                "tokens": dropped[hit.id].tokens if hit.id in dropped else None,
            }
            for hit in hits
        ],
    }
    return orjson.dumps(body, default=_plain, option=orjson.OPT_SERIALIZE_NUMPY)


def _plain(value: object) -> object:
    """What JSON does not know: any mapping or sequence of an override."""
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, set | frozenset):
        return sorted(map(str, value))
    raise TypeError(type(value).__name__)
