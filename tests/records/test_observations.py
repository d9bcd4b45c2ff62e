"""Entities and observations to the letter: compared with the simplest thing that could be meant."""

import io
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import holdfast
from holdfast.errors import InvalidInput, NotFound, ScopeError, TooLarge
from holdfast.memory.memory import Memory
from holdfast.records.observations import Added, Known, Link, Observations, Observed
from holdfast.testing import HashEmbedder
from holdfast.transfer.importing import export_to, import_from


class Clock:
    now = datetime(2026, 3, 1, 12, tzinfo=UTC)

    def __call__(self) -> datetime:
        self.now += timedelta(seconds=1)
        return self.now


def opened(path: Path) -> Memory:
    return holdfast.open(
        path, embedder=HashEmbedder(16), worker=False, clock=Clock(),
        config={"extraction": {"enabled": False}},
    )  # fmt: skip


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    with opened(tmp_path / "m.db") as memory:
        yield memory


@pytest.fixture
def observations(memory: Memory) -> Observations:
    return memory.observations


class Model:
    """Two lists, as the reference server keeps them; what is said twice is kept once."""

    def __init__(self) -> None:
        self.entities: dict[str, tuple[str, list[str]]] = {}
        self.relations: dict[Link, None] = {}

    def create(self, things: list[Observed], links: list[Link]) -> Known:
        new = []
        for each in things:
            if each.name not in self.entities:
                texts = list(dict.fromkeys(each.observations))
                self.entities[each.name] = (each.type, texts)
                new.append(Observed(each.name, each.type, tuple(texts)))
        fresh = [each for each in dict.fromkeys(links) if each not in self.relations]
        self.relations.update(dict.fromkeys(fresh))
        return Known(tuple(new), tuple(fresh))

    def add(self, name: str, texts: list[str]) -> Added | None:
        if name not in self.entities:
            return None
        there = self.entities[name][1]
        new = [each for each in dict.fromkeys(texts) if each not in there]
        there += new
        return Added(name, tuple(new))

    def delete(self, names: list[str], told: list[tuple[str, list[str]]], cut: list[Link]) -> None:
        for name, texts in told:
            if name in self.entities:
                type, kept = self.entities[name]
                self.entities[name] = type, [each for each in kept if each not in texts]
        for name in names:
            self.entities.pop(name, None)
        for link in list(self.relations):
            if link in cut or link.source in names or link.target in names:
                del self.relations[link]

    def read(self, part: str | None = None, names: list[str] | None = None) -> Known:
        found = [Observed(name, type, tuple(texts))
                 for name, (type, texts) in self.entities.items()]  # fmt: skip
        if part is None and names is None:
            return Known(tuple(found), tuple(self.relations))
        kept = [
            each
            for each in found
            if (names is None or each.name in names)
            and (part is None
                 or any(part.lower() in t.lower()
                        for t in (each.name, each.type, *each.observations)))
        ]  # fmt: skip
        called = {each.name for each in kept}
        near = [link for link in self.relations if {link.source, link.target} & called]
        return Known(tuple(kept), tuple(near))


_NAMES = st.sampled_from(["Bob", "bob", "BOB ", "Ann", "Ann Lee", "Zoë", "x\ny", "person", "", " "])
_WORDS = st.sampled_from(
    ["person", "Person", "company", "likes", "Likes", "works at", "WORKS_AT", ""]
)
_TEXTS = st.lists(st.sampled_from(["Tea", "tea", " tea", "A cat.", "Bob", "ÉÉ", ""]), max_size=3)
_THINGS = st.lists(st.builds(Observed, _NAMES, _WORDS, _TEXTS.map(tuple)), max_size=3)
_LINKS = st.lists(st.builds(Link, _NAMES, _WORDS, _NAMES), max_size=3)
_TOLD = st.lists(st.tuples(_NAMES, _TEXTS), max_size=2)
_STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("create"), _THINGS, _LINKS),
        st.tuples(st.just("add"), _NAMES, _TEXTS),
        st.tuples(st.just("delete"), st.lists(_NAMES, max_size=2), _TOLD, _LINKS),
    ),
    max_size=8,
)


def _thing(each: Observed) -> dict[str, Any]:
    return {"name": each.name, "type": each.type, "observations": list(each.observations)}


def _link(each: Link) -> dict[str, Any]:
    return {"source": each.source, "type": each.type, "target": each.target}


def _done(step: tuple[Any, ...], model: Model, real: Observations, user: str) -> None:
    match step:
        case ("create", things, links):
            got = real.create(list(map(_thing, things)), list(map(_link, links)), user=user)
            assert got == model.create(things, links)
        case ("add", name, texts):
            expected = model.add(name, texts)
            sent = [{"entity": name, "contents": texts}]
            if expected is None:
                with pytest.raises(NotFound, match="Entity with name"):
                    real.add(sent, user=user)
            else:
                assert real.add(sent, user=user) == [expected]
        case ("delete", names, told, cut):
            model.delete(names, told, cut)
            sent = [{"entity": name, "contents": texts} for name, texts in told]
            real.delete(names, sent, list(map(_link, cut)), user=user)


@pytest.mark.slow
@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(steps=_STEPS, part=st.sampled_from(["", "o", "TEA", "person", "zzz"]))
def test_random_histories_are_as_two_lists(
    memory: Memory, steps: list[tuple[Any, ...]], part: str
) -> None:
    user = memory._ids.make(1, memory.now())[0]
    model = Model()
    for step in steps:
        _done(step, model, memory.observations, user)
    assert memory.observations.read(user=user) == model.read()
    assert memory.observations.read(query=part, user=user) == model.read(part)
    some = ["Bob", "Ann"]
    assert memory.observations.read(names=some, user=user) == model.read(names=some)
    assert [each for each in memory.check() if not each.ok] == []


def test_an_export_brings_everything_along(memory: Memory, tmp_path: Path) -> None:
    memory.observations.create(
        [
            {"name": "Bob", "type": "Person", "observations": ["Likes tea", "b", "a"]},
            {"name": "", "type": "", "observations": ["", " ", "x"]},
            {"name": "x\ny", "type": "", "observations": ["", "x"]},
        ],
        [
            {"source": "Bob", "type": "Knows", "target": "Nobody"},
            {"source": "", "type": "", "target": "Nobody"},
        ],
        user="ann",
    )
    before = memory.observations.read(user="ann")
    file = io.BytesIO()
    export_to(memory.store, file)
    file.seek(0)
    with opened(tmp_path / "copy.db") as copy:
        import_from(copy, file)
        assert copy.observations.read(user="ann") == before


def test_what_is_observed_is_a_memory_like_all_others(memory: Memory) -> None:
    memory.observations.create(
        [{"name": "Bob", "type": "Person", "observations": ["Collects stamps"]}], user="ann"
    )
    memory.drain()
    (hit,) = [each for each in memory.recall("stamps", user="ann") if each.kind == "observation"]
    assert (hit.content, hit.name, hit.tier) == ("Collects stamps", "Bob", "graph")
    # By the name of the entity as well, which is not in the text.
    assert "Collects stamps" in [each.content for each in memory.recall("Bob", user="ann")]
    memory.forget(hit.id, user="ann")
    assert memory.observations.read(user="ann").entities == (Observed("Bob", "Person"),)
    memory.restore(hit.id, user="ann")
    assert memory.observations.read(user="ann").entities[0].observations == ("Collects stamps",)


def test_nobody_sees_what_is_another_users(observations: Observations) -> None:
    observations.create([{"name": "Bob", "type": "x", "observations": ["y"]}], user="ann")
    assert observations.read(user="bob") == Known()
    assert observations.read(user="ann", workspace="elsewhere") == Known()
    assert observations.delete(["Bob"], user="bob") == 0
    with pytest.raises(NotFound):
        observations.add([{"entity": "Bob", "contents": ["z"]}], user="bob")
    assert len(observations.read(user="ann").entities) == 1
    with pytest.raises(ScopeError):
        observations.read()


def test_several_writers_make_one_of_what_they_all_name(memory: Memory) -> None:
    things = [{"name": f"n{i}", "type": "x", "observations": ["same"]} for i in range(8)]

    def write(_: int) -> int:
        return len(memory.observations.create(things, user="ann").entities)

    with ThreadPoolExecutor(4) as threads:
        assert sum(threads.map(write, range(8))) == 8
    known = memory.observations.read(user="ann").entities
    assert [(each.name, each.observations) for each in known] == [
        (f"n{i}", ("same",)) for i in range(8)
    ]


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        ({"entities": "Bob"}, InvalidInput, "entities must be a list"),
        ({"entities": ["Bob"]}, InvalidInput, r"entities\[0\] must be a mapping"),
        ({"entities": [{"name": "B"}]}, InvalidInput, r"entities\[0\].type must be a text"),
        ({"entities": [{"name": "B", "type": "t", "x": 1}]}, InvalidInput, "is not a field"),
        ({"entities": [{"name": "B", "type": "t", "observations": [1]}]}, InvalidInput,
         r"entities\[0\].observations\[0\] must be a text, not int"),
        ({"entities": [{"name": "x" * 501, "type": "t"}]}, TooLarge, "the limit is 500"),
        ({"relations": [{"source": "a", "type": "t"}]}, InvalidInput, "target must be a text"),
        ({"relations": [{}] * 5001}, TooLarge, "the limit is 5000"),
        ({"origin": "boss"}, InvalidInput, "origin must be one of"),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_refused_and_nothing_is_stored(
    observations: Observations, call: dict[str, Any], error: type[Exception], words: str
) -> None:
    with pytest.raises(error, match=words):
        observations.create(**call, user="ann")
    assert observations.read(user="ann") == Known()
