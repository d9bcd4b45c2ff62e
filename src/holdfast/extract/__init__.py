"""Understanding what was said: from the turns of a conversation to names, relations and facts.

Without an LLM: `rules.py` holds what callers use and reads by rules alone, `nlp.py` reads with
spaCy where it is installed. `spans*.py` finds names, `relations*.py` what joins them, `facts.py`
which sentences state something that lasts.
"""
