"""New versions of facts made by hand: another text, or the answer to what was unclear; and whether
the same was done before."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import datetime

from holdfast.errors import InvalidInput
from holdfast.index.postings import packed
from holdfast.language.claims.claim import read_claim
from holdfast.language.claims.slots import USER
from holdfast.language.statements.values import FactDraft
from holdfast.records.entries import indexed_terms
from holdfast.records.facts.plan import LOUD, QUIET, again, category_of, hashed
from holdfast.records.versions import first_id
from holdfast.store.protocols import Derived
from holdfast.types import Record

#: What was said of the old text and need not be so of the new one.
_OF_TEXT = frozenset({"headline", "keywords", "entities", "slot", "value", "contradicts", "avoid"})


def edited(
    record: Record,
    text: str,
    *,
    origin: str,
    now: datetime,
    category: str | None = None,
    confidence: float | None = None,
) -> Derived:
    """A fact with another text, category or confidence, in the place of the one it had."""
    kind = category_of(category or record.kind, origin)
    claim = read_claim(text, str(record.data.get("speaker") or USER))
    row, length = packed(indexed_terms(record.name, text))
    kept = {name: value for name, value in record.data.items() if name not in _OF_TEXT}
    told = {"slot": claim.slot, "value": claim.value}
    data = {
        **kept,
        **{name: value for name, value in told.items() if value},
        "claim": first_id(record),
        "replaces": [record.id],
        "outcome": "update",
        "reason": "edited",
        "polarity": claim.polarity,
        "verbatim": False,
        "category": kind,
    }
    return replace(
        again(record),
        id=hashed("edited", record.id, text, now.isoformat()),
        kind=kind,
        confidence=record.confidence if confidence is None else confidence,
        content=text,
        data=data,
        origin=origin,
        terms=row,
        length=length,
        valid_from=max(now, record.valid_from),
        valid_to=None,
        supersedes=(record.id,),
        quiet=LOUD,
        sources=(),  # By hand: it stays when the turn is forgotten whose words it corrects.
        metadata=record.metadata,
        reason="edited",
    )


def added_id(draft: FactDraft, moment: str) -> str:
    """The id of a fact without a turn: of its text and the moment, so that it can be added again
    after it was taken back."""
    return hashed("added", draft.text, draft.origin, moment)


def share(value: object, name: str) -> float:
    """A number in 0..1."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
        raise InvalidInput(f"{name} must be a number in 0..1, not {str(value)[:64]!r}", field=name)
    return float(value)


def confirmed_version(record: Record, *, keep: str, about: Sequence[str]) -> Derived:
    """The fact that was unclear, now that somebody said that it holds; `about` are those that hold
    beside it."""
    ended = list(about) if keep == "new" else []
    data = {name: value for name, value in record.data.items() if name != "about"}
    data |= {
        "claim": record.id,
        "outcome": "supersede" if ended else "add",
        "reason": "answered",
        "replaces": [record.id, *ended],
    }
    if keep == "both":
        data["contradicts"] = list(about)
    return replace(
        again(record),
        id=answer_id(record.id),
        data=data,
        valid_to=None,
        supersedes=(record.id, *ended),
        quiet=QUIET if record.data.get("verbatim") else LOUD,
        metadata=record.metadata if not record.sources else None,
        reason="answered",
    )


def edited_before(
    versions: Iterable[Record],
    record: Record,
    text: str,
    *,
    origin: str,
    category: str | None = None,
    confidence: float | None = None,
) -> str | None:
    """The version in force that this very change made of a fact: it was sent before."""
    kind = None if category is None else category_of(category, origin)
    for each in versions:
        is_of_it = each.data.get("reason") == "edited" and each.data["replaces"] == [record.id]
        is_so = (each.content, each.origin) == (text, origin)
        is_so = is_so and kind in (None, each.kind) and confidence in (None, each.confidence)
        if is_of_it and is_so and each.known_to is None:
            return each.id
    return None


def answer_id(id: str) -> str:
    """The id of what an unclear fact becomes when somebody says that it holds."""
    return hashed("answered", id)


def is_answer(record: Record, keep: str) -> bool:
    """Whether a fact that was unclear holds because of this answer."""
    is_both = "contradicts" in record.data
    return record.known_to is None and keep == ("both" if is_both else "new")
