"""Extraction by a language model: one group of turns, one call, drafts or an error.

    NotAsked, OverBudget   nothing was sent: the group has not been tried; wait `retry_after`
    ModelUnavailable       it may work later
    Refused                the key or the account: an operator must act, then it works
    Unreadable, ModelError the answer or the request is no good; another try may do better

Nothing that the model writes raises anything else, and nothing that it writes reaches what it was
not shown; see `drafts`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime

from holdfast.config import Extraction as Settings
from holdfast.errors import Unreadable
from holdfast.learn.drafts_from_llm import Drafted, drafted
from holdfast.learn.llm.answer import ExtractedAnswer, parse_answer
from holdfast.learn.llm.prompt import (
    MAX_TOKENS,
    MAX_TURNS,
    ExtractionPrompt,
    KnownEntity,
    build,
    groups,
)
from holdfast.models.base import Generated, Generator
from holdfast.models.breaker import Breaker
from holdfast.models.budget import Limit, Paid, Price, Purse
from holdfast.store.protocols import Spending
from holdfast.types import Event, Scope


class LlmExtractor:
    """Asks a model; several threads may share it."""

    def __init__(
        self,
        generator: Generator,
        *,
        breaker: Breaker,
        purse: Purse,
        max_group_turns: int = MAX_TURNS,
        max_group_tokens: int = MAX_TOKENS,
    ) -> None:
        #: For whoever else has a question to it: the same purse, the same breaker.
        self.model = Paid(generator, breaker, purse)
        self._max_turns = max_group_turns
        self._max_tokens = max_group_tokens

    def groups(self, turns: Sequence[Event]) -> list[list[Event]]:
        """The turns in groups that fit one call each, in order; none is left out."""
        return groups(turns, max_turns=self._max_turns, max_tokens=self._max_tokens)

    def extract(
        self,
        scope: Scope,
        turns: Sequence[Event],
        *,
        user: str,
        earlier: Sequence[Event] = (),
        known: Sequence[KnownEntity] = (),
    ) -> Drafted:
        """What one of the `groups` says; one call at most.

        `user` is the name of the user's own entity; `earlier` and `known` help to understand.
        """
        if not turns:
            return Drafted()
        self.model.breaker.check()  # Before anything is built or charged.
        prompt = build(
            turns,
            earlier=earlier,
            known=known,
            max_turns=self._max_turns,
            max_tokens=self._max_tokens,
        )
        generated = self.model.ask(scope, prompt.system, prompt.text, schema=prompt.schema)
        read = drafted(prompt, _parse(generated, prompt), user=user)
        return replace(read, usage=generated.usage)


def asking(
    generator: Generator, account: Spending, settings: Settings, clock: Callable[[], datetime]
) -> LlmExtractor:
    """An extractor that asks this model within the budget and the sizes of the settings."""
    llm = settings.llm
    limit = Limit(llm.daily_calls or None, llm.daily_tokens or None, llm.daily_cost or None)
    price = Price(llm.prompt_price, llm.answer_price)
    return LlmExtractor(
        generator,
        breaker=Breaker(),
        purse=Purse(account, limit=limit, price=price, clock=clock),
        max_group_turns=settings.group_turns,
        max_group_tokens=settings.group_tokens,
    )


def _parse(generated: Generated, prompt: ExtractionPrompt) -> ExtractedAnswer:
    answer = parse_answer(generated.text, turns=prompt.turns, known=prompt.names)
    if answer.cut and not (answer.facts or answer.entities or answer.relations):
        # Not the same as "nothing to remember".
        raise Unreadable("the answer was cut off before its first item")
    return answer
