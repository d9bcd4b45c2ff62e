"""How much a user has in each tier, and how full a conversation is."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

from holdfast.border import validate
from holdfast.errors import InvalidInput
from holdfast.store.protocols import Store
from holdfast.types import ALL_TIERS, Scope

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
