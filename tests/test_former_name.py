"""We were called Recollect: what it wrote is opened, its variables and headers are refused."""

from pathlib import Path

import apsw
import pytest

import holdfast
from holdfast.config import api_key, default_db, load, load_for_command_line
from holdfast.errors import ConfigError, InvalidInput
from holdfast.records.entries import index_row
from holdfast.testing import HashEmbedder
from tests.service.calling import client_of


@pytest.mark.parametrize("read", [load, default_db, api_key])
@pytest.mark.parametrize("name", ["RRF_K", "API_KEY", "DB", "CONFIG"])
def test_a_variable_of_the_former_name_is_refused_by_its_new_one(
    monkeypatch: pytest.MonkeyPatch, read: object, name: str
) -> None:
    monkeypatch.setenv(f"RECOLLECT_{name}", "1")
    assert callable(read)
    with pytest.raises(ConfigError, match=f"RECOLLECT_{name} is called HOLDFAST_{name} now"):
        read()


def test_files_of_the_former_name_are_found_where_there_are_none_of_the_new(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, no_settings: None
) -> None:
    monkeypatch.chdir(tmp_path)
    assert default_db() == "holdfast.db"
    with holdfast.open("recollect.db", embedder=HashEmbedder(), worker=False) as memory:
        memory.remember("I moved to Lisbon.", user="ann")
    Path("recollect.yml").write_text("forgetDays: 3\n")
    assert default_db() == "recollect.db"
    assert load_for_command_line(None).forget_days == 3
    with holdfast.open(embedder=HashEmbedder(), worker=False) as memory:
        assert [each.content for each in memory.list(user="ann").memories] == ["I moved to Lisbon."]
    Path("holdfast.yml").write_text("forgetDays: 4\n")
    Path("holdfast.db").touch()
    assert default_db() == "holdfast.db"
    assert load_for_command_line(None).forget_days == 4


def test_a_header_of_the_former_name_is_refused_by_its_new_one(tmp_path: Path) -> None:
    with (
        holdfast.open(tmp_path / "m.db", embedder=HashEmbedder(), worker=False) as memory,
        client_of(memory) as client,
    ):
        answer = client.get("/v1/status", headers={"X-Recollect-User": "ann"})
    assert answer.status_code == 400
    assert "x-recollect-user is called x-holdfast-user now" in answer.text


def test_what_we_keep_with_a_turn_is_read_under_the_former_name(tmp_path: Path) -> None:
    path = tmp_path / "m.db"
    with holdfast.open(path, embedder=HashEmbedder(), worker=False) as memory:
        memory.remember("The code is 4711.", user="ann", agent="a", visibility="agent_only")
        for key in ("holdfast", "recollect"):
            with pytest.raises(InvalidInput, match=key):
                memory.remember("Hello.", user="ann", metadata={key: {"visibility": "x"}})
    connection = apsw.Connection(str(path))
    changed = "UPDATE events SET metadata = replace(metadata, 'holdfast', 'recollect')"
    assert list(connection.execute(changed + " RETURNING metadata LIKE '%recollect%'")) == [(1,)]
    connection.execute("UPDATE records SET visibility = NULL")
    connection.close()
    with holdfast.open(path, embedder=HashEmbedder(), worker=False) as memory:
        memory.store.rebuild(index_row, steps=memory.worker.steps)
        assert memory.recall("code", user="ann", agent="b") == []
        assert len(memory.recall("code", user="ann", agent="a")) == 1
