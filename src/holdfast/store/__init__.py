"""Where memories lie: Protocols in `base`, one package per backend."""
