"""What is kept of owners in memory is as the store is, and never too much of it."""

from collections.abc import Sequence
from pathlib import Path

import pytest

import holdfast
from holdfast.index.look import one_look, owner_of
from holdfast.index.resident import Follower, InUse
from holdfast.memory.memory import Memory
from holdfast.store.protocols import Change, Store
from holdfast.testing import HashEmbedder
from holdfast.types import Scope

ANN = Scope("default", "ann")


class Texts(Follower):
    """The ids of an owner's records, and how they were read."""

    def __init__(self) -> None:
        super().__init__()
        self.ids: list[str] = []
        self.reads: list[str] = []

    def read_all(self, store: Store, scope: Scope) -> None:
        self.reads.append("all")
        self.ids = [each.id for each in store.changes(scope, after=0)]

    def read_changes(self, store: Store, scope: Scope, changes: Sequence[Change]) -> None:
        self.reads.append("changes")
        self.ids += [each.id for each in changes]


@pytest.fixture
def memory(tmp_path: Path) -> Memory:
    return holdfast.open(tmp_path / "m.db", embedder=HashEmbedder(16), worker=False)


def test_only_what_changed_is_read_and_after_a_removal_everything(memory: Memory) -> None:
    with memory:
        texts = Texts()
        memory.remember("tea", user="ann")
        texts.follow(memory.store, ANN)
        texts.follow(memory.store, ANN)
        assert texts.reads == ["all"]
        second = memory.remember("milk", user="ann")
        texts.follow(memory.store, ANN)
        assert texts.reads == ["all", "changes"]
        assert texts.ids[-1] in str(second)
        memory.erase(user="ann")
        texts.follow(memory.store, ANN)
        assert texts.reads[-1] == "all"
        assert texts.ids == []


def test_within_one_look_what_changed_is_read_once(memory: Memory) -> None:
    with memory:
        memory.remember("tea", user="ann")
        both = [Texts(), Texts()]
        for each in both:
            each.follow(memory.store, ANN)
        for word in ("milk", "bread"):
            memory.remember(word, user="ann")
            with one_look():
                both[0].follow(memory.store, ANN)
                memory.remember("meanwhile", user="ann")
                both[1].follow(memory.store, ANN)
                assert both[0].ids == both[1].ids, "as the store stood when the look began"
            for each in both:
                each.follow(memory.store, ANN)
        assert both[1].ids == [each.id for each in memory.store.changes(ANN, after=0)]


def test_what_fails_is_tried_again(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    with memory:
        texts = Texts()
        memory.remember("tea", user="ann")

        def fails(*_: object, **__: object) -> None:
            raise RuntimeError

        monkeypatch.setattr(texts, "read_all", fails)
        with pytest.raises(RuntimeError):
            texts.follow(memory.store, ANN)
        monkeypatch.undo()
        texts.follow(memory.store, ANN)
        assert len(texts.ids) == 1


def test_the_least_used_is_dropped_and_the_last_one_stays() -> None:
    kept: InUse[str, list[int]] = InUse(len, most=4)
    for name, size in (("a", 2), ("b", 2), ("c", 1)):
        kept.get(name, lambda size=size: [0] * size)  # type: ignore[misc]
    kept.get("a", list)  # It is there: nothing is made, and it is the last to go.
    kept.make_room()
    assert [name for name, _ in kept.items()] == ["c", "a"]
    kept.get("d", lambda: [0] * 99)
    kept.make_room()
    assert [name for name, _ in kept.items()] == ["d"]


def test_an_owner_is_kept_by_workspace_and_user_alone() -> None:
    assert owner_of(Scope("w", "u", "agent", "session")) == ("w", "u")
