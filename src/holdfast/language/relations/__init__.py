"""Relations between names, from a parsed sentence or from patterns."""
