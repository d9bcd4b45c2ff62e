"""Commands, above all those that are made of the verbs of the catalogue.

A command is the printing of what its verb gives, decorated with what only the command line knows:
which parameters it offers and in which order, their help, an example. Types and defaults are the
verb's. To know them is to import the memory, so a command is made when it is called or its help is
asked for; until then it is a name and a line of help.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple, TypeVar

import typer

from holdfast.service.cli.show import (
    Agent,
    AsJson,
    ConfigFile,
    Db,
    Session,
    User,
    Workspace,
    document,
    line,
    pairs,
)

if TYPE_CHECKING:
    from holdfast.catalogue.verb import Parameter, Verb
    from holdfast.memory.memory import Memory

F = TypeVar("F", bound=Callable[[Any, Any], None])
_REQUIRED: Any = inspect.Parameter.empty
_VERBS_OWN: Any = object()


class Option(NamedTuple):
    """How a parameter looks on the command line, where its verb does not say it."""

    help: str
    metavar: str | None = None
    short: str | None = None
    type: Any = None
    default: Any = _VERBS_OWN
    #: What was typed as what the verb takes.
    read: Callable[[Any], Any] | None = None
    #: Of what is no verb's: whether it is told by its place; of a number: the least it may be.
    is_argument: bool = False
    least: int | None = None


#: By the name of a parameter; a text is its help.
Words = Mapping[str, str | Option]
_USUAL: Words = {
    "id": Option("The full id, 32 hex digits.", "ID"),
    "limit": Option("At most so many.", short="-n"),
    "as_of": Option("What held then.", "TIME"),
    "known_at": Option("What was known to hold then.", "TIME"),
    "metadata": Option("May be repeated.", "NAME=VALUE"),
    "tags": "May be repeated.",
}
#: Those that every command has in the same words.
_SHARED = {"user": User, "workspace": Workspace, "agent": Agent, "session": Session}
_LAST = {"json": (AsJson, False), "db": (Db, None), "config": (ConfigFile, None)}


@dataclass(frozen=True, slots=True)
class Call:
    """One call of a command: the memory it asks, and what the verb was given."""

    memory: Memory
    given: Mapping[str, Any]

    @property
    def is_far(self) -> bool:
        """Whether the memory is behind a service."""
        from holdfast.service.cli.opening import is_far  # noqa: PLC0415

        return is_far(self.memory)

    def __getitem__(self, name: str) -> Any:
        return self.given[name]


@dataclass(frozen=True)
class Command:
    """A command. Made with `command`."""

    name: str
    #: The verb it asks, "" for none: then it takes the store alone, and no service.
    verb: str
    #: The parameters it offers, in their order; `tags:tag` is called --tag. What is none of the
    #: verb's is for who prints the answer.
    takes: str
    example: str
    show: Callable[[Any, Call], None]
    words: Words
    #: Whether it may begin a memory, or with which option, and whether it does what waits then.
    creates: bool | str = False
    settles: bool = False
    #: What is told instead of an empty answer.
    nothing: str = ""
    #: What is done with the memory, or the store, where that is not to ask the verb.
    does: Callable[[Any, dict[str, Any]], Any] | None = None
    #: The request by which a service does the same.
    way: str = ""
    #: The answer as --json prints it.
    data: Callable[[Any, Call], Any] | None = None
    #: Before it is printed: an answer may be refused, and more be told on stderr.
    first: Callable[[Any, Call], None] | None = None

    @property
    def help(self) -> str:
        """What it does."""
        return inspect.cleandoc(self.show.__doc__ or "")

    def make(self) -> Any:
        """The command, with the options of its verb."""
        verb = _verb(self.verb) if self.verb else None
        known = {each.name: each for each in verb.parameters} if verb else {}
        offered = [each.partition(":")[::2] for each in self.takes.split()]
        options = [
            _option(known.get(name) or _own(name), other or name, self.words.get(name))
            for name, other in offered
        ]

        def run(*, json: bool, db: str | None, config: Path | None, **typed: Any) -> None:
            given = {each.parameter.name: each.value(typed[each.name]) for each in options}
            self._run(verb, given, db, config, json=json)

        last = [_keyword(name, kind, default) for name, (kind, default) in _LAST.items()]
        run.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
            [*(each.keyword for each in options), *last]
        )
        app = typer.Typer(add_completion=False)
        app.command(self.name, help=self.help, epilog=self.example)(run)
        return typer.main.get_command(app)

    def _run(
        self,
        verb: Verb[..., object] | None,
        given: dict[str, Any],
        db: str | None,
        config: Path | None,
        *,
        json: bool,
    ) -> None:
        from holdfast.service.cli.opening import settle  # noqa: PLC0415

        with self._open(given, db, config) as memory:
            if self.does is not None:
                found = self.does(memory, given)
            elif verb is not None:
                found = verb.of(memory)(**{k: v for k, v in given.items() if verb.has(k)})
            if self.settles:
                settle(memory)
            call = Call(memory, given)
            if self.first:
                self.first(found, call)
            if json:
                document(self.data(found, call) if self.data else found)
            elif self.nothing and not found:
                line(self.nothing.format(**given))
            else:
                self.show(found, call)

    def _open(
        self, given: dict[str, Any], db: str | None, config: Path | None
    ) -> AbstractContextManager[Any]:
        from holdfast.service.cli.opening import memory_at, store_at  # noqa: PLC0415

        creates = given[self.creates] if isinstance(self.creates, str) else self.creates
        if not self.verb:
            return store_at(db, config, must_exist=not creates, way=self.way)
        return memory_at(db, config, must_exist=not creates)


def command(  # noqa: PLR0913 (one per field)
    app: typer.Typer, name: str, takes: str, example: str, /, *, verb: str | None = None,
    creates: bool | str = False, settles: bool = False, nothing: str = "",
    does: Callable[[Any, dict[str, Any]], Any] | None = None, way: str = "",
    data: Callable[[Any, Call], Any] | None = None,
    first: Callable[[Any, Call], None] | None = None,
    **words: str | Option,
) -> Callable[[F], F]:  # fmt: skip
    """Make a command, with the function that prints its answer; see `Command`.

    Where `verb` does not say which, "facts list" is facts.list. `words` are those of parameters.
    """

    def decorate(show: F) -> F:
        made = Command(
            name.rpartition(" ")[2], name.replace(" ", ".") if verb is None else verb, takes,
            f"Example: holdfast {name} {example}".rstrip(), show, words,
            creates, settles, nothing, does, way, data, first,
        )  # fmt: skip

        def stub() -> None:
            """Stands for the command until it is called."""

        stub.whole = made.make  # type: ignore[attr-defined]
        app.command(made.name, help=made.help, epilog=made.example)(stub)
        return show

    return decorate


def group(about: str, example: str) -> typer.Typer:
    """A group of commands."""
    return typer.Typer(
        cls=CommandGroup, help=about, epilog=f"Example: {example}", no_args_is_help=True
    )


class CommandGroup(typer.core.TyperGroup):
    """Commands, of which those of verbs are made when they are called."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """The command that is meant."""
        name, found, rest = super().resolve_command(ctx, args)
        return name, whole(found), rest


def whole(command: Any) -> Any:
    """A command with all its options."""
    make = getattr(getattr(command, "callback", None), "whole", None)
    return command if make is None else make()


def _verb(name: str) -> Verb[..., object]:
    from holdfast.catalogue.verbs import BY_NAME  # noqa: PLC0415

    return BY_NAME[name]


def _own(name: str) -> Parameter:
    """An option that no verb has."""
    from holdfast.catalogue.verb import Kind, Parameter  # noqa: PLC0415

    return Parameter(name, name, Kind(), required=True)


class _Offered(NamedTuple):
    """A parameter of a verb as an option of a command."""

    name: str
    parameter: Parameter
    keyword: inspect.Parameter
    read: Callable[[Any], Any] | None = None

    def value(self, typed: Any) -> Any:
        """What the verb is given for what was typed."""
        if self.read is not None:
            return self.read(typed)
        return self.parameter.default if typed is None else typed


def _option(parameter: Parameter, name: str, words: str | Option | None) -> _Offered:
    if words is None and parameter.name in _SHARED:
        default = _REQUIRED if parameter.name == "user" else parameter.default
        return _Offered(name, parameter, _keyword(name, _SHARED[parameter.name], default))
    words = words or _USUAL[parameter.name]
    said = Option(words) if isinstance(words, str) else words
    flag, kind, read = "--" + name.replace("_", "-"), said.type or _type(parameter), said.read
    if read is None and "object" in parameter.kind.names:
        read = partial(_object, option=flag)
    default = said.default
    if default is _VERBS_OWN:
        default = _REQUIRED if parameter.required else parameter.default
    if default in (None, "", ()):
        kind, default = kind | None, None
    more: dict[str, Any] = {"metavar": said.metavar, "help": said.help, "min": said.least}
    if parameter.is_positional or said.is_argument:
        about = typer.Argument(**more)
    else:
        about = typer.Option(*((flag, said.short) if said.short else (flag,)), **more)
    return _Offered(name, parameter, _keyword(name, Annotated[kind, about], default), read)


def _object(typed: Sequence[str] | None, option: str) -> dict[str, str] | None:
    return pairs(typed, option) or None


def _keyword(name: str, kind: Any, default: Any) -> inspect.Parameter:
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, annotation=kind, default=default)


def _type(parameter: Parameter) -> Any:
    """What stands for a parameter in a shell."""
    names = parameter.kind.names - {"null"}
    if names & {"array", "object"}:
        return list[str]
    for name, kind in (("boolean", bool), ("string", str), ("number", float), ("integer", int)):
        if name in names:
            return kind
    return str
