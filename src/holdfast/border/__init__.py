"""Where callers' values come in: checked, typed, or refused with the field and the limit named."""
