"""Paying for calls of the model: nothing is sent that the budget of the day does not allow.

A call is charged durably before it is made, with the most it can take, and corrected when it is
over. A call that never comes back stays charged in full: neither a model that always times out nor
a process that dies in every call can spend more than the day allows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import date, datetime

from holdfast.errors import NotAsked, OverBudget, Refused
from holdfast.models.budget import Limit, Price, Size, broken, day_of, until_midnight
from holdfast.store.base import Spending
from holdfast.types import Scope


class Bill:
    """One call that was charged; who made it says what it took, if that is known."""

    def __init__(self) -> None:
        self.size: Size | None = None

    def took(self, size: Size) -> None:
        self.size = size


class Purse:
    """The budget of every scope, and who keeps account of it."""

    def __init__(
        self, account: Spending, *, limit: Limit, price: Price, clock: Callable[[], datetime]
    ) -> None:
        self._account = account
        self._limit = limit
        self._price = price
        self._clock = clock

    @contextmanager
    def paying(self, scope: Scope, most: Size) -> Iterator[Bill]:
        """Around one call that takes `most` at most; `OverBudget` when there is no money for it.

        The day it was charged to pays for it, also if it ends after midnight.
        """
        now = self._clock()
        day = day_of(now)
        spent = self._account.spent(scope, day)
        self._refuse(broken(spent, self._limit, ahead=most, price=self._price), now)
        self._add(scope, day, most, calls=1)
        # Others may have paid at the same moment: who breaks the limit steps back.
        if why := broken(self._account.spent(scope, day), self._limit):
            self._add(scope, day, _less(Size(), most), calls=-1)
            self._refuse(why, now)
        bill = Bill()
        try:
            yield bill
        except NotAsked:
            self._add(scope, day, _less(Size(), most), calls=-1)
            raise
        except Refused:  # Who is refused has been given nothing.
            bill.took(Size())
            raise
        finally:
            if bill.size is not None:
                self._add(scope, day, _less(bill.size, most))

    def _refuse(self, why: str, now: datetime) -> None:
        if why:
            wait = until_midnight(now).total_seconds()
            raise OverBudget(f"{why} allows no call before midnight UTC", retry_after=wait)

    def _add(self, scope: Scope, day: date, size: Size, *, calls: int = 0) -> None:
        self._account.charge(
            scope,
            day,
            calls=calls,
            prompt_tokens=size.prompt,
            answer_tokens=size.answer,
            cost=self._price.of(size),
        )


def _less(one: Size, other: Size) -> Size:
    return Size(one.prompt - other.prompt, one.answer - other.answer)
