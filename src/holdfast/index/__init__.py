"""Search indexes in memory, one per owner, derived from the store's feed of changes."""
