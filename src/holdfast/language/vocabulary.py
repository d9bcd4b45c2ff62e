"""The types of entities and relations, and how other words map onto them.

A type that is not ours maps to the nearest one and is kept beside it as it was given. A word that
says the reverse of a type ("causes") does not map to it: that would turn the claim around.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

from holdfast.language.regex import regex

ENTITY_TYPES: tuple[str, ...] = (
    "person", "team", "event", "concept", "market", "outcome", "document", "place", "organization",
)  # fmt: skip
#: What nothing better is known of.
ANY_ENTITY = "concept"
ANY_RELATION = "related_to"

#: Relation type -> how it reads between two names.
_PHRASES = {
    "plays_for": "plays for",
    "related_to": "is related to",
    "caused_by": "was caused by",
    "contradicts": "contradicts",
    "supports": "supports",
    "part_of": "is part of",
    "preceded_by": "was preceded by",
    "correlated_with": "is correlated with",
    "mentioned_in": "is mentioned in",
    "user_noted": "was noted with",
}
RELATION_TYPES: tuple[str, ...] = tuple(_PHRASES)

_NEAREST_ENTITY = {
    "person": "people human individual user contact character player athlete author artist friend"
    " family relative colleague employee customer patient child parent pet animal",
    "team": "squad club crew band group department committee",
    "event": "meeting trip appointment incident holiday vacation conference party wedding match"
    " game concert visit activity milestone deadline date",
    "market": "stock ticker share index commodity currency exchange asset instrument sector",
    "outcome": "result decision goal achievement outcome_measure target metric score",
    "document": "file paper article book report note page url website link email message letter"
    " contract invoice song film movie",
    "place": "location city town village country region state street address venue building room"
    " landmark restaurant geo gpe",
    "organization": "organisation org company business firm corporation employer school university"
    " institution agency government ngo bank hospital brand",
}
_NEAREST_RELATION = {
    "plays_for": "plays_in works_for works_at employed_by employee_of plays_at",
    "caused_by": "due_to because_of results_from result_of triggered_by",
    "contradicts": "conflicts_with disagrees_with opposes refutes denies",
    "supports": "confirms backs agrees_with proves evidence_for",
    "part_of": "member_of belongs_to located_in in within subset_of component_of",
    "preceded_by": "after follows comes_after succeeds",
    "correlated_with": "correlates_with associated_with linked_with",
    "mentioned_in": "appears_in cited_in described_in",
    "user_noted": "noted noted_by_user",
}
_ENTITY = {word: known for known, words in _NEAREST_ENTITY.items() for word in words.split()}
_RELATION = {word: known for known, words in _NEAREST_RELATION.items() for word in words.split()}
#: Between the words of "livesIn", "lives-in" and "lives in".
_BORDER = regex(r"(?<=[a-z])(?=[A-Z])|[\s_-]+")


class Typed(NamedTuple):
    """A type of ours, and the word it was given as, where that was another."""

    type: str
    original: str | None = None


def entity_type(word: str) -> Typed:
    """The entity type for a word."""
    return _nearest(word, ENTITY_TYPES, _ENTITY, ANY_ENTITY)


def relation_type(word: str) -> Typed:
    """The relation type for a word."""
    return _nearest(word, RELATION_TYPES, _RELATION, ANY_RELATION)


@lru_cache(maxsize=4096)
def key(word: str) -> str:
    """A type as it is compared: "livesIn", "LIVES_IN" and "lives in" are one."""
    parts = [part.lower() for part in _BORDER.split(word) if part]
    return "_".join(parts)


def label(type: str, original: str | None) -> str:
    """A relation as it reads between two names."""
    return _PHRASES[type] if original is None else key(original).replace("_", " ")


def sentence(source: str, type: str, original: str | None, target: str) -> str:
    """A relation as its record tells it."""
    return f"{source} {label(type, original)} {target}"


def _nearest(word: str, known: tuple[str, ...], table: dict[str, str], default: str) -> Typed:
    same = key(word)
    if same in known:
        return Typed(same)
    return Typed(table.get(same, table.get(same.removesuffix("s"), default)), word)
