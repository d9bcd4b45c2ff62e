"""Rules as records: who may end which, what is told late, what a file may claim."""

import io
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import orjson
import pytest

import holdfast
from holdfast.memory.memory import Memory
from holdfast.records.rules import Learner
from holdfast.testing import HashEmbedder
from holdfast.transfer import export_to, import_from
from holdfast.types import Event


@pytest.fixture
def memory(tmp_path: Path) -> Memory:
    return holdfast.open(tmp_path / "m.db", worker=False, embedder=HashEmbedder())


def rules(memory: Memory, **more: Any) -> list[str]:
    hits = memory.recall("answer cite", user="ann", tiers=["procedure"], limit=50, **more)
    return sorted(hit.content for hit in hits if hit.is_rule)


def sound(memory: Memory) -> bool:
    return all(finding.ok for finding in memory.check())


@pytest.mark.parametrize(
    ("role", "origin", "kind"),
    [
        ("user", "user", "instruction"),
        ("user", "web", "turn"),
        ("tool", "user", "turn"),  # As a file may claim.
        ("assistant", "user", "turn"),
        ("tool", "tool", "turn"),
    ],
)
def test_only_what_a_user_said_as_the_user_is_a_rule(role: str, origin: str, kind: str) -> None:
    now = datetime(2026, 3, 1, tzinfo=UTC)
    event = Event("01" * 16, 1, role, "Always cite sources.", now, now, origin)
    found, derived = Learner().learn(event)
    assert (found, len(derived)) == (kind, kind == "instruction")


def test_an_agent_ends_only_rules_that_were_given_under_it(memory: Memory) -> None:
    memory.remember("From now on answer in English.", user="ann", agent="a1")
    memory.remember("From now on answer in French.", user="ann", agent="a2")
    memory.remember("From now on answer in Dutch.", user="ann")
    assert rules(memory, agent="a1") == [
        "From now on answer in Dutch.", "From now on answer in English.",
    ]  # fmt: skip
    memory.remember("From now on answer in German.", user="ann", agent="a1")
    assert rules(memory, agent="a1") == [
        "From now on answer in Dutch.", "From now on answer in German.",
    ]  # fmt: skip
    assert "From now on answer in French." in rules(memory, agent="a2")


def test_a_rule_that_is_told_late_does_not_end_a_later_one(memory: Memory) -> None:
    memory.remember("From now on answer in English.", user="ann", at="2026-06-01T00:00Z")
    memory.remember("From now on answer in French.", user="ann", at="2025-01-01T00:00Z")
    assert rules(memory) == ["From now on answer in English."]
    assert rules(memory, as_of="2025-06-01T00:00Z") == ["From now on answer in French."]
    assert rules(memory, as_of="2026-07-01T00:00Z") == ["From now on answer in English."]
    assert sound(memory)


def test_a_rule_of_the_future_does_not_hold_yet(memory: Memory) -> None:
    memory.remember("Always answer in French.", user="ann", at="2190-01-01T00:00Z")
    memory.remember("It rains.", user="ann")
    assert not any("lane" in hit.why for hit in memory.recall("rain", user="ann"))
    late = memory.recall("rain", user="ann", now="2191-01-01T00:00Z")
    assert any("lane" in hit.why for hit in late)


def changed(memory: Memory, **fields: Any) -> io.BytesIO:
    """An export whose rule says something else."""
    out = io.BytesIO()
    export_to(memory.store, out)
    lines = [orjson.loads(line) for line in out.getvalue().splitlines()]
    for line in lines:
        if line.get("tier") == "procedure":
            line.update(fields)
    return io.BytesIO(b"".join(orjson.dumps(line) + b"\n" for line in lines))


@pytest.mark.parametrize(
    ("fields", "told"),
    [
        ({"role": "tool", "origin": "tool"}, "role user and origin user"),
        ({"origin": "agent"}, "role user and origin user"),
        ({"data": {"rule": "x", "condition": 5}}, "data.condition must be a text"),
        ({"data": {"rule": [1]}}, "data.rule must be a text"),
        ({"data": {"rule": "x" * 601}}, "at most 600 characters"),
    ],
)
def test_a_file_cannot_claim_a_rule(
    memory: Memory, tmp_path: Path, fields: dict[str, Any], told: str
) -> None:
    memory.remember("Always cite sources.", user="ann")
    bad = changed(memory, **fields)
    with holdfast.open(tmp_path / "n.db", worker=False, embedder=HashEmbedder()) as other:
        done = import_from(other, bad, salvage=True)  # Its checksum is no longer its own.
        assert [told in problem.reason for problem in done.problems] == [True]
        other.remember("Always use tabs.", user="ann")
        # The turn is there, its rule is not: `doctor` says so and can derive it anew.
        assert [finding.check for finding in other.check() if not finding.ok] == ["derived"]


def test_many_quoted_strings_cost_little(memory: Memory) -> None:
    memory.remember([{"content": f"number {i} the end"} for i in range(300)], user="ann")
    many = " ".join(f'"{"!" * (i % 90 + 1)}{" " * (i // 90)}"' for i in range(500))
    assert len(memory.recall(many, user="ann")) <= 10
