"""Verbs as methods, typed once for two ways of calling: blocking, and awaitable.

`recall = remote(catalogue.RECALL)` has the parameters and the type of `Memory.recall`. On a part of
a `Client` it returns when it is answered, on one of an `AsyncClient` it is awaited.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from functools import partial, wraps
from types import MethodType
from typing import Any, Concatenate, Generic, ParamSpec, TypeVar, overload

from holdfast.catalogue.verb import Verb
from holdfast.client.asking import ServiceCaller

P = ParamSpec("P")
R = TypeVar("R")

#: Calls that an AsyncClient may have under way; others wait for their turn.
_THREADS = 32


class Calls:
    """How functions of an asker are called."""

    def __init__(self, asker: ServiceCaller) -> None:
        self.asker = asker


class Blocking(Calls):
    """Calls return when they are answered."""

    def run(self, function: Callable[..., R], *args: Any, **kwargs: Any) -> R:
        """Call a function of an asker."""
        return function(self.asker, *args, **kwargs)


class Awaiting(Calls):
    """Calls are awaited: the same functions, each on a thread, so that no loop waits for them."""

    def __init__(self, asker: ServiceCaller) -> None:
        super().__init__(asker)
        self.threads = ThreadPoolExecutor(_THREADS, thread_name_prefix="holdfast-client")

    async def run(self, function: Callable[..., R], *args: Any, **kwargs: Any) -> R:
        """Call a function of an asker."""
        call = partial(function, self.asker, *args, **kwargs)
        return await asyncio.get_running_loop().run_in_executor(self.threads, call)


Way = TypeVar("Way", bound=Calls)


class VerbGroup(Generic[Way]):
    """Some verbs, and the way to call them."""

    def __init__(self, way: Way) -> None:
        self._way = way


class Remote(Generic[P, R]):
    """A verb as a method. Made with `remote` or `by`."""

    def __init__(self, like: Callable[..., Any], function: Callable[..., Any]) -> None:
        @wraps(like)
        def method(part: VerbGroup[Any], *args: Any, **kwargs: Any) -> Any:
            return part._way.run(function, *args, **kwargs)

        self._method = method

    @overload
    def __get__(self, part: None, owner: type) -> Callable[..., Any]: ...
    @overload
    def __get__(self, part: VerbGroup[Blocking], owner: type) -> Callable[P, R]: ...
    @overload
    def __get__(
        self, part: VerbGroup[Awaiting], owner: type
    ) -> Callable[P, Coroutine[Any, Any, R]]: ...
    def __get__(self, part: VerbGroup[Any] | None, owner: type) -> Callable[..., Any]:
        return self._method if part is None else MethodType(self._method, part)


def remote(verb: Verb[P, R]) -> Remote[P, R]:
    """A verb of the catalogue."""

    def function(asker: ServiceCaller, *args: Any, **kwargs: Any) -> R:
        return asker.ask(verb, *args, **kwargs)

    return Remote(verb.function, function)


def by(
    like: Callable[Concatenate[Any, P], R], function: Callable[Concatenate[ServiceCaller, P], R]
) -> Remote[P, R]:
    """A verb that takes more than one request: called as `like`, done by `function`."""
    return Remote(like, function)
