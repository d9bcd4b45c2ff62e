"""The verbs against the same model on a server, by two that share it as two processes would."""

import pytest
from hypothesis import HealthCheck, settings
from hypothesis.stateful import run_state_machine_as_test

import holdfast
from holdfast.memory.memory import Memory
from holdfast.testing import HashEmbedder
from tests.memory.test_model import SEQUENCES, STEPS, Verbs
from tests.servers import empty_store_url


class VerbsOnAServer(Verbs):
    """Two memories with connections and indexes of their own on one database."""

    url = ""

    def opened(self) -> Memory:
        self.url = self.url or empty_store_url()
        return holdfast.open(
            self.url, embedder=HashEmbedder(16), worker=False, clock=lambda: self.now
        )


@pytest.mark.slow
@pytest.mark.timeout(3600 if SEQUENCES > 100 else 300)
def test_any_sequence_of_verbs_agrees_with_the_model_on_a_server() -> None:
    run_state_machine_as_test(
        VerbsOnAServer,
        settings=settings(
            max_examples=max(SEQUENCES // 4, 1),
            stateful_step_count=STEPS,
            deadline=None,
            suppress_health_check=list(HealthCheck),
        ),
    )
