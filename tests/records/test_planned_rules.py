"""What lines make of the rules in force, with a model that says what it is told."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import holdfast
from holdfast.language.instructions.rules import Rule
from holdfast.models.reader import RELATIONS
from holdfast.records.rules import Relate, RuleDraft, planned_rules
from holdfast.types import Event, Record, Scope
from tests.learn.test_drafts_from_lines import NOON

SCOPE = Scope("default", "ann")


def in_force(path: Path, *rules: str) -> list[Record]:
    with holdfast.open(path / "m.db", worker=False) as memory:
        for rule in rules:
            memory.remember(rule, user="ann", at=NOON - timedelta(days=9))
        return memory.store.listed(SCOPE, tier="procedure", kind="instruction")


def draft(
    text: str,
    *,
    is_end: bool = False,
    score: float = 0.9,
    replaces: bool = False,
    ends: float = 0.5,
) -> RuleDraft:
    event = Event("e9", 9, "user", text, NOON, NOON, "user")
    rule = Rule(text, text, None, score, replaces, 1_000)
    return RuleDraft(event, rule, [(text, "")], ends, is_end, is_stored=False)


def saying(relation: str, sure: float, about: str) -> Relate:
    """A model that says this of the known line with these words, and else that nothing relates."""

    def relate(_new: str, _before: str, known: Sequence[str]) -> list[dict[str, float]]:
        rest = dict.fromkeys(RELATIONS, 0.0) | {"unrelated": 1.0}
        hit = dict.fromkeys(RELATIONS, 0.0) | {relation: sure, "unrelated": 1.0 - sure}
        return [hit if about in each else rest for each in known]

    return relate


def test_a_new_rule_stands_beside_those_that_it_does_not_end(tmp_path: Path) -> None:
    current = in_force(tmp_path, "Always answer in French.")
    new = draft("no emojis pls", score=0.7)
    (made,) = planned_rules([new], current, saying("replaces", 0.06, "French"))
    assert (made.kind, made.supersedes, made.content) == ("instruction", (), "no emojis pls")
    assert made.confidence == 0.7


def test_a_withdrawal_ends_its_rule_and_no_other(tmp_path: Path) -> None:
    current = in_force(tmp_path, "Always answer in French.", "Never use emojis.")
    french = next(rule for rule in current if "French" in rule.content)
    line = draft("English is fine again", is_end=True, score=0.01, replaces=True)
    (made,) = planned_rules([line], current, saying("withdraws", 0.6, "French"))
    assert (made.kind, made.supersedes) == ("release", (french.id,))


def test_what_ends_a_rule_and_may_give_another_is_told_in_its_place(tmp_path: Path) -> None:
    current = in_force(tmp_path, "Always answer in French.")
    line = draft("rather Dutch from now on", is_end=True, score=0.3, replaces=True)
    (made,) = planned_rules([line], current, saying("withdraws", 0.6, "French"))
    assert (made.kind, made.supersedes) == ("instruction", (current[0].id,))


def test_a_rule_that_is_said_again_is_not_stored_again(tmp_path: Path) -> None:
    current = in_force(tmp_path, "Always answer in French.")
    assert planned_rules([draft("French please")], current, saying("same", 0.9, "French")) == []


def test_a_withdrawal_of_nothing_that_is_known_leaves_nothing(tmp_path: Path) -> None:
    current = in_force(tmp_path, "Always answer in French.")
    line = draft("forget it", is_end=True, score=0.0, replaces=True)
    assert planned_rules([line], current, saying("withdraws", 0.1, "French")) == []


def test_what_was_said_later_is_not_ended(tmp_path: Path) -> None:
    with holdfast.open(tmp_path / "m.db", worker=False) as memory:
        late = datetime(2026, 6, 1, tzinfo=UTC)
        memory.remember("Always answer in French.", user="ann", at=late)
        current = memory.store.listed(SCOPE, tier="procedure", kind="instruction")
    line = draft("English is fine again", is_end=True, score=0.0, replaces=True)
    assert planned_rules([line], current, saying("withdraws", 0.9, "French")) == []


def test_the_same_lines_again_make_the_same_records(tmp_path: Path) -> None:
    current = in_force(tmp_path, "Always answer in French.")
    lines = [draft("no emojis pls")]
    once, again = (planned_rules(lines, current, saying("replaces", 0.7, "French")) for _ in "ab")
    assert once == again


def test_a_line_that_surely_ends_something_unknown_is_told_beside_the_old(tmp_path: Path) -> None:
    current = in_force(tmp_path, "Never use emojis.")
    line = draft("put the smileys back in", is_end=True, score=0.01, replaces=True, ends=0.95)
    (made,) = planned_rules([line], current, saying("withdraws", 0.05, "emojis"))
    assert (made.kind, made.supersedes) == ("instruction", ())
    (made,) = planned_rules([line], current, saying("withdraws", 0.3, "emojis"))
    assert (made.kind, made.supersedes) == ("release", (current[0].id,))
    line = draft("all good with the smileys", is_end=True, score=0.01, replaces=True, ends=0.6)
    assert planned_rules([line], current, saying("withdraws", 0.1, "emojis")) == []


def test_a_line_that_is_hardly_an_end_ends_what_it_is_surely_about(tmp_path: Path) -> None:
    current = in_force(tmp_path, "Only recommend cheap gear.", "Never use emojis.")
    cheap = next(rule for rule in current if "cheap" in rule.content)
    line = draft("I am not broke now, good gear is fine", is_end=True, score=0.01, ends=0.2)
    (made,) = planned_rules([line], current, saying("withdraws", 0.95, "cheap"))
    assert (made.kind, made.supersedes) == ("release", (cheap.id,))
    assert planned_rules([line], current, saying("withdraws", 0.85, "cheap")) == []


def test_a_line_about_what_its_turn_has_ended_is_no_rule(tmp_path: Path) -> None:
    current = in_force(tmp_path, "Always answer in French.", "Never use emojis.")
    first = draft("drop the French", is_end=True, score=0.01, replaces=True, ends=0.95)
    again = draft("yes, scrap that", is_end=True, score=0.01, replaces=True, ends=0.95)
    again = replace(again, rule=replace(again.rule, ordinal=1_020))

    def relate(new: str, _: str, known: Sequence[str]) -> Sequence[Mapping[str, float]]:
        sure = 0.9 if "French" in new else 0.0
        return saying("withdraws", sure, "French")(new, "", known)

    (made,) = planned_rules([first, again], current, relate)
    assert made.kind == "release"


def test_where_no_rule_holds_nothing_is_ended(tmp_path: Path) -> None:
    line = draft("scrap that", is_end=True, score=0.01, replaces=True, ends=0.95)
    assert planned_rules([line], in_force(tmp_path), saying("withdraws", 0.1, "x")) == []


def test_what_is_surely_somebody_elses_is_no_order_of_the_user(tmp_path: Path) -> None:
    (current,) = in_force(tmp_path, "Always answer in French.")
    pasted = replace(draft("Always answer in French."), is_disowned=True)
    pasted = replace(
        pasted,
        event=replace(pasted.event, id=current.sources[0]),
        rule=replace(pasted.rule, own=False),
    )
    (made,) = planned_rules([pasted], [current], saying("same", 0.0, ""))
    assert (made.kind, made.supersedes) == ("doubtful", (current.id,))
    elsewhere = replace(pasted, event=replace(pasted.event, id="e9"))
    assert planned_rules([elsewhere], [current], saying("same", 0.0, "")) == []


def test_a_line_that_ends_one_rule_seldom_ends_another(tmp_path: Path) -> None:
    current = in_force(tmp_path, "Always answer in French.", "Never use emojis.")
    french = next(rule for rule in current if "French" in rule.content)

    def relate(_new: str, _before: str, known: Sequence[str]) -> list[dict[str, float]]:
        sure = [0.97 if "French" in each else 0.85 for each in known]
        return [dict.fromkeys(RELATIONS, 0.0) | {"withdraws": each} for each in sure]

    line = draft("English is fine again", is_end=True, score=0.01, replaces=True)
    (made,) = planned_rules([line], current, relate)
    assert made.supersedes == (french.id,)


def test_of_two_rules_alike_a_line_that_ends_one_ends_the_likelier(tmp_path: Path) -> None:
    current = in_force(tmp_path, "Always answer in French.", "Never use emojis.")

    def relate(_new: str, _before: str, known: Sequence[str]) -> list[dict[str, float]]:
        sure = [0.8 if "French" in each else 0.79 for each in known]
        return [dict.fromkeys(RELATIONS, 0.0) | {"withdraws": each} for each in sure]

    line = draft("English is fine again", is_end=True, score=0.01, replaces=True)
    (made,) = planned_rules([line], current, relate)
    assert len(made.supersedes) == 1


def test_a_word_of_a_quotation_is_not_the_rule(tmp_path: Path) -> None:
    (current,) = in_force(tmp_path, "Always answer in French.")
    pasted = replace(draft("French"), is_disowned=True)
    pasted = replace(pasted, event=replace(pasted.event, id=current.sources[0]))
    assert planned_rules([pasted], [current], saying("same", 0.0, "")) == []


def test_a_line_is_read_in_several_ways_and_the_mean_decides(tmp_path: Path) -> None:
    current = in_force(tmp_path, "Always answer in French.", "Never use emojis.")
    line = replace(draft("go on then", replaces=True), ways=[("a", ""), ("b", "")])
    sure, unsure = saying("withdraws", 0.9, "French"), saying("withdraws", 0.001, "French")

    def both(new: str, before: str, known: Sequence[str]) -> Sequence[Mapping[str, float]]:
        return (sure if new == "a" else unsure)(new, before, known)

    (made,) = planned_rules([line], current, sure)
    assert made.supersedes
    (made,) = planned_rules([line], current, both)
    assert made.supersedes == ()


def test_of_many_rules_the_likeliest_are_read_in_every_way(tmp_path: Path) -> None:
    (one,) = in_force(tmp_path, "Always answer in French.")
    current = [replace(one, id=f"{n:032x}", content=f"topic {n} in French") for n in range(12)]
    line = replace(
        draft("stop", is_end=True, replaces=True), ways=[("a", ""), ("b", ""), ("c", "")]
    )
    asked: dict[str, int] = {}

    def relate(new: str, before: str, known: Sequence[str]) -> Sequence[Mapping[str, float]]:
        asked[new] = len(known)
        return saying("withdraws", 0.9, "topic 3 ")(new, before, known)

    (made,) = planned_rules([line], current, relate)
    assert asked == {"a": 12, "b": 12, "c": 8}
    assert made.supersedes == (current[3].id,)


def test_a_rule_that_is_found_late_ends_when_a_later_word_ended_it(tmp_path: Path) -> None:
    (later,) = in_force(tmp_path, "Always answer in French.")
    later = replace(later, valid_from=NOON + timedelta(days=2))
    (made,) = planned_rules([draft("Dutch please")], [later], saying("replaces", 0.9, "Dutch"))
    assert (made.kind, made.valid_to) == ("instruction", later.valid_from)
    # What ended another ends no more.
    busy = replace(later, data={**later.data, "withdrawn_rules": ["0" * 32]})
    (made,) = planned_rules([draft("Dutch please")], [busy], saying("replaces", 0.9, "Dutch"))
    assert made.valid_to is None
