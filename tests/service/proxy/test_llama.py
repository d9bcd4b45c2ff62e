"""The official client through the proxy to a real language model."""

from pathlib import Path

import pytest

from tests.models.llama_server import running
from tests.service.proxy.serving import serving

pytestmark = [pytest.mark.slow, pytest.mark.timeout(180)]

LISBON = "My sister Clara moved to Lisbon in March."


def test_a_real_model_is_given_its_memories_and_what_it_says_is_kept(tmp_path: Path) -> None:
    with (
        running() as url,
        serving(tmp_path / "m.db", url) as service,
        service.client() as client,
    ):
        assert list(client.models.list())
        chat = client.chat.completions
        first = chat.create(
            model="smollm2", max_tokens=16, messages=[{"role": "user", "content": LISBON}]
        )
        said = first.choices[0].message.content
        assert said
        assert service.soon(2) == [("user", LISBON), ("assistant", said)]

        # The model counts what it was given: the memories are in it.
        question = "Where does Clara live?"
        whole = chat.with_raw_response.create(
            model="smollm2", max_tokens=16, messages=[{"role": "user", "content": question}]
        )
        assert whole.headers["x-holdfast-memory"].startswith("used")
        with_memory = whole.parse().usage
        bare = chat.create(
            model="smollm2", max_tokens=1, messages=[{"role": "user", "content": question}],
            extra_headers={"X-Holdfast-Budget": "0", "X-Holdfast-Remember": "false"},
        ).usage  # fmt: skip
        assert with_memory is not None
        assert bare is not None
        assert with_memory.prompt_tokens > bare.prompt_tokens + 20

        streamed = "".join(
            event.choices[0].delta.content or ""
            for event in chat.create(
                model="smollm2", max_tokens=16, stream=True,
                messages=[{"role": "user", "content": "And what did she do in March?"}],
            )
            if event.choices
        )  # fmt: skip
        assert service.soon(6)[-1] == ("assistant", streamed)


def test_responses_of_a_real_model(tmp_path: Path) -> None:
    with (
        running() as url,
        serving(tmp_path / "m.db", url) as service,
        service.client() as client,
    ):
        answer = client.responses.create(model="smollm2", max_output_tokens=16, input=LISBON)
        assert service.soon(2) == [("user", LISBON), ("assistant", answer.output_text)]
        events = list(
            client.responses.create(
                model="smollm2", max_output_tokens=16, input="Where is Clara?", stream=True
            )
        )
        assert events[-1].type in ("response.completed", "response.incomplete")
        assert service.soon(4)[-1] == ("assistant", events[-1].response.output_text)
