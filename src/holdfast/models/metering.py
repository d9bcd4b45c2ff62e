"""Who pays for what a model is asked while somebody waits; set by the door where they came in."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from holdfast.models.base import Embedder

#: Takes the text that is to be sent; raises when it must not be.
Pay = Callable[[str], None]

_PAYING: ContextVar[Pay | None] = ContextVar("holdfast_paying", default=None)


@contextmanager
def paying(pay: Pay) -> Iterator[None]:
    """Around a request: what it makes a model do at once is paid so, on its threads too."""
    token = _PAYING.set(pay)
    try:
        yield
    finally:
        _PAYING.reset(token)


def pay_for(embedder: Embedder, text: str) -> None:
    """Pay before a text is sent to a model that costs; raises what the one who pays raises."""
    pay = _PAYING.get()
    if pay is not None and getattr(embedder, "is_remote", False):
        pay(text)
