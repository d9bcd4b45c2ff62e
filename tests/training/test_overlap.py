"""Whether text that is trained on stands in evaluation sets."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
from pathlib import Path

import pytest

from training.overlap import runs, texts, trained

ROOT = Path(__file__).parents[2]


def test_runs_of_eight_words() -> None:
    text = "One, two three four five six seven EIGHT nine."
    assert list(runs(text)) == [
        ("one", "two", "three", "four", "five", "six", "seven", "eight"),
        ("two", "three", "four", "five", "six", "seven", "eight", "nine"),
    ]
    assert list(runs("too short")) == []


def test_all_texts_of_a_file(tmp_path: Path) -> None:
    lines = json.dumps({"a": ["x", {"b": "y"}], "n": 3}) + "\n" + json.dumps(["z"])
    (tmp_path / "plain.jsonl").write_text(lines)
    with gzip.open(tmp_path / "packed.jsonl.gz", "wt") as file:
        file.write(lines)
    for path in tmp_path.iterdir():
        assert list(texts(path)) == ["x", "y", "z"]


@pytest.mark.slow
def test_what_is_copied_is_told(tmp_path: Path) -> None:
    line = next(text for text in trained() if len(list(runs(text))) > 3)
    assert "##" not in line
    (tmp_path / "copied.jsonl").write_text(json.dumps({"text": line}))
    (tmp_path / "new.jsonl").write_text('{"text": "nobody here wrote anything of the kind so far"}')
    ended = subprocess.run(
        [sys.executable, "-m", "training.overlap", tmp_path],
        cwd=ROOT, capture_output=True, text=True, check=True,
    )  # fmt: skip
    copied, new = sorted(row for row in ended.stdout.splitlines() if "jsonl:" in row)
    assert f"shared {len(set(runs(line)))}: " in copied
    assert new.endswith("shared 0")
