"""What one look at the store has told: of several who follow the same feed within it, one asks."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from holdfast.store.protocols import Change, Feed, Head, Share, Sharing
from holdfast.types import Scope

Owner = tuple[str, str]


def owner_of(scope: Scope) -> Owner:
    """By what an owner is kept."""
    return scope.workspace, scope.user


class _Told:
    """What a look has told."""

    def __init__(self) -> None:
        self.heads: dict[Owner, Head] = {}
        #: By the feed that was asked, the owner, and after which change.
        self.changes: dict[tuple[int, Owner, int], Sequence[Change]] = {}


class _Look(threading.local):
    """The look of this thread; None: it is not looking."""

    told: _Told | None = None


_look = _Look()


@contextmanager
def one_look() -> Iterator[None]:
    """Within this block the head of an owner's feed, and what has changed, is asked for once: what
    follows it stands at least where the store stood when the block began."""
    before, _look.told = _look.told, _Told()
    try:
        yield
    finally:
        _look.told = before


def head_of(store: Feed, scope: Scope) -> Head:
    """The head of an owner's feed; within one look that of the first time."""
    if _look.told is None:
        return store.head(scope)
    owner = owner_of(scope)
    found = _look.told.heads.get(owner)
    if found is None:
        found = _look.told.heads[owner] = store.head(scope)
    return found


def first_look(
    store: Sharing, workspace: str, users: Sequence[str]
) -> tuple[list[Head], list[Share]]:
    """As `look` of a store; within one look what it tells of heads is not asked for again."""
    heads, shares = store.look(workspace, users)
    if _look.told is not None:
        owners = [(workspace, user) for user in users]
        told = _look.told.heads
        heads = [told.setdefault(*each) for each in zip(owners, heads, strict=True)]
    return heads, shares


def changes_of(store: Feed, scope: Scope, after: int) -> Sequence[Change]:
    """What has changed after a change number; within one look what it was the first time."""
    found = changes_told(store, scope, after)
    if found is None:
        found = store.changes(scope, after=after)
        if _look.told is not None:
            _look.told.changes[id(store), owner_of(scope), after] = found
    return found


def changes_told(feed: object, scope: Scope, after: int) -> Sequence[Change] | None:
    """The same, if this look has asked for it already."""
    if _look.told is None:
        return None
    return _look.told.changes.get((id(feed), owner_of(scope), after))
