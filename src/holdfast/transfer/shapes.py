"""What the system's own fields of a record must look like: an import is somebody else's file.

Verbs read these fields without looking twice. A line whose fields have another shape is refused as
a whole: stored, it would break every verb of its owner.
"""

from __future__ import annotations

from datetime import datetime

from holdfast.transfer.taking import refuse
from holdfast.types import Record

_MOST_ITEMS = 10_000
_TEXTS = frozenset(
    {
        *("about", "aliases", "consolidated_from", "contradicts", "entities", "facts"),
        *("keywords", "replaces", "steps", "tags", "values"),
    }
)
_TEXT = frozenset(
    {
        *("author", "avoid", "category", "claim", "digest", "format", "headline", "key", "name"),
        *("outcome", "reason", "section", "slot", "speaker", "state", "status", "subject"),
        *("title", "trigger", "value"),
    }
)
_NUMBERS = frozenset(["chunks", "failed", "number", "page", "tokens", "version", "worked"])
_MOMENTS = frozenset({"due"})
_STEPS = ("title", "steps", "tags", "trigger", "version", "worked", "failed", "claim")
#: What a record of a tier and a kind cannot be read without.
_NEEDED = {
    ("fact", "conflict"): ("facts",),
    **dict.fromkeys((("procedure", each) for each in ("workflow", "rule", "template")), _STEPS),
    ("knowledge", "entry"): ("key", "claim"),
    ("knowledge", "document"): ("name", "claim"),
}


def check_shape(record: Record) -> None:
    """Refuse a record whose system fields no verb could read. The graph checks its own."""
    if record.tier == "graph":
        return
    for name, value in record.data.items():
        if (record.tier, name) != ("knowledge", "about"):  # The front matter of a document.
            _check(name, value)
    needed = _NEEDED.get((record.tier, record.kind), ())
    if record.tier == "fact" and record.data.get("outcome") == "clarify":
        needed = (*needed, "about")
    if record.tier == "profile":
        needed = ("claim",)
    for name in needed:
        if name not in record.data:
            refuse(f"data.{name} is missing")


def _check(name: str, value: object) -> None:
    if value is None:
        return
    if name in _TEXTS and not _is_texts(value):
        refuse(f"data.{name} must be a list of at most {_MOST_ITEMS} texts")
    if name in _TEXT and not isinstance(value, str):
        refuse(f"data.{name} must be a text")
    if name in _NUMBERS and (isinstance(value, bool) or not isinstance(value, int | float)):
        refuse(f"data.{name} must be a number")
    if name in _MOMENTS and not _is_moment(value):
        refuse(f"data.{name} must be a time with a zone")


def _is_texts(value: object) -> bool:
    if not isinstance(value, list) or len(value) > _MOST_ITEMS:
        return False
    return all(isinstance(each, str) for each in value)


def _is_moment(value: object) -> bool:
    try:
        return isinstance(value, str) and datetime.fromisoformat(value).tzinfo is not None
    except ValueError:
        return False
