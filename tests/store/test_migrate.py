"""Every file ever written can be opened; one from the future is refused in words."""

import io
import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from datetime import UTC, date, datetime
from pathlib import Path

import apsw
import pytest

import holdfast
from holdfast.errors import NotAStore, SchemaTooNew
from holdfast.memory.memory import Memory
from holdfast.records.entries import index_row
from holdfast.store.protocols import Spent, claim_of
from holdfast.store.sql.engine import migrations
from holdfast.store.sqlite import SqliteStore
from holdfast.store.sqlite.connection import APPLICATION_ID, connect, migrate
from holdfast.testing import HashEmbedder
from holdfast.testing.store_suite import a_name, an_entry, say
from holdfast.transfer import export_to, import_from
from holdfast.types import ALL_TIERS, Hit, Record, Scope

NEWEST = migrations("holdfast.store.sqlite")[-1][0]
GOLDEN = sorted((Path(__file__).parent / "golden").glob("*.db"))
ANN = Scope("default", "ann")


def open_memory(path: Path) -> Memory:
    """A memory that embeds, but understands nothing: what the file holds stays as it is."""
    config = {"extraction": {"enabled": False}}
    return holdfast.open(path, embedder=HashEmbedder(16), worker=False, config=config)


def version_of(path: Path) -> tuple[int, int]:
    connection = apsw.Connection(str(path))
    try:
        return connection.pragma("application_id"), connection.pragma("user_version")
    finally:
        connection.close()


def schema_of(path: Path) -> set[tuple[str, str]]:
    connection = apsw.Connection(str(path))
    try:
        rows = connection.execute("SELECT name, sql FROM sqlite_schema WHERE sql IS NOT NULL")
        return {(name, " ".join(sql.split())) for name, sql in rows}
    finally:
        connection.close()


def change(path: Path, *statements: str) -> None:
    connection = apsw.Connection(str(path))
    for statement in statements:
        connection.execute(statement)
    connection.close()


def test_migrations_are_numbered_without_a_gap() -> None:
    assert [version for version, _ in migrations("holdfast.store.sqlite")] == list(
        range(1, NEWEST + 1)
    )


def test_a_fresh_file_is_ours_and_of_the_newest_schema(tmp_path: Path) -> None:
    SqliteStore(tmp_path / "m.db").close()
    assert version_of(tmp_path / "m.db") == (APPLICATION_ID, NEWEST)


def test_opening_again_changes_nothing(tmp_path: Path) -> None:
    path = tmp_path / "m.db"
    open_memory(path).close()
    before = path.read_bytes()
    open_memory(path).close()
    assert path.read_bytes() == before


def test_an_empty_file_becomes_a_store(tmp_path: Path) -> None:
    path = tmp_path / "m.db"
    path.touch()
    with open_memory(path) as memory:
        memory.remember("a cat", user="ann")
        assert len(memory.recall("cat", user="ann")) == 1


# Golden files: one of every schema that ever landed


@pytest.fixture(params=GOLDEN, ids=lambda path: path.stem)
def golden(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    path: Path = request.param
    return Path(shutil.copy(path, tmp_path / "m.db"))


def test_there_is_a_golden_file_of_every_schema() -> None:
    assert [path.stem for path in GOLDEN] == [
        f"{version:04}" for version, _ in migrations("holdfast.store.sqlite")
    ]
    for path in GOLDEN:
        assert b"\x00\x00" in path.read_bytes(), "a database, not its text"


def test_a_golden_file_has_the_schema_its_name_says(golden: Path) -> None:
    application, version = version_of(golden)
    assert (application, f"{version:04}") == (APPLICATION_ID, GOLDEN[version - 1].stem)


def test_an_upgraded_golden_file_has_the_schema_of_a_fresh_one(
    golden: Path, tmp_path: Path
) -> None:
    SqliteStore(golden).close()
    SqliteStore(tmp_path / "fresh.db").close()
    assert version_of(golden) == (APPLICATION_ID, NEWEST)
    assert schema_of(golden) == schema_of(tmp_path / "fresh.db")


def test_everything_in_a_golden_file_is_still_there(golden: Path) -> None:
    with open_memory(golden) as memory:
        hit = memory.recall("Where is INV-2026-0417?", user="ann")[0]
        assert hit.content == "I moved to Lisbon in March. My invoice is INV-2026-0417."
        assert hit.metadata == {"turn": "D1:1", "nested": {"list": [1, 2.5, None, True]}}
        assert (hit.role, hit.name, hit.session) == ("user", "Ann", "s1")
        assert hit.created_at.isoformat() == "2026-01-01T10:00:00.000001+00:00"
        assert set(hit.why) >= {"keyword", "vector", "literal"}
        assert memory.recall("東京 ünïcode", user="ann")[0].content == "Café Ünïcode 東京 🚀 noted."
        assert memory.recall("bees", user="bob", workspace="team")[0].content == "Bob keeps bees."
        assert [hit.content for hit in memory.recall("cats", user="ann", workspace="team")] == [
            "Ann of the team keeps cats."
        ]
        assert not any("xylophone" in hit.content for hit in memory.recall("password", user="ann"))
        assert len(memory.store.events(ANN)) == 5
        key, _ = memory.store.api_keys()[0]
        assert (key.workspace, key.user, key.role, key.label) == ("team", "bob", "read", "golden")


def test_what_was_done_in_a_golden_file_is_still_known(golden: Path) -> None:
    with open_memory(golden) as memory:
        marimba = memory.recall("marimba", user="ann")[0].id
        actions = [each.action for each in memory.history(marimba, user="ann")]
        assert actions == ["stored", "forgotten", "restored"]
        forgotten = memory.store.events(ANN), memory.store.changes(ANN, after=0)
        assert len(forgotten[1]) - len(forgotten[0]) == 1
        with pytest.raises(holdfast.HoldfastError, match="turn-1"):
            memory.remember("something else", user="ann", key="turn-1")


def test_what_the_service_kept_is_still_there(tmp_path: Path) -> None:
    served = Scope("served", "ann")
    shutil.copy(GOLDEN[0].with_name("0005.db"), tmp_path / "m.db")
    with open_memory(tmp_path / "m.db") as memory:
        assert memory.store.api_keys()[1].key.tools == ("recall",)
        kept = memory.store.answer(served, "request-1")
        assert kept is not None
        assert (kept.status, kept.answer) == (201, b'{"id":"1"}')
        told = [line.outcome for line in memory.store.audit(workspace="served")]
        assert told == ["done", "refused"]
        assert memory.store.verify_audit().broken_at is None
        assert [hook.id for hook in memory.store.hooks(workspace="served")] == ["hook-1"]


def test_a_golden_file_is_sound_and_its_work_can_be_finished(golden: Path) -> None:
    with open_memory(golden) as memory:
        assert [each.detail for each in memory.store.check(index_row) if not each.ok] == []
        okapi = memory.recall("okapi", user="ann")[0]
        assert memory.status(okapi.id, user="ann").state == "stored"
        assert memory.drain().done == 1
        assert memory.status(okapi.id, user="ann").state == "done"
        memory.remember("A new zebra.", user="ann")
        memory.drain()
        zebra = memory.recall("zebra", user="ann")[0]
        assert memory.status(zebra.id, user="ann").state == "done"
        assert [each.detail for each in memory.store.check(index_row) if not each.ok] == []


def test_the_records_of_every_tier_in_a_golden_file_are_still_there(golden: Path) -> None:
    if golden_version(golden) < 2:
        with open_memory(golden) as memory:
            assert memory.store.stats()["records"] == 0
        return
    scope = Scope("derived", "ann")
    with open_memory(golden) as memory:
        (rule,) = [r for r in memory.store.listed(scope, tier="procedure") if r.confidence < 1]
        assert (rule.content, rule.confidence, rule.importance) == ("Cite sources.", 0.8, 0.6)
        assert rule.data == {"condition": "in every answer", "fact_role": "instruction"}
        assert [memory.store.events(scope, rule.sources)[0].content] == ["Always cite sources."]
        (home,) = memory.store.listed(scope, tier="fact")
        assert (home.content, home.confidence) == ("Ann lives in Porto.", 0.9)
        old = [r for r in memory.store.listed(scope, tier="fact", current=False) if r.known_to]
        assert [record.content for record in old] == ["Ann lives in Lisbon."]
        assert memory.store.listed(scope, tier="note") == []
        assert memory.restore(hidden_turn(memory, scope), user="ann", workspace="derived")
        assert [record.content for record in memory.store.listed(scope, tier="note")] == [
            "Ann smokes."
        ]
        assert memory.store.contexts(scope, end="cccccc")[0].body == b"body"


def test_what_was_heard_in_a_golden_file_is_still_there(golden: Path) -> None:
    version, scope = golden_version(golden), Scope("heard", "ann")
    with open_memory(golden) as memory:
        store = memory.store
        if version < 3:
            derived = store.listed(Scope("derived", "ann"), tier="fact", current=False)
            assert {record.seen_at for record in derived} <= {None}
            assert store.spent(scope, date(2026, 1, 2)) == Spent()
            return
        porto, visit = store.listed(scope, tier="graph")
        assert (porto.content, porto.data["heard"]) == ("Porto (location)", True)
        assert [event.content for event in store.events(scope, porto.sources)] == [
            "Visit 1 to Porto.",
            "Visit 2 to Porto.",
        ]
        assert (porto.known_from.day, porto.seen_at) == (3, datetime(2026, 1, 4, tzinfo=UTC))
        assert (visit.content, visit.seen_at) == ("A visit (event)", porto.seen_at)
        assert "A visit (event)" in contents(memory, "visit")
        assert "Porto (location)" not in contents(memory, "Porto")
        assert store.spent(scope, date(2026, 1, 2)) == Spent(3, 1200, 80, 0.5)
        now = datetime(2026, 1, 9, tzinfo=UTC)
        waiting = store.claim_group(
            "extract", most=9, now=now, lease_s=9, max_attempts=3, quiet_s=9, wait_s=99
        )
        assert [int(job.subject, 16) for job in waiting] == [3, 4]


def contents(memory: Memory, query: str) -> list[str]:
    return [hit.content for hit in recalled(memory, query, "heard")]


def recalled(memory: Memory, query: str, workspace: str) -> list[Hit]:
    """As it was soon after the files were made: before anything in them faded."""
    now = datetime(2026, 1, 9, tzinfo=UTC)
    return memory.recall(query, user="ann", workspace=workspace, limit=20, now=now)


def test_the_life_of_records_in_a_golden_file_is_still_known(golden: Path) -> None:
    version, scope = golden_version(golden), Scope("life", "ann")
    with open_memory(golden) as memory:
        store = memory.store
        if version < 4:
            everything = [record for owner in store.owners() for record in all_of(memory, owner)]
            lives = {(r.quiet, r.archived_at, r.strength, r.uses) for r in everything}
            assert lives == {(0, None, None, 0)}
            assert store.shares() == []
            return
        at = datetime(2026, 1, 5, tzinfo=UTC)
        used, listed = store.listed(scope, tier="fact")
        assert (used.strength, used.uses, used.seen_at) == (0.8, 1, at)
        assert store.touch(scope, [used.id], at=at, action="used", strength=lambda _: 1.0) == []
        assert (listed.content, listed.quiet) == ("Fact 24.", 2)
        assert "Fact 24." not in [hit.content for hit in recalled(memory, "fact", "life")]
        aside, wrong = store.get(scope, [f"{22:032x}", f"{23:032x}"])
        assert (aside.archived_at, wrong.known_to) == (at, at)
        notes = [store.history(scope, record.id)[-1].note for record in (aside, wrong)]
        assert notes == ["nobody asked for it", "it was another one"]
        (own,) = store.listed(scope, tier="note")
        assert (own.metadata, own.visibility, own.agent) == ({"page": 3}, "agent_only", "helper")
        (turn,) = store.listed(scope, tier="session")
        assert (turn.strength, turn.seen_at) == (0.3, at)
        (share,) = store.shares(to="team")
        assert (share.scope, share.segments, share.permission) == (scope, ("graph",), "read")
        assert store.agent_trust("life") == {"helper": 0.75}


def test_the_versions_in_a_golden_file_are_still_found(golden: Path) -> None:
    version, scope = golden_version(golden), Scope("changed", "ann")
    with open_memory(golden) as memory:
        for owner in memory.store.owners():
            for record in all_of(memory, owner):
                if (claim := claim_of(record)) is not None:
                    assert record in memory.store.listed(
                        owner, claim=claim, current=False, archived=True
                    )
        if version < 7:
            return
        found = [
            each.content
            for each in memory.store.listed(
                scope, claim="entry:colour: sky", current=False, archived=True
            )
        ]
        assert found == [f"colour: sky: blue {number}" for number in ("one", "two", "three")]
        assert (
            len(memory.store.listed(scope, claim="document:sky.txt", current=False, archived=True))
            == 3
        )
        assert len(memory.store.listed(scope, claim="document:sky.txt", archived=True)) == 1
        for tier in ("note", "procedure"):
            first, second = memory.store.listed(scope, tier=tier, current=False)
            assert memory.store.listed(scope, claim=first.id, current=False, archived=True) == [
                first,
                second,
            ]


def test_a_migration_that_is_killed_has_not_begun_or_is_done(tmp_path: Path) -> None:
    path, copies, older = tmp_path / "m.db", tmp_path / "copies", NEWEST - 1
    shutil.copy(GOLDEN[older - 1], path)
    connection = connect(str(path))

    def copy_as_it_is() -> bool:
        """What would be left of the store if this process ended now."""
        there = copies / str(len(list(copies.glob("*"))))
        there.mkdir(parents=True)
        for name in ("m.db", "m.db-wal"):
            if (tmp_path / name).exists():
                shutil.copy(tmp_path / name, there / name)
        return False

    connection.set_progress_handler(copy_as_it_is, 5)
    migrate(connection, str(path))
    connection.set_progress_handler(None)
    copy_as_it_is()
    connection.close()
    SqliteStore(tmp_path / "fresh.db").close()
    versions = []
    for each in sorted(copies.iterdir(), key=lambda each: int(each.name)):
        versions.append(golden_version(each / "m.db"))
        old = GOLDEN[older - 1] if versions[-1] == older else tmp_path / "fresh.db"
        assert schema_of(each / "m.db") == schema_of(old)
    assert len(versions) > 20
    assert (versions[0], versions[-1], sorted(versions)) == (older, NEWEST, versions)


def test_claims_are_filled_in_from_what_older_records_say(tmp_path: Path) -> None:
    path = tmp_path / "m.db"
    shutil.copy(GOLDEN[5], path)
    say = "UPDATE records SET tier = '{}', kind = '{}', data = '{}' WHERE id = unhex('{}')"
    told = {
        21: ("knowledge", "document", '{"name": "a \u00fc", "claim": "c"}', "document:a ü"),
        22: ("knowledge", "entry", '{"key": "k"}', "entry:k"),
        23: ("fact", "plan", '{"claim": "cc"}', "cc"),
        24: ("fact", "plan", '{"claim": 5}', f"{24:032x}"),
        25: ("note", "event", '{"claim": ""}', f"{25:032x}"),
        11: ("knowledge", "document", "{}", "document:Porto (location)"),
        12: ("graph", "entity", '{"claim": "cc"}', None),
        1: ("procedure", "workflow", "no json", f"{1:032x}"),
    }
    change(path, *(say.format(*row[:3], f"{number:032x}") for number, row in told.items()))
    SqliteStore(path).close()
    connection = apsw.Connection(str(path))
    found = dict(connection.execute("SELECT lower(hex(id)), claim FROM records"))
    connection.close()
    assert {number: found[f"{number:032x}"] for number in told} == {
        number: row[3] for number, row in told.items()
    }


def all_of(memory: Memory, owner: Scope) -> list[Record]:
    return [
        record
        for tier in ALL_TIERS
        for record in memory.store.listed(owner, tier=tier, current=False, archived=True)
    ]


def test_turns_of_an_older_file_can_be_understood_and_seen_again(golden: Path) -> None:
    with open_memory(golden) as memory:
        store, steps = memory.store, [*memory.worker.steps, "extract"]
        old, now = store.events(ANN)[0], datetime(2027, 1, 1, tzinfo=UTC)
        (event,) = say(store, ANN, an_entry(0xABCDEF, "Back in Lisbon."), at=now)
        waiting = [
            store.claim_group(
                "extract", most=9, now=now, lease_s=9, max_attempts=3, quiet_s=0, wait_s=9
            )
            for _ in range(2)
        ]
        assert [event] in [[job.subject for job in jobs] for jobs in waiting]
        for sources in ((old.id,), (old.id, event)):
            store.put(ANN, [a_name(99, *sources)], known_at=now, steps=steps)
        (name,) = store.listed(ANN, tier="graph")
        assert (name.sources, name.seen_at) == ((old.id, event), now)
        assert [each.detail for each in store.check(index_row) if not each.ok] == []


def golden_version(path: Path) -> int:
    return version_of(path)[1]


def hidden_turn(memory: Memory, scope: Scope) -> str:
    (hidden,) = [
        change.id
        for change in memory.store.changes(scope, after=0)
        if change.forgotten and change.tier == "session"
    ]
    return hidden


def test_an_export_made_before_there_were_derived_records_is_still_read(tmp_path: Path) -> None:
    old = Path(__file__).parent / "golden" / "0001.jsonl"
    with open_memory(tmp_path / "m.db") as memory:
        with old.open("rb") as source:
            done = import_from(memory, source)
        assert (done.failed, done.new["event"], done.new["act"]) == (0, 8, 3)
        out = io.BytesIO()
        export_to(memory.store, out)
        # But for the number of the format and the line that closes it.
        header, *lines = out.getvalue().splitlines()
        former, *before = old.read_bytes().splitlines()
        assert lines[:-1] == before
        counted = json.loads(former.replace(b'"recollect_export":1', b'"holdfast_export":2'))
        assert json.loads(header) == counted
        assert [each.detail for each in memory.store.check(index_row) if not each.ok] == []


def test_an_import_finds_the_versions_of_what_was_exported(tmp_path: Path) -> None:
    shutil.copy(GOLDEN[6], tmp_path / "old.db")
    scope, lines = Scope("changed", "ann"), io.BytesIO()
    with open_memory(tmp_path / "old.db") as old:
        export_to(old.store, lines)
    lines.seek(0)
    with open_memory(tmp_path / "m.db") as memory:
        assert import_from(memory, lines).failed == 0
        assert (
            len(memory.store.listed(scope, claim="entry:colour: sky", current=False, archived=True))
            == 3
        )
        assert memory.knowledge.get("colour: sky", user="ann", workspace="changed").value == (
            "blue three"
        )


# Files that are not for us


def test_a_newer_file_is_refused_in_words_and_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "m.db"
    open_memory(path).close()
    change(path, f"PRAGMA user_version = {NEWEST + 1}")
    before = path.read_bytes()
    with pytest.raises(SchemaTooNew) as told:
        open_memory(path)
    assert str(path) in str(told.value)
    assert f"schema {NEWEST + 1}" in str(told.value)
    assert "upgrade Holdfast" in str(told.value)
    assert path.read_bytes() == before


def test_the_database_of_another_program_is_refused_and_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "shop.db"
    change(path, "CREATE TABLE orders (id INTEGER)", f"PRAGMA user_version = {NEWEST}")
    before = schema_of(path)
    with pytest.raises(NotAStore, match="another program"):
        open_memory(path)
    assert schema_of(path) == before
    assert version_of(path) == (0, NEWEST)


def test_a_migration_that_fails_leaves_nothing_behind(tmp_path: Path) -> None:
    path = tmp_path / "m.db"
    # A table of ours is there already, by accident and without our mark: refused, not half made.
    change(path, f"PRAGMA application_id = {APPLICATION_ID}", "CREATE TABLE vectors (x)")
    with pytest.raises(holdfast.HoldfastError, match="vectors"):
        open_memory(path)
    assert version_of(path)[1] == 0
    assert {name for name, _ in schema_of(path)} == {"vectors"}


# Several processes

OPENER = """
import sys
import holdfast
from holdfast.testing import HashEmbedder
print("ready", flush=True)
sys.stdin.readline()
with holdfast.open(sys.argv[1], embedder=HashEmbedder(16), worker=False) as memory:
    memory.remember(f"cat of process {sys.argv[2]}", user="ann")
print("done", flush=True)
"""


def run_at_once(processes: int, command: Callable[[int], list[str]]) -> list[str]:
    """Start processes, let them go in the same moment, and give what they said."""
    running = [
        subprocess.Popen(
            command(number),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        for number in range(processes)
    ]
    for process in running:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
    for process in running:
        assert process.stdin is not None
        process.stdin.write("\n")
        process.stdin.flush()
    return [process.communicate(timeout=60)[0] for process in running]


@pytest.mark.slow
@pytest.mark.parametrize("attempt", range(3))
def test_processes_that_open_a_fresh_file_at_once_make_one_store(
    tmp_path: Path, attempt: int
) -> None:
    path = tmp_path / f"m{attempt}.db"
    said = run_at_once(4, lambda number: [sys.executable, "-c", OPENER, str(path), str(number)])
    assert said == ["done\n"] * 4
    with open_memory(path) as memory:
        assert len(memory.recall("cat", user="ann")) == 4
        assert len(memory.store.spaces()) == 1
        memory.drain()
        assert [each.detail for each in memory.store.check(index_row) if not each.ok] == []


def test_stores_that_open_a_fresh_file_in_turn_make_one_store(tmp_path: Path) -> None:
    path = tmp_path / "m.db"
    with open_memory(path) as one, open_memory(path) as other:
        one.remember("a cat", user="ann")
        other.remember("a cat", user="ann")
        assert len(one.recall("cat", user="ann")) == len(other.recall("cat", user="ann")) == 2
