"""How much a user has in each tier, how it grows and fades, and how full a conversation is."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from fractions import Fraction

from holdfast.border import validate
from holdfast.errors import InvalidInput
from holdfast.records.fading import strength, until
from holdfast.records.parts import seen
from holdfast.settings import DECAY, Decay
from holdfast.store.protocols import Store
from holdfast.types import ALL_TIERS, Record, Scope

# ----------------------------------------------------------------------
# When a conversation will have outgrown the model's window, and what to save before it has.
#
#     turns left = floor((threshold x window - tokens) / tokens per turn)
#     tokens per turn = tokens / max(1, messages / 2)          a turn is a question and its answer
#
# With one to five turns left it is time to save what matters. Reckoned in fractions: a turn more
# or less for the sake of a rounding error would be a save too late.
# ----------------------------------------------------------------------

#: How much of the window a conversation may fill before it is summed up. The seed's.
THRESHOLD = 0.7
#: Tokens of a window where nobody says how many it has.
WINDOW = 128_000
_MOST_TOKENS = 100_000_000
_MOST_MESSAGES = 100_000_000
_SAVE_WITHIN = 5
#: What fades, and how much of it is foretold.
_FADING_TIERS = ("note", "graph")
_MOST_FORETOLD = 1000


@dataclass(frozen=True, slots=True)
class SessionStats:
    """How full a conversation is."""

    session: str
    #: Messages that are not summed up yet.
    messages: int
    #: Tokens of these and of the summary of the others.
    tokens: int
    #: Tokens of a question and its answer.
    average: float
    max_context_tokens: int
    #: Turns until it is to be summed up; None while nothing was said.
    turns_left: int | None
    #: It is time to save what matters.
    save_now: bool


def turns_until_compaction(
    max_context_tokens: int, current_tokens: int, messages: int, threshold: float = THRESHOLD
) -> int | None:
    """How many turns fit before the conversation is to be summed up; 0 when it is time already.

    None while there are no tokens: nothing can be foretold of nothing.
    """
    window = validate.whole_number(max_context_tokens, "max_context_tokens", 1, _MOST_TOKENS)
    tokens = validate.whole_number(current_tokens, "current_tokens", 0, _MOST_TOKENS)
    count = validate.whole_number(messages, "messages", 0, _MOST_MESSAGES)
    room = _share(threshold) * window - tokens
    if not tokens:
        return None
    return max(0, room * max(2, count) // (2 * tokens))


def stats(
    session: str,
    *,
    tokens: int,
    messages: int,
    max_context_tokens: int,
    threshold: float,
    summary: int = 0,
) -> SessionStats:
    """The figures of one conversation. `summary` of its tokens are those of what was summed up: it
    takes room, but a turn is no longer for it."""
    said = tokens - summary
    validate.whole_number(max_context_tokens, "max_context_tokens", 1, _MOST_TOKENS)
    room = max_context_tokens - Fraction(summary) / _share(threshold)
    left = turns_until_compaction(max(1, int(room)), said, messages, threshold)
    return SessionStats(
        session=session,
        messages=messages,
        tokens=tokens,
        average=said / max(1, messages / 2),
        max_context_tokens=max_context_tokens,
        turns_left=left,
        save_now=left is not None and 1 <= left <= _SAVE_WITHIN,
    )


def _share(threshold: object) -> Fraction:
    """The threshold as it is written: 0.7 is seven tenths, which no float is."""
    is_number = isinstance(threshold, int | float) and not isinstance(threshold, bool)
    if not is_number or not 0 < float(str(threshold)) <= 1:  # Nor is NaN.
        raise InvalidInput(
            f"threshold must lie above 0 and not above 1, not {threshold!r}", field="threshold"
        )
    return Fraction(str(threshold))


@dataclass(frozen=True, slots=True)
class Stats:
    """What a user has, and of a session that was named how full it is."""

    #: Memories that hold, by tier.
    tiers: Mapping[str, int]
    session: SessionStats | None = None


def count_by_tier(store: Store, scope: Scope) -> dict[str, int]:
    """Memories that hold, by tier; every tier is there."""
    found = Counter[str]()
    for each in store.growth(scope):
        found[each.tier] += each.holding
    return {tier: found[tier] for tier in ALL_TIERS}


@dataclass(frozen=True, slots=True)
class Fading:
    """A memory that will be hidden, or is."""

    id: str
    tier: str
    kind: str
    content: str
    #: Now, and after the days asked for.
    strength: float
    then: float
    #: From this time on it is left out, unless something touches it.
    hidden_at: datetime
    #: Whether it is already.
    hidden: bool


def decay_preview(
    store: Store,
    scope: Scope,
    *,
    now: datetime,
    days: float,
    limit: int = _MOST_FORETOLD,
    decay: Decay = DECAY,
) -> list[Fading]:
    """What is hidden already or will be within so many days if nothing touches it, the first to go
    first; of what the asker may see. Entities that an edge still leads to are shown longer than
    this says."""
    then = now + timedelta(days=days)
    found = [
        fading
        for tier in _FADING_TIERS
        for record in seen(store.listed(scope, tier=tier), scope)
        if (fading := _fading(record, now, then, decay)) is not None
    ]
    return sorted(found, key=lambda each: (each.hidden_at, each.id))[:limit]


def _fading(record: Record, now: datetime, then: datetime, decay: Decay) -> Fading | None:
    hidden_at = until(record, decay)
    if hidden_at is None or hidden_at >= then:
        return None
    return Fading(
        record.id,
        record.tier,
        record.kind,
        record.content,
        round(strength(record, now, decay), 6),
        round(strength(record, then, decay), 6),
        hidden_at,
        hidden_at < now,
    )


@dataclass(frozen=True, slots=True)
class Grown:
    """What was learned on one day (UTC) and is still there."""

    day: date
    total: int
    #: By tier; those without any are left out.
    tiers: Mapping[str, int]


def growth_by_day(store: Store, scope: Scope, *, now: datetime, days: int) -> list[Grown]:
    """So many days up to today, oldest first, also those on which nothing came."""
    first = now.date() - timedelta(days=days - 1)
    since = datetime.combine(first, time(), now.tzinfo)
    found: dict[date, dict[str, int]] = {}
    for each in store.growth(scope, since=since):
        found.setdefault(each.day, {})[each.tier] = each.learned
    # What was learned by a clock that ran ahead is there too.
    spans = [first + timedelta(days=number) for number in range(days)]
    listed = sorted({*spans, *found})
    return [Grown(day, sum(found.get(day, {}).values()), found.get(day, {})) for day in listed]
