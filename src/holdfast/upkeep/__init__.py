"""The life of a memory: fading, feedback, archive, consolidation, and the nightly round."""
