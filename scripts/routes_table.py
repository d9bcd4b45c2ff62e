"""Ask every route of the service with every kind of key, and print who is let in.

The routes are read from the router: a new one is asked by itself if it is a verb of the catalogue,
and is an error until tests/service/by_hand.py says who may ask for it. Expected is:

- 401 without a valid key: none, wrong, expired, revoked;
- 403 where the role is not enough, or where a request names a workspace or a user that are not the
  key's, in the same words whether they exist or not;
- for an id of somebody else exactly what is answered for an id that nobody has;
- 2xx for who may.

The exit status is 1 when an answer was another, or a route is not covered.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

from fastapi.testclient import TestClient
from httpx2 import Response
from rich.console import Console
from rich.table import Table

from holdfast.memory.memory import Memory
from holdfast.service.http.app import create_app
from tests.service.asking import Question, Route, routes_of
from tests.service.world import ASKED, World, made

ROLES = ("read", "write", "admin")
#: As the columns of the table.
KINDS = (
    "none", "wrong", "expired", "revoked", "other tenant", "other user", "foreign id",
    *ROLES,
)  # fmt: skip
_NOBODYS = "0" * 31 + "7"


@dataclass(frozen=True)
class Cell:
    """What one kind of key was answered."""

    route: str
    kind: str
    #: As printed: a status, or - where there is nothing to ask.
    shown: str
    wrong: str = ""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--only", default="", help="routes whose path holds this")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        cells = table(Path(folder), only=args.only)
    show(cells)
    wrong = [cell for cell in cells if cell.wrong]
    for cell in wrong:
        print(f"{cell.route}, {cell.kind}: {cell.wrong}")
    routes = len({cell.route for cell in cells})
    asked = sum(cell.shown != "-" for cell in cells)
    print(f"{routes} routes, {len(KINDS)} kinds of asker, {asked} answers, {len(wrong)} wrong")
    return int(bool(wrong) or not routes)


def table(folder: Path, *, only: str = "") -> list[Cell]:
    """Every route with every kind of key."""
    world = made(folder)
    cells = []
    # What only reads needs no store of its own.
    with world.opened(folder / "read.db") as memory, client_of(memory) as client:
        routes = [each for each in routes_of(client.app) if only in each.path]
        for route in routes:
            if route.asked.role == "read":
                cells += row(Asking(client, world), route)
    for number, route in enumerate(routes):
        if route.asked.role != "read":
            with world.opened(folder / f"{number}.db") as memory, client_of(memory) as client:
                cells += row(Asking(client, world), route)
    order = [route.name for route in routes]
    return sorted(cells, key=lambda cell: order.index(cell.route))


def app_of(memory: Memory) -> Any:
    return create_app(memory, clock=lambda: ASKED)


def client_of(memory: Memory) -> TestClient:
    return TestClient(app_of(memory), "http://localhost:3050", follow_redirects=False)


@dataclass(frozen=True)
class Asking:
    """A client that shows a key."""

    client: TestClient
    world: World

    def __call__(self, question: Question, kind: str) -> Response:
        secret = self.world.keys[kind]
        self.client.cookies.clear()  # One route gives a session for a key.
        headers = {**question.headers, **({"authorization": f"Bearer {secret}"} if secret else {})}
        raw = isinstance(question.body, bytes)
        return self.client.request(
            question.method if question.method != "*" else "POST",
            question.path,
            params=dict(question.query),
            headers=headers,
            **{"content" if raw else "json": question.body},
        )


def row(ask: Asking, route: Route) -> list[Cell]:
    """A route with every kind of key; refusals first, because an answer may change the store."""
    checks: Mapping[str, Callable[[Asking, Route, str], Cell]] = {
        **dict.fromkeys(KINDS[:4], _without),
        "other tenant": _other_tenant,
        "other user": _other_user,
        "foreign id": _foreign_id,
        **dict.fromkeys(ROLES, _role),
    }
    return [check(ask, route, kind) for kind, check in checks.items()]


def _without(ask: Asking, route: Route, kind: str) -> Cell:
    if route.asked.open and route.asked.endless:
        return Cell(route.name, kind, "-")
    answer = ask(route.question(ask.world), kind)
    if route.asked.open:
        return _expect(route, kind, answer, range(200, 300))
    return _expect(route, kind, answer, [401])


def _other_tenant(ask: Asking, route: Route, kind: str) -> Cell:
    """A key of another workspace that names this one, and one that does not exist."""
    if not route.asked.workspace:
        return Cell(route.name, kind, "-")
    asked = route.question(ask.world)
    named = [route.scoped("workspace_id", each, asked) for each in ("acme", "nowhere")]
    return _named(ask, route, kind, named)


def _other_user(ask: Asking, route: Route, kind: str) -> Cell:
    """A key of another user that names this one, and one that does not exist."""
    if route.asked.whole:
        return _expect(route, kind, ask(route.question(ask.world), kind), [403])
    if route.asked.user_in_path:
        named = [route.question(ask.world, subject=each) for each in ("ann", "nobody")]
        return _named(ask, route, kind, named)
    if not route.asked.user and not route.asked.user_header:
        return Cell(route.name, kind, "-")
    asked = route.question(ask.world)
    return _named(ask, route, kind, [route.by(each, asked) for each in ("ann", "nobody")])


def _named(ask: Asking, route: Route, kind: str, asked: Sequence[Question]) -> Cell:
    there, not_there = (ask(each, kind) for each in asked)
    if there.content != not_there.content:
        return Cell(route.name, kind, str(there.status_code), "tells whether the other exists")
    return _expect(route, kind, there, [403])


def _foreign_id(ask: Asking, route: Route, kind: str) -> Cell:
    """An id of Ann's, asked for by others: they get what they get for an id that nobody has."""
    if not route.takes_an_id or route.asked.creates:
        return Cell(route.name, kind, "-")
    askers = [("other tenant", "eve")]
    if route.asked.user:  # What is not one user's is the whole workspace's.
        askers.append(("other user", "bob"))
    for key, user in askers:
        hers = route.subject(ask.world)
        theirs, nobodys = (_with_id(ask, route, key, user, id) for id in (hers, _like(hers)))
        if theirs != nobodys:
            words = f"{key}: {theirs} differs from nobody's {nobodys}"
            return Cell(route.name, kind, str(theirs[0]), words)
        if theirs[0] != 404 and theirs[0] not in range(200, 300):
            return Cell(route.name, kind, str(theirs[0]), f"{key}: {theirs}")
    return Cell(route.name, kind, str(theirs[0]))


def _with_id(ask: Asking, route: Route, key: str, user: str, id: str) -> tuple[int, str]:
    answer = ask(route.by(user, route.question(ask.world, subject=id)), key)
    return answer.status_code, answer.text.replace(id, "ID")


def _like(subject: str) -> str:
    """An id of the same shape that nobody has."""
    return _NOBODYS if len(subject) == 32 else subject[:-1] + ("7" if subject[-1:] != "7" else "8")


def _role(ask: Asking, route: Route, kind: str) -> Cell:
    enough = ROLES.index(kind) >= ROLES.index(route.asked.role)
    if enough and route.asked.endless:
        return Cell(route.name, kind, "-")
    answer = ask(route.question(ask.world), kind)
    if not enough:
        return _expect(route, kind, answer, [403])
    # What was done with a lesser key may be gone now: then it must be said in order.
    first = kind == route.asked.role
    due = [route.asked.status] if route.asked.status else range(200, 300)
    return _expect(route, kind, answer, due if first else [*due, *range(200, 300), 400, 404, 409])


def _expect(route: Route, kind: str, answer: Response, due: Iterable[int]) -> Cell:
    status = answer.status_code
    wrong = "" if status in due else f"answered {status}: {answer.text[:200]}"
    return Cell(route.name, kind, str(status), wrong)


def show(cells: Sequence[Cell]) -> None:
    printed = Table(box=None, pad_edge=False)
    for column in ("route", *KINDS):
        printed.add_column(column, no_wrap=True)
    rows: dict[str, dict[str, str]] = {}
    for cell in cells:
        rows.setdefault(cell.route, {})[cell.kind] = cell.shown + ("!" if cell.wrong else "")
    for route, by_kind in rows.items():
        printed.add_row(route, *(by_kind[kind] for kind in KINDS))
    Console(width=200).print(printed)


if __name__ == "__main__":
    sys.exit(main())
