"""Names: where they stand, what they are names of, when two are one."""
