"""A verb: a function of a memory, and how it is asked for over HTTP."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Concatenate, Generic, ParamSpec, TypeVar, get_origin, get_type_hints

from holdfast.catalogue import kinds
from holdfast.catalogue.kinds import Kind
from holdfast.types import Role

P = ParamSpec("P")
R = TypeVar("R")

#: What the scope words are called on the wire.
SCOPE_NAMES: Mapping[str, str] = {
    "user": "user_id",
    "workspace": "workspace_id",
    "agent": "agent_id",
    "session": "session_id",
}
#: In the query string of these, in the body of all others.
BODILESS = ("GET", "DELETE")


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter of a verb."""

    #: In Python, and on the wire.
    name: str
    wire: str
    kind: Kind
    required: bool
    default: Any = None
    #: Where it travels: path, query, body or header; raw: it is the whole body, as it is.
    place: str = "body"
    #: As the function has it.
    annotation: Any = None
    #: Whether it is told by its place, not by its name.
    is_positional: bool = False


@dataclass(frozen=True)
class Verb(Generic[P, R]):
    """How a function is asked for. Made with `verb`."""

    function: Callable[..., Any]
    method: str
    path: str
    #: The attribute of a memory that has it: "facts"; "" = the memory itself.
    part: str = ""
    #: What a key must be allowed.
    role: Role = "read"
    #: The name under which a bare value (a list, a number) travels.
    answer: str = ""
    #: Parameters that are called otherwise on the wire.
    names: Mapping[str, str] = field(default_factory=dict)
    #: A key of one user is not enough: it reaches what all users of a workspace share.
    whole: bool = False
    #: Parameters that do not travel.
    hidden: frozenset[str] = frozenset()
    #: The parameter that is the body itself, not a field of it; all others are in the query then.
    raw: str = ""
    #: The most that a number may be on the wire, by parameter. One without a default is so much.
    most: Mapping[str, float] = field(default_factory=dict)
    #: For the documentation: a body (or query) that works.
    example: Mapping[str, Any] = field(default_factory=dict)
    status: int = 200

    @property
    def name(self) -> str:
        """As it is called on a memory: "facts.add"."""
        return f"{self.part}.{self.function.__name__}".lstrip(".")

    @property
    def tag(self) -> str:
        """The group it belongs to in the documentation."""
        return self.path.split("/")[2]

    @property
    def words(self) -> str:
        """What it does: the docstring of the function."""
        return inspect.cleandoc(self.function.__doc__ or "")

    @property
    def headline(self) -> str:
        """What it does, in its first sentences."""
        return " ".join(self.words.split("\n\n")[0].split())

    @cached_property
    def returns(self) -> Any:
        """The type of what it gives."""
        return get_type_hints(self.function).get("return")

    @cached_property
    def parameters(self) -> tuple[Parameter, ...]:
        """Those that travel, in order."""
        hints = get_type_hints(self.function)
        found = []
        for each in list(inspect.signature(self.function).parameters.values())[1:]:
            if each.name in self.hidden or not kinds.travels(hints[each.name]):
                continue
            wire = self.names.get(each.name) or SCOPE_NAMES.get(each.name) or each.name
            required = each.default is inspect.Parameter.empty
            found.append(
                Parameter(
                    each.name,
                    wire,
                    kinds.of(hints[each.name]),
                    required,
                    None if required else each.default,
                    self._place(each.name, wire),
                    hints[each.name],
                    required and each.kind is each.POSITIONAL_OR_KEYWORD,
                )
            )
        return tuple(found)

    def _place(self, name: str, wire: str) -> str:
        if "{" + wire + "}" in self.path:
            return "path"
        if wire == "Idempotency-Key":
            return "header"
        if name == self.raw:
            return "raw"
        return "query" if self.method in BODILESS or self.raw else "body"

    @cached_property
    def is_list(self) -> bool:
        """Whether it gives a list that can be had page by page."""
        return self.method == "GET" and get_origin(self.returns) in (list, Sequence)

    def has(self, name: str) -> bool:
        """Whether a parameter of this name travels."""
        return any(each.name == name for each in self.parameters)

    def of(self, memory: Any) -> Callable[..., Any]:
        """The function, bound to a memory."""
        owner = getattr(memory, self.part) if self.part else memory
        bound: Callable[..., Any] = getattr(owner, self.function.__name__)
        return bound


def verb(
    function: Callable[Concatenate[Any, P], R], method: str, path: str, **more: Any
) -> Verb[P, R]:
    """A verb, typed as its function."""
    more["hidden"] = frozenset(more.get("hidden", ())) | {"progress"}
    return Verb(function, method, path, **more)
