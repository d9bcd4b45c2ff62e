"""The frames of the event stream: how what happens is written, and where a reader stood."""

from __future__ import annotations

from typing import Any

from holdfast.catalogue.codec import dumps
from holdfast.errors import InvalidInput
from holdfast.service.events import BURIED, event, wanted
from holdfast.store.values import Happened, Mark


def written(batch: list[Happened], begin: Mark, names: tuple[str, ...]) -> bytes:
    """Events as they travel. The last of those with one number carries the id."""
    lines, at_us = [], begin.at_us
    for index, each in enumerate(batch):
        at_us = max(at_us, each.at_us)
        if not wanted(each, names):
            continue
        is_last = index + 1 == len(batch) or batch[index + 1].change != each.change
        id = f"id: {begin.epoch}-{each.change}-{at_us}\n" if is_last else ""
        told = event(each)
        lines.append(f"{id}event: {told['type']}\ndata: {dumps(told).decode()}\n\n")
    return "".join(lines).encode()


def buried(died: list[dict[str, Any]], names: tuple[str, ...]) -> bytes:
    """Dead letters as they travel."""
    if names and BURIED not in names:
        return b""
    return b"".join(b"event: job.dead\ndata: %s\n\n" % dumps(each) for each in died)


def mark_of(text: str) -> Mark:
    """Where somebody stood who shows a `Last-Event-ID`."""
    parts = text.strip().split("-")
    if len(parts) != 3 or not all(part.isascii() and part.isdecimal() for part in parts):
        raise InvalidInput("Last-Event-ID is none of this stream", field="Last-Event-ID")
    return Mark(*(min(int(part[:19]), (1 << 62) - 1) for part in parts))
