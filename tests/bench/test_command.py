"""`holdfast bench retrieval`, as people call it."""

import json
from pathlib import Path

import pytest

from holdfast.service.cli import main


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Path, no_settings: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.mark.slow
def test_the_sample_is_measured_with_the_shipped_model_and_said_to_be_the_sample(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["bench", "retrieval", "--cache", "cache.db", "--out", "found"]
    assert main(command) == 0
    shown = capsys.readouterr()
    assert "the small conversation that comes with Holdfast" in shown.out
    assert "| Holdfast | " in shown.out
    assert "| without literal " in shown.out
    wrote = [line.removeprefix("wrote ") for line in shown.err.splitlines() if "wrote" in line]
    assert len(wrote) == 4
    assert all((tmp_path / path).stat().st_size for path in wrote)

    assert main([*command, "--json", "--no-ablation"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["cache"]["made"] == 0
    assert told["sets"][0]["ablation"] is None
    assert told["sets"][0]["methods"]["Holdfast"][0]["recall@10"] > 0.8


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (["--data", "nowhere"], "there is no folder nowhere"),
        (["--data", "."], "holds no set"),
        (["--sets", "a"], "--sets needs --data"),
        (["--limit-questions", "0"], "--limit-questions"),
        (["--ablation-questions", "0"], "--ablation-questions"),
    ],
)
def test_a_wrong_call_is_told_in_one_line(
    args: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["bench", "retrieval", *args]) == 2
    shown = capsys.readouterr()
    assert said in shown.err
    assert shown.err.count("\n") == 1
    assert shown.out == ""
