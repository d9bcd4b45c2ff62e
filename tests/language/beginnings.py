"""What a pattern's matches begin with: its first words, all of them, told by its syntax."""

from collections.abc import Callable, Iterable
from importlib import import_module
from typing import Any

code: Any = import_module("re._constants")
parser: Any = import_module("re._parser")

#: What stands for many letters.
_ANY = (code.IN, code.ANY, code.NOT_LITERAL)
#: What an item that holds others may be.
_INSIDE: dict[Any, Callable[[Any], Iterable[Any]]] = {
    code.BRANCH: lambda value: value[1],
    code.SUBPATTERN: lambda value: [value[-1]],
    code.ASSERT: lambda value: [value[1]],
    code.ASSERT_NOT: lambda _: [[]],
    code.AT: lambda _: [[]],
}
_REPEATS = (code.MAX_REPEAT, code.MIN_REPEAT, code.POSSESSIVE_REPEAT)


def beginnings(pattern: str) -> set[str]:
    """Each first word with a blank behind it, or with "*" from where it may go on with any letter.
    What is only looked for and must not be there is taken for there."""
    return {begun if is_done else f"{begun} " for begun, is_done in _of(parser.parse(pattern))}


def _of(items: Iterable[Any]) -> set[tuple[str, bool]]:
    """The beginnings of items one after another, and whether each is done."""
    begun = {("", False)}
    for operation, value in items:
        begun = {
            (before + more, is_done)
            for before, was_done in begun
            for more, is_done in ({("", True)} if was_done else _of_one(operation, value))
        }
    return begun


def _of_one(operation: Any, value: Any) -> set[tuple[str, bool]]:
    if operation is code.LITERAL:
        return {(chr(value), False) if "a" <= chr(value) <= "z" else (" ", True)}
    if operation is code.IN and all(kind is code.LITERAL for kind, _ in value):
        return {each for kind, letter in value for each in _of_one(kind, letter)}
    if operation in _ANY:
        return {("*", True)}
    if operation in _REPEATS:
        least, most, item = value
        once = _of(item)
        again = {(f"{begun}*", True) for begun, is_done in once if begun and not is_done}
        return once | ({("", False)} if least == 0 else set()) | (again if most > 1 else set())
    if operation is code.ASSERT and value[0] < 0:
        return {("", False)}
    inside = _INSIDE[operation](value)
    return {each for items in inside for each in _of(items)}
