"""The reference of the HTTP routes says what the catalogue says."""

import pytest

from holdfast.catalogue.verbs import ALL
from scripts.http_docs import GROUPS, PAGE, page

TEXT = PAGE.read_text()


def test_the_page_is_up_to_date() -> None:
    assert page() == TEXT, "run: python scripts/http_docs.py"


@pytest.mark.parametrize("group", GROUPS)
def test_every_group_is_on_the_page(group: str) -> None:
    assert f"<!-- routes: {group} -->" in TEXT


@pytest.mark.parametrize("verb", ALL, ids=lambda verb: verb.name)
def test_every_verb_stands_there_once(verb: object) -> None:
    assert TEXT.count(f"| `{verb.method} {verb.path}`") == 1  # type: ignore[attr-defined]
