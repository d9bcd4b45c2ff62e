"""What texts mean, told by rules. Pure functions: no store, no model and no clock is known here."""
