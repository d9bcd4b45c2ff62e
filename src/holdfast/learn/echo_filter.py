"""What of the memories that a context told is not learned when it comes back.

A rule in force, which need not be learned twice, and what others than the user said, which was
never a rule. The user's own turns do not count: who says a rule again after it was ended, or after
it was forgotten, means it. This module knows nothing about contexts or storage.
"""

from __future__ import annotations

from collections.abc import Iterable

from holdfast.language.echo import digests
from holdfast.types import ORIGIN_OF_ROLE, Record


def recalled(told: Iterable[Record]) -> set[bytes]:
    """The digests of the sentences that count; see language/echo.py."""
    found: set[bytes] = set()
    for record in told:
        if _in_force(record) or not _of_the_user(record):
            found |= digests(record.content)
    return found


def _in_force(record: Record) -> bool:
    is_rule = (record.tier, record.kind) == ("procedure", "instruction")
    return is_rule and record.valid_to is None


def _of_the_user(record: Record) -> bool:
    return ORIGIN_OF_ROLE[record.role] == "user" and record.origin == "user"
