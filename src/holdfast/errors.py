"""Every error a caller can meet, in one tree.

    HoldfastError
    ├── InvalidInput (also ValueError)   a value that breaks a rule; names the field and the limit
    │   ├── TooLarge                     a size over its limit
    │   └── ScopeError                   a scope word missing or malformed
    ├── NotFound (also LookupError)      no such id in this scope
    ├── Conflict                         an idempotency key used before with another body
    ├── ConfigError                      a setting that does not exist or has a wrong value
    ├── Closed                           the memory was closed
    ├── StoreError                       the file or database cannot do it
    │   ├── StoreBusy                    another process holds the store for too long
    │   │   └── Overtaken                another wrote meanwhile what was to stay as it was
    │   ├── StoreFull                    no space left on the disk
    │   ├── StoreReadOnly                the file or its folder cannot be written
    │   ├── NotAStore                    the file is no Holdfast database, or is damaged
    │   ├── DamagedRow                   a row of it cannot be read; doctor names it
    │   └── SchemaTooNew                 the file was written by a newer version
    ├── ServiceError                     the service behind an address failed (holdfast.client)
    │   ├── Denied                       it does not accept the key, or not for this
    │   └── Unavailable                  it cannot be reached just now; worth another try
    │       └── Throttled                it was asked too often
    └── ModelError                       an embedder or model failed or answered nonsense
        ├── Refused                      the endpoint does not accept the key or the account
        ├── Unreadable                   the model's answer cannot be read
        ├── Harmful                      a text ended the process that read it
        │   └── TookTooLong              reading it took longer than it may
        └── ModelUnavailable             it cannot be reached just now; worth another try
            └── NotAsked                 it is left alone for a while: nothing was sent
                └── OverBudget           what a day may cost is spent

The docstring of a class is its default message.
"""

from __future__ import annotations


class HoldfastError(Exception):
    """Something went wrong in Holdfast."""

    def __init__(self, message: str | None = None) -> None:
        super().__init__(message or (type(self).__doc__ or "").strip())


class InvalidInput(HoldfastError, ValueError):
    """A value is not acceptable."""

    def __init__(self, message: str | None = None, *, field: str = "") -> None:
        super().__init__(message)
        self.field = field


class TooLarge(InvalidInput):
    """A value is larger than its limit."""


class ScopeError(InvalidInput):
    """The scope is incomplete: name a user."""


class NotFound(HoldfastError, LookupError):
    """There is no such memory in this scope."""


class Conflict(HoldfastError):
    """This idempotency key was used before with another body."""


class ConfigError(HoldfastError):
    """A setting is wrong."""


class Closed(HoldfastError):
    """This memory is closed: open it again with holdfast.open()."""


class StoreError(HoldfastError):
    """The store failed."""


class StoreBusy(StoreError):
    """Another process holds the store; try again."""


class Overtaken(StoreBusy):
    """Another has written meanwhile: nothing was done; try again."""


class StoreFull(StoreError):
    """The disk is full: nothing was stored. Free some space and try again."""


class StoreReadOnly(StoreError):
    """The store cannot be written: check the permissions of the file and its folder."""


class NotAStore(StoreError):
    """The file is not a Holdfast database."""


class DamagedRow(StoreError):
    """A row of the store cannot be read: `holdfast doctor` names it, `--rebuild` sets it aside."""


class SchemaTooNew(StoreError):
    """The file was written by a newer version of Holdfast: upgrade Holdfast to open it."""


class ServiceError(HoldfastError):
    """The service failed."""


class Denied(ServiceError):
    """The service does not accept this key, or not for this."""


class Unavailable(ServiceError):
    """The service cannot be reached just now."""

    def __init__(self, message: str | None = None, *, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.retry_after = retry_after


class Throttled(Unavailable):
    """The service was asked too often."""


class ModelError(HoldfastError):
    """The model failed."""


class ModelUnavailable(ModelError):
    """The model cannot be reached just now."""

    def __init__(self, message: str | None = None, *, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.retry_after = retry_after


class NotAsked(ModelUnavailable):
    """The model is left alone for a while: nothing was sent, so nothing was tried."""


class OverBudget(NotAsked):
    """The budget of the day does not allow another call of the model."""


class Refused(ModelError):
    """The endpoint does not accept the key or the account."""


class Unreadable(ModelError):
    """The model's answer cannot be read."""


class Harmful(ModelError):
    """Reading it ended the process that reads."""


class TookTooLong(Harmful):
    """Reading it took too long."""
