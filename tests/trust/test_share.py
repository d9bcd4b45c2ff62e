"""No writer fills the answer: of the first ten at most three are one writer's, by any way in."""

from pathlib import Path

import pytest

import holdfast
from tests.trust.share import FLOODS, MOST, flooded, shares
from tests.trust.suite import EMBEDDER


@pytest.mark.slow
@pytest.mark.parametrize("name", FLOODS)
def test_one_writer_gets_three_of_ten(name: str, tmp_path: Path) -> None:
    config = {"extraction": {"enabled": False}}
    with holdfast.open(
        tmp_path / "bounded.db", config=config, embedder=EMBEDDER, worker=False
    ) as memory:
        listed, told = flooded(memory, name)
    assert listed <= 10 * MOST
    assert told <= 10 * MOST
    with holdfast.open(
        tmp_path / "free.db", config={**config, "writerShare": 1.0}, embedder=EMBEDDER, worker=False
    ) as memory:
        assert flooded(memory, name)[0] > 10 * MOST, "the flood is one"


@pytest.mark.slow
def test_one_writer_gets_three_of_ten_with_the_real_model(tmp_path: Path) -> None:
    assert shares(tmp_path, (20,)) == {20: MOST}
