"""Sentences that state something lasting, and what kind of thing."""
