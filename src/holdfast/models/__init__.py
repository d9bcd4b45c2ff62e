"""Who thinks: Protocols in `base`, one file per adapter."""
