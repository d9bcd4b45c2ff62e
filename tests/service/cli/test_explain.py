"""`holdfast explain`: the head, the table at every width, JSON, and how it says no."""

import re

import pytest

from tests.service.commands import NO_ID, Run, remembered

#: Left out of `make check`: each opens a memory, or takes its time.
pytestmark = pytest.mark.slow


RULE = "Always name the tea that you mean."


def context_of(run: Run, *options: str) -> str:
    """Ask for a context and read its id from stderr."""
    ended = run("context", "Which tea do you mean? INV-7731", "--user", "ann", *options)
    assert ended.code == 0, ended.err
    found = re.search(r"; context ([0-9a-f]{32})$", ended.err.strip())
    assert found, ended.err
    assert found[1] not in ended.out
    return found[1]


@pytest.fixture
def stored(run: Run) -> str:
    remembered(run, RULE)
    return remembered(run, "Invoice INV-7731 is for green tea.")


def test_a_context_is_explained_by_the_id_it_was_printed_with(
    run: Run, stored: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    context = context_of(run)
    ended = run("explain", context[-6:], "--user", "ann")
    assert ended.code == 0
    head, _, table = ended.out.partition("\n\n")
    assert f"context   {context}" in head
    assert "question  Which tea do you mean? INV-7731" in head
    assert "format    safe, packaging auto" in head
    assert "found     2 memories, 2 told, 0 left out" in head
    assert re.search(r"^sha256    [0-9a-f]{64}$", head, re.MULTILINE)
    rows = table.splitlines()
    assert rows[0].split() == [
        *("#", "score", "id", "memory", "told"),
        "keyword",
        "vector",
        "notes",
    ]
    first = next(row for row in rows if stored in row)
    assert "session/turn  " in first
    assert 'holds "INV-7731"' in first
    assert "procedure/instruction" in table


def test_what_did_not_fit_says_so(run: Run, stored: str) -> None:
    table = run("explain", context_of(run, "--budget", "10"), "--user", "ann").out
    assert "0 told, 2 left out" in table
    assert len(re.findall(r"left out: over budget, \d+ tokens", table)) == 2


@pytest.mark.parametrize("width", [40, 60, 80, 100, 120, 200])
def test_the_table_keeps_to_the_width_of_the_terminal(
    run: Run, stored: str, width: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    context = context_of(run, "--explain")
    monkeypatch.setenv("COLUMNS", str(width))
    out = run("explain", context, "--user", "ann").out
    # The columns themselves need their room; the notes wrap.
    assert max(map(len, out.splitlines())) <= max(width, 75)
    assert (stored in out) == (width >= 150)
    assert stored[-8:] in out
    words = " ".join(out.split())
    assert "session x 1.00" in words
    assert "lane new to" in words


def test_ranks_are_told_when_they_were_asked_for(run: Run, stored: str) -> None:
    assert "#1" in run("explain", context_of(run, "--explain"), "--user", "ann").out
    assert "#1" not in run("explain", context_of(run), "--user", "ann").out
    told = run("recall", "tea", "--user", "ann", "--explain").out
    assert re.search(r"ranks keyword #\d \(0\.0000\), hybrid #\d \(0\.01\d\d\), vector #\d", told)
    assert "ranks" not in run("recall", "tea", "--user", "ann").out


def test_how_it_was_asked_is_told(run: Run, stored: str) -> None:
    context = context_of(
        run, "--agent", "guide", "--session", "s1", "--as-of", "2100-01-01T00:00:00Z",
        "--filter", "role=user",
    )  # fmt: skip
    told = run("explain", context, "--user", "ann").out
    assert "asked     as of 2100-01-01 00:00 UTC; agent guide; session s1; role user" in told


def test_machines_get_all_of_it(run: Run, stored: str) -> None:
    context = context_of(run)
    told = run("explain", context, "--user", "ann", "--json").json
    assert (told["id"], told["query"]) == (context, "Which tea do you mean? INV-7731")
    first = next(each for each in told["candidates"] if each["id"] == stored)
    assert (first["level"], first["reason"]) == ("full", None)
    assert first["why"]["literal"] == ["INV-7731"]


def test_a_context_that_is_not_there_is_an_error_in_words(run: Run, stored: str) -> None:
    context = context_of(run)
    for asked, user, told in (
        (NO_ID, "ann", f"no context ends with '{NO_ID}' in this scope"),
        (context, "bob", f"no context ends with '{context}' in this scope"),
        ("zz", "ann", "a context is named by 6 to 32 hex digits, not 'zz'"),
    ):
        ended = run("explain", asked, "--user", user)
        assert (ended.code, ended.out) == (2, "")
        assert ended.err == f"error: {told}\n"
