"""The command line: `holdfast`. One module per group of commands; `app.py` lists them.

A command starts fast because nothing of the machinery is imported before it is needed.
"""

from __future__ import annotations

import os
import sys

from holdfast.errors import HoldfastError

#: What a shell reports for a program that Ctrl-C ended.
_INTERRUPTED = 130


def main(argv: list[str] | None = None) -> int:
    """Run one command; the exit code: 0 done, 1 not all is well, 2 an error told on stderr."""
    import typer  # noqa: PLC0415 (100 ms, not for those who import this package for other reasons)

    from holdfast.service.cli.app import app  # noqa: PLC0415
    from holdfast.service.cli.show import error_line  # noqa: PLC0415

    try:
        code = app(argv, prog_name="holdfast", standalone_mode=False)
        sys.stdout.flush()
        return int(code or 0)
    except typer.TyperException as error:
        if message := error.format_message():  # None when the help was printed instead.
            error_line(message)
        return 2
    except HoldfastError as error:
        error_line(str(error))
        return 2
    except (KeyboardInterrupt, typer.Abort):
        return _INTERRUPTED
    except BrokenPipeError:
        # Whoever read our output has gone: nobody is left to tell. The interpreter would flush
        # once more at its end, and complain.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except OSError as error:
        error_line(f"{error.filename}: {error.strerror}" if error.filename else str(error))
        return 2
