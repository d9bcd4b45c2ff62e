"""Several owners in one view, and views of some tiers: what an asker may see, and nothing else."""

import tempfile
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import holdfast
from holdfast.errors import StoreBusy
from holdfast.index.resident import IndexCache, View, ViewPart
from holdfast.language.terms import term_id, terms
from holdfast.memory.memory import Memory
from holdfast.store.protocols import FOREVER_US, Change, Derived, Feed, Head, VectorRows
from holdfast.testing import HashEmbedder
from holdfast.testing.store_suite import NOON, a_fact, a_name, told
from holdfast.types import TEAM, Scope

ANN = Scope("home", "ann")
TEAM_OF_ANN = Scope("home", TEAM)
BOB = Scope("work", "bob")
OWNERS = (ANN, TEAM_OF_ANN, BOB)
OF_TEAM = ViewPart(TEAM_OF_ANN, frozenset({"workspace", "knowledge", "graph", "procedure"}))
OF_BOB = ViewPart(BOB, frozenset({"note", "graph"}), (("graph", "s1"), ("note", "s2")))


def open_memory(path: Path) -> Memory:
    config = {"extraction": {"enabled": False}}
    return holdfast.open(path / "m.db", embedder=HashEmbedder(16), worker=False, config=config)


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    with open_memory(tmp_path) as opened:
        yield opened


@pytest.fixture
def shelf(memory: Memory) -> IndexCache:
    return IndexCache(memory.store, most_bytes=1 << 30)


def put(memory: Memory, scope: Scope, *records: Derived) -> None:
    memory.store.put(scope, records, known_at=NOON, steps=memory.worker.steps)


def an_entry(number: int, content: str = "We use Kafka.", **changes: Any) -> Derived:
    return a_fact(number, content=content, tier="workspace", kind="decision", **changes)


def a_note(number: int, content: str = "A walk.", **changes: Any) -> Derived:
    return a_fact(number, content=content, tier="note", kind="note", **changes)


def look(
    memory: Memory, shelf: IndexCache, which: str = "loud", also: tuple[ViewPart, ...] = ()
) -> View:
    return shelf.view(ANN, memory.worker.space, which, also=also)


def living(view: View) -> set[str]:
    return {view.ids[doc] for doc in np.flatnonzero(view.alive).tolist()}


def holders(view: View, word: str) -> set[int]:
    found: set[int] = set()
    for part in view.segments:
        ((docs, _),) = part.find(np.array([term_id(terms(word)[0])], dtype=np.uint64))
        found |= set(docs.tolist())
    return found


def embedded(view: View) -> Counter[int]:
    """How many vectors each document has."""
    if view.vectors is None:
        return Counter()
    docs, _ = view.vectors.cosines(np.ones(16, dtype=np.float32), None, depth=1000)
    return Counter(docs.tolist())


# Varieties


def test_what_is_quiet_is_only_where_it_is_asked_for(memory: Memory, shelf: IndexCache) -> None:
    turn = memory.remember("a cat", user="ann", workspace="home").events[0]
    loud, quiet, silent = (a_fact(50 + i, turn, quiet=i) for i in range(3))
    note = a_note(60, quiet=1)
    put(memory, ANN, loud, quiet, silent, note)
    memory.drain()
    assert living(look(memory, shelf)) == {turn, loud.id}
    assert living(look(memory, shelf, "fact")) == {loud.id, quiet.id}
    assert living(look(memory, shelf, "all")) == {turn, loud.id, quiet.id, note.id}
    for which in ("loud", "fact", "all"):
        view = look(memory, shelf, which)
        assert set(embedded(view)) == set(range(len(view))), "each has its vector"
        assert len(view.ids) == len(living(view)), "what is not asked for is not kept"


def test_quiet_writes_leave_a_loud_view_as_it_is(memory: Memory, shelf: IndexCache) -> None:
    turn = memory.remember("a cat", user="ann", workspace="home").events[0]
    memory.drain()
    before = look(memory, shelf)
    put(memory, ANN, a_fact(50, turn, quiet=1))
    memory.drain()
    assert look(memory, shelf) is before


def test_what_becomes_quiet_leaves_and_comes_back(memory: Memory, shelf: IndexCache) -> None:
    put(memory, ANN, a_fact(50))
    memory.drain()
    before = look(memory, shelf)
    put(memory, ANN, a_fact(50, quiet=1))
    assert living(look(memory, shelf)) == set()
    assert living(before) == {a_fact(50).id}, "a view is a moment"
    put(memory, ANN, a_fact(50, quiet=2))
    assert living(look(memory, shelf, "fact")) == set()
    put(memory, ANN, a_fact(50))
    assert living(look(memory, shelf)) == {a_fact(50).id}
    assert living(look(memory, shelf, "fact")) == {a_fact(50).id}


def test_a_view_tells_what_was_put_aside_touched_and_private(
    memory: Memory, shelf: IndexCache
) -> None:
    put(memory, ANN, a_fact(50), a_fact(51), a_fact(52))
    plain = look(memory, shelf)
    assert (plain.has_archived, plain.has_touched, plain.has_private) == (False, False, False)
    assert plain.strength.tolist() == [-1.0] * 3
    assert plain.seen_us.tolist() == plain.known_us.tolist()
    later = NOON + timedelta(days=2)
    memory.store.archive(ANN, [a_fact(50).id], at=later, reason="old")
    memory.store.touch(
        ANN, [a_fact(51).id], at=later, action="praised", strength=lambda record: 0.75
    )
    owner = Scope("home", "ann", agent="helper")
    memory.store.put(
        owner, [a_fact(53, visibility="agent_only")], known_at=NOON, steps=memory.worker.steps
    )
    view = look(memory, shelf)
    doc = view.numbers
    assert (view.has_archived, view.has_touched, view.has_private) == (True, True, True)
    assert np.flatnonzero(view.archived).tolist() == [doc[a_fact(50).id]]
    assert not view.alive[doc[a_fact(50).id]]
    assert view.strength[doc[a_fact(51).id]] == np.float32(0.75)
    assert view.seen_us[doc[a_fact(51).id]] == later.timestamp() * 1_000_000
    assert np.flatnonzero(view.private).tolist() == [doc[a_fact(53).id]]
    assert view.agents[doc[a_fact(53).id]] == view.codes["helper"]
    assert plain.alive.all(), "a view is a moment"


def test_what_is_forgotten_is_not_shown_for_having_been_put_aside(
    memory: Memory, shelf: IndexCache
) -> None:
    put(memory, ANN, a_fact(50), a_fact(51))
    look(memory, shelf)
    memory.store.archive(ANN, [a_fact(50).id, a_fact(51).id], at=NOON, reason="old")
    memory.store.forget(ANN, [a_fact(50).id], at=NOON)
    for view in (look(memory, shelf), look(memory, IndexCache(memory.store, most_bytes=1 << 30))):
        assert not view.alive.any()
        assert [view.ids[doc] for doc in np.flatnonzero(view.archived).tolist()] == [a_fact(51).id]


# Several owners


def test_an_asker_sees_the_tiers_they_may_see(memory: Memory, shelf: IndexCache) -> None:
    turn = memory.remember("a cat", user="ann", workspace="home").events[0]
    put(memory, TEAM_OF_ANN, an_entry(50), a_fact(51))
    put(memory, BOB, a_note(60), a_fact(61), told(a_name(62)), a_name(63))
    memory.remember("a dog", user="bob", workspace="work")
    memory.drain()
    assert living(look(memory, shelf)) == {turn}
    view = look(memory, shelf, also=(OF_TEAM, OF_BOB))
    assert living(view) == {turn, an_entry(50).id, a_note(60).id, a_name(62).id}
    assert view.parts == (ViewPart(ANN), OF_TEAM, OF_BOB)
    whose = {view.ids[doc]: view.parts[view.owners[doc]] for doc in range(len(view))}
    assert whose[turn] == ViewPart(ANN)
    assert whose[an_entry(50).id] == OF_TEAM
    assert whose[a_note(60).id] == OF_BOB
    assert dict(view.numbers) == {turn: 0}, "names only what is the asker's own"
    assert set(embedded(view)) == set(range(4))
    assert holders(view, "kafka") == {view.numbers_of[1][an_entry(50).id]}


def test_the_rules_of_others_and_what_is_private_are_not_shared(
    memory: Memory, shelf: IndexCache
) -> None:
    rule = a_fact(50, tier="procedure", kind="instruction")
    skill = a_fact(51, tier="procedure", kind="skill", role="user")
    of_bob = ViewPart(BOB, frozenset({"procedure"}), (("procedure", "s1"),))
    owner = Scope("work", "bob", agent="helper", session="s")
    for scope in (ANN, TEAM_OF_ANN, owner):
        put(memory, scope, rule, skill)
    put(memory, owner, a_fact(52, tier="procedure", kind="skill", visibility="agent_only"))
    view = look(memory, shelf, also=(OF_TEAM, of_bob))
    owners = [(view.ids[doc], int(view.owners[doc])) for doc in range(len(view))]
    assert sorted(owners) == [(rule.id, 0), (skill.id, 0), (skill.id, 1), (skill.id, 2)]
    theirs = {int(view.agents[doc]) for doc in range(len(view)) if view.owners[doc] == 2}
    assert theirs == {view.codes["\0helper"]}, "the agents of others are none of ours"
    assert set(view.sessions.tolist()) == {-1}


def test_equal_ids_of_two_owners_are_two_documents(memory: Memory, shelf: IndexCache) -> None:
    put(memory, ANN, a_note(50, "a cat"))
    put(memory, BOB, a_note(50, "a dog"))
    memory.drain()
    also = (OF_BOB,)
    view = look(memory, shelf, also=also)
    assert list(view.ids) == [a_note(50).id] * 2
    assert view.owners[list(holders(view, "dog"))].tolist() == [1]
    memory.store.forget(BOB, [a_note(50).id], at=NOON)
    view = look(memory, shelf, also=also)
    assert view.owners[view.alive].tolist() == [0]


def test_an_owner_can_come_without_a_new_load_and_go(memory: Memory, shelf: IndexCache) -> None:
    turn = memory.remember("a cat", user="ann", workspace="home").events[0]
    put(memory, TEAM_OF_ANN, an_entry(50))
    put(memory, BOB, a_note(60))
    alone = look(memory, shelf)
    both = look(memory, shelf, also=(OF_TEAM,))
    assert both.ids is alone.ids, "what was loaded is not loaded again"
    assert len(alone) == 1
    assert living(look(memory, shelf, also=(OF_TEAM, OF_BOB))) == {
        turn, an_entry(50).id, a_note(60).id,
    }  # fmt: skip
    less = look(memory, shelf, also=(OF_BOB,))
    assert living(less) == set(less.ids) == {turn, a_note(60).id}
    assert look(memory, shelf, also=(OF_BOB,)) is less
    narrow = ViewPart(BOB, frozenset({"graph"}), (("graph", "s1"),))
    assert living(look(memory, shelf, also=(narrow,))) == {turn}
    assert set(look(memory, shelf).ids) == {turn}


def test_a_wipe_of_one_owner_is_followed_by_all_who_see_them(
    memory: Memory, shelf: IndexCache
) -> None:
    turn = memory.remember("a cat", user="ann", workspace="home").events[0]
    put(memory, TEAM_OF_ANN, an_entry(50), an_entry(51, "We use Redis."))
    memory.drain()
    also = (OF_TEAM,)
    assert len(look(memory, shelf, also=also)) == 3
    memory.store.forget(TEAM_OF_ANN, [an_entry(50).id], at=NOON)
    memory.store.wipe(forgotten_before=datetime.now(UTC))
    view = look(memory, shelf, also=also)
    assert set(view.ids) == {turn, an_entry(51).id}
    assert set(embedded(view)) == {0, 1}
    put(memory, TEAM_OF_ANN, an_entry(51, "We use Kafka."))
    view = look(memory, shelf, also=also)
    assert (holders(view, "redis"), len(holders(view, "kafka"))) == (set(), 1)


def test_an_erased_owner_is_gone_from_every_view(memory: Memory, shelf: IndexCache) -> None:
    turn = memory.remember("a cat", user="ann", workspace="home").events[0]
    put(memory, BOB, a_note(60))
    assert len(look(memory, shelf, also=(OF_BOB,))) == 2
    memory.store.erase(BOB, at=NOON)
    assert list(look(memory, shelf, also=(OF_BOB,)).ids) == [turn]
    put(memory, BOB, a_note(61))
    assert set(look(memory, shelf, also=(OF_BOB,)).ids) == {turn, a_note(61).id}


def test_of_equals_the_own_and_then_the_newest_comes_first(
    memory: Memory, shelf: IndexCache
) -> None:
    memory.remember("a cat", user="ann", workspace="home")
    for number, day in ((50, 2), (51, 1)):
        at = NOON + timedelta(days=day)
        memory.store.put(TEAM_OF_ANN, [an_entry(number)], known_at=at, steps=())
    view = look(memory, shelf, also=(OF_TEAM,))
    best_first = np.argsort(-view.order)
    assert [view.ids[doc] for doc in best_first][1:] == [an_entry(50).id, an_entry(51).id]
    assert view.owners[best_first[0]] == 0


class BadDay:
    """A feed that fails at one owner, once."""

    failing: Scope | None = None

    def __init__(self, feed: Feed) -> None:
        self._feed = feed

    def head(self, scope: Scope) -> Head:
        return self._feed.head(scope)

    def vector_rows(
        self, scope: Scope, space: int, *, after: int, until: int
    ) -> Iterator[VectorRows]:
        return self._feed.vector_rows(scope, space, after=after, until=until)

    def changes(self, scope: Scope, *, after: int, until: int = FOREVER_US) -> list[Change]:
        if scope == self.failing:
            self.failing = None
            raise StoreBusy
        return self._feed.changes(scope, after=after, until=until)


def test_what_a_load_that_was_cut_short_had_found_is_not_lost(memory: Memory) -> None:
    feed = BadDay(memory.store)
    shelf = IndexCache(feed, most_bytes=1 << 30)  # type: ignore[arg-type]
    put(memory, TEAM_OF_ANN, an_entry(50))
    assert living(look(memory, shelf, also=(OF_TEAM,))) == {an_entry(50).id}
    turn = memory.remember("a cat", user="ann", workspace="home").events[0]
    put(memory, TEAM_OF_ANN, a_fact(51))
    feed.failing = TEAM_OF_ANN
    with pytest.raises(StoreBusy):
        look(memory, shelf, also=(OF_TEAM,))
    assert living(look(memory, shelf, also=(OF_TEAM,))) == {an_entry(50).id, turn}


# Whatever happens, a view that followed equals one that was loaded now.

WORDS = ("cat", "dog", "bird", "fish")
MAKES = (
    lambda number, word: a_fact(number, content=word),
    lambda number, word: a_fact(number, content=word, quiet=1),
    a_note,
    an_entry,
    lambda number, word: told(a_name(number, name=word)),
    lambda number, word: a_fact(number, content=word, tier="procedure", kind="instruction"),
)
ACTS = st.one_of(
    st.tuples(st.just("say"), st.integers(0, 2), st.integers(0, 3)),
    st.tuples(st.just("put"), st.integers(0, 2), st.integers(0, 3), st.integers(0, 23)),
    st.tuples(
        st.sampled_from(["forget", "restore", "archive", "unarchive", "touch"]),
        st.integers(0, 2),
        st.integers(0, 23),
    ),
    st.just(("wipe",)),
)
#: What is done, whether the worker comes by then, and whether somebody looks.
STEPS = st.tuples(ACTS, st.booleans(), st.booleans())


def act(memory: Memory, what: str, *how: int) -> None:
    if what == "wipe":
        memory.store.wipe(forgotten_before=datetime.now(UTC))
    elif what == "say":
        scope = OWNERS[how[0]]
        if scope.user != TEAM:
            memory.remember(WORDS[how[1]], user=scope.user, workspace=scope.workspace)
    elif what == "put":
        owner, word, record = how
        put(memory, OWNERS[owner], MAKES[record % 6](100 + record, WORDS[word]))
    else:
        change(memory, what, OWNERS[how[0]], f"{100 + how[1]:032x}")


def change(memory: Memory, what: str, scope: Scope, record: str) -> None:
    store = memory.store
    if not store.get(scope, [record]) and not store.forgotten_times(scope, [record]):
        return
    if what == "touch":
        store.touch(scope, [record], at=NOON, action="praised", strength=lambda _: 0.5)
    elif what == "archive":
        store.archive(scope, [record], at=NOON, reason="test")
    elif what == "unarchive":
        store.archive(scope, [record], at=NOON, undo=True)
    elif store.get(scope, [record]) or what == "restore":
        store.forget(scope, [record], at=NOON, undo=what == "restore")


def told_of(view: View) -> dict[tuple[int, str], tuple[object, ...]]:
    """Everything that a view says of the documents that are not forgotten, in words."""
    texts = {code: text for text, code in view.codes.items()} | {-1: None}
    having = embedded(view)
    words = {word: holders(view, word) for word in WORDS}
    told: dict[tuple[int, str], tuple[object, ...]] = {}
    for doc in np.flatnonzero(view.alive | view.archived).tolist():
        named = (view.roles, view.names, view.agents, view.sessions, view.kinds, view.tiers)
        numbers = (
            *(view.alive, view.archived, view.order, view.at_us, view.known_us, view.until_us),
            *(view.known_until_us, view.confidence, view.lengths, view.said, view.seen_us),
            *(view.strength, view.quiet, view.private),
        )
        told[int(view.owners[doc]), view.ids[doc]] = (
            *(texts[int(column[doc])] for column in named),
            *(column[doc].item() for column in numbers),
            having[doc],
            *(word for word in WORDS if doc in words[word]),
            view.ids[view.source[doc]] if view.source[doc] >= 0 else None,
        )
    return told


@pytest.mark.slow
@settings(max_examples=40, deadline=None)
@given(
    steps=st.lists(STEPS, min_size=8, max_size=30), which=st.sampled_from(["loud", "all", "note"])
)
def test_a_view_that_followed_is_the_one_that_is_loaded_now(steps: list[Any], which: str) -> None:
    also = (OF_TEAM, OF_BOB)
    with tempfile.TemporaryDirectory() as folder, open_memory(Path(folder)) as memory:
        shelf = IndexCache(memory.store, most_bytes=1 << 30)
        for what, is_worked_off, is_seen in steps:
            act(memory, *what)
            if is_worked_off:
                memory.drain()
            if is_seen:
                look(memory, shelf, which, also=also)
        followed = look(memory, shelf, which, also=also)
        fresh = look(memory, IndexCache(memory.store, most_bytes=1 << 30), which, also=also)
        assert told_of(followed) == told_of(fresh)
        assert followed.has_dead == (not followed.alive.all())


def test_whose_word_it_is_is_followed(memory: Memory, shelf: IndexCache) -> None:
    put(memory, ANN, a_note(60, origin="agent"))
    view = look(memory, shelf)
    assert view.origins.tolist() == [view.codes["agent"]]
    put(memory, ANN, a_note(60, origin="web", confidence=0.7))
    view = look(memory, shelf)
    assert view.origins.tolist() == [view.codes["web"]]
