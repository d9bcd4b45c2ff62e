"""Standing instructions: found, told from what is only quoted, compared."""
