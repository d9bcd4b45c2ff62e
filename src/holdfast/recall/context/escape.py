r"""Any text on one line: what breaks lines, hides or opens a tag is written with a backslash.

A line break becomes `\n`, a backslash `\\`, `<` becomes `\u003c`: the escapes of JSON, which models
read with ease. `unescaped` gives the text back, whatever it was.
"""

from __future__ import annotations

import re

# Controls, line separators, bidirectional and invisible marks, blank letters, half pairs, tags.
_UNSEEN = (
    "\x00-\x1f\x7f-\x9f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f"
    "\u2028-\u202e\u2060-\u206f\u2800\u3164\ud800-\udfff\ufeff\uffa0\ufff9-\ufffb"
    "\U000e0000-\U000e0fff"
)
_IN_LINE = re.compile(rf"[\\{_UNSEEN}]")
_IN_BLOCK = re.compile(rf"[\\<>{_UNSEEN}]")
_ESCAPE = re.compile(r"\\(?:u([0-9a-f]{4})|U([0-9a-f]{8})|(.))")

_SHORT = {"\n": "\\n", "\t": "\\t", "\r": "\\r", "\\": "\\\\"}
_LONG = {written[1]: char for char, written in _SHORT.items()}


def escaped(text: str, *, angles: bool = True) -> str:
    """The text as one printable line; `angles=False` where `<` and `>` are escaped elsewhere."""
    return (_IN_BLOCK if angles else _IN_LINE).sub(_escape, text)


def code(char: str) -> str:
    """One character by its number."""
    number = ord(char)
    return f"\\u{number:04x}" if number <= 0xFFFF else f"\\U{number:08x}"


def unescaped(text: str) -> str:
    """The text that was escaped. Any other character after a backslash stands for itself."""
    return _ESCAPE.sub(_unescape, text)


def _escape(match: re.Match[str]) -> str:
    char = match.group()
    return _SHORT.get(char) or code(char)


def _unescape(match: re.Match[str]) -> str:
    number = match[1] or match[2]
    return chr(int(number, 16)) if number else _LONG.get(match[3], match[3])
