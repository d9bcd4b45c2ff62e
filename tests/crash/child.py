"""Work in a forked process, and how it ended."""

import os
import signal
from collections.abc import Callable


def ended(work: Callable[[], object]) -> str:
    """Run `work` in a fork: "ok", the name and text of what it raised, or the fatal signal."""
    read, write = os.pipe()
    pid = os.fork()
    if pid == 0:
        told = "ok"
        try:
            work()
        except BaseException as error:  # noqa: BLE001 (told to the test)
            told = f"{type(error).__name__}: {error}"
        os.write(write, told.encode()[:4000])
        os._exit(0)
    os.close(write)
    with os.fdopen(read) as pipe:
        told = pipe.read()
    _, status = os.waitpid(pid, 0)
    return signal.Signals(os.WTERMSIG(status)).name if os.WIFSIGNALED(status) else told
