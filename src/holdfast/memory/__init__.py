"""The verbs of a memory (`memory.py`, start there), and what they are built of."""
