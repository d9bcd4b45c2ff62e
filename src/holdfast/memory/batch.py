"""Many writes in one call, one after another: what fails is listed and stops nothing."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from holdfast.border import validate
from holdfast.errors import Conflict, InvalidInput, NotFound, TooLarge

MOST = 1_000
#: What can be done, and the fields that it takes: those it needs, then those it may have.
OPERATIONS: Mapping[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "remember": (("messages",), ("session", "key", "at", "metadata", "visibility", "quick")),
    "forget": (("id",), ()),
    "restore": (("id",), ()),
    "update": (("id", "text"), ("metadata",)),
    "feedback": (("id", "value"), ("key",)),
}


@dataclass(frozen=True, slots=True)
class ItemResult:
    """What became of one item."""

    index: int
    op: str
    ok: bool
    #: The memories it is about: what was stored, changed, hidden or judged.
    ids: tuple[str, ...] = ()
    #: What was wrong, and with which field.
    error: str = ""
    field: str = ""


@dataclass(frozen=True, slots=True)
class Batch:
    """What became of the items, in their order."""

    results: tuple[ItemResult, ...]
    failed: int


#: Does one thing with the fields given; the ids it is about.
Do = Callable[[str, Mapping[str, Any]], tuple[str, ...]]


def run(items: object, do: Do) -> Batch:
    """Do all of it, item by item. An error of the store, not of an item, ends it."""
    if isinstance(items, str | bytes | Mapping) or not isinstance(items, Sequence):
        raise InvalidInput("items must be a list of objects", field="items")
    if len(items) > MOST:
        raise TooLarge(f"items are {len(items)}, the limit is {MOST}", field="items")
    results = tuple(_run_item(index, item, do) for index, item in enumerate(items))
    return Batch(results, sum(not each.ok for each in results))


def _run_item(index: int, item: object, do: Do) -> ItemResult:
    op = item.get("op") if isinstance(item, Mapping) else None
    name = op if isinstance(op, str) and op in OPERATIONS else ""
    try:
        fields = _check_item(item, name, f"items[{index}]")
        return ItemResult(index, name, True, do(name, fields))
    except (InvalidInput, NotFound, Conflict) as error:
        field = error.field if isinstance(error, InvalidInput) else ""
        return ItemResult(index, name, False, (), str(error), field)


def _check_item(item: object, op: str, where: str) -> dict[str, Any]:
    if not isinstance(item, Mapping):
        raise InvalidInput(f"{where} must be an object", field=where)
    if not op:
        raise InvalidInput(f"{where}.op must be one of {', '.join(OPERATIONS)}", field="op")
    needed, allowed = OPERATIONS[op]
    given = {name: value for name, value in item.items() if name != "op"}
    for name in given:
        if name not in (*needed, *allowed):
            raise InvalidInput(
                f"{where}.{name!s:.64} is not a field of {op}", field=f"{name!s:.64}"
            )
    validate.outer_key(given.get("key"))
    for name in needed:
        if name not in given:
            raise InvalidInput(f"{where}.{name} is required", field=name)
    return given
