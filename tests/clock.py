"""A clock for tests: no test depends on the date."""

from datetime import datetime


class Clock:
    """Stands still until a test sets it."""

    def __init__(self, start: datetime) -> None:
        self.now = start

    def __call__(self) -> datetime:
        return self.now
