"""A ranking as a block of text within a token budget, in several formats."""
