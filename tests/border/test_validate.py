"""Bad input is refused in words that name the field and the limit; the limit itself is fine."""

import ast
from collections.abc import Callable
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import pytest

import holdfast
from holdfast.border.validate import (
    RESERVED_METADATA,
    CheckedBatch,
    batch,
    body_digest,
    checked_query,
    idempotency_key,
    moment,
    scope,
    whole_number,
)
from holdfast.config import Limits
from holdfast.errors import InvalidInput, ScopeError, TooLarge
from holdfast.testing import HashEmbedder

LIMITS = Limits()
SMALL = Limits(message_bytes=20, batch_bytes=50, query_bytes=10, metadata_bytes=40)


def checked(messages: object, *, limits: Limits = LIMITS, **more: Any) -> CheckedBatch:
    return batch(messages, at=more.get("at"), metadata=more.get("metadata"), limits=limits)


def refusal(
    kind: type[InvalidInput], call: Callable[..., object], *args: Any, **kwargs: Any
) -> InvalidInput:
    with pytest.raises(kind) as told:
        call(*args, **kwargs)
    return told.value


def nested(depth: int) -> dict[str, Any]:
    value: dict[str, Any] = {"leaf": 1}
    for _ in range(depth - 1):
        value = {"deeper": value}
    return value


def test_a_text_a_message_and_a_list_are_welcome() -> None:
    for messages in (
        "hello",
        {"content": "hello"},
        [{"content": "hello"}],
        ({"content": "hello"},),
    ):
        (draft,) = checked(messages).drafts
        assert (draft.role, draft.content, draft.at, draft.name) == ("user", "hello", None, None)
    assert checked(MappingProxyType({"content": "hello"})).drafts[0].content == "hello"


@pytest.mark.parametrize("wrong", [None, 5, b"bytes", bytearray(b"x"), {"content"}, 1.5, True])
def test_anything_else_is_no_message(wrong: object) -> None:
    error = refusal(InvalidInput, checked, wrong)
    assert error.field == "messages"
    assert "messages must be" in str(error)


def test_an_empty_list_is_refused() -> None:
    assert "messages is empty" in str(refusal(InvalidInput, checked, []))


@pytest.mark.parametrize("wrong", [None, 5, "text", ["content"]])
def test_a_message_must_be_a_mapping(wrong: object) -> None:
    error = refusal(InvalidInput, checked, [{"content": "fine"}, wrong])
    assert error.field == "messages[1]"
    assert "messages[1] must be a mapping" in str(error)


@pytest.mark.parametrize("blank", ["", " ", "\n\t ", "\u3000"])
def test_blank_text_is_refused_by_index(blank: str) -> None:
    error = refusal(InvalidInput, checked, [{"content": "fine"}, {"content": blank}])
    assert error.field == "messages[1].content"
    assert str(error) == "messages[1].content is blank"


@pytest.mark.parametrize("wrong", [None, 5, ["a"], {"text": "a"}, b"a"])
def test_content_must_be_a_text(wrong: object) -> None:
    error = refusal(InvalidInput, checked, {"content": wrong})
    assert error.field == "messages[0].content"
    assert "must be a text" in str(error)


def test_a_message_of_exactly_the_limit_is_fine() -> None:
    assert len(checked("x" * LIMITS.message_bytes).drafts[0].content) == 1024 * 1024
    assert checked("é" * 10, limits=SMALL).drafts[0].content == "é" * 10


@pytest.mark.parametrize("text", ["x" * 21, "é" * 10 + "x", "漢" * 7, "🚀" * 5 + "x"])
def test_a_message_of_one_byte_more_is_refused_with_both_numbers(text: str) -> None:
    error = refusal(TooLarge, checked, [{"content": "ok"}, {"content": text}], limits=SMALL)
    assert error.field == "messages[1].content"
    assert str(error) == "messages[1].content has 21 bytes, the limit is 20"


def test_the_default_limit_of_a_message_is_one_mebibyte() -> None:
    error = refusal(TooLarge, checked, "x" * (1024 * 1024 + 1))
    assert str(error) == "messages[0].content has 1048577 bytes, the limit is 1048576"


def test_a_batch_of_exactly_the_limit_is_fine_and_one_byte_more_is_not() -> None:
    fine = [{"content": "x" * 20}, {"content": "é" * 10}, {"content": "x" * 10}]
    assert len(checked(fine, limits=SMALL).drafts) == 3
    fine[2]["content"] += "x"
    error = refusal(TooLarge, checked, fine, limits=SMALL)
    assert (error.field, "51 bytes" in str(error), "50" in str(error)) == ("messages", True, True)


def test_a_batch_has_a_limit_of_messages() -> None:
    few = Limits(batch_messages=3)
    assert len(checked([{"content": "a"}] * 3, limits=few).drafts) == 3
    error = refusal(TooLarge, checked, [{"content": "a"}] * 4, limits=few)
    assert str(error) == "messages are 4, the limit of one call is 3"


@pytest.mark.parametrize("role", ["user", "assistant", "system", "tool"])
def test_every_known_role_is_fine(role: str) -> None:
    assert checked({"content": "a", "role": role}).drafts[0].role == role


@pytest.mark.parametrize("role", ["User", "robot", "", None, 5, ["user"], "x" * 1000])
def test_an_unknown_role_is_refused_with_the_known_ones(role: object) -> None:
    error = refusal(InvalidInput, checked, [{"content": "a"}, {"content": "a", "role": role}])
    assert error.field == "messages[1].role"
    assert "user, assistant, system, tool" in str(error)
    assert len(str(error)) < 300


def test_an_unknown_field_is_refused_with_the_known_ones() -> None:
    error = refusal(InvalidInput, checked, {"content": "a", "text": "b"})
    assert error.field.startswith("messages[0]")
    assert "text" in str(error)
    assert "at, content, metadata, name, role" in str(error)


def test_nul_and_lone_surrogates_become_a_mark_and_the_receipt_says_so() -> None:
    found = checked([{"content": "a\0b\ud800c"}, {"content": "fine"}])
    assert found.drafts[0].content == "a\ufffdb\ufffdc"
    assert found.warnings == ("messages[0].content: 2 unstorable characters became U+FFFD",)


def test_a_text_of_nothing_else_is_refused() -> None:
    assert refusal(InvalidInput, checked, "\0 \ud800\n").field == "messages[0].content"


def test_what_cannot_be_stored_is_marked_in_names_and_metadata_too() -> None:
    found = checked({"content": "a", "name": "A\0", "metadata": {"k\0": ["v\udfff"]}})
    assert found.drafts[0].name == "A\ufffd"
    assert found.drafts[0].metadata == {"k\ufffd": ["v\ufffd"]}
    assert len(found.warnings) == 3


def test_a_name_has_a_limit() -> None:
    assert checked({"content": "a", "name": "x" * 512}).drafts[0].name == "x" * 512
    error = refusal(TooLarge, checked, {"content": "a", "name": "x" * 513})
    assert (error.field, "512" in str(error)) == ("messages[0].name", True)
    assert refusal(InvalidInput, checked, {"content": "a", "name": 5}).field == "messages[0].name"
    assert checked({"content": "a", "name": "  "}).drafts[0].name is None


@pytest.mark.parametrize(
    "text",
    [
        "2023-03-23T11:53Z",
        "2023-03-23T11:53:00Z",
        "2023-03-23 12:53+01:00",
        "2023-03-23T11:53:00.0Z",
    ],
)
def test_times_are_read_with_and_without_seconds(text: str) -> None:
    assert moment(text, "at") == datetime(2023, 3, 23, 11, 53, tzinfo=UTC)


def test_times_are_kept_in_utc() -> None:
    there = datetime(2023, 3, 23, 12, 53, tzinfo=timezone(timedelta(hours=1)))
    assert moment(there, "at").isoformat() == "2023-03-23T11:53:00+00:00"


@pytest.mark.parametrize("naive", [datetime(2026, 1, 1), "2026-01-01T00:00", "2026-01-01"])  # noqa: DTZ001
def test_a_time_without_a_zone_is_refused(naive: object) -> None:
    error = refusal(InvalidInput, checked, [{"content": "a"}, {"content": "b", "at": naive}])
    assert error.field == "messages[1].at"
    assert "messages[1].at has no time zone" in str(error)


@pytest.mark.parametrize("wrong", ["yesterday", "", "2026-13-01T00:00Z", 5, 1.7e9, ["2026"]])
def test_what_is_no_time_is_refused(wrong: object) -> None:
    assert refusal(InvalidInput, moment, wrong, "as_of").field == "as_of"


@pytest.mark.parametrize(
    ("time", "fine"),
    [
        ("1900-01-01T00:00Z", True),
        ("1899-12-31T23:59:59.999999Z", False),
        ("1900-01-01T00:00+00:01", False),
        ("2199-12-31T23:59:59.999999Z", True),
        ("2200-01-01T00:00Z", False),
        ("0001-01-01T00:00+14:00", False),
        ("9999-12-31T23:59-14:00", False),
    ],
)
def test_times_lie_between_1900_and_2200(time: str, fine: bool) -> None:
    if fine:
        assert moment(time, "at").tzinfo is UTC
    else:
        error = refusal(InvalidInput, moment, time, "at")
        assert "at must lie between 1900 and 2200" in str(error)


def test_the_time_and_metadata_of_the_call_stand_in_for_missing_ones() -> None:
    found = checked(
        [{"content": "a"}, {"content": "b", "at": "2020-01-01T00:00Z", "metadata": {"k": 2}}],
        at="2026-01-01T00:00Z",
        metadata={"k": 1, "all": True},
    )
    assert [draft.at.year for draft in found.drafts if draft.at] == [2026, 2020]
    assert [draft.metadata for draft in found.drafts] == [
        {"k": 1, "all": True},
        {"k": 2, "all": True},
    ]


def test_plain_metadata_comes_through_unchanged() -> None:
    given = {"t": "x", "i": -5, "f": 1.5, "b": True, "n": None, "l": [1, ["a"]], "d": {"e": {}}}
    assert checked({"content": "a", "metadata": given}).drafts[0].metadata == given


@pytest.mark.parametrize("wrong", ["text", 5, [("a", 1)], True])
def test_metadata_must_be_a_mapping(wrong: object) -> None:
    error = refusal(InvalidInput, checked, {"content": "a", "metadata": wrong})
    assert (error.field, "mapping" in str(error)) == ("messages[0].metadata", True)


def test_metadata_keys_have_a_limit() -> None:
    fine = {f"k{i}": i for i in range(64)}
    assert len(checked("a", metadata=fine).drafts[0].metadata) == 64
    error = refusal(TooLarge, checked, "a", metadata=fine | {"more": 1})
    assert str(error) == "metadata has 65 keys, the limit is 64"


def test_nested_metadata_keys_count_too() -> None:
    found = refusal(TooLarge, checked, "a", metadata={"a": {f"k{i}": i for i in range(64)}})
    assert "65 keys" in str(found)


def test_metadata_depth_has_a_limit() -> None:
    assert checked("a", metadata=nested(8)).drafts[0].metadata == nested(8)
    error = refusal(TooLarge, checked, "a", metadata=nested(9))
    assert "nested deeper than the limit of 8" in str(error)
    deep: list[Any] = []
    for _ in range(100_000):
        deep = [deep]
    assert "limit of 8" in str(refusal(TooLarge, checked, "a", metadata={"l": deep}))


def test_metadata_bytes_have_a_limit() -> None:
    fine = {"k": "x" * 31}  # {"k": "..."} adds nine characters.
    assert checked("a", metadata=fine, limits=SMALL).drafts[0].metadata == fine
    error = refusal(TooLarge, checked, "a", metadata={"k": "x" * 32}, limits=SMALL)
    assert str(error) == "metadata has 41 bytes, the limit is 40"
    error = refusal(TooLarge, checked, "a", metadata={"k": "é" * 16}, limits=SMALL)
    assert "41 bytes" in str(error)
    assert refusal(TooLarge, checked, "a", metadata={"k": "x" * 32 * 1024}).field == "metadata"


def test_the_metadata_of_call_and_message_together_keep_the_limits() -> None:
    message = {"content": "a", "metadata": {f"own{i}": i for i in range(40)}}
    shared = {f"shared{i}": i for i in range(40)}
    assert "64" in str(refusal(TooLarge, checked, message, metadata=shared))


@pytest.mark.parametrize(
    "wrong",
    [
        float("nan"),
        float("inf"),
        -float("inf"),
        2**63,
        -(2**64),
        10**400,
        b"bytes",
        {1, 2},
        object(),
        datetime(2026, 1, 1, tzinfo=UTC),
    ],
)
def test_metadata_that_json_cannot_hold_is_refused_by_its_path(wrong: object) -> None:
    error = refusal(InvalidInput, checked, "a", metadata={"a": [0, {"b": wrong}]})
    assert error.field == "metadata.a[1].b"
    assert "finite number below 2**63" in str(error)


def test_the_largest_whole_number_is_fine() -> None:
    given = {"most": 2**63 - 1, "least": -(2**63) + 1}
    assert checked("a", metadata=given).drafts[0].metadata == given


@pytest.mark.parametrize("key", [1, None, ("a",), True])
def test_metadata_keys_must_be_texts(key: object) -> None:
    assert "key that is not a text" in str(refusal(InvalidInput, checked, "a", metadata={key: 1}))
    assert "key that is not a text" in str(
        refusal(InvalidInput, checked, "a", metadata={"a": {key: 1}})
    )


def test_a_reserved_key_is_refused() -> None:
    error = refusal(InvalidInput, checked, "a", metadata={"fact_role": "instruction"})
    assert 'the key "fact_role" belongs to the system' in str(error)
    message = {"content": "a", "metadata": {"fact_role": "x"}}
    assert refusal(InvalidInput, checked, message).field.startswith("messages[0].metadata")


@pytest.mark.parametrize("value", [np.float64(0.5), np.str_("x")])
def test_metadata_of_numpy_that_is_plain_comes_back(tmp_path: Path, value: Any) -> None:
    with holdfast.open(tmp_path / "m.db", embedder=HashEmbedder(16), worker=False) as memory:
        memory.remember("a cat", user="ann", metadata={"v": value})
        assert memory.recall("cat", user="ann")[0].metadata == {"v": value}


@pytest.mark.parametrize("value", [np.float64("nan"), np.int64(3), np.float32(1), np.array([1])])
def test_metadata_of_numpy_that_is_not_plain_is_refused(value: Any) -> None:
    assert refusal(InvalidInput, checked, "a", metadata={"v": value}).field == "metadata.v"


def test_a_batch_is_all_or_nothing(tmp_path: Path) -> None:
    with holdfast.open(tmp_path / "m.db", embedder=HashEmbedder(16), worker=False) as memory:
        bad = [{"content": f"cat {i}"} for i in range(10)]
        bad[7]["role"] = "robot"
        error = refusal(InvalidInput, memory.remember, bad, user="ann", key="k")
        assert error.field == "messages[7].role"
        assert memory.recall("cat", user="ann") == []
        assert memory.store.stats()["events"] == memory.store.stats()["ready"] == 0
        bad[7]["role"] = "user"
        assert not memory.remember(bad, user="ann", key="k").duplicate


@pytest.mark.parametrize("name", ["user", "workspace", "agent", "session"])
def test_a_scope_word_has_a_limit_and_is_a_text(name: str) -> None:
    words: dict[str, Any] = {"workspace": "w", "user": "u"}
    assert getattr(scope(**(words | {name: "x" * 512})), name) == "x" * 512
    assert getattr(scope(**(words | {name: "Ünï code/🚀"})), name) == "Ünï code/🚀"
    for wrong in ("x" * 513, "", " ", "a\0b", "\ud800", 5, b"u", ["u"]):
        error = refusal(ScopeError, scope, **(words | {name: wrong}))
        assert error.field == name
        assert name in str(error)
    assert "512" in str(refusal(ScopeError, scope, **(words | {name: "x" * 513})))


def test_a_missing_user_is_never_everybody() -> None:
    assert "user is missing" in str(refusal(ScopeError, scope, workspace="w", user=None))


def test_a_key_has_a_limit_and_is_a_text() -> None:
    assert idempotency_key(None) is None
    assert idempotency_key("x" * 512) == "x" * 512
    assert "512" in str(refusal(TooLarge, idempotency_key, "x" * 513))
    for wrong in ("", " ", 5, "a\0", "\ud800", b"k"):
        assert refusal(InvalidInput, idempotency_key, wrong).field == "key"


def test_a_query_has_a_limit_and_is_a_text() -> None:
    assert checked_query("x" * 32 * 1024, LIMITS) == "x" * 32 * 1024
    assert checked_query("é" * 5, SMALL) == "é" * 5
    error = refusal(TooLarge, checked_query, "é" * 5 + "x", SMALL)
    assert str(error) == "query has 11 bytes, the limit is 10"
    assert checked_query("a\0\ud800", LIMITS) == "a\ufffd\ufffd"
    for wrong in ("", "  ", None, 5, ["a"], b"a"):
        assert refusal(InvalidInput, checked_query, wrong, LIMITS).field == "query"


@pytest.mark.parametrize(("value", "fine"), [(1, True), (200, True), (0, False), (201, False)])
def test_a_number_keeps_its_bounds(value: int, fine: bool) -> None:
    if fine:
        assert whole_number(value, "limit", 1, 200) == value
    else:
        error = refusal(InvalidInput, whole_number, value, "limit", 1, 200)
        assert str(error) == f"limit must lie in 1..200, not {value}"


@pytest.mark.parametrize("wrong", [True, 1.0, "1", None])
def test_a_number_must_be_whole(wrong: object) -> None:
    assert refusal(InvalidInput, whole_number, wrong, "limit", 1, 200).field == "limit"


def test_limit_and_budget_are_checked_at_their_bounds(tmp_path: Path) -> None:
    with holdfast.open(tmp_path / "m.db", embedder=HashEmbedder(16), worker=False) as memory:
        for limit in (1, 200):
            assert memory.recall("cat", user="ann", limit=limit) == []
        for limit in (0, 201):
            assert (
                refusal(InvalidInput, memory.recall, "cat", user="ann", limit=limit).field
                == "limit"
            )
        for budget in (0, 200_000):
            assert memory.context("cat", user="ann", budget_tokens=budget).tokens == 0
        for budget in (-1, 200_001):
            error = refusal(InvalidInput, memory.context, "cat", user="ann", budget_tokens=budget)
            assert "budget_tokens must lie in 0..200000" in str(error)


def test_equal_bodies_have_equal_digests_and_others_do_not() -> None:
    one = body_digest(messages=[{"content": "a", "role": "user"}], at=None)
    assert body_digest(messages=[{"role": "user", "content": "a"}], at=None) == one
    assert body_digest(messages=({"content": "a", "role": "user"},), at=None) == one
    assert body_digest(messages=[{"content": "b", "role": "user"}], at=None) != one
    assert body_digest(messages=[{"content": "a", "role": "user"}], at="2026-01-01Z") != one
    assert body_digest(messages="\ud800") != body_digest(messages="\ud801")


def test_an_error_is_a_value_error_too() -> None:
    assert isinstance(refusal(InvalidInput, checked, ""), ValueError)


SYSTEM_NAMES = {"data", "metadata"}
# Where callers' data is made up or carried: their own keys are no system keys.
CALLERS = ("bench/", "demo.py", "service/", "sample/", "testing/")
#: What these write stands under the key `holdfast` of a hit (tests/recall/test_hits.py), or beside
#: no caller's metadata at all.
SOURCELESS = ("records/", "upkeep/", "settings.py")
#: Rules stand beside what callers sent with their turns.
SOURCED = ("records/rules.py", "records/entries.py")


def written_keys(source: str) -> set[str]:
    """The keys that a module itself puts into something called data or metadata."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.keyword) and node.arg in SYSTEM_NAMES:
            found |= literal_keys(node.value)
        elif isinstance(node, ast.Assign | ast.AnnAssign) and node.value:
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            for target in targets:
                if isinstance(target, ast.Subscript) and is_system(target.value):
                    found |= {key for key in [text_of(target.slice)] if key is not None}
                elif is_system(target):
                    found |= literal_keys(node.value)
        elif isinstance(node, ast.FunctionDef) and node.name in SYSTEM_NAMES:
            found |= {key for each in ast.walk(node) for key in literal_keys(each)}
    return found


def is_system(node: ast.expr) -> bool:
    return (isinstance(node, ast.Name) and node.id in SYSTEM_NAMES) or (
        isinstance(node, ast.Attribute) and node.attr in SYSTEM_NAMES
    )


def literal_keys(node: ast.AST) -> set[str]:
    keys = node.keys if isinstance(node, ast.Dict) else []
    return {text for key in keys if key is not None and (text := text_of(key)) is not None}


def text_of(node: ast.AST) -> str | None:
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else None


def test_the_scan_sees_keys_that_are_written() -> None:
    assert written_keys('Entry(metadata={**old, "one": 1}, other={"no": 1})') == {"one"}
    assert written_keys('data["two"] = 2; record.metadata["three"] = 3; x["no"] = 1') == {
        "two",
        "three",
    }
    assert written_keys('metadata: dict[str, int] = {"four": 4}') == {"four"}
    assert written_keys('def data(rule):\n    return {"five": rule}') == {"five"}
    assert written_keys('value = metadata["read"]') == set()


def test_every_key_that_the_system_writes_is_reserved() -> None:
    root = Path(holdfast.__file__).parent
    written: dict[str, str] = {}
    for path in sorted(root.rglob("*.py")):
        name = path.relative_to(root).as_posix()
        if name in SOURCED or not name.startswith(CALLERS + SOURCELESS):
            written |= dict.fromkeys(written_keys(path.read_text(encoding="utf-8")), name)
    assert {"fact_role", "rule", "condition"} <= written.keys()
    assert {key: name for key, name in written.items() if key not in RESERVED_METADATA} == {}


@pytest.mark.parametrize("key", sorted(RESERVED_METADATA))
def test_no_caller_can_set_a_key_of_the_system(key: str) -> None:
    error = refusal(InvalidInput, checked, "a", metadata={"turn": 1, key: "x"})
    assert f'the key "{key}" belongs to the system' in str(error)


def test_the_keys_of_callers_are_theirs() -> None:
    given = {"turn": 1, "externalId": "x", "source_site": "web", "topic": "t"}
    assert checked("a", metadata=given).drafts[0].metadata == given
    assert checked("a", metadata={"mine": {"rule": 1}}).drafts[0].metadata == {"mine": {"rule": 1}}
