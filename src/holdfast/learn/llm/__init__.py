"""Extraction by a language model: the prompt, the call, and reading what comes back."""
