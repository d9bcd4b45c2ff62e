"""What language models may take of one key in a day of UTC: tokens, and what these cost.

The smaller of the key's own limit and the service's counts. What a call sends is charged to the key
on disk before it is made, and what it really took afterwards, so a restart forgets nothing. One
thread keeps the account, in order: an answer is counted before the next call is looked at.
"""

from __future__ import annotations

import asyncio
import logging
import math
from collections import Counter
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from datetime import date, datetime

from recollect.errors import Closed, StoreError, Throttled
from recollect.extract.budget import Limit, Price, Size, broken, day_of, until_midnight
from recollect.memory import Memory
from recollect.store.base import Spent
from recollect.tokens import count_tokens
from recollect.types import ApiKey

log = logging.getLogger("recollect.http")


class Charge:
    """One call that was charged to a key; who made it says what it took, once."""

    def __init__(self, allowance: Allowance, key_id: str, day: date, *, ahead: Size) -> None:
        self._allowance = allowance
        self._key_id = key_id
        self._day = day
        #: What stands in the account already; nothing of a key without a limit.
        self._ahead = ahead
        self._open = True

    def settle(self, took: Size | None) -> None:
        """Correct the account, without waiting; None: nothing was sent."""
        if self._open:
            self._open = False
            self._allowance._settle(self._key_id, self._day, self._ahead, took)


class Allowance:
    """The accounts of all keys of a store."""

    def __init__(self, memory: Memory, clock: Callable[[], datetime]) -> None:
        service, proxy = memory.config.service, memory.config.proxy
        self._store = memory.store
        self._clock = clock
        self._tokens = service.daily_tokens or None
        self._cost = service.daily_cost or None
        self._price = Price(proxy.prompt_price, proxy.answer_price)
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="recollect-spend")
        #: What a store that was busy did not take: (key, day, kind) -> how much.
        self._owed: Counter[tuple[str, date, str]] = Counter()
        #: Calls that were refused since the service began.
        self.refused = 0

    def limit_of(self, key: ApiKey) -> Limit:
        """What a key may take in a day."""
        both = [each for each in (key.tokens_a_day, self._tokens) if each is not None]
        return Limit(tokens=min(both, default=None), cost=self._cost)

    async def charge(self, key: ApiKey, ahead: Size) -> Charge:
        """Charge what a call will send at least; Throttled when there is nothing left for it."""
        return await asyncio.wrap_future(self._begun(key, ahead))

    def question(self, key: ApiKey, text: str) -> None:
        """Charge a question that is embedded elsewhere; on a worker thread."""
        size = Size(max(1, count_tokens(text)))
        self._begun(key, size).result().settle(size)

    def close(self) -> None:
        """Wait until everything is in the account."""
        self._thread.shutdown()

    def _begun(self, key: ApiKey, ahead: Size) -> Future[Charge]:
        limit = self.limit_of(key)
        try:
            if limit == Limit():
                done: Future[Charge] = Future()
                done.set_result(Charge(self, key.id, day_of(self._clock()), ahead=Size()))
                return done
            return self._thread.submit(self._begin, key.id, limit, ahead)
        except RuntimeError as error:  # It was closed.
            raise Closed("the service is stopping") from error

    def _begin(self, key_id: str, limit: Limit, ahead: Size) -> Charge:
        now = self._clock()
        day = day_of(now)
        self._refuse(key_id, now, limit, ahead)
        self._add(key_id, day, ahead, calls=1)
        try:  # Another process may have charged at the same moment: who goes over steps back.
            self._refuse(key_id, now, limit, None)
        except Throttled:
            self._add(key_id, day, _less(Size(), ahead), calls=-1)
            raise
        return Charge(self, key_id, day, ahead=ahead)

    def _refuse(self, key_id: str, now: datetime, limit: Limit, ahead: Size | None) -> None:
        spent = self._store.spent_by_keys(day_of(now), only=key_id).get(key_id, Spent())
        if not broken(spent, limit, ahead=ahead, price=self._price):
            return
        self.refused += 1
        seconds = max(1, math.ceil(until_midnight(now).total_seconds()))
        raise Throttled(_words(spent, limit, ahead, seconds), retry_after=seconds)

    def _settle(self, key_id: str, day: date, ahead: Size, took: Size | None) -> None:
        was_charged = ahead != Size()
        calls = (took is not None) - was_charged
        more = _less(took or Size(), ahead)
        try:
            self._thread.submit(self._settled, key_id, day, more, calls)
        except RuntimeError:
            log.error("what a model took was not counted: the service ended")

    def _settled(self, key_id: str, day: date, more: Size, calls: int) -> None:
        try:
            self._add(key_id, day, more, calls=calls)
        except (StoreError, Closed) as error:  # It is counted with the next one.
            log.error("what a model took is not counted yet: %s", type(error).__name__)

    def _add(self, key_id: str, day: date, more: Size, *, calls: int) -> None:
        """On the thread of the account alone."""
        sums = {"calls": calls, "prompt": more.prompt, "answer": more.answer}
        for kind in sums:
            sums[kind] += self._owed.pop((key_id, day, kind), 0)
        size = Size(sums["prompt"], sums["answer"])
        try:
            self._store.charge_key(
                key_id,
                day,
                calls=sums["calls"],
                prompt_tokens=size.prompt,
                answer_tokens=size.answer,
                cost=self._price.of(size),
            )
        except (StoreError, Closed):
            for kind, value in sums.items():
                self._owed[key_id, day, kind] = value
            raise


def _words(spent: Spent, limit: Limit, ahead: Size | None, seconds: int) -> str:
    used = spent.tokens
    need = (ahead.prompt + ahead.answer) if ahead else 0
    if limit.tokens is not None and used + need > limit.tokens:
        allowed, have = f"{limit.tokens} tokens", f"{used} are used"
        left = f", and this call needs about {need}" if used < limit.tokens else ""
    else:
        allowed, have, left = f"{limit.cost:g} of cost", f"{spent.cost:.6g} is spent", ""
    return (
        f"language models may take {allowed} a day of this key, {have}{left}: try again after"
        f" midnight UTC, in {seconds} s"
    )


def _less(one: Size, other: Size) -> Size:
    return Size(one.prompt - other.prompt, one.answer - other.answer)
