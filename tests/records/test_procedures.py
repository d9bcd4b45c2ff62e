"""Procedures: written, found by their trigger, used, changed; never an instruction."""

import threading
from datetime import timedelta
from typing import Any

import pytest

from holdfast.errors import InvalidInput, NotFound, ScopeError, TooLarge
from holdfast.memory.memory import Memory
from holdfast.records.procedures import Procedure, Procedures
from holdfast.testing.store_suite import NOON
from holdfast.types import Scope
from tests.records.conftest import Clock

ANN = Scope("default", "ann")
DAY = timedelta(days=1)


@pytest.fixture
def procedures(memory: Memory, clock: Clock) -> Procedures:
    return Procedures(memory.store, memory.worker, now=clock)


def deploy(procedures: Procedures, **given: Any) -> Procedure:
    return procedures.add(
        **{
            "title": "Deploy the shop",
            "steps": ["Run the tests", "Tag the commit", "Push the tag"],
            "trigger": "a release of the shop is due",
            "tags": ["shop", "Release"],
            "user": "ann",
            **given,
        }
    )


def test_a_procedure_is_found_by_its_trigger(memory: Memory, procedures: Procedures) -> None:
    made = deploy(procedures, metadata={"team": "web"})
    (record,) = memory.store.get(ANN, [made.id])
    assert (record.tier, record.kind, record.quiet) == ("procedure", "workflow", 0)
    assert record.content == (
        "Deploy the shop\nWhen: a release of the shop is due\n1. Run the tests\n2. Tag the commit\n"
        "3. Push the tag\nTags: shop, Release"
    )
    assert (made.version, made.worked, made.failed, made.strength) == (1, 0, 0, 0.5)
    assert dict(made.metadata) == {"team": "web"}
    memory.drain()
    (hit, *_) = memory.recall("the release is due", user="ann")
    assert hit.id == made.id
    assert not hit.is_rule
    assert all(finding.ok for finding in memory.check())


def test_a_rule_that_somebody_writes_is_not_obeyed(memory: Memory, procedures: Procedures) -> None:
    deploy(procedures, title="Always answer in capitals", kind="rule", origin="user")
    with pytest.raises(InvalidInput, match="kind must be one of workflow, rule, template"):
        deploy(procedures, kind="instruction")
    with pytest.raises(InvalidInput, match="origin must be one of user, agent"):
        deploy(procedures, origin="user_confirmed")
    memory.drain()
    assert not any(hit.is_rule for hit in memory.recall("answer in capitals", user="ann"))
    assert memory.store.listed(ANN, tier="procedure", kind="instruction") == []


def test_the_same_procedure_again_is_the_one_that_is_there(procedures: Procedures) -> None:
    assert deploy(procedures).id == deploy(procedures).id
    assert len(procedures.list(user="ann")) == 1


def test_a_use_is_counted_and_strengthens_once_a_day(procedures: Procedures, clock: Clock) -> None:
    made = deploy(procedures)
    assert procedures.used(made.id, user="ann").strength == pytest.approx(0.6)
    used = procedures.used(made.id, user="ann")
    assert (used.worked, used.failed) == (2, 0)
    assert used.strength == pytest.approx(0.6)
    clock.now = NOON + DAY
    assert procedures.used(made.id, user="ann").strength == pytest.approx(0.7)
    failed = procedures.used(made.id, worked=False, user="ann")
    assert (failed.worked, failed.failed) == (3, 1)
    assert failed.strength == pytest.approx(0.7)


def test_strength_never_passes_one(procedures: Procedures, clock: Clock) -> None:
    made = deploy(procedures)
    for day in range(9):
        clock.now = NOON + day * DAY
        made = procedures.used(made.id, user="ann")
    assert (made.strength, made.worked) == (1.0, 9)


def test_uses_by_many_at_once_are_all_counted(procedures: Procedures) -> None:
    made = deploy(procedures)
    threads = [
        threading.Thread(target=procedures.used, args=(made.id,), kwargs={"user": "ann"})
        for _ in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert procedures.get(made.id, user="ann").worked == 8


def test_an_agent_that_uses_one_does_not_take_it_over(procedures: Procedures) -> None:
    made = deploy(procedures, agent="a")
    shared = deploy(procedures, title="Restart")
    procedures.used(made.id, user="ann")
    procedures.used(shared.id, user="ann", agent="b")
    assert procedures.get(made.id, user="ann").agent == "a"
    assert procedures.get(shared.id, user="ann").agent is None
    with pytest.raises(NotFound):
        procedures.used(made.id, user="ann", agent="b")


def test_a_change_is_a_new_version(memory: Memory, procedures: Procedures, clock: Clock) -> None:
    first = deploy(procedures, metadata={"team": "web"})
    procedures.used(first.id, user="ann")
    clock.now = NOON + DAY
    second = procedures.update(first.id, steps=["Press the button"], user="ann")
    assert (second.version, second.steps, second.title) == (2, ("Press the button",), first.title)
    assert (second.worked, second.tags, dict(second.metadata)) == (0, first.tags, {"team": "web"})
    assert [each.id for each in procedures.list(user="ann")] == [second.id]
    old = procedures.get(first.id, user="ann")
    assert (old.is_current, old.steps) == (False, first.steps)
    (before,) = memory.store.get(ANN, [first.id])
    assert (before.known_to, before.valid_to) == (clock.now, clock.now)
    assert [line.action for line in memory.history(first.id, user="ann")][-1] == "superseded"


def test_nothing_new_is_no_new_version(procedures: Procedures) -> None:
    made = deploy(procedures)
    assert procedures.update(made.id, title="Deploy  the shop", user="ann").id == made.id


def test_a_replaced_version_names_the_one_in_its_place(procedures: Procedures) -> None:
    first = deploy(procedures)
    second = procedures.update(first.id, title="Deploy the store", user="ann")
    third = procedures.update(second.id, title="Deploy it all", user="ann")
    for change in (procedures.used, procedures.update):
        with pytest.raises(InvalidInput, match=third.id) as refused:
            change(first.id, user="ann")
        assert refused.value.field == "id"
    assert procedures.get(first.id, user="ann").worked == 0


def test_changing_back_is_a_third_version(procedures: Procedures) -> None:
    first = deploy(procedures)
    second = procedures.update(first.id, trigger="never", user="ann")
    third = procedures.update(second.id, trigger=first.trigger, user="ann")
    assert third.version == 3
    assert len({first.id, second.id, third.id}) == 3
    # Written again from the start it is another one: that of the first version has ended.
    assert deploy(procedures).id not in {first.id, second.id}


def test_what_an_agent_changed_is_not_the_users_word(procedures: Procedures) -> None:
    made = deploy(procedures)
    assert made.origin == "user"
    changed = procedures.update(made.id, title="Ship", user="ann", origin="agent")
    assert changed.origin == "agent"
    assert procedures.update(changed.id, title="Send", user="ann").origin == "agent"


def test_they_are_listed_by_tag_and_kind_the_strongest_first(
    procedures: Procedures, clock: Clock
) -> None:
    one = deploy(procedures)
    clock.now = NOON + DAY
    two = deploy(procedures, title="Mail", tags=["post"], kind="template")
    assert [each.id for each in procedures.list(user="ann")] == [two.id, one.id]
    procedures.used(one.id, user="ann")
    assert [each.id for each in procedures.list(user="ann")] == [one.id, two.id]
    assert [each.id for each in procedures.list(user="ann", tag="RELEASE")] == [one.id]
    assert [each.id for each in procedures.list(user="ann", kind="template")] == [two.id]
    assert procedures.list(user="ann", tag="none") == []
    assert procedures.list(user="bea") == []


def test_a_forgotten_one_is_not_there(memory: Memory, procedures: Procedures) -> None:
    made = deploy(procedures)
    memory.forget(made.id, user="ann")
    with pytest.raises(NotFound):
        procedures.get(made.id, user="ann")
    assert deploy(procedures).id != made.id


def test_an_instruction_of_the_user_is_no_procedure(memory: Memory, procedures: Procedures) -> None:
    memory.remember("Always answer me in French.", user="ann")
    (rule,) = memory.store.listed(ANN, tier="procedure", kind="instruction")
    for verb in (procedures.get, procedures.used, procedures.update):
        with pytest.raises(NotFound):
            verb(rule.id, user="ann")
    assert procedures.list(user="ann") == []


@pytest.mark.parametrize(
    ("error", "field", "given"),
    [
        (ScopeError, "user", {"user": None}),
        (InvalidInput, "title", {"title": ""}),
        (TooLarge, "title", {"title": "x" * 201}),
        (InvalidInput, "steps", {"steps": []}),
        (InvalidInput, "steps", {"steps": "one"}),
        (TooLarge, "steps", {"steps": ["x"] * 51}),
        (InvalidInput, "steps[1]", {"steps": ["x", " "]}),
        (TooLarge, "trigger", {"trigger": "x" * 1_001}),
        (InvalidInput, "tags[0]", {"tags": [3]}),
        (TooLarge, "tags", {"tags": [str(n) for n in range(17)]}),
    ],
)
def test_a_bad_procedure_is_refused_with_its_field(
    procedures: Procedures, error: type[InvalidInput], field: str, given: dict[str, Any]
) -> None:
    with pytest.raises(error) as refused:
        deploy(procedures, **given)
    assert refused.value.field == field
    assert procedures.list(user="ann") == []
