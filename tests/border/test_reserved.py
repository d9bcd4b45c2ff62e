"""Metadata keys that our own code touches are reserved, or known to be the caller's.

A key that the system wrote into the caller's metadata, or trusted there, could be forged. The scan
reads the source, not a list that somebody has to keep: what it cannot follow it refuses.
"""

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

import holdfast
from holdfast.border.validate import CALLERS_OWN, RESERVED_METADATA, SYSTEM, checked_metadata
from holdfast.config import Limits
from holdfast.errors import InvalidInput
from holdfast.learn import filter as turn_filter

SOURCE = Path(holdfast.__file__).parent
#: Where a key is not written out: a function that is given it, and what it is given.
FOLLOWED = {
    "learn/filter.py": (*turn_filter._TOOL_KEYS, *turn_filter._HIDDEN_KEYS),
    "service/dialects/atomic_rows.py": (),  # text_or_none: its calls are scanned.
    "bench/run.py": ("turn",),
    "recall/hits.py": (SYSTEM,),
}
#: Functions that read a key of a metadata that they are given.
READERS = {"text_or_none"}


def touched(tree: ast.AST) -> Iterator[str | None]:
    """The keys of metadata that code reads or writes; None for one that is not written out."""
    for node in ast.walk(tree):
        yield from _read(node)
        for value in _made(node):
            yield from _written(value)


def _read(node: ast.AST) -> Iterator[str | None]:
    if isinstance(node, ast.Call):
        yield from _called(node)
    elif isinstance(node, ast.Subscript) and _is_metadata(node.value):
        yield _text(node.slice)
    elif isinstance(node, ast.Compare) and any(map(_is_metadata, node.comparators)):
        yield from [_text(node.left)] if isinstance(node.ops[0], ast.In | ast.NotIn) else []


def _made(node: ast.AST) -> Iterator[ast.expr]:
    """What becomes metadata: an argument, a variable or a part of that name."""
    given = isinstance(node, ast.keyword) and node.arg == "metadata"
    if given or any(map(_is_metadata, _targets(node))):
        value = getattr(node, "value", None)
        yield from [value] if value is not None else []
    elif isinstance(node, ast.Dict):
        for key, value in zip(node.keys, node.values, strict=True):
            if _text(key) == "metadata" and not _is_schema(value):
                yield value


def _targets(node: ast.AST) -> list[ast.expr]:
    if isinstance(node, ast.Assign):
        return node.targets
    return [node.target] if isinstance(node, ast.AnnAssign) else []


def _called(node: ast.Call) -> Iterator[str | None]:
    function = node.func
    if (
        isinstance(function, ast.Attribute)
        and function.attr in ("get", "pop", "setdefault")
        and _is_metadata(function.value)
    ):
        yield _text(node.args[0])
    if isinstance(function, ast.Name) and function.id in READERS:
        yield _text(node.args[1])


def _written(node: ast.expr) -> Iterator[str | None]:
    """The keys of what becomes metadata, as far as it is made here."""
    if isinstance(node, ast.IfExp):
        yield from _written(node.body)
        yield from _written(node.orelse)
    elif isinstance(node, ast.BoolOp):
        for each in node.values:
            yield from _written(each)
    elif isinstance(node, ast.Dict):
        yield from (_text(key) for key in node.keys if key is not None)


def _is_schema(node: ast.expr) -> bool:
    """Whether a dict says what metadata may be, instead of being some."""
    keys = {_text(key) for key in node.keys} if isinstance(node, ast.Dict) else set()
    return "type" in keys and keys <= {"type", "description", "additionalProperties"}


def _is_metadata(node: ast.AST) -> bool:
    if isinstance(node, ast.BoolOp):  # (self.metadata or {}).get(...)
        return any(map(_is_metadata, node.values))
    name = node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", None)
    return name == "metadata"


def _text(node: ast.AST | None) -> str | None:
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else None


@cache
def scanned() -> dict[str, list[str | None]]:
    """By file the keys that it touches. The shipped tests of stores say what they like, and that
    of a setting says what it may be."""
    found = {}
    for path in sorted(SOURCE.rglob("*.py")):
        place = path.relative_to(SOURCE).as_posix()
        text = path.read_text(encoding="utf-8")
        if not place.startswith(("testing/", "settings.py")) and re.search(
            r"metadata|text_or_none", text
        ):
            found[place] = list(touched(ast.parse(text)))
    return found


def test_every_key_that_our_code_touches_is_reserved_or_the_callers() -> None:
    known = RESERVED_METADATA | CALLERS_OWN
    strange = {
        (place, key)
        for place, keys in scanned().items()
        for key in (*keys, *FOLLOWED.get(place, ()))
        if key not in known and not (key is None and place in FOLLOWED)
    }
    # None: a key that is not written out, in a file that FOLLOWED does not explain.
    assert strange == set()


def test_the_scan_sees_what_it_looks_for() -> None:
    seen = {key for keys in scanned().values() for key in keys}
    assert {"rule", "category", "source_site", "turn", "categoryExtension", "externalId"} <= seen
    hidden = """
record.metadata.get("a"); hit.metadata["b"]; "c" in turn.metadata; f(metadata={"d": 1})
metadata = {"e": 1} if x else {"f": 1}; (self.metadata or {}).get("g"); text_or_none(m, "h")
record.metadata.get(name); {"metadata": {"i": 1}}
"""
    found = list(touched(ast.parse(hidden)))
    assert set(found) == {*"abcdefghi", None}


def test_no_key_is_both() -> None:
    assert set() == RESERVED_METADATA & CALLERS_OWN


SEED = """
cmo_id memberMemoryIds compositeVersion headline entities relations keywords consolidated_from
cluster_size avg_affinity sourceSite findingCount rules trustScore threshold
contradictionConfidence supersededMemoryId clarification_note target_memory_id
contradiction_confidence fact_role recap member_count raw_document_id document_chunk_id
upload_result providerMetadata codec
"""


@pytest.mark.parametrize("key", [*SEED.split(), SYSTEM, "rule", "condition"])
def test_a_reserved_key_is_refused_by_name(key: str) -> None:
    with pytest.raises(InvalidInput, match=f'"{key}" belongs to the system'):
        checked_metadata({"mine": 1, key: "x"}, "metadata", Limits(), [])


@pytest.mark.parametrize("key", sorted(CALLERS_OWN))
def test_a_key_of_the_callers_is_taken(key: str) -> None:
    assert checked_metadata({key: "x"}, "metadata", Limits(), []) == {key: "x"}
