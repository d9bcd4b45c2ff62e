"""What was said through the proxy is remembered when the answer is through, on threads of its own.

It neither delays nor fails a call: what cannot be stored is logged by its kind. A turn that is sent
again in the same hour is not stored again, because its key comes from the conversation itself: the
same words, with the same words before them. `close` waits for what is under way.
"""

from __future__ import annotations

import json
import logging
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import datetime
from hashlib import sha256
from typing import Any

from holdfast.errors import InvalidInput, StoreBusy
from holdfast.memory.memory import Memory
from holdfast.service.proxy.shape import Draft, Turn
from holdfast.types import Scope

log = logging.getLogger("holdfast.http")

_THREADS = 4
#: More than can wait when a store stands still: beyond it turns are dropped, and that is logged.
_MOST_WAITING = 1000
#: Of more turns at once that no answer stands between, the last so many.
_MOST_NEW = 100
_PAUSES = (0.5, 2.0, 8.0)
#: Before the keys of the proxy: no caller can send one that begins so.
_KEY = "\x01proxy:"


@dataclass(frozen=True, slots=True)
class Heard:
    """A call that was answered."""

    scope: Scope
    turns: Sequence[Turn]
    #: What else tells this conversation from another, such as the id of the answer before.
    thread: Sequence[object] = ()


class Keeper:
    """Remembers what was heard."""

    def __init__(self, memory: Memory, clock: Callable[[], datetime]) -> None:
        self._memory = memory
        self._clock = clock
        # One thread for all of a user: what was said first is stored first.
        self._threads = [
            ThreadPoolExecutor(1, thread_name_prefix="holdfast-proxy") for _ in range(_THREADS)
        ]
        self._waiting = threading.Semaphore(_MOST_WAITING)
        self._closing = threading.Event()

    def keep(self, heard: Heard, answer: Draft | None) -> None:
        """Remember the new turns of a call, and its answer if all of it came; returns at once."""
        if not self._waiting.acquire(blocking=False):
            log.error("a turn of the proxy was not remembered: too many are waiting")
            return
        whose = hash((heard.scope.workspace, heard.scope.user)) % _THREADS
        try:
            self._threads[whose].submit(self._kept, heard, answer)
        except RuntimeError:  # Closed: the service ends while this call was still under way.
            log.error("a turn of the proxy was not remembered: the service ended")

    def close(self) -> None:
        """Wait for what is under way, without further tries for what fails."""
        self._closing.set()
        for each in self._threads:
            each.shutdown()

    def _kept(self, heard: Heard, answer: Draft | None) -> None:
        try:
            self._remember(heard, answer)
        except Exception as error:  # noqa: BLE001 (nobody waits for it: the log is told)
            # Its kind alone: its text may quote what was said.
            log.error("a turn of the proxy was not remembered: %s", type(error).__name__)
        finally:
            self._waiting.release()

    def _remember(self, heard: Heard, answer: Draft | None) -> None:
        scope, hour = heard.scope, self._clock().strftime("%Y-%m-%dT%H")
        so_far = sha256(_plain([scope.agent, scope.session, heard.thread, hour]))
        for number, turn in enumerate(heard.turns):
            so_far.update(_plain([turn.role, turn.name, turn.text]))
            if turn.new and number >= len(heard.turns) - _MOST_NEW:
                self._stored(scope, turn.message(), so_far.hexdigest())
        text = "".join(answer.pieces) if answer else ""
        if answer and text.strip():
            so_far.update(_plain([answer.id, text]))
            self._stored(scope, {"role": "assistant", "content": text}, so_far.hexdigest())

    def _stored(self, scope: Scope, message: dict[str, Any], key: str) -> None:
        for pause in (*_PAUSES, None):
            try:
                self._memory.remember(
                    message, user=scope.user, workspace=scope.workspace, agent=scope.agent,
                    session=scope.session, key=_KEY + key,
                )  # fmt: skip
            except StoreBusy:
                if pause is None or self._closing.wait(pause):
                    raise
            except InvalidInput as error:  # A turn over a limit does not cost the others.
                log.error("a turn of the proxy was not remembered: %s", type(error).__name__)
                return
            else:
                return


def _plain(value: object) -> bytes:
    return json.dumps(value).encode() + b"\n"
