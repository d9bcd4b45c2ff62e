"""The write path: messages -> events, then background steps -> what is derived."""
