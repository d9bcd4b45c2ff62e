"""Regular expressions that are compiled when they are first used.

There are some 800 of them. To compile them all took 0.6 s of every process that opened a memory,
and most processes need few of them: a command, a search, a test.
"""

import re
from typing import Any, cast
from weakref import WeakSet

_PARTS = (
    "search", "match", "fullmatch", "findall", "finditer", "split", "sub", "subn",
    "pattern", "flags", "groups", "groupindex",
)  # fmt: skip


class _LazyPattern:
    """Looks like a compiled one. What it is asked for is kept beside it, so that it is asked for as
    fast as of a compiled one from then on."""

    __slots__ = ("__weakref__", "_flags", "_text", *_PARTS)

    def __init__(self, text: str, flags: int) -> None:
        self._text = text
        self._flags = flags

    def __getattr__(self, name: str) -> Any:
        if name not in _PARTS:
            raise AttributeError(name)
        compiled = re.compile(self._text, self._flags)
        for part in _PARTS:
            setattr(self, part, getattr(compiled, part))
        return getattr(compiled, name)


_ALL: WeakSet[_LazyPattern] = WeakSet()


def regex(text: str, flags: int = 0) -> re.Pattern[str]:
    """As `re.compile`; what is wrong with the text is told when it is first used."""
    made = _LazyPattern(text, flags)
    _ALL.add(made)
    return cast(re.Pattern[str], made)


def compile_all() -> None:
    """Compile those that are there: a service does so before it answers, and before it forks."""
    for each in list(_ALL):
        each.search  # noqa: B018 (it is compiled by being asked for)
