"""A judge's opinions, each asked for once: a plan that is made again does not ask again."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Sequence

from recollect.facts.judge import Judge, Verdict
from recollect.facts.reconcile import Known, New, Outcome

_MOST_KEPT = 1_024

_Asked = tuple[str, tuple[str, ...]]


class Opinions:
    """What a judge says of claims. Threads may share it."""

    def __init__(self, judge: Judge | None) -> None:
        self._judge = judge
        self._lock = threading.Lock()
        self._kept: OrderedDict[_Asked, Verdict | None] = OrderedDict()

    def of(self, new: New, known: Sequence[Known]) -> tuple[Outcome, float] | None:
        """The judge's opinion and how sure it is; None without a judge, or when it has none."""
        if self._judge is None:
            return None
        told = self._asked(self._judge, new, known)
        if told is None:
            return None
        targets = tuple(known[each].id for each in told.targets if each >= 0)
        return Outcome(told.action, "judged", targets), told.confidence

    def _asked(self, judge: Judge, new: New, known: Sequence[Known]) -> Verdict | None:
        key = (new.claim.text, tuple(each.id for each in known))
        with self._lock:
            if key in self._kept:
                return self._kept[key]
        told = judge.judge(new.claim.text, [each.claim.text for each in known])
        with self._lock:
            self._kept[key] = told
            while len(self._kept) > _MOST_KEPT:
                self._kept.popitem(last=False)
        return told
