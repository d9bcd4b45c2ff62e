"""Export and import: the identity on any store, and no file can do worse than be refused."""

import base64
import io
import json
import re
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import holdfast
from holdfast.border.validate import RESERVED_METADATA
from holdfast.errors import HoldfastError, ScopeError
from holdfast.memory.memory import Memory
from holdfast.records.entries import index_row
from holdfast.store.protocols import Derived
from holdfast.testing import HashEmbedder
from holdfast.testing.store_suite import NOON, a_fact, a_name
from holdfast.transfer import Imported, export_to, import_from

Open = Callable[[str], Memory]

#: What is understood in the background is no matter of a transfer.
CONFIG = {"extraction": {"enabled": False}}

ID = "019aaf3e5c1b0000d0a1b2c3d4e5f607"
EVENT: dict[str, Any] = {
    "type": "event",
    "workspace": "default",
    "user": "ann",
    "id": ID,
    "role": "user",
    "content": "tea",
    "at": "2026-03-01T10:00:00Z",
    "known_at": "2026-03-01T10:00:00Z",
    "origin": "user",
}
SCOPE = {"workspace": "default", "user": "ann"}
UNIT = np.eye(1, 64, dtype="<f4").tobytes()
ZERO = np.zeros(64, dtype="<f4").tobytes()


def b64(data: bytes) -> str:
    return base64.b64encode(data).decode()


VECTORS: dict[str, Any] = {
    "type": "vectors",
    **SCOPE,
    "event": ID,
    "model": "hash-64",
    "dim": 64,
    "recipe": 1,
    "passages": [[b64(bytes(16)), b64(UNIT)]],
}
KEY: dict[str, Any] = {
    "type": "key",
    **SCOPE,
    "key": "k",
    "body": b64(bytes(32)),
    "events": [ID],
    "used_at": "2026-03-01T10:00:00Z",
}
RECORD: dict[str, Any] = {
    "type": "record",
    **SCOPE,
    "id": "f" * 32,
    "tier": "fact",
    "kind": "fact",
    "content": "Ann drinks tea.",
    "origin": "agent",
    "role": "user",
    "confidence": 0.5,
    "importance": 0.5,
    "sources": [],
    "valid_from": "2026-03-01T10:00:00Z",
    "known_from": "2026-03-01T10:00:00Z",
}
ACT: dict[str, Any] = {
    "type": "act",
    **SCOPE,
    "event": ID,
    "number": 1,
    "action": "forgotten",
    "at": "2026-03-01T10:00:00Z",
}


@pytest.fixture
def open_at(tmp_path: Path) -> Iterator[Open]:
    opened: list[Memory] = []

    def open_one(name: str) -> Memory:
        memory = holdfast.open(
            tmp_path / name, embedder=HashEmbedder(), worker=False, config=CONFIG
        )
        opened.append(memory)
        return memory

    yield open_one
    for memory in opened:
        memory.close()


def exported(memory: Memory, *, vectors: bool = True) -> bytes:
    out = io.BytesIO()
    export_to(memory.store, out, vectors=vectors)
    return out.getvalue()


def imported(memory: Memory, *lines: object, **options: Any) -> Imported:
    """Import objects as JSON lines; bytes as they are."""
    data = b"".join(
        each if isinstance(each, bytes) else json.dumps(each).encode() + b"\n" for each in lines
    )
    return import_from(memory, io.BytesIO(data), **options)


def fill(memory: Memory) -> None:
    """A bit of everything."""
    said: list[dict[str, Any]] = [
        {"role": "user", "name": "Ann", "content": "Olá \u2028 <b>\r\n\t\x1b[31m 東京 🐈"},
        {
            "role": "assistant",
            "content": "noted",
            "metadata": {"b": [1, 2.5, None], "a": {"x": "é"}},
        },
        {"role": "tool", "content": "x\x00y \ud800", "at": "1999-12-31T23:59:59.999999+05:30"},
    ]
    first = memory.remember(said, user="ann", session="s1", agent="bot", key="k 1").events
    memory.remember("same text", user="ann")
    memory.remember("same text", user="ann", workspace="team", key="k 1")
    memory.remember("bob's " * 400, user="bob 🐈", session="s1", key="é")
    memory.forget(first[0], user="ann")
    memory.restore(first[0], user="ann")
    memory.forget(first[1], user="ann")
    memory.drain()


def fill_derived(memory: Memory) -> list[str]:
    """Facts of every fate, in the scope of Ann; the ids of their turns."""
    said = [{"content": f"turn {number}"} for number in range(3)]
    turns = list(memory.remember(said, user="ann").events)
    scope = holdfast.Scope("default", "ann", "bot", "s9")
    learn(memory, scope, a_fact(50, turns[0], name="Ann", data={"fact_role": "x", "b": [1, None]}))
    learn(memory, scope, a_fact(51, turns[0], turns[1], valid_to=NOON), a_fact(52))
    learn(memory, scope, a_fact(53, turns[2], supersedes=(a_fact(50).id,)))
    learn(memory, scope, a_fact(52, content="another text", confidence=1.0))
    learn(memory, scope, a_fact(54, turns[1]), a_fact(55, turns[2], tier="graph", kind="edge"))
    memory.forget(a_fact(55).id, user="ann")
    memory.forget(turns[1], user="ann")
    memory.forget(turns[2], user="ann")
    memory.restore(turns[2], user="ann")
    memory.drain()
    return turns


def learn(memory: Memory, scope: holdfast.Scope, *facts: Derived) -> None:
    now = datetime.now(UTC)
    memory.store.put(scope, facts, known_at=now, steps=memory.worker.steps)


def test_derived_records_come_along_with_their_fates(open_at: Open) -> None:
    memory, copy = open_at("a.db"), open_at("b.db")
    turns = fill_derived(memory)
    data = exported(memory)
    done = imported(copy, data)
    assert (done.failed, done.warnings, done.new["record"]) == (0, [], 6)
    assert exported(copy) == data
    ann = holdfast.Scope("default", "ann")
    for tier in ("fact", "graph"):
        listed = copy.store.listed(ann, tier=tier, current=False)
        assert listed == memory.store.listed(ann, tier=tier, current=False)
    for number in range(50, 56):
        record = a_fact(number).id
        assert copy.history(record, user="ann") == memory.history(record, user="ann")
    assert all(finding.ok for finding in copy.store.check(index_row))
    assert copy.store.counts().ready == 0
    for each in (memory, copy):  # What went with its turn comes back with it, on both sides.
        each.restore(turns[1], user="ann")
    ids = [a_fact(54).id, a_fact(55).id]
    assert [r.id for r in copy.store.get(ann, ids)] == [a_fact(54).id]
    assert [r.id for r in memory.store.get(ann, ids)] == [a_fact(54).id]


def test_sightings_and_hearsay_come_along(open_at: Open) -> None:
    memory, copy = open_at("a.db"), open_at("b.db")
    ann = holdfast.Scope("default", "ann")
    (turn,) = memory.remember("Lisbon, again.", user="ann").events
    learn(memory, ann, a_name(50, turn), a_fact(51, turn), a_fact(52))
    learn(memory, ann, a_name(50, turn, name="Lissabon"), a_fact(51, turn))
    memory.store.charge(ann, NOON.date(), calls=1, cost=0.5)
    memory.drain()
    data = exported(memory)
    assert data.count(b'"seen_at":') == 2
    assert imported(copy, data).failed == 0
    assert exported(copy) == data
    ids = [a_name(50).id, a_fact(51).id, a_fact(52).id]
    records = copy.store.get(ann, ids)
    assert records == memory.store.get(ann, ids)
    assert [record.seen_at is None for record in records] == [False, False, True]
    assert copy.store.spent(ann, NOON.date()).calls == 0
    assert copy.store.counts().ready == 0
    assert all(finding.ok for finding in copy.store.check(index_row))


def test_an_export_without_sightings_is_read(open_at: Open) -> None:
    memory = open_at("a.db")
    assert imported(memory, RECORD).failed == 0
    (record,) = memory.store.get(holdfast.Scope("default", "ann"), [RECORD["id"]])
    assert record.seen_at is None


def test_vectors_of_what_was_only_heard_are_not_taken(open_at: Open) -> None:
    memory = open_at("a.db")
    heard = {**RECORD, "tier": "graph", "data": {"heard": True}}
    done = imported(memory, heard, {**VECTORS, "event": RECORD["id"]})
    assert (done.failed, done.new["record"], done.new["vectors"]) == (0, 1, 0)
    assert all(finding.ok for finding in memory.store.check(index_row))


def test_a_second_import_of_derived_records_changes_nothing(open_at: Open) -> None:
    memory, copy = open_at("a.db"), open_at("b.db")
    fill_derived(memory)
    data = exported(memory)
    imported(copy, data)
    again = imported(copy, data)
    assert (again.failed, again.new) == (0, dict.fromkeys(again.new, 0))
    assert again.present["record"] == 6
    assert exported(copy) == data


def test_a_turn_that_was_restored_before_something_was_learned_leaves_no_line(
    open_at: Open,
) -> None:
    memory, copy = open_at("a.db"), open_at("b.db")
    (turn,) = memory.remember("tea", user="ann").events
    memory.forget(turn, user="ann")
    memory.restore(turn, user="ann")
    learn(memory, holdfast.Scope("default", "ann"), a_fact(50, turn))
    imported(copy, exported(memory))
    assert [v.action for v in copy.history(a_fact(50).id, user="ann")] == ["stored"]
    assert exported(copy) == exported(memory)


def test_a_store_without_derived_records_exports_what_older_versions_read(open_at: Open) -> None:
    memory = open_at("a.db")
    fill(memory)
    header, *_ = exported(memory).splitlines()
    assert sorted(json.loads(header)) == ["act", "event", "holdfast_export", "key", "vectors"]


def test_the_same_store_gives_the_same_bytes(open_at: Open) -> None:
    memory = open_at("a.db")
    fill(memory)
    assert exported(memory) == exported(memory)


def test_an_import_into_an_empty_store_gives_the_identical_store(open_at: Open) -> None:
    memory, copy = open_at("a.db"), open_at("b.db")
    fill(memory)
    data = exported(memory)
    done = imported(copy, data)
    assert (done.failed, done.warnings, done.other_model) == (0, [], 0)
    assert done.new == {
        "event": 6,
        "record": 0,
        "act": 3,
        "key": 3,
        "share": 0,
        "trust": 0,
        "vectors": 6,
    }
    assert exported(copy) == data
    assert all(finding.ok for finding in copy.store.check(index_row))
    assert copy.store.counts().ready == 0


def test_the_copy_answers_like_the_original(open_at: Open) -> None:
    memory, copy = open_at("a.db"), open_at("b.db")
    fill(memory)
    imported(copy, exported(memory))
    for user, workspace in (("ann", "default"), ("ann", "team"), ("bob 🐈", "default")):
        asked: dict[str, Any] = {"user": user, "workspace": workspace}
        asked["now"] = datetime(2030, 1, 1, tzinfo=UTC)
        assert memory.recall("same text noted", **asked) == copy.recall("same text noted", **asked)
    receipt = copy.remember("bob's " * 400, user="bob 🐈", session="s1", key="é")
    assert receipt.duplicate


def test_the_first_line_counts_the_others(open_at: Open) -> None:
    memory = open_at("a.db")
    fill(memory)
    header, *lines, closing = exported(memory).splitlines()
    counts = json.loads(header)
    assert counts.pop("holdfast_export") == 2
    assert json.loads(closing)["holdfast_end"] == len(lines) + 1
    types = [json.loads(line)["type"] for line in lines]
    assert counts == {kind: types.count(kind) for kind in ("event", "act", "key", "vectors")}


def test_without_vectors_the_worker_embeds_anew(open_at: Open) -> None:
    memory, copy = open_at("a.db"), open_at("b.db")
    fill(memory)
    imported(copy, exported(memory, vectors=False))
    assert copy.store.counts().ready == 6
    copy.drain()
    assert exported(copy) == exported(memory)


def test_vectors_of_another_model_are_left_out_and_made_anew(tmp_path: Path, open_at: Open) -> None:
    memory = open_at("a.db")
    fill(memory)
    other = HashEmbedder(32, "other")
    with holdfast.open(tmp_path / "b.db", embedder=other, worker=False, config=CONFIG) as copy:
        done = imported(copy, exported(memory))
        assert (done.other_model, done.failed, copy.store.counts().ready) == (6, 0, 6)


def test_a_second_import_changes_nothing(open_at: Open) -> None:
    memory, copy = open_at("a.db"), open_at("b.db")
    fill(memory)
    data = exported(memory)
    imported(copy, data)
    again = imported(copy, data)
    assert again.new == dict.fromkeys(again.new, 0)
    assert again.present == {
        "event": 6,
        "record": 0,
        "act": 3,
        "key": 3,
        "share": 0,
        "trust": 0,
        "vectors": 6,
    }
    assert exported(copy) == data


def test_a_cut_file_is_noticed_and_a_whole_one_completes_it(open_at: Open) -> None:
    memory, copy = open_at("a.db"), open_at("b.db")
    fill(memory)
    data = exported(memory)
    done = imported(copy, data[: len(data) // 2], salvage=True)
    assert done.failed
    assert any("ends early" in each.reason for each in done.problems)
    imported(copy, data)
    assert exported(copy) == data


def test_plain_messages_are_remembered(open_at: Open) -> None:
    memory = open_at("a.db")
    done = imported(
        memory,
        {"content": "I moved to Lisbon."},
        b"\n",
        {"role": "assistant", "content": "Nice!", "user": "bob", "workspace": "w", "session": "s2"},
        {"name": "Ann", "content": "n\x00l", "at": "2026-03-01T10:00Z", "metadata": {"turn": 3}},
        user="ann",
        session="s1",
        agent="bot",
    )
    assert (done.new["event"], done.failed) == (3, 0)
    assert [(each.line, each.reason) for each in done.warnings] == [
        (4, "content: 1 unstorable characters became U+FFFD")
    ]
    lisbon, ann = memory.store.events(holdfast.Scope("default", "ann"))
    (bob,) = memory.store.events(holdfast.Scope("w", "bob"))
    assert (lisbon.content, lisbon.session, lisbon.agent) == ("I moved to Lisbon.", "s1", "bot")
    assert (ann.name, ann.metadata, ann.at.year) == ("Ann", {"turn": 3}, 2026)
    assert (bob.role, bob.origin, bob.session) == ("assistant", "agent", "s2")


def test_many_lines_keep_their_order(open_at: Open) -> None:
    memory = open_at("a.db")
    seen: list[int] = []
    lines = [{"content": f"turn {number}"} for number in range(1200)]
    done = imported(memory, *lines, user="ann", progress=seen.append)
    assert done.new["event"] == 1200
    events = memory.store.events(holdfast.Scope("default", "ann"), limit=2000)
    assert [event.content for event in events] == [line["content"] for line in lines]
    assert seen == sorted(seen)
    assert len(seen) == 4


def test_a_default_that_is_no_scope_word_is_an_error(open_at: Open) -> None:
    with pytest.raises(ScopeError, match="user is blank"):
        imported(open_at("a.db"), {"content": "x"}, user=" ")


def test_an_export_of_another_format_is_not_touched(open_at: Open) -> None:
    memory = open_at("a.db")
    with pytest.raises(HoldfastError, match="format 3"):
        imported(memory, {"holdfast_export": 3}, EVENT)
    assert memory.store.stats()["events"] == 0


def test_a_byte_order_mark_is_ignored(open_at: Open) -> None:
    done = imported(open_at("a.db"), b"\xef\xbb\xbf", {"content": "x"}, user="ann")
    assert (done.new["event"], done.failed) == (1, 0)


BAD_LINES = {
    "bad JSON": (b'{"content": \n', "not valid JSON"),
    "bad UTF-8": (b'{"content": "\xff"}\n', "not UTF-8 at byte 13"),
    "no object": (b"[1]\n", "must be a JSON object"),
    "a depth bomb": (b'{"content":' + b"[" * 100_000 + b"\n", "nested too deeply"),
    "a number without end": (b'{"content": ' + b"9" * 5000 + b"}\n", "not valid JSON"),
    "not a number": (b'{"content": "x", "metadata": {"a": NaN}}\n', "NaN is not a JSON number"),
    "an infinite number": ({"content": "x", "metadata": {"a": 1e999}}, "Infinity"),
    "an overflowing number": (b'{"content": "x", "metadata": {"a": 1e999}}\n', "finite number"),
    "a blank text": ({"content": " \n"}, "content is blank"),
    "no text": ({"role": "user"}, "content must be a text"),
    "a number for a text": ({"content": 5}, "content must be a text, not int"),
    "an unknown role": ({"content": "x", "role": "root"}, "role must be one of"),
    "a list for a role": ({"content": "x", "role": []}, "role must be one of"),
    "an unknown field": ({"content": "x", "fact": 1}, "fact is not a field"),
    "a naive time": ({"content": "x", "at": "2026-03-01T10:00:00"}, "no time zone"),
    "a far time": ({"content": "x", "at": "9999-12-31T23:59:59-23:59"}, "between 1900 and 2200"),
    "a reserved key": ({"content": "x", "metadata": {"fact_role": "instruction"}}, "reserved"),
    "deep metadata": (
        {"content": "x", "metadata": json.loads('{"a":' * 9 + "1" + "}" * 9)},
        "nested deeper",
    ),
    "a large text": ({"content": "x" * (2**20 + 1)}, "the limit is 1048576"),
    "NUL in a user": ({"content": "x", "user": "a\0"}, "user holds a NUL"),
    "a number for a user": ({"content": "x", "user": 0}, "user must be a text"),
    "a surrogate in a field": ({"content": "x", "\ud800": 1}, "is not a field"),
    "an unknown type": ({"type": "graph"}, "type must be one of"),
    "a list for a type": ({"type": ["event"]}, "type must be one of"),
    "a second header": ({"holdfast_export": 1}, "header in the middle"),
    "no user": (EVENT | {"user": None}, "user is missing"),
    "no id": (EVENT | {"id": None}, "id must be 32 hex digits"),
    "a short id": (EVENT | {"id": "00"}, "id must be 32 hex digits"),
    "a number for an id": (EVENT | {"id": 5}, "id must be 32 hex digits"),
    "no known time": (EVENT | {"known_at": None}, "known_at must be a time"),
    "no time": (EVENT | {"at": None}, "at is missing"),
    "a wrong origin": (EVENT | {"origin": "god"}, "origin must be one of"),
    "a list for an origin": (EVENT | {"origin": []}, "origin must be one of"),
    "NUL in a stored text": (EVENT | {"content": "a\0b"}, "U+FFFD"),
    "an extra field": (EVENT | {"arrival": 5}, "arrival is not a field"),
    "a wrong end": (EVENT | {"forgotten_at": "now"}, "forgotten_at is not ISO 8601"),
    "a record without its events": (RECORD | {"sources": [ID]}, "there is no memory"),
    "a record that is a turn": (RECORD | {"tier": "session"}, "tier must be one of"),
    "a record of no tier": (RECORD | {"tier": []}, "tier must be one of"),
    "a record without text": (RECORD | {"content": " "}, "content is blank"),
    "a record too sure": (RECORD | {"confidence": 1.5}, "confidence must lie in 0..1"),
    "a record of no weight": (RECORD | {"importance": "high"}, "importance must lie in 0..1"),
    "a record without a beginning": (RECORD | {"valid_from": None}, "valid_from must be a time"),
    "a record with a wrong end": (RECORD | {"valid_to": "soon"}, "valid_to is not ISO 8601"),
    "a record last seen at no time": (RECORD | {"seen_at": "lately"}, "seen_at is not ISO 8601"),
    "a record seen before it was known": (
        RECORD | {"seen_at": "2026-02-28T10:00:00Z"},
        "seen_at lies before known_from",
    ),
    "a list for data": (RECORD | {"data": [1]}, "data must be an object"),
    "NUL in data": (RECORD | {"data": {"rule": "a\0b"}}, "U+FFFD"),
    "a source that is no id": (RECORD | {"sources": ["x"]}, "sources must be 32 hex digits"),
    "a record hidden along with nothing": (RECORD | {"along": True}, "along must be"),
    "a record with more": (RECORD | {"terms": "x"}, "unknown field 'terms'"),
    "an act without event": (ACT, "there is no memory"),
    "an unknown act": (ACT | {"action": "erased"}, "action must be"),
    "a key without body": (KEY | {"body": None}, "body must be a text in base64"),
    "a short body": (KEY | {"body": "AAAA"}, "body must be 32 bytes"),
    "bad base64": (KEY | {"body": "a!"}, "body is not valid base64"),
    "base64 with accents": (KEY | {"body": "é"}, "body is not valid base64"),
    "a text for a list": (KEY | {"events": "x"}, "events must be a list"),
    "a key of spaces": (KEY | {"key": " "}, "key must be a text"),
    "vectors without event": (VECTORS, "there is no memory"),
    "a dimension too many": (VECTORS | {"dim": 65}, "expected 16 and 260"),
    "a boundless dimension": (VECTORS | {"dim": 10**18}, "dim must lie in 1..65536"),
    "no passages": (VECTORS | {"passages": []}, "passages is empty"),
    "a lone passage": (VECTORS | {"passages": [[""]]}, "pairs of digest and vector"),
    "a vector of zeros": (
        VECTORS | {"passages": [[b64(bytes(16)), b64(ZERO)]]},
        "has the length 0",
    ),
    "a vector of NaN": (
        VECTORS | {"passages": [[b64(bytes(16)), b64(b"\xff" * 256)]]},
        "has the length nan",
    ),
}


@pytest.mark.parametrize("kind", BAD_LINES)
def test_a_bad_line_is_listed_and_stops_nothing(open_at: Open, kind: str) -> None:
    line, reason = BAD_LINES[kind]
    memory = open_at("a.db")
    before, after = {"content": "before"}, {"content": "after"}
    done = imported(memory, before, line, after, user="ann")
    assert [each.line for each in done.problems] == [2]
    assert reason in done.problems[0].reason
    done.problems[0].reason.encode()
    assert (done.new["event"], done.failed) == (2, 1)
    assert all(finding.ok for finding in memory.store.check(index_row))


def test_another_text_under_a_known_id_is_refused(open_at: Open) -> None:
    memory = open_at("a.db")
    done = imported(memory, EVENT, EVENT, EVENT | {"content": "coffee"})
    assert (done.new["event"], done.present["event"]) == (1, 1)
    assert [each.line for each in done.problems] == [3]
    assert "another event with the id" in done.problems[0].reason


def test_a_line_too_long_is_skipped(open_at: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("holdfast.transfer.importing._LONGEST_LINE", 100)
    done = imported(
        open_at("a.db"), {"content": "x" * 1000}, {"content": "y"}, b'"' * 500, user="ann"
    )
    assert done.new["event"] == 1
    assert [(each.line, each.reason) for each in done.problems] == [
        (1, "the line has more than 100 bytes"),
        (3, "the line has more than 100 bytes"),
    ]


TEXT = st.text(min_size=1).filter(lambda text: re.sub("[\0\ufffd]", "", text).strip())
WORD = st.sampled_from(["ann", "bob", "🐈", "ann ", "a\nb", "'; DROP TABLE events; --"])
SCALAR = st.none() | st.booleans() | st.integers(-(2**63) + 1, 2**63 - 1) | st.text()
NUMBER = st.floats(allow_nan=False, allow_infinity=False)
METADATA = st.dictionaries(
    st.text().filter(lambda key: key not in RESERVED_METADATA),
    st.recursive(SCALAR | NUMBER, lambda each: st.lists(each, max_size=3), max_leaves=5),
    max_size=4,
)
YEAR_1901, YEAR_2199 = datetime(1901, 1, 1, tzinfo=UTC), datetime(2199, 1, 1, tzinfo=UTC)
MESSAGE = st.fixed_dictionaries(
    {"content": TEXT, "role": st.sampled_from(["user", "assistant", "system", "tool"])},
    optional={
        "name": st.text(max_size=20),
        "metadata": METADATA,
        "at": st.datetimes(
            YEAR_1901.replace(tzinfo=None), YEAR_2199.replace(tzinfo=None), timezones=st.just(UTC)
        ),
    },
)
CALL = st.fixed_dictionaries(
    {"messages": st.lists(MESSAGE, min_size=1, max_size=3), "user": WORD},
    optional={"workspace": WORD, "session": WORD, "agent": WORD},
)


@pytest.mark.slow
@settings(
    max_examples=60,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(calls=st.lists(CALL, min_size=1, max_size=6), data=st.data())
def test_export_then_import_is_the_identity_on_hostile_contents(
    tmp_path_factory: pytest.TempPathFactory, calls: list[dict[str, Any]], data: st.DataObject
) -> None:
    folder = tmp_path_factory.mktemp("identity")
    with (
        holdfast.open(folder / "a.db", embedder=HashEmbedder(), worker=False) as memory,
        holdfast.open(folder / "b.db", embedder=HashEmbedder(), worker=False) as copy,
    ):
        for number, call in enumerate(calls):
            key = data.draw(st.sampled_from([None, f"key {number}"]))
            receipt = memory.remember(**call, key=key)
            scope = {"user": call["user"], "workspace": call.get("workspace", "default")}
            for event in receipt.events:
                for verb in data.draw(st.sampled_from([(), ("forget",), ("forget", "restore")])):
                    getattr(memory, verb)(event, **scope)
        if data.draw(st.booleans()):
            memory.drain()
        whole = exported(memory)
        done = imported(copy, whole)
        assert (done.problems, done.warnings) == ([], [])
        assert exported(copy) == whole


@pytest.mark.slow
@settings(
    max_examples=150,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(data=st.data())
def test_a_scrambled_export_never_breaks_anything(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    folder = tmp_path_factory.mktemp("scrambled")
    with (
        holdfast.open(folder / "a.db", embedder=HashEmbedder(), worker=False) as memory,
        holdfast.open(folder / "b.db", embedder=HashEmbedder(), worker=False) as copy,
    ):
        memory.remember("tea", user="ann", key="k")
        memory.forget(memory.remember("x", user="ann").events[0], user="ann")
        memory.drain()
        whole = bytearray(exported(memory))
        body = whole.index(b"\n") + 1
        for _ in range(data.draw(st.integers(1, 20))):
            place = data.draw(st.integers(body, len(whole) - 1))
            whole[place] = data.draw(st.integers(0, 255))
        imported(copy, bytes(whole), user="ann", salvage=True)
        exported(copy)
        integrity = {each.check: each.ok for each in copy.store.check(index_row)}
        assert integrity["integrity"]
        assert integrity["index"]
        assert integrity["numbers"]
