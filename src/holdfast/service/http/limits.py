"""Limits of the service: rates, concurrency, backpressure of the queue, LLM quotas of keys.

Counted on the event loop alone, so without locks; in this process alone, but for rates, which
several processes of one service count together.
"""

from __future__ import annotations

import asyncio
import logging
import math
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from datetime import date, datetime
from typing import ParamSpec, TypeVar

from anyio import CapacityLimiter
from anyio.lowlevel import RunVar
from anyio.to_thread import run_sync
from fastapi import HTTPException

from holdfast.errors import Closed, StoreError, Throttled
from holdfast.language.tokens import count_tokens
from holdfast.memory.memory import Memory
from holdfast.models.budget import Limit, Price, Size, broken, day_of, until_midnight
from holdfast.service.http.processes import Board, Bucket
from holdfast.store.protocols import Spent, Store
from holdfast.types import ApiKey

# Short reads that everybody waits for: which key this is, how the service is.
#
# They have threads of their own: however many requests keep the others busy, these are answered.

P = ParamSpec("P")
T = TypeVar("T")

_THREADS = 8
#: One for each event loop, as the limiter of all others is.
_limiter: RunVar[CapacityLimiter] = RunVar("holdfast_aside")


async def on_reserved_thread(work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Run a short call on a small pool of threads that long requests cannot use up."""
    limiter = _limiter.get(None)
    if limiter is None:
        limiter = CapacityLimiter(_THREADS)
        _limiter.set(limiter)
    return await run_sync(lambda: work(*args, **kwargs), limiter=limiter)


# What language models may take of one key in a day of UTC: tokens, and what these cost.
#
# The smaller of the key's own limit and the service's counts. What a call sends is charged to the
# key on disk before it is made, and what it really took afterwards, so a restart forgets nothing.
# Without any limit nothing is written before the call, and what it took a moment after it,
# together with others. One thread keeps the account, in order: an answer is counted before the
# next call is looked at.

log = logging.getLogger("holdfast.http")

#: What a call took, or what tells it, on the thread of the account.
Took = Size | Callable[[], Size]

#: What is counted for keys without a limit is gathered so long.
_SOON_S = 1.0
#: Of a key whose limit no token reaches, such as one of cost where nothing has a price.
_MOST_ROOM = 1_000_000_000


class Charge:
    """One call that was charged to a key; whoever made it settles what it took, once."""

    def __init__(self, quota: LlmQuota, key_id: str, day: date, *, ahead: Size) -> None:
        self._quota = quota
        self._key_id = key_id
        self._day = day
        #: What stands in the account already; nothing of a key without a limit.
        self._ahead = ahead
        self._open = True

    def settle(self, took: Took | None) -> None:
        """Correct the account, without waiting; None: nothing was sent."""
        if self._open:
            self._open = False
            self._quota._settle(self._key_id, self._day, self._ahead, took)


class LlmQuota:
    """Daily quotas of keys: charged on disk before a call, corrected after it."""

    def __init__(self, memory: Memory, clock: Callable[[], datetime]) -> None:
        service, proxy = memory.config.service, memory.config.proxy
        self._store = memory.store
        self._clock = clock
        self._tokens = service.daily_tokens or None
        self._cost = service.daily_cost or None
        self._price = Price(proxy.prompt_price, proxy.answer_price)
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="holdfast-spend")
        #: Calls and tokens that are not written yet: no hurry, or the store was busy.
        self._owed: dict[tuple[str, date], tuple[int, Size]] = {}
        self._timer: threading.Timer | None = None
        #: Calls that were refused since the service began.
        self.refused = 0

    def limit_of(self, key: ApiKey) -> Limit:
        """What a key may take in a day."""
        both = [each for each in (key.tokens_a_day, self._tokens) if each is not None]
        return Limit(tokens=min(both, default=None), cost=self._cost)

    async def room(self, key: ApiKey, ahead: Size) -> int:
        """How many tokens a key with a limit may send besides these; nothing is charged yet.
        Throttled when not even these are left."""
        return await asyncio.wrap_future(self._submit(self._room, key, ahead))

    async def charge(self, key: ApiKey, ahead: Size) -> Charge:
        """Charge what a call of a key with a limit sends; Throttled when too little is left."""
        return await asyncio.wrap_future(self._submit(self._begin, key, ahead))

    def uncharged(self, key: ApiKey) -> Charge:
        """For a call of a key without a limit: nothing is written before it is over."""
        return Charge(self, key.id, day_of(self._clock()), ahead=Size())

    def question(self, key: ApiKey, text: str) -> None:
        """Charge a question that is embedded elsewhere; on a worker thread."""
        size = Size(max(1, count_tokens(text)))
        if self.limit_of(key) == Limit():
            self.uncharged(key).settle(size)
        else:
            self._submit(self._begin, key, size).result().settle(size)

    def close(self) -> None:
        """Wait until everything is in the account."""
        self._thread.shutdown()
        self._write_all()

    def _submit(self, work: Callable[[str, Limit, Size], T], key: ApiKey, ahead: Size) -> Future[T]:
        try:
            return self._thread.submit(work, key.id, self.limit_of(key), ahead)
        except RuntimeError as error:  # It was closed.
            raise Closed("the service is stopping") from error

    def _room(self, key_id: str, limit: Limit, ahead: Size) -> int:
        spent = self._refuse(key_id, self._clock(), limit, ahead)
        left = [] if limit.tokens is None else [limit.tokens - spent.tokens - sum(ahead)]
        if limit.cost is not None and self._price.prompt:
            cost = limit.cost - spent.cost - self._price.of(ahead)
            left.append(int(cost / self._price.of(Size(1))))
        return max(0, min(left, default=_MOST_ROOM))

    def _begin(self, key_id: str, limit: Limit, ahead: Size) -> Charge:
        now = self._clock()
        day = day_of(now)
        self._refuse(key_id, now, limit, ahead)
        self._add(key_id, day, ahead, calls=1)
        try:  # Another process may have charged at the same moment: who goes over steps back.
            self._refuse(key_id, now, limit, None)
        except Throttled:
            self._correct(key_id, day, ahead, None)
            raise
        return Charge(self, key_id, day, ahead=ahead)

    def _refuse(self, key_id: str, now: datetime, limit: Limit, ahead: Size | None) -> Spent:
        spent = self._store.spent(key_id, day_of(now))
        if not broken(spent, limit, ahead=ahead, price=self._price):
            return spent
        self.refused += 1
        seconds = max(1, math.ceil(until_midnight(now).total_seconds()))
        raise Throttled(_words(spent, limit, ahead, seconds), retry_after=seconds)

    def _settle(self, key_id: str, day: date, ahead: Size, took: Took | None) -> None:
        try:
            self._thread.submit(self._correct, key_id, day, ahead, took)
        except RuntimeError:
            log.error("what a model took was not counted: the service ended")

    def _correct(self, key_id: str, day: date, ahead: Size, took: Took | None) -> None:
        """Correct the account: at once where there is a limit, and otherwise soon."""
        was_charged = ahead != Size()
        calls = (took is not None) - was_charged
        more = ((took() if callable(took) else took) or Size()).minus(ahead)
        owed_calls, owed = self._owed.get((key_id, day), (0, Size()))
        self._owed[key_id, day] = (owed_calls + calls, owed.plus(more))
        if was_charged:
            self._write(key_id, day)
        elif self._timer is None:
            self._timer = threading.Timer(_SOON_S, self._write_soon)
            self._timer.daemon = True
            self._timer.start()

    def _write_soon(self) -> None:
        with suppress(RuntimeError):  # It was closed, and wrote everything.
            self._thread.submit(self._write_all)

    def _write_all(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        for key_id, day in list(self._owed):
            self._write(key_id, day)

    def _write(self, key_id: str, day: date) -> None:
        """Write what is owed; what a busy store does not take is written with the next."""
        try:
            self._add(key_id, day, Size(), calls=0)
        except (StoreError, Closed) as error:
            log.error("what a model took is not counted yet: %s", type(error).__name__)

    def _add(self, key_id: str, day: date, more: Size, *, calls: int) -> None:
        """Add to the account, with what is owed; on the thread of the account alone."""
        owed_calls, owed = self._owed.get((key_id, day), (0, Size()))
        calls, size = calls + owed_calls, more.plus(owed)
        if calls or any(size):
            self._store.charge(
                key_id, day, calls=calls, prompt_tokens=size.prompt, answer_tokens=size.answer,
                cost=self._price.of(size),
            )  # fmt: skip
        self._owed.pop((key_id, day), None)


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


Timer = Callable[[], float]

_LOOK_AGAIN_SECONDS = 1.0
_QUEUE_RETRY_SECONDS = "5"
_PLACE_RETRY_SECONDS = "1"


class Buckets:
    """The token buckets of this process; those of several are on a `Board`."""

    def __init__(self) -> None:
        self._held: dict[str, Bucket] = {}

    def change(self, who: str, step: Callable[[Bucket | None], Bucket]) -> None:
        """Put another bucket in the place of one; `step` is given what is there."""
        self._held[who] = step(self._held.get(who))


class RateLimit:
    """A token bucket for each name: so many a minute. On a board, of all processes together; there
    `of` tells the names of one limit from those of another."""

    def __init__(
        self,
        per_minute: int,
        *,
        timer: Timer = time.monotonic,
        buckets: Board | None = None,
        of: str = "",
    ) -> None:
        self.per_minute = per_minute
        self._timer = timer
        self._buckets = Buckets() if buckets is None else buckets
        self._of = of

    def wait(self, who: str) -> float:
        """Take one; 0, or the seconds until there is one to be had."""
        if not self.per_minute:
            return 0.0
        most, pace, seconds = float(self.per_minute), self.per_minute / 60, 0.0

        def take(before: Bucket | None) -> Bucket:
            nonlocal seconds
            now = self._timer()
            left, at = before or (most, now)
            left = min(most, left + max(0.0, now - at) * pace)
            taken = left >= 1
            seconds = 0.0 if taken else (1 - left) / pace
            return left - taken, max(now, at)

        self._buckets.change(self._of + who, take)
        return seconds

    def check(self, who: str) -> None:
        """Take one, or refuse with the numbers."""
        if seconds := self.wait(who):
            retry = str(max(1, math.ceil(seconds)))
            words = f"this key may make {self.per_minute} requests a minute: try again in {retry} s"
            raise HTTPException(429, words, headers={"retry-after": retry})


class ConcurrencyLimit:
    """So many at one time for each name; `words` are the refusal, with the number."""

    def __init__(self, most: int, words: str, *, status: int = 429) -> None:
        self._most = most
        self._words = words.format(most=most)
        self._status = status
        self._taken: Counter[str] = Counter()

    @contextmanager
    def taken(self, who: str = "") -> Iterator[None]:
        """Hold one, or refuse."""
        if self._taken[who] >= self._most:
            retry = {"retry-after": _PLACE_RETRY_SECONDS}
            raise HTTPException(self._status, self._words, headers=retry)
        self._taken[who] += 1
        try:
            yield
        finally:
            self._taken[who] -= 1
            if not self._taken[who]:
                del self._taken[who]


class Backlog:
    """Backpressure: with too many jobs waiting nothing more is stored; looked at once a second."""

    def __init__(self, store: Store, most: int, *, timer: Timer = time.monotonic) -> None:
        self._store = store
        self._most = most
        self._timer = timer
        self._next = -math.inf
        self._waiting = 0

    async def look(self) -> None:
        """Count what waits, unless that was done a moment ago."""
        if self._most and self._timer() >= self._next:
            # Before the read: of many requests one goes and looks.
            self._next = self._timer() + _LOOK_AGAIN_SECONDS
            self._waiting = (await on_reserved_thread(self._store.counts)).ready

    def check(self) -> None:
        """Refuse what would make it longer."""
        if self._most and self._waiting > self._most:
            words = f"{self._waiting} jobs are waiting, the limit is {self._most}: try again later"
            raise HTTPException(429, words, headers={"retry-after": _QUEUE_RETRY_SECONDS})
