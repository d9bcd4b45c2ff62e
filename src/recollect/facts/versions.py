"""New versions of facts made by hand: another text, or the answer to what was unclear."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from recollect.facts.claim import read
from recollect.facts.follow import chain
from recollect.facts.plan import LOUD, QUIET, again, category_of, hashed
from recollect.facts.slots import USER
from recollect.index.postings import packed
from recollect.store.base import Derived
from recollect.types import Record
from recollect.write.prepare import indexed_terms

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
    claim = read(text, str(record.data.get("speaker") or USER))
    row, length = packed(indexed_terms(record.name, text))
    kept = {name: value for name, value in record.data.items() if name not in _OF_TEXT}
    told = {"slot": claim.slot, "value": claim.value}
    data = {
        **kept,
        **{name: value for name, value in told.items() if value},
        "claim": chain(record),
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


def answered(record: Record, *, keep: str, about: Sequence[str]) -> Derived:
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
        id=hashed("answered", record.id),
        data=data,
        valid_to=None,
        supersedes=(record.id, *ended),
        quiet=QUIET if record.data.get("verbatim") else LOUD,
        metadata=record.metadata if not record.sources else None,
        reason="answered",
    )
