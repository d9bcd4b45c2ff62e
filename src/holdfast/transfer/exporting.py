"""A store as JSON lines."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from typing import BinaryIO

from holdfast.store.base import Progress, Upkeep
from holdfast.transfer.fields import FORMAT, HEADER, TYPES, promised, to_fields, to_line
from holdfast.transfer.sealing import Sealing

_REPORT_EVERY = 256


def export_to(
    store: Upkeep,
    out: BinaryIO,
    *,
    vectors: bool = True,
    workspace: str | None = None,
    spool: Path | None = None,
    progress: Progress | None = None,
) -> dict[str, int]:
    """Write what `Upkeep.dump` gives, of all workspaces or of one; how many rows of each type.

    The counts come first, so the rows wait in a nameless temporary file (in `spool`, a folder).
    """
    counts = dict.fromkeys(TYPES, 0)
    stats = store.stats()
    expected = stats["events"] + stats["records"] + (stats["vectors"] if vectors else 0)
    with tempfile.TemporaryFile(dir=spool) as body:
        for number, row in enumerate(store.dump(vectors=vectors), 1):
            if workspace not in (None, row.scope.workspace):
                continue
            fields = to_fields(row)
            counts[fields["type"]] += 1
            body.write(to_line(fields))
            if progress and number % _REPORT_EVERY == 0:
                progress(number, max(expected, number))
        sealing = Sealing(out)
        sealing.write(to_line({HEADER: FORMAT, **promised(counts)}))
        body.seek(0)
        shutil.copyfileobj(body, sealing)
        sealing.close()
    return counts
