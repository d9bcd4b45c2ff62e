"""Embedders and language models: protocols in `base`, one file per adapter, budget and breaker."""
