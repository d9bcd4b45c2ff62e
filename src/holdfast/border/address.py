"""Whether a memory is a file or behind a service. Imports nothing heavy: commands ask it first."""

from __future__ import annotations

import re
from pathlib import Path

from holdfast.errors import ConfigError

_HOST_AND_PORT = re.compile(r"([A-Za-z0-9][A-Za-z0-9.-]*|\[[0-9a-fA-F:.]+\]):\d{1,5}/?")


def is_address(url: str | Path) -> bool:
    """Whether a memory is behind a service: http:// or https://; one without is refused."""
    text = str(url)
    if _HOST_AND_PORT.fullmatch(text) and not Path(text).exists():
        raise ConfigError(f"{text} is no file: did you mean http://{text}?")
    return text.lower().startswith(("http://", "https://"))
