"""Where a block of code begins and ends in text: lines of three or more backticks or tildes."""

from __future__ import annotations

import re

_OPENING = re.compile(r"\s{0,40}(`{3,}|~{3,})")


def opening(line: str) -> str:
    """The fence that a line begins a block of code with; an empty text if it does not."""
    found = _OPENING.match(line)
    return found[1] if found else ""


def is_closing(line: str, fence: str) -> bool:
    """Whether a line ends the block that a fence began."""
    said = line.strip()
    return said.startswith(fence) and not said.strip(fence[0])
