"""A language model that is asked within the budget of the day, and left alone while it fails.

Whoever asks it, for whatever purpose, pays from the same purse and minds the same breaker.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from holdfast.language.tokens import count_tokens
from holdfast.models.breaker import Breaker
from holdfast.models.budget import Size
from holdfast.models.call import typed_errors
from holdfast.models.llm import Generated, Generator
from holdfast.models.spending import Purse
from holdfast.types import Scope


@dataclass(frozen=True, slots=True)
class Paid:
    """A model, who pays for it, and who watches it. Threads may share it."""

    generator: Generator
    breaker: Breaker
    purse: Purse

    def ask(self, scope: Scope, system: str, text: str, *, schema: Mapping[str, Any]) -> Generated:
        """The answer, paid for by this scope.

        `NotAsked` or `OverBudget`: nothing was sent or charged. Any other ModelError: it failed.
        """
        self.breaker.check()  # Before anything is charged.
        sent = sum(map(count_tokens, (system, text, json.dumps(schema))))
        most = Size(sent, self.generator.max_answer_tokens)
        with self.purse.paying(scope, most) as bill:
            generated = self.breaker.call(lambda: self._asked(system, text, schema))
            bill.took(Size(generated.usage.prompt_tokens, generated.usage.answer_tokens))
        return generated

    def _asked(self, system: str, text: str, schema: Mapping[str, Any]) -> Generated:
        with typed_errors(self.generator.model_id):
            return self.generator.generate(system, text, schema=schema)
