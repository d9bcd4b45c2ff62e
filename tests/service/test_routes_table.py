"""Every route of the service, asked with every kind of key."""

from collections import Counter
from pathlib import Path

import pytest
from fastapi import APIRouter

from holdfast.catalogue.verbs import ALL
from scripts.routes_table import KINDS, Cell, app_of, table
from tests.service.asking import paths_of, routes_of
from tests.service.by_hand import ROUTES
from tests.service.world import made


@pytest.fixture(scope="module")
def cells(tmp_path_factory: pytest.TempPathFactory) -> list[Cell]:
    return table(tmp_path_factory.mktemp("routes"))


@pytest.mark.slow
def test_every_kind_of_key_is_answered_as_it_should(cells: list[Cell]) -> None:
    assert [f"{cell.route}, {cell.kind}: {cell.wrong}" for cell in cells if cell.wrong] == []


@pytest.mark.slow
def test_every_route_has_a_row_and_every_kind_a_column(cells: list[Cell]) -> None:
    rows = Counter(cell.route for cell in cells)
    assert set(rows.values()) == {len(KINDS)}
    assert {f"{verb.method} {verb.path}" for verb in ALL} <= set(rows)
    assert {f"{method} {path}" for method, path in ROUTES} <= set(rows), "by_hand.py is out of date"
    for kind in ("other tenant", "other user", "foreign id"):
        assert sum(cell.kind == kind and cell.shown != "-" for cell in cells) >= 20


def test_no_two_routes_answer_the_same_request(tmp_path: Path) -> None:
    """Which of them came first would decide."""
    with made(tmp_path).opened(tmp_path / "m.db") as memory:
        counted = Counter(paths_of(app_of(memory)))
    assert [each for each, count in counted.items() if count > 1] == []
    assert len(counted) > 150


def test_a_route_that_nobody_knows_is_named(tmp_path: Path) -> None:
    with made(tmp_path).opened(tmp_path / "m.db") as memory:
        app = app_of(memory)
        before = len(routes_of(app))
        assert before >= len(ALL)
        more = APIRouter()
        more.add_api_route("/v1/secrets/{id}", lambda: None, methods=["PATCH"])
        app.include_router(more)
        with pytest.raises(KeyError, match=r"PATCH /v1/secrets/\{id\}"):
            routes_of(app)
