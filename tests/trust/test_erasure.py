"""An erased user is gone from every read and every byte; others notice nothing."""

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import holdfast
from holdfast import Memory, Scope
from holdfast.errors import InvalidInput
from holdfast.upkeep.erasure import Erased, erase, verify
from scripts.erasure import EMBEDDER, Traces, erased, problems, scan, shown, user_name, word_of

NOW = datetime(2026, 3, 1, 10, tzinfo=UTC)
ANN, BO = Scope("default", "ann"), Scope("default", "bo")


def opened(path: Path) -> Memory:
    return holdfast.open(path, embedder=EMBEDDER, worker=False, clock=lambda: NOW)


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    with opened(tmp_path / "m.db") as memory:
        memory.remember("I keep bees in Zzyzxville.", user="ann", session="zzyzxtalk")
        memory.remember("I keep goats.", user="bo")
        memory.drain()
        yield memory


@pytest.mark.slow
def test_nothing_is_left_of_one_of_many(tmp_path: Path) -> None:
    result = erased(tmp_path / "memory.db", users=4, memories=30)
    assert problems(result) == []
    assert len(list(shown(result))) == 8
    assert result.receipt.removed["events"] >= 30


def test_what_is_left_would_be_found(memory: Memory, tmp_path: Path) -> None:
    """Forgetting removes nothing: the same scan must find all of it."""
    traces = Traces(b"zzyzx", {})
    before = scan(tmp_path / "m.db", traces)["words"]
    memory.forget(memory.store.events(ANN)[0].id, user="ann")
    assert scan(tmp_path / "m.db", traces)["words"] >= before > 0
    erase(memory.store, ANN, now=NOW)
    assert scan(tmp_path / "m.db", traces)["words"] == 0


def test_a_window_is_found_at_any_place(tmp_path: Path) -> None:
    import numpy as np

    wanted = np.array([0x1122334455667788], dtype=np.uint64)
    for before in range(20):
        (tmp_path / "f.db").write_bytes(b"x" * before + wanted.tobytes() + b"y" * 5)
        assert scan(tmp_path / "f.db", Traces(b"none", {"ids": wanted}))["ids"] == 1


def test_another_reader_of_the_file_notices(memory: Memory, tmp_path: Path) -> None:
    with opened(tmp_path / "m.db") as other:
        assert other.recall("bees", user="ann")
        erase(memory.store, ANN, now=NOW)
        assert other.recall("bees", user="ann") == []
        assert [hit.content for hit in other.recall("goats", user="bo")] == ["I keep goats."]


def test_who_was_erased_may_begin_anew(memory: Memory) -> None:
    erase(memory.store, ANN, now=NOW)
    memory.remember("I keep ducks.", user="ann")
    memory.drain()
    assert [hit.content for hit in memory.recall("bees or ducks", user="ann")] == ["I keep ducks."]


def test_a_receipt_holds_and_is_about_one_user(memory: Memory) -> None:
    receipt = json.loads(json.dumps(erase(memory.store, ANN, now=NOW).as_dict()))
    assert verify(memory.store, receipt)
    assert verify(memory.store, receipt, user="ann")
    assert not verify(memory.store, receipt, user="bo")
    over_http = {**receipt, "at": str(receipt["at"]).replace("+00:00", "Z")}
    assert over_http != receipt
    assert verify(memory.store, over_http, user="ann")
    assert receipt["at"] == "2026-03-01T10:00:00+00:00"
    assert receipt["removed"]["events"] == 1


def test_a_receipt_tells_no_name_and_no_content(memory: Memory) -> None:
    told = json.dumps(erase(memory.store, ANN, now=NOW).as_dict()).lower()
    assert not any(word in told for word in ("ann", "bees", "zzyzx"))


def test_receipts_of_one_user_cannot_be_told_to_belong_together(memory: Memory) -> None:
    first, second = (erase(memory.store, ANN, now=NOW) for _ in range(2))
    assert first.user != second.user
    assert sum(second.removed.values()) == 0


def test_another_store_gave_no_such_receipt(memory: Memory, tmp_path: Path) -> None:
    receipt = erase(memory.store, ANN, now=NOW).as_dict()
    with opened(tmp_path / "other.db") as other:
        assert not verify(other.store, receipt)


@pytest.mark.parametrize(
    "change",
    [
        {"workspace": "other"},
        {"at": "2026-03-02T10:00:00+00:00"},
        {"removed": {"events": 2}},
        {"id": "0" * 32},
        {"user": "0" * 64},
        {"version": 2},
        {"more": 1},
        {"signature": "\u00e9"},
        {"signature": None},
        {"removed": {1, 2}},
        {"removed": float("nan")},
    ],
    ids=str,
)
def test_a_changed_receipt_does_not_hold(memory: Memory, change: dict[str, Any]) -> None:
    receipt = erase(memory.store, ANN, now=NOW).as_dict()
    assert not verify(memory.store, {**receipt, **change})


def test_a_time_without_a_zone_is_refused_and_nothing_is_erased(memory: Memory) -> None:
    with pytest.raises(InvalidInput, match="zone"):
        erase(memory.store, ANN, now=datetime(2026, 3, 1))  # noqa: DTZ001
    assert memory.recall("bees", user="ann")


class Secretive:
    """A store of which only the secret and the count matter."""

    def secret(self, name: str) -> bytes:
        return name.encode().ljust(32)

    def erase(self, scope: Scope, *, at: datetime) -> dict[str, int]:
        return {"events": 1}


@given(workspace=st.text(min_size=1), user=st.text(), other=st.text())
def test_a_receipt_is_about_its_user_alone(workspace: str, user: str, other: str) -> None:
    store: Any = Secretive()
    receipt: Erased = erase(store, Scope(workspace, user), now=NOW)
    told = json.loads(json.dumps(receipt.as_dict()))
    assert verify(store, told, user=user)
    assert verify(store, told, user=other) == (user == other)


def test_words_of_users_differ() -> None:
    words = [word_of(number) for number in range(1_000)]
    assert len(set(words)) == 1_000
    assert all(word in user_name(number) for number, word in enumerate(words))
