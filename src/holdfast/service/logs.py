"""The log: lines of text or of JSON on stderr, and no word of anybody's memory in them.

An error's own text may quote what was said, so of an error only its type and its place are written.
"""

from __future__ import annotations

import json
import logging
import sys
import traceback
from datetime import UTC, datetime
from typing import TextIO

from holdfast.errors import ConfigError

LEVELS = ("debug", "info", "warning", "error")
FORMATS = ("text", "json")
#: Chatty at levels that are meant for us.
_OTHERS = ("uvicorn", "httpx", "httpcore", "asyncio", "opentelemetry", "mcp", "sse_starlette")


def configure(
    format: str,
    level: str = "info",
    *,
    stream: TextIO | None = None,
    process: int | None = None,
) -> None:
    """Write the log of this process from now on; each line names it, where it has a number."""
    if format not in FORMATS:
        raise ConfigError(f"service.logFormat must be one of {', '.join(FORMATS)}")
    if level not in LEVELS:
        raise ConfigError(f"--log-level must be one of {', '.join(LEVELS)}")
    handler = logging.StreamHandler(stream or sys.stderr)
    handler.setFormatter(JsonLines() if format == "json" else LineFormatter())
    if process is not None:
        handler.addFilter(lambda record: _add_process(record, process))
    root = logging.getLogger()
    for old in [
        each for each in root.handlers if isinstance(each.formatter, LineFormatter | JsonLines)
    ]:
        root.removeHandler(old)
    root.addHandler(handler)
    root.setLevel(logging.WARNING)
    logging.getLogger("holdfast").setLevel(level.upper())
    for name in _OTHERS:
        logging.getLogger(name).setLevel(logging.WARNING)


class LineFormatter(logging.Formatter):
    """`2026-03-01T12:00:00.123Z INFO holdfast.http GET /health 200 1.2 ms`."""

    def format(self, record: logging.LogRecord) -> str:
        words = [_at(record), record.levelname, record.name, record.getMessage()]
        words += [f"{name}={value}" for name, value in _fields(record).items()]
        return " ".join(words).replace("\n", "\\n")


class JsonLines(logging.Formatter):
    """One object a line: at, level, logger, message, and what else is known."""

    def format(self, record: logging.LogRecord) -> str:
        line = {
            "at": _at(record),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        return json.dumps(line | _fields(record), default=str)


def _add_process(record: logging.LogRecord, process: int) -> bool:
    record.fields = {**getattr(record, "fields", {}), "process": process}
    return True


def _at(record: logging.LogRecord) -> str:
    at = datetime.fromtimestamp(record.created, UTC)
    return at.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _fields(record: logging.LogRecord) -> dict[str, object]:
    """What a line says besides its message."""
    fields = dict(getattr(record, "fields", {}))
    if record.exc_info and record.exc_info[1] is not None:
        error = record.exc_info[1]
        fields["error"] = type(error).__name__
        fields["place"] = place_of(error)
    return fields


def place_of(error: BaseException) -> str:
    """The calls that led to an error, innermost last, without a word of what they held."""
    frames = traceback.extract_tb(error.__traceback__)[-6:]
    return " > ".join(f"{each.filename}:{each.lineno}" for each in frames)
