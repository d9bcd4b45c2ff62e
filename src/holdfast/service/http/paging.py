"""Lists page by page: a cursor says after which item the next page begins.

A list that is made in memory is made anew for every page. The cursor names the last item that was
given, so what others add or take away meanwhile neither repeats an item nor passes one over; if
that very item is gone, its place counts.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any

from holdfast.border import validate
from holdfast.border.ids import cursor_at, place_of
from holdfast.catalogue.codec import dumps, enveloped
from holdfast.catalogue.verb import Verb
from holdfast.errors import InvalidInput

#: So long is the longest list; what is beyond is reached with narrower questions.
LONGEST = 10_000
_DIGEST_BYTES = 12


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which page of a list is asked for."""

    cursor: str | None
    #: None: all of it.
    limit: int | None


def wanted(verb: Verb[..., object], sent: dict[str, Any]) -> Wanted:
    """What a request says about pages, taken out of it."""
    cursor, limit = sent.pop("cursor", None), sent.pop("limit", None)
    if cursor is not None and not isinstance(cursor, str):
        raise InvalidInput("cursor must be a string", field="cursor")
    if limit is None and verb.has("limit"):
        limit = next(each.default for each in verb.parameters if each.name == "limit")
    if limit is not None:
        validate.whole_number(limit, "limit", 1, longest(verb))
    return Wanted(cursor, limit)


def longest(verb: Verb[..., object]) -> int:
    """The most that a verb lists."""
    return int(verb.most.get("limit", LONGEST))


def page(
    verb: Verb[..., object],
    call: Callable[..., Sequence[Any]],
    arguments: dict[str, Any],
    asked: Wanted,
) -> dict[str, Any]:
    """One page of what a verb lists, and the cursor of the next."""
    of = [verb.name, arguments]
    most = longest(verb)
    if asked.cursor is None:
        # One more tells whether there is another page.
        enough = None if asked.limit is None else min(asked.limit + 1, most)
        items, start = _listed(verb, call, arguments, enough), 0
    else:
        last, place = _place(asked.cursor, of)
        items = _listed(verb, call, arguments, most)
        start = next((n + 1 for n, each in enumerate(items) if _name(each) == last), place)
    end = len(items) if asked.limit is None else start + asked.limit
    shown = list(items[start:end])
    more = end < len(items) and shown
    following = cursor_at((_name(shown[-1]), end), of=of) if more else None
    return {**enveloped(shown, verb.answer), "next": following}


def _listed(
    verb: Verb[..., object],
    call: Callable[..., Sequence[Any]],
    arguments: dict[str, Any],
    limit: int | None,
) -> Sequence[Any]:
    if verb.has("limit"):
        return call(**arguments, limit=limit)
    return call(**arguments)


def _place(cursor: str, of: object) -> tuple[str, int]:
    last, place = place_of(cursor, of=of, kinds=(str, int))
    return last, max(0, place)


def _name(item: Any) -> str:
    """What an item is known by: its id, or what it says."""
    id = getattr(item, "id", None)
    return (
        str(id) if id is not None else blake2b(dumps(item), digest_size=_DIGEST_BYTES).hexdigest()
    )
