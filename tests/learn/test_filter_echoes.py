"""Of what was told: rules in force and the words of others."""

from datetime import UTC, datetime
from typing import Any

import pytest

from holdfast.language.echo import digests
from holdfast.learn.filter import echo_digests
from holdfast.types import Record

THEN = datetime(2026, 3, 1, tzinfo=UTC)
TEXT = "Always cite sources when I ask."


def a_record(**more: Any) -> Record:
    plain: dict[str, Any] = {
        "id": "r1", "tier": "session", "kind": "turn", "content": TEXT, "valid_from": THEN,
        "valid_to": None, "known_from": THEN, "known_to": None, "origin": "user",
        "confidence": 1.0, "sources": (), "role": "user",
    }  # fmt: skip
    return Record(**(plain | more))


RULE = {"tier": "procedure", "kind": "instruction"}


@pytest.mark.parametrize(
    ("more", "counts"),
    [
        ({}, False),  # The user's own turn.
        (RULE, True),  # A rule in force.
        ({**RULE, "valid_to": THEN}, False),  # A rule that was ended.
        ({"tier": "procedure", "kind": "release"}, False),
        ({"role": "assistant", "origin": "agent"}, True),
        ({"role": "tool", "origin": "tool"}, True),
        ({"origin": "document"}, True),  # Imported as if a user had said it.
    ],
)
def test_what_counts(more: dict[str, Any], counts: bool) -> None:
    assert echo_digests([a_record(**more)]) == (digests(TEXT) if counts else set())


def test_several_add_up() -> None:
    told = [a_record(**RULE), a_record(role="assistant", content="Rice is washed before cooking.")]
    assert len(echo_digests(told)) == 2
