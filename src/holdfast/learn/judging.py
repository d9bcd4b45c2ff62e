"""The judge of facts, asked and paid for as the extraction itself: one model, one purse."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from holdfast.config import Extraction as Settings
from holdfast.models.paid import Paid
from holdfast.records.facts.judge import LlmJudge
from holdfast.records.facts.opinion import Opinions
from holdfast.types import Scope

#: A group of turns waits for its judge no longer than this many timeouts of one call: no question
#: is asked when one of them is over, and the last one may take another.
PATIENCES = 2


def judging(model: Paid, settings: Settings) -> Callable[[Scope], Opinions] | None:
    """Makes the opinions on the facts of one group of turns; None when no judge is wanted."""
    if not settings.judge:
        return None

    def opinions(scope: Scope) -> Opinions:
        def ask(system: str, text: str, schema: Mapping[str, Any]) -> str:
            return model.ask(scope, system, text, schema=schema).text

        return Opinions(LlmJudge(ask), patience_s=settings.llm.timeout_seconds)

    return opinions
