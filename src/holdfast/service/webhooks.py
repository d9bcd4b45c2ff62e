"""Webhooks: signed, at-least-once delivery of what happens to memories.

How far each user's happenings were told is on disk, and moves on only when the receiver has
answered 2xx. A receiver that fails is called again after pauses that double up to an hour; after a
day without an answer it is disabled, and says why. Each is called by a thread of its own, one call
at a time, so that a slow one delays nobody; of several processes one calls (`put_hook`).
"""

from __future__ import annotations

import hashlib
import hmac
import logging
import random
import secrets
import threading
import time
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from http.client import HTTPException
from typing import Any, Self

import orjson

from holdfast.errors import Closed, HoldfastError, InvalidInput
from holdfast.memory.memory import Memory
from holdfast.service.outgoing import request
from holdfast.store.protocols import Store
from holdfast.store.values import Happened, Mark, News, Webhook
from holdfast.types import TEAM, Scope

# What is told of what happens: one shape for the event stream and for webhooks.
#
# `{"type": "memory.stored", "id": ..., "tier": ..., "kind": ..., "action": ..., "at": ...}`:
# which memory and what became of it, never what it says. Who may read it asks for it by its id.

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
#: What may become of a memory; see docs/howto/webhooks.md.
ACTIONS = (
    "stored", "changed", "confirmed", "superseded", "invalidated", "reopened", "forgotten",
    "restored", "archived", "unarchived", "used", "praised", "blamed",
)  # fmt: skip
NAMES = frozenset(f"{noun}.{action}" for noun in ("memory", "fact") for action in ACTIONS)
#: Told by streams alone: no number counts it, so nobody can be told later what was missed.
BURIED = "job.dead"
_MOST_NAMES = 64


def name_of(happened: Happened) -> str:
    """Facts have names of their own: who keeps facts elsewhere wants nothing else."""
    return f"{'fact' if happened.tier == 'fact' else 'memory'}.{happened.action}"


def event(happened: Happened) -> dict[str, Any]:
    """One happening as it travels."""
    return {
        "type": name_of(happened),
        "id": happened.id,
        "tier": happened.tier,
        "kind": happened.kind,
        "action": happened.action,
        "at": moment(happened.at_us),
        "change": happened.change,
    }


def moment(at_us: int) -> str:
    """A time as it travels."""
    return (_EPOCH + timedelta(microseconds=at_us)).isoformat().replace("+00:00", "Z")


def microseconds(at: datetime) -> int:
    """Since 1970."""
    return (at - _EPOCH) // timedelta(microseconds=1)


def news_after(
    store: Store, scope: Scope, begin: Mark, stand: Mark, *, limit: int
) -> tuple[Mark, list[Happened], Mark]:
    """What happened to a user after a mark; `stand` is where the feed is. After which mark, what,
    and up to which: with as many as `limit` there may be more, and the next time goes on there."""
    if begin.change > stand.change:  # Erased: the count begins anew.
        begin = Mark(stand.epoch, 0, begin.at_us)
    batch = store.happenings(scope, after=begin, limit=limit)
    last = batch[-1].change if batch else 0
    if len(batch) >= limit:
        return begin, batch, Mark(stand.epoch, last, begin.at_us)
    # More may have come since somebody looked where it stands.
    return begin, batch, stand._replace(change=max(stand.change, last))


def is_wanted(happened: Happened, names: Collection[str]) -> bool:
    """Whether somebody who asked for these names is told; no names are all of them."""
    return not names or name_of(happened) in names


def checked_names(names: Iterable[object], *, also: str = "") -> tuple[str, ...]:
    """Names of events that somebody asks for: `fact.superseded`, or `fact.*` for all of a noun."""
    field = "events"
    found: list[str] = []
    for name in list(names)[: _MOST_NAMES + 1]:
        if name in ("memory.*", "fact.*"):
            found += sorted(each for each in NAMES if each.startswith(str(name)[:-1]))
        elif isinstance(name, str) and (name in NAMES or name == also):
            found.append(name)
        else:
            raise InvalidInput(
                f"{field}: there is no event {str(name)[:64]!r}; there are memory.stored,"
                " memory.forgotten, fact.superseded and others: see docs/howto/webhooks.md",
                field=field,
            )
    return tuple(dict.fromkeys(found))


log = logging.getLogger("holdfast.webhooks")

_LOOK_SECONDS = 1.0
_PAUSE_SECONDS = 5.0
_LONGEST_PAUSE_SECONDS = 3600.0
_GIVE_UP = timedelta(hours=24)
#: Who calls has a webhook for itself for so long, and goes on no longer than that.
_LEASE = timedelta(seconds=60)
_SLICE_SECONDS = 20.0
_AT_ONCE = 200
_THREADS = 8
#: A stop waits so long for the calls under way; what they tell is told again.
_STOP_SECONDS = 2.0
_GONE = 410


@dataclass(slots=True)
class Counts:
    """What was sent since the process began."""

    delivered: int = 0
    failed: int = 0


class Sender:
    """Delivers to the webhooks of a memory: a thread that looks, and one for each call."""

    def __init__(self, memory: Memory) -> None:
        self._memory = memory
        self._stop = threading.Event()
        self._slots = threading.BoundedSemaphore(_THREADS)
        self._busy: dict[str, threading.Thread] = {}
        self._lock = threading.Lock()
        self._thread = threading.Thread(target=self._run, name="holdfast-webhooks", daemon=True)
        self.counts = Counts()

    def __enter__(self) -> Self:
        if self._memory.config.outgoing.webhooks:
            self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        deadline = time.monotonic() + _STOP_SECONDS
        with self._lock:
            threads = [self._thread, *self._busy.values()]
        for thread in threads:
            if thread.ident is not None:
                thread.join(max(0.0, deadline - time.monotonic()))

    def _run(self) -> None:
        while not self._stop.wait(_LOOK_SECONDS):
            try:
                self.look()
            except Closed:
                return
            except HoldfastError as error:
                log.warning("webhooks: %s", type(error).__name__)

    def look(self) -> None:
        """Begin to call every receiver that is due and was not told everything."""
        now = self._memory.now()
        for hook in self._memory.store.hooks():
            if not _is_due(hook, now) or hook.id in self._busy:
                continue
            if not self._memory.store.news(hook.id, limit=1):
                continue
            if not self._slots.acquire(blocking=False):
                return
            thread = threading.Thread(
                target=self._call, args=[hook.id], name="holdfast-webhook", daemon=True
            )
            with self._lock:
                self._busy[hook.id] = thread
            thread.start()

    def _call(self, id: str) -> None:
        try:
            self.deliver(id)
        except Closed:
            pass
        except HoldfastError as error:
            # The lease runs out, and it is tried again.
            log.warning("webhook %s: %s", id, type(error).__name__)
        finally:
            with self._lock:
                self._busy.pop(id, None)
            self._slots.release()

    def deliver(self, id: str) -> bool:
        """Tell one receiver what it was not told; False when it was not its turn or it failed."""
        hook = self._claimed(id)
        if hook is None:
            return False
        ends, more = time.monotonic() + _SLICE_SECONDS, True
        while more and not self._stop.is_set() and time.monotonic() < ends:
            more = False
            for news in self._memory.store.news(id):
                error, full = self._tell(hook, news)
                if error:
                    self.counts.failed += 1
                    after = after_failure(hook, error, self._memory.now())
                    self._memory.store.put_hook(after, was=hook)
                    log.warning("webhook %s: attempt %d failed: %s", id, after.failures, error)
                    return False
                more = more or full
                if self._stop.is_set() or time.monotonic() > ends:
                    break
        self._memory.store.put_hook(after_success(hook), was=hook)
        return True

    def _claimed(self, id: str) -> Webhook | None:
        """A webhook that is due, so that nobody else calls it meanwhile."""
        now = self._memory.now()
        for hook in self._memory.store.hooks():
            if hook.id == id and _is_due(hook, now):
                mine = replace(hook, due=now + _LEASE)
                return mine if self._memory.store.put_hook(mine, was=hook) else None
        return None

    def _tell(self, hook: Webhook, news: News) -> tuple[str, bool]:
        """One batch of what happened to one user: the error, and whether there is more."""
        store, scope = self._memory.store, news.scope
        at_us, head = microseconds(self._memory.now()), store.head(scope)
        stand = Mark(head.epoch, head.change, at_us)
        begin = news.told or Mark(head.epoch, 0, 0)
        begin, batch, mark = news_after(store, scope, begin, stand, limit=_AT_ONCE)
        chosen = [event(each) for each in batch if is_wanted(each, hook.events)]
        if chosen:
            name = f"{hook.id} {begin.epoch} {begin.change} {batch[-1].change}"
            # What a whole workspace shares is nobody's.
            user = None if scope.user == TEAM else scope.user
            body = {"workspace_id": scope.workspace, "user_id": user, "events": chosen}
            error = self.send(hook, name, body)
            if error:
                return error, False
            self.counts.delivered += 1
        store.set_mark(hook.id, scope, mark)
        return "", len(batch) >= _AT_ONCE

    def send(self, hook: Webhook, name: str, body: Mapping[str, Any]) -> str:
        """One signed call; why it failed, or "". The name of a delivery tells a retry from news."""
        delivery = hashlib.sha256(name.encode()).hexdigest()[:32]
        data = orjson.dumps({"delivery": delivery, "webhook": hook.id, **body})
        headers = {
            "content-type": "application/json",
            "user-agent": "holdfast",
            "x-holdfast-delivery": delivery,
            "x-holdfast-signature": signature(hook.secret, data, self._memory.now()),
        }
        try:
            answer = request(
                "POST", hook.url, body=data, headers=headers, config=self._memory.config
            )
        except InvalidInput as error:  # Our own words: nothing that was read there.
            return str(error)
        except (HoldfastError, OSError, HTTPException) as error:
            return type(error).__name__
        return "" if 200 <= answer.status < 300 else f"HTTP {answer.status}"


def signature(secret: bytes, body: bytes, at: datetime) -> str:
    """The HMAC by which the receiver knows that a body is ours, and of now."""
    moment = int(at.timestamp())
    digest = hmac.new(secret, b"%d." % moment + body, hashlib.sha256).hexdigest()
    return f"t={moment},v1={digest}"


def new_secret() -> str:
    """What signs the deliveries of one webhook: 256 random bits."""
    return "whsec_" + secrets.token_urlsafe(32)


def after_failure(hook: Webhook, error: str, now: datetime) -> Webhook:
    """The webhook after a failed delivery: exponential backoff, disabled after a day."""
    since = hook.failing_since or now
    failures = hook.failures + 1
    doubled = _PAUSE_SECONDS * 2.0 ** min(failures - 1, 20)
    pause = min(_LONGEST_PAUSE_SECONDS, doubled) * random.uniform(0.5, 1.0)
    is_over = now - since >= _GIVE_UP or error == f"HTTP {_GONE}"
    return replace(
        hook,
        failures=failures,
        failing_since=since,
        due=now + timedelta(seconds=pause),
        error=f"{error}; given up" if is_over else error,
        disabled_at=now if is_over else None,
    )


def after_success(hook: Webhook) -> Webhook:
    """The webhook after a delivery that got through."""
    return replace(hook, failures=0, failing_since=None, due=None, error=None, disabled_at=None)


def _is_due(hook: Webhook, now: datetime) -> bool:
    if hook.disabled_at is not None:
        return False
    # Later than a day from now: of a clock that ran ahead.
    return hook.due is None or hook.due <= now or hook.due > now + timedelta(days=1)
