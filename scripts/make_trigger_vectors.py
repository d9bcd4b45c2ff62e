"""Embed the built-in task profiles' phrases with the shipped model: run it when they change."""

from __future__ import annotations

import numpy as np

from holdfast.models.local import LocalEmbedder
from holdfast.recall.profile import SHIPPED, digest, phrases
from holdfast.settings import BUILT_IN


def main() -> None:
    """Write the file that `recall/profile.py` reads."""
    embedder = LocalEmbedder()
    texts = phrases(BUILT_IN)
    rows = embedder.embed(texts).astype(np.float16)
    np.savez_compressed(
        SHIPPED,
        model=np.array(embedder.model_id),
        digest=np.frombuffer(digest(texts), dtype=np.uint8),
        rows=rows,
    )
    print(f"{len(texts)} phrases, {SHIPPED.stat().st_size:,} bytes: {SHIPPED.name}")


if __name__ == "__main__":
    main()
