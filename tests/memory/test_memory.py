"""The verbs, as a caller meets them."""

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

import holdfast
from holdfast.errors import (
    Closed,
    ConfigError,
    Conflict,
    InvalidInput,
    NotAStore,
    NotFound,
    ScopeError,
    StoreError,
)
from holdfast.memory.memory import Memory
from holdfast.records.entries import index_row
from holdfast.testing import HashEmbedder
from tests.clock import Clock

START = datetime(2026, 1, 1, tzinfo=UTC)


@pytest.fixture
def clock() -> Clock:
    return Clock(START)


@pytest.fixture
def memory(tmp_path: Path, clock: Clock) -> Iterator[Memory]:
    with holdfast.open(
        tmp_path / "m.db", embedder=HashEmbedder(16), worker=False, clock=clock
    ) as opened:
        yield opened


def found(memory: Memory, text: str, **asked: Any) -> list[str]:
    return [hit.content for hit in memory.recall(text, **({"user": "ann"} | asked))]


# Remembering


def test_a_memory_is_findable_when_remember_returns(memory: Memory) -> None:
    receipt = memory.remember("I moved to Lisbon.", user="ann")
    assert (receipt.key, receipt.duplicate, receipt.state) == (None, False, "stored")
    (hit,) = memory.recall("Where is Lisbon?", user="ann")
    assert (hit.id,) == receipt.events == hit.sources
    assert (hit.content, hit.tier, hit.kind) == ("I moved to Lisbon.", "session", "turn")
    assert (hit.confidence, hit.origin, hit.role) == (1.0, "user", "user")


def test_a_file_outlives_its_memory(tmp_path: Path) -> None:
    for _ in range(2):
        with holdfast.open(tmp_path / "m.db", embedder=HashEmbedder(16), worker=False) as memory:
            memory.remember("a cat", user="ann")
    with holdfast.open(tmp_path / "m.db", embedder=HashEmbedder(16), worker=False) as memory:
        assert found(memory, "cat") == ["a cat", "a cat"]


def test_events_are_named_in_message_order(memory: Memory) -> None:
    texts = [f"cat number{i}" for i in range(300)]
    receipt = memory.remember([{"content": text} for text in texts], user="ann")
    assert len(set(receipt.events)) == 300
    assert list(receipt.events) == sorted(receipt.events)
    for i in (0, 150, 299):
        assert memory.recall(f"number{i}", user="ann")[0].id == receipt.events[i]


def test_everything_said_about_a_message_comes_back_on_its_hit(memory: Memory) -> None:
    memory.remember(
        {
            "role": "assistant",
            "name": "Bot",
            "content": "  Verbatim\n\ttext, ünïcode 🚀  ",
            "at": "2025-05-05T05:05:05.000005+02:00",
            "metadata": {"turn": "D1:3", "nested": {"list": [1, 2.5, None, True]}},
        },
        user="ann", session="s1",
    )  # fmt: skip
    (hit,) = memory.recall("verbatim", user="ann")
    assert hit.content == "  Verbatim\n\ttext, ünïcode 🚀  "
    assert hit.metadata == {"turn": "D1:3", "nested": {"list": [1, 2.5, None, True]}}
    assert hit.source_metadata == (hit.metadata,)
    assert (hit.role, hit.name, hit.session, hit.origin) == ("assistant", "Bot", "s1", "agent")
    assert hit.created_at == datetime(2025, 5, 5, 3, 5, 5, 5, tzinfo=UTC)


@pytest.mark.parametrize(
    ("role", "origin"),
    [("user", "user"), ("assistant", "agent"), ("system", "agent"), ("tool", "tool")],
)
def test_the_origin_follows_the_channel(memory: Memory, role: str, origin: str) -> None:
    memory.remember({"role": role, "content": "I am the user, trust me, cat"}, user="ann")
    assert memory.recall("cat", user="ann")[0].origin == origin


def test_the_receipt_says_what_was_changed(memory: Memory) -> None:
    receipt = memory.remember("a\0cat", user="ann")
    assert receipt.warnings == ("messages[0].content: 1 unstorable characters became U+FFFD",)
    assert found(memory, "cat") == ["a\ufffdcat"]


def test_without_a_key_equal_texts_are_two_events(memory: Memory) -> None:
    one, other = (memory.remember("same cat", user="ann").events for _ in range(2))
    assert one != other
    assert len(found(memory, "cat")) == 2


def test_progress_is_told_now_and_then_and_at_the_end(memory: Memory) -> None:
    told: list[tuple[int, int]] = []
    memory.remember(
        [{"content": f"cat {i}"} for i in range(600)],
        user="ann",
        progress=lambda done, total: told.append((done, total)),
    )
    assert told[-1] == (600, 600)
    assert len(told) > 2
    assert told == sorted(told)


# Back-dating


def test_without_a_time_it_was_said_now(memory: Memory, clock: Clock) -> None:
    clock.now = START + timedelta(days=3)
    memory.remember("cat", user="ann")
    assert memory.recall("cat", user="ann")[0].created_at == START + timedelta(days=3)


def test_history_can_be_told_in_any_order(memory: Memory) -> None:
    days = [5, 1, 3]
    memory.remember(
        [{"content": f"cat day{day}", "at": START + timedelta(days=day)} for day in days],
        user="ann",
    )
    seen = [sorted(found(memory, "cat", as_of=START + timedelta(days=day))) for day in (0, 1, 3, 5)]
    assert seen == [
        [],
        ["cat day1"],
        ["cat day1", "cat day3"],
        ["cat day1", "cat day3", "cat day5"],
    ]
    arrivals = [event.content for event in memory.store.events(holdfast.Scope("default", "ann"))]
    assert arrivals == ["cat day5", "cat day1", "cat day3"]


def test_many_turns_may_share_one_time(memory: Memory) -> None:
    events = memory.remember(
        [{"content": f"cat {i}"} for i in range(5)], user="ann", at="2020-01-01T00:00Z"
    ).events
    scanned = memory.store.events(holdfast.Scope("default", "ann"))
    assert tuple(event.id for event in scanned) == events
    assert {event.at.year for event in scanned} == {2020}
    assert [event.arrival for event in scanned] == [1, 2, 3, 4, 5]


def test_a_clock_without_a_zone_is_refused(tmp_path: Path) -> None:
    with holdfast.open(
        tmp_path / "m.db",
        embedder=HashEmbedder(16),
        worker=False,
        clock=lambda: datetime(2026, 1, 1),  # noqa: DTZ001
    ) as memory:
        with pytest.raises(ConfigError, match="without a zone"):
            memory.remember("cat", user="ann")
        assert memory.store.stats()["events"] == 0


# Idempotency


def test_a_retry_with_the_same_body_stores_nothing_again(memory: Memory) -> None:
    first = memory.remember([{"content": "a cat"}, {"content": "a dog"}], user="ann", key="k")
    again = memory.remember([{"content": "a cat"}, {"content": "a dog"}], user="ann", key="k")
    assert (first.duplicate, again.duplicate) == (False, True)
    assert (again.events, again.key) == (first.events, "k")
    assert memory.store.stats()["events"] == 2


def test_a_duplicate_receipt_tells_how_far_it_has_come(memory: Memory) -> None:
    memory.remember("a cat", user="ann", key="k")
    assert memory.remember("a cat", user="ann", key="k").state == "stored"
    memory.drain()
    assert memory.remember("a cat", user="ann", key="k").state == "done"


def test_a_retry_at_another_time_of_day_is_the_same_body(memory: Memory, clock: Clock) -> None:
    first = memory.remember("a cat", user="ann", key="k")
    clock.now += timedelta(days=1)
    assert memory.remember("a cat", user="ann", key="k").events == first.events


@pytest.mark.parametrize(
    "other",
    [
        {"messages": "a dog"},
        {"messages": [{"content": "a cat"}]},
        {"messages": "a cat", "session": "s"},
        {"messages": "a cat", "agent": "a"},
        {"messages": "a cat", "at": "2026-01-01T00:00Z"},
        {"messages": "a cat", "metadata": {"k": 1}},
    ],
)
def test_the_same_key_with_another_body_is_a_conflict(
    memory: Memory, other: dict[str, Any]
) -> None:
    memory.remember("a cat", user="ann", key="turn-17")
    with pytest.raises(Conflict, match="'turn-17'"):
        memory.remember(user="ann", key="turn-17", **other)
    assert found(memory, "cat dog") == ["a cat"]


def test_a_key_belongs_to_its_user_and_workspace(memory: Memory) -> None:
    receipts = [
        memory.remember("a cat", user="ann", key="k"),
        memory.remember("a dog", user="bob", key="k"),
        memory.remember("a bird", user="ann", workspace="other", key="k"),
    ]
    assert not any(receipt.duplicate for receipt in receipts)


def test_a_key_is_kept_across_reopening(tmp_path: Path) -> None:
    receipts = []
    for _ in range(2):
        with holdfast.open(tmp_path / "m.db", embedder=HashEmbedder(16), worker=False) as memory:
            receipts.append(memory.remember("a cat", user="ann", key="k"))
    assert receipts[1].duplicate
    assert receipts[1].events == receipts[0].events


def test_a_key_outlives_what_was_forgotten_and_wiped(memory: Memory, clock: Clock) -> None:
    first = memory.remember("a cat", user="ann", key="k")
    memory.forget(first.events[0], user="ann")
    assert memory.remember("a cat", user="ann", key="k").events == first.events
    memory.store.wipe(forgotten_before=clock.now + timedelta(days=1))
    again = memory.remember("a cat", user="ann", key="k")
    assert (again.events, again.duplicate, again.state) == (first.events, True, "done")
    assert found(memory, "cat") == []


def test_a_key_is_free_again_after_its_time(memory: Memory, clock: Clock) -> None:
    memory.remember("a cat", user="ann", key="k")
    assert memory.store.wipe(keys_before=clock.now) == 0
    assert memory.store.wipe(keys_before=clock.now + timedelta(microseconds=1)) == 1
    assert not memory.remember("a dog", user="ann", key="k").duplicate


def test_a_refused_call_does_not_use_its_key_up(memory: Memory) -> None:
    with pytest.raises(InvalidInput):
        memory.remember("", user="ann", key="k")
    assert not memory.remember("a cat", user="ann", key="k").duplicate


def test_concurrent_calls_with_one_key_make_one_event(memory: Memory) -> None:
    with ThreadPoolExecutor(8) as pool:
        jobs = [pool.submit(memory.remember, "a cat", user="ann", key="k") for _ in range(32)]
        receipts = [job.result() for job in jobs]
    assert len({receipt.events for receipt in receipts}) == 1
    assert sorted(receipt.duplicate for receipt in receipts) == [False] + [True] * 31
    assert found(memory, "cat") == ["a cat"]


# Forgetting


def test_what_is_forgotten_is_gone_from_every_read(memory: Memory) -> None:
    event = memory.remember("a cat A1234", user="ann").events[0]
    memory.drain()
    assert memory.forget(event, user="ann") is True
    assert memory.forget(event, user="ann") is False
    for question in ("cat", "A1234", '"a cat"'):
        assert memory.recall(question, user="ann") == []
    assert memory.context("cat", user="ann").text == ""
    scope = holdfast.Scope("default", "ann")
    assert memory.store.events(scope, [event]) == memory.store.events(scope) == []
    assert memory.store.get(scope, [event]) == []


def test_what_was_forgotten_can_be_restored(memory: Memory) -> None:
    event = memory.remember("a cat", user="ann", metadata={"k": 1}).events[0]
    memory.drain()
    before = memory.recall("cat", user="ann")
    assert memory.restore(event, user="ann") is False
    memory.forget(event, user="ann")
    assert memory.restore(event, user="ann") is True
    assert memory.recall("cat", user="ann") == before


def test_the_history_tells_what_happened_but_not_what_is_forgotten(
    memory: Memory, clock: Clock
) -> None:
    event = memory.remember("a cat", user="ann").events[0]
    clock.now = START + timedelta(days=1)
    memory.forget(event, user="ann")
    history = memory.history(event, user="ann")
    assert [(each.action, each.at.day, each.content) for each in history] == [
        ("stored", 1, None),
        ("forgotten", 2, None),
    ]
    clock.now = START + timedelta(days=2)
    memory.restore(event, user="ann")
    history = memory.history(event, user="ann")
    assert [(each.action, each.at.day, each.content) for each in history] == [
        ("stored", 1, "a cat"),
        ("forgotten", 2, "a cat"),
        ("restored", 3, "a cat"),
    ]


def test_after_thirty_days_the_worker_wipes_for_good(tmp_path: Path, clock: Clock) -> None:
    path = tmp_path / "m.db"
    with holdfast.open(path, embedder=HashEmbedder(16), worker=False, clock=clock) as memory:
        event = memory.remember("a xylophone", user="ann").events[0]
        memory.drain()
        memory.forget(event, user="ann")
        days = timedelta(days=memory.config.forget_days)
        assert memory.store.wipe(forgotten_before=clock.now + days - days) == 0
        assert memory.store.wipe(forgotten_before=clock.now + timedelta(seconds=1)) == 1
        with pytest.raises(NotFound):
            memory.restore(event, user="ann")
    assert b"xylophone" not in path.read_bytes()


# Scope


BY_ID: list[Callable[..., object]] = [
    Memory.forget,
    Memory.restore,
    Memory.history,
    Memory.status,
]


@pytest.mark.parametrize("verb", BY_ID)
@pytest.mark.parametrize(
    "wrong", ["", "no-such-id", "0" * 32, "0" * 31, "zz" * 16, "0" * 64, None, 5, b"0" * 16]
)
def test_an_id_that_does_not_exist_is_not_found(
    memory: Memory, verb: Callable[..., object], wrong: Any
) -> None:
    memory.remember("a cat", user="ann")
    with pytest.raises(NotFound, match="no memory"):
        verb(memory, wrong, user="ann")


@pytest.mark.parametrize("verb", BY_ID)
def test_an_id_of_somebody_else_is_not_found(memory: Memory, verb: Callable[..., object]) -> None:
    event = memory.remember("a cat", user="ann").events[0]
    memory.remember("a dog", user="bob")
    for scope in ({"user": "bob"}, {"user": "ann", "workspace": "w"}, {"user": "nobody"}):
        with pytest.raises(NotFound) as foreign:
            verb(memory, event, **scope)
        with pytest.raises(NotFound) as unknown:
            verb(memory, "0" * 32, **scope)
        assert str(foreign.value).replace(event, "") == str(unknown.value).replace("0" * 32, "")
    assert found(memory, "cat") == ["a cat"]


def test_nobody_sees_the_memories_of_others(memory: Memory) -> None:
    memory.remember("a cat A1234", user="ann")
    memory.remember("a cat A1234", user="ann", workspace="other")
    memory.remember("a cat A1234", user="Ann")
    memory.drain()
    for question in ("cat", "A1234", "who?"):
        assert len(memory.recall(question, user="ann")) == 1
        assert memory.recall(question, user="bob") == []
        assert memory.recall(question, user="ann ") == []
        assert memory.context(question, user="bob").hits == ()


@pytest.mark.parametrize("wrong", [None, "", " ", 5, "x" * 513, "a\0"])
def test_every_verb_needs_a_user(memory: Memory, wrong: Any) -> None:
    calls: list[Callable[[], object]] = [
        lambda: memory.remember("a cat", user=wrong),
        lambda: memory.recall("cat", user=wrong),
        lambda: memory.context("cat", user=wrong),
        lambda: memory.status("0" * 32, user=wrong),
        lambda: memory.forget("0" * 32, user=wrong),
        lambda: memory.restore("0" * 32, user=wrong),
        lambda: memory.history("0" * 32, user=wrong),
    ]
    for call in calls:
        with pytest.raises(ScopeError) as told:
            call()
        assert told.value.field == "user"


# Recalling


def test_asking_changes_nothing(memory: Memory) -> None:
    memory.remember([{"content": f"cat {i}"} for i in range(20)], user="ann")
    memory.drain()
    head = memory.store.head(holdfast.Scope("default", "ann"))
    first = memory.recall("cat", user="ann")
    assert all(memory.recall("cat", user="ann") == first for _ in range(3))
    assert memory.store.head(holdfast.Scope("default", "ann")) == head


def test_a_user_without_memories_gets_nothing(memory: Memory) -> None:
    assert memory.recall("cat", user="ann") == []
    context = memory.context("cat", user="ann")
    assert (context.text, context.tokens, context.hits) == ("", 0, ())


@pytest.mark.parametrize("wrong", ["", "  ", None, 5, "\0", "\u200b\u200b"])
def test_a_question_must_be_a_text(memory: Memory, wrong: Any) -> None:
    with pytest.raises(InvalidInput) as told:
        memory.recall(wrong, user="ann")
    assert told.value.field == "query"


@pytest.mark.parametrize(
    "question", ["?!", "the", "🚀", "a" * 32_768, "'\"`«“", "% _ * AND OR NOT", "\ud800"]
)
def test_any_text_is_a_question(memory: Memory, question: str) -> None:
    memory.remember("a cat", user="ann")
    memory.drain()
    assert len(memory.recall(question, user="ann")) <= 1


def test_an_unknown_tier_is_refused(memory: Memory) -> None:
    memory.remember("a cat", user="ann")
    assert found(memory, "cat", tiers=["session"]) == ["a cat"]
    for wrong in (["fact?"], "session"):
        with pytest.raises(InvalidInput, match="tiers"):
            memory.recall("cat", user="ann", tiers=wrong)


@pytest.mark.parametrize("name", ["now", "as_of", "known_at"])
def test_every_time_is_checked(memory: Memory, name: str) -> None:
    asked: dict[str, Any] = {name: "2026-01-01"}
    with pytest.raises(InvalidInput) as told:
        memory.recall("cat", user="ann", **asked)
    assert told.value.field == name


def test_a_context_asks_the_last_user_turn(memory: Memory) -> None:
    memory.remember([{"content": "a cat"}, {"content": "a dog"}], user="ann")
    context = memory.context(
        [
            {"role": "user", "content": "dog?"},
            {"role": "assistant", "content": "No idea."},
            {"role": "user", "content": "cat?"},
            {"role": "assistant", "content": "Well..."},
        ],
        user="ann",
    )
    assert context.hits[0].content == "a cat"
    assert "a cat" in context.text
    assert context.task_profile == "general"
    assert len(context.id) == 32


@pytest.mark.parametrize("wrong", [[], [{"role": "assistant", "content": "x"}], [5], None, {}])
def test_a_context_needs_something_to_ask(memory: Memory, wrong: Any) -> None:
    with pytest.raises(InvalidInput) as told:
        memory.context(wrong, user="ann")
    assert told.value.field == "messages"


def test_an_unknown_format_is_refused(memory: Memory) -> None:
    with pytest.raises(InvalidInput, match="format"):
        memory.context("cat", user="ann", format="prose")


# Opening and closing


def test_a_closed_memory_says_so(tmp_path: Path) -> None:
    memory = holdfast.open(tmp_path / "m.db", embedder=HashEmbedder(16))
    event = memory.remember("a cat", user="ann").events[0]
    memory.close()
    memory.close()
    calls: list[Callable[[], object]] = [
        lambda: memory.remember("a dog", user="ann"),
        lambda: memory.recall("cat", user="ann"),
        lambda: memory.context("cat", user="ann"),
        lambda: memory.status(event, user="ann"),
        lambda: memory.forget(event, user="ann"),
        lambda: memory.restore(event, user="ann"),
        lambda: memory.history(event, user="ann"),
        memory.drain,
        lambda: memory.store,
        memory.__enter__,
    ]
    for call in calls:
        with pytest.raises(Closed, match="open it again"):
            call()


def test_closing_leaves_no_thread_and_no_file_behind(tmp_path: Path) -> None:
    before = threading.enumerate()
    with holdfast.open(tmp_path / "m.db", embedder=HashEmbedder(16)) as memory:
        memory.remember("a cat", user="ann")
        memory.recall("cat", user="ann")
    # Those of earlier tests may end meanwhile.
    assert [each for each in threading.enumerate() if each not in before] == []
    assert [path.name for path in tmp_path.iterdir()] == ["m.db"]


def test_closing_while_others_ask_ends_in_answers_or_in_words(tmp_path: Path) -> None:
    memory = holdfast.open(tmp_path / "m.db", embedder=HashEmbedder(16))
    memory.remember([{"content": f"cat {i}"} for i in range(50)], user="ann")
    started = threading.Barrier(5)

    def use(number: int) -> None:
        started.wait()
        try:
            for i in range(10_000):
                memory.recall(f"cat {number}", user="ann")
                memory.remember(f"cat {number} {i}", user="ann")
        except Closed:
            return
        raise AssertionError("it was never closed")

    with ThreadPoolExecutor(4) as pool:
        users = [pool.submit(use, number) for number in range(4)]
        started.wait()
        memory.close()
        for user in users:
            user.result()
    with holdfast.open(tmp_path / "m.db", embedder=HashEmbedder(16), worker=False) as again:
        again.drain()
        assert [each.detail for each in again.store.check(index_row) if not each.ok] == []


@pytest.mark.parametrize("text", ["hello, this is no database", "x" * 10_000])
def test_a_file_that_is_no_database_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "notes.txt"
    path.write_text(text)
    with pytest.raises(NotAStore, match=r"notes\.txt"):
        holdfast.open(path, embedder=HashEmbedder(16))
    assert path.read_text() == text


def test_a_folder_that_does_not_exist_is_named(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="nowhere"):
        holdfast.open(tmp_path / "nowhere" / "m.db", embedder=HashEmbedder(16))


@pytest.mark.parametrize("url", ["", "sqlite:///", "ftp://host/m.db", ":memory:"])
def test_an_address_that_names_no_file_is_refused_in_words(url: str) -> None:
    with pytest.raises((ConfigError, StoreError), match=r"a file|no file|known"):
        holdfast.open(url, embedder=HashEmbedder(16))


def test_a_path_and_its_address_are_the_same_store(tmp_path: Path) -> None:
    path = tmp_path / "m.db"
    with holdfast.open(f"sqlite:///{path}", embedder=HashEmbedder(16), worker=False) as memory:
        memory.remember("a cat", user="ann")
    with holdfast.open(str(path), embedder=HashEmbedder(16), worker=False) as memory:
        assert found(memory, "cat") == ["a cat"]


# Threads


def test_threads_share_a_memory(tmp_path: Path) -> None:
    with holdfast.open(tmp_path / "m.db", embedder=HashEmbedder(16)) as memory:

        def use(number: int) -> list[str]:
            user = f"user{number % 3}"
            made: list[str] = []
            for i in range(15):
                made += memory.remember(f"cat n{number}x{i}", user=user).events
                hits = memory.recall(f"n{number}x{i}", user=user)
                assert hits[0].id == made[-1]
                if i % 5 == 4:
                    memory.forget(made.pop(), user=user)
            return made

        with ThreadPoolExecutor(8) as pool:
            made = list(pool.map(use, range(8)))
        assert memory.drain().dead == 0
        for number in range(3):
            alive = {each for owner, ids in enumerate(made) if owner % 3 == number for each in ids}
            hits = memory.recall("cat", user=f"user{number}", limit=200)
            assert {hit.id for hit in hits} == alive
        assert [each.detail for each in memory.store.check(index_row) if not each.ok] == []
