"""A question, checked and typed, before any search."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from holdfast.errors import InvalidInput
from holdfast.language.regex import regex
from holdfast.language.terms import quoted_strings, terms, words_with_digits
from holdfast.types import ALL_TIERS, Scope

# ----------------------------------------------------------------------
# The question in a conversation: its last user turn, and what was said before it.
# ----------------------------------------------------------------------


def question(
    messages: str | Sequence[Mapping[str, Any]],
) -> tuple[str, Sequence[Mapping[str, Any]]]:
    """The last user turn of a conversation and what was said before it, or the text itself."""
    if isinstance(messages, str):
        return messages, ()
    if not isinstance(messages, Sequence):
        raise InvalidInput("messages must be a text or a list of messages", field="messages")
    turns: list[Any] = list(messages)  # Of a caller: anything may stand in it.
    for place, message in reversed(list(enumerate(turns))):
        if isinstance(message, Mapping) and message.get("role", "user") == "user":
            content = message.get("content")
            if isinstance(content, str):
                return content, turns[:place]
    raise InvalidInput("messages hold no user turn to search for", field="messages")


# English only; in other languages a question for a time is a question like any other.
_WHEN = regex(
    r"\bwhen (?:did|do|does|was|were|is|are|will|has|have|had|am)\b|^\s*when\b|\bhow long\b"
    r"|\b(?:what|which) (?:date|day|week|month|year|time)\b",
    re.IGNORECASE,
)

# Likewise: who asks what to do wants an answer that fits their taste.
_ADVICE = regex(
    r"\b(?:recommend|suggest|should i|could i|can i use|advice|advise|help me|ideas?|options?|plan"
    r"|would you|best way|how do i|how can i|what are some|tips?|which (?:one|would))\b",
    re.IGNORECASE,
)

#: What `filters=` understands: texts that must be equal, and what is hidden unless it is wanted.
TEXT_FILTERS = ("agent", "category", "kind", "name", "role", "session")
WANTED_FILTERS = ("archived", "faded")
FILTERS = tuple(sorted((*TEXT_FILTERS, *WANTED_FILTERS)))


@dataclass(frozen=True, slots=True)
class Query:
    """What is asked, by whom, as of when."""

    text: str
    scope: Scope
    limit: int
    now: datetime
    #: Only what was said by then.
    as_of: datetime | None = None
    #: Only what we knew by then.
    known_at: datetime | None = None
    #: Texts that must be equal, by column.
    filters: Mapping[str, str] = field(default_factory=dict)
    #: Also what was put aside, and what nobody has seen for so long that it is hidden.
    archived: bool = False
    faded: bool = False
    #: Only these tiers; None = all.
    tiers: tuple[str, ...] | None = None
    #: The answer is packed into a context, where rules have a block of their own.
    packing: bool = False
    #: Whether it asks nothing that a memory could answer: thanks, greetings, small talk.
    idle: bool = False
    #: Whether anybody could answer it: it is told rules, and what documents and the team say.
    general: bool = False
    #: Whether it is a question, too, and no news: of the rules under a condition it is told those
    #: that are about it.
    trivia: bool = False
    #: Tell with every hit all there is to tell; see trace.py.
    explain: bool = False
    terms: tuple[str, ...] = ()
    #: Strings in quotation marks, and words that carry a digit.
    quoted: tuple[str, ...] = ()
    coded: tuple[str, ...] = ()
    #: The question asks for a time.
    asks_when: bool = False
    #: The question asks what to do or to choose.
    asks_advice: bool = False


def query(  # noqa: PLR0913 (the parts of a question)
    text: str,
    scope: Scope,
    *,
    limit: int,
    now: datetime,
    as_of: datetime | None,
    known_at: datetime | None,
    filters: Mapping[str, Any] | None,
    tiers: Sequence[str] | None = None,
    packing: bool = False,
    explain: bool = False,
) -> Query:
    """A query from checked parts; its words are taken apart once."""
    wanted = _check_filters(filters)
    return Query(
        text=text,
        scope=scope,
        limit=limit,
        now=now,
        as_of=as_of,
        known_at=known_at,
        filters=_texts(wanted),
        archived=bool(wanted.get("archived", False)),
        faded=bool(wanted.get("faded", False)),
        tiers=_check_tiers(tiers),
        packing=packing,
        explain=explain,
        # Each term once: a query that repeats itself does not mean it twice.
        terms=tuple(dict.fromkeys(terms(text))),
        quoted=tuple(quoted_strings(text)),
        coded=tuple(words_with_digits(text)),
        asks_when=_WHEN.search(text) is not None,
        asks_advice=_ADVICE.search(text) is not None,
    )


def _check_tiers(tiers: Sequence[str] | None) -> tuple[str, ...] | None:
    if tiers is None:
        return None
    if isinstance(tiers, str) or not isinstance(tiers, Sequence):
        raise InvalidInput("tiers must be a list, for example ['session']", field="tiers")
    for tier in tiers:
        if tier not in ALL_TIERS:
            raise InvalidInput(
                f"tiers: {tier!r:.64} is not a tier; known: {', '.join(ALL_TIERS)}", field="tiers"
            )
    return tuple(tiers) or None


def _check_filters(filters: Mapping[str, Any] | None) -> Mapping[str, Any]:
    if filters is None:
        return {}
    if not isinstance(filters, Mapping):
        raise InvalidInput("filters must be a mapping", field="filters")
    for name, value in filters.items():
        if name not in FILTERS:
            raise InvalidInput(
                f"filters.{name} is not a filter; known: {', '.join(FILTERS)}",
                field=f"filters.{name}",
            )
        if name in WANTED_FILTERS and not isinstance(value, bool):
            raise InvalidInput(f"filters.{name} must be true or false", field=f"filters.{name}")
        if name in TEXT_FILTERS and not isinstance(value, str):
            raise InvalidInput(f"filters.{name} must be a text", field=f"filters.{name}")
    return filters


def _texts(filters: Mapping[str, Any]) -> dict[str, str]:
    """The filters by text. What facts call a category every record has as its kind."""
    texts = {name: text for name, text in filters.items() if name in TEXT_FILTERS}
    category = texts.pop("category", None)
    if category is not None and texts.setdefault("kind", category) != category:
        raise InvalidInput(
            "filters.category and filters.kind are one filter: name one of them",
            field="filters.category",
        )
    return texts
