"""The detector on a set of its own: 386 standing rules and over 600 sentences that are none."""

import json
from hashlib import sha256
from pathlib import Path

import pytest

from holdfast.language.instructions.rules import detect

SET = Path(__file__).with_name("instructions.jsonl")
MARKERS = (
    *("always ", "never ", "from now on", "please remember", "make sure to", "don't forget"),
    *("do not forget", "every time", "whenever you", "going forward", "in the future"),
    "remember to",
)


def lines() -> list[dict[str, str]]:
    return [json.loads(line) for line in SET.read_text(encoding="utf-8").splitlines()]


def part(text: str) -> str:
    """The cues were chosen on "dev" alone; "test" says what to expect of other people's words."""
    return "test" if int(sha256(text.encode()).hexdigest()[:8], 16) % 10 < 4 else "dev"


def heard(name: str) -> list[dict[str, str]]:
    # What a tool, a document or the assistant says is never shown to the detector.
    return [line for line in lines() if line["role"] == "user" and part(line["text"]) == name]


def test_the_set_is_large_and_few_rules_open_with_a_marker() -> None:
    said = [line for line in lines() if line["role"] == "user"]
    rules = [line["text"].lower() for line in said if line["label"] == "rule"]
    assert len(rules) >= 250
    assert len(said) - len(rules) >= 400
    assert sum(rule.startswith(MARKERS) for rule in rules) <= 0.2 * len(rules)
    assert len({line["text"] for line in said}) == len(said)


@pytest.mark.parametrize("name", ["dev", "test"])
def test_rules_are_found_and_little_else(name: str) -> None:
    said = heard(name)
    tagged = [line for line in said if any(f.kind == "rule" for f in detect(line["text"]))]
    right = sum(line["label"] == "rule" for line in tagged)
    recall = right / sum(line["label"] == "rule" for line in said)
    precision = right / len(tagged)
    print(f"{name}: precision {precision:.3f}, recall {recall:.3f} of {len(said)}")
    assert recall >= 0.80
    assert precision >= 0.95


@pytest.mark.parametrize("kind", ["action_grant", "injection"])
def test_grants_and_injections_are_known_for_what_they_are(kind: str) -> None:
    texts = [line["text"] for line in lines() if line["label"] == kind]
    known = sum({f.kind for f in detect(text)} == {kind} for text in texts)
    print(f"{kind}: {known} of {len(texts)}")
    assert known >= 0.9 * len(texts)
