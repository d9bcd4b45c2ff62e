"""Export and import: a whole store as JSON lines, and back to the identical store.

The first line of an export is a header with counts, the last one holds a digest of all others, so
that damage is noticed; between them lies one object per line with a `type`: event, record
(derived), act (forgotten, restored, ...), key (idempotency), share, trust (in an agent), vectors.
The same store gives the same bytes. Import also reads plain messages, one per line.
"""

from holdfast.transfer.importing import Imported, Problem, export_to, import_from

__all__ = ["Imported", "Problem", "export_to", "import_from"]
